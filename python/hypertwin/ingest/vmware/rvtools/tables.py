"""The tabs of an export as tables: from the `.xlsx` workbook, or from `.csv` files.

Workbooks are checked against limits before they are read: bytes, parts, rows and cells. Formulas and links are never
followed. Only displayed values count.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hypertwin.errors import ScenarioError
from hypertwin.ingest import outside
from hypertwin.ingest.vmware.rvtools import cells
from hypertwin.ingest.vmware.rvtools.columns import TABS, column_name, plain_tab_name, tab_name

if TYPE_CHECKING:
    import _csv

MOST_BYTES = 128 * 2**20
"""Maximum bytes of a workbook. One of 800 VMs has about 3 MB."""
MOST_INFLATED = 512 * 2**20
"""Maximum number of unpacked bytes of all parts of a workbook. One of 800 VMs has about 40 MB."""
MOST_OTHER_INFLATED = 64 * 2**20
"""Maximum number of unpacked bytes of any part except sheets: shared texts, styles."""
MOST_BETWEEN_ROWS = 4 * 2**20
"""Maximum bytes of one row of a sheet, or of the text before or after the rows. Each is in memory as a whole."""
MOST_CELLS = 10_000_000
"""Maximum number of cells of a sheet. A tab of 10,000 VMs has a million."""
MOST_TEXT = 1_024
"""Maximum characters of a cell to keep. A datastore's list of hosts can have more."""
MOST_PARTS = 2_000
MOST_COLUMNS = 2_000
MOST_ROWS = 200_000
_SHEET_ROWS = 2**20
_CHUNK = 2**20
_MARK = 8
"""Bytes of the last chunk that are searched again, because a row's start can be split between chunks."""

_CELLS = (b"<c ", b"<c>", b"<c/", b":c ", b":c>", b":c/")
_ROW = re.compile(rb"[<:]row[ >/]")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A tab: the used columns, and its rows by column."""

    columns: frozenset[str] = frozenset()
    rows: Sequence[Row] = ()
    units: Mapping[str, int] = field(default_factory=dict)
    """Bytes per unit in a column's header, for columns with one."""
    unused: Sequence[str] = ()
    """Headers of unused columns with values."""

    def size(self, row: Row, column: str) -> int | None:
        """Return the bytes of a size in a row, or None without one."""
        return cells.size(row.get(column), self.units.get(column))


@dataclass(frozen=True)
class Tabs:
    """Content of one export."""

    source: str
    """File or folder."""
    tables: Mapping[str, Table]
    """Used tabs, by their names in `TABS`."""
    unused: Sequence[str] = ()
    """Unused tabs with rows, by their names in RVTools."""


def workbook(path: Path) -> Tabs:
    """Return the tabs of a workbook."""
    data = outside.read_bytes(path, MOST_BYTES)
    with _as_source_error(path):
        _check_parts(path, data)
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        tables: dict[str, Table] = {}
        unused: dict[str, None] = {}
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # they may claim anything
            tab = tab_name(sheet.title)
            rows = _sheet_rows(sheet.iter_rows(values_only=True), path, sheet.title)
            if tab is None:
                if _has_rows(rows):
                    unused[outside.name(plain_tab_name(sheet.title))] = None
            elif tab not in tables:
                tables[tab] = _table(tab, rows, path)
        return Tabs(str(path), tables, tuple(unused))


def csv_files(folder: Path) -> dict[str, Path]:
    """Return the CSV files of used tabs in a folder, by tab."""
    files: dict[str, Path] = {}
    for file in _csv_in(folder):
        tab = tab_name(file.stem)
        if tab is not None:
            files.setdefault(tab, file)
    return files


def csv_folder(folder: Path) -> Tabs:
    """Return the tabs in the CSV files of a folder."""
    return csv_tabs(str(folder), _csv_in(folder))


def csv_tabs(source: str, files: Iterable[Path]) -> Tabs:
    """Return the tabs in CSV files, the first file of each tab. Other files count if they have RVTools names."""
    tables: dict[str, Table] = {}
    unused: dict[str, None] = {}
    for file in files:
        tab = tab_name(file.stem)
        if tab is not None and tab not in tables:
            tables[tab] = _csv_table(file, tab)
        elif tab is None and is_tab(file) and _has_rows(_csv_rows(file)):
            unused[outside.name(plain_tab_name(file.stem))] = None
    return Tabs(source, tables, tuple(unused))


def is_tab(file: Path) -> bool:
    """True if a file has the name of a tab, used or not."""
    return tab_name(file.stem) is not None or re.match(r"rvtools_tab[a-z]", file.stem, re.IGNORECASE) is not None


def _csv_in(folder: Path) -> list[Path]:
    try:
        return [file for file in sorted(folder.iterdir())[:10_000] if file.suffix.lower() == ".csv"]
    except OSError:
        return []


def _csv_table(path: Path, tab: str) -> Table:
    rows = _csv_rows(path)
    most = csv.field_size_limit()
    try:
        return _table(tab, rows, path)
    except csv.Error as error:
        source = outside.Source(path, line=rows.line_num)
        if "field limit" in str(error):
            hint = "shorten this cell, such as the annotation of a VM, or close its quotation marks"
            source.too_large("a longer cell", f"cells of at most {most:,} characters", hint)
        source.refuse(error, "a CSV file as RVTools writes it", "export it again: it seems changed or cut off")


