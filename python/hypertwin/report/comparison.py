"""Published figures against the twin, the rows that `hypertwin validate` prints: as a table and as a page."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.validation import Row
from hypertwin.report.charts import INK, MUTED, PALETTE, Chart, style
from hypertwin.report.page import Page, badge, grid, hint, scrolling
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


def errors(rows: Sequence[Row]) -> str:
    """How far off the predicted figures are, in words; those that are not judged do not count."""
    judged = [row for row in rows if row["kind"] == "predicted" and row["pass"] is not None]
    if not judged:
        return ""
    median = statistics.median(abs(row["error_pct"]) for row in judged)
    worst = max(judged, key=lambda row: abs(row["error_pct"]))
    largest = f", largest {abs(worst['error_pct']):.1f} % ({worst['case']})" if worst["error"] else ""
    return f"{len(judged)} predicted: median error {median:.1f} %{largest}."


def page(rows: Sequence[Row], *, studies: Sequence[Study], version: str) -> Page:
    """The page of studies: for each its charts of twin against published, and the table of its figures."""
    facts = [
        ("studies", str(len(studies))),
        ("figures", str(len(rows))),
        ("within tolerance", str(sum(row["pass"] is True for row in rows))),
        ("outside", str(sum(row["pass"] is False for row in rows))),
        ("not judged", str(sum(row["pass"] is None for row in rows))),
        ("hypertwin", version),
    ]
    made = Page(studies[0].title if len(studies) == 1 else "Published measurements against the twin")
    made.banner("Each published figure, the twin's, and whether it is close enough.", facts)
    for study in studies:
        own = [row for row in rows if row["study"] == study.name]
        panels, wide = made.panels(scatters(own)), made.panels(bars(own))
        drawn = f"{hint(MARKS)}{grid(panels, 'grid small')}{grid(wide, 'stack')}" if panels else ""
        judged = hint(f"Source: {study.source}") + _judged(own, drawn)
        made.section(study.title if len(studies) > 1 else "Published against twin", judged)
    return made


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
    for head in ("study", "case", "metric", "kind"):
        shown.add_column(head, no_wrap=head != "metric")
    for head in ("published", "twin", "error", "tolerance"):
        shown.add_column(head, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for row in rows:
        shown.add_row(
            Text(row["study"]),
            Text(row["case"]),
            Text(row["metric"]),
            row["kind"],
            Text(row["published_text"]),
            twin_text(row),
            f"{row['error_pct']:+.1f} %" if row["error_pct"] is not None else "",
            row["tolerance_text"],
            Text(*verdict(row)),
        )
    told = [Text(explanation(row), verdict(row)[1]) for row in rows if row["pass"] is not True or row["reason"]]
    return Group(shown, *told, Text(verdicts(rows), style="bold"))


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


def metric(row: Row) -> str:
    """The metric of a row, without the number of the outcome where repeated runs have several."""
    return re.sub(r", outcome \d+$", "", row["metric"])


def scatters(rows: Sequence[Row]) -> list[Chart]:
    """Predicted against published, a chart for each unit that has several figures, and one for all others."""
    by_unit: dict[str, list[Row]] = {}
    for row in _numbers(rows):
        by_unit.setdefault(row["unit"], []).append(row)
    common = {unit: same for unit, same in by_unit.items() if len(same) >= FEW}
    rare = [row for unit, same in by_unit.items() if unit not in common for row in same]
    panels = [*common.items(), *([("", rare)] if rare else [])]
    return [Chart(", ".join(_metrics(same)), errors(same), _scatter(same, unit)) for unit, same in panels]


def bars(rows: Sequence[Row]) -> list[Chart]:
    """Published next to twin for each case, a chart for each metric with more than MANY numbers."""
    by_metric: dict[tuple[str, str], list[Row]] = {}
    for row in _numbers(rows):
        by_metric.setdefault((metric(row), row["unit"]), []).append(row)
    text = "A percentage over a bar: that many of the repeated runs end so."
    return [
        Chart(name, text if any(map(_likelihood, same)) else "", _bars(same))
        for (name, _), same in by_metric.items()
        if len(same) > MANY
    ]


def _metrics(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(map(metric, rows)))


def _numbers(rows: Iterable[Row]) -> list[Row]:
    """The rows that compare two numbers; only the table shows words and ranges."""
    return [row for row in rows if not row["range"]]


def _scatter(rows: Sequence[Row], unit: str) -> go.Figure:
    figure = go.Figure()
    values = [row[key] for row in rows for key in ("published", "twin")]
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low >= LOG_RANGE
    margin = 0.1 * ((high - low) or abs(high) or 1)
    ends = (low / 1.3, high * 1.3) if logarithmic else (low - margin, high + margin)
    _add_tolerance(figure, rows, ends)
    names = _metrics(rows)
    for index, name in enumerate(names):
        # one mark for all figures at the same place, or only the topmost would show its text
        same = sorted((row for row in rows if metric(row) == name), key=_mark)
        marks = [(mark, list(members)) for mark, members in groupby(same, key=_mark)]
        # hollow marks on top, and an ordinary one first, because the legend shows the first
        marks.sort(key=lambda mark: (mark[1][0]["kind"] == "calibrated", mark[1][0]["pass"] is None))
        colour = PALETTE[index % len(PALETTE)]
        figure.add_scatter(
            x=[members[0]["published"] for _, members in marks],
            y=[members[0]["twin"] for _, members in marks],
            mode="markers",
            name=escape(name),
            showlegend=len(names) > 1,
            marker={
                "symbol": ["diamond" if members[0]["pass"] is None else "circle" for _, members in marks],
                "size": [9 + 3 * math.log2(len(members)) for _, members in marks],
                "color": ["white" if members[0]["kind"] == "calibrated" else colour for _, members in marks],
                "line": {"width": 2, "color": colour},
                "opacity": 0.85,
            },
            hovertext=["<br>".join(map(_hover, members)) for _, members in marks],
            hoverinfo="text",
        )
    figure.update_layout(style(_axis("published", unit), _axis("twin", unit)), hovermode="closest", height=390)
    axis: dict[str, Any] = {"range": ends}
    if logarithmic:
        ticks = [step * 10.0**power for power in range(-3, 13) for step in (1, 2, 5)]
        shown = [tick for tick in ticks if ends[0] <= tick <= ends[1]]
        marked = {"tickvals": shown} if len(shown) < MANY else {"dtick": 1}
        axis = {"type": "log", "range": [math.log10(end) for end in ends], **marked}
    figure.update_xaxes(showgrid=True, **axis)
    figure.update_yaxes(**axis)
    return figure


def _add_tolerance(figure: go.Figure, rows: Sequence[Row], ends: tuple[float, float]) -> None:
    """The diagonal, and around it the tolerance: a band where it is the same for all rows, else a bar each."""
    first = rows[0]
    relative = all(math.isclose(row["tolerance_pct"], first["tolerance_pct"]) for row in rows)
    if relative or all(row["tolerance"] == first["tolerance"] for row in rows):
        reach = [end * first["tolerance_pct"] / 100 if relative else first["tolerance"] for end in ends]
        above, below = zip(*((end + by, end - by) for end, by in zip(ends, reach, strict=True)), strict=True)
        figure.add_scatter(
            x=[*ends, *ends[::-1]],
            y=[*above, *below[::-1]],
            fill="toself",
            fillcolor=BAND,
            mode="none",
            name="within tolerance",
            hoverinfo="skip",
        )
    else:
        figure.add_scatter(
            x=[row["published"] for row in rows],
            y=[row["published"] for row in rows],
            error_y={"array": [row["tolerance"] for row in rows], "color": BAND, "thickness": 9, "width": 0},
            mode="markers",
            marker={"size": 9, "color": BAND},
            name="within tolerance",
            hoverinfo="skip",
        )
    line = {"color": MUTED, "width": 1.2, "dash": "dot"}
    figure.add_scatter(x=ends, y=ends, mode="lines", line=line, showlegend=False, hoverinfo="skip")


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


def _bars(rows: Sequence[Row]) -> go.Figure:
    figure = go.Figure()
    figure.add_bar(
        x=list(range(len(rows))),
        y=[row["published"] for row in rows],
        error_y={"array": [row["tolerance"] for row in rows], "color": MUTED, "thickness": 1, "width": 2},
        name="published, with tolerance",
        offsetgroup="published",
        marker_color="#c3ccd6",
        hovertext=[_hover(row) for row in rows],
        hoverinfo="text",
    )
    for kind, fill in (("predicted", PALETTE[0]), ("calibrated", "white")):
        shown = [(place, row) for place, row in enumerate(rows) if row["kind"] == kind]
        figure.add_bar(
            x=[place for place, _ in shown],
            y=[row["twin"] for _, row in shown],
            name=f"twin, {kind}",
            offsetgroup="twin",
            marker={
                "color": fill,
                "line": {
                    "width": 1.6,
                    "color": [PALETTE[4] if row["pass"] is False else PALETTE[0] for _, row in shown],
                },
            },
            text=[_likelihood(row) for _, row in shown],
            textposition="outside",
            constraintext="none",
            textangle=0,
            textfont={"size": 10, "color": INK},
            cliponaxis=False,
            hovertext=[_hover(row) for _, row in shown],
            hoverinfo="text",
        )
    figure.update_layout(style("", escape(rows[0]["unit"])), bargap=0.28, hovermode="closest", height=430)
    cases = [escape(row["case"]) for row in rows]
    figure.update_xaxes(tickvals=list(range(len(rows))), ticktext=cases, tickangle=-60, automargin=True, zeroline=False)
    figure.update_yaxes(rangemode="tozero")
    return figure


def _mark(row: Row) -> tuple[float, float, str, str]:
    return row["published"], float(f"{row['twin']:.3g}"), row["kind"], str(row["pass"])


def _likelihood(row: Row) -> str:
    likelihood_pct = row.get("likelihood_pct", 100.0)
    return f"{likelihood_pct:.0f} %" if likelihood_pct < 100 else ""


def _hover(row: Row) -> str:
    verdict = {True: "", False: ", outside the tolerance", None: ", not judged"}[row["pass"]]
    return escape(
        f"{row['case']} {row['metric']}: {row['published_text']} published, {twin_text(row)} twin"
        f" ({row['error_pct']:+.1f} %), {row['kind']}{verdict}"
    )


def _axis(word: str, unit: str) -> str:
    return escape(f"{word}, {unit}" if unit else word)
