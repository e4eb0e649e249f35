"""Ceph in dumps of Proxmox VE: even and crooked clusters, external Ceph, broken answers."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.estate import make, proxmox, proxmox_ceph, proxmox_server
from tests.estate.proxmox_ceph import TB, Osd, coded, pool
from tests.estate.truth import HARDWARE, Estate
from tests.python.ingest import hostile

from hypertwin import Scenario
from hypertwin.errors import SourceError
from hypertwin.ingest import address, sources, to_scenario
from hypertwin.ingest.kvm import proxmox as reader

NODES = ("esx-01", "esx-02", "esx-03")
EVEN = [Osd(node) for node in NODES for _ in range(4)]
MGR = pool(".mgr", 3 * 2**20, application_metadata={"mgr": {}})
HDD = Osd("", size=16 * TB, device_class="hdd", model="ST16000NM001G-2KK103", disk="sda")
NO_LATENCY = "has no latency: the storage behind the datastores is unknown"


def estate(**knobs: Any) -> Estate:
    """Three equal nodes with twelve running VMs."""
    return make(1, **{"hosts": 3, "vms": 12, "fill": 0.5, "hardware": HARDWARE[:1], **knobs})


def dump(
    osds: Sequence[Osd] = EVEN,
    pools: Sequence[dict[str, Any]] = (MGR, pool("vms", 9 * TB)),
    storages: Sequence[dict[str, Any]] = ({"storage": "ceph", "pool": "vms", "krbd": 0},),
    disks: dict[str, str] | None = None,
    of: Estate | None = None,
    **about: Any,
) -> dict[str, Any]:
    """Every answer; each VM has these `disks`."""
    found = proxmox.answers(of or estate()) | proxmox_ceph.answers(osds, pools, storages, **about)
    for path in found:
        if path.endswith("/config"):
            found[path] |= {"scsihw": "virtio-scsi-single", **(disks or {"scsi0": "ceph:vm-1-disk-0,size=100G"})}
    return found


def imported(answers: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The scenario, which the core accepts, and the notes."""
    found = reader.inventory({path.strip("/"): answer for path, answer in answers.items()}, "pve.json")
    assert found.unused == []
    made, assumptions = to_scenario.to_scenario(found)
    Scenario.from_yaml(to_scenario.to_yaml(made))
    return made, [*to_scenario.summary(found, made, assumptions)]


def says(notes: Sequence[str], *words: str) -> bool:
    """Whether a note has these words."""
    return any(all(word in note for word in words) for note in notes)


def test_three_even_nodes():
    disks = {"scsi0": "ceph:a,size=100G", "scsi1": "ceph:b,size=50G", "ide2": "none,media=cdrom"}
    made, notes = imported(dump(disks=disks))
    assert made["storage"] == {
        "vms": {
            "kind": "ceph",
            "nodes": list(NODES),
            "redundancy": "replicas-3:2",
            "ceph": {"release": "squid", "placement_groups": 256},
            "devices": {"device": "PM9A3", "per_node": 4, "capacity": "1920383410176 B"},
            "stored": f"{round((3 * TB + 2**20) / 2**20)} MiB",
        }
    }
    assert list(made["hosts"]) == list(NODES)
    assert {vm["host"] for vm in made["vms"].values()} <= set(NODES)
    keys = ("storage", "controller", "controllers", "vdisks")
    assert {tuple(vm.get(key) for key in keys) for vm in made["vms"].values()} == {("vms", "virtio-scsi", 2, 2)}
    assert says(notes, "3 hosts with 120 cores, 12 of")
    assert says(notes, "I/O demand of VMs on storage pools is unknown")
    assert says(notes, "network of OSDs unknown")
    assert not says(notes, NO_LATENCY)
    assert not says(notes, "warning:")


