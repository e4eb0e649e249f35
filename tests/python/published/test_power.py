"""Power of servers by load: measured watts, published curves, thermal design power, and energy."""

import math
import statistics
from itertools import pairwise
from typing import Any

import pytest

from hypertwin.published import power, table
from hypertwin.published.power import Power

LOADS = [load / 100 for load in range(101)]
SHAPES = {  # medians of watts over watts at full load: idle, 10%, 20% ... 100%
    (2012, 2014): (0.23, 0.33, 0.37, 0.42, 0.47, 0.53, 0.59, 0.68, 0.76, 0.90, 1),
    (2015, 2017): (0.16, 0.32, 0.38, 0.43, 0.49, 0.55, 0.60, 0.68, 0.78, 0.89, 1),
    (2018, 2020): (0.15, 0.32, 0.37, 0.41, 0.46, 0.52, 0.59, 0.67, 0.80, 0.89, 1),
    (2021, 2022): (0.23, 0.37, 0.42, 0.47, 0.52, 0.56, 0.62, 0.67, 0.76, 0.89, 1),
}
OFF = {
    (2012, 2014): (-7, 11, 19, 13),
    (2015, 2017): (-23, -3, 7, 10),
    (2018, 2020): (-26, -3, 8, 9),
    (2021, 2022): (-10, 4, 12, 15),
}
"""Error of a straight line from idle to full load at 10, 30, 50 and 70%, in per cent: medians."""


def server(cpu: str | None, sockets: int = 2, memory_gib: float = 64, **more: Any) -> Power:
    return power.power(cpu, sockets=sockets, memory_gib=memory_gib, **more)


def at(found: Power, load: float) -> tuple[float, float, float]:
    watts = found.watts(load)
    assert watts is not None
    return watts


@pytest.mark.parametrize("years", list(SHAPES))
def test_the_curves_have_the_shapes_of_their_years(years: tuple[int, int]) -> None:
    curves = [each.watts for each in table.curves() if each.year and years[0] <= each.year <= years[1]]
    shape = [statistics.median(watts[point] / watts[-1] for watts in curves) for point in range(11)]
    assert shape == pytest.approx(SHAPES[years], abs=0.006)
    off = [
        statistics.median((watts[0] + (watts[-1] - watts[0]) * point / 10) / watts[point] - 1 for watts in curves) * 100
        for point in (1, 3, 5, 7)
    ]
    assert off == pytest.approx(OFF[years], abs=0.6)


def test_a_straight_line_is_off_by_those_shares() -> None:
    found = server(None, watts_idle=150, watts_full=1000, year=2019)
    for load, off in ((0.1, -0.26), (0.5, 0.08)):
        line = 150 + 850 * load
        assert line / at(found, load)[1] - 1 == pytest.approx(off, abs=0.03)


def test_measured_watts_are_the_ends_without_an_interval() -> None:
    found = server("Intel Xeon E5-2690 v4", watts_idle=120, watts_full=380)
    assert found.basis == "measured"
    assert at(found, 0) == pytest.approx((120, 120, 120))
    assert at(found, 1) == pytest.approx((380, 380, 380))
    low, mid, high = at(found, 0.5)
    assert low < mid < high
    assert at(found, -3) == at(found, 0)
    assert at(found, 7) == at(found, 1)
    with pytest.raises(ValueError, match="not a number"):
        found.watts(float("nan"))


def test_between_points_watts_are_interpolated() -> None:
    found = server("Intel Xeon Platinum 8380")
    assert at(found, 0.25)[1] == pytest.approx((at(found, 0.2)[1] + at(found, 0.3)[1]) / 2)


@pytest.mark.parametrize("end", ["watts_idle", "watts_full"])
def test_one_measured_end_leaves_the_other_open(end: str) -> None:
    found = server("Intel Xeon Platinum 8380", **{end: 200})
    here, there = (0, 1) if end == "watts_idle" else (1, 0)
    assert at(found, here) == pytest.approx((200, 200, 200))
    low, mid, high = at(found, there)
    assert low < mid < high
    assert at(found, 0)[1] < at(found, 1)[1]


@pytest.mark.parametrize(
    "watts", [{"watts_idle": 0.0}, {"watts_full": -1.0}, {"watts_full": float("inf")}, {"tdp_w": 0.0}]
)
def test_impossible_watts_are_refused(watts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(watts))):
        server(None, **watts)


def test_idle_is_at_most_full() -> None:
    with pytest.raises(ValueError, match="watts_idle is 300: must be at most watts_full, 200"):
        server(None, watts_idle=300, watts_full=200)


def test_a_published_cpu_has_the_median_of_its_servers() -> None:
    found = server("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", memory_gib=256)
    # both files have some of the results
    pairs = {each.watts for each in table.pairs() if each.cpu.endswith("8380")}
    pairs |= {(each.watts[0], each.watts[-1]) for each in table.curves() if each.cpu.endswith("8380")}
    assert at(found, 0)[1] == pytest.approx(statistics.median(each[0] for each in pairs))
    assert at(found, 1)[1] == pytest.approx(statistics.median(each[1] for each in pairs))
    assert f"median of {len(pairs)} SPECpower_ssj2008 results (2021 to 2022)" in found.text
    assert "tuned" in found.text
    assert found.basis == "published"


