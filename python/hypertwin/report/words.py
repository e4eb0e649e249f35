"""Paths and numbers for reading, as all tables, charts and pages write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def varying_paths(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Paths whose value is not the same in every point, in the order they were given."""
    paths = list(dict.fromkeys(path for point in points for path in point["set"]))
    return [path for path in paths if len({repr(point["set"].get(path)) for point in points}) > 1]


def short_path(path: str, others: Sequence[str]) -> str:
    """The last part of a path, with the entity's name in front where that is needed to tell paths apart."""
    parts = path.split(".")
    alike = sum(other.split(".")[-1] == parts[-1] for other in others) > 1
    return ".".join(parts[-2:]) if alike else parts[-1]


def number(value: float | None, digits: int = 1) -> str:
    """A number for reading; empty when there is none."""
    return "" if value is None else f"{value:,.{digits}f}"
