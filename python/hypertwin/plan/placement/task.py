"""The task of a planner: a problem, the failures that a place must tolerate, and a check of places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints, Problem
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.plan.placement.units import Units


class Task:
    """A problem and the failures that its places must tolerate."""

    def __init__(
        self, problem: Problem, failures: Sequence[tuple[int, ...]], *, stay: bool = False, kept: Ints | None = None
    ) -> None:
        """Failures are positions of hosts that fail together.

        With `stay` VMs that are somewhere do not move, but for a restart. Of `kept` hosts only those are used.
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
        """The search for restart hosts."""
        return Restarts(self.problem)

    @cached_property
    def limits(self) -> Floats:
        """Per host and resource: what VMs may take before anything fails.

        The room, or the room after a failure where that is less: VMs of a host that is left stay where they are.
        """
        left = np.zeros(len(self.problem.hosts), bool)
        for failed in self.failures:
            left |= ~np.isin(np.arange(len(left)), failed)
        return np.where(left[:, None], np.minimum(self.problem.rooms, self.problem.failover), self.problem.rooms)

    @cached_property
    def used(self) -> Bools:
        """Per host: whether any VM may be there, or may restart there."""
        allowed = np.concatenate([self.units.allowed, self.problem.allowed_after_failure])
        return np.array(allowed.any(axis=0), bool)

    @cached_property
    def covered(self) -> Bools:
        """Per host: whether some failure has it, or no VM may be there."""
        found = ~self.used
        for failed in self.failures:
            found[list(failed)] = True
        return found

    def within(self, place: Ints) -> bool:
        """True if a place has all VMs, hosts within limits and all rules, failures aside."""
        if (place == NOWHERE).any() or self.problem.broken(place):
            return False
        return bool((self.problem.loads(place) <= self.limits + SLACK * np.maximum(self.limits, 1.0)).all())

    def unsafe(self, place: Ints, *, exact: bool = True) -> Outcome | None:
        """The first failure that a place does not tolerate; None if it tolerates all.

        Without `exact`, which is for loops, some safe places pass for unsafe ones.
        """
        return self.restarts.first_unsafe(place, self.failures, exact=exact) if self.failures else None

    def good(self, place: Ints, *, exact: bool = True) -> bool:
        """True if a place is within all limits and tolerates all failures; see `unsafe`."""
        return self.within(place) and self.unsafe(place, exact=exact) is None

    def moves(self, place: Ints) -> int:
        """How many VMs a place moves; new ones do not count."""
        at = self.problem.at
        return int(((place != at) & (at != NOWHERE)).sum())

    def fullest(self, place: Ints) -> float:
        """The peak load: use of the most loaded host, as a part of its limit."""
        return float(self.problem.fullness(place).max(initial=0.0))
