"""pButtons and SystemPerformance reports of InterSystems Caché and IRIS: one HTML file with the output of many tools.

The reader uses the sections mgstat, vmstat, iostat, sar-u, sar-d and free (Linux) and perfmon (Windows). A section
begins with `<div id=NAME>` and ends with `</pre>`, its end comment or the next section. The reader searches the HTML
for these marks, and never interprets it. If two sections have the same metric, the first one counts. The layout follows
the public extractors, https://github.com/murrayo/yape and https://github.com/murrayo/yaspe. Mgstat's columns are from
the Monitoring Guide of InterSystems, "Monitoring Performance Using ^mgstat".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path

from hypertwin.errors import SourceError
from hypertwin.ingest import outside, text_log
from hypertwin.ingest.guests import iostat, sar, vmstat
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Dates, Lines, Rows

MOST_COLUMNS = 20_000
"""Maximum number of perfmon counters. The default set has some hundred counters."""
MGSTAT = {
    "Glorefs": ("glorefs_per_s", 1),
    "PhyRds": ("database_reads_per_s", 1),
    "PhyWrs": ("database_writes_per_s", 1),
    "Jrnwrts": ("journal_writes_per_s", 1),
}
FREE = {
    "Memtotal": ("memory_bytes", 2**20),
    "used": ("memory_used_bytes", 2**20),
    "free": ("memory_free_bytes", 2**20),
    "swap_used": ("swapped_bytes", 2**20),
}
PERFMON = {
    ("processor", "% processor time"): ("guest_cpu_pct", 1),
    ("processor", "% user time"): ("user_pct", 1),
    ("processor", "% privileged time"): ("system_pct", 1),
    ("system", "processor queue length"): ("run_queue", 1),
    ("system", "context switches/sec"): ("context_switches_per_s", 1),
    ("memory", "available bytes"): ("memory_free_bytes", 1),
    ("memory", "available kbytes"): ("memory_free_bytes", 2**10),
    ("memory", "available mbytes"): ("memory_free_bytes", 2**20),
    ("physicaldisk", "disk transfers/sec"): ("iops", 1),
    ("physicaldisk", "disk reads/sec"): ("read_iops", 1),
    ("physicaldisk", "disk writes/sec"): ("write_iops", 1),
    ("physicaldisk", "disk read bytes/sec"): ("read_bytes_per_s", 1),
    ("physicaldisk", "disk write bytes/sec"): ("write_bytes_per_s", 1),
    ("physicaldisk", "avg. disk sec/transfer"): ("latency_ms", 1000),
    ("physicaldisk", "avg. disk sec/read"): ("read_latency_ms", 1000),
    ("physicaldisk", "avg. disk sec/write"): ("write_latency_ms", 1000),
    ("physicaldisk", "current disk queue length"): ("active_commands", 1),
}
"""Metrics by Windows' object and counter, in lower case."""
EXPECTED = {
    "glorefs_per_s": ("mgstat", "work of the database"),
    "guest_cpu_pct": ("vmstat, sar-u or perfmon", "CPU inside the guest"),
    "run_queue": ("vmstat r, perfmon Processor Queue Length", "run queue"),
    "disk_busy_pct": ("iostat, sar-d", "busy time of disks"),
}
_MARK = re.compile(r"<div id=\"?([\w .-]{1,60})\"?\s?>|<!-- (beg|end)_([\w-]{1,40}) -->|(</pre>|Topofpage)")
_HOST = re.compile(r"^\s{0,20}(?:<[^<>]{0,200}>)*\S{1,100} on machine ([^\s<]{1,256})", re.MULTILINE)
_RUN = re.compile(r"Profile run .{0,300} on ([A-Z][a-z]{2}) ([0-9]{1,2}),? ([0-9]{4}|[0-9]{2})\b")
_CPUS = re.compile(r"numberofcpus=([0-9]{1,5})")
_COUNTER = re.compile(r"(?:\\\\([^\\]{1,256}))?\\?([^\\(]{1,100})(?:\((.{1,300})\))?\\([^\\]{1,200})")
_BIAS = re.compile(r"\(PDH-CSV 4\.0\) \(.{0,100}\)\((-?[0-9]{1,4})\)")


