"""VMs of an inventory as VMs of a scenario: those that are on, with a size and options that their host can have."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypertwin import _core
from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Inventory, Vm
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.load import Workloads, open_load
from hypertwin.ingest.to_scenario.notes import Notes, too_many
from hypertwin.ingest.to_scenario.yaml_text import Quoted, frequency, memory_size, plausible_hz
from hypertwin.language import limits

Hosts = dict[str, ScenarioHost]
"""The scenario's hosts, by their name in the inventory."""

LEAST_LIMIT_HZ = 1_000_000
_AFFINITY = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*\Z")


def kept(inventory: Inventory, hosts: Hosts, notes: Notes) -> list[Vm]:
    """The VMs that the scenario has, by name. Raises SourceError where they are more than a scenario takes."""
    found = []
    listed = {host.name for host in inventory.hosts}
    for vm in sorted(inventory.vms, key=lambda vm: (vm.name, vm.host or "")):
        host = hosts.get(vm.host or "")
        why = _why_left_out(vm, host, hosts)
        if why is not None:
            notes.vm(vm.name, f"left out: {why}", named=vm.powered_on and not vm.is_template)
            continue
        if host is None:
            unplaced = "no host is named"
            if vm.host:
                unplaced = "its host was left out" if vm.host in listed else "its host is not in the source"
            notes.vm(vm.name, f"{unplaced}: spread over all hosts")
        elif vm.memory_bytes > host.memory_bytes:
            notes.vm(vm.name, "more memory than its host: as much as that")
            found.append(replace(vm, memory_bytes=host.memory_bytes))
            continue
        found.append(vm)
    most = limits()
    if len(found) > most.vm_groups:
        too_many(inventory.source, "machines that are on", len(found), most.vm_groups)
    vcpus = sum(vm.vcpus for vm in found)
    if vcpus > most.vcpus:
        too_many(inventory.source, "vCPUs of machines that are on", vcpus, most.vcpus)
    _note_overcommitted_memory(found, hosts, notes)
    return found


def _why_left_out(vm: Vm, host: ScenarioHost | None, hosts: Hosts) -> str | None:
    if vm.is_template:
        return "templates"
    if not vm.powered_on:
        return "not powered on"
    most = limits()
    if not (1 <= vm.vcpus <= most.vcpus_per_vm and most.least_memory_bytes <= vm.memory_bytes <= most.memory_bytes):
        return "no plausible number of vCPUs or size of memory"
    if all(vm.vcpus > each.logical_cpus for each in ((host,) if host is not None else hosts.values())):
        return "more vCPUs than its host has logical CPUs"
    if host is None and not any(
        vm.vcpus <= each.logical_cpus and vm.memory_bytes <= each.memory_bytes for each in hosts.values()
    ):
        return "its host is not known, and it fits no other"
    return None


def _note_overcommitted_memory(vms: Iterable[Vm], hosts: Hosts, notes: Notes) -> None:
    configured: Counter[str] = Counter()
    for vm in vms:
        if vm.host in hosts:
            configured[vm.host] += vm.memory_bytes
    for name, used in sorted(configured.items()):
        if used > hosts[name].memory_bytes:
            notes.host(name, "more memory configured than there is: neither ballooning nor swapping is simulated")


