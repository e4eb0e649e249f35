"""Remedies: each is what it says, helps where it says so, and nothing that was not checked is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.python.plan.placement import cases

from hypertwin.plan.placement.failures import failures_of
from hypertwin.plan.placement.fixes import fixes, survives
from hypertwin.plan.placement.problem import Problem
from hypertwin.plan.placement.restart import Restarts
from hypertwin.scenario import Scenario


def found(made: Scenario, many: int = 1) -> list[tuple[str, str, bool]]:
    """Remedies of a place that does not survive."""
    problem = cases.of(made)
    failures = [positions for _, positions in failures_of(made, problem, many)]
    listed = fixes(problem, problem.at, failures, survives(problem.at))
    return [(each["kind"], each["text"], each["works"]) for each in listed]


def fragmented(**more: Any) -> Scenario:
    """30 GiB free on each host, and a VM of 40: no sum of holes is a hole."""
    hosts = {f"h{number}": cases.host() for number in range(4)}
    vms = {f"v{number}": cases.vm(f"h{number}", 60) for number in range(1, 4)}
    small = {f"s{number}": cases.vm(f"h{number}", 5, restart_priority="disabled") for number in range(1, 4)}
    return cases.made(
        hosts,
        {**{vm: {**of, "restart_priority": "disabled"} for vm, of in vms.items()}, **small, "big": cases.vm("h0", 40)},
        **more,
    )


def test_the_vm_smaller_the_host_larger_one_host_more():
    assert found(fragmented()) == [
        ("smaller-vm", "big to 25 GiB of memory (now 40)", True),
        ("larger-host", "h1 +32 GiB", True),
        ("larger-host", "every host +32 GiB", True),
        ("more-hosts", "1 more host like h0", True),
    ]


@pytest.mark.parametrize("work", [0.5, 1, 2])
def test_a_larger_host_has_cores_of_its_own_clock(work: float):
    hosts = {"h": cases.host(count=2, work_per_cycle=work)}
    vms = {"a": cases.vm("h-1", 5, 6_000, 8), "b": cases.vm("h-2", 5, 6_000, 8)}
    larger = [text for kind, text, _ in found(cases.made(hosts, vms)) if kind == "larger-host"]
    assert larger[0] == "every host +6 cores", "12 GHz need 15 cores within 80%"


def test_each_remedy_that_helps_does():
    for seed in range(60):
        made = cases.small(seed)
        problem = cases.of(made)
        failures = [positions for _, positions in failures_of(made, problem, 1)]
        checked: list[bool] = []

        def solve(
            changed: Problem,
            those: Sequence[tuple[int, ...]],
            problem: Problem = problem,
            checked: list[bool] = checked,
        ) -> bool:
            assert len(those) >= len(failures)  # noqa: B023
            assert changed is not problem
            checked.append(survives(problem.at)(changed, those))
            return checked[-1]

        listed = fixes(problem, problem.at, failures, solve)
        unsafe = Restarts(problem).first_unsafe(problem.at, failures) is not None
        assert unsafe == bool(listed), f"seed {seed}"
        assert sum(each["works"] for each in listed) == sum(checked), f"seed {seed}"
        assert len(checked) <= 24
        assert any(checked) == any(each["works"] for each in listed)


def test_a_rule_in_the_way_is_dropped_first():
    hosts = {f"h{number}": cases.host() for number in range(3)}
    vms = {name: cases.vm(f"h{number}", 10) for number, name in enumerate("abc")}
    apart = [{"name": "apart", "kind": "keep-apart", "vms": ["a", "b", "c"], "mandatory": True}]
    assert found(cases.made(hosts, vms, rules=apart))[0] == ("drop-rule", "drop rule apart", True)


def test_a_vm_wider_than_the_other_hosts_is_made_narrower():
    hosts = {"big": cases.host(20), "h1": cases.host(), "h2": cases.host()}
    said = found(cases.made(hosts, {"db": cases.vm("big", 10, vcpus=24)}))
    assert said[0] == ("smaller-vm", "db to 20 vCPUs (now 24)", True)
    # more hosts like the common ones do not help, and nothing says so
    assert all("more like h1" not in text for _, text, _ in said)


def test_more_failures_ask_for_more_hosts():
    hosts = {"h": cases.host(count=3)}
    vms = {"v": cases.vm("h", 80, count=3)}
    assert ("more-hosts", "1 more host like h-1", True) in found(cases.made(hosts, vms), 1)
    assert ("more-hosts", "2 more hosts like h-1", True) in found(cases.made(hosts, vms), 2)


def test_a_host_that_is_added_may_fail_as_well():
    hosts = {"h0": cases.host(), "h1": cases.host(), "h2": cases.host()}
    stays = {f"r{number}": cases.vm(f"h{number}", 60, restart_priority="disabled") for number in (1, 2)}
    made = cases.made(hosts, {"v": cases.vm("h0", 80), **stays})
    assert ("more-hosts", "1 more host like h0", True) in found(made, 1)
    # the one host for it may be the other that fails
    assert ("more-hosts", "2 more hosts like h0", True) in found(made, 2)


def test_one_host_alone_needs_another():
    assert found(cases.made({"h": cases.host()}, {"v": cases.vm("h", 10)})) == [
        ("more-hosts", "1 more host like h", True)
    ]


def test_where_nothing_helps_what_was_tried_is_said():
    problem = cases.of(fragmented())
    none = fixes(problem, problem.at, [(0,)], lambda changed, those: False, most=5)
    assert [each["kind"] for each in none] == ["smaller-vm", "larger-host"]
    assert not any(each["works"] for each in none)
    assert none[0]["text"] == "big to 18 GiB of memory (now 40)", "the most that was tried"


@pytest.mark.parametrize("most", [0, 1, 7])
def test_no_more_is_solved_than_asked(most: int):
    made = cases.small(5, hosts=4, vms=7)
    problem = cases.of(made)
    calls: list[int] = []

    def solve(changed: Problem, those: Sequence[tuple[int, ...]]) -> bool:
        calls.append(1)
        return False

    fixes(problem, None, [(each,) for each in range(len(problem.hosts))], solve, most=most)
    assert len(calls) == most


def test_without_a_plan_rules_vms_and_hosts_are_tried():
    made = cases.made(
        {"h": cases.host(count=2)},
        {"v": cases.vm("h", 40, count=3)},
        rules=[{"name": "apart", "kind": "keep-apart", "vms": ["v"]}],
    )
    problem = cases.of(made)
    tried = fixes(problem, None, [], lambda changed, those: True)
    assert [each["kind"] for each in tried] == ["drop-rule", "smaller-vm", "larger-host", "more-hosts"]
