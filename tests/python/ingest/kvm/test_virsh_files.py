"""Files of `virsh dumpxml` and their like: one host, several, whole clusters, missing and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.ingest import hostile
from tests.python.ingest.kvm import test_libvirt_import, test_lscpu
from tests.python.ingest.kvm.test_libvirt_import import CELLS, PINS, TUNE, VIRTIO, capabilities
from tests.python.ingest.test_storage_paths import MULTIPATH

from hypertwin.errors import SourceError
from hypertwin.ingest import outside, sources, to_scenario
from hypertwin.ingest.kvm import virsh_files

NODEINFO = """\
CPU model:           x86_64
CPU(s):              48
CPU frequency:       1200 MHz
CPU socket(s):       1
Core(s) per socket:  12
Thread(s) per core:  2
NUMA cell(s):        2
Memory size:         268435456 KiB

"""
DOMSTATS = """\
Domain: 'db'
  state.state=1
  state.reason=1
  cpu.time=1193000000000
  balloon.current=50331648
  balloon.maximum=67108864
  balloon.rss=41943040
  block.count=1
  block.0.name=vda
  block.0.allocation=53687091200
  block.0.capacity=107374182400

Domain: 'off'
  state.state=5
"""
POOL = (
    "<pool type='dir'><name>images</name><capacity unit='bytes'>1000</capacity>"
    "<available unit='bytes'>400</available><target><path>/var/lib/libvirt/images</path></target></pool>"
)
UNAME = "Linux kvm1.example.com 6.8.0-40-generic #40-Ubuntu SMP x86_64 GNU/Linux\n"
VERSION = "Compiled against library: libvirt 9.0.0\nUsing API: QEMU 9.0.0\nRunning hypervisor: QEMU 7.2.9\n"


def domain(name: str = "db", inside: str = "", vcpus: int = 8, identity: str = "", uuid: str = "") -> str:
    told = f"<uuid>{uuid}</uuid>" if uuid else ""
    return (
        f"<domain type='kvm'{identity}><name>{name}</name>{told}<memory unit='GiB'>64</memory>"
        f"<vcpu>{vcpus}</vcpu>{inside}</domain>\n"
    )


def write(folder: Path, **files: str) -> Path:
    """Files by name, with `_` for the dot before their ending."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_a_host_with_all_its_files(tmp_path):
    bound = CELLS + TUNE.format("<shares>200</shares><quota>50000</quota>" + PINS) + f"<devices>{VIRTIO}</devices>"
    comment = "<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n-->\n"
    folder = write(
        tmp_path / "dump",
        capabilities_xml=capabilities(2, 12, 2),
        lscpu_txt="Architecture:  x86_64\nModel name:  Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz\n",
        uname_txt=UNAME,
        version_txt=VERSION,
        images_xml=POOL,
        domstats_txt=DOMSTATS,
        db_xml=domain("db", bound, identity=" id='3'"),
        off_xml=comment + domain("off", vcpus=2),
        network_xml="<network><name>default</name></network>",
    )
    found = sources.read([str(folder)])
    (host,) = found.hosts
    assert (host.name, host.hypervisor, host.cluster) == ("kvm1.example.com", "Linux 6.8.0-40-generic", None)
    assert (host.sockets, host.cores_per_socket, host.threads_per_core, host.numa_nodes) == (2, 12, 2, 2)
    assert (host.memory_bytes, host.clock_hz) == (256 * 2**30, 2.5e9)
    db, off = found.vms
    assert (db.powered_on, off.powered_on) == (True, False)
    assert (db.host, db.vcpus, db.shares, db.limit_mhz) == (host.name, 8, 2000, 8 * 0.5 * 2500)
    assert db.numa == {"cells": [4, 4], "nodes": [0, 1]}
    assert (db.memory_consumed_bytes, db.ballooned_bytes) == (40 * 2**30, 16 * 2**30)
    assert (db.storage_provisioned_bytes, db.storage_used_bytes) == (100 * 2**30, 50 * 2**30)
    assert [(disk.capacity_bytes, disk.controller, disk.datastore) for disk in db.disks] == [
        (100 * 2**30, "virtio-blk", "images")
    ]
    assert [(store.name, store.capacity_bytes, store.free_bytes, store.hosts) for store in found.datastores] == [
        ("images", 1000, 400, ("kvm1.example.com",))
    ]
    assert found.unused == ["network.xml"]
    assert [gap.costs for gap in found.gaps] == ["measured demand"]
    assert found.kind == "virsh"


