"""Results of `hypertwin lab disk`: measured, fitted and predicted."""

from __future__ import annotations

from typing import Any, cast

from hypertwin.documents.lab import DiskLab
from hypertwin.metrics.words import count
from hypertwin.show import view as v


def view(found: DiskLab) -> v.View:
    """Return the view of a disk."""
    size = f"{found['file_bytes'] >> 20} MiB"
    title = f"{found['folder']}: {size} with {found['fio']}, median of {found['repeat']} x {found['seconds']:g} s"
    points: list[v.Cells] = [
        [
            (v.words("load", "load"), each["load"]),
            (v.figures("iops", "IOPS"), each["measured"]["iops"]),
            (v.figures("spread", "±", "%", secondary=True), each["spread_pct"]),
            (v.figures("twin", "twin, IOPS"), each["twin"]["iops"]),
            (v.figures("error", "off", "%"), each["error_pct"]),
            (v.figures("mean", "mean", "ms"), each["measured"]["latency_ms_mean"]),
            (v.figures("twin_mean", "twin, mean", "ms"), each["twin"]["latency_ms_mean"]),
            (v.figures("p99", "p99", "ms", secondary=True), each["measured"].get("latency_ms_p99")),
        ]
        for each in found["points"]
    ]
    parameters: list[v.Cells] = [
        [
            (v.words("parameter", "device"), each["parameter"]),
            (v.words("value", "fitted"), each["value"]),
            (
                v.words("interval", "95 % interval"),
                f"{each['interval'][0]:.4g} to {each['interval'][1]:.4g} {each['unit']}"
                if each["interval"]
                else "unknown",
            ),
            (v.words("told_by", "told by"), each["told_by"]),
        ]
        for each in found["parameters"]
    ]
    load = found["prediction"]["load"]
    return v.tabular(
        "A disk, measured and predicted",
        v.listing("points", title, points),
        v.listing("parameters", "The device, fitted", parameters),
        v.listing("prediction", f"Predicted, then measured: {load}", _prediction(found)),
        answer=verdict(found),
        assumptions=[*found["notes"], f"scenario, prediction and measurements: {found['out']}"],
    )


def _prediction(found: DiskLab) -> list[v.Cells]:
    compared = found["prediction"]
    twin, measured = (cast(Any, figures) for figures in (compared["figures"], compared["measured"]))
    names = {"iops": "IOPS", "latency_ms_mean": "mean latency, ms"}
    names |= {
        f"{way}_latency_ms_mean": f"{way}s, mean, ms"
        for way in ("read", "write")
        if measured.get(f"{way}_latency_ms_mean")
    }
    return [
        [
            (v.words("what", "figure"), name),
            (v.figures("predicted", "predicted"), twin.get(key)),
            (v.figures("measured", "measured"), measured[key]),
            (v.figures("off", "off", "%"), 100 * (twin.get(key, 0.0) - measured[key]) / measured[key]),
        ]
        for key, name in names.items()
        if measured.get(key)
    ]


def verdict(found: DiskLab) -> str:
    """Return the error of the prediction, as a sentence."""
    compared = found["prediction"]
    within = "within" if abs(compared["error_pct"]) <= found["promised_pct"] else "beyond"
    rates = ", ".join(f"{each:.0f}" for each in compared["runs"])
    spread = "" if compared["spread_pct"] is None else f" (± {compared['spread_pct']:.0f} %)"
    runs = count(len(compared["runs"]), "run")
    return (
        f"The prediction is {compared['error_pct']:+.1f} % off the median of {runs}, {within} the promised "
        f"{found['promised_pct']:g} %: {rates} IOPS{spread}."
    )
