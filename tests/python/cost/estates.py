"""Hosts and VMs for the tests of costs."""

from __future__ import annotations

from typing import Any

from hypertwin.cost.estate import Cluster, Estate, Hosts, Vm

WINDOWS = "Microsoft Windows Server 2019 (64-bit)"
RED_HAT = "Red Hat Enterprise Linux 8 (64-bit)"


def hosts(count: int = 1, processors: int = 2, cores_per_cpu: int = 16, name: str = "r760", **more: Any) -> Hosts:
    """Equal hosts."""
    own = {"raw_tib": 0.0, "rack_units": 2}
    return Hosts(name, count, processors, processors * cores_per_cpu, **{**own, **more})


def vms(count: int, guest_os: str | None = WINDOWS, *, vcpus: int = 4, name: str = "vm", **more: Any) -> tuple[Vm, ...]:
    """Equal VMs, `vm-1` and so on."""
    made = (f"{name}-{number + 1}" for number in range(count))
    return tuple(Vm(each, each.upper(), vcpus, guest_os, **more) for each in made)


def cluster(*of: Hosts, has: tuple[Vm, ...] = (), name: str = "prod") -> Cluster:
    """A cluster of these hosts and VMs."""
    return Cluster(name, of, has)


def estate(*of: Hosts, has: tuple[Vm, ...] = ()) -> Estate:
    """One cluster of these hosts and VMs."""
    return Estate((cluster(*of, has=has),))
