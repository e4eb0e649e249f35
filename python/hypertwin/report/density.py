"""How many VMs meet the objectives: the answer and the curve around it, for a terminal and as a page."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.plan import Density, DensityPoint, Figure, Objective
from hypertwin.documents.simulation import Bottleneck
from hypertwin.report import ready
from hypertwin.report.page import Listing, Page
from hypertwin.report.points import lengths
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import calibration_note, half_width, number

WORDS = {
    "sure": "met",
    "mean": "met on average",
    "missed": "missed",
    "lacking": "no memory",
    "full": "no room",
    "refused": "impossible",
}
"""Word for each verdict."""

DROPPED_FIRST = ("runs", "ready sum %", "host memory %", "busiest station", "host usage %", "throughput /s")
"""Columns that are dropped in a narrow terminal, in this order."""

STYLES = {"sure": "green", "mean": "yellow", "missed": "red", "lacking": "red", "full": "red", "refused": "red"}


def verdict(point: DensityPoint) -> str:
    """One of the keys of WORDS."""
    if point["reason"]:
        lacks = point["lacks"] or ""
        return "full" if lacks.startswith("room of ") else "lacking" if lacks else "refused"
    return "sure" if point["sure"] else "mean" if point["meets"] else "missed"


def metrics(found: Density) -> list[Objective]:
    """One objective for each metric, the first."""
    return list({each["metric"]: each for each in found["slo"]}.values())


def heads(found: Density) -> list[str]:
    """Heads of the curve's columns."""
    measured = [f"{each['metric']} {each['unit']}".strip() for each in metrics(found)]
    station = ["busiest station"] if _has_stations(found) else []
    return [
        "VMs",
        "objectives",
        *measured,
        "throughput /s",
        "ready %",
        "ready sum %",
        "host usage %",
        "host memory %",
        *station,
        "runs",
    ]


def lines(found: Density) -> list[list[str]]:
    """Cells of the curve, a line for each count."""
    return [
        [
            str(point["count"]),
            WORDS[verdict(point)],
            *(_figure(point["metrics"][each["metric"]]) for each in metrics(found)),
            number(point["throughput_per_s"]),
            ready.resolved(point["ready_pct"], None),
            ready.resolved_sum(point["ready_pct"], point["ready_sum_pct"]),
            number(point["host_usage_pct"]),
            number(point["host_memory_pct"]),
            *([_station(point["bottleneck"])] if _has_stations(found) else []),
            f"{point['replications']}{'' if point['steady'] in (True, None) else ' *'}",
        ]
        for point in found["points"]
    ]


def notes(found: Density) -> list[str]:
    """What a reader must know besides the answer."""
    said = list(found["answer"]["notes"])
    if step := found["answer"]["one_more"]:
        changes = ", ".join(_change(name, each) for name, each in step.items() if each["mean"] is not None)
        said.append(f"One more VM changes, with the same random numbers: {changes}.")
    said.append(ready.note(found.get("duration_s")))
    said.append(
        f"Host usage and memory are those of the host with the most in the cluster of {found['vm']}; memory is what is"
        " configured. A count without enough memory, or without room in a pool, is not simulated."
    )
    said.append(
        "± is the half-width of the 95 % confidence interval over replications; met: the whole interval meets, in a"
        " steady state."
    )
    if any(point["steady"] is False for point in found["points"]):
        said.append("* is not steady, or not known to be: overloaded, or the runs are too short.")
    return [*said, calibration_note(found["calibration"])]


def table(found: Density) -> RenderableType:
    """What `hypertwin density --format json` prints, as a sentence, the curve, and notes."""
    title = f"{found['scenario']}: VMs of {found['vm']} that meet {_objectives(found)}{_settings(found)}"

    def style(row: int, head: str, _text: str) -> str:
        point = found["points"][row]
        here = "bold" if point["count"] == found["answer"]["count"] else ""
        return f"{here} {STYLES[verdict(point)]}".strip() if head == "objectives" else here

    shown = Fitted(title, Cells(heads(found), lines(found), swept=1, words=1), DROPPED_FIRST, style)
    said = (Text(note, style="dim") for note in notes(found))
    return Group(shown, Text(found["answer"]["text"], style="bold"), *said)


def page(found: Density) -> Page:
    """The page: the answer, charts of the curve, and a table of every count."""
    listing = Listing(found["answer"]["text"], heads(found), lines(found))
    said = found["answer"]["notes"]
    return Page(
        kind="density",
        title=f"How many VMs of {found['vm']}?",
        document=found,
        notes=[note for note in notes(found) if note not in said],
        tables=[listing],
    )


def _objectives(found: Density) -> str:
    return " and ".join(each["text"] for each in found["slo"])


def _settings(found: Density) -> str:
    settings = "".join(f", {path}={value}" for path, value in found["set"].items())
    return f"; runs{lengths(point.get('duration_s') for point in found['points'])}, seed {found['seed']}{settings}"


def _change(name: str, step: Figure) -> str:
    half = f" ±{step['ci95']:.2g}" if step["ci95"] is not None else ""
    return f"{name} {step['mean']:+.3g}{half}"


def _figure(value: Figure) -> str:
    mean, ci95 = value["mean"], value["ci95"]
    return half_width(mean, ci95)


def _has_stations(found: Density) -> bool:
    return any(point["bottleneck"] for point in found["points"])


def _station(found: Bottleneck | None) -> str:
    return "" if found is None else f"{found['station']} {found['utilization_pct']:.0f} %"
