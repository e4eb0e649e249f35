"""A Parquet file with the telemetry table, as written by `hypertwin telemetry -o`.

Polars unpacks it in a separate process with at most `MOST_MEMORY`. A file that unpacks to more, or that crashes its
reader, ends that process and raises one clear error. The results are checked part by part like any other source:
columns, entities, units, numbers.

The reason is that Polars allocates as much as a page of the file claims to need, and can abort.
"""

from __future__ import annotations

import io
import json
import math
import os
import resource
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO
from urllib.parse import unquote

import polars as pl

from hypertwin.ingest import outside, telemetry
from hypertwin.ingest.telemetry import METRICS, Reading
from hypertwin.ingest.telemetry_table import SCHEMA

MAGIC = b"PAR1"
MOST_MEMORY = 512 * 2**20
"""Maximum bytes of the process for one file, beyond its base memory."""
LEAST_SECONDS, SECONDS_PER_MB = 60, 2
"""Maximum CPU seconds of the process: minimum, and per megabyte of the file. Ten times the usual need."""
WAITS = 3.0
"""Factor on that time, above which the process counts as stuck."""
STILL_SECONDS = 10.0
"""Maximum seconds without any CPU use before the process counts as stuck: if memory lacks for one thread, polars' other
threads wait for it."""
STARVED = 8 * 2**20
"""Bytes of free memory below which a waiting process waits for memory."""
MOST_ENTITIES = 2_000_000
MOST_ENTITY = 3 * (3 * outside.MOST_NAME + 16)
"""Maximum path of an entity, in characters: three kinds with a name each, in which `/` and `%` take three characters.
"""
MOST_ENTITY_CHARACTERS = 2**28
"""Maximum characters of all paths of entities together."""
BATCH_ROWS = 65_536
MOST_METRIC, MOST_UNIT = 64, 32
"""Maximum length of metric and unit names. All real ones are shorter."""
MOST_REASON = 500
_COLUMNS = "time Datetime(UTC), entity String, metric String, value Float64, unit String"
HINT = "write it with: hypertwin telemetry SOURCE -o table.parquet"
_LENGTH = 8
"""Number of bytes for the length of a part. A length of 0 marks the end, and the outcome follows."""


def recognises(head: bytes) -> bool:
    """True if a file begins like a Parquet file."""
    return head.startswith(MAGIC)


def read(path: Path) -> Reading:
    """Return the table in a Parquet file, part by part."""
    reading = Reading(path.name, "table", iter(()))
    reading.frames = Checks(path).frames(_unpacked(path), reading.notes)
    return reading


