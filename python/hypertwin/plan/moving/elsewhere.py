"""A VM on KVM (by virt-v2v), OpenShift Virtualization (by Forklift), Hyper-V and AHV.

Sources: virt-v2v's documentation at 71376bdb, `pkg/controller/plan/adapter/vsphere/builder.go` of kubev2v/forklift at
d42511bb, the overview and the questions of the VM Conversion extension (MicrosoftDocs/windowsserverdocs at 7a8b9f9a).
The rules for AHV are not checked: no public source of Nutanix has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypertwin.language import Vm
from hypertwin.plan.moving import devices, guest, names
from hypertwin.plan.moving.target import Target

GIB = 2**30
Settings = dict[str, str]


def _memory(vm: Vm) -> str:
    return f"{vm.memory_bytes / GIB:g} GiB"


def _sockets(vm: Vm) -> tuple[int, int]:
    cores = vm.cores_per_socket or 1
    return vm.vcpus // cores, cores


def _tpm(vm: Vm, new: str, none: str | None = None) -> Settings:
    """Return the TPM, which is always new: its content does not move."""
    return {"tpm": new} if vm.source.tpm else {"tpm": none} if none and vm.source.tpm is False else {}


def _numbered(count: int | None, key: str, value: str) -> Settings:
    return {f"{key}{number}": value for number in range(count or 0)}


def _counts(vm: Vm) -> tuple[int | None, int | None]:
    disks, networks = vm.source.disks, vm.source.networks
    return None if disks is None else len(disks), None if networks is None else len(networks)


def _openshift(vm: Vm) -> Settings:
    sockets, cores = _sockets(vm)
    disks, networks = _counts(vm)
    boot = {"bios": "bios", "efi": f"efi, secureBoot={'true' if vm.source.secure_boot else 'false'}"}
    return {
        "name": names.openshift(vm.called),
        "cpu": f"sockets={sockets}, cores={cores}",
        "memory.guest": _memory(vm),
        **({"firmware.bootloader": boot[vm.source.firmware]} if vm.source.firmware else {}),
        **_tpm(vm, "persistent, empty", "disabled"),
        **_numbered(disks, "disk", "virtio"),
        **_numbered(networks, "interface", "virtio"),
    }


def _kvm(vm: Vm) -> Settings:
    sockets, cores = _sockets(vm)
    disks, networks = _counts(vm)
    loader = {"bios": "SeaBIOS", "efi": "OVMF, of the version on the conversion host"}
    return {
        "name": vm.called,
        "vcpu": str(vm.vcpus),
        **({"topology": f"sockets={sockets} cores={cores} threads=1"} if cores > 1 else {}),
        "memory": _memory(vm),
        **({"loader": loader[vm.source.firmware]} if vm.source.firmware else {}),
        **_tpm(vm, "tpm-crb 2.0, empty"),
        **_numbered(disks, "disk", "virtio-blk"),
        **_numbered(networks, "interface", "virtio-net"),
    }


def _hyperv(vm: Vm) -> Settings:
    disks, networks = _counts(vm)
    settings = {"name": vm.called, "processors": str(vm.vcpus), "memory": f"{_memory(vm)}, static"}
    generation = {"bios": "1", "efi": "2"}.get(vm.source.firmware or "")
    found = guest.guest(vm)
    if generation:
        settings["generation"] = generation
    if generation == "2" and vm.source.secure_boot and found is not None:
        windows = found.family == "windows"
        settings["secure boot"] = "MicrosoftWindows" if windows else "MicrosoftUEFICertificateAuthority"
    settings |= _tpm(vm, "empty")
    for number in range(disks or 0):
        is_ide = generation == "1" and number == 0
        bus = "" if generation is None else "IDE, " if is_ide else "SCSI, "
        settings[f"disk{number}"] = f"{bus}dynamic VHDX"
    return settings | _numbered(networks, "adapter", "synthetic")


def _ahv(vm: Vm) -> Settings:
    sockets, cores = _sockets(vm)
    disks, networks = _counts(vm)
    boot = {"bios": "legacy", "efi": "UEFI with Secure Boot" if vm.source.secure_boot else "UEFI"}
    return {
        "name": vm.called,
        "vcpus": f"{sockets} with {cores} core{'s' * (cores > 1)} each",
        "memory": _memory(vm),
        **({"boot": boot[vm.source.firmware]} if vm.source.firmware else {}),
        **_numbered(disks, "disk", "SCSI"),
        **_numbered(networks, "adapter", "virtio"),
    }


MADE: Mapping[Target, Callable[[Vm], Settings]] = {
    "openshift": _openshift,
    "kvm": _kvm,
    "hyperv": _hyperv,
    "ahv": _ahv,
}
"""Settings of a VM, by target."""


def unknown(vm: Vm) -> list[str]:
    """Return the facts that decide a setting and that the source lacks."""
    facts = {"firmware": vm.source.firmware, "disks": vm.source.disks, "networks": vm.source.networks}
    missing = [name for name, value in facts.items() if value is None]
    return [*missing, *(["disks.controller"] if "disks" not in missing and devices.slots(vm) is None else [])]
