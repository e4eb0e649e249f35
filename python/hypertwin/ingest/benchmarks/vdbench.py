"""Vdbench: `flatfile.html`, or what a run prints (stdout, `summary.html`, `totals.html`), or its output folder.

Each run (RD) becomes `benchmark/RD` with its average (`avg_2-60`), a repeated name `benchmark/RD#2` ... Intervals
become `benchmark/RD/series/intervals`. The averages leave out the first interval or the warm-up. Form: Vdbench's Users
Guide 5.04.07, https://www.oracle.com/downloads/server-storage/vdbench-downloads.html (Report files, Flatfile.html), and
output in public repositories. Vdbench has no percentiles here, only a standard deviation. Its times have a zone that is
no offset, so they are left out. Only workloads on disks (SD) are read, not those on file systems (FSD).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

FLAT = "flatfile.html"
FILES = (FLAT, "totals.html", "summary.html")
"""Files of an output folder, the best first."""
MAX_RUNS = 10_000
MAX_LINE = 8192
UNLIMITED = 999_000
"""Least value of the asked rate that stands for the largest rate, which Vdbench writes as 999988 and above."""
COLUMNS: Mapping[str, tuple[str, float]] = {
    "i/o rate": ("iops", 1),
    "mb/sec 1024**2": ("bytes_per_s", 2**20),
    "resp time": ("latency_ms", 1),
    "read resp": ("read_latency_ms", 1),
    "write resp": ("write_latency_ms", 1),
}
"""Metric and factor of the two-line headings of printed tables."""
FLAT_COLUMNS: Mapping[str, tuple[str, float]] = {
    "rate": ("iops", 1),
    "mb/sec": ("bytes_per_s", 2**20),
    "resp": ("latency_ms", 1),
    "read_resp": ("read_latency_ms", 1),
    "write_resp": ("write_latency_ms", 1),
}
SAME: Mapping[str, str] = {"bytes i/o": "bytes/io", "read pct": "read%", "queue depth": "queue_depth"}
"""Names in the flat file of other columns of printed tables."""
EXPECTED = {
    "latency_ms": ("the columns of response times: give flatfile.html or summary.html", "response times"),
    "latency_ms_p99": ("percentiles, which Vdbench does not print", "percentiles of the time of an I/O"),
}
_TAG = re.compile(r"<[^<>]{0,500}>")
_STARTING = re.compile(r"(?:[0-9:.]{1,20}\s{1,9})?(?:\*\s{0,3})?Starting RD=([^;\s]{1,200});\s{0,9}(.{0,4000})")
_AVERAGE = re.compile(r"avg_[0-9]{1,9}-[0-9]{1,9}")
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")
_LOOP = re.compile(r"\b(threads|xfersize|rdpct|seekpct)=([0-9.]{1,12}[kmgKMG]?|random|seq|sequential)(?=[\s;,]|$)")
_RATE = re.compile(r"I/O rate: ([0-9]{1,9});")


@dataclass(frozen=True)
class DiskRun:
    """Average of a run, with the load that Vdbench gave it."""

    name: str
    figures: Mapping[str, float]
    """Figures by metric of the table."""
    load: Mapping[str, float]
    """Columns of the flat file: `threads`, `xfersize`, `rdpct`, `seekpct`, `reqrate`, `read%`, `bytes/io` ..."""


def recognises(head: bytes) -> bool:
    """True if the file has the headings of a flat file, or the start of a run."""
    return any(
        _STARTING.match(text) or _flat_header(text)
        for line in text_log.first_lines(head, 2000)
        if len(line) < MAX_LINE and (text := _TAG.sub("", line).strip())
    )


def files(folder: Path) -> Iterator[Path]:
    """Yield the best file of an output folder, or nothing for another folder."""
    for name in FILES:
        path = folder / name
        if path.is_file() and recognises(outside.head(path)):
            yield path
            return


def read(path: Path) -> Reading:
    """Return the runs in a file or an output folder."""
    rows = Rows(next(files(path), path) if outside.is_folder(path) else path, ("benchmark", "vdbench"))
    return replace(rows.reading("vdbench", Lines(rows), EXPECTED), source=path.name)


def runs(rows: Rows) -> list[DiskRun]:
    """Return the averages of the runs in a file, which is the file of `rows`."""
    lines = Lines(rows)
    for _ in rows.frames(lines, {}):
        pass
    return lines.ended


def _flat_header(text: str) -> bool:
    words = text.lower().split()
    return words[:1] == ["tod"] and {"run", "interval", "rate", "xfersize", "threads"} <= set(words)


class Lines:
    """Reader of the output, line by line."""

    def __init__(self, rows: Rows) -> None:
        """Start before the first run."""
        self.rows = rows
        self.ended: list[DiskRun] = []
        self.run = ""
        self.load: dict[str, float] = {}
        """Load of the current run, from its first line."""
        self.flat: list[str] = []
        self.first: list[str] = []
        """First line of a two-line heading."""
        self.columns: list[str] = []
        self.names: dict[str, int] = {}

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) >= MAX_LINE:
            self.rows.unreadable += 1
            return
        text = _TAG.sub("", line).strip()
        words = text.split()
        if started := _STARTING.match(text):
            self.run, self.load, self.columns = started[1], _load(started[2]), []
        elif _flat_header(text):
            self.flat = text.lower().split()
        elif self.flat and len(words) == len(self.flat):
            self._flat(dict(zip(self.flat, words, strict=True)))
        elif "interval" in words:
            self.first = [word.lower() for word in words[words.index("interval") + 1 :]]
        elif self.first:
            second, self.columns = [word.lower() for word in words], []
            if len(second) == len(self.first):
                self.columns = [" ".join(pair) for pair in zip(self.first, second, strict=True)]
            self.first = []
        elif self.columns and self.run:
            self._printed(words)

    def _flat(self, cells: Mapping[str, str]) -> None:
        found = {name: value for name, cell in cells.items() if (value := outside.number(cell)) is not None}
        load = {name: value for name, value in found.items() if name not in FLAT_COLUMNS}
        figures = _figures(found, FLAT_COLUMNS)
        if cells["interval"].startswith("avg_"):
            self._average(cells["run"], figures, load)
        elif not cells["interval"].startswith(("std_", "max_")):
            self._interval(cells["run"], figures)

    def _printed(self, words: list[str]) -> None:
        begin = 1 if words and _CLOCK.fullmatch(words[0]) else 0
        head, cells = words[begin : begin + 1], words[begin + 1 :]
        if not head or len(cells) != len(self.columns):
            return
        found = {
            name: value
            for name, cell in zip(self.columns, cells, strict=True)
            if (value := outside.number(cell)) is not None
        }
        figures = _figures(found, COLUMNS)
        if _AVERAGE.fullmatch(head[0]):
            load = {flat: found[name] for name, flat in SAME.items() if name in found}
            self._average(self.run, figures, {**load, **self.load})
            self.run = ""
        elif head[0].isdigit():
            self._interval(self.run, figures)

    def _average(self, run: str, figures: Mapping[str, float], load: Mapping[str, float]) -> None:
        if not figures.get("iops", 0) > 0:
            self.rows.note(f"run {outside.name(run)} has no average with I/Os: it is left out")
            return
        if len(self.ended) >= MAX_RUNS:
            outside.Source(self.rows.path).too_large("more runs", f"at most {MAX_RUNS} runs", "split the file")
        name = self._name(run, is_end=True)
        self.rows.root = ("benchmark", name)
        for metric, value in figures.items():
            if value > 0:
                self.rows.add(None, metric, value)
        self.ended.append(DiskRun(name, figures, load))

    def _interval(self, run: str, figures: Mapping[str, float]) -> None:
        self.rows.root = ("benchmark", self._name(run))
        for metric, value in figures.items():
            if metric == "iops" or value > 0:
                self.rows.add(None, metric, value, "series", "intervals")

    def _name(self, run: str, *, is_end: bool = False) -> str:
        """Return the name of the current run, which is unique in the file."""
        number = self.names.setdefault(run, 1)
        if is_end:
            self.names[run] = number + 1
        return run if number == 1 else f"{run}#{number}"

    def finish(self) -> None:
        """Add the notes."""
        if not self.ended:
            self.rows.note("no run with an average (avg_): it was ended, or has failed")
        self.rows.note("no clock times: Vdbench names its zone without an offset. Runs can be compared without them")


def _figures(found: Mapping[str, float], columns: Mapping[str, tuple[str, float]]) -> dict[str, float]:
    """Return the figures of a line. Negative values are left out."""
    return {
        metric: found[name] * factor
        for name, (metric, factor) in columns.items()
        if name in found and 0 <= found[name] * factor < math.inf
    }


def _load(text: str) -> dict[str, float]:
    """Return the load in the first line of a run: `I/O rate: 500; elapsed=60; For loops: threads=8 xfersize=4k`."""
    found: dict[str, float] = {}
    for key, value in _LOOP.findall(text):
        power = {"k": 10, "m": 20, "g": 30}.get(value[-1].lower(), 0)
        number = {"random": 100.0, "seq": 0.0, "sequential": 0.0}.get(value)
        if number is None:
            number = outside.number(value[:-1] if power else value)
        if number is not None:
            found[key] = number * 2**power
    if rate := _RATE.search(text):
        found["reqrate"] = float(rate[1])
    return found
