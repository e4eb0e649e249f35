"""The common table of all measurements: time, entity, metric, value, unit.

Readers yield polars frames with these columns, part by part, so that no file must fit into memory (`telemetry_table`).
A reader maps known data to `METRICS` and leaves out the rest.

An entity is a path of kinds and names, from the outside in: `host/esx1`, `host/esx1/vm/db/vcpu/0`, `vm/db/disk/scsi0:0`
if the source does not name the host, `guest/db` for measurements inside a guest, `benchmark/oltp` for a load generator.
A `/` or `%` in a name is percent-encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hypertwin.ingest.outside import Gap

if TYPE_CHECKING:
    import polars as pl

LAST_TIME_US = 7_258_118_400_000_000
"""Maximum time of a measurement, the end of 2199, in microseconds since 1970, which is the minimum."""

SIGNIFICANT = 9
"""Digits of means to keep."""

KINDS = (
    *("host", "vm", "vcpu", "pcpu", "node", "device", "adapter", "datastore", "disk", "interface", "process"),
    *("guest", "benchmark", "series", "pool"),
)
"""Kinds of entities. A `series` has the reports of a load generator during its run, in contrast to its final summary.
"""


@dataclass
class Reading:
    """Measurements of one source."""

    source: str
    """Name of the source, safe to show: a file's name, or an address without credentials."""
    kind: str
    """Reader: `esxtop`, `vmstat`, `prometheus` ..."""
    frames: Iterator[pl.DataFrame]
    """Parts of the table, which can be iterated once, in the order of the source: by time within a section.

    Any part can raise SourceError.
    """
    gaps: list[Gap] = field(default_factory=list)
    """Counters that this source lacks and others of its kind have. Complete after `frames` is consumed."""
    notes: list[str] = field(default_factory=list)
    """Assumptions, such as the date of times without one. Complete after `frames` is consumed."""


@dataclass(frozen=True)
class Metric:
    """One quantity of the table."""

    unit: str
    meaning: str


_SUMMED = "of a VM the sum over its vCPUs (up to 100% x vCPUs), of a vCPU its own"

