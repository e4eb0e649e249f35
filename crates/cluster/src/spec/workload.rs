//! Workloads: what the processes in a VM do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::{one, one_f64};
use super::shape::{merge_variants, plain_enum};
use crate::quantity::{Bandwidth, Bytes, Duration, Frequency, Rate};

/// What the processes in a virtual machine do. A transaction is `bursts` rounds of one CPU burst followed by one delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Where transactions come from.
    pub arrivals: Arrivals,
    /// Rounds of CPU burst and delay in one transaction.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000))]
    pub bursts: u32,
    /// CPU work of one transaction, split evenly over its bursts.
    pub cpu: Service,
    /// How much transactions differ in size: the coefficient of variation of how many rounds of CPU and I/O one has, of
    /// `bursts` on average. Its whole `delay` stays as it is. `cpu.cv` and `delay.cv` vary each burst by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub transaction_cv: f64,
    /// Clock at which `cpu` and `memory_intensity` were measured. Rates per second of CPU time are of the host at its
    /// nominal clock. Default: the host's nominal clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub reference_clock: Option<Frequency>,
    /// Delay of one transaction, split evenly over its bursts: locks, device and network time, which contention for CPU
    /// does not stretch. Default: none.
    #[serde(default = "no_service")]
    pub delay: Service,
    /// I/Os of one transaction. Without an `array` or `storage` each costs the hypervisor `overhead.cpu_per_io`, and
    /// its time is part of `delay`. With one, those of a burst go down the path to it together, and `delay` follows
    /// when the last is back.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub ios: f64,
    /// Size of an I/O.
    #[serde(default = "default_block")]
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"))]
    pub block: Bytes,
    /// Other sizes, and how many of the I/Os have them; the rest have `block`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub block_mix: Vec<BlockShare>,
    /// Reads among the I/Os, in per cent; the others write.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub read_pct: f64,
    /// I/Os to random places, in per cent; the others are sequential and cost a disk no positioning.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub random_pct: f64,
    /// Writes that are acknowledged only when they are on stable media, in per cent: O_DSYNC, or a flush after each.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub sync_pct: f64,
    /// Copies: what each I/O reads, a key of `arrays` or `storage`; it is then written to `write_to`. For a backup, a
    /// clone, a move to other storage. With `arrivals.io`, whose I/Os are then outstanding on each virtual disk that is
    /// read; half of `cpu` is for the read, half for the write. Sequential I/Os are so at both ends. Default, if
    /// `write_to` is there: the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["pool"]))]
    pub read_from: Option<String>,
    /// Copies: where each I/O is written that was read from `read_from`. Default, if that is there: the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["backups"]))]
    pub write_to: Option<String>,
    /// What one virtual disk's I/Os are spread over: decides how many hit the array's cache. Of a copy: what is copied,
    /// and there at both ends.
    #[serde(default = "default_working_set")]
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub working_set: Bytes,
    /// Work that two busy threads of one core do for it, over the work of one thread alone. Default: the host's
    /// `smt_yield`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 2.0))]
    pub smt_yield: Option<f64>,
    /// What more vCPUs lose inside one guest. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Scaling")]
    pub scaling: Option<Scaling>,
    /// Time from an event that wakes an idle vCPU until it computes, where a logical CPU is idle, too: leaving its idle
    /// state, interrupt, switch to vCPU and process. It is ready time, and no CPU work. Default: 7 to 46 us, by the
    /// host's `power_policy` and by how long its core was idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 s"))]
    pub wake_up: Option<Duration>,
    /// Part of CPU time that waits for memory, which a faster clock does not shorten.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub memory_intensity: f64,
    /// What one process moves to and from memory while it computes, alone on its core, with all memory local and to
    /// itself. Default: too little to matter.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub memory_traffic: Bandwidth,
    /// By what factor `memory_traffic` for the same work grows while two threads share a core and its caches.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 1.0, max = 10.0))]
    pub shared_core_traffic: f64,
    /// Memory that one second of CPU time writes to for the first time since it was last sent: what live migration has
    /// to send again. The default is a supposition.
    #[serde(default = "default_dirty_rate", skip_serializing_if = "is_default_dirty_rate")]
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub dirty_rate: Bandwidth,
    /// Memory that is written to again and again: the most that `dirty_rate` makes of it. Default: the machine's active
    /// memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub written_set: Option<Bytes>,
    /// Pages of 4 KiB of its active memory that one second of CPU time uses, spread evenly over it: how often it misses
    /// what the host has taken away. The default is a supposition: a database reads 10,000 buffers of 8 KiB a second
    /// and core.
    #[serde(default = "default_page_rate", skip_serializing_if = "is_default_page_rate")]
    #[schemars(extend("x-minimum" = "0 /s", "x-maximum" = "1000000000 /s"))]
    pub page_rate: Rate,
    /// Name of one unit of the application's own work.
    #[serde(default = "default_unit")]
    #[schemars(length(min = 1, max = 64))]
    pub unit: String,
    /// Units of the application's own work in one transaction.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub units_per_transaction: f64,
}

