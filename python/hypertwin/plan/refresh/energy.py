"""Power and energy of hosts at their mean load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from hypertwin.documents import refresh as documents
from hypertwin.documents.cost import Range
from hypertwin.language import Host
from hypertwin.plan.refresh.host_type import HostType
from hypertwin.plan.refresh.speed import smt_yield
from hypertwin.published.power import Power, kwh, power

HOURS = 8_766
"""Hours of a year, with leap years."""


def load(host: Host, used_pct: float) -> float:
    """Return the load of a host, as a fraction of its highest throughput, from its CPU usage in per cent.

    Usage refers to cores x nominal clock. The highest throughput has both threads of all cores busy, at the clock that
    all cores sustain.
    """
    most = host.busy_clock_hz / host.clock_hz * smt_yield(host)
    return min(1.0, max(0.0, used_pct / 100 / most))


def energy(
    hosts: Sequence[Host],
    used_pct: Sequence[float],
    types: Mapping[str, HostType],
    origin: Literal["twin", "demand"],
) -> documents.Energy | None:
    """Return the power of hosts whose CPU usage is known, or None if the power of one is unknown.

    `used_pct` has the CPU usage of each host. `types` has host types by host group, with their measured watts.
    """
    known: dict[str, Power] = {}
    watts: dict[str, tuple[float, float, float]] = {}
    weight = whole = 0.0
    texts: dict[str, None] = {}
    origins: dict[str, None] = {}
    for host, used in zip(hosts, used_pct, strict=True):
        if host.group not in known:
            type_ = types.get(host.group)
            idle, full = (None, None) if type_ is None or type_.watts is None else type_.watts
            known[host.group] = power(
                host.cpu_model,
                sockets=host.processors,
                memory_gib=host.memory_bytes / 2**30,
                watts_idle=idle,
                watts_full=full,
                tdp_w=None if type_ is None else type_.tdp,
            )
        at = load(host, used)
        found = known[host.group].watts(at)
        texts[known[host.group].text] = None
        if found is None:
            return None
        if known[host.group].source:
            origins[known[host.group].source or ""] = None
        watts[host.group] = _sum([watts.get(host.group, (0.0, 0.0, 0.0)), found])
        weight, whole = weight + at * host.cores, whole + host.cores
    low, middle, high = _sum(watts.values())
    return {
        "load_pct": 100 * weight / whole if whole else 0.0,
        "load_from": origin,
        "watts": middle,
        "watts_low": low,
        "watts_high": high,
        "kwh_per_year": kwh(middle, HOURS),
        "kwh_per_year_low": kwh(low, HOURS),
        "kwh_per_year_high": kwh(high, HOURS),
        "by_group": {group: _kwh(*of) for group, of in watts.items()},
        "text": list(texts),
        "source": list(origins),
    }


def _sum(parts: Iterable[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return the sums of low, expected and high values."""
    low = middle = high = 0.0
    for each in parts:
        low, middle, high = low + each[0], middle + each[1], high + each[2]
    return low, middle, high


def _kwh(low: float, middle: float, high: float) -> Range:
    return Range(low=kwh(low, HOURS), mid=kwh(middle, HOURS), high=kwh(high, HOURS))
