//! Stations of storage: what each was asked to do, summed over its members.

use super::disk::DiskState;
use super::port::Port;
use super::queue::Waits;
use crate::metrics::reports;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Nanos;
use serde::Serialize;

/// What has stations: the members of one kind of a VM group, host, array or pool, by its position. In the order of
/// reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[allow(missing_docs, reason = "the words say it")]
pub enum Station {
    Workers { group: usize },
    VdiskDepth { group: usize },
    Ring { group: usize },
    Dsnro { group: usize },
    LunDepth { host: usize },
    PortDepth { host: usize },
    Ports { host: usize },
    Swap { host: usize },
    Array { array: usize },
    Pool { pool: usize },
}

/// What a replication measured of a station, over all of its members.
#[derive(Clone, Debug, Encode, Decode)]
pub struct StationResult {
    /// What has it.
    pub of: Station,
    /// Its name: that of a VM group, host, array or pool, and which part of it.
    pub name: String,
    /// Whether it limits I/Os rather than works on them.
    pub is_depth: bool,
    /// What is reported of it.
    pub figures: StationReport,
}

reports! {
    /// A station of the I/O path.
    #[derive(Clone, Debug, Serialize, Encode, Decode)]
    pub struct StationReport {
        /// Number of ports, controllers, disks or queues in the station. Stations are named after a VM group (`-vcpus`,
        /// `-controllers`, `-vdisk-depth`, `-ring`, `-dsnro`), a host (`-ports`, `-port-depth`, `-lun-depth`), an array
        /// (`-front-end`, `-cache`, `-disks`) or a pool (`-services`, or for Ceph `-messengers`, `-shards`, `-commit`,
        /// `-gateways` and `-cpu-limit`; `-devices`, `-flash`, `-network` of its nodes, `-client-network` of the other
        /// hosts, `-cluster-network` only between its nodes, `-rack-network` between its racks or sites).
        pub members: usize = "Members";
        /// Mean over the members of the time that each was busy. For a depth, the share of used slots. For a cache, the
        /// share of its space for written data in use at the end. A port counts its busier direction.
        pub utilization_pct: f64 = "Utilization", "%";
        /// Utilization of the busiest member.
        pub utilization_max_pct: f64 = "Utilization, busiest", "%";
        /// Mean number of I/Os waiting, at all members together.
        pub queue: f64 = "In line", "I/Os";
        /// Mean wait of all I/Os that passed, including those that did not wait. Little's law: waiting I/Os = passed
        /// per second × wait.
        pub wait_ms: f64 = "Wait", "ms";
        /// Share of the I/Os that had to wait.
        pub waited_pct: f64 = "Waited", "%";
        /// I/Os, or disk operations, that passed per second. A cache counts writes.
        pub throughput_per_s: f64 = "Passed", "1/s";
        /// Payload that passed. Only for ports, networks, and disks of pools.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub mb_per_s: Option<f64> = "Payload", "MB/s";
        /// Reads that the array's cache answered. Only for caches.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hit_pct: Option<f64> = "Hits", "%";
        /// I/Os that were sent again because their answer was lost with a port. Only for ports of hosts, if ports fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub path_failovers: Option<f64> = "Sent again";
    }
}

/// Sums over the members of a station.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub members: usize,
    busy: f64,
    busiest: f64,
    queue: f64,
    pub waits: Waits,
    bytes: Option<u64>,
}

impl Sums {
    /// Adds a member with its busy fraction of the time and its mean queue length.
    pub fn add(&mut self, busy: f64, queue: f64, waits: Waits) {
        self.members += 1;
        self.busy += busy;
        self.busiest = self.busiest.max(busy);
        self.queue += queue;
        self.waits.passed += waits.passed;
        self.waits.waited += waits.waited;
        self.waits.wait_ns += waits.wait_ns;
    }

    /// Sums over `members`: see [`Self::add`].
    pub fn of(members: impl IntoIterator<Item = (f64, f64, Waits)>) -> Self {
        let mut sums = Self::default();
        members
            .into_iter()
            .for_each(|(busy, queue, waits)| sums.add(busy, queue, waits));
        sums
    }

    /// Disks of an array or a pool.
    pub fn of_disks(disks: &[DiskState], now: Nanos, duration_ns: f64) -> Self {
        let member = |disk: &DiskState| (disk.utilization(now, duration_ns), disk.queued.mean(now), disk.waits);
        let mut sums = Self::of(disks.iter().map(member));
        sums.bytes = Some(disks.iter().flat_map(|disk| disk.bytes).sum());
        sums
    }

    /// Ports of a host or an array: the busier direction of each counts.
    pub fn of_ports<'p>(ports: impl Iterator<Item = &'p Port> + Clone, now: Nanos, duration_ns: f64) -> Self {
        let mut sums = Self::of(ports.clone().map(|port| {
            let busy = port.up.busy_ns(now).max(port.down.busy_ns(now)) as f64 / duration_ns;
            (busy, port.waits.wait_ns as f64 / duration_ns, port.waits)
        }));
        sums.bytes = Some(ports.flat_map(|port| port.bytes).sum());
        sums
    }

    /// The station `name` with these members.
    pub fn result(self, of: Station, name: String, is_depth: bool, duration_ns: f64) -> StationResult {
        let passed = (self.waits.passed as f64).max(1.0);
        StationResult {
            of,
            name,
            is_depth,
            figures: StationReport {
                members: self.members,
                utilization_pct: 100.0 * self.busy / self.members.max(1) as f64,
                utilization_max_pct: 100.0 * self.busiest,
                queue: self.queue,
                wait_ms: self.waits.wait_ns as f64 / passed / 1e6,
                waited_pct: 100.0 * self.waits.waited as f64 / passed,
                throughput_per_s: self.waits.passed as f64 / duration_ns * 1e9,
                mb_per_s: self.bytes.map(|bytes| bytes as f64 / duration_ns * 1e3),
                hit_pct: None,
                path_failovers: None,
            },
        }
    }
}
