"""Placements as integer programmes that choose the host of each unit, solved by HiGHS within a number of nodes.

Programmes use units (VMs that rules keep together). Sizes are fractions of the largest room, so that numbers are near
1. Failures are modelled in one of three ways. Failures in full have variables that give each VM of the failed hosts a
restart host, for each failure. This model is exact and large. A failure in part gives only large VMs a restart host,
and the others room on all remaining hosts together. The smallest model has cuts: for a large VM, some other host has
room. Every safe placement satisfies all three. Callers check the placements found. Bounds hold for each model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints, Problem
from hypertwin.plan.placement.quiet import quiet
from hypertwin.plan.placement.task import Task
from hypertwin.plan.placement.units import Units

MOST_BINARIES = 300_000
"""Maximum number of binary variables. HiGHS would take gigabytes and hours for larger programmes."""
MOST_IN_FULL = 12_000
"""Maximum number of binary variables of a programme with failures in full."""

LOOSE = 1e-7
"""Part of a room by which limits of a bound are loose, because sums of many sizes are not exact."""

Goal = Literal["moves", "min-peak", "hosts", "any"]


@dataclass
class Solved:
    """Solution of a programme."""

    x: Floats | None
    """Values of the variables, or None without a solution."""
    bound: float
    """Lower bound of all solutions. It is infinite if it is proven that no solution exists."""


@dataclass
class Programme:
    """Variables and rows of an integer programme under construction."""

    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    _rows: list[Ints] = field(default_factory=list)
    _columns: list[Ints] = field(default_factory=list)
    _values: list[Floats] = field(default_factory=list)

    def variables(self, count: int, *, cost: Sequence[float] | Floats | float = 0.0, whole: bool = True) -> Ints:
        """Add variables from 0 to 1, and return their numbers."""
        first = len(self.cost)
        self.cost += [cost] * count if isinstance(cost, int | float) else list(map(float, cost))
        self.most += [1.0] * count
        self.whole += [whole] * count
        return np.arange(first, first + count, dtype=np.int64)

    def row(self, columns: Ints, values: Floats | float, low: float, high: float) -> None:
        """Add a row that limits a sum of variables times values to the range from `low` to `high`."""
        self._rows.append(np.full(len(columns), len(self.low), np.int64))
        self._columns.append(columns)
        self._values.append(np.broadcast_to(np.asarray(values, float), columns.shape))
        self.low.append(low)
        self.high.append(high)

    def solve(self, nodes: int, gap: float = 0.0) -> Solved:
        """Minimise the objective. The answer is the same on every computer, because the solver stops by nodes, not by
        time.

        HiGHS 1.12 is sometimes wrong about programmes with a continuous variable. With presolve, it reported 42.1 % as
        the lowest level where a placement with 38.9 % exists. Without presolve, it reported 43.1 % where one with 41.7
        % exists. In 2,900 programmes of integer variables, both settings always agreed.
        """
        if not self.cost:
            fits = all(low <= 0 <= high for low, high in zip(self.low, self.high, strict=True))
            return Solved(np.zeros(0), 0.0) if fits else Solved(None, np.inf)
        rows, columns, values = (
            np.concatenate(each) if each else np.zeros(0, kind)
            for each, kind in ((self._rows, np.int64), (self._columns, np.int64), (self._values, float))
        )
        matrix = coo_array((values, (rows, columns)), shape=(len(self.low), len(self.cost)))
        with quiet():
            done = milp(
                np.array(self.cost),
                integrality=np.array(self.whole, np.int64),
                bounds=Bounds(0.0, np.array(self.most)),
                constraints=LinearConstraint(matrix.tocsr(), np.array(self.low), np.array(self.high))
                if self.low
                else None,
                options={"node_limit": nodes, "mip_rel_gap": gap, "presolve": False},
            )
        if done.status == 2:
            return Solved(None, np.inf)
        bound = done.mip_dual_bound
        return Solved(done.x, -np.inf if bound is None or not np.isfinite(bound) else float(bound))


class Places:
    """Integer programme of a task, which chooses the host of each unit."""

    def __init__(
        self, task: Task, goal: Goal, *, free: Bools | None = None, shrink: float = 0.0, level: float = np.inf
    ) -> None:
        """Model all units, or only the `free` units while the others stay. Rooms are reduced by `shrink`.

        No host exceeds `level`. Raises ValueError if the programme would be too large.
        """
        self.task, self.goal, self.units = task, goal, task.units
        problem = task.problem
        self.limits = task.limits if np.isinf(level) else np.minimum(task.limits, level * problem.rooms)
        self.scale = np.maximum((min(1.0, level) * problem.rooms).max(axis=0, initial=0.0), 1e-300)
        self.stay: Ints = np.full(self.units.count, NOWHERE, np.int64)
        if free is not None:
            for unit in np.flatnonzero(~free).tolist():
                self.stay[unit] = problem.at[self.units.vms[unit][0]]
        self.loads = np.zeros_like(problem.rooms)
        fixed = np.flatnonzero(self.stay != NOWHERE)
        np.add.at(self.loads, self.stay[fixed], self.units.sizes[fixed])
        allowed = self.units.allowed & (self.stay == NOWHERE)[:, None]
        self.unit, self.host = (each.astype(np.int64) for each in np.nonzero(allowed))
        if len(self.unit) > MOST_BINARIES:
            raise ValueError(f"{len(self.unit):,} choices of a host for a VM are more than {MOST_BINARIES:,}")
        self.shrink = 1.0 - shrink
        self.programme = Programme()
        self._build()

    def _build(self) -> None:
        task, programme, problem = self.task, self.programme, self.task.problem
        cost: Floats | float = 0.0
        if self.goal == "moves":
            cost = moves(task)[self.unit, self.host].astype(float)
        self.x = programme.variables(len(self.unit), cost=cost)
        self.level: Ints = (
            programme.variables(1, cost=1.0, whole=False) if self.goal == "min-peak" else np.zeros(0, np.int64)
        )
        hosts = len(problem.hosts)
        self.kept: Ints = programme.variables(hosts, cost=1.0) if self.goal == "hosts" else np.zeros(0, np.int64)
        self.of_unit = _split(self.unit, self.units.count, self.x)
        self.of_host = _split(self.host, hosts, self.x)
        for unit in np.flatnonzero(self.stay == NOWHERE).tolist():
            programme.row(self.of_unit[unit], 1.0, 1.0, 1.0)
        sizes = self.units.sizes / self.scale
        for host, columns in enumerate(self.of_host):
            for each in range(len(problem.resources)):
                self._room(host, each, columns, sizes[self.unit[columns], each])
        self._apart()

    def _room(self, host: int, each: int, columns: Ints, sizes: Floats) -> None:
        """Keep the load of each host within its limit and the level sought."""
        task, scale = self.task, self.scale[each]
        taken = self.loads[host, each] / scale
        limit = self.limits[host, each] / scale * self.shrink
        some = sizes > 0
        columns, sizes = columns[some], sizes[some]
        if self.goal == "hosts":
            both, values = np.append(columns, self.kept[host]), np.append(sizes, -limit)
            self.programme.row(both, values, -np.inf, -taken)
        elif len(columns):
            self.programme.row(columns, sizes, -np.inf, limit - taken)
        if self.goal == "min-peak":
            room = task.problem.rooms[host, each] / scale
            both, values = np.append(columns, self.level), np.append(sizes, -room)
            self.programme.row(both, values, -np.inf, -taken)

    def _apart(self) -> None:
        hosts = len(self.task.problem.hosts)
        for units in self.units.apart:
            there = np.bincount(self.stay[units][self.stay[units] != NOWHERE], minlength=hosts)
            columns = np.concatenate([self.of_unit[unit] for unit in units.tolist()]) if len(units) else self.x[:0]
            for host in range(hosts):
                here = columns[self.host[columns] == host]
                if len(here) + there[host] > 1:
                    self.programme.row(here, 1.0, -np.inf, 1.0 - there[host])
        if self.goal == "hosts":
            for host, columns in enumerate(self.of_host):
                for column in columns.tolist():
                    self.programme.row(np.array([column, self.kept[host]]), np.array([1.0, -1.0]), -np.inf, 0.0)

    def add_holes(self, vms: Sequence[int]) -> None:
        """Add constraints for some VMs: if the host of a VM fails, another host has room for the VM."""
        task, problem = self.task, self.task.problem
        for vm in vms:
            if not problem.restarts[vm]:
                continue
            size = problem.sizes[vm]
            can = problem.allowed_after_failure[vm] & (size <= problem.failover * (1 + 1e-9)).all(axis=1)
            room = self.programme.variables(int(can.sum()))
            hosts = np.flatnonzero(can)
            unit = int(self.units.of_vm[vm])
            for column, host in zip(room.tolist(), hosts.tolist(), strict=True):
                for each in range(len(problem.resources)):
                    self._hole(host, each, size[each], column)
                own = self.of_unit[unit][self.host[self.of_unit[unit]] == host]
                if len(own):  # its own host is none of the others
                    self.programme.row(np.append(own, column), 1.0, -np.inf, 1.0)
                elif self.stay[unit] == host:
                    self.programme.row(np.array([column]), 1.0, 0.0, 0.0)
            if task.covered.all():
                self.programme.row(room, 1.0, 1.0, np.inf)

    def _hole(self, host: int, each: int, size: float, column: int) -> None:
        """Add constraints for a room of this size: VMs leave the room free on a host that is marked as having it."""
        task, scale = self.task, self.scale[each]
        limit, taken = task.limits[host, each] / scale, self.loads[host, each] / scale
        left = (task.problem.failover[host, each] - size) / scale
        columns = self.of_host[host]
        sizes = self.units.sizes[self.unit[columns], each] / scale
        some = sizes > 0
        if limit > left:
            both, values = np.append(columns[some], column), np.append(sizes[some], limit - left)
            self.programme.row(both, values, -np.inf, limit - taken)

    def add_failure_in_part(self, failed: Sequence[int], large: Bools) -> None:
        """Add a failure: a restart host for each of the `large` VMs of failed hosts, and room for the others in total.

        Rules are not modelled.
        """
        problem = self.task.problem
        gone = np.zeros(len(problem.hosts), bool)
        gone[list(failed)] = True
        there: list[list[tuple[int, int]]] = [[] for _ in problem.hosts]
        others: list[tuple[int, int]] = []
        stay: list[int] = []
        for vm in np.flatnonzero(problem.restarts).tolist():
            unit = int(self.units.of_vm[vm])
            mine = self.of_unit[unit]
            here = mine[gone[self.host[mine]]]
            stays = bool(self.stay[unit] != NOWHERE and gone[self.stay[unit]])
            if large[vm] and (len(here) or stays):
                open_ = np.flatnonzero(problem.allowed_after_failure[vm] & ~gone)
                columns = self.programme.variables(len(open_))
                for column, host in zip(columns.tolist(), open_.tolist(), strict=True):
                    there[host].append((column, vm))
                values = np.concatenate([np.ones(len(columns)), -np.ones(len(here))])
                self.programme.row(np.concatenate([columns, here]), values, float(stays), np.inf)
            elif stays:
                stay.append(vm)
            else:
                others += [(column, vm) for column in here.tolist()]
        self._restart(gone, there, others, stay)

    def _restart(
        self, gone: Bools, there: list[list[tuple[int, int]]], others: list[tuple[int, int]], stay: list[int]
    ) -> None:
        """Limit the load of each remaining host: VMs of the host, large VMs that restart `there`, and a share of the
        `others`.

        VMs come with their variables. VMs that `stay` on a failed host have none.
        """
        of_others, vms = np.array(others, np.int64).reshape(-1, 2).T
        shares = add_shares(self.programme, self.task.problem, self.load, self.scale, gone, there)
        for each, (share, most) in enumerate(shares):
            sizes = self.task.problem.sizes[:, each] / self.scale[each]
            values = np.concatenate([np.full(len(share), most), -sizes[vms]])
            self.programme.row(np.concatenate([share, of_others]), values, float(sizes[stay].sum()), np.inf)

    @cached_property
    def load(self) -> Ints:
        """Variables that are at least the load of hosts, per host and resource."""
        problem, programme = self.task.problem, self.programme
        found = programme.variables(problem.rooms.size, whole=False).reshape(problem.rooms.shape)
        for host, columns in enumerate(self.of_host):
            for each, scale in enumerate(self.scale):
                both = np.append(columns, found[host, each])
                values = np.append(self.units.sizes[self.unit[columns], each] / scale, -1.0)
                programme.row(both, values, -np.inf, -float(self.loads[host, each]) / scale)
        return found

    def add_failures(self) -> None:
        """Add each failure in full, with restart hosts for VMs of failed hosts.

        Raises ValueError for a too large programme.
        """
        task, problem = self.task, self.task.problem
        after = Units(problem, after_failure=True)
        hosts = len(problem.hosts)
        count = sum(after.count * (hosts - len(failed)) for failed in task.failures)
        if count > MOST_IN_FULL:
            raise ValueError(f"{count:,} choices of a host after failures are more than {MOST_IN_FULL:,}")
        for failed in task.failures:
            self._add_failure(after, np.array(failed, np.int64))

    def _add_failure(self, after: Units, failed: Ints) -> None:
        problem, programme = self.task.problem, self.programme
        left = np.ones(len(problem.hosts), bool)
        left[failed] = False
        there: list[list[int]] = [[] for _ in problem.hosts]
        of: dict[int, int] = {}
        column_of: dict[tuple[int, int], int] = {}
        for one, members in enumerate(after.vms):
            if not problem.restarts[members[0]]:
                continue
            unit = int(self.units.of_vm[members[0]])
            mine = self.of_unit[unit]
            gone = mine[np.isin(self.host[mine], failed)]
            stays = self.stay[unit] in failed
            if not len(gone) and not stays:
                continue
            open_ = np.flatnonzero(after.allowed[one] & left)
            columns = programme.variables(len(open_))
            for column, host in zip(columns.tolist(), open_.tolist(), strict=True):
                there[host].append(column)
                of[column] = one
                column_of[one, host] = column
                if self.goal == "hosts":
                    programme.row(np.array([column, self.kept[host]]), np.array([1.0, -1.0]), -np.inf, 0.0)
            both = np.concatenate([columns, gone])
            values = np.concatenate([np.ones(len(columns)), -np.ones(len(gone))])
            programme.row(both, values, float(stays), float(stays))
        for host in np.flatnonzero(left).tolist():
            now = self.of_host[host]
            also = np.array(there[host], np.int64)
            restarted = np.array([of[column] for column in there[host]], np.int64)
            for each in range(len(problem.resources)):
                limit = (problem.failover[host, each] * self.shrink - self.loads[host, each]) / self.scale[each]
                values = np.concatenate([self.units.sizes[self.unit[now], each], after.sizes[restarted, each]])
                some = values > 0
                both = np.concatenate([now, also])[some]
                if len(both):
                    programme.row(both, values[some] / self.scale[each], -np.inf, limit)
        for rule in problem.rules_after_failure:
            if rule.kind != "keep-apart":
                continue
            for host in np.flatnonzero(left).tolist():
                here, stay = self._there_then(after, rule.vms, host, column_of)
                if len(here) + stay > 1:
                    programme.row(np.array(here, np.int64), 1.0, -np.inf, 1.0 - stay)

    def _there_then(
        self, after: Units, vms: Sequence[int], host: int, column_of: dict[tuple[int, int], int]
    ) -> tuple[list[int], int]:
        """Return the variables that put VMs on a host after a failure, and the number of VMs that stay there anyway."""
        here, stay = [], 0
        for vm in vms:
            unit, one = int(self.units.of_vm[vm]), int(after.of_vm[vm])
            stay += int(self.stay[unit] == host)
            mine = self.of_unit[unit]
            here += mine[self.host[mine] == host].tolist()
            if self.task.problem.restarts[vm] and (one, host) in column_of:
                here.append(column_of[one, host])
        return here, stay

    def solve(self, nodes: int, gap: float = 0.0) -> tuple[Ints | None, float, Ints]:
        """Return a placement (None if not found), a lower bound (infinite if none exists), and the kept hosts."""
        solved = self.programme.solve(nodes, gap)
        if solved.x is None:
            return None, solved.bound, np.zeros(0, np.int64)
        found = self.stay.copy()
        chosen = np.flatnonzero(solved.x[self.x] > 0.5)
        found[self.unit[chosen]] = self.host[chosen]
        return self.units.place_of(found), solved.bound, np.flatnonzero(solved.x[self.kept] > 0.5)


def add_shares(
    programme: Programme, problem: Problem, load: Ints, scale: Floats, gone: Bools, there: list[list[tuple[int, int]]]
) -> list[tuple[Ints, float]]:
    """Limit the load of each remaining host after a failure: its own, VMs that restart there, and a share of others.

    `load` has the variables of loads in units of `scale`, and `there` the variables and VMs by host. Return the
    variables of shares with their unit, per resource.
    """
    found = []
    for each in range(len(problem.resources)):
        sizes, failover = problem.sizes[:, each] / scale[each], problem.failover[:, each] / scale[each]
        most = max(1.0, float(failover.max()))
        left = np.flatnonzero(~gone)
        share = programme.variables(len(left), whole=False)
        for host, part in zip(left.tolist(), share.tolist(), strict=True):
            here = np.array([load[host, each], part, *(column for column, _ in there[host])], np.int64)
            values = np.array([1.0, most, *(sizes[vm] for _, vm in there[host])])
            programme.row(here, values, -np.inf, float(failover[host]) * (1 + SLACK) + LOOSE)
        found.append((share, most))
    return found


def moves(task: Task) -> Ints:
    """Return the number of VMs that move if a unit goes to a host, per unit and host. New VMs do not count."""
    problem, units = task.problem, task.units
    found = np.zeros((units.count, len(problem.hosts)), np.int64)
    for unit, vms in enumerate(units.vms):
        for host in problem.at[vms]:
            if host != NOWHERE:
                found[unit] += 1
                found[unit, host] -= 1
    return found


def _split(of: Ints, count: int, columns: Ints) -> list[Ints]:
    """Return the columns grouped by the object that the columns belong to."""
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=count))
    return [np.sort(columns[each]) for each in np.split(order, ends[:-1])]
