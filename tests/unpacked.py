"""Tables of telemetry that tests wrote, unpacked in this process: without the start of one for each that is read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from hypertwin.ingest import parquet_table


def unpacked_here(path: Path) -> Iterator[pl.DataFrame]:
    """What `parquet_table` gets of a good file from the process that it starts, by the same code."""
    out = io.BytesIO()
    assert parquet_table._written(path, out) == {}
    out.seek(0)
    while length := int.from_bytes(out.read(parquet_table._LENGTH), "little"):
        yield pl.read_ipc_stream(io.BytesIO(out.read(length)))
