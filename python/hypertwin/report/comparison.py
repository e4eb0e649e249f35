"""Published figures against the twin, the rows that `hypertwin validate` prints: as a table and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.validation import Row
from hypertwin.report.charts import INK, style
from hypertwin.report.page import Listing
from hypertwin.report.page import Page as Kit
from hypertwin.report.plotly_page import Page, badge, scrolling
from hypertwin.report.table import titled
from hypertwin.report.words import number

FEW = 3
"""Figures of one unit that are worth axes of their own; those of rarer units share one chart."""

MANY = 8
"""Figures of one metric beyond which a chart shows them by case."""

LOG_RANGE = 20
"""Axes are logarithmic from this ratio of the largest to the smallest figure."""

BAND = "rgba(42,157,92,.16)"
"""Colour of the tolerance."""


MARKS = "Hollow: calibrated. Filled: predicted. Diamond: not judged. A larger mark: several figures at one place."
"""What the marks of the scatter charts mean."""

SMALL = 1e-3
"""Figures below this are written with an exponent, or nothing would be left of them."""


@dataclass(frozen=True)
class Study:
    """A publication; rows have its name."""

    name: str
    title: str
    source: str


def summary(rows: Sequence[Row]) -> str:
    """How many figures are within tolerance, in words."""
    passed, failed = (sum(row["pass"] is verdict for row in rows) for verdict in (True, False))
    unjudged = len(rows) - passed - failed
    return f"{passed} of {len(rows)} published figures within tolerance, {failed} outside" + (
        f", {unjudged} shown but not judged, each with the reason." if unjudged else "."
    )


HEADS = ("study", "case", "metric", "kind", "published", "twin", "error", "tolerance", "")


def page(rows: Sequence[Row], *, studies: Sequence[Study]) -> Kit:
    """The page of studies: for each its charts of twin against published, and the table of its figures."""
    return Kit(
        kind="validation",
        title=studies[0].title if len(studies) == 1 else "Published measurements against the twin",
        document=list(rows),
        beside={"studies": [asdict(study) for study in studies], "summary": f"{verdicts(rows)}."},
        tables=[Listing(verdicts(rows), (*HEADS, "reason"), [[*_cells(row), row["reason"]] for row in rows])],
    )


def percentages(page: Page, rows: Sequence[Row]) -> str:
    """Published figures against the twin for the page of a simulation, the percentages as one chart."""
    figure = _percentage_chart(rows)
    return _judged(rows, f'<div class="panel">{page.chart(figure)}</div>' if figure is not None else "")


def _judged(rows: Sequence[Row], drawn: str) -> str:
    """Published figures against the twin: in one sentence, as charts, and as a table."""
    verdicts = {True: badge("pass", "pass"), False: badge("fail", "outside"), None: badge("open", "not judged")}
    body = "".join(
        f"<tr><td>{escape(row['case'])}</td><td>{escape(row['metric'])}</td><td>{escape(row['kind'])}</td>"
        f"<td class=n>{escape(row['published_text'])}</td><td class=n>{escape(twin_text(row))}</td>"
        f"<td class=n>{row['error_pct']:+.1f} %</td><td class=n>{escape(row['tolerance_text'])}</td>"
        f"<td>{verdicts[row['pass']]}</td><td class=note>{escape(row['note'])}</td></tr>"
        for row in rows
    )
    numeric = ("published", "twin", "error", "tolerance")
    heads = "".join(
        f"<th{' class=n' if head in numeric else ''}>{head}</th>"
        for head in ("case", "figure", "kind", *numeric, "", "note")
    )
    return (
        f"<p>{escape(summary(rows))} <em>Calibrated</em> figures set a parameter; every <em>predicted</em>"
        f" one was left alone.</p>{drawn}{scrolling(heads, body)}"
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
    kept = f"{failed} of {promised} promised figures failed" if failed else f"all {promised} promised figures hold"
    kept = kept if promised else "no figure is promised"
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


def _percentage_chart(rows: Sequence[Row]) -> go.Figure | None:
    """Published percentages with their tolerance, and the twin's beside them; None when no row is a percentage."""
    shown = [row for row in rows if row["unit"] == "%"][::-1]
    if not shown:
        return None
    names = [escape(f"{row['metric']} · {row['case']}") for row in shown]
    figure = go.Figure()
    figure.add_scatter(
        x=[row["published"] for row in shown],
        y=names,
        mode="markers",
        name="published, with tolerance",
        error_x={
            "array": [row["tolerance"] for row in shown],
            "thickness": 7,
            "width": 0,
            "color": "rgba(93,107,122,.28)",
        },
        marker={"symbol": "line-ns", "size": 18, "line": {"color": INK, "width": 2.5}},
        hovertemplate="published %{x:.4~g} %<extra></extra>",
    )
    colour = {True: "#2a9d5c", False: "#c8382f", None: "#e0a100"}
    words = {True: "twin, within tolerance", False: "twin, outside", None: "twin, not judged"}
    for verdict in (True, False, None):
        judged = [(name, row) for name, row in zip(names, shown, strict=True) if row["pass"] is verdict]
        if judged:
            figure.add_scatter(
                x=[row["twin"] for _, row in judged],
                y=[name for name, _ in judged],
                mode="markers",
                name=words[verdict],
                marker={"size": 12, "color": colour[verdict], "line": {"color": "white", "width": 1.5}},
                hovertemplate="twin %{x:.4~g} %<extra></extra>",
            )
    figure.update_layout(style("%", ""), height=110 + 34 * len(shown))
    figure.update_layout(margin={"l": 250, "r": 24, "t": 44, "b": 46}, hovermode="closest")
    figure.update_yaxes(showgrid=False, categoryorder="array", categoryarray=names)
    figure.update_xaxes(range=[0, 105], showgrid=True)
    return figure
