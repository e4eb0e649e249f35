"""`published.csv` of a study: one row per published figure.

| column | meaning |
|---|---|
| case | a case of study.yaml |
| metric | readable name of the figure; `NAME, outcome 1` is one of several outcomes of repeated runs |
| twin | location of the twin's figure: a path into the point (`vms.db.guest_cpu_pct`), `a + b`, or `a / b`, whose paths can name another case (`solo-24-1x: vms.db.response_ms.mean`); after `outcomes`, `likely` is the most likely outcome and `nearest` the one nearest to the figure; `moves.VM` and `moves.all` have the figures of `moves` |
| published | the source's value: a number, or a word such as `flat` |
| unit | `%`, `ms`, ...; the figure's own unit |
| origin | `published`, or `derived` from published figures by a calculation that the note explains |
| kind | `calibrated` when the figure was used to set a parameter, else `predicted` |
| accept | tolerance: `±3` in the figure's unit, `±30 %` of the published figure, `x3` a factor either way; for a published bound `<= 1.10` or `>= 5`, , or for a range, `1.3 to 1.6` |
| expected_class | limit of the case and direction of the figure in the source, see `classes`: `host-cpu; falls` |
| words | short quote of the source for that |
| against | the case to compare the figure with; a ratio is compared with 1 |
| follows | the row that this one follows from: by Little's law, as the rest of a whole, or as a ratio of figures that have rows; the METRIC of a row of the same case, or `CASE: METRIC` |
| unreachable | reason why physics cannot give this figure; the row is shown and explained, but not judged |
| missed | reason why the twin misses this figure; the row is judged and counted like any other |
| note | other remarks |

The last seven are optional. Metrics are unique within a case.
"""  # noqa: E501

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hypertwin.errors import HypertwinError, printable, short
from hypertwin.files import yaml_file
from hypertwin.studies.accept import FORMS, Accept, accept_of
from hypertwin.studies.classes import RATIO, Class, class_of

COLUMNS = ("case", "metric", "twin", "published", "unit", "origin", "kind", "accept")
"""Required columns of the file."""

REASONS = ("unreachable", "missed", "note")
"""Optional text columns."""

EXPECTED = ("expected_class", "words", "against")
"""Optional columns for the class of a figure."""

OPTIONAL = (*EXPECTED, "follows", *REASONS)
"""All optional columns."""

CHOICES: Mapping[str, tuple[str, ...]] = {"kind": ("calibrated", "predicted"), "origin": ("published", "derived")}
"""Allowed values of columns with fixed words."""


class StudyError(HypertwinError):
    """Raised if a study is missing, or its files are inconsistent."""

    code = "study-invalid"

    def __init__(self, message: str) -> None:
        """Keep the message without terminal control characters, because parts of it come from the study."""
        super().__init__(printable(message))


@dataclass(frozen=True)
class Row:
    """One published figure, with the location and tolerance of the twin's."""

    case: str
    metric: str
    twin: str
    published: str
    unit: str
    origin: str
    kind: str
    accept: Accept
    unreachable: str
    missed: str
    note: str
    expected: Class
    """Limit of the case and direction of the figure in the source, or an empty class if the source gives neither."""
    words: str
    against: str
    follows: str

    @property
    def is_ratio(self) -> bool:
        """True if the figure is a ratio, which rises or falls against 1."""
        return self.unit == RATIO or " / " in self.twin


def rows(path: Path) -> list[Row]:
    """Return the rows of the file, at least one. Raises StudyError, and ScenarioError if the file is not text."""
    reader = csv.DictReader(io.StringIO(yaml_file.read_text(path), newline=""), strict=True)
    try:
        _check_columns(reader.fieldnames or (), f"{path}: line 1")
        found = [_row(record, f"{path}: line {reader.line_num}") for record in reader]
    except csv.Error as error:
        raise StudyError(
            f"{path}: after line {reader.line_num}: {error}; is the file CSV, its quotes in pairs?"
        ) from error
    if not found:
        raise StudyError(f"{path}: has no figures; a study needs a row for each figure that was published")
    _check_names(found, f"{path}")
    return found


