"""Charts of a simulation: a metric against one swept path, a line per combination of the others; groups; timelines."""

from __future__ import annotations

import html
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from hypertwin.documents.simulation import Point, Timeline
from hypertwin.frame import flatten
from hypertwin.report.charts import (
    INK,
    MAX_GROUPS,
    MAX_TIMELINES,
    MUTED,
    PALETTE,
    STATE_COLOURS,
    Chart,
    axis_title,
    style,
)
from hypertwin.report.points import groups, short_path, varying_paths, where

PRETTY = {"vcpus": "vCPUs", "load": "load (×)", "count": "number of VMs", "cores_per_socket": "cores per socket"}


@dataclass(frozen=True)
class Mark:
    """A published figure to show among the simulated ones: settings, path of the metric, and value."""

    changes: Mapping[str, Any]
    path: str
    value: float


@dataclass(frozen=True)
class Axes:
    """How a sweep is laid out: one path along x (none without a numeric one), the others as lines."""

    x: str | None
    series: tuple[str, ...]

    def name(self, path: str) -> str:
        """Words for an axis or a legend."""
        last = path.rsplit(".", maxsplit=1)[-1]
        known = short_path(path, [path for path in (self.x, *self.series) if path])
        return PRETTY.get(last, last) if known == last else known

    def label(self, changes: Mapping[str, Any]) -> str:
        """Legend entry of the line a point belongs to."""
        return ", ".join(
            f"{changes.get(path)} {self.name(path)}"
            if self.name(path) == PRETTY["vcpus"]
            else f"{self.name(path)} {changes.get(path)}"
            for path in self.series
        )


def axes(points: Sequence[Point]) -> Axes:
    """Lay out a sweep: a swept load goes along x, else the numeric path with most values; all others become lines.

    Without a numeric path amounts such as `8KiB` go along x, in the order in which they were swept.
    """
    paths = varying_paths(points)
    numeric = [path for path in paths if all(_is_number(point["set"].get(path)) for point in points)]

    def rank(path: str) -> tuple[bool, int]:
        return path.endswith(".load"), len({point["set"][path] for point in points})

    amounts = [path for path in paths if all(_is_amount(point["set"].get(path)) for point in points)]
    x = max(numeric or amounts, key=rank, default=None)
    return Axes(x, tuple(path for path in paths if path != x))


def sweep_charts(points: Sequence[Point], marks: Sequence[Mark] = ()) -> list[tuple[str, list[Chart]]]:
    """Charts of a sweep: (VM group, its charts) for every group, at most MAX_GROUPS, swept ones first."""
    layout = axes(points)
    return [(name, _group_charts(points, layout, name, marks)) for name in charted_groups(points)]


def charted_groups(points: Sequence[Point]) -> list[str]:
    """Groups to draw: those with a swept path of their own if there are any, else all; at most MAX_GROUPS."""
    every = list(dict.fromkeys(name for point in points for name in groups(point)))
    swept = {path.split(".")[1] for path in varying_paths(points) if path.startswith("vms.") and path.count(".") > 1}
    return ([name for name in every if name in swept] or every)[:MAX_GROUPS]


def _group_charts(points: Sequence[Point], layout: Axes, name: str, marks: Sequence[Mark]) -> list[Chart]:
    here = [point for point in points if name in groups(point)]

    def group(metric: str) -> Metric:
        return Metric(metric, f"vms.{name}.{metric}", lambda point: flatten(groups(point)[name]).get(metric))

    host = Metric("usage_pct", "hosts.*.usage_pct", host_usage)

    def chart(title: str, text: str, unit: str, drawn: Sequence[tuple[str, Metric]], **options: Any) -> Chart:
        return Chart(title, text, _lines(here, layout, unit, drawn, marks, **options))

    return [
        chart(
            "Response time",
            "Mean, with its 95 % confidence interval.",
            "ms",
            [("", group("response_ms_mean"))],
        ),
        chart(
            "Response time, 99th percentile",
            "One transaction in a hundred takes longer.",
            "ms",
            [("", group("response_ms_p99"))],
        ),
        chart(
            "Guest CPU and host usage",
            "Solid: what the guest sees. Dashed: what the host sees. Where they part, guest metrics mislead.",
            "%",
            [("guest CPU", group("guest_cpu_pct")), ("host usage", host)],
            top=105,
        ),
        chart(
            "Ready and co-stop",
            "Solid: ready, a vCPU waits for a hardware thread. Dashed: co-stop, it waits for its siblings. Per vCPU.",
            "%",
            [("ready", group("ready_pct")), ("co-stop", group("costop_pct"))],
        ),
        chart("Throughput", "Transactions completed per second.", "1/s", [("", group("throughput_per_s"))]),
        chart("Run queue", "Guest processes that run or want to.", "processes", [("", group("run_queue"))]),
        *(_io_charts(chart, group) if any("io_mb_per_s" in groups(point)[name] for point in here) else ()),
    ]


