"""Reader of sysbench 0.4, 0.5, 1.0 and 1.1: intermediate reports, and summary.

Form: https://github.com/akopytov/sysbench, src/sysbench.c, src/sb_timer.c and src/tests. The summary becomes
`benchmark/NAME`, named after the file. Further runs in it become `benchmark/NAME#2` ... Intermediate reports become
`benchmark/NAME/series/intervals`. sysbench prints no clock time. A report of a checkpoint (`--report-checkpoints`)
resets all counters. So the last report of a run is its summary. It covers the time since the last checkpoint.
"""

from __future__ import annotations

import re
from pathlib import Path

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.benchmarks.load_run import MAX_LINE, LoadRun, Runs, whole
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

MAX_BARS = 10_000
_SUMMARIES = ("SQL statistics:", "OLTP test statistics:")
"""First lines of a summary, in the versions with checkpoints."""
_LAST = "Threads fairness:"
"""First line of the last part of every summary."""
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_THREADS = re.compile(r"Number of threads: ([0-9]{1,9})")
_ASKED = re.compile(rf"Target transaction rate: {_NUMBER}/sec")
_FILES = "Extra file open flags:"
"""Line that all versions print for a test of files (fileio)."""
_START = re.compile(r"sysbench [0-9.]{1,20}|Running the test with following options")
_INTERVAL = re.compile(rf"\[\s{{0,20}}{_NUMBER}\s{{0,9}}s\s{{0,9}}\]")
_RATE = re.compile(rf"\b(?:tps|eps): {_NUMBER}")
_LATENCY = re.compile(
    rf"(?:lat(?:ency)? \(ms,\s{{0,4}}([0-9.]{{1,6}})%\)|response time): {_NUMBER}(?:ms \(([0-9.]{{1,6}})%\))?"
)
_PERCENTILE = re.compile(
    rf"(?:approx\.\s{{1,9}})?([0-9.]{{1,6}})(?:th|st|nd|rd)? percentile:\s{{1,60}}{_NUMBER}(?:ms)?"
)
_RATES = (
    re.compile(rf"transactions:\s{{1,60}}[0-9]{{1,20}}\s{{1,20}}\({_NUMBER} per sec\.\)"),
    re.compile(rf"events per second:\s{{1,60}}{_NUMBER}"),
    re.compile(rf"events/s \(eps\):\s{{1,60}}{_NUMBER}"),
    re.compile(rf"{_NUMBER} Requests/sec executed"),
    re.compile(rf"Total operations: [0-9]{{1,20}} \({_NUMBER} per second\)"),
    re.compile(rf"Operations performed: [0-9]{{1,20}} \({_NUMBER} ops/sec\)"),
)
"""Patterns of the throughput: databases, cpu, sysbench 1.1, fileio of 0.4, memory, memory of 0.4."""
EXPECTED = {
    f"response_ms_{name}": (f"sysbench --percentile={name[1:]}", f"{name[1:]}th percentile") for name in ("p95", "p99")
}
_FIELDS = {
    "avg:": ("response_ms_mean", 1),
    "max:": ("response_ms_max", 1),
    "reads/s:": ("read_iops", 1),
    "writes/s:": ("write_iops", 1),
    "read, MiB/s:": ("read_bytes_per_s", 2**20),
    "written, MiB/s:": ("write_bytes_per_s", 2**20),
    "total time:": ("total_s", 1),
    "time elapsed:": ("total_s", 1),
    "total number of events:": ("events", 1),
}
_BAR = re.compile(rf"{_NUMBER} \|\*{{0,80}}\s{{1,80}}([0-9]{{1,15}})")
_IGNORED = re.compile(r"ignored errors:\s{1,60}([0-9]{1,15})\s{1,20}\([0-9.]{1,20} per sec\.\)")
_FIELD = re.compile(rf"({'|'.join(map(re.escape, _FIELDS))})\s{{1,60}}{_NUMBER}(?:ms|s)?")
_COMMA = re.compile(r"[^,]{1,80}[:(]\s{0,60}[0-9]{1,15},[0-9]{1,15}(?:ms|s| per sec\.\))?")
"""Line of a summary whose figure has a decimal comma, which sysbench itself does not print."""


def recognises(head: bytes) -> bool:
    """True if the file has the first line of sysbench, or its summary."""
    return any(
        re.match(r"sysbench v?[0-9]\.", line) or line.startswith(("Threads fairness:", "OLTP test statistics:"))
        for line in text_log.first_lines(head, 1000)
    )


def histogram(path: Path) -> dict[float, int]:
    """Return the latency histogram of the last run (`--histogram=on`): counts by upper end in ms. Empty without one."""
    found: dict[float, int] = {}
    for line in outside.text_lines(path):
        text = line.strip() if len(line) < MAX_LINE else ""
        if text.startswith("Latency histogram"):
            found = {}
        elif (row := _BAR.fullmatch(text)) and len(found) < MAX_BARS:
            found[float(row[1])] = int(row[2])
    return found


