//! VMs and their processes: the state of guests, and what is measured of them.

use super::parallel::Parallel;
use crate::ids::{HostId, ProcessId, Span, Table, VmId, WorldId};
use crate::vcpu::{Next, Vcpu};
use hypertwin_kernel::{Draw, EventId, Histogram, Nanos, Stream, TimeAverage};
use hypertwin_models::guest_system::GuestSystem;
use std::collections::VecDeque;

/// The guests of all VMs.
pub struct Guests {
    pub(super) vms: Table<VmId, Vm>,
    pub(super) processes: Table<ProcessId, Process>,
}

/// A VM.
pub struct Vm {
    pub name: String,
    pub group: usize,
    pub host: HostId,
    pub vcpus: usize,
    /// Whether it is powered on.
    pub(super) is_on: bool,
    pub(super) system: GuestSystem,
    pub(super) time_slice_ns: u64,
    /// Per vCPU: processes whose wake-up interrupt waits until it executes again.
    pub(super) pending: Vec<Vec<ProcessId>>,
    pub(super) arrivals: Arrivals,
    pub(super) load: f64,
    pub(super) steps: Vec<(Nanos, f64)>,
    pub(super) streams: Streams,
    pub(super) bursts: u32,
    pub(super) cpu_burst: Draw,
    /// By what factor the work of a burst grows, by the number of busy vCPUs: at 0 with one busy.
    pub(super) stretch: Vec<f64>,
    pub(super) delay: Draw,
    /// How much larger a transaction is than others, drawn for each; `None` if all are alike.
    pub(super) size: Option<(Draw, Stream)>,
    /// I/Os of one burst.
    pub(super) ios_per_burst: f64,
    pub(super) overhead: Overhead,
    pub(super) helpers: Helpers,
    /// Processes of a closed population that the load has switched off.
    pub(super) parked: Vec<ProcessId>,
    /// Processes of an open workload that are free for the next arrival.
    pub(super) free: Vec<ProcessId>,
    /// Processes made so far.
    pub(super) sessions: u32,
    pub(super) in_progress: usize,
    /// Work of all CPU bursts begun so far, in nanoseconds alone on a core at the reference clock.
    pub(super) work_begun_ns: f64,
    /// CPU time of its host for each nanosecond of work.
    pub(super) cpu_per_work: f64,
    /// Work beside that of the workload that its next burst does.
    pub(super) owed_ns: f64,
    pub measured: Measured,
}

/// Where the transactions of a VM come from.
pub enum Arrivals {
    /// All its vCPUs work on one transaction after another.
    Parallel(Parallel),
    /// Sessions that think between transactions; those from number `active` on are switched off.
    Closed { think: Draw, population: u32, active: u32 },
    /// Whoever comes; `rate_factor` times as often as the workload says.
    Open {
        gap: Draw,
        rate_factor: f64,
        next: NextArrival,
    },
    /// Workers that keep I/Os outstanding.
    Io,
}

/// When whoever comes next will come.
#[derive(Default)]
pub struct NextArrival {
    /// What was left of the gap at some time, as long as it lasts at a factor of 1.
    pub(super) left_ns: f64,
    pub(super) since: Nanos,
    /// Its arrival, unless the rate is 0.
    pub(super) event: Option<EventId>,
}

pub(super) struct Streams {
    pub(super) cpu: Stream,
    pub(super) delay: Stream,
    pub(super) source: Stream,
}

/// What a burst costs the hypervisor of a VM's host.
pub(super) struct Overhead {
    /// Helper work for the I/Os of the burst, and for each nanosecond of its CPU time.
    pub(super) work_ns: f64,
    pub(super) activity: f64,
    /// Interrupt time for the I/Os.
    pub(super) interrupt_ns: f64,
}

/// Worlds of the hypervisor that work for a VM's processes after their CPU bursts.
pub(super) struct Helpers {
    pub(super) worlds: Span<WorldId>,
    /// The process that each works for.
    pub(super) current: Vec<Option<ProcessId>>,
    pub(super) idle: Vec<usize>,
    pub(super) requests: VecDeque<Request>,
}

/// Work that a helper world does for a process: the process's delay begins when it is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) process: ProcessId,
    pub(super) work_ns: f64,
}

/// What is measured of one VM.
pub struct Measured {
    pub runnable: TimeAverage,
    pub responses: Histogram,
    /// I/Os of a VM without virtual disks.
    pub ios: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Think,
    Compute,
    Delay,
    /// Its VM has been powered off.
    Gone,
}

