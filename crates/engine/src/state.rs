//! What the engine keeps of hosts, worlds, virtual machines and processes while it simulates.

use crate::clock::Event;
use crate::ids::{ControllerId, PoolId, ProcessId};
use crate::memory::{HostMemory, VmMemory};
use crate::parallel::Parallel;
use crate::power::Power;
use hypertwin_kernel::{Draw, EventId, Histogram, Nanos, Stream, TimeAverage};
use hypertwin_models::accounting::{Account, ProcessorTime, State};
use hypertwin_models::guest_system::GuestSystem;
use hypertwin_models::scheduler::{CoschedulingThresholds, CpuScheduler};
use hypertwin_models::topology::{Occupancy, WorldId};
use std::collections::VecDeque;

/// One logical CPU.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// The running world (global index); only meaningful while the occupancy says that one runs.
    pub world: usize,
    /// Until when its time is accounted.
    pub since: Nanos,
    /// When the world's slice ends.
    pub slice_end: Nanos,
    /// Interrupt time that still has to be served before the world goes on.
    pub interrupt_ns: u64,
    /// Speed that memory leaves its vCPU, over the speed with all memory local and enough of its bandwidth.
    pub memory_speed: f64,
    /// Whether memory bandwidth matters to its vCPU.
    pub draws: bool,
    pub event: Option<EventId>,
    /// Busy time since measuring began.
    pub time: ProcessorTime,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            world: 0,
            since: 0,
            slice_end: 0,
            interrupt_ns: 0,
            memory_speed: 1.0,
            draws: false,
            event: None,
            time: ProcessorTime::default(),
        }
    }
}

pub struct Host {
    pub name: String,
    pub scheduler: Box<dyn CpuScheduler>,
    pub occupancy: Occupancy,
    pub cpus: Vec<Cpu>,
    /// Global indices of this host's worlds.
    pub worlds: Vec<usize>,
    /// Interrupts that were served on idle logical CPUs.
    pub interrupts: ProcessorTime,
    pub memory: HostMemory,
    /// vCPUs at home on each node at power-on.
    pub committed: Vec<f64>,
    pub smt_yield: f64,
    /// Running clock over nominal clock.
    pub clock_ratio: f64,
    pub nominal_mhz: f64,
    /// Rate at which a world is charged while its sibling is busy.
    pub shared_charge: f64,
    /// Charged time of VMkernel interrupts.
    pub system_ns: f64,
    /// Worlds in a ready queue.
    pub queued: usize,
    /// Groups that the scheduler knows.
    pub groups: usize,
    pub balancing_threads: bool,
    pub balancing_host: bool,
    /// Failures at present: of itself and of its network; and how many of its own will never end.
    pub failures: u32,
    pub link_failures: u32,
    pub gone: u32,
    /// What would have happened to its machines while it is off, and happens when it is on again.
    pub put_off: Vec<Event>,
}

