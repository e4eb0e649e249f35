"""RVTools exports: the published one, the tests' own of a real size, other spellings of it, and hostile files."""

from __future__ import annotations

import codecs
import io
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ROOT
from tests.python.ingest.vmware.rvtools_files import ODD_NAMES, Tabs, export, write_csv, write_xlsx

from hypertwin import scenario
from hypertwin.errors import SourceError
from hypertwin.ingest import sources, to_scenario
from hypertwin.ingest.inventory import Inventory, Vm
from hypertwin.ingest.vmware import rvtools
from hypertwin.ingest.vmware.rvtools import cells, tables

SAMPLE = ROOT / "tests" / "data" / "rvtools" / "rvtools_example1.xlsx"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    """What is read of an export of 34 hosts and 800 powered-on VMs."""
    path = write_xlsx(export(), tmp_path_factory.mktemp("rvtools") / "RVTools_export_all.xlsx")
    return sources.read([str(path)])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook of two hosts and nine machines."""
    return write_xlsx(export(2, 8, 10), tmp_path_factory.mktemp("small") / "small.xlsx").read_bytes()


def _read(folder: Path, tabs: Tabs | None = None) -> Inventory:
    """The inventory of tabs, or of a small export, as CSV files."""
    shutil.rmtree(folder / "csv", ignore_errors=True)
    return sources.read([str(write_csv(tabs or export(2, 8, 10), folder / "csv"))])


def _refused(*paths: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        sources.read([str(path) for path in paths])
    assert caught.value.exit_code == 2
    assert all(part for mistake in caught.value.mistakes for part in (mistake.value, mistake.allowed, mistake.hint))
    assert len(str(caught.value)) < 2_000
    return caught.value


def test_the_published_export() -> None:
    inventory = sources.read([str(SAMPLE)])
    assert (inventory.kind, len(inventory.hosts), len(inventory.vms)) == ("rvtools", 7, 9)
    host = inventory.hosts[0]
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (2, 16, 2)
    assert host.memory_bytes == 261_797 * 2**20
    assert host.clock_hz == 2_295e6
    assert host.cpu_usage_pct == 14
    # this export has no ESX Version; vCenter's is what is left
    assert host.hypervisor == "VMware ESXi 8.0.3"
    assert "vHost/ESX Version" in {gap.what for gap in inventory.gaps}
    on = {vm.name: vm for vm in inventory.vms if vm.powered_on}
    assert {name: vm.demand.cpu_mhz for name, vm in on.items() if vm.demand} == {
        "vm-3": 91,
        "vm-8": 3_304,
        "vm-9": 3_580,
    }
    assert on["vm-9"].memory_bytes == 40 * 2**30
    assert on["vm-8"].cpu_hot_add is True
    assert on["vm-8"].disks[0].controller == "pvscsi"


def test_a_real_size(large: Inventory) -> None:
    assert len(large.hosts) == 34
    assert sum(vm.powered_on for vm in large.vms) == 800
    assert sum(len(vm.disks) for vm in large.vms) == 2_000
    assert sum(vm.storage_appliance for vm in large.vms) == 34
    for row, vm in zip(export()["vCPU"], large.vms, strict=True):
        assert (vm.vcpus, vm.cores_per_socket, vm.host) == (row["CPUs"], row["Cores p/s"], row["Host"])
        assert (vm.demand and vm.demand.cpu_mhz) == (row["Overall"] if vm.powered_on else None)
        assert vm.limit_mhz == (row["Limit"] if row["Limit"] > 0 else None)
        assert vm.shares == (row["Shares"] if row["Level"] == "custom" else row["Level"])
        assert vm.cpu_hot_add is (row["Hot Add"] == "True")
    assert [gap.what for gap in large.gaps] == [gap.what for gap in rvtools.NEVER]


def test_odd_names_are_kept_as_text(large: Inventory) -> None:
    for written, vm in zip(ODD_NAMES, large.vms, strict=False):
        assert vm.name == " ".join(written.replace("\u202e", " ").split())


def test_csv_files_say_the_same(large: Inventory, tmp_path: Path) -> None:
    from_csv = sources.read([str(write_csv(export(), tmp_path / "csv"))])
    assert (from_csv.vms, from_csv.hosts, from_csv.gaps) == (large.vms, large.hosts, large.gaps)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_csv_files_of_other_countries(separator: str, tmp_path: Path) -> None:
    expected = _read(tmp_path)
    folder = write_csv(export(2, 8, 10), tmp_path / "other", separator)
    assert sources.read([str(folder)]).vms == expected.vms
    files = sorted(str(file) for file in folder.iterdir() if file.stem.endswith(("vInfo", "vHost", "vCPU", "vMemory")))
    assert [_sizes(vm) for vm in sources.read(files).vms] == [_sizes(vm) for vm in expected.vms]


@pytest.mark.parametrize(("encoding", "mark"), [("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)])
def test_csv_files_that_windows_saved_as_utf_16(encoding: str, mark: bytes, tmp_path: Path) -> None:
    expected = _read(tmp_path)
    folder = write_csv(export(2, 8, 10), tmp_path / "wide")
    for file in folder.iterdir():
        file.write_bytes(mark + file.read_text("utf-8-sig").replace("\n", "\r\n").encode(encoding))
    assert sources.read([str(folder)]).vms == expected.vms


INTERNAL = {
    "vHost": {
        **{"Host": "vHostName", "# CPU": "vHostNumCpu", "Cores per CPU": "vHostCoresPerCPU"},
        **{"# Cores": "vHostNumCpuCores", "Speed": "vHostCpuMhz", "# Memory": "vHostMemorySize"},
        **{"CPU Model": "vHostCpuModel", "ESX Version": "vHostFullName", "CPU usage %": "vHostOverallCpuUsage"},
    },
    "vInfo": {
        **{"VM": "vInfoVMName", "Powerstate": "vInfoPowerstate", "Template": "vInfoTemplate", "CPUs": "vInfoCPUs"},
        **{"Memory": "vInfoMemory", "Host": "vInfoHost"},
    },
    "vCPU": {
        **{"VM": "vCPUVMName", "CPUs": "vCPUCPUs", "Cores p/s": "vCPUCoresPerSocket", "Overall": "vCPUOverall"},
    },
    "vMemory": {"VM": "vMemoryVMName", "Size MiB": "vMemorySizeMiB"},
}


@pytest.mark.parametrize("spelling", ["internal names", "capitals", "old units", "tab in the sheet's name"])
def test_spellings(tmp_path: Path, spelling: str) -> None:
    def rename(tab: str, column: str) -> str:
        match spelling:
            case "internal names":
                return INTERNAL.get(tab, {}).get(column, column)
            case "capitals":
                return column.upper()
            case _:
                return column.replace("MiB", "MB")

    expected = _read(tmp_path)
    tabs = export(2, 8, 10)
    if spelling == "internal names":
        for row in tabs["vHost"]:
            row["# Memory"] *= 2**20
    prefix = "tab" if spelling.startswith("tab") else ""
    found = sources.read([str(write_xlsx(tabs, tmp_path / "other.xlsx", prefix, rename))])
    assert found.hosts == expected.hosts
    assert [_sizes(vm) for vm in found.vms] == [_sizes(vm) for vm in expected.vms]


def _sizes(vm: Vm) -> tuple[object, ...]:
    return vm.name, vm.vcpus, vm.memory_bytes, vm.host, vm.powered_on, vm.cores_per_socket, vm.demand


@pytest.mark.parametrize(
    ("written", "mhz"),
    [
        ("1234", 1234),
        ("1,234", 1234),
        ("1.234", 1234),
        ("1 234", 1234),
        ("1\u00a0234", 1234),
        ("1'234", 1234),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("12,5", 12.5),
        ("0.125", 0.125),
        ("1.2e3", 1200),
        ("1234 MHz", 1234),
        (1234.0, 1234),
        ("-1", -1),
        ("", None),
        ("n/a", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("1_000", None),
        ("١٢", None),
        ("9" * 5_000, None),
        ("=1+1", None),
        (True, None),
    ],
)
def test_numbers(written: object, mhz: float | None, tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    tabs["vCPU"][0]["Overall"] = written
    demand = _read(tmp_path, tabs).vms[0].demand
    assert (None if demand is None else demand.cpu_mhz) == mhz


@pytest.mark.parametrize(
    ("written", "on"), [("True", True), ("true", True), (True, True), ("1", True), ("Wahr", True), ("False", False)]
)
def test_flags(written: object, on: bool, tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    tabs["vCPU"][0]["Hot Add"] = written
    tabs["vHost"][0]["in Maintenance Mode"] = written
    tabs["vHost"][0]["HT Active"] = written
    found = _read(tmp_path, tabs)
    assert found.vms[0].cpu_hot_add is on
    assert found.hosts[0].in_maintenance is on
    assert found.hosts[0].threads_per_core == (2 if on else 1)


def test_path_policies_of_luns_are_named(tmp_path: Path) -> None:
    paths = {f"Path {number}": f"vmhba{number}:C0:T0:L1" for number in range(1, 5)}
    tabs = export(2, 8, 10)
    for host in ("esx01", "esx02"):
        tabs["vMultiPath"] += [
            {"Host": host, "Disk": "naa.1", "Policy": "VMW_PSP_RR", "Oper. State": "ok", **paths},
            {"Host": host, "Disk": "naa.2", "Policy": "VMW_PSP_RR", **paths, "Path 8": "vmhba9"},
            {"Host": host, "Disk": "naa.3", "Policy": "VMW_PSP_MRU", "Path 1": "vmhba1", "Path 2": "vmhba2"},
            {"Host": host, "Disk": f"mpx.{host}", "Policy": "VMW_PSP_FIXED", "Path 1": "vmhba0"},
        ]
    found = _read(tmp_path, tabs)
    (told,) = [each.text for each in found.assumptions if each.subject == "path policies of LUNs"]
    assert told.startswith("2 round-robin, 1 most-recently-used (2 to 5 paths each): not imported")
    assert "vMultiPath/Oper. State" in found.unused
    assert not {"vMultiPath", "vMultiPath/Policy", "vMultiPath/Disk", "vMultiPath/Path 3"} & set(found.unused)


@pytest.mark.parametrize(
    ("tab", "column", "costs"),
    [
        ("vCPU", None, "measured demand"),
        ("vCPU", "Overall", "measured demand"),
        ("vCPU", "Limit", "limits"),
        ("vCPU", "Hot Add", "hot-add"),
        ("vHost", "Speed", "clock"),
        ("vHost", "ESX Version", "version"),
        ("vHost", "HT Active", "hyper-threading"),
        ("vInfo", "Host", "host"),
        ("vDisk", None, "disks"),
        ("vMemory", None, "memory"),
    ],
)
def test_what_is_missing_is_named(tab: str, column: str | None, costs: str, tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    folder = write_csv(tabs, tmp_path / "csv")
    if column is None:
        (folder / f"RVTools_tab{tab}.csv").unlink()
    else:
        file = folder / f"RVTools_tab{tab}.csv"
        file.write_text(file.read_text("utf-8-sig").replace(column, "Something else", 1))
    found = sources.read([str(folder)])
    gaps = {gap.what: gap.costs for gap in found.gaps}
    assert costs in gaps[f"{tab}/{column}" if column else tab]
    assert len(found.vms) == 9


@pytest.mark.parametrize(
    ("tab", "column", "where"),
    [
        ("vHost", None, ""),
        ("vInfo", None, ""),
        ("vHost", "Host", "vHost"),
        ("vInfo", "Powerstate", "vInfo"),
        ("vHost", "# Memory", "vHost"),
    ],
)
def test_what_cannot_be_done_without(tab: str, column: str | None, where: str, tmp_path: Path) -> None:
    folder = write_csv(export(2, 8, 10), tmp_path / "csv")
    file = folder / f"RVTools_tab{tab}.csv"
    if column is None:
        file.unlink()
    else:
        file.write_text(file.read_text("utf-8-sig").replace(column, "Something else", 1))
    mistake = _refused(folder).mistakes[0]
    assert mistake.code == "source-lacks"
    assert mistake.path == where
    assert (column or tab) in mistake.allowed


@pytest.mark.parametrize("state", ["orphaned", "inaccessible", "invalid"])
def test_machines_that_cannot_run_and_rows_without_a_name(state: str, tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    for number in (0, 8):  # on and off
        tabs["vInfo"][number]["Connection state"] = state
    tabs["vInfo"][1]["VM"] = ""
    tabs["vInfo"][2]["SRM Placeholder"] = "True"
    tabs["vRP"][0]["CPU limit"] = 20_000
    found = _read(tmp_path, tabs)
    assert [vm.name for vm in found.vms] == [cells.text(row["VM"]) for row in tabs["vInfo"][3:8]]
    assert {(each.subject, each.text.partition(":")[0]) for each in found.assumptions} == {
        ("2 VMs", "left out"),
        ("1 VMs", "left out"),
        ("1 rows of vInfo", "left out"),
        ("resource pools", "their limits, reservations and shares are no part of scenarios"),
    }


def test_machines_of_one_name_are_told_apart(tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    for tab in ("vInfo", "vCPU", "vMemory"):
        for number in (0, 1, 2):
            tabs[tab][number]["VM"] = "same"
            del tabs[tab][number]["VM UUID"]
    for number in (0, 1, 2):
        tabs["vCPU"][number]["CPUs"] = number + 3
    assert [vm.vcpus for vm in _read(tmp_path, tabs).vms[:3]] == [3, 4, 5]


def test_the_guest_os_is_that_of_the_tools_or_else_the_configured(tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    tabs["vInfo"][0]["OS according to the VMware Tools"] = "Microsoft Windows Server 2022 (64-bit)"
    tabs["vInfo"][2]["OS according to the configuration file"] = None
    configured = "Red Hat Enterprise Linux 8 (64-bit)"
    found = _read(tmp_path, tabs)
    assert [vm.guest_os for vm in found.vms[:3]] == ["Microsoft Windows Server 2022 (64-bit)", configured, None]
    made, _ = to_scenario.to_scenario(found)
    read = scenario.loads(to_scenario.to_yaml(made)).inventory
    assert {vm.guest_os for vm in read.vms} <= {"Microsoft Windows Server 2022 (64-bit)", configured, None}
    assert configured in {vm.guest_os for vm in read.vms}


def test_a_formula_is_what_it_shows(tmp_path: Path) -> None:
    from openpyxl import Workbook

    path = write_xlsx(export(2, 8, 10), tmp_path / "formula.xlsx")
    from openpyxl import load_workbook

    book: Workbook = load_workbook(path)
    sheet = book["vInfo"]
    sheet["A2"] = '=HYPERLINK("http://attacker.example/", "click")'
    sheet["A2"].hyperlink = "file:///etc/passwd"
    book.save(path)
    # it has no value until something computes it: the row is one without a name
    assert len(sources.read([str(path)]).vms) == 8


# hostile files


def _with_part(workbook: bytes, name: str, content: bytes, path: Path) -> Path:
    """A workbook with one part replaced or added."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename != name:
                new.writestr(entry, old.read(entry))
        new.writestr(name, content)
    return path


SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
LAUGHS = b"<!DOCTYPE x [<!ENTITY a 'ha'>%s]>" % b"".join(
    b"<!ENTITY %c '%s'>" % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)
TEXT = b'<c t="inlineStr"><is><t>%s</t></is></c>'


@pytest.mark.parametrize(
    ("part", "content", "code"),
    [
        ("xl/worksheets/sheet1.xml", b"not xml", "bad-source"),
        ("xl/worksheets/sheet1.xml", b"", "bad-source"),
        ("xl/worksheets/sheet1.xml", SHEET % (b'<row r="99999999999">' + TEXT % b"VM" + b"</row>"), "source-too-large"),
        ("xl/worksheets/sheet1.xml", SHEET % b'<row r="1"><c r="ZZZZZZ1"><v>1</v></c></row>', "bad-source"),
        ("xl/worksheets/sheet1.xml", SHEET % b'<row r="1"><c t="s"><v>99999999</v></c></row>', "bad-source"),
        ("xl/worksheets/sheet1.xml", SHEET % (b"<row>" + b"<c/>" * 2_000_000 + b"</row>"), "source-too-large"),
        ("xl/worksheets/sheet1.xml", SHEET % (b"<row/>" * 1_100_000), "source-too-large"),
        ("xl/worksheets/sheet1.xml", SHEET % ((b"<row>" + b"<c/>" * 900_000 + b"</row>") * 12), "source-too-large"),
        ("xl/worksheets/sheet1.xml", b"<a>" * 3_000_000, "source-too-large"),
        ("xl/worksheets/sheet1.xml", LAUGHS + SHEET % b"<row><c><v>&j;</v></c></row>", "bad-source"),
        ("xl/sharedStrings.xml", b"<sst>" + b" " * 70_000_000 + b"</sst>", "source-too-large"),
        ("xl/workbook.xml", b"<workbook/>", "source-lacks"),
        ("[Content_Types].xml", b"<Types/>", "bad-source"),
    ],
)
def test_hostile_parts(part: str, content: bytes, code: str, small: bytes, tmp_path: Path) -> None:
    error = _refused(_with_part(small, part, content, tmp_path / "hostile.xlsx"))
    assert error.mistakes[0].code == code


