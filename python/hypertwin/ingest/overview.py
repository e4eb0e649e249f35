"""Summary of a telemetry table: number of rows by kind and metric, time span, and the longest ready times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from hypertwin.ingest.telemetry import KINDS, METRICS, rounded

MOST_READY = 10
"""Maximum number of VMs with listed ready time, the longest first."""


@dataclass(frozen=True)
class Line:
    """One metric over all entities of one kind and all times."""

    kind: str
    """`host`, `vm`, `vcpu`, ..."""
    metric: str
    entities: int
    samples: int
    mean: float
    p95: float
    max: float
    unit: str


@dataclass(frozen=True)
class Ready:
    """Mean ready time of one VM."""

    entity: str
    summed_pct: float
    vcpus: float | None
    interval_s: float | None
    """Length of its samples, or None without a clock, or for a single sample."""


@dataclass(frozen=True)
class Overview:
    """Summary of a telemetry table."""

    rows: int
    entities: int
    metrics: int
    first: datetime | None
    last: datetime | None
    lines: tuple[Line, ...]
    ready: tuple[Ready, ...]


RESOLUTION = 0.002
"""Precision of percentiles, relative to 1 + value."""

_MACHINES = ("vm", "guest")


def overview(path: Path) -> Overview:
    """Return the summary of a table written by `telemetry_table.write`."""
    samples = pl.scan_parquet(path, glob=False)
    kind = pl.col("entity").cast(pl.String).str.split("/").list.get(-2).alias("kind")
    times = (pl.min("time").alias("first"), pl.max("time").alias("last"))
    figures = (pl.len(), pl.sum("value"), pl.max("value").alias("most"), *times)
    found = samples.group_by("entity", "metric").agg(figures).with_columns(kind).collect(engine="streaming")
    totals = found.select(pl.sum("len"), pl.n_unique("entity"), pl.n_unique("metric"), pl.min("first"), pl.max("last"))
    rows, entities, metrics, first, last = totals.row(0)
    return Overview(rows, entities, metrics, first, last, tuple(_lines(samples, found)), tuple(_ready(samples, found)))


def _lines(samples: pl.LazyFrame, found: pl.DataFrame) -> list[Line]:
    kinds = found.select("entity", "kind").unique("entity").lazy()
    size = pl.col("value").abs().log1p()
    parts = (
        samples.join(kinds, on="entity")
        .group_by("kind", "metric", (pl.col("value").sign() * (size / RESOLUTION).ceil()).alias("part"))
        .agg(pl.len(), pl.max("value"))
        .collect(engine="streaming")
        .sort("part")
    )
    p95 = parts.group_by("kind", "metric").agg(
        pl.col("value").filter(pl.col("len").cum_sum() >= 0.95 * pl.sum("len")).first().alias("p95")
    )
    lines = (
        found.group_by("kind", "metric")
        .agg(pl.n_unique("entity"), pl.sum("len"), pl.sum("value") / pl.sum("len"), pl.max("most"))
        .join(p95, on=("kind", "metric"))
        .select("kind", pl.col("metric").cast(pl.String), "entity", "len", "value", "p95", "most")
    )
    order = {metric: place for place, metric in enumerate(METRICS)}
    told = [
        Line(kind, metric, entities, count, rounded(mean), p95, most, METRICS[metric].unit)
        for kind, metric, entities, count, mean, p95, most in lines.iter_rows()
    ]
    return sorted(told, key=lambda line: (KINDS.index(line.kind), order[line.metric]))


def _ready(samples: pl.LazyFrame, found: pl.DataFrame) -> Iterator[Ready]:
    """Yield ready times of VMs and guests, the longest per vCPU first, as far as vCPUs are known."""
    means = {(entity, metric): rounded(total / n) for entity, metric, n, total in _rows(found, "len", "value")}
    most = {(entity, metric): value for entity, metric, value in _rows(found, "most")}
    parts = Counter(entity.rpartition("/vcpu/")[0] for entity in {entity for entity, _ in means} if "/vcpu/" in entity)
    machines = found.filter(pl.col("kind").is_in(_MACHINES), pl.col("metric") == "ready_sum_pct")
    ready = []
    for entity, _, first, last in _rows(machines, "first", "last"):
        vcpus = most.get((entity, "vcpus"), parts.get(entity))
        host = entity.rpartition("/vm/")[0]
        said = means.get((entity, "interval_s"), means.get((host, "interval_s")))
        ready.append((Ready(entity, means[entity, "ready_sum_pct"], vcpus, said), first, last))
    ready.sort(key=lambda each: (-each[0].summed_pct / (each[0].vcpus or 1), each[0].entity))
    for each, first, last in ready[:MOST_READY]:
        unknown = each.interval_s is None and first is not None
        yield replace(each, interval_s=_apart(samples, each.entity, first, last)) if unknown else each


def _apart(samples: pl.LazyFrame, entity: str, first: datetime, last: datetime) -> float | None:
    """Return the seconds between the samples of a VM's ready time, or None for a single sample."""
    own = samples.filter(pl.col("entity") == entity, pl.col("metric") == "ready_sum_pct")
    times = own.select(pl.n_unique("time")).collect(engine="streaming").item()
    return (last - first).total_seconds() / (times - 1) if times > 1 else None


def _rows(found: pl.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    return found.select(pl.col("entity", "metric").cast(pl.String), *columns).iter_rows()