@pytest.mark.parametrize(
    ("hardware", "disks", "keys"),
    [
        ("virtio-scsi-single", {"scsi0": "ceph:a,iothread=1,size=9G"}, {}),
        ("virtio-scsi-single", {"scsi0": "ceph:a,size=9G"}, {"io_threads": 0}),
        ("virtio-scsi-pci", {"scsi0": "ceph:a,iothread=1,size=9G"}, {"io_threads": 0}),
        (
            "lsi",
            {"virtio0": "ceph:a,iothread=1,size=9G,cache=writeback,aio=threads"},
            {"disk_cache": "writeback", "aio": "threads"},
        ),
        ("lsi", {"virtio0": "ceph:a,iothread=1,size=9G,cache=most,aio=best"}, {}),
        ("lsi", {"ide0": "ceph:a,size=9G,cache=unsafe"}, {"disk_cache": "unsafe"}),
    ],
)
def test_how_qemu_serves_disks(hardware: str, disks: dict[str, str], keys: dict[str, Any]) -> None:
    made, _ = imported(dump(disks={"scsihw": hardware, **disks}))
    of_qemu = ("io_threads", "disk_cache", "aio")
    assert all({key: vm[key] for key in of_qemu if key in vm} == keys for vm in made["vms"].values())


def test_disks_that_differ_are_like_most_of_them() -> None:
    disks = {f"virtio{number}": "ceph:a,size=9G,iothread=1,cache=writeback" for number in (0, 1)}
    made, notes = imported(dump(disks={**disks, "virtio2": "ceph:b,size=9G"}))
    assert {(vm.get("io_threads"), vm["disk_cache"]) for vm in made["vms"].values()} == {(None, "writeback")}
    assert says(notes, "assumed those of most of them")


def test_nodes_keep_their_names_and_their_measurements():
    truth = estate(measured_vms=True)
    made, _ = imported(dump(of=truth))
    found = Scenario.from_yaml(to_scenario.to_yaml(made)).inventory
    for host in truth.hosts:
        measured = made["hosts"][host.name]["measured"]
        assert measured["cpu_usage_pct"] == pytest.approx(host.cpu_pct, rel=1e-3)
        assert measured["memory_usage_pct"] == pytest.approx(host.memory_pct, rel=1e-3)
    assert found.pools[0].hosts == NODES
    assert {vm.host_groups for vm in found.vms} == {NODES}


def test_the_same_pool_over_the_network(tmp_path, monkeypatch):
    monkeypatch.setenv(address.PASSWORD_VARIABLE, proxmox_server.SECRET)
    answers = dump()
    with proxmox_server.serving(answers, tmp_path) as node:
        live = sources.read([node.address()])
    dumped = reader.inventory({path.strip("/"): answer for path, answer in answers.items()}, "x")
    assert live.pools == dumped.pools != []
    assert sum("/ceph/osd" in path for path in node.asked) == 1
    rights = proxmox_server.refuses("storage", "cluster/ceph")
    with proxmox_server.serving(answers, tmp_path, rights) as node:
        live = sources.read([node.address()])
    assert not live.pools
    assert any(gap.what.startswith("ceph (not allowed: needs Sys.Audit") for gap in live.gaps)


def test_an_imported_cluster_simulates_and_plans(tmp_path, cli):
    (tmp_path / "pve.json").write_text(json.dumps(dump(of=estate(measured_vms=True))))
    cli("import", "pve.json", "-o", "cluster.yaml", exits=0)
    quick = ("--duration", "1", "--warmup", "0.5", "--replications", "1")
    said = cli("simulate", "cluster.yaml", *quick).stdout
    assert "I/O\n" not in said, "all are idle"
    assert "in use %" in said, "beside the measured memory"
    workload = "workloads.measured.ios=2"
    short = ("--duration", "1", "--warmup", "0.5", "--replications", "1", "--format", "json")
    done = cli("simulate", "cluster.yaml", "--set", workload, *short, exits=0)
    point = json.loads(done.stdout)["points"][0]
    assert list(point["hosts"]) == list(NODES)
    busy = [vm["io_latency_ms"]["mean"] for vm in point["vms"].values() if vm["iops"] > 10]
    assert busy
    assert all(0.05 < latency < 20 for latency in busy)
    done = cli("capacity", "cluster.yaml", "--explain")
    assert "replicas-3:2" in done.stdout, done.stderr
    done = cli("durability", "cluster.yaml", "--afr", "1%", exits=0)
    assert "replicas-3:2" in done.stdout
    done = cli("plan", "survive", "cluster.yaml")
    assert done.returncode in (0, 1), done.stderr


