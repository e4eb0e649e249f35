"""Guests measured by `hypertwin lab vm`: what guest and host say, beside what the twin predicted of both."""

from __future__ import annotations

import statistics

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.lab import Guests
from hypertwin.frame import numeric
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted

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
    rows = [["" if index % 2 else row[0], *row[1:]] for index, row in enumerate(cells)]
    shown = Fitted(
        "Guest, host and twin",
        Cells(heads, rows, swept=0, words=2),
        style=lambda row, _head, _text: "cyan" if row % 2 else "",
    )
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
    return Page(
        kind="guests",
        title="Guests that share host CPUs",
        document=result,
        notes=NOTES,
        tables=[Listing("Guest, host and twin", *lines(result))],
    )