METRICS = MappingProxyType(
    {
        # how it was measured
        "interval_s": Metric("s", "length of the interval of the other values of this entity and time"),
        # processors of a host or a guest
        "usage_pct": Metric("%", "of a host: CPU cycles used over cores x nominal clock (esxtop PCPU USED, cpu.usage)"),
        "utilization_pct": Metric("%", "of a host or logical CPU: time it was not idle (PCPU UTIL)"),
        "core_utilization_pct": Metric("%", "of a host: time with at least one busy thread of a core (CORE UTIL)"),
        "cores": Metric("", "physical cores of a host"),
        "threads": Metric("", "logical CPUs of a host"),
        "clock_mhz": Metric("MHz", "nominal clock of a host"),
        "run_queue": Metric("processes", "running and runnable processes in a guest or a Linux host (vmstat r)"),
        "guest_cpu_pct": Metric("%", "CPU use as the system sees it: 100 - idle; waiting for I/O counts as idle"),
        "user_pct": Metric("%", "CPU time in processes"),
        "system_pct": Metric("%", "CPU time in the kernel; of a VM on ESXi: %SYS, summed"),
        "iowait_pct": Metric("%", "CPU time idle while I/O was outstanding"),
        "steal_pct": Metric("%", "time a guest's vCPUs were ready to run and did not, as the guest sees it"),
        "context_switches_per_s": Metric("1/s", "context switches"),
        "cpu_load_1min": Metric("", "of an ESXi host: CPU demand over capacity; 1 is all of it"),
        "load_1min": Metric("processes", "load of a Linux system: processes that run, are runnable or wait for a disk"),
        "cpu_wait_sum_pct": Metric("%", "time that threads waited for a CPU of a Linux system, summed over its CPUs"),
        "cpu_pressure_pct": Metric("%", "time that some thread of a Linux system waited for a CPU (PSI, some)"),
        "io_pressure_pct": Metric("%", "time that some thread waited for I/O (PSI, some)"),
        "memory_pressure_pct": Metric("%", "time that some thread waited for memory (PSI, some)"),
        # a VM or a vCPU on its host; bands judge `ready_sum_pct / vcpus`
        "vcpus": Metric("", "virtual CPUs of a VM"),
        "used_sum_pct": Metric("%", f"%USED: {_SUMMED}"),
        "run_sum_pct": Metric("%", f"%RUN: {_SUMMED}"),
        "ready_sum_pct": Metric("%", f"%RDY, limited time included: {_SUMMED}"),
        "group_ready_sum_pct": Metric("%", "%RDY of a VM's group on esxtop's screen: vCPUs and helper worlds"),
        "costop_sum_pct": Metric("%", f"%CSTP: {_SUMMED}"),
        "wait_sum_pct": Metric("%", f"%WAIT: {_SUMMED}"),
        "idle_sum_pct": Metric("%", f"%IDLE: {_SUMMED}"),
        "vm_wait_sum_pct": Metric("%", f"%VMWAIT, blocked but not idle: {_SUMMED}"),
        "limited_sum_pct": Metric("%", f"%MLMTD: {_SUMMED}"),
        "swap_wait_sum_pct": Metric("%", f"%SWPWT: {_SUMMED}"),
        "overlap_sum_pct": Metric("%", f"%OVRLP: {_SUMMED}"),
        "used_mhz": Metric("MHz", "CPU used by a VM (cpu.usagemhz)"),
        "demand_mhz": Metric("MHz", "CPU demand of a VM (cpu.demand)"),
        "cpu_latency_pct": Metric("%", "%LAT_C, cpu.latency: time that a VM was delayed by lack of CPU"),
        "cpu_cores": Metric("cores", "CPU used by the threads of a VM on Linux, in cores"),
        # memory
        "memory_bytes": Metric("B", "memory of a host, or configured for a VM"),
        "memory_used_bytes": Metric("B", "memory in use"),
        "memory_active_bytes": Metric("B", "memory touched recently, as the hypervisor estimates it"),
        "memory_free_bytes": Metric("B", "free memory"),
        "ballooned_bytes": Metric("B", "ballooned memory: of a VM, or of all VMs of a host"),
        "swapped_bytes": Metric("B", "swapped memory of a VM, all VMs of a host, or a system"),
        "compressed_bytes": Metric("B", "memory of VMs compressed by their hypervisor"),
        "memory_overcommit_pct": Metric("%", "memory demand of VMs and processes beyond the memory of an ESXi host"),
        "memory_state": Metric("", "of an ESXi host: 0 while memory is free, higher the less there is (Kernel State)"),
        "swap_in_bytes_per_s": Metric("B/s", "memory read back from swap"),
        "swap_out_bytes_per_s": Metric("B/s", "memory written to swap"),
        "numa_local_pct": Metric("%", "share of a VM's memory on its home nodes (N%L)"),
        "numa_local_bytes": Metric("B", "memory of a VM on its home nodes (NLMEM)"),
        "numa_remote_bytes": Metric("B", "memory of a VM on other nodes (NRMEM)"),
        "numa_migrations": Metric("", "moves between NUMA nodes in the interval (NMIG)"),
        # storage: a virtual disk, a device (LUN), an adapter, a disk of a system, a benchmark
        "iops": Metric("1/s", "I/O operations completed"),
        "read_iops": Metric("1/s", "reads completed"),
        "write_iops": Metric("1/s", "writes completed"),
        "read_bytes_per_s": Metric("B/s", "bytes read"),
        "write_bytes_per_s": Metric("B/s", "bytes written"),
        "bytes_per_s": Metric("B/s", "bytes read and written"),
        "latency_ms": Metric("ms", "mean latency of an I/O as the guest sees it (GAVG, await)"),
        "read_latency_ms": Metric("ms", "mean latency of a read"),
        "write_latency_ms": Metric("ms", "mean latency of a write"),
        "device_latency_ms": Metric("ms", "part of it in device and fabric (DAVG)"),
        "kernel_latency_ms": Metric("ms", "part of it in the hypervisor (KAVG), its queue included"),
        "queue_latency_ms": Metric("ms", "part of it in the hypervisor's queue (QAVG)"),
        "queue_depth": Metric("", "most commands of a device, adapter or controller (DQLEN)"),
        "active_commands": Metric("", "commands with the device (ACTV)"),
        "queued_commands": Metric("", "queued commands (QUED)"),
        "queue_used_pct": Metric("%", "used share of the queue depth (%USD)"),
        "aborts_per_s": Metric("1/s", "aborted commands (ABRTS/s)"),
        "disk_busy_pct": Metric("%", "busy time of a disk of a Linux system (%util)"),
        "network_rx_bytes_per_s": Metric("B/s", "bytes received"),
        "network_tx_bytes_per_s": Metric("B/s", "bytes sent"),
        # what users notice
        "throughput_per_s": Metric("1/s", "transactions, requests or units of work completed"),
        "glorefs_per_s": Metric("1/s", "database references of Caché and IRIS"),
        "database_reads_per_s": Metric("1/s", "blocks that a database read from disk (mgstat PhyRds)"),
        "database_writes_per_s": Metric("1/s", "blocks that a database wrote to disk (mgstat PhyWrs)"),
        "journal_writes_per_s": Metric("1/s", "blocks that a database wrote to its journal (mgstat Jrnwrts)"),
        "response_ms_mean": Metric("ms", "mean response time"),
        "response_ms_p95": Metric("ms", "95th percentile of response time"),
        "response_ms_p99": Metric("ms", "99th percentile of response time"),
        "response_ms_max": Metric("ms", "longest response time"),
        "latency_ms_p95": Metric("ms", "95th percentile of the time of an I/O"),
        "latency_ms_p99": Metric("ms", "99th percentile of the time of an I/O"),
        "read_latency_ms_p95": Metric("ms", "95th percentile of the time of a read"),
        "read_latency_ms_p99": Metric("ms", "99th percentile of the time of a read"),
        "write_latency_ms_p95": Metric("ms", "95th percentile of the time of a write"),
        "write_latency_ms_p99": Metric("ms", "99th percentile of the time of a write"),
    }
)
"""Every metric of the table, with its unit."""


def entity(*parts: str) -> str:
    """Return the path of an entity from alternating kinds and names: `entity("host", "esx1", "vm", "a/b")`."""
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def names(path: str) -> dict[str, str]:
    """Return the names in an entity's path, by kind: `host/esx1/vm/db` gives `{"host": "esx1", "vm": "db"}`."""
    parts = path.split("/")
    return {kind: unquote(name) for kind, name in zip(parts[::2], parts[1::2], strict=False)}


def vcpu_counts(entities: Iterable[str]) -> dict[str, int]:
    """Return the number of measured vCPUs of each VM, by path of the VM. Some sources state no other number."""
    return Counter(entity.rpartition("/vcpu/")[0] for entity in set(entities) if "/vcpu/" in entity)


def rounded(value: float, digits: int = SIGNIFICANT) -> float:
    """Return a mean, rounded to its certain digits, because the last digits of a sum depend on the order of threads."""
    return float(f"{value:.{digits}g}")
