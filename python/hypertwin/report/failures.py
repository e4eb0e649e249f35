"""What failures of distributed storage did over time, as charts: the work of VMs, the data, and how both recover."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from hypertwin import language
from hypertwin.documents.simulation import Incident, Point, PoolTimeline
from hypertwin.report import pools
from hypertwin.report.charts import GRID, INK, MAX_GROUPS, MAX_TIMELINES, PALETTE, axis_title, style
from hypertwin.report.points import groups, varying_paths, where

FAILS, RETURNS = PALETTE[4], PALETTE[2]
PANEL_PX, EDGES_PX = 150, 90
MOST_MARKS = 40
"""Failures and returns that are marked; more would hide the curves."""


@dataclass(frozen=True)
class Story:
    """One pool of one point with its failures."""

    name: str
    figure: go.Figure
    told: tuple[pools.Sentence, ...]
    """The failures and returns that the figure numbers, in words."""


@dataclass(frozen=True)
class _Panel:
    """A row of the chart: the axis, and (name, values, colour, dash) of each line."""

    axis: str
    lines: tuple[tuple[str, Sequence[float | None], str, str], ...]


def stories(points: Sequence[Point]) -> list[Story]:
    """A chart for every pool with failures that has a timeline, for at most MAX_TIMELINES of them."""
    paths = varying_paths(points)
    found = []
    for point in points:
        words = where(point, paths)
        for name, line in point.get("timeline", {}).get("pools", {}).items():
            pool = point["pools"][name]
            marks = pool["incidents"][:MOST_MARKS]
            if marks and point["timeline"]["time_s"]:
                told = (pools.incident_text(each, pool["redundancy"]) for each in marks)
                found.append(
                    Story(
                        name=", ".join(part for part in (words, name) if part),
                        figure=_figure(point, line, marks),
                        told=tuple(
                            pools.Sentence(text, each["lost_gib"] > 0) for text, each in zip(told, marks, strict=True)
                        ),
                    )
                )
    return found[:MAX_TIMELINES]


def _panels(point: Point, line: PoolTimeline) -> Iterator[_Panel]:
    work = list(itertools.islice(_work(point), MAX_GROUPS))
    colours = dict(zip((name for name, _, _ in work), PALETTE, strict=False))
    yield _Panel("throughput, 1/s", tuple((name, rate, colours[name], "solid") for name, rate, _ in work))
    yield _Panel("response, ms", tuple((f"{name} ", mean, colours[name], "solid") for name, _, mean in work))
    yield _Panel("degraded, %", (("groups that are not whole", line["degraded_pct"], FAILS, "solid"),))
    if any(line["due_gib"]) or any(line["rebuilt_gib"]):
        yield _Panel(
            "rebuild, GiB",
            (("to rebuild", line["due_gib"], FAILS, "solid"), ("rebuilt", line["rebuilt_gib"], RETURNS, "dash")),
        )
    if any(line["suspended_ios"]):
        yield _Panel("waiting I/Os", (("suspended I/Os", line["suspended_ios"], PALETTE[1], "solid"),))


def _work(point: Point) -> Iterator[tuple[str, list[float], list[float | None]]]:
    """(group, its transactions per second, their mean response) at every sample."""
    timelines = point["timeline"].get("vms", {})
    for name, group in groups(point).items():
        names = language.member_names(name, group.get("count", 1))
        machines = [timelines[each] for each in names if each in timelines]
        if machines:
            rates = [list(sample) for sample in zip(*(each["throughput_per_s"] for each in machines), strict=True)]
            means = [list(sample) for sample in zip(*(each["response_ms_mean"] for each in machines), strict=True)]
            yield name, [math.fsum(rate) for rate in rates], list(map(_weighted, means, rates))


def _weighted(means: Sequence[float | None], weights: Sequence[float]) -> float | None:
    measured = [(mean, weight) for mean, weight in zip(means, weights, strict=True) if mean is not None and weight > 0]
    total = math.fsum(weight for _, weight in measured)
    return math.fsum(mean * weight for mean, weight in measured) / total if total else None


def _figure(point: Point, line: PoolTimeline, marks: Sequence[Incident]) -> go.Figure:
    panels = list(_panels(point, line))
    # times of failures count from the start of the run, those of samples from the end of the warm-up
    time = [point["warmup_s"] + each for each in point["timeline"]["time_s"]]
    figure = go.Figure()
    figure.update_layout(style("", ""))
    gap = 0.05
    figure.set_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=gap)
    for row, panel in enumerate(panels, start=1):
        legend = "legend" if row == 1 else f"legend{row}"
        for name, values, colour, dash in panel.lines:
            figure.add_scatter(
                x=time,
                y=values,
                mode="lines",
                name=html.escape(name),
                line={"color": colour, "width": 1.9, "dash": dash},
                legend=legend,
                row=row,
                col=1,
            )
        top = max((value for _, values, _, _ in panel.lines for value in values if value is not None), default=0)
        figure.update_yaxes(
            title=axis_title(panel.axis, size=12),
            range=[0, 1.08 * top] if top else [0, 1],
            gridcolor=GRID,
            row=row,
            col=1,
        )
        height = (1 - gap * (len(panels) - 1)) / len(panels)
        place = {"x": 1.01, "y": 1 - (row - 1) * (height + gap), "xanchor": "left", "yanchor": "top"}
        figure.update_layout({legend: {**place, "orientation": "v", "font": {"size": 11.5}}})
    _mark(figure, marks, first=point["warmup_s"], last=time[-1])
    figure.update_layout(height=EDGES_PX + PANEL_PX * len(panels), showlegend=True, hovermode="x unified")
    figure.update_layout(margin={"l": 64, "r": 190, "t": 34, "b": 46})
    figure.update_xaxes(range=[point["warmup_s"], time[-1]], gridcolor=GRID, showgrid=False)
    figure.update_xaxes(title=axis_title("simulated time, warm-up included, s"), row=len(panels), col=1)
    return figure


def _mark(figure: go.Figure, marks: Sequence[Incident], first: float, last: float) -> None:
    """A numbered line through all panels for each failure and return within what the chart shows."""
    for number, each in enumerate(marks, start=1):
        if not first <= each["time_s"] <= last:
            continue
        colour = FAILS if each["fails"] else RETURNS
        figure.add_shape(
            type="line",
            x0=each["time_s"],
            x1=each["time_s"],
            xref="x",
            y0=0,
            y1=1,
            yref="paper",
            line={"color": colour, "width": 1.4, "dash": "solid" if each["fails"] else "dot"},
        )
        figure.add_annotation(
            x=each["time_s"],
            xref="x",
            y=1,
            yref="paper",
            yanchor="bottom",
            text=str(number),
            showarrow=False,
            font={"size": 11.5, "color": "white"},
            bgcolor=colour,
            bordercolor=INK if each["lost_gib"] > 0 else colour,
            borderpad=3,
            hovertext=html.escape(f"{each['what']} {'fails' if each['fails'] else 'returns'}"),
        )
