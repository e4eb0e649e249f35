//! The wire: every event goes to the component that it is for, and what comes of it to the others.
//!
//! Processors, guests, storage and faults do not know each other. This file sees them all, and so does `life.rs`, by
//! which VMs stop, start and change hosts. What one of them wants of another it returns or replies, and that is acted
//! on at once; what can wait until the event at hand is done with is a signal of the clock.

use crate::clock::{self, Clock, Event, Signal};
use crate::cpu::{Due, Kind, Processors, World};
use crate::error::RunError;
use crate::faults::{Action, Faults, HostChange, Part};
use crate::guest::{Ended, Guests, Timer};
use crate::ids::{HostId, PoolId, ProcessId, VmId, WorldId};
use crate::lives::Lives;
use crate::measure::{Observed, Recorder, Replication};
use crate::movement::{Machines, Movement, Order};
use crate::plan::Blueprint;
use crate::reclaim::Reclaim;
use crate::storage::{HostState, Reply, Storage, What};
use crate::vcpu::Vcpu;
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::State;

/// Events between two progress reports: hundredths of a second.
const EVENTS_UNTOLD: u32 = 1 << 14;

/// One run of a scenario.
pub struct Simulation {
    pub clock: Clock,
    pub cpu: Processors,
    pub guests: Guests,
    pub storage: Storage,
    pub faults: Faults,
    pub lives: Lives,
    pub movement: Movement,
    pub reclaim: Reclaim,
    pub recorder: Recorder,
    /// What VMs are made from when they come to another host.
    pub blueprint: Blueprint,
    /// Why the run is given up.
    pub failure: Option<RunError>,
}

/// All components, for reading; a recorder of the same simulation can be written to meanwhile.
macro_rules! observed {
    ($of:ident) => {
        Observed {
            now: $of.clock.now,
            cpu: &$of.cpu,
            guests: &$of.guests,
            storage: &$of.storage,
            faults: &$of.faults,
            lives: &$of.lives,
            movement: &$of.movement,
            reclaim: &$of.reclaim,
        }
    };
}

impl Simulation {
    /// Runs to the end.
    pub fn run(mut self, mut watch: impl FnMut(Observed<'_>)) -> Result<Replication, RunError> {
        while self.next_event()?.is_some() {
            watch(self.observed());
        }
        Ok(self.finish())
    }

    /// Runs to the end, and tells the time now and then, and at the end. There is one such loop, so that all of it is
    /// inlined.
    pub fn told_run(mut self, tell: &mut dyn FnMut(Nanos)) -> Result<Replication, RunError> {
        loop {
            for _ in 0..EVENTS_UNTOLD {
                if self.next_event()?.is_none() {
                    tell(self.clock.end);
                    return Ok(self.finish());
                }
            }
            tell(self.clock.now);
        }
    }

    /// The results, at the end.
    pub fn finish(mut self) -> Replication {
        self.clock.now = self.clock.end;
        self.cpu.close_all(self.clock.now);
        self.reclaim.close(self.clock.now);
        self.recorder.finish(observed!(self), self.clock.events())
    }

    /// All components, for reading.
    pub fn observed(&self) -> Observed<'_> {
        observed!(self)
    }

