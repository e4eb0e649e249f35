"""The metrics catalogue: meaning of each figure of a report, and its names in other tools.

The table is the source of the pages, the column heads and docs/metrics.md, so each metric is explained in one place.
The engine defines the metrics that it measures of VMs (`crates/engine/src/measure/vm_metrics.rs`).
"""

from __future__ import annotations

import json
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

from hypertwin import _core
from hypertwin.metrics import bands
from hypertwin.metrics.words import RESOLVED_PCT


@dataclass(frozen=True)
class Metric:
    """Figure of a report, with fields in the order of the columns of docs/metrics.md.

    `scopes` are the sections that contain the figure. A tool without the figure has no name for it.
    """

    key: str
    scopes: tuple[str, ...]
    name: str
    unit: str
    definition: str
    _: KW_ONLY
    esxtop: str = ""
    vcenter: str = ""
    linux: str = ""
    storage_software: str = ""
    summed: bool = False
    """True if a group has the sum over its VMs and not their mean."""
    resolution: float | None = None
    """Resolution of the model, in the unit of the metric.

    Tables and pages show smaller values as below the resolution.
    """

    @property
    def text(self) -> str:
        """Definition of the metric, with its meaning for a group and its resolution."""
        of_group = " For a group it is the sum over its VMs." if self.summed else ""
        fine = f" Below {self.resolution:g} {self.unit} the model does not resolve it." if self.resolution else ""
        return f"{self.definition}{of_group}{fine}"


HOST = ("host",)
HOSTS = ("host", "cluster")
VM = ("vm", "group")
BOTH = ("host", "vm", "group")
CLUSTER = ("cluster",)
POINT = ("point",)
STATION = ("storage",)
POOL = ("pool",)
SPACE = ("space",)
TIMED_POOL = ("pool", "timeline")
"""Sections of pool figures that are also in the timeline."""


def _band(each: bands.Band) -> str:
    """Return a band in words: `co-stop per vCPU 1, 3 % (Duncan Epping, esxtop thresholds: 3 %)`."""
    limits = ", ".join(f"{limit:g}" for limit in (each.info, each.warning, each.critical) if limit is not None)
    return f"{each.what} {limits}{f' {each.unit}' if each.unit else ''} ({each.source})"


_OF_ENGINE = {each["key"]: each for each in json.loads(_core.metrics())}
"""Metrics of VMs, as the engine defines them."""


def _vm(key: str, scopes: tuple[str, ...] = VM, **more: Any) -> Metric:
    """Return a metric of VMs with its names in other tools."""
    of = _OF_ENGINE[key]
    return Metric(key, scopes, of["name"], of["unit"], of["definition"], summed=of["summed"], **more)


