"""The class that the twin shows: what limits a case, from reports made up for each limit; which way a figure goes."""

from __future__ import annotations

from typing import Any

import pytest

from hypertwin.scenario import loads
from hypertwin.studies.classes import DIRECTIONS, LIMITS, Class, class_of, direction, limit_of_density, limit_of_run

SCENARIO = """
name: made-up
hosts:
  esx: {count: 2, sockets: 2, cores_per_socket: 8, clock: 2.5 GHz, hypervisor: esxi-7.0, memory_per_node: 256 GiB}
  node: {count: 3, sockets: 1, cores_per_socket: 8, clock: 2.5 GHz, hypervisor: esxi-7.0, memory_per_node: 256 GiB}
vms:
  db: {vcpus: 4, memory: 8 GiB, host: esx-1, workload: WORKLOAD, array: san}
  other: {count: 2, vcpus: 4, memory: 8 GiB, host: esx-2, workload: paced, array: far}
  client: {vcpus: 4, memory: 8 GiB, host: esx-1, workload: generator, storage: pool}
workloads:
  paced: {arrivals: {open: {rate: 10 /s}}, cpu: {mean: 1 ms}}
  loop: {arrivals: {closed: {population: 8}}, cpu: {mean: 1 ms}, delay: {mean: 5 ms}}
  thinks: {arrivals: {closed: {population: 8, think: {mean: 11 ms}}}, cpu: {mean: 1 ms}}
  hurries: {arrivals: {closed: {population: 8, think: {mean: 9 ms}}}, cpu: {mean: 1 ms}}
  generator: {arrivals: {io: {outstanding: 8}}, cpu: {mean: 2 us}}
  one-worker: {arrivals: {io: {outstanding: 8, workers: 1}}, cpu: {mean: 2 us}}
  slow-generator: {arrivals: {io: {outstanding: 8, rate: 100 /s}}, cpu: {mean: 2 us}}
  reads-memory: {arrivals: {closed: {population: 4}}, cpu: {mean: 1 ms}, memory_traffic: 1 GB/s, memory_intensity: 0.5}
arrays:
  san: {disks: {kind: hdd-15k, count: 10}, luns: 1}
  far: {disks: {kind: hdd-15k, count: 10}, luns: 1}
storage:
  pool: {kind: mirrored-mesh, nodes: node, deployment: two-layer, devices: {kind: sas-ssd, per_node: 2, capacity: 1 TB}}
"""


def vm(host: str = "esx-1", **figures: Any) -> dict[str, Any]:
    quiet = dict.fromkeys(("limited_pct", "ready_pct", "costop_pct", "guest_cpu_pct", "run_pct", "used_pct"), 0.0)
    more = {"host": host, "vcpus": 4, "iops": 0.0, "throughput_per_s": 10.0, "memory_gb_per_s": 0.0}
    return quiet | more | {"response_ms": {"mean": 10.0}} | figures


def report(usage: float = 10.0, storage: dict[str, float] | None = None, **of: Any) -> dict[str, Any]:
    """A report in which db is quiet but for what is said of it; `storage` has the utilization of stations."""
    memory, binding = of.pop("memory_usage_pct", 50.0), of.pop("binding", None)
    nodes = {str(node): {"memory_gb_per_s": of.pop("node_gb_per_s", 0.0)} for node in range(2)}
    busy = {"usage_pct": usage, "memory_usage_pct": memory, "nodes": nodes}
    full = {"usage_pct": 100.0, "utilization_pct": 100.0, "memory_usage_pct": 50.0, "nodes": nodes}
    node = {**full, "utilization_pct": of.pop("pool_utilization", 50.0)}
    vms = {"db": vm(**of), "client": vm(**of), "other-1": vm("esx-2", run_pct=80), "other-2": vm("esx-2")}
    return {
        "hosts": {"esx-1": busy, "esx-2": full, "node-1": full, "node-2": node, "node-3": node},
        "vms": vms,
        "groups": {**{name: vms[name] for name in ("db", "client")}, "other": vm("esx-2", count=2, vcpus=8)},
        "storage": {name: {"utilization_pct": value} for name, value in (storage or {}).items()},
        "bottleneck": {"binding_depth": binding},
    }


