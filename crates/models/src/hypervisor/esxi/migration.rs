//! Defaults of vMotion.
//!
//! **Sources.** Concurrency and link speeds: VMware, "vSphere Configuration Maximums" (8 at 10 Gb/s and faster, 4
//! below). The downtime of 500 ms and the set-up of 2.5 s are said with the keys `hosts.X.migration`. ESXi knows which
//! pages a VM has never touched. ESXi 7.0 U2 uses as many streams as fill the link (VMware, "Faster vMotion makes
//! balancing workloads invisible").

use crate::migration::{Defaults, Settings};
use hypertwin_cluster::{Convergence, HostGroup, Hypervisor};

/// 10 Gb/s in bytes per second.
const TEN_GIGABIT: f64 = 1.25e9;

/// How an ESXi host migrates.
pub fn settings(host: &HostGroup) -> Settings {
    let fills_link = host.hypervisor >= Hypervisor::Esxi70u2;
    Settings::of(
        &host.migration,
        &Defaults {
            streams: if fills_link { f64::INFINITY } else { 1.0 },
            concurrent: match host.migration.link.bytes_per_s() < TEN_GIGABIT {
                true => 4,
                false => 8,
            },
            downtime_s: 0.5,
            setup_s: 2.5,
            zero_s_per_byte: 0.0,
            convergence: Convergence::SlowDown,
        },
    )
}
