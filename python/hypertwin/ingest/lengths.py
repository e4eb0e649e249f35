"""Time that each sample of a telemetry table stands for, by which means and percentiles are weighted.

Files and rollups with different intervals can be in one table. A sample of 300 s then counts 15 times as much as one of
20 s. Polars streams the table. Memory grows with entities, and with the samples of those whose interval changes or is
not stated.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from hypertwin.ingest.telemetry_table import SCHEMA

LIKE = 1.5
"""Ratio of two intervals above which they differ. A longer time before one sample only is a pause."""

INTERVAL = "interval_s"
_US = pl.col("time").dt.epoch("us")


def weighted(path: Path) -> pl.LazyFrame:
    """Return the samples of a table with the column `seconds`.

    This is the interval that the source states for the entity, or for the VM or host that contains it. Without one, it
    is the mean time between the samples of the series.
    """
    samples = pl.scan_parquet(path, glob=False)
    stated = samples.filter(pl.col("metric") == INTERVAL, pl.col("value") > 0).rename({"value": "stated"})
    told = stated.group_by("entity").agg(pl.min("stated").alias("least"), pl.max("stated").alias("most"))
    by_owner = told.collect(engine="streaming").with_columns(pl.col("entity").cast(pl.String))
    owners = set(by_owner["entity"])
    series = samples.select("entity", "metric").unique().collect(engine="streaming")
    names = series["entity"].cast(pl.String)
    owner = pl.Series("owner", [_owner(name, owners) for name in names], dtype=pl.String)
    owned = series.with_columns(owner).join(by_owner.rename({"entity": "owner"}), on="owner", how="left")
    usual = owned.join(
        _apart(samples, owned.filter(pl.col("most").is_null())), on=("entity", "metric"), how="left"
    ).select(
        "entity",
        "metric",
        pl.when(pl.col("most") > LIKE * pl.col("least")).then("owner").cast(SCHEMA["entity"]).alias("owner"),
        pl.coalesce("most", "apart", 1.0).alias("usual"),
    )
    changing = usual["owner"].drop_nulls().unique()
    each = stated.filter(pl.col("entity").is_in(changing.implode())).group_by("entity", "time").agg(pl.mean("stated"))
    return (
        samples.join(usual.lazy(), on=("entity", "metric"))
        .join(each, left_on=("owner", "time"), right_on=("entity", "time"), how="left")
        .with_columns(pl.coalesce("stated", "usual").alias("seconds"))
        .select(*SCHEMA, "seconds")
    )


def _apart(samples: pl.LazyFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Return the mean seconds between the samples of each series, or null for a single sample."""
    own = samples.filter(pl.col("entity").is_in(series["entity"].unique().implode()))
    times = _US.drop_nulls()
    span = pl.when(times.n_unique() > 1).then((times.max() - times.min()) / (times.n_unique() - 1) / 1e6)
    return own.group_by("entity", "metric").agg(span.alias("apart")).collect(engine="streaming")


def _owner(entity: str, owners: Collection[str]) -> str | None:
    """Return the entity itself or the nearest entity that contains it among some entities, or None."""
    parts = entity.split("/")
    return next((name for end in range(len(parts), 0, -2) if (name := "/".join(parts[:end])) in owners), None)


def between(*over: str) -> pl.Expr:
    """Return the microseconds that each sample stands for, from the times `us` in the order of rows of each series.

    A sample stands for the time since the sample before. After a pause, and at the start, it is the time to the next.
    """
    before = pl.col("us").diff().over(*over)
    last, after = before.shift(1).over(*over), before.shift(-1).over(*over)
    near = pl.max_horizontal(last, after)
    is_usual = before.is_not_null() & (near.is_null() | (before <= LIKE * near))
    return pl.when(is_usual).then(before).otherwise(pl.coalesce(after, last, before))
