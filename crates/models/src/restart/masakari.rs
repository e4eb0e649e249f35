//! OpenStack Masakari.
//!
//! **Timeline.** The host is polled every 60 s, fencing takes 30 s, and its compute service is disabled within 180 s:
//! 210 to 270 s, by the phase of the poll. Three threads evacuate. Sources: openstack/masakari-monitors,
//! `conf/host.py`; openstack/masakari, `conf/engine.py`. The scheduler spreads instances by free memory in OpenStack's
//! default weights; here they go to the host with the fewest instances. Assumed: a failed evacuation is retried every
//! 120 s, the period in which the engine looks for unfinished notifications.

use super::facts::{AtOnce, Place, Policy, Retries};

pub(super) const POLICY: Policy = Policy {
    detection_s: |_| [30.0 + 180.0, 60.0 + 30.0 + 180.0],
    needs_quorum: false,
    at_once: AtOnce::InCluster(3),
    has_classes: false,
    retries: Retries::Every(120.0),
    place: Place::FewestVms,
};
