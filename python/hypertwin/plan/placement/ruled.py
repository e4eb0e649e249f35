"""Placement rules by VM, which give the allowed hosts from the hosts of running and placed VMs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from hypertwin.plan.placement.problem import NOWHERE, Bools, Ints, Problem, Rule


class Ruled:
    """Placement rules to keep by VMs that start, by VM."""

    def __init__(self, problem: Problem, rules: Sequence[Rule]) -> None:
        """Index some rules of a problem by VM."""
        self.rules = rules
        self.allowed: Bools = problem.allowed_by(rules, after_failure=True)
        self.apart: dict[int, list[Rule]] = {}
        """Rules that keep a VM apart from others, by VM."""
        self.together: dict[int, list[Rule]] = {}
        for rule in rules:
            if rule.kind in ("keep-apart", "keep-together"):
                by_vm = self.apart if rule.kind == "keep-apart" else self.together
                for vm in rule.vms:
                    by_vm.setdefault(vm, []).append(rule)

    @cached_property
    def special(self) -> Bools:
        """True for each VM that a rule ties to hosts of other VMs."""
        found = np.zeros(len(self.allowed), bool)
        found[[*self.apart, *self.together]] = True
        return found

    def open_to(self, vm: int, now: Ints, failed: Iterable[int]) -> Bools:
        """Return an array that is true for each host where rules allow a VM, given the current hosts of the other VMs.

        A VM that must be with running VMs can only go to a host of one of these VMs.
        """
        open_: Bools = self.allowed[vm].copy()
        open_[list(failed)] = False
        for rule in self.apart.get(vm, ()):
            open_[[int(now[other]) for other in rule.vms if other != vm and now[other] != NOWHERE]] = False
        for rule in self.together.get(vm, ()):
            there = [int(now[other]) for other in rule.vms if other != vm and now[other] != NOWHERE]
            if there:
                open_ &= np.isin(np.arange(len(open_)), there)
        return open_

    def groups(self, waits: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the waiting VMs in groups that rules keep together, in the order of the first VM of each group."""
        if not any(vm in self.together for vm in waits):
            return [(vm,) for vm in waits]
        first = {vm: vm for vm in waits}

        def root(vm: int) -> int:
            while first[vm] != vm:
                vm = first[vm]
            return vm

        for vm in waits:
            for rule in self.together.get(vm, ()):
                for other in rule.vms:
                    if other in first:
                        first[root(other)] = root(vm)
        found: dict[int, list[int]] = {}
        for vm in waits:
            found.setdefault(root(vm), []).append(vm)
        return [tuple(vms) for vms in found.values()]
