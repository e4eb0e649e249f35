"""Reader of fio output: JSON (`--output-format=json` or `json+`), standard text, and terse version 3.

Each job is `benchmark/JOB`. Latency is fio's `lat`, from submission to completion. Percentiles are of `clat`, from
issue to completion, unless `lat_percentiles=1`. Form: fio's documentation, https://fio.readthedocs.io/en/latest/fio_doc.html
(interpreting the output, terse output, JSON output). Version 2 counts in microseconds,
version 3 in nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.json_fields import below, objects
from hypertwin.ingest.json_stream import JsonStream
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows, json_number

MOST_JOBS = 2_000
SAME_RUN_S = 5
"""Maximum seconds between the starts of two reports of one run (`--status-interval`), because fio counts whole seconds.
"""
TERSE = re.compile(r"3;fio-[^;]{1,80};")
TERSE_DIRECTION = 41
"""Number of fields per direction in terse version 3."""
JOB = re.compile(
    r"([^\n]{1,256}): \(groupid=([0-9]{1,9}), jobs=[0-9]{1,9}\): err=\s{0,9}([0-9]{1,9})"
    r".{0,300}: pid=[0-9]{1,12}: (.{10,60})"
)
_IOPS = re.compile(r"iops=\s{0,9}([0-9.]{1,20})([kM]?)", re.IGNORECASE)
_BANDWIDTH = re.compile(r"bw=\s{0,9}([0-9.]{1,20})((?:[KMGT]i?)?)B/s(\s?\()?", re.IGNORECASE | re.ASCII)
_DIRECTION = re.compile(r"(read|write|trim|mixed)\s{0,9}:", re.IGNORECASE)
_MEAN = re.compile(r"(clat|lat)\s{1,9}\(([num])sec\)\s{0,9}:.{0,120}?avg=\s{0,20}([0-9.]{1,20})")
_PERCENTILES = re.compile(r"(clat|lat) percentiles \(([num])sec\)")
_PERCENTILE = re.compile(r"(95|99)\.0{1,6}th=\[\s{0,20}([0-9]{1,20})\]")
_RUNTIME = re.compile(r"run(?:t|time)?=\s{0,9}([0-9]{1,15})msec|/([0-9]{1,15})msec\)")
CLAT_NOTE = "percentiles are of completion latency (clat), means of all of it (lat)"
MS = {"n": 1e-6, "u": 1e-3, "m": 1.0}
"""Number of milliseconds per nanosecond, microsecond and millisecond."""
BYTES = {"": 1, "k": 1000, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass
class Direction:
    """Figures of the reads, the writes, or both together, of a job."""

    iops: float
    bytes_per_s: float
    mean_ms: float | None = None
    percentiles_ms: dict[int, float] = field(default_factory=dict)


@dataclass
class Job:
    """Report of fio on one job."""

    name: str
    time: datetime | None
    runtime_s: float | None
    directions: dict[str, Direction]
    """Figures of `read` and `write`, or of `mixed` if fio reported both as one."""
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Section (`global` or the job's name) and text of each option, only from JSON."""
    group: int = 0
    """Number of the group of jobs that run at the same time."""
    clones: int = 1
    """Number of report entries that the figures cover."""
    together: int | None = None
    """Number of jobs that fio itself has summed, as far as the times of fio show it, only from JSON."""
    flush_ms: float | None = None
    """Mean flush time per write, which fio does not include in the writes, only from JSON."""
    error: int = 0
    """Number of the error that ended the job, or 0, only from JSON."""


def recognises(head: bytes) -> bool:
    """True if the file contains a report of fio in one of its three forms."""
    lines = text_log.first_lines(head, 1000)
    return bool(re.search(rb'^\{\s*"fio version"', head, re.MULTILINE)) or any(
        TERSE.match(line) or (line.startswith("fio-") and len(line) < 60) or (len(line) < 1000 and JOB.match(line))
        for line in lines
    )


def read(path: Path) -> Reading:
    """Return the jobs in the file."""
    rows = Rows(path, ("benchmark",))
    is_json = re.search(rb'^\{\s*"fio version"', outside.head(path), re.MULTILINE)
    frames = _frames(rows, json_jobs(path, rows) if is_json else _text_jobs(path, rows))
    return Reading(path.name, "fio", frames, rows.gaps, rows.notes)


