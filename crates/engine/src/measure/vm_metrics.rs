//! The metrics of a VM. Each is one line of the table, with its definition, and counted where it happens.
//!
//! A line names the metric, its title and its unit, and says how it follows from [`Figures`]. It says if a report on
//! several VMs shows their mean or their total. It names the half-width of the confidence interval where there is one,
//! with the number of its series, for runs of one replication.

use crate::metrics::{Curve, LatencyReport, Together, reports};
use crate::reclaim::VmMemoryResult;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Histogram;
use hypertwin_models::accounting::Account;
use serde::Serialize;

/// Time in which its vCPU was not idle, as far as the guest can tell.
pub fn busy_ns(account: &Account) -> u64 {
    account.run_ns + account.ready_ns + account.costop_ns + account.swap_wait_ns - account.wakeup_ns
}

/// What was counted of one VM in one replication.
pub struct Figures {
    /// Sum over its vCPUs.
    pub account: Account,
    pub demand_ns: f64,
    pub vcpus: usize,
    pub duration_ns: f64,
    /// The part of it in which it did not run: it was powered off, or its host was down.
    pub down_ns: f64,
    /// The part of that in which it was powered off, which is in no average.
    pub off_ns: f64,
    /// Nominal and running clock of the cores of its hosts.
    pub nominal_mhz: f64,
    pub running_mhz: f64,
    /// Charged time of interrupts for it.
    pub system_ns: f64,
    pub guest_cpu: f64,
    pub guest_cpu_peak_pct: f64,
    /// Integral of the runnable processes.
    pub runnable_ns: f64,
    pub responses: u64,
    pub units_per_transaction: f64,
    pub ios: f64,
    pub memory_mb: f64,
    /// Fraction of its memory that is local.
    pub local: f64,
    /// Bytes that crossed memory: the own node's, and another's.
    pub traffic: [f64; 2],
}

impl Figures {
    /// The time that averages are over.
    fn on_ns(&self) -> f64 {
        (self.duration_ns - self.off_ns).max(1.0)
    }

    /// A time of its vCPUs, per vCPU.
    fn percent(&self, ns: f64) -> f64 {
        100.0 * ns / (self.on_ns() * self.vcpus as f64)
    }

    /// A time at a clock as clock of a core.
    fn mhz(&self, ns: f64, clock_mhz: f64) -> f64 {
        ns / self.on_ns() * clock_mhz
    }

    /// Charged time.
    pub fn used_ns(&self) -> f64 {
        self.account.used_ns + self.system_ns
    }

    /// Time in which vCPUs waited for memory that the host had swapped out, per vCPU.
    pub fn swap_wait_pct(&self) -> f64 {
        self.percent(self.account.swap_wait_ns as f64)
    }

    /// Ready time in which it waited for other VMs.
    fn contended_ns(&self) -> f64 {
        let Account {
            ready_ns,
            limited_ns,
            starting_ns,
            ..
        } = self.account;
        ready_ns.saturating_sub(limited_ns + starting_ns) as f64
    }

    fn throughput_per_s(&self) -> f64 {
        self.responses as f64 / self.duration_ns * 1e9
    }
}

fn of(metric: fn(&Figures) -> f64, figures: &Figures) -> f64 {
    metric(figures)
}

