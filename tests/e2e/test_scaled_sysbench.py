"""The scaled-sysbench study: one rig in two deployments, and the causes that the study names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypertwin import simulate

STUDY = Path(__file__).resolve().parents[2] / "studies" / "scaled-sysbench" / "scenario.yaml"


def points(deployment: str, *counts: int) -> list[dict[str, Any]]:
    result = simulate(
        STUDY,
        overrides={"storage.pool.deployment": deployment},
        sweep={"vms.sysbench.count": counts},
        duration="2 s",
        warmup="2 s",
        replications=1,
    )
    return list(result.points)


def test_machines_are_on_the_nodes_or_beside_them():
    (together,) = points("hci", 4)
    (apart,) = points("two-layer", 4)
    assert all(together["hosts"][f"node-{n}"]["usage_pct"] > 40 for n in range(1, 5))
    assert all(together["hosts"][f"compute-{n}"]["usage_pct"] == 0 for n in range(1, 9))
    assert all(0 < apart["hosts"][f"node-{n}"]["usage_pct"] < 10 for n in range(1, 5))
    assert "pool-client-network" in apart["storage"]
    assert "pool-client-network" not in together["storage"]


def test_cpu_runs_out_on_the_nodes_and_reads_wait_behind_writes_everywhere():
    few, many = points("hci", 4, 24)
    assert many["groups"]["sysbench"]["ready_pct"] > 10 > few["groups"]["sysbench"]["ready_pct"]
    assert many["storage"]["pool-devices"]["utilization_pct"] > 60
    apart_few, apart_many = points("two-layer", 4, 24)
    assert apart_many["groups"]["sysbench"]["ready_pct"] < 1
    latency = [point["groups"]["sysbench"]["io_latency_ms"]["mean"] for point in (apart_few, apart_many)]
    assert latency[1] > latency[0] + 2


def test_every_write_has_two_copies():
    (point,) = points("hci", 8)
    pool = point["pools"]["pool"]
    # up to the writes that were under way when measuring began and ended
    assert abs(pool["amplification"] - 2) < 1e-3
    assert abs(pool["device_write_mb_per_s"] / pool["write_mb_per_s"] - 2) < 0.02
