"""Reader of `esxtop -b -a` recordings: Performance Monitor CSV, with thousands of columns and gigabytes of values.

`esxtop_header` selects the columns that become rows. Only these are parsed, some megabytes of text at a time. Quotes,
NULs and non-ASCII characters are removed before a row is split, because numbers and times have none. So no stray quote
can hide rows.
"""

from __future__ import annotations

import io
import itertools
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from hypertwin.ingest import outside, telemetry
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.telemetry_table import SCHEMA
from hypertwin.ingest.vmware import esxtop_counters, esxtop_header
from hypertwin.ingest.vmware.esxtop_header import Plan

BLOCK_BYTES = 8 * 2**20
"""Length of text parsed at a time."""
PART_VALUES = 2**20
"""Values in a part of the table, unless one row has more."""
PAUSE_INTERVALS = 3.0
"""Number of intervals without a sample from which a gap is an interruption, not a longer interval."""

MINUTE_US = 60_000_000

MOST_VCPUS = 1024
"""Maximum number of vCPUs of a VM. vSphere 8 allows 768."""
_NEEDED_STATES = ("run_sum_pct", "ready_sum_pct", "idle_sum_pct")
_STATES = (*_NEEDED_STATES, "costop_sum_pct", "vm_wait_sum_pct")
"""States of a vCPU, which is always in exactly one of them."""

_TIME_FORMATS = (esxtop_counters.TIME_FORMAT, f"{esxtop_counters.TIME_FORMAT}%.f", "%m/%d/%Y %H:%M")
"""Time formats of esxtop, of other Performance Monitor tools, and of spreadsheets."""

Times = npt.NDArray[np.int64]
"""Microseconds since 1970, UTC."""
Values = npt.NDArray[np.float64]

recognises = esxtop_header.recognises


def read(path: Path) -> Reading:
    """Return the reading of a batch file, plain or gzip. Raises SourceError for other files and for other languages.

    A negative value is a missing value. Broken rows are left out with a note. So is an incomplete last row, for example
    in a file that is still being written.
    """
    with outside.opened(path) as stream:
        plan = esxtop_header.read(stream.readline(outside.MOST_LINE_BYTES + 1), path)
    return Reading(path.name, "esxtop", _frames(path, plan), plan.gaps, plan.notes)


@dataclass
class _Left:
    """Counts of ignored parts, for notes."""

    ragged: int = 0
    timeless: int = 0
    pauses: int = 0
    cut: bool = False

    def notes(self) -> Iterator[str]:
        """Yield one sentence for each kind."""
        if self.cut:
            yield "the last row is incomplete (file still being written?) and was left out"
        if self.ragged:
            yield f"{self.ragged} rows have more or fewer values than there are columns and were left out"
        if self.timeless:
            yield f"{self.timeless} rows without a time (a second header, damage) were left out"
        if self.pauses:
            yield f"the recording was interrupted {self.pauses} times"


def _frames(path: Path, plan: Plan) -> Iterator[pl.DataFrame]:
    """Yield the table's parts, each with enough samples for `PART_VALUES` values."""
    left = _Left()
    intervals = _Intervals(left)
    assemble: _Assembler | None = None
    waiting: list[tuple[Times, Values]] = []
    for sample in _with_seconds(path, plan, _samples(path, plan, left)):
        if assemble is None:
            plan.constants += _sizes(plan, sample[1])
            assemble = _Assembler(plan, intervals)
        waiting.append(sample)
        several = sum(times.size for times, _ in waiting) > 1
        if several and sum(values.size for _, values in waiting) >= PART_VALUES:
            yield assemble(waiting)
            waiting = []
    if waiting and assemble:
        yield assemble(waiting)
    if assemble is None or not assemble.values:
        hint = "; ".join(left.notes()) or "record again: esxtop seems to have ended before its first sample"
        allowed = f"rows of {plan.last + 1} values, the first a time as MM/DD/YYYY HH:MM:SS"
        outside.Source(path).lacks("no value that can be read", allowed, hint)
    plan.notes.extend(left.notes())
    if intervals.typical is None:
        plan.gaps.append(Gap("a second sample, later than the first", "the interval of values: ready in milliseconds"))


