"""Throughput of hosts: published results, the bridge from the older suite, generations, and ratios."""

import csv
import math
import statistics

import pytest

from hypertwin import library
from hypertwin.published import names, table, throughput
from hypertwin.published.throughput import Throughput, ratio


def host(cpu: str | None, sockets: int = 2, cores: int = 8, ghz: float = 2.7, threads: int = 2) -> Throughput:
    return throughput.throughput(
        cpu, sockets=sockets, cores_per_socket=cores, clock_hz=round(ghz * 1e9), threads_per_core=threads
    )


def test_a_published_cpu_has_its_median_with_the_result_and_its_date() -> None:
    found = host("Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz", cores=8, ghz=2.1)
    assert (found.value, found.basis) == (65.2, "published")
    assert found.per_core == pytest.approx(65.2 / 16)
    assert found.low == pytest.approx(53.5)  # the lowest of its 11 results
    assert found.high == pytest.approx(65.2 * 1.06)  # the highest, 66.7, is nearer than 6%
    assert "11 published results of SPECrate2017_int_base" in found.text
    assert "cpu2017-20180806-08188 (2018-08-06)" in found.text
    assert found.source == "https://www.spec.org/cpu2017/results/res2018q3/cpu2017-20180806-08188.html"


@pytest.mark.parametrize(
    ("cpu", "cores", "points"),
    [("Intel Xeon E5-2680 0", 8, 67.8), ("Intel Xeon E5-2690", 8, 70.6), ("Intel Xeon E5-2697 v2", 12, 99.1)],
)
def test_older_results_are_divided_by_the_ratio_of_the_suites(cpu: str, cores: int, points: float) -> None:
    found = host(cpu, cores=cores)
    assert found.value is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(points, abs=0.06)
    assert found.basis == "published-2006"
    least = math.hypot(throughput.SPREAD, throughput.BRIDGE)
    assert found.low <= found.value / (1 + least)
    assert found.high >= found.value * (1 + least)
    assert "SPECint_rate_base2006" in found.text


def test_the_ratio_of_the_suites_is_that_of_the_cpus_with_both() -> None:
    text = (library.published() / "specrate2006.csv").read_text(encoding="utf-8").splitlines()
    older = {names.key(row["cpu_model"]): row for row in csv.DictReader(line for line in text if line[0] != "#")}
    both = {key: float(older[key]["median"]) / rate.median for key, rate in table.rates().items() if key in older}
    both = {key: each for key, each in both.items() if table.rates()[key].suite == 2017}
    assert both == {
        "intel xeon e5-2620": pytest.approx(10.0, abs=0.05),
        "intel xeon e5-2620 v2": pytest.approx(9.1, abs=0.05),
        "intel xeon e5-2670": pytest.approx(9.4, abs=0.05),
        "intel xeon e5-2670 v2": pytest.approx(9.3, abs=0.05),
    }
    assert abs(statistics.mean(both.values()) - table.RATIO_OF_SUITES) < 0.1
    assert max(abs(each / table.RATIO_OF_SUITES - 1) for each in both.values()) <= throughput.BRIDGE


@pytest.mark.parametrize(
    ("generation", "per_core_ghz"),
    [
        *(("Sandy Bridge", 1.6), ("Ivy Bridge", 1.6), ("Haswell", 2.2), ("Broadwell", 1.8), ("Skylake", 2.2)),
        *(("Cascade Lake", 2.4), ("Ice Lake", 2.9), ("Sapphire Rapids", 4.0), ("Emerald Rapids", 4.1)),
        *(("Granite Rapids", 4.3), ("Sierra Forest", 2.3), ("Naples", 2.2), ("Rome", 2.5), ("Milan", 3.1)),
        *(("Genoa", 3.6), ("Turin", 4.1), ("Westmere", 1.1)),
    ],
)
def test_a_generation_has_the_median_of_its_cpus(generation: str, per_core_ghz: float) -> None:
    value, error, count = throughput.per_core_ghz_of(generation)
    alike = table.generations()[generation]
    each = sorted(rate.median / 2 / rate.cores_per_socket / (rate.base_hz / 1e9) for rate in alike)
    assert value == pytest.approx(statistics.median(each))
    assert value == pytest.approx(per_core_ghz, abs=0.06)
    assert count == len(each)
    assert 0.09 < error < 0.25


