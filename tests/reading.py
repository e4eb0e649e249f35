"""What tests of telemetry readers share: a table in a handy form, and what a broken file may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from hypertwin.errors import SourceError
from hypertwin.ingest import formats, telemetry, telemetry_table
from hypertwin.ingest.telemetry import Reading


def read(path: Path, content: str | bytes | None = None) -> tuple[Reading, pl.DataFrame]:
    """Read a file of any format, written here if `content` is given; every metric must be a known one with its unit."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    reading = formats.read(str(path))
    table = pl.concat([pl.DataFrame(schema=dict(telemetry_table.SCHEMA)), *reading.frames])
    units = {(str(metric), str(unit)) for metric, unit in table.select("metric", "unit").unique().iter_rows()}
    assert units == {(metric, telemetry.METRICS[metric].unit) for metric, _ in units}
    assert set(telemetry.names(str(table["entity"][0]))) <= set(telemetry.KINDS)
    return reading, table


def series(table: pl.DataFrame, entity: str, metric: str) -> list[float]:
    """The values of one metric of one entity, in their order."""
    return table.filter(pl.col.entity.cast(str) == entity, pl.col.metric.cast(str) == metric)["value"].to_list()


def times(table: pl.DataFrame, entity: str, metric: str) -> list[Any]:
    """Their times, as text."""
    found = table.filter(pl.col.entity.cast(str) == entity, pl.col.metric.cast(str) == metric)["time"]
    return [time and f"{time:%Y-%m-%d %H:%M:%S}" for time in found]


def survives(path: Path, content: bytes) -> bool:
    """Whether a file is read; one that is not must be refused with a clear message, and nothing else may happen."""
    path.write_bytes(content)
    try:
        for frame in formats.read(str(path)).frames:
            assert frame["value"].is_finite().all()
    except SourceError as error:
        mistake = error.mistakes[0]
        assert mistake.file and mistake.allowed and mistake.hint and len(str(error)) < 2000
        return False
    return True
