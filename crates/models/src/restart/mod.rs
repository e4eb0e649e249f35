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

mod facts;
mod fdm;
mod masakari;
mod proxmox;

pub use facts::{AtOnce, Failed, Place, Policy, Retries};

use hypertwin_cluster::RestartPolicy;

/// How long a power-on occupies one of the places that [`AtOnce`] counts, in seconds: files are opened, worlds are
/// made. Not published; a supposition.
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
