"""Which demand of CPU and memory stands for a cluster: the best that was measured, and how good that is.

In order: what was asked for (mean, 95th percentile, peak) before what says less; sums of the same moments before sums
over VMs, and those before what the hosts were measured at. What workloads of a scenario ask for counts only where
nobody measured anything and no import made the workloads up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from hypertwin import _core
from hypertwin.documents.capacity import Basis, Source
from hypertwin.language import Cluster, Host, MeasuredCluster, MeasuredHost, MeasuredVm, Vm
from hypertwin.plan.capacity.limits import Kind
from hypertwin.scenario import Scenario

IMPORTED = "Imported from "
"""How the description of an imported scenario begins: where nothing was measured, its workloads are a guess."""

NEARLY_ALL, HALF = 0.9, 0.5
"""Parts that must be known before the rest is taken to be like it."""

FALLBACKS: Mapping[Kind, Sequence[Kind]] = {"peak": ("peak", "p95", "mean"), "p95": ("p95", "mean"), "mean": ("mean",)}
"""What stands for a demand that was not measured: what says less, never what says more."""

WORDS = {"mean": "mean", "p95": "95th percentile", "peak": "peak", "moment": "one moment", "configured": "configured"}

_Measured = MeasuredVm | MeasuredHost | MeasuredCluster
_Thing = TypeVar("_Thing", Vm, Host)


@dataclass(frozen=True)
class Found:
    """A demand, in the unit that was asked for, and what it stands on."""

    value: float
    basis: Basis
    source: Source
    of_vm: Mapping[str, float] | None = None
    """Each VM's own, where VMs were added up; of VMs without one their part by weight."""


def _unmeasured(text: str) -> Basis:
    return {
        "kind": "configured",
        "of": "workloads",
        "aligned": True,
        "over_s": None,
        "at": None,
        "counter": None,
        "known_pct": 100.0,
        "text": text,
    }


NOTHING = Found(0.0, _unmeasured("no VM is on"), "configured", {})
"""The demand of no VM."""


def cpu(scenario: Scenario, cluster: Cluster, hosts: Sequence[Host], vms: Sequence[Vm], asked: Kind) -> Found | None:
    """The CPU that a cluster's VMs want together, in MHz; None where it is not known."""
    if not vms:
        return NOTHING
    vm_key = {"mean": "cpu_mhz", "p95": "cpu_p95_mhz", "peak": "cpu_peak_mhz"}
    host_key = {"mean": "cpu_usage_pct", "p95": "cpu_p95_pct", "peak": "cpu_peak_pct"}

    def of_vms(kind: Kind) -> Found | None:
        return _added(vms, lambda vm: _value(vm.measured, vm_key[kind]), _vcpus, kind, "vms")

    def of_hosts(kind: Kind) -> Found | None:
        def used(host: Host) -> float | None:
            usage = _value(host.measured, host_key[kind])
            return None if usage is None else usage / 100 * capacity_mhz(host)

        return _added(hosts, used, capacity_mhz, kind, "hosts")

    for least in (NEARLY_ALL, HALF):
        for kind in FALLBACKS[asked]:
            together = _together(cluster, _value(cluster.measured, vm_key[kind]), kind, vms, "cpu_mhz", _vcpus)
            if together is not None and together.basis["known_pct"] >= 100 * least:
                return together
            both = [each for each in (of_vms(kind), of_hosts(kind)) if each is not None]
            whole = next((each for each in both if each.basis["known_pct"] == 100), None)
            found = whole or next((each for each in both if each.basis["known_pct"] >= 100 * least), None)
            if found is not None:
                return found
    return _configured(scenario, hosts, vms)


def consumed(cluster: Cluster, hosts: Sequence[Host], vms: Sequence[Vm], asked: Kind) -> Found | None:
    """The memory that a cluster's VMs occupy, in bytes, hypervisors included only if hosts were measured."""
    if not vms:
        return NOTHING
    measured = cluster.measured
    kinds: list[tuple[Kind, float | None]] = [("mean", measured.memory_consumed_bytes)]
    if asked != "mean":
        kinds.insert(0, ("peak", measured.memory_consumed_peak_bytes))
    for kind, value in kinds:
        together = _together(cluster, value, kind, vms, "memory_consumed_bytes", _memory)
        if together is not None and together.basis["known_pct"] >= 100 * NEARLY_ALL:
            return together

    def used(host: Host) -> float | None:
        usage = host.measured.memory_usage_pct
        return None if usage is None else usage / 100 * host.memory_bytes

    of_vms = _added(vms, lambda vm: vm.measured.memory_consumed_bytes, _memory, "mean", "vms")
    of_hosts = _added(hosts, used, lambda host: float(host.memory_bytes), "mean", "hosts")
    both = [each for each in (of_vms, of_hosts) if each is not None]
    for least in (1.0, NEARLY_ALL, HALF):
        found = next((each for each in both if each.basis["known_pct"] >= 100 * least), None)
        if found is not None:
            return found
    return None


def active(vms: Sequence[Vm]) -> Found | None:
    """The memory that a cluster's VMs touched lately, in bytes."""
    if not vms:
        return NOTHING
    found = _added(vms, lambda vm: vm.measured.memory_active_bytes, _memory, "mean", "vms")
    return found if found is not None and found.basis["known_pct"] >= 100 * HALF else None


def is_imported(scenario: Scenario) -> bool:
    """Whether an import wrote the scenario: what it has beside what was set up and measured is derived."""
    return str(scenario.data.get("description") or "").startswith(IMPORTED)


def capacity_mhz(host: Host) -> float:
    """Cores x nominal clock."""
    return host.cores * host.clock_hz / 1e6


