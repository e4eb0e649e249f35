"""A CSV file with the telemetry table, as written by `hypertwin telemetry -o`. Its rows are checked like those of a
Parquet file.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside
from hypertwin.ingest.parquet_table import BATCH_ROWS, HINT, MOST_ENTITY, MOST_METRIC, MOST_UNIT, Checks
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.telemetry_table import SCHEMA

HEADER = ",".join(SCHEMA)
_PLAIN = {"time": pl.Int64(), "entity": pl.String(), "metric": pl.String(), "value": pl.Float64(), "unit": pl.String()}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Row = tuple[int | None, str, str, float | None, str]


def recognises(head: bytes) -> bool:
    """True if a file begins with the columns of the table."""
    return head.decode("utf-8", "replace").partition("\n")[0].rstrip("\r").removeprefix("\ufeff") == HEADER


def read(path: Path) -> Reading:
    """Return the table in a CSV file, part by part."""
    reading = Reading(path.name, "table", iter(()))
    reading.frames = Checks(path).frames(_parts(path), reading.notes)
    return reading


def _parts(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file as plain columns, times as microseconds since 1970. Raises SourceError."""
    rows = _rows(path)
    while part := list(itertools.islice(rows, BATCH_ROWS)):
        yield pl.DataFrame(part, schema=_PLAIN, orient="row")


def _rows(path: Path) -> Iterator[_Row]:
    reader = csv.reader(line + "\n" for line in outside.text_lines(path))

    def here(part: str) -> outside.Source:
        return outside.Source(path, HINT, part, reader.line_num)

    try:
        if next(reader, None) != [*SCHEMA]:
            here("header").refuse("other columns", f"the columns {HEADER}")
        for cells in reader:
            if len(cells) != len(SCHEMA):
                here("row").refuse(f"{len(cells)} columns", f"the columns {HEADER}")
            time, entity, metric, value, unit = cells
            try:
                at = _microseconds(time) if time else None
            except (ValueError, OverflowError):
                here("time").refuse(outside.name(time), "a time with its zone, as 2026-01-01T09:00:00+0000")
            yield at, entity[: MOST_ENTITY + 1], metric[: MOST_METRIC + 1], outside.number(value), unit[: MOST_UNIT + 1]
    except csv.Error as error:
        here("row").refuse(error, "rows of CSV")


@lru_cache(maxsize=10_000)
def _microseconds(time: str) -> int:
    moment = datetime.fromisoformat(time)
    if moment.tzinfo is None:
        raise ValueError
    return (moment - _EPOCH) // timedelta(microseconds=1)
