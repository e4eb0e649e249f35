//! A host looks after its memory: every second, and ten times as often while pages are taken from VMs that do not give
//! them.

use super::pages::{Away, Order, PAGE, pages};
use super::state::Reclaim;
use super::tenant::Tenant;
use crate::clock::{Clock, Event};
use crate::ids::{HostId, VmId};
use hypertwin_cluster::PageSharing;
use hypertwin_kernel::Nanos;
use hypertwin_models::reclamation::{Level, Policy, ShareRate};

/// Time between two looks at a host's memory: with enough of it, and while it swaps.
const INTERVAL_NS: Nanos = 1_000_000_000;
const SWAPPING_NS: Nanos = 100_000_000;

/// How pages are taken away.
#[derive(Clone, Copy)]
struct Manner {
    /// For how long, in seconds.
    time_s: f64,
    /// True if the pages in use have since replaced others.
    long_ago: bool,
    /// Pages that can be written: as many as the device can take, or any.
    at_once: bool,
}

impl Reclaim {
    /// Does something with the pages of a VM, and keeps account of it.
    pub(super) fn change<T>(&mut self, vm: VmId, now: Nanos, act: impl FnOnce(&mut Tenant) -> T) -> T {
        let tenant = &mut self.vms[vm];
        let host = &mut self.hosts[tenant.host.expect("it is on a host")];
        tenant.settle(now);
        host.settle(now);
        let before = tenant.all();
        let done = act(tenant);
        debug_assert!(tenant.all().total() == before.total(), "no page is lost");
        host.replace(&before, &tenant.all());
        done
    }

    /// A host looks after its memory; `cpu_ns` is what a VM has done so far. Returns the VM that is killed, if nothing
    /// else helps.
    pub fn on_tick(&mut self, id: HostId, cpu_ns: impl Fn(VmId) -> f64, clock: &mut Clock) -> Option<VmId> {
        let now = clock.now;
        let host = &mut self.hosts[id];
        host.event = None;
        let manner = Manner {
            time_s: (now - host.last) as f64 / 1e9,
            long_ago: false,
            at_once: false,
        };
        host.last = now;
        self.sample(id, cpu_ns, now);
        let policy = self.hosts[id].policy.clone().expect("its memory could run short");
        let level = self.hosts[id].assess();
        self.set_targets(id, &policy, now);
        self.share(id, &policy, manner, now);
        self.confine(id, &policy, manner, now);
        self.move_balloons(id, &policy, policy.actions(level).balloons, manner, now);
        if policy.actions(level).swaps {
            self.swap(id, &policy, manner, now);
        }
        let level = self.hosts[id].assess();
        self.schedule(id, clock);
        let is_lost = policy.kills && level == Level::Low && self.hosts[id].swap_space().1 == 0;
        let size = |vm: &VmId| self.vms[*vm].all().granted + self.vms[*vm].all().swapped;
        is_lost
            .then(|| self.hosts[id].vms.iter().copied().max_by_key(size))
            .flatten()
    }

    pub(super) fn schedule(&mut self, id: HostId, clock: &mut Clock) {
        let host = &mut self.hosts[id];
        let interval = match host.level >= Level::Hard {
            true => SWAPPING_NS,
            false => INTERVAL_NS,
        };
        host.event = Some(clock.move_to(clock.now + interval, host.event, Event::Reclaim(id)));
    }

