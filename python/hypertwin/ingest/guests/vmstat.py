"""Reader of vmstat of Linux (procps): `vmstat 5`, with or without `-t`, `-w`, `-a`, `-S`.

Columns are found by name, so their number and width do not matter. Form and meaning: vmstat(8) of procps-ng,
https://man7.org/linux/man-pages/man8/vmstat.8.html. The forms of AIX, Solaris and BSD are refused, because their
columns have other meanings.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Dates, Rows

KNOWN = frozenset(
    (
        *("r", "b", "swpd", "free", "buff", "cache", "inact", "active", "si", "so"),
        *("bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st", "gu"),
    )
)
ELSEWHERE = frozenset(("avm", "fre", "swap", "w", "re", "pi", "po", "fr", "sr", "de", "mf", "flt", "cy", "pc", "ec"))
"""Columns of vmstat on AIX, Solaris, HP-UX or BSD."""
SHORTEST_PAGE = 15
"""Minimum number of rows between two headers of one run (in procps, the height of the screen less 3).

An earlier header starts a new run, whose first row is dropped too.
"""
UNIT_ROWS = 8
"""Number of rows from which the unit of memory is derived."""
EXPECTED = {
    "steal_pct": ("vmstat st", "steal: CPU that the hypervisor did not give"),
    "iowait_pct": ("vmstat wa", "time that waited for I/O"),
    "run_queue": ("vmstat r", "run queue"),
    "memory_free_bytes": ("vmstat free", "free memory"),
}


def recognises(head: bytes) -> bool:
    """True if the file has a header of vmstat, of any system."""
    return any(_is_header(line.split()) for line in text_log.first_lines(head) if len(line) < 1000)


def read(path: Path) -> Reading:
    """Return the measurements of `guest/NAME`, named after the file, because vmstat does not name the host."""
    rows = Rows(path, ("guest", text_log.stem(path)))
    return rows.reading("vmstat", Lines(rows, Dates(rows)), EXPECTED)


def _is_header(tokens: list[str]) -> bool:
    return 10 < len(tokens) < 64 and {"r", "b", "us", "sy", "id"} <= set(tokens)


class Lines:
    """Reader of vmstat line by line, in its own file or inside another."""

    def __init__(self, rows: Rows, dates: Dates) -> None:
        """Write to `rows`."""
        self.rows = rows
        self.dates = dates
        self.names: list[str] = []
        self.before = 0
        """Number of tokens before the columns: a date and time added by another program."""
        self.zone = ""
        self.page = 0
        """Number of rows since the last header."""
        self.fresh = True
        """True if the next row is the first of a run, i.e. the average since boot."""
        self.dropped = 0
        self.unit: float | None = None
        self.last: datetime | None = None
        self.kept: list[tuple[datetime | None, dict[str, float], bool]] = []
        """Rows that wait for the unit of memory."""

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) > 1000:
            self.rows.unreadable += 1
            return
        tokens = line.split()
        if _is_header(tokens):
            self._header(tokens)
        elif self.names and tokens and (tokens[0][0].isdigit() or self.before):
            self._row(tokens)

    def finish(self) -> None:
        """Write the waiting rows. Add the notes and gaps."""
        self._flush()
        if self.dropped:
            self.rows.note(f"the first row of a run is the average since boot: {self.dropped} left out")
        if self.names and self.last is None:
            self.rows.gaps.append(outside.Gap("vmstat -t", "times"))

    def _header(self, tokens: list[str]) -> None:
        self.before = tokens.index("r")
        names = tokens[self.before :]
        if elsewhere := ELSEWHERE & set(names):
            allowed = "vmstat of Linux (procps), which has the columns swpd free buff cache"
            hint = "its columns mean other things on AIX, Solaris, HP-UX and BSD"
            outside.Source(self.rows.path).at("vmstat").refuse(f"columns {' '.join(sorted(elsewhere))}", allowed, hint)
        width = next((at for at, name in enumerate(names) if name not in KNOWN), len(names))
        self.zone = " ".join(names[width:])[:40]
        self.fresh |= 0 < self.page < SHORTEST_PAGE
        self.names, self.page = names[:width] if {"us", "sy", "id"} <= set(names[:width]) else [], 0

    def _row(self, tokens: list[str]) -> None:
        cells = [outside.number(token) for token in tokens[self.before : self.before + len(self.names)]]
        if len(cells) < len(self.names) or None in cells:
            self.rows.unreadable += any(cell is not None for cell in cells)
            return
        self.page += 1
        time = text_log.date_time(self.dates, tokens[: self.before] or tokens[len(self.names) :])
        if time is not None and self.zone not in ("UTC", "GMT"):
            self.rows.note(f"times are in zone {self.zone}: assumed UTC" if self.zone else text_log.NO_ZONE)
        self.kept.append((time, dict(zip(self.names, cells, strict=True)), self.fresh))  # type: ignore[arg-type]
        self.dropped += self.fresh
        self.fresh = False
        if self.unit is not None or len(self.kept) >= UNIT_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.kept and self.unit is None:
            self.unit = self._unit()
        for time, cells, is_first in self.kept:
            if not is_first:
                self._add(time, cells)
            self.last = time
        self.kept = []

    def _unit(self) -> float:
        """Return the bytes per unit of memory, which the output does not name with `-S`.

        Linux counts pages of 4 KiB. In KiB, the default, all values are therefore multiples of 4. In other units, some
        of the first rows have other values.
        """
        memory = ("swpd", "free", "buff", "cache", "inact", "active")
        cells = [cells[name] for _, cells, _ in self.kept for name in memory if name in cells]
        if all(cell % 4 == 0 for cell in cells):
            return 1024
        is_mega = max(cells) < 2**22
        self.rows.note(f"memory is no multiple of pages in KiB: read as {'MiB (-S M)' if is_mega else 'kB (-S k)'}")
        return 2.0**20 if is_mega else 1000

    def _add(self, time: datetime | None, cells: dict[str, float]) -> None:
        unit = self.unit or 1024
        if time and self.last and 0 < (seconds := (time - self.last).total_seconds()) <= 86_400:
            self.rows.add(time, "interval_s", seconds)
        busy = 100 - cells["id"] - cells.get("wa", 0)
        self.rows.add(time, "run_queue", cells["r"])
        self.rows.add(time, "guest_cpu_pct", busy)
        self.rows.add(time, "user_pct", cells["us"] + cells.get("gu", 0))
        self.rows.add(time, "system_pct", cells["sy"])
        for name, metric, factor in (
            ("wa", "iowait_pct", 1.0),
            ("st", "steal_pct", 1.0),
            ("cs", "context_switches_per_s", 1.0),
            ("free", "memory_free_bytes", unit),
            ("swpd", "swapped_bytes", unit),
            ("si", "swap_in_bytes_per_s", unit),
            ("so", "swap_out_bytes_per_s", unit),
            ("bi", "read_bytes_per_s", 1024.0),
            ("bo", "write_bytes_per_s", 1024.0),
        ):
            if name in cells:
                self.rows.add(time, metric, cells[name] * factor)
