"""Measurements of VMs in vCenter Server: quick statistics of a single sample, and the size of their snapshots.

`VirtualMachineQuickStats`: CPU in MHz, memory in MB. Quick statistics of a host have no balloons and swap. These are
sums over its VMs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from hypertwin.ingest.inventory import Demand, Snapshots
from hypertwin.ingest.vmware import vsphere
from hypertwin.ingest.vmware.vcenter_values import MIB, MOST_MEMORY_BYTES, MOST_MHZ, enum, get, whole

READINESS = "summary.quickStats.overallCpuReadiness"
"""Ready time of a VM in per cent, a mean over its vCPUs."""
MOST_SNAPSHOTS = 10_000


def demand(vm: Mapping[str, Any], at: str | None) -> Demand | None:
    """Return recent demand of a VM. Its use if the server does not give the demand."""
    wanted = whole(vm.get("summary.quickStats.overallCpuDemand"), 0, MOST_MHZ)
    used = whole(vm.get("summary.quickStats.overallCpuUsage"), 0, MOST_MHZ)
    counter = "overallCpuDemand" if wanted else "overallCpuUsage"
    if not wanted and used is None:
        return None
    over = f"quick statistics, {counter}"
    return Demand(float(wanted or used or 0), over=over, counter=f"quickStats.{counter}", at=at)


def measured(vm: Mapping[str, Any]) -> dict[str, Any]:
    """Return quick statistics of a powered-on VM. A VM without any memory figure was not measured."""
    sizes = {
        key: mb * MIB
        for key in ("hostMemoryUsage", "guestMemoryUsage", "balloonedMemory", "swappedMemory")
        if (mb := whole(vm.get(f"summary.quickStats.{key}"), 0, MOST_MEMORY_BYTES // MIB)) is not None
    }
    ready = whole(vm.get(READINESS), 0, 100)
    return {
        "ready_pct": None if ready is None else float(ready),
        "memory_consumed_bytes": sizes.get("hostMemoryUsage") or None,
        "memory_active_bytes": sizes.get("guestMemoryUsage") or None,
        "ballooned_bytes": sizes.get("balloonedMemory"),
        "swapped_bytes": sizes.get("swappedMemory"),
    }


def reclaimed(vms: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, tuple[int | None, int | None]]:
    """Return the bytes of balloons and of swap by host ID: sums over its powered-on VMs, or None if unknown."""
    sums: dict[str, tuple[int | None, int | None]] = {}
    for _, vm in vms:
        if enum(vm.get("runtime.powerState")) == "poweredOn":
            host, of = vsphere.moid(vm.get("runtime.host")), measured(vm)
            ballooned, swapped = sums.get(host, (0, 0))
            sums[host] = (_sum(ballooned, of["ballooned_bytes"]), _sum(swapped, of["swapped_bytes"]))
    return sums


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def snapshots(info: Any, size: int | None) -> Snapshots | None:
    """Return the snapshots in a tree of them."""
    times: list[datetime] = []
    count = 0
    waiting = list(get(info, "rootSnapshotList") or ())
    while waiting and count < MOST_SNAPSHOTS:
        tree = waiting.pop()
        count += 1
        made = get(tree, "createTime")
        times += [made] if isinstance(made, datetime) and made.tzinfo else []
        waiting += get(tree, "childSnapshotList") or ()
    oldest = min(times).isoformat(timespec="seconds") if times else None
    return Snapshots(count, size, oldest) if count else None


def size_of_snapshots(layout: Any) -> int | None:
    """Return the bytes of the files that exist because of snapshots (`VirtualMachineFileLayoutEx`)."""
    if layout is None:
        return None
    sizes = {get(file, "key"): whole(get(file, "size"), 0, 2**62) or 0 for file in get(layout, "file") or ()}
    keys: set[Any] = set()
    for disk in get(layout, "disk") or ():
        for since in (get(disk, "chain") or ())[1:]:  # the first unit is the disk as it was before the first snapshot
            keys.update(get(since, "fileKey") or ())
    for snapshot in get(layout, "snapshot") or ():
        keys.update((get(snapshot, "dataKey"), get(snapshot, "memoryKey")))
    return sum(sizes.get(key, 0) for key in keys)
