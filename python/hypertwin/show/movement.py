"""View of VMs that were down, moved or could not restart: sentences and tables for a terminal, words for the page.

All figures are from the first replication, except the downtime of each VM, which is a mean over replications.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypertwin.documents.measured import Downtime, Move, Outage
from hypertwin.documents.simulation import HostFailure, Point, Simulation
from hypertwin.metrics.points import setting_at, short_path, varying_paths, where
from hypertwin.metrics.words import count, number, some
from hypertwin.show.table import Cells

MOST_ROWS = 20
"""Maximum number of outages or migrations in a table. If there are several points, each has at least LEAST rows."""

LEAST = 5

SHOWN_STOPS = 20
"""Maximum number of failures and returns of hosts of one point below the table."""

WHY: Mapping[str, str] = {
    "event": "as asked",
    "maintenance": "maintenance",
    "balance": "balancing",
    "rule": "placement rule",
    "failure": "host failed",
}
"""Texts for reasons of moves."""

OUTCOME: Mapping[str, str] = {"done": "", "running": "not ended", "given-up": "given up"}
"""Texts for outcomes of moves, empty for success."""


def unplaced(points: Sequence[Point]) -> list[str]:
    """Return the VMs that could not restart, and their shortage, for each point."""
    return [f"{prefix}{said}" for prefix, point in _each(points) for said in point["judgement"].get("unplaced", [])]


def stops(points: Sequence[Point]) -> list[str]:
    """Return failures and returns of hosts, and downtimes of VMs, for each point with failures."""
    said = []
    for prefix, point in _each(points):
        failures = point.get("failures", [])
        said += [f"{prefix}{stop(failure, point)}" for failure in failures[:SHOWN_STOPS]]
        if len(failures) > SHOWN_STOPS:
            said.append(f"{prefix}{len(failures) - SHOWN_STOPS} more failures and returns are in the JSON form.")
        said += [f"{prefix}{each}" for each in _downtimes(point)]
    return said


def stop(failure: HostFailure, point: Point) -> str:
    """Return a sentence about the failure or return of hosts, with time and effect on the VMs."""
    verb = ("fail" if failure["fails"] else "return") + ("s" if len(failure["hosts"]) == 1 else "")
    restarted = _restarted(point)
    lost = [name for name in failure["vms"] if name in restarted]
    stuck = [name for name in failure["vms"] if name not in restarted]
    parts = [
        *_do(lost, ("goes down", "go down") if failure["fails"] else ("is up", "are up")),
        *_do(stuck, ("stops", "stop") if failure["fails"] else ("resumes", "resume")),
    ]
    return f"{failure['time_s']:g} s: {some(failure['hosts'])} {verb}{''.join(parts)}."


def _do(names: Sequence[str], verbs: tuple[str, str]) -> list[str]:
    return [f"; {count(len(names), 'VM')} {verbs[len(names) != 1]}: {some(names)}"] if names else []


def _restarted(point: Point) -> set[str]:
    """Return the VMs that their cluster restarts elsewhere, so that their outages are tracked."""
    return {outage["vm"] for outage in point.get("outages", [])}


def _downtimes(point: Point) -> list[str]:
    """Return the downtimes of VMs. VMs that nothing restarts are separate, with the reason."""
    down = {name: vm["down_s"] for name, vm in point["vms"].items() if vm.get("down_s")}
    if not down:
        return []
    longest = sorted(down, key=lambda name: -down[name])
    restarted = _restarted(point)

    def times(names: Sequence[str]) -> str:
        return some([f"{name} {number(down[name])} s" for name in names])

    back = [name for name in longest if name in restarted]
    stuck = [name for name in longest if name not in restarted]
    measured = f"in the {point['duration_s']:g} s measured"
    said = []
    if back:
        over = "Averages of these VMs cover their uptime (up %), their throughput covers the whole run."
        said.append(f"Down {measured}: {times(back)}. {over}")
    if stuck:
        clusters = sorted({str(point["vms"][name].get("cluster", "default")) for name in stuck})
        of = f"cluster{'' if len(clusters) == 1 else 's'} {some(clusters)}"
        said.append(
            f"Stopped {measured}: {times(stuck)}. No ha policy in {of} restarts them on another host. Their averages"
            " count this time as idle."
        )
    return said


def notes(points: Sequence[Point]) -> list[str]:
    """Return notes on moves: their run, the number of unfinished moves, and the reason why nothing is steady."""
    said = []
    if any(point.get("moves") or point.get("outages") for point in points):
        first = "are from the first replication, and " if any(point["replications"] > 1 for point in points) else ""
        said.append(f"Times of outages and migrations {first}include the warm-up.")
    for prefix, point in _each(points):
        late = [move for move in migrations(point) if move["outcome"] != "done"]
        for outcome, what in (("given-up", "given up"), ("running", "still under way at the end")):
            names = [move["vm"] for move in late if move["outcome"] == outcome]
            if names:
                said.append(f"{prefix}{count(len(names), 'migration')} {what}: {some(names)}.")
    return said


def migrations(point: Point) -> list[Move]:
    """Return the live migrations of a point. Restarts are part of its outages."""
    return [move for move in point.get("moves", []) if move["kind"] == "migration"]


def outages_table(result: Simulation) -> tuple[Cells, str]:
    """Return a table of outages of VMs: host, time of detection, and time and host of the restart."""
    spread = any(point["replications"] > 1 for point in result["points"])
    heads = ("at s", "VM", "host", "up on", "noticed after s", "started after s", "up after s")

    def of(point: Point) -> list[tuple[Outage, Downtime | None]]:
        downtimes = point.get("downtimes", {})
        return [(outage, downtimes.get(outage["vm"])) for outage in point.get("outages", [])]

    def row(entry: tuple[Outage, Downtime | None]) -> list[str]:
        outage, downtime = entry
        after = (_since(outage[key], outage["from_s"]) for key in ("detected_s", "restart_s", "up_s"))
        all_of = [_spread(downtime)] if spread else []
        return [
            number(outage["from_s"]),
            outage["vm"],
            outage["host"],
            outage["up_on"] or "not up again",
            *after,
            *all_of,
        ]

    def longest(entry: tuple[Outage, Downtime | None]) -> float:
        outage, _ = entry
        return float("inf") if outage["up_s"] is None else outage["up_s"] - outage["from_s"]

    more = ("all replications s",) if spread else ()
    return _cells(result, of, row, longest, (*heads, *more), 4, "outages, the longest")


def _spread(downtime: Downtime | None) -> str:
    if downtime is None:
        return ""
    shortest, longest = number(downtime["min_s"]), number(downtime["max_s"])
    return shortest if shortest == longest else f"{shortest} to {longest}"


def migrations_table(result: Simulation) -> tuple[Cells, str]:
    """Return a table of migrations of VMs: source, target, reason, duration, and pause at the end."""
    heads = ("at s", "VM", "from", "to", "why", "took s", "downtime ms", "rounds", "sent GiB", "outcome")

    def row(move: Move) -> list[str]:
        return [
            *(number(move["at_s"]), move["vm"], move["from"], move["to"], WHY.get(move["why"], move["why"])),
            *(_since(move["end_s"], move["at_s"]), number(move["downtime_ms"]), number(move["rounds"], 0)),
            *(number(move["sent_bytes"] / 2**30), OUTCOME.get(move["outcome"], move["outcome"])),
        ]

    def longest(move: Move) -> float:
        ended = move["end_s"] is not None and move["outcome"] == "done"
        return (move["end_s"] or 0) - move["at_s"] if ended else float("inf")

    return _cells(result, migrations, row, longest, heads, 5, "migrations, the longest")


MIGRATIONS_DROPPED = ("sent GiB", "rounds")
OUTAGES_DROPPED = ("noticed after s",)
"""Columns to drop in a narrow terminal, in this order."""


def _since(then: float | None, start: float) -> str:
    return "" if then is None else number(then - start)


def _cells(
    result: Simulation,
    of: Callable[[Point], Sequence[Any]],
    row: Callable[[Any], list[str]],
    longest: Callable[[Any], float],
    heads: Sequence[str],
    words: int,
    what: str,
) -> tuple[Cells, str]:
    """Return rows of all points in order of time, limited to the longest ones, and the number of omitted rows."""
    points = result["points"]
    paths = varying_paths(points)
    most = max(LEAST, MOST_ROWS // max(1, len(points)))
    rows: list[list[str]] = []
    left_out = 0
    for point in points:
        found = list(of(point))
        if len(found) > most:
            left_out += len(found) - most
            found = sorted(found, key=longest, reverse=True)[:most]
        rows += [[*(setting_at(point, path) for path in paths), *row(each)] for each in found]
    note = f"Shown are the {most} {what}; {left_out:,} more are in --format json." if left_out else ""
    return Cells([*(short_path(path, paths) for path in paths), *heads], rows, swept=len(paths), words=words), note


def _each(points: Sequence[Point]) -> list[tuple[str, Point]]:
    """Return each point with the words that distinguish it, and a colon."""
    paths = varying_paths(points)
    return [(f"{place}: " if (place := where(point, paths)) else "", point) for point in points]
