"""Intervals of the figures of a simulated point.

The core chooses the area of each figure, and calculates its interval (`crates/engine/src/model_error/point.rs`). This
module gives the core the intervals by area and kind, from published figures and the user's own system.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, cast

from hypertwin import _core
from hypertwin.documents.simulation import ErrorBasis, ModelError
from hypertwin.model_error import evidence, own
from hypertwin.model_error.evidence import Row
from hypertwin.model_error.interval import LEVEL, Interval, interval
from hypertwin.model_error.kinds import AREAS, KINDS, Area, Kind
from hypertwin.model_error.own import Own

PARTS = ("vms", "arrays", "workloads")
"""Keys of a scenario that decide the areas of figures."""

_BASIS = {"kind": "of this kind", "area": "of any kind", "all": "of all areas"}


def table(rows: Sequence[Row], own_errors: Own) -> str:
    """Return the intervals of all areas and kinds as JSON, for the core and for pages that simulate."""
    bases = {
        f"{area} {kind}": _basis(area, kind, ends)
        for area in AREAS
        for kind in KINDS
        if (ends := interval(rows, area, kind, own_errors.get((area, kind), ())))
    }
    return json.dumps({"level_pct": 100 * LEVEL, "bases": bases})


@lru_cache(maxsize=64)
def table_of(calibrated_on: str | None, file: str = "") -> str:
    """Return the intervals of a scenario with this text about its calibration. Raises ScenarioError."""
    return table(evidence.recorded(), own.parse(calibrated_on, file))


@lru_cache(maxsize=64)
def _read(intervals: str) -> _core.Intervals:
    return _core.Intervals(intervals)


@dataclass(frozen=True)
class Carrier:
    """Intervals of the figures of points of one scenario."""

    parts: str
    """Parts of the scenario that decide the areas of figures, as JSON."""
    intervals: str
    """Intervals by area and kind, as JSON (`table`)."""

    def __reduce__(self) -> tuple[type[Carrier], tuple[str, str]]:
        """Pickle the texts, without what the core made of them."""
        return Carrier, (self.parts, self.intervals)

    @cached_property
    def error(self) -> _core.ModelError:
        """The carrier of the core."""
        return _core.ModelError(self.parts, _read(self.intervals))

    @staticmethod
    def of(data: Mapping[str, Any], file: str = "") -> Carrier:
        """Return the carrier of a scenario in its JSON form. Raises ScenarioError, which names its file."""
        parts = {key: data[key] for key in PARTS if key in data}
        text = json.dumps(parts, default=dict)  # parts of a scenario are read-only mappings
        return Carrier(text, table_of(data.get("calibrated_on"), file))

    def at(self, report: str) -> At:
        """Return the intervals of a point, from its report as JSON."""
        return At(self.error.at(report))

    def __call__(self, point: Mapping[str, Any]) -> ModelError:
        """Return all intervals of a point."""
        return cast(ModelError, json.loads(self.at(json.dumps(point)).document))


@dataclass(frozen=True)
class At:
    """Intervals of the figures of one point."""

    errors: _core.PointErrors

    @property
    def document(self) -> str:
        """All intervals of the point, as the JSON of `ModelError`."""
        return self.errors.document()

    def ends(
        self, report: Mapping[str, Any], section: str, names: str, key: str, value: float
    ) -> tuple[float, float] | None:
        """Return the interval of a value of one figure, or None without model error.

        `report` is that of the point. `names` can be a pattern, of which the first entity counts. A VM that the point
        lacks has the figures of its group.
        """
        return self.errors.ends(*_entity(report, section, names), key, value)

    def area(self, report: Mapping[str, Any], section: str, names: str, key: str) -> Area:
        """Return the area of a figure. The arguments are those of `ends`."""
        return cast(Area, self.errors.area(*_entity(report, section, names), key))


def _entity(point: Mapping[str, Any], section: str, names: str) -> tuple[str, str]:
    """Return the section and the name of the entity of a figure."""
    known: Mapping[str, Any] = point.get(section) or {}
    found = next((name for name in known if fnmatchcase(name, names)), names)
    if section != "vms" or found in known:
        return section, found
    groups = [name for name in point.get("groups", {}) if f"{names}-".startswith(f"{name}-")]
    return "groups", max(groups, key=len, default=names)


def carriers(scenarios: Iterable[Mapping[str, Any]], file: str = "") -> list[Carrier]:
    """Return the carrier of each scenario in its JSON form. Neighbours that are equal share one."""
    found: list[Carrier] = []
    for data in scenarios:
        carrier = Carrier.of(data, file)
        found.append(found[-1] if found and found[-1] == carrier else carrier)
    return found


def _basis(area: Area, kind: Kind, ends: Interval) -> ErrorBasis:
    measured = f" and {ends.own} measured point{'' if ends.own == 1 else 's'} of yours" if ends.own else ""
    return {
        "area": area,
        "kind": kind,
        "low_factor": math.exp(ends.low),
        "high_factor": math.exp(ends.high),
        "sources": ends.sources,
        "of": ends.basis,
        "own_points": ends.own,
        "text": f"{area}, {kind}: {ends.text}, from {ends.sources} sources {_BASIS[ends.basis]}{measured}",
    }
