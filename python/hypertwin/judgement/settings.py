"""Settings of a point in words, such as `2 batch VMs`, `4 vCPUs` or `load 3`, and the axes of a sweep."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin.documents.measured import Vm
from hypertwin.documents.simulation import Point
from hypertwin.metrics.points import groups, short_path, varying_paths

NAMES = {"vcpus": "vCPUs", "load": "load, times", "count": "number of VMs", "cores_per_socket": "cores per socket"}
"""Names for the last part of a path on an axis."""


def setting(path: str, value: object, others: Sequence[str]) -> str:
    """Return a path and its value in words. `others` decides whether its owner is named."""
    parts = path.split(".")
    name = short_path(path, others)
    if isinstance(value, int | float) and not isinstance(value, bool) and parts[0] == "vms" and len(parts) == 3:
        if parts[2] == "count":
            return f"{value or 'no'} {parts[1]} VM{'' if value in (0, 1) else 's'}"
        if parts[2] == "vcpus":
            return f"{value} vCPU{'' if value == 1 else 's'}{'' if name == 'vcpus' else f' in {parts[1]}'}"
    said = value if isinstance(value, str) else json.dumps(value, default=str)
    return f"{name.replace('_', ' ')} {said}"


def place(point: Point, paths: Sequence[str]) -> str:
    """Return the settings that distinguish a point: `load 2, 4 vCPUs`."""
    return ", ".join(setting(path, point["set"].get(path), paths) for path in paths)


def axis_name(path: str) -> str:
    """Return the name of an axis: `batch: number of VMs`."""
    *_, last = parts = path.split(".")
    owner = ".".join(parts[1:-1])
    return f"{f'{owner}: ' if owner else ''}{NAMES.get(last, last.replace('_', ' '))}"


@dataclass(frozen=True)
class Axes:
    """Layout of a sweep. One path is along x (None without a swept amount), and the other paths distinguish lines."""

    x: str | None
    others: tuple[str, ...]

    @staticmethod
    def of(points: Sequence[Point]) -> Axes:
        """Return the layout. A swept load is along x if there is one, otherwise the path with the most values."""
        paths = varying_paths(points)
        numbers = [path for path in paths if all(_is_number(point["set"].get(path)) for point in points)]
        amounts = [path for path in paths if all(_is_amount(point["set"].get(path)) for point in points)]

        def rank(path: str) -> tuple[bool, int]:
            return path.endswith(".load"), len({repr(point["set"].get(path)) for point in points})

        x = max([*numbers, *amounts], key=rank, default=None)
        return Axes(x, tuple(path for path in paths if path != x))

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, the one along x first."""
        return (*((self.x,) if self.x else ()), *self.others)


def lines(points: Sequence[Point], axes: Axes) -> Mapping[str, list[Point]]:
    """Return the points that differ only along x, in its order, by the values of the other paths."""
    found: dict[str, list[Point]] = {}
    for point in points:
        label = ", ".join(setting(path, point["set"].get(path), axes.paths) for path in axes.others)
        found.setdefault(label, []).append(point)
    x = axes.x
    for own in found.values():
        if x is not None and all(_is_number(point["set"].get(x)) for point in own):
            own.sort(key=lambda point: float(point["set"][x]))
    return found


def group_names(points: Sequence[Point]) -> list[str]:
    """Return all groups of all points, in order of first appearance."""
    return list(dict.fromkeys(name for point in points for name in groups(point)))


def work(point: Point, group: str, vm: Vm, x: str | None) -> float | None:
    """Return the throughput per VM and unit of load.

    It is constant for an unhurt group while other groups, or more of the group, are added. It is None if a workload is
    swept along `x`: throughput then follows what is asked.
    """
    if x is not None and x.startswith("workloads."):
        return None
    load: Any = point["set"].get(f"vms.{group}.load", 1)
    units = vm.get("count", 1) * (load if _is_number(load) else 1)
    return vm["throughput_per_s"] / units if units > 0 else None


def changes_work(x: str | None, group: str, workloads: Mapping[str, str]) -> bool:
    """True if a sweep along `x` changes the work of a transaction of a group, and not only how often they arrive."""
    section, name, *keys = [*(x or "").split("."), ""]
    if section == "workloads":
        return workloads.get(group) == name and keys[0] != "arrivals"
    return (section, name, keys[:1]) == ("vms", group, ["workload"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_amount(value: object) -> bool:
    return isinstance(value, str) and re.match(r"\d", value) is not None
