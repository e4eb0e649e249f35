"""Guests measured by `hypertwin lab vm`: figures of guest and host, next to the twin's prediction."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, cast

from hypertwin.documents.lab import Guest, Guests
from hypertwin.metrics.words import count, number
from hypertwin.show import view as v

ACCELERATORS = {"kvm": "KVM (hardware virtualisation)", "tcg": "TCG (software emulation)"}

MAX_DRAWN = 4
"""Maximum number of guests in the chart over time."""

NOTES = (
    "Guest: from its /proc/stat and clock, over its serial console. Host: from the schedstat of each vCPU thread, over "
    "the whole time. Twin: predicted before the measurement.",
    "CPU: time not idle. Run queue: processes that run or are ready. Wait: the vCPU could run but had no host CPU. "
    "Response: end of think time to end of burst.",
)

FIGURES = (
    ("guest: CPU", "%", "guest", "cpu_pct"),
    ("guest: run queue", "", "guest", "run_queue"),
    ("guest: steal", "%", "guest", "steal_pct"),
    ("host: run", "%", "host", "run_pct"),
    ("host: wait", "%", "host", "wait_pct"),
    ("throughput", "1/s", "guest", "throughput_per_s"),
    ("response", "ms", "guest", "response_ms"),
)
"""Figures, each with name, unit, source, and key in the source and in the prediction of the twin."""

ERRORS = (
    ("throughput", "throughput_pct", "%"),
    ("response", "response_pct", "%"),
    ("guest CPU", "cpu_points", "points"),
    ("run", "run_points", "points"),
    ("wait", "wait_points", "points"),
)


def facts(found: Guests) -> Iterator[str]:
    """Yield the measured figures, by source."""
    measured, alone = found["measurement"], found["calibration"]
    yield f"Predicted {found['prediction']['written_at']}, {found['prediction']['scenario_file']}"
    yield f"Measured {measured['started_at']}, {measured['seconds']:g} s"
    if found["guests"]:
        together = statistics.fmean(each["host"]["burst_ms"] for each in found["guests"])
        off = 100 * (together / alone["burst_ms"] - 1)
        yield f"A burst cost {together:.1f} ms of host CPU when measured, {off:+.0f}% on the calibration."


def view(found: Guests) -> v.View:
    """Return the view of guests."""
    host, plan, measured, alone = found["host"], found["plan"], found["measurement"], found["calibration"]
    guests, disturbed = found["guests"], measured["disturbed"]
    errors = [f"{name} {number(cast(Any, found['errors'])[key])} {unit}" for name, key, unit in ERRORS]
    differ = sum(each["differ"] for each in guests)
    noise = (
        f"Steal {v.percent(measured['steal_pct'])}, other work {v.percent(measured['foreign_pct'])} of the host CPUs,"
        f" load {number(measured['load1'])}, measured for {number(measured['seconds'])} s."
    )
    quiet = v.badge("Other work took no CPU time that would matter.", "good")
    loud = v.badge("Disturbed: other work or another hypervisor took CPU time. Measure again when idle.", "bad")
    note = found["accelerator_note"]
    bursts = f"a guest, bursts of {number(alone['burst_ms'])} ms, think time {number(alone['think_ms'])} ms"
    drawn = [each for each in guests if each["series"]][:MAX_DRAWN]
    columns = [
        v.words("guest", "guest"),
        v.words("by", "by"),
        *(v.figures(key, name, unit) for name, unit, _, key in FIGURES),
    ]
    caption = "Guest, host and twin"
    return {
        "title": "Guests that share host CPUs",
        "answer": {
            "tone": "warn" if disturbed else "plain",
            "text": f"Predicted before it was measured: the twin's median absolute error is {v.listed(errors)}.",
            "more": [each["story"] for each in guests],
        },
        "promises": [],
        "confidence": [loud if disturbed else quiet, v.badge(noise), *([v.badge(note, "note")] if note else [])],
        "cards": [
            v.card("Guests", str(plan["guests"]), f"of {count(plan['vcpus'], 'vCPU')} on CPU {host['cpus']}"),
            v.card("See another CPU %", str(differ), "guests, than the host does", "warn" if differ else "plain"),
            v.card("Run by", found["accelerator"].upper(), ACCELERATORS[found["accelerator"]]),
            v.card("Load", count(plan["sessions"] * plan["vcpus"], "session"), bursts),
            v.card("Host", host["cpu"], f"{host['logical_cpus']} logical CPUs, Linux {host['kernel']}"),
        ],
        "sections": [
            *v.section("charts", "Guest and host", v.charts(_charts(guests))),
            *v.section(
                "time",
                "Over time",
                v.charts([_over_time(each) for each in drawn]),
                text=f"The first {MAX_DRAWN} of {len(guests)} guests." if len(guests) > MAX_DRAWN else "",
            ),
            *v.section(
                "figures",
                "All figures",
                v.table("figures", caption, columns, [row for each in guests for row in _rows(each)], filters=["by"]),
            ),
        ],
        "assumptions": [*facts(found), *NOTES],
    }


def _rows(each: Guest) -> list[v.Row]:
    fields = cast(Any, each)
    measured = {key: fields[side][key] for _, _, side, key in FIGURES}
    predicted = {key: fields["twin"][key] for _, _, _, key in FIGURES}
    return [{"guest": each["name"], "by": "measured", **measured}, {"guest": each["name"], "by": "twin", **predicted}]


def _charts(guests: list[Guest]) -> list[v.Chart]:
    if not guests:
        return []
    first = guests[0]
    ran = f"{first['name']} ran {v.percent(first['host']['run_pct'])} and waited {v.percent(first['host']['wait_pct'])}"
    said = f"the twin said {v.percent(first['twin']['run_pct'])} and {v.percent(first['twin']['wait_pct'])}"
    sides = [
        (each["name"], name, cast(Any, each)[key])
        for each in guests
        for name, key in (("measured", "host"), ("twin", "twin"))
    ]
    shares: v.BarChart = {
        "type": "bars",
        "id": "shares",
        "title": "CPU time from the host",
        "text": "Time that the vCPUs ran, and that they could run and had no host CPU.",
        "alternative": f"{ran} of the time; {said}.",
        "categories": [f"{name}, {side}" for name, side, _ in sides],
        "value": v.axis("time", "%", begin=0, end=100),
        "series": [
            {"name": "run", "values": [of["run_pct"] for _, _, of in sides], "colour": 2},
            {"name": "wait", "values": [of["wait_pct"] for _, _, of in sides], "colour": 3},
        ],
        "stacked": True,
        "horizontal": True,
    }
    return [
        shares,
        _beside(guests, "cpu", "Guest CPU", "How busy each guest says it is.", "cpu_pct", "%"),
        _beside(guests, "throughput", "Throughput", "Transactions of each guest.", "throughput_per_s", "1/s"),
        _beside(guests, "response", "Response", "End of think time to end of burst.", "response_ms", "ms"),
    ]


def _beside(guests: list[Guest], name: str, title: str, text: str, key: str, unit: str) -> v.BarChart:
    measured, twin = ([cast(Any, each)[side][key] for each in guests] for side in ("guest", "twin"))
    return {
        "type": "bars",
        "id": name,
        "title": title,
        "text": text,
        "alternative": f"{guests[0]['name']}: {number(measured[0])} {unit} measured, {number(twin[0])} in the twin.",
        "categories": [each["name"] for each in guests],
        "value": v.axis(title, unit, begin=0, end=100 if unit == "%" else None),
        "series": [
            {"name": "measured", "values": measured, "colour": v.MEASURED},
            {"name": "twin", "values": twin, "colour": v.TWIN},
        ],
        "horizontal": True,
    }


def _over_time(each: Guest) -> v.LineChart:
    series = each["series"]
    most = max((point["cpu_pct"] for point in series), default=0.0)
    busy = f"The guest sees itself up to {v.percent(most)} busy"
    return {
        "type": "lines",
        "id": f"time-{each['name']}",
        "title": f"{each['name']} over time",
        "text": "What the guest says of its CPU, and what the host gave its vCPUs.",
        "alternative": f"{busy}; on average the host ran it {v.percent(each['host']['run_pct'])} of the time.",
        "x": v.axis("time", "s"),
        "y": v.axis("time", "%", begin=0, end=100),
        "places": [point["time_s"] for point in series],
        "series": [
            {"name": "guest: CPU", "values": [point["cpu_pct"] for point in series], "colour": v.MEASURED},
            {"name": "host: run", "values": [point["run_pct"] for point in series], "colour": 2},
            {"name": "host: wait", "values": [point["wait_pct"] for point in series], "colour": 3, "dash": "dashed"},
        ],
        "sync": "guests",
    }
