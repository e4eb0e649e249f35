"""The lab's disk: what is measured, fitted, predicted, written and refused. Nothing is asserted of speed."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from rich.console import Console
from tests.conftest import needs

from hypertwin import scenario
from hypertwin.ingest.benchmarks import io_points
from hypertwin.lab import disk, fio
from hypertwin.lab.fio import Load
from hypertwin.show import measured_disk, registry

pytestmark = pytest.mark.usefixtures("linux")
COMMAND = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "lab", "disk"]
BRIEF = ["--quick", "--size", "16MiB", "--seconds", "0.1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A brief measurement of this disk: the folder of its results, and the result."""
    needs("fio")
    folder = tmp_path_factory.mktemp("lab-disk")
    (folder / "disk").mkdir()
    command = [*COMMAND, *BRIEF, "--dir", str(folder / "disk"), "--out", str(folder / "o"), "--format", "json"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    return folder, json.loads(made.stdout)


@pytest.mark.slow
def test_every_load_is_measured_and_has_a_twin(run):
    folder, found = run
    loads = [load for group in disk.QUICK.loads.values() for load in group]
    assert [each["load"] for each in found["points"]] == [load.name for load in loads]
    for each, load in zip(found["points"], loads, strict=True):
        assert each["measured"]["iops"] > 0
        assert each["error_pct"] == pytest.approx(100 * (each["twin"]["iops"] / each["measured"]["iops"] - 1))
        (point,), _ = io_points.read([folder / "o" / "points" / f"{load.name}.json"])
        assert point.workload["arrivals"]["io"]["outstanding"] == load.depth
        assert (point.workload["read_pct"], point.workload["random_pct"]) == (load.read_pct, 100 * load.random)
        assert point.workload.get("sync_pct", 0) == 100 * load.synchronous
        assert point.figures["iops"] == pytest.approx(each["measured"]["iops"])
        assert point.figures["io_latency_ms_mean"] == pytest.approx(each["measured"]["latency_ms_mean"])
    assert {each["parameter"] for each in found["parameters"]} == {key for keys in disk.TOLD.values() for key in keys}
    assert json.loads((folder / "o" / "results.json").read_text()) == found


@pytest.mark.slow
def test_the_prediction_is_there_first_and_stays(run):
    folder, found = run
    compared, out = found["prediction"], folder / "o"
    assert datetime.fromisoformat(compared["predicted_at"]) <= datetime.fromisoformat(compared["measured_from"])
    assert compared["sha256"] == hashlib.sha256((out / "prediction.json").read_bytes()).hexdigest()
    assert compared["unchanged"]
    assert compared["scenario_sha256"] == hashlib.sha256((out / "scenario.yaml").read_bytes()).hexdigest()
    assert compared["load"] not in [each["load"] for each in found["points"]]
    assert len(compared["runs"]) == disk.PREDICTED_RUNS
    assert compared["measured"]["iops"] == sorted(compared["runs"])[disk.PREDICTED_RUNS // 2]
    scenario.load(out / "scenario.yaml")
    device = yaml.safe_load((out / "scenario.yaml").read_text())["devices"]["measured"]
    assert {"kind": "nvme", **{each["parameter"]: each["value"] for each in found["parameters"]}} == device


@pytest.mark.slow
def test_the_file_is_removed(run):
    folder, _ = run
    assert list((folder / "disk").iterdir()) == []


@pytest.mark.slow
def test_the_file_is_removed_after_an_error(tmp_path):
    needs("fio")
    with pytest.raises(KeyboardInterrupt), fio.on(tmp_path, 2**24) as tool:
        tool.prepare()
        assert tool.file.stat().st_size == 2**24
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_table_says_how_far_off_the_prediction_is(run):
    _, found = run
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(registry.DISK.table(found))
    text = console.export_text()
    assert f"{found['prediction']['error_pct']:+.1f} % off the median of 5 runs" in text
    assert "Not modelled: caches" in text
    assert all(each["load"] in text for each in found["points"])


def test_a_promise_is_kept_by_an_unchanged_prediction_only():
    def summary(error_pct: float, unchanged: bool):
        return {"prediction": {"error_pct": error_pct, "unchanged": unchanged}, "promised_pct": 20.0}

    assert disk.within_promise(summary(-20.0, True))
    assert not disk.within_promise(summary(20.1, True))
    assert not disk.within_promise(summary(0.0, False))


def _report(iops: float, latency_ms: float, way: str = "read") -> dict[str, object]:
    busy = {"iops": iops, "lat_ns": {"mean": latency_ms * 1e6}, "clat_ns": {"percentile": {"99.000000": 1}}}
    idle = {"iops": 0.0, "lat_ns": {"mean": 0.0}}
    other = "write" if way == "read" else "read"
    return {"jobs": [{way: busy, other: idle, "usr_cpu": 10.0, "sys_cpu": 5.0}]}


def test_the_median_run_counts_and_the_spread_is_told():
    each = disk.Measured(Load(100, True, 4096, 4), [_report(rate, 1.0) for rate in (90.0, 200.0, 100.0)])
    assert each.figures["iops"] == 100
    assert each.spread_pct == pytest.approx(55)


def test_a_single_run_has_no_spread():
    assert disk.Measured(Load(100, True, 4096, 4), [_report(90.0, 1.0)]).spread_pct is None
    prediction = {"error_pct": 3.0, "runs": [90.0], "spread_pct": None}
    said = measured_disk.verdict(cast(Any, {"promised_pct": 25.0, "prediction": prediction}))
    assert said.endswith("off the median of 1 run, within the promised 25 %: 90 IOPS.")


def test_the_first_guesses_are_read_off_the_points():
    plan = disk.Plan()
    found = {}
    for load in (load for group in plan.loads.values() for load in group):
        iops, latency = (80_000.0, 0.2) if load.depth == 64 else (10_000.0, 0.1)
        if load.synchronous:
            latency = 2.1
        found[load.name] = disk.Measured(load, [_report(iops, latency, "read" if load.read_pct else "write")])
    data = disk.scenario_of(found, cpus=4, clock_hz=3e9)
    scenario.loads(json.dumps(data))
    device = data["devices"]["measured"]
    assert (device["read_latency"], device["random_read"]) == ("100 us", "80000 /s")
    assert device["sequential_write"] == f"{10_000 * 131_072 / 1e6:.1f} MB/s"
    assert device["flush"] == "2000 us"
    assert data["workloads"]["fio"]["cpu"]["mean"] == "1.25 us"  # 10 % of a thread for 80,000 a second


def test_what_is_refused(cli, tmp_path, monkeypatch):
    for arguments, said in (
        (("--dir", tmp_path / "none"), "not-a-file"),
        (("--dir", "/dev/null"), "not-a-file"),
        (("--size", "1MiB"), "16 MiB to 1 TiB"),
        (("--size", "much"), "bad-quantity"),
    ):
        made = cli("lab", "disk", *arguments, "--out", tmp_path / "o", exits=2)
        assert said in made.stderr
    there = tmp_path / "bin" / "fio"  # which is never called
    there.parent.mkdir()
    there.write_text("#!/bin/sh\nexit 1\n")
    there.chmod(0o755)
    monkeypatch.setenv("PATH", str(there.parent))
    with pytest.raises(fio.FioError, match="too large"), fio.on(tmp_path, 2**60):
        pass
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fio.FioMissingError, match="apt install fio"), fio.on(tmp_path, 2**24):
        pass
    assert not (tmp_path / "o").exists()
