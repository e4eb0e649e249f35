"""Lower bounds for all placements, and proofs that no placement exists.

The bounds follow from volume, from rules about hosts, and from the room after failures.

Each bound is a proof by itself, because it ignores some constraints and adds none.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from hypertwin.metrics import words
from hypertwin.plan.placement.lacking import unfit
from hypertwin.plan.placement.problem import SLACK, Bools, Floats, Ints, part
from hypertwin.plan.placement.task import Task

Bound = tuple[float, str]
"""Bound with its origin."""


def impossible(task: Task) -> str | None:
    """Return the reason why no placement exists, if counting proves it, otherwise None."""
    found = _no_host_is_allowed(task) or _one_is_too_large(task)
    if found is not None:
        return found
    level, why = fullest(task)
    if level == np.inf:
        return f"{why}: no host has any"
    if level > 1 + 1e-7:
        return f"{why} would be at {100 * level:.4g}% of the limit"
    return _after_failure(task) or _groups_apart(task)


def fullest(task: Task) -> Bound:
    """Return a lower bound of the peak load, as a fraction of the limit."""
    return max((_volume(task), _largest(task), _hole(task)), key=lambda each: each[0])


def _no_host_is_allowed(task: Task) -> str | None:
    units, problem = task.units, task.problem
    if units.contradictions:
        return f"rule {units.contradictions[0]} separates VMs that other rules keep together"
    stuck = np.flatnonzero(~units.allowed.any(axis=1))
    if len(stuck):
        for vm in units.vms[stuck[0]].tolist():
            if not problem.fits[vm].any():
                needed = unfit(problem, problem.vms[vm], np.ones(len(problem.hosts), bool))
                return f"{problem.vms[vm].name} needs {needed}"
        names = [problem.vms[vm].name for vm in units.vms[stuck[0]]]
        return f"rules leave no host for {' and '.join(names[:3])}"
    return None


def _one_is_too_large(task: Task) -> str | None:
    units, problem = task.units, task.problem
    limit = task.limits + SLACK * np.maximum(task.limits, 1.0)
    fits = units.allowed & (units.sizes[:, None, :] <= limit[None, :, :]).all(axis=2)
    large = np.flatnonzero(~fits.any(axis=1))
    if not len(large):
        return None
    return f"{problem.vms[units.vms[large[0]][0]].name} is larger than the limit of every host"


def _volume(task: Task) -> Bound:
    """Return a lower bound from all units, split at will over their allowed hosts, as a fraction of the room."""
    problem, units = task.problem, task.units
    best: Bound = (0.0, "nothing")
    classes, of = np.unique(units.allowed, axis=0, return_inverse=True)
    for each, name in enumerate(problem.resources):
        sizes = np.bincount(of.ravel(), weights=units.sizes[:, each], minlength=len(classes)).astype(float)
        rooms, grain = problem.rooms[:, each] * task.used, _grain(units.sizes[:, each])
        levels = [_spread(classes, sizes, rooms)]
        if grain:
            together = [(float(sizes.sum()), rooms), *zip(sizes.tolist(), classes * rooms, strict=True)]
            levels += [_filled(total, hosts, grain) for total, hosts in together]
        best = max(best, (max(levels), name), key=lambda bound: bound[0])
    return best


def _filled(total: float, rooms: Floats, grain: float) -> float:
    """Return the smallest fraction of rooms, each filled with whole grains, that holds a total.

    The result is infinite if no fraction holds the total.
    """
    grains = total / grain * (1 - 1e-12)
    full = rooms[rooms > 0] / grain
    if not len(full):
        return np.inf if total > 0 else 0.0
    low, high = 0.0, max(1.0, 2 * (grains + len(full)) / float(full.sum()))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.floor(full * middle + 1e-9).sum() < grains else (low, middle)
    return low * (1 - 1e-9)


def _whole(rooms: Floats, grain: float) -> Floats:
    """Return rooms without the part that no sum of whole grains can fill."""
    return np.floor(rooms / grain * (1 + SLACK) + 1e-9) * grain if grain else rooms


def _grain(sizes: Floats) -> float:
    """Return the largest unit of which all sizes are multiples, or 0 if the sizes are not whole numbers."""
    whole = np.rint(sizes).astype(np.int64)
    return float(np.gcd.reduce(whole)) if len(sizes) and (whole == sizes).all() else 0.0


def _spread(classes: Bools, sizes: Floats, rooms: Floats) -> float:
    """Return the smallest share of rooms that holds the sizes, each spread over the allowed hosts of its class."""
    whole = float(part(np.array([sizes.sum()]), np.array([rooms.sum()]))[0])
    alone = part(sizes, classes @ rooms)
    if len(classes) == 1 or not np.isfinite(alone).all():
        return max(whole, float(alone.max(initial=0.0)))
    of, host = np.nonzero(classes)
    scale = max(float(rooms.max()), 1e-300)
    cells = len(of)
    rows = [host, np.arange(len(rooms))]
    columns = [np.arange(cells), np.full(len(rooms), cells)]
    values = [np.ones(cells), -rooms / scale]
    upper = coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))))
    equal = coo_array((np.ones(cells), (of, np.arange(cells))), shape=(len(classes), cells + 1))
    cost = np.zeros(cells + 1)
    cost[-1] = 1
    done = linprog(
        cost, A_ub=upper.tocsr(), b_ub=np.zeros(len(rooms)), A_eq=equal.tocsr(), b_eq=sizes / scale, method="highs"
    )
    found = float(done.fun) * (1 - 1e-7) if done.status == 0 else 0.0  # less what a solver may be off by
    return max(whole, float(alone.max(initial=0.0)), found)


def _largest(task: Task) -> Bound:
    """Return a lower bound from each unit alone, on the host with the lowest resulting load."""
    units, problem = task.units, task.problem
    alone = part(
        np.broadcast_to(units.sizes[:, None, :], (units.count, *problem.rooms.shape)),
        np.broadcast_to(problem.rooms[None], (units.count, *problem.rooms.shape)),
    ).max(axis=2)
    least = np.where(units.allowed, alone, np.inf).min(axis=1, initial=np.inf)
    if not len(least):
        return 0.0, "nothing"
    unit = int(least.argmax())
    return float(least[unit]), f"size of {problem.vms[units.vms[unit][0]].name}"


def _hole(task: Task) -> Bound:
    """Return a lower bound from the room that another host keeps for each VM that restarts.

    The other VMs share the remaining room.
    """
    problem = task.problem
    vms = np.flatnonzero(problem.restarts)
    if not len(vms) or not task.failures:
        return 0.0, "nothing"
    vms = vms[_largest_first(problem.sizes[vms], problem.failover)[:200]]
    total, rooms = problem.sizes.sum(axis=0), problem.rooms[task.used].sum(axis=0)
    rest = total - (problem.failover[None, :, :] - problem.sizes[vms][:, None, :])
    others = np.broadcast_to(np.maximum(rooms - problem.rooms, 0.0), rest.shape)
    cost = part(np.maximum(rest, 0.0), others).max(axis=2)
    fits = (problem.sizes[vms][:, None, :] <= (problem.failover * (1 + SLACK))[None, :, :]).all(axis=2)
    cost[~(fits & problem.allowed_after_failure[vms])] = np.inf
    worst = np.zeros_like(cost)
    for failed in task.failures:
        left = np.ones(len(problem.hosts), bool)
        left[list(failed)] = False
        best = cost[:, left].min(axis=1, initial=np.inf)
        worst[:, list(failed)] = np.maximum(worst[:, list(failed)], best[:, None])
    allowed = task.units.allowed[task.units.of_vm[vms]]
    least = np.where(allowed, worst, np.inf).min(axis=1, initial=np.inf)
    vm = int(least.argmax())
    return float(least[vm]), f"room for {problem.vms[vms[vm]].name} on another host"


def _largest_first(sizes: Floats, rooms: Floats) -> Ints:
    parts = sizes / np.maximum(rooms.max(axis=0), 1e-300)
    return np.lexsort((np.arange(len(sizes)), -parts.max(axis=1)))


def _after_failure(task: Task) -> str | None:
    """Return the shortage of the remaining hosts for VMs to restart, in words, or None without one."""
    problem = task.problem
    must = problem.sizes[problem.restarts]
    classes, of = np.unique(problem.allowed_after_failure[problem.restarts], axis=0, return_inverse=True)
    for failed in task.failures:
        left = np.ones(len(problem.hosts), bool)
        left[list(failed)] = False
        names = " and ".join(problem.hosts[host].name for host in failed[:3])
        fails = "fail" if len(failed) > 1 else "fails"
        for each, resource in enumerate(problem.resources):
            limits = problem.failover[:, each] * (left & task.used)
            room = _whole(limits, _grain(problem.sizes[:, each]))
            sizes = np.bincount(of.ravel(), weights=must[:, each], minlength=len(classes)).astype(float)
            whole = float(part(np.array([sizes.sum()]), np.array([room.sum()]))[0])
            if whole > 1 + 1e-7:
                return f"if {names} {fails}, the other hosts {_need(float(sizes.sum()), float(limits.sum()), resource)}"
            over = part(sizes, classes @ room)
            if len(over) and over.max() > 1 + 1e-7:
                about = problem.vms[np.flatnonzero(problem.restarts)[of.ravel() == over.argmax()][0]].name
                where = f"the hosts that can run {about}"
                worst = int(over.argmax())
                need = _need(float(sizes[worst]), float(classes[worst] @ limits), resource)
                return f"if {names} {fails}, {where} {need}"
    return None


def _need(size: float, limit: float, resource: str) -> str:
    """Return what VMs need of hosts on which they do not fit, perhaps only because no VM can be split."""
    share = float(part(np.array([size]), np.array([limit]))[0])
    why = "" if share > 1 + 1e-7 else ", but VMs cannot be split between hosts"
    return f"would need {100 * share:.4g}% of their {words.resource(resource)} limit{why}"


def _groups_apart(task: Task) -> str | None:
    """Return a rule that keeps more VMs apart than hosts exist for them, at all or after a failure."""
    problem = task.problem
    for units, rule in zip(task.units.apart, (r for r in problem.rules if r.kind == "keep-apart"), strict=True):
        hosts = task.units.allowed[units].any(axis=0)
        if len(units) > hosts.sum():
            return f"rule {rule.name} separates {len(units)} VMs, and {hosts.sum()} hosts can run them"
        again = [vm for vm in rule.vms if problem.restarts[vm]]
        if not rule.mandatory or not again:
            continue
        open_ = np.array(problem.allowed_after_failure[again].any(axis=0))
        for failed in task.failures:
            left = int(open_.sum() - open_[list(failed)].sum())
            if len(again) > left:
                return f"rule {rule.name} separates {len(again)} VMs, and {left} hosts can run them after a failure"
    return None


def hosts(task: Task) -> Bound:
    """Return a lower bound of the number of hosts needed, now and after a failure."""
    problem = task.problem
    best: Bound = (float(len(problem.vms) > 0), "one host")
    lost = _always_lost(task)
    alone = np.flatnonzero(task.units.allowed.sum(axis=1) == 1)
    forced = np.unique(task.units.allowed[alone].argmax(axis=1)) if len(alone) else np.zeros(0, np.int64)
    best = max(best, (float(len(forced)), "VMs that only one host can run"), key=lambda each: each[0])
    must = problem.sizes[problem.restarts].sum(axis=0)
    for each, resource in enumerate(problem.resources):
        for rooms, total, gone in (
            (problem.rooms, problem.sizes.sum(axis=0), 0),
            (problem.failover, must, lost),
        ):
            of = np.where(task.used, _whole(rooms[:, each], _grain(problem.sizes[:, each])), 0.0)
            many = _enough(of, forced, float(total[each]), gone)
            after = " after a failure" if gone else ""
            best = max(best, (float(many), f"{resource}{after}"), key=lambda bound: bound[0])
    for rule in problem.rules:
        if rule.kind == "keep-apart":
            again = sum(bool(problem.restarts[vm]) for vm in rule.vms) if rule.mandatory else 0
            many = max(len(rule.vms), again + lost if again > 1 else 0)
            best = max(best, (float(many), f"rule {rule.name}"), key=lambda bound: bound[0])
    return best


def _always_lost(task: Task) -> int:
    """Return the number of kept hosts that can fail together for any choice of kept hosts, including the largest."""
    hosts = [int(host) for host in np.flatnonzero(task.used)]
    if not task.failures or not task.covered.all():
        return 0
    known = set(task.failures)
    many = 1
    while many < len(hosts) and comb(len(hosts), many + 1) <= len(known):
        if not all(each in known for each in combinations(hosts, many + 1)):
            break
        many += 1
    return many


def _enough(rooms: Floats, forced: Ints, total: float, gone: int) -> int:
    """Return the fewest hosts, including the forced ones, with room for all VMs without the `gone` largest hosts."""
    rest = np.sort(np.delete(rooms, forced))[::-1]
    for many in range(max(1, len(forced)), len(rooms) + 1):
        chosen = np.sort(np.concatenate([rooms[forced], rest[: many - len(forced)]]))[::-1]
        if total <= chosen[gone:].sum() * (1 + 1e-7):
            return many
    return len(rooms) + 1
