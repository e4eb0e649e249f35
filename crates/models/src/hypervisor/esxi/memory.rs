//! Memory of an ESXi host: how much is kept free, what happens when it is not, and what each VM may keep.
//!
//! **Mechanism.** From free memory follows a state, from the state what is done: sharing of pages, balloons,
//! compression, swapping, blocking. Who gives is the VM with the fewest shares for what its pages cost, where an idle
//! page costs 1 / (1 - tax) times as much as an active one; so each is left with shares / (f + k (1 - f)) of what there
//! is, between its reservation and its limit (Waldspurger, "Memory resource management in VMware ESX Server", OSDI
//! 2002, section 5).
//!
//! **Sources.** Minimum free memory and the states from 5.0 and from 6.0: yellow-bricks.com on memory states,
//! prohoster.info "VM performance part 2: memory". Overhead of VMs: VMware, "vSphere Resource Management" 6.5 and 4.0.
//!
//! **Assumptions.** States up to 4.1 at 6%, 4%, 2% and 1% of the host, as in Waldspurger's paper. A state is left at a
//! tenth more free memory than it is entered at: the difference is documented, its size is not. The tax is flat; since
//! ESX 3 it grows with the ratio of idle to active memory in an unpublished way. A guest gives 64 MiB/s to its balloon,
//! and takes as much back. 1,024 pages of each VM are shared per second (`Mem.ShareRateMax`). Overhead is interpolated
//! on planes between the published sizes, extrapolated from the last ones, and the same from 5.0 on.

use crate::reclamation::{Actions, Level, Policy, ShareRate, Threshold, part};
use hypertwin_cluster::{Bytes, HostGroup, Hypervisor, PageSharing};

const GIB: f64 = (1 << 30) as f64;
const MIB: f64 = (1 << 20) as f64;

/// By how much more free memory a state is left than entered.
const HYSTERESIS: f64 = 1.1;

/// Memory that a host of this size tries to keep free, in bytes: 6 % of the first 4 GiB, 4 % up to 12, 2 % up to 28 and
/// 1 % of what is beyond; up to 4.1 6 % of all.
pub fn min_free(version: Hypervisor, memory: Bytes) -> f64 {
    if version < Hypervisor::Esxi50 {
        return part(memory, 0.06);
    }
    let memory = part(memory, 1.0);
    let bands = [
        (0.0, 4.0, 0.06),
        (4.0, 12.0, 0.04),
        (12.0, 28.0, 0.02),
        (28.0, f64::INFINITY, 0.01),
    ];
    bands
        .iter()
        .map(|(from, to, rate)| rate * (memory.min(to * GIB) - from * GIB).max(0.0))
        .sum()
}

/// The levels that a version has, with the free memory below which each begins, over the minimum.
fn levels(version: Hypervisor) -> &'static [(Level, f64)] {
    match version {
        version if version >= Hypervisor::Esxi60 => &[
            (Level::Clear, 4.0),
            (Level::Soft, 0.64),
            (Level::Hard, 0.32),
            (Level::Low, 0.16),
        ],
        version if version >= Hypervisor::Esxi50 => &[(Level::Soft, 0.64), (Level::Hard, 0.32), (Level::Low, 0.16)],
        // 4, 2 and 1 % of the host, where the minimum is 6 %
        _ => &[
            (Level::Soft, 4.0 / 6.0),
            (Level::Hard, 2.0 / 6.0),
            (Level::Low, 1.0 / 6.0),
        ],
    }
}

