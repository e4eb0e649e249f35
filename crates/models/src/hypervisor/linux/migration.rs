//! Defaults of live migration with QEMU.
//!
//! **Sources.** `migration/options.c` (downtime 300 ms; one channel). One migration at a time is said with the keys
//! `hosts.X.migration`.

use crate::migration::{Defaults, Settings};
use hypertwin_cluster::{Convergence, HostGroup};

/// Time in which QEMU's migration thread finds that a byte is zero: 100 GB of zero pages migrate in 9.629 s on a Xeon
/// Platinum 8457C (qemu-devel, "Introduce multifd zero page checking", 2024, zero pages checked by the main thread).
const ZERO_S_PER_BYTE: f64 = 9.629 / 100e9;

/// Time of a migration in which no page is sent: the target's QEMU starts, and the source's is cleaned up. The middle
/// of 6 and 9 s, in the logs of two clusters of Proxmox VE that no study has (pastebin.com/wWgTeXcy, 2015;
/// CyberSecurity-all, "One way to implement RAID1 shared storage for a Proxmox cluster", GitHub, 2025).
const SETUP_S: f64 = 7.5;

/// How a Linux host migrates.
pub fn settings(host: &HostGroup) -> Settings {
    Settings::of(
        &host.migration,
        &Defaults {
            streams: 1.0,
            concurrent: 1,
            downtime_s: 0.3,
            setup_s: SETUP_S,
            zero_s_per_byte: ZERO_S_PER_BYTE,
            convergence: Convergence::Nothing,
        },
    )
}
