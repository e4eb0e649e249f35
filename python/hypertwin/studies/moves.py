"""Moves of VMs as a study's rows name them: of one VM by its name, or of `all`.

| figure | meaning |
|---|---|
| seconds | from the begin of the first to the end of the last; of one that goes on, to the end of the run |
| done | how many were done |
| rounds | most rounds of one |
| sent_bytes | what all sent |
| downtime_ms | longest time that a VM stood still for one |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypertwin import _core
from hypertwin.scenario import Scenario

ALL = "all"
"""What a path says instead of a VM's name for every move."""

DEFAULTS: Mapping[str, Any] = {"link": "1.25 GB/s", "stream": "1.875 GB/s"}
"""What a host that says nothing of migrations has."""


def about(report: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """The moves that a path is about; none where it is about something else."""
    section, _, name = path.partition(".")
    name = name.partition(".")[0]
    return [move for move in report.get("moves", ()) if section == "moves" and name in (ALL, move["vm"])]


def figures(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> dict[str, float]:
    """The figures of one or more moves of a report."""
    return {
        "seconds": _seconds(moves, report),
        "done": sum(move["outcome"] == "done" for move in moves),
        "rounds": max(move["rounds"] for move in moves),
        "sent_bytes": sum(move["sent_bytes"] for move in moves),
        "downtime_ms": max(move["downtime_ms"] or 0.0 for move in moves),
    }


def sending_pct(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any], scenario: Scenario) -> float:
    """Part of the time of moves from one host that sending would take at full speed, that of its link or streams."""
    groups = {host.name: host.group for host in scenario.inventory.hosts}
    migration = scenario.data["hosts"][groups[moves[0]["from"]]].get("migration", DEFAULTS)
    link, stream = (_core.bandwidth_bytes_per_s(migration[key]) for key in ("link", "stream"))
    speed = min(link, stream * migration.get("streams", 1) * len(moves))
    return float(100 * sum(move["sent_bytes"] for move in moves) / speed / _seconds(moves, report))


def _seconds(moves: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> float:
    end_of_run = report["warmup_s"] + report["duration_s"]
    ends = [end_of_run if move["end_s"] is None else move["end_s"] for move in moves]
    return float(max(ends) - min(move["at_s"] for move in moves))
