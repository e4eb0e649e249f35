"""View of a simulation for a terminal: tables of clusters, groups, hosts, VMs, pools and stations, and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.simulation import Answer, Point, Simulation
from hypertwin.metrics.bands import band
from hypertwin.metrics.frame import numeric
from hypertwin.metrics.points import (
    WHY_NO_LONGER,
    fixed_settings,
    groups,
    has_clusters,
    is_touched_said,
    runs,
    setting,
    some_points,
    unsteady,
    varying_paths,
    where,
)
from hypertwin.metrics.ready import note as ready_note
from hypertwin.metrics.words import calibration_note, number, some
from hypertwin.show import entities, measured, memory, movement, pools, room, stations, terminal
from hypertwin.show.measured import Measured
from hypertwin.show.table import Cells, Fitted

MOST_POINTS = 1_000
"""Maximum number of points of a sweep in a table or a page. Other forms have all."""

FEW_HOSTS = 16
"""Maximum number of rows of hosts that a sweep shows by default."""

BRIEF_ERRORS = 6
"""Maximum number of rows of intervals with the twin's own error in a brief answer, after two tables a third of it.
`--show model-error` has all.
"""

SHOW: Mapping[str, Sequence[entities.Kind]] = {
    "clusters": (entities.CLUSTERS,),
    "groups": (entities.GROUPS, entities.IO_OF_GROUPS),
    "hosts": (entities.HOSTS,),
    "vms": (entities.VMS, entities.IO_OF_VMS),
    "model-error": entities.ERRORS,
    "memory": (memory.OF_HOSTS, memory.OF_VMS),
    "moves": (),
    "pools": (),
    "stations": (entities.STATIONS,),
}
"""Tables by name for `--show`. Tables of moves and pools are in other modules."""


def brief(
    result: Simulation,
    measured_hosts: Measured | None = None,
    notes: Sequence[str] = (),
    *,
    more: Sequence[str] = (),
) -> RenderableType:
    """Return the answer, one or two tables with their main columns, and at most three notes, `notes` first.

    The last line names `more` options, which show the rest.
    """
    points, few = some_points(result["points"], MOST_POINTS)
    result = measured.beside({**result, "points": points}, measured_hosts or {})
    several = len(points) > 1
    named = list(usual(result))
    kinds = [entities.CLUSTERS] if has_clusters(points) else []
    kinds += [entities.GROUPS, *([memory.OF_VMS] if "memory" in named else []), entities.IO_OF_GROUPS]
    kinds += [] if several else [entities.HOSTS]
    parts: list[RenderableType] = [*answered(result["answer"], terminal.MAX_LINES), Text(title(result), "italic")]
    left = terminal.MAX_TABLES
    for kind in kinds:
        most = entities.MOST_ROWS if several else terminal.MAX_BRIEF_ROWS
        cells, _ = entities.cells(result, kind, _hidden(result, named) | _not_brief(kind, result), most=most)
        if cells.rows and left:
            parts.append(Fitted(kind.title, cells, kind.dropped_first))
            left -= 1
    parts += _errors(result, BRIEF_ERRORS if left else BRIEF_ERRORS // 3)
    said = list(dict.fromkeys((*notes, *memory_warnings(points), *steadiness(points), *few, _spread(result))))
    lines = [*said[: terminal.MAX_NOTES], f"More: {'  '.join(more)}"]
    return Group(*parts, *(Text(each, style="dim") for each in lines))


def _errors(result: Simulation, most: int) -> Iterator[Fitted]:
    """Yield the intervals of groups with the twin's own error, if they have at most `most` rows."""
    kind = entities.ERRORS_OF_GROUPS
    cells, _ = entities.cells(result, kind, kind.not_brief, most=terminal.MAX_BRIEF_ROWS)
    if len(cells.rows) <= most and any(cell for row in cells.rows for cell in row[cells.swept + cells.words :]):
        yield Fitted(kind.title, cells, kind.dropped_first)


