"""Power of a server by its load: measured watts, SPECpower_ssj2008 results of its CPU, or its thermal design power.

The power of a server is not a straight line from idle to full load. Shapes by year of hardware are the medians of the
SPECpower results in `specpower_curves.csv`. Load is a share of the highest throughput, not of CPU time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from hypertwin.published import names, table
from hypertwin.published.table import Server

Basis = Literal["measured", "published", "generation", "unknown"]

POINTS = 11
"""Loads of a curve: idle, 10%, 20% ... 100%."""
PERIODS = (2011, 2014, 2017, 2020)
"""Last years of the periods of hardware. Shapes differ between periods."""
RECENT = 2023
"""Year of publication from which results count for hardware that is newer than the newest curves."""
MEMORY_W_PER_GIB = 0.392
"""Power of additional memory, at most, by `constants.py` of github.com/cloud-carbon-footprint/ccf-coefficients.

The low end is 0, and the middle is half. In the results of EPYC 7501, a server with 512 GiB takes no more than one with
128 GiB.
"""
FEW = 3
"""Results of a CPU below which its own curves say too little."""
ONE_SOCKET = (0.53, 0.56, 0.63)
"""Watts of one socket over two: low, median and high of eight CPUs with SPECpower results of both."""
TUNED = "SPECpower servers are tuned: real servers have more memory and disks, and idle higher."


@dataclass(frozen=True)
class Power:
    """Power of a server by load, with an 80% interval."""

    basis: Basis
    text: str
    """Explanation in plain sentences."""
    source: str | None
    """Address of the published figures."""
    low: tuple[float, ...] | None
    """Lower end of watts at idle and at 10, 20 ... 100% load, or None if unknown."""
    mid: tuple[float, ...] | None
    high: tuple[float, ...] | None

    def watts(self, load: float) -> tuple[float, float, float] | None:
        """Return low, middle and high watts at a load from 0 to 1 of the highest throughput, or None if unknown.

        A load outside this range counts as its nearest end. Between the points, the watts are interpolated.
        """
        if self.low is None or self.mid is None or self.high is None:
            return None
        return _at(self.low, load), _at(self.mid, load), _at(self.high, load)


@dataclass(frozen=True)
class _Range:
    """Low, median and high of a figure over servers."""

    low: float
    mid: float
    high: float


def power(
    cpu_model: str | None,
    *,
    sockets: int,
    memory_gib: float,
    watts_idle: float | None = None,
    watts_full: float | None = None,
    year: int | None = None,
    tdp_w: float | None = None,
) -> Power:
    """Return the power of a server.

    Measured watts have priority over published results of the CPU, and these over its thermal design power. `tdp_w` is
    this power per socket, by default that of the vendor's table. Without it, published results of the CPU's generation
    count. `year` of the hardware chooses the shape, instead of
    the CPU's generation. Raises ValueError for impossible watts.
    """
    _check(watts_idle, watts_full, tdp_w)
    cpu = names.name(cpu_model or "")
    servers = _servers(cpu)
    year = year or table.year(cpu)
    shapes = [server for server in servers if len(server.watts) == POINTS]
    if len(shapes) < FEW:
        shapes = _of_period(year)
    if watts_full is not None or watts_idle is not None:
        return _measured(watts_idle, watts_full, shapes, servers or _idle_like(year))
    if servers:
        return _published(cpu, servers, shapes, sockets, memory_gib)
    vendor = table.cpus().get(names.key(cpu)) or table.cpus().get(names.key(names.without_p(cpu) or cpu))
    tdp = tdp_w or (vendor.tdp_w if vendor else None)
    if tdp is None and (kin := _of_generation(cpu)):
        return _by_generation(cpu, kin, shapes, sockets, memory_gib)
    if tdp is None:
        named = f"No power for {cpu}" if cpu else "The CPU model is not known"
        return Power(
            "unknown",
            f"{named}: give measured watts at idle and full load, or the thermal design power of its data sheet.",
            *(None, None, None, None),
        )
    return _by_tdp(cpu, tdp, shapes, _idle_like(year), sockets, memory_gib)


def kwh(watts: float, hours: float, pue: float = 1.0) -> float:
    """Return the energy of mean watts over hours. `pue` is the power of the room over that of its servers."""
    if pue < 1 or hours < 0 or watts < 0:
        raise ValueError(f"{watts:g} W, {hours:g} h, PUE {pue:g}: watts and hours must be positive, PUE at least 1")
    return watts * hours / 1000 * pue


def _check(watts_idle: float | None, watts_full: float | None, tdp_w: float | None) -> None:
    for name, watts in (("watts_idle", watts_idle), ("watts_full", watts_full), ("tdp_w", tdp_w)):
        if watts is not None and not (math.isfinite(watts) and watts > 0):
            raise ValueError(f"{name} is {watts:g}: must be above 0")
    if watts_idle is not None and watts_full is not None and watts_idle > watts_full:
        raise ValueError(f"watts_idle is {watts_idle:g}: must be at most watts_full, {watts_full:g}")


def _measured(idle: float | None, full: float | None, shapes: Sequence[Server], alike: Sequence[Server]) -> Power:
    """Return the power between measured watts. The one that is missing follows from servers like it."""
    share = _range([server.watts[0] / server.watts[-1] for server in alike])
    if full is not None:
        idles = (
            _Range(full * share.low, full * share.mid, full * share.high) if idle is None else _Range(idle, idle, idle)
        )
        fulls = _Range(full, full, full)
    else:
        assert idle is not None
        idles = _Range(idle, idle, idle)
        fulls = _Range(idle / share.high, idle / share.mid, idle / share.low)
    given = [f"{watts:g} W at {load}" for watts, load in ((idle, "idle"), (full, "full load")) if watts is not None]
    missing = f" {_idle_text(share, alike)}" if len(given) == 1 else ""
    text = f"Measured: {', '.join(given)}.{missing} {_shape_text(shapes)}"
    return _power("measured", text, table.CURVES_SOURCE, idles, fulls, shapes)


def _published(cpu: str, servers: Sequence[Server], shapes: Sequence[Server], sockets: int, memory_gib: float) -> Power:
    idles = _range([server.watts[0] for server in servers])
    fulls = _range([server.watts[-1] for server in servers])
    text = (
        f"{cpu} with two sockets: median of {_results(servers)}."
        f" Idle is {idles.mid:.0f} W and full load {fulls.mid:.0f} W."
    )
    source = table.CURVES_SOURCE if all(len(server.watts) == POINTS for server in servers) else table.PAIRS_SOURCE
    idles, fulls = (_at_least(own, spread) for own, spread in zip((idles, fulls), _spread_of_servers(), strict=True))
    return _sized("published", text, source, idles, fulls, shapes, servers, sockets, memory_gib)


def _by_tdp(
    cpu: str, tdp: float, shapes: Sequence[Server], alike: Sequence[Server], sockets: int, memory_gib: float
) -> Power:
    """Return the power by the thermal design power of the sockets."""
    over = watts_over_tdp()
    share = _range([server.watts[0] / server.watts[-1] for server in alike])
    fulls = _Range(2 * tdp * over.low, 2 * tdp * over.mid, 2 * tdp * over.high)
    idles = _Range(fulls.mid * share.low, fulls.mid * share.mid, fulls.mid * share.high)
    text = (
        f"No SPECpower result for {cpu or 'the CPU'} here. Its thermal design power is 2 × {tdp:g} W."
        f" Full load is {over.mid:.2f} times that power ({over.low:.2f} to {over.high:.2f} over other CPUs)."
        f" {_idle_text(share, alike)}"
    )
    return _sized("generation", text, table.PAIRS_SOURCE, idles, fulls, shapes, alike, sockets, memory_gib)


def _by_generation(cpu: str, kin: Sequence[Server], shapes: Sequence[Server], sockets: int, memory_gib: float) -> Power:
    """Return the power of servers whose CPUs are of the same generation, which differ widely."""
    idles = _range([server.watts[0] for server in kin])
    fulls = _range([server.watts[-1] for server in kin])
    text = (
        f"No SPECpower result and no thermal design power of {cpu} here. Servers of its generation,"
        f" {names.generation(cpu)}, with two sockets: median of {_results(kin)}, full load is {fulls.mid:.0f} W"
        f" ({fulls.low:.0f} to {fulls.high:.0f}), idle {idles.mid:.0f} W."
    )
    return _sized("generation", text, table.PAIRS_SOURCE, idles, fulls, shapes, kin, sockets, memory_gib)


def _sized(
    basis: Basis,
    text: str,
    source: str,
    idles: _Range,
    fulls: _Range,
    shapes: Sequence[Server],
    alike: Sequence[Server],
    sockets: int,
    memory_gib: float,
) -> Power:
    """Return the power with other sockets and more memory than the published servers `alike` have."""
    text += f" {_shape_text(shapes)} {TUNED}"
    if sockets == 1:
        low, mid, high = ONE_SOCKET
        idles, fulls = (_times(each, low, mid, high) for each in (idles, fulls))
        text += f" One socket takes {mid:.0%} of two ({low:.0%} to {high:.0%})."
    elif sockets != 2:
        idles, fulls = (_times(each, *[sockets / 2] * 3) for each in (idles, fulls))
        text += f" {sockets} sockets are {sockets / 2:g} times two."
    more_gib = memory_gib - statistics.median(server.memory_gib for server in alike)
    added = more_gib * MEMORY_W_PER_GIB
    if added >= 1:
        idles, fulls = (_Range(each.low, each.mid + added / 2, each.high + added) for each in (idles, fulls))
        text += f" It has {more_gib:.0f} GiB of memory more than published servers: 0 to {added:.0f} W."
    return _power(basis, text, source, idles, fulls, shapes)


def _power(basis: Basis, text: str, source: str, idles: _Range, fulls: _Range, shapes: Sequence[Server]) -> Power:
    """Return the power between idle and full watts. Errors of watts and of the shape are independent."""
    rises = [_rise(server) for server in shapes]
    bends = [_range([rise[point] for rise in rises]) for point in range(POINTS)]

    def curve(idle: float, full: float, bend: Callable[[_Range], float]) -> list[float]:
        return [idle + (full - idle) * bend(each) for each in bends]

    mid = curve(idles.mid, fulls.mid, lambda bend: bend.mid)
    below = zip(
        curve(idles.low, fulls.low, lambda bend: bend.mid),
        curve(idles.mid, fulls.mid, lambda bend: bend.low),
        strict=True,
    )
    above = zip(
        curve(idles.high, fulls.high, lambda bend: bend.mid),
        curve(idles.mid, fulls.mid, lambda bend: bend.high),
        strict=True,
    )
    low = [max(0.0, each - math.hypot(*(each - end for end in ends))) for each, ends in zip(mid, below, strict=True)]
    high = [each + math.hypot(*(end - each for end in ends)) for each, ends in zip(mid, above, strict=True)]
    return Power(basis, text, source, *map(tuple, (low, mid, high)))


def _rise(server: Server) -> tuple[float, ...]:
    """Return the watts at each load as a share of the way from idle to full load."""
    idle, full = server.watts[0], server.watts[-1]
    return tuple((watts - idle) / (full - idle) for watts in server.watts)


def _at(points: Sequence[float], load: float) -> float:
    if math.isnan(load):
        raise ValueError("the load is not a number")
    place = min(1.0, max(0.0, load)) * (len(points) - 1)
    before = min(int(place), len(points) - 2)
    return points[before] + (points[before + 1] - points[before]) * (place - before)


@cache
def _all() -> tuple[Server, ...]:
    """Return all SPECpower results, those with curves first. A result of both files is returned once."""
    found: dict[tuple[str, float, float], Server] = {}
    for server in (*table.curves(), *table.pairs()):
        found.setdefault((names.key(server.cpu), server.watts[0], server.watts[-1]), server)
    return tuple(found.values())


def _servers(cpu: str) -> list[Server]:
    """Return the results of a CPU. A name without a number is no CPU model."""
    if not any(map(str.isdigit, cpu)):
        return []
    known = {names.key(cpu), names.key(names.without_p(cpu) or cpu)}
    return [server for server in _all() if names.key(server.cpu) in known]


def _of_generation(cpu: str) -> list[Server]:
    """Return the results of all CPUs of the generation of a CPU."""
    generation = names.generation(cpu)
    return [server for server in _all() if generation is not None and names.generation(server.cpu) == generation]


def _period(year: int) -> int:
    return sum(year > last for last in PERIODS)


def _of_period(year: int | None) -> list[Server]:
    """Return the curves of hardware of the same period, or all without a year."""
    curves = table.curves()
    return [server for server in curves if year is None or server.year is None or _period(server.year) == _period(year)]


def _idle_like(year: int | None) -> list[Server]:
    """Return the servers whose share of idle watts counts for hardware of a year."""
    if year is None or year < RECENT:
        return _of_period(year)
    return [server for server in table.pairs() if int(server.published[-4:]) >= RECENT]


@cache
def watts_over_tdp() -> _Range:
    """Return watts at full load over the thermal design power of both sockets: the middle 80% of CPUs with both."""
    found: dict[str, list[float]] = {}
    for server in _all():
        vendor = table.cpus().get(names.key(server.cpu))
        if vendor is not None:
            found.setdefault(vendor.cpu, []).append(server.watts[-1] / (2 * vendor.tdp_w))
    return _range([statistics.median(each) for each in found.values()])


@cache
def _spread_of_servers() -> tuple[_Range, _Range]:
    """Return idle and full watts of a server over the median of its CPU, for CPUs with at least three results."""
    by_cpu: dict[str, list[Server]] = {}
    for server in _all():
        by_cpu.setdefault(names.key(server.cpu), []).append(server)
    idle, full = (
        _range(
            [
                server.watts[end] / statistics.median(each.watts[end] for each in servers)
                for servers in by_cpu.values()
                if len(servers) >= 3
                for server in servers
            ]
        )
        for end in (0, -1)
    )
    return idle, full


def _results(servers: Sequence[Server]) -> str:
    years = sorted({server.published[-4:] for server in servers})
    span = years[0] if len(years) == 1 else f"{years[0]} to {years[-1]}"
    return f"{len(servers)} SPECpower_ssj2008 result{'s' if len(servers) > 1 else ''} ({span})"


def _shape_text(shapes: Sequence[Server]) -> str:
    return f"The shape between is the median of {_results(shapes)}."


def _idle_text(share: _Range, alike: Sequence[Server]) -> str:
    return f"Idle is {share.mid:.0%} of full load ({share.low:.0%} to {share.high:.0%} over {len(alike)} servers)."


def _range(values: Sequence[float]) -> _Range:
    """Return the median and the middle 80% of values."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return _Range(_at_share(ordered, 0.1 * last), statistics.median(ordered), _at_share(ordered, 0.9 * last))


def _at_share(ordered: Sequence[float], place: float) -> float:
    before = math.floor(place)
    after = min(before + 1, len(ordered) - 1)
    return ordered[before] + (ordered[after] - ordered[before]) * (place - before)


def _at_least(own: _Range, spread: _Range) -> _Range:
    """Return a range that is at least as wide as the relative spread between servers of one CPU."""
    return _Range(min(own.low, own.mid * spread.low), own.mid, max(own.high, own.mid * spread.high))


def _times(each: _Range, low: float, mid: float, high: float) -> _Range:
    """Return a range times a factor with independent errors."""
    value = each.mid * mid
    below = math.hypot(1 - each.low / each.mid, 1 - low / mid)
    above = math.hypot(each.high / each.mid - 1, high / mid - 1)
    return _Range(value * (1 - below), value, value * (1 + above))
