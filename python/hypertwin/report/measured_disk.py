"""What `hypertwin lab disk` measured, fitted and predicted, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.lab import DiskCompared, DiskLab
from hypertwin.report.table import Cells, Fitted

POINT_HEADS = ("load", "IOPS", "± %", "twin", "off %", "mean ms", "twin", "p99 ms")
PARAMETER_HEADS = ("device", "fitted", "95 % interval", "told by")
PREDICTION_HEADS = ("", "predicted", "measured", "off %")


def table(found: DiskLab) -> RenderableType:
    """What `hypertwin lab disk --format json` prints, as tables and notes."""
    size = f"{found['file_bytes'] >> 20} MiB"
    title = f"{found['folder']}: {size} with {found['fio']}, median of {found['repeat']} x {found['seconds']:g} s"
    compared = found["prediction"]
    return Group(
        Fitted(title, Cells(POINT_HEADS, points(found), swept=0, words=1)),
        Fitted("The device, fitted", Cells(PARAMETER_HEADS, parameters(found), swept=0, words=1)),
        Fitted(
            f"Predicted, then measured: {compared['load']}",
            Cells(PREDICTION_HEADS, prediction(compared), swept=0, words=1),
        ),
        Text(verdict(found), style="bold"),
        *(Text(note, style="dim") for note in found["notes"]),
        Text(f"scenario, prediction and measurements: {found['out']}", style="dim"),
    )


def points(found: DiskLab) -> list[list[str]]:
    """Cells of the loads that were measured first, in the order of POINT_HEADS."""
    return [
        [
            each["load"],
            f"{each['measured']['iops']:.0f}",
            f"{each['spread_pct']:.0f}",
            f"{each['twin']['iops']:.0f}",
            f"{each['error_pct']:+.1f}",
            f"{each['measured']['latency_ms_mean']:.3f}",
            f"{each['twin']['latency_ms_mean']:.3f}",
            f"{each['measured'].get('latency_ms_p99', 0):.3f}",
        ]
        for each in found["points"]
    ]


def parameters(found: DiskLab) -> list[list[str]]:
    """Cells of the device's parameters, in the order of PARAMETER_HEADS."""
    return [
        [
            each["parameter"],
            each["value"],
            f"{each['interval'][0]:.4g} to {each['interval'][1]:.4g} {each['unit']}" if each["interval"] else "unknown",
            each["told_by"],
        ]
        for each in found["parameters"]
    ]


def prediction(compared: DiskCompared) -> list[list[str]]:
    """Cells of the prediction, in the order of PREDICTION_HEADS."""
    twin, measured = compared["figures"], compared["measured"]
    rows = [
        ["IOPS", f"{twin['iops']:.0f}", f"{measured['iops']:.0f}", f"{compared['error_pct']:+.1f}"],
        [
            "mean latency, ms",
            f"{twin['latency_ms_mean']:.3f}",
            f"{measured['latency_ms_mean']:.3f}",
            f"{compared['latency_error_pct']:+.1f}",
        ],
    ]
    for way in ("read", "write"):
        ours, theirs = (float(figures.get(f"{way}_latency_ms_mean", 0.0)) for figures in (twin, measured))  # type: ignore[arg-type]
        if theirs > 0:
            rows.append([f"{way}s, mean, ms", f"{ours:.3f}", f"{theirs:.3f}", f"{100 * (ours - theirs) / theirs:+.1f}"])
    return rows


def verdict(found: DiskLab) -> str:
    """How far off the prediction is, in a sentence."""
    compared = found["prediction"]
    within = "within" if abs(compared["error_pct"]) <= found["promised_pct"] else "beyond"
    runs = ", ".join(f"{each:.0f}" for each in compared["runs"])
    return (
        f"The prediction is {compared['error_pct']:+.1f} % off the median of {len(compared['runs'])} runs, {within} "
        f"the promised {found['promised_pct']:g} %: {runs} IOPS (± {compared['spread_pct']:.0f} %)."
    )
