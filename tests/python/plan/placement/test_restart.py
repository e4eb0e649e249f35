"""Restarting after failures: against exhaustive search, and cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.conftest import SOAK
from tests.python.plan.placement import cases, checker

from hypertwin.plan.placement.failures import failures_of
from hypertwin.plan.placement.problem import NOWHERE, Problem
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.plan.placement.survive import survive
from hypertwin.scenario import Scenario

BLOCK = 40
SEEDS = 2 * BLOCK * SOAK


def named(problem: Problem, outcome: Outcome) -> dict[str, str]:
    """Where VMs go, by names."""
    return {problem.vms[vm].name: problem.hosts[host].name for vm, host in outcome.placed.items()}


def lacking(problem: Problem, outcome: Outcome) -> dict[str, str]:
    """What VMs lack, by name."""
    return {problem.vms[vm].name: short.text for vm, short in outcome.cannot_restart}


def after(made: Scenario, *failed: int, **limits: Any) -> tuple[Problem, Outcome]:
    """What becomes of a scenario when hosts fail."""
    problem = cases.of(made, **limits)
    return problem, Restarts(problem).after(problem.at, failed)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_as_many_vms_as_exhaustive_search_places_and_the_same_verdict(first: int):
    for seed in range(first, first + BLOCK):
        made = cases.small(seed)
        problem, world = cases.of(made), checker.World.of(made)
        many = 2 if len(problem.hosts) > 2 and seed % 3 == 0 else 1
        failures = failures_of(made, problem, many)
        found = survive(problem, made, problem.at, failures)
        restarts = Restarts(problem)
        survivable = True
        for name, positions in failures:
            failed = [problem.hosts[each].name for each in positions]
            most = checker.most_restarted(world, world.at, failed)
            certificate = found.certificates[name]
            got = [0] * len(checker.PRIORITIES)
            for vm in certificate["placed"]:
                got[world.priority[vm]] += 1
            where = f"seed {seed}, {name}"
            assert list(checker.wrong_certificate(world, world.at, certificate)) == [], where
            assert certificate["proven"], where
            assert tuple(got) == most, where
            survivable &= not certificate["cannot_restart"]
            alone = restarts.after(problem.at, positions)
            assert alone.placed == found.outcomes[name].placed or alone.wishes, where
        assert found.feasible == survivable, f"seed {seed}"
        unsafe = restarts.first_unsafe(problem.at, [positions for _, positions in failures])
        assert (unsafe is None) == survivable, f"seed {seed}"


def test_room_in_sum_is_no_room():
    # 3 x 30 GiB are free of 90 each, and a VM of 40 goes nowhere
    hosts = {f"h{number}": cases.host() for number in range(4)}
    vms = {f"v{number}": cases.vm(f"h{number}", 60) for number in range(1, 4)}
    problem, outcome = after(cases.made(hosts, {**vms, "big": cases.vm("h0", 40)}), 0)
    assert lacking(problem, outcome) == {"big": "10.0 GiB of memory on h1 (limit: 90% of memory)"}
    assert outcome.proven
    assert (problem.failover.sum() - problem.loads(outcome.place)[1:].sum()) > 40 * 2**30


def tight(**low: Any) -> Scenario:
    """61 GiB are free on one host and 42 on another: 29 + 32 and 4 + 17 + 21, which no rule of thumb finds."""
    hosts = {f"h{number}": cases.host() for number in range(3)}
    more = {"restart_priority": "high"} if low else {}
    waits = {f"w{size}": cases.vm("h0", size, **more) for size in (4, 17, 21, 29, 32)}
    return cases.made(hosts, {"r1": cases.vm("h1", 29), "r2": cases.vm("h2", 48), **waits, **low})


def test_a_packing_is_found_where_heuristics_fail():
    problem = cases.of(tight())
    restarts = Restarts(problem)
    assert len(restarts.after(problem.at, (0,), exact=False).cannot_restart) == 1
    outcome = restarts.after(problem.at, (0,))
    assert outcome.proven
    assert named(problem, outcome) == {"w29": "h1", "w32": "h1", "w4": "h2", "w17": "h2", "w21": "h2"}
    assert restarts.first_unsafe(problem.at, [(1,), (0,)]) is None


def test_what_is_left_of_lower_priority_is_no_reason_to_stop_short():
    # as many VMs as could be are placed with the low one, and all of the high ones are possible
    problem, outcome = after(tight(low=cases.vm("h0", 1)), 0)
    assert lacking(problem, outcome).keys() == {"low"}
    assert outcome.proven


def test_higher_priorities_win_over_more_vms():
    hosts = {"h0": cases.host(), "h1": cases.host()}
    vms = {
        "first": cases.vm("h0", 60, restart_priority="high"),
        "second": cases.vm("h0", 40),
        "third": cases.vm("h0", 40),
        "off": cases.vm("h0", 1, restart_priority="disabled"),
    }
    problem, outcome = after(cases.made(hosts, vms), 0)
    assert named(problem, outcome) == {"first": "h1"}
    short = "10.0 GiB of memory on h1 (limit: 90% of memory)"
    assert lacking(problem, outcome) == {"second": short, "third": short}
    assert [(problem.vms[vm].name, text) for vm, text in outcome.not_restarted] == [("off", "restart disabled")]
    assert outcome.proven


def rule(kind: str, vms: list[str], *, hosts: list[str] | None = None, mandatory: bool = True) -> dict[str, Any]:
    """A rule named for its kind."""
    found = {"name": kind, "kind": kind, "vms": vms, "mandatory": mandatory}
    return {**found, "hosts": hosts} if hosts else found


def test_rules_hold_after_a_failure_and_are_named_where_they_leave_no_host():
    hosts = {f"h{number}": cases.host() for number in range(3)}
    vms = {"a": cases.vm("h0", 10), "b": cases.vm("h1", 10), "c": cases.vm("h2", 10)}
    problem, outcome = after(cases.made(hosts, vms, rules=[rule("keep-apart", ["a", "b", "c"])]), 0)
    assert lacking(problem, outcome) == {"a": "a host that rule keep-apart allows"}
    problem, outcome = after(cases.made(hosts, vms, rules=[rule("keep-together", ["a", "b"])]), 0)
    assert named(problem, outcome) == {"a": "h1"}
    problem, outcome = after(cases.made(hosts, vms, rules=[rule("run-on", ["a"], hosts=["h0"])]), 0)
    assert lacking(problem, outcome) == {"a": "a host that rule run-on allows"}
    both = [rule("not-on", ["a"], hosts=["h1"]), rule("keep-apart", ["a", "c"])]
    problem, outcome = after(cases.made(hosts, vms, rules=both), 0)
    assert lacking(problem, outcome) == {"a": "a host that rules not-on and keep-apart allow"}
    assert outcome.proven


def test_wishes_hold_where_they_can_and_are_named_where_they_do_not():
    hosts = {f"h{number}": cases.host() for number in range(3)}
    vms = {"a": cases.vm("h0", 10), "b": cases.vm("h1", 50), "c": cases.vm("h2", 40)}
    apart = [rule("keep-apart", ["a", "c"], mandatory=False)]
    problem, outcome = after(cases.made(hosts, vms, rules=apart), 0)
    assert named(problem, outcome) == {"a": "h1"}, "h2 has more room, and c"
    assert outcome.wishes == ()
    vms["b"] = cases.vm("h1", 85)
    problem, outcome = after(cases.made(hosts, vms, rules=apart), 0)
    assert named(problem, outcome) == {"a": "h2"}
    assert outcome.wishes == ("keep-apart",)
    assert outcome.proven


def test_vms_kept_together_restart_on_one_host_or_as_many_as_fit_it():
    hosts = {f"h{number}": cases.host() for number in range(3)}
    vms = {"a": cases.vm("h0", 30), "b": cases.vm("h0", 30), "r1": cases.vm("h1", 40), "r2": cases.vm("h2", 20)}
    together = [rule("keep-together", ["a", "b"])]
    problem, outcome = after(cases.made(hosts, vms, rules=together), 0)
    assert named(problem, outcome) == {"a": "h2", "b": "h2"}
    vms["r2"] = cases.vm("h2", 50)
    problem, outcome = after(cases.made(hosts, vms, rules=together), 0)
    assert len(outcome.placed) == 1
    assert outcome.proven


@pytest.mark.parametrize(
    ("vm", "short_of", "within_limits"),
    [
        (cases.vm("h0", 10, vcpus=24), "a host with 24 logical CPUs", False),
        (cases.vm("h0", 150), "a host with 150.0 GiB of memory", False),
        (cases.vm("h0", 150, vcpus=24), "a host with 24 logical CPUs", False),
        (cases.vm("h0", 10, mhz=9000), "2.0 GHz of CPU on h1 (limit: 80% of CPU)", True),
        (cases.vm("h0", 82), "2.0 GiB of memory on h1 (limit: 90% of memory)", True),
        (
            cases.vm("h0", 90, mhz=9000),
            "2.0 GHz of CPU and 10.0 GiB of memory on h1 (limits: 80% of CPU and 90% of memory)",
            True,
        ),
        (cases.vm("h0", 91), "11.0 GiB of memory on h1", False),
        (cases.vm("h0", 10, reservation="10.5 GHz"), "0.5 GHz of reserved CPU on h1", False),
        (cases.vm("h0", 95, mhz=9000), "2.0 GHz of CPU and 15.0 GiB of memory on h1", False),
    ],
)
def test_what_a_vm_lacks_where_least_is_lacking(vm: dict[str, Any], short_of: str, within_limits: bool):
    hosts = {"h0": cases.host(20, 200), "h1": cases.host(), "h2": cases.host()}
    vms = {"big": vm, "r1": cases.vm("h1", 10, mhz=1000), "r2": cases.vm("h2", 20, mhz=1000)}
    problem, outcome = after(cases.made(hosts, vms), 0)
    assert lacking(problem, outcome) == {"big": short_of}
    assert [short.within_limits for _, short in outcome.cannot_restart] == [within_limits]
    assert outcome.proven


def test_vms_that_stay_with_their_host_are_down_and_say_why():
    hosts = {"h0": cases.host(), "h1": cases.host()}
    _, outcome = after(cases.made(hosts, {"pinned": cases.vm("h0", 1, affinity="0-1")}), 0)
    assert [text for _, text in outcome.not_restarted] == ["local disks or CPU affinity tie it to its host"]
    assert (outcome.placed, outcome.cannot_restart) == ({}, ())


def test_overloaded_hosts_are_no_target_and_no_trouble():
    hosts = {f"h{number}": cases.host() for number in range(3)}
    vms = {"a": cases.vm("h0", 5), "r1": cases.vm("h1", 99), "r2": cases.vm("h2", 60, mhz=9000)}
    problem, outcome = after(cases.made(hosts, vms), 0)
    assert lacking(problem, outcome) == {"a": "1.1 GHz of CPU on h2 (limit: 80% of CPU)"}
    problem, outcome = after(cases.made(hosts, vms), 0, cpu=1.0)
    assert named(problem, outcome) == {"a": "h2"}


@pytest.mark.parametrize("count", [0, 3])
def test_one_host_and_no_vms_at_all(count: int):
    vms = {f"v{number}": cases.vm("h0", 10) for number in range(count)}
    problem, outcome = after(cases.made({"h0": cases.host()}, vms), 0)
    assert lacking(problem, outcome) == dict.fromkeys(vms, "another host")
    assert outcome.proven
    assert (Restarts(problem).first_unsafe(problem.at, [(0,)]) is None) == (count == 0)
    assert Restarts(problem).first_unsafe(problem.at, []) is None


def test_vms_that_are_nowhere_stay_there():
    made = cases.made({"h0": cases.host(), "h1": cases.host()}, {"new": cases.vm("h0", 10), "old": cases.vm("h0", 10)})
    problem = cases.of(made)
    place = np.array([NOWHERE, 0])
    outcome = Restarts(problem).after(place, (0,))
    assert outcome.place.tolist() == [NOWHERE, 1]
    assert outcome.placed == {1: 1}


def test_many_failures_at_once_say_what_each_says_alone():
    made = cases.small(3, hosts=6, vms=14)
    problem = cases.of(made)
    failures = [positions for _, positions in failures_of(made, problem, 2)]
    restarts = Restarts(problem)
    for outcome, failed in zip(restarts.all(problem.at, failures), failures, strict=True):
        alone = restarts.after(problem.at, failed)
        assert outcome == replace(alone, place=outcome.place)
        assert (outcome.place == alone.place).all()


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]):
    # a case in which HiGHS 1.12 prints a line of its own
    made = cases.small(1791)
    problem = cases.of(made)
    for _, failed in failures_of(made, problem, 2):
        Restarts(problem).after(problem.at, failed)
    assert capfd.readouterr().out == ""
