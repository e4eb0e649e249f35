"""Interval of an area and a kind: 80% of the real figures of a new source are in it, relative to the twin's figures.

Every source has the same weight, which it divides among its figures. The interval is from the 10th to the 90th weighted
percentile of the errors. Both ends are then moved away from the weighted median (`widening`), because few sources show
too little of the spread. The interval is therefore a prediction for a source that the evidence does not have. It is
not symmetric: if the twin is too optimistic in an area, the interval shows it.

A kind with fewer than `MIN_KIND_SOURCES` sources uses all kinds of its area, and an area with fewer than `MIN_SOURCES`
uses all areas. Tails are pooled only with the tails of other areas. The errors of means are smaller. A pooled error has
the sign of slowness (`kinds.slower`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist, fmean, pvariance, variance
from typing import Literal

from hypertwin import _core
from hypertwin.model_error.evidence import Row
from hypertwin.model_error.kinds import Area, Kind, slower

LEVEL = 0.8
"""Share of real figures that an interval is to contain."""

MIN_SOURCES = 6
"""Minimum number of sources for an interval of an area."""

MIN_KIND_SOURCES = 10
"""Minimum number of sources for an interval of a kind. Of fewer, the outer tenth is one source and its worst figure."""

LEAST_WITHIN = 0.1
"""Minimum share of the variance within a source, so that one measured point never removes all of the error."""

Basis = Literal["kind", "area", "all"]
"""Evidence of an interval: figures of the same area and kind, of the area in all kinds, or of all areas."""


@dataclass(frozen=True)
class Interval:
    """Interval of the error of a figure, on the scale of its kind."""

    low: float
    high: float
    sources: int
    basis: Basis
    own: int = 0
    """Number of measured points of the same system that moved or narrowed the interval."""

    def around(self, twin: float, *, share: bool) -> tuple[float, float]:
        """Return the interval of the real figure, with the twin's figure in it. A percentage of time is at most 100."""
        return _core.around(twin, math.exp(self.low), math.exp(self.high), share)

    @property
    def text(self) -> str:
        """The ends as factors of the twin's figure, in words."""
        return factors(self.low, self.high)


def factors(low: float, high: float) -> str:
    """Return two errors as factors, in words."""
    return f"×{math.exp(low):.2f} to ×{math.exp(high):.2f}"


def interval(
    rows: Sequence[Row], area: Area, kind: Kind, own: Sequence[float] = (), *, left_out: int = 0
) -> Interval | None:
    """Return the interval of an area and a kind, or None if fewer than two sources can be pooled.

    `own` are errors of figures of the same area and kind that were measured on the user's own system. `left_out` is the
    number of sources that are not among `rows`, but count for the choice of the pool.
    """
    for basis, chosen in _pools(area, kind):
        errors = [(row.study, slower(row.kind, row.error)) for row in rows if chosen(row)]
        sources = len({study for study, _ in errors})
        enough = MIN_KIND_SOURCES if basis == "kind" else MIN_SOURCES
        if sources + left_out >= enough or (basis == "all" and sources > 1):
            ends = _ends(errors)
            if own:
                ends = _narrowed(ends, _within(errors), [slower(kind, error) for error in own])
            low, high = sorted(slower(kind, end) for end in (ends.low, ends.high))
            return Interval(low, high, sources, basis, len(own))
    return None


def _pools(area: Area, kind: Kind) -> Iterator[tuple[Basis, Callable[[Row], bool]]]:
    """Yield the pools of errors for a figure, the narrowest first."""
    yield "kind", lambda row: row.area == area and row.kind == kind
    if kind == "tail":
        yield "all", lambda row: row.kind == "tail"
        return
    yield "area", lambda row: row.area == area and row.kind != "tail"
    yield "all", lambda row: row.kind != "tail"


@dataclass(frozen=True)
class _Ends:
    low: float
    median: float
    high: float


def _ends(errors: Sequence[tuple[str, float]]) -> _Ends:
    counts = Counter(study for study, _ in errors)
    weights: dict[float, float] = {}
    for study, error in errors:
        weights[error] = weights.get(error, 0.0) + 1 / counts[study]
    weighted = sorted(weights.items())
    beyond = (1 - LEVEL) / 2
    low, median, high = (_quantile(weighted, level) for level in (beyond, 0.5, 1 - beyond))
    factor = widening(len(counts))
    return _Ends(median - (median - low) * factor, median, median + (high - median) * factor)


def _within(errors: Sequence[tuple[str, float]]) -> float:
    """Return the share of the variance of errors that is within sources, at least `LEAST_WITHIN`."""
    by_source: dict[str, list[float]] = {}
    for study, error in errors:
        by_source.setdefault(study, []).append(error)
    within = fmean(pvariance(each) for each in by_source.values())
    between = pvariance([fmean(each) for each in by_source.values()])
    return max(LEAST_WITHIN, within / (within + between)) if within + between else 1.0


def _narrowed(ends: _Ends, within: float, own: Sequence[float]) -> _Ends:
    """Return the interval for a system of which some errors are known (empirical Bayes).

    The bias of the system is between the median of the sources and the mean of its own errors. The more own errors
    there are, the closer it is to their mean. The spread within the system stays: that of sources, or its own.
    """
    spread = (ends.high - ends.low) / (2 * NormalDist().inv_cdf((1 + LEVEL) / 2))
    if not spread:
        return ends
    known = variance(own) if len(own) > 1 else 0.0
    inside, between = max(within * spread**2, known), (1 - within) * spread**2
    weight = between / (between + inside / len(own))
    factor = math.sqrt(between * (1 - weight) + inside) / spread
    median = weight * fmean(own) + (1 - weight) * ends.median
    return _Ends(median - (ends.median - ends.low) * factor, median, median + (ends.high - ends.median) * factor)


def widening(sources: int) -> float:
    """Return the factor by which a prediction from some sources is wider than their spread.

    The factor is that of a prediction interval for normal errors. The root of 1 + 1/n is for the unknown centre. The
    rest is for the unknown spread: Student's t over the normal distribution, to first order in 1/n.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    return math.sqrt(1 + 1 / sources) * (1 + (z * z + 1) / (4 * (sources - 1)))


def _quantile(weighted: Sequence[tuple[float, float]], level: float) -> float:
    """Return a quantile of sorted (value, weight) pairs, between values. Each value is at the middle of its weight."""
    total = sum(weight for _, weight in weighted)
    sums = accumulate(weight for _, weight in weighted)
    points = [((end - weight / 2) / total, value) for end, (value, weight) in zip(sums, weighted, strict=True)]
    after = next((index for index, (at, _) in enumerate(points) if at >= level), len(points) - 1)
    (at, value), (at_last, last) = points[after], points[max(after - 1, 0)]
    return value if at <= max(level, at_last) else last + (value - last) * (level - at_last) / (at - at_last)
