//! What a process does: CPU bursts, requests to helper worlds, delays.

use super::guests::{Arrivals, Ended, Guests, Helpers, LookedFor, Phase, Process, Request, Timer};
use crate::clock::{Clock, Event};
use crate::ids::{ProcessId, VmId};
use crate::vcpu::Vcpu;

impl Guests {
    /// The think time or delay of `process` ends.
    pub fn on_timer(&mut self, process: ProcessId, clock: &mut Clock) -> Timer {
        match self.processes[process].phase {
            Phase::Think => self.begin_transaction(process, clock),
            Phase::Delay => Timer::DelayOver,
            Phase::Gone => Timer::Nothing,
            Phase::Compute => unreachable!("a computing process has no timer"),
        }
    }

    /// A worker of a generator has an I/O to handle, which costs `io_ns` beside the work of the workload itself.
    pub fn start_worker(&mut self, process: ProcessId, io_ns: f64, clock: &mut Clock) {
        let vm = &mut self.vms[self.processes[process].vm];
        vm.in_progress += 1;
        let busy = vm.busy_with_another();
        self.draw_burst(process, io_ns, busy);
        clock.wake(process);
    }

    pub(super) fn begin_burst(&mut self, process: ProcessId, clock: &mut Clock) {
        let vm = &self.vms[self.processes[process].vm];
        let busy = match vm.arrivals {
            // all begin at the same instant
            Arrivals::Parallel(_) => vm.in_progress,
            Arrivals::Closed { .. } | Arrivals::Open { .. } | Arrivals::Io => vm.busy_with_another(),
        };
        self.draw_burst(process, 0.0, busy);
        clock.wake(process);
    }

    /// The next CPU burst of `process` begins, on one of `busy` vCPUs of its VM that are busy then: how long it is.
    fn draw_burst(&mut self, process: ProcessId, io_ns: f64, busy: usize) -> f64 {
        let process = &mut self.processes[process];
        let vm = &mut self.vms[process.vm];
        let burst_ns = io_ns
            + vm.cpu_burst.sample(&mut vm.streams.cpu) as f64 * f64::from(process.work) * vm.stretch[busy - 1]
            + std::mem::take(&mut vm.owed_ns);
        process.phase = Phase::Compute;
        process.looked_for = LookedFor::None;
        process.burst_ns = burst_ns;
        process.remaining_ns = burst_ns;
        vm.work_begun_ns += burst_ns;
        burst_ns
    }

    /// The process of a vCPU goes on with another burst at once: how long it is.
    pub fn next_burst(&mut self, vcpu: Vcpu, io_ns: f64) -> f64 {
        let process = self.current(vcpu).expect("a vCPU that runs has a process");
        let busy = self.vms[vcpu.vm].busy();
        self.draw_burst(process, io_ns, busy)
    }

    /// The number of the worker that a vCPU executes, if its VM generates I/Os.
    pub fn worker_on(&self, vcpu: Vcpu) -> Option<u32> {
        match self.vms[vcpu.vm].arrivals {
            Arrivals::Io => self.current(vcpu).map(|process| self.session(process)),
            Arrivals::Closed { .. } | Arrivals::Open { .. } | Arrivals::Parallel(_) => None,
        }
    }

    /// The CPU burst on a vCPU is over, and its process blocks.
    pub fn end_burst(&mut self, vcpu: Vcpu, clock: &mut Clock) -> Ended {
        let process = self.current(vcpu).expect("a vCPU that runs has a process");
        let next = self.switch(vcpu);
        let delayed = self.block(process, clock);
        Ended { next, delayed }
    }

    /// `process` does not compute any more. Returns it if its I/Os or its delay begin at once.
    fn block(&mut self, process: ProcessId, clock: &mut Clock) -> Option<ProcessId> {
        let entry = &mut self.processes[process];
        let vm = &mut self.vms[entry.vm];
        vm.measured.runnable.add(clock.now, -1.0);
        if let Arrivals::Io = vm.arrivals {
            entry.phase = Phase::Think;
            vm.in_progress -= 1;
            return None;
        }
        entry.bursts_left -= 1;
        entry.phase = Phase::Delay;
        if let Arrivals::Parallel(_) = vm.arrivals {
            self.join(process, clock);
            return None;
        }
        let work_ns = vm.overhead.work_ns + vm.overhead.activity * entry.burst_ns * vm.cpu_per_work;
        if work_ns < 1.0 {
            return Some(process);
        }
        vm.helpers.requests.push_back(Request { process, work_ns });
        if let Some(helper) = vm.helpers.idle.pop()
            && let Some(work_ns) = vm.helpers.next(helper)
        {
            clock.run(vm.helpers.worlds.at(helper), work_ns);
        }
        None
    }

    /// A helper world has done its work: for which process.
    pub fn end_request(&mut self, vm: VmId, helper: usize) -> ProcessId {
        let process = self.vms[vm].helpers.current[helper].take();
        process.expect("a helper world works for a process")
    }

    /// A helper world takes the next request: its work for that, or `None` if it is idle.
    pub fn next_request(&mut self, vm: VmId, helper: usize) -> Option<f64> {
        self.vms[vm].helpers.next(helper)
    }

    /// The I/Os of `process` begin, or the delay that stands for them: those of which VM.
    pub fn begin_ios(&mut self, process: ProcessId) -> (VmId, f64) {
        let Process { vm: id, work, .. } = self.processes[process];
        let work = f64::from(work);
        let vm = &mut self.vms[id];
        vm.measured.ios += vm.ios_per_burst * work;
        (id, work)
    }

    /// The device, lock or network delay of `process` begins; `true` if it is over at once.
    pub fn begin_delay(&mut self, process: ProcessId, clock: &mut Clock) -> bool {
        let Process { vm, delay, .. } = self.processes[process];
        let vm = &mut self.vms[vm];
        let is_over = vm.delay.mean() <= 0.0;
        if !is_over {
            let delay_ns = vm.delay.sample(&mut vm.streams.delay) as f64 * f64::from(delay);
            let time = clock.now + delay_ns as u64;
            clock.at(time, Event::Process(process));
        }
        is_over
    }

    /// Interrupt time that the end of a delay costs the vCPU of `process`; `None` where it costs none.
    pub fn interrupt_ns(&self, process: ProcessId) -> Option<f64> {
        let interrupt_ns = self.vms[self.processes[process].vm].overhead.interrupt_ns;
        (interrupt_ns >= 1.0).then_some(interrupt_ns)
    }

    /// The delay of `process` is over: its next burst begins, or its transaction ends.
    pub fn end_delay(&mut self, process: ProcessId, clock: &mut Clock) {
        if self.processes[process].bursts_left > 0 {
            self.begin_burst(process, clock);
        } else {
            self.end_transaction(process, clock);
        }
    }
}

impl Helpers {
    /// Gives a helper the next request, and returns its work; without one it is idle.
    fn next(&mut self, helper: usize) -> Option<f64> {
        let Some(request) = self.requests.pop_front() else {
            self.idle.push(helper);
            return None;
        };
        self.current[helper] = Some(request.process);
        Some(request.work_ns)
    }
}
