"""The tables and notes that a benchmark prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import goals
from results import SIMGRID


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be, the first two to the left."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def rate(value: float) -> str:
    """Events per second with three digits: 12.3 M, 456 k."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.3g}{unit}"
    return f"{value:.3g}"


def times(ratio: float | None) -> str:
    """A ratio, or nothing: 41x, 0.615x, 1/195."""
    if ratio is None:
        return ""
    if ratio < 0.1:
        return f"1/{1 / ratio:,.0f}"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


def kernel_table(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> str:
    """The kernel beside the bare loop and the peers."""
    header = ("case", "tool", "events", "events/s", "spread", "/ heap", "/ SimPy", "peak RSS", "vs exact", "allowed")
    rows = []
    for record in records:
        if "failure" in record:
            rows.append((record["case"], record["tool"], "", "failed", *[""] * 6))
            continue
        spread = 100 * (record["events_per_s_max"] - record["events_per_s_min"]) / record["events_per_s"]
        check = record["check"]
        rows.append(
            (
                record["case"],
                record["tool"],
                rate(record["events"]),
                rate(record["events_per_s"]),
                f"{spread:.0f} %" if record["repetitions"] > 1 else "",
                times(record["ratio_to_heap"]),
                times(record["ratio_to_simpy"]),
                f"{record['peak_rss_mib']:,.0f} MiB",
                f"{check['error_pct']:+.2f} %" + ("" if check["ok"] else " WRONG") if check else "",
                f"{check['tolerance_pct']:.2f} %" if check else "",
            )
        )
    rows += [("-", entry["tool"], "", "not measured", *[""] * 6) for entry in missing]
    return table(header, rows)


def twin_table(records: list[dict[str, Any]]) -> str:
    """The full twin."""
    header = (
        *("case", "tool", "threads", "simulated", "times real time", "events/s", "set-up", "ns/event"),
        *("vs fewest", "vs 1 thread", "s/million I/Os", "peak RSS"),
    )
    rows = []
    for record in records:
        start = (record["case"], record["tool"], str(record["threads"]), record["size"])
        if "failure" in record:
            rows.append((*start, "failed", *[""] * 7))
            continue
        ios = record.get("seconds_per_million_ios")
        rows.append(
            (
                *start,
                times(record["simulated_s_per_s"]),
                rate(record["events_per_s"]),
                f"{1000 * record['setup_s']:,.1f} ms",
                f"{record['ns_per_event']:,.0f}",
                times(record["ratio_to_fewest_hosts"]),
                times(record["speedup"]),
                f"{ios:.2f}" if ios else "",
                f"{record['peak_rss_mib']:,.0f} MiB",
            )
        )
    return table(header, rows)


def vms_table(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> str:
    """The twin beside SimGrid's VMs."""
    header = (
        *("case", "tool", "threads", "seconds", "spread", "CPU", "/ SimGrid", "busy cores/host", "vs load steps"),
        "peak RSS",
    )
    rows = []
    for record in records:
        start = (record["case"], record["tool"], str(record["threads"]))
        if "failure" in record:
            rows.append((*start, record["failure"], *[""] * 6))
            continue
        seconds = sorted(float(run["seconds"]) for run in record["runs"])
        median, check = record["seconds"], record["check"]
        ratio = times(record["ratio_to_simgrid"])
        late = next(
            (r for r in records if r["case"] == record["case"] and r["tool"] == SIMGRID and "failure" in r), None
        )
        if late is not None and "did not end" in late["failure"]:
            ratio = f"> {times(late['limit_s'] / median)}"
        rows.append(
            (
                *start,
                f"{median:.2f} s",
                f"{100 * (seconds[-1] - seconds[0]) / median:.0f} %" if len(seconds) > 1 else "",
                f"{record['cpu_s']:.2f} s" if "cpu_s" in record else "",
                ratio,
                f"{check['value']:.2f}",
                f"{check['error_pct']:+.2f} %" + ("" if check["ok"] else " WRONG"),
                f"{record['peak_rss_mib']:,.0f} MiB",
            )
        )
    rows += [("-", entry["tool"], "", "not measured", *[""] * 6) for entry in missing]
    return table(header, rows)


def short(seconds: float) -> str:
    """A time with three digits: 12.3 ms."""
    factor, unit = next(((f, u) for f, u in ((1, "s"), (1e3, "ms")) if seconds * f >= 1), (1e6, "us"))
    return f"{seconds * factor:.3g} {unit}"


def batch_table(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> str:
    """Batches of simulations, and measurements."""
    header = (
        *("case", "how", "threads", "size", "seconds", "spread", "CPU", "items/s", "per item", "vs first"),
        "peak RSS",
    )
    rows = []
    for record in records:
        start = (record["case"], record["how"], str(record["threads"]), record["size"])
        if "failure" in record:
            rows.append((*start, "failed", *[""] * 6))
            continue
        seconds = sorted(float(run["seconds"]) for run in record["runs"])
        median = record["seconds"]
        rows.append(
            (
                *start,
                f"{median:.3f} s",
                f"{100 * (seconds[-1] - seconds[0]) / median:.0f} %" if len(seconds) > 1 else "",
                f"{record['cpu_s']:.3f} s" if "cpu_s" in record else "",
                rate(record["events_per_s"]),
                short(median / record["events"]),
                times(record["ratio_to_first"]),
                f"{record['peak_rss_mib']:,.0f} MiB",
            )
        )
    rows += [("-", entry["tool"], "", "", "not measured", *[""] * 6) for entry in missing]
    return table(header, rows)


PLACE_HEADER = (
    *("case", "asked", "tool", "seed", "status", "value", "bound", "gap at most", "CPU", "CPU goal"),
    *("peak", "peak goal", "plan goal", "missed"),
)


def place_table(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> str:
    """Plans of clusters beside their goals, and how many reach these."""
    width = len(PLACE_HEADER)
    rows: list[tuple[str, ...]] = []
    judged: list[dict[str, Any]] = []
    for record in records:
        start = (record["case"], record["how"], record["tool"])
        if "failure" in record:
            rows.append((*start, "", "failed", *[""] * (width - 5)))
            continue
        for seed, run in enumerate(record["runs"], 1):
            own = run.get("asked", "memory") != "memory"  # what the peer is asked, too, has no goal
            judged += [run] if own else []
            rows.append((*start, str(seed), *_plan(run), *_beside_goals(run, own=own)))
    rows += [("-", "", entry["tool"], "", "not measured", *[""] * (width - 5)) for entry in missing]
    by_fill: dict[int, list[Mapping[str, Any]]] = {}
    for run in judged:
        by_fill.setdefault(run["fill"], []).append(run)
    lines = [goals.summary(fill, runs) for fill, runs in by_fill.items()]
    return "\n".join([table(PLACE_HEADER, rows), "", *lines]).rstrip()


def _plan(run: dict[str, Any]) -> tuple[str, ...]:
    """Status, value, bound and gap."""
    gap = gap_of(run)
    if "asked" not in run:
        value, bound = run["peak_pct"], run["bound_pct"]
    else:
        factor = 1 if run["asked"] in goals.COUNTED else 100
        value, bound = (None if run[key] is None else factor * run[key] for key in ("value", "bound"))
    unit = ".0f" if run.get("asked") in goals.COUNTED else ".2f"
    texts = ["" if each is None else f"{each:{unit}}{' %' if unit == '.2f' else ''}" for each in (value, bound)]
    return run["status"].lower(), *texts, "" if gap is None else f"{gap:.2f} %"


def _beside_goals(run: dict[str, Any], *, own: bool) -> tuple[str, ...]:
    """CPU time and memory, each beside its goal; what the plan is to be, and the missed goals."""
    late = run["status"] == "late"
    cpu = f"over {run['seconds']:.0f} s" if late else f"{run['cpu_s']:.2f} s"
    peak = "" if late else f"{goals.peak_mb(run):,.0f} MB"
    if not own:
        return cpu, "", peak, "", "", ""
    most_cpu, most_mb, plan = goals.told(run["fill"], run["hosts"])
    return cpu, most_cpu, peak, most_mb, plan, ", ".join(goals.missed(run))


def gap_of(run: dict[str, Any]) -> float | None:
    """How far a plan is from the bound at most, in per cent; of a peer by our bound."""
    if run.get("gap_pct") is not None:
        return float(run["gap_pct"])
    if run.get("peak_pct") is None or not run.get("bound_pct"):
        return None
    return max(0.0, 100 * (float(run["peak_pct"]) / float(run["bound_pct"]) - 1))


def notes(records: list[dict[str, Any]], missing: list[dict[str, str]]) -> list[str]:
    """What each tool keeps per customer, what failed, and what could not be had."""
    said: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record.get("does"):
            said.setdefault((f"{record['tool']} [{record['source']}]", record["does"]), []).append(record["case"])
    found = [f"{tool} ({', '.join(dict.fromkeys(cases))}): {does}" for (tool, does), cases in said.items()]
    found += [f"FAILED {r['case']}, {r['tool']}: {r['failure']}" for r in records if "failure" in r]
    found += [f"NOT MEASURED {entry['tool']} [{entry['source']}]: {entry['reason']}" for entry in missing]
    return found
