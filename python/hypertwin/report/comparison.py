"""Published figures against the twin: charts of the rows that `hypertwin validate` prints."""

from __future__ import annotations

import html
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from hypertwin.report.charts import INK, MUTED, PALETTE, Chart, style
from hypertwin.report.table import twin_text

Row = Mapping[str, Any]
"""A published figure with the twin's, as `hypertwin validate --format json` has it."""

FEW = 3
"""Figures of one unit that are worth axes of their own; those of rarer units share one chart."""

MANY = 8
"""Figures of one metric beyond which a chart shows them by case."""

LOG_RANGE = 20
"""Ratio of the largest to the smallest figure from which axes are logarithmic."""

BAND = "rgba(42,157,92,.16)"
"""Colour of what is within tolerance."""


@dataclass(frozen=True)
class Study:
    """A publication and its figures."""

    title: str
    source: str
    rows: Sequence[Row]


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


def metric(row: Row) -> str:
    """The metric of a row, without which of several outcomes of repeated runs it is."""
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
    """Published beside twin for each case, a chart for each metric with more than MANY numbers."""
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
    """The rows that compare two numbers; words and ranges are left to the table."""
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
        # one mark for all figures that fall on one place, or only the topmost could be pointed at
        same = sorted((row for row in rows if metric(row) == name), key=_mark)
        marks = [(mark, list(members)) for mark, members in groupby(same, key=_mark)]
        # the hollow ones on top, and an ordinary one first, which the legend shows
        marks.sort(key=lambda mark: (mark[1][0]["kind"] == "calibrated", mark[1][0]["pass"] is None))
        colour = PALETTE[index % len(PALETTE)]
        figure.add_scatter(
            x=[members[0]["published"] for _, members in marks],
            y=[members[0]["twin"] for _, members in marks],
            mode="markers",
            name=html.escape(name),
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
    """The diagonal, and around it what is within tolerance: a band where all rows have the same, else a bar each."""
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
    figure.update_layout(style("", html.escape(rows[0]["unit"])), bargap=0.28, hovermode="closest", height=430)
    cases = [html.escape(row["case"]) for row in rows]
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
    return html.escape(
        f"{row['case']} {row['metric']}: {row['published_text']} published, {twin_text(row)} twin"
        f" ({row['error_pct']:+.1f} %), {row['kind']}{verdict}"
    )


def _axis(word: str, unit: str) -> str:
    return html.escape(f"{word}, {unit}" if unit else word)
