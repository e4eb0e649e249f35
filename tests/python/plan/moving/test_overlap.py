"""Overlap of both sides: days from the calendar, hosts to license, and the cost of the source by the user's prices."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.python.plan.refresh.made import cluster, host

import hypertwin
from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving.calendar import Calendar, Needs, Window, dates
from hypertwin.plan.moving.overlap import overlap
from hypertwin.plan.moving.rates import Estimate
from hypertwin.plan.refresh.present import Present

QUICK = {"cache": "off", "duration": 1, "warmup": 1, "replications": 1, "twin": "off"}
PRICES = {
    "hosts": {"present": {"support": "730 EUR/host/year", "purchase": "9000 EUR/host"}},
    "licences": [{"preset": "vmware-cloud-foundation", "price": "365 EUR/core/year"}],
}


def present(made: Any) -> Present:
    loaded = scenario.load(made)
    return Present.of(loaded, loaded.inventory.clusters, Limits(), 0.0)


def hours(low: float, value: float, high: float) -> Estimate:
    return Estimate(low * 3600, value * 3600, high * 3600)


def test_days_are_from_the_first_begin_to_the_end_of_acceptance() -> None:
    """Waves of 4, 5 or 6 hours in windows of 10 from Monday 20:00: one window for two short ones, or two."""
    calendar = Calendar(datetime(2024, 1, 1, 12), (Window.parse("20:00-06:00"),))
    times = dates([Needs("1", hours(4, 5, 6)), Needs("2", hours(4, 5, 6))], calendar)
    begin = times.appointments[0].begin
    assert begin is not None and times.earliest_end is not None and times.latest_end is not None
    found = overlap(times, present(cluster(hosts=2, vms=2)), (), 10, None)
    assert found["days"] is not None
    assert found["days"]["low"] == pytest.approx(10 + 8 / 24)
    assert found["days"]["high"] == pytest.approx(10 + 1 + 6 / 24)
    assert found["acceptance_days"] == [10, 10]
    default = overlap(times, present(cluster(hosts=2, vms=2)), (), None, None)["days"]
    assert default is not None
    assert (default["low"], default["high"]) == pytest.approx((14 + 8 / 24, 28 + 1 + 6 / 24))
    assert default["value"] == pytest.approx(found["days"]["value"] - 10 + 21)


def test_a_first_copy_before_the_window_is_part_of_the_overlap() -> None:
    calendar = Calendar(datetime(2024, 1, 1), (Window.parse("20:00-06:00"),))
    times = dates([Needs("1", hours(1, 1, 1), hours(24, 24, 24))], calendar)
    found = overlap(times, present(cluster(hosts=2, vms=2)), (), 0, None)["days"]
    assert found is not None and found["high"] == pytest.approx(25 / 24)


def test_a_wave_that_fits_no_window_leaves_the_days_unknown() -> None:
    calendar = Calendar(datetime(2024, 1, 1), (Window.parse("20:00-22:00"),))
    for needs in ([Needs("1", hours(3, 4, 5))], []):
        assert overlap(dates(needs, calendar), present(cluster(hosts=2, vms=2)), (), 0, None)["days"] is None


def test_cores_of_both_sides_and_the_cost_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(PRICES))
    target = {"name": "t", "hosts": {"pve": {**host(hypervisor="linux-6.12"), "count": 3}}, "vms": {}, "workloads": {}}
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(target))
    made = cluster(hosts=2, vms=4)
    options = {"to": "proxmox", "prices": tmp_path / "p.yaml", "acceptance": 30, **QUICK}
    found = hypertwin.plan_move(made, target=tmp_path / "t.yaml", **options).to_dict()["overlap"]
    of_host = host()
    cores = of_host["sockets"] * of_host["cores_per_socket"]
    assert found["source"] == {"hosts": 2, "processors": 2 * of_host["sockets"], "cores": 2 * cores}
    assert found["target"]["cores"] == 3 * cores
    licensed = 2 * of_host["sockets"] * max(16, of_host["cores_per_socket"])
    cost, days = found["cost"], found["days"]
    assert cost["per_year"] == 2 * 730 + licensed * 365
    assert cost["amount"]["high"] == pytest.approx(days["high"] * (2 * 2 + licensed))
    assert {line["paid"] for line in cost["lines"]} == {"yearly"}
    assert "Rack space" in cost["unpriced"]
    alone = hypertwin.plan_move(made, reuse_hosts=True, **{**options, "prices": None}).to_dict()["overlap"]
    assert (alone["target"], alone["cost"]) == (None, None)


@pytest.mark.parametrize(
    ("options", "path"),
    [({"prices": "missing.yaml"}, ""), ({"acceptance": -1}, "acceptance"), ({"acceptance": 9999}, "acceptance")],
)
def test_a_bad_option_is_one_error(options: Any, path: str) -> None:
    with pytest.raises(ScenarioError) as error:
        hypertwin.plan_move(cluster(hosts=2, vms=2), to="proxmox", **QUICK, **options)
    assert len(error.value.mistakes) == 1
    assert path in (error.value.mistakes[0].path, "")
