"""Task of a planner: a problem, the failures to tolerate, and a check of placements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints, Problem
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.plan.placement.units import Units


class Task:
    """Problem with the failures that its placements must tolerate."""

    def __init__(
        self, problem: Problem, failures: Sequence[tuple[int, ...]], *, stay: bool = False, kept: Ints | None = None
    ) -> None:
        """Prepare the task. `failures` are positions of hosts that fail together.

        With `stay`, VMs that have a host only move to restart. If `kept` hosts are given, only these hosts are used.
        """
        if kept is not None:
            problem = problem.without_hosts(sorted(set(range(len(problem.hosts))) - set(kept.tolist())))
            failures = [tuple(set(failed) & set(kept.tolist())) for failed in failures]
        self.problem = problem
        self.failures = tuple(dict.fromkeys(tuple(sorted(set(failed))) for failed in failures if failed))
        self.units = Units(problem)
        if stay:
            for vm in np.flatnonzero(problem.at != NOWHERE).tolist():
                self.units.allowed[self.units.of_vm[vm], np.arange(len(problem.hosts)) != problem.at[vm]] = False

    @cached_property
    def restarts(self) -> Restarts:
        """Search for restart hosts."""
        return Restarts(self.problem)

    @cached_property
    def limits(self) -> Floats:
        """Capacity for VMs without a failure, per host and resource.

        The capacity is the smaller of the limits with and without a failure, because VMs of the remaining hosts stay on
        their hosts.
        """
        left = np.zeros(len(self.problem.hosts), bool)
        for failed in self.failures:
            left |= ~np.isin(np.arange(len(left)), failed)
        return np.where(left[:, None], np.minimum(self.problem.rooms, self.problem.failover), self.problem.rooms)

    @cached_property
    def used(self) -> Bools:
        """True for each host where a VM can be, or can restart."""
        allowed = np.concatenate([self.units.allowed, self.problem.allowed_after_failure])
        return np.array(allowed.any(axis=0), bool)

    @cached_property
    def covered(self) -> Bools:
        """True for each host that is in some failure, or where no VM can be."""
        found = ~self.used
        for failed in self.failures:
            found[list(failed)] = True
        return found

    def within(self, place: Ints) -> bool:
        """True if a placement has all VMs, hosts within limits and all rules satisfied, apart from failures."""
        if (place == NOWHERE).any() or self.problem.broken(place):
            return False
        return bool((self.problem.loads(place) <= self.limits + SLACK * np.maximum(self.limits, 1.0)).all())

    def unsafe(self, place: Ints, *, exact: bool = True) -> Outcome | None:
        """Return the first failure that a placement does not tolerate, or None if it tolerates all.

        Without `exact`, some safe placements count as unsafe. This is meant for loops.
        """
        return self.restarts.first_unsafe(place, self.failures, exact=exact) if self.failures else None

    def good(self, place: Ints, *, exact: bool = True) -> bool:
        """True if a placement is within all limits and tolerates all failures. See `unsafe`."""
        return self.within(place) and self.unsafe(place, exact=exact) is None

    def moves(self, place: Ints) -> int:
        """Return the number of VMs that a placement moves. New VMs do not count."""
        at = self.problem.at
        return int(((place != at) & (at != NOWHERE)).sum())

    def fullest(self, place: Ints) -> float:
        """Return the peak load: the use of the most loaded host, as a fraction of its limit."""
        return float(self.problem.fullness(place).max(initial=0.0))