CROOKED = [
    *(Osd(NODES[0]) for _ in range(4)),
    *(Osd(NODES[1], size=3_840_000_000_000) for _ in range(2)),
    *(Osd(NODES[2]) for _ in range(3)),
    Osd(NODES[2], up=False),
    Osd(NODES[0], out=True),
    *(replace(HDD, node=node, db="/dev/dm-3") for node in NODES for _ in range(2)),
]


def test_a_crooked_cluster():
    pools = [MGR, pool("fast", 9 * TB, rule="fast"), coded("slow", 6 * TB, 4, 2), pool("slow-names", TB, rule="fast")]
    storages = [{"storage": "ceph", "pool": "fast"}, {"storage": "bulk", "pool": "slow-names", "data-pool": "slow"}]
    answers = dump(CROOKED, pools, storages, flags=["noout"], health="HEALTH_WARN")
    first = next(path for path in answers if path.endswith("/qemu/100/config"))
    answers[first]["scsi1"] = "bulk:x,size=3T"
    made, notes = imported(answers)
    fast, slow = made["storage"]["fast"], made["storage"]["slow"]
    assert fast["redundancy"] == "replicas-3:2"
    assert fast["devices"] == {"device": "PM9A3", "per_node": 3, "capacity": "2560340809045 B"}
    assert fast["devices"]["per_node"] * 3 * 2_560_340_809_045 == pytest.approx(8 * EVEN[0].size + 2 * 3.84 * TB)
    assert fast["stored"] == f"{round(10 * TB / 3 / 2**20)} MiB", "with the names of the coded pool"
    assert (slow["redundancy"], slow["failure_domain"]) == ("ec-4+2", "disk")
    assert slow["devices"] == {"kind": "hdd-7.2k", "per_node": 2, "capacity": f"{16 * TB} B"}
    assert slow["flash"] == {"kind": "nvme"}
    assert slow["stored"] == f"{round((4 * TB + 2 * 2**20) / 2**20)} MiB", "with .mgr, by the overhead of 4+2"
    assert sorted({vm["storage"] for vm in made["vms"].values()}) == ["fast", "slow"]
    assert says(notes, "OSD osd.10", "out: left out")
    assert says(notes, "OSD osd.9", "down: imported as up")
    assert says(notes, "noout set: imported as if not set")
    assert says(notes, "HEALTH_WARN (OSD_DOWN)")
    assert says(notes, "warning:", "10 of 1.92 TB to 3.84 TB (PM9A3) on 3 hosts (4, 4, 2)", "3 of 2.56 TB")
    assert says(notes, "warning:", "drive model ST16000NM001G-2KK103 is not in `hypertwin devices`")
    assert says(notes, "1 VM: its disks outside of storage slow are left out")


def test_pools_of_several_redundancies_on_the_same_osds_are_policies():
    pools = [pool("vms", 9 * TB), pool("scratch", 2 * TB, 2, 1)]
    storages = [{"storage": "ceph", "pool": "vms"}, {"storage": "tmp", "pool": "scratch"}]
    answers = dump(EVEN, pools, storages)
    configs = [path for path in sorted(answers) if path.endswith("/config")]
    answers[configs[0]] |= {"scsi0": "tmp:x,size=10G"}
    for path in configs[1:]:
        answers[path] |= {"scsi1": "ceph:x,size=10G", "scsi2": "tmp:x,size=10G"}
    made, notes = imported(answers)
    assert made["storage"]["vms"]["policies"] == {"scratch": {"redundancy": "replicas-2:1"}}
    assert made["storage"]["vms"]["stored"] == f"{round(4 * TB / 2**20)} MiB"
    assert [vm.get("policy") for vm in made["vms"].values()].count("scratch") == 1
    assert says(notes, "stored data is divided among them by working sets")
    assert says(notes, "its disks have several redundancies")


