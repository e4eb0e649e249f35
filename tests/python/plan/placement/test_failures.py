"""What may fail, and what data that takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.python.plan.placement import cases

from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement.failures import TOO_FEW, failures_of, racks, unreadable
from hypertwin.plan.placement.survive import survive
from hypertwin.plan.placement.verdict import verdict
from hypertwin.scenario import Scenario


def test_each_host_and_all_combinations():
    made = cases.made({"h": cases.host(count=4)}, {})
    problem = cases.of(made)
    assert failures_of(made, problem, 0) == ()
    assert failures_of(made, problem, 1) == (("h-1", (0,)), ("h-2", (1,)), ("h-3", (2,)), ("h-4", (3,)))
    two = dict(failures_of(made, problem, 2))
    assert len(two) == 4 + 6
    assert two["h-2 + h-4"] == (1, 3)
    assert dict(failures_of(made, problem, 4))["h-1 + h-2 + h-3 + h-4"] == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("many", "says"),
    [
        (4, "4 of 40 would be 91,390\n  help: give --failures 3"),
        (41, "an integer from 0 to 40"),
        (-1, "an integer from 0 to 40"),
    ],
)
def test_too_many_failures_are_refused(many: int, says: str):
    made = cases.made({"h": cases.host(count=40)}, {})
    with pytest.raises(ScenarioError, match="failures: ") as refused:
        failures_of(made, cases.of(made), many)
    assert says in str(refused.value)
    assert len(failures_of(made, cases.of(made), 3)) == 40 + 9880


def pooled(*, on: str = "nodes", cluster: str = "default", asks: str | None = None, **more: Any) -> Scenario:
    """Four nodes of a mesh, in a cluster, and two hosts beside them, with VMs on its data."""
    mesh = {
        "kind": "mirrored-mesh",
        "nodes": "nodes",
        "deployment": "mixed",
        "devices": {"kind": "sata-ssd", "per_node": 2, "capacity": "1 TB"},
        "stored": "100 GiB",
        **more,
    }
    network = {"network": {"ports": 1, "bandwidth": "1.25 GB/s", "latency": "10 us"}}
    text = {
        "name": "pooled",
        "hosts": {"nodes": cases.host(count=4, cluster=cluster, **network), "zother": cases.host(count=2, **network)},
        "vms": {
            "db": cases.vm(on, 10, count=2, storage="mesh", vdisks=1, **({"policy": asks} if asks else {})),
            "web": cases.vm("zother", 10),
        },
        "workloads": {"any": {**cases.IDLE, "working_set": "1 GiB"}},
        "storage": {"mesh": mesh},
    }
    return scenario.loads(json.dumps(text))


def test_racks_are_dealt_in_turn_and_fail_together():
    made = pooled(racks=2, failure_domain="rack")
    problem = cases.of(made)
    pool = made.inventory.pools[0]
    assert racks(made, pool) == [["nodes-1", "nodes-3"], ["nodes-2", "nodes-4"]]
    found = dict(failures_of(made, problem, 1, ["racks"]))
    assert found["rack 2 of mesh"] == (1, 3)
    assert found == dict(failures_of(made, problem, 1, ["mesh"]))
    assert list(failures_of(made, problem, 0, ["mesh"])) == [("rack 1 of mesh", (0, 2)), ("rack 2 of mesh", (1, 3))]


@pytest.mark.parametrize(
    ("many", "says"),
    [(0, "a cannot tolerate a rack failure: if rack 1 "), (1, "a survives 2 of 6 failures. If nodes-1 ")],
)
def test_a_verdict_says_what_failed(many: int, says: str):
    made = pooled(racks=2, failure_domain="rack", cluster="a")
    made = made.with_overrides({"clusters": {"a": {"ha": {"enabled": False}}}})
    problem = cases.of(made)
    judged = verdict(made, problem, problem.at, Limits(), failures_of(made, problem, many, ["mesh"]))
    assert judged["text"].startswith(says)


@pytest.mark.parametrize(
    ("racked", "name", "says"),
    [
        (True, "meh", "did you mean mesh?"),
        (True, "x", "allowed: mesh, racks"),
        (False, "racks", "give storage.NAME.racks"),
    ],
)
def test_racks_that_are_unknown_are_refused(racked: bool, name: str, says: str):
    made = pooled(racks=2, failure_domain="rack") if racked else pooled()
    with pytest.raises(ScenarioError) as refused:
        failures_of(made, cases.of(made), 1, [name])
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "nodes", "lost"),
    [
        ({}, ["nodes-1"], False),
        ({}, ["nodes-1", "nodes-2"], True),
        ({"redundancy": "replicas-3"}, ["nodes-1", "nodes-2"], False),
        ({"racks": 2, "failure_domain": "rack"}, ["nodes-1", "nodes-3"], False),
        ({"racks": 2, "failure_domain": "rack"}, ["nodes-1", "nodes-2"], True),
        ({"failure_domain": "disk"}, ["nodes-1"], True),
        ({}, ["zother-1", "zother-2"], False),
    ],
)
def test_data_is_lost_to_reading_beyond_what_the_redundancy_survives(
    keys: dict[str, Any], nodes: list[str], lost: bool
):
    made = pooled(**keys)
    found = unreadable(made, cases.of(made), nodes)
    assert list(found) == ([0, 1] if lost else [])
    assert all(text == "data of pool mesh, which survives 1 failure" for text in found.values())


@pytest.mark.parametrize(("policy", "lost"), [(None, True), ("three", False), ("two", True)])
def test_what_a_policy_keeps_counts_for_the_vms_that_ask_for_it(policy: str | None, lost: bool):
    policies = {name: {"redundancy": f"replicas-{copies}"} for name, copies in (("two", 2), ("three", 3))}
    made = pooled(asks=policy, policies=policies)
    assert bool(unreadable(made, cases.of(made), ["nodes-1", "nodes-2"])) == lost


def test_data_that_cannot_be_written_are_said():
    made = pooled(redundancy="replicas-3:2")
    problem = cases.of(made)
    says = f"Some failures leave pool mesh {TOO_FEW} for writes: its VMs wait for the repair."
    assert says not in survive(problem, made, problem.at, failures_of(made, problem, 1)).notes
    two = survive(problem, made, problem.at, failures_of(made, problem, 2))
    assert says in two.notes
    assert "storage" not in two.binding_constraints


def test_weaker_data_beside_them_do_not_hide_writes_that_stop():
    both = {"redundancy": "replicas-3:2", "policies": {"two": {"redundancy": "replicas-2"}}}
    text = pooled(**both).as_written()
    text["vms"]["more"] = {**text["vms"]["db"], "count": 1, "policy": "two"}
    made = scenario.load(text)
    problem = cases.of(made)
    notes = survive(problem, made, problem.at, failures_of(made, problem, 2)).notes
    assert f"Some failures leave pool mesh {TOO_FEW} for writes: its VMs wait for the repair." in notes


def test_a_vm_without_its_data_is_down_wherever_it_runs():
    made = pooled(on="zother")
    problem = cases.of(made)
    found = survive(problem, made, problem.at, failures_of(made, problem, 2))
    assert not found.feasible
    certificate = found.certificates["nodes-1 + nodes-2"]
    assert certificate["placed"] == {}
    assert certificate["cannot_restart"] == [
        {"vm": f"db-{number}", "short_of": "data of pool mesh, which survives 1 failure", "within_limits": False}
        for number in (1, 2)
    ]
    assert found.certificates["zother-1 + zother-2"]["cannot_restart"] == []
    assert found.binding_constraints == ("storage",)


def test_nodes_outside_the_cluster_take_data_away_as_well():
    made = pooled(on="zother", cluster="store")
    assert [cluster.name for cluster in made.inventory.clusters] == ["default", "store"]
    problem = cases.of(made)
    one = survive(problem, made, problem.at, failures_of(made, problem, 1))
    assert one.feasible
    two = survive(problem, made, problem.at, failures_of(made, problem, 2))
    assert two.certificates["2 nodes of mesh"]["failed"] == ["nodes-1", "nodes-2"]
    assert [each["vm"] for each in two.certificates["2 nodes of mesh"]["cannot_restart"]] == ["db-1", "db-2"]