def table(
    result: Simulation,
    show: Sequence[str] = (),
    measured_hosts: Measured | None = None,
    assumptions: Sequence[str] = (),
) -> RenderableType:
    """Return the result for a terminal: the named tables, otherwise the default ones. See `SHOW`.

    For a sweep of more than MOST_POINTS, some points are left out. `measured_hosts` appears next to the twin's figures,
    `assumptions` (`assumed.notes`) below them.
    """
    points, few = some_points(result["points"], MOST_POINTS)
    result = {**result, "points": points}
    named = list(show or usual(result))
    said = [*few, *notes(result), *assumptions, *measured.notes(result, measured_hosts or {})]
    result = measured.beside(result, measured_hosts or {})
    hidden = _hidden(result, named)
    tables: list[RenderableType] = [*answered(result["answer"]), Text(), Text(title(result), "italic")]
    if len(points) > 1:
        tables += (Text(told, "bold red") for told in movement.unplaced(points))
    if named[0] != "groups":
        tables.append(Text())  # a table with a title has no line above it
    for name in named:
        before = len(tables)
        for heading, cells, note, dropped_first in tables_of(result, name, hidden, later=name != named[0]):
            if cells.rows:
                tables.append(Fitted(heading, cells, dropped_first))
                said += [note] if note else []
        if name == "pools" and pools.has_pools(result):
            tables.append(pools.table(result))
        if len(tables) == before:
            said.append(f"No {name} to show.")
    stopped = (Text(told, "bold red") for told in movement.stops(result["points"]))
    return Group(*tables, *stopped, *(Text(note, style="dim") for note in said))


STYLES: Mapping[str, str] = {"good": "bold green", "note": "bold", "warn": "bold yellow", "bad": "bold red"}
"""Styles of an answer."""


def answered(answer: Answer, most: int | None = None) -> Iterator[Text]:
    """Yield the answer, and at most `most` of its further lines."""
    yield Text(answer["text"], STYLES[answer["tone"]])
    yield from (Text(f"  {sentence}") for sentence in answer["more"][:most])


def _not_brief(kind: entities.Kind, result: Mapping[str, Any]) -> set[str]:
    """Return the columns that a short answer leaves out. Measured memory stands beside the memory in use."""
    hidden = set(kind.not_brief)
    hosts = [host for point in result["points"] for host in point["hosts"].values()]
    if kind is entities.HOSTS and any(host.get("measured", {}).get("memory_usage_pct") for host in hosts):
        return (hidden - {entities.IN_USE}) | {"memory %"}
    return hidden


def tables_of(
    result: Simulation, name: str, hidden: Collection[str] = (), *, later: bool = False
) -> Iterator[tuple[str, Cells, str, Sequence[str]]]:
    """Yield the heading, cells, note and columns to drop first of each table that `--show` has under a name."""
    for each in SHOW[name]:
        kind = replace(each, title="Groups") if each is entities.GROUPS and later else each
        yield kind.title, *entities.cells(result, kind, hidden), kind.dropped_first
    if name == "pools":
        yield room.TITLE, room.lines(result), "\n".join(room.notes_of(result)), room.DROPPED_FIRST
    if name == "moves":
        yield "Outages", *movement.outages_table(result), movement.OUTAGES_DROPPED
        yield "Migrations", *movement.migrations_table(result), movement.MIGRATIONS_DROPPED


def _hidden(result: Simulation, named: Collection[str]) -> set[str]:
    """Return the columns that repeat other columns."""
    hidden = {entities.HOST_USAGE} if "hosts" in named else set()
    if not any(is_touched_said(host) for point in result["points"] for host in point["hosts"].values()):
        hidden.add(entities.IN_USE)
    return hidden | (set() if has_clusters(result["points"]) else {entities.CLUSTER})


def usual(result: Simulation) -> Iterator[str]:
    """Yield the default tables: several clusters, groups, hosts of a short sweep, memory, moves, pools, model error."""
    points = result["points"]
    if has_clusters(points):
        yield "clusters"
    yield "groups"
    hosts = [len(point["hosts"]) for point in points]
    if len(points) == 1 or (max(hosts, default=0) > 1 and sum(hosts) <= FEW_HOSTS):
        yield "hosts"
    if memory.is_short(points):
        yield "memory"
    if any(point.get("outages") or movement.migrations(point) for point in points):
        yield "moves"
    if pools.has_pools(result):
        yield "pools"
    if model_errors(points):
        yield "model-error"


def _spread(result: Simulation) -> str:
    """Return the half-widths of the tables, or that one replication has none."""
    if all(point["replications"] == 1 for point in result["points"]):
        return "One replication: no confidence interval (--replications 3)."
    own = ", without model error (--show model-error)" if model_errors(result["points"]) else ""
    return f"±: 95% confidence half-width over replications{own}."


def notes(result: Simulation) -> list[str]:
    """Return notes on the figures: confidence, steady state, sums and means, calibration."""
    all_s = {point.get("duration_s") for point in result["points"]}
    duration_s = all_s.pop() if len(all_s) == 1 else None
    said = [_spread(result), ready_note(duration_s)]
    if any(group.get("count", 1) > 1 for point in result["points"] for group in groups(point).values()):
        said.append("Groups: vCPUs, run queue, throughput, IOPS and MB/s are sums over VMs, the rest means.")
    return [
        *said,
        *model_errors(result["points"]),
        *([rule()] if result["breaks"] else []),
        *steadiness(result["points"]),
        *memory.notes(result["points"]),
        *movement.notes(result["points"]),
        *memory_warnings(result["points"]),
        *stations.bottlenecks(result["points"]),
        *calibrations(result["points"]),
    ]


