"""Maintenance mode for one host, or rolling maintenance of a cluster with the way back.

All VMs leave the host with the fewest moves. The other hosts keep their limits and rules, but existing violations are
allowed: a host above its limits can keep its load. Rules already broken by VMs of other hosts are ignored. A should
rule is dropped if no VM could leave otherwise. The report says whether the other hosts tolerate a failure during the
maintenance. A plan does not require this tolerance.

Rolling maintenance starts with the least loaded host. With a way back, each VM returns, so the final placement equals
the current one. The order of hosts then does not change the number of moves. Without a way back, VMs go to hosts that
were evacuated before, as far as they fit, so most VMs move once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hypertwin.documents.placement import Certificate
from hypertwin.errors import fail
from hypertwin.metrics.words import some
from hypertwin.plan.placement.balance import fewest_moves
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.lacking import above_limits
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import NOWHERE, Bools, Ints, Problem, holds
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.plan.placement.steps import Order, order
from hypertwin.plan.placement.survive import survive
from hypertwin.plan.placement.units import Units

Failures = Sequence[tuple[str, tuple[int, ...]]]
"""Names of failures, with the positions of the failed hosts."""


@dataclass(frozen=True)
class Evacuation:
    """Moves that evacuate hosts."""

    found: Found
    order: Order
    feasible: bool
    """True if all VMs except storage appliances leave every host."""
    stays: tuple[tuple[str, str], ...]
    """VMs that do not leave, with the reason for each."""
    certificates: Mapping[str, Certificate]
    """Certificates of failures of other hosts while a host is empty, by failure."""
    outcomes: Mapping[str, Outcome]
    """Outcomes by failure, with positions of VMs and hosts."""
    notes: tuple[str, ...]


def host_named(problem: Problem, name: str) -> int:
    """Return the position of a host. Raises ScenarioError, which lists all hosts."""
    names = [host.name for host in problem.hosts]
    if name not in names:
        labels = [host.label for host in problem.hosts]
        if labels.count(name) == 1:
            return labels.index(name)
        allowed = f"a host of cluster {problem.cluster}: {some(names, 12)}"
        fail("unknown-reference", "host", name, allowed, "name one of these")
    return names.index(name)


def evacuate(problem: Problem, migrations: Migrations, host: int, failures: Failures = ()) -> Evacuation:
    """Evacuate a host. The report mentions failures that the other hosts do not tolerate during the maintenance."""
    name = problem.hosts[host].name
    made_empty = _emptied(problem, host)
    found, stays, eased = made_empty.found, made_empty.stays, made_empty.problem
    notes = [*already_wrong(problem, eased, made_empty.given_up), *_appliances(migrations, name)]
    notes += [_cannot_be_emptied(name, found, stays)] if stays else []
    notes += [_given_up(name, rule) for rule in made_empty.given_up]
    if found.place is None:
        return Evacuation(found, _nothing(problem.at), False, stays, {}, {}, tuple(notes))
    made = order(eased, migrations, problem.at, found.place, why=f"evacuates {name}")
    if not stays and made.steps:
        made.steps[-1]["empty_host"] = name
    others = tuple((what, failed) for what, failed in failures if host not in failed)
    left = survive(problem.without_hosts([host]), migrations.scenario, found.place, others)
    notes += left.notes
    feasible = not stays and not made.knot
    return Evacuation(found, made, feasible, stays, left.certificates, left.outcomes, tuple(notes))


def rolling(problem: Problem, migrations: Migrations, failures: Failures = (), *, back: bool = True) -> Evacuation:
    """Evacuate each host in turn. With `back`, VMs return before the next evacuation."""
    place = problem.at.copy()
    total = _Total(problem)
    total.notes += already_wrong(problem, problem)
    fresh: list[int] = []
    for host in _emptiest_first(problem):
        name = problem.hosts[host].name
        now = replace(problem, at=place)
        only = None if back or not fresh else fresh
        made_empty = _emptied(now, host, only=only)
        found, stays, eased = made_empty.found, made_empty.stays, made_empty.problem
        total.notes += _appliances(migrations, name)
        if found.place is None or stays:
            total.stays += [(vm, f"{why} ({name})") for vm, why in stays]
            total.notes.append(_cannot_be_emptied(name, found, stays))
            total.fails = True
            total.fails_for_sure |= bool(stays) or found.proven
            continue
        total.notes += [_given_up(name, rule) for rule in made_empty.given_up]
        total.emptied.append(host)
        there = order(eased, migrations, place, found.place, why=f"evacuates {name}", first_step=total.next)
        total.add(there, found, empty=name)
        if there.knot:
            break
        unsafe = Restarts(problem.without_hosts([host])).first_unsafe(
            found.place, [failed for _, failed in failures if host not in failed]
        )
        if unsafe is not None:
            total.unsafe(name, unsafe)
        if back:
            again = order(now, migrations, found.place, place, why=f"back to {name}", first_step=total.next)
            total.add(again, found, back=True)
            if again.knot:
                break
        else:
            place = found.place
            fresh.append(host)
    if not back:  # each VM has to leave its host once, whatever happens
        total.bound = float(np.isin(problem.at, total.emptied).sum())
    return total.told(place)


class _Total:
    """Total of several evacuations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.order = _nothing(problem.at)
        self.value = self.bound = 0.0
        self.binding_constraints: list[str] = []
        self.stays: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.not_borne: list[str] = []
        self.emptied: list[int] = []
        self.fails = self.fails_for_sure = False

    @property
    def next(self) -> int:
        """Number of the next step."""
        return len(self.order.steps) + 1

    def add(self, more: Order, found: Found, *, empty: str = "", back: bool = False) -> None:
        """Add the moves of one direction."""
        for step in more.steps:
            if back:
                step["back"] = True
        if empty and more.steps:
            more.steps[-1]["empty_host"] = empty
        self.order = Order(
            self.order.moves + more.moves,
            self.order.steps + more.steps,
            more.place,
            self.order.knot + more.knot,
            tuple(dict.fromkeys(self.order.notes + more.notes)),
        )
        self.value += found.value or 0.0
        self.bound += found.bound or 0.0
        self.binding_constraints += found.binding_constraints

    def unsafe(self, name: str, outcome: Outcome) -> None:
        """Record a failure that the other hosts do not tolerate."""
        failed = " + ".join(self.problem.hosts[each].name for each in outcome.failed)
        lost = ", ".join(self.problem.vms[vm].called for vm, _ in outcome.cannot_restart[:3])
        self.not_borne.append(f"while {name} is empty, {lost} cannot restart if {failed} fails")

    def told(self, place: Ints) -> Evacuation:
        """Return the combined result."""
        notes = [*dict.fromkeys(self.notes)]
        if self.not_borne:
            many = f"; and {len(self.not_borne) - 3} more such failures" if len(self.not_borne) > 3 else ""
            told = "; ".join(self.not_borne[:3])
            notes.append(f"{told[0].upper()}{told[1:]}{many}.")
        seconds = [step["seconds"] for step in self.order.steps]
        if seconds and all(each is not None for each in seconds):
            hours = sum(each for each in seconds if each is not None) / 3600
            notes.append(f"{len(self.order.moves)} moves take {hours:.1f} h, not counting the work on the hosts.")
        feasible = not self.fails and not self.order.knot
        bound = min(self.bound, self.value)
        found = Found(
            place,
            "moves",
            self.value,
            bound,
            self.fails_for_sure if self.fails else feasible and self.value <= bound,
            tuple(dict.fromkeys(self.binding_constraints)),
        )
        return Evacuation(found, self.order, feasible, tuple(self.stays), {}, {}, tuple(notes))