/// How an ESXi host deals with its memory.
pub fn policy(host: &HostGroup) -> Policy {
    let (version, options) = (host.hypervisor, &host.reclamation);
    let goal = min_free(version, host.memory());
    let threshold = |&(level, part): &(Level, f64)| Threshold {
        level,
        enter: part * goal,
        leave: part * goal * HYSTERESIS,
    };
    let shares = Actions {
        shares: true,
        ..Actions::default()
    };
    let taken = Actions {
        compresses: version >= Hypervisor::Esxi41,
        swaps: true,
        ..shares
    };
    let sharing = match version >= Hypervisor::Esxi60 {
        true => PageSharing::WithinVm,
        false => PageSharing::BetweenVms,
    };
    Policy {
        thresholds: levels(version).iter().map(threshold).collect(),
        actions: [
            Actions {
                shares: version < Hypervisor::Esxi60,
                ..Actions::default()
            },
            shares,
            Actions {
                balloons: true,
                ..shares
            },
            taken,
            Actions {
                shares: version < Hypervisor::Esxi60,
                blocks: true,
                ..taken
            },
        ],
        goal,
        balloon_goal: goal,
        idle_cost: 1.0 / (1.0 - options.idle_tax_pct / 100.0),
        by_shares: true,
        idle_first: false,
        kills: false,
        share_rate: ShareRate::PerVm(1_024.0),
        sharing: options.page_sharing.unwrap_or(sharing),
        balloon_rate: 64.0 * MIB,
        balloon_most: options.balloon_most_pct / 100.0,
        compressed_most: match version >= Hypervisor::Esxi41 {
            true => options.compressed_most_pct / 100.0,
            false => 0.0,
        },
        overhead: match version >= Hypervisor::Esxi50 {
            true => |vm| overhead(Hypervisor::Esxi50, vm.memory, vm.vcpus),
            false => |vm| overhead(Hypervisor::Esxi40, vm.memory, vm.vcpus),
        },
    }
}

/// Overhead in MB by memory in MB (rows) and vCPUs (columns), for 6.5 and 6.7; NaN where nothing is published.
const VCPUS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const MEMORY: [f64; 4] = [256.0, 1_024.0, 4_096.0, 16_384.0];
const OVERHEAD: [[f64; 4]; 4] = [
    [20.29, 24.28, 32.23, 48.16],
    [25.90, 29.91, 37.86, 53.82],
    [48.64, 52.72, f64::NAN, 76.78],
    [139.62, 143.98, f64::NAN, 168.60],
];
/// The same for 4.0, with 1 and 8 vCPUs.
const OVERHEAD_4: [[f64; 2]; 4] = [
    [113.17, 416.50],
    [123.73, 445.52],
    [165.98, f64::NAN],
    [334.96, f64::NAN],
];

/// Memory that a host needs for a VM of this size beside the VM's own, in bytes.
pub fn overhead(version: Hypervisor, memory: Bytes, vcpus: u32) -> f64 {
    let (memory, vcpus) = (part(memory, 1.0) / MIB, f64::from(vcpus));
    let row = |cells: &[f64], at: &[f64]| {
        let known: Vec<(f64, f64)> = at.iter().copied().zip(cells.iter().copied()).collect();
        line(&known, vcpus)
    };
    let rows: Vec<(f64, f64)> = match version >= Hypervisor::Esxi50 {
        true => MEMORY
            .into_iter()
            .zip(OVERHEAD.iter().map(|cells| row(cells, &VCPUS)))
            .collect(),
        false => {
            // what vCPUs add to one is known of small VMs only, and taken to grow with memory as it does between these
            let one: Vec<(f64, f64)> = MEMORY.into_iter().zip(OVERHEAD_4.map(|cells| cells[0])).collect();
            let added = |cells: &[f64; 2]| cells[1] - cells[0];
            let more: Vec<(f64, f64)> = MEMORY.into_iter().zip(OVERHEAD_4.iter().map(added)).collect();
            let of_vcpus = line(&more, memory) * (vcpus - 1.0) / 7.0;
            return (line(&one, memory) + of_vcpus) * MIB;
        }
    };
    line(&rows, memory) * MIB
}

