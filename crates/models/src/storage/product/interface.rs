//! The interface of a product of distributed storage.

use super::qos::Order;
use crate::storage::stripe::Way;
use hypertwin_cluster::{DiskKind, Duration, Hypervisor, StoragePool};

/// Behaviour of a product. Every field is required, so a new product has to answer for each.
#[derive(Debug)]
pub struct Product {
    /// Operations are served by OSDs, each with messengers, shards and a log. Otherwise a node's threads serve them in
    /// turn.
    pub has_osds: bool,
    /// Virtual disks are cut into components, and writes are acknowledged before they are in their place: from cache
    /// devices of disk groups, or from a log.
    pub has_components: bool,
    /// Nothing is served without a majority of metadata servers.
    pub needs_majority: bool,
    /// Requests to members that stopped answering wait until those are marked down. Otherwise clients ask others.
    pub notices: bool,
    /// Members are marked down only with a majority of metadata servers.
    pub majority_notices: bool,
    /// Reads need as many members as writes do.
    pub reads_need_minimum: bool,
    /// A failed disk is replaced at once; only absent hosts are waited for.
    pub replaces_failed_disks: bool,
    /// Devices stay in, however long they are away, if a quarter of all are out or a whole rack is away.
    pub keeps_most_in: bool,
    /// Devices that return after the pool did without them get groups again.
    pub refills_returned: bool,
    /// Clients make the parity of erasure codes. Otherwise a primary does.
    pub clients_code: bool,
    /// An erasure code divides each chunk. Otherwise it is over several chunks.
    pub codes_chunks: bool,
    /// Each stripe of an erasure code begins on another device of the same set.
    pub takes_turns: bool,
    /// Fill level of devices that ends usable capacity, in per cent.
    pub full_pct: fn(&StoragePool) -> f64,
    /// Fill level of devices at which recovery onto them stops, in per cent, if that is not lower.
    pub recovery_stops_pct: f64,
    /// Devices in use by VMs throttle rebuilding, on hosts of this hypervisor.
    pub adapts_resync: fn(&StoragePool, Hypervisor) -> bool,
    /// Default CPU of an I/O.
    pub cpu: fn(&StoragePool) -> CpuCost,
    /// Default cycles of the client for an I/O, in addition to its bytes; 0 where `cpu` has its time instead.
    pub client_cycles: fn(&StoragePool) -> f64,
    /// Writes go to a log first, and from there as full stripes.
    pub appends_log: fn(&StoragePool) -> bool,
    /// What requests read and write of erasure codes.
    pub way: fn(&StoragePool) -> Way,
    /// Members of a policy's groups that must be whole for writes, on this number of nodes.
    pub minimum: fn(&StoragePool, Option<&str>, u32) -> u32,
    /// Number of placement groups for data with the same redundancy.
    pub groups: fn(&StoragePool, &Stored) -> usize,
    /// Order of service of one of a device's queues, by kind of device and number of queues; `None`: as they come.
    pub order: fn(&StoragePool, DiskKind, u32) -> Option<Order>,
    /// Parallel work of a rebuild; whether devices are flash.
    pub backfill: fn(&StoragePool, bool) -> Backfill,
    /// Interval in which everything is read once, if any.
    pub deep_scrub: fn(&StoragePool) -> Option<Duration>,
}

impl Product {
    /// Fill level of devices up to which lost data are recovered on them, in per cent.
    pub fn recovery_pct(&self, pool: &StoragePool) -> f64 {
        (self.full_pct)(pool).max(self.recovery_stops_pct)
    }
}

/// Data with the same redundancy.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Chunks or sets of chunks.
    pub chunks: usize,
    /// Groups if the pool has the usual number per device.
    pub usual: usize,
    /// Its raw bytes.
    pub raw: u128,
    /// Raw bytes of all data.
    pub all: u128,
}

/// CPU of an I/O at nominal clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCost {
    /// On the host of the VM.
    pub client_ns: u64,
    /// On the host of a device, for each of its operations.
    pub component_ns: u64,
}

/// Parallel work of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// Jobs at a time.
    pub most: Most,
    /// Pieces of one job at a time.
    pub at_a_time: u32,
    /// Pause between the pieces that one device is read for.
    pub sleep: Duration,
}

/// Jobs of a rebuild at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// On average per node.
    PerNode(u32),
    /// That write to one device, and that read from one.
    PerDevice(u32),
}

/// CPU of a client and a service outside the kernel. Assumed.
pub(super) const CPU: CpuCost = CpuCost {
    client_ns: 10_000,
    component_ns: 20_000,
};

/// As many streams per node as the scenario has.
pub(super) fn streams(pool: &StoragePool) -> Backfill {
    Backfill {
        most: Most::PerNode(pool.rebuild.streams),
        at_a_time: 1,
        sleep: Duration::ZERO,
    }
}
