"""A cluster as a planner sees it: what VMs take, what hosts have for them, and where VMs may be.

Arrays have one row for each VM or host, in the order of `vms` and `hosts`, and one column for each of `resources`. A
*place* is an array with the position of each VM's host, or NOWHERE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hypertwin.errors import fail
from hypertwin.language import Cluster, Host, Vm
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.state import Limited, State
from hypertwin.scenario import Scenario

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOWHERE = -1

SLACK = 1e-9
"""Part of a room that sums of floats may be off by."""

PRIORITIES = ("highest", "high", "medium", "low", "lowest", "disabled")

Memory = Literal["configured", "consumed"]
"""Which memory of a VM counts: what it is configured with, or what it was measured to occupy."""


@dataclass(frozen=True)
class Rule:
    """A condition on the hosts of VMs: a placement rule of the scenario, or of a policy."""

    name: str
    kind: Literal["keep-together", "keep-apart", "run-on", "not-on"]
    vms: tuple[int, ...]
    """Positions of the VMs that it is about, in order."""
    hosts: tuple[int, ...] = ()
    """Positions of the hosts that it is about, of `run-on` and `not-on`."""
    mandatory: bool = True
    """True if it holds after a failure as well."""
    policy: str | None = None
    """The policy that asks for it; None of a rule of the scenario."""


@dataclass(frozen=True)
class Problem:
    """VMs and hosts of one cluster, and everything that limits which VM may be where."""

    cluster: str
    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    """Without storage appliances, whose share is taken off the rooms of their hosts."""
    resources: tuple[str, ...]
    """`cpu` (MHz), `memory` (bytes), `vcpus`, and what policies add."""
    sizes: Floats
    """Per VM and resource: what it takes."""
    capacity: Floats
    """Per host and resource: what there is of it."""
    rooms: Floats
    """Per host and resource: what VMs may take of it within the limits."""
    failover: Floats
    """The same while hosts have failed."""
    fits: Bools
    """Per VM and host: whether it can be there at all, rules aside."""
    at: Ints
    """Per VM: where it is now; NOWHERE of one that is new."""
    restarts: Bools
    """Per VM: true if it restarts elsewhere when its host fails; the others fail with it."""
    rules: tuple[Rule, ...]
    notes: tuple[str, ...] = ()
    """Notes for the reader of the plan."""
    not_known: tuple[str, ...] = ()
    """Resources of which the demand is not known: they limit nothing, so that nothing is proven."""

    @cached_property
    def allowed(self) -> Bools:
        """Per VM and host: whether it can be there, with all rules about hosts."""
        return self.allowed_by(self.rules)

    @cached_property
    def allowed_after_failure(self) -> Bools:
        """The same with mandatory rules only."""
        return self.allowed_by(rule for rule in self.rules if rule.mandatory)

    def allowed_by(self, rules: Iterable[Rule]) -> Bools:
        """Per VM and host: whether it can be there by some of the rules about hosts."""
        allowed = self.fits.copy()
        for rule in rules:
            if rule.kind in ("run-on", "not-on"):
                named = np.zeros(len(self.hosts), bool)
                named[list(rule.hosts)] = True
                allowed[list(rule.vms)] &= named if rule.kind == "run-on" else ~named
        return allowed

    def without_rules(self, names: Iterable[str]) -> Problem:
        """The same without the rules of these names."""
        gone = set(names)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in gone))

    def without_wishes(self) -> Problem:
        """The same with mandatory rules only: a planner gives up the others where there is no place with them."""
        return self.without_rules(rule.name for rule in self.rules if not rule.mandatory)

    def without_hosts(self, gone: Iterable[int]) -> Problem:
        """The same with no VM allowed on some hosts; they keep their positions."""
        fits = self.fits.copy()
        fits[:, list(gone)] = False
        return replace(self, fits=fits)

    def without_vms(self, gone: Sequence[int]) -> Problem:
        """The same without some VMs, whose positions the next ones take."""
        kept = np.ones(len(self.vms), bool)
        kept[list(gone)] = False
        number = np.cumsum(kept) - 1
        rules = (replace(rule, vms=tuple(int(number[vm]) for vm in rule.vms if kept[vm])) for rule in self.rules)
        return replace(
            self,
            vms=tuple(vm for vm, stays in zip(self.vms, kept.tolist(), strict=True) if stays),
            sizes=self.sizes[kept],
            fits=self.fits[kept],
            at=self.at[kept],
            restarts=self.restarts[kept],
            rules=tuple(rule for rule in rules if rule.vms),
        )

    def loads(self, place: Ints) -> Floats:
        """Per host and resource: what VMs take there."""
        found = np.zeros_like(self.rooms)
        there = place != NOWHERE
        np.add.at(found, place[there], self.sizes[there])
        return found

    def fullness(self, place: Ints) -> Floats:
        """Per host: use of its most used resource, as a part of the limit."""
        found: Floats = part(self.loads(place), self.rooms).max(axis=1, initial=0.0)
        return found

    def broken(self, place: Ints, *, after_failure: bool = False) -> list[str]:
        """Violations of a place, in words: hosts above their limits, VMs where they cannot be, rules."""
        rooms = self.failover if after_failure else self.rooms
        found = []
        loads = self.loads(place)
        for host, resource in np.argwhere(loads > rooms + SLACK * np.maximum(rooms, 1.0)):
            name, of = self.hosts[host].name, self.resources[resource]
            found.append(f"{name} has {loads[host, resource]:.6g} of {rooms[host, resource]:.6g} {of}")
        rules = [rule for rule in self.rules if rule.mandatory or not after_failure]
        there = np.flatnonzero(place != NOWHERE)
        astray = there[~self.fits[there, place[there]]]
        found += [f"{self.vms[vm].name} cannot be on {self.hosts[place[vm]].name}" for vm in astray]
        found += [f"rule {rule.name}" for rule in rules if not holds(rule, place)]
        return found


def part(loads: Floats, rooms: Floats) -> Floats:
    """Loads over rooms, element by element; nothing of no room is 0, something of it infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = loads / rooms
    found[(rooms <= 0) & (loads <= 0)] = 0.0
    found[(rooms <= 0) & (loads > 0)] = np.inf
    return found