def recognises(head: bytes) -> bool:
    """True if the file is such a report: HTML with section marks, or with the line about the run."""
    text = head.lower()
    is_html = b"<html" in text or b"<div id=" in text
    return is_html and any(mark in text for mark in (b"profile run ", b"beg_mgstat", b"#mgstat", b"id=mgstat"))


def read(path: Path) -> Reading:
    """Return the measurements of `guest/HOST` and its disks, from the known sections."""
    head = outside.head(path).decode("utf-8", "replace")
    host, run = _HOST.search(head), _RUN.search(head)
    rows = _OneSource(path, ("guest", host[1] if host else text_log.stem(path)))
    near = _run_date(run) if run else None
    return rows.reading("pbuttons", _Document(rows, Dates(rows, near), named=host is not None), EXPECTED)


def _run_date(found: re.Match[str]) -> date | None:
    year = int(found[3]) + (2000 if len(found[3]) == 2 else 0)
    try:
        return date(year, text_log.MONTHS[found[1]], int(found[2])) if 1990 <= year <= 2150 else None
    except (KeyError, ValueError):
        return None


class _OneSource(Rows):
    """Writer of rows of several sections. A metric is only used from the first section that has the metric."""

    section = ""

    def __init__(self, path: Path, root: tuple[str, ...]) -> None:
        super().__init__(path, root)
        self.given: dict[tuple[str, tuple[str, ...]], str] = {}

    def add(self, time: datetime | None, metric: str, value: float, *below: str) -> None:
        """Add a measurement, unless an earlier section has the metric."""
        if self.given.setdefault((metric, below[:1]), self.section) == self.section:
            super().add(time, metric, value, *below)


class _Document:
    """Reader of the HTML, line by line."""

    def __init__(self, rows: _OneSource, dates: Dates, named: bool) -> None:
        self.rows = rows
        self.dates = dates
        self.named = named
        self.section: Lines | None = None

    def feed(self, line: str) -> None:
        """Read one line. Marks begin and end sections. Other lines belong to the section."""
        if "<" in line and (found := list(_MARK.finditer(line[: text_log.MOST_LINE]))):
            if self.section and (before := line[: found[0].start()].strip()):
                self._line(before)
            for mark in found:
                self._mark(mark)
            line = line[found[-1].end() :].rpartition("<pre>")[2]
        if self.section and line:
            self._line(line.removeprefix("<pre>"))

    def finish(self) -> None:
        """End the last section."""
        self._end()

    def _mark(self, mark: re.Match[str]) -> None:
        name = (mark[1] or mark[3] or "").lower().replace("_", "-").removeprefix("win-")
        if mark[1] or mark[2] == "beg":
            if self.section is None or name != self.rows.section:
                self._end()
                self._begin(name)
        else:
            self._end()

    def _begin(self, name: str) -> None:
        self.rows.section = name
        match name:
            case "mgstat":
                self.section = _Csv(self.rows, self.dates, MGSTAT)
            case "free":
                self.section = _Csv(self.rows, self.dates, FREE)
            case "vmstat":
                self.section = vmstat.Lines(self.rows, self.dates)
            case "iostat":
                self.section = iostat.Lines(self.rows, self.dates, name_from_header=False)
            case "sar-u" | "sar-d":
                self.section = sar.Lines(self.rows, self.dates, name_from_header=False)
            case "perfmon":
                self.section = _Perfmon(self.rows, self.dates, self.named)

    def _line(self, line: str) -> None:
        try:
            if self.section:
                self.section.feed(line)
        except SourceError as error:
            if error.code != "bad-source":
                raise
            self.rows.gaps.append(Gap(f"{self.rows.section} of Linux", "what another system's tells"))
            self.section = None

    def _end(self) -> None:
        if self.section:
            self.section.finish()
        self.section = None


