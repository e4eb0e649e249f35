"""The chunk-store study: the generations differ by their path only, and the figures have the causes that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_million_iops import leaves

from hypertwin import load, simulate
from hypertwin.studies import study as studies

STUDY = Path(__file__).resolve().parents[2] / "studies" / "chunk-store"
SLO = "response_ms.p95<300"
COUNT = "vms.sysbench.count"
FLASH = "storage.pool.flash"
CHUNK_SERVERS = {42: 6, 35: 5}
"""Nodes of the cluster with so many chunk servers."""


def point(file: str, **changes: Any) -> dict[str, Any]:
    (only,) = simulate(STUDY / file, overrides={"run.replications": 1, **changes}).points
    return only


def sysbench(generation: int, count: int, chunk_servers: int = 42, **changes: Any) -> dict[str, Any]:
    nodes = {"hosts.node.count": CHUNK_SERVERS[chunk_servers]}
    return point(f"gen{generation}.yaml", **{COUNT: count, **nodes, **changes})


def p95_ms(report: dict[str, Any]) -> float:
    return report["groups"]["sysbench"]["response_ms"]["p95"]


def backup(redundancy: str, streams_per_node: int) -> dict[str, Any]:
    changes = {"storage.pool.redundancy": redundancy, "vms.backup.count": 6 * streams_per_node}
    return point("backup.yaml", **changes)["pools"]["pool"]


def test_the_generations_differ_by_journal_cache_and_path_only():
    old, new = (leaves(load(STUDY / file).data) for file in ("gen6.yaml", "gen7.yaml"))
    differ = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    own = {("name",), ("description",), ("storage", "pool", "client", "cpu_per_io")}
    assert {path for path in differ if path[:3] != ("storage", "pool", "flash")} == own
    assert all(path not in old for path in differ if path[:3] == ("storage", "pool", "flash"))


def test_every_case_asks_for_the_same_objective():
    asked = [question.arguments for question in studies.find("chunk-store").questions.values()]
    assert {arguments["slo"] for arguments in asked if "slo" in arguments} == {SLO}


def test_the_machines_fit_in_memory():
    for nodes in CHUNK_SERVERS.values():
        scenario = load(STUDY / "gen7.yaml", {COUNT: 120, "hosts.node.count": nodes})
        host, machine = scenario.data["hosts"]["node"], scenario.data["vms"]["sysbench"]
        assert (host["memory_per_node"], host["sockets"], machine["memory"]) == ("32 GiB", 2, "2 GiB")
        assert 120 / nodes * 2 < 64


@pytest.mark.parametrize("chunk_servers", CHUNK_SERVERS)
def test_generation_7_serves_more_than_100_where_generation_6_stops_near_60(chunk_servers):
    assert p95_ms(sysbench(6, 50, chunk_servers)) < 300
    assert p95_ms(sysbench(6, 70, chunk_servers)) > 300
    assert p95_ms(sysbench(6, 101, chunk_servers)) > 450
    assert p95_ms(sysbench(7, 101, chunk_servers)) < 100


@pytest.mark.parametrize("chunk_servers", CHUNK_SERVERS)
def test_what_generation_7_serves_it_keeps_serving(chunk_servers):
    """At 101 machines the disks take what the journals get, so that no larger journal explains the figure."""
    pool = sysbench(7, 101, chunk_servers)["pools"]["pool"]
    assert pool["device_write_mb_per_s"] == pytest.approx(3 * pool["write_mb_per_s"], rel=0.02)


def test_the_spinning_disks_limit_both():
    for generation, count in ((6, 100), (7, 170)):
        report = sysbench(generation, count)
        assert report["bottleneck"]["station"] == "pool-devices"
        assert report["storage"]["pool-devices"]["utilization_pct"] > 95
        assert max(host["usage_pct"] for host in report["hosts"].values()) < 15


def test_journal_and_cache_are_the_cause_and_cpu_of_the_path_is_not():
    changes = {
        "no cache": {f"{FLASH}.read_cache": "0 B"},
        "no journal": {f"{FLASH}.journal": "0 B"},
        "neither": {f"{FLASH}.read_cache": "0 B", f"{FLASH}.journal": "0 B"},
        "long path": {"storage.pool.client.cpu_per_io": "50 us"},
    }
    new = p95_ms(sysbench(7, 90))
    found = {name: p95_ms(sysbench(7, 90, **change)) for name, change in changes.items()}
    assert found["no journal"] > 4 * new
    assert found["no cache"] > 4 * new
    assert found["neither"] > max(found["no journal"], found["no cache"])
    assert found["long path"] == pytest.approx(new, rel=0.1)


@pytest.mark.parametrize(("redundancy", "sent"), [("replicas-3:2", 3), ("ec-3+2", 5 / 3), ("ec-3+1", 4 / 3)])
def test_a_backup_sends_what_its_redundancy_says(redundancy, sent):
    assert backup(redundancy, 4)["amplification"] == pytest.approx(sent, rel=0.001)


def test_streams_add_throughput_until_the_network_is_full_and_coding_is_ahead():
    per_node = (1, 2, 4, 8)
    copies, coded = (
        [backup(redundancy, streams)["write_mb_per_s"] for streams in per_node]
        for redundancy in ("replicas-3:2", "ec-3+2")
    )
    assert copies == sorted(copies)
    assert coded == sorted(coded)
    assert all(1.5 < more / less < 2.2 for less, more in zip(copies, coded, strict=True))
    # what leaves the nodes for a byte: two of three copies and five sixths of the first; five sixths of 5/3
    payload_mb_per_s = 6 * 1180
    assert copies[-1] < payload_mb_per_s / (3 - 1 / 6)
    assert coded[-1] < payload_mb_per_s / (5 / 3 * 5 / 6)


def test_both_ways_are_one_command(cli):
    arguments = ("--sweep", "vms.backup.count=6,12", "--duration", "5", "--warmup", "1", "--replications", "1")
    cli("simulate", str(STUDY / "backup.yaml"), "--set", "storage.pool.redundancy=ec-3+2", *arguments, exits=0)


def test_a_redundancy_wider_than_the_cluster_is_refused(cli):
    done = cli("simulate", str(STUDY / "backup.yaml"), "--set", "storage.pool.redundancy=ec-5+2", exits=2)
    assert "storage.pool.redundancy" in done.stderr
    assert "ec-5+2" in done.stderr
