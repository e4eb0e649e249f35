"""Intervals of the figures of a simulated point.

The area of a figure is the part of the twin on which it depends:

| figure | area |
|---|---|
| CPU use and waiting of groups, hosts and clusters | cpu |
| I/O latency of a group on a pool; figures of a pool | pools |
| I/O latency of a group on an array or a local drive | drives if devices limit it, path if anything before them does |
| response times and throughput of a group, and its I/Os | area with the largest share of the mean response |
| times of migrations | movement |

Devices also count as the limit of a local drive where nothing is full. The throughput of a group with its own rate has
no interval while nothing limits the group, because the scenario sets it. Neither has a figure of 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from hypertwin.documents.simulation import ErrorBasis, ErrorInterval, ModelError, ResponseShare
from hypertwin.model_error import evidence, own
from hypertwin.model_error.evidence import Row
from hypertwin.model_error.interval import LEVEL, Interval, interval
from hypertwin.model_error.kinds import Area, Kind, is_share, kind_of
from hypertwin.model_error.own import Own
from hypertwin.model_error.topology import Topology

SECTIONS = ("groups", "hosts", "clusters", "pools")
"""Sections of a point whose figures have intervals. A VM has the factors of its group."""

BEFORE_DEVICES = frozenset(("controller", "fabric", "host-cpu", "guest-cpu", "cpu-limit", "client", "storage-cpu"))
"""Limits that an I/O reaches before the devices."""

_IO = ("io_", "read_", "write_", "copied_")
_COPIED = "copied_"
_CLIENTS = ("read_", "write_")
_BASIS = {"kind": "of this kind", "area": "of any kind", "all": "of all areas"}


class Errors:
    """Intervals by area and kind, each calculated once."""

    def __init__(self, rows: Sequence[Row], own_errors: Own) -> None:
        """Use the errors of published figures, and those of the user's own system."""
        self._rows, self._own = rows, own_errors
        self._known: dict[tuple[Area, Kind], Interval | None] = {}

    def interval(self, area: Area, kind: Kind) -> Interval | None:
        """Return the interval of an area and a kind, or None without evidence."""
        if (area, kind) not in self._known:
            self._known[area, kind] = interval(self._rows, area, kind, self._own.get((area, kind), ()))
        return self._known[area, kind]


@lru_cache(maxsize=64)
def errors_of(calibrated_on: str | None, file: str = "") -> Errors:
    """Return the intervals for a scenario with this text about its calibration. Raises ScenarioError."""
    return Errors(evidence.recorded(), own.parse(calibrated_on, file))


@dataclass(frozen=True)
class Carrier:
    """Intervals of the figures of points of one scenario."""

    topology: Topology
    errors: Errors

    @staticmethod
    def of(data: Mapping[str, Any], file: str = "") -> Carrier:
        """Return the carrier of a scenario in its JSON form. Raises ScenarioError, which names its file."""
        return Carrier(Topology.of(data), errors_of(data.get("calibrated_on"), file))

    def ends(
        self, point: Mapping[str, Any], section: str, names: str, key: str, value: float
    ) -> tuple[float, float] | None:
        """Return the interval of a value of one figure, or None without model error.

        `names` can be a pattern, of which the first entity counts. A VM that the point lacks has the figures of its
        group.
        """
        ends = _Intervals(self, point).figure(*_entity(point, section, names), key, value)
        return (ends["low"], ends["high"]) if ends else None

    def area(self, point: Mapping[str, Any], section: str, names: str, key: str) -> Area:
        """Return the area of a figure. The arguments are those of `ends`."""
        return _Intervals(self, point).area(*_entity(point, section, names), key)

    def __call__(self, point: Mapping[str, Any]) -> ModelError:
        """Return the intervals of a point."""
        return _Intervals(self, point).document()

    def figure(
        self, point: Mapping[str, Any], section: str, entity: str, key: str, value: float
    ) -> ErrorInterval | None:
        """Return the interval of one figure of a point, by its flat key, or None without model error."""
        return _Intervals(self, point).figure(section, entity, key, value)


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


