"""Cost of erasure coding on a core of this machine, measured with ISA-L.

One thread on one logical CPU encodes stripes, rebuilds lost fragments and updates parity by delta. Each figure is the
median of several repetitions, in CPU time of the thread, so that interruptions do not count. *memory*: the stripes are
several times the last-level cache, and every byte moves from and to memory, as in a busy storage server. *l2*: one
stripe fills half of the level-2 cache, which shows the arithmetic alone. Before any measurement, every scheme must
rebuild random losses.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hypertwin import _core
from hypertwin.documents.lab import Coding, CodingMachine, CodingRow, Fit
from hypertwin.errors import HypertwinError, fail
from hypertwin.lab.isal import ALIGNMENT, MOST_FRAGMENTS, Isal, Pointers, pointers
from hypertwin.lab.machine import Machine, available_bytes, machine, pinned
from hypertwin.runs.simulation import Progress

SCHEMES = ("3+1", "3+2", "5+2", "7+2", "17+3", "4+2", "8+3")
"""Default schemes: five of a chunk store, and two that are common elsewhere."""

FRAGMENT = "1 MiB"
"""Default size of a fragment: that of the same chunk store."""

FRAGMENT_BYTES = (4096, 64 << 20)
"""Smallest and largest fragment."""

SECONDS = (0.01, 60.0)
"""Shortest and longest measurement of one figure."""

UPDATE_BYTES = 64 << 10
"""Bytes of a small overwrite of a fragment."""

REPETITIONS = 7
"""Repetitions of each figure. Their median is reported."""

BEYOND_CACHE = 4
"""Size of the stripes in memory, as a multiple of the last-level cache."""

STREAMS = 12
"""Maximum number of fragments, read and written, for which memory keeps up with the core. More fragments cost cycles.
Observed on the machine of docs/models/erasure-coding.md, in stripes of 4 to 24 fragments."""

LOSSES = 25
"""Random losses that each scheme must survive."""

BATCH_NS = 1_000_000
"""Minimum duration of calls between two clock readings, approximately."""

Call = Callable[[], object]


class WrongResultError(HypertwinError):
    """Raised if the library did not restore lost data."""

    code = "coding-wrong"


class TooLittleMemoryError(HypertwinError):
    """Raised if stripes do not fit into free memory."""

    code = "too-little-memory"


@dataclass(frozen=True)
class Scheme:
    """Scheme with `data` fragments and `parity` more. A stripe tolerates the loss of any `parity` fragments."""

    data: int
    parity: int

    def __str__(self) -> str:
        """Return the form of scenarios: `3+2`."""
        return f"{self.data}+{self.parity}"

    @property
    def fragments(self) -> int:
        """All fragments of a stripe."""
        return self.data + self.parity

    @staticmethod
    def parse(text: str) -> Scheme:
        """Return the scheme in a text such as `3+2`. Raises ScenarioError."""
        allowed = f"DATA+PARITY, at least 1+1 and at most {MOST_FRAGMENTS} in all"
        found = re.fullmatch(r"([0-9]{1,3})\+([0-9]{1,3})", text.strip())
        if not found:
            fail("bad-redundancy", "scheme", text, allowed, "for example 3+2")
        scheme = Scheme(int(found[1]), int(found[2]))
        if not (scheme.data and scheme.parity and scheme.fragments <= MOST_FRAGMENTS):
            fail("out-of-range", "scheme", text, allowed, "for example 3+2")
        return scheme


@dataclass(frozen=True)
class _Work:
    """One figure to measure."""

    scheme: Scheme | None
    operation: str
    lost: int
    working_set: str
    working_set_bytes: int
    piece_bytes: int
    bytes_per_call: int
    calls: Sequence[Call]


def measure(
    schemes: Sequence[str] = SCHEMES,
    *,
    fragment: str = FRAGMENT,
    seconds: float = 1.0,
    clock: str | None = None,
    library: Path | None = None,
    progress: Progress | None = None,
) -> Coding:
    """Measure on this machine. The keys are described in docs/models/erasure-coding.md.

    `seconds` is the CPU time of each figure. `clock` is the nominal clock if the system does not report it. `library`
    is an ISA-L file. Raises ScenarioError (a bad argument), LibraryMissingError, NotIsalError, MachineUnknownError,
    TooLittleMemoryError, WrongResultError.
    """
    wanted = list(dict.fromkeys(Scheme.parse(text) for text in schemes))
    fragment_bytes = _fragment_bytes(fragment)
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        fail("out-of-range", "seconds", f"{seconds:g}", f"{SECONDS[0]:g} to {SECONDS[1]:g}", "for example 1")
    clock_hz = _clock_hz(clock)
    isal = Isal(library)
    here = machine(clock_hz)
    sizes = [-(-BEYOND_CACHE * here.llc_bytes // (s.fragments * fragment_bytes)) for s in wanted]
    room = max((count * s.fragments * fragment_bytes for count, s in zip(sizes, wanted, strict=True)), default=0)
    with pinned(here.logical_cpu):
        losses = {str(scheme): verify(isal, scheme) for scheme in wanted}
        buffer = Buffer(max(room, BEYOND_CACHE * here.llc_bytes) + fragment_bytes)
        figures = [*_checksums(isal, here, buffer, fragment_bytes)]
        for scheme, count in zip(wanted, sizes, strict=True):
            figures += _scheme(isal, here, buffer, scheme, fragment_bytes, count)
        call_ns = _call_ns(isal, buffer)
        rates = _rates(figures, seconds, progress)
        rows = [_row(work, found, here.clock_hz) for work, found in zip(figures, rates, strict=True)]
    return {
        "version": _core.version(),
        "machine": cast(CodingMachine, {key: getattr(here, key) for key in CodingMachine.__annotations__}),
        "library": {
            "file": str(isal.path),
            "isal_version": isal.version,
            "instruction_set": isal.instruction_set(here.flags),
            "call_ns": call_ns,
        },
        "date": time.strftime("%Y-%m-%d"),
        "fragment_bytes": fragment_bytes,
        "seconds": seconds,
        "repetitions": REPETITIONS,
        "losses_rebuilt": losses,
        "rows": rows,
        "fits": _fits(rows),
        "scenario": {
            str(row["scheme"]): f"coding: {row['gb_per_s']['median']:.3g} GB/s"
            for row in rows
            if (row["operation"], row["working_set"]) == ("encode", "memory")
        },
    }


def verify(isal: Isal, scheme: Scheme, *, losses: int = LOSSES, size: int = UPDATE_BYTES, seed: int = 1) -> int:
    """Lose random fragments `losses` times and rebuild them, then check the parity update. Return `losses`.

    Raises WrongResultError if any byte differs.
    """
    draw = random.Random(f"{scheme} {seed}")
    space = Buffer((scheme.fragments + 4) * size)
    stripe, spare = space.pieces(scheme.fragments, size), space.address + scheme.fragments * size
    for address in stripe[: scheme.data]:
        ctypes.memmove(address, draw.randbytes(size), size)
    matrix = isal.matrix(scheme.data, scheme.parity)
    tables = isal.tables(matrix[scheme.data**2 :], scheme.data)
    data, parity = pointers(stripe[: scheme.data]), pointers(stripe[scheme.data :])
    isal.encode(size, scheme.data, scheme.parity, tables, data, parity)
    for _ in range(losses):
        lost = draw.sample(range(scheme.fragments), draw.randint(1, scheme.parity))
        kept = [index for index in range(scheme.fragments) if index not in lost]
        survivors = sorted(draw.sample(kept, scheme.data))
        for index in lost:
            back = isal.tables(isal.rebuilding(matrix, scheme.data, survivors, [index]), scheme.data)
            sources = pointers([stripe[at] for at in survivors])
            isal.encode(size, scheme.data, 1, back, sources, pointers([spare]))
            if ctypes.string_at(spare, size) != ctypes.string_at(stripe[index], size):
                raise WrongResultError(f"{isal.path}: {scheme} did not rebuild fragment {index} of the lost {lost}")
    _verify_update(isal, scheme, size, draw, space)
    return losses


def _verify_update(isal: Isal, scheme: Scheme, size: int, draw: random.Random, space: Buffer) -> None:
    """Check that the parity after a delta update equals the parity of the new data."""
    stripe = space.pieces(scheme.fragments, size)
    new, delta, again = (space.address + (scheme.fragments + 1 + index) * size for index in range(3))
    matrix = isal.matrix(scheme.data, scheme.parity)
    tables = isal.tables(matrix[scheme.data**2 :], scheme.data)
    index = draw.randrange(scheme.data)
    ctypes.memmove(new, draw.randbytes(size), size)
    _update(isal, scheme, size, tables, index, pointers([stripe[index], new, delta]), pointers(stripe[scheme.data :]))()
    ctypes.memmove(stripe[index], new, size)
    data = pointers(stripe[: scheme.data])
    for row in range(scheme.parity):
        first = scheme.data * (scheme.data + row)
        one = isal.tables(matrix[first : first + scheme.data], scheme.data)
        isal.encode(size, scheme.data, 1, one, data, pointers([again]))
        if ctypes.string_at(again, size) != ctypes.string_at(stripe[scheme.data + row], size):
            raise WrongResultError(f"{isal.path}: {scheme} made a wrong parity {row} for an overwrite of data {index}")


class Buffer:
    """Page-aligned memory, filled so that every page is present."""

    def __init__(self, size: int) -> None:
        """`size` bytes. Raises TooLittleMemoryError before the system would have to swap."""
        available = available_bytes()
        if size > available // 2:
            raise TooLittleMemoryError(
                f"stripes beyond the cache take {size >> 20} MiB, over half of the {available >> 20} MiB available\n"
                "  help: a smaller --fragment or narrower schemes"
            )
        self._memory = mmap.mmap(-1, size)
        self.size = size
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        block = random.Random(1).randbytes(1 << 20)
        for offset in range(0, size, len(block)):
            ctypes.memmove(self.address + offset, block, min(len(block), size - offset))

    def pieces(self, count: int, size: int) -> list[int]:
        """Return the addresses of `count` consecutive pieces of `size` bytes from the start."""
        return [self.address + index * size for index in range(count)]


def _checksums(isal: Isal, here: Machine, buffer: Buffer, fragment_bytes: int) -> Iterator[_Work]:
    for name, size, span in (
        ("memory", fragment_bytes, BEYOND_CACHE * here.llc_bytes),
        ("l2", here.l2_bytes // 2, here.l2_bytes // 2),
    ):
        calls = [_bind(isal.crc32c, address, size, 0) for address in buffer.pieces(max(1, span // size), size)]
        yield _Work(None, "crc32c", 0, name, len(calls) * size, size, size, calls)


def _scheme(
    isal: Isal, here: Machine, buffer: Buffer, scheme: Scheme, fragment_bytes: int, count: int
) -> Iterator[_Work]:
    """Yield every figure of one scheme. `count` stripes exceed the cache."""
    in_cache = here.l2_bytes // 2 // scheme.fragments // ALIGNMENT * ALIGNMENT
    small = min(UPDATE_BYTES, fragment_bytes)
    for name, size, stripes in (("memory", fragment_bytes, count), ("l2", in_cache, 1)):
        span = stripes * scheme.fragments * size
        whole = scheme.data * size
        pieces = buffer.pieces(stripes * scheme.fragments, size)
        rings = [pieces[first : first + scheme.fragments] for first in range(0, len(pieces), scheme.fragments)]
        yield _Work(scheme, "encode", 0, name, span, size, whole, _encodes(isal, scheme, size, rings))
        for lost in sorted({1, min(scheme.parity, scheme.data)}):
            calls = _rebuilds(isal, scheme, size, rings, lost)
            yield _Work(scheme, "rebuild", lost, name, span, size, whole, calls)
        # an overwrite touches the old and the new data, their difference and the parity
        touched = scheme.parity + 3
        piece = small if name == "memory" else here.l2_bytes // 2 // touched // ALIGNMENT * ALIGNMENT
        calls = _updates(isal, scheme, piece, buffer, max(1, span // (touched * piece)) if name == "memory" else 1)
        yield _Work(scheme, "update", 0, name, len(calls) * touched * piece, piece, piece, calls)


def _encodes(isal: Isal, scheme: Scheme, size: int, rings: Sequence[Sequence[int]]) -> list[Call]:
    tables = isal.tables(isal.matrix(scheme.data, scheme.parity)[scheme.data**2 :], scheme.data)
    return [
        _bind(
            isal.encode,
            *(size, scheme.data, scheme.parity, tables),
            *(pointers(stripe[: scheme.data]), pointers(stripe[scheme.data :])),
        )
        for stripe in rings
    ]


def _rebuilds(isal: Isal, scheme: Scheme, size: int, rings: Sequence[Sequence[int]], lost: int) -> list[Call]:
    """Rebuild the first `lost` data fragments from the other data and the first parity."""
    survivors = range(lost, lost + scheme.data)
    matrix = isal.matrix(scheme.data, scheme.parity)
    tables = isal.tables(isal.rebuilding(matrix, scheme.data, survivors, range(lost)), scheme.data)
    return [
        _bind(
            isal.encode,
            *(size, scheme.data, lost, tables),
            *(pointers([stripe[at] for at in survivors]), pointers(stripe[:lost])),
        )
        for stripe in rings
    ]


def _updates(isal: Isal, scheme: Scheme, size: int, buffer: Buffer, count: int) -> list[Call]:
    tables = isal.tables(isal.matrix(scheme.data, scheme.parity)[scheme.data**2 :], scheme.data)
    touched = scheme.parity + 3
    pieces = buffer.pieces(count * touched, size)
    return [
        _update(
            *(isal, scheme, size, tables, 0),
            # old, new, and one place for the difference, which stays in the cache
            *(pointers([pieces[first], pieces[first + 1], pieces[2]]), pointers(pieces[first + 3 : first + touched])),
        )
        for first in range(0, len(pieces), touched)
    ]


def _update(
    isal: Isal, scheme: Scheme, size: int, tables: object, index: int, old_new_delta: Pointers, parity: Pointers
) -> Call:
    """Overwrite data fragment `index`: calculate the difference of old and new data, and add its effect to every
    parity."""
    xor, update, delta = isal.xor, isal.update, old_new_delta[2]
    data, rows = scheme.data, scheme.parity

    def call() -> None:
        xor(3, size, old_new_delta)
        update(size, data, rows, index, tables, delta, parity)

    return call


def _bind(function: Callable[..., Any], *arguments: Any) -> Call:
    # converted once here instead of on every call
    return lambda: function(*arguments)


def _rates(figures: Sequence[_Work], seconds: float, progress: Progress | None = None) -> list[list[float]]:
    """Return bytes per second of CPU time in each repetition of each figure.

    The repetitions of all figures alternate, so that a burst of other work affects one repetition of many figures.
    """
    batches = [_batch(work) for work in figures]
    rates: list[list[float]] = [[] for _ in figures]
    for done in range(REPETITIONS * len(figures)):
        at = done % len(figures)
        rates[at].append(_rate(figures[at], batches[at], seconds / REPETITIONS))
        if progress:
            progress(done + 1, REPETITIONS * len(figures))
    return rates


def _batch(work: _Work) -> list[Call]:
    """Return calls, repeated until they take long compared with a clock reading."""
    before = time.thread_time_ns()
    for call in work.calls:
        call()
    once = max(1, time.thread_time_ns() - before)
    return [*work.calls] * max(1, BATCH_NS // once)


def _rate(work: _Work, batch: Sequence[Call], seconds: float) -> float:
    for call in work.calls:  # the caches hold what another figure left
        call()
    batches = 0
    start = time.thread_time_ns()
    while (spent := time.thread_time_ns() - start) < seconds * 1e9 or not batches:
        for call in batch:
            call()
        batches += 1
    return batches * len(batch) * work.bytes_per_call * 1e9 / spent


def _call_ns(isal: Isal, buffer: Buffer) -> float:
    """Return the cost of a call alone, in nanoseconds."""
    nothing = _Work(None, "", 0, "", 0, 0, 1, [_bind(isal.crc32c, buffer.address, 0, 0)] * 1000)
    return 1e9 / statistics.median(_rates([nothing], 0.05)[0])


def _row(work: _Work, rates: Sequence[float], clock_hz: float) -> CodingRow:
    median = statistics.median(rates)
    return {
        "scheme": str(work.scheme) if work.scheme else None,
        "data": work.scheme.data if work.scheme else None,
        "parity": work.scheme.parity if work.scheme else None,
        "operation": work.operation,
        "lost": work.lost,
        "working_set": work.working_set,
        "working_set_bytes": work.working_set_bytes,
        "piece_bytes": work.piece_bytes,
        "gb_per_s": {"median": median / 1e9, "min": min(rates) / 1e9, "max": max(rates) / 1e9},
        "cycles_per_byte": clock_hz / median,
    }


def _fits(rows: Sequence[CodingRow]) -> list[Fit]:
    """Return the cost as a linear function, if enough different schemes were measured.

    Encoding: cycles per byte = a + b outputs + c max(0, streams - STREAMS). For rebuilding, outputs are the lost
    fragments. Streams are the fragments read and written. C is 0 within the cache. Updating: a + b parity.
    """
    fits = []
    for working_set in ("memory", "l2"):
        here = [row for row in rows if row["working_set"] == working_set]
        encodes = [row for row in here if row["operation"] in ("encode", "rebuild")]
        updates = [row for row in here if row["operation"] == "update"]
        wide = [row for row in encodes if working_set == "memory" and _extra_streams(row)]
        line = _line([row for row in encodes if row not in wide])
        if line:
            step = sum(row["cycles_per_byte"] - _on(line, row) for row in wide)
            extra = sum(_extra_streams(row) for row in wide)
            per_stream = max(0.0, step / extra) if extra else 0.0
            fits.append(_fit("encode", working_set, line, per_stream, encodes))
        if line := _line(updates):
            fits.append(_fit("update", working_set, line, 0.0, updates))
    return fits


def _fit(
    operation: str, working_set: str, line: tuple[float, float], per_stream: float, rows: Sequence[CodingRow]
) -> Fit:
    errors = [
        100 * ((_on(line, row) + per_stream * _extra_streams(row)) / row["cycles_per_byte"] - 1)
        for row in rows
        if per_stream or working_set == "l2" or operation == "update" or not _extra_streams(row)
    ]
    return {
        "operation": operation,
        "working_set": working_set,
        "cycles_per_byte": line[0],
        "cycles_per_byte_and_output": line[1],
        "cycles_per_byte_and_extra_stream": per_stream,
        "points": len(errors),
        "mean_error_pct": statistics.fmean(map(abs, errors)),
        "worst_error_pct": max(errors, key=abs),
    }


def _line(rows: Sequence[CodingRow]) -> tuple[float, float] | None:
    """(intercept, slope) of cycles over outputs by least squares, or None if any line would fit."""
    outputs = [_outputs(row) for row in rows]
    if len(set(outputs)) < 2 or len(rows) < 3:
        return None
    slope, intercept = statistics.linear_regression(outputs, [row["cycles_per_byte"] for row in rows])
    return intercept, slope


def _on(line: tuple[float, float], row: CodingRow) -> float:
    return line[0] + line[1] * _outputs(row)


def _outputs(row: CodingRow) -> int:
    """Return the number of computed fragments."""
    return row["lost"] or row["parity"] or 0


def _extra_streams(row: CodingRow) -> int:
    return max(0, (row["data"] or 0) + _outputs(row) - STREAMS)


def _fragment_bytes(text: str) -> int:
    smallest, largest = FRAGMENT_BYTES
    allowed = f"{smallest >> 10} KiB to {largest >> 20} MiB, a multiple of {ALIGNMENT} B"
    try:
        size = _core.size_bytes(text)
    except ValueError as error:
        fail("bad-quantity", "fragment", text, allowed, f"it {error}")
    if not smallest <= size <= largest or size % ALIGNMENT:
        fail("out-of-range", "fragment", text, allowed, "for example 1 MiB")
    return size


def _clock_hz(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        hertz = _core.frequency_hz(text)
    except ValueError as error:
        fail("bad-quantity", "clock", text, "a frequency, such as 2.6 GHz", f"it {error}")
    if not hertz:
        fail("out-of-range", "clock", text, "more than 0 Hz", "for example 2.6 GHz")
    return float(hertz)
