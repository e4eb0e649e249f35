"""The page of a diagnosis: all codes at a glance, then each story with its figures, sources, what-ifs and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from hypertwin.documents.diagnosis import SEVERITIES, Document, Finding, Series
from hypertwin.report import diagnosis
from hypertwin.report.charts import GRID, MUTED, PALETTE, Chart, style
from hypertwin.report.plotly_page import Page, badge, grid, hint, items, scrolling

COLOURS = {"critical": "#c8382f", "warning": "#e0a100", "info": "#0f6fc6"}
BADGES = {"critical": "fail", "warning": "open", "info": "note-badge"}

SeriesByFinding = Mapping[tuple[str, str], Sequence[Series]]
"""What the charts of a finding show, by its code and entity."""


def page(found: Document, series: Sequence[Sequence[Series]]) -> Page:
    """The page of what `hypertwin diagnose --format json` prints; `series` are those of the findings' charts."""
    made = Page("Diagnosis" + (f" of {found['cluster']}" if found["cluster"] else ""))
    by_key = {
        (finding["code"], finding["entity"]): drawn for finding, drawn in zip(found["findings"], series, strict=True)
    }
    made.banner(diagnosis.summary(found), [*diagnosis.facts(found), ("hypertwin", str(found["version"]))])
    made.section("At a glance", _at_a_glance(diagnosis.groups(found)))
    shown: dict[str, list[str]] = {}
    for story in diagnosis.stories(found):
        shown.setdefault(story[0]["code"], []).append(_story(made, story, by_key))
    for code, stories in shown.items():
        made.add("".join(stories[: diagnosis.MOST_ALIKE]))
        rest = stories[diagnosis.MOST_ALIKE :]
        if rest:
            more = f"<summary>{escape(code)}: {len(rest)} more</summary>{''.join(rest)}"
            made.add(f'<section><details class="more">{more}</details></section>')
    for heading, lines in (("Not checked", diagnosis.not_checked(found)), ("Notes", diagnosis.remarks(found))):
        made.section(heading, f"<ul>{items(lines)}</ul>" if lines else "")
    return made


def _at_a_glance(groups: Sequence[diagnosis.Group]) -> str:
    if not groups:
        return ""
    heads = "".join(f"<th>{head}</th>" for head in ("", "code", "of", "worst", "what the twin says"))
    rows = (
        _glance(group, depth) for head in groups for group, depth in [(head, 0), *((each, 1) for each in head.follows)]
    )
    return scrolling(heads, "".join(rows))


def _glance(group: diagnosis.Group, depth: int) -> str:
    """A row for all findings of one code; the names behind it unfold."""
    worst = group.worst
    of = escape(worst["name"])
    if len(group.findings) > 1:
        names = items(f"{each['name']}: {each['figure']}" for each in group.findings)
        of = f'<details class="names"><summary>{escape(group.count)}</summary><ul>{names}</ul></details>'
    told = f"{worst['name']}: " * (len(group.findings) > 1) + worst["figure"]
    return (
        f"<tr><td>{_severity(worst)}</td><td>{'↳ ' * depth}{escape(group.code)}</td><td>{of}</td>"
        f"<td>{escape(told)}</td>"
        f'<td class="note">{escape((worst["what_if"] or {"text": ""})["text"])}</td></tr>'
    )


def _story(page: Page, story: Sequence[Finding], series: SeriesByFinding) -> str:
    """A first cause, and what follows from it by code."""
    markup = _finding(page, story[0], series, "h2")
    if len(story) > 1:
        follows = "".join(_follows(page, group, series) for group in diagnosis.by_code(story[1:]))
        markup += f"<h3>What follows from it</h3>{grid(follows, 'stack')}"
    return f'<section class="story">{markup}</section>'


def _follows(page: Page, group: diagnosis.Group, series: SeriesByFinding) -> str:
    """What follows from a cause, of one code: one finding open, several behind a line."""
    panels = "".join(f'<div class="panel">{_finding(page, each, series, "h4")}</div>' for each in group.findings)
    if len(group.findings) == 1:
        return panels
    summary = f"{_severity(group.worst)} {escape(group.code)}: {escape(group.text)}"
    return f'<details class="more"><summary>{summary}</summary>{grid(panels, "stack")}</details>'


def _severity(finding: Finding) -> str:
    return badge(BADGES[finding["severity"]], finding["severity"])


def _finding(
    page: Page,
    finding: Finding,
    series: SeriesByFinding,
    heading: str,
) -> str:
    """A finding: what, by which figures, by which rule, what to do, what the twin says, and charts."""
    what_if = finding["what_if"]
    sources = "; ".join(
        f'<a href="{escape(source["address"])}" rel="noreferrer">{escape(source["title"])}</a>'
        if source["address"]
        else escape(source["title"])
        for source in finding["sources"]
    )
    figures = items(map(diagnosis.evidence, finding["evidence"]))
    drawn = charts(series[finding["code"], finding["entity"]])
    panels = page.panels(drawn)
    twin = f'<p class="twin"><strong>The twin says:</strong> {escape(what_if["text"])}</p>' if what_if else ""
    if finding["no_what_if"]:
        twin = hint(f"Not simulated: {finding['no_what_if']}")
    return (
        f"<{heading}>{_severity(finding)} {escape(finding['title'])}</{heading}>"
        f'<p class="hint"><code>{escape(finding["code"])}</code> · {escape(finding["entity"])}</p>'
        f"<p>{escape(finding['text'])}</p><ul>{figures}</ul>"
        f"<p><strong>What to do:</strong> {escape(finding['advice'])}</p>{twin}"
        f'<p class="hint">Rule: {sources}</p>' + (grid(panels, "grid" if len(drawn) > 1 else "stack") if panels else "")
    )


def charts(series: Sequence[Series]) -> list[Chart]:
    """A chart for each figure of a finding that there are samples of, with its band drawn."""
    return [Chart(_titled(each["what"]), "", _chart(each)) for each in series]


def _titled(what: str) -> str:
    return what.partition(", ")[0]


def _chart(series: Series) -> go.Figure:
    unit, band = series["unit"], series["band"]
    scale, shown_unit = _scale(max(series["most"], default=0.0), unit)
    mean, most = ([value / scale for value in values] for values in (series["mean"], series["most"]))
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
        name=escape(_titled(series["what"])),
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
        _draw_band(figure, limits, band is not None and band["direction"] == "below", top)
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
