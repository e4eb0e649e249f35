//! Proxmox HA.
//!
//! **Timeline.** A node that dies keeps its agent's lock for 120 s (`CFS_LOCK_TIMEOUT` 60 s, twice), so that it has
//! fenced itself by its watchdog of 60 s; then its services are recovered. Each node's agent starts with 4 workers; the
//! recovery node is the one with the fewest services (`basic`); a service that finds none stays in `recovery` and is
//! looked at again. Source: proxmox/pve-docs, `ha-manager.adoc`; pmxcfs, `memdb.c`. That it is looked at every 10 s, a
//! cycle of the manager, is a supposition.
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