def _csv_rows(path: Path) -> _csv.Reader:
    """Return the rows of a file with the separator of the exporting Windows: comma, semicolon or tab."""
    lines = outside.text_lines(path)
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    return csv.reader((f"{line}\n" for line in itertools.chain([first], lines)), delimiter=separator)


def _has_rows(rows: Iterable[Sequence[Any]]) -> bool:
    """True if an unused tab has anything below its header. Unreadable content counts."""
    filled = (row for row in rows if any(value not in (None, "") for value in row))
    try:
        return len(list(itertools.islice(filled, 2))) == 2
    except Exception:  # whatever is wrong with a tab that nobody needs, the others can be read
        return True


def _table(tab: str, rows: Iterable[Sequence[Any]], where: str | Path) -> Table:
    """Return the known columns of a tab. The first non-empty row has their names."""
    found: dict[str, int] = {}
    units: dict[str, int] = {}
    kept: list[Row] = []
    unread: dict[int, str] = {}
    unused: dict[int, str] = {}
    for row in rows:
        if not found:
            named = [column_name(cell, tab) for cell in row[:MOST_COLUMNS]]
            names = [name for name, _ in named]
            if not any(names):
                continue
            for column, called in TABS[tab].items():
                position = next((names.index(name) for name in called if name in names), None)
                if position is not None:
                    found[column] = position
                    if (unit := named[position][1]) is not None:
                        units[column] = unit
            if not found:
                return Table()
            read = {name for called in TABS[tab].values() for name in called}
            unread = {at: outside.name(str(row[at])) for at, name in enumerate(names) if name and name not in read}
            continue
        values = {
            column: value[:MOST_TEXT] if isinstance(value, str) and column != "hosts" else value
            for column, at in found.items()
            if at < len(row) and (value := row[at]) not in (None, "")
        }
        if unread:
            for at, value in enumerate(row[:MOST_COLUMNS]):
                if value not in (None, "") and at in unread:
                    unused[at] = unread.pop(at)
        if not values:
            continue
        if len(kept) == MOST_ROWS:
            allowed = f"at most {MOST_ROWS} rows"
            outside.Source(where).at(tab).too_large("more rows", allowed, "export one vCenter at a time")
        kept.append(values)
    return Table(frozenset(found), kept, units, [unused[at] for at in sorted(unused)])


def _sheet_rows(rows: Iterable[Sequence[Any]], path: Path, tab: str) -> Iterator[Sequence[Any]]:
    """Yield non-empty rows. Openpyxl adds any number of missing ones."""
    for number, row in enumerate(rows):
        if number >= _SHEET_ROWS:
            outside.Source(path).at(tab).too_large(
                "a row of a higher number", f"at most {_SHEET_ROWS} rows", "check that it is an Excel file"
            )
        if row:
            yield row


def _check_parts(path: Path, data: bytes) -> None:
    """Refuse a workbook whose parts do not fit into memory. Parts are unpacked and counted, because headers can be
    wrong."""
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        entries = parts.infolist()
        if len(entries) > MOST_PARTS:
            _too_large(path, "", f"{len(entries)} parts", f"at most {MOST_PARTS} parts")
        total = 0
        for entry in entries:
            is_sheet = "worksheets/" in entry.filename
            most = MOST_INFLATED - total if is_sheet else min(MOST_OTHER_INFLATED, MOST_INFLATED - total)
            with parts.open(entry) as stream:
                total += _check_part(path, entry.filename, stream, most, is_sheet)


def _check_part(path: Path, name: str, stream: IO[bytes], most: int, is_sheet: bool) -> int:
    """Return the size of one part, at most `most` bytes. Rows of a sheet and their length are limited as well."""
    size = since_row = rows = cells = 0
    tail = b""
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > most:
            _too_large(path, name, f"more than {most} bytes unpacked", f"at most {MOST_INFLATED} bytes in all")
        if not is_sheet:
            continue
        text = tail + chunk
        tail = text[-_MARK:]
        begins = [-since_row, *(found.start() for found in _ROW.finditer(text)), len(text)]
        longest = max(after - before for before, after in itertools.pairwise(begins))
        if longest > MOST_BETWEEN_ROWS:
            _too_large(path, name, f"{longest} bytes without a row", f"rows of at most {MOST_BETWEEN_ROWS} bytes")
        since_row = len(text) - len(tail) - begins[-2]
        rows += len(begins) - 2
        cells += sum(text.count(mark) for mark in _CELLS)
        if rows > _SHEET_ROWS or cells > MOST_CELLS:
            value = f"{rows} rows with {cells} cells so far"
            _too_large(path, name, value, f"at most {_SHEET_ROWS} rows and {MOST_CELLS} cells")
    return size


def _too_large(path: Path, where: str, value: str, allowed: str) -> None:
    hint = "use an RVTools export, without drawings and attachments"
    outside.Source(path).at(outside.name(where)).too_large(value, allowed, hint)


@contextmanager
def _as_source_error(path: Path) -> Iterator[None]:
    """Convert any exception of zipfile and openpyxl for a broken workbook into one error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl on styles and extensions that nobody needs here
            yield
    except ScenarioError:
        raise
    except Exception as error:  # openpyxl raises errors of any kind for files that are not what they should be
        said = outside.name(f"{type(error).__name__}: {error}")
        hint = "export it again, complete and without a password"
        outside.Source(path).refuse(said, "an .xlsx file as RVTools writes it", hint)
