"""A benchmark campaign: measured and predicted figures, limits, guests beside hosts; and the checks before it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from hypertwin.documents.benchmark import Benchmark, Check, Compared, Step
from hypertwin.metrics.words import count, number
from hypertwin.show import view as v

NOTES = (
    "Measured: the mean of all repeats. Figures of several VMs are sums or means over all of them. Percentiles come"
    " from the histograms of all VMs if the load generator prints them, otherwise they are means.",
    "Right: throughput within 15%, mean latency within 20%, or twice the spread of repeats if that is larger."
    " Neither has a verdict if repeats differ by more than 25%. Percentiles within a factor of 1.5."
    " CPU percentages have no limit.",
    "The limit of a measured step comes from counters of guests and hosts. Without an observed host, ready and the use"
    " of the host's CPUs are unknown.",
)
SEVERITIES: dict[str, v.Tone] = {"error": "bad", "warning": "warn", "note": "note"}
DRAWN = ("throughput_per_s", "iops", "response_ms_mean", "response_ms_p99", "io_latency_ms_mean", "io_latency_ms_p99")
"""Figures with a chart. Latencies of reads and writes have one if there are no others."""
KEYS = ("vms", "threads", "depth", "rate", "jobs", "block", "read_pct", "rw")


def summary(found: Benchmark) -> str:
    """Return the outcome in one sentence."""
    scores = {each["figure"]: each for each in found["scores"]}
    if not scores:
        done = sum(bool(step["runs"]) for step in found["steps"])
        state = "predicted" if found["predicted_at"] else "not predicted yet"
        return f"{count(len(found['steps']), 'step')} of {found['name']} {state}; {done} measured."
    told = [f"{each['figure']} {each['right']} of {each['of']}" for each in found["scores"]]
    when = (
        "Predicted before the measurement" if found["blind"] else "Predicted after the measurement, which is no proof"
    )
    return f"{when}, and right: {v.listed(told)}."


def view(found: Benchmark) -> v.View:
    """Return the view of a campaign."""
    steps = found["steps"]
    right = sum(each["right"] for each in found["scores"])
    of = sum(each["of"] for each in found["scores"])
    tone: v.Tone = "plain" if not of else "good" if right == of else "warn"
    knees = (
        f"knee measured at {found['knee_measured'] or 'no step'}, predicted at {found['knee_predicted'] or 'no step'}"
    )
    blind = {
        "text": "Each compared run is later than the prediction",
        "met": found["blind"] if of else None,
        # the first part of the hash, because narrow pages break no word of 64 characters
        "note": f"predicted {found['predicted_at']}, SHA-256 {found['prediction_sha256'][:16]}..."
        if found["predicted_at"] and found["prediction_sha256"]
        else "",
    }
    whole: v.Promise = {"text": "All runs are measured", "met": not found["missing"]}
    return {
        "title": f"Benchmark {found['name']}",
        "answer": {"tone": tone, "text": summary(found), "more": [v.sentence(knees)] if of else []},
        "promises": [blind, whole],  # type: ignore[list-item]
        "confidence": list(_confidence(found)),
        "cards": [
            *(
                v.card(each["figure"], f"{each['right']} of {each['of']}", _error(each["median_error_pct"]))
                for each in found["scores"]
            ),
            v.card("Load", found["load"], count(len(found["targets"]), "VM")),
        ],
        "notes": found["notes"],
        "sections": [
            *v.section("curves", "Measured and predicted", v.charts(list(_curves(found))), _figures(steps)),
            *v.section("limits", "What limited each step", _limits(steps)),
            *v.section("views", "Guests and hosts side by side", _views(steps)),
            *v.section("parameters", "Parameters that fit all steps", _proposals(found)),
            *v.section("runs", "All runs", _runs(steps), detail=True),
        ],
        "assumptions": NOTES,
        "brief": ["figures", "limits"],
    }


def csv_of(found: Benchmark) -> str:
    """Return a line for each figure of each step."""
    columns = ("step", "calibration", *Compared.__annotations__)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for step in found["steps"]:
        for figure in step["figures"]:
            writer.writerow({"step": step["name"], "calibration": step["calibration"], **figure})
    return stream.getvalue()


def check_view(found: Check) -> v.View:
    """Return the view of the checks before a campaign."""
    errors = sum(each["severity"] == "error" for each in found["findings"])
    text = "All targets are ready." if found["ok"] else f"{count(errors, 'problem')} to solve before the campaign."
    rows: list[v.Cells] = [
        [
            (v.badges("severity", ""), v.badge(each["severity"], SEVERITIES[each["severity"]])),
            (v.words("target", "target"), each["target"]),
            (v.words("text", "finding"), each["text"]),
            (v.words("fix", "advice"), each["fix"]),
        ]
        for each in found["findings"]
    ]
    machines = [
        v.words("name", "name"),
        v.words("hostname", "host name"),
        v.words("kernel", "kernel", secondary=True),
        v.figures("cpus", "CPUs"),
        v.figures("free_gib", "free", "GiB"),
        v.figures("busy_pct", "busy", "%"),
        v.figures("steal_pct", "steal", "%"),
        v.figures("offset_ms", "clock", "ms", text="Clock of the target or host minus the clock of this computer."),
    ]
    told: list[v.Row] = [{key: each[key] for key in each if key != "versions"} for each in found["machines"]]  # type: ignore[literal-required]
    return v.tabular(
        f"Targets of {found['name']}",
        v.listing("findings", "Findings", rows),
        v.table("machines", "Targets and hosts", machines, told),
        answer=text,
    )


def _confidence(found: Benchmark) -> Iterator[v.Badge]:
    inside = [
        figure["in_interval"]
        for step in found["steps"]
        if not step["calibration"]
        for figure in step["figures"]
        if figure["in_interval"] is not None
    ]
    if inside:
        share = 100 * sum(inside) / len(inside)
        yield v.badge(f"{share:.0f}% of {len(inside)} figures are in the twin's 80% interval.", "note")
    spreads = [f["spread_pct"] for step in found["steps"] for f in step["figures"] if f["spread_pct"] is not None]
    if spreads:
        yield v.badge(f"Repeats differ by {number(sorted(spreads)[len(spreads) // 2])}% (median).", "note")
    if found["calibrated_on"]:
        yield v.badge("One step set parameters before the prediction.", "note")


def _error(value: float | None) -> str:
    return "" if value is None else f"median error {number(value)}%"


def _figures(steps: Sequence[Step]) -> Sequence[v.Block]:
    is_repeated = any(figure["spread_pct"] is not None for step in steps for figure in step["figures"])
    rows: list[v.Cells] = [
        [
            (v.words("step", "step"), step["title"]),
            (v.words("title", "figure"), figure["title"]),
            (v.words("unit", "unit"), figure["unit"]),
            (v.figures("measured", "measured"), figure["measured"]),
            (
                v.figures("spread", "spread", "%", text="Difference between the largest and the smallest repeat."),
                figure["spread_pct"],
            ),
            (v.figures("predicted", "predicted"), _predicted(figure)),
            (v.figures("error_pct", "error", "%"), figure["error_pct"]),
            (v.words("promise", "promise", secondary=not is_repeated), figure["promise"]),
            (v.badges("verdict", "verdict"), _verdict(step, figure)),
        ]
        for step in steps
        for figure in step["figures"]
    ]
    return v.listing("figures", "Figures by step", rows, filters=["step", "title"])


def _predicted(figure: Compared) -> v.Cell:
    low, high = figure["low"], figure["high"]
    ends = None if low is None or high is None else (low, high)
    return v.figure(figure["predicted"], half_width=figure["ci95"], ends=ends)


def _verdict(step: Step, figure: Compared) -> v.Cell:
    if step["calibration"]:
        return v.badge("set parameters", "note")
    if figure["within"] is None:
        return None
    return v.badge("right", "good") if figure["within"] else v.badge("off", "bad")


def _limits(steps: Sequence[Step]) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("step", "step"), step["title"]),
            (
                v.words("measured", "measured"),
                step["limit"]["measured"] if any(run["views"] for run in step["runs"]) else "not measured",
            ),
            (v.words("predicted", "predicted"), step["limit"]["predicted"] or ""),
            (
                v.badges("verdict", "verdict"),
                v.badge("set parameters", "note")
                if step["calibration"]
                else None
                if step["limit"]["right"] is None
                else v.badge("same", "good")
                if step["limit"]["right"]
                else v.badge("differs", "bad"),
            ),
            (v.words("evidence", "counters"), step["limit"]["evidence"]),
            (v.words("text", "twin", secondary=True), step["limit"]["predicted_text"]),
        ]
        for step in steps
        if step["runs"]
    ]
    return v.listing("limits", "Limits", rows)


def _views(steps: Sequence[Step]) -> Sequence[v.Block]:
    columns = [
        v.words("step", "step"),
        v.words("kind", "seen by"),
        v.words("name", "guest or host"),
        v.figures("busy_pct", "CPU busy", "%"),
        v.figures("steal_pct", "steal", "%"),
        v.figures("throttled_pct", "throttled", "%", text="Periods in which the CPU quota was used up."),
        v.figures("cpu_pressure_pct", "CPU pressure", "%", text="Time in which some task waited for a CPU."),
        v.figures("io_pressure_pct", "I/O pressure", "%"),
        v.figures("disk_util_pct", "disk busy", "%"),
        v.figures("load_1min", "load", secondary=True),
    ]
    rows: list[v.Row] = []
    for step in steps:
        names = dict.fromkeys((each["kind"], each["name"]) for run in step["runs"] for each in run["views"])
        for kind, name in names:
            own = [
                each for run in step["runs"] for each in run["views"] if (each["kind"], each["name"]) == (kind, name)
            ]
            means: dict[str, Any] = {}
            for column in columns[3:]:
                known = [each[column["key"]] for each in own if each[column["key"]] is not None]  # type: ignore[literal-required]
                means[column["key"]] = sum(known) / len(known) if known else None
            rows.append({"step": step["title"], "kind": kind, "name": name, **means})
    return v.table("views", "Means over repeats", columns, rows, filters=["kind", "name"])


def _proposals(found: Benchmark) -> Sequence[v.Block]:
    rows: list[v.Cells] = [
        [
            (v.words("path", "parameter"), each["path"]),
            (v.words("used", "used"), each["used"]),
            (v.words("fitted", "fits all steps"), each["fitted"]),
            (v.words("interval", "95% interval"), each["interval"]),
            (
                v.badges("verdict", "verdict"),
                v.badge("not identified", "note")
                if not each["identified"]
                else v.badge("change it", "warn")
                if each["differs"]
                else v.badge("fits", "good"),
            ),
        ]
        for each in found["proposals"]
    ]
    return v.listing("proposals", "Parameters", rows)


def _runs(steps: Sequence[Step]) -> Sequence[v.Block]:
    keys = list(dict.fromkeys(key for step in steps for run in step["runs"] for key in run["figures"]))
    columns = [v.figures(key, key.replace("_", " "), secondary=index > 3) for index, key in enumerate(keys)]
    rows: list[v.Cells] = [
        [
            (v.words("step", "step"), step["title"]),
            (v.words("vm", "VM"), vm or "all"),
            (v.words("started", "started", secondary=True), run["started"]),
            (v.figures("repeat", "repeat"), run["repeat"]),
            (v.figures("skew_ms", "skew", "ms"), run["skew_ms"] if not vm else None),
            *((column, figures.get(key)) for key, column in zip(keys, columns, strict=True)),
        ]
        for step in steps
        for run in step["runs"]
        for vm, figures in (("", run["figures"]), *run["vms"].items())
    ]
    return v.listing("runs", "Runs", rows, filters=["step", "vm"])


def _curves(found: Benchmark) -> Iterator[v.LineChart]:
    """Yield a chart for each drawn figure, over the key of the steps with the most values."""
    steps = found["steps"]
    known = {figure["metric"] for step in steps for figure in step["figures"]}
    keys = [key for key in DRAWN if key in known] or [key for key in sorted(known) if "latency" in key]
    for key in keys:
        chart = _curve(steps, key)
        if chart is not None:
            yield chart


def _curve(steps: Sequence[Step], key: str) -> v.LineChart | None:
    values = [{"vms": step["vms"], **step["values"]} for step in steps]
    numeric = [each for each in KEYS if all(isinstance(value.get(each), int | float) for value in values)]
    x = max(numeric, key=lambda each: len({value[each] for value in values}), default=None)
    if x is None or len({value[x] for value in values}) < 2:
        return None
    places = sorted({float(value[x]) for value in values})
    lines: dict[str, list[tuple[float, Compared]]] = {}
    for step, value in zip(steps, values, strict=True):
        others = ", ".join(f"{name} {each}" for name, each in value.items() if name != x and _varies(values, name))
        figure = next((each for each in step["figures"] if each["metric"] == key), None)
        if figure is not None:
            lines.setdefault(others, []).append((float(value[x]), figure))
    series: list[v.Series] = []
    for index, (others, points) in enumerate(lines.items()):
        at = dict(points)
        colours = (v.MEASURED, v.TWIN) if len(lines) == 1 else (index, index)  # then the dash tells them apart
        behind = f", {others}" if others else ""
        half = [(at[place]["most"] - at[place]["least"]) / 2 if place in at else None for place in places]
        series.append(
            {
                "name": f"measured{behind}",
                "values": [at[place]["measured"] if place in at else None for place in places],
                "halfWidths": half,
                "colour": colours[0],
            }
        )
        series.append(
            {
                "name": f"predicted{behind}",
                "values": [at[place]["predicted"] if place in at else None for place in places],
                "lows": [at[place]["low"] if place in at else None for place in places],
                "highs": [at[place]["high"] if place in at else None for place in places],
                "colour": colours[1],
                "dash": "dashed",
            }
        )
    first = next(figure for points in lines.values() for _, figure in points)
    told = [
        f"{x} {number(place)}: {number(figure['measured'])} measured, {number(figure['predicted']) or '-'} predicted"
        for points in lines.values()
        for place, figure in points
    ]
    name = {"vms": "VMs", "threads": "threads of each VM", "depth": "I/Os outstanding"}.get(x, x)
    return {
        "type": "lines",
        "id": f"curve-{v.slug(key)}",
        "title": v.sentence(first["title"]).removesuffix("."),
        "text": "Bands: measured from the smallest to the largest repeat, predicted with the twin's own error.",
        "alternative": f"{first['title']}: {'; '.join(told[:12])}.",
        "x": v.axis(name),
        "y": v.axis(first["title"], first["unit"], begin=0.0),
        "places": places,
        "series": series,
    }


def _varies(values: Sequence[dict[str, Any]], key: str) -> bool:
    return len({repr(value.get(key)) for value in values}) > 1
