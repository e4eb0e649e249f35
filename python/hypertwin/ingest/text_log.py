"""Shared parts of readers of text logs: rows for the table, and dates and clocks without a time zone.

Unreadable lines are left out and counted. A file without a readable line is refused.
"""

from __future__ import annotations

import math
import re
from calendar import month_abbr
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import polars as pl

from hypertwin.ingest import outside, telemetry, telemetry_table
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading

PART_ROWS = 50_000
"""Approximate rows of the table in memory at a time."""
MOST_ENTITIES = 20_000
"""Maximum number of disks, interfaces and jobs in a file. A large server has hundreds."""
MOST_LINE = 65_536
"""Maximum length of a parsed line."""
NO_ZONE = "times have no zone: assumed UTC"

MONTHS = {name: at for at, name in enumerate(month_abbr) if name}
"""Numbers of the months, by their English abbreviations."""

_DATE = re.compile(r"([0-9]{1,4})([-/.])([0-9]{1,2})\2([0-9]{1,4})")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]{1,9})?")
_COMMA = re.compile(r"-?[0-9]{1,20},[0-9]{1,20}")
_LINUX = re.compile(r"\s{0,9}Linux\s+(\S{1,256})\s+\(([^()\t]{1,1024})\)\s+(\S{1,32})")
_CPUS = re.compile(r"\(([0-9]{1,5}) CPU\)")


class Lines(Protocol):
    """Reader of a text, line by line."""

    def feed(self, line: str) -> None:
        """Read one line."""

    def finish(self) -> None:
        """Write the last rows. Add the notes and gaps."""


class Rows:
    """Measurements of one file, part by part, with notes on the file."""

    def __init__(self, path: Path, root: tuple[str, ...]) -> None:
        """`root` is the measured entity of the file, such as `("guest", "db")`. It can change during the file."""
        self.path = path
        self.root = root
        self.gaps: list[Gap] = []
        self.notes: list[str] = []
        self.metrics: set[str] = set()
        """Metrics found so far."""
        self.unreadable = 0
        """Number of lines and values that were left out."""
        self._rows: list[tuple[object, str, str, float]] = []
        self._paths: dict[tuple[str, ...], str] = {}

    def add(self, time: datetime | None, metric: str, value: float, *below: str) -> None:
        """Add a measurement of the root, or of an entity `below` it, e.g. `"disk", "sda"`. Only finite values count."""
        if not math.isfinite(value):
            self.unreadable += 1
            return
        parts = self.root + below
        path = self._paths.get(parts)
        if path is None:
            if len(self._paths) >= MOST_ENTITIES:
                allowed = f"at most {MOST_ENTITIES} disks, interfaces and jobs"
                outside.Source(self.path).too_large("more entities", allowed, "is the file what it says?")
            cleaned = [outside.name(part) or "?" for part in parts]
            path = self._paths[parts] = telemetry.entity(*cleaned)
        self.metrics.add(metric)
        self._rows.append((time, path, metric, value))

    def note(self, text: str) -> None:
        """Add a note on the file, once."""
        if text not in self.notes and len(self.notes) < 100:
            self.notes.append(text)

    def decimal(self, cell: object) -> float | None:
        """Return a number from text, with a decimal point or comma, or from JSON, or None for anything else."""
        if isinstance(cell, str):
            if _COMMA.fullmatch(cell):
                self.note("numbers have a decimal comma")
                cell = cell.replace(",", ".")
            return outside.number(cell)
        return json_number(cell)

    def full(self) -> bool:
        """True if a part is complete."""
        return len(self._rows) >= PART_ROWS

    def take(self) -> pl.DataFrame:
        """Return the rows since the last part, as one."""
        rows, self._rows = self._rows, []
        return telemetry_table.frame(rows)

    def reading(
        self, kind: str, lines: Lines, expected: Mapping[str, tuple[str, str]] = MappingProxyType({})
    ) -> Reading:
        """Return the reading of the file. `expected` are its usual metrics, as in `lacking`."""
        return Reading(self.path.name, kind, self.frames(lines, expected), self.gaps, self.notes)

    def frames(self, lines: Lines, expected: Mapping[str, tuple[str, str]]) -> Iterator[pl.DataFrame]:
        """Feed the lines of the file one by one and yield the table part by part. At the end add gaps for missing
        metrics of `expected`.

        Refuses a file without any measurement.
        """
        for line in outside.text_lines(self.path):
            lines.feed(line)
            if self.full():
                yield self.take()
        lines.finish()
        self.lacking(expected)
        yield from self.rest()

    def rest(self) -> Iterator[pl.DataFrame]:
        """Yield the last part. Adds a note on ignored lines. Refuses a file without any measurement."""
        if self.unreadable:
            self.note(f"{self.unreadable} lines or values that cannot be read are left out")
        if not self.metrics:
            hint = "check that the output is complete, in English, and has at least two samples"
            outside.Source(self.path).lacks("no measurements", "at least one", hint)
        if self._rows:
            yield self.take()

    def lacking(self, expected: Mapping[str, tuple[str, str]]) -> None:
        """Add a gap for each missing metric. `expected` has its name in the source, and the results that need it."""
        self.gaps.extend(Gap(*said) for metric, said in expected.items() if metric not in self.metrics)


