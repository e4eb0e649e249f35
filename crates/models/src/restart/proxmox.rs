//! Proxmox HA.
//!
//! **Timeline.** The agent lock of a dead node lasts 120 s (`CFS_LOCK_TIMEOUT` 60 s, twice), by when its watchdog of 60
//! s has fenced it; then its services are recovered. Each node's agent starts with 4 workers. The recovery node is the
//! one with the fewest services (`basic`). A service without a node stays in `recovery` and is retried. Source:
//! proxmox/pve-docs, `ha-manager.adoc`; pmxcfs, `memdb.c`. Assumed: a retry every 10 s, a cycle of the manager.
//!
//! **Not modelled.** Groups' node priorities, `static` placement, quorum.

use super::facts::{AtOnce, Place, Policy, Retries};

pub(super) const POLICY: Policy = Policy {
    detection_s: |_| 120.0,
    at_once: AtOnce::OnEachHost(4),
    has_classes: false,
    retries: Retries::Every(10.0),
    place: Place::FewestVms,
};
