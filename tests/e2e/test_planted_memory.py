"""Memory that is short, planted in a simulated cluster: found in what its hosts record, and cured on the twin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.e2e.planted import HEALTHY, laid_over

from hypertwin import diagnosis
from hypertwin.diagnosis.rule import Finding
from hypertwin.ingest import telemetry_table
from hypertwin.runs import simulation

START = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY = {"run": {"duration": "20 s", "warmup": "10 s", "sample_interval": "5 s", "replications": 1}}
CROWD: dict[str, Any] = {
    "hosts": {"esx": {"memory_per_node": "32 GiB", "swap": {"kind": "hdd-10k", "count": 4}}},
    "vms": {
        "db": None,
        "app": {"count": 2, "memory": "8 GiB", "array": None, "vdisks": None, "host": "esx-2"},
        "cache": {"count": 3, "vcpus": 4, "memory": "28 GiB", "workload": "web", "load": 0.5, "host": "esx-1"},
    },
    "arrays": None,
}
"""84 GiB of caches on a host of 64."""


def _planted(change: Mapping[str, Any], folder: Path) -> Path:
    scenario = folder / "cluster.yaml"
    scenario.write_text(json.dumps(laid_over(laid_over(laid_over(HEALTHY, MEMORY), CROWD), change)))
    return scenario


def _recorded(scenario: Path, folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """What the hosts of a run tell of memory, as a table of telemetry; and the run."""
    point = simulation.simulate(scenario).to_dict()["points"][0]
    rows: dict[tuple[str, str], float] = {}
    for name, host in point["hosts"].items():
        for key in ("ballooned_bytes", "swapped_bytes", "compressed_bytes", "swap_in_bytes_per_s"):
            rows[f"host/{name}", key] = host.get("memory", {}).get(key, 0.0)
    for name, vm in point["vms"].items():
        taken, entity = vm.get("memory", {}), f"host/{vm['host']}/vm/{name}"
        for key in ("ballooned_bytes", "swapped_bytes", "compressed_bytes", "swap_in_bytes_per_s"):
            rows[entity, key] = taken.get(key, 0.0)
        rows[entity, "swap_wait_sum_pct"] = taken.get("swap_wait_pct", 0.0) * vm["vcpus"]
        rows[entity, "vcpus"] = vm["vcpus"]
    table = [
        (START + timedelta(seconds=20 * place), entity, metric, float(value))
        for place in range(10)
        for (entity, metric), value in rows.items()
    ]
    telemetry_table.write([telemetry_table.frame(table)], folder / "recorded.parquet")
    return folder / "recorded.parquet", point


def _only(findings: list[Finding], code: str) -> Finding:
    (finding,) = [each for each in findings if each.code == code]
    return finding


def _codes(findings: list[Finding]) -> set[str]:
    return {each.code for each in findings} - {"cluster-without-failover-capacity"}


def test_ballooning_is_found_and_cured(tmp_path: Path) -> None:
    scenario = _planted({"vms": {"cache": {"memory_active": "6 GiB"}}}, tmp_path)
    recorded, point = _recorded(scenario, tmp_path)
    assert point["hosts"]["esx-1"]["memory"]["ballooned_bytes"] > 2**30
    found = diagnosis.diagnose([recorded], cluster=scenario)
    finding = _only(list(found.findings), "host-memory-overcommitted-reclaiming")
    assert finding.subject.name == "esx-1"
    assert " ballooned" in finding.figure
    assert "VMs (3): cache-" in finding.text
    told = finding.what_if
    assert told, finding.no_what_if
    assert told["helps"] is True
    assert told["change"].startswith("move cache-")
    assert told["after"]["host_reclaimed_bytes"] < 0.1 * told["before"]["host_reclaimed_bytes"]


def test_waiting_for_swap_is_found_and_cured(tmp_path: Path) -> None:
    scenario = _planted({"vms": {"cache": {"balloon": False, "memory_compressible_pct": 0}}}, tmp_path)
    recorded, point = _recorded(scenario, tmp_path)
    assert point["hosts"]["esx-1"]["memory"]["swapped_bytes"] > 2**30
    found = diagnosis.diagnose([recorded], cluster=scenario)
    assert {"swap-wait", "host-memory-overcommitted-reclaiming"} <= _codes(list(found.findings))
    finding = _only(list(found.findings), "swap-wait")
    assert finding.subject.name == "esx-1"
    assert finding.cause == ("host-memory-overcommitted-reclaiming", "host/esx-1")
    told = finding.what_if
    assert told, finding.no_what_if
    assert told["helps"] is True
    assert told["before"]["memory_swap_wait_pct"] > 5
    assert told["after"]["memory_swap_wait_pct"] < 0.5
    assert told["after"]["response_ms_p95"] < 0.5 * told["before"]["response_ms_p95"]


def test_memory_that_suffices_is_no_finding(tmp_path: Path) -> None:
    scenario = _planted({"hosts": {"esx": {"memory_per_node": "64 GiB"}}}, tmp_path)
    recorded, point = _recorded(scenario, tmp_path)
    assert "memory" not in point["hosts"]["esx-1"]
    assert not _codes(list(diagnosis.diagnose([recorded], cluster=scenario, simulate=False).findings))
