//! The guest's side of storage: from the guest's driver to the edge of the host, and back to the guest.
//!
//! An I/O follows the [`Route`] of its virtual disk. It takes a slot in one queue depth after another, waits where
//! there is none, and is worked on by the world of its virtual controller. At the end of its route it leaves for its
//! [`Target`]; when it is back, it gives all slots back, and the guest hears of it by the next interrupt.
//!
//! **Boundary.** Knows no array and no pool beyond the target's number: [`super::Storage`] hands an I/O over that
//! leaves. **Invariant.** An I/O holds exactly one slot of each depth that it has passed, until it completes.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | an I/O's way along its route, and its completion |
//! | `vm.rs` | a VM: what its I/Os are like, and what is measured |
//! | `vdisk.rs` | a virtual disk, its route and its target: what to extend for another transport |
//! | `worker.rs` | threads of a generator |
//! | `controller.rs`, `io_thread.rs` | a virtual controller: its queues and interrupts; the worlds that work for it |
//! | `routes.rs` | which depths a route has on a host, and which path a LUN is reached by |
//! | `luns.rs` | who uses which LUNs and pools from which host |
//! | `power.rs` | VMs that are powered off and on, and come to another host |
//! | `build.rs` | from a scenario to all of these |
//!
//! **Helper worlds are in the I/O path.** Schedulable worlds do the hypervisor's work for a burst before the burst's
//! delay begins. Helper worlds compete with vCPUs. A host whose vCPUs alone fit its threads therefore still shows ready
//! and co-stop.
//!
//! **I/O threads and services are worlds.** The CPU of its VMkernel world or I/O thread limits a virtual controller.
//! The cost of a pool on its hosts, and its contention with VMs there, come from the same scheduler. Hyperconverged and
//! two-layer differ only in placement.

mod build;
mod controller;
mod io_thread;
mod luns;
mod power;
mod routes;
mod vdisk;
mod vm;
mod worker;

pub use build::PathBuilder;
pub use vdisk::{Target, Vdisk, Way};
pub use vm::VmIo;

use super::meter::{Meter, Passages};
use super::multipath::End;
use super::pool::Address;
use super::queue::QueueDepth;
use super::request::{Io, Issuer, NONE, PerIo, Requests, Role, Step};
use super::shared::{Reply, Shared};
use super::stations::{Station, StationResult, Sums};
use crate::clock::Clock;
use crate::ids::{
    ControllerId, DepthId, HostId, Id, IoId, IoThreadId, LunId, PoolId, ProcessId, Span, Table, VdiskId, VmId,
    WorkerId, WorldId,
};
use controller::Controller;
use hypertwin_kernel::Nanos;
use io_thread::IoThread;
use luns::Routes;
use std::collections::BTreeMap;
use std::ops::Range;
use vdisk::Stage;
use vm::{IoMeasured, IoProfile, Part, Vms};
use worker::Worker;

/// The path of all VMs.
pub struct Path {
    vms: Vms,
    profiles: Vec<IoProfile>,
    vdisks: Table<VdiskId, Vdisk>,
    depths: Table<DepthId, QueueDepth>,
    controllers: Table<ControllerId, Controller>,
    threads: Table<IoThreadId, IoThread>,
    workers: Table<WorkerId, Worker>,
    /// Ports of hosts to arrays, of those that use them.
    adapters: BTreeMap<HostId, Adapters>,
    /// Per I/O of a VM that copies: when its worker could read.
    begun: PerIo<Nanos>,
    /// Per process: I/Os of its burst that are not back.
    outstanding: Vec<u32>,
    /// Stations of the report, with their positions in [`QueueDepth::station`].
    stations: BTreeMap<Station, usize>,
    /// Set if the run is read sample by sample.
    meter: Option<Meter>,
    routes: Routes,
    /// Since when it is measured.
    since: Nanos,
}

/// Ports of one host to arrays, by their numbers in the fabric, and the depth of each.
pub struct Adapters {
    pub ports: Range<usize>,
    pub depths: Span<DepthId>,
}

