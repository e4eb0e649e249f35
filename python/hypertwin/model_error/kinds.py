"""Kind of a figure, from its path in a report, and the scale on which its error is measured.

An error is the logarithm of the real figure over the twin's. Percentages get `OFFSET_POINTS` first. An error of a small
percentage is therefore a number of points, and that of a large one a factor. A ready time of 0.2% instead of 0.1% is
then no error of a factor of two.
"""

from __future__ import annotations

import math
import re
from typing import Literal, get_args

Area = Literal["cpu", "drives", "memory", "movement", "path", "pools"]
"""Subject of a figure, as in the evidence."""

Kind = Literal["throughput", "latency", "tail", "duration", "usage"]
"""Kind of a figure.

`throughput` is work, I/Os or bytes per second. `latency` is a mean or a median. `tail` is a higher percentile.
`duration` is the time of a move. `usage` is CPU time: a percentage, CPUs or MHz.
"""

AREAS: tuple[Area, ...] = get_args(Area)
KINDS: tuple[Kind, ...] = get_args(Kind)

OFFSET_POINTS = 5.0
"""Percentage points added to percentages before their ratio is taken."""

TAIL_FROM = 75
"""Percentile from which a latency is a tail."""

_PERCENTILE = re.compile(r"[._]p(\d+)(?:_\d+)?$")
_MEAN = re.compile(r"[._](?:mean|median)$")
_WORK = ("iops", "mb_per_s", "throughput_per_s", "units_per_s")


def kind_of(path: str, area: str = "") -> Kind | None:
    """Return the kind of the figure at a path of a report, or None for a figure without model error.

    The path can have the nested or the flat form: `response_ms.p99` or `response_ms_p99`. Figures without model error
    are counts, sizes and settings.
    """
    percentile = _PERCENTILE.search(path)
    if percentile and int(percentile[1]) >= TAIL_FROM:
        return "tail"
    last = _MEAN.sub("", _PERCENTILE.sub("", path)).rpartition(".")[2]
    if last in ("seconds", "time_to_whole_s") or (last.endswith("_ms") and area == "movement"):
        return "duration"
    if last.endswith("_ms"):
        return "latency"
    if last.endswith(_WORK) and not last.startswith(_SETTINGS):
        return "throughput"
    if is_share(last) or last == "service_cpus" or last.endswith("_mhz"):
        return "usage"
    return None


_SETTINGS = ("scrub_due", "suspended")
"""Starts of keys that have the unit of a throughput, but are settings or stop work."""

_SHARES = frozenset(
    f"{name}_pct"
    for name in (
        *("costop", "demand", "guest_cpu", "guest_cpu_peak", "limited", "overlap", "ready", "run", "swap_wait"),
        *("system", "usage", "used", "utilization"),
    )
)


def is_share(path: str) -> bool:
    """True if a figure is a percentage of CPU time."""
    return path.rpartition(".")[2] in _SHARES


def error(real: float, twin: float, *, share: bool) -> float | None:
    """Return the error of a figure of the twin on the scale of its kind, or None if a figure is zero or negative."""
    offset = OFFSET_POINTS if share else 0.0
    if real + offset <= 0 or twin + offset <= 0:
        return None
    return math.log((real + offset) / (twin + offset))


def shifted(twin: float, by: float, *, share: bool) -> float:
    """Return the real figure if the twin's has a given error. The inverse of `error`; never negative."""
    offset = OFFSET_POINTS if share else 0.0
    return max((twin + offset) * math.exp(by) - offset, 0.0)


def slower(kind: Kind, error_of_figure: float) -> float:
    """Return an error with the sign of slowness: positive if reality is slower or busier than the twin.

    An error of a throughput changes its sign, so that the errors of several kinds can be pooled. The function is its
    own inverse.
    """
    return -error_of_figure if kind == "throughput" else error_of_figure
