"""Units of vSphere's counters, as its API names them, and those of the metrics that they become."""

from __future__ import annotations

import numpy as np
import pytest

from hypertwin.ingest import prometheus_queries, telemetry
from hypertwin.ingest.vmware import vsphere_counters


@pytest.mark.parametrize(
    ("unit", "rollup", "metric", "value", "expected"),
    [
        ("percent", "average", "usage_pct", 1234, 12.34),
        ("millisecond", "summation", "ready_sum_pct", 2000, 10),
        ("millisecond", "average", "read_latency_ms", 7, 7),
        ("microsecond", "average", "queue_latency_ms", 1500, 1.5),
        ("megaHertz", "average", "demand_mhz", 900, 900),
        ("kiloBytes", "average", "swapped_bytes", 3, 3072),
        ("megaBytes", "average", "memory_used_bytes", 3, 3 * 2**20),
        ("bytes", "average", "memory_used_bytes", 3, 3),
        ("kiloBytesPerSecond", "average", "swap_in_bytes_per_s", 3, 3072),
        ("kiloBytesPerSecond", "average", "network_rx_bytes_per_s", 5, 5120),
        ("megaBytesPerSecond", "average", "read_bytes_per_s", 2, 2 * 2**20),
        ("number", "average", "read_iops", 30, 30),
        ("number", "summation", "aborts_per_s", 30, 1.5),
        ("number", "latest", "memory_state", 2, 2),
    ],
)
def test_units(unit: str, rollup: str, metric: str, value: float, expected: float) -> None:
    convert = vsphere_counters.conversion(unit, rollup, metric)
    assert convert is not None
    assert convert(np.array([float(value)]), np.array([20.0])) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("unit", "metric"), [("watt", "usage_pct"), ("kiloBytes", "usage_pct"), ("percent", "swapped_bytes")]
)
def test_a_unit_that_a_counter_should_not_have_is_not_read(unit: str, metric: str) -> None:
    assert vsphere_counters.conversion(unit, "average", metric) is None


def test_scales_of_vmware_exporter() -> None:
    # it hands on what vSphere says: KB and KB/s, MB for sizes, milliseconds of 20 s; all others have the metric's unit
    kilobytes = ("mem_", "disk_", "net_")
    for query in prometheus_queries.VMWARE.queries:
        name = query.series.removeprefix(f"vmware_{query.of}_")
        unit = telemetry.METRICS[query.metric].unit
        scale = query.expression.rpartition(")")[2] if query.metric not in ("clock_mhz", "usage_pct") else ""
        if unit in ("B", "B/s"):
            assert scale == (" * 1024" if name.startswith(kilobytes) else " * 1048576"), query.series
        elif name.endswith("_summation"):
            assert (scale, unit, query.over_s) == (" / 200", "%", 20), query.series
        else:
            assert scale == "", query.series


def test_which_latencies_are_read_of_what() -> None:
    # devices have one for both ways
    groups = {"virtualDisk": vsphere_counters.VM_PART_COUNTERS, "disk": vsphere_counters.HOST_PART_COUNTERS}
    groups |= dict.fromkeys(("storageAdapter", "datastore"), vsphere_counters.HOST_PART_COUNTERS)
    ways = {group: f"{group}.totalReadLatency.average" in counters for group, counters in groups.items()}
    assert ways == {"virtualDisk": True, "disk": False, "storageAdapter": True, "datastore": True}
