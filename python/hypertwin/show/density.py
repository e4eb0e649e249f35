"""Number of VMs that meet the objectives, its confidence, and the curve around it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from hypertwin.documents.plan import Density, DensityPoint, Figure, Objective
from hypertwin.metrics import ready
from hypertwin.metrics.points import lengths
from hypertwin.metrics.words import calibration_note, count, number, tried, tried_range
from hypertwin.show import view as v

MAX_LIMITS = 4
"""Maximum value in a chart as a multiple of the limit. Larger figures would flatten the relevant part."""

COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
}

VERDICTS = {
    "sure": v.badge("met", "good"),
    "likely": v.badge("met, not surely", "warn"),
    "mean": v.badge("met on average", "warn"),
    "missed": v.badge("missed", "bad"),
    "lacking": v.badge("no memory", "bad"),
    "full": v.badge("no room", "bad"),
    "failover": v.badge("no failover", "bad"),
    "refused": v.badge("impossible", "bad"),
}

ABOUT = (
    "A count without enough memory, pool capacity or failover headroom is not simulated.",
    "Host memory is configured memory.",
    "± is the half-width of the 95% confidence interval over replications. Met: the whole interval meets it.",
    "In brackets: the 80% interval with the twin's own error. Met, not surely: its worse end misses the objective.",
)


def verdict(point: DensityPoint) -> str:
    """Return a key of VERDICTS."""
    if point["reason"]:
        kinds = {"memory of ": "lacking", "room of ": "full", "room after ": "failover"}
        lacks = point["lacks"] or ""
        return next((kind for head, kind in kinds.items() if lacks.startswith(head)), "refused")
    if point["sure"]:
        return "sure" if point["at_worst"] else "likely"
    return "mean" if point["meets"] else "missed"


def metrics(found: Density) -> list[Objective]:
    """Return the last objective for each metric."""
    return list({each["metric"]: each for each in found["slo"]}.values())


def view(found: Density) -> v.View:
    """Return the view of a density search."""
    answer, points = found["answer"], found["points"]
    at = next((point for point in points if answer["count"] and point["count"] == answer["count"]), None)
    sure = _confidence(found, at)
    full = at is not None and (at["host_memory_pct"] or 0) > 100
    doubtful = full or any(each["tone"] in ("warn", "bad") for each in sure)
    objectives = " and ".join(each["text"] for each in found["slo"])
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    runs = f"runs{lengths(point.get('duration_s') for point in points)}, seed {found['seed']}{settings}"
    return {
        "title": f"How many VMs of {found['vm']}?",
        "answer": {
            "tone": "bad" if not answer["count"] else "warn" if doubtful else "good",
            "text": answer["text"],
            "more": answer["notes"],
        },
        "promises": [_promise(each, at) for each in found["slo"]],
        "confidence": sure,
        "cards": _cards(found),
        "sections": [
            *v.section("curve", "The curve", v.charts(_charts(found))),
            *v.section(
                "counts",
                "All counts",
                v.listing(
                    "counts",
                    f"{found['scenario']}: VMs of {found['vm']} that meet {objectives}; {runs}",
                    [_row(found, point) for point in points],
                    ascending="count",
                ),
            ),
        ],
        "assumptions": [
            *_one_more(found),
            ready.note(found.get("duration_s")),
            *ABOUT,
            *_failover_limits(found),
            calibration_note(found["calibration"]),
        ],
    }


def _failover_limits(found: Density) -> list[str]:
    """Return the limits within which VMs restart after a host failure, if failures were checked."""
    limits = next((each["limits"] for each in found.get("failover", {}).values()), None)
    if limits is None:
        return []
    cpu, memory = v.percent(limits["cpu_pct"]), v.percent(limits["memory_pct"])
    return [f"After a host failure, VMs restart within limits: {cpu} of CPU and {memory} of memory."]


def _one_more(found: Density) -> list[str]:
    steps = {name: each for name, each in found["answer"]["one_more"].items() if each["mean"] is not None}
    said = [f"{name} {'+' * ((each['mean'] or 0) > 0)}{_spread(each)}" for name, each in steps.items()]
    return [f"Change with one more VM, at the same random numbers: {', '.join(said)}."] if said else []


def _meets(objective: Objective, found: Figure, half: float = 0.0) -> bool | None:
    """True if a mean, and all values within `half` of it, meet the objective."""
    mean, compare = found["mean"], COMPARED[objective["sign"]]
    return None if mean is None else all(compare(mean + end, objective["limit"]) for end in (-half, half))


def _spread(found: Figure, unit: str = "") -> str:
    return "not measured" if found["mean"] is None else f"{v.shown(_cell(found))} {unit}".strip()


def _cell(found: Figure, tone: v.Tone = "plain") -> v.Figure | None:
    ends = (found["low"], found["high"]) if "low" in found and "high" in found else None
    return v.figure(found["mean"], tone, half_width=found["ci95"], ends=ends)


def _promise(objective: Objective, at: DensityPoint | None) -> v.Promise:
    if at is None:
        return {"text": objective["text"], "met": False, "note": "no count meets all objectives"}
    value = at["metrics"][objective["metric"]]
    met: bool | Literal["not surely"] | None = _meets(objective, value)
    unsure = met and not _meets(objective, value, value["ci95"] or 0.0)
    note = _spread(value, objective["unit"]) + ("; the interval reaches beyond the limit" if unsure else "")
    if met and not _meets_at_worst(objective, value):
        met, note = "not surely", f"{note}; the twin's own error reaches beyond the limit"
    return {"text": f"{objective['text']} at {count(at['count'], 'VM')}", "met": met, "note": note}


def _meets_at_worst(objective: Objective, found: Figure) -> bool:
    """True if both ends of the interval with the twin's own error meet the objective."""
    compare = COMPARED[objective["sign"]]
    return all(compare(end, objective["limit"]) for end in (found.get("low"), found.get("high")) if end is not None)