def test_a_quota_limits_a_vm_although_the_clock_of_its_host_is_unknown(tmp_path):
    limited = domain("db", TUNE.format("<quota>50000</quota>"))
    folder = write(tmp_path / "dump", capabilities_xml=capabilities(2, 12, 2), db_xml=limited)
    found = sources.read([str(folder)])
    assert found.hosts[0].clock_hz is None
    # half of 8 vCPUs, at the clock that the scenario assumes
    assert found.vms[0].limit_mhz == 4 * 2500
    made, _ = to_scenario.to_scenario(found)
    assert made["vms"]["db"]["limit"] == "10 GHz"


@pytest.mark.parametrize(
    ("files", "shape", "memory", "clock"),
    [
        ({"capabilities_xml": capabilities(2, 12, 2)}, (2, 12, 2), 256, None),
        ({"nodeinfo_txt": NODEINFO}, (2, 12, 2), 256, 1.2e9),
        ({"lscpu_json": test_lscpu.flat(test_lscpu.XEON), "numactl_txt": test_lscpu.NUMACTL}, None, None, 2.5e9),
    ],
)
def test_a_host_is_told_by_any_of_three(tmp_path, files, shape, memory, clock):
    found = sources.read([str(write(tmp_path / "kvm7", **files, db_xml=domain()))])
    (host,) = found.hosts
    assert (host.name, host.hypervisor) == ("kvm7", "QEMU")
    assert host.clock_hz == clock
    if shape is None:
        expected = sources.read([str(tmp_path / "kvm7" / name.replace("_", ".")) for name in files]).hosts[0]
        shape = (expected.sockets, expected.cores_per_socket, expected.threads_per_core)
        memory = expected.memory_bytes / 2**30
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == shape
    assert host.memory_bytes == memory * 2**30
    assert found.vms[0].host == "kvm7"
    assert "kernel version: which scheduler the host has" in {gap.costs for gap in found.gaps}


def test_a_host_that_is_itself_a_vm(tmp_path):
    """libvirt runs on it, so it is a host, even without VT-x."""
    told = "Architecture: x86_64\nModel name: Xeon @ 2.40GHz\nHypervisor vendor: KVM\nVirtualization type: full\n"
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 8, 2), lscpu_txt=told, db_xml=domain())
    found = sources.read([str(folder)])
    assert found.hosts[0].clock_hz == 2.4e9
    assert "under another hypervisor (KVM)" in next(each.text for each in found.assumptions if "kvm1" in each.subject)


def test_a_pool_with_more_free_than_it_has(tmp_path, cli):
    pool = POOL.replace("400", "4000")
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 8, 2), pool_xml=pool, db_xml=domain())
    assert sources.read([str(folder)]).datastores[0].free_bytes == 4000, "as libvirt says"
    cli("import", "kvm1", "-o", "cluster.yaml", exits=0)
    text = (tmp_path / "cluster.yaml").read_text()
    assert "capacity: 1000 B" in text
    assert "free:" not in text


def test_clusters_are_folders_of_hosts(tmp_path):
    moved = "11111111-2222-3333-4444-555555555555"
    for cluster, host, running in (("prod", "kvm1", ""), ("prod", "kvm2", " id='1'"), ("test", "kvm1", "")):
        folder = tmp_path / cluster / host
        write(folder, capabilities_xml=capabilities(1, 8, 2))
        write(folder / "domains", db_xml=domain(identity=" id='9'"), moved_xml=domain("moved", "", 2, running, moved))
    found = sources.read([str(tmp_path)])
    assert [(host.name, host.cluster) for host in found.hosts] == [
        ("kvm1", "prod"),
        ("kvm2", "prod"),
        ("kvm1-2", "test"),
    ]
    assert [(vm.name, vm.host, vm.cluster) for vm in found.vms if vm.name == "moved"] == [("moved", "kvm2", "prod")]
    assert sorted(vm.name for vm in found.vms if vm.name != "moved") == ["db (kvm1)", "db (kvm1-2)", "db (kvm2)"]
    assert all(vm.powered_on for vm in found.vms)
    named = sources.read([str(tmp_path / "prod" / "kvm1"), str(tmp_path / "prod" / "kvm2")])
    assert [(host.name, host.cluster) for host in named.hosts] == [("kvm1", None), ("kvm2", None)]