def limit(made: dict[str, Any], workload: str = "loop", path: str = "vms.db.throughput_per_s") -> str:
    return limit_of_run(made, loads(SCENARIO.replace("WORKLOAD", workload)), path)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (report(guest_cpu_pct=90.0), "guest-cpu"),
        (report(guest_cpu_pct=89.9), "latency"),
        (report(usage=89.9, guest_cpu_pct=99.0), "guest-cpu"),
        (report(usage=90.0, guest_cpu_pct=99.0), "host-cpu"),
        (report(usage=90.0, guest_cpu_pct=50.0), "host-cpu"),
        (report(run_pct=80.0, ready_pct=6.0, costop_pct=4.0), "host-cpu"),
        (report(run_pct=99.0, ready_pct=6.0, costop_pct=3.9), "guest-cpu"),
        (report(run_pct=50.0, ready_pct=20.0), "latency"),
        (report(run_pct=79.0, ready_pct=20.0, limited_pct=10.0), "cpu-limit"),
        (report(run_pct=79.0, ready_pct=20.0, limited_pct=9.9), "host-cpu"),
        (report(run_pct=89.0, ready_pct=10.0, limited_pct=4.9), "guest-cpu"),
        (report(usage=100.0, run_pct=93.0, ready_pct=6.0, limited_pct=5.0), "cpu-limit"),
        (report(usage=100.0, memory_usage_pct=100.1), "memory"),
        (report(usage=100.0, memory_usage_pct=100.0), "host-cpu"),
        (report(guest_cpu_pct=95.0, memory={"swap_wait_pct": 5.0}), "memory"),
        (report(guest_cpu_pct=95.0, memory={"swap_wait_pct": 4.9}), "guest-cpu"),
        (report(guest_cpu_pct=100.0, node_gb_per_s=61.8), "memory"),
        (report(guest_cpu_pct=100.0, node_gb_per_s=55.0), "guest-cpu"),
        (report(storage={"db-controllers": 85.0}), "controller"),
        (report(storage={"db-controllers": 84.9}), "latency"),
        (report(storage={"db-controllers": 90.0}, usage=95.0), "host-cpu"),
        (report(storage={"db-controllers": 97.0}, usage=95.0), "controller"),
        (report(storage={"db-vcpus": 100.0}), "latency"),
        (report(storage={"esx-1-ports": 90.0, "san-disks": 89.0}), "fabric"),
        (report(storage={"san-front-end": 90.0}), "fabric"),
        (report(storage={"esx-1-ports": 89.0, "san-disks": 90.0}), "devices"),
        (report(storage={"other-controllers": 100.0, "esx-2-ports": 100.0, "far-disks": 100.0}), "latency"),
        (report(storage={"db-vdisk-depth": 99.0}), "latency"),
        (report(storage={"db-vdisk-depth": 99.0}, binding="db-vdisk-depth"), "client"),
        (report(storage={"db-ring": 99.0}, binding="db-ring"), "controller"),
        (report(storage={"esx-1-lun-depth": 99.0}, binding="esx-1-lun-depth"), "fabric"),
        (report(storage={"san-cache": 99.0}, binding="san-cache"), "devices"),
        (report(storage={"other-ring": 99.0}, binding="other-ring"), "latency"),
        (report(storage={"db-ring": 99.0, "san-disks": 90.0}, binding="db-ring"), "devices"),
        (report(), "latency"),
    ],
)
def test_a_run_shows_what_limits_it(made, expected):
    assert limit(made) == expected


@pytest.mark.parametrize(
    ("stations", "expected"),
    [
        ({"pool-services": 99.0, "pool-devices": 90.0}, "storage-cpu"),
        ({"pool-services": 90.0, "pool-devices": 99.0}, "devices"),
        ({"pool-messengers": 99.0, "pool-shards": 20.0, "pool-commit": 30.0}, "storage-cpu"),
        ({"pool-gateways": 99.0, "pool-cpu-limit": 50.0}, "storage-cpu"),
        ({"pool-flash": 99.0}, "devices"),
        ({"pool-network": 99.0}, "network"),
        ({"pool-client-network": 99.0}, "network"),
        ({"pool-devices": 80.0}, "latency"),
    ],
)
def test_a_pool_limits_its_clients(stations, expected):
    assert limit(report(storage=stations), path="groups.client.iops") == expected
    assert limit(report(storage=stations)) == "latency", "db is not on the pool"


def test_a_generator_outside_of_the_pool_is_its_client():
    assert limit(report(usage=95.0), path="vms.client.iops") == "client"
    assert limit(report(guest_cpu_pct=95.0), path="vms.client.iops") == "client"
    assert limit(report(guest_cpu_pct=95.0), "generator") == "guest-cpu", "of an array, it is what is measured"


def test_the_nodes_of_a_pool_limit_a_generator_outside_of_it():
    scenario = loads(SCENARIO.replace("WORKLOAD", "loop").replace("generator, storage", "one-worker, storage"))
    full, free = report(pool_utilization=77.5), report(pool_utilization=77.4)  # 85 on average: the first node is full
    assert limit_of_run(full, scenario, "groups.client.iops") == "storage-cpu"
    assert limit_of_run(free, scenario, "groups.client.iops") == "latency"
    assert limit(full) == "latency", "db is not on the pool"


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ("paced", "nothing"),
        ("loop", "latency"),
        ("thinks", "nothing"),
        ("hurries", "latency"),
        ("generator", "latency"),
        ("slow-generator", "nothing"),
    ],
)
def test_load_that_fills_nothing_is_a_loop_or_paced(workload, expected):
    assert limit(report(), workload) == expected


