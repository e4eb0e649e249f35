"""Counters, figures of several VMs, limits and verdicts, against values worked by hand."""

from __future__ import annotations

import csv
import io
import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hypertwin.benchmark import answer, checks, counters, fitted, judged, limits, measured
from hypertwin.benchmark.load import Figures, Load
from hypertwin.benchmark.load.fio import Fio
from hypertwin.benchmark.load.generator import percentiles
from hypertwin.benchmark.load.imported import Imported
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import Target
from hypertwin.calibration.calibrate import Fitted
from hypertwin.calibration.parameters import Parameter
from hypertwin.documents.benchmark import PredictedFigure, Run, View

SNAPSHOT = """== time
{time}
== stat
cpu  {ticks} 0 0
== cpus
4
== load
{load} 0.1 0.1 1/100 123
== pressure-cpu
some avg10=0.00 avg60=0.00 avg300=0.00 total={pressure}
== disks
   8       0 sda {sda} 0
   8       1 sda1 100 0 0 0 200 0 0 0 0 {sda1} 0
 253       0 vda 0 0 0 0 0 0 0 0 0 {vda} 0
== space
Filesystem 1024-blocks Used Available Capacity Mounted on
/dev/sda1 1000 1 {free} 1% /
== cgroup-vm1
nr_periods {periods}
nr_throttled {throttled}
throttled_time 5
{used_ns}
== cgroup-vm2
usage_usec {used_us}
nr_periods 0
nr_throttled 0
"""
BEFORE = SNAPSHOT.format(
    **{"time": 100.0, "ticks": "1000 0 1000 8000 0 0 0 0", "load": "0.50", "pressure": 1_000_000},
    **{"sda": "100 0 0 0 200 0 0 0 0 1000", "sda1": 9999, "vda": 0, "free": 999},
    **{"periods": 100, "throttled": 10, "used_ns": 1_000_000_000, "used_us": 0},
)
AFTER = SNAPSHOT.format(
    **{"time": 110.0, "ticks": "2000 0 2000 9000 500 0 0 500", "load": "3.50", "pressure": 6_000_000},
    **{"sda": "1100 0 0 0 1200 0 0 0 0 8500", "sda1": 99_999, "vda": 100, "free": 500},
    **{"periods": 200, "throttled": 90, "used_ns": 6_000_000_000, "used_us": 20_000_000},
)


def test_counters_between_two_snapshots():
    found = counters.between(BEFORE, AFTER)
    assert found is not None
    # 1000 user, 1000 system, 1000 idle, 500 waiting and 500 stolen of 4000 ticks
    assert (found.elapsed_s, found.cpus) == (10, 4)
    assert (found.busy_pct, found.steal_pct, found.iowait_pct) == (50, 12.5, 12.5)
    assert found.pressure == {"cpu": pytest.approx(50)}
    assert (found.disk, found.disk_util_pct, found.disk_iops) == ("sda", 75, 200)
    assert found.free_space == 500 * 1024
    assert found.groups["vm1"] == counters.Group(0.5, 80)
    assert found.groups["vm2"] == counters.Group(2.0, None)
    assert found.figure("cpu_pressure_pct") == pytest.approx(50)
    assert found.figure("load_1min") == 3.5


@pytest.mark.parametrize("text", ["", "== time\nnow\n", "== stat\ncpu x", AFTER[:30], "\x00" * 1000])
def test_a_broken_snapshot_has_no_counters(text: str):
    assert counters.between(BEFORE, text) is None
    assert counters.between(text, AFTER) is None


def test_figures_of_vms_are_sums_and_means_by_work():
    vms = {
        "a": Figures({"throughput_per_s": 300, "response_ms_mean": 10, "response_ms_p99": 30, "guest_cpu_pct": 80}),
        "b": Figures({"throughput_per_s": 100, "response_ms_mean": 30, "response_ms_p99": 70}),
    }
    assert measured.together(vms) == {"throughput_per_s": 400, "response_ms_mean": 15, "response_ms_p99": 40}


