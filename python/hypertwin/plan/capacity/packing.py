"""Packing of VMs into hosts: check that all fit, number of further VMs, and hosts left over.

A VM must be whole and on one host, so capacity split over hosts does not help. The best packing is hard to find (vector
bin packing). Two rules are tried, each with the largest VM first. One picks the host with the least room left, which
keeps large gaps. The other picks the host with the most room left, which uses two resources evenly. A packing found is
valid. Moving VMs cleverly might fit more. For one resource, if each size is a multiple of the next, no packing is
better.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Sizes = tuple[float, ...]
"""Use by a VM, or capacity of a host, per resource."""

SLACK = 1e-9
"""Tolerance for sums of floats, as a fraction of a host."""


class Placed(NamedTuple):
    """Number of VMs of one size on one host."""

    host: int
    size: Sizes
    many: int


@dataclass(frozen=True)
class Load:
    """VMs and the capacity of hosts for them."""

    rooms: Sequence[Sizes]
    """Capacity of each host, reduced by its fixed load."""
    vms: Mapping[Sizes, int]
    """Number of VMs of each size."""

    def of(self, resources: Sequence[int]) -> Load:
        """Return the same load, with some resources only."""
        vms: Counter[Sizes] = Counter()
        for size, many in self.vms.items():
            vms[tuple(size[each] for each in resources)] += many
        return Load([tuple(room[each] for each in resources) for room in self.rooms], vms)


def load(rooms: Sequence[Sizes], vms: Iterable[Sizes]) -> Load:
    """Return VMs and hosts with capacity. A VM that is larger than any host gets its own host."""
    largest = tuple(max(each, default=0.0) for each in zip(*rooms, strict=True))
    clipped = Counter(tuple(min(a, b) for a, b in zip(size, largest, strict=True)) for size in vms)
    return Load(rooms, clipped)


def most(work: Load, vm: Sizes, at_most: int) -> int | None:
    """Return the number of further VMs of a size that fit, up to `at_most`, or None if existing VMs do not fit."""
    if pack(work, vm, 0) is None:
        return None
    low, high = 0, at_most + 1
    if at_most and pack(work, vm, at_most) is not None:
        return at_most
    while high - low > 1:
        middle = (low + high) // 2
        if pack(work, vm, middle) is None:
            high = middle
        else:
            low = middle
    return low


def bound(work: Load, vm: Sizes) -> int:
    """Return an upper bound of the number of VMs in every packing.

    The bound follows from each host filled with this size only, and from the total free capacity.
    """
    alone = sum(max(0, _times(room, vm)) for room in work.rooms)
    free = [
        sum(room[each] for room in work.rooms) - sum(size[each] * many for size, many in work.vms.items())
        for each in range(len(vm))
    ]
    return max(0, min(alone, _times(tuple(free), vm)))


def without(work: Load, order: Sequence[int], keep: int = 1) -> int:
    """Return the number of hosts that are not needed, removed in this order. At least `keep` hosts stay."""
    low, high = 0, max(0, len(order) - keep) + 1
    while high - low > 1:
        middle = (low + high) // 2
        gone = set(order[:middle])
        left = Load([room for host, room in enumerate(work.rooms) if host not in gone], work.vms)
        if pack(left, (0.0,) * len(work.rooms[0]), 0) is None:
            high = middle
        else:
            low = middle
    return low


def pack(work: Load, vm: Sizes, more: int) -> list[Placed] | None:
    """Return the hosts of all VMs and of `more` VMs of this size, or None if neither rule places all VMs."""
    scale = [max((room[each] for room in work.rooms), default=0.0) or 1.0 for each in range(len(vm))]
    free = [tuple(room[each] / scale[each] for each in range(len(vm))) for room in work.rooms]
    many = Counter(work.vms)
    if more:
        many[vm] += more
    by_size = {size: tuple(each / of for each, of in zip(size, scale, strict=True)) for size in many}
    order = sorted(many, key=lambda size: (-max(by_size[size]), -sum(by_size[size]), size))
    return next(
        (
            found
            for rule in (_fullest_first, _emptiest_first)
            if (found := rule(list(free), order, by_size, many)) is not None
        ),
        None,
    )


def _fullest_first(
    free: list[Sizes], order: Sequence[Sizes], by_size: Mapping[Sizes, Sizes], many: Mapping[Sizes, int]
) -> list[Placed] | None:
    placed = []
    for size in order:
        part, left = by_size[size], many[size]
        for _, host in sorted((_slack(room, part), host) for host, room in enumerate(free)):
            here = min(left, _times(free[host], part))
            if here > 0:
                placed.append(Placed(host, size, here))
                free[host] = tuple(a - here * b for a, b in zip(free[host], part, strict=True))
                left -= here
            if not left:
                break
        if left:
            return None
    return placed


def _emptiest_first(
    free: list[Sizes], order: Sequence[Sizes], by_size: Mapping[Sizes, Sizes], many: Mapping[Sizes, int]
) -> list[Placed] | None:
    placed = []
    for size in order:
        part = by_size[size]
        roomy = [(-_slack(room, part), host) for host, room in enumerate(free)]
        heapq.heapify(roomy)
        for _ in range(many[size]):
            if not roomy or -roomy[0][0] < -SLACK:
                return None
            host = roomy[0][1]
            placed.append(Placed(host, size, 1))
            free[host] = tuple(a - b for a, b in zip(free[host], part, strict=True))
            heapq.heapreplace(roomy, (-_slack(free[host], part), host))
    return placed


def _slack(room: Sizes, size: Sizes) -> float:
    """Return the headroom of the scarcest resource of a host with one more VM.

    It is negative if the VM does not fit.
    """
    return min(a - b for a, b in zip(room, size, strict=True))


def _times(room: Sizes, size: Sizes) -> int:
    """Return the number of VMs of a size that fit."""
    fits = [
        int((a + SLACK * max(1.0, abs(a))) / b) if a > -SLACK else 0 for a, b in zip(room, size, strict=True) if b > 0
    ]
    return min(fits, default=2**31) if all(a >= b - SLACK for a, b in zip(room, size, strict=True)) else 0