impl Workload {
    /// Whether it copies from one storage to another.
    pub fn copies(&self) -> bool {
        self.read_from.is_some() || self.write_to.is_some()
    }

    /// Storages that its I/Os go to: both ends of a copy.
    pub fn ends(&self) -> u32 {
        if self.copies() { 2 } else { 1 }
    }

    /// The largest size that an I/O can have.
    pub fn largest_block(&self) -> Bytes {
        self.block_mix
            .iter()
            .map(|part| part.block)
            .fold(self.block, Bytes::max)
    }
}

/// The universal scalability law: with N vCPUs busy the work of a transaction is 1 + contention (N - 1) +
/// coherency N (N - 1) times that with one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Waiting for what only one can have at a time: locks, latches, queues.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub contention: f64,
    /// Making what one wrote known to each other one: caches, versions.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub coherency: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            contention: 0.0,
            coherency: 0.0,
        }
    }
}

/// A part of a workload's I/Os that has a size of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// Size of these I/Os.
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"), extend("examples" = ["64 KiB"]))]
    pub block: Bytes,
    /// How many of all I/Os they are.
    #[schemars(range(min = 0.0, max = 100.0), extend("examples" = [10]))]
    pub share_pct: f64,
}

/// Where transactions come from: exactly one of `closed`, `open`, `parallel` and `io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = merge_variants)]
pub enum Arrivals {
    /// A fixed population of sessions, each of which thinks between transactions.
    Closed {
        /// Sessions of one virtual machine at load 1.
        #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [240]))]
        population: u32,
        /// Time between the answer and the next transaction. Default: none.
        #[serde(default = "no_service")]
        think: Service,
    },
    /// Transactions that arrive whatever happens to earlier ones.
    Open {
        /// Arrivals at one virtual machine at load 1; above 0.
        #[schemars(extend("x-minimum" = "0 /s", "x-maximum" = "1000000000 /s"))]
        rate: Rate,
        /// Coefficient of variation of the time between arrivals: 1 is Poisson, 0 is a metronome.
        #[serde(default = "one_f64")]
        #[schemars(range(min = 0.0, max = 20.0))]
        cv: f64,
    },
    /// One process on each vCPU, all of which work on one transaction after another. A transaction's `cpu` is divided
    /// evenly among the vCPUs, each vCPU's part into `bursts`, and a process that is done helps within its part; the
    /// next transaction begins when every part is done.
    Parallel {
        /// What is divided evenly and not helped out between.
        parts: Parts,
    },
    /// An I/O generator such as Iometer or fio: workers that keep I/Os outstanding and do nothing else. A transaction
    /// is one I/O; `cpu` is what the generator computes for it, beside the guest's driver. Needs an `array` or a
    /// `storage`.
    Io {
        /// I/Os outstanding on each virtual disk at load 1, all workers together.
        #[serde(default = "default_outstanding")]
        #[schemars(range(min = 1, max = 4_096))]
        outstanding: u32,
        /// Threads that issue them, each an equal part on every disk. Default: one for each vCPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 1, max = 1_024))]
        workers: Option<u32>,
        /// I/Os that one machine issues per second at most, evenly spaced, at load 1. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Rate", extend("x-minimum" = "0.001 /s", "x-maximum" = "1000000000 /s"))]
        rate: Option<Rate>,
    },
}

/// Parts into which a parallel transaction is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Parts {
    /// Each virtual NUMA node has its part.
    Node,
    /// Each vCPU has its part.
    Vcpu,
}

/// A random length of time, by mean and coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Mean.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub mean: Duration,
    /// Standard deviation over mean: 0 is constant, 1 exponential.
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
