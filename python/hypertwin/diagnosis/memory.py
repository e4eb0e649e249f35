"""Fixes for a host short of memory: move a VM, shrink a VM that uses little, or add memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from hypertwin.diagnosis.case import Case
from hypertwin.diagnosis.subjects import Host, Vm
from hypertwin.diagnosis.words import GIB

SPARE = 0.95
"""Fraction of host memory that VMs can touch without reclaim. ESXi starts to reclaim above it."""
HEADROOM = 1.25
"""Ratio of a VM's new memory to its used memory, because measured active memory is a sample."""
LESS = 0.75
"""Ratio of new to old memory below which a VM is worth shrinking."""


def enough_first(case: Case, host: Host) -> list[Vm]:
    """Return the VMs that can leave a host: first the smallest that suffices, then the largest of the others."""
    short = missing(case, host)
    here = [vm for vm in case.placed.get(host.key or "", []) if not vm.appliance and vm.host is not None]
    return sorted(here, key=lambda vm: (touched(vm) < short, abs(touched(vm) - short), vm.name))


def touched(vm: Vm) -> float:
    """Return the host memory that a VM consumes."""
    return float(vm.facts.memory_touched_bytes if vm.facts else vm.memory_bytes or 0)


def missing(case: Case, host: Host) -> float:
    """Return the touched memory of the VMs of a host that exceeds the memory available without reclaim."""
    asked = sum(map(touched, case.placed.get(host.key or "", [])))
    return asked + host.hypervisor_memory_bytes - SPARE * (host.memory_bytes or 0)


def more_memory(case: Case, host: Host) -> tuple[str, Mapping[str, str]] | None:
    """Return the memory that a host needs for its touched memory, as words and changes of the cluster file."""
    short, size, nodes = missing(case, host), host.memory_bytes or 0, host.nodes or 1
    if short <= 0:
        return None
    each = math.ceil((size + short / SPARE) / (nodes * GIB))
    more = nodes * each - round(size / GIB)
    return f"give {host.name} {more} GiB more memory", {f"hosts.{host.key}.memory_per_node": f"{each} GiB"}


def less_memory(case: Case, host: Host, uses: Callable[[Vm], float | None]) -> tuple[str, Mapping[str, str]] | None:
    """Return less memory for the VM that uses the smallest fraction of its memory.

    The new memory is the used memory plus headroom.
    """
    found = []
    for vm in case.placed.get(host.key or "", []):
        used, size = uses(vm), vm.memory_bytes or 0
        if used is not None and 0 < HEADROOM * used < LESS * size:
            found.append((HEADROOM * used - size, vm.name, vm, math.ceil(HEADROOM * used / GIB)))
    if not found:
        return None
    *_, vm, gib = min(found, key=lambda each: each[:2])
    sets = {f"vms.{vm.key}.memory": f"{gib} GiB", f"vms.{vm.key}.memory_touched": f"{gib} GiB"}
    return f"give {vm.name} {gib} GiB, if it needs no more", sets
