//! OpenStack Masakari.
//!
//! **Timeline**, at worst: the host is polled every 60 s, 30 s are waited for its fencing, and up to 180 s until its
//! compute service is disabled: 270 s. Three threads evacuate. Sources: openstack/masakari-monitors, `conf/host.py`;
//! openstack/masakari, `conf/engine.py`. The scheduler spreads instances by free memory in OpenStack's default weights;
//! here they go where fewest are. That an evacuation without a place is tried again every 120 s, the period in which
//! the engine looks for unfinished notifications, is a supposition.

use super::facts::{AtOnce, Place, Policy, Retries};

pub(super) const POLICY: Policy = Policy {
    detection_s: |_| 60.0 + 30.0 + 180.0,
    at_once: AtOnce::InCluster(3),
    has_classes: false,
    retries: Retries::Every(120.0),
    place: Place::FewestVms,
};
