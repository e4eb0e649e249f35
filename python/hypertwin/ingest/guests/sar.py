"""Reader of sar and sadf of sysstat: the text of `sar -A`, `sadf -d` (semicolons) and `sadf -j` (JSON).

Sections and columns are found by name. Those without a metric are skipped. Forms and meaning: sar(1) and sadf(1) of
sysstat, https://man7.org/linux/man-pages/man1/sar.1.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.json_fields import below, objects
from hypertwin.ingest.json_stream import JsonStream
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Clock, Dates, Rows

PAGE_BYTES = 4096
"""Unit of `pswpin/s` in bytes on all hardware that this project models."""
MOST_SECTIONS = 1000
"""Maximum number of distinct rows of column names."""
DISK = {
    "tps": ("iops", 1),
    "rkB/s": ("read_bytes_per_s", 1024),
    "wkB/s": ("write_bytes_per_s", 1024),
    "rd_sec/s": ("read_bytes_per_s", 512),
    "wr_sec/s": ("write_bytes_per_s", 512),
    "await": ("latency_ms", 1),
    "%util": ("disk_busy_pct", 1),
}
INTERFACE = {
    "rxkB/s": ("network_rx_bytes_per_s", 1024),
    "txkB/s": ("network_tx_bytes_per_s", 1024),
    "rxbyt/s": ("network_rx_bytes_per_s", 1),
    "txbyt/s": ("network_tx_bytes_per_s", 1),
}
WHOLE = {
    "cswch/s": ("context_switches_per_s", 1),
    "runq-sz": ("run_queue", 1),
    "pswpin/s": ("swap_in_bytes_per_s", PAGE_BYTES),
    "pswpout/s": ("swap_out_bytes_per_s", PAGE_BYTES),
    "kbmemfree": ("memory_free_bytes", 1024),
    "kbswpused": ("swapped_bytes", 1024),
    "tps": ("iops", 1),
    "rtps": ("read_iops", 1),
    "wtps": ("write_iops", 1),
    "bread/s": ("read_bytes_per_s", 512),
    "bwrtn/s": ("write_bytes_per_s", 512),
}
CPU = {
    "user_pct": ("%user", "%usr", "%nice", "%guest", "%gnice"),
    "system_pct": ("%system", "%sys", "%irq", "%soft"),
    "iowait_pct": ("%iowait",),
    "steal_pct": ("%steal",),
}
OTHER_KEYS = frozenset(("INTR", "TTY", "FILESYSTEM", "BUS", "FAN", "TEMP", "IN", "FCHOST", "PID", "UID", "BAT"))
"""First columns of sections that are skipped."""
EXPECTED = {
    "guest_cpu_pct": ("sar -u", "CPU inside the guest"),
    "steal_pct": ("sar -u, %steal", "steal: CPU that the hypervisor did not give"),
    "run_queue": ("sar -q", "run queue"),
    "disk_busy_pct": ("sar -d", "time of an I/O"),
    "swap_in_bytes_per_s": ("sar -W", "swapping inside the guest"),
}
_SADF = re.compile(r"# ?hostname;interval;timestamp;")
_NODE = re.compile(r'"nodename"\s{0,9}:\s{0,9}"([^"\\]{1,256})"')
_CPUS = re.compile(r'"number-of-cpus"\s{0,9}:\s{0,9}([0-9]{1,5})')
_ZONE = re.compile(r"([0-9-]{10})[ T]([0-9:]{8})(?: ?(UTC|[A-Z]{2,5}))?")


def recognises(head: bytes) -> bool:
    """True if the file is text of sar, or output of sadf."""
    lines = text_log.first_lines(head, 50)
    if any(_SADF.match(line) for line in lines) or re.match(rb'\s*\{\s*"sysstat"', head):
        return True
    header = next((at for at, line in enumerate(lines) if text_log.linux_header(line)), None)
    following = [line.split() for line in lines[header + 1 :]] if header is not None else []
    return any(tokens and text_log.seconds_of_day(tokens[0]) is not None for tokens in following)


def read(path: Path) -> Reading:
    """Return the measurements of `guest/HOST`, with its disks and network interfaces."""
    rows = Rows(path, ("guest", text_log.stem(path)))
    head = outside.head(path)
    if re.match(rb'\s*\{\s*"sysstat"', head):
        return Reading(path.name, "sar", _json_frames(path, rows), rows.gaps, rows.notes)
    is_separated = any(_SADF.match(line) for line in text_log.first_lines(head, 50))
    return rows.reading("sar", Separated(rows) if is_separated else Lines(rows, Dates(rows)), EXPECTED)


class Record:
    """Writes rows of sar by column name, from any of its forms."""

    def __init__(self, rows: Rows) -> None:
        """Write to `rows`."""
        self.rows = rows
        self.cpus: int | None = None
        """Number of logical CPUs that is not yet written."""

    def add(self, time: datetime | None, cells: Mapping[str, object], interval_s: float | None) -> None:
        """Write a row. `interval_s` is the length of its interval, if known."""
        if "DEV" in cells:
            is_idle = self.rows.decimal(cells.get("tps")) == 0
            columns = {name: to for name, to in DISK.items() if name != "await"} if is_idle else DISK
            self._columns(time, cells, columns, "disk", str(cells["DEV"]))
        elif "IFACE" in cells:
            self._columns(time, cells, INTERFACE, "interface", str(cells["IFACE"]))
        elif "CPU" in cells:
            if str(cells["CPU"]) in ("all", "-1") and "%idle" in cells:
                self._cpu(time, cells, interval_s)
        else:
            self._columns(time, cells, WHOLE)
            self._memory(time, cells)

    def _columns(
        self, time: datetime | None, cells: Mapping[str, object], columns: Mapping[str, tuple[str, int]], *below: str
    ) -> None:
        for name, (metric, factor) in columns.items():
            if name in cells:
                value = self.rows.decimal(cells[name])
                if value is None:
                    self.rows.unreadable += 1
                else:
                    self.rows.add(time, metric, value * factor, *below)
                    if factor == PAGE_BYTES:
                        self.rows.note(f"assumed page size: {PAGE_BYTES} bytes")

    def _cpu(self, time: datetime | None, cells: Mapping[str, object], interval_s: float | None) -> None:
        shares = {name: self.rows.decimal(cell) for name, cell in cells.items() if name.startswith("%")}
        if None in shares.values():
            self.rows.unreadable += 1
            return
        if interval_s is not None and 0 < interval_s <= 86_400:
            self.rows.add(time, "interval_s", interval_s)
        if self.cpus is not None:
            self.rows.add(time, "vcpus", self.cpus)
            self.cpus = None
        for metric, names in CPU.items():
            found = [share for name in names if (share := shares.get(name)) is not None]
            if found:
                self.rows.add(time, metric, sum(found))
        self.rows.add(time, "guest_cpu_pct", 100 - (shares["%idle"] or 0) - (shares.get("%iowait") or 0))

    def _memory(self, time: datetime | None, cells: Mapping[str, object]) -> None:
        """Write memory in use without buffers and cache. Only older sysstat versions count these as used."""
        names = ("kbmemused", "kbmemfree", "%memused", "kbbuffers", "kbcached")
        figures = [self.rows.decimal(cells.get(name)) for name in names]
        if any(figure is None for figure in figures):
            return
        used, free, share, buffers, cached = (figure or 0 for figure in figures)
        if share > 0:
            neither = used / share * 100 - free - used  # memory that is neither free nor "used"
            if abs(neither) < abs(neither - buffers - cached):
                used -= buffers + cached
        self.rows.add(time, "memory_used_bytes", max(used, 0) * 1024)


class Lines:
    """Reader of sar text line by line, in its own file or inside another.

    Each section has its own clock, because a file of `sar -A -f` has consecutive sections, each for the whole day.
    """

    def __init__(self, rows: Rows, dates: Dates, name_from_header: bool = True) -> None:
        """Write to `rows`. With `name_from_header`, the first line gives the name of its root."""
        self.rows = rows
        self.dates = dates
        self.record = Record(rows)
        self.name_from_header = name_from_header
        self.day = dates.near
        self.sections: dict[tuple[str, ...], tuple[Clock, list[datetime | None]]] = {}
        self.names: tuple[str, ...] = ()

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) > text_log.MOST_LINE:
            self.rows.unreadable += 1
            return
        if found := text_log.linux_header(line):
            host, day, self.record.cpus = found
            if self.name_from_header:
                self.rows.root = ("guest", host)
            self.day = self.dates.day(day)
            self.names, self.sections = (), {}
            return
        tokens = line.split()
        seconds = text_log.seconds_of_day(tokens[0], *tokens[1:2]) if tokens else None
        if seconds is None:
            return  # empty, `Average:` in any language, or not sar's
        cells = tokens[2:] if tokens[1:2] and tokens[1].upper() in ("AM", "PM") else tokens[1:]
        if not cells or cells[0] in ("LINUX", "COM"):
            return
        if all(self.rows.decimal(cell) is None for cell in cells):
            self._header(seconds, tuple(cells))
        elif self.names:
            self._row(seconds, cells)

    def finish(self) -> None:
        """Add the notes and gaps."""
        self.rows.note(text_log.NO_ZONE)
        if self.day is None:
            self.rows.note("no date in the first line: no times")

    def _header(self, seconds: int, names: tuple[str, ...]) -> None:
        self.names = () if OTHER_KEYS & set(names) else names
        if self.names and names not in self.sections:
            if len(self.sections) >= MOST_SECTIONS:
                hint = "check that it is text output of sar"
                outside.Source(self.rows.path).too_large("more sections", f"at most {MOST_SECTIONS}", hint)
            clock = Clock(self.day)
            self.sections[names] = (clock, [clock.at(seconds), None])

    def _row(self, seconds: int, cells: list[str]) -> None:
        if len(cells) != len(self.names):
            self.rows.unreadable += 1
            return
        clock, times = self.sections[self.names]
        time = clock.at(seconds)
        if time != times[0]:
            times[:] = [time, times[0]]
        interval_s = (times[0] - times[1]).total_seconds() if times[0] and times[1] else None
        self.record.add(time, dict(zip(self.names, cells, strict=True)), interval_s)


class Separated:
    """Reader of `sadf -d` output, line by line."""

    def __init__(self, rows: Rows) -> None:
        """Write to `rows`."""
        self.rows = rows
        self.record = Record(rows)
        self.dates = Dates(rows)
        self.names: list[str] = []

    def feed(self, line: str) -> None:
        """Read one line."""
        if len(line) > text_log.MOST_LINE:
            self.rows.unreadable += 1
        elif _SADF.match(line):
            self.names = line.split(";")[3:]
            if "[...]" in self.names or any(name.endswith("[...]") for name in self.names):
                hint = "record with sadf -d, without -h"
                outside.Source(self.rows.path).refuse("sadf -dh", "one device to a line", hint)
        elif line and self.names:
            self._row(line.split(";"))

    def finish(self) -> None:
        """Do nothing."""

    def _row(self, fields: list[str]) -> None:
        if len(fields) > 3 and fields[3].startswith(("LINUX-RESTART", "COM")):
            return
        if OTHER_KEYS & set(self.names):
            return
        if len(fields) != len(self.names) + 3:
            self.rows.unreadable += 1
            return
        self.rows.root = ("guest", fields[0])
        cells = dict(zip(self.names, fields[3:], strict=True))
        self.record.add(self._time(fields[2]), cells, outside.number(fields[1]))

    def _time(self, text: str) -> datetime | None:
        """Return the time in a text such as `2026-11-21 20:15:32 UTC`.

        `sadf -t` omits the zone. `sadf -U` writes seconds since 1970.
        """
        found = _ZONE.fullmatch(text) if len(text) < 40 else None
        if found is None:
            return text_log.epoch(outside.number(text))
        if found[3] is None:
            self.rows.note(text_log.NO_ZONE)
        elif found[3] != "UTC":
            self.rows.note(f"times are in zone {found[3]}: assumed UTC")
        return text_log.date_time(self.dates, [found[1], found[2]])


def _json_frames(path: Path, rows: Rows) -> Iterator[pl.DataFrame]:
    record = Record(rows)
    with outside.opened(path) as stream:
        document = JsonStream(path, stream)
        while (before := document.skip_to('"statistics"')) is not None:
            node, cpus = _NODE.search(before), _CPUS.search(before)
            if node:
                rows.root = ("guest", node[1])
            record.cpus = int(cpus[1]) if cpus and int(cpus[1]) else None
            for item in document.items():
                if not isinstance(item, dict):
                    outside.Source(path).at("statistics").refuse(
                        str(item)[:80], "samples as sadf -j makes them", "record it again"
                    )
                _json_item(rows, record, item)
                if rows.full():
                    yield rows.take()
        if document.was_cut:
            rows.note("the file ends within a sample: it is left out")
    rows.lacking(EXPECTED)
    yield from rows.rest()


def _json_item(rows: Rows, record: Record, item: Mapping[str, object]) -> None:
    """Write one sample of `sadf -j`, under sar's column names."""
    stamp = below(item.get("timestamp"))
    day, clock = str(stamp.get("date", ""))[:20], str(stamp.get("time", ""))[:20]
    time = text_log.date_time(Dates(rows), [day, clock])
    if time is not None and not stamp.get("utc"):
        rows.note(text_log.NO_ZONE)
    interval_s = text_log.json_number(stamp.get("interval"))
    io, memory = below(item.get("io")), below(item.get("memory"))
    single = (
        {"cswch/s": below(item.get("process-and-context-switch")).get("cswch")},
        {f"{name}/s": below(item.get("swap-pages")).get(name) for name in ("pswpin", "pswpout")},
        {
            "tps": io.get("tps"),
            "rtps": below(io.get("io-reads")).get("rtps"),
            "wtps": below(io.get("io-writes")).get("wtps"),
            "bread/s": below(io.get("io-reads")).get("bread"),
            "bwrtn/s": below(io.get("io-writes")).get("bwrtn"),
        },
        {
            **{f"kb{name}": memory.get(name) for name in ("memfree", "memused", "buffers", "cached", "swpused")},
            "%memused": memory.get("memused-percent"),
        },
        {"runq-sz": below(item.get("queue")).get("runq-sz")},
    )
    for cells in single:
        record.add(time, {name: cell for name, cell in cells.items() if cell is not None}, None)
    for cpu in objects(item.get("cpu-load") or item.get("cpu-load-all")):
        shares = {f"%{name}": share for name, share in cpu.items() if name != "cpu"}
        record.add(time, {"CPU": cpu.get("cpu"), **shares}, interval_s)
    for disk in objects(item.get("disk")):
        sectors = () if "rkB" in disk else ("rd_sec", "wr_sec")
        cells = {f"{name}/s": disk[name] for name in ("rkB", "wkB", *sectors) if name in disk}
        cells |= {name: disk[name] for name in ("tps", "await") if name in disk}
        cells |= {"%util": disk["util-percent"]} if "util-percent" in disk else {}
        record.add(time, {"DEV": disk.get("disk-device", ""), **cells}, None)
    for interface in objects(below(item.get("network")).get("net-dev")):
        cells = {f"{name}/s": interface[name] for name in ("rxkB", "txkB") if name in interface}
        record.add(time, {"IFACE": interface.get("iface", ""), **cells}, None)
