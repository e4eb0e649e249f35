"""Results of `hypertwin lab disk`: measured, fitted and predicted."""

from __future__ import annotations

from typing import Any, cast

from hypertwin.documents.lab import DiskLab
from hypertwin.show import view as v


def view(found: DiskLab) -> v.View:
    """Return the view of a disk."""
    size = f"{found['file_bytes'] >> 20} MiB"
    title = f"{found['folder']}: {size} with {found['fio']}, median of {found['repeat']} x {found['seconds']:g} s"
    of_points = [
        v.words("load", "load"),
        v.figures("iops", "IOPS"),
        v.figures("spread", "±", "%", secondary=True),
        v.figures("twin", "twin, IOPS"),
        v.figures("error", "off", "%"),
        v.figures("mean", "mean", "ms"),
        v.figures("twin_mean", "twin, mean", "ms"),
        v.figures("p99", "p99", "ms", secondary=True),
    ]
    points: list[v.Row] = [
        {
            "load": each["load"],
            "iops": each["measured"]["iops"],
            "spread": each["spread_pct"],
            "twin": each["twin"]["iops"],
            "error": each["error_pct"],
            "mean": each["measured"]["latency_ms_mean"],
            "twin_mean": each["twin"]["latency_ms_mean"],
            "p99": each["measured"].get("latency_ms_p99"),
        }
        for each in found["points"]
    ]
    of_parameters = [
        v.words("parameter", "device"),
        v.words("value", "fitted"),
        v.words("interval", "95 % interval"),
        v.words("told_by", "told by"),
    ]
    parameters: list[v.Row] = [
        {
            "parameter": each["parameter"],
            "value": each["value"],
            "interval": f"{each['interval'][0]:.4g} to {each['interval'][1]:.4g} {each['unit']}"
            if each["interval"]
            else "unknown",
            "told_by": each["told_by"],
        }
        for each in found["parameters"]
    ]
    of_prediction = [
        v.words("what", "figure"),
        v.figures("predicted", "predicted"),
        v.figures("measured", "measured"),
        v.figures("off", "off", "%"),
    ]
    load = found["prediction"]["load"]
    return v.tabular(
        "A disk, measured and predicted",
        v.table("points", title, of_points, points),
        v.table("parameters", "The device, fitted", of_parameters, parameters),
        v.table("prediction", f"Predicted, then measured: {load}", of_prediction, _prediction(found)),
        answer=verdict(found),
        assumptions=[*found["notes"], f"scenario, prediction and measurements: {found['out']}"],
    )


def _prediction(found: DiskLab) -> list[v.Row]:
    compared = found["prediction"]
    twin, measured = (cast(Any, figures) for figures in (compared["figures"], compared["measured"]))
    names = {"iops": "IOPS", "latency_ms_mean": "mean latency, ms"}
    names |= {
        f"{way}_latency_ms_mean": f"{way}s, mean, ms"
        for way in ("read", "write")
        if measured.get(f"{way}_latency_ms_mean")
    }
    return [
        {
            "what": name,
            "predicted": twin.get(key),
            "measured": measured[key],
            "off": 100 * (twin.get(key, 0.0) - measured[key]) / measured[key],
        }
        for key, name in names.items()
        if measured.get(key)
    ]


def verdict(found: DiskLab) -> str:
    """Return the error of the prediction, as a sentence."""
    compared = found["prediction"]
    within = "within" if abs(compared["error_pct"]) <= found["promised_pct"] else "beyond"
    runs = ", ".join(f"{each:.0f}" for each in compared["runs"])
    return (
        f"The prediction is {compared['error_pct']:+.1f} % off the median of {len(compared['runs'])} runs, {within} "
        f"the promised {found['promised_pct']:g} %: {runs} IOPS (± {compared['spread_pct']:.0f} %)."
    )
