"""A calibration, for a terminal and as a page: fitted parameters, and the twin beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.calibration import Calibration, Parameter
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import calibration_note

PARAMETER_HEADS = ("parameter", "start", "fitted", "95 % interval", "bounds")
METRIC_HEADS = ("metric", "unit", "values", "before", "fitted", "left out", "held out")
POINT_HEADS = ("row", "metric", "measured", "twin", "error", "left out", "")

NOTES = (
    "Before, fitted: mean size of the errors with the parameters of the start, and with the fitted ones. Left out: of "
    "each row predicted from the others, with the twin taken as linear around the fit. Held out: rows that the fit "
    "never saw.",
    "In % of the measured value; small ones count as a tenth of their metric's largest, percentages as 10 points.",
)


def interval(each: Parameter) -> str:
    """The interval of a parameter in words."""
    if each["interval"]:
        low, high = each["interval"]
        return f"{low:.4g} to {high:.4g} {each['unit']}".rstrip()
    if not each["identified"]:
        return "unbounded"
    return "at its bound" if each["at_bound"] else "unknown"


def parameters(found: Calibration) -> list[list[str]]:
    """Cells of the fitted parameters, in the order of PARAMETER_HEADS."""
    return [
        [
            each["path"],
            f"{each['start']:.4g} {each['unit']}".rstrip(),
            f"{each['value']:.4g} {each['unit']}".rstrip(),
            interval(each),
            f"{each['low']:.4g} to {each['high']:.4g}",
        ]
        for each in found["parameters"]
    ]


def metrics(found: Calibration) -> list[list[str]]:
    """Cells of the errors by metric, in the order of METRIC_HEADS."""
    return [
        [
            each["metric"],
            each["unit"],
            str(each["values"]),
            _percent(each["before_pct"]),
            _percent(each["fitted_pct"]),
            _percent(each["left_out_pct"]),
            _percent(each["held_out_pct"]),
        ]
        for each in found["metrics"]
    ]


def points(found: Calibration) -> list[list[str]]:
    """Cells of every measured value, in the order of POINT_HEADS."""
    return [
        [
            f"{each['row']}: {each['name']}",
            each["metric"],
            f"{each['measured']:.4g} {each['unit']}".rstrip(),
            f"{each['twin']:.4g}",
            f"{each['error_pct']:+.1f} %",
            "" if each["left_out_error_pct"] is None else f"{each['left_out_error_pct']:+.1f} %",
            "held out" if each["held_out"] else "",
        ]
        for each in found["points"]
    ]


def summary(found: Calibration) -> str:
    """The outcome in one sentence."""
    used = [each for each in found["points"] if not each["held_out"]]
    rows = len({each["row"] for each in used})
    before = sum(abs(each["before_error_pct"] or 0.0) for each in used) / len(used)
    after = sum(abs(each["error_pct"]) for each in used) / len(used)
    free = len(found["parameters"])
    return (
        f"{free} parameter{'s' if free != 1 else ''} fitted to {len(used)} values of {rows} "
        f"row{'s' if rows != 1 else ''}: mean error {before:.1f} % before, {after:.1f} % now."
    )


def table(found: Calibration) -> RenderableType:
    """What `hypertwin calibrate --format json` prints, as tables and notes."""
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    title = (
        f"{found['scenario']} fitted to {found['measurements']}; {found['replications']} replications of "
        f"{found['duration_s']:g} s, seed {found['seed']}{settings}"
    )
    tables = [
        Fitted(title, Cells(PARAMETER_HEADS, parameters(found), swept=0, words=1)),
        Fitted("Errors", Cells(METRIC_HEADS, _used(metrics(found)), swept=0, words=2)),
        Fitted("Measured against twin", Cells(POINT_HEADS, points(found), swept=0, words=2)),
    ]
    said = [Text(note, style="yellow") for note in found["notes"]]
    dim = [Text(note, style="dim") for note in (*NOTES, calibration_note(found["calibrated_on"]))]
    return Group(*tables, Text(summary(found), style="bold"), *said, *dim)


def _used(cells: Sequence[list[str]]) -> list[list[str]]:
    """The cells with a dash in empty ones, which is easier to see."""
    return [[cell or "–" for cell in row] for row in cells]


def page(found: Calibration) -> Page:
    """The page: parameters with their intervals, the twin against what was measured, and errors."""
    return Page(
        kind="calibration",
        title=f"Calibration of {found['scenario']}",
        document=found,
        beside={"summary": summary(found)},
        notes=NOTES,
        tables=[
            Listing("Fitted parameters", PARAMETER_HEADS, parameters(found)),
            Listing("Errors", METRIC_HEADS, metrics(found)),
            Listing("All values", POINT_HEADS, points(found)),
        ],
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"
