"""`hypertwin vnuma` as a user runs it, and the same from Python."""

from __future__ import annotations

import json

import pytest
from tests.conftest import refused

from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.scenario import virtual_numa

HOST = ("--sockets", 2, "--cores", 12)
THREE_EIGHTS = ("--hypervisor", "esxi-6.5", *HOST, "--vcpus", 24, "--cores-per-socket", 8)
GIB = 2**30


def test_json_has_the_shape_of_the_contract(cli):
    done = cli("vnuma", *THREE_EIGHTS, "--memory", "96GiB", "--node-memory", "128GiB", "--format", "json", says="")
    layout = json.loads(done.stdout)
    assert list(layout)[:4] == ["vpds", "ppds", "homes", "warnings"]
    assert (layout["vpds"], layout["ppds"], layout["homes"]) == ([8, 8, 8], [8, 8, 8], [0, 1, 0])
    assert (layout["settled_homes"], layout["collapsed"]) == ([0, 0, 0], True)
    assert [warning["code"] for warning in layout["warnings"]] == ["cores-per-socket-splits", "imbalance", "collapse"]
    assert all(warning["text"] for warning in layout["warnings"])
    assert layout["host_topology"] == {
        "sockets": 2,
        "cores_per_socket": 12,
        "nodes": 2,
        "cores_per_node": 12,
        "threads_per_core": 2,
        "memory_per_node_bytes": 128 * GIB,
    }
    assert (layout["hypervisor"], layout["vcpus"], layout["cores_per_socket"]) == ("esxi-6.5", 24, 8)
    assert (layout["memory_bytes"], layout["vnuma"]) == (96 * GIB, True)
    assert layout["clients"][1] == {
        "first_vcpu": 8,
        "vcpus": 8,
        "home": 1,
        "memory": [{"node": 1, "bytes": 32 * GIB}],
        "local_bytes": 32 * GIB,
        "remote_bytes": 0,
    }


def test_the_table_says_what_the_guest_sees(cli):
    done = cli("vnuma", *THREE_EIGHTS, "--explain", says="")
    assert "vCPU 16-23" in done.stdout
    assert "The guest sees 3 nodes of 8 + 8 + 8 vCPUs; " in done.stdout
    assert "collapse: all 24 vCPUs end up on node 0" in done.stdout


