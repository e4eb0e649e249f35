"""Integer throughput of a host by its CPU: SPECrate2017_int_base, published or estimated, with an 80% interval.

SPECrate is the throughput of all threads together. A single busy vCPU gains less from a new CPU than its host does.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from hypertwin.published import names, table
from hypertwin.published.table import Rate

METRIC = "SPECrate2017_int_base"

Basis = Literal["published", "published-2006", "generation", "unknown"]

SPREAD = 0.06
"""Relative error of a published figure, at least: the results of one CPU differ by 11% (median of 338 CPUs)."""
BRIDGE = 0.07
"""Relative error of the conversion from the suite of 2006: the four CPUs with both results."""
FLAGGED = 0.09
"""Share by which results of a compiler that SPEC marked can be too high."""
ONE_SOCKET = 0.03
"""Relative error of half of two sockets as one: the middle 80% of 222 CPUs with both."""
MORE_SOCKETS = 0.05
"""Assumed relative error of scaling two sockets to more."""
OTHER_CORES = 0.10
"""Assumed relative error if a host has another number of cores than the published server."""
FEW = 10
"""CPUs of a generation below which its own spread says too little."""
FEW_ERROR = 0.20
"""Relative error, at least, of estimates by a generation with few published CPUs, or with none of the CPU's series."""
YEARS_OF_COMPILERS = 4
"""Years between two results after which compilers differ noticeably."""
SMT_YIELD = 1.25
"""Throughput of a core with two busy threads over one thread: the twin's default (docs/models/smt.md)."""
SMT_YIELD_RANGE = (1.15, 1.30)
"""Usual yields of server software (docs/models/smt.md)."""


@dataclass(frozen=True)
class Throughput:
    """Throughput of a host, in points of SPECrate2017_int_base."""

    cpu: str | None
    """Name of the CPU (`names.name`), or None if not given."""
    cores: int
    """Number of cores of the host."""
    threads_per_core: int
    value: float | None
    """Points of the host, or None if unknown."""
    low: float | None
    """Lower end of the 80% interval."""
    high: float | None
    """Upper end of the 80% interval."""
    basis: Basis
    text: str
    """Explanation in plain sentences."""
    source: str | None
    """Address of the published figure."""
    year: int | None
    """Year of the published results, or None if they are of several CPUs."""

    @property
    def per_core(self) -> float | None:
        """Points per core, or None if unknown."""
        return None if self.value is None else self.value / self.cores


@dataclass(frozen=True)
class Ratio:
    """Throughput per core of a new host relative to an old one."""

    value: float | None
    """Ratio, or None if one side is unknown."""
    low: float | None
    """Lower end of the 80% interval."""
    high: float | None
    """Upper end of the 80% interval."""
    text: str
    """Explanation in plain sentences."""


@dataclass(frozen=True)
class _Estimate:
    """Points of two sockets, or of the host, with its relative errors."""

    value: float
    below: float
    """Relative error below the value, as a logarithm."""
    above: float
    basis: Basis
    text: str
    source: str
    year: int | None = None

    def times(self, factor: float, text: str = "", below: float = 0.0, above: float | None = None) -> _Estimate:
        """Return the estimate times a factor with independent relative errors."""
        above = below if above is None else above
        return replace(
            self,
            value=self.value * factor,
            below=math.hypot(self.below, math.log1p(below)),
            above=math.hypot(self.above, math.log1p(above)),
            text=f"{self.text} {text}" if text else self.text,
        )


def throughput(
    cpu_model: str | None, *, sockets: int, cores_per_socket: int, clock_hz: int, threads_per_core: int = 2
) -> Throughput:
    """Return the throughput of a host by the name of its CPU.

    The basis is the published results of the CPU, else the median of its generation per core and GHz. Without either,
    the value is None: a throughput is never assumed.
    """
    cpu = names.name(cpu_model or "") or None
    cores = sockets * cores_per_socket
    found = _estimate(cpu, sockets, cores_per_socket, clock_hz) if cpu else None
    if cpu is None or found is None:
        return Throughput(cpu, cores, threads_per_core, None, None, None, "unknown", _unknown(cpu), None, None)
    estimate, threads = found
    if threads_per_core == 1 and threads != 1:
        least, most = SMT_YIELD_RANGE
        estimate = estimate.times(
            1 / SMT_YIELD,
            f"Published results have hyper-threading on. This host has it off, so the figure is divided by"
            f" {SMT_YIELD} ({least:.2f} to {most:.2f}).",
            most / SMT_YIELD - 1,
            SMT_YIELD / least - 1,
        )
    return Throughput(
        cpu,
        cores,
        threads_per_core,
        estimate.value,
        estimate.value * math.exp(-estimate.below),
        estimate.value * math.exp(estimate.above),
        estimate.basis,
        estimate.text,
        estimate.source,
        estimate.year,
    )


