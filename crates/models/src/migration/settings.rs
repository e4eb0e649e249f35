//! How a host migrates: what the scenario says, and else what its hypervisor's version does by itself.
//!
//! **Sources.** Defaults that do not depend on the hypervisor are said with the keys `hosts.X.migration`; the others
//! are in `migration.rs` of each hypervisor.

use hypertwin_cluster::{Convergence, Migration};

/// What a hypervisor does by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Streams of one migration.
    pub streams: f64,
    /// Migrations from and to the host at a time.
    pub concurrent: u32,
    /// Longest time for the last copy.
    pub downtime_s: f64,
    /// Time before the first page is sent, with what is cleaned up in the end.
    pub setup_s: f64,
    /// Time to find that a byte of a zero page need not be sent.
    pub zero_s_per_byte: f64,
    /// What happens to a VM that writes too fast.
    pub convergence: Convergence,
}

/// How a host migrates, with all defaults.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// Bytes per second in each direction.
    pub link: f64,
    /// The most that one migration sends, in bytes per second.
    pub most: f64,
    /// Migrations from and to the host at a time.
    pub concurrent: usize,
    /// Longest time for the last copy.
    pub downtime_s: f64,
    /// Time before the first page is sent.
    pub setup_s: f64,
    /// Time to find that a byte of a zero page need not be sent.
    pub zero_s_per_byte: f64,
    /// Time after the last page.
    pub resume_s: f64,
    /// What happens to a VM that writes too fast.
    pub convergence: Convergence,
    /// First and further steps of `auto-converge`, as fractions.
    #[serde(skip)]
    pub throttle: [f64; 2],
    /// When a migration is given up, if at all.
    pub timeout_s: Option<f64>,
}

impl Settings {
    /// The scenario's, or else a hypervisor's defaults.
    pub fn of(said: &Migration, defaults: &Defaults) -> Self {
        let link = said.link.bytes_per_s();
        let seconds = |said: Option<hypertwin_cluster::Duration>, default| {
            said.map_or(default, hypertwin_cluster::Duration::seconds)
        };
        let streams = said.streams.map_or(defaults.streams, f64::from);
        Self {
            link,
            most: (streams * said.stream.bytes_per_s()).min(link),
            concurrent: said.concurrent.unwrap_or(defaults.concurrent) as usize,
            downtime_s: seconds(said.downtime, defaults.downtime_s),
            setup_s: seconds(said.setup, defaults.setup_s),
            zero_s_per_byte: defaults.zero_s_per_byte,
            resume_s: said.resume.seconds(),
            convergence: said.convergence.unwrap_or(defaults.convergence),
            throttle: [said.throttle_initial_pct / 100.0, said.throttle_step_pct / 100.0],
            timeout_s: said.timeout.map(hypertwin_cluster::Duration::seconds),
        }
    }
}
