"""--why VM: rules, room, failover, and what another host would cost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.placement.cases import host, made, of, vm

from hypertwin.documents.placement import Explanation
from hypertwin.errors import ScenarioError
from hypertwin.plan.placement.explain import explain
from hypertwin.scenario import Scenario

HOSTS = {name: host() for name in ("a", "b", "c")}


def explained(scenario: Scenario, name: str, failures: list[tuple[int, ...]] | None = None, **to: str) -> Explanation:
    problem = of(scenario)
    names = [each.name for each in problem.hosts]
    place = problem.at.copy()
    for each, of_problem in enumerate(problem.vms):
        if of_problem.name in to:
            place[each] = names.index(to[of_problem.name])
    return explain(problem, place, name, failures or [])


def test_a_vm_that_stays_and_what_elsewhere_would_cost():
    found = explained(made(HOSTS, {"v": vm("a", 40), "w": vm("b", 60)}), "v")
    assert found["host"] == "a"
    assert found["reasons"] == ["it is on a now, and nothing requires a move"]
    assert found["elsewhere"] == {
        "b": "short of 10.0 GiB of memory within its limits",
        "c": "possible: one move more, same peak load",
    }


def test_a_vm_without_live_migration_stays():
    found = explained(made(HOSTS, {"v": vm("a", 40, live_migration=False)}), "v")
    assert found["reasons"][0] == "without live migration, it stays on a"
    assert set(found["elsewhere"].values()) == {"it has no live migration"}


def test_rules_and_policies_are_named():
    rules: list[dict[str, Any]] = [
        {"name": "apart", "kind": "keep-apart", "vms": ["v", "w"]},
        {"name": "licence", "kind": "run-on", "vms": ["v"], "hosts": ["a", "b"]},
    ]
    found = explained(made(HOSTS, {"v": vm("b", 4), "w": vm("b", 6)}, rules=rules), "v", v="a")
    assert found["reasons"] == [
        "rule apart: apart from w",
        "rule licence: only on a, b",
        "it leaves b: rule apart did not hold there",
        "with the other VMs where they are, no other host fits",
    ]
    assert found["elsewhere"] == {"b": "rule apart would not hold", "c": "rule licence would not hold"}


def test_room_that_a_failure_needs():
    # a is empty for w; with v on it nothing has room when b fails
    vms = {"v": vm("c", 20), "x": vm("c", 65), "w": vm("b", 80)}
    found = explained(made(HOSTS, vms), "v", [(0,), (1,), (2,)])
    assert found["elsewhere"]["a"] == "if b fails, w cannot restart within limits"
    assert explained(made(HOSTS, vms), "v")["elsewhere"]["a"].startswith("possible")


def test_why_a_vm_leaves_a_full_host():
    vms = {"v": vm("a", 50), "w": vm("a", 50)}
    found = explained(made(HOSTS, vms), "v", v="b")
    assert found["reasons"] == ["it leaves a: that host is 10.0 GiB of memory above its limits"]


def test_hosts_that_cannot_have_it():
    hosts = {**HOSTS, "small": host(cores=1, memory=30), "kvm": host(hypervisor="linux-6.6")}
    found = explained(made(hosts, {"v": vm("a", 40, vcpus=4)}), "v")
    assert found["elsewhere"]["small"] == "host has 2 logical CPUs, the VM 4 vCPUs"
    assert found["elsewhere"]["kvm"] == "host has another hypervisor, or lacks the VM's storage"
    fixed = explained(made(HOSTS, {"v": vm("a", 4, affinity="0-1")}), "v")
    assert fixed["reasons"][0].startswith("local disks or CPU affinity tie it to a")
    assert set(fixed["elsewhere"].values()) == {"local disks or CPU affinity tie the VM to its host"}


def test_an_unknown_vm_is_refused_with_a_near_name():
    with pytest.raises(ScenarioError, match="did you mean v1"):
        explained(made(HOSTS, {"v1": vm("a", 4)}), "v11")


def test_labels_are_names_too():
    found = explained(made(HOSTS, {"v1": vm("a", 4, label="The DB")}), "The DB")
    assert found["vm"] == "v1"
