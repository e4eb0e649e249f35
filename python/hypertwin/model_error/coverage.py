"""Coverage of the intervals: the share of a source's figures that the other sources' intervals contain.

Each source is left out in turn, from all areas. The others are pooled as with it, so that an interval of one area is
not judged by that of all areas. A source counts once, with the share of its figures that are covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hypertwin.model_error.evidence import Row
from hypertwin.model_error.interval import interval
from hypertwin.model_error.kinds import AREAS, KINDS, slower

MIN_ROWS = 8
"""Minimum number of figures of a kind in an area for a line of their own."""


@dataclass(frozen=True)
class Coverage:
    """Coverage of a group of figures."""

    area: str
    kind: str
    rows: int
    sources: int
    covered_pct: float
    """Mean over sources of the share of their figures within the interval of the other sources."""
    rows_covered_pct: float
    """Share of figures within the interval of the other sources."""
    low: float
    high: float
    """Median ends of the intervals: real figure over the twin's. For several kinds, of times: above 1 is slower."""


@dataclass(frozen=True)
class _Left:
    """Figure of a source that was left out, with the interval of the others."""

    row: Row
    low: float
    high: float

    @property
    def covered(self) -> bool:
        return self.low <= self.row.error <= self.high


def coverage(rows: Sequence[Row]) -> list[Coverage]:
    """Return the coverage of all figures, of each area, and of its kinds with enough figures."""
    left = _left_out(rows)
    result = [_of("all", "", left)]
    for area in AREAS:
        own = [one for one in left if one.row.area == area]
        result += [
            _of(area, "", own),
            *(_of(area, kind, [one for one in own if one.row.kind == kind]) for kind in KINDS),
        ]
    return [one for one in result if one.rows and (not one.kind or one.rows >= MIN_ROWS)]


def _left_out(rows: Sequence[Row]) -> list[_Left]:
    found = []
    for study in dict.fromkeys(row.study for row in rows):
        others = [row for row in rows if row.study != study]
        own = [row for row in rows if row.study == study]
        for area, kind in dict.fromkeys((row.area, row.kind) for row in own):
            if ends := interval(others, area, kind, left_out=1):
                found += [_Left(row, ends.low, ends.high) for row in own if (row.area, row.kind) == (area, kind)]
    return found


def _of(area: str, kind: str, own: Sequence[_Left]) -> Coverage:
    sources: Mapping[str, list[_Left]] = {one.row.study: [] for one in own}
    for one in own:
        sources[one.row.study].append(one)
    if not own:
        return Coverage(area, kind, 0, 0, 0.0, 0.0, 0.0, 0.0)
    ends = [_oriented(one, kind) for one in own]
    return Coverage(
        area,
        kind,
        rows=len(own),
        sources=len(sources),
        covered_pct=100 * fmean(fmean(one.covered for one in group) for group in sources.values()),
        rows_covered_pct=100 * fmean(one.covered for one in own),
        low=median(low for low, _ in ends),
        high=median(high for _, high in ends),
    )


def _oriented(one: _Left, kind: str) -> tuple[float, float]:
    """Return the ends of an interval. Among several kinds, those of throughputs are turned, to be those of times."""
    if kind:
        return one.low, one.high
    low, high = sorted(slower(one.row.kind, end) for end in (one.low, one.high))
    return low, high
