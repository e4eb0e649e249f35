"""A result as a flat table: one row per sweep point and entity, for spreadsheets and data frames.

Columns, in this order: `scenario`, `version`, `seed`, `point` (0, 1, ...), one column per path that was set or
swept, `replications`, `steady`, `kind` (`host`, `vm`, `group`, `storage`, `pool`, `cluster` or `space` of a
pool), `name`, then every
metric. A metric that is a small object in the JSON form becomes one column per key: `response_ms.p99` is
`response_ms_p99`. A metric that an entity lacks is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.extras import needs
from hypertwin.reports import settings

if TYPE_CHECKING:
    import polars

KINDS = {
    **{"hosts": "host", "vms": "vm", "groups": "group", "storage": "storage", "pools": "pool", "clusters": "cluster"},
    "space": "space",
}
"""Sections of a point and the word for one of their entities."""

RESERVED = ("scenario", "version", "seed", "point", "replications", "steady", "kind", "name")
"""Columns that are not metrics."""

BATCH = 1_000
"""Rows that are made at a time, before they are columns of a data frame."""


def flatten(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested metrics with `_`, so that `{"response_ms": {"p99": 1}}` is `{"response_ms_p99": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in metrics.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}_"))
        elif not isinstance(value, list):  # outcomes, incidents: not one number
            flat[f"{prefix}{key}"] = value
    return flat


def numeric(metrics: Mapping[str, object], key: str) -> float | None:
    """The number under a key that is a variable, which a type cannot check; None where there is none."""
    value = metrics.get(key)
    return value if isinstance(value, int | float) else None


def set_column(path: str) -> str:
    """Name of the column that holds the value set at `path`; a path that would hide another column gets a prefix."""
    return f"set.{path}" if path in RESERVED or "." not in path else path


def entities(point: Point) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (kind, name, metrics) of every host, VM, group, station of the I/O path, pool, its space, and cluster."""
    sections: Mapping[str, Any] = point
    for section, kind in KINDS.items():
        for name, metrics in sections.get(section, {}).items():
            if isinstance(metrics, Mapping):
                yield kind, name, metrics


def rows(result: Simulation) -> Iterator[dict[str, Any]]:
    """Flat rows of a result in its JSON form, one per point and entity, each with the metrics that its entity has."""
    paths = list(dict.fromkeys(path for each in settings(result["points"]) for path in each))
    for index, point in enumerate(result["points"]):
        common = {
            "scenario": result["scenario"],
            "version": result["version"],
            "seed": result["seed"],
            "point": index,
            **{set_column(path): point["set"].get(path) for path in paths},
            "replications": point["replications"],
            "steady": point["steady"],
        }
        for kind, name, metrics in entities(point):
            yield {**common, "kind": kind, "name": name, **flatten(metrics)}


def columns(result: Simulation) -> dict[str, Callable[[Any], Any]]:
    """Every column in its order, and what makes its values of one type."""
    kinds: dict[str, set[type]] = {}
    for row in rows(result):
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    return {name: alike(found) for name, found in kinds.items()}


def alike(kinds: set[type]) -> Callable[[Any], Any]:
    """Makes values of one type: numbers and booleans stay when all agree, anything else becomes text; None stays."""
    kinds = kinds - {type(None)}
    if kinds == {int, float}:
        return lambda value: None if value is None else float(value)
    if len(kinds) > 1 or kinds & {list, dict}:
        return lambda value: None if value is None else str(value)
    return lambda value: value


def to_frame(result: Simulation) -> polars.DataFrame:
    """Return the flat rows as a polars data frame; a column of mixed types becomes text."""
    needs("telemetry", "a data frame")
    import polars

    found, flat = columns(result), rows(result)
    parts = []
    while batch := list(islice(flat, BATCH)):
        parts.append(polars.DataFrame({name: [of(row.get(name)) for row in batch] for name, of in found.items()}))
    return polars.concat(parts, how="vertical_relaxed") if parts else polars.DataFrame()
