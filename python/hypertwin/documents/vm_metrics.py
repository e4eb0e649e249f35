"""Metrics of a VM in the output of `hypertwin simulate`. Generated from the table of the engine by `make docs`."""

from __future__ import annotations

from typing import TypedDict


class VmMetrics(TypedDict):
    """Metrics of a VM, or of a group: means of its VMs, or sums. Percentages are per vCPU."""

    run_pct: float
    """Time in which a vCPU was on a hardware thread, with its sibling thread idle or busy. Run + Ready + Co-
    stop + Wait = 100 %.
    """
    ready_pct: float
    """Time in which a vCPU could run but had no hardware thread, including limited time. Per vCPU, 0 to 100.
    For a host or cluster it is the mean over its vCPUs. Above 5 % look closer, above 10 % users notice.
    """
    ready_pct_ci95: float | None
    costop_pct: float
    """Time in which ESXi stopped a vCPU because it was too far ahead of its siblings. Per vCPU. Healthy below 1
    %, trouble above 3 %.
    """
    costop_pct_ci95: float | None
    wait_pct: float
    """Time in which a vCPU had no work or waited for the hypervisor. Includes idle time, and time in which its
    host was down.
    """
    limited_pct: float
    """Part of Ready in which only the VM's limit stopped the vCPU."""
    waiting_pct: float
    """Part of Ready in which no hardware thread was free for the vCPU: Ready without Limited, and without the
    time in which a free thread left its idle state. Only this part is contention.
    """
    system_pct: float
    """Time the hypervisor spent in interrupts and I/O for this VM, per vCPU."""
    overlap_pct: float
    """Time in which the hypervisor's work for this or another VM interrupted a vCPU on its hardware thread."""
    used_pct: float
    """Run + System − Overlap, corrected for clock, and charged 62.5 % while the sibling thread is busy. Per
    vCPU.
    """
    used_mhz: float
    """Used in MHz of the nominal clock, whole VM."""
    demand_pct: float
    """CPU that the VM's vCPUs would use without contention and limits: Run divided by the time minus Ready and
    Co-stop.
    """
    demand_mhz: float
    """Demand in MHz of the nominal clock, whole VM."""
    guest_cpu_pct: float
    """How busy the guest system sees its vCPUs. It rises if vCPUs slow down or wait, although no more work is
    done: guest figures alone mislead.
    """
    guest_cpu_pct_ci95: float | None
    guest_cpu_peak_pct: float
    """Highest guest CPU in one sample interval."""
    run_queue: float
    """Mean number of guest processes that run or are ready to run, whole VM."""
    throughput_per_s: float
    """Transactions completed per second of measured time."""
    throughput_per_s_ci95: float | None
    throughput_units_per_s: float
    """Throughput times the workload's units per transaction."""
    down_s: float
    """Part of the measured time in which the host was down, or the VM did not run because its host was down, no
    host had headroom for it, or it was starting. For a group it is the mean over its VMs. With an `ha` policy
    the VM restarts on another host, and its work is lost. Without one it waits, and continues when its host
    returns. Interrupted transactions and I/Os then count when they end, including the time down, and averages
    count this time as idle. Averages of a restarted VM cover its uptime, its throughput and IOPS the whole
    time.
    """
    iops: float
    """I/O operations completed per second."""
    numa_local_pct: float
    """Part of the VM's memory on the home nodes of the NUMA clients that use it. Below 80 % look closer."""
    numa_local_mb: float
    """Memory on the home nodes, in mebibytes like esxtop."""
    numa_remote_mb: float
    """Memory on other nodes than the home nodes, in mebibytes like esxtop."""
    memory_gb_per_s: float
    """Bytes that workloads read and write in memory per second. For a host it is what the memory of all its
    nodes delivers.
    """
    memory_remote_gb_per_s: float
    """Part of the memory bandwidth that crosses the link between nodes, counted from the node on which a vCPU
    runs. That is not always its home node.
    """