def test_use_of_cpus_is_the_mean_of_equal_vms():
    busy, idle = ({"throughput_per_s": done, "guest_cpu_pct": pct} for done, pct in ((300, 80), (100, 40)))
    assert measured.together({"a": Figures(busy), "b": Figures(idle)})["guest_cpu_pct"] == 60


def test_percentiles_of_several_vms_come_from_their_histograms():
    many = Figures({"throughput_per_s": 1}, {1.0: 98, 2.0: 2})
    slow = Figures({"throughput_per_s": 1}, {50.0: 10})
    assert measured.together({"a": many})["response_ms_p99"] == 2
    # 110 values: the 105th is the 95th percentile, the 109th the 99th
    assert measured.together({"a": many, "b": slow})["response_ms_p95"] == 50
    assert percentiles({}) == {}
    assert percentiles({3.0: 1}) == {"response_ms_p95": 3.0, "response_ms_p99": 3.0}


def run(guest: dict[str, float | None], host: dict[str, float | None], done: float = 100) -> Run:
    """Return a run with the views of a guest and a host."""
    empty: dict[str, Any] = dict.fromkeys(View.__annotations__)
    views = [{**empty, "name": "vm1", "kind": "guest", **guest}, {**empty, "name": "esx1", "kind": "host", **host}]
    return cast(Run, {"figures": {"throughput_per_s": done}, "views": views})


@pytest.mark.parametrize(
    ("guest", "host", "rate", "io", "kind"),
    [
        ({"busy_pct": 95}, {"busy_pct": 40}, None, False, "guest-cpu"),
        ({"busy_pct": 95}, {"busy_pct": 96}, None, False, "host-cpu"),
        ({"busy_pct": 95, "throttled_pct": 90}, {"busy_pct": 96}, None, False, "cpu-limit"),
        ({"busy_pct": 80, "steal_pct": 30}, {"busy_pct": None}, None, False, "host-cpu"),
        ({"busy_pct": 20}, {"busy_pct": 40, "disk_util_pct": 99}, None, True, "devices"),
        ({"busy_pct": 20}, {"busy_pct": 40, "disk_util_pct": 99}, None, False, "latency"),
        ({"busy_pct": 85}, {"busy_pct": 40}, 102, False, "nothing"),
        ({"busy_pct": 95}, {"busy_pct": 40}, 102, False, "guest-cpu"),  # as the twin: a full CPU counts first
        ({"busy_pct": 85}, {"busy_pct": 40}, 110, False, "latency"),
        ({"busy_pct": 20}, {"busy_pct": 40, "disk_util_pct": 99}, 102, True, "nothing"),
        ({}, {}, None, False, "latency"),
    ],
)
def test_the_limit_of_a_step(guest: Any, host: Any, rate: float | None, io: bool, kind: str):
    found, words = limits.limit([run(guest, host)], rate, io=io)
    assert found == kind
    assert words


@pytest.mark.parametrize(
    ("said", "kind", "paced", "right"),
    [
        ("host-cpu", "host-cpu", False, True),
        ("host-cpu", "guest-cpu", False, False),
        ("latency", "host-cpu", False, False),
        ("network", "host-cpu", False, False),
        ("host-cpu", "latency", False, False),
        ("network", "latency", False, None),  # no counter of guests or hosts shows a network
        ("latency", "devices", False, None),  # one I/O is always outstanding
        ("devices", "devices", False, True),
        ("nothing", "latency", False, None),
        ("nothing", "latency", True, False),
        ("network", "nothing", True, False),
    ],
)
def test_a_limit_is_right_wrong_or_cannot_be_told(said: Any, kind: Any, paced: bool, right: bool | None):
    assert limits.agrees(said, kind, paced=paced) is right


