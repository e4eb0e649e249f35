"""The CPU used by a VM or host over weeks, in equal steps. A value is the mean of its step, so shorter peaks are not
visible.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypertwin.ingest.inventory import Demand, figures, iso

MAX_STEPS = 10_000
MAX_CPUS = 100_000.0
MAX_TIME = 2**32


@dataclass(frozen=True)
class Series:
    """CPUs used by a VM, or by a host for everything, in each step in which it was on."""

    step_s: int
    times: array[int]
    """End of each step, in seconds of Unix time."""
    used: array[float]
    source: str
    """Name of the values in the source."""

    @property
    def counter(self) -> str:
        """Source of the figures."""
        return f"{self.source}, means of {_span(self.step_s)}"

    @property
    def span(self) -> dict[str, Any]:
        """Duration, counter and end, by the names of measurements."""
        return {
            "over_s": float(len(self.used) * self.step_s),
            "counter": self.counter,
            "at": iso(max(self.times)),
        }

    def times_cpus(self, cpus: float) -> Series:
        """Return the series in CPUs, if its values are shares of these CPUs."""
        return replace(self, used=array("d", (share * cpus for share in self.used)))

    def demand(self, clock_mhz: float) -> Demand:
        """Return the demand of a VM. The highest mean is no peak, so the peak is unknown."""
        mean, p95, _ = figures([cpus * clock_mhz for cpus in self.used])
        span = self.span
        return Demand(mean, over=f"{self.counter}, over {_span(round(span['over_s']))}", cpu_p95_mhz=p95, **span)


def of_rows(rows: Iterable[tuple[float, float | None]], source: str) -> Series | None:
    """Return the series of rows of time and used CPUs, or None without two steps in which it was on.

    A row without a value still counts for the length of a step.
    """
    used: dict[int, float] = {}
    times = []
    for end, cpus in itertools.islice(rows, MAX_STEPS):
        if not 0 < end < MAX_TIME or end != int(end):
            continue
        times.append(int(end))
        if cpus is not None and 0 <= cpus <= MAX_CPUS:
            used[int(end)] = cpus
    steps = [later - earlier for earlier, later in itertools.pairwise(times) if later > earlier]
    if not steps or len(used) < 2:
        return None
    return Series(min(steps), array("q", used), array("d", used.values()), source)


def together(all_: Sequence[tuple[Series, float]]) -> dict[str, Any]:
    """Return the CPU use of VMs at the same times, with the clock of each host in MHz.

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
        "at": iso(max(sums)),
        "counter": f"{all_[0][0].counter}, of {len(all_)} guests added up",
    }


def _span(seconds: int) -> str:
    units: Iterable[tuple[int, str]] = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next((f"{seconds / size:.3g} {unit}" for size, unit in units if seconds >= size), f"{seconds} s")
