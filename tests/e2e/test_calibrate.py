"""`hypertwin calibrate`: the twin finds its own parameters again, and other commands use what was found."""

from __future__ import annotations

import dataclasses
import json

import pytest
import yaml
from tests.conftest import TINY
from tests.python.show.test_page import data

import hypertwin
from hypertwin.calibration import file as calibration_file
from hypertwin.metrics.metric_path import parse
from hypertwin.show.page import rounded

TRUE = {"workloads.oltp.cpu.mean": "5.1 ms", "workloads.oltp.delay.mean": "7 ms"}
METRICS = ("groups.db.response_ms.mean", "groups.db.throughput_per_s", "hosts.esx1.usage_pct")
FREE = ("--free", "workloads.oltp.cpu.mean=2ms..10ms", "workloads.oltp.delay.mean")
RUNS = ("--duration", 5, "--replications", 3)


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """Measured points that the twin made, from other seeds, and the scenario."""
    folder = tmp_path_factory.mktemp("calibrate")
    (folder / "tiny.yaml").write_text(TINY)
    base = hypertwin.load(folder / "tiny.yaml")
    metrics = [parse(metric, base, metric) for metric in METRICS]
    lines = [",".join(["vms.db.load", *METRICS])]
    for load in (0.5, 1, 2, 3, 4):
        settings = {**TRUE, "vms.db.load": load}
        made = hypertwin.simulate(base, overrides=settings, seed=int(100 * load), duration=40, replications=1)
        lines.append(",".join([str(load), *(f"{metric.read(made.points[0]):.5g}" for metric in metrics)]))
    (folder / "measured.csv").write_text("\n".join(lines) + "\n")
    return folder / "tiny.yaml", folder / "measured.csv"


@pytest.fixture(scope="module")
def found(points):
    scenario, measured = points
    free = ["workloads.oltp.cpu.mean=2ms..10ms", "workloads.oltp.delay.mean"]
    return hypertwin.calibrate(scenario, measured, free=free, duration=8, replications=3)


def test_the_twin_finds_its_own_parameters(found):
    for each, true in zip(found.fitted, (5.1, 7.0), strict=True):
        low, high = each.interval
        assert low <= each.value <= high
        assert each.value == pytest.approx(true, rel=0.1)
        assert high / low < 1.6
    assert found.inseparable == ()
    for metric in found.to_dict()["metrics"]:
        assert metric["fitted_pct"] < 4
        assert metric["left_out_pct"] < 8
        assert metric["held_out_pct"] is None
    assert sum(metric["before_pct"] for metric in found.metrics()) > 15


def test_measured_points_narrow_the_model_error_of_later_runs(found, points):
    scenario, _ = points
    narrowed = {(each["area"], each["kind"]): each for each in found.to_dict()["model_error"]}
    assert narrowed["cpu", "usage"]["points"] == 5
    assert "; model error: cpu " in found.calibrated_on
    assert any("cpu usage from ×" in note for note in found.notes)
    before, after = (
        hypertwin.simulate(scenario, overrides=overrides, duration=2, replications=1).reports[0]["model_error"]
        for overrides in (found.settings, found.overrides)
    )
    for key, base in before["bases"].items():
        told = after["bases"][key]
        if (base["area"], base["kind"]) not in narrowed:
            assert told == base
            continue
        assert told["own_points"] == narrowed[base["area"], base["kind"]]["points"]
        assert told["high_factor"] - told["low_factor"] < base["high_factor"] - base["low_factor"]
        assert narrowed[base["area"], base["kind"]]["after"] in told["text"]
        assert told["low_factor"] < 1 < told["high_factor"], "the twin measured itself"


def test_a_second_calibration_keeps_the_errors_of_other_areas_and_kinds(found):
    earlier = "1 row of a.csv; model error: pools latency 1.1, cpu usage 7"
    again = dataclasses.replace(found, previous=earlier)
    assert "pools latency 1.1" in again.calibrated_on
    assert "cpu usage 7" not in again.calibrated_on
    assert again.calibrated_on.count("model error: ") == 1


