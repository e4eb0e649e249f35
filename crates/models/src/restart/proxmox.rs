//! Proxmox HA.
//!
//! **Timeline.** The agent lock of a dead node lasts 120 s (`CFS_LOCK_TIMEOUT` 60 s, twice), by when its watchdog of 60
//! s has fenced it; then its services are recovered. If the node of the manager dies, its lock lasts as long, and the
//! new manager waits 60 s before it fences the node. Each node's agent starts with 4 workers. The recovery node is the
//! one with the fewest services (`basic`). A service without a node stays in `recovery` and is retried each cycle.
//!
//! **Range.** The agent renews its lock, the manager looks at nodes, and the agent of the new node looks for services,
//! each in a cycle of 10 s. The first shortens the time by up to 10 s, and the others lengthen it by up to 10 s each.
//!
//! **Sources.** proxmox/pve-docs, `ha-manager.adoc` and `pvecm.adoc`; pmxcfs, `memdb.c`; proxmox/pve-ha-manager,
//! `CRM.pm`, `LRM.pm` and `Manager.pm`.
//!
//! **Quorum.** Each node has a vote, and services are recovered only while more than half of the votes are there. A
//! QDevice has one vote beside an even number of nodes, else one fewer than there are nodes (`pvecm qdevice setup`).
//!
//! **Not modelled.** Groups' node priorities, `static` placement. Nodes without a quorum reset themselves, if they run
//! HA services (watchdog); here their VMs go on.

use super::facts::{AtOnce, Failed, Place, Policy, Retries};

/// Time for which the lock of an agent or of the manager lasts after it was renewed.
const LOCK_S: f64 = 120.0;
/// Time for which a manager waits until it fences a node that it does not know.
const FENCE_DELAY_S: f64 = 60.0;
/// A cycle of the manager and of an agent.
const CYCLE_S: f64 = 10.0;

pub(super) const POLICY: Policy = Policy {
    detection_s: |failed: Failed| {
        let due = LOCK_S + if failed.is_primary { FENCE_DELAY_S } else { 0.0 };
        [due - CYCLE_S, due + 2.0 * CYCLE_S]
    },
    needs_quorum: true,
    at_once: AtOnce::OnEachHost(4),
    has_classes: false,
    retries: Retries::Every(CYCLE_S),
    place: Place::FewestVms,
};
