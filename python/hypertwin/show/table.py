"""Tables for a terminal with a common style, which fit a narrow terminal without truncation."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hypertwin.show.console import SafeConsole

LEAST = 14
"""Minimum number of terminal columns of words that wrap, unless they are shorter."""

_WIDE = Console(width=10_000)
"""Console that measures the natural width of a table."""


def as_text(table: RenderableType, width: int) -> str:
    """Return a table as plain text, `width` columns wide."""
    text = io.StringIO()  # which has all characters, so that borders do not depend on the locale
    SafeConsole(file=text, width=width, color_system=None, force_terminal=False, legacy_windows=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


@dataclass(frozen=True)
class Cells:
    """Table as text, with columns of swept values first, then of words, then of figures."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    swept: int
    words: int


@dataclass(frozen=True)
class Fitted:
    """Table that fits the output width, with a line that names dropped columns.

    Columns are dropped in the order of `order`. If the table is still too wide, words wrap. If it is still too wide
    then, the figures are split over several tables. Figures are never truncated or wrapped. Empty columns of figures
    are always left out.
    """

    title: str
    cells: Cells
    order: Sequence[str] = ()
    """Heads of columns to drop, in this order."""
    style: Callable[[int, str, str], str] = lambda _row, _head, _text: ""
    """Function that returns the style of a cell from its row, head and text."""
    prose: Collection[str] = ()
    """Heads of columns of sentences, which wrap before any column is dropped."""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table or tables, and the dropped columns."""
        tables, dropped = self.within(options.max_width)
        yield from tables
        if dropped:
            yield Text(f"Columns omitted: {', '.join(dropped)}. --format json has them.", "dim")

    def within(self, width: int) -> tuple[list[Table], list[str]]:
        """Return the tables that fit a width, and heads of dropped columns."""
        heads, first = self.cells.heads, self.cells.swept + self.cells.words
        kept = [place for place in range(len(heads)) if place < first or any(row[place] for row in self.cells.rows)]
        dropped: list[str] = []
        for head in self.order:
            if self._needs(kept, self.prose) <= width:
                break
            if any(heads[place] == head for place in kept):
                dropped.append(head)
                kept = [place for place in kept if heads[place] != head]
        if self._needs(kept, self.prose) <= width:
            return [self._grid(self.title, kept, self.prose)], dropped
        wrapped = {*heads[self.cells.swept : first], *self.prose}
        keys = [place for place in kept if place < first]
        parts = [keys]
        for place in kept[len(keys) :]:
            if len(parts[-1]) == len(keys) or self._needs([*parts[-1], place], wrapped) <= width:
                parts[-1] = [*parts[-1], place]
            else:
                parts.append([*keys, place])
        return [self._grid("" if number else self.title, part, wrapped) for number, part in enumerate(parts)], dropped

    def _needs(self, places: Sequence[int], wrapped: Collection[str]) -> int:
        """Return the number of terminal columns that a table needs if its words wrap as far as possible."""
        return Measurement.get(_WIDE, _WIDE.options, self._grid("", places, wrapped, LEAST)).maximum

    def _grid(self, title: str, places: Sequence[int], wrapped: Collection[str], most: int | None = None) -> Table:
        heads, swept, first = self.cells.heads, self.cells.swept, self.cells.swept + self.cells.words
        table = Table(title=Text(title, "bold") if title else None, title_justify="left", box=box.SIMPLE_HEAD)
        table.collapse_padding = True
        for place in places:
            head = heads[place]
            wraps = head in wrapped
            figures = place >= first and head not in self.prose
            table.add_column(
                Text(re.sub(r" (?!% )", "\n", head, count=1) if figures else head),
                justify="left" if swept <= place and not figures else "right",
                style="cyan" if place < swept else None,
                no_wrap=not wraps,
                max_width=most if wraps else None,
                overflow="fold",
            )
        for number, row in enumerate(self.cells.rows):
            table.add_row(*(Text(row[place], self.style(number, heads[place], row[place])) for place in places))
        return table