def _sizes(plan: Plan, values: Values) -> list[tuple[str, str, float]]:
    """Return the number of vCPUs of VMs without worlds.

    It follows from Run + Ready + CoStop + Idle + VmWait = 100 % of each vCPU.
    """
    places = {key: place for place, key in enumerate(plan.series)}
    sizes: list[tuple[str, str, float]] = []
    for vm in plan.unsized:
        if all((vm, metric) in places for metric in _NEEDED_STATES):
            several = [places[vm, metric] for metric in _STATES if (vm, metric) in places]
            times = values[:, several].sum(axis=1)
            times = times[np.isfinite(times)]
            if times.size and 50 <= np.median(times) < MOST_VCPUS * 100:
                sizes.append((vm, "vcpus", float(np.round(np.median(times) / 100))))
    if sizes:
        plan.notes.append("the number of vCPUs is that of Run + Ready + CoStop + Idle + VmWait, 100 % for each")
    return sizes


def _samples(path: Path, plan: Plan, left: _Left) -> Iterator[tuple[Times, Values]]:
    """Yield times, and values by time and series (NaN if missing), block by block."""
    wanted = sorted({index for indices in plan.series.values() for index in indices})
    place = {index: position for position, index in enumerate(wanted)}
    places = [[place[index] for index in indices] for indices in plan.series.values()]
    first = np.array([several[0] for several in places])
    sums = [(at, several) for at, several in enumerate(places) if len(several) > 1]
    scales = np.array(plan.scales)
    table: _Table | None = None
    for block in _blocks(path, plan, left):
        table = table or _Table(_width(block, plan), wanted, left)
        texts, columns = table.parse(block)
        times = _times(texts, plan.bias_minutes)
        timed = ~np.isnat(times)
        left.timeless += int((~timed).sum())
        if not timed.any():
            continue
        columns = columns[timed]
        columns = np.where((columns >= 0) & np.isfinite(columns), columns, np.nan)
        values = columns[:, first]
        for at, several in sums:
            values[:, at] = columns[:, several].sum(axis=1)
        for at, index in plan.less.items():
            values[:, at] = np.maximum(values[:, at] - columns[:, place[index]], 0.0)
        values *= scales
        yield times[timed].astype(np.int64), values


def _with_seconds(path: Path, plan: Plan, samples: Iterator[tuple[Times, Values]]) -> Iterator[tuple[Times, Values]]:
    """Yield the samples with times within the minute, for a file with whole minutes only, as spreadsheets save it."""
    own: Times | None = None
    place = 0
    for times, values in samples:
        if place == 0 and not (times % MINUTE_US).any():
            minutes = _all_times(path, plan)
            own = None if (minutes % MINUTE_US).any() or (np.diff(minutes) != 0).all() else _spread(minutes, plan)
        yield (times if own is None else own[place : place + times.size]), values
        place += times.size


def _all_times(path: Path, plan: Plan) -> Times:
    """Return the times of all samples, concatenated from `_samples`."""
    alone = Plan(plan.bias_minutes, plan.last, {("", ""): [plan.last]}, [1.0])
    return np.concatenate([times for times, _ in _samples(path, alone, _Left())])


