//! Workloads: the processes in a VM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::{one, one_f64};
use super::shape::{merge_variants, plain_enum};
use crate::quantity::{Bandwidth, Bytes, Duration, Frequency, Rate};

/// The processes in a VM. A transaction has `bursts` rounds, each with one CPU burst followed by one delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Source of transactions.
    pub arrivals: Arrivals,
    /// Rounds of CPU burst and delay per transaction.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000))]
    pub bursts: u32,
    /// CPU work per transaction, split evenly over its bursts.
    pub cpu: Service,
    /// Variation of transaction size: coefficient of variation of the number of rounds (CPU and I/O); the mean is
    /// `bursts`. The total `delay` does not vary with it. `cpu.cv` and `delay.cv` vary each burst separately.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub transaction_cv: f64,
    /// Clock at which `cpu` and `memory_intensity` were measured. Rates per second of CPU time refer to the host's
    /// nominal clock. Default: the nominal clock of the VM's first host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub reference_clock: Option<Frequency>,
    /// Delay per transaction, split evenly over its bursts: locks, devices, network. CPU contention does not lengthen
    /// it. Default: none.
    #[serde(default = "no_service")]
    pub delay: Service,
    /// I/Os per transaction. Without `array` or `storage`, each costs the hypervisor `overhead.cpu_per_io`, and its
    /// time is part of `delay`. With one, the I/Os of a burst are issued together, and `delay` starts when the last one
    /// completes.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub ios: f64,
    /// I/O size.
    #[serde(default = "default_block")]
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"))]
    pub block: Bytes,
    /// Other I/O sizes and their shares; the remaining I/Os have size `block`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub block_mix: Vec<BlockShare>,
    /// Reads, in % of I/Os; the rest are writes.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub read_pct: f64,
    /// Random I/Os, in %; the rest are sequential and need no disk positioning.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub random_pct: f64,
    /// Synchronous writes, in % of writes: acknowledged only from stable media (O_DSYNC, or a flush after each).
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub sync_pct: f64,
    /// Copies (backup, clone, storage migration): source of each I/O, a key of `arrays` or `storage`. The data then
    /// goes to `write_to`. Needs `arrivals.io`, whose I/Os are outstanding on each virtual disk read. Half of `cpu` is
    /// for the read, half for the write. Sequential I/Os are sequential at both ends. Default, if `write_to` is set:
    /// the VM's own storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["pool"]))]
    pub read_from: Option<String>,
    /// Copies: target of each I/O read from `read_from`. Default, if that is set: the VM's own storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["backups"]))]
    pub write_to: Option<String>,
    /// Data that the I/Os of one virtual disk cover; sets the hit rate of the array's cache. For a copy: the data
    /// copied, present at both ends.
    #[serde(default = "default_working_set")]
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub working_set: Bytes,
    /// Throughput of a core with two busy threads of this workload, relative to one thread alone. Default: the host's
    /// `smt_yield`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 2.0))]
    pub smt_yield: Option<f64>,
    /// Scalability loss inside one guest as vCPUs increase. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Scaling")]
    pub scaling: Option<Scaling>,
    /// Wake-up latency of an idle vCPU on an idle logical CPU: idle-state exit, interrupt, switch to vCPU and process.
    /// It counts as ready time, not as CPU work. Idle threads of virtual controllers need it for a request, and again
    /// for its completion. Default: 4 to 46 us, by the host's `power_policy` and the idle time of the core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 s"))]
    pub wake_up: Option<Duration>,
    /// Part of CPU time that waits for memory. A faster clock does not shorten it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub memory_intensity: f64,
    /// Memory bandwidth of one process while it computes, alone on its core and with all memory local. Default: 0,
    /// negligible.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub memory_traffic: Bandwidth,
    /// Factor on `memory_traffic` for the same work while two threads share a core and its caches.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 1.0, max = 10.0))]
    pub shared_core_traffic: f64,
    /// Memory dirtied per second of CPU time, which live migration sends again. Each page counts once between two
    /// transfers. The default is an assumption.
    #[serde(default = "default_dirty_rate", skip_serializing_if = "is_default_dirty_rate")]
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub dirty_rate: Bandwidth,
    /// Memory that is written repeatedly: the upper bound of the memory that `dirty_rate` dirties. Default: the VM's
    /// active memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub written_set: Option<Bytes>,
    /// Pages of 4 KiB of active memory used per second of CPU time, spread evenly. It sets how often the VM misses
    /// reclaimed memory. The default is an assumption: a database reads 10,000 buffers of 8 KiB per second and core.
    #[serde(default = "default_page_rate", skip_serializing_if = "is_default_page_rate")]
    #[schemars(extend("x-minimum" = "0 /s", "x-maximum" = "1000000000 /s"))]
    pub page_rate: Rate,
    /// Unit of the application's own work.
    #[serde(default = "default_unit")]
    #[schemars(length(min = 1, max = 64))]
    pub unit: String,
    /// Units of the application's own work per transaction.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub units_per_transaction: f64,
}

