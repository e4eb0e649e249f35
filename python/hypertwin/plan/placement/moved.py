"""The scenario after a plan, for `simulate`, `capacity` and `diagnose`.

The author's text stays, except comments. A group with VMs on different hosts becomes one entry per VM, under its name
in reports (`db-1`). Rules that name the group then name its VMs. The result is read again: its inventory differs only
in hosts of VMs, groups and new VMs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.language import Vm
from hypertwin.plan.placement.problem import NOWHERE, Ints, Problem
from hypertwin.scenario import Scenario

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
    comment: str = "",
) -> tuple[str, Scenario]:
    """Return the scenario with VMs on the named hosts, as YAML and as a parsed scenario.

    `new` has the entries of VMs that the scenario does not contain. Other VMs are not moved. Raises ScenarioError if
    one entry per VM
    makes the scenario exceed its limits.
    """
    wanted = {vm.name: hosts.get(vm.name, vm.host) for vm in scenario.inventory.vms}
    old = {vm.name: vm for vm in scenario.inventory.vms}
    moving = [old[name] for name, host in hosts.items() if name in old and old[name].host != host]
    pinned = {vm.group for vm in moving if vm.group in scenario.data["vms"]}
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    while True:
        text = head + to_yaml(_written(scenario, pinned, wanted, new))
        made = scenarios.loads(text, file=NAME)
        # who has no host of its own is spread over what is left, which pinning others changes
        astray = {old[vm.name].group for vm in made.inventory.vms if vm.host != wanted.get(vm.name, vm.host)}
        if not astray - pinned:
            break
        pinned |= astray
    _check(scenario, made, wanted, new)
    return text, made


def _written(
    scenario: Scenario, pinned: set[str], wanted: Mapping[str, str], new: Mapping[str, Mapping[str, Any]]
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
        places = {wanted[vm.name] for vm in own}
        if group not in pinned or not own:
            entries[group] = entry
        elif len(places) == 1:
            entries[group] = {**entry, "host": places.pop()}
        else:
            split[group] = [vm.name for vm in own]
            for vm in own:
                label = {} if vm.label is None else {"label": vm.label}
                kept = {key: value for key, value in entry.items() if key not in ("count", "host", "label")}
                entries[vm.name] = {**label, **kept, "host": wanted[vm.name]}
    data["vms"] = {**entries, **{name: dict(entry) for name, entry in new.items()}}
    for rule in data.get("rules") or []:
        rule["vms"] = [name for group in rule["vms"] for name in split.get(group, [group])]
    return data


def _check(scenario: Scenario, made: Scenario, wanted: Mapping[str, str], new: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise AssertionError if the new scenario differs by more than the plan."""
    before, after = scenario.inventory, made.inventory
    added = {vm.name for vm in after.vms if vm.group in new}
    plain = {vm.name: _plain(vm, scenario.inventory.host[vm.host].cluster) for vm in before.vms}
    found = {vm.name: _plain(vm, vm.cluster) for vm in after.vms if vm.name not in added}
    assert found == plain, "a plan changes nothing of a VM but its host"
    assert all(vm.host == wanted[vm.name] for vm in after.vms if vm.name not in added), (
        "VMs are where the plan has them"
    )
    assert (before.hosts, before.clusters) == (after.hosts, after.clusters), "a plan changes no host"
    assert [(each.name, sorted(each.vms)) for each in before.rules] == [
        (each.name, sorted(each.vms)) for each in after.rules
    ], "rules are about the same VMs"


def _plain(vm: Vm, cluster: str) -> Vm:
    return replace(vm, host="", group="", host_is_given=True, cluster=cluster)
