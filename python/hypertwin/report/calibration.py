"""A calibration, for a terminal and as a page: fitted parameters, and the twin beside what was measured."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hypertwin.documents.calibration import Calibration, MetricErrors, Parameter, Value
from hypertwin.report.charts import INK, MUTED, PALETTE, Chart, style
from hypertwin.report.plotly_page import Page, grid, items, settings, sortable
from hypertwin.report.table import titled
from hypertwin.report.words import calibration_note

PARAMETER_HEADS = ("parameter", "start", "fitted", "95 % interval", "bounds")
METRIC_HEADS = ("metric", "unit", "values", "before", "fitted", "left out", "held out")
POINT_HEADS = ("row", "metric", "measured", "twin", "error", "left out", "")

NOTES = (
    "Before, fitted: mean size of the errors with the parameters of the start, and with the fitted ones. Left out: of "
    "each row predicted from the others, with the twin taken as linear around the fit. Held out: rows that the fit "
    "never saw.",
    "In % of the measured value; small ones count as a tenth of their metric's largest, percentages as 10 points.",
)


def interval(each: Parameter) -> str:
    """The interval of a parameter in words."""
    if each["interval"]:
        low, high = each["interval"]
        return f"{low:.4g} to {high:.4g} {each['unit']}".rstrip()
    if not each["identified"]:
        return "unbounded"
    return "at its bound" if each["at_bound"] else "unknown"


def parameters(found: Calibration) -> list[list[str]]:
    """Cells of the fitted parameters, in the order of PARAMETER_HEADS."""
    return [
        [
            each["path"],
            f"{each['start']:.4g} {each['unit']}".rstrip(),
            f"{each['value']:.4g} {each['unit']}".rstrip(),
            interval(each),
            f"{each['low']:.4g} to {each['high']:.4g}",
        ]
        for each in found["parameters"]
    ]


def metrics(found: Calibration) -> list[list[str]]:
    """Cells of the errors by metric, in the order of METRIC_HEADS."""
    return [
        [
            each["metric"],
            each["unit"],
            str(each["values"]),
            _percent(each["before_pct"]),
            _percent(each["fitted_pct"]),
            _percent(each["left_out_pct"]),
            _percent(each["held_out_pct"]),
        ]
        for each in found["metrics"]
    ]


def points(found: Calibration) -> list[list[str]]:
    """Cells of every measured value, in the order of POINT_HEADS."""
    return [
        [
            f"{each['row']}: {each['name']}",
            each["metric"],
            f"{each['measured']:.4g} {each['unit']}".rstrip(),
            f"{each['twin']:.4g}",
            f"{each['error_pct']:+.1f} %",
            "" if each["left_out_error_pct"] is None else f"{each['left_out_error_pct']:+.1f} %",
            "held out" if each["held_out"] else "",
        ]
        for each in found["points"]
    ]


def summary(found: Calibration) -> str:
    """The outcome in one sentence."""
    used = [each for each in found["points"] if not each["held_out"]]
    rows = len({each["row"] for each in used})
    before = sum(abs(each["before_error_pct"] or 0.0) for each in used) / len(used)
    after = sum(abs(each["error_pct"]) for each in used) / len(used)
    free = len(found["parameters"])
    return (
        f"{free} parameter{'s' if free != 1 else ''} fitted to {len(used)} values of {rows} "
        f"row{'s' if rows != 1 else ''}: mean error {before:.1f} % before, {after:.1f} % now."
    )


def table(found: Calibration) -> RenderableType:
    """What `hypertwin calibrate --format json` prints, as tables and notes."""
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    title = (
        f"{found['scenario']} fitted to {found['measurements']}; {found['replications']} replications of "
        f"{found['duration_s']:g} s, seed {found['seed']}{settings}"
    )
    tables = [
        _table(title, PARAMETER_HEADS, parameters(found), 1),
        _table("Errors", METRIC_HEADS, _used(metrics(found)), 2),
        _table("Measured against twin", POINT_HEADS, points(found), 2),
    ]
    said = [Text(note, style="yellow") for note in found["notes"]]
    dim = [Text(note, style="dim") for note in (*NOTES, calibration_note(found["calibrated_on"]))]
    return Group(*tables, Text(summary(found), style="bold"), *said, *dim)


def _used(cells: Sequence[list[str]]) -> list[list[str]]:
    """The cells with a dash in empty ones, which is easier to see."""
    return [[cell or "–" for cell in row] for row in cells]


def _table(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]], words: int) -> Table:
    table = titled(title)
    for index, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if index < words or not head else "right", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def page(found: Calibration) -> Page:
    """The page: parameters with their intervals, the twin against what was measured, and errors."""
    made = Page(f"Calibration of {found['scenario']}")
    facts = [
        ("scenario", str(found["scenario"])),
        ("measurements", str(found["measurements"])),
        ("runs", f"{found['runs']} of {found['duration_s']:g} s, {found['evaluations']} sets of parameters"),
        ("seed", str(found["seed"])),
        ("hypertwin", str(found["version"])),
    ]
    made.banner(summary(found), facts, settings(found["set"], calibration_note(found["calibrated_on"])))
    said = f'<ul class="hint">{items(found["notes"])}</ul>' if found["notes"] else ""
    drawn = grid(made.panels([interval_chart(found)]), "stack")
    fitted = sortable(PARAMETER_HEADS, parameters(found), 1, ())
    made.section("Fitted parameters", f"{said}{drawn}{fitted}")
    made.section("Twin against measured", grid(made.panels(charts(found))))
    made.section("Errors", sortable(METRIC_HEADS, metrics(found), 2, NOTES))
    made.section("All values", sortable(POINT_HEADS, points(found), 2, ()))
    return made


def charts(found: Calibration) -> list[Chart]:
    """The twin against what was measured, a chart for each metric."""
    return [_scatter(found, each) for each in found["metrics"]]


def interval_chart(found: Calibration) -> Chart:
    """Fitted values and their intervals, relative to the start values."""
    figure = go.Figure()
    shown = [each for each in found["parameters"] if each["start"]]
    for index, (identified, name) in enumerate(((True, "fitted, 95 % interval"), (False, "not identified"))):
        listed = [each for each in shown if each["identified"] is identified]
        if not listed:
            continue
        ends = [each["interval"] or (each["value"], each["value"]) for each in listed]
        figure.add_scatter(
            x=[each["value"] / each["start"] for each in listed],
            y=[html.escape(each["path"]) for each in listed],
            error_x={
                "type": "data",
                "array": [(high - each["value"]) / each["start"] for each, (_, high) in zip(listed, ends, strict=True)],
                "arrayminus": [
                    (each["value"] - low) / each["start"] for each, (low, _) in zip(listed, ends, strict=True)
                ],
                "thickness": 2,
                "width": 7,
            },
            mode="markers",
            name=name,
            marker={"size": 11, "color": PALETTE[0] if identified else MUTED, "symbol": ("circle", "x")[index]},
            hovertext=[f"{html.escape(each['text'])}, {interval(each)}" for each in listed],
            hoverinfo="text",
        )
    figure.update_layout(style("times the value of the start", ""), hovermode="closest", height=160 + 34 * len(shown))
    figure.update_xaxes(showgrid=True)
    figure.update_yaxes(automargin=True, autorange="reversed")
    figure.add_vline(1, line={"color": INK, "width": 1.2, "dash": "dot"})
    return Chart("Parameters", "Beside the values that the search started from (dotted).", figure)


def _scatter(found: Calibration, metric: MetricErrors) -> Chart:
    same = [each for each in found["points"] if each["metric"] == metric["metric"]]
    figure = go.Figure()
    known = (value for each in same for value in (each["measured"], each["twin"], each["before"]))
    values = [value for value in known if value is not None]
    margin = 0.08 * ((max(values) - min(values)) or abs(max(values)) or 1.0)
    ends = [min(values) - margin, max(values) + margin]
    line = {"color": MUTED, "width": 1.2, "dash": "dot"}
    figure.add_scatter(x=ends, y=ends, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    before = [each for each in same if each["before"] is not None]
    figure.add_scatter(
        x=[each["measured"] for each in before],
        y=[each["before"] for each in before],
        mode="markers",
        name="before",
        marker={"size": 7, "color": "#c3ccd6", "symbol": "cross"},
        hovertext=[_hover(each, "before", each["before"], each["before_error_pct"]) for each in before],
        hoverinfo="text",
    )
    for held, name in ((False, "fitted"), (True, "held out")):
        shown = [each for each in same if each["held_out"] is held]
        if not shown:
            continue
        colour = PALETTE[1] if held else PALETTE[0]
        figure.add_scatter(
            x=[each["measured"] for each in shown],
            y=[each["twin"] for each in shown],
            error_x={"array": [1.96 * (each["measured_error"] or 0) for each in shown], "color": colour, "width": 3},
            error_y={"array": [1.96 * (each["twin_error"] or 0) for each in shown], "color": colour, "width": 3},
            mode="markers",
            name=name,
            marker={"size": 10, "color": "white" if held else colour, "line": {"color": colour, "width": 2}},
            hovertext=[_hover(each, "twin", each["twin"], each["error_pct"]) for each in shown],
            hoverinfo="text",
        )
    unit = html.escape(metric["unit"])
    figure.update_layout(style(f"measured ({unit})".replace(" ()", ""), f"twin ({unit})".replace(" ()", "")))
    figure.update_layout(hovermode="closest", height=360)
    figure.update_xaxes(showgrid=True)
    figure.update_yaxes(range=ends)
    text = f"Mean error {_percent(metric['fitted_pct'])}, before {_percent(metric['before_pct'])}"
    if metric["left_out_pct"] is not None:
        text += f"; {_percent(metric['left_out_pct'])} for rows left out"
    if metric["held_out_pct"] is not None:
        text += f"; {_percent(metric['held_out_pct'])} for rows held out"
    return Chart(metric["metric"], f"{text}.", figure)


def _hover(each: Value, name: str, value: float | None, error_pct: float | None) -> str:
    unit = html.escape(each["unit"])
    return (
        f"{html.escape(each['name'])}: measured {each['measured']:.4g} {unit}, {name} {value:.4g} {unit} "
        f"({error_pct:+.1f} %)"
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"
