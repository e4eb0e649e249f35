"""iostat of sysstat: `iostat -xt 5`, the devices of Linux.

Columns are found by name. The names of all versions since 2008 are known. Form and meaning: iostat(1),
https://man7.org/linux/man-pages/man1/iostat.1.html.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Clock, Dates, Rows

COLUMNS = {
    "tps": ("iops", 1),
    "r/s": ("read_iops", 1),
    "w/s": ("write_iops", 1),
    "rkB/s": ("read_bytes_per_s", 1024),
    "wkB/s": ("write_bytes_per_s", 1024),
    "kB_read/s": ("read_bytes_per_s", 1024),
    "kB_wrtn/s": ("write_bytes_per_s", 1024),
    "rMB/s": ("read_bytes_per_s", 2**20),
    "wMB/s": ("write_bytes_per_s", 2**20),
    "rsec/s": ("read_bytes_per_s", 512),
    "wsec/s": ("write_bytes_per_s", 512),
    "await": ("latency_ms", 1),
    "r_await": ("read_latency_ms", 1),
    "w_await": ("write_latency_ms", 1),
    "%util": ("disk_busy_pct", 1),
}
EXPECTED = {"disk_busy_pct": ("iostat -x", "time of an I/O and busy time of disks")}
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:Z|[+-][0-9]{4})")


def recognises(head: bytes) -> bool:
    """True if the file has the first line of iostat and a device header."""
    lines = text_log.first_lines(head)
    has_devices = any(line.startswith("Device") and _columns(line.split()) for line in lines)
    return has_devices and any(text_log.linux_header(line) for line in lines)


def read(path: Path) -> Reading:
    """Return the disks of `guest/HOST`."""
    rows = Rows(path, ("guest", text_log.stem(path)))
    return rows.reading("iostat", Lines(rows, Dates(rows)), EXPECTED)


def _columns(tokens: list[str]) -> bool:
    return len(tokens) < 64 and bool({"r/s", "tps"} & set(tokens))


class Lines:
    """Reader of iostat line by line, in its own file or inside another."""

    def __init__(self, rows: Rows, dates: Dates, name_from_header: bool = True) -> None:
        """Write to `rows`. With `name_from_header`, the first line gives the name of its root."""
        self.rows = rows
        self.dates = dates
        self.name_from_header = name_from_header
        self.names: list[str] = []
        self.day = ""
        """Day in the first line, for reports with times of day only (sysstat 7)."""
        self.clock: Clock | None = None
        self.time: datetime | None = None
        self.reports = 0
        """Number of reports since iostat started. The first report is the average since boot."""
        self.has_cpu = False
        """True if the current report began with `avg-cpu` lines."""
        self.in_cpu = False

    def feed(self, line: str) -> None:
        """Read one line."""
        tokens = line.split() if len(line) < 4096 else []
        if not tokens:
            self.in_cpu = False
        elif found := text_log.linux_header(line):
            if self.name_from_header:
                self.rows.root = ("guest", found[0])
            self.reports, self.names = 0, []
            self.day, self.clock = found[1], None
        elif tokens[0] == "avg-cpu:":
            self.reports, self.has_cpu, self.in_cpu, self.names = self.reports + 1, True, True, []
        elif tokens[0] in ("Device", "Device:"):
            self.reports += not self.has_cpu
            self.has_cpu, self.in_cpu = False, False
            self.names = tokens[1:] if _columns(tokens) else []
        elif self.in_cpu:
            self.in_cpu = False
        elif not self._is_time(tokens):
            self._row(tokens)

    def finish(self) -> None:
        """Add the notes and gaps."""
        self.rows.note("iostat's first report is the average since boot: left out")
        if self.time is None:
            self.rows.gaps.append(outside.Gap("iostat -t", "times"))

    def _is_time(self, tokens: list[str]) -> bool:
        """True if the line is a time. The time then applies to the report."""
        if len(tokens) == 1 and _ISO.fullmatch(tokens[0][:40]):
            try:
                self.time = datetime.fromisoformat(tokens[0]).astimezone(UTC)
            except (ValueError, OverflowError):
                self.time = None
            return True
        if tokens[0] == "Time:":
            seconds = text_log.seconds_of_day(*tokens[1:3]) if len(tokens) in (2, 3) else None
            self.clock = self.clock or Clock(self.dates.day(self.day))
            self.time = None if seconds is None else self.clock.at(seconds)
            if self.time is not None:
                self.rows.note(text_log.NO_ZONE)
            return True
        time = text_log.date_time(self.dates, tokens) if len(tokens) in (2, 3) else None
        if time is not None:
            self.time = time
            self.rows.note(text_log.NO_ZONE)
        return time is not None

    def _row(self, tokens: list[str]) -> None:
        if len(tokens) != len(self.names) + 1:
            self.rows.unreadable += bool(self.names)
            return
        if self.reports < 2:
            return
        cells = {name: self.rows.decimal(token) for name, token in zip(self.names, tokens[1:], strict=True)}
        self.rows.unreadable += sum(cells[name] is None for name in COLUMNS if name in cells)
        reads, writes, tps = cells.get("r/s") or 0, cells.get("w/s") or 0, cells.get("tps") or 0
        idle = {"r_await": reads <= 0, "w_await": writes <= 0, "await": reads + writes + tps <= 0}
        for name, (metric, factor) in COLUMNS.items():
            if (value := cells.get(name)) is not None and not idle.get(name):
                self.rows.add(self.time, metric, value * factor, "disk", tokens[0])
        if "r/s" not in cells or "w/s" not in cells:
            return
        self.rows.add(self.time, "iops", reads + writes, "disk", tokens[0])
        read_ms, write_ms = cells.get("r_await"), cells.get("w_await")
        if "await" not in cells and read_ms is not None and write_ms is not None and not idle["await"]:
            mean = (reads * read_ms + writes * write_ms) / (reads + writes)
            self.rows.add(self.time, "latency_ms", mean, "disk", tokens[0])
