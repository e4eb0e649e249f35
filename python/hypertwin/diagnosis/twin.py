"""Simulated time of a scenario, limited so that a diagnosis takes seconds, and a run instead of measurements.

Without measurements, rules judge an `esxtop -b` recording of the twin's hosts. Rules read it like any telemetry. The
answer states its origin.

So no rule knows a simulation. The run has the same bounds as what-ifs, and never uses guessed hosts.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.errors import HypertwinError
from hypertwin.extras import installed
from hypertwin.ingest.vmware import esxtop_export
from hypertwin.plan.capacity.demand import is_imported
from hypertwin.runs import settle, simulation
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario

MOST_VMS = 400
"""Maximum number of VMs of a simulation."""
DURATION_S = 60
"""Maximum measured time of a run, unless the scenario has less."""
SHORTEST_S = 5
PILOT_S = 1
"""Measured time of a first short run, which shows the amount of work."""
WORK = 600_000
"""Maximum work of a run, so that the run takes less than a second. An I/O or transaction is 1, a vCPU second is 100.
"""
BY_HAND = "Record a run: `hypertwin simulate FILE --format esxtop -o DIR`, then `hypertwin diagnose DIR/*.csv`"
"""Advice to record a run by hand."""
SWITCHED_OFF = f"simulations are switched off. {BY_HAND}"
SAMPLES = 30
"""Maximum number of samples of a run instead of measurements. Each sample lasts whole seconds, as in esxtop."""


@dataclass(frozen=True)
class Recorded:
    """Recorded run instead of measurements."""

    files: tuple[str, ...] = ()
    """One file per host, in a folder that the caller removes."""
    seconds: float | None = None
    """Simulated time, seconds, or None without a simulation."""
    why_not: str = ""
    """Reason for no simulation, and advice, without the last full stop."""


def is_measured(scenario: Scenario) -> bool:
    """True if a scenario has measurements of its hosts or VMs."""
    hosts, vms = scenario.inventory.hosts, scenario.inventory.vms
    found: list[float | None] = [
        value for host in hosts for value in (host.measured.cpu_usage_pct, host.measured.memory_usage_pct)
    ]
    found += [value for vm in vms for value in (vm.measured.cpu_mhz, vm.measured.ready_pct)]
    return any(value is not None for value in found)


def record(scenario: Scenario, folder: str, progress: LabelledProgress | None = None) -> Recorded:
    """Simulate a scenario for a bounded time, and write the recordings of its hosts into a folder."""
    why_not = _why_not(scenario)
    if why_not:
        return Recorded(why_not=why_not)
    if progress:
        progress("simulating: no measurements given", 0, 0)
    data = json.loads(scenario.json)
    try:
        seconds = seconds_of(data)
        every = -(-seconds // SAMPLES)
        set_times(data, every * max(seconds // every, 2))
        data["run"]["sample_interval"] = f"{every:g} s"
        loaded = scenarios.loads(json.dumps(data), file="the cluster file, simulated")
        written = esxtop_export.write(simulation.samples(loaded), Path(folder))
    except HypertwinError as error:
        return Recorded(why_not=" ".join(str(error).split()))
    return Recorded(tuple(str(each) for each in written), _core.duration_s(data["run"]["duration"]))


def _why_not(scenario: Scenario) -> str:
    """Return the reason why a scenario cannot be recorded, and advice, or an empty string if it can."""
    vms = scenario.inventory.vms
    if not vms:
        return "the cluster file has no VM"
    if is_imported(scenario):
        return "the import assumed the load of VMs. Import it with --telemetry"
    if any(vm.host_is_guess for vm in vms):
        return f"the host of some VMs is a guess. {BY_HAND}"
    if len(vms) > MOST_VMS:
        return f"{len(vms)} VMs take too long. {BY_HAND}"
    if not installed("telemetry"):
        return "a simulated diagnosis needs the extra telemetry (pip install 'hypertwin[telemetry]')"
    return ""


def temporary() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for recordings."""
    return tempfile.TemporaryDirectory(prefix="hypertwin-")


def set_times(data: dict[str, Any], seconds: float) -> None:
    """Set the measured time of a scenario in seconds, after a warm-up of at most half of that time."""
    settings = data["run"]
    settings["warmup"] = f"{min(settle.given_s(settings, 'warmup'), seconds / 2):g} s"
    settings["duration"] = settings["sample_interval"] = f"{seconds:g} s"


def seconds_of(data: Mapping[str, Any]) -> float:
    """Return the measured time of a run: the time in the scenario, or less if a simulated second needs much work."""
    asked = min(settle.given_s(data["run"], "duration"), DURATION_S)
    pilot = copy.deepcopy(dict(data))
    set_times(pilot, min(asked, PILOT_S))
    pilot["run"]["replications"] = 1
    loaded = scenarios.loads(json.dumps(pilot), file="the cluster file, changed")
    point: Mapping[str, Any] = simulation.simulate(loaded).to_dict()["points"][0]
    rate = sum(
        vm["vcpus"] * 100 + sum(vm.get(key) or 0.0 for key in ("throughput_per_s", "iops"))
        for vm in point["vms"].values()
    )
    return min(asked, max(float(round(WORK / max(rate, 1.0))), SHORTEST_S))