@dataclass(frozen=True)
class _Emptied:
    """Host after its evacuation."""

    found: Found
    stuck: tuple[tuple[int, str], ...]
    """VMs that do not leave, with the reason for each."""
    problem: Problem
    """Problem that was solved."""
    given_up: tuple[str, ...]
    """Should rules that the plan violates during the maintenance."""

    @property
    def stays(self) -> tuple[tuple[str, str], ...]:
        return tuple((self.problem.vms[vm].name, why) for vm, why in self.stuck)


def _emptied(problem: Problem, host: int, *, only: Sequence[int] | None = None) -> _Emptied:
    """Return the fewest moves that evacuate a host. If possible, its VMs go to hosts in `only`."""
    place = problem.at
    stuck = _stuck(problem, host)
    wishes = {rule.name for rule in problem.rules if not rule.mandatory and {vm for vm, _ in stuck} & set(rule.vms)}
    if wishes:
        without = problem.without_rules(wishes)
        freed = _stuck(without, host)
        if len(freed) < len(stuck):
            problem, stuck = without, freed
        else:
            wishes = set()
    kept = {vm for vm, _ in stuck}
    fits = problem.fits.copy()
    fits[:, host] = False
    fits[list(kept), host] = True
    leaves = (place == host) & ~fits[:, host]
    rooms = np.maximum(problem.rooms, problem.loads(place))
    rules = tuple(rule for rule in problem.rules if holds(rule, place) or _concerns(rule.vms, leaves, kept))
    failover = np.maximum(problem.failover, rooms)
    eased = replace(problem, fits=fits, rooms=rooms, failover=failover, rules=rules)
    if only is not None:
        narrow = fits.copy()
        narrow[np.ix_(leaves, [each not in only for each in range(len(problem.hosts))])] = False
        found = fewest_moves(replace(eased, fits=narrow), ())
        if found.place is not None:
            return _Emptied(found, tuple(stuck), eased, tuple(sorted(wishes)))
    found = fewest_moves(eased, ())
    if found.place is None:
        more = {rule.name for rule in rules if not rule.mandatory}
        freed_of_all = eased.without_rules(more)
        again = fewest_moves(freed_of_all, ()) if more else found
        if again.place is not None:
            place = again.place
            broken = {rule.name for rule in rules if not rule.mandatory and not holds(rule, place)}
            return _Emptied(again, tuple(stuck), freed_of_all, tuple(sorted(wishes | broken)))
    return _Emptied(found, tuple(stuck), eased, tuple(sorted(wishes)))


