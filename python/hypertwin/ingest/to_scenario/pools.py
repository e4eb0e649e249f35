"""Storage pools of an inventory: hosts with devices, and the disks of VMs on them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypertwin import _core
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import PoolDevice, StoragePool, VirtualDisk, Vm
from hypertwin.ingest.to_scenario import names
from hypertwin.ingest.to_scenario.hosts import MIB, ScenarioHost
from hypertwin.ingest.to_scenario.load import open_load
from hypertwin.ingest.to_scenario.yaml_text import memory_size
from hypertwin.language import inventory, limits, schema_node

SPARE_MEMORY = 0.05
"""Share of memory that stays free on hosts whose memory use is unknown, so that none reclaims memory [an assumption of
this project]."""
FULL_RATIO = 0.95
"""Share of raw capacity above which stored data is not plausible: Ceph's `full_ratio`."""
LEAST_BYTES = 2**30
MAX_DEVICE_BYTES = 2**50
MAX_PER_NODE = 1_000
MAX_MORE_DEVICES = 8
MAX_POLICIES = 16
MAX_MODELS = 4
"""Maximum number of notes on drive models of a pool."""
MAX_GROUPS = 200_000
_REDUNDANCY = re.compile(r"replicas-([0-9]{1,2})(?::([0-9]{1,2}))?|ec-([0-9]{1,2})\+([0-9]{1,2})")


@dataclass(frozen=True)
class _Made:
    """A pool that the scenario has."""

    key: str
    entry: dict[str, Any]
    policies: Mapping[str, str | None]
    """Policy of each datastore in it, None for the redundancy of the pool."""


