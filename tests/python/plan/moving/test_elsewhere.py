"""VMs on OpenShift, KVM, Hyper-V and AHV."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.plan.moving.vms import NVME, SAS, disks, networks, vm

from hypertwin.members import SourceVm
from hypertwin.plan.moving.becomes import becomes
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.target import Target

WINDOWS, LINUX = "Microsoft Windows Server 2022 (64-bit)", "Debian GNU/Linux 12 (64-bit)"


def settings(target: Target, os: str = LINUX, **facts: Any) -> dict[str, str]:
    source = SourceVm(**{"disks": disks(SAS, NVME), "networks": networks("Vmxnet3"), "firmware": "bios", **facts})
    one = vm(label="DB 1", cores_per_socket=2, guest_os=os, source=source)
    found = becomes(one, Context(target))
    assert (found.vm, found.unknown, found.best, found.warnings) == ("db", (), {}, ())
    assert found.name == found.settings["name"]
    return dict(found.settings)


def test_openshift() -> None:
    assert settings("openshift", tpm=False) == {
        **{"name": "db-1", "cpu": "sockets=2, cores=2", "memory.guest": "8 GiB", "firmware.bootloader": "bios"},
        **{"tpm": "disabled", "disk0": "virtio", "disk1": "virtio", "interface0": "virtio"},
    }
    assert settings("openshift", firmware="efi", tpm=True)["firmware.bootloader"] == "efi, secureBoot=false"
    assert settings("openshift", firmware="efi", secure_boot=True)["firmware.bootloader"] == "efi, secureBoot=true"
    assert settings("openshift", tpm=True)["tpm"] == "persistent, empty"
    assert "tpm" not in settings("openshift")


def test_kvm() -> None:
    assert settings("kvm", tpm=False) == {
        **{"name": "DB 1", "vcpu": "4", "topology": "sockets=2 cores=2 threads=1", "memory": "8 GiB"},
        **{"loader": "SeaBIOS", "disk0": "virtio-blk", "disk1": "virtio-blk", "interface0": "virtio-net"},
    }
    assert settings("kvm", firmware="efi")["loader"].startswith("OVMF")
    assert settings("kvm", tpm=True)["tpm"] == "tpm-crb 2.0, empty"


@pytest.mark.parametrize(
    ("firmware", "secure_boot", "os", "more"),
    [
        ("bios", False, WINDOWS, {"generation": "1", "disk0": "IDE, dynamic VHDX", "disk1": "SCSI, dynamic VHDX"}),
        ("efi", False, WINDOWS, {"generation": "2", "disk0": "SCSI, dynamic VHDX", "disk1": "SCSI, dynamic VHDX"}),
        (
            *("efi", True, WINDOWS),
            {
                "generation": "2",
                "secure boot": "MicrosoftWindows",
                "disk0": "SCSI, dynamic VHDX",
                "disk1": "SCSI, dynamic VHDX",
            },
        ),
        (
            *("efi", True, LINUX),
            {
                **{"generation": "2", "secure boot": "MicrosoftUEFICertificateAuthority"},
                **{"disk0": "SCSI, dynamic VHDX", "disk1": "SCSI, dynamic VHDX"},
            },
        ),
    ],
)
def test_hyperv(firmware: str, secure_boot: bool, os: str, more: dict[str, str]) -> None:
    assert settings("hyperv", os, firmware=firmware, secure_boot=secure_boot) == {
        **{"name": "DB 1", "processors": "4", "memory": "8 GiB, static", "adapter0": "synthetic", **more}
    }


def test_ahv() -> None:
    assert settings("ahv") == {
        **{"name": "DB 1", "vcpus": "2 with 2 cores each", "memory": "8 GiB", "boot": "legacy"},
        **{"disk0": "SCSI", "disk1": "SCSI", "adapter0": "virtio"},
    }
    assert settings("ahv", firmware="efi")["boot"] == "UEFI"
    assert settings("ahv", firmware="efi", secure_boot=True)["boot"] == "UEFI with Secure Boot"


@pytest.mark.parametrize("target", ["openshift", "kvm", "hyperv", "ahv"])
def test_what_is_not_known_is_named_and_not_made_up(target: Target) -> None:
    found = becomes(vm(), Context(target))
    assert found.unknown == ("RVTools vInfo, Firmware", "RVTools vDisk", "RVTools vNetwork")
    assert not {"firmware.bootloader", "loader", "generation", "boot", "disk0", "interface0"} & set(found.settings)
    some = becomes(vm(source=SourceVm(firmware="bios", disks=disks("?"), networks=())), Context(target))
    assert some.unknown == ("RVTools vDisk, Controller",)


def test_a_disk_of_an_unknown_generation_names_no_bus() -> None:
    found = becomes(vm(source=SourceVm(disks=disks(SAS), networks=())), Context("hyperv"))
    assert found.settings["disk0"] == "dynamic VHDX"
