"""Scenario of the VMs on the target cluster: other hosts or the same ones, another hypervisor, other virtual devices.

The work of each VM stays the same. Options that the target does not have are dropped, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypertwin import scenario as scenarios
from hypertwin.errors import ScenarioError, fail
from hypertwin.language import assumed_hypervisor, hypervisors, pool_facts
from hypertwin.plan.refresh import candidate
from hypertwin.plan.refresh.present import Present
from hypertwin.scenario import Scenario, virtual_numa

CLUSTER = "target"
"""Name of the target cluster."""

FAMILY = "linux"
"""Hypervisor family of targets: Proxmox VE, OpenShift Virtualization and AHV are KVM on Linux."""

CONTROLLERS: Mapping[str, str] = {"pvscsi": "virtio-scsi", "lsi-sas": "virtio-scsi", "nvme": "virtio-scsi"}
"""Controller on the target, by the controller on ESXi. Others are kept."""

THREADED = ("virtio-scsi", "virtio-blk")
"""Controllers that get an I/O thread of their own."""

NOT_KEPT = ("affinity", "memory_shares")
"""Options of VMs that no target keeps, although a scenario of the target could have them."""

OF_DEVICES = ("ring_pages", "vdisk_depth", "queues")
"""Keys of VMs that describe devices of ESXi, and get the defaults of the target."""

OF_HOST = ("count", "cluster", "label", "measured", "evc", "evc_most", "scheduler", "overhead", "reclamation")
"""Keys of reused hosts that describe ESXi or their measurements."""

MAX_ROUNDS = 5
"""Maximum number of times that options are dropped, because a dropped option can reveal another one."""


@dataclass(frozen=True)
class Arrival:
    """VMs on the target."""

    scenario: Scenario
    data: Mapping[str, Any]
    """The scenario as it is written."""
    groups: tuple[str, ...]
    """Host groups of the target, in order."""
    dropped: tuple[str, ...]
    """Options of VMs and hosts that the target does not have, as paths."""


def target_hosts(given: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the hosts of a target scenario as entries, and its storage sections.

    Raises ScenarioError if it has no host, or a host with a hypervisor that is none of a target.
    """
    data = given.as_written()
    for host in given.inventory.hosts:
        if host.family != FAMILY:
            path = f"hosts.{host.group}.hypervisor"
            known = ", ".join(name for name, each in hypervisors().items() if each.family == FAMILY)
            fail(
                "one-of",
                path,
                host.hypervisor,
                known,
                "describe the hosts as they are after the move",
                given.path or "",
            )
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
    return hosts, storage(given)


def storage(scenario: Scenario) -> dict[str, Any]:
    """Return the storage sections of a scenario."""
    data = scenario.as_written()
    return {key: data[key] for key in ("arrays", "devices", "storage") if data.get(key)}


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
            "hypervisor": assumed_hypervisor(FAMILY),
        }
        for group, count in many.items()
    }


def foreign_pools(scenario: Scenario) -> list[str]:
    """Return the names of pools that no target can have: products that are part of the hypervisor."""
    if not scenario.data.get("storage"):
        return []
    return [name for name, facts in pool_facts(scenario.json).items() if facts.in_kernel]


def arrival(
    present: Present,
    hosts: Mapping[str, Any],
    sections: Mapping[str, Any],
    speeds: Mapping[str, float],
    theirs: Mapping[str, float] | None = None,
    *,
    same: bool = False,
) -> Arrival:
    """Return the VMs of all clusters on target hosts. Raises ScenarioError.

    `speeds` has the work per cycle of present host groups, and `theirs` that of target host groups (default: the same).
    With `same`, hypervisor and devices stay.
    """
    vms, workloads = entries(present, speeds, bound=same)
    if not same:
        with_hypervisor(present, vms)
    if sections != storage(present.scenario):
        with_storage(vms, sections)
    if not same:
        with_devices(vms)
    made = assembled(present, hosts, vms, workloads, sections, speeds if theirs is None else theirs)
    scenario, dropped = _without_foreign(made)
    return Arrival(scenario, made, tuple(hosts), (*(() if same else not_kept(present, vms)), *dropped))


