"""Maintenance mode for one host, or rolling maintenance of a cluster with the way back.

All VMs leave the host with the fewest moves. The other hosts keep their limits and rules, but existing violations are
allowed: a host above its limits can keep its load. VMs of other hosts that violate a must rule may stay. A moved VM
satisfies each must rule. A should rule is dropped if no VM could leave otherwise. The report says whether the other
hosts tolerate a failure during the maintenance. A plan does not require this tolerance.

Rolling maintenance starts with the least loaded host. With a way back, each VM returns, so the final placement equals
the current one. The order of hosts then does not change the number of moves. Without a way back, VMs go to hosts that
were evacuated before, as far as they fit, so most VMs move once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import combinations

import numpy as np

from hypertwin.documents.placement import Certificate
from hypertwin.errors import fail
from hypertwin.metrics.words import some
from hypertwin.plan.placement.balance import fewest_moves
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.lacking import above_limits
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import NOWHERE, Bools, Ints, Problem, Rule, holds
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.plan.placement.steps import Order, order
from hypertwin.plan.placement.survive import survive
from hypertwin.plan.placement.units import Units

Failures = Sequence[tuple[str, tuple[int, ...]]]
"""Names of failures, with the positions of the failed hosts."""

MAX_SEARCHES = 40
"""Maximum number of searches for an evacuation that moves no VM into a violation."""


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
    notes = [*already_wrong(problem, found.place, made_empty.given_up), *_appliances(migrations, name)]
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
    total.notes += _already_full(problem)
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
        self.not_borne.append(f"while {name} is empty, {lost} {outcome.verb} if {failed} fails")

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
    broken = [rule for rule in problem.rules if rule.mandatory and rule not in rules]
    failover = np.maximum(problem.failover, rooms)
    eased = replace(problem, fits=fits, rooms=rooms, failover=failover, rules=rules)

    def done(found: Found, solved: Problem) -> _Emptied:
        wrong = {rule.name for rule in problem.rules if not rule.mandatory and _moved_into(rule, place, found.place)}
        return _Emptied(found, tuple(stuck), solved, tuple(sorted(wishes | wrong)))

    if only is not None:
        narrow = fits.copy()
        narrow[np.ix_(leaves, [each not in only for each in range(len(problem.hosts))])] = False
        found, solved = _fewest(replace(eased, fits=narrow), broken)
        if found.place is not None:
            return done(found, replace(solved, fits=fits))
    found, solved = _fewest(eased, broken)
    more = {rule.name for rule in rules if not rule.mandatory}
    if found.place is None and more:
        again, freed_of_all = _fewest(eased.without_rules(more), broken)
        if again.place is not None:
            return done(again, freed_of_all)
    return done(found, solved)


def _fewest(problem: Problem, broken: Sequence[Rule]) -> tuple[Found, Problem]:
    """Return the fewest moves after which each moved VM satisfies the must rules, with the problem that was solved.

    `broken` are the must rules that VMs violate now. The first search ignores them. A search that moves a VM into a
    violation is replaced by two. In one, these VMs satisfy the rule. In the other, they stay.
    """
    first = fewest_moves(problem, ())
    wrong = _first_moved_into(broken, problem.at, first.place)
    if wrong is None:
        return first, problem
    staying = {vm for rule in broken for vm in rule.vms if problem.fits[vm, problem.at[vm]]}
    best: tuple[Found, Problem] | None = None
    waits: list[tuple[float, int, Problem]] = []
    unsure: list[float] = []
    """Bounds of placements that no search has excluded."""
    met = {wrong[0].name}
    tried = _pinned(problem, staying)  # not a part of the division, but quick
    found = fewest_moves(tried, ())
    if found.place is not None and _first_moved_into(broken, problem.at, found.place) is None:
        best = found, tried
    for number, part in enumerate(_divided(problem, *wrong)):
        heappush(waits, (first.bound or 0.0, number, part))
    for number in range(2, 2 * MAX_SEARCHES, 2):
        if not waits or (best is not None and (best[0].value or 0.0) <= waits[0][0]):
            break
        least, _, tried = heappop(waits)
        found = fewest_moves(tried, ())
        wrong = _first_moved_into(broken, problem.at, found.place)
        if wrong is not None:
            met.add(wrong[0].name)
            for each, part in enumerate(_divided(tried, *wrong)):
                heappush(waits, (max(least, found.bound or 0.0), number + each, part))
        elif found.place is not None:
            unsure.append(found.bound or 0.0)
            if best is None or (found.value or 0.0) < (best[0].value or 0.0):
                best = found, tried
        elif not found.proven:
            unsure.append(least)
    unsure += [least for least, *_ in waits]
    rules = tuple(f"rule {name}" for name in sorted(met))
    if best is None:
        return Found(None, "moves", None, None, proven=not unsure, binding_constraints=rules), problem
    value = best[0].value or 0.0
    bound = min([value, *unsure])
    return replace(best[0], bound=bound, proven=value <= bound, binding_constraints=rules), best[1]


def _divided(problem: Problem, rule: Rule, vms: tuple[int, ...]) -> list[Problem]:
    """Return the problem with VMs that satisfy a rule. If they violate it now, also the problem in which they stay."""
    kept = replace(problem, rules=(*problem.rules, replace(rule, vms=vms)))
    stay = _pinned(problem, vms)
    return [kept] if holds(replace(rule, vms=vms), problem.at) else [kept, stay]


def _pinned(problem: Problem, vms: Iterable[int]) -> Problem:
    """Return the problem with VMs that only fit on their current hosts."""
    fits = problem.fits.copy()
    for vm in vms:
        fits[vm, np.arange(len(problem.hosts)) != problem.at[vm]] = False
    return replace(problem, fits=fits)


def _first_moved_into(rules: Iterable[Rule], at: Ints, place: Ints | None) -> tuple[Rule, tuple[int, ...]] | None:
    """Return the first rule that a moved VM violates, and the VMs concerned."""
    return next(((rule, vms) for rule in rules if (vms := _moved_into(rule, at, place))), None)


def _moved_into(rule: Rule, at: Ints, place: Ints | None) -> tuple[int, ...]:
    """Return a moved VM that violates a rule, with the VMs of the rule that it violates it with, if any."""
    if place is None or holds(rule, place):
        return ()
    moved = {vm for vm in rule.vms if place[vm] != at[vm]}
    if rule.kind == "keep-together":
        return rule.vms if moved else ()
    if rule.kind == "keep-apart":
        pairs = (pair for pair in combinations(rule.vms, 2) if place[pair[0]] == place[pair[1]])
        return next((pair for pair in pairs if moved.intersection(pair)), ())
    return next(((vm,) for vm in rule.vms if vm in moved and not holds(replace(rule, vms=(vm,)), place)), ())


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


def already_wrong(problem: Problem, place: Ints | None, given_up: Sequence[str] = ()) -> list[str]:
    """Return the existing violations that a placement leaves: hosts above their limits, and violated rules."""
    after = problem.at if place is None else place
    broken = [rule.name for rule in problem.rules if rule.name not in given_up and not holds(rule, after)]
    return _already_full(problem) + ([f"Already violated by VMs that stay: {', '.join(broken)}."] if broken else [])


def _already_full(problem: Problem) -> list[str]:
    full = above_limits(problem, problem.at)
    return [f"Already above its limits: {some(full)} (see plan balance)."] if full else []


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