class Pools:
    """Storage pools of an inventory on the hosts of a scenario."""

    def __init__(self, listed: Sequence[StoragePool], hosts: Sequence[ScenarioHost], notes: ImportNotes) -> None:
        """Convert the pools that their hosts can hold."""
        self._made: list[_Made] = []
        self._notes = notes
        self._nodes: dict[str, ScenarioHost] = {}
        fitting = []
        for pool in listed:
            named = {device.host for device in pool.devices}
            nodes = [host for host in hosts if host.name in named and not host.source.in_maintenance]
            if (fits := _fitting(pool, nodes, notes)) is not None:
                fitting.append((fits, sorted(nodes, key=lambda host: _natural(host.key))))
        keys = names.keys([pool.name for pool, _ in fitting], "pool")
        for key, (pool, nodes) in zip(keys, fitting, strict=True):
            own = {host.key: host for host in nodes}
            clusters = {host.cluster for host in nodes}
            is_mixed = any(host.cluster in clusters and host.key not in own for host in hosts)
            self._made.append(_made(key, pool, nodes, is_mixed, notes))
            self._nodes |= own

    def entries(self, kept: Iterable[ScenarioHost]) -> dict[str, Any]:
        """Return the scenario's `storage`. Forgets all pools if the scenario does not keep all of their hosts."""
        if not self._nodes.keys() <= {host.key for host in kept}:
            self._made, self._nodes = [], {}
        return {made.key: made.entry for made in self._made}

    def of_vm(self, vm: Vm) -> dict[str, Any]:
        """Return the keys of a VM about its virtual disks on a pool, or an empty dict if none is on one."""
        sizes = {
            made.key: sum(disk.capacity_bytes for disk in vm.disks if disk.datastore in made.policies)
            for made in self._made
        }
        holding = [made for made in self._made if any(disk.datastore in made.policies for disk in vm.disks)]
        if not holding:
            return {}
        made = max(holding, key=lambda made: sizes[made.key])
        disks = [disk for disk in vm.disks if disk.datastore in made.policies]
        if len(disks) < len(vm.disks):
            self._notes.vm(vm.name, f"its disks outside of storage {made.key} are left out", named=False)
        most = limits()
        controllers = len({(disk.controller, disk.controller_number) for disk in disks})
        controllers = min(controllers, most.controllers)
        vdisks = min(len(disks), controllers * most.vdisks_per_controller)
        kinds = Counter(disk.controller for disk in disks if disk.controller is not None)
        entry: dict[str, Any] = {"storage": made.key}
        policies = [made.policies[disk.datastore or ""] for disk in disks[:vdisks]]
        if any(policies):
            entry |= _policies(policies)
            if None in policies and any(policies):
                self._notes.vm(vm.name, "its disks have several redundancies: assumed that of most of them")
        if kinds:
            entry["controller"] = kinds.most_common(1)[0][0]
        else:
            self._notes.vm(
                vm.name, "disk controller without a model (lsi, IDE, SATA): assumed virtio-scsi", named=False
            )
        if controllers > 1:
            entry["controllers"] = controllers
        return entry | {"vdisks": vdisks} | self._qemu(vm, disks)

    def _qemu(self, vm: Vm, disks: Sequence[VirtualDisk]) -> dict[str, Any]:
        """Return the keys of a VM about QEMU's handling of these disks that are not the default."""
        settings = Counter((disk.io_thread, disk.cache, disk.aio) for disk in disks)
        if len(settings) > 1:
            text = "its disks have several I/O threads, cache or aio settings: assumed those of most of them"
            self._notes.vm(vm.name, text)
        io_thread, cache, aio = settings.most_common(1)[0][0]
        entry = {"io_threads": 0 if io_thread is False else None, "disk_cache": cache, "aio": aio}
        return {key: value for key, value in entry.items() if value is not None}

    def make_room(self, hosts: Mapping[str, dict[str, Any]], vms: Mapping[str, dict[str, Any]]) -> None:
        """Set the memory of the hypervisor on hosts where services of pools and VMs would exceed the host.

        No host of an inventory reclaims memory. `hosts` and `vms` have the entries of the scenario.
        """
        free = {key: host.memory_bytes for key, host in self._nodes.items()}
        for vm in vms.values():
            if vm["host"] in free:
                free[vm["host"]] -= _core.size_bytes(vm.get("memory_touched", vm["memory"]))
        short = []
        for host, needed in self._services_memory(hosts):
            left = max(free[host.key] - round(SPARE_MEMORY * host.memory_bytes), 0) // MIB * MIB
            if "hypervisor_memory" not in hosts[host.key] and left < needed:
                hosts[host.key]["hypervisor_memory"] = memory_size(left)
                short.append(host.name)
        for name in short:
            self._notes.host(name, "memory of OSDs and VMs exceeds the host: OSDs get what VMs leave")

    def _services_memory(self, entries: Mapping[str, dict[str, Any]]) -> Iterator[tuple[ScenarioHost, int]]:
        """Yield the nodes with the memory that the hypervisor and services of pools need by default."""
        if not self._made:
            return
        scenario = {
            "name": "pools",
            "hosts": {key: entries[key] for key in self._nodes},
            "storage": {made.key: made.entry for made in self._made},
            "vms": {"vm": {"vcpus": 1, "memory": "1 GiB", "workload": "any", "host": next(iter(self._nodes))}},
            "workloads": {"any": open_load()},
        }
        text, _ = _core.validate(json.dumps(scenario))
        yield from ((self._nodes[host.name], host.hypervisor_memory_bytes) for host in inventory(text).hosts)


def _policies(policies: Sequence[str | None]) -> dict[str, Any]:
    """Return `policy`, or `vdisk_policies` for several. A disk without one prevents a list: the commonest counts."""
    named = [policy for policy in policies if policy is not None]
    if len(set(policies)) == 1:
        return {"policy": named[0]}
    if None not in policies:
        return {"vdisk_policies": tuple(named)}
    commonest = Counter(policies).most_common(1)[0][0]
    return {} if commonest is None else {"policy": commonest}


