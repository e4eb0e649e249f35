//! Mirrored meshes: small chunks on all devices, whose metadata are not in the data path (ScaleIO).
//!
//! **Assumptions.** Devices can be filled: no limit is published. What was on a failed device is rebuilt at once, as
//! its node says so; a node that is away is waited for.

use super::interface::{CPU, Product, streams};
use crate::storage::stripe::Way;

/// A mirrored mesh.
pub(super) const MESH: Product = Product {
    has_osds: false,
    has_components: false,
    needs_majority: false,
    notices: false,
    majority_notices: false,
    reads_need_minimum: false,
    replaces_failed_disks: true,
    keeps_most_in: false,
    refills_returned: false,
    clients_code: true,
    codes_chunks: false,
    takes_turns: false,
    full_pct: |_| 100.0,
    recovery_stops_pct: 100.0,
    adapts_resync: |_, _| false,
    cpu: |_| CPU,
    client_cycles: |_| 0.0,
    appends_log: |_| false,
    way: |_| Way::Client,
    minimum: |pool, policy, _| pool.redundancy_of(policy).minimum_available(),
    groups: |_, stored| stored.chunks.min(stored.usual),
    order: |_, _, _| None,
    backfill: |pool, _| streams(pool),
    deep_scrub: |_| None,
};
