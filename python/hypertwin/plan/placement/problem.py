"""Planner input for a cluster: sizes of VMs, limits of hosts, and allowed hosts of VMs.

Arrays have one row per VM or host, in the order of `vms` and `hosts`, and one column per resource of `resources`. A
*place* is a placement: an array with the position of each VM's host, or NOWHERE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hypertwin.errors import fail
from hypertwin.language import Host, Vm
from hypertwin.members import Cluster
from hypertwin.plan.capacity.demand import capacity_mhz
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.state import State
from hypertwin.scenario import Scenario

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOWHERE = -1

SLACK = 1e-9
"""Tolerance for sums of floats, as a fraction of the limit."""

PRIORITIES = ("highest", "high", "medium", "low", "lowest", "disabled")

Memory = Literal["configured", "consumed"]
"""Kind of VM memory that counts: configured, or measured consumed memory."""


@dataclass(frozen=True)
class Rule:
    """Condition on the hosts of VMs, from a placement rule of the scenario or from a policy."""

    name: str
    kind: Literal["keep-together", "keep-apart", "run-on", "not-on"]
    vms: tuple[int, ...]
    """Positions of the VMs in the rule, in order."""
    hosts: tuple[int, ...] = ()
    """Positions of the hosts in the rule, for `run-on` and `not-on`."""
    mandatory: bool = True
    """True for a must rule, which also holds after a failure."""
    policy: str | None = None
    """Name of the policy that adds the rule, or None for a rule of the scenario."""


@dataclass(frozen=True)
class Problem:
    """VMs and hosts of one cluster, with all limits and rules."""

    cluster: str
    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    """VMs to place, without storage appliances, whose use is deducted from the limits of their hosts."""
    resources: tuple[str, ...]
    """Names of resources: `cpu` (MHz), `memory` (bytes), `vcpus`, `reserved_cpu`, `reserved_memory`, and resources of
    policies. Limits apply to demand. Reservations can take all of a host.
    """
    sizes: Floats
    """Use by each VM, per resource."""
    capacity: Floats
    """Capacity of each host, per resource."""
    rooms: Floats
    """Capacity of each host for VMs within the limits, per resource."""
    failover: Floats
    """Capacity of each host for VMs after a host failure, per resource."""
    usable: Mapping[str, float]
    """Limits on demand after a host failure, as fractions of `capacity`, by resource. Others can take all of a host."""
    fits: Bools
    """True if a VM fits on a host, apart from rules, with one row per VM and one column per host."""
    at: Ints
    """Position of the current host of each VM, or NOWHERE for a new VM."""
    restarts: Bools
    """True for each VM that restarts elsewhere if its host fails. Other VMs fail with the host."""
    rules: tuple[Rule, ...]
    violated: tuple[Rule, ...] = ()
    """Must rules that running VMs violate and need not satisfy before a failure. VMs that restart satisfy them."""
    own_cpu: float = 0.0
    """Mean CPU of hypervisors per CPU of VMs. The CPU of each VM includes that of its present host's hypervisor."""
    notes: tuple[str, ...] = ()
    """Notes on the plan for its reader."""
    not_known: tuple[str, ...] = ()
    """Resources of unknown demand. They limit nothing, so nothing is proven."""

    @cached_property
    def fixed(self) -> Ints:
        """Running VMs that cannot migrate. They stay on their hosts, and restart on others after a failure."""
        stays = np.array([not vm.live_migration for vm in self.vms], bool)
        return np.flatnonzero(stays & (self.at != NOWHERE))

    @cached_property
    def allowed(self) -> Bools:
        """True if a VM can be on a host, by fit and all rules about hosts, with one row per VM."""
        return self.allowed_by(self.rules)

    @cached_property
    def allowed_after_failure(self) -> Bools:
        """True if a VM can be on a host after a failure, by fit and must rules, with one row per VM."""
        return self.allowed_by(self.rules_after_failure, after_failure=True)

    @property
    def rules_after_failure(self) -> list[Rule]:
        """Rules that VMs satisfy when they restart."""
        return [*(rule for rule in self.rules if rule.mandatory), *self.violated]

    def allowed_by(self, rules: Iterable[Rule], *, after_failure: bool = False) -> Bools:
        """Return an array that is true if a VM can be on a host, by fit and some rules about hosts, one row per VM."""
        allowed = self.fits.copy()
        if not after_failure:
            here = allowed[self.fixed, self.at[self.fixed]]
            allowed[self.fixed] = False
            allowed[self.fixed, self.at[self.fixed]] = here
        for rule in rules:
            if rule.kind in ("run-on", "not-on"):
                named = np.zeros(len(self.hosts), bool)
                named[list(rule.hosts)] = True
                allowed[list(rule.vms)] &= named if rule.kind == "run-on" else ~named
        return allowed

    def without_rules(self, names: Iterable[str]) -> Problem:
        """Return the problem without rules of these names."""
        gone = set(names)
        rules, violated = (
            tuple(rule for rule in some if rule.name not in gone) for some in (self.rules, self.violated)
        )
        return replace(self, rules=rules, violated=violated)

    def without_wishes(self) -> Problem:
        """Return the problem with must rules only. A planner drops should rules if no placement satisfies them."""
        return self.without_rules(rule.name for rule in self.rules if not rule.mandatory)

    def without_hosts(self, gone: Iterable[int]) -> Problem:
        """Return the problem without some hosts. These keep their positions."""
        fits = self.fits.copy()
        fits[:, list(gone)] = False
        return replace(self, fits=fits)

    def without_vms(self, gone: Sequence[int]) -> Problem:
        """Return the problem without some VMs. The remaining VMs are renumbered."""
        kept = np.ones(len(self.vms), bool)
        kept[list(gone)] = False
        number = np.cumsum(kept) - 1

        def left(rules: Iterable[Rule]) -> tuple[Rule, ...]:
            found = (replace(rule, vms=tuple(int(number[vm]) for vm in rule.vms if kept[vm])) for rule in rules)
            return tuple(rule for rule in found if rule.vms)

        return replace(
            self,
            vms=tuple(vm for vm, stays in zip(self.vms, kept.tolist(), strict=True) if stays),
            sizes=self.sizes[kept],
            fits=self.fits[kept],
            at=self.at[kept],
            restarts=self.restarts[kept],
            rules=left(self.rules),
            violated=left(self.violated),
        )

    def loads(self, place: Ints) -> Floats:
        """Return the load of each host by VMs, per resource."""
        found = np.zeros_like(self.rooms)
        there = place != NOWHERE
        np.add.at(found, place[there], self.sizes[there])
        return found

    def fullness(self, place: Ints) -> Floats:
        """Return the use of the most used resource of each host, as a fraction of the limit."""
        found: Floats = part(self.loads(place), self.rooms).max(axis=1, initial=0.0)
        return found

    def broken(self, place: Ints, *, after_failure: bool = False) -> list[str]:
        """Return violations of a placement, in words: hosts above their limits, VMs on wrong hosts, violated rules."""
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
        if not after_failure:
            moved = self.fixed[place[self.fixed] != self.at[self.fixed]]
            found += [f"{self.vms[vm].name} cannot migrate" for vm in moved]
        found += [f"rule {rule.name}" for rule in rules if not holds(rule, place)]
        return found


