"""The document of a plan: figures by hand, and only what JSON can express."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hypertwin import scenario as scenarios
from hypertwin.documents.placement import Plan
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.placement import problem as problems
from hypertwin.plan.placement.answer import Asked, Extras, answer
from hypertwin.plan.placement.failures import failures_of
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.migrations import Migrations
from hypertwin.plan.placement.steps import Order, order
from hypertwin.plan.placement.survive import survive

TEXT = """
name: made
hosts:
  esx:
    {count: 2, sockets: 1, cores_per_socket: 10, clock: 2 GHz, memory_per_node: 100 GiB, hypervisor_memory: 0 B,
     hypervisor: esxi-8.0}
vms:
  a: {vcpus: 8, memory: 40 GiB, workload: any, host: esx-1, measured: {cpu_mhz: 4000, cpu_p95_mhz: 8000, over: 1 d}}
  b: {vcpus: 6, memory: 30 GiB, workload: any, host: esx-1, measured: {cpu_mhz: 1000, cpu_p95_mhz: 4000, over: 1 d}}
  c: {vcpus: 2, memory: 10 GiB, workload: any, host: esx-2, measured: {cpu_mhz: 500, cpu_p95_mhz: 800, over: 1 d}}
workloads:
  any: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 1 ms}}
"""


def found_at(place: Any) -> Found:
    return Found(place, "moves", 1.0, 1.0, proven=True, binding_constraints=("memory",))


def asked(command: Any = "balance", **limits: Any) -> Asked:
    scenario = scenarios.loads(TEXT)
    given = Limits(**limits)
    return Asked(command, scenario, problems.problem(scenario, scenario.inventory.clusters[0], given), given)


def ordered(of: Asked, after: Any) -> Order:
    return order(of.problem, Migrations(of.problem, of.scenario), of.problem.at, np.array(after))


def checked(plan: Plan) -> Plan:
    """It has the keys of its type, and is JSON."""
    assert set(plan) == set(Plan.__annotations__)
    json.dumps(plan, allow_nan=False)
    return plan


def test_hosts_before_and_after():
    of = asked(vcpu_ratio=1.2)
    plan = checked(answer(of, found_at(np.array([0, 1, 1])), ordered(of, [0, 1, 1]), {}))
    assert plan["feasible"] and plan["proven"]
    assert plan["objective"] == {"name": "moves", "unit": "moves", "value": 1.0}
    one, two = plan["hosts"]
    assert (one["vms_before"], one["vms_after"], two["vms_before"], two["vms_after"]) == (2, 1, 1, 2)
    assert one["before_pct"] == pytest.approx({"cpu": 60, "memory": 70, "vcpus": 140})
    assert one["after_pct"] == pytest.approx({"cpu": 40, "memory": 40, "vcpus": 80})
    assert one["limit_pct"] == pytest.approx({"cpu": 80, "memory": 90, "vcpus": 120})
    assert (one["vcpu_per_core_before"], two["vcpu_per_core_after"]) == (1.4, 0.8)
    assert [move["vm"] for move in plan["moves"]] == ["b"]
    assert plan["hosts_used"] == 2
    ratio = plan["ratio"]
    assert (ratio["before"], ratio["after"], ratio["cluster"]) == pytest.approx((1.4, 0.8, 0.8))
    assert ratio["says"].startswith("within the limit: at most 0.8 of 1.2 vCPUs per core")


def test_the_demand_that_counts_and_the_others():
    plan = checked(answer(asked(), None, None, {}))
    demand = plan["demand"]
    assert demand["asked"] == "p95"
    assert demand["cpu"].startswith("p95 of each VM over 1 d")
    # the mean of a and b is 5,000 of 16,000 MHz that may be used, memory 70 of 90 GiB
    assert demand["others"]["mean"]["peak_pct"] == pytest.approx(100 * 70 / 90)
    assert demand["others"]["peak"] == {"text": "peak not measured", "peak_host": None, "peak_pct": None}
    assert plan["objective"] == {"name": None, "unit": None, "value": None}
    assert plan["feasible"] and plan["bound"] is None


def test_the_fullest_of_several_is_in_per_cent():
    of = asked()
    found = Found(of.problem.at, "min-peak", 0.8, 0.0, proven=False)
    plan = checked(answer(of, found, ordered(of, of.problem.at), {}))
    assert (plan["objective"]["value"], plan["bound"], plan["gap_pct"]) == (80, 0, None)


def test_a_knot_is_no_plan_and_named():
    of = asked()
    knot = Order([], [], of.problem.at, knot=("a", "b"))
    plan = checked(answer(of, found_at(of.problem.at), knot, {}))
    assert not plan["feasible"]
    assert "a, b wait for each other" in plan["notes"][-1]


def test_without_a_place_hosts_are_as_they_are():
    of = asked()
    found = Found(None, "moves", None, None, proven=True, binding_constraints=("memory",), conflict=("rule x",))
    plan = checked(answer(of, found, None, {}, extras=Extras(binding_constraints=("cpu",), notes=("seen", "seen"))))
    assert not plan["feasible"]
    assert plan["conflict"] == ["rule x"]
    assert plan["binding_constraints"] == ["memory", "cpu"]
    assert plan["notes"] == ["seen"]
    assert all(each["vms_before"] == each["vms_after"] for each in plan["hosts"])


def test_certificates_decide_where_nothing_was_sought():
    of = asked("survive")
    failures = failures_of(of.scenario, of.problem, 1)
    found = survive(of.problem, of.scenario, of.problem.at, failures)
    plan = checked(answer(of, None, None, found.certificates))
    assert set(plan["certificate"]) == {"esx-1", "esx-2"}
    assert (plan["feasible"], plan["proven"]) == (True, True)
    full = asked("survive", memory=0.75)
    found = survive(full.problem, full.scenario, full.problem.at, failures)
    plan = checked(answer(full, None, None, found.certificates))
    assert not plan["feasible"]
    assert [each["vm"] for each in plan["certificate"]["esx-1"]["cannot_restart"]] == ["b"]


def test_a_host_without_any_room_is_still_json():
    of = asked()
    rooms = of.problem.rooms.copy()
    rooms[0] = 0
    bare = replace(of, problem=replace(of.problem, rooms=rooms, failover=rooms))
    found = survive(bare.problem, bare.scenario, bare.problem.at, failures_of(bare.scenario, bare.problem, 1))
    checked(answer(bare, None, None, found.certificates))
