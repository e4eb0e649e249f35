//! The event loop, and what a process does: compute, ask the hypervisor, wait, think.

use crate::clock::{Clock, Event, Signal};
use crate::faults::Schedule;
use crate::ids::{Id, ProcessId, Table, VmId, WorldId};
use crate::state::{Host, Kind, Phase, Process, Request, Source, Vm, World};
use crate::storage::{Reply, Storage};
use crate::{Replication, RunError};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::State;
use hypertwin_models::coscheduling::Decisions;
use hypertwin_models::guest_system::Wakeup;

/// Transactions in progress in one VM beyond which a run is given up.
const MOST_IN_PROGRESS: usize = 1_000_000;

/// One run of a scenario.
pub(crate) struct Simulation {
    pub clock: Clock,
    pub hosts: Vec<Host>,
    pub worlds: Vec<World>,
    pub vms: Vec<Vm>,
    pub processes: Table<ProcessId, Process>,
    pub storage: Storage,
    pub schedule: Schedule,
    /// Kept between co-scheduling checks, so that they allocate nothing.
    pub decisions: Decisions,
    pub recorder: crate::recorder::Recorder,
    pub failure: Option<RunError>,
    /// Whether any VM draws so much memory bandwidth that it matters.
    pub bandwidth_matters: bool,
}

impl Simulation {
    /// Runs to the end.
    pub fn run(mut self, mut watch: impl FnMut(&Self)) -> Result<Replication, RunError> {
        while self.next_event()?.is_some() {
            watch(&self);
        }
        self.clock.now = self.clock.end;
        Ok(self.into_replication())
    }

