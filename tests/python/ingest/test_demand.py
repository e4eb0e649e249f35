"""What telemetry says of an inventory: which counter is taken, percentiles, sums at the same moments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from hypertwin.ingest import figures, telemetry, telemetry_table
from hypertwin.ingest.demand import with_measured
from hypertwin.ingest.inventory import Cluster, Demand, Host, Inventory, Vm

START = datetime(2026, 1, 1, tzinfo=UTC)
VM = "host/esx1/vm/db"
CLOCK = ("host/esx1", "clock_mhz", [2000.0])
HOST = Host("esx1", 2, 12, 2, 256 << 30, clock_hz=2.5e9)
BARE = replace(HOST, clock_hz=None)
DB = Vm("db", 4, 1 << 30, "esx1")
GIB = 2**30

Series = tuple[str, str, Sequence[float | None]]


def reading(*series: Series, parts: int = 1, every_s: float = 20, after_s: float = 0) -> telemetry.Reading:
    """Series of (entity, metric, values), a value at a time; None is a sample that is missing."""
    rows = [
        (START + timedelta(seconds=after_s + every_s * index), entity, metric, value)
        for entity, metric, values in series
        for index, value in enumerate(values)
        if value is not None
    ]

    def frames() -> Iterator[pl.DataFrame]:
        for part in range(parts):
            yield telemetry_table.frame(rows[part::parts])

    return telemetry.Reading("test", "test", frames())


def inventory(*vms: Vm, hosts: Sequence[Host] = (HOST,)) -> Inventory:
    return Inventory("export.xlsx", "test", hosts, vms)


def demand_of(*readings: telemetry.Reading, vm: Vm = DB, host: Host = BARE) -> Demand:
    (found,) = with_measured(inventory(vm, hosts=(host,)), readings).vms
    assert found.demand is not None
    return found.demand


def p95(values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(0.95 * len(values) - 1e-9) - 1]


# the counter


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
        pytest.param(
            [(VM, "used_sum_pct", [80.0]), (VM, "ready_sum_pct", [708.0]), (VM, "limited_sum_pct", [704.0]), CLOCK],
            1680,
            id="not what a limit stopped",
        ),
        pytest.param([("vm/db", "cpu_cores", [1.5]), ("vm/db", "ready_sum_pct", [50.0]), CLOCK], 4000, id="Linux"),
        pytest.param([("guest/db", "guest_cpu_pct", [40.0]), ("guest/db", "vcpus", [4.0]), CLOCK], 3200, id="guest"),
        pytest.param([("guest/db", "guest_cpu_pct", [40.0]), (VM, "used_mhz", [7.0]), CLOCK], 7, id="the host's word"),
        pytest.param([(VM, "used_sum_pct", [100.0]), ("host/esx2", "clock_mhz", [3000.0])], 3000, id="another clock"),
    ],
)
def test_the_best_counter_is_taken(series: list[Series], mhz: float) -> None:
    found = demand_of(reading(*series, parts=3))
    assert found.cpu_mhz == pytest.approx(mhz)
    assert found.iops is None


def test_clock_and_vcpus_come_from_the_inventory_where_telemetry_has_none() -> None:
    series = [(VM, "used_sum_pct", [100.0, 100.0]), ("guest/web", "guest_cpu_pct", [50.0])]
    web = Vm("web", 2, 1 << 30, "esx1")
    db, web = with_measured(inventory(DB, web), [reading(*series)]).vms
    assert db.demand == Demand(
        2500.0,
        over="20 s of used_sum_pct at 2500 MHz",
        cpu_p95_mhz=2500.0,
        cpu_peak_mhz=2500.0,
        over_s=20.0,
        counter="used_sum_pct at 2500 MHz, samples of 20 s",
        at="2026-01-01T00:00:20Z",
    )
    # one moment has neither a length nor percentiles
    assert web.demand == Demand(
        2500.0, over="guest_cpu_pct at 2500 MHz", counter="guest_cpu_pct at 2500 MHz", at="2026-01-01T00:00:00Z"
    )


def test_a_sample_is_not_above_the_limit_of_its_vm() -> None:
    series = [(VM, "run_sum_pct", [50.0, 100.0]), (VM, "ready_sum_pct", [30.0, 100.0]), CLOCK]
    capped = replace(DB, limit_mhz=2000.0)
    found = demand_of(reading(*series), vm=capped)
    assert (found.cpu_mhz, found.cpu_p95_mhz, found.cpu_peak_mhz) == (1800, 2000, 2000)
    assert demand_of(reading((VM, "demand_mhz", [9000.0])), vm=capped).cpu_mhz == 2000


def test_without_a_clock_nothing_is_said() -> None:
    series = [(VM, "used_sum_pct", [100.0]), ("host/esx1", "usage_pct", [50.0])]
    (found,) = with_measured(inventory(DB, hosts=(BARE,)), [reading(*series)]).vms
    assert found.demand is None


def test_a_machine_that_moved_is_one_machine_and_each_sample_counts_once() -> None:
    series: list[Series] = [(VM, "demand_mhz", [100.0, 100.0, 100.0]), ("host/esx2/vm/db", "demand_mhz", [500.0])]
    assert demand_of(reading(*series)).cpu_mhz == pytest.approx(200)


def test_what_is_there_twice_counts_once() -> None:
    series: list[Series] = [(VM, "run_sum_pct", [50.0, 70.0]), (VM, "ready_sum_pct", [10.0, 10.0]), CLOCK]
    found = demand_of(reading(*series), reading(*series))
    assert (found.cpu_mhz, found.cpu_peak_mhz) == (1400, 1600)


@pytest.mark.parametrize(
    ("series", "iops"),
    [
        ([(VM, "iops", [10.0, 30.0]), (f"{VM}/disk/scsi0:0", "iops", [999.0])], 20),
        ([(f"{VM}/disk/scsi0:0", "iops", [10.0]), (f"{VM}/disk/scsi0:1", "iops", [30.0])], 40),
        ([(f"{VM}/disk/scsi0:0", "iops", [10.0]), ("guest/db/disk/sda", "iops", [11.0])], 10),
        ([(f"{VM}/disk/scsi0:0", "read_iops", [10.0, 20.0]), (f"{VM}/disk/scsi0:0", "write_iops", [5.0])], 20),
    ],
)
def test_iops_are_the_machine_s_or_the_sum_over_its_disks(series: list[Series], iops: float) -> None:
    assert demand_of(reading((VM, "demand_mhz", [1.0]), *series)).iops == pytest.approx(iops)


# percentiles


def test_percentiles_are_of_samples_and_of_counters_at_the_same_moment() -> None:
    # 100 samples: ready is high when the machine runs little, so the parts' percentiles do not add up
    run = [float(value) for value in range(100)]
    ready = [100.0 - value / 2 for value in run]
    found = demand_of(reading((VM, "run_sum_pct", run), (VM, "ready_sum_pct", ready), CLOCK, parts=7))
    together = [(a + b) * 20 for a, b in zip(run, ready, strict=True)]
    assert found.cpu_mhz == pytest.approx(sum(together) / 100)
    assert found.cpu_p95_mhz == pytest.approx(p95(together)) == 20 * (100 + 94 / 2)
    assert found.cpu_peak_mhz == pytest.approx(max(together))
    assert found.over_s == 99 * 20


def test_a_moment_without_the_counter_that_counts_is_no_sample() -> None:
    found = demand_of(reading((VM, "run_sum_pct", [50.0, None, 50.0]), (VM, "ready_sum_pct", [10.0] * 3), CLOCK))
    assert found.cpu_mhz == pytest.approx(1200)


def test_samples_without_a_clock_have_percentiles_and_no_time() -> None:
    rows = [(None, VM, "run_sum_pct", float(value)) for value in range(1, 21)]
    rows += [(None, VM, "ready_sum_pct", 2.0 * value) for value in range(1, 21)]
    found = demand_of(telemetry.Reading("x", "x", iter([telemetry_table.frame(rows)])), host=HOST)
    assert (found.cpu_mhz, found.cpu_p95_mhz, found.cpu_peak_mhz) == (787.5, 1425, 1500)
    assert (found.over_s, found.at) == (None, None)


def test_memory_and_ready_of_a_machine() -> None:
    series: list[Series] = [
        (VM, "memory_used_bytes", [GIB, 3 * GIB]),
        (VM, "memory_active_bytes", [GIB, GIB / 2]),
        (VM, "ready_sum_pct", [8.0, 16.0]),
        # an hour of ballooning is not lost in the mean of a day
        (VM, "ballooned_bytes", [0.0] * 90 + [GIB] * 10),
        (VM, "swapped_bytes", [0.0] * 99 + [GIB]),
        ("guest/db", "memory_used_bytes", [9e9]),
        ("guest/db", "swapped_bytes", [9e9]),
    ]
    (found,) = with_measured(inventory(DB), [reading(*series)]).vms
    assert (found.memory_consumed_bytes, found.memory_active_bytes) == (2 * GIB, 3 * GIB // 4)
    assert found.ready_pct == pytest.approx(3)
    assert (found.ballooned_bytes, found.swapped_bytes) == (GIB, 0)
    (starved,) = with_measured(inventory(DB), [reading((VM, "ready_sum_pct", [5000.0] * 2))]).vms
    assert starved.ready_pct == 100


def test_what_telemetry_does_not_have_stays_as_the_source_says_it() -> None:
    known = replace(DB, demand=Demand(7.0), memory_consumed_bytes=5, ready_pct=1.5)
    host = replace(HOST, cpu_usage_pct=33.0, memory_usage_pct=44.0)
    got = with_measured(inventory(known, hosts=(host,)), [reading((VM, "memory_active_bytes", [3.0]))])
    assert got.vms == (replace(known, memory_active_bytes=3),)
    assert got.hosts == (host,)


# hosts


def test_usage_and_memory_of_a_host() -> None:
    usage = [float(value) for value in range(1, 101)]
    series: list[Series] = [
        ("host/ESX1.example.com", "usage_pct", usage),
        ("host/ESX1.example.com", "utilization_pct", [99.0] * 100),
        ("host/ESX1.example.com", "memory_bytes", [100.0 * GIB] * 2),
        ("host/ESX1.example.com", "memory_used_bytes", [90.0 * GIB, 70.0 * GIB]),
        ("host/ESX1.example.com", "ballooned_bytes", [4.0 * GIB] * 2),
        ("host/ESX1.example.com", "swapped_bytes", [2.0 * GIB] * 2),
    ]
    (host,) = with_measured(inventory(), [reading(*series, every_s=5)]).hosts
    assert (host.cpu_usage_pct, host.cpu_p95_pct, host.cpu_peak_pct) == (50.5, 95, 100)
    assert (host.ballooned_bytes, host.swapped_bytes, host.memory_usage_pct) == (4 * GIB, 2 * GIB, 80)
    assert (host.over_s, host.at, host.counter) == (495, "2026-01-01T00:08:15Z", "usage_pct, samples of 5 s")


def test_a_host_of_linux_is_busy_by_its_threads_and_its_swap_is_its_own() -> None:
    series: list[Series] = [
        ("host/esx1", "utilization_pct", [20.0, 60.0]),
        ("host/esx1", "memory_free_bytes", [1.0]),
        ("host/esx1", "swapped_bytes", [9e9, 9e9]),
    ]
    got = with_measured(inventory(), [reading(*series)])
    (host,) = got.hosts
    assert (host.cpu_usage_pct, host.cpu_peak_pct) == (70, 100)
    assert (host.memory_usage_pct, host.swapped_bytes) == (None, None)
    assert any("logical CPUs" in each.text for each in got.assumptions)


# names


def test_names_are_compared_without_case_and_of_two_alike_that_on_the_same_host_is_meant() -> None:
    hosts = (HOST, replace(HOST, name="esx2.example.com"))
    vms = (Vm("App", 2, GIB, "esx1"), Vm("web", 2, GIB, "esx1"), Vm("web", 2, GIB, "esx2.example.com"))
    series: list[Series] = [
        ("vm/APP", "used_mhz", [100.0]),
        ("host/ESX2/vm/WEB", "used_mhz", [300.0]),
        ("vm/web", "used_mhz", [999.0]),
        ("guest/app.example.com", "iops", [5.0]),
        ("vm/gone", "used_mhz", [1.0]),
    ]
    got = with_measured(inventory(*vms, hosts=hosts), [reading(*series)])
    assert [vm.demand.cpu_mhz if vm.demand else None for vm in got.vms] == [100, None, 300]
    assert got.vms[0].demand and got.vms[0].demand.iops == 5
    said = {each.subject: each.text for each in got.assumptions}
    assert "1 of 3 VMs" in said
    assert said["2 VMs of the telemetry"] == ("left out: not in the inventory, or not unique there by name: gone, web")


def test_several_readings_and_names_with_slashes() -> None:
    path = telemetry.entity("host", "esx1", "vm", "a/b%")
    readings = [reading((path, "used_mhz", [100.0])), reading((path, "used_mhz", [300.0]), after_s=20)]
    assert demand_of(*readings, vm=replace(DB, name="a/b%")).cpu_mhz == pytest.approx(200)


def test_demand_of_telemetry_replaces_that_of_the_source() -> None:
    vms = (replace(DB, demand=Demand(2000.0)), replace(DB, name="web", demand=Demand(2000.0)))
    off = replace(DB, name="off", powered_on=False)
    got = with_measured(inventory(*vms, off), [reading((VM, "used_mhz", [500.0]))])
    assert [vm.demand.cpu_mhz for vm in got.vms if vm.demand] == [500, 2000]
    assert [each.subject for each in got.assumptions if "under this name" in each.text] == ["1 of 2 VMs"]


def test_values_that_cannot_be_are_left_out() -> None:
    series: list[Series] = [
        (VM, "run_sum_pct", [1e308, 50.0]),
        (VM, "memory_used_bytes", [1e308, 1e308, 7.0]),
        (VM, "memory_active_bytes", [1e308, 1e308]),
        (VM, "iops", [1e308, 3.0]),
        ("host/esx1", "usage_pct", [1e308, 1e308]),
        CLOCK,
    ]
    got = with_measured(inventory(DB), [reading(*series)])
    (vm,), (host,) = got.vms, got.hosts
    assert vm.demand is not None
    assert (vm.demand.cpu_mhz, vm.demand.iops, vm.memory_consumed_bytes) == (1000, 3, 7)
    assert (vm.memory_active_bytes, host.cpu_usage_pct) == (None, None)


def test_telemetry_of_nothing_that_is_known() -> None:
    got = with_measured(inventory(DB), [reading(("benchmark/oltp", "throughput_per_s", [1.0]))])
    assert got.vms == (DB,)
    assert got.clusters == ()


# sums


def cluster(*vms: Vm, hosts: Sequence[Host] = (), facts: Sequence[Cluster] = ()) -> Inventory:
    here = tuple(replace(host, cluster="prod", datacenter="dc1") for host in hosts or (HOST,))
    return Inventory("export.xlsx", "test", here, vms, clusters=facts)


def two(a: Sequence[float | None], b: Sequence[float | None], metric: str = "used_mhz") -> list[Series]:
    return [("vm/a", metric, a), ("vm/b", metric, b)]


A, B = Vm("a", 2, GIB, "esx1"), Vm("b", 2, GIB, "esx1")
QUIET = [100.0] * 90


@pytest.mark.parametrize(("together", "high", "peak"), [(True, 2000, 2000), (False, 1100, 1100)])
def test_peaks_that_do_not_coincide_do_not_add_up(together: bool, high: float, peak: float) -> None:
    busy = [1000.0] * 10
    a = busy + QUIET
    b = busy + QUIET if together else QUIET + busy
    got = with_measured(cluster(A, B), [reading(*two(a, b), *two(a, b, "memory_used_bytes"), every_s=300)])
    (found,) = got.clusters
    own = [vm.demand for vm in got.vms]
    assert sum(demand.cpu_p95_mhz or 0 for demand in own if demand) == 2000
    assert (found.name, found.datacenter) == ("prod", "dc1")
    assert found.cpu_mhz == pytest.approx(2 * (10 * 1000 + 90 * 100) / 100)
    assert (found.cpu_p95_mhz, found.cpu_peak_mhz) == (high, peak)
    assert (found.memory_consumed_bytes, found.memory_consumed_peak_bytes) == (380, peak)
    assert found.over_s == 99 * 300
    assert found.at == "2026-01-01T08:15:00Z"
    assert found.counter == "sum over 2 of 2 VMs, every 300 s"


def test_machines_that_were_sampled_at_other_times_and_intervals_are_aligned() -> None:
    # a every 20 s from the start; b every 60 s, 7 s later: the sum is of means of 60 s, over the time of both
    a = [float(100 * ((index - 1) // 3 % 2)) for index in range(60)]
    b = [10.0 + index for index in range(20)]
    readings = [reading(("vm/a", "used_mhz", a)), reading(("vm/b", "used_mhz", b), every_s=60, after_s=7)]
    (found,) = with_measured(cluster(A, B), readings).clusters
    assert found.counter == "sum over 2 of 2 VMs, every 60 s"
    assert (found.over_s, found.at) == (19 * 60, "2026-01-01T00:19:07Z")
    # a has one sample of 20 s in the first interval, so that the interval counts for the mean of 20 and 60 s
    together = [110.0] + [100.0 * ((moment - 1) % 2) + b[moment] for moment in range(1, 20)]
    assert found.cpu_mhz == pytest.approx((40 * together[0] + 60 * sum(together[1:])) / (40 + 60 * 19))
    # 19 of 19 2/3 intervals are less than 95 % of the time
    assert (found.cpu_p95_mhz, found.cpu_peak_mhz) == (max(together), max(together))


def test_a_sample_that_comes_a_little_late_is_of_its_interval() -> None:
    rows = [
        (START + timedelta(seconds=20 * index + late * (index % 2)), f"vm/{name}", "used_mhz", 100.0 * (index % 2))
        for name, late in (("a", 0), ("b", 1))
        for index in range(60)
    ]
    (found,) = with_measured(cluster(A, B), [telemetry.Reading("x", "x", iter([telemetry_table.frame(rows)]))]).clusters
    assert (found.cpu_mhz, found.cpu_p95_mhz, found.cpu_peak_mhz) == (100, 200, 200)


def _rollup_and_real_time(metric: str, before: float, after: float) -> Iterator[tuple[datetime, str, str, float]]:
    """12 hours of samples of 300 s, then an hour of samples of 20 s."""
    for name in ("a", "b"):
        for index in range(144):
            yield START + timedelta(seconds=300 * (index + 1)), f"vm/{name}", metric, before
        for index in range(180):
            yield START + timedelta(hours=12, seconds=20 * (index + 1)), f"vm/{name}", metric, after


@pytest.mark.parametrize("stated", [True, False])
def test_a_sample_counts_by_the_time_that_it_stands_for(stated: bool) -> None:
    rows = [
        *_rollup_and_real_time("used_mhz", 1000.0, 4000.0),
        *_rollup_and_real_time("ready_sum_pct", 0.0, 40.0),
        *(_rollup_and_real_time("interval_s", 300.0, 20.0) if stated else ()),
    ]
    got = with_measured(cluster(A, B), [telemetry.Reading("x", "x", iter([telemetry_table.frame(rows)]))])
    demand, (found,) = got.vms[0].demand, got.clusters
    assert demand is not None
    mean = (12 * 1000 + 4000) / 13
    assert (demand.cpu_mhz, found.cpu_mhz) == pytest.approx((mean, 2 * mean), rel=1e-4)
    assert (demand.cpu_p95_mhz, demand.cpu_peak_mhz, found.cpu_p95_mhz) == (4000, 4000, 8000)
    assert found.counter == "sum over 2 of 2 VMs, every 300 s"
    assert demand.counter == "used_mhz, samples of 20 to 300 s"
    if stated:
        assert got.vms[0].ready_pct == pytest.approx(40 / 13 / 2)


def test_a_minute_of_short_samples_is_a_minute_of_an_hour() -> None:
    """Twelve samples of 5 s at 90 %, then 59 of a minute at 10 %."""
    vms = ("host/esx1/vm/a", "host/esx1/vm/b")
    readings = [
        reading(
            *((vm, "used_mhz", [80.0 * share] * many) for vm in vms),
            ("host/esx1", "usage_pct", [float(share)] * many),
            ("host/esx1", "interval_s", [every_s] * many),
            every_s=every_s,
            after_s=after_s,
        )
        for share, many, every_s, after_s in ((90, 12, 5.0, 5.0), (10, 59, 60.0, 120.0))
    ]
    got = with_measured(cluster(A, B), readings)
    (host,), (found,), demand = got.hosts, got.clusters, got.vms[0].demand
    share = (90 + 59 * 10) / 60
    assert demand is not None
    assert (host.cpu_usage_pct, demand.cpu_mhz, found.cpu_mhz) == pytest.approx((share, 80 * share, 160 * share), 1e-3)
    assert (host.cpu_p95_pct, demand.cpu_p95_mhz, found.cpu_p95_mhz) == (10, 800, 1600)


def test_only_the_time_that_all_cover_counts() -> None:
    a = [10_000.0] * 20 + [100.0] * 80
    b = [5.0] * 80
    readings = [reading(("vm/a", "used_mhz", a)), reading(("vm/b", "used_mhz", b), after_s=20 * 20)]
    (found,) = with_measured(cluster(A, B), readings).clusters
    assert (found.cpu_mhz, found.cpu_peak_mhz, found.over_s) == (105, 105, 79 * 20)


def test_a_value_is_held_for_one_interval_and_no_longer() -> None:
    vms = [Vm(f"v{index}", 1, GIB, "esx1") for index in range(20)]
    series: list[Series] = [(f"vm/v{index}", "used_mhz", [10.0] * 50) for index in range(19)]
    gaps: list[float | None] = [100.0] * 50
    gaps[10] = None  # one sample: the value before is held
    gaps[20:30] = [None] * 10  # ten: it is off
    got = with_measured(cluster(*vms), [reading(*series, ("vm/v19", "used_mhz", gaps))])
    (found,) = got.clusters
    assert found.cpu_peak_mhz == 290
    assert found.cpu_mhz == pytest.approx(190 + 100 * 41 / 50)


def test_a_moment_at_which_many_are_missing_does_not_count() -> None:
    values: list[float | None] = [100.0] * 50
    values[20:30] = [None] * 10
    (found,) = with_measured(cluster(A, B), [reading(*two(values, [10.0] * 50))]).clusters
    assert (found.cpu_mhz, found.cpu_p95_mhz) == (110, 110)


def test_a_sum_over_a_part_of_a_cluster_is_not_its_demand() -> None:
    wide, off = Vm("wide", 8, GIB, "esx1"), Vm("off", 64, GIB, "esx1", powered_on=False)
    got = with_measured(cluster(A, B, wide, off), [reading(*two([1.0] * 9, [1.0] * 9))])
    assert got.clusters == ()
    assert any(each.subject == "cluster prod" and "no sum" in each.text for each in got.assumptions)
    # 36 of 40 vCPUs are enough
    most = [Vm(f"v{index}", 4, GIB, "esx1") for index in range(10)]
    series: list[Series] = [(f"vm/v{index}", "used_mhz", [1.0] * 9) for index in range(9)]
    (found,) = with_measured(cluster(*most), [reading(*series)]).clusters
    assert (found.cpu_mhz, found.counter) == (9, "sum over 9 of 10 VMs, every 20 s")


def test_a_machine_that_was_measured_for_a_short_time_is_not_in_the_sum() -> None:
    vms = [Vm(f"v{index}", 1, GIB, "esx1") for index in range(20)]
    series: list[Series] = [(f"vm/v{index}", "used_mhz", [10.0] * 50) for index in range(19)]
    got = with_measured(cluster(*vms), [reading(*series, ("vm/v19", "used_mhz", [10.0] * 20))])
    (found,) = got.clusters
    assert (found.cpu_mhz, found.over_s) == (190, 49 * 20)
    assert found.counter == "sum over 19 of 20 VMs, every 20 s"


def test_no_time_in_common_is_no_sum() -> None:
    readings = [reading(("vm/a", "used_mhz", [1.0] * 9)), reading(("vm/b", "used_mhz", [1.0] * 9), after_s=86_400)]
    assert with_measured(cluster(A, B), readings).clusters == ()


def test_one_moment_is_no_sum() -> None:
    assert with_measured(cluster(A, B), [reading(*two([1.0], [1.0]))]).clusters == ()


def test_clusters_are_apart_and_known_facts_stay() -> None:
    hosts = (
        replace(HOST, cluster="prod", datacenter="dc1"),
        replace(HOST, name="esx2", cluster="Prod", datacenter="dc2"),
        replace(HOST, name="esx3"),
    )
    vms = (A, replace(B, host="ESX2"), Vm("c", 2, GIB, "esx3"), Vm("d", 2, GIB, None, "test"))
    facts = (Cluster("PROD", "DC2", ha=True), Cluster("empty"))
    series = [*two([1.0] * 9, [10.0] * 9), ("vm/c", "used_mhz", [100.0] * 9), ("vm/d", "used_mhz", [1000.0] * 9)]
    got = with_measured(Inventory("x", "x", hosts, vms, clusters=facts), [reading(*series)])
    assert {(each.name, each.datacenter): each.cpu_mhz for each in got.clusters} == {
        ("PROD", "DC2"): 10,
        ("empty", None): None,
        ("prod", "dc1"): 1,
        ("", None): 100,
        ("test", None): 1000,
    }
    assert got.clusters[0].ha is True


def test_a_cluster_is_one_however_its_machines_say_it() -> None:
    vms = (
        replace(A, cluster="PROD"),
        replace(B, host=None, cluster="prod"),  # no host, so no datacenter
        Vm("c", 2, GIB, "gone", "Prod", "DC1"),
    )
    series = [*two([1.0] * 9, [10.0] * 9), ("vm/c", "used_mhz", [100.0] * 9)]
    (found,) = with_measured(cluster(*vms), [reading(*series)]).clusters
    assert (found.name, found.datacenter, found.cpu_mhz) == ("PROD", "dc1", 111)


def test_a_host_on_its_own_is_a_cluster_where_the_source_knows_clusters() -> None:
    bare = Inventory("x", "x", (HOST,), (A, B), standalone_hosts=True)
    (found,) = with_measured(bare, [reading(*two([1.0] * 9, [10.0] * 9))]).clusters
    assert (found.name, found.cpu_mhz) == ("esx1", 11)


def test_a_host_without_a_counter_has_the_sum_over_its_machines() -> None:
    a, b = [6000.0, 12000.0] * 10, [12000.0, 6000.0] * 10
    (host,) = with_measured(cluster(A, B), [reading(*two(a, b))]).hosts
    assert (host.cpu_usage_pct, host.cpu_p95_pct, host.cpu_peak_pct) == (30, 30, 30)  # of 24 cores at 2.5 GHz
    assert host.counter == "sum over 2 of 2 VMs, every 20 s"
    # not of a part of them, and not where it has a counter, here or in the inventory
    (host,) = with_measured(cluster(A, B), [reading(("vm/a", "used_mhz", a))]).hosts
    assert host.cpu_usage_pct is None
    usage: Series = ("host/esx1", "usage_pct", [50.0] * 20)
    (host,) = with_measured(cluster(A, B), [reading(*two(a, b), usage)]).hosts
    assert (host.cpu_usage_pct, host.counter) == (50, "usage_pct, samples of 20 s")
    (host,) = with_measured(cluster(A, B, hosts=(replace(HOST, cpu_usage_pct=9.0),)), [reading(*two(a, b))]).hosts
    assert (host.cpu_usage_pct, host.counter) == (9, None)


@pytest.mark.parametrize(("rows", "moments"), [(1, 20_000), (50, 30)])
def test_batches_and_the_most_moments(monkeypatch: pytest.MonkeyPatch, rows: int, moments: int) -> None:
    monkeypatch.setattr(figures, "BATCH_ROWS", rows)
    monkeypatch.setattr(figures, "MOST_MOMENTS", moments)
    a, b = [float(index) for index in range(90)], [float(90 - index) for index in range(90)]
    got = with_measured(cluster(A, B), [reading(*two(a, b))])
    (found,) = got.clusters
    assert found.cpu_mhz == pytest.approx(90, abs=2)
    assert found.counter.endswith("every 20 s" if moments > 90 else "every 60 s")
    assert got.vms[0].demand and got.vms[0].demand.cpu_peak_mhz == 89
