"""Reuse of the present hosts: each is emptied, reinstalled with the hypervisor of the target, and filled again.

Before every reinstallation, the VMs that have not moved must fit on the remaining source hosts. The moved VMs must fit
on the target hosts. Both sides are within limits then, and tolerate every failure. As many VMs move at each step as
the target can take. Hosts on loan help if that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from hypertwin.documents import move as documents
from hypertwin.plan.placement import bounds, place
from hypertwin.plan.placement.problem import Problem, part
from hypertwin.plan.placement.task import Task

MAX_LOANS = 3
"""Maximum number of hosts on loan that are tried."""
BACK_OFF = 0.93
"""Factor on the number of moved VMs if the target cannot take them, until it can."""
MAX_TRIES = 40

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """Hosts of one side in the order of their conversion."""

    problem: Problem
    hosts: tuple[int, ...]
    """Positions of hosts in `problem`. On the target, hosts on loan come first."""

    @cached_property
    def _peaks(self) -> dict[tuple[tuple[int, ...], int, int], float | None]:
        """Known loads by hosts, number and hash of VMs."""
        return {}

    def peak_pct(self, hosts: Sequence[int], vms: Sequence[str], failures: int) -> float | None:
        """Return the highest load in a placement of VMs on some hosts that tolerates every failure.

        The load is in per cent of the limit. The result is None if no placement was found.
        """
        key = tuple(hosts), len(vms), hash(frozenset(vms))
        if key not in self._peaks:
            self._peaks[key] = self._peak_pct(hosts, vms, failures)
        return self._peaks[key]

    def _peak_pct(self, hosts: Sequence[int], vms: Sequence[str], failures: int) -> float | None:
        problem = self._with(vms)
        if not len(problem.vms):
            return 0.0
        task = self._task(problem, hosts, failures)
        if task is None:
            return None
        where = place.on_hosts(task, np.array(sorted(hosts), np.int64))
        return None if where is None else 100 * float(part(problem.loads(where), problem.rooms).max(initial=0.0))

    def can_fit(self, hosts: Sequence[int], vms: Sequence[str], failures: int) -> bool:
        """True unless bounds prove that VMs do not fit on some hosts."""
        problem = self._with(vms)
        return not len(problem.vms) or self._task(problem, hosts, failures) is not None

    def _task(self, problem: Problem, hosts: Sequence[int], failures: int) -> Task | None:
        """Return the task on some hosts, or None if it is proven to be impossible."""
        if len(hosts) <= failures:
            return None
        task = Task(problem, list(combinations(hosts, failures)) if failures else [])
        kept = Task(problem, task.failures, kept=np.array(sorted(hosts), np.int64))
        return task if bounds.impossible(kept) is None else None

    def _with(self, vms: Sequence[str]) -> Problem:
        wanted = set(vms)
        return self.problem.without_vms([at for at, vm in enumerate(self.problem.vms) if vm.name not in wanted])


def rolling(source: Side, target: Callable[[int], Side], failures: int, tell: Tell) -> documents.Rolling:
    """Return the steps with the fewest hosts on loan, or the step that fails.

    `target` returns the target side with a number of hosts on loan.
    """
    first: documents.Rolling | None = None
    for loans in range(MAX_LOANS + 1):
        side = target(loans)
        found = _with_loans(source, side, failures, loans, tell, _most_by_volume)
        if found["feasible"]:
            found = _with_loans(source, side, failures, loans, tell, _most)
        if found["feasible"]:
            return found
        first = first or found
    assert first is not None
    return first


Most = Callable[[Side, Sequence[int], Sequence[str], int, int], int]
"""Number of VMs of an order that the target can take: hosts, order, number that it has already, failures."""


def _with_loans(source: Side, target: Side, failures: int, loans: int, tell: Tell, most: Most) -> documents.Rolling:
    """Return the steps with some hosts on loan. With `_most_by_volume`, they are only checked by bounds."""
    is_exact = most is _most
    problem = source.problem
    order = [problem.vms[vm].name for host in source.hosts for vm in np.flatnonzero(problem.at == host)]
    moved = 0
    steps: list[documents.RollingStep] = []
    for converted in range(len(source.hosts)):
        host = problem.hosts[source.hosts[converted]].name
        there = target.hosts[: loans + converted]
        moved = most(target, there, order, moved, failures)
        left, staying = source.hosts[converted + 1 :], order[moved:]
        fits = source.can_fit(left, staying, failures)
        peaks: tuple[float | None, float | None] = None, None
        if is_exact:
            tell(f"{host}, host {converted + 1} of {len(source.hosts)}")
            peaks = source.peak_pct(left, staying, failures), target.peak_pct(there, order[:moved], failures)
            fits = peaks[0] is not None
        steps.append(
            {
                "host": host,
                "moved": moved,
                "staying": len(staying),
                "source_peak_pct": peaks[0],
                "target_peak_pct": peaks[1],
            }
        )
        if not fits:
            why = f"without {host}, {len(staying):,} VMs do not fit on {len(left)} remaining source hosts with failover"
            return {"feasible": False, "loans": loans, "reason": why, "steps": steps}
    feasible = not is_exact or target.peak_pct(target.hosts[loans:], order, failures) is not None
    reason = None if feasible else "the converted hosts cannot take all VMs with failover"
    return {"feasible": feasible, "loans": loans, "reason": reason, "steps": steps}


def _most_by_volume(target: Side, hosts: Sequence[int], order: Sequence[str], least: int, failures: int) -> int:
    """Return an upper bound of the number of VMs that the target can take, from sums of sizes."""
    if len(hosts) <= failures:
        return least
    number = {vm.name: at for at, vm in enumerate(target.problem.vms)}
    sizes = np.array([target.problem.sizes[number[name]] for name in order], float)
    room = np.sort(target.problem.failover[list(hosts)], axis=0)[: len(hosts) - failures].sum(axis=0)
    return max(least, int((np.cumsum(sizes, axis=0) <= room).all(axis=1).sum()))


def _most(target: Side, hosts: Sequence[int], order: Sequence[str], least: int, failures: int) -> int:
    """Return how many VMs of an order the target takes with failover, at least `least`, which it has already."""
    many = _most_by_volume(target, hosts, order, least, failures)
    for _ in range(MAX_TRIES):
        if many <= least or target.peak_pct(hosts, order[:many], failures) is not None:
            return max(least, many)
        many = min(many - 1, int(BACK_OFF * many))
    return least
