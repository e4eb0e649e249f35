"""View of a simulation as a page. `web/src/model/simulation.ts` determines the content of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from hypertwin.documents.measured import Timeline
from hypertwin.documents.simulation import Point, Simulation
from hypertwin.documents.validation import Row
from hypertwin.documents.vnuma import Layout
from hypertwin.metrics import frame
from hypertwin.metrics.catalogue import CATALOGUE, Metric, catalogue_key
from hypertwin.metrics.points import has_clusters, some_points
from hypertwin.scenario import Scenario
from hypertwin.show import comparison, entities, measured, movement, pools, room, simulation, topology_svg
from hypertwin.show import live as live_data
from hypertwin.show.comparison import Study
from hypertwin.show.measured import Measured, MeasuredVms
from hypertwin.show.page import Listing, Page

MOST_VMS = 50_000
"""Maximum number of VMs over all points of a page. A larger sweep has fewer points on it."""

MOST_SAMPLES = 100_000
"""Maximum samples of all VMs on a page. Above it, timelines are means over longer intervals, so that pages with 800 VMs
stay small."""


@dataclass(frozen=True)
class Mark:
    """Published figure to show among the simulated figures, with settings, path of the metric, and value."""

    set: Mapping[str, Any]
    path: str
    value: float


def page(
    result: Simulation,
    *,
    study: Study | None = None,
    validation: Sequence[Row] = (),
    published: Sequence[Mark] = (),
    layouts: Mapping[str, Layout] | None = None,
    load_steps: Sequence[Mapping[str, Any]] = (),
    measured_hosts: Measured | None = None,
    measured_vms: MeasuredVms | None = None,
    assumptions: Sequence[str] = (),
    live: Scenario | None = None,
    live_options: Sequence[str] = (),
) -> Page:
    """Return the page of a result.

    `study` is the publication of the sweep. `validation` compares its figures with the twin, and `published` are
    figures for the charts of the sweep. `layouts` are the NUMA layouts of the VMs of the first point, by name, for
    drawings. `load_steps` are changes of load, and failures and returns of ports (`at_s` since the start of the run,
    `text`), for the charts over time. `measured_hosts` and `measured_vms` appear next to the twin's figures,
    `assumptions` (`assumed.notes`) among the notes. With `live`, the scenario of the first point, the page simulates.
    `live_options` are the options of the command that a run with other values needs as well.
    """
    result, few = _fitting(result)
    drawings, note = topology_svg.drawings(layouts or {})
    beside = {
        "metrics": [_definition(metric) for metric in _used(result)],
        **comparison.beside(validation, study),
        "published": [asdict(mark) for mark in published],
        "drawings": drawings,
        "drawings_note": note,
        "incidents": {
            str(number): told for number, point in enumerate(result["points"]) if (told := _incidents(point))
        },
        "failures": {
            str(number): [movement.stop(failure, point) for failure in point["failures"]]
            for number, point in enumerate(result["points"])
            if point.get("failures")
        },
        "load_steps": list(load_steps),
        "measured": dict(measured_hosts or {}),
        "measured_vms": dict(measured_vms or {}),
    }
    return Page(
        kind="simulation",
        title=study.title if study else result["scenario"],
        document=thinned(result),
        beside={key: value for key, value in beside.items() if value},
        notes=[
            *few,
            *simulation.notes(result),
            *room.notes_of(result),
            *assumptions,
            *measured.notes(result, measured_hosts or {}),
        ],
        tables=list(_listings(measured.beside(result, measured_hosts or {}))),
        live=None if live is None else live_data.live(live, result["points"], live_options),
    )


def _fitting(result: Simulation) -> tuple[Simulation, list[str]]:
    """Return the result with as many points as a page holds, and a sentence about omitted points."""
    points, _ = some_points(result["points"], simulation.MOST_POINTS)
    vms = sum(len(point["vms"]) for point in points)
    most = max(1, len(points) * MOST_VMS // vms) if vms > MOST_VMS else len(points)
    points, few = some_points(result["points"], most)
    return {**result, "points": list(points)}, few


def thinned(result: Simulation) -> Simulation:
    """Return the result with at most about `MOST_SAMPLES` VM samples, in which neighbouring samples are averaged."""
    points = result["points"]
    samples = sum(len(point["timeline"]["vms"]) * len(point["timeline"]["time_s"]) for point in points)
    width = math.ceil(samples / MOST_SAMPLES)
    if width < 2:
        return result
    return {**result, "points": [{**point, "timeline": _wider(point["timeline"], width)} for point in points]}


def _wider(timeline: Timeline, width: int) -> Timeline:
    """Return a timeline of means of `width` neighbouring samples. Each has the time of the last one."""

    def sections(of: Mapping[str, Mapping[str, Sequence[float | None]]]) -> dict[str, Any]:
        return {
            name: {
                key: [_mean(samples[start : start + width]) for start in range(0, len(samples), width)]
                for key, samples in series.items()
            }
            for name, series in of.items()
        }

    time = timeline["time_s"]
    wider: dict[str, Any] = {
        **timeline,
        "interval_s": timeline["interval_s"] * width,
        "time_s": [time[min(start + width, len(time)) - 1] for start in range(0, len(time), width)],
    }
    for section in ("hosts", "vms", "pools"):
        if section in wider:
            wider[section] = sections(wider[section])
    return cast(Timeline, wider)


def _mean(samples: Sequence[float | None]) -> float | None:
    known = [sample for sample in samples if sample is not None]
    return math.fsum(known) / len(known) if known else None


def _listings(result: Simulation) -> Iterator[Listing]:
    """Yield the tables of the terminal."""
    clusters = (entities.CLUSTERS,) if has_clusters(result["points"]) else ()
    for kind in (*clusters, entities.GROUPS, entities.IO_OF_GROUPS, entities.HOSTS, entities.VMS, entities.STATIONS):
        cells, _ = entities.cells(result, kind)
        if cells.rows:
            yield Listing(kind.title or simulation.title(result), cells.heads, cells.rows)
    for name in ("memory", "moves", "pools"):
        for heading, cells, *_ in simulation.tables_of(result, name):
            if cells.rows:
                yield Listing(heading, cells.heads, cells.rows)
    if pools.has_pools(result):
        cells = pools.lines(result)
        yield Listing("Distributed storage", cells.heads, cells.rows)


def _used(result: Simulation) -> list[Metric]:
    """Return the figures of the catalogue that are in the result."""
    points = result["points"]
    keys = {
        (kind, key)
        for point in (*points[:1], *points[1:][-1:])
        for kind, _, entity in frame.entities(point)
        for key in frame.flatten(entity)
    }
    used = {(kind, catalogue_key(key)) for kind, key in keys}
    return [metric for metric in CATALOGUE if any((scope, metric.key) in used for scope in metric.scopes)]


def _definition(metric: Metric) -> dict[str, Any]:
    """Return the definition of a metric in the form of `Metric` in `web/src/model/simulation/document.ts`."""
    tools = {
        "esxtop": metric.esxtop,
        "vCenter": metric.vcenter,
        "Linux": metric.linux,
        "storage software": metric.storage_software,
    }
    return {
        "key": metric.key,
        "of": list(metric.scopes),
        "name": metric.name,
        "unit": metric.unit,
        "text": metric.text,
        "called": {tool: name for tool, name in tools.items() if name},
    }


def _incidents(point: Point) -> dict[str, list[str]]:
    """Return a sentence for each failure and return of storage, by pool."""
    return {
        name: [pools.incident_text(each) for each in pool["incidents"]]
        for name, pool in point.get("pools", {}).items()
        if pool["incidents"]
    }