def test_a_systematic_difference_is_reported(points, tmp_path):
    scenario, measured = points
    lines = measured.read_text().splitlines()
    wrong = [lines[0]]
    for line in lines[1:]:
        *cells, usage = line.split(",")
        wrong.append(",".join([*cells, f"{float(usage) * 0.8:.4g}"]))
    (tmp_path / "m.csv").write_text("\n".join(wrong) + "\n")
    found = hypertwin.calibrate(
        *(scenario, tmp_path / "m.csv"),
        **{
            "free": "workloads.oltp.delay.mean",
            "overrides": {"workloads.oltp.cpu.mean": TRUE["workloads.oltp.cpu.mean"]},
        },
        **{"duration": 4, "error": "2%"},
    )
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.fit.errors_explain is False
    assert any("hosts.esx1.usage_pct is above the measurement in all 5 values" in note for note in found.notes)
    assert any("times as far from the measured values" in note for note in found.notes)


def test_the_command_writes_what_simulate_and_density_take(cli, points, tmp_path):
    scenario, measured = points
    files = ("--out", "c.yaml", "--report", "page.html")
    done = cli("calibrate", scenario, measured, *FREE, *RUNS, "--holdout", "4", *files, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "wrote c.yaml\nwrote page.html\n")
    result = json.loads(done.stdout)
    assert {"version", "scenario", "seed", "parameters", "metrics", "points", "calibrated_on", "notes"} <= set(result)
    assert {each["row"] for each in result["points"] if each["held_out"]} == {4}
    assert all(each["before"] is None and each["left_out"] is None for each in result["points"] if each["held_out"])
    assert all(metric["held_out_pct"] < 8 and metric["values"] == 4 for metric in result["metrics"])

    text = (tmp_path / "c.yaml").read_text()
    written = yaml.safe_load(text)
    assert text == calibration_file.render(result)
    assert list(written["set"]) == [each["path"] for each in result["parameters"]]
    assert written["calibrated_on"].startswith("4 rows of measured.csv (groups.db.response_ms.mean")

    again = cli("calibrate", scenario, measured, *FREE, *RUNS, "--holdout", "4", "--jobs", 1, "--format", "json")
    assert again.stdout == done.stdout

    used = cli("simulate", scenario, "--calibration", "c.yaml", "--set", "vms.db.load=2", "--format", "json")
    point = json.loads(used.stdout)["points"][0]
    assert point["calibration"] == written["calibrated_on"]
    assert point["set"] == {"vms.db.load": 2}
    same = cli(
        *("simulate", scenario, "--set", "vms.db.load=2", "--format", "json"),
        *(part for path, value in written["set"].items() for part in ("--set", f"{path}={value}")),
    )
    assert json.loads(same.stdout)["points"][0]["vms"] == point["vms"]
    mine = ("--set", "workloads.oltp.cpu.mean=1ms")
    over = cli("simulate", scenario, "--calibration", "c.yaml", *mine, "--format", "json")
    assert (
        json.loads(over.stdout)["points"][0]["vms"]["db"]["guest_cpu_pct"] < 0.5 * point["vms"]["db"]["guest_cpu_pct"]
    )
    answer = cli(
        *("density", scenario, "--vm", "web", "--slo", "response_ms.mean<100", "--max", 2, "--duration", 2),
        *("--calibration", "c.yaml", "--format", "json"),
    )
    assert json.loads(answer.stdout)["calibration"] == written["calibrated_on"]

    page = data((tmp_path / "page.html").read_text())
    assert (page["kind"], page["document"]) == ("calibration", rounded(result))
    assert page["view"]["answer"]["text"] in cli("calibrate", scenario, measured, *FREE, *RUNS, "--holdout", "4").stdout


