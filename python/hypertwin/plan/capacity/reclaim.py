"""Reclaimable capacity: unused vCPUs and memory, idle and powered-off VMs, templates and snapshots.

A VM needs its demand plus 20 % headroom, with vCPUs and GiB rounded up. AWS Compute Optimizer uses the same headroom
for CPU and memory by default. CPU demand is the 95th percentile, or the peak on request. A mean or a single sample
proves nothing about the rest of the time, so its results are listed separately. For memory, only the mean of active
memory is known, which misses caches that a guest seldom reads.
https://docs.aws.amazon.com/compute-optimizer/latest/ug/rightsizing-preferences.html A VM is idle if its CPU stays below
5 % of its vCPUs, or of its CPU limit. This is our own choice. Azure Advisor recommends to shut a VM down below 3 %
(95th percentile), AWS Trusted Advisor below 10 % (mean of a day). Both also require almost no network traffic, which
is not checked here. CPU use does not show if a VM is needed. https://learn.microsoft.com/azure/advisor/advisor-cost-recommendations
https://docs.aws.amazon.com/awssupport/latest/user/cost-optimization-checks.html
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from hypertwin.documents import capacity as documents
from hypertwin.language import Inventory, Vm
from hypertwin.members import PoweredOff
from hypertwin.metrics.words import count
from hypertwin.plan.capacity import room
from hypertwin.plan.capacity.demand import most_mhz, span
from hypertwin.plan.capacity.state import Resource, State

GIB = 2**30
TARGET = 0.8
"""Fraction of vCPUs and memory that demand can use."""
IDLE = 0.05
"""Fraction of its vCPUs, or of its CPU limit if that is less, below which a VM is idle."""
WEEK_S = 7 * 86_400
"""Number of seconds of a week. A shorter measurement might miss weekly jobs."""


@dataclass(frozen=True)
class Need:
    """Needs of a powered-on VM for CPU and memory."""

    vm: Vm
    vcpus: int
    memory_bytes: int | None
    """Memory that the VM needs in bytes, or None if its active memory is unknown."""
    idle: bool
    sustained: bool
    peak: bool
    """True if the need is based on the peak CPU demand, false for the 95th percentile."""

    @property
    def spare_vcpus(self) -> int:
        """Number of vCPUs that the VM does not need."""
        return self.vm.vcpus if self.idle else self.vm.vcpus - self.vcpus

    @property
    def spare_bytes(self) -> int | None:
        """Memory in bytes that the VM does not need, or None if unknown."""
        if self.idle:
            return self.vm.memory_bytes
        return None if self.memory_bytes is None else self.vm.memory_bytes - self.memory_bytes

    @property
    def is_oversized(self) -> bool:
        """True if the VM has more than it needs, and is not idle."""
        return not self.idle and (self.spare_vcpus > 0 or bool(self.spare_bytes))


@dataclass(frozen=True)
class Found:
    """Reclaimable capacity of a cluster, with its VMs."""

    document: documents.Reclaimable
    vms: Sequence[documents.ReclaimableVm]
    needs: Sequence[Need] = ()
    """Needs of the VMs that have measurements."""


def reclaim(state: State, inventory: Inventory) -> Found:
    """Return the reclaimable capacity of a cluster. Storage appliances are not reduced."""
    clock = {host.name: host.clock_hz / 1e6 for host in state.hosts}
    peak = state.limits.demand == "peak"
    needs = [need for vm in state.guests if (need := _need(vm, clock[vm.host], peak)) is not None]
    proven = [need for need in needs if need.sustained]
    others = [need for need in needs if not need.sustained]
    off = off_of(inventory, state.cluster.name)
    now = room.hosts_to_spare(state)
    document: documents.Reclaimable = {
        "judged": len(proven),
        "sustained": _unused(state, proven, now),
        "sample": _unused(state, others, now),
        "idle": _group(need.vm for need in proven if need.idle),
        "idle_in_sample": _group(need.vm for need in others if need.idle),
        "off": _group(each for each in off if not each.template),
        "templates": _group(each for each in off if each.template),
        "snapshots": _snapshots(state.vms),
        "hosts_spare": now,
        "basis": _basis(needs),
    }
    return Found(document, [*_running(state, {need.vm.name: need for need in needs}), *map(_off, off)], needs)


def off_of(inventory: Inventory, cluster: str) -> list[PoweredOff]:
    """Return the powered-off VMs and templates of a cluster.

    If there is only one cluster, VMs and templates without a cluster are included.
    """
    alone = len(inventory.clusters) == 1
    return [each for each in inventory.powered_off if each.cluster == cluster or (alone and not each.cluster)]


def of_no_cluster(inventory: Inventory) -> Found:
    """Return the powered-off VMs whose cluster is unknown."""
    alone = len(inventory.clusters) == 1
    off = [
        each for each in inventory.powered_off if each.cluster not in inventory.cluster and (each.cluster or not alone)
    ]
    document: documents.Reclaimable = {
        "judged": 0,
        "sustained": None,
        "sample": None,
        "idle": _group(()),
        "idle_in_sample": _group(()),
        "off": _group(each for each in off if not each.template),
        "templates": _group(each for each in off if each.template),
        "snapshots": _snapshots(()),
        "hosts_spare": 0,
        "basis": "",
    }
    return Found(document, list(map(_off, off)))


def listed(found: Iterable[Found]) -> list[documents.ReclaimableVm]:
    """Return the VMs of all clusters, those with the most reclaimable memory first."""
    return sorted(
        (vm for each in found for vm in each.vms),
        key=lambda vm: (vm["memory_needed_gib"] or 0.0 if vm["state"] == "oversized" else 0.0) - vm["memory_gib"],
    )


def together(found: Sequence[Found]) -> documents.Reclaimable:
    """Return the reclaimable capacity of several clusters."""
    all_of = [each.document for each in found]
    oldest = [each["snapshots"]["oldest"] for each in all_of if each["snapshots"]["oldest"] is not None]
    return {
        "judged": sum(each["judged"] for each in all_of),
        "sustained": _added([each["sustained"] for each in all_of]),
        "sample": _added([each["sample"] for each in all_of]),
        "idle": _grouped([each["idle"] for each in all_of]),
        "idle_in_sample": _grouped([each["idle_in_sample"] for each in all_of]),
        "off": _grouped([each["off"] for each in all_of]),
        "templates": _grouped([each["templates"] for each in all_of]),
        "snapshots": {
            "vms": sum(each["snapshots"]["vms"] for each in all_of),
            "count": sum(each["snapshots"]["count"] for each in all_of),
            "gib": _sum(each["snapshots"]["gib"] for each in all_of),
            "oldest": min(oldest, default=None),
        },
        "hosts_spare": _sum_int(each["hosts_spare"] for each in all_of),
        "basis": _basis([need for each in found for need in each.needs]),
    }


def _need(vm: Vm, clock_mhz: float, peak: bool) -> Need | None:
    """Return the needs of a VM, or None without measurements."""
    measured = vm.measured
    over_time = measured.cpu_peak_mhz if peak else measured.cpu_p95_mhz
    proven = over_time is not None and measured.over_s is not None
    mhz = over_time if proven else measured.cpu_mhz
    if mhz is None:
        return None
    active, most = measured.memory_active_bytes, most_mhz(vm, clock_mhz)
    # a limit hides the demand of a VM that is near it, so such a VM keeps its vCPUs
    vcpus = mhz if mhz <= TARGET * most else vm.vcpus * clock_mhz
    return Need(
        vm,
        min(vm.vcpus, max(1, math.ceil(vcpus / (TARGET * clock_mhz) - 1e-9))),
        None if active is None else min(vm.memory_bytes, max(1, math.ceil(active / TARGET / GIB - 1e-9)) * GIB),
        mhz < IDLE * most,
        proven,
        peak,
    )


def _unused(state: State, needs: Sequence[Need], now: int | None) -> documents.Unused | None:
    """Return the capacity that these VMs do not need, or None without VMs."""
    if not needs:
        return None
    spare = [need.spare_bytes for need in needs]
    after = room.hosts_to_spare(state, _after(state, {need.vm.name: need for need in needs}))
    return {
        "vms": sum(need.idle or need.is_oversized for need in needs),
        "vcpus": sum(need.spare_vcpus for need in needs),
        "memory_gib": None if all(each is None for each in spare) else sum(each or 0 for each in spare) / GIB,
        "hosts_freed": None if after is None or now is None else max(0, after - now),
    }


def _after(state: State, needs: Mapping[str, Need]) -> dict[Resource, dict[str, float]]:
    """Return the use by VMs after reclaiming: without idle VMs, and with the others reduced to their needs."""
    kept = [vm for vm in state.vms if not (vm.name in needs and needs[vm.name].idle)]
    used: dict[Resource, dict[str, float]] = {}
    for resource, taken in state.used.items():
        used[resource] = {vm.name: taken[vm.name] for vm in kept}
    for vm in kept:
        need = needs.get(vm.name)
        if need is not None:
            used["vcpu_ratio"][vm.name] = float(need.vcpus)
            if need.memory_bytes is not None:
                used["memory"][vm.name] = float(need.memory_bytes)
                if "memory_consumed" in used:
                    used["memory_consumed"][vm.name] = min(used["memory_consumed"][vm.name], float(need.memory_bytes))
    return used


def _basis(needs: Sequence[Need]) -> str:
    """Return the criteria, in sentences."""
    said = []
    proven, others = [need for need in needs if need.sustained], [need for need in needs if not need.sustained]
    if proven:
        shortest = min(need.vm.measured.over_s or 0.0 for need in proven)
        kinds = sorted({"peak" if need.peak else "95th percentile" for need in proven})
        said.append(
            f"{count(len(proven), 'VM')} by the {' or '.join(kinds)} of their CPU over at least {span(shortest)}, and"
            " the mean of their active memory."
        )
        if shortest < WEEK_S:
            said.append("That is less than a week, so weekly and monthly jobs might be missing.")
    if others:
        said.append(
            f"{count(len(others), 'VM')} by a single sample or a mean, which do not prove that capacity is never used."
        )
    if not said:
        said.append("No VM's demand was measured: use of powered-on VMs is unknown.")
    return " ".join(said)


def _running(state: State, needs: Mapping[str, Need]) -> Iterable[documents.ReclaimableVm]:
    for vm in state.vms:
        need, snapshots = needs.get(vm.name), vm.measured.snapshot_count or 0
        word = "idle" if need and need.idle else "oversized" if need and need.is_oversized else "snapshots"
        if word == "snapshots" and not snapshots:
            continue
        wanted = None if need is None else need.memory_bytes
        yield {
            "name": vm.label or vm.name,
            "cluster": vm.cluster,
            "state": cast(Literal["idle", "oversized", "snapshots"], word),
            "sustained": need.sustained if need is not None else True,
            "vcpus": vm.vcpus,
            "vcpus_needed": need.vcpus if need is not None else None,
            "memory_gib": vm.memory_bytes / GIB,
            "memory_needed_gib": None if wanted is None else wanted / GIB,
            "storage_gib": _gib(vm.measured.storage_used_bytes),
            "snapshots": snapshots,
            "snapshots_gib": _gib(vm.measured.snapshots_bytes),
            "oldest_snapshot": vm.measured.oldest_snapshot,
        }


def _off(vm: PoweredOff) -> documents.ReclaimableVm:
    return {
        "name": vm.label or vm.name,
        "cluster": vm.cluster,
        "state": "template" if vm.template else "off",
        "sustained": True,
        "vcpus": vm.vcpus,
        "vcpus_needed": None,
        "memory_gib": vm.memory_bytes / GIB,
        "memory_needed_gib": None,
        "storage_gib": _gib(vm.storage_used_bytes),
        "snapshots": 0,
        "snapshots_gib": None,
        "oldest_snapshot": None,
    }


def _group(vms: Iterable[Vm | PoweredOff]) -> documents.Group:
    """Return number, vCPUs and memory of a group of VMs."""
    members = list(vms)
    stored = [vm.measured.storage_used_bytes if isinstance(vm, Vm) else vm.storage_used_bytes for vm in members]
    return {
        "vms": len(members),
        "vcpus": sum(vm.vcpus for vm in members),
        "memory_gib": sum(vm.memory_bytes for vm in members) / GIB,
        "storage_gib": _gib(_sum(stored)),
    }


def _snapshots(vms: Sequence[Vm]) -> documents.Snapshots:
    """Return number and size of the snapshots of VMs."""
    having = [vm.measured for vm in vms if vm.measured.snapshot_count]
    return {
        "vms": len(having),
        "count": sum(each.snapshot_count or 0 for each in having),
        "gib": _gib(_sum(each.snapshots_bytes for each in having)),
        "oldest": min((each.oldest_snapshot for each in having if each.oldest_snapshot is not None), default=None),
    }


def _added(unused: Sequence[documents.Unused | None]) -> documents.Unused | None:
    known = [each for each in unused if each is not None]
    if not known:
        return None
    return {
        "vms": sum(each["vms"] for each in known),
        "vcpus": sum(each["vcpus"] for each in known),
        "memory_gib": _sum(each["memory_gib"] for each in known),
        "hosts_freed": _sum_int(each["hosts_freed"] for each in known),
    }


def _grouped(groups: Sequence[documents.Group]) -> documents.Group:
    return {
        "vms": sum(each["vms"] for each in groups),
        "vcpus": sum(each["vcpus"] for each in groups),
        "memory_gib": sum(each["memory_gib"] for each in groups),
        "storage_gib": _sum(each["storage_gib"] for each in groups),
    }


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of known values, or None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _sum_int(values: Iterable[int | None]) -> int | None:
    found = _sum(values)
    return None if found is None else int(found)


def _gib(size: float | None) -> float | None:
    return None if size is None else size / GIB