def _spread(minutes: Times, plan: Plan) -> Times:
    """Return evenly spaced times for samples with known minutes only, so that the changes of minute fit best.

    The first sample of a minute lies within one interval of its start. If the minute changes less than twice, the
    interval is unknown, and all samples get the first minute, which removes their times. Adds a note.
    """
    steps = np.diff(minutes)
    shared = np.median(np.unique(minutes, return_counts=True)[1])
    breaks = np.flatnonzero((steps < 0) | (steps > MINUTE_US * (1 + PAUSE_INTERVALS / shared))) + 1
    bounds = [0, *breaks.tolist(), minutes.size]
    runs = [np.arange(first, last) for first, last in itertools.pairwise(bounds)]
    changes = [run[1:][np.diff(minutes[run]) > 0] for run in runs]
    samples = sum(int(change[-1] - change[0]) for change in changes if change.size)
    if samples == 0:
        plan.notes.append("times have no seconds (saved by a spreadsheet?), and too few minutes to tell the interval")
        return np.full_like(minutes, minutes[0])
    apart = sum(int(minutes[change[-1]] - minutes[change[0]]) for change in changes if change.size) / samples
    times = np.empty(minutes.size)
    for run, change in zip(runs, changes, strict=True):
        known, within = (change, apart / 2) if change.size else (run, MINUTE_US / 2)
        times[run] = np.mean(minutes[known] + within - apart * known) + apart * run
    told = f"by how many share a minute, samples are {apart / 1e6:.2g} s apart"
    plan.notes.append(f"times have no seconds (saved by a spreadsheet?): {told}")
    return np.round(times).astype(np.int64)


def _blocks(path: Path, plan: Plan, left: _Left) -> Iterator[bytes]:
    """Yield the lines after the header, without quotes and NULs.

    About `BLOCK_BYTES` are yielded at a time, up to the end of a line.
    """
    with outside.opened(path) as stream:
        reader = io.BufferedReader(stream, 2**20)  # type: ignore[type-var]
        reader.readline(outside.MOST_LINE_BYTES + 1)
        while block := reader.read(BLOCK_BYTES):
            rest = reader.readline(outside.MOST_LINE_BYTES + 1)
            if len(rest) > outside.MOST_LINE_BYTES:
                allowed = f"lines of at most {outside.MOST_LINE_BYTES} bytes"
                outside.Source(path).too_large("a longer line", allowed, "check that it is text")
            block += rest
            if not block.endswith(b"\n"):
                start = block.rfind(b"\n") + 1
                last = block[start:].rstrip(b"\0\r ")
                # a last value without a closing quote may have lost digits
                if last and (last.count(b",") < plan.last or not last.rstrip(b",").endswith(b'"')):
                    left.cut = True
                    block = block[:start]
            block = block.translate(None, b'"\0\r')
            if not block.isascii():
                block = block.decode("ascii", "replace").encode("ascii", "replace")
            if block.strip():
                yield block


def _width(block: bytes, plan: Plan) -> int:
    """Return values per row: the most common number in the first rows, if it is close to the header's.

    The header ends with a name of blanks and a dash, for which rows have an empty value, a comma, or nothing.
    """
    lines = (line for line in io.BytesIO(block) if line.strip())
    width = Tally(line.count(b",") + 1 for line in itertools.islice(lines, 16)).most_common(1)[0][0]
    return width if plan.last < width <= plan.last + 3 else plan.last + 1