def read(path: Path) -> Reading:
    """Return the runs in the file."""
    rows = Rows(path, ("benchmark", text_log.stem(path)))
    rows.note("no times: sysbench prints none")
    return rows.reading("sysbench", Lines(rows), EXPECTED)


class Lines(Runs):
    """Reader of the output, line by line."""

    def __init__(self, rows: Rows) -> None:
        """Start the first run, with the root of `rows`."""
        super().__init__(rows)
        self.found: dict[str, float] = {}
        """Figures of the summary that is being read."""
        self.summary: dict[str, float] = {}
        """Figures of the last complete summary of the current run."""
        self.since_s, self.checkpoint_s = 0.0, 0.0
        """Begin of the summary that is being read, and the last checkpoint, in seconds of the run."""
        self.is_total = True
        """True if the time in a summary is that since the start of the run. Before 1.0, it is since a checkpoint."""
        self.threads: int | None = None
        """Number of threads of the current run."""
        self.asked: float | None = None
        self.is_of_files = False
        self.unread = ""
        """First line of the current run with a decimal comma."""
        self.rate_rank = len(_RATES)
        self.has_intervals = False

    def feed(self, line: str) -> None:
        """Read one line."""
        text = line.strip() if len(line) < MAX_LINE else ""
        self.is_of_files |= text.startswith(_FILES)
        if text.startswith("sysbench "):
            self.is_total = not text.startswith("sysbench 0.")
        if interval := _INTERVAL.match(text):
            self._interval(text)
            if text.endswith("Checkpoint report:"):
                self.checkpoint_s = float(interval[1])
        elif text in _SUMMARIES or text == _LAST:
            self._summarised()
        elif _START.match(text) and (self.found or self.summary or self.unread or self.has_intervals):
            self._end()
        elif threads := _THREADS.fullmatch(text):
            self.threads = whole(threads[1])
        elif asked := _ASKED.fullmatch(text):
            self.asked = float(asked[1]) or None
        else:
            self._figure(text)

    def _figure(self, text: str) -> None:
        """Read one line of a summary."""
        if field := _FIELD.fullmatch(text):
            metric, factor = _FIELDS[field[1]]
            self.found[metric] = float(field[2]) * factor
        elif percentile := _PERCENTILE.fullmatch(text):
            self._percentile(percentile[1], float(percentile[2]))
        elif ignored := _IGNORED.fullmatch(text):
            if int(ignored[1]):
                self.rows.note(f"ignored errors: {ignored[1]}")
        elif _COMMA.fullmatch(text):
            self.unread = self.unread or " ".join(text.split())
        else:
            for rank, pattern in enumerate(_RATES):
                rate = pattern.match(text)
                if rate and rank < self.rate_rank:
                    self.found["throughput_per_s"], self.rate_rank = float(rate[1]), rank

    def finish(self) -> None:
        """Write the last run."""
        self._end()

    def _interval(self, text: str) -> None:
        rate, latency = _RATE.search(text), _LATENCY.search(text)
        below = ("series", "intervals")
        if rate:
            self.rows.add(None, "throughput_per_s", float(rate[1]), *below)
            self.has_intervals = True
        if latency and (name := _percentile_name(latency[1] or latency[3] or "")):
            self.rows.add(None, f"response_ms_{name}", float(latency[2]), *below)

    def _percentile(self, of: str, value: float) -> None:
        name = _percentile_name(of)
        if name is None:
            self.rows.note("percentiles other than the 95th and 99th are left out")
        else:
            self.found[f"response_ms_{name}"] = value

    def _summarised(self) -> None:
        """End the summary that is being read. It replaces an earlier one of the run."""
        if not self.found:
            return
        found, self.found, self.rate_rank = self.found, {}, len(_RATES)
        if self.is_total and "total_s" in found:
            found["total_s"] -= self.since_s
        total_s, events = found.get("total_s", 0), found.pop("events", None)
        if events is not None and total_s > 0:
            found.setdefault("throughput_per_s", events / total_s)
        self.summary, self.since_s = found, self.checkpoint_s

    def _end(self) -> None:
        """Write the summary of a run, and start the next one."""
        self._summarised()
        found, threads, asked, unread = self.summary, self.threads, self.asked, self.unread
        self.summary, self.threads, self.asked, self.unread = {}, None, None, ""
        self.since_s, self.checkpoint_s, self.has_intervals = 0.0, 0.0, False
        is_of_files, self.is_of_files = self.is_of_files, False
        total_s = found.pop("total_s", 0)
        self.end(LoadRun(found, threads, asked, asked is not None, is_of_files=is_of_files, unread=unread), total_s)


def _percentile_name(text: str) -> str | None:
    number = outside.number(text)
    return {95: "p95", 99: "p99"}.get(int(number)) if number is not None and number == int(number) else None
