//! Simulated time, what will happen, and what components have to tell each other at this instant.

use crate::ids::{ControllerId, HostId, IoId, PoolId, ProcessId, VmId, WorldId};
use hypertwin_kernel::{Calendar, EventId, Nanos};
use std::collections::VecDeque;

/// Priorities among events of one instant: work ends before anything is measured.
const WORK: u8 = 0;
const MEASURE: u8 = 9;

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The work, guest slice or host slice on a logical CPU ends.
    Cpu { host: HostId, cpu: u32 },
    /// The think time or delay of a process ends.
    Process(ProcessId),
    /// Something happens to an I/O on its path.
    Io(IoId),
    /// Completions of a controller have waited for an interrupt for long.
    Interrupt(ControllerId),
    /// An open workload's next transaction arrives.
    Arrival(VmId),
    /// Co-scheduling is checked.
    Cosched(VmId),
    /// A CPU limit is checked.
    Limit(VmId),
    /// A VM that is throttled rests, or goes on.
    Throttle(VmId),
    /// Worlds that share a core look for a whole one.
    BalanceThreads(HostId),
    /// Nodes or run queues are balanced.
    BalanceHost(HostId),
    /// The load of a VM changes.
    LoadStep { vm: VmId, step: u32 },
    /// Something fails or returns.
    Failure(u32),
    /// A host looks after its memory.
    Reclaim(HostId),
    /// A queue of a pool's service gets the CPU quota of another period.
    Quota { pool: PoolId, queue: u32 },
    /// A pool replaces what is still away.
    Detect(PoolId),
    /// Something about a VM that moves or restarts is due.
    Movement(Movement),
    /// The warm-up ends.
    StartMeasuring,
    /// The timeline takes a sample.
    Sample,
    /// The series for output analysis take a sample.
    Observe,
}

/// What is due of VMs that move or restart. Migrations and entries of the scenario are numbered.
#[derive(Clone, Copy, Debug)]
pub enum Movement {
    /// That a host failed is noticed.
    Detect(HostId),
    /// The power-on of a VM ends.
    PoweredOn(VmId),
    /// A VM has booted.
    Booted(VmId),
    /// Retry of a VM that could not restart.
    TryAgain(VmId),
    /// A migration has been set up.
    Begin(u32),
    /// A migration has found the pages that are zero.
    Scanned(u32),
    /// A migration has taken as long as it may.
    TimeOut(u32),
    /// A pass of a migration has been sent.
    Sent(u32),
    /// A VM may go on at its new place, if it is quiet.
    Settle(u32),
    /// Worlds that send VMs get work.
    Work(HostId),
    /// What an entry of the scenario's events does begins or goes on.
    Action(u32),
    /// A cluster, by its number on the island, is balanced.
    Balance(u32),
}

/// What one component tells another once the event at hand is done with.
#[derive(Clone, Copy, Debug)]
pub enum Signal {
    /// A process has something to compute.
    Wake(ProcessId),
    /// A world of the hypervisor or of storage has got work.
    Run { world: WorldId, work_ns: f64 },
}

/// Time, the calendar, and the signals of this instant.
pub struct Clock {
    calendar: Calendar<Event>,
    pub now: Nanos,
    /// When the run ends.
    pub end: Nanos,
    /// An event beyond the end was taken.
    is_over: bool,
    /// Signals in two lanes: processes go before worlds.
    wakeups: VecDeque<ProcessId>,
    ready: VecDeque<(WorldId, f64)>,
}

impl Clock {
    pub fn new(end: Nanos) -> Self {
        Self {
            calendar: Calendar::with_capacity(1024),
            now: 0,
            end,
            is_over: false,
            wakeups: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// Goes on to the next event; `None` at the end of the run.
    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        let (now, event) = self.calendar.pop()?;
        if now > self.end {
            self.is_over = true;
            return None;
        }
        self.now = now;
        Some(event)
    }

    /// `event` happens at `time`.
    pub fn at(&mut self, time: Nanos, event: Event) -> EventId {
        self.calendar.schedule(time, WORK, event)
    }

    /// As [`Self::at`], after everything else that happens at `time`.
    pub fn measure_at(&mut self, time: Nanos, event: Event) {
        self.calendar.schedule(time, MEASURE, event);
    }

    /// Moves `pending` to `time` if there is one that has not happened, else schedules `event`.
    #[inline]
    pub fn move_to(&mut self, time: Nanos, pending: Option<EventId>, event: Event) -> EventId {
        let moved = pending.and_then(|pending| self.calendar.reschedule(pending, time));
        moved.unwrap_or_else(|| self.at(time, event))
    }

    /// The event will not happen.
    pub fn cancel(&mut self, event: EventId) {
        self.calendar.cancel(event);
    }

    /// Events that have happened.
    pub fn events(&self) -> u64 {
        self.calendar.popped() - u64::from(self.is_over)
    }

    /// `process` becomes runnable in its guest.
    pub fn wake(&mut self, process: ProcessId) {
        self.wakeups.push_back(process);
    }

    /// `world`, which waits, becomes ready to do this much work, in nanoseconds alone on a core at nominal clock.
    pub fn run(&mut self, world: WorldId, work_ns: f64) {
        self.ready.push_back((world, work_ns));
    }

    /// Signals to these processes and worlds are taken back.
    pub fn take_back(&mut self, is_gone: impl Fn(ProcessId) -> bool, is_off: impl Fn(WorldId) -> bool) {
        self.wakeups.retain(|&process| !is_gone(process));
        self.ready.retain(|&(world, _)| !is_off(world));
    }

    /// The next signal of this instant.
    #[inline]
    pub fn signal(&mut self) -> Option<Signal> {
        match self.wakeups.pop_front() {
            Some(process) => Some(Signal::Wake(process)),
            None => {
                let (world, work_ns) = self.ready.pop_front()?;
                Some(Signal::Run { world, work_ns })
            }
        }
    }
}
