"""The VMs of an export: vInfo has a row for each, and other tabs have further data.

CPU is in MHz. All figures are single samples, from `VirtualMachineQuickStats` of the vSphere API. `vCPU/Overall` is
`overallCpuUsage`, the used CPU. `vInfo/Overall Cpu Readiness` is `overallCpuReadiness`, the ready time in per cent.
Like the counter `cpu.readiness`, it is a mean over the vCPUs, 0 to 100. `Active`, `Consumed`, `Ballooned` and `Swapped`
are `guestMemoryUsage`, `hostMemoryUsage`, `balloonedMemory` and `swappedMemory`, in MB. vPartition has a row for each
file system of a guest, from its VMware Tools (`GuestInfo.disk`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.inventory import Demand, Snapshots, VirtualDisk, Vm
from hypertwin.ingest.vmware.availability import restart_priority
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.export import CONNECTED, Export
from hypertwin.ingest.vmware.rvtools.places import Names, place
from hypertwin.ingest.vmware.rvtools.source import Sources
from hypertwin.ingest.vmware.rvtools.tables import Row

COUNTER = "vCPU/Overall"
"""Counter of VMs' demand."""
CONTROLLERS = {"paravirtual": "pvscsi", "lsilogicsas": "lsi-sas", "nvme": "nvme"}
_GONE = frozenset(("inaccessible", "invalid", "orphaned"))

Key = Callable[[Row], str]


def read(export: Export, names: Names) -> list[tuple[str, Vm]]:
    """Return VMs, including powered-off VMs and templates, each with its key for other exports.

    VMs that vCenter cannot run are left out: lost VMs, and placeholders of Site Recovery Manager.
    """
    cpu_beside, memory_beside = _beside(export, "vCPU"), _beside(export, "vMemory")
    disks, disk_key = _disks(export), _key(export, "vDisk")
    snapshots, snapshot_key = _snapshots(export), _key(export, "vSnapshot")
    priorities = export.restart_priorities(names)
    in_guests, partition_key = _in_guests(export), _key(export, "vPartition")
    sources, no_snapshots = Sources(export, _key), Snapshots(0) if export.table("vSnapshot").columns else None
    gone = placeholders = unnamed = 0
    found = []
    for row in export.table("vInfo").rows:
        if not cells.text(row.get("name")):
            unnamed += 1
            continue
        cpu, memory = cpu_beside(row), memory_beside(row)
        is_on, connection = cells.word(row.get("power")) in ("poweredon", "on"), cells.word(row.get("connection"))
        if connection in _GONE:
            gone += 1
            continue
        if cells.flag(row.get("srm_placeholder")):
            placeholders += 1
            continue
        vm = replace(
            _vm(row, cpu, is_on, names),
            **_measured(export, row, cpu, memory) if is_on and connection in CONNECTED else {},
            **_sizes(export, row, cpu, memory),
            **_entitled(export, row, memory, priorities.get(names.cluster(place(row, "host")) or "")),
            disks=tuple(disks.get(disk_key(row), ())),
            storage_in_guest_bytes=in_guests.get(partition_key(row)) if connection in CONNECTED else None,
            snapshots=snapshots.get(snapshot_key(row), no_snapshots),
            source=sources.of_vm(row, memory),
        )
        if vm.host is None or vm.cluster is None:
            vm = _placed(vm, (cpu, memory), names)
        found.append((cells.text(row.get("uuid")) or vm.name, vm))
    if gone:
        text = "left out: inaccessible, invalid or orphaned in vCenter"
        export.notes.assumed(text, f"{gone} VMs")
    if placeholders:
        text = "left out: SRM placeholders, whose VMs run at another site"
        export.notes.assumed(text, f"{placeholders} VMs")
    if unnamed:
        export.notes.assumed("left out: without a name", f"{unnamed} rows of vInfo")
    return found


def _key(export: Export, tab: str) -> Key:
    """Return the key of VMs in vInfo and this tab: their UUID if both have it, otherwise their name."""
    tables = [export.tables[each] for each in ("vInfo", tab) if each in export.tables]
    has_uuid = all("uuid" in table.columns for table in tables)
    return lambda row: (has_uuid and cells.text(row.get("uuid"))) or cells.text(row.get("name"))


def _beside(export: Export, tab: str) -> Callable[[Row], Row]:
    """Return a function that finds the VM's row in another tab.

    It is called for rows of vInfo in order. For a repeated name, the next row is found.
    """
    key = _key(export, tab)
    by_key: dict[str, list[Row]] = defaultdict(list)
    for row in export.table(tab).rows:
        by_key[key(row)].append(row)
    used: Counter[str] = Counter()

    def row_beside(row: Row) -> Row:
        own = key(row)
        rows = by_key.get(own, ())
        position = used[own]
        used[own] += 1
        return rows[min(position, len(rows) - 1)] if rows else {}

    return row_beside


