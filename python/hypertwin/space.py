"""How much room the pools of a scenario have: raw, usable, used, and after a host is lost. Nothing is simulated.

Room is what may be stored so that no device is fuller than its product allows, also when a host is lost and its data
are made anew on the others, where they can be. Placement is taken to be perfect: groups that are dealt by chance fill
some devices sooner.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypertwin import _core, language
from hypertwin.documents.space import LostHost, PolicySpace, Space
from hypertwin.language import Redundancy
from hypertwin.scenario import Scenario

GIB = 2**30

VSAN_FULL_PCT = 90.0
"""How full vSAN may be: the rest is its operations reserve. VMware's sizing guides say about 10 %; a supposition."""

OWN = "(pool)"
"""The name of what a pool keeps of VMs that name no policy."""


def spaces(scenario: Scenario) -> dict[str, Space]:
    """The room of each pool by name, empty without pools."""
    pools: Mapping[str, Mapping[str, Any]] = json.loads(scenario.json).get("storage", {})
    return {name: _space(name, scenario, pool) for name, pool in pools.items()}


def full_pct(pool: Mapping[str, Any]) -> float:
    """How full the devices of a pool may be by the rules of its product, in per cent."""
    if pool["kind"] == "ceph":
        node = language.schema_node("storage.NAME.ceph.nearfull_pct")
        assert node is not None
        return float(pool.get("ceph", {}).get("nearfull_pct", node["default"]))
    return VSAN_FULL_PCT if pool["kind"] == "vsan" else 100.0


def capacity(domains: Sequence[float], width: int) -> float:
    """The most raw capacity that `width` parts of everything can fill, each in another of these domains.

    A domain holds at most one part of each piece of data: of raw capacity x at most x / width. The most x for which
    the sum of min(domain, x / width) is x.
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


def _space(name: str, scenario: Scenario, pool: Mapping[str, Any]) -> Space:
    inventory = scenario.inventory.pool[name]
    redundancies = {OWN: inventory.redundancy, **inventory.policies}
    data = _stored(name, scenario, pool)
    used = {policy: each for policy, each in redundancies.items() if data[policy]} or {OWN: inventory.redundancy}
    domains = _domains(pool, len(inventory.hosts))
    left = _without_a_host(pool, domains)
    full = full_pct(pool) / 100
    healthy, most, heals = _most(pool, domains, used.values())
    after, most_after, _ = _most(pool, left, used.values())
    raw_stored = sum(data[policy] * _overhead(each) for policy, each in used.items())
    stored = sum(data.values())
    overhead = raw_stored / stored if stored else _overhead(inventory.redundancy)
    lost: LostHost = {
        "survives": pool["failure_domain"] != "disk" and all(each.survives > 0 for each in used.values()),
        "heals": heals,
        "room_gib": full * most_after / overhead / GIB if heals else None,
        "used_pct": 100 * raw_stored / (after if heals else healthy),
    }
    free = max(0.0, full * most - raw_stored)
    return {
        "kind": pool["kind"],
        "raw_gib": sum(domains) / GIB,
        "full_pct": 100 * full,
        "room_gib": full * most / overhead / GIB,
        "stored_gib": stored / GIB,
        "used_pct": 100 * raw_stored / healthy,
        "free_gib": free / overhead / GIB,
        "lost_host": lost,
        "policies": [
            PolicySpace(
                name=policy,
                redundancy=each.scheme,
                overhead=_overhead(each),
                stored_gib=data[policy] / GIB,
                room_gib=full * most / _overhead(each) / GIB,
                free_gib=free / _overhead(each) / GIB,
            )
            for policy, each in redundancies.items()
        ],
    }


def _most(pool: Mapping[str, Any], domains: Sequence[float], used: Iterable[Redundancy]) -> tuple[float, float, bool]:
    """Raw capacity that data can fill; what of it they may, if a lost host is to be made good; whether it can be."""
    found = list(used)
    width = max(each.width for each in found)
    healthy, left = capacity(domains, width), _without_a_host(pool, domains)
    heals = len(left) >= max(each.width + _witness(pool, each) for each in found)
    return healthy, capacity(left, width) if heals else healthy, heals


def _overhead(redundancy: Redundancy) -> float:
    """Raw bytes for each byte of the user."""
    return redundancy.width / redundancy.needed


def _witness(pool: Mapping[str, Any], redundancy: Redundancy) -> int:
    """Hosts beyond its own that data need for a vote: two copies with a witness. That of two sites is at a third."""
    has = bool(pool.get("vsan", {}).get("witness")) and pool["failure_domain"] == "host"
    return int(has and redundancy.width == 2 and redundancy.survives == 1)


def _disks(pool: Mapping[str, Any]) -> list[float]:
    """Capacity of each disk of a host."""
    disks = (pool["devices"], *pool.get("more_devices", ()))
    return [_core.size_bytes(each["capacity"]) for each in disks for _ in range(each["per_node"])]


def _domains(pool: Mapping[str, Any], hosts: int) -> list[float]:
    """Raw capacity of each failure domain."""
    host = sum(_disks(pool))
    if pool["failure_domain"] == "rack":
        racks = min(pool["racks"], hosts)
        return [host * len(range(rack, hosts, racks)) for rack in range(racks)]
    return [host] * hosts if pool["failure_domain"] == "host" else _disks(pool) * hosts


def _without_a_host(pool: Mapping[str, Any], domains: Sequence[float]) -> list[float]:
    """The domains without a host: that of the smallest rack, which leaves the least."""
    disks = _disks(pool)
    if pool["failure_domain"] == "disk":
        return list(domains[len(disks) :])
    least, *others = sorted(domains) or [0.0]
    return [size for size in (least - sum(disks), *others) if size > 0]


def _stored(name: str, scenario: Scenario, pool: Mapping[str, Any]) -> Counter[str]:
    """Bytes of the user by policy: what the scenario says is stored, as the working sets divide it."""
    said = json.loads(scenario.json)
    sets: Counter[str] = Counter()
    for vm in scenario.inventory.vms:
        group = said["vms"][vm.group]
        workload = said["workloads"].get(group.get("workload"), {})
        ends = [workload.get("read_from"), workload.get("write_to")]
        for end in ends if any(ends) else [None]:
            if name == (end or vm.pool):
                policy = OWN if end else group.get("policy") or OWN
                sets[policy] += vm.vdisks * int(_core.size_bytes(workload.get("working_set", "0 B")))
    if "stored" not in pool:
        return sets
    stored, total = _core.size_bytes(pool["stored"]), sets.total()
    return Counter({policy: round(stored * size / total) for policy, size in sets.items()} if total else {OWN: stored})
