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
    """Its name in its own system."""
    path: str
    """Entity in the telemetry; without telemetry, the same form made of names."""
    host: str | None = None
    """Name of its host, or of itself for a host."""
    cluster: str | None = None
    """Name of its cluster, or of itself for a cluster; None if unknown."""

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
    """Its name in its own system."""
    key: str | None = None
    """Its name in the scenario; None for hosts and VMs outside the cluster file, whose cluster is unknown."""
    facts: language.Cluster | None = None
    """Its entry in the scenario."""
    hosts: list[Host] = field(default_factory=list)
    vms: list[Vm] = field(default_factory=list)

    @cached_property
    def is_placed(self) -> bool:
        """True if the host of each of its VMs is known."""
        return all(vm.host is not None for vm in self.vms)

    @property
    def subject(self) -> Subject:
        """The cluster as findings name it."""
        return Subject("cluster", self.name, telemetry.entity("cluster", self.key or self.name), None, self.name)


@dataclass(eq=False)
class Host:
    """A host."""

    name: str
    entity: str | None = None
    """Its path in the telemetry; None if it was not measured."""
    key: str | None = None
    """Its name in the scenario; None without one."""
    cores: int | None = None
    threads: int | None = None
    nodes: int | None = None
    clock_mhz: float | None = None
    memory_bytes: float | None = None
    hypervisor_memory_bytes: float = 0
    """Memory of its hypervisor, as far as known."""
    facts: language.Host | None = None
    """Its entry in the scenario."""
    cluster: Cluster | None = None
    vms: list[Vm] = field(default_factory=list)
    """VMs known to be on it, none of them by guess. Complete only if `is_known`."""

    @property
    def is_known(self) -> bool:
        """True if it has no other VMs than `vms`."""
        return self.cluster is None or self.cluster.is_placed

    @property
    def subject(self) -> Subject:
        """The host as findings name it."""
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
    """None if unknown: its place in the cluster file is a guess, and it was not measured on a host."""
    cluster: Cluster | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
    facts: language.Vm | None = None
    """Its entry in the scenario."""
    guest: str | None = None
    """Path of its measured guest."""
    layout: Mapping[str, Any] | None = None
    """Its virtual NUMA, as `hypertwin.virtual_numa.layouts` gives it."""
    appliance: bool = False
    """True if it serves storage."""

    @property
    def subject(self) -> Subject:
        """The VM as findings name it."""
        host = ("host", self.host.name) if self.host else ()
        path = self.entity or telemetry.entity(*host, "vm", self.name)
        return Subject("vm", self.name, path, self.host_name, cluster_name(self.cluster))

    @property
    def shape(self) -> Mapping[str, Any] | None:
        """Its virtual NUMA if its host is known: on a guessed host it means nothing."""
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
    """How busy the vCPUs of a VM are as its guest sees it, per cent of one."""

    stat: Stat
    most: float
    """Never less than the true peak."""
    metric: str
    """Its source, with `entity` and `divisor`."""
    entity: str
    divisor: float
    added: float = 0.0
    """The mean wait for a CPU, included in it."""
