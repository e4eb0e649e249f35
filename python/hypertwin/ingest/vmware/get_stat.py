"""Counters exported by PowerCLI: `Get-Stat ... | Export-Csv FILE`, with or without `Select-Object`.

Columns are the properties of PowerCLI's samples, in any order: MetricId (`cpu.ready.summation`), Timestamp, Value and
Entity are required. EntityId (`VirtualMachine-vm-42`) distinguishes VMs from hosts, Instance distinguishes parts from
the whole, and IntervalSecs is the divisor of a sum of milliseconds. Percentages are in per cent here, not in
hundredths. Numbers and times are in the culture of the exporting Windows, times in its time zone.

Sources: PowerCLI cmdlet reference, `Get-Stat`; PowerShell, `Export-Csv` (the `#TYPE` line, `-UseCulture`).
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import polars as pl

from hypertwin.ingest import outside, telemetry, telemetry_table
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.vmware import vsphere_counters
from hypertwin.ingest.vmware.vsphere_counters import Counter

NEEDED = ("metricid", "timestamp", "value", "entity")
OPTIONAL: Mapping[str, str] = MappingProxyType(
    {
        "entityid": "hosts (all are assumed to be VMs)",
        "instance": "vCPUs, virtual disks and devices (instances are assumed to be the whole)",
        "intervalsecs": "percentages of ready, co-stop and other sums",
    }
)
ROWS_PER_FRAME = 100_000
ROWS_TO_LEARN_DATES = 20_000
MOST_COLUMNS = 100
_TIME = re.compile(
    r"(\d{1,4})([./-])\s?(\d{1,2})\2\s?(\d{1,4}),?[ T\u202f]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\.\d+)?"
    r"[ \u00a0\u202f]?([AaPp]\.?[Mm]\.?)?(Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_COUNTERS: Mapping[bool, Mapping[str, Counter]] = MappingProxyType(
    {
        True: {
            **vsphere_counters.VM_COUNTERS,
            **vsphere_counters.VCPU_COUNTERS,
            **vsphere_counters.VM_PART_COUNTERS,
        },
        False: {**vsphere_counters.HOST_COUNTERS, **vsphere_counters.HOST_PART_COUNTERS},
    }
)
"""Counters that the reader uses. The key True has those of VMs."""
_BY_ID = MappingProxyType(
    {
        is_vm: {name.lower(): (name, counter) for name, counter in counters.items()}
        for is_vm, counters in _COUNTERS.items()
    }
)
"""Name and counter by MetricId in lower case, because exports write it in any case."""


def recognises(head: bytes) -> bool:
    """True if a file begins with the columns of PowerCLI's samples."""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    header = next((line for line in lines if line.strip() and not line.startswith("#TYPE")), "")
    return _dialect(header) is not None


def read(path: Path) -> Reading:
    """Return the streamed reading of such a file. The frames raise SourceError for unreadable rows."""
    reading = Reading(str(path), "get-stat", iter(()))
    reading.frames = _File(path, reading).frames()
    return reading


def _dialect(header: str) -> tuple[str, dict[str, int]] | None:
    """Return the separator and the position of each column, or None if a required one is missing."""
    for separator in ",;\t":
        names = [name.strip().strip('"').lower() for name in header[:10_000].split(separator)]
        if all(name in names for name in NEEDED) and len(names) <= MOST_COLUMNS:
            return separator, {name: place for place, name in reversed(list(enumerate(names)))}
    return None


@dataclass
class _Row:
    line: int
    metric: str
    time: str
    value: str
    entity: str
    identity: str
    instance: str
    interval: str


