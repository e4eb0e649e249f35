"""Run of a load generator for databases: its load and its figures, beside the measurements for the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.ingest.text_log import Lines, Rows

MAX_RUNS = 10_000
"""Maximum number of runs in a file."""
MAX_LINE = 4096
"""Maximum number of characters of a line that has figures."""


@dataclass(frozen=True)
class LoadRun:
    """Complete run of a load generator."""

    figures: Mapping[str, float]
    """Figures by metric: `throughput_per_s`, `response_ms_mean`, `response_ms_p99` ..."""
    threads: int | None = None
    """Number of threads, clients or virtual users, or None if the output lacks it. 0 if the output says 0."""
    rate: float | None = None
    """Transactions per second that were asked for, or None without a limit."""
    is_paced: bool = False
    """True if the run had a limit of its rate, even if the output lacks the value."""
    is_aborted: bool = False
    """True if the output says that the run was aborted."""
    is_of_files: bool = False
    """True if an event is a read, write or flush of a file, and no transaction."""
    unread: str = ""
    """First line with a decimal comma, whose figure is not read, or an empty string without one."""


class Runs(Lines):
    """Reader of an output with several runs, line by line. A run begins with the root of `rows`."""

    def __init__(self, rows: Rows) -> None:
        """Start the first run."""
        self.rows = rows
        self.name = rows.root[1]
        self.count = 0
        self.ended: list[LoadRun] = []
        """Complete runs of the file."""

    def end(self, run: LoadRun, interval_s: float = 0) -> None:
        """Write the figures of a run, and start the next one. A run without figures becomes a note."""
        for metric, value in run.figures.items():
            self.rows.add(None, metric, value)
        if run.figures and interval_s > 0:
            self.rows.add(None, "interval_s", interval_s)
        if run.figures or run.unread:
            self.ended.append(run)
        if run.unread:
            self.rows.note(f"figures with a decimal comma are not read: {short(run.unread)}")
        elif not run.figures:
            self.rows.note("a run without a summary: it was ended, or has failed")
        self.count += 1
        if self.count >= MAX_RUNS:
            outside.Source(self.rows.path).too_large("more runs", f"at most {MAX_RUNS} runs", "split the file")
        self.rows.root = ("benchmark", f"{self.name}#{self.count + 1}")


def whole(text: str) -> int | None:
    """Return a whole number in ASCII digits, or None for other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
