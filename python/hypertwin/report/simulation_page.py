"""The page of a simulation: cards, charts, storage pools, timelines, NUMA layouts, all points, definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.documents.validation import Row
from hypertwin.documents.vnuma import Layout
from hypertwin.frame import entities, flatten
from hypertwin.report import comparison, failures, pools, simulation, topology_svg
from hypertwin.report import entities as tables
from hypertwin.report.metrics import CATALOGUE, catalogue_key
from hypertwin.report.plotly_page import Page, grid, hint, scrolling, settings, sortable
from hypertwin.report.points import fixed_settings, groups, runs, varying_paths, where
from hypertwin.report.ready import summed
from hypertwin.report.simulation_charts import Mark, entity_charts, host_usage, sweep_charts, timelines
from hypertwin.report.words import number


def page(
    result: Simulation,
    *,
    title: str = "",
    description: str = "",
    validation: Sequence[Row] = (),
    marks: Sequence[Mark] = (),
    layouts: Mapping[str, Layout] | None = None,
) -> Page:
    """The page of a result.

    `validation` adds published figures against the twin, and `marks` shows them in the charts of the sweep. `layouts`
    are the NUMA layouts of the VMs of the first point, by name, to be drawn.
    """
    points = result["points"]
    made = Page(title or str(result["scenario"]))
    made.banner(
        description, _facts(result), settings(fixed_settings(points), " ".join(simulation.calibrations(points)))
    )
    made.cards(_cards(points))
    if validation:
        made.section("Published against twin", comparison.percentages(made, validation))
    made.section("Results", _charts(made, points, marks))
    made.section("Distributed storage", _pools(made, result))
    made.section("Over time", _timelines(made, points))
    made.section("Topology", topology_svg.drawings(layouts or {}, len(points)))
    cells, _ = tables.cells(result, tables.GROUPS)
    made.section("All points", sortable(cells.heads, cells.rows, cells.swept, simulation.notes(result)))
    made.section("What the figures mean", _metrics(points))
    return made


def _facts(result: Simulation) -> list[tuple[str, str]]:
    points = result["points"]
    return [
        ("scenario", str(result["scenario"])),
        ("runs", f"{len(points)} point{'s' if len(points) != 1 else ''}, {runs(points)}"),
        ("warm-up", f"{points[0]['warmup_s']:g} s" if points and "warmup_s" in points[0] else ""),
        ("seed", str(result["seed"])),
        ("hypertwin", str(result["version"])),
    ]


def _cards(points: Sequence[Point]) -> list[tuple[str, str, str]]:
    paths = varying_paths(points)

    def spread(key: str, unit: str, digits: int = 0) -> tuple[str, str] | None:
        found = [
            (value, f"{where(point, paths)}{f' · {name}' if len(groups(point)) > 1 else ''}".strip(" ·"))
            for point in points
            for name, group in groups(point).items()
            if (value := {**flatten(group), "ready_sum_pct": summed(group, "ready_pct")}.get(key)) is not None
        ]
        return _low_high(found, unit, digits)

    hosts = [(value, where(point, paths)) for point in points if (value := host_usage(point)) is not None]
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
    return [(name, *shown) for name, shown in cards if shown]


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


def _charts(page: Page, points: Sequence[Point], marks: Sequence[Mark]) -> str:
    if len(points) > 1:
        sections = sweep_charts(points, marks)
    elif points and groups(points[0]):
        sections = [("", entity_charts(points[0]))]
    else:
        return ""
    markup = []
    for name, drawn in sections:
        if len(sections) > 1:
            markup.append(f"<h3>{escape(name)}</h3>")
        markup.append(grid(page.panels(drawn)))
    if marks:
        markup.append(hint("Star-shaped marks are published figures."))
    return "".join(markup)


def _pools(page: Page, result: Simulation) -> str:
    """The pools of all points as a table, and for those with failures what these did over time."""
    if not pools.has_pools(result):
        return ""
    lines = pools.lines(result)
    heads, cells = lines.heads, lines.rows
    listed = sortable(heads, cells, len(heads) - len(pools.HEADS), pools.NOTES)
    stories = failures.stories(result["points"])
    if not stories:
        return listed
    chart, chooser = page.choice([each.figure for each in stories], [each.name for each in stories])
    told = "".join(
        (f"<h4>{escape(each.name)}</h4>" if len(stories) > 1 else "")
        + f"<ol>{''.join(f'<li>{_sentence(sentence)}</li>' for sentence in each.told)}</ol>"
        for each in stories
    )
    remark = f'<p class="hint">First replication. Numbered: red fails, green returns. {chooser}</p>'
    return f'{listed}<h3>Failures</h3>{remark}<div class="panel">{chart}</div>{told}'


def _sentence(sentence: pools.Sentence) -> str:
    text = escape(sentence.text)
    return f'<strong class="loss">{text}</strong>' if sentence.loss else text


def _timelines(page: Page, points: Sequence[Point]) -> str:
    found = timelines(points)
    if not found:
        return ""
    chart, chooser = page.choice([figure for _, figure in found], [words for words, _ in found])
    left_out = len(points) - len(found)
    note = hint(f"{left_out} more points have no timeline here." if left_out else "")
    return f'<p class="hint">First replication, warm-up excluded. {chooser}</p><div class="panel">{chart}</div>{note}'


def _metrics(points: Sequence[Point]) -> str:
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
        f"{scrolling(heads, rows, 'metrics')}</details>"
    )
