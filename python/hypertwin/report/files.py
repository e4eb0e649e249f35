"""Results as JSON, CSV and Parquet."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from typing import Any

from hypertwin import frame
from hypertwin.documents.simulation import Simulation

_FORMULA = re.compile(r"(?![-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z)[=+\-@\t\r]")
_QUOTED = re.compile(r'[,"\r\n]')


def to_json(value: Any) -> str:
    """One JSON document with a final newline; a number that JSON does not have (NaN) is an error."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(result: Simulation) -> str:
    """The flat rows of `hypertwin.frame` with a header line, in which no text is a formula to a spreadsheet."""
    columns = frame.columns(result)
    return csv_text([list(columns), *zip(*columns.values(), strict=True)])


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Lines of cells as CSV, in which no text is a formula to a spreadsheet; None is an empty cell."""
    return "".join(f"{','.join(map(_cell, line))}\n" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = inert(value) if isinstance(value, str) else str(value)
    # the csv module leaves a carriage return bare, which readers take for the end of a line
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text


def inert(text: str) -> str:
    """A text as a cell of a CSV file: what a spreadsheet would take for a formula gets a `'` in front.

    That is what begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is no number (OWASP, CSV injection).
    """
    return f"'{text}" if _FORMULA.match(text) else text


def to_parquet(result: Simulation) -> bytes:
    """The flat rows of `hypertwin.frame` as a Parquet file."""
    buffer = io.BytesIO()
    frame.to_frame(result).write_parquet(buffer)
    return buffer.getvalue()