@pytest.mark.parametrize(
    ("metadata", "device_class", "expected", "told"),
    [
        (True, "nvme", {"device": "PM9A3"}, None),
        (False, "nvme", {"kind": "nvme"}, "assumed a generic nvme with power-loss protection for device class nvme"),
        (False, "ssd", {"kind": "sata-ssd"}, "/cluster/ceph/metadata has it, or set storage.NAME.devices.device"),
        (True, "ssd", {"device": "PM9A3"}, None),
        (False, "hdd", {"kind": "hdd-7.2k"}, "device class hdd"),
        (False, "archive", {"kind": "sata-ssd"}, "device class archive"),
    ],
)
def test_drives(metadata, device_class, expected, told):
    answers = dump([replace(osd, device_class=device_class) for osd in EVEN])
    if not metadata:
        del answers["/cluster/ceph/metadata"]
    made, notes = imported(answers)
    assert made["storage"]["vms"]["devices"].items() >= expected.items()
    assert says(notes, "warning: 12 OSDs: drive model unknown: ", told or "") is (told is not None)


@pytest.mark.parametrize(
    ("changed", "redundancy"),
    [
        ({"size": 2, "min_size": 1}, "replicas-2:1"),
        ({"size": 3, "min_size": 7}, "replicas-3:3"),
        ({"size": 4, "min_size": 2}, "replicas-3:2"),  # on three nodes
        ({"type": "erasure", "size": 3, "min_size": 2, "autoscale_status": {"raw_used_rate": 1.5}}, "ec-2+1"),
        ({"type": "erasure", "size": 3, "min_size": 2, "autoscale_status": None}, "ec-2+1"),
        ({"type": "erasure", "size": 6, "min_size": 5, "autoscale_status": {"raw_used_rate": 1.5}}, None),
        ({"size": 0}, None),
        ({"size": "many"}, None),
        ({"size": 10**30}, None),
    ],
)
def test_redundancy(changed, redundancy):
    made, notes = imported(dump(pools=[pool("vms", 9 * TB) | changed]))
    assert made.get("storage", {}).get("vms", {}).get("redundancy") == redundancy
    assert ("storage" in made) is (redundancy is not None)
    assert says(notes, NO_LATENCY) is (redundancy is None)


@pytest.mark.parametrize(
    ("size", "least", "redundancy"), [(6, 5, "ec-4+2"), (3, 2, "ec-2+1"), (5, 4, "ec-3+2"), (11, 9, "ec-8+3")]
)
def test_an_erasure_code_without_its_rate(size, least, redundancy):
    fields = {"type": "erasure", "autoscale_status": {}, "rule": "slow"}
    osds = [replace(HDD, node=node) for node in NODES for _ in range(4)]
    made, notes = imported(dump(osds, [pool("vms", TB, size, least, **fields)]))
    assert made["storage"]["vms"]["redundancy"] == redundancy
    assert says(notes, f"assumed {redundancy.removeprefix('ec-')} by its min_size")


@pytest.mark.parametrize(
    ("storages", "client"), [([{"krbd": 1}], "krbd"), ([{"krbd": 1}, {"krbd": 0, "storage": "second"}], None)]
)
def test_the_client(storages, client):
    made, _ = imported(dump(storages=[{"storage": "ceph", "pool": "vms", **each} for each in storages]))
    assert made["storage"]["vms"]["ceph"].get("client") == client


def test_without_a_list_of_storages_the_only_pool_is_theirs():
    answers = dump()
    del answers["/storage"]
    node = {"type": "storage", "storage": "ceph", "plugintype": "rbd", "shared": 1, "content": "images"}
    answers["/cluster/resources"] += [{**node, "node": name} for name in NODES]
    made, notes = imported(answers)
    assert {vm["storage"] for vm in made["vms"].values()} == {"vms"}
    assert says(notes, "storage ceph: its Ceph pool is assumed to be vms")