def holds(rule: Rule, place: Ints) -> bool:
    """True if a rule holds of a place; VMs that are nowhere break none."""
    where = [int(place[vm]) for vm in rule.vms if place[vm] != NOWHERE]
    if rule.kind == "keep-apart":
        return len(set(where)) == len(where)
    if rule.kind == "keep-together":
        return len(set(where)) < 2
    return all((host in rule.hosts) == (rule.kind == "run-on") for host in where)


def problem(
    scenario: Scenario,
    cluster: Cluster,
    limits: Limits,
    *,
    failover: Limits | None = None,
    memory: Memory = "configured",
) -> Problem:
    """The problem of a cluster of a scenario. Raises ScenarioError where it has no host.

    `limits` say what may be used of hosts, `failover` what of those that are left after a failure (default: the same).
    Where the CPU demand is not known, CPU does not limit and a note says so.
    """
    state = State.of(scenario, cluster, limits)
    if not state.hosts:
        fail("unknown-reference", "cluster", cluster.name, "a cluster with a host", "name another cluster")
    after = State.of(scenario, cluster, failover or limits)
    vms = tuple(vm for vm in state.vms if not vm.storage_appliance)
    hosts = tuple(state.hosts)
    number = {host.name: position for position, host in enumerate(hosts)}
    notes = []
    columns: list[tuple[Limited, Mapping[str, float]]] = []
    cpu = state.used.get("cpu")
    if cpu is None:
        notes.append("CPU demand is unknown, so CPU limits nothing: import telemetry, or set vms.NAME.measured.")
    else:
        columns.append(("cpu", {vm.name: max(cpu[vm.name], vm.reservation_hz / 1e6) for vm in vms}))
    columns.append(("memory", _memory(state, vms, memory, notes)))
    if limits.vcpu_ratio is not None:
        columns.append(("vcpu_ratio", state.used["vcpu_ratio"]))
    names = ["vcpus" if name == "vcpu_ratio" else name for name, _ in columns]
    return Problem(
        cluster=cluster.name,
        hosts=hosts,
        vms=vms,
        resources=tuple(names),
        sizes=np.array([[column[vm.name] for _, column in columns] for vm in vms], float).reshape(len(vms), len(names)),
        capacity=_of_hosts(state, columns, state.capacity),
        rooms=_of_hosts(state, columns, lambda host, name: _room(state, host, name)),
        failover=_of_hosts(after, columns, lambda host, name: _room(after, host, name)),
        fits=_fits(vms, hosts),
        at=np.array([number[vm.host] for vm in vms], np.int64),
        restarts=np.array([not vm.stays_on_host and vm.restart_priority != "disabled" for vm in vms], bool),
        rules=_rules(scenario, vms, number),
        notes=tuple(notes),
        not_known=() if cpu is not None else ("cpu",),
    )


def _memory(state: State, vms: Sequence[Vm], asked: Memory, notes: list[str]) -> Mapping[str, float]:
    """Memory that VMs count with; never less than is reserved for them."""
    used = state.used.get("memory_consumed") if asked == "consumed" else state.used["memory"]
    if used is None:
        notes.append("Consumed memory is unknown: configured memory counts.")
        used = state.used["memory"]
    return {vm.name: max(used[vm.name], float(vm.memory_reservation_bytes)) for vm in vms}


def _room(state: State, host: Host, name: Limited) -> float:
    """Capacity of a host for VMs, without the load that stays on it."""
    return max(0.0, state.room(host, name) - state.fixed(name).get(host.name, 0.0))


def _of_hosts(
    state: State, columns: Sequence[tuple[Limited, Mapping[str, float]]], value: Callable[[Host, Limited], float]
) -> Floats:
    rows = [[value(host, name) for name, _ in columns] for host in state.hosts]
    return np.array(rows, float).reshape(len(state.hosts), len(columns))


def _fits(vms: Sequence[Vm], hosts: Sequence[Host]) -> Bools:
    """Per VM and host: whether it can be there by width, memory, hypervisor and storage. VMs are asked once a kind."""
    rows: dict[tuple[tuple[str, ...], str], list[bool]] = {}
    found = np.zeros((len(vms), len(hosts)), bool)
    for number, vm in enumerate(vms):
        kind = vm.host_groups, vm.host if vm.stays_on_host else ""
        if kind not in rows:
            rows[kind] = [vm.can_be_on(host) for host in hosts]
        found[number] = rows[kind]
    return found


def _rules(scenario: Scenario, vms: Sequence[Vm], number: Mapping[str, int]) -> tuple[Rule, ...]:
    """The scenario's rules, as far as they are about VMs of this cluster; equal names are numbered."""
    position = {vm.name: each for each, vm in enumerate(vms)}
    found: list[Rule] = []
    seen: dict[str, int] = {}
    for rule in scenario.inventory.rules:
        about = tuple(sorted(position[name] for name in rule.vms if name in position))
        if not about:
            continue
        seen[rule.name] = seen.get(rule.name, 0) + 1
        name = rule.name if seen[rule.name] == 1 else f"{rule.name} ({seen[rule.name]})"
        hosts = tuple(sorted(number[name] for name in rule.hosts if name in number))
        found.append(Rule(name, rule.kind, about, hosts, rule.mandatory))  # type: ignore[arg-type]
    return tuple(found)
