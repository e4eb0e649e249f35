//! Balancing: which VMs of a cluster migrate, because others leave them too little or hosts are loaded unevenly.
//!
//! Each policy is a file with one function: what it would do now. It tries moves one after another on a copy of the
//! loads, never moves a VM twice, and asks the caller what is allowed. See docs/models/balancing.md.
//!
//! | file | what it holds |
//! |---|---|
//! | `loads.rs` | loads of hosts and VMs, and what moves make of them |
//! | `drs_6.rs` | vSphere DRS to 6.7: until hosts are loaded alike |
//! | `drs_7.rs` | vSphere DRS from 7.0: where a VM is better off |
//! | `watcher.rs` | OpenStack BalancingPolicy::Watcher, workload stabilization |

mod drs_6;
mod drs_7;
mod loads;
mod watcher;

pub use loads::{HostLoad, Move, VmLoad};

use hypertwin_cluster::BalancingPolicy;
use loads::State;

/// Seconds between two looks at the cluster, by default: DRS to 6.7 takes 5 minutes, from 7.0 one (VMware, "A closer
/// look at VM DRS score"); Watcher's audits are scheduled by hand, 10 minutes is its period for hosts.
pub fn period_s(policy: BalancingPolicy) -> f64 {
    match policy {
        BalancingPolicy::Drs6 => 300.0,
        BalancingPolicy::Drs7 => 60.0,
        BalancingPolicy::Watcher => 600.0,
    }
}

/// What a policy moves now, at a threshold from 1 (nothing but what rules ask for) to 5. `allowed` says whether a VM
/// may be on a host, given the moves before.
pub fn moves(
    policy: BalancingPolicy,
    threshold: u32,
    hosts: &[HostLoad],
    vms: &[VmLoad],
    allowed: impl Fn(Move, &[Move]) -> bool,
) -> Vec<Move> {
    if threshold <= 1 {
        return Vec::new();
    }
    let mut state = State {
        hosts: hosts.to_vec(),
        vms: vms.to_vec(),
        moved: Vec::new(),
    };
    loop {
        let next = match policy {
            BalancingPolicy::Drs6 => drs_6::next(&state, threshold, &allowed),
            BalancingPolicy::Drs7 => drs_7::next(&state, threshold, &allowed),
            BalancingPolicy::Watcher => watcher::next(&state, &allowed),
        };
        match next {
            Some(next) => state.carry_out(next),
            None => return state.moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts of 100 MHz and 100 bytes, with VMs that want this CPU.
    fn cluster(wanted: &[&[f64]]) -> (Vec<HostLoad>, Vec<VmLoad>) {
        let mut vms = Vec::new();
        let hosts = wanted.iter().enumerate().map(|(host, wanted)| {
            vms.extend(wanted.iter().map(|&mhz| VmLoad {
                host,
                load: [mhz, 0.0],
                cost: 10.0,
            }));
            HostLoad {
                capacity: [100.0; 2],
                load: [wanted.iter().sum(), 0.0],
            }
        });
        (hosts.collect(), vms)
    }

    fn moves_of(policy: BalancingPolicy, threshold: u32, wanted: &[&[f64]]) -> Vec<(usize, usize)> {
        let (hosts, vms) = cluster(wanted);
        let found = moves(policy, threshold, &hosts, &vms, |_, _| true);
        found.iter().map(|one| (one.vm, one.to)).collect()
    }

    #[test]
    fn at_level_1_only_rules_move_vms_and_at_no_level_one_that_may_not() {
        for policy in [BalancingPolicy::Drs6, BalancingPolicy::Drs7, BalancingPolicy::Watcher] {
            let wanted: [&[f64]; 2] = [&[60.0, 60.0], &[]];
            assert_eq!(moves_of(policy, 1, &wanted), []);
            assert_eq!(moves_of(policy, 3, &wanted), [(0, 1)], "{policy:?}");
            let (hosts, vms) = cluster(&wanted);
            let second = |one: Move, _: &[Move]| one.vm == 1;
            assert_eq!(
                moves(policy, 3, &hosts, &vms, second),
                [Move { vm: 1, to: 1 }],
                "{policy:?}"
            );
            assert_eq!(moves(policy, 5, &hosts, &vms, |_, _| false), [], "{policy:?}");
        }
    }

    #[test]
    fn vms_move_until_the_deviation_is_below_the_level() {
        // loads 0.8 and 0.4: deviation 0.2; targets at two hosts 0.212, 0.141, 0.071, 0
        let wanted: [&[f64]; 2] = [&[10.0; 8], &[10.0; 4]];
        let counts = [2, 3, 4, 5].map(|threshold| moves_of(BalancingPolicy::Drs6, threshold, &wanted).len());
        assert_eq!(counts, [0, 1, 2, 2], "a move takes 0.1 away");
    }

    #[test]
    fn the_move_that_balances_most_is_first_and_none_that_makes_it_worse() {
        assert_eq!(
            moves_of(BalancingPolicy::Drs6, 5, &[&[50.0, 10.0, 20.0], &[]]),
            [(0, 1)]
        );
        assert_eq!(moves_of(BalancingPolicy::Drs6, 5, &[&[50.0], &[]]), []);
    }

    #[test]
    fn vms_move_where_they_get_more_and_not_for_even_loads() {
        assert_eq!(
            moves_of(BalancingPolicy::Drs7, 5, &[&[40.0, 50.0], &[]]),
            [],
            "all demand is met"
        );
        // 120 wanted of 100: moving 30 leaves all with what they want
        assert_eq!(moves_of(BalancingPolicy::Drs7, 3, &[&[90.0, 30.0], &[60.0]]), [(1, 1)]);
        assert_eq!(
            moves_of(BalancingPolicy::Drs7, 5, &[&[60.0, 60.0], &[60.0, 60.0]]),
            [],
            "nowhere is more"
        );
    }

    #[test]
    fn a_move_must_be_worth_its_cost() {
        // 2 MHz for 300 s are 600
        let (hosts, mut vms) = cluster(&[&[90.0, 12.0], &[]]);
        for vm in &mut vms {
            vm.cost = 400.0;
        }
        let at = |threshold| moves(BalancingPolicy::Drs7, threshold, &hosts, &vms, |one, _| one.vm == 1);
        let one = [Move { vm: 1, to: 1 }];
        assert_eq!([at(2), at(3)], [[], []], "800 and more");
        assert_eq!([at(4), at(5)], [one, one]);
    }

    #[test]
    fn memory_that_a_host_lacks_counts_too() {
        let (mut hosts, mut vms) = cluster(&[&[10.0, 10.0], &[]]);
        vms.iter_mut().for_each(|vm| vm.load[1] = 80.0);
        hosts[0].load[1] = 160.0;
        assert_eq!(
            moves(BalancingPolicy::Drs7, 3, &hosts, &vms, |_, _| true),
            [Move { vm: 0, to: 1 }]
        );
    }

    #[test]
    fn instances_migrate_while_a_deviation_is_above_a_fifth() {
        assert_eq!(
            moves_of(BalancingPolicy::Watcher, 3, &[&[10.0; 8], &[10.0; 5]]),
            [],
            "0.15"
        );
        assert_eq!(
            moves_of(BalancingPolicy::Watcher, 3, &[&[10.0; 8], &[10.0; 2]]).len(),
            1,
            "0.3, then 0.2"
        );
    }
}
