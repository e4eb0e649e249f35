//! Processes become runnable, and vCPUs switch between them.
//!
//! **Wake-up interrupts wait for a descheduled vCPU.** The end of an I/O interrupts the vCPU on which its process last
//! ran. If that vCPU is ready or co-stopped, the process stays invisible to the guest until it runs again. Without this
//! rule, a guest would avoid a descheduled vCPU, although a guest cannot see that the vCPU is descheduled.

use super::guests::{Guests, Phase};
use crate::ids::{Id, ProcessId};
use crate::vcpu::{Guest, Next, Reaction, Vcpu, Work};
use hypertwin_kernel::Nanos;
use hypertwin_models::guest_system::Wakeup;

/// The process that a guest's system knows by its number.
fn process(number: u32) -> ProcessId {
    ProcessId::new(number as usize)
}

impl Guest for Guests {
    fn next_interrupt(&mut self, vcpu: Vcpu) -> Option<Reaction> {
        let process = self.vms[vcpu.vm].pending[vcpu.index].pop()?;
        Some(self.make_runnable(process, vcpu))
    }
}

impl Guests {
    /// The process that a vCPU executes.
    pub fn current(&self, vcpu: Vcpu) -> Option<ProcessId> {
        self.vms[vcpu.vm].system.current(vcpu.index).map(process)
    }

    /// The wake-up of `process` reaches its last vCPU, or waits until that vCPU executes again if it `is_held` from it.
    pub fn wake(&mut self, process: ProcessId, is_held: bool, now: Nanos) -> Option<Reaction> {
        let vcpu = self.vcpu_of(process);
        let vm = &mut self.vms[vcpu.vm];
        vm.measured.runnable.add(now, 1.0);
        if is_held {
            vm.pending[vcpu.index].push(process);
            return None;
        }
        Some(self.make_runnable(process, vcpu))
    }

    fn make_runnable(&mut self, process: ProcessId, last: Vcpu) -> Reaction {
        match self.vms[last.vm].system.wake(process.index() as u32, last.index) {
            Wakeup::Start(index) => {
                let vcpu = Vcpu { index, ..last };
                Reaction::Start(vcpu, self.execute(process, vcpu))
            }
            Wakeup::Wait(index, is_first) => Reaction::Wait(Vcpu { index, ..last }, is_first),
        }
    }

    /// A vCPU executes `process` from now on.
    fn execute(&mut self, process: ProcessId, vcpu: Vcpu) -> Work {
        let vm = &self.vms[vcpu.vm];
        let process = &mut self.processes[process];
        debug_assert!(process.phase == Phase::Compute, "a vCPU executes what computes");
        process.vcpu = vcpu.index as u32;
        Work {
            work_ns: process.remaining_ns,
            slice_ns: vm.time_slice_ns,
            contended: vm.system.has_waiting(vcpu.index),
        }
    }

    /// The guest's time slice on a vCPU is over, with `left_ns` of its process's work left: the next process that waits
    /// for it has its turn.
    pub fn next_slice(&mut self, vcpu: Vcpu, left_ns: f64) -> Work {
        let old = self.current(vcpu).expect("a vCPU that runs has a process");
        self.processes[old].remaining_ns = left_ns;
        self.vms[vcpu.vm].system.rotate(vcpu.index);
        let new = self.current(vcpu).expect("a vCPU that rotates has a process");
        self.execute(new, vcpu)
    }

    /// The process of a vCPU blocks: what the vCPU does next.
    pub(super) fn switch(&mut self, vcpu: Vcpu) -> Next {
        let Some((next, from)) = self.vms[vcpu.vm].system.finish(vcpu.index) else {
            return Next::Idle;
        };
        let work = self.execute(process(next), vcpu);
        let contended = self.vms[vcpu.vm].system.has_waiting(from);
        match from == vcpu.index {
            true => Next::Switch(work),
            false => Next::Pull { work, from, contended },
        }
    }
}
