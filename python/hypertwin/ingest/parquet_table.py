"""A Parquet file with the table of telemetry, as `hypertwin telemetry -o` writes it.

DuckDB reads it, with a limit on memory and no access to any other file: a page that unpacks to more than it should is
refused before it takes memory. The content is checked like that of any other source: columns, entities, units, numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import duckdb
import polars as pl
import pyarrow as pa

from hypertwin.ingest import outside, telemetry
from hypertwin.ingest.telemetry import METRICS, Reading
from hypertwin.ingest.telemetry_table import SCHEMA

MAGIC = b"PAR1"
MOST_MEMORY = "512MB"
"""Memory that DuckDB may use for one file."""
MOST_ENTITIES = 2_000_000
MOST_ENTITY = 3 * (3 * outside.MOST_NAME + 16)
"""Longest path of an entity, in characters: three kinds with a name each, of which `/` and `%` take three."""
MOST_ENTITY_CHARACTERS = 2**28
"""Of all paths of entities together."""
BATCH_ROWS = 65_536
TYPES = {
    "time": "TIMESTAMP WITH TIME ZONE",
    "entity": "VARCHAR",
    "metric": "VARCHAR",
    "value": "DOUBLE",
    "unit": "VARCHAR",
}
"""Columns and their types, as DuckDB calls them."""
_HINT = "write it with: hypertwin telemetry SOURCE -o table.parquet"


def recognises(head: bytes) -> bool:
    """Whether a file begins like a Parquet file."""
    return head.startswith(MAGIC)


def read(path: Path) -> Reading:
    """The table in a Parquet file, part by part."""
    reading = Reading(path.name, "table", iter(()))
    reading.frames = _frames(path, reading.notes)
    return reading


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """A DuckDB that can read this one file as the view `samples` and nothing else, in bounded memory."""
    name = str(path.resolve()).replace("'", "''")
    connection = duckdb.connect(
        config={
            "memory_limit": MOST_MEMORY,
            "threads": 1,
            "temp_directory": "",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    connection.execute(f"SET allowed_paths=['{name}']")
    connection.execute("SET enable_external_access=false")
    connection.execute(f"CREATE VIEW samples AS SELECT * FROM read_parquet('{name}', hive_partitioning=false)")
    return connection


def _frames(path: Path, notes: list[str]) -> Iterator[pl.DataFrame]:
    checks = _Checks(path)
    try:
        with connect(path) as connection:
            found = {
                str(row[0]): str(row[1]) for row in connection.execute("DESCRIBE samples").fetchmany(len(TYPES) + 1)
            }
            if found != TYPES:
                columns = ", ".join(f"{outside.name(name)} {kind}" for name, kind in found.items())
                allowed = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
                outside.refuse(path, "columns", columns, allowed, _HINT)
            query = (
                f"SELECT epoch_us(time) AS time, left(entity, {MOST_ENTITY + 1}) AS entity, left(metric, 65) AS metric,"
                " value, left(unit, 33) AS unit FROM samples"
            )
            for batch in connection.sql(query).to_arrow_reader(BATCH_ROWS):
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield checks.checked(frame)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        if "Out of Memory" in reason:
            outside.refuse(
                path, "", "pages that unpack to too much", f"at most {MOST_MEMORY}", _HINT, "source-too-large"
            )
        outside.refuse(path, "", outside.name(reason), "a whole Parquet file", _HINT)
    if checks.unknown:
        names = ", ".join(sorted(checks.unknown)[:10])
        notes.append(f"left out {len(checks.unknown)} metrics that this version does not know: {names}")


class _Checks:
    """Checks that the rows of a file are those of the table; remembers which names it has seen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entities: set[str] = set()
        self.characters = 0
        self.metrics: set[tuple[str, str]] = set()
        self.unknown: set[str] = set()

    def checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A part of the file as a frame of the table; refuses what no reader would have written."""
        if frame.select(pl.col("entity", "metric", "value", "unit").has_nulls()).row(0) != (False,) * 4:
            outside.refuse(self.path, "", "a row without entity, metric, value or unit", "rows that have them", _HINT)
        if not frame["value"].is_finite().all():
            outside.refuse(self.path, "value", "infinite or no number", "finite numbers", _HINT)
        times = frame["time"].drop_nulls()
        if not times.is_between(0, telemetry.LAST_TIME_US).all():
            outside.refuse(self.path, "time", "before 1970 or after 2199", "times of measurements", _HINT)
        for path in set(frame["entity"].unique()) - self.entities:
            if not is_entity(path):
                allowed = "kinds and names in turn, as host/esx1/vm/db"
                outside.refuse(self.path, "entity", outside.name(path), allowed, _HINT)
            self.entities.add(path)
            self.characters += len(path)
        if len(self.entities) > MOST_ENTITIES or self.characters > MOST_ENTITY_CHARACTERS:
            value = f"{len(self.entities)} entities or more, with {self.characters} characters"
            allowed = f"at most {MOST_ENTITIES}, with at most {MOST_ENTITY_CHARACTERS} characters"
            outside.refuse(self.path, "entity", value, allowed, _HINT, "source-too-large")
        for metric, unit in set(frame.select("metric", "unit").unique().iter_rows()) - self.metrics:
            if metric not in METRICS:
                self.unknown.add(outside.name(metric))
            elif METRICS[metric].unit != unit:
                allowed = METRICS[metric].unit or "no unit"
                outside.refuse(self.path, f"unit of {metric}", outside.name(unit), allowed, _HINT)
            else:
                self.metrics.add((metric, unit))
        if self.unknown:
            frame = frame.filter(pl.col("metric").is_in(METRICS.keys()))
        return frame.with_columns(pl.from_epoch("time", "us").dt.replace_time_zone("UTC")).cast(dict(SCHEMA))  # type: ignore[arg-type]


def is_entity(path: str) -> bool:
    """Whether it is a path of kinds and names as readers write them: `host/esx1/vm/db`."""
    parts = path.split("/")
    names = [unquote(part) for part in parts[1::2]]
    return (
        len(path) <= MOST_ENTITY
        and len(parts) % 2 == 0
        and all(kind in telemetry.KINDS for kind in parts[::2])
        and all(name and name == outside.name(name) for name in names)
        and path == telemetry.entity(*(part for pair in zip(parts[::2], names, strict=True) for part in pair))
    )
