"""A simulation for a terminal: tables of its groups, hosts, VMs, pools and stations, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.simulation import HostFailure, Point, Simulation
from hypertwin.report import entities, pools
from hypertwin.report.points import fixed_settings, groups, runs, varying_paths, where
from hypertwin.report.ready import note as ready_note
from hypertwin.report.table import fitted
from hypertwin.report.words import calibration_note, count, number, some

SHOWN_BOTTLENECKS = 12
"""Points whose bottleneck is named below the table."""

FEW_HOSTS = 16
"""Rows of hosts that a sweep shows without being asked."""

SHOWN_STOPS = 20
"""Failures and returns of hosts of one point that are told below the table."""

SHOW: Mapping[str, Sequence[entities.Kind]] = {
    "groups": (entities.GROUPS, entities.IO_OF_GROUPS),
    "hosts": (entities.HOSTS,),
    "vms": (entities.VMS, entities.IO_OF_VMS),
    "pools": (),
    "stations": (entities.STATIONS,),
}
"""What `--show` names, each with its tables; that of pools is `hypertwin.report.pools`."""


def table(result: Simulation, width: int | None = None, show: Sequence[str] = ()) -> RenderableType:
    """The result for a terminal: the tables named, else those that fit it; see `SHOW`.

    Of a table wider than the terminal, some columns are left out.
    """
    named = list(show or usual(result))
    hidden = {entities.HOST_USAGE} if "hosts" in named else set()
    said = notes(result)
    tables: list[RenderableType] = [Text(title(result), "italic")]
    if named[0] != "groups":
        tables.append(Text())  # a table with a title has no line above it
    for name in named:
        before = len(tables)
        for kind in SHOW[name]:
            cells, note = entities.cells(result, kind, hidden)
            if cells.rows:
                made, dropped = fitted(kind.title, cells, kind.dropped_first, width)
                tables.append(made)
                of = f" of {kind.title}" if kind.title else ""
                said += [note] if note else []
                said += [f"Not shown{of} in a terminal this narrow: {', '.join(dropped)}."] if dropped else []
        if name == "pools" and pools.has_pools(result):
            tables.append(pools.table(result, width))
        if len(tables) == before:
            said.append(f"There are no {name} to show.")
    stopped = (Text(told, "bold red") for told in stops(result["points"]))
    return Group(*tables, *stopped, *(Text(note, style="dim") for note in said))


def usual(result: Simulation) -> Iterator[str]:
    """What is shown when nothing is named: groups, the hosts of a point or of several in a short sweep, and pools."""
    points = result["points"]
    yield "groups"
    hosts = [len(point["hosts"]) for point in points]
    if len(points) == 1 or (max(hosts, default=0) > 1 and sum(hosts) <= FEW_HOSTS):
        yield "hosts"
    if pools.has_pools(result):
        yield "pools"


def notes(result: Simulation) -> list[str]:
    """What a reader must know besides the figures: confidence, steady state, sums and means, calibration."""
    duration_s = result["points"][0].get("duration_s") if result["points"] else None
    said = ["± is the half-width of the 95 % confidence interval over replications.", ready_note(duration_s)]
    if any(group.get("count", 1) > 1 for point in result["points"] for group in groups(point).values()):
        said.append(
            "Of a group, vCPUs, throughput, IOPS and MB/s are sums over its VMs, run queue and the rest means of a VM."
        )
    if not all(point["steady"] for point in result["points"]):
        said.append(
            "* did not reach a steady state: the load may exceed what the host can carry, the run is too short, or"
            " hosts failed in it."
        )
    return [*said, *bottlenecks(result["points"]), *calibrations(result["points"])]


def stops(points: Sequence[Point]) -> list[str]:
    """Which hosts failed and came back when, and which VMs stood still for how long, of each point with failures."""
    paths = varying_paths(points)
    said = []
    for point in points:
        place = where(point, paths)
        prefix = f"{place}: " if place else ""
        failures = point.get("failures", [])
        said += [f"{prefix}{stop(failure)}" for failure in failures[:SHOWN_STOPS]]
        if len(failures) > SHOWN_STOPS:
            said.append(f"{prefix}{len(failures) - SHOWN_STOPS} more failures and returns are in the JSON form.")
        down = {name: vm["down_s"] for name, vm in point["vms"].items() if vm.get("down_s")}
        if down:
            longest = sorted(down, key=lambda name: -down[name])
            times = [f"{name} {number(down[name])} s" for name in longest]
            said.append(
                f"{prefix}Down in the {point['duration_s']:g} s measured: {some(times)}."
                " Their figures, and those of their groups, are means over all of it."
            )
    return said


def stop(failure: HostFailure) -> str:
    """Which hosts failed or came back, and when, and the VMs on them, in one sentence."""
    verb = ("fail" if failure["fails"] else "return") + ("s" if len(failure["hosts"]) == 1 else "")
    return f"{failure['time_s']:g} s: {some(failure['hosts'])} {verb}{_with_them(failure)}."


def _with_them(failure: HostFailure) -> str:
    """What the VMs of hosts do that fail or return, in words."""
    if not failure["vms"]:
        return ""
    several = len(failure["vms"]) > 1
    verb = "stand{s} still" if failure["fails"] else "go{es} on"
    said = verb.format(s="" if several else "s", es="" if several else "es")
    return f"; {count(len(failure['vms']), 'VM')} {said}: {some(failure['vms'])}"


def bottlenecks(points: Sequence[Point]) -> list[str]:
    """What limits the I/O of each point that has any, the first SHOWN_BOTTLENECKS of them."""
    paths = varying_paths(points)
    said = []
    for point in points:
        found = point.get("bottleneck")
        if found is None:
            continue
        place = where(point, paths)
        limit = "limits I/O" if found["saturated"] else "is the busiest, and not saturated"
        behind = (
            f"; next {found['next_station']} at {found['next_utilization_pct']:.0f} %" if found["next_station"] else ""
        )
        depth = f"; I/Os wait for {found['binding_depth']}" if found["binding_depth"] else ""
        head = f"Bottleneck{f' ({place})' if place else ''}: "
        said.append(f"{head}{found['station']} at {found['utilization_pct']:.0f} % {limit}{behind}{depth}.")
    more = len(said) - SHOWN_BOTTLENECKS
    return said[:SHOWN_BOTTLENECKS] + ([f"{more} more points have a bottleneck in the JSON form."] if more > 0 else [])


def title(result: Simulation) -> str:
    """Scenario, length of the runs and seed, and what was set in every point."""
    points = result["points"]
    settings = "".join(f", {path}={value}" for path, value in fixed_settings(points).items())
    return f"{result['scenario']}: {runs(points)}, seed {result['seed']}{settings}"


def calibrations(points: Sequence[Point]) -> list[str]:
    """What the figures were calibrated on: one sentence, or several where points differ."""
    return sorted({calibration_note(point.get("calibration")) for point in points})
