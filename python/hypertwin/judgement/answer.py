"""The answer of a simulation: from the core for one point, from a comparison of points for a sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from hypertwin import _core
from hypertwin.documents.simulation import Answer, Break, Cause, Point
from hypertwin.judgement.breaks import Verdict, verdicts
from hypertwin.judgement.settings import Axes, axis_name, group_names, place
from hypertwin.judgement.signs import hurt, members, signs_of
from hypertwin.metrics.points import groups, some_points, varying_paths
from hypertwin.metrics.words import RESOLVED_PCT, count, number, some

MOST_POINTS = 1_000
"""Maximum number of points of a sweep that its answer uses. A larger sweep is sampled evenly."""

NAMED = 4
"""Maximum number of verdicts and groups that an answer names."""

CAUSES = 2
"""Maximum number of causes that an answer names."""

SIGNS = 2
"""Maximum number of signs in one sentence."""


def answer(
    points: Sequence[Point], causes: Sequence[Cause] = (), workloads: Mapping[str, str] = MappingProxyType({})
) -> tuple[Answer, list[Break]]:
    """Return the answer of a result, and the places along a sweep where groups suffer (none for a single point).

    Causes and possible fixes follow directly. `workloads` has the workload of each group, if known.
    """
    found, breaks = _answer(points, workloads)
    helps = [f"{cause['title']}. {cause['advice']}" for cause in causes[:CAUSES]]
    return cast(Answer, json.loads(_core.with_error(json.dumps(found), _errors(points, found), helps))), breaks


def _errors(points: Sequence[Point], found: Answer) -> list[str]:
    """Return the intervals of the groups of all points as JSON, or nothing if they cannot change the answer."""
    if found["tone"] != "good":
        return []
    errors = (point.get("model_error") for point in some_points(points, MOST_POINTS)[0])
    return [json.dumps(error["groups"]) for error in errors if error]


def _answer(points: Sequence[Point], workloads: Mapping[str, str]) -> tuple[Answer, list[Break]]:
    if len(points) == 1:
        judged = points[0]["judgement"]
        return {"tone": judged["tone"], "text": judged["text"], "more": judged["more"]}, []
    shown = list(some_points(points, MOST_POINTS)[0])
    if not shown:
        return {"tone": "warn", "text": "The result has no points.", "more": []}, []
    axes = Axes.of(shown)
    if axes.x is None:
        return _graver(shown, axes, _beside(shown)), []
    found = verdicts(shown, axes, workloads)
    return _graver(shown, axes, _along(shown, axes.x, found)), [verdict.to_dict() for verdict in found]


def _graver(points: Sequence[Point], axes: Axes, found: Answer) -> Answer:
    """Return the answer of a sweep after data that are lost and VMs that cannot restart, as for a single point."""
    losses = [(place(point, axes.paths), told) for point in points if (told := " ".join(_losses(point)))]
    if not losses:
        return found
    where, told = losses[0]
    text = (
        f"At {len(losses)} of {count(len(points), 'point')} data are lost or VMs cannot restart. With {where}: {told}"
    )
    return {"tone": "bad", "text": text, "more": [found["text"], *found["more"]]}


def _losses(point: Point) -> list[str]:
    """Return sentences about VMs that cannot restart and pools that lost data."""
    pools = (point.get("pools") or {}).items()
    lost = [f"{name} lost {number(pool['lost_gib'])} GiB of data." for name, pool in pools if pool["lost_gib"] > 0]
    return [*point["judgement"].get("unplaced", ()), *lost]


def _along(points: Sequence[Point], x: str, found: Sequence[Verdict]) -> Answer:
    """Return the answer for a sweep of an amount: groups that suffer, and the value from which they do."""
    broken = [verdict for verdict in found if verdict.bad]
    fine = [verdict.name for verdict in found if not verdict.bad]
    if not broken:
        limits = _limits_of_io(points)
        nobody = f"No group suffers in this sweep of {axis_name(x)}{''.join(f'; {each}' for each in limits)}."
        ends = [sentence for verdict in found[:NAMED] for sentence in _ends(verdict)]
        return {"tone": "warn" if limits else "good", "text": nobody, "more": [*ends, *_nearest(found)]}
    first = broken[0]
    signs = "; ".join(sign["text"] for sign in (first.at.signs if first.at else ())[:SIGNS])
    left = len(broken) - NAMED
    lines = f"{count(left, 'more line')} of the sweep {'is' if left == 1 else 'are'} under “Where it breaks”."
    more = [
        *([f"Bottleneck of {first.group} there: {first.why}."] if first.why else []),
        *(f"{_sentence(verdict)}." for verdict in broken[1:NAMED]),
        *([lines] if left > 0 else []),
        *([f"Not at any value: {some(fine, NAMED)}."] if fine else []),
    ]
    return {"tone": "bad", "text": f"{_sentence(first)}: {signs}.", "more": more}


def _sentence(verdict: Verdict) -> str:
    values = [place.value for place in verdict.bad]
    before = verdict.places.index(verdict.bad[0]) - 1
    match verdict.pattern:
        case "from":
            not_yet = f", not yet with {verdict.places[before].value}" if before >= 0 else ""
            return f"From {values[0]} on, {verdict.name} suffers{not_yet}"
        case "up to":
            return f"Up to {values[-1]}, {verdict.name} suffers, and no longer above"
        case "everywhere":
            return f"{verdict.name} suffers at every value"
    listed = f"{', '.join(values[:-1])} and {values[-1]}" if len(values) > 1 else values[0]
    return f"{verdict.name} suffers with {listed}"


def _ends(verdict: Verdict) -> list[str]:
    """Return the state of a group at the ends of its line."""
    first, last = verdict.places[0], verdict.places[-1]
    if first is last:
        return []
    tails = [place.vm["response_ms"]["p99"] for place in (first, last)]
    tail = "" if None in tails else f", its p99 from {number(tails[0])} to {number(tails[1])} ms"
    done = [number(place.vm["throughput_per_s"]) for place in (first, last)]
    text = f"From {first.value} to {last.value} the throughput of {verdict.name} goes from {done[0]} to {done[1]}"
    return [f"{text} a second{tail}."]


def _nearest(found: Sequence[Verdict]) -> list[str]:
    """Return the figure nearest to suffering, if no group suffers."""
    places = [(verdict.group, place.point) for verdict in found for place in verdict.places]
    if not places:
        return []
    ready, name = max((_most_ready(point, group) for group, point in places), key=lambda each: each[0])
    said = f"below {RESOLVED_PCT:g} %" if ready < RESOLVED_PCT else f"at most {number(ready)} %"
    usage = max(host["usage_pct"] for _, point in places for host in point["hosts"].values())
    return [f"Ready is {said} per vCPU ({name}), and no host is above {number(usage)} %."]


def _most_ready(point: Point, group: str) -> tuple[float, str]:
    """Return the largest ready time of a group, and the VM that has it, or the group if its VMs are alike."""
    vms = point["vms"]
    of_vms = [(vms[vm]["ready_pct"], vm) for vm in members(point, group) if vm in vms]
    return max([(groups(point)[group]["ready_pct"], group), *of_vms], key=lambda each: each[0])


def _limits_of_io(points: Sequence[Point]) -> list[str]:
    """Return number of points where a station limits I/O. This is no harm to a workload that uses all available I/O."""
    full = [station for point in points if (station := point["judgement"].get("full_station"))]
    return [
        f"{station} limits I/O at {full.count(station)} of {count(len(points), 'point')}"
        for station in dict.fromkeys(full)
    ]


def _beside(points: Sequence[Point]) -> Answer:
    """Return answer for a sweep over words, such as hypervisors: best and worst value for each group, beyond chance."""
    paths = varying_paths(points)
    told: list[tuple[float, str]] = []
    for name in group_names(points):
        own = [
            (mean, response["ci95"] or 0.0, point)
            for point in points
            if (vm := groups(point).get(name)) and (mean := (response := vm["response_ms"])["mean"]) is not None
        ]
        if not own:
            continue
        low, high = min(own, key=lambda each: each[0]), max(own, key=lambda each: each[0])
        if high[0] - low[0] > low[1] + high[1]:
            fast, slow = (f"{place(at, paths)} ({{}}{number(mean)} ms)" for mean, _, at in (low, high))
            text = f"{name} is fastest with {fast.format('mean ')}, slowest with {slow.format('')}."
            told.append((high[0] / low[0] if low[0] else math.inf, text))
    told.sort(key=lambda each: -each[0])
    sentences = [text for _, text in told]
    bad = [place(point, paths) for point in points if any(hurt(signs_of(point, group)) for group in groups(point))]
    return {
        "tone": "warn" if bad else "note",
        "text": sentences[0] if sentences else "No difference beyond what replications differ by.",
        "more": [*sentences[1:NAMED], *([f"VMs suffer with {some(bad, NAMED)}."] if bad else [])],
    }
