"""Names of the engine's metrics in other tools, by key: facts about programs that hypertwin knows from outside."""

from __future__ import annotations


def _part(counter: str) -> str:
    """Return a time of vCPUs in vCenter as a part of the interval."""
    return f"cpu.{counter}.summation ÷ (interval × 1000 × vCPUs)"


OTHER_TOOLS = {
    "usage_pct": ("PCPU USED(%) (average)", "cpu.usage.average", ""),
    "utilization_pct": ("PCPU UTIL(%) (average)", "cpu.utilization.average", "100 − %idle of mpstat on the host"),
    "core_utilization_pct": ("CORE UTIL(%) (average)", "cpu.coreUtilization.average", ""),
    "overhead_pct": ("%USED of the vmx and vmkernel worlds", "", "CPU time of vhost and QEMU I/O threads"),
    "ready_pct": (
        "%RDY ÷ vCPUs",
        _part("ready"),
        "run-queue wait in /proc/PID/task/TID/schedstat; the guest sees it as steal",
    ),
    "costop_pct": ("%CSTP ÷ vCPUs", _part("costop"), "none: Linux does not co-schedule"),
    "memory_usage_pct": ("", "mem.usage.average (related)", ""),
    "memory_gb_per_s": (
        "",
        "",
        "of a host: uncore_imc/cas_count_read/ + cas_count_write/ of perf stat -a, 64 bytes each; of a VM: "
        "mbm_total_bytes of resctrl",
    ),
    "nodes_N_vcpus": ("NHN of the VMs", "", ""),
    "nodes_N_memory_mb": ("", "", "numastat -c qemu"),
    "nodes_N_memory_gb_per_s": ("", "", "the same counters of perf stat --per-socket"),
    "vcpus": ("NWLD of type vCPU", "summary.config.numCpu", "nproc (guest)"),
    "host": ("", "runtime.host", ""),
    "cluster": ("", "runtime.host.parent", ""),
    "down_s": ("", "sys.uptime.latest (related)", ""),
    "migration_cpu_pct": ("%USED of the migration helper worlds", "", ""),
    "memory_state": ("state on the MEM panel", "mem.state.latest", ""),
    "memory_overcommit_pct": ("MEM overcommit avg × 100", "", ""),
    "memory_free_bytes": ("free of PMEM", "", "MemFree"),
    "memory_min_free_bytes": ("minfree", "", ""),
    "memory_granted_bytes": ("GRANT", "mem.granted.average", ""),
    "memory_consumed_bytes": ("MEMSZ − what is taken back", "mem.consumed.average", "RSS of the QEMU process"),
    "memory_active_bytes": ("TCHD", "mem.active.average", ""),
    "memory_target_bytes": ("SZTGT", "", ""),
    "memory_shared_bytes": ("SHRDSVD", "mem.shared.average − mem.sharedcommon.average", "pages_sharing of KSM"),
    "memory_ballooned_bytes": ("MCTLSZ", "mem.vmmemctl.average", "maximum − actual of virsh dommemstat"),
    "memory_compressed_bytes": ("CACHEUSD", "mem.compressed.average", ""),
    "memory_swapped_bytes": ("SWCUR", "mem.swapped.average", "VmSwap of the QEMU process"),
    "memory_overhead_bytes": ("OVHD", "mem.overhead.average", ""),
    "memory_swap_in_bytes_per_s": ("SWR/s", "mem.swapinRate.average", "pswpin of /proc/vmstat × page size"),
    "memory_swap_out_bytes_per_s": ("SWW/s", "mem.swapoutRate.average", "pswpout of /proc/vmstat × page size"),
    "memory_swap_wait_pct": ("%SWPWT ÷ vCPUs", _part("swapwait"), "part of wa and st; the guest cannot tell it apart"),
    "run_pct": ("%RUN ÷ vCPUs", _part("run"), "CPU time of the vCPU threads"),
    "wait_pct": ("%WAIT ÷ vCPUs", _part("wait"), "sleep of the vCPU threads"),
    "limited_pct": ("%MLMTD ÷ vCPUs", _part("maxlimited"), "throttled_usec in the cgroup's cpu.stat"),
    "system_pct": ("%SYS ÷ vCPUs", _part("system"), "CPU time of vhost threads and soft interrupts"),
    "overlap_pct": ("%OVRLP ÷ vCPUs", _part("overlap"), ""),
    "used_pct": ("%USED ÷ vCPUs", _part("used"), ""),
    "demand_pct": ("", "cpu.demandEntitlementRatio (related)", ""),
    "demand_mhz": ("", "cpu.demand.average", ""),
    "used_mhz": ("", "cpu.usagemhz.average", ""),
    "guest_cpu_pct": ("", "", "100 − %idle of mpstat, us + sy + st of vmstat (guest)"),
    "guest_cpu_peak_pct": ("", "", "highest sample of sar -u (guest)"),
    "run_queue": ("", "", "r of vmstat (guest)"),
    "virtual_nodes": ("", "", "NUMA node(s) of lscpu (guest)"),
    "numa_local_pct": (
        "N%L; currLocal% of sched-stats -t numa-clients",
        "",
        "numastat -p of the QEMU process, against where its threads run",
    ),
    "numa_local_mb": ("NLMEM", "", "numastat -p of the QEMU process"),
    "numa_remote_mb": ("NRMEM", "", "numastat -p of the QEMU process"),
    "memory_remote_gb_per_s": ("", "", "mbm_total_bytes − mbm_local_bytes of resctrl; node-load-misses of perf stat"),
    "iops": ("CMDS/s", "virtualDisk.numberReadAveraged + numberWriteAveraged", "r/s + w/s of iostat"),
    "io_latency_ms_mean": (
        "GAVG/cmd",
        "virtualDisk.totalReadLatency, totalWriteLatency",
        "r_await, w_await of iostat (guest)",
    ),
    "io_mb_per_s": ("MBREAD/s + MBWRTN/s", "virtualDisk.read.average + write.average", "rkB/s + wkB/s of iostat"),
    "read_iops": ("READS/s", "virtualDisk.numberReadAveraged.average", "r/s of iostat"),
    "read_mb_per_s": ("MBREAD/s", "virtualDisk.read.average", "rkB/s of iostat"),
    "read_latency_ms_mean": ("", "virtualDisk.totalReadLatency.average", "r_await of iostat (guest)"),
    "write_iops": ("WRITES/s", "virtualDisk.numberWriteAveraged.average", "w/s of iostat"),
    "write_mb_per_s": ("MBWRTN/s", "virtualDisk.write.average", "wkB/s of iostat"),
    "write_latency_ms_mean": ("", "virtualDisk.totalWriteLatency.average", "w_await of iostat (guest)"),
    "storage.wait_ms": ("QAVG/cmd (lun-depth, dsnro)", "", ""),
}
"""Names of metrics of hosts, clusters, VMs and stations: in esxtop, vCenter and Linux."""

