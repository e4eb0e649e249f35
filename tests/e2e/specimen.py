"""A page with every kind of block and chart, of any size: what the tests of the page look at."""

from __future__ import annotations

import math
import random
from typing import Any, cast

from hypertwin.documents.page import Made
from hypertwin.show import view as v
from hypertwin.show.page import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" width="320" height="90" viewBox="0 0 320 90">'
    "<title>Two nodes</title><rect width='320' height='90' fill='#ffffff'/>"
    "<rect x='10' y='20' width='140' height='60' fill='#cfe3f5'/><text x='20' y='50' fill='#1a2430'>node 0</text>"
    "<rect x='165' y='20' width='140' height='60' fill='#f5dfcf'/><text x='175' y='50' fill='#1a2430'>node 1</text>"
    "</svg>"
)
MADE: Made = {
    "version": "0.1.0",
    "date": "2026-01-02T03:04:05Z",
    "command": ["simulate", "scenarios/small esxi.yaml", "--sweep", "vms.batch.count=4,8,12", "--report", "page.html"],
    "files": [
        {"name": "scenarios/small esxi.yaml", "sha256": "0" * 64, "text": "name: small\nhosts: {}\n"},
        {"name": "trace.csv.gz", "sha256": "1" * 64, "text": None},
    ],
    "seed": 7,
    "calibrated": ["Response times: sysbench on one host, 2019."],
}


def view(vms: int = 20, samples: int = 60) -> dict[str, Any]:
    """A view with everything in it, `vms` rows in its table and heat map, and `samples` on its axis of time."""
    names = [f"app-{number}" for number in range(1, vms + 1)]
    times = [float(second) for second in range(samples)]
    over_time = [_heat(names, times)], _over_time(times)
    crowded = v.group(
        "Host is overcommitted",
        [{"type": "prose", "paragraphs": ["32 vCPUs share 8 cores."], "tone": "bad"}],
        [{"type": "list", "items": [{"text": "Move app-3", "tone": "note"}, {"text": "or app-4"}]}],
        badge=v.badge("severe", "bad"),
        closed=False,
    )
    fix: v.Block = {"type": "text", "name": "fix.sh", "text": "virsh setvcpus app-3 2 --config\n"}
    drawing: v.Block = {"type": "drawing", "caption": "db on esx1", "svg": DRAWING}
    return {
        "title": "Small cluster, batch VMs swept",
        "answer": {
            **v.badge("From 8 batch VMs on the database misses its 20 ms: p99 is 31.4 ms ±1.2.", "bad"),
            "more": ["The cores of esx1 are full: ready of db is 14 %."],
        },
        "promises": [
            {"text": "db: p99 of response at most 20 ms", "met": False, "note": "31.4 ms at 8 batch VMs"},
            {"text": "web: ready at most 5 %", "met": True},
            {"text": "db: I/O latency", "met": None, "note": "no storage in the scenario"},
        ],
        "confidence": [
            v.badge("3 replications of 60 s; half-widths under 4 % of the figures shown.", "good"),
            v.badge("At 12 batch VMs no steady state was reached.", "warn"),
        ],
        "cards": [
            v.card("Host usage", "97.1 %", "esx1", "bad"),
            v.card("Ready, worst VM", "14.2 %", "db", "warn"),
            v.card("Response, p99", "31.4 ms", "±1.2"),
            v.card("Steady state", "3 of 4", "points reached it", "good"),
        ],
        "sections": [
            *v.section(
                "results",
                "Results",
                v.charts(_charts(names)),
                *(v.charts(each, wide=True) for each in over_time),
                text="Means of three replications.",
            ),
            *v.section("vms", "All VMs", [{"type": "table", "table": _table(names)}]),
            *v.section(
                "findings",
                "Findings",
                crowded,
                [fix, {"type": "cards", "cards": [v.card("Moves", "2")]}],
                badge=v.badge("2 open", "warn"),
            ),
            *v.section("topology", "Topology", [drawing], text="Where vCPUs and memory are.", closed=True),
        ],
        "assumptions": ["Percentages are per vCPU.", "Swapping of the host is not modelled."],
    }


