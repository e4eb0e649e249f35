"""Model error: kinds of figures, intervals of new sources, and coverage by leaving out whole sources."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from hypertwin import _core
from hypertwin.model_error import coverage, evidence, interval, kinds
from hypertwin.model_error.evidence import DamagedEvidenceError, Row


def sources(count: int, error: float = 0.0, *, step: float = 0.1, area="pools", kind="throughput") -> list[Row]:
    """One figure each of some sources."""
    return [Row(f"{area}-{kind}-{index}", area, kind, error + step * index) for index in range(count)]


@pytest.mark.parametrize(
    ("path", "area", "kind"),
    [
        ("groups.vm.iops", "", "throughput"),
        ("vms.db.throughput_units_per_s", "", "throughput"),
        ("groups.vm.read_mb_per_s", "", "throughput"),
        ("groups.vm.io_latency_ms.mean", "", "latency"),
        ("groups.vm.io_latency_ms.p50", "", "latency"),
        ("groups.vm.write.latency_ms.p99", "", "tail"),
        ("response_ms_p99", "", "tail"),
        ("response_ms_p50", "", "latency"),
        ("groups.vm.response_ms.p99_9", "", "tail"),
        ("vms.db.ready_pct", "", "usage"),
        ("storage.ceph.service_cpus", "", "usage"),
        ("moves.all.seconds", "movement", "duration"),
        ("moves.vm.downtime_ms", "movement", "duration"),
        ("storage.vsan.hit_pct", "", None),
        ("vms.db.vcpus", "", None),
        ("virtual_nodes", "", None),
    ],
)
def test_the_kind_follows_from_the_path(path, area, kind):
    assert kinds.kind_of(path, area) == kind


def test_an_error_is_a_factor_and_of_small_percentages_points():
    assert kinds.error(200, 100, share=False) == pytest.approx(math.log(2))
    assert kinds.error(0.2, 0.1, share=True) == pytest.approx(0.0194, abs=1e-4)
    assert kinds.error(0.0, 0.0, share=True) == 0.0
    assert kinds.error(0.0, 1.0, share=False) is None
    for share, twin in ((False, 80.0), (True, 80.0), (True, 0.0)):
        factor = math.exp(kinds.error(95.0, twin, share=share))
        assert _core.shifted(twin, factor, share) == pytest.approx(95.0)
    assert _core.shifted(0.1, math.exp(-1.0), True) == 0.0, "no figure is negative"


def test_a_source_with_many_figures_weighs_as_much_as_one_with_one():
    rows = sources(8)
    crowd = [Row("pools-throughput-0", "pools", "throughput", 0.0)] * 200
    crowded, plain = (interval.interval(some, "pools", "throughput") for some in (rows + crowd, rows))
    assert (crowded.low, crowded.high) == (pytest.approx(plain.low), pytest.approx(plain.high))


def test_few_sources_widen_the_interval_and_a_bias_shifts_it():
    few, many = (interval.interval(sources(count, step=0.9 / count), "pools", "throughput") for count in (6, 60))
    assert few.high - few.low > 1.05 * (many.high - many.low)
    biased = interval.interval(sources(6, -2.0, step=0.15), "pools", "throughput")
    assert biased.low == pytest.approx(few.low - 2.0)
    assert interval.widening(6) > interval.widening(7) > interval.widening(1000) > 1
    assert interval.widening(1000) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("count", [6, 8, 20, 60])
def test_of_normal_errors_four_fifths_are_in_the_interval_of_other_sources(count):
    """Exact coverage for many sources, and nearly so for few, from evenly spread quantiles of a normal distribution."""
    normal = NormalDist()
    rows = [Row(f"s{index}", "cpu", "latency", normal.inv_cdf((index + 0.5) / count)) for index in range(count)]
    ends = interval.interval(rows, "cpu", "latency")
    assert 0.78 < normal.cdf(ends.high) - normal.cdf(ends.low) < 0.93


def test_too_few_sources_are_pooled_in_the_area_and_then_over_all():
    own = sources(5, 0.5, step=0.0)
    times = sources(1, -0.5, step=0.0, kind="latency")
    elsewhere = sources(6, 1.0, step=0.1, area="cpu", kind="usage")
    assert interval.interval(own, "pools", "throughput").basis == "all"
    assert interval.interval(own + times, "pools", "throughput").basis == "area"
    assert interval.interval(own + times, "pools", "throughput").low == pytest.approx(0.5), "less time is more work"
    assert interval.interval(own + times, "pools", "latency").high == pytest.approx(-0.5)
    pooled = interval.interval(own + elsewhere, "drives", "latency")
    assert (pooled.basis, pooled.sources) == ("all", 11)
    one_more = Row("pools-6", "pools", "throughput", 0.5)
    assert interval.interval([*own, one_more], "pools", "throughput").basis == "area"


def test_a_kind_has_an_interval_of_its_own_once_its_outer_tenth_is_more_than_one_source():
    assert interval.interval(sources(9), "pools", "throughput").basis == "area"
    assert interval.interval(sources(10), "pools", "throughput").basis == "kind"


def test_tails_are_pooled_with_tails_only_and_nothing_with_one_source():
    rows = sources(30) + sources(2, 3.0, kind="tail")
    tail = interval.interval(rows, "drives", "tail")
    assert (tail.basis, tail.sources, tail.low > 2) == ("all", 2, True)
    assert interval.interval(rows[:30] + rows[30:31], "drives", "tail") is None


def test_the_interval_around_a_figure_has_the_figure():
    biased = interval.Interval(math.log(0.4), math.log(0.8), 9, "kind")
    assert biased.around(100, share=False) == (pytest.approx(40), 100)
    assert biased.text == "×0.40 to ×0.80"


def test_coverage_leaves_out_the_whole_source():
    """A source with many alike figures does not cover itself."""
    alike = [Row("odd", "pools", "throughput", 5.0)] * 50
    (everything, area, kind) = coverage.coverage(sources(10, step=0.0) + alike)
    assert (everything.area, area.area, kind.kind) == ("all", "pools", "throughput")
    assert (kind.rows, kind.sources) == (60, 11)
    assert kind.rows_covered_pct == pytest.approx(100 * 10 / 60)
    assert kind.covered_pct == pytest.approx(100 * 10 / 11)
    assert kind.low == 0 == kind.high


def test_an_area_is_judged_by_the_interval_that_it_has():
    """Without one of six sources of an area, those of all areas would cover anything."""
    six = [*sources(5, step=0.0, area="path"), Row("odd", "path", "throughput", 5.0)]
    lines = coverage.coverage(sources(20, step=0.5) + six)
    (path,) = [one for one in lines if one.area == "path"]
    assert (path.rows, path.covered_pct) == (6, pytest.approx(100 * 5 / 6))


def test_the_errors_of_the_package_can_be_read_and_are_of_many_sources():
    rows = evidence.recorded()
    assert len({row.study for row in rows}) > 30
    for area in kinds.AREAS:
        for kind in kinds.KINDS:
            assert interval.interval(rows, area, kind) is not None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,clouds,tail,0.1", "area is 'clouds'; allowed: cpu, drives"),
        ("x,cpu,speed,0.1", "kind is 'speed'; allowed: throughput"),
        ("x,cpu,tail,much", "could not convert"),
        ("x,cpu", "needed: study, area, kind, error"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path, line, message):
    file = tmp_path / "model_error.csv"
    file.write_text(f"study,area,kind,error\n{line}\n")
    with pytest.raises(DamagedEvidenceError, match=message) as problem:
        evidence.read(file)
    assert "model_error.csv: line 2" in str(problem.value)
    assert evidence.read(tmp_path / "none.csv") == ()


def test_what_is_written_is_what_is_read(tmp_path):
    file = tmp_path / "model_error.csv"
    file.write_text(evidence.text(sources(3)))
    assert evidence.read(file) == tuple(sources(3))


def test_the_factor_for_few_sources_is_near_that_of_a_prediction_interval_of_student():
    # t of 90% with n - 1 degrees of freedom over 1.2816 of the normal distribution, times the root of 1 + 1/n
    for sources, t in ((6, 1.4759), (10, 1.3830), (30, 1.3114)):
        assert interval.widening(sources) == pytest.approx(t / 1.2816 * math.sqrt(1 + 1 / sources), rel=0.02)


def test_an_interval_has_the_figure_of_the_twin_and_no_share_above_100():
    slower_only = interval.Interval(math.log(1.5), math.log(2.0), 6, "kind")
    assert slower_only.around(10.0, share=False) == pytest.approx((10.0, 20.0))
    faster_only = interval.Interval(math.log(0.5), math.log(0.8), 6, "kind")
    assert faster_only.around(10.0, share=False) == pytest.approx((5.0, 10.0))
    assert slower_only.around(90.0, share=True) == pytest.approx((90.0, 100.0))