class Dates:
    """Dates in logs: `2026-11-21`, `11/21/26`, `21.11.2026`.

    With slashes the month comes first, as in American English. The day comes first if a month first is impossible here
    or for another date of the file, or far from the day `near`.
    """

    def __init__(self, rows: Rows, near: date | None = None) -> None:
        """`rows` gets a note on ambiguous dates."""
        self.rows = rows
        self.near = near
        self.day_first: bool | None = None
        self._last: tuple[str, date | None] = ("", None)

    def day(self, text: str) -> date | None:
        """Return the date, or None for any other text."""
        if text != self._last[0]:
            self._last = (text, self._day(text))
        return self._last[1]

    def _day(self, text: str) -> date | None:
        found = _DATE.fullmatch(text) if len(text) < 16 else None
        if found is None:
            return None
        first, middle, last = int(found[1]), int(found[3]), int(found[4])
        if len(found[1]) == 4:
            return _date(first, middle, last)
        year = last + 2000 if last < 100 else last
        month_first, day_first = _date(year, first, middle), _date(year, middle, first)
        if month_first is None or day_first is None:
            if month_first or day_first:
                self.day_first = month_first is None
            return month_first or day_first
        if found[2] != "/":
            return day_first
        if self.day_first is None and self.near is not None:
            distances = [abs((day - self.near).days) for day in (month_first, day_first)]
            return day_first if distances[1] < distances[0] else month_first
        if self.day_first is None and month_first != day_first:
            self.rows.note(f"dates such as {text} are read as month/day/year")
        return day_first if self.day_first else month_first


class Clock:
    """Adds dates to times of day: if the time decreases by more than half a day, the next day begins."""

    def __init__(self, day: date | None) -> None:
        """Begin on this day."""
        self.day = day
        self._last = 0

    def at(self, seconds: int) -> datetime | None:
        """Return the time at these seconds after midnight, or None if the day is unknown."""
        if self.day is not None and self.day.year <= 2150 and seconds < self._last - 43_200:
            self.day += timedelta(days=1)
        self._last = seconds
        return None if self.day is None or self.day.year > 2150 else moment(self.day, seconds)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day) if 1990 <= year <= 2150 else None
    except ValueError:
        return None


def moment(day: date, seconds: float) -> datetime:
    """Return the time at these seconds after midnight, in UTC."""
    return datetime.combine(day, time(), UTC) + timedelta(seconds=seconds)


def epoch(seconds: object) -> datetime | None:
    """Return seconds since 1970 as a time between then and 2150, otherwise None."""
    value = json_number(seconds)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value) if value and 0 < value < 5.68e9 else None


def seconds_of_day(text: str, half: str = "") -> int | None:
    """Return the whole seconds after midnight of `20:15:31`, or `08:15:31` with `PM`, or None for any other text."""
    found = _TIME.fullmatch(text) if len(text) < 20 else None
    if found is None:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    if half.upper() in ("AM", "PM"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.upper() == "PM" else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 61 else None


def date_time(dates: Dates, tokens: list[str]) -> datetime | None:
    """Return tokens such as `11/21/26 08:15:31 PM` or `2026-11-21 20:15:31`, in UTC, or None for anything else."""
    if len(tokens) < 2:
        return None
    day = dates.day(tokens[0])
    seconds = seconds_of_day(tokens[1], tokens[2] if len(tokens) > 2 else "")
    return None if day is None or seconds is None else moment(day, seconds)


def linux_header(line: str) -> tuple[str, str, int | None] | None:
    """Return the host, date and logical CPUs of sysstat's first line, `Linux 6.1 (host) 11/21/26 _x86_64_ (2 CPU)`."""
    found = _LINUX.match(line) if len(line) < MOST_LINE else None
    if found is None:
        return None
    cpus = _CPUS.search(line, found.end())
    return found[2], found[3], int(cpus[1]) if cpus and int(cpus[1]) else None


def json_number(value: object) -> float | None:
    """Return a finite number of a JSON document, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def stem(path: Path) -> str:
    """Return the default name of the measured entity: the file's name without endings."""
    return path.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".log") or path.name


def first_lines(head: bytes, most: int = 200) -> list[str]:
    """Return the first lines of a file, from its head, for recognition."""
    return head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()[:most]
