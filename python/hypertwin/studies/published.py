"""`published.csv` of a study: one row per published figure.

| column | meaning |
|---|---|
| case | a case of study.yaml |
| metric | name of the figure for people; `NAME, outcome 1` is one of several outcomes of repeated runs |
| twin | where the twin's figure is: a path into the point (`vms.db.guest_cpu_pct`), `a + b`, or `a / b`, where a path may name another case (`solo-24-1x: vms.db.response_ms.mean`); after `outcomes`, `likely` is the most likely outcome and `nearest` the one nearest to the figure |
| published | what the source says: a number, or a word such as `flat` |
| unit | `%`, `ms`, ...; the figure's own unit |
| origin | `published`, or `derived` from published figures by a calculation that the note explains |
| kind | `calibrated` when the figure was used to set a parameter, else `predicted` |
| accept | how close is close enough: `±3` in the figure's unit, `±30 %` of the published figure, `<= 1.10` or `>= 5` |
| unreachable | reason why physics cannot give this figure; the row is shown and explained, but not judged |
| note | anything else worth saying |
"""  # noqa: E501

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hypertwin.errors import HypertwinError

ACCEPT = re.compile(r"(?P<sign>±|<=|>=)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<relative>%?)")


class StudyError(HypertwinError):
    """A study is not there, or its files do not fit together."""

    code = "study-invalid"


@dataclass(frozen=True)
class Row:
    """One published figure and how the twin's is found and judged."""

    case: str
    metric: str
    twin: str
    published: str
    unit: str
    origin: str
    kind: str
    sign: str
    tolerance: float
    relative: bool
    unreachable: str
    note: str


def rows(path: Path) -> list[Row]:
    """The rows of the file. Raises StudyError, and OSError where it cannot be read."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(record, f"{path}: line {number}") for number, record in enumerate(csv.DictReader(file), start=2)]


def _row(record: Mapping[str, str | None], where: str) -> Row:
    cell = {name: (value or "").strip() for name, value in record.items() if name}
    accept = ACCEPT.fullmatch(cell["accept"])
    if accept is None:
        raise StudyError(f"{where}: accept is {cell['accept']!r}; allowed: ±3, ±30 %, <= 1.10, >= 5")
    if cell["kind"] not in ("calibrated", "predicted"):
        raise StudyError(f"{where}: kind is {cell['kind']!r}; allowed: calibrated, predicted")
    if cell["origin"] not in ("published", "derived"):
        raise StudyError(f"{where}: origin is {cell['origin']!r}; allowed: published, derived")
    if accept["sign"] == "±":
        try:
            float(cell["published"])
        except ValueError as error:
            raise StudyError(f"{where}: published is {cell['published']!r}; ± needs a number") from error
    return Row(
        case=cell["case"],
        metric=cell["metric"],
        twin=cell["twin"],
        published=cell["published"],
        unit=cell["unit"],
        origin=cell["origin"],
        kind=cell["kind"],
        sign=accept["sign"],
        tolerance=float(accept["number"]),
        relative=bool(accept["relative"]),
        unreachable=cell.get("unreachable", ""),
        note=cell.get("note", ""),
    )
