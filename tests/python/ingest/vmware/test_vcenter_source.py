"""Facts of VMs for a move, from vCenter."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import vim

from hypertwin.ingest.vmware import vcenter, vcenter_source, vsphere
from hypertwin.members import SourceDisk, SourceNetwork, SourcePartition, SourceVm
from hypertwin.plan.moving import devices

device = vim.vm.device
SECRET = "hunter2"


def of(**values: Any) -> SourceVm:
    return vcenter_source.of_vm({name.replace("__", "."): value for name, value in values.items()}, None)


def disk(backing: Any, **facts: Any) -> Any:
    return device.VirtualDisk(key=2000, controllerKey=1000, capacityInKB=1024, unitNumber=3, backing=backing, **facts)


def test_disks() -> None:
    flat = device.VirtualDisk.FlatVer2BackingInfo(
        fileName="[san-1] a/a.vmdk", diskMode="independent_persistent", thinProvisioned=True, sharing="sharingNone"
    )
    raw = device.VirtualDisk.RawDiskMappingVer1BackingInfo(
        fileName="[san-1] a/b.vmdk",
        compatibilityMode="physicalMode",
        diskMode="persistent",
        sharing="sharingMultiWriter",
    )
    controller = device.VirtualLsiLogicSASController(key=1000, busNumber=2, sharedBus="noSharing")
    first, second, third = (
        *(disk(flat, deviceInfo=vim.Description(label="Hard disk 1", summary="")), disk(raw, capacityInBytes=5)),
        disk(None),
    )
    found = vcenter_source.of_devices([controller, first, second, third]).disks or ()
    assert found[0] == SourceDisk(
        **{"label": "Hard disk 1", "capacity_bytes": 2**20, "controller": "LsiLogicSASController"},
        **{"controller_number": 2, "unit": 3, "mode": "independent-persistent", "raw": "none", "shared": False},
        **{"thin": True, "path": "[san-1] a/a.vmdk"},
    )
    assert (found[1].raw, found[1].shared, found[1].thin, found[1].capacity_bytes) == ("physical", True, None, 5)
    assert (found[2].raw, found[2].path, found[2].mode) == (None, None, None)
    silent = device.VirtualLsiLogicSASController(key=1000, busNumber=2)
    assert [each.shared for each in vcenter_source.of_devices([silent, first, third]).disks or ()] == [False, None]
    shared = device.VirtualLsiLogicSASController(key=1000, busNumber=2, sharedBus="physicalSharing")
    assert [each.shared for each in vcenter_source.of_devices([shared, first]).disks or ()] == [True]


@pytest.mark.parametrize(
    ("controller", "bus"),
    [
        *(
            (device.ParaVirtualSCSIController, ("scsi", "pvscsi")),
            (device.VirtualLsiLogicController, ("scsi", "lsilogic")),
        ),
        *(
            (device.VirtualLsiLogicSASController, ("scsi", "lsisas1068")),
            (device.VirtualBusLogicController, ("scsi", "buslogic")),
        ),
        *((device.VirtualNVMEController, ("nvme", "nvme")), (device.VirtualAHCIController, ("sata", "ahci"))),
        (device.VirtualIDEController, ("ide", None)),
    ],
)
def test_rules_know_every_controller(controller: Any, bus: tuple[str, str | None]) -> None:
    (found,) = vcenter_source.of_devices([controller(key=1000, busNumber=0), disk(None)]).disks or ()
    assert devices.controller(found.controller) == bus


@pytest.mark.parametrize(
    ("card", "model"),
    [
        *((device.VirtualVmxnet3, "vmxnet3"), (device.VirtualVmxnet2, "vmxnet"), (device.VirtualE1000, "e1000")),
        *(
            (device.VirtualE1000e, "e1000e"),
            (device.VirtualPCNet32, "vlance"),
            (device.VirtualSriovEthernetCard, "sriov"),
        ),
    ],
)
def test_rules_know_every_adapter(card: Any, model: str) -> None:
    backing = device.VirtualEthernetCard.NetworkBackingInfo(deviceName="VM Network")
    connectable = device.VirtualDevice.ConnectInfo(connected=True, startConnected=True, allowGuestControl=True)
    (found,) = vcenter_source.of_devices([card(backing=backing, connectable=connectable)]).networks or ()
    assert found == SourceNetwork(found.adapter, "VM Network", None, None, True)
    assert devices.adapter(found) == model


def test_adapters_on_distributed_switches_have_network_and_vlan() -> None:
    port = vim.dvs.PortConnection(switchUuid="50 00", portgroupKey="dvportgroup-9")
    far = device.VirtualEthernetCard.DistributedVirtualPortBackingInfo(port=port)
    near = device.VirtualEthernetCard.NetworkBackingInfo(deviceName="VM Network")
    cards = [device.VirtualVmxnet3(backing=far), device.VirtualVmxnet3(backing=near), device.VirtualTPM()]
    keys = vcenter_source.keys_of_ports(cards)
    assert keys == ("dvportgroup-9", "")
    found = vcenter_source.of_devices(cards)
    known = {"dvportgroup-9": vcenter_source.PortGroup("App", "dvs-1", 20)}
    named = vcenter_source.with_ports(found, keys, known)
    assert named is not None
    assert [(each.network, each.switch, each.vlan) for each in named.networks or ()] == [
        ("App", "dvs-1", 20),
        ("VM Network", None, None),
    ]
    assert vcenter_source.with_ports(found, keys, {}) == found
    assert vcenter_source.with_ports(None, (), known) is None


class Answers:
    """A session that knows a switch and its port groups."""

    def __init__(self, **vlans: Any) -> None:
        self.content = vim.ServiceInstanceContent()
        self.vlans = vlans

    def objects(self, kind: Any, paths: Any, root: Any) -> Any:
        switch = vim.DistributedVirtualSwitch("dvs-5", None)
        if kind is vim.DistributedVirtualSwitch:
            yield switch, {"name": "prod%2fdvs"}
            return
        for name, vlan in self.vlans.items():
            setting = vim.dvs.VmwareDistributedVirtualSwitch.VmwarePortConfigPolicy(vlan=vlan)
            values = {"name": name, "config.distributedVirtualSwitch": switch, "config.defaultPortConfig": setting}
            yield vim.dvs.DistributedVirtualPortgroup(name, None), values


def test_port_groups_have_one_vlan_or_none() -> None:
    kinds = vim.dvs.VmwareDistributedVirtualSwitch
    several = kinds.TrunkVlanSpec(vlanId=[vim.NumericRange(start=1, end=9)])
    answers = Answers(
        app=kinds.VlanIdSpec(vlanId=20),
        plain=kinds.VlanIdSpec(vlanId=0),
        trunk=several,
        unset=None,
        odd=kinds.PvlanSpec(),
    )
    found: Any = vcenter_source.port_groups(answers, vim)  # type: ignore[arg-type]
    assert {name: group.vlan for name, group in found.items()} == {
        **{"app": 20, "plain": 0},
        **dict.fromkeys(("trunk", "unset", "odd")),
    }
    assert {group.switch for group in found.values()} == {"prod/dvs"}


def test_a_host_that_refuses_distributed_switches_has_none() -> None:
    class Refuses(Answers):
        def objects(self, kind: Any, paths: Any, root: Any) -> Any:
            raise vsphere.FaultError("InvalidArgument")

    assert vcenter_source.port_groups(Refuses(), vim) == {}  # type: ignore[arg-type]


def test_affinity_is_known_only_with_its_property() -> None:
    assert of().cpu_affinity is None
    assert of(config__cpuAffinity__affinitySet=[0, 1]).cpu_affinity is True
    assert of(config__cpuAffinity__affinitySet=[]).cpu_affinity is False


def test_other_devices() -> None:
    on = device.VirtualDevice.ConnectInfo(connected=True, startConnected=True, allowGuestControl=True)
    found = vcenter_source.of_devices(
        [
            *(
                device.VirtualTPM(),
                device.VirtualUSBController(),
                device.VirtualUSB(),
                device.VirtualUSBXHCIController(),
            ),
            *(device.VirtualCdrom(connectable=on), device.VirtualCdrom(), device.VirtualPCIPassthrough()),
        ]
    )
    assert found == SourceVm(tpm=True, usb_devices=2, cds_connected=1, passthrough_devices=1, disks=(), networks=())
    assert vcenter_source.of_devices([]).tpm is False


@pytest.mark.parametrize(
    ("values", "name", "known"),
    [
        *(({}, "firmware", None), ({"config__firmware": "efi"}, "firmware", "efi")),
        *(
            ({"config__version": "vmx-19"}, "hardware_version", 19),
            ({"config__version": "?"}, "hardware_version", None),
        ),
        ({"config__bootOptions": vim.vm.BootOptions(efiSecureBootEnabled=True)}, "secure_boot", True),
        ({"config__changeTrackingEnabled": False}, "changed_block_tracking", False),
        ({"runtime__consolidationNeeded": True}, "consolidation_needed", True),
        ({"runtime__faultToleranceState": "notConfigured"}, "fault_tolerance", False),
        ({"runtime__faultToleranceState": "running"}, "fault_tolerance", True),
        ({"config__memoryHotAddEnabled": True}, "hot_add_memory", True),
        ({"config__memoryAffinity__affinitySet": [1]}, "numa_affinity", True),
        ({"config__memoryAffinity__affinitySet": []}, "numa_affinity", False),
        ({"guest__toolsRunningStatus": "guestToolsRunning"}, "tools", "running"),
        ({"guest__toolsRunningStatus": "guestToolsNotRunning"}, "tools", "not-running"),
        (
            {"guest__toolsRunningStatus": "guestToolsNotRunning", "guest__toolsStatus": "toolsNotInstalled"},
            *("tools", "not-installed"),
        ),
        *(({}, "host_name", None), ({"guest__toolsRunningStatus": "guestToolsNotRunning"}, "host_name", "")),
        *(({"guest__hostName": "a"}, "host_name", "a"), ({"guest__ipAddress": "10.0.0.1"}, "has_ip", True)),
        *(({}, "has_ip", None), ({"guest__toolsRunningStatus": "guestToolsRunning"}, "has_ip", False)),
        ({"summary__config": vim.vm.Summary.ConfigSummary(guestId="rhel9_64Guest")}, "guest_id", "rhel9_64Guest"),
        ({"summary__config": vim.vm.Summary.ConfigSummary(tpmPresent=True)}, "tpm", True),
        ({}, "secret_in_notes", None),
        ({"summary__config": vim.vm.Summary.ConfigSummary(annotation="a note")}, "secret_in_notes", False),
        ({"summary__config": vim.vm.Summary.ConfigSummary(annotation=f"pwd: {SECRET}")}, "secret_in_notes", True),
    ],
)
def test_properties(values: dict[str, Any], name: str, known: object) -> None:
    assert getattr(of(**values), name) == known


def test_file_systems() -> None:
    listed = [vim.vm.GuestInfo.DiskInfo(diskPath="/", capacity=10, freeSpace=3)]
    assert of(guest__disk=listed).partitions == (SourcePartition("/", 10, 3),)
    assert of(guest__disk=[]).partitions is None


def test_notes_of_nested_snapshots_are_searched() -> None:
    def snapshot(name: str, description: str, *children: Any) -> Any:
        return vim.vm.SnapshotTree(name=name, description=description, childSnapshotList=list(children))

    tree = vim.vm.SnapshotInfo(rootSnapshotList=[snapshot("a", "x", snapshot("b", f"token={SECRET}"))])
    config = vim.vm.Summary.ConfigSummary(annotation="")
    found = of(summary__config=config, snapshot=tree)
    assert found.secret_in_notes is True
    assert SECRET not in repr(found)


def test_the_reader_keeps_facts_of_devices() -> None:
    values = vcenter._thin({"config.hardware.device": [device.VirtualTPM()]})
    assert values[vcenter.SOURCE].tpm is True
