"""Cluster as input of capacity: hosts, VMs, use of each resource by each VM, and spare hosts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from hypertwin.language import Host, Vm
from hypertwin.members import Cluster
from hypertwin.plan.capacity import demand
from hypertwin.plan.capacity.demand import Found, capacity_mhz
from hypertwin.plan.capacity.limits import Limits
from hypertwin.scenario import Scenario, space

Limited = Literal["cpu", "memory", "memory_consumed", "vcpu_ratio"]
Resource = Literal[Limited, "memory_active"]
"""Resource of a cluster: CPU in MHz, memory in bytes, or number of vCPUs."""

By = Literal["cpu", "memory", "cores"]
SPARE_BY: Mapping[Resource, By] = {
    "cpu": "cpu",
    "memory": "memory",
    "memory_consumed": "memory",
    "memory_active": "memory",
    "vcpu_ratio": "cores",
}
"""Measure of host size for each resource, which determines the hosts that fail."""


@dataclass(frozen=True)
class State:
    """Cluster with its limits and its demand."""

    cluster: Cluster
    limits: Limits
    hosts: Sequence[Host]
    vms: Sequence[Vm]
    cpu: Found | None
    consumed: Found | None
    active: Found | None
    imported: bool
    """True if the scenario was written by an import."""
    scenario: Scenario

    @staticmethod
    def of(scenario: Scenario, cluster: Cluster, limits: Limits) -> State:
        """Return the current state of a cluster of a scenario."""
        hosts = [host for host in scenario.inventory.hosts if host.cluster == cluster.name]
        vms = [vm for vm in scenario.inventory.vms if vm.cluster == cluster.name]
        return State(
            cluster,
            limits,
            hosts,
            vms,
            demand.cpu(scenario, cluster, vms, limits.demand),
            demand.consumed(scenario, cluster, vms, limits.demand),
            demand.active(vms),
            demand.is_imported(scenario),
            scenario,
        )

    @property
    def on_average(self) -> State:
        """State with the mean as the statistic of demand."""
        if self.limits.demand == "mean":
            return self
        return State.of(self.scenario, self.cluster, replace(self.limits, demand="mean"))

    @property
    def guests(self) -> list[Vm]:
        """VMs that can run on any host."""
        return [vm for vm in self.vms if not vm.storage_appliance]

    @cached_property
    def for_vms(self) -> State:
        """State with only the hosts where some VM can run, by its size, its hypervisor and the deployment of its pools.

        Hosts for storage alone, or outside the pools of all VMs, are left out. Without VMs, all hosts count.
        """
        guests = self.guests
        groups = {group for vm in guests for group in vm.host_groups}
        used = {vm.host for vm in guests}
        hosts = [host for host in self.hosts if not guests or host.group in groups or host.name in used]
        kept = {host.name for host in hosts}
        return replace(self, hosts=hosts, vms=[vm for vm in self.vms if vm.host in kept])

    @property
    def restarting(self) -> list[Vm]:
        """VMs that HA restarts on another host if their host fails."""
        return [vm for vm in self.guests if vm.restart_priority != "disabled" and not vm.stays_on_host]

    def reserved_memory(self, vm: Vm) -> int:
        """Return the reserved memory of a VM. Huge pages count as reserved, because no host reclaims them."""
        if self.scenario.data["vms"][vm.group].get("huge_pages"):
            return vm.memory_bytes
        return vm.memory_reservation_bytes

    @cached_property
    def used(self) -> Mapping[Resource, Mapping[str, float]]:
        """Use of each resource by each VM. Resources of unknown demand are not included.

        CPU includes the work of the hypervisor for a VM, by the share of the host that the VM is on. This share moves
        with the VM, so after a failure and in plans it is the same on every host.
        """
        found: dict[Resource, Mapping[str, float]] = {
            "memory": {vm.name: float(vm.memory_bytes) for vm in self.vms},
            "vcpu_ratio": {vm.name: float(vm.vcpus) for vm in self.vms},
        }
        if self.cpu is not None:
            of = self.cpu.of_vm
            found["cpu"] = {vm.name: of[vm.name] * (1 + self.own_cpu[vm.host]) for vm in self.vms}
        if self.consumed is not None:
            found["memory_consumed"] = self.consumed.of_vm
        if self.active is not None:
            found["memory_active"] = self.active.of_vm
        return found

    @cached_property
    def rooms(self) -> Mapping[str, space.Room]:
        """Capacity of each pool of the scenario, which other clusters can share."""
        return space.rooms(self.scenario)

    @cached_property
    def stored(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """Bytes stored by VMs of the scenario, by name, pool and policy."""
        return space.stored_by_vm(self.scenario)

    @cached_property
    def spare(self) -> Mapping[By, Sequence[Host]] | None:
        """Spare hosts by measure of size, or None if no host would be left."""
        if self.limits.failures >= len(self.hosts):
            return None
        memory: Resource = "memory" if self.consumed is None else "memory_consumed"
        resources: Mapping[By, Resource] = {"cpu": "cpu", "memory": memory, "cores": "vcpu_ratio"}
        return {by: self._missed(resource) for by, resource in resources.items()}

    def capacity(self, host: Host, resource: Resource) -> float:
        """Return the capacity of a host in a resource. CPU is scaled by the speed of cores."""
        by = SPARE_BY[resource]
        if by == "memory":
            return float(host.memory_bytes)
        return self.limits.speed * (capacity_mhz(host) * host.work_per_cycle if by == "cpu" else host.cores)

    def room(self, host: Host, resource: Resource) -> float:
        """Return the capacity of a host for VMs within the limits."""
        whole = self.capacity(host, resource)
        if resource == "cpu":
            return self.limits.cpu * whole
        if resource == "vcpu_ratio":
            return (self.limits.vcpu_ratio or 0.0) * whole
        return self.limits.memory * whole - self.own[host.name]

    @cached_property
    def own(self) -> Mapping[str, float]:
        """Memory of each host that VMs cannot use, because the hypervisor and storage use it."""
        return demand.own_memory(self.scenario, self.hosts, self.consumed)

    @cached_property
    def own_cpu(self) -> Mapping[str, float]:
        """CPU of the hypervisor per CPU of its VMs, by host."""
        return demand.own_cpu(self.scenario, self.hosts)

    @cached_property
    def usual_own_cpu(self) -> float:
        """CPU of all hypervisors per CPU of all VMs, which is that of further VMs."""
        alone = self.cpu.value if self.cpu is not None else 0.0
        return sum(self.used["cpu"].values()) / alone - 1 if alone else 0.0

    def fixed(self, resource: Resource) -> Mapping[str, float]:
        """Return the use of a resource by storage appliances, by host."""
        taken: defaultdict[str, float] = defaultdict(float)
        used = self.used.get(resource, {})
        for vm in self.vms:
            if vm.storage_appliance:
                taken[vm.host] += used.get(vm.name, 0.0)
        return taken

    def parts(self, resource: Resource, gone: Sequence[Host] = ()) -> tuple[float, float] | None:
        """Return the use of a resource, and its capacity on the remaining hosts, or None if unknown.

        Hypervisor memory counts as consumed memory. Configured and active memory cover VMs alone.
        """
        used, without = self.used.get(resource), {host.name for host in gone}
        left = [host for host in self.hosts if host.name not in without]
        if used is None or not left:
            return None
        taken = sum(used[vm.name] for vm in self.vms if not (vm.storage_appliance and vm.host in without))
        if resource == "memory_consumed":
            taken += sum(self.own[host.name] for host in left)
        return taken, sum(self.capacity(host, resource) for host in left)

    def degraded(self, resource: Resource) -> tuple[float, float] | None:
        """Return use and capacity without the spare hosts, or None if unknown or if no host would be left."""
        return None if self.spare is None else self.parts(resource, self.spare[SPARE_BY[resource]])

    def _missed(self, resource: Resource) -> list[Host]:
        """Return the hosts whose failure leaves the highest use.

        These are large hosts with little memory of the hypervisor and little load of appliances, which stop with them.
        How far one outweighs the other depends on the use that is left. So they are ranked again until it is highest.
        """
        size = {host.name: self.capacity(host, resource) for host in self.hosts}
        own = self.own if SPARE_BY[resource] == "memory" else dict.fromkeys(size, 0.0)
        fixed = self.fixed(resource)
        stops = {name: own[name] + fixed.get(name, 0.0) for name in size}
        taken = math.fsum([*self.used.get(resource, {}).values(), *own.values()])
        part = taken / math.fsum(size.values())
        while True:
            ranked = sorted(self.hosts, key=lambda host: (stops[host.name] - part * size[host.name], -size[host.name]))
            gone, left = ranked[: self.limits.failures], ranked[self.limits.failures :]
            more = taken - math.fsum(stops[host.name] for host in gone)
            more /= math.fsum(size[host.name] for host in left)
            if more <= part:
                return gone
            part = more