def _frames(rows: Rows, jobs: Iterator[Job]) -> Iterator[pl.DataFrame]:
    for job in jobs:
        rows.root = ("benchmark", job.name)
        write(rows, job)
        if rows.full():
            yield rows.take()
    rows.lacking({"latency_ms": ("lat", "time of an I/O")})
    yield from rows.rest()


def write(rows: Rows, job: Job) -> None:
    """Write a job as measurements of the root."""
    parts = [part for part in job.directions.values() if part.iops > 0]
    if not parts:
        rows.note(f"job {outside.name(job.name)} did no I/O")
        return
    for name, part in job.directions.items():
        if name == "mixed":
            continue
        rows.add(job.time, f"{name}_iops", part.iops)
        rows.add(job.time, f"{name}_bytes_per_s", part.bytes_per_s)
        if part.iops > 0 and part.mean_ms is not None:
            rows.add(job.time, f"{name}_latency_ms", part.mean_ms)
        for of, value in part.percentiles_ms.items() if len(parts) > 1 else ():
            rows.add(job.time, f"{name}_latency_ms_p{of}", value)
    iops = sum(part.iops for part in parts)
    rows.add(job.time, "iops", iops)
    rows.add(job.time, "bytes_per_s", sum(part.bytes_per_s for part in parts))
    if all(part.mean_ms is not None for part in parts):
        rows.add(job.time, "latency_ms", sum(part.iops * (part.mean_ms or 0) for part in parts) / iops)
    for of, value in parts[0].percentiles_ms.items() if len(parts) == 1 else ():
        rows.add(job.time, f"latency_ms_p{of}", value)
    if job.runtime_s:
        rows.add(job.time, "interval_s", job.runtime_s)


def json_jobs(path: Path, rows: Rows) -> Iterator[Job]:
    """Yield the jobs of every run in a file of JSON reports, with any other text between them.

    Reports before the end of a run (`--status-interval`) are totals since its start, so only the last report counts.
    """
    kept: list[Job] = []
    started: float | None = None
    with outside.opened(path) as stream:
        document = JsonStream(path, stream)
        while document.skip_to('"fio version"') is not None:
            report = document.value("{")
            if report is None:
                rows.note("the file ends within a report: it is left out")
                break
            jobs = list(_json_report(rows, report))
            start = _start(report)
            names = [job.name for job in jobs]
            is_same = start is not None and started is not None and abs(start - started) <= SAME_RUN_S
            if kept and is_same and names == [job.name for job in kept]:
                rows.note("reports before the end of a run are left out: they are totals since its start")
                kept = []
            yield from kept
            kept, started = jobs, start
    yield from kept


def _start(report: Mapping[str, object]) -> float | None:
    """Return the start of the run, in seconds since 1970."""
    elapsed = [json_number(job.get("elapsed")) for job in objects(report.get("jobs"))]
    now = json_number(report.get("timestamp"))
    return now - max(filter(None, elapsed), default=0) if now is not None else None


def _json_report(rows: Rows, report: object) -> Iterator[Job]:
    if not isinstance(report, dict):
        return
    time = text_log.epoch(report.get("timestamp"))
    jobs = []
    listed = objects(report.get("jobs")) or objects(report.get("client_stats"))
    _check_number(rows, len(listed))
    for entry in listed:
        job = _json_job(rows, entry, time)
        options = {"global": below(report.get("global options")), job.name: below(entry.get("job options"))}
        job.options = {
            str(key)[:100]: (section, str(value)[:1000])
            for section, given in options.items()
            for key, value in list(given.items())[:200]
        }
        jobs.append(job)
    yield from _without_clones(rows, jobs)


def _check_number(rows: Rows, many: int) -> None:
    """Reject a report of too many jobs."""
    if many > MOST_JOBS:
        outside.Source(rows.path).at("jobs").too_large(f"{many} jobs", f"at most {MOST_JOBS}", "set group_reporting")


def _without_clones(rows: Rows, jobs: list[Job]) -> Iterator[Job]:
    """Yield the jobs of a report. The clones of a job have its name and group, and become one job."""
    found: dict[tuple[str, int], list[Job]] = {}
    for job in jobs:
        found.setdefault((job.name, job.group), []).append(job)
    for clones in found.values():
        yield clones[0] if len(clones) == 1 else _together(rows, clones)


