"""Runs that have not settled, as users meet them: the reason is said, there is no interval, and no objective is met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli

import hypertwin
from hypertwin.scenario import Scenario, starter


@pytest.fixture(scope="module")
def filling() -> Scenario:
    """An array whose disks write less than its cache takes: it fills within a minute."""
    scenario = Scenario.from_yaml(starter.text("esxi-9.0", 2, starter.Storage.array, "filling", "filling.yaml"))
    filling = {"arrays.san.disks.kind": "hdd-10k", "workloads.oltp.ios": 20}
    return scenario.with_overrides({**filling, "run.duration": "20 s", "run.warmup": "5 s"})


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (20, "more than its disks write. It is full 2"),
        (60, "more than its disks write. It is full at"),
        (180, "longer warm-up"),
    ],
)
def test_a_cache_that_fills_is_never_steady(filling: Scenario, duration: int, said: str) -> None:
    point = hypertwin.simulate(filling, duration=duration).reports[0]
    reason = point["verdict"]["reason"]
    assert reason is not None
    assert (point["verdict"]["steady"], reason["condition"], reason["of"]) == ("not-steady", "grows", "san")
    assert said in reason["text"]
    assert not point["steady"]
    assert point["groups"]["db"]["response_ms"]["ci95"] is None
    assert point["groups"]["db"]["throughput_per_s_ci95"] is None
    assert point["hosts"]["host-1"]["usage_pct_ci95"] is None


def test_what_a_filling_cache_hides_is_no_answer(filling: Scenario) -> None:
    """20 s said "at least 20 VMs", 180 s "not even 1"."""
    asked: dict[str, Any] = {"vm": "web", "slo": "groups.db.response_ms.p99<100", "maximum": 2, "replications": 2}
    found = hypertwin.density(filling, **asked)
    assert found.count == 0
    assert "its runs are not steady, the cache of san receives" in found.text


def test_the_reason_is_in_table_frames_and_exit_code(cli: Cli, tmp_path: Path, filling: Scenario) -> None:
    file = tmp_path / "filling.yaml"
    file.write_text(filling.to_yaml())
    one = cli("simulate", file, "--replications", 1, "--fail-on", "not-steady", exits=1)
    assert "* not steady: the cache of san receives" in one.stdout
    assert "--fail-on not-steady" in one.stderr
    frame = hypertwin.simulate(filling, replications=1).to_frame()
    assert frame["unsteady_reason"].str.contains("the cache of san receives").all()
    full = cli("simulate", file, "--replications", 1, "--until-full", "--fail-on", "not-steady")
    assert full.returncode == 0, full.stdout
    cli("simulate", file, "--set", "arrays.san.disks.kind=nvme", "--fail-on", "not-steady", exits=0)


def test_where_times_are_open_the_cache_is_full_before_anything_is_measured(filling: Scenario) -> None:
    """Of 180 s the mean is 134 ms, of 20 s 24 ms: the truth is where the cache is full."""
    longest = hypertwin.simulate(filling, warmup=200, duration=200).reports[0]
    truth = longest["groups"]["db"]["response_ms"]["mean"]
    assert longest["steady"]
    assert truth is not None
    for found in (
        hypertwin.simulate(filling, warmup="auto", duration="auto").reports[0],
        hypertwin.simulate(filling, until_full=True).reports[0],
    ):
        response = found["groups"]["db"]["response_ms"]
        assert found["steady"]
        assert found["warmup_s"] > 30
        assert response["mean"] == pytest.approx(truth, rel=0.1)
        assert response["ci95"] is not None
    open_times = {"run.duration": "auto", "run.warmup": "auto"}
    asked: dict[str, Any] = {"vm": "web", "slo": "groups.db.response_ms.p99<100", "maximum": 2, "replications": 2}
    counted = hypertwin.density(filling.with_overrides(open_times), **asked)
    assert counted.count == 0
    assert "misses groups.db.response_ms.p99<100" in counted.text


def test_a_short_run_says_how_long_it_takes() -> None:
    scenario = starter.text("linux-6.6", 1, starter.Storage.none, "short", "short.yaml")
    point = hypertwin.simulate(Scenario.from_yaml(scenario), duration=0.2, warmup=0.1, replications=1).reports[0]
    reason = point["verdict"]["reason"]
    assert reason is not None
    assert point["verdict"]["steady"] == "not-known"
    assert reason["needs_s"] is None or reason["needs_s"] > 0.2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vms.web.load_steps": [{"at": "4 s", "factor": 2}]}, "the load of web changes"),
        ({"failures": [{"at": "4 s", "fails": ["san/port-1"]}]}, "san/port-1 fails"),
    ],
)
def test_what_the_scenario_changes_while_it_is_measured_is_said(change: dict[str, Any], said: str) -> None:
    scenario = Scenario.from_yaml(starter.text("esxi-9.0", 2, starter.Storage.array, "steps", "steps.yaml"))
    measured = {"duration": 6, "warmup": 1, "replications": 1}
    point = hypertwin.simulate(scenario.with_overrides(change), **measured).reports[0]
    reason = point["verdict"]["reason"]
    assert reason is not None
    assert (reason["condition"], said in reason["text"]) == ("changed", True)
    later = {key: str(value).replace("'4 s'", "'9 s'") for key, value in change.items()}
    point = hypertwin.simulate(scenario.with_overrides([f"{key}={value}" for key, value in later.items()]), **measured)
    assert (point.reports[0]["verdict"]["reason"] or {}).get("condition") != "changed"


def test_a_rebuild_that_does_not_end_is_never_steady() -> None:
    scenario = Scenario.from_yaml(starter.text("linux-6.6", 3, starter.Storage.pool, "rebuild", "rebuild.yaml"))
    slow = {"storage.pool.rebuild": {"delay": "0 s", "node_bandwidth": "1 MB/s"}, "run.replications": 1}
    failed = scenario.with_overrides({**slow, "failures": [{"at": "0 s", "fails": ["host-1/disk-1"]}]})
    for warmup, duration in ((1, 2), (1, 8), (6, 4)):
        verdict = hypertwin.simulate(failed, warmup=warmup, duration=duration).reports[0]["verdict"]
        reason = verdict["reason"]
        assert reason is not None
        assert (verdict["steady"], reason["condition"], reason["by_design"]) == ("not-steady", "rebuilds", True)
        assert "GiB to rebuild" in reason["text"]