def test_the_table_says_parameters_errors_and_what_it_was_fitted_to(cli, points):
    scenario, measured = points
    done = cli(
        *("calibrate", scenario, measured, *FREE, *RUNS),
        *("--evaluations", 8, "--holdout", "20%", "--warmup", "auto", "--explain"),
        exits=0,
    )
    assert "workloads.oltp.cpu.mean" in done.stdout
    assert "held out" in done.stdout
    assert "2 parameters fitted to 12 values of 4 rows: mean error" in done.stdout
    assert "The search ended before it settled" in done.stdout
    assert "Calibrated on: 4 rows of measured.csv" in done.stdout


def test_the_sample_measurements_fit_the_sample_scenario():
    from tests.conftest import ROOT

    folder = ROOT / "scenarios"
    found = hypertwin.calibrate(
        *(folder / "small-esxi.yaml", folder / "small-esxi-measured.csv"),
        **{"free": "workloads.oltp.cpu.mean", "overrides": {"workloads.oltp.delay.mean": "6.5 ms"}},
        **{"duration": 8, "warmup": 2, "replications": 2},
    )
    (fitted,) = found.fitted
    assert fitted.interval[0] <= 4.7 <= fitted.interval[1]
    assert fitted.value == pytest.approx(4.7, rel=0.03)
    assert found.calibrated_on.startswith("8 rows of small-esxi-measured.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--free", "vms.db.lode"), "did you mean vms.db.load?"),
        ((), "missing option '--free'"),
        (("--free", "vms.web.load", "--holdout", "9"), "--holdout: 9 [out-of-range]"),
        (("--free", "vms.web.load", "--out", "a", "--report", "a"), "give them different files"),
        (("--free", "vms.web.load", "--out", "nowhere/a"), "the folder"),
    ],
)
def test_bad_usage_is_refused_before_anything_runs(cli, points, arguments, said):
    done = cli("calibrate", *points, *arguments, exits=2)
    assert said in done.stderr


def test_a_calibration_of_another_scenario_is_refused(cli, tiny, tmp_path):
    (tmp_path / "c.yaml").write_text("set: {workloads.olap.cpu.mean: 5 ms}\ncalibrated_on: x\n")
    done = cli("simulate", tiny, "--calibration", "c.yaml", exits=2)
    assert done.stderr.startswith("error: workloads.olap.cpu.mean: 5 ms [unknown-path]\n  --> c.yaml\n")
    assert "did you mean workloads.oltp?" in done.stderr


def test_a_parameter_that_the_data_do_not_determine_is_not_written(cli, points, tmp_path):
    """Nothing measured depends on the cost of I/O, because no workload has any."""
    scenario, measured = points
    lost, free = "hosts.esx1.overhead.cpu_per_io", ("--free", "workloads.oltp.cpu.mean=2ms..10ms")
    options = (*RUNS, "--holdout", "4", "--set", "workloads.oltp.delay.mean=7ms", "--format", "json")
    done = cli("calibrate", scenario, measured, *free, "--free", lost, *options, "--out", "c.yaml", exits=0)
    result = json.loads(done.stdout)
    written = yaml.safe_load((tmp_path / "c.yaml").read_text())
    assert list(written["set"]) == ["workloads.oltp.cpu.mean"]
    assert written["intervals"][lost] == "unbounded"
    assert lost not in written["calibrated_on"]
    assert any(f"do not determine {lost}" in note and "keeps its start value" in note for note in written["notes"])
    cpu, kept = result["parameters"]
    assert (cpu["identified"], cpu["kept"], cpu["written"]) == (True, False, True)
    assert (kept["identified"], kept["kept"], kept["written"]) == (False, True, False)
    assert kept["value"] == kept["start"]
    shown = "1 of 2 parameters fitted to 12 values of 4 rows"
    page = cli("calibrate", scenario, measured, *free, "--free", lost, *options[:-2], exits=0)
    assert page.stdout.startswith(shown)

    elsewhere = hypertwin.calibrate(
        *(scenario, measured),
        **{"free": lost, "duration": 2, "overrides": {lost: "9 us", "workloads.oltp.delay.mean": "7 ms"}},
    )
    assert elsewhere.fitted[0].kept
    assert elsewhere.settings == {lost: "9 us"}, "the scenario itself has another value"
    assert ": no parameter determined" in elsewhere.calibrated_on
