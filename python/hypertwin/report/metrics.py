"""The metrics catalogue: meaning of each figure of a report, and its names in other tools.

The table feeds the pages, the column heads and docs/metrics.md, so each metric is explained in one place.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass

from hypertwin import bands
from hypertwin.report.words import RESOLVED_PCT


@dataclass(frozen=True)
class Metric:
    """One figure of a report, its fields in the order of the columns of docs/metrics.md.

    `scopes` are the sections it appears in; a tool that lacks the figure has no name for it.
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
    """True if a group has the sum over its VMs, not their mean."""
    resolution: float | None = None
    """Resolution of the model, in the metric's unit; tables and pages show smaller values as below it."""

    @property
    def text(self) -> str:
        """The definition, with its meaning for a group and its resolution."""
        of_group = " Of a group the sum over its VMs." if self.summed else ""
        fine = f" Below {self.resolution:g} {self.unit} it is not resolved." if self.resolution else ""
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
"""Sections of pool figures that the timeline also has."""


def _band(each: bands.Band) -> str:
    """A band in words: `co-stop per vCPU 1, 3 % (Duncan Epping, esxtop thresholds: 3 %)`."""
    limits = ", ".join(f"{limit:g}" for limit in (each.info, each.warning, each.critical) if limit is not None)
    return f"{each.what} {limits}{f' {each.unit}' if each.unit else ''} ({each.source})"


