"""Restart of VMs on other hosts after host failures, with the full configured memory of each VM.

The largest VM goes first, to the host with the least memory left, so that large gaps stay. No running VM moves to make
room. A host takes no VM with more vCPUs than its hardware threads.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Guest(NamedTuple):
    """VM that needs a host."""

    name: str
    vcpus: int
    memory: float


@dataclass(frozen=True)
class Standing:
    """Host with the VMs that restart elsewhere if the host fails."""

    name: str
    threads: int
    memory: float
    """Total memory of the host."""
    room: float
    """Memory for VMs, without the memory of the hypervisor and of VMs that stay with the host."""
    guests: Sequence[Guest] = ()

    @property
    def free(self) -> float:
        """Memory for further VMs. It is negative if the host is overcommitted."""
        return self.room - sum(guest.memory for guest in self.guests)


@dataclass(frozen=True)
class Failure:
    """State of a cluster after host failures."""

    failed: Sequence[Standing]
    free: Sequence[tuple[float, Standing]]
    """Remaining hosts with their free memory, in ascending order of free memory."""
    restarted: Sequence[tuple[Guest, Standing]]
    unplaced: Sequence[Guest]
    """VMs that cannot restart, largest first."""

    @property
    def lost(self) -> float:
        """Total memory of VMs that cannot restart."""
        return sum(guest.memory for guest in self.unplaced)


def after(failed: Sequence[Standing], left: Sequence[Standing], guests: Iterable[Guest] | None = None) -> Failure:
    """Put the VMs of the failed hosts, or `guests` instead, on the other hosts."""
    free = sorted((host.free, place) for place, host in enumerate(left))
    waiting = [guest for host in failed for guest in host.guests] if guests is None else list(guests)
    restarted, unplaced = [], []
    for guest in sorted(waiting, key=lambda guest: (-guest.memory, -guest.vcpus)):
        first = bisect_left(free, (guest.memory, -1))
        at = next((at for at in range(first, len(free)) if left[free[at][1]].threads >= guest.vcpus), None)
        if at is None:
            unplaced.append(guest)
            continue
        room, place = free.pop(at)
        insort(free, (room - guest.memory, place))
        restarted.append((guest, left[place]))
    return Failure(failed, [(room, left[place]) for room, place in free], restarted, unplaced)


def failures(hosts: Sequence[Standing], many: int) -> list[Failure]:
    """Return the failure of each host, together with the largest others if `many` fail."""
    largest = sorted(hosts, key=lambda host: -host.memory)
    found = []
    for host in hosts:
        failed = [host, *[each for each in largest if each is not host][: many - 1]]
        gone = {each.name for each in failed}
        found.append(after(failed, [each for each in hosts if each.name not in gone]))
    return found
