"""The estate of 22 hosts, imported from an export that measured its hosts alone: how full they are, and 50 VMs more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.estate import in_full, rvtools
from tests.estate.agreement import imported_scenario
from tests.estate.truth import HARDWARE, Estate
from tests.python.plan.placement.checker import World, wrong_certificate

import hypertwin
from hypertwin.plan.placement import restart_exact
from hypertwin.scenario import Scenario

OFF = 2.0
"""Points that the usage of a host may be off what was measured."""


@pytest.fixture(scope="module", params=[HARDWARE, HARDWARE[1:]], ids=["two types of host", "one type"])
def estate(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Estate, Scenario]:
    """The truth, and what an import makes of its export."""
    truth = in_full(hardware=request.param)
    folder = tmp_path_factory.mktemp("estate")
    return truth, imported_scenario(rvtools.write(truth, folder / "RVTools_export_all.xlsx"))


def test_hosts_are_as_busy_as_they_were_measured_in_plan_capacity_and_a_run(estate: tuple[Estate, Scenario]) -> None:
    truth, scenario = estate
    measured = {host.name: host.cpu_pct for host in truth.hosts}
    plan = hypertwin.plan_survive(scenario).to_dict()
    assert {each["name"]: each["before_pct"]["cpu"] for each in plan["hosts"]} == pytest.approx(measured, abs=OFF)
    run = hypertwin.simulate(scenario, duration=4, warmup=1, replications=1)
    used = {name: host["usage_pct"] for name, host in run.reports[0]["hosts"].items()}
    assert used == pytest.approx(measured, abs=OFF)
    (found,) = hypertwin.capacity(scenario)["clusters"].values()
    mhz = {host.name: host.mhz for host in truth.hosts}
    whole = sum((measured[name] or 0) * mhz[name] for name in mhz) / sum(mhz.values())
    assert found["cpu_usage_pct"] == pytest.approx(whole, abs=OFF)


def test_fifty_vms_have_hosts_and_what_restarts_has_too(estate: tuple[Estate, Scenario]) -> None:
    truth, scenario = estate
    plan = hypertwin.plan_place(scenario, vm="50*4x16GiB")
    found: Any = plan.to_dict()
    # of two types of host there is room for 48 to 50: 99.8 % of what is left without the largest
    placed = 50 - len(found["not_placed"])
    assert placed == 50 if len({host.hardware for host in truth.hosts}) == 1 else placed >= 48
    assert found["feasible"] == (placed == 50)
    assert plan.moved is not None
    after = Scenario.from_yaml(plan.moved())
    world = World.of(after, after.inventory.clusters[0].name)
    assert len(world.at) == 654 + placed
    assert {vm: host for vm, host in world.at.items() if vm in scenario.inventory.vm} == {
        vm.name: vm.host for vm in scenario.inventory.vms
    }
    assert not world.over(world.at, world.room, list(world.room))
    assert set(found["certificate"]) == set(world.room)
    for certificate in found["certificate"].values():
        assert not certificate["cannot_restart"]
        assert not list(wrong_certificate(world, world.at, certificate))


def test_an_estate_of_22_hosts_is_judged_without_a_search(
    estate: tuple[Estate, Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    def searched(*_: object) -> None:
        raise AssertionError("an integer programme was solved")

    monkeypatch.setattr(restart_exact, "most", searched)
    (found,) = hypertwin.capacity(estate[1])["clusters"].values()
    assert found["failover"]["survives"] is True
    assert found["ha"]["host_failures_tolerated"] >= 1
