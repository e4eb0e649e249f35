"""Guests measured by `hypertwin lab vm`: what guest and host say, beside what the twin predicted of both."""

from __future__ import annotations

import html
import statistics

import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.lab import Guest, Guests
from hypertwin.frame import numeric
from hypertwin.report.charts import INK, PALETTE, STATE_COLOURS, Chart, style
from hypertwin.report.plotly_page import Page, grid, items, sortable
from hypertwin.report.table import titled

ACCELERATORS = {"kvm": "KVM (hardware virtualisation)", "tcg": "TCG (software emulation)"}

NOTES = (
    "guest: by its own /proc/stat and clock, over its serial console. host: by the scheduler's account of each vCPU "
    "thread (schedstat), of the whole time. twin: predicted before the measurement.",
    "CPU: time not idle. Run queue: processes that run or are ready. Wait: the vCPU could run and had no host CPU. "
    "Response: end of think time to end of burst.",
)

COLUMNS: tuple[tuple[str, str, str, int], ...] = (
    # head, key in the guest's or the host's part, key of the twin, digits
    ("CPU %", "guest.cpu_pct", "cpu_pct", 1),
    ("run queue", "guest.run_queue", "run_queue", 2),
    ("steal %", "guest.steal_pct", "steal_pct", 1),
    ("run %", "host.run_pct", "run_pct", 1),
    ("wait %", "host.wait_pct", "wait_pct", 1),
    ("1/s", "guest.throughput_per_s", "throughput_per_s", 2),
    ("response ms", "guest.response_ms", "response_ms", 1),
)


def facts(result: Guests) -> list[tuple[str, str]]:
    """What was measured where, as (name, value)."""
    plan, host, measured = result["plan"], result["host"], result["measurement"]
    alone = result["calibration"]
    why = result["accelerator_note"]
    together = statistics.fmean(each["host"]["burst_ms"] for each in result["guests"])
    return [
        ("guests", f"{plan['guests']} of {plan['vcpus']} vCPU{'s' if plan['vcpus'] > 1 else ''} on CPU {host['cpus']}"),
        ("run by", ACCELERATORS[result["accelerator"]] + (f", {why}" if why else "")),
        ("host", f"{host['cpu']}, {host['logical_cpus']} logical CPUs, Linux {host['kernel']}"),
        (
            "load",
            f"{plan['sessions'] * plan['vcpus']} sessions a guest, bursts of {alone['burst_ms']:.1f} ms, "
            f"think time {alone['think_ms']:.1f} ms",
        ),
        ("predicted", f"{result['prediction']['written_at']}, {result['prediction']['scenario_file']}"),
        ("measured", f"{measured['started_at']}, {measured['seconds']:g} s"),
        (
            "noise",
            f"steal {measured['steal_pct']:.1f} %, other work {measured['foreign_pct']:.1f} % of the host CPUs, "
            f"load {measured['load1']:.1f}; a burst cost {together:.1f} ms of host CPU when measured, "
            f"{100 * (together / alone['burst_ms'] - 1):+.0f} % on the calibration",
        ),
    ]


def warnings(result: Guests) -> list[str]:
    """What a reader must know before trusting the figures."""
    if not result["measurement"]["disturbed"]:
        return []
    return [
        "Disturbed: other work or another hypervisor took CPU time during the measurement; measure again when idle."
    ]


def sentences(result: Guests) -> list[str]:
    """What the figures say: a sentence for each guest, and how good the prediction was."""
    errors = result["errors"]
    return [
        *(each["story"] for each in result["guests"]),
        f"The twin's median absolute error: throughput {errors['throughput_pct']:.1f} %, response "
        f"{errors['response_pct']:.1f} %, guest CPU {errors['cpu_points']:.1f} points, run {errors['run_points']:.1f} "
        f"points, wait {errors['wait_points']:.1f} points.",
    ]


