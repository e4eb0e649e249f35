"""A VM on Proxmox VE: as its importer of ESXi makes it, and as it is best.

The importer is `ESXiPlugin.pm` of proxmox/pve-storage at 0c56bad8, with the dialog `GuestImport.js` of
proxmox/pve-manager at 14a22df3. Limits are those of proxmox/qemu-server at e6352be6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypertwin.language import Vm
from hypertwin.members import SourceNetwork
from hypertwin.plan.moving import devices, guest, names
from hypertwin.plan.moving.context import Context

MIB = 2**20
MAX_DISKS = {"scsi": 31, "sata": 6, "ide": 4}
"""Maximum number of disks of a VM, by bus."""
MODELS = frozenset(
    (
        *("e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b", "i82559er"),
        *("ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3"),
    )
)
"""Models of adapters that Proxmox VE knows."""
VIRTIO_SINGLE = "virtio-scsi-single"
DIALOG_CPU = "x86-64-v2-AES"
"""CPU type that the dialog offers first."""
VIRTUAL_NUMA_VCPUS = 9
"""Minimum vCPUs for which ESXi presents several NUMA nodes by default."""
DEFAULT_UNITS = 100
"""Default of `cpuunits` with cgroup v2."""
MAX_UNITS = 10_000


@dataclass(frozen=True)
class Imported:
    """Settings and warnings of the importer."""

    settings: Mapping[str, str]
    """Settings by their key in Proxmox VE, in the order of its dialog."""
    warnings: tuple[str, ...]
    """Warnings by their names in the importer."""
    unknown: tuple[str, ...] = ()
    """Facts that decide a setting and that the source lacks, by their names in `facts.WHERE`."""
    scsihw_is_unknown: bool = False


@dataclass
class _Made:
    settings: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def imported(vm: Vm) -> Imported:
    """Return what the importer makes of a VM."""
    made = _Made()
    settings = made.settings
    if name := names.proxmox(vm.called):
        settings["name"] = name
    cores = vm.cores_per_socket or 1
    settings |= {"cores": str(cores), "sockets": str(vm.vcpus // cores), "memory": str(vm.memory_bytes // MIB)}
    found = guest.guest(vm)
    if found is None:
        made.unknown.append("guest_os")
    else:
        settings["ostype"] = found.ostype
    _firmware(vm, made)
    hardware = _disks(vm, made)
    is_unknown = vm.source.disks is None or "disks.controller" in made.unknown
    if not is_unknown:
        is_unknown = not _scsi_hardware(vm, hardware, found, made)
    _networks(vm, made)
    if vm.source.cds_connected:
        made.warnings.append("cdrom-image-ignored")
    made.warnings.append("guest-is-running")
    return Imported(settings, tuple(made.warnings), tuple(dict.fromkeys(made.unknown)), is_unknown)


def _firmware(vm: Vm, made: _Made) -> None:
    if vm.source.firmware is None:
        made.unknown.append("firmware")
    elif vm.source.firmware == "efi":
        made.settings |= {"bios": "ovmf", "efidisk0": "efitype=4m"}
        made.warnings.append("efi-state-lost")
    else:
        made.settings["bios"] = "seabios"


def scsi_hardware(slot: devices.Slot) -> str | None:
    """Return the controller type that a disk asks for, or None if it asks for none."""
    kind = slot.kind or ""
    return "lsi" if kind.startswith("lsi") else "pvscsi" if kind == "pvscsi" else None


def _ordered(vm: Vm) -> list[devices.Slot] | None:
    """Return the disks in the order of the importer: those of NVMe controllers are last."""
    found = devices.slots(vm)
    return None if found is None else sorted(found, key=lambda slot: slot.bus == "nvme")


def disks_by_bus(vm: Vm) -> Counter[str] | None:
    """Return the number of disks by bus in Proxmox VE, or None if a controller is unknown."""
    found = _ordered(vm)
    return None if found is None else Counter("scsi" if slot.bus == "nvme" else slot.bus for slot in found)


def _disks(vm: Vm, made: _Made) -> str | None:
    """Add the disks in the importer's order, and return the controller type that the first of them asks for."""
    ordered = _ordered(vm)
    if ordered is None:
        made.unknown.append("disks" if vm.source.disks is None else "disks.controller")
        return None
    counts: Counter[str] = Counter()
    keys = []
    for slot in ordered:
        bus = "scsi" if slot.bus == "nvme" else slot.bus
        if slot.bus == "nvme":
            made.warnings.append("nvme-unsupported")
        key = f"{bus}{counts[bus]}"
        counts[bus] += 1
        keys.append(key)
        size = slot.disk.capacity_bytes
        made.settings[key] = f"{slot.disk.label or slot.key}{'' if size is None else f', {size / 2**30:g} GiB'}"
    if keys:
        made.settings["boot"] = f"order={';'.join(keys)}"
    return next((hardware for slot in ordered if (hardware := scsi_hardware(slot)) is not None), None)


