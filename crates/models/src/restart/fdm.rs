//! vSphere HA from 5.0 to 8.0 (Fault Domain Manager).
//!
//! **Timeline.** A secondary host that dies: 3 s until its datastore heartbeats are watched, for 15 s; 10 s until it is
//! unreachable, and pinged for 5 s. Dead after 15 s without heartbeat datastores, after 18 s with. The primary: 10 s
//! until an election, 25 s until there is a primary, which watches for as long as after any loss: restarts after 50 s.
//! The book says 35 s for 6.0. Sources: D. Epping, yellow-bricks.com, 26 January 2021; Epping, Denneman, "vSphere HA
//! Deepdive".
//!
//! **Range.** Heartbeats come once a second. A failure follows the last of them by up to 1 s, from which the times
//! above count. For the primary, the range is from one source's time to the other's.
//!
//! **Restart.** 32 power-ons at a time on each host; a class of priority waits for the power-on tasks of those before
//! it, not for their guests; five attempts: at once, and 2, 6, 14 and 30 minutes later; VMs are spread evenly over
//! hosts (Deepdive).
//!
//! **Not modelled.** Isolation: its default response leaves VMs on. A failed power-on for any other reason than lack of
//! a place.

use super::facts::{AtOnce, Failed, Place, Policy, Retries};

pub(super) const POLICY: Policy = Policy {
    detection_s: |failed: Failed| match (failed.is_primary, failed.has_heartbeat_datastores) {
        (true, _) => [35.0, 50.0],
        (false, true) => [17.0, 18.0],
        (false, false) => [14.0, 15.0],
    },
    needs_quorum: false,
    at_once: AtOnce::OnEachHost(32),
    has_classes: true,
    retries: Retries::After(&[120.0, 360.0, 840.0, 1_800.0]),
    place: Place::SpreadEvenly,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detection_and_attempts_are_as_published() {
        let at = |is_primary, has_heartbeat_datastores| {
            (POLICY.detection_s)(Failed {
                is_primary,
                has_heartbeat_datastores,
            })
        };
        assert_eq!(
            [at(false, false), at(false, true), at(true, false), at(true, true)],
            [[14.0, 15.0], [17.0, 18.0], [35.0, 50.0], [35.0, 50.0]]
        );
        let mut time = 0.0;
        let mut attempts = vec![time];
        while let Some(pause) = POLICY.retries.pause_s(attempts.len()) {
            time += pause;
            attempts.push(time);
        }
        assert_eq!(attempts, [0.0, 120.0, 360.0, 840.0, 1_800.0]);
    }
}
