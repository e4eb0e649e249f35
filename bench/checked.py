"""Whether a plan is sound, by the checker of the tests, which shares nothing with the search."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))
from clusters import GIB, MEMORY_LIMIT, NOWHERE, Made
from tests.python.plan.placement.checker import PRIORITIES, World, wrong_certificate

from hypertwin.members import Rule

WRONG_BY = 1e-6
"""Part of a value that it may be off by."""


@dataclass(frozen=True)
class Claim:
    """What a search says of a cluster."""

    asked: str
    place: Mapping[str, str | None]
    """Per VM: its host."""
    value: float | None
    """None of a place of some of the new VMs."""
    bound: float | None
    failures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Certificates of failures to tolerate, by the failed host."""
    kept: frozenset[str] | None = None
    """Hosts that are left, where some go."""
    emptied: str | None = None
    """The host that goes into maintenance."""
    stays: frozenset[str] = frozenset()
    """VMs that do not leave it."""
    given_up: frozenset[str] = frozenset()
    """Rules that are said to be violated."""


def world(cluster: Made, *, memory_only: bool = False) -> World:
    """A cluster as the checker reads it, from what it was made of."""
    kinds = ("memory",) if memory_only else ("cpu", "memory")

    def of(cpu: float, memory: float) -> dict[str, float]:
        return {kind: {"cpu": cpu, "memory": memory}[kind] for kind in kinds}

    hosts = [host.name for host in cluster.hosts]
    vms = [vm.name for vm in cluster.vms]
    room = {host.name: of(host.room[0], MEMORY_LIMIT * (host.memory_gib * GIB)) for host in cluster.hosts}
    rules = [
        Rule(
            rule.name,
            rule.kind,
            tuple(vms[vm] for vm in rule.vms),
            tuple(hosts[on] for on in rule.hosts),
            rule.mandatory,
        )
        for rule in cluster.rules
    ]
    where = dict(zip(vms, cluster.at, strict=True))
    return World(
        size={vm.name: of(float(vm.mhz), float(vm.memory_gib * GIB)) for vm in cluster.vms},
        room=room,
        failover=room,
        can={vm.name: {host.name for host in cluster.hosts if host.holds(vm)} for vm in cluster.vms},
        rules=rules,
        at={vm: hosts[at] for vm, at in where.items()},
        restarts=set(vms),
        priority=dict.fromkeys(vms, PRIORITIES.index("medium")),
        new={vm for vm, at in where.items() if at == NOWHERE},
    )


def complaints(there: World, claim: Claim) -> list[str]:
    """Everything that is wrong with a plan."""
    return [
        *_whole(there, claim),
        *_limits(there, claim),
        *_rules(there, claim),
        *_failures(there, claim),
        *_value(there, claim),
    ]


def _before(there: World) -> dict[str, str | None]:
    return {vm: None if vm in there.new else host for vm, host in there.at.items()}


def _whole(there: World, claim: Claim) -> Iterator[str]:
    """VMs without a host, or that had to stay or to leave."""
    before = _before(there)
    if set(claim.place) != set(before):
        yield "other VMs than the cluster has"
    for vm, host in claim.place.items():
        if host is None and (claim.value is not None or vm not in there.new):
            yield f"{vm} has no host"
        if claim.asked == "place" and vm not in there.new and host != before[vm]:
            yield f"{vm} moved"
        if claim.kept is not None and host not in claim.kept:
            yield f"{vm} is on {host}, which goes"
        if host is not None and host == claim.emptied and vm not in claim.stays:
            yield f"{vm} is on {host}, which goes into maintenance"


def _limits(there: World, claim: Claim) -> list[str]:
    """Hosts above their limits; what hosts had they may keep beside a host in maintenance, and if not all VMs fit."""
    rooms = there.room
    if claim.emptied is not None or (claim.asked == "place" and claim.value is None):
        had = there.loads(_before(there))
        rooms = {host: {kind: max(room, had[host][kind]) for kind, room in of.items()} for host, of in rooms.items()}
    return there.over(claim.place, rooms, sorted(rooms))


def _rules(there: World, claim: Claim) -> list[str]:
    """Rules that do not hold; beside a host in maintenance, others may stay broken that no leaving VM is in."""
    broken = there.broken(claim.place)
    if claim.emptied is None:
        return broken
    before = _before(there)
    leaves = {vm for vm, host in before.items() if host == claim.emptied}
    stay = {f"rule {rule.name}" for rule in there.rules if not leaves & set(rule.vms)} & set(there.broken(before))
    wishes = {f"rule {rule.name}" for rule in there.rules if not rule.mandatory and rule.name in claim.given_up}
    return [each for each in broken if each not in stay | wishes]


def _failures(there: World, claim: Claim) -> Iterator[str]:
    """What is wrong with where VMs restart."""
    for failed, certificate in claim.failures.items():
        lost = [each["vm"] for each in certificate["cannot_restart"]]
        if lost:
            yield f"{failed}: {', '.join(lost[:3])} cannot restart"
        yield from (f"{failed}: {text}" for text in wrong_certificate(there, claim.place, certificate))
        if claim.kept is not None and not claim.kept.issuperset(certificate["placed"].values()):
            yield f"{failed}: VMs restart on hosts that go"


def _value(there: World, claim: Claim) -> Iterator[str]:
    """A value that is not that of the place, or below its bound."""
    if claim.value is None:
        return
    if claim.bound is not None and claim.bound > claim.value * (1 + WRONG_BY):
        yield f"a bound of {claim.bound:g} above the value {claim.value:g}"
    before = _before(there)
    moved = sum(host != before[vm] for vm, host in claim.place.items())
    loads = there.loads(claim.place)
    peak = max(loads[host][kind] / room for host, of in there.room.items() for kind, room in of.items())
    right = {"moves": moved, "evacuate": moved, "hosts": len(claim.kept or ())}.get(claim.asked, peak)
    if abs(claim.value - right) > WRONG_BY * right:
        yield f"a value of {claim.value:g}, and it is {right:g}"
