"""The report as one HTML file that needs nothing else: no server, no network, no second file.

Every text from a scenario is escaped, and the page forbids itself to load anything (Content-Security-Policy).
The same result gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from hypertwin.frame import entities, flatten
from hypertwin.report import (
    calibration,
    charts,
    comparison,
    density,
    diagnosis,
    durability,
    failures,
    guests,
    lab,
    pools,
    table,
    topology,
)
from hypertwin.report.metrics import CATALOGUE, catalogue_key
from hypertwin.report.words import number, short_path, varying_paths

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)

MAX_DRAWINGS = 12
"""NUMA layouts that are drawn; clusters of more kinds of VMs are told how many are left out."""


def render(
    result: Mapping[str, Any],
    *,
    title: str = "",
    description: str = "",
    validation: Sequence[Mapping[str, Any]] = (),
    marks: Sequence[charts.Mark] = (),
    layouts: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the page for a result in its JSON form.

    `validation` adds published figures against the twin, and `marks` shows them in the charts of the sweep. `layouts`
    are the NUMA layouts of the VMs of the first point, by name, to be drawn.
    """
    page = _Page()
    points = result["points"]
    page.add(_header(result, title, description))
    page.add(_cards(points))
    if validation:
        page.section("Published against twin", _validation(page, validation))
    page.section("Results", _charts(page, points, marks))
    page.section("Distributed storage", _pools(page, result))
    page.section("Over time", _timelines(page, points))
    page.section("Topology", _topology(layouts or {}, len(points)))
    page.section("All points", _points(result))
    page.section("What the figures mean", _metrics(points))
    return page.finish(title or str(result["scenario"]))


def render_comparison(studies: Sequence[comparison.Study], version: str) -> str:
    """Return the page of studies: for each its charts of twin against published, and the table of its figures."""
    page = _Page()
    rows = [row for study in studies for row in study.rows]
    facts = [
        ("studies", str(len(studies))),
        ("figures", str(len(rows))),
        ("within tolerance", str(sum(row["pass"] is True for row in rows))),
        ("outside", str(sum(row["pass"] is False for row in rows))),
        ("not judged", str(sum(row["pass"] is None for row in rows))),
        ("hypertwin", version),
    ]
    title = studies[0].title if len(studies) == 1 else "Published measurements against the twin"
    page.add(_banner(title, "Each published figure, the twin's, and whether it is close enough.", facts))
    for study in studies:
        panels = "".join(_panel(page, chart) for chart in comparison.scatters(study.rows))
        hint = (
            '<p class="hint">Hollow: calibrated. Filled: predicted. Diamond: not judged. A larger mark: several figures'
            " at one place.</p>"
        )
        wide = "".join(_panel(page, chart) for chart in comparison.bars(study.rows))
        drawn = f'{hint}<div class="grid small">{panels}</div><div class="stack">{wide}</div>' if panels else ""
        source = f'<p class="hint">Source: {escape(study.source)}</p>'
        page.section(study.title if len(studies) > 1 else "Published against twin", source + _judged(study.rows, drawn))
    return page.finish(title)


def render_durability(
    result: Mapping[str, Any], curves: Mapping[str, Sequence[Mapping[str, float]]], version: str
) -> str:
    """Return the page of storage schemes: charts and table of what `hypertwin.plan.durability` found."""
    page = _Page()
    title = "Durability of redundant storage"
    lead = "What copies and erasure codes cost, and how likely they lose data."
    page.add(_banner(title, lead, [*durability.facts(result), ("hypertwin", version)]))
    panels = "".join(_panel(page, chart) for chart in durability.charts(result, curves))
    page.section("Cost, failures and repair", f'<div class="grid">{panels}</div>')
    page.section("All schemes", _sortable(*durability.lines(result), 1, durability.notes(result)))
    return page.finish(title)


