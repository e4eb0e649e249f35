"""Tables for a terminal: their common look, and dropping columns in a narrow one."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hypertwin.report.console import SafeConsole

SPREAD = "±"
"""Stands among columns to drop for the half-widths of all of them."""

_WIDE = Console(width=10_000)
"""Measures how wide a table would like to be."""


def as_text(table: RenderableType, width: int) -> str:
    """A table as plain text of so many columns."""
    text = io.StringIO()  # which has all characters, so that borders do not depend on the locale
    SafeConsole(file=text, width=width, color_system=None, force_terminal=False, legacy_windows=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


@dataclass(frozen=True)
class Cells:
    """A table as text: columns of swept values, then of words, then of figures."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    swept: int
    words: int


def titled(title: str, style: str = "") -> Table:
    """A table without columns, its title at the left."""
    return Table(title=Text(title, style) if title else None, title_justify="left", box=box.SIMPLE_HEAD)


def fitted(
    title: str,
    cells: Cells,
    order: Sequence[str],
    width: int | None,
    style: Callable[[str, str], str] = lambda _head, _text: "",
) -> tuple[Table, list[str]]:
    """A table that fits `width`, and the columns that were left out for it, the first of `order`.

    Columns of figures without any are left out anyway. `style` is that of a cell, given its head and text.
    """
    first = cells.swept + cells.words
    kept = [index for index in range(len(cells.heads)) if index < first or any(row[index] for row in cells.rows)]
    dropped: list[str] = []
    table = _grid(title, cells, kept, dropped, style)
    for head in order if width is not None else ():
        if Measurement.get(_WIDE, _WIDE.options, table).maximum <= (width or 0):
            break
        if head == SPREAD or any(cells.heads[index] == head for index in kept):
            dropped.append(head)
            table = _grid(title, cells, kept, dropped, style)
    return table, dropped


def _grid(
    title: str, cells: Cells, kept: Sequence[int], dropped: Sequence[str], style: Callable[[str, str], str]
) -> Table:
    table = titled(title, "bold")
    table.collapse_padding = True
    first = cells.swept + cells.words
    shown = [index for index in kept if index < cells.swept or cells.heads[index] not in dropped]
    for index in shown:
        head = cells.heads[index]
        table.add_column(
            Text(head.replace(" ", "\n", 1) if index >= first else head),
            justify="left" if cells.swept <= index < first else "right",
            style="cyan" if index < cells.swept else None,
            no_wrap=True,
        )
    for row in cells.rows:
        texts = [re.sub(rf" {SPREAD}\S+", "", row[index]) if SPREAD in dropped else row[index] for index in shown]
        table.add_row(*(Text(text, style(cells.heads[i], text)) for i, text in zip(shown, texts, strict=True)))
    return table
