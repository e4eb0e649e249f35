"""The target cluster after a move: hosts of all VMs, tolerated failures, and the twin's figures before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving import causes
from hypertwin.plan.moving.arrival import Arrival
from hypertwin.plan.placement import bounds
from hypertwin.plan.placement.moved import hosts_of
from hypertwin.plan.placement.problem import Ints, Memory
from hypertwin.plan.refresh import judged
from hypertwin.plan.refresh.fewest import Made, placed
from hypertwin.plan.refresh.planning import Demand
from hypertwin.plan.refresh.present import Present
from hypertwin.runs.simulation import LabelledProgress

MORE = (judged.IO, judged.THROUGHPUT)
"""Figures of VMs without a failure, beside those that every plan has."""


@dataclass(frozen=True)
class Arrived:
    """VMs on the hosts of the target."""

    arrival: Arrival
    made: Made
    place: Ints | None
    reason: str | None
    """Reason why the target cannot take the VMs, or None if it can."""


def arrive(present: Present, found: Arrival, limits: Limits, memory: Memory, speeds: Mapping[str, float]) -> Arrived:
    """Return hosts of all VMs on the target that tolerate every failure, or the reason why none were found."""
    whole = made(present, found, limits, memory, speeds)
    where = placed(whole, len(whole.order))
    reason = None
    if where is None:
        reason = bounds.impossible(whole.task()) or "no placement that tolerates every failure was found"
    return Arrived(found, whole, where, reason)


def made(present: Present, found: Arrival, limits: Limits, memory: Memory, speeds: Mapping[str, float]) -> Made:
    """Return the planning problem of the target."""
    cluster = found.scenario.inventory.clusters[0]
    demand = Demand.of(present, speeds).of_cluster(found.scenario, cluster) if present.is_measured else None
    return Made.of(found.scenario, cluster, limits, demand, memory, found.groups)


@dataclass(frozen=True)
class Twin:
    """The twin's figures before and after a move."""

    before: Sequence[judged.Figures]
    after: Sequence[judged.Figures]
    failure: Sequence[judged.Figures]
    """Figures after the worst failure of the target, or an empty list."""
    failed: tuple[str, ...]
    parts: Sequence[causes.Part]
    """Mechanisms of the change, or an empty list if no figure changes noticeably."""


def simulated(
    present: Present,
    befores: Sequence[Made],
    arrived: Arrived,
    speeds: Mapping[str, float],
    *,
    failing: bool,
    replications: int | None,
    progress: LabelledProgress | None,
) -> Twin:
    """Return the twin's figures of the present clusters, of the target, and of the mechanisms in between."""
    assert arrived.place is not None
    said: dict[str, Any] = {"replications": replications, "progress": progress, "more": MORE}
    before = [judged.simulated(present.scenario, made.problem, made.problem.at, (), **said).normal for made in befores]
    problem, fails = arrived.made.problem, arrived.made.positions if failing else ()
    after = judged.simulated(arrived.arrival.scenario, problem, arrived.place, fails, **said)
    hosts = hosts_of(problem, arrived.place)
    parts = causes.parts(present, arrived.arrival, hosts, speeds, (before, [after.normal]), said)
    return Twin(before, [after.normal], [] if after.failure is None else [after.failure], after.failed, parts)