def _confidence(found: Density, at: DensityPoint | None) -> list[v.Badge]:
    answer, said = found["answer"], []
    most = f"at least {answer['count']}" if answer["at_max"] else str(answer["count"])
    if answer["count"] and answer["sure_count"] >= answer["count"]:
        said.append(v.badge(f"The whole 95 % interval of every objective is met at {answer['count']}.", "good"))
    elif answer["count"]:
        sure = f"only {answer['sure_count']}" if answer["sure_count"] else "none"
        text = f"On average {most}; with 95 % confidence {sure}. Longer runs or more replications narrow that."
        said.append(v.badge(text, "warn"))
    if answer["count"] and answer["low_count"] < answer["count"]:
        text = (
            f"80% interval with the twin's own error: {_model_error(found)}. Points that you measured narrow it "
            "(hypertwin calibrate)."
        )
        said.append(v.badge(text, "warn"))
    if at is not None and at["steady"] is False:
        text = f"The runs with {count(at['count'], 'VM')} reached no steady state: the answer depends on their length."
        said.append(v.badge(text, "bad"))
    unsteady = [str(point["count"]) for point in found["points"] if point["steady"] is False and point is not at]
    if unsteady:
        said.append(v.badge(f"Runs with {v.listed(unsteady)} VMs are not steady: overloaded or too short.", "note"))
    if not answer["monotone"]:
        exceptions = v.listed([str(each) for each in answer["exceptions"]])
        said.append(v.badge(f"The curve is not monotone: see {exceptions} VMs.", "warn"))
    if at is not None:
        length = number(at.get("duration_s") or found.get("duration_s"))
        runs = f"{count(at['replications'], 'run')} of {length} s, seed {found['seed']}"
        said.append(v.badge(f"The answer ({count(at['count'], 'VM')}) has {runs}."))
    return said


def _model_error(found: Density) -> str:
    """Return the counts at both ends of the twin's own error."""
    answer = found["answer"]
    return tried_range(answer["low_count"], answer["high_count"], found["min"], found["max"])


