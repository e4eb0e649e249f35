"""Demand stays where it was measured: on the hosts that were measured, and with the VMs when hosts change."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.placement.cases import host, made

import hypertwin
from hypertwin.plan.capacity import demand
from hypertwin.scenario import Scenario


def vm(on: str, vcpus: int = 2, memory: int = 4, **more: Any) -> dict[str, Any]:
    """A VM of which nothing was measured."""
    return {"host": on, "vcpus": vcpus, "memory": f"{memory} GiB", "workload": "any", **more}


def usage(**pct: float) -> dict[str, Any]:
    """Hosts of 10 GHz that were measured at one moment."""
    return {name: host(measured={"cpu_usage_pct": each}) for name, each in pct.items()}


def before(scenario: Scenario, **options: Any) -> dict[str, float]:
    """CPU of each host as a plan shows it, in per cent."""
    plan = hypertwin.plan_survive(scenario, **options).to_dict()
    return {each["name"]: each["before_pct"]["cpu"] for each in plan["hosts"]}


def test_a_plan_shows_hosts_as_busy_as_they_were_measured() -> None:
    hosts = usage(a=6, b=11, c=60)
    vms = {"v": vm("a", 8), "w": vm("b", 2), "x": vm("c", 4), "y": vm("c", 4), "z": vm("a", 2)}
    assert before(made(hosts, vms)) == pytest.approx({"a": 6, "b": 11, "c": 60})


def test_what_is_set_of_a_measurement_counts() -> None:
    scenario = made(usage(a=6, b=11), {"v": vm("a", 8), "w": vm("b")})
    found = before(scenario, overrides={"hosts.a.measured.cpu_usage_pct": 75})
    assert found == pytest.approx({"a": 75, "b": 11})


def test_measured_vms_keep_their_demand_and_the_others_share_the_rest() -> None:
    # a used 5 GHz: 2 GHz by v, 20 MHz by its hypervisor for v, 2,980 MHz by w and x, by their 2 and 4 vCPUs
    vms = {"v": vm("a", measured={"cpu_mhz": 2000}), "w": vm("a", 2), "x": vm("a", 4)}
    scenario = made(usage(a=50, b=0), vms)
    found = demand.cpu(scenario, scenario.inventory.clusters[0], scenario.inventory.vms, "p95")
    assert found is not None
    assert found.of_vm == pytest.approx({"v": 2000, "w": 2980 / 3, "x": 2 * 2980 / 3})


def test_vms_whose_host_is_a_guess_take_what_the_cluster_used() -> None:
    vms = {"v": vm("a", 2, host_is_guess=True), "w": vm("b", 6, host_is_guess=True)}
    scenario = made(usage(a=70, b=10), vms)
    found = demand.cpu(scenario, scenario.inventory.clusters[0], scenario.inventory.vms, "p95")
    assert found is not None
    assert found.of_vm == pytest.approx({"v": 2000, "w": 6000})


@pytest.mark.parametrize(
    "change",
    [
        {"hosts.new": host()},  # beside the old ones
        {"hosts.new": host(), "hosts.a.count": 0},  # in place of one
        {"hosts.new": host(), "hosts.a.count": 0, "hosts.b.count": 0},
        {"vms.w.vcpus": 8},
        {"vms.x.count": 0},
    ],
    ids=["more hosts", "a host less", "other hosts", "wider", "a VM less"],
)
def test_demand_stays_with_vms_when_hosts_change(change: dict[str, Any]) -> None:
    vms = {"v": vm("a", 8), "w": vm("b", 2), "x": vm("b", 2)}
    scenario = made(usage(a=40, b=20), vms).with_overrides(change)
    found = demand.cpu(scenario, scenario.inventory.clusters[0], scenario.inventory.vms, "p95")
    assert found is not None
    expected = {"v": 4000.0, "w": 1000.0, "x": 1000.0}
    assert found.of_vm == pytest.approx({each.name: expected[each.name] for each in scenario.inventory.vms})
    assert hypertwin.capacity(scenario)["clusters"]["default"]["cpu_demand_ghz"] == pytest.approx(
        sum(expected[each.name] for each in scenario.inventory.vms) / 1000
    )


def test_hosts_that_the_file_took_away_are_remembered() -> None:
    hosts = {**usage(a=40), "old": {**host(measured={"cpu_usage_pct": 30}), "count": 0}}
    vms = {"v": vm("a", 4), "w": vm("old-1", 4), "x": vm("old-3", 4)}  # of three hosts: two had VMs
    scenario = made(hosts, vms)
    found = demand.cpu(scenario, scenario.inventory.clusters[0], scenario.inventory.vms, "p95")
    assert found is not None
    assert found.of_vm == pytest.approx({"v": 4000, "w": 3000, "x": 3000})


def test_a_sum_of_the_same_moments_is_divided_as_vms_were_measured() -> None:
    series = {"over": "30 d", "cpu_p95_mhz": 0}
    vms = {name: vm("a", 2, measured={**series, "cpu_p95_mhz": mhz}) for name, mhz in (("v", 3000), ("w", 1000))}
    clusters = {"default": {"measured": {"over": "30 d", "cpu_p95_mhz": 2000}}}
    scenario = made(usage(a=40), vms, clusters=clusters)
    found = demand.cpu(scenario, scenario.inventory.clusters[0], scenario.inventory.vms, "p95")
    assert found is not None
    assert found.of_vm == pytest.approx({"v": 1500, "w": 500})  # half of their peaks coincided
