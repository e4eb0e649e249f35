//! VMware vSAN, original and express architecture.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | answers to what the engine asks of a product |
//! | `fixed.rs` | fixed sizes and shares, CPU of I/Os |
//! | `resync.rs` | share of a device that resynchronisation gets beside VM I/O |
//!
//! **Assumptions.** Usable capacity ends at 90%: VMware's sizing guides reserve about 10% for operations.

mod fixed;
pub mod resync;

pub use fixed::{LINE, STRIPE_UNIT, shares};

use super::interface::{Product, streams};
use crate::storage::stripe::Way;
use hypertwin_cluster::{Redundancy, StoragePool, VsanArchitecture};

/// vSAN.
pub(super) const VSAN: Product = Product {
    has_osds: false,
    has_components: true,
    needs_majority: false,
    notices: true,
    majority_notices: false,
    reads_need_minimum: true,
    replaces_failed_disks: true,
    keeps_most_in: false,
    refills_returned: false,
    clients_code: true,
    codes_chunks: false,
    takes_turns: true,
    full_pct: |_| 90.0,
    recovery_stops_pct: 100.0,
    adapts_resync: |pool, hypervisor| pool.vsan().adapts_resync(hypervisor),
    cpu: |pool| match is_express(pool) {
        true => fixed::ESA,
        false => fixed::OSA,
    },
    client_cycles: |_| 0.0,
    appends_log: is_express,
    way: |_| Way::Client,
    minimum,
    groups: |_, stored| stored.usual,
    order: |_, _, _| None,
    backfill: |pool, _| streams(pool),
    deep_scrub: |_| None,
};

fn is_express(pool: &StoragePool) -> bool {
    pool.vsan().architecture == VsanArchitecture::Esa
}

/// Replicas or fragments of a policy's data that give more than half of all votes, on `nodes` hosts. With enough
/// failure domains, witnesses on those without a replica have as many votes as all replicas but one. Otherwise a
/// witness host does, if there is one.
fn minimum(pool: &StoragePool, policy: Option<&str>, nodes: u32) -> u32 {
    let redundancy = pool.redundancy_of(policy);
    let votes = match redundancy {
        Redundancy::Replicas { copies, .. } => {
            let has_witnesses = pool.vsan().witness || pool.witnesses(policy, nodes) > 0;
            if has_witnesses { 1 } else { copies / 2 + 1 }
        }
        Redundancy::Erasure { data, .. } => data,
    };
    redundancy.minimum_available().max(votes)
}