    /// Handles the next event and what follows from it at once; `None` at the end.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<Event>, RunError> {
        let Some(event) = self.clock.next() else {
            return Ok(None);
        };
        self.handle(event);
        while let Some(signal) = self.clock.signal() {
            match signal {
                Signal::Wake(process) => self.deliver(process),
                Signal::Run(world) => self.wake_world(world.index()),
            }
        }
        if self.bandwidth_matters {
            match self.host_of(event) {
                Some(host) => self.share_memory(host),
                None => (0..self.hosts.len()).for_each(|host| self.share_memory(host)),
            }
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(Some(event)),
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Cpu { host, cpu } => self.on_cpu(host.index(), cpu as usize),
            Event::Process(process) => self.on_process(process),
            Event::Io(io) => {
                self.storage.on_io(io, &mut self.clock);
                self.act_on_replies();
            }
            Event::Arrival(vm) => self.on_arrival(vm.index()),
            Event::Cosched(vm) => self.on_cosched(vm.index()),
            Event::Limit(vm) => self.on_limit(vm.index()),
            Event::BalanceThreads(host) => self.on_balance_threads(host.index()),
            Event::BalanceHost(host) => self.on_balance_host(host.index()),
            Event::LoadStep { vm, step } => self.on_load_step(vm.index(), step as usize),
            Event::Failure(index) => self.on_failure(index as usize),
            Event::Detect(pool) => {
                self.storage.on_detect(pool, &mut self.clock);
                self.act_on_replies();
            }
            Event::StartMeasuring => self.start_measuring(),
            Event::Sample => self.sample(),
            Event::Observe => self.observe(),
        }
    }

    /// The one host that an event concerns; `None` if there may be several.
    fn host_of(&self, event: Event) -> Option<usize> {
        match event {
            Event::Cpu { host, .. } | Event::BalanceThreads(host) | Event::BalanceHost(host) => Some(host.index()),
            Event::Process(process) => Some(self.vms[self.processes[process].vm as usize].host),
            Event::Io(io) => self.storage.host_of(io).map(Id::index),
            Event::Arrival(vm) | Event::Cosched(vm) | Event::Limit(vm) | Event::LoadStep { vm, .. } => {
                Some(self.vms[vm.index()].host)
            }
            Event::Failure(_) | Event::Detect(_) | Event::StartMeasuring | Event::Sample | Event::Observe => None,
        }
    }

    // ---- processes

    /// The think time or delay of `process` ends.
    fn on_process(&mut self, process: ProcessId) {
        let host = self.vms[self.processes[process].vm as usize].host;
        if self.put_off(host, Event::Process(process)) {
            return;
        }
        match self.processes[process].phase {
            Phase::Think => self.begin_transaction(process),
            Phase::Delay => self.end_delay(process),
            Phase::Compute => debug_assert!(false, "a computing process has no timer"),
        }
    }

    fn begin_transaction(&mut self, process: ProcessId) {
        let entry = &mut self.processes[process];
        let vm = &mut self.vms[entry.vm as usize];
        if let Source::Closed { active, .. } = vm.source
            && entry.session >= active
        {
            vm.parked.push(process);
            return;
        }
        match vm.source {
            Source::Parallel(_) => return self.join(process),
            Source::Io => {
                let (vm, session) = (VmId::new(entry.vm as usize), entry.session);
                if self.storage.start_worker(vm, session) {
                    self.start_worker(process);
                }
                return;
            }
            Source::Closed { .. } | Source::Open { .. } => {}
        }
        entry.started = self.clock.now;
        entry.bursts_left = vm.bursts;
        vm.in_progress += 1;
        self.begin_burst(process);
    }

    /// A worker has an I/O to handle.
    fn start_worker(&mut self, process: ProcessId) {
        self.vms[self.processes[process].vm as usize].in_progress += 1;
        self.begin_burst(process);
    }

    pub fn begin_burst(&mut self, process: ProcessId) {
        self.draw_burst(process);
        self.clock.wake(process);
    }

    /// The next CPU burst of `process` is this long.
    pub fn draw_burst(&mut self, process: ProcessId) {
        let entry = &mut self.processes[process];
        let vm = &mut self.vms[entry.vm as usize];
        let io_ns = match vm.source {
            Source::Io => self.storage.take_io(VmId::new(entry.vm as usize), entry.session),
            _ => 0.0,
        };
        let burst_ns = io_ns + vm.cpu_burst.sample(&mut vm.streams.cpu) as f64;
        entry.phase = Phase::Compute;
        entry.burst_ns = burst_ns;
        entry.remaining_ns = entry.burst_ns;
        vm.work_begun_ns += entry.burst_ns;
    }

    /// The wake-up of `process` reaches its last vCPU, or waits until that vCPU executes again.
    fn deliver(&mut self, process: ProcessId) {
        let entry = &self.processes[process];
        let (vm_index, last) = (entry.vm as usize, entry.vcpu as usize);
        let vm = &mut self.vms[vm_index];
        let world = &self.worlds[vm.first_world + last];
        if matches!(world.state, State::Ready | State::CoStop) {
            vm.pending[last].push(process);
            vm.measured.runnable.add(self.clock.now, 1.0);
            return;
        }
        vm.measured.runnable.add(self.clock.now, 1.0);
        self.wake_in_guest(process, vm_index, last);
    }

    /// The interrupts that waited for a vCPU are served now that it executes.
    pub fn deliver_pending(&mut self, vm_index: usize, vcpu: usize) {
        while let Some(process) = self.vms[vm_index].pending[vcpu].pop() {
            self.wake_in_guest(process, vm_index, vcpu);
        }
    }

    fn wake_in_guest(&mut self, process: ProcessId, vm_index: usize, last: usize) {
        let vm = &mut self.vms[vm_index];
        match vm.guest.wake(process.index() as u32, last) {
            Wakeup::Start(vcpu) => {
                vm.slice_left[vcpu] = vm.time_slice;
                self.processes[process].vcpu = vcpu as u32;
                let world = vm.first_world + vcpu;
                self.wake_world(world);
            }
            Wakeup::Wait(vcpu, first) => {
                let world = vm.first_world + vcpu;
                if first && self.worlds[world].state == State::Run {
                    let (host, cpu) = (self.worlds[world].host, self.worlds[world].cpu);
                    self.arm(host, cpu);
                }
            }
        }
    }

    /// The CPU burst of `process` is done.
    pub fn end_burst(&mut self, process: ProcessId) {
        let entry = &mut self.processes[process];
        let vm_index = entry.vm as usize;
        let vm = &mut self.vms[vm_index];
        vm.measured.runnable.add(self.clock.now, -1.0);
        if let Source::Io = vm.source {
            entry.phase = Phase::Think;
            vm.in_progress -= 1;
            return;
        }
        entry.bursts_left -= 1;
        entry.phase = Phase::Delay;
        if let Source::Parallel(_) = vm.source {
            self.join(process);
            return;
        }
        let work_ns = vm.helper_work_ns + vm.helper_activity * entry.burst_ns;
        if work_ns >= 1.0 {
            vm.requests.push_back(Request { process, work_ns });
            if let Some(helper) = vm.idle_helpers.pop() {
                self.start_request(helper);
                self.clock.run(WorldId::new(helper));
            }
        } else {
            self.begin_delay(process);
        }
    }

    /// Gives an idle helper world the next request. `false` if there is none.
    pub fn start_request(&mut self, helper: usize) -> bool {
        let world = &mut self.worlds[helper];
        let Kind::Helper { vm } = world.kind else { return false };
        let vm = &mut self.vms[vm];
        let Some(request) = vm.requests.pop_front() else {
            vm.idle_helpers.push(helper);
            return false;
        };
        world.remaining_ns = request.work_ns;
        world.request = Some(request.process);
        true
    }

    /// The hypervisor has done its part: the I/Os of `process` begin, or the delay that stands for them.
    pub fn begin_delay(&mut self, process: ProcessId) {
        let vm = &mut self.vms[self.processes[process].vm as usize];
        vm.measured.ios += vm.ios_per_burst;
        let vm = VmId::new(self.processes[process].vm as usize);
        if self.storage.begin_burst(vm, process, &mut self.clock) {
            self.act_on_replies();
        } else {
            self.wait_out_delay(process);
        }
    }

    /// The device, lock or network delay of `process` begins.
    pub fn wait_out_delay(&mut self, process: ProcessId) {
        let vm = &mut self.vms[self.processes[process].vm as usize];
        if vm.delay.mean() > 0.0 {
            let time = self.clock.now + vm.delay.sample(&mut vm.streams.delay);
            self.clock.at(time, Event::Process(process));
        } else {
            self.end_delay(process);
        }
    }

    fn end_delay(&mut self, process: ProcessId) {
        self.interrupt(process);
        if self.processes[process].bursts_left > 0 {
            self.begin_burst(process);
        } else {
            self.end_transaction(process);
        }
    }

    /// The completion of I/O interrupts whatever runs on the logical CPU of the process's vCPU.
    fn interrupt(&mut self, process: ProcessId) {
        let entry = &self.processes[process];
        let vm = &mut self.vms[entry.vm as usize];
        let interrupt_ns = vm.interrupt_ns;
        if interrupt_ns < 1.0 {
            return;
        }
        let (host_index, cpu) = (vm.host, self.worlds[vm.first_world + entry.vcpu as usize].cpu);
        let host = &mut self.hosts[host_index];
        if host.failures > 0 {
            return;
        }
        let used = interrupt_ns * host.clock_ratio;
        vm.measured.system_ns += used;
        host.system_ns += used;
        if host.occupancy.running(cpu).is_some() {
            host.cpus[cpu].interrupt_ns += interrupt_ns as u64;
            self.arm(host_index, cpu);
        } else {
            host.interrupts
                .add(interrupt_ns as u64, host.occupancy.sibling_busy(cpu));
        }
    }

    fn end_transaction(&mut self, process: ProcessId) {
        let entry = &mut self.processes[process];
        let vm_index = entry.vm as usize;
        let vm = &mut self.vms[vm_index];
        let started = entry.started;
        vm.in_progress -= 1;
        match &vm.source {
            Source::Closed { think, .. } => {
                entry.phase = Phase::Think;
                let time = self.clock.now + think.sample(&mut vm.streams.source);
                self.clock.at(time, Event::Process(process));
            }
            Source::Open { .. } => vm.free.push(process),
            Source::Parallel(_) | Source::Io => {}
        }
        self.record_response(vm_index, self.clock.now - started);
    }

    /// A transaction of a VM took `response`.
    pub fn record_response(&mut self, vm_index: usize, response: Nanos) {
        let vm = &mut self.vms[vm_index];
        match &mut vm.measured.distribution {
            Some(distribution) => distribution.record(response),
            None => self.recorder.distributions[vm.group].record(response),
        }
        vm.measured.all.add(response);
        vm.measured.sample.add(response);
        vm.measured.observation.add(response);
    }

    fn on_arrival(&mut self, vm_index: usize) {
        let vm = &mut self.vms[vm_index];
        let Source::Open { gap, rate_factor } = &vm.source else {
            return;
        };
        if *rate_factor <= 0.0 {
            return;
        }
        let next = self.clock.now + (gap.sample(&mut vm.streams.source) as f64 / rate_factor).round() as Nanos;
        if vm.in_progress >= MOST_IN_PROGRESS {
            self.failure = Some(RunError::Overloaded {
                vm: vm.name.clone(),
                in_progress: vm.in_progress,
            });
            return;
        }
        let process = vm.free.pop().unwrap_or_else(|| {
            let process = self.processes.push(Process::new(vm_index, vm.sessions, vm.vcpus));
            vm.sessions += 1;
            process
        });
        self.clock.at(next, Event::Arrival(VmId::new(vm_index)));
        self.begin_transaction(process);
    }

    /// From now on the load is `factor` times the VM's own.
    fn on_load_step(&mut self, vm_index: usize, step: usize) {
        let now = self.clock.now;
        let vm = &mut self.vms[vm_index];
        let factor = vm.load * vm.steps[step].1;
        match &mut vm.source {
            Source::Closed { population, active, .. } => {
                *active = sessions(*population, factor);
                let active = *active;
                let (resume, parked): (Vec<_>, Vec<_>) = vm
                    .parked
                    .iter()
                    .partition(|&&process| self.processes[process].session < active);
                vm.parked = parked;
                for process in resume {
                    self.clock.at(now, Event::Process(process));
                }
            }
            Source::Open { rate_factor, .. } => {
                let stopped = *rate_factor <= 0.0;
                *rate_factor = factor;
                if stopped && factor > 0.0 {
                    self.clock.at(now, Event::Arrival(VmId::new(vm_index)));
                }
            }
            Source::Parallel(_) | Source::Io => {}
        }
    }

    /// A vCPU's process is done with its burst: the guest picks the next, or the vCPU halts. `false` if it halts.
    pub fn next_process(&mut self, vm_index: usize, vcpu: usize) -> bool {
        let vm = &mut self.vms[vm_index];
        let Some(done) = vm.guest.current(vcpu).map(process) else {
            return false;
        };
        if let Source::Parallel(parallel) = &mut vm.source
            && parallel.take(vcpu)
        {
            self.draw_burst(done);
            return true;
        }
        if let Source::Io = vm.source
            && self.issue(done)
        {
            self.draw_burst(done);
            return true;
        }
        let vm = &mut self.vms[vm_index];
        let next = vm.guest.finish(vcpu).map(process);
        if let Some(process) = next {
            vm.slice_left[vcpu] = vm.time_slice;
            self.processes[process].vcpu = vcpu as u32;
        }
        self.end_burst(done);
        next.is_some()
    }

    /// A worker has computed for its I/O, which begins; whether it takes another one.
    fn issue(&mut self, process: ProcessId) -> bool {
        let Process { vm, session, .. } = self.processes[process];
        let goes_on = self.storage.issue(VmId::new(vm as usize), session, &mut self.clock);
        self.act_on_replies();
        goes_on
    }

    /// Does what storage has replied.
    pub fn act_on_replies(&mut self) {
        while let Some(reply) = self.storage.reply() {
            match reply {
                Reply::Run { world, work_ns } => {
                    self.worlds[world.index()].remaining_ns = work_ns;
                    self.clock.run(world);
                }
                Reply::WorkerReady(process) => self.start_worker(process),
                Reply::Responded { vm, latency_ns } => self.record_response(vm.index(), latency_ns),
                Reply::Completed(process) => self.wait_out_delay(process),
                Reply::Deferred { host, io } => self.hosts[host.index()].put_off.push(Event::Io(io)),
                Reply::Overloaded { vm, in_progress } => {
                    let vm = self.vms[vm.index()].name.clone();
                    self.failure = Some(RunError::Overloaded { vm, in_progress });
                }
            }
        }
    }

    pub fn vcpu_of(&self, world: usize) -> Option<(usize, usize)> {
        match self.worlds[world].kind {
            Kind::Vcpu { vm, index } => Some((vm, index)),
            Kind::Helper { .. } | Kind::Controller { .. } | Kind::Service { .. } => None,
        }
    }
}

/// The process that a guest knows by its number.
pub(crate) fn process(number: u32) -> ProcessId {
    ProcessId::new(number as usize)
}

/// Sessions of a closed population at a load.
pub(crate) fn sessions(population: u32, load: f64) -> u32 {
    (f64::from(population) * load).round() as u32
}

impl Process {
    /// An idle process; `session` decides its first vCPU.
    pub fn new(vm: usize, session: u32, vcpus: usize) -> Self {
        Self {
            vm: vm as u32,
            phase: Phase::Think,
            bursts_left: 0,
            vcpu: session % vcpus as u32,
            started: 0,
            remaining_ns: 0.0,
            burst_ns: 0.0,
            session,
        }
    }
}
