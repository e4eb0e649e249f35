"""Writers of results as JSON, CSV and Parquet."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypertwin.documents.simulation import Simulation
from hypertwin.errors import printable, printable_json
from hypertwin.metrics import frame
from hypertwin.metrics.packed import Reports

_FORMULA = re.compile(r"(?![-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z)[=+\-@\t\r]")
_QUOTED = re.compile(r'[,"\r\n]')


def to_json(value: Any) -> str:
    """Return one JSON document with a final newline. A number that JSON does not have (NaN) is an error."""
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def json_parts(result: Simulation) -> Iterator[str]:
    """Yield a simulation as JSON text, point by point.

    Reports stay encoded, because decoding would dominate the time.
    """
    points = result["points"]
    if not isinstance(points, Reports):
        yield to_json(result)
        return
    head, _, tail = to_json({**result, "points": [None]}).rpartition("null")  # its last value
    yield head
    for index in range(len(points)):
        yield f"{',' + head[head.rindex('[') + 1 :] if index else ''}{printable_json(points.indented(index, 2))}"
    yield tail


def to_csv(result: Simulation) -> str:
    """Return the flat rows of `hypertwin.metrics.frame` with a header line. No text acts as a spreadsheet formula."""
    return "".join(csv_parts(result))


def csv_parts(result: Simulation) -> Iterator[str]:
    """Yield the flat rows line by line."""
    columns = frame.columns(result)
    if columns:
        yield csv_text([columns])
        for row in frame.rows(result):
            yield csv_text([[of(row.get(name)) for name, of in columns.items()]])


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Return the lines of cells as CSV. No text can act as a spreadsheet formula. None is an empty cell."""
    return "".join(f"{','.join(map(_cell, line))}\n" for line in lines)


def records_csv(records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV, with a line per record and a column per key.

    Mappings in a record become columns `key.inner`. Lists of words or numbers become one cell. So do the codes of a
    list of records. Records without a code are omitted.
    """
    flat = [dict(_flat(record)) for record in records]
    keys = dict.fromkeys(head for record in flat for head in record)
    heads = [head for head in keys if not any(key.startswith(f"{head}.") for key in keys)]  # null in place of a mapping
    return csv_text([heads, *([record.get(head) for head in heads] for record in flat)] if heads else [])


def _flat(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        elif not isinstance(value, list | tuple):
            yield f"{before}{key}", value
        else:
            words = [each.get("code") if isinstance(each, Mapping) else each for each in value]
            if not words or any(word is not None for word in words):
                yield f"{before}{key}", " ".join(map(str, words))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = inert(printable(value)) if isinstance(value, str) else str(value)
    # the csv module leaves a carriage return bare, which readers take for the end of a line
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text


def inert(text: str) -> str:
    """Return a text as a CSV cell. A formula gets a leading `'`, so that a spreadsheet does not evaluate the text.

    A formula begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is not a number (OWASP, CSV injection).
    """
    return f"'{text}" if _FORMULA.match(text) else text


def to_parquet(result: Simulation) -> bytes:
    """Return the flat rows of `hypertwin.metrics.frame` as a Parquet file."""
    buffer = io.BytesIO()
    frame.to_frame(result).write_parquet(buffer)
    return buffer.getvalue()
