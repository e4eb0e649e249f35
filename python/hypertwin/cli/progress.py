"""Progress of a command on stderr: a bar on a terminal, a line every few seconds elsewhere, nothing with -q."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hypertwin.cli import streams
from hypertwin.cli.output import console

if TYPE_CHECKING:  # some commands simulate nothing
    from hypertwin.runs import simulation

LINE_EVERY_S = 5.0
"""Seconds before the first progress line and between lines, without a terminal."""

DESCRIPTOR = "HYPERTWIN_PROGRESS"
"""Environment variable with the number of an open file, which gets progress as lines of JSON for programs."""

JSON_EVERY_S = 0.1
"""Minimum seconds between two lines of JSON."""


@contextmanager
def bar(label: str, unit: str = "runs") -> Iterator[simulation.Progress | None]:
    """Provide a progress bar, which is called with (done, total), or None without a terminal."""
    with labelled_bar(unit) as progress:
        yield None if progress is None else lambda done, total: progress(label, done, total)


@contextmanager
def step(label: str) -> Iterator[simulation.Progress | None]:
    """Provide progress of one of several long steps like `bar`. Without a terminal, a line is printed at the start."""
    if not sys.stderr.isatty():
        streams.note(label)
    with bar(label) as progress:
        yield progress


@contextmanager
def labelled_bar(unit: str = "runs") -> Iterator[simulation.LabelledProgress | None]:
    """Provide a progress bar with a variable label, which is called with (label, done, total)."""
    descriptor = os.environ.get(DESCRIPTOR, "")
    if descriptor.isdecimal():
        yield _Json(int(descriptor), unit)
    elif streams.is_quiet():
        yield None
    elif sys.stderr.isatty():
        with _drawn_bar(unit) as update:
            yield update
    else:
        yield _Lines(unit)


class _Json:
    """Progress as lines of JSON with label, done, total and unit. A reader that is gone costs nothing."""

    def __init__(self, descriptor: int, unit: str) -> None:
        self.descriptor, self.unit = descriptor, unit
        self.last, self.label = 0.0, ""

    def __call__(self, label: str, done: int, total: int) -> None:
        from hypertwin.runs import runner

        now = time.monotonic()
        if now - self.last < JSON_EVERY_S and label == self.label and done < total:
            return
        self.last, self.label = now, label
        simulated = round(min(done + runner.under_way(), total) if total else done, 3)
        line = json.dumps({"label": label, "done": simulated, "total": total, "unit": self.unit})
        with contextlib.suppress(OSError):
            os.write(self.descriptor, f"{line}\n".encode())


class _Lines:
    """Progress as occasional plain lines."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.began = self.last = time.monotonic()

    def __call__(self, label: str, done: int, total: int) -> None:
        from hypertwin.runs import runner

        now = time.monotonic()
        if now - self.last >= LINE_EVERY_S:
            self.last = now
            simulated = runner.under_way() + done
            part = f" ({100 * simulated / total:.0f} % simulated)" if done < simulated < total else ""
            counted = f"{done:,} of {total:,} {self.unit}{part}" if total else ""  # of a file no total is known
            streams.note(", ".join((": ".join(filter(None, (label, counted))), f"{now - self.began:.0f} s")))


@contextmanager
def reading() -> Iterator[Callable[[str, int], None] | None]:
    """Provide progress of reading, which is called with (source, rows), or None with `--quiet`."""
    if streams.is_quiet():
        yield None
    elif sys.stderr.isatty():
        from rich.text import Text

        with console(stderr=True).status("reading") as line:
            yield lambda source, rows: line.update(Text(f"reading {source}: {rows:,} rows"))
    else:
        last = time.monotonic()

        def say(source: str, rows: int) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY_S:
                last = time.monotonic()
                streams.note(f"reading {source}: {rows:,} rows")

        yield say


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a line about the current work, on a terminal only."""
    if streams.is_quiet() or not sys.stderr.isatty():
        streams.detail(what)
        yield
        return
    from rich.text import Text

    with console(stderr=True).status(Text(what)):
        yield


@contextmanager
def _drawn_bar(unit: str) -> Iterator[simulation.LabelledProgress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from hypertwin.runs import runner

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[where]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    drawn = Progress(*columns, console=console(stderr=True), transient=True)
    task = drawn.add_task("", total=None, where="")
    with contextlib.ExitStack() as stack:

        def update(label: str, done: int, total: int) -> None:
            if not drawn.live.is_started:  # not before there is something to show: what fails at once draws nothing
                stack.enter_context(drawn)
            workers = runner.workers()
            where = "" if workers is None else f"{workers} workers, {drawn.tasks[task].speed or 0:,.0f} {unit}/s"
            simulated = done + min(runner.under_way(), total - done)
            drawn.update(task, description=label, completed=simulated, total=total or None, where=where)

        yield update
