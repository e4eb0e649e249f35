"""Subjects of findings and rules: clusters, hosts, VMs, and the load of a VM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hypertwin import language, members
from hypertwin.diagnosis.evidence import Stat
from hypertwin.ingest import telemetry


@dataclass(frozen=True)
class Subject:
    """Subject of a finding."""

    kind: str
    """Kind of subject: `cluster`, `host`, `vm`, `guest`, `device` or `datastore`."""
    name: str
    """Name of the subject in its source system."""
    path: str
    """Entity in the telemetry. Without telemetry, a path of the same form, built from names."""
    host: str | None = None
    """Name of the host of the subject. For a host it is its own name."""
    cluster: str | None = None
    """Name of the cluster of the subject, or None if unknown. For a cluster it is its own name."""

    @staticmethod
    def of_guest(path: str, host: str | None = None) -> Subject:
        """Return a measured guest."""
        return Subject("guest", telemetry.names(path)["guest"], path, host)

    @staticmethod
    def of_device(path: str) -> Subject:
        """Return a device, adapter or disk."""
        names = telemetry.names(path)
        inside = names.get("vm") or names.get("guest")
        name = names[path.split("/")[-2]]
        return Subject("device", f"{inside} {name}" if inside else name, path, names.get("host"))


@dataclass(eq=False)
class Cluster:
    """Hosts between which VMs can move."""

    name: str
    """Name of the cluster in its source system."""
    key: str | None = None
    """Name in the scenario, or None for hosts and VMs outside the cluster file, whose cluster is unknown."""
    facts: members.Cluster | None = None
    """Entry of the cluster in the scenario."""
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
    """Path in the telemetry, or None if it was not measured."""
    key: str | None = None
    """Name in the scenario, or None without one."""
    cores: int | None = None
    threads: int | None = None
    nodes: int | None = None
    clock_mhz: float | None = None
    memory_bytes: float | None = None
    hypervisor_memory_bytes: float = 0
    """Hypervisor memory, as far as known."""
    facts: language.Host | None = None
    """Entry of the host in the scenario."""
    cluster: Cluster | None = None
    vms: list[Vm] = field(default_factory=list)
    """VMs known to be on the host, without guesses. The list is complete only if `is_known`."""

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
        """Number of vCPUs of the known VMs of the host."""
        return sum(vm.vcpus or 0 for vm in self.vms)


@dataclass(eq=False)
class Vm:
    """A VM."""

    name: str
    entity: str | None = None
    key: str | None = None
    host: Host | None = None
    """Host of the VM, or None if unknown. A guess in the cluster file without a measurement counts as unknown."""
    came_from: str | None = None
    """Names of the hosts from which it moved while it was measured, or None. Its figures are then not of `host` alone.
    """
    cluster: Cluster | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
    facts: language.Vm | None = None
    """Entry in the scenario."""
    memory_limit_bytes: float | None = None
    """Limit of its host memory below its memory, or None without one."""
    binding: str | None = None
    """Setting that keeps its vCPUs on some CPUs of its host, in words, or None if it can use all of them."""
    guest: str | None = None
    """Path of the measured guest of the VM."""
    layout: Mapping[str, Any] | None = None
    """Virtual NUMA layout, from `hypertwin.scenario.virtual_numa.layouts`."""
    appliance: bool = False
    """True if the VM serves storage."""

    @property
    def stays_down(self) -> bool:
        """True if the VM does not restart on another host: a storage appliance, or HA restart is disabled."""
        return self.appliance or (self.facts is not None and self.facts.restart_priority == "disabled")

    @property
    def subject(self) -> Subject:
        """The VM as the subject of findings."""
        host = ("host", self.host.name) if self.host else ()
        path = self.entity or telemetry.entity(*host, "vm", self.name)
        return Subject("vm", self.name, path, self.host_name, cluster_name(self.cluster))

    @property
    def shape(self) -> Mapping[str, Any] | None:
        """Virtual NUMA layout if the host of the VM is known. A guessed host makes the layout meaningless."""
        return self.layout if self.host else None

    @property
    def host_name(self) -> str | None:
        """Name of its host."""
        return self.host.name if self.host else None


def cluster_name(cluster: Cluster | None) -> str | None:
    """Return the name of a cluster of a cluster file."""
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
    """Mean wait for a CPU that the load includes, or minus the mean steal that it does not include."""