def model_errors(points: Sequence[Point]) -> list[str]:
    """Return the evidence of the intervals with the twin's own error."""
    found = [error["bases"] for point in points if (error := point.get("model_error"))]
    bases = {key: basis["text"] for each in found for key, basis in each.items()}
    if not bases:
        return []
    listed = "; ".join(bases[key] for key in sorted(bases))
    return [
        "80% interval with the twin's own error: it contains the real figure of four new sources in five. Factors on "
        f"the twin's figure: {listed}. Your own measured points narrow them (hypertwin calibrate)."
    ]


def rule() -> str:
    """Return the rule by which a group suffers along a sweep."""
    most, lost, ready, costop = (
        band(metric).critical for metric in ("departed_p99", "lost_throughput_pct", "ready_pct", "costop_pct")
    )
    return (
        f"A group suffers if its p99 exceeds {most:g} times the smallest along its line with the same work, or its "
        f"throughput for each VM and unit of load falls {lost:g}% below the best so far. It also suffers if ready "
        f"exceeds {ready:g}% or co-stop {costop:g}% per vCPU, if it waits for swapped memory or its CPU limit, if its "
        "vCPUs are full, or if VMs were down."
    )


def steadiness(points: Sequence[Point]) -> list[str]:
    """Return the reason why points marked with * are not steady or unknown.

    Each reason is given for its first point.
    """
    paths = varying_paths(points)
    said: dict[tuple[str, str], str] = {}
    for point in points:
        reason = point["verdict"]["reason"]
        if reason is not None:
            prefix = f"{where(point, paths)}: " if len(points) > 1 else ""
            found = point.get("found")
            more = f" {WHY_NO_LONGER[found['ended']]}" if found and found["ended"] in WHY_NO_LONGER else ""
            said.setdefault((reason["condition"], reason["of"]), f"* {prefix}{unsteady(point['verdict'])}{more}")
    return list(said.values())


def memory_warnings(points: Sequence[Point]) -> list[str]:
    """Return warnings about hosts and clusters whose memory in use or configured memory exceeds the physical memory.

    For a sweep, the worst point is described. By default VMs have touched all of their memory. In this case only
    configured memory is mentioned.
    """
    most = _most_memory(points)
    used, configured = most["memory_usage_pct"], most["memory_pct"]
    said = []
    taken = "Hosts reclaim memory, and VMs wait for swapped pages (--show memory)."
    short = memory.is_short(points)
    if used:
        free = "Real hosts would balloon and swap, and VMs would be far slower than here."
        told = some(list(used.values()))
        said.append(f"VMs have touched more memory than hosts have: {told}. {taken if short else free}")
    if more := [text for name, text in configured.items() if name not in used]:
        fits = "Hosts reclaim memory only when the memory that VMs have touched does not fit."
        told = some(more)
        said.append(f"Configured memory exceeds host memory: {told}. {taken if short and not used else fits}")
    return said


def _most_memory(points: Sequence[Point]) -> dict[str, dict[str, str]]:
    """Return clusters of several hosts, and hosts, above 100 % of a figure, as the maximum by figure and name."""
    paths = varying_paths(points)
    most: dict[str, dict[str, tuple[float, str]]] = {"memory_usage_pct": {}, "memory_pct": {}}
    for point in points:
        place = where(point, paths)
        several: Mapping[str, Mapping[str, Any]] = {
            f"cluster {name}": cluster for name, cluster in point.get("clusters", {}).items() if cluster["hosts"] > 1
        }
        for name, figures in [*several.items(), *point["hosts"].items()]:
            for key, found in most.items():
                value = numeric(figures, key) or 0
                if value > max(100, found.get(name, (0, ""))[0]) and (key == "memory_pct" or is_touched_said(figures)):
                    found[name] = (value, f" with {place}" if place else "")
    return {
        key: {
            name: f"{name} {number(found[name][0])}%{found[name][1]}"
            for name in sorted(found, key=lambda name: (not name.startswith("cluster "), -found[name][0]))
        }
        for key, found in most.items()
    }


def title(result: Simulation) -> str:
    """Return the scenario, length of the runs and seed, and settings common to all points."""
    points = result["points"]
    settings = "".join(f", {path}={setting(value)}" for path, value in fixed_settings(points).items())
    return f"{result['scenario']}: {runs(points)}, seed {result['seed']}{settings}"


def calibrations(points: Sequence[Point]) -> list[str]:
    """Return sentences about the calibration of the figures: one sentence, or several if points differ."""
    return sorted({calibration_note(point.get("calibration")) for point in points})
