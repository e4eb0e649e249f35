"""Failover check of a placement: a certificate for each failure, the limits, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypertwin.documents import placement as documents
from hypertwin.language import Pool
from hypertwin.plan.placement.failures import (
    TOO_FEW,
    Failures,
    domains_lost,
    kept,
    most_domains,
    nodes_of,
    stops_writes,
    unreadable,
    vms_without_data,
)
from hypertwin.plan.placement.lacking import Shortage
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem, part
from hypertwin.plan.placement.restart import Outcome, Restarts
from hypertwin.scenario import Scenario

MOST_PCT = 9999.0
"""Load in per cent that replaces infinity, because JSON cannot represent infinity."""


@dataclass(frozen=True)
class Survival:
    """Outcome of every failure for a placement."""

    certificates: dict[str, documents.Certificate]
    outcomes: dict[str, Outcome]
    """Outcomes of failures of hosts of the cluster, by name of the failure."""
    feasible: bool
    """True if every VM that restarts has a host after any failure."""
    proven: bool
    """True if `feasible` is proven. True is always proven, but false only if no restart places more VMs."""
    binding_constraints: tuple[str, ...]
    """Resources and rules that limit restarts. If no VM lacks a host, the most used resource after a failure."""
    notes: tuple[str, ...]


def survive(problem: Problem, scenario: Scenario, place: Ints, failures: Failures) -> Survival:
    """Check a placement against failures (`failures_of`).

    VMs with unreadable data are down on any host, because a pool can lose more than it tolerates.
    """
    restarts = Restarts(problem)
    certificates: dict[str, documents.Certificate] = {}
    outcomes: dict[str, Outcome] = {}
    binding_constraints: Counter[str] = Counter()
    fullest: Counter[str] = Counter()
    proven = True
    at_once = restarts.all(place, [failed for _, failed in failures])
    for (name, failed), found in zip(failures, at_once, strict=True):
        outcome, lost = found, unreadable(scenario, problem, nodes_of(scenario, problem, name, failed))
        if lost:
            readable = place.copy()
            readable[list(lost)] = NOWHERE
            outcome = restarts.after(readable, failed)
        outcomes[name] = outcome
        certificates[name] = _certificate(problem, place, outcome, lost, _appliances(scenario, problem, failed))
        proven &= outcome.proven or not outcome.cannot_restart or bool(lost)
        for _, short in outcome.cannot_restart:
            binding_constraints.update(set(short.binding_constraints))
        if lost:
            binding_constraints.update({"storage"})
        fullest.update(_fullest_resources(problem, outcome))
    for name, certificate in _of_other_nodes(problem, scenario, place, failures):
        certificates[name] = certificate
        binding_constraints.update({"storage"})
    feasible = not any(certificate["cannot_restart"] for certificate in certificates.values())
    limits = fullest if feasible else binding_constraints
    return Survival(
        certificates,
        outcomes,
        feasible,
        proven,
        tuple(name for name, _ in sorted(limits.items(), key=lambda each: (-each[1], each[0])))[
            : 1 if feasible else None
        ],
        tuple(_notes(problem, scenario, failures, certificates)),
    )


def certificates(
    problem: Problem, scenario: Scenario, place: Ints, failures: Failures
) -> dict[str, documents.Certificate]:
    """Return the certificate of each failure of a placement, by name of the failure."""
    return survive(problem, scenario, place, failures).certificates


def _appliances(scenario: Scenario, problem: Problem, failed: Sequence[int]) -> list[str]:
    """Return storage appliances on failed hosts, which are not VMs of the problem."""
    gone = {problem.hosts[host].name for host in failed}
    return [vm.name for vm in scenario.inventory.vms if vm.storage_appliance and vm.host in gone]


def _certificate(
    problem: Problem, place: Ints, outcome: Outcome, lost: dict[int, str], appliances: Sequence[str] = ()
) -> documents.Certificate:
    """Return an outcome by names, with the VMs whose data is unreadable."""
    failed = [problem.hosts[host].name for host in outcome.failed]
    cannot_restart = {vm: Shortage(text, ("storage",)) for vm, text in lost.items() if place[vm] != NOWHERE}
    cannot_restart |= dict(outcome.cannot_restart)
    down = [(problem.vms[vm].name, text) for vm, text in outcome.not_restarted]
    down += [(name, "storage appliance of its host") for name in appliances]
    full, host = _fullest(problem, outcome.place, outcome.failed)
    return {
        "failed": failed,
        "placed": {problem.vms[vm].name: problem.hosts[at].name for vm, at in outcome.placed.items()},
        "cannot_restart": [
            {"vm": problem.vms[vm].name, "short_of": short.text, "within_limits": short.within_limits}
            for vm, short in sorted(cannot_restart.items())
        ],
        "not_restarted": [{"vm": name, "short_of": text} for name, text in down],
        "proven": outcome.proven,
        "peak_host": None if host is None else problem.hosts[host].name,
        "peak_pct": full,
        "violated_should_rules": list(outcome.wishes),
    }


def _fullest(problem: Problem, place: Ints, failed: Sequence[int]) -> tuple[float, int | None]:
    """Return the most loaded remaining host, and its load in per cent of the limit after a failure."""
    found = part(problem.loads(place), problem.failover).max(axis=1, initial=0.0)
    found[list(failed)] = -1.0
    host = int(found.argmax())
    if found[host] < 0:
        return 0.0, None
    return float(min(MOST_PCT, 100.0 * found[host])), host


def _fullest_resources(problem: Problem, outcome: Outcome) -> dict[str, int]:
    """Return the resource nearest to its limit on the most loaded remaining host, weighted by its load."""
    _, host = _fullest(problem, outcome.place, outcome.failed)
    if host is None or not problem.resources:
        return {}
    full = part(problem.loads(outcome.place), problem.failover)[host]
    most = int(full.argmax())
    return {problem.resources[most]: round(1000 * min(1.0, float(full[most])))}


def _of_other_nodes(
    problem: Problem, scenario: Scenario, place: Ints, failures: Failures
) -> Iterator[tuple[str, documents.Certificate]]:
    """Yield the failures of the same number of pool nodes outside the cluster, if data become unreadable."""
    most = max((len(failed) for name, failed in failures if not name.startswith("rack ")), default=0)
    here = {host.name for host in problem.hosts}
    for pool in scenario.inventory.pools:
        elsewhere = [number for number, node in enumerate(pool.hosts) if node not in here]
        many = min(most, len(elsewhere))
        if not many:
            continue
        gone = most_domains(scenario, pool, elsewhere, many)
        lost = {pool.name: domains_lost(scenario, pool, gone)}
        without = vms_without_data(scenario, problem, lost)
        texts = {vm: text for vm, text in without.items() if place[vm] != NOWHERE}
        if texts:
            now = place.copy()
            now[list(texts)] = NOWHERE
            outcome = Outcome((), {}, (), (), True, (), now)
            names = [pool.hosts[number] for number in gone]
            what = f"{many} node{'s' if many > 1 else ''} of {pool.name}"
            yield what, {**_certificate(problem, place, outcome, texts), "failed": names}


def _notes(
    problem: Problem, scenario: Scenario, failures: Failures, certificates: dict[str, documents.Certificate]
) -> Iterator[str]:
    """Yield notes on the failures, and on what is not modelled."""
    cluster = scenario.inventory.cluster[problem.cluster]
    if cluster.ha is False:
        yield f"HA of cluster {cluster.name} is off: no VM restarts by itself."
    if not failures:
        yield "No failure was checked."
        return
    together = max(len(failed) for _, failed in failures)
    if together > 2 and any(" + " in name for name, _ in failures):
        yield (f"Checked every host alone and every {together} together: tolerating {together} failures implies fewer.")
    wishes = sorted({name for certificate in certificates.values() for name in certificate["violated_should_rules"]})
    if wishes:
        yield f"Should rules are violated after some failures: {', '.join(wishes)}."
    for pool in scenario.inventory.pools:
        if _writes_stop(problem, scenario, pool, failures):
            yield f"Some failures leave pool {pool.name} {TOO_FEW} for writes: its VMs wait for the repair."
    yield (
        "Not modelled: boot storm and restart times (simulate the scenario with failures), and admission control (see "
        "hypertwin capacity)."
    )
    yield "Assumed: every host reaches every network and datastore."


def _writes_stop(problem: Problem, scenario: Scenario, pool: Pool, failures: Failures) -> bool:
    """True if a failure leaves data of VMs readable but not writable."""
    those = {each.scheme: each for vm in problem.vms if vm.pool == pool.name for each in kept(pool, vm)}
    number = {node: each for each, node in enumerate(pool.hosts)}
    hosts = [host.name for host in problem.hosts]
    gone = [[number[hosts[host]] for host in failed if hosts[host] in number] for _, failed in failures]
    losses = [(domains_lost(scenario, pool, each), each) for each in gone if each]
    return any(
        lost <= each.failures_tolerated and stops_writes(pool, [each], lost, nodes)
        for each in those.values()
        for lost, nodes in losses
    )
