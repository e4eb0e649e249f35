"""The CPU used by a guest of Proxmox VE over weeks, from saved responses to `rrddata`.

A row is the mean of one step: `time` is its end, `cpu` the share of `maxcpu` CPUs, absent while the guest was off.
Steps of a month are 12 h up to version 8 and 30 min from version 9 (`rrd_def_vm` in pmxcfs/status.c). Shorter peaks are
not visible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypertwin.ingest import json_fields
from hypertwin.ingest.inventory import Demand, figures

MAX_STEPS = 10_000
MAX_CPUS = 100_000.0
MAX_TIME = 2**32
FIELDS = ("time", "cpu", "maxcpu")
"""Fields of a row that the reader uses."""


def reduced(answer: Any) -> Any:
    """Return a response without unused fields, which take hundreds of MB in a large cluster."""
    rows = json_fields.objects(answer)[:MAX_STEPS]
    return [{key: row[key] for key in FIELDS if key in row} for row in rows]


@dataclass(frozen=True)
class Series:
    """CPUs used by a guest, by the end of each step in which it was on, in seconds of Unix time."""

    step_s: int
    used: Mapping[int, float]

    @property
    def counter(self) -> str:
        """Source of the figures."""
        return f"rrddata, means of {_span(self.step_s)}"

    def demand(self, clock_mhz: float) -> Demand:
        """Return the demand of a VM. The highest mean is no peak, so the peak is unknown."""
        mean, p95, _ = figures([cpus * clock_mhz for cpus in self.used.values()])
        over_s = float(len(self.used) * self.step_s)
        return Demand(
            mean,
            over=f"{self.counter}, over {_span(round(over_s))}",
            cpu_p95_mhz=p95,
            over_s=over_s,
            counter=self.counter,
            at=_iso(max(self.used)),
        )


def series(answer: Any) -> Series | None:
    """Return the series in a response, or None without two steps in which the guest was on."""
    used: dict[int, float] = {}
    times = []
    for row in json_fields.objects(answer)[:MAX_STEPS]:
        time, share, cpus = json_fields.whole(row.get("time")), row.get("cpu"), row.get("maxcpu")
        if not time or time >= MAX_TIME:
            continue
        times.append(time)
        share, cpus = json_fields.number(share), json_fields.number(cpus)
        if share is not None and cpus is not None and math.isfinite(share * cpus) and 0 <= share * cpus <= MAX_CPUS:
            used[time] = share * cpus
    steps = [later - earlier for earlier, later in itertools.pairwise(times) if later > earlier]
    return Series(min(steps), used) if steps and len(used) > 1 else None


def together(all_: Sequence[tuple[Series, float]]) -> dict[str, Any]:
    """Return the CPU use of guests at the same times, with the clock of each host in MHz.

    The result is empty if their steps differ.
    """
    if len({series.step_s for series, _ in all_}) != 1:
        return {}
    sums: dict[int, float] = {}
    for series, clock_mhz in all_:
        for time, cpus in series.used.items():
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
