"""Lower bound of the moves of every plan: the fewest VMs that must leave their hosts.

The VMs that stay must be within the limits of their host and break none of its rules. Each move takes one VM off one
host, so the count is a bound. If the VMs that leave fit elsewhere, the bound is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hypertwin.plan.placement.exact import Programme
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints
from hypertwin.plan.placement.task import Task

NODES = 5_000
"""Maximum number of nodes of the integer programme."""
MEMORY_WEIGHT = 0.4
"""Weight of all movable memory, in VMs. The number of VMs is minimised before their memory."""
LARGE_VMS = 3
"""Number of largest VMs per resource that need room on some other host."""


@dataclass(frozen=True)
class Leaving:
    """VMs that leave their hosts."""

    vms: Ints
    bound: float
    """Minimum number of VMs that leave. It is infinite if it is proven that no moves suffice."""
    why: tuple[str, ...]
    """Reason why VMs leave."""
    most: Floats
    """Capacity for VMs, per host and resource, without the room for restarts after a failure."""


def fewest(task: Task) -> Leaving:
    """Return the fewest VMs that must leave, and among equal sets the one with the least memory."""
    model = Model(task)
    solved = model.programme.solve(NODES)
    if solved.x is None:
        bound = solved.bound if np.isinf(solved.bound) else 0.0
        return Leaving(np.zeros(0, np.int64), bound, tuple(model.why), task.limits)
    chosen = model.vms[solved.x[: len(model.vms)] > 0.5]
    bound = float(max(0, math.ceil(solved.bound - MEMORY_WEIGHT - 1e-6)))
    return Leaving(chosen, bound, tuple(model.why), model.most(solved.x))


def largest(task: Task, many: int) -> Bools:
    """Return an array that is true for the `many` largest VMs of each resource."""
    sizes = task.problem.sizes
    found = np.zeros(len(sizes), bool)
    for each in range(sizes.shape[1]):
        found[np.argsort(-sizes[:, each], kind="stable")[:many]] = True
    return found


class Model:
    """Integer programme with one variable per VM that might have to leave."""

    def __init__(self, task: Task, *, everywhere: bool = False) -> None:
        """Model the VMs that might have to leave, or all VMs `everywhere`."""
        self.task = task
        problem = task.problem
        self.at = problem.at
        self.why: dict[str, None] = {}
        self._room: list[tuple[int, int, int]] = []
        """Variables, each with the VM and the host that keeps room for the VM."""
        loads = problem.loads(self.at)
        over: Bools = loads > task.limits + SLACK * np.maximum(task.limits, 1.0)
        concerned = np.zeros(len(problem.vms), bool)
        here = self.at != NOWHERE
        concerned[here] = np.array(over.any(axis=1))[self.at[here]]
        large = self._large(loads)
        if everywhere or len(large):
            concerned[here] = True
        for units in task.units.apart:
            self._mark_shared(units, concerned)
        for unit, vms in enumerate(task.units.vms):
            hosts = self.at[vms][self.at[vms] != NOWHERE]
            if len(set(hosts.tolist())) > 1 or not task.units.allowed[unit, hosts].all() or concerned[vms].any():
                concerned[vms[self.at[vms] != NOWHERE]] = True
        self.vms: Ints = np.flatnonzero(concerned)
        self.column = {vm: number for number, vm in enumerate(self.vms.tolist())}
        weight = np.zeros(len(self.vms))
        if "memory" in problem.resources and len(self.vms):
            memory = problem.sizes[self.vms, problem.resources.index("memory")]
            weight = MEMORY_WEIGHT * memory / max(float(memory.sum()), 1.0)
        self.programme = Programme()
        self.programme.variables(len(self.vms), cost=1.0 + weight)
        self._within_limits(loads, over)
        self._apart()
        self._together()
        for vm in large:
            self._room_for(vm, loads)

    def most(self, x: Floats) -> Floats:
        """Return the capacity for VMs, per host and resource, less the room that a solution keeps."""
        problem = self.task.problem
        found = self.task.limits.copy()
        for column, vm, host in self._room:
            if x[column] > 0.5:
                found[host] = np.minimum(found[host], np.maximum(problem.failover[host] - problem.sizes[vm], 0.0))
        return found

    def _columns(self, vms: Ints) -> Ints:
        return np.array([self.column[vm] for vm in vms.tolist()], np.int64)

    def _large(self, loads: Floats) -> list[int]:
        """Return the large VMs that currently fit on no other host."""
        task, problem = self.task, self.task.problem
        if not task.covered.all():
            return []
        found = []
        order = [np.argsort(-problem.sizes[:, each], kind="stable") for each in range(len(problem.resources))]
        for vm in dict.fromkeys(int(vm) for ranked in order for vm in ranked[:LARGE_VMS]):
            if problem.restarts[vm] and self.at[vm] != NOWHERE:
                room = (loads + problem.sizes[vm] <= problem.failover * (1 + SLACK)).all(axis=1)
                room &= problem.allowed_after_failure[vm]
                room[self.at[vm]] = False
                if not room.any():
                    found.append(vm)
                    self.why[f"room for {problem.vms[vm].name} on another host"] = None
        return found

    def _mark_shared(self, units: Ints, concerned: Bools) -> None:
        """Mark VMs that share a host although a rule keeps them apart."""
        vms = np.concatenate([self.task.units.vms[unit] for unit in units.tolist()])
        hosts = self.at[vms]
        counts = np.bincount(hosts[hosts != NOWHERE], minlength=len(self.task.problem.hosts))
        concerned[vms[(hosts != NOWHERE) & (counts[hosts] > 1)]] = True

    def _within_limits(self, loads: Floats, over: Bools) -> None:
        problem = self.task.problem
        for host, each in np.argwhere(over).tolist():
            vms = np.flatnonzero(self.at == host)
            limit = self.task.limits[host, each]
            scale = max(limit, 1e-300)
            excess = (loads[host, each] - limit) / scale - SLACK
            self.programme.row(self._columns(vms), problem.sizes[vms, each] / scale, excess, np.inf)
            self.why[f"{problem.resources[each]} of {problem.hosts[host].name}"] = None

    def _apart(self) -> None:
        problem = self.task.problem
        for rule in problem.rules:
            if rule.kind != "keep-apart":
                continue
            vms = np.array(rule.vms, np.int64)
            for host in sorted(set(self.at[vms].tolist()) - {NOWHERE}):
                there = vms[self.at[vms] == host]
                if len(there) > 1:
                    self.programme.row(self._columns(there), 1.0, float(len(there) - 1), np.inf)
                    self.why[f"rule {rule.name}"] = None

    def _together(self) -> None:
        """Add constraints that VMs of a unit stay on one allowed host, or leave."""
        task, problem = self.task, self.task.problem
        for unit, members in enumerate(task.units.vms):
            vms = members[[vm in self.column for vm in members.tolist()]]
            hosts = sorted(set(self.at[vms].tolist()))
            if not len(vms) or (len(vms) == 1 and task.units.allowed[unit, hosts[0]]):
                continue
            home = self.programme.variables(len(hosts))
            self.programme.row(home, 1.0, 0.0, 1.0)
            for column, host in zip(home.tolist(), hosts, strict=True):
                if not task.units.allowed[unit, host]:
                    self.programme.row(np.array([column]), 1.0, 0.0, 0.0)
                for vm in vms[self.at[vms] == host].tolist():
                    both = np.array([self.column[vm], column])
                    self.programme.row(both, 1.0, 1.0, 1.0)
            if len(hosts) > 1 or not task.units.allowed[unit, hosts[0]]:
                about = set(members.tolist())
                for rule in problem.rules:
                    if rule.kind != "keep-apart" and about & set(rule.vms):
                        self.why[f"rule {rule.name}"] = None

    def _room_for(self, vm: int, loads: Floats) -> None:
        """Add a constraint that some other host has room for a VM after its own VMs have left."""
        problem = self.task.problem
        can = problem.allowed_after_failure[vm] & (problem.sizes[vm] <= problem.failover * (1 + SLACK)).all(axis=1)
        hosts = np.flatnonzero(can)
        room = self.programme.variables(len(hosts))
        for column, host in zip(room.tolist(), hosts.tolist(), strict=True):
            self._room.append((column, vm, host))
            there = np.flatnonzero(self.at == host)
            if host == self.at[vm]:
                both = np.array([self.column[vm], column])
                self.programme.row(both, np.array([1.0, -1.0]), 0.0, np.inf)
            for each in range(len(problem.resources)):
                scale = max(problem.failover[host, each], 1e-300)
                excess = (loads[host, each] + problem.sizes[vm, each] - problem.failover[host, each]) / scale - SLACK
                if excess > 0:
                    columns = np.append(self._columns(there), column)
                    values = np.append(problem.sizes[there, each] / scale, -excess)
                    self.programme.row(columns, values, 0.0, np.inf)
        self.programme.row(room, 1.0, 1.0, np.inf)
