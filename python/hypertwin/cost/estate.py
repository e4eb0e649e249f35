"""Hosts and VMs whose licences and costs are counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hosts:
    """Equal hosts of a cluster."""

    name: str
    """Name of the host type. The file of prices has this name under `hosts`."""
    count: int
    """Number of hosts."""
    processors: int
    """CPUs (sockets) of a host."""
    cores: int
    """Physical cores of a host, all CPUs together."""
    raw_tib: float
    """Raw storage capacity of a host, in TiB. 0 without local storage."""
    rack_units: float | None = None
    """Rack units of a host, or None if unknown."""


@dataclass(frozen=True)
class Vm:
    """A VM."""

    name: str
    label: str
    """Name in the source system."""
    vcpus: int
    guest_os: str | None = None
    """Guest operating system as the source system names it, or None if unknown."""
    products: tuple[str, ...] = ()
    """Licensed products in the guest, such as `sql-server` and `oracle-database`."""


@dataclass(frozen=True)
class Cluster:
    """Hosts between which VMs can move."""

    name: str
    hosts: tuple[Hosts, ...]
    vms: tuple[Vm, ...]
    merged: tuple[str, ...] = ()
    """Names of the clusters that were merged into it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and the names of the clusters that were merged into it."""
        return (self.name, *self.merged)

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return sum(hosts.count for hosts in self.hosts)


@dataclass(frozen=True)
class Estate:
    """Clusters whose costs are counted together."""

    clusters: tuple[Cluster, ...]

    @property
    def host_count(self) -> int:
        """Number of hosts of all clusters."""
        return sum(cluster.host_count for cluster in self.clusters)