def usage_of_hosts(hosts: Sequence[Host], key: str, weight: Callable[[Host], float]) -> float | None:
    """The measured usage of all hosts together, in per cent; None unless all have one."""
    values = [_value(host.measured, key) for host in hosts]
    known = [value for value in values if value is not None]
    total = sum(map(weight, hosts))
    if not known or len(known) < len(values) or not total:
        return None
    return sum(value * weight(host) for value, host in zip(known, hosts, strict=True)) / total


def _together(
    cluster: Cluster, value: float | None, kind: Kind, vms: Sequence[Vm], key: str, weight: Callable[[Vm], float]
) -> Found | None:
    """A sum of the same moments. It covers the VMs that were measured over time; others are taken to be like them."""
    if value is None:
        return None
    covered = [vm for vm in vms if vm.measured.over_s is not None and _value(vm.measured, key) is not None]
    part = sum(map(weight, covered)) / sum(map(weight, vms)) if covered else 1.0
    return Found(
        value / part, _basis(kind, "cluster", [cluster.measured], part), "measured" if part == 1 else "assumed"
    )


def _vcpus(vm: Vm) -> float:
    return float(vm.vcpus)


def _memory(vm: Vm) -> float:
    return float(vm.memory_bytes)


def _value(measured: _Measured, key: str) -> float | None:
    found: float | None = getattr(measured, key)
    return found


def _added(
    things: Sequence[_Thing],
    value: Callable[[_Thing], float | None],
    weight: Callable[[_Thing], float],
    kind: Kind,
    of: Literal["vms", "hosts"],
) -> Found | None:
    """The sum over things, those without a figure taken to be like the others by weight."""
    values = {thing.name: value(thing) for thing in things}
    known = [thing for thing in things if values[thing.name] is not None]
    whole, part = sum(map(weight, things)), sum(map(weight, known))
    if not part:
        return None
    each = sum(found for found in values.values() if found is not None) / part
    single = {thing.name: each * weight(thing) if (found := values[thing.name]) is None else found for thing in things}
    basis = _basis(kind, of, [thing.measured for thing in known], part / whole)
    return Found(
        sum(single.values()),
        basis,
        "measured" if len(known) == len(things) else "assumed",
        single if of == "vms" else None,
    )


def _basis(kind: Kind, of: Literal["cluster", "vms", "hosts"], measured: Sequence[_Measured], known: float) -> Basis:
    """What a sum stands on. One without a duration is one moment."""
    spans = [each.over_s for each in measured if each.over_s is not None]
    over_s = min(spans) if len(spans) == len(measured) else None
    said = "moment" if over_s is None and of != "cluster" else kind
    at = max((each.at for each in measured if each.at is not None), default=None)
    counters = sorted({each.counter for each in measured if each.counter is not None})
    aligned = of == "cluster" or said in ("mean", "moment")
    parts = [{"cluster": "VMs together,", "vms": "sum over VMs,", "hosts": "sum over hosts,"}[of], WORDS[said]]
    parts += [f"of {span(over_s)}"] if over_s is not None else []
    parts += [f"until {at}" if over_s is not None else f"at {at}"] if at is not None else []
    text = " ".join(parts)
    if not aligned:
        text += f"; {'peaks' if said == 'peak' else 'percentiles'} added, as if they coincided"
    if known < 1:
        text += f"; known of {100 * known:.0f} %, the rest taken to be like it"
    return {
        "kind": said,
        "of": of,
        "aligned": aligned,
        "over_s": over_s,
        "at": at,
        "counter": ", ".join(counters) or None,
        "known_pct": 100 * known,
        "text": text,
    }


def span(seconds: float) -> str:
    """A time in the largest unit that it reaches."""
    unit, length = next(((u, n) for u, n in (("d", 86_400), ("h", 3_600), ("min", 60)) if seconds >= n), ("s", 1))
    return f"{seconds / length:.3g} {unit}"


def _configured(scenario: Scenario, hosts: Sequence[Host], vms: Sequence[Vm]) -> Found | None:
    """What open workloads ask for; None where a VM's does not follow from its keys, or anything was measured."""
    if is_imported(scenario) or _is_measured(hosts) or _is_measured(vms):
        return None
    of_host = {host.name: host for host in hosts}
    single = {vm.name: _open_mhz(scenario, vm, of_host[vm.host]) for vm in vms}
    known = {name: mhz for name, mhz in single.items() if mhz is not None}
    if len(known) < len(single):
        return None
    basis = _unmeasured("what the workloads ask for on average; nothing was measured")
    return Found(sum(known.values()), basis, "configured", known)


def _is_measured(things: Iterable[Vm | Host]) -> bool:
    return any(value is not None for thing in things for value in vars(thing.measured).values())


def _open_mhz(scenario: Scenario, vm: Vm, host: Host) -> float | None:
    """Arrivals x CPU of a transaction x clock, at most all vCPUs; None for a workload that waits for its answers."""
    entry: Mapping[str, Any] = scenario.data["vms"][vm.group]
    workload = scenario.data["workloads"][entry["workload"]]
    arrivals = workload["arrivals"].get("open")
    if arrivals is None or entry.get("load_steps"):
        return None
    rate = float(arrivals["rate"].removesuffix(" /s"))
    clock = workload.get("reference_clock")
    clock_hz = host.clock_hz if clock is None else _core.frequency_hz(clock)
    wanted = rate * float(entry.get("load", 1)) * _core.duration_s(workload["cpu"]["mean"]) * clock_hz
    return min(wanted, vm.vcpus * host.clock_hz) / 1e6
