//! Restart of the VMs of a host that failed: when, in which order, how many at a time, where to, and how often it is tried.
//!
//! A policy is a table of facts; who carries it out has the clock. See docs/models/restart.md.
//!
//! | file | what it holds |
//! |---|---|
//! | `fdm.rs` | vSphere HA (Fault Domain Manager) |
//! | `proxmox.rs` | Proxmox HA |
//! | `masakari.rs` | OpenStack Masakari |

mod fdm;
mod masakari;
mod proxmox;

use hypertwin_cluster::RestartPolicy;

/// What a policy makes of a failure.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// From a failure until the first restart, in seconds.
    pub detection_s: fn(Failed) -> f64,
    /// How many power-ons there are at a time.
    pub at_once: AtOnce,
    /// A class of restart priority waits until the power-ons of those before it have ended; without, there are no classes.
    pub has_classes: bool,
    /// When what found no place is tried again.
    pub retries: Retries,
    /// Which host takes a VM.
    pub place: Place,
}

/// What matters of a failed host.
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    /// It watched over the others.
    pub is_primary: bool,
    /// Its cluster has datastores through which hosts can be seen alive.
    pub has_heartbeat_datastores: bool,
}

/// How many power-ons there are at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// On each host.
    OnEachHost(usize),
    /// On all hosts of the cluster together.
    InCluster(usize),
}

/// When a VM that found no place is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retries {
    /// So many seconds after its first attempt.
    After(&'static [f64]),
    /// Each time that so many seconds have passed.
    Every(f64),
}

impl Retries {
    /// Seconds between a VM's `attempt` (from 1), which failed, and the next; `None`: there is none.
    pub fn pause_s(self, attempt: usize) -> Option<f64> {
        match self {
            Self::After(times) => {
                let before = if attempt == 1 { 0.0 } else { *times.get(attempt - 2)? };
                Some(times.get(attempt - 1)? - before)
            }
            Self::Every(pause) => Some(pause),
        }
    }
}

/// Which of the hosts that can take a VM does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one with the fewest VMs restarted on it so far.
    SpreadEvenly,
    /// The one with the fewest VMs.
    FewestVms,
}

/// How long a power-on occupies one of the places that [`AtOnce`] counts, in seconds: files are opened, worlds are made. Not
/// published; a supposition.
pub const POWER_ON_S: f64 = 2.0;

/// From power-on until a VM serves, where the scenario does not say it, in seconds: a supposition.
pub const BOOT_S: f64 = 60.0;

/// The facts of a policy.
pub fn policy(of: RestartPolicy) -> &'static Policy {
    match of {
        RestartPolicy::Fdm => &fdm::POLICY,
        RestartPolicy::Proxmox => &proxmox::POLICY,
        RestartPolicy::Masakari => &masakari::POLICY,
    }
}
