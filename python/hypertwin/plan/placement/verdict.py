"""Verdict on host failures, shared by capacity, plans, density, diagnosis and runs.

A cluster tolerates a failure if four conditions hold. The data of every VM stays readable and writable. HA restarts the
VMs of the failed hosts. A host has enough unreserved capacity for each reservation. Each VM fits on a host within the
limits (`restart.py`). The verdict also names pools that stay degraded then, because their devices have no space to
recover. If a fact is unknown or a guess, the verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from hypertwin import _core
from hypertwin.documents.failover import Failover, HostFailure, PoolFate, PoolState, Reason, ReasonCode
from hypertwin.language import Pool
from hypertwin.members import Cluster
from hypertwin.metrics.words import cannot_restart, count, some
from hypertwin.plan.capacity import admission
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.capacity.state import State
from hypertwin.plan.placement import policies
from hypertwin.plan.placement.failures import (
    MOST_FAILURES,
    TOO_FEW,
    Failures,
    called,
    domains_lost,
    failures_of,
    kept,
    most_domains,
    nodes_of,
    stops_writes,
    unreadable,
)
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem, problem
from hypertwin.plan.placement.restart import Restarts
from hypertwin.scenario import Scenario, space

ORDER: tuple[ReasonCode, ...] = (
    *("no-data", "no-writes", "nobody-restarts", "no-quorum", "no-power-on", "no-host"),
    "no-space",
    *("ha-not-known", "quorum-not-known", "demand-not-known", "hosts-guessed", "not-proven"),
)
"""Reasons, most severe first."""
NOT_SURVIVED = frozenset(ORDER[:6])
"""Codes that mean that a failure is not tolerated. Other codes except `no-space` mean unknown."""
NOT_KNOWN: Mapping[ReasonCode, str] = {
    "ha-not-known": "HA is unknown (ha.policy)",
    "quorum-not-known": "Proxmox HA has no quorum after some failures, unless there is a QDevice (ha.quorum_device)",
    "demand-not-known": "CPU demand is unknown",
}
"""Texts about unknown facts, by code."""
STATES: tuple[PoolState, ...] = ("whole", "degraded", "no-writes", "no-data")
"""States of pools after a failure, from good to bad."""
MOST_TOLERATED = 4
"""Maximum number of host failures to try for the count of tolerated failures."""


def of_cluster(scenario: Scenario, cluster: Cluster, limits: Limits) -> Failover | None:
    """Return the verdict on a cluster in its current state, with the default policies of plans, or None without
    failures.
    """
    made = policies.apply(problem(scenario, cluster, limits), scenario, {}, ())[0]
    if not 0 < limits.failures <= len(made.hosts):
        return None
    return verdict(scenario, made, made.at, limits, planned(scenario, made, limits.failures))


def planned(scenario: Scenario, made: Problem, failures: int) -> Failures:
    """Return single hosts and all sets of `failures` hosts.

    If there are too many sets, each host is combined with the largest others.
    """
    if comb(len(made.hosts), failures) <= MOST_FAILURES:
        return failures_of(scenario, made, failures)
    return (*failures_of(scenario, made, 1), *_with_largest(made, failures))


def _with_largest(made: Problem, many: int) -> Failures:
    """Return each host, combined with the largest other hosts by memory."""
    largest = sorted(range(len(made.hosts)), key=lambda host: -made.hosts[host].memory_bytes)
    found: dict[tuple[int, ...], str] = {}
    for host in range(len(made.hosts)):
        together = tuple(sorted([host, *[each for each in largest if each != host][: many - 1]]))
        found[together] = " + ".join(made.hosts[each].name for each in together)
    return tuple((name, together) for together, name in found.items())


def verdict(scenario: Scenario, made: Problem, place: Ints, limits: Limits, failures: Failures) -> Failover:
    """Return the verdict on a placement of a cluster's VMs."""
    cluster = scenario.inventory.cluster[made.cluster]
    state = State.of(scenario, cluster, limits)
    said = _ha(scenario, cluster)
    found = dict(_judged(scenario, made, place, state, failures)) | dict(_of_other_nodes(scenario, made, failures))
    reasons = [reason["code"] for each in found.values() for reason in each["reasons"]]
    reason = min(reasons, key=ORDER.index, default=None)
    answers = [each["survives"] for each in found.values()]
    survives = False if False in answers else None if None in answers else True
    restarts = said.get("policy") if cluster.ha is not False else None
    times = admission.restart_times(said) if restarts is not None else None
    return {
        "survives": survives,
        "reason": reason,
        "text": _text(scenario, cluster, made, found, restarts),
        "restarted_by": restarts,
        "first_restart_s": None if times is None else times["detection"],
        "first_restart_longest_s": None if times is None else times["detection_longest"],
        "host_failures_tolerated": _tolerates(scenario, made, place, state, found) if restarts is not None else None,
        "limits": {
            "cpu_pct": 100 * limits.cpu,
            "memory_pct": 100 * limits.memory,
            "failures": float(max((len(failed) for _, failed in failures), default=0)),
        },
        "failures": found,
    }


