"""Plan as a document: goal, result, hosts before and after, demand and limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from hypertwin import _core
from hypertwin.documents.failover import Failover
from hypertwin.documents.placement import Certificate, Explanation, Fix, HostPlan, Plan, Status
from hypertwin.plan.capacity.demand import FALLBACKS, WORDS
from hypertwin.plan.capacity.limits import Kind, Limits
from hypertwin.plan.capacity.state import State
from hypertwin.plan.placement import problem as problems
from hypertwin.plan.placement.found import Found
from hypertwin.plan.placement.problem import NOWHERE, Floats, Ints, Memory, Problem, part
from hypertwin.plan.placement.steps import Order
from hypertwin.plan.placement.survive import MOST_PCT
from hypertwin.scenario import Scenario

Command = Literal["survive", "balance", "evacuate", "place"]

UNITS = {"moves": "moves", "hosts": "hosts", "min-peak": "%"}
"""Unit of each objective."""
SCALE = {"min-peak": 100.0}
"""Factors that convert values of objectives to their units."""


@dataclass(frozen=True)
class Asked:
    """Request of a plan."""

    command: Command
    scenario: Scenario
    problem: Problem
    """Planning problem, including resources and rules of policies, and new VMs."""
    limits: Limits
    failover: Limits | None = None
    """Limits after host failures, or None if the limits without a failure apply."""
    memory: Memory = "configured"


@dataclass(frozen=True)
class Extras:
    """Optional content of a plan."""

    policies: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    fixes: Sequence[Fix] = ()
    explained: Sequence[Explanation] = ()
    verified: Mapping[str, Any] | None = None
    ratio: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Ratio of vCPUs to cores on the worst host, from simulation."""
    commands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    binding_constraints: Sequence[str] = ()
    notes: Sequence[str] = ()
    failover: Failover | None = None
    """Verdict on host failures."""
    not_placed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Missing resource of each new VM without a host."""


NOTHING = Extras()


def answer(
    asked: Asked,
    found: Found | None,
    order: Order | None,
    certificates: Mapping[str, Certificate],
    *,
    feasible: bool | None = None,
    extras: Extras = NOTHING,
) -> Plan:
    """Return the plan document from the placement (`found`, or None without a search), the moves, and the certificates.

    By default a plan is feasible if three conditions hold. A placement was found or not needed, the moves have an
    order, and no VM lacks a host after a failure. `feasible` overrides this default.
    """
    problem = asked.problem
    knot = order.knot if order else ()
    after = problem.at if found is None else found.place
    if feasible is None:
        feasible = after is not None and not any(each["cannot_restart"] for each in certificates.values())
    proven = _proven(problem, found, certificates, after)
    shown = problem.at if after is None else after
    notes = [*problem.notes, *(order.notes if order else ()), *extras.notes]
    if knot:
        notes.append(
            f"No order of the moves was found: {', '.join(knot)} wait for each other, and no host has room for a "
            "temporary move. Free memory on one host, or raise --memory."
        )
    return {
        "version": _core.version(),
        "scenario": asked.scenario.name,
        "command": asked.command,
        "cluster": problem.cluster,
        "status": _status(asked.command, feasible=feasible and not knot, proven=proven),
        "feasible": feasible and not knot,
        "objective": _objective(found),
        "bound": _scaled(found, None if found is None else found.bound),
        "gap_pct": _finite(None if found is None else found.gap_pct),
        "proven": proven,
        "interrupted": bool(found and found.is_interrupted),
        "hosts_used": len(set(shown[shown != NOWHERE].tolist())),
        "moves": list(order.moves) if order else [],
        "steps": list(order.steps) if order else [],
        "certificate": dict(certificates),
        "binding_constraints": list(
            dict.fromkeys([*(found.binding_constraints if found else ()), *extras.binding_constraints])
        ),
        "failover": extras.failover,
        "conflict": list(found.conflict) if found else [],
        "conflict_proven": bool(found and found.conflict_proven),
        "not_placed": [{"vm": name, "short_of": text} for name, text in extras.not_placed.items()],
        "placeable": None if found is None else found.placeable,
        "not_known": list(problem.not_known),
        "fixes": list(extras.fixes),
        "limits": _limits(asked),
        "demand": _demand(asked, shown),
        "ratio": {**_ratio(asked, shown), **extras.ratio},
        "policies": dict(extras.policies),
        "hosts": host_plans(asked.scenario, problem, shown),
        "labels": {
            each.name: each.label for each in asked.scenario.inventory.vms if each.label not in (None, each.name)
        },
        "explained": list(extras.explained),
        "verified": None if extras.verified is None else dict(extras.verified),
        "guessed": sum(vm.host_is_guess for vm in problem.vms),
        "vms": len(problem.vms),
        "commands": dict(extras.commands),
        "notes": list(dict.fromkeys(notes)),
    }


def _status(command: str, *, feasible: bool, proven: bool) -> Status:
    """Return the status of an answer. The status of `survive` is never optimal, because nothing is searched."""
    if not feasible:
        return "infeasible" if proven else "unknown"
    return "optimal" if proven and command != "survive" else "feasible"


def _proven(problem: Problem, found: Found | None, certificates: Mapping[str, Certificate], after: Ints | None) -> bool:
    """True if the answer is proven. A plan that ignores an unknown resource is not."""
    proven = all(each["proven"] for each in certificates.values()) if found is None else found.proven
    possible = after is not None and not any(each["cannot_restart"] for each in certificates.values())
    return proven and not (problem.not_known and possible)


def host_plans(scenario: Scenario, problem: Problem, after: Ints) -> list[HostPlan]:
    """Return each host before and after. vCPUs per core include storage appliances, as in `capacity`."""
    before_pct = part(problem.loads(problem.at), problem.capacity)
    after_pct = part(problem.loads(after), problem.capacity)
    limit_pct = part(problem.rooms, problem.capacity)
    counts = [np.bincount(place[place != NOWHERE], minlength=len(problem.hosts)) for place in (problem.at, after)]
    vcpus = [_vcpus(scenario, problem, place) for place in (problem.at, after)]

    def of(values: Floats, host: int) -> dict[str, float]:
        return {name: _pct(value) for name, value in zip(problem.resources, values[host].tolist(), strict=True)}

    return [
        {
            "name": host.name,
            "vms_before": int(counts[0][each]),
            "vms_after": int(counts[1][each]),
            "before_pct": of(before_pct, each),
            "after_pct": of(after_pct, each),
            "limit_pct": of(limit_pct, each),
            "vcpu_per_core_before": float(vcpus[0][each] / host.cores),
            "vcpu_per_core_after": float(vcpus[1][each] / host.cores),
        }
        for each, host in enumerate(problem.hosts)
    ]


def _vcpus(scenario: Scenario, problem: Problem, place: Ints) -> Floats:
    found = np.zeros(len(problem.hosts))
    number = {host.name: each for each, host in enumerate(problem.hosts)}
    for vm in scenario.inventory.vms:
        if vm.storage_appliance and vm.host in number:
            found[number[vm.host]] += vm.vcpus
    for vm, host in zip(problem.vms, place.tolist(), strict=True):
        if host != NOWHERE:
            found[host] += vm.vcpus
    return found


def _objective(found: Found | None) -> dict[str, Any]:
    if found is None:
        return {"name": None, "unit": None, "value": None}
    return {"name": found.objective, "unit": UNITS[found.objective], "value": _scaled(found, found.value)}


def _scaled(found: Found | None, value: float | None) -> float | None:
    if found is None or value is None:
        return None
    return _finite(value * SCALE.get(found.objective, 1.0))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _pct(value: float) -> float:
    return min(MOST_PCT, 100 * float(value))


def _limits(asked: Asked) -> dict[str, Any]:
    limits, after = asked.limits, asked.failover or asked.limits
    return {
        "cpu_pct": 100 * limits.cpu,
        "memory_pct": 100 * limits.memory,
        "vcpu_ratio": limits.vcpu_ratio,
        "failures": limits.failures,
        "failover_cpu_pct": 100 * after.cpu,
        "failover_memory_pct": 100 * after.memory,
        "memory": asked.memory,
    }


def _demand(asked: Asked, place: Ints) -> dict[str, Any]:
    """Return the basis of the demand, and the peak load of the placement under the other demands."""
    problem = asked.problem
    cluster = asked.scenario.inventory.cluster[problem.cluster]
    texts, others = {}, {}
    for kind in FALLBACKS["peak"]:
        limits = replace(asked.limits, demand=kind)
        state = State.of(asked.scenario, cluster, limits)
        if kind == asked.limits.demand:
            texts = _texts(state, asked.memory)
            continue
        others[kind] = _under(asked, limits, state, kind, place)
    return {"asked": asked.limits.demand, **texts, "others": others}


def _texts(state: State, memory: Memory) -> dict[str, str]:
    cpu = "unknown" if state.cpu is None else state.cpu.basis["text"]
    if memory == "consumed" and state.consumed is not None:
        return {"cpu": cpu, "memory": state.consumed.basis["text"]}
    return {"cpu": cpu, "memory": "configured memory of VMs"}


def _under(asked: Asked, limits: Limits, state: State, kind: Kind, place: Ints) -> dict[str, Any]:
    """Return the peak load of a placement under another demand, or None if not measured."""
    problem = asked.problem
    basis = None if state.cpu is None else state.cpu.basis
    if basis is None or basis["kind"] != kind:
        return {"text": f"{WORDS[kind]} not measured", "peak_host": None, "peak_pct": None}
    other = problems.problem(asked.scenario, state.cluster, limits, memory=asked.memory)
    column = {name: each for each, name in enumerate(other.resources)}
    row = {vm.name: each for each, vm in enumerate(other.vms)}
    sizes, rooms = problem.sizes.copy(), problem.rooms.copy()
    known = [each for each, vm in enumerate(problem.vms) if vm.name in row]
    there = [row[problem.vms[each].name] for each in known]
    for each, name in enumerate(problem.resources):
        if name in column:
            sizes[known, each] = other.sizes[there, column[name]]
            rooms[:, each] = np.minimum(rooms[:, each], other.rooms[:, column[name]])
    parts = replace(problem, sizes=sizes, rooms=rooms).fullness(place)
    fullest = int(np.argmax(parts))
    return {"text": basis["text"], "peak_host": problem.hosts[fullest].name, "peak_pct": _pct(parts[fullest])}


def _ratio(asked: Asked, place: Ints) -> dict[str, Any]:
    """Return vCPUs per core of the cluster and of its most loaded hosts, and the verdict from the ratio alone."""
    problem = asked.problem
    cores = np.array([host.cores for host in problem.hosts], float)
    before, after = (_vcpus(asked.scenario, problem, each) for each in (problem.at, place))
    most = [float((each / cores).max()) for each in (before, after)]
    fullest = problem.hosts[int(np.argmax(after / cores))].name
    limit = asked.limits.vcpu_ratio
    if limit is None:
        says = f"no limit given; at most {most[1]:.3g} vCPUs per core, on {fullest}"
    elif most[1] <= limit:
        says = f"within the limit: at most {most[1]:.3g} of {limit:g} vCPUs per core, on {fullest}"
    else:
        says = f"over the limit: {most[1]:.3g} of {limit:g} vCPUs per core, on {fullest}"
    return {
        "limit": limit,
        "cluster": float(after.sum() / cores.sum()),
        "before": most[0],
        "after": most[1],
        "peak_host": fullest,
        "says": says,
    }
