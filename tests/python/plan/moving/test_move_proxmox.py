"""The importer of Proxmox VE, on VMs whose result was worked out by hand from its source, and better settings."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from tests.python.plan.moving.vms import BUSLOGIC, GIB, IDE, NVME, PARALLEL, PVSCSI, SAS, SATA, disks, networks, vm

from hypertwin.language import Host, Vm
from hypertwin.members import SourceDisk, SourceVm
from hypertwin.plan.moving import proxmox
from hypertwin.plan.moving.becomes import becomes
from hypertwin.plan.moving.context import Context

SINGLE = "virtio-scsi-single"
LINUX, WINDOWS, OTHER = "rhel9-64", "windows9srv-64", "freeBSD12-64"
LOST, LSI, NO_NVME, NO_CD, ON = (
    *("efi-state-lost", "ovmf-with-lsi-unsupported", "nvme-unsupported", "cdrom-image-ignored", "guest-is-running"),
)


def at(controller: str, number: int, unit: int) -> SourceDisk:
    return SourceDisk(f"{controller} {number}:{unit}", GIB, controller, number, unit)


def made(guest: str | None, firmware: str | None, *controllers: str | SourceDisk, **more: Any) -> proxmox.Imported:
    """A VM of this guest with a disk at each of these controllers, imported."""
    plain = tuple(disks(each)[0] if isinstance(each, str) else each for each in controllers)
    facts = {"networks": (), **more}
    return proxmox.imported(vm(source=SourceVm(guest_id=guest, firmware=firmware, disks=plain, **facts)))


@pytest.mark.parametrize(
    ("guest", "firmware", "controllers", "scsihw", "boot", "warnings"),
    [
        # one controller, BIOS: that of the first SCSI disk, or of the guest
        (LINUX, "bios", (PVSCSI,), "pvscsi", "scsi0", (ON,)),
        (LINUX, "bios", (SAS,), "lsi", "scsi0", (ON,)),
        (LINUX, "bios", (PARALLEL,), "lsi", "scsi0", (ON,)),
        (LINUX, "bios", (BUSLOGIC,), SINGLE, "scsi0", (ON,)),
        (WINDOWS, "bios", (PVSCSI,), "pvscsi", "scsi0", (ON,)),
        (WINDOWS, "bios", (SAS,), "lsi", "scsi0", (ON,)),
        (WINDOWS, "bios", (BUSLOGIC,), "lsi", "scsi0", (ON,)),
        (OTHER, "bios", (PVSCSI,), "pvscsi", "scsi0", (ON,)),
        (OTHER, "bios", (PARALLEL,), "lsi", "scsi0", (ON,)),
        (OTHER, "bios", (BUSLOGIC,), "lsi", "scsi0", (ON,)),
        # no SCSI disk
        (LINUX, "bios", (), SINGLE, None, (ON,)),
        (WINDOWS, "bios", (), "lsi", None, (ON,)),
        (LINUX, "bios", (IDE,), SINGLE, "ide0", (ON,)),
        (WINDOWS, "bios", (IDE,), "lsi", "ide0", (ON,)),
        (LINUX, "bios", (SATA,), SINGLE, "sata0", (ON,)),
        (WINDOWS, "bios", (SATA,), "lsi", "sata0", (ON,)),
        (LINUX, "bios", (NVME,), SINGLE, "scsi0", (NO_NVME, ON)),
        (WINDOWS, "bios", (NVME,), "lsi", "scsi0", (NO_NVME, ON)),
        # UEFI: OVMF has no driver for LSI
        (LINUX, "efi", (PVSCSI,), "pvscsi", "scsi0", (LOST, ON)),
        (LINUX, "efi", (SAS,), SINGLE, "scsi0", (LOST, LSI, ON)),
        (LINUX, "efi", (BUSLOGIC,), SINGLE, "scsi0", (LOST, ON)),
        (LINUX, "efi", (), SINGLE, None, (LOST, ON)),
        (WINDOWS, "efi", (PVSCSI,), "pvscsi", "scsi0", (LOST, ON)),
        (WINDOWS, "efi", (SAS,), "pvscsi", "scsi0", (LOST, LSI, ON)),
        (WINDOWS, "efi", (PARALLEL,), "pvscsi", "scsi0", (LOST, LSI, ON)),
        (WINDOWS, "efi", (NVME,), "pvscsi", "scsi0", (LOST, NO_NVME, LSI, ON)),
        (WINDOWS, "efi", (SATA,), "pvscsi", "sata0", (LOST, LSI, ON)),
        (OTHER, "efi", (SAS,), SINGLE, "scsi0", (LOST, LSI, ON)),
        (OTHER, "efi", (SATA,), SINGLE, "sata0", (LOST, LSI, ON)),
        (OTHER, "efi", (PVSCSI,), "pvscsi", "scsi0", (LOST, ON)),
        ("win98", "efi", (IDE,), "pvscsi", "ide0", (LOST, LSI, ON)),
        ("nobody-knows", "bios", (BUSLOGIC,), SINGLE, "scsi0", (ON,)),
        ("nobody-knows", "efi", (SAS,), SINGLE, "scsi0", (LOST, LSI, ON)),
        # several controllers: the first that asks for a type wins, in the order of the keys as text
        (LINUX, "bios", (at(SAS, 0, 0), at(PVSCSI, 1, 0)), "lsi", "scsi0;scsi1", (ON,)),
        (LINUX, "bios", (at(PVSCSI, 1, 0), at(SAS, 0, 0)), "lsi", "scsi0;scsi1", (ON,)),
        (LINUX, "bios", (at(SAS, 1, 0), at(PVSCSI, 0, 0)), "pvscsi", "scsi0;scsi1", (ON,)),
        (LINUX, "bios", (at(SAS, 0, 2), at(PVSCSI, 0, 10)), "pvscsi", "scsi0;scsi1", (ON,)),
        (LINUX, "efi", (at(BUSLOGIC, 0, 0), at(SAS, 1, 0)), SINGLE, "scsi0;scsi1", (LOST, LSI, ON)),
        (WINDOWS, "bios", (at(SATA, 0, 0), at(PVSCSI, 0, 0), at(IDE, 0, 0)), "pvscsi", "ide0;sata0;scsi0", (ON,)),
        (LINUX, "bios", (at(NVME, 0, 0), at(SAS, 0, 0), at(SATA, 0, 0)), "lsi", "sata0;scsi0;scsi1", (NO_NVME, ON)),
        (LINUX, "bios", (NVME, NVME, PVSCSI), "pvscsi", "scsi0;scsi1;scsi2", (NO_NVME, NO_NVME, ON)),
    ],
)
def test_controllers(
    guest: str,
    firmware: str,
    controllers: tuple[str | SourceDisk, ...],
    scsihw: str,
    boot: str | None,
    warnings: tuple[str, ...],
) -> None:
    found = made(guest, firmware, *controllers)
    assert (found.settings["scsihw"], found.warnings, found.unknown) == (scsihw, warnings, ())
    assert found.settings.get("boot") == (boot and f"order={boot}")
    assert found.settings["bios"] == ("ovmf" if firmware == "efi" else "seabios")
    assert ("efidisk0" in found.settings) is (firmware == "efi")


def test_disks_keep_their_order_and_names() -> None:
    """Keys are sorted as text, so unit 10 comes before unit 2, and NVMe disks are last."""
    found = made(LINUX, "bios", at(NVME, 0, 0), at(PVSCSI, 0, 2), at(PVSCSI, 0, 10), at(PVSCSI, 0, 1)).settings
    assert [found[f"scsi{number}"] for number in range(4)] == [
        f"{PVSCSI} 0:1, 1 GiB",
        f"{PVSCSI} 0:10, 1 GiB",
        f"{PVSCSI} 0:2, 1 GiB",
        f"{NVME} 0:0, 1 GiB",
    ]


@pytest.mark.parametrize(
    ("vcpus", "cores_per_socket", "cores", "sockets"),
    [(1, None, 1, 1), (4, None, 1, 4), (4, 1, 1, 4), (4, 2, 2, 2), (8, 8, 8, 1), (12, 6, 6, 2)],
)
def test_sockets_and_cores(vcpus: int, cores_per_socket: int | None, cores: int, sockets: int) -> None:
    found = proxmox.imported(vm(vcpus=vcpus, cores_per_socket=cores_per_socket)).settings
    assert (found["cores"], found["sockets"]) == (str(cores), str(sockets))
    assert "numa" not in found
    assert found["memory"] == "8192"


@pytest.mark.parametrize(
    ("adapter", "model"),
    [
        *(("Vmxnet3", "vmxnet3"), ("VMXNET 3", "vmxnet3"), ("E1000", "e1000"), ("E1000e", "e1000e")),
        *(("Flexible", "vmxnet3"), ("Vmxnet2", "vmxnet"), ("PCNet32", "vlance"), ("Sriov", "sriov"), ("?", "vmxnet3")),
    ],
)
def test_adapters(adapter: str, model: str) -> None:
    assert made(LINUX, "bios", networks=networks("Vmxnet3", adapter)).settings["net1"] == model


@pytest.mark.parametrize(
    ("label", "name"), [("DB 1", "DB-1"), ("web (old)", "web-old"), ("...", None), ("ü", None), ("a.b", "a.b")]
)
def test_the_name(label: str, name: str | None) -> None:
    assert proxmox.imported(vm(label=label)).settings.get("name") == name


def test_a_connected_cd_is_emptied() -> None:
    assert NO_CD in made(LINUX, "bios", cds_connected=1).warnings
    assert NO_CD not in made(LINUX, "bios", cds_connected=0).warnings


@pytest.mark.parametrize(
    ("one", "unknown", "scsihw"),
    [
        (vm(), ("guest_os", "firmware", "disks", "networks"), None),
        (vm(source=SourceVm(guest_id=LINUX, firmware="bios", networks=())), ("disks",), None),
        (
            vm(source=SourceVm(guest_id=LINUX, firmware="bios", disks=disks("?"), networks=())),
            ("disks.controller",),
            None,
        ),
        (vm(source=SourceVm(firmware="bios", disks=disks(BUSLOGIC), networks=())), ("guest_os",), None),
        (vm(source=SourceVm(firmware="bios", disks=disks(SAS), networks=())), ("guest_os",), "lsi"),
        (vm(source=SourceVm(firmware="efi", disks=disks(SAS), networks=())), ("guest_os",), None),
        (vm(source=SourceVm(guest_id=LINUX, disks=disks(SAS), networks=())), ("firmware",), None),
        (vm(source=SourceVm(guest_id=LINUX, disks=disks(PVSCSI), networks=())), ("firmware",), "pvscsi"),
        (vm(source=SourceVm(guest_id=LINUX, disks=disks(BUSLOGIC), networks=())), ("firmware",), SINGLE),
    ],
)
def test_what_is_not_known_is_never_made_up(one: Vm, unknown: tuple[str, ...], scsihw: str | None) -> None:
    found = proxmox.imported(one)
    assert found.unknown == unknown
    assert found.settings.get("scsihw") == scsihw
    assert found.scsihw_is_unknown is (scsihw is None)
    assert ("bios" in found.settings) is ("firmware" not in unknown)
    assert ("ostype" in found.settings) is ("guest_os" not in unknown)
    assert "ostype" not in found.settings or found.settings["ostype"] == "l26"


# better settings


def host(**changes: Any) -> Host:
    known: dict[str, Any] = dict.fromkeys(each.name for each in fields(Host))
    of = {"name": "esx-1", "threads": 32, "cores_per_node": 8, "memory_bytes": 512 * GIB, "clock_hz": 2 * 10**9}
    return Host(**{**known, **of, **changes})


HOSTS = Context("proxmox", hosts={"esx-1": host()})


@pytest.mark.parametrize(
    ("vcpus", "cores_per_socket", "topology"),
    [
        (4, None, {}),
        (8, 4, {}),
        (9, None, {"numa": "1", "sockets": "3", "cores": "3"}),
        (16, None, {"numa": "1", "sockets": "2", "cores": "8"}),
        (12, None, {"numa": "1", "sockets": "2", "cores": "6"}),
        (12, 3, {"numa": "1", "sockets": "4", "cores": "3"}),
        (11, None, {}),
    ],
)
def test_the_virtual_topology_is_kept(vcpus: int, cores_per_socket: int | None, topology: dict[str, str]) -> None:
    best = proxmox.best(vm(vcpus=vcpus, cores_per_socket=cores_per_socket), HOSTS)
    assert {key: best[key] for key in ("numa", "sockets", "cores") if key in best} == topology


def test_a_vm_larger_than_a_small_node_has_several_nodes() -> None:
    small = Context("proxmox", hosts={"esx-1": host(cores_per_node=4)})
    assert proxmox.best(vm(vcpus=8), small)["sockets"] == "2"
    assert "numa" not in proxmox.best(vm(vcpus=4), small)
    assert proxmox.best(vm(vcpus=16), Context("proxmox"))["numa"] == "1"


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({}, "balloon", None),
        ({"memory_reservation_bytes": 1}, "balloon", "0"),
        ({}, "cpuunits", None),
        ({"shares": 8_000.0}, "cpuunits", "200"),
        ({"shares": 1.0}, "cpuunits", "1"),
        ({"shares": 1_000_000.0}, "cpuunits", "10000"),
        ({}, "cpulimit", None),
        ({"limit_hz": 3 * 10**9}, "cpulimit", "1.5"),
        ({"limit_hz": 1}, "cpulimit", "0.01"),
        ({"source": SourceVm(tpm=True)}, "tpmstate0", "version=v2.0"),
        ({"source": SourceVm(tpm=False)}, "tpmstate0", None),
        *(
            ({"source": SourceVm(tools="running")}, "agent", "1"),
            ({"source": SourceVm(tools="not-running")}, "agent", None),
        ),
        ({"source": SourceVm(networks=networks("E1000", vlan=1))}, "net0", "virtio,tag=1"),
        ({"source": SourceVm(networks=networks("E1000", vlan=4094))}, "net0", "virtio,tag=4094"),
        ({"source": SourceVm(secure_boot=True)}, "efidisk0", "efitype=4m,pre-enrolled-keys=1"),
        ({"source": SourceVm(networks=networks("E1000", vlan=20))}, "net0", "virtio,tag=20"),
        ({"source": SourceVm(networks=networks("E1000", vlan=4095))}, "net0", "virtio"),
        ({"source": SourceVm(networks=networks("E1000", vlan=0))}, "net0", "virtio"),
        ({"source": SourceVm(disks=disks(SATA, NVME))}, "scsi1", "iothread=1,discard=on"),
        ({"source": SourceVm(disks=disks(SATA, NVME))}, "scsi2", None),
        ({"source": SourceVm(disks=disks(*[SAS] * 40))}, "scsi31", None),
        ({}, "scsihw", SINGLE),
    ],
)
def test_better_settings(changes: dict[str, Any], key: str, value: str | None) -> None:
    assert proxmox.best(vm(**changes), HOSTS).get(key) == value


@pytest.mark.parametrize(
    ("models", "cpu"),
    [((), "x86-64-v2-AES"), (("A", "A"), "host"), (("A", "B"), "x86-64-v2-AES"), ((None,), "x86-64-v2-AES")],
)
def test_the_cpu_type(models: tuple[str | None, ...], cpu: str) -> None:
    context = replace(HOSTS, target_hosts=tuple(host(cpu_model=each) for each in models))
    assert proxmox.best(vm(), context)["cpu"] == cpu


def test_only_differences_are_better() -> None:
    one = vm(source=SourceVm(guest_id=LINUX, firmware="bios", disks=disks(BUSLOGIC), networks=networks("virtio")))
    found = becomes(one, HOSTS)
    assert found.settings["scsihw"] == SINGLE
    assert set(found.best) == {"cpu", "scsi0"}
    assert found.unknown == ()
    assert becomes(vm(), HOSTS).unknown[0] == "RVTools vInfo, OS according to the configuration file"
