"""Facts of VMs for a move, from vCenter: devices, firmware, guest tools.

Text of notes and of snapshots is searched for passwords and keys, and never kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from hypertwin.ingest import outside, secrets
from hypertwin.ingest.vmware import vsphere
from hypertwin.ingest.vmware.vcenter_values import enum, get, switch, text, whole
from hypertwin.ingest.vmware.vsphere import Session
from hypertwin.members import SourceDisk, SourceNetwork, SourcePartition, SourceVm

PROPERTIES = (
    *("config.version", "config.firmware", "config.bootOptions", "config.changeTrackingEnabled"),
    *("config.memoryHotAddEnabled", "config.memoryAffinity.affinitySet", "runtime.consolidationNeeded"),
    *("runtime.faultToleranceState", "guest.toolsRunningStatus", "guest.toolsStatus", "guest.hostName"),
    *("guest.ipAddress", "guest.disk"),
)
"""Properties of a VM that only a move needs."""
MAX_CAPACITY = 2**60
MAX_NUMBER = 255
MAX_VLAN = 4095
MODES = MappingProxyType(
    {
        "persistent": "persistent",
        "independent_persistent": "independent-persistent",
        "independent_nonpersistent": "independent-nonpersistent",
    }
)
_NO_FT = frozenset(("notConfigured", "disabled"))


def of_devices(devices: Sequence[Any]) -> SourceVm:
    """Return the facts in the devices of a VM."""
    from pyVmomi import vim

    kinds = vim.vm.device
    controllers = {each.key: each for each in devices if isinstance(each, kinds.VirtualController)}
    usb = (kinds.VirtualUSB, kinds.VirtualUSBController)
    passed = (kinds.VirtualPCIPassthrough, kinds.VirtualSCSIPassthrough)
    return SourceVm(
        tpm=any(isinstance(each, kinds.VirtualTPM) for each in devices),
        cds_connected=sum(
            isinstance(each, kinds.VirtualCdrom) and get(each.connectable, "connected") is True for each in devices
        ),
        usb_devices=sum(isinstance(each, usb) for each in devices),
        passthrough_devices=sum(isinstance(each, passed) for each in devices),
        disks=tuple(
            _disk(each, controllers.get(each.controllerKey or 0))
            for each in devices
            if isinstance(each, kinds.VirtualDisk)
        ),
        networks=tuple(_network(each) for each in devices if isinstance(each, kinds.VirtualEthernetCard)),
    )


def _kind(device: Any) -> str:
    """Return the type of a device, such as `ParaVirtualSCSIController`."""
    return type(device).__name__.rpartition(".")[2]


def _disk(disk: Any, controller: Any) -> SourceDisk:
    backing = disk.backing
    mode = enum(get(backing, "compatibilityMode"))
    shares = [enum(get(backing, "sharing")), enum(get(controller, "sharedBus"))]
    kilobytes = whole(disk.capacityInKB, 0, MAX_CAPACITY)
    return SourceDisk(
        label=text(get(disk.deviceInfo, "label")),
        capacity_bytes=whole(disk.capacityInBytes, 1, MAX_CAPACITY) or (kilobytes * 1024 if kilobytes else kilobytes),
        controller=None if controller is None else _kind(controller).removeprefix("Virtual"),
        controller_number=whole(get(controller, "busNumber"), 0, MAX_NUMBER),
        unit=whole(disk.unitNumber, 0, MAX_NUMBER),
        mode=MODES.get(enum(get(backing, "diskMode"))),
        raw={"physicalMode": "physical", "virtualMode": "virtual"}.get(mode, "none") if backing is not None else None,
        shared=any(each not in ("", "sharingNone", "noSharing") for each in shares) if any(shares) else None,
        thin=switch(get(backing, "thinProvisioned")),
        path=None if backing is None else outside.name(get(backing, "fileName") or ""),
    )


@dataclass(frozen=True)
class PortGroup:
    """Port group of a distributed switch."""

    name: str
    switch: str | None
    vlan: int | None
    """VLAN, 0 for none, or None for several and for a private one."""


def port_groups(session: Session, vim: Any) -> Mapping[str, PortGroup]:
    """Return the port groups of all distributed switches, by identifier. A host alone has none, and can refuse."""
    try:
        return dict(_port_groups(session, vim))
    except vsphere.FaultError:
        return {}


def _port_groups(session: Session, vim: Any) -> Iterator[tuple[str, PortGroup]]:
    root = session.content.rootFolder
    switches = {
        vsphere.moid(one): vsphere.plain_name(values.get("name", ""))
        for one, values in session.objects(vim.DistributedVirtualSwitch, ("name",), root)
    }
    paths = ("name", "config.distributedVirtualSwitch", "config.defaultPortConfig")
    for one, values in session.objects(vim.dvs.DistributedVirtualPortgroup, paths, root):
        yield (
            vsphere.moid(one),
            PortGroup(
                vsphere.plain_name(values.get("name", "")),
                switches.get(vsphere.moid(values.get("config.distributedVirtualSwitch"))) or None,
                whole(get(get(values.get("config.defaultPortConfig"), "vlan"), "vlanId"), 0, MAX_VLAN),
            ),
        )


def keys_of_ports(devices: Sequence[Any]) -> tuple[str, ...]:
    """Return the identifier of the distributed port group of each adapter, or an empty string for another network."""
    from pyVmomi import vim

    cards = (each for each in devices if isinstance(each, vim.vm.device.VirtualEthernetCard))
    return tuple(str(get(get(card.backing, "port"), "portgroupKey") or "") for card in cards)


def with_ports(source: SourceVm | None, keys: Sequence[str], groups: Mapping[str, PortGroup]) -> SourceVm | None:
    """Return the facts with network, switch and VLAN of adapters on distributed switches."""
    if source is None or source.networks is None:
        return source
    found = [
        replace(network, network=group.name or None, switch=group.switch, vlan=group.vlan)
        if (group := groups.get(key))
        else network
        for network, key in zip(source.networks, keys, strict=True)
    ]
    return replace(source, networks=tuple(found))


def _network(card: Any) -> SourceNetwork:
    """Return an adapter. A distributed switch names its port groups by identifiers: see `with_ports`."""
    return SourceNetwork(
        adapter=_kind(card).removeprefix("Virtual").removesuffix("EthernetCard"),
        network=text(get(card.backing, "deviceName")),
        connected=switch(get(card.connectable, "connected")),
    )


def of_vm(values: Mapping[str, Any], devices: SourceVm | None) -> SourceVm:
    """Return the facts of a VM from its properties, and from its devices if they were read."""
    config = values.get("summary.config")
    version = text(values.get("config.version")) or ""
    tools = _tools(values)
    address, name = text(values.get("guest.ipAddress")), text(values.get("guest.hostName"))
    fault_tolerance = enum(values.get("runtime.faultToleranceState"))
    return replace(
        devices or SourceVm(tpm=switch(get(config, "tpmPresent"))),
        guest_id=text(get(config, "guestId")),
        firmware={"efi": "efi", "bios": "bios"}.get(enum(values.get("config.firmware"))),
        secure_boot=switch(get(values.get("config.bootOptions"), "efiSecureBootEnabled")),
        hardware_version=int(digits) if (digits := version.removeprefix("vmx-")[:3]).isdecimal() else None,
        tools=tools,
        host_name=name or ("" if tools else None),
        has_ip=bool(address) if address or tools else None,
        hot_add_memory=switch(values.get("config.memoryHotAddEnabled")),
        cpu_affinity=_is_bound(values, "config.cpuAffinity.affinitySet"),
        numa_affinity=_is_bound(values, "config.memoryAffinity.affinitySet"),
        changed_block_tracking=switch(values.get("config.changeTrackingEnabled")),
        consolidation_needed=switch(values.get("runtime.consolidationNeeded")),
        fault_tolerance=fault_tolerance not in _NO_FT if fault_tolerance else None,
        secret_in_notes=None if config is None else any(map(secrets.looks_secret, _notes(config, values))),
        partitions=_partitions(values.get("guest.disk")) or None,
    )


def _tools(values: Mapping[str, Any]) -> str | None:
    running, status = enum(values.get("guest.toolsRunningStatus")), enum(values.get("guest.toolsStatus"))
    if status == "toolsNotInstalled":
        return "not-installed"
    return {"guestToolsRunning": "running", "guestToolsNotRunning": "not-running"}.get(running)


def _notes(config: Any, values: Mapping[str, Any]) -> Iterator[str]:
    yield get(config, "annotation") or ""
    waiting = list(get(values.get("snapshot"), "rootSnapshotList") or ())
    while waiting:
        one = waiting.pop()
        yield f"{get(one, 'name') or ''}\n{get(one, 'description') or ''}"
        waiting.extend(get(one, "childSnapshotList") or ())


def _is_bound(values: Mapping[str, Any], path: str) -> bool | None:
    return bool(values[path]) if path in values else None


def _partitions(disks: Any) -> tuple[SourcePartition, ...]:
    return tuple(
        SourcePartition(
            text(get(disk, "diskPath")),
            whole(get(disk, "capacity"), 0, MAX_CAPACITY),
            whole(get(disk, "freeSpace"), 0, MAX_CAPACITY),
        )
        for disk in (disks if isinstance(disks, list) else ())
    )
