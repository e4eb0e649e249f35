"""All figures of a result of any kind, each with its location and its interval.

The module walks the document: entities in lists and maps have names (`kinds.Kind.items`), and a number is a figure. Its
interval is `NAME_ci95`, or `ci95` next to `mean`. Units follow from names, as in docs/metrics.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypertwin.comparison.kinds import VALIDATION, Kind
from hypertwin.comparison.reading import Result
from hypertwin.documents.measured import History
from hypertwin.ingest import outside
from hypertwin.metrics import points

UNITS = (
    ("_gb_per_s", "GB/s"),
    ("_mb_per_s", "MB/s"),
    ("_bytes_per_s", "B/s"),
    ("_units_per_s", ""),
    ("_per_s", "1/s"),
    ("_points", "points"),
    ("_pct", "%"),
    ("_ms", "ms"),
    ("_ns", "ns"),
    ("_s", "s"),
    ("_mhz", "MHz"),
    ("_hz", "Hz"),
    ("_gib", "GiB"),
    ("_mb", "MB"),
    ("_bytes", "B"),
    ("_years", "years"),
)
"""Endings of names with their units, longest first."""

NOUNS = {
    "vms": "VM",
    "storage": "station",
    "nodes": "node",
    "points": "point",
    "metrics": "metric",
    "lines": "metric",
    "rows": "row",
    "read": "file",
    "policies": "policy",
    "space": "room of",
    "limits": "what limits",
}
"""Name of an entity in a list, if it is not the list's name without its `s`."""

IN_UNIT = frozenset({"published", "twin", "measured", "before", "value", "start", "throughput_units_per_s"})
"""Figures whose unit is in the field `unit` next to them."""

OF_A_VM = (
    *("run_pct", "ready_pct", "costop_pct", "wait_pct", "used_mhz", "guest_cpu_pct", "run_queue", "throughput_per_s"),
    *("response_ms.mean", "response_ms.p95", "response_ms.p99", "iops", "io_latency_ms.mean", "io_latency_ms.p99"),
    *("numa_local_pct", "down_s", "slow_s", "memory.swap_wait_pct", "memory.ballooned_bytes", "memory.swapped_bytes"),
)
"""Compared figures of single VMs, whose number can be hundreds. For groups, all figures are compared."""

HAPPENINGS = tuple(History.__annotations__)
"""Lists of a point that are compared by length."""


@dataclass(frozen=True)
class Place:
    """Location of a figure."""

    at: str
    of: str
    name: str
    figure: str


NOWHERE = Place("", "", "", "")


@dataclass(frozen=True)
class Figure:
    """Figure with the half-width of its 95 % interval, if available."""

    value: float
    ci95: float | None
    unit: str


@dataclass
class Collected:
    """Settings, figures and words of a result."""

    settings: dict[str, str] = field(default_factory=dict)
    numbers: dict[Place, Figure] = field(default_factory=dict)
    words: dict[Place, str] = field(default_factory=dict)
    points: set[str] = field(default_factory=set)
    """Points of a sweep."""


def swept(result: Result) -> list[str]:
    """Return the paths that a simulation sweeps, or an empty list for other kinds.

    Raises SourceError for invalid points.
    """
    return points.varying_paths(_points(result)) if result.kind.name == "simulation" else []


def _points(result: Result) -> list[Any]:
    listed = result.document["points"]
    named = [each for each in listed if _has_set(each)] if isinstance(listed, list) else []
    if not named or len(named) != len(listed):
        outside.Source(result.file).at("points").refuse(
            str(listed)[:80], "a list of points, each with `set`", "write the result again"
        )
    return named


def _has_set(point: object) -> bool:
    return isinstance(point, dict) and isinstance(point.get("set"), dict)


def collect(result: Result, varying: Sequence[str] = ()) -> Collected:
    """Return settings, figures and words of a result. `varying` are paths that name its points, as in the other result.

    Raises SourceError if a value is not valid JSON.
    """
    walk = _Walk(result.kind, result.file, varying)
    try:
        walk.document(result)
    except RecursionError:
        outside.Source(result.file).refuse("nested too deeply", "at most a few levels", "write the result again")
    return walk.found


