"""Parts of a scenario that decide the area of a group's figures: its storage, and the pace of its load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Storage:
    """Storage of a group."""

    name: str
    kind: Literal["pool", "array", "local"]


@dataclass(frozen=True)
class Topology:
    """Storage and pace of the groups of a scenario."""

    groups: frozenset[str]
    storage: Mapping[str, Storage]
    """Simulated storage of each group that has any."""
    paced: frozenset[str]
    """Groups whose load has a rate of its own. They do no more work than that."""

    def group(self, vm: str) -> str:
        """Return the group of a VM: `db` for `db-3`, unless `db-3` is a group itself."""
        group, _, number = vm.rpartition("-")
        return group if number.isdecimal() and group in self.groups and vm not in self.groups else vm

    @staticmethod
    def of(data: Mapping[str, Any]) -> Topology:
        """Return the topology of a scenario in its JSON form."""
        arrays, workloads = data.get("arrays") or {}, data.get("workloads") or {}
        storage: dict[str, Storage] = {}
        paced = set()
        for name, group in (data.get("vms") or {}).items():
            if pool := group.get("storage"):
                storage[name] = Storage(pool, "pool")
            elif array := group.get("array"):
                local = (arrays.get(array) or {}).get("protocol") == "local"
                storage[name] = Storage(array, "local" if local else "array")
            arrivals = (workloads.get(group.get("workload")) or {}).get("arrivals") or {}
            if arrivals.get("open") or (arrivals.get("io") or {}).get("rate"):
                paced.add(name)
        return Topology(frozenset(data.get("vms") or {}), storage, frozenset(paced))
