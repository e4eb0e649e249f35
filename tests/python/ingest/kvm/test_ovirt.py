"""Answers of oVirt's engine, in JSON and XML: hosts, machines, clusters, storage, statistics, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import simulated
from tests.python.ingest import hostile

from hypertwin.errors import SourceError
from hypertwin.ingest import export_files, sources, to_scenario
from hypertwin.ingest.inventory import Cluster, Rule
from hypertwin.ingest.kvm import ovirt, ovirt_xml
from hypertwin.ingest.outside import Gap

GIB = 2**30


def statistic(name: str, value: float) -> dict[str, Any]:
    return {"name": name, "kind": "gauge", "values": {"value": [{"datum": value}]}}


def dump() -> dict[str, Any]:
    """Two hosts and three machines, by file."""
    host = {
        "href": "/ovirt-engine/api/hosts/h1",
        "id": "h1",
        "name": "node1",
        "status": "up",
        "cluster": {"href": "/ovirt-engine/api/clusters/c1", "id": "c1"},
        "cpu": {
            "name": "Intel(R) Xeon(R) Gold 6126 CPU @ 2.60GHz",
            "speed": "1200.5",
            "topology": {"cores": "12", "sockets": "2", "threads": "2"},
        },
        "memory": str(512 * GIB),
        "os": {"type": "RHEL", "version": {"full_version": "8.6"}},
        "statistics": {
            "statistic": [
                statistic("cpu.current.idle", 80),
                statistic("memory.total", 512 * GIB),
                statistic("memory.used", 128 * GIB),
            ]
        },
    }
    second = {**host, "id": "h2", "name": "node2", "status": "maintenance", "statistics": {}}
    vm = {
        "id": "v1",
        "name": "db",
        "status": "up",
        "host": {"id": "h1"},
        "cluster": {"id": "c1"},
        "cpu": {"topology": {"cores": "4", "sockets": "2", "threads": "1"}},
        "cpu_shares": "2048",
        "memory": str(64 * GIB),
        "os": {"type": "rhel_8x64"},
        "high_availability": {"enabled": "true", "priority": "1"},
        "placement_policy": {"affinity": "pinned", "hosts": {"host": [{"id": "h1"}, {"id": "gone"}]}},
    }
    web = {**vm, "id": "v2", "name": "web", "cpu_shares": "0", "high_availability": {"enabled": "false"}}
    web |= {"placement_policy": {"affinity": "migratable"}}
    old = {**web, "id": "v3", "name": "old", "status": "down"}
    del old["host"]
    store = {"id": "s1", "name": "data1", "type": "data", "available": "600", "used": "400", "committed": "900"}
    return {
        "hosts.json": {"host": [host, second, {"id": "h3", "name": "never-up", "status": "install_failed"}]},
        "vms.json": {"vm": [vm, web, old]},
        "clusters.json": {"cluster": [{"id": "c1", "name": "Prod", "data_center": {"id": "d1"}}]},
        "data_centers.json": {"data_center": [{"id": "d1", "name": "Default"}]},
        "domains.json": {
            "storage_domain": [{**store, "storage": {"type": "nfs"}}, {"name": "iso", "type": "iso", "used": "1"}]
        },
    }


def xml(answer: dict[str, Any]) -> str:
    """The same answer as the engine writes it by default."""
    ((kind, entities),) = answer.items()
    return f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{element(f"{kind}s", {kind: entities})}\n'


def element(name: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"<{name}>{escape(str(value))}</{name}>"
    attributes = "".join(f" {key}={quoteattr(value[key])}" for key in ("href", "id") if key in value)
    inside = [(key, each) for key, each in value.items() if key not in ("href", "id")]
    texts = [element(key, one) for key, each in inside for one in (each if isinstance(each, list) else [each])]
    return f"<{name}{attributes}>\n" + "\n".join(texts) + f"\n</{name}>" if texts else f"<{name}{attributes}/>"


def in_xml(answers: dict[str, Any]) -> dict[str, str]:
    return {name.replace(".json", ".xml"): xml(answer) for name, answer in answers.items()}


@pytest.fixture
def read(tmp_path: Path):
    return lambda answers: hostile.read(tmp_path / "engine", answers)


@pytest.mark.parametrize("status", ["non_responsive", "down", "non_operational", "install_failed", "unassigned"])
def test_a_host_that_is_not_up_runs_no_vms(read, status):
    answers = dump()
    hosts = next(answer["host"] for answer in answers.values() if "host" in answer)
    hosts[0]["status"] = status
    found = read(answers)
    assert (found.hosts[0].in_maintenance, found.hosts[0].cpu_usage_pct) == (True, None)
    text = f"{status}: assumed in maintenance; its VMs are as of its last connection"
    assert ("host node1", text) in {(each.subject, each.text) for each in found.assumptions}


def test_a_vm_that_does_not_answer_runs(read):
    answers = dump()
    vms = next(answer["vm"] for answer in answers.values() if "vm" in answer)
    vms[0]["status"] = "not_responding"
    assert read(answers).vms[0].powered_on


def test_a_cluster(read):
    found = read(dump())
    first, second = found.hosts
    assert (first.name, first.cluster, first.datacenter) == ("node1", "Prod", "Default")
    assert (first.sockets, first.cores_per_socket, first.threads_per_core) == (2, 12, 2)
    assert (first.memory_bytes, first.clock_hz) == (512 * GIB, 2.6e9)
    assert (first.cpu_usage_pct, first.memory_usage_pct) == (pytest.approx(40), 25)
    assert (first.in_maintenance, second.in_maintenance) == (False, True)
    assert (second.cpu_usage_pct, second.memory_usage_pct) == (None, None)
    db, web, old = found.vms
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes, db.host) == (8, 4, 64 * GIB, "node1")
    assert (db.shares, web.shares) == (2000, 1000)
    assert [vm.restart_priority for vm in found.vms] == [None, "disabled", "disabled"]
    assert (db.cluster, db.datacenter, db.guest_os) == ("Prod", "Default", "rhel_8x64")
    assert (old.powered_on, old.host, old.cluster) == (False, None, "Prod")
    assert found.clusters == [Cluster("Prod", "Default", ha=True)]
    assert [(store.name, store.kind, store.capacity_bytes, store.free_bytes) for store in found.datastores] == [
        ("data1", "nfs", 1000, 600)
    ]
    assert found.datastores[0].provisioned_bytes == 900
    assert found.rules == [Rule("placement of db", "run-on", ("db",), ("node1",), mandatory=True)]
    said = {each.subject: each.text for each in found.assumptions}
    assert said["all"] == "1 of 2 running VMs are not highly available, so they are not restarted"
    assert "left out" in said["host never-up"]
    assert "measured demand" in {gap.costs for gap in found.gaps}


ENGINE = """<?xml version='1.0' encoding='UTF-8'?>
<!-- saved by curl -->
<hosts>
    <host href="/ovirt-engine/api/hosts/7b" id="7b">
        <link href="/ovirt-engine/api/hosts/7b/nics" rel="nics"/>
        <link rel="storage"/>
        <link rel="tags"/>
        <name>node &amp; co</name>
        <cpu><name>AMD EPYC 7302P</name><speed>2994.375</speed>
            <topology><cores>16</cores><sockets>1</sockets><threads>2</threads></topology></cpu>
        <memory>137438953472</memory>
        <status>
            maintenance
        </status>
        <statistics><statistic id="9"><name>cpu.current.idle</name>
            <values><value><datum>75</datum></value></values></statistic></statistics>
    </host>