CATALOGUE: tuple[Metric, ...] = (
    Metric(
        "usage_pct",
        HOSTS,
        "Host usage",
        "%",
        "CPU cycles used over cores × nominal clock, at most 100. Says 100 when every core has a busy thread, even "
        "though its second threads still have capacity. Of a cluster the mean of its hosts, each counted by its cores "
        "× nominal clock.",
        esxtop="PCPU USED(%) (average)",
        vcenter="cpu.usage.average",
    ),
    Metric(
        "utilization_pct",
        HOST,
        "Host utilization",
        "%",
        "Mean over hardware threads of the time each was not idle.",
        esxtop="PCPU UTIL(%) (average)",
        vcenter="cpu.utilization.average",
        linux="100 − %idle of mpstat on the host",
    ),
    Metric(
        "core_utilization_pct",
        HOST,
        "Core utilization",
        "%",
        "Mean over cores of the time at least one of its threads was not idle.",
        esxtop="CORE UTIL(%) (average)",
        vcenter="cpu.coreUtilization.average",
    ),
    Metric(
        "overhead_pct",
        HOST,
        "Hypervisor overhead",
        "%",
        "Part of the host's core capacity spent by the hypervisor's own worlds or threads on behalf of the VMs: I/O, "
        "network, device emulation.",
        esxtop="%USED of the vmx and vmkernel worlds",
        linux="CPU time of vhost and QEMU I/O threads",
    ),
    Metric(
        "ready_pct",
        (*BOTH, *CLUSTER),
        "Ready",
        "%",
        "Time a vCPU could have run but no hardware thread was given to it, limited time included. Per vCPU, 0 to "
        "100; of a host or cluster the mean over its vCPUs. Above 10 % users notice; above 5 % look closer.",
        esxtop="%RDY ÷ vCPUs",
        vcenter="cpu.ready.summation ÷ (interval × 1000 × vCPUs)",
        linux="run-queue wait in /proc/PID/task/TID/schedstat; the guest sees it as steal",
        resolution=RESOLVED_PCT,
    ),
    Metric(
        "costop_pct",
        BOTH,
        "Co-stop",
        "%",
        "Time a vCPU was held back because it had got too far ahead of its siblings. Per vCPU. Healthy below 1 %, "
        "trouble above 3 %.",
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
        "Memory that its VMs are configured with, and the hypervisor's own (`hypervisor_memory`), of what the host "
        "has; of a cluster, of what all its hosts have. It follows from the scenario: VMs of a host that is down are "
        "still its own, and what the hypervisor adds for each VM is not counted. Above 100% the host reclaims memory "
        "only where what VMs have touched does not fit.",
    ),
    Metric(
        "memory_usage_pct",
        HOSTS,
        "Memory in use",
        "%",
        "As `memory_pct`, with the memory that VMs have touched (`memory_touched`), which is all where the scenario "
        "does not say.",
        vcenter="mem.usage.average (related)",
    ),
    Metric(
        "memory_gb_per_s",
        BOTH,
        "Memory bandwidth",
        "GB/s",
        "What the workloads read and write in memory per second; of a host what the memories of all its nodes deliver.",
        linux=(
            "of a host: uncore_imc/cas_count_read/ + cas_count_write/ of perf stat -a, 64 bytes each; of a VM: "
            "mbm_total_bytes of resctrl"
        ),
        summed=True,
    ),
    Metric(
        "nodes_N_usage_pct",
        HOST,
        "Usage of a NUMA node",
        "%",
        "As `usage_pct`, of the cores of node N. Interrupts of idle hardware threads count for the host only.",
    ),
    Metric(
        "nodes_N_vcpus",
        HOST,
        "vCPUs of a NUMA node",
        "",
        "vCPUs whose home is node N, at the end of the run; where there are no home nodes (Linux, VMs with an "
        "affinity) those placed there at power-on.",
        esxtop="NHN of the VMs",
    ),
    Metric(
        "nodes_N_memory_mb",
        HOST,
        "Memory of VMs on a NUMA node",
        "MB",
        "Configured memory of VMs that lies on node N, at the end of the run, in mebibytes as esxtop counts.",
        linux="numastat -c qemu",
    ),
    Metric(
        "nodes_N_memory_pct",
        HOST,
        "Memory in use of a NUMA node",
        "%",
        "That memory, of what the node has for VMs: the hypervisor's own is taken off.",
    ),
    Metric(
        "nodes_N_memory_gb_per_s",
        HOST,
        "Memory bandwidth of a NUMA node",
        "GB/s",
        "What the memory of node N delivers per second, to all nodes. One node near its limit while another idles is "
        "what a VM on one node looks like.",
        linux="the same counters of perf stat --per-socket",
    ),
    Metric(
        "vcpus",
        (*VM, *CLUSTER),
        "vCPUs",
        "",
        "Virtual CPUs of the VM; of a cluster of all its VMs.",
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
        "The cluster that the host, or the host of the VM, is in; `default` where the scenario names none.",
        vcenter="runtime.host.parent",
    ),
    Metric("count", ("group",), "VMs", "", "Virtual machines in the group."),
    Metric(
        "hosts",
        ("group", "cluster"),
        "Hosts",
        "",
        "The hosts that the group's VMs run on: a list, in JSON only. Of a cluster how many it has.",
    ),
    Metric("clusters", ("group",), "Clusters", "", "The clusters that the group's VMs are in. In JSON only."),
    Metric("vms", CLUSTER, "VMs", "", "Virtual machines in the cluster."),
    Metric("cores", CLUSTER, "Cores", "", "Physical cores of the cluster's hosts."),
    Metric("vcpu_per_core", CLUSTER, "vCPUs per core", "", "vCPUs of the cluster's VMs over its physical cores."),
    Metric(
        "peak_host",
        CLUSTER,
        "Most loaded host",
        "",
        "The host of the cluster with the highest usage; of equals the first. What a mean hides.",
    ),
    Metric("fullest_host_pct", CLUSTER, "Usage of the most loaded host", "%", "`usage_pct` of that host."),
    Metric(
        "down_s",
        BOTH,
        "Down",
        "s",
        "Part of the measured time in which the host was down, or the VM did not run: its host was down, no host had "
        "room for it, or it was starting. Of a group the mean of its VMs. With an `ha` policy a VM starts again "
        "elsewhere, from nothing: its work is lost. Without one it waits, and continues when its host is back. "
        "Interrupted transactions and I/Os then count when they end, with the time down in them, and averages count "
        "that time as idle. Averages of a restarted VM are over its time up; its throughput and IOPS are over all the "
        "time.",
        vcenter="sys.uptime.latest (related)",
    ),
    Metric(
        "slow_s",
        VM,
        "Slowed",
        "s",
        "Part of the measured time in which the VM's own live migration slowed it down or stopped it: it got only part "
        "of its CPU time so that it would write less than is sent, or stood still for its last pages.",
    ),
    Metric(
        "migration_cpu_pct",
        HOST,
        "CPU of migrations",
        "%",
        "Part of the host's core capacity that sends and receives VMs. In the host's usage, too.",
        esxtop="%USED of the migration helper worlds",
    ),
    Metric(
        "memory_state",
        HOST,
        "Memory state",
        "",
        "The worst state that free memory reached, by ESXi's thresholds: high, clear, soft, hard, low. From clear on "
        "pages are shared, in soft VMs are ballooned, in hard and low their pages are compressed or swapped out. All "
        "figures of memory are there only where a host's memory can run short.",
        esxtop="state on the MEM panel",
        vcenter="mem.state.latest",
    ),
    Metric(
        "memory_overcommit_pct",
        HOST,
        "Memory overcommitted",
        "%",
        "How much more its VMs have touched, with overhead, than the host has for them; negative where all fits.",
        esxtop="MEM overcommit avg × 100",
    ),
    Metric(
        "memory_free_bytes",
        HOST,
        "Memory free",
        "bytes",
        "Memory of the host that is not in use.",
        esxtop="free of PMEM",
        linux="MemFree",
    ),
    Metric(
        "memory_min_free_bytes",
        HOST,
        "Memory minimum",
        "bytes",
        "What ESXi wants to have free: 6 % of the first 4 GiB, 4 % up to 12, 2 % up to 28, 1 % of the rest. States are "
        "shares of it. On Linux the high watermark.",
        esxtop="minfree",
    ),
    Metric(
        "memory_granted_bytes",
        VM,
        "Memory granted",
        "bytes",
        "Memory of the VM that the host backs with some memory of its own, shared pages included.",
        esxtop="GRANT",
        vcenter="mem.granted.average",
        summed=True,
    ),
    Metric(
        "memory_consumed_bytes",
        VM,
        "Memory consumed",
        "bytes",
        "Memory of the host that the VM's own occupies: granted, less what sharing saves, and compressed, halved.",
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
        "Memory that the VM used lately, as the host estimates it from samples.",
        esxtop="TCHD",
        vcenter="mem.active.average",
        summed=True,
    ),
    Metric(
        "memory_target_bytes",
        VM,
        "Memory target",
        "bytes",
        "Memory that the host wants the VM to have: by its shares and reservation, and less for what it leaves idle.",
        esxtop="SZTGT",
        summed=True,
    ),
    Metric(
        "memory_shared_bytes",
        BOTH,
        "Memory shared",
        "bytes",
        "Memory that page sharing saves; of a host the sum over its VMs.",
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
        "Memory that guests gave back at the host's wish, of their coldest; of a host the sum over its VMs.",
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
        "Memory of VMs that the host keeps compressed instead of swapping it out; of a host the sum over its VMs.",
        esxtop="CACHEUSD",
        vcenter="mem.compressed.average",
        summed=True,
    ),
    Metric(
        "memory_swapped_bytes",
        BOTH,
        "Memory swapped",
        "bytes",
        "Memory of VMs that the host has swapped out without asking the guest; it comes back when it is used. Of a "
        "host the sum over its VMs.",
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
        "Memory of the host that the hypervisor needs for the VM beside its own.",
        esxtop="OVHD",
        vcenter="mem.overhead.average",
        summed=True,
    ),
    Metric(
        "memory_swap_in_bytes_per_s",
        BOTH,
        "Swapped in",
        "bytes/s",
        "Memory that came back from the host's swap device, because it was used; of a host the sum over its VMs.",
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
        "Memory that the host wrote to its swap device; of a host the sum over its VMs.",
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
        "Time a vCPU waited for memory that the host had swapped out. Per vCPU. Its guest takes it for busy.",
        esxtop="%SWPWT ÷ vCPUs",
        vcenter="cpu.swapwait.summation ÷ (interval × 1000 × vCPUs)",
        linux="part of wa and st; the guest cannot tell it apart",
    ),
    Metric("load", VM, "Load", "×", "Multiplier of the workload's population or arrival rate, as set in the scenario."),
    Metric(
        "run_pct",
        VM,
        "Run",
        "%",
        "Time a vCPU was on a hardware thread, whatever that thread's sibling did. Run + Ready + Co-stop + Wait = 100 "
        "%.",
        esxtop="%RUN ÷ vCPUs",
        vcenter="cpu.run.summation ÷ (interval × 1000 × vCPUs)",
        linux="CPU time of the vCPU threads",
    ),
    Metric(
        "wait_pct",
        VM,
        "Wait",
        "%",
        "Time a vCPU had nothing to do or waited for the hypervisor; includes idle time, and time its host was down.",
        esxtop="%WAIT ÷ vCPUs",
        vcenter="cpu.wait.summation ÷ (interval × 1000 × vCPUs)",
        linux="sleep of the vCPU threads",
    ),
    Metric(
        "idle_pct",
        VM,
        "Idle",
        "%",
        "Part of Wait in which the guest had nothing to run.",
        esxtop="%IDLE ÷ vCPUs",
        vcenter="cpu.idle.summation ÷ (interval × 1000 × vCPUs)",
        linux="%idle of mpstat (guest)",
    ),
    Metric(
        "limited_pct",
        VM,
        "Limited",
        "%",
        "Part of Ready in which only the VM's limit kept the vCPU from running.",
        esxtop="%MLMTD ÷ vCPUs",
        vcenter="cpu.maxlimited.summation ÷ (interval × 1000 × vCPUs)",
        linux="throttled_usec in the cgroup's cpu.stat",
    ),
    Metric(
        "system_pct",
        VM,
        "System",
        "%",
        "Time the hypervisor spent in interrupts and I/O for this VM, per vCPU.",
        esxtop="%SYS ÷ vCPUs",
        vcenter="cpu.system.summation ÷ (interval × 1000 × vCPUs)",
        linux="CPU time of vhost threads and soft interrupts",
    ),
    Metric(
        "overlap_pct",
        VM,
        "Overlap",
        "%",
        "Time a vCPU was interrupted on its hardware thread by the hypervisor's work for this or another VM.",
        esxtop="%OVRLP ÷ vCPUs",
        vcenter="cpu.overlap.summation ÷ (interval × 1000 × vCPUs)",
    ),
    Metric(
        "used_pct",
        VM,
        "Used",
        "%",
        "Run + System − Overlap, corrected for clock, and charged 62.5 % while the sibling thread is busy. Per vCPU.",
        esxtop="%USED ÷ vCPUs",
        vcenter="cpu.used.summation ÷ (interval × 1000 × vCPUs)",
    ),
    Metric(
        "demand_pct",
        VM,
        "Demand",
        "%",
        "What the VM's vCPUs would use if nothing held them back: Run over time less Ready and Co-stop.",
        vcenter="cpu.demandEntitlementRatio (related)",
    ),
    Metric(
        "demand_mhz",
        VM,
        "Demand",
        "MHz",
        "Demand in MHz of the nominal clock, whole VM.",
        vcenter="cpu.demand.average",
        summed=True,
    ),
    Metric(
        "used_mhz",
        VM,
        "Used",
        "MHz",
        "Used in MHz of the nominal clock, whole VM.",
        vcenter="cpu.usagemhz.average",
        summed=True,
    ),
    Metric(
        "guest_cpu_pct",
        VM,
        "Guest CPU",
        "%",
        "How busy the guest system believes its vCPUs are. Rises when vCPUs are slowed or taken away, although no "
        "more work is done: guest figures alone mislead.",
        linux="100 − %idle of mpstat, us + sy + st of vmstat (guest)",
    ),
    Metric(
        "guest_cpu_peak_pct",
        VM,
        "Guest CPU, peak",
        "%",
        "Highest guest CPU in one sample interval.",
        linux="highest sample of sar -u (guest)",
    ),
    Metric(
        "run_queue",
        VM,
        "Run queue",
        "processes",
        "Mean number of guest processes that run or are ready to run, whole VM.",
        linux="r of vmstat (guest)",
        summed=True,
    ),
    Metric(
        "throughput_per_s", VM, "Throughput", "1/s", "Transactions completed per second of measured time.", summed=True
    ),
    Metric(
        "throughput_units_per_s",
        VM,
        "Throughput in the application's unit",
        "units/s",
        "Throughput times the workload's units per transaction.",
        summed=True,
    ),
    Metric("unit", VM, "Unit", "", "Name of one unit of application work."),
    Metric(
        "outcomes",
        VM,
        "Outcomes",
        "",
        "Where replications differ in kind: list of `throughput_units_per_s`, the mean of those that agree within 15 "
        "% from one to the next, and `likelihood_pct`, how many of all they are; the most likely first. In JSON only.",
    ),
    Metric(
        "response_ms_mean",
        VM,
        "Response time, mean",
        "ms",
        "Time from the start of a transaction to its end, think time excluded: CPU work, waiting for a vCPU, and the "
        "delays that CPU contention does not stretch.",
    ),
    Metric("response_ms_p50", VM, "Response time, median", "ms", "Half of all transactions took no longer than this."),
    Metric("response_ms_p95", VM, "Response time, p95", "ms", "95 % of all transactions took no longer than this."),
    Metric("response_ms_p99", VM, "Response time, p99", "ms", "99 % of all transactions took no longer than this."),
    Metric(
        "response_ms_curve",
        ("group",),
        "Response time, curve",
        "%, ms",
        "List of [percentile, ms] over all VMs and replications: 0 (the least), 10, 25, 50, 75, 90, 95, 99, 99.5, "
        "99.9, 99.99 and 100 (the largest). Of n values only the percentiles up to 100 − 100 ÷ n are there, beside "
        "100: those with a value above them. Missing where there is no value. In JSON only.",
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
    Metric(
        "numa_local_pct",
        VM,
        "Local memory",
        "%",
        "Part of the VM's memory that is on the home nodes of the NUMA clients that use it. Below 80 % look closer.",
        esxtop="N%L; currLocal% of sched-stats -t numa-clients",
        linux="numastat -p of the QEMU process, against where its threads run",
    ),
    Metric(
        "numa_local_mb",
        VM,
        "Local memory",
        "MB",
        "Memory on the home nodes, in mebibytes as esxtop counts.",
        esxtop="NLMEM",
        linux="numastat -p of the QEMU process",
        summed=True,
    ),
    Metric(
        "numa_remote_mb",
        VM,
        "Remote memory",
        "MB",
        "Memory on other nodes than the home nodes, in mebibytes as esxtop counts.",
        esxtop="NRMEM",
        linux="numastat -p of the QEMU process",
        summed=True,
    ),
    Metric(
        "memory_remote_gb_per_s",
        VM,
        "Remote memory bandwidth",
        "GB/s",
        "Part of the memory bandwidth that crosses the link between nodes: from where a vCPU runs, which is not "
        "always its home node.",
        linux="mbm_total_bytes − mbm_local_bytes of resctrl; node-load-misses of perf stat",
        summed=True,
    ),
    Metric(
        "iops",
        VM,
        "I/O operations",
        "1/s",
        "I/O operations completed per second.",
        esxtop="CMDS/s",
        vcenter="virtualDisk.numberReadAveraged + numberWriteAveraged",
        linux="r/s + w/s of iostat",
        summed=True,
    ),
    Metric(
        "io_latency_ms_mean",
        VM,
        "I/O latency, mean",
        "ms",
        "Time from the guest's driver to the interrupt that brings the I/O back. VMs with virtual disks only, like the "
        "other `io_` figures. All distributions hold nanoseconds to three significant digits (HDR histogram); means, "
        "least and largest values are exact.",
        esxtop="GAVG/cmd",
        vcenter="virtualDisk.totalReadLatency, totalWriteLatency",
        linux="r_await, w_await of iostat (guest)",
    ),
    Metric("io_latency_ms_p50", VM, "I/O latency, median", "ms", "Half of all I/Os took no longer than this."),
    Metric("io_latency_ms_p95", VM, "I/O latency, p95", "ms", "95 % of all I/Os took no longer than this."),
    Metric("io_latency_ms_p99", VM, "I/O latency, p99", "ms", "99 % of all I/Os took no longer than this."),
    Metric("io_latency_ms_curve", ("group",), "I/O latency, curve", "%, ms", "As `response_ms_curve`, of I/Os."),
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
        "Used time of the VM's vCPUs, of its controllers' worlds and of its helper worlds, at the nominal clock, over "
        "its I/Os: everything the VM does, not its I/O alone.",
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
        "As `io_latency_ms_mean`, of reads.",
        vcenter="virtualDisk.totalReadLatency.average",
        linux="r_await of iostat (guest)",
    ),
    Metric("read_latency_ms_p50", VM, "Reads, latency, median", "ms", "Half of the reads took no longer than this."),
    Metric("read_latency_ms_p95", VM, "Reads, latency, p95", "ms", "95 % of the reads took no longer than this."),
    Metric("read_latency_ms_p99", VM, "Reads, latency, p99", "ms", "99 % of the reads took no longer than this."),
    Metric("read_latency_ms_curve", ("group",), "Reads, latency, curve", "%, ms", "As `response_ms_curve`, of reads."),
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
        "As `io_latency_ms_mean`, of writes.",
        vcenter="virtualDisk.totalWriteLatency.average",
        linux="w_await of iostat (guest)",
    ),
    Metric("write_latency_ms_p50", VM, "Writes, latency, median", "ms", "Half of the writes took no longer than this."),
    Metric("write_latency_ms_p95", VM, "Writes, latency, p95", "ms", "95 % of the writes took no longer than this."),
    Metric("write_latency_ms_p99", VM, "Writes, latency, p99", "ms", "99 % of the writes took no longer than this."),
    Metric(
        "write_latency_ms_curve", ("group",), "Writes, latency, curve", "%, ms", "As `response_ms_curve`, of writes."
    ),
    Metric(
        "copied_mb_per_s",
        VM,
        "Copied",
        "MB/s",
        "What a VM whose workload copies has written to `write_to`. Its response times are of whole copies, from the "
        "read's beginning to the write's end; the `read_` and `write_` figures are of the two ends.",
        summed=True,
    ),
    Metric(
        "copy_s",
        VM,
        "Time of a copy",
        "s",
        "Time to copy all that its virtual disks have in use once (`working_set` × `vdisks`) at this speed; of a group "
        "what all of its VMs have. For another amount: it is proportional. Absent where nothing was copied.",
    ),
    Metric(
        "members",
        STATION,
        "Members",
        "",
        "Ports, controllers, disks, queues and so on that the station stands for. Stations are named for a VM group "
        "(`-vcpus`, `-controllers`, `-vdisk-depth`, `-ring`, `-dsnro`), a host (`-ports`, `-port-depth`, "
        "`-lun-depth`), an array (`-front-end`, `-cache`, `-disks`) or a pool (`-services`, for which Ceph has "
        "`-messengers`, `-shards`, `-commit`, `-gateways` and `-cpu-limit`; `-devices`, `-flash`, `-network` of its "
        "nodes, `-client-network` of the other hosts, `-cluster-network` between its nodes alone).",
    ),
    Metric(
        "utilization_pct",
        STATION,
        "Utilization",
        "%",
        "Mean over the members of the time that each was busy; of a depth, of its places taken; of a cache, of its "
        "room for written data at the end. A port counts its busier direction.",
    ),
    Metric("utilization_max_pct", STATION, "Utilization, busiest", "%", "Utilization of the busiest member."),
    Metric("queue", STATION, "In line", "I/Os", "Mean number of I/Os in line, at all members together."),
    Metric(
        "wait_ms",
        STATION,
        "Wait",
        "ms",
        "Mean time in line of all that passed, those that found no line included. Little's law: in line = passed per "
        "second × wait.",
        esxtop="QAVG/cmd (lun-depth, dsnro)",
    ),
    Metric("waited_pct", STATION, "Waited", "%", "How many of those that passed found a line."),
    Metric(
        "throughput_per_s",
        STATION,
        "Passed",
        "1/s",
        "I/Os, or disk operations, that passed per second. A cache counts writes.",
    ),
    Metric("mb_per_s", STATION, "Payload", "MB/s", "Payload that passed; ports, networks and disks of pools only."),
    Metric("hit_pct", STATION, "Hits", "%", "Reads that the array's cache answered; caches only."),
    Metric(
        "path_failovers",
        STATION,
        "Sent again",
        "",
        "I/Os whose answer was lost with a port, and that were sent again; ports of hosts where ports fail only.",
    ),
    Metric(
        "redundancy",
        POOL,
        "Redundancy",
        "",
        "Copies (`replicas-3:2`: three, and writes wait below two) or data and parity fragments (`ec-3+2`) of "
        "everything in the pool.",
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
        "Sets of devices that data are dealt to: everything in a group has its copies or fragments on the same "
        "devices.",
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
        "Raw capacity over what is written for each byte of the user: what an empty pool takes. Spare room for "
        "rebuilding is not taken off.",
    ),
    Metric(
        "stored_gib",
        POOL,
        "Stored",
        "GiB",
        "User's data in the pool, without copies and parity.",
        storage_software="Ceph: STORED of ceph df",
    ),
    Metric(
        "policies",
        POOL,
        "Policies",
        "",
        "Where VMs name policies: what each keeps, and under an empty `policy` what is kept of the others' data. Of "
        "each its `redundancy` and `placement_groups`, user's data `stored_gib`, and with copies and parity `raw_gib`.",
        storage_software="vSAN: storage policies",
    ),
    Metric(
        "read_mb_per_s",
        POOL,
        "Client reads",
        "MB/s",
        "Payload that virtual disks read, caches included.",
        storage_software="ScaleIO: userDataReadBwc; Ceph: client io, rd",
    ),
    Metric(
        "write_mb_per_s",
        POOL,
        "Client writes",
        "MB/s",
        "Payload that virtual disks wrote, acknowledged.",
        storage_software="ScaleIO: userDataWriteBwc; Ceph: client io, wr",
    ),
    Metric(
        "read_iops",
        POOL,
        "Client reads, I/Os",
        "1/s",
        "Reads of virtual disks that came back per second, caches included.",
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
        "Writes of virtual disks that came back per second, caches included.",
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
        "What the pool's devices read: for clients, for parity, and for rebuilding.",
        storage_software="ScaleIO: totalReadBwc",
    ),
    Metric(
        "device_write_mb_per_s",
        POOL,
        "Device writes",
        "MB/s",
        "What the pool's devices wrote: copies, parity, what left the journal, and rebuilt data. Writes to the "
        "journal are not in it.",
        storage_software="ScaleIO: totalWriteBwc",
    ),
    Metric(
        "amplification",
        POOL,
        "Write amplification",
        "×",
        "Bytes written for clients, to devices or first to journals, per byte that clients wrote; 3 for three copies, "
        "(k+m)/k for full stripes of an erasure code, and more for overwrites of parts of a stripe. Rebuilding and "
        "failed attempts are not in it.",
    ),
    Metric(
        "service_cpus",
        POOL,
        "CPUs of services",
        "",
        "Logical CPUs that all OSDs and gateways of a Ceph cluster kept busy, on all nodes, in the mean over time.",
        storage_software="top: %CPU of all ceph-osd processes, over 100",
    ),
    Metric(
        "cache_hit_pct",
        POOL,
        "Read cache hits",
        "%",
        "Reads that the flash of the client's host answered; pools with a read cache only. vSAN: reads of devices that "
        "the cache device of their disk group answered, from its read cache or its write buffer.",
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
        "How full the write buffers of vSAN's disk groups are on average; at the end of the run, or at a sample.",
        storage_software="vSAN: write buffer free percentage, from 100",
    ),
    Metric(
        "overwritten_pct",
        POOL,
        "Overwritten",
        "%",
        "Writes to disk groups of vSAN that replaced what was still in the write buffer and save a way to devices.",
    ),
    Metric(
        "destage_mb_per_s",
        POOL,
        "Destaged",
        "MB/s",
        "vSAN: what write buffers, or the log as full stripes, gave to the devices.",
        storage_software="vSAN: destage rate",
    ),
    Metric(
        "degraded_pct",
        TIMED_POOL,
        "Degraded",
        "%",
        "Placement groups that lack a copy or fragment, or have an outdated one; at the end of the run, or at a "
        "sample.",
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
        "Bytes of copies and fragments that have a place and still have to be made or brought up to date; at the end "
        "of the run, or at a sample.",
        storage_software="ScaleIO: pendingFwdRebuildCapacityInKb and activeFwdRebuildCapacityInKb; vSAN: bytesToSync",
    ),
    Metric(
        "rebuilt_gib",
        TIMED_POOL,
        "Rebuilt",
        "GiB",
        "Bytes of copies and fragments made anew or brought up to date since the start of the run.",
    ),
    Metric(
        "rebuild_mb_per_s",
        POOL,
        "Rebuild rate",
        "MB/s",
        "Rebuilt bytes over the time in which something was being rebuilt.",
        storage_software="ScaleIO: fwdRebuildWriteBwc; Ceph: recovery io",
    ),
    Metric(
        "time_to_whole_s",
        POOL,
        "Time to full redundancy",
        "s",
        "From a failure until every group was recovered, the wait before the rebuild included; of several such "
        "times the longest. Where the run ends before: the time so far, and the rest at the rebuild rate so far. "
        "Empty without failures, and where it cannot be said: nothing is being rebuilt, or data are lost.",
        storage_software="vSAN: resync ETA",
    ),
    Metric(
        "scrub_mb_per_s",
        POOL,
        "Deep scrub",
        "MB/s",
        "Ceph: what OSDs read of their own data to check it, with `ceph.deep_scrub`.",
        storage_software="Ceph: deep scrub stamps of `ceph pg dump` say when each group was read",
    ),
    Metric(
        "scrub_due_mb_per_s",
        POOL,
        "Deep scrub due",
        "MB/s",
        "What it has to read to be done in its interval: all copies and fragments of groups that are whole.",
    ),
    Metric(
        "scrub_keeps_up",
        POOL,
        "Deep scrub keeps up",
        "",
        "Whether in all replications as much was read as fell due, but for a tenth, or two strides of 4 MiB.",
        storage_software="Ceph: PG_NOT_DEEP_SCRUBBED where it does not",
    ),
    Metric(
        "lost_gib",
        POOL,
        "Lost",
        "GiB",
        "User's data of which too few copies or fragments are left, or will ever come back, to read it.",
        storage_software="ScaleIO: failedCapacityInKb; vSAN: inaccessible objects",
    ),
    Metric(
        "suspended_ios",
        TIMED_POOL,
        "Suspended I/Os",
        "I/Os",
        "I/Os that wait until enough copies, fragments or metadata servers are there again; at the end of the run, or "
        "at a sample.",
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
        "I/Os tried again because a node or device did not answer in time, or failed; mean over replications.",
    ),
    Metric("errors", POOL, "I/O errors", "", "I/Os that asked for lost data; mean over replications."),
    Metric(
        "incidents",
        POOL,
        "Incidents",
        "",
        "Failures and returns of the first replication. Of each: `time_s` since the start of the run, warm-up "
        "included; `what` and whether it `fails` or returns; right after it `degraded_pct`, `suspended_pct` (groups "
        "that take no writes) and `stands_still` (no I/O at all: most metadata servers are away); `lost_gib` by it; "
        "`whole_after_s`, empty where it was not whole by the end.",
    ),
    Metric(
        "bottleneck",
        POINT,
        "Bottleneck",
        "",
        "The station with the highest mean utilization, whether that is saturated (90 %), the station next to it, and "
        "the depth that holds I/Os back the longest, if any makes 5 % of them wait.",
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
    Metric("set", POINT, "Set", "", "Paths and values that tell this point from the scenario file."),
    Metric("replications", POINT, "Replications", "", "Independent runs behind the point's figures."),
    Metric(
        "steady",
        POINT,
        "Steady",
        "",
        "Whether every condition of a steady state holds; `verdict` has the first that does not.",
    ),
    Metric(
        "verdict",
        POINT,
        "Verdict",
        "",
        "`steady`, `not-steady` where a condition is contradicted, `not-known` where there is too little to tell, with "
        "the `reason`. In this order: no VM stopped or came back while it was measured, and the scenario has no "
        "failure, event or step of the load then; no pool has data to rebuild; no stock grows (transactions in "
        "progress, queues of stations, caches, write buffers, reclaimed memory: the trend over 24 looks, by chance in "
        "at most one of 1,000 runs, and more than 0.5 % of what passed); the measured time holds five times the p99 of "
        "every group, five periods of a CPU quota, three rounds of every closed session, 8 looks, and 100 transactions "
        "of every open group; guest CPU, throughput and response time have settled (MSER-5: White, 1997; or the halves "
        "do not differ but by chance); no p99 rises by more than a fifth through eighths of the run, other than by "
        "chance; Little's law accounts for the sessions of closed loops, to 5 % and chance; the upper limit (99.9 %) "
        "of the CPU work offered to an open VM is below what its vCPUs can do. What is not steady has no "
        "half-widths, unless that is the scenario's own course of events (`by_design`).",
    ),
    Metric(
        "judgement",
        POINT,
        "Judgement",
        "",
        "What the point means: `tone` (`good`, `warn`, `bad`), the answer as `text` with `more`, the `signs` of `vms` "
        "and `groups` that are beyond a band (`metric`, `severity`, `value`, `weight` over the worst limit, `text`), "
        "and what `limits` each group (`kind`, `of`, `value_pct`, `text`). All views read it. The bands, from where on "
        f"a figure is worth a look or hurts, and whose they are: {'; '.join(map(_band, bands.table().values()))}.",
    ),
    Metric("warmup_s", POINT, "Warm-up", "s", "Simulated time discarded before measuring."),
    Metric("duration_s", POINT, "Duration", "s", "Simulated time measured, per replication."),
    Metric(
        "calibration",
        POINT,
        "Calibration",
        "",
        "What the scenario's parameters were calibrated on; null when nothing.",
    ),
    Metric(
        "failures",
        POINT,
        "Failures of hosts",
        "",
        "Each time that hosts went down or came up, in the first replication: `time_s` since the start of the run, "
        "warm-up included, `what` as the scenario names it, whether it `fails` or returns, the `hosts`, and the `vms` "
        "that stopped or came back with them. A host that is down does not fail again, and comes up when the last of "
        "its failures ends. In JSON only.",
    ),
    Metric(
        "moves",
        POINT,
        "Moves",
        "",
        "VMs that went from one host to another, or were to, in the first replication: `kind` migration or restart, "
        "`why` (event, maintenance, balance, rule, failure), `at_s` and `end_s` since the start of the run, `outcome` "
        "(done, running, given-up), how many `rounds` sent `sent_bytes`, and `downtime_ms`, how long it stood still at "
        "the end. In JSON only, and only where VMs may move.",
    ),
    Metric("kind", SPACE, "Kind", "", "Kind of the pool, as the scenario says it."),
    Metric("raw_gib", SPACE, "Raw capacity", "GiB", "Capacity of all devices of the pool."),
    Metric(
        "full_pct",
        SPACE,
        "Full at",
        "%",
        "How full devices may be by the rules of the product: `ceph.nearfull_pct`; 90 % of vSAN, whose operations "
        "reserve is the rest (assumed); else 100 %.",
        storage_software="Ceph: mon_osd_nearfull_ratio",
    ),
    Metric(
        "room_gib",
        SPACE,
        "Usable",
        "GiB",
        "User's data that the pool may hold at the policies in use, so that no device is fuller than that, also "
        "with a host lost and its data made anew, where the other hosts can take them (vSAN: host rebuild reserve). "
        "Assumes perfect placement.",
        storage_software="Ceph: MAX AVAIL of ceph df and what is stored, without the lost host",
    ),
    Metric("stored_gib", SPACE, "Stored", "GiB", "User's data in the pool, without copies and parity."),
    Metric("used_pct", SPACE, "Used", "%", "How full devices are: stored data, copies and parity over raw capacity."),
    Metric("free_gib", SPACE, "Free", "GiB", "How much more of the user's data fits, at the policies in use."),
    Metric(
        "policies",
        SPACE,
        "Policies",
        "",
        "Of each policy, and of the pool's own redundancy (`(pool)`): raw bytes for each byte (`overhead`), what is "
        "`stored_gib`, what may be stored if all is of it (`room_gib`), how much more fits (`free_gib`). In JSON only.",
    ),
    Metric("lost_host_survives", SPACE, "Survives a host", "", "Whether all data are there without a host."),
    Metric(
        "lost_host_heals",
        SPACE,
        "Heals",
        "",
        "Whether hosts are left for every copy or fragment (and a witness) when one is lost for good.",
    ),
    Metric(
        "lost_host_room_gib",
        SPACE,
        "Usable after a host",
        "GiB",
        "What the pool may hold then, with another host to lose; null where it cannot heal.",
    ),
    Metric("lost_host_used_pct", SPACE, "Used after a host", "%", "How full devices are then, after the rebuild."),
    Metric(
        "outages",
        POINT,
        "Outages",
        "",
        "VMs that went down with their host in a cluster with an `ha` policy, in the first replication: `from_s`, when "
        "the failure was noticed (`detected_s`), when it was powered on elsewhere (`restart_s`), when it served again "
        "(`up_s`) and where (`up_on`); null for what did not happen. In JSON only.",
    ),
    Metric(
        "unplaced",
        POINT,
        "VMs without a place",
        "",
        "VMs for which no host was found, in the first replication: when (`at_s`), and what is lacking where least is "
        "(`lacks`). A VM that was to migrate stays where it is; one that is down is tried again as its policy has it. "
        "In JSON only.",
    ),
    Metric(
        "timeline",
        POINT,
        "Timeline",
        "",
        "Samples of the first replication, one per sample interval: each the figure of that interval alone. `iops` and "
        "`io_latency_ms_mean` are those of virtual disks, of VMs that have any; `up` is the part of the interval in "
        "which a VM was up.",
    ),
    Metric("events", POINT, "Events", "", "Events the simulation processed, all replications."),
    Metric("simulated_s", POINT, "Simulated time", "s", "Simulated time of all replications, warm-up included."),
)


def catalogue_key(key: str) -> str:
    """The catalogue's key for a flat key; numbers in it become `N`: `nodes_0_...` is `nodes_N_...`."""
    return re.sub(r"_\d+_", "_N_", key)


def to_markdown() -> str:
    """Return docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "<!-- Generated from python/hypertwin/report/metrics.py by `make docs`. -->",
        "",
        "Every figure of a report, what it means, and how other tools call it. Percentages of a VM are per "
        "vCPU (0 to 100). Of a group figures are means of its VMs, unless it is said that they are sums.",
        "Nested keys of the JSON form are joined with `_` here and in CSV: `response_ms.p99` is `response_ms_p99`.",
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
        "ScaleIO's names are those of its REST statistics. Under `space` of a point, from the scenario alone:",
        "",
        "| key | unit | definition | storage software |",
        "|---|---|---|---|",
    ]
    lines += [_row(metric, None, metric.storage_software) for metric in spaces]
    lines += [
        *("", "Under `pools` of a point, and those with a star under `timeline.pools`, too:", ""),
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
