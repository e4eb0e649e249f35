"""Pools of distributed storage in a report: a table, and failures in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.measured import Incident, Pool
from hypertwin.documents.simulation import Simulation
from hypertwin.metrics.points import setting_at, short_path, varying_paths, where
from hypertwin.metrics.words import number
from hypertwin.show.table import Cells, Fitted

LOST = "lost GiB"

HEADS = (
    "read MB/s",
    "write MB/s",
    "cache hits %",
    "device read MB/s",
    "device write MB/s",
    "written ×",
    "degraded %",
    "rebuild MB/s",
    "scrub MB/s",
    "recovered after s",
    LOST,
)
"""Heads of the columns after the swept paths, the name of the pool and its redundancy."""

DROPPED_FIRST = (
    "scrub MB/s",
    "device read MB/s",
    "device write MB/s",
    "read MB/s",
    "write MB/s",
    "written ×",
)
"""Columns to drop in a narrow terminal, in this order."""

SHOWN_POINTS = 6
"""Maximum number of points with failures in words. The JSON form has all points."""

SHOWN_INCIDENTS = 20
"""Maximum number of failures and returns of one pool in words."""


@dataclass(frozen=True)
class Sentence:
    """Sentence about an event, with a mark for lost data."""

    text: str
    loss: bool = False


def has_pools(result: Simulation) -> bool:
    """True if any point of a result has a pool."""
    return any(point.get("pools") for point in result["points"])


def lines(result: Simulation) -> Cells:
    """Return one line per point and pool."""
    points = result["points"]
    paths = varying_paths(points)
    rows = [
        [*(setting_at(point, path) for path in paths), name, kept(pool), *_figures(pool)]
        for point in points
        for name, pool in point.get("pools", {}).items()
    ]
    heads = [*(short_path(path, paths) for path in paths), "pool", "redundancy", *HEADS]
    return Cells(heads, rows, swept=len(paths), words=2)


def kept(pool: Pool) -> str:
    """Return the redundancies of data in a pool: those of used policies, or of the pool if no VM names a policy."""
    return ", ".join(dict.fromkeys(each["redundancy"] for each in pool.get("policies", ()))) or pool["redundancy"]


def _figures(pool: Pool) -> list[str]:
    rebuilt = pool["rebuilt_gib"] > 0
    return [
        number(pool["read_mb_per_s"] or None),
        number(pool["write_mb_per_s"] or None),
        number(pool.get("cache_hit_pct")),
        number(pool["device_read_mb_per_s"] or None),
        number(pool["device_write_mb_per_s"] or None),
        number(pool["amplification"] or None),
        number(pool["degraded_pct"] or None),
        number(pool["rebuild_mb_per_s"]) if rebuilt else "",
        number(pool.get("scrub_mb_per_s")),
        number(pool["time_to_whole_s"] or None),
        number(pool["lost_gib"]),
    ]


def table(result: Simulation) -> RenderableType:
    """Return a table of pools of a result for a terminal, and failures in words, with data loss in bold."""
    shown = Fitted("Distributed storage", lines(result), DROPPED_FIRST, _style)
    told = [Text(each.text, "bold red" if each.loss else "") for each in sentences(result)]
    return Group(shown, *told, *([Text()] if told else []))


def _style(_row: int, head: str, text: str) -> str:
    return "bold red" if head == LOST and text != "0" else ""


def sentences(result: Simulation) -> list[Sentence]:
    """Return failures and returns in the first replication of each point, in words."""
    points = result["points"]
    paths = varying_paths(points)
    with_failures = [point for point in points if any(map(_happened, point.get("pools", {}).values()))]
    said: list[Sentence] = []
    for point in with_failures[:SHOWN_POINTS]:
        place = where(point, paths)
        several = len(point["pools"]) > 1
        for name, pool in point["pools"].items():
            prefix = ": ".join(part for part in (place, name if several else "") if part)
            said += [Sentence(f"{prefix}: {each.text}" if prefix else each.text, each.loss) for each in _of_pool(pool)]
    has_incidents = any(pool["incidents"] for point in with_failures for pool in point["pools"].values())
    if has_incidents and any(point["replications"] > 1 for point in with_failures):
        said.append(Sentence("Failures are those of the first replication. Rebuilds and the table are means of all."))
    more = len(with_failures) - SHOWN_POINTS
    if more > 0:
        said.append(Sentence(f"{more} more points have failures in the JSON form."))
    return said


def _happened(pool: Pool) -> bool:
    """True if something happened to a pool."""
    return bool(pool["incidents"]) or pool["rebuilt_gib"] > 0 or pool.get("scrub_keeps_up") is False


def _of_pool(pool: Pool) -> Iterator[Sentence]:
    incidents = pool["incidents"]
    for incident in incidents[:SHOWN_INCIDENTS]:
        yield Sentence(incident_text(incident), incident["lost_gib"] > 0)
    if len(incidents) > SHOWN_INCIDENTS:
        yield Sentence(f"{len(incidents) - SHOWN_INCIDENTS} more failures and returns are in the JSON form.")
    if pool["rebuilt_gib"] > 0:
        yield Sentence(rebuild_text(pool))
    if pool["suspended_ios"] > 0:
        yield Sentence(f"At the end {number(pool['suspended_ios'], 0)} I/Os wait: too few replicas or servers are up.")
    if pool.get("scrub_keeps_up") is False:
        rates = f"{number(pool['scrub_mb_per_s'])} of {number(pool['scrub_due_mb_per_s'])} MB/s"
        yield Sentence(f"Deep scrub falls behind: it reads {rates} needed to finish in its interval.")
    if pool["errors"] > 0:
        yield Sentence(f"{number(pool['errors'], 0)} I/Os asked for lost data and failed.", loss=True)


def rebuild_text(pool: Pool) -> str:
    """Return a sentence with amount, rate and duration of the rebuild of a pool, as means over replications."""
    rebuilt, due, whole = pool["rebuilt_gib"], pool["due_gib"], pool["time_to_whole_s"]
    size = f"{number(rebuilt)} of {gibibytes(rebuilt + due)}" if due > 0 else gibibytes(rebuilt)
    told = f"Rebuild: {size} at {number(pool['rebuild_mb_per_s'])} MB/s"
    if whole is None:
        return f"{told}."
    recovered = "At that rate recovered" if due > 0 else "Recovered"
    return f"{told}. {recovered} at most {length(whole)} after a failure."


def length(time_s: float) -> str:
    """Return a time in a suitable unit: `45.2 s`, `32.4 min`, `2.30 h`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if time_s >= 2 * size:
            return f"{number(time_s / size)} {unit}"
    return f"{number(time_s)} s"


