"""Measurements between two samples of libvirt's statistics: demand for an inventory, rows for telemetry.

Format: libvirt.org/manpages/virsh.html, domstats (`virConnectGetAllDomainStats`). All are counters since the domain's
start: `cpu.time`, `vcpu.N.time`, `vcpu.N.delay` and `block.N.*.times` in nanoseconds, balloon sizes in KiB. `delay` is
the time that a vCPU's thread was runnable but waited for a CPU (Linux, Documentation/scheduler/sched-stats.rst). A
guest sees this time as steal, and ESXi calls it ready.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Demand, iso
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import entity

Stats = Mapping[str, object]
Row = tuple[object, str, str, float]

COSTS = {
    "vcpu.N.time": "run time of each vCPU",
    "vcpu.N.delay": "ready time",
    "cpu.time": "CPU used",
    "block.N.rd.reqs": "load of disks",
    "balloon.rss": "memory in use",
    "virNodeGetCPUStats": "utilization of the host",
    "virNodeGetMemoryStats": "free memory of the host",
}
"""Counters that some hosts lack, and results that need them."""


@dataclass(frozen=True)
class Sample:
    """A host's counters at one time."""

    time: datetime
    """Time by the clock of this computer, in UTC."""
    clock_ns: int
    """Time by the monotonic clock of this computer."""
    cpu: Stats
    """`virNodeGetCPUStats`: user, kernel, idle, iowait, in nanoseconds since the host's start."""
    memory: Stats
    """`virNodeGetMemoryStats`: total, free, buffers, cached, in KiB."""
    domains: Mapping[str, Stats]
    """Statistics of each running domain, by name."""


class Size(NamedTuple):
    """Constants of a host."""

    name: str
    cores: int
    threads: int
    """Logical CPUs."""
    clock_mhz: float | None


class Span:
    """Two samples of the same counters."""

    def __init__(self, before: Stats, after: Stats, seconds: float) -> None:
        """`before` and `after` are `seconds` apart."""
        self.before, self.after, self.seconds = before, after, seconds

    def now(self, key: str) -> float | None:
        """Return the later value."""
        return _number(self.after.get(key))

    def grew(self, key: str) -> float | None:
        """Return the growth of a counter, or None if it is missing or decreased, as after a restart of the domain."""
        first, last = _number(self.before.get(key)), _number(self.after.get(key))
        return last - first if first is not None and last is not None and last >= first else None

    def per_s(self, key: str, unit: float = 1.0) -> float | None:
        """Return the growth rate of a counter, in `unit` per second."""
        grew = self.grew(key)
        return None if grew is None else grew / unit / self.seconds


def demand(before: Sample, after: Sample, domain: str, clock_hz: float) -> Demand | None:
    """Return a domain's demand between two samples: CPU used or waited for, and I/O operations of all its disks."""
    span = _span(before, after, domain)
    cores = span.per_s("cpu.time", 1e9) if span else None
    if span is None or cores is None:
        return None
    waited = _sum([span.per_s(f"vcpu.{vcpu}.delay", 1e9) for vcpu in _numbers(span.after, "vcpu", "delay")])
    rates = [
        rate
        for disk in _numbers(span.after, "block", "rd.reqs")
        for what in ("rd", "wr")
        if (rate := span.per_s(f"block.{disk}.{what}.reqs")) is not None
    ]
    counters = "cpu.time" if waited is None else "cpu.time and vcpu.N.delay"
    return Demand(
        (cores + (waited or 0)) * clock_hz / 1e6,
        sum(rates) if rates else None,
        f"{span.seconds:.1f} s of domstats {counters}",
        over_s=span.seconds,
        counter=f"domstats {counters}",
        at=iso(after.time.timestamp()),
    )


def host_measured(before: Sample, after: Sample, threads_per_core: int) -> dict[str, Any]:
    """Return the measurements of a host, by fields of `inventory.Host`."""
    found: dict[str, Any] = {"memory_usage_pct": _memory_usage_pct(after.memory)}
    busy = dict(_cpu(before, after)).get("utilization_pct")
    if busy is not None:
        usage = linux_host.usage_pct(busy / 100, threads_per_core)
        found |= {"cpu_usage_pct": usage, "over_s": _seconds(before, after)}
    return found | {"at": iso(after.time.timestamp())} if any(value is not None for value in found.values()) else {}