impl Path {
    /// A path of no VMs.
    pub fn empty() -> Self {
        Self {
            vms: Vms::new(),
            profiles: Vec::new(),
            vdisks: Table::new(),
            depths: Table::new(),
            controllers: Table::new(),
            threads: Table::new(),
            workers: Table::new(),
            adapters: BTreeMap::new(),
            begun: PerIo::new(),
            outstanding: Vec::new(),
            stations: BTreeMap::new(),
            meter: None,
            routes: Routes::default(),
            since: 0,
        }
    }

    // ---- from the guest

    /// I/Os that a burst of a transaction of `process` begins with, `work` times as many as others have.
    pub fn begin_burst(&mut self, vm: VmId, process: ProcessId, work: f64) -> u32 {
        let Some(vm) = self.vms.get_mut(vm) else {
            return 0;
        };
        let due = vm.due(self.profiles[vm.profile as usize].per_burst * work);
        if self.outstanding.len() <= process.index() {
            self.outstanding.resize(process.index() + 1, 0);
        }
        self.outstanding[process.index()] = due;
        due
    }

    /// The next I/O of a burst.
    pub fn next_of_burst(&mut self, vm: VmId, process: ProcessId, requests: &mut Requests) -> IoId {
        let vdisk = self.vms[vm].next_vdisk();
        requests.allocate(Issuer::Process(process), vdisk)
    }

    /// The guest's driver takes an I/O; in how many parts it goes on, 1 if it is not split.
    #[inline]
    pub fn begin(&mut self, id: IoId, shared: &mut Shared, now: Nanos) -> u32 {
        if shared.requests[id].step == Step::Heard {
            let latency_ns = self.record(id, &shared.requests, now);
            self.respond(id, latency_ns, shared);
            shared.requests[id].issued = now;
        }
        let io = &mut shared.requests[id];
        let vdisk = &self.vdisks[io.vdisk];
        let profile = &self.profiles[vdisk.profile as usize];
        profile.draw(&mut self.vms[vdisk.vm].stream, io);
        if let Issuer::Process(_) = io.issuer {
            io.issued = now;
        }
        io.stage = 0;
        io.step = Step::Route;
        if io.bytes <= profile.largest {
            return 1;
        }
        io.parts = io.bytes.div_ceil(profile.largest);
        io.parts
    }

    /// One part of an I/O that is split.
    pub fn split(&self, id: IoId, part: u32, requests: &mut Requests) -> IoId {
        let whole = &requests[id];
        let (bytes, largest) = (whole.bytes, self.profile_of(whole).largest);
        let child = requests.part_of(id, Role::Request);
        requests[child].bytes = largest.min(bytes - part * largest);
        child
    }

    /// The worker of a generator that a session of its VM is.
    #[inline]
    pub fn worker(&mut self, vm: VmId, session: u32) -> &mut Worker {
        &mut self.workers[self.vms[vm].workers.at(session as usize)]
    }

    /// The process of a worker begins. If the worker has an I/O to handle: its work for it, without that of the
    /// workload itself.
    pub fn start_worker(&mut self, vm: VmId, session: u32, requests: &Requests) -> Option<f64> {
        self.worker(vm, session).start()?;
        Some(self.take_io(vm, session, requests))
    }

    /// A worker has issued an I/O. If it goes on with another: its work for that, likewise.
    #[inline]
    pub fn next_io(&mut self, vm: VmId, session: u32, requests: &Requests) -> Option<f64> {
        let goes_on = self.worker(vm, session).goes_on();
        goes_on.then(|| self.take_io(vm, session, requests))
    }

    /// A worker takes its next I/O; returns its work for it and for interrupts.
    #[inline]
    fn take_io(&mut self, vm: VmId, session: u32, requests: &Requests) -> f64 {
        let (id, interrupt_ns) = self.worker(vm, session).take(requests);
        interrupt_ns + self.profile_of(&requests[id]).guest_ns
    }

    /// What the I/Os of the VM that an I/O is of are like.
    #[inline]
    fn profile_of(&self, io: &Io) -> &IoProfile {
        &self.profiles[self.vdisks[io.vdisk].profile as usize]
    }

    /// Whether the rate does not allow an I/O yet. It comes when it does.
    #[inline]
    fn is_throttled(&mut self, id: IoId, requests: &mut Requests, clock: &mut Clock) -> bool {
        let vdisk = &self.vdisks[requests[id].vdisk];
        let gap_ns = self.profiles[vdisk.profile as usize].gap_ns;
        let time = self.vms[vdisk.vm].next_issue(gap_ns, clock.now);
        let is_throttled = time > clock.now;
        if is_throttled {
            requests.at(id, Step::Issue, time, clock);
        }
        is_throttled
    }

