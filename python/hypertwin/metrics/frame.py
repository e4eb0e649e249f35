"""Conversion of a result to a flat table with one row per sweep point and entity, for spreadsheets and data frames.

Columns, in this order: `scenario`, `version`, `seed`, `point` (0, 1, ...), one column per set or swept path,
`replications`, `steady`, `unsteady_reason`, `kind` (`host`, `vm`, `group`, `storage`, `pool`, `cluster` or `space` of a
pool), `name`, then every metric. A metric with nested keys in the JSON form becomes one column per key:
`response_ms.p99` is `response_ms_p99`. A missing metric of an entity is empty.

`of_kind` has the entities of one section with only their metrics, and the timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from hypertwin.documents.simulation import Point, Simulation
from hypertwin.extras import needs
from hypertwin.metrics.packed import settings

if TYPE_CHECKING:
    import polars

KINDS = {
    **{"hosts": "host", "vms": "vm", "groups": "group", "storage": "storage", "pools": "pool", "clusters": "cluster"},
    "space": "space",
}
"""Sections of a point, with the noun for an entity of each section."""

RESERVED = ("scenario", "version", "seed", "point", "replications", "steady", "unsteady_reason", "kind", "name")
"""Names of the columns that are not metrics."""

BATCH = 1_000
"""Number of rows that are collected before they are converted to columns of a data frame."""


def flatten(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested metrics with `_`, so that `{"response_ms": {"p99": 1}}` is `{"response_ms_p99": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in metrics.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}_"))
        elif not isinstance(value, list):  # outcomes, incidents: not one number
            flat[f"{prefix}{key}"] = value
    return flat


MISSING = object()
"""Marker for a figure that a record does not contain. None marks a figure that was not measured."""


def value_at(metrics: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key of `flatten(metrics)`, or MISSING if the key does not exist."""
    if key in metrics:
        value = metrics[key]
        return MISSING if isinstance(value, Mapping | list) else value
    inner = (name for name, value in metrics.items() if isinstance(value, Mapping) and key.startswith(f"{name}_"))
    found = (value_at(metrics[name], key[len(name) + 1 :]) for name in inner)
    return next((value for value in found if value is not MISSING), MISSING)


def numeric(metrics: Mapping[str, object], key: str) -> float | None:
    """Return the number under a variable key, which a type cannot check, or None if there is none."""
    value = metrics.get(key)
    return value if isinstance(value, int | float) else None


def set_column(path: str) -> str:
    """Return the column name for the value set at `path`. A path that would hide another column gets a prefix."""
    return f"set.{path}" if path in RESERVED or "." not in path else path


def entities(point: Point) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (kind, name, metrics) of every host, VM, group, I/O station, pool, pool's space, and cluster."""
    sections: Mapping[str, Any] = point
    for section, kind in KINDS.items():
        for name, metrics in sections.get(section, {}).items():
            if isinstance(metrics, Mapping):
                yield kind, name, metrics


def rows(result: Simulation) -> Iterator[dict[str, Any]]:
    """Yield flat rows of a result in its JSON form, one per point and entity, with the metrics of each entity."""
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
            "unsteady_reason": reason["text"] if (reason := point["verdict"]["reason"]) else None,
        }
        for kind, name, metrics in entities(point):
            yield {**common, "kind": kind, "name": name, **flatten(metrics)}


def samples(result: Simulation) -> Iterator[dict[str, Any]]:
    """Yield flat rows of the timelines: one row per point, entity and sample.

    Times are in seconds since the end of the warm-up.
    """
    paths = list(dict.fromkeys(path for each in settings(result["points"]) for path in each))
    for index, point in enumerate(result["points"]):
        common = {"point": index, **{set_column(path): point["set"].get(path) for path in paths}}
        timeline: Mapping[str, Any] = point["timeline"]
        for section, kind in KINDS.items():
            for name, series in timeline.get(section, {}).items():
                for sample, time_s in enumerate(timeline["time_s"]):
                    values = {metric: each[sample] for metric, each in series.items()}
                    yield {**common, "kind": kind, "name": name, "time_s": time_s, **values}


def judged(result: Simulation, section: str) -> Iterator[dict[str, Any]]:
    """Yield flat rows of the judgement: `signs` of VMs (worst first), or `limits` of groups."""
    paths = list(dict.fromkeys(path for each in settings(result["points"]) for path in each))
    for index, point in enumerate(result["points"]):
        common = {"point": index, **{set_column(path): point["set"].get(path) for path in paths}}
        of_vms, limits = point["judgement"]["vms"], point["judgement"]["limits"]
        found: Mapping[str, Sequence[Mapping[str, Any]]] = (
            of_vms if section == SIGNS else {name: [limit] for name, limit in limits.items()}
        )
        for name, records in found.items():
            yield from ({**common, "name": name, **record} for record in records)


def columns(result: Simulation) -> dict[str, Callable[[Any], Any]]:
    """Return every column in order, and the function that gives its values one type."""
    return _columns(rows(result))


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, Callable[[Any], Any]]:
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    return {name: alike(found) for name, found in kinds.items()}


def alike(kinds: set[type]) -> Callable[[Any], Any]:
    """Return a function that converts values to one type.

    Values that are all numbers or all booleans are unchanged. Otherwise they are converted to text. None is unchanged.
    """
    kinds = kinds - {type(None)}
    if kinds == {int, float}:
        return lambda value: None if value is None else float(value)
    if len(kinds) > 1 or kinds & {list, dict}:
        return lambda value: None if value is None else str(value)
    return lambda value: value


def to_frame(result: Simulation) -> polars.DataFrame:
    """Return the flat rows as a polars data frame. A column of mixed types becomes text."""
    return _frame(lambda: rows(result))


TIMELINE = "timeline"
"""Name of the kind of frame that contains the timeline samples."""

SIGNS, LIMITS = "signs", "limits"
"""Names of the kinds of frames that contain the judgement of points."""


def kinds(result: Simulation) -> list[str]:
    """Return the sections of a result that have entities in its first point, plus its judgement and the timeline."""
    first: Mapping[str, Any] = result["points"][0]
    return [*(section for section in KINDS if first.get(section)), SIGNS, LIMITS, TIMELINE]


def of_kind(result: Simulation, section: str) -> polars.DataFrame:
    """Return a data frame of the entities of one section with their metrics, or of the judgement or the timeline.

    Columns: `point`, one per set or swept path, `replications`, `steady`, `unsteady_reason`, `name`, metrics. For the
    timeline: `point`, paths, `kind`, `name`, `time_s`, metrics. For `signs`: `point`, paths, `name`, `metric`,
    `severity`, `value`, `weight`, `text`. For `limits`: `point`, paths, `name`, `kind`, `of`, `value_pct`, `text`.
    """
    if section == TIMELINE:
        return _frame(lambda: samples(result))
    if section in (SIGNS, LIMITS):
        return _frame(lambda: judged(result, section))
    left_out = {"scenario", "version", "seed", "kind"}

    def of_section() -> Iterator[dict[str, Any]]:
        for row in rows(result):
            if row["kind"] == KINDS[section]:
                yield {name: value for name, value in row.items() if name not in left_out}

    return _frame(of_section)


def _frame(rows: Callable[[], Iterator[dict[str, Any]]]) -> polars.DataFrame:
    needs("telemetry", "a data frame")
    import polars

    found, flat = _columns(rows()), rows()
    parts = []
    while batch := list(islice(flat, BATCH)):
        parts.append(polars.DataFrame({name: [of(row.get(name)) for row in batch] for name, of in found.items()}))
    return polars.concat(parts, how="vertical_relaxed") if parts else polars.DataFrame()