def _ha(scenario: Scenario, cluster: Cluster) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (scenario.data.get("clusters") or {}).get(cluster.name, {}).get("ha") or {}
    return found


def _judged(
    scenario: Scenario, made: Problem, place: Ints, state: State, failures: Failures, *, exact: bool = True
) -> Iterator[tuple[str, HostFailure]]:
    """Yield the verdict on each failure, by name. Without `exact`, the check is faster and more often unknown."""
    restarts = Restarts(made)
    names = [vm.label or vm.name for vm in made.vms]
    keys = [vm.name for vm in made.vms]
    label = dict(zip(keys, names, strict=True))
    reserved = admission.reserved(state, scenario)
    rooms = space.rooms(scenario)
    outcomes = restarts.all(place, [each for _, each in failures], exact=exact)
    for (name, failed), first in zip(failures, outcomes, strict=True):
        nodes = nodes_of(scenario, made, name, failed)
        pools = dict(_pools(scenario, made, nodes))
        lost = [vm for vm in unreadable(scenario, made, nodes) if place[vm] != NOWHERE]
        outcome = first
        if lost:
            readable = place.copy()
            readable[lost] = NOWHERE
            outcome = restarts.after(readable, failed, exact=exact)
        waits = [vm for vm in np.flatnonzero(np.isin(place, failed)).tolist() if made.restarts[vm]]
        unfit = {keys[vm] for vm in waits if not np.delete(made.fits[vm], failed).any()}
        not_started = admission.not_started(state, nodes, reserved) if waits else []
        refused = [vm for vm in not_started if vm not in unfit]  # no host could run the others without reservations
        sure = [each for each in outcome.cannot_restart if outcome.proven or keys[each[0]] in unfit]
        reasons: list[Reason] = []

        def add(code: ReasonCode, text: str, vms: Sequence[str] = (), reasons: list[Reason] = reasons) -> None:
            reasons.append({"code": code, "text": text, "vms": list(vms)})

        if lost:
            add("no-data", f"{_vms([names[vm] for vm in lost])} cannot read their data", [keys[vm] for vm in lost])
        stopped = [pool for pool, fate in pools.items() if fate["state"] == "no-writes"]
        if stopped:
            add("no-writes", f"{some(stopped)} has {TOO_FEW} for writes, and its VMs wait for the repair")
        if waits and state.cluster.ha is False:
            add("nobody-restarts", f"HA is off, and {_vms([names[vm] for vm in waits])} stay down")
        if refused:
            add(
                "no-power-on",
                f"no host has enough unreserved capacity to power on {_vms([label[vm] for vm in refused])}",
                refused,
            )
        if sure:
            worst, short = min(sure, key=lambda each: each[1].within_limits)
            example = f"{'' if len(sure) == 1 else f'{names[worst]} is '}short of {short.text}"
            verb = cannot_restart(each.within_limits for _, each in sure)
            add("no-host", f"{_vms([names[vm] for vm, _ in sure])} {verb}: {example}", [keys[vm] for vm, _ in sure])
        if len(sure) < len(outcome.cannot_restart):
            add("not-proven", "no restart of all VMs was found or ruled out")
        if waits:
            for code, text in _of_ha(scenario, made, len(made.hosts) - len(failed)):
                add(code, text)
        codes = {reason["code"] for reason in reasons}
        for pool in sorted(pool for pool, fate in pools.items() if fate["state"] == "degraded"):
            gone = len(nodes.intersection(scenario.inventory.pool[pool].hosts))
            if space.without_hosts(scenario, pool, rooms[pool], gone).lacks_space:
                add("no-space", f"{pool} stays degraded: its devices have no space to recover")
        yield (
            name,
            {
                "failed": [made.hosts[each].name for each in failed],
                "survives": False if codes & NOT_SURVIVED else None if codes else True,
                "reasons": sorted(reasons, key=lambda reason: ORDER.index(reason["code"])),
                "restarts": len(waits),
                "pools": pools,
            },
        )


