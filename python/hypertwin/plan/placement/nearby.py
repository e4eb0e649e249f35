"""Integer programmes in which only some VMs can move: those near the moves of a placement, or new ones.

A programme starts without failures, apart from room for the largest VMs. Failures that its placement does not
tolerate are added, and the programme is solved again. Most clusters need few of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hypertwin.plan.placement.exact import Goal, Places
from hypertwin.plan.placement.leaving import largest
from hypertwin.plan.placement.problem import NOWHERE, Bools, Ints
from hypertwin.plan.placement.restart import Outcome
from hypertwin.plan.placement.task import Task

NODES = 20
"""Node limit of each programme."""
MAX_FREE = 160
"""Maximum number of units that can move."""
MAX_CHOICES = 40_000
"""Maximum number of choices of a host. 40,000 take about 0.7 GB."""
MAX_VARIABLES = 45_000
"""Maximum number of variables of all programmes together."""
MAX_ADDED = 12
"""Maximum number of failures added at once, the ones that lack most first."""
LARGE_VMS = 4
"""Number of largest VMs per resource for which another host keeps room."""
RESTARTED_VMS = 40
"""Number of largest VMs per resource that have their own restart host in an added failure."""


def fewer_moves(task: Task, place: Ints, leave: Ints) -> Iterator[Ints]:
    """Yield placements near another one that tolerate more and more of the failures, the last one perhaps all.

    Every placement has the fewest moves of its programme. `leave` are VMs that have to leave their hosts.
    """
    try:
        model = Learning(task, "moves", _free(task, place, leave))
    except ValueError:
        return
    while (found := model.solve()) is not None:
        yield found
        if not model.learn(found, most=max(MAX_ADDED, len(task.failures)) // 2):
            return


class Learning:
    """Integer programme to which failures are added when a placement does not tolerate them."""

    def __init__(self, task: Task, goal: Goal, free: Bools) -> None:
        """Model the `free` units, without failures but with room for the largest VMs.

        Raises ValueError if the programme would be too large.
        """
        self.task = task
        self.model = Places(task, goal, free=free)
        if task.failures:
            self.model.add_holes(np.flatnonzero(largest(task, LARGE_VMS)).tolist())
        self.is_impossible = False
        """True once it is proven that no placement of the free units exists."""
        self._added: dict[tuple[int, ...], int] = {}
        self._variables = 0

    def solve(self) -> Ints | None:
        """Return the best placement of the free units that tolerates the added failures in part, or None."""
        self._variables += len(self.model.programme.cost)
        if self._variables > MAX_VARIABLES:
            return None
        found, bound, _ = self.model.solve(NODES)
        self.is_impossible = found is None and bound == np.inf
        return found

    def learn(self, place: Ints, most: int) -> bool:
        """Add failures that a placement does not tolerate. Return false if there are none, or more than `most`."""
        task = self.task
        unsafe = [each for each in task.restarts.all(place, task.failures) if each.cannot_restart]
        if not unsafe or len(unsafe) > most:
            return False
        unsafe.sort(key=lambda outcome: (-_lacking(task, outcome), outcome.failed))
        for outcome in unsafe[:MAX_ADDED]:
            many = 4 * self._added.get(outcome.failed, RESTARTED_VMS // 4)
            self._added[outcome.failed] = many
            self.model.add_failure_in_part(outcome.failed, largest(task, many))
        return True


def _free(task: Task, place: Ints, leave: Ints) -> Bools:
    """Return the units that can move: those that move, those that leave, and the others of their hosts.

    Hosts with the most such VMs come first, as long as the limits allow.
    """
    units, at = task.units, task.problem.at
    moving = np.union1d(np.flatnonzero(place != at), leave)
    free = np.zeros(units.count, bool)
    free[units.of_vm[moving]] = True
    choices = units.allowed.sum(axis=1)
    homes, counts = np.unique(at[moving][at[moving] != NOWHERE], return_counts=True)
    for host in homes[np.argsort(-counts, kind="stable")].tolist():
        more = free.copy()
        more[units.of_vm[at == host]] = True
        if more.sum() <= MAX_FREE and choices[more].sum() <= MAX_CHOICES:
            free = more
    return free


def _lacking(task: Task, outcome: Outcome) -> float:
    """Return the size of VMs that cannot restart, in rooms of the largest host."""
    sizes = task.problem.sizes[[vm for vm, _ in outcome.cannot_restart]]
    return float((sizes / np.maximum(task.problem.rooms.max(axis=0), 1e-300)).max(axis=1).sum())
