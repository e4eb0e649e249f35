"""Options of capacity. Plans share some of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option, named
from hypertwin.runs.options import Changes


@dataclass(frozen=True, kw_only=True)
class Counting(Changes):
    """Options that select clusters of a scenario and set their limits."""

    vcpu_ratio: Annotated[float | None, Option("vCPU-to-core limit (default: none).", "R")] = None
    demand: Annotated[Literal["mean", "p95", "peak"], Option("Measured CPU demand to use: mean, p95 or peak.")] = "p95"
    with_off: Annotated[bool, Option("Count powered-off VMs as running.")] = False
    cluster: Annotated[str | None, Option("Only this cluster.", "NAME", offered="clusters")] = None


@dataclass(frozen=True, kw_only=True)
class Asked(Counting):
    """Options of capacity."""

    failures: Annotated[int, Option("Host failures to tolerate.", "N")] = 1
    cpu: Annotated[str, Option("CPU limit, also after a failure.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory limit, also after a failure.", "P%")] = "90%"
    vm: Annotated[str | None, Option("VM size to count (default: the average VM).", "4x16GiB[x900MHz]")] = None
    license_min_cores: Annotated[int, Option("Minimum cores that a processor licence covers.", "N")] = 16
    limits: Annotated[
        str | Path | None,
        Option("Limits of single clusters, which override these options.", "LIMITS.yaml", files=named),
    ] = None