def _io_charts(chart: Callable[..., Chart], group: Callable[[str], Metric]) -> list[Chart]:
    return [
        chart("I/O operations", "Completed per second.", "1/s", [("", group("iops"))]),
        chart(
            "I/O latency",
            "From the guest's driver to the interrupt. Solid: mean. Dashed: 99th percentile.",
            "ms",
            [("mean", group("io_latency_ms_mean")), ("p99", group("io_latency_ms_p99"))],
        ),
        chart("I/O bandwidth", "Payload of completed I/Os.", "MB/s", [("", group("io_mb_per_s"))]),
        chart(
            "CPU per I/O",
            "Cycles of guest and hypervisor, at the nominal clock.",
            "cycles",
            [("", group("io_cpu_cycles_per_io"))],
        ),
    ]


@dataclass(frozen=True)
class Metric:
    """A figure to draw: its key, its path in a point as a published figure names it, and how to read it."""

    key: str
    path: str
    read: Callable[[Point], float | None]


def host_usage(point: Point) -> float | None:
    """Mean usage over the point's hosts."""
    values = [host["usage_pct"] for host in point["hosts"].values() if host.get("usage_pct") is not None]
    return statistics.fmean(values) if values else None


def _lines(
    points: Sequence[Point],
    layout: Axes,
    unit: str,
    drawn: Sequence[tuple[str, Metric]],
    marks: Sequence[Mark],
    top: float | None = None,
) -> go.Figure:
    figure = go.Figure()
    labels = list(dict.fromkeys(layout.label(point["set"]) for point in points))
    colours = dict(zip(labels, itertools.cycle(PALETTE)))
    for label, (index, (word, metric)) in itertools.product(labels, enumerate(drawn)):
        line = [point for point in points if layout.label(point["set"]) == label]
        if all(_is_number(_place(point, layout)) for point in line):
            line.sort(key=lambda point: _place(point, layout))
        words = " · ".join(part for part in (label, word) if part) or metric.key
        half_widths = [_half_width(point, metric) for point in line]
        figure.add_scatter(
            x=[_place(point, layout) for point in line],
            y=[metric.read(point) for point in line],
            error_y={"array": half_widths, "thickness": 1.2, "width": 3} if any(half_widths) else None,
            mode="lines+markers",
            name=html.escape(label or words),
            legendgroup=html.escape(label),
            showlegend=index == 0 and len(labels) > 1,
            line={"color": colours[label], "width": 2.4, "dash": ("solid", "dash", "dot")[index % 3]},
            marker={"size": 6.5, "symbol": ("circle", "square", "diamond")[index % 3]},
            hovertemplate=f"%{{y:.4~g}} {unit}<extra>{html.escape(words)}</extra>",
        )
    if len(drawn) > 1:  # the legend explains solid and dashed once, not once per line
        for index, (word, _) in enumerate(drawn):
            dash = {"color": MUTED, "width": 2, "dash": ("solid", "dash", "dot")[index % 3]}
            figure.add_scatter(x=[None], y=[None], mode="lines", name=word, line=dash, hoverinfo="skip")
    _add_marks(figure, layout, [metric for _, metric in drawn], marks, colours, unit)
    x_title = layout.name(layout.x) if layout.x else ""
    figure.update_layout(style(x_title, unit))
    figure.update_xaxes(tickvals=_ticks(points, layout))
    highest = max((value for trace in figure.data for value in trace.y if value is not None), default=0.0)
    if unit == "%" and top is None and highest < 1:
        top = 1  # small noise should not fill the chart
    figure.update_yaxes(range=[0, top] if top else None, rangemode="tozero")
    return figure


def _add_marks(
    figure: go.Figure,
    layout: Axes,
    metrics: Sequence[Metric],
    marks: Sequence[Mark],
    colours: Mapping[str, str],
    unit: str,
) -> None:
    shown = [
        mark
        for mark in marks
        if layout.x is not None
        and set(mark.changes) == {layout.x, *layout.series}
        and layout.label(mark.changes) in colours
        and any(_same_path(metric.path, mark.path) for metric in metrics)
    ]
    if shown and layout.x is not None:
        figure.add_scatter(
            x=[mark.changes[layout.x] for mark in shown],
            y=[mark.value for mark in shown],
            mode="markers",
            name="published",
            marker={
                "symbol": "star-diamond",
                "size": 13,
                "color": [colours[layout.label(mark.changes)] for mark in shown],
                "line": {"color": INK, "width": 1.6},
            },
            hovertemplate=f"published: %{{y:.4~g}} {unit}<extra></extra>",
        )


def _same_path(pattern: str, path: str) -> bool:
    wanted, given = pattern.split("."), path.split(".")
    return len(wanted) == len(given) and all(word in ("*", part) for word, part in zip(wanted, given, strict=True))


