"""Load of each VM and of each host's hypervisor that makes the host as busy as measured.

| data in the source | load of a VM | work of the hypervisor |
|---|---|---|
| demand of VMs | its demand | the twin's default |
| usage of hosts | its share (`hypertwin.ingest.apportion`), at most all its vCPUs | the default |
| both, equal within `AGREES` of the host | its demand | the default |
| both, host usage higher | its demand | the difference, proportional to its VMs' activity |
| both, VM demand higher | its demand, reduced by one factor per host | the default |
| neither | the mean of its cluster per vCPU; without any, `LIGHT_LOAD` of its vCPUs | the default |

On Linux, a VM's CPU time and a host's usage count time of hardware threads, even if two share a core. The work in that
time is less, as calculated by `contention`. On ESXi, both count work.

A derived figure is never written as measured. Advice judges neither derived load nor guessed hosts (`host_is_guess`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypertwin import _core
from hypertwin.ingest.apportion import Share, Taker, apportion
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.to_scenario import contention
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.placement import LIGHT_LOAD, Placed, measured_hz
from hypertwin.ingest.to_scenario.yaml_text import plausible_pct, rounded

AGREES = 0.01
"""Difference between a host's usage and its VMs' demand, as a share of the host, that needs no correction."""
SATURATED = 0.98
"""Share of a host from which its usage no longer shows the demand of its VMs."""
OPEN_HOST_UP_TO = 0.85
"""Share of a host's capacity up to which the load of its VMs is open."""
SPARE_WORLDS = 2
"""Number of helper worlds of a VM per core that its hypervisor work takes, so that the work does not wait for them."""
MOST_IOPS = 5_000_000

WITHOUT_DEMAND = {
    "divided": "no measured demand: a share of its host's measured usage, by vCPUs",
    "cluster": "no measured demand, nor usage of its host: the mean of the other VMs of its cluster, by vCPUs",
    "assumed": "no measured demand: assumed 5% of its vCPUs",
}


@dataclass(frozen=True)
class Work:
    """Work of a VM."""

    hz: float
    """Work of its vCPUs, in cycles per second at the host's nominal clock."""
    source: str
    """Origin: `measured`, `divided` (its host's usage), `cluster` (the mean of its other VMs) or `assumed`."""
    iops: float


@dataclass(frozen=True)
class Contention:
    """Contention of a VM on its host."""

    is_crowded: bool
    """True if open arrivals could accumulate there."""
    stretch: float
    """Duration of a burst there, including the hypervisor's work, relative to a burst alone."""


@dataclass(frozen=True)
class Divided:
    """Work of a host."""

    work: Sequence[Work]
    """Work of its VMs, in order."""
    contention: Contention
    overhead: Mapping[str, float]
    """Keys of `overhead` that differ from the defaults: hypervisor work in per cent of VM activity, and worlds."""


@dataclass(frozen=True)
class Load:
    """Known load of a host."""

    known: Sequence[float | None]
    """Work of each of its VMs, in Hz, or None if not measured."""
    iops: Sequence[float]
    used: float | None
    """Measured use of the host, in Hz."""

    @staticmethod
    def of(host: ScenarioHost, placed: Sequence[Placed], notes: ImportNotes) -> Load:
        """Return the load of a host with these VMs. A column of zeros on a busy host counts as missing."""
        known = [measured_hz(each.vm, host.clock_hz) for each in placed]
        used = _used_hz(host)
        if used is not None and used > AGREES * host.capacity_hz and not any(known):
            known = [None] * len(known)
        return Load(known, [_iops(each, notes) for each in placed], used)

    def io_hz(self, host: ScenarioHost) -> float:
        """Return the hypervisor's work for the I/O of its VMs."""
        return sum(self.iops) * _defaults().cpu_per_io_s * host.clock_hz


def silent(
    hosts: Sequence[ScenarioHost], on: Mapping[str, Sequence[Placed]], loads: Mapping[str, Load]
) -> dict[str, Share]:
    """Return the work of unmeasured VMs in Hz, by key. VMs of unknown demand are left out.

    `on` has the VMs on each host and `loads` the known load, by key of the host. A guessed host counts as known,
    because the guess makes the host's VMs explain its use. So the twin's hosts are as busy as measured.
    """
    found: dict[str, Share] = {}
    for cluster in dict.fromkeys(host.cluster for host in hosts):
        here = [host for host in hosts if host.cluster == cluster]
        takers, keys = [], []
        used: dict[str, float] = {}
        for host in here:
            load = loads[host.key]
            if load.used is not None:
                used[host.key] = max(0.0, load.used - load.io_hz(host)) / (1 + _defaults().activity)
            for each, hz in zip(on[host.key], load.known, strict=True):
                takers.append(Taker(each.vm.vcpus, hz, host.key, each.vm.vcpus * float(host.clock_hz)))
                keys.append(each.key)
        shares = zip(keys, takers, apportion(takers, used), strict=True)
        found |= {key: share for key, taker, share in shares if share is not None and taker.own is None}
    return found