    /// A worker can issue an I/O: its latency begins, unless that of the one before it ends only when it is issued.
    #[inline]
    fn queue_at_worker(&mut self, id: IoId, worker: WorkerId, requests: &mut Requests, now: Nanos) {
        if requests[id].step != Step::Heard {
            requests[id].issued = now;
            if self.profile_of(&requests[id]).part == Part::CopyRead {
                self.begun.set(id, now);
            }
        }
        self.workers[worker].push(requests, id);
    }

    #[inline]
    fn hand_to_worker(&mut self, id: IoId, worker: WorkerId, shared: &mut Shared, now: Nanos) {
        self.queue_at_worker(id, worker, &mut shared.requests, now);
        let worker = &mut self.workers[worker];
        if let Some(process) = worker.start() {
            // at once: an interrupt that comes later in this event is work for the next I/O
            let (first, interrupt_ns) = worker.take(&shared.requests);
            let work_ns = interrupt_ns + self.profile_of(&shared.requests[first]).guest_ns;
            shared.replies.push_back(Reply::WorkerReady { process, work_ns });
        }
    }

    /// The rate allows an I/O.
    #[inline]
    pub fn on_issue(&mut self, id: IoId, shared: &mut Shared, now: Nanos) {
        match shared.requests[id].issuer {
            Issuer::Worker(worker) => self.hand_to_worker(id, worker, shared, now),
            Issuer::Nobody => shared.requests.release(id),
            Issuer::Process(_) | Issuer::Pool | Issuer::Fault(_) | Issuer::Host(_) => {
                unreachable!("only generators have a rate")
            }
        }
    }

    /// Deals the I/Os that generators keep outstanding to their workers, who begin when their processes do.
    pub fn fill_workers(&mut self, shared: &mut Shared, clock: &mut Clock) {
        let vms: Vec<VmId> = self.vms.iter().map(|(vm, _)| vm).collect();
        vms.into_iter().for_each(|vm| self.fill_workers_of(vm, shared, clock));
    }

    /// Likewise those of one VM.
    fn fill_workers_of(&mut self, vm: VmId, shared: &mut Shared, clock: &mut Clock) {
        let VmIo {
            outstanding, workers, ..
        } = self.vms[vm];
        let vdisks = self.vms[vm].first_vdisks();
        for number in 0..outstanding {
            let worker = workers.at(number % workers.len());
            let vdisk = vdisks.at(number % vdisks.len());
            let id = shared.requests.allocate(Issuer::Worker(worker), vdisk);
            if !self.is_throttled(id, &mut shared.requests, clock) {
                self.queue_at_worker(id, worker, &mut shared.requests, clock.now);
            }
        }
    }

    // ---- along the route

    /// Takes an I/O along its route until it has to wait; `true` if it leaves the host.
    #[inline]
    pub fn advance(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) -> bool {
        let now = clock.now;
        loop {
            let io = &mut shared.requests[id];
            let stage = self.vdisks[io.vdisk].route.stage(io.stage);
            io.stage += 1;
            match stage {
                Stage::Depth(depth) => {
                    if !self.depths[depth].enter(now, &mut shared.requests, id) {
                        return false;
                    }
                }
                Stage::Controller => {
                    self.queue_on_controller(id, shared, clock);
                    return false;
                }
                Stage::Paths => {
                    let Some(lun) = self.vdisks[io.vdisk].several() else {
                        unreachable!("only a LUN with several paths has this stage");
                    };
                    let Some(depth) = shared.fabric.choose_of(lun, id, &mut shared.requests) else {
                        return false;
                    };
                    if !self.depths[depth].enter(now, &mut shared.requests, id) {
                        return false;
                    }
                }
                Stage::Out => return true,
            }
        }
    }

