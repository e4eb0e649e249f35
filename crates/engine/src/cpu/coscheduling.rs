//! Co-scheduling: vCPUs that are too far ahead of their siblings are stopped until those have caught up.

use super::processors::{Processors, World};
use crate::clock::{Clock, Event};
use crate::ids::{Span, VmId, WorldId};
use crate::vcpu::{Guest, Vcpu};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::State;
use hypertwin_models::coscheduling::{Progress, judge, slowest_waiting};

impl Processors {
    /// Largest lag of the vCPUs of a VM that are not idle, other than `except`.
    pub(super) fn slowest_lag(&mut self, vm_id: VmId, except: WorldId, now: Nanos) -> u64 {
        let group = &self.groups[vm_id];
        if let Some(known) = group.slowest_ns {
            return known;
        }
        let (vcpus, waits) = (group.vcpus, group.cosched_armed);
        let lags = self.progress(vcpus, now).zip(vcpus.iter());
        let of_others = lags.filter_map(|(progress, id)| if id == except { None } else { progress.lag_ns() });
        let slowest = of_others.max().unwrap_or(0);
        if !waits {
            // it stays what it is
            self.groups[vm_id].slowest_ns = Some(slowest);
        }
        slowest
    }

    /// A vCPU waits for a CPU: from now on the leads of its siblings are checked.
    pub(super) fn watch_lag(&mut self, world_id: WorldId, clock: &mut Clock) {
        let Some(Vcpu { vm, .. }) = self.worlds[world_id].vcpu() else {
            return;
        };
        let group = &mut self.groups[vm];
        if let Some(thresholds) = group.cosched
            && group.vcpus.len() > 1
            && !group.cosched_armed
        {
            group.cosched_armed = true;
            group.slowest_ns = None;
            clock.at(clock.now + thresholds.poll_ns, Event::Cosched(vm));
        }
    }

    /// What the vCPUs of a VM do, and how far each has come.
    fn progress(&self, vcpus: Span<WorldId>, now: Nanos) -> impl Iterator<Item = Progress> + Clone {
        self.worlds[vcpus].iter().map(move |world| {
            let held = matches!(world.state, State::Ready | State::CoStop) && !world.limited;
            let lag_ns = world.lag_ns + if held { now - world.since } else { 0 };
            match world.state {
                State::Wait => Progress::Idle,
                State::CoStop => Progress::Stopped { lag_ns },
                State::Run => Progress::Running { lag_ns },
                State::Ready => Progress::Ready { lag_ns },
            }
        })
    }

    /// Stops vCPUs of a VM that lead too much, and starts those whose siblings have caught up.
    pub fn on_cosched(&mut self, vm_id: VmId, guest: &mut impl Guest, clock: &mut Clock) {
        let group = &mut self.groups[vm_id];
        let Some(thresholds) = group.cosched else {
            // it has come to a host that does not do it
            group.cosched_armed = false;
            return;
        };
        let (vcpus, now) = (group.vcpus, clock.now);
        let mut decisions = std::mem::take(&mut self.decisions);
        judge(self.progress(vcpus, now), thresholds, &mut decisions);
        for &vcpu in &decisions.start {
            self.enter(vcpus.at(vcpu), State::Ready, now);
            self.place(vcpus.at(vcpu), guest, clock);
        }
        for (already, &(lag_ns, vcpu)) in decisions.stop.iter().enumerate() {
            // Who stops makes room: once the slowest has a CPU, the others go on.
            let leads = |slowest_ns| slowest_ns > lag_ns + thresholds.costop_ns;
            if already == 0 || slowest_waiting(self.progress(vcpus, now)).is_some_and(leads) {
                self.hold_back(vcpus.at(vcpu), State::CoStop, false, guest, clock);
            }
        }
        self.decisions = decisions;
        let is_held = |world: &World| world.state == State::CoStop || world.state == State::Ready && !world.limited;
        if self.worlds[vcpus].iter().any(is_held) {
            clock.at(now + thresholds.poll_ns, Event::Cosched(vm_id));
        } else {
            self.groups[vm_id].cosched_armed = false;
        }
    }
}