def test_unequal_hosts_are_nodes_with_their_own_size():
    truth = estate(hosts=5, hardware=HARDWARE)
    nodes = [host.name for host in truth.hosts]
    made, notes = imported(dump([Osd(node) for node in nodes[:4] for _ in range(4)], of=truth))
    assert len({str(hardware(host)) for host in made["hosts"].values()}) > 1
    assert made["storage"]["vms"]["nodes"] == nodes[:4]
    assert made["storage"]["vms"]["deployment"] == "mixed"
    assert made["storage"]["vms"]["devices"]["per_node"] == 4
    assert not says(notes, "imported as")
    made, _ = imported(dump([Osd(node) for node in nodes for _ in range(4)], of=truth))
    assert made["storage"]["vms"]["nodes"] == nodes
    assert "deployment" not in made["storage"]["vms"]


def hardware(host: dict[str, Any]) -> list[Any]:
    """Sockets, cores, clock and memory of a host."""
    return [host[key] for key in ("sockets", "cores_per_socket", "clock", "memory_per_node")]


def test_pools_of_different_nodes():
    truth = estate(hosts=6, vms=18)
    nodes = [host.name for host in truth.hosts]
    osds = [Osd(node) for node in nodes[:3]] + [replace(HDD, node=node) for node in nodes[2:]]
    pools = [pool("fast", TB, rule="fast"), pool("slow", 9 * TB, rule="slow") | {"size": 3, "min_size": 2}]
    storages = [{"storage": "ceph", "pool": "fast"}, {"storage": "bulk", "pool": "slow"}]
    made, _ = imported(dump(osds, pools, storages, of=truth))
    assert made["storage"]["fast"]["nodes"] == nodes[:3]
    assert made["storage"]["slow"]["nodes"] == nodes[2:]


def test_ten_nodes_are_in_order_of_number():
    truth = estate(hosts=11, vms=33)
    made, _ = imported(dump([Osd(host.name) for host in truth.hosts], of=truth))
    assert made["storage"]["vms"]["nodes"] == [host.name for host in truth.hosts]


def test_a_single_node():
    truth = estate(hosts=1, vms=4)
    rule = proxmox_ceph.MAP.replace("firstn 0 type host", "firstn 0 type osd")
    answers = dump([Osd("esx-01")] * 4, of=truth) | {"/nodes/esx-01/ceph/crush": rule}
    made, _ = imported(answers)
    assert (made["storage"]["vms"]["nodes"], made["storage"]["vms"]["failure_domain"]) == ("esx-01", "disk")


@pytest.mark.parametrize("osds", [2, 24])
def test_osds_take_no_memory_that_unmeasured_vms_have_touched(osds):
    small = (replace(HARDWARE[0], memory_gib=64),)
    truth = estate(hardware=small, fill=0.75, measured_hosts=False, measured_vms=False)
    made, notes = imported(dump([Osd(node) for node in NODES for _ in range(osds)], of=truth))
    found = Scenario.from_yaml(to_scenario.to_yaml(made)).inventory
    assert says(notes, "memory of OSDs and VMs exceeds the host") is (osds == 24)
    for host in found.hosts:
        touched = sum(vm.memory_bytes for vm in found.vms if vm.host == host.name)
        assert touched + host.hypervisor_memory_bytes <= host.memory_bytes


def test_no_ceph_and_external_ceph():
    answers = proxmox.answers(estate()) | {"/storage": [{"storage": "local", "type": "dir", "content": "iso"}]}
    made, notes = imported(answers)
    assert "storage" not in made
    assert not says(notes, "Ceph")
    answers["/storage"].append({"storage": "far", "type": "rbd", "monhost": "192.0.2.1 192.0.2.2", "pool": "vms"})
    made, notes = imported(answers)
    assert "storage" not in made
    assert says(notes, "storage far: on a Ceph cluster outside these nodes: not imported")
    assert not says(notes, "nodes/NODE/ceph")
    assert says(notes, NO_LATENCY)
    answers["/storage"].append({"storage": "near", "type": "rbd", "pool": "vms"})
    _, notes = imported(answers)
    assert says(notes, "missing: nodes/NODE/ceph/osd and nodes/NODE/ceph/pool, needed for Ceph")


