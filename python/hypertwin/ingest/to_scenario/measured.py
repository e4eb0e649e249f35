"""The `measured` keys of hosts, VMs and clusters: measurements of the source, unchanged and without derived values."""

from __future__ import annotations

import math
import re
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Cluster, Demand, Host, Vm
from hypertwin.ingest.to_scenario.yaml_text import MOST_PCT, memory_size

MOST_BYTES = 1000 * 2**50
MOST_MHZ = 1e12
LEAST_SECONDS = 0.001
MOST_SECONDS = 3650 * 86_400
MOST_SNAPSHOTS = 100_000
MOST_COUNTER = 200
"""Maximum characters of the name of a counter."""
_ISO_8601 = re.compile(
    r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])"
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?\Z"
)
"""Pattern of a time in scenarios."""


def of_host(host: Host) -> dict[str, Any]:
    """Return the measurements of a host, or an empty dict without any."""
    measured = _when(host.at, host.over_s, host.counter)
    for key, pct in (
        ("cpu_usage_pct", host.usage_pct),
        ("cpu_p95_pct", host.usage_p95_pct),
        ("cpu_peak_pct", host.usage_peak_pct),
        ("memory_usage_pct", host.memory_usage_pct),
    ):
        measured |= _number(key, pct, MOST_PCT)
    measured |= _bytes("ballooned", host.ballooned_bytes) | _bytes("swapped", host.swapped_bytes)
    return _unless_only_when(measured)


def of_vm(vm: Vm) -> dict[str, Any]:
    """Return the measurements of a VM, or an empty dict without any."""
    measured: dict[str, Any] = {}
    demand = vm.demand
    if demand is not None:
        measured = _when(demand.at, demand.over_s, demand.counter) | _cpu(demand)
    measured |= _number("ready_pct", vm.ready_pct, 100)
    for key, size in (
        ("memory_consumed", vm.memory_consumed_bytes),
        ("memory_active", vm.memory_active_bytes),
        ("ballooned", vm.ballooned_bytes),
        ("swapped", vm.swapped_bytes),
    ):
        measured |= _bytes(key, size)
    in_guest = _bytes("storage_in_guest", vm.storage_in_guest_bytes)
    return _unless_only_when(measured | storage_of(vm) | in_guest | _snapshots(vm))


def of_cluster(cluster: Cluster) -> dict[str, Any]:
    """Return the measurements of a cluster's VMs together, or an empty dict without any."""
    measured = _when(cluster.at, cluster.over_s, cluster.counter) | _cpu(cluster)
    measured |= _bytes("memory_consumed", cluster.memory_consumed_bytes)
    return _unless_only_when(measured | _bytes("memory_consumed_peak", cluster.memory_consumed_peak_bytes))


def storage_of(vm: Vm) -> dict[str, Any]:
    """Return provisioned and used space of a VM on datastores."""
    provisioned = _bytes("storage_provisioned", vm.storage_provisioned_bytes)
    return provisioned | _bytes("storage_used", vm.storage_used_bytes)


def snapshot_count(vm: Vm) -> dict[str, Any]:
    """Return the number of snapshots, or an empty dict if it is unknown."""
    count = None if vm.snapshots is None else vm.snapshots.count
    return {"snapshot_count": count} if count is not None and 0 <= count <= MOST_SNAPSHOTS else {}


def _snapshots(vm: Vm) -> dict[str, Any]:
    count = snapshot_count(vm)
    if vm.snapshots is None or not count:
        return {}
    oldest = _moment(vm.snapshots.oldest)
    found = _bytes("snapshots", vm.snapshots.bytes) | count
    return found | ({"oldest_snapshot": oldest} if oldest else {})


def _cpu(of: Demand | Cluster) -> dict[str, Any]:
    mean, p95 = _number("cpu_mhz", of.cpu_mhz, MOST_MHZ), _number("cpu_p95_mhz", of.cpu_p95_mhz, MOST_MHZ)
    return mean | p95 | _number("cpu_peak_mhz", of.cpu_peak_mhz, MOST_MHZ)


def _when(at: str | None, over_s: float | None, counter: str) -> dict[str, Any]:
    moment = _moment(at)
    when: dict[str, Any] = {"at": moment} if moment else {}
    if over_s is not None and LEAST_SECONDS <= over_s <= MOST_SECONDS:
        when["over"] = f"{round(over_s, 3):.12g} s"
    if outside.name(counter):
        when["counter"] = Quoted(outside.name(counter)[:MOST_COUNTER])
    return when


def _unless_only_when(measured: dict[str, Any]) -> dict[str, Any]:
    return measured if measured.keys() - {"at", "over", "counter"} else {}


def _moment(text: str | None) -> Quoted | None:
    moment = outside.name(text or "")
    return Quoted(moment) if _ISO_8601.match(moment) else None


def _number(key: str, value: float | None, most: float) -> dict[str, Any]:
    if value is None or not math.isfinite(value) or not 0 <= value <= most:
        return {}
    return {key: int(value) if value == int(value) else float(f"{value:.6g}")}


def _bytes(key: str, size: int | None) -> dict[str, Any]:
    return {key: memory_size(size)} if size is not None and 0 <= size <= MOST_BYTES else {}
