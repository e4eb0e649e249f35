"""Demand of machines, from telemetry: which counter is taken, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from hypertwin.ingest import telemetry, telemetry_table
from hypertwin.ingest.demand import measured_demand
from hypertwin.ingest.inventory import Demand, Host, Vm

START = datetime(2026, 1, 1, tzinfo=UTC)
VM = "host/esx1/vm/db"
CLOCK = ("host/esx1", "clock_mhz", [2000.0])
HOST = Host("esx1", 2, 12, 2, 256 << 30, clock_hz=2.5e9)


def reading(*series: tuple[str, str, list[float]], parts: int = 1) -> telemetry.Reading:
    """Series of (entity, metric, values), one value every 20 s, in so many frames."""
    rows = [
        (START + timedelta(seconds=20 * index), entity, metric, value)
        for entity, metric, values in series
        for index, value in enumerate(values)
    ]

    def frames() -> Iterator[pl.DataFrame]:
        for part in range(parts):
            yield telemetry_table.frame(rows[part::parts])

    return telemetry.Reading("test", "test", frames())


@pytest.mark.parametrize(
    ("series", "mhz"),
    [
        pytest.param([(VM, "demand_mhz", [900.0, 1100.0]), (VM, "used_mhz", [1.0])], 1000, id="demand first"),
        pytest.param([(VM, "used_mhz", [300.0, 500.0]), (VM, "used_sum_pct", [9.0]), CLOCK], 400, id="then MHz used"),
        pytest.param(
            [(VM, "used_sum_pct", [100.0]), (VM, "run_sum_pct", [160.0]), (VM, "ready_sum_pct", [40.0]), CLOCK],
            2800,
            id="then time used or waited for",
        ),
        pytest.param(
            [(VM, "run_sum_pct", [50.0]), (VM, "ready_sum_pct", [20.0]), (VM, "costop_sum_pct", [10.0]), CLOCK],
            1600,
            id="time run, where used is not known",
        ),
        pytest.param([(f"{VM}/vcpu/0", "run_sum_pct", [30.0]), (f"{VM}/vcpu/1", "run_sum_pct", [20.0]), CLOCK], 1000),
        pytest.param([("vm/db", "cpu_cores", [1.5]), ("vm/db", "ready_sum_pct", [50.0]), CLOCK], 4000, id="Linux"),
        pytest.param([("guest/db", "guest_cpu_pct", [40.0]), ("guest/db", "vcpus", [4.0]), CLOCK], 3200, id="guest"),
        pytest.param([(VM, "used_sum_pct", [100.0]), ("host/esx2", "clock_mhz", [3000.0])], 3000, id="another clock"),
    ],
)
def test_the_best_counter_is_taken(series: list[tuple[str, str, list[float]]], mhz: float) -> None:
    found = measured_demand([reading(*series, parts=3)])
    assert list(found) == ["db"]
    assert found["db"].cpu_mhz == pytest.approx(mhz)
    assert found["db"].iops is None


def test_clock_and_vcpus_come_from_the_inventory_where_telemetry_has_none() -> None:
    series = [(VM, "used_sum_pct", [100.0, 100.0]), ("guest/web", "guest_cpu_pct", [50.0])]
    vms = [Vm("db", 4, 1 << 30, "esx1"), Vm("web", 2, 1 << 30, "esx1")]
    found = measured_demand([reading(*series)], [HOST], vms)
    assert found["db"] == Demand(2500.0, None, "20 s of used_sum_pct at 2500 MHz")
    assert found["web"].cpu_mhz == pytest.approx(2500)


def test_without_a_clock_nothing_is_said() -> None:
    assert measured_demand([reading((VM, "used_sum_pct", [100.0]), ("host/esx1", "usage_pct", [50.0]))]) == {}


def test_a_machine_that_moved_is_one_machine_and_each_sample_counts_once() -> None:
    series = [(VM, "demand_mhz", [100.0, 100.0, 100.0]), ("host/esx2/vm/db", "demand_mhz", [500.0])]
    assert measured_demand([reading(*series)])["db"].cpu_mhz == pytest.approx(200)


@pytest.mark.parametrize(
    ("series", "iops"),
    [
        ([(VM, "iops", [10.0, 30.0]), (f"{VM}/disk/scsi0:0", "iops", [999.0])], 20),
        ([(f"{VM}/disk/scsi0:0", "iops", [10.0]), (f"{VM}/disk/scsi0:1", "iops", [30.0])], 40),
        ([(f"{VM}/disk/scsi0:0", "iops", [10.0]), ("guest/db/disk/sda", "iops", [11.0])], 10),
        ([(f"{VM}/disk/scsi0:0", "read_iops", [10.0, 20.0]), (f"{VM}/disk/scsi0:0", "write_iops", [5.0])], 20),
    ],
)
def test_iops_are_the_machine_s_or_the_sum_over_its_disks(
    series: list[tuple[str, str, list[float]]], iops: float
) -> None:
    assert measured_demand([reading((VM, "demand_mhz", [1.0]), *series)])["db"].iops == pytest.approx(iops)


def test_several_readings_and_names_with_slashes() -> None:
    path = telemetry.entity("host", "esx1", "vm", "a/b%")
    found = measured_demand([reading((path, "used_mhz", [100.0])), reading((path, "used_mhz", [300.0]))])
    assert found["a/b%"].cpu_mhz == pytest.approx(200)
