"""Answers of oVirt's engine: hosts, machines, clusters, storage, statistics, and broken ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin.errors import SourceError
from hypertwin.ingest import export_files, sources
from hypertwin.ingest.inventory import Cluster, Rule
from hypertwin.ingest.kvm import ovirt

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


@pytest.fixture
def read(tmp_path: Path):
    def inventory(answers: dict[str, Any]):
        folder = tmp_path / "engine"
        folder.mkdir(exist_ok=True)
        for name, answer in answers.items():
            (folder / name).write_text(answer if isinstance(answer, str) else json.dumps(answer))
        return sources.read([str(folder)])

    return inventory


def test_a_cluster(read):
    found = read(dump())
    first, second = found.hosts
    assert (first.name, first.cluster, first.datacenter) == ("node1", "Prod", "Default")
    assert (first.sockets, first.cores_per_socket, first.threads_per_core) == (2, 12, 2)
    assert (first.memory_bytes, first.clock_hz) == (512 * GIB, 2.6e9)
    assert (first.usage_pct, first.memory_usage_pct) == (pytest.approx(40), 25)
    assert (first.in_maintenance, second.in_maintenance) == (False, True)
    assert (second.usage_pct, second.memory_usage_pct) == (None, None)
    db, web, old = found.vms
    assert (db.vcpus, db.cores_per_socket, db.memory_bytes, db.host) == (8, 4, 64 * GIB, "node1")
    assert (db.shares, web.shares) == (2000, 1000)
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


def test_import_and_simulate(tmp_path, cli):
    for name, answer in dump().items():
        (tmp_path / name).write_text(json.dumps(answer))
    done = cli("import", "hosts.json", "vms.json", "clusters.json", "-o", "cluster.yaml", "--explain")
    assert done.returncode == 0, done.stderr
    assert "assumed linux-" in done.stderr
    done = cli("simulate", "cluster.yaml", "--duration", "1", "--warmup", "1", "--replications", "1")
    assert done.returncode == 0, done.stderr


def test_800_machines_on_34_hosts(read):
    answers = dump()
    host, vm = answers["hosts.json"]["host"][0], answers["vms.json"]["vm"][1]
    answers["hosts.json"] = {"host": [{**host, "id": f"h{n}", "name": f"n{n}"} for n in range(34)]}
    answers["vms.json"] = {"vm": [{**vm, "name": f"vm{n}", "host": {"id": f"h{n % 34}"}} for n in range(800)]}
    found = read(answers)
    assert (len(found.hosts), len(found.vms)) == (34, 800)
    assert all(vm.host for vm in found.vms)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"hosts.json": {"host": [{"href": "/ovirt-engine/api/hosts/1", "name": "x"}]}}, "no host with processors"),
        ({"vms.json": '{"vm": ['}, "no JSON"),
        (
            {"vms.json": {"vm": [{"name": "x", "cpu": {"topology": {"cores": 10**6, "sockets": 10**6}}}]}},
            "x/cpu/topology",
        ),
    ],
)
def test_what_is_wrong_is_one_clear_error(read, changed, words):
    with pytest.raises(SourceError) as caught:
        read(dump() | changed)
    assert words in str(caught.value)
    assert "help:" in str(caught.value)


def test_other_json_and_too_much(read, tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text('{"host": [{"name": "x"}]}')
    with pytest.raises(SourceError, match="no reader recognises"):
        sources.read([str(tmp_path / "a.json")])
    for limit, value in (("MOST_FILES", 2), ("MOST_ALL_BYTES", 100), ("MOST_ENTITIES", 1)):
        with monkeypatch.context() as patched, pytest.raises(SourceError, match="source-too-large"):
            patched.setattr(ovirt if limit == "MOST_ENTITIES" else export_files, limit, value)
            read(dump())


values = st.sampled_from(["", "0", "-1", "1e400", "٣", "9" * 4000, "\x1b[31m", None, True, [], {}, [{}], 2**70, 0.5])


@given(data=st.data())
def test_any_values_give_an_inventory_or_a_source_error(data, read):
    answers = copy.deepcopy(dump())
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = answers[data.draw(st.sampled_from(sorted(answers)))]
        while True:  # down to a random value, which is replaced
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            inner = place[key]
            if not isinstance(inner, (dict, list)) or not inner or data.draw(st.integers(0, 3)) == 0:
                place[key] = copy.deepcopy(data.draw(values))
                break
            place = inner
    try:
        found = read(answers)
    except SourceError as error:
        assert "help:" in str(error)
    else:
        assert all(vm.vcpus >= 1 for vm in found.vms)
