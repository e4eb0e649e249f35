"""The queries for a Prometheus server: series of each exporter, in PromQL, and the resulting metrics.

In an expression, `$m` is the user's label matchers and `$r` the window of a rate. The server converts counters to
rates. Names are from the exporters' sources: prometheus/node_exporter 1.x; the libvirt exporters of Tinkoff and inovex,
and derivatives of kumina's; pryorda/vmware_exporter 0.18.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """One metric of one exporter."""

    metric: str
    of: str
    """Kind of entity: `system`, `disk` (of a system), `vm`, `vcpu`, `vdisk`, `host`."""
    series: str
    """Series that the query needs."""
    expression: str
    costs: str
    """Results that need it."""
    over_s: float | None = None
    """Interval that a gauge's value covers. A rate covers `$r`."""
    in_vcpu_seconds: bool = False
    """True if it counts vCPU seconds, which some exporters give in nanoseconds under the same name."""


@dataclass(frozen=True)
class Exporter:
    """A kind of exporter."""

    name: str
    probe: str
    """A series that every exporter of this kind has. It shows the exporters and their scrape interval."""
    queries: tuple[Query, ...]


_DISKS = '$m device!~"(loop|ram|zram|fd|sr|dm-|md).*"'
_NICS = '$m device!~"(lo|veth|docker|br|virbr|tap|vnet|bond).*"'


def _modes(modes: str) -> str:
    """Return the percentage of a system's CPU time in these modes. Duplicates from two scrape jobs count once."""
    rates = f'max by (instance, cpu, mode) (rate(node_cpu_seconds_total{{$m mode=~"{modes}"}}[$r]))'
    return f"100 * sum by (instance) ({rates}) / {_CPUS}"


_CPUS = 'count by (instance) (count by (instance, cpu) (node_cpu_seconds_total{$m mode="idle"}))'


def _system(metric: str, series: str, expression: str, costs: str) -> Query:
    return Query(metric, "system", series, expression, costs)


def _rate(metric: str, series: str, costs: str, scale: str = "", of: str = "system", by: str = "instance") -> Query:
    labels = _DISKS if of == "disk" else "$m"
    return Query(metric, of, series, f"{scale}max by ({by}) (rate({series}{{{labels}}}[$r]))", costs)


def _latency(metric: str, time: str, count: str, of: str, by: str, labels: str) -> Query:
    rates = [f"max by ({by}) (rate({series}{{{labels}}}[$r]))" for series in (time, count)]
    return Query(metric, of, time, f"1000 * {rates[0]} / ({rates[1]} > 0)", "storage latency")


_OF_A_DISK = "instance, device"

