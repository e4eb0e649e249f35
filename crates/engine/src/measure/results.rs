//! The results of one replication, as plain data.

use super::allocation::Allocation;
use super::looks::Looks;
use super::task::Task;
use super::vm_metrics::VmResult;
use crate::metrics::reports;
use crate::movement::History;
use crate::reclaim::HostMemoryResult;
use crate::responses::Responses;
use crate::storage::{PoolResult, PoolTimeline, StationResult};
use bitcode::{Decode, Encode};
use serde::Serialize;

/// One run of a scenario with one seed.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Replication {
    /// Per host, in the scenario's order.
    pub hosts: Vec<HostResult>,
    /// Per VM, in the scenario's order.
    pub vms: Vec<VmResult>,
    /// Names of the VM groups that have VMs.
    pub groups: Vec<String>,
    /// Per group: name of the unit of work.
    pub units: Vec<String>,
    /// Per group: what its VMs do.
    pub tasks: Vec<Task>,
    /// Hosts that stopped or came back.
    pub failures: Vec<FailureReport>,
    /// What happened to VMs that move and restart; `None` where nothing of the kind is in the scenario.
    pub movement: Option<History>,
    /// Stations of the I/O path.
    pub stations: Vec<StationResult>,
    /// Pools of distributed storage.
    pub pools: Vec<PoolResult>,
    /// Per group: what output analysis looks at, interval after interval.
    pub observations: Vec<Vec<Observation>>,
    /// Interval of `observations`, in seconds.
    pub observation_s: f64,
    /// What the run holds and is offered, from time to time.
    pub looks: Looks,
    /// Samples over time.
    pub timeline: Timeline,
    /// Simulated time before measuring, in seconds.
    pub warmup_s: f64,
    /// Measured time, in seconds.
    pub duration_s: f64,
    /// What the scenario was calibrated on.
    pub calibrated_on: Option<String>,
    /// Events handled, warm-up included.
    pub events: u64,
    /// The part of them that was for measuring.
    pub measurements: u64,
}

/// What was counted of the VMs of a group in one interval. Whole numbers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
pub struct Observation {
    /// Time in which their guests took vCPUs for busy, of all their time.
    pub busy_ns: u64,
    /// See `busy_ns`.
    pub total_ns: u64,
    /// Response times.
    pub responses: Responses,
}

impl Observation {
    /// These and `other` together.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            busy_ns: self.busy_ns + other.busy_ns,
            total_ns: self.total_ns + other.total_ns,
            responses: self.responses.and(&other.responses),
        }
    }

    /// Those since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            busy_ns: self.busy_ns - before.busy_ns,
            total_ns: self.total_ns - before.total_ns,
            responses: self.responses.since(&before.responses),
        }
    }

    /// What guests take for their CPU usage.
    pub(super) fn busy_pct(&self) -> f64 {
        100.0 * (self.busy_ns as f64 / (self.total_ns as f64).max(1.0))
    }
}

/// What a replication measured of a host. Percentages are of its capacity.
#[derive(Clone, Debug, Encode, Decode)]
pub struct HostResult {
    /// Name of the host.
    pub name: String,
    /// Used time of all worlds and interrupts over cores at nominal clock, at most 100.
    pub usage_pct: f64,
    /// Mean over logical CPUs of the time that each runs something.
    pub utilization_pct: f64,
    /// Mean over cores of the time that either thread runs something.
    pub core_utilization_pct: f64,
    /// The part of usage, not capped, that the hypervisor itself took: helper worlds and interrupts.
    pub overhead_pct: f64,
    /// Mean over all vCPUs of the host.
    pub ready_pct: f64,
    /// Mean over all vCPUs of the host.
    pub costop_pct: f64,
    /// Time that it was down.
    pub down_s: f64,
    /// CPU that sending and receiving VMs took, if there were any.
    pub migration_cpu_pct: Option<f64>,
    /// What the memory of each of its NUMA nodes delivers at most.
    pub node_gb_per_s: f64,
    /// What a link between two of its NUMA nodes carries at most.
    pub link_gb_per_s: f64,
    /// Pools that it is a node of.
    pub serves: Vec<String>,
    /// What is allocated on it.
    pub allocation: Allocation,
    /// Its memory, if it ever could run short.
    pub reclaimed: Option<HostMemoryResult>,
    /// Per NUMA node.
    pub nodes: Vec<NodeResult>,
}

/// What a replication measured of a NUMA node of a host.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub struct NodeResult {
    /// Charged time of its logical CPUs over its cores at nominal clock, at most 100.
    pub usage_pct: f64,
    /// vCPUs that are at home on it, at the end.
    pub vcpus: usize,
    /// Memory of VMs on it at the end, in MiB, and in per cent of what it has for VMs.
    pub memory_mb: f64,
    /// See `memory_mb`.
    pub memory_pct: f64,
    /// What its memory delivered.
    pub memory_gb_per_s: f64,
}

/// Hosts that stopped or came back together, and the VMs on them; time since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Encode, Decode)]
#[allow(missing_docs, reason = "as in `HostResult`")]
pub struct FailureReport {
    pub time_s: f64,
    pub what: String,
    /// Position of the failure in the scenario.
    #[serde(skip)]
    pub entry: usize,
    pub fails: bool,
    pub hosts: Vec<String>,
    pub vms: Vec<String>,
}

/// Samples over the measured time; times are ends of intervals.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub struct Timeline {
    /// Length of an interval, in seconds.
    pub interval_s: f64,
    /// End of each interval, in seconds of measured time.
    pub time_s: Vec<f64>,
    /// Per host.
    pub hosts: Vec<HostTimeline>,
    /// Per VM.
    pub vms: Vec<VmTimeline>,
    /// Per pool.
    pub pools: Vec<PoolTimeline>,
}

reports! {
    /// State of a host at each sample time, with reclaimed memory if the host was short of memory at any time.
    #[derive(Clone, Debug, Default, Serialize, Encode, Decode)]
    pub struct HostTimeline {
        pub usage_pct: Vec<f64>;
        pub utilization_pct: Vec<f64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub free_bytes: Vec<f64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub ballooned_bytes: Vec<f64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub swapped_bytes: Vec<f64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub compressed_bytes: Vec<f64>;
    }

    /// State of a VM at each sample time.
    #[derive(Clone, Debug, Default, Serialize, Encode, Decode)]
    pub struct VmTimeline {
        pub guest_cpu_pct: Vec<f64>;
        pub run_pct: Vec<f64>;
        pub ready_pct: Vec<f64>;
        pub costop_pct: Vec<f64>;
        pub run_queue: Vec<f64>;
        pub throughput_per_s: Vec<f64>;
        pub response_ms_mean: Vec<Option<f64>>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub iops: Vec<f64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub io_latency_ms_mean: Vec<Option<f64>>;
        /// Part of each interval in which it was up, where VMs may move.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub up: Vec<f64>;
    }
}