macro_rules! vm_metrics {
    (
        work { $(
            $(#[doc = $work_about:literal])+
            $work:ident $work_title:literal, $work_unit:literal: $work_as:ident $(, $ci:ident $series:expr)? => $of_work:expr;
        )+ }
        io { $($(#[doc = $io_about:literal])+ $io:ident $io_title:literal, $io_unit:literal: $io_as:ident => $of_io:expr;)+ }
        memory { $(
            $(#[doc = $memory_about:literal])+
            $memory:ident $memory_title:literal, $memory_unit:literal: $memory_as:ident => $of_memory:expr;
        )+ }
    ) => {
        /// What a replication measured of a VM. Percentages are per vCPU.
        #[derive(Clone, Debug, Encode, Decode)]
        #[allow(missing_docs, reason = "the metrics are defined once, in the catalogue that docs/metrics.md is made from")]
        pub struct VmResult {
            pub name: String,
            pub group: usize,
            pub host: String,
            pub cluster: String,
            pub vcpus: u32,
            $(pub $work: f64,)+
            pub response_mean_ms: f64,
            pub response_count: u64,
            $(pub $io: f64,)+
            $(pub $memory: f64,)+
            /// Time that it was paused or slowed for its own migration, where VMs may move.
            pub slow_s: Option<f64>,
            pub virtual_nodes: u32,
            pub reclaimed: Option<VmMemoryResult>,
            pub response: Histogram,
            pub io: Option<IoResult>,
        }

        /// What was measured of a VM besides its metrics.
        pub struct VmParts {
            pub name: String,
            pub group: usize,
            pub host: String,
            pub cluster: String,
            pub response_mean_ms: f64,
            pub slow_s: Option<f64>,
            pub virtual_nodes: u32,
            pub reclaimed: Option<VmMemoryResult>,
            pub response: Histogram,
            pub io: Option<IoResult>,
        }

        impl VmResult {
            pub(super) fn new(parts: VmParts, figures: &Figures) -> Self {
                Self {
                    name: parts.name,
                    group: parts.group,
                    host: parts.host,
                    cluster: parts.cluster,
                    vcpus: figures.vcpus as u32,
                    $($work: of($of_work, figures),)+
                    response_mean_ms: parts.response_mean_ms,
                    response_count: figures.responses,
                    $($io: of($of_io, figures),)+
                    $($memory: of($of_memory, figures),)+
                    slow_s: parts.slow_s,
                    virtual_nodes: parts.virtual_nodes,
                    reclaimed: parts.reclaimed,
                    response: parts.response,
                    io: parts.io,
                }
            }
        }

        reports! {
            /// State of a VM. For a group, means of its VMs, or sums for metrics marked as sums. Percentages are per
            /// vCPU.
            #[derive(Clone, Debug, Default, Serialize)]
            pub struct VmReport {
                /// The host that the VM runs on.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub host: Option<String> = "Host";
                #[serde(skip_serializing_if = "Option::is_none")]
                pub cluster: Option<String>;
                /// Virtual machines in the group.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub count: Option<usize> = "VMs";
                /// The hosts of the group's VMs: a list, in JSON only. For a cluster it is the number of hosts.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub hosts: Option<Vec<String>> = "Hosts";
                /// The clusters of the group's VMs. In JSON only.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub clusters: Option<Vec<String>> = "Clusters";
                /// Virtual CPUs of the VM, or of all VMs of the cluster.
                pub vcpus: u32 = "vCPUs", "", Total;
                $(
                    $(#[doc = $work_about])+
                    pub $work: f64 = $work_title, $work_unit, $work_as;
                    $(pub $ci: Option<f64>;)?
                )+
                /// Name of one unit of application work.
                pub unit: String = "Unit";
                /// Time from the start of a transaction to its end, without think time: CPU work, waits for a vCPU, and
                /// delays that CPU contention does not lengthen.
                pub response_ms: ResponseReport = "Response time";
                /// Transactions measured in all replications.
                pub response_count: u64 = "Transactions", "", Total;
                $($(#[doc = $io_about])+ pub $io: f64 = $io_title, $io_unit, $io_as;)+
                /// Time from the guest's driver to the interrupt that returns the I/O. For a generator, as fio measures
                /// it: until its worker issues the next I/O, with wake-up, waits for a vCPU and CPU work. Only for VMs
                /// with virtual disks, like the other `io_` figures. All distributions have nanoseconds with three
                /// significant digits (HDR histogram). Means, smallest and largest values are exact.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub io_latency_ms: Option<LatencyReport> = "I/O latency";
                /// The longest time that an I/O took, or had waited at the end of the run. Of all VMs and replications.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub io_longest_s: Option<f64> = "Longest I/O", "s";
                /// Payload of completed I/Os.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub io_mb_per_s: Option<f64> = "I/O bandwidth", "MB/s", Total;
                /// Used time of the VM's vCPUs, of the worlds of its controllers and of its helper worlds, at the
                /// nominal clock, divided by its I/Os. It includes everything that the VM does, not only I/O.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub io_cpu_cycles_per_io: Option<f64> = "CPU per I/O", "cycles";
                /// Reads completed per second. VMs with virtual disks only, like the other `read_` figures.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub read: Option<IosReport> = "Reads";
                /// Writes completed per second. VMs with virtual disks only, like the other `write_` figures.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub write: Option<IosReport> = "Writes";
                /// Bytes per second that a VM with a copying workload wrote to `write_to`. Its response times are of
                /// whole copies, from the start of the read to the end of the write. The `read_` and `write_` figures
                /// are of the two ends.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub copied_mb_per_s: Option<f64> = "Copied", "MB/s", Total;
                /// Time to copy the data of its virtual disks once (`working_set` × `vdisks`) at this speed. For a
                /// group it is the time for all VMs. For another amount, scale it in proportion. Missing if nothing was
                /// copied.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub copy_s: Option<f64> = "Time of a copy", "s";
                $($(#[doc = $memory_about])+ pub $memory: f64 = $memory_title, $memory_unit, $memory_as;)+
                /// Part of the measured time in which the VM's own live migration slowed it down or stopped it. It got
                /// only part of its CPU time so that it writes less than is sent, or it paused for its last pages.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub slow_s: Option<f64> = "Slowed", "s";
                #[serde(skip_serializing_if = "Option::is_none")]
                pub memory: Option<VmMemoryResult>;
                /// NUMA nodes that the guest sees.
                pub virtual_nodes: u32 = "Virtual NUMA nodes", "", Total;
                /// If replications reach different outcomes: a list of `throughput_units_per_s`, the mean of
                /// replications within 15% of each other, and `likelihood_pct`, their share of all. The most likely
                /// comes first. In JSON only.
                pub outcomes: Vec<OutcomeReport> = "Outcomes";
            }
        }

        impl VmReport {
            /// The metrics of some VMs, and nothing else; `mean` and `ci95` say how one is put together, the latter
            /// with the number of its series.
            pub(super) fn of_metrics(
                mean: impl Fn(Together, fn(&VmResult) -> f64) -> f64,
                ci95: impl Fn(Together, fn(&VmResult) -> f64, Option<usize>) -> Option<f64>,
            ) -> Self {
                Self {
                    $(
                        $work: mean(Together::$work_as, |vm| vm.$work),
                        $($ci: ci95(Together::$work_as, |vm| vm.$work, $series),)?
                    )+
                    $($io: mean(Together::$io_as, |vm| vm.$io),)+
                    $($memory: mean(Together::$memory_as, |vm| vm.$memory),)+
                    ..Self::default()
                }
            }

            /// Takes back how sure its means are.
            pub(super) fn without_confidence(&mut self) {
                $($(self.$ci = None;)?)+
                self.response_ms.ci95 = None;
            }
        }
    };
}

vm_metrics! {
    work {
        /// Time in which a vCPU was on a hardware thread, with its sibling thread idle or busy. Run + Ready +
        /// Co-stop + Wait = 100%.
        run_pct "Run", "%": Mean => |vm| vm.percent(vm.account.run_ns as f64);
        /// Time in which a vCPU could run but had no hardware thread, including limited time. Per vCPU, 0 to 100.
        /// For a host or cluster it is the mean over its vCPUs. Above 5% look closer, above 10% users notice.
        ready_pct "Ready", "%": Mean, ready_pct_ci95 None => |vm| vm.percent(vm.account.ready_ns as f64);
        /// Time in which ESXi stopped a vCPU because it was too far ahead of its siblings. Per vCPU. Healthy below
        /// 1%, trouble above 3%.
        costop_pct "Co-stop", "%": Mean, costop_pct_ci95 None => |vm| vm.percent(vm.account.costop_ns as f64);
        /// Time in which a vCPU had no work or waited for the hypervisor. Includes idle time, and time in which its
        /// host was down.
        wait_pct "Wait", "%": Mean => |vm| vm.percent(vm.account.wait_ns as f64);
        /// Part of Ready in which only the VM's limit stopped the vCPU.
        limited_pct "Limited", "%": Mean => |vm| vm.percent(vm.account.limited_ns as f64);
        /// Part of Ready in which no hardware thread was free for the vCPU: Ready without Limited, and without the
        /// time in which a free thread left its idle state. Only this part is contention.
        waiting_pct "Waiting", "%": Mean => |vm| vm.percent(vm.contended_ns());
        /// Time the hypervisor spent in interrupts and I/O for this VM, per vCPU.
        system_pct "System", "%": Mean => |vm| vm.percent(vm.system_ns);
        /// Time in which the hypervisor's work for this or another VM interrupted a vCPU on its hardware thread.
        overlap_pct "Overlap", "%": Mean => |vm| vm.percent(vm.account.overlap_ns as f64);
        /// Run + System − Overlap, corrected for clock, and charged 62.5% while the sibling thread is busy. Per
        /// vCPU.
        used_pct "Used", "%": Mean => |vm| vm.percent(vm.used_ns());
        /// Used in MHz of the nominal clock, whole VM.
        used_mhz "Used", "MHz": Total => |vm| vm.mhz(vm.used_ns(), vm.nominal_mhz);
        /// CPU that the VM's vCPUs would use without contention and limits: Run divided by the time minus Ready and
        /// Co-stop.
        demand_pct "Demand", "%": Mean => |vm| vm.percent(vm.demand_ns);
        /// Demand in MHz of the nominal clock, whole VM.
        demand_mhz "Demand", "MHz": Total => |vm| vm.mhz(vm.demand_ns, vm.running_mhz);
        /// How busy the guest system sees its vCPUs. It rises if vCPUs slow down or wait, although no more work is
        /// done: guest figures alone mislead.
        guest_cpu_pct "Guest CPU", "%": Mean, guest_cpu_pct_ci95 Some(0) => |vm| 100.0 * vm.guest_cpu;
        /// Highest guest CPU in one sample interval.
        guest_cpu_peak_pct "Guest CPU, peak", "%": Mean => |vm| vm.guest_cpu_peak_pct;
        /// Mean number of guest processes that run or are ready to run, whole VM.
        run_queue "Run queue", "processes": Total => |vm| vm.runnable_ns / vm.on_ns();
        /// Transactions completed per second of measured time.
        throughput_per_s "Throughput", "1/s": Total, throughput_per_s_ci95 Some(1) => |vm| vm.throughput_per_s();
        /// Throughput times the workload's units per transaction.
        throughput_units_per_s "Throughput in the application's unit", "units/s": Total
            => |vm| vm.throughput_per_s() * vm.units_per_transaction;
        /// Part of the measured time in which the host was down, or the VM did not run because its host was down,
        /// no host had headroom for it, or it was starting. For a group it is the mean over its VMs. With an `ha`
        /// policy the VM restarts on another host, and its work is lost. Without one it waits, and continues when
        /// its host returns. Interrupted transactions and I/Os then count when they end, including the time down,
        /// and averages count this time as idle. Averages of a restarted VM cover its uptime, its throughput and
        /// IOPS the whole time.
        down_s "Down", "s": Mean => |vm| vm.down_ns / 1e9;
    }
    io {
        /// I/O operations completed per second.
        iops "I/O operations", "1/s": Total => |vm| vm.ios / vm.duration_ns * 1e9;
    }
    memory {
        /// Part of the VM's memory on the home nodes of the NUMA clients that use it. Without home nodes, as on Linux,
        /// it is the part on the nodes where its vCPUs run. Below 80% look closer.
        numa_local_pct "Local memory", "%": Mean => |vm| 100.0 * vm.local;
        /// Memory on the home nodes, in mebibytes like esxtop.
        numa_local_mb "Local memory", "MB": Total => |vm| vm.memory_mb * vm.local;
        /// Memory on other nodes than the home nodes, in mebibytes like esxtop.
        numa_remote_mb "Remote memory", "MB": Total => |vm| vm.memory_mb * (1.0 - vm.local);
        /// Bytes that workloads read and write in memory per second. For a host it is what the memory of all its
        /// nodes delivers.
        memory_gb_per_s "Memory bandwidth", "GB/s": Total => |vm| vm.traffic.iter().sum::<f64>() / vm.duration_ns;
        /// Part of the memory bandwidth that crosses the link between nodes, counted from the node on which a vCPU
        /// runs. That is not always its home node.
        memory_remote_gb_per_s "Remote memory bandwidth", "GB/s": Total => |vm| vm.traffic[1] / vm.duration_ns;
    }
}

/// What a replication measured of the I/Os of a VM that has virtual disks.
#[derive(Clone, Debug, Encode, Decode)]
pub struct IoResult {
    /// Of all.
    pub all: IoSums,
    /// Of reads, and of writes.
    pub ways: [IoSums; 2],
    /// Latencies of reads, and of writes.
    pub latencies: [Histogram; 2],
    /// Cycles that the VM and what the hypervisor did for it took.
    pub cpu_cycles: f64,
    /// Bytes of what it copies, if it does: all that its virtual disks have in use.
    pub copied_bytes: Option<u64>,
    /// For how long the oldest I/O had been outstanding at the end, in nanoseconds.
    pub pending_ns: u64,
}

/// Some I/Os of a VM that came back.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub struct IoSums {
    /// Mean latency, from the guest's driver to the interrupt; NaN without I/Os.
    pub latency_mean_ms: f64,
    /// How many.
    pub count: u64,
    /// Payload.
    pub mb_per_s: f64,
}

reports! {
    /// Response times of transactions in milliseconds, or null without transactions.
    #[derive(Clone, Debug, Default, Serialize)]
    pub struct ResponseReport {
        pub mean: Option<f64> = "mean", "ms";
        /// Half of all transactions took no longer than this.
        pub p50: Option<f64> = "median", "ms";
        /// 95% of all transactions took no longer than this.
        pub p95: Option<f64> = "p95", "ms";
        /// 99% of all transactions took no longer than this.
        pub p99: Option<f64> = "p99", "ms";
        /// The longest transaction of all replications.
        pub max: Option<f64> = "longest", "ms";
        /// Half-width of the 95% confidence interval of the mean over replications (Student t).
        pub ci95: Option<f64> = "±", "ms";
        /// List of [percentile, ms] over all VMs and replications: 0 (the smallest), 10, 25, 50, 75, 90, 95, 99, 99.5,
        /// 99.9, 99.99 and 100 (the largest). With n values, only percentiles up to 100 − 100 ÷ n are present, and 100.
        /// Missing without values. In JSON only.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub curve: Option<Curve> as "Curve" = "curve", "%, ms";
    }

    /// Reads or writes of VMs with virtual disks.
    #[derive(Clone, Debug, Serialize)]
    pub struct IosReport {
        pub iops: f64 = "", "1/s", Total;
        /// Their payload.
        pub mb_per_s: f64 = "bandwidth", "MB/s", Total;
        /// As `io_latency_ms_mean`, for them.
        pub latency_ms: LatencyReport = "latency";
    }
}

reports! {
    /// Outcome shared by some of the replications.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct OutcomeReport {
        pub throughput_units_per_s: f64;
        pub likelihood_pct: f64;
    }
}