class _Intervals:
    """Intervals of one point. Each area and kind is calculated once."""

    def __init__(self, carrier: Carrier, point: Mapping[str, Any]) -> None:
        self._topology, self._errors, self._point = carrier.topology, carrier.errors, point
        self._used: dict[tuple[Area, Kind], Interval] = {}
        self._responses: dict[str, ResponseShare] = {}

    def document(self) -> ModelError:
        sections: dict[str, dict[str, dict[str, ErrorInterval]]] = {
            section: {
                name: dict(self._of_entity(section, name, entity))
                for name, entity in self._point.get(section, {}).items()
            }
            for section in SECTIONS
        }
        moves = [dict(self._of_move(move)) for move in self._point.get("moves", ())]
        return {
            "level_pct": 100 * LEVEL,
            "responses": {name: self.response(name) for name in self._point.get("groups", {})},
            "groups": sections["groups"],
            "hosts": sections["hosts"],
            "clusters": sections["clusters"],
            "pools": sections["pools"],
            "moves": moves,
            "bases": {f"{area} {kind}": _basis(area, kind, ends) for (area, kind), ends in self._used.items()},
        }

    def _of_entity(self, section: str, name: str, entity: Mapping[str, Any]) -> Iterator[tuple[str, ErrorInterval]]:
        for key, value in _flat(entity):
            if found := self.figure(section, name, key, value):
                yield key, found

    def _of_move(self, move: Mapping[str, Any]) -> Iterator[tuple[str, ErrorInterval]]:
        if move["kind"] != "migration" or move["outcome"] != "done":
            return  # restarts follow published times, and have no evidence
        end_s = move["end_s"]
        seconds = None if end_s is None else end_s - move["at_s"]
        for key, value in (("seconds", seconds), ("downtime_ms", move["downtime_ms"])):
            if value and (found := self._around("movement", "duration", key, value)):
                yield key, found

    def figure(self, section: str, name: str, key: str, value: float) -> ErrorInterval | None:
        area = self.area(section, name, key)
        kind = kind_of(key, area)
        if kind is None or not value or (kind == "throughput" and self._is_given(section, name)):
            return None
        return self._around(area, kind, key, value)

    def _around(self, area: Area, kind: Kind, key: str, value: float) -> ErrorInterval | None:
        ends = self._errors.interval(area, kind)
        if ends is None:
            return None
        self._used[area, kind] = ends
        low, high = ends.around(value, share=is_share(key))
        return {"low": low, "high": high, "basis": f"{area} {kind}"}

    def area(self, section: str, name: str, key: str) -> Area:
        kind = kind_of(key)
        if section == "pools":
            return self._of_clients(name) if kind == "throughput" and key.startswith(_CLIENTS) else "pools"
        if section not in ("groups", "vms") or kind == "usage":
            return "cpu"
        of_storage = kind != "throughput" or key.startswith(_COPIED)
        if key.startswith(_IO) and of_storage and self._topology.group(name) in self._topology.storage:
            return self._of_storage(name)
        return self.response(name)["area"]

    def _of_clients(self, pool: str) -> Area:
        """Return the area of the throughput of the group with the most I/Os on a pool."""
        groups = self._point.get("groups", {})
        own = [name for name, of in self._topology.storage.items() if of.name == pool and name in groups]
        return self.response(max(own, key=lambda name: groups[name]["iops"]))["area"] if own else "pools"

    def _is_given(self, section: str, name: str) -> bool:
        """True if the scenario sets the throughput of a group: its load has a rate, and nothing limits it."""
        if section not in ("groups", "vms") or self._topology.group(name) not in self._topology.paced:
            return False
        return self._limit(name) in ("nothing", "latency")

    def _limit(self, name: str) -> str:
        """Return the kind of limit of a group, or of the group of a VM."""
        limits = self._point["judgement"]["limits"]
        limit = limits.get(name) or limits.get(self._topology.group(name))
        return str(limit["kind"]) if limit else "nothing"

    def _of_storage(self, name: str) -> Area:
        storage = self._topology.storage[self._topology.group(name)]
        if storage.kind == "pool":
            return "pools"
        limit = self._limit(name)
        if limit == "devices":
            return "drives"
        return "drives" if storage.kind == "local" and limit not in BEFORE_DEVICES else "path"

    def response(self, group: str) -> ResponseShare:
        """Return the area with the largest share of a group's mean response."""
        if group not in self._responses:
            self._responses[group] = self._share(group)
        return self._responses[group]

    def _share(self, group: str) -> ResponseShare:
        vm = self._point.get("groups", {}).get(group) or self._point.get("vms", {}).get(group) or {}
        mean, per_s = (vm.get("response_ms") or {}).get("mean"), vm.get("throughput_per_s")
        latency = (vm.get("io_latency_ms") or {}).get("mean")
        io = min(1.0, vm["iops"] * latency / (per_s * mean)) if mean and per_s and latency else 0.0
        busy = [vm.get(key) or 0.0 for key in ("run_pct", "ready_pct", "costop_pct")]
        swapped = (vm.get("memory") or {}).get("swap_wait_pct") or 0.0
        memory = (1 - io) * swapped / (sum(busy) + swapped) if swapped else 0.0
        shares: dict[Area, float] = {"memory": memory, "cpu": 1 - io - memory}
        if self._topology.group(group) in self._topology.storage:
            shares[self._of_storage(group)] = io
        area = max(shares, key=lambda each: shares[each])
        return {"area": area, "share_pct": 100 * shares[area]}


def _flat(metrics: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of an entity by flat key."""
    for key, value in metrics.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}_")
        elif isinstance(value, int | float):
            yield f"{prefix}{key}", float(value)


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