STORAGE_SOFTWARE = {
    "redundancy": "Ceph: size and min_size of a pool, or k and m of its erasure-code profile; Virtuozzo Storage: "
    "normal and minimum replicas, or encoding M+N; vSAN: failures to tolerate",
    "placement_groups": "Ceph: PGs",
    "raw_gib": "Ceph: RAW STORAGE SIZE of ceph df; ScaleIO: maxCapacityInKb",
    "stored_gib": "Ceph: STORED of ceph df",
    "policies": "vSAN: storage policies",
    "read_mb_per_s": "ScaleIO: userDataReadBwc; Ceph: client io, rd",
    "write_mb_per_s": "ScaleIO: userDataWriteBwc; Ceph: client io, wr",
    "read_iops": "Ceph: client io, op/s rd",
    "write_iops": "Ceph: client io, op/s wr",
    "device_read_mb_per_s": "ScaleIO: totalReadBwc",
    "device_write_mb_per_s": "ScaleIO: totalWriteBwc",
    "service_cpus": "top: %CPU of all ceph-osd processes, over 100",
    "cache_hit_pct": "vSAN: read cache hit rate",
    "buffer_pct": "vSAN: write buffer free percentage, from 100",
    "destage_mb_per_s": "vSAN: destage rate",
    "degraded_pct": "Ceph: PGs degraded (objects degraded counts copies); Virtuozzo Storage: chunks degraded, "
    "urgent or blocked; ScaleIO: degraded capacity; vSAN: objects with reduced availability",
    "due_gib": "ScaleIO: pendingFwdRebuildCapacityInKb and activeFwdRebuildCapacityInKb; vSAN: bytesToSync",
    "rebuild_mb_per_s": "ScaleIO: fwdRebuildWriteBwc; Ceph: recovery io",
    "time_to_whole_s": "vSAN: resync ETA",
    "scrub_mb_per_s": "Ceph: deep scrub stamps of `ceph pg dump` say when each group was read",
    "scrub_keeps_up": "Ceph: PG_NOT_DEEP_SCRUBBED where it does not",
    "lost_gib": "ScaleIO: failedCapacityInKb; vSAN: inaccessible objects",
    "suspended_ios": "Ceph: slow ops on PGs below min_size; Virtuozzo Storage: requests to blocked or "
    "offline chunks, which are frozen",
}
"""Names of metrics of pools in the software of pools."""
