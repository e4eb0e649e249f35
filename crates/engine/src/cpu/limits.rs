//! CPU limits: a VM that has had what it may is held back.

use super::processors::Processors;
use crate::clock::{Clock, Event};
use crate::ids::VmId;
use crate::vcpu::Guest;
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::State;

/// Least time between two checks: how far several vCPUs may run beyond the limit, which is then taken off.
const CHECK_NS: Nanos = 1_000_000;

impl Processors {
    /// A vCPU of the VM has something to do: from now on its limit is checked, if it has one.
    pub(super) fn watch_limit(&mut self, vm_id: VmId, clock: &mut Clock) {
        let group = &mut self.groups[vm_id];
        if let Some(limit) = &mut group.limit
            && limit.wake(clock.now)
        {
            let most = group.vcpus.len() as f64 * self.hosts[group.host].clock_ratio;
            let (is_held, next) = limit.check(false, most, clock.now);
            clock.at(if is_held { clock.now } else { next }, Event::Limit(vm_id));
        }
    }

    /// Checks the CPU limit of a VM: its vCPUs are held back while it has had what it may.
    pub fn on_limit(&mut self, vm_id: VmId, guest: &mut impl Guest, clock: &mut Clock) {
        let vcpus = self.groups[vm_id].vcpus;
        let mut is_idle = true;
        for world in vcpus.iter() {
            let state = self.worlds[world].state;
            is_idle &= state == State::Wait;
            if state == State::Run {
                self.close(world, clock.now);
            }
        }
        let group = &mut self.groups[vm_id];
        let limit = group.limit.as_mut().expect("only limited VMs are checked");
        if is_idle {
            limit.idle_since = Some(clock.now);
            group.throttled = false;
            return;
        }
        let most = vcpus.len() as f64 * self.hosts[group.host].clock_ratio;
        let was_held = group.throttled;
        let (is_held, next) = limit.check(was_held, most, clock.now);
        group.throttled = is_held;
        clock.at(next.max(clock.now + CHECK_NS), Event::Limit(vm_id));
        if is_held && !was_held {
            for world in vcpus.iter() {
                self.hold_back(world, State::Ready, true, guest, clock);
            }
        } else if was_held && !is_held {
            for world in vcpus.iter() {
                if self.worlds[world].limited {
                    self.close(world, clock.now);
                    let released = &mut self.worlds[world];
                    released.limited = false;
                    self.hosts[released.host].scheduler.end_limit(released.local);
                    self.place(world, guest, clock);
                }
            }
        }
    }
}