    /// Takes from all VMs at once what they would lose in the end.
    pub(super) fn settle_at_once(&mut self, id: HostId, long_ago: bool, now: Nanos) {
        let policy = self.hosts[id].policy.clone().expect("its memory could run short");
        let manner = Manner {
            time_s: f64::INFINITY,
            long_ago,
            at_once: true,
        };
        let level = |reclaim: &Self| policy.level(Level::High, reclaim.hosts[id].free());
        let first = level(self);
        self.set_targets(id, &policy, now);
        if policy.actions(first).shares || first >= Level::Soft {
            self.share_all(id, &policy, manner, now);
            self.set_targets(id, &policy, now);
        }
        self.confine(id, &policy, manner, now);
        let mut passed = Level::High;
        if level(self) >= Level::Soft {
            self.move_balloons(id, &policy, true, manner, now);
            passed = Level::Soft;
        }
        if level(self) >= Level::Hard {
            self.swap(id, &policy, manner, now);
            passed = Level::Hard;
        }
        let host = &mut self.hosts[id];
        host.worst = host.worst.max(passed);
        host.level = passed;
        host.assess();
    }

    /// Estimates what VMs use, where that is due.
    fn sample(&mut self, id: HostId, cpu_ns: impl Fn(VmId) -> f64, now: Nanos) {
        let host = &mut self.hosts[id];
        let estimates = host.policy.as_ref().is_some_and(|policy| !policy.idle_first);
        if now < host.next_sample || !estimates {
            return;
        }
        host.next_sample = now + self.host_specs[host.spec].reclamation.sample_period.nanos();
        for &vm in &host.vms {
            self.vms[vm].settle(now);
            self.vms[vm].sample(cpu_ns(vm));
        }
    }

    /// Finds what each VM may keep.
    fn set_targets(&mut self, id: HostId, policy: &Policy, now: Nanos) {
        let host = &self.hosts[id];
        let claims: Vec<_> = host.vms.iter().map(|&vm| self.vms[vm].claim()).collect();
        let targets = policy.targets(host.divisible() - policy.goal, &claims);
        for (&vm, target) in self.hosts[id].vms.iter().zip(targets) {
            let tenant = &mut self.vms[vm];
            tenant.settle(now);
            tenant.target = target;
        }
    }

    /// Shares pages of zeros, if the level asks for it.
    fn share(&mut self, id: HostId, policy: &Policy, manner: Manner, now: Nanos) {
        if policy.actions(self.hosts[id].level).shares {
            self.share_all(id, policy, manner, now);
        }
    }

    fn share_all(&mut self, id: HostId, policy: &Policy, manner: Manner, now: Nanos) {
        if policy.sharing == PageSharing::Off {
            return;
        }
        let budget = |rate: f64| (rate * manner.time_s).min(1e18) as u64;
        let mut of_host = match policy.share_rate {
            ShareRate::PerVm(_) => u64::MAX,
            ShareRate::PerHost(rate) => budget(rate),
        };
        for position in 0..self.hosts[id].vms.len() {
            let vm = self.hosts[id].vms[position];
            let of_vm = match policy.share_rate {
                ShareRate::PerVm(rate) => budget(rate),
                ShareRate::PerHost(_) => of_host,
            };
            let count = self.vms[vm].sharable().min(of_vm);
            of_host -= count.min(of_host);
            if count > 0 {
                self.change(vm, now, |tenant| {
                    tenant.pages.take(count, Order::IdleFirst, Away::Shared)
                });
            }
        }
    }

    /// Takes what VMs have beyond their limits.
    fn confine(&mut self, id: HostId, policy: &Policy, manner: Manner, now: Nanos) {
        for position in 0..self.hosts[id].vms.len() {
            let vm = self.hosts[id].vms[position];
            let over = pages((self.vms[vm].held() - self.vms[vm].limit()).max(0.0) + PAGE - 1.0);
            if over == 0 {
                continue;
            }
            let rate = pages((policy.balloon_rate * manner.time_s).min(1e18));
            let given = over.min(rate).min(self.vms[vm].balloon_room(policy.balloon_most));
            self.change(vm, now, |tenant| {
                tenant.pages.take(given, Order::IdleFirst, Away::Ballooned)
            });
            self.take(vm, 2 * (over - given), policy, manner, now);
        }
    }

