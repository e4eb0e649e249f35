"""A calibration: fitted parameters, their confidence, and the twin compared with measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal, cast

from hypertwin.documents.calibration import Calibration, MetricErrors, Parameter, Value
from hypertwin.metrics.words import amount, calibration_note, count, half_width, number
from hypertwin.show import view as v

NOTES = (
    "Before and fitted: mean size of the errors with the parameters of the start and with the fitted ones. Left out:"
    " each row predicted from the others, with the twin linear around the fit. Held out: rows that the fit never saw.",
    "In % of the measured value; small ones count as a tenth of their metric's largest, percentages as 10 points.",
)

LATENCIES = (
    (".io_latency_ms.mean", ""),
    (".read_latency_ms_mean", " · reads"),
    (".write_latency_ms_mean", " · writes"),
)


def interval(each: Parameter) -> str:
    """Return the interval of a parameter in words."""
    if each["interval"]:
        low, high = each["interval"]
        return f"{low:.4g} to {high:.4g} {each['unit']}".rstrip()
    if not each["identified"]:
        return "unbounded"
    return "at its bound" if each["at_bound"] else "unknown"


def summary(found: Calibration) -> str:
    """Return the outcome in one sentence."""
    used = [each for each in found["points"] if not each["held_out"]]
    before = fmean(abs(each["before_error_pct"] or 0.0) for each in used)
    after = fmean(abs(each["error_pct"]) for each in used)
    values = f"{len(used)} values of {count(len({each['row'] for each in used}), 'row')}"
    free = len(found["parameters"])
    kept = sum(each["kept"] for each in found["parameters"])
    fitted = f"{f'{free - kept} of ' if kept else ''}{count(free, 'parameter')} fitted to {values}"
    return f"{fitted}: mean error {before:.1f}% before, {after:.1f}% now."


def view(found: Calibration) -> v.View:
    """Return the view of a calibration."""
    parameters = found["parameters"]
    unsure = [each["path"] for each in parameters if not each["identified"]]
    bound = [each["path"] for each in parameters if each["at_bound"]]
    apart = not unsure and not found["inseparable"]
    used = [each for each in found["points"] if not each["held_out"]]
    rows = count(len({each["row"] for each in used}), "row")
    errors = "with known errors" if found["errors_known"] else "without known errors"
    told = f"not {v.listed(unsure)}" if unsure else "" if apart else "some cannot be separated"
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    title = (
        f"{found['scenario']} fitted to {found['measurements']}; {found['replications']} replications of"
        f" {found['duration_s']:g} s, seed {found['seed']}{settings}"
    )
    return {
        "title": f"Calibration of {found['scenario']}",
        "answer": {
            "tone": "good" if found["converged"] and apart else "warn",
            "text": summary(found),
            "more": [each["text"] for each in found["inseparable"]],
        },
        "promises": [
            {
                "text": "The search converged",
                "met": found["converged"],
                "note": f"{count(found['evaluations'], 'set')} of parameters tried",
            },
            {"text": "The data identify every parameter", "met": apart, "note": told},
            {"text": "No parameter ended at its bound", "met": not bound, "note": v.listed(bound)},
        ],
        "confidence": _confidence(found),
        "cards": [
            v.card("Parameters", str(len(parameters))),
            v.card("Mean error", v.percent(fmean(abs(each["error_pct"]) for each in used))),
            v.card("Values", str(len(used)), f"of {rows} used for the fit"),
            v.card("Measurements", found["measurements"].rpartition("/")[2], errors),
        ],
        "sections": [
            *v.section(
                "parameters",
                "Fitted parameters",
                v.items(found["notes"], "warn"),
                v.charts([_parameter_chart(parameters)], wide=True),
                _parameters(parameters, title),
            ),
            *v.section(
                "fit",
                "Twin against measured",
                v.charts([*_curve_chart(found), *(_fit_chart(found, each) for each in found["metrics"])]),
                _metrics(found["metrics"]),
            ),
            *v.section("values", "All values", _values(found["points"])),
        ],
        "assumptions": [*NOTES, calibration_note(found["calibrated_on"])],
    }


def _confidence(found: Calibration) -> list[v.Badge]:
    held = [abs(each["error_pct"]) for each in found["points"] if each["held_out"]]
    said = [
        v.badge(f"Values that the fit never saw: mean error {number(fmean(held))}%.")
        if held
        else v.badge("No rows were held out: the left-out errors estimate how well the fit predicts.", "note")
    ]
    for each in found["correlated"]:
        names = v.listed(each["parameters"])
        said.append(v.badge(f"{names} are hard to separate: correlation {number(each['correlation'])}.", "warn"))
    if found["errors_explain"] is True:
        said.append(v.badge("The remaining errors do not exceed the measurement errors.", "good"))
    elif found["errors_explain"] is False:
        text = "The remaining errors exceed the measurement errors: the model misses an effect."
        said.append(v.badge(text, "warn"))
    runs = f"{count(found['runs'], 'run')} of {number(found['duration_s'])} s"
    return [*said, v.badge(f"{runs}, {count(found['evaluations'], 'set')} of parameters, seed {found['seed']}.")]


def _parameters(parameters: Sequence[Parameter], title: str) -> Sequence[v.Block]:
    bound, lost = v.badge("at its bound", "warn"), v.badge("not identified", "bad")
    rows: list[v.Cells] = [
        [
            (v.words("path", "parameter"), each["path"]),
            (v.words("interval", "95 % interval"), interval(each)),
            (v.words("bounds", "bounds", secondary=True), f"{each['low']:.4g} to {each['high']:.4g}"),
            (
                v.badges("state", "state"),
                lost if not each["identified"] else bound if each["at_bound"] else v.badge("identified", "good"),
            ),
            (v.figures("start", "start"), _value(each["start"], each["unit"])),
            (v.figures("value", "fitted"), _value(each["value"], each["unit"])),
        ]
        for each in parameters
    ]
    return v.listing("fitted", title, rows)


def _value(value: float, unit: str) -> v.Cell:
    return v.figure(value, text=f"{value:.4g} {unit}".rstrip())


def _metrics(metrics: Sequence[MetricErrors]) -> Sequence[v.Block]:
    columns = [
        v.words("metric", "metric"),
        v.words("unit", "unit", secondary=True),
        v.figures("values", "values"),
        v.figures("before_pct", "before", "%", text="Mean size of the errors with the parameters of the start."),
        v.figures("fitted_pct", "fitted", "%", text="The same with the fitted parameters."),
        v.figures("left_out_pct", "left out", "%", text="Each row predicted from the others."),
        v.figures("held_out_pct", "held out", "%", text="Rows that the fit never saw."),
    ]
    return v.table("errors", "Errors by metric", columns, [{**cast(Any, each)} for each in metrics])


def _values(points: Sequence[Value]) -> Sequence[v.Block]:
    of_measured = "± 1.96 of the standard deviation that the measurements give."

    def figure(value: float, error: float | None, unit: str) -> v.Cell:
        half = None if error is None else 1.96 * error
        return v.figure(value, half_width=half, text=f"{half_width(value, half)} {unit}".rstrip())

    rows: list[v.Cells] = [
        [
            (v.words("name", "point"), each["name"]),
            (v.words("metric", "metric"), each["metric"]),
            (v.words("use", "used to", secondary=True), "held out" if each["held_out"] else "fit"),
            (v.figures("row", "row", secondary=True), each["row"]),
            (
                v.figures("measured", "measured", text=of_measured),
                figure(each["measured"], each["measured_error"], each["unit"]),
            ),
            (v.figures("twin", "twin"), figure(each["twin"], each["twin_error"], each["unit"])),
            (v.figures("error_pct", "error", "%"), each["error_pct"]),
            (v.figures("left_out_error_pct", "left out", "%", secondary=True), each["left_out_error_pct"]),
        ]
        for each in sorted(points, key=lambda each: -abs(each["error_pct"]))
    ]
    caption = "Measured against twin, the furthest off first"
    return v.listing("values", caption, rows, filters=["metric", "use"])


def _parameter_chart(parameters: Sequence[Parameter]) -> v.RangeChart:
    """Return the fitted values and their intervals as multiples of the start values, so that all share one axis."""
    shown = [each for each in parameters if each["start"]]
    ends = [[end / each["start"] for end in each["interval"]] if each["interval"] else [None, None] for each in shown]
    sure = [each["identified"] and not each["at_bound"] for each in shown]
    legend = [v.badge("fitted", "good"), *([] if all(sure) else [v.badge("not identified, or at its bound", "warn")])]
    said = [f"{each['path']} {number(each['value'] / each['start'])} times its start" for each in shown]
    return {
        "type": "ranges",
        "id": "parameters",
        "title": "Fitted parameters beside the values of the start",
        "text": "1 is the value that the search started from.",
        "alternative": f"{v.listed(said)}.",
        "value": v.axis("times the value of the start"),
        "rows": [
            {
                "name": each["path"],
                "low": low,
                "middle": 1,
                "high": high,
                "marks": [
                    {
                        "value": each["value"] / each["start"],
                        "tone": "good" if good else "warn",
                        "text": f"{each['text']}, 95 % interval {interval(each)}",
                    }
                ],
            }
            for each, (low, high), good in zip(shown, ends, sure, strict=True)
        ],
        "legend": {"range": "95 % interval", "marks": legend},
    }


def _fit_chart(found: Calibration, metric: MetricErrors) -> v.ScatterChart:
    same = [each for each in found["points"] if each["metric"] == metric["metric"]]

    def point(each: Value, word: str, value: float, error: float | None, colour: int, hollow: bool) -> v.MarkedPoint:
        off = "" if error is None else f" ({error:+.3g}%)"
        measured = f"{each['name']}: measured {amount(each['measured'], each['unit'])}"
        text = f"{measured}, {word} {amount(value, each['unit'])}{off}"
        return {"x": each["measured"], "y": value, "colour": colour, "hollow": hollow, "text": text}

    before = [
        point(each, "before", each["before"], each["before_error_pct"], v.MEASURED, True)
        for each in same
        if each["before"] is not None
    ]
    fitted, held = (
        [
            point(each, "twin", each["twin"], each["error_pct"], v.TWIN, is_held)
            for each in same
            if each["held_out"] is is_held
        ]
        for is_held in (False, True)
    )
    symbols: tuple[tuple[str, Literal["diamond", "circle"], list[v.MarkedPoint]], ...] = (
        ("before", "diamond", before),
        ("fitted", "circle", fitted),
        ("held out", "circle", held),
    )
    mean = f"Mean error {v.percent(metric['fitted_pct']) or 'none'}, before {v.percent(metric['before_pct']) or 'none'}"
    unit = "" if metric["unit"] == "ratio" else metric["unit"]
    return {
        "type": "scatter",
        "id": f"fit-{v.slug(metric['metric'])}",
        "title": metric["metric"],
        "alternative": f"{mean}.",
        "x": v.axis("measured", unit),
        "y": v.axis("twin", unit),
        "marks": [{"name": name, "symbol": symbol, "points": points} for name, symbol, points in symbols if points],
        "diagonal": {},
    }


def _curves(found: Calibration) -> dict[str, list[tuple[float, Value, Value]]]:
    """Return the depth, throughput and mean latency of loads measured at several depths, by load name."""
    by_place = {(each["row"], each["metric"]): each for each in found["points"]}
    made: dict[tuple[str, str, str], tuple[str, list[tuple[float, Value, Value]]]] = {}
    for iops in found["points"]:
        stem = iops["metric"].removesuffix(".iops")
        depth = next((value for path, value in iops["set"].items() if path.endswith(".io.outstanding")), None)
        if stem == iops["metric"] or not isinstance(depth, int | float):
            continue
        rest = {path: value for path, value in iops["set"].items() if not path.endswith((".outstanding", ".workers"))}
        name = re.sub(r"(, )?\d+ outstanding", "", iops["name"])
        for latency, word in LATENCIES:
            mean = by_place.get((iops["row"], stem + latency))
            if mean is not None:
                key = (str(sorted(rest.items(), key=str)), iops["metric"], word)
                made.setdefault(key, (name + word, []))[1].append((depth, iops, mean))
    return {name: sorted(places, key=lambda each: each[0]) for name, places in made.values() if len(places) > 1}


def _curve_chart(found: Calibration) -> list[v.ScatterChart]:
    """Return a chart of latency against IOPS with increasing depth, measured and in the twin.

    The list is empty if no load has two depths.
    """
    curves = _curves(found)
    if not curves:
        return []
    sides: tuple[Literal["measured", "twin"], ...] = ("measured", "twin")
    marks: list[v.Marks] = [
        {
            "name": f"{name} · {of}",
            "symbol": "circle" if of == "measured" else "diamond",
            "line": "solid" if of == "measured" else "dashed",
            "points": [
                {
                    "x": iops[of],
                    "y": latency[of],
                    "colour": colour,
                    "hollow": of == "twin",
                    "text": f"{name}, {number(depth)} deep, {of}: {number(iops[of])}/s in {number(latency[of])} ms",
                }
                for depth, iops, latency in places
            ],
        }
        for colour, (name, places) in enumerate(curves.items())
        for of in sides
    ]
    said = []
    for name, places in list(curves.items())[:3]:
        depth, iops, latency = places[-1]
        both = [f"{of} {number(iops[of])} IOPS in {number(latency[of])} ms" for of in sides]
        said.append(f"{name}, {number(depth)} outstanding: {', '.join(both)}.")
    latencies = [latency[of] for places in curves.values() for _, _, latency in places for of in sides]
    wide = max(latencies) > 10 * min(latencies)
    return [
        {
            "type": "scatter",
            "id": "io-curve",
            "title": "Latency against IOPS",
            "text": "Each curve is one load, with more outstanding from point to point.",
            "alternative": " ".join(said),
            "x": v.axis("I/O operations", "1/s", begin=0),
            "y": v.axis("mean latency", "ms", scale="log") if wide else v.axis("mean latency", "ms", begin=0),
            "marks": marks,
        }
    ]