NODE = Exporter(
    "node_exporter",
    "node_load1",
    (
        _system("cpus", "node_cpu_seconds_total", _CPUS, "CPUs"),
        _system("busy_pct", "node_cpu_seconds_total", f"100 - ({_modes('idle|iowait')})", "CPU use"),
        _system("user_pct", "node_cpu_seconds_total", _modes("user|nice"), "CPU use"),
        _system("system_pct", "node_cpu_seconds_total", _modes("system|irq|softirq"), "CPU use"),
        _system("iowait_pct", "node_cpu_seconds_total", _modes("iowait"), "CPU use"),
        _system("steal_pct", "node_cpu_seconds_total", _modes("steal"), "steal"),
        _system("load_1min", "node_load1", "max by (instance) (node_load1{$m})", "load"),
        _system("run_queue", "node_procs_running", "max by (instance) (node_procs_running{$m})", "run queue"),
        _rate("context_switches_per_s", "node_context_switches_total", "context switches"),
        _rate("cpu_pressure_pct", "node_pressure_cpu_waiting_seconds_total", "waiting for a CPU", "100 * "),
        _rate("io_pressure_pct", "node_pressure_io_waiting_seconds_total", "waiting for I/O", "100 * "),
        _rate("memory_pressure_pct", "node_pressure_memory_waiting_seconds_total", "waiting for memory", "100 * "),
        _system(
            "cpu_wait_sum_pct",
            "node_schedstat_waiting_seconds_total",
            "100 * sum by (instance) (max by (instance, cpu) (rate(node_schedstat_waiting_seconds_total{$m}[$r])))",
            "waiting for a CPU",
        ),
        _system(
            "memory_bytes", "node_memory_MemTotal_bytes", "max by (instance) (node_memory_MemTotal_bytes{$m})", "memory"
        ),
        _system(
            "memory_free_bytes",
            "node_memory_MemFree_bytes",
            "max by (instance) (node_memory_MemFree_bytes{$m})",
            "memory",
        ),
        _system(
            "memory_used_bytes",
            "node_memory_MemAvailable_bytes",
            "max by (instance) (node_memory_MemTotal_bytes{$m} - node_memory_MemAvailable_bytes{$m})",
            "memory",
        ),
        _system(
            "swapped_bytes",
            "node_memory_SwapFree_bytes",
            "max by (instance) (node_memory_SwapTotal_bytes{$m} - node_memory_SwapFree_bytes{$m})",
            "swapping",
        ),
        # pages of 4 KiB, as on x86
        _rate("swap_in_bytes_per_s", "node_vmstat_pswpin", "swapping", "4096 * "),
        _rate("swap_out_bytes_per_s", "node_vmstat_pswpout", "swapping", "4096 * "),
        *(
            _rate(metric, f"node_disk_{series}", "storage load", scale, "disk", _OF_A_DISK)
            for metric, series, scale in (
                ("read_iops", "reads_completed_total", ""),
                ("write_iops", "writes_completed_total", ""),
                ("read_bytes_per_s", "read_bytes_total", ""),
                ("write_bytes_per_s", "written_bytes_total", ""),
                ("disk_busy_pct", "io_time_seconds_total", "100 * "),
                ("active_commands", "io_time_weighted_seconds_total", ""),
            )
        ),
        *(
            _latency(f"{way}_latency_ms", f"node_disk_{way}_time_seconds_total", count, "disk", _OF_A_DISK, _DISKS)
            for way, count in (
                ("read", "node_disk_reads_completed_total"),
                ("write", "node_disk_writes_completed_total"),
            )
        ),
        *(
            _system(
                f"network_{way}_bytes_per_s",
                f"node_network_{word}_bytes_total",
                f"sum by (instance) (max by (instance, device) (rate(node_network_{word}_bytes_total{{{_NICS}}}[$r])))",
                "network load",
            )
            for way, word in (("rx", "receive"), ("tx", "transmit"))
        ),
    ),
)


def _domain(metric: str, series: str, costs: str, *, rate: bool = False) -> Query:
    value = f"rate({series}{{$m}}[$r])" if rate else f"{series}{{$m}}"
    return Query(metric, "vm", series, f"max by (instance, domain) ({value})", costs)


def _vcpu_seconds(metric: str, series: str, costs: str) -> tuple[Query, Query]:
    each = f"max by (instance, domain, vcpu) (rate({series}{{$m}}[$r]))"
    return (
        Query(metric, "vm", series, f"100 * sum by (instance, domain) ({each})", costs, in_vcpu_seconds=True),
        Query(metric, "vcpu", series, f"100 * {each}", costs, in_vcpu_seconds=True),
    )


_OF_A_VDISK = "instance, domain, target_device"

LIBVIRT = Exporter(
    "libvirt exporter",
    "libvirt_domain_info_virtual_cpus",
    (
        _domain("vcpus", "libvirt_domain_info_virtual_cpus", "vCPUs"),
        _domain("cpu_cores", "libvirt_domain_info_cpu_time_seconds_total", "CPU use", rate=True),
        *_vcpu_seconds("run_sum_pct", "libvirt_domain_vcpu_time_seconds_total", "CPU use of vCPUs"),
        *_vcpu_seconds(
            "ready_sum_pct", "libvirt_domain_vcpu_delay_seconds_total", "ready (libvirt 7.2 or later has it)"
        ),
        _domain("memory_bytes", "libvirt_domain_info_maximum_memory_bytes", "memory"),
        _domain("memory_used_bytes", "libvirt_domain_memory_stats_rss_bytes", "memory"),
        Query(
            "ballooned_bytes",
            "vm",
            "libvirt_domain_info_memory_usage_bytes",
            "max by (instance, domain) "
            "(libvirt_domain_info_maximum_memory_bytes{$m} - libvirt_domain_info_memory_usage_bytes{$m})",
            "ballooning",
        ),
        *(
            Query(
                metric,
                "vdisk",
                f"libvirt_domain_block_stats_{series}",
                f"max by ({_OF_A_VDISK}) (rate(libvirt_domain_block_stats_{series}{{$m}}[$r]))",
                "storage load",
            )
            for metric, series in (
                ("read_iops", "read_requests_total"),
                ("write_iops", "write_requests_total"),
                ("read_bytes_per_s", "read_bytes_total"),
                ("write_bytes_per_s", "write_bytes_total"),
            )
        ),
        *(
            _latency(
                f"{way}_latency_ms",
                f"libvirt_domain_block_stats_{way}_time_seconds_total",
                f"libvirt_domain_block_stats_{way}_requests_total",
                "vdisk",
                _OF_A_VDISK,
                "$m",
            )
            for way in ("read", "write")
        ),
        *(
            Query(
                f"network_{way}_bytes_per_s",
                "vm",
                f"libvirt_domain_interface_stats_{word}_bytes_total",
                f"sum by (instance, domain) (rate(libvirt_domain_interface_stats_{word}_bytes_total{{$m}}[$r]))",
                "network load",
            )
            for way, word in (("rx", "receive"), ("tx", "transmit"))
        ),
    ),
)

