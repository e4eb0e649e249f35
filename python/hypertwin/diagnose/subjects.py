"""What findings and rules are about: clusters, hosts, VMs, and how busy a VM is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hypertwin import language
from hypertwin.diagnose.evidence import Stat
from hypertwin.ingest import telemetry


@dataclass(frozen=True)
class Subject:
    """What a finding is about."""

    kind: str
    """`cluster`, `host`, `vm`, `guest`, `device` or `datastore`."""
    name: str
    """As its own system calls it."""
    path: str
    """Entity in the telemetry, or the same form made of names where there is no telemetry of it."""
    host: str | None = None
    """Name of the host that it is on, or is."""
    cluster: str | None = None
    """Name of the cluster that it is in, or is; None where that is not known."""

    @staticmethod
    def of_guest(path: str, host: str | None = None) -> Subject:
        """A guest that was measured inside."""
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
    """Hosts between which VMs may move."""

    name: str
    """As its own system calls it."""
    key: str | None = None
    """Its name in the scenario; None for the hosts and VMs that no cluster file has: nobody knows what they are of."""
    facts: language.Cluster | None = None
    """What the scenario says of it."""
    hosts: list[Host] = field(default_factory=list)
    vms: list[Vm] = field(default_factory=list)

    @cached_property
    def is_placed(self) -> bool:
        """Whether the host of each of its VMs is known, and so what is on each host."""
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
    """Its path in the telemetry; None where it was not measured."""
    key: str | None = None
    """Its name in the scenario; None without one."""
    cores: int | None = None
    threads: int | None = None
    nodes: int | None = None
    clock_mhz: float | None = None
    memory_bytes: float | None = None
    hypervisor_memory_bytes: float = 0
    """What its hypervisor itself occupies, as far as that is known."""
    facts: language.Host | None = None
    """What the scenario says of it."""
    cluster: Cluster | None = None
    vms: list[Vm] = field(default_factory=list)
    """Those that are known to be on it: none whose place is a guess. All of them only if `is_known`."""

    @property
    def is_known(self) -> bool:
        """Whether there may be no other VMs on it than `vms`."""
        return self.cluster is None or self.cluster.is_placed

    @property
    def subject(self) -> Subject:
        """The host as findings name it."""
        path = self.entity or telemetry.entity("host", self.name)
        return Subject("host", self.name, path, self.name, cluster_name(self.cluster))

    @property
    def vcpus(self) -> int:
        """vCPUs of its VMs, as far as they are known."""
        return sum(vm.vcpus or 0 for vm in self.vms)


@dataclass(eq=False)
class Vm:
    """A VM."""

    name: str
    entity: str | None = None
    key: str | None = None
    host: Host | None = None
    """None where nobody knows it: the cluster file's place of it is a guess, and it was not measured on a host."""
    cluster: Cluster | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
    facts: language.Vm | None = None
    """What the scenario says of it."""
    guest: str | None = None
    """Path of what was measured inside it."""
    layout: Mapping[str, Any] | None = None
    """Its virtual NUMA, as `hypertwin.vnuma.layouts` gives it."""
    appliance: bool = False
    """Whether it serves storage."""

    @property
    def subject(self) -> Subject:
        """The VM as findings name it."""
        host = ("host", self.host.name) if self.host else ()
        path = self.entity or telemetry.entity(*host, "vm", self.name)
        return Subject("vm", self.name, path, self.host_name, cluster_name(self.cluster))

    @property
    def shape(self) -> Mapping[str, Any] | None:
        """Its virtual NUMA where its place is known: on a guessed host it says nothing."""
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
    """Where it is from, with `entity` and `divisor`."""
    entity: str
    divisor: float
    added: float = 0.0
    """How much the mean wait for a CPU adds to it."""
