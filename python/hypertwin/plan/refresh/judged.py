"""The twin's word on the present clusters and on each candidate: ready, co-stop and response times of the same VMs.

Each state is simulated without a failure, and after the failure that leaves a host with the most load.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypertwin.documents import refresh as documents
from hypertwin.plan.placement.judge import Ends, Judge, Place, State
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem, part
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario

READY, COSTOP, RESPONSE, USAGE = "ready_pct<5", "costop_pct<3", "response_ms_p99<1000000", "hosts.*.usage_pct<1000"
"""Objectives whose figures are compared. The first two decide how long parts are simulated; the others are always met.
"""

IO, THROUGHPUT = "io_latency_ms_mean<1000000", "throughput_per_s<1000000000000"
"""Further objectives of single VMs, also always met."""

SLOWER = 1.1
"""Factor of the median response time from which a candidate counts as slower."""

NORMAL, FAILED = "normal", "failure"

Figures = Mapping[str, Mapping[str, Ends]]
"""Figures by objective and name of the host or VM."""


@dataclass(frozen=True)
class Simulated:
    """Figures of the states of one cluster."""

    normal: Figures
    failure: Figures | None
    failed: tuple[str, ...]
    """Names of the hosts whose failure is the worst."""


def simulated(
    scenario: Scenario,
    problem: Problem,
    place: Ints,
    failures: Sequence[tuple[int, ...]],
    *,
    replications: int | None,
    progress: LabelledProgress | None,
    more: Sequence[str] = (),
) -> Simulated:
    """Return the figures of a placement, and of its worst failure if there are `failures`.

    `more` has further objectives without a failure.
    """
    slo = (READY, COSTOP, RESPONSE, USAGE)
    worst = _worst(problem, place, failures)
    states: dict[str, Place] = {NORMAL: State(place)} | ({} if worst is None else {FAILED: worst})
    judge = Judge(scenario, problem, slo, replications=replications, progress=progress)
    found = judge.figures({name: state for name, state in states.items() if name == FAILED or not more})
    if more:
        judge = Judge(scenario, problem, (*slo, *more), replications=replications, progress=progress)
        found |= judge.figures({NORMAL: states[NORMAL]})
    names = () if worst is None else tuple(problem.hosts[each].name for each in worst.failed)
    return Simulated(found[NORMAL], found.get(FAILED), names)


def _worst(problem: Problem, place: Ints, failures: Sequence[tuple[int, ...]]) -> Outcome | None:
    """Return the failure after which a host has the highest load, with its restarts, or None without failures."""
    column = problem.resources.index("cpu") if "cpu" in problem.resources else 0
    outcomes = Restarts(problem).all(place, list(failures))

    def load(outcome: Outcome) -> tuple[float, tuple[int, ...]]:
        down = int((outcome.place == NOWHERE).sum())
        loads = part(problem.loads(outcome.place), problem.failover)[:, column]
        return float(loads.max(initial=0.0)) + down, tuple(-each for each in outcome.failed)

    return max(outcomes, key=load, default=None)


def of_vms(found: Sequence[Figures], objective: str) -> dict[str, Ends]:
    """Return the figures of all VMs or hosts of several clusters for one objective."""
    return {name: ends for figures in found for name, ends in figures.get(objective, {}).items()}


def worst(found: Sequence[Figures], objective: str) -> documents.Worst | None:
    """Return the VM with the highest figure, or None if no VM has one."""
    figures = of_vms(found, objective)
    if not figures:
        return None
    name = max(figures, key=lambda each: (figures[each].mean, each))
    at = figures[name]
    return {"vm": name, "mean": at.mean, "ci95": at.ci95, "low": at.low, "high": at.high}


def compared(before: Sequence[Figures], after: Sequence[Figures], count: int) -> documents.Slower | None:
    """Return response times of VMs after a change relative to before, or None if no VM has both.

    `count` is the number of VMs before. VMs that hardly run have no response time.
    """
    were, are = of_vms(before, RESPONSE), of_vms(after, RESPONSE)
    ratios = {name: are[name].mean / were[name].mean for name in were if name in are and were[name].mean > 0}
    if not ratios:
        return None
    ordered = sorted(ratios.values())
    slowest = max(ratios, key=lambda name: (ratios[name], name))
    return {
        "vms": len(ratios),
        "without": count - len(ratios),
        "median": statistics.median(ordered),
        "p90": ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))],
        "slower": sum(ratio > SLOWER for ratio in ordered),
        "slowest": slowest,
        "slowest_ratio": ratios[slowest],
    }


def usage(found: Figures) -> dict[str, float]:
    """Return the CPU usage of each host of a cluster, in per cent of cores x nominal clock."""
    return {name: ends.mean for name, ends in found.get(USAGE, {}).items()}
