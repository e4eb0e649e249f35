//! Memory of a Linux host with KVM: watermarks, least recently used pages, and the OOM killer.
//!
//! **Mechanism.** Memory of VMs is anonymous memory of their QEMU processes. Free memory counts the host's page cache,
//! which goes first. Below the low watermark kswapd swaps the least recently used pages out until the high one is
//! reached; below the minimum whoever wants memory has to find it itself. When nothing can be swapped out, the process
//! with the most memory is killed. A VM's reservation is `memory.min` of its cgroup, its limit `memory.max`; memory
//! shares do not exist. VMs with a `balloon` give memory back from 80 % use of the host on, in proportion to what they
//! have, as Proxmox VE does it by shares.
//!
//! **Sources.** Watermarks: `mm/page_alloc.c`, `min_free_kbytes` as 4 * sqrt(KiB) up to 256 MiB, and
//! `watermark_scale_factor` of 0.1 % between them.
//!
//! **Assumptions.** Access bits tell the host which pages are idle, so that it reclaims these first, from all VMs in
//! proportion to what each has; then active ones in the same way. KSM, if it is on, shares 5,000 pages per second
//! (`pages_to_scan` 100, `sleep_millisecs` 20). A guest gives 64 MiB/s to its balloon. QEMU's own memory is not counted
//! in addition to the guest's: set it in the host's `hypervisor_memory`.

use crate::reclamation::{Actions, Level, Policy, ShareRate, Threshold, part};
use hypertwin_cluster::{HostGroup, PageSharing};

const MIB: f64 = (1 << 20) as f64;

/// Use of a host's memory from which balloons grow.
const AUTO_BALLOON: f64 = 0.8;

/// Free memory at which kswapd begins, at which it ends, and below which other tasks reclaim, on a host with `memory`
/// bytes.
pub fn watermarks(memory: f64) -> [f64; 3] {
    let min = (4.0 * libm::sqrt(memory / 1024.0) * 1024.0).min(256.0 * MIB);
    let step = (min / 4.0).max(0.001 * memory);
    [min + step, min + 2.0 * step, min]
}

/// How a Linux host deals with its memory. `has_balloons`: whether any VM on it has one.
pub fn policy(host: &HostGroup, has_balloons: bool) -> Policy {
    let (memory, options) = (part(host.memory(), 1.0), &host.reclamation);
    let [low, high, min] = watermarks(memory);
    let sharing = options.page_sharing.unwrap_or(PageSharing::Off);
    let mut thresholds = Vec::new();
    let roomy = memory * (1.0 - AUTO_BALLOON);
    if has_balloons && roomy > high {
        thresholds.push(Threshold {
            level: Level::Soft,
            enter: roomy,
            leave: roomy,
        });
    }
    thresholds.push(Threshold {
        level: Level::Hard,
        enter: low,
        leave: high,
    });
    thresholds.push(Threshold {
        level: Level::Low,
        enter: min,
        leave: low,
    });
    let always = Actions {
        shares: true,
        ..Actions::default()
    };
    let soft = Actions {
        balloons: true,
        ..always
    };
    let hard = Actions { swaps: true, ..soft };
    Policy {
        thresholds,
        actions: [always, always, soft, hard, Actions { blocks: true, ..hard }],
        goal: high,
        balloon_goal: roomy,
        idle_cost: 1.0,
        by_shares: false,
        idle_first: true,
        kills: true,
        share_rate: ShareRate::PerHost(5_000.0),
        sharing,
        balloon_rate: 64.0 * MIB,
        balloon_most: options.balloon_most_pct / 100.0,
        compressed_most: 0.0,
        overhead: |_| 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{MIB, policy, watermarks};
    use crate::reclamation::{Level, Tenant, policy::tests::host};
    use hypertwin_cluster::{Hypervisor, PageSharing};

    #[test]
    fn watermarks_are_the_kernels() {
        // 64 GiB: 4 * sqrt(67108864) KiB = 32 MiB, and a thousandth of all between watermarks
        let [low, high, min] = watermarks(65_536.0 * MIB);
        let step = 65.536;
        for (found, expected) in [(min, 32.0), (low, 32.0 + step), (high, 32.0 + 2.0 * step)] {
            assert!((found / MIB - expected).abs() < 1e-6, "{found}");
        }
        assert_eq!(watermarks(8_192.0 * 1_024.0 * MIB)[2], 256.0 * MIB);
    }

    #[test]
    fn kswapd_goes_on_to_the_high_watermark_and_balloons_begin_at_80_per_cent_where_asked_for() {
        let gib = 1024.0 * MIB;
        let plain = policy(&host(Hypervisor::Linux6_12, 64), false);
        let level = |now, mib: f64| plain.level(now, mib * MIB);
        assert_eq!(level(Level::High, 98.0), Level::High);
        assert_eq!(level(Level::High, 97.0), Level::Hard);
        assert_eq!(level(Level::Hard, 162.0), Level::Hard);
        assert_eq!(level(Level::Hard, 164.0), Level::High);
        assert_eq!(level(Level::High, 31.0), Level::Low);
        assert!(plain.kills && plain.sharing == PageSharing::Off && plain.actions(Level::Hard).swaps);
        let asked = policy(&host(Hypervisor::Linux6_12, 64), true);
        assert_eq!(asked.level(Level::High, 12.0 * gib), Level::Soft);
        assert_eq!(plain.level(Level::High, 12.0 * gib), Level::High);
    }

    #[test]
    fn idle_pages_go_first_shares_mean_nothing_and_cgroups_protect_and_confine() {
        let policy = policy(&host(Hypervisor::Linux6_6, 64), false);
        let tenant = |shares, active, reservation, limit| Tenant {
            shares,
            active,
            reservation,
            limit,
            touched: 100.0,
        };
        let all = f64::INFINITY;
        let near = |available, tenants: [Tenant; 2], expected: [f64; 2]| {
            let found = policy.targets(available, &tenants);
            let agree = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(agree, "{found:?}, not {expected:?}");
        };
        // 60 of 120 idle pages, of which the first has 80 and the second 40
        near(
            140.0,
            [tenant(1.0, 0.2, 0.0, all), tenant(9.0, 0.6, 0.0, all)],
            [60.0, 80.0],
        );
        // not even the active ones fit
        near(
            40.0,
            [tenant(1.0, 0.2, 0.0, all), tenant(9.0, 0.6, 0.0, all)],
            [10.0, 30.0],
        );
        near(
            140.0,
            [tenant(1.0, 0.2, 70.0, all), tenant(9.0, 0.6, 0.0, all)],
            [70.0, 70.0],
        );
        near(
            140.0,
            [tenant(1.0, 0.2, 0.0, 30.0), tenant(9.0, 0.6, 0.0, all)],
            [30.0, 100.0],
        );
        near(
            40.0,
            [tenant(1.0, 0.2, 25.0, all), tenant(9.0, 0.6, 0.0, all)],
            [25.0, 15.0],
        );
    }
}
