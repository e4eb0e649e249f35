"""Search for the fewest rules and VMs to drop, if no placement exists with all of them.

The search tries single rules first, then single VMs, then several. A set of one is the smallest. A larger set is proven
smallest if every smaller set is proven to leave no placement. Should rules are never in a set, because the planner
drops them by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from hypertwin.plan.placement import balance, bounds
from hypertwin.plan.placement.problem import Ints, Problem
from hypertwin.plan.placement.task import Task

MOST_TRIES = 300
"""Maximum number of sets of rules and VMs that are tried."""
LARGE_VMS = 12
"""Number of VMs, the largest of each resource, that are tried one by one."""

Names = tuple[str, ...]


def smallest_drop(problem: Problem, failures: Sequence[tuple[int, ...]]) -> tuple[Names, bool]:
    """Return the names of the fewest rules and VMs to drop so that a placement exists, and whether the set is proven
    smallest.

    The set is empty and proven if a placement exists already. It is empty and not proven if the search found no set.
    """
    problem = problem.without_wishes()
    asked = _Asked(problem, failures)
    whole = asked.is_possible((), ())
    if whole:
        return (), True
    sure = whole is False
    rules = tuple(dict.fromkeys(rule.name for rule in problem.rules))
    vms = asked.worth_a_try()
    for many in (1, 2):
        for names, some in _sets(rules, vms, many):
            if asked.tries > MOST_TRIES:
                break
            if asked.is_possible(names, some):
                return asked.named(names, some), sure and (many == 1 or asked.all_ones_fail(rules))
    least, numbers = asked.fewest_vms()
    if asked.is_possible(rules, ()):
        kept = list(rules)
        for name in rules:
            fewer = tuple(each for each in kept if each != name)
            if asked.is_possible(fewer, ()):
                kept.remove(name)
        if numbers is None or len(kept) <= len(numbers):
            return tuple(kept), False
    if numbers is None:
        return (), False
    return asked.named((), numbers), sure and len(numbers) <= least and not rules


def _sets(rules: Names, vms: Sequence[int], many: int) -> Iterator[tuple[Names, tuple[int, ...]]]:
    """Yield the sets of `many` rules and VMs. Sets with more rules come first."""
    for of_rules in range(many, -1, -1):
        for names in combinations(rules, of_rules):
            for numbers in combinations(vms, many - of_rules):
                yield names, numbers


class _Asked:
    """Searches for a placement without some rules and VMs. Each set is tried once."""

    def __init__(self, problem: Problem, failures: Sequence[tuple[int, ...]]) -> None:
        self.problem, self.failures = problem, failures
        self.vms = np.arange(len(problem.vms))
        """VMs that can be relaxed."""
        self.tries = 0
        self._known: dict[tuple[Names, tuple[int, ...]], bool | None] = {}

    def is_possible(self, rules: Names, vms: Sequence[int]) -> bool | None:
        """True if a placement exists without these rules and VMs, or None if unknown."""
        key = rules, tuple(vms)
        if key not in self._known:
            self.tries += 1
            left = without_vms(self.problem.without_rules(rules), key[1])
            self._known[key] = _possible(Task(left, self.failures))
        return self._known[key]

    def all_ones_fail(self, rules: Names) -> bool:
        """True if dropping any single rule or VM is proven not to suffice."""
        ones = [((name,), ()) for name in rules] + [((), (vm,)) for vm in self.vms.tolist()]
        if len(ones) > MOST_TRIES:
            return False
        return all(self.is_possible(names, numbers) is False for names, numbers in ones)

    def named(self, rules: Names, vms: Sequence[int]) -> Names:
        """Return the names of rules and VMs."""
        return rules + tuple(self.problem.vms[vm].name for vm in vms)

    def worth_a_try(self) -> list[int]:
        """Return the VMs that fit on no host, are in rules, or are the largest."""
        problem = self.problem
        found = dict.fromkeys(self.vms[~problem.allowed[self.vms].any(axis=1)].tolist())
        for ranked in self._by_size():
            found |= dict.fromkeys(ranked[:LARGE_VMS].tolist())
        if len(self.vms) <= 4 * LARGE_VMS:
            found |= dict.fromkeys(self.vms.tolist())
        return list(found)

    def _by_size(self) -> list[Ints]:
        sizes = self.problem.sizes
        return [self.vms[np.argsort(-sizes[self.vms, each], kind="stable")] for each in range(sizes.shape[1])]

    def fewest_vms(self) -> tuple[int, list[int] | None]:
        """Return the minimum number of VMs to drop by volume, and the largest VMs whose removal allows a placement."""
        problem = self.problem
        least = 0
        best: list[int] | None = None
        for each, ranked in enumerate(self._by_size()):
            room = self._least_room(each)
            sums = problem.sizes[:, each].sum() - np.cumsum(problem.sizes[ranked, each])
            least = max(least, int((sums > room * (1 + 1e-9)).sum()) + 1 if problem.sizes[:, each].sum() > room else 0)
        for ranked in self._by_size():
            low, high = max(0, least - 1), len(ranked)
            while high - low > 1:
                middle = min((low + high) // 2, low + max(1, low + 1))
                if self.is_possible((), ranked[:middle].tolist()):
                    high = middle
                else:
                    low = middle
            if self.is_possible((), ranked[:high].tolist()) and (best is None or high < len(best)):
                best = ranked[:high].tolist()
        return least, best

    def _least_room(self, each: int) -> float:
        """Return the capacity of all hosts in a resource, or of the remaining hosts after the worst failure.

        VMs that stay down are not included.
        """
        problem = self.problem
        room = float(problem.rooms[:, each].sum())
        if problem.restarts.all():
            whole = float(problem.failover[:, each].sum())
            room = min([room, *(whole - float(problem.failover[list(gone), each].sum()) for gone in self.failures)])
        return room


def without_vms(problem: Problem, vms: Sequence[int]) -> Problem:
    """Return the problem with some VMs that use nothing, can be on any host, and are in no rule. Positions stay."""
    if not len(vms):
        return problem
    gone = list(vms)
    sizes, fits, restarts = problem.sizes.copy(), problem.fits.copy(), problem.restarts.copy()
    sizes[gone], fits[gone], restarts[gone] = 0.0, True, False
    rules = []
    for rule in problem.rules:
        left = tuple(vm for vm in rule.vms if vm not in set(gone))
        if left:
            rules.append(replace(rule, vms=left))
    return replace(problem, sizes=sizes, fits=fits, restarts=restarts, rules=tuple(rules))


def _possible(task: Task) -> bool | None:
    """True if a placement exists, or None if none was found and none was ruled out."""
    if bounds.impossible(task) is not None:
        return False
    if balance.level_place(task, bounds.fullest(task)[0], from_nothing=True) is not None:
        return True
    if balance.is_small(task):
        place, bound, _ = balance.exact(task, "any")
        if place is not None:
            return True
        if np.isinf(bound) and bound > 0:
            return False
    return None
