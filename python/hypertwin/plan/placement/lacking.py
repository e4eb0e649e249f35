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
    """Shortage in words: `18.0 GiB of memory on esx-3`."""
    binding_constraints: tuple[str, ...]
    """Names of missing resources, `rule NAME`, or `hosts` if no host could ever run the VM."""
    host: int = NOWHERE
    """Name of the host with the smallest shortage."""
    amounts: tuple[float, ...] = ()
    """Shortage on the host, per resource."""


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
    scale = np.maximum(problem.failover.max(axis=0), 1e-300)
    host = int(np.where(open_, (short / scale).max(axis=1), np.inf).argmin())
    lacking = [each for each in range(len(problem.resources)) if short[host, each] > 0]
    noise = _within_noise(problem, host, short[host])
    return Shortage(
        f"{amounts(problem, short[host]) or 'room'} on {problem.hosts[host].name}{noise}",
        tuple(problem.resources[each] for each in lacking),
        host,
        tuple(short[host].tolist()),
    )


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


def _within_noise(problem: Problem, host: int, short: Floats) -> str:
    """Return a note if only CPU is short, and by less than the measurement error of demand."""
    lacking = [problem.resources[each] for each in np.flatnonzero(short > 0)]
    if lacking != ["cpu"]:
        return ""
    cpu = problem.resources.index("cpu")
    small = short[cpu] < NOISE * problem.capacity[host, cpu]
    return f" (under {100 * NOISE:g}% of its CPU: within the error of any demand)" if small else ""


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
