"""What plans can be asked for: arguments of functions, and options of `hypertwin plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from hypertwin.arguments import Option
from hypertwin.execution.options import Runs
from hypertwin.plan.capacity.options import Counting
from hypertwin.run import LabelledProgress


def _policies() -> Iterable[str]:
    from hypertwin.plan.placement.policies import POLICIES  # numpy takes longer than the help

    return POLICIES


@dataclass(frozen=True, kw_only=True)
class Options(Counting, Runs):
    """What all plans can be asked for."""

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
    failover_cpu: Annotated[
        str | None, Option("CPU that may be used while hosts have failed (default: as --cpu).", "P%")
    ] = None
    failover_memory: Annotated[
        str | None, Option("Memory that may be used while hosts have failed (default: as --memory).", "P%")
    ] = None
    memory_demand: Annotated[Literal["configured", "consumed"], Option("Which memory of a VM counts.")] = "configured"
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
    why: Annotated[str | Sequence[str] | None, Option("Say why this VM goes where it goes; repeatable.", "VM")] = None
    progress: LabelledProgress | None = None
    """Called with a label, how much is done, and how much there is."""


@dataclass(frozen=True, kw_only=True)
class Moving(Options):
    """What plans can be asked for that move VMs."""

    commands: Annotated[
        Literal["powercli", "govc", "virsh", "qm", "ansible"] | None,
        Option("Print the moves as text to paste as well."),
    ] = None
    commands_for_guesses: Annotated[bool, Option("Write commands for VMs whose host is a guess, too.")] = False


@dataclass(frozen=True, kw_only=True)
class Balance(Moving):
    """What balancing can be asked for."""

    goal: Annotated[
        Literal["moves", "min-peak"],
        Option("Fewest moves until limits and rules hold, or the lowest fullest host."),
    ] = "moves"


@dataclass(frozen=True, kw_only=True)
class Evacuate(Moving):
    """What emptying hosts can be asked for."""

    host: Annotated[str | None, Option("The host to empty.", "[NAME]", is_argument=True)] = None
    rolling: Annotated[bool, Option("Empty one host after another, all of the cluster.")] = False
    stay: Annotated[bool, Option("With --rolling: VMs stay where they went, instead of going back.")] = False


@dataclass(frozen=True, kw_only=True)
class Place(Moving):
    """What placing VMs can be asked for."""

    vm: Annotated[str | Sequence[str] | None, Option("New VMs to place; repeatable.", "[COUNT*]4x16GiB[x900MHz]")] = (
        None
    )
    repack: Annotated[bool, Option("Place all VMs from nothing, wherever they are now.")] = False
    goal: Annotated[Literal["min-peak", "hosts"], Option("Fewest hosts, or the lowest fullest host.")] = "min-peak"