def entries(
    present: Present, speeds: Mapping[str, float], *, bound: bool = False
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the VMs of all clusters as entries without hosts, and their workloads.

    With `bound`, they are as on their present hosts, with storage appliances.
    """
    names = [state.cluster.name for state in present.states]
    return candidate.entries(present, CLUSTER, names, speeds, bound=bound)


def not_kept(present: Present, vms: Mapping[str, Any]) -> list[str]:
    """Return the paths of options that no target keeps."""
    written = present.scenario.as_written()["vms"]
    return [f"vms.{group}.{key}" for group in vms for key in NOT_KEPT if key in written.get(group, {})]


def assembled(
    present: Present,
    hosts: Mapping[str, Any],
    vms: Mapping[str, Any],
    workloads: Mapping[str, Any],
    sections: Mapping[str, Any],
    speeds: Mapping[str, float],
) -> dict[str, Any]:
    """Return a scenario of VMs on hosts. `speeds` has the work per cycle of these hosts."""
    data = present.scenario.as_written()
    return {
        "name": str(data["name"]),
        **({"description": data["description"]} if "description" in data else {}),
        "run": data.get("run") or {},
        "hosts": {
            name: {**entry, "cluster": CLUSTER, "work_per_cycle": speeds.get(name, 1.0)}
            for name, entry in hosts.items()
        },
        "vms": {name: dict(entry) for name, entry in vms.items()},
        "workloads": workloads,
        **sections,
        "rules": candidate.rules(data, vms, hosts),
    }


def with_hypervisor(present: Present, vms: Mapping[str, dict[str, Any]]) -> None:
    """Set what the hypervisor of the target needs: the virtual NUMA nodes that VMs have now, and their controllers."""
    layouts = virtual_numa.layouts(present.scenario)
    first = {vm.group: vm for vm in reversed([vm for state in present.states for vm in state.vms])}
    options = {host.name: host.options for host in present.hosts}
    for group, entry in vms.items():
        vm = first[present.grown.get(group, group)]
        entry.pop("numa", None)
        entry.pop("memory_shares", None)
        nodes = layouts[vm.name]["vpds"]
        if len(nodes) > 1:
            entry["numa"] = {"cells": list(nodes)}
        own = options[vm.host]
        if _has_storage(entry) and own.virtualises and own.family != FAMILY:
            entry.setdefault("controller", own.controllers[0])


def with_devices(vms: Mapping[str, dict[str, Any]]) -> None:
    """Set the virtual devices of the target."""
    for entry in vms.values():
        for key in OF_DEVICES:
            entry.pop(key, None)
        if entry.get("controller") in CONTROLLERS:
            entry["controller"] = CONTROLLERS[entry["controller"]]
        if _has_storage(entry) and entry.setdefault("controller", "virtio-scsi") in THREADED:
            entry["io_threads"] = 1


def with_storage(vms: Mapping[str, dict[str, Any]], sections: Mapping[str, Any]) -> None:
    """Put the disks of VMs on the storage of the target: on its pool, otherwise on its array, if their own is gone."""
    pools, arrays = list(sections.get("storage") or {}), list(sections.get("arrays") or {})
    for entry in vms.values():
        for key, known in (("storage", pools), ("array", arrays)):
            if entry.get(key) is not None and entry[key] not in known:
                del entry[key]
                entry.pop("policy", None)
                entry.pop("vdisk_policies", None)
        if not _has_storage(entry) and (pools or arrays):
            entry["storage" if pools else "array"] = (pools or arrays)[0]
        if not _has_storage(entry):
            for key in ("controller", "io_threads"):
                entry.pop(key, None)


def _has_storage(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("storage") or entry.get("array"))


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
                drop(made, path)
            dropped += foreign
    return scenarios.load(made), tuple(dropped)


def drop(made: Mapping[str, Any], path: str) -> None:
    """Remove a key of a scenario, if it has the key."""
    *parents, last = path.split(".")
    here: Any = made
    for key in parents:
        here = here.get(key, {})
    here.pop(last, None)