def incident_text(incident: Incident) -> str:
    """Return a sentence about a failure or return: time, component, and effect on the data of the pool."""
    told = []
    if incident["lost_gib"] > 0:
        told.append(f"{gibibytes(incident['lost_gib'])} are lost")
    if incident["degraded_pct"] > 0:
        told.append(f"{percent(incident['degraded_pct'])} of placement groups degraded")
    if incident["stands_still"]:
        told.append("all I/O waits for the metadata servers")
    elif incident["suspended_pct"] > 0:
        told.append(f"writes to {percent(incident['suspended_pct'])} of the data wait")
    whole = incident["whole_after_s"]
    if incident["degraded_pct"] > 0:
        told.append(f"recovered after {seconds(whole)}" if whole is not None else "not recovered by the end")
    elif not told:
        told.append("all data are whole")
    verb = ("fail" if incident["fails"] else "return") + ("" if "," in incident["what"] else "s")
    return f"{seconds(incident['time_s'])}: {incident['what']} {verb}; {'; '.join(told)}."


def percent(value: float) -> str:
    """Return a percentage with one digit. 0 and 100 are only used for exactly these values."""
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if 99.9 < value < 100:
        return "more than 99.9 %"
    return f"{value:.1f} %" if value < 100 else "100 %"


def gibibytes(value: float) -> str:
    """Return a readable size, in MiB below one GiB."""
    return f"{value:,.1f} GiB" if value >= 1 else f"{max(1, round(1024 * value)):,} MiB"


def seconds(value: float) -> str:
    """Return a time with three digits, in whole seconds from 100 on."""
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"
