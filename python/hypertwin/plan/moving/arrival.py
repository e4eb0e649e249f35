"""Scenario of the VMs on the target cluster: other hosts or the same ones, another hypervisor, other virtual devices.

The work of each VM stays the same. Options that the target does not have are dropped, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin import virtual_numa
from hypertwin.errors import ScenarioError, fail
from hypertwin.plan.refresh import candidate
from hypertwin.plan.refresh.present import Present
from hypertwin.scenario import Scenario

CLUSTER = "target"
"""Name of the target cluster."""

HYPERVISOR = "linux-6.12"
"""Hypervisor of reused hosts: the newest Linux. Proxmox VE, OpenShift Virtualization and AHV are KVM on Linux."""

CONTROLLERS: Mapping[str, str] = {"pvscsi": "virtio-scsi", "lsi-sas": "virtio-scsi", "nvme": "virtio-scsi"}
"""Controller on the target, by the controller on ESXi. Others are kept."""

OF_ESXI = ("ring_pages", "vdisk_depth", "queues", "numa", "memory_shares")
"""Keys of VMs that describe devices and settings of ESXi, and get the defaults of the target."""

OF_HOST = ("count", "cluster", "label", "measured", "evc", "evc_most", "scheduler", "overhead", "reclamation")
"""Keys of reused hosts that describe ESXi or their measurements."""

MAX_ROUNDS = 5
"""Maximum number of times that options are dropped, because a dropped option can reveal another one."""


@dataclass(frozen=True)
class Arrival:
    """VMs on the target."""

    scenario: Scenario
    groups: tuple[str, ...]
    """Host groups of the target, in order."""
    dropped: tuple[str, ...]
    """Options of VMs and hosts that the target does not have, as paths."""


def target_hosts(given: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the hosts of a target scenario as entries, and its storage sections.

    Raises ScenarioError if it has no host.
    """
    data = given.as_written()
    hosts = {
        name: {key: value for key, value in entry.items() if key != "cluster"} for name, entry in data["hosts"].items()
    }
    if not given.inventory.hosts:
        fail(
            "missing-key",
            "hosts",
            "(missing)",
            "at least one host",
            "describe the hosts of the target",
            given.path or "",
        )
    sections = {key: data[key] for key in ("arrays", "devices", "storage") if data.get(key)}
    return hosts, sections


def reused_hosts(present: Present) -> dict[str, Any]:
    """Return the present hosts as entries with the hypervisor of the target."""
    data = present.scenario.as_written()
    many: dict[str, int] = {}
    for host in present.hosts:
        many[host.group] = many.get(host.group, 0) + 1
    return {
        group: {
            **{key: value for key, value in data["hosts"][group].items() if key not in OF_HOST},
            "count": count,
            "hypervisor": HYPERVISOR,
        }
        for group, count in many.items()
    }


def arrival(
    present: Present,
    hosts: Mapping[str, Any],
    sections: Mapping[str, Any],
    speeds: Mapping[str, float],
    *,
    same: bool = False,
) -> Arrival:
    """Return the VMs of all clusters on target hosts. Raises ScenarioError.

    `speeds` has the work per cycle of present and target host groups. With `same`, hypervisor and devices stay.
    """
    data = present.scenario.as_written()
    names = [state.cluster.name for state in present.states]
    vms, workloads = candidate.entries(present, CLUSTER, names, speeds)
    if not same:
        _convert(present, vms)
    _attach(vms, sections)
    made: dict[str, Any] = {
        "name": str(data["name"]),
        **({"description": data["description"]} if "description" in data else {}),
        "run": data.get("run") or {},
        "hosts": {
            name: {**entry, "cluster": CLUSTER, "work_per_cycle": speeds.get(name, 1.0)}
            for name, entry in hosts.items()
        },
        "vms": vms,
        "workloads": workloads,
        **sections,
        "rules": candidate.rules(data, vms, hosts),
    }
    scenario, dropped = _without_foreign(made)
    return Arrival(scenario, tuple(hosts), dropped)


def _convert(present: Present, vms: Mapping[str, dict[str, Any]]) -> None:
    """Set the devices of the target, and keep the virtual NUMA nodes that VMs have now."""
    layouts = virtual_numa.layouts(present.scenario)
    first = {vm.group: vm.name for vm in reversed(present.vms)}
    for group, entry in vms.items():
        for key in OF_ESXI:
            entry.pop(key, None)
        nodes = layouts[first[present.grown.get(group, group)]]["vpds"]
        if len(nodes) > 1:
            entry["numa"] = {"cells": list(nodes)}
        if entry.get("controller") in CONTROLLERS:
            entry["controller"] = CONTROLLERS[entry["controller"]]
        if entry.get("array") or entry.get("storage"):
            entry.setdefault("controller", "virtio-scsi")
            entry["io_threads"] = 1


def _attach(vms: Mapping[str, dict[str, Any]], sections: Mapping[str, Any]) -> None:
    """Put the disks of VMs on the storage of the target: on its pool, otherwise on its array, if their own is gone."""
    pools, arrays = list(sections.get("storage") or {}), list(sections.get("arrays") or {})
    for entry in vms.values():
        for key, known in (("storage", pools), ("array", arrays)):
            if entry.get(key) is not None and entry[key] not in known:
                del entry[key]
                entry.pop("policy", None)
                entry.pop("vdisk_policies", None)
        if "storage" not in entry and "array" not in entry and (pools or arrays):
            entry["storage" if pools else "array"] = (pools or arrays)[0]
        if "storage" not in entry and "array" not in entry:
            for key in ("controller", "io_threads"):
                entry.pop(key, None)


def _without_foreign(made: dict[str, Any]) -> tuple[Scenario, tuple[str, ...]]:
    """Return the scenario without options that its hypervisors do not have, and the paths of these options."""
    dropped: list[str] = []
    for _ in range(MAX_ROUNDS):
        try:
            return scenarios.load(made), tuple(dropped)
        except ScenarioError as error:
            foreign = [each.path for each in error.mistakes if each.code == "wrong-hypervisor"]
            if len(foreign) < len(error.mistakes):
                raise
            for path in foreign:
                _drop(made, path)
            dropped += foreign
    return scenarios.load(made), tuple(dropped)


def _drop(made: dict[str, Any], path: str) -> None:
    *parents, last = path.split(".")
    here: Any = made
    for key in parents:
        here = here[key]
    here.pop(last, None)
