"""Errors of the user's own system: their text in a scenario, and what they prove."""

from __future__ import annotations

import math

import pytest
from tests.python.model_error.test_interval import sources

import hypertwin
from hypertwin.model_error import interval, own
from hypertwin.model_error.carried import Carrier
from hypertwin.model_error.evidence import Row


def spread() -> list[Row]:
    """Sources with a bias each, and an error within each that is half as large."""
    biases = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]
    return [
        Row(f"s{index}", "pools", "latency", bias + inside)
        for index, bias in enumerate(biases)
        for inside in (-0.3, 0.0, 0.3)
    ]


def ends(*errors: float) -> interval.Interval:
    found = interval.interval(spread(), "pools", "latency", errors)
    assert found is not None
    return found


def width(found: interval.Interval) -> float:
    return found.high - found.low


def test_each_point_narrows_the_interval_but_never_below_the_spread_within_a_system():
    widths = [width(ends(*[0.5] * count)) for count in (0, 1, 2, 5, 1000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[1] < 0.9 * widths[0], "one point proves something"
    within, between = 0.06, sum(bias * bias for bias in (1.0, 0.6, 0.2)) / 3
    assert widths[-1] == pytest.approx(widths[0] * math.sqrt(within / (within + between)), rel=0.01)


def test_the_interval_moves_to_the_own_errors_with_their_number():
    middles = [(found.low + found.high) / 2 for found in (ends(), ends(0.5), ends(*[0.5] * 4), ends(*[0.5] * 1000))]
    assert middles[0] == pytest.approx(0, abs=1e-9)
    assert middles == sorted(middles)
    assert middles[-1] == pytest.approx(0.5, abs=0.01)
    assert middles[1] < 0.5, "one point does not prove all of it"


def test_own_errors_that_differ_widen_the_interval():
    assert width(ends(-2.0, 2.0, -2.0, 2.0)) > width(ends())


def test_own_errors_of_a_throughput_have_the_sign_of_its_figure():
    rows = sources(6, -0.25, step=0.1)
    low = interval.interval(rows, "pools", "throughput", [-1.0] * 50)
    high = interval.interval(rows, "pools", "throughput", [1.0] * 50)
    assert low.high < high.low


def test_only_the_same_area_and_kind_is_narrowed():
    def bases(calibrated_on):
        scenario = {"vms": {"db": {"storage": "s"}}, "calibrated_on": calibrated_on}
        point = {
            "groups": {
                "db": {
                    **{"run_pct": 40.0, "throughput_per_s": 10.0, "iops": 10.0},
                    **{"response_ms": {"mean": 2.0, "p99": 9.0}, "io_latency_ms": {"mean": 2.0}},
                }
            },
            "judgement": {"limits": {}},
        }
        return Carrier.of(scenario)(point)["bases"]

    before, after = bases(None), bases("3 rows of x.csv; model error: pools latency 1.1 1.1 1.1 1.1")
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"pools latency"}
    assert after["pools latency"]["own_points"] == 4
    assert after["pools latency"]["text"].endswith("and 4 measured points of yours")


def test_the_text_is_read_as_it_was_written():
    errors = {("pools", "latency"): [math.log(1.12), math.log(0.95)], ("cpu", "usage"): [0.0]}
    text = own.text(errors)
    assert text == "model error: pools latency 1.12 0.95, cpu usage 1"
    read = own.parse(f"2 rows of a.csv: x = 1; {text}")
    assert list(read) == list(errors)
    assert [pytest.approx(value, abs=1e-4) for value in read.values()] == list(errors.values())
    assert own.without(f"2 rows of a.csv: x = 1; {text}") == "2 rows of a.csv: x = 1"
    assert (own.text({}), own.parse(None), own.parse("by hand")) == ("", {}, {})
    many = own.parse(own.text({("cpu", "tail"): [index / 100 for index in range(100)]}))["cpu", "tail"]
    assert (len(many), many[-1]) == (own.MAX_NUMBERS, pytest.approx(0.95, abs=1e-3))


@pytest.mark.parametrize(
    "entry", ["clouds latency 1", "pools speed 1", "pools latency", "pools latency 0", "", "x 1.2.3"]
)
def test_a_damaged_text_is_refused_before_any_run(tiny, entry):
    with pytest.raises(hypertwin.ScenarioError, match="bad-calibration") as error:
        hypertwin.simulate(tiny, overrides={"calibrated_on": f"model error: {entry}"}, replications=1)
    (mistake,) = error.value.mistakes
    assert (mistake.path, str(tiny) in str(error.value)) == ("calibrated_on", True)
    assert "AREA KIND NUMBER" in mistake.allowed