    #[inline]
    fn queue_on_controller(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let index = self.vdisks[shared.requests[id].vdisk].controller;
        if let Some(meter) = &mut self.meter {
            meter.enter(id, clock.now);
        }
        let controller = &mut self.controllers[index];
        let index = controller
            .only_thread()
            .unwrap_or_else(|| controller.thread_for(shared.requests[id].issuer, self.vms[controller.vm].workers));
        match self.threads[index].wait_ns {
            0 => self.kick(id, index, shared, clock),
            wait_ns => shared.requests.at(id, Step::Kick(index), clock.now + wait_ns, clock),
        }
    }

    /// A request has reached its thread, or a thread that was asleep is awake for it.
    pub fn on_kick(&mut self, id: IoId, index: IoThreadId, shared: &mut Shared, clock: &mut Clock) {
        match shared.requests[id].issuer {
            Issuer::Nobody => shared.requests.release(id),
            _ => self.kick(id, index, shared, clock),
        }
    }

    /// A request needs its thread, which may have to wake up first.
    #[inline]
    fn kick(&mut self, id: IoId, index: IoThreadId, shared: &mut Shared, clock: &mut Clock) {
        let awake_at = self.threads[index].wake(clock.now);
        if awake_at > clock.now {
            shared.requests.at(id, Step::Kick(index), awake_at, clock);
        } else {
            self.queue_on_thread(id, index, shared, clock.now);
        }
    }

    #[inline]
    fn queue_on_thread(&mut self, id: IoId, index: IoThreadId, shared: &mut Shared, now: Nanos) {
        shared.requests[id].step = Step::Route;
        let thread = &mut self.threads[index];
        if thread.take(id, now, &mut shared.requests) {
            let world = thread.world;
            let work_ns = self.thread_work(index, &shared.requests[id]);
            shared.replies.push_back(Reply::Run {
                world,
                work_ns,
                is_awake: false,
            });
        }
    }

    /// Work of a thread for a request.
    #[inline]
    fn thread_work(&self, index: IoThreadId, io: &Io) -> f64 {
        self.threads[index].work_ns + self.profile_of(io).driver.of(io)
    }

    /// Gives a thread its next request, and returns its work for it; `None` if there is none.
    #[inline]
    pub fn start_on_thread(&mut self, index: IoThreadId, now: Nanos, requests: &Requests) -> Option<f64> {
        let id = self.threads[index].start(now, requests)?;
        Some(self.thread_work(index, &requests[id]))
    }

    /// The request that a thread is done with.
    #[inline]
    pub fn finish_on_thread(&mut self, index: IoThreadId, now: Nanos, requests: &Requests) -> IoId {
        let id = self.threads[index].finish();
        if let Some(meter) = &mut self.meter {
            meter.handled(id, requests[id].vdisk, now);
        }
        id
    }

    /// An I/O leaves the host: where it goes.
    #[inline]
    pub fn leave(&mut self, id: IoId, now: Nanos, requests: &Requests) -> &Target {
        let vdisk = requests[id].vdisk;
        if let Some(meter) = &mut self.meter {
            meter.send(id, vdisk, now);
        }
        &self.vdisks[vdisk].target
    }

    /// The array that an I/O has reached.
    #[inline]
    pub fn array_of(&self, io: &Io) -> usize {
        match self.vdisks[io.vdisk].target {
            Target::Array { array, .. } => array,
            Target::Pool { .. } => unreachable!("only an I/O for an array reaches one"),
        }
    }

    /// Virtual disks on pools: pool, layout, the number that decides where its data are, and what the I/Os of their VM
    /// are like.
    pub fn on_pools(&mut self) -> impl Iterator<Item = (PoolId, u16, &mut u64, &IoProfile)> {
        let profiles = &self.profiles;
        self.vdisks.iter_mut().filter_map(|vdisk| match &mut vdisk.target {
            Target::Pool { pool, layout, key, .. } => Some((*pool, *layout, key, &profiles[vdisk.profile as usize])),
            Target::Array { .. } => None,
        })
    }