def test_the_asked_rate_is_that_of_whole_vms():
    predicted = cast(
        Any,
        {"set": {"workloads.w.arrivals.io.rate": "800 /s"}, "figures": {}, "limit": {"kind": "nothing", "text": ""}},
    )
    runs = [cast(Any, {**run({}, {}, 1600), "figures": {"iops": 1600}})]
    plan = cast(Any, SimpleNamespace(load=SimpleNamespace(percentile="io_latency_ms_p99")))
    made = judged.step(plan, Step(2, {"rate": 100, "jobs": 8}), runs, predicted, calibration=False)
    assert made["limit"]["evidence"] == "100% of the asked rate was done"
    assert made["limit"]["right"] is True


def predicted(value: float) -> PredictedFigure:
    """Return a prediction with its interval."""
    return {"value": value, "unit": "1/s", "ci95": None, "low": value * 0.9, "high": value * 1.2}


@pytest.mark.parametrize(
    ("key", "values", "twin", "within"),
    [
        ("throughput_per_s", [100, 100], 114.9, True),
        ("throughput_per_s", [100, 100], 115.1, False),
        ("throughput_per_s", [90, 110], 139, True),  # twice the spread of 20 %
        ("throughput_per_s", [90, 110], 141, False),
        ("throughput_per_s", [87, 113], 100, None),  # repeats that differ by 26 % make no prediction right
        ("response_ms_mean", [400, 100], 9, None),
        ("response_ms_mean", [10], 11.9, True),
        ("response_ms_mean", [10], 12.1, False),
        ("response_ms_p99", [10], 14.9, True),
        ("response_ms_p99", [10], 6.7, True),
        ("response_ms_p99", [10], 6.6, False),
        ("guest_cpu_pct", [10], 90, None),
    ],
)
def test_the_promise_of_a_figure(key: str, values: list[float], twin: float, within: bool | None):
    assert judged.compared(key, values, predicted(twin))["within"] is within


def test_a_figure_beside_its_prediction():
    found = judged.compared("throughput_per_s", [90, 110], predicted(120))
    assert (found["measured"], found["least"], found["most"], found["spread_pct"]) == (100, 90, 110, 20)
    assert found["error_pct"] == pytest.approx(20)
    assert found["in_interval"] is False
    assert judged.compared("throughput_per_s", [115], predicted(120))["in_interval"] is True
    assert judged.compared("throughput_per_s", [115], None)["within"] is None


def test_the_knee_is_the_first_step_with_less_than_half_of_the_expected_gain():
    def knee(*loads: tuple[Any, ...]) -> str | None:
        return judged.knee([judged.Load(*each) for each in loads])

    one, two, four, eight = ("one", "", 1, 100), ("two", "", 2, 195), ("four", "", 4, 240), ("eight", "", 8, 250)
    assert knee(eight, one, two, four) == "four"
    assert knee(("one", "", 1, 100), ("two", "", 2, 160)) is None
    assert knee(("one", "4k", 1, 100), ("two", "64k", 2, 90), ("four", "4k", 4, 390)) is None
    assert knee() is None


@pytest.mark.parametrize(
    ("load", "steps", "expected"),
    [
        (Imported, [({"depth": 4}, 10), ({"depth": 8, "jobs": 2}, 20), ({"depth": 16, "jobs": 4}, 40)], None),
        (Imported, [({"depth": 4, "jobs": 4}, 10), ({"depth": 8, "jobs": 2}, 11)], "1"),
        (Fio, [({"depth": 4}, 10), ({"depth": 4, "jobs": 2}, 20), ({"depth": 4, "jobs": 4}, 21)], "2"),
        (Imported, [({"depth": 8, "random_pct": 0}, 10), ({"depth": 16, "random_pct": 100}, 9)], None),
        (Imported, [({"depth": 8, "sync_pct": 0}, 10), ({"depth": 16, "sync_pct": 100}, 9)], None),
        (Imported, [({"depth": 8, "size": "1 GiB"}, 10), ({"depth": 16, "size": "1 TiB"}, 9)], None),
        (Imported, [({"depth": 8, "disks": 1}, 10), ({"depth": 8, "disks": 4}, 11)], "1"),
    ],
)
def test_steps_are_compared_if_only_the_amount_of_load_differs(load: Any, steps: Any, expected: str | None):
    made: Any = [
        {
            "title": str(each),
            "vms": 1,
            "values": values,
            "set": {},
            "figures": [{"kind": "throughput", "measured": iops}],
        }
        for each, (values, iops) in enumerate(steps)
    ]
    assert judged.knee(judged.loads(made, "measured", load.factors)) == expected


