"""How many VMs meet the objectives: the answer and the curve around it, for a terminal and as a page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.plan import Density, DensityPoint, Figure, Objective
from hypertwin.documents.simulation import Bottleneck
from hypertwin.report import ready
from hypertwin.report.charts import INK, MUTED, PALETTE, Chart, style
from hypertwin.report.plotly_page import Page, badge, grid, items, scrolling, settings
from hypertwin.report.table import titled
from hypertwin.report.words import calibration_note, half_width, number

WORDS = {"sure": "met", "mean": "met on average", "missed": "missed", "refused": "impossible"}
"""Word for each verdict."""

COLOURS = {"sure": "#2a9d5c", "mean": "#e0a100", "missed": "#c8382f", "refused": MUTED}
STYLES = {"sure": "green", "mean": "yellow", "missed": "red", "refused": "red"}

SHOWN_LIMITS = 4.0
"""A chart is cut at this multiple of the limit: larger figures would flatten what matters."""


def verdict(point: DensityPoint) -> str:
    """One of the keys of WORDS."""
    if point["reason"]:
        return "refused"
    return "sure" if point["sure"] else "mean" if point["meets"] else "missed"


def metrics(found: Density) -> list[Objective]:
    """One objective for each metric, the first."""
    return list({each["metric"]: each for each in found["slo"]}.values())


def heads(found: Density) -> list[str]:
    """Heads of the curve's columns."""
    measured = [f"{each['metric']} {each['unit']}".strip() for each in metrics(found)]
    station = ["busiest station"] if _has_stations(found) else []
    return [
        "VMs",
        "objectives",
        *measured,
        "throughput /s",
        "ready %",
        "ready sum %",
        "host usage %",
        "host memory %",
        *station,
        "runs",
    ]


def lines(found: Density) -> list[list[str]]:
    """Cells of the curve, a line for each count."""
    return [
        [
            str(point["count"]),
            WORDS[verdict(point)],
            *(_figure(point["metrics"][each["metric"]]) for each in metrics(found)),
            number(point["throughput_per_s"]),
            number(point["ready_pct"]),
            number(point["ready_sum_pct"]),
            number(point["host_usage_pct"]),
            number(point["host_memory_pct"], 0),
            *([_station(point["bottleneck"])] if _has_stations(found) else []),
            f"{point['replications']}{'' if point['steady'] in (True, None) else ' *'}",
        ]
        for point in found["points"]
    ]


def notes(found: Density) -> list[str]:
    """What a reader must know besides the answer."""
    said = list(found["answer"]["notes"])
    if step := found["answer"]["one_more"]:
        changes = ", ".join(_change(name, each) for name, each in step.items() if each["mean"] is not None)
        said.append(f"One more VM changes, with the same random numbers: {changes}.")
    said.append(ready.note(found.get("duration_s")))
    said.append("Host usage and memory are those of the host with the most.")
    said.append("± is the half-width of the 95 % confidence interval over replications; met: the whole interval meets.")
    if any(point["steady"] is False for point in found["points"]):
        said.append("* did not reach a steady state: overloaded, or the runs are too short.")
    return [*said, calibration_note(found["calibration"])]


def table(found: Density) -> RenderableType:
    """What `hypertwin density --format json` prints, as a sentence, the curve, and notes."""
    title = f"{found['scenario']}: VMs of {found['vm']} that meet {_objectives(found)}{_settings(found)}"
    shown = titled(title)
    for index, head in enumerate(heads(found)):
        shown.add_column(Text(head.replace(" ", "\n", 1)), justify="left" if index == 1 else "right", no_wrap=True)
    for point, cells in zip(found["points"], lines(found), strict=True):
        here = "bold" if point["count"] == found["answer"]["count"] else ""
        row = [Text(cell, style=here) for cell in cells]
        row[1] = Text(cells[1], style=f"{here} {STYLES[verdict(point)]}".strip())
        shown.add_row(*row)
    said = (Text(note, style="dim") for note in notes(found))
    return Group(shown, Text(found["answer"]["text"], style="bold"), *said)


