"""Common settings and differences of the points of a simulation, for all views of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypertwin.documents.measured import Vm
from hypertwin.documents.simulation import Point, Verdict
from hypertwin.documents.space import OWN
from hypertwin.metrics.packed import settings
from hypertwin.metrics.words import number
from hypertwin.naming import counted


def some_points(points: Sequence[Point], most: int) -> tuple[Sequence[Point], list[str]]:
    """Return at most `most` evenly sampled points, and a sentence about the sampling unless all points are included."""
    step = -(-len(points) // most)
    if step <= 1:
        return points, []
    shown = points[::step]
    said = f"{len(shown):,} of {len(points):,} points shown, one of every {step}. --format csv and json have all."
    return shown, [said]


def varying_paths(points: Sequence[Point]) -> list[str]:
    """Return the paths whose value differs between points, in the given order."""
    given = settings(points)
    paths = list(dict.fromkeys(path for each in given for path in each))
    return [path for path in paths if len({repr(each.get(path)) for each in given}) > 1]


def fixed_settings(points: Sequence[Point]) -> dict[str, Any]:
    """Return the paths with the same value in every point, and that value."""
    varying = varying_paths(points)
    return {path: value for each in settings(points)[:1] for path, value in each.items() if path not in varying}


def setting(value: object) -> str:
    """Return a setting in written form. `null` removes a key."""
    return "null" if value is None else str(value)


def setting_at(point: Point, path: str) -> str:
    """Return the setting at a path in a point, or an empty string without one.

    No policy means the redundancy of the pool.
    """
    if path not in point["set"]:
        return ""
    value = point["set"][path]
    if value is not None or not (path.startswith("vms.") and path.endswith(".policy")):
        return setting(value)
    own = {each["policies"][0]["redundancy"] for each in point.get("space", {}).values() if len(each["policies"]) > 1}
    return own.pop() if len(own) == 1 else OWN


def short_path(path: str, others: Sequence[str]) -> str:
    """Return the last part of a path, after the entity's name if paths would be ambiguous."""
    parts = path.split(".")
    alike = sum(other.split(".")[-1] == parts[-1] for other in others) > 1
    return ".".join(parts[-2:]) if alike else parts[-1]


def where(point: Point, paths: Sequence[str]) -> str:
    """Return the values of a point at `paths`, in words: `load 2, vcpus 4`."""
    return ", ".join(f"{short_path(path, paths)} {setting_at(point, path) or setting(None)}" for path in paths)


WHY_NO_LONGER = {
    "grows-on": "A run of half this length found the same growth: a longer run would not be steady either.",
    "most-events": "Longer runs exceed the limit of automatic runs: set --duration.",
}
"""Reasons why runs with found times are not longer although the runs are not steady."""


def unsteady(verdict: Verdict) -> str:
    """Return the reason why a point is not steady, or unknown, in a sentence or two.

    The text is empty for a steady point.
    """
    reason = verdict["reason"]
    if reason is None:
        return ""
    word = "not steady" if verdict["steady"] == "not-steady" else "not known to be steady"
    more = f" Measure {number(reason['needs_s'])} s to decide (--duration)." if reason["needs_s"] else ""
    return f"{word}: {reason['text']}.{more}"


def groups(point: Point) -> Mapping[str, Vm]:
    """Return the VM groups of a point by name, or its VMs if the point has no groups."""
    return point.get("groups") or point["vms"]


def has_clusters(points: Sequence[Point]) -> bool:
    """True if hosts are in several clusters, so that clusters have rows."""
    return any(len(point.get("clusters", {})) > 1 for point in points)


def is_touched_said(figures: Mapping[str, Any]) -> bool:
    """True if a VM of a host or cluster has touched less memory than its size, by the scenario."""
    return bool(figures.get("memory_usage_pct") != figures.get("memory_pct"))


def runs(points: Sequence[Point]) -> str:
    """Return the number and length of replications, in words."""
    if not points:
        return "no points"
    replications, length = points[0]["replications"], lengths([point.get("duration_s") for point in points])
    return f"{counted(replications, 'replication')}{length}"


def lengths(seconds: Iterable[float | None]) -> str:
    """Return the length of runs, in words, or an empty string if unknown."""
    known = sorted({each for each in seconds if each is not None})
    if not known:
        return ""
    return f" of {known[0]:g} s" if len(known) == 1 else f" of {known[0]:g} to {known[-1]:g} s"
