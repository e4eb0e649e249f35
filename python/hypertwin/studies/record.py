"""Figures of the last accepted evidence, and changes since then.

The folder of studies has two files. `record.csv` has a line for each figure: its error, and whether it was within
tolerance. A figure that was within tolerance and no longer is has regressed, regardless of its study. This holds until
a person adds it to `accepted.yaml`, a list of study, case, figure, date and reason.

A reason in the study would not be enough, because the change that breaks a figure could also set it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypertwin.documents.validation import Row
from hypertwin.errors import ScenarioError, short
from hypertwin.files import yaml_file
from hypertwin.studies.published import StudyError

RECORD = "record.csv"
ACCEPTED = "accepted.yaml"
COLUMNS = ("study", "case", "figure", "error_pct", "within")
KEYS = ("study", "case", "figure", "date", "reason")

Key = tuple[str, str, str]
"""Study, case and metric of a figure."""

DRIFT_POINTS = 2.0
"""Change of an error in per cent of the published figure above which the change is reported."""

REGRESSION = "regression"

_WITHIN: Mapping[bool | None, str] = {True: "yes", False: "no", None: "not judged"}


@dataclass(frozen=True)
class Then:
    """Figure at the time of the accepted evidence."""

    error_pct: float
    within: bool | None
    """True if the figure was within tolerance, or None if it was not judged."""


@dataclass(frozen=True)
class Drift:
    """Change of a figure: REGRESSION, `better`, `worse`, `no longer judged`, `judged again`, `new` or `gone`."""

    key: Key
    what: str
    then: str
    now: str


def key_of(row: Row) -> Key:
    """Return the key of a figure."""
    return row["study"], row["case"], row["metric"]


def recorded(folder: Path) -> dict[Key, Then]:
    """Return recorded figures, or an empty dict if a folder of studies has no record."""
    file = folder / RECORD
    if not file.is_file():
        return {}
    states = {text: within for within, text in _WITHIN.items()}
    reader = csv.DictReader(io.StringIO(yaml_file.read_text(file), newline=""))
    try:
        return {
            (line["study"], line["case"], line["figure"]): Then(float(line["error_pct"]), states[line["within"]])
            for line in reader
        }
    except (KeyError, ValueError, TypeError) as error:
        raise StudyError(
            f"{file}: line {reader.line_num}: {short(str(error))}; needed: {', '.join(COLUMNS)},"
            f" and within is {', '.join(states)}"
        ) from None


def accepted(folder: Path) -> frozenset[Key]:
    """Return the figures whose loss a person has accepted, with date and reason."""
    file = folder / ACCEPTED
    if not file.is_file():
        return frozenset()
    document = yaml_file.parse(yaml_file.read_text(file), str(file))
    if document.mistakes:
        raise ScenarioError.of(document.mistakes)
    entries = document.root.data() or []
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, Mapping) or sorted(entry) != sorted(KEYS) or not all(entry.values()):
            raise StudyError(f"{file}: {short(repr(entry))}; needed in each entry of the list: {', '.join(KEYS)}")
    return frozenset((str(entry["study"]), str(entry["case"]), str(entry["figure"])) for entry in entries)


def held(folder: Path) -> frozenset[Key]:
    """Return the figures that were within tolerance, except those with an accepted loss."""
    within = {key for key, then in recorded(folder).items() if then.within}
    return frozenset(within - accepted(folder))


def drift(rows: Sequence[Row], before: Mapping[Key, Then], kept: frozenset[Key]) -> list[Drift]:
    """Return changes of recorded figures, and new figures.

    Regressions come first, including missing figures of `kept`.
    """
    found = [change for row in rows if (change := _change(row, before.get(key_of(row))))]
    now = {key_of(row) for row in rows}
    found += [
        Drift(key, REGRESSION if key in kept else "gone", _text(then.error_pct, then.within), "gone")
        for key, then in before.items()
        if key not in now
    ]
    return sorted(found, key=lambda change: change.what != REGRESSION)


def _change(row: Row, then: Then | None) -> Drift | None:
    """Return the change of one figure, or None if the change is too small to report."""
    what = "new" if then is None else _what(row, then)
    before = _text(then.error_pct, then.within) if then else ""
    return Drift(key_of(row), what, before, _text(row["error_pct"], row["pass"])) if what else None


def _what(row: Row, then: Then) -> str:
    further = abs(row["error_pct"]) - abs(then.error_pct)
    if row["promised"] and row["pass"] is not True:
        return REGRESSION
    if row["pass"] is None or then.within is None:
        return "" if row["pass"] is then.within else "no longer judged" if row["pass"] is None else "judged again"
    if row["pass"] is not then.within:
        return "better" if row["pass"] else "worse"
    return "" if abs(further) <= DRIFT_POINTS else "better" if further < 0 else "worse"


def _text(error_pct: float, within: bool | None) -> str:
    return f"{error_pct:+.1f} %, {'within' if within else 'missed' if within is False else 'not judged'}"


def text(rows: Iterable[Row]) -> str:
    """Return the record of the current figures. A regression keeps its state within tolerance until it is accepted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        within = True if row["promised"] else row["pass"]
        writer.writerow([*key_of(row), f"{row['error_pct']:.1f}", _WITHIN[within]])
    return out.getvalue()
