"""CPU and memory demand of a cluster and each of its VMs, from the best available measurement.

The requested statistic (mean, 95th percentile, peak) is preferred to lower statistics, for each VM by itself. A sum
over the same times is preferred to a sum of statistics of VMs. The demand of a VM is its own measured demand, or else
its share of the use of its host (`hypertwin.ingest.apportion`). Demand stays with VMs when hosts change. Workloads of a
scenario count only without any measurement of CPU, and only if they were written by the author and not by an import.

A measured MHz is a MHz of the host on which it was measured. CPU demand is the same work in MHz of a host with
`work_per_cycle` 1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

from hypertwin import _core
from hypertwin.documents.capacity import Basis, Source
from hypertwin.ingest.apportion import Share, Taker, apportion
from hypertwin.language import Host, Inventory, Vm
from hypertwin.members import Cluster, MeasuredCluster, MeasuredHost, MeasuredVm
from hypertwin.metrics.words import some
from hypertwin.plan.capacity.limits import Kind
from hypertwin.scenario import Scenario

IMPORTED = "Imported from "
"""Start of the description of an imported scenario, whose workloads are a guess unless there are measurements."""

NEARLY_ALL, HALF = 0.9, 0.5
"""Fractions of known values above which the unknown values are assumed to be similar."""

FALLBACKS: Mapping[Kind, Sequence[Kind]] = {"peak": ("peak", "p95", "mean"), "p95": ("p95", "mean"), "mean": ("mean",)}
"""Substitutes for a statistic that was not measured. A substitute is never a higher statistic."""

EXACT = 0.01
"""Hypervisor work per work of VMs below which it is within their measured demand. The default of scenarios."""

WORDS = {"mean": "mean", "p95": "p95", "peak": "peak", "sample": "single sample", "configured": "configured"}

_Measured = MeasuredVm | MeasuredHost | MeasuredCluster


@dataclass(frozen=True)
class Found:
    """Demand in the requested unit, with its basis."""

    basis: Basis
    source: Source
    of_vm: Mapping[str, float]
    """Demand of each VM, by VM name."""
    lower: Mapping[str, float] = field(default_factory=dict)
    """Part of the demand that VMs have by a statistic below that of the basis, by its name in words."""

    @property
    def value(self) -> float:
        """Demand of all VMs together."""
        return math.fsum(self.of_vm.values())


@dataclass(frozen=True)
class Parts:
    """Demand of each VM when hosts and VMs were measured."""

    hosts: Mapping[Kind, Sequence[Host]]
    """Hosts that have measurements of each statistic."""
    vms: Sequence[Vm]
    shares: Mapping[str, Share]
    """Shares by VM name, without VMs of unknown demand."""
    exact: Mapping[str, Kind]
    """Statistic of each VM whose share was measured by the VM itself or with its host."""
    weight: Callable[[Vm], float]

    @staticmethod
    def of(
        were: Inventory,
        kind: Kind,
        *,
        own: Callable[[Vm], float | None],
        used: Callable[[Host, Sequence[Vm]], float | None],
        weight: Callable[[Vm], float],
        most: Callable[[Vm], float],
    ) -> Parts:
        """Return the parts of hosts and VMs as measured.

        A VM has its `own` figure. `used` is the total use by VMs of a host, which is divided by `weight`.
        """
        there: defaultdict[str, list[Vm]] = defaultdict(list)
        for vm in were.vms:
            if not vm.host_is_guess:
                there[vm.host].append(vm)
        of_hosts = {host.name: used(host, there[host.name]) for host in were.hosts}
        shares: dict[str, Share] = {}
        exact: dict[str, Kind] = {}
        for cluster in were.clusters:
            hosts = [host.name for host in were.hosts if host.cluster == cluster.name]
            measured = {name: value for name in hosts if (value := of_hosts[name]) is not None}
            vms = [vm for vm in were.vms if vm.cluster == cluster.name]
            by_host = {vm.name: bool(measured) if vm.host_is_guess else vm.host in measured for vm in vms}
            takers = [Taker(weight(vm), own(vm), None if vm.host_is_guess else vm.host, most(vm)) for vm in vms]
            found = zip(vms, apportion(takers, measured), strict=True)
            shares |= {vm.name: share for vm, share in found if share is not None}
            whole = len(measured) == len(hosts)
            exact |= {
                vm.name: kind
                for vm in vms
                if own(vm) is not None or (by_host[vm.name] and (whole or not vm.host_is_guess))
            }
        known = [host for host in were.hosts if of_hosts[host.name] is not None]
        return Parts({kind: known}, were.vms, shares, exact, weight)

    def or_else(self, lower: Parts) -> Parts:
        """Return these parts, with the share by a lower statistic of each VM that was measured by no other."""
        more = {name: lower.shares[name] for name in lower.exact if name not in self.exact}
        hosts, exact = {**lower.hosts, **self.hosts}, {**lower.exact, **self.exact}
        return replace(self, hosts=hosts, shares={**self.shares, **more}, exact=exact)

    def measured(self, vms: Sequence[Vm], kind: Kind) -> list[_Measured]:
        """Return the measurements of a statistic behind the shares of some VMs: their own, and those of hosts."""
        own = [self.vm[vm.name].measured for vm in vms if self.shares[vm.name].origin == "own"]
        return [*own, *(host.measured for host in self.hosts[kind] if len(own) < len(vms))]

    @cached_property
    def vm(self) -> Mapping[str, Vm]:
        """VMs by name."""
        return {vm.name: vm for vm in self.vms}

    def each(self, vms: Sequence[Vm]) -> dict[str, float]:
        """Return the demand of each of some VMs. An unknown VM gets the mean demand per weight of the others."""
        known = [vm for vm in vms if vm.name in self.shares] or [vm for vm in self.vms if vm.name in self.shares]
        weight = sum(map(self.weight, known))
        usual = sum(self.shares[vm.name].value for vm in known) / weight if weight else 1.0
        return {
            vm.name: self.shares[vm.name].value if vm.name in self.shares else usual * self.weight(vm) for vm in vms
        }


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


NOTHING = Found(_unmeasured("no VM is on"), "configured", {})
"""Demand of a cluster without VMs."""


VM_CPU: Mapping[Kind, str] = {"mean": "cpu_mhz", "p95": "cpu_p95_mhz", "peak": "cpu_peak_mhz"}
HOST_CPU: Mapping[Kind, str] = {"mean": "cpu_usage_pct", "p95": "cpu_p95_pct", "peak": "cpu_peak_pct"}
"""Measurement key of each CPU demand, for a VM and for a host."""


def cpu(scenario: Scenario, cluster: Cluster, vms: Sequence[Vm], asked: Kind) -> Found | None:
    """Return the CPU demand of the VMs of a cluster in MHz of a host with `work_per_cycle` 1, or None if unknown."""
    if not vms:
        return NOTHING
    were = scenario.as_measured
    parts = {kind: _cpu_parts(were, kind) for kind in FALLBACKS[asked]}
    for least in (NEARLY_ALL, HALF):
        for kind, of_kind in parts.items():
            value = _value(cluster.measured, VM_CPU[kind])
            together = _together(cluster, value, kind, of_kind, vms, "cpu_mhz")
            for found in (together, _added_up(of_kind, vms, kind)):
                if found is not None and found.basis["known_pct"] >= 100 * least:
                    work = measured_on(scenario)
                    return replace(found, of_vm={name: mhz * work[name] for name, mhz in found.of_vm.items()})
    return _configured(scenario, vms)


def own_cpu(scenario: Scenario, hosts: Sequence[Host]) -> dict[str, float]:
    """Return the CPU of the hypervisor per CPU of its VMs, by host, as it is simulated (`overhead.activity_pct`).

    An import writes the measured use of a host beyond its VMs there. Up to `EXACT`, it counts as demand of the VMs.
    """
    of = {host.name: _activity(scenario, host) for host in hosts}
    return {name: activity if activity > EXACT else 0.0 for name, activity in of.items()}


def _activity(scenario: Scenario, host: Host) -> float:
    return float(scenario.data["hosts"][host.group]["overhead"]["activity_pct"]) / 100


def measured_on(scenario: Scenario) -> dict[str, float]:
    """Return the work per cycle of the host on which each VM was measured, by VM name."""
    now, then = scenario.inventory, scenario.as_measured.inventory
    work = {host.name: host.work_per_cycle for host in (*now.hosts, *then.hosts)}
    return {vm.name: work[vm.host] for vm in (*now.vms, *then.vms)}


@lru_cache(maxsize=4)
def _cpu_parts(were: Scenario, kind: Kind) -> Parts:
    """Return the CPU used by each VM in MHz, by this statistic or else a lower one.

    Hypervisor work for a measured VM counts as use by the hypervisor.
    """
    clock = {host.name: host.clock_hz / 1e6 for host in were.inventory.hosts}
    beside = own_cpu(were, were.inventory.hosts)

    def used(host: Host, vms: Sequence[Vm]) -> float | None:
        usage = _value(host.measured, HOST_CPU[kind])
        if usage is None:
            return None
        known = sum(_value(vm.measured, VM_CPU[kind]) or 0.0 for vm in vms)
        more = beside[host.name]
        return max(0.0, usage / 100 * capacity_mhz(host) / (1 + more) - known * (_activity(were, host) - more))

    parts = Parts.of(
        were.inventory,
        kind,
        own=lambda vm: _value(vm.measured, VM_CPU[kind]),
        used=used,
        weight=lambda vm: float(vm.vcpus),
        most=lambda vm: most_mhz(vm, clock[vm.host]),
    )
    lower = FALLBACKS[kind][1:]
    return parts.or_else(_cpu_parts(were, lower[0])) if lower else parts


def consumed(scenario: Scenario, cluster: Cluster, vms: Sequence[Vm], asked: Kind) -> Found | None:
    """Return the consumed memory of VMs of a cluster in bytes, in total and per VM, without hypervisor memory."""
    if not vms:
        return NOTHING
    parts = _consumed_parts(scenario.as_measured)
    measured = cluster.measured
    kinds: list[tuple[Kind, float | None]] = [("mean", measured.memory_consumed_bytes)]
    if asked != "mean":
        kinds.insert(0, ("peak", measured.memory_consumed_peak_bytes))
    for kind, value in kinds:
        together = _together(cluster, value, kind, parts, vms, "memory_consumed_bytes")
        if together is not None and together.basis["known_pct"] >= 100 * NEARLY_ALL:
            return together
    found = _added_up(parts, vms, "mean")
    return found if found is not None and found.basis["known_pct"] >= 100 * HALF else None


def own_memory(scenario: Scenario, hosts: Sequence[Host], taken: Found | None) -> dict[str, float]:
    """Return the memory that VMs cannot use, in bytes by host, because the hypervisor and storage use it.

    The memory is the measured use of the host beyond its VMs, if both were measured at the same time. Otherwise it is
    the
    value of the scenario or the product (`hypervisor_memory`).
    """
    own = {host.name: float(host.hypervisor_memory_bytes) for host in hosts}
    if taken is None or taken.basis["kind"] != "sample":
        return own
    were = scenario.as_measured.inventory
    shares = _consumed_parts(scenario.as_measured).shares
    for cluster in {host.cluster for host in were.hosts if host.name in own}:
        measured = {
            host.name: host.measured.memory_usage_pct / 100 * host.memory_bytes
            for host in were.hosts
            if host.cluster == cluster and host.measured.memory_usage_pct is not None
        }
        vms = [vm for vm in were.vms if vm.cluster == cluster and vm.name in shares]
        if not any(vm.host_is_guess for vm in vms):
            for name in measured.keys() & own.keys():
                own[name] = max(0.0, measured[name] - sum(shares[vm.name].value for vm in vms if vm.host == name))
        elif measured:
            size = {host.name: host.memory_bytes for host in were.hosts if host.name in measured}
            rest = max(0.0, sum(measured.values()) - sum(shares[vm.name].value for vm in vms))
            own |= {name: rest * size[name] / sum(size.values()) for name in size.keys() & own.keys()}
    return own


@lru_cache(maxsize=2)
def _consumed_parts(were: Scenario) -> Parts:
    """Return the consumed memory of each VM, in bytes."""

    def used(host: Host, _: Sequence[Vm]) -> float | None:
        usage = host.measured.memory_usage_pct
        return None if usage is None else max(0.0, usage / 100 * host.memory_bytes - host.hypervisor_memory_bytes)

    def own(vm: Vm) -> float | None:
        return vm.measured.memory_consumed_bytes

    def size(vm: Vm) -> float:
        return float(vm.memory_bytes)

    return Parts.of(were.inventory, "mean", own=own, used=used, weight=size, most=size)


def active(vms: Sequence[Vm]) -> Found | None:
    """Return the recently active memory of VMs of a cluster in bytes. Unknown VMs are assumed to be like the others."""
    if not vms:
        return NOTHING
    values = {vm.name: vm.measured.memory_active_bytes for vm in vms}
    known = [vm for vm in vms if values[vm.name] is not None]
    whole, part = sum(vm.memory_bytes for vm in vms), sum(vm.memory_bytes for vm in known)
    if not part or part < HALF * whole:
        return None
    usual = sum(value for value in values.values() if value is not None) / part
    of_vm = {vm.name: usual * vm.memory_bytes if (value := values[vm.name]) is None else value for vm in vms}
    basis = _basis("mean", "vms", [vm.measured for vm in known], part / whole)
    return Found(basis, "measured" if part == whole else "assumed", of_vm)


def is_imported(scenario: Scenario) -> bool:
    """True if the scenario was written by an import.

    Only configuration and measurements of such a scenario are facts.
    """
    return str(scenario.data.get("description") or "").startswith(IMPORTED)


def capacity_mhz(host: Host) -> float:
    """Return the CPU capacity of a host in MHz: cores x nominal clock."""
    return host.cores * host.clock_hz / 1e6


def most_mhz(vm: Vm, clock_mhz: float) -> float:
    """Return the most CPU that a VM can use in MHz: all its vCPUs at this clock, or its limit if that is less."""
    return min(vm.vcpus * clock_mhz, math.inf if vm.limit_hz is None else vm.limit_hz / 1e6)


def usage_of_hosts(hosts: Sequence[Host], key: str, weight: Callable[[Host], float]) -> float | None:
    """Return the measured usage of all hosts together, in per cent, or None unless all hosts have one."""
    values = [_value(host.measured, key) for host in hosts]
    known = [value for value in values if value is not None]
    total = sum(map(weight, hosts))
    if not known or len(known) < len(values) or not total:
        return None
    return sum(value * weight(host) for value, host in zip(known, hosts, strict=True)) / total


def _together(
    cluster: Cluster, value: float | None, kind: Kind, parts: Parts, vms: Sequence[Vm], key: str
) -> Found | None:
    """Return the demand from a sum over the same times.

    The sum covers the VMs that were measured over time. Other VMs are assumed to be similar.

    Each VM gets the same share as in the sum of per-VM demands.
    """
    if value is None:
        return None
    were = [vm for vm in parts.vms if vm.cluster == cluster.name] or list(vms)
    covered = [vm for vm in were if vm.measured.over_s is not None and _value(vm.measured, key) is not None]
    part = sum(map(parts.weight, covered)) / sum(map(parts.weight, were)) if covered else 1.0
    took = parts.each([*were, *(vm for vm in vms if vm.name not in parts.vm)])
    whole = sum(took[vm.name] for vm in were)
    of_vm = {vm.name: took[vm.name] * value / part / whole if whole else 0.0 for vm in vms}
    source: Source = "measured" if part == 1 else "assumed"
    return Found(_basis(kind, "cluster", [cluster.measured], part), source, of_vm)


def _added_up(parts: Parts, vms: Sequence[Vm], kind: Kind) -> Found | None:
    """Return the sum of per-VM demands, or None if no VM has a demand by this statistic."""
    exact: defaultdict[Kind, list[Vm]] = defaultdict(list)
    for vm in vms:
        if vm.name in parts.exact:
            exact[parts.exact[vm.name]].append(vm)
    if kind not in exact:
        return None
    known = [vm for each in exact.values() for vm in each]
    own = [vm for vm in known if parts.shares[vm.name].origin == "own"]
    part = sum(map(parts.weight, known)) / sum(map(parts.weight, vms))
    took = parts.each(vms)
    whole = sum(took[vm.name] for vm in known)

    def share(of: Sequence[Vm]) -> float:
        return sum(took[vm.name] for vm in of) / whole if whole else 0.0

    by_hosts = 1 - share(own) if own and whole and len(own) < len(known) else 0.0
    lower = {
        WORDS[_said(each, parts.measured(of, each))]: share(of) for each, of in sorted(exact.items()) if each != kind
    }
    basis = _basis(kind, "vms" if own else "hosts", parts.measured(exact[kind], kind), part, by_hosts, lower)
    return Found(basis, "measured" if part == 1 else "assumed", took, lower)


def _value(measured: _Measured, key: str) -> float | None:
    found: float | None = getattr(measured, key)
    return found


def _basis(
    kind: Kind,
    of: Literal["cluster", "vms", "hosts"],
    measured: Sequence[_Measured],
    known: float,
    by_hosts: float = 0.0,
    lower: Mapping[str, float] | None = None,
) -> Basis:
    """Return the basis of a sum. `by_hosts` is the share from measurements of hosts, `lower` that of `Found`."""
    spans = [each.over_s for each in measured if each.over_s is not None]
    over_s = min(spans) if len(spans) == len(measured) else None
    said = kind if of == "cluster" else _said(kind, measured)
    at = max((each.at for each in measured if each.at is not None), default=None)
    counters = sorted({each.counter for each in measured if each.counter is not None})
    aligned = of == "cluster" or said in ("mean", "sample")
    of_whom = {"cluster": "of all VMs together", "vms": "of each VM", "hosts": "of each host"}[of]
    parts = [WORDS[said], of_whom]
    if over_s is not None:
        parts.append(f"over {span(over_s)}")
    elif kind != "mean":
        parts.append("over an unknown time")
    parts += [f"to {at[:10]}" if over_s is not None else f"at {at}"] if at is not None else []
    text = " ".join(parts)
    if of != "cluster":
        text += ", added up" if aligned else ", added up (upper bound)"
    for name, share in (lower or {}).items():
        text += f"; {name} for {100 * share:.0f}% of it"
    if by_hosts:
        text += f"; {100 * by_hosts:.0f}% of it is what hosts used beside measured VMs"
    if known < 1:
        text += f"; measured for {100 * known:.0f}%, the rest assumed alike"
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


def _said(kind: Kind, measured: Sequence[_Measured]) -> Literal["sample", "mean", "p95", "peak"]:
    """Return a statistic as it is called. A mean without a duration is a sample. A percentile or a peak is none."""
    return "sample" if kind == "mean" and any(each.over_s is None for each in measured) else kind


def span(seconds: float) -> str:
    """Return a time in the largest unit that fits."""
    unit, length = next(((u, n) for u, n in (("d", 86_400), ("h", 3_600), ("min", 60)) if seconds >= n), ("s", 1))
    return f"{seconds / length:.3g} {unit}"


def unknown(scenario: Scenario, vms: Sequence[Vm]) -> str:
    """Return the reason why the CPU demand of a cluster's VMs is unknown."""
    if _is_measured(scenario, vms):
        return "it was measured for less than half of the vCPUs"
    if is_imported(scenario):
        return "no CPU was measured"
    lost = {vm.group: None for vm, mhz in _open(scenario, vms) if mhz is None}
    workloads = dict.fromkeys(str(scenario.data["vms"][group]["workload"]) for group in lost)
    return f"no CPU was measured, and workloads have no constant rate (arrivals.open.rate): {some(list(workloads), 3)}"


