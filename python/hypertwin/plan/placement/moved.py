"""The scenario after a plan, for `simulate`, `capacity` and `diagnose`.

The author's text stays, except comments. A group with VMs on different hosts becomes one entry per VM, under its name
in reports (`db-1`). Rules that name the group then name its VMs. Measured MHz become MHz of the new host, for the same
work. The result is read again: its inventory differs only in hosts of VMs, their measured MHz, groups and new VMs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from hypertwin import scenario as scenarios
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.language import Vm
from hypertwin.members import Cluster
from hypertwin.plan.capacity.demand import VM_CPU, measured_on
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.scenario import Scenario

_Measured = TypeVar("_Measured", Vm, Cluster)

NAME = "plan.yaml"
"""Name of the new scenario in messages."""


def hosts_of(problem: Problem, place: Ints) -> dict[str, str]:
    """Return the host name of each VM in a placement, by VM name."""
    return {
        vm.name: problem.hosts[host].name
        for vm, host in zip(problem.vms, place.tolist(), strict=True)
        if host != NOWHERE
    }


def moved(
    scenario: Scenario,
    hosts: Mapping[str, str],
    *,
    new: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    work: Mapping[str, float] | None = None,
    comment: str = "",
) -> tuple[str, Scenario]:
    """Return the scenario with VMs on the named hosts, as YAML and as a parsed scenario.

    `new` has the entries of VMs that the scenario does not contain. Other VMs are not moved. `work` has the work per
    cycle of the host on which each VM was measured (default: of its host as measured). Raises ScenarioError if one
    entry per VM makes the scenario exceed its limits.
    """
    wanted = {vm.name: hosts.get(vm.name, vm.host) for vm in scenario.inventory.vms}
    old = {vm.name: vm for vm in scenario.inventory.vms}
    then = measured_on(scenario) if work is None else work
    factor = {name: then[name] / scenario.inventory.host[host].work_per_cycle for name, host in wanted.items()}
    group = {vm.group: factor[vm.name] for vm in scenario.inventory.vms}
    moving = [vm for vm in old.values() if vm.host != wanted[vm.name] or factor[vm.name] != group[vm.group]]
    pinned = {vm.group for vm in moving if vm.group in scenario.data["vms"]}
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    while True:
        text = head + to_yaml(_written(scenario, pinned, wanted, factor, new))
        made = scenarios.loads(text, file=NAME)
        # who has no host of its own is spread over what is left, which pinning others changes
        astray = {old[vm.name].group for vm in made.inventory.vms if vm.host != wanted.get(vm.name, vm.host)}
        if not astray - pinned:
            break
        pinned |= astray
    _check(scenario, made, wanted, new)
    return text, made


def _written(
    scenario: Scenario,
    pinned: set[str],
    wanted: Mapping[str, str],
    factor: Mapping[str, float],
    new: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the author's scenario, with one entry per VM for groups that a plan splits."""
    data = scenario.as_written()
    members: dict[str, list[Vm]] = {}
    for vm in scenario.inventory.vms:
        members.setdefault(vm.group, []).append(vm)
    entries: dict[str, Any] = {}
    split: dict[str, list[str]] = {}
    for group, entry in data.get("vms", {}).items():
        own = members.get(group, [])
        places = {(wanted[vm.name], factor[vm.name]) for vm in own}
        if group not in pinned or not own:
            entries[group] = scaled(entry, factor[own[0].name]) if own else entry
        elif len(places) == 1:
            host, times = places.pop()
            entries[group] = {**scaled(entry, times), "host": host}
        else:
            split[group] = [vm.name for vm in own]
            for vm in own:
                label = {} if vm.label is None else {"label": vm.label}
                kept = {key: value for key, value in entry.items() if key not in ("count", "host", "label")}
                entries[vm.name] = {**label, **scaled(kept, factor[vm.name]), "host": wanted[vm.name]}
    data["vms"] = {**entries, **{name: dict(entry) for name, entry in new.items()}}
    for rule in data.get("rules") or []:
        rule["vms"] = [name for group in rule["vms"] for name in split.get(group, [group])]
    for name, cluster in (data.get("clusters") or {}).items():
        own = [vm for vm in scenario.inventory.vms if vm.cluster == name]
        data["clusters"][name] = scaled(cluster, {key: _together(own, key, factor) for key in VM_CPU.values()})
    return data


def scaled(entry: Mapping[str, Any], times: float | Mapping[str, float]) -> dict[str, Any]:
    """Return an entry of a VM or cluster with its measured MHz times a number, or times one number per key."""
    by = dict.fromkeys(VM_CPU.values(), times) if isinstance(times, float) else times
    measured = entry.get("measured") or {}
    changed = {key: round(measured[key] * by[key], 3) for key in by if key in measured and by[key] != 1}
    return {**entry, "measured": {**measured, **changed}} if changed else dict(entry)


def _together(vms: Sequence[Vm], key: str, factor: Mapping[str, float]) -> float:
    """Return the factor on a measured sum over VMs, from their own figures, else by their vCPUs."""
    weights = {vm.name: getattr(vm.measured, key) or 0.0 for vm in vms}
    if not any(weights.values()):
        weights = {vm.name: float(vm.vcpus) for vm in vms}
    whole = math.fsum(weights.values())
    return math.fsum(weight * factor[name] for name, weight in weights.items()) / whole if whole else 1.0


def _check(scenario: Scenario, made: Scenario, wanted: Mapping[str, str], new: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise AssertionError if the new scenario differs by more than the plan."""
    before, after = scenario.inventory, made.inventory
    added = {vm.name for vm in after.vms if vm.group in new}
    plain = {vm.name: _plain(vm, scenario.inventory.host[vm.host].cluster) for vm in before.vms}
    found = {vm.name: _plain(vm, vm.cluster) for vm in after.vms if vm.name not in added}
    assert found == plain, "a plan changes nothing of a VM but its host and measured MHz"
    assert all(vm.host == wanted[vm.name] for vm in after.vms if vm.name not in added), (
        "VMs are where the plan has them"
    )
    assert before.hosts == after.hosts, "a plan changes no host"
    assert [_unmeasured(each) for each in before.clusters] == [_unmeasured(each) for each in after.clusters], (
        "a plan changes nothing of a cluster but measured MHz"
    )
    assert [(each.name, sorted(each.vms)) for each in before.rules] == [
        (each.name, sorted(each.vms)) for each in after.rules
    ], "rules are about the same VMs"


def _plain(vm: Vm, cluster: str) -> Vm:
    return replace(_unmeasured(vm), host="", group="", host_is_given=True, cluster=cluster)


def _unmeasured(member: _Measured) -> _Measured:
    """Return a VM or cluster without its measured MHz."""
    none: dict[str, Any] = dict.fromkeys(VM_CPU.values())
    return replace(member, measured=replace(member.measured, **none))