def part(loads: Floats, rooms: Floats) -> Floats:
    """Return loads divided by rooms, element by element.

    A load of 0 gives 0, even without room. Any other load without room gives infinity.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = loads / rooms
    found[(rooms <= 0) & (loads <= 0)] = 0.0
    found[(rooms <= 0) & (loads > 0)] = np.inf
    return found


def holds(rule: Rule, place: Ints) -> bool:
    """True if a placement satisfies a rule. VMs without a host violate no rule."""
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
    """Return the problem of a cluster of a scenario. Raises ScenarioError if it has no host.

    `limits` apply to all hosts, `failover` to the remaining hosts after a failure (default: the same). If the CPU
    demand is unknown, CPU has no limit and a note says so.
    """
    state = State.of(scenario, cluster, limits)
    if not state.hosts:
        fail("unknown-reference", "cluster", cluster.name, "a cluster with a host", "name another cluster")
    after = State.of(scenario, cluster, failover or limits)
    vms = tuple(vm for vm in state.vms if not vm.storage_appliance)
    hosts = tuple(state.hosts)
    number = {host.name: position for position, host in enumerate(hosts)}
    notes = []
    columns: list[tuple[str, Mapping[str, float]]] = []
    cpu = state.used.get("cpu")
    if cpu is None:
        notes.append("CPU demand is unknown, so CPU limits nothing: import telemetry, or set vms.NAME.measured.")
    else:
        columns.append(("cpu", cpu))
    columns.append(("memory", _memory(state, memory, notes)))
    if limits.vcpu_ratio is not None:
        columns.append(("vcpu_ratio", state.used["vcpu_ratio"]))
    columns += [(name, of) for name, of in _reserved(state.vms).items() if any(of[vm.name] for vm in vms)]
    names = ["vcpus" if name == "vcpu_ratio" else name for name, _ in columns]
    return Problem(
        cluster=cluster.name,
        hosts=hosts,
        vms=vms,
        resources=tuple(names),
        sizes=np.array([[column[vm.name] for _, column in columns] for vm in vms], float).reshape(len(vms), len(names)),
        capacity=_of_hosts(state, columns, lambda host, name: _capacity(state, host, name)),
        rooms=_of_hosts(state, columns, lambda host, name: _room(state, host, name)),
        failover=_of_hosts(after, columns, lambda host, name: _room(after, host, name)),
        usable={"cpu": after.limits.cpu, "memory": after.limits.memory, "vcpus": after.limits.vcpu_ratio or 0.0},
        fits=_fits(vms, hosts),
        at=np.array([number[vm.host] for vm in vms], np.int64),
        restarts=np.array([not vm.stays_on_host and vm.restart_priority != "disabled" for vm in vms], bool),
        rules=_rules(scenario, vms, number),
        own_cpu=state.usual_own_cpu,
        notes=tuple(notes),
        not_known=() if cpu is not None else ("cpu",),
    )


def _memory(state: State, asked: Memory, notes: list[str]) -> Mapping[str, float]:
    """Return the memory of VMs that counts."""
    used = state.used.get("memory_consumed") if asked == "consumed" else state.used["memory"]
    if used is None:
        notes.append("Consumed memory is unknown: configured memory counts.")
        used = state.used["memory"]
    return used


def _reserved(vms: Sequence[Vm]) -> dict[str, Mapping[str, float]]:
    """Return the reservations of VMs, in MHz of any host and in bytes."""
    return {
        "reserved_cpu": {vm.name: vm.reservation_hz / 1e6 for vm in vms},
        "reserved_memory": {vm.name: float(vm.memory_reservation_bytes) for vm in vms},
    }


def _capacity(state: State, host: Host, name: str) -> float:
    """Return the capacity of a host."""
    if name == "reserved_cpu":
        return capacity_mhz(host)
    return float(host.memory_bytes) if name == "reserved_memory" else state.capacity(host, name)  # type: ignore[arg-type]


def _room(state: State, host: Host, name: str) -> float:
    """Return the capacity of a host for VMs, less the fixed load."""
    if name in (reserved := _reserved(state.vms)):
        own = state.own[host.name] if name == "reserved_memory" else 0.0
        stays = [reserved[name][vm.name] for vm in state.vms if vm.storage_appliance and vm.host == host.name]
        return max(0.0, _capacity(state, host, name) - own - sum(stays))
    return max(0.0, state.room(host, name) - state.fixed(name).get(host.name, 0.0))  # type: ignore[arg-type]


def _of_hosts(
    state: State, columns: Sequence[tuple[str, Mapping[str, float]]], value: Callable[[Host, str], float]
) -> Floats:
    rows = [[value(host, name) for name, _ in columns] for host in state.hosts]
    return np.array(rows, float).reshape(len(state.hosts), len(columns))


def _fits(vms: Sequence[Vm], hosts: Sequence[Host]) -> Bools:
    """True if a VM fits on a host by vCPUs, memory, hypervisor and storage. Equal VMs are checked once."""
    rows: dict[tuple[tuple[str, ...], str], list[bool]] = {}
    found = np.zeros((len(vms), len(hosts)), bool)
    for number, vm in enumerate(vms):
        kind = vm.host_groups, vm.host if vm.stays_on_host else ""
        if kind not in rows:
            rows[kind] = [vm.can_be_on(host) for host in hosts]
        found[number] = rows[kind]
    return found


def _rules(scenario: Scenario, vms: Sequence[Vm], number: Mapping[str, int]) -> tuple[Rule, ...]:
    """Return the scenario's rules about VMs of this cluster. Rules with equal names are numbered."""
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