def _lines(name: str, title: str, x: v.Axis, y: v.Axis, places: Any, series: Any, **more: Any) -> Any:
    return {"type": "lines", "id": name, "title": title, "x": x, "y": y, "places": places, "series": series, **more}


def _bars(name: str, title: str, categories: Any, value: v.Axis, series: Any, **more: Any) -> Any:
    return {
        **{"type": "bars", "id": name, "title": title, "categories": categories, "value": value, "series": series},
        **more,
    }


def _series(**of: Any) -> list[dict[str, Any]]:
    return [
        {"name": name.replace("_", "-"), "colour": at, "values": values} for at, (name, values) in enumerate(of.items())
    ]


def _charts(names: list[str]) -> list[Any]:
    counts = [1, 2, 4, 8, 12]
    swept: list[dict[str, Any]] = [
        {
            "name": name,
            "colour": colour,
            "values": [base * (1 + count**1.5 / 20) for count in counts],
            "halfWidths": [base * 0.05 * count**0.5 for count in counts],
        }
        for colour, (name, base) in enumerate([("db", 9.0), ("web", 4.0), ("batch of the night", 2.0)])
    ]
    swept.append({"name": "db of last year", "colour": 0, "dash": "dashed", "values": [8, 9, 12, None, None]})
    star = {"x": 4, "y": 13.0, "colour": 0, "text": "13 ms at 4"}
    places = range(len(names))
    worst = _series(ready=[20 / (1 + at) for at in places], co_stop=[3 / (1 + at) for at in places])
    worst[0]["halfWidths"] = [1 / (1 + at) for at in places]
    states = _series(run=[60, 30, 80], ready=[14, 2, 15], co_stop=[3, 0, 0])
    states[2]["colour"] = 3
    cases = [
        {
            **{"x": 2**index, "y": 2**index * (1.3 if index == 4 else 1.02), "colour": 0},
            **{"hollow": index % 2 == 0, "text": f"case {index}"},
        }
        for index in range(12)
    ]
    fitted = {"name": "CPU per transaction of the database", "low": 90, "middle": 100, "high": 110}
    latency = {"name": "latency", "low": 95, "middle": 100, "high": 105}
    return [
        _lines(
            *("response", "Response, mean", v.axis("batch VMs"), v.axis("response", "ms"), counts, swept),
            text="Stars are published figures.",
            alternative="db rises from 9.5 ms at 1 batch VM to 27.7 ms at 12.",
            marks=[{"name": "published", "symbol": "star", "points": [star]}],
            limits=[{"name": "objective, 20 ms", "value": 20, "tone": "bad"}],
        ),
        _lines(
            *("percentiles", "Response by percentile"),
            *(v.axis("percentile", "%", scale="percentile"), v.axis("response", "ms", scale="log")),
            [50, 75, 90, 95, 99, 99.5, 99.9],
            _series(db=[6, 9, 15, 22, 48, 64, 120], web=[2, 3, 5, 6, 9, 12, 20]),
            alternative="One in a thousand takes 120 ms.",
        ),
        _bars(
            *("worst", "Ready, the worst VMs", names, v.axis("ready", "%"), worst),
            alternative="app-1 waits most, 20 %.",
            horizontal=True,
            limits=[{"name": "5 %", "value": 5, "tone": "warn"}],
        ),
        _bars(
            *("states", "CPU states", ["db", "web", "batch of the night"], v.axis("time", "%", end=100), states),
            alternative="db runs 60 % of its time.",
            stacked=True,
        ),
        {
            **{"type": "scatter", "id": "twin", "title": "Published against twin"},
            "alternative": "11 of 12 figures are within 10 %.",
            **{"x": v.axis("published", "ms", scale="log"), "y": v.axis("twin", "ms", scale="log")},
            "diagonal": {"within_pct": [10]},
            "marks": [{"name": "predicted", "symbol": "circle", "points": cases}],
        },
        {
            **{"type": "ranges", "id": "ranges", "title": "Fitted parameters"},
            "alternative": "Both parameters are known within 10 %.",
            "value": v.axis("share of the published figure", "%"),
            "rows": [
                {**fitted, "marks": [{"value": 104, **v.badge("twin 104 %", "good")}]},
                {**latency, "marks": [{"value": 118, **v.badge("twin 118 %", "bad")}]},
            ],
            "legend": {
                "range": "published with tolerance",
                "marks": [v.badge("within", "good"), v.badge("outside", "bad")],
            },
        },
    ]


