"""A page with every kind of block and chart, of any size: what the tests of the page look at."""

from __future__ import annotations

import math
import random
from typing import Any, cast

from hypertwin.documents.page import Made
from hypertwin.show.page import Page
from hypertwin.show.view import View

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
    return {
        "title": "Small cluster, batch VMs swept",
        "answer": {
            "tone": "bad",
            "text": "From 8 batch VMs on the database misses its 20 ms: p99 is 31.4 ms ±1.2.",
            "more": ["The cores of esx1 are full: ready of db is 14 %."],
        },
        "promises": [
            {"text": "db: p99 of response at most 20 ms", "met": False, "note": "31.4 ms at 8 batch VMs"},
            {"text": "web: ready at most 5 %", "met": True},
            {"text": "db: I/O latency", "met": None, "note": "no storage in the scenario"},
        ],
        "confidence": [
            {"tone": "good", "text": "3 replications of 60 s; half-widths under 4 % of the figures shown."},
            {"tone": "warn", "text": "At 12 batch VMs no steady state was reached."},
        ],
        "cards": [
            {"name": "Host usage", "value": "97.1 %", "remark": "esx1", "tone": "bad"},
            {"name": "Ready, worst VM", "value": "14.2 %", "remark": "db", "tone": "warn"},
            {"name": "Response, p99", "value": "31.4 ms", "remark": "±1.2"},
            {"name": "Steady state", "value": "3 of 4", "remark": "points reached it", "tone": "good"},
        ],
        "sections": [
            _charts(names, samples),
            {
                "id": "vms",
                "heading": "All VMs",
                "blocks": [{"type": "table", "table": _table(names)}],
            },
            {
                "id": "findings",
                "heading": "Findings",
                "badge": {"tone": "warn", "text": "2 open"},
                "blocks": [
                    {
                        "type": "group",
                        "heading": "Host is overcommitted",
                        "badge": {"tone": "bad", "text": "severe"},
                        "closed": False,
                        "blocks": [
                            {"type": "prose", "paragraphs": ["32 vCPUs share 8 cores."], "tone": "bad"},
                            {"type": "list", "items": [{"text": "Move app-3", "tone": "note"}, {"text": "or app-4"}]},
                        ],
                    },
                    {"type": "text", "name": "fix.sh", "text": "virsh setvcpus app-3 2 --config\n"},
                    {"type": "cards", "cards": [{"name": "Moves", "value": "2"}]},
                ],
            },
            {
                "id": "topology",
                "heading": "Topology",
                "closed": True,
                "text": "Where vCPUs and memory are.",
                "blocks": [{"type": "drawing", "caption": "db on esx1", "svg": DRAWING}],
            },
        ],
        "assumptions": ["Percentages are per vCPU.", "Swapping of the host is not modelled."],
    }


