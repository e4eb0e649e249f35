"""The telemetry table as polars frames: its columns, and files written part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

import polars as pl
from polars.io.plugins import register_io_source

from hypertwin.ingest.telemetry import METRICS, Reading

SCHEMA = MappingProxyType(
    {
        "time": pl.Datetime("us", "UTC"),
        "entity": pl.Categorical(),
        "metric": pl.Categorical(),
        "value": pl.Float64(),
        "unit": pl.Categorical(),
    }
)
"""Columns of the table. `time` is the end of the value's interval, or null if the source has no clock."""


def frame(rows: Iterable[tuple[object, str, str, float]]) -> pl.DataFrame:
    """Return a frame of the table from (time, entity, metric, value).

    The unit is that of the metric. Times are aware or None.
    """
    times, entities, metrics, values = [], [], [], []
    for time, path, metric, value in rows:
        times.append(time)
        entities.append(path)
        metrics.append(metric)
        values.append(value)
    return pl.DataFrame(
        {
            "time": times,
            "entity": entities,
            "metric": metrics,
            "value": values,
            "unit": [METRICS[metric].unit for metric in metrics],
        },
        schema=dict(SCHEMA),
    )


def write(frames: Iterable[pl.DataFrame], path: Path) -> int:
    """Write consecutive frames into a Parquet file, with one in memory at a time. Return the number of rows."""
    rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal rows
        for part in frames:
            rows += part.height
            yield part.select(*SCHEMA)

    source = register_io_source(lambda *_: counted(), schema=dict(SCHEMA))
    source.sink_parquet(path, compression="zstd", compression_level=1)
    return rows


def gather(readings: Sequence[Reading], path: Path, progress: Callable[[str, int], None] | None = None) -> list[int]:
    """Write consecutive readings into one Parquet file. Return the rows of each.

    `progress` is called with the source and its rows so far.
    """
    rows: list[int] = []

    def frames() -> Iterator[pl.DataFrame]:
        for reading in readings:
            rows.append(0)
            for part in reading.frames:
                rows[-1] += part.height
                if progress is not None:
                    progress(reading.source, rows[-1])
                yield part

    write(frames(), path)
    return rows


def write_csv(frames: Iterable[pl.DataFrame], path: Path) -> None:
    """Write consecutive frames into a CSV file with a header line. Times are UTC.

    No cell can act as a spreadsheet formula: an entity begins with its kind, and all other texts come from hypertwin.
    """
    with path.open("wb") as file:
        pl.DataFrame(schema=dict(SCHEMA)).write_csv(file)
        for part in frames:
            part.select(*SCHEMA).write_csv(file, include_header=False)
