"""Subjects of findings and rules: clusters, hosts, VMs, and the load of a VM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hypertwin import language
from hypertwin.diagnosis.evidence import Stat
from hypertwin.ingest import telemetry


@dataclass(frozen=True)
class Subject:
    """The subject of a finding."""

    kind: str
    """`cluster`, `host`, `vm`, `guest`, `device` or `datastore`."""
    name: str
    """Name in its own system."""
    path: str
    """Entity in the telemetry; without telemetry, a path of the same form, built from names."""
    host: str | None = None
    """Name of its host; for a host, its own name."""
    cluster: str | None = None
    """Name of its cluster; for a cluster, its own name. None if unknown."""

    @staticmethod
    def of_guest(path: str, host: str | None = None) -> Subject:
        """A measured guest."""
        return Subject("guest", telemetry.names(path)["guest"], path, host)

    @staticmethod
    def of_device(path: str) -> Subject:
        """A device, adapter or disk."""
        names = telemetry.names(path)
        inside = names.get("vm") or names.get("guest")
        name = names[path.split("/")[-2]]
        return Subject("device", f"{inside} {name}" if inside else name, path, names.get("host"))


@dataclass(eq=False)
class Cluster:
    """Hosts between which VMs can move."""

    name: str
    """Name in its own system."""
    key: str | None = None
    """Name in the scenario; None for hosts and VMs outside the cluster file, whose cluster is unknown."""
    facts: language.Cluster | None = None
    """Entry in the scenario."""
    hosts: list[Host] = field(default_factory=list)
    vms: list[Vm] = field(default_factory=list)

    @cached_property
    def is_placed(self) -> bool:
        """True if the host of each of its VMs is known."""
        return all(vm.host is not None for vm in self.vms)

    @property
    def subject(self) -> Subject:
        """The cluster as the subject of findings."""
        return Subject("cluster", self.name, telemetry.entity("cluster", self.key or self.name), None, self.name)


@dataclass(eq=False)
class Host:
    """A host."""

    name: str
    entity: str | None = None
    """Path in the telemetry; None if it was not measured."""
    key: str | None = None
    """Name in the scenario; None without one."""
    cores: int | None = None
    threads: int | None = None
    nodes: int | None = None
    clock_mhz: float | None = None
    memory_bytes: float | None = None
    hypervisor_memory_bytes: float = 0
    """Hypervisor memory, as far as known."""
    facts: language.Host | None = None
    """Entry in the scenario."""
    cluster: Cluster | None = None
    vms: list[Vm] = field(default_factory=list)
    """VMs known to be on it, without guesses. Complete only if `is_known`."""

    @property
    def is_known(self) -> bool:
        """True if `vms` has all its VMs."""
        return self.cluster is None or self.cluster.is_placed

    @property
    def subject(self) -> Subject:
        """The host as the subject of findings."""
        path = self.entity or telemetry.entity("host", self.name)
        return Subject("host", self.name, path, self.name, cluster_name(self.cluster))

    @property
    def vcpus(self) -> int:
        """vCPUs of its known VMs."""
        return sum(vm.vcpus or 0 for vm in self.vms)


@dataclass(eq=False)
class Vm:
    """A VM."""

    name: str
    entity: str | None = None
    key: str | None = None
    host: Host | None = None
    """Host of the VM; None if unknown, i.e. the cluster file only guesses it and no measurement shows it."""
    cluster: Cluster | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
    facts: language.Vm | None = None
    """Entry in the scenario."""
    guest: str | None = None
    """Path of its measured guest."""
    layout: Mapping[str, Any] | None = None
    """Virtual NUMA layout, from `hypertwin.virtual_numa.layouts`."""
    appliance: bool = False
    """True if it serves storage."""

    @property
    def subject(self) -> Subject:
        """The VM as the subject of findings."""
        host = ("host", self.host.name) if self.host else ()
        path = self.entity or telemetry.entity(*host, "vm", self.name)
        return Subject("vm", self.name, path, self.host_name, cluster_name(self.cluster))

    @property
    def shape(self) -> Mapping[str, Any] | None:
        """Virtual NUMA layout if its host is known, because a guessed host makes it meaningless."""
        return self.layout if self.host else None

    @property
    def host_name(self) -> str | None:
        """Name of its host."""
        return self.host.name if self.host else None


def cluster_name(cluster: Cluster | None) -> str | None:
    """The name of a cluster of a cluster file."""
    return cluster.name if cluster and cluster.key else None


@dataclass(frozen=True)
class Busy:
    """Load of the vCPUs of a VM as its guest sees it, in per cent of one vCPU."""

    stat: Stat
    most: float
    """Upper bound of the true peak."""
    metric: str
    """Source, with `entity` and `divisor`."""
    entity: str
    divisor: float
    added: float = 0.0
    """Mean wait for a CPU, included in the load."""
