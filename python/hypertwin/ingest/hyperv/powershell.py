"""Objects that PowerShell exported with `Export-Csv` or `ConvertTo-Json`, as rows of properties.

Windows PowerShell writes UTF-16 through `>`, otherwise the system's code page or UTF-8, and a line `#TYPE` before the
CSV header. With `-UseCulture`, the separator follows the culture. Formats: learn.microsoft.com,
Microsoft.PowerShell.Utility: Export-Csv, ConvertTo-Json (one object, or a list of them).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Any

from hypertwin.ingest import outside
from hypertwin.ingest.json_fields import objects
from hypertwin.ingest.outside import Source

MOST_ROWS = 50_000
MOST_COLUMNS = 1_000
HINT = "export it again, as docs/guides/import.md says"

_KEY = re.compile(r'"([A-Za-z0-9_]{1,60})"\s*:')

Row = dict[str, Any]
"""Properties by name in lower case. Values from CSV are text."""


def decoded(data: bytes) -> str:
    """Return the text in any encoding that PowerShell writes.

    The Western code page is used if the text is not UTF-8.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def columns(head: bytes) -> frozenset[str]:
    """Return the properties in the first bytes of a file, in lower case."""
    text = decoded(head).lstrip()
    if text.startswith(("[", "{")):
        return frozenset(key.lower() for key in _KEY.findall(text))
    lines = text.splitlines()[:2]
    header = next((line for line in lines if not line.startswith("#TYPE ")), "")
    return frozenset(_header(next(csv.reader([header[:65_536]], delimiter=_separator(header)), [])))


def rows(data: bytes, path: Path) -> list[Row]:
    """Return the objects in the content of a file. Raises SourceError."""
    text = decoded(data).lstrip()
    if text.startswith(("[", "{")):
        answer = outside.parsed(text.encode("utf-8", "replace"), path)
        listed = objects(answer if isinstance(answer, list) else [answer])
        if len(listed) > MOST_ROWS:
            _too_many(path)
        return [{key.lower(): value for key, value in each.items()} for each in listed]
    if text.startswith("#TYPE "):
        text = text.partition("\n")[2]
    try:
        found = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text.partition("\n")[0]))
        header = _header(next(found, []))
        kept: list[Row] = []
        for row in found:
            if len(kept) == MOST_ROWS:
                _too_many(path)
            if row:
                kept.append(dict(zip(header, row, strict=False)))
    except csv.Error as error:
        Source(path, HINT).refuse(error, "CSV as Export-Csv writes it")
    return kept


def _header(cells: list[str]) -> list[str]:
    return [cell.strip().lower()[:100] for cell in cells[:MOST_COLUMNS]]


def _separator(header: str) -> str:
    return max(",;\t", key=header[:65_536].count)


def _too_many(path: Path) -> None:
    Source(path).too_many(MOST_ROWS, "objects", hint="export one cluster at a time")