SHARES = "<cputune><shares>{}</shares></cputune>"


def test_shares_are_relative_to_the_default_of_each_host(tmp_path):
    """Hosts of both versions of control groups, and hosts that do not show theirs."""
    hosts = {
        "kvm1": ((512, 2048, None), {"cgroup_txt": "tmpfs\n"}, [500, 2000, 1000], "groups of version 1"),
        "kvm2": ((50, 512, None), {"cgroup_txt": "cgroup2fs"}, [500, 5120, 1000], "groups of version 2"),
        "kvm3": ((100, 2048), {}, [1000, 20480], "check with `stat -fc %T /sys/fs/cgroup`"),
        "kvm4": ((1024, 10_001), {}, [1000, 9767], "groups of version 1: a VM"),
        "kvm5": ((1, 1024), {}, [10, 10_240], "groups of version 2: a VM"),
        "kvm6": ((None,), {}, [1000], "a VM of default weight has 1000 shares"),
        "kvm7": ((20_000, None), {"cgroup_txt": "cgroup2fs"}, [200_000, 1000], "groups of version 2"),
    }
    for host, (weights, files, _, _) in hosts.items():
        vms = {
            f"{host}-{number}_xml": domain(f"{host}-{number}", SHARES.format(weight) if weight else "")
            for number, weight in enumerate(weights)
        }
        write(tmp_path / "dump" / host, capabilities_xml=capabilities(1, 8, 2), **files, **vms)
    found = sources.read([str(tmp_path / "dump")])
    assert not found.unused
    for host, (_, _, shares, told) in hosts.items():
        assert [vm.shares for vm in found.vms if vm.host == host] == shares
        assert [told in each.text for each in found.assumptions if host in each.subject].count(True) == 1, host
    assert len([each for each in found.assumptions if "check with" in each.text]) == 1


def test_an_assumed_version_of_control_groups_is_told_first(tmp_path, cli):
    weighted = domain(inside=SHARES.format(2048), identity=" id='1'")
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 8, 2), db_xml=weighted)
    done = cli("import", "kvm1", "-o", "cluster.yaml")
    assert "warning: host kvm1: assumed control groups of version 2 (default weight 100" in done.stderr.splitlines()[0]
    write(folder, cgroup_txt="tmpfs\n")
    done = cli("import", "kvm1", "-o", "cluster.yaml", exits=0)
    assert "warning" not in done.stderr


def test_path_policies_of_luns_are_named_once(tmp_path):
    for host in ("kvm1", "kvm2"):
        files = {"multipath_txt": MULTIPATH, f"{host}_xml": domain(host)}
        write(tmp_path / "dump" / host, capabilities_xml=capabilities(1, 8, 2), **files)
    found = sources.read([str(tmp_path / "dump")])
    (told,) = [each.text for each in found.assumptions if each.subject == "path policies of LUNs"]
    assert told.startswith("1 service-time, 1 queue-length (2 to 4 paths each)"), "LUNs that both hosts share"
    assert not found.unused


def test_files_that_do_not_say_what_runs(tmp_path):
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 8, 2), a_xml=domain("a"), b_xml=domain("b"))
    found = sources.read([str(folder / "a.xml"), str(folder / "capabilities.xml"), str(folder / "b.xml")])
    assert [(vm.name, vm.powered_on) for vm in found.vms] == [("a", True), ("b", True)]
    assert any("assumed that all VMs run" in each.text for each in found.assumptions)
    assert [host.name for host in found.hosts] == ["kvm1"]


def test_import_of_800_machines_and_simulate(tmp_path, cli):
    for number in range(10):
        machines = {f"vm{vm}_xml": domain(f"vm-{number}-{vm}", "", 1 + vm % 4, " id='1'") for vm in range(80)}
        write(tmp_path / "dump" / f"kvm{number}", capabilities_xml=capabilities(2, 32, 2), **machines)
    assert len(sources.read([str(tmp_path / "dump")]).vms) == 800
    done = cli("import", "dump", "-o", "cluster.yaml", exits=0)
    assert "10 hosts with 640 cores, 800 of 800 VMs" in done.stderr