    /// Handles the next event and what follows from it at once; `None` at the end.
    #[inline(always)]
    pub fn next_event(&mut self) -> Result<Option<Event>, RunError> {
        let Some(event) = self.clock.next() else {
            return Ok(None);
        };
        self.handle(event);
        self.deliver_signals();
        if self.cpu.bandwidth_matters {
            self.cpu.share_memory(self.host_of(event), &mut self.clock);
        }
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(Some(event)),
        }
    }

    fn handle(&mut self, event: Event) {
        let (guests, clock) = (&mut self.guests, &mut self.clock);
        match event {
            Event::Cpu { host, cpu } => self.on_cpu(host, cpu as usize),
            Event::Process(process) => self.on_process(process),
            Event::Io(io) => {
                self.storage.on_io(io, clock);
                self.answer();
            }
            Event::Interrupt(controller) => {
                self.storage.on_interrupt(controller, clock);
                self.answer();
            }
            Event::Arrival(vm) => self.failure = guests.on_arrival(vm, clock).err(),
            Event::Cosched(vm) => self.cpu.on_cosched(vm, guests, clock),
            Event::Limit(vm) => self.cpu.on_limit(vm, guests, clock),
            Event::Throttle(vm) => self.on_throttle(vm),
            Event::BalanceThreads(host) => self.cpu.on_balance_threads(host, guests, clock),
            Event::BalanceHost(host) => self.cpu.on_balance_host(host, guests, clock),
            Event::LoadStep { vm, step } => guests.on_load_step(vm, step as usize, clock),
            Event::Reclaim(host) => self.on_reclaim(host),
            Event::Failure(index) => self.on_failure(index),
            Event::Detect(pool) => {
                self.storage.on_detect(pool, clock);
                self.answer();
            }
            Event::Quota { pool, queue } => {
                self.storage.renew_quota(pool, queue as usize, clock);
                self.answer();
            }
            Event::Movement(due) => self.on_movement(due),
            Event::StartMeasuring | Event::Sample | Event::Observe => self.measure(event),
        }
    }

    /// The one host that an event concerns; `None` if there may be several.
    fn host_of(&self, event: Event) -> Option<HostId> {
        let host_of_vm = |vm: VmId| Some(self.guests.vms()[vm].host);
        match event {
            Event::Cpu { host, .. } | Event::BalanceThreads(host) | Event::BalanceHost(host) | Event::Reclaim(host) => {
                Some(host)
            }
            Event::Process(process) => host_of_vm(self.guests.vcpu_of(process).vm),
            Event::Io(io) => self.storage.host_of(io),
            Event::Interrupt(controller) => Some(self.storage.host_of_controller(controller)),
            Event::Arrival(vm)
            | Event::Cosched(vm)
            | Event::Limit(vm)
            | Event::Throttle(vm)
            | Event::LoadStep { vm, .. } => host_of_vm(vm),
            Event::Failure(_)
            | Event::Detect(_)
            | Event::Quota { .. }
            | Event::Movement(_)
            | Event::StartMeasuring
            | Event::Sample
            | Event::Observe => None,
        }
    }

    pub fn deliver_signals(&mut self) {
        while let Some(signal) = self.clock.signal() {
            self.deliver(signal);
        }
    }

    fn deliver(&mut self, signal: Signal) {
        let (guests, clock) = (&mut self.guests, &mut self.clock);
        match signal {
            Signal::Wake(process) => {
                let is_held = self.cpu.is_held(guests.vcpu_of(process));
                if let Some(reaction) = guests.wake(process, is_held, clock.now) {
                    self.cpu.react(reaction, guests, clock);
                }
            }
            Signal::Run { world, work_ns } => {
                self.cpu.give(world, work_ns);
                self.cpu.wake(world, guests, clock);
            }
        }
    }

    fn measure(&mut self, event: Event) {
        let now = self.clock.now;
        match event {
            Event::StartMeasuring => {
                self.movement
                    .reset(&Moving::of(&self.cpu, &self.guests, &self.storage, &self.reclaim, now));
                self.cpu.reset(now);
                self.guests.reset(now);
                self.storage.reset(now);
                self.faults.reset(now);
                self.lives.reset(now);
                self.reclaim.reset(now);
            }
            _ => self.cpu.close_all(now),
        }
        self.recorder.on(event, observed!(self), &mut self.clock);
    }

    // ---- work

    /// Something is due on a logical CPU: its world's work is done, the guest's slice on it is over, or its own slice.
    fn on_cpu(&mut self, host: HostId, cpu: usize) {
        let (world, due) = self.cpu.due(host, cpu, &self.clock);
        match due {
            Due::Work => {
                if !self.work_done(world) {
                    return self.cpu.sleep(world, &mut self.guests, &mut self.clock);
                }
            }
            Due::GuestSlice(vcpu) => {
                let work = self.guests.next_slice(vcpu, self.cpu.worlds()[world].work_ns);
                self.cpu.switch(vcpu, work);
            }
            Due::Slice => {}
        }
        self.cpu.go_on(world, &mut self.guests, &mut self.clock);
    }

    /// The work of a world is done: whoever gave it gives it the next. `false` if there is none.
    fn work_done(&mut self, world: WorldId) -> bool {
        let next = match self.cpu.worlds()[world].kind {
            Kind::Vcpu(vcpu) => {
                if self.reclaim.may_miss(vcpu.vm)
                    && let Some(goes_on) = self.miss(vcpu)
                {
                    return goes_on;
                }
                match self.next_burst(vcpu) {
                    Some(work_ns) => Some(work_ns),
                    None => return self.end_burst(vcpu),
                }
            }
            Kind::Helper { vm, index } => {
                let process = self.guests.end_request(vm, index);
                self.begin_ios(process);
                self.guests.next_request(vm, index)
            }
            Kind::IoThread(thread) => self.storage.next_on_thread(thread, &mut self.clock),
            Kind::Sender => None,
            Kind::Service { pool, thread } => {
                let run_ns = self.cpu.worlds()[world].account.run_ns;
                self.storage.next_on_service(pool, thread, run_ns, &mut self.clock)
            }
        };
        if let Some(work_ns) = next {
            self.cpu.give(world, work_ns);
        }
        self.answer();
        next.is_some()
    }

    /// The process of a vCPU goes on without blocking, if it is a worker with another I/O or its part has a burst left.
    fn next_burst(&mut self, vcpu: Vcpu) -> Option<f64> {
        let Some(worker) = self.guests.worker_on(vcpu) else {
            return self.guests.takes_burst(vcpu).then(|| self.guests.next_burst(vcpu, 0.0));
        };
        let io_ns = self.storage.issue(vcpu.vm, worker, &mut self.clock);
        self.answer();
        io_ns.map(|io_ns| self.guests.next_burst(vcpu, io_ns))
    }

    /// The process of a vCPU blocks; whether the vCPU goes on with another.
    fn end_burst(&mut self, vcpu: Vcpu) -> bool {
        let Ended { next, delayed } = self.guests.end_burst(vcpu, &mut self.clock);
        let goes_on = self.cpu.go_on_with(vcpu, next);
        if let Some(process) = delayed {
            self.begin_ios(process);
        }
        goes_on
    }

    // ---- delays and I/Os

    /// The think time or delay of a process ends.
    fn on_process(&mut self, process: ProcessId) {
        let vm = self.guests.vcpu_of(process).vm;
        if self.faults.defer(self.guests.vms()[vm].host, Event::Process(process)) {
            return;
        }
        match self.guests.on_timer(process, &mut self.clock) {
            Timer::Nothing => {}
            Timer::Worker => {
                if let Some(io_ns) = self.storage.start_worker(vm, self.guests.session(process)) {
                    self.guests.start_worker(process, io_ns, &mut self.clock);
                }
            }
            Timer::DelayOver => self.end_delay(process),
        }
    }

    /// The hypervisor has done its part: the I/Os of a process begin, or the delay that stands for them.
    fn begin_ios(&mut self, process: ProcessId) {
        let (vm, work) = self.guests.begin_ios(process);
        if self.storage.begin_burst(vm, process, work, &mut self.clock) {
            self.answer();
        } else {
            self.begin_delay(process);
        }
    }

    fn begin_delay(&mut self, process: ProcessId) {
        if self.guests.begin_delay(process, &mut self.clock) {
            self.end_delay(process);
        }
    }

    fn end_delay(&mut self, process: ProcessId) {
        if let Some(interrupt_ns) = self.guests.interrupt_ns(process) {
            let vcpu = self.guests.vcpu_of(process);
            self.cpu.interrupt(vcpu, interrupt_ns, &mut self.clock);
        }
        self.guests.end_delay(process, &mut self.clock);
    }

    /// Does what storage has replied.
    #[inline(always)]
    pub fn answer(&mut self) {
        while let Some(reply) = self.storage.reply() {
            self.act_on(reply);
        }
    }

    fn act_on(&mut self, reply: Reply) {
        match reply {
            Reply::Run {
                world,
                work_ns,
                is_awake,
            } => {
                if is_awake {
                    self.cpu.keep_awake(world);
                }
                self.clock.run(world, work_ns);
            }
            Reply::WorkerReady { process, work_ns } => self.guests.start_worker(process, work_ns, &mut self.clock),
            Reply::Responded { vm, latency_ns } => self.guests.record_response(vm, latency_ns),
            Reply::Completed(process) => self.begin_delay(process),
            Reply::PageRead(fault) => self.on_page_read(fault),
            Reply::PagesWritten(host) => self.on_pages_written(host),
            Reply::Deferred { host, io } => {
                let is_deferred = self.faults.defer(host, Event::Io(io));
                debug_assert!(is_deferred, "storage and faults agree on which hosts are down");
            }
            Reply::Overloaded { vm, in_progress } => {
                let vm = self.guests.vms()[vm].name.clone();
                self.failure = Some(RunError::Overloaded { vm, in_progress });
            }
        }
    }

    // ---- faults

    /// An entry of the schedule of failures happens.
    fn on_failure(&mut self, index: u32) {
        let action = self.faults.action(index).clone();
        for &part in &action.parts {
            self.change(part, &action);
        }
        let what = What {
            parts: &action.what,
            fails: action.fails,
        };
        for pool in self.storage.pools().ids() {
            if action.parts.iter().any(|&part| self.concerns(part, pool)) {
                self.storage.reassess(pool, what, &mut self.clock);
                self.answer();
            }
        }
    }

    /// Whether a part matters to a pool.
    fn concerns(&self, part: Part, pool: PoolId) -> bool {
        match part {
            Part::Host(host) | Part::Link(host) => self.storage.pools()[pool].has_node(host),
            Part::Device(of, _) | Part::Joining(of, ..) | Part::Rack(of, _) | Part::Metadata(of, _) => of == pool,
            Part::HostPort(..) | Part::ArrayPort(..) => false,
        }
    }

    fn change(&mut self, part: Part, action: &Action) {
        let is_forever = action.fails && action.is_forever;
        match part {
            Part::Host(host) => self.change_host(host, action),
            Part::Link(host) => {
                self.faults.change_link(host, action.fails);
                self.tell_storage(host);
            }
            Part::Device(pool, device) => {
                self.storage.change_device(pool, device, action.fails, is_forever);
                if action.empties {
                    self.storage.empty_device(pool, device);
                }
            }
            Part::Joining(pool, first, count) => self.storage.join(pool, first..first + count),
            Part::Rack(pool, rack) => {
                let hosts: Vec<HostId> = self.storage.pools()[pool].hosts_in_rack(rack).collect();
                hosts.into_iter().for_each(|host| self.change_host(host, action));
            }
            Part::Metadata(pool, server) => self.storage.change_metadata_server(pool, server, action.fails),
            Part::HostPort(host, port) => {
                self.storage.change_host_port(host, port, action.fails, &mut self.clock);
                self.answer();
            }
            Part::ArrayPort(array, port) => {
                self.storage
                    .change_array_port(array, port, action.fails, &mut self.clock);
                self.answer();
            }
        }
    }

    fn change_host(&mut self, host: HostId, action: &Action) {
        let change = self.faults.change_host(host, action, self.clock.now);
        if change != HostChange::Nothing {
            let cpu = &self.cpu;
            let is_here = |vm: &VmId| cpu.is_placed(*vm) && cpu.groups()[*vm].host == host;
            self.faults.note_vms(cpu.groups().ids().filter(is_here));
        }
        self.tell_storage(host);
        if action.empties {
            self.storage.empty_host(host);
        }
        match change {
            HostChange::WentDown => {
                self.cpu.halt(host, &mut self.guests, &mut self.clock);
                self.movement.host_down(host, &mut self.clock);
                self.obey();
            }
            HostChange::CameUp => {
                self.faults.release(host, &mut self.clock);
                self.cpu.resume(host, &mut self.guests, &mut self.clock);
                self.movement.host_up(host, &mut self.clock);
                self.obey();
            }
            HostChange::Nothing => {}
        }
    }

    // ---- VMs that move and restart

    fn on_movement(&mut self, due: clock::Movement) {
        let machines = Moving::of(&self.cpu, &self.guests, &self.storage, &self.reclaim, self.clock.now);
        self.movement.on(due, &machines, &mut self.clock);
        self.obey();
    }

    /// Does what movement has ordered.
    fn obey(&mut self) {
        while let Some(order) = self.movement.order() {
            match order {
                Order::Stop(vm) => self.stop_vm(vm),
                Order::Place(vm, host) => self.place_vm(vm, host),
                Order::Start(vm) => self.start_vm(vm),
                Order::Pause(vm) => self.pause_vm(vm),
                Order::Resume(vm) => self.resume_vm(vm),
                Order::Throttle(vm, fraction) => self.throttle_vm(vm, fraction),
            }
        }
    }

    fn tell_storage(&mut self, host: HostId) {
        let faults = self.faults.host(host);
        let state = HostState {
            is_up: faults.is_up(),
            is_linked: faults.is_linked(),
            is_gone: faults.is_gone(),
        };
        self.storage.set_host(host, state);
    }
}