def _half_width(point: Point, metric: Metric) -> float | None:
    name = metric.path.split(".")[1]
    if metric.path.startswith("hosts"):
        return None
    flat = flatten(groups(point)[name])
    key = "response_ms_ci95" if metric.key == "response_ms_mean" else f"{metric.key}_ci95"
    value = flat.get(key)
    return float(value) if value is not None else None


def _place(point: Point, layout: Axes) -> Any:
    return point["set"][layout.x] if layout.x else ""


def _ticks(points: Sequence[Point], layout: Axes) -> list[Any] | None:
    values = sorted({point["set"][layout.x] for point in points} if layout.x else ())
    return values if 0 < len(values) <= 12 else None


def entity_charts(point: Point) -> list[Chart]:
    """Charts of a single point: its VM groups side by side."""
    found = groups(point)
    names = [html.escape(name) for name in found]

    def bars(
        unit: str, *keys: tuple[str, str], colours: Sequence[str] = PALETTE, top: float | None = None
    ) -> go.Figure:
        figure = go.Figure()
        for index, (key, word) in enumerate(keys):
            figure.add_bar(
                x=names,
                y=[flatten(metrics).get(key) for metrics in found.values()],
                name=word,
                marker_color=colours[index],
                hovertemplate=f"%{{y:.4~g}} {unit}<extra>{word}</extra>",
            )
        figure.update_layout(style("", unit), bargap=0.5 if len(names) < 4 else 0.25)
        figure.update_yaxes(range=[0, top] if top else None)
        return figure

    keys = (
        ("response_ms_mean", "mean"),
        ("response_ms_p50", "median"),
        ("response_ms_p95", "p95"),
        ("response_ms_p99", "p99"),
    )
    states = (("run_pct", "run"), ("ready_pct", "ready"), ("costop_pct", "co-stop"), ("wait_pct", "wait"))
    time_split = bars("%", *states, colours=STATE_COLOURS, top=100.5)
    time_split.update_layout(barmode="stack")
    return [
        Chart("Response time", "Per transaction.", bars("ms", *keys)),
        Chart("Where the vCPUs' time goes", "Run + ready + co-stop + wait = 100 % per vCPU.", time_split),
    ]


def timelines(points: Sequence[Point]) -> list[tuple[str, go.Figure]]:
    """(what was set, figure) of each point's first replication, for the first MAX_TIMELINES points that have one."""
    paths = varying_paths(points)
    found: list[tuple[str, go.Figure]] = []
    for point in points:
        if point.get("timeline") and len(found) < MAX_TIMELINES:
            found.append((where(point, paths) or "this scenario", _timeline(point["timeline"])))
    return found


_Sampled = Literal["guest_cpu_pct", "ready_pct", "costop_pct", "response_ms_mean"]


def _timeline(timeline: Timeline) -> go.Figure:
    panels: tuple[tuple[str, tuple[tuple[_Sampled, str], ...], bool], ...] = (
        ("CPU, %", (("guest_cpu_pct", "guest CPU"),), True),
        ("ready, co-stop, %", (("ready_pct", "ready"), ("costop_pct", "co-stop")), False),
        ("response, ms", (("response_ms_mean", "response"),), False),
    )
    figure = go.Figure()
    figure.update_layout(style("", ""))
    figure.set_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    time = timeline["time_s"]
    vms = list(timeline.get("vms", {}).items())[:MAX_GROUPS]
    for row, (axis, keys, with_hosts) in enumerate(panels, start=1):
        colours = itertools.cycle(PALETTE)
        drawn = [(f"{vm} {word}", series[key]) for vm, series in vms for key, word in keys if key in series]
        if with_hosts:
            hosts = list(timeline.get("hosts", {}).items())[:MAX_GROUPS]
            drawn += [(f"{host} usage", series["usage_pct"]) for host, series in hosts if "usage_pct" in series]
        for name, values in drawn:
            figure.add_scatter(
                x=time,
                y=values,
                mode="lines",
                name=html.escape(name),
                line={"color": next(colours), "width": 1.8, "dash": "dash" if name.endswith("usage") else "solid"},
                legend="legend" if row == 1 else f"legend{row}",
                row=row,
                col=1,
            )
        figure.update_yaxes(title=axis_title(axis), rangemode="tozero", row=row, col=1)
    figure.update_layout(height=560, showlegend=True)
    for row, y in enumerate((1.0, 0.655, 0.31), start=1):
        place = {"x": 1.01, "y": y, "xanchor": "left", "yanchor": "top", "orientation": "v", "font": {"size": 11.5}}
        figure.update_layout({"legend" if row == 1 else f"legend{row}": place})
    figure.update_layout(margin={"l": 60, "r": 180, "t": 12, "b": 44}, hovermode="x unified")
    figure.update_xaxes(title=axis_title("simulated time, s"), row=3, col=1)
    return figure


def _is_amount(value: Any) -> bool:
    return isinstance(value, str) and value[:1].isdigit()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