def _concerns(vms: Sequence[int], leaves: Bools, kept: set[int]) -> bool:
    """True if a currently violated rule must hold, because it covers VMs that leave and no VM that must stay."""
    return any(leaves[vm] for vm in vms) and not kept.intersection(vms)


def _stuck(problem: Problem, host: int) -> list[tuple[int, str]]:
    """Return the VMs of a host that fit on no other host, and the reason."""
    units = Units(problem)
    found = []
    for vm in np.flatnonzero(problem.at == host).tolist():
        unit = int(units.of_vm[vm])
        elsewhere = units.allowed[unit].copy()
        elsewhere[host] = False
        if elsewhere.any():
            continue
        found.append((vm, _why_stuck(problem, units, vm, host)))
    return found


def _why_stuck(problem: Problem, units: Units, vm: int, host: int) -> str:
    others = np.arange(len(problem.hosts)) != host
    if problem.vms[vm].stays_on_host:
        return "local disks, or CPU affinity"
    if not problem.vms[vm].live_migration:
        return "no live migration: power off, and start on another host"
    if not problem.fits[vm, others].any():
        return "no other host has its hypervisor, vCPUs, memory and storage"
    if not problem.allowed[vm, others].any():
        named = [rule.name for rule in problem.rules if rule.kind in ("run-on", "not-on") and vm in rule.vms]
        return f"rule {' and '.join(named)}"
    with_it = [problem.vms[other].called for other in units.vms[units.of_vm[vm]] if other != vm]
    return f"affinity to {', '.join(with_it)}, and no other host can run all"


def _given_up(host: str, rule: str) -> str:
    return f"Should rule {rule} is violated while {host} is empty."


def already_wrong(problem: Problem, eased: Problem, given_up: Sequence[str] = ()) -> list[str]:
    """Return the existing violations that a plan leaves: hosts above their limits, and rules missing from `eased`."""
    full = above_limits(problem, problem.at)
    notes = []
    if full:
        notes.append(f"Already above its limits: {some(full)} (see plan balance).")
    kept = {rule.name for rule in eased.rules}
    broken = [rule.name for rule in problem.rules if rule.name not in kept and rule.name not in given_up]
    if broken:
        notes.append(f"Already violated by VMs that stay: {', '.join(broken)}.")
    return notes


def _appliances(migrations: Migrations, host: str) -> list[str]:
    own = [vm.called for vm in migrations.scenario.inventory.vms if vm.storage_appliance and vm.host == host]
    if not own:
        return []
    return [f"{', '.join(own)} stays on {host} and shuts down with it: it serves storage to that host."]


def _cannot_be_emptied(name: str, found: Found, stays: Sequence[tuple[str, str]]) -> str:
    if stays:
        by_reason = {why: [vm for vm, of in stays if of == why] for _, why in stays}
        reasons = [f"{some(vms, 8)} stay{'s' * (len(vms) == 1)}, {why}" for why, vms in by_reason.items()]
        return f"{name} cannot be evacuated: {'; '.join(reasons)}."
    why = f" ({', '.join(found.binding_constraints)})" if found.binding_constraints else ""
    return f"{name} cannot be evacuated: the other hosts have no headroom for its VMs{why}."


def _emptiest_first(problem: Problem) -> list[int]:
    counts = np.bincount(problem.at[problem.at != NOWHERE], minlength=len(problem.hosts))
    return sorted(range(len(problem.hosts)), key=lambda host: (int(counts[host]), host))


def _nothing(place: Ints) -> Order:
    return Order([], [], place)