class _File:
    def __init__(self, path: Path, reading: Reading) -> None:
        self.path = path
        self.reading = reading
        self.month_first: bool | None = None
        self.zoned = False
        self.columns: set[str] = set()
        self.bare_sums: set[str] = set()
        self.found: dict[bool, set[str]] = {True: set(), False: set()}
        """Names of the counters with values. The key True has those of VMs."""

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the table, part by part, each in the order of time."""
        self._learn_dates()
        rows = (made for row in self._rows() for made in self._measured(row))
        while part := list(itertools.islice(rows, ROWS_PER_FRAME)):
            yield telemetry_table.frame(part).unique(maintain_order=True).sort("time", maintain_order=True)
        self._tell()

    def _tell(self) -> None:
        """Add gaps and notes on missing data and assumptions."""
        for name, costs in OPTIONAL.items():
            if name not in self.columns and name != "intervalsecs":
                self.reading.gaps.append(Gap(name, costs))
        for name in sorted(self.bare_sums):
            self.reading.gaps.append(Gap("IntervalSecs", f"{name}, which needs the interval"))
        for is_vm, whose in ((True, "VMs"), (False, "hosts")):
            if not self.found[is_vm]:
                if "entityid" in self.columns:  # otherwise all are assumed to be VMs
                    self.reading.gaps.append(Gap(f"samples of {whose}", f"counters of {whose}"))
                continue
            self.reading.gaps += [
                Gap(name, f"{counter.costs} (no samples of {whose})")
                for name, counter in _COUNTERS[is_vm].items()
                if name not in self.found[is_vm]
            ]
        if self.month_first is None:
            self.reading.notes.append("ambiguous dates: assumed month first")
        if not self.zoned:
            self.reading.notes.append("times have no zone: assumed UTC")

    def _rows(self) -> Iterator[_Row]:
        lines = outside.text_lines(self.path)
        numbered = ((number, line) for number, line in enumerate(lines, 1) if not line.startswith("#TYPE"))
        number, header = next(((number, line) for number, line in numbered if line.strip()), (1, ""))
        dialect = _dialect(header)
        if dialect is None:
            hint = "export MetricId, Timestamp, Value, Entity, EntityId, Instance and IntervalSecs"
            outside.Source(self.path, line=number).at("header").refuse(header, ", ".join(NEEDED), hint)
        separator, places = dialect
        self.columns = set(places)
        reader = csv.reader((line + "\n" for _, line in numbered), delimiter=separator)
        wanted = [places.get(name) for name in (*NEEDED, *OPTIONAL)]
        needed = max(places[name] for name in NEEDED)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                place = outside.Source(self.path, "export it again", "row", number + reader.line_num)
                place.refuse(error, "rows of CSV")
            if cells is None:
                return
            at = number + reader.line_num
            if not any(cells):
                continue
            if len(cells) <= needed or len(cells) > MOST_COLUMNS:
                allowed = f"{needed + 1} columns or more, as in the header"
                outside.Source(self.path, line=at).at("row").refuse(f"{len(cells)} columns", allowed, "is it cut off?")
            metric, time, value, entity, identity, instance, interval = (
                cells[place].strip() if place is not None and place < len(cells) else "" for place in wanted
            )
            yield _Row(at, metric, time, value, entity, identity, instance, interval)

    def _learn_dates(self) -> None:
        """Determine if the month or the day comes first, from a date that allows only one order."""
        for row in itertools.islice(self._rows(), ROWS_TO_LEARN_DATES):
            match = _TIME.fullmatch(row.time)
            if match is None:
                continue
            first, separator, second = match[1], match[2], match[3]
            if len(first) == 4 or separator != "/" or int(first) > 12:
                self.month_first = False
                break
            if int(second) > 12:
                self.month_first = True
                break

    def _measured(self, row: _Row) -> Iterator[tuple[datetime, str, str, float]]:
        is_vm = not row.identity.lower().startswith("hostsystem")
        metric, counter = _BY_ID[is_vm].get(row.metric.lower(), ("", None))
        value, name = self._number(row.value), outside.name(row.entity)
        if counter is None or not name or value is None or value < 0:
            return
        self.found[is_vm].add(metric)
        time = self._time(row)
        path = ["vm" if is_vm else "host", name]
        if row.instance:
            part = vsphere_counters.part_of(metric, outside.name(row.instance))
            if part is None or not part[-1]:
                return
            path += part
        seconds = self._number(row.interval)
        unit = telemetry.METRICS[counter.metric].unit
        if metric.endswith(".summation"):
            if not seconds or not 0 < seconds <= 10 * 86_400:
                self.bare_sums.add(metric)
                return
            value = value / (seconds * 10) if unit == "%" else value / seconds
        elif unit in ("B", "B/s"):
            value *= 1024
        entity = telemetry.entity(*path)
        yield time, entity, counter.metric, value
        if seconds and seconds > 0:
            yield time, entity, "interval_s", seconds

    def _number(self, text: str) -> float | None:
        """Return a number with a decimal point or comma, because PowerShell does not group thousands."""
        return outside.number(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)

    def _time(self, row: _Row) -> datetime:
        allowed = "a date and a time of day, such as 2024-05-31 13:00:20 or 5/31/2024 1:00:20 PM"
        place = outside.Source(self.path, "export times with .ToString('s')", "Timestamp", row.line)
        match = _TIME.fullmatch(row.time)
        if match is None:
            place.refuse(row.time, allowed)
        first, _, second, third, hour, minute, second_of, half, zone = match.groups()
        date = (first, second, third) if len(first) == 4 else _ordered(first, second, third, self.month_first)
        hours = int(hour)
        if half:
            hours = hours % 12 + (12 if half[0] in "pP" else 0)
        year, month, day = map(int, date)
        try:
            time = datetime(year, month, day, hours, int(minute), int(second_of or 0), tzinfo=UTC)
            if zone and zone != "Z":
                time = datetime.fromisoformat(f"{time.replace(tzinfo=None).isoformat()}{zone}").astimezone(UTC)
            if not 1970 <= time.year < 2200:
                raise ValueError
        except (ValueError, OverflowError):
            place.refuse(row.time, allowed)
        self.zoned = self.zoned or bool(zone)
        return time


def _ordered(first: str, second: str, year: str, month_first: bool | None) -> Sequence[str]:
    """Return year, month and day. The month comes first unless the file shows otherwise."""
    month, day = (second, first) if month_first is False else (first, second)
    return (year, month, day)
