"""Answers of Prism Element and Prism Central: units, both versions of VMs, pages, clusters, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import simulated
from tests.python.ingest import hostile

from hypertwin.errors import SourceError
from hypertwin.ingest import export_files
from hypertwin.ingest.inventory import Cluster, Rule
from hypertwin.ingest.nutanix import prism

GIB = 2**30
CLUSTER = {
    "id": "c-1::7",
    "uuid": "c-1",
    "name": "PROD",
    "num_nodes": 2,
    "cluster_external_ipaddress": "10.0.0.9",
}
HOST = {
    "uuid": "h-1",
    "name": "NTNX-A",
    "cluster_uuid": "c-1",
    "num_cpu_sockets": 2,
    "num_cpu_cores": 24,
    "num_cpu_threads": 48,
    "cpu_model": "Intel(R) Xeon(R) Gold 6126 CPU @ 2.60GHz",
    "cpu_frequency_in_hz": 2_600_000_000,
    "cpu_capacity_in_hz": 62_400_000_000,
    "memory_capacity_in_bytes": 512 * GIB,
    "hypervisor_full_name": "Nutanix 20190916.276",
    "hypervisor_type": "kKvm",
    "hypervisor_state": "kAcropolisNormal",
    "host_in_maintenance_mode": None,
    "state": "NORMAL",
    "stats": {
        "hypervisor_cpu_usage_ppm": "136060",
        "hypervisor_memory_usage_ppm": "666265",
        "hypervisor_timespan_usecs": "35676623",
        "num_iops": "-1",
    },
    "usage_stats": {"storage.capacity_bytes": "4000", "storage.usage_bytes": "1000"},
}
VM = {
    "uuid": "v-1",
    "name": "db",
    "host_uuid": "h-1",
    "memory_mb": 65536,
    "num_vcpus": 4,
    "num_cores_per_vcpu": 2,
    "power_state": "on",
    "ha_priority": 0,
    "affinity": {"policy": "AFFINITY", "host_uuids": ["h-1", "h-9"]},
    "vm_disk_info": [
        {"disk_address": {"device_bus": "ide"}, "is_cdrom": True, "is_empty": True},
        {"disk_address": {"device_bus": "scsi"}, "is_cdrom": False, "size": 100 * GIB, "storage_container_uuid": "s-1"},
        {"disk_address": {"device_bus": "nvme"}, "is_cdrom": False, "size": 10 * GIB, "storage_container_uuid": "s-x"},
    ],
}
OFF = {**VM, "uuid": "v-2", "name": "spare", "host_uuid": None, "power_state": "off", "affinity": None}
USED = {
    "uuid": "v-1",
    "vmName": "db",
    "hostName": "NTNX-A",
    "numVCpus": 8,
    "memoryCapacityInBytes": 64 * GIB,
    "powerState": "on",
    "controllerVm": False,
    "cpuReservedInHz": None,
    "guestOperatingSystem": "CentOS",
    "stats": {"hypervisor_cpu_usage_ppm": "250000", "controller_num_iops": "120", "memory_usage_ppm": "400000"},
}
CVM = {
    **USED,
    "uuid": "v-9",
    "vmName": "NTNX-18SM6F-A-CVM",
    "memoryCapacityInBytes": 32 * GIB,
    "controllerVm": True,
    "stats": {"hypervisor_cpu_usage_ppm": "-1"},
}


def listed(*entities: dict[str, Any], total: int | None = None) -> dict[str, Any]:
    return {"metadata": {"grand_total_entities": total or len(entities)}, "entities": list(entities)}


def element() -> dict[str, Any]:
    """Answers of Prism Element, by file."""
    second = {**HOST, "uuid": "h-2", "name": "NTNX-B", "stats": {"hypervisor_cpu_usage_ppm": "-1"}}
    return {
        "cluster.json": CLUSTER,
        "hosts.json": listed(HOST, second),
        "vms.json": listed(VM, OFF),
        "used.json": {"metadata": {"grandTotalEntities": 2}, "entities": [USED, CVM]},
        "containers.json": listed({"storage_container_uuid": "s-1", "name": "default", "cluster_uuid": "c-1"}),
        "ha.json": {"failover_enabled": True, "num_host_failures_to_tolerate": 1, "reservation_type": "RESERVE_HOSTS"},
    }


def central() -> dict[str, Any]:
    """The same of Prism Central, with itself among the hosts."""

    def entity(kind: str, uuid: str, name: str | None, **resources: Any) -> dict[str, Any]:
        reference = {"kind": "cluster", "uuid": "c-1", "name": "PROD"}
        return {
            "status": {"name": name, "state": "COMPLETE", "cluster_reference": reference, "resources": resources},
            "metadata": {"kind": kind, "uuid": uuid},
        }

    size = {
        "num_cpu_sockets": 2,
        "num_cpu_cores": 24,
        "cpu_capacity_hz": 62_400_000_000,
        "memory_capacity_mib": 524_288,
    }
    host = {**size, "cpu_model": HOST["cpu_model"], "hypervisor": {"hypervisor_full_name": "Nutanix 20190916.276"}}
    disk = {
        "device_properties": {"device_type": "DISK", "disk_address": {"adapter_type": "SCSI", "device_index": 0}},
        "disk_size_bytes": 100 * GIB,
        "storage_config": {"storage_container_reference": {"kind": "storage_container", "uuid": "s-1"}},
    }
    machine = {
        **{"num_sockets": 4, "num_vcpus_per_socket": 2, "memory_size_mib": 65536, "power_state": "ON"},
        "host_reference": {"kind": "host", "uuid": "h-1", "name": "NTNX-A"},
        "disk_list": [disk, {"device_properties": {"device_type": "CDROM"}}],
    }
    hosts = [entity("host", "h-1", "NTNX-A", **host), entity("host", "pc", None), entity("host", "pc2", "PC")]
    return {
        "hosts.json": {"api_version": "3.1", "metadata": {"total_matches": 3}, "entities": hosts},
        "vms.json": {
            "metadata": {"total_matches": 600, "kind": "vm"},
            "entities": [entity("vm", "v-1", "db", **machine)],
        },
    }


@pytest.fixture
def read(tmp_path: Path):
    return lambda answers: hostile.read(tmp_path / "prism", answers)


def test_prism_element(read):
    found = read(element())
    first, second = found.hosts
    assert (first.name, first.cluster, first.hypervisor) == ("NTNX-A", "PROD", "Nutanix 20190916.276")
    assert (first.sockets, first.cores_per_socket, first.threads_per_core) == (2, 12, 2)
    assert (first.memory_bytes, first.clock_hz) == (512 * GIB, 2.6e9)
    assert first.cpu_usage_pct == pytest.approx(13.606)
    assert first.memory_usage_pct == pytest.approx(66.6265)
    assert first.over_s == pytest.approx(35.676623)
    assert (second.cpu_usage_pct, second.over_s) == (None, None), "-1 is no share"
    db, spare, controller = (next(vm for vm in found.vms if vm.name == name) for name in ("db", "spare", CVM["vmName"]))
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes) == (8, 2, 64 * GIB)
    assert (db.host, db.cluster, db.powered_on, db.guest_os) == ("NTNX-A", "PROD", True, "CentOS")
    assert db.demand.cpu_mhz == pytest.approx(0.25 * 8 * 2600)
    assert db.demand.iops == 120
    assert [(disk.capacity_bytes, disk.controller, disk.datastore) for disk in db.disks] == [
        (100 * GIB, None, "default"),
        (10 * GIB, "nvme", None),
    ]
    assert db.storage_provisioned_bytes == 110 * GIB
    assert (spare.powered_on, spare.host, spare.cluster, spare.demand) == (False, None, "PROD", None)
    assert (controller.storage_appliance, controller.vcpus, controller.memory_bytes) == (True, 8, 32 * GIB)
    assert controller.demand is None
    assert found.clusters == [Cluster("PROD", ha=True, admission_control=True, failures=1)]
    assert [(store.name, store.capacity_bytes, store.free_bytes, store.clusters) for store in found.datastores] == [
        ("PROD storage", 8000, 6000, ("PROD",)),
        ("default", None, None, ("PROD",)),
    ]
    assert found.rules == [Rule("affinity of db", "run-on", ("db",), ("NTNX-A",), mandatory=True)]
    assert found.unused == ["stats of VMs but for CPU usage and IOPS"]
    assert {gap.costs for gap in found.gaps} == {"CPU usage of hosts", "measured demand"}


def test_prism_central(read):
    found = read(central())
    (host,) = found.hosts
    assert (host.cluster, host.memory_bytes, host.clock_hz) == ("PROD", 512 * GIB, 2.6e9)
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (2, 12, 2)
    (db,) = found.vms
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes, db.host) == (8, 2, 64 * GIB, "NTNX-A")
    assert [disk.capacity_bytes for disk in db.disks] == [100 * GIB]
    said = {each.text for each in found.assumptions}
    assert "1 of 600 vms are in the files: the other pages are missing" in said
    assert "left out: its cores and memory are unknown" in said
    assert "hyper-threading: assumed on" in {gap.costs for gap in found.gaps}


def test_two_clusters_are_told_apart(read):
    answers = element()
    other = {**HOST, "uuid": "h-3", "name": "T-A", "cluster_uuid": "c-2"}
    answers["hosts.json"]["entities"].append(other)
    answers["vms.json"]["entities"] += [{**VM, "uuid": "v-3", "name": "t", "host_uuid": "h-3"}]
    answers["test.json"] = {**CLUSTER, "uuid": "c-2", "name": "TEST"}
    found = read(answers)
    assert [host.cluster for host in found.hosts] == ["PROD", "PROD", "TEST"]
    assert {vm.name: vm.cluster for vm in found.vms}["t"] == "TEST"
    assert {vm.name: vm.cluster for vm in found.vms}["spare"] is None, "off, on no host: in either of them"
    assert found.clusters == [Cluster("PROD"), Cluster("TEST")], "the answer to /ha does not say whose it is"
    assert [store.name for store in found.datastores][:2] == ["PROD storage", "TEST storage"]


@pytest.mark.parametrize(
    ("ha", "expected"),
    [
        ({"failover_enabled": False, "num_host_failures_to_tolerate": 0}, Cluster("PROD")),
        ({"failover_enabled": True, "reservation_type": "NO_RESERVATIONS"}, Cluster("PROD", True, None)),
        ({"failover_enabled": True, "reservation_type": "kAcropolisHANoReservations"}, Cluster("PROD", True, None)),
    ],
)
def test_high_availability(read, ha, expected):
    (cluster,) = read({**element(), "ha.json": ha}).clusters
    assert cluster.ha is (True if ha["failover_enabled"] else None), "restarts as far as there is room need no setting"
    assert cluster.failures is None
    assert cluster.name == expected.name
    assert cluster.admission_control is (False if "reservation_type" in ha else None)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"host_in_maintenance_mode": True}, {"in_maintenance": True}),
        ({"hypervisor_state": "kEnteredMaintenanceMode"}, {"in_maintenance": True}),
        ({"acropolis_connection_state": "kDisconnected"}, {"in_maintenance": True, "cpu_usage_pct": None}),
        ({"hypervisor_state": "kHAFailoverSource"}, {"in_maintenance": True, "cpu_usage_pct": None}),
        ({"acropolis_connection_state": "kConnected"}, {"in_maintenance": False}),
        ({"cpu_frequency_in_hz": None}, {"clock_hz": 2.6e9}),
        ({"num_cpu_threads": 24}, {"threads_per_core": 1}),
        ({"hypervisor_full_name": None, "hypervisor_type": "kVMware"}, {"hypervisor": "VMware ESXi"}),
        ({"num_cpu_cores": 25}, {"cores_per_socket": 13}),
    ],
)
def test_fields_of_a_host(read, changed, expected):
    host = read({**element(), "hosts.json": listed({**HOST, **changed})}).hosts[0]
    assert {key: getattr(host, key) for key in expected} == expected


def test_import_says_what_stands_in_for_ahv_and_simulates(tmp_path, cli):
    for name, answer in element().items():
        (tmp_path / name).write_text(json.dumps(answer))
    done = cli("import", *element(), "-o", "cluster.yaml", "--explain", exits=0)
    assert done.stderr.count("Nutanix AHV is KVM with an unknown kernel") == 1
    assert (tmp_path / "cluster.yaml").read_text().count("Nutanix AHV is KVM") == 1, "once, not for each host"
    assert simulated(cli)["vms"]["db"]["guest_cpu_pct"] == pytest.approx(25, abs=10)


def test_800_machines_in_pages(read):
    hosts = [{**HOST, "uuid": f"h-{n}", "name": f"n{n}"} for n in range(34)]
    vms = [{**VM, "uuid": f"v-{n}", "name": f"vm{n}", "host_uuid": f"h-{n % 34}", "affinity": None} for n in range(800)]
    pages = {f"vms-{page}.json": listed(*vms[page * 200 : page * 200 + 200], total=800) for page in range(4)}
    found = read({"hosts.json": listed(*hosts), **pages})
    assert (len(found.hosts), len(found.vms)) == (34, 800)
    assert not [each for each in found.assumptions if "pages" in each.text]
    assert {host.cluster for host in found.hosts} == {"c-1"}, "nothing gives it a name"


HOSTILE = hostile.Importer(
    wrong=[
        ({"vms.json": listed(VM)}, "no host with cores and memory"),
        ({"hosts.json": json.dumps(listed(HOST))[:-3]}, "no JSON"),
        ({"hosts.json": listed({**HOST, "num_cpu_cores": 10**9})}, "NTNX-A/num_cpu_cores"),
        ({"hosts.json": listed({**HOST, "num_cpu_sockets": 99})}, "99 sockets"),
        ({"hosts.json": listed(HOST), "vms.json": listed({**VM, "num_vcpus": 10**9})}, "db/num_vcpus"),
        ({"hosts.json": listed(HOST), "vms.json": listed({**VM, "num_vcpus": "many"})}, "db/num_vcpus"),
        ({"cluster.json": CLUSTER}, "no host with cores and memory"),
    ],
    limits={(export_files, "MOST_FILES"): 2, (export_files, "MOST_ALL_BYTES"): 1000, (prism, "MOST_ENTITIES"): 1},
    good=lambda: [element(), central()],
)


def test_other_json_is_none_of_it(read):
    with pytest.raises(SourceError, match="no reader recognises"):
        read({"a.json": {"entities": [{"name": "x"}]}, "b.json": [1]})
