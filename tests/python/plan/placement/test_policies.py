"""Policies: what each asks of a problem, where it decides, and where it holds back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.python.plan.placement import cases

from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.placement.policies import POLICIES, apply
from hypertwin.plan.placement.problem import Problem, Rule
from hypertwin.scenario import Scenario


def applied(made: Scenario, *, only: str, given: Sequence[str] | None = None, **limits: Any) -> tuple[Problem, Any]:
    """A problem with one policy, and what that decided."""
    off = [name for name, policy in POLICIES.items() if name != only and policy.is_on]
    problem, said = apply(cases.of(made, **limits), made, {only: given}, off)
    assert [name for name, each in said.items() if each["on"]] == [only]
    return problem, said[only]


def added(problem: Problem, policy: str) -> list[Rule]:
    """Rules of a policy."""
    rules = [rule for rule in problem.rules if rule.policy is not None]
    assert all(rule.policy == policy and not rule.mandatory for rule in rules)
    return rules


def two_kinds(vms: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> Scenario:
    """Two hosts of 2 x 10 cores and two of 2 x 12."""
    hosts = {
        "odd": cases.host(10, 100, sockets=2, count=2),
        "wide": cases.host(12, 100, sockets=2, count=2),
    }
    return cases.made(hosts, vms, **({"rules": rules} if rules else {}))


def test_a_wide_vm_goes_where_it_divides_evenly_over_the_fewest_nodes():
    # 22 vCPUs are 3 nodes of 10, which there are not, and 2 of 12
    made = two_kinds({"db": cases.vm("odd-1", 50, vcpus=22), "web": cases.vm("odd-1", 50, vcpus=8)})
    problem, said = applied(made, only="numa")
    assert [(rule.kind, rule.vms, rule.hosts) for rule in added(problem, "numa")] == [("run-on", (0,), (2, 3))]
    assert said["decided"] == ["db: not on hosts like odd-1: 22 vCPUs are more than its 20 cores"]
    assert list(said["vms"]) == ["db"]
    # 11 are 6 + 5 on nodes of 10, and no wider than one of 12
    problem, said = applied(two_kinds({"db": cases.vm("odd-1", 50, vcpus=11)}), only="numa")
    assert added(problem, "numa")[0].hosts == (2, 3)
    assert "11 vCPUs do not divide evenly over 2 nodes of 10 cores" in said["decided"][0]
    # 16 are 8 + 8 on both, but for memory
    problem, said = applied(two_kinds({"db": cases.vm("odd-1", 50, vcpus=16)}), only="numa")
    assert (added(problem, "numa"), said["decided"]) == ([], [])


def test_memory_of_the_fewest_nodes_has_to_hold_a_wide_vm():
    hosts = {"four": cases.host(10, 50, sockets=4), "two": cases.host(10, 100, sockets=2)}
    problem, said = applied(cases.made(hosts, {"db": cases.vm("four", 150, vcpus=16)}), only="numa")
    assert added(problem, "numa")[0].hosts == (1,)
    assert said["vms"]["db"] == "not on hosts like four: its memory does not fit 2 nodes of 50 GiB"


def test_a_wide_vm_that_divides_nowhere_is_asked_nothing():
    problem, said = applied(two_kinds({"db": cases.vm("odd-1", 50, vcpus=13)}), only="numa")
    assert added(problem, "numa") == []
    assert said["decided"] == ["db, 13 vCPUs, divides evenly on none of its hosts: not applied"]


@pytest.mark.parametrize(
    ("vms", "rules", "says"),
    [
        ({f"db-{n}": cases.vm("odd-1", 90, vcpus=22) for n in range(5)}, None, "no room for all of them"),
        (
            {"db": cases.vm("odd-1", 10, vcpus=22), "web": cases.vm("odd-1", 10, affinity="0-1")},
            [{"name": "near", "kind": "keep-together", "vms": ["db", "web"]}],
            "rule near keeps them where others are",
        ),
        (
            {f"db-{n}": cases.vm("odd-1", 10, vcpus=22) for n in range(3)},
            [{"name": "far", "kind": "keep-apart", "vms": [f"db-{n}" for n in range(3)]}],
            "rule far needs more hosts",
        ),
    ],
)
def test_numa_holds_back_where_it_could_not_be_kept(vms: dict[str, Any], rules: Any, says: str):
    problem, said = applied(two_kinds(vms, rules), only="numa")
    assert added(problem, "numa") == []
    assert says in said["decided"][0]
    assert said["vms"] == {}


def test_monsters_are_kept_apart_as_many_as_can_be_the_largest_first():
    hosts = {"h": cases.host(10, 100, count=2)}
    vms = {
        "a": cases.vm("h-1", 60),
        "b": cases.vm("h-1", 10, vcpus=6),
        "c": cases.vm("h-1", 55),
        "small": cases.vm("h-1", 50, vcpus=5),
    }
    problem, said = applied(cases.made(hosts, vms), only="separate-large-vms")
    rule = added(problem, "separate-large-vms")[0]
    assert [problem.vms[vm].name for vm in rule.vms] == ["a", "b"]
    assert said["decided"] == [
        "a, b are on different hosts: each takes more than half of a host",
        "not applied to c: too few hosts",
    ]
    together = [{"name": "pair", "kind": "keep-together", "vms": ["a", "b"]}]
    problem, said = applied(cases.made(hosts, vms, rules=together), only="separate-large-vms")
    assert [problem.vms[vm].name for vm in added(problem, "separate-large-vms")[0].vms] == ["a", "c"]
    problem, said = applied(cases.made(hosts, vms), only="separate-large-vms", given=["c", "small"])
    assert (added(problem, "separate-large-vms"), said["decided"]) == ([], [])


def test_monsters_change_hosts_so_that_all_have_one():
    # a can be on both hosts and takes the first, b only on that
    hosts = {"h": cases.host(10, 100, count=2)}
    vms = {"a": cases.vm("h-1", 80), "b": cases.vm("h-1", 60, affinity="0-1")}
    problem, _ = applied(cases.made(hosts, vms), only="separate-large-vms")
    assert [problem.vms[vm].name for vm in added(problem, "separate-large-vms")[0].vms] == ["a", "b"]


def hyperconverged(*, appliance: bool = False, measured: bool = True) -> Scenario:
    """Two nodes of a mesh with VMs on them, and a host beside them."""
    network = {"network": {"ports": 1, "bandwidth": "1.25 GB/s", "latency": "10 us"}}
    usage = {} if measured else {"measured": {"cpu_usage_pct": 50, "cpu_p95_pct": 50}}
    vms = {"db": cases.vm("nodes-1", 10, storage="mesh", vdisks=1)}
    if not measured:
        del vms["db"]["measured"]
    if appliance:
        vms |= {f"cvm{n}": cases.vm(f"nodes-{n}", 10, 500, storage_appliance=True) for n in (1, 2)}
    text = {
        "name": "hyperconverged",
        "hosts": {"nodes": cases.host(count=2, **network, **usage), "other": cases.host(**network, **usage)},
        "vms": vms,
        "workloads": {"any": {**cases.IDLE, "working_set": "1 GiB"}},
        "storage": {
            "mesh": {
                "kind": "mirrored-mesh",
                "nodes": "nodes",
                "deployment": "hci",
                "devices": {"kind": "sata-ssd", "per_node": 2, "capacity": "1 TB"},
                "stored": "100 GiB",
            }
        },
    }
    return scenario.loads(json.dumps(text))


def test_storage_in_the_kernel_is_taken_off_first():
    made = hyperconverged()
    problem, said = applied(made, only="storage-first")
    assert problem.rooms[:, 0].tolist() == pytest.approx([7000, 7000, 8000])
    assert problem.failover[:, 0].tolist() == pytest.approx([7000, 7000, 8000])
    assert said["decided"] == ["10 % of the CPU of 2 nodes of pool mesh is storage's"]
    for given in ("25%", "25"):
        problem, _ = applied(made, only="storage-first", given=[given])
        assert problem.rooms[0, 0] == pytest.approx(5500)


def test_appliances_and_measured_hosts_are_not_taken_off_twice():
    problem, said = applied(hyperconverged(appliance=True), only="storage-first")
    assert problem.rooms[0, 0] == pytest.approx(8000 - 500)
    assert said["decided"] == ["appliances of pool mesh already count on their hosts"]
    problem, said = applied(hyperconverged(measured=False), only="storage-first")
    assert problem.rooms[0, 0] == pytest.approx(8000)
    assert "includes storage: nothing is subtracted" in said["decided"][0]


def test_one_vcpu_per_core_is_a_resource_of_its_own():
    made = cases.made(
        {"h": cases.host(10, 100, count=2)},
        {"db": cases.vm("h-1", 10, vcpus=6, count=2), "web": cases.vm("h-1", 10, vcpus=6)},
    )
    problem, said = applied(made, only="one-vcpu-per-core", given=["db*"])
    assert problem.resources[-1] == "cores"
    assert problem.sizes[:, -1].tolist() == [6, 6, 0]
    assert (problem.rooms[:, -1] == 10).all()
    assert problem.broken(np.array([0, 0, 0])) == ["h-1 has 12 of 10 cores"]
    assert problem.broken(np.array([0, 1, 0])) == []
    assert said["decided"] == ["db-1, db-2: 12 vCPUs of 20 physical cores; hyper-threads do not count"]


def test_policies_that_only_say_what_is_there():
    made = cases.made({"h": cases.host()}, {"v": cases.vm("h", 10, vcpus=5)})
    _, said = applied(made, only="peaks", cpu=0.7)
    assert said["decided"] == ["VMs can use 70% of host CPU (--cpu, --demand)"]
    assert applied(made, only="ratio")[1]["decided"] == [
        "0.5 vCPUs a core; the ratio limits nothing without --vcpu-ratio"
    ]
    assert applied(made, only="ratio", vcpu_ratio=4.0)[1]["decided"] == ["0.5 vCPUs a core; the ratio limits"]


def test_by_default_all_but_one_are_on_and_say_what_they_ask():
    made = cases.made({"h": cases.host()}, {"v": cases.vm("h", 10)})
    _, said = apply(cases.of(made), made, {}, [])
    assert [name for name, each in said.items() if not each["on"]] == ["one-vcpu-per-core"]
    assert all(each["asks"] and each["source"] for each in said.values())


@pytest.mark.parametrize(
    ("on", "off", "says"),
    [
        ({"nuna": None}, [], "policy: nuna [unknown-value]\n  allowed: numa, "),
        ({"nuna": None}, [], "did you mean numa?"),
        ({}, ["monster-apart"], "without_policy: monster-apart [unknown-value]"),
        ({"numa": None}, ["numa"], "a policy that is on or off"),
        ({"peaks": ["db"]}, [], "peaks, with nothing after it"),
        ({"one-vcpu-per-core": None}, [], "one-vcpu-per-core=GROUPS"),
        ({"one-vcpu-per-core": ["dbs"]}, [], "did you mean db?"),
        ({"storage-first": ["much"]}, [], "policy: storage-first=much [bad-quantity]"),
        ({"storage-first": ["100%"]}, [], "a percentage above 0 and below 100%"),
        ({"storage-first": ["5%", "6%"]}, [], "say it once"),
    ],
)
def test_what_is_no_policy_gets_one_clear_error(on: dict[str, Any], off: list[str], says: str):
    made = cases.made({"h": cases.host()}, {"db": cases.vm("h", 10)})
    with pytest.raises(ScenarioError) as refused:
        apply(cases.of(made), made, on, off)
    assert says in str(refused.value)
    assert len(refused.value.mistakes) == 1