def test_a_vm_that_does_nothing_is_limited_by_nothing():
    assert limit(report(throughput_per_s=0.0)) == "nothing"
    assert limit(report(throughput_per_s=0.0, iops=5.0), "generator") == "latency"


def test_one_worker_of_many_vcpus_that_never_rests_is_a_client():
    assert limit(report(run_pct=22.5), "one-worker") == "client"
    assert limit(report(run_pct=22.4), "one-worker") == "latency"
    assert limit(report(run_pct=22.5), "generator") == "latency"


def test_vcpus_that_move_less_memory_than_their_cpu_would_are_held_up_by_it():
    used = {"guest_cpu_pct": 100.0, "used_pct": 100.0}  # 4 vCPUs of 1 GB/s
    assert limit(report(**used, memory_gb_per_s=3.19), "reads-memory") == "memory"
    assert limit(report(**used, memory_gb_per_s=3.21), "reads-memory") == "guest-cpu"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("vms.other-1.ready_pct", "host-cpu"),
        ("groups.other.ready_pct", "host-cpu"),
        ("hosts.esx-2.usage_pct", "host-cpu"),
        ("hosts.esx-1.usage_pct", "latency"),
        ("vms.db.ready_pct", "latency"),
        ("storage.san-disks.utilization_pct", "guest-cpu"),
        ("", "guest-cpu"),
    ],
)
def test_the_vm_or_host_of_a_figure_is_judged_or_the_group_that_asks_most(path, expected):
    made = report()
    made["groups"]["db"] = vm(run_pct=60.0) if path.startswith("hosts.") else vm(run_pct=95.0)
    assert limit(made, path=path) == expected


def point(meets: bool, **figures: Any) -> dict[str, Any]:
    return {"meets": meets, "reason": None, "lacks": None, "bottleneck": None, "host_usage_pct": 50.0, **figures}


def station(name: str, utilization_pct: float) -> dict[str, Any]:
    return {"bottleneck": {"station": name, "utilization_pct": utilization_pct}}


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, "latency"),
        ({"host_usage_pct": 90.0}, "host-cpu"),
        ({"host_usage_pct": 89.9}, "latency"),
        (station("pool-devices", 85.0), "devices"),
        (station("pool-devices", 84.9), "latency"),
        (station("db-vcpus", 100.0), "latency"),
        ({**station("pool-devices", 92.0), "host_usage_pct": 91.0}, "devices"),
        ({**station("pool-devices", 92.0), "host_usage_pct": 93.0}, "host-cpu"),
        ({"reason": "no room", "lacks": "memory of esx-1", "host_usage_pct": None}, "memory"),
        ({"reason": "does not fit", "host_usage_pct": None}, "nothing"),
    ],
)
def test_a_count_of_vms_is_limited_by_what_is_full_at_the_first_that_misses(figures, expected):
    full = point(False, host_usage_pct=100.0)
    assert limit_of_density({"points": [point(True), point(False, **figures), full]}) == expected


def test_a_count_that_never_misses_is_limited_by_nothing():
    assert limit_of_density({"points": [point(True, host_usage_pct=100.0)]}) == "nothing"


@pytest.mark.parametrize(
    ("figure", "other", "expected"),
    [
        (1.049, 1.0, "flat"),
        (1.05, 1.0, "flat"),
        (1.051, 1.0, "rises"),
        (0.951, 1.0, "flat"),
        (0.95, 1.0, "flat"),
        (0.949, 1.0, "falls"),
        (209.8, 200.0, "flat"),
        (210.2, 200.0, "rises"),
        (0.0, 0.0, "flat"),
        (0.1, 0.0, "rises"),
        (-1.0, -2.0, "rises"),
    ],
)
def test_a_figure_is_flat_within_5_per_cent_of_another(figure, other, expected):
    assert direction(figure, other) == expected


def test_a_class_fits_what_has_all_that_it_says():
    shown = Class("host-cpu", "falls")
    assert [class_of(text).fits(shown) for text in ("host-cpu", "falls", "host-cpu; falls", "falls; host-cpu")] == [
        True
    ] * 4
    assert [class_of(text).fits(shown) for text in ("guest-cpu", "rises", "host-cpu; rises", "memory; falls")] == [
        False
    ] * 4
    assert not class_of("falls").fits(Class("host-cpu"))


def test_every_word_is_a_class_of_its_own():
    for word in (*LIMITS, *DIRECTIONS):
        assert str(class_of(word)) == word
    assert str(class_of("falls; memory")) == "memory; falls"
    assert not class_of("")