    /// Balloons grow towards what their VMs may keep, if the host `needs` memory or others are below that, and shrink
    /// otherwise.
    fn move_balloons(&mut self, id: HostId, policy: &Policy, needs: bool, manner: Manner, now: Nanos) {
        let host = &self.hosts[id];
        let aim = policy.balloon_goal;
        let rate = (policy.balloon_rate * manner.time_s).min(1e18);
        let lack = |vm: &Tenant| {
            let below = (vm.target - vm.held()).max(0.0);
            below.min(rate).min(vm.all().ballooned as f64 * PAGE)
        };
        let vms = host.vms.clone();
        let lacks: Vec<f64> = vms.iter().map(|&vm| lack(&self.vms[vm])).collect();
        let (spare, lacking) = ((host.free() - aim).max(0.0), lacks.iter().sum::<f64>());
        let short = if needs { (aim - host.free()).max(0.0) } else { 0.0 };
        let need = short + (lacking - spare).max(0.0);
        let room = |vm: &Tenant| {
            let over = if policy.by_shares {
                vm.held() - vm.target
            } else {
                vm.held()
            };
            over.max(0.0).min(vm.balloon_room(policy.balloon_most) as f64 * PAGE)
        };
        let rooms: Vec<f64> = vms.iter().map(|&vm| room(&self.vms[vm])).collect();
        let all: f64 = rooms.iter().sum();
        if need > 0.0 && all > 0.0 {
            for (&vm, room) in vms.iter().zip(&rooms) {
                let count = pages((room * (need / all).min(1.0)).min(rate).ceil());
                if count > 0 {
                    self.change(vm, now, |tenant| {
                        tenant.pages.take(count, Order::IdleFirst, Away::Ballooned)
                    });
                }
            }
        }
        if spare > 0.0 && lacking > 0.0 {
            for (&vm, lack) in vms.iter().zip(&lacks) {
                let count = pages(lack * (spare / lacking).min(1.0));
                if count > 0 {
                    self.change(vm, now, |tenant| tenant.pages.give(count, Away::Ballooned));
                }
            }
        }
    }

    /// Takes pages from those who have more than they may keep, until enough is free.
    fn swap(&mut self, id: HostId, policy: &Policy, manner: Manner, now: Nanos) {
        let host = &self.hosts[id];
        let aim = policy.leave(Level::Hard).unwrap_or(policy.goal);
        let need = aim - host.free();
        let vms = host.vms.clone();
        let over = |&vm: &VmId| (self.vms[vm].held() - self.vms[vm].target).max(0.0);
        let overs: Vec<f64> = vms.iter().map(over).collect();
        let all: f64 = overs.iter().sum();
        if need <= 0.0 || all <= 0.0 {
            return;
        }
        for (&vm, over) in vms.iter().zip(&overs) {
            let halves = 2 * pages(over * (need / all).min(1.0) + PAGE - 1.0);
            self.take(vm, halves, policy, manner, now);
        }
    }

    /// Compresses and swaps out pages of a VM until `halves` half pages are free.
    fn take(&mut self, vm: VmId, halves: u64, policy: &Policy, manner: Manner, now: Nanos) {
        let id = self.vms[vm].host.expect("it is on a host");
        let (for_now, left) = self.hosts[id].swap_space();
        let space = if manner.at_once { left } else { for_now };
        let idle_first = policy.idle_first || manner.long_ago && self.vms[vm].estimate > 0.0;
        let order = if idle_first { Order::IdleFirst } else { Order::AtRandom };
        let swapped = self.change(vm, now, |tenant| {
            let (compressed, swapped) = tenant.squeeze(halves, policy.compressed_most, space);
            tenant.pages.take(compressed, order, Away::Compressed);
            tenant.pages.take(swapped, order, Away::Swapped)
        });
        if !manner.at_once {
            self.hosts[id].backlog += swapped;
            self.hosts[id].sums.swapped[1] += swapped;
            self.vms[vm].sums.swapped[1] += swapped;
        }
    }
}
