"""The CPU used by a guest or node of Proxmox VE over weeks, from saved responses to `rrddata`.

A row is the mean of one step: `time` is its end, `cpu` the share of `maxcpu` CPUs, absent while the guest was off.
Steps of a month are 12 h up to version 8 and 30 min from version 9 (`rrd_def_vm` in pmxcfs/status.c). Shorter peaks are
not visible.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypertwin.ingest import json_fields, outside
from hypertwin.ingest.inventory import Demand, figures

MAX_STEPS = 10_000
MAX_CPUS = 100_000.0
MAX_TIME = 2**32
_FIELDS = tuple(
    re.compile(rb'"%s"\s{0,9}:\s{0,9}"?(-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?)[",}\s]' % key)
    for key in (b"time", b"cpu", b"maxcpu")
)


@dataclass(frozen=True)
class Series:
    """CPUs used by a guest, or by a node for everything, in each step in which it was on."""

    step_s: int
    times: array[int]
    """End of each step, in seconds of Unix time."""
    used: array[float]

    @property
    def counter(self) -> str:
        """Source of the figures."""
        return f"rrddata, means of {_span(self.step_s)}"

    @property
    def span(self) -> dict[str, Any]:
        """Duration, counter and end, by the names of measurements."""
        return {"over_s": float(len(self.used) * self.step_s), "counter": self.counter, "at": _iso(max(self.times))}

    def demand(self, clock_mhz: float) -> Demand:
        """Return the demand of a VM. The highest mean is no peak, so the peak is unknown."""
        mean, p95, _ = figures([cpus * clock_mhz for cpus in self.used])
        span = self.span
        return Demand(mean, over=f"{self.counter}, over {_span(round(span['over_s']))}", cpu_p95_mhz=p95, **span)


def of_text(data: bytes, source: str | Path) -> Series | None:
    """Return the series in the JSON text of a response.

    The text is searched for the used fields, which takes a quarter of the time of parsing. Unless every row has all of
    them, the text is parsed. A text in the wrong form raises SourceError.
    """
    ends, shares, cpus = (pattern.findall(data) for pattern in _FIELDS)
    rows = len(ends)
    # a row has a field once, so as many fields as rows are one in each
    if not rows or not rows == len(shares) == len(cpus) == data.count(b"{", data.find(b"[")):
        answer = outside.parsed(data, source)
        return series(answer.get("data") if isinstance(answer, dict) else answer)
    return _series(list(zip(map(float, ends), map(float, shares), map(float, cpus), strict=True)))


def series(answer: Any) -> Series | None:
    """Return the series in a response, or None without two steps in which the guest was on.

    A series is returned as it is. It takes a fiftieth of the memory of its response.
    """
    if isinstance(answer, Series):
        return answer
    fields = ("time", "cpu", "maxcpu")
    rows = ([json_fields.number(row.get(key)) for key in fields] for row in json_fields.objects(answer))
    return _series([(end, share, cpus) for end, share, cpus in rows if end is not None])


def _series(rows: Sequence[tuple[float, float | None, float | None]]) -> Series | None:
    """Return the series of rows of time, share and CPUs."""
    used: dict[int, float] = {}
    times = []
    for end, share, cpus in rows[:MAX_STEPS]:
        if not 0 < end < MAX_TIME or end != int(end):
            continue
        times.append(int(end))
        if share is not None and cpus is not None and 0 <= share * cpus <= MAX_CPUS:
            used[int(end)] = share * cpus
    steps = [later - earlier for earlier, later in itertools.pairwise(times) if later > earlier]
    return Series(min(steps), array("q", used), array("d", used.values())) if steps and len(used) > 1 else None


def together(all_: Sequence[tuple[Series, float]]) -> dict[str, Any]:
    """Return the CPU use of guests at the same times, with the clock of each host in MHz.

    The result is empty if their steps differ.
    """
    if len({series.step_s for series, _ in all_}) != 1:
        return {}
    sums: dict[int, float] = {}
    for series, clock_mhz in all_:
        for time, cpus in zip(series.times, series.used, strict=True):
            sums[time] = sums.get(time, 0.0) + cpus * clock_mhz
    mean, p95, _ = figures(list(sums.values()))
    return {
        "cpu_mhz": mean,
        "cpu_p95_mhz": p95,
        "over_s": float(len(sums) * all_[0][0].step_s),
        "at": _iso(max(sums)),
        "counter": f"{all_[0][0].counter}, of {len(all_)} guests added up",
    }


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _span(seconds: int) -> str:
    units: Iterable[tuple[int, str]] = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next((f"{seconds / size:.3g} {unit}" for size, unit in units if seconds >= size), f"{seconds} s")
