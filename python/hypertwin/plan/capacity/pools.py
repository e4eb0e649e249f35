"""Pools of distributed storage: use by a counted VM, and the number of VMs that fit.

The use by a VM is the stored data of `hypertwin.scenario.space`. This is the working sets of its virtual disks, or its
share of the pool's `stored` data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hypertwin.plan.capacity.packing import SLACK
from hypertwin.plan.capacity.state import State
from hypertwin.scenario.space import Room


@dataclass(frozen=True)
class Takes:
    """Use of pools by a VM in bytes of user data, by pool and policy."""

    data: Mapping[str, Mapping[str, float]]
    vms: int
    """Number of VMs in the mean."""

    @staticmethod
    def of(state: State) -> Takes | None:
        """Return the mean use of pools by VMs of a cluster, or None if no VM stores data.

        For a requested size, only VMs that store data count.
        """
        storing = [vm.name for vm in state.guests if vm.name in state.stored]
        if not storing:
            return None
        vms = len(state.guests) if state.limits.vm is None else len(storing)
        data: dict[str, dict[str, float]] = {}
        for name in storing:
            for pool, sizes in state.stored[name].items():
                for policy, size in sizes.items():
                    data.setdefault(pool, {}).setdefault(policy, 0.0)
                    data[pool][policy] += size / vms
        return Takes(data, vms)

    @property
    def stored(self) -> float:
        """Stored bytes in all pools."""
        return sum(size for sizes in self.data.values() for size in sizes.values())

    def fit(self, rooms: Mapping[str, Room]) -> float:
        """Return the number of VMs that fit into the pools, or infinity if the VMs use no pool."""
        least = min((rooms[pool].times(sizes) for pool, sizes in self.data.items()), default=math.inf)
        return math.floor(least * (1 + SLACK) + SLACK) if math.isfinite(least) else least

    def fullness(self, rooms: Mapping[str, Room]) -> float:
        """Return the use of the most used pool, as a fraction of its limit."""
        return max((rooms[pool].fullness for pool in self.data), default=0.0)

    def put(self, rooms: Mapping[str, Room], count: int) -> dict[str, Room]:
        """Return the pools with `count` more VMs."""
        return {
            name: room.holding(self.data[name], count) if name in self.data else room for name, room in rooms.items()
        }