def paced(title: str, rate: int, measured: float, predicted: float, ci95: float | None = None) -> Any:
    figure = {"kind": "throughput", "measured": measured, "predicted": predicted, "ci95": ci95}
    settings = {"workloads.oltp.arrivals.open.rate": f"{rate} /s"}
    return {"title": title, "vms": 2, "values": {"rate": rate}, "set": settings, "figures": [figure]}


def test_the_knee_of_paced_steps_is_the_first_whose_rate_is_not_met_beyond_chance():
    steps = [paced("high", 2000, 2234, 3890), paced("low", 200, 400, 380, 9), paced("mid", 400, 770, 790)]
    assert judged.knee(judged.loads(steps, "measured", Load.factors)) == "mid"
    assert judged.knee(judged.loads(steps, "predicted", Load.factors)) is None
    steps[1]["figures"][0]["ci95"] = 7
    assert judged.knee(judged.loads(steps, "predicted", Load.factors)) == "low"


def test_the_load_of_a_step_is_its_rate_or_its_requests_under_way():
    def step(vms: int, settings: dict[str, str] | None = None, **values: object) -> Any:
        figures = [{"kind": "latency", "measured": 3}, {"kind": "throughput", "measured": 7, "predicted": None}]
        return {"title": "s", "vms": vms, "values": values, "set": settings or {}, "figures": figures}

    of_vm = {"workloads.fio.arrivals.io.rate": "50 /s"}
    steps = [step(2, threads=8), step(2, of_vm, jobs=2, rate=25), step(3, depth=4, jobs=2, block="4k")]
    assert judged.loads(steps, "measured", Load.factors) == [
        ("s", (), 16, 7, None),
        ("s", (), 100, 7, False),
        ("s", (("block", "4k"),), 24, 7, None),
    ]
    assert judged.loads(steps, "predicted", Load.factors) == []


def test_two_starts_far_apart_disturb_a_run():
    views = [cast(View, {"name": "h", "kind": "host", "steal_pct": 9.0})]
    assert len(measured.disturbed(views, 300)) == 2
    assert measured.disturbed([], 10) == []
    assert not math.isnan(measured.MAX_SKEW_MS)


def test_run_time_is_of_a_vcpu_and_a_container_has_no_counters_of_its_own():
    host, guest = counters.between(BEFORE, AFTER), counters.between(BEFORE, AFTER)
    own = measured.guest_figures("vm2", guest, host, 4, shares_kernel=False)
    assert own == {"run_pct": 50, "guest_cpu_pct": 50, "ready_pct": 12.5}
    assert measured.guest_figures("vm2", guest, host, 4, shares_kernel=True) == {"run_pct": 50}
    assert measured.guest_figures("vm3", None, host, 4, shares_kernel=False) == {}


def test_the_limit_comes_from_the_mean_of_repeats():
    runs = [run({"busy_pct": 100}, {}), run({"busy_pct": 70}, {})]
    assert limits.limit(runs, None, io=False)[0] == "latency"


def judged_step(calibration: bool, errors: list[float], right: bool | None) -> Any:
    """Return a step whose figures have these errors, all within their promise."""
    figures = [{"kind": "throughput", "within": True, "error_pct": error} for error in errors]
    return {"calibration": calibration, "runs": [1], "figures": figures, "limit": {"right": right}}


