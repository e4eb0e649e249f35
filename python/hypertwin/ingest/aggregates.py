"""Aggregates of a Parquet file with the telemetry table: figures of each entity and metric, and thinned series.

Polars streams the file. Memory grows with entities, not with samples, except for percentiles. These are exact and need
at most `BATCH_ROWS` samples, or the longest series, at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside, telemetry_table
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.telemetry import METRICS
from hypertwin.ingest.telemetry_table import SCHEMA

BATCH_ROWS = 4_000_000
"""Maximum number of samples to sort at a time."""
QUANTILES = (0.05, 0.2, 0.5, 0.8, 0.95)
OF_EACH_VCPU = ("ready_sum_pct", "costop_sum_pct")
"""Metrics that are also kept for single vCPUs. For other metrics only the sum of the VM is judged."""

_IO = ("iops", "latency_ms")
_OF_IO = ("read_iops", "write_iops", "read_latency_ms", "write_latency_ms")
_KEY = ("entity", "metric")
_US = pl.col("time").dt.epoch("us").alias("us")
_DISTANCE = pl.when("below").then(pl.col("beyond") - pl.col("value")).otherwise(pl.col("value") - pl.col("beyond"))


@dataclass(frozen=True)
class Totals:
    """Statistics of one metric of one entity over all samples.

    Times are in microseconds since 1970, or None without a clock.
    """

    entity: str
    metric: str
    count: int
    mean: float
    least: float
    most: float
    first_us: int | None
    last_us: int | None
    second_least: float
    """Second smallest sample, or the smallest if there is only one sample."""
    second: float
    """Second largest sample, or the largest if there is only one sample."""
    quantiles: tuple[float, ...]
    """Smallest sample for each of QUANTILES that this fraction of the samples does not exceed."""


class Pairs:
    """Counter of pairs of entity and metric, to refuse a table that is too large for memory."""

    def __init__(self, most: int) -> None:
        """Start the counter. `most` is the maximum number of pairs."""
        self._most = most
        self._seen = pl.Series(dtype=pl.UInt64)

    def add(self, part: pl.DataFrame, source: str) -> None:
        """Count the pairs of a part. Raises SourceError."""
        code = pl.col("entity").to_physical().cast(pl.UInt64) * 2**32 + pl.col("metric").to_physical()
        self._seen = pl.concat([self._seen, part.select(code.unique()).to_series()]).unique()
        if len(self._seen) > self._most:
            allowed = f"at most {self._most:,} entities times metrics"
            outside.Source(source).too_large("more", allowed, "give fewer files at a time")


def add_io(path: Path) -> None:
    """Add I/Os and their mean latency to a table where a source has only those of reads and those of writes.

    The mean is weighted by the I/Os of each time. Samples without a time or without I/Os have none.
    """
    samples = _samples(path)
    counts = samples.filter(pl.col("metric").is_in(_texts((*_IO, *_OF_IO), "metric"))).group_by(*_KEY).len()
    found = _named(counts.collect(engine="streaming"))
    measured = found.filter(pl.col("metric").is_in(_IO)).select(_KEY)
    batches = (
        found.filter(pl.col("metric").is_in(_OF_IO))
        .join(measured.group_by("entity").len().filter(pl.col("len") == len(_IO)), on="entity", how="anti")
        .group_by("entity")
        .agg(pl.sum("len"))
        .sort("entity")
        .with_columns((pl.col("len").cum_sum() // BATCH_ROWS).alias("batch"))
    )

    def frames() -> Iterator[pl.DataFrame]:
        of_io = samples.filter(pl.col("metric").is_in(_texts(_OF_IO, "metric")), pl.col("time").is_not_null())
        for (_,), batch in batches.group_by("batch", maintain_order=True):
            here = of_io.filter(pl.col("entity").is_in(_texts(batch["entity"], "entity")))
            yield _io(here.collect(engine="streaming")).join(measured, on=_KEY, how="anti").cast(pl.Schema(SCHEMA))

    if batches.height:
        telemetry_table.write(frames(), _added(path))


def add_usage(path: Path, threads_per_core: Mapping[str, int]) -> Iterator[Totals]:
    """Add the CPU usage of Linux hosts from the busy time of their logical CPUs. Return its figures.

    `threads_per_core` has the hosts, by entity. Each sample is converted as by `linux_host.usage_pct`.
    """
    threads = pl.col("entity").cast(pl.String).replace_strict(threads_per_core, return_dtype=pl.Int64)
    (
        _samples(path)
        .filter(pl.col("metric") == "utilization_pct", pl.col("entity").is_in(_texts(threads_per_core, "entity")))
        .with_columns(
            pl.lit("usage_pct").alias("metric"),
            (pl.col("value") * threads).clip(upper_bound=linux_host.FULL_PCT),
        )
        .cast(pl.Schema(SCHEMA))
        .sink_parquet(_added(path, "usage"), compression="zstd", compression_level=1)
    )
    return totals(path, ["usage_pct"])


def _io(parts: pl.DataFrame) -> pl.DataFrame:
    """Return the I/Os and their mean latency of each entity and time."""
    means = (pl.col("value").filter(pl.col("metric") == name).mean().alias(name) for name in _OF_IO)
    wide = parts.group_by("entity", "time").agg(*means).cast({"entity": pl.String})
    rates = [pl.col(name).fill_null(0.0) for name in _OF_IO[:2]]
    spent = [
        pl.when(rate > 0).then(rate * pl.col(name)).otherwise(0.0) for rate, name in zip(rates, _OF_IO[2:], strict=True)
    ]
    iops = rates[0] + rates[1]
    return (
        wide.filter(pl.any_horizontal(pl.col(_OF_IO[:2]).is_not_null()))
        .select("time", "entity", iops=iops, latency_ms=(spent[0] + spent[1]) / iops)
        .unpivot(_IO, index=("time", "entity"), variable_name="metric")
        .filter(pl.col("value").is_finite())
        .with_columns(pl.col("metric").replace_strict({name: METRICS[name].unit for name in _IO}).alias("unit"))
        .sort(*_KEY, "time")
    )


def totals(path: Path, metrics: Sequence[str]) -> Iterator[Totals]:
    """Yield the figures of these metrics for every entity. For vCPUs only the metrics in OF_EACH_VCPU are included."""
    of_vcpu = pl.col("entity").cast(pl.String).str.contains("/vcpu/", literal=True)
    judged = pl.col("metric").is_in(_texts(metrics, "metric")) & (
        pl.col("metric").is_in(_texts(OF_EACH_VCPU, "metric")) | ~of_vcpu
    )
    samples = _samples(path).filter(judged)
    found = (
        samples.group_by(*_KEY)
        .agg(
            pl.len(),
            pl.mean("value").alias("mean"),
            pl.min("value").alias("least"),
            pl.max("value").alias("most"),
            _US.min().alias("first"),
            _US.max().alias("last"),
        )
        .sort(pl.col("metric").cast(pl.String), pl.col("entity").cast(pl.String))
        .with_columns((pl.col("len").cum_sum() // BATCH_ROWS).alias("batch"))
        .collect(engine="streaming")
    )
    for (_,), batch in found.group_by("batch", maintain_order=True):
        values = samples.join(batch.lazy().select(_KEY), on=_KEY, how="semi").select(*_KEY, "value")
        ordered = values.collect(engine="streaming").sort(*_KEY, "value")
        sorted_values = ordered["value"].to_numpy()
        starts = ordered.select(_KEY).with_row_index("start").group_by(_KEY).agg(pl.min("start"))
        rows = _named(batch.drop("batch").join(starts, on=_KEY, maintain_order="left"))
        for entity, metric, n, mean, least, most, first, last, start in rows.iter_rows():
            own = sorted_values[start : start + n]
            # 1-based rank n - floor(n - q n): of the least sample that a share q does not exceed
            quantiles = tuple(float(own[max(1, n - int(n - share * n)) - 1]) for share in QUANTILES)
            seconds = float(own[min(1, n - 1)]), float(own[max(0, n - 2)])
            yield Totals(entity, metric, n, mean, least, most, first, last, *seconds, quantiles)


def thinned(
    path: Path, spans: Iterable[tuple[str, str, int | None, int | None, int]], points: int
) -> list[tuple[str, str, int | None, int | None, float, float]]:
    """Return series in at most `points` parts: (entity, metric, first time, first place, mean, maximum).

    First time or first place is None.

    `spans` are (entity, metric, first time, last time, samples). Places, counted from 0, replace times for samples
    without a clock.
    """
    wanted = _wanted([*spans], {"first": pl.Int64, "last": pl.Int64, "n": pl.Int64})
    samples = _samples(path).join(wanted.lazy(), on=_KEY).with_columns(_US)
    timed = samples.filter(pl.col("us").is_not_null()).with_columns(
        pl.lit(None, pl.Int64).alias("place"),
        ((pl.col("us") - pl.col("first")) / (pl.col("last") - pl.col("first") + 1.0) * points).floor().alias("part"),
    )
    placed = (
        samples.filter(pl.col("us").is_null())
        .with_columns(pl.int_range(pl.len()).over(*_KEY).alias("place"))
        .with_columns((pl.col("place") * points // pl.col("n")).cast(pl.Float64).alias("part"))
    )
    figures = (pl.min("us"), pl.min("place"), pl.mean("value").alias("mean"), pl.max("value").alias("most"))
    parts = [each.group_by(*_KEY, "part").agg(*figures).collect(engine="streaming") for each in (timed, placed)]
    return _named(pl.concat(parts).drop("part")).sort(*_KEY, "us", "place").rows()


def beyond(
    path: Path, limits: Sequence[tuple[str, str, float, bool]]
) -> list[tuple[str, str, float, int | None, int | None, int | None]]:
    """Return fraction in per cent, first, last and worst time of samples beyond a limit.

    A limit is (entity, metric, limit, true if low values are bad).
    """
    wanted = _wanted(limits, {"beyond": pl.Float64, "below": pl.Boolean}).lazy()
    samples = _samples(path).join(wanted, on=_KEY).with_columns(_US, _DISTANCE.alias("distance"))
    far = pl.when(pl.col("distance") > 0).then("us")
    found = samples.group_by(*_KEY).agg(
        ((pl.col("distance") > 0).sum() * 100.0 / pl.len()).alias("share"),
        far.min().alias("first"),
        far.max().alias("last"),
        pl.max("distance").alias("farthest"),
    ).collect(engine="streaming")  # fmt: skip
    worst = (
        samples.join(found.lazy().select(*_KEY, "farthest"), on=_KEY)
        .filter(pl.col("distance") == pl.col("farthest"))
        .group_by(*_KEY)
        .agg(pl.min("us").alias("worst"))
        .collect(engine="streaming")
    )
    told = _named(found.join(worst, on=_KEY, how="left"))
    return told.select(*_KEY, "share", "first", "last", "worst").sort(*_KEY).rows()


def _samples(path: Path) -> pl.LazyFrame:
    files = [each for each in (path, _added(path), _added(path, "usage")) if each.exists()]
    return pl.scan_parquet(files, glob=False).filter(pl.col("value").is_finite())


def _added(path: Path, what: str = "io") -> Path:
    """Return the file with the rows that `add_io` or `add_usage` adds to a table."""
    return path.with_name(f"{path.name}.{what}")


def _texts(texts: Iterable[str], column: str) -> pl.Series:
    return pl.Series([*texts], dtype=SCHEMA[column])


def _wanted(rows: Sequence[tuple[object, ...]], more: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return a frame of entity, metric and further columns, to join with samples."""
    keys = [pl.col(name).cast(SCHEMA[name]) for name in _KEY]
    return pl.DataFrame(rows, schema={**dict.fromkeys(_KEY, pl.String), **more}, orient="row").with_columns(keys)


def _named(keyed: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with texts for entity and metric, because categories sort by order of appearance."""
    return keyed.cast({"entity": pl.String, "metric": pl.String})
