"""Reader of pgbench's output, of PostgreSQL 9.5 to 18: progress lines (`-P`), and the summary, also with `-r`.

Form: https://www.postgresql.org/docs/current/pgbench.html (Good Practices, Per-Statement Report), and printResults of
src/bin/pgbench/pgbench.c. The summary becomes `benchmark/NAME`, named after the file, and further runs become
`benchmark/NAME#2` ... Progress lines become `benchmark/NAME/series/intervals`. pgbench prints no percentiles, and no
clock time. Its logs of transactions (`-l`) are not read.
"""

from __future__ import annotations

import re
from pathlib import Path

from hypertwin.ingest import text_log
from hypertwin.ingest.benchmarks.load_run import MAX_LINE, LoadRun, Runs, whole
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

EXPECTED = {"response_ms_p99": ("the log of transactions (-l)", "percentiles of response time")}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_VERSION = re.compile(r"pgbench \([0-9].{0,200}\)")
_CLIENTS = re.compile(r"number of clients: ([0-9]{1,9})")
_DURATION = re.compile(r"duration: ([0-9]{1,9}) s")
_MEAN = re.compile(rf"latency average\s?[=:] {_NUMBER} ms(?: \(including failures\))?")
_LAG = re.compile(r"rate limit schedule lag: .{1,200}")
_RATE = re.compile(rf"tps = {_NUMBER} \((?:without initial connection time|excluding connections establishing)\)")
_RECONNECTING = re.compile(rf"tps = {_NUMBER} \((?:including reconnection times|including connections establishing)\)")
_FAILED = re.compile(r"number of failed transactions: ([0-9]{1,15}) \([0-9.]{1,20}%\)")
_ABORTED = re.compile(r"(?:pgbench: (?:error: )?)?Run was aborted; the above results are incomplete\.")
_PROGRESS = re.compile(rf"progress: {_NUMBER} s, {_NUMBER} tps, lat {_NUMBER} ms stddev .{{1,300}}")


def recognises(head: bytes) -> bool:
    """True if the file has the summary or a progress line of pgbench."""
    return any(
        line.startswith("transaction type: ") or _PROGRESS.fullmatch(line)
        for line in text_log.first_lines(head, 1000)
        if len(line) < MAX_LINE
    )


def read(path: Path) -> Reading:
    """Return the runs in the file."""
    rows = Rows(path, ("benchmark", text_log.stem(path)))
    rows.note("no times: pgbench prints none")
    return rows.reading("pgbench", Lines(rows), EXPECTED)


class Lines(Runs):
    """Reader of the output, line by line."""

    def __init__(self, rows: Rows) -> None:
        """Start the first run, with the root of `rows`."""
        super().__init__(rows)
        self._begin()

    def _begin(self) -> None:
        self.found: dict[str, float] = {}
        self.threads: int | None = None
        self.total_s = 0.0
        self.is_paced = self.is_aborted = False
        self.has_begun = False

    def feed(self, line: str) -> None:
        """Read one line. Indented lines are those of single scripts and statements."""
        text = line.rstrip() if len(line) < MAX_LINE else ""
        if progress := _PROGRESS.fullmatch(text):
            if self.found:
                self._end()
            self.has_begun = True
            self.rows.add(None, "throughput_per_s", float(progress[2]), "series", "intervals")
            self.rows.add(None, "response_ms_mean", float(progress[3]), "series", "intervals")
        elif _VERSION.fullmatch(text):
            if self.found or self.has_begun:
                self._end()
        elif text.startswith("transaction type: "):
            if self.found:
                self._end()
            self.has_begun = True
        elif clients := _CLIENTS.fullmatch(text):
            self.threads = whole(clients[1])
        elif duration := _DURATION.fullmatch(text):
            self.total_s = float(duration[1])
        elif mean := _MEAN.fullmatch(text):
            self.found["response_ms_mean"] = float(mean[1])
        elif rate := _RATE.fullmatch(text):
            self.found["throughput_per_s"] = float(rate[1])
        elif rate := _RECONNECTING.fullmatch(text):
            self.found.setdefault("throughput_per_s", float(rate[1]))
        else:
            self._state(text)

    def _state(self, text: str) -> None:
        """Read a line on the limit of the rate, on failed transactions, or on the end of an aborted run."""
        failed = _FAILED.fullmatch(text)
        if _LAG.fullmatch(text):
            self.is_paced = True
        elif failed and int(failed[1]):
            self.rows.note(text)
        elif _ABORTED.fullmatch(text):
            self.is_aborted = True
            self.rows.note("a run was aborted: its results are incomplete")

    def finish(self) -> None:
        """Write the last run."""
        if self.found or self.has_begun:
            self._end()

    def _end(self) -> None:
        """Write the summary of a run, and start the next one."""
        whole_run = "throughput_per_s" in self.found
        found = self.found if whole_run else {}
        run = LoadRun(found, self.threads, is_paced=self.is_paced, is_aborted=self.is_aborted)
        self.end(run, self.total_s if whole_run else 0)
        self._begin()
