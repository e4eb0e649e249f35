"""Configured memory of each host, and the host that VMs of a group overfill most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypertwin.scenario import Scenario

GIB = 1 << 30


@dataclass(frozen=True)
class HostMemory:
    """Memory of a host, in bytes."""

    host: str
    cluster: str
    size: int
    configured: int
    """Configured memory of the VMs on the host plus memory of the hypervisor, in bytes."""
    groups: frozenset[str]
    """Names of the groups of the VMs on the host."""

    @property
    def pct(self) -> float:
        """Configured memory, in per cent of the memory of the host."""
        return 100 * self.configured / self.size

    @property
    def text(self) -> str:
        """Configured and physical memory in words: `17 GiB of 16 GiB, 106.2 %`."""
        return f"{_gib(self.configured)} of {_gib(self.size)}, {self.pct:,.1f} %"


def of_hosts(scenario: Scenario) -> Mapping[str, HostMemory]:
    """Return the memory of every host, by name, with VMs where the scenario places them."""
    inventory = scenario.inventory
    configured = {host.name: host.hypervisor_memory_bytes for host in inventory.hosts}
    groups: dict[str, set[str]] = {host.name: set() for host in inventory.hosts}
    for vm in inventory.vms:
        configured[vm.host] += vm.memory_bytes
        groups[vm.host].add(vm.group)
    return {
        host.name: HostMemory(
            host.name, host.cluster, host.memory_bytes, configured[host.name], frozenset(groups[host.name])
        )
        for host in inventory.hosts
    }


def fullest(hosts: Mapping[str, HostMemory], group: str) -> HostMemory:
    """Return the host with the highest share of configured memory, in the clusters with VMs of `group`."""
    clusters = {host.cluster for host in hosts.values() if group in host.groups}
    return max((host for host in hosts.values() if host.cluster in clusters), key=lambda host: host.pct)


def exceeded(
    hosts: Mapping[str, HostMemory], without: Mapping[str, HostMemory], group: str, overcommit: float
) -> HostMemory | None:
    """Return the host whose memory VMs of `group` exceed most, directly or because they displace others.

    `without` is the memory of hosts without the group, `overcommit` the allowed ratio of configured to physical memory.
    A host that is overfilled without the group does not count if the group has no part in it.
    """
    over = [
        host
        for host in hosts.values()
        if host.configured > overcommit * host.size
        and (group in host.groups or host.configured > without[host.host].configured)
    ]
    return max(over, key=lambda host: host.pct, default=None)


def _gib(size: int) -> str:
    return f"{size / GIB:,.4g} GiB"
