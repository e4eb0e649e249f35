"""Search for hosts for as many new VMs as possible, without moves of running VMs and with all failures tolerated.

The search puts VMs on hosts in batches while all checks succeed, then one by one. A VM stays only if every failure is
still
tolerated. If a host cannot take a VM safely, it gets no other VM of that size, because hosts only fill up. The number
of checks bounds the work. The search tries several orders of hosts and VMs. If not all VMs fit, small ones go first, so
that most fit. A separate bound gives the maximum number of VMs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints
from hypertwin.plan.placement.search import Search, positive
from hypertwin.plan.placement.task import Task

Progress = Callable[[int, int], None]
"""Function called with the number of VMs that have a host, and the number of all VMs."""

WORK = 40_000_000
"""Maximum number of cells (VMs x hosts) that the checks of one search read, which takes about ten seconds."""
A_GLANCE = WORK // 8
"""Maximum number of cells that the checks of one of several searches read."""
MOST_EXACT = 2
"""Maximum number of checks by integer programmes, for VMs that otherwise fit on no host."""

Order = Callable[[Search, int], Floats]
"""Function that returns the rank of each host for a unit. Hosts with lower ranks are tried first."""
Way = Literal["largest", "smallest", "as given"]
"""Order in which VMs are placed."""


@dataclass(frozen=True)
class Beside:
    """Hosts for new VMs, and the upper bound of their number."""

    place: Ints
    """Host of each VM, or NOWHERE for a new VM without a host."""
    most: int
    """Upper bound of the number of new VMs that can have a host."""

    @property
    def missing(self) -> tuple[int, ...]:
        """Number of new VMs without a host."""
        return tuple(np.flatnonzero(self.place == NOWHERE).tolist())


def beside(task: Task, progress: Progress | None = None, work: int = WORK) -> Beside:
    """Return hosts for as many of the VMs without a host as possible. All other VMs keep their host."""
    return _Placing(task, progress or (lambda _done, _of: None), work).best()


def most(task: Task) -> int:
    """Return an upper bound of the VMs without a host that can get one, by counting.

    It counts the smallest VMs that fit in the room of all hosts together, and in each host by itself. VMs that have a
    host use room, before and after each failure.
    """
    problem = task.problem
    new = np.flatnonzero(problem.at == NOWHERE)
    can = new[task.units.allowed[task.units.of_vm[new]].any(axis=1)]
    if not len(can):
        return 0
    loads = problem.loads(problem.at)
    found = _fit(task.limits - loads, np.zeros(len(problem.resources)), problem.sizes[can])
    again = can[problem.restarts[can]]
    stays = len(can) - len(again)
    for failed in task.failures:
        left = np.ones(len(problem.hosts), bool)
        left[list(failed)] = False
        down = np.isin(problem.at, failed) & problem.restarts
        free = (problem.failover - loads)[left]
        found = min(found, stays + _fit(free, problem.sizes[down].sum(axis=0), problem.sizes[again]))
    return found


def _fit(free: Floats, taken: Floats, sizes: Floats) -> int:
    """Return how many VMs of these sizes fit into the free room of hosts, after deduction of the room taken on any
    host.
    """
    if not len(sizes):
        return 0
    found = len(sizes)
    whole = np.maximum(free, 0.0).sum(axis=0) * (1 + SLACK) - taken
    for each in range(sizes.shape[1]):
        sums = np.cumsum(np.sort(sizes[:, each]))
        found = min(found, int((sums <= whole[each] + SLACK * max(1.0, abs(whole[each]))).sum()))
    least = sizes.min(axis=0)
    room = np.maximum(free, 0.0) * (1 + SLACK) + SLACK
    slots = np.where(least > 0, room / np.where(least > 0, least, 1.0), np.inf).min(axis=1)
    return min(found, int(np.floor(np.minimum(slots, len(sizes))).sum()))


class _Placing:
    """Search for hosts."""

    def __init__(self, task: Task, progress: Progress, work: int) -> None:
        self.task = task
        self.progress = progress
        problem = task.problem
        self.units = [unit for unit, vms in enumerate(task.units.vms) if (problem.at[vms] == NOWHERE).any()]
        """Units with new VMs. A unit that also has existing VMs goes to the host of these VMs."""
        self.most = most(task)
        cells = max(1, len(problem.vms) * len(problem.hosts))
        self.checks = max(work // cells, 3 * (len(self.units) + len(problem.hosts)))
        self.exact = MOST_EXACT if work >= WORK else 0

    def best(self) -> Beside:
        """Return the placement with the most new VMs, over all orders of hosts."""
        found: _Run | None = None
        for order, way in self._orders():
            run = _Run(self, order, way)
            run.fill()
            if found is None or self._count(run.place()) > self._count(found.place()):
                found = run
            if self._count(found.place()) >= self.most or not self.checks:
                break
        assert found is not None
        if self._count(found.place()) < self.most:
            found.finish()
        return Beside(found.place(), self.most)

    def _orders(self) -> Iterator[tuple[Order, Way]]:
        """Yield the orders of hosts and of VMs. The largest VMs go first only if all VMs might fit."""
        new = int((self.task.problem.at == NOWHERE).sum())
        if self.most == new:
            yield from ((_level, "largest"), (_tight, "largest"))
        yield from ((_level, "smallest"), (_tight, "smallest"), (_in_order, "smallest"), (_in_order, "as given"))

    def _count(self, place: Ints) -> int:
        return int(((place != NOWHERE) & (self.task.problem.at == NOWHERE)).sum())

    def safe(self, place: Ints, *, exact: bool = False) -> bool:
        """True if the placement tolerates failures. False without a check once the work limit is reached."""
        if not self.checks or (exact and not self.exact):
            return False
        self.checks -= 1
        self.exact -= exact
        return self.task.unsafe(place, exact=exact) is None


class _Run:
    """Placement of new VMs in one order of hosts."""

    def __init__(self, of: _Placing, order: Order, way: Way) -> None:
        self.of, self.order = of, order
        task = of.task
        self.search = Search(task.units, positive(task.limits))
        for unit, vms in enumerate(task.units.vms):
            home = task.problem.at[vms][task.problem.at[vms] != NOWHERE]
            if len(home):
                self.search.put(unit, int(home[0]))
        self.waiting = [unit for unit in of.units if self.search.at[unit] == NOWHERE]
        if way != "as given":
            size = (self.search.sizes / positive(task.limits).max(axis=0)).max(axis=1)
            sign = -1.0 if way == "largest" else 1.0
            self.waiting.sort(key=lambda unit: (sign * float(size[unit]), unit))
        self.left: list[int] = []
        """Units that fit on no host."""
        self.closed: list[tuple[Floats, Bools]] = []
        """Sizes of units, each with the hosts that could not take the size safely."""

    def fill(self) -> None:
        """Put as many units on hosts as the order allows. The first check may cover all units."""
        done, many = 0, len(self.waiting)
        left: list[int] = []
        while done < len(self.waiting):
            some = self.waiting[done : done + many]
            self.of.progress(done - len(left), len(self.waiting))
            if len(some) > 1 and not self._put(some):
                many = max(1, len(some) // 2)
                continue
            if len(some) == 1 and not self._put_one(some[0]):
                left.append(some[0])
            done += len(some)
            many = max(1, 2 * len(some))
        self.left = left

    def finish(self) -> None:
        """Try remaining units with integer programmes, which find more restarts."""
        for unit in self.left:
            self._put_one(unit, exact=True)

    def place(self) -> Ints:
        """Return the current hosts of VMs. The placement tolerates all failures."""
        return self.of.task.units.place_of(self.search.at)

    def _put(self, units: Sequence[int]) -> bool:
        """Put units on hosts and keep them there if all failures are tolerated. Put no unit if one has no host."""
        done = []
        for unit in units:
            hosts = self._hosts(unit)
            if not hosts:
                break
            self.search.put(unit, hosts[0])
            done.append(unit)
        if len(done) == len(units) and self.of.safe(self.place()):
            return True
        for unit in done:
            self.search.take(unit)
        return False

    def _put_one(self, unit: int, *, exact: bool = False) -> bool:
        """Put a unit on the first host that can take the unit safely."""
        for host in self._hosts(unit, closed=exact):
            self.search.put(unit, host)
            if self.of.safe(self.place(), exact=exact):
                return True
            self.search.take(unit)
            if not exact:
                self._close(unit, host)
        return False

    def _hosts(self, unit: int, *, closed: bool = False) -> list[int]:
        """Return the hosts with room for a unit, in order, without those closed to the unit."""
        open_ = self.search.open_to(unit) & (self.search.with_unit(unit) <= 1 + SLACK)
        if not closed:
            for sizes, hosts in self.closed:
                if (self.search.sizes[unit] >= sizes * (1 - SLACK)).all():
                    open_ &= ~hosts
        left = np.flatnonzero(open_)
        rank = self.order(self.search, unit)[left]
        found: list[int] = left[np.argsort(rank, kind="stable")].tolist()
        return found

    def _close(self, unit: int, host: int) -> None:
        for sizes, hosts in self.closed:
            if np.array_equal(sizes, self.search.sizes[unit]):
                hosts[host] = True
                return
        hosts = np.zeros(len(self.search.scale), bool)
        hosts[host] = True
        self.closed.append((self.search.sizes[unit].copy(), hosts))


def _level(search: Search, unit: int) -> Floats:
    """Return the rank of hosts: the lowest load after placement of the VM comes first."""
    return search.with_unit(unit)


def _tight(search: Search, unit: int) -> Floats:
    """Return the rank of hosts: the highest load after placement of the VM comes first, which keeps large gaps."""
    return -search.with_unit(unit)


def _in_order(search: Search, _unit: int) -> Floats:
    """Return the rank of hosts in their own order."""
    return np.arange(len(search.scale), dtype=float)