def _cards(found: Density) -> list[v.Card]:
    answer = found["answer"]
    reached = "the largest count that was tried" if answer["at_max"] else "meet the objectives on average"
    unsure: v.Tone = "warn" if answer["sure_count"] < answer["count"] else "plain"
    cards = [
        v.card(f"VMs of {found['vm']}", f"{'≥ ' * answer['at_max']}{tried(answer['count'], found['min'])}", reached),
        v.card(
            "With 95 % confidence", tried(answer["sure_count"], found["min"]), "the whole interval meets them", unsure
        ),
        v.card(
            "With the twin's own error",
            _model_error(found),
            "80% interval",
            "warn" if answer["low_count"] < answer["count"] else "plain",
        ),
    ]
    lacking = next((point for point in found["points"] if not point["meets"] and point["lacks"]), None)
    if not answer["at_max"] and lacking and lacking["lacks"] == answer["limited_by"]:
        remark = f"with {count(lacking['count'], 'VM')}: {lacking['reason']}"
        cards.append(v.card("Runs out first", str(lacking["lacks"]), remark))
    elif not answer["at_max"]:
        cards.append(v.card("Missed first", answer["limiting"] or "no room", answer["limited_by"] or ""))
    units = {each["metric"]: each["unit"] for each in found["slo"]}
    for name, step in answer["one_more"].items():
        if step["mean"] is not None:
            value = f"{'+' if step['mean'] > 0 else ''}{_spread(step, units.get(name, ''))}"
            cards.append(v.card(f"One more VM: {name}", value, "with the same random numbers"))
    return cards


def _charts(found: Density) -> list[v.Chart]:
    measured = [point for point in found["points"] if not point["reason"]]
    if not measured:
        return []
    placed = [point for point in found["points"] if point["host_memory_pct"] is not None]
    pressure = "; memory pressure above 100 is not simulated" if found["memory_overcommit"] > 1 else ""
    whole = "Sum over all VMs of the group. Where it stops growing, a resource is saturated."
    usage = "At usage 100 every core has a busy thread. Beyond that ready grows."
    of_memory = f"Configured memory of the host with the most{pressure}. Counts above the limit are not simulated."
    host = [("usage of the busiest host", "host_usage_pct"), (f"ready of {found['vm']}", "ready_pct")]
    drawn: list[v.Chart] = []
    if placed:
        memory = _lines(found, placed, "memory", "Host memory", of_memory, "%", [("memory", "host_memory_pct")])
        memory["limits"] = [{"name": "limit", "value": 100 * found["memory_overcommit"], "tone": "bad"}]
        drawn.append(memory)
    return [
        *(_objective_chart(found, each, measured) for each in metrics(found)),
        _lines(found, measured, "throughput", "Throughput", whole, "1/s", [("throughput", "throughput_per_s")]),
        _lines(found, measured, "host", "Host usage and ready", usage, "%", host),
        *drawn,
    ]


def _objective_chart(found: Density, objective: Objective, measured: Sequence[DensityPoint]) -> v.LineChart:
    metric, unit = objective["metric"], objective["unit"]
    same = [each for each in found["slo"] if each["metric"] == metric]
    values = [point["metrics"][metric] for point in measured]
    highest = max([0.0, *(each["mean"] or 0.0 for each in values)])
    top = MAX_LIMITS * max(each["limit"] for each in same)
    cut = objective["sign"].startswith("<") and 0 < top < highest
    at = next((point for point in measured if point["count"] == found["answer"]["count"]), None)
    after = next((point for point in measured if point["count"] > found["answer"]["count"]), None)
    said = [
        f"{_spread(point['metrics'][metric], unit)} with {count(point['count'], 'VM')}"
        for point in (at, after)
        if point
    ]
    chart: v.LineChart = {
        "type": "lines",
        "id": f"objective-{v.slug(metric)}",
        "title": v.listed([each["text"] for each in same]),
        "text": (
            "The band is the 95 % interval, the light band the 80% interval with the twin's own error."
            f"{f' The curve goes on to {number(highest)} {unit}.' if cut else ''}"
        ),
        "alternative": f"{metric}: {v.listed(said) or 'nothing measured'}.",
        "x": v.axis("VMs"),
        "y": v.axis(metric, unit, begin=0, end=top if cut else None),
        "places": [point["count"] for point in measured],
        "series": [
            {
                "name": metric,
                "values": [each["mean"] for each in values],
                "halfWidths": [each["ci95"] for each in values],
                "lows": [each.get("low") for each in values],
                "highs": [each.get("high") for each in values],
                "colour": 0,
            }
        ],
        "limits": [
            {"name": f"limit {number(each['limit'])} {each['unit']}".strip(), "value": each["limit"], "tone": "bad"}
            for each in same
        ],
    }
    if at is not None and (mean := at["metrics"][metric]["mean"]) is not None:
        text = f"{count(at['count'], 'VM')}: {_spread(at['metrics'][metric], unit)}"
        point: v.MarkedPoint = {"x": at["count"], "y": mean, "colour": 0, "text": text}
        chart["marks"] = [{"name": "the answer", "symbol": "star", "points": [point]}]
    return chart


