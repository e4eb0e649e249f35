"""Storage pools of an inventory: a group of equal hosts with devices, and the disks of VMs on them.

A scenario's pool is on one group of hosts. Every host of an inventory is its own entry. The hosts of a pool therefore
become members of one group before VMs are placed, and their entries become one entry at the end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Any

from hypertwin import _core
from hypertwin.ingest.inventory import PoolDevice, StoragePool, Vm
from hypertwin.ingest.to_scenario import names
from hypertwin.ingest.to_scenario.hosts import MIB, ScenarioHost
from hypertwin.ingest.to_scenario.load import open_load
from hypertwin.ingest.to_scenario.notes import Notes
from hypertwin.ingest.to_scenario.yaml_text import memory_size, plausible_pct, rounded
from hypertwin.language import inventory, limits, member_names, schema_node
from hypertwin.naming import counted

MEMORY_AGREES = 0.05
"""Difference between the memory of equal hosts, as a share of the larger: firmware reserves some [an assumption of this
project]."""
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


def note_left_out(listed: Iterable[StoragePool], notes: Notes) -> None:
    """Note the pools that the scenario could have."""
    for pool in listed:
        hosts = {device.host for device in pool.devices}
        found = f"{counted(len(pool.devices), 'device')} on {counted(len(hosts), 'host')}"
        notes.pool(pool.name, f"{found} not modelled: --with-pools adds it, and its hosts become one group")


class Pools:
    """Storage pools of an inventory on the hosts of a scenario."""

    def __init__(self, listed: Sequence[StoragePool], hosts: Sequence[ScenarioHost], notes: Notes) -> None:
        """Choose the group of hosts, and convert the pools that fit it."""
        self.hosts = list(hosts)
        """All hosts. Those of the group have keys of its members, and one size."""
        self._group = ""
        self._made: list[_Made] = []
        self._members: list[ScenarioHost] = []
        self._notes = notes
        named = {device.host for pool in listed for device in pool.devices}
        there = [host for host in hosts if host.name in named and not host.source.in_maintenance]
        alike = sorted(_largest_alike(there), key=lambda host: _natural(host.key))
        fitting = [each for pool in listed if (each := _fitting(pool, there, alike, notes)) is not None]
        if not fitting:
            return
        self._group = _group_key(alike, {host.key for host in hosts} - {host.key for host in alike})
        memory, clock = (
            min(each) for each in zip(*((host.memory_per_node, host.clock_hz) for host in alike), strict=True)
        )
        keys = _member_keys(self._group, len(alike))
        self._members = [
            replace(host, key=key, memory_per_node=memory, clock_hz=clock)
            for host, key in zip(alike, keys, strict=True)
        ]
        renamed = {host.key: member for host, member in zip(alike, self._members, strict=True)}
        self.hosts = [renamed.get(host.key, host) for host in hosts]
        is_mixed = any(host.cluster == alike[0].cluster and host.key not in renamed for host in hosts)
        for key, pool in zip(names.keys([pool.name for pool in fitting], "pool"), fitting, strict=True):
            self._made.append(_made(key, pool, self._group, there, alike, is_mixed, notes))
        self._note_members(alike)

    def entries(self, kept: Iterable[ScenarioHost]) -> dict[str, Any]:
        """Return the scenario's `storage`. Forgets all pools if the scenario does not keep the hosts of the group."""
        if not {host.key for host in self._members} <= {host.key for host in kept}:
            self._made, self._members = [], []
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
        return entry | {"vdisks": vdisks}

    def with_group(
        self, entries: Mapping[str, dict[str, Any]], vms: Mapping[str, dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """Return the entries of hosts, with one of the group instead of its members. `vms` has the entries of VMs."""
        members = {host.key: host for host in self._members}
        if not members:
            return dict(entries)
        merged = self._merged([entries[key] for key in members], vms.values())
        made: dict[str, dict[str, Any]] = {}
        for key, entry in entries.items():
            if key in members:
                made.setdefault(self._group, merged)
            else:
                made[key] = entry
        return made

    def _merged(self, entries: Sequence[dict[str, Any]], vms: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Return one entry of the members: what they have in common, and means of what was measured."""
        first = entries[0]
        merged = {key: value for key, value in first.items() if all(each.get(key) == value for each in entries)}
        if len(entries) > 1:
            merged.pop("label", None)
        own = self._hypervisor_memory(entries, vms)
        activity = self._activity_pct(entries)
        measured = [each["measured"] for each in entries if "measured" in each]
        means: dict[str, Any] = {}
        if len(measured) == len(entries):
            for key, value in measured[0].items():
                values = [each.get(key) for each in measured]
                if all(each == value for each in values):
                    means[key] = value
                elif all(isinstance(each, int | float) for each in values):
                    means[key] = rounded(fmean(values))
        order = {
            **({"count": len(entries)} if len(entries) > 1 else {}),
            **merged,
            **({"hypervisor_memory": memory_size(own)} if own is not None else {}),
            **({"overhead": {"activity_pct": rounded(activity)}} if activity is not None else {}),
        }
        if means.keys() - {"at", "over", "counter"}:
            order["measured"] = means
        return order

    def _activity_pct(self, entries: Sequence[dict[str, Any]]) -> float | None:
        """Return the work of the hypervisor on all members together, in per cent of the demand of their VMs."""
        known: list[float] = [each["overhead"]["activity_pct"] for each in entries if "overhead" in each]
        used = [plausible_pct(host.source.usage_pct) or 0.0 for host in self._members]
        if len(known) < len(entries) or not all(used):
            return fmean(known) if known else None
        demand = [pct / (1 + own / 100) for pct, own in zip(used, known, strict=True)]
        return 100 * (sum(used) / sum(demand) - 1)

    def _hypervisor_memory(self, entries: Sequence[dict[str, Any]], vms: Iterable[dict[str, Any]]) -> int | None:
        """Return the mean of the members, or None for the default if it is not measured.

        It is at most what VMs leave on any member, because no host of an inventory reclaims memory.
        """
        free = {host.key: host.memory_bytes for host in self._members}
        for vm in vms:
            if vm["host"] in free:
                free[vm["host"]] -= _bytes(vm.get("memory_touched", vm["memory"]))
        own = [_bytes(each.get("hypervisor_memory")) for each in entries]
        spare = (free[host.key] - round(SPARE_MEMORY * host.memory_bytes) for host in self._members)
        left = min(max(size, most, 0) for size, most in zip(own, spare, strict=True)) // MIB * MIB
        if any(own):
            return min(int(fmean(own)) // MIB * MIB, left)
        if left >= self._default_memory(entries[0]):
            return None
        self._notes.pool(self._made[0].key, "memory of OSDs and VMs exceeds their hosts': OSDs get what VMs leave")
        return left

    def _default_memory(self, entry: dict[str, Any]) -> int:
        """Return the memory that a host of the group needs for the services of its pools."""
        idle = {"vcpus": 1, "memory": "1 GiB", "workload": "any"}
        scenario = {
            "name": "pools",
            "hosts": {self._group: {**entry, "count": len(self._members)}},
            "storage": {made.key: made.entry for made in self._made},
            "vms": {"vm": idle | ({"cluster": entry["cluster"]} if "cluster" in entry else {})},
            "workloads": {"any": open_load()},
        }
        text, _ = _core.validate(json.dumps(scenario))
        return inventory(text).hosts[0].hypervisor_memory_bytes

    def _note_members(self, alike: Sequence[ScenarioHost]) -> None:
        if len(alike) < 2:
            return
        pairs = [f"{host.name} is {member.key}" for host, member in zip(alike, self._members, strict=True)]
        listed = ", ".join(pairs[:4]) + (f" and {len(pairs) - 4} more" if len(pairs) > 4 else "")
        text = f"hosts of one storage pool are one group ({listed}): measurements of hosts are their mean"
        self._notes.pool(self._made[0].key, text)


def _bytes(size: str | None) -> int:
    """Return the bytes of a size as `memory_size` writes it."""
    if size is None:
        return 0
    number, _, unit = size.partition(" ")
    return int(number) * {"B": 1, "MiB": 2**20, "GiB": 2**30}[unit]


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


def _largest_alike(hosts: Sequence[ScenarioHost]) -> list[ScenarioHost]:
    """Return the most hosts with equal processors, hypervisor and cluster, and nearly equal memory."""
    best: list[ScenarioHost] = []
    groups: dict[tuple[object, ...], list[ScenarioHost]] = {}
    for host in hosts:
        model = host.source.cpu_model or host.clock_hz
        shape = (host.sockets, host.cores_per_socket, host.nodes_per_socket, host.threads_per_core)
        groups.setdefault((host.cluster, host.hypervisor, model, *shape), []).append(host)
    for alike in groups.values():
        for least in {host.memory_per_node for host in alike}:
            near = [host for host in alike if least <= host.memory_per_node <= least / (1 - MEMORY_AGREES)]
            if (len(near), least) > (len(best), min((host.memory_per_node for host in best), default=0)):
                best = near
    return best


def _group_key(alike: Sequence[ScenarioHost], taken: set[str]) -> str:
    """Return a key for the group: the common beginning of its hosts' keys, or `node`. A single host keeps its key."""
    if len(alike) == 1:
        return alike[0].key
    first, last = min(host.key for host in alike), max(host.key for host in alike)
    common = next((first[:at] for at in range(len(first), 0, -1) if last.startswith(first[:at])), "")
    key = names.slug(common.rstrip("0123456789")[:48]) or "node"
    made, number = key, 1
    while {made, *_member_keys(made, len(alike))} & taken:
        number += 1
        made = f"{key}-{number}-node"
    return made


def _member_keys(group: str, count: int) -> list[str]:
    """Return the names of the hosts of a group, as scenarios number them."""
    return [group] if count == 1 else list(member_names(group, count))


def _fitting(
    pool: StoragePool, there: Sequence[ScenarioHost], alike: Sequence[ScenarioHost], notes: Notes
) -> StoragePool | None:
    """Return the pool with redundancies that its hosts can hold, or None if they cannot hold any of its data."""
    if not alike:
        notes.pool(pool.name, "left out: its hosts are not in the scenario")
        return None
    devices = sum(1 for device in pool.devices if device.host in {host.name for host in there})
    if not devices:
        notes.pool(pool.name, "left out: its hosts are not in the scenario")
        return None
    disks = pool.failure_domain == "disk"
    most, wanted = (devices, devices) if disks else (len(alike), len(there))
    kept = []
    for policy in pool.policies:
        said = _REDUNDANCY.fullmatch(policy.redundancy)
        width = 0 if said is None else int(said[1]) if said[1] else int(said[3]) + int(said[4])
        if said is not None and said[1] and width > wanted == most:
            text = f"{policy.redundancy} on {most} failure domains: imported with {most} replicas"
            notes.pool(policy.name, text)
            kept.append(replace(policy, redundancy=f"replicas-{most}:{min(int(said[2] or 1), most)}"))
        elif 0 < width <= most:
            kept.append(policy)
        elif width <= wanted:
            text = f"left out: it needs {width} equal hosts, and at most {most} have the same processors and memory"
            notes.pool(policy.name, text)
        else:
            notes.pool(
                policy.name, f"left out: {policy.redundancy} needs {width} failure domains, and there are {most}"
            )
    return replace(pool, policies=tuple(kept[: MAX_POLICIES + 1])) if kept else None


def _made(
    key: str,
    pool: StoragePool,
    group: str,
    there: Sequence[ScenarioHost],
    alike: Sequence[ScenarioHost],
    is_mixed: bool,
    notes: Notes,
) -> _Made:
    """Return the entry of a pool in the order of the schema."""
    entry: dict[str, Any] = {"kind": pool.kind, "nodes": group}
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
    first, *others = _devices(pool, there, alike, notes)
    entry["devices"] = first
    if others:
        entry["more_devices"] = others
    if pool.has_log_devices:
        entry["flash"] = {"kind": "nvme"}
        notes.pool(pool.name, "logs of OSDs are on separate flash: assumed one generic nvme drive in each host")
    raw = len(alike) * sum(each["per_node"] * _bytes(each["capacity"]) for each in (first, *others))
    if pool.stored_bytes:
        most_raw = max(_amplification(policy.redundancy) for policy in pool.policies)
        if pool.stored_bytes * most_raw <= FULL_RATIO * raw:
            entry["stored"] = memory_size(max(round(pool.stored_bytes / MIB), 1) * MIB)
        else:
            notes.pool(pool.name, "stored data left out: more than its devices hold")
    policies: dict[str, str | None] = dict.fromkeys(main.datastores)
    for name, policy in zip(keys, more, strict=True):
        policies |= dict.fromkeys(policy.datastores, name)
    return _Made(key, entry, policies)


def _ceph(pool: StoragePool) -> dict[str, Any]:
    """Return the settings of Ceph that differ from the default."""
    settings: dict[str, Any] = {}
    release = None if pool.release is None else _release(pool.release)
    if release is not None:
        settings["release"] = release
    if pool.client is not None:
        settings["client"] = pool.client
    if pool.placement_groups is not None and 0 < pool.placement_groups <= MAX_GROUPS:
        settings["placement_groups"] = pool.placement_groups
    return settings


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


def _devices(
    pool: StoragePool, there: Sequence[ScenarioHost], alike: Sequence[ScenarioHost], notes: Notes
) -> list[dict[str, Any]]:
    """Return the devices of each host, by model or kind. All of a kind have one size, and each host has as many."""
    known = {host.name for host in there}
    missing = sorted({device.host for device in pool.devices} - known)
    if missing:
        text = f"devices of hosts that are not in the scenario are left out: {', '.join(missing[:4])}"
        notes.pool(pool.name, text)
    here = [device for device in pool.devices if device.host in known]
    drives_of = {(each.model, each.kind): _drive(each.model, each.kind) for each in here}
    by_name: dict[tuple[str, str], list[PoolDevice]] = {}
    for device in here:
        by_name.setdefault(drives_of[device.model, device.kind], []).append(device)
    generic = sorted((model, kind) for (model, kind), (key, _) in drives_of.items() if model and key == "kind")
    for model, kind in generic[:MAX_MODELS]:
        text = f"drive model {model} is not in `hypertwin devices`: assumed a generic {kind}"
        notes.pool(pool.name, text)
    if len(by_name) > MAX_MORE_DEVICES + 1:
        by_kind: dict[tuple[str, str], list[PoolDevice]] = {}
        for listed in by_name.values():
            by_kind.setdefault(("kind", listed[0].kind), []).extend(listed)
        by_name = by_kind
    return [_spread(name, by_name[name], pool, there, alike, notes) for name in sorted(by_name)]


def _spread(
    name: tuple[str, str],
    devices: Sequence[PoolDevice],
    pool: StoragePool,
    there: Sequence[ScenarioHost],
    alike: Sequence[ScenarioHost],
    notes: Notes,
) -> dict[str, Any]:
    """Return devices of one name for each host of the group: with the same raw capacity, and about as many."""
    raw = sum(device.capacity_bytes for device in devices)
    per_node = min(max(round(len(devices) / len(alike)), 1), MAX_PER_NODE)
    capacity = min(max(raw // (len(alike) * per_node), LEAST_BYTES), MAX_DEVICE_BYTES)
    sizes = sorted({device.capacity_bytes for device in devices})
    counts = Counter(device.host for device in devices)
    if len({counts[host.name] for host in there}) > 1 or sizes[-1] > 1.01 * sizes[0] or len(alike) < len(there):
        each = sorted((counts[host.name] for host in there), reverse=True)
        of = f"{len(devices)} of {_tb(sizes[0])}" + (f" to {_tb(sizes[-1])}" if sizes[-1] > 1.01 * sizes[0] else "")
        where = f"{len(there)} hosts ({', '.join(map(str, each[:8]))}{' ...' if len(each) > 8 else ''})"
        what = f"{per_node} of {_tb(capacity)} on each of {len(alike)}"
        text = f"{of} ({name[1]}) on {where} imported as {what}: as much raw capacity; imbalance is not modelled"
        notes.pool(pool.name, text)
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
