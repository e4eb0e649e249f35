"""vSphere's performance counters by name, with their metrics and units.

A counter is named `group.name.rollup` (`cpu.ready.summation`): names are the same on every server and in every
language, numbers and labels are not. A summation covers the sample's own interval. 2,000 ms of ready in 20 s are 10 %;
in a sample of 300 s they are 0.7 %.

Sources: vSphere Web Services API, `PerformanceManager` (counter groups), `PerformanceManager.PerfCounterInfo`,
`PerformanceManager.Unit` (percent: hundredths of a percent); VMware KB 2002181 (summation to percent).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hypertwin.ingest import telemetry

Values = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Counter:
    """A counter that the reader uses."""

    metric: str
    """Key of `telemetry.METRICS`."""
    costs: str
    """Results that need the counter."""


VCPU_COUNTERS: Mapping[str, Counter] = MappingProxyType(
    {
        "cpu.ready.summation": Counter("ready_sum_pct", "ready time"),
        "cpu.costop.summation": Counter("costop_sum_pct", "co-stop"),
        "cpu.used.summation": Counter("used_sum_pct", "CPU charged to VMs"),
        "cpu.run.summation": Counter("run_sum_pct", "CPU time of VMs"),
        "cpu.wait.summation": Counter("wait_sum_pct", "wait"),
        "cpu.idle.summation": Counter("idle_sum_pct", "idle time"),
        "cpu.maxlimited.summation": Counter("limited_sum_pct", "reached limits"),
        "cpu.swapwait.summation": Counter("swap_wait_sum_pct", "waiting for swapped memory"),
        "cpu.overlap.summation": Counter("overlap_sum_pct", "overlap"),
        "cpu.system.summation": Counter("system_pct", "system time of VMs"),
    }
)
"""Counters of a VM (sums over its vCPUs) and of each vCPU."""
_MEMORY = {
    "mem.consumed.average": Counter("memory_used_bytes", "memory in use"),
    "mem.active.average": Counter("memory_active_bytes", "active memory"),
    "mem.vmmemctl.average": Counter("ballooned_bytes", "ballooning"),
    "mem.compressed.average": Counter("compressed_bytes", "compressed memory"),
    "mem.swapinRate.average": Counter("swap_in_bytes_per_s", "swapping"),
    "mem.swapoutRate.average": Counter("swap_out_bytes_per_s", "swapping"),
    "net.received.average": Counter("network_rx_bytes_per_s", "network traffic"),
    "net.transmitted.average": Counter("network_tx_bytes_per_s", "network traffic"),
}
VM_COUNTERS: Mapping[str, Counter] = MappingProxyType(
    {
        "cpu.usagemhz.average": Counter("used_mhz", "CPU in use"),
        "cpu.demand.average": Counter("demand_mhz", "CPU demand"),
        "cpu.latency.average": Counter("cpu_latency_pct", "CPU latency"),
        **_MEMORY,
        "mem.swapped.average": Counter("swapped_bytes", "swapped memory"),
    }
)
"""Counters of a VM as a whole."""
HOST_COUNTERS: Mapping[str, Counter] = MappingProxyType(
    {
        "cpu.usage.average": Counter("usage_pct", "usage of hosts"),
        "cpu.utilization.average": Counter("utilization_pct", "utilisation of hosts' threads"),
        "cpu.coreUtilization.average": Counter("core_utilization_pct", "utilisation of hosts' cores"),
        **_MEMORY,
        "mem.swapused.average": Counter("swapped_bytes", "swapped memory of hosts"),
        "mem.state.latest": Counter("memory_state", "memory state of hosts"),
    }
)
"""Counters of a host as a whole."""


def _storage(group: str, what: str, *, latencies: bool = True) -> dict[str, Counter]:
    counters = {
        f"{group}.numberReadAveraged.average": Counter("read_iops", f"I/O of {what}"),
        f"{group}.numberWriteAveraged.average": Counter("write_iops", f"I/O of {what}"),
        f"{group}.read.average": Counter("read_bytes_per_s", f"throughput of {what}"),
        f"{group}.write.average": Counter("write_bytes_per_s", f"throughput of {what}"),
    }
    if latencies:
        counters[f"{group}.totalReadLatency.average"] = Counter("read_latency_ms", f"latency of {what}")
        counters[f"{group}.totalWriteLatency.average"] = Counter("write_latency_ms", f"latency of {what}")
    return counters


VM_PART_COUNTERS: Mapping[str, Counter] = MappingProxyType(_storage("virtualDisk", "virtual disks"))
"""Counters of each virtual disk of a VM."""
HOST_PART_COUNTERS: Mapping[str, Counter] = MappingProxyType(
    {
        **_storage("disk", "devices", latencies=False),
        "disk.totalLatency.average": Counter("latency_ms", "latency of devices"),
        "disk.deviceLatency.average": Counter("device_latency_ms", "device latency"),
        "disk.kernelLatency.average": Counter("kernel_latency_ms", "kernel latency"),
        "disk.queueLatency.average": Counter("queue_latency_ms", "queue latency"),
        "disk.maxQueueDepth.average": Counter("queue_depth", "queue depth of devices"),
        "disk.commandsAborted.summation": Counter("aborts_per_s", "aborted commands"),
        **_storage("storageAdapter", "adapters"),
        "storageAdapter.queueDepth.average": Counter("queue_depth", "queue depth of adapters"),
        "storageAdapter.outstandingIOs.average": Counter("active_commands", "commands with adapters"),
        "storageAdapter.queued.average": Counter("queued_commands", "commands that wait for adapters"),
        "storageAdapter.queueLatency.average": Counter("queue_latency_ms", "queue latency of adapters"),
        **_storage("datastore", "datastores"),
    }
)
"""Counters of each device, adapter and datastore of a host."""

PARTS: Mapping[str, str] = MappingProxyType(
    {"cpu": "vcpu", "virtualDisk": "disk", "disk": "device", "storageAdapter": "adapter", "datastore": "datastore"}
)
"""Kind (of `telemetry.KINDS`) of a counter's instances, by the counter's group."""

_Conversion = Callable[[Values, Values], Values]


def _times(factor: float) -> _Conversion:
    return lambda values, _interval_s: values * factor


CONVERSIONS: Mapping[tuple[str, str, str], _Conversion] = MappingProxyType(
    {
        ("percent", "*", "%"): _times(0.01),
        ("millisecond", "summation", "%"): lambda values, interval_s: values / (interval_s * 10.0),
        ("millisecond", "average", "ms"): _times(1.0),
        ("microsecond", "average", "ms"): _times(1e-3),
        ("megaHertz", "*", "MHz"): _times(1.0),
        ("kiloBytes", "*", "B"): _times(1024.0),
        ("megaBytes", "*", "B"): _times(2.0**20),
        ("bytes", "*", "B"): _times(1.0),
        ("kiloBytesPerSecond", "*", "B/s"): _times(1024.0),
        ("megaBytesPerSecond", "*", "B/s"): _times(2.0**20),
        ("number", "average", "1/s"): _times(1.0),
        ("number", "summation", "1/s"): lambda values, interval_s: values / interval_s,
        ("number", "*", ""): _times(1.0),
    }
)
"""Conversions to a metric's unit, by vSphere's unit and roll-up type (`*`: any). Intervals are in s."""


def conversion(unit: str, rollup: str, metric: str) -> _Conversion | None:
    """Return the conversion of values in `unit` to the metric, or None for a unit that the counter should not have."""
    wanted = telemetry.METRICS[metric].unit
    return CONVERSIONS.get((unit, rollup, wanted)) or CONVERSIONS.get((unit, "*", wanted))


def part_of(counter: str, instance: str) -> tuple[str, str] | None:
    """Return kind and name of the part that a counter instance measures: `("vcpu", "0")`, or None for others."""
    kind = PARTS.get(counter.partition(".")[0])
    if kind is None or (kind == "vcpu" and not (instance.isascii() and instance.isdigit())):
        return None
    return kind, instance
