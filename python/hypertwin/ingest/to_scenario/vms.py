"""VMs of an inventory as VMs of a scenario: powered-on VMs, with sizes and options that their host supports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hypertwin import _core
from hypertwin.errors import short
from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Inventory, Vm
from hypertwin.ingest.to_scenario import memory, source
from hypertwin.ingest.to_scenario.clusters import DEFAULT, Clusters
from hypertwin.ingest.to_scenario.division import Load, divided, silent
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.load import Workloads, open_load
from hypertwin.ingest.to_scenario.measured import of_vm
from hypertwin.ingest.to_scenario.notes import too_many
from hypertwin.ingest.to_scenario.placement import Placed, fits, guessed
from hypertwin.ingest.to_scenario.yaml_text import frequency, memory_size, plausible_hz
from hypertwin.language import limits

RESTART_PRIORITIES = ("highest", "high", "low", "lowest", "disabled")
"""Restart priorities except the default."""
LEAST_LIMIT_HZ = 1_000_000
_AFFINITY = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*\Z")


def split(placed: Iterable[Placed]) -> tuple[list[Placed], list[Placed]]:
    """Return the powered-on VMs, and the powered-off VMs with templates."""
    every = list(placed)
    is_on = [each.vm.powered_on and not each.vm.is_template for each in every]
    return (
        [each for each, on in zip(every, is_on, strict=True) if on],
        [each for each, on in zip(every, is_on, strict=True) if not on],
    )


def on_hosts(
    running: Iterable[Placed],
    hosts: Sequence[ScenarioHost],
    clusters: Clusters,
    listed: Container[str],
    notes: ImportNotes,
) -> list[Placed]:
    """Return the valid VMs for a scenario, each on a host. `listed` has the names of all hosts of the source."""
    found = []
    for each in running:
        vm, host = each.vm, each.host
        why = _why_left_out(each, hosts, clusters)
        if why is not None:
            notes.vm(vm.name, f"left out: {why}")
            continue
        if host is None and each.cluster is not None:
            unknown = "no host named"
            if vm.host:
                unknown = "its host was left out" if vm.host in listed else "its host is not in the source"
            place = "in its cluster" if clusters.are_known else "on any host"
            notes.vm(vm.name, f"{unknown}: placed automatically {place}")
        elif host is not None and vm.memory_bytes > host.memory_bytes:
            notes.vm(vm.name, "more memory than its host: reduced to that")
            found.append(replace(each, vm=replace(vm, memory_bytes=host.memory_bytes)))
            continue
        found.append(each)
    return guessed(found, hosts, notes)


def _why_left_out(placed: Placed, hosts: Sequence[ScenarioHost], clusters: Clusters) -> str | None:
    vm, most = placed.vm, limits()
    if not (1 <= vm.vcpus <= most.vcpus_per_vm and most.least_memory_bytes <= vm.memory_bytes <= most.memory_bytes):
        return "no plausible number of vCPUs or memory size"
    candidates = [placed.host] if placed.host is not None else hosts
    if placed.host is None and placed.cluster is not None:
        candidates = [host for host in hosts if host.cluster == placed.cluster]
    if not candidates or (placed.cluster is None and vm.cluster and not clusters.has(vm.cluster)):
        return "no host of its cluster is in the source"
    if all(vm.vcpus > each.logical_cpus for each in candidates):
        return "more vCPUs than its host has logical CPUs"
    if placed.host is None and not any(fits(vm, each) for each in candidates):
        return "its host is unknown, and it fits no other"
    return None


def within_limits(placed: Sequence[Placed], inventory: Inventory) -> None:
    """Raise SourceError if they exceed the limits of a scenario."""
    most = limits()
    if len(placed) > most.vm_groups:
        too_many(inventory.source, "powered-on VMs", len(placed), most.vm_groups)
    vcpus = sum(each.vm.vcpus for each in placed)
    if vcpus > most.vcpus:
        too_many(inventory.source, "vCPUs of powered-on VMs", vcpus, most.vcpus)


def convert(
    placed: Sequence[Placed],
    hosts: Sequence[ScenarioHost],
    storage_of: Callable[[Vm], dict[str, Any]],
    notes: ImportNotes,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the scenario's `hosts`, `vms` and `workloads`, from VMs with their hosts and keys.

    `storage_of` returns the keys about virtual disks of a VM.
    """
    workloads = Workloads(notes)
    on: dict[str, list[Placed]] = {host.key: [] for host in hosts}
    for each in placed:
        if each.host is not None:
            on[each.host.key].append(each)
    loads = {host.key: Load.of(host, on[host.key], notes) for host in hosts}
    unmeasured = silent(hosts, on, loads)
    host_entries, vm_entries = {}, {}
    for host in hosts:
        there = on[host.key]
        share = divided(host, there, loads[host.key], unmeasured, notes)
        touched, own = memory.touched(host, there, notes)
        active = memory.active(there, touched, notes)
        entitled = memory.entitlement(host, there, notes)
        reserved = _reservations(host, there, notes)
        host_entries[host.key] = host.entry(share.overhead, own)
        for each, work, used, of_memory, hz in zip(
            there, share.work, zip(touched, active, strict=True), entitled, reserved, strict=True
        ):
            entry = _entry(each, host, used, of_memory, hz, notes)
            entry["workload"], entry["load"] = workloads.add(each, host, work, share.contention)
            entry |= storage_of(each.vm)
            # what division took for no measurement, as a column of zeros on a busy host, is none here either
            measured = of_vm(each.vm if work.source == "measured" else replace(each.vm, demand=None))
            facts = source.of_vm(each.vm.source)
            vm_entries[each.key] = entry | {
                key: value for key, value in (("measured", measured), ("source", facts)) if value
            }
    return host_entries, dict(sorted(vm_entries.items())), dict(sorted(workloads.entries.items()))


