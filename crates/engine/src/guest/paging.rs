//! Bursts that miss pages of their VM's memory: their processes wait, or go on when their vCPUs do.

use super::guests::{Guests, LookedFor};
use crate::clock::Clock;
use crate::ids::{ProcessId, VmId};
use crate::vcpu::{Next, Vcpu};

/// Who has to fetch a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagedBy {
    /// The guest, which has paged it out: its process waits.
    Guest,
    /// The host, which has swapped it out: the vCPU waits.
    Host,
}

impl Guests {
    /// The work of the burst on a vCPU is done: whose misses are to be looked for next, and its CPU time; `None` if
    /// there are no others.
    pub fn next_misses(&mut self, vcpu: Vcpu) -> Option<(PagedBy, f64)> {
        let process = self.current(vcpu).expect("a vCPU that runs has a process");
        let process = &mut self.processes[process];
        let cpu_ns = process.burst_ns * self.vms[vcpu.vm].cpu_per_work;
        let (by, looked_for) = match process.looked_for {
            LookedFor::None => (PagedBy::Guest, LookedFor::Guests),
            LookedFor::Guests => (PagedBy::Host, LookedFor::All),
            LookedFor::All => return None,
        };
        process.looked_for = looked_for;
        Some((by, cpu_ns))
    }

    /// The process of a vCPU waits for pages that its guest fetches, to go on where it was: which one it is, and what
    /// the vCPU does.
    pub fn wait_for_pages(&mut self, vcpu: Vcpu, clock: &Clock) -> (ProcessId, Next) {
        let process = self.current(vcpu).expect("a vCPU that runs has a process");
        self.processes[process].remaining_ns = 0.0;
        self.vms[vcpu.vm].measured.runnable.add(clock.now, -1.0);
        (process, self.switch(vcpu))
    }

    /// The next burst of a VM takes so much more CPU time.
    pub fn owe(&mut self, vm: VmId, cpu_ns: f64) {
        let vm = &mut self.vms[vm];
        vm.owed_ns += cpu_ns / vm.cpu_per_work;
    }

    /// CPU time of the work that a VM has begun so far, as its present host would take for it.
    pub fn cpu_begun_ns(&self, vm: VmId) -> f64 {
        let vm = &self.vms[vm];
        vm.work_begun_ns * vm.cpu_per_work
    }
}
