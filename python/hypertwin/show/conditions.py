"""Conditions of `--fail-on` under which a command exits with 1, for scripts and pipelines.

Each condition returns its matches in a few words, or an empty text if the condition does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hypertwin.documents.benchmark import Benchmark
from hypertwin.documents.capacity import Capacity, Cluster
from hypertwin.documents.diagnosis import SEVERITIES, Findings, Severity
from hypertwin.documents.placement import Plan
from hypertwin.documents.plan import Density
from hypertwin.documents.refresh import Candidate, Refresh
from hypertwin.documents.simulation import Simulation
from hypertwin.documents.validation import Row
from hypertwin.judgement.signs import suffering
from hypertwin.metrics.points import unsteady, varying_paths, where
from hypertwin.metrics.words import some

Condition = Callable[[Any], str]


def _as_bad_as(severity: Severity) -> Condition:
    counted = SEVERITIES[: SEVERITIES.index(severity) + 1]

    def says(found: Findings) -> str:
        bad = [each for each in found["findings"] if each["severity"] in counted]
        return f"{len(bad)} of {len(found['findings'])} findings, the worst is {bad[0]['severity']}" if bad else ""

    return says


def _clusters(holds: Callable[[Cluster], bool]) -> Condition:
    def says(found: Capacity) -> str:
        return some([name for name, cluster in found["clusters"].items() if holds(cluster)])

    return says


def _beyond_limits(cluster: Cluster) -> bool:
    asked = cluster["limits"]
    cpu, memory = cluster["cpu_usage_pct"], cluster["memory_configured_pct"]
    return (cpu or 0) > asked["cpu_pct"] or (memory or 0) > asked["memory_pct"]


def _no_room(cluster: Cluster) -> bool:
    left = cluster["vms_remaining"]
    count = None if left is None else left["count"]
    return cluster["without"] is None or (count is not None and count < 1)


def _none_fits(found: Density) -> str:
    return "" if found["answer"]["count"] else f"not even {found['min']} of {found['vm']}"


def _not_sure(found: Density) -> str:
    answer = found["answer"]
    sure = f"{answer['count']} on average, {answer['sure_count']} with 95 % confidence"
    return sure if answer["sure_count"] < answer["count"] else ""


def _unsteady(found: Density) -> str:
    return some([str(each["count"]) for each in found["points"] if each["steady"] is False])


def _points(words: Collection[str]) -> Condition:
    """Return the points with one of these steadiness verdicts, except where the scenario itself causes changes."""

    def says(found: Simulation) -> str:
        paths = varying_paths(found["points"])
        reasons = [(point, point["verdict"]["reason"]) for point in found["points"]]
        meant = [point for point, reason in reasons if reason is not None and not reason["by_design"]]
        wrong = [point for point in meant if point["verdict"]["steady"] in words]
        if len(found["points"]) == 1:
            return "".join(unsteady(point["verdict"]) for point in wrong)
        return some([where(point, paths) for point in wrong])

    return says


def _suffering(found: Simulation) -> str:
    """Return the VMs with a critical sign, or without a host. For a sweep, return the points with such VMs."""
    paths = varying_paths(found["points"])
    told = []
    for point in found["points"]:
        hurt = [*point["judgement"].get("unplaced", []), *suffering(point)]
        if len(found["points"]) == 1:
            return some(hurt)
        told += [where(point, paths)] if hurt else []
    return some(told)


def _moves(found: Plan) -> str:
    return some([move["vm"] for move in found["moves"]])


def _unproven(found: Plan) -> str:
    gap = found["gap_pct"]
    return "" if found["proven"] else f"at most {gap:.1f} % from the best" if gap is not None else "it is not known"


def _slo(found: Plan) -> str:
    verified = found["verified"] or {}
    states = {"the plan": verified.get("after") or verified.get("before"), **verified.get("failures", {})}
    return some([name for name, state in states.items() if state is not None and not state["meets"]])


def _of_best(found: Refresh, holds: Callable[[Candidate], bool]) -> str:
    """Return the name of the best candidate of a refresh if a condition holds for it."""
    best = next((each for each in found["candidates"] if each["name"] == found["best"]), None)
    return best["name"] if best is not None and holds(best) else ""


def _regression(rows: Sequence[Row]) -> str:
    return _missed([row for row in rows if row["promised"] and not row["pass"]])


def _any_missed(rows: Sequence[Row]) -> str:
    return _missed([row for row in rows if row["pass"] is False or row["class_right"] is False])


def _missed(rows: Sequence[Row]) -> str:
    return some([f"{row['metric']} of {row['study']}, {row['case']}" for row in rows])


DIAGNOSIS: Mapping[str, Condition] = {severity: _as_bad_as(severity) for severity in SEVERITIES}
"""Condition: there is a finding of this severity, or worse."""

CAPACITY: Mapping[str, Condition] = {
    "over-limits": _clusters(_beyond_limits),
    "no-failover": _clusters(lambda cluster: cluster["ha"]["meets_demand"] is False),
    "no-power-on": _clusters(lambda cluster: not cluster["ha"]["can_power_on"]),
    "no-room": _clusters(_no_room),
}
"""Conditions for a cluster, in this order: (1) use exceeds the limits. (2) Use of the remaining hosts exceeds the
limits after failures. (3) Some VM cannot power on after failures. (4) No room is left for another VM.
"""

SIMULATION: Mapping[str, Condition] = {
    "suffering": _suffering,
    "unsteady": _points({"not-steady", "not-known"}),
    "not-steady": _points({"not-steady"}),
}
"""Conditions in this order: a VM suffers, a point is not steady or unknown, a point is not steady."""

DENSITY: Mapping[str, Condition] = {"none": _none_fits, "unsure": _not_sure, "unsteady": _unsteady}
"""Conditions in this order: (1) no tried count meets the objectives. (2) The largest count meets the objectives only
on average. (3) A count has no steady state.
"""

PLACEMENT: Mapping[str, Condition] = {"moves": _moves, "unproven": _unproven, "slo": _slo}
"""Conditions in this order: (1) VMs have to move. (2) The plan is not proven optimal. (3) The simulation misses an
objective (`--slo`) with the plan or after a failure.
"""


def _off(found: Benchmark) -> str:
    judged = [step for step in found["steps"] if not step["calibration"]]
    figures = [(step, figure) for step in judged for figure in step["figures"]]
    return some(
        [
            *(f"{figure['title']} of {step['title']}" for step, figure in figures if figure["within"] is False),
            *(f"the limit of {step['title']}" for step in judged if step["limit"]["right"] is False),
        ]
    )


BENCHMARK: Mapping[str, Condition] = {
    "off": _off,
    "late": lambda found: "" if found["blind"] else "a run is older than the prediction",
}
"""Conditions of a benchmark campaign."""

REFRESH: Mapping[str, Condition] = {
    "slower": lambda found: _of_best(found, lambda each: bool(each["slower"])),
    "unproven": lambda found: _of_best(found, lambda each: not all(one["proven"] for one in each["clusters"])),
    "unpriced": lambda found: _of_best(found, lambda each: each["costs"] is None or bool(each["costs"]["unpriced"])),
}
"""Conditions of the best candidate in this order: (1) it is slower than the present hosts. (2) Fewer hosts might be
enough. (3) A cost has no price.
"""

VALIDATION: Mapping[str, Condition] = {"regression": _regression, "any": _any_missed, "never": lambda _rows: ""}
"""Conditions in this order: a figure left its tolerance since the last accepted evidence, a judged figure or class is
missed, never.
"""