    /// Where in its pool the data of an I/O are.
    #[inline]
    pub fn address(&mut self, io: &Io) -> Address {
        let Vdisk {
            vm, profile, target, ..
        } = &mut self.vdisks[io.vdisk];
        let profile = &self.profiles[*profile as usize];
        let Target::Pool {
            layout, offset, key, ..
        } = target
        else {
            unreachable!("only the I/Os of a pool have an address there");
        };
        let vm = &mut self.vms[*vm];
        let bytes = u64::from(io.bytes);
        let place = if io.sequential {
            let place = *offset;
            *offset = (place + bytes) % profile.working_set;
            place
        } else {
            vm.stream.below((profile.working_set / bytes).max(1)) * bytes
        };
        Address {
            client: vm.host,
            layout: *layout,
            key: *key,
            place,
            is_cached: !io.write && !io.sequential && profile.cached > 0.0 && vm.stream.uniform() < profile.cached,
        }
    }

    // ---- back to the guest

    /// Whether an I/O is back at its host: while that is off, `step` waits.
    #[inline]
    pub fn reaches_host(&self, id: IoId, step: Step, shared: &mut Shared) -> bool {
        let io = &mut shared.requests[id];
        let host = self.host_of(io);
        let is_up = shared.network.state(host).is_up;
        if !is_up {
            io.step = step;
            shared.replies.push_back(Reply::Deferred { host, io: id });
        }
        is_up
    }

    /// An I/O to a LUN with several paths is back at its host. Its answer may have been lost: then it is sent again.
    /// Returns the depth of its port, which has a slot free, and whether it has its answer.
    pub fn leave_path(&mut self, id: IoId, lun: LunId, shared: &mut Shared, clock: &mut Clock) -> (DepthId, bool) {
        let fabric = &mut shared.fabric;
        let depth = fabric.leave(lun, id);
        let resend_at = fabric.resend_at(lun, id, clock.now);
        if let Some(time) = resend_at {
            shared.requests.at(id, Step::Resend, time, clock);
        }
        (depth, resend_at.is_none())
    }

    /// The LUN of an I/O, if that has several paths.
    #[inline]
    pub fn several(&self, io: &Io) -> Option<LunId> {
        self.vdisks[io.vdisk].several()
    }

    /// An I/O has to choose a path again, when it goes on along its route.
    pub fn choose_again(&self, io: &mut Io) {
        io.stage = self.vdisks[io.vdisk].route.paths();
    }

    /// A port fails or returns: I/Os that wait for it, or for any path, have to choose again.
    pub fn change_port(&mut self, end: End, fails: bool, shared: &mut Shared, now: Nanos) -> Vec<IoId> {
        let Shared { fabric, requests, .. } = shared;
        let mut again = Vec::new();
        if !fabric.health.change(end, fails, now) {
            return again;
        }
        let luns: Vec<LunId> = fabric.luns.ids().filter(|&lun| fabric.luns[lun].has(end)).collect();
        for lun in luns {
            fabric.luns[lun].take_waiting(requests, |_| true, &mut again);
            let queued = again.len();
            for depth in fabric.luns[lun].depths().filter(|_| fails) {
                self.depths[depth].queue.drain(now, requests, &mut again);
            }
            for &id in &again[queued..] {
                let lun = self
                    .several(&requests[id])
                    .expect("every LUN of the host has paths to choose from");
                fabric.leave(lun, id);
            }
        }
        again.iter().for_each(|&id| self.choose_again(&mut requests[id]));
        again
    }

    /// The thread that handles a completion sleeps: when it is awake.
    #[inline]
    pub fn sleeps_until(&mut self, id: IoId, requests: &Requests, now: Nanos) -> Option<Nanos> {
        let io = &requests[id];
        if !self.profile_of(io).completes_by_thread {
            return None;
        }
        let controller = &self.controllers[self.vdisks[io.vdisk].controller];
        let thread = controller.completing_thread(io.issuer, self.vms[controller.vm].workers)?;
        let awake_at = self.threads[thread].wake(now);
        (awake_at > now).then_some(awake_at)
    }

    /// A complete I/O reaches its VM.
    #[inline]
    pub fn reach_vm(&mut self, id: IoId, shared: &mut Shared, now: Nanos) {
        let io = &shared.requests[id];
        let vdisk = &self.vdisks[io.vdisk];
        if let Some(meter) = &mut self.meter {
            meter.answer(id, io.vdisk, io.write, now);
        }
        if let Target::Array { .. } = vdisk.target {
            shared.fabric.count(id, io.bytes, io.write);
        }
    }

