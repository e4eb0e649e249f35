"""What a table of telemetry holds: a line for each kind of entity and metric, then ready times in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.telemetry import Telemetry
from hypertwin.report.ready import ready
from hypertwin.report.table import Cells, Fitted

HEADS = ("of", "metric", "entities", "samples", "mean", "p95", "max", "unit")
DROPPED_FIRST = ("samples", "entities")
"""Columns that are dropped in a narrow terminal, in this order."""


def table(found: Telemetry) -> RenderableType:
    """The figures of a table: how much, of what, and how large; ready times both summed and per vCPU."""
    rows = []
    for line in found["lines"]:
        counts = (f"{line['entities']:,}", f"{line['samples']:,}")
        scale, unit = in_unit(line["max"], line["unit"])
        figures = (figure(line[key] / scale) for key in ("mean", "p95", "max"))
        rows.append([line["kind"], line["metric"], *counts, *figures, unit])
    shown = Fitted(extent(found), Cells(HEADS, rows, swept=0, words=2), DROPPED_FIRST)
    said = [
        Text(f"{each['entity']}: {ready(each['summed_pct'], each['vcpus'], each['interval_s'])}")
        for each in found["ready"]
    ]
    return Group(shown, *([Text("Longest ready times, mean of all samples:", "bold"), *said] if said else []))


def extent(found: Telemetry) -> str:
    """How much there is, in one line."""
    span = f", {found['first']} to {found['last']}" if found["first"] is not None else ", without times"
    return f"{found['rows']:,} rows, {found['entities']:,} entities, {found['metrics']} metrics{span}"


def summary(found: Telemetry) -> Iterator[str]:
    """Lines about what was read: each source with its rows, what it lacks and what had to be assumed."""
    for source in found["sources"]:
        yield f"{source['source']} ({source['kind']}): {source['rows']:,} rows"
        yield from (f"  lacks {gap['what']}: no {gap['costs']}" for gap in source["gaps"])
        yield from (f"  {note}" for note in source["notes"])


def in_unit(most: float, unit: str) -> tuple[float, str]:
    """What to divide values up to `most` by, and their unit then: bytes become KiB, MiB, GiB or TiB."""
    if unit.startswith("B"):
        for prefix, scale in (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 1024.0)):
            if most >= scale:
                return scale, prefix + unit
    return 1.0, unit


def figure(value: float) -> str:
    """A value for reading, to about four significant digits."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3e}"
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"