def _has_quorum(scenario: Scenario, made: Problem, left: int) -> bool | None:
    """Return whether HA can restart VMs with the hosts that are left, or None if that depends on a quorum device."""
    cluster = scenario.inventory.cluster[made.cluster]
    said = _ha(scenario, cluster)
    if cluster.ha is False or said.get("policy") != "proxmox" or not left:
        return True
    device = said.get("quorum_device")
    answers = {
        _core.has_quorum(left, len(made.hosts), each) for each in ([False, True] if device is None else [device])
    }
    return answers.pop() if len(answers) == 1 else None


def _of_ha(scenario: Scenario, made: Problem, left: int) -> Iterator[tuple[ReasonCode, str]]:
    """Yield why HA cannot restart VMs on the hosts that are left, or what is not known of that."""
    cluster = scenario.inventory.cluster[made.cluster]
    if cluster.ha is not False and not _ha(scenario, cluster).get("policy"):
        yield "ha-not-known", "HA is unknown (ha.policy)"
    has_quorum = _has_quorum(scenario, made, left)
    if has_quorum is False:
        yield "no-quorum", "Proxmox HA has no quorum and restarts nothing"
    if has_quorum is None:
        yield "quorum-not-known", "Proxmox HA has no quorum, unless there is a QDevice (ha.quorum_device)"
    if made.not_known:
        yield "demand-not-known", "CPU demand is unknown"
    guessed = [vm.name for vm in made.vms if vm.host_is_guess]
    if guessed:
        yield "hosts-guessed", f"the host of {count(len(guessed), 'VM')} is a guess"


def _vms(names: Sequence[str]) -> str:
    return some(list(names), 3) if len(names) <= 3 else count(len(names), "VM")


def _pools(scenario: Scenario, made: Problem, nodes: set[str]) -> Iterator[tuple[str, PoolFate]]:
    """Yield the effect of a failure on the pools that lose nodes and have data of the cluster's VMs."""
    for pool in scenario.inventory.pools:
        gone = [number for number, node in enumerate(pool.hosts) if node in nodes]
        if gone and any(vm.pool == pool.name for vm in made.vms):
            left = [number for number in range(len(pool.hosts)) if number not in gone]
            schemes = {each.scheme: each for vm in made.vms if vm.pool == pool.name for each in kept(pool, vm)}.values()

            def state(gone: Sequence[int], pool: Pool = pool, schemes: Any = schemes) -> PoolState:
                lost = domains_lost(scenario, pool, gone)
                if any(lost > each.failures_tolerated for each in schemes):
                    return "no-data"
                if stops_writes(pool, schemes, lost, gone):
                    return "no-writes"
                return "degraded" if lost else "whole"

            after = [state([*gone, each]) for each in left]
            yield pool.name, {"state": state(gone), "next": max(after, key=STATES.index, default=state(gone))}


def _of_other_nodes(scenario: Scenario, made: Problem, failures: Failures) -> Iterator[tuple[str, HostFailure]]:
    """Yield the failures of the same number of pool nodes outside the cluster, if these stop reads or writes."""
    most = max((len(failed) for name, failed in failures if not name.startswith("rack ")), default=0)
    here = {host.name for host in made.hosts}
    for pool in scenario.inventory.pools:
        elsewhere = [number for number, node in enumerate(pool.hosts) if node not in here]
        gone = most_domains(scenario, pool, elsewhere, min(most, len(elsewhere)))
        names = {pool.hosts[number] for number in gone}
        fate = dict(_pools(scenario, made, names)).get(pool.name)
        if fate is not None and fate["state"] in ("no-writes", "no-data"):
            what = "read" if fate["state"] == "no-data" else "written"
            reason: Reason = {
                "code": "no-data" if what == "read" else "no-writes",
                "text": f"data of pool {pool.name} cannot be {what}",
                "vms": [vm.name for vm in made.vms if vm.pool == pool.name],
            }
            key = f"{len(gone)} node{'s' if len(gone) > 1 else ''} of {pool.name}"
            yield (
                key,
                {
                    "failed": sorted(names),
                    "survives": False,
                    "reasons": [reason],
                    "restarts": 0,
                    "pools": {pool.name: fate},
                },
            )