/// The value at `x` of the line through `points`, which goes on beyond the first and the last; points without a value
/// are left out.
fn line(points: &[(f64, f64)], x: f64) -> f64 {
    let known: Vec<(f64, f64)> = points.iter().copied().filter(|(_, y)| !y.is_nan()).collect();
    let beyond = known.partition_point(|&(at, _)| at < x);
    let second = beyond.clamp(1, known.len() - 1);
    let ((x0, y0), (x1, y1)) = (known[second - 1], known[second]);
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::{GIB, MIB, min_free, overhead, policy};
    use crate::reclamation::{Level, Tenant, policy::tests::host};
    use hypertwin_cluster::{Bytes, Hypervisor};

    fn gib(count: u64) -> Bytes {
        Bytes::new(count << 30)
    }

    #[test]
    fn minimum_and_states_are_those_of_the_published_scale() {
        // host GiB; minimum, 400 %, 64 %, 32 % and 16 % of it, in MiB
        let table = [
            (28, [901.12, 3604.48, 576.72, 288.36, 144.18]),
            (128, [1925.12, 7700.48, 1232.08, 616.04, 308.02]),
            (256, [3235.84, 12943.36, 2070.94, 1035.47, 517.73]),
            (512, [5857.28, 23429.12, 3748.66, 1874.33, 937.16]),
            (1024, [11100.16, 44400.64, 7104.10, 3552.05, 1776.03]),
        ];
        for (size, [minimum, clear, soft, hard, low]) in table {
            let is = |value: f64, mib: f64| assert!((value / MIB - mib).abs() < 0.01, "{size}: {} {mib}", value / MIB);
            is(min_free(Hypervisor::Esxi60, gib(size)), minimum);
            let policy = policy(&host(Hypervisor::Esxi60, size));
            is(policy.goal, minimum);
            is(policy.ample(), clear);
            for (level, mib) in [(Level::Soft, soft), (Level::Hard, hard), (Level::Low, low)] {
                is(policy.enter(level).expect("a level"), mib);
            }
        }
        assert_eq!(min_free(Hypervisor::Esxi41, gib(100)), 6.0 * GIB);
        assert_eq!(min_free(Hypervisor::Esxi50, gib(2)), 0.12 * GIB);
    }

    #[test]
    fn versions_have_their_own_states_and_do_their_own_in_them() {
        let of = |version, free_gib: f64| {
            let policy = policy(&host(version, 100));
            let level = policy.level(Level::High, free_gib * GIB);
            (level, policy.actions(level))
        };
        // up to 4.1 at 4, 2 and 1 % of the host
        for (free, level) in [
            (4.1, Level::High),
            (3.9, Level::Soft),
            (1.9, Level::Hard),
            (0.9, Level::Low),
        ] {
            assert_eq!(of(Hypervisor::Esxi41, free).0, level);
        }
        assert!(of(Hypervisor::Esxi41, 1.9).1.compresses && !of(Hypervisor::Esxi40, 1.9).1.compresses);
        // 5.x has no clear; the minimum of 100 GiB is 1.6 GiB
        assert_eq!(of(Hypervisor::Esxi55, 1.1).0, Level::High);
        assert_eq!(of(Hypervisor::Esxi60, 1.1).0, Level::Clear);
        let (soft, actions) = of(Hypervisor::Esxi80, 1.0);
        assert!(soft == Level::Soft && actions.balloons && actions.shares && !actions.swaps);
        let (hard, actions) = of(Hypervisor::Esxi80, 0.5);
        assert!(hard == Level::Hard && !actions.balloons && actions.shares && actions.compresses && actions.swaps);
        assert!(!actions.blocks);
        let (low, actions) = of(Hypervisor::Esxi80, 0.2);
        assert!(low == Level::Low && actions.blocks && actions.swaps && actions.compresses && !actions.shares);
    }

    #[test]
    fn a_state_is_left_at_more_free_memory_than_it_is_entered_at() {
        let policy = policy(&host(Hypervisor::Esxi70, 512));
        let soft = policy.enter(Level::Soft).expect("a level");
        assert_eq!(policy.level(Level::High, 1.05 * soft), Level::Clear);
        assert_eq!(policy.level(Level::Soft, 1.05 * soft), Level::Soft);
        assert_eq!(policy.level(Level::Low, 1.05 * soft), Level::Soft);
        assert_eq!(policy.level(Level::Soft, 1.15 * soft), Level::Clear);
    }

    fn tenant(shares: f64, active: f64, most: f64) -> Tenant {
        Tenant {
            shares,
            active,
            reservation: 0.0,
            limit: f64::INFINITY,
            touched: most,
        }
    }

    fn targets(tax: f64, available: f64, tenants: &[Tenant]) -> Vec<f64> {
        let mut host = host(Hypervisor::Esxi70, 512);
        host.reclamation.idle_tax_pct = tax;
        policy(&host).targets(available, tenants)
    }

    #[test]
    fn the_idle_tax_divides_memory_as_by_hand() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            let all = found.iter().zip(expected);
            assert!(
                all.clone().all(|(a, b)| (a - b).abs() < 0.005),
                "{found:?}, not {expected:?}"
            );
        };
        let pair = [tenant(1.0, 0.0, 1e9), tenant(1.0, 1.0, 1e9)];
        near(targets(75.0, 1000.0, &pair), &[200.0, 800.0]);
        near(targets(0.0, 1000.0, &pair), &[500.0, 500.0]);
        let three = [tenant(2.0, 0.2, 1e9), tenant(1.0, 1.0, 1e9), tenant(1.0, 0.5, 1e9)];
        near(targets(75.0, 100.0, &three), &[29.59, 50.30, 20.12]);
        let paper = [tenant(1.0, 0.0, 256.0), tenant(1.0, 1.0, 256.0)];
        near(targets(75.0, 360.0, &paper), &[104.0, 256.0]);
        near(targets(0.0, 360.0, &paper), &[180.0, 180.0]);
        // a reservation is kept, a limit holds, and the others divide the rest
        let mut bound = [tenant(1.0, 0.0, 1e9), tenant(1.0, 1.0, 1e9), tenant(1.0, 1.0, 1e9)];
        bound[0].reservation = 300.0;
        bound[1].limit = 100.0;
        near(targets(75.0, 1000.0, &bound), &[300.0, 100.0, 600.0]);
    }

    #[test]
    fn overhead_is_that_of_the_published_tables_and_grows_between() {
        let mb = |version, memory: u64, vcpus| overhead(version, Bytes::new(memory << 20), vcpus) / MIB;
        let table = [
            (256, [20.29, 24.28, 32.23, 48.16]),
            (1_024, [25.90, 29.91, 37.86, 53.82]),
            (4_096, [48.64, 52.72, f64::NAN, 76.78]),
            (16_384, [139.62, 143.98, f64::NAN, 168.60]),
        ];
        for (memory, cells) in table {
            for (vcpus, cell) in [1, 2, 4, 8].into_iter().zip(cells) {
                let found = mb(Hypervisor::Esxi67, memory, vcpus);
                assert!(
                    cell.is_nan() || (found - cell).abs() < 1e-9,
                    "{memory} {vcpus}: {found}"
                );
            }
        }
        for (memory, cell) in [(256, 113.17), (1_024, 123.73), (4_096, 165.98), (16_384, 334.96)] {
            assert!((mb(Hypervisor::Esxi40, memory, 1) - cell).abs() < 1e-9);
        }
        assert!((mb(Hypervisor::Esxi41, 256, 8) - 416.50).abs() < 1e-9);
        assert!((mb(Hypervisor::Esxi41, 1_024, 8) - 445.52).abs() < 1e-9);
        // half way between cells, and beyond the last: 139.62 + 90.98 / 12288 * 16384
        assert!((mb(Hypervisor::Esxi67, 2_560, 1) - (25.90 + 48.64) / 2.0).abs() < 1e-9);
        assert!((mb(Hypervisor::Esxi80, 32_768, 1) - 260.926_666).abs() < 1e-3);
    }
}
