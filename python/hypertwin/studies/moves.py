"""Moves of VMs in the rows of a study, for one VM by its name, or for `all`.

| figure | meaning |
|---|---|
| seconds | from the start of the first to the end of the last, or to the end of the run for an unfinished move |
| done | number of completed moves |
| rounds | most rounds of one move |
| sent_bytes | bytes sent by all moves |
| downtime_ms | longest pause of a VM for one move |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypertwin import _core
from hypertwin.scenario import Scenario

ALL = "all"
"""Name in a path for every move."""

DEFAULTS: Mapping[str, Any] = {"link": "1.25 GB/s", "stream": "1.875 GB/s"}
"""Defaults of a host without migration settings."""


def about(report: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """Return the moves that a path refers to, or an empty list for other paths."""
    section, _, name = path.partition(".")
    name = name.partition(".")[0]
    return [move for move in report.get("moves", ()) if section == "moves" and name in (ALL, move["vm"])]


def figures(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of one or more moves of a report."""
    return {
        "seconds": _seconds(moves, report),
        "done": sum(move["outcome"] == "done" for move in moves),
        "rounds": max(move["rounds"] for move in moves),
        "sent_bytes": sum(move["sent_bytes"] for move in moves),
        "downtime_ms": max(move["downtime_ms"] or 0.0 for move in moves),
    }


def sending_pct(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any], scenario: Scenario) -> float:
    """Return the percentage of the duration of moves from one host that sending at full speed would take.

    The speed is that of the link or of the streams.
    """
    groups = {host.name: host.group for host in scenario.inventory.hosts}
    migration = scenario.data["hosts"][groups[moves[0]["from"]]].get("migration", DEFAULTS)
    link, stream = (_core.bandwidth_bytes_per_s(migration[key]) for key in ("link", "stream"))
    speed = min(link, stream * migration.get("streams", 1) * len(moves))
    return float(100 * sum(move["sent_bytes"] for move in moves) / speed / _seconds(moves, report))


def _seconds(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> float:
    end_of_run = report["warmup_s"] + report["duration_s"]
    ends = [end_of_run if move["end_s"] is None else move["end_s"] for move in moves]
    return float(max(ends) - min(move["at_s"] for move in moves))