def test_an_estimate_by_generation_is_per_core_and_clock() -> None:
    found = host("Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz", ghz=3.2)
    per_core_ghz, error, _ = throughput.per_core_ghz_of("Haswell")
    assert error == throughput.FEW_ERROR  # two CPUs say too little
    assert found.value is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(per_core_ghz * 16 * 3.2)
    assert (found.low, found.high) == pytest.approx((found.value / 1.2, found.value * 1.2))
    assert found.basis == "generation"
    assert "Haswell" in found.text


def test_a_series_without_published_cpus_is_less_sure() -> None:
    series = host("Intel Xeon X5675", cores=6, ghz=3.06)  # Westmere has only E7
    own = host("Intel Xeon E7-2890", cores=10, ghz=2.4)
    assert series.value and series.high and own.value and own.high
    assert series.high / series.value == pytest.approx(1.2)
    assert own.high / own.value < 1.15
    # between the two estimates by other benchmarks: 42 by the older suite, 44 by SPECpower
    assert series.low and series.low < 42 < 44 < series.high


def test_estimates_by_the_older_suite_have_its_error_too() -> None:
    newer, older = (throughput.per_core_ghz_of(each)[1] for each in ("Skylake", "Westmere"))
    # the error over all generations is larger than that of either
    assert older == pytest.approx(math.hypot(newer, throughput.BRIDGE))


def test_four_of_five_left_out_cpus_are_within_the_error_of_their_generation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    inside = total = 0
    for generation, rates in table.generations().items():
        if len(rates) < 3:
            continue
        _, error, _ = throughput.per_core_ghz_of(generation)
        errors = throughput.left_out([rate.per_core_ghz for rate in rates])
        within = sum(each <= error for each in errors)
        assert within >= 0.8 * len(errors), generation
        inside, total = inside + within, total + len(errors)
    assert 0.80 <= inside / total <= 0.90, f"{inside} of {total}"


@pytest.mark.parametrize("cpu", [None, "", "QEMU Virtual CPU version 2.5+", "Intel Xeon E5520", "Intel Xeon"])
def test_an_unknown_cpu_has_no_throughput(cpu: str | None) -> None:
    found = host(cpu)
    assert (found.value, found.low, found.high, found.per_core, found.source) == (None,) * 5
    assert found.basis == "unknown"
    assert "ive " in found.text  # what to give
    known = host("Intel Xeon Gold 6338", cores=32)
    assert ratio(known, found).value is None
    assert ratio(found, known).value is None
    assert ratio(found, known).text == found.text


def test_one_socket_has_its_own_results_or_half_of_two() -> None:
    own = host("AMD EPYC 7742", sockets=1, cores=64)
    assert own.value == pytest.approx(344.5)
    assert "one socket" in own.text
    half = host("Intel Xeon E5-2680", sockets=1)
    both = host("Intel Xeon E5-2680")
    assert half.value and half.high and both.value and both.high
    assert half.value == pytest.approx(both.value / 2)
    assert half.high / half.value > both.high / both.value
    assert "half of two" in half.text


def test_one_socket_is_half_of_two_within_its_error() -> None:
    halves = sorted(rate.one_socket / rate.median * 2 for rate in table.rates().values() if rate.one_socket)
    assert len(halves) == 222
    inside = [each for each in halves if abs(each - 1) <= throughput.ONE_SOCKET]
    assert 0.8 <= len(inside) / len(halves) < 0.95


def test_four_sockets_are_twice_two() -> None:
    two, four = host("Intel Xeon E5-4650"), host("Intel Xeon E5-4650", sockets=4)
    assert two.value and two.high and four.value and four.high
    assert four.value == pytest.approx(2 * 597 / 9.4)
    assert four.high / four.value > two.high / two.value