def _memory_usage_pct(memory: Stats) -> float | None:
    """Return the memory in use, without cached memory."""
    total, free = _number(memory.get("total")), _number(memory.get("free"))
    if not total or free is None:
        return None
    cached = sum(_number(memory.get(key)) or 0 for key in ("buffers", "cached"))
    return 100 * max(total - free - cached, 0) / total if free <= total else None


def domain_measured(before: Sample, after: Sample, domain: str) -> dict[str, Any]:
    """Return the measurements of a running domain besides its demand, by fields of `inventory.Vm`."""
    stats = after.domains.get(domain, {})
    found = memory_of(stats)
    span = _span(before, after, domain)
    waits = [span.per_s(f"vcpu.{vcpu}.delay", 1e7) for vcpu in _numbers(stats, "vcpu", "delay")] if span else []
    waited = _sum(waits)
    return found | {"ready_pct": None if waited is None else min(waited / len(waits), 100.0)}


def memory_of(stats: Stats) -> dict[str, Any]:
    """Return memory of a running domain at one time, by fields of `inventory.Vm`. `balloon.rss` is QEMU's memory."""
    rss, most, now = (_number(stats.get(f"balloon.{key}")) for key in ("rss", "maximum", "current"))
    return {
        "memory_consumed_bytes": None if rss is None or rss < 0 else int(rss) * 1024,
        "ballooned_bytes": None if most is None or now is None or now < 0 else int(max(most - now, 0)) * 1024,
    }


def disk_sizes(stats: Stats, what: str) -> dict[str, int]:
    """Return the `capacity` or `allocation` of a domain's disks in bytes, by their targets (`vda`)."""
    return {
        name: int(size)
        for number in _numbers(stats, "block", what)
        if isinstance(name := stats.get(f"block.{number}.name"), str)
        and (size := _number(stats.get(f"block.{number}.{what}"))) is not None
        and 0 <= size < 2**60
    }


def rows(before: Sample, after: Sample, size: Size) -> Iterator[Row]:
    """Yield the activity of a host between two samples, as rows of telemetry."""
    time, host = after.time, ("host", size.name)
    for path, metric, value in [*_host(before, after, size), *_domains(before, after)]:
        if value is not None:
            yield time, entity(*host, *path), metric, value


Value = tuple[Sequence[str], str, float | None]


def _host(before: Sample, after: Sample, size: Size) -> Iterator[Value]:
    yield (), "interval_s", _seconds(before, after)
    yield (), "cores", size.cores
    yield (), "threads", size.threads
    yield (), "clock_mhz", size.clock_mhz
    yield from (((), metric, value) for metric, value in _cpu(before, after))
    for key, metric in (("total", "memory_bytes"), ("free", "memory_free_bytes")):
        kib = _number(after.memory.get(key))
        yield (), metric, None if kib is None else kib * 1024


def _cpu(before: Sample, after: Sample) -> Iterator[tuple[str, float | None]]:
    """Use of a host's logical CPUs."""
    span = Span(before.cpu, after.cpu, _seconds(before, after))
    grew = {key: span.grew(key) for key in ("user", "kernel", "idle", "iowait")} if span.seconds > 0 else {}
    total = sum(value or 0 for value in grew.values())
    if total > 0 and grew["idle"] is not None:
        away = grew["idle"] + (grew["iowait"] or 0)
        yield "utilization_pct", 100 * (total - away) / total
        yield "iowait_pct", None if grew["iowait"] is None else 100 * grew["iowait"] / total


def _domains(before: Sample, after: Sample) -> Iterator[Value]:
    for domain in after.domains:
        span = _span(before, after, domain)
        if span is None:
            continue
        vm = ("vm", outside.name(domain))
        yield vm, "interval_s", span.seconds
        yield vm, "cpu_cores", span.per_s("cpu.time", 1e9)
        yield from _vcpus(vm, span)
        yield from _memory(vm, span)
        for disk in _numbers(span.after, "block", "rd.reqs"):
            yield from _disk(vm, span, disk)
        for metric, key in (("network_rx_bytes_per_s", "rx.bytes"), ("network_tx_bytes_per_s", "tx.bytes")):
            rates = [span.per_s(f"net.{number}.{key}") for number in _numbers(span.after, "net", key)]
            yield vm, metric, _sum(rates)


