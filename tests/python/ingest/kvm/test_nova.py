"""OpenStack: answers of Nova, lists of the command, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import simulated
from tests.python.ingest import hostile

from hypertwin.ingest import export_files
from hypertwin.ingest.inventory import Cluster
from hypertwin.ingest.kvm import nova

GIB = 2**30


def answers() -> dict[str, Any]:
    """Of the API, by file; both forms of a flavor."""
    info = {"model": "Cascadelake-Server", "topology": {"cells": 2, "sockets": 1, "cores": 24, "threads": 2}}
    host = {
        **{"hypervisor_hostname": "cmp1.example.com", "hypervisor_type": "QEMU", "hypervisor_version": 6002000},
        **{"vcpus": 96, "memory_mb": 524_288, "memory_mb_used": 262_144, "status": "enabled", "cpu_info": info},
    }
    second = {**host, "hypervisor_hostname": "cmp2.example.com", "status": "disabled", "cpu_info": json.dumps(info)}
    server = {
        **{"id": "s1", "name": "db", "status": "ACTIVE", "OS-EXT-STS:vm_state": "active"},
        "OS-EXT-SRV-ATTR:hypervisor_hostname": "cmp1.example.com",
        "flavor": {"vcpus": 8, "ram": 65_536, "disk": 100, "original_name": "db"},
    }
    return {
        "hypervisors.json": {"hypervisors": [host, second]},
        "servers.json": {
            "servers": [
                server,
                {**server, "name": "web", "flavor": {"id": "2"}},
                {**server, "name": "off", "status": "SHUTOFF"},
            ]
        },
        "flavors.json": {"flavors": [{"id": "2", "name": "m1.small", "vcpus": 2, "ram": 4096}]},
    }


def lists() -> dict[str, Any]:
    """Of the command, by file."""
    return {
        "hypervisors.json": [
            {
                **{
                    "ID": "1",
                    "Hypervisor Hostname": "cmp1",
                    "Hypervisor Type": "QEMU",
                    "Host IP": "10.0.0.1",
                    "State": "up",
                },
                **{"vCPUs Used": 40, "vCPUs": 96, "Memory MB Used": 1, "Memory MB": 524_288},
            }
        ],
        "servers.json": [
            {"ID": "s1", "Name": "db", "Status": "ACTIVE", "Host": "cmp1", "Flavor": "m1.small", "Power State": 1},
            {"ID": "s2", "Name": "lost", "Status": "ACTIVE", "Host": "cmp1", "Flavor": "gone"},
        ],
        "flavors.json": [{"ID": "2", "Name": "m1.small", "RAM": 4096, "Disk": 20, "VCPUs": 2, "Is Public": True}],
    }


@pytest.fixture
def read(tmp_path: Path):
    return lambda answers: hostile.read(tmp_path / "cloud", answers)


def test_answers_of_nova(read):
    found = read(answers())
    first, second = found.hosts
    assert (first.name, first.hypervisor, first.cpu_model) == ("cmp1.example.com", "QEMU 6.2.0", "Cascadelake-Server")
    for host in found.hosts:
        assert (host.sockets, host.cores_per_socket, host.threads_per_core, host.numa_nodes) == (2, 24, 2, 2)
    assert first.memory_bytes == 512 * GIB
    assert (first.in_maintenance, second.in_maintenance) == (False, True)
    assert first.memory_usage_pct is None, "what servers were given is not measured"
    db, web, off = found.vms
    assert (db.vcpus, db.memory_bytes, db.host, db.powered_on) == (8, 64 * GIB, "cmp1.example.com", True)
    assert (web.vcpus, web.memory_bytes) == (2, 4 * GIB)
    assert off.powered_on is False
    assert {gap.costs for gap in found.gaps} == {"clocks of hosts", "measured demand and usage"}


@pytest.mark.parametrize(
    ("status", "power", "on"),
    [
        ("RESCUE", None, True),
        ("PAUSED", None, True),
        ("VERIFY_RESIZE", None, True),
        ("RESIZE", 4, True),
        ("ERROR", 1, True),
        ("REBUILD", 1, True),
        ("ERROR", 4, False),
        ("ERROR", None, False),
        ("SUSPENDED", 4, False),
        ("SHELVED", 4, False),
        ("SHELVED_OFFLOADED", 4, False),
    ],
)
def test_servers_that_use_memory_of_their_host_are_on(read, status, power, on):
    asked = answers()
    server = asked["servers.json"]["servers"][0]
    server |= {"status": status, "OS-EXT-STS:power_state": power}
    assert read(asked).vms[0].powered_on is on
    listed = lists()
    listed["servers.json"][0] |= {"Status": status, "Power State": {1: "Running", 4: "Shutdown"}.get(power, "")}
    assert read(listed).vms[0].powered_on is on


def test_a_host_that_is_down_and_bare_metal_are_no_capacity(read):
    asked = answers()
    hypervisors, servers = asked["hypervisors.json"]["hypervisors"], asked["servers.json"]["servers"]
    hypervisors[0]["state"] = "down"
    hypervisors.append({**hypervisors[1], "hypervisor_hostname": "bm1", "hypervisor_type": "ironic"})
    servers.append({**servers[0], "name": "metal", "OS-EXT-SRV-ATTR:hypervisor_hostname": "bm1"})
    found = read(asked)
    assert [(host.name, host.in_maintenance) for host in found.hosts] == [
        ("cmp1.example.com", True),
        ("cmp2.example.com", True),
    ]
    assert "metal" not in {vm.name for vm in found.vms}
    said = {(each.subject, each.text) for each in found.assumptions}
    text = "down: assumed in maintenance; its VMs are as of its last connection"
    assert ("host cmp1.example.com", text) in said
    assert ("host bm1", "left out: a bare-metal node of Ironic, which runs no VMs") in said
    assert ("all", "1 servers are left out: bare-metal nodes, no VMs") in said


def test_only_who_has_masakari_marks_servers(read):
    assert read(answers()).clusters == []
    marked = answers()
    marked["servers.json"]["servers"][1]["metadata"] = {"HA_Enabled": "True"}
    found = read(marked)
    assert found.clusters == [Cluster("", ha=True, restarts_by="masakari")]
    assert [vm.restart_priority for vm in found.vms] == [None, "high", None]


def test_a_flavor_may_ask_for_huge_pages(read):
    asked = answers()
    for size, is_huge in (("large", True), ("1GB", True), ("small", False), ("any", False)):
        asked["servers.json"]["servers"][0]["flavor"]["extra_specs"] = {"hw:mem_page_size": size}
        assert read(asked).vms[0].huge_pages is is_huge, size


def test_lists_of_the_command(read):
    found = read(lists())
    (host,) = found.hosts
    assert (host.sockets, host.cores_per_socket, host.threads_per_core) == (1, 48, 2)
    (db,) = found.vms
    assert (db.vcpus, db.memory_bytes, db.host) == (2, 4 * GIB, "cmp1")
    said = {each.text for each in found.assumptions}
    assert "1 servers are left out: their flavor is not in the files" in said
    assert any("topology is unknown" in text for text in said)


def test_import_and_simulate(tmp_path, cli):
    for name, answer in answers().items():
        (tmp_path / name).write_text(json.dumps(answer))
    cli("import", *answers(), "-o", "cluster.yaml", exits=0)
    simulated(cli)


HOSTILE = hostile.Importer(
    base=answers(),
    wrong=[
        ({"hypervisors.json": {"hypervisors": [{"hypervisor_hostname": "x", "state": "up"}]}}, "below 2.88"),
        ({"hypervisors.json": '{"hypervisors": ['}, "no JSON"),
        ({"hypervisors.json": [{"Hypervisor Hostname": "x", "vCPUs": 10**9, "Memory MB": 1}]}, "x/vcpus"),
        ({"servers.json": {"servers": [{"name": "x", "flavor": {"vcpus": 10**9, "ram": 1}}]}}, "x/flavor"),
    ],
    limits={(export_files, "MOST_FILES"): 2, (export_files, "MOST_ALL_BYTES"): 100, (nova, "MOST_ENTITIES"): 1},
    good=lambda: [answers(), lists()],
)
