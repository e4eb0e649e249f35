"""Powered-off VMs, powered on for a plan: the load of a cluster when all its VMs run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin.scenario import Scenario

PREFIX = "off-"
"""Prefix of a powered-off VM's name if a running VM has the same name."""


def with_off(scenario: Scenario) -> Scenario:
    """Return the scenario with its powered-off VMs powered on, without templates.

    Each VM is on a host of its cluster with room. It has no measurement, so it uses the mean demand of its cluster by
    vCPUs and memory, and has the most common workload.
    """
    off = [vm for vm in scenario.inventory.powered_off if not vm.template]
    groups = Counter(vm.group for vm in scenario.inventory.vms)
    usual: Counter[str] = Counter()
    for group, many in groups.items():
        usual[scenario.data["vms"][group]["workload"]] += many
    known = sorted(scenario.data["workloads"])
    workload = min(usual, key=lambda name: (-usual[name], name), default=next(iter(known), None))
    if not off or workload is None:
        return scenario
    taken = set(scenario.data["vms"])
    changes: dict[str, Any] = {}
    for vm in off:
        name = f"{PREFIX}{vm.name}" if vm.name in taken else vm.name
        entry: dict[str, Any] = {"vcpus": vm.vcpus, "memory": f"{vm.memory_bytes} B", "workload": workload}
        if vm.cluster is not None:
            entry["cluster"] = vm.cluster
        changes[f"vms.{name}"] = entry | ({"label": vm.label} if vm.label else {})
        changes[f"powered_off.{vm.name}"] = None
    return scenarios.load(scenario, changes)
