"""The target cluster after a move: hosts of all VMs, tolerated failures, and the twin's figures before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypertwin.documents import move as documents
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving.arrival import Arrival, arrival, reused_hosts
from hypertwin.plan.placement import bounds
from hypertwin.plan.placement.problem import Ints, Memory
from hypertwin.plan.refresh import judged
from hypertwin.plan.refresh.fewest import Made, placed
from hypertwin.plan.refresh.planning import Demand
from hypertwin.plan.refresh.present import Present
from hypertwin.run import LabelledProgress

NOTICED = 0.1
"""Change of the median response time, as a fraction, from which its cause is named."""


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
    cluster = found.scenario.inventory.clusters[0]
    demand = Demand.of(present, speeds).of_scenario(found.scenario) if present.is_measured else None
    made = Made.of(found.scenario, cluster, limits, demand, memory, found.groups)
    where = placed(made, len(made.order))
    reason = None
    if where is None:
        reason = bounds.impossible(made.task()) or "no placement that tolerates every failure was found"
    return Arrived(found, made, where, reason)


@dataclass(frozen=True)
class Twin:
    """The twin's figures before and after a move."""

    before: Sequence[judged.Figures]
    after: Sequence[judged.Figures]
    failure: Sequence[judged.Figures]
    """Figures after the worst failure of the target, or an empty list."""
    failed: tuple[str, ...]
    only_hypervisor: Sequence[judged.Figures]
    """Figures of the present hosts and placement with hypervisor and devices of the target.

    The list is empty if response times hardly change.
    """


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
    """Return the twin's figures of the present clusters, of the target, and of the hypervisor alone."""
    assert arrived.place is not None
    said: dict[str, Any] = {"replications": replications, "progress": progress}
    before = [judged.simulated(present.scenario, made.problem, made.problem.at, (), **said).normal for made in befores]
    fails = arrived.made.positions if failing else ()
    after = judged.simulated(arrived.arrival.scenario, arrived.made.problem, arrived.place, fails, **said)
    failure = [] if after.failure is None else [after.failure]
    whole = judged.compared(before, [after.normal], 0)
    changes = whole is not None and abs(whole["median"] - 1) >= NOTICED
    alone = _only_hypervisor(present, speeds, said) if changes else []
    return Twin(before, [after.normal], failure, after.failed, alone)


def causes(twin: Twin) -> list[documents.Cause]:
    """Return the parts of the change of response times, or nothing if they are unknown or the change is small."""
    whole, alone = (judged.compared(twin.before, each, 0) for each in (twin.after, twin.only_hypervisor))
    if whole is None or alone is None:
        return []
    rest = whole["median"] / alone["median"]
    return [
        {"name": "hypervisor and its virtual devices, on the present hosts", "ratio": alone["median"]},
        {"name": "hosts, placement and storage of the target", "ratio": rest},
    ]


def _only_hypervisor(present: Present, speeds: Mapping[str, float], said: Mapping[str, Any]) -> list[judged.Figures]:
    """Return the figures of the present placement on the present hosts with hypervisor and devices of the target.

    The result is empty if the VMs cannot be there with that hypervisor.
    """
    data = present.scenario.as_written()
    sections = {key: data[key] for key in ("arrays", "devices", "storage") if data.get(key)}
    try:
        found = arrival(present, reused_hosts(present), sections, speeds)
    except ScenarioError:
        return []
    cluster = found.scenario.inventory.clusters[0]
    made = Made.of(found.scenario, cluster, present.states[0].limits, None, "configured", found.groups)
    number = {host.name: at for at, host in enumerate(made.problem.hosts)}
    of_host = {vm.name: vm.host for vm in present.vms}
    if not all(of_host.get(vm.name) in number for vm in made.problem.vms):
        return []
    where = np.array([number[of_host[vm.name]] for vm in made.problem.vms], np.int64)
    return [judged.simulated(found.scenario, made.problem, where, (), **said).normal]