</hosts>
"""


def test_xml_as_the_engine_writes_it(tmp_path):
    (tmp_path / "answer").write_text("\ufeff" + ENGINE)  # a file of any name
    found = sources.read([str(tmp_path / "answer")])
    (host,) = found.hosts
    assert (host.name, host.sockets, host.cores_per_socket, host.threads_per_core) == ("node & co", 1, 16, 2)
    assert (host.memory_bytes, host.cpu_model, host.cpu_usage_pct) == (128 * GIB, "AMD EPYC 7302P", 50)
    assert host.in_maintenance
    told = ovirt_xml.answer(ENGINE.encode(), tmp_path, "")["host"][0]
    assert told["link"] == [
        {"href": "/ovirt-engine/api/hosts/7b/nics", "rel": "nics"},
        {"rel": "storage"},
        {"rel": "tags"},
    ]
    assert told["status"] == "maintenance"


def test_xml_and_json_are_the_same_inventory(tmp_path):
    answers = dump()
    found = []
    for form, files in (("json", {name: json.dumps(each) for name, each in answers.items()}), ("xml", in_xml(answers))):
        folder = tmp_path / form / "engine"
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        found.append(sources.read([str(folder)]))
    assert found[0] == found[1]
    (tmp_path / "xml" / "engine" / "vms.xml").rename(tmp_path / "json" / "engine" / "vms.xml")
    (tmp_path / "json" / "engine" / "vms.json").unlink()
    assert sources.read([str(tmp_path / "json" / "engine")]) == found[0], "one folder of both"


def node(host: str, index: int, cpus: int) -> dict[str, Any]:
    """A NUMA node of a host, with memory in MB."""
    cores = {"cpu": {"cores": {"core": [{"index": str(cpu)} for cpu in range(cpus)]}}} if cpus else {}
    return {"id": f"{host}{index}", "index": str(index), "memory": "65536", **cores, "host": {"id": host}}


@pytest.mark.parametrize("form", [dict, in_xml])
def test_numa_nodes_of_hosts(read, form):
    nodes = [node("h1", index, 12) for index in (0, 2, 4, 6)]
    answers = dump() | {"n1.json": {"host_numa_node": nodes[:3]}, "n2.json": {"host_numa_node": nodes[1:]}}
    found = read(form(answers))
    assert [host.numa_nodes for host in found.hosts] == [4, None], "each node once"
    assert Gap("/hosts/ID/numanodes", "NUMA nodes of hosts") in found.gaps
    answers["n3.json"] = {"host_numa_node": [node("h2", 0, 48), node("h2", 1, 0)]}
    found = read(form(answers))
    assert [host.numa_nodes for host in found.hosts] == [4, 1], "only nodes with CPUs"
    assert "/hosts/ID/numanodes" not in {gap.what for gap in found.gaps}


def nested(sockets: int, cores: int, memory: int = 31 * GIB) -> dict[str, Any]:
    """Hosts of which one is a VM."""
    answers = dump()
    vm = answers["hosts.json"]["host"][1]
    topology = {"sockets": str(sockets), "cores": str(cores), "threads": "1"}
    vm |= {"name": "nested", "status": "up", "memory": str(memory), "cpu": {**vm["cpu"], "topology": topology}}
    return answers


@pytest.mark.parametrize(
    ("sockets", "cores", "nodes", "expected", "warned"),
    [
        (16, 1, (), (1, 16, 1), True),
        (16, 1, (8, 8), (2, 8, 1), False),
        (1, 1, (), (1, 1, 1), False),
        (4, 2, (), (4, 2, 1), False),
        (1, 16, (4, 4, 4, 4), (1, 16, 4), False),
    ],
)
def test_sockets_of_one_core_are_no_numa_nodes(read, sockets, cores, nodes, expected, warned):
    answers = nested(sockets, cores)
    answers["nodes.json"] = {"host_numa_node": [node("h2", index, cpus) for index, cpus in enumerate(nodes)]}
    inventory = read(answers)
    made, assumptions = to_scenario.to_scenario(inventory)
    host = made["hosts"]["nested"]
    assert (host["sockets"], host["cores_per_socket"], host.get("nodes_per_socket", 1)) == expected
    first = to_scenario.summary(inventory, made, assumptions, brief=True)[0]
    words = f"warning: host nested: {sockets} sockets of one core: assumed one NUMA node; check with `lscpu`"
    assert first.startswith(words) == warned, first


@pytest.mark.parametrize(
    ("topology", "vcpus", "per_socket"),
    [
        ({"sockets": "2", "cores": "3", "threads": "2"}, 12, 6),
        ({"sockets": "4", "cores": "1", "threads": "2"}, 8, 2),
        ({"sockets": "6"}, 6, 1),
        ({}, 1, 1),
    ],
)
def test_vcpus_are_sockets_times_cores_times_threads(read, topology, vcpus, per_socket):
    answers = dump()
    answers["vms.json"]["vm"][0]["cpu"] = {"topology": topology}
    db = read(answers).vms[0]
    assert (db.vcpus, db.cores_per_socket) == (vcpus, per_socket)


@pytest.mark.parametrize(
    ("version", "expected", "told"),
    [
        ("8.6", 2000, "control groups of version 1: a VM"),
        ("7 - 9.2009.0.el7.centos", 2000, "control groups of version 1: a VM"),
        ("9.4 - 3.el9", 20480, "control groups of version 2: a VM"),
        ("4.5.5 - 1.el9", 20480, "control groups of version 2: a VM"),
        ("10.0", 20480, "control groups of version 2: a VM"),
        ("4.4.10", 20480, "check with `stat -fc %T /sys/fs/cgroup`"),
        (None, 20480, "check with `stat -fc %T /sys/fs/cgroup`"),
    ],
)
def test_shares_are_relative_to_the_default_of_the_host(read, version, expected, told):
    answers = dump()
    answers["hosts.json"]["host"][0]["os"] = {"version": {"full_version": version}}
    answers["vms.json"]["vm"][1] |= {"host": {"id": "h2"}, "cpu_shares": "512"}  # a host of release 8.6
    found = read(answers)
    assert [vm.shares for vm in found.vms] == [expected, 500, 1000]
    said = {each.subject: each.text for each in found.assumptions}
    assert told in (said.get("VM db") or said["2 VMs (db, web)"])


def test_a_vm_on_no_host_has_the_default_of_all_hosts(read):
    answers = dump()
    answers["vms.json"]["vm"][2]["cpu_shares"] = "2048"
    for releases, expected in ((("9.4", "9.2"), 20480), (("8.6", "8.4"), 2000), (("8.6", "9.2"), 20480)):
        for host, release in zip(answers["hosts.json"]["host"], (*releases, releases[0]), strict=True):
            host["os"] = {"version": {"full_version": release}}
        assert read(answers).vms[2].shares == expected


def test_import_and_simulate(tmp_path, cli):
    for name, answer in dump().items():
        (tmp_path / name).write_text(json.dumps(answer))
    done = cli("import", "hosts.json", "vms.json", "clusters.json", "-o", "cluster.yaml", "--explain", exits=0)
    assert "assumed linux-" in done.stderr
    simulated(cli)


def test_800_machines_on_34_hosts(read):
    answers = dump()
    host, vm = answers["hosts.json"]["host"][0], answers["vms.json"]["vm"][1]
    answers["hosts.json"] = {"host": [{**host, "id": f"h{n}", "name": f"n{n}"} for n in range(34)]}
    answers["vms.json"] = {"vm": [{**vm, "name": f"vm{n}", "host": {"id": f"h{n % 34}"}} for n in range(800)]}
    found = read(answers)
    assert (len(found.hosts), len(found.vms)) == (34, 800)
    assert all(vm.host for vm in found.vms)


HOSTILE = hostile.Importer(
    base=dump(),
    wrong=[
        ({"hosts.json": {"host": [{"href": "/ovirt-engine/api/hosts/1", "name": "x"}]}}, "no host with processors"),
        ({"vms.json": '{"vm": ['}, "no JSON"),
        ({"vms.json": "<vms><vm>"}, "vms.json:1"),
        ({"vms.json": "<vms"}, "no XML"),
        ({"vms.json": '<!DOCTYPE vms [<!ENTITY a "b">]><vms><vm><name>&a;</name></vm></vms>'}, "DTDForbidden"),
        ({"vms.json": "<vms><vm><name>&a;</name></vm></vms>"}, "undefined entity"),
        ({"vms.json": "<?xml version='1.0' encoding='odd'?><vms/>"}, "unknown encoding"),
        ({"vms.json": "<vms>" + "<vm>" * 99}, "source-too-large"),
        ({"vms.json": "<vms>" + "<vm/>" * ovirt_xml.MAX_ELEMENTS}, "source-too-large"),
        (
            {"vms.json": {"vm": [{"name": "x", "cpu": {"topology": {"cores": 10**6, "sockets": 10**6}}}]}},
            "x/cpu/topology",
        ),
    ],
    limits={(export_files, "MOST_FILES"): 2, (export_files, "MOST_ALL_BYTES"): 100, (ovirt, "MOST_ENTITIES"): 1},
    good=lambda: [dump()],
)


@pytest.mark.parametrize(
    "text", ['{"host": [{"name": "x"}]}', "<hosts><host/></hosts>", "<x href='/ovirt-engine/api/vms'/>"]
)
def test_other_json_and_xml(read, text):
    with pytest.raises(SourceError, match="no reader recognises"):
        read({"a.json": text})


texts = st.sampled_from(["", "0", "-1", "1e400", "٣", "9" * 4000, "\x1b", "&#0;", "<a/>", "<", "]]>", "<!-- -->"])


@given(data=st.data())
def test_any_xml_gives_an_inventory_or_a_source_error(data, read):
    answers = in_xml(dump())
    name = data.draw(st.sampled_from(sorted(answers)))
    cut, end = (data.draw(st.integers(0, len(answers[name]))) for _ in range(2))
    answers[name] = answers[name][:cut] + data.draw(texts) + answers[name][end:]
    found = hostile.taken(lambda: read(answers))
    assert all(vm.vcpus >= 1 for vm in found.vms) if found else True
