"""Missing resources of VMs that cannot restart, on the host with the smallest shortage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hypertwin.language import Vm
from hypertwin.metrics import words
from hypertwin.plan.placement.problem import NOWHERE, SLACK, Bools, Floats, Ints, Problem, Rule
from hypertwin.plan.placement.ruled import Ruled

GIB = 2**30
NOISE = 0.02
"""Fraction of the CPU of a host below which a shortage is noise, because measured demand varies from week to week."""


class Shortage(NamedTuple):
    """Missing resources of a VM."""

    text: str
    """Shortage in words: `18.0 GiB of memory on esx-3`, with the limit if `within_limits`."""
    binding_constraints: tuple[str, ...]
    """Names of missing resources, `rule NAME`, or `hosts` if no host could ever run the VM."""
    host: int = NOWHERE
    """Name of the host with the smallest shortage."""
    amounts: tuple[float, ...] = ()
    """Shortage on the host, per resource."""
    within_limits: bool = False
    """True if the VM has no host only because of limits on demand, so that HA could restart it above them."""


def shortage(problem: Problem, ruled: Ruled, vm: int, now: Ints, failed: Sequence[int], free: Floats) -> Shortage:
    """Return the smallest shortage of a VM on any host, with the other VMs where they are now.

    `free` is the free capacity of hosts. Obstacles that free capacity cannot fix come first, then rules, then capacity.
    """
    left = np.ones(len(problem.hosts), bool)
    left[list(failed)] = False
    if not left.any():
        return Shortage("another host" if len(left) == 1 else "a host: all have failed", ("hosts",))
    fits = problem.fits[vm] & left
    if not fits.any():
        return Shortage(unfit(problem, problem.vms[vm], left), ("hosts",))
    open_ = ruled.open_to(vm, now, failed) & fits
    if not open_.any():
        names = _in_the_way(problem, ruled, vm, now, fits)
        rules = f"rule {names[0]} allows" if len(names) == 1 else f"rules {' and '.join(names)} allow"
        return Shortage(f"a host that {rules}", tuple(f"rule {name}" for name in names))
    short = np.maximum(problem.sizes[vm] - free, 0.0)
    above = open_ & (short <= _beyond_limits(problem) + SLACK * problem.capacity).all(axis=1)
    scale = np.maximum(problem.failover.max(axis=0), 1e-300)
    host = int(np.where(above if above.any() else open_, (short / scale).max(axis=1), np.inf).argmin())
    lacking = tuple(problem.resources[each] for each in np.flatnonzero(short[host] > 0))
    notes = [_limits(problem, lacking)] if above.any() and lacking else []
    notes += [f"under {100 * NOISE:g}% of its CPU: within the error of any demand"] * _is_noise(
        problem, host, short[host]
    )
    return Shortage(
        f"{amounts(problem, short[host]) or 'room'} on {problem.hosts[host].name}"
        + (f" ({'; '.join(notes)})" if notes else ""),
        lacking,
        host,
        tuple(short[host].tolist()),
        bool(above.any()),
    )


def _beyond_limits(problem: Problem) -> Floats:
    """Return the capacity of hosts above the limits on demand, per host and resource.

    Memory is installed. CPU is infinite, because no host refuses to power on a VM for its CPU demand or its vCPUs.
    """
    found = np.zeros_like(problem.capacity)
    for each, name in enumerate(problem.resources):
        if name in ("cpu", "vcpus"):
            found[:, each] = np.inf
        elif name in problem.usable:
            found[:, each] = np.maximum((1 - problem.usable[name]) * problem.capacity[:, each], 0.0)
    return found


def _limits(problem: Problem, names: Sequence[str]) -> str:
    """Return the limits on resources in words: `limit: 90% of memory`."""
    told = [
        f"{problem.usable[name]:g} vCPUs per core"
        if name == "vcpus"
        else f"{100 * problem.usable[name]:g}% of {words.resource(name)}"
        for name in names
    ]
    return f"limit{'s' * (len(told) > 1)}: {' and '.join(told)}"


def amount(resource: str, value: float) -> str:
    """Return an amount of a resource, in words."""
    if resource.endswith("memory"):
        return f"{_rounded(value / GIB)} GiB of {words.resource(resource)}"
    if resource.endswith("cpu"):
        return f"{_rounded(value / 1e3)} GHz of {words.resource(resource)}"
    return f"{_rounded(value)} {'vCPUs' if resource == 'vcpus' else resource}"


def above_limits(problem: Problem, place: Ints) -> list[str]:
    """Return the hosts above their limits, with the excess of each: `esx-3 by 12.0 GiB of memory`."""
    over = problem.loads(place) - problem.rooms
    over[over <= SLACK * np.maximum(problem.rooms, 1.0)] = 0.0
    return [
        f"{problem.hosts[host].name} by {amounts(problem, over[host])}"
        for host in np.flatnonzero(over.any(axis=1)).tolist()
    ]


def amounts(problem: Problem, values: Floats) -> str:
    """Return an amount of each resource, in words. Resources with an amount of 0 are left out."""
    return " and ".join(
        amount(resource, float(value)) for resource, value in zip(problem.resources, values, strict=True) if value > 0
    )


def not_restarted(vm: Vm) -> str:
    """Return the reason why a VM is not restarted on another host."""
    if vm.stays_on_host:
        return "local disks or CPU affinity tie it to its host"
    return "restart disabled"


def _rounded(value: float) -> str:
    """Return a number with one decimal, or more if that would print 0.0."""
    return f"{value:.1f}" if value >= 0.05 else f"{value:.2g}"


def _is_noise(problem: Problem, host: int, short: Floats) -> bool:
    """True if only CPU is short, and by less than the measurement error of demand."""
    lacking = [problem.resources[each] for each in np.flatnonzero(short > 0)]
    if lacking != ["cpu"]:
        return False
    cpu = problem.resources.index("cpu")
    return bool(short[cpu] < NOISE * problem.capacity[host, cpu])


def unfit(problem: Problem, vm: Vm, left: Bools) -> str:
    """Return the reason why no remaining host fits a VM."""
    hosts = [problem.hosts[host] for host in np.flatnonzero(left)]
    if all(host.threads < vm.vcpus for host in hosts):
        return f"a host with {vm.vcpus} logical CPUs"
    if all(host.memory_bytes < vm.memory_bytes for host in hosts):
        return f"a host with {_rounded(vm.memory_bytes / GIB)} GiB of memory"
    if all(host.threads < vm.vcpus or host.memory_bytes < vm.memory_bytes for host in hosts):
        return f"a host with {vm.vcpus} logical CPUs and {_rounded(vm.memory_bytes / GIB)} GiB of memory"
    return "a host with its hypervisor, size and storage"


def _in_the_way(problem: Problem, ruled: Ruled, vm: int, now: Ints, fits: Bools) -> list[str]:
    """Return the rules that exclude a VM from every host where the VM fits: a single rule, or several together."""
    banned: dict[str, Bools] = {}
    for rule in ruled.rules:
        if vm in rule.vms:
            banned[rule.name] = fits & ~_open_by(rule, vm, now, len(problem.hosts))
    alone = [name for name, hosts in banned.items() if (hosts == fits).all()]
    return alone[:1] or [name for name, hosts in banned.items() if hosts.any()]


def _open_by(rule: Rule, vm: int, now: Ints, hosts: int) -> Bools:
    """Return an array that is true for each host where one rule allows a VM."""
    numbers = np.arange(hosts)
    if rule.kind in ("run-on", "not-on"):
        named = np.isin(numbers, rule.hosts)
        return named if rule.kind == "run-on" else ~named
    there = [int(now[other]) for other in rule.vms if other != vm and now[other] != NOWHERE]
    if rule.kind == "keep-apart":
        return ~np.isin(numbers, there)
    return np.isin(numbers, there) if there else np.ones(hosts, bool)