class _Table:
    """Parser of blocks of rows with one width."""

    def __init__(self, width: int, wanted: list[int], left: _Left) -> None:
        self._commas = width - 1
        self._left = left
        kept = {str(index) for index in [0, *wanted]}
        # what is not kept is not parsed, whatever its type
        self._texts = {str(index): pl.String() for index in range(width)}
        self._numbers = {name: pl.Float64() if name in kept else kind for name, kind in self._texts.items()}
        self._numbers["0"] = pl.String()
        self._kept = [0, *wanted]

    def parse(self, block: bytes) -> tuple[pl.Series, Values]:
        """Return the first column as text, and the others as numbers by row and column, NaN for invalid values."""
        lines = [line for line in block.split(b"\n") if line.strip()]
        whole = [line for line in lines if line.count(b",") == self._commas]
        self._left.ragged += len(lines) - len(whole)
        if not whole:
            return pl.Series(dtype=pl.String), np.empty((0, len(self._kept) - 1))
        text = b"\n".join([*whole, b""])
        try:
            table = self._read(text, self._numbers)
        except pl.exceptions.ComputeError:  # some value is not a number
            numbers = pl.exclude("0").str.strip_chars().cast(pl.Float64, strict=False)
            table = self._read(text, self._texts).with_columns(numbers)
        return table["0"], table.drop("0").to_numpy()

    def _read(self, text: bytes, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        return pl.read_csv(text, has_header=False, schema=schema, columns=self._kept, quote_char=None)


def _times(texts: pl.Series, bias_minutes: int) -> npt.NDArray[np.datetime64]:
    """Return the times in UTC, or NaT for other text, and for impossible times."""
    stripped = texts.str.strip_chars()
    times = pl.Series([None] * len(texts), dtype=pl.Datetime("us"))
    for form in _TIME_FORMATS:
        if times.null_count():
            times = times.fill_null(stripped.str.to_datetime(form, time_unit="us", strict=False))
    shifted = times.dt.offset_by(f"{bias_minutes}m")
    sound = shifted.dt.epoch("us").is_between(0, telemetry.LAST_TIME_US)
    return shifted.to_frame().select(pl.when(sound).then(pl.first())).to_series().to_numpy()


class _Intervals:
    """Lengths of samples, calculated from their times."""

    def __init__(self, left: _Left) -> None:
        self._left = left
        self._before: int | None = None
        self.typical: float | None = None
        """Median interval in the first part that has one, in seconds."""

    def __call__(self, times: Times) -> Values:
        """Return the seconds since the previous sample.

        For the first sample, and after a pause, the result is the typical length, or NaN.
        """
        lengths = np.diff(times, prepend=times[0] if self._before is None else self._before) / 1e6
        self._before = int(times[-1])
        lengths[lengths <= 0] = np.nan
        if self.typical is None and np.isfinite(lengths).any():
            self.typical = float(np.nanquantile(lengths, 0.5, method="lower"))
            lengths[0] = self.typical
        if self.typical is not None:
            pauses = lengths > PAUSE_INTERVALS * self.typical
            self._left.pauses += int(pauses.sum())
            lengths[pauses] = self.typical
        return lengths


class _Assembler:
    """Converts samples into parts of the table, series by series, because runs of one series compress well."""

    def __init__(self, plan: Plan, intervals: _Intervals) -> None:
        keys = [*plan.series, *((host, "interval_s") for host in plan.hosts)]
        keys += [(entity, metric) for entity, metric, _ in plan.constants]
        self._intervals = intervals
        self._hosts = len(plan.hosts)
        self._constants = np.array([value for _, _, value in plan.constants])
        self._columns = {
            "entity": pl.Series([entity for entity, _ in keys], dtype=SCHEMA["entity"]),
            "metric": pl.Series([metric for _, metric in keys], dtype=SCHEMA["metric"]),
            "unit": pl.Series([telemetry.METRICS[metric].unit for _, metric in keys], dtype=SCHEMA["unit"]),
        }
        self.values = 0
        """Number of values so far, without intervals and constants."""

    def __call__(self, samples: list[tuple[Times, Values]]) -> pl.DataFrame:
        """Return the part of these samples. The first part also has the constants from the header."""
        times = np.concatenate([times for times, _ in samples])
        by_series = np.concatenate([values for _, values in samples]).T
        constants, self._constants = self._constants, self._constants[:0]
        self.values += int(np.isfinite(by_series).sum())
        values = np.concatenate([by_series.ravel(), *[self._intervals(times)] * self._hosts, constants])
        regular = len(by_series) + self._hosts
        stamps = np.concatenate([np.tile(times, regular), np.repeat(times[:1], constants.size)])
        series = np.concatenate([np.arange(regular).repeat(times.size), regular + np.arange(constants.size)])
        there = np.isfinite(values)
        if not there.all():
            values, stamps, series = values[there], stamps[there], series[there]
        columns = {name: texts.gather(series) for name, texts in self._columns.items()}
        stamped = pl.Series(stamps).cast(SCHEMA["time"])
        return pl.DataFrame({"time": stamped, "value": values, **columns}).select(*SCHEMA)
