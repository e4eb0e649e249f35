//! Balancing: which VMs of a cluster migrate, because others leave them too little or hosts are loaded unevenly.
//!
//! Each policy is a file with one function: what it would do now. It tries moves one after another on a copy of the loads, never
//! moves a VM twice, and asks the caller what is allowed. See docs/models/balancing.md.
//!
//! | file | what it holds |
//! |---|---|
//! | `drs_6.rs` | vSphere DRS to 6.7: until hosts are loaded alike |
//! | `drs_7.rs` | vSphere DRS from 7.0: where a VM is better off |
//! | `watcher.rs` | OpenStack Watcher, workload stabilization |

mod drs_6;
mod drs_7;
mod watcher;

use hypertwin_cluster::BalancingPolicy;

/// CPU in MHz, and memory in bytes.
pub type Amounts = [f64; 2];

/// What a host has for VMs, and what they want of it.
#[derive(Clone, Copy, Debug)]
pub struct HostLoad {
    /// What it has.
    pub capacity: Amounts,
    /// What they want.
    pub load: Amounts,
}

/// A VM on a host.
#[derive(Clone, Copy, Debug)]
pub struct VmLoad {
    /// Position of its host.
    pub host: usize,
    /// What it wants.
    pub load: Amounts,
    /// CPU that migrating it costs both hosts, in MHz x seconds.
    pub cost: f64,
}

/// A VM and the host that it should migrate to, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The VM.
    pub vm: usize,
    /// The host.
    pub to: usize,
}

/// Seconds between two looks at the cluster, by default: DRS to 6.7 takes 5 minutes, from 7.0 one (VMware, "A closer look at VM
/// DRS score"); Watcher's audits are scheduled by hand, 10 minutes is its period for hosts.
pub fn period_s(policy: BalancingPolicy) -> f64 {
    match policy {
        BalancingPolicy::Drs6 => 300.0,
        BalancingPolicy::Drs7 => 60.0,
        BalancingPolicy::Watcher => 600.0,
    }
}

/// What a policy moves now, at a threshold from 1 (nothing but what rules ask for) to 5. `allowed` says whether a VM may be on a
/// host, given the moves before.
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

/// A cluster after some moves.
struct State {
    hosts: Vec<HostLoad>,
    vms: Vec<VmLoad>,
    moved: Vec<Move>,
}

impl State {
    fn carry_out(&mut self, next: Move) {
        let vm = &mut self.vms[next.vm];
        for resource in 0..2 {
            self.hosts[vm.host].load[resource] -= vm.load[resource];
            self.hosts[next.to].load[resource] += vm.load[resource];
        }
        vm.host = next.to;
        self.moved.push(next);
    }

    /// The allowed move with the highest worth, of those above `least`; of equals, the first.
    fn best(&self, allowed: &impl Fn(Move, &[Move]) -> bool, least: f64, worth: impl Fn(Move) -> f64) -> Option<Move> {
        let mut best = (least, None);
        for vm in 0..self.vms.len() {
            if self.moved.iter().any(|moved| moved.vm == vm) {
                continue;
            }
            for to in (0..self.hosts.len()).filter(|&to| to != self.vms[vm].host) {
                let candidate = Move { vm, to };
                let worth = worth(candidate);
                if worth > best.0 && allowed(candidate, &self.moved) {
                    best = (worth, Some(candidate));
                }
            }
        }
        best.1
    }

    /// Standard deviation over hosts of load over capacity, of each resource, after `then` if there is one.
    fn deviation(&self, then: Option<Move>) -> Amounts {
        [0, 1].map(|resource| {
            let of = |(position, host): (usize, &HostLoad)| {
                let shift = then.map_or(0.0, |then| {
                    let vm = &self.vms[then.vm];
                    let comes = f64::from(u8::from(position == then.to)) - f64::from(u8::from(position == vm.host));
                    comes * vm.load[resource]
                });
                (host.load[resource] + shift) / host.capacity[resource]
            };
            let count = self.hosts.len() as f64;
            let sums = self.hosts.iter().enumerate().map(of);
            let (sum, squares) = sums.fold((0.0, 0.0), |(sum, squares), load| (sum + load, squares + load * load));
            (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts of 100 MHz and 100 bytes, with VMs that want this CPU.
    pub(super) fn cluster(wanted: &[&[f64]]) -> (Vec<HostLoad>, Vec<VmLoad>) {
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

    pub(super) fn moves_of(policy: BalancingPolicy, threshold: u32, wanted: &[&[f64]]) -> Vec<(usize, usize)> {
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
}
