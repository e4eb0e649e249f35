"""Findings of a diagnosis: as text for a terminal, and as charts for a page.

Takes what `hypertwin diagnose --format json` prints; series of charts come beside it, by place of the finding.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from hypertwin.errors import printable
from hypertwin.report.charts import GRID, MUTED, PALETTE, Chart, style

SEVERITIES = ("critical", "warning", "info")
COLOURS = {"critical": "#c8382f", "warning": "#e0a100", "info": "#0f6fc6"}
STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold blue"}
MOST_ALIKE = 8
"""Stories of one code that a terminal shows in full; of more, their names."""


def stories(found: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Findings by their first cause, which stands first in each list; the worst story first."""
    findings = found["findings"]
    by_key = {(finding["code"], finding["entity"]): finding for finding in findings}
    told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for finding in findings:
        root = finding
        while root["cause"] is not None:
            root = by_key[root["cause"]["code"], root["cause"]["entity"]]
        told.setdefault((root["code"], root["entity"]), []).append(finding)
    ordered = [
        sorted(story, key=lambda finding: (finding["code"], finding["entity"]) != root) for root, story in told.items()
    ]
    return sorted(ordered, key=lambda story: min(SEVERITIES.index(finding["severity"]) for finding in story))


def summary(found: Mapping[str, Any]) -> str:
    """How much was found, in a sentence."""
    counts = dict.fromkeys(SEVERITIES, 0)
    for finding in found["findings"]:
        counts[finding["severity"]] += 1
    looked = ", ".join(
        f"{found[key]} {word if found[key] != 1 else word[:-1]}"
        for key, word in (("hosts", "hosts"), ("machines", "machines"))
    )
    if not found["findings"]:
        return f"Nothing found to be wrong ({looked})."
    told = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
    several = len(found["findings"]) != 1
    grouped = len(stories(found))
    causes = f" with {grouped} cause{'s' if grouped != 1 else ''}" if grouped != len(found["findings"]) else ""
    return f"{len(found['findings'])} finding{'s' if several else ''}{causes}: {told} ({looked})."


def facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was looked at, as (name, value)."""
    read = found["read"]
    values = sum(each["rows"] for each in read)
    sources = ", ".join(f"{each['source']} ({each['kind']})" for each in read[:3])
    more = f" and {len(read) - 3} more" if len(read) > 3 else ""
    return [
        ("telemetry", f"{sources}{more}" if read else "none"),
        ("values", f"{values:,}" if read else ""),
        ("cluster file", str(found["cluster"] or "none")),
        ("hosts", str(found["hosts"])),
        ("machines", str(found["machines"])),
    ]


def rule(finding: Mapping[str, Any]) -> str:
    """The sources of a finding's rule, without their addresses."""
    return "; ".join(source["title"] for source in finding["sources"])


def not_checked(found: Mapping[str, Any]) -> list[str]:
    """What could not be checked, a line for each thing that is missing."""
    codes: dict[str, list[str]] = {}
    for each in found["not_checked"]:
        codes.setdefault(each["needs"], []).append(each["code"])
    return [f"{', '.join(names)}: needs {needs}" for needs, names in codes.items()]


def remarks(found: Mapping[str, Any]) -> list[str]:
    """Notes and gaps of what was read, and of the diagnosis."""
    lines = list(found["notes"])
    for each in found["read"]:
        lines += [f"{each['source']}: {note}" for note in each["notes"]]
        lines += [f"{each['source']} lacks {gap['what']}: {gap['costs']}" for gap in each["gaps"]]
    return lines


def evidence(measure: Mapping[str, Any]) -> str:
    """A figure in words: value, band, share of the samples and when."""
    unit = f" {measure['unit']}" if measure["unit"] else ""
    text = f"{measure['what']}: {amount(measure['value'], measure['unit'])}"
    band = measure["band"]
    if band:
        limits = ", ".join(
            f"{severity} {band['direction']} {amount(band[severity], measure['unit'])}"
            for severity in reversed(SEVERITIES)
            if severity in band
        )
        text += f" ({limits})" if limits else unit
    beyond = measure["beyond"]
    if beyond:
        text += f"; beyond in {_share(beyond)}"
    return text


def _share(beyond: Mapping[str, Any]) -> str:
    share = f"{beyond['share_pct']:.3g} % of the samples"
    if not (beyond["first"] and beyond["last"] and beyond["worst"]):
        return share
    day = beyond["first"][:10]
    until, worst = (beyond[key].removeprefix(f"{day} ") for key in ("last", "worst"))
    return f"{share}, {beyond['first']} to {until}, worst at {worst} UTC"