def _configured(scenario: Scenario, vms: Sequence[Vm]) -> Found | None:
    """Return the demand of open workloads.

    The result is None if any CPU was measured, or if the demand of a VM does not follow from its keys.
    """
    if is_imported(scenario) or _is_measured(scenario, vms):
        return None
    known = {vm.name: mhz for vm, mhz in _open(scenario, vms) if mhz is not None}
    if len(known) < len(vms):
        return None
    basis = _unmeasured("configured load of the workloads, on average; no CPU was measured")
    return Found(basis, "configured", known)


def _is_measured(scenario: Scenario, vms: Sequence[Vm]) -> bool:
    """True if any CPU of some VMs, or of the hosts of their clusters, was measured."""
    clusters = {vm.cluster for vm in vms}
    around = [host for host in scenario.as_measured.inventory.hosts if host.cluster in clusters]
    values = [_value(vm.measured, key) for vm in vms for key in VM_CPU.values()]
    values += [_value(host.measured, key) for host in around for key in HOST_CPU.values()]
    return any(value is not None for value in values)


def _open(scenario: Scenario, vms: Sequence[Vm]) -> list[tuple[Vm, float | None]]:
    """Return the demand that follows from the workload of each VM, or None where it does not."""
    of_host = {host.name: host for host in scenario.inventory.hosts}
    return [(vm, _open_mhz(scenario, vm, of_host[vm.host])) for vm in vms]


def _open_mhz(scenario: Scenario, vm: Vm, host: Host) -> float | None:
    """Return arrivals x CPU per transaction x clock in MHz of a host with `work_per_cycle` 1, at most `most_mhz`.

    The result is None for a workload that waits for responses.
    """
    entry: Mapping[str, Any] = scenario.data["vms"][vm.group]
    workload = scenario.data["workloads"][entry["workload"]]
    arrivals = workload["arrivals"].get("open")
    if arrivals is None or entry.get("load_steps"):
        return None
    rate = float(arrivals["rate"].removesuffix(" /s"))
    clock = workload.get("reference_clock")
    clock_hz = host.clock_hz if clock is None else _core.frequency_hz(clock)
    wanted = rate * float(entry.get("load", 1)) * _core.duration_s(workload["cpu"]["mean"]) * clock_hz
    return min(wanted / 1e6, most_mhz(vm, host.clock_hz / 1e6) * host.work_per_cycle)
