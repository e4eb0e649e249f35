"""Tables for a terminal: their common look, and dropping columns in a narrow one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_WIDE = Console(width=10_000)
"""Measures how wide a table would like to be."""


def titled(title: str, style: str = "") -> Table:
    """A table without columns, its title at the left."""
    return Table(title=Text(title, style), title_justify="left", box=box.SIMPLE_HEAD)


def fitted(make: Callable[[Sequence[str]], Table], order: Sequence[str], width: int | None) -> tuple[Table, list[str]]:
    """A table that fits `width`, and the first columns of `order`, which are left out for it: `make` gets them."""
    dropped: list[str] = []
    table = make(dropped)
    for head in order if width is not None else ():
        if Measurement.get(_WIDE, _WIDE.options, table).maximum <= (width or 0):
            break
        dropped.append(head)
        table = make(dropped)
    return table, dropped
