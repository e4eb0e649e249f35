//! What the VMs of a group do, as far as it matters for what limits them.

use bitcode::{Decode, Encode};
use hypertwin_cluster::{Arrivals, ControllerKind, VmGroup, Workload};

/// How the transactions of a VM follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub enum Cycle {
    /// They come at a pace, whatever happens to earlier ones.
    Paced,
    /// The next one begins so long after the one before ended.
    Closed {
        /// Mean time between, in milliseconds.
        think_ms: f64,
    },
    /// Workers keep I/Os under way.
    Generator {
        /// How many; `None`: one for each vCPU.
        workers: Option<u32>,
        /// I/Os per second of a VM that they do not exceed.
        pace_per_s: Option<f64>,
    },
}

impl Cycle {
    /// Whether its latency is what its depth makes it: workers without a rate.
    pub const fn chooses_latency(self) -> bool {
        matches!(self, Self::Generator { pace_per_s: None, .. })
    }
}

/// What the VMs of a group do.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Task {
    /// How transactions follow each other.
    pub cycle: Cycle,
    /// What one busy vCPU moves to and from memory, in GB/s.
    pub traffic_gb_per_s: f64,
    /// Array or pool that has their virtual disks.
    pub stores: Option<String>,
    /// Whether their controller takes one request at a time, whatever disk it is for.
    pub one_at_a_time: bool,
}

impl Task {
    /// What VMs of this group do.
    pub fn of(group: &VmGroup, workload: &Workload) -> Self {
        let cycle = match &workload.arrivals {
            Arrivals::Open { .. } => Cycle::Paced,
            Arrivals::Closed { think, .. } => Cycle::Closed {
                think_ms: 1e3 * think.mean.seconds(),
            },
            Arrivals::Parallel { .. } => Cycle::Closed { think_ms: 0.0 },
            Arrivals::Io { workers, rate, .. } => Cycle::Generator {
                workers: *workers,
                pace_per_s: rate.map(|rate| rate.per_second() * group.load),
            },
        };
        Self {
            cycle,
            traffic_gb_per_s: workload.memory_traffic.bytes_per_s() / 1e9,
            stores: group.array.clone().or_else(|| group.storage.clone()),
            one_at_a_time: group.controller == Some(ControllerKind::Ide),
        }
    }
}
