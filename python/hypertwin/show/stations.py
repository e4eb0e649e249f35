"""Limits of the I/O of points in words: the busiest station of the path, and its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from hypertwin.documents.simulation import Point
from hypertwin.metrics.points import setting_at, varying_paths, where

WORTH_NAMING_PCT = 0.5
"""Utilisation in per cent above which the busiest station is mentioned. Below it, I/O is negligible."""

SHOWN = 12
"""Maximum number of sentences about points of a sweep. The JSON form has every point."""

TOGETHER = 3
"""Minimum number of consecutive points with the same bottleneck for a common sentence."""

WORDS: Mapping[str, str] = {
    "vcpus": "the vCPUs themselves",
    "controllers": "the hypervisor's threads that work for virtual controllers",
    "ring": "queue depth of virtual controllers",
    "vdisk-depth": "queue depth of a virtual disk",
    "dsnro": "queue depth of a VM on a shared LUN",
    "lun-depth": "queue depth of a host on a LUN",
    "port-depth": "queue depth of a host on a port",
    "ports": "the host's ports to the storage",
    "front-end": "the array's ports",
    "cache": "the array's cache",
    "disks": "the disks of the array, or of the host",
    "services": "the storage processes of the pool's nodes",
    "messengers": "the threads of OSDs that send and receive",
    "shards": "the threads of OSDs that do operations",
    "commit": "the threads of OSDs that write their logs, and those logs",
    "gateways": "the gateways to the OSDs",
    "cpu-limit": "the CPU limit of each OSD",
    "devices": "the pool's disks",
    "flash": "the pool's cache drives",
    "network": "the network of the pool's nodes",
    "client-network": "the network of the pool's clients",
    "cluster-network": "the network between the pool's nodes",
    "rack-network": "the links between the pool's racks or sites",
    "swap": "the device that the host swaps to",
}
"""Kind of a station by the last part of its name, as in `db-controllers`."""


def bottlenecks(points: Sequence[Point]) -> list[str]:
    """Return the limits of the I/O of each point, and the kinds of these stations."""
    paths = varying_paths(points)
    said: list[str] = []
    for _, run in groupby(points, _alike):
        alike = list(run)
        together = [alike] if len(paths) == 1 and len(alike) >= TOGETHER else [[point] for point in alike]
        said += [sentence for each in together for sentence in _sentence(each, paths)]
    more = len(said) - SHOWN
    left = [f"{more} more points have a bottleneck in the JSON form."] if more > 0 else []
    return [*said[:SHOWN], *left, *_explained(points)]


def _is_worth_naming(point: Point) -> bool:
    """True if I/O is not negligible."""
    found = point.get("bottleneck")
    return found is not None and found["utilization_pct"] >= WORTH_NAMING_PCT


def _alike(point: Point) -> tuple[object, ...]:
    found = point.get("bottleneck")
    if found is None or not _is_worth_naming(point):
        return ()
    return (
        found["station"],
        found["saturated"],
        found["next_station"],
        (_full_member(point) or ())[:1],
        *_depths(point),
    )


def _full_member(point: Point) -> tuple[str, int, float] | None:
    """Return name, members and highest utilisation of the station whose saturated member limits I/O, or None."""
    found, judged = point["bottleneck"], point["judgement"]
    name = judged.get("full_station")
    if not found or found["saturated"] or name is None or name in _depths(point):
        return None
    station = point["storage"][name]
    return name, station["members"], station["utilization_max_pct"]


def _depths(point: Point) -> list[str]:
    """Return the queue depths that I/Os wait for: the longest wait, and the depth that limits I/O."""
    found, judged = point["bottleneck"], point["judgement"]
    full = judged.get("full_station")
    is_depth = any(limit["of"] == full and limit["value_pct"] is None for limit in judged["limits"].values())
    return list(dict.fromkeys(name for name in (found and found["binding_depth"], is_depth and full) if name))


def _sentence(alike: Sequence[Point], paths: Sequence[str]) -> Iterator[str]:
    """Yield the common limit of points."""
    found = alike[-1].get("bottleneck")
    if found is None or not _is_worth_naming(alike[-1]):
        return
    place = where(alike[0], paths) + _others(alike, paths)
    head = f"Bottleneck{f' ({place})' if place else ''}: "
    full = _full_member(alike[-1])
    limit = "is the busiest, and not saturated"
    if found["saturated"]:
        limit = "limits I/O"
    elif full:
        name, members, busy_pct = full
        which = f"its {members}" if name == found["station"] else f"the {members} of {name}"
        limit = f"is the busiest; one of {which} is at {busy_pct:.0f} %, and limits I/O"
    all_found = [each for point in alike if (each := point.get("bottleneck"))]
    busy = _range([each["utilization_pct"] for each in all_found])
    following = [each["next_utilization_pct"] for each in all_found if each["next_utilization_pct"] is not None]
    is_named = found["next_station"] in (None, *(full or ())[:1])
    behind = "" if is_named else f"; next {found['next_station']} at {_range(following)} %"
    depths = " and ".join(_depths(alike[-1]))
    depth = f"; I/Os wait for {depths}" if depths else ""
    yield f"{head}{found['station']} at {busy} % {limit}{behind}{depth}."


def _others(alike: Sequence[Point], paths: Sequence[str]) -> str:
    """Return the text after the first value of the only path: the last of consecutive numbers, or all other words."""
    others = [setting_at(point, paths[0]) for point in alike[1:]]
    if not others:
        return ""
    if all(isinstance(point["set"].get(paths[0]), int | float) for point in alike):
        return f" to {others[-1]}"
    return "".join(f", {value}" for value in others)


def _range(values: Sequence[float]) -> str:
    least, most = f"{min(values):.0f}", f"{max(values):.0f}"
    return least if least == most else f"{least} to {most}"


def _explained(points: Sequence[Point]) -> list[str]:
    """Return the kinds of limiting stations, and the queue depths that I/Os wait for."""
    found = [(each, point) for point in points if _is_worth_naming(point) and (each := point["bottleneck"])]
    named = dict.fromkeys(name for each, point in found for name in (each["station"], *_depths(point)))
    told = [f"{name}: {words}" for name in named if (words := _what(name))]
    return [f"{'; '.join(told)}."] if told else []


def _what(station: str) -> str | None:
    """Return the kind of a station, or None if unknown. The longest matching end counts."""
    ends = [end for end in WORDS if station.endswith(f"-{end}")]
    return WORDS[max(ends, key=len)] if ends else None
