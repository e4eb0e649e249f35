//! Clusters are balanced: after each period rules that are broken are mended, and then VMs migrate as the policy says.

use super::history::Why;
use super::state::{Machines, Movement};
use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, VmId};
use hypertwin_cluster::BalancingPolicy;
use hypertwin_models::balancing::{HostLoad, Move, VmLoad, moves};
use hypertwin_models::migration::cpu_cores;

impl Movement {
    /// A period of a cluster is over.
    pub(super) fn balance(&mut self, cluster: u32, machines: &impl Machines, clock: &mut Clock) {
        let Some(drs) = self.clusters[cluster as usize].drs else {
            return;
        };
        clock.at(clock.now + drs.period_ns, Event::Movement(Due::Balance(cluster)));
        let hosts: Vec<HostId> = self.site.clusters[cluster as usize].clone();
        let is_here = |vm: &VmId| self.site.vms[*vm].cluster == Some(cluster as usize);
        let vms: Vec<VmId> = self.site.vms.ids().filter(is_here).collect();
        let wanted_ns: Vec<f64> = vms.iter().map(|&vm| self.wanted_ns(vm, machines)).collect();
        for &vm in &vms {
            self.mend(vm, clock);
        }
        let open: Vec<HostId> = hosts
            .into_iter()
            .filter(|&host| self.site.hosts[host].is_open())
            .collect();
        let mut loads: Vec<HostLoad> = open.iter().map(|&host| self.host_load(host)).collect();
        let (mut movable, mut vm_loads) = (Vec::new(), Vec::new());
        for (&vm, &wanted_ns) in vms.iter().zip(&wanted_ns) {
            let machine = &self.site.vms[vm];
            let at = machine
                .target
                .or(machine.place)
                .and_then(|at| open.iter().position(|&host| host == at));
            let (Some(host), true) = (at, machine.is_up) else {
                continue;
            };
            let mhz = self.site.hosts[open[host]].core_mhz;
            let memory = match drs.policy {
                BalancingPolicy::Drs7 => machine.touched,
                BalancingPolicy::Drs6 | BalancingPolicy::Watcher => machine.active,
            };
            let load = [wanted_ns / drs.period_ns as f64 * mhz, memory];
            (0..2).for_each(|resource| loads[host].load[resource] += load[resource]);
            if machine.target.is_none() && machine.is_live {
                let rate = self.site.hosts[open[host]].migration.most;
                let cost = 2.0 * cpu_cores(rate) * mhz * machine.memory / rate;
                movable.push(vm);
                vm_loads.push(VmLoad { host, load, cost });
            }
        }
        let allowed = |one: Move, _: &[Move]| self.may_balance(movable[one.vm], open[one.to]);
        let found = moves(drs.policy, drs.threshold, &loads, &vm_loads, allowed);
        for one in found {
            // moves before it may have taken its place
            let (vm, to) = (movable[one.vm], open[one.to]);
            if self.may_balance(vm, to) {
                self.migrate(vm, to, Why::Balance, clock);
            }
        }
    }

    fn host_load(&self, host: HostId) -> HostLoad {
        let there = &self.site.hosts[host];
        HostLoad {
            capacity: [there.core_mhz * f64::from(there.cores), there.memory],
            load: [0.0; 2],
        }
    }

    /// Time that its vCPUs ran or wanted to since it was asked last.
    fn wanted_ns(&mut self, vm: VmId, machines: &impl Machines) -> f64 {
        let now = machines.wanted_ns(vm) as i64;
        let before = std::mem::replace(&mut self.site.vms[vm].wanted_ns, now);
        (now - before).max(0) as f64
    }

    fn may_balance(&self, vm: VmId, to: HostId) -> bool {
        let wishes = |host| self.site.violated_should_rules(vm, host);
        let here = self.site.vms[vm].place;
        self.site.takes(to, vm).is_ok() && here.is_some_and(|here| wishes(to) <= wishes(here))
    }

    /// A VM whose place breaks rules goes where it breaks fewer.
    fn mend(&mut self, vm: VmId, clock: &mut Clock) {
        let machine = &self.site.vms[vm];
        let (Some(here), None, true) = (machine.place, machine.target, machine.is_up && machine.is_live) else {
            return;
        };
        let rules = &self.site.rules_of[vm];
        // who leaves already breaks nothing
        let leaves = |rule: &&usize| {
            let others = self.site.rules[**rule].vms.iter().filter(|&&other| other != vm);
            let mut beside = others
                .map(|&other| &self.site.vms[other])
                .filter(|other| other.place == Some(here));
            beside.any(|other| other.target.is_some())
        };
        let broken = |host: HostId| rules.iter().filter(|&&rule| !self.site.keeps(rule, vm, host)).count();
        let now = rules
            .iter()
            .filter(|&&rule| !self.site.keeps(rule, vm, here))
            .filter(|rule| !leaves(rule))
            .count();
        let open = self.site.open_to(vm).unwrap_or_default();
        let best = open
            .into_iter()
            .min_by_key(|&host| (broken(host), self.load_rank(host)));
        if let Some(to) = best.filter(|&to| broken(to) < now) {
            self.migrate(vm, to, Why::Rule, clock);
        }
    }

    /// Accounts are about to begin anew: what was wanted before is kept.
    pub(super) fn keep_wanted(&mut self, machines: &impl Machines) {
        if self.clusters.iter().all(|cluster| cluster.drs.is_none()) {
            return;
        }
        for vm in self.site.vms.ids() {
            self.site.vms[vm].wanted_ns -= machines.wanted_ns(vm) as i64;
        }
    }

    /// When clusters are balanced for the first time.
    pub(super) fn start_balancing(&self, clock: &mut Clock) {
        for (number, cluster) in self.clusters.iter().enumerate() {
            if let Some(drs) = cluster.drs {
                clock.at(drs.period_ns, Event::Movement(Due::Balance(number as u32)));
            }
        }
    }
}