def _charts(names: list[str], samples: int) -> dict[str, Any]:
    draw = random.Random(1)
    times = [float(second) for second in range(samples)]
    wave = [[30 + 20 * math.sin(second / 7 + phase) + draw.random() * 4 for second in times] for phase in range(3)]
    counts = [1, 2, 4, 8, 12]
    swept = [
        {
            "name": name,
            "colour": colour,
            "values": [base * (1 + count**1.5 / 20) for count in counts],
            "halfWidths": [base * 0.05 * count**0.5 for count in counts],
        }
        for colour, (name, base) in enumerate([("db", 9.0), ("web", 4.0), ("batch of the night", 2.0)])
    ]
    swept.append({"name": "db of last year", "colour": 0, "dash": "dashed", "values": [8, 9, 12, None, None]})
    percentiles = [50, 75, 90, 95, 99, 99.5, 99.9]
    heat = {
        "type": "heat",
        "id": "ready-heat",
        "title": "Ready per VM over time",
        "alternative": f"{names[0] if names else 'none'} waits most, 18 % on average.",
        "x": {"name": "time", "unit": "s"},
        "columns": times,
        "rows": [
            {"name": name, "values": [20 / (1 + index / 4) * abs(math.sin(s / 9 + index)) for s in times]}
            for index, name in enumerate(names)
        ],
        "unit": "%",
        "moments": [{"x": samples / 3, "number": 1, "text": "20 s: esx2 fails", "tone": "bad"}],
    }
    moments = [
        {"x": samples / 3, "number": 1, "text": "20 s: esx2 fails", "tone": "bad"},
        {"x": samples / 2, "number": 2, "text": "30 s: esx2 returns", "tone": "good"},
    ]
    return {
        "id": "results",
        "heading": "Results",
        "text": "Means of three replications.",
        "blocks": [
            {
                "type": "charts",
                "charts": [
                    {
                        "type": "lines",
                        "id": "response",
                        "title": "Response, mean",
                        "text": "Stars are published figures.",
                        "alternative": "db rises from 9.5 ms at 1 batch VM to 27.7 ms at 12.",
                        "x": {"name": "batch VMs"},
                        "y": {"name": "response", "unit": "ms"},
                        "places": counts,
                        "series": swept,
                        "marks": [
                            {
                                "name": "published",
                                "symbol": "star",
                                "points": [{"x": 4, "y": 13.0, "colour": 0, "text": "13 ms at 4"}],
                            }
                        ],
                        "limits": [{"name": "objective, 20 ms", "value": 20, "tone": "bad"}],
                    },
                    {
                        "type": "lines",
                        "id": "percentiles",
                        "title": "Response by percentile",
                        "alternative": "One in a thousand takes 120 ms.",
                        "x": {"name": "percentile", "unit": "%", "scale": "percentile"},
                        "y": {"name": "response", "unit": "ms", "scale": "log"},
                        "places": percentiles,
                        "series": [
                            {"name": "db", "colour": 0, "values": [6, 9, 15, 22, 48, 64, 120]},
                            {"name": "web", "colour": 1, "values": [2, 3, 5, 6, 9, 12, 20]},
                        ],
                    },
                    {
                        "type": "bars",
                        "id": "worst",
                        "title": "Ready, the worst VMs",
                        "alternative": "app-1 waits most, 20 %.",
                        "categories": names,
                        "value": {"name": "ready", "unit": "%"},
                        "series": [
                            {
                                "name": "ready",
                                "colour": 0,
                                "values": [20 / (1 + index) for index in range(len(names))],
                                "halfWidths": [1 / (1 + index) for index in range(len(names))],
                            },
                            {
                                "name": "co-stop",
                                "colour": 1,
                                "values": [3 / (1 + index) for index in range(len(names))],
                            },
                        ],
                        "horizontal": True,
                        "limits": [{"name": "5 %", "value": 5, "tone": "warn"}],
                    },
                    {
                        "type": "bars",
                        "id": "states",
                        "title": "CPU states",
                        "alternative": "db runs 60 % of its time.",
                        "categories": ["db", "web", "batch of the night"],
                        "value": {"name": "time", "unit": "%", "to": 100},
                        "series": [
                            {"name": "run", "colour": 0, "values": [60, 30, 80]},
                            {"name": "ready", "colour": 1, "values": [14, 2, 15]},
                            {"name": "co-stop", "colour": 3, "values": [3, 0, 0]},
                        ],
                        "stacked": True,
                    },
                    {
                        "type": "scatter",
                        "id": "twin",
                        "title": "Published against twin",
                        "alternative": "11 of 12 figures are within 10 %.",
                        "x": {"name": "published", "unit": "ms", "scale": "log"},
                        "y": {"name": "twin", "unit": "ms", "scale": "log"},
                        "diagonal": {"within_pct": [10]},
                        "marks": [
                            {
                                "name": "predicted",
                                "symbol": "circle",
                                "points": [
                                    {
                                        "x": 2**index,
                                        "y": 2**index * (1.3 if index == 4 else 1.02),
                                        "colour": 0,
                                        "hollow": index % 2 == 0,
                                        "text": f"case {index}",
                                    }
                                    for index in range(12)
                                ],
                            }
                        ],
                    },
                    {
                        "type": "ranges",
                        "id": "ranges",
                        "title": "Fitted parameters",
                        "alternative": "Both parameters are known within 10 %.",
                        "value": {"name": "share of the published figure", "unit": "%"},
                        "rows": [
                            {
                                "name": "CPU per transaction of the database",
                                "low": 90,
                                "middle": 100,
                                "high": 110,
                                "marks": [{"value": 104, "tone": "good", "text": "twin 104 %"}],
                            },
                            {
                                "name": "latency",
                                "low": 95,
                                "middle": 100,
                                "high": 105,
                                "marks": [{"value": 118, "tone": "bad", "text": "twin 118 %"}],
                            },
                        ],
                        "legend": {
                            "range": "published with tolerance",
                            "marks": [{"tone": "good", "text": "within"}, {"tone": "bad", "text": "outside"}],
                        },
                    },
                ],
            },
            {"type": "charts", "wide": True, "charts": [heat]},
            {
                "type": "charts",
                "wide": True,
                "charts": [
                    {
                        "type": "lines",
                        "id": f"time-{name}",
                        "title": f"{name} over time",
                        "alternative": f"{name} swings around 30 %.",
                        "x": {"name": "time", "unit": "s"},
                        "y": {"name": name, "unit": "%"},
                        "places": times,
                        "series": [
                            {
                                "name": f"esx{number + 1}",
                                "colour": number,
                                "values": values,
                                "halfWidths": [3.0] * samples,
                            }
                            for number, values in enumerate(wave)
                        ],
                        "moments": moments,
                        "sync": "time",
                    }
                    for name in ("usage", "ready")
                ],
            },
        ],
    }