def _reservations(host: ScenarioHost, placed: Sequence[Placed], notes: ImportNotes) -> list[int]:
    """Return the reservation of each VM, in Hz, 0 for none. Their sum is at most the host's capacity."""
    asked = [plausible_hz(each.vm.reservation_mhz) for each in placed]
    if not host.options.reservations:
        for each, hz in zip(placed, asked, strict=True):
            if hz:
                notes.vm(each.vm.name, "reservation left out: Linux has none for CPU")
        return [0] * len(asked)
    total = sum(asked)
    if total <= host.capacity_hz:
        return asked
    notes.host(host.name, "CPU reservations exceed its CPU: all are reduced in proportion")
    return [hz * host.capacity_hz // total for hz in asked]


def _entry(
    placed: Placed,
    host: ScenarioHost,
    used: tuple[int | None, int | None],
    of_memory: dict[str, Any],
    reservation_hz: int,
    notes: ImportNotes,
) -> dict[str, Any]:
    """Return a VM's entry, without load and measurements, in the order of the schema.

    `used` has its touched and its active memory, `of_memory` its memory entitlement.
    """
    vm, label = placed.vm, outside.name(placed.vm.name)
    entry: dict[str, Any] = {"label": Quoted(label)} if label and label != placed.key else {}
    entry |= _size(vm, used, of_memory, host, notes)
    numa = _numa(vm, host, notes)
    if numa:
        entry["numa"] = numa
    entry |= entitlement(vm, reservation_hz, notes)
    if host.cluster != DEFAULT:
        entry["cluster"] = host.cluster
    entry["host"] = host.key
    if placed.is_guess:
        entry["host_is_guess"] = True
    if vm.affinity:
        if not placed.is_guess and _affinity_is_sound(vm.affinity, host.logical_cpus):
            entry["affinity"] = Quoted(vm.affinity)
        else:
            notes.vm(vm.name, "affinity left out: not logical CPUs of its host")
    if not vm.live_migration:
        entry["live_migration"] = False
    if vm.storage_appliance:
        entry["storage_appliance"] = True
    return entry | source.guest_os(vm.guest_os)


def _size(
    vm: Vm, used: tuple[int | None, int | None], of_memory: dict[str, Any], host: ScenarioHost, notes: ImportNotes
) -> dict[str, Any]:
    """Return vCPUs, memory and restart priority."""
    entry: dict[str, Any] = {"vcpus": vm.vcpus}
    if vm.cores_per_socket is not None and vm.cores_per_socket > 1:
        if vm.vcpus % vm.cores_per_socket == 0:
            entry["cores_per_socket"] = vm.cores_per_socket
        else:
            notes.vm(vm.name, "cores per socket left out: they do not divide its vCPUs")
    entry["memory"] = memory_size(vm.memory_bytes)
    for key, size in zip(("memory_touched", "memory_active"), used, strict=True):
        if size is not None:
            entry[key] = memory_size(min(size, vm.memory_bytes))
    entry |= of_memory
    if vm.restart_priority in RESTART_PRIORITIES:
        entry["restart_priority"] = vm.restart_priority
    if vm.cpu_hot_add:
        if "cpu_hot_add" in host.options.vm:
            entry["cpu_hot_add"] = True
        else:
            notes.vm(vm.name, "CPU hot-add left out: an option of ESXi")
    return entry


def entitlement(vm: Vm, reservation_hz: int, notes: ImportNotes) -> dict[str, Any]:
    """Return CPU shares, reservation and limit, if they are not the default."""
    entry: dict[str, Any] = {}
    shares = _shares(vm, notes)
    if shares != "normal":
        entry["shares"] = shares
    if reservation_hz:
        entry["reservation"] = frequency(reservation_hz)
    limit_hz = plausible_hz(vm.limit_mhz)
    if limit_hz:
        if limit_hz < reservation_hz:
            notes.vm(vm.name, "limit below the reservation: raised to it")
        entry["limit"] = frequency(max(limit_hz, reservation_hz, LEAST_LIMIT_HZ))
    return entry


def _shares(vm: Vm, notes: ImportNotes) -> str | int:
    if vm.shares is None or vm.shares in ("low", "normal", "high"):
        return vm.shares or "normal"
    if isinstance(vm.shares, int) and 1 <= vm.shares <= 1_000_000:
        return "normal" if vm.shares == 1000 * vm.vcpus else vm.shares
    notes.vm(vm.name, "shares out of range: assumed normal")
    return "normal"


def _affinity_is_sound(text: str, logical_cpus: int) -> bool:
    if len(text) > 10_000 or not text.isascii() or not _AFFINITY.match(text):
        return False
    ranges = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return all(first_last[0] <= first_last[-1] < logical_cpus for first_last in ranges)


def _numa(vm: Vm, host: ScenarioHost, notes: ImportNotes) -> dict[str, Any]:
    """Return the options of virtual NUMA that its host's hypervisor supports, with valid values."""
    sound: dict[str, Any] = {}
    for option, value in vm.numa.items():
        if (
            option in host.options.numa
            and value not in ([], ())
            and _is_accepted(_scenario_of(option, value, vm, host))
        ):
            sound[option] = tuple(value) if isinstance(value, list | tuple) else value
        else:
            name = short(outside.name(str(option)), 40)
            notes.vm(vm.name, f"numa.{name} left out: not for its host")
    if "nodes" in sound and len(sound["nodes"]) != len(sound.get("cells", ())):
        del sound["nodes"]
        notes.vm(vm.name, "numa.nodes left out: not one for each of its cells")
    return sound


def _scenario_of(option: str, value: object, vm: Vm, host: ScenarioHost) -> str:
    """Return a scenario, as JSON, of one such VM with this option of `vms.NAME.numa` on such a host."""
    entry = {"vcpus": vm.vcpus, "memory": memory_size(vm.memory_bytes), "workload": "any", "numa": {option: value}}
    scenario = {"hosts": {"host": host.hardware()}, "vms": {"vm": entry}, "workloads": {"any": open_load()}}
    return json.dumps({"name": "one-vm", **scenario})


@cache
def _is_accepted(scenario: str) -> bool:
    """True if the scenario is valid. Equal VMs of a large cluster are checked once."""
    try:
        _core.validate(scenario)
    except _core.ScenarioMistakes as error:
        return {mistake["code"] for mistake in json.loads(error.args[0])} == {"nodes-not-cells"}
    return True
