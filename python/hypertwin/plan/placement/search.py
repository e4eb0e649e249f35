"""Local search for a level placement: VMs leave the most loaded host by moves and swaps until its load cannot be
lowered.

Each host has its own load scale. A host that must stay emptier than others has a smaller scale. An item that does not
fit
only pushes its host above its scale, and the search then relieves the host.
"""

from __future__ import annotations

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, Bools, Floats, Ints, part
from hypertwin.plan.placement.units import Units

LEAST_GAIN = 1e-12
"""Minimum decrease of the peak load by a step."""


class Search:
    """Units on hosts, and the load of hosts relative to their scales."""

    def __init__(self, units: Units, scale: Floats) -> None:
        """Start with all units unplaced."""
        self.units = units
        self.sizes = units.sizes
        self.allowed: Bools = units.allowed.copy()
        self.scale = scale.copy()
        self.at: Ints = np.full(units.count, NOWHERE, np.int64)
        self.loads: Floats = np.zeros_like(scale)
        self.apart: Ints = np.zeros((units.count, len(scale)), np.int64)
        """Number of units on each host from which a unit must be kept apart."""

    def put(self, unit: int, host: int) -> None:
        """Put an unplaced unit on a host."""
        self.at[unit] = host
        self.loads[host] += self.sizes[unit]
        self._count(unit, host, 1)

    def take(self, unit: int) -> None:
        """Remove a unit from its host."""
        host = int(self.at[unit])
        self.at[unit] = NOWHERE
        self.loads[host] -= self.sizes[unit]
        self._count(unit, host, -1)

    def move(self, unit: int, host: int) -> None:
        """Move a unit from its host to another host."""
        self.take(unit)
        self.put(unit, host)

    def _count(self, unit: int, host: int, change: int) -> None:
        for rule in self.units.apart_of[unit]:
            self.apart[self.units.apart[rule], host] += change
            self.apart[unit, host] -= change

    def fullness(self) -> Floats:
        """Return the load of each host, relative to its scale."""
        found: Floats = part(self.loads, self.scale).max(axis=1, initial=0.0)
        return found

    def open_to(self, unit: int) -> Bools:
        """Return an array that is true for each host where rules now allow a unit, regardless of capacity."""
        found: Bools = self.allowed[unit] & (self.apart[unit] == 0)
        return found

    def with_unit(self, unit: int) -> Floats:
        """Return the load of each host with a unit added, relative to its scale."""
        found: Floats = part(self.loads + self.sizes[unit], self.scale).max(axis=1)
        return found

    def fill(self) -> bool:
        """Put every unplaced unit on the host with the lowest load. Return true if all units got a host.

        Units with few allowed hosts go first, then the largest.
        """
        waiting = np.flatnonzero(self.at == NOWHERE)
        hosts = self.allowed[waiting].sum(axis=1)
        few = np.where(2 * hosts < len(self.scale), hosts, len(self.scale))
        largest = part(self.sizes[waiting], np.broadcast_to(self.scale.max(axis=0), self.sizes[waiting].shape))
        complete = True
        for unit in waiting[np.lexsort((waiting, -largest.max(axis=1, initial=0.0), few))].tolist():
            open_ = self.open_to(unit)
            if open_.any():
                self.put(unit, int(np.where(open_, self.with_unit(unit), np.inf).argmin()))
            else:
                complete = False
        return complete

    def descend(self, goal: float, steps: int) -> int:
        """Lower the peak load until it is at most `goal` or no step lowers it. Return the number of steps not used."""
        while steps:
            full = self.fullness()
            host = int(full.argmax())
            if full[host] <= goal or not (self._better_move(host, full) or self._better_swap(host, full)):
                break
            steps -= 1
        return steps

    def _better_move(self, host: int, full: Floats) -> bool:
        """Move one unit off a host, so that the higher load of both hosts is lowest."""
        here = np.flatnonzero(self.at == host)
        open_ = self.allowed[here] & (self.apart[here] == 0)
        open_[:, host] = False
        if not open_.any():
            return False
        left = self._part(self.loads[host] - self.sizes[here], self.scale[host])
        there = self._part(self.loads[None, :, :] + self.sizes[here][:, None, :], self.scale[None, :, :])
        worse = np.where(open_, np.maximum(left[:, None], there), np.inf)
        each, to = np.unravel_index(int(worse.argmin()), worse.shape)
        if worse[each, to] >= full[host] - LEAST_GAIN:
            return False
        self.move(int(here[each]), int(to))
        return True

    def _better_swap(self, host: int, full: Floats) -> bool:
        """Swap a unit of a host with a unit of another host, so that the higher load of both is lowest."""
        here, others = np.flatnonzero(self.at == host), np.flatnonzero((self.at != host) & (self.at != NOWHERE))
        where = self.at[others]
        tied = self._tied(here, others)
        open_ = self.allowed[here][:, where] & self.allowed[others, host][None, :]
        open_ &= (self.apart[here][:, where] - tied <= 0) & (self.apart[others, host][None, :] - tied <= 0)
        if not open_.any():
            return False
        change = self.sizes[others][None, :, :] - self.sizes[here][:, None, :]
        left = self._part(self.loads[host] + change, self.scale[host])
        there = self._part(self.loads[where][None, :, :] - change, self.scale[where][None, :, :])
        worse = np.where(open_, np.maximum(left, there), np.inf)
        each, other = np.unravel_index(int(worse.argmin()), worse.shape)
        if worse[each, other] >= full[host] - LEAST_GAIN:
            return False
        one, two = int(here[each]), int(others[other])
        to = int(self.at[two])
        self.take(one)
        self.take(two)
        self.put(one, to)
        self.put(two, host)
        return True

    def _tied(self, here: Ints, others: Ints) -> Ints:
        """Return the number of rules that keep two units apart, for each pair of the two lists."""
        found = np.zeros((len(here), len(others)), np.int64)
        column = {int(unit): number for number, unit in enumerate(others)}
        for row, unit in enumerate(here.tolist()):
            for rule in self.units.apart_of[unit]:
                for other in self.units.apart[rule].tolist():
                    if other in column:
                        found[row, column[other]] += 1
        return found

    @staticmethod
    def _part(loads: Floats, scale: Floats) -> Floats:
        """Return the use of the most used resource. Scales are above 0 wherever there is load."""
        found: Floats = (loads / scale).max(axis=-1)
        return found


def positive(rooms: Floats) -> Floats:
    """Return rooms as scales. A room of 0 becomes a tiny positive scale."""
    return np.maximum(rooms, 1e-9 * max(float(rooms.max(initial=0.0)), 1.0))