impl Host {
    /// Busy time of all its processors.
    pub fn time(&self) -> ProcessorTime {
        self.cpus.iter().fold(self.interrupts, |mut sum, cpu| {
            sum.threads_ns += cpu.time.threads_ns;
            sum.core_halves_ns += cpu.time.core_halves_ns;
            sum
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Vcpu {
        vm: usize,
        index: usize,
    },
    Helper {
        vm: usize,
    },
    /// Works for a virtual controller.
    Controller {
        index: ControllerId,
    },
    /// Serves devices of a pool.
    Service {
        pool: PoolId,
        thread: usize,
    },
}

/// A schedulable entity.
pub struct World {
    pub host: usize,
    pub local: WorldId,
    pub kind: Kind,
    pub power: Power,
    pub state: State,
    pub since: Nanos,
    pub account: Account,
    /// Its logical CPU, now or last.
    pub cpu: usize,
    /// Held back by a CPU limit.
    pub limited: bool,
    /// The scheduler has not been told yet that it woke.
    pub asleep: bool,
    /// Ready because it just woke from idle.
    pub waking: bool,
    /// Ready and co-stop time before `since`, for co-scheduling.
    pub lag_ns: u64,
    /// A helper's work that is left, in nanoseconds alone on a core at nominal clock; and the process it works for.
    pub remaining_ns: f64,
    pub request: Option<ProcessId>,
    /// Time that it was busy or wanted to be when the host was last balanced.
    pub balanced_ns: u64,
}

/// The CPU limit of a VM: a budget per period, as the bandwidth control of Linux cgroups keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Budget per period, in core-nanoseconds at nominal clock.
    pub quota_ns: f64,
    /// What is left; negative after overrun, which the next period pays.
    pub left_ns: f64,
    pub checks: u32,
}

/// Work that a helper world does for a process: the process's delay begins when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub process: ProcessId,
    pub work_ns: f64,
}

/// Where the sessions of a VM come from.
pub enum Source {
    Parallel(Parallel),
    Closed {
        think: Draw,
        population: u32,
        active: u32,
    },
    Open {
        gap: Draw,
        rate_factor: f64,
    },
    /// Workers that keep I/Os outstanding.
    Io,
}

pub struct Streams {
    pub cpu: Stream,
    pub delay: Stream,
    pub source: Stream,
}

pub struct Vm {
    pub name: String,
    pub group: usize,
    pub host: usize,
    /// Worlds of the vCPUs: `first_world..first_world + vcpus`.
    pub first_world: usize,
    pub vcpus: usize,
    /// Worlds of the helpers and after them of the controllers: `first_helper..first_helper + helpers`.
    pub first_helper: usize,
    pub helpers: usize,
    pub idle_helpers: Vec<usize>,
    pub requests: VecDeque<Request>,
    pub guest: GuestSystem,
    /// Run time that is left to the current process of each vCPU while others wait.
    pub slice_left: Vec<u64>,
    pub time_slice: u64,
    /// Processes whose wake-up interrupt waits until the vCPU executes again.
    pub pending: Vec<Vec<ProcessId>>,
    pub source: Source,
    pub load: f64,
    pub steps: Vec<(Nanos, f64)>,
    pub streams: Streams,
    pub bursts: u32,
    pub cpu_burst: Draw,
    pub delay: Draw,
    /// Work of a vCPU per time: alone on its core, and with a busy sibling.
    pub speed: [f64; 2],
    pub memory: VmMemory,
    /// I/Os of one burst, helper work for them, and interrupt time for them.
    pub ios_per_burst: f64,
    pub helper_work_ns: f64,
    pub helper_activity: f64,
    pub interrupt_ns: f64,
    pub limit: Option<Limit>,
    pub throttled: bool,
    pub cosched: Option<CoschedulingThresholds>,
    pub cosched_armed: bool,
    /// Largest lag of the vCPUs that are not idle, where one that wakes joins; `None`: to be found.
    pub slowest_ns: Option<u64>,
    /// Sessions that the load has switched off.
    pub parked: Vec<ProcessId>,
    /// Processes of an open workload that are free for the next arrival.
    pub free: Vec<ProcessId>,
    /// Processes made so far.
    pub sessions: u32,
    pub in_progress: usize,
    /// Work of all CPU bursts begun so far, in nanoseconds alone on a core at the reference clock.
    pub work_begun_ns: f64,
    pub measured: Measured,
}

/// What is measured of one VM.
pub struct Measured {
    pub runnable: TimeAverage,
    /// Distribution of response times; `None` in scenarios of very many VMs, where only groups keep one.
    pub distribution: Option<Histogram>,
    /// All response times since measuring began.
    pub all: Responses,
    pub system_ns: f64,
    pub ios: f64,
    /// Bytes that crossed memory: the own node's, and another's.
    pub traffic: [f64; 2],
    /// Fraction of its memory that is on the home nodes of its clients.
    pub local: TimeAverage,
    /// Sum and number of response times since the last sample, and since the last observation.
    pub sample: Responses,
    pub observation: Responses,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    pub sum_ns: u128,
    pub count: u64,
}

impl Responses {
    pub fn add(&mut self, ns: Nanos) {
        self.sum_ns += u128::from(ns);
        self.count += 1;
    }

    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum_ns as f64 / self.count as f64 / 1e6
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Think,
    Compute,
    Delay,
}

/// A session of a closed workload, or one transaction of an open one.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pub vm: u32,
    pub phase: Phase,
    pub bursts_left: u32,
    pub vcpu: u32,
    pub started: Nanos,
    /// Work left of this burst, in nanoseconds alone on a core at the reference clock.
    pub remaining_ns: f64,
    /// Work of the whole burst.
    pub burst_ns: f64,
    /// Number of the session in its VM.
    pub session: u32,
}
