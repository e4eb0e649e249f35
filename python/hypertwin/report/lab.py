"""What the lab measured, and how the twin's predictions compare: tables for a terminal, and a page."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hypertwin.documents.lab import Contention, Profile
from hypertwin.report.charts import MUTED, PALETTE, Chart, style
from hypertwin.report.plotly_page import Page, grid, sortable

GB, KIB = 1e9, 2**10

HEADS = (
    *("experiment", "group", "throughput/s", "off %", "mean ms", "off %", "p95 ms", "off %", "wait %", "off"),
    *("runs", "± %", "steal %", "others %"),
)

NAMES = {
    "throughput_pct": ("throughput", "%"),
    "response_mean_pct": ("mean response", "%"),
    "response_p95_pct": ("p95 response", "%"),
    "wait_points": ("run-queue wait", "points"),
}

NOTES = (
    "predicted / measured. Wait: part of wall time that a thread is ready and does not run (schedstat), time that its "
    "quota is used up included; the twin's Ready.",
    "Runs: counted of made; ±: half the range of throughput over the runs counted; steal, others: time of CPUs that "
    "other guests and other processes had in the worst of them. (!) every run was disturbed, and all were counted.",
)


def table(summary: Contention) -> RenderableType:
    """What `hypertwin lab cpu --format json` prints, as a table."""
    shown = _table(HEADS, left=2)
    for cells in lines(summary):
        shown.add_row(*(Text(cell) for cell in cells))
    tail = [
        *verdicts(summary),
        *_skipped(summary),
        *NOTES,
        f"scenarios, predictions and measurements: {summary['out']}",
    ]
    return Group(shown, Text("\n".join(tail)))


def lines(summary: Contention) -> list[list[str]]:
    """The cells of the table, a row per group of each experiment."""
    lines = []
    for result in summary["experiments"]:
        for number, row in enumerate(result["rows"]):
            predicted, measured, errors = row["predicted"], row["measured"], row["errors"]
            first = number == 0
            both = {key: (predicted[key], measured[key]) for key in predicted}
            lines.append(
                [
                    result["experiment"] if first else "",
                    row["group"],
                    "{:.1f} / {:.1f}".format(*both["throughput_per_s"]),
                    f"{errors['throughput_pct']:+.1f}",
                    "{:.2f} / {:.2f}".format(*both["response_ms_mean"]),
                    f"{errors['response_mean_pct']:+.1f}",
                    "{:.1f} / {:.1f}".format(*both["response_ms_p95"]),
                    f"{errors['response_p95_pct']:+.1f}",
                    "{:.1f} / {:.1f}".format(*both["wait_pct"]),
                    f"{errors['wait_points']:+.1f}",
                    f"{result['runs_counted']} of {result['runs']}{' (!)' if result['flagged'] else ''}"
                    if first
                    else "",
                    f"{row['spread']['throughput_per_s']:.1f}",
                    f"{result['steal_pct']:.1f}" if first else "",
                    f"{result['foreign_pct']:.1f}" if first else "",
                ]
            )
    return lines


FIGURES = (
    ("throughput", "throughput_per_s", "throughput_pct", "1/s"),
    ("mean response", "response_ms_mean", "response_mean_pct", "ms"),
    ("p95 response", "response_ms_p95", "response_p95_pct", "ms"),
    ("run-queue wait", "wait_pct", "wait_points", "% of time"),
)


def page(summary: Contention) -> Page:
    """The page: medians, charts, and a row per group of each experiment."""
    made = Page("Predicted, then measured")
    facts = [
        ("CPU", str(summary["machine"]["processor"]["model"])),
        ("kernel", str(summary["machine"]["kernel"]["release"])),
        ("control groups", str(summary["control_groups"])),
        ("runs", f"{summary['repeat']} of {summary['seconds']:g} s each"),
        ("hypertwin", str(summary["version"])),
    ]
    made.banner(verdicts(summary)[0], facts)
    made.cards(
        (
            name,
            "-" if summary["medians"][key] is None else f"{summary['medians'][key]:.1f} {unit}",
            f"promised {most:g}",
        )
        for (key, (name, unit)), most in zip(NAMES.items(), summary["promised"].values(), strict=True)
    )
    made.section("Predicted against measured", grid(made.panels(charts(summary))))
    notes = [*NOTES, *_skipped(summary)]
    made.section("Experiments", sortable(HEADS, lines(summary), 2, notes))
    return made


def _skipped(summary: Contention) -> list[str]:
    return [f"skipped {each['experiment']}: {each['reason']}" for each in summary["skipped"]]


def charts(summary: Contention) -> list[Chart]:
    """Predicted against measured, a chart for each figure and a mark for each group of threads."""
    return [_scatter(summary, *figure) for figure in FIGURES]


def _scatter(summary: Contention, name: str, key: str, error: str, unit: str) -> Chart:
    rows = [(result, row) for result in summary["experiments"] for row in result["rows"]]
    measured = [row["measured"][key] for _, row in rows]
    predicted = [row["predicted"][key] for _, row in rows]
    figure = go.Figure()
    most = 1.08 * max([*measured, *predicted], default=1.0)
    line = {"color": MUTED, "width": 1.2, "dash": "dot"}
    figure.add_scatter(x=[0, most], y=[0, most], mode="lines", line=line, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=measured,
        y=predicted,
        mode="markers",
        showlegend=False,
        marker={
            "size": 10,
            "color": ["white" if result["flagged"] else PALETTE[0] for result, _ in rows],
            "line": {"color": PALETTE[0], "width": 2},
        },
        hovertext=[
            f"{html.escape(result['experiment'])}, {html.escape(row['group'])}: predicted {row['predicted'][key]:.4g}, "
            f"measured {row['measured'][key]:.4g} {unit}"
            for result, row in rows
        ],
        hoverinfo="text",
    )
    figure.update_layout(style(f"measured, {unit}", f"predicted, {unit}"), hovermode="closest")
    figure.update_xaxes(showgrid=True, range=[0, most])
    figure.update_yaxes(range=[0, most])
    median, (_, of) = summary["medians"][error], NAMES[error]
    text = "" if median is None else f"Median absolute error {median:.1f} {of}. Hollow: disturbed."
    return Chart(name, text, figure)


def verdicts(summary: Contention) -> list[str]:
    """The medians over experiments next to what is promised."""
    count = len(summary["experiments"])
    flagged = sum(result["flagged"] for result in summary["experiments"])
    lines = [f"median absolute error over {count} experiments" + (f", {flagged} disturbed (!)" if flagged else "")]
    for key, (name, unit) in NAMES.items():
        median, promised = summary["medians"][key], summary["promised"][key]
        shown = "-" if median is None else f"{median:.1f}"
        verdict = "within" if median is not None and median <= promised else "beyond"
        lines.append(f"  {name}: {shown} {unit}, {verdict} the promised {promised:g}")
    return lines


def profile_table(found: Profile) -> RenderableType:
    """What `hypertwin lab profile` measured, as a table."""
    shown = _table(("what", "figure", "spread"), left=3)
    for cells in profile_lines(found):
        shown.add_row(*(Text(cell) for cell in cells))
    return shown


def profile_lines(found: Profile) -> list[tuple[str, str, str]]:
    """(what, figure, spread) of a machine.json."""
    processor, kernel, topology = found["processor"], found["kernel"], found["topology"]
    cores = {(cpu["socket"], cpu["core"]) for cpu in topology["cpus"]}
    clock = "unknown" if processor["clock_hz"] is None else f"{processor['clock_hz'] / GB:.2f} GHz"
    spin, timers, switch, noise = found["spin"], found["timers"], found["context_switch_ns"], found["noise"]
    lines = [
        ("CPU", processor["model"] + (" (virtual machine)" if processor["virtual"] else ""), ""),
        ("nominal clock", clock, processor["clock_source"]),
        (
            "topology",
            f"{len({cpu['socket'] for cpu in topology['cpus']})} sockets, {len(cores)} cores, {len(topology['cpus'])} "
            f"logical CPUs, {len(topology['nodes'])} nodes",
            "",
        ),
        (
            "caches",
            ", ".join(
                f"L{each['level']} {each['type'][:4]} {each['size_bytes'] // KIB} KiB" for each in topology["caches"]
            ),
            "",
        ),
        ("kernel", kernel["release"], f"{kernel['hz']} Hz ({kernel['hz_source']})"),
        ("base slice", f"{kernel['base_slice_ns'] / 1e6:g} ms", kernel["base_slice_source"]),
        ("spin kernel", f"{spin['units_per_s'] / 1e6:.0f} M units/s", f"{spin['spread_pct']:.1f} %"),
        ("spin, all cores over one", f"{spin['together_over_alone']:.3f}", ""),
    ]
    if found["smt"] is not None:
        lines.append(("SMT yield", f"{found['smt']['yield']:.2f}", f"{found['smt']['spread_pct']:.1f} %"))
    lines += [
        ("sleep ends late by", f"{timers['typical_ns'] / 1e3:.0f} us", f"p99 {timers['p99_ns'] / 1e3:.0f} us"),
        ("context switch", f"{switch['median'] / 1e3:.2f} us", f"{switch['spread_pct']:.1f} %"),
    ]
    for each in found["bandwidth"]:
        where = "all nodes" if each["node"] is None else f"node {each['node']}"
        kernels = (
            ("copy", each["copy_bytes_per_s"]),
            ("scale", each["scale_bytes_per_s"]),
            ("add", each["add_bytes_per_s"]),
            ("triad", each["triad_bytes_per_s"]),
        )
        rates = ", ".join(f"{name} {rate['most'] / GB:.1f}" for name, rate in kernels)
        lines.append(
            (
                f"bandwidth, {each['threads']} threads, {where}",
                f"{rates} GB/s",
                f"{each['triad_bytes_per_s']['spread_pct']:.1f} %",
            )
        )
    coding = found["erasure_coding"]
    for row in coding.get("rows", []):
        if row["operation"] == "encode":
            where = f"{row['working_set']}, {row['scheme']}"
            lines.append((f"erasure coding, {where}", f"{row['cycles_per_byte']:.3f} cycles/byte", ""))
    if "skipped" in coding:
        lines.append(("erasure coding", "-", coding["skipped"].splitlines()[0]))
    disk = found["disk"]
    lines += [
        (
            f"disk {row['kind']} 4k, depth {row['depth']}",
            f"{row['iops']:.0f} IOPS, {row['latency_ms_mean']:.3f} ms",
            f"{row['iops_spread_pct']:.1f} %",
        )
        for row in disk.get("rows", [])
    ]
    if "skipped" in disk:
        lines.append(("disk", "-", disk["skipped"]))
    lines.append(
        (
            "noise",
            f"steal {noise['steal_pct']:.1f} %, load {noise['load']:.1f}",
            f"{noise['lost_pct']:.1f} % lost to others",
        )
    )
    return lines


def _table(heads: Sequence[str], left: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if number < left else "right", no_wrap=True)
    return table