def divided(
    host: ScenarioHost, placed: Sequence[Placed], load: Load, silent: Mapping[str, Share], notes: ImportNotes
) -> Divided:
    """Work on one host with these VMs. `silent` are the unmeasured ones."""
    full = [each.vm.vcpus * float(host.clock_hz) for each in placed]
    known, used, io_hz = load.known, load.used, load.io_hz(host)
    asked = sum(hz for hz in known if hz is not None)
    activity, factor = _defaults().activity, 1.0
    if used is not None and placed and _is_of_one_time(host, placed) and asked:
        over = asked * (1 + activity) + io_hz - used
        if over < -AGREES * host.capacity_hz and None not in known:
            activity = min((used - io_hz) / asked - 1, _defaults().most_activity)
            text = "it used more than its VMs demand: the rest is assumed to be the hypervisor's own work"
            notes.host(host.name, text)
        elif over > AGREES * host.capacity_hz and used < SATURATED * host.capacity_hz:
            factor = max(used - io_hz, 0.0) / (asked * (1 + activity))
            text = "its VMs demand more than it used: their load is reduced to its usage"
            notes.host(host.name, text)
    work = []
    for each, hz, most, iops in zip(placed, known, full, load.iops, strict=True):
        share = silent.get(each.key)
        if hz is not None:
            work.append(Work(min(hz * factor, most), "measured", iops))
        elif share is not None:
            work.append(Work(min(share.value, most), "divided" if share.origin == "host" else "cluster", iops))
        else:
            work.append(Work(min(LIGHT_LOAD * each.vm.vcpus * host.clock_hz, most), "assumed", iops))
    most_own = _defaults().most_worlds * host.clock_hz
    total = sum(each.hz + min(activity * each.hz, most_own) for each in work) + io_hz
    _note_shortfall(host, total, used, not placed, notes)
    for each, of in zip(placed, work, strict=True):
        if of.source in WITHOUT_DEMAND:
            notes.vm(each.vm.name, WITHOUT_DEMAND[of.source], named=False)
    return _as_work(host, placed, work, activity, io_hz)


def _as_work(
    host: ScenarioHost, placed: Sequence[Placed], work: Sequence[Work], activity: float, io_hz: float
) -> Divided:
    """Work that takes the CPU time of `work`, and the contention of its VMs."""
    defaults = _defaults()
    smt_yield = defaults.smt_yield if host.threads_per_core > 1 else 1.0
    cores = (sum(each.hz for each in work) * (1 + activity) + io_hz) / host.clock_hz
    scale = 1.0
    options = host.options
    if not options.charges_shared_cores and host.threads_per_core > 1 and cores > 0:
        done = contention.work_of(cores, host.cores, smt_yield)
        scale, cores = done / cores, done
    is_crowded = cores > OPEN_HOST_UP_TO * host.cores * smt_yield
    if is_crowded:
        processes, nodes = sum(each.vm.vcpus for each in placed), host.nodes if options.home_nodes else 1
        stretch = contention.closed_stretch(cores, host.cores, smt_yield, processes, nodes)
    else:
        stretch = contention.in_progress(cores, host.cores, smt_yield) / cores if cores > 0 else 1.0
    scaled = [replace(each, hz=each.hz * scale) for each in work]
    overhead: dict[str, float] = {}
    if activity != defaults.activity:
        busiest = max(each.hz for each in scaled) * activity / host.clock_hz
        worlds = min(math.ceil(SPARE_WORLDS * busiest), defaults.most_worlds)
        overhead = {"worlds_per_vm": worlds} if worlds > defaults.worlds else {}
        overhead["activity_pct"] = rounded(100 * activity)
    return Divided(scaled, Contention(is_crowded, stretch * (1 + activity)), overhead)


def _used_hz(host: ScenarioHost) -> float | None:
    used = plausible_pct(host.source.cpu_usage_pct)
    return None if used is None else used / 100 * host.capacity_hz


def _is_of_one_time(host: ScenarioHost, placed: Sequence[Placed]) -> bool:
    """True if the host and its VMs were both measured over time, or both as single samples."""
    over_time = {each.vm.demand.over_s is not None for each in placed if each.vm.demand is not None}
    return over_time == {host.source.over_s is not None}


def _note_shortfall(
    host: ScenarioHost, total_hz: float, used: float | None, is_empty: bool, notes: ImportNotes
) -> None:
    if used is None or total_hz >= min(used, host.capacity_hz) - AGREES * host.capacity_hz:
        return
    if is_empty:
        notes.host(host.name, "it has measured usage, but no VM: it stays idle")
    else:
        notes.host(host.name, "its measured usage is more than its known VMs can cause: it stays below")


def _iops(placed: Placed, notes: ImportNotes) -> float:
    demand = placed.vm.demand
    if demand is None or demand.iops is None or not math.isfinite(demand.iops):
        return 0.0
    if 0 <= demand.iops <= MOST_IOPS:
        return demand.iops
    notes.vm(placed.vm.name, "implausible I/O operations per second left out")
    return 0.0


@dataclass(frozen=True)
class _Defaults:
    """Defaults and maxima of scenarios for hosts."""

    activity: float
    """Work of the hypervisor relative to that of its VMs."""
    most_activity: float
    worlds: int
    """Helper worlds of a VM. Each takes at most one core."""
    most_worlds: int
    cpu_per_io_s: float
    smt_yield: float


@cache
def _defaults() -> _Defaults:
    host = {"sockets": 1, "cores_per_socket": 1, "clock": "1 GHz", "memory_per_node": "1 GiB", "hypervisor": "esxi-8.0"}
    entry = json.loads(_core.validate(json.dumps({"name": "defaults", "hosts": {"host": host}}))[0])["hosts"]["host"]
    overhead: dict[str, Any] = entry["overhead"]
    cpu_per_io_s = _core.duration_s(overhead["cpu_per_io"])
    schema = json.loads(_core.schema_json())["$defs"]["HypervisorOverhead"]["properties"]
    return _Defaults(
        overhead["activity_pct"] / 100,
        schema["activity_pct"]["maximum"] / 100,
        overhead["worlds_per_vm"],
        schema["worlds_per_vm"]["maximum"],
        cpu_per_io_s,
        entry["smt_yield"],
    )