def ratio(new: Throughput, old: Throughput) -> Ratio:
    """Return the throughput per core of `new` relative to `old`.

    The same CPU on both sides gives exactly 1, also if its throughput is unknown. The relative errors of two CPUs are
    independent.
    """
    if new.cpu is not None and _same(new, old):
        return Ratio(1.0, 1.0, 1.0, f"Both hosts have {new.cpu}, so a core of both does the same.")
    if new.value is None or old.value is None:
        missing = new if new.value is None else old
        return Ratio(None, None, None, missing.text)
    assert new.low and new.high and old.low and old.high
    value = (new.value / new.cores) / (old.value / old.cores)
    below = math.hypot(math.log(new.value / new.low), math.log(old.high / old.value))
    above = math.hypot(math.log(new.high / new.value), math.log(old.value / old.low))
    low, high = value * math.exp(-below), value * math.exp(above)
    text = (
        f"A core of {new.cpu} has {value:.2f} times the throughput of a core of {old.cpu} ({low:.2f} to {high:.2f}),"
        f" by {METRIC}: {new.value / new.cores:.2f} and {old.value / old.cores:.2f} points."
    )
    if new.year and old.year and abs(new.year - old.year) >= YEARS_OF_COMPILERS:
        text += f" The results are of {new.year} and {old.year}: a part of the ratio is the newer compiler."
    return Ratio(value, low, high, text)


def _same(new: Throughput, old: Throughput) -> bool:
    """True if both hosts have the same CPU with the same threads. A name without a number is no CPU model."""
    named = new.cpu is not None and old.cpu is not None and any(map(str.isdigit, new.cpu))
    return (
        named and names.key(new.cpu or "") == names.key(old.cpu or "") and new.threads_per_core == old.threads_per_core
    )


def _estimate(cpu: str, sockets: int, cores_per_socket: int, clock_hz: int) -> tuple[_Estimate, int | None] | None:
    """Return the throughput of a host with all threads, and the threads per core of published results."""
    known = table.rates()
    rate = known.get(names.key(cpu))
    instead = ""
    if rate is None and (plain := names.without_p(cpu)) is not None:
        rate = known.get(names.key(plain))
        instead = f"{cpu} is {plain} for one socket." if rate else ""
    if rate is not None:
        return _of_sockets(_published(rate, instead), rate, sockets, cores_per_socket), rate.threads_per_core
    generation = names.generation(cpu)
    alike = table.generations().get(generation or "", ())
    if not alike:
        return None
    vendor = table.cpus().get(names.key(cpu))
    threads = vendor.threads_per_core if vendor else None
    if all(each.threads_per_core == 1 for each in alike):
        threads = 1
    return _by_generation(cpu, generation or "", sockets * cores_per_socket, clock_hz), threads


def _published(rate: Rate, instead: str) -> _Estimate:
    """Return the published throughput of a CPU with two sockets."""
    below = max(SPREAD, rate.median / rate.low - 1)
    above = max(SPREAD, rate.high / rate.median - 1)
    results = f"{rate.results} published result{'s' if rate.results > 1 else ''}"
    spread = f", {rate.low:.4g} to {rate.high:.4g}" if rate.results > 1 else ""
    if rate.suite == 2006:
        points = rate.median * table.RATIO_OF_SUITES
        text = (
            f"{instead} Estimate from {results} of SPECint_rate_base2006 with two sockets to March 2014:"
            f" median {points:.4g}, divided by {table.RATIO_OF_SUITES} for {METRIC}."
        )
        return _Estimate(
            rate.median,
            _log(below, BRIDGE),
            _log(above, BRIDGE),
            "published-2006",
            text.strip(),
            table.SPECRATE_2006_SOURCE,
        )
    assert rate.result_id is not None and rate.date is not None
    nearest = "Nearest result" if rate.results > 1 else "Result"
    text = (
        f"{instead} Median of {results} of {METRIC} for {rate.cpu} with two sockets: {rate.median:.4g}{spread}."
        f" {nearest}: {rate.result_id.partition('/')[2]} ({rate.date})."
    )
    year = int(rate.date[:4])
    url = f"{table.SPEC_URL}/cpu2017/results/{rate.result_id}.html"
    if rate.flagged:
        text += f" SPEC marked the compiler of these results: they can be up to {FLAGGED:.0%} too high."
        return _Estimate(rate.median, _log(below, FLAGGED), _log(above), "published", text.strip(), url, year)
    return _Estimate(rate.median, _log(below), _log(above), "published", text.strip(), url, year)


