"""Published figures against the twin, the rows that `hypertwin validate` prints: as a table and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.validation import Row
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import number

SMALL = 1e-3
"""Figures below this are written with an exponent, or nothing would be left of them."""


@dataclass(frozen=True)
class Study:
    """A publication; rows have its name."""

    name: str
    title: str
    source: str


HEADS = ("study", "case", "metric", "kind", "published", "twin", "error", "tolerance", "class", "")

DROPPED_FIRST = ("kind", "tolerance")
"""Columns that are dropped in a narrow terminal, in this order."""

WITHIN_PCT = (10, 15, 25)
"""Errors within which the figures of a source are counted, in per cent."""

MOST_FREE = 4
"""Rows that a source has at least for each of its free parameters."""


@dataclass(frozen=True)
class Sum:
    """What the figures of one source come to; all of them count, those that are not judged too."""

    name: str
    figures: int
    calibrated: int
    class_right: int
    class_named: int
    """Figures of which the source says a class."""
    within_10: int
    within_15: int
    within_25: int
    not_judged: int
    parameters: int

    @staticmethod
    def of(name: str, rows: Sequence[Row]) -> Sum:
        """The sums of some rows; free parameters are counted once for each source."""
        within_10, within_15, within_25 = (sum(abs(row["error_pct"]) <= most for row in rows) for most in WITHIN_PCT)
        free = {row["study"]: len(row["parameters"]) for row in rows}
        return Sum(
            name,
            len(rows),
            sum(row["kind"] == "calibrated" for row in rows),
            sum(row["class_right"] is True for row in rows),
            sum(bool(row["expected_class"]) for row in rows),
            within_10,
            within_15,
            within_25,
            sum(row["pass"] is None for row in rows),
            sum(free.values()),
        )

    @property
    def over(self) -> bool:
        """Whether it has more free parameters than a quarter of its figures."""
        return MOST_FREE * self.parameters > self.figures


def sums(rows: Sequence[Row]) -> list[Sum]:
    """The sums of each source, in their order, and of all of them."""
    names = dict.fromkeys(row["study"] for row in rows)
    return [*(Sum.of(name, [row for row in rows if row["study"] == name]) for name in names), Sum.of("all", rows)]


def page(rows: Sequence[Row], *, studies: Sequence[Study]) -> Page:
    """The page of studies: for each its charts of twin against published, and the table of its figures."""
    return Page(
        kind="validation",
        title=studies[0].title if len(studies) == 1 else "Published measurements against the twin",
        document=list(rows),
        beside={
            "studies": [asdict(study) for study in studies],
            "summary": f"{verdicts(rows)}.",
            "sums": [asdict(each) for each in sums(rows)],
        },
        tables=[Listing(verdicts(rows), (*HEADS, "reason"), [[*_cells(row), row["reason"]] for row in rows])],
    )


def table(rows: Sequence[Row]) -> RenderableType:
    """One line per published figure: what was published, what the twin says, and whether that is close enough.

    Below it why figures are not judged or missed, what each source comes to where there are several, and how many
    promised ones hold. Classes are shown where a source names any.
    """

    def style(row: int, head: str, _text: str) -> str:
        classed = "yellow" if rows[row]["class_right"] is False else ""
        return {"": verdict(rows[row])[1], "class": classed}.get(head, "")

    is_classed = any(row["expected_class"] for row in rows)
    kept = [place for place, head in enumerate(HEADS) if head != "class" or is_classed]
    heads, *cells = ([cells[place] for place in kept] for cells in (HEADS, *map(_cells, rows)))
    shown = Fitted(
        "Published against twin", Cells(heads, cells, swept=0, words=4), DROPPED_FIRST, style, prose=("metric", "class")
    )
    told = [Text(explanation(row), verdict(row)[1]) for row in rows if row["pass"] is not True or row["reason"]]
    found = sums(rows)
    several = [_sums_table(found)] if len(found) > 2 else []
    return Group(shown, *told, *several, Text(verdicts(rows), style="bold"))


def _sums_table(found: Sequence[Sum]) -> RenderableType:
    return Fitted("By source", Cells(SUM_HEADS, [sum_cells(each) for each in found], swept=0, words=1))


SUM_HEADS = (
    *("source", "figures", "calibrated", "class right", "within 10 %", "15 %", "25 %", "not judged", "free parameters"),
)
"""Heads of a table of sums."""


def sum_cells(each: Sum) -> list[str]:
    """The sums of a source as text; free parameters beyond a quarter of its figures are marked."""
    found = {field.name: str(getattr(each, field.name)) for field in fields(each)}
    found["class_right"] += f" of {found.pop('class_named')}"
    if each.over and each.name != "all":
        found["parameters"] += " (over a quarter)"
    return list(found.values())


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
        class_text(row),
        verdict(row)[0],
    ]


def class_text(row: Row) -> str:
    """What the twin shows to limit the case, and what the source says where that is something else."""
    return f"{row['class']}, not {row['expected_class']}" if row["class_right"] is False else row["class"]


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
    named = [row["class_right"] is True for row in rows if row["expected_class"]]
    right = f"; class right in {sum(named)} of {len(named)}" if named else ""
    return f"{words.count('pass')} of {len(rows)} figures within tolerance{known}{unjudged}{right}; {kept}"


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