def _unpacked(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file as plain columns, times as microseconds since 1970. Raises SourceError."""
    program = "from hypertwin.ingest import parquet_table; parquet_table.unpack()"
    source = outside.Source(path, HINT)
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
    # without memory for one more thread, polars' allocator would try again for ever
    settings["_RJEM_MALLOC_CONF"] = "background_thread:false"
    command = [sys.executable, "-c", program, str(path.resolve()), str(MOST_MEMORY)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, env={**os.environ, **settings}) as process,
    ):
        assert process.stdout is not None
        # its own limit is one of CPU time, which a thread that waits for ever does not use up
        guard = threading.Timer(WAITS * _seconds(path), process.kill)
        guard.start()
        starved = False
        try:
            while length := int.from_bytes(_next(process, process.stdout), "little"):
                yield pl.read_ipc_stream(io.BytesIO(process.stdout.read(length)))
            ended = process.stdout.read()
        except TimeoutError:
            ended, starved = b"", _left(process) < STARVED
        finally:
            guard.cancel()
            process.kill()  # where not all parts are wanted
        if not ended:
            said.seek(0)
            told = said.read(MOST_REASON).decode("utf-8", "replace")
            if not starved and (process.wait() >= 0 or "memory allocation" not in told):
                source.refuse(outside.name(told.partition("\n")[0]) or "no end of it", "a whole Parquet file")
            source.too_large("pages that unpack to too much", f"at most {MOST_MEMORY // 2**20} MiB")
    outcome = json.loads(ended)
    if "columns" in outcome:
        source.at("columns").refuse(outside.name(outcome["columns"]), _COLUMNS)
    if "broken" in outcome:
        source.refuse(outside.name(outcome["broken"]), "a whole Parquet file")


def _next(process: subprocess.Popen[bytes], out: IO[bytes]) -> bytes:
    """Return encoded length of the next part. Raises TimeoutError if the process no longer computes."""
    used: int | None = -1
    since = 0.0
    while not select.select([out], [], [], 0.5)[0]:
        now, before = _cpu_ticks(process), used
        used, since = now, since if now == before else time.monotonic()
        if now is not None and time.monotonic() - since > STILL_SECONDS:
            raise TimeoutError
    return out.read(_LENGTH)


def _cpu_ticks(process: subprocess.Popen[bytes]) -> int | None:
    """Return CPU time used by a process, or None if the system does not report it."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


def _left(process: subprocess.Popen[bytes]) -> float:
    """Return the memory that a process can still use, in bytes."""
    try:
        status, limits = (Path(f"/proc/{process.pid}/{name}").read_text() for name in ("status", "limits"))
    except OSError:
        return math.inf
    taken, most = status.partition("VmData:")[2].split()[:1], limits.partition("Max data size")[2].split()[:1]
    return int(most[0]) - int(taken[0]) * 1024 if taken and most and most[0].isdecimal() else math.inf


def unpack() -> None:
    """Entry point of the unpacking process: write the parts of the file in the command line on stdout, then the end."""
    path, most = Path(sys.argv[1]), int(sys.argv[2])
    if (status := Path("/proc/self/status")).exists():  # else it is not Linux, which alone keeps this limit
        taken = next(int(line.split()[1]) * 1024 for line in status.open() if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (taken + most, taken + most))
    seconds = _seconds(path)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        outcome = _written(path, sys.stdout.buffer)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        outcome = {"broken": str(error).partition("\n")[0][:MOST_REASON]}
    sys.stdout.buffer.write(bytes(_LENGTH) + json.dumps(outcome).encode())


def _seconds(path: Path) -> int:
    """Return the maximum CPU seconds to unpack a file."""
    return LEAST_SECONDS + SECONDS_PER_MB * path.stat().st_size // 10**6


def _written(path: Path, out: BinaryIO) -> dict[str, str]:
    source = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
    found = source.collect_schema()
    clock, texts = found.get("time"), [found.get(name) for name in ("entity", "metric", "unit")]
    if (
        set(found) != set(SCHEMA)
        or not (isinstance(clock, pl.Datetime) and clock.time_zone)
        or found["value"] != pl.Float64
        or not all(kind in (pl.String, pl.Categorical) for kind in texts)
    ):
        told = ", ".join(f"{name} {_type(kind)}" for name, kind in [*found.items()][: len(SCHEMA) + 1])
        return {"columns": told[:MOST_REASON]}
    plain = source.select(
        pl.col("time").dt.epoch("us"),
        *(
            pl.col(name).cast(pl.String).str.head(most + 1)
            for name, most in (("entity", MOST_ENTITY), ("metric", MOST_METRIC))
        ),
        "value",
        pl.col("unit").cast(pl.String).str.head(MOST_UNIT + 1),
    )
    for part in plain.collect_batches(chunk_size=BATCH_ROWS, engine="streaming"):
        packed = io.BytesIO()
        part.write_ipc_stream(packed)
        out.write(len(packed.getbuffer()).to_bytes(_LENGTH, "little"))
        out.write(packed.getbuffer())
    return {}


def _type(kind: pl.DataType) -> str:
    return f"Datetime({kind.time_zone or 'no time zone'})" if isinstance(kind, pl.Datetime) else str(kind)


class Checks:
    """Checks that rows of a file belong to the table. Remembers known names."""

    def __init__(self, path: Path) -> None:
        """Prepare for the file at `path`, which refusals name."""
        self.source = outside.Source(path, HINT)
        self.entities: set[str] = set()
        self.characters = 0
        self.metrics: set[tuple[str, str]] = set()
        self.unknown: set[str] = set()

    def frames(self, parts: Iterable[pl.DataFrame], notes: list[str]) -> Iterator[pl.DataFrame]:
        """Yield the parts of a file as frames of the table. At the end, add a note on unknown metrics."""
        for part in parts:
            yield self.checked(part)
        if self.unknown:
            names = ", ".join(sorted(self.unknown)[:10])
            notes.append(f"left out {len(self.unknown)} metrics that this version does not know: {names}")

    def checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a part of the file as a frame of the table. Refuses parts that no reader would write."""
        if frame.select(pl.col("entity", "metric", "value", "unit").has_nulls()).row(0) != (False,) * 4:
            self.source.refuse("a row without entity, metric, value or unit", "rows that have them")
        if not frame["value"].is_finite().all():
            self.source.at("value").refuse("infinite or no number", "finite numbers")
        times = frame["time"].drop_nulls()
        if not times.is_between(0, telemetry.LAST_TIME_US).all():
            self.source.at("time").refuse("before 1970 or after 2199", "times of measurements")
        for path in set(frame["entity"].unique()) - self.entities:
            if not is_entity(path):
                self.source.at("entity").refuse(outside.name(path), "kinds and names in turn, as host/esx1/vm/db")
            self.entities.add(path)
            self.characters += len(path)
        if len(self.entities) > MOST_ENTITIES or self.characters > MOST_ENTITY_CHARACTERS:
            value = f"{len(self.entities)} entities or more, with {self.characters} characters"
            allowed = f"at most {MOST_ENTITIES}, with at most {MOST_ENTITY_CHARACTERS} characters"
            self.source.at("entity").too_large(value, allowed)
        for metric, unit in set(frame.select("metric", "unit").unique().iter_rows()) - self.metrics:
            if metric not in METRICS:
                self.unknown.add(outside.name(metric))
            elif METRICS[metric].unit != unit:
                self.source.at(f"unit of {metric}").refuse(outside.name(unit), METRICS[metric].unit or "no unit")
            else:
                self.metrics.add((metric, unit))
        if self.unknown:
            frame = frame.filter(pl.col("metric").is_in(METRICS.keys()))
        return frame.with_columns(pl.from_epoch("time", "us").dt.replace_time_zone("UTC")).cast(dict(SCHEMA))  # type: ignore[arg-type]


def is_entity(path: str) -> bool:
    """True if it is a path of kinds and names in the form of readers: `host/esx1/vm/db`."""
    parts = path.split("/")
    names = [unquote(part) for part in parts[1::2]]
    return (
        len(path) <= MOST_ENTITY
        and len(parts) % 2 == 0
        and all(kind in telemetry.KINDS for kind in parts[::2])
        and all(name and name == outside.name(name) for name in names)
        and path == telemetry.entity(*(part for pair in zip(parts[::2], names, strict=True) for part in pair))
    )