def render_density(found: Mapping[str, Any]) -> str:
    """Return the page of what `hypertwin density --format json` prints: the answer, the curve around it, a table."""
    page = _Page()
    reply = found["answer"]
    facts = [
        ("scenario", str(found["scenario"])),
        ("VM group", str(found["vm"])),
        ("objectives", " and ".join(each["text"] for each in found["slo"])),
        ("counts", f"{found['min']} to {found['max']}, {len(found['points'])} looked at"),
        ("runs", f"{found['duration_s']:g} s each"),
        ("seed", str(found["seed"])),
        ("hypertwin", str(found["version"])),
    ]
    chips = "".join(f"<code>{escape(path)}={escape(str(value))}</code> " for path, value in found["set"].items())
    more = (f'<p class="chips">{chips}</p>' if chips else "") + (
        f'<p class="calibration">{escape(table.calibration_note(found))}</p>'
    )
    title = f"How many VMs of {found['vm']}?"
    page.add(_banner(title, reply["text"], facts, more))
    cards = [
        ("VMs", f"{'at least ' if reply['at_max'] else ''}{reply['count']}", "meet the objectives on average"),
        ("With 95 % confidence", str(reply["sure_count"]), "the whole interval meets them"),
        ("Missed first", str(reply["limiting"] or "no room"), "") if not reply["at_max"] else ("", "", ""),
        ("Limited by", "", str(reply["limited_by"] or "")),
    ]
    page.add(f'<div class="cards">{"".join(_card(*card) for card in cards if card[1] or card[2])}</div>')
    panels = "".join(_panel(page, chart) for chart in density.charts(found))
    page.section("The curve", f'<div class="grid">{panels}</div>' if panels else "")
    body = "".join(
        f"<tr><td class=n>{escape(cells[0])}</td><td>{_verdict(point)}</td>"
        + "".join(f"<td class=n>{escape(cell)}</td>" for cell in cells[2:])
        + f'<td class="note">{escape(point["reason"] or "")}</td></tr>'
        for point, cells in zip(found["points"], density.lines(found), strict=True)
    )
    head = "".join(
        f"<th{'' if index == 1 else ' class=n'}>{escape(text)}</th>" for index, text in enumerate(density.heads(found))
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in density.notes(found))
    page.section(
        "All counts",
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}<th></th></tr></thead><tbody>{body}</tbody>'
        f'</table></div><ul class="hint">{notes}</ul>',
    )
    return page.finish(title)


def render_guests(result: Mapping[str, Any]) -> str:
    """Return the page of what `hypertwin lab vm --format json` prints: charts, the table, and what it says."""
    page = _Page()
    lead = "The same virtual CPUs, as the guest, the host and the twin see them."
    facts = [*guests.facts(result), ("hypertwin", str(result["version"]))]
    warned = "".join(f'<p class="calibration">{escape(text)}</p>' for text in guests.warnings(result))
    page.add(_banner("Guests that share host CPUs", lead, facts, warned))
    told = "".join(f"<li>{escape(text)}</li>" for text in guests.sentences(result))
    panels = "".join(_panel(page, chart) for chart in guests.charts(result))
    page.section("Guest and host", f'<ul>{told}</ul><div class="grid">{panels}</div>')
    page.section("All figures", _sortable(*guests.lines(result), 2, guests.NOTES))
    return page.finish("Guests that share host CPUs")


def render_lab(summary: Mapping[str, Any]) -> str:
    """Return the page of what `hypertwin lab cpu --format json` prints: medians, and a row per group."""
    page = _Page()
    processor, kernel = summary["machine"]["processor"], summary["machine"]["kernel"]
    facts = [
        ("CPU", str(processor["model"])),
        ("kernel", str(kernel["release"])),
        ("control groups", str(summary["control_groups"])),
        ("runs", f"{summary['repeat']} of {summary['seconds']:g} s each"),
        ("hypertwin", str(summary["version"])),
    ]
    title = "Predicted, then measured"
    page.add(_banner(title, lab.verdicts(summary)[0], facts))
    cards = [
        (
            name,
            "-" if summary["medians"][key] is None else f"{summary['medians'][key]:.1f} {unit}",
            f"promised {most:g}",
        )
        for (key, (name, unit)), most in zip(lab.NAMES.items(), summary["promised"].values(), strict=True)
    ]
    page.add(f'<div class="cards">{"".join(_card(*card) for card in cards)}</div>')
    skipped = [f"skipped {each['experiment']}: {each['reason']}" for each in summary["skipped"]]
    panels = "".join(_panel(page, chart) for chart in lab.charts(summary))
    page.section("Predicted against measured", f'<div class="grid">{panels}</div>')
    page.section("Experiments", _sortable(lab.HEADS, lab.comparison_lines(summary), 2, [*lab.NOTES, *skipped]))
    return page.finish(title)


