"""Hosts are emptied: fewest moves, who stays and why, one after another and back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.placement.cases import host, made, of, vm
from tests.python.plan.placement.checker import World, complaints

from hypertwin.errors import ScenarioError
from hypertwin.plan.placement.evacuate import Evacuation, evacuate, host_named, rolling
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.problem import Problem
from hypertwin.scenario import Scenario


def single(problem: Problem) -> list[tuple[str, tuple[int, ...]]]:
    return [(host.name, (each,)) for each, host in enumerate(problem.hosts)]


def emptied(scenario: Scenario, name: str) -> tuple[Problem, Evacuation]:
    problem = of(scenario)
    found = evacuate(problem, Migrations(problem, scenario), host_named(problem, name), single(problem))
    sound(scenario, found)
    return problem, found


def sound(scenario: Scenario, found: Evacuation) -> None:
    """By the independent checker: every step can be carried out, and the place is sound."""
    plan = {"command": "evacuate", "feasible": False, "certificate": found.certificates}
    if found.feasible and not any(each["cannot_restart"] for each in found.certificates.values()):
        plan["feasible"] = True
    assert complaints(World.of(scenario), {**plan, "moves": found.order.moves, "steps": found.order.steps}) == []


THREE = {"a": host(), "b": host(), "c": host()}


def test_a_host_is_emptied_and_others_bear_less():
    vms = {"v1": vm("a", 30), "v2": vm("a", 40), "v3": vm("b", 30), "v4": vm("c", 40)}
    _, found = emptied(made(THREE, vms), "a")
    assert found.feasible and found.found.value == found.found.bound == 2
    assert {(move["vm"], move["why"]) for move in found.order.moves} == {
        ("v1", "evacuates a"),
        ("v2", "evacuates a"),
    }
    assert found.order.steps[-1]["empty_host"] == "a"
    # 140 GiB do not fit on one host: told, and not asked for
    assert set(found.outcomes) == {"b", "c"}
    assert all(outcome.cannot_restart for outcome in found.outcomes.values())


def test_who_stays_is_named_with_the_reason():
    local = vm("a", 10, affinity="0-1")
    container = vm("a", 5, live_migration=False)
    vms = {"fixed": local, "pinned": vm("a", 5), "free": vm("a", 5), "with-it": vm("a", 5), "other": vm("b", 5)}
    vms |= {"ct-1": container, "ct-2": container}
    rules = [
        {"name": "licence", "kind": "run-on", "vms": ["pinned"], "hosts": ["a"], "mandatory": True},
        {"name": "pair", "kind": "keep-together", "vms": ["pinned", "with-it"], "mandatory": True},
    ]
    _, found = emptied(made(THREE, vms, rules=rules), "a")
    assert not found.feasible
    assert dict(found.stays) == {
        "ct-1": "no live migration: power off, and start on another host",
        "ct-2": "no live migration: power off, and start on another host",
        "fixed": "local disks, or CPU affinity",
        "pinned": "rule licence",
        "with-it": "affinity to pinned, and no other host can run all",
    }
    (note,) = (note for note in found.notes if note.startswith("a cannot be evacuated: "))
    assert "; ct-1, ct-2 stay, no live migration: power off, and start on another host; " in f"; {note[23:-1]}; "
    assert [move["vm"] for move in found.order.moves] == ["free"]
    assert "empty_host" not in found.order.steps[-1]


def test_a_rule_that_is_not_mandatory_gives_way():
    rules = [{"name": "near", "kind": "run-on", "vms": ["v"], "hosts": ["a"]}]
    _, found = evacuation_without_check(made(THREE, {"v": vm("a", 5)}, rules=rules), "a")
    assert found.feasible and len(found.order.moves) == 1
    assert "Should rule near is violated while a is empty." in found.notes
    # two VMs that should be apart, and one host for both
    rules = [{"name": "apart", "kind": "keep-apart", "vms": ["v", "w"]}]
    two = {"a": host(), "b": host()}
    _, found = evacuation_without_check(made(two, {"v": vm("a", 5), "w": vm("b", 5)}, rules=rules), "a")
    assert found.feasible
    assert any(note.startswith("Should rule apart is violated") for note in found.notes)
    rules[0]["mandatory"] = True
    _, found = evacuation_without_check(made(two, {"v": vm("a", 5), "w": vm("b", 5)}, rules=rules), "a")
    assert not found.feasible


def evacuation_without_check(scenario: Scenario, name: str) -> tuple[Problem, Evacuation]:
    """The checker holds a feasible plan to every rule."""
    problem = of(scenario)
    return problem, evacuate(problem, Migrations(problem, scenario), host_named(problem, name), single(problem))


def test_appliances_do_not_leave_and_are_no_obstacle():
    vms = {"svm": vm("a", 10, storage_appliance=True), "v": vm("a", 5)}
    _, found = emptied(made(THREE, vms), "a")
    assert found.feasible
    assert found.notes[0] == "svm stays on a and shuts down with it: it serves storage to that host."


def test_what_is_wrong_elsewhere_stays_wrong():
    vms = {"big": vm("b", 95), "v": vm("a", 20), "x": vm("b", 1), "y": vm("b", 1)}
    rules = [{"name": "apart", "kind": "keep-apart", "vms": ["x", "y"]}]
    _, found = evacuation_without_check(made(THREE, vms, rules=rules), "a")
    assert found.feasible
    assert [(move["vm"], move["to"]) for move in found.order.moves] == [("v", "c")]
    assert found.notes[0].startswith("Already above its limits: b by 7.0 GiB")
    assert "apart" in found.notes[1]


BROKEN = {"name": "rule", "kind": "keep-apart", "vms": ["a1", "a2", "a3"], "mandatory": True}


@pytest.mark.parametrize(
    ("spare", "b", "moves"),
    [
        ({"z": 50}, 30, 1),  # nobody else has to move: the VMs of the rule stay as they are
        ({"z": 25}, 40, 2),  # one leaves, and satisfies the rule
        ({"z": 50}, 60, None),  # two have to leave, and only z remains
        ({"z": 50, "w": 30}, 60, 3),
    ],
)
def test_who_moves_satisfies_a_must_rule_that_is_violated_now(spare: dict[str, int], b: int, moves: int | None):
    hosts = {"x": host(), "y": host(), **{name: host(memory=memory) for name, memory in spare.items()}}
    vms = {"b": vm("y", b), **{name: vm("x", 20) for name in BROKEN["vms"]}}
    _, found = evacuation_without_check(made(hosts, vms, rules=[BROKEN]), "y")
    assert found.feasible == (moves is not None) and found.found.proven
    assert found.found.value == moves
    assert found.found.place is None or len(found.order.moves) == moves
    gone = [move["to"] for move in found.order.moves if move["vm"] != "b"]
    assert len(gone) == len(set(gone)), "those that leave are apart"
    if moves is None:
        assert found.found.binding_constraints == ("rule rule",)
    assert ("Already violated by VMs that stay: rule." in found.notes) == (moves != 3)


def test_who_moves_goes_where_a_violated_must_rule_allows():
    hosts = {"x": host(), "y": host(), "z": host(memory=50), "w": host(memory=50)}
    vms = {"b": vm("y", 80), "a1": vm("x", 20), "a2": vm("w", 20)}
    for rule in ({"kind": "keep-together", "vms": ["a1", "a2"]}, {"kind": "run-on", "vms": ["a1"], "hosts": ["w"]}):
        rules = [{"name": "rule", "mandatory": True, **rule}]
        _, found = emptied(made(hosts, vms, rules=rules), "y")
        assert found.feasible and found.found.proven
        assert {(move["vm"], move["to"]) for move in found.order.moves} == {("a1", "w"), ("b", "x")}


def test_an_unknown_host_is_refused_with_those_there_are():
    problem = of(made(THREE, {"v": vm("a", 5)}))
    with pytest.raises(ScenarioError, match="a host of cluster default: a, b, c"):
        host_named(problem, "d")


def roll(scenario: Scenario, **more: Any) -> Evacuation:
    problem = of(scenario)
    found = rolling(problem, Migrations(problem, scenario), single(problem), **more)
    sound(scenario, found)
    return found


VMS = {"v1": vm("a", 30), "v2": vm("a", 30), "v3": vm("b", 30), "v4": vm("c", 20), "v5": vm("c", 20), "v6": vm("c", 20)}


def test_one_host_after_another_and_back():
    scenario = made(THREE, VMS)
    found = roll(scenario)
    assert found.feasible and found.found.proven
    assert found.found.value == 12 == len(found.order.moves)
    assert found.found.place is not None
    assert found.found.place.tolist() == of(scenario).at.tolist()
    assert [step["empty_host"] for step in found.order.steps if "empty_host" in step] == ["b", "a", "c"]
    back = [bool(step.get("back")) for step in found.order.steps]
    assert back == [False, True] * 3
    assert [step["step"] for step in found.order.steps] == [1, 2, 3, 4, 5, 6]


def test_without_a_way_back_most_vms_move_once():
    found = roll(made(THREE, VMS), back=False)
    assert found.feasible
    # v3 leaves b, and has to leave the next host, too
    assert found.found.value == len(found.order.moves) == 7
    assert found.found.bound == 6
    assert [step["empty_host"] for step in found.order.steps if "empty_host" in step] == ["b", "a", "c"]


def test_a_host_that_cannot_be_emptied_is_left_out_and_named():
    vms = {**VMS, "fixed": vm("a", 5, affinity="0")}
    found = roll(made(THREE, vms))
    assert not found.feasible
    assert [step["empty_host"] for step in found.order.steps if "empty_host" in step] == ["b", "c"]
    assert any(note.startswith("a cannot be evacuated: fixed stays") for note in found.notes)
    assert found.found.value == found.found.bound
    assert found.found.proven, "a VM with CPU affinity proves that the plan is infeasible"


def test_failures_that_the_others_do_not_bear_are_told():
    found = roll(made(THREE, VMS))
    assert any("hile b is empty, " in note for note in found.notes)
