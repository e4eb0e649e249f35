"""Repair of a placement with few moves: relieve hosts above their limits, keep room for restarts, undo moves.

If a VM cannot restart after a failure, some host must keep more room free. The chosen host is the one that needs the
fewest VMs
moved off. VMs that move already leave first, because they cost nothing.
"""

from __future__ import annotations

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Floats, Ints, part
from hypertwin.plan.placement.restart import Outcome
from hypertwin.plan.placement.search import Search, positive
from hypertwin.plan.placement.task import Task

MOST_ROUNDS = 80
"""Maximum number of attempts to make room before the repair fails."""
MOST_LEAVING = 200
"""Maximum number of VMs moved off one host per attempt."""
MOST_UNDONE = 400
"""Maximum number of moves that the repair tries to undo."""
MOST_UNDONE_EXACTLY = 12
"""Maximum number of moves to undo with an integer programme for each uncertain failure."""


class Mender:
    """Repair of a placement."""

    def __init__(self, task: Task, place: Ints, most: Floats) -> None:
        """Start from a placement that keeps all rules. Units can lack a host, and hosts can exceed the limit `most`."""
        self.task = task
        self.most: Floats = most.copy()
        """Capacity for VMs per host and resource, without the room kept for restarts."""
        self.search = Search(task.units, positive(self.most))
        self.home = _home(task)
        for unit, vms in enumerate(task.units.vms):
            if place[vms[0]] != NOWHERE:
                self.search.put(unit, int(place[vms[0]]))

    def mended(self) -> Ints | None:
        """Return a good placement, or None if none was found."""
        for _ in range(MOST_ROUNDS):
            if not self._within():
                return None
            place = self.task.units.place_of(self.search.at)
            outcome = self.task.unsafe(place, exact=False)
            if outcome is None:
                return place if self.task.within(place) else None
            if not self._make_room(outcome):
                return None
        return None

    def _within(self) -> bool:
        """Bring all hosts within their capacity for VMs, by moves to hosts with room. Return false if this fails."""
        search = self.search
        search.scale = positive(self.most)
        for unit in np.flatnonzero(search.at == NOWHERE).tolist():
            if not self._put(unit, NOWHERE):
                return False
        for host in np.argsort(-search.fullness(), kind="stable").tolist():
            for _ in range(MOST_LEAVING):
                if search.fullness()[host] <= 1 + SLACK:
                    break
                if not self._relieve(host):
                    return False
        return True

    def _relieve(self, host: int) -> bool:
        """Move one unit off an overloaded host: a unit that suffices if possible, otherwise a large one that fits
        elsewhere.
        """
        search = self.search
        here = np.flatnonzero(search.at == host)
        scale = search.scale[host]
        excess = np.maximum(search.loads[host] / scale - 1, 0.0)
        gain = np.minimum(search.sizes[here] / scale, excess).sum(axis=1)
        enough = gain >= excess.sum() * (1 - 1e-9)
        size = (search.sizes[here] / scale).max(axis=1)
        moved = self.home[here] != host
        order = np.lexsort((here, np.where(enough, size, -gain), ~enough, ~moved))
        return any(gain[each] > 0 and self._put(int(here[each]), host) for each in order.tolist())

    def _put(self, unit: int, host: int) -> bool:
        """Put a unit of `host` on another host with room: its current host if possible, otherwise the least loaded
        host.
        """
        search = self.search
        full = np.where(search.open_to(unit), search.with_unit(unit), np.inf)
        if host != NOWHERE:
            full[host] = np.inf
        home = int(self.home[unit])
        to = home if home != NOWHERE and full[home] <= 1 + SLACK else int(full.argmin())
        if not full[to] <= 1 + SLACK:
            return False
        if host != NOWHERE:
            search.take(unit)
        search.put(unit, to)
        return True

    def _make_room(self, outcome: Outcome) -> bool:
        """Reserve room on a host for each VM without a host. Return true if any host has room."""
        problem, search = self.task.problem, self.search
        free = problem.failover - problem.loads(outcome.place)
        rooms = np.maximum(problem.rooms.sum(axis=0), 1e-300)
        done = False
        for vm in sorted(
            (vm for vm, _ in outcome.cannot_restart), key=lambda vm: (-(problem.sizes[vm] / rooms).max(), vm)
        ):
            lacking = np.maximum(problem.sizes[vm] - free, 0.0)
            can = problem.allowed_after_failure[vm].copy()
            can[list(outcome.failed)] = False
            can &= (problem.sizes[vm] <= problem.failover).all(axis=1)
            ranked = sorted(
                (self._leaving(host, lacking[host]), float((lacking[host] / rooms).max()), host)
                for host in np.flatnonzero(can).tolist()
            )
            if not ranked or ranked[0][0] > MOST_LEAVING:
                continue
            host = ranked[0][2]
            less = np.maximum(np.minimum(self.most[host], search.loads[host]) - lacking[host], 0.0)
            self.most[host] = np.where(lacking[host] > 0, less, self.most[host])
            free[host] -= problem.sizes[vm]
            done = True
        return done

    def _leaving(self, host: int, lacking: Floats) -> int:
        """Return a lower bound of the number of original units that must leave a host to free this capacity."""
        search = self.search
        many = 0
        here = np.flatnonzero(search.at == host)
        home = self.home[here] == host
        for each in np.flatnonzero(lacking > 0).tolist():
            sizes = search.sizes[here, each]
            left = lacking[each] - sizes[~home].sum()
            if left > 0:
                sums = np.cumsum(-np.sort(-sizes[home]))
                many = max(many, int(np.searchsorted(sums, left * (1 - 1e-9))) + 1)
                if not len(sums) or sums[-1] < left * (1 - 1e-9):
                    many = MOST_LEAVING + 1
        return many


def undone(task: Task, place: Ints, *, exact: bool = False) -> Ints:
    """Return a placement with moves undone while all checks succeed.

    With `exact`, fewer moves are tried, each in full.
    """
    units, at = task.units, task.problem.at
    place = place.copy()
    home = _home(task)
    tries = 0
    for unit in sorted(
        range(units.count), key=lambda unit: -float(part(units.sizes[unit], units.sizes.sum(axis=0)).max())
    ):
        vms = units.vms[unit]
        to = int(home[unit])
        if to == NOWHERE or place[vms[0]] == to or not units.allowed[unit, to]:
            continue
        if (place[vms] == at[vms]).sum() >= (at[vms] == to).sum():
            continue
        tries += 1
        if tries > (MOST_UNDONE_EXACTLY if exact else MOST_UNDONE):
            break
        tried = place.copy()
        tried[vms] = to
        if task.good(tried, exact=exact):
            place = tried
    return place


def _home(task: Task) -> Ints:
    """Return the current host of most of each unit."""
    found = np.full(task.units.count, NOWHERE, np.int64)
    for unit, vms in enumerate(task.units.vms):
        hosts = task.problem.at[vms][task.problem.at[vms] != NOWHERE]
        if len(hosts):
            found[unit] = np.bincount(hosts).argmax()
    return found
