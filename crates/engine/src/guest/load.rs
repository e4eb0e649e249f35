//! Where transactions come from, and how the load of a VM changes.

use super::guests::{Arrivals, Guests, LookedFor, NextArrival, Phase, Process, Timer};
use crate::clock::{Clock, Event};
use crate::error::RunError;
use crate::ids::{ProcessId, VmId};
use crate::vcpu::Vcpu;
use hypertwin_cluster::sessions;
use hypertwin_kernel::Nanos;

/// Transactions in progress in one VM beyond which a run is given up.
const MOST_IN_PROGRESS: usize = 1_000_000;

/// What a draw of a transaction's size counts as 1: draws are whole numbers.
pub const SIZE_UNIT: f64 = 1e9;

impl NextArrival {
    /// Whoever comes next comes when the rest of the gap is over at this rate.
    pub(super) fn arrange(&mut self, id: VmId, rate_factor: f64, clock: &mut Clock) {
        if rate_factor > 0.0 {
            let due = clock.now.saturating_add((self.left_ns / rate_factor).round() as Nanos);
            self.event = Some(clock.move_to(due, self.event, Event::Arrival(id)));
        } else if let Some(event) = self.event.take() {
            clock.cancel(event);
        }
    }
}

impl Guests {
    pub(super) fn begin_transaction(&mut self, process: ProcessId, clock: &mut Clock) -> Timer {
        let entry = &mut self.processes[process];
        let vm = &mut self.vms[entry.vm];
        match vm.arrivals {
            Arrivals::Closed { active, .. } if entry.session >= active => {
                vm.parked.push(process);
                return Timer::Nothing;
            }
            Arrivals::Parallel(_) => {
                self.join(process, clock);
                return Timer::Nothing;
            }
            Arrivals::Io => return Timer::Worker,
            Arrivals::Closed { .. } | Arrivals::Open { .. } => {}
        }
        entry.started = clock.now;
        entry.bursts_left = vm.bursts;
        if let Some((size, stream)) = &mut vm.size {
            let bursts = f64::from(vm.bursts);
            let rounds = size.sample(stream) as f64 / SIZE_UNIT * bursts;
            let whole = rounds.round().max(1.0);
            entry.bursts_left = whole as u32;
            entry.work = (rounds / whole) as f32;
            entry.delay = (bursts / whole) as f32;
        }
        vm.in_progress += 1;
        self.begin_burst(process, clock);
        Timer::Nothing
    }

    /// Whether the part that a vCPU works on has a burst left for its process, which takes it.
    pub fn takes_burst(&mut self, vcpu: Vcpu) -> bool {
        match &mut self.vms[vcpu.vm].arrivals {
            Arrivals::Parallel(parallel) => parallel.take(vcpu.index),
            Arrivals::Closed { .. } | Arrivals::Open { .. } | Arrivals::Io => false,
        }
    }

    /// `process` finds nothing left of its part: it waits for the others, and the last one begins the next transaction.
    pub(super) fn join(&mut self, process: ProcessId, clock: &mut Clock) {
        let id = self.processes[process].vm;
        let vm = &mut self.vms[id];
        let Arrivals::Parallel(parallel) = &mut vm.arrivals else {
            unreachable!("only parallel transactions have a barrier");
        };
        let Some((processes, started)) = parallel.join(process, vm.vcpus, clock.now) else {
            vm.in_progress = vm.vcpus - parallel.waiting();
            return;
        };
        for &process in &processes {
            parallel.take(self.processes[process].session as usize);
        }
        vm.in_progress = vm.vcpus;
        if let Some(started) = started {
            self.record_response(id, clock.now - started);
        }
        for process in processes {
            self.processes[process].bursts_left = 1;
            self.begin_burst(process, clock);
        }
    }

    pub(super) fn end_transaction(&mut self, process: ProcessId, clock: &mut Clock) {
        let entry = &mut self.processes[process];
        let (id, started) = (entry.vm, entry.started);
        let vm = &mut self.vms[id];
        vm.in_progress -= 1;
        match &vm.arrivals {
            Arrivals::Closed { think, .. } => {
                entry.phase = Phase::Think;
                let time = clock.now + think.sample(&mut vm.streams.source);
                clock.at(time, Event::Process(process));
            }
            Arrivals::Open { .. } => {
                entry.phase = Phase::Think;
                vm.free.push(process);
            }
            Arrivals::Parallel(_) | Arrivals::Io => unreachable!("their transactions end in other ways"),
        }
        self.record_response(id, clock.now - started);
    }

    /// The next transaction of an open workload arrives.
    ///
    /// # Errors
    /// [`RunError::Overloaded`] if too many are in progress.
    pub fn on_arrival(&mut self, id: VmId, clock: &mut Clock) -> Result<(), RunError> {
        let vm = &mut self.vms[id];
        let Arrivals::Open { gap, rate_factor, next } = &mut vm.arrivals else {
            unreachable!("only open workloads have arrivals");
        };
        *next = NextArrival {
            left_ns: gap.sample(&mut vm.streams.source) as f64,
            since: clock.now,
            event: None,
        };
        next.arrange(id, *rate_factor, clock);
        if !vm.is_on {
            // nobody answers
            return Ok(());
        }
        if vm.in_progress >= MOST_IN_PROGRESS {
            return Err(RunError::Overloaded {
                vm: vm.name.clone(),
                in_progress: vm.in_progress,
            });
        }
        let process = vm.free.pop().unwrap_or_else(|| {
            let process = Process::new(id, vm.sessions, vm.vcpus);
            vm.sessions += 1;
            self.processes.push(process)
        });
        self.begin_transaction(process, clock);
        Ok(())
    }

    /// The load of a VM changes.
    pub fn on_load_step(&mut self, id: VmId, step: usize, clock: &mut Clock) {
        let vm = &mut self.vms[id];
        let factor = vm.load * vm.steps[step].1;
        match &mut vm.arrivals {
            Arrivals::Closed {
                think,
                population,
                active,
            } => {
                *active = sessions(*population, factor);
                let is_active = |process: &&ProcessId| self.processes[**process].session < *active;
                let (resumed, parked): (Vec<_>, Vec<_>) = vm.parked.iter().partition(is_active);
                vm.parked = parked;
                for process in resumed {
                    let start = clock.now + think.residual(&mut vm.streams.source);
                    clock.at(start, Event::Process(process));
                }
            }
            Arrivals::Open { rate_factor, next, .. } => {
                next.left_ns -= (clock.now - next.since) as f64 * *rate_factor;
                next.since = clock.now;
                *rate_factor = factor;
                next.arrange(id, factor, clock);
            }
            Arrivals::Parallel(_) | Arrivals::Io => {}
        }
    }
}

impl Process {
    /// An idle process; `session` decides its first vCPU.
    pub(super) fn new(vm: VmId, session: u32, vcpus: usize) -> Self {
        Self {
            vm,
            phase: Phase::Think,
            looked_for: LookedFor::None,
            bursts_left: 0,
            work: 1.0,
            delay: 1.0,
            vcpu: session % vcpus as u32,
            started: 0,
            remaining_ns: 0.0,
            burst_ns: 0.0,
            session,
        }
    }
}
