//! CPU limits: a budget per period, as the bandwidth control of Linux cgroups keeps it.

use super::processors::{CHECK_NS, CHECKS_PER_PERIOD, Processors};
use crate::clock::{Clock, Event};
use crate::ids::VmId;
use crate::vcpu::Guest;
use hypertwin_models::accounting::State;

impl Processors {
    /// Checks the CPU limit of a VM: its vCPUs are held back while the budget is used up.
    pub fn on_limit(&mut self, vm_id: VmId, guest: &mut impl Guest, clock: &mut Clock) {
        let vcpus = self.groups[vm_id].vcpus;
        for world in vcpus.iter() {
            if self.worlds[world].state == State::Run {
                self.close(world, clock.now);
            }
        }
        let group = &mut self.groups[vm_id];
        let limit = group.limit.as_mut().expect("only limited VMs are checked");
        limit.checks += 1;
        if limit.checks == CHECKS_PER_PERIOD {
            limit.checks = 0;
            limit.left_ns = (limit.left_ns + limit.quota_ns).min(limit.quota_ns);
        }
        let is_exhausted = limit.left_ns <= 0.0;
        let was_exhausted = std::mem::replace(&mut group.throttled, is_exhausted);
        if is_exhausted && !was_exhausted {
            for world in vcpus.iter() {
                self.hold_back(world, State::Ready, true, guest, clock);
            }
        } else if was_exhausted && !is_exhausted {
            for world in vcpus.iter() {
                if self.worlds[world].limited {
                    self.close(world, clock.now);
                    self.worlds[world].limited = false;
                    self.place(world, guest, clock);
                }
            }
        }
        clock.at(clock.now + CHECK_NS, Event::Limit(vm_id));
    }
}