class _Walk:
    """Collects the contents of a document."""

    def __init__(self, kind: Kind, file: str, varying: Sequence[str]) -> None:
        self.kind, self.file, self.varying = kind, file, varying
        self.alone = False
        """True if the figures are from one replication, which does not show how much others would differ."""
        self.found = Collected()

    def document(self, result: Result) -> None:
        """Collect all of a result."""
        document = result.document
        if self.kind is VALIDATION:
            self.set("hypertwin", result.made.get("version"))
            self.enter(NOWHERE, {"figures": document})
            return
        self.set("hypertwin", result.made.get("version") or document.get("version"))
        for name in self.kind.settings:
            self.set(name, document.get(name))
        rest = {key: value for key, value in document.items() if key not in {*self.kind.settings, "version"}}
        if self.kind.name == "simulation":
            del rest["points"]
            self.sweep(_points(result))
        self.enter(NOWHERE, rest)

    def set(self, name: str, value: Any) -> None:
        """Add a setting. A map adds one setting per key."""
        if isinstance(value, Mapping):
            for key, each in value.items():
                self.set(key if name == "set" else f"{name}.{key}", each)
        elif value is not None:
            self.found.settings[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def sweep(self, named: list[Any]) -> None:
        """Collect the points of a simulation.

        Common values are settings, swept paths are a setting, and varying values name points.
        """
        self.set("set", points.fixed_settings(named))
        for path in points.varying_paths(named):
            values = dict.fromkeys(points.setting_at(point, path) or points.setting(None) for point in named)
            self.set(path, f"swept {', '.join(values)}")
        for key in ("duration_s", "warmup_s", "replications", "calibration"):
            self.set(key, named[0].get(key))
        for point in named:
            at = points.where(point, self.varying)
            self.found.points.add(at)
            rest = {
                key: value
                for key, value in point.items()
                if key not in ("set", "duration_s", "warmup_s", "replications")
            }
            rest.update({key: len(point[key]) for key in HAPPENINGS if isinstance(point.get(key), list)})
            judged = point.get("judgement")  # results of older versions have none
            rest["limits"] = judged.get("limits") if isinstance(judged, dict) else None
            groups = point.get("groups")
            if isinstance(groups, dict) and isinstance(point.get("vms"), dict):
                # a group of one VM has its name: the same figures twice
                rest["vms"] = {name: vm for name, vm in point["vms"].items() if name not in groups}
            self.alone = point.get("replications") == 1
            self.enter(Place(at, "", "", ""), rest)

    def enter(self, place: Place, fields: Mapping[str, Any]) -> None:
        """Collect the fields of an entity."""
        for key, value in fields.items():
            if key in self.kind.left_out or key == "ci95" or key.endswith("_ci95"):
                continue
            if key in self.kind.items and isinstance(value, (dict, list)):
                for name, thing in self.things(key, value):
                    outer = f"{place.name}, " if place.name else ""
                    self.enter(Place(place.at, NOUNS.get(key, key.removesuffix("s")), outer + name, ""), thing)
                continue
            figure = f"{place.figure}.{key}" if place.figure else key
            self.value(Place(place.at, place.of, place.name, figure), key, value, fields)

    def value(self, place: Place, key: str, value: Any, fields: Mapping[str, Any]) -> None:
        """Collect one field."""
        if isinstance(value, dict):
            if value.keys() == {"mean", "ci95"}:
                self.number(place, value["mean"], value["ci95"], fields)
            else:
                self.enter(place, value)
        elif key in self.kind.words:
            self.found.words[place] = _word(value)
        elif not isinstance(value, bool):
            half = fields.get("ci95") if key == "mean" else fields.get(f"{key}_ci95")
            bounds = fields.get("interval") if key == "value" else None
            if isinstance(bounds, list) and len(bounds) == 2:
                low, high = map(_finite, bounds)
                half = (high - low) / 2 if low is not None and high is not None else None
            self.number(place, value, half, fields)

    def number(self, place: Place, value: Any, half: Any, fields: Mapping[str, Any]) -> None:
        """Collect a figure. Values other than numbers are ignored."""
        if not _is_number(value) or (place.of == "VM" and place.figure not in OF_A_VM):
            return
        finite = _finite(value)
        if finite is None:
            where = f"{place.name} {place.figure}".strip()
            outside.Source(self.file).at(where).refuse(str(value)[:80], "a finite number", "write the result again")
        told = fields.get("unit")
        unit = told if place.figure in IN_UNIT and isinstance(told, str) else unit_of(place.figure)
        self.found.numbers[place] = Figure(finite, None if self.alone else _finite(half), unit)

    def things(self, key: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the entities of a list or map with their names. Repeated names get a number."""
        seen: dict[str, int] = {}
        entries: Sequence[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for place, thing in entries:
            if not isinstance(thing, dict):
                continue
            named = self.kind.items[key]
            parts = [str(thing[each]) for each in named if thing.get(each) is not None]
            name = ", ".join(parts) if parts else str(place)
            seen[name] = seen.get(name, 0) + 1
            yield (
                (name if seen[name] == 1 else f"{name} ({seen[name]})"),
                {part: each for part, each in thing.items() if part not in named},
            )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finite(value: Any) -> float | None:
    """Return a number as a float, or None for other values, and for numbers too large for a float."""
    try:
        return float(value) if _is_number(value) and math.isfinite(value) else None
    except OverflowError:
        return None


def _word(value: object) -> str:
    """Return a verdict as a word."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def unit_of(figure: str) -> str:
    """Return the unit of a figure from its name, or an empty string if the name has none."""
    for part in reversed(figure.split(".")):
        for ending, unit in UNITS:
            if part.endswith(ending):
                return unit
    return ""
