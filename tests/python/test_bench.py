"""The benchmarks run at smoke size: they agree with theory and give the same results twice. No time is asserted."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
KERNEL_CASES = ["mm1", "network", "hold-1", "hold-1000", "hold-100000"]
ROW_KEYS = {
    "case", "tool", "source", "size", "repetitions", "events", "events_per_s", "events_per_s_min", "events_per_s_max",
    "peak_rss_mib", "ratio_to_heap", "ratio_to_simpy", "check", "does", "runs",
}  # fmt: skip


def bench(*options: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / "run.py"), "--smoke", "--no-peers", "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)


def result_of(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-1].split()
    assert last[0] == "result"
    return last[1]


@pytest.fixture(scope="module")
def modules() -> Any:
    """`bench/run.py` and the peers' catalogue as modules."""
    sys.path[:0] = [str(BENCH), str(BENCH / "peers")]
    try:
        yield importlib.import_module("run"), importlib.import_module("catalogue")
    finally:
        del sys.path[:2]
        for name in ("run", "catalogue"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("bench")
    return out, result_of(bench("--only", "kernel", out=out))


def test_the_kernel_cases_give_one_row_each_with_its_ratio(kernel: tuple[Path, str]) -> None:
    written = json.loads((kernel[0] / "kernel.json").read_text())
    assert written["smoke"] is True
    assert written["result_sha256"] == kernel[1]
    assert written["not_measured"] == []
    rows = written["rows"]
    assert [(row["case"], row["tool"]) for row in rows] == [
        (case, tool) for case in KERNEL_CASES for tool in ("hypertwin", "binary heap")
    ]
    for row in rows:
        assert row.keys() >= ROW_KEYS
        assert row["events"] > 0
        assert row["events_per_s"] > 0
        assert row["peak_rss_mib"] > 0
        assert row["ratio_to_heap"] > 0
        assert row["ratio_to_simpy"] is None
        assert row["check"]["ok"], f"{row['case']}, {row['tool']}: {row['check']}"


def test_the_machine_is_described(kernel: tuple[Path, str]) -> None:
    facts = json.loads((kernel[0] / "machine.json").read_text())
    assert facts.keys() >= {"cpu", "cpus", "memory", "system", "rustc", "load_average_before", "load_average_after"}


def test_a_second_run_has_the_same_results(kernel: tuple[Path, str], tmp_path: Path) -> None:
    assert result_of(bench("--only", "kernel", out=tmp_path)) == kernel[1]


def test_the_twin_cases_give_one_row_each(tmp_path: Path) -> None:
    digest = result_of(bench("--only", "twin,scale", out=tmp_path))
    written = json.loads((tmp_path / "twin.json").read_text())
    assert written["result_sha256"] == digest
    assert [row["case"] for row in written["rows"]] == ["solo", "pair", "io", "pool-2", "scale-1", "scale-3"]
    for row in written["rows"]:
        assert row["events"] > 0
        assert row["simulated_s_per_s"] > 0
        assert row["check"] is None
    assert not (tmp_path / "kernel.json").exists()


def test_an_unknown_case_is_a_usage_error(tmp_path: Path) -> None:
    done = bench("--only", "mm2", out=tmp_path)
    assert done.returncode == 2
    assert "mm2" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_peer_has_its_folder_and_every_folder_its_peer(modules: tuple[ModuleType, ModuleType]) -> None:
    folders = {path.name for path in (BENCH / "peers").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {peer.name for peer in modules[1].PEERS} == folders


@pytest.mark.parametrize("name", ["simgrid", "nexosim", "desru", "simrs", "cloudsimplus"])
def test_a_peer_that_cannot_be_had_says_why_and_stays_in_the_table(
    name: str, modules: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, catalogue = modules
    monkeypatch.setenv("PATH", str(tmp_path))
    peer = next(peer for peer in catalogue.PEERS if peer.name == name)
    with pytest.raises(catalogue.Unavailable, match="is not on this machine") as reason:
        peer.prepare(tmp_path / name)
    missing = [{"tool": name, "source": peer.source, "reason": str(reason.value)}]
    assert "not measured" in run.kernel_table([], missing)
    assert str(reason.value) in run.notes([], missing)[0]


@pytest.mark.parametrize(("value", "ok"), [(5.0, True), (6.9, True), (4.0, True), (12.0, False)])
def test_a_result_far_from_theory_is_called_wrong(
    value: float, ok: bool, modules: tuple[ModuleType, ModuleType]
) -> None:
    run = modules[0]
    row = run.Row(run.Job("mm1", "some peer", "a registry", "5,000 customers", [], False))
    row.lines.append({"events": 10_000, "check": {"value": value}})
    verdict = run.judge(row)
    assert verdict["ok"] is ok
    assert verdict["exact"] == pytest.approx(5.0)
