//! VMs are powered on and off, and come to another host.
//!
//! A sender of transactions does not know whether a VM is on: arrivals and load steps continue while it is off, and so
//! do its random streams. Meanwhile no transaction gets an answer.

use super::guests::{Arrivals, Guests, Helpers, Overhead, Phase, Process};
use crate::clock::{Clock, Event};
use crate::ids::{ProcessId, Span, VmId, WorldId};
use crate::plan::VmPlan;
use crate::vcpu::Vcpu;
use hypertwin_kernel::Nanos;
use hypertwin_models::guest_system::GuestSystem;

impl Guests {
    /// A VM is powered on: its guest begins from nothing. Returns the first of its processes, which are new ones.
    pub fn start(&mut self, id: VmId, clock: &mut Clock) -> ProcessId {
        let vm = &mut self.vms[id];
        vm.is_on = true;
        let sessions = match &vm.arrivals {
            Arrivals::Open { .. } => 0,
            Arrivals::Closed { .. } | Arrivals::Parallel(_) | Arrivals::Io => vm.sessions,
        };
        let first = self.processes.next_id();
        for session in 0..sessions {
            let process = self.processes.push(Process::new(id, session, vm.vcpus));
            if matches!(vm.arrivals, Arrivals::Closed { active, .. } if session >= active) {
                vm.parked.push(process);
                continue;
            }
            let start = match &vm.arrivals {
                Arrivals::Closed { think, .. } => think.residual(&mut vm.streams.source),
                Arrivals::Open { .. } | Arrivals::Parallel(_) | Arrivals::Io => 0,
            };
            clock.at(clock.now + start, Event::Process(process));
        }
        first
    }

    /// A VM is powered off: all its processes are gone, and the work that they had begun is lost. `current` says what
    /// is left to a vCPU.
    pub fn stop(&mut self, id: VmId, current: impl Fn(Vcpu) -> f64, now: Nanos) {
        let (_, left_ns) = self.work(id, current);
        for process in self.processes.iter_mut().filter(|process| process.vm == id) {
            process.phase = Phase::Gone;
        }
        let vm = &mut self.vms[id];
        vm.is_on = false;
        vm.work_begun_ns -= left_ns;
        vm.system = GuestSystem::new(vm.vcpus);
        vm.pending.iter_mut().for_each(Vec::clear);
        vm.helpers = Helpers::new(vm.helpers.worlds);
        vm.parked.clear();
        vm.free.clear();
        vm.in_progress = 0;
        vm.measured.runnable.set(now, 0.0);
        if let Arrivals::Parallel(parallel) = &mut vm.arrivals {
            parallel.clear();
        }
    }

    /// A VM comes to another host, where these worlds work for it.
    pub fn place(&mut self, plan: &VmPlan, helpers: Span<WorldId>) {
        let vm = &mut self.vms[plan.vm];
        debug_assert!(vm.helpers.are_idle(), "only a VM that is quiet moves");
        vm.host = plan.host;
        vm.overhead = Overhead::of(plan);
        vm.cpu_per_work = plan.cpu_per_work();
        vm.helpers = Helpers::new(helpers);
    }

    /// Whether no world of the hypervisor works for the processes of a VM.
    pub fn is_quiet(&self, vm: VmId) -> bool {
        self.vms[vm].helpers.are_idle()
    }
}

impl Helpers {
    fn are_idle(&self) -> bool {
        self.requests.is_empty() && self.current.iter().all(Option::is_none)
    }
}
