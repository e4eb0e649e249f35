"""Least squares on made-up functions, what `--free` and the CSV file mean, and what is refused."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ROOT, TINY

import hypertwin
from hypertwin import scenario as scenarios
from hypertwin.calibration import file as calibration_file
from hypertwin.calibration import measurements, parameters
from hypertwin.calibration.calibrate import Fitted, describe
from hypertwin.calibration.least_squares import Box, Data, Direction, NoValueError, determined, fit
from hypertwin.calibration.parameters import Parameter

X = np.arange(1.0, 7.0)
"""Where the made-up functions are measured: six rows."""


@pytest.fixture
def scenario(tiny):
    return hypertwin.load(tiny)


def queue(values):
    """Two cells a row, like a response time that rises with load and a usage: service time and a speed."""
    return np.stack([values[0] / (1.01 - 0.1 * X * values[1]), values[0] * X * values[1]], axis=1).ravel()


def measured(model, true, *, seed, error=0.02, chance=0.01, replications=3, known=False):
    """A noisy function and noisy measurements of it; the noise of the function is the same at all parameters."""
    draw = np.random.default_rng(seed)
    exact = model(np.asarray(true))
    values = exact * (1 + error * draw.standard_normal(exact.size))
    noise = 1 + chance * draw.standard_normal((replications, exact.size))
    rows = np.repeat(np.arange(X.size), exact.size // X.size)
    data = Data(values, np.abs(exact) * (error if known else 1), known, rows)
    return (lambda places: [model(place) * noise for place in places]), data


def fitted_to(model, true, start, low, high, most=200, by=fit, **options):
    function, data = measured(model, true, **options)
    box = Box(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    return by(function, np.asarray(start, dtype=float), box, data, most_evaluations=most)


@pytest.mark.parametrize("known", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(known):
    true = (10.0, 1.2)
    found = [fitted_to(queue, true, (7, 0.9), (2, 0.3), (50, 1.55), seed=seed, known=known) for seed in range(60)]
    assert all(each.converged and each.evaluations < 80 for each in found)
    for index, value in enumerate(true):
        held = [each.intervals[index][0] <= value <= each.intervals[index][1] for each in found]
        assert 0.90 <= np.mean(held) <= 1.0
        widths = [each.intervals[index][1] / each.intervals[index][0] for each in found]
        assert np.median(widths) < 1.08  # and they say something
    if known:
        assert np.mean([each.errors_explain for each in found]) > 0.9


PAIRS = [
    ("product", lambda t: X * t[0] * t[1], (3, 4), [(0, 1)], ("their product",)),
    ("ratio", lambda t: X * t[0] / t[1], (3, 4), [(0, 1)], ("their ratio",)),
    ("sum", lambda t: X / (t[0] + t[1]), (3, 9), [(0, 1)], ("their sum",)),
    ("power", lambda t: X * t[0] ** 2 * t[1], (3, 4), [(0, 1)], ("a combination",)),
    ("without effect", lambda t: X * t[0], (3, 4), [(1,)], ("do not determine b",)),
    ("three", lambda t: X * t[0] * t[1] * t[2], (3, 4, 5), [(0, 1), (1, 2)], ("their product",)),
    ("one of three", lambda t: np.r_[X[:3] * t[0] * t[1], X[3:] / t[2]], (3, 4, 5), [(0, 1)], ("their product",)),
]


@pytest.mark.parametrize("chance", [0.0, 0.01])
@pytest.mark.parametrize(("name", "model", "true", "members", "said"), PAIRS, ids=[each[0] for each in PAIRS])
def test_parameters_that_the_data_cannot_tell_are_named(name, model, true, members, said, chance):
    size = len(true)
    start = true if name == "sum" else [3.6] * size
    found = fitted_to(model, true, start, [0.7] * size, [18] * size, seed=1, chance=chance)
    assert len(found.free_directions) == len(members)
    lost = set(itertools.chain(*(direction.members for direction in found.free_directions)))
    assert lost == set(itertools.chain(*members))
    for index in range(size):
        assert (found.intervals[index] is None) == (index in lost)
    parts = [
        Fitted(Parameter(path, "ms", 3.6, 0.7, 18), value, None, False, False)
        for path, value in zip("abc", found.values, strict=False)
    ]
    for direction in found.free_directions:
        text = describe(direction, parts)
        assert any(word in text for word in said)
        # what is said to change nothing changes nothing
        box = Box(np.full(size, 0.7), np.full(size, 18.0))
        moved = box.to_value(box.to_coordinate(found.values) + 0.01 * direction.change)
        assert model(moved) == pytest.approx(model(found.values), rel=1e-3)


@pytest.mark.parametrize("chance", [0.0, 0.01])
@pytest.mark.parametrize(
    ("model", "true", "kept"),
    [
        (lambda t: X * t[0], (3, 4), [1]),
        (lambda t: X * t[0] * t[1], (3, 4), [1]),
        (lambda t: X * t[0] * t[1] * t[2], (3, 4, 5), [1, 2]),
        (lambda t: np.r_[X[:3] * t[0] * t[1], X[3:] / t[2]], (3, 4, 5), [1]),
        (lambda t: X + 0 * t[0], (3, 4), [0, 1]),
    ],
    ids=["one without effect", "a pair", "three", "a pair beside one", "all without effect"],
)
def test_what_the_data_do_not_determine_keeps_its_start_value(model, true, kept, chance):
    size = len(true)
    bounds = [0.7] * size, [18] * size
    found = fitted_to(model, true, [3.6] * size, *bounds, by=determined, seed=1, error=0.005, chance=chance)
    assert sorted(found.kept) == kept
    assert len(found.undetermined) == len(kept)
    for index in range(size):
        assert (found.values[index] == 3.6) == (found.intervals[index] is None) == (index in kept)
    exact = model(np.array(found.values))
    assert found.predicted == pytest.approx(exact, rel=0.02), "figures are those of the returned values"
    assert exact == pytest.approx(model(np.array(true, dtype=float)), rel=0.02)
    assert found.degrees_of_freedom == X.size - size + len(kept)
    assert not found.free_directions


def test_a_start_value_that_the_data_contradict_is_not_kept():
    """A limit that was too low at the start has no effect where the measurements are."""

    def model(values):
        return values[0] * X * np.r_[1, 1, 1, np.full(3, min(1, values[1] / 5))]

    found = fitted_to(model, (3, 9), (3, 1.2), (1, 1), (9, 40), by=determined, seed=2, error=0.005)
    assert found.values[0] == pytest.approx(3, rel=0.02)
    assert found.values[1] > 5
    assert not found.kept
    (lost,) = found.undetermined
    assert (lost.direction.members, lost.kept) == ((1,), None)
    parts = [Fitted(Parameter(path, "", 2, 1, 40), 9, None, False, False) for path in "ab"]
    assert "Its start value fits the data worse, so it has a fitted value" in describe(lost.direction, parts, lost.kept)


def test_refits_share_the_limit_of_evaluations():
    options = {"by": determined, "seed": 1, "most": 12}
    found = fitted_to(lambda t: X * t[0] * t[1], (3, 4), (3.6, 3.6), (0.7, 0.7), (18, 18), **options)
    assert found.evaluations <= 12 + 5 + 4  # intervals of each fit come on top
    assert not found.converged


def test_what_is_known_only_together_is_still_known():
    found = fitted_to(lambda t: X * t[0] * t[1], (3, 4), (2, 2), (0.7, 0.7), (18, 18), seed=3, error=0.01)
    assert found.values[0] * found.values[1] == pytest.approx(12, rel=0.02)


def test_estimates_that_move_together_are_reported():
    found = fitted_to(
        lambda t: t[0] + t[1] * (10 + X), (5, 2), (4, 3), (0.5, 0.5), (20, 20), seed=2, error=2e-4, chance=0
    )
    assert found.free_directions == ()
    ((first, second, correlation),) = found.correlations
    assert (first, second) == (0, 1)
    assert correlation < -0.98


def test_a_parameter_may_be_negative():
    found = fitted_to(lambda t: 20 + X * t[0], (-2,), (1,), (-5,), (5,), seed=4, error=0.005, chance=0.002)
    low, high = found.intervals[0]
    assert low < -2 < high < -1.8


def test_a_bound_is_kept_and_told():
    found = fitted_to(queue, (10, 1.2), (3, 1.2), (2, 0.3), (6, 1.55), seed=5)
    assert found.values[0] == pytest.approx(6, rel=1e-3)
    assert found.at_bound == (True, False)


def test_a_function_without_value_beyond_a_limit_is_fitted_up_to_it():
    def model(values):
        return queue(values) if values[0] < 11 else None

    function, data = measured(queue, (10.5, 1.2), seed=6)
    noise = function([np.array([1.0, 1.0])])[0] / queue(np.array([1.0, 1.0]))

    def limited(places):
        return [None if model(place) is None else model(place) * noise for place in places]

    box = Box(np.array([2.0, 0.3]), np.array([50.0, 1.55]))
    found = fit(limited, np.array([4.0, 1.0]), box, data)
    assert found.values == pytest.approx([10.5, 1.2], rel=0.03)
    with pytest.raises(NoValueError):
        fit(limited, np.array([20.0, 1.0]), box, data)


def test_the_search_ends_when_it_was_told_to():
    found = fitted_to(queue, (10, 1.2), (3, 0.5), (2, 0.3), (50, 1.55), seed=7, most=8)
    assert not found.converged
    assert found.evaluations <= 8 + 5  # what intervals need comes on top
    assert np.sum((found.predicted / found.at_start - 1) ** 2) > 0  # better than the start


def test_errors_that_are_too_small_are_noticed_and_not_believed():
    function, data = measured(queue, (10, 1.2), seed=8, error=0.05, known=True)
    small = Data(data.measured, data.error / 10, True, data.rows)
    box, start = Box(np.array([2.0, 0.3]), np.array([50.0, 1.55])), np.array([7.0, 1.0])
    honest, naive = fit(function, start, box, data), fit(function, start, box, small)
    assert (honest.errors_explain, naive.errors_explain) == (True, False)
    assert naive.error_scale > 5
    width = [np.log(each.intervals[0][1] / each.intervals[0][0]) for each in (honest, naive)]
    assert width[1] > 0.5 * width[0]


def test_as_many_parameters_as_values_have_no_interval_unless_errors_are_known():
    for known in (False, True):
        rows = Data(np.array([5.0, 12.0]), np.array([0.1, 0.1]), known, np.array([0, 1]))
        found = fit(
            lambda places: [np.tile([place[0], place[0] * place[1]], (3, 1)) for place in places],
            np.array([4.0, 2.0]),
            Box(np.array([1.0, 1.0]), np.array([9.0, 9.0])),
            rows,
        )
        assert found.values == pytest.approx([5, 2.4], rel=1e-3)
        assert all((each is not None) is known for each in found.intervals)
    with pytest.raises(ValueError, match="3 parameters and only 2"):
        fit(lambda places: [], np.ones(3), Box(np.ones(3), 2 * np.ones(3)), rows)


def test_leaving_a_row_out_predicts_what_a_fit_without_it_would():
    def line(values):
        return values[0] + values[1] * X

    function, data = measured(line, (5, -2), seed=9, error=0.05, chance=0)
    data = Data(data.measured, np.ones(6), False, data.rows)
    box = Box(np.array([-20.0, -20.0]), np.array([20.0, 20.0]))
    found = fit(function, np.array([1.0, 1.0]), box, data)
    for row in range(6):
        kept = np.arange(6) != row
        slope, intercept = np.polyfit(X[kept], data.measured[kept], 1)
        assert found.left_out[row] == pytest.approx(intercept + slope * X[row], abs=0.01)
    only = fit(lambda places: [line(place)[None, :2] for place in places], np.ones(2), box, _first(data, 2))
    assert np.isnan(only.left_out).all()


def _first(data, count):
    return Data(data.measured[:count], data.error[:count], True, data.rows[:count])


@pytest.mark.parametrize(
    ("item", "low", "high", "start", "unit"),
    [
        ("vms.db.load", 0.2, 5, 1, ""),
        ("workloads.oltp.cpu.mean", 0.8, 20, 4, "ms"),
        ("workloads.oltp.cpu.mean=500us..0.01 s", 0.5, 10, 4, "ms"),
        ("workloads.oltp.cpu.mean=5ms..20ms", 5, 20, 10, "ms"),
        ("hosts.esx1.smt_yield", 1, 2, 1.25, ""),
        ("hosts.esx1.clock=2000 MHz..3GHz", 2, 3, 2.5, "GHz"),
        ("vms.db.memory=1GiB..8GiB", 1, 8, 4, "GiB"),
        ("hosts.esx1.memory_system.node_bandwidth=40000 MB/s..80 GB/s", 40, 80, 61.8, "GB/s"),
        ("workloads.oltp.cpu.cv=0..2", 0, 2, 1, ""),
    ],
)
def test_a_free_parameter_has_bounds_in_its_own_unit(scenario, item, low, high, start, unit):
    (found,) = parameters.parse([item], scenario)
    assert (found.low, found.high, found.start) == pytest.approx((low, high, start))
    assert found.unit == unit
    loaded = hypertwin.load(scenario, {found.path: found.setting(found.high)})
    assert parameters.parse([found.path], loaded)[0].start == pytest.approx(high)


@pytest.mark.parametrize(
    ("items", "code", "said"),
    [
        ([], "bad-override", "free: nothing"),
        ([""], "bad-override", "PATH or PATH=LOW..HIGH"),
        (["vms.db.load="], "bad-override", "leave =LOW..HIGH out"),
        (["vms.db.load=2"], "bad-override", "LOW..HIGH"),
        (["vms.db.load=3..2"], "out-of-range", "LOW below HIGH"),
        (["vms.db.load=1..x"], "bad-quantity", "a number"),
        (["vms.db.load=1..2ms"], "bad-unit", "without a unit"),
        (["vms.db.load=-1..2"], "out-of-range", "0 to 1000000"),
        (["vms.db.load", "vms.db.load=1..2"], "duplicate-key", "once"),
        (["vms.db.lode"], "unknown-path", "did you mean vms.db.load?"),
        (["vms.dba.load"], "unknown-path", "did you mean vms.db?"),
        (["vms.db.vcpus"], "wrong-type", "`sweep` vms.db.vcpus"),
        (["vms.db.shares"], "wrong-type", "a number"),
        (["vms.db"], "wrong-type", "a number"),
        (["vms.db.limit"], "missing-key", "`overrides` vms.db.limit"),
        (["workloads.oltp.cpu.mean=5..6"], "bad-unit", "1 ms"),
        (["workloads.oltp.cpu.mean=5 ms..6 GB"], "bad-unit", "1 ms"),
        (["hosts.esx1.smt_yield=1..3"], "out-of-range", "1 to 2"),
        (["workloads.oltp.memory_intensity"], "out-of-range", "say where to look"),
    ],
)
def test_a_free_parameter_that_cannot_be_is_refused(scenario, items, code, said):
    with pytest.raises(hypertwin.ScenarioError) as caught:
        parameters.parse(items, scenario)
    assert caught.value.code == code
    assert said in str(caught.value)
    assert str(caught.value).startswith("free")


CSV = """# an afternoon's points
name,vms.db.load,groups.db.response_ms.mean,groups.db.response_ms.mean.error,hosts.esx1.usage_pct
morning,1,0.0121s,400us,31