def _tolerates(
    scenario: Scenario, made: Problem, place: Ints, state: State, judged: Mapping[str, HostFailure]
) -> int | None:
    """Return the number of tolerated host failures.

    Sets of each host and the largest others grow until one set is not proven tolerated.
    """
    if any(each["survives"] is None for each in judged.values()):
        return None
    found = 0
    for many in range(1, min(MOST_TOLERATED, len(made.hosts) - 1) + 1):
        sets = _with_largest(made, many)
        known = [judged[name]["survives"] for name, _ in sets if name in judged]
        if False in known:
            break
        if len(known) < len(sets) and not all(
            each["survives"] for _, each in _judged(scenario, made, place, state, sets, exact=False)
        ):
            break
        found = many
    return found


def _text(
    scenario: Scenario,
    cluster: Cluster,
    made: Problem,
    found: Mapping[str, HostFailure],
    restarted_by: str | None,
) -> str:
    """Return the verdict in one or two sentences."""
    name = cluster.label or cluster.name
    if not found:
        return f"{name}: no failure was checked."
    if len(made.hosts) == 1:
        return f"{name} has one host: no failover."
    lost = {key: each for key, each in found.items() if each["survives"] is False}
    open_ = {key: each for key, each in found.items() if each["survives"] is None}
    failure = called(found)
    all_reasons = [reason for each in found.values() for reason in each["reasons"]]
    full = "".join(f" {text}." for text in sorted({each["text"] for each in all_reasons if each["code"] == "no-space"}))
    if lost:
        worst = min(lost, key=lambda key: (ORDER.index(lost[key]["reasons"][0]["code"]), key))
        why = next(each for each in lost[worst]["reasons"] if each["code"] in NOT_SURVIVED)["text"]
        fails = "fail" if " + " in worst else "fails"
        survived = len(found) - len(lost) - len(open_)
        first = f"{name} survives {survived} of {count(len(found), failure)}. If {worst} {fails}"
        if not survived:
            first = f"{name} cannot tolerate a {failure}: if {worst} {fails}"
        codes = {reason["code"] for reason in all_reasons}
        unsaid = "".join(f" {text}." for code, text in NOT_KNOWN.items() if code in codes)
        return f"{first}, {why}.{unsaid}{full}"
    if open_:
        reasons = [reason for each in open_.values() for reason in each["reasons"] if reason["code"] != "no-space"]
        told = list(dict.fromkeys(each["text"] for each in sorted(reasons, key=lambda each: ORDER.index(each["code"]))))
        rest = (
            "each VM has a host" if not any(each["code"] == "not-proven" for each in reasons) else "most VMs have one"
        )
        return f"Failover of {name} is unknown: {some(told)}. If VMs are restarted, {rest}.{full}"
    text = f"{name} survives {'every' if len(found) == 1 else f'all {len(found)}'} {failure}{'s' * (len(found) > 1)}"
    return f"{text}{_restarted(made, restarted_by)}.{_next(found)}{full}"


def _restarted(made: Problem, by: str | None) -> str:
    """Return who restarts VMs, and the number of VMs that stay down by design, or nothing without HA."""
    product = {"fdm": "vSphere HA", "proxmox": "Proxmox HA", "masakari": "Masakari"}.get(by or "")
    if product is None:
        return ""
    down = int((~made.restarts).sum())
    if not down:
        return f": {product} restarts every VM"
    return f": {product} restarts {count(len(made.vms) - down, 'VM')}, and {count(down, 'VM')} would stay down"


def _next(found: Mapping[str, HostFailure]) -> str:
    """Return the effect of the next failure on pools that are degraded by then."""
    degraded = [
        (pool, fate["next"])
        for each in found.values()
        for pool, fate in each["pools"].items()
        if fate["state"] == "degraded"
    ]
    without_data = {pool for pool, then in degraded if then == "no-data"}
    without_writes = {pool for pool, then in degraded if then == "no-writes"} - without_data
    return "".join(
        f" {some(sorted(pools))} {'is' if len(pools) == 1 else 'are'} then degraded, and {effect}."
        for pools, effect in (
            (without_data, "the next failed node makes data unreadable"),
            (without_writes, "the next failed node stops writes"),
        )
        if pools
    )
