"""Measurements of a cluster file as telemetry of a single sample, or of their time span.

An export has figures of the time when it was written. Rules judge them like telemetry and note that their duration is
unknown. Telemetry has priority. An export over time has a mean, and sometimes a 95th percentile and a peak. The mean
stands for all percentiles in between, which are hardly lower.

Rules that need a duration report that they cannot judge a single sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypertwin import members
from hypertwin.diagnosis.evidence import Evidence, Stat
from hypertwin.diagnosis.subjects import Host, Vm
from hypertwin.diagnosis.words import span
from hypertwin.ingest import telemetry

OF_CPU = ("run_sum_pct", "cpu_cores", "demand_mhz", "used_mhz", "guest_cpu_pct")
"""Metrics of CPU load: if a VM has one of them, the cluster file adds nothing."""
ENOUGH = 3
"""Minimum sample count of a peak over time."""


def add(evidence: Evidence, hosts: Iterable[Host], vms: Iterable[Vm]) -> None:
    """Add the measurements of the cluster file to its hosts and VMs."""
    taken = set(evidence.paths)
    for host in hosts:
        if host.facts is None:
            continue
        host.entity = host.entity or _free(taken, host.subject.path, ("host", host.facts.name))
        for metric, stat in _of_host(host, host.facts.measured):
            evidence.add(host.entity, metric, stat)
    for vm in vms:
        if vm.facts is None:
            continue
        vm.entity = vm.entity or _free(taken, vm.subject.path, ("vm", vm.facts.name))
        known = any(evidence.stat(entity, metric) for entity in (vm.entity, vm.guest) for metric in OF_CPU)
        for metric, stat in _of_vm(vm, vm.facts.measured):
            if metric not in OF_CPU or not known:
                evidence.add(vm.entity, metric, stat)


def when(at: str | None, over_s: float | None) -> str:
    """Return the time of a measurement, in words."""
    if over_s is None:
        return "at the time of the export" + (f", {_date(at)}" if at else "")
    return f"over {span(over_s)}" + (f" until {_date(at)}" if at else "")


def _date(at: str) -> str:
    return at.replace("T", " ").removesuffix("Z")


def _free(taken: set[str], path: str, otherwise: tuple[str, str]) -> str:
    """Return a unique path, because names can repeat but keys cannot."""
    if path in taken:
        path = telemetry.entity(*otherwise)
    taken.add(path)
    return path


def _of_host(host: Host, measured: members.MeasuredHost) -> Iterator[tuple[str, Stat]]:
    moment, lasting = when(measured.at, None), when(measured.at, measured.over_s)
    if measured.cpu_usage_pct is not None:
        peak = measured.cpu_peak_pct
        yield "usage_pct", _stat(measured.cpu_usage_pct, lasting, measured.cpu_p95_pct, peak)
    if measured.memory_usage_pct is not None and host.memory_bytes:
        yield "memory_used_bytes", _stat(measured.memory_usage_pct / 100 * host.memory_bytes, moment)
    yield from _reclaimed(measured, moment)


def _of_vm(vm: Vm, measured: members.MeasuredVm) -> Iterator[tuple[str, Stat]]:
    moment, lasting = when(measured.at, None), when(measured.at, measured.over_s)
    if measured.cpu_mhz is not None:
        yield "demand_mhz", _stat(measured.cpu_mhz, lasting, measured.cpu_p95_mhz, measured.cpu_peak_mhz)
    if measured.ready_pct is not None and vm.vcpus:
        yield "ready_sum_pct", _stat(measured.ready_pct * vm.vcpus, lasting)
    yield from _reclaimed(measured, moment)


def _reclaimed(measured: members.MeasuredHost | members.MeasuredVm, moment: str) -> Iterator[tuple[str, Stat]]:
    for metric, value in (("ballooned_bytes", measured.ballooned_bytes), ("swapped_bytes", measured.swapped_bytes)):
        if value is not None:
            yield metric, _stat(value, moment)


def _stat(mean: float, moment: str, p95: float | None = None, peak: float | None = None) -> Stat:
    high = mean if p95 is None else p95
    middle = dict.fromkeys(("mean", "least", "low", "seldom", "median", "often"), mean)
    return Stat(
        count=1 if peak is None else ENOUGH,
        high=high,
        most=max(high, mean) if peak is None else peak,
        first_us=None,
        last_us=None,
        moment=moment,
        **middle,
    )
