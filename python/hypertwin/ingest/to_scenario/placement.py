"""The host of each VM: the one that its source names, otherwise a guess that fits the measurements of the hosts.

A guess stays inside the VM's cluster. VMs are placed from large to small. Each goes to the host with the most remaining
measured use, by the scarcer of CPU and memory. So the demand of a host's VMs is near its measured usage. An unmeasured
host counts with the mean of measured ones, or with its full capacity if there are none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Vm
from hypertwin.ingest.to_scenario.clusters import DEFAULT, Clusters
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.matching import Directory
from hypertwin.ingest.to_scenario.yaml_text import plausible_hz, plausible_pct

LIGHT_LOAD = 0.05
"""Assumed use of a VM without any measurement, as a share of its vCPUs [an assumption of this project]."""


@dataclass(frozen=True)
class Placed:
    """A VM and its host."""

    vm: Vm
    host: ScenarioHost | None
    """Host of the VM, or None before a guess, or if no guess is possible."""
    cluster: str | None
    """Key of its cluster, or None if the source does not name it."""
    is_guess: bool = False
    key: str = ""


def named(vms: Iterable[Vm], directory: Directory, clusters: Clusters, notes: ImportNotes) -> list[Placed]:
    """Return each VM on the host that its source names, if the inventory has it."""
    found = []
    for vm in vms:
        cluster = clusters.called(vm.cluster, vm.datacenter)
        host, note = directory.find(vm.host, cluster) if vm.host else (None, None)
        if note is not None and vm.powered_on:
            notes.vm(vm.name, note)
        if host is not None:
            cluster = host.cluster
        elif cluster is None and not clusters.are_known:
            cluster = DEFAULT
        found.append(Placed(vm, host, cluster))
    return found


def guessed(placed: Sequence[Placed], hosts: Sequence[ScenarioHost], notes: ImportNotes) -> list[Placed]:
    """Return the VMs, those without a host on a suitable host of their cluster."""
    made = list(placed)
    known = {each.cluster for each in placed}
    at = {cluster: [number for number, each in enumerate(placed) if each.cluster == cluster] for cluster in known}
    order = sorted(at, key=lambda cluster: (cluster is None, cluster or ""))  # those that may be anywhere come last
    for cluster in order:
        candidates = [host for host in hosts if cluster is None or host.cluster == cluster]
        homeless = [number for number in at[cluster] if placed[number].host is None]
        if not homeless:
            continue
        if cluster is None:
            for number in homeless:
                notes.vm(placed[number].vm.name, "neither host nor cluster known: placed automatically on any host")
        there = {host.key: [each for each in made if each.host is host] for host in candidates}
        for number, host in _spread([made[number].vm for number in homeless], candidates, there):
            at_home = made[homeless[number]]
            made[homeless[number]] = replace(at_home, host=host, cluster=host.cluster, is_guess=True)
    return made


def fits(vm: Vm, host: ScenarioHost) -> bool:
    """True if the VM fits on the host at all."""
    return vm.vcpus <= host.logical_cpus and vm.memory_bytes <= host.memory_bytes


class _Room:
    """Remaining part of a host's measured usage."""

    def __init__(self, host: ScenarioHost, cpu_hz: float, memory_bytes: float) -> None:
        self.host = host
        self.cpu_hz, self.memory_bytes = max(cpu_hz, 1.0), max(memory_bytes, 1.0)
        self.cpu = self.memory = 1.0

    def after(self, need: tuple[float, float]) -> float:
        return min(self.cpu - need[0] / self.cpu_hz, self.memory - need[1] / self.memory_bytes)

    def take(self, need: tuple[float, float]) -> None:
        self.cpu -= need[0] / self.cpu_hz
        self.memory -= need[1] / self.memory_bytes


def _spread(
    vms: Sequence[Vm], hosts: Sequence[ScenarioHost], there: dict[str, list[Placed]]
) -> list[tuple[int, ScenarioHost]]:
    """Return the number of each VM that fits a host, with that host. `there` has the VMs by key of their host."""
    residents = [(each.vm, host.key) for host in hosts for each in there[host.key]]
    every = [*vms, *(vm for vm, _ in residents)]
    usage = _used([plausible_pct(host.source.cpu_usage_pct) for host in hosts])
    filled = _used([plausible_pct(host.source.memory_usage_pct) for host in hosts])
    rooms = [
        _Room(host, host.capacity_hz * (usage or [1.0] * len(hosts))[number], host.memory_bytes * part)
        for number, (host, part) in enumerate(zip(hosts, filled or [1.0] * len(hosts), strict=True))
    ]
    lowest_hz = min(host.clock_hz for host in hosts)
    light = [LIGHT_LOAD * vm.vcpus * lowest_hz for vm in every]
    wanted = [measured_hz(vm, lowest_hz) for vm in every]
    cpu = _estimated(wanted, light, sum(room.cpu_hz for room in rooms)) if usage else _or(wanted, light)
    configured = [float(vm.memory_bytes) for vm in every]
    memory = configured
    if filled:
        touched = [consumed_bytes(vm) for vm in every]
        memory = _estimated(touched, configured, sum(room.memory_bytes for room in rooms))
    needs = list(zip(cpu, memory, strict=True))
    by_key = {room.host.key: room for room in rooms}
    for (_, key), need in zip(residents, needs[len(vms) :], strict=True):
        by_key[key].take(need)
    all_cpu, all_memory = sum(room.cpu_hz for room in rooms), sum(room.memory_bytes for room in rooms)
    order = sorted(range(len(vms)), key=lambda number: -max(needs[number][0] / all_cpu, needs[number][1] / all_memory))
    made = []
    for number in order:
        open_rooms = [room for room in rooms if fits(vms[number], room.host)]
        if open_rooms:
            best = max(open_rooms, key=lambda room: room.after(needs[number]))
            best.take(needs[number])
            made.append((number, best.host))
    return made


def measured_hz(vm: Vm, clock_hz: int) -> float | None:
    """Return the measured use or demand of a VM, at most all its vCPUs, or None if not measured."""
    if vm.demand is None or not math.isfinite(vm.demand.cpu_mhz) or vm.demand.cpu_mhz < 0:
        return None
    return float(min(plausible_hz(vm.demand.cpu_mhz), vm.vcpus * clock_hz))


def consumed_bytes(vm: Vm) -> int | None:
    """Return the measured consumed memory of a VM, at most its size, or None if not measured, or 0."""
    consumed = vm.memory_consumed_bytes
    return min(consumed, vm.memory_bytes) if consumed is not None and consumed > 0 else None


def _used(measured: Sequence[float | None]) -> list[float]:
    """Return the used fraction of each host: as measured, otherwise the mean of measured ones.

    The result is empty without measurements.
    """
    known = [pct / 100 for pct in measured if pct is not None]
    return [pct / 100 if pct is not None else sum(known) / len(known) for pct in measured] if known else []


def _estimated(known: Sequence[float | None], sizes: Sequence[float], total: float) -> list[float]:
    """Return known values, and for the others the rest of the total by size."""
    rest = max(total - sum(each for each in known if each is not None), 0.0)
    of = sum(size for each, size in zip(known, sizes, strict=True) if each is None)
    return [each if each is not None else rest * size / of for each, size in zip(known, sizes, strict=True)]


def _or(known: Sequence[float | None], otherwise: Sequence[float]) -> list[float]:
    return [each if each is not None else other for each, other in zip(known, otherwise, strict=True)]
