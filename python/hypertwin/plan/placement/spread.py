"""Spread of new VMs over the less loaded hosts, which a search for the lowest peak load does not determine."""

from __future__ import annotations

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Ints
from hypertwin.plan.placement.search import Search, positive
from hypertwin.plan.placement.task import Task

MOST_TRIES = 100
"""Maximum number of placements to check for failures."""


def spread(task: Task, place: Ints) -> Ints:
    """Return a placement as good as `place`, with new VMs as level as possible, by the sum of squares of loads.

    New VMs, the largest first, go to the least loaded host, if failures stay tolerated and the peak load stays.
    Otherwise single VMs of `place` move to less loaded hosts.
    """
    most = task.fullest(place) * (1 + SLACK)
    new = [unit for unit, vms in enumerate(task.units.vms) if (task.problem.at[vms] == NOWHERE).all()]
    search = Search(task.units, positive(task.problem.rooms))
    for unit, vms in enumerate(task.units.vms):
        if unit not in new:
            search.put(unit, int(place[vms[0]]))
    if search.fill():
        filled = task.units.place_of(search.at)
        if task.fullest(filled) <= most and task.good(filled):
            return filled
    return _levelled(task, place, new, most)


def _levelled(task: Task, place: Ints, units: list[int], most: float) -> Ints:
    """Return a placement with single units moved as long as hosts become more level and the placement stays good."""
    search = Search(task.units, positive(task.problem.rooms))
    for unit, vms in enumerate(task.units.vms):
        search.put(unit, int(place[vms[0]]))
    tries = 0
    for unit in sorted(units, key=lambda unit: (-float(search.with_unit(unit).min()), unit)):
        home = int(search.at[unit])
        search.take(unit)
        gain = search.with_unit(unit) ** 2 - search.fullness() ** 2
        gain[~search.open_to(unit)] = np.inf
        search.put(unit, home)
        for host in np.argsort(gain, kind="stable").tolist():
            if gain[host] >= gain[home] - SLACK or tries == MOST_TRIES:
                break
            tries += 1
            search.move(unit, host)
            tried = task.units.place_of(search.at)
            if task.fullest(tried) <= most and task.good(tried, exact=False):
                break
            search.move(unit, home)
    return task.units.place_of(search.at)