def _check_names(found: Iterable[Row], where: str) -> None:
    """Refuse duplicate names, and a row that follows from a missing row or from itself."""
    named: dict[tuple[str, str], Row] = {}
    for row in found:
        if named.setdefault((row.case, row.metric), row) is not row:
            raise StudyError(f"{where}: two rows of case {row.case} have the metric {short(row.metric)!r}; rename one")
    leading = {key for key, row in named.items() if not row.follows}
    for row in named.values():
        case, _, metric = row.follows.partition(": ")
        if row.follows and not {(row.case, row.follows), (case, metric)} & leading:
            raise StudyError(
                f"{where}: {row.metric} follows {short(row.follows)!r}; allowed: METRIC or CASE: METRIC of a row that"
                " follows from no other"
            )


def _check_columns(heads: Iterable[str], where: str) -> None:
    """Refuse a file with a missing or an unknown column, which can be a misspelt reason."""
    lacking = [head for head in COLUMNS if head not in heads]
    if lacking:
        raise StudyError(f"{where}: lacks the column {', '.join(lacking)}; needed: {', '.join(COLUMNS)}")
    unknown = [head for head in heads if head not in (*COLUMNS, *OPTIONAL)]
    if unknown:
        allowed = ", ".join((*COLUMNS, *OPTIONAL))
        raise StudyError(f"{where}: has a column {short(unknown[0])!r}; allowed: {allowed}")


def _row(record: Mapping[str | None, str | list[str] | None], where: str) -> Row:
    if None in record or None in record.values():
        raise StudyError(f"{where}: has more or fewer cells than line 1; a text with a comma needs quotes")
    cell = {str(name): str(value).strip() for name, value in record.items()}
    for column in COLUMNS:
        if not cell[column] and column != "unit":
            raise StudyError(f"{where}: {column} is empty; only unit, {', '.join(OPTIONAL)} may be")
    for column, allowed in CHOICES.items():
        if cell[column] not in allowed:
            raise StudyError(f"{where}: {column} is {short(cell[column])!r}; allowed: {', '.join(allowed)}")
    if cell.get("unreachable") and cell.get("missed"):
        raise StudyError(f"{where}: has reasons under unreachable and missed; a figure is either judged or not")
    row = Row(
        **{column: cell[column] for column in COLUMNS if column != "accept"},
        **{column: cell.get(column, "") for column in OPTIONAL if column != "expected_class"},
        accept=_accept(cell, where),
        expected=_expected(cell.get("expected_class", ""), where),
    )
    _check_class(row, where)
    return row


def _accept(cell: Mapping[str, str], where: str) -> Accept:
    accept = accept_of(cell["accept"])
    if accept is None:
        raise StudyError(f"{where}: accept is {short(cell['accept'])!r}; allowed: {FORMS}")
    if not accept.is_bound and not _is_number(cell["published"]):
        raise StudyError(f"{where}: published is {short(cell['published'])!r}; {accept.sign} needs a number")
    return accept


def _expected(text: str, where: str) -> Class:
    try:
        return class_of(text)
    except ValueError as error:
        raise StudyError(f"{where}: expected_class: {error}") from None


def _check_class(row: Row, where: str) -> None:
    """Refuse a direction without a case to compare with, words without a class, and a case without a direction."""
    if row.expected.direction and not (row.against or row.is_ratio):
        raise StudyError(
            f"{where}: {row.metric} {row.expected.direction}, and nothing says against what;"
            " allowed: a case under against, or a ratio, which is compared with 1"
        )
    if row.against and not row.expected.direction:
        raise StudyError(f"{where}: against is {short(row.against)!r}, and expected_class has no direction")
    if row.against == row.case:
        raise StudyError(f"{where}: against is the row's own case; allowed: another one")
    if row.words and not row.expected:
        raise StudyError(f"{where}: words are given, and expected_class is empty")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
