"""What capacity can be asked for, and what it has in common with plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from hypertwin.arguments import Option
from hypertwin.execution.options import Changes


def _itself(name: Path | None, _options: Mapping[str, Any]) -> tuple[Path, ...]:
    return () if name is None else (name,)


@dataclass(frozen=True, kw_only=True)
class Counting(Changes):
    """What counts of a scenario's clusters."""

    vcpu_ratio: Annotated[float | None, Option("vCPUs that a core may have (default: no limit).", "R")] = None
    demand: Annotated[Literal["mean", "p95", "peak"], Option("Which demand of CPU counts, where it was measured.")] = (
        "p95"
    )
    with_off: Annotated[bool, Option("Count VMs that are off as if they ran.")] = False
    cluster: Annotated[str | None, Option("Only this cluster, of a scenario with several.", "NAME")] = None


@dataclass(frozen=True, kw_only=True)
class Asked(Counting):
    """What capacity can be asked for."""

    failures: Annotated[int, Option("Hosts of each cluster that may fail.", "N")] = 1
    cpu: Annotated[str, Option("CPU that may be used then.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory that may be used then.", "P%")] = "90%"
    vm: Annotated[
        str | None, Option("The VM to count (default: the mean of those that there are).", "4x16GiB[x900MHz]")
    ] = None
    license_min_cores: Annotated[int, Option("Cores that a processor's licence covers at least.", "N")] = 16
    limits: Annotated[
        str | Path | None,
        Option("Limits of single clusters, which override these options.", "LIMITS.yaml", files=_itself),
    ] = None