def _json_job(rows: Rows, entry: Mapping[str, object], time: datetime | None) -> Job:
    name = str(entry.get("jobname", ""))[:1000] or "job"
    if isinstance(entry.get("hostname"), str):
        name = f"{str(entry['hostname'])[:500]} {name}"
    error = round(json_number(entry.get("error")) or 0)
    if error:
        rows.note(f"job {outside.name(name)} ended with error {error}")
    directions = {key: part for key in ("read", "write", "mixed") if (part := _json_direction(rows, entry.get(key)))}
    parts = {key: below(entry.get(key)) for key in ("read", "write", "mixed", "sync")}
    longest_ms = max((json_number(parts[key].get("runtime")) or 0 for key in directions), default=0)
    group = round(json_number(entry.get("groupid")) or 0)
    job = Job(name, time, longest_ms / 1000 or None, directions, group=group, error=error)
    all_ms = json_number(entry.get("job_runtime"))
    if all_ms and longest_ms:
        job.together = round(all_ms / longest_ms)
    flushes, writes = (json_number(parts[key].get("total_ios")) for key in ("sync", "write"))
    for key, unit in (("lat_ns", "n"), ("lat", "u")) if flushes and writes else ():
        mean = json_number(below(parts["sync"].get(key)).get("mean"))
        if mean:
            job.flush_ms = mean * MS[unit] * (flushes or 0) / (writes or 1)
    return job


def _json_direction(rows: Rows, value: object) -> Direction | None:
    part = below(value)
    iops = json_number(part.get("iops"))
    bandwidth = json_number(part.get("bw_bytes"))
    if bandwidth is None and (kilobytes := json_number(part.get("bw"))) is not None:
        bandwidth = kilobytes * 1024
    if iops is None or bandwidth is None or iops < 0:
        return None
    direction = Direction(iops, bandwidth)
    for key, unit in (("lat_ns", "n"), ("clat_ns", "n"), ("lat", "u"), ("clat", "u")):
        of = below(part.get(key))
        mean = json_number(of.get("mean"))
        if direction.mean_ms is None and mean:
            direction.mean_ms = mean * MS[unit]
        listed = below(of.get("percentile"))
        if listed and not direction.percentiles_ms and iops > 0:
            if key.startswith("c"):
                rows.note(CLAT_NOTE)
            for name, figure in list(listed.items())[:100]:
                percentile, value_ms = outside.number(str(name)), json_number(figure)
                if percentile in (95, 99) and value_ms is not None:
                    direction.percentiles_ms[int(percentile)] = value_ms * MS[unit]
    return direction


def _together(rows: Rows, jobs: list[Job]) -> Job:
    """Return the clones of a job (`numjobs`) as one job, without percentiles, which cannot be summed."""
    rows.note("clones of a job are added up, without percentiles: set group_reporting")
    directions = {}
    for key in {key: None for job in jobs for key in job.directions}:
        parts = [job.directions[key] for job in jobs if key in job.directions]
        busy = [part for part in parts if part.iops > 0]
        iops = sum(part.iops for part in parts)
        mean_ms = None
        if busy and all(part.mean_ms is not None for part in busy):
            mean_ms = sum(part.iops * (part.mean_ms or 0) for part in busy) / iops
        directions[key] = Direction(iops, sum(part.bytes_per_s for part in parts), mean_ms)
    runtime_s = max((job.runtime_s or 0 for job in jobs), default=0) or None
    first = jobs[0]
    flushes = [job.flush_ms for job in jobs if job.flush_ms is not None]
    return Job(
        first.name,
        first.time,
        runtime_s,
        directions,
        first.options,
        first.group,
        len(jobs),
        flush_ms=sum(flushes) / len(flushes) if flushes else None,
        error=max(job.error for job in jobs),
    )


def _text_jobs(path: Path, rows: Rows) -> Iterator[Job]:
    """Yield the jobs in fio's usual text and its terse form."""
    text = _Text(rows)
    for line in outside.text_lines(path):
        if len(line) > text_log.MOST_LINE:
            rows.unreadable += 1
        else:
            yield from text.jobs(line.rpartition("\r")[2].strip())
    yield from text.report()


