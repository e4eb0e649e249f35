"""Exports of Hyper-V's cmdlets: forms and encodings of PowerShell, hosts, machines, clusters, and broken ones."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import simulated
from tests.python.ingest import hostile

from hypertwin.errors import SourceError
from hypertwin.ingest import export_files
from hypertwin.ingest.hyperv import powershell
from hypertwin.ingest.inventory import Cluster, Inventory, Snapshots

GIB = 2**30
Row = dict[str, Any]


def objects() -> dict[str, list[Row]]:
    """Two nodes of a cluster and three machines, by file."""
    processor = {
        "Name": "Intel(R) Xeon(R) Gold 6126 CPU @ 2.60GHz",
        "NumberOfCores": 12,
        "NumberOfLogicalProcessors": 24,
        "MaxClockSpeed": 2594,
        "LoadPercentage": 3,
    }
    machine = {
        "Name": "db",
        "State": "Running",
        "CPUUsage": 12,
        "MemoryAssigned": 64 * GIB,
        "MemoryDemand": 40 * GIB,
        "MemoryStartup": 64 * GIB,
        "MemoryMaximum": 1024 * GIB,
        "DynamicMemoryEnabled": False,
        "ProcessorCount": 8,
        "Uptime": "7.01:00:00",
        "ComputerName": "HV1",
        "IsClustered": True,
        "VMId": "11111111-aaaa",
        "Notes": "two\nlines; one, two",
    }
    web = {
        **machine,
        "Name": "web (ü)",
        "VMId": "22222222-bbbb",
        "ComputerName": "hv2.example.com",
        "IsClustered": False,
    }
    web |= {"DynamicMemoryEnabled": True, "MemoryStartup": 2 * GIB, "MemoryAssigned": 6 * GIB, "ProcessorCount": 2}
    off = {**machine, "Name": "old", "State": "Off", "VMId": "33333333-cccc", "MemoryAssigned": 0, "MemoryDemand": 0}
    drive = {"VMName": "db", "VMId": "11111111-aaaa", "ControllerType": "SCSI", "ControllerNumber": 0}
    disk = {"VhdFormat": "VHDX", "VhdType": "Dynamic", "FileSize": 30 * GIB, "Size": 100 * GIB}
    return {
        "hosts": [
            {"ComputerName": name, "LogicalProcessorCount": 48, "MemoryCapacity": 512 * GIB, "Name": name}
            for name in ("HV1", "HV2")
        ],
        "processors": [
            {**processor, "SystemName": "whatever", "PSComputerName": name}
            for name in ("hv1", "hv1", "hv2.example.com", "hv2.example.com")
        ],
        "vms": [machine, web, off],
        "drives": [
            {**drive, "Path": r"C:\ClusterStorage\V1\db.vhdx"},
            {**drive, "Path": r"C:\ClusterStorage\V1\db2.vhdx"},
        ],
        "disks": [
            {**disk, "Path": r"c:\clusterstorage\v1\DB.vhdx"},
            {**disk, "Path": r"C:\ClusterStorage\V1\db2.vhdx", "FileSize": 5 * GIB},
        ],
        "snapshots": [
            {**machine, "Name": "before", "VMName": "db", "SnapshotType": "Standard", "ParentSnapshotId": ""}
        ],
        "used": [
            {
                "VMName": "db",
                "VMId": "11111111-aaaa",
                "AverageProcessorUsage": 5200,
                "AverageMemoryUsage": 65536,
                "MeteringDuration": "1.02:00:00.1234567",
            }
        ],
        "nodes": [
            {"Name": "HV1", "Cluster": "PROD", "State": "Up", "NodeWeight": 1},
            {"Name": "HV2", "Cluster": "PROD", "State": "Paused", "NodeWeight": 1},
        ],
    }


def written(name: str, rows: list[Row], form: str) -> bytes:
    """A file as PowerShell writes it."""
    if form.startswith("json"):
        single = rows[0] if len(rows) == 1 else rows
        return json.dumps(single, indent=4, ensure_ascii=False).encode("utf-16" if "utf-16" in form else "utf-8")
    text = io.StringIO()
    if "type" in form:
        text.write(f"#TYPE Selected.Microsoft.HyperV.PowerShell.{name}\r\n")
    separator = ";" if "semicolon" in form else ","
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    encoding = next((each for each in ("utf-16", "utf-8-sig", "cp1252") if each in form), "utf-8")
    return text.getvalue().encode(encoding)


def read_as(form: str, folder: Path, found: dict[str, list[Row]]) -> Inventory:
    """The inventory in an export of this form; files without objects are left out."""
    ending = "json" if form.startswith("json") else "csv"
    return hostile.read(folder, {f"{name}.{ending}": written(name, rows, form) for name, rows in found.items() if rows})


@pytest.fixture
def read(tmp_path: Path):
    return lambda found, form="csv": read_as(form, tmp_path / "hyperv", found)


FORMS = (
    "csv",
    "csv with type",
    "semicolon with type utf-16",
    "csv utf-8-sig",
    "semicolon cp1252",
    "json",
    "json utf-16",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_cluster_in_any_form(read, form):
    found = read(objects(), form)
    first, second = found.hosts
    assert (first.name, first.cluster, first.hypervisor) == ("HV1", "PROD", "Microsoft Hyper-V")
    assert (first.sockets, first.cores_per_socket, first.threads_per_core) == (2, 12, 2)
    assert (first.memory_bytes, first.clock_hz) == (512 * GIB, 2.594e9)
    assert (first.in_maintenance, second.in_maintenance) == (False, True)
    db, web, old = found.vms
    assert (db.name, db.vcpus, db.memory_bytes, db.host, db.cluster) == ("db", 8, 64 * GIB, "HV1", "PROD")
    assert (db.memory_consumed_bytes, db.memory_active_bytes) == (64 * GIB, 40 * GIB)
    assert (db.demand.cpu_mhz, db.demand.over_s) == (5200, 26 * 3600)
    assert [disk.capacity_bytes for disk in db.disks] == [100 * GIB, 100 * GIB]
    assert (db.storage_provisioned_bytes, db.storage_used_bytes) == (200 * GIB, 35 * GIB)
    assert (db.snapshots, web.snapshots) == (Snapshots(1), Snapshots(0))
    assert (web.name, web.memory_bytes, web.host, web.demand) == ("web (ü)", 6 * GIB, "HV2", None)
    assert (old.powered_on, old.memory_bytes, old.memory_consumed_bytes, old.demand) == (False, 64 * GIB, None, None)
    assert [vm.restart_priority for vm in found.vms] == [None, "disabled", None]
    assert found.clusters == [Cluster("PROD", ha=True)]
    said = {each.text for each in found.assumptions}
    assert "1 of 2 running VMs are not clustered, so they are not restarted" in said
    assert any("dynamic memory" in text for text in said)
    assert found.unused == ["CPUUsage of Get-VM"]
    assert {gap.costs for gap in found.gaps} == {"measured demand", "CPU usage of hosts"}


def test_numbers_of_states_and_objects_in_json(read):
    found = objects()
    found["vms"] = [
        {**found["vms"][0], "State": state, "Name": f"vm{state}", "VMId": f"{state}"} for state in (2, 3, 6, 9)
    ]
    found["nodes"] = [{"Name": "HV1", "Cluster": {"Name": "PROD"}, "State": 2, "NodeWeight": 1}]
    found["hosts"][0]["HostNumaStatus"] = [{"NodeId": node, "MemoryTotal": 1} for node in range(4)]
    found["used"][0] |= {"VMId": "2", "MeteringDuration": {"TotalSeconds": 60.0}}
    inventory = read(found, "json")
    assert [vm.powered_on for vm in inventory.vms] == [True, False, False, True]
    assert (inventory.hosts[0].cluster, inventory.hosts[0].in_maintenance) == ("PROD", True)
    assert [host.numa_nodes for host in inventory.hosts] == [4, None]
    assert inventory.vms[0].demand.over_s == 60


@pytest.mark.parametrize("state", ["Down", 1])
def test_a_node_that_is_down_runs_no_vms(read, state):
    found = objects()
    found["nodes"][0]["State"] = state
    inventory = read(found, "json")
    assert inventory.hosts[0].in_maintenance
    text = "down: assumed in maintenance; its VMs are as of its last connection"
    assert text in {each.text for each in inventory.assumptions if each.subject == "host HV1"}


def test_hosts_alone_say_what_they_can(read):
    found = read({"hosts": objects()["hosts"]})
    assert [(host.sockets, host.cores_per_socket, host.threads_per_core) for host in found.hosts] == [(1, 24, 2)] * 2
    assert all(host.clock_hz is None and host.cluster is None for host in found.hosts)
    assert {gap.what for gap in found.gaps} >= {"Get-CimInstance Win32_Processor", "Get-ClusterNode", "Get-VMSnapshot"}
    assert "its processors are not listed" in found.assumptions[0].text
    (one,) = read({"hosts": objects()["hosts"][:1], "processors": objects()["processors"][2:]}).hosts
    assert (one.sockets, one.cores_per_socket) == (2, 12), "there is only one host that they can be of"


def test_import_says_that_hyper_v_is_not_modelled(tmp_path, cli):
    for name, rows in objects().items():
        (tmp_path / f"{name}.csv").write_bytes(written(name, rows, "semicolon with type utf-16"))
    done = cli(
        "import", "vms.csv", "hosts.csv", "processors.csv", "used.csv", "nodes.csv", "-o", "cluster.yaml", exits=0
    )
    assert done.stderr.count("Microsoft Hyper-V is not modelled: esxi-8.0 is used instead") == 1
    assert (tmp_path / "cluster.yaml").read_text().count("Hyper-V is not modelled") == 1, "once, not for each host"
    expected = 100 * 5200 / (8 * 2594)
    assert simulated(cli)["vms"]["db"]["guest_cpu_pct"] == pytest.approx(expected, abs=10)


def test_800_machines_on_34_hosts(read):
    host, machine = objects()["hosts"][0], objects()["vms"][0]
    hosts = [{**host, "ComputerName": f"HV{n}", "Name": f"HV{n}"} for n in range(34)]
    vms = [{**machine, "Name": f"vm{n}", "VMId": f"{n}", "ComputerName": f"hv{n % 34}.lab"} for n in range(800)]
    found = read({"hosts": hosts, "vms": vms})
    assert (len(found.hosts), len(found.vms)) == (34, 800)
    assert all(vm.host for vm in found.vms)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.json", '[{"LogicalProcessorCount": 4, "MemoryCapacity": 1', "no JSON"),
        ("b.csv", "Name,Value\n1,2\n", "no reader recognises"),
    ],
)
def test_other_files_are_none_of_it(tmp_path, file, text, words):
    with pytest.raises(SourceError, match=words):
        hostile.read(tmp_path / "hyperv", {file: text})


HOSTILE = hostile.Importer(
    base=objects(),
    wrong=[
        ({"hosts": []}, "Get-VMHost"),
        ({"hosts": [{**objects()["hosts"][0], "LogicalProcessorCount": 10**9}]}, "HV1/LogicalProcessorCount"),
        ({"vms": [{**objects()["vms"][0], "ProcessorCount": "many"}]}, "db/ProcessorCount"),
    ],
    limits={(export_files, "MOST_FILES"): 1, (export_files, "MOST_ALL_BYTES"): 1, (powershell, "MOST_ROWS"): 1},
    good=lambda: [objects()],
    read=partial(read_as, "csv"),
    depth=3,
)
HOSTILE_JSON = hostile.Importer(good=lambda: [objects()], read=partial(read_as, "json"), depth=3)
