"""Published figures against the twin, the rows that `hypertwin validate` prints: as a table and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.validation import Row
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import titled
from hypertwin.report.words import number

SMALL = 1e-3
"""Figures below this are written with an exponent, or nothing would be left of them."""


@dataclass(frozen=True)
class Study:
    """A publication; rows have its name."""

    name: str
    title: str
    source: str


HEADS = ("study", "case", "metric", "kind", "published", "twin", "error", "tolerance", "")


def page(rows: Sequence[Row], *, studies: Sequence[Study]) -> Page:
    """The page of studies: for each its charts of twin against published, and the table of its figures."""
    return Page(
        kind="validation",
        title=studies[0].title if len(studies) == 1 else "Published measurements against the twin",
        document=list(rows),
        beside={"studies": [asdict(study) for study in studies], "summary": f"{verdicts(rows)}."},
        tables=[Listing(verdicts(rows), (*HEADS, "reason"), [[*_cells(row), row["reason"]] for row in rows])],
    )


def table(rows: Sequence[Row]) -> RenderableType:
    """One line per published figure: what was published, what the twin says, and whether that is close enough.

    Below it why figures are not judged or missed, and how many promised ones hold.
    """
    shown = titled("Published against twin", "bold")
    for head in HEADS:
        right = head in ("published", "twin", "error", "tolerance")
        shown.add_column(head, justify="right" if right else "left", no_wrap=head != "metric")
    for row in rows:
        *cells, word = _cells(row)
        shown.add_row(*map(Text, cells), Text(word, verdict(row)[1]))
    told = [Text(explanation(row), verdict(row)[1]) for row in rows if row["pass"] is not True or row["reason"]]
    return Group(shown, *told, Text(verdicts(rows), style="bold"))


def _cells(row: Row) -> list[str]:
    return [
        row["study"],
        row["case"],
        row["metric"],
        row["kind"],
        row["published_text"],
        twin_text(row),
        f"{row['error_pct']:+.1f} %" if row["error_pct"] is not None else "",
        row["tolerance_text"],
        verdict(row)[0],
    ]


def verdict(row: Row) -> tuple[str, str]:
    """Word and colour for a row: a promised figure that is missed fails, another one is a known miss."""
    if row["pass"] is None:
        return "n/a", "dim"
    if row["pass"]:
        return "pass", "green"
    return ("FAIL", "bold red") if row["promised"] else ("miss", "yellow")


def explanation(row: Row) -> str:
    """Why a figure is not judged, or missed: the study's reason, or that there is none."""
    figure = f"{row['case']} {row['metric']}"
    if row["pass"] is None:
        return f"n/a: {figure}: {row['reason']}"
    found = f"{twin_text(row)} where {row['published_text']} is published"
    if row["pass"]:
        return f"pass: {figure}: {found}, though the study expects a miss: {row['reason']}"
    return (
        f"miss: {figure}: {row['reason']}" if row["reason"] else f"FAIL: {figure}: {found}; the study knows no reason"
    )


def verdicts(rows: Sequence[Row]) -> str:
    """How many figures are within tolerance, and how many of the promised ones fail, in words."""
    words = [verdict(row)[0] for row in rows]
    known = f", {words.count('miss')} missed for a known reason" if "miss" in words else ""
    unjudged = f", {words.count('n/a')} not judged" if "n/a" in words else ""
    promised, failed = sum(row["promised"] for row in rows), words.count("FAIL")
    kept = f"{promised - failed} of {promised} promised figures hold" if promised else "no figure is promised"
    return f"{words.count('pass')} of {len(rows)} figures within tolerance{known}{unjudged}; {kept}"


def twin_text(row: Row) -> str:
    """The twin's figure of a validation row, to four significant digits, with its unit and how likely it is."""
    value, unit = row["twin"], row["unit"]
    digits = 0 if float(value).is_integer() else 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    likelihood_pct = row.get("likelihood_pct", 100.0)
    return (
        (f"{value:.4g}" if 0 < abs(value) < SMALL else number(value, digits))
        + (f" {unit}" if unit != "ratio" else "")
        + (f" ({likelihood_pct:.0f} % of runs)" if likelihood_pct < 100 else "")
    )