def lines(result: Guests) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the table: for each guest a row as measured, and one as predicted."""
    heads = ["guest", "", *(f"{key.partition('.')[0]}: {head}" for head, key, _, _ in COLUMNS)]
    cells = []
    for each in result["guests"]:
        measured, predicted = [], []
        for _, key, twin, digits in COLUMNS:
            part, _, name = key.partition(".")
            measured.append(f"{numeric(each['guest'] if part == 'guest' else each['host'], name):.{digits}f}")
            predicted.append(f"{numeric(each['twin'], twin):.{digits}f}")
        cells += [[each["name"], "measured", *measured], [each["name"], "twin", *predicted]]
    return heads, cells


def table(result: Guests) -> RenderableType:
    """What `hypertwin lab vm --format json` prints, for a terminal."""
    heads, cells = lines(result)
    shown = titled("Guest, host and twin")
    for index, head in enumerate(heads):
        shown.add_column(Text(head.replace(": ", "\n")), justify="right" if index > 1 else "left", no_wrap=index < 2)
    for index, row in enumerate(cells):
        twin = index % 2 == 1
        shown.add_row(*(Text(cell) for cell in ["" if twin else row[0], *row[1:]]), style="cyan" if twin else "")
    return Group(
        Text("\n".join(f"{name}: {value}" for name, value in facts(result))),
        *(Text(warning, "bold yellow") for warning in warnings(result)),
        Text(),
        shown,
        *(Text(sentence) for sentence in sentences(result)),
        *(Text(note, style="dim") for note in NOTES),
    )


def page(result: Guests) -> Page:
    """The page: what the figures say, charts, and the table."""
    made = Page("Guests that share host CPUs")
    warned = "".join(f'<p class="calibration">{html.escape(text)}</p>' for text in warnings(result))
    lead = "The same virtual CPUs, as the guest, the host and the twin see them."
    made.banner(lead, [*facts(result), ("hypertwin", str(result["version"]))], warned)
    made.section("Guest and host", f"<ul>{items(sentences(result))}</ul>{grid(made.panels(charts(result)))}")
    made.section("All figures", sortable(*lines(result), 2, NOTES))
    return made


def charts(result: Guests) -> list[Chart]:
    """Guest and host beside the twin, throughput, and each guest over time."""
    return [
        Chart(
            "Two stories of one vCPU",
            "Bars: what the host gave. Diamonds: how busy the guest says it is. Pale and hollow: the twin.",
            _shares(result),
        ),
        Chart("Throughput", "Transactions per second of each guest, measured and predicted.", _throughput(result)),
        *(
            Chart(
                f"{each['name']} over time",
                "Solid: what the guest says of its CPU. Filled: what the host gave, run and wait.",
                _over_time(each),
            )
            for each in result["guests"][:MOST_DRAWN]
        ),
    ]


MOST_DRAWN = 4
"""Guests that are drawn over time."""


def _shares(result: Guests) -> go.Figure:
    figure = go.Figure()
    guests = result["guests"]
    # two bars a guest, measured and predicted, on a two-level axis
    names = [[each["name"] for each in guests for _ in range(2)], ["measured", "twin"] * len(guests)]
    for index, (word, key) in enumerate((("run", "run_pct"), ("wait", "wait_pct"))):
        values = [numeric(side, key) for each in guests for side in (each["host"], each["twin"])]
        figure.add_bar(
            x=names,
            y=values,
            name=f"host: {word}",
            marker={"color": STATE_COLOURS[index], "opacity": [1.0, 0.45] * len(guests)},
            hovertemplate="%{y:.1f} %<extra></extra>",
        )
    figure.add_scatter(
        x=names,
        y=[side["cpu_pct"] for each in guests for side in (each["guest"], each["twin"])],
        name="guest: CPU",
        mode="markers",
        marker={
            "symbol": ["diamond", "diamond-open"] * len(guests),
            "size": 13,
            "color": INK,
            "line": {"color": INK, "width": 1.5},
        },
        hovertemplate="%{y:.1f} %<extra></extra>",
    )
    figure.update_layout(style("", "% of time"), barmode="stack", hovermode="closest", height=420)
    figure.update_yaxes(range=[0, 105])
    return figure


def _throughput(result: Guests) -> go.Figure:
    figure = go.Figure()
    names = [each["name"] for each in result["guests"]]
    for word, colour, values in (
        ("measured", PALETTE[0], [each["guest"]["throughput_per_s"] for each in result["guests"]]),
        ("twin", PALETTE[1], [each["twin"]["throughput_per_s"] for each in result["guests"]]),
    ):
        figure.add_bar(x=names, y=values, name=word, marker={"color": colour}, hovertemplate="%{y:.2f} /s")
    figure.update_layout(style("", "1/s"), barmode="group", hovermode="x unified", height=420)
    return figure


def _over_time(guest: Guest) -> go.Figure:
    figure = go.Figure()
    times = [point["time_s"] for point in guest["series"]]
    for index, (word, key) in enumerate((("run", "run_pct"), ("wait", "wait_pct"))):
        figure.add_scatter(
            x=times,
            y=[numeric(point, key) for point in guest["series"]],
            name=f"host: {word}",
            mode="lines",
            stackgroup="host",
            line={"color": STATE_COLOURS[index], "width": 0.5},
            hovertemplate="%{y:.0f} %",
        )
    figure.add_scatter(
        x=times,
        y=[point["cpu_pct"] for point in guest["series"]],
        name="guest: CPU",
        mode="lines",
        line={"color": INK, "width": 2.4},
        hovertemplate="%{y:.0f} %",
    )
    figure.update_layout(style("s", "% of time"))
    figure.update_yaxes(range=[0, 105])
    return figure
