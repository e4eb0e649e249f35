"""Reuse of the present hosts of a cluster: each is emptied, reinstalled with the target's hypervisor, and filled again.

Before every reinstallation, the VMs that have not moved must fit on the remaining source hosts. The moved VMs must fit
on the target hosts. Both sides are within limits then, and tolerate every failure. As many VMs move at each step as
the target can take. Hosts on loan help if that fails. VMs that cannot move stay on the last source hosts, which are
not reinstalled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from hypertwin.plan.placement import balance, bounds, place
from hypertwin.plan.placement.problem import Floats, Ints, Problem, part
from hypertwin.plan.placement.task import Task

MAX_LOANS = 3
"""Maximum number of hosts on loan that are tried."""
LEVEL = 1.05
"""Factor of the lower bound of the peak load at which a placement counts as level."""
BACK_OFF = 0.93
"""Factor on the number of moved VMs if the target cannot take them, until it can."""
MAX_TRIES = 40

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Placed:
    """VMs on some hosts of a side, with every tolerated failure."""

    task: Task
    place: Ints

    @property
    def peak_pct(self) -> float:
        """Highest load of a host, in per cent of its limit."""
        return 100 * float(part(self.task.problem.loads(self.place), self.task.problem.rooms).max(initial=0.0))

    @property
    def after_failure_pct(self) -> float:
        """Highest load of a host after any failure, in per cent of its limit after a failure."""
        problem = self.task.problem
        outcomes = self.task.restarts.all(self.place, list(self.task.failures))
        loads = (part(problem.loads(each.place), problem.failover).max(initial=0.0) for each in outcomes)
        return 100 * float(max(loads, default=0.0))

    @property
    def hosts(self) -> dict[str, str]:
        """Host of each VM, by name."""
        problem = self.task.problem
        return {vm.name: problem.hosts[host].name for vm, host in zip(problem.vms, self.place, strict=True)}


@dataclass(frozen=True)
class Side:
    """Hosts of one side in the order of their conversion."""

    problem: Problem
    hosts: tuple[int, ...]
    """Positions of hosts in `problem`. On the target, hosts on loan come first."""

    @cached_property
    def _known(self) -> dict[tuple[tuple[int, ...], frozenset[str], int, bool], Placed | None]:
        """Known placements by hosts, VMs, failures, and if they are level."""
        return {}

    def placed(self, hosts: Sequence[int], vms: Sequence[str], failures: int, *, level: bool) -> Placed | None:
        """Return a placement of VMs on some hosts that tolerates every failure, or None if none was found.

        A level placement has a low peak load. Others are found sooner.
        """
        key = tuple(hosts), frozenset(vms), failures, level
        if key not in self._known:
            self._known[key] = self._placed(hosts, vms, failures, level=level)
        return self._known[key]

    def _placed(self, hosts: Sequence[int], vms: Sequence[str], failures: int, *, level: bool) -> Placed | None:
        problem = self._with(vms)
        if not len(problem.vms):
            return Placed(Task(problem, []), np.zeros(0, np.int64))
        task = self._task(problem, hosts, failures)
        if task is None:
            return None
        where = place.on_hosts(task, np.array(sorted(hosts), np.int64), near=LEVEL if level else np.inf)
        if where is None and balance.is_small(task):
            where = balance.exact(task, "any")[0]
        return None if where is None else Placed(task, where)

    def can_fit(self, hosts: Sequence[int], vms: Sequence[str], failures: int) -> bool:
        """True unless bounds prove that VMs do not fit on some hosts."""
        problem = self._with(vms)
        return not len(problem.vms) or self._task(problem, hosts, failures) is not None

    def _task(self, problem: Problem, hosts: Sequence[int], failures: int) -> Task | None:
        """Return the task on some hosts, or None if it is proven to be impossible."""
        if len(hosts) <= failures:
            return None
        task = Task(
            problem, list(combinations(sorted(hosts), failures)) if failures else [], kept=np.array(sorted(hosts))
        )
        return task if bounds.impossible(task) is None else None

    def _with(self, vms: Sequence[str]) -> Problem:
        wanted = set(vms)
        return self.problem.without_vms([at for at, vm in enumerate(self.problem.vms) if vm.name not in wanted])


@dataclass(frozen=True)
class Step:
    """State before a host is reinstalled."""

    host: str
    """Reinstalled host, which has no VM."""
    moves: tuple[str, ...]
    """VMs that move to the target before."""
    moved: int
    """VMs on the target by then."""
    staying: int
    source: Placed | None
    """VMs on the remaining source hosts, or None if they do not fit."""
    target: Placed | None


@dataclass(frozen=True)
class Rolling:
    """Steps with a number of hosts on loan."""

    loans: int
    reason: str | None
    """Reason why the steps are not possible, or None if they are."""
    steps: tuple[Step, ...]
    kept: tuple[str, ...]
    """Hosts that are not reinstalled, because VMs on them cannot move."""
    final: Placed | None = None
    """All moved VMs on the reinstalled hosts, without hosts on loan."""


def rolling(
    source: Side, target: Callable[[int], Side], failures: int, tell: Tell, holding: Collection[str] = ()
) -> Rolling:
    """Return the steps with the fewest hosts on loan, or the step that fails.

    `target` returns the target side with a number of hosts on loan. The VMs of `holding` cannot move.
    """
    stay = sorted(holding)
    kept = _kept(source, stay, failures)
    if kept is None:
        why = f"{len(stay):,} VMs that cannot move do not fit on the source hosts with failover"
        return Rolling(0, why, (), ())
    first: Rolling | None = None
    for loans in range(MAX_LOANS + 1):
        found = _Plan(source, target(loans), failures, loans, stay, kept).steps(tell)
        if found.reason is None:
            return found
        first = first or found
    assert first is not None
    return first


def _kept(source: Side, stay: Sequence[str], failures: int) -> int | None:
    """Return the smallest number of last hosts that can keep some VMs, or None if all hosts cannot."""
    if not stay:
        return 0
    for number in range(failures + 1, len(source.hosts) + 1):
        if source.placed(source.hosts[-number:], stay, failures, level=False) is not None:
            return number
    return None


@dataclass(frozen=True)
class _Plan:
    """Steps with a number of hosts on loan."""

    source: Side
    target: Side
    failures: int
    loans: int
    stay: Sequence[str]
    """VMs that cannot move."""
    kept: int
    """Number of last source hosts that are not reinstalled."""

    @cached_property
    def order(self) -> list[str]:
        """VMs that move, in the order of their hosts."""
        problem, stay = self.source.problem, set(self.stay)
        names = (problem.vms[vm].name for host in self.source.hosts for vm in np.flatnonzero(problem.at == host))
        return [name for name in names if name not in stay]

    def steps(self, tell: Tell) -> Rolling:
        """Return all steps, or those until the first that is not possible."""
        hosts = self.source.hosts
        names = [self.source.problem.hosts[host].name for host in hosts]
        reinstalled = len(hosts) - self.kept if self.order else 0
        kept, moved, steps = tuple(names[reinstalled:]), tuple[str, ...](), list[Step]()
        short = next((number for number in range(reinstalled) if not self._has_room(number)), None)
        if short is not None:
            stay = len(self.order) + len(self.stay) - self._most_by_volume(self._there(short), (), self.order)
            return Rolling(self.loans, self._reason(short, stay), (), kept)
        for number in range(reinstalled):
            tell(f"{names[number]}, host {number + 1} of {reinstalled}")
            last, moved = moved, self._moved(number, moved)
            staying = self._staying(moved)
            source = self.source.placed(hosts[number + 1 :], staying, self.failures, level=True)
            target = self.target.placed(self._there(number), moved, self.failures, level=False)
            moves = tuple(name for name in moved if name not in last)
            steps.append(Step(names[number], moves, len(moved), len(staying), source, target))
            if source is None:
                return Rolling(self.loans, self._reason(number, len(staying)), tuple(steps), kept)
        final = self.target.placed(
            self.target.hosts[self.loans :][:reinstalled], self.order, self.failures, level=False
        )
        reason = None if final is not None else "the converted hosts cannot take all VMs with failover"
        return Rolling(self.loans, reason, tuple(steps), kept, final)

    def _there(self, number: int) -> tuple[int, ...]:
        """Return the hosts of the target before a step: on loan, and reinstalled ones."""
        return self.target.hosts[: self.loans + number]

    def _staying(self, moved: Sequence[str]) -> list[str]:
        gone = set(moved)
        return [*(name for name in self.order if name not in gone), *self.stay]

    def _moved(self, number: int, moved: tuple[str, ...]) -> tuple[str, ...]:
        """Return the VMs on the target before a step, at least those that it has already.

        As many VMs as possible move in order. If the source then cannot take the others, later VMs that fit also move.
        """
        there, left = self._there(number), self.source.hosts[number + 1 :]
        rest = [name for name in self.order if name not in set(moved)]
        many = self._most_by_volume(there, moved, rest)
        for _ in range(MAX_TRIES):
            if not many or self.target.placed(there, (*moved, *rest[:many]), self.failures, level=False) is not None:
                break
            many = min(many - 1, int(BACK_OFF * many))
        else:
            many = 0
        moved = (*moved, *rest[:many])
        for name in rest[many + 1 :][:MAX_TRIES]:
            if self.source.placed(left, self._staying(moved), self.failures, level=False) is not None:
                break
            if self.target.placed(there, (*moved, name), self.failures, level=False) is not None:
                moved = (*moved, name)
        return moved

    def _most_by_volume(self, hosts: Sequence[int], moved: Sequence[str], rest: Sequence[str]) -> int:
        """Return an upper bound of the number of further VMs that the target can take, from sums of sizes."""
        if not rest:
            return 0
        sizes = self._sizes(rest)
        room = _room(self.target, hosts, self.failures) - self._sizes(moved).sum(axis=0)
        return int((np.cumsum(sizes, axis=0) <= room + 1e-9 * np.abs(room)).all(axis=1).sum())

    def _sizes(self, names: Sequence[str]) -> Floats:
        problem = self.target.problem
        return problem.sizes[[self._number[name] for name in names]].reshape(len(names), len(problem.resources))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {vm.name: at for at, vm in enumerate(self.target.problem.vms)}

    def _has_room(self, number: int) -> bool:
        """True unless sums of sizes prove that a step is not possible."""
        left = self.source.hosts[number + 1 :]
        here, there = _room(self.source, left, self.failures), _room(self.target, self._there(number), self.failures)
        everything = self._sizes([*self.order, *self.stay]).sum(axis=0)
        of_source = dict(zip(self.source.problem.resources, here, strict=True))
        fits = (
            size <= (of_source.get(name, np.inf) + room) * (1 + 1e-9)
            for name, size, room in zip(self.target.problem.resources, everything, there, strict=True)
        )
        return all(fits) and self.source.can_fit(left, self.stay, self.failures)

    def _reason(self, number: int, staying: int) -> str:
        hosts = self.source.hosts
        host = self.source.problem.hosts[hosts[number]].name
        left = len(hosts) - number - 1
        return f"without {host}, {staying:,} VMs do not fit on {left} remaining source hosts with failover"


def _room(side: Side, hosts: Sequence[int], failures: int) -> Floats:
    """Return the room of some hosts without the largest ones that can fail, per resource."""
    rooms = side.problem.failover[list(hosts)]
    found: Floats = np.sort(rooms, axis=0)[: max(0, len(hosts) - failures)].sum(axis=0)
    return found