def _lines(
    found: Density,
    measured: Sequence[DensityPoint],
    name: str,
    title: str,
    text: str,
    unit: str,
    of: Sequence[tuple[str, str]],
) -> v.LineChart:
    values: Mapping[str, Any] = {key: [point[key] for point in measured] for _, key in of}  # type: ignore[literal-required]
    at = next((place for place, point in enumerate(measured) if point["count"] == found["answer"]["count"]), None)
    said = [f"{called} {number(values[key][at or 0] or 0)} {unit}" for called, key in of]
    chart: v.LineChart = {
        "type": "lines",
        "id": name,
        "title": title,
        "text": text,
        "alternative": f"With {count(measured[at or 0]['count'], 'VM')}: {v.listed(said)}.",
        "x": v.axis("VMs"),
        "y": v.axis(title, unit, begin=0),
        "places": [point["count"] for point in measured],
        "series": [
            {"name": called, "values": values[key], "colour": colour, "dash": "dashed" if colour else "solid"}
            for colour, (called, key) in enumerate(of)
        ],
    }
    if at is not None:
        text = f"the answer, {count(found['answer']['count'], 'VM')}"
        chart["moments"] = [{"x": found["answer"]["count"], "number": 1, "text": text, "tone": "note"}]
    return chart


def _row(found: Density, point: DensityPoint) -> v.Cells:
    notes = ["the answer"] if point["count"] == found["answer"]["count"] else []
    notes += [point["reason"]] if point["reason"] else []
    notes += ["not steady"] if point["steady"] is False else []
    own, summed, memory = point["ready_pct"], point["ready_sum_pct"], point["host_memory_pct"]
    usage = v.figures("usage", "host usage", "%", text="Of the busiest host in the cluster of these VMs.")
    return [
        (v.figures("count", "VMs"), point["count"]),
        (v.badges("verdict", "objectives"), VERDICTS[verdict(point)]),
        *(_measured(point, each) for each in metrics(found)),
        (v.figures("throughput", "throughput", "/s"), point["throughput_per_s"]),
        (v.figures("ready", "ready", "%"), v.figure(own, text=ready.resolved(own, None))),
        (
            v.figures("ready_sum", "ready sum", "%", secondary=True),
            v.figure(summed, text=ready.resolved_sum(own, summed)),
        ),
        (usage, point["host_usage_pct"]),
        (v.figures("memory", "host memory", "%", secondary=True), v.toned(memory, (memory or 0) > 100)),
        (v.words("station", "busiest station", secondary=True), _station(point)),
        (v.figures("runs", "runs", secondary=True), point["replications"]),
        (v.words("note", "note"), "; ".join(notes)),
    ]


def _measured(point: DensityPoint, each: Objective) -> tuple[v.Column, v.Cell]:
    value = point["metrics"].get(each["metric"])
    column = v.figures(each["metric"], each["metric"], each["unit"])
    return column, _cell(value, "bad" if _meets(each, value) is False else "plain") if value else None


def _station(point: DensityPoint) -> str:
    found = point["bottleneck"]
    return "" if found is None else f"{found['station']} {number(found['utilization_pct'])}%"
