"""A simulation for a terminal: a line for each point and VM group, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hypertwin.documents.simulation import Host, Point, Simulation
from hypertwin.frame import numeric
from hypertwin.report import pools
from hypertwin.report.points import fixed_settings, groups, runs, short_path, varying_paths, where
from hypertwin.report.ready import note as ready_note
from hypertwin.report.ready import summed
from hypertwin.report.table import fitted, titled
from hypertwin.report.words import calibration_note, half_width, number

HEADS = (
    "vCPUs",
    "host usage %",
    "guest CPU %",
    "run %",
    "ready %",
    "ready sum %",
    "co-stop %",
    "run queue",
    "throughput /s",
    "response mean ms",
    "p95 ms",
    "p99 ms",
)
"""Heads of the columns that every result has, after the swept paths and the VM's name."""

DROPPED_FIRST = ("run %", "p95 ms", "run queue", "vCPUs", "throughput /s", "p99 ms")
"""Columns that are dropped in a narrow terminal, in this order; JSON and CSV always have everything."""

SHOWN_BOTTLENECKS = 12
"""Points whose bottleneck is named below the table."""

SHOWN_HOSTS = 4
"""Hosts whose usage a line shows one by one; of more it shows the least and the most."""


def lines(result: Simulation) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the result: one line per point and VM group, host usage beside the guest's own figures."""
    points = result["points"]
    paths = varying_paths(points)
    cells = []
    for point in points:
        mark = "" if point["steady"] else " *"
        usage = host_usage(list(point["hosts"].values()))
        for name, group in groups(point).items():
            count = group.get("count", 1)
            response = group.get("response_ms") or {}
            cells.append(
                [
                    *(str(point["set"].get(path, "")) for path in paths),
                    f"{name} ×{count}" if count > 1 else name,
                    number(group.get("vcpus"), 0),
                    usage,
                    with_half_width(group, "guest_cpu_pct"),
                    number(group.get("run_pct")),
                    with_half_width(group, "ready_pct"),
                    number(summed(group, "ready_pct")),
                    with_half_width(group, "costop_pct"),
                    number(group.get("run_queue")),
                    number(group.get("throughput_per_s"), 1),
                    half_width(response.get("mean"), response.get("ci95")) + mark,
                    number(response.get("p95"), 0),
                    number(response.get("p99"), 0),
                ]
            )
    return [*(short_path(path, paths) for path in paths), "VM", *HEADS], cells


def host_usage(hosts: Sequence[Host]) -> str:
    """Usage of every host, or from the least to the most of many."""
    if len(hosts) <= SHOWN_HOSTS:
        return " ".join(with_half_width(host, "usage_pct") for host in hosts)
    used = sorted(host["usage_pct"] for host in hosts)
    return f"{number(used[0])} – {number(used[-1])}"


def table(result: Simulation, width: int | None = None) -> RenderableType:
    """The result for a terminal; in one narrower than the table, the columns of DROPPED_FIRST go until it fits."""
    heads, cells = lines(result)
    swept = len(heads) - len(HEADS) - 1
    shown, dropped = fitted(lambda dropped: _grid(title(result), heads, cells, swept, dropped), DROPPED_FIRST, width)
    left_out = [f"Not shown in a terminal this narrow: {', '.join(dropped)}."] if dropped else []
    said = (Text(note, style="dim") for note in notes(result) + left_out)
    return Group(shown, *([pools.table(result, width)] if pools.has_pools(result) else []), *said)


def _grid(name: str, heads: Sequence[str], cells: Sequence[Sequence[str]], swept: int, dropped: Sequence[str]) -> Table:
    table = titled(name)
    kept = [index for index, head in enumerate(heads) if index <= swept or head not in dropped]
    for index in kept:
        table.add_column(
            Text(heads[index].replace(" ", "\n", 1) if index > swept else heads[index]),
            justify="left" if index == swept else "right",
            style="cyan" if index < swept else None,
            no_wrap=True,
        )
    for row in cells:
        table.add_row(*(Text(row[index]) for index in kept))
    return table


def notes(result: Simulation) -> list[str]:
    """What a reader must know besides the figures: confidence, steady state, calibration."""
    duration_s = result["points"][0].get("duration_s") if result["points"] else None
    said = ["± is the half-width of the 95 % confidence interval over replications.", ready_note(duration_s)]
    if not all(point["steady"] for point in result["points"]):
        said.append(
            "* did not reach a steady state: the load may exceed what the host can carry, or the run is too short."
        )
    return [*said, *bottlenecks(result["points"]), *calibrations(result["points"])]


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


def with_half_width(metrics: Mapping[str, object], key: str) -> str:
    """The metric `key` with its half-width, which stands beside it as `KEY_ci95`."""
    return half_width(numeric(metrics, key), numeric(metrics, f"{key}_ci95"))


def title(result: Simulation) -> str:
    """Scenario, length of the runs and seed, and what was set in every point."""
    points = result["points"]
    settings = "".join(f", {path}={value}" for path, value in fixed_settings(points).items())
    return f"{result['scenario']}: {runs(points)}, seed {result['seed']}{settings}"


def calibrations(points: Sequence[Point]) -> list[str]:
    """What the figures were calibrated on: one sentence, or several where points differ."""
    return sorted({calibration_note(point.get("calibration")) for point in points})