def _vm(row: Row, cpu: Row, is_on: bool, names: Names) -> Vm:
    limit = cells.number(cpu.get("limit"))
    level, shares = cells.word(cpu.get("level")), cells.whole(cpu.get("shares"))
    name, at = cells.text(row.get("name")), place(row, "host")
    return Vm(
        name=name,
        vcpus=0,
        memory_bytes=0,
        host=names.host(at),
        cluster=names.cluster(at),
        datacenter=at.datacenter or None,
        powered_on=is_on,
        is_template=cells.flag(row.get("template")) is True,
        cores_per_socket=cells.whole(cpu.get("cores_per_socket")) or None,
        shares=level if level in ("low", "normal", "high") else shares or None,
        reservation_mhz=cells.number(cpu.get("reservation")),
        limit_mhz=limit if limit is not None and limit > 0 else None,
        cpu_hot_add=cells.flag(cpu.get("hot_add")),
        guest_os=cells.text(row.get("os_tools")) or cells.text(row.get("os")) or None,
        storage_appliance=is_storage_appliance(name),
    )


def _placed(vm: Vm, rows: tuple[Row, ...], names: Names) -> Vm:
    """Return the VM with host and cluster from other tabs, if vInfo lacks them."""
    for row in rows:
        at = place(row, "host")
        vm = replace(
            vm,
            host=vm.host or names.host(at),
            cluster=vm.cluster or names.cluster(at),
            datacenter=vm.datacenter or at.datacenter or None,
        )
    return vm


def _entitled(export: Export, row: Row, memory: Row, default: str | None) -> Mapping[str, Any]:
    """Return the memory entitlement and restart priority of a VM. A limit of -1 is no limit."""
    size, level = export.table("vMemory").size, cells.word(memory.get("level"))
    locked = cells.flag(memory.get("locked")) is True
    limited = (cells.number(memory.get("limit")) or -1) > 0
    return {
        "memory_shares": level if level in ("low", "normal", "high") else cells.whole(memory.get("shares")) or None,
        "memory_reservation_bytes": size(memory, "size") if locked else size(memory, "reservation"),
        "memory_limit_bytes": size(memory, "limit") if limited else None,
        "restart_priority": restart_priority(cells.word(row.get("restart_priority")), default),
    }


def _sizes(export: Export, row: Row, cpu: Row, memory: Row) -> Mapping[str, Any]:
    info = export.table("vInfo")
    return {
        "vcpus": cells.whole(cpu.get("cpus")) or cells.whole(row.get("cpus")),
        "memory_bytes": export.table("vMemory").size(memory, "size") or info.size(row, "memory") or 0,
        "storage_provisioned_bytes": info.size(row, "provisioned"),
        "storage_used_bytes": info.size(row, "in_use"),
    }


def _measured(export: Export, row: Row, cpu: Row, memory: Row) -> Mapping[str, Any]:
    """Return the measurements of a powered-on VM. A VM without any memory figure was not measured."""
    overall = cells.number(cpu.get("overall"))
    size = export.table("vMemory").size
    over = f"{COUNTER}, when it was exported"
    return {
        "demand": None if overall is None else Demand(overall, None, over, counter=COUNTER, at=export.at),
        "ready_pct": cells.between(row.get("readiness"), 0, 100),
        "memory_consumed_bytes": size(memory, "consumed") or None,
        "memory_active_bytes": size(memory, "active") or export.table("vInfo").size(row, "active") or None,
        "ballooned_bytes": size(memory, "ballooned"),
        "swapped_bytes": size(memory, "swapped"),
    }


def _disks(export: Export) -> Mapping[str, list[VirtualDisk]]:
    table, key = export.table("vDisk"), _key(export, "vDisk")
    disks: dict[str, list[VirtualDisk]] = defaultdict(list)
    for row in table.rows:
        kind = cells.word(row.get("controller"))
        number = re.search(r"[0-9]{1,3}\Z", cells.text(row.get("label")))
        datastore = re.match(r"\[([^\]]{1,256})\]", cells.text(row.get("path")))
        disks[key(row)].append(
            VirtualDisk(
                capacity_bytes=table.size(row, "capacity") or 0,
                controller=next((name for word, name in CONTROLLERS.items() if word in kind), None),
                controller_number=int(number[0]) if number else None,
                datastore=datastore[1] if datastore else None,
            )
        )
    return disks


def _in_guests(export: Export) -> Mapping[str, int]:
    """Return the used space of guests' file systems: `Consumed`, otherwise the space that is not free."""
    table, key = export.table("vPartition"), _key(export, "vPartition")
    found: dict[str, int] = defaultdict(int)
    for row in table.rows:
        consumed, capacity, free = (table.size(row, column) for column in ("consumed", "capacity", "free"))
        if consumed is None and capacity is not None and free is not None:
            consumed = max(0, capacity - free)
        if consumed is not None:
            found[key(row)] += consumed
    return found


def _snapshots(export: Export) -> Mapping[str, Snapshots]:
    table, key = export.table("vSnapshot"), _key(export, "vSnapshot")
    taken = cells.moments(row.get("taken") for row in table.rows)
    found: dict[str, Snapshots] = {}
    for row, moment in zip(table.rows, taken, strict=True):
        before = found.get(key(row), Snapshots(0))
        sizes = [size for size in (before.bytes, table.size(row, "size")) if size is not None]
        times = [time for time in (before.oldest, moment and moment.isoformat(timespec="seconds")) if time]
        found[key(row)] = Snapshots(before.count + 1, sum(sizes) if sizes else None, min(times, default=None))
    return found