/// VMs and worlds as movement asks of them.
struct Moving<'s> {
    cpu: &'s Processors,
    guests: &'s Guests,
    storage: &'s Storage,
    reclaim: &'s Reclaim,
    now: Nanos,
}

impl<'s> Moving<'s> {
    fn of(cpu: &'s Processors, guests: &'s Guests, storage: &'s Storage, reclaim: &'s Reclaim, now: Nanos) -> Self {
        Self {
            cpu,
            guests,
            storage,
            reclaim,
            now,
        }
    }
}

impl Machines for Moving<'_> {
    fn run_ns(&self, vm: VmId) -> u64 {
        let vcpus = &self.cpu.worlds()[self.cpu.groups()[vm].vcpus];
        let of = |world: &World| {
            let open_ns = if world.state == State::Run {
                self.now - world.since
            } else {
                0
            };
            world.account.run_ns + open_ns
        };
        vcpus.iter().map(of).sum()
    }

    fn wanted_ns(&self, vm: VmId) -> u64 {
        let vcpus = &self.cpu.worlds()[self.cpu.groups()[vm].vcpus];
        let of = |world: &World| {
            let open_ns = if world.state == State::Wait {
                0
            } else {
                self.now - world.since
            };
            world.account.run_ns + world.account.ready_ns + world.account.costop_ns + open_ns
        };
        vcpus.iter().map(of).sum()
    }

    fn is_quiet(&self, vm: VmId) -> bool {
        self.guests.is_quiet(vm) && self.storage.is_quiet(vm) && self.reclaim.is_quiet(vm)
    }

    fn is_idle(&self, world: WorldId) -> bool {
        self.cpu.worlds()[world].state == State::Wait
    }
}