    /// A complete I/O gives back its slot of a depth: the I/O that gets it.
    #[inline]
    pub fn free_slot(&mut self, depth: DepthId, now: Nanos, requests: &Requests) -> Option<IoId> {
        self.depths[depth].leave(now, requests)
    }

    /// The guest hears of a complete I/O, now or by a later interrupt.
    #[inline]
    pub fn interrupt(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let index = self.vdisks[shared.requests[id].vdisk].controller;
        let controller = &mut self.controllers[index];
        let in_flight = self.depths[controller.ring].used();
        if controller.complete(id, in_flight, &mut shared.requests, index, clock) {
            self.deliver_all(index, shared, clock);
        }
    }

    /// A check of the completions of a controller that wait for an interrupt. While the host is off they wait.
    // rare: the code of events that are not is smaller without it
    #[cold]
    pub fn on_interrupt(&mut self, index: ControllerId, shared: &mut Shared, clock: &mut Clock) {
        let is_late = self.controllers[index].is_late(index, clock);
        let host = self.vms[self.controllers[index].vm].host;
        if is_late && shared.network.state(host).is_up {
            self.deliver_all(index, shared, clock);
        }
    }

    /// The guest hears of all complete I/Os of a controller by one interrupt.
    #[inline]
    fn deliver_all(&mut self, index: ControllerId, shared: &mut Shared, clock: &mut Clock) {
        let mut is_first = true;
        while let Some(id) = self.controllers[index].next_completed(&shared.requests) {
            self.deliver(id, std::mem::take(&mut is_first), shared, clock);
        }
    }

    /// The guest hears of an I/O; the first one of an interrupt costs the interrupt's work.
    #[inline]
    fn deliver(&mut self, id: IoId, is_first: bool, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        if is_first
            && let Issuer::Worker(worker) = io.issuer
            && self.controllers[self.vdisks[io.vdisk].controller].is_felt(&self.workers, worker)
        {
            self.workers[worker].interrupt_ns += self.profile_of(io).interrupt_ns;
        }
        let parent = io.parent;
        if parent == NONE {
            self.end(id, shared, clock);
            return;
        }
        shared.requests.release(id);
        if shared.requests.part_done(parent) {
            self.end(parent, shared, clock);
        }
    }

    /// An I/O of the guest is back.
    fn end(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        let part = self.profile_of(io).part;
        match io.issuer {
            Issuer::Worker(worker) => match part {
                Part::Whole => {
                    if self.is_throttled(id, &mut shared.requests, clock) {
                        let latency_ns = self.record(id, &shared.requests, clock.now);
                        self.respond(id, latency_ns, shared);
                    } else {
                        shared.requests[id].step = Step::Heard;
                        self.hand_to_worker(id, worker, shared, clock.now);
                    }
                }
                part => {
                    self.record(id, &shared.requests, clock.now);
                    self.change_end(&mut shared.requests[id]);
                    let is_copied = part == Part::CopyWrite;
                    if is_copied {
                        self.respond(id, clock.now - self.begun[id], shared);
                    }
                    if !(is_copied && self.is_throttled(id, &mut shared.requests, clock)) {
                        self.hand_to_worker(id, worker, shared, clock.now);
                    }
                }
            },
            Issuer::Process(process) => {
                self.record(id, &shared.requests, clock.now);
                shared.requests.release(id);
                let left = &mut self.outstanding[process.index()];
                *left -= 1;
                if *left == 0 {
                    shared.replies.push_back(Reply::Completed(process));
                }
            }
            Issuer::Pool | Issuer::Nobody | Issuer::Fault(_) | Issuer::Host(_) => {
                unreachable!("background work and I/Os of others reach no guest")
            }
        }
    }

    /// Counts an I/O whose latency ends now, and returns that.
    fn record(&mut self, id: IoId, requests: &Requests, now: Nanos) -> Nanos {
        let io = &requests[id];
        let latency_ns = now - io.issued;
        if let Some(meter) = &mut self.meter {
            meter.end(io.vdisk, io.write, io.bytes, latency_ns);
        }
        let vm = &mut self.vms[self.vdisks[io.vdisk].vm];
        let measured = &mut vm.measured[usize::from(io.write)];
        measured.bytes += f64::from(io.bytes);
        measured.latencies.record(latency_ns);
        latency_ns
    }

