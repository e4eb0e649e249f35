"""Facts of VMs for a move, from RVTools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.python.ingest.vmware.rvtools_files import HEADERS, Tabs, export, write_csv, write_xlsx

from hypertwin import language, scenario
from hypertwin.ingest import sources, to_scenario
from hypertwin.members import SourceDisk, SourceNetwork, SourcePartition, SourceVm

SAMPLE = ROOT / "tests" / "data" / "rvtools" / "rvtools_example1.xlsx"
GIB = 2**30
MIB = 2**20
OS = ("OS according to the configuration file", "OS according to the VMware Tools")
SECRET = "hunter2"
OLD_NAMES = {"Capacity MiB": "Capacity MB", "Free MiB": "Free MB", "Raw Comp. Mode": "Raw Com. Mode"}


def tabs_of() -> Tabs:
    """An export of two hosts and two VMs, `a` with two disks and `b` with one, that are on."""
    tabs = export(2, 2, 0)
    tabs["vInfo"] = [row for row in tabs["vInfo"] if row["Powerstate"] == "poweredOn"]
    for name, row in zip("ab", tabs["vInfo"], strict=True):
        for tab in ("vCPU", "vMemory"):
            next(each for each in tabs[tab] if each["VM UUID"] == row["VM UUID"])["VM"] = name
        row |= {"VM": name, "Annotation": None}
    tabs["vDisk"] = [
        of(tabs, "a", **{"Disk": "Hard disk 1", "Capacity MiB": 40_960, "Controller": "LSI Logic SAS", "Unit #": 0}),
        of(tabs, "a", **{"Disk": "Hard disk 2", "Capacity MiB": 1_024, "Controller": "NVMe", "Unit #": 1}),
        of(tabs, "b", **{"Disk": "Hard disk 1", "Capacity MiB": 1_024}),
    ]
    tabs["vNetwork"] = [of(tabs, "a", **{"NIC label": "Network adapter 1", "Adapter": "Vmxnet3"})]
    return tabs


def of(tabs: Tabs, vm: str, **more: Any) -> dict[str, Any]:
    """A row of a VM in another tab."""
    row = next(row for row in tabs["vInfo"] if row["VM"] == vm)
    return {"VM": vm, "VM UUID": row["VM UUID"], **more}


def facts(folder: Path, tabs: Tabs) -> dict[str, SourceVm]:
    found = sources.read([str(write_csv(tabs, folder / "csv"))])
    return {vm.name: vm.source for vm in found.vms if vm.source is not None}


@pytest.mark.parametrize(
    ("columns", "name", "known"),
    [
        ({OS[0]: "Debian 7", OS[1]: "Debian 9"}, "guest_id", "Debian 7"),
        *(({OS[0]: "Debian 9", OS[1]: "Debian 9"}, "guest_id", None), ({OS[0]: "Debian 9"}, "guest_id", None)),
        *(({OS[0]: None, OS[1]: "Debian 9"}, "guest_id", None), ({"Firmware": "efi"}, "firmware", "efi")),
        ({"Firmware": "BIOS"}, "firmware", "bios"),
        ({"Firmware": "other"}, "firmware", None),
        ({}, "firmware", None),
        ({"EFI Secure boot": "True"}, "secure_boot", True),
        ({"EFI Secure boot": "False"}, "secure_boot", False),
        ({"HW version": 19}, "hardware_version", 19),
        ({"HW version": "vmx-08"}, "hardware_version", 8),
        ({"HW version": "v21"}, "hardware_version", 21),
        ({"HW version": "?"}, "hardware_version", None),
        ({"DNS Name": "a.example.com"}, "host_name", "a.example.com"),
        ({"Primary IP Address": "10.0.0.1"}, "has_ip", True),
        ({"Folder": "/DC 1/Shop"}, "folder", "/DC 1/Shop"),
        ({"Application": "shop; web, shop"}, "tags", ("shop", "web")),
        ({"CBT": "True"}, "changed_block_tracking", True),
        ({"CBT": None}, "changed_block_tracking", None),
        ({"Consolidation Needed": "True"}, "consolidation_needed", True),
        ({"FT State": "notConfigured"}, "fault_tolerance", False),
        ({"FT State": "disabled"}, "fault_tolerance", False),
        ({"FT State": "running"}, "fault_tolerance", True),
        ({"FT State": None}, "fault_tolerance", None),
        ({"EnableUUID": "True"}, "disk_uuid", True),
        ({"Annotation": f"root password: {SECRET}"}, "secret_in_notes", True),
        ({"Annotation": "Oracle of the shop"}, "secret_in_notes", False),
    ],
)
def test_a_column_of_vinfo(tmp_path: Path, columns: dict[str, Any], name: str, known: object) -> None:
    tabs = tabs_of()
    tabs["vInfo"][0] |= columns
    assert getattr(facts(tmp_path, tabs)["a"], name) == known


def test_a_text_is_empty_only_if_another_vm_has_one(tmp_path: Path) -> None:
    tabs = tabs_of()
    none = facts(tmp_path, tabs)["b"]
    assert (none.host_name, none.has_ip) == (None, None)
    tabs["vInfo"][0] |= {"DNS Name": "a.example.com", "Primary IP Address": "10.0.0.1"}
    other = facts(tmp_path, tabs)["b"]
    assert (other.host_name, other.has_ip) == ("", False)


def test_disks(tmp_path: Path) -> None:
    tabs = tabs_of()
    tabs["vDisk"][0] |= {
        **{"Disk Path": "[san-1] a/a.vmdk", "Raw": "False", "Disk Mode": "independent_nonpersistent"},
        **{"Sharing mode": "sharingNone", "Shared Bus": "noSharing", "Thin": "True", "Label": "SCSI controller 3"},
    }
    tabs["vDisk"][1] |= {"Raw": "True", "Raw Comp. Mode": "virtualMode", "Shared Bus": "physicalSharing"}
    tabs["vDisk"][2] |= {"Raw": "True", "Raw Comp. Mode": "physicalMode", "Sharing mode": "sharingMultiWriter"}
    found = facts(tmp_path, tabs)
    first, second = found["a"].disks or ()
    assert first == SourceDisk(
        label="Hard disk 1",
        capacity_bytes=40 * GIB,
        controller="LSI Logic SAS",
        controller_number=3,
        unit=0,
        mode="independent-nonpersistent",
        raw="none",
        shared=False,
        thin=True,
        path="[san-1] a/a.vmdk",
    )
    assert (second.raw, second.shared, second.path, second.unit) == ("virtual", True, "", 1)
    (only,) = found["b"].disks or ()
    assert (only.raw, only.shared, only.mode) == ("physical", True, None)


def test_a_file_of_two_vms_is_shared(tmp_path: Path) -> None:
    tabs = tabs_of()
    for row, path in zip(tabs["vDisk"], ("[s] a.vmdk", "[s] q.vmdk", "[s] q.vmdk"), strict=True):
        row["Disk Path"] = path
    found = facts(tmp_path, tabs)
    assert [disk.shared for disk in found["a"].disks or ()] == [None, True]
    assert [disk.shared for disk in found["b"].disks or ()] == [True]


def test_networks_with_their_vlan(tmp_path: Path) -> None:
    tabs = tabs_of()
    tabs["vNetwork"] = [
        of(tabs, "a", **{"Adapter": "Vmxnet3", "Network": "N 20", "Switch": "dvs", "Connected": "True"}),
        of(tabs, "a", **{"Adapter": "E1000", "Network": "N 30", "Switch": "vSwitch0", "Connected": "False"}),
        of(tabs, "a", **{"Adapter": "E1000", "Network": "two", "Switch": "vSwitch0"}),
        of(tabs, "a", **{"Adapter": "E1000", "Network": "trunk", "Switch": "dvs"}),
    ]
    tabs["dvPort"] = [
        {"Port": "N 20", "Switch": "dvs", "VLAN": 20},
        {"Port": "trunk", "Switch": "dvs", "VLAN": "0-4094"},
    ]
    tabs["vPort"] = [
        *({"Host": host, "Port Group": "N 30", "Switch": "vSwitch0", "VLAN": 30} for host in ("x", "y")),
        *({"Host": "x", "Port Group": "two", "Switch": "vSwitch0", "VLAN": vlan} for vlan in (1, 2)),
    ]
    found = facts(tmp_path, tabs)
    assert found["a"].networks == (
        SourceNetwork("Vmxnet3", "N 20", "dvs", 20, True),
        SourceNetwork("E1000", "N 30", "vSwitch0", 30, False),
        SourceNetwork("E1000", "two", "vSwitch0"),
        SourceNetwork("E1000", "trunk", "dvs"),
    )
    assert found["b"].networks == ()


@pytest.mark.parametrize(
    ("state", "known"),
    [
        *(("toolsOk", "running"), ("toolsOld", "running"), ("toolsNotRunning", "not-running")),
        *(("toolsNotInstalled", "not-installed"), ("?", None), (None, None)),
    ],
)
def test_tools(tmp_path: Path, state: str | None, known: str | None) -> None:
    tabs = tabs_of()
    tabs["vTools"] = [of(tabs, "a", Tools=state)]
    assert facts(tmp_path, tabs)["a"].tools == known


def test_devices_and_file_systems(tmp_path: Path) -> None:
    tabs = tabs_of()
    tabs["vUSB"] = [of(tabs, "a", **{"Device Node": "USB 1"}), of(tabs, "a", **{"Device Node": "USB 2"})]
    tabs["vCD"] = [of(tabs, "a", Connected="True"), of(tabs, "a", Connected="False")]
    tabs["vPartition"] = [of(tabs, "a", **{"Disk": "C:\\", "Capacity MiB": 100, "Free MiB": 30})]
    tabs["vMemory"][0]["Hot Add"] = "True"
    found = facts(tmp_path, tabs)
    assert (found["a"].usb_devices, found["a"].cds_connected, found["a"].hot_add_memory) == (2, 1, True)
    assert found["a"].partitions == (SourcePartition("C:\\", 100 * MIB, 30 * MIB),)
    assert (found["b"].usb_devices, found["b"].cds_connected, found["b"].partitions) == (0, 0, None)


def test_tabs_and_columns_that_are_missing_leave_facts_unknown(tmp_path: Path) -> None:
    """Only the tabs that an import needs."""
    tabs = {tab: rows for tab, rows in tabs_of().items() if tab in ("vInfo", "vHost")}
    headers = {
        "vHost": HEADERS["vHost"],
        "vInfo": ("VM", "Powerstate", "CPUs", "Memory", "Host", "Cluster", "VM UUID"),
    }
    found = sources.read([str(write_xlsx(tabs, tmp_path / "x.xlsx", headers=headers))])
    assert {vm.source for vm in found.vms} == {SourceVm()}
    assert {vm.snapshots for vm in found.vms} == {None}
    made, _ = to_scenario.to_scenario(found)
    assert not any("source" in vm for vm in made["vms"].values())


def test_older_names_of_columns(tmp_path: Path) -> None:
    tabs = tabs_of()
    tabs["vDisk"][0] |= {"Raw": "True", "Raw Comp. Mode": "virtualMode"}
    tabs["vPartition"] = [of(tabs, "a", **{"Disk": "/", "Capacity MiB": 100, "Free MiB": 30})]
    path = write_xlsx(tabs, tmp_path / "x.xlsx", prefix="tab", rename=lambda _, column: OLD_NAMES.get(column, column))
    found = {vm.name: vm.source for vm in sources.read([str(path)]).vms}["a"]
    assert found is not None
    assert next((disk.raw, disk.capacity_bytes) for disk in found.disks or ()) == ("virtual", 40 * GIB)
    assert found.partitions == (SourcePartition("/", 100 * MIB, 30 * MIB),)


def test_a_secret_is_nowhere_in_the_scenario(tmp_path: Path) -> None:
    tabs = tabs_of()
    for row in (tabs["vInfo"][0], tabs["vDisk"][0], tabs["vCPU"][0], tabs["vNetwork"][0]):
        row["Annotation"] = f"root password: {SECRET}"
    tabs["vInfo"][0] |= {"Application": f"token={SECRET}", "Folder": f"/pwd: {SECRET}"}
    tabs["vInfo"][1]["Annotation"] = "nothing"
    tabs["vSnapshot"] = [
        of(tabs, "b", **{"Name": "before", "Description": f"Kennwort: {SECRET}", "Date / time": "2026/01/01"})
    ]
    found = sources.read([str(write_csv(tabs, tmp_path / "csv"))])
    made, assumptions = to_scenario.to_scenario(found)
    text = to_scenario.to_yaml(made)
    assert SECRET not in text
    assert SECRET not in str(assumptions)
    assert {vm.name: vm.source.secret_in_notes for vm in found.vms if vm.source} == {"a": True, "b": True}
    assert text.count("secret_in_notes: true") == 2
    assert SECRET not in scenario.loads(text).json


def test_facts_survive_the_scenario(tmp_path: Path) -> None:
    """The scenario has all facts of the export, within its limits."""
    tabs = tabs_of()
    tabs["vInfo"][0] |= {
        **{"Firmware": "efi", "HW version": 999, "Folder": "\x1b[31mred", "DNS Name": "x" * 5_000},
        **{"Application": ",".join(f"tag {number}" for number in range(100))},
    }
    tabs["vDisk"] += [of(tabs, "a", **{"Disk": f"Hard disk {number}", "Unit #": number}) for number in range(300)]
    tabs["vNetwork"] += [of(tabs, "a", Adapter="=cmd|' /C calc'!A0") for _ in range(40)]
    read = sources.read([str(write_csv(tabs, tmp_path / "csv"))])
    made, _ = to_scenario.to_scenario(read)
    loaded = scenario.loads(to_scenario.to_yaml(made))
    vms = {vm.name: vm.source for vm in loaded.inventory.vms}
    found = vms["a"]
    assert (found.firmware, found.hardware_version, found.folder) == ("efi", None, "[31mred")
    assert len(found.host_name or "") == 256
    assert found.tags == tuple(f"tag {number}" for number in range(32))
    assert found.disks is not None
    assert found.networks is not None
    assert (len(found.disks), len(found.networks)) == (256, 32)
    assert found.disks[0].capacity_bytes == 40 * GIB
    assert found.disks[-1].unit is not None
    assert found.networks[1].adapter == "=cmd|' /C calc'!A0"
    given = {vm.name: vm.source for vm in read.vms}["b"]
    assert given is not None
    assert vms["b"] == given


def test_the_published_export_has_no_path_of_any_disk() -> None:
    """Its names were removed: that no disk has a file is unknown, not true."""
    found = {vm.name: vm.source for vm in sources.read([str(SAMPLE)]).vms}
    disks = [disk for source in found.values() if source for disk in source.disks or ()]
    assert disks
    assert {disk.path for disk in disks} == {None}
    assert {disk.raw for disk in disks} == {"none"}
    assert all(source.host_name is None for source in found.values() if source)
    assert language.UNKNOWN_SOURCE not in found.values()
