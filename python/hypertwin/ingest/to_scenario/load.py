"""Conversion of a VM's demand: workloads, and each VM's `load`.

Demand is a mean or a single sample. It becomes work in bursts of some milliseconds (`BURST_CYCLES`), because neither
shows the length of bursts. Requests, queries and interrupts take between tenths and tens of milliseconds, well below a
scheduler's quantum. Longer bursts would give more ready time, shorter ones less.

A VM is open while it is idle and closed when it is busy. Open arrivals keep the measured load. However, near the limit
of a VM their queue grows without end as soon as a hyper-thread slows it. A VM with a demand above half of its vCPUs
therefore gets one process per vCPU. Each process is busy for the measured share of the time. Alone, a VM uses its
measured demand in both cases.
"""

from __future__ import annotations

import math
from typing import Any

from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import ASSUMED_CLOCK_HZ
from hypertwin.ingest.to_scenario import names
from hypertwin.ingest.to_scenario.division import Contention, Work
from hypertwin.ingest.to_scenario.hosts import ScenarioHost
from hypertwin.ingest.to_scenario.placement import Placed
from hypertwin.ingest.to_scenario.yaml_text import duration, frequency, plausible_hz, rounded

BURST_CYCLES = 20_000_000
"""Cycles of a mean burst: 8 ms at 2.5 GHz [an assumption of this project]. Shorter bursts give even less ready time on
hosts that are not busy, where hypervisors report more than the twin."""
OPEN_UP_TO = 0.5
"""Share of its vCPUs up to which a VM's load is open. A busier VM, slowed by hyper-threading and neighbours, would get
work faster than it can do it."""
LEAST_CLOSED = 0.001
"""Share of its vCPUs from which a VM's load can be closed."""
REFERENCE_STEP_HZ = 100_000_000
IOS_PER_BURST = 10
"""Maximum I/Os per burst of an open load. With more, bursts are more frequent."""


class Workloads:
    """Workloads of a scenario: shared ones, and a separate one for each VM with I/O."""

    def __init__(self, notes: ImportNotes) -> None:
        """Start without workloads."""
        self.entries: dict[str, Any] = {}
        self._open: dict[tuple[str, int], str] = {}
        self._notes = notes

    def add(self, placed: Placed, host: ScenarioHost, work: Work, contention: Contention) -> tuple[str, float]:
        """Return the key of this VM's workload, and its `load`."""
        vcpus = placed.vm.vcpus
        busy = work.hz / (vcpus * host.clock_hz)
        demand = placed.vm.demand
        if work.source == "measured" and demand is not None and plausible_hz(demand.cpu_mhz) > vcpus * host.clock_hz:
            text = "demand over all its vCPUs at nominal clock (turbo): all of them busy"
            self._notes.vm(placed.vm.name, text)
        if (contention.is_crowded or busy > OPEN_UP_TO) and busy >= LEAST_CLOSED:
            if busy > OPEN_UP_TO:
                text = "demand over half of its vCPUs: a closed load of one process per vCPU, which cannot pile up"
                self._notes.vm(placed.vm.name, text, named=False)
            exactly = 100 / (1 + max(1 / busy - contention.stretch, 0.0))
            percent = float(f"{exactly:.3g}") if contention.is_crowded else round(exactly)
            workload, load = _closed(percent), float(vcpus)
            shared = f"busy-{f'{percent:g}'.replace('.', '-')}"
            per_transaction = work.iops * BURST_CYCLES / ASSUMED_CLOCK_HZ / busy / vcpus
        else:
            load = rounded(max(work.hz / 1e9, 0.001 if work.iops else 0))
            rate = max(1e9 / BURST_CYCLES, math.ceil(work.iops / load / IOS_PER_BURST) if load else 0)
            workload, shared = open_load(rate, _reference_hz(host)), self._shared(work.source, host)
            per_transaction = work.iops / load / rate if load else 0
        if work.iops:
            own = names.free(placed.key, {"measured", "divided", "assumed"} | self.entries.keys())
            self.entries[own] = {**workload, "ios": rounded(min(per_transaction, 1e6))}
            return own, load
        self.entries.setdefault(shared, workload)
        return shared, load

    def _shared(self, source: str, host: ScenarioHost) -> str:
        """Return the key of the open workload for VMs of this origin on hosts of this clock.

        Keys are `measured`, `measured-2` ...
        """
        of = (source, _reference_hz(host))
        if of not in self._open:
            self._open[of] = names.free(source, self.entries.keys() | self._open.values())
        return self._open[of]


def _reference_hz(host: ScenarioHost) -> int:
    """Return the host's clock, rounded to a tenth of a GHz, so that hosts with measured clocks share workloads."""
    return max(round(host.clock_hz / REFERENCE_STEP_HZ), 1) * REFERENCE_STEP_HZ


def open_load(rate_per_s: float = 1e9 / BURST_CYCLES, reference_hz: int = ASSUMED_CLOCK_HZ) -> dict[str, Any]:
    """Open bursts, which arrive independently of earlier ones. A load of 1 is 1 GHz."""
    return {
        "arrivals": {"open": {"rate": f"{rate_per_s:.0f} /s"}},
        "cpu": {"mean": duration(1e9 / reference_hz / rate_per_s)},
        "reference_clock": frequency(reference_hz),
    }


def _closed(percent: float) -> dict[str, Any]:
    """Return a process that demands `percent` of a vCPU, at any clock. A load of n is n such processes."""
    burst_s = BURST_CYCLES / ASSUMED_CLOCK_HZ
    arrivals: dict[str, Any] = {"population": 1}
    if percent < 100:
        arrivals["think"] = {"mean": duration(burst_s * (100 - percent) / percent)}
    return {"arrivals": {"closed": arrivals}, "cpu": {"mean": duration(burst_s)}}
