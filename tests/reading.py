"""What tests of telemetry readers share: a table in a handy form, and broken copies of a good file."""

from __future__ import annotations

import random
from collections.abc import Iterator
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


def mutants(sample: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Broken copies: bytes changed, cut out, doubled, lines moved, numbers made absurd. The same ones in every run."""
    draw = random.Random(seed)
    absurd = (
        b"1e308",
        b"-1",
        b"nan",
        b"9" * 400,
        b"\x00",
        b"\xff\xfe",
        b"<script>",
        b"=cmd|' /C calc'!A0",
        b"99:99:99",
    )
    for _ in range(count):
        data = bytearray(sample)
        for _ in range(draw.randint(1, 6)):
            at, length = draw.randrange(len(data) + 1), draw.randint(1, 40)
            match draw.randrange(6):
                case 0:
                    data[at : at + 1] = bytes([draw.randrange(256)])
                case 1:
                    del data[at : at + length]
                case 2:
                    data[at:at] = data[at : at + length] * draw.randint(1, 50)
                case 3:
                    data[at:at] = draw.choice(absurd)
                case 4:
                    lines = bytes(data).splitlines(keepends=True)
                    draw.shuffle(lines)
                    data = bytearray(b"".join(lines))
                case _:
                    del data[at:]
        yield bytes(data)


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