@pytest.mark.parametrize("cpu", ["Intel Xeon Platinum 8380", "Intel Xeon Gold 5218", "AMD EPYC 9965"])
def test_the_range_is_at_least_that_between_servers_of_one_cpu(cpu: str) -> None:
    low, mid, high = at(server(cpu), 1)
    assert low <= 0.91 * mid
    assert high >= 1.14 * mid


def test_without_a_result_full_load_follows_from_the_design_power() -> None:
    found = server("Intel Xeon Gold 6338")
    over = power.watts_over_tdp()
    assert (over.low, over.mid, over.high) == pytest.approx((0.90, 1.26, 1.50), abs=0.01)
    assert at(found, 1)[1] == pytest.approx(2 * 205 * over.mid)
    assert found.basis == "generation"
    assert "2 × 205 W" in found.text
    own = server("AMD EPYC 9355", tdp_w=280)  # newer than the vendor tables and the curves
    assert at(own, 1)[1] == pytest.approx(2 * 280 * over.mid)
    recent = [each.watts[0] / each.watts[1] for each in table.pairs() if int(each.published[-4:]) >= 2023]
    assert at(own, 0)[1] == pytest.approx(at(own, 1)[1] * statistics.median(recent))


def test_errors_of_watts_and_shape_are_independent() -> None:
    found = server(None, watts_full=500, year=2019)
    low, idle, high = at(found, 0)
    exact = at(server(None, watts_idle=idle, watts_full=500, year=2019), 0.5)
    bend = (exact[1] - idle) / (500 - idle)
    assert at(found, 0.5)[1] == pytest.approx(exact[1])
    assert at(found, 0.5)[2] - exact[1] == pytest.approx(math.hypot((high - idle) * (1 - bend), exact[2] - exact[1]))
    assert exact[1] - at(found, 0.5)[0] == pytest.approx(math.hypot((idle - low) * (1 - bend), exact[1] - exact[0]))


@pytest.mark.parametrize("cpu", [None, "", "AMD EPYC 4464P", "QEMU Virtual CPU", "Intel Xeon"])
def test_an_unknown_cpu_has_no_power(cpu: str | None) -> None:
    found = server(cpu)
    assert found.basis == "unknown"
    assert found.watts(0.5) is None
    assert "give measured watts" in found.text


def test_one_socket_takes_more_than_half() -> None:
    one, two = server("AMD EPYC 7742", sockets=1), server("AMD EPYC 7742")
    assert at(one, 1)[1] == pytest.approx(0.56 * at(two, 1)[1])
    assert at(one, 1)[2] / at(one, 1)[1] > at(two, 1)[2] / at(two, 1)[1]
    assert at(server("AMD EPYC 7742", sockets=4), 1)[1] == pytest.approx(2 * at(two, 1)[1])


def test_more_memory_adds_watts_at_any_load() -> None:
    small, large = server("AMD EPYC 7742", memory_gib=1), server("AMD EPYC 7742", memory_gib=1024)
    usual = statistics.median(each.memory_gib for each in table.curves() if each.cpu == "AMD EPYC 7742")
    assert small == server("AMD EPYC 7742", memory_gib=usual)
    for load in (0, 1):
        assert at(large, load)[0] <= at(small, load)[0]  # perhaps nothing
        assert at(large, load)[1] - at(small, load)[1] == pytest.approx((1024 - usual) * 0.392 / 2, rel=0.2)


@pytest.mark.parametrize(
    "found",
    [
        *(server(cpu) for cpu in sorted({each.cpu for each in table.curves()}) if server(cpu).mid),
        *(server("Intel Xeon Gold 6338", sockets=sockets, memory_gib=2048) for sockets in (1, 2, 4)),
        server(None, watts_idle=100, watts_full=100),
        *(server(None, watts_idle=100, year=year) for year in range(2009, 2026, 2)),
        *(server(None, watts_full=500, year=year) for year in range(2009, 2026, 2)),
    ],
    ids=str,
)
def test_watts_never_fall_with_load(found: Power) -> None:
    for before, after in pairwise(at(found, load) for load in LOADS):
        assert all(one <= other + 1e-9 for one, other in zip(before, after, strict=True))
        assert 0 <= before[0] <= before[1] <= before[2]


def test_energy_is_watts_times_hours_times_pue() -> None:
    assert power.kwh(250, 8760) == pytest.approx(2190)
    assert power.kwh(250, 8760, 1.5) == pytest.approx(3285)
    for wrong in ((-1, 1, 1), (1, -1, 1), (1, 1, 0.9)):
        with pytest.raises(ValueError, match="PUE at least 1"):
            power.kwh(*wrong)


def test_a_cpu_without_any_figure_has_the_range_of_its_generation() -> None:
    """EPYC 9355 is a Turin, of which some CPUs have results: neither a smaller nor a larger range than theirs."""
    found = server("AMD EPYC 9355")
    assert found.basis == "generation"
    assert "Turin" in found.text
    assert found.low is not None and found.mid is not None and found.high is not None
    kin = [server(cpu).mid for cpu in ("AMD EPYC 9845", "AMD EPYC 9965")]
    assert found.low[-1] < min(each[-1] for each in kin if each) <= found.high[-1]
    assert found.low[-1] < found.mid[-1] < found.high[-1]
