"""Published figures of CPUs and servers: the rows of `library/published`, by name of the CPU.

The first lines of each file name its source.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from hypertwin import library
from hypertwin.published import names

SPEC_URL = "https://www.spec.org"
SPECRATE_2006_SOURCE = "https://github.com/karlarao/specint_cpu_explorer"
CURVES_SOURCE = "https://github.com/green-coding-solutions/spec-power-model"
PAIRS_SOURCE = "https://github.com/cloud-carbon-footprint/ccf-coefficients"

RATIO_OF_SUITES = 9.4
"""SPECint_rate_base2006 over SPECrate2017_int_base.

The ratios of the four CPUs with both are 10.0 (E5-2620), 9.1 (E5-2620 v2), 9.4 (E5-2670) and 9.3 (E5-2670 v2).
"""


@dataclass(frozen=True)
class Cpu:
    """Facts about a CPU from its vendor."""

    cpu: str
    """Name of the CPU (`names.name`)."""
    threads_per_core: int | None
    """Threads per core, or None if unknown."""
    year: int | None
    """Year of launch, or None if unknown."""
    tdp_w: float
    """Thermal design power per socket, in W."""


@dataclass(frozen=True)
class Rate:
    """Published integer throughput of a CPU, in points of SPECrate2017_int_base, for two sockets."""

    cpu: str
    """Name of the CPU (`names.name`)."""
    suite: int
    """SPEC CPU suite of the results: 2017, or 2006 with points converted by `RATIO_OF_SUITES`."""
    cores_per_socket: int
    threads_per_core: int | None
    """Threads per core in the results, or None if unknown."""
    base_hz: float
    """Nominal clock, in Hz."""
    results: int
    """Number of published results."""
    median: float
    low: float
    high: float
    one_socket: float | None
    """Median of results with one socket."""
    flagged: bool
    """True if all results come from a compiler that SPEC marked as not representative."""
    result_id: str | None
    """Published result nearest the median, as in its address."""

    @property
    def date(self) -> str | None:
        """Date of the result nearest the median, such as 2018-02-06, or None if unknown."""
        if self.result_id is None:
            return None
        digits = self.result_id.rpartition("cpu2017-")[2][:8]
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"

    @property
    def per_core_ghz(self) -> float:
        """Points per core and GHz of nominal clock."""
        return self.median / (2 * self.cores_per_socket) / (self.base_hz / 1e9)


@dataclass(frozen=True)
class Server:
    """SPECpower_ssj2008 result of a server with two sockets."""

    cpu: str
    """Name of the CPU (`names.name`)."""
    published: str
    """Month and year of publication."""
    year: int | None
    """Year of the hardware, or None if the source does not have it."""
    memory_gib: float
    watts: tuple[float, ...]
    """Watts at active idle and at 10, 20 ... 100% of the highest throughput, or only at idle and at 100%."""


@cache
def cpus() -> Mapping[str, Cpu]:
    """Return what vendors list of each CPU, by `names.key`."""
    found = (
        Cpu(
            cpu=names.name(row["cpu_model"]),
            threads_per_core=int(row["threads_per_core"]) if row["threads_per_core"] else None,
            year=int(row["year"]) if row["year"] else None,
            tdp_w=float(row["tdp_w"]),
        )
        for row in _rows("cpus.csv")
    )
    return {names.key(cpu.cpu): cpu for cpu in found}


@cache
def rates() -> Mapping[str, Rate]:
    """Return the throughput of each CPU by `names.key`. Results of the newer suite take priority."""
    older = (
        Rate(
            cpu=names.name(row["cpu_model"]),
            suite=2006,
            cores_per_socket=int(row["cores_per_socket"]),
            threads_per_core=int(row["threads_per_core"]) if row["threads_per_core"] else None,
            base_hz=int(row["base_mhz"]) * 1e6,
            results=int(row["n_results"]),
            median=float(row["median"]) / RATIO_OF_SUITES,
            low=float(row["min"]) / RATIO_OF_SUITES,
            high=float(row["max"]) / RATIO_OF_SUITES,
            one_socket=None,
            flagged=False,
            result_id=None,
        )
        for row in _rows("specrate2006.csv")
    )
    newer = (
        Rate(
            cpu=names.name(row["cpu_model"]),
            suite=2017,
            cores_per_socket=int(row["cores_per_socket"]),
            threads_per_core=int(row["threads_per_core"]),
            base_hz=int(row["base_mhz"]) * 1e6,
            results=int(row["n_results"]),
            median=float(row["median"]),
            low=float(row["min"]),
            high=float(row["max"]),
            one_socket=float(row["one_socket_median"]) if row["one_socket_median"] else None,
            flagged=row["only_flagged_compiler"] == "yes",
            result_id=row["result_id"],
        )
        for row in _rows("specrate2017.csv")
    )
    return {names.key(rate.cpu): rate for rate in (*older, *newer)}


@cache
def generations() -> Mapping[str, tuple[Rate, ...]]:
    """Return the CPUs of each generation (`names.generation`) with published throughput, in order of name."""
    found: dict[str, list[Rate]] = {}
    for rate in sorted(rates().values(), key=lambda rate: rate.cpu):
        generation = names.generation(rate.cpu)
        if generation is not None:
            found.setdefault(generation, []).append(rate)
    return {generation: tuple(each) for generation, each in found.items()}


@cache
def year(cpu: str) -> int | None:
    """Return the year of launch of a CPU: the vendor's, else that of its generation, else None."""
    vendor = cpus().get(names.key(cpu))
    if vendor is not None and vendor.year is not None:
        return vendor.year
    generation = names.generation(cpu)
    alike = [each.year for each in cpus().values() if generation and names.generation(each.cpu) == generation]
    results = [int(rate.date[:4]) for rate in generations().get(generation or "", ()) if rate.date]
    years = [each for each in alike if each is not None] or results
    return min(years, default=None)


@cache
def curves() -> tuple[Server, ...]:
    """Return the SPECpower results with watts at eleven loads."""
    return _servers("specpower_curves.csv", range(0, 101, 10))


@cache
def pairs() -> tuple[Server, ...]:
    """Return the SPECpower results with watts at idle and at 100%."""
    return _servers("specpower_pairs.csv", (0, 100))


def _servers(file: str, loads: Iterable[int]) -> tuple[Server, ...]:
    return tuple(
        Server(
            cpu=names.name(row["cpu"]),
            published=row["published"],
            year=int(row["year"]) if "year" in row else None,
            memory_gib=float(row["memory_gib"]),
            watts=tuple(float(row[f"w{load}"]) for load in loads),
        )
        for row in _rows(file)
    )


def _rows(name: str) -> Iterable[dict[str, str]]:
    lines = (library.published() / name).read_text(encoding="utf-8").splitlines()
    return csv.DictReader(line for line in lines if not line.startswith("#"))
