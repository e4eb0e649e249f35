"""Measured curves: results of storage benchmarks as points of a scenario's storage.

Each result is a row. Its settings become the load of one VM group, its results the group's figures. Percentiles are
predicted, not fitted, unless requested: benchmarks repeat throughput to one per cent, but tails only to a factor of
two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypertwin.calibration.measurements import Cell, Measurements, Row
from hypertwin.errors import Argument, fail
from hypertwin.ingest.benchmarks import io_points
from hypertwin.ingest.benchmarks.io_points import IoPoint
from hypertwin.metrics import metric_path
from hypertwin.scenario import Scenario, vdisks

PERCENTILES = ("_p95", "_p99")
LOAD = ("read_pct", "random_pct", "sync_pct", "block", "block_mix", "working_set")
"""Workload keys that a benchmark determines."""
ABSENT: Mapping[str, Any] = {"sync_pct": 0, "block_mix": []}
"""Defaults for workload keys that the benchmark did not use."""


def read(files: Sequence[Path], scenario: Scenario, vm: str | None = None, tails: bool = False) -> Measurements:
    """Return the results in files and folders, as measured points of a scenario.

    `vm` is the group that ran the benchmark. It is optional if only one group has an I/O generator. With `tails`,
    percentiles are fitted too. Raises ScenarioError.
    """
    group = _group(scenario, vm)
    points, said = io_points.read(files)
    notes = [f"Of the measurements: {note}." for note in said]
    rows = [_row(number, point, scenario, group, tails) for number, point in enumerate(points, 1)]
    if not tails and any(cell.held for row in rows for cell in row.cells):
        notes.append("Percentiles are predicted, not fitted: with --tails they are fitted, too.")
    shown = str(files[0]) if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    return Measurements(shown, tuple(rows), tuple(notes))


def _group(scenario: Scenario, vm: str | None) -> str:
    """Return the group of VMs whose workload is an I/O generator."""
    vms, workloads = scenario.data["vms"], scenario.data["workloads"]
    able = [name for name, group in vms.items() if "io" in workloads[group["workload"]]["arrivals"]]
    listed = ", ".join(able[:12]) or "none"
    if vm is None and len(able) == 1:
        vm = able[0]
    if vm is None:
        value = f"{len(able)} groups of VMs with workloads.*.arrivals.io"
        fail(
            "unlike-benchmark", "vms", value, f"the one in which the benchmark ran: {listed}", "name it", Argument("vm")
        )
    if vm not in able:
        hint = "give its workload `arrivals: { io: {} }`" if vm in vms else "name one of these"
        fail("unknown-reference", "vms", vm, f"a group of VMs with an I/O generator: {listed}", hint, Argument("vm"))
    name = vms[vm]["workload"]
    others = [other for other, group in vms.items() if group["workload"] == name and other != vm]
    if others:
        hint = "give the one that was measured a workload of its own"
        fail(
            "unlike-benchmark",
            f"vms.{vm}.workload",
            name,
            f"a workload that {others[0]} does not have",
            hint,
            Argument("vm"),
        )
    return vm


def _row(number: int, point: IoPoint, scenario: Scenario, vm: str, tails: bool) -> Row:
    location = f"{point.file.name}: {point.name}"
    cells = tuple(
        Cell(
            metric_path.parse(f"groups.{vm}.{metric_path.dotted(key)}", scenario, location),
            value,
            None,
            held=not tails and key.endswith(PERCENTILES),
        )
        for key, value in point.figures.items()
    )
    return Row(number, _words(point), settings(point, scenario, vm, location), cells, location)


def settings(point: IoPoint, scenario: Scenario, vm: str, location: str) -> dict[str, Any]:
    """Return the load of a point as settings of a group of VMs. Raises ScenarioError."""
    group = scenario.data["vms"][vm]
    where = f"workloads.{group['workload']}"
    workload: Mapping[str, Any] = scenario.data["workloads"][group["workload"]]
    io = point.workload["arrivals"]["io"]
    given = vdisks.spread(io, group, vm, location) if point.disks is None else vdisks.on_each(io)
    found: dict[str, Any] = {}
    for key, value, usual in (("count", point.vms, 1), ("vdisks", point.disks, None), ("load", 1, 1)):
        if value is not None and group.get(key, usual) != value:
            found[f"vms.{vm}.{key}"] = value
    for key in ("outstanding", "workers", "rate"):
        found[f"{where}.arrivals.io.{key}"] = given.get(key)
    for key in LOAD:
        if key in point.workload:
            found[f"{where}.{key}"] = point.workload[key]
        elif key in ABSENT and workload.get(key):
            found[f"{where}.{key}"] = ABSENT[key]
    present: Mapping[str, Any] = workload["arrivals"]["io"] or {}
    return {path: value for path, value in found.items() if value is not None or path.rpartition(".")[2] in present}


def _words(point: IoPoint) -> str:
    """Return the load in words: `70 % reads of 4 KiB, random, 32 outstanding`."""
    load = point.workload
    size = int(load["block"].split()[0])
    unit = next((each for each in ((2**20, "MiB"), (2**10, "KiB")) if size % each[0] == 0), (1, "B"))
    what = {100: "reads", 0: "writes"}.get(load["read_pct"], f"{load['read_pct']:.4g} % reads")
    order = {100: "random", 0: "sequential"}.get(load["random_pct"], f"{load['random_pct']:.4g} % random")
    io = load["arrivals"]["io"]
    words = [f"{what} of {size // unit[0]} {unit[1]}", order, f"{io['outstanding']} outstanding"]
    words += [f"{load['sync_pct']:.4g} % synchronous"] if load.get("sync_pct") else []
    words += [f"at most {io['rate']}"] if io.get("rate") else []
    return ", ".join(words)
