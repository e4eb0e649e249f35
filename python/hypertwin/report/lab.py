"""What the lab measured, and how the twin's predictions compare: tables for a terminal, and a page."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.lab import Contention, Profile
from hypertwin.report import files
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted

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
    shown = Fitted("", Cells(HEADS, lines(summary), swept=0, words=2))
    tail = [
        *verdicts(summary),
        *_skipped(summary),
        *NOTES,
        f"scenarios, predictions and measurements: {summary['out']}",
    ]
    return Group(shown, Text("\n".join(tail)))


def csv(summary: Contention) -> str:
    """A line for each group of threads of each experiment."""
    rows = ({"experiment": each["experiment"], **row} for each in summary["experiments"] for row in each["rows"])
    return files.records_csv(rows)


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


def page(summary: Contention) -> Page:
    """The page: medians, charts, and a row per group of each experiment."""
    return Page(
        kind="contention",
        title="Predicted, then measured",
        document=summary,
        notes=NOTES,
        tables=[Listing("\n".join(verdicts(summary)), HEADS, lines(summary))],
    )


def _skipped(summary: Contention) -> list[str]:
    return [f"skipped {each['experiment']}: {each['reason']}" for each in summary["skipped"]]


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
    return Fitted("", Cells(("what", "figure", "spread"), profile_lines(found), swept=0, words=3))


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
