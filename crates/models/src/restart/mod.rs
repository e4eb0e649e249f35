//! Restart of the VMs of a host that failed: when, in which order, how many at a time, where to, and how often it is
//! tried.
//!
//! A policy is a table of facts; who carries it out has the clock. See docs/models/restart.md.
//!
//! | file | what it holds |
//! |---|---|
//! | `facts.rs` | what a policy is made of |
//! | `fdm.rs` | vSphere HA (Fault Domain Manager) |
//! | `proxmox.rs` | Proxmox HA |
//! | `masakari.rs` | OpenStack Masakari |
//!
//! **A restart policy is a table of facts** for one automaton, because HA types differ only in times, numbers and
//! order. A balancing policy is a function from loads to moves.

mod facts;
mod fdm;
mod masakari;
mod proxmox;

pub use facts::{AtOnce, Failed, Place, Policy, Retries, has_quorum, votes};

use hypertwin_cluster::RestartPolicy;

/// Time that a power-on occupies one of the slots that [`AtOnce`] counts, in seconds: opening files, creating worlds.
/// Not published; assumed.
pub const POWER_ON_S: f64 = 2.0;

/// Default time from power-on until a VM serves, in seconds (assumed).
pub const BOOT_S: f64 = 60.0;

/// The facts of a policy.
pub fn policy(of: RestartPolicy) -> &'static Policy {
    match of {
        RestartPolicy::Fdm => &fdm::POLICY,
        RestartPolicy::Proxmox => &proxmox::POLICY,
        RestartPolicy::Masakari => &masakari::POLICY,
    }
}