_NAMED: tuple[Metric, ...] = (
    Metric(
        "usage_pct",
        HOSTS,
        "Host usage",
        "%",
        "CPU cycles used divided by cores × nominal clock, at most 100. At 100 every core has a busy thread, although "
        "second threads still have capacity. For a cluster it is the mean over its hosts, weighted by cores × nominal "
        "clock.",
        esxtop="PCPU USED(%) (average)",
        vcenter="cpu.usage.average",
    ),
    Metric(
        "utilization_pct",
        HOST,
        "Host utilization",
        "%",
        "Mean over hardware threads of the time that each was busy.",
        esxtop="PCPU UTIL(%) (average)",
        vcenter="cpu.utilization.average",
        linux="100 − %idle of mpstat on the host",
    ),
    Metric(
        "core_utilization_pct",
        HOST,
        "Core utilization",
        "%",
        "Mean over cores of the time that at least one thread was busy.",
        esxtop="CORE UTIL(%) (average)",
        vcenter="cpu.coreUtilization.average",
    ),
    Metric(
        "overhead_pct",
        HOST,
        "Hypervisor overhead",
        "%",
        "Part of the host's core capacity that the hypervisor's own worlds or threads used for VMs: I/O, network, "
        "device emulation.",
        esxtop="%USED of the vmx and vmkernel worlds",
        linux="CPU time of vhost and QEMU I/O threads",
    ),
    _vm(
        "ready_pct",
        (*BOTH, *CLUSTER),
        esxtop="%RDY ÷ vCPUs",
        vcenter="cpu.ready.summation ÷ (interval × 1000 × vCPUs)",
        linux="run-queue wait in /proc/PID/task/TID/schedstat; the guest sees it as steal",
        resolution=RESOLVED_PCT,
    ),
    _vm(
        "costop_pct",
        BOTH,
        esxtop="%CSTP ÷ vCPUs",
        vcenter="cpu.costop.summation ÷ (interval × 1000 × vCPUs)",
        linux="none: Linux does not co-schedule",
        resolution=RESOLVED_PCT,
    ),
    Metric(
        "memory_pct",
        HOSTS,
        "Memory configured",
        "%",
        "Configured memory of VMs plus hypervisor memory (`hypervisor_memory`), in % of the memory of the host, or of "
        "all hosts of the cluster. It follows from the scenario: VMs of a failed host count there, and the memory "
        "overhead of VMs does not count. Above 100% the host reclaims memory only if the touched memory of VMs does "
        "not fit.",
    ),
    Metric(
        "memory_usage_pct",
        HOSTS,
        "Memory in use",
        "%",
        "As `memory_pct`, but with the touched memory of VMs (`memory_touched`). By default VMs touch all their "
        "memory.",
        vcenter="mem.usage.average (related)",
    ),
    _vm(
        "memory_gb_per_s",
        BOTH,
        linux="of a host: uncore_imc/cas_count_read/ + cas_count_write/ of perf stat -a, 64 bytes each; of a VM: "
        "mbm_total_bytes of resctrl",
    ),
    Metric(
        "nodes_N_usage_pct",
        HOST,
        "Usage of a NUMA node",
        "%",
        "As `usage_pct`, for the cores of node N. Interrupts of idle hardware threads count only for the host.",
    ),
    Metric(
        "nodes_N_vcpus",
        HOST,
        "vCPUs of a NUMA node",
        "",
        "vCPUs whose home is node N at the end of the run. Without home nodes (Linux, VMs with an affinity) it counts "
        "vCPUs placed there at power-on.",
        esxtop="NHN of the VMs",
    ),
    Metric(
        "nodes_N_memory_mb",
        HOST,
        "Memory of VMs on a NUMA node",
        "MB",
        "Configured memory of VMs on node N at the end of the run, in mebibytes like esxtop.",
        linux="numastat -c qemu",
    ),
    Metric(
        "nodes_N_memory_pct",
        HOST,
        "Memory in use of a NUMA node",
        "%",
        "The same memory in % of the node's memory for VMs, without hypervisor memory.",
    ),
    Metric(
        "nodes_N_memory_gb_per_s",
        HOST,
        "Memory bandwidth of a NUMA node",
        "GB/s",
        "Bytes that the memory of node N delivers per second, to all nodes. If one node is near its limit and another "
        "is idle, a VM might be on one node only.",
        linux="the same counters of perf stat --per-socket",
    ),
    Metric(
        "vcpus",
        (*VM, *CLUSTER),
        "vCPUs",
        "",
        "Virtual CPUs of the VM, or of all VMs of the cluster.",
        esxtop="NWLD of type vCPU",
        vcenter="summary.config.numCpu",
        linux="nproc (guest)",
        summed=True,
    ),
    Metric("host", ("vm",), "Host", "", "The host that the VM runs on.", vcenter="runtime.host"),
    Metric(
        "cluster",
        ("host", "vm"),
        "Cluster",
        "",
        "The cluster of the host, or of the VM's host. `default` if the scenario names none.",
        vcenter="runtime.host.parent",
    ),
    Metric("count", ("group",), "VMs", "", "Virtual machines in the group."),
    Metric(
        "hosts",
        ("group", "cluster"),
        "Hosts",
        "",
        "The hosts of the group's VMs: a list, in JSON only. For a cluster it is the number of hosts.",
    ),
    Metric("clusters", ("group",), "Clusters", "", "The clusters of the group's VMs. In JSON only."),
    Metric("vms", CLUSTER, "VMs", "", "Virtual machines in the cluster."),
    Metric("cores", CLUSTER, "Cores", "", "Physical cores of the cluster's hosts."),
    Metric("vcpu_per_core", CLUSTER, "vCPUs per core", "", "vCPUs of the cluster's VMs divided by its physical cores."),
    Metric(
        "peak_host",
        CLUSTER,
        "Most loaded host",
        "",
        "The host of the cluster with the highest usage, or the first of equal ones.",
    ),
    Metric("fullest_host_pct", CLUSTER, "Usage of the most loaded host", "%", "`usage_pct` of that host."),
    _vm("down_s", BOTH, vcenter="sys.uptime.latest (related)"),
    Metric(
        "slow_s",
        VM,
        "Slowed",
        "s",
        "Part of the measured time in which the VM's own live migration slowed it down or stopped it. It got only "
        "part of its CPU time so that it writes less than is sent, or it paused for its last pages.",
    ),
    Metric(
        "migration_cpu_pct",
        HOST,
        "CPU of migrations",
        "%",
        "Part of the host's core capacity that sends and receives VMs. The host's usage includes it.",
        esxtop="%USED of the migration helper worlds",
    ),
    Metric(
        "memory_state",
        HOST,
        "Memory state",
        "",
        "The worst state that free memory reached, by ESXi's thresholds: high, clear, soft, hard, low. From clear on "
        "the host shares pages, in soft it balloons VMs, in hard and low it compresses or swaps their pages. Memory "
        "figures exist only for hosts that can run short of memory.",
        esxtop="state on the MEM panel",
        vcenter="mem.state.latest",
    ),
    Metric(
        "memory_overcommit_pct",
        HOST,
        "Memory overcommitted",
        "%",
        "Touched memory of VMs with overhead, minus the host's memory for them, in % of the latter. Negative if all "
        "fits.",
        esxtop="MEM overcommit avg × 100",
    ),
    Metric(
        "memory_free_bytes",
        HOST,
        "Memory free",
        "bytes",
        "Unused memory of the host.",
        esxtop="free of PMEM",
        linux="MemFree",
    ),
    Metric(
        "memory_min_free_bytes",
        HOST,
        "Memory minimum",
        "bytes",
        "Memory that ESXi tries to keep free: 6 % of the first 4 GiB, 4 % of the next 8, 2 % of the next 16, and 1 % "
        "of further memory. States are shares of it. On Linux it is the high watermark.",
        esxtop="minfree",
    ),
    Metric(
        "memory_granted_bytes",
        VM,
        "Memory granted",
        "bytes",
        "Memory of the VM that is backed by host memory, including shared pages.",
        esxtop="GRANT",
        vcenter="mem.granted.average",
        summed=True,
    ),
    Metric(
        "memory_consumed_bytes",
        VM,
        "Memory consumed",
        "bytes",
        "Host memory that the VM's memory consumes: granted memory minus shared savings, with compressed pages at "
        "half size.",
        esxtop="MEMSZ − what is taken back",
        vcenter="mem.consumed.average",
        linux="RSS of the QEMU process",
        summed=True,
    ),
    Metric(
        "memory_active_bytes",
        VM,
        "Memory active",
        "bytes",
        "Recently used memory of the VM, as the host estimates it from samples.",
        esxtop="TCHD",
        vcenter="mem.active.average",
        summed=True,
    ),
    Metric(
        "memory_target_bytes",
        VM,
        "Memory target",
        "bytes",
        "Memory that the host plans for the VM, by shares and reservation, with less for idle memory.",
        esxtop="SZTGT",
        summed=True,
    ),
    Metric(
        "memory_shared_bytes",
        BOTH,
        "Memory shared",
        "bytes",
        "Memory that page sharing saves. For a host it is the sum over its VMs.",
        esxtop="SHRDSVD",
        vcenter="mem.shared.average − mem.sharedcommon.average",
        linux="pages_sharing of KSM",
        summed=True,
    ),
    Metric(
        "memory_ballooned_bytes",
        BOTH,
        "Memory ballooned",
        "bytes",
        "Memory that guests gave back to balloons, their least used first. For a host it is the sum over its VMs.",
        esxtop="MCTLSZ",
        vcenter="mem.vmmemctl.average",
        linux="maximum − actual of virsh dommemstat",
        summed=True,
    ),
    Metric(
        "memory_compressed_bytes",
        BOTH,
        "Memory compressed",
        "bytes",
        "Memory of VMs that the host keeps compressed instead of swapping it out. For a host it is the sum over its "
        "VMs.",
        esxtop="CACHEUSD",
        vcenter="mem.compressed.average",
        summed=True,
    ),
    Metric(
        "memory_swapped_bytes",
        BOTH,
        "Memory swapped",
        "bytes",
        "Memory of VMs that the host swapped out without the guest's knowledge. It is read back when it is used. For "
        "a host it is the sum over its VMs.",
        esxtop="SWCUR",
        vcenter="mem.swapped.average",
        linux="VmSwap of the QEMU process",
        summed=True,
    ),
    Metric(
        "memory_overhead_bytes",
        VM,
        "Memory overhead",
        "bytes",
        "Host memory that the hypervisor needs for the VM in addition to the VM's memory.",
        esxtop="OVHD",
        vcenter="mem.overhead.average",
        summed=True,
    ),
    Metric(
        "memory_swap_in_bytes_per_s",
        BOTH,
        "Swapped in",
        "bytes/s",
        "Memory read back from the host's swap device, because it was used. For a host it is the sum over its VMs.",
        esxtop="SWR/s",
        vcenter="mem.swapinRate.average",
        linux="pswpin of /proc/vmstat × page size",
        summed=True,
    ),
    Metric(
        "memory_swap_out_bytes_per_s",
        BOTH,
        "Swapped out",
        "bytes/s",
        "Memory that the host wrote to its swap device. For a host it is the sum over its VMs.",
        esxtop="SWW/s",
        vcenter="mem.swapoutRate.average",
        linux="pswpout of /proc/vmstat × page size",
        summed=True,
    ),
    Metric(
        "memory_swap_wait_pct",
        VM,
        "Swap wait",
        "%",
        "Time in which a vCPU waited for memory that the host had swapped out. Per vCPU. The guest counts it as busy.",
        esxtop="%SWPWT ÷ vCPUs",
        vcenter="cpu.swapwait.summation ÷ (interval × 1000 × vCPUs)",
        linux="part of wa and st; the guest cannot tell it apart",
    ),
    Metric("load", VM, "Load", "×", "Multiplier of the workload's population or arrival rate, as set in the scenario."),
    _vm(
        "run_pct",
        esxtop="%RUN ÷ vCPUs",
        vcenter="cpu.run.summation ÷ (interval × 1000 × vCPUs)",
        linux="CPU time of the vCPU threads",
    ),
    _vm(
        "wait_pct",
        esxtop="%WAIT ÷ vCPUs",
        vcenter="cpu.wait.summation ÷ (interval × 1000 × vCPUs)",
        linux="sleep of the vCPU threads",
    ),
    Metric(
        "idle_pct",
        VM,
        "Idle",
        "%",
        "Part of Wait in which the guest had no work.",
        esxtop="%IDLE ÷ vCPUs",
        vcenter="cpu.idle.summation ÷ (interval × 1000 × vCPUs)",
        linux="%idle of mpstat (guest)",
    ),
    _vm(
        "limited_pct",
        esxtop="%MLMTD ÷ vCPUs",
        vcenter="cpu.maxlimited.summation ÷ (interval × 1000 × vCPUs)",
        linux="throttled_usec in the cgroup's cpu.stat",
    ),
    _vm("waiting_pct"),
    _vm(
        "system_pct",
        esxtop="%SYS ÷ vCPUs",
        vcenter="cpu.system.summation ÷ (interval × 1000 × vCPUs)",
        linux="CPU time of vhost threads and soft interrupts",
    ),
    _vm("overlap_pct", esxtop="%OVRLP ÷ vCPUs", vcenter="cpu.overlap.summation ÷ (interval × 1000 × vCPUs)"),
    _vm("used_pct", esxtop="%USED ÷ vCPUs", vcenter="cpu.used.summation ÷ (interval × 1000 × vCPUs)"),
    _vm("demand_pct", vcenter="cpu.demandEntitlementRatio (related)"),
    _vm("demand_mhz", vcenter="cpu.demand.average"),
    _vm("used_mhz", vcenter="cpu.usagemhz.average"),
    _vm("guest_cpu_pct", linux="100 − %idle of mpstat, us + sy + st of vmstat (guest)"),
    _vm("guest_cpu_peak_pct", linux="highest sample of sar -u (guest)"),
    _vm("run_queue", linux="r of vmstat (guest)"),
    _vm("throughput_per_s"),
    _vm("throughput_units_per_s"),
    Metric("unit", VM, "Unit", "", "Name of one unit of application work."),
    Metric(
        "outcomes",
        VM,
        "Outcomes",
        "",
        "If replications reach different outcomes: a list of `throughput_units_per_s`, the mean of replications "
        "within 15 % of each other, and `likelihood_pct`, their share of all. The most likely comes first. In JSON "
        "only.",
    ),
    Metric(
        "response_ms_mean",
        VM,
        "Response time, mean",
        "ms",
        "Time from the start of a transaction to its end, without think time: CPU work, waits for a vCPU, and delays "
        "that CPU contention does not lengthen.",
    ),
    Metric("response_ms_p50", VM, "Response time, median", "ms", "Half of all transactions took no longer than this."),
    Metric("response_ms_p95", VM, "Response time, p95", "ms", "95 % of all transactions took no longer than this."),
    Metric("response_ms_p99", VM, "Response time, p99", "ms", "99 % of all transactions took no longer than this."),
    Metric(
        "response_ms_curve",
        ("group",),
        "Response time, curve",
        "%, ms",
        "List of [percentile, ms] over all VMs and replications: 0 (the smallest), 10, 25, 50, 75, 90, 95, 99, 99.5, "
        "99.9, 99.99 and 100 (the largest). With n values, only percentiles up to 100 − 100 ÷ n are present, and 100. "
        "Missing without values. In JSON only.",
    ),
    Metric("response_ms_max", VM, "Response time, longest", "ms", "The longest transaction of all replications."),
    Metric(
        "response_ms_ci95",
        VM,
        "Response time, ±",
        "ms",
        "Half-width of the 95 % confidence interval of the mean over replications (Student t).",
    ),
    Metric("response_count", VM, "Transactions", "", "Transactions measured in all replications.", summed=True),
    Metric(
        "virtual_nodes",
        VM,
        "Virtual NUMA nodes",
        "",
        "NUMA nodes that the guest sees.",
        linux="NUMA node(s) of lscpu (guest)",
        summed=True,
    ),
    _vm(
        "numa_local_pct",
        esxtop="N%L; currLocal% of sched-stats -t numa-clients",
        linux="numastat -p of the QEMU process, against where its threads run",
    ),
    _vm("numa_local_mb", esxtop="NLMEM", linux="numastat -p of the QEMU process"),
    _vm("numa_remote_mb", esxtop="NRMEM", linux="numastat -p of the QEMU process"),
    _vm("memory_remote_gb_per_s", linux="mbm_total_bytes − mbm_local_bytes of resctrl; node-load-misses of perf stat"),
    _vm(
        "iops",
        esxtop="CMDS/s",
        vcenter="virtualDisk.numberReadAveraged + numberWriteAveraged",
        linux="r/s + w/s of iostat",
    ),
    Metric(
        "io_latency_ms_mean",
        VM,
        "I/O latency, mean",
        "ms",
        "Time from the guest's driver to the interrupt that returns the I/O. Only for VMs with virtual disks, like "
        "the other `io_` figures. All distributions have nanoseconds with three significant digits (HDR histogram). "
        "Means, smallest and largest values are exact.",
        esxtop="GAVG/cmd",
        vcenter="virtualDisk.totalReadLatency, totalWriteLatency",
        linux="r_await, w_await of iostat (guest)",
    ),
    Metric("io_latency_ms_p50", VM, "I/O latency, median", "ms", "Half of all I/Os took no longer than this."),
    Metric("io_latency_ms_p95", VM, "I/O latency, p95", "ms", "95 % of all I/Os took no longer than this."),
    Metric("io_latency_ms_p99", VM, "I/O latency, p99", "ms", "99 % of all I/Os took no longer than this."),
    Metric("io_latency_ms_curve", ("group",), "I/O latency, curve", "%, ms", "As `response_ms_curve`, for I/Os."),
    Metric(
        "io_mb_per_s",
        VM,
        "I/O bandwidth",
        "MB/s",
        "Payload of completed I/Os.",
        esxtop="MBREAD/s + MBWRTN/s",
        vcenter="virtualDisk.read.average + write.average",
        linux="rkB/s + wkB/s of iostat",
        summed=True,
    ),
    Metric(
        "io_cpu_cycles_per_io",
        VM,
        "CPU per I/O",
        "cycles",
        "Used time of the VM's vCPUs, of the worlds of its controllers and of its helper worlds, at the nominal "
        "clock, divided by its I/Os. It includes everything that the VM does, not only I/O.",
    ),
    Metric(
        "read_iops",
        VM,
        "Reads",
        "1/s",
        "Reads completed per second. VMs with virtual disks only, like the other `read_` figures.",
        esxtop="READS/s",
        vcenter="virtualDisk.numberReadAveraged.average",
        linux="r/s of iostat",
        summed=True,
    ),
    Metric(
        "read_mb_per_s",
        VM,
        "Reads, bandwidth",
        "MB/s",
        "Payload of completed reads.",
        esxtop="MBREAD/s",
        vcenter="virtualDisk.read.average",
        linux="rkB/s of iostat",
        summed=True,
    ),
    Metric(
        "read_latency_ms_mean",
        VM,
        "Reads, latency, mean",
        "ms",
        "As `io_latency_ms_mean`, for reads.",
        vcenter="virtualDisk.totalReadLatency.average",
        linux="r_await of iostat (guest)",
    ),
    Metric("read_latency_ms_p50", VM, "Reads, latency, median", "ms", "Half of the reads took no longer than this."),
    Metric("read_latency_ms_p95", VM, "Reads, latency, p95", "ms", "95 % of the reads took no longer than this."),
    Metric("read_latency_ms_p99", VM, "Reads, latency, p99", "ms", "99 % of the reads took no longer than this."),
    Metric("read_latency_ms_curve", ("group",), "Reads, latency, curve", "%, ms", "As `response_ms_curve`, for reads."),
    Metric(
        "write_iops",
        VM,
        "Writes",
        "1/s",
        "Writes completed per second. VMs with virtual disks only, like the other `write_` figures.",
        esxtop="WRITES/s",
        vcenter="virtualDisk.numberWriteAveraged.average",
        linux="w/s of iostat",
        summed=True,
    ),
    Metric(
        "write_mb_per_s",
        VM,
        "Writes, bandwidth",
        "MB/s",
        "Payload of completed writes.",
        esxtop="MBWRTN/s",
        vcenter="virtualDisk.write.average",
        linux="wkB/s of iostat",
        summed=True,
    ),
    Metric(
        "write_latency_ms_mean",
        VM,
        "Writes, latency, mean",
        "ms",
        "As `io_latency_ms_mean`, for writes.",
        vcenter="virtualDisk.totalWriteLatency.average",
        linux="w_await of iostat (guest)",
    ),
    Metric("write_latency_ms_p50", VM, "Writes, latency, median", "ms", "Half of the writes took no longer than this."),
    Metric("write_latency_ms_p95", VM, "Writes, latency, p95", "ms", "95 % of the writes took no longer than this."),
    Metric("write_latency_ms_p99", VM, "Writes, latency, p99", "ms", "99 % of the writes took no longer than this."),
    Metric(
        "write_latency_ms_curve", ("group",), "Writes, latency, curve", "%, ms", "As `response_ms_curve`, for writes."
    ),
    Metric(
        "copied_mb_per_s",
        VM,
        "Copied",
        "MB/s",
        "Bytes per second that a VM with a copying workload wrote to `write_to`. Its response times are of whole "
        "copies, from the start of the read to the end of the write. The `read_` and `write_` figures are of the two "
        "ends.",
        summed=True,
    ),
    Metric(
        "copy_s",
        VM,
        "Time of a copy",
        "s",
        "Time to copy the data of its virtual disks once (`working_set` × `vdisks`) at this speed. For a group it is "
        "the time for all VMs. For another amount, scale it in proportion. Missing if nothing was copied.",
    ),
    Metric(
        "members",
        STATION,
        "Members",
        "",
        "Number of ports, controllers, disks or queues in the station. Stations are named after a VM group (`-vcpus`, "
        "`-controllers`, `-vdisk-depth`, `-ring`, `-dsnro`), a host (`-ports`, `-port-depth`, `-lun-depth`), an array "
        "(`-front-end`, `-cache`, `-disks`) or a pool (`-services`, or for Ceph `-messengers`, `-shards`, `-commit`, "
        "`-gateways` and `-cpu-limit`; `-devices`, `-flash`, `-network` of its nodes, `-client-network` of the other "
        "hosts, `-cluster-network` only between its nodes).",
    ),
    Metric(
        "utilization_pct",
        STATION,
        "Utilization",
        "%",
        "Mean over the members of the time that each was busy. For a depth, the share of used slots. For a cache, the "
        "share of its space for written data in use at the end. A port counts its busier direction.",
    ),
    Metric("utilization_max_pct", STATION, "Utilization, busiest", "%", "Utilization of the busiest member."),
    Metric("queue", STATION, "In line", "I/Os", "Mean number of I/Os waiting, at all members together."),
    Metric(
        "wait_ms",
        STATION,
        "Wait",
        "ms",
        "Mean wait of all I/Os that passed, including those that did not wait. Little's law: waiting I/Os = passed "
        "per second × wait.",
        esxtop="QAVG/cmd (lun-depth, dsnro)",
    ),
    Metric("waited_pct", STATION, "Waited", "%", "Share of the I/Os that had to wait."),
    Metric(
        "throughput_per_s",
        STATION,
        "Passed",
        "1/s",
        "I/Os, or disk operations, that passed per second. A cache counts writes.",
    ),
    Metric(
        "mb_per_s", STATION, "Payload", "MB/s", "Payload that passed. Only for ports, networks, and disks of pools."
    ),
    Metric("hit_pct", STATION, "Hits", "%", "Reads that the array's cache answered. Only for caches."),
    Metric(
        "path_failovers",
        STATION,
        "Sent again",
        "",
        "I/Os that were sent again because their answer was lost with a port. Only for ports of hosts, if ports fail.",
    ),
    Metric(
        "redundancy",
        POOL,
        "Redundancy",
        "",
        "Replicas (`replicas-3:2`: three, and writes wait if fewer than two are up), or data and parity fragments "
        "(`ec-3+2`), of everything in the pool.",
        storage_software=(
            "Ceph: size and min_size of a pool, or k and m of its erasure-code profile; Virtuozzo Storage: normal and "
            "minimum replicas, or encoding M+N; vSAN: failures to tolerate"
        ),
    ),
    Metric(
        "placement_groups",
        POOL,
        "Placement groups",
        "",
        "Number of sets of devices over which data are distributed. Everything in a group has its replicas or "
        "fragments on the same devices.",
        storage_software="Ceph: PGs",
    ),
    Metric(
        "raw_gib",
        POOL,
        "Raw capacity",
        "GiB",
        "Capacity of all devices of the pool.",
        storage_software="Ceph: RAW STORAGE SIZE of ceph df; ScaleIO: maxCapacityInKb",
    ),
    Metric(
        "usable_gib",
        POOL,
        "Usable capacity",
        "GiB",
        "Raw capacity divided by the raw bytes per byte of the user: the capacity of an empty pool. Space for "
        "rebuilding is not subtracted.",
    ),
    Metric(
        "stored_gib",
        POOL,
        "Stored",
        "GiB",
        "User's data in the pool, without replicas and parity.",
        storage_software="Ceph: STORED of ceph df",
    ),
    Metric(
        "policies",
        POOL,
        "Policies",
        "",
        "If VMs name policies: the data of each policy, and under an empty `policy` the data without a policy. Each "
        "has `redundancy`, `placement_groups`, the user's data `stored_gib`, and with replicas and parity `raw_gib`.",
        storage_software="vSAN: storage policies",
    ),
    Metric(
        "read_mb_per_s",
        POOL,
        "Client reads",
        "MB/s",
        "Payload that virtual disks read, including cache hits.",
        storage_software="ScaleIO: userDataReadBwc; Ceph: client io, rd",
    ),
    Metric(
        "write_mb_per_s",
        POOL,
        "Client writes",
        "MB/s",
        "Payload of acknowledged writes of virtual disks.",
        storage_software="ScaleIO: userDataWriteBwc; Ceph: client io, wr",
    ),
    Metric(
        "read_iops",
        POOL,
        "Client reads, I/Os",
        "1/s",
        "Completed reads of virtual disks per second, including cache hits.",
        storage_software="Ceph: client io, op/s rd",
    ),
    Metric(
        "read_latency_ms_mean",
        POOL,
        "Client reads, latency, mean",
        "ms",
        "Time of a read from where it leaves its host for the pool until it is back there; guest and virtual "
        "controller are not in it.",
    ),
    Metric("read_latency_ms_p50", POOL, "Client reads, latency, median", "ms", "Half of them took no longer."),
    Metric("read_latency_ms_p95", POOL, "Client reads, latency, p95", "ms", "95 % of them took no longer."),
    Metric("read_latency_ms_p99", POOL, "Client reads, latency, p99", "ms", "99 % of them took no longer."),
    Metric(
        "write_iops",
        POOL,
        "Client writes, I/Os",
        "1/s",
        "Completed writes of virtual disks per second, including cache hits.",
        storage_software="Ceph: client io, op/s wr",
    ),
    Metric(
        "write_latency_ms_mean",
        POOL,
        "Client writes, latency, mean",
        "ms",
        "Time of a write from where it leaves its host for the pool until it is back there; guest and virtual "
        "controller are not in it.",
    ),
    Metric("write_latency_ms_p50", POOL, "Client writes, latency, median", "ms", "Half of them took no longer."),
    Metric("write_latency_ms_p95", POOL, "Client writes, latency, p95", "ms", "95 % of them took no longer."),
    Metric("write_latency_ms_p99", POOL, "Client writes, latency, p99", "ms", "99 % of them took no longer."),
    Metric(
        "device_read_mb_per_s",
        POOL,
        "Device reads",
        "MB/s",
        "Bytes that the pool's devices read: for clients, for parity, and for rebuilding.",
        storage_software="ScaleIO: totalReadBwc",
    ),
    Metric(
        "device_write_mb_per_s",
        POOL,
        "Device writes",
        "MB/s",
        "Bytes that the pool's devices wrote: replicas, parity, data from the journal, and rebuilt data, but not "
        "writes to the journal.",
        storage_software="ScaleIO: totalWriteBwc",
    ),
    Metric(
        "amplification",
        POOL,
        "Write amplification",
        "×",
        "Bytes written for clients, to devices or first to journals, per byte that clients wrote. It is 3 for three "
        "replicas, (k+m)/k for full stripes of an erasure code, and more for overwrites of parts of a stripe. "
        "Rebuilding and failed attempts do not count.",
    ),
    Metric(
        "service_cpus",
        POOL,
        "CPUs of services",
        "",
        "Mean number of logical CPUs that all OSDs and gateways of a Ceph cluster kept busy, on all nodes.",
        storage_software="top: %CPU of all ceph-osd processes, over 100",
    ),
    Metric(
        "cache_hit_pct",
        POOL,
        "Read cache hits",
        "%",
        "Reads that the flash of the client's host answered. Only for pools with a read cache. For vSAN: reads of "
        "devices that the cache device of their disk group answered, from its read cache or its write buffer.",
        storage_software="vSAN: read cache hit rate",
    ),
    Metric(
        "acknowledged_from",
        POOL,
        "Writes acknowledged from",
        "",
        "vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture.",
    ),
    Metric(
        "buffer_pct",
        TIMED_POOL,
        "Write buffer",
        "%",
        "Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample.",
        storage_software="vSAN: write buffer free percentage, from 100",
    ),
    Metric(
        "overwritten_pct",
        POOL,
        "Overwritten",
        "%",
        "Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to devices.",
    ),
    Metric(
        "destage_mb_per_s",
        POOL,
        "Destaged",
        "MB/s",
        "vSAN: data that write buffers, or the log as full stripes, wrote to the devices.",
        storage_software="vSAN: destage rate",
    ),
    Metric(
        "degraded_pct",
        TIMED_POOL,
        "Degraded",
        "%",
        "Placement groups with a missing or outdated replica or fragment, at the end of the run or at a sample.",
        storage_software=(
            "Ceph: PGs degraded (objects degraded counts copies); Virtuozzo Storage: chunks degraded, urgent or "
            "blocked; ScaleIO: degraded capacity; vSAN: objects with reduced availability"
        ),
    ),
    Metric(
        "due_gib",
        TIMED_POOL,
        "To rebuild",
        "GiB",
        "Bytes of replicas and fragments that have a place but must still be rebuilt or brought up to date, at the "
        "end of the run or at a sample.",
        storage_software="ScaleIO: pendingFwdRebuildCapacityInKb and activeFwdRebuildCapacityInKb; vSAN: bytesToSync",
    ),
    Metric(
        "rebuilt_gib",
        TIMED_POOL,
        "Rebuilt",
        "GiB",
        "Bytes of replicas and fragments rebuilt or brought up to date since the start of the run.",
    ),
    Metric(
        "rebuild_mb_per_s",
        POOL,
        "Rebuild rate",
        "MB/s",
        "Rebuilt bytes divided by the time in which a rebuild was running.",
        storage_software="ScaleIO: fwdRebuildWriteBwc; Ceph: recovery io",
    ),
    Metric(
        "time_to_whole_s",
        POOL,
        "Time to full redundancy",
        "s",
        "Longest time from a failure until every group was recovered, including the wait before the rebuild. If the "
        "run ends first, the remaining time is calculated from the rate so far. Empty without failures, if nothing is "
        "being rebuilt, or if data are lost.",
        storage_software="vSAN: resync ETA",
    ),
    Metric(
        "scrub_mb_per_s",
        POOL,
        "Deep scrub",
        "MB/s",
        "Ceph: bytes that OSDs read to check their own data, with `ceph.deep_scrub`.",
        storage_software="Ceph: deep scrub stamps of `ceph pg dump` say when each group was read",
    ),
    Metric(
        "scrub_due_mb_per_s",
        POOL,
        "Deep scrub due",
        "MB/s",
        "Rate at which the deep scrub must read to finish in its interval: all replicas and fragments of clean groups.",
    ),
    Metric(
        "scrub_keeps_up",
        POOL,
        "Deep scrub keeps up",
        "",
        "True if in all replications the scrub read as much as was due, within a tenth or two strides of 4 MiB.",
        storage_software="Ceph: PG_NOT_DEEP_SCRUBBED where it does not",
    ),
    Metric(
        "lost_gib",
        POOL,
        "Lost",
        "GiB",
        "User's data that cannot be read, because too few replicas or fragments remain or will return.",
        storage_software="ScaleIO: failedCapacityInKb; vSAN: inaccessible objects",
    ),
    Metric(
        "suspended_ios",
        TIMED_POOL,
        "Suspended I/Os",
        "I/Os",
        "I/Os that wait until enough replicas, fragments or metadata servers are up, at the end of the run or at a "
        "sample.",
        storage_software=(
            "Ceph: slow ops on PGs below min_size; Virtuozzo Storage: requests to blocked or offline chunks, which are "
            "frozen"
        ),
    ),
    Metric(
        "retries",
        POOL,
        "Retries",
        "",
        "I/Os repeated because a node or device failed, or did not answer in time. Mean over replications.",
    ),
    Metric("errors", POOL, "I/O errors", "", "I/Os to lost data. Mean over replications."),
    Metric(
        "incidents",
        POOL,
        "Incidents",
        "",
        "Failures and returns of the first replication. Each has `time_s` since the start of the run, including the "
        "warm-up; `what`, and whether it `fails` or returns; right after it `degraded_pct`, `suspended_pct` (groups "
        "that accept no writes) and `stands_still` (no I/O at all, because most metadata servers are down); "
        "`lost_gib`; and `whole_after_s`, empty if the pool was not recovered by the end.",
    ),
    Metric(
        "bottleneck",
        POINT,
        "Bottleneck",
        "",
        "The station with the highest mean utilization, whether it is saturated (90 %), the next station, and the "
        "depth for which I/Os wait longest, if at least 5 % wait.",
    ),
    Metric(
        "usage_pct_ci95",
        HOSTS,
        "Host usage, ±",
        "points",
        "Half-width of the 95 % confidence interval over replications.",
    ),
    Metric(
        "guest_cpu_pct_ci95",
        VM,
        "Guest CPU, ±",
        "points",
        "Half-width of the 95 % confidence interval over replications.",
    ),
    Metric(
        "throughput_per_s_ci95",
        VM,
        "Throughput, ±",
        "1/s",
        "Half-width of the 95 % confidence interval over replications.",
    ),
    Metric("ready_pct_ci95", VM, "Ready, ±", "points", "Half-width of the 95 % confidence interval over replications."),
    Metric(
        "costop_pct_ci95",
        VM,
        "Co-stop, ±",
        "points",
        "Half-width of the 95 % confidence interval over replications.",
    ),
    Metric("set", POINT, "Set", "", "Paths and values in which this point differs from the scenario file."),
    Metric("replications", POINT, "Replications", "", "Independent runs behind the point's figures."),
    Metric(
        "steady",
        POINT,
        "Steady",
        "",
        "True if every condition of a steady state holds. `verdict` has the first that does not hold.",
    ),
    Metric(
        "verdict",
        POINT,
        "Verdict",
        "",
        "`steady`, `not-steady` if a condition is contradicted, or `not-known` if the data are too few, with the "
        "`reason`. Conditions, in this order: no VM stopped or returned while it was measured, and the scenario has "
        "no failure, event or load step in that time; no pool has data to rebuild; no stock grows (transactions in "
        "progress, queues of stations, caches, write buffers, reclaimed memory: trend over 24 looks, by chance in at "
        "most one of 1,000 runs, and more than 0.5 % of the flow); the measured time has five times the p99 of every "
        "group, five periods of a CPU quota, three rounds of every closed session, 8 looks, and 100 transactions of "
        "every open group; guest CPU, throughput and response time have settled (MSER-5: White, 1997; or the halves "
        "differ only by chance); no p99 rises by more than a fifth through eighths of the run, other than by chance; "
        "Little's law accounts for the sessions of closed loops, to 5 % and chance; the upper limit (99.9 %) of the "
        "CPU work offered to an open VM is below the capacity of its vCPUs. Figures that are not steady have no half- "
        "widths, unless the scenario itself changes over time (`by_design`).",
    ),
    Metric(
        "judgement",
        POINT,
        "Judgement",
        "",
        "Meaning of the point: `tone` (`good`, `warn`, `bad`), the answer as `text` with `more`, the `signs` of `vms` "
        "and `groups` beyond a band (`metric`, `severity`, `value`, `weight` over the worst limit, `text`), and the "
        "limit of each group (`limits`: `kind`, `of`, `value_pct`, `text`). All views use it. The bands, with their "
        f"sources: {'; '.join(map(_band, bands.table().values()))}.",
    ),
    Metric(
        "model_error",
        POINT,
        "Model error",
        "",
        "80% intervals with the error of the twin itself, from the errors of published figures: `low` and `high` by "
        "name and flat key (`groups.db.response_ms_p99`), with the key of their evidence in `bases`. `responses` has "
        "the area with the largest share of each group's mean response. A VM has the factors of its group. Figures of "
        "0, and throughputs that the scenario sets, have no interval. In JSON only.",
    ),
    Metric("warmup_s", POINT, "Warm-up", "s", "Simulated time discarded before measuring."),
    Metric("duration_s", POINT, "Duration", "s", "Simulated time measured, per replication."),
    Metric(
        "calibration",
        POINT,
        "Calibration",
        "",
        "The data on which the scenario's parameters were calibrated, or null.",
    ),
    Metric(
        "failures",
        POINT,
        "Failures of hosts",
        "",
        "Each failure and return of hosts, in the first replication: `time_s` since the start of the run, including "
        "the warm-up, `what` as named in the scenario, whether it `fails` or returns, the `hosts`, and the `vms` that "
        "stopped or returned with them. A host that is down does not fail again, and returns when the last of its "
        "failures ends. In JSON only.",
    ),
    Metric(
        "moves",
        POINT,
        "Moves",
        "",
        "Finished and unfinished moves of VMs, in the first replication: `kind` (migration or restart), `why` (event, "
        "maintenance, balance, rule, failure), `at_s` and `end_s` since the start of the run, `outcome` (done, "
        "running, given-up), `rounds`, `sent_bytes`, and `downtime_ms`, the pause at the end. In JSON only, and only "
        "if VMs can move.",
    ),
    Metric("kind", SPACE, "Kind", "", "Kind of the pool in the scenario."),
    Metric("raw_gib", SPACE, "Raw capacity", "GiB", "Capacity of all devices of the pool."),
    Metric(
        "full_pct",
        SPACE,
        "Full at",
        "%",
        "Highest fill level of devices by the rules of the product: `ceph.nearfull_pct`, 90 % for vSAN (assumed: the "
        "difference is the operations reserve), else 100 %.",
        storage_software="Ceph: mon_osd_nearfull_ratio",
    ),
    Metric(
        "room_gib",
        SPACE,
        "Usable",
        "GiB",
        "User's data that fit into the pool with the policies in use, so that no device exceeds that level. If the "
        "other hosts can take the data of a lost host, they fit even after its rebuild (vSAN: host rebuild reserve). "
        "Assumes perfect placement.",
        storage_software="Ceph: MAX AVAIL of ceph df and what is stored, without the lost host",
    ),
    Metric("stored_gib", SPACE, "Stored", "GiB", "User's data in the pool, without replicas and parity."),
    Metric(
        "used_pct",
        SPACE,
        "Used",
        "%",
        "Fill level of devices: stored data with replicas and parity, divided by raw capacity.",
    ),
    Metric("free_gib", SPACE, "Free", "GiB", "Further user's data that fit, with the policies in use."),
    Metric(
        "policies",
        SPACE,
        "Policies",
        "",
        "For each policy, and for the pool's own redundancy (`(pool)`): raw bytes per byte (`overhead`), stored data "
        "`stored_gib`, capacity if all data had this policy (`room_gib`), and free capacity (`free_gib`). In JSON "
        "only.",
    ),
    Metric("lost_host_survives", SPACE, "Survives a host", "", "True if all data remain after the loss of a host."),
    Metric(
        "lost_host_heals",
        SPACE,
        "Heals",
        "",
        "True if enough hosts remain for every replica or fragment (and a witness) after the permanent loss of one.",
    ),
    Metric(
        "lost_host_room_gib",
        SPACE,
        "Usable after a host",
        "GiB",
        "Capacity of the pool after that, with space for another lost host. Null if the pool cannot heal.",
    ),
    Metric("lost_host_used_pct", SPACE, "Used after a host", "%", "Fill level of devices after that rebuild."),
    Metric(
        "outages",
        POINT,
        "Outages",
        "",
        "VMs that went down with their host in a cluster with an `ha` policy, in the first replication. Each has "
        "`from_s`, the times when HA noticed the failure (`detected_s`), powered the VM on (`restart_s`) and it "
        "served again (`up_s`), and its new host (`up_on`). Null for events that did not happen. In JSON only.",
    ),
    Metric(
        "downtimes",
        POINT,
        "Downtimes",
        "s",
        "For each VM that went down with its host and served again: the mean, shortest and longest time from the "
        "failure until it served, in all replications. HA notices each failure after another time "
        "(`ha.detection_longest`). In JSON only.",
    ),
    Metric(
        "unplaced",
        POINT,
        "VMs without a place",
        "",
        "VMs that do not fit on any host, in the first replication: the time (`at_s`), and the smallest shortage on "
        "any host (`lacks`). A migrating VM stays on its host. HA retries the restart of a VM that is down. In JSON "
        "only.",
    ),
    Metric(
        "timeline",
        POINT,
        "Timeline",
        "",
        "Samples of the first replication, one per sample interval. Each figure covers only its interval. `iops` and "
        "`io_latency_ms_mean` are of virtual disks. `up` is the part of the interval in which a VM was up.",
    ),
    Metric("events", POINT, "Events", "", "Events that the simulation processed in all replications."),
    Metric("simulated_s", POINT, "Simulated time", "s", "Simulated time of all replications, including warm-ups."),
)