impl Workload {
    /// True if it copies from one storage to another.
    pub fn copies(&self) -> bool {
        self.read_from.is_some() || self.write_to.is_some()
    }

    /// Number of storages that its I/Os go to: both ends of a copy.
    pub fn ends(&self) -> u32 {
        if self.copies() { 2 } else { 1 }
    }

    /// The largest I/O size.
    pub fn largest_block(&self) -> Bytes {
        self.block_mix
            .iter()
            .map(|part| part.block)
            .fold(self.block, Bytes::max)
    }
}

/// Universal scalability law: with N busy vCPUs, the work of a transaction grows by the factor 1 + contention (N - 1) +
/// coherency N (N - 1). For each doubling of N, it also grows by the factor 1 + per_doubling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Waiting for exclusive resources: locks, latches, queues.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub contention: f64,
    /// Keeping shared data coherent between vCPUs: caches, versions.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub coherency: f64,
    /// More work with each doubling of vCPUs, of systems that split their locks by the number of CPUs, such as Oracle.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub per_doubling: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            contention: 0.0,
            coherency: 0.0,
            per_doubling: 0.0,
        }
    }
}

/// Part of a workload's I/Os with its own size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// Size of these I/Os.
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"), extend("examples" = ["64 KiB"]))]
    pub block: Bytes,
    /// Their share, in % of all I/Os.
    #[schemars(range(min = 0.0, max = 100.0), extend("examples" = [10]))]
    pub share_pct: f64,
}

/// Sessions of a closed population at a load.
#[must_use]
pub fn sessions(population: u32, load: f64) -> u32 {
    (f64::from(population) * load).round() as u32
}

/// Source of transactions: exactly one of `closed`, `open`, `parallel` and `io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = merge_variants)]
pub enum Arrivals {
    /// Closed: a fixed population of sessions that think between transactions.
    Closed {
        /// Sessions per VM at load 1.
        #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [240]))]
        population: u32,
        /// Think time between a response and the next transaction. Default: none.
        #[serde(default = "no_service")]
        think: Service,
    },
    /// Open: transactions arrive independently of earlier ones.
    Open {
        /// Arrivals per VM at load 1; above 0.
        #[schemars(extend("x-minimum" = "0 /s", "x-maximum" = "1000000000 /s"))]
        rate: Rate,
        /// Coefficient of variation of the time between arrivals: 1 is Poisson, 0 is constant.
        #[serde(default = "one_f64")]
        #[schemars(range(min = 0.0, max = 20.0))]
        cv: f64,
    },
    /// Parallel: one process on each vCPU; all work on one transaction at a time. `cpu` is divided evenly between the
    /// vCPUs, and each share into `bursts`. An idle process helps within its part. The next transaction begins when
    /// every part is done.
    Parallel {
        /// The parts: work is divided evenly between them, and processes help only within one.
        parts: Parts,
    },
    /// An I/O generator such as Iometer or fio: its workers only keep I/Os outstanding. A transaction is one I/O. `cpu`
    /// is the generator's work per I/O, in addition to the guest's driver. Needs an `array` or a `storage`.
    Io {
        /// Outstanding I/Os per virtual disk at load 1, all workers together.
        #[serde(default = "default_outstanding")]
        #[schemars(range(min = 1, max = 4_096))]
        outstanding: u32,
        /// Threads that issue the I/Os, each an equal part on every disk. Default: one per vCPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 1, max = 1_024))]
        workers: Option<u32>,
        /// Maximum I/Os per second per VM, evenly spaced, at load 1. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Rate", extend("x-minimum" = "0.001 /s", "x-maximum" = "1000000000 /s"))]
        rate: Option<Rate>,
    },
}

/// Parts of a parallel transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Parts {
    /// One part per virtual NUMA node.
    Node,
    /// One part per vCPU.
    Vcpu,
}

/// A random duration, by mean and coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Mean.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub mean: Duration,
    /// Standard deviation / mean: 0 is constant, 1 is exponential.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub cv: f64,
}

fn default_dirty_rate() -> Bandwidth {
    Bandwidth::from_bytes_per_s(50_000_000)
}

fn is_default_dirty_rate(rate: &Bandwidth) -> bool {
    *rate == default_dirty_rate()
}

fn default_page_rate() -> Rate {
    Rate::new(20_000.0).expect("a number")
}

fn is_default_page_rate(rate: &Rate) -> bool {
    *rate == default_page_rate()
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn hundred() -> f64 {
    100.0
}

fn default_outstanding() -> u32 {
    16
}

fn default_block() -> Bytes {
    Bytes::new(8 << 10)
}

fn default_working_set() -> Bytes {
    Bytes::from_gib(10)
}

fn default_unit() -> String {
    "transactions".to_owned()
}

fn no_service() -> Service {
    Service {
        mean: Duration::ZERO,
        cv: 1.0,
    }
}