@pytest.mark.parametrize(
    ("options", "vpds", "ppds", "homes"),
    [
        ("--hypervisor esxi-6.0 --vcpus 24 --cores-per-socket 4", [4] * 6, [4] * 6, [0, 1] * 3),
        ("--hypervisor esxi-6.0 --vcpus 24 --cpu-hot-add", [24], [12, 12], [0, 1]),
        ("--hypervisor esxi-8.0 --vcpus 24 --cpu-hot-add --expose-on-cpu-hot-add", [12, 12], [12, 12], [0, 1]),
        ("--hypervisor esxi-8.0 --vcpus 24 --cores-per-node 6", [6] * 4, [6] * 4, [0, 1, 0, 1]),
        ("--hypervisor esxi-6.5 --vcpus 24 --prefer-ht", [24], [24], [0]),
        ("--hypervisor esxi-6.5 --vcpus 24 --prefer-ht --threads 1", [12, 12], [12, 12], [0, 1]),
        ("--hypervisor esxi-6.7 --vcpus 12 --cores-per-socket 6 --follow-cores-per-socket", [6, 6], [6, 6], [0, 0]),
        ("--hypervisor esxi-6.7 --vcpus 12 --vcpu-min 13 --max-per-virtual-node 6", [12], [6, 6], [0, 0]),
        ("--hypervisor esxi-6.7 --vcpus 12 --max-per-virtual-node 6", [6, 6], [6, 6], [0, 0]),
        ("--hypervisor esxi-7.0u2 --vcpus 18 --sized-on 2x20", [18], [9, 9], [0, 1]),
        ("--hypervisor linux-6.12 --vcpus 16 --cells 8,8 --nodes 1,0", [8, 8], [8, 8], [1, 0]),
        ("--hypervisor linux-6.12 --vcpus 8", [8], [8], [0]),
        ("--hypervisor esxi-8.0 --vcpus 12 --nodes-per-socket 2", [6, 6], [6, 6], [0, 1]),
        ("--hypervisor esxi-8.0 --vcpus 24 --nodes-per-socket 4", [3] * 8, [3] * 8, [*range(8)]),
        ("--hypervisor esxi-7.0 --vcpus 10 --nodes-per-socket 12", [1] * 10, [1] * 10, [*range(10)]),
        ("--hypervisor linux-6.12 --vcpus 6 --nodes-per-socket 4 --cells 3,3 --nodes 7,5", [3, 3], [3, 3], [7, 5]),
    ],
)
def test_every_option_has_its_effect(cli, options, vpds, ppds, homes):
    layout = json.loads(cli("vnuma", *HOST, *options.split(), "--format", "json").stdout)
    assert (layout["vpds"], layout["ppds"], layout["homes"]) == (vpds, ppds, homes)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--hypervisor esxi-6.1 --vcpus 8",
         "--hypervisor esxi-6.1: \"esxi-6.1\" [unknown-value]\n  help: did you mean esxi-"),
        ("--hypervisor esxi-6.5 --vcpus 24 --cores-per-socket 7",
         "--cores-per-socket 7: virtual sockets of different sizes [odd-topology]"),
        ("--hypervisor esxi-6.5 --vcpus 0", "--vcpus 0: a value outside the allowed range [out-of-range]"),
        ("--hypervisor esxi-6.5 --vcpus 49",
         "--vcpus 49: a VM with more vCPUs than its ESXi host has logical CPUs [vm-wider-than-host]"),
        ("--hypervisor esxi-6.5 --vcpus many", "'--vcpus'"),
        ("--hypervisor esxi-6.5 --vcpus 8 --threads 3",
         "--threads 3: a value outside the allowed range [out-of-range]"),
        ("--hypervisor esxi-6.5 --vcpus 8 --sockets 17",
         "--sockets 17: a value outside the allowed range [out-of-range]"),
        ("--hypervisor esxi-6.5 --vcpus 8 --memory 96", "--memory 96: \"96\" [bad-unit]"),
        ("--hypervisor esxi-6.5 --vcpus 8 --memory=", "--memory : \"\" [bad-quantity]"),
        ("--hypervisor esxi-6.5 --vcpus 8 --memory 300GiB", "--memory 300GiB: 300 GiB [memory-exceeds-host]"),
        ("--hypervisor esxi-6.5 --vcpus 24 --node-memory 16GiB", "--memory: 96 GiB [memory-exceeds-host]"),
        ("--hypervisor esxi-6.5 --vcpus 8 --cores-per-node 4",
         "--cores-per-node 4: an option of another hypervisor or version"),
        ("--hypervisor esxi-8.0 --vcpus 8 --sized-on 2x20", "--sized-on 2x20: "),
        ("--hypervisor esxi-7.0 --vcpus 8 --sized-on 2x0", "--sized-on 2x0: 0 [out-of-range]"),
        ("--hypervisor esxi-7.0 --vcpus 8 --sized-on twenty", "'--sized-on'"),
        ("--hypervisor linux-6.6 --vcpus 8 --cpu-hot-add", "--cpu-hot-add: true [wrong-hypervisor]"),
        ("--hypervisor linux-6.6 --vcpus 8 --cells 4,3", "--cells 4,3: [4, 3], 7 vCPUs in all [cells-not-vcpus]"),
        ("--hypervisor linux-6.6 --vcpus 8 --cells 4,x", "'--cells'"),
        ("--hypervisor linux-6.6 --vcpus 8 --cells 4,4 --nodes 0", "--nodes 0: [0], a list of 1 [nodes-not-cells]"),
        ("--hypervisor linux-6.6 --vcpus 8 --cells 4,4 --nodes 0,2", "--nodes 0,2: 2 [node-outside-host]"),
        ("--hypervisor esxi-8.0 --vcpus 8 --nodes-per-socket 5",
         "--nodes-per-socket 5: NUMA nodes of a socket, or caches of a node, with different numbers "
         "of cores [uneven-division]\n  allowed: a divisor of the 12 cores"),
        ("--hypervisor esxi-8.0 --vcpus 8 --nodes-per-socket 0",
         "--nodes-per-socket 0: a value outside the allowed range [out-of-range]"),
        ("--hypervisor esxi-8.0 --vcpus 8 --nodes-per-socket 17",
         "--nodes-per-socket 17: a value outside the allowed range [out-of-range]"),
        ("--hypervisor linux-6.6 --vcpus 8 --nodes-per-socket 2 --cells 4,4 --nodes 0,4",
         "--nodes 0,4: 4 [node-outside-host]"),
        ("--vcpus 8", "'--hypervisor'"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_option(cli, options, expected):
    done = cli("vnuma", *HOST, *options.split(), exits=2)
    assert expected in done.stderr
    assert "vms." not in done.stderr
    assert "hosts." not in done.stderr
    assert done.stderr.count("allowed: ") <= 1


def test_from_python_a_mistake_names_its_argument():
    with refused("odd-topology") as caught:
        virtual_numa.layout(hypervisor="esxi-6.5", sockets=2, cores=12, vcpus=24, cores_per_socket=7)
    assert [mistake.path for mistake in caught.value.mistakes] == ["cores_per_socket"]
    with pytest.raises(ScenarioError):
        virtual_numa.layout(hypervisor="esxi-6.5", sockets=0, cores=12, vcpus=24)


def test_memory_that_is_not_given_fits():
    for sockets, cores, vcpus in [(1, 1, 2), (1, 256, 512), (2, 12, 48), (8, 28, 448), (4, 64, 512)]:
        layout = virtual_numa.layout(hypervisor="esxi-8.0", sockets=sockets, cores=cores, vcpus=vcpus, prefer_ht=True)
        assert "memory-spill" not in [warning["code"] for warning in layout["warnings"]]


def test_every_machine_of_a_scenario_has_a_layout(tiny):
    layouts = virtual_numa.layouts(scenario.load(tiny))
    assert {name: (layout["host"], layout["vpds"]) for name, layout in layouts.items()} == {
        "db": ("esx1", [2]),
        "web-1": ("esx1", [1]),
        "web-2": ("esx1", [1]),
    }


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_what_it_can_show(cli, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    done = cli(
        "vnuma", "--hypervisor", "esxi-8.0", "--sockets", 2, "--cores", 12, "--vcpus", 24, errors="replace", says=""
    )
    assert "24 vCPUs" in done.stdout