def _moments(samples: int) -> list[Any]:
    return [
        {"x": samples / 3, "number": 1, "text": "20 s: esx2 fails", "tone": "bad"},
        {"x": samples / 2, "number": 2, "text": "30 s: esx2 returns", "tone": "good"},
    ]


def _heat(names: list[str], times: list[float]) -> Any:
    return {
        **{"type": "heat", "id": "ready-heat", "title": "Ready per VM over time"},
        "alternative": f"{names[0] if names else 'none'} waits most, 18 % on average.",
        "x": v.axis("time", "s"),
        "columns": times,
        "rows": [
            {"name": name, "values": [20 / (1 + index / 4) * abs(math.sin(s / 9 + index)) for s in times]}
            for index, name in enumerate(names)
        ],
        "unit": "%",
        "moments": _moments(len(times))[:1],
    }


def _over_time(times: list[float]) -> list[Any]:
    draw = random.Random(1)
    wave = [[30 + 20 * math.sin(second / 7 + phase) + draw.random() * 4 for second in times] for phase in range(3)]
    series = [{**each, "halfWidths": [3.0] * len(times)} for each in _series(esx1=wave[0], esx2=wave[1], esx3=wave[2])]
    return [
        _lines(
            *(f"time-{name}", f"{name} over time", v.axis("time", "s"), v.axis(name, "%"), times, series),
            alternative=f"{name} swings around 30 %.",
            moments=_moments(len(times)),
            sync="time",
        )
        for name in ("usage", "ready")
    ]


def _table(names: list[str]) -> dict[str, Any]:
    columns = [
        v.words("vm", "VM"),
        v.words("host", "host"),
        v.badges("verdict", "verdict"),
        v.figures("ready", "ready", "%", text="Share of time that a vCPU waits for a logical CPU."),
        v.figures("p99", "response, p99", "ms", text="99 of 100 transactions are faster."),
        v.figures("costop", "co-stop", "%", secondary=True),
        v.figures("usage", "usage", "%"),
        v.figures("throughput", "throughput", "1/s"),
        v.figures("iops", "IOPS", "1/s"),
        v.figures("latency", "I/O latency", "ms"),
        v.figures("local", "NUMA local", "%", secondary=True),
        v.figures("memory", "memory", "GB/s", secondary=True),
    ]
    rows = []
    for index, name in enumerate(names):
        ready = 20 / (1 + index / 3)
        bad = ready > 5
        rows.append(
            {
                "vm": name,
                "host": f"esx{index % 4 + 1}",
                "verdict": v.badge("misses", "bad") if bad else v.badge("fine", "good"),
                "ready": v.figure(ready, "bad" if bad else "plain", half_width=ready / 20),
                "p99": 31.4159 / (1 + index / 9),
                "costop": 0.36 if index % 3 else 0,
                "usage": 97.123 - index / 10,
                "throughput": 1234.5 * (index + 1),
                "iops": None if index % 5 == 0 else 812.6 + index,
                "latency": 0.3612,
                "local": 99.95,
                "memory": 1.5,
            }
        )
    return {
        **{"id": "vms", "caption": "VMs", "columns": columns, "rows": rows},
        "sorted": {"column": "ready", "descending": True},
        "filters": ["host", "verdict"],
        "notes": ["Percentages are per vCPU."],
    }


def page(vms: int = 20, samples: int = 60) -> Page:
    """The specimen as a page."""
    return Page.of_view("view", {"vms": vms}, cast(v.View, view(vms, samples)))
