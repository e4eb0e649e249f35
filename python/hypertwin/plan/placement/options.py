"""Options of plans: arguments of functions, and options of `hypertwin plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from hypertwin.arguments import Option
from hypertwin.plan.capacity.options import Counting
from hypertwin.runs.options import Runs
from hypertwin.runs.simulation import LabelledProgress


def _policies() -> Iterable[str]:
    from hypertwin.plan.placement.policies import POLICIES  # numpy takes longer than the help

    return POLICIES


@dataclass(frozen=True, kw_only=True)
class Options(Counting, Runs):
    """Options of every plan."""

    failures: Annotated[
        int,
        Option("Host failures to tolerate: every set of this many hosts is checked.", "N", least=0, most=64),
    ] = 1
    domain: Annotated[
        str | Sequence[str] | None,
        Option(
            "Also check the failure of each rack or site of this storage pool; repeatable.", "POOL", offered="pools"
        ),
    ] = None
    cpu: Annotated[str, Option("CPU limit of a host.", "P%")] = "80%"
    memory: Annotated[str, Option("Memory limit of a host.", "P%")] = "90%"
    failover_cpu: Annotated[str | None, Option("CPU limit after a failure (default: as --cpu).", "P%")] = None
    failover_memory: Annotated[str | None, Option("Memory limit after a failure (default: as --memory).", "P%")] = None
    memory_demand: Annotated[Literal["configured", "consumed"], Option("Memory of a VM to count.")] = "configured"
    policy: Annotated[
        str | Sequence[str] | None,
        Option("Enable a policy, or set its value; repeatable.", "NAME[=VALUE]", offered=_policies),
    ] = None
    without_policy: Annotated[
        str | Sequence[str] | None, Option("Disable a policy; repeatable.", "NAME", offered=_policies)
    ] = None
    slo: Annotated[
        str | Sequence[str] | None,
        Option(
            "Verify this objective by simulation before, after and in every failure, e.g. 'ready_pct<5'; repeatable.",
            "METRIC<NUMBER",
        ),
    ] = None
    why: Annotated[
        str | Sequence[str] | None, Option("Explain why this VM is on its host; repeatable.", "VM", offered="vms")
    ] = None
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""


@dataclass(frozen=True, kw_only=True)
class Moving(Options):
    """Options of plans that move VMs."""

    commands: Annotated[
        Literal["powercli", "govc", "virsh", "qm", "ansible"] | None,
        Option("Also print the moves as commands to paste."),
    ] = None
    commands_for_guesses: Annotated[bool, Option("Also write commands for VMs whose host is a guess.")] = False


@dataclass(frozen=True, kw_only=True)
class Balance(Moving):
    """Options of `plan balance`."""

    goal: Annotated[
        Literal["moves", "min-peak"],
        Option("Fewest moves, or the lowest peak load."),
    ] = "moves"


@dataclass(frozen=True, kw_only=True)
class Evacuate(Moving):
    """Options of `plan evacuate`."""

    host: Annotated[str | None, Option("The host to evacuate.", "[NAME]", is_argument=True, offered="hosts")] = None
    rolling: Annotated[bool, Option("Evacuate every host in turn.")] = False
    stay: Annotated[bool, Option("With --rolling: leave VMs where they moved.")] = False


@dataclass(frozen=True, kw_only=True)
class Place(Moving):
    """Options of `plan place`."""

    vm: Annotated[str | Sequence[str] | None, Option("New VMs to place; repeatable.", "[COUNT*]4x16GiB[x900MHz]")] = (
        None
    )
    repack: Annotated[bool, Option("Repack all VMs, not only new ones.")] = False
    goal: Annotated[Literal["min-peak", "hosts"], Option("Fewest hosts, or the lowest peak load.")] = "min-peak"