def test_an_epyc_for_one_socket_is_its_plain_model() -> None:
    found = host("AMD EPYC 7543P 32-Core Processor", sockets=1, cores=32)
    assert found.value == pytest.approx(273.5)
    assert "AMD EPYC 7543P is AMD EPYC 7543 for one socket" in found.text


def test_other_cores_than_published_scale_and_widen() -> None:
    whole, part = host("Intel Xeon Gold 6338", cores=32), host("Intel Xeon Gold 6338", cores=16)
    assert whole.value and whole.high and part.value and part.high
    assert part.value == pytest.approx(whole.value / 2)
    assert part.high / part.value > whole.high / whole.value + 0.03


def test_hyper_threading_off_divides_only_where_results_have_it() -> None:
    on, off = host("Intel Xeon Gold 6338", cores=32), host("Intel Xeon Gold 6338", cores=32, threads=1)
    assert on.value and on.low and on.high and off.value and off.low and off.high
    assert off.value == pytest.approx(on.value / 1.25)
    assert off.high / off.value > on.high / on.value
    assert off.value / off.low == pytest.approx(
        math.exp(math.hypot(math.log(on.value / on.low), math.log(1.30 / 1.25)))
    )
    assert "hyper-threading" in off.text
    for single in ("Intel Xeon 6780E", "Intel Xeon Bronze 3204", "Intel Xeon E5-2609", "AMD Opteron 6276"):
        assert host(single, threads=1).value == host(single).value
    for estimated, divisor in (
        ("Intel Xeon E5-2609 v3", 1),
        ("Intel Xeon E5-2690 v4", 1.25),
    ):  # only the first has none
        whole = host(estimated).value
        assert whole is not None
        assert host(estimated, threads=1).value == pytest.approx(whole / divisor)


def test_a_marked_compiler_lowers_the_low_end() -> None:
    marked = host("Intel Xeon E5-2680 v4", cores=14)
    assert marked.value == 149 and marked.low is not None and marked.high is not None
    assert marked.low == pytest.approx(149 / (1 + math.hypot(0.06, 0.09)))
    assert marked.high == pytest.approx(149 * 1.06)
    assert "SPEC marked the compiler" in marked.text


def test_the_same_cpu_is_exactly_as_fast_even_if_unknown() -> None:
    for cpu in ("Intel Xeon Gold 6338", "Intel Xeon E5520", "Intel Xeon E5-2690 v4"):
        found = ratio(host(cpu, cores=32), host(cpu.upper(), sockets=1, cores=16, ghz=2.0))
        assert (found.value, found.low, found.high) == (1, 1, 1)
    assert ratio(host("Intel Xeon"), host("Intel Xeon")).value is None  # no model
    assert ratio(host(None), host(None)).value is None
    off = ratio(host("Intel Xeon Gold 6338", cores=32, threads=1), host("Intel Xeon Gold 6338", cores=32))
    assert off.value == pytest.approx(0.8)


def test_a_ratio_is_per_core_with_independent_errors() -> None:
    new, old = host("Intel Xeon Gold 6338", cores=32), host("Intel Xeon E5-2620 v4")
    found = ratio(new, old)
    assert found.value and new.value and new.low and new.high and old.value and old.low and old.high
    assert found.value == pytest.approx((412 / 64) / (65.2 / 16), rel=0.001)
    assert found.high == pytest.approx(
        found.value * math.exp(math.hypot(math.log(new.high / new.value), math.log(old.value / old.low)))
    )
    assert found.low == pytest.approx(
        found.value * math.exp(-math.hypot(math.log(new.value / new.low), math.log(old.high / old.value)))
    )
    turned = ratio(old, new)
    assert turned.low is not None and found.high is not None
    assert turned.value == pytest.approx(1 / found.value)
    assert turned.low == pytest.approx(1 / found.high)


def test_years_between_results_are_named() -> None:
    old, new = host("Intel Xeon E5-2650 v4", cores=12), host("Intel Xeon 6787P", cores=86)
    assert "newer compiler" in ratio(new, old).text
    assert "newer compiler" not in ratio(new, host("AMD EPYC 9965", cores=192)).text