def test_the_bound_on_rows_is_met(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 8)
    with pytest.raises(SourceError) as caught:
        _read(tmp_path)
    assert caught.value.mistakes[0].code == "source-too-large"


def test_a_part_that_lies_about_its_size_is_counted(
    small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_INFLATED", 20_000)
    path = tmp_path / "small.xlsx"
    path.write_bytes(small)
    assert _refused(path).mistakes[0].code == "source-too-large"


def test_other_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as other:
        other.writestr("xl/nothing", "")
    with zipfile.ZipFile(tmp_path / "many.xlsx", "w") as many:
        for number in range(3_000):
            many.writestr(f"xl/{number}", "")
    (tmp_path / "unknown.csv").write_text("VM,Powerstate\na,poweredOn\n")
    (tmp_path / "folder").mkdir()
    for name, code in [
        ("other.xlsx", "bad-source"),
        ("many.xlsx", "source-too-large"),
        ("unknown.csv", "bad-source"),
        ("folder", "unknown-source"),
    ]:
        assert _refused(tmp_path / name).mistakes[0].code == code, name
    (tmp_path / "RVTools_tabvInfo.csv").write_text('VM,Powerstate\na,b\n"' + "x" * 200_000)
    (mistake,) = _refused(tmp_path / "RVTools_tabvInfo.csv").mistakes
    assert (mistake.code, mistake.line) == ("source-too-large", 3)
    assert mistake.file.endswith("RVTools_tabvInfo.csv")
    assert mistake.allowed == "cells of at most 131,072 characters"
    assert mistake.hint == "shorten this cell, such as the annotation of a VM, or close its quotation marks"


@given(edits=st.lists(st.tuples(st.integers(0, 2**16), st.binary(max_size=6)), min_size=1, max_size=8))
def test_any_damage_to_a_workbook_is_an_inventory_or_one_error(
    edits: list[tuple[int, bytes]], small: bytes, tmp_path: Path
) -> None:
    data = bytearray(small)
    for position, new in edits:
        at = position % len(data)
        data[at : at + len(new)] = new
    _survives(b"PK\x03\x04" + bytes(data[4:]), tmp_path / "damaged.xlsx")


@given(
    part=st.sampled_from(["xl/worksheets/sheet1.xml", "xl/worksheets/sheet5.xml", "xl/workbook.xml", "xl/styles.xml"]),
    edits=st.lists(st.tuples(st.integers(0, 2**16), st.binary(max_size=6)), min_size=1, max_size=4),
)
def test_any_damage_to_a_part_is_an_inventory_or_one_error(
    part: str, edits: list[tuple[int, bytes]], small: bytes, tmp_path: Path
) -> None:
    data = bytearray(zipfile.ZipFile(io.BytesIO(small)).read(part))
    for position, new in edits:
        at = position % len(data)
        data[at : at + len(new)] = new
    _survives(_with_part(small, part, bytes(data), tmp_path / "part.xlsx").read_bytes(), tmp_path / "part.xlsx")


READ = ["vHost", "vInfo", "vCPU", "vMemory", "vDisk"]
CELLS = st.one_of(
    st.none(),
    st.text(max_size=20),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from(["poweredOn", "True", "-1", "1e308", "4711", "9" * 400, "=1+1", '<script>"', "\x00\x1b[31m"]),
)


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(READ), st.integers(0, 8), st.integers(0, 40), CELLS),
        max_size=12,
    )
)
def test_any_cell_is_a_scenario_or_one_error(changes: list[tuple[str, int, int, object]], tmp_path: Path) -> None:
    tabs = export(2, 8, 10)
    for tab, number, column, value in changes:
        row = tabs[tab][number % len(tabs[tab])]
        row[sorted(row)[column % len(row)]] = value
    try:
        made, _ = to_scenario.to_scenario(_read(tmp_path, tabs))
    except SourceError as error:
        assert [mistake.code for mistake in error.mistakes] == ["source-lacks"]
        assert any(tab == "vHost" for tab, *_ in changes)
        return
    scenario.loads(to_scenario.to_yaml(made))


def _survives(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    try:
        assert isinstance(sources.read([str(path)]), Inventory)
    except SourceError as error:
        assert error.mistakes
        assert len(str(error)) < 2_000
