"""Conversion of tables to a workbook with a sheet for each table. Numbers stay numbers, and no text is a formula."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hypertwin.documents.simulation import Simulation
from hypertwin.errors import printable
from hypertwin.metrics import frame
from hypertwin.metrics.catalogue import CATALOGUE, catalogue_key
from hypertwin.show.view import Column, Table, View, plain, tables_of

MAX_TITLE, MAX_TEXT, MAX_ROWS = 31, 32_767, 1_048_575
"""Maximum characters of a sheet title and of a cell, and maximum number of rows below the head."""

_FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class Sheet(NamedTuple):
    """Table with its title, heads with units, and rows of numbers, words and None."""

    title: str
    heads: Sequence[str]
    rows: Iterable[Sequence[Any]]


def of_view(view: View) -> bytes:
    """Return the tables of a view as a workbook."""
    return workbook(map(_sheet, tables_of(view)))


def _sheet(table: Table) -> Sheet:
    beside = {
        each["key"]: [
            part for part in BESIDE if any(_part(row.get(each["key"]), part) is not None for row in table["rows"])
        ]
        for each in table["columns"]
    }

    def cells(row: Any) -> list[Any]:
        found = []
        for column in table["columns"]:
            cell = row.get(column["key"])
            found += [plain(cell), *(_part(cell, part) for part in beside[column["key"]])]
        return found

    heads = [name for each in table["columns"] for name in _heads(each, beside[each["key"]])]
    return Sheet(table["caption"], heads, map(cells, table["rows"]))


BESIDE: Mapping[str, str] = {"half_width": "±", "low": "low", "high": "high"}
"""Parts of a figure with a column of their own, and the end of its head."""


def _heads(column: Column, beside: Sequence[str]) -> list[str]:
    unit = column.get("unit", "")
    name = f"{column['name']} ({unit})" if unit else column["name"]
    return [name, *(f"{name} {BESIDE[part]}" for part in beside)]


def _part(cell: Any, part: str) -> float | None:
    return cell.get(part) if isinstance(cell, dict) else None


def workbook(sheets: Iterable[Sheet]) -> bytes:
    """Return sheets as a workbook. The first row of each sheet is frozen."""
    from openpyxl import Workbook  # as long to import as all else together
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book, taken, bold = Workbook(write_only=True), set[str](), Font(bold=True)
    for sheet in sheets:
        page = book.create_sheet(title(sheet.title, taken))
        page.freeze_panes = "A2"

        def text(value: str, page: Any = page) -> Any:
            cell = WriteOnlyCell(page)
            cell.value = _UNWRITABLE.sub("", printable(value))[:MAX_TEXT]
            cell.data_type = "s"  # by itself openpyxl makes formulas of what begins with =
            return cell

        heads = [text(name) for name in sheet.heads]
        for cell in heads:
            cell.font = bold
        page.append(heads)
        for number, row in enumerate(sheet.rows):
            if number == MAX_ROWS:
                break
            page.append([text(each) if isinstance(each, str) and each else _number(each) for each in row])
    if not taken:
        book.create_sheet("empty")
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _number(value: Any) -> Any:
    """Return the value of a cell. Non-finite numbers are omitted, and values other than numbers become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, int | float) else str(value)


def title(text: str, taken: set[str]) -> str:
    """Return a valid sheet title that is not `taken` yet, regardless of case. Adds the title to `taken`."""
    clean = " ".join(_FORBIDDEN.sub(" ", printable(text)).split()).strip("'") or "table"
    name, number = clean[:MAX_TITLE].strip("' "), 1
    while name.casefold() in taken:
        number += 1
        name = f"{clean[: MAX_TITLE - len(str(number)) - 1].rstrip()} {number}"
    taken.add(name.casefold())
    return name


SHEETS = {
    **{"cluster": "Clusters", "group": "Groups", "vm": "VMs", "host": "Hosts", "storage": "Stations of the I/O path"},
    **{"pool": "Pools", "space": "Pool capacity"},
}
"""Titles of the sheets of a simulation, by the kind of their entities."""


def of_simulation(result: Simulation) -> bytes:
    """Return every figure of every entity of a simulation as a workbook, with a sheet for each kind of entity."""
    columns: dict[str, dict[str, None]] = {}
    for row in frame.rows(result):
        columns.setdefault(row["kind"], {}).update(dict.fromkeys(row))
    return workbook(_entities(result, kind, columns[kind]) for kind in SHEETS if kind in columns)


def _entities(result: Simulation, kind: str, columns: Iterable[str]) -> Sheet:
    known = {metric.key: metric for metric in CATALOGUE if kind in metric.scopes}
    keys = [key for key in columns if key not in ("scenario", "version", "seed", "kind")]
    keys.sort(key="name".__ne__)  # first

    def head(key: str) -> str:
        metric = known.get(catalogue_key(key))
        if metric is None:
            return key
        number = "".join(f" {part}" for part in re.findall(r"_(\d+)_", key))
        return f"{metric.name}{number} ({metric.unit})" if metric.unit else metric.name + number

    rows = ([row.get(key) for key in keys] for row in frame.rows(result) if row["kind"] == kind)
    return Sheet(SHEETS[kind], [head(key) for key in keys], rows)
