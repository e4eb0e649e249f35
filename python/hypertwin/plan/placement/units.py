"""Units that need one host: single VMs, or VMs that rules keep together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, Bools, Floats, Ints, Problem


class Units:
    """Units of a problem under its rules: all rules, or only must rules after a failure.

    After a failure, a rule keeps together only the VMs that restart. Other VMs have no host then.
    """

    def __init__(self, problem: Problem, *, after_failure: bool = False) -> None:
        """Build units of all VMs of a problem."""
        self.problem = problem
        rules = problem.rules_after_failure if after_failure else problem.rules
        together = [rule.vms for rule in rules if rule.kind == "keep-together"]
        if after_failure:
            together = [tuple(vm for vm in vms if problem.restarts[vm]) for vms in together]
        self.of_vm = _joined(len(problem.vms), together)
        """Unit of each VM."""
        count = int(self.of_vm.max(initial=-1)) + 1
        self.vms: list[Ints] = [np.flatnonzero(self.of_vm == unit) for unit in range(count)]
        """VMs of each unit."""
        self.sizes: Floats = np.zeros((count, len(problem.resources)))
        np.add.at(self.sizes, self.of_vm, problem.sizes)
        allowed = problem.allowed_by(rules, after_failure=after_failure)
        self.allowed: Bools = np.ones((count, len(problem.hosts)), bool)
        np.logical_and.at(self.allowed, self.of_vm, allowed)
        self.apart: list[Ints] = []
        """Units of each rule that keeps VMs apart."""
        self.contradictions: list[str] = []
        """Rules that keep VMs apart although other rules keep them together."""
        for rule in rules:
            if rule.kind == "keep-apart":
                units = self.of_vm[list(rule.vms)]
                if len(set(units.tolist())) < len(units):
                    self.contradictions.append(rule.name)
                self.apart.append(np.unique(units))

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.vms)

    @cached_property
    def apart_of(self) -> list[list[int]]:
        """Return the rules of `apart` by unit."""
        found: list[list[int]] = [[] for _ in self.vms]
        for rule, units in enumerate(self.apart):
            for unit in units:
                found[unit].append(rule)
        return found

    @cached_property
    def cost(self) -> Ints:
        """Return the number of VMs that must move, per unit and host."""
        found = np.zeros((self.count, len(self.problem.hosts)), np.int64)
        for unit, vms in enumerate(self.vms):
            found[unit] = len(vms)
            for host in self.problem.at[vms]:
                if host != NOWHERE:
                    found[unit, host] -= 1
        return found

    def place_of(self, of_unit: Ints) -> Ints:
        """Return the placement of VMs, from the placement of units."""
        return of_unit[self.of_vm]


def _joined(count: int, together: Sequence[Sequence[int]]) -> Ints:
    """Return the unit number of each VM. Units are numbered by their first VM."""
    parent = list(range(count))

    def root(vm: int) -> int:
        while parent[vm] != vm:
            parent[vm] = parent[parent[vm]]
            vm = parent[vm]
        return vm

    for vms in together:
        for other in vms[1:]:
            first, second = sorted((root(vms[0]), root(other)))
            parent[second] = first
    roots = [root(vm) for vm in range(count)]
    number = {each: position for position, each in enumerate(sorted(set(roots)))}
    return np.array([number[each] for each in roots], np.int64)