def test_the_score_leaves_out_steps_that_set_parameters_and_limits_that_cannot_be_told():
    steps = [judged_step(True, [90], True), judged_step(False, [-10, -30], None), judged_step(False, [4], False)]
    assert judged.scores(steps) == [
        {"figure": "throughput", "right": 3, "of": 3, "median_error_pct": 10, "bias_pct": -10},
        {"figure": "limit", "right": 0, "of": 1, "median_error_pct": None, "bias_pct": None},
    ]


def test_figures_of_a_step_are_those_of_all_its_repeats():
    both = [cast(Any, {**run({}, {}), "figures": figures}) for figures in ({"iops": 1, "run_pct": 3}, {"iops": 2})]
    plan = cast(Any, SimpleNamespace(load=SimpleNamespace(percentile="io_latency_ms_p99")))
    made = judged.step(plan, Step(1, {}), both, None, calibration=False)
    assert [(each["metric"], each["measured"]) for each in made["figures"]] == [("iops", 1.5)]


def test_missing_runs_are_counted_by_step():
    plan = cast(Any, SimpleNamespace(repeats=3, steps=[Step(1, {}), Step(2, {}), Step(3, {})]))
    found = judged.missing(plan, {"vms-1": 1, "vms-2": 3})
    assert found == ["1 VM: 2 of 3 repeats", "3 VMs: 3 of 3 repeats"]


def test_errors_of_measured_points_are_those_of_the_mean_but_never_nothing():
    plan = cast(
        Any,
        SimpleNamespace(
            group="db",
            calibrate=None,
            load=SimpleNamespace(settings=lambda *_: {"vms.db.count": 2}, fitted=Load.fitted),
        ),
    )
    own = [cast(Any, {"figures": {"throughput_per_s": value, "run_pct": 50}}) for value in (90, 100, 110, 100)]
    text = fitted.measurements(plan, cast(Any, None), [(Step(2, {}), own), (Step(1, {}), [])])
    (row,) = csv.DictReader(io.StringIO(text))
    # deviations -10, 0, 10, 0: a standard deviation of 8.165, and half of it for the mean of four
    assert float(row["groups.db.throughput_per_s"]) == 100
    assert float(row["groups.db.throughput_per_s.error"]) == pytest.approx(4.0825, abs=1e-3)
    assert float(row["groups.db.run_pct.error"]) == 0.5
    assert row["vms.db.count"] == "2"
    plan.calibrate = SimpleNamespace(figures=("throughput_per_s",))
    (chosen,) = csv.DictReader(io.StringIO(fitted.measurements(plan, cast(Any, None), [(Step(2, {}), own)])))
    assert [key for key in chosen if key.startswith("groups.")] == [
        "groups.db.throughput_per_s",
        "groups.db.throughput_per_s.error",
    ]


def test_a_parameter_that_keeps_its_start_value_is_not_calibrated(monkeypatch, tmp_path):
    parts = [Fitted(Parameter(path, "ms", 3.6, 0.7, 18), 4.2, None, True, False, path == "b") for path in "ab"]
    wrote: dict[str, Any] = {}
    place = SimpleNamespace(path=tmp_path, runs=lambda *_: [], write=lambda *_: None, write_json=wrote.__setitem__)
    monkeypatch.setattr(answer.scenarios, "load", lambda _: None)
    monkeypatch.setattr(answer.fitted, "measurements", lambda *_: "")
    monkeypatch.setattr(answer.fitted, "fit", lambda *_: SimpleNamespace(fitted=parts, to_dict=dict))
    monkeypatch.setattr(answer.calibration_file, "render", lambda _: "")
    plan = SimpleNamespace(calibrate=SimpleNamespace(steps=[]), repeats=1)
    answer._calibrate(cast(Any, place), cast(Any, plan), None)
    assert wrote == {"calibration.json": {"a": "4.2 ms"}}


def test_a_clock_is_read_at_its_quickest_answer():
    answers = [(0.0, "5.0", 4.0), (10.0, "17.5", 11.0), (20.0, "21.0", 26.0)]
    shells = cast(Any, SimpleNamespace(asked=lambda *_: answers))
    assert checks._clock(Target("a", "a"), shells) == (7.0, 0.5)
