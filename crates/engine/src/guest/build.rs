//! From a scenario to guests and their processes.

use super::guests::NextArrival;
use super::guests::{Arrivals, Guests, Helpers, Measured, Overhead, Streams, Vm};
use super::load::SIZE_UNIT;
use super::parallel::Parallel;
use crate::clock::{Clock, Event};
use crate::ids::{ProcessId, Span, Table, VmId, WorldId};
use crate::plan::VmPlan;
use hypertwin_cluster::{Service, sessions};
use hypertwin_kernel::{Draw, Histogram, TimeAverage};
use hypertwin_models::guest_system::{self, GuestSystem};
use std::collections::VecDeque;

fn nanos(service: &Service) -> f64 {
    service.mean.nanos() as f64
}

impl Guests {
    /// No VMs yet.
    pub fn new() -> Self {
        Self {
            vms: Table::new(),
            processes: Table::new(),
        }
    }

    /// Makes the guest of a VM and sets it going; returns its first process.
    pub fn add_vm(&mut self, plan: &VmPlan, helpers: Span<WorldId>, clock: &mut Clock) -> ProcessId {
        let (arrivals, sessions) = arrivals(plan);
        let vm = vm(plan, arrivals, sessions, helpers);
        self.vms.push(vm);
        let first = self.start(plan.vm, clock);
        self.start_load(plan.vm, clock);
        first
    }

    fn start_load(&mut self, id: VmId, clock: &mut Clock) {
        let vm = &mut self.vms[id];
        if let Arrivals::Open { gap, rate_factor, next } = &mut vm.arrivals {
            // the gap is under way
            next.left_ns = gap.residual(&mut vm.streams.source) as f64;
            next.arrange(id, *rate_factor, clock);
        }
        for (step, (at, _)) in vm.steps.iter().enumerate() {
            let step = step as u32;
            clock.at(*at, Event::LoadStep { vm: id, step });
        }
    }
}

/// Where the transactions of a VM come from, and how many processes it begins with.
fn arrivals(plan: &VmPlan) -> (Arrivals, u32) {
    use hypertwin_cluster::Arrivals as Spec;
    let spec = plan.spec;
    let first = spec.load_steps.first().filter(|step| step.at.nanos() == 0);
    let load = spec.load * first.map_or(1.0, |step| step.factor);
    match &plan.workload.arrivals {
        Spec::Closed { population, think } => {
            let arrivals = Arrivals::Closed {
                think: Draw::new(nanos(think), think.cv),
                population: *population,
                active: sessions(*population, load),
            };
            (arrivals, sessions(*population, spec.peak_load()))
        }
        Spec::Open { rate, cv } => {
            let arrivals = Arrivals::Open {
                gap: Draw::new(1e9 / rate.per_second(), *cv),
                rate_factor: load,
                next: NextArrival::default(),
            };
            (arrivals, 0)
        }
        Spec::Parallel { parts } => {
            let parallel = Parallel::new(*parts, &plan.numa.vpds, plan.workload.bursts);
            (Arrivals::Parallel(parallel), spec.vcpus)
        }
        Spec::Io { workers, .. } => (Arrivals::Io, workers.unwrap_or(spec.vcpus)),
    }
}

fn vm(plan: &VmPlan, arrivals: Arrivals, sessions: u32, helpers: Span<WorldId>) -> Vm {
    let (spec, workload) = (plan.spec, plan.workload);
    let bursts = f64::from(workload.bursts);
    let overhead = Overhead::of(plan);
    // Of a parallel transaction each vCPU does its part; half of a copy's work is for the read, half for the write.
    let parts = match arrivals {
        Arrivals::Parallel(_) => f64::from(spec.vcpus),
        Arrivals::Io => f64::from(workload.ends()),
        Arrivals::Closed { .. } | Arrivals::Open { .. } => 1.0,
    };
    let steps = spec.load_steps.iter();
    Vm {
        name: plan.name.to_owned(),
        group: plan.group,
        host: plan.host,
        vcpus: plan.vcpus(),
        is_on: false,
        system: GuestSystem::new(plan.vcpus()),
        time_slice_ns: spec.guest.time_slice.nanos(),
        pending: vec![Vec::new(); plan.vcpus()],
        arrivals,
        load: spec.load,
        steps: steps.map(|step| (step.at.nanos(), step.factor)).collect(),
        streams: Streams {
            cpu: plan.stream("cpu"),
            delay: plan.stream("delay"),
            source: plan.stream("source"),
        },
        bursts: workload.bursts,
        cpu_burst: Draw::new(nanos(&workload.cpu) / bursts / parts, workload.cpu.cv),
        stretch: guest_system::stretch(plan.vcpus(), workload.scaling.unwrap_or_default()),
        delay: Draw::new(nanos(&workload.delay) / bursts, workload.delay.cv),
        size: (workload.transaction_cv > 0.0).then(|| {
            (
                Draw::new(SIZE_UNIT, workload.transaction_cv),
                plan.stream("transaction"),
            )
        }),
        ios_per_burst: plain_ios(plan) / bursts,
        overhead,
        helpers: Helpers::new(helpers),
        parked: Vec::new(),
        free: Vec::new(),
        sessions,
        in_progress: 0,
        work_begun_ns: 0.0,
        cpu_per_work: plan.cpu_per_work(),
        owed_ns: 0.0,
        measured: Measured {
            runnable: TimeAverage::new(),
            responses: Histogram::new(),
            ios: 0.0,
        },
    }
}

/// I/Os of a transaction that do not go down the path of a virtual disk, where their work is counted.
fn plain_ios(plan: &VmPlan) -> f64 {
    if plan.spec.has_disks(plan.workload) {
        0.0
    } else {
        plan.workload.ios
    }
}

impl Overhead {
    /// On the host of a plan.
    pub(super) fn of(plan: &VmPlan) -> Self {
        let [cpu_per_io_ns, interrupt_share, activity] = plan.overhead().map_or([0.0; 3], |overhead| {
            let shares = [overhead.interrupt_share_pct, overhead.activity_pct].map(|pct| pct / 100.0);
            [overhead.cpu_per_io.nanos() as f64, shares[0], shares[1]]
        });
        let io_work_ns = plain_ios(plan) / f64::from(plan.workload.bursts) * cpu_per_io_ns;
        Self {
            work_ns: io_work_ns * (1.0 - interrupt_share),
            activity,
            interrupt_ns: io_work_ns * interrupt_share,
        }
    }
}

impl Helpers {
    /// Idle ones.
    pub(super) fn new(worlds: Span<WorldId>) -> Self {
        Self {
            worlds,
            current: vec![None; worlds.len()],
            idle: (0..worlds.len()).rev().collect(),
            requests: VecDeque::new(),
        }
    }
}