def _scsi_hardware(vm: Vm, asked: str | None, found: guest.Guest | None, made: _Made) -> bool:
    """Set the type of the SCSI controller, and return true if it is known."""
    hardware = asked
    if hardware is None:
        if found is None:
            return False
        hardware = VIRTIO_SINGLE if found.ostype == guest.LINUX else None
    if hardware in (None, "lsi"):
        if vm.source.firmware is None:
            return False
        if vm.source.firmware == "efi":
            if found is None:
                return False
            hardware = "pvscsi" if found.family == "windows" else VIRTIO_SINGLE
            made.warnings.append("ovmf-with-lsi-unsupported")
    made.settings["scsihw"] = hardware or "lsi"  # without a type, the default of Proxmox VE
    return True


def model(network: SourceNetwork) -> str:
    """Return the model of an adapter that the importer sets. An adapter without a type counts as vmxnet3."""
    found = devices.adapter(network)
    return "vmxnet3" if found in (None, "flexible") else found


def _networks(vm: Vm, made: _Made) -> None:
    if vm.source.networks is None:
        made.unknown.append("networks")
        return
    for number, network in enumerate(vm.source.networks):
        if network.adapter is None:
            made.unknown.append("networks.adapter")
        made.settings[f"net{number}"] = model(network)


def best(vm: Vm, context: Context) -> Mapping[str, str]:
    """Return the settings that differ from the importer's and that are better for performance or safety."""
    settings: dict[str, str] = {"scsihw": VIRTIO_SINGLE}
    if (counts := disks_by_bus(vm)) is not None:
        settings |= {f"scsi{number}": "iothread=1,discard=on" for number in range(min(sum(counts.values()), 31))}
    for number, network in enumerate(vm.source.networks or ()):
        settings[f"net{number}"] = f"virtio,tag={network.vlan}" if 0 < (network.vlan or 0) < 4095 else "virtio"
    settings["cpu"] = _cpu(context)
    settings |= _topology(vm, context)
    if vm.memory_reservation_bytes:
        settings["balloon"] = "0"
    if vm.vcpus and vm.shares != 1_000 * vm.vcpus:
        units = round(DEFAULT_UNITS * vm.shares / (1_000 * vm.vcpus))
        settings["cpuunits"] = str(min(max(units, 1), MAX_UNITS))
    host = context.hosts.get(vm.host)
    if vm.limit_hz is not None and host is not None:
        settings["cpulimit"] = f"{max(round(vm.limit_hz / host.clock_hz, 2), 0.01):g}"
    if vm.source.tpm:
        settings["tpmstate0"] = "version=v2.0"
    if vm.source.secure_boot:
        settings["efidisk0"] = "efitype=4m,pre-enrolled-keys=1"
    if vm.source.tools == "running":
        settings["agent"] = "1"
    return settings


def _cpu(context: Context) -> str:
    """Return the CPU type: `host` if all hosts of the target have one CPU model, otherwise the dialog's."""
    models = {host.cpu_model for host in context.target_hosts}
    return "host" if len(models) == 1 and None not in models else DIALOG_CPU


def _topology(vm: Vm, context: Context) -> Mapping[str, str]:
    """Return one virtual socket per NUMA node that the VM has or needs on its host, for VMs of several nodes.

    vCPUs that cannot be divided evenly over at most twice the fewest nodes have no such topology.
    """
    host = context.hosts.get(vm.host)
    if vm.vcpus < VIRTUAL_NUMA_VCPUS and (host is None or vm.vcpus <= host.cores_per_node):
        return {}
    cores = vm.cores_per_socket or 1
    nodes = vm.vcpus // cores if cores > 1 else 1
    if cores == 1 and host is not None:
        fewest = -(-vm.vcpus // host.cores_per_node)
        nodes = next((number for number in range(fewest, 2 * fewest + 1) if vm.vcpus % number == 0), 0)
        if not nodes:
            return {}
    return {"numa": "1", "sockets": str(nodes), "cores": str(vm.vcpus // nodes)}
