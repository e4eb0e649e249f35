"""Capacity of the pools of a scenario: raw, usable, used, and after a host failure. Nothing is simulated.

Usable capacity keeps every device within the maximum fill level of the product. The limit also applies after a host
failure, when the data of the host are recovered on the others, if possible. Each policy counts separately. Placement is
assumed perfect: random placement groups fill some devices sooner.

Recovery itself stops later than that maximum: on Ceph at the backfillfull ratio, and otherwise on full devices. Data
that would need more stay degraded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypertwin import _core, language
from hypertwin.documents.space import OWN, LostHost, PolicySpace, Space
from hypertwin.members import RedundancyFacts
from hypertwin.scenario import Scenario

GIB = 2**30

Data = Mapping[str, float]
"""User data in bytes, by policy."""


@dataclass(frozen=True)
class Kept:
    """Redundancy of pool data, with its overhead and the requirements for recovery after the loss of a host."""

    scheme: str
    width: int
    """Number of replicas or fragments, each in a separate failure domain."""
    overhead: float
    """Raw bytes per user byte."""
    survives: bool
    """True if all data are still available after the loss of a host."""
    domains: int
    """Number of failure domains needed to recover the data."""


@dataclass(frozen=True)
class Room:
    """Capacity and stored data of one pool."""

    full: float
    """Usable fraction of a device."""
    recovery_stops: float
    """Fraction of a device up to which lost data are recovered on it."""
    domains: Sequence[float]
    """Raw capacity of each failure domain, in bytes."""
    left: Sequence[float]
    """Raw capacity of each failure domain after the loss of a host, in bytes."""
    kept: Mapping[str, Kept]
    """Redundancy by policy."""
    data: Data

    @property
    def used(self) -> list[str]:
        """Policies with data, or the policy of the pool itself if nothing is stored."""
        return [name for name in self.kept if self.data.get(name)] or [OWN]

    def heals(self, policy: str) -> bool:
        """True if enough hosts remain after a host failure to recover data of a policy."""
        return len(self.left) >= self.kept[policy].domains

    def healthy(self, policies: Iterable[str]) -> float:
        """Return the raw capacity that data of these policies can fill."""
        return capacity(self.domains, max(self.kept[name].width for name in policies))

    def after(self, policies: Iterable[str]) -> float:
        """Return the raw capacity without a host, for recoverable policies, or infinite if none is."""
        widths = [self.kept[name].width for name in policies if self.heals(name)]
        return capacity(self.left, max(widths)) if widths else math.inf

    def raw(self, data: Data) -> float:
        """Return the raw bytes of data."""
        return sum(size * self.kept[name].overhead for name, size in data.items())

    def raw_after(self, data: Data) -> float:
        """Return the raw bytes of data without a host. Unrecoverable data keep their part on the other hosts."""
        whole = sum(self.domains)
        left = sum(self.left) / whole if whole else 0.0
        return sum(size * self.kept[name].overhead * (1.0 if self.heals(name) else left) for name, size in data.items())

    def times(self, more: Data) -> float:
        """Return how many times `more` fits in addition to the stored data, or 0 if the pool is overfilled."""
        rules = self._rules(more)
        return max(0.0, min(((room - taken) / each for taken, room, each in rules if each > 0), default=math.inf))

    @property
    def fullness(self) -> float:
        """Ratio of stored data to the limit. The pool is overfilled if the ratio is above 1."""
        taken = [(taken, room) for taken, room, _ in self._rules({}) if taken]
        return max((taken / room if room else math.inf for taken, room in taken), default=0.0)

    @property
    def lacks_space(self) -> bool:
        """True if recovery after a host failure stops because devices are full."""
        after = self.after(self.used)
        return math.isfinite(after) and self.raw_after(self.data) > self.recovery_stops * after

    @property
    def stored(self) -> float:
        """Stored user data, in bytes."""
        return sum(self.data.values())

    @property
    def usable(self) -> float:
        """Usable capacity in bytes of user data, with policies in their present proportion."""
        mix = self.data if self.stored else {OWN: 1.0}
        return replace(self, data={}).times(mix) * sum(mix.values())

    def holding(self, more: Data, times: float = 1.0) -> Room:
        """Return the pool with `more` stored."""
        data = dict(self.data)
        for name, size in more.items():
            data[name] = data.get(name, 0.0) + times * size
        return replace(self, data=data)

    def _rules(self, more: Data) -> Iterator[tuple[float, float, float]]:
        """Yield the used and allowed raw bytes of each capacity rule, and the raw bytes that `more` would use."""
        policies = [name for name in self.kept if self.data.get(name) or more.get(name)] or [OWN]
        yield self.raw(self.data), self.full * self.healthy(policies), self.raw(more)
        after = self.after(policies)
        if math.isfinite(after):
            yield self.raw_after(self.data), self.full * after, self.raw_after(more)


def spaces(scenario: Scenario) -> dict[str, Space]:
    """Return the capacity of each pool by name, empty without pools."""
    pools = _pools(scenario)
    return {name: _space(pools[name], room) for name, room in rooms(scenario).items()}


def rooms(scenario: Scenario, like: Scenario | None = None) -> dict[str, Room]:
    """Return the capacity of each pool by name. With `like`, each VM stores as much as in that scenario."""
    stored = stored_by_vm(scenario, like)
    based = _working_sets(like or scenario)
    pools, found = _pools(scenario), {}
    facts = language.pool_facts(scenario.json) if pools else {}
    for name, pool in pools.items():
        inventory = scenario.inventory.pool[name]
        domains = _domains(pool, len(inventory.hosts))
        left = _without_a_host(pool, domains)
        redundancies = {OWN: inventory.redundancy, **inventory.policies}
        data = dict.fromkeys(redundancies, 0.0)
        for each in stored.values():
            for policy, size in each.get(name, {}).items():
                data[policy] += size
        if "stored" in pool and not any(name in each for each in based.values()):
            data[OWN] += _core.size_bytes(pool["stored"])
        kept = {policy: _kept(pool, each) for policy, each in redundancies.items()}
        full, stops = facts[name].full_pct / 100, facts[name].recovery_pct / 100
        found[name] = Room(full, stops, domains, left, kept, data)
    return found


def without_hosts(scenario: Scenario, name: str, room: Room, many: int) -> Room:
    """Return a pool in which this many hosts are lost."""
    left = room.domains
    for _ in range(many):
        left = _without_a_host(_pools(scenario)[name], left)
    return replace(room, left=left)


def stored_by_vm(scenario: Scenario, like: Scenario | None = None) -> dict[str, dict[str, dict[str, float]]]:
    """Return the bytes stored by each VM, by VM name, pool and policy.

    These are the working sets of the VM, or its share of the data of a pool.

    The data of a pool (`stored`) are divided in proportion to the working sets of its VMs. With `like`, the working
    sets of that scenario count, so additional VMs add to the data.
    """
    sets = _working_sets(scenario)
    based = sets if like is None else _working_sets(like)
    scale = {}
    for name, pool in _pools(like or scenario).items():
        total = sum(size for each in based.values() for size in each.get(name, {}).values())
        scale[name] = _core.size_bytes(pool["stored"]) / total if "stored" in pool and total else 1.0
    return {
        vm: {pool: {policy: size * scale[pool] for policy, size in sizes.items()} for pool, sizes in each.items()}
        for vm, each in sets.items()
    }


def capacity(domains: Sequence[float], width: int) -> float:
    """Return the maximum raw capacity that `width` parts of all data can fill, each part in a different domain.

    A domain holds at most one part of each piece of data: of raw capacity x, at most x / width. The result is the
    largest x for which the sum of min(domain, x / width) is x.
    """
    sizes = sorted((size for size in domains if size > 0), reverse=True)
    if len(sizes) < width:
        return 0.0
    found, rest = sum(sizes), sum(sizes)
    for filled in range(width):  # the `filled` largest have a part of everything, the others are full
        found = rest * width / (width - filled)
        if sizes[filled] <= found / width:
            break
        rest -= sizes[filled]
    return found


def _space(pool: Mapping[str, Any], room: Room) -> Space:
    raw = room.raw(room.data)
    heals = all(room.heals(name) for name in room.used) and not room.lacks_space
    healthy, after = room.healthy(room.used), room.after(room.used)
    # fuller devices stay as full as they are
    stops = max(room.recovery_stops, raw / healthy)
    used_after = min(room.raw_after(room.data) / after, stops) if math.isfinite(after) else raw / healthy
    then = replace(room, domains=room.left, left=_without_a_host(pool, room.left))
    lost: LostHost = {
        "survives": all(room.kept[name].survives for name in room.used),
        "heals": heals,
        "room_gib": then.usable / GIB if heals else None,
        "used_pct": 100 * used_after,
    }
    return {
        "kind": pool["kind"],
        "raw_gib": sum(room.domains) / GIB,
        "full_pct": 100 * room.full,
        "recovery_pct": 100 * room.recovery_stops,
        "room_gib": room.usable / GIB,
        "stored_gib": room.stored / GIB,
        "used_pct": 100 * raw / healthy,
        "free_gib": room.times(room.data if room.stored else {OWN: 1.0}) * (room.stored or 1.0) / GIB,
        "lost_host": lost,
        "policies": [
            PolicySpace(
                name=name,
                redundancy=kept.scheme,
                overhead=kept.overhead,
                survives=kept.survives,
                heals=room.heals(name),
                stored_gib=room.data[name] / GIB,
                room_gib=replace(room, data={}).times({name: 1.0}) / GIB,
                free_gib=room.times({name: 1.0}) / GIB,
            )
            for name, kept in room.kept.items()
        ],
    }


def _kept(pool: Mapping[str, Any], redundancy: RedundancyFacts) -> Kept:
    return Kept(
        redundancy.scheme,
        redundancy.width,
        redundancy.width / redundancy.needed,
        pool["failure_domain"] != "disk" and redundancy.failures_tolerated > 0,
        redundancy.domains,
    )


def disks_of_host(pool: Mapping[str, Any]) -> list[float]:
    """Return the capacity of each disk of a host."""
    disks = (pool["devices"], *pool.get("more_devices", ()))
    return [_core.size_bytes(each["capacity"]) for each in disks for _ in range(each["per_node"])]


def disks_of_domains(pool: Mapping[str, Any], hosts: int) -> list[list[float]]:
    """Return the capacity of each disk of each failure domain."""
    host = disks_of_host(pool)
    if pool["failure_domain"] == "rack":
        racks = min(pool["racks"], hosts)
        return [host * len(range(rack, hosts, racks)) for rack in range(racks)]
    return [host] * hosts if pool["failure_domain"] == "host" else [[disk] for disk in host] * hosts


def _domains(pool: Mapping[str, Any], hosts: int) -> list[float]:
    """Return the raw capacity of each failure domain."""
    return [sum(disks) for disks in disks_of_domains(pool, hosts)]


def _without_a_host(pool: Mapping[str, Any], domains: Sequence[float]) -> list[float]:
    """Return the domains without a host of the smallest rack, which leaves the least."""
    disks = disks_of_host(pool)
    if pool["failure_domain"] == "disk":
        return list(domains[len(disks) :])
    least, *others = sorted(domains) or [0.0]
    return [size for size in (least - sum(disks), *others) if size > 0]


def _pools(scenario: Scenario) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = scenario.data.get("storage", {})
    return found


def _working_sets(scenario: Scenario) -> dict[str, dict[str, dict[str, float]]]:
    """Return the bytes of working sets in pools, by VM name, pool and policy."""
    pools, said = _pools(scenario), scenario.data
    found: dict[str, dict[str, dict[str, float]]] = {}
    if not pools:
        return found
    for vm in scenario.inventory.vms:
        group = said["vms"][vm.group]
        workload = said["workloads"].get(group.get("workload"), {})
        ends = [workload.get("read_from"), workload.get("write_to")]
        size = float(vm.vdisks * _core.size_bytes(workload.get("working_set", "0 B")))
        for end in ends if any(ends) else [None]:
            pool: str | None = end or vm.pool
            if size and pool is not None and pool in pools:
                kept = {OWN: vm.vdisks} if end else vm.policies or {OWN: vm.vdisks}
                sizes = found.setdefault(vm.name, {}).setdefault(pool, {})
                for policy, vdisks in kept.items():
                    sizes[policy] = sizes.get(policy, 0.0) + size * vdisks / vm.vdisks
    return found
