"""What the core says a scenario means, with types."""

import dataclasses
import json

import pytest

from hypertwin import _core, language, members, scenario

TEXT = """
name: members
hosts:
  esx: {count: 2, label: esx.example.com, sockets: 2, cores_per_socket: 4, clock: 2.5 GHz, memory_per_node: 64 GiB,
        hypervisor: esxi-7.0u2}
  kvm: {sockets: 1, cores_per_socket: 4, threads_per_core: 1, clock: 3 GHz, memory_per_node: 32 GiB,
        hypervisor: linux-6.12}
  node: {count: 3, sockets: 1, cores_per_socket: 4, clock: 3 GHz, memory_per_node: 32 GiB, hypervisor: linux-6.12}
vms:
  db: {count: 2, vcpus: 4, memory: 8 GiB, workload: w, host: esx, label: DB}
  gone: {count: 0, vcpus: 4, memory: 8 GiB, workload: w}
  svm: {vcpus: 2, memory: 4 GiB, workload: w, storage: pool, controllers: 2, storage_appliance: true, label: SVM 1}
workloads:
  w: {arrivals: {closed: {population: 1}}, cpu: {mean: 1 ms}}
storage:
  pool: {kind: chunk-store, nodes: node, devices: {kind: nvme, per_node: 2, capacity: 1 TiB}, stored: 1 GiB}
"""


def test_the_members_of_a_scenario_are_resolved() -> None:
    found = scenario.loads(TEXT).inventory
    assert [host.name for host in found.hosts] == ["esx-1", "esx-2", "kvm", "node-1", "node-2", "node-3"]
    assert found.host["esx-2"] == language.Host(
        name="esx-2",
        group="esx",
        label="esx.example.com-2",
        cluster="default",
        hypervisor="esxi-7.0u2",
        family="esxi",
        sockets=2,
        cores_per_socket=4,
        nodes=2,
        cores_per_node=4,
        threads_per_core=2,
        cores=8,
        threads=16,
        clock_hz=2_500_000_000,
        busy_clock_hz=2_500_000_000,
        work_per_cycle=1.0,
        memory_bytes=128 * 2**30,
        memory_per_node_bytes=64 * 2**30,
        hypervisor_memory_bytes=0,
        storage_memory_bytes=0,
        processors=2,
    )
    assert [(vm.name, vm.group, vm.label, vm.host) for vm in found.vms] == [
        ("db-1", "db", "DB-1", "esx-1"),
        ("db-2", "db", "DB-2", "esx-2"),
        ("svm", "svm", "SVM 1", "node-1"),
    ]
    svm = found.vm["svm"]
    assert (svm.memory_bytes, svm.vdisks, svm.pool, svm.array, svm.storage_appliance) == (
        *(4 * 2**30, 20, "pool", None),
        True,
    )
    pool = found.pool["pool"]
    assert (pool.groups, pool.hosts, pool.vms_on_nodes) == (("node",), ("node-1", "node-2", "node-3"), True)
    assert pool.redundancy == language.redundancy("replicas-3:2")


@pytest.mark.parametrize(
    ("ha", "is_on"),
    [
        ({}, None),
        ({"admission": True}, None),
        ({"policy": "fdm"}, True),
        ({"policy": "fdm", "enabled": False}, False),
        ({"enabled": True}, True),
    ],
)
def test_a_named_type_of_ha_is_on(ha: dict[str, object], is_on: bool | None) -> None:
    assert scenario.loads(TEXT, {"clusters.default.ha": ha}).inventory.cluster["default"].ha is is_on


def test_members_are_numbered_where_there_are_several() -> None:
    assert [language.member_names("db", count) for count in (0, 1, 2)] == [[], ["db"], ["db-1", "db-2"]]


def test_the_software_of_a_guest_is_kept_as_written() -> None:
    windows = "Microsoft Windows Server 2022 (64-bit)"
    keys = {"vms.svm.guest_os": windows, "vms.svm.products": ["sql-server", "oracle-database"]}
    vm = scenario.loads(TEXT, keys).inventory.vm
    assert (vm["svm"].guest_os, vm["svm"].products) == (windows, ("sql-server", "oracle-database"))
    assert (vm["db-1"].guest_os, vm["db-1"].products) == (None, ())


def test_facts_of_the_source_are_kept_as_written() -> None:
    disk = {"label": "Hard disk 1", "capacity": "40 GiB", "raw": "physical", "path": ""}
    facts = {
        "firmware": "efi",
        "tags": ["shop"],
        "disks": [disk, {}],
        "networks": [],
        "partitions": [{"free": "1 MiB"}],
    }
    vm = scenario.loads(TEXT, {"vms.svm.source": facts}).inventory.vm
    assert vm["svm"].source == members.SourceVm(
        firmware="efi",
        tags=("shop",),
        disks=(
            members.SourceDisk(label="Hard disk 1", capacity_bytes=40 << 30, raw="physical", path=""),
            members.SourceDisk(),
        ),
        networks=(),
        partitions=(members.SourcePartition(free_bytes=1 << 20),),
    )
    assert vm["db-1"].source is language.UNKNOWN_SOURCE


