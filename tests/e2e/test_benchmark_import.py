"""`hypertwin benchmark import`: a campaign of sysbench for 1, 2 and 3 VMs, from its files to a page."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.e2e.test_benchmark_cli import SCENARIO
from tests.python.benchmark.test_imported import sysbench, written


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Write results of 1, 2 and 3 VMs, with 1 and 4 threads, twice each, and return their folder."""
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    for vms in (1, 2, 3):
        for threads in (1, 4):
            for repeat in (1, 2):
                mean = 10.2 + 0.1 * repeat
                for vm in range(1, vms + 1):
                    place = tmp_path / "results" / f"{vms}-{threads}-{repeat}" / f"vm{vm}.txt"
                    written(place, sysbench(1000 * threads / mean, threads, mean))
    return tmp_path / "results"


def test_a_campaign_of_three_vms_becomes_a_page_with_curves(cli, results, tmp_path):
    words = ["benchmark", "import", "scenario.yaml", "results", "--group", "db", "-o", "run", "--report", "run.html"]
    done = cli(*words, exits=0)
    assert done.stdout.startswith("Predicted after the measurement, which is no proof, and right: throughput ")
    found = json.loads((tmp_path / "run/results.json").read_text())
    assert not found["blind"]
    assert [(step["vms"], step["values"]["threads"], len(step["runs"])) for step in found["steps"]] == [
        (vms, threads, 2) for vms in (1, 2, 3) for threads in (1, 4)
    ]
    rate = found["steps"][-1]["figures"][0]
    assert rate["measured"] == pytest.approx(3 * 4000 * (1 / 10.3 + 1 / 10.4) / 2, rel=1e-3)
    assert rate["spread_pct"] == pytest.approx(100 * 2 * 0.1 / 20.7, rel=0.01)
    frame = pl.read_parquet(tmp_path / "run/steps.parquet")
    assert frame.filter(pl.col("vm") == "vm3").height == 4
    assert (tmp_path / "run/steps/vms-3-threads-4/repeat-2/vm3/out").read_text().startswith("sysbench 1.0.20")
    classes = pl.read_csv(tmp_path / "run/study/published.csv")["expected_class"]
    assert classes.null_count() == len(classes)  # no counters show a limit
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "curve-throughput-per-s" in page and "Measured and predicted" in page
    assert cli("validate", "run/study").returncode in {0, 1}
    again = cli("benchmark", "report", "run", "--fail-on", "late", exits=1)
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_the_first_step_sets_the_free_parameters_and_does_not_count(cli, results, tmp_path):
    free = ["--free", "workloads.oltp.delay.mean=1ms..40ms"]
    cli("benchmark", "import", "scenario.yaml", "results", "--group", "db", "-o", "run", *free, exits=0)
    found = json.loads((tmp_path / "run/results.json").read_text())
    assert [step["calibration"] for step in found["steps"]] == [True] + 5 * [False]
    assert all(each["of"] == 5 for each in found["scores"])
    assert not found["blind"]
    assert found["proposals"][0]["path"] == "workloads.oltp.delay.mean"
    prediction = json.loads((tmp_path / "run/prediction.json").read_text())
    assert len(prediction["measured_before"]) == 6
    kinds = pl.read_csv(tmp_path / "run/study/published.csv").select("case", "kind").unique()
    assert kinds.filter(pl.col("kind") == "calibrated")["case"].to_list() == ["vms-1-threads-1"]


def test_an_imported_campaign_cannot_run(cli, results, tmp_path):
    cli("benchmark", "import", "scenario.yaml", "results/1-1-1", "--group", "db", "-o", "run", exits=0)
    for words in (
        ["resume", "run"],
        ["run", "run/plan.yaml", "-o", "x"],
        ["check", "run"],
        ["predict", "run/plan.yaml"],
    ):
        done = cli("benchmark", *words, *(["-o", "x"] if words[0] == "predict" else []), exits=2)
        assert done.stderr.startswith("error: load.kind: imported [imported-campaign]")
        assert "hypertwin benchmark report FOLDER" in done.stderr
    cli("benchmark", "run", "run/plan.yaml", "-o", "x", "--dry-run", exits=2)
    assert not (tmp_path / "x").exists()
    again = cli("benchmark", "import", "scenario.yaml", "results/1-1-1", "--group", "db", "-o", "run", exits=2)
    assert "run has a campaign" in again.stderr


def test_a_page_replaces_no_result(cli, results):
    before = (results / "1-1-1/vm1.txt").read_text()
    words = ["benchmark", "import", "scenario.yaml", "results", "--group", "db", "--report", "results/1-1-1/vm1.txt"]
    cli(*words, exits=2)
    assert (results / "1-1-1/vm1.txt").read_text() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sysbench().replace("100.00", "100,00"), "a decimal comma: transactions: 1000 (100,00 per sec.)"),
        (sysbench(threads=0), "0 threads"),
    ],
)
def test_the_reason_for_an_unread_file_is_named(cli, results, tmp_path, text, said):
    written(tmp_path / "out.txt", text)
    done = cli("benchmark", "import", "scenario.yaml", "out.txt", "--group", "db", "-o", "run", exits=2)
    assert done.stderr.startswith(f"error: {said} [bad-source]\n  --> out.txt\n")
    assert "other-command" not in done.stderr
    other = cli("simulate", "out.txt", exits=2)
    assert "output of a load generator, which simulate does not read" in other.stderr