def amount(value: float, unit: str) -> str:
    """A value with its unit, bytes in the unit that fits."""
    if unit in ("B", "B/s"):
        for name, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if value >= size:
                return f"{value / size:.3g} {name}{unit[1:]}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    number = f"{value:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{f' {unit}' if unit else ''}"


def text(found: Mapping[str, Any]) -> RenderableType:
    """The diagnosis for a terminal: stories, worst first, then what was not checked."""
    parts: list[RenderableType] = [Text(summary(found), style="bold"), Text("")]
    shown: dict[str, int] = {}
    left_out: dict[str, list[str]] = {}
    for story in stories(found):
        code = story[0]["code"]
        shown[code] = shown.get(code, 0) + 1
        if shown[code] > MOST_ALIKE:
            left_out.setdefault(code, []).append(story[0]["name"])
            continue
        parts += _story(story)
    for code, names in left_out.items():
        some = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        parts += [_line(f"{code}, {len(names)} more: {some}", "bold"), Text("")]
    for title, lines in (("Not checked", not_checked(found)), ("Notes", remarks(found))):
        if lines:
            parts += [
                Text(title, style="bold"),
                *(Padding(_line(line, "dim"), (0, 0, 0, 2)) for line in lines),
                Text(""),
            ]
    return Group(*parts[:-1])


def _story(story: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    first, *others = story
    head = Text.assemble((f"{first['severity'].upper()} ", STYLES[first["severity"]]), (f"{first['code']}  ", "dim"))
    head.append(printable(first["title"]), style="bold")
    yield head
    yield Padding(_line(first["text"]), (0, 0, 0, 2))
    for measure in first["evidence"]:
        yield Padding(_line(f"· {evidence(measure)}", "dim"), (0, 0, 0, 2))
    yield Padding(Text.assemble(("Do: ", "bold"), printable(first["advice"])), (0, 0, 0, 2))
    if first["what_if"]:
        yield Padding(Text.assemble(("Twin: ", "bold green"), printable(first["what_if"]["text"])), (0, 0, 0, 2))
    yield Padding(_line(f"Rule: {rule(first)}", "dim"), (0, 0, 0, 2))
    for other in others[:MOST_ALIKE]:
        line = Text.assemble("→ ", (f"{other['severity']} ", STYLES[other["severity"]]), (f"{other['code']}  ", "dim"))
        line.append(printable(other["title"]))
        if other["what_if"] and not (first["what_if"] and first["what_if"]["change"] == other["what_if"]["change"]):
            line.append(f"  [twin: {printable(other['what_if']['text'])}]")
        yield Padding(line, (0, 0, 0, 4))
    if len(others) > MOST_ALIKE:
        yield Padding(_line(f"→ and {len(others) - MOST_ALIKE} more"), (0, 0, 0, 4))
    yield Text("")


def _line(line: str, style_: str = "") -> Text:
    return Text(printable(line), style=style_)


def charts(finding: Mapping[str, Any], series: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """A chart for each figure of a finding that there are samples of, with its band drawn."""
    return [Chart(_titled(each["what"]), "", _chart(each)) for each in series]


def _titled(what: str) -> str:
    return what.partition(", ")[0]


def _chart(series: Mapping[str, Any]) -> go.Figure:
    unit, band = str(series["unit"]), series["band"]
    scale, shown_unit = _scale(max(series["most"], default=0.0), unit)
    mean, most = ([value / scale for value in series[key]] for key in ("mean", "most"))
    figure = go.Figure()
    hover = f"%{{y:.4~g}} {shown_unit}"
    if most != mean:
        figure.add_scatter(
            x=series["x"],
            y=most,
            mode="lines",
            name="highest",
            line={"color": PALETTE[0], "width": 1, "dash": "dot"},
            opacity=0.55,
            hovertemplate=f"{hover}<extra>highest</extra>",
        )
    figure.add_scatter(
        x=series["x"],
        y=mean,
        mode="lines" if len(mean) > 1 else "markers",
        name=html.escape(_titled(series["what"])),
        line={"color": PALETTE[0], "width": 2},
        hovertemplate=f"{hover}<extra></extra>",
    )
    timed = bool(series["x"]) and isinstance(series["x"][0], str)
    figure.update_layout(style("" if timed else "sample", shown_unit), height=270, showlegend=most != mean)
    figure.update_layout(margin={"l": 58, "r": 84 if band else 14, "t": 28, "b": 40})
    highest = max([*most, 0.0])
    top = highest * 1.12
    limits = [(name, band[name] / scale) for name in SEVERITIES if band and name in band]
    if limits:
        nearest = min(limit for _, limit in limits)
        top = max(top, nearest * 1.25)
        _draw_band(figure, limits, bool(band["direction"] == "below"), top)
    if unit == "%" and not limits:
        top = max(top, 105)  # a share of a whole, drawn as one
    figure.update_yaxes(range=[0, top or 1], gridcolor=GRID)
    return figure


def _draw_band(figure: go.Figure, limits: Sequence[tuple[str, float]], below: bool, top: float) -> None:
    """A tinted stripe for each severity, and its name at the right."""
    ordered = sorted(limits, key=lambda limit: limit[1], reverse=below)
    for place, (severity, limit) in enumerate(ordered):
        if not below and limit > top:
            continue
        edge = ordered[place + 1][1] if place + 1 < len(ordered) else (0.0 if below else top)
        low, high = sorted((limit, edge))
        figure.add_hrect(
            y0=low, y1=min(high, top), fillcolor=COLOURS[severity], opacity=0.09, line_width=0, layer="below"
        )
        figure.add_hline(y=limit, line={"color": COLOURS[severity], "width": 1.2, "dash": "dash"})
        figure.add_annotation(
            x=1.005,
            xref="paper",
            y=limit,
            text=severity,
            showarrow=False,
            xanchor="left",
            font={"size": 11, "color": COLOURS[severity] if severity != "warning" else MUTED},
        )


def _scale(highest: float, unit: str) -> tuple[float, str]:
    if unit in ("B", "B/s"):
        for name, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if highest >= size:
                return float(size), f"{name}{unit[1:]}"
    return 1.0, unit
