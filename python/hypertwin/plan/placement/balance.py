"""Search for the fewest moves that bring a cluster within its limits, and for the most level placement.

Both results tolerate failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hypertwin.plan.placement import bounds, landing, leaving, nearby
from hypertwin.plan.placement.exact import MOST_IN_FULL, Goal, Places
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.incumbent import Incumbent, Tell
from hypertwin.plan.placement.mend import Mender, undone
from hypertwin.plan.placement.problem import NOWHERE, Floats, Ints, Problem, part
from hypertwin.plan.placement.restart import Outcome
from hypertwin.plan.placement.search import Search, positive
from hypertwin.plan.placement.task import Task

NEAR = 1.002
"""Factor of the bound. The search stops at a peak load within this factor."""
AS_GOOD = 1 + 1e-5
"""Factor of the bound within which a peak load counts as optimal, because solvers are no more exact."""
LESS_LEVEL = 1 - 8e-6
"""Factor below which a peak load counts as lower. It is above the error of solvers, and within AS_GOOD."""
MOST_CHECKS = 8
"""Maximum number of checks of a level that a solver reported as the lowest."""
LEVEL_ENOUGH = 1.007
"""Factor of the bound. The searches stop at a placement within this factor."""
AIMS = (AS_GOOD, NEAR, 1.006, 1.01, 1.016, 1.024, 1.035, 1.05)
"""Target peak loads of searches, as multiples of the bound."""
MOST_REPAIRS = 60
"""Maximum number of attempts to make room for a VM without a host, before the search for a safe placement stops."""
MAX_SPARES = 4
"""Number of hosts to try as a spare for restarts."""
MOST_STEPS = 20_000
"""Maximum number of moves and swaps of one search."""


NODES = 300
"""Node limit of an integer programme that models all failures in full."""
NODES_OF_TINY = 30_000
"""Node limit of a tiny programme, whose nodes are cheap."""
TINY = 200
"""Maximum number of host choices of a tiny programme, including choices after failures."""


def fewest_moves(problem: Problem, failures: Sequence[tuple[int, ...]], *, tell: Tell | None = None) -> Found:
    """Return the fewest moves until no host exceeds its limits, every rule holds and all failures are tolerated.

    If nothing is wrong, the result is the current placement with 0 moves. An interrupt ends the search with the best
    placement so far.
    """
    task = Task(problem, failures)
    why = bounds.impossible(task)
    if why is not None:
        return Found(None, "moves", None, None, proven=True, binding_constraints=(why,))
    if task.good(problem.at):
        return Found(problem.at.copy(), "moves", 0.0, 0.0, proven=True)
    leave = leaving.fewest(task)
    best = Incumbent(lambda place: float(task.moves(place)), float(leave.bound), "{} moves, at least {}", tell)
    with best.kept():
        for place in _candidates(task, leave):
            best.offer(place)
            if best.is_optimal:
                break
        if best.place is None:
            place = level_place(task, bounds.fullest(task)[0], from_nothing=False)
            best.offer(None if place is None else undone(task, place))
        if not best.is_optimal and is_small(task):
            found, least = exact(task, "moves")[:2]
            best.raise_bound(least)
            best.offer(found)
        elif not best.is_optimal:
            _improve(task, leave, best)
        if best.place is not None and not best.is_optimal:
            best.offer(undone(task, best.place, exact=True))
    return best.found("moves", leave.why)


def _candidates(task: Task, leave: leaving.Leaving) -> Iterator[Ints | None]:
    """Yield good placements with few moves, the quickest first, or None for each method that fails."""
    for most in (leave.most, task.limits):
        for near in _after_leaving(task, leave.vms, most):
            yield near if task.good(near) else _mended(task, near, most)
        if np.array_equal(leave.most, task.limits):
            break


def _mended(task: Task, place: Ints, most: Floats) -> Ints | None:
    """Return a good placement near another one, or None. `most` is the initial capacity of hosts for VMs."""
    found = Mender(task, place, most).mended()
    return None if found is None else undone(task, found)


def _after_leaving(task: Task, vms: Ints, most: Floats) -> Iterator[Ints]:
    """Yield the placements with some VMs on other hosts. They might need more moves to be good.

    `most` is the capacity of hosts for VMs.
    """
    for fit in ("level", "tight"):
        search = Search(task.units, positive(most))
        _stay(search, task, vms)
        if fit == "level":
            search.fill()
        else:
            _fill_tight(search, task)
        if (search.at == NOWHERE).any():
            continue
        place = task.units.place_of(search.at)
        yield place


def _stay(search: Search, task: Task, leave: Ints) -> None:
    """Put all units except those in `leave` on their current hosts."""
    leaves = np.zeros(len(task.problem.vms), bool)
    leaves[leave] = True
    for unit, vms in enumerate(task.units.vms):
        hosts = task.problem.at[vms[~leaves[vms]]]
        hosts = hosts[hosts != NOWHERE]
        if len(hosts):
            search.put(unit, int(hosts[0]))


def _fill_tight(search: Search, task: Task) -> None:
    """Put each unplaced unit, largest first, on the host with the least room where the unit still fits."""
    waiting = np.flatnonzero(search.at == NOWHERE)
    size = part(search.sizes[waiting], np.broadcast_to(search.scale.max(axis=0), search.sizes[waiting].shape))
    for unit in waiting[np.lexsort((waiting, -size.max(axis=1, initial=0.0)))].tolist():
        full = np.where(search.open_to(unit), search.with_unit(unit), np.inf)
        fits = full <= 1.0
        if fits.any():
            search.put(unit, int(np.where(fits, full, -np.inf).argmax()))


def _improve(task: Task, leave: leaving.Leaving, best: Incumbent) -> None:
    """Search near the best placement, then raise the bound."""
    start = task.problem.at if best.place is None else best.place
    for place in nearby.fewer_moves(task, start, leave.vms):
        if best.value is not None and task.moves(place) >= best.value:
            break
        best.offer(place if task.good(place) else _mended(task, place, task.limits))
        if best.is_optimal:
            return
    best.raise_bound(landing.bound(task, math.inf if best.value is None else best.value))


def is_small(task: Task, most: int = MOST_IN_FULL) -> bool:
    """True if a programme with failures in full has at most `most` choices."""
    hosts = len(task.problem.hosts)
    return len(task.problem.vms) * (hosts + sum(hosts - len(failed) for failed in task.failures)) <= most


def exact(task: Task, goal: Goal, *, level: float = np.inf) -> tuple[Ints | None, float, Ints]:
    """Return the best placement by a programme with failures in full, a bound, and the hosts to keep.

    No host exceeds `level`. The bound is infinite if no placement exists (proven).
    """
    bound = 0.0
    kept = np.zeros(0, np.int64)
    for shrink in (0.0, 2e-6):  # a solver may overfill a room by a millionth
        model = Places(task, goal, shrink=shrink, level=level)
        model.add_failures()
        place, least, kept = model.solve(NODES_OF_TINY if is_small(task, TINY) else NODES)
        if not shrink:
            bound = least if goal == "min-peak" or np.isinf(least) else float(np.ceil(least - 1e-6))
        whole = Task(task.problem, task.failures, kept=kept) if goal == "hosts" else task
        if place is None or whole.good(place):
            return place, bound, kept
    return None, bound, kept


def most_level(
    problem: Problem, failures: Sequence[tuple[int, ...]], *, from_nothing: bool, tell: Tell | None = None
) -> Found:
    """Return the placement with the lowest peak load, from nothing or from the current one, with worthwhile moves only.

    An interrupt ends the search with the best placement so far.
    """
    return levelled(Task(problem, failures), from_nothing=from_nothing, tell=tell)


def levelled(task: Task, *, from_nothing: bool, tell: Tell | None = None) -> Found:
    """Return the placement with the lowest peak load, for a task."""
    why = bounds.impossible(task)
    if why is not None:
        return Found(None, "min-peak", None, None, proven=True, binding_constraints=(why,))
    bound, binding_constraint = bounds.fullest(task)
    words = "peak load {}%, at least {}%"
    best = Incumbent(task.fullest, bound, words, tell, factor=100.0, tolerance=AS_GOOD)
    with best.kept():
        level_place(task, bound, from_nothing=from_nothing, best=best)
        near = AS_GOOD if is_small(task, TINY) else NEAR
        if is_small(task) and (best.value is None or best.value > bound * near):
            found, least, _ = exact(task, "min-peak")
            best.offer(found)
            better, least = _checked(task, best.place, bound, least)
            best.offer(better)
            best.raise_bound(least)
    return best.found("min-peak", (binding_constraint,))


def _checked(task: Task, place: Ints | None, bound: float, claimed: float) -> tuple[Ints | None, float]:
    """Return a placement and a bound, checked after a programme claims that no placement has a lower level.

    A solver can be wrong about a level, which is not an integer. The check therefore uses a programme of integer
    variables that only searches for a lower placement. A placement that the check finds is better. If the check proves
    that none exists, the claim is the bound.
    """
    for _ in range(MOST_CHECKS):
        if place is not None and claimed > task.fullest(place) * LESS_LEVEL:
            claimed = task.fullest(place)
        level = claimed * LESS_LEVEL
        if level <= bound:
            break
        better, least, _ = exact(task, "any", level=level)
        if better is None:
            return place, level if np.isinf(least) else bound
        if place is not None and task.fullest(better) >= task.fullest(place):
            break
        place = better
    return place, bound


def level_place(task: Task, bound: float, *, from_nothing: bool, best: Incumbent | None = None) -> Ints | None:
    """Return a level placement that tolerates all failures, by local search, or None if the search fails.

    If the first search ends well above the bound, further searches start with a slightly higher aim.
    """
    best = best or Incumbent(task.fullest, bound, "")
    for aim in AIMS:
        best.offer(_level_place(task, bound, aim, from_nothing=from_nothing))
        if best.value is not None and best.value <= bound * LEVEL_ENOUGH:
            break
    for spare in _spares(task) if best.place is None and task.failures else ():
        best.offer(_level_place(task, bound, NEAR, from_nothing=from_nothing, spare=spare))
        if best.place is not None:
            break
    return best.place


def _spares(task: Task) -> list[int]:
    """Return the hosts that could stay empty for restarts: the hosts allowed for the most VMs, and the largest of
    these.
    """
    rooms = (task.problem.rooms / np.maximum(task.problem.rooms.max(axis=0), 1e-300)).min(axis=1)
    usable = task.problem.allowed_after_failure.sum(axis=0)
    order = np.lexsort((np.arange(len(rooms)), -usable, -rooms))
    return [int(host) for host in order[:MAX_SPARES] if task.used[host]]


def _level_place(task: Task, bound: float, aim: float, *, from_nothing: bool, spare: int | None = None) -> Ints | None:
    """Return the result of one search whose target peak load is `aim` times the bound.

    A spare host is only for restarts.
    """
    problem = task.problem
    goal = min(1.0, bound * aim)
    search = Search(task.units, positive(problem.rooms))
    kept = Kept(task)
    if spare is not None:
        only = task.units.allowed[:, spare] & (task.units.allowed.sum(axis=1) == 1)
        kept.most[spare] = np.minimum(kept.most[spare], task.units.sizes[only].sum(axis=0))
        goal = min(1.0, max(goal, kept.level() * aim))
        search.scale = kept.scale(goal)
    if not from_nothing:
        _as_it_is(search, task)
    if not search.fill():
        return None
    for _ in range(MOST_REPAIRS):
        search.scale = kept.scale(goal)
        search.descend(goal, MOST_STEPS)
        place = task.units.place_of(search.at)
        outcome = task.unsafe(place, exact=False)
        if outcome is None:
            return place if task.within(place) else None
        made = kept.make_room(outcome, search.loads)
        higher = min(1.0, max(goal, kept.level() * NEAR))
        if not made and higher == goal:  # nothing would change any more
            return None
        goal = higher
    return None


def _as_it_is(search: Search, task: Task) -> None:
    """Put units on their current hosts, as far as rules allow.

    A unit on several hosts goes to the host with most of the unit.
    """
    units, at = task.units, task.problem.at
    for unit, vms in enumerate(units.vms):
        hosts = at[vms][at[vms] != NOWHERE]
        if len(hosts):
            host = int(np.bincount(hosts).argmax())
            if search.open_to(unit)[host]:
                search.put(unit, host)


class Kept:
    """Room that hosts keep free for VMs of failed hosts."""

    def __init__(self, task: Task) -> None:
        """Start without reserved room, with the limits of the task."""
        self.task = task
        self.most: Floats = task.limits.copy()
        """Capacity for VMs, per host and resource."""

    def scale(self, goal: float) -> Floats:
        """Return scales by host.

        With the scales, a host is as full as the others when only its reserved room is free.
        """
        rooms = self.task.problem.rooms
        return positive(np.minimum(rooms, self.most / max(goal, 1e-9)))

    def level(self) -> float:
        """Return a lower bound of the peak load with the reserved room."""
        problem = self.task.problem
        total = problem.sizes.sum(axis=0)
        level = 0.0
        for each in range(len(problem.resources)):
            rooms, most = problem.rooms[:, each], self.most[:, each]
            low, high = 0.0, 2.0
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if np.minimum(rooms * middle, most).sum() < total[each] else (low, middle)
            level = max(level, high)
        return level

    def make_room(self, outcome: Outcome, loads: Floats) -> bool:
        """Reserve room on hosts for VMs without a host. Return true if any host has enough room.

        The room for each VM is reserved at the lowest cost for the other VMs.
        """
        problem = self.task.problem
        free = problem.failover - problem.loads(outcome.place)
        gone = list(outcome.failed)
        rooms = problem.rooms.sum(axis=0)
        vms = [vm for vm, _ in outcome.cannot_restart]
        made = False
        for vm in sorted(vms, key=lambda vm: (-float(part(problem.sizes[vm], rooms).max()), vm)):
            lacking = np.maximum(problem.sizes[vm] - free, 0.0)
            extra = (lacking / rooms).max(axis=1)
            extra[~problem.allowed_after_failure[vm]] = np.inf
            extra[gone] = np.inf
            extra[(self.most - lacking < 0).any(axis=1)] = np.inf
            host = int(extra.argmin())
            if not np.isfinite(extra[host]):
                continue
            where = lacking[host] > 0
            less = np.minimum(self.most[host], loads[host]) - lacking[host]
            self.most[host] = np.where(where, np.maximum(less, 0.0), self.most[host])
            free[host] -= problem.sizes[vm]
            made = True
        return made