def convert(vms: Sequence[tuple[str, Vm]], hosts: Hosts, notes: Notes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scenario's `vms` and `workloads`, of VMs with their keys."""
    reservations = _reservations(vms, hosts, notes)
    workloads = Workloads((vm for _, vm in vms), hosts, notes)
    entries = {}
    for key, vm in vms:
        host = hosts.get(vm.host or "")
        entry = _entry(key, vm, host, hosts, reservations.get(key, 0), notes)
        entry["workload"], entry["load"] = workloads.add(key, vm, host)
        entries[key] = entry
    return entries, dict(sorted(workloads.entries.items()))


def _reservations(vms: Iterable[tuple[str, Vm]], hosts: Hosts, notes: Notes) -> dict[str, int]:
    """The reservation of each VM that has one, in Hz; no host has more reserved than it can give."""
    asked: dict[str, dict[str, int]] = {}
    for key, vm in vms:
        hz = plausible_hz(vm.reservation_mhz)
        if not hz:
            continue
        host = hosts.get(vm.host or "")
        if host is None:
            notes.vm(vm.name, "reservation left out: it is not known on which host")
        elif not host.options.reservations:
            notes.vm(vm.name, "reservation left out: Linux has none for CPU")
        else:
            asked.setdefault(vm.host or "", {})[key] = hz
    given: dict[str, int] = {}
    for name, by_key in asked.items():
        total, capacity = sum(by_key.values()), hosts[name].capacity_hz
        if total > capacity:
            notes.host(name, "more CPU reserved than it has: all its reservations are cut alike")
        given |= {key: hz * min(capacity, total) // total for key, hz in by_key.items()}
    return given


def _entry(
    key: str, vm: Vm, host: ScenarioHost | None, hosts: Hosts, reservation_hz: int, notes: Notes
) -> dict[str, Any]:
    """A VM's entry, without its load; the order of its keys is the schema's."""
    label = outside.name(vm.name)
    entry: dict[str, Any] = {"label": Quoted(label)} if label and label != key else {}
    entry |= _size(vm, hosts.values() if host is None else (host,), notes)
    numa = _numa(vm, host, notes)
    if numa:
        entry["numa"] = numa
    entry |= _entitlement(vm, reservation_hz, notes)
    if host is not None:
        entry["host"] = host.key
    if vm.affinity:
        if host is not None and _affinity_is_sound(vm.affinity, host.logical_cpus):
            entry["affinity"] = Quoted(vm.affinity)
        else:
            notes.vm(vm.name, "affinity left out: not logical CPUs of its host")
    if vm.storage_appliance:
        entry["storage_appliance"] = True
    return entry


def _size(vm: Vm, candidates: Iterable[ScenarioHost], notes: Notes) -> dict[str, Any]:
    """vCPUs and memory, on one of the hosts where it may run."""
    entry: dict[str, Any] = {"vcpus": vm.vcpus}
    if vm.cores_per_socket is not None and vm.cores_per_socket > 1:
        if vm.vcpus % vm.cores_per_socket == 0:
            entry["cores_per_socket"] = vm.cores_per_socket
        else:
            notes.vm(vm.name, "cores per socket left out: they do not divide its vCPUs")
    entry["memory"] = memory_size(vm.memory_bytes)
    if vm.cpu_hot_add:
        if any("cpu_hot_add" in host.options.vm for host in candidates):
            entry["cpu_hot_add"] = True
        else:
            notes.vm(vm.name, "CPU hot-add left out: an option of ESXi")
    return entry


def _entitlement(vm: Vm, reservation_hz: int, notes: Notes) -> dict[str, Any]:
    """Shares, reservation and limit, where they are not the default."""
    entry: dict[str, Any] = {}
    shares = _shares(vm, notes)
    if shares != "normal":
        entry["shares"] = shares
    if reservation_hz:
        entry["reservation"] = frequency(reservation_hz)
    limit_hz = plausible_hz(vm.limit_mhz)
    if limit_hz:
        if limit_hz < reservation_hz:
            notes.vm(vm.name, "limit under the reservation: raised to it")
        entry["limit"] = frequency(max(limit_hz, reservation_hz, LEAST_LIMIT_HZ))
    return entry


def _shares(vm: Vm, notes: Notes) -> str | int:
    if vm.shares is None or vm.shares in ("low", "normal", "high"):
        return vm.shares or "normal"
    if isinstance(vm.shares, int) and 1 <= vm.shares <= 1_000_000:
        return "normal" if vm.shares == 1000 * vm.vcpus else vm.shares
    notes.vm(vm.name, "shares that a machine cannot have: normal")
    return "normal"


def _affinity_is_sound(text: str, logical_cpus: int) -> bool:
    if len(text) > 10_000 or not text.isascii() or not _AFFINITY.match(text):
        return False
    ranges = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return all(first_last[0] <= first_last[-1] < logical_cpus for first_last in ranges)


def _numa(vm: Vm, host: ScenarioHost | None, notes: Notes) -> dict[str, Any]:
    """The options of virtual NUMA that its host's hypervisor has, with values that make sense."""
    sound: dict[str, Any] = {}
    for option, value in vm.numa.items():
        if host is not None and _is_accepted(option, value, vm, host):
            sound[option] = tuple(value) if isinstance(value, list | tuple) else value
        else:
            name = short(outside.name(str(option)), 40)
            notes.vm(vm.name, f"numa.{name} left out: not for its host")
    if "nodes" in sound and len(sound["nodes"]) != len(sound.get("cells", ())):
        del sound["nodes"]
        notes.vm(vm.name, "numa.nodes left out: not one for each of its cells")
    return sound


def _is_accepted(option: str, value: object, vm: Vm, host: ScenarioHost) -> bool:
    """Whether a scenario takes this option of `vms.NAME.numa`, with this value, for a VM on this host."""
    if option not in host.options.numa or value in ([], ()):
        return False
    entry = {"vcpus": vm.vcpus, "memory": memory_size(vm.memory_bytes), "workload": "any", "numa": {option: value}}
    scenario = {"hosts": {"host": host.entry()}, "vms": {"vm": entry}, "workloads": {"any": open_load()}}
    try:
        _core.validate(json.dumps({"name": "one-vm", **scenario}))
    except _core.ScenarioMistakes as error:
        return {mistake["code"] for mistake in json.loads(error.args[0])} == {"nodes-not-cells"}
    return True