def page(found: Density) -> Page:
    """The page: the answer, charts of the curve, and a table of every count."""
    made = Page(f"How many VMs of {found['vm']}?")
    reply = found["answer"]
    facts = [
        ("scenario", str(found["scenario"])),
        ("VM group", str(found["vm"])),
        ("objectives", _objectives(found)),
        ("counts", f"{found['min']} to {found['max']}, {len(found['points'])} looked at"),
        ("runs", f"{found['duration_s']:g} s each"),
        ("seed", str(found["seed"])),
        ("hypertwin", str(found["version"])),
    ]
    made.banner(reply["text"], facts, settings(found["set"], calibration_note(found["calibration"])))
    cards = [
        ("VMs", f"{'at least ' if reply['at_max'] else ''}{reply['count']}", "meet the objectives on average"),
        ("With 95 % confidence", str(reply["sure_count"]), "the whole interval meets them"),
        ("Missed first", str(reply["limiting"] or "no room"), "") if not reply["at_max"] else ("", "", ""),
        ("Limited by", "", str(reply["limited_by"] or "")),
    ]
    made.cards(card for card in cards if card[1] or card[2])
    panels = made.panels(charts(found))
    made.section("The curve", grid(panels) if panels else "")
    rows = "".join(
        f"<tr><td class=n>{html.escape(cells[0])}</td><td>{_badge(point)}</td>"
        + "".join(f"<td class=n>{html.escape(cell)}</td>" for cell in cells[2:])
        + f'<td class="note">{html.escape(point["reason"] or "")}</td></tr>'
        for point, cells in zip(found["points"], lines(found), strict=True)
    )
    head = "".join(
        f"<th{'' if index == 1 else ' class=n'}>{html.escape(text)}</th>" for index, text in enumerate(heads(found))
    )
    made.section("All counts", f'{scrolling(f"{head}<th></th>", rows)}<ul class="hint">{items(notes(found))}</ul>')
    return made


def _badge(point: DensityPoint) -> str:
    kind = verdict(point)
    return badge({"sure": "pass", "mean": "open"}.get(kind, "fail"), WORDS[kind])


def charts(found: Density) -> list[Chart]:
    """Charts against the number of VMs: each metric with its limit, then throughput, and the load of the hosts."""
    measured = [point for point in found["points"] if not point["reason"]]
    answered = found["answer"]["count"]
    if not measured:
        return []
    drawn = [_objective_chart(found, each, measured) for each in metrics(found)]
    throughput = go.Figure()
    throughput.add_scatter(**_line(measured, [point["throughput_per_s"] for point in measured], "throughput", 0))
    cpu = go.Figure()
    cpu.add_scatter(**_line(measured, [point["host_usage_pct"] for point in measured], "usage of the busiest host", 0))
    cpu.add_scatter(**_line(measured, [point["ready_pct"] for point in measured], f"ready of {found['vm']}", 1))
    for figure, unit in ((throughput, "1/s"), (cpu, "%")):
        _finish(figure, unit, answered)
    return [
        *drawn,
        Chart(
            "Throughput", "Of all VMs of the group together. Where it stops growing, something is used up.", throughput
        ),
        Chart(
            "Host usage and ready", "Usage says 100 when every core has a busy thread; ready tells what follows.", cpu
        ),
    ]


