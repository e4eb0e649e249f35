"""Published figures against the twin, the rows that `hypertwin validate` prints: as a table and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal

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


HEADS = ("study", "case", "metric", "published", "twin", "error", "tolerance", "class", "")

DROPPED_FIRST = ("tolerance",)
"""Columns that are dropped in a narrow terminal, in this order."""

WITHIN_PCT = (10, 15, 25)
"""Errors within which predictions are counted, in per cent."""

MOST_FREE = 4
"""Rows that a source has at least for each of its free parameters."""

LARGEST = 2
"""Studies with most predictions, without which the headline is given as well."""

GROUPS: Mapping[str, str] = {
    "predicted": "Predictions",
    "one-sided": "Predicted on one side only: at least, or at most",
    "follows": "What follows from other rows",
    "calibrated": "Calibrated: the figure set a parameter",
    "data-sheet": "Restated from data sheets",
}
"""What kinds of rows there are, with the titles of their tables. Only the first are counted in headlines."""


def group(row: Row) -> str:
    """The key of GROUPS that a row belongs to."""
    if row["kind"] != "predicted":
        return row["kind"]
    if row["follows"]:
        return "follows"
    return "one-sided" if row["range"] and None in (row["low"], row["high"]) else "predicted"


def _counts(row: Row) -> bool:
    """Whether a prediction may count as right: one that is not judged, or whose run had not settled, is missed."""
    return row["pass"] is not None and row["settled"] is not False


@dataclass(frozen=True)
class Sum:
    """What the figures of one source, or of another group, come to."""

    name: str
    figures: int
    predictions: int
    """Those of which all that follows counts: on two sides, neither calibrated nor following from others."""
    within_10: int
    within_15: int
    within_25: int
    class_right: int
    class_named: int
    """Predictions of which the source says a class."""
    one_sided: int
    follows: int
    calibrated: int
    data_sheets: int
    not_judged: int
    unsettled: int
    parameters: int

    @staticmethod
    def of(name: str, rows: Sequence[Row]) -> Sum:
        """The sums of some rows; free parameters are counted once for each source."""
        predictions = [row for row in rows if group(row) == "predicted"]
        right = [row for row in predictions if _counts(row)]
        close = [sum(abs(row["error_pct"]) <= most for row in right) for most in WITHIN_PCT]
        groups = [group(row) for row in rows]
        return Sum(
            name,
            figures=len(rows),
            predictions=len(predictions),
            within_10=close[0],
            within_15=close[1],
            within_25=close[2],
            class_right=sum(row["class_right"] is True for row in right),
            class_named=sum(bool(row["expected_class"]) for row in predictions),
            one_sided=groups.count("one-sided"),
            follows=groups.count("follows"),
            calibrated=groups.count("calibrated"),
            data_sheets=groups.count("data-sheet"),
            not_judged=sum(row["pass"] is None for row in rows),
            unsettled=sum(row["settled"] is False for row in rows),
            parameters=sum({row["study"]: len(row["parameters"]) for row in rows}.values()),
        )

    @property
    def over(self) -> bool:
        """Whether it has more free parameters than a quarter of its figures."""
        return MOST_FREE * self.parameters > self.figures


def sums(rows: Sequence[Row]) -> list[Sum]:
    """The sums of each source, in their order, and of all of them."""
    return [*(Sum.of(name, own) for name, own in _by(rows, "study").items()), Sum.of("all", rows)]


def headline(rows: Sequence[Row]) -> list[Sum]:
    """What predictions come to: of all, of each area, and without the largest studies."""
    sizes = {name: Sum.of(name, own).predictions for name, own in _by(rows, "study").items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
    areas = [Sum.of(name, own) for name, own in sorted(_by(rows, "area").items()) if name]
    rest = [row for row in rows if row["study"] not in largest]
    return [
        Sum.of("all", rows),
        *(area for area in areas if area.predictions),
        *([Sum.of(f"without {' and '.join(largest)}", rest)] if rest else []),
    ]


def _by(rows: Sequence[Row], key: Literal["study", "area"]) -> dict[str, list[Row]]:
    """The rows by what one of their columns says, in the order in which they come."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


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
            "headline": [asdict(each) for each in headline(rows)],
        },
        tables=[
            Listing(title, (*HEADS, "reason"), [[*_cells(row), row["reason"]] for row in own])
            for title, own in grouped(rows)
        ],
    )


def table(rows: Sequence[Row]) -> RenderableType:
    """One line per published figure: what was published, what the twin says, and whether that is close enough.

    What is calibrated, on one side only, or follows from other rows is in tables of its own. Below them why figures are
    not judged or missed, what each source comes to where there are several, and what all come to. Classes are shown
    where a source names any.
    """
    shown = [_group_table(title, own) for title, own in grouped(rows)]
    reasons = [Text(explanation(row), verdict(row)[1]) for row in rows if row["pass"] is not True or row["reason"]]
    found = sums(rows)
    several = [_headline_table(headline(rows)), _sums_table(found)] if len(found) > 2 else []
    return Group(*shown, *reasons, *several, Text(verdicts(rows), style="bold"))


