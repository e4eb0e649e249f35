"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hypertwin.report import pools, ready
from hypertwin.report.words import number, short_path, varying_paths

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

VERDICTS = {True: ("pass", "green"), False: ("FAIL", "bold red"), None: ("n/a", "yellow")}
"""Word and colour for the `pass` of a validation row."""

DROPPED_FIRST = ("run %", "p95 ms", "run queue", "vCPUs", "throughput /s", "p99 ms")
"""Columns that a narrow terminal goes without, the first one first; JSON and CSV always have everything."""

WIDE = Console(width=10_000)
"""Measures how wide a table would like to be."""

SHOWN_BOTTLENECKS = 12
"""Points whose bottleneck is named below the table."""

SHOWN_HOSTS = 4
"""Hosts whose usage a line shows one by one; of more it shows the least and the most."""


def lines(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of the result: one line per point and VM group, host usage beside the guest's own figures."""
    points: Sequence[Mapping[str, Any]] = result["points"]
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


def host_usage(hosts: Sequence[Mapping[str, Any]]) -> str:
    """Usage of every host, or from the least to the most of many."""
    if len(hosts) <= SHOWN_HOSTS:
        return " ".join(with_half_width(host, "usage_pct") for host in hosts)
    used = sorted(host["usage_pct"] for host in hosts)
    return f"{number(used[0])} – {number(used[-1])}"


def result_table(result: Mapping[str, Any], width: int | None = None) -> RenderableType:
    """The result for a terminal; in one narrower than the table, the columns of DROPPED_FIRST go until it fits."""
    heads, cells = lines(result)
    swept = len(heads) - len(HEADS) - 1
    dropped: list[str] = []
    table = _grid(title(result), heads, cells, swept, dropped)
    for head in DROPPED_FIRST if width is not None else ():
        if Measurement.get(WIDE, WIDE.options, table).maximum <= (width or 0):
            break
        dropped.append(head)
        table = _grid(title(result), heads, cells, swept, dropped)
    left_out = [f"Not shown in a terminal this narrow: {', '.join(dropped)}."] if dropped else []
    said = (Text(note, style="dim") for note in notes(result) + left_out)
    return Group(table, *([pools.table(result, width)] if pools.has_pools(result) else []), *said)


def _grid(name: str, heads: Sequence[str], cells: Sequence[Sequence[str]], swept: int, dropped: Sequence[str]) -> Table:
    table = Table(title=Text(name), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
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


def notes(result: Mapping[str, Any]) -> list[str]:
    """What a reader must know beside the figures: confidence, steady state, calibration."""
    duration_s = result["points"][0].get("duration_s") if result["points"] else None
    said = ["± is the half-width of the 95 % confidence interval over replications.", ready.note(duration_s)]
    if not all(point["steady"] for point in result["points"]):
        said.append(
            "* did not reach a steady state: the load may exceed what the host can carry, or the run is too short."
        )
    return [*said, *bottlenecks(result["points"]), *sorted({calibration_note(point) for point in result["points"]})]


def bottlenecks(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """What limits the I/O of each point that has any, the first SHOWN_BOTTLENECKS of them."""
    paths = varying_paths(points)
    said = []
    for point in points:
        found = point.get("bottleneck")
        if found is None:
            continue
        where = ", ".join(f"{short_path(path, paths)} {point['set'].get(path)}" for path in paths)
        limit = "limits I/O" if found["saturated"] else "is the busiest, and not saturated"
        behind = (
            f"; next {found['next_station']} at {found['next_utilization_pct']:.0f} %" if found["next_station"] else ""
        )
        depth = f"; I/Os wait for {found['binding_depth']}" if found["binding_depth"] else ""
        head = f"Bottleneck{f' ({where})' if where else ''}: "
        said.append(f"{head}{found['station']} at {found['utilization_pct']:.0f} % {limit}{behind}{depth}.")
    more = len(said) - SHOWN_BOTTLENECKS
    return said[:SHOWN_BOTTLENECKS] + ([f"{more} more points have a bottleneck in the JSON form."] if more > 0 else [])


def validation_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line per published figure: what was published, what the twin says, and whether that is close enough."""
    table = Table(title="Published against twin", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for head in ("study", "case", "metric", "kind"):
        table.add_column(head, no_wrap=head != "metric")
    for head in ("published", "twin", "error", "tolerance"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    unjudged = []
    for row in rows:
        verdict = VERDICTS[row["pass"]]
        table.add_row(
            Text(row["study"]),
            Text(row["case"]),
            Text(row["metric"]),
            row["kind"],
            Text(row["published_text"]),
            twin_text(row),
            f"{row['error_pct']:+.1f} %" if row["error_pct"] is not None else "",
            row["tolerance_text"],
            Text(*verdict),
        )
        if row["pass"] is None:
            unjudged.append(f"n/a: {row['case']} {row['metric']}: {row['note']}")
    failed = sum(row["pass"] is False for row in rows)
    passed = sum(row["pass"] is True for row in rows)
    summary = f"{passed} of {len(rows)} figures within tolerance" + (f", {failed} outside" if failed else "")
    return Group(table, *(Text(note, style="dim") for note in unjudged), Text(summary, style="bold"))


def layout_table(layout: Mapping[str, Any]) -> RenderableType:
    """The virtual NUMA of a machine: what its guest sees, then one line per NUMA client, then what is wrong with it."""
    host = layout["host_topology"]
    shape = (
        f"{layout['hypervisor']}, {host['sockets']} nodes of {host['cores_per_socket']} cores "
        f"x {host['threads_per_core']} threads, {gibibytes(host['memory_per_node_bytes'])} each"
    )
    table = Table(title=Text(shape), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for head in ("NUMA client (PPD)", "vCPUs", "home node", "settled on", "local memory", "remote memory"):
        table.add_column(head, justify="left" if head.startswith("NUMA") else "right", no_wrap=True)
    for position, (client, settled) in enumerate(zip(layout["clients"], layout["settled_homes"], strict=True)):
        last = client["first_vcpu"] + client["vcpus"] - 1
        table.add_row(
            f"{position}: vCPU {client['first_vcpu']}-{last}",
            str(client["vcpus"]),
            str(client["home"]),
            str(settled),
            gibibytes(client["local_bytes"]),
            gibibytes(client["remote_bytes"]),
        )
    vpds = layout["vpds"]
    sees = f"The guest sees {len(vpds)} node{'s' if len(vpds) > 1 else ''} (VPDs): {' + '.join(map(str, vpds))} vCPUs."
    warnings = [Text(f"{each['code']}: {each['text']}", "yellow") for each in layout["warnings"]]
    return Group(table, Text(sees, "bold"), *(warnings or [Text("No warnings.", "green")]))


def gibibytes(size_bytes: int) -> str:
    """A size in GiB for reading."""
    return f"{size_bytes / 2**30:,.1f} GiB"


def calibration_note(point: Mapping[str, Any]) -> str:
    """What the figures were calibrated on, in one sentence."""
    return (
        f"Calibrated on: {point['calibration']}"
        if point.get("calibration")
        else "Calibrated on: nothing; every figure is predicted from the scenario's parameters."
    )


SMALL = 1e-3
"""Figures below this are written with an exponent, or nothing would be left of them."""


def twin_text(row: Mapping[str, Any]) -> str:
    """The twin's figure of a validation row, to four significant digits, with its unit and how likely it is."""
    value, unit = row["twin"], row["unit"]
    digits = 0 if float(value).is_integer() else 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    likelihood_pct = row.get("likelihood_pct", 100.0)
    return (
        (f"{value:.4g}" if 0 < abs(value) < SMALL else number(value, digits))
        + (f" {unit}" if unit != "ratio" else "")
        + (f" ({likelihood_pct:.0f} % of runs)" if likelihood_pct < 100 else "")
    )


def half_width(value: float | None, ci95: float | None, digits: int = 1) -> str:
    """A mean with the half-width of its confidence interval, where there is one."""
    return number(value, digits) + (f" ±{number(ci95, digits)}" if ci95 is not None and value is not None else "")


def with_half_width(metrics: Mapping[str, Any], key: str) -> str:
    """The metric `key` with its half-width, which stands beside it as `KEY_ci95`."""
    return half_width(metrics.get(key), metrics.get(f"{key}_ci95"))


def summed(group: Mapping[str, Any], key: str) -> float | None:
    """A percentage per vCPU of a VM, or of the VMs of a group, summed over the vCPUs of one VM as esxtop shows it."""
    value, vcpus = group.get(key), group.get("vcpus")
    return None if value is None or vcpus is None else float(value * vcpus / group.get("count", 1))


def groups(point: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The VM groups of a point by name; its VMs where there are no groups."""
    found: Mapping[str, Mapping[str, Any]] = point.get("groups") or point["vms"]
    return found


def title(result: Mapping[str, Any]) -> str:
    """Scenario, length of the runs and seed, and what was set in every point."""
    points = result["points"]
    varying = varying_paths(points)
    fixed = {path: value for point in points[:1] for path, value in point["set"].items() if path not in varying}
    settings = "".join(f", {path}={value}" for path, value in fixed.items())
    return f"{result['scenario']}: {runs(points)}, seed {result['seed']}{settings}"


def runs(points: Sequence[Mapping[str, Any]]) -> str:
    """How many replications of what length, in words."""
    if not points:
        return "no points"
    replications, duration = points[0]["replications"], points[0].get("duration_s")
    length = f" of {duration:g} s" if duration is not None else ""
    return f"{replications} replication{'s' if replications != 1 else ''}{length}"
