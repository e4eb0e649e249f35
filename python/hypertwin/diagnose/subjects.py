"""What findings and rules are about: hosts, VMs, and how busy a VM is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypertwin.diagnose.evidence import Stat
from hypertwin.ingest import telemetry


@dataclass(frozen=True)
class Subject:
    """What a finding is about."""

    kind: str
    """`host`, `vm`, `guest` or `device`."""
    name: str
    """As its own system calls it."""
    path: str
    """Entity in the telemetry, or the same form made of names where there is no telemetry of it."""
    host: str | None = None
    """Name of the host that it is on, or is."""

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


@dataclass
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
    vms: list[Vm] = field(default_factory=list)

    @property
    def subject(self) -> Subject:
        """The host as findings name it."""
        return Subject("host", self.name, self.entity or telemetry.entity("host", self.name), self.name)

    @property
    def vcpus(self) -> int:
        """vCPUs of its VMs, as far as they are known."""
        return sum(vm.vcpus or 0 for vm in self.vms)


@dataclass
class Vm:
    """A VM."""

    name: str
    entity: str | None = None
    key: str | None = None
    host: Host | None = None
    vcpus: int | None = None
    memory_bytes: float | None = None
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
        return Subject("vm", self.name, path, self.host_name)

    @property
    def host_name(self) -> str | None:
        """Name of its host."""
        return self.host.name if self.host else None


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