def test_osds_of_a_node_that_is_offline_are_left_out():
    answers = dump()
    resources = answers["/cluster/resources"]
    gone = next(each for each in resources if each.get("node") == "esx-03" and each["type"] == "node")
    del answers["/nodes/esx-03/status"], gone["maxcpu"], gone["maxmem"]
    made, notes = imported(answers)
    assert made["storage"]["vms"]["nodes"] == ["esx-01", "esx-02"]
    assert made["storage"]["vms"]["redundancy"] == "replicas-2:2"
    assert says(notes, "replicas-3:2 on 2 failure domains: imported with 2 replicas")
    assert says(notes, "devices of hosts that are not in the scenario are left out: esx-03")


def osd_answer(answers: dict[str, Any]) -> dict[str, Any]:
    """The first OSD in the answers of all nodes, which are equal."""
    return answers["/nodes/esx-01/ceph/osd"]["root"]["children"][0]["children"][0]["children"][0]


@pytest.mark.parametrize(
    ("fields", "devices"),
    [
        ({"total_space": "much"}, 12),  # the weight has the size
        ({"total_space": 10**30}, 12),
        ({"total_space": 1024, "crush_weight": None}, 11),
        ({"total_space": -5, "crush_weight": "x"}, 11),
        ({"crush_weight": 0}, 11),
        ({"in": "0"}, 11),
        ({"id": "osd"}, 11),
        ({"type": "bucket"}, 11),
        ({"device_class": ["nvme"]}, 12),
        ({"ceph_version_short": {"a": 1}}, 12),
    ],
)
def test_implausible_osds(fields, devices):
    answers = dump()
    osd_answer(answers).update(fields)
    found = reader.inventory({path.strip("/"): answer for path, answer in answers.items()}, "pve.json")
    assert sum(len(each.devices) for each in found.pools) == devices
    assert all(device.capacity_bytes == EVEN[0].size for each in found.pools for device in each.devices)
    imported(answers)


@pytest.mark.parametrize(
    ("used", "stored"), [("9", "1 MiB"), (10**30, None), (200 * TB, None), (None, None), (-1, None), ([], None)]
)
def test_implausible_use(used, stored):
    made, _ = imported(dump(pools=[pool("vms", 0) | {"bytes_used": used}]))
    assert made["storage"]["vms"].get("stored") == stored


def test_too_much_is_refused_at_once():
    begun = time.monotonic()
    for osds, pools, words in (
        ([Osd("esx-01")] * 100_000, [pool("vms", TB)], "more than 100000 buckets and OSDs"),
        ([Osd("esx-01")] * 10_001, [pool("vms", TB)], "more than 10000 OSDs"),
        (EVEN, [pool(f"p{number}", 1) for number in range(2_000)], "2000 pools"),
        ([replace(EVEN[0], device_class=f"c{number}") for number in range(40)], [pool("a", 1)], "40 device classes"),
    ):
        answers = dump()
        answers["/nodes/esx-01/ceph/osd"], answers["/nodes/esx-01/ceph/pool"] = proxmox_ceph.tree(osds), pools
        with pytest.raises(SourceError, match=words):
            imported(answers)
    answers = dump()
    answers["/nodes/esx-01/ceph/crush"] = "rule a {\n" * 400_000
    imported(answers)
    assert time.monotonic() - begun < 20


def test_many_osds():
    truth = estate(hosts=20, vms=60)
    osds = [Osd(host.name) for host in truth.hosts for _ in range(24)]
    made, _ = imported(dump(osds, of=truth))
    assert made["storage"]["vms"]["devices"]["per_node"] == 24


CEPH = dump(CROOKED, [MGR, pool("fast", 9 * TB, rule="fast"), coded("slow", 6 * TB, 4, 2)])
HOSTILE = hostile.Importer(
    good=lambda: [{path: answer for path, answer in CEPH.items() if "ceph" in path or path == "/storage"}],
    read=lambda _, changed: imported({**CEPH, **changed}) and None,
    texts=("esx-01", "osd", "erasure", "1" * 5000),
)
