"""The benchmarks run at smoke size: they agree with theory and give the same results twice. No time is asserted."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.slow

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
    """The modules of `bench/`, by name."""
    names = ("results", "tables", "catalogue")
    sys.path[:0] = [str(BENCH), str(BENCH / "peers")]
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        del sys.path[:2]
        for name in names:
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


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("bench")
    return out, result_of(bench("--only", "twin,scale,vms", out=out))


def test_the_twin_cases_give_one_row_each(twin: tuple[Path, str]) -> None:
    written = json.loads((twin[0] / "twin.json").read_text())
    assert written["result_sha256"] == twin[1]
    rows = written["rows"]
    assert [(row["case"], row["threads"]) for row in rows] == [
        *[
            (case, 1)
            for case in (
                "solo",
                "pair",
                "io",
                "pool-2",
                "pool-3",
                "chunk-store-3",
                "ceph-3",
                "vsan-3",
                "scale-1",
                "scale-3",
            )
        ],
        ("scale-3", 2),
    ]
    for row in rows:
        assert row["events"] > 0
        assert row["simulated_s_per_s"] > 0
        assert row["check"] is None
        assert (row["ratio_to_fewest_hosts"] is not None) == (row["threads"] == 1 and row["case"][-1].isdigit())
        assert (row["speedup"] is not None) == (row["threads"] > 1)
    assert not (twin[0] / "kernel.json").exists()


def test_the_vms_are_as_busy_as_their_load_steps_ask(twin: tuple[Path, str]) -> None:
    rows = json.loads((twin[0] / "vms.json").read_text())["rows"]
    assert [(row["case"], row["threads"]) for row in rows] == [
        ("vms-16", 1),
        ("vms-16", 2),
        ("vms-32", 1),
        ("vms-32", 2),
    ]
    assert [row["check"]["exact"] for row in rows] == pytest.approx([6.4, 6.4, 12.8, 12.8])
    assert all(row["check"]["ok"] for row in rows)


def test_a_second_run_of_the_twin_has_the_same_results(twin: tuple[Path, str], tmp_path: Path) -> None:
    assert result_of(bench("--only", "twin,scale,vms", out=tmp_path)) == twin[1]


def test_a_batch_has_the_same_results_on_threads_from_the_store_and_on_a_cluster(tmp_path: Path) -> None:
    digest = result_of(bench("--only", "batch", out=tmp_path))
    written = json.loads((tmp_path / "batch.json").read_text())
    assert written["result_sha256"] == digest
    assert written["not_measured"] == []
    assert [(row["case"], row["how"]) for row in written["rows"]] == [
        *[("sweep-50", how) for how in ("simulated", "simulated", "into the store")],
        *[("sweep-50", how) for how in ("45 in the store", "50 in the store")],
        *[("tasks-20", how) for how in ("loop over the core", "a thread", "a Dask worker")],
        *[("hit-2", how) for how in ("simulated", "from the store")],
        *[(case, "to Parquet") for case in ("esxtop-17000", "esxtop-1500")],
    ]
    # `disagreements` compares the reports of a case
    assert all(row["runs"][0]["report_sha256"] for row in written["rows"] if not row["case"].startswith("esxtop"))
    assert all(row["runs"][0]["rows"] > 0 for row in written["rows"] if row["case"].startswith("esxtop"))


def test_an_unknown_case_is_a_usage_error(tmp_path: Path) -> None:
    done = bench("--only", "mm2", out=tmp_path)
    assert done.returncode == 2
    assert "mm2" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_peer_has_its_folder_and_every_folder_its_peer(modules: SimpleNamespace) -> None:
    folders = {path.name for path in (BENCH / "peers").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {peer.name for peer in (*modules.catalogue.PEERS, modules.catalogue.PROXLB)} == folders


@pytest.mark.parametrize("name", ["simgrid", "nexosim", "desru", "simrs", "cloudsimplus"])
def test_a_peer_that_cannot_be_had_says_why_and_stays_in_the_table(
    name: str, modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    catalogue, tables = modules.catalogue, modules.tables
    monkeypatch.setenv("PATH", str(tmp_path))
    peer = next(peer for peer in catalogue.PEERS if peer.name == name)
    with pytest.raises(catalogue.Unavailable, match="is not on this machine") as reason:
        peer.prepare(tmp_path / name)
    missing = [{"tool": name, "source": peer.source, "reason": str(reason.value)}]
    assert "not measured" in tables.kernel_table([], missing)
    assert str(reason.value) in tables.notes([], missing)[0]


@pytest.mark.parametrize(("value", "ok"), [(5.0, True), (6.9, True), (4.0, True), (12.0, False)])
def test_a_result_far_from_theory_is_called_wrong(value: float, ok: bool, modules: SimpleNamespace) -> None:
    results = modules.results
    row = results.Row(results.Job("mm1", "some peer", "a registry", "5,000 customers", [], False))
    row.lines.append({"events": 10_000, "check": {"value": value}})
    verdict = results.judge(row)
    assert verdict["ok"] is ok
    assert verdict["exact"] == pytest.approx(5.0)


def test_another_report_on_two_threads_is_noticed(modules: SimpleNamespace) -> None:
    results = modules.results
    one = results.Row(results.Job("scale-3", "hypertwin", "full twin", "1 s", [], True))
    two = results.Row(results.Job("scale-3", "hypertwin", "full twin", "1 s", [], True, threads=2))
    one.lines += [{"report_sha256": "a"}, {"report_sha256": "b"}]
    two.lines += [{"report_sha256": "a"}, {"report_sha256": "b"}]
    assert results.disagreements([one, two]) == []
    two.lines[1]["report_sha256"] = "c"
    assert results.disagreements([one, two]) == ["scale-3, repetition 2: another result with 2 threads"]


def test_ratios_compare_runs_of_the_same_repetition(modules: SimpleNamespace) -> None:
    results = modules.results
    rows = []
    for threads, seconds in ((1, [1.0, 8.0, 1.0]), (2, [0.5, 2.0, 0.5])):
        row = results.Row(results.Job("scale-3", "hypertwin", "full twin", "1 s", [], True, threads=threads))
        row.lines = [
            {"seconds": s, "events": 1, "events_per_s": 1 / s, "ns_per_event": s, "peak_rss_mib": 1} for s in seconds
        ]
        rows.append(row)
    one, two = results.summarise(rows)
    assert (one["speedup"], two["speedup"]) == (None, 2.0)


def test_a_simulator_that_ran_out_of_time_bounds_the_ratio(modules: SimpleNamespace) -> None:
    results = modules.results
    late = results.Row(
        results.Job("vms-800", "simgrid", "apt", "", [], False, limit_s=300), failure="did not end within 300 s"
    )
    ours = results.Row(results.Job("vms-800", "hypertwin", "full twin", "", [], True))
    ours.lines = [
        {"seconds": 3.0, "events": 1, "events_per_s": 1, "peak_rss_mib": 1, "check": {"value": 6.4, "exact": 6.4}}
    ]
    text = modules.tables.vms_table(results.summarise([late, ours]), [])
    assert "> 100x" in text
    assert "did not end within 300 s" in text


def test_plans_are_the_same_twice(tmp_path: Path) -> None:
    digest = result_of(bench("--only", "place", out=tmp_path))
    rows = json.loads((tmp_path / "place.json").read_text())["rows"]
    assert [row["how"].split(",")[0] for row in rows] == ["level", "level", "fewest moves", "fewest hosts"]
    for row in rows:
        for run in row["runs"]:
            assert run["gap_pct"] <= 1
            assert run["peak_pct"] <= 100
    assert result_of(bench("--only", "place", out=tmp_path)) == digest
