"""Runs of sysbench, pgbench and HammerDB in a file, each with its load and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypertwin.ingest import text_log
from hypertwin.ingest.benchmarks import hammerdb, pgbench, sysbench
from hypertwin.ingest.benchmarks.load_run import LoadRun, Runs
from hypertwin.ingest.text_log import Rows

READERS = {"sysbench": sysbench, "pgbench": pgbench, "hammerdb": hammerdb}
LINES: Mapping[str, type[Runs]] = {
    "sysbench": sysbench.Lines,
    "pgbench": pgbench.Lines,
    "hammerdb": hammerdb.Lines,
}
"""Reader of lines, by name of the generator."""


def generator(head: bytes) -> str | None:
    """Return the name of the generator that printed a file, by its first bytes, or None for another file."""
    return next((name for name, module in READERS.items() if module.recognises(head)), None)


def read(path: Path, generator: str) -> tuple[list[LoadRun], list[str]]:
    """Return the complete runs in a file, and notes on ignored parts. Raises SourceError."""
    rows = Rows(path, ("benchmark", text_log.stem(path)))
    lines = LINES[generator](rows)
    for _ in rows.frames(lines, {}):
        pass
    return lines.ended, rows.notes
