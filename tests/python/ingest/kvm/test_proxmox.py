"""Proxmox VE dumps: fields of the API as its viewer documents them, 34 nodes with 800 VMs, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import simulated
from tests.estate import proxmox_ceph, proxmox_script
from tests.python.ingest import hostile

from hypertwin.errors import SourceError
from hypertwin.ingest import sources, to_scenario
from hypertwin.ingest.inventory import Cluster, Inventory, Rule, Snapshots
from hypertwin.ingest.kvm import proxmox, proxmox_series

STATUS = {
    "cpuinfo": {
        "cores": 24,  # of both sockets
        "cpus": 48,
        "sockets": 2,
        "model": "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz",
        "mhz": "1199.987",
        "hvm": "1",
        "user_hz": 100,
    },
    "cpu": 0.21,
    "memory": {"total": 270_000_000_000, "used": 81_000_000_000, "free": 2},
    "kversion": "Linux 6.8.12-4-pve #1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4",
    "current-kernel": {"sysname": "Linux", "release": "6.8.12-4-pve", "machine": "x86_64"},
    "pveversion": "pve-manager/8.3.0/c1689ccb1065a83b",
    "loadavg": ["0.10", "0.20", "0.30"],
}
NODE = {"type": "node", "status": "online", "maxcpu": 48, "maxmem": 270_000_000_000, "cpu": 0.2, "cgroup-mode": 2}
DB = {
    "name": "db",
    "cores": 6,
    "sockets": 2,
    "memory": "65536",
    "balloon": 32768,
    "cpuunits": 200,
    "cpulimit": "8",
    "affinity": "0-5,24-29",
    "numa": 1,
    "numa0": "cpus=0-5,hostnodes=0,memory=32768,policy=bind",
    "numa1": "cpus=6-11,hostnodes=1,memory=32768,policy=bind",
    "hotplug": "disk,network,usb,cpu",
    "ostype": "l26",
    "scsihw": "virtio-scsi-single",
    "scsi0": "local-lvm:vm-100-disk-0,iothread=1,size=100G",
    "scsi10": "ceph:vm-100-disk-1,size=2T",
    "scsi2": "ceph:vm-100-disk-2,size=512M",
    "virtio1": "/dev/disk/by-id/wwn-1,size=8589934592",
    "ide2": "none,media=cdrom",
    "efidisk0": "local-lvm:vm-100-disk-3,size=4M",
    "unused0": "ceph:vm-100-disk-9",
    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
    "cipassword": "**********",
}


def dump() -> dict[str, Any]:
    """Two nodes, three machines, a container."""
    machine = {"type": "qemu", "node": "pve1", "status": "running", "template": 0, "maxmem": 68_719_476_736}
    storage = {"type": "storage", "status": "available", "content": "images,rootdir", "maxdisk": 1000, "disk": 400}
    return {
        "/cluster/status": [{"type": "cluster", "name": "lab", "quorate": 1}, {"type": "node", "name": "pve1"}],
        "/cluster/resources": [
            {**NODE, "node": "pve1", "id": "node/pve1"},
            {**NODE, "node": "pve2", "id": "node/pve2"},
            {"type": "node", "node": "pve3", "status": "offline", "id": "node/pve3"},
            {**machine, "vmid": 100, "name": "db", "cpu": 0.25, "maxcpu": 12, "memhost": 50_000_000_000},
            {**machine, "vmid": 101, "name": "web", "cpu": 0, "maxcpu": 2, "status": "stopped", "node": "pve2"},
            {**machine, "vmid": 9000, "name": "golden", "status": "stopped", "template": 1, "maxcpu": 1},
            {
                "type": "lxc",
                "vmid": 300,
                "name": "ct",
                "node": "pve1",
                "status": "stopped",
                "maxcpu": 2,
                "maxmem": 2**32,
            },
            {**storage, "storage": "ceph", "node": "pve1", "plugintype": "rbd", "shared": 1},
            {**storage, "storage": "ceph", "node": "pve2", "plugintype": "rbd", "shared": 1},
            {**storage, "storage": "local-lvm", "node": "pve1", "plugintype": "lvmthin", "shared": 0},
            {**storage, "storage": "local", "node": "pve1", "plugintype": "dir", "content": "iso,backup"},
        ],
        "/nodes/pve1/status": STATUS,
        "/nodes/pve2/status": STATUS,
        "/nodes/pve1/qemu/100/config": DB,
        "/nodes/pve1/qemu/100/status/current": {"maxmem": 68_719_476_736, "balloon": 60_129_542_144, "mem": 5},
        "/nodes/pve1/qemu/100/snapshot": [
            {"name": "before", "snaptime": 1_767_225_600, "description": ""},
            {"name": "later", "snaptime": 1_767_312_000, "parent": "before"},
            {"name": "current", "running": 1, "parent": "later"},
        ],
        "/nodes/pve2/qemu/101/config": {"name": "web", "cores": "2", "memory": "current=2048", "cpuunits": 99999},
        "/nodes/pve1/qemu/9000/config": {"name": "golden", "template": 1},
        "/nodes/pve1/lxc/300/config": {"cores": 2, "memory": 4096, "rootfs": "local-lvm:vm-300-disk-0,size=8G"},
        "/nodes/pve1/qemu/100/rrddata": [],
        "/cluster/ha/resources": [{"sid": "vm:100", "state": "started"}, {"sid": "ct:300"}],
        "/cluster/ha/rules": [
            {"rule": "apart", "type": "resource-affinity", "affinity": "negative", "resources": "vm:100,vm:101"},
            {
                "rule": "home",
                "type": "node-affinity",
                "nodes": "pve1:2,pve2",
                "resources": "vm:100,ct:300",
                "strict": 0,
            },
            {"rule": "bound", "type": "node-affinity", "nodes": "pve1:2,pve2", "resources": "vm:101", "strict": 1},
            {"rule": "off", "type": "node-affinity", "nodes": "pve1", "resources": "vm:101", "disable": 1},
        ],
    }


def read_dump(folder: Path, answers: Any) -> Inventory:
    """The inventory in a dump, which is one file."""
    folder.mkdir(exist_ok=True)
    (folder / "pve.json").write_text(answers if isinstance(answers, str) else json.dumps(answers))
    return sources.read([str(folder / "pve.json")])


@pytest.fixture
def read(tmp_path: Path):
    return lambda answers: read_dump(tmp_path, answers)


def test_a_cluster(read):
    found = read(dump())
    assert [host.name for host in found.hosts] == ["pve1", "pve2"]
    host = found.hosts[0]
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (2, 12, 2)
    assert host.clock_hz == 2.5e9, "nominal, not the 1.2 GHz that a core idled at"
    assert host.memory_bytes == 270_000_000_000
    assert host.hypervisor == "Linux 6.8.12-4-pve (pve-manager/8.3.0)"
    assert host.cluster == "lab"
    assert host.cpu_usage_pct == pytest.approx(42), "21 % of 48 threads are the time of 42 % of 24 cores"
    assert host.memory_usage_pct == pytest.approx(30)
    assert found.clusters == [Cluster("lab", ha=True, restarts_by="proxmox")]
    assert found.unused == []
    db, web, golden, _ = found.vms
    assert {db.cluster, web.cluster} == {"lab"}
    assert (db.memory_consumed_bytes, db.ballooned_bytes) == (50_000_000_000, 8 * 2**30)
    assert db.snapshots == Snapshots(2, oldest="2026-01-01T00:00:00Z")
    assert db.storage_provisioned_bytes == sum(disk.capacity_bytes for disk in db.disks)
    assert (web.memory_consumed_bytes, web.snapshots, web.storage_provisioned_bytes) == (None, None, None)
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes, db.host) == (12, 6, 64 * 2**30, "pve1")
    assert db.numa == {"cells": [6, 6]}
    assert db.shares == 2000
    assert db.limit_mhz == 8 * 2500
    assert db.affinity == "0-11", "CPUs 0-5 and 24-29 of Linux are the threads of the first six cores"
    assert db.cpu_hot_add
    assert db.guest_os == "l26"
    assert db.demand.cpu_mhz == pytest.approx(0.25 * 12 * 2500)
    assert (web.powered_on, web.vcpus, web.shares, web.demand) == (False, 2, 100_000, None)
    assert (golden.is_template, golden.memory_bytes, golden.shares) == (True, 512 * 2**20, 1000)
    assert [(disk.capacity_bytes, disk.controller, disk.controller_number, disk.datastore) for disk in db.disks] == [
        (100 * 2**30, "virtio-scsi", 0, "local-lvm (pve1)"),
        (512 * 2**20, "virtio-scsi", 2, "ceph"),
        (2 * 2**40, "virtio-scsi", 10, "ceph"),
        (8 * 2**30, "virtio-blk", 1, None),
    ]
    assert [(store.name, store.hosts) for store in found.datastores] == [
        ("ceph", ("pve1", "pve2")),
        ("local-lvm (pve1)", ("pve1",)),
    ]
    assert found.rules == [
        Rule("apart", "keep-apart", ("db", "web"), mandatory=True),
        Rule("home", "run-on", ("db", "ct"), ("pve1",)),
        Rule("bound", "run-on", ("web",), ("pve1", "pve2"), mandatory=True),
    ]
    said = {each.subject: each.text for each in found.assumptions}
    assert "left out" in said["host pve3"]
    assert "containers (LXC) are simulated as VMs" in said["1 container"]
    assert "as if each busy one had a core to itself" in said["2 hosts (pve1, pve2)"]
    ceph = "nodes/NODE/ceph/osd and nodes/NODE/ceph/pool"
    assert [gap.what for gap in found.gaps] == ["nodes/NODE/qemu/VMID/rrddata", ceph]


@pytest.mark.parametrize(
    ("resources", "ha", "told"),
    [
        ([{"sid": "vm:100"}, {"sid": "vm:101"}], True, False),
        ([{"sid": "vm:100", "state": "started"}], True, True),
        ([{"sid": "vm:100", "state": "ignored"}], False, False),
        ([], False, False),
        (None, None, False),
    ],
)
def test_what_is_restarted_when_a_node_fails(read, resources, ha, told):
    answers = dump()
    answers["/cluster/resources"][4]["status"] = "running"
    answers["/cluster/ha/resources"] = resources
    found = read(answers)
    assert found.clusters == [Cluster("lab", ha=ha, restarts_by="proxmox")]
    managed = None if resources is None else {each["sid"] for each in resources if each.get("state") != "ignored"}
    priorities = ["disabled" if managed is not None and f"vm:{vmid}" not in managed else None for vmid in (100, 101)]
    assert [vm.restart_priority for vm in found.vms[:2]] == priorities
    assert any("1 of 2 running VMs are no HA resources" in each.text for each in found.assumptions) is told
    assert any(gap.what == "/cluster/ha/resources" for gap in found.gaps) is (ha is None)


@pytest.mark.parametrize(
    ("config", "balloon", "shares", "huge"),
    [
        ({"balloon": 32768}, True, 1000, False),
        ({"balloon": 32768, "shares": 2000}, True, 2000, False),
        ({"balloon": 32768, "shares": 0}, None, None, False),
        ({"balloon": 0}, None, None, False),
        ({"balloon": 65536}, None, None, False),
        ({"balloon": 0, "hugepages": "1024"}, None, None, True),
    ],
)
def test_what_a_node_may_take_back_of_a_machine(read, config, balloon, shares, huge):
    answers = dump()
    answers["/nodes/pve1/qemu/100/config"] = {**DB, **config}
    db = read(answers).vms[0]
    assert (db.balloon, db.memory_shares, db.huge_pages) == (balloon, shares, huge)


@pytest.mark.parametrize(
    ("status", "node", "usage", "memory"),
    [
        ({"cpu": 0.7}, {}, 100, 30),
        ({"cpu": None}, {"cpu": 0.25}, None, 30),
        ({"cpu": "0.05"}, {}, 10, 30),
        ({"cpu": 5}, {}, None, 30),
        ({"memory": {"total": 100 * 2**30, "used": 200 * 2**30}}, {}, 42, None),
        ({"memory": None}, {"mem": 27_000_000_000}, 42, 10),
    ],
)
def test_usage_of_a_node(read, status, node, usage, memory):
    answers = dump()
    answers["/nodes/pve1/status"] = {**STATUS, **status}
    answers["/cluster/resources"][0] |= node
    host = read(answers).hosts[0]
    assert host.cpu_usage_pct == (None if usage is None else pytest.approx(usage))
    assert host.memory_usage_pct == (None if memory is None else pytest.approx(memory))


def test_a_container_is_a_vm_of_its_limits(read):
    answers = dump()
    container = next(each for each in answers["/cluster/resources"] if each["type"] == "lxc")
    container |= {"cpu": 0.5, "mem": 3 * 2**30, "status": "running"}
    config = answers["/nodes/pve1/lxc/300/config"]
    config |= {"cpuunits": 50, "mp0": "ceph:x,size=1T"}
    found = read(answers)
    ct = found.vms[-1]
    assert (ct.name, ct.vcpus, ct.cores_per_socket, ct.memory_bytes, ct.host) == ("ct", 2, None, 2**32, "pve1")
    assert (ct.memory_consumed_bytes, ct.shares) == (3 * 2**30, 500)
    assert ct.demand.cpu_mhz == pytest.approx(0.5 * 2 * 2500)
    assert sorted((disk.capacity_bytes, disk.datastore) for disk in ct.disks) == [
        (8 * 2**30, "local-lvm (pve1)"),
        (2**40, "ceph"),
    ]
    assert ct.restart_priority is None, "ct:300 is an HA resource"
    assert not ct.live_migration
    del config["cores"]
    container["maxcpu"] = 48
    assert read(answers).vms[-1].vcpus == 48, "all of its node"


@pytest.mark.parametrize(
    ("key", "value", "moves"),
    [
        ("hostpci0", "mapping=gpu,pcie=1", False),
        ("usb1", "host=046d:c52b", False),
        ("usb0", "spice,usb3=1", True),
        ("serial0", "socket", True),
        ("serial1", "/dev/ttyS0", False),
        ("usbs", "1", True),
    ],
)
def test_devices_of_the_host_prevent_live_migration(read, key, value, moves):
    answers = dump()
    answers["/nodes/pve1/qemu/100/config"] = {**DB, key: value}
    assert next(vm for vm in read(answers).vms if vm.name == "db").live_migration is moves


def test_the_cache_of_zfs_is_an_assumption(read):
    answers = dump()
    zfs = {"type": "storage", "storage": "tank", "plugintype": "zfspool", "content": "images", "shared": 0}
    assert not any("ARC" in each.text for each in read(answers).assumptions)
    answers["/cluster/resources"] += [{**zfs, "node": "pve1"}, {**zfs, "node": "pve2"}]
    told = [each for each in read(answers).assumptions if "ARC" in each.text]
    assert [each.subject for each in told] == ["2 hosts (pve1, pve2)"]


def _month(step: int, used: list[float | None], cpus: int) -> list[dict[str, Any]]:
    rows = [{"time": 1_780_000_000 // step * step + step * at, "maxmem": 7, "maxcpu": cpus} for at in range(len(used))]
    return [row if share is None else {**row, "cpu": share} for row, share in zip(rows, used, strict=True)]


def test_maxima_of_a_month_are_the_peak(read):
    answers = dump()
    for path, cpus in (("/nodes/pve1", 48), ("/nodes/pve1/qemu/100", 12)):
        answers[f"{path}/rrddata"] = _month(1_800, [0.1, 0.2, 0.3], cpus)
        answers[f"{path}/rrddata-max"] = _month(1_800, [0.4, 0.9, 0.35], cpus)
    found = read(answers)
    (db,) = [vm for vm in found.vms if vm.name == "db"]
    assert db.demand.cpu_peak_mhz == pytest.approx(0.9 * 12 * 2500)
    host = found.hosts[0]
    assert host.cpu_peak_pct > host.cpu_p95_pct > host.cpu_usage_pct
    answers["/nodes/pve1/qemu/100/rrddata-max"] = _month(1_800, [0.01, 0.02], 12)
    (db,) = [vm for vm in read(answers).vms if vm.name == "db"]
    assert db.demand.cpu_peak_mhz == db.demand.cpu_p95_mhz, "no peak is below what was used on average"


@pytest.mark.parametrize(
    ("change", "peak"),
    [
        ({}, 7.2),
        ({1: {"maxcpu": 16}}, 14.4),
        ({1: {"cpu": None}}, 3.2),
        ({1: {"cpu": 1e9}}, 3.2),
        ({1: {"cpu": -3}}, 3.2),
        ({1: {"maxcpu": None}}, 3.2),
        ({1: {"cpu": "0.9", "maxcpu": "8"}}, 7.2),
        ({0: {"name": '{"cpu":0.99,"maxcpu":8}'}}, 7.2),
    ],
)
def test_the_peak_in_a_text_is_that_of_its_rows(change, peak):
    rows = _month(1_800, [0.4, 0.9, 0.35], 8)
    for at, fields in change.items():
        rows[at] |= fields
    for form in (rows, {"data": rows}):
        assert proxmox_series.peak_of_text(json.dumps(form).encode(), "here") == pytest.approx(peak)
        compact = json.dumps(form, separators=(",", ":")).encode()
        assert proxmox_series.peak_of_text(compact, "here") == pytest.approx(peak)
    assert proxmox_series.peak(rows) == pytest.approx(peak)


@pytest.mark.parametrize(("step", "named"), [(1_800, "30 min"), (43_200, "12 h")])
def test_what_a_node_kept_over_a_month_is_the_demand(read, step, named):
    answers = dump()
    next(each for each in answers["/cluster/resources"] if each["type"] == "lxc")["status"] = "running"
    answers["/nodes/pve1/qemu/100/rrddata"] = _month(step, [None, 0.1, 0.5, 0.3], 12)
    answers["/nodes/pve1/lxc/300/rrddata"] = _month(step, [0.5, 1, None, 0.5], 2)
    found = read(answers)
    db = found.vms[0].demand
    assert db.cpu_mhz == pytest.approx(0.3 * 12 * 2500)
    assert db.cpu_p95_mhz == pytest.approx(0.48 * 12 * 2500)
    assert (db.cpu_peak_mhz, db.over_s, db.counter) == (None, 3 * step, f"rrddata, means of {named}")
    together = found.clusters[0]
    sums = [2500 * cpus for cpus in (1, 1.2 + 2, 6, 3.6 + 1)]
    assert together.cpu_mhz == pytest.approx(sum(sums) / 4)
    assert together.cpu_p95_mhz < db.cpu_p95_mhz + 2 * 2500, "not all are busy at the same time"
    assert together.over_s == 4 * step
    assert any("shorter peaks are not in it" in each.text for each in found.assumptions) is (step > 3_600)
    assert not any("rrddata" in gap.what for gap in found.gaps)
    del answers["/nodes/pve1/lxc/300/rrddata"]
    assert read(answers).clusters[0].cpu_mhz is None, "no sum without one of them"


def test_a_node_by_itself_is_in_no_cluster_and_what_is_not_read_is_listed(read):
    answers = dump()
    answers["/cluster/status"] = [{"type": "node", "name": "pve1"}]
    answers |= {"/nodes/pve1/network": [], "/nodes/pve2/network": [], "/nodes/pve1/qemu/100/firewall": {}}
    found = read(answers)
    assert found.clusters == []
    assert {host.cluster for host in found.hosts} == {vm.cluster for vm in found.vms} == {None}
    assert found.unused == ["nodes/NODE/network", "nodes/NODE/qemu/VMID/firewall"]


def test_import_and_simulate(tmp_path, cli):
    (tmp_path / "pve.json").write_text(json.dumps(dump()))
    done = cli("import", "pve.json", "-o", "cluster.yaml", exits=0)
    assert "1 container: containers (LXC) are simulated as VMs: a shared kernel" in done.stderr
    point = simulated(cli, seconds=2)
    assert list(point["hosts"]) == ["pve1", "pve2"]
    assert point["vms"]["db"]["guest_cpu_pct"] == pytest.approx(25, abs=8)


def test_groups_of_version_8(read):
    answers = dump()
    del answers["/cluster/ha/rules"]
    answers["/cluster/ha/groups"] = [{"group": "left", "nodes": "pve1:1,pve2:3", "restricted": 0, "type": "group"}]
    answers["/cluster/ha/resources"] = [{"sid": "vm:100", "group": "left"}, {"sid": "ct:300", "group": "left"}]
    assert read(answers).rules == [Rule("left", "run-on", ("db", "ct"), ("pve2",))]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"vcpus": 8}, {"vcpus": 8, "numa": {"cells": [6, 2]}, "cores_per_socket": None}),
        ({"numa0": None, "numa1": None}, {"numa": {"cells": [6, 6]}}),
        ({"numa": 0}, {"numa": {}}),
        ({"numa0": "cpus=0-2;9-11,memory=1", "numa1": "cpus=3-8,memory=1"}, {"numa": {"cells": [6, 6]}}),
        ({"cpulimit": "0"}, {"limit_mhz": None}),
        ({"cpulimit": 1.5}, {"limit_mhz": 3750}),
        ({"cpuunits": None}, {"shares": 1000}),
        ({"affinity": None}, {"affinity": None}),
        ({"hotplug": "1"}, {"cpu_hot_add": False}),
    ],
)
def test_keys_of_a_configuration(read, changed, expected):
    answers = dump()
    config = {**DB, **changed}
    answers["/nodes/pve1/qemu/100/config"] = {key: value for key, value in config.items() if value is not None}
    vm = read(answers).vms[0]
    assert {key: getattr(vm, key) for key in expected} == expected


def test_control_groups_of_version_1(read):
    answers = dump()
    answers["/cluster/resources"][0]["cgroup-mode"] = 1
    assert read(answers).vms[0].shares == round(1000 * 200 / 1024)


@pytest.mark.parametrize("mode", [None, "", 7])
def test_control_groups_of_an_unknown_version(read, mode):
    answers = dump()
    assert not any("stat -fc" in each.text for each in read(answers).assumptions)
    for each in answers["/cluster/resources"]:
        each["cgroup-mode"] = mode
    found = read(answers)
    assert [vm.shares for vm in found.vms[:2]] == [2000, 100_000]
    (told,) = [each for each in found.assumptions if "check with `stat -fc %T /sys/fs/cgroup`" in each.text]
    assert "db" in told.subject


def test_what_is_missing_is_named_and_costs_only_its_part(read):
    answers = dump()
    for path in list(answers):
        if path.endswith(("status", "config")) or "/ha/" in path:
            del answers[path]
    del answers["/cluster/resources"][3]["memhost"]
    found = read(answers)
    assert {gap.what for gap in found.gaps} == {
        *("nodes/NODE/status/cpuinfo", "nodes/NODE/status/cpuinfo/mhz"),
        *(f"nodes/NODE/{path}" for path in ("qemu/VMID/config", "lxc/VMID/config", "qemu/VMID/rrddata")),
        *("/cluster/ha/rules or groups", "/cluster/ha/resources"),
        "memhost in /cluster/resources, of Proxmox VE 9",
        "nodes/NODE/ceph/osd and nodes/NODE/ceph/pool",
    }
    assert (found.hosts[0].sockets, found.hosts[0].cores_per_socket) == (1, 24)
    assert (found.vms[0].vcpus, found.vms[0].memory_bytes) == (12, 64 * 2**30)


def test_a_list_of_resources_alone_has_linux_hosts_and_demand(read):
    machine = {"type": "qemu", "node": "pve1", "status": "running", "maxmem": 8 * 2**30, "maxcpu": 4}
    shares = {"db": 0.8, "web": 0.05, "app": 0.05}
    listed = [{**machine, "vmid": 100 + at, "name": name, "cpu": cpu} for at, (name, cpu) in enumerate(shares.items())]
    scenario, assumed = to_scenario.to_scenario(read({"/cluster/resources": [{**NODE, "node": "pve1"}, *listed]}))
    assert scenario["hosts"]["pve1"]["hypervisor"].startswith("linux-")
    said = {each.text for each in assumed if each.subject.endswith("host pve1") or "all 1 host" in each.subject}
    assert any(text.startswith("hypervisor Proxmox VE of unknown version: assumed linux-") for text in said)
    assert "clock unknown: assumed 2.5 GHz" in said
    mhz = {name: scenario["vms"][name]["measured"]["cpu_mhz"] for name in shares}
    assert mhz == {name: pytest.approx(share * 4 * 2500) for name, share in shares.items()}


def test_a_node_without_status_is_linux_like_the_others(read):
    answers = dump()
    del answers["/nodes/pve2/status"]
    answers["/cluster/resources"][4]["status"] = "running"
    answers["/nodes/pve2/qemu/101/config"]["cpulimit"] = 1
    found = read(answers)
    scenario, _ = to_scenario.to_scenario(found)
    assert [host["hypervisor"].partition("-")[0] for host in scenario["hosts"].values()] == ["linux", "linux"]
    assert found.vms[1].limit_mhz == 2500, "of the assumed clock"


def test_folder_and_http_envelope_give_the_same(read, tmp_path):
    expected = read(dump())
    folder = tmp_path / "dump"
    for path, answer in dump().items():
        file = folder / f"{path.strip('/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"data": answer}))
    (folder / "cluster" / "ha" / "groups.json").write_text("")  # pvesh failed: this version has rules
    (folder / "readme.txt").write_text("not JSON")
    (folder / "loop").symlink_to(folder)
    (folder / "passwd.json").symlink_to("/etc/passwd")
    found = sources.read([str(folder)])
    assert (found.hosts, found.vms, found.rules) == (expected.hosts, expected.vms, expected.rules)
    assert read({f"api2/json{path}": answer for path, answer in dump().items()}).vms == expected.vms


def test_the_loop_of_the_guide_makes_a_dump(tmp_path):
    answers = dump() | proxmox_ceph.answers(
        [proxmox_ceph.Osd(node) for node in ("pve1", "pve2")], [proxmox_ceph.pool("vms", 10**12)], [{"storage": "ceph"}]
    )
    found = sources.read([str(proxmox_script.collect(answers, tmp_path))])
    expected = proxmox.inventory({path.strip("/"): answer for path, answer in answers.items()}, "dump")
    assert expected.unused == []
    assert found == expected


def test_34_nodes_with_800_machines(read):
    answers: dict[str, Any] = {"/cluster/resources": []}
    for node in range(34):
        answers["/cluster/resources"].append({**NODE, "node": f"pve{node}"})
        answers[f"/nodes/pve{node}/status"] = STATUS
    for vmid in range(100, 900):
        node = f"pve{vmid % 34}"
        answers["/cluster/resources"].append(
            {
                "type": "qemu",
                "vmid": vmid,
                "node": node,
                "name": f"vm{vmid // 2}",
                "status": "running",
                "cpu": 0.1,
                "maxcpu": 4,
            }
        )
        answers[f"/nodes/{node}/qemu/{vmid}/config"] = {"cores": 4, "memory": 4096, "scsi0": "ceph:a,size=32G"}
    found = read(answers)
    assert (len(found.hosts), len(found.vms)) == (34, 800)
    assert len({vm.name for vm in found.vms}) == 800, "machines of one name get their numbers"
    assert sum(vm.demand.cpu_mhz for vm in found.vms) == pytest.approx(800 * 0.4 * 2500)


def test_sources_that_are_none(tmp_path):
    with pytest.raises(SourceError, match="no reader recognises"):
        sources.read([str(tmp_path)])
    (tmp_path / "a.json").write_text(json.dumps(dump()))
    with pytest.raises(SourceError, match="one dump"):
        sources.read([str(tmp_path / "a.json")] * 2)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "resources.json").write_text("[" + " " * proxmox.MOST_BYTES)
    with pytest.raises(SourceError, match="source-too-large"):
        sources.read([str(tmp_path)])


def test_names_are_data(read):
    answers = dump()
    answers["/cluster/resources"][3]["name"] = "<script>=cmd|' /C calc'!A0\x1b[31m"
    assert read(answers).vms[0].name == "<script>=cmd|' /C calc'!A0 [31m"


def lacking(path: str, key: str, value: Any) -> dict[str, Any]:
    """The dump with another value; without its memory in the list of resources, a VM has only that of its settings."""
    answers = dump()
    answers[path] = {**answers[path], key: value}
    if key == "memory":
        del answers["/cluster/resources"][3]["maxmem"]
    return answers


HOSTILE = hostile.Importer(
    wrong=[
        ('{"/cluster/resources": []}', "no such node"),
        ('{"/cluster/resources": 7}', "no such node"),
        ('{"/cluster/status": []', "no JSON"),
        ('{"/cluster/status": [' + "[" * 100_000, "nested"),
        ('{"/nodes": 1e', "no JSON"),
        ('{"cluster/resources": [NaN]}', "NaN"),
        (lacking("/nodes/pve1/qemu/100/config", "affinity", "0-<b>"), "db/affinity"),
        (lacking("/nodes/pve1/qemu/100/config", "affinity", "x" * 500), f"db/affinity: {'x' * 80}... ["),
        (lacking("/nodes/pve1/qemu/100/config", "numa0", "cpus=x"), "db/numa"),
        (lacking("/nodes/pve1/qemu/100/config", "memory", "lots"), "db/memory"),
        (lacking("/nodes/pve1/qemu/100/config", "cores", 10**9), "db/cores"),
        (lacking("/nodes/pve1/status", "cpuinfo", {"cpus": 10**9, "cores": 10**9, "sockets": 1}), "nodes/pve1"),
    ],
    good=lambda: [{path.strip("/"): answer for path, answer in dump().items()}],
    read=read_dump,
    texts=("0-3", "cpus=,", "a:b,size=1E", "1" * 5000),
    least_memory=1,
)