def _vcpus(vm: tuple[str, str], span: Span) -> Iterator[Value]:
    """Yield times of vCPUs. A thread runs, waits for a CPU or sleeps. Time that is neither run nor ready is wait."""
    runs, readies = [], []
    for number in _numbers(span.after, "vcpu", "time"):
        vcpu = (*vm, "vcpu", str(number))
        run, ready = span.per_s(f"vcpu.{number}.time", 1e7), span.per_s(f"vcpu.{number}.delay", 1e7)
        yield vcpu, "run_sum_pct", run
        yield vcpu, "ready_sum_pct", ready
        runs.append(run)
        readies.append(ready)
    run, ready = _sum(runs), _sum(readies)
    yield vm, "vcpus", span.now("vcpu.current")
    yield vm, "run_sum_pct", run
    yield vm, "ready_sum_pct", ready
    if run is not None and ready is not None:
        yield vm, "wait_sum_pct", max(100.0 * len(runs) - run - ready, 0.0)


def _memory(vm: tuple[str, str], span: Span) -> Iterator[Value]:
    most, now = span.now("balloon.maximum"), span.now("balloon.current")
    occupied = span.now("balloon.rss")
    yield vm, "memory_bytes", None if most is None else most * 1024
    yield vm, "ballooned_bytes", None if most is None or now is None else max(most - now, 0) * 1024
    yield vm, "memory_used_bytes", None if occupied is None else occupied * 1024
    yield vm, "swap_in_bytes_per_s", span.per_s("balloon.swap_in", 1 / 1024)
    yield vm, "swap_out_bytes_per_s", span.per_s("balloon.swap_out", 1 / 1024)


def _disk(vm: tuple[str, str], span: Span, number: int) -> Iterator[Value]:
    name = span.after.get(f"block.{number}.name")
    disk = (*vm, "disk", outside.name(name) if isinstance(name, str) and name else str(number))
    operations, times = [], []
    for what, word in (("rd", "read"), ("wr", "write")):
        key = f"block.{number}.{what}"
        count, spent = span.grew(f"{key}.reqs"), span.grew(f"{key}.times")
        operations.append(count)
        times.append(spent)
        yield disk, f"{word}_iops", span.per_s(f"{key}.reqs")
        yield disk, f"{word}_bytes_per_s", span.per_s(f"{key}.bytes")
        yield disk, f"{word}_latency_ms", spent / count / 1e6 if spent is not None and count else None
    done, spent = _sum(operations), _sum(times)
    yield disk, "iops", None if done is None else done / span.seconds
    yield disk, "latency_ms", spent / done / 1e6 if spent is not None and done else None


def gaps(samples: Iterable[Sample]) -> list[Gap]:
    """Return the gaps for counters of `COSTS` that no sample has."""
    lacking = dict(COSTS)
    domains = False
    for sample in samples:
        for stats in sample.domains.values():
            domains = True
            for key in stats:
                lacking.pop(re.sub(r"\.[0-9]+\.", ".N.", key), None)
        if sample.cpu:
            lacking.pop("virNodeGetCPUStats", None)
        if sample.memory:
            lacking.pop("virNodeGetMemoryStats", None)
    return [Gap(key, costs) for key, costs in lacking.items() if domains or key.startswith("vir")]


def _span(before: Sample, after: Sample, domain: str) -> Span | None:
    first, last, seconds = before.domains.get(domain), after.domains.get(domain), _seconds(before, after)
    return Span(first, last, seconds) if first is not None and last is not None and seconds > 0 else None


def _seconds(before: Sample, after: Sample) -> float:
    return (after.clock_ns - before.clock_ns) / 1e9


def _numbers(stats: Stats, group: str, key: str) -> list[int]:
    """Return the numbers N of keys like `vcpu.N.time`."""
    prefix, suffix = f"{group}.", f".{key}"
    found = (name[len(prefix) : -len(suffix)] for name in stats if name.startswith(prefix) and name.endswith(suffix))
    return sorted(int(text) for text in found if re.fullmatch("[0-9]{1,5}", text))


def _sum(values: Sequence[float | None]) -> float | None:
    """Return the sum of the values, or None if there are none, or one is missing."""
    there = [value for value in values if value is not None]
    return sum(there) if there and len(there) == len(values) else None


def _number(value: object) -> float | None:
    """Return a finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 2**64:
        return None
    return float(value)