    /// A worker's I/O, or copy, is a response of its VM.
    fn respond(&self, id: IoId, latency_ns: Nanos, shared: &mut Shared) {
        let vm = self.vm_of(&shared.requests[id]);
        shared.replies.push_back(Reply::Responded { vm, latency_ns });
    }

    /// An I/O of a copy goes on at the other end: from the virtual disk that is read to that which is written, or back.
    fn change_end(&self, io: &mut Io) {
        let vdisks = self.vms[self.vdisks[io.vdisk].vm].vdisks;
        let position = vdisks
            .position(io.vdisk)
            .expect("an I/O is at a virtual disk of its VM");
        io.vdisk = vdisks.at((position + vdisks.len() / 2) % vdisks.len());
    }

    // ---- what was measured

    /// Counts from now what passes through each virtual disk.
    pub fn start_meter(&mut self) {
        self.meter = Some(Meter::new(self.vdisks.len()));
    }

    /// What has passed through each virtual disk; nothing without a meter.
    pub fn passages(&self) -> &[Passages] {
        self.meter.as_ref().map_or(&[], Meter::vdisks)
    }

    /// Host of the VM that a controller is of.
    pub fn host_of_controller(&self, controller: ControllerId) -> HostId {
        self.vms[self.controllers[controller].vm].host
    }

    /// Host of the VM that an I/O is of.
    pub fn host_of(&self, io: &Io) -> HostId {
        self.vms[self.vdisks[io.vdisk].vm].host
    }

    /// The VM that an I/O is of.
    #[inline]
    pub fn vm_of(&self, io: &Io) -> VmId {
        self.vdisks[io.vdisk].vm
    }

    /// A VM, if it has virtual disks.
    pub fn vm(&self, vm: VmId) -> Option<&VmIo> {
        self.vms.get(vm)
    }

    pub fn vdisk(&self, vdisk: VdiskId) -> &Vdisk {
        &self.vdisks[vdisk]
    }

    pub fn depths(&self) -> &Table<DepthId, QueueDepth> {
        &self.depths
    }

    /// Ports of a host to arrays.
    pub fn adapters(&self, host: HostId) -> Option<&Adapters> {
        self.adapters.get(&host)
    }

    /// The LUNs with several paths that a host has used.
    pub fn luns_with_paths(&self, host: HostId) -> impl Iterator<Item = LunId> {
        let several = self.routes.several.iter();
        several.filter(move |((from, _), _)| *from == host).map(|(_, &lun)| lun)
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.since = now;
        self.depths.iter_mut().for_each(|depth| depth.reset(now));
        self.threads.iter_mut().for_each(|thread| thread.queue.reset(now));
        let measured = self.vms.iter_mut().flat_map(|vm| &mut vm.measured);
        measured.for_each(IoMeasured::reset);
    }

    /// The threads of the controllers of some VMs as one station; `run` is the fraction of time that a world ran.
    pub fn controllers_station(&self, vms: &[VmId], run: &impl Fn(WorldId) -> f64, now: Nanos) -> Sums {
        let threads = vms.iter().flat_map(|&vm| &self.threads[self.vms[vm].threads]);
        Sums::of(threads.map(|one| (run(one.world), one.queue.length.mean(now), one.queue.waits)))
    }

    /// VMs with virtual disks by their group.
    pub fn vms_by_group(&self) -> BTreeMap<usize, Vec<VmId>> {
        let mut groups: BTreeMap<usize, Vec<VmId>> = BTreeMap::new();
        for (id, vm) in self.vms.iter() {
            groups.entry(vm.group).or_default().push(id);
        }
        groups
    }

    /// The queue depths, by kind and by VM group or host.
    pub fn depth_stations(&self, name: impl Fn(Station) -> String, now: Nanos, duration_ns: f64) -> Vec<StationResult> {
        let mut sums = vec![Sums::default(); self.stations.len()];
        for depth in self.depths.iter() {
            let busy = depth.busy.mean(now) / f64::from(depth.slots);
            sums[depth.station].add(busy, depth.queue.length.mean(now), depth.queue.waits);
        }
        let stations = self.stations.iter().filter(|(_, index)| sums[**index].members > 0);
        stations
            .map(|(&station, &index)| sums[index].result(station, name(station), true, duration_ns))
            .collect()
    }
}
