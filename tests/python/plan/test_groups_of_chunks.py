"""Combinations of disks that the chunks of a pool are on, against counted ones and closed forms."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin import _core, scenario
from hypertwin.plan import durability, repair


def _pool(nodes: int, **more: Any) -> scenario.Scenario:
    host = {"sockets": 1, "cores_per_socket": 8, "clock": "2 GHz", "memory_per_node": "64 GiB"}
    hosts = {"node": {**host, "count": nodes, "hypervisor": "linux-6.12", "network": {"bandwidth": "3 GB/s"}}}
    devices = {"kind": "hdd-7.2k", "per_node": 10, "capacity": "16 TB"}
    pool = {"nodes": "node", "devices": devices, **more}
    return scenario.loads(json.dumps({"name": "made", "hosts": hosts, "storage": {"pool": pool}}))


def _groups(made: scenario.Scenario, redundancy: str, stored_tib: float) -> int:
    kept = {"redundancy": redundancy, "placement_groups": 3334, "stored_gib": stored_tib * 1024}
    return repair.groups(made, "pool", kept)


@given(st.lists(st.integers(1, 4), max_size=6), st.integers(1, 4))
def test_combinations_are_those_that_can_be_counted(disks: list[int], width: int) -> None:
    of_domain = [domain for domain, many in enumerate(disks) for _ in range(many)]
    counted = sum(len(set(chosen)) == width for chosen in itertools.combinations(of_domain, width))
    assert repair.combinations(disks, width) == counted


def test_many_chunks_are_on_nearly_all_combinations() -> None:
    # 819,200 chunks of 256 MiB, and 120 x 1,000 ways to choose three disks in different hosts
    made = _pool(10, kind="chunk-store")
    many = _groups(made, "replicas-3:2", 200)
    assert many == round(120_000 * (1 - math.exp(-819_200 / 120_000)))
    (found,) = durability.assess(["replicas-3:2"], annual_failure_rate=0.02, repair_s=3600, groups=many)
    lost = found["markov"]["annual_loss"]
    assert found["markov"]["pool_annual_loss"] == pytest.approx(1 - (1 - lost) ** many, rel=1e-3)


def test_few_chunks_are_each_on_a_combination_of_their_own() -> None:
    assert _groups(_pool(10, kind="chunk-store"), "replicas-3:2", 0.25) == pytest.approx(1024, rel=0.01)
    assert _groups(_pool(10, kind="chunk-store", chunk="1 GiB"), "replicas-3:2", 0.25) == pytest.approx(256, rel=0.01)
    # a set of chunks of a code has 3 of them
    assert _groups(_pool(10, kind="chunk-store"), "ec-3+2", 0.75) == pytest.approx(1024, rel=0.01)


def test_racks_and_disks_are_failure_domains() -> None:
    racks = _pool(10, kind="mirrored-mesh", failure_domain="rack", racks=2)
    assert _groups(racks, "replicas-2", 200) == 50 * 50
    disks = _pool(10, kind="mirrored-mesh", failure_domain="disk")
    assert _groups(disks, "replicas-2", 200) == math.comb(100, 2)


def test_products_with_groups_of_their_own_keep_them() -> None:
    for kind in ("ceph", "vsan"):
        assert _groups(_pool(10, kind=kind), "replicas-3:2", 200) == 3334


def test_default_chunks_are_those_of_the_schema() -> None:
    said = json.loads(_core.schema_json())["$defs"]["StoragePool"]["properties"]["chunk"]["description"]
    for kind, size in repair.DEFAULT_CHUNK.items():
        assert f"{size >> 20} MiB for a {kind.replace('-', ' ')}" in said
