"""What RVTools exports say of clusters, hosts, VMs and datastores, in the shapes, versions and units that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.python.ingest.vmware.rvtools_estate import CLUSTERS, CROWDED, DATABASES, EDGE, GENERAL, estate
from tests.python.ingest.vmware.rvtools_files import HEADERS, Tabs, write_csv, write_xlsx

from hypertwin.ingest import sources
from hypertwin.ingest.inventory import Assumption, Cluster, Host, Inventory, Snapshots, Vm
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.columns import column_name
from hypertwin.members import SourceCluster

SAMPLE = ROOT / "tests" / "data" / "rvtools" / "rvtools_example1.xlsx"
MIB = 2**20


def read(tabs: Tabs, folder: Path, name: str = "RVTools_export_all") -> Inventory:
    return sources.read([str(write_csv(tabs, folder / name))])


def changed(folder: Path, change: Callable[[Tabs], Any]) -> Inventory:
    """The inventory of the smallest cluster after a change of its export."""
    tabs = estate([EDGE])
    change(tabs)
    return read(tabs, folder)


def by_name(found: Iterable[Any]) -> dict[str, Any]:
    return {each.name: each for each in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tabs, Inventory]:
    """An estate of four clusters, and what is read of its workbook."""
    tabs = estate()
    path = write_xlsx(tabs, tmp_path_factory.mktemp("estate") / "RVTools_export_all.xlsx")
    return tabs, sources.read([str(path)])


def test_hosts_have_what_was_measured(whole: tuple[Tabs, Inventory]) -> None:
    tabs, inventory = whole
    assert len(inventory.hosts) == sum(cluster.hosts for cluster in CLUSTERS)
    for row, host in zip(tabs["vHost"], inventory.hosts, strict=True):
        assert (host.cluster, host.datacenter) == (row["Cluster"], row["Datacenter"])
        assert (host.cpu_usage_pct, host.memory_usage_pct) == (row["CPU usage %"], row["Memory usage %"])
        assert host.ballooned_bytes == row["VM Memory Ballooned"] * MIB
        assert host.swapped_bytes == row["VM Memory Swapped"] * MIB
        assert (host.processors, host.cpu_model) == (row["# CPU"], row["CPU Model"])
        assert (host.hyper_threading_available, host.threads_per_core) == (True, 2 if row["HT Active"] == "True" else 1)
        assert (host.evc, host.evc_most) == (row["Current EVC"] or None, row["Max EVC"])
        assert (host.at, host.over_s) == ("2026-06-01T08:00:00", None)
    assert {host.power_policy for host in inventory.hosts if host.cluster == "General"} == {"balanced"}
    assert {host.power_policy for host in inventory.hosts if host.cluster == "Edge"} == {"high-performance"}
    assert max(host.cpu_usage_pct or 0 for host in inventory.hosts) == 100


def test_vms_have_what_was_measured(whole: tuple[Tabs, Inventory]) -> None:
    tabs, inventory = whole
    in_guests = {row["VM"]: row["Consumed MiB"] for row in tabs["vPartition"]}
    on = 0
    for info, memory, cpu, vm in zip(tabs["vInfo"], tabs["vMemory"], tabs["vCPU"], inventory.vms, strict=True):
        assert (vm.cluster, vm.datacenter, vm.host) == (info["Cluster"], info["Datacenter"], info["Host"])
        assert vm.storage_provisioned_bytes == info["Provisioned MiB"] * MIB
        assert vm.storage_used_bytes == info["In Use MiB"] * MIB
        assert vm.storage_in_guest_bytes == (in_guests[vm.name] * MIB if vm.powered_on else None)
        if not vm.powered_on:
            assert (vm.demand, vm.ready_pct, vm.memory_consumed_bytes, vm.ballooned_bytes) == (None,) * 4
            continue
        on += 1
        assert vm.demand is not None
        assert (vm.demand.cpu_mhz, vm.demand.counter) == (cpu["Overall"], "vCPU/Overall")
        assert (vm.demand.at, vm.demand.over_s, vm.demand.cpu_p95_mhz) == ("2026-06-01T08:00:00", None, None)
        assert vm.ready_pct == info["Overall Cpu Readiness"]
        assert vm.memory_consumed_bytes == memory["Consumed"] * MIB
        assert vm.memory_active_bytes == memory["Active"] * MIB
    assert on == sum(cluster.vms for cluster in CLUSTERS)
    assert max(vm.ready_pct or 0 for vm in inventory.vms) >= 8


def test_a_host_without_room_has_reclaimed_memory(tmp_path: Path) -> None:
    inventory = read(estate([CROWDED]), tmp_path)
    for host in inventory.hosts:
        here = [vm for vm in inventory.vms if vm.host == host.name and vm.powered_on]
        assert sum(vm.memory_bytes for vm in here) > host.memory_bytes
        assert sum(vm.ballooned_bytes or 0 for vm in here) == host.ballooned_bytes
        assert sum(vm.swapped_bytes or 0 for vm in here) == host.swapped_bytes
        assert (host.swapped_bytes or 0) > 2**30


MOVING: dict[str, Any] = {
    **{"restarts_by": "fdm", "drs": True, "drs_threshold": 3},
    "source": SourceCluster(drs=True),
}


def test_clusters(whole: tuple[Tabs, Inventory]) -> None:
    assert list(whole[1].clusters) == [
        Cluster("Management", "Rome", ha=True, admission_control=True, failures=1, **MOVING),
        Cluster("General", "Rome", ha=True, admission_control=True, failures=1, evc="intel-haswell", **MOVING),
        Cluster("Databases", "Milan", ha=True, admission_control=True, failures=1, **MOVING),
        Cluster("Edge", "Milan", ha=False, admission_control=False, failures=0, **MOVING),
    ]


@pytest.mark.parametrize(
    ("said", "drs", "threshold"),
    [
        # the API's rate counts from aggressive to conservative, the client and scenarios the other way
        ({"DRS enabled": "True", "DRS default VM behavior": "fullyAutomated", "DRS vmotion rate": 1}, True, 5),
        ({"DRS enabled": "True", "DRS default VM behavior": "partiallyAutomated", "DRS vmotion rate": 4}, False, 2),
        ({"DRS enabled": "False", "DRS default VM behavior": "fullyAutomated", "DRS vmotion rate": "-"}, False, None),
    ],
)
def test_how_a_cluster_balances(tmp_path: Path, said: dict[str, object], drs: bool, threshold: int | None) -> None:
    tabs = estate([EDGE])
    tabs["vCluster"] = [{"Name": "Edge", "HA enabled": "True", **said}]
    edge = next(each for each in read(tabs, tmp_path).clusters if each.name == "Edge")
    assert (edge.drs, edge.drs_threshold, edge.restarts_by) == (drs, threshold, "fdm")


def test_what_machines_are_entitled_to_of_memory_and_when_they_restart(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vCluster"][0]["Restart Priority"] = "low"
    for row in tabs["vInfo"]:
        row["HA Restart Priority"] = "clusterRestartPriority"
    tabs["vInfo"][1]["HA Restart Priority"] = "disabled"
    first, second, third = tabs["vMemory"][:3]
    first |= {"Level": "custom", "Shares": 12_345, "Reservation": 512, "Limit": 1_024}
    second |= {"Level": "high", "Memory Reservation Locked To Max": "True", "Limit": -1}
    third |= {"Level": "normal", "Limit": -1, "Reservation": 0}
    found = read(tabs, tmp_path)
    names = [row["VM"] for row in estate([EDGE])["vInfo"][:3]]
    first, second, third = (next(vm for vm in found.vms if vm.name == name) for name in names)
    assert (first.memory_shares, first.memory_reservation_bytes, first.memory_limit_bytes) == (12_345, 2**29, 2**30)
    assert (second.memory_shares, second.memory_reservation_bytes, second.memory_limit_bytes) == (
        *("high", second.memory_bytes),
        None,
    )
    assert (third.memory_shares, third.memory_reservation_bytes, third.memory_limit_bytes) == ("normal", 0, None)
    assert (first.restart_priority, second.restart_priority) == ("low", "disabled")


def test_a_cluster_without_hosts_and_hosts_without_vcluster(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vCluster"] = [{"Name": "Empty", "HA enabled": "True", "Failover Level": "-"}]
    tabs["vHost"][0]["Current EVC"] = "amd-rome"
    found = read(tabs, tmp_path)
    assert list(found.clusters) == [Cluster("Empty", ha=True, restarts_by="fdm"), Cluster("Edge", "Milan")]


def test_datastores(whole: tuple[Tabs, Inventory]) -> None:
    tabs, inventory = whole
    for row, store in zip(tabs["vDatastore"], inventory.datastores, strict=True):
        assert (store.name, store.kind) == (row["Name"], "VMFS")
        assert store.capacity_bytes == row["Capacity MiB"] * MIB
        assert store.provisioned_bytes == row["Provisioned MiB"] * MIB
        assert store.free_bytes == row["Free MiB"] * MIB
        assert store.hosts == tuple(row["Hosts"].split(", "))
        assert store.clusters == ()


def test_a_full_datastore_and_those_that_name_a_cluster(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vDatastore"][0] |= {"Free MiB": 0, "Hosts": "", "Cluster name": "Edge"}
    tabs["vDatastore"][1] |= {"Hosts": "a; b", "Cluster name": "Edge"}
    tabs["vDatastore"].append({"Name": "third", "Capacity MiB": 1, "Cluster name": "storage Edge"})
    full, other, third = read(tabs, tmp_path).datastores
    assert (full.free_bytes, full.hosts, full.clusters) == (0, (), ("Edge",))
    assert (other.hosts, other.clusters) == (("a", "b"), ())
    assert (third.hosts, third.clusters) == ((), ())  # a cluster of datastores


def test_snapshots(whole: tuple[Tabs, Inventory]) -> None:
    tabs, inventory = whole
    assert all(vm.snapshots is not None for vm in inventory.vms)
    with_some = [vm for vm in inventory.vms if vm.snapshots and vm.snapshots.count]
    assert [vm.name for vm in with_some] == list(dict.fromkeys(row["VM"] for row in tabs["vSnapshot"]))
    assert {vm.snapshots for vm in with_some} == {Snapshots(2, (2_048 + 2_049) * MIB, "2026-04-20T10:30:00")}


def test_file_systems_of_a_guest_add_up(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    first, second = tabs["vPartition"][:2]
    vm = {column: first[column] for column in ("VM", "VM UUID")}
    first |= {"Consumed MiB": 1_000}
    more = {**vm, "Disk": "/var", "Capacity MiB": 900, "Free MiB": 400}
    tabs["vPartition"] = [first, more, {**vm, "Disk": "/proc"}, {**second, "Consumed MiB": 0}]
    found = [vm.storage_in_guest_bytes for vm in read(tabs, tmp_path).vms if vm.powered_on]
    # one that says 0 has 0; what no row is about is not known
    assert found == [1_500 * MIB, 0, *[None] * (len(found) - 2)]


def test_without_file_systems_of_guests_that_is_said(tmp_path: Path) -> None:
    found = read(estate([EDGE], without=("vPartition",)), tmp_path)
    assert ("vPartition", "storage used by guests") in {(gap.what, gap.costs) for gap in found.gaps}
    assert {vm.storage_in_guest_bytes for vm in found.vms} == {None}


def test_the_published_export_has_figures_too() -> None:
    inventory = sources.read([str(SAMPLE)])
    host = inventory.hosts[0]
    assert (host.memory_usage_pct, host.power_policy, host.evc_most) == (36, "balanced", "intel-cascadelake")
    assert (host.hyper_threading_available, host.swapped_bytes, host.cluster) == (True, 0, "Cluster")
    vm = by_name(inventory.vms)["vm-8"]
    assert (vm.ready_pct, vm.memory_consumed_bytes) == (0, 41_136 * MIB)
    assert vm.storage_used_bytes == 245_873 * MIB
    assert vm.cluster == "Cluster"
    # nothing says when it was made
    assert {host.at for host in inventory.hosts} == {None}


@pytest.mark.parametrize("spelling", ["same", "short", "upper", "mixed"])
def test_names_of_hosts_stay_as_each_tab_has_them(spelling: str, tmp_path: Path) -> None:
    tabs = estate([EDGE], host_names=spelling)
    assert [vm.host for vm in read(tabs, tmp_path).vms] == [row["Host"] for row in tabs["vInfo"]]


def test_without_tabs_of_vms_there_is_still_the_rest(tmp_path: Path) -> None:
    found = read(estate([EDGE], without=("vCPU", "vMemory", "vSnapshot", "vCluster")), tmp_path)
    assert {"vCPU", "vMemory", "vCluster"} <= {gap.what for gap in found.gaps}
    vm = next(vm for vm in found.vms if vm.powered_on)
    assert (vm.demand, vm.memory_consumed_bytes, vm.snapshots) == (None, None, None)
    assert vm.memory_active_bytes is not None  # vInfo has it as well
    assert found.hosts[0].cpu_usage_pct is not None


def test_what_vinfo_does_not_say_other_tabs_do(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    for row in tabs["vInfo"]:
        row |= {"Host": "", "Cluster": "-", "Datacenter": ""}
    tabs["vCPU"][0]["Host"] = "elsewhere"
    found = read(tabs, tmp_path)
    assert found.vms[0].host == "elsewhere"
    assert [vm.host for vm in found.vms[1:]] == [row["Host"] for row in tabs["vCPU"][1:]]
    assert {(vm.cluster, vm.datacenter) for vm in found.vms} == {("Edge", "Milan")}


def test_vinfo_counts_where_tabs_disagree(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vCPU"][0].update(Host="elsewhere", Cluster="Other"))
    assert (found.vms[0].host, found.vms[0].cluster) == (found.hosts[0].name, "Edge")


# units and spellings


@pytest.mark.parametrize(("unit", "size"), [("MB", 2**20), ("GB", 2**30), ("GiB", 2**30), ("KiB", 2**10), ("bytes", 1)])
def test_the_header_says_the_unit(unit: str, size: int, tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vSnapshot"] = [{"VM": tabs["vInfo"][0]["VM"], "VM UUID": tabs["vInfo"][0]["VM UUID"], "Size MiB (total)": 7}]
    for tab, columns in {
        "vDatastore": ("Capacity MiB", "Free MiB", "Provisioned MiB"),
        "vInfo": ("Provisioned MiB", "In Use MiB"),
        "vDisk": ("Capacity MiB",),
        "vMemory": ("Size MiB",),
        "vPartition": ("Consumed MiB",),
    }.items():
        for row in tabs[tab]:
            row |= {column: 12 + place for place, column in enumerate(columns)}
    path = write_xlsx(tabs, tmp_path / "units.xlsx", rename=lambda _tab, column: column.replace("MiB", unit))
    found = sources.read([str(path)])
    store, vm = found.datastores[0], found.vms[0]
    assert (store.capacity_bytes, store.free_bytes, store.provisioned_bytes) == (12 * size, 13 * size, 14 * size)
    assert (vm.storage_provisioned_bytes, vm.storage_used_bytes) == (12 * size, 13 * size)
    assert vm.storage_in_guest_bytes == 12 * size
    assert (vm.disks[0].capacity_bytes, vm.memory_bytes) == (12 * size, 12 * size)
    assert vm.snapshots == Snapshots(1, 7 * size)


@pytest.mark.parametrize(
    ("written", "size"),
    [(4096, 4096 * MIB), ("4,096", 4096 * MIB), ("4 GB", 2**32), ("4096 MiB", 4096 * MIB), (0, 0), (-1, None)],
)
def test_sizes_in_cells(written: object, size: int | None, tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vMemory"][0].update(Ballooned=written))
    assert found.vms[0].ballooned_bytes == size


def test_memory_in_bytes_without_a_unit(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vHost"][0].update({"# Memory": 130_924 * MIB}))
    assert {host.memory_bytes for host in found.hosts} == {130_924 * MIB}


@pytest.mark.parametrize(
    ("written", "pct"), [("3%", 3), ("3 %", 3), (3, 3), ("2,5", 2.5), ("", None), ("-", None), (101, None), (-1, None)]
)
def test_readiness(written: object, pct: float | None, tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vInfo"][0].update({"Overall Cpu Readiness": written}))
    assert found.vms[0].ready_pct == pct


@pytest.mark.parametrize(
    ("short", "name", "support", "policy"),
    [
        ("static", "High Performance", "ACPI P-states", "high-performance"),
        ("dynamic", "Ausgewogen", "ACPI C-states", "balanced"),
        ("low", "", "", "low-power"),
        ("custom", "Balanced", "", "custom"),
        ("", "High performance", "", "high-performance"),
        ("Low Power", "", "", "low-power"),
        ("", "dynamicPolicy", "", "balanced"),
        ("", "off", "", "not-managed"),
        ("dynamic", "Not supported", "", "not-managed"),
        ("dynamic", "Balanced", "Not available", "not-managed"),
        ("", "", "", None),
        ("?", "Ausgewogen", "", None),
    ],
)
def test_power_policies(short: str, name: str, support: str, policy: str | None, tmp_path: Path) -> None:
    row = {
        "Host Power Policy": short,
        "Current CPU power man. policy": name,
        "Supported CPU power man.": support,
    }
    assert changed(tmp_path, lambda tabs: tabs["vHost"][0].update(row)).hosts[0].power_policy == policy


@pytest.mark.parametrize(
    ("header", "tab", "name", "unit"),
    [
        ("Size MiB (total)", "vSnapshot", "sizetotal", 2**20),
        ("vMemorySizeMiB", "vMemory", "size", 2**20),
        ("vDiskCapacityGB", "vDisk", "capacity", 2**30),
        ("CAPACITY (TB)", "vDatastore", "capacity", 2**40),
        ("File Size in bytes", "vFileInfo", "filesize", 1),
        ("# VMs", "vHost", "numvms", None),
        ("vRAM", "vHost", "vram", None),
        ("HBAs", "vHost", "hbas", None),
    ],
)
def test_names_of_columns(header: str, tab: str, name: str, unit: int | None) -> None:
    assert column_name(header, tab) == (name, unit)


INTERNAL = {
    "vHost": {
        **{"Host": "vHostName", "Cluster": "vHostCluster", "Datacenter": "vHostDatacenter", "Speed": "vHostCpuMhz"},
        **{"# CPU": "vHostNumCpu", "Cores per CPU": "vHostCoresPerCPU", "# Cores": "vHostNumCpuCores"},
        **{"CPU usage %": "vHostOverallCpuUsage", "Memory usage %": "vHostOverallMemoryUsage"},
        **{"# Memory": "vHostMemorySize", "CPU Model": "vHostCpuModel", "ESX Version": "vHostFullName"},
    },
    "vInfo": {
        **{"VM": "vInfoVMName", "Powerstate": "vInfoPowerstate", "Template": "vInfoTemplate", "CPUs": "vInfoCPUs"},
        **{"Memory": "vInfoMemory", "Host": "vInfoHost", "Cluster": "vInfoCluster", "Datacenter": "vInfoDataCenter"},
        **{"Provisioned MiB": "vInfoProvisioned", "In Use MiB": "vInfoInUse", "VM UUID": "vInfoUUID"},
    },
    "vMemory": {"VM": "vMemoryVMName", "Size MiB": "vMemorySizeMiB", "VM UUID": "vMemoryUUID"},
    "vDatastore": {
        **{"Name": "vDatastoreName", "Capacity MiB": "vDatastoreCapacity", "Free MiB": "vDatastoreFreeSpace"},
        **{"Provisioned MiB": "vDatastoreProvisioned", "Type": "vDatastoreType"},
    },
}
"""Columns of exports by command line (`-c ExportAll2csv`), which have internal names."""


def test_internal_names_mean_the_same(tmp_path: Path) -> None:
    def same(inventory: Inventory) -> tuple[object, ...]:
        return inventory.hosts, inventory.vms, inventory.clusters, inventory.datastores

    tabs = estate()
    expected = read(tabs, tmp_path)
    path = write_xlsx(
        tabs, tmp_path / "internal.xlsx", "tab", lambda tab, column: INTERNAL.get(tab, {}).get(column, column)
    )
    assert same(sources.read([str(path)])) == same(expected)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026/06/01 08:00:00", "2026-06-01T08:00:00"),
        ("2026-06-01T08:00:00Z", "2026-06-01T08:00:00+00:00"),
        ("01.06.2026 08:00", "2026-06-01T08:00:00"),
        ("25/06/2026 08:00:00", "2026-06-25T08:00:00"),
        ("6/25/2026 8:00:00 PM", "2026-06-25T20:00:00"),
        ("6/1/2026 12:00:00 AM", "2026-06-01T00:00:00"),
        ("6/1/2026 08:00:00", None),
        ("2026/13/01", None),
        ("46174.5", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_when_it_was_exported(written: str, moment: str | None, tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vMetaData"][0].update({"xlsx creation datetime": written}))
    assert {host.at for host in found.hosts} == {moment}


@pytest.mark.parametrize("written", [datetime(2026, 6, 1, 12, 0, 0, 700), 46_174.5])
def test_dates_of_workbooks(written: object, tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vMetaData"][0]["xlsx creation datetime"] = written
    found = sources.read([str(write_xlsx(tabs, tmp_path / "dated.xlsx"))])
    assert found.hosts[0].at == "2026-06-01T12:00:00"


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("RVTools_export_all_2026-06-01_08.30.15", "2026-06-01T08:30:15"),
        ("RVTools 20260601", "2026-06-01T00:00:00"),
        ("RVTools_export_2026-02-31", None),
        ("RVTools_export_120260601", None),
    ],
)
def test_when_it_was_exported_by_its_name(name: str, moment: str | None, tmp_path: Path) -> None:
    found = read(estate([EDGE], without=("vMetaData",)), tmp_path, name)
    assert {host.at for host in found.hosts} == {moment}


def test_a_date_that_could_be_another_is_decided_by_its_column() -> None:
    assert cells.moments(["3/4/2026", "3/25/2026"]) == [datetime(2026, 3, 4), datetime(2026, 3, 25)]
    assert cells.moments(["3/4/2026", "25/3/2026"]) == [datetime(2026, 4, 3), datetime(2026, 3, 25)]
    assert cells.moments(["3/4/2026", "25/3/2026", "3/25/2026"]) == [None, None, None]
    assert cells.moments([None, True, 7.0, "3/4/2026"]) == [None] * 4


# what is not read, and what is odd


def test_what_is_not_read_is_named(whole: tuple[Tabs, Inventory]) -> None:
    unused = list(whole[1].unused)
    assert unused[:3] == ["vNIC", "vLicense", "vHealth"]
    assert not {"vPartition", "vPartition/Consumed MiB"} & set(unused)
    assert {"vHost/# VMs", "vInfo/Latency Sensitivity"} <= set(unused)
    # not what is read, what repeats vInfo, what is empty, or a tab without rows
    assert not {
        "vInfo/Host",
        "vHost/Memory usage %",
        "vDisk/VM ID",
        "vCPU/Powerstate",
        "vHost/Boot time",
        "vTools",
    } & set(unused)
    assert len(unused) == len(set(unused))


def test_columns_with_values_further_down_are_named(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vInfo"][-1].update({"Video Ram KiB": 4_096}))
    assert "vInfo/Video Ram KiB" in found.unused


def test_single_files_of_tabs_that_are_not_read(tmp_path: Path) -> None:
    folder = write_csv(estate([EDGE]), tmp_path / "csv")
    found = sources.read([str(folder / f"RVTools_tab{tab}.csv") for tab in ("vInfo", "vHost", "vNIC", "vTools")])
    assert "vNIC" in found.unused
    assert "vTools" not in found.unused  # it has no rows


def test_a_host_in_several_rows_is_one(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    again = dict(tabs["vHost"][0], Host=tabs["vHost"][0]["Host"].upper(), Vendor="other")
    again |= {"CPU usage %": 99, "Max EVC": "amd-milan"}
    del tabs["vHost"][0]["Max EVC"]
    tabs["vHost"].append(again)
    found = read(tabs, tmp_path)
    assert len(found.hosts) == 2
    assert (found.hosts[0].cpu_usage_pct == 99, found.hosts[0].evc_most) == (False, "amd-milan")
    assert any("several rows" in each.text for each in found.assumptions)


def test_clusters_and_hosts_of_one_name_are_told_apart(tmp_path: Path) -> None:
    shapes = [replace(EDGE, name="Edge", datacenter=datacenter) for datacenter in ("Milan", "Rome")]
    tabs = estate(shapes)
    for tab in ("vHost", "vInfo", "vCPU", "vMemory"):
        for row in tabs[tab]:
            row["Host"] = f"esx{'1' if '01' in row['Host'] else '2'}"
    found = read(tabs, tmp_path)
    assert {host.name for host in found.hosts} == {
        *("esx1 (Edge (Milan))", "esx2 (Edge (Milan))", "esx1 (Edge (Rome))", "esx2 (Edge (Rome))"),
    }
    assert {host.cluster for host in found.hosts} == {"Edge (Milan)", "Edge (Rome)"}
    cluster_of = {host.name: host.cluster for host in found.hosts}
    assert all(cluster_of[vm.host or ""] == vm.cluster for vm in found.vms)
    assert all(vm.cluster == f"Edge ({vm.datacenter})" for vm in found.vms)


def test_a_vm_that_does_not_say_its_datacenter_is_in_that_of_its_host(tmp_path: Path) -> None:
    tabs = estate([replace(EDGE, datacenter=datacenter) for datacenter in ("Milan", "Rome")])
    expected = [f"Edge ({row['Datacenter']})" for row in tabs["vInfo"]]
    for tab in ("vInfo", "vCPU", "vMemory"):
        for row in tabs[tab]:
            row["Datacenter"] = ""
    tabs["vInfo"][-1]["Host"] = tabs["vCPU"][-1]["Host"] = "nobody knows"
    assert [vm.cluster for vm in read(tabs, tmp_path).vms] == [*expected[:-1], "Edge"]


def test_a_vm_without_any_memory_was_not_measured(tmp_path: Path) -> None:
    tabs = estate([EDGE])
    tabs["vMemory"][0] |= {"Consumed": 0, "Active": 0}
    tabs["vInfo"][0]["Active Memory"] = 0
    tabs["vHost"][0]["HT Available"] = "-"
    found = read(tabs, tmp_path)
    assert (found.vms[0].memory_consumed_bytes, found.vms[0].memory_active_bytes) == (None, None)
    assert found.vms[0].ballooned_bytes == 0
    assert [host.hyper_threading_available for host in found.hosts] == [None, True]


def test_a_damaged_tab_that_is_not_read_does_no_harm(tmp_path: Path) -> None:
    folder = write_csv(estate([EDGE]), tmp_path / "csv")
    (folder / "RVTools_tabvNIC.csv").write_text('Host,Speed\n"' + "x" * 200_000)
    found = sources.read([str(folder)])
    assert len(found.hosts) == 2
    assert "vNIC" in found.unused


def test_figures_of_a_host_that_does_not_answer_are_none(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda tabs: tabs["vInfo"][0].update({"Connection state": "disconnected"}))
    assert found.vms[0].powered_on
    assert (found.vms[0].demand, found.vms[0].ready_pct, found.vms[0].memory_active_bytes) == (None, None, None)
    assert (found.vms[0].storage_in_guest_bytes, found.vms[0].storage_used_bytes is None) == (None, False)
    assert found.vms[1].demand is not None
    assert found.hosts[0].cpu_usage_pct is not None  # its other VMs are connected


@pytest.mark.parametrize("others", ["disconnected", "orphaned"])
def test_a_host_that_does_not_answer_is_in_maintenance_without_figures(others: str, tmp_path: Path) -> None:
    def change(tabs: Tabs) -> None:
        gone = tabs["vHost"][0]
        gone.update({"CPU usage %": 0, "Memory usage %": 0})
        here = [row for row in tabs["vInfo"] if row["Host"] == gone["Host"]]
        for row in here:
            row["Connection state"] = others
        here[0]["Connection state"] = "disconnected"

    found = changed(tmp_path, change)
    first, second = found.hosts
    assert (first.in_maintenance, first.cpu_usage_pct, first.memory_usage_pct, first.counter) == (True, None, None, "")
    assert (first.ballooned_bytes, first.swapped_bytes) == (None, None)
    assert not second.in_maintenance
    assert second.cpu_usage_pct
    text = "disconnected: assumed in maintenance; its VMs are as of its last connection"
    assert Assumption(f"host {first.name}", text) in found.assumptions


@pytest.mark.parametrize("odd", ["", "-", "n/a", "many", "=1+1", True, -5, "9" * 400, "nan", 1e300])
def test_odd_cells_give_a_plausible_inventory(odd: object, tmp_path: Path) -> None:
    tabs = estate([EDGE])
    for tab, columns in HEADERS.items():
        needed = {"VM", "Host", "Name", "Powerstate", "# Memory", "# CPU", "Cores per CPU", "Template", "Cluster"}
        for column in set(columns) - needed - {"SRM Placeholder"}:
            if tabs[tab]:
                tabs[tab][0][column] = odd
    found = read(tabs, tmp_path)
    host, vm = found.hosts[0], found.vms[0]
    _is_plausible(host, vm)
    assert len(found.hosts) == 2
    assert len(found.vms) == len(tabs["vInfo"])
    assert found.hosts[1].cpu_usage_pct is not None


def _is_plausible(host: Host, vm: Vm) -> None:
    for share in (host.cpu_usage_pct, host.memory_usage_pct):
        assert share is None or 0 <= share <= 1_000
    assert vm.ready_pct is None or 0 <= vm.ready_pct <= 100
    for size in (
        *(host.ballooned_bytes, host.swapped_bytes, vm.memory_consumed_bytes, vm.memory_active_bytes),
        *(vm.ballooned_bytes, vm.swapped_bytes, vm.storage_provisioned_bytes, vm.storage_used_bytes),
    ):
        assert size is None or 0 <= size < 2**62


# several exports


def _series(folder: Path, *exports: tuple[str, Tabs]) -> Inventory:
    return sources.read([str(write_csv(tabs, folder / name)) for name, tabs in exports])


def test_exports_of_the_same_hosts_are_a_series(tmp_path: Path) -> None:
    loads = {"2026/01/01 08:00:00": 0.5, "2026/02/01 08:00:00": 1.0, "2026/03/01 08:00:00": 1.5}
    exports = [estate([EDGE], at=at, load=load) for at, load in loads.items()]
    january, february, march = exports
    march["vHost"][0]["Max EVC"] = "amd-genoa"
    found = _series(tmp_path, ("b", february), ("c", march), ("a", january))
    assert (len(found.hosts), len(found.vms)) == (2, len(march["vInfo"]))
    assert found.hosts[0].evc_most == "amd-genoa"
    usage = [tabs["vHost"][0]["CPU usage %"] for tabs in exports]
    host = found.hosts[0]
    assert host.cpu_usage_pct == pytest.approx(sum(usage) / 3)
    assert host.cpu_p95_pct == pytest.approx(usage[1] + 0.9 * (usage[2] - usage[1]))
    assert (host.cpu_peak_pct, host.over_s, host.at) == (usage[2], 59 * 86_400, "2026-03-01T08:00:00")
    assert host.memory_usage_pct == march["vHost"][0]["Memory usage %"]
    overall = [tabs["vCPU"][0]["Overall"] for tabs in exports]
    demand = found.vms[0].demand
    assert demand is not None
    assert demand.cpu_mhz == pytest.approx(sum(overall) / 3)
    assert demand.cpu_p95_mhz == pytest.approx(overall[1] + 0.9 * (overall[2] - overall[1]))
    assert (demand.cpu_peak_mhz, demand.over_s, demand.at) == (max(overall), 59 * 86_400, "2026-03-01T08:00:00")
    assert demand.counter == demand.over == "vCPU/Overall of 3 exports"
    assert host.counter == "vHost/CPU usage % of 3 exports"
    assert found.vms[0].memory_consumed_bytes == march["vMemory"][0]["Consumed"] * MIB
    note = next(each for each in found.assumptions if "3 exports" in each.subject)
    assert "2026-01-01" in note.subject
    assert "one series" in note.text


def test_a_series_has_the_sums_of_clusters(tmp_path: Path) -> None:
    exports = [estate([EDGE, CROWDED], at=f"2026/0{month}/01 08:00:00", load=month / 2) for month in (1, 2)]
    # a VM of the second cluster without a figure in one of them: no sum
    next(row for row in exports[0]["vCPU"] if row["Cluster"] == "Crowded")["Overall"] = ""
    edge, crowded = _series(tmp_path, *((f"{number}", tabs) for number, tabs in enumerate(exports))).clusters
    sums = [sum(row["Overall"] for row in tabs["vCPU"] if row["Cluster"] == "Edge") for tabs in exports]
    consumed = [sum(row["Consumed"] for row in tabs["vMemory"] if row["Cluster"] == "Edge") for tabs in exports]
    assert edge.cpu_mhz == pytest.approx(sum(sums) / 2)
    assert edge.cpu_p95_mhz == pytest.approx(sums[0] + 0.95 * (sums[1] - sums[0]))
    assert edge.cpu_peak_mhz == sums[1]
    assert edge.memory_consumed_bytes == pytest.approx(sum(consumed) / 2 * MIB)
    assert edge.memory_consumed_peak_bytes == max(consumed) * MIB
    assert (edge.over_s, edge.at) == (31 * 86_400, "2026-02-01T08:00:00")
    assert edge.counter == "sum over 12 VMs in the last of 2 exports"
    assert (crowded.cpu_mhz, crowded.memory_consumed_peak_bytes is None) == (None, False)


def test_hosts_of_no_cluster_have_a_sum_too(tmp_path: Path) -> None:
    exports = [estate([EDGE], at=f"2026/0{month}/01 08:00:00") for month in (1, 2)]
    for tabs in exports:
        for rows in tabs.values():
            for row in rows:
                row["Cluster"] = ""
        for tab, rows in tabs.items():
            tabs[tab] = [{column: row[column] for column in row if column in HEADERS[tab]} for row in rows]
        del tabs["vCluster"]
    (cluster,) = _series(tmp_path, *((f"{number}", tabs) for number, tabs in enumerate(exports))).clusters
    assert cluster.name == ""
    assert cluster.cpu_peak_mhz == max(sum(row["Overall"] for row in tabs["vCPU"]) for tabs in exports)


def test_one_export_has_no_sums(whole: tuple[Tabs, Inventory]) -> None:
    assert {cluster.cpu_mhz for cluster in whole[1].clusters} == {None}
    assert {host.counter for host in whole[1].hosts} == {"vHost/CPU usage %"}


def test_notes_of_a_series_are_said_once(tmp_path: Path) -> None:
    exports = [estate([EDGE], at=f"2026/0{month}/01 08:00:00") for month in (1, 2, 3)]
    for tabs in exports:
        for row in tabs["vHost"]:
            row["ESX Version"] = ""
        tabs["vInfo"][0]["Connection state"] = "orphaned"
    found = _series(tmp_path, *((f"{number}", tabs) for number, tabs in enumerate(exports)))
    said = [each.subject for each in found.assumptions]
    assert sorted(said) == ["1 VMs", "2 hosts", "3 exports from 2026-01-01T08:00:00 to 2026-03-01T08:00:00"]


def test_exports_of_one_cluster_each_share_datastores_and_the_list_of_clusters(tmp_path: Path) -> None:
    one, other = estate([EDGE]), estate([CROWDED])
    one["vCluster"].append(dict(other["vCluster"][0], **{"HA enabled": "False"}))
    for tabs in (one, other):
        tabs["vDatastore"] = tabs["vDatastore"][:1]
        tabs["vDatastore"][0] |= {"Name": "shared", "URL": "ds:///vmfs/volumes/1/"}
    found = _series(tmp_path, ("one", one), ("other", other))
    assert [(cluster.name, cluster.ha) for cluster in found.clusters] == [("Edge", False), ("Crowded", True)]
    (store,) = found.datastores
    assert set(store.hosts) == {host.name for host in found.hosts}


def test_a_new_vm_has_one_moment_and_a_gone_one_is_gone(tmp_path: Path) -> None:
    old = estate([EDGE], at="2026/01/01 08:00:00")
    new = estate([EDGE], at="2026/02/01 08:00:00")
    gone, came = old["vInfo"][0]["VM"], new["vInfo"][1]["VM"]
    for tab in ("vInfo", "vCPU", "vMemory"):
        del new[tab][0]
        del old[tab][1]
    vms = by_name(_series(tmp_path, ("old", old), ("new", new)).vms)
    assert gone not in vms
    assert (vms[came].demand.over_s, vms[came].demand.cpu_p95_mhz) == (None, None)
    assert vms[new["vInfo"][1]["VM"]].demand.over_s == 31 * 86_400


def test_a_vm_with_a_new_name_is_the_same(tmp_path: Path) -> None:
    old, new = (estate([EDGE], at=f"2026/0{month}/01 08:00:00") for month in (1, 2))
    for tab in ("vInfo", "vCPU", "vMemory"):
        new[tab][0]["VM"] = "renamed"
    demand = by_name(_series(tmp_path, ("old", old), ("new", new)).vms)["renamed"].demand
    assert demand.cpu_peak_mhz == max(old["vCPU"][0]["Overall"], new["vCPU"][0]["Overall"])


def test_exports_of_other_hosts_are_added(tmp_path: Path) -> None:
    found = _series(tmp_path, ("a", estate([EDGE])), ("b", estate([GENERAL])), ("c", estate([DATABASES])))
    assert {host.cluster for host in found.hosts} == {"Edge", "General", "Databases"}
    assert len(found.hosts) == EDGE.hosts + GENERAL.hosts + DATABASES.hosts
    assert not [each for each in found.assumptions if "exports" in each.subject]


def test_other_hosts_of_the_same_names_are_added(tmp_path: Path) -> None:
    """Two vCenters with a host esx1 each: names of hosts alone do not make a series."""
    one, other = estate([EDGE]), estate([EDGE], seed=2)
    for tab, rows in other.items():
        for number, row in enumerate(rows):
            row |= {column: "other" for column in ("VI SDK Server", "VI SDK UUID") if column in HEADERS[tab]}
            if "VM UUID" in row:
                row["VM UUID"] = f"other-{row['VM']}-{number if tab == 'vSnapshot' else ''}"
    found = _series(tmp_path, ("a", one), ("b", other))
    assert len(found.hosts) == 4
    assert {host.cluster for host in found.hosts} == {"Edge (Milan vc1.example.com)", "Edge (Milan other)"}
    assert len({host.name for host in found.hosts}) == 4
    cluster_of = {host.name: host.cluster for host in found.hosts}
    assert all(cluster_of[vm.host or ""] == vm.cluster for vm in found.vms)


@pytest.mark.parametrize(("vcenter", "kept", "hosts"), [("vc1", 0, 2), ("vc2", 3, 4), ("vc2", 7, 2)])
def test_what_makes_exports_a_series(vcenter: str, kept: int, hosts: int, tmp_path: Path) -> None:
    """The same hosts in the same vCenter, or with at least half of the VMs: vCenter may have a new name."""
    old, new = (estate([EDGE], at=f"2026/0{month}/01 08:00:00") for month in (1, 2))
    for tabs, name in ((old, "vc1"), (new, vcenter)):
        for tab, rows in tabs.items():
            for number, row in enumerate(rows):
                row |= {column: name for column in ("VI SDK Server", "VI SDK UUID") if column in HEADERS[tab]}
                if tabs is new and tab != "vSnapshot" and "VM UUID" in row and number >= kept:
                    row["VM UUID"] = f"other-{number}"
    assert len(old["vInfo"]) == 13
    assert len(_series(tmp_path, ("old", old), ("new", new)).hosts) == hosts


def test_names_of_a_series_are_those_of_its_last_export(tmp_path: Path) -> None:
    old = estate([EDGE], at="2026/01/01 08:00:00")
    new = estate([EDGE, replace(EDGE, datacenter="Rome")], at="2026/02/01 08:00:00")
    found = _series(tmp_path, ("old", old), ("new", new))
    assert {host.cluster for host in found.hosts} == {"Edge (Milan)", "Edge (Rome)"}
    assert [host.over_s for host in found.hosts] == [31 * 86_400] * 2 + [None] * 2


def test_vms_of_one_name_without_uuid_have_no_series(tmp_path: Path) -> None:
    exports = [estate([EDGE], at=f"2026/0{month}/01 08:00:00") for month in (1, 2)]
    for tabs in exports:
        for tab in ("vInfo", "vCPU", "vMemory"):
            for row in tabs[tab]:
                del row["VM UUID"]
            tabs[tab][1]["VM"] = tabs[tab][0]["VM"]
    found = _series(tmp_path, *((f"{number}", tabs) for number, tabs in enumerate(exports)))
    assert [vm.demand.over_s for vm in found.vms[:3] if vm.demand] == [None, None, 31 * 86_400]


def test_exports_without_a_time_are_no_series(tmp_path: Path) -> None:
    one, other = (estate([EDGE], load=load, without=("vMetaData",)) for load in (0.5, 1.5))
    found = _series(tmp_path, ("one", one), ("other", other))
    assert (len(found.hosts), found.hosts[0].over_s) == (2, None)
    assert found.hosts[0].cpu_usage_pct == other["vHost"][0]["CPU usage %"]
    note = next(each for each in found.assumptions if "exports" in each.subject)
    assert note.subject == "1 of 2 exports of the same hosts"


def test_the_same_export_twice_is_one_moment(tmp_path: Path) -> None:
    found = _series(tmp_path, ("one", estate([EDGE])), ("copy", estate([EDGE])))
    assert (len(found.hosts), found.hosts[0].over_s, found.hosts[0].cpu_p95_pct) == (2, None, None)
