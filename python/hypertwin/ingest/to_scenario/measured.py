"""The `measured` keys of hosts, VMs and clusters: measurements of the source, unchanged and without derived values."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Cluster, Demand, Host, Vm
from hypertwin.ingest.to_scenario.yaml_text import MOST_PCT, memory_size
from hypertwin.members import MeasuredCluster, MeasuredHost, MeasuredVm

MOST_BYTES = 1000 * 2**50
MAXIMA = {"_mhz": 1e12, "_pct": MOST_PCT, "ready_pct": 100.0}
"""Maximum by field, or by the unit at the end of its name."""
LEAST_SECONDS = 0.001
MOST_SECONDS = 3650 * 86_400
MOST_SNAPSHOTS = 100_000
MOST_COUNTER = 200
"""Maximum characters of the name of a counter."""
Measured = type[MeasuredHost | MeasuredVm | MeasuredCluster]
_ISO_8601 = re.compile(
    r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])"
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?\Z"
)
"""Pattern of a time in scenarios."""


def of_host(host: Host) -> dict[str, Any]:
    """Return the measurements of a host, or an empty dict without any."""
    return _unless_only_when(_written(MeasuredHost, host))


def of_vm(vm: Vm) -> dict[str, Any]:
    """Return the measurements of a VM, or an empty dict without any."""
    return _unless_only_when(_written(MeasuredVm, vm.demand, vm) | _snapshots(vm))


def of_cluster(cluster: Cluster) -> dict[str, Any]:
    """Return the measurements of a cluster's VMs together, or an empty dict without any."""
    return _unless_only_when(_written(MeasuredCluster, cluster))


def _written(kind: Measured, *parts: Host | Vm | Cluster | Demand | None) -> dict[str, Any]:
    """Return the keys for the fields of a kind of measurements, each from the part that has the field."""
    names = [each.name for each in fields(kind)]
    values = {name: getattr(part, name) for part in parts for name in names if hasattr(part, name)}
    found = _when(values.get("at"), values.get("over_s"), values.get("counter"))
    for name, value in values.items():
        if name.endswith("_bytes"):
            found |= _bytes(name.removesuffix("_bytes"), value)
        elif (most := MAXIMA.get(name, MAXIMA.get(name[-4:]))) is not None:
            found |= _number(name, value, most)
    return found


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


def _when(at: str | None, over_s: float | None, counter: str | None) -> dict[str, Any]:
    moment = _moment(at)
    when: dict[str, Any] = {"at": moment} if moment else {}
    if over_s is not None and LEAST_SECONDS <= over_s <= MOST_SECONDS:
        when["over"] = f"{round(over_s, 3):.12g} s"
    if named := outside.name(counter or ""):
        when["counter"] = Quoted(named[:MOST_COUNTER])
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