class _Text:
    """Reader of fio's text line by line. Its figures have three or four digits.

    A report ends where the status of its groups or another run begins. Terse lines of one job without a line between
    them are clones.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.done: list[Job] = []
        self.job: Job | None = None
        self.part: Direction | None = None
        self.unit = "u"

    def jobs(self, line: str) -> Iterator[Job]:
        """Read one line, and yield the jobs of the report that ends with it."""
        if TERSE.match(line):
            yield from self.report() if self.job else ()
            job = _terse(line.split(";"))
            self.rows.unreadable += job is None
            self.rows.note("no times: fio's terse output has none")
            self.done += filter(None, (job,))
            _check_number(self.rows, len(self.done))
        elif found := JOB.match(line):
            yield from () if self.job else self.report()
            self.end()
            self.job = Job(found[1], _c_time(self.rows, found[4]), None, {}, group=int(found[2]))
            if int(found[3]):
                self.rows.note(f"job {outside.name(found[1])} ended with error {int(found[3])}")
        elif line.startswith(("Run status group", "fio-")) or not self.job:
            yield from self.report()
        elif self.job and (found := _DIRECTION.match(line)):
            self._direction(self.job, found[1].lower(), line)
        elif self.part:
            self._figures(self.part, line)

    def end(self) -> None:
        """End the last job."""
        if self.job:
            self.rows.note("figures of fio's text are rounded: --output-format=json has them all")
            self.done.append(self.job)
            _check_number(self.rows, len(self.done))
        self.job = self.part = None

    def report(self) -> Iterator[Job]:
        """End the last report, and yield its jobs."""
        self.end()
        jobs, self.done = self.done, []
        yield from _without_clones(self.rows, jobs)

    def _direction(self, job: Job, name: str, line: str) -> None:
        self.part = _text_direction(line)
        if self.part and name != "trim":
            job.directions[name] = self.part
        if runtime := _RUNTIME.search(line):
            job.runtime_s = max(job.runtime_s or 0, int(runtime[1] or runtime[2]) / 1000)

    def _figures(self, part: Direction, line: str) -> None:
        if found := _MEAN.match(line):
            if found[1] == "lat" or part.mean_ms is None:
                part.mean_ms = (outside.number(found[3]) or 0) * MS[found[2]]
        elif found := _PERCENTILES.match(line):
            self.unit = found[2]
            if found[1] == "clat":
                self.rows.note(CLAT_NOTE)
        elif line.startswith("|"):
            part.percentiles_ms.update((int(at), int(value) * MS[self.unit]) for at, value in _PERCENTILE.findall(line))


def _text_direction(text: str) -> Direction | None:
    iops, bandwidth = _IOPS.search(text), _BANDWIDTH.search(text)
    rate = outside.number(iops[1]) if iops else None
    amount = outside.number(bandwidth[1]) if bandwidth else None
    if iops is None or bandwidth is None or rate is None or amount is None:
        return None
    factor = {"": 1, "k": 1000, "m": 10**6}[iops[2].lower()]
    unit = bandwidth[2].lower()
    if unit and bandwidth[3] is None:  # fio 2: its KB have 1,024 bytes, and it prints no second figure in brackets
        unit = f"{unit[0]}i"
    return Direction(rate * factor, amount * BYTES[unit])


def _c_time(rows: Rows, text: str) -> datetime | None:
    """Return the time in the form of C's ctime: `Sat Nov 21 20:15:37 2026`."""
    tokens = text.split()
    month = text_log.MONTHS.get(tokens[1]) if len(tokens) == 5 else None
    if month is None:
        return None
    time = text_log.date_time(text_log.Dates(rows), [f"{tokens[4]}-{month}-{tokens[2]}", tokens[3]])
    if time is not None:
        rows.note(text_log.NO_ZONE)
    return time


def _terse(fields: list[str]) -> Job | None:
    """Return the job in a line of terse version 3: 5 fields of the job, then 41 for reads and 41 for writes.

    Times are in microseconds.
    """
    if len(fields) < 5 + 2 * TERSE_DIRECTION:
        return None
    directions = {}
    runtimes = []
    for name, start in (("read", 5), ("write", 5 + TERSE_DIRECTION)):
        part = fields[start : start + TERSE_DIRECTION]
        numbers = [outside.number(cell) for cell in (part[1], part[2], part[3], part[34])]
        if None in numbers:
            return None
        bandwidth, iops, runtime_ms, mean_us = (value or 0 for value in numbers)
        directions[name] = Direction(iops, bandwidth * 1024, mean_us / 1000)
        runtimes.append(runtime_ms)
        for cell in part[12:32] if iops > 0 else ():
            of, _, value = cell.partition("%=")
            percentile, value_us = outside.number(of), outside.number(value)
            if percentile in (95, 99) and value_us is not None:
                directions[name].percentiles_ms[int(percentile)] = value_us / 1000
    group = round(outside.number(fields[3]) or 0)
    return Job(fields[2] or "job", None, max(runtimes) / 1000 or None, directions, group=group)
