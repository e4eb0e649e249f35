"""Conditions of rules: each answers for one VM with true, false, or None if the source lacks a fact.

A text is true with details: the disks, adapters or file systems in question. `NEEDS` has the facts that each condition
reads, by their names in `facts.WHERE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hypertwin.language import Vm
from hypertwin.members import SourceDisk, SourceNetwork, SourcePartition
from hypertwin.plan.moving import devices, guest, names, proxmox
from hypertwin.plan.moving.context import Context

MIB = 2**20
TIB = 2**40
Answer = str | bool | None
Parameters = Mapping[str, Any]
Condition = Callable[[Vm, Context, Parameters], Answer]
Part = TypeVar("Part")

CONDITIONS: dict[str, Condition] = {}
"""Conditions by name."""
NEEDS: dict[str, tuple[str, ...]] = {}
"""Facts that a condition reads, by name of the condition."""
MAX_DETAILS = 4
"""Maximum number of disks or adapters in a detail."""
ROOT_FREE, BOOT_FREE, OTHER_FREE = 100 * MIB, 50 * MIB, 10 * MIB
"""Free space that a conversion needs on `/` or `C:`, on `/boot`, and on other file systems."""
_SYSTEM = frozenset(("/", "c:", "c:\\", "c:/"))


def _condition(name: str, *needs: str) -> Callable[[Condition], Condition]:
    def register(condition: Condition) -> Condition:
        CONDITIONS[name], NEEDS[name] = condition, needs
        return condition

    return register


def _any(parts: Iterable[Part] | None, fires: Callable[[Part], bool | None], called: Callable[[Part], str]) -> Answer:
    """Return the parts that fire as a text, None if one of them can fire and is unknown, otherwise false."""
    if parts is None:
        return None
    answers = [(part, fires(part)) for part in parts]
    found = [called(part) for part, answer in answers if answer]
    if found:
        more = f" and {len(found) - MAX_DETAILS} more" if len(found) > MAX_DETAILS else ""
        return f"{', '.join(found[:MAX_DETAILS])}{more}"
    return None if any(answer is None for _, answer in answers) else False


def _disks(vm: Vm, fires: Callable[[SourceDisk], bool | None]) -> Answer:
    return _any(vm.source.disks, fires, lambda disk: disk.label or "a disk")


def _networks(vm: Vm, fires: Callable[[SourceNetwork], bool | None]) -> Answer:
    return _any(vm.source.networks, fires, lambda network: network.network or network.adapter or "an adapter")


def _is(value: Part | None, *wanted: Part) -> bool | None:
    return None if value is None else value in wanted


def _above(value: float | None, least: float = 0) -> bool | None:
    return None if value is None else value > least


def _fact(name: str, fact: str, value: str | bool = True) -> None:
    """Register the condition that a fact of the source has this value."""
    _condition(name, fact)(lambda vm, _, __: _is(getattr(vm.source, fact), value))


def _number(name: str, fact: str) -> None:
    """Register the condition that a number in the source is above 0."""
    _condition(name, fact)(lambda vm, _, __: _above(getattr(vm.source, fact)))


def _disk(name: str, fact: str, fires: Callable[[Any], bool]) -> None:
    """Register the condition that a known fact about a disk fires."""

    def asks(disk: SourceDisk) -> bool | None:
        value = getattr(disk, _FIELDS.get(fact, fact))
        return None if value is None else fires(value)

    _condition(name, "disks", f"disks.{fact}")(lambda vm, _, __: _disks(vm, asks))


_FIELDS = {"capacity": "capacity_bytes"}
"""Fields of a disk whose fact has another name."""

# disks

_disk("disk-without-capacity", "capacity", lambda size: size == 0)
_disk("disk-without-file", "path", lambda path: path == "")
_disk("independent-disk", "mode", lambda mode: mode.startswith("independent"))
_disk("shared-disk", "shared", bool)
_disk("thick-disk", "thin", lambda thin: not thin)


@_condition("raw-disk", "disks", "disks.raw")
def _raw(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    return _disks(vm, lambda disk: _is(disk.raw, *parameters.get("of", ("physical", "virtual"))))


@_condition("disk-of-at-least", "disks", "disks.capacity")
def _large_disk(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    least = parameters["tib"] * TIB
    return _disks(vm, lambda disk: None if disk.capacity_bytes is None else disk.capacity_bytes >= least)


def _more(parts: Sequence[Part] | None, parameters: Parameters, noun: str) -> Answer:
    if parts is None:
        return None
    return f"{len(parts)} {noun}" if len(parts) > parameters["most"] else False


_condition("more-disks-than", "disks")(lambda vm, _, parameters: _more(vm.source.disks, parameters, "disks"))


@_condition("serial-numbers-of-disks", "disk_uuid", "disks.controller")
def _serials(vm: Vm, _: Context, __: Parameters) -> Answer:
    if vm.source.disk_uuid is not True:
        return vm.source.disk_uuid
    return _disks(vm, lambda disk: _on_bus(disk, "scsi"))


def _on_bus(disk: SourceDisk, bus: str) -> bool | None:
    known = devices.controller(disk.controller)
    return None if known is None else known[0] == bus


@_condition("disk-on-bus", "disks", "disks.controller")
def _bus(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    return _disks(vm, lambda disk: _on_bus(disk, parameters["bus"]))


@_condition("disk-on-datastore", "disks", "disks.path", "datastores")
def _datastore(vm: Vm, context: Context, parameters: Parameters) -> Answer:
    return _disks(vm, lambda disk: _is_of_kind(disk, context, parameters["kind"]))


def _is_of_kind(disk: SourceDisk, context: Context, kind: str) -> bool | None:
    store = re.match(r"\[([^\]]{1,256})\]", disk.path or "")
    if store is None or (known := context.datastores.get(store[1])) is None:
        return None if disk.path != "" else False
    return known.casefold() == kind


@_condition("several-scsi-types", "disks", "disks.controller")
def _several(vm: Vm, _: Context, __: Parameters) -> Answer:
    found = devices.slots(vm)
    if found is None:
        return None
    kinds = list(dict.fromkeys(kind for slot in found if (kind := proxmox.scsi_hardware(slot)) is not None))
    return " and ".join(kinds) if len(kinds) > 1 else False


@_condition("uefi-with-lsi", "firmware", "disks.controller", "guest_os")
def _uefi_with_lsi(vm: Vm, _: Context, __: Parameters) -> Answer:
    if vm.source.firmware != "efi":
        return _is(vm.source.firmware, "efi")
    made = proxmox.imported(vm)
    return None if made.scsihw_is_unknown else "ovmf-with-lsi-unsupported" in made.warnings


@_condition("too-many-on-bus", "disks", "disks.controller")
def _too_many(vm: Vm, _: Context, __: Parameters) -> Answer:
    counts = proxmox.disks_by_bus(vm)
    if counts is None:
        return None
    over = [
        f"{count} {bus} disks of {most}" for bus, most in proxmox.MAX_DISKS.items() if (count := counts[bus]) > most
    ]
    return ", ".join(over) or False


# devices

_fact("tpm", "tpm")
_number("cd-connected", "cds_connected")
_number("passthrough-device", "passthrough_devices")
_number("usb-device", "usb_devices")


@_condition("sr-iov", "networks", "networks.adapter")
def _sriov(vm: Vm, _: Context, __: Parameters) -> Answer:
    return _networks(vm, lambda network: None if network.adapter is None else devices.adapter(network) == "sriov")


@_condition("adapter-unknown-to-proxmox", "networks", "networks.adapter")
def _unknown_adapter(vm: Vm, _: Context, __: Parameters) -> Answer:
    return _networks(
        vm, lambda network: None if network.adapter is None else proxmox.model(network) not in proxmox.MODELS
    )


@_condition("more-networks-than", "networks")
def _many_networks(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    return _more(vm.source.networks, parameters, "adapters")


@_condition("vlan", "networks", "networks.vlan")
def _vlan(vm: Vm, _: Context, __: Parameters) -> Answer:
    return _any(
        vm.source.networks,
        lambda network: _above(network.vlan),
        lambda network: f"{network.network or 'an adapter'}: VLAN {network.vlan}",
    )


# guest

_fact("host-name-default", "host_name", "localhost.localdomain")
_fact("host-name-empty", "host_name", "")
_fact("no-ip-address", "has_ip", False)
_condition("little-free-space", "partitions")(lambda vm, _, __: _any(vm.source.partitions, _is_short, _shown))


def _is_short(partition: SourcePartition) -> bool | None:
    if partition.free_bytes is None or partition.path is None:
        return None
    return partition.free_bytes < _least_free(partition.path)


def _least_free(path: str) -> int:
    return ROOT_FREE if path.lower() in _SYSTEM else BOOT_FREE if path == "/boot" else OTHER_FREE


def _shown(partition: SourcePartition) -> str:
    path, free = partition.path or "", partition.free_bytes or 0
    return f"{path} has {free // MIB} MiB free of {_least_free(path) // MIB} MiB"


@_condition("guest-family", "guest_os")
def _family(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    found = guest.guest(vm)
    return None if found is None else found.family == parameters["family"]


@_condition("guest-not-listed", "guest_os")
def _not_listed(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    """The guest matches none of the expressions `listed`, which a name or an identifier contains."""
    texts = [text for text in (vm.guest_os, vm.source.guest_id) if text and text.strip()]
    if not texts:
        return None
    if any(re.search(pattern, text, re.IGNORECASE) for pattern in parameters["listed"] for text in texts):
        return False
    return texts[0]


@_condition("guest-not-recognised", "guest_os")
def _not_recognised(vm: Vm, _: Context, __: Parameters) -> Answer:
    found = guest.guest(vm)
    if found is None:
        return None
    return False if guest.is_recognised(found) else found.name


@_condition("windows-on-scsi", "guest_os", "disks", "disks.controller")
def _windows_on_scsi(vm: Vm, context: Context, _: Parameters) -> Answer:
    is_windows = _family(vm, context, {"family": "windows"})
    return _bus(vm, context, {"bus": "scsi"}) if is_windows else is_windows


@_condition("windows-with-tpm", "guest_os", "tpm")
def _windows_with_tpm(vm: Vm, context: Context, _: Parameters) -> Answer:
    is_windows = _family(vm, context, {"family": "windows"})
    return vm.source.tpm if is_windows else is_windows


_condition("tools", "tools")(lambda vm, _, parameters: _is(vm.source.tools, *parameters["states"]))


# settings

_fact("consolidation-needed", "consolidation_needed")
_fact("fault-tolerance", "fault_tolerance")
_fact("no-changed-block-tracking", "changed_block_tracking", False)
_fact("numa-affinity", "numa_affinity")
_fact("secret-in-notes", "secret_in_notes")
_fact("secure-boot", "secure_boot")
_condition("firmware", "firmware")(lambda vm, _, parameters: _is(vm.source.firmware, parameters["firmware"]))


@_condition("hardware-version-below", "hardware_version")
def _old_hardware(vm: Vm, _: Context, parameters: Parameters) -> Answer:
    version = vm.source.hardware_version
    if version is None:
        return None
    return f"version {version}" if version < parameters["version"] else False


@_condition("snapshots", "snapshots")
def _snapshots(vm: Vm, _: Context, __: Parameters) -> Answer:
    count = vm.measured.snapshot_count
    return None if count is None else f"{count} snapshot{'s' * (count > 1)}" if count else False


_condition("hot-add", "hot_add_memory")(lambda vm, _, __: True if vm.cpu_hot_add else vm.source.hot_add_memory)
_condition("cpu-affinity", "cpu_affinity")(lambda vm, _, __: True if vm.has_affinity else vm.source.cpu_affinity)


@_condition("host-rule", "rules")
def _host_rule(vm: Vm, context: Context, _: Parameters) -> Answer:
    """The rules of a scenario have no powered-off VMs."""
    known = context.cluster(vm).all_rules and vm.name not in context.off
    return True if vm.name in context.bound else False if known else None


_condition("drs", "drs")(lambda vm, context, _: context.cluster(vm).drs)
_condition("dpm", "dpm")(lambda vm, context, _: context.cluster(vm).dpm)
_condition("memory-reserved")(lambda vm, _, __: vm.memory_reservation_bytes > 0)


@_condition("cpu-entitlement")
def _entitled(vm: Vm, _: Context, __: Parameters) -> Answer:
    changed = {
        "a CPU limit": vm.limit_hz is not None,
        "a CPU reservation": vm.reservation_hz > 0,
        "CPU shares": vm.shares != 1_000 * vm.vcpus,
    }
    return ", ".join(name for name, is_set in changed.items() if is_set) or False


_condition("vcpus-above")(lambda vm, _, parameters: f"{vm.vcpus} vCPUs" if vm.vcpus > parameters["vcpus"] else False)


@_condition("larger-than-target", "target")
def _too_large(vm: Vm, context: Context, _: Parameters) -> Answer:
    hosts = context.target_hosts
    if not hosts:
        return None
    if any(vm.vcpus <= host.threads and vm.memory_bytes <= host.memory_bytes for host in hosts):
        return False
    return f"{vm.vcpus} vCPUs, {vm.memory_bytes / 2**30:g} GiB"


_condition("memory-above")(lambda vm, _, parameters: bool(vm.memory_bytes > parameters["tib"] * TIB))
_condition("powered-on")(lambda vm, context, _: vm.name not in context.off)
_condition("template")(lambda vm, context, _: vm.name in context.templates)
_condition("always")(lambda _, __, ___: True)


# names


@_condition("name-not-valid")
def _not_valid(vm: Vm, _: Context, __: Parameters) -> Answer:
    return (
        False if names.is_valid_for_openshift(vm.called) else f"becomes {names.openshift(vm.called) or 'a random name'}"
    )


@_condition("name-changes")
def _changes(vm: Vm, context: Context, _: Parameters) -> Answer:
    new = names.on(context.target, vm.called)
    return False if new == vm.called else f"becomes {new or 'no name'}"


_condition("name-of-several")(lambda vm, context, _: _any(context.same_name(vm), lambda _: True, str))


def unknown_facts(name: str, vm: Vm, context: Context) -> Sequence[str]:
    """Return the facts of a condition that are missing, by name: those to look up for an answer."""
    needs = NEEDS[name]
    missing = [each for each in needs if _is_missing(each, vm, context)]
    return missing or needs


def _is_missing(fact: str, vm: Vm, context: Context) -> bool:
    section, _, part = fact.partition(".")
    if section == "guest_os":
        return guest.guest(vm) is None
    if section == "snapshots":
        return vm.measured.snapshot_count is None
    if section in ("rules", "drs", "dpm", "target"):
        return True
    if section == "datastores":
        return not context.datastores
    value = getattr(vm.source, section)
    if not part or value is None:
        return value is None and not part
    return any(getattr(each, _FIELDS.get(part, part)) is None for each in value)
