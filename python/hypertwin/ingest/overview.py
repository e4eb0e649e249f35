"""Summary of a telemetry table: number of rows by kind and metric, time span, and the longest ready times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from hypertwin import _core
from hypertwin.documents.telemetry import Line, Ready, Telemetry
from hypertwin.ingest import lengths
from hypertwin.ingest.telemetry import KINDS, METRICS, Reading, rounded, vcpu_counts

MOST_READY = 10
"""Maximum number of VMs with listed ready time, the longest first."""


SHARE = 0.95 * (1 - 1e-9)
"""Fraction of the time of all samples up to their 95th percentile, less the error of sums."""
RESOLUTION = 0.002
"""Precision of percentiles, relative to 1 + value."""

_MACHINES = ("vm", "guest")


def overview(path: Path, readings: Sequence[Reading] = (), counts: Sequence[int] = ()) -> Telemetry:
    """Return the summary of a table written by `telemetry_table.write`, from readings with these numbers of rows."""
    samples = lengths.weighted(path)
    kind = pl.col("entity").cast(pl.String).str.split("/").list.get(-2).alias("kind")
    times = (pl.min("time").alias("first"), pl.max("time").alias("last"))
    sums = (pl.sum("seconds"), (pl.col("value") * pl.col("seconds")).sum().alias("value"))
    figures = (pl.len(), *sums, pl.max("value").alias("most"), *times)
    found = samples.group_by("entity", "metric").agg(figures).with_columns(kind).collect(engine="streaming")
    totals = found.select(pl.sum("len"), pl.n_unique("entity"), pl.n_unique("metric"), pl.min("first"), pl.max("last"))
    rows, entities, metrics, first, last = totals.row(0)
    return {
        "version": _core.version(),
        "rows": rows,
        "entities": entities,
        "metrics": metrics,
        "first": first and first.isoformat(),
        "last": last and last.isoformat(),
        "lines": _lines(samples, found),
        "ready": list(_ready(samples, found)),
        "sources": [
            {
                "source": reading.source,
                "kind": reading.kind,
                "rows": count,
                "gaps": [{"what": gap.what, "costs": gap.costs} for gap in reading.gaps],
                "notes": reading.notes,
            }
            for reading, count in zip(readings, counts, strict=True)
        ],
    }


def _lines(samples: pl.LazyFrame, found: pl.DataFrame) -> list[Line]:
    kinds = found.select("entity", "kind").unique("entity").lazy()
    size = pl.col("value").abs().log1p()
    parts = (
        samples.join(kinds, on="entity")
        .group_by("kind", "metric", (pl.col("value").sign() * (size / RESOLUTION).ceil()).alias("part"))
        .agg(pl.sum("seconds"), pl.max("value"))
        .collect(engine="streaming")
        .sort("part")
    )
    p95 = parts.group_by("kind", "metric").agg(
        pl.col("value").filter(pl.col("seconds").cum_sum() >= SHARE * pl.sum("seconds")).first().alias("p95")
    )
    lines = (
        found.group_by("kind", "metric")
        .agg(pl.n_unique("entity"), pl.sum("len"), pl.sum("value") / pl.sum("seconds"), pl.max("most"))
        .join(p95, on=("kind", "metric"))
        .select("kind", pl.col("metric").cast(pl.String), "entity", "len", "value", "p95", "most")
    )
    order = {metric: place for place, metric in enumerate(METRICS)}
    told: list[Line] = [
        {
            "kind": kind,
            "metric": metric,
            "entities": entities,
            "samples": count,
            "mean": rounded(mean),
            "p95": p95,
            "max": most,
            "unit": METRICS[metric].unit,
        }
        for kind, metric, entities, count, mean, p95, most in lines.iter_rows()
    ]
    return sorted(told, key=lambda line: (KINDS.index(line["kind"]), order[line["metric"]]))


def _ready(samples: pl.LazyFrame, found: pl.DataFrame) -> Iterator[Ready]:
    """Yield ready times of VMs and guests, the longest per vCPU first, as far as vCPUs are known."""
    means = {(entity, metric): rounded(total / n) for entity, metric, n, total in _rows(found, "seconds", "value")}
    usual = _usual_intervals(samples)
    most = {(entity, metric): value for entity, metric, value in _rows(found, "most")}
    parts = vcpu_counts(entity for entity, _ in means)
    machines = found.filter(pl.col("kind").is_in(_MACHINES), pl.col("metric") == "ready_sum_pct")
    ready: list[tuple[Ready, datetime | None, datetime | None]] = []
    for entity, _, first, last in _rows(machines, "first", "last"):
        vcpus = most.get((entity, "vcpus"), parts.get(entity))
        host = entity.rpartition("/vm/")[0]
        said = usual.get(entity, usual.get(host))
        summed = means[entity, "ready_sum_pct"]
        ready.append(({"entity": entity, "summed_pct": summed, "vcpus": vcpus, "interval_s": said}, first, last))
    ready.sort(key=lambda each: (-each[0]["summed_pct"] / (each[0]["vcpus"] or 1), each[0]["entity"]))
    for each, first, last in ready[:MOST_READY]:
        if each["interval_s"] is None and first is not None and last is not None:
            each["interval_s"] = _apart(samples, each["entity"], first, last)
        yield each


def _usual_intervals(samples: pl.LazyFrame) -> dict[str, float]:
    """Return the length of the intervals of each entity. Of several lengths, it is the one with the most time."""
    each = samples.filter(pl.col("metric") == lengths.INTERVAL).group_by("entity", "value").agg(pl.sum("seconds"))
    found = each.collect(engine="streaming").with_columns(pl.col("entity").cast(pl.String))
    return dict(found.sort("entity", "seconds", "value").select("entity", "value").iter_rows())


def _apart(samples: pl.LazyFrame, entity: str, first: datetime, last: datetime) -> float | None:
    """Return the seconds between the samples of a VM's ready time, or None for a single sample."""
    own = samples.filter(pl.col("entity") == entity, pl.col("metric") == "ready_sum_pct")
    times = own.select(pl.n_unique("time")).collect(engine="streaming").item()
    return (last - first).total_seconds() / (times - 1) if times > 1 else None


def _rows(found: pl.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    return found.select(pl.col("entity", "metric").cast(pl.String), *columns).iter_rows()