/// Of the pages that a burst may miss, those that have been looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookedFor {
    None,
    /// Those that the guest has paged out.
    Guests,
    All,
}

/// A session of a closed workload, one transaction of an open one, or a worker of a generator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) vm: VmId,
    pub(super) phase: Phase,
    /// What of its burst's misses has been looked for.
    pub(super) looked_for: LookedFor,
    pub(super) bursts_left: u32,
    /// By what factor each of its transaction's rounds has more work and I/O than others, and more delay.
    pub(super) work: f32,
    pub(super) delay: f32,
    /// Its vCPU, now or last.
    pub(super) vcpu: u32,
    pub(super) started: Nanos,
    /// Work left of this burst, in nanoseconds alone on a core at the reference clock; while it is the current process
    /// of its vCPU, the vCPU's world has it instead.
    pub(super) remaining_ns: f64,
    /// Work of the whole burst.
    pub(super) burst_ns: f64,
    /// Its number in its VM.
    pub(super) session: u32,
}

impl Guests {
    pub fn vms(&self) -> &Table<VmId, Vm> {
        &self.vms
    }

    /// The VM and vCPU that a process is on, now or last.
    pub fn vcpu_of(&self, process: ProcessId) -> Vcpu {
        let Process { vm, vcpu, .. } = self.processes[process];
        let index = vcpu as usize;
        Vcpu { vm, index }
    }

    /// Whether the VM of a process has been powered off since the process began.
    pub fn is_gone(&self, process: ProcessId) -> bool {
        self.processes[process].phase == Phase::Gone
    }

    /// The number of a process in its VM.
    pub fn session(&self, process: ProcessId) -> u32 {
        self.processes[process].session
    }

    /// A transaction of a VM took `response_ns`.
    pub fn record_response(&mut self, vm: VmId, response_ns: Nanos) {
        self.vms[vm].measured.responses.record(response_ns);
    }

    /// CPU work of a VM, in nanoseconds alone on a core at the reference clock: begun so far, and of that not done yet.
    /// `current` says what is left to a vCPU.
    pub fn work(&self, vm: VmId, current: impl Fn(Vcpu) -> f64) -> (f64, f64) {
        let computing = self.processes.ids().filter(|&id| {
            let process = &self.processes[id];
            process.vm == vm && process.phase == Phase::Compute
        });
        let left = computing.map(|id| {
            let vcpu = self.vcpu_of(id);
            match self.current(vcpu) == Some(id) {
                true => current(vcpu),
                false => self.processes[id].remaining_ns,
            }
        });
        (self.vms[vm].work_begun_ns, left.sum())
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        for vm in self.vms.iter_mut() {
            vm.measured.runnable.reset(now);
            vm.measured.responses.reset();
            vm.measured.ios = 0.0;
        }
    }
}

impl Vm {
    /// Processes in progress by the count of their arrivals, and runnable by the guest's.
    pub fn processes(&self) -> (usize, usize) {
        let pending: usize = self.pending.iter().map(Vec::len).sum();
        (self.in_progress, self.system.runnable() + pending)
    }

    /// Whether it serves whoever comes, so that what is in progress has no bound.
    pub fn is_open(&self) -> bool {
        matches!(self.arrivals, Arrivals::Open { .. })
    }

    /// Sessions of a closed population that are not switched off, and the mean of their think times in nanoseconds;
    /// `None` where they only compute, and are always in one place.
    pub fn sessions(&self) -> Option<(u32, f64)> {
        match &self.arrivals {
            Arrivals::Closed { think, active, .. } => {
                let only_compute = think.mean() + self.delay.mean() + self.ios_per_burst <= 0.0;
                (!only_compute).then(|| (*active, think.mean()))
            }
            _ => None,
        }
    }

    /// CPU bursts of a transaction.
    pub fn bursts_per_transaction(&self) -> u32 {
        self.bursts
    }

    /// vCPUs that the guest sees busy.
    pub fn busy(&self) -> usize {
        self.system.busy()
    }

    /// vCPUs that are busy once one more process has become runnable.
    pub(super) fn busy_with_another(&self) -> usize {
        self.vcpus.min(self.busy() + 1)
    }
}

/// What follows when the timer of a process ends.
#[derive(Clone, Copy, Debug)]
pub enum Timer {
    /// Nothing beyond the guest.
    Nothing,
    /// A worker of a generator looks for an I/O.
    Worker,
    /// Its delay is over.
    DelayOver,
}

/// What follows when the CPU burst of a process ends.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// What its vCPU does.
    pub next: Next,
    /// The process, if its I/Os or its delay begin at once.
    pub delayed: Option<ProcessId>,
}
