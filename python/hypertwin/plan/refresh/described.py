"""Figures of present and planned clusters for the document: loads, the largest VM, NUMA, failures."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from hypertwin.documents import refresh as documents
from hypertwin.language import Host, Vm
from hypertwin.plan.placement.problem import NOWHERE, Floats, Ints, Problem, part
from hypertwin.plan.placement.restart import Restarts
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.planning import NO_ROOM, Part

GIB = 2**30


def present_cluster(made: Made, grown: Container[str] = (), *, place: Ints | None = None) -> documents.ClusterPlan:
    """Return the figures of a cluster whose hosts are given, with its present or another placement."""
    of = made.problem
    return {
        **_figures(made, of.at if place is None else place, grown),
        "takes": [of.cluster],
        "kept": [host.name for host in of.hosts],
        "added": {},
        "hosts_if_fast": len(of.hosts),
        "hosts_if_slow": len(of.hosts),
        "bound": None,
        "proven": None,
        "binding": None,
        "stored_gib": None,
        "usable_gib": None,
    }


def planned_cluster(found: Part, grown: Container[str]) -> documents.ClusterPlan:
    """Return the figures of a cluster of a candidate, whose hosts were found."""
    assert found.made is not None and found.place is not None
    figures = _figures(found.made, found.place, grown)
    return {
        **figures,
        "takes": list(found.choice.takes),
        "kept": [host.name for host in found.choice.kept],
        "added": found.added,
        "hosts_if_fast": found.if_fast,
        "hosts_if_slow": found.if_slow,
        "bound": found.found.bound,
        "proven": found.found.proven,
        "binding": found.found.why or None,
        "limited_by": "storage" if found.found.why == NO_ROOM else figures["limited_by"],
        "stored_gib": None if found.stored_bytes is None else found.stored_bytes / GIB,
        "usable_gib": None if found.usable_bytes is None else found.usable_bytes / GIB,
    }


def _figures(made: Made, place: Ints, grown: Container[str]) -> documents.ClusterPlan:
    of = made.problem
    largest = max(of.vms, key=lambda vm: (vm.vcpus, vm.memory_bytes, vm.name))
    many = max((len(failed) for failed in made.positions), default=0)
    vcpus = sum(vm.vcpus for vm in of.vms)
    found: documents.ClusterPlan = {  # type: ignore[typeddict-item]
        "cluster": of.cluster,
        "hosts": len(of.hosts),
        "vms": len(of.vms),
        "grown_vms": sum(vm.group in grown for vm in of.vms),
        "vcpus": vcpus,
        "vcpu_per_core": vcpus / sum(host.cores for host in of.hosts),
        "cpu_pct": _load(of, "cpu", 0),
        "cpu_after_failure_pct": _load(of, "cpu", many),
        "memory_pct": _load(of, "memory", 0) or 0.0,
        "memory_after_failure_pct": _load(of, "memory", many),
        "largest_vm": largest.called,
        "largest_vm_vcpus": largest.vcpus,
        "largest_vm_gib": largest.memory_bytes / GIB,
        "limited_by": _limit(of, many),
        "survives": (place != NOWHERE).all() and Restarts(of).first_unsafe(place, made.positions) is None,
    }
    found["survives"] = bool(found["survives"])
    return found


def _load(of: Problem, resource: str, failed: int) -> float | None:
    """Return the use of a resource, in per cent of its capacity without the largest hosts, or None if unknown."""
    if resource not in of.resources:
        return None
    at = of.resources.index(resource)
    capacity: Floats = np.sort(of.capacity[:, at])[: len(of.hosts) - failed]
    whole = float(capacity.sum())
    return 100 * float(of.sizes[:, at].sum()) / whole if whole else None


def _limit(of: Problem, failed: int) -> str:
    """Return the resource with the least headroom without the largest hosts."""
    sizes = of.sizes.sum(axis=0)
    rooms = np.sort(of.failover, axis=0)[: len(of.hosts) - failed].sum(axis=0)
    return of.resources[int(part(sizes, rooms).argmax())]


def numa_fit(name: str, host: Host, vms: Sequence[Vm]) -> documents.NumaFit:
    """Return the VMs that are wider than a NUMA node of a host."""
    wide = [vm for vm in vms if vm.vcpus > host.cores_per_node or vm.memory_bytes > host.memory_per_node_bytes]
    widest = max(wide, key=lambda vm: (vm.vcpus, vm.memory_bytes, vm.name), default=None)
    return {
        "host_type": name,
        "cores_per_node": host.cores_per_node,
        "memory_per_node_gib": host.memory_per_node_bytes / GIB,
        "wide_vms": len(wide),
        "widest": None if widest is None else widest.called,
        "widest_vcpus": None if widest is None else widest.vcpus,
    }
