"""What a VM's demand becomes: workloads, and each VM's `load`.

An inventory's demand is a mean. It becomes work in bursts of some milliseconds (`BURST_CYCLES`): a mean does not say
how long bursts are, and requests, queries and interrupts take between tenths and tens of milliseconds, well under a
scheduler's quantum. Longer bursts would show more ready time, shorter ones less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypertwin.ingest.inventory import Vm
from hypertwin.ingest.to_scenario import names
from hypertwin.ingest.to_scenario.hosts import DEFAULT_CLOCK_HZ, ScenarioHost
from hypertwin.ingest.to_scenario.notes import Notes
from hypertwin.ingest.to_scenario.yaml_text import duration, plausible_hz, rounded

BURST_CYCLES = 10_000_000
"""Cycles of a mean burst: 4 ms at 2.5 GHz [an assumption of this project]."""
OPEN_UP_TO = 0.5
"""Part of all its vCPUs up to which a VM's load is open: busier ones, slowed by hyper-threading and neighbours, would
get work faster than they can do it."""
OPEN_HOST_UP_TO = 0.85
"""Part of a host's cores x clock up to which the load of its VMs is open."""
LIGHT_LOAD = 0.05
"""Part of its vCPUs that a VM without measured demand is taken to use [an assumption of this project]."""
IOS_PER_BURST = 10
"""Most I/Os of one burst of an open load: with more, bursts come more often."""
MOST_IOPS = 5_000_000


class Workloads:
    """The workloads of a scenario: shared ones, and one of its own for each VM with I/O."""

    def __init__(self, vms: Iterable[Vm], hosts: dict[str, ScenarioHost], notes: Notes) -> None:
        """No workload yet; `hosts` are the scenario's, by their name in the inventory."""
        self.entries: dict[str, Any] = {}
        self._keys = {"measured", "assumed", *(f"busy-{percent}" for percent in range(1, 101))}
        self._lowest_clock_hz = min(host.clock_hz for host in hosts.values())
        self._crowded = _crowded_hosts(vms, hosts, notes)
        self._notes = notes

    def add(self, key: str, vm: Vm, host: ScenarioHost | None) -> tuple[str, float]:
        """The key of this VM's workload, and its `load`."""
        clock_hz = host.clock_hz if host is not None else self._lowest_clock_hz
        demand = vm.demand
        if demand is None or not math.isfinite(demand.cpu_mhz) or demand.cpu_mhz < 0:
            self._notes.vm(vm.name, "no measured demand: 5 % of the vCPUs assumed", named=False)
            self.entries.setdefault("assumed", open_load())
            return "assumed", rounded(LIGHT_LOAD * vm.vcpus * clock_hz / 1e9)
        iops = demand.iops if demand.iops is not None and math.isfinite(demand.iops) else None
        if iops is not None and not 0 <= iops <= MOST_IOPS:
            self._notes.vm(vm.name, "implausible I/O operations per second left out")
            iops = None
        busy = demand.cpu_mhz * 1e6 / (vm.vcpus * clock_hz)
        percent = min(round(busy * 100), 100)
        if busy > 1:
            self._notes.vm(vm.name, "demand over all its vCPUs at nominal clock (turbo): all of them busy")
        if (vm.host in self._crowded or busy > OPEN_UP_TO) and percent >= 1:
            if busy > OPEN_UP_TO:
                text = "demand over half of its vCPUs: a closed load of one process per vCPU, which cannot pile up"
                self._notes.vm(vm.name, text)
            workload, load = _closed(percent), float(vm.vcpus)
            shared = f"busy-{percent}"
            per_transaction = (iops or 0) * BURST_CYCLES / DEFAULT_CLOCK_HZ / (percent / 100) / vm.vcpus
        else:
            load = rounded(max(demand.cpu_mhz / 1000, 0.001 if iops else 0))
            rate = max(1e9 / BURST_CYCLES, math.ceil((iops or 0) / load / IOS_PER_BURST) if load else 0)
            workload, shared = open_load(rate), "measured"
            per_transaction = (iops or 0) / load / rate if load else 0
        if iops:
            own = names.free(key, self._keys)
            self._keys.add(own)
            self.entries[own] = {**workload, "ios": rounded(min(per_transaction, 1e6))}
            return own, load
        self.entries.setdefault(shared, workload)
        return shared, load


def _crowded_hosts(vms: Iterable[Vm], hosts: dict[str, ScenarioHost], notes: Notes) -> set[str]:
    """Hosts whose VMs want so much together that open loads could grow without end."""
    wanted: Counter[str] = Counter()
    for vm in vms:
        if vm.host in hosts and vm.demand is not None:
            wanted[vm.host] += plausible_hz(vm.demand.cpu_mhz)
    crowded = {name for name, demand in wanted.items() if demand > OPEN_HOST_UP_TO * hosts[name].capacity_hz}
    for name in sorted(crowded):
        text = "machines demand more than 85 % of its cores: their load is closed, so that it cannot pile up"
        notes.host(name, text)
    return crowded


def open_load(rate_per_s: float = 1e9 / BURST_CYCLES) -> dict[str, Any]:
    """Bursts that come whatever happens to earlier ones; a load of 1 is 1 GHz."""
    return {
        "arrivals": {"open": {"rate": f"{rate_per_s:.0f} /s"}},
        "cpu": {"mean": duration(1 / rate_per_s)},
        "reference_clock": "1 GHz",
    }


def _closed(percent: int) -> dict[str, Any]:
    """A process that wants `percent` of a vCPU of its own, at any clock; a load of n is n such processes."""
    burst_s = BURST_CYCLES / DEFAULT_CLOCK_HZ
    arrivals: dict[str, Any] = {"population": 1}
    if percent < 100:
        arrivals["think"] = {"mean": duration(burst_s * (100 - percent) / percent)}
    return {"arrivals": {"closed": arrivals}, "cpu": {"mean": duration(burst_s)}}
