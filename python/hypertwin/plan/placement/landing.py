"""Stronger lower bound of the moves of every plan: large VMs that leave need a host, and failures need room.

The integer programme extends that of `leaving`. Each large VM that leaves gets a target host, and the others get room
in total. Failures that the solution does not tolerate are added in the same way: restart hosts for large VMs, and room
in total for the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hypertwin.plan.placement.exact import LOOSE, add_shares
from hypertwin.plan.placement.leaving import MEMORY_WEIGHT, Model, largest
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints
from hypertwin.plan.placement.task import Task

NODES = 500
"""Maximum number of nodes of a programme without failures."""
NODES_OF_FAILURES = 30
"""Maximum number of nodes of a programme with failures, whose nodes take longer."""
MAX_CELLS = 200_000
"""Maximum number of VMs times hosts. Larger programmes take minutes."""
MAX_ROUNDS = 2
"""Maximum number of programmes."""
MAX_RAISED = 3
"""Distance to `enough` that failures can close. They raise the bound by few moves."""
MAX_UNSAFE = 3
"""Maximum number of failures that are not tolerated. Programmes with more failures take minutes."""
HOLE_VMS = 4
"""Number of largest VMs per resource for which another host keeps room."""
LANDING_VMS = 20
"""Number of largest VMs per resource that need a target host if they leave."""
RESTARTED_VMS = 40
"""Number of largest VMs per resource that have their own restart host in an added failure."""


def bound(task: Task, enough: float) -> float:
    """Return a lower bound of the moves, or infinity if it is proven that no moves suffice.

    The search ends once the bound is `enough`, or too far from it. The bound is 0 if the programme would be too large.
    """
    if len(task.problem.vms) * len(task.problem.hosts) > MAX_CELLS:
        return 0.0
    model = _Landing(task)
    added: set[tuple[int, ...]] = set()
    found = 0.0
    for _ in range(MAX_ROUNDS):
        solved = model.programme.solve(NODES_OF_FAILURES if added else NODES)
        found = max(found, math.ceil(solved.bound - MEMORY_WEIGHT - 1e-6) if np.isfinite(solved.bound) else 0.0)
        if solved.x is None:
            return math.inf if solved.bound == math.inf else found
        if found >= enough or found + MAX_RAISED < enough:
            break
        place = task.problem.at.copy()
        place[model.vms[solved.x[: len(model.vms)] > 0.5]] = NOWHERE
        unsafe = [each.failed for each in task.restarts.all(place, task.failures) if each.cannot_restart]
        new = [failed for failed in unsafe if failed not in added]
        if not new or len(unsafe) > MAX_UNSAFE:
            break
        for failed in new:
            added.add(failed)
            model.add_failure(failed)
    return found


class _Landing(Model):
    """Programme of all VMs that leave, with the hosts of large ones."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, everywhere=True)
        for host, each in np.ndindex(self.load.shape):
            limit = float(task.limits[host, each] / self.scale[each])
            self.programme.row(self.load[host, each : each + 1], 1.0, 0.0, limit * (1 + SLACK) + LOOSE)

    @cached_property
    def scale(self) -> Floats:
        """Unit of each resource: the largest room."""
        found: Floats = np.maximum(self.task.problem.rooms.max(axis=0, initial=0.0), 1e-300)
        return found

    @cached_property
    def arrived(self) -> Ints:
        """Variables with the size of smaller VMs that arrive, per host and resource."""
        shape = self.task.problem.rooms.shape
        return self.programme.variables(math.prod(shape), whole=False).reshape(shape)

    @cached_property
    def load(self) -> Ints:
        """Variables that are at least the load of hosts, per host and resource."""
        problem, programme = self.task.problem, self.programme
        loads = problem.loads(self.at)
        large = largest(self.task, LANDING_VMS)
        land = self._landings(np.flatnonzero(large))
        small_new = ~large & (self.at == NOWHERE)
        small = self.vms[~large[self.vms]]
        found = programme.variables(loads.size, whole=False).reshape(loads.shape)
        for each, scale in enumerate(self.scale):
            sizes = problem.sizes[:, each] / scale
            for host in range(len(problem.hosts)):
                there = self.vms[self.at[self.vms] == host]
                here = [found[host, each], self.arrived[host, each], *(column for column, _ in land[host])]
                landed = [-sizes[vm] for _, vm in land[host]]
                columns = np.concatenate([np.array(here, np.int64), self._columns(there)])
                values = np.concatenate([[1.0, -1.0], landed, sizes[there]])
                programme.row(columns, values, float(loads[host, each]) / scale, float(loads[host, each]) / scale)
            columns = np.concatenate([self.arrived[:, each], self._columns(small)])
            values = np.concatenate([np.ones(len(loads)), -sizes[small]])
            programme.row(columns, values, float(sizes[small_new].sum()) - LOOSE, np.inf)
        return found

    def _landings(self, vms: Ints) -> list[list[tuple[int, int]]]:
        """Add a target host for each of these VMs that leaves, and return variables and VMs by host."""
        units = self.task.units
        found: list[list[tuple[int, int]]] = [[] for _ in self.task.problem.hosts]
        for vm in vms.tolist():
            open_ = units.allowed[units.of_vm[vm]].copy()
            new = self.at[vm] == NOWHERE
            if not new:
                open_[self.at[vm]] = False
            hosts = np.flatnonzero(open_)
            columns = self.programme.variables(len(hosts))
            for column, host in zip(columns.tolist(), hosts.tolist(), strict=True):
                found[host].append((column, vm))
            leaves = np.zeros(0, np.int64) if new else np.array([self.column[vm]])
            values = np.concatenate([np.ones(len(hosts)), -np.ones(len(leaves))])
            self.programme.row(np.concatenate([columns, leaves]), values, float(new), float(new))
        return found

    def _large(self, _loads: object) -> list[int]:
        """Return the largest VMs, which need room on another host."""
        if not self.task.covered.all():
            return []
        vms = np.flatnonzero(largest(self.task, HOLE_VMS) & self.task.problem.restarts & (self.at != NOWHERE))
        return vms.tolist()

    def _room_for(self, vm: int, _loads: object) -> None:
        """Add a constraint that some host other than the VM's has room for it."""
        problem = self.task.problem
        size = problem.sizes[vm] / self.scale
        failover = problem.failover / self.scale
        hosts = np.flatnonzero(problem.allowed_after_failure[vm] & (size <= failover * (1 + SLACK)).all(axis=1))
        room = self.programme.variables(len(hosts))
        for column, host in zip(room.tolist(), hosts.tolist(), strict=True):
            if host == self.at[vm]:
                self.programme.row(np.array([self.column[vm], column]), np.array([1.0, -1.0]), 0.0, np.inf)
            for each, scale in enumerate(self.scale):
                limit = float(self.task.limits[host, each]) / scale
                left = float(failover[host, each] - size[each])
                if limit > left:
                    both = np.array([self.load[host, each], column])
                    self.programme.row(both, np.array([1.0, limit - left]), -np.inf, limit * (1 + SLACK) + LOOSE)
        self.programme.row(room, 1.0, 1.0, np.inf)

    def add_failure(self, failed: Sequence[int]) -> None:
        """Add a failure: large VMs of failed hosts leave or have a restart host, and the others have room in total."""
        problem = self.task.problem
        gone = np.zeros(len(problem.hosts), bool)
        gone[list(failed)] = True
        down = np.flatnonzero(problem.restarts & (self.at != NOWHERE) & gone[self.at])
        large = largest(self.task, RESTARTED_VMS)[down]
        there = self._restarts(down[large], gone)
        others = down[~large]
        shares = add_shares(self.programme, problem, self.load, self.scale, gone, there)
        for each, (share, most) in enumerate(shares):
            sizes = problem.sizes[:, each] / self.scale[each]
            arrived = self.arrived[gone, each] if problem.restarts.all() else self.arrived[:0, each]
            columns = np.concatenate([share, self._columns(others), arrived])
            values = np.concatenate([np.full(len(share), most), sizes[others], -np.ones(len(arrived))])
            self.programme.row(columns, values, float(sizes[others].sum()) - LOOSE, np.inf)

    def _restarts(self, vms: Ints, gone: Bools) -> list[list[tuple[int, int]]]:
        """Add a restart host for each of these VMs unless it leaves, and return variables and VMs by host."""
        found: list[list[tuple[int, int]]] = [[] for _ in gone]
        for vm in vms.tolist():
            hosts = np.flatnonzero(self.task.problem.allowed_after_failure[vm] & ~gone)
            columns = self.programme.variables(len(hosts))
            for column, host in zip(columns.tolist(), hosts.tolist(), strict=True):
                found[host].append((column, vm))
            self.programme.row(np.append(columns, self.column[vm]), 1.0, 1.0, np.inf)
        return found