def _objective_chart(found: Density, each: Objective, measured: Sequence[DensityPoint]) -> Chart:
    figures = [point["metrics"][each["metric"]] for point in measured]
    limits = [other["limit"] for other in found["slo"] if other["metric"] == each["metric"]]
    figure = go.Figure()
    known = [
        (point["count"], value["mean"], value["ci95"])
        for point, value in zip(measured, figures, strict=True)
        if value["mean"] is not None and value["ci95"] is not None
    ]
    figure.add_scatter(
        x=[count for count, _, _ in known] + [count for count, _, _ in reversed(known)],
        y=[mean + ci95 for _, mean, ci95 in known] + [mean - ci95 for _, mean, ci95 in reversed(known)],
        fill="toself",
        fillcolor="rgba(15,111,198,.16)",
        mode="none",
        name="95 % confidence",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[point["count"] for point in measured],
        y=[value["mean"] for value in figures],
        mode="lines",
        line={"color": PALETTE[0], "width": 2},
        showlegend=False,
        hoverinfo="skip",
    )
    for kind in ("sure", "mean", "missed"):
        shown = [(point, value) for point, value in zip(measured, figures, strict=True) if verdict(point) == kind]
        if shown:
            figure.add_scatter(
                x=[point["count"] for point, _ in shown],
                y=[value["mean"] for _, value in shown],
                customdata=[[value["ci95"] or 0, point["replications"]] for point, value in shown],
                mode="markers",
                name=f"objectives {WORDS[kind]}",
                marker={"size": 9, "color": COLOURS[kind], "line": {"color": "white", "width": 1.2}},
                hovertemplate="%{x} VMs: %{y:.4~g} ±%{customdata[0]:.2~g} "
                f"{html.escape(each['unit'])}, %{{customdata[1]}} runs<extra></extra>",
            )
    _finish(figure, each["unit"], found["answer"]["count"])
    for limit in limits:
        figure.add_hline(
            limit,
            line={"color": COLOURS["missed"], "width": 1.6, "dash": "dash"},
            annotation={
                "text": f"limit {limit:g} {html.escape(each['unit'])}".strip(),
                "font": {"color": COLOURS["missed"], "size": 11.5},
            },
            annotation_position="top left",
        )
    # the limit is what matters; a curve up to ten times that would be flat there
    highest = max((value["mean"] for value in figures if value["mean"] is not None), default=0.0)
    top = SHOWN_LIMITS * max(limits)
    cut = each["sign"] in ("<", "<=") and highest > top > 0
    figure.update_yaxes(range=[0, top] if cut else None)
    text = f"Mean over replications; the answer is {found['answer']['count']}." + (
        f" The curve goes on to {highest:,.4g} {each['unit']}." if cut else ""
    )
    objectives = [other["text"] for other in found["slo"] if other["metric"] == each["metric"]]
    return Chart(" and ".join(objectives), text, figure)


def _line(points: Sequence[DensityPoint], values: Sequence[float | None], name: str, index: int) -> dict[str, Any]:
    return {
        "x": [point["count"] for point in points],
        "y": values,
        "mode": "lines+markers",
        "name": html.escape(name),
        "line": {"color": PALETTE[index], "width": 2.4, "dash": ("solid", "dash")[index]},
        "marker": {"size": 6.5},
        "hovertemplate": f"%{{y:.4~g}}<extra>{html.escape(name)}</extra>",
    }


def _finish(figure: go.Figure, unit: str, answered: int) -> None:
    figure.update_layout(style("number of VMs", html.escape(unit)), hovermode="closest")
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    if answered:
        figure.add_vline(
            answered,
            line={"color": INK, "width": 1.2, "dash": "dot"},
            annotation={"text": f"{answered}", "font": {"color": INK, "size": 12.5}},
            annotation_position="top right",
        )


def _objectives(found: Density) -> str:
    return " and ".join(each["text"] for each in found["slo"])


def _settings(found: Density) -> str:
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    return f"; runs of {found['duration_s']:g} s, seed {found['seed']}{settings}"


def _change(name: str, step: Figure) -> str:
    half = f" ±{step['ci95']:.2g}" if step["ci95"] is not None else ""
    return f"{name} {step['mean']:+.3g}{half}"


def _figure(value: Figure) -> str:
    mean, ci95 = value["mean"], value["ci95"]
    return half_width(mean, ci95)


def _has_stations(found: Density) -> bool:
    return any(point["bottleneck"] for point in found["points"])


def _station(found: Bottleneck | None) -> str:
    return "" if found is None else f"{found['station']} {found['utilization_pct']:.0f} %"