def render_calibration(found: Mapping[str, Any]) -> str:
    """Return the page of what `hypertwin calibrate --format json` prints: parameters, errors, twin against measured."""
    page = _Page()
    facts = [
        ("scenario", str(found["scenario"])),
        ("measurements", str(found["measurements"])),
        ("runs", f"{found['runs']} of {found['duration_s']:g} s, {found['evaluations']} sets of parameters"),
        ("seed", str(found["seed"])),
        ("hypertwin", str(found["version"])),
    ]
    chips = "".join(f"<code>{escape(path)}={escape(str(value))}</code> " for path, value in found["set"].items())
    note = table.calibration_note({"calibration": found["calibrated_on"]})
    more = (f'<p class="chips">{chips}</p>' if chips else "") + f'<p class="calibration">{escape(note)}</p>'
    page.add(_banner(f"Calibration of {found['scenario']}", calibration.summary(found), facts, more))
    warnings = "".join(f"<li>{escape(each)}</li>" for each in found["notes"])
    drawn = _panel(page, calibration.interval_chart(found))
    fitted = _sortable(calibration.PARAMETER_HEADS, calibration.parameters(found), 1, ())
    said = f'<ul class="hint">{warnings}</ul>' if warnings else ""
    page.section("Fitted parameters", f'{said}<div class="stack">{drawn}</div>{fitted}')
    panels = "".join(_panel(page, chart) for chart in calibration.charts(found))
    page.section("Twin against measured", f'<div class="grid">{panels}</div>')
    page.section("Errors", _sortable(calibration.METRIC_HEADS, calibration.metrics(found), 2, calibration.NOTES))
    page.section("All values", _sortable(calibration.POINT_HEADS, calibration.points(found), 2, ()))
    return page.finish(f"Calibration of {found['scenario']}")


