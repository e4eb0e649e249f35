//! Bursts that miss pages, and who waits for them.
//!
//! A burst uses active pages evenly; missing pages are fetched when its work is done, one after another. The vCPU waits
//! for a page that the host has swapped out. The process waits for a page that the guest has paged out because of its
//! balloon. A compressed page costs work, which the next burst of the VM pays.

use super::pages::Away;
use super::state::Reclaim;
use super::waiting::{Fault, Paging, Waiter};
use crate::clock::{Clock, Event};
use crate::ids::{HostId, VmId};
use hypertwin_kernel::Nanos;
use hypertwin_models::reclamation::Level;

/// Least time between two looks at a host's memory.
const SOON_NS: Nanos = 10_000_000;

impl Reclaim {
    /// Whether a VM can miss pages at all.
    #[inline]
    pub fn may_miss(&self, vm: VmId) -> bool {
        self.is_on && self.vms[vm].pages.misses()
    }

    /// How many pages a burst of so much CPU time misses that are `away`. Those that are compressed are there from now
    /// on.
    pub fn misses(&mut self, vm: VmId, away: Away, cpu_ns: f64, now: Nanos) -> u64 {
        let missed = self.vms[vm].misses(away, cpu_ns);
        if away != Away::Compressed || missed == 0 {
            return missed;
        }
        self.change(vm, now, |tenant| {
            (0..missed).take_while(|_| tenant.pages.fetch(Away::Compressed)).count() as u64
        })
    }

    /// A waiter for `pages` pages of a VM: the number of this fault.
    pub fn wait(&mut self, vm: VmId, waiter: Waiter, away: Away, pages: u64) -> u32 {
        let tenant = &mut self.vms[vm];
        tenant.waiting += 1;
        let life = tenant.life;
        self.faults.add(Fault {
            vm,
            life,
            waiter,
            away,
            left: pages,
        })
    }

    /// A fault goes on with its next page.
    pub fn next_page(&mut self, number: u32, clock: &mut Clock) -> Paging {
        let Fault { vm, life, away, .. } = self.faults[number];
        let tenant = &self.vms[vm];
        let Some(id) = tenant.host.filter(|_| tenant.life == life) else {
            self.faults.release(number);
            return Paging::Nothing;
        };
        let host = &mut self.hosts[id];
        let policy = host.policy.as_ref().expect("its memory could run short");
        let blocks = policy.actions(host.level).blocks && away == Away::Swapped;
        if blocks && tenant.held() > tenant.target {
            host.blocked.push(number);
            return Paging::Nothing;
        }
        if policy.enter(Level::Low).is_some_and(|low| host.free() < low) {
            let soon = clock.now.max(host.last + SOON_NS);
            host.event = Some(clock.move_to(soon, host.event, Event::Reclaim(id)));
        }
        Paging::Read(id)
    }

    /// A page of a fault has been read: what follows.
    pub fn page_read(&mut self, number: u32, clock: &mut Clock) -> Paging {
        let Fault {
            vm, life, waiter, away, ..
        } = self.faults[number];
        let Some(id) = self.vms[vm].host.filter(|_| self.vms[vm].life == life) else {
            self.faults.release(number);
            return Paging::Nothing;
        };
        let more = match away {
            // the guest pages another one out for it
            Away::Ballooned => {
                self.hosts[id].backlog += 1;
                true
            }
            _ => {
                let fetched = self.change(vm, clock.now, |tenant| tenant.pages.fetch(away));
                self.vms[vm].sums.swapped[0] += u64::from(fetched);
                self.hosts[id].sums.swapped[0] += u64::from(fetched);
                self.vms[vm].pages.active.swapped > 0
            }
        };
        let fault = &mut self.faults[number];
        fault.left -= 1;
        if fault.left > 0 && more {
            return self.next_page(number, clock);
        }
        self.faults.release(number);
        self.vms[vm].waiting -= 1;
        Paging::Done(waiter)
    }

    /// A fault that may go on, because its host has memory again.
    pub fn unblocked(&mut self, host: HostId) -> Option<u32> {
        let host = &mut self.hosts[host];
        let policy = host.policy.as_ref()?;
        match policy.actions(host.level).blocks {
            true => None,
            false => host.blocked.pop(),
        }
    }

    /// The next pages that a host writes to its swap device, if any may be: how many bytes.
    pub fn next_write(&mut self, host: HostId) -> Option<u32> {
        self.hosts[host].next_write()
    }

    /// Some pages have been written.
    pub fn written(&mut self, host: HostId) {
        self.hosts[host].writing -= 1;
    }
}
