"""Estimate of the work of a run, in events of the simulation, from the scenario.

A transaction is three events for each burst and six for each I/O. The number of transactions follows from rates, think
times and the speed of vCPUs. Every logical CPU adds events of its scheduler. The estimate is an upper bound, because
queues reduce events. It is accurate to a small factor, which distinguishes a run of seconds from one of weeks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypertwin import _core
from hypertwin.errors import HypertwinError
from hypertwin.scenario import Scenario

BUDGET = 2e10
"""Maximum events of a run without confirmation: hours on one core at one to three million events per second."""
EVENTS_PER_S = 1e6
AUTO = "auto"
"""Value of a time of a run that is found by pilot runs (`hypertwin.runs.settle`)."""
PILOT_S = 0.02
"""Measured time of the shortest pilot in seconds: twenty times the minimum interval of the timeline."""

PER_TRANSACTION, PER_BURST, PER_IO = 1.0, 3.0, 6.0
PER_CPU_S = 100.0
"""Scheduler events of a logical CPU per second, in addition to those of transactions."""
SHORTEST_S, IO_S = 1e-9, 1e-4
"""Minimum duration of any activity, and duration of an I/O of a generator, in seconds."""
MOST_ESTIMATED = 64
"""Maximum number of sweep points whose work is estimated as a sample of all points."""


class TooLongError(HypertwinError):
    """Raised if a run needs more events than allowed."""

    code = "too-long"


@dataclass(frozen=True)
class Effort:
    """Number of events of a run, and the group that causes most of them."""

    events: float
    simulated_s: float
    replications: int
    group: str
    """Name of the VM group with the most events."""
    transactions_per_s: float
    """Transactions per second of the group with the most events."""


def check(points: Sequence[Scenario], count: int, most: float | None) -> None:
    """Raise TooLongError if `count` points need more than `most` events, estimated from the given points.

    There is no limit if `most` is None.
    """
    if most is None:
        return
    efforts = [of(point) for point in points]
    events = sum(each.events for each in efforts) * count / len(efforts)
    if events <= most:
        return
    longest = max(efforts, key=lambda each: each.events)
    raise TooLongError(
        f"this run needs about {events:.2g} events, {_time(events / EVENTS_PER_S)} of one core at a million a second\n"
        f"  estimate: {f'{count} points x ' if count > 1 else ''}{longest.replications} replications x "
        f"{longest.simulated_s:g} s with warm-up; most from vms.{longest.group}: "
        f"{longest.transactions_per_s:.2g} transactions/s\n"
        f"  allowed: {most:.2g} events\n"
        "  help: shorten run.duration, check rates, think times and CPU of workloads, or add --yes (most_events=None)"
    )


def few(count: int) -> list[int]:
    """Return the indices of the sweep points to estimate: evenly spaced, including the first and the last point."""
    if count <= MOST_ESTIMATED:
        return list(range(count))
    return [round(place * (count - 1) / (MOST_ESTIMATED - 1)) for place in range(MOST_ESTIMATED)]


def of(scenario: Scenario) -> Effort:
    """Return the work of all replications of a scenario. For an `auto` duration, only the shortest pilot counts.

    Longer pilots have their own bound. A found warm-up is at most half of a given duration.
    """
    data = scenario.data
    run = data["run"]
    measured = PILOT_S if run["duration"] == AUTO else _core.duration_s(run["duration"])
    simulated = measured + (measured / 2 if run["warmup"] == AUTO else _core.duration_s(run["warmup"]))
    per_s = _by_group(scenario)
    group = max(per_s, key=lambda name: per_s[name][1], default="")
    return Effort(
        events=events_per_s(scenario) * simulated * run["replications"],
        simulated_s=simulated,
        replications=run["replications"],
        group=group,
        transactions_per_s=per_s[group][0] if group else 0.0,
    )


def events_per_s(scenario: Scenario) -> float:
    """Return the number of events per simulated second."""
    hosts = sum(
        host.get("count", 1) * host["sockets"] * host["cores_per_socket"] * host.get("threads_per_core", 2)
        for host in scenario.data["hosts"].values()
    )
    return sum((events for _, events in _by_group(scenario).values()), PER_CPU_S * hosts)


def slowest_per_s(scenario: Scenario) -> float:
    """Return the transactions per second of the slowest VM without any waiting, or infinity without VMs."""
    vms = scenario.data["vms"]
    rates = (rate / vms[name].get("count", 1) for name, (rate, _) in _by_group(scenario).items())
    return min((rate for rate in rates if rate > 0), default=math.inf)


def _by_group(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """Return the transactions and events per second of each group."""
    data = scenario.data
    return {name: _events_per_s(vm, data["workloads"]) for name, vm in data["vms"].items()}


def _events_per_s(vm: Mapping[str, Any], workloads: Mapping[str, Any]) -> tuple[float, float]:
    """Return the transactions and events per second of a group."""
    workload = workloads[vm["workload"]]
    rate = _rate(workload, vm) * vm.get("count", 1)
    ios = 1.0 if "io" in workload["arrivals"] else workload.get("ios", 0.0)
    return rate, rate * (PER_TRANSACTION + PER_BURST * workload.get("bursts", 1) + PER_IO * ios)


def _rate(workload: Mapping[str, Any], vm: Mapping[str, Any]) -> float:
    """Return the transactions of one VM per second, without any waiting."""
    load = vm.get("load", 1.0) * max([1.0, *(step["factor"] for step in vm.get("load_steps", ()))])
    arrivals, cpu = workload["arrivals"], _mean(workload["cpu"])
    if "open" in arrivals:
        return float(_core.rate_per_s(arrivals["open"]["rate"]) * load)
    most: float = vm["vcpus"] / max(cpu, SHORTEST_S)
    if "parallel" in arrivals:
        return most
    if "closed" in arrivals:
        closed = arrivals["closed"]
        cycle = cpu + _mean(closed.get("think")) + _mean(workload.get("delay"))
        return min(most, float(closed["population"] * load / max(cycle, SHORTEST_S)))
    io = arrivals["io"]
    limit = _core.rate_per_s(io["rate"]) * load if io.get("rate") else most
    return float(min(limit, most, io.get("outstanding", 16) * (vm.get("vdisks") or 1) * load / IO_S))


def _mean(service: Mapping[str, Any] | None) -> float:
    return _core.duration_s(service["mean"]) if service else 0.0


def _time(seconds: float) -> str:
    for name, length in (("years", 3.15e7), ("days", 86_400), ("hours", 3600)):
        if seconds >= length:
            return f"{seconds / length:,.3g} {name}"
    return f"{seconds / 60:.3g} minutes"
