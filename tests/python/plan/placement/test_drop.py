"""Without a place: the smallest set of rules and VMs to drop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench import clusters
from tests.conftest import SOAK
from tests.python.plan.placement import cases
from tests.python.plan.placement.brute import Everything, small

from hypertwin.plan.placement import planning
from hypertwin.plan.placement.drop import smallest_drop, without_vms
from hypertwin.plan.placement.problem import Problem, Rule


def has_place(problem: Problem, failures: list[tuple[int, ...]]) -> bool:
    return Everything(problem, failures).most_level() is not None


@pytest.mark.parametrize("first", range(0, 20 * SOAK, 10))
def test_the_smallest_sets_of_small_clusters(first: int) -> None:
    for seed in range(first, first + 10):
        problem, failures = small(seed)
        names, proven = smallest_drop(problem, failures)
        problem = replace(problem, rules=tuple(rule for rule in problem.rules if rule.mandatory))
        possible = has_place(problem, failures)
        assert possible == (names == () and proven)
        if possible:
            continue
        rules = [rule.name for rule in problem.rules]
        ones = [problem.without_rules([name]) for name in rules]
        ones += [without_vms(problem, [vm]) for vm in range(len(problem.vms))]
        one_suffices = any(has_place(each, failures) for each in ones)
        assert one_suffices == (len(names) == 1)
        assert proven or len(names) > 2
        if names:
            of = {vm.name: each for each, vm in enumerate(problem.vms)}
            left = problem.without_rules([name for name in names if name in rules])
            assert has_place(without_vms(left, [of[name] for name in names if name not in rules]), failures)


def test_a_wish_is_in_no_set() -> None:
    problem, failures = small(2568)
    assert [rule.name for rule in problem.rules if not rule.mandatory] == ["r1", "r2"]
    assert smallest_drop(problem, failures) == (("v4",), True)


def test_a_plan_is_not_refused_for_a_wish() -> None:
    # three VMs that two hosts cannot keep apart, and one that they only should
    hosts = {name: cases.host() for name in ("a", "b")}
    vms = {f"v{number}": cases.vm("a", 10) for number in range(4)}
    must = {"name": "must", "kind": "keep-apart", "vms": ["v0", "v1", "v2"], "mandatory": True}
    should = {"name": "should", "kind": "keep-apart", "vms": ["v1", "v2", "v3"], "mandatory": False}
    for rules in ([must, should], [should, must]):
        document = planning.plan_balance(cases.made(hosts, vms, rules=rules), failures=0).document
        assert (document["feasible"], document["conflict"], document["conflict_proven"]) == (False, ["must"], True)
        assert "should" not in " ".join(document["binding_constraints"])
        assert [fix["change"] for fix in document["fixes"] if "should" in str(fix)] == []


def test_rules_that_contradict_are_named_at_once() -> None:
    problem = replace(clusters.made(16, 400, 1).problem(), rules=())
    apart = Rule("split", "keep-apart", (3, 4))
    together = Rule("pair", "keep-together", (3, 4))
    failures = [(host,) for host in range(16)]
    names, proven = smallest_drop(replace(problem, rules=(together, apart)), failures)
    assert names in (("pair",), ("split",))
    assert proven
    gone = Rule("old hosts", "run-on", (3, 4))
    assert smallest_drop(replace(problem, rules=(gone,)), failures) == (("old hosts",), True)


def test_a_vm_that_is_too_large_is_named() -> None:
    problem = clusters.made(16, 400, 1).problem()
    sizes = problem.sizes.copy()
    sizes[7] = 2 * problem.rooms.max(axis=0)
    found = smallest_drop(replace(problem, sizes=sizes, rules=()), [(host,) for host in range(16)])
    assert found == ((problem.vms[7].name,), True)


def test_too_much_in_all_is_the_largest_vms() -> None:
    problem = replace(clusters.made(16, 400, 1, memory=0.95, cpu=0.91).problem(), rules=())
    names, _ = smallest_drop(problem, [(host,) for host in range(16)])
    assert names
    of = {vm.name: each for each, vm in enumerate(problem.vms)}
    gone = [of[name] for name in names]
    assert problem.sizes[gone, 1].sum() >= problem.sizes[:, 1].sum() - 15 * problem.rooms[0, 1]
    assert len(np.unique(gone)) == len(gone) < 20