VCENTER_REAL_TIME_S = 20.0
"""Interval of vmware_exporter, which reads the newest real-time sample of vCenter: milliseconds per 20 s."""


def _vmware(of: str, metric: str, series: str, costs: str, scale: str = "", over_s: float | None = None) -> Query:
    by = {"vm": "vm_name, host_name", "host": "host_name"}[of]
    name = f"vmware_{of}_{series}"
    return Query(metric, of, name, f"max by ({by}) ({name}{{$m}} >= 0){scale}", costs, over_s)


def _summation(metric: str, counter: str, costs: str) -> Query:
    """Return the milliseconds of 20 s, summed over the vCPUs, as a percentage."""
    return _vmware("vm", metric, f"cpu_{counter}_summation", costs, " / 200", VCENTER_REAL_TIME_S)


VMWARE = Exporter(
    "vmware_exporter",
    "vmware_vm_num_cpu",
    (
        _vmware("vm", "vcpus", "num_cpu", "vCPUs"),
        _summation("ready_sum_pct", "ready", "ready"),
        _summation("costop_sum_pct", "costop", "co-stop"),
        _summation("limited_sum_pct", "maxlimited", "limits"),
        _summation("swap_wait_sum_pct", "swapwait", "swap wait"),
        _summation("idle_sum_pct", "idle", "idle vCPUs"),
        _vmware("vm", "used_mhz", "cpu_usagemhz_average", "CPU use"),
        _vmware("vm", "demand_mhz", "cpu_demand_average", "CPU demand"),
        # MB and KB of vSphere are powers of two
        _vmware("vm", "memory_bytes", "memory_max", "memory", " * 1048576"),
        _vmware("vm", "memory_active_bytes", "mem_active_average", "memory", " * 1024"),
        _vmware("vm", "ballooned_bytes", "mem_vmmemctl_average", "ballooning", " * 1024"),
        _vmware("vm", "swapped_bytes", "mem_swapped_average", "swapping", " * 1024"),
        _vmware("vm", "swap_in_bytes_per_s", "mem_swapinRate_average", "swapping", " * 1024"),
        _vmware("vm", "swap_out_bytes_per_s", "mem_swapoutRate_average", "swapping", " * 1024"),
        _vmware("vm", "read_bytes_per_s", "disk_read_average", "storage load", " * 1024"),
        _vmware("vm", "write_bytes_per_s", "disk_write_average", "storage load", " * 1024"),
        _vmware("vm", "network_rx_bytes_per_s", "net_bytesRx_average", "network load", " * 1024"),
        _vmware("vm", "network_tx_bytes_per_s", "net_bytesTx_average", "network load", " * 1024"),
        _vmware("host", "cores", "num_cpu", "cores"),
        Query(
            "clock_mhz",
            "host",
            "vmware_host_cpu_max",
            "max by (host_name) (vmware_host_cpu_max{$m} / vmware_host_num_cpu{$m})",
            "clock",
        ),
        Query(
            "usage_pct",
            "host",
            "vmware_host_cpu_usage",
            "100 * max by (host_name) (vmware_host_cpu_usage{$m} / vmware_host_cpu_max{$m})",
            "CPU use of hosts",
        ),
        _vmware("host", "memory_bytes", "memory_max", "memory of hosts", " * 1048576"),
        _vmware("host", "memory_used_bytes", "memory_usage", "memory of hosts", " * 1048576"),
    ),
)

EXPORTERS = (NODE, LIBVIRT, VMWARE)
PROBES = ", ".join(f"{exporter.name} ({exporter.probe})" for exporter in EXPORTERS)
"""Exporters with their probes, in words."""