HOSTILE = hostile.Importer(
    wrong=[
        ({"db_xml": domain()}, "VMs, but no host"),
        ({"db_xml": "<domain><name>x</name>", "capabilities_xml": capabilities(1, 2, 1)}, "db.xml"),
        ({"db_xml": domain(), "capabilities_xml": "<capabilities><host/></capabilities>"}, "no memory"),
        ({"db_xml": domain(), "nodeinfo_txt": NODEINFO.replace("Core(s)", "Kerne")}, "lines are missing"),
        (
            {"db_xml": domain(), "capabilities_xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><capabilities>&b;</capabilities>"},
            "",
        ),
        ({"db_xml": domain(vcpus=10**6), "nodeinfo_txt": NODEINFO}, "at most 4096"),
    ],
    limits={(virsh_files, "MOST_FILES"): 2, (virsh_files, "MOST_ALL_BYTES"): 100},
    good=lambda: [{"capabilities_xml": capabilities(1, 2, 1), "a_xml": domain("a"), "b_xml": domain("b")}],
    read=lambda folder, files: sources.read([str(write(folder, **files))]),
    has_values=False,
)


def test_folders_that_are_none_and_links(tmp_path):
    with pytest.raises(SourceError, match="no reader recognises"):
        sources.read([str(write(tmp_path / "other", network_xml="<network/>", readme_txt="Domain: none"))])
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 2, 1), a_xml=domain("a"), b_xml=domain("b"))
    (folder / "loop").symlink_to(folder)
    (folder / "c.xml").symlink_to(folder / "b.xml")
    assert len(sources.read([str(folder)]).vms) == 2


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<domain type='kvm'>", "domain"),
        (b"<domainsnapshot>", None),
        (b"<domain/>", "domain"),
        (b"<network>", None),
        (b"Domain: 'a'\n", "domstats"),
        (b"\nDomain: 'a'\n", "domstats"),
        (NODEINFO.encode(), "nodeinfo"),
        (UNAME.encode(), "uname"),
        (VERSION.encode(), "version"),
        (b"cgroup2fs\n", "cgroup"),
        (b"tmpfs", "cgroup"),
        (MULTIPATH.encode(), "multipath"),
        (b"3600a0980 dm-1 NETAPP,LUN\n[size=1.0G]", None),
        (b"tmpfs /run tmpfs rw 0 0\n", None),
        (b"Architecture:          x86_64\n", "lscpu"),
        (b"available: 2 nodes (0-1)\n", "numactl"),
        (b"Linux", None),
        (b"<!--" + b"<!--" * 20_000, None),
        (b"<!--a-->" * 8_000 + b"?", None),
        (b"<!--a-->" * 8_000 + b"<pool>", "pool"),
        (b"", None),
    ],
)
def test_kinds_of_files(head, expected):
    assert virsh_files.kind(head[: outside.HEAD_BYTES]) == expected


def test_domstats_with_odd_lines(tmp_path):
    (tmp_path / "stats").write_text(
        "x=1\nDomain: 'it's'\n  a=9999999999999999999\n  b=-5\n  c\n=\nDomain: 'it's'\n  b=6\n"
    )
    assert virsh_files.domstats(tmp_path / "stats") == {"it's": {"b": 6}}


@given(
    text=st.text(max_size=200),
    name=st.sampled_from(["nodeinfo.txt", "domstats.txt", "uname.txt", "version.txt", "lscpu.txt"]),
)
def test_any_text_is_taken_or_refused(tmp_path, text, name):
    begins = {"nodeinfo.txt": NODEINFO, "domstats.txt": DOMSTATS, "uname.txt": UNAME, "version.txt": VERSION}
    begin = begins.get(name, "Architecture: x86_64\n")
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(1, 2, 1), db_xml=domain())
    (folder / name).write_text(begin + text, encoding="utf-8", errors="surrogateescape")
    if found := hostile.taken(lambda: virsh_files.read([str(folder)])):
        assert json.dumps([vm.memory_consumed_bytes for vm in found.vms])
    (folder / name).unlink()


def test_the_same_domain_as_over_a_connection(tmp_path):
    """What a domain's definition says does not depend on how it was read."""
    text = test_libvirt_import.FULL
    folder = write(tmp_path / "kvm1", capabilities_xml=capabilities(2, 12, 2), db_xml=text)
    (vm,) = sources.read([str(folder)]).vms
    told = test_libvirt_import.libvirt_xml.domain(text, test_libvirt_import.USUAL, "here").vm
    for key in ("vcpus", "memory_bytes", "affinity", "cores_per_socket", "cpu_hot_add", "guest_os"):
        assert getattr(vm, key) == getattr(told, key)
