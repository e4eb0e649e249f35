"""View of a telemetry table: a line for each kind of entity and metric, then ready times in words."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.documents.telemetry import Telemetry
from hypertwin.metrics.ready import ready
from hypertwin.show import view as v


def view(found: Telemetry) -> v.View:
    """Return a view with number, kinds and sizes of samples, and with ready times both summed and per vCPU."""
    columns = [
        v.words("kind", "of"),
        v.words("metric", "metric"),
        v.words("unit", "unit"),
        v.figures("entities", "entities", secondary=True),
        v.figures("samples", "samples", secondary=True),
        *(v.figures(key, key) for key in ("mean", "p95", "max")),
    ]
    rows: list[v.Row] = []
    for line in found["lines"]:
        scale, unit = in_unit(line["max"], line["unit"])
        row = {key: v.figure(line[key] / scale, text=figure(line[key] / scale)) for key in ("mean", "p95", "max")}
        counts = {"entities": line["entities"], "samples": line["samples"]}
        rows.append({"kind": line["kind"], "metric": line["metric"], "unit": unit, **counts, **row})
    said = [
        f"{each['entity']}: {ready(each['summed_pct'], each['vcpus'], each['interval_s'])}" for each in found["ready"]
    ]
    return v.tabular(
        "Telemetry",
        v.table("lines", extent(found), columns, rows),
        v.group("Longest ready times, mean of all samples:", v.items(said)),
    )


def extent(found: Telemetry) -> str:
    """Return the amount of data, in one line."""
    span = f", {found['first']} to {found['last']}" if found["first"] is not None else ", without times"
    return f"{found['rows']:,} rows, {found['entities']:,} entities, {found['metrics']} metrics{span}"


def summary(found: Telemetry) -> Iterator[str]:
    """Yield lines about the sources: their rows, missing data and assumptions."""
    for source in found["sources"]:
        yield f"{source['source']} ({source['kind']}): {source['rows']:,} rows"
        yield from (f"  lacks {gap['what']}: no {gap['costs']}" for gap in source["gaps"])
        yield from (f"  {note}" for note in source["notes"])


def in_unit(most: float, unit: str) -> tuple[float, str]:
    """Return the divisor of values up to `most`, and the resulting unit. Bytes become KiB, MiB, GiB or TiB."""
    if unit.startswith("B"):
        for prefix, scale in (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 1024.0)):
            if most >= scale:
                return scale, prefix + unit
    return 1.0, unit


def figure(value: float) -> str:
    """Return a readable value, to about four significant digits."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3e}"
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"
