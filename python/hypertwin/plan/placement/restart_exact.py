"""Integer programme for the maximum number of VMs that can restart, which gives the packing and the proof.

Equal VMs share one integer variable per host, so the solver does not try them in every order. Equal VMs have the same
size, hosts and priority, and no rule about other VMs. Priorities are solved one after another, the highest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from hypertwin.plan.placement.problem import NOWHERE, Floats, Ints, Problem
from hypertwin.plan.placement.quiet import quiet
from hypertwin.plan.placement.ruled import Ruled

NODE_LIMIT = 500
"""Node limit of the solver per priority. In contrast to a time limit, every computer gives the same answer."""

TOLERANCE = 1e-6
"""Fraction of host capacity that the solver might exceed. If exceeded, the solver runs again with reduced capacity."""


def most(
    problem: Problem, ruled: Ruled, free: Floats, running: Ints, waits: Ints, priority: Ints
) -> tuple[dict[int, int], bool]:
    """Return the hosts for as many waiting VMs as possible, and true if more is impossible (proven).

    `free` is the free capacity of hosts, with slack. `running` has the hosts of the other VMs.
    """
    for shrink in (0.0, 2 * TOLERANCE):
        model = _Model(problem, ruled, free, running, waits, priority, shrink)
        found, proven = model.solve()
        if model.is_sound(found):
            return found, proven and not shrink
    return {}, False


@dataclass
class _Rows:
    """Constraints under construction."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)

    def add(self, terms: Sequence[tuple[int, float]], most: float) -> None:
        """Add a constraint that a sum of terms is at most `most`."""
        if terms:
            number = len(self.most)
            self.row += [number] * len(terms)
            self.column += [column for column, _ in terms]
            self.value += [value for _, value in terms]
            self.most.append(most)


class _Model:
    """Waiting VMs and hosts with capacity, as variables and constraints."""

    def __init__(
        self, problem: Problem, ruled: Ruled, free: Floats, running: Ints, waits: Ints, priority: Ints, shrink: float
    ) -> None:
        self.problem, self.free, self.priority = problem, free, priority
        self.classes = _alike(problem, ruled, waits, priority)
        self.of: list[tuple[int, int]] = []
        """Class and host of each variable that counts VMs."""
        upper: list[float] = []
        by_host: dict[int, list[int]] = {}
        by_class: list[list[int]] = [[] for _ in self.classes]
        for number, vms in enumerate(self.classes):
            size = problem.sizes[vms[0]]
            open_ = ruled.open_to(vms[0], running, ()) & (free >= size).all(axis=1)
            for host in np.flatnonzero(open_).tolist():
                with np.errstate(divide="ignore", invalid="ignore"):
                    times = np.where(size > 0, free[host] / size, np.inf).min()
                by_host.setdefault(host, []).append(len(self.of))
                by_class[number].append(len(self.of))
                self.of.append((number, host))
                upper.append(float(min(len(vms), times + TOLERANCE)))
        rows = _Rows()
        for number, vms in enumerate(self.classes):
            rows.add([(column, 1.0) for column in by_class[number]], len(vms))
        for host, columns in by_host.items():
            for each in range(free.shape[1]):
                scale = max(float(free[host, each]), 1e-300)
                sizes = [(column, float(problem.sizes[self._first(column), each]) / scale) for column in columns]
                rows.add([term for term in sizes if term[1] > 0], 1.0 - shrink)
        self.upper, self.rows = upper, rows
        self._tie(ruled, running)

    def _first(self, column: int) -> int:
        return self.classes[self.of[column][0]][0]

    def _tie(self, ruled: Ruled, running: Ints) -> None:
        """Add rules about several waiting VMs. Rules about running VMs have restricted the hosts already."""
        column_of = {(self._first(column), host): column for column, (_, host) in enumerate(self.of)}
        waiting = {vms[0] for vms in self.classes if len(vms) == 1}
        hosts = range(len(self.problem.hosts))
        for rule in ruled.rules:
            about = [vm for vm in rule.vms if vm in waiting]
            if len(about) < 2:
                continue
            at = {host: [column_of[vm, host] for vm in about if (vm, host) in column_of] for host in hosts}
            if rule.kind == "keep-apart":
                for columns in at.values():
                    self.rows.add([(column, 1.0) for column in columns], 1.0)
            elif rule.kind == "keep-together" and all(running[vm] == NOWHERE for vm in rule.vms):
                chosen = []
                for columns in at.values():
                    if columns:
                        chosen.append(len(self.upper))
                        self.upper.append(1.0)
                        for column in columns:
                            self.rows.add([(column, 1.0), (chosen[-1], -1.0)], 0.0)
                self.rows.add([(column, 1.0) for column in chosen], 1.0)

    def solve(self) -> tuple[dict[int, int], bool]:
        """Solve one priority after another. The number of VMs reached for a priority is a constraint for the next."""
        if not self.of:
            return {}, True
        of_class = np.array([self.priority[vms[0]] for vms in self.classes])
        of_column = np.array([of_class[number] for number, _ in self.of])
        found, proven = np.zeros(len(self.upper)), True
        rows = self.rows
        for level in sorted(set(of_column.tolist())):
            wanted = np.zeros(len(self.upper))
            wanted[: len(self.of)] = of_column == level
            matrix = coo_array((rows.value, (rows.row, rows.column)), shape=(len(rows.most), len(self.upper)))
            with quiet():
                answer = milp(
                    -wanted,
                    constraints=LinearConstraint(matrix.tocsr(), -np.inf, np.array(rows.most)),
                    integrality=np.ones(len(self.upper)),
                    bounds=Bounds(0.0, np.floor(np.array(self.upper) + TOLERANCE)),
                    options={"node_limit": NODE_LIMIT, "mip_rel_gap": 0.0, "presolve": False},
                )
            if answer.x is None:
                return self._placed(found), False
            found = np.round(answer.x)
            reached = float(wanted @ found)
            bound = answer.mip_dual_bound
            proven &= answer.status == 0 or (bound is not None and -bound < reached + 1 - TOLERANCE)
            rows.add([(column, -1.0) for column in np.flatnonzero(wanted).tolist()], -reached)
        return self._placed(found), bool(proven)

    def _placed(self, found: Floats) -> dict[int, int]:
        """Return the hosts of VMs, from the number of each class on each host."""
        left = [list(vms) for vms in self.classes]
        placed = {}
        for column, (number, host) in enumerate(self.of):
            for _ in range(int(found[column])):
                placed[left[number].pop(0)] = host
        return placed

    def is_sound(self, found: Mapping[int, int]) -> bool:
        """True if the result fits the capacity of hosts exactly, not only within the solver's tolerance."""
        loads = np.zeros_like(self.free)
        for vm, host in found.items():
            loads[host] += self.problem.sizes[vm]
        used = loads.any(axis=1)
        return bool((loads[used] <= self.free[used]).all())


def _alike(problem: Problem, ruled: Ruled, waits: Ints, priority: Ints) -> list[list[int]]:
    """Return the waiting VMs in classes of equal VMs. A VM in a rule about other VMs is a class by itself."""
    found: dict[object, list[int]] = {}
    for vm in waits.tolist():
        key: object = vm
        if not ruled.special[vm]:
            key = (problem.sizes[vm].tobytes(), ruled.allowed[vm].tobytes(), int(priority[vm]))
        found.setdefault(key, []).append(vm)
    return list(found.values())