def test_settings_of_vms_are_in_the_inventory() -> None:
    keys = {"vms.svm.limit": "1 GHz", "vms.svm.shares": "high", "vms.svm.cores_per_socket": 1, "vms.svm.affinity": "0"}
    vm = scenario.loads(TEXT, keys).inventory.vm
    svm, db = vm["svm"], vm["db-1"]
    assert (svm.limit_hz, svm.shares, svm.cores_per_socket) == (10**9, 2_000.0 * svm.vcpus, 1)
    assert (svm.has_affinity, svm.cpu_hot_add) == (True, False)
    assert (db.limit_hz, db.shares, db.has_affinity) == (None, 1_000.0 * db.vcpus, False)


def test_versions_compare_as_numbers_and_know_their_options() -> None:
    found = language.hypervisors()
    assert found["esxi-7.0u2"].version == (7, 0, 2)
    assert found["linux-6.12"].version == (6, 12, 0) > found["linux-6.6"].version
    for family in ("esxi", "linux"):
        versions = [each.version for each in found.values() if each.family == family]
        assert versions == sorted(versions)
    assert "sized_on" in found["esxi-7.0u2"].numa - found["esxi-8.0"].numa
    assert "cores_per_node" in found["esxi-8.0"].numa - found["esxi-7.0u2"].numa
    assert found["linux-6.6"].numa == {"cells", "nodes"}
    assert "tick" in found["linux-6.6"].scheduler - found["esxi-9.0"].scheduler
    assert [name for name, each in found.items() if each.vm != {"cpu_hot_add"}] == ["linux-6.6", "linux-6.12", "none"]
    assert [each.reservations for each in found.values()] == [each.family == "esxi" for each in found.values()]


def test_a_family_states_its_facts_and_the_version_that_is_assumed() -> None:
    found = language.hypervisors()
    esxi, linux, none = (found[language.assumed_hypervisor(family)] for family in ("esxi", "linux", "none"))
    assert [each.name for each in (esxi, linux, none)] == ["esxi-8.0", "linux-6.12", "none"]
    assert [each.controllers[0] for each in (esxi, linux, none)] == ["pvscsi", "virtio-scsi", "passthrough"]
    assert [each.virtualises for each in (esxi, linux, none)] == [True, True, False]
    for fact in ("admission", "swap_files", "charges_shared_cores", "home_nodes"):
        assert [getattr(each, fact) for each in (esxi, linux, none)] == [True, False, False], fact


def test_pools_have_the_rules_of_their_products() -> None:
    kinds = ("mirrored-mesh", "chunk-store", "ceph", "vsan")
    hosts = {"sockets": 1, "cores_per_socket": 4, "clock": "2 GHz", "memory_per_node": "64 GiB"}
    disks = {"kind": "nvme", "per_node": 1, "capacity": "1 TB"}
    data = {
        "name": "products",
        "run": {"duration": "1 s"},
        "hosts": {kind: {**hosts, "count": 3, "hypervisor": "esxi-8.0"} for kind in kinds},
        "storage": {kind: {"kind": kind, "nodes": kind, "devices": dict(disks)} for kind in kinds},
        "vms": {},
        "workloads": {},
    }
    data["storage"]["ceph"]["ceph"] = {"nearfull_pct": 80}
    data["storage"]["mirrored-mesh"]["rebuild"] = {"delay": "7 s"}
    found = language.pool_facts(scenario.load(data).json)
    assert {name: each.full_pct for name, each in found.items()} == dict(zip(kinds, (100, 100, 80, 90), strict=True))
    assert [found[kind].rebuild_delay_s for kind in kinds] == [7, 5, 620, 3_600]
    assert [found[kind].replaces_failed_disks for kind in kinds] == [True, False, False, True]
    assert [found[kind].in_kernel for kind in kinds] == [False, False, False, True]


def test_a_redundancy_says_what_it_needs_and_survives() -> None:
    code = language.redundancy("ec-4+2")
    assert (code.width, code.needed, code.failures_tolerated, code.minimum, code.is_erasure_code) == (6, 4, 2, 4, True)
    copies = language.redundancy("replicas-3:2")
    assert (copies.width, copies.needed, copies.failures_tolerated, copies.minimum, copies.is_erasure_code) == (
        3,
        1,
        2,
        2,
        False,
    )
    with pytest.raises(ValueError, match="99 data fragments"):
        language.redundancy("ec-99+2")


def test_limits_are_those_that_validation_keeps() -> None:
    limits = language.limits()
    assert all(value > 0 for value in dataclasses.asdict(limits).values())
    assert (limits.sockets, limits.clock_hz, limits.memory_bytes) == (16, 20 * 10**9, 2**50)
    data = json.loads(scenario.loads(TEXT).json)
    data["hosts"]["esx"]["sockets"] = limits.sockets + 1
    with pytest.raises(_core.ScenarioMistakes, match="from 1 to 16"):
        _core.inventory(json.dumps(data))
