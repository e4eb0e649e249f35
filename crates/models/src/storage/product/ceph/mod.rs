//! Ceph: placement groups with a primary, OSDs.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | answers to what the engine asks of a product |
//! | `cost.rs`, `client.rs` | cycles of OSDs and gateways, by release and encryption; cycles of clients |
//!
//! **Sources.** Ceph's documentation. A group with fewer members than `min_size` serves neither reads nor writes
//! (placement group states, "peered"). Monitors need a majority to mark OSDs down (monitor configuration reference).
//! `min_size` of an erasure code, `mon_osd_min_in_ratio`, `mon_osd_down_out_subtree_limit`. Usable capacity ends at
//! `mon_osd_nearfull_ratio`.

mod client;
mod cost;

pub use client::client_cycles;
pub use cost::{DEFERRED_BYTES, LOG_BLOCK, LOG_BYTES, OsdCost, SCRUB_STRIDE};

use super::interface::{Backfill, CPU, Most, Product, Stored};
use super::qos::{Capacity, Order};
use crate::storage::stripe::Way;
use hypertwin_cluster::{CephScheduler, DiskKind, Redundancy, StoragePool};

/// Ceph.
pub(super) const CEPH: Product = Product {
    has_osds: true,
    has_components: false,
    needs_majority: false,
    notices: true,
    majority_notices: true,
    reads_need_minimum: true,
    replaces_failed_disks: false,
    keeps_most_in: true,
    refills_returned: true,
    clients_code: false,
    codes_chunks: true,
    takes_turns: false,
    full_pct: |pool| pool.ceph().nearfull_pct,
    // mon_osd_backfillfull_ratio
    recovery_stops_pct: 90.0,
    adapts_resync: |_, _| false,
    cpu: |_| CPU,
    client_cycles: |pool| client_cycles(pool.ceph().client),
    appends_log: |_| false,
    way: |pool| match pool.ceph().ec_optimizations {
        true => Way::Fragments,
        false => Way::WholeStripes,
    },
    minimum: |pool, policy, _| minimum(pool.redundancy_of(policy)),
    groups,
    order,
    backfill,
    deep_scrub: |pool| pool.ceph().deep_scrub,
};

/// `min_size`: of an erasure code one fragment more than it needs.
fn minimum(redundancy: Redundancy) -> u32 {
    let more = match redundancy {
        Redundancy::Erasure { parity, .. } => parity.min(2) - 1,
        Redundancy::Replicas { .. } => 0,
    };
    redundancy.minimum_available() + more
}

/// A share of the scenario's number, or else the usual one, however little the groups hold.
fn groups(pool: &StoragePool, stored: &Stored) -> usize {
    match pool.ceph().placement_groups {
        Some(groups) => (u128::from(groups) * stored.raw).div_ceil(stored.all) as usize,
        None => stored.usual,
    }
}

fn order(pool: &StoragePool, kind: DiskKind, queues: u32) -> Option<Order> {
    let ceph = pool.ceph();
    Some(match ceph.scheduler() {
        CephScheduler::Wpq => Order::wpq(),
        CephScheduler::Mclock => Order::mclock(ceph.profile, Capacity::of(kind, ceph.device_iops), queues),
    })
}

fn backfill(pool: &StoragePool, is_flash: bool) -> Backfill {
    let ceph = pool.ceph();
    let active = ceph.recovery_max_active_on(is_flash);
    Backfill {
        most: Most::PerDevice(ceph.max_backfills.min(active) * ceph.osds_per_device),
        at_a_time: (active / ceph.max_backfills).max(1),
        sleep: ceph.recovery_sleep_on(is_flash, pool.flash.is_some()),
    }
}