,2,14.5,,
"""


def test_a_file_of_points_is_read(scenario):
    first, second = measurements.parse(CSV, "m.csv", scenario).rows
    assert (first.number, first.name, first.settings) == (1, "morning", {"vms.db.load": 1})
    assert [(cell.metric.text, cell.value, cell.error) for cell in first.cells] == [
        ("groups.db.response_ms.mean", pytest.approx(12.1), pytest.approx(0.4)),
        ("hosts.esx1.usage_pct", 31.0, None),
    ]
    assert (second.name, second.location, len(second.cells)) == ("load 2", "m.csv:5", 1)


def test_a_spreadsheets_byte_order_mark_is_no_column(scenario, tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xef\xbb\xbf" + CSV.partition("\n")[2].replace("\n", "\r\n").encode())
    assert [row.name for row in measurements.read(path, scenario).rows] == ["morning", "load 2"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_spreadsheets_have_other_separators(scenario, separator):
    rows = measurements.parse(CSV.replace(",", separator), "m.csv", scenario).rows
    assert [len(row.cells) for row in rows] == [2, 1]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "empty-file", "nothing in it [empty-file]\n  --> m.csv\n"),
        ("# only a remark\n", "empty-file", "nothing in it"),
        ("vms.db.load,hosts.esx1.usage_pct\n", "empty-file", "only column names"),
        ("vms.db.load,hosts.esx1.usage_pct\n1,\n", "empty-file", "no measured value"),
        ("vms.db.load\n1\n", "missing-key", "no column of a metric"),
        ("vms.db.lod,hosts.esx1.usage_pct\n1,2\n", "unknown-column", "did you mean vms.db.load?"),
        ("load,hosts.esx1.usage_pct\n1,2\n", "unknown-column", "load"),
        ("vms.db.load,\n1,2\n", "unknown-column", "a column without a name"),
        ("hosts.esx1.usage_pc\n1\n", "unknown-metric", "did you mean usage_pct?"),
        ("hosts.esx2.usage_pct\n1\n", "unknown-reference", "did you mean hosts.esx1?"),
        ("hosts.*.usage_pct\n1\n", "unknown-column", "one entity"),
        ("groups.db.unit\n1\n", "unknown-metric", "groups.db.unit"),
        ("hosts.esx1.usage_pct,hosts.esx1.usage_pct\n1,2\n", "duplicate-key", "each column once"),
        ("hosts.esx1.usage_pct,hosts.esx1.ready_pct.error\n1,2\n", "unknown-column", "hosts.esx1.usage_pct.error"),
        ("hosts.esx1.usage_pct,vms.db.load\n1\n", "wrong-type", "1 cell [wrong-type]\n  --> m.csv:2\n"),
        (
            "hosts.esx1.usage_pct\nhigh\n",
            "bad-quantity",
            "high [bad-quantity]\n  --> m.csv:2: column hosts.",
        ),
        ("hosts.esx1.usage_pct\n3 ms\n", "bad-unit", "3 ms"),
        ("hosts.esx1.usage_pct\nnan\n", "bad-quantity", "nan"),
        ("hosts.esx1.usage_pct,hosts.esx1.usage_pct.error\n3,0\n", "out-of-range", "more than 0"),
        ("hosts.esx1.usage_pct,vms.db.load\n3,[\n", "not-yaml", "m.csv:2: column vms.db.load"),
    ],
)
def test_a_file_that_says_nothing_is_refused(scenario, text, code, said):
    with pytest.raises(hypertwin.ScenarioError) as caught:
        measurements.parse(text, "m.csv", scenario)
    assert caught.value.code == code
    assert said in str(caught.value)
    assert "m.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "file-not-found"),
        (b"\xff\xfe", "not-utf-8"),
        (b"a,b\0c\n", "control-character"),
        (b"#" * (5 << 20), "file-too-large"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(scenario, tmp_path, content, code):
    path = tmp_path / "m.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(hypertwin.ScenarioError) as caught:
        measurements.read(path, scenario)
    assert caught.value.code == code
    with pytest.raises(hypertwin.ScenarioError, match="a directory"):
        measurements.read(tmp_path, scenario)


@given(st.text(alphabet="vms.dbload,hosterp_c1\n\"'#;=0 {", max_size=80))
def test_any_text_is_points_or_a_clear_error(text):
    base = scenarios.loads(TINY)
    try:
        found = measurements.parse(text, "m.csv", base)
    except hypertwin.ScenarioError as error:
        assert all(mistake.hint for mistake in error.mistakes)
    else:
        assert any(row.cells for row in found.rows)


THREE = ["workloads.oltp.cpu.mean", "workloads.oltp.delay.mean", "vms.web.load"]
TURBO = {"overrides": {"hosts.esx1.turbo": "2.6 GHz"}}
ONE = "vms.db.load,hosts.esx1.usage_pct\n1,30\n2,55\n"


@pytest.mark.parametrize(
    ("csv", "options", "code", "said"),
    [
        (ONE, {"free": ["vms.db.load"]}, "duplicate-key", "either set or fitted"),
        (ONE, {"replications": 1}, "out-of-range", "replications: "),
        (ONE, {"evaluations": 3}, "out-of-range", "evaluations: "),
        (ONE, {"error": "2"}, "bad-quantity", "error: "),
        (ONE, {"error": "0%"}, "bad-quantity", "error: "),
        (ONE, {"holdout": "90%"}, "out-of-range", "holdout: "),
        (ONE, {"holdout": "rows 3"}, "out-of-range", "1, 2"),
        (ONE, {"holdout": "1,2"}, "out-of-range", "fewer than all"),
        (ONE, {"holdout": "first"}, "bad-override", "holdout: "),
        (ONE, {"free": THREE}, "too-few-values", "2 for 3"),
        (ONE, {"free": ["hosts.esx1.turbo=1GHz..3GHz"], **TURBO}, "turbo-below-clock", "free hosts.esx1.turbo"),
        ("vms.db.load,hosts.esx1.usage_pct\n-1,30\n2,55\n", {}, "out-of-range", "m.csv:2"),
        ("hosts.esx1.usage_pct,hosts.esx1.usage_pct.error\n30,1\n55,\n", {}, "missing-key", "--error 2%"),
        ("vms.db.load,groups.db.response_ms.mean\n0,30\n", {}, "not-measurable", "m.csv:2"),
        ("storage.san-disks.utilization_pct\n30\n", {}, "unknown-reference", "storage"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(tiny, tmp_path, csv, options, code, said):
    path = tmp_path / "m.csv"
    path.write_text(csv)
    with pytest.raises(hypertwin.ScenarioError) as caught:
        hypertwin.calibrate(tiny, path, **{"free": ["workloads.oltp.cpu.mean"], **options})
    assert caught.value.code == code
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("scenario: tiny\n", "missing-key", "set"),
        ("set: 1\ncalibrated_on: x\n", "missing-key", "set"),
        ("set: {vms.db.load: 2}\n", "missing-key", "calibrated_on"),
        ("set: {vms.db.load: 2}\ncalibrated_on: x\nsets: {}\n", "unknown-key", "did you mean set?"),
        ("set: {vms.dx.load: 2}\ncalibrated_on: x\n", "unknown-path", "c.yaml"),
        ("set: {vms.db.load: 2, vms.db.load: 3}\ncalibrated_on: x\n", "duplicate-key", "c.yaml"),
        ("- 1\n", "missing-key", "c.yaml"),
    ],
)
def test_a_calibration_file_that_is_none_is_refused(tiny, tmp_path, text, code, said):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(hypertwin.ScenarioError) as caught:
        calibration_file.apply(tiny, path)
    assert caught.value.code == code
    assert said in str(caught.value)


def test_a_calibration_file_may_set_no_parameter(tiny, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("set: {}\ncalibrated_on: x\n")
    assert calibration_file.apply(tiny, path).data["calibrated_on"] == "x"


@pytest.fixture
def recovery(monkeypatch):
    """`bench/recovery.py` at smoke size: the three points of the 48-vCPU VM, short runs."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.setitem(sys.modules, "recovery", None)
    del sys.modules["recovery"]
    import recovery

    monkeypatch.setattr(recovery, "POINTS", recovery.POINTS[3:])
    # shorter runs, and chance separates what nothing tells apart
    monkeypatch.setattr(recovery, "RUN", {"duration": 6, "warmup": 1, "replications": 2})
    yield recovery
    sys.modules.pop("recovery", None)