_HERE = {metric.key for metric in _NAMED}
CATALOGUE = (*_NAMED, *(_vm(key) for key in _OF_ENGINE if key not in _HERE))
"""All metrics. Those of VMs that no other tool has are only in the table of the engine."""


def catalogue_key(key: str) -> str:
    """Return the key in the catalogue for a flat key. Numbers in the key become `N`: `nodes_0_...` is `nodes_N_...`."""
    return re.sub(r"_\d+_", "_N_", key)


def to_markdown() -> str:
    """Return docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "<!-- Generated from python/hypertwin/metrics/catalogue.py by `make docs`. -->",
        "",
        "This page defines every figure of a report, with its name in other tools. Percentages of a VM are per "
        "vCPU (0 to 100). Figures of a group are means over its VMs, except where the definition says sum.",
        "Here and in CSV, `_` joins nested keys of the JSON: `response_ms.p99` is `response_ms_p99`.",
        "",
        "| key | of | unit | definition | esxtop | vCenter | Linux |",
        "|---|---|---|---|---|---|---|",
    ]
    pools = [metric for metric in CATALOGUE if POOL[0] in metric.scopes]
    spaces = [metric for metric in CATALOGUE if metric.scopes == SPACE]
    lines += [
        _row(metric, ", ".join(metric.scopes), metric.esxtop, metric.vcenter, metric.linux)
        for metric in CATALOGUE
        if metric not in pools and metric not in spaces
    ]
    lines += [
        "",
        "## Pools of distributed storage",
        "",
        "ScaleIO's names are from its REST statistics. These figures are under `space` of a point, and follow only "
        "from the scenario:",
        "",
        "| key | unit | definition | storage software |",
        "|---|---|---|---|",
    ]
    lines += [_row(metric, None, metric.storage_software) for metric in spaces]
    lines += [
        *("", "These figures are under `pools` of a point. Those with a star are also under `timeline.pools`:", ""),
        *("| key | unit | definition | storage software |", "|---|---|---|---|"),
    ]
    for metric in pools:
        star = " *" if metric.scopes == TIMED_POOL else ""
        lines.append(_row(metric, None, metric.storage_software, star=star))
    return "\n".join(lines) + "\n"


def _row(metric: Metric, scopes: str | None, *tools: str, star: str = "") -> str:
    of = () if scopes is None else (scopes,)
    cells = (f"`{metric.key}`{star}", *of, metric.unit, f"{metric.name}. {metric.text}", *tools)
    return "| " + " | ".join(cells) + " |"