def render_diagnosis(found: Mapping[str, Any], series: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Return the page of what `hypertwin diagnose --format json` prints; `series` are those of the findings' charts."""
    page = _Page()
    by_key = {
        (finding["code"], finding["entity"]): drawn for finding, drawn in zip(found["findings"], series, strict=True)
    }
    title = "Diagnosis" + (f" of {found['cluster']}" if found["cluster"] else "")
    page.add(_banner(title, diagnosis.summary(found), [*diagnosis.facts(found), ("hypertwin", str(found["version"]))]))
    told = diagnosis.groups(found)
    if told:
        heads = "".join(f"<th>{head}</th>" for head in ("", "code", "of", "worst", "what the twin says"))
        body = "".join(
            _glance(group, depth)
            for head in told
            for group, depth in [(head, 0), *((each, 1) for each in head.follows)]
        )
        page.section(
            "At a glance",
            f'<div class="scroll"><table class="sortable"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
            "</div>",
        )
    shown: dict[str, list[str]] = {}
    for story in diagnosis.stories(found):
        markup = f'<section class="story">{_finding(page, story[0], by_key, "h2")}'
        if len(story) > 1:
            follows = "".join(_follows(page, group, by_key) for group in diagnosis.by_code(story[1:]))
            markup += f'<h3>What follows from it</h3><div class="stack">{follows}</div>'
        shown.setdefault(story[0]["code"], []).append(f"{markup}</section>")
    for code, stories in shown.items():
        page.add("".join(stories[: diagnosis.MOST_ALIKE]))
        rest = stories[diagnosis.MOST_ALIKE :]
        if rest:
            more = f"<summary>{escape(code)}: {len(rest)} more</summary>{''.join(rest)}"
            page.add(f'<section><details class="more">{more}</details></section>')
    for heading, lines in (("Not checked", diagnosis.not_checked(found)), ("Notes", diagnosis.remarks(found))):
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        page.section(heading, f"<ul>{items}</ul>" if items else "")
    return page.finish(title)


def _glance(group: diagnosis.Group, depth: int) -> str:
    """A row for all findings of one code; the names behind it unfold."""
    worst = group.worst
    of = escape(worst["name"])
    if len(group.findings) > 1:
        names = "".join(f"<li>{escape(each['name'])}: {escape(each['figure'])}</li>" for each in group.findings)
        of = f'<details class="names"><summary>{escape(group.count)}</summary><ul>{names}</ul></details>'
    told = f"{worst['name']}: " * (len(group.findings) > 1) + worst["figure"]
    return (
        f"<tr><td>{_severity(worst)}</td><td>{'↳ ' * depth}{escape(group.code)}</td><td>{of}</td>"
        f"<td>{escape(told)}</td>"
        f'<td class="note">{escape((worst["what_if"] or {"text": ""})["text"])}</td></tr>'
    )


def _follows(page: _Page, group: diagnosis.Group, series: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> str:
    """What follows from a cause, of one code: one finding open, several behind a line."""
    panels = "".join(f'<div class="panel">{_finding(page, each, series, "h4")}</div>' for each in group.findings)
    if len(group.findings) == 1:
        return panels
    summary = f"{_severity(group.worst)} {escape(group.code)}: {escape(group.text)}"
    return f'<details class="more"><summary>{summary}</summary><div class="stack">{panels}</div></details>'


def _severity(finding: Mapping[str, Any]) -> str:
    badge = {"critical": "fail", "warning": "open", "info": "note-badge"}[finding["severity"]]
    return f'<span class="badge {badge}">{escape(finding["severity"])}</span>'


def _finding(
    page: _Page,
    finding: Mapping[str, Any],
    series: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
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
    figures = "".join(f"<li>{escape(diagnosis.evidence(measure))}</li>" for measure in finding["evidence"])
    drawn = diagnosis.charts(finding, series[finding["code"], finding["entity"]])
    panels = "".join(_panel(page, chart) for chart in drawn)
    grid = "grid" if len(drawn) > 1 else "stack"
    twin = f'<p class="twin"><strong>The twin says:</strong> {escape(what_if["text"])}</p>' if what_if else ""
    if finding["no_what_if"]:
        twin = f'<p class="hint">Not simulated: {escape(finding["no_what_if"])}</p>'
    return (
        f"<{heading}>{_severity(finding)} {escape(finding['title'])}</{heading}>"
        f'<p class="hint"><code>{escape(finding["code"])}</code> · {escape(finding["entity"])}</p>'
        f"<p>{escape(finding['text'])}</p><ul>{figures}</ul>"
        f"<p><strong>What to do:</strong> {escape(finding['advice'])}</p>{twin}"
        f'<p class="hint">Rule: {sources}</p>' + (f'<div class="{grid}">{panels}</div>' if panels else "")
    )


def _verdict(point: Mapping[str, Any]) -> str:
    kind = density.verdict(point)
    badge = {"sure": "pass", "mean": "open"}.get(kind, "fail")
    return f'<span class="badge {badge}">{density.WORDS[kind]}</span>'


class _Page:
    """Collects the body of the page and the charts in it."""

    def __init__(self) -> None:
        self.body: list[str] = []
        self.figures: dict[str, Any] = {}

    def add(self, markup: str) -> None:
        self.body.append(markup)

    def section(self, title: str, markup: str) -> None:
        if markup:
            self.add(f"<section><h2>{escape(title)}</h2>{markup}</section>")

    def chart(self, figure: go.Figure, choices: Sequence[go.Figure] = ()) -> str:
        """Markup that a chart is drawn into; with choices, the page's script can swap the figure."""
        name = f"chart-{len(self.figures) + 1}"
        self.figures[name] = [json.loads(each.to_json()) for each in choices or (figure,)]
        height = int(figure.layout.height or 350)
        return f'<div class="chart" id="{name}" style="min-height:{height}px"></div>'

    def finish(self, title: str) -> str:
        # "<" would let a name close the script element it stands in
        data = json.dumps(self.figures, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
        asset = resources.files("hypertwin.report")
        return "\n".join(
            (
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
                f"<title>{escape(title)} · hypertwin</title>",
                f"<style>{asset.joinpath('page.css').read_text(encoding='utf-8')}</style>",
                f"<script>{get_plotlyjs()}</script>",
                "</head><body><main>",
                *self.body,
                "</main>",
                f'<script id="figures" type="application/json">{data}</script>',
                f"<script>{asset.joinpath('page.js').read_text(encoding='utf-8')}</script>",
                "</body></html>\n",
            )
        )


def _header(result: Mapping[str, Any], title: str, description: str) -> str:
    points = result["points"]
    calibration = " ".join(sorted({table.calibration_note(point) for point in points}))
    facts = [
        ("scenario", str(result["scenario"])),
        ("runs", f"{len(points)} point{'s' if len(points) != 1 else ''}, {table.runs(points)}"),
        ("warm-up", f"{points[0]['warmup_s']:g} s" if points and "warmup_s" in points[0] else ""),
        ("seed", str(result["seed"])),
        ("hypertwin", str(result["version"])),
    ]
    fixed = {path: value for point in points[:1] for path, value in point["set"].items()}
    fixed = {path: value for path, value in fixed.items() if path not in varying_paths(points)}
    chips = "".join(f"<code>{escape(path)}={escape(str(value))}</code> " for path, value in fixed.items())
    more = (f'<p class="chips">{chips}</p>' if chips else "") + f'<p class="calibration">{escape(calibration)}</p>'
    return _banner(title or str(result["scenario"]), description, facts, more)


def _banner(title: str, lead: str, facts: Sequence[tuple[str, str]], more: str = "") -> str:
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts if value)
    return (
        f'<header><p class="brand">hypertwin</p><h1>{escape(title)}</h1>'
        + (f'<p class="lead">{escape(lead)}</p>' if lead else "")
        + f'<dl class="facts">{items}</dl>{more}</header>'
    )


def _panel(page: _Page, chart: charts.Chart) -> str:
    hint = f'<p class="hint">{escape(chart.text)}</p>' if chart.text else ""
    return f'<div class="panel"><h4>{escape(chart.title)}</h4>{hint}{page.chart(chart.figure)}</div>'


def _cards(points: Sequence[Mapping[str, Any]]) -> str:
    paths = varying_paths(points)

    def where(point: Mapping[str, Any]) -> str:
        return ", ".join(f"{short_path(path, paths)} {point['set'].get(path)}" for path in paths)

    def spread(key: str, unit: str, digits: int = 0) -> tuple[str, str] | None:
        found = [
            (value, f"{where(point)}{f' · {name}' if len(table.groups(point)) > 1 else ''}".strip(" ·"))
            for point in points
            for name, group in table.groups(point).items()
            if (value := {**flatten(group), "ready_sum_pct": table.summed(group, "ready_pct")}.get(key)) is not None
        ]
        return _low_high(found, unit, digits)

    hosts = [(value, where(point)) for point in points if (value := charts.host_usage(point)) is not None]
    steady = sum(bool(point["steady"]) for point in points)
    cards = [
        ("Host usage", _low_high(hosts, "%", 0)),
        ("Guest CPU", spread("guest_cpu_pct", "%")),
        ("Response, mean", spread("response_ms_mean", "ms")),
        ("Response, p99", spread("response_ms_p99", "ms")),
        ("Ready, per vCPU", spread("ready_pct", "%", 1)),
        ("Ready, summed over vCPUs", spread("ready_sum_pct", "%", 0)),
        ("Co-stop, per vCPU", spread("costop_pct", "%", 1)),
        ("Steady state", _steady(steady, len(points))),
    ]
    markup = "".join(_card(name, *shown) for name, shown in cards if shown)
    return f'<div class="cards">{markup}</div>'


def _card(name: str, value: str, where: str) -> str:
    return (
        f'<div class="card"><p class="name">{escape(name)}</p><p class="value">{escape(value)}</p>'
        f'<p class="where">{escape(where)}</p></div>'
    )


def _steady(steady: int, points: int) -> tuple[str, str]:
    if points == 1:
        return ("reached", "") if steady else ("not reached", "the load changes, or the run is too short")
    return f"{steady} of {points}", "points reached it"


def _low_high(found: Sequence[tuple[float, str]], unit: str, digits: int) -> tuple[str, str] | None:
    if not found:
        return None
    low, high = min(found), max(found)
    first, last = number(low[0], digits), number(high[0], digits)
    if first == last:
        return f"{last} {unit}", ""
    return f"{first} – {last} {unit}", f"highest: {high[1]}" if high[1] else ""


def _validation(page: _Page, rows: Sequence[Mapping[str, Any]]) -> str:
    figure = charts.validation_chart(rows)
    chart = f'<div class="panel">{page.chart(figure)}</div>' if figure is not None else ""
    return _judged(rows, chart)


def _judged(rows: Sequence[Mapping[str, Any]], drawn: str) -> str:
    """Published figures against the twin: in one sentence, as charts, and as a table."""
    badge = {
        True: '<span class="badge pass">pass</span>',
        False: '<span class="badge fail">outside</span>',
        None: '<span class="badge open">not judged</span>',
    }
    body = "".join(
        f"<tr><td>{escape(row['case'])}</td><td>{escape(row['metric'])}</td><td>{escape(row['kind'])}</td>"
        f"<td class=n>{escape(row['published_text'])}</td><td class=n>{escape(table.twin_text(row))}</td>"
        f"<td class=n>{row['error_pct']:+.1f} %</td><td class=n>{escape(row['tolerance_text'])}</td>"
        f"<td>{badge[row['pass']]}</td><td class=note>{escape(row['note'])}</td></tr>"
        for row in rows
    )
    heads = "".join(
        f"<th{' class=n' if numeric else ''}>{head}</th>"
        for head, numeric in (
            ("case", 0),
            ("figure", 0),
            ("kind", 0),
            ("published", 1),
            ("twin", 1),
            ("error", 1),
            ("tolerance", 1),
            ("", 0),
            ("note", 0),
        )
    )
    return (
        f"<p>{escape(comparison.summary(rows))} <em>Calibrated</em> figures set a parameter; every <em>predicted</em>"
        f' one was left alone.</p>{drawn}<div class="scroll"><table class="sortable">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _charts(page: _Page, points: Sequence[Mapping[str, Any]], marks: Sequence[charts.Mark]) -> str:
    if len(points) > 1:
        sections = charts.sweep_charts(points, marks)
    elif points and table.groups(points[0]):
        sections = [("", charts.entity_charts(points[0]))]
    else:
        return ""
    markup = []
    for name, drawn in sections:
        if len(sections) > 1:
            markup.append(f"<h3>{escape(name)}</h3>")
        panels = "".join(_panel(page, chart) for chart in drawn)
        markup.append(f'<div class="grid">{panels}</div>')
    if marks:
        markup.append('<p class="hint">Star-shaped marks are published figures.</p>')
    return "".join(markup)


def _pools(page: _Page, result: Mapping[str, Any]) -> str:
    """The pools of all points as a table, and for those with failures what these did over time."""
    if not pools.has_pools(result):
        return ""
    heads, cells = pools.lines(result)
    grid = _sortable(heads, cells, len(heads) - len(pools.HEADS), pools.NOTES)
    stories = failures.stories(result["points"])
    if not stories:
        return grid
    chart = page.chart(stories[0].figure, [each.figure for each in stories])
    told = "".join(
        (f"<h4>{escape(each.name)}</h4>" if len(stories) > 1 else "")
        + f"<ol>{''.join(f'<li>{_sentence(sentence)}</li>' for sentence in each.told)}</ol>"
        for each in stories
    )
    chooser = _chooser(chart, [each.name for each in stories])
    hint = f'<p class="hint">First replication. Numbered: red fails, green returns. {chooser}</p>'
    return f'{grid}<h3>Failures</h3>{hint}<div class="panel">{chart}</div>{told}'


def _sentence(sentence: pools.Sentence) -> str:
    text = escape(sentence.text)
    return f'<strong class="loss">{text}</strong>' if sentence.loss else text


def _chooser(chart: str, words: Sequence[str]) -> str:
    """A list to choose which of several figures a chart shows."""
    if len(words) < 2:
        return ""
    entries = "".join(f'<option value="{index}">{escape(each)}</option>' for index, each in enumerate(words))
    name = chart.split('id="')[1].split('"', maxsplit=1)[0]
    return f'<label>Point <select data-chart="{name}">{entries}</select></label>'


def _timelines(page: _Page, points: Sequence[Mapping[str, Any]]) -> str:
    found = charts.timelines(points)
    if not found:
        return ""
    chart = page.chart(found[0][1], [figure for _, figure in found])
    chooser = _chooser(chart, [words for words, _ in found])
    left_out = len(points) - len(found)
    note = f'<p class="hint">{left_out} more points have no timeline here.</p>' if left_out else ""
    return f'<p class="hint">First replication, warm-up excluded. {chooser}</p><div class="panel">{chart}</div>{note}'


def _topology(layouts: Mapping[str, Mapping[str, Any]], points: int) -> str:
    """One drawing for the VMs whose layouts differ by no more than the host's name."""
    alike: dict[str, list[str]] = {}
    for name, layout in layouts.items():
        alike.setdefault(json.dumps({**layout, "host": ""}, sort_keys=True), []).append(name)
    if not alike:
        return ""
    drawings = []
    for names in list(alike.values())[:MAX_DRAWINGS]:
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        hosts = sorted({str(layouts[name]["host"]) for name in names})
        on = ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")
        caption = f"<figcaption><strong>{escape(shown)}</strong> on {escape(on)}</figcaption>"
        drawings.append(f"<figure>{caption}{topology.svg(layouts[names[0]])}</figure>")
    of = "of the first point " if points > 1 else ""
    left_out = len(alike) - len(drawings)
    note = f'<p class="hint">{left_out} more layouts are not drawn.</p>' if left_out else ""
    return (
        f'<p class="hint">Where the vCPUs and the memory of the VMs {of}are: placed at power-on, then as the rebalancer'
        " settles them while all are busy. A drawing shows one VM; others may share its nodes.</p>"
        f'<div class="drawings">{"".join(drawings)}</div>{note}'
    )


def _points(result: Mapping[str, Any]) -> str:
    heads, cells = table.lines(result)
    return _sortable(heads, cells, len(heads) - len(table.HEADS), table.notes(result))


def _sortable(heads: Sequence[str], cells: Iterable[Sequence[str]], words: int, notes: Iterable[str]) -> str:
    """A table that a click on a head sorts, its first columns words and the others numbers, with notes under it."""
    head = "".join(f"<th{' class=n' if index >= words else ''}>{escape(text)}</th>" for index, text in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if index >= words else ''}>{escape(text)}</td>" for index, text in enumerate(row))
        + "</tr>"
        for row in cells
    )
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<ul class="hint">{listed}</ul>'
    )


def _metrics(points: Sequence[Mapping[str, Any]]) -> str:
    used = {catalogue_key(key) for point in points for _, _, metrics in entities(point) for key in flatten(metrics)}
    shown = [metric for metric in CATALOGUE if metric.key in used]
    tools = ["esxtop", "vCenter", "Linux"] + ["storage software"] * any(metric.storage_software for metric in shown)
    rows = "".join(
        f"<tr><td><strong>{escape(metric.name)}</strong><br><code>{escape(metric.key)}</code></td>"
        f"<td>{escape(metric.unit)}</td><td class=note>{escape(metric.definition)}</td>"
        + "".join(
            f"<td>{escape(name)}</td>"
            for name in (metric.esxtop, metric.vcenter, metric.linux, metric.storage_software)[: len(tools)]
        )
        + "</tr>"
        for metric in shown
    )
    heads = "".join(f"<th>{head}</th>" for head in ("figure", "unit", "definition", *tools))
    return (
        "<details><summary>Definitions, and what other tools call each figure</summary>"
        f'<div class="scroll"><table class="metrics"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        "</div></details>"
    )
