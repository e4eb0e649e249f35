"""Simulation of a host with the VMs of several failures together, instead of its state after each failure.

More VMs on a host never lower the figures in RISING. If the host with all these VMs surely meets the objectives, it
also meets them after each single failure, and its figures are upper bounds. Otherwise the states are split in two
halves, down to single states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from hypertwin.plan.objective import Objective
from hypertwin.plan.placement.simulated import Simulated

Vms = tuple[str, ...]
"""Sorted names of VMs on a host."""

RISING: Mapping[str, tuple[str, ...]] = {
    "hosts": ("usage_pct", "*utilization_pct", "memory_*pct"),  # not means over VMs, such as ready_pct
    "vms": (
        *("ready_pct", "costop_pct", "response_ms_*", "guest_cpu_pct", "run_queue"),
        *("memory_ballooned_*", "memory_compressed_*", "memory_swap*"),
    ),
}
"""Figures of a host or VM that additional VMs on the host never lower, by section."""


def is_rising(each: Objective) -> bool:
    """True if more VMs on a host never bring a missed objective within its limit."""
    section = "hosts" if each.path.section == "hosts" else "vms"
    return each.upper and not each.per_vm and any(fnmatchcase(each.path.key, key) for key in RISING[section])


def parts(
    simulated: Simulated,
    states: Mapping[str, Sequence[Vms]],
    fits: Callable[[str, Vms], bool],
    part_of: Callable[[str, Vms], str],
) -> dict[tuple[str, Vms], str]:
    """Return the simulated part for each state of each host.

    A part has the VMs of its own state, or also the VMs of other states.

    `fits` returns true if VMs are within the limits of a host together. `part_of` returns a host with VMs as a part.
    """
    groups = [(host, group) for host, listed in states.items() for group in _groups(host, listed, fits)]
    found: dict[tuple[str, Vms], str] = {}
    while groups:
        made = [(host, group, part_of(host, _union(group))) for host, group in groups]
        simulated.simulate([part for *_, part in made], {part for _, group, part in made if len(group) > 1})
        groups = []
        for host, group, part in made:
            if len(group) == 1 or simulated.is_sure(part):
                found.update(((host, vms), part) for vms in group)
            else:
                middle = (len(group) + 1) // 2
                groups += [(host, group[:middle]), (host, group[middle:])]
    return found


def _groups(host: str, states: Sequence[Vms], fits: Callable[[str, Vms], bool]) -> list[list[Vms]]:
    """Return states in groups that are within the limits of the host.

    Each state is in the first group that has room.
    """
    groups: list[list[Vms]] = []
    for vms in sorted(set(states), key=lambda vms: (-len(vms), vms)):
        group = next((group for group in groups if fits(host, _union([*group, vms]))), None)
        if group is None:
            groups.append([vms])
        else:
            group.append(vms)
    return groups


def _union(group: Sequence[Vms]) -> Vms:
    return tuple(sorted({vm for vms in group for vm in vms}))
