"""Powered-off VMs, powered on for a plan: the load of a cluster when all its VMs run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin.scenario import Scenario

PREFIX = "off-"
"""Prefix of a powered-off VM's name if a running VM has the same name."""

KEPT = ("label", "cluster", "guest_os", "source")
"""Keys that a powered-off VM shares with a running one, and that no run depends on, apart from its cluster."""

MEASURED = ("storage_provisioned", "storage_used", "snapshot_count")
"""Keys of a powered-off VM that a running one has as measured."""


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name for a powered-off VM that is not taken."""
    while name in taken:
        name = f"{PREFIX}{name}"
    return name


def with_off(scenario: Scenario) -> Scenario:
    """Return the scenario with its powered-off VMs powered on, without templates.

    Each VM is on a host of its cluster with room. Its demand was not measured. It uses the mean demand of its cluster
    by vCPUs and memory, and has the most common workload.
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
        name = free_name(vm.name, taken)
        taken.add(name)
        given = scenario.data["powered_off"][vm.name]
        measured = {key: given[key] for key in MEASURED if given.get(key) is not None}
        changes[f"vms.{name}"] = {
            "vcpus": vm.vcpus,
            "memory": f"{vm.memory_bytes} B",
            "workload": workload,
            **({"measured": measured} if measured else {}),
            **{key: given[key] for key in KEPT if given.get(key) is not None},
        }
        changes[f"powered_off.{vm.name}"] = None
    return scenarios.load(scenario, changes)