def grouped(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each of GROUPS that has any, with its title."""
    found = [(title, [row for row in rows if group(row) == key]) for key, title in GROUPS.items()]
    return [(title, own) for title, own in found if own]


def _group_table(title: str, rows: Sequence[Row]) -> RenderableType:
    def style(row: int, head: str, _text: str) -> str:
        classed = "yellow" if rows[row]["class_right"] is False else ""
        return {"": verdict(rows[row])[1], "class": classed}.get(head, "")

    is_classed = any(row["expected_class"] for row in rows)
    kept = [place for place, head in enumerate(HEADS) if head != "class" or is_classed]
    heads, *cells = ([cells[place] for place in kept] for cells in (HEADS, *map(_cells, rows)))
    return Fitted(title, Cells(heads, cells, swept=0, words=3), DROPPED_FIRST, style, prose=("metric", "class"))


def _headline_table(found: Sequence[Sum]) -> RenderableType:
    return Fitted("By area", Cells(HEADLINE_HEADS, [headline_cells(each) for each in found], swept=0, words=1))


def _sums_table(found: Sequence[Sum]) -> RenderableType:
    return Fitted("By source", Cells(SUM_HEADS, [sum_cells(each) for each in found], swept=0, words=1))


SUM_HEADS = (
    *("source", "figures", "predictions", "within 10 %", "15 %", "25 %", "class right", "one-sided", "following"),
    *("calibrated", "data sheet", "not judged", "not settled", "free parameters"),
)
"""Heads of a table of sums."""

HEADLINE_HEADS = ("predictions", "number", "within 10 %", "15 %", "25 %", "class right")
"""Heads of the table of what predictions come to."""


def sum_cells(each: Sum) -> list[str]:
    """The sums of a source as text; free parameters beyond a quarter of its figures are marked."""
    found = {field.name: str(getattr(each, field.name)) for field in fields(each)}
    found["class_right"] += f" of {found.pop('class_named')}"
    if each.over and each.name != "all":
        found["parameters"] += " (over a quarter)"
    return list(found.values())


def headline_cells(each: Sum) -> list[str]:
    """What the predictions of a group come to as text."""
    within = (each.within_10, each.within_15, each.within_25)
    return [
        each.name,
        f"{each.predictions}",
        *(_part(count, each.predictions) for count in within),
        _part(each.class_right, each.class_named),
    ]


def _part(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"


def _cells(row: Row) -> list[str]:
    return [
        row["study"],
        row["case"],
        row["metric"],
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
    """Word and colour for a row: one that was within tolerance and is not any more has regressed."""
    if row["promised"] and row["pass"] is not True:
        return "REGRESSED", "bold red"
    if row["pass"] is None:
        return "n/a", "dim"
    unsettled = "not settled", "yellow"
    return unsettled if row["settled"] is False else ("pass", "green") if row["pass"] else ("miss", "yellow")


def explanation(row: Row) -> str:
    """Why a figure is not judged, or missed: the study's reason, or that there is none."""
    figure = f"{row['case']} {row['metric']}"
    found = f"{twin_text(row)} where {row['published_text']} is published"
    word, reason = verdict(row)[0], row["reason"]
    if word == "REGRESSED":
        return f"REGRESSED: {figure}: {found}; it was within its tolerance" + (f": {reason}" if reason else "")
    if row["pass"] is None:
        return f"n/a: {figure}: {reason}"
    if row["pass"]:
        return f"pass: {figure}: {found}, though the study expects a miss: {reason}"
    return f"miss: {figure}: {reason or f'{found}; the study gives no reason'}"


def verdicts(rows: Sequence[Row]) -> str:
    """How many figures are within tolerance, how close predictions are, and how many figures regressed, in words."""
    everything = Sum.of("all", rows)
    within, missed = (sum(row["pass"] is value for row in rows) for value in (True, False))
    notes = [
        f"{missed} missed" if missed else "",
        f"{everything.not_judged} not judged" if everything.not_judged else "",
    ]
    close = ", ".join(f"{getattr(everything, f'within_{most}')} within {most} %" for most in WITHIN_PCT)
    classed = f"; class right in {everything.class_right} of {everything.class_named}" if everything.class_named else ""
    lost = sum(row["promised"] and row["pass"] is not True for row in rows)
    return (
        ", ".join([f"{within} of {len(rows)} figures within tolerance", *filter(None, notes)])
        + f". Of {everything.predictions} predictions: {close}{classed}"
        + f". {lost or 'No'} regression{'' if lost == 1 else 's'}"
    )


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