def _of_sockets(two: _Estimate, rate: Rate, sockets: int, cores_per_socket: int) -> _Estimate:
    """Return the throughput of a host with other sockets or cores than the published servers."""
    host = two
    if sockets == 1 and rate.one_socket is not None:
        host = two.times(
            rate.one_socket / rate.median, f"Results with one socket have a median of {rate.one_socket:.4g}."
        )
    elif sockets == 1:
        host = two.times(0.5, "One socket is half of two.", ONE_SOCKET)
    elif sockets != 2:
        host = two.times(sockets / 2, f"{sockets} sockets are {sockets / 2:g} times two.", MORE_SOCKETS)
    if cores_per_socket != rate.cores_per_socket:
        host = host.times(
            cores_per_socket / rate.cores_per_socket,
            f"The host has {cores_per_socket} cores per socket instead of {rate.cores_per_socket}: scaled by cores.",
            OTHER_CORES,
        )
    return host


def _by_generation(cpu: str, generation: str, cores: int, clock_hz: int) -> _Estimate:
    per_core_ghz, error, count = per_core_ghz_of(generation)
    if not any(_series(rate.cpu) == _series(cpu) for rate in table.generations()[generation]):
        error = max(error, FEW_ERROR)
    text = (
        f"{cpu} has no published result here."
        f" The median of {count} CPUs of {generation} is {per_core_ghz:.2f} points of {METRIC} per core and GHz."
        f" Times {cores} cores and {clock_hz / 1e9:.2f} GHz, ±{error:.0%}."
    )
    value = per_core_ghz * cores * clock_hz / 1e9
    old = _is_mostly_of_2006(table.generations()[generation])
    source = table.SPECRATE_2006_SOURCE if old else f"{table.SPEC_URL}/cpu2017/results"
    return _Estimate(value, math.log1p(error), math.log1p(error), "generation", text, source)


def _is_mostly_of_2006(rates: Sequence[Rate]) -> bool:
    return sum(rate.suite == 2006 for rate in rates) > len(rates) / 2


@cache
def per_core_ghz_of(generation: str) -> tuple[float, float, int]:
    """Return points per core and GHz of a generation, the relative error of 80% of its CPUs, and their number.

    The error is that of each CPU if the median of the others estimates it. It is at least the error over all
    generations, at least `FEW_ERROR` with few CPUs, and includes the conversion from the suite of 2006.
    """
    alike = table.generations()[generation]
    values = [rate.per_core_ghz for rate in alike]
    everywhere = ([rate.per_core_ghz for rate in rates] for rates in table.generations().values())
    error = max(_eighty(left_out(values)), _eighty([each for own in everywhere for each in left_out(own)]))
    if len(values) < FEW:
        error = max(error, FEW_ERROR)
    if _is_mostly_of_2006(alike):
        error = math.hypot(error, BRIDGE)
    return statistics.median(values), error, len(values)


def left_out(values: Sequence[float]) -> list[float]:
    """Return the relative error of each value if the median of the others estimates it."""
    if len(values) < 2:
        return []
    rest = ((value, [*values[:index], *values[index + 1 :]]) for index, value in enumerate(values))
    return [abs(value / statistics.median(others) - 1) for value, others in rest]


def _eighty(errors: Sequence[float]) -> float:
    """Return the 80th percentile of errors: at least 80% of them are not larger."""
    return sorted(errors)[math.ceil(0.8 * len(errors)) - 1] if errors else 0.0


def _series(cpu: str) -> str:
    """Return the series of a CPU: its name to the first digit."""
    return re.split(r"(?<=\d)", names.key(cpu), maxsplit=1)[0]


def _log(*errors: float) -> float:
    """Return independent relative errors together, as a logarithm."""
    return math.log1p(math.hypot(*errors))


def _unknown(cpu: str | None) -> str:
    if cpu is None:
        return "The CPU model is not known: give it as `cpu_model` of the host."
    generation = names.generation(cpu)
    why = f"{generation} has no published figures here" if generation else "its generation is not known"
    return f"No throughput for {cpu}: {why}. Give the model as the vendor writes it, such as `Intel Xeon Gold 6338`."