def _table(names: list[str]) -> dict[str, Any]:
    figures = {
        "ready": ("ready", "%", "Share of time that a vCPU waits for a logical CPU."),
        "p99": ("response, p99", "ms", "99 of 100 transactions are faster."),
        "costop": ("co-stop", "%", None),
        "usage": ("usage", "%", None),
        "throughput": ("throughput", "1/s", None),
        "iops": ("IOPS", "1/s", None),
        "latency": ("I/O latency", "ms", None),
        "local": ("NUMA local", "%", None),
        "memory": ("memory", "GB/s", None),
    }
    columns = [
        {"key": "vm", "name": "VM", "kind": "words"},
        {"key": "host", "name": "host", "kind": "words"},
        {"key": "verdict", "name": "verdict", "kind": "badge"},
        *(
            {
                "key": key,
                "name": name,
                "unit": unit,
                "kind": "number",
                "secondary": key in ("local", "memory", "costop"),
                **({"text": text} if text else {}),
            }
            for key, (name, unit, text) in figures.items()
        ),
    ]
    rows = []
    for index, name in enumerate(names):
        ready = 20 / (1 + index / 3)
        bad = ready > 5
        rows.append(
            {
                "vm": name,
                "host": f"esx{index % 4 + 1}",
                "verdict": {"tone": "bad", "text": "misses"} if bad else {"tone": "good", "text": "fine"},
                "ready": {"value": ready, "half_width": ready / 20, "tone": "bad" if bad else "plain"},
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
        "id": "vms",
        "caption": "VMs",
        "columns": columns,
        "rows": rows,
        "sorted": {"column": "ready", "descending": True},
        "filters": ["host", "verdict"],
        "notes": ["Percentages are per vCPU."],
    }


def page(vms: int = 20, samples: int = 60) -> Page:
    """The specimen as a page."""
    return Page.of_view("view", {"vms": vms}, cast(View, view(vms, samples)))
