"""Errors of published figures: `model_error.csv` beside the studies, which `make evidence` writes with `--record`.

| column | meaning |
|---|---|
| study | the source |
| area | its area (`kinds.Area`) |
| kind | kind of the figure (`kinds.Kind`) |
| error | logarithm of the published figure over the twin's; of percentages, with 5 points added to both |

A row is a figure that set no parameter and follows from no other row. Its source gives both sides, and its run settled.
Ratios of two cases are left out: the errors that both cases share cancel, so a ratio says too little about a figure.
Counts, sizes and settings are left out too, because they have no model error.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from hypertwin import library
from hypertwin.errors import HypertwinError, short
from hypertwin.files import yaml_file
from hypertwin.model_error.kinds import AREAS, KINDS, Area, Kind

FILE = "model_error.csv"
COLUMNS = ("study", "area", "kind", "error")


@dataclass(frozen=True)
class Row:
    """Error of one figure."""

    study: str
    area: Area
    kind: Kind
    error: float


class DamagedEvidenceError(HypertwinError):
    """Raised if the file of errors is damaged."""

    code = "evidence-damaged"


@cache
def recorded() -> tuple[Row, ...]:
    """Return the errors of the last accepted evidence. Without a file, no figure has an interval."""
    return read(library.studies() / FILE)


@cache
def recorded_hash() -> str:
    """Return a hash of the errors of the last accepted evidence, for keys of caches."""
    return hashlib.sha256(text(recorded()).encode()).hexdigest()[:16]


def read(file: Path) -> tuple[Row, ...]:
    """Return the rows of a file, or none if there is no file. Raises DamagedEvidenceError."""
    if not file.is_file():
        return ()
    reader = csv.DictReader(io.StringIO(yaml_file.read_text(file), newline=""))
    return tuple(_row(record, f"{file}: line {reader.line_num}") for record in reader)


def _row(record: dict[str, str], where: str) -> Row:
    try:
        study, area, kind, error = (record[column] for column in COLUMNS)
        value = float(error)
    except (KeyError, TypeError, ValueError) as problem:
        raise DamagedEvidenceError(f"{where}: {short(str(problem))}; needed: {', '.join(COLUMNS)}") from None
    for column, text, allowed in (("area", area, AREAS), ("kind", kind, KINDS)):
        if text not in allowed:
            raise DamagedEvidenceError(f"{where}: {column} is {short(text)!r}; allowed: {', '.join(allowed)}")
    return Row(study, cast(Area, area), cast(Kind, kind), value)


def text(rows: Iterable[Row]) -> str:
    """Return the contents of the file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row.study, row.area, row.kind, f"{row.error:.4f}"] for row in rows)
    return out.getvalue()
