"""What the commands share: how they end, printing a result on stdout, and a progress bar on stderr."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypertwin import writing
from hypertwin.cli import provenance
from hypertwin.errors import HypertwinError
from hypertwin.report import files

if TYPE_CHECKING:  # `--version` needs none of it, and it takes as long to import as all else together
    from rich.console import Console, RenderableType

    from hypertwin import run
    from hypertwin.report.registry import D, Views

PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, where no terminal says how wide it is."""


class Format(enum.StrEnum):
    """Form of a result on stdout."""

    table = "table"
    json = "json"


class UsageError(HypertwinError):
    """Options that contradict each other, or that lack something."""

    code = "usage"


class ResultLostError(HypertwinError):
    """The result could not be written to stdout."""

    code = "result-lost"


def console(**options: Any) -> Console:
    """A console of rich, with its options."""
    from rich.console import Console

    return Console(**options)


def render(table: RenderableType) -> str:
    """A table as plain text."""
    from hypertwin.report.table import as_text

    return as_text(table, PLAIN_WIDTH)


def print_table(table: RenderableType) -> None:
    """Print a table on stdout, in colour where that is a terminal."""
    if sys.stdout.isatty():
        console().print(table)
    else:
        write(render(table))


def terminal_width() -> int:
    """Columns of the terminal that stdout is; PLAIN_WIDTH when it is a file or a pipe."""
    return console().width if sys.stdout.isatty() else PLAIN_WIDTH


def write(content: str | Iterable[str]) -> None:
    """Write on stdout. A reader that has seen enough (`| head`) is no error; a full disk is."""
    try:
        sys.stdout.writelines([content] if isinstance(content, str) else content)
        sys.stdout.flush()
    except OSError as error:
        # the interpreter flushes once more at exit, and must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise ResultLostError(f"cannot write the result to stdout: {error.strerror}") from error


def finish(
    document: Any,
    form: Format,
    table: Callable[[], RenderableType],
    *more: tuple[Path | None, Callable[[], str]],
) -> None:
    """How a command ends: the files that were asked for are written, and the result is on stdout."""
    for path, content in more:
        write_file(path, content)
    if form is Format.json:
        write(files.to_json(document))
    else:
        print_table(table())


def show(views: Views[D], document: D, form: Format, report: Path | None = None, **shown: Any) -> None:
    """How a command ends whose result has views: its page where one is wanted, and the result; see `write_page`."""
    write_page(views, document, report, **shown)
    finish(document, form, lambda: views.table(document))


def write_page(views: Views[D], document: D, report: Path | None, **shown: Any) -> None:
    """Write the page that `--report` asks for; `shown` is what only the page takes."""
    page = views.page
    if page is not None and report is not None:
        write_file(report, lambda: page(document, **shown).html(provenance.made(document)))


def write_file(path: Path | None, content: Callable[[], str | bytes | Iterable[str]], note: str = "") -> None:
    """Write the file that an option named, if it did, and say so on stderr."""
    if path is not None:
        writing.write_atomically(path, content())
        sys.stderr.write(f"wrote {path}{note}\n")


@contextmanager
def progress_bar(label: str, unit: str = "runs") -> Iterator[run.Progress | None]:
    """A progress bar on stderr while the block runs; None, and nothing printed, when stderr is no terminal."""
    with labelled_progress_bar(unit) as progress:
        yield None if progress is None else lambda done, total: progress(label, done, total)


@contextmanager
def steps(label: str) -> Iterator[run.Progress | None]:
    """One of several long steps: a progress bar on stderr, or a line there before it starts if that is no terminal."""
    if not sys.stderr.isatty():
        sys.stderr.write(f"{label}\n")
    with progress_bar(label) as progress:
        yield progress


@contextmanager
def status_line() -> Iterator[Callable[[str, int], None] | None]:
    """A line on stderr that says of what how many rows were read; None when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    with console(stderr=True).status("reading") as line:
        yield lambda source, rows: line.update(Text(f"reading {source}: {rows:,} rows"))


@contextmanager
def working(what: str) -> Iterator[None]:
    """A line on stderr that says what is under way; nothing when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    with console(stderr=True).status(Text(what)):
        yield


@contextmanager
def labelled_progress_bar(unit: str = "runs") -> Iterator[run.LabelledProgress | None]:
    """As `progress_bar`, with a label that may change: called with (label, runs done, runs in all)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from hypertwin.execution import runner

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[where]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, where="")

        def update(label: str, done: int, total: int) -> None:
            workers = runner.workers()
            where = "" if workers is None else f"{workers} workers, {bar.tasks[task].speed or 0:,.0f} {unit}/s"
            bar.update(task, description=label, completed=done, total=total, where=where)

        yield update