def test_the_monster_vm_study_is_recovered_from_synthetic_measurements(recovery):
    found = list(recovery.recover(range(1, 4)))
    for path in recovery.FREE:
        assert sum(each.held(path) for each in found) >= 2
    for each in found:
        assert all(fitted.identified for fitted in each.found.fitted)
        (cpu,) = (fitted for fitted in each.found.fitted if fitted.parameter.path.endswith("cpu.mean"))
        assert cpu.value == pytest.approx(each.true["workloads.hospital.cpu.mean"], rel=0.08)


def test_a_pair_of_the_monster_vm_study_that_nothing_tells_apart_is_named(recovery):
    found = recovery.pair()
    ((paths, text),) = found.inseparable
    assert paths == recovery.PAIR
    assert "only their product matters" in text
    fitted, kept = found.fitted
    assert fitted.identified and fitted.interval[0] < fitted.value < fitted.interval[1]
    assert kept.kept and not kept.identified and kept.interval is None
    assert kept.value == kept.parameter.start
    assert list(found.settings) == [recovery.PAIR[0]]
    assert text in found.notes
    assert json.loads(json.dumps(found.to_dict()))["inseparable"][0]["parameters"] == list(recovery.PAIR)


def test_a_direction_of_a_parameter_that_may_be_zero_is_told_in_its_unit():
    free = Parameter("a", "ms", 1, 0, 10), Parameter("b", "", 2, 1, 4)
    parts = [Fitted(each, each.start, None, False, False) for each in free]
    text = describe(Direction(np.array([1.0, -0.5]), (0, 1)), parts)
    assert "a combination of them" in text
    assert "a +1 ms with b -4.9 %" in text
