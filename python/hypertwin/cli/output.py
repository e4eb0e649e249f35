"""Output of commands: a result as a table, JSON or CSV, on stdout or in a file, and its page."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from hypertwin.cli import provenance, streams
from hypertwin.errors import HypertwinError, short
from hypertwin.files import writing
from hypertwin.show import files

if TYPE_CHECKING:  # it takes as long to import as all else together
    from rich.console import Console, RenderableType

    from hypertwin.show.conditions import Condition
    from hypertwin.show.registry import D, Views

PLAIN_WIDTH = 160
"""Columns of a table in a file or pipe, where the terminal width is unknown."""


class Format(enum.StrEnum):
    """Format of a result."""

    table = "table"
    json = "json"
    csv = "csv"
    xlsx = "xlsx"


F = TypeVar("F", bound=enum.StrEnum)


class UsageError(HypertwinError):
    """Raised for contradictory or incomplete options."""

    code = "usage"


def console(**options: Any) -> Console:
    """Return a rich console with these options, which prints terminal control characters as visible text."""
    from hypertwin.show.console import SafeConsole

    return SafeConsole(**options)


def render(table: RenderableType) -> str:
    """Return a table as plain text."""
    from hypertwin.show.table import as_text

    return as_text(table, PLAIN_WIDTH)


def print_table(table: RenderableType) -> None:
    """Print a table on stdout, in colour if stdout is a terminal."""
    if sys.stdout.isatty():
        console().print(table)
    else:
        streams.write(render(table))


def file_of(out: Path | None) -> Path | None:
    """Return the file that `--out` names, or None for stdout, also written as `-`."""
    return None if str(out) == "-" else out


ENDINGS: Mapping[str, Sequence[str]] = {
    "table": (".txt", ".md"),
    "json": (".json",),
    "csv": (".csv",),
    "parquet": (".parquet",),
    "xlsx": (".xlsx",),
    "esxtop": (),
}
"""File extensions of each output format."""


def form_of(form: F | None, out: Path | None, forms: Iterable[F]) -> F:
    """Return the format from `--format`, otherwise from the extension of `--out`, otherwise the first of `forms`.

    Raises UsageError if the extension contradicts the format, or is unknown.
    """
    forms, file = tuple(forms), file_of(out)
    ending = file.suffix.lower() if file else ""
    said = next((each for each in forms if ending in ENDINGS[each.value]), None)
    if form is not None:
        if form is not said and any(ending in endings for endings in ENDINGS.values()):
            raise UsageError(f"{file} is to be {form.value} by --format, which its ending denies: change one of them")
        return form
    if said is None and ending:
        known = " ".join(each for one in forms for each in ENDINGS[one.value])
        hint = "; or say --format"
        if ending in writing.PAGE_ENDINGS:
            hint = "; a page with charts is --report"
        elif any(ending in endings for endings in ENDINGS.values()):  # --format would deny this ending
            hint = ""
        raise UsageError(f"no form of this result has names in {short(ending)}: {file}; allowed: {known}{hint}")
    return said or forms[0]


def check(
    views: Views[Any],
    form: Format | None,
    out: Path | None = None,
    report: Path | None = None,
    *others: Path | None,
) -> None:
    """Refuse, before a run, formats that a result does not have, and files that cannot be written."""
    writing.check_writable(file_of(out), *others, page=report)
    wanted = form_of(form, out, Format)
    if wanted is Format.csv and views.csv is None:
        raise UsageError("this result is no table of rows: --format csv is not for it; allowed: table, json, xlsx")
    refuse_binary(wanted.value, file_of(out))


def refuse_binary(form: str, file: Path | None) -> None:
    """Refuse to print a file that is not text. Raises UsageError."""
    if form in ("parquet", "xlsx") and file is None:
        raise UsageError(f"--format {form} is binary: say where to write it with --out FILE.{form}")


def show(
    views: Views[D],
    document: D,
    form: Format | None = None,
    out: Path | None = None,
    report: Path | None = None,
    *,
    only: Collection[str] = (),
    csv: Callable[[D], str] | None = None,
    more: str = "",
    note: str = "",
    **shown: Any,
) -> None:
    """Write the page for `--report`, and the result in its format to `--out`.

    `only` limits a table to some sections, and `more` is text below it. `csv` replaces the CSV of `views`. `note` is
    added to the message about the written file. `shown` has further arguments of the view.
    """
    write_page(views, document, report, **shown)
    form, file = form_of(form, out, Format), file_of(out)
    as_csv = csv or views.csv
    content: str | bytes
    if form is Format.json:
        content = files.to_json(document)
    elif form is Format.csv and as_csv is not None:
        content = as_csv(document)
    elif form is Format.xlsx and views.xlsx is not None:
        refuse_binary(form.value, file)
        content = views.xlsx(document, **shown)
    else:
        drawn = functools.partial(views.table, document, **({"only": only} if only else {}), **shown)
        if file is None:
            print_table(drawn(brief=not streams.is_explained()))
            streams.write(more)
            return
        content = render(drawn()) + more
    if file is not None:
        write_file(file, lambda: content, note)
    elif isinstance(content, str):
        streams.write(content)


def write_text(text: str, out: Path | None) -> None:
    """Write a text to `--out`."""
    if (file := file_of(out)) is None:
        streams.write(text)
    else:
        write_file(file, lambda: text)


def held(conditions: Mapping[str, Condition], named: Iterable[str], document: Any) -> bool:
    """True if a condition of `--fail-on` holds. Prints a warning for each."""
    found = [(name, where) for name in dict.fromkeys(named) if (where := conditions[name](document))]
    for name, where in found:
        streams.warn(f"--fail-on {name}: {where}")
    return bool(found)


def fail_on(conditions: Mapping[str, Condition], named: Iterable[str], document: Any) -> None:
    """Exit with code 1 if a condition of `--fail-on` holds."""
    if held(conditions, named, document):
        raise typer.Exit(1)


def write_page(views: Views[D], document: D, report: Path | None, **shown: Any) -> None:
    """Write the page for `--report`. `shown` has arguments for the page only."""
    page = views.page
    if page is not None and report is not None:
        write_file(report, lambda: page(document, **shown).html(provenance.made(document)))


def write_file(path: Path | None, content: Callable[[], str | bytes | Iterable[str]], note: str = "") -> None:
    """Write the file of an option, if given, and print a note on stderr."""
    if path is not None:
        writing.write_atomically(path, content())
        streams.note(f"wrote {path}{note}")
