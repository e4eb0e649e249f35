"""Figures over time from a file with the telemetry table: sums of counters, and sums of many figures.

A figure is a sum of counters at the same times, such as run, ready and co-stop time of a VM's vCPUs. Its mean, 95th
percentile and peak are those of its samples, each weighted by the time that it stands for. Figures of several subjects
are also summed at the same times (`Figures.sums`), because peaks at different times must not be added. Polars streams
the file. Memory holds at most `BATCH_ROWS` samples, or those of the longest figure, and `MOST_MOMENTS` of each sum.

The 95th percentile of a cluster is therefore that of the sum of simultaneous values. Without time series, the output
says that peaks were added.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from hypertwin.ingest import lengths, telemetry
from hypertwin.ingest.telemetry_table import SCHEMA

BATCH_ROWS = 500_000
"""Maximum number of samples to sum at a time."""
MOST_MOMENTS = 20_000
"""Maximum number of times of one sum. 30 days of 300 s have 8,640 times. Longer sums use longer intervals."""
LEAST_SHARE = 0.9
"""Minimum fraction of the figures of a sum that must have a value at a time."""
LEAST_SPAN = 0.5
"""Minimum time span of a figure in a sum, as a fraction of the longest span."""
HIGH = 0.95
SLACK = 1e-9
"""Tolerance for sums of weights, as a fraction."""
LATE = 0.1
"""Maximum delay of a sample that still counts for an interval, as a fraction of the interval. It is no longer then."""
LARGEST = 1e30
"""Maximum sample in any unit, because sums of larger ones could be infinite."""
DIGITS = 12
"""Number of digits to keep. A sample is a sum of few counters, so it has more certain digits than a mean of all."""

_KEY = ("entity", "metric")
_Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """Counter of an entity that belongs to a figure."""

    figure: int
    source: int
    """Number of the source. Counters of one source are summed. A figure has the samples of all its sources."""
    entity: str
    metric: str
    factor: float = 1.0
    leads: bool = True
    """True if the counter determines times: a time has a sample only if a leading counter has a value."""
    most: float = math.inf
    """Maximum of the sum of counters at any time."""


@dataclass(frozen=True)
class Figure:
    """Figure with statistics over all its samples. Times are in microseconds since 1970, or None without a clock."""

    count: int
    mean: float
    p95: float
    """Smallest sample that is not exceeded for 95 % of the time."""
    peak: float
    first_us: int | None
    last_us: int | None
    interval_s: float | None
    """Mean interval between samples without pauses, rounded to a tenth."""
    longest_s: float | None = None
    """Mean of the longest intervals, if they are much longer than the mean interval, otherwise the mean interval."""

    @property
    def over_s(self) -> float | None:
        """Seconds from the first sample to the last, or None for a single sample, or without a clock."""
        if self.first_us is None or self.last_us is None or self.last_us <= self.first_us:
            return None
        return (self.last_us - self.first_us) / 1e6


@dataclass(frozen=True)
class Sum:
    """Sum of figures at the same times."""

    figures: tuple[int, ...]
    """Number of figures in the sum."""
    figure: Figure


class Figures:
    """Figures of one table."""

    def __init__(self, path: Path, terms: Sequence[Term], counts: Mapping[tuple[str, str], int], folder: Path) -> None:
        """Prepare the figures. `counts` has the number of samples by entity and metric.

        The series are written to `folder`, which must outlive the object.
        """
        self.by_id: dict[int, Figure] = {}
        self._files: list[Path] = []
        for batch in _batches(terms, counts):
            series = _series(path, batch)
            self.by_id.update(_figures(series))
            file = folder / f"series-{len(self._files)}.parquet"
            series.filter("timed").select("figure", "us", "length", "value").write_parquet(file, compression="lz4")
            self._files.append(file)

    def sums(self, groups: Mapping[tuple[str, ...], Collection[int]]) -> dict[tuple[str, ...], Sum]:
        """Return the sum of each group of figures. Groups without a common time are left out.

        All figures of a group are converted to the longest of their intervals, by the mean of the samples that end in
        it. An interval counts as far as these samples fill it. A value is valid for one interval at most. Only the time
        that all figures cover counts, without times at which fewer than `LEAST_SHARE` of them have a value. A missing
        value then counts as 0, like a powered-off VM.
        """
        grids = [grid for name, ids in groups.items() if (grid := self._grid(name, ids)) is not None]
        starts = [0, *itertools.accumulate(grid.moments for grid in grids)]
        totals, seen, filled, fillers = (np.zeros(starts[-1]) for _ in range(4))
        members = pl.DataFrame(
            [
                (figure, place, grid.first_us, grid.step_us, grid.moments, start)
                for place, (grid, start) in enumerate(zip(grids, starts, strict=False))
                for figure in grid.figures
            ],
            schema={"figure": pl.UInt32, "grid": pl.UInt32, "first": pl.Int64, "step": pl.Int64, "moments": pl.Int64}
            | {"start": pl.Int64},
            orient="row",
        )
        for file in self._files:
            found = _at_moments(pl.read_parquet(file), members)
            np.add.at(totals, found["at"].to_numpy(), found["value"].to_numpy())
            np.add.at(seen, found["at"].to_numpy(), 1)
            there = found.filter(pl.col("length").is_not_null())
            np.add.at(filled, there["at"].to_numpy(), there["length"].to_numpy())
            np.add.at(fillers, there["at"].to_numpy(), 1)
        made = {}
        for grid, start in zip(grids, starts, strict=False):
            own = slice(start, start + grid.moments)
            counts = seen[own] >= LEAST_SHARE * len(grid.figures)
            values = totals[own][counts]
            if values.size > 1:
                by = fillers[own][counts]
                weights = np.where(by > 0, filled[own][counts] / np.maximum(by, 1), grid.step_us)
                figure = _figure(values, weights, grid.first_us, grid.last_us, grid.step_us / 1e6)
                made[grid.name] = Sum(grid.figures, figure)
        return made

    def _grid(self, name: tuple[str, ...], ids: Collection[int]) -> _Grid | None:
        """Return the times of a sum, or None if its figures share fewer than two."""
        found = {each: self.by_id[each] for each in sorted(ids) if each in self.by_id}
        spans = {each: figure.over_s or 0.0 for each, figure in found.items()}
        longest = max(spans.values(), default=0.0)
        kept = tuple(each for each, span in spans.items() if span and span >= LEAST_SPAN * longest)
        if not kept:
            return None
        first = max(found[each].first_us or 0 for each in kept)
        last = min(found[each].last_us or 0 for each in kept)
        step = round(max(found[each].longest_s or 0.0 for each in kept) * 1e6)
        if step <= 0 or last - first < step:
            return None
        step *= math.ceil((last - first) / step / MOST_MOMENTS)
        return _Grid(name, kept, first, step, math.floor((last - first) / step + LATE) + 1)


@dataclass(frozen=True)
class _Grid:
    """Grid of times at which figures are summed."""

    name: tuple[str, ...]
    figures: tuple[int, ...]
    first_us: int
    step_us: int
    moments: int

    @property
    def last_us(self) -> int:
        return self.first_us + (self.moments - 1) * self.step_us


def _batches(terms: Sequence[Term], counts: Mapping[tuple[str, str], int]) -> Iterator[list[Term]]:
    """Yield the terms in groups of whole figures with at most `BATCH_ROWS` samples, unless a single figure has more."""
    batch: list[Term] = []
    rows = 0
    for _, several in itertools.groupby(sorted(terms, key=lambda term: term.figure), lambda term: term.figure):
        own = list(several)
        more = sum(counts[term.entity, term.metric] for term in own)
        if batch and rows + more > BATCH_ROWS:
            yield batch
            batch, rows = [], 0
        batch += own
        rows += more
    if batch:
        yield batch


def _series(path: Path, terms: Sequence[Term]) -> pl.DataFrame:
    """Return the samples of figures, each in order of time: figure, us, timed, length, value.

    Samples without a clock keep their order. Duplicates count once.
    """
    rows = [
        (place, term.figure, term.source, term.entity, term.metric, term.factor, term.leads, term.most)
        for place, term in enumerate(terms)
    ]
    wanted = pl.DataFrame(
        rows,
        schema={"term": pl.UInt32, "figure": pl.UInt32, "source": pl.UInt32, **dict.fromkeys(_KEY, pl.String)}
        | {"factor": pl.Float64, "leads": pl.Boolean, "most": pl.Float64},
        orient="row",
    ).with_columns(pl.col(name).cast(SCHEMA[name]) for name in _KEY)
    samples = (
        pl.scan_parquet(path, glob=False)
        .filter(pl.col("value").is_finite())
        .join(wanted.lazy(), on=_KEY, maintain_order="left")
        .select(
            "term", "figure", "source", "factor", "leads", "most", pl.col("time").dt.epoch("us").alias("us"), "value"
        )
        .collect(engine="streaming")
        .with_columns(pl.col("us").is_not_null().alias("timed"))
        .with_columns(pl.coalesce("us", pl.int_range(pl.len()).over("term")))
    )
    each = samples.group_by("term", "us", "timed").agg(
        pl.first("figure", "source", "factor", "leads", "most"), pl.mean("value")
    )
    return (
        each.group_by("figure", "source", "us", "timed")
        .agg((pl.col("value") * pl.col("factor")).sum(), pl.any("leads"), pl.min("most"))
        .filter("leads", pl.col("value").abs() <= LARGEST)
        .with_columns(pl.min_horizontal("value", "most").alias("value"))
        .sort("figure", "us", "value")
        .with_columns(pl.when("timed").then(lengths.between("figure", "source", "timed")).alias("length"))
        .with_columns(pl.median("length").over("figure").alias("usual"))
        .with_columns(pl.when((pl.col("length") - pl.col("usual")).abs() > LATE * pl.col("usual")).then("length"))
        .with_columns(pl.coalesce("length", "usual", 1.0).alias("length"))
    )


def _figures(series: pl.DataFrame) -> Iterator[tuple[int, Figure]]:
    us = pl.col("us").filter("timed")
    apart = us.unique().sort().diff().drop_nulls()
    usual = apart.filter(apart.is_between(apart.median() * 0.5, apart.median() * 1.5)).mean()
    length = pl.col("length").filter("timed")
    longest = length.filter(length * lengths.LIKE > length.max()).mean()
    told = series.group_by("figure", maintain_order=True).agg(
        pl.len(), us.min().alias("first"), us.max().alias("last"), usual.alias("usual"), longest.alias("longest")
    )
    start, values, weights = 0, series["value"].to_numpy(), series["length"].to_numpy()
    for figure, count, first, last, interval_us, longest_us in told.iter_rows():
        interval_s = None if interval_us is None else round(interval_us / 1e6, 1)
        is_longer = interval_us is not None and longest_us > lengths.LIKE * interval_us
        own = slice(start, start + count)
        longest_s = round(longest_us / 1e6, 1) if is_longer else interval_s
        yield figure, _figure(values[own], weights[own], first, last, interval_s, longest_s)
        start += count


def _figure(
    values: _Values,
    weights: _Values,
    first_us: int | None,
    last_us: int | None,
    interval_s: float | None,
    longest_s: float | None = None,
) -> Figure:
    order = np.argsort(values, kind="stable")
    until = np.cumsum(weights[order])
    # of equal weights, the least sample that a share of the samples does not exceed
    p95 = values[order[min(np.searchsorted(until, HIGH * until[-1] * (1 - SLACK)), len(values) - 1)]]
    found = np.average(values, weights=weights), p95, values.max()
    mean, high, peak = (telemetry.rounded(float(value), DIGITS) for value in found)
    return Figure(len(values), mean, high, peak, first_us, last_us, interval_s, longest_s)


def _at_moments(series: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return the values of figures at the times of their sums, by position (`at`) among all times of all sums.

    `length` is the time of the samples in an interval, up to its length, or null for a value held from the one before.
    """
    own = ("grid", "figure")
    # a sample is the end of its interval
    moment = ((pl.col("us") - pl.col("first")) / pl.col("step") - LATE).ceil().cast(pl.Int64).alias("moment")
    means = (
        series.join(members, on="figure")
        .with_columns(moment)
        .filter(pl.col("moment").is_between(-1, pl.col("moments") - 1))
        .group_by(*own, "moment", "moments", "start")
        .agg(
            (pl.col("value") * pl.col("length")).sum() / pl.sum("length"),
            pl.min_horizontal(pl.sum("length"), pl.first("step")).alias("length"),
        )
        .sort(*own, "moment")
    )
    next_moment = pl.col("moment").shift(-1).over(*own)
    held = means.filter(next_moment.is_null() | (next_moment > pl.col("moment") + 1)).with_columns(
        pl.col("moment") + 1, pl.lit(None, pl.Float64).alias("length")
    )
    there = pl.concat([means, held]).filter(pl.col("moment").is_between(0, pl.col("moments") - 1))
    return there.select((pl.col("start") + pl.col("moment")).alias("at"), "value", "length")
