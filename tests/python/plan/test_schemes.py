"""Durability of storage schemes: published figures, what people write, and what must rise or fall."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import refused

from hypertwin.errors import Mistake, ScenarioError
from hypertwin.plan import durability
from hypertwin.show import durability as shown

DAY_S = 86_400


def assess(*schemes: str, rate: float = 0.00405, days: float = 6.5, **more):
    return durability.assess(schemes, annual_failure_rate=rate, repair_s=days * DAY_S, **more)


def only(error: ScenarioError) -> Mistake:
    (mistake,) = error.mistakes
    return mistake


def test_backblaze_published_7_354e_12_for_17_plus_3():
    (found,) = assess("17+3")
    assert f"{found['backblaze']['annual_loss']:.3e}" == "7.354e-12"
    assert found["backblaze"]["nines"] == 11


@pytest.mark.parametrize(
    ("scheme", "raw_gb"), [("3", 300), ("3+1", 133), ("3+2", 167), ("5+2", 140), ("7+2", 129), ("17+3", 118)]
)
def test_raw_gigabytes_per_100_are_as_published(scheme, raw_gb):
    (found,) = assess(scheme)
    exact = 100 * found["overhead"]["raw_per_usable"]
    assert round(exact) == raw_gb
    data, _, parity = scheme.partition("+")
    assert exact == pytest.approx(100 * (int(data) + int(parity)) / int(data) if parity else 100 * int(data), rel=1e-15)


@given(data=st.integers(1, 64), parity=st.integers(1, 16))
def test_the_overhead_of_any_code(data, parity):
    (found,) = assess(f"{data}+{parity}")
    overhead = found["overhead"]
    assert 100 * overhead["raw_per_usable"] == pytest.approx(100 * (data + parity) / data, rel=1e-15)
    assert overhead["failures_tolerated"] == parity
    assert (overhead["overwrite_reads"], overhead["overwrite_writes"]) == (1 + parity, 1 + parity)
    assert overhead["degraded_reads"] == overhead["rebuild_reads_per_byte"] == data


def test_two_copies_have_the_mttdl_of_a_mirror():
    rate, repairs = 0.02, 365 / 2
    (found,) = assess("replicas-2", rate=rate, days=2)
    assert found["mttdl_years"] == pytest.approx((3 * rate + repairs) / (2 * rate**2), rel=1e-12)
    assert found["markov"]["annual_loss"] == pytest.approx(-math.expm1(-1 / found["mttdl_years"]), rel=1e-12)


def test_a_single_copy_lives_as_long_as_its_disk():
    (found,) = assess("1", rate=0.02)
    assert found["mttdl_years"] == pytest.approx(50, rel=1e-12)
    assert found["first_year_loss"] == pytest.approx(-math.expm1(-0.02), rel=1e-12)


def test_rebuilding_one_after_the_other_is_less_safe_from_two_losses_on():
    parallel, serial = (assess("3+2", "replicas-2", serial_repair=choice) for choice in (False, True))
    assert serial[0]["mttdl_years"] == pytest.approx(parallel[0]["mttdl_years"] / 2, rel=0.02)
    assert serial[1]["mttdl_years"] == parallel[1]["mttdl_years"]


def test_both_notations_are_one_scheme():
    found = assess("17+3", "ec-17+3", "3:2", " replicas-3:2 ", "3:1", "3")
    assert [entry["scheme"] for entry in found] == ["ec-17+3", "replicas-3:2", "replicas-3"]
    assert [entry["scheme"] for entry in assess(*durability.USUAL_SCHEMES)] == list(durability.USUAL_SCHEMES)


@pytest.mark.parametrize(
    "text", ["", "x", "3+", "+3", "0+1", "3+0", "65+1", "3+17", "9", "0", "3:4", "ec-3:2", "-3", "٣"]
)
def test_what_is_no_scheme_is_refused(text):
    with refused("bad-redundancy") as caught:
        assess(text)
    assert only(caught.value).path == "scheme"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"rate": 0}, "afr"),
        ({"rate": 10.1}, "afr"),
        ({"rate": math.nan}, "afr"),
        ({"days": 0}, "repair"),
        ({"days": 366}, "repair"),
        ({"days": math.inf}, "repair"),
        ({"groups": 0}, "groups"),
        ({"groups": 10**13}, "groups"),
        ({"groups": 2**70}, "groups"),
        ({"usable_bytes": -1}, "usable"),
    ],
)
def test_numbers_out_of_range_are_named(arguments, path):
    with refused("out-of-range") as caught:
        assess("3+2", **arguments)
    assert only(caught.value).path == path


@pytest.mark.parametrize(("text", "rate"), [("0.405%", 0.00405), (" 1.5 %", 0.015), ("2%", 0.02), ("1e-1%", 0.001)])
def test_a_failure_rate_is_a_percentage(text, rate):
    assert durability.failure_rate(text) == rate


@pytest.mark.parametrize("text", ["", "%", "0.004", "-1%", "nan%", "1%%", "one%"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(ScenarioError) as caught:
        durability.failure_rate(text)
    assert only(caught.value).code == "bad-quantity"


def test_the_repair_time_is_given_or_comes_from_disk_and_bandwidth():
    assert durability.repair_time().seconds == 6.5 * DAY_S
    assert durability.repair_time("36h").seconds == 1.5 * DAY_S
    assert durability.repair_time(disk="10TB", rebuild="50MB/s", detection="0").seconds == 200_000
    assert durability.repair_time(disk="10TB", rebuild="50MB/s").seconds == 200_000 + 15 * 60


@pytest.mark.parametrize(
    ("arguments", "code", "path"),
    [
        ({"repair": "6.5"}, "bad-quantity", "repair"),
        ({"repair": "6.5 TB"}, "bad-quantity", "repair"),
        ({"repair": "0"}, "out-of-range", "repair"),
        ({"repair": "1d", "disk": "1TB"}, "one-of", "repair"),
        ({"disk": "1TB"}, "missing-key", "rebuild"),
        ({"rebuild": "1MB/s"}, "missing-key", "disk"),
        ({"detection": "1h"}, "missing-key", "disk"),
        ({"disk": "10", "rebuild": "50MB/s"}, "bad-quantity", "disk"),
        ({"disk": "10TB", "rebuild": "0 MB/s"}, "out-of-range", "rebuild"),
        ({"disk": "10TB", "rebuild": "1 B/s"}, "out-of-range", "rebuild"),
    ],
)
def test_a_bad_repair_time_names_what_is_wrong(arguments, code, path):
    with pytest.raises(ScenarioError) as caught:
        durability.repair_time(arguments.pop("repair", None), **arguments)
    assert (only(caught.value).code, only(caught.value).path) == (code, path)


@given(
    scheme=st.sampled_from([*durability.USUAL_SCHEMES, "1", "64+16", "8"]),
    rate=st.floats(1e-6, 9),
    days=st.floats(0.001, 300),
    serial=st.booleans(),
)
def test_loss_rises_with_failures_repair_time_and_groups(scheme, rate, days, serial):
    def losses(rate: float, days: float, groups: int = 1) -> list[float]:
        (found,) = assess(scheme, rate=rate, days=days, groups=groups, serial_repair=serial)
        return [found["backblaze"]["pool_annual_loss"], found["markov"]["pool_annual_loss"]]

    now = losses(rate, days)
    assert all(0 < loss <= 1 for loss in now)
    for worse in (losses(1.1 * rate, days), losses(rate, 1.2 * days), losses(rate, days, 10)):
        assert all(more >= less * (1 - 1e-12) for more, less in zip(worse, now, strict=True))


def test_the_bytes_of_a_pool_are_lost_in_proportion():
    (found,) = assess("3+2", groups=512, usable_bytes=10**14)
    assert found["markov"]["expected_bytes_lost_per_year"] == pytest.approx(1e14 * found["markov"]["annual_loss"])
    assert found["markov"]["pool_annual_loss"] == pytest.approx(512 * found["markov"]["annual_loss"], rel=1e-6)


def test_curves_pass_through_the_table():
    repair = durability.repair_time("2d")
    result = durability.compare(["3+2", "3:2"], annual_failure_rate=0.01, repair=repair, groups=7)
    lines = durability.curves(result, [repair.seconds, 2 * repair.seconds])
    for entry in result["schemes"]:
        first, second = lines[entry["scheme"]]
        assert first["markov"] == entry["markov"]["pool_annual_loss"]
        assert first["backblaze"] == entry["backblaze"]["pool_annual_loss"]
        assert second["markov"] == pytest.approx(4 * first["markov"], rel=0.05)


@pytest.mark.parametrize(
    ("repair", "least_s", "most_s"),
    [("11.46min", 600, 9e6), ("2d", 3600, 9e6), ("200d", 3600, 2.1e7), ("1h", 3600, 9e6)],
)
def test_curves_reach_the_repair_time(repair, least_s, most_s):
    time = durability.repair_time(repair)
    result = durability.compare(["3:2"], annual_failure_rate=0.01, repair=time)
    repairs_s = [each["repair_s"] for each in durability.curves(result)["replicas-3:2"]]
    assert repairs_s[0] <= time.seconds <= repairs_s[-1]
    assert (least_s <= repairs_s[0], repairs_s[-1] <= most_s) == (True, True)


@pytest.mark.parametrize(
    ("value", "text"), [(30, "30 s"), (900, "15 min"), (7200, "2 h"), (561_600, "6.5 d"), (5400, "1.5 h")]
)
def test_durations_are_short(value, text):
    assert shown.duration(value) == text
