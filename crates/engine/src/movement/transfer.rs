//! What is sent of a VM: rates of the migrations that share links, and the CPU that they cost hosts.

use super::state::{Machines, Movement, Stage};
use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, Id};
use hypertwin_kernel::Nanos;
use hypertwin_models::migration::{self, Transfer};
use hypertwin_models::rounding::round_up;

/// How often the worlds that send get work: short beside the pass of any migration, long beside what they compete for.
const WORK_NS: Nanos = 10_000_000;

impl Movement {
    /// Divides links anew between what is sent now.
    pub(super) fn share_links(&mut self, clock: &mut Clock) {
        let now = clock.now;
        let sending: Vec<u32> = self
            .under_way
            .iter()
            .copied()
            .filter(|&number| self.is_sending(number))
            .collect();
        let transfer = |&number: &u32| {
            let migration = &self.migrations[number as usize];
            let (from, to) = (migration.from, migration.to);
            Transfer {
                from: from.index(),
                to: to.index(),
                most: self.site.hosts[from].migration.most,
            }
        };
        let transfers: Vec<Transfer> = sending.iter().map(transfer).collect();
        let links: Vec<f64> = self.site.hosts.iter().map(|host| host.migration.link).collect();
        let rates = migration::rates(&links, &transfers);
        let mut loads = vec![0.0; links.len()];
        for (&number, &rate) in sending.iter().zip(&rates) {
            let migration = &mut self.migrations[number as usize];
            migration.settle(now);
            migration.rate = rate;
            let left_ns = round_up(migration.left / rate * 1e9);
            let due = Event::Movement(Due::Sent(number));
            migration.event = Some(clock.move_to(now + left_ns, migration.event, due));
            loads[migration.from.index()] += rate;
            loads[migration.to.index()] += rate;
        }
        for (host, load) in self.site.hosts.ids().zip(loads) {
            let sender = &mut self.site.hosts[host].sender;
            sender.cores = migration::cpu_cores(load);
            if sender.cores > 0.0 && !std::mem::replace(&mut sender.is_armed, true) {
                clock.at(now, Event::Movement(Due::Work(host)));
            }
        }
    }

    fn is_sending(&self, number: u32) -> bool {
        matches!(
            self.migrations[number as usize].stage,
            Stage::Passes | Stage::LastCopy | Stage::Fetching
        )
    }

    /// Gives a host's worlds what migrations cost until it is called again.
    pub(super) fn work(&mut self, host: HostId, machines: &impl Machines, clock: &mut Clock) {
        let there = &mut self.site.hosts[host];
        let sender = &mut there.sender;
        if sender.cores == 0.0 || !there.is_up {
            sender.is_armed = false;
            sender.waiting_ns.fill(0.0);
            return;
        }
        let mut left = sender.cores;
        for (&world, waiting_ns) in sender.worlds.iter().zip(&mut sender.waiting_ns) {
            *waiting_ns += left.min(1.0) * WORK_NS as f64;
            left = (left - 1.0).max(0.0);
            if *waiting_ns > 0.0 && machines.is_idle(world) {
                clock.run(world, std::mem::take(waiting_ns));
            }
        }
        clock.at(clock.now + WORK_NS, Event::Movement(Due::Work(host)));
    }
}
