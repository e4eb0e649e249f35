"""What all plans can be asked for: arguments of functions, and options of `hypertwin plan`, said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hypertwin.arguments import Option
from hypertwin.run import LabelledProgress


def _policies() -> Iterable[str]:
    from hypertwin.plan.placement.policies import POLICIES  # numpy takes longer than the help

    return POLICIES


@dataclass(frozen=True)
class Options:
    """What all plans can be asked for; the command line's options of the same names."""

    failures: Annotated[
        int,
        Option("Hosts that may fail together: every host, and every set of so many, is tried.", "N", least=0, most=64),
    ] = 1
    domain: Annotated[
        str | Sequence[str] | None,
        Option("Also the failure of each rack or site of this pool of storage; repeatable.", "POOL"),
    ] = None
    cpu: Annotated[str, Option("CPU of a host that may be used.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory of a host that may be used.", "P%")] = "90%"
    ratio: Annotated[float | None, Option("vCPUs that a core may have (default: no limit).", "R")] = None
    failover_cpu: Annotated[
        str | None, Option("CPU that may be used while hosts have failed (default: as --cpu).", "P%")
    ] = None
    failover_memory: Annotated[
        str | None, Option("Memory that may be used while hosts have failed (default: as --memory).", "P%")
    ] = None
    demand: Annotated[Literal["mean", "p95", "peak"], Option("Which demand of CPU counts, where it was measured.")] = (
        "p95"
    )
    memory_demand: Annotated[Literal["configured", "consumed"], Option("Which memory of a VM counts.")] = "configured"
    with_off: Annotated[bool, Option("Count VMs that are off as if they ran.", flag="--with-off")] = False
    cluster: Annotated[str | None, Option("The cluster to plan, of a scenario with several.", "NAME")] = None
    policy: Annotated[
        str | Sequence[str] | None,
        Option("Switch a policy on, or give it a value; repeatable.", "NAME[=VALUE]", offered=_policies),
    ] = None
    without_policy: Annotated[
        str | Sequence[str] | None, Option("Switch a policy off; repeatable.", "NAME", offered=_policies)
    ] = None
    slo: Annotated[
        str | Sequence[str] | None,
        Option(
            "What must hold in the twin before, after and in every failure, e.g. 'ready_pct<5'; repeatable.",
            "METRIC<NUMBER",
        ),
    ] = None
    explain: Annotated[str | Sequence[str] | None, Option("Say why this VM goes where it goes; repeatable.", "VM")] = (
        None
    )
    commands: str | None = None
    """A tool that moves are wanted for: refused where it does not go with the hypervisor. All that go are written."""
    commands_for_guesses: bool = False
    """Whether commands are written for moves of VMs whose host is a guess, too."""
    overrides: Mapping[str, object] | Sequence[str] = ()
    """Paths of the scenario to set; this and what follows is as of `simulate`."""
    seed: int | None = None
    replications: int | None = None
    duration: float | str | None = None
    warmup: float | str | None = None
    jobs: int | None = None
    store: str | Path | None = None
    on: str | None = None
    progress: LabelledProgress | None = None
    """Called with a label, how much is done, and how much there is."""