class _Csv:
    """Comma-separated values with date and time first: mgstat, free."""

    def __init__(self, rows: Rows, dates: Dates, columns: Mapping[str, tuple[str, int]]) -> None:
        self.rows = rows
        self.dates = dates
        self.columns = columns
        self.names: list[str] = []
        self.cpus: int | None = None

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) > text_log.MOST_LINE:
            self.rows.unreadable += 1
            return
        cells = [cell.strip() for cell in line.split(",")]
        if cells[0] == "Date":
            self.names = cells
        elif found := _CPUS.search(line):
            self.cpus = int(found[1])
        elif self.names and len(cells) > 2:
            self._row(cells)

    def finish(self) -> None:
        """Add the notes and gaps."""
        if self.names:
            self.rows.note(text_log.NO_ZONE)

    def _row(self, cells: list[str]) -> None:
        time = text_log.date_time(self.dates, [cells[0], *cells[1].split()])
        if time is None:
            self.rows.unreadable += 1
            return
        if self.cpus:
            self.rows.add(time, "vcpus", self.cpus)
            self.cpus = None
        for name, cell in zip(self.names, cells, strict=False):
            if name in self.columns:
                metric, factor = self.columns[name]
                value = outside.number(cell)
                if value is None:
                    self.rows.unreadable += 1
                else:
                    self.rows.add(time, metric, value * factor)


class _Perfmon:
    """Windows counters: a header of paths like `\\\\HOST\\PhysicalDisk(0 C:)\\Disk Reads/sec`, then a line per sample.

    pButtons can split the time into two columns and leave out the host (its "processed" form).
    """

    def __init__(self, rows: Rows, dates: Dates, named: bool) -> None:
        self.rows = rows
        self.dates = dates
        self.named = named
        self.columns: dict[int, tuple[str, int, tuple[str, ...]]] | None = None
        """Metric, factor and disk of each column, by index of the column."""
        self.time_columns = 1
        self.behind = timedelta()
        """Difference that converts times to UTC."""

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) > 2**20 or not line.strip():
            self.rows.unreadable += bool(line.strip())
            return
        try:
            cells = next(csv.reader([line]))
        except csv.Error:
            self.rows.unreadable += 1
            return
        if self.columns is None:
            self._header(cells)
        else:
            self._row(self.columns, cells)

    def finish(self) -> None:
        """Add the notes and gaps."""
        if self.columns is not None and not self.columns:
            self.rows.gaps.append(Gap("perfmon counters in English", "CPU and disks inside the guest"))

    def _header(self, cells: list[str]) -> None:
        if len(cells) < 2:
            return
        if len(cells) > MOST_COLUMNS:
            allowed = f"at most {MOST_COLUMNS}"
            outside.Source(self.rows.path).at("perfmon").too_large(f"{len(cells)} counters", allowed, "record fewer")
        bias = _BIAS.match(cells[0])
        self.behind = timedelta(minutes=int(bias[1])) if bias else timedelta()
        if bias is None:
            self.rows.note(text_log.NO_ZONE)
        self.time_columns = 2 if cells[1].strip().lower() == "time" else 1
        self.columns = {}
        for at, cell in enumerate(cells[self.time_columns :], self.time_columns):
            found = _COUNTER.fullmatch(cell.strip()) if len(cell) < 1000 else None
            known = PERFMON.get((found[2].strip().lower(), found[4].strip().lower())) if found else None
            if found is None or known is None:
                continue
            instance = (found[3] or "_Total").strip()
            if found[1] and not self.named:
                self.rows.root, self.named = ("guest", found[1]), True
            if instance == "_Total" or found[2].strip().lower() == "physicaldisk":
                self.columns[at] = (*known, () if instance == "_Total" else ("disk", instance))

    def _row(self, columns: Mapping[int, tuple[str, int, tuple[str, ...]]], cells: list[str]) -> None:
        tokens = " ".join(cells[: self.time_columns]).split()
        time = text_log.date_time(self.dates, tokens)
        if time is None:
            self.rows.unreadable += 1
            return
        for at, (metric, factor, below) in columns.items():
            cell = cells[at] if at < len(cells) else ""
            if (value := outside.number(cell)) is not None:
                self.rows.add(time + self.behind, metric, value * factor, *below)
            elif cell.strip():  # perfmon writes a blank until it has a value
                self.rows.unreadable += 1