def _natural(key: str) -> list[tuple[str, int]]:
    """Return a sort key that puts `pve2` before `pve10`."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D+)([0-9]{0,18})", f" {key}")]


def _fitting(pool: StoragePool, there: Sequence[ScenarioHost], notes: ImportNotes) -> StoragePool | None:
    """Return the pool with redundancies that its hosts can hold, or None if they cannot hold any of its data."""
    devices = sum(1 for device in pool.devices if device.host in {host.name for host in there})
    if not devices:
        notes.of("storage pool", pool.name, "left out: its hosts are not in the scenario")
        return None
    most = devices if pool.failure_domain == "disk" else len(there)
    kept = []
    for policy in pool.policies:
        said = _REDUNDANCY.fullmatch(policy.redundancy)
        width = 0 if said is None else int(said[1]) if said[1] else int(said[3]) + int(said[4])
        if said is not None and said[1] and width > most:
            text = f"{policy.redundancy} on {most} failure domains: imported with {most} replicas"
            notes.of("storage pool", policy.name, text)
            kept.append(replace(policy, redundancy=f"replicas-{most}:{min(int(said[2] or 1), most)}"))
        elif 0 < width <= most:
            kept.append(policy)
        else:
            text = f"left out: {policy.redundancy} needs {width} failure domains, and there are {most}"
            notes.of("storage pool", policy.name, text)
    return replace(pool, policies=tuple(kept[: MAX_POLICIES + 1])) if kept else None


def _made(key: str, pool: StoragePool, there: Sequence[ScenarioHost], is_mixed: bool, notes: ImportNotes) -> _Made:
    """Return the entry of a pool in the order of the schema."""
    nodes = [host.key for host in there]
    entry: dict[str, Any] = {"kind": pool.kind, "nodes": nodes if len(nodes) > 1 else nodes[0]}
    if is_mixed:
        entry["deployment"] = "mixed"
    main, *more = pool.policies
    entry["redundancy"] = main.redundancy
    keys = names.keys([policy.name for policy in more], "policy")
    if more:
        entry["policies"] = {name: {"redundancy": each.redundancy} for name, each in zip(keys, more, strict=True)}
    if ceph := _ceph(pool):
        entry["ceph"] = ceph
    if pool.failure_domain != "host":
        entry["failure_domain"] = pool.failure_domain
    first, *others = _devices(pool, there, notes)
    entry["devices"] = first
    if others:
        entry["more_devices"] = others
    if pool.has_log_devices:
        entry["flash"] = {"kind": "nvme"}
        notes.of(
            "storage pool", pool.name, "logs of OSDs are on separate flash: assumed one generic nvme drive in each host"
        )
    raw = len(there) * sum(each["per_node"] * _core.size_bytes(each["capacity"]) for each in (first, *others))
    if pool.stored_bytes:
        most_raw = max(_amplification(policy.redundancy) for policy in pool.policies)
        if pool.stored_bytes * most_raw <= FULL_RATIO * raw:
            entry["stored"] = memory_size(max(round(pool.stored_bytes / MIB), 1) * MIB)
        else:
            notes.of("storage pool", pool.name, "stored data left out: more than its devices hold")
    policies: dict[str, str | None] = dict.fromkeys(main.datastores)
    for name, policy in zip(keys, more, strict=True):
        policies |= dict.fromkeys(policy.datastores, name)
    return _Made(key, entry, policies)


def _ceph(pool: StoragePool) -> dict[str, Any]:
    """Return the settings of Ceph that differ from the default."""
    settings = {
        "release": None if pool.release is None else _release(pool.release),
        "client": pool.client,
        "placement_groups": pool.placement_groups if 0 < (pool.placement_groups or 0) <= MAX_GROUPS else None,
    }
    return {key: value for key, value in settings.items() if value is not None}


def _release(major: int) -> str | None:
    """Return the newest release that is not newer. Ceph numbers releases by the first letter: 19 is `squid`."""
    node = schema_node("storage.NAME.ceph.release")
    known = {ord(name[0]) - ord("a") + 1: name for name in (node or {}).get("enum", ())}
    return known[max(number for number in known if number <= major)] if major >= min(known, default=99) else None


def _amplification(redundancy: str) -> float:
    """Return the raw bytes of a stored byte."""
    said = _REDUNDANCY.fullmatch(redundancy)
    if said is None:
        return 1.0
    return float(said[1]) if said[1] else (int(said[3]) + int(said[4])) / int(said[3])


def _devices(pool: StoragePool, there: Sequence[ScenarioHost], notes: ImportNotes) -> list[dict[str, Any]]:
    """Return the devices of each host, by model or kind. All of a kind have one size, and each host has as many."""
    known = {host.name for host in there}
    missing = sorted({device.host for device in pool.devices} - known)
    if missing:
        text = f"devices of hosts that are not in the scenario are left out: {', '.join(missing[:4])}"
        notes.of("storage pool", pool.name, text)
    here = [device for device in pool.devices if device.host in known]
    drives_of = {(each.model, each.kind): _drive(each.model, each.kind) for each in here}
    by_name: dict[tuple[str, str], list[PoolDevice]] = {}
    for device in here:
        by_name.setdefault(drives_of[device.model, device.kind], []).append(device)
    generic = sorted((model, kind) for (model, kind), (key, _) in drives_of.items() if model and key == "kind")
    for model, kind in generic[:MAX_MODELS]:
        text = f"drive model {model} is not in `hypertwin devices`: assumed a generic {kind}"
        notes.of("storage pool", pool.name, text)
    if len(by_name) > MAX_MORE_DEVICES + 1:
        by_kind: dict[tuple[str, str], list[PoolDevice]] = {}
        for listed in by_name.values():
            by_kind.setdefault(("kind", listed[0].kind), []).extend(listed)
        by_name = by_kind
    return [_spread(name, by_name[name], pool, there, notes) for name in sorted(by_name)]


def _spread(
    name: tuple[str, str],
    devices: Sequence[PoolDevice],
    pool: StoragePool,
    there: Sequence[ScenarioHost],
    notes: ImportNotes,
) -> dict[str, Any]:
    """Return devices of one name for each host: with the same raw capacity, and about as many."""
    raw = sum(device.capacity_bytes for device in devices)
    per_node = min(max(round(len(devices) / len(there)), 1), MAX_PER_NODE)
    capacity = min(max(raw // (len(there) * per_node), LEAST_BYTES), MAX_DEVICE_BYTES)
    sizes = sorted({device.capacity_bytes for device in devices})
    counts = Counter(device.host for device in devices)
    if len({counts[host.name] for host in there}) > 1 or sizes[-1] > 1.01 * sizes[0]:
        each = sorted((counts[host.name] for host in there), reverse=True)
        of = f"{len(devices)} of {_tb(sizes[0])}" + (f" to {_tb(sizes[-1])}" if sizes[-1] > 1.01 * sizes[0] else "")
        where = f"{len(there)} hosts ({', '.join(map(str, each[:8]))}{' ...' if len(each) > 8 else ''})"
        what = f"{per_node} of {_tb(capacity)} on each"
        text = f"{of} ({name[1]}) on {where} imported as {what}: as much raw capacity; imbalance is not modelled"
        notes.of("storage pool", pool.name, text)
    return {name[0]: name[1], "per_node": per_node, "capacity": memory_size(capacity)}


def _tb(size: int) -> str:
    return f"{size / 1e12:.3g} TB"


def _drive(model: str | None, kind: str) -> tuple[str, str]:
    """Return the drive of the table whose name is in the model's, otherwise the generic kind, as key and value."""
    plain = _plain(model or "")
    family = kind.partition("-")[0]
    fits = [name for name, of in _drive_kinds().items() if _plain(name) in plain and of.startswith(family)]
    return ("device", max(fits, key=len)) if fits else ("kind", kind)


@cache
def _drive_kinds() -> Mapping[str, str]:
    """Return the kind of each drive of the table."""
    return {name: said["kind"] for name, said in json.loads(_core.drives()).items()}


def _plain(text: str) -> str:
    return re.sub("[^A-Z0-9]", "", text.upper())
