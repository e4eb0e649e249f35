//! The guest's side of the I/O path: processes issue I/Os, depths hold them back, virtual controllers work on them.

use super::{IoId, Line, NONE, Role, Step, Waits};
use crate::RunError;
use crate::clock::Event;
use crate::ids::{Id, ProcessId, WorldId};
use crate::simulation::Simulation;
use crate::state::{Phase, Responses, Source};
use hypertwin_kernel::{Histogram, Nanos, Stream, TimeAverage};
use hypertwin_models::accounting::State;
use hypertwin_models::storage::virtual_controller::Coalescing;

/// Records of I/Os and their parts beyond which a run is given up.
const MOST_RECORDS: usize = 16_000_000;

/// A virtual disk: the depths of its route, and what it goes through.
pub struct Vdisk {
    pub route: [u32; ROUTE],
    pub controller: u32,
    pub target: Target,
}

impl Vdisk {
    /// The depth of its LUN on its host; [`NONE`] without one.
    pub fn lun_depth(&self) -> u32 {
        self.route[LUN]
    }

    /// All depths that hold commands back from its LUN.
    pub fn lun_depths(&self) -> impl Iterator<Item = u32> + use<> {
        [self.route[DSNRO], self.route[LUN]]
            .into_iter()
            .filter(|&depth| depth != NONE)
    }
}

/// Where the data of a virtual disk are.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// An array, by a port of the host and one of the array.
    Array {
        array: u32,
        port: u32,
        front: u32,
        lun: u32,
    },
    /// A pool; how far sequential I/O is, in bytes; and a number of the disk's own that tells where its data are.
    Pool { pool: u32, offset: u64, key: u64 },
}

/// Depths of a route: vdisk, ring, then on the other side of the controller's world DSNRO, LUN, port.
pub const ROUTE: usize = 5;
const RING: usize = 1;
const DSNRO: usize = 2;
const LUN: usize = 3;
/// Stages of an I/O's way that are no depths: the controller's world after two of them, the ports after all.
const CONTROLLER: usize = 2;
const PORTS: usize = ROUTE + 1;

/// A virtual controller and the world that works for it.
pub struct Controller {
    pub world: usize,
    pub vm: usize,
    /// Work of the world for a request, in nanoseconds alone on a core at nominal clock.
    pub work_ns: f64,
    /// What waits for the world, what it works on, and what is complete and waits for an interrupt.
    line: Line,
    current: IoId,
    held: Line,
    coalescing: Coalescing,
    pub queue: TimeAverage,
    pub waits: Waits,
}

impl Controller {
    pub fn new(world: usize, vm: usize, work_ns: f64) -> Self {
        Self {
            world,
            vm,
            work_ns,
            line: Line::default(),
            current: NONE,
            held: Line::default(),
            coalescing: Coalescing::default(),
            queue: TimeAverage::new(),
            waits: Waits::default(),
        }
    }
}

/// A thread that keeps I/Os outstanding: what it has to handle, and what it handles now.
#[derive(Clone, Copy, Debug)]
pub struct Worker {
    pub line: Line,
    current: IoId,
    /// Work of interrupts that it has not done yet.
    interrupt_ns: f64,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            line: Line::default(),
            current: NONE,
            interrupt_ns: 0.0,
        }
    }
}
/// A VM's part of the path.
pub struct VmIo {
    pub vdisks: std::ops::Range<usize>,
    pub controllers: std::ops::Range<usize>,
    pub first_worker: usize,
    /// Sizes with the cumulative probability of each; the last one's is 1.
    pub blocks: Vec<(f64, u32)>,
    pub largest: u32,
    pub read: f64,
    pub random: f64,
    /// Bytes that one virtual disk's I/Os are spread over, and how many reads hit a pool's cache on the host.
    pub working_set: u64,
    pub cached: f64,
    /// Work of the guest for an I/O and for an interrupt, in nanoseconds alone on a core at the reference clock.
    pub guest_ns: f64,
    pub interrupt_ns: f64,
    /// One way over the fabric.
    pub way_ns: Nanos,
    /// Time between I/Os that the rate allows, and when the next one may go.
    pub gap_ns: f64,
    pub next_issue_ns: f64,
    /// I/Os of a burst; the fraction that is left over for the next.
    pub per_burst: f64,
    pub carry: f64,
    pub next_vdisk: usize,
    pub stream: Stream,
    pub latency: Option<Histogram>,
    pub all: Responses,
    pub bytes: f64,
}
impl Simulation {
    // ---- the guest

    /// An I/O of a generator may be issued again as soon as its rate allows it.
    pub(super) fn reissue(&mut self, id: IoId) {
        if !self.is_throttled(id) {
            self.hand_to_worker(id);
        }
    }

    /// Whether the rate does not allow an I/O yet, which then comes when it does.
    pub fn is_throttled(&mut self, id: IoId) -> bool {
        let vm_index = self.io.vm_of(id);
        if let Some(io) = &mut self.vms[vm_index].io
            && io.gap_ns > 0.0
        {
            let time = io.next_issue_ns.max(self.clock.now as f64);
            io.next_issue_ns = time + io.gap_ns;
            if time as Nanos > self.clock.now {
                self.step(id, Step::Issue, time as Nanos);
                return true;
            }
        }
        false
    }

    pub(super) fn hand_to_worker(&mut self, id: IoId) {
        let owner = self.io.ios[id as usize].owner;
        let worker = self.worker_of(owner);
        self.io.workers[worker].line.push(&mut self.io.ios, id);
        self.start_worker(owner);
    }

    fn worker_of(&self, process: ProcessId) -> usize {
        let process = &self.processes[process];
        let first = self.vms[process.vm as usize]
            .io
            .as_ref()
            .map_or(0, |io| io.first_worker);
        first + process.session as usize
    }

    /// Wakes the worker `process` if it is idle and has something to do.
    pub fn start_worker(&mut self, process: ProcessId) {
        let worker = self.worker_of(process);
        let idle = self.processes[process].phase == Phase::Think;
        if idle && self.io.workers[worker].line.length > 0 {
            let vm = self.processes[process].vm as usize;
            self.vms[vm].in_progress += 1;
            self.begin_burst(process);
        }
    }

    /// The worker `process` takes the next I/O: its work for it.
    pub fn take_io(&mut self, process: ProcessId) -> f64 {
        let worker_index = self.worker_of(process);
        let worker = &mut self.io.workers[worker_index];
        let vm = &mut self.vms[self.processes[process].vm as usize];
        worker.current = worker.line.pop(&self.io.ios).unwrap_or(NONE);
        let guest_ns = vm.io.as_ref().map_or(0.0, |io| io.guest_ns);
        std::mem::take(&mut worker.interrupt_ns) + guest_ns + vm.cpu_burst.sample(&mut vm.streams.cpu) as f64
    }

    /// The worker has computed for its I/O, which goes out. `true` if there is another one.
    pub fn issue(&mut self, process: ProcessId) -> bool {
        let worker = self.worker_of(process);
        let id = std::mem::replace(&mut self.io.workers[worker].current, NONE);
        if id != NONE {
            self.submit(id);
        }
        self.io.workers[worker].line.length > 0
    }

    /// Issues the I/Os of a burst of a transaction, all together. `false` if there are none.
    pub fn begin_ios(&mut self, process: ProcessId) -> bool {
        let vm_index = self.processes[process].vm as usize;
        let Some(io) = &mut self.vms[vm_index].io else {
            return false;
        };
        let due = io.per_burst + io.carry;
        io.carry = due.fract();
        let count = due as u32;
        self.processes[process].ios_left = count;
        for _ in 0..count {
            let Some(io) = &mut self.vms[vm_index].io else { break };
            let vdisk = io.vdisks.start + io.next_vdisk;
            io.next_vdisk = (io.next_vdisk + 1) % io.vdisks.len();
            let id = self.io.allocate(vm_index, process, vdisk);
            self.submit(id);
        }
        count > 0
    }

    /// The guest's driver takes an I/O.
    fn submit(&mut self, id: IoId) {
        if self.io.ios.len() > MOST_RECORDS {
            self.failure = Some(RunError::Overloaded {
                vm: self.vms[self.io.vm_of(id)].name.clone(),
                in_progress: self.io.ios.len(),
            });
        }
        let Some(vm) = &mut self.vms[self.io.ios[id as usize].vm as usize].io else {
            return;
        };
        let bytes = match vm.blocks.as_slice() {
            [(_, bytes)] => *bytes,
            blocks => {
                let place = vm.stream.uniform();
                blocks
                    .iter()
                    .find(|(upto, _)| place < *upto)
                    .unwrap_or(&blocks[blocks.len() - 1])
                    .1
            }
        };
        let io = &mut self.io.ios[id as usize];
        io.write = vm.read < 1.0 && vm.stream.uniform() >= vm.read;
        io.sequential = vm.random < 1.0 && vm.stream.uniform() >= vm.random;
        io.bytes = bytes;
        io.issued = self.clock.now;
        io.stage = 0;
        let largest = vm.largest;
        if bytes <= largest {
            self.advance(id);
            return;
        }
        let parts = bytes.div_ceil(largest);
        self.io.ios[id as usize].parts = parts;
        for part in 0..parts {
            let child = self.io.part_of(id, Role::Request);
            self.io.ios[child as usize].bytes = largest.min(bytes - part * largest);
            self.advance(child);
        }
    }

    // ---- depths and controllers

    /// Takes an I/O along its way until it has to wait.
    fn advance(&mut self, id: IoId) {
        loop {
            let io = &mut self.io.ios[id as usize];
            let (stage, vdisk) = (usize::from(io.stage), io.vdisk as usize);
            io.stage += 1;
            let depth = match stage {
                CONTROLLER => return self.queue_on_controller(id),
                PORTS => return self.send_out(id),
                _ => self.io.vdisks[vdisk].route[stage - usize::from(stage > CONTROLLER)],
            };
            if depth != NONE && !self.io.depths[depth as usize].enter(self.clock.now, &mut self.io.ios, id) {
                return;
            }
        }
    }

    fn send_out(&mut self, id: IoId) {
        let vdisk = self.io.ios[id as usize].vdisk;
        if let Some(meter) = &mut self.io.meter {
            meter.send(id, vdisk, self.clock.now);
        }
        match self.io.vdisks[vdisk as usize].target {
            Target::Array { array, .. } => self.send_to_array(id, array as usize),
            Target::Pool { pool, .. } => self.send_to_pool(pool as usize, id),
        }
    }

    fn queue_on_controller(&mut self, id: IoId) {
        let index = self.io.vdisks[self.io.ios[id as usize].vdisk as usize].controller as usize;
        self.io.ios[id as usize].since = self.clock.now;
        if let Some(meter) = &mut self.io.meter {
            meter.enter(id, self.clock.now);
        }
        let controller = &mut self.io.controllers[index];
        controller.line.push(&mut self.io.ios, id);
        controller.queue.set(self.clock.now, f64::from(controller.line.length));
        let world = controller.world;
        // A world that is about to wake has a request already.
        if controller.current == NONE && self.worlds[world].state == State::Wait && self.start_on_controller(index) {
            self.clock.run(WorldId::new(world));
        }
    }

    /// Gives a controller's world its next request; `false` if there is none.
    fn start_on_controller(&mut self, index: usize) -> bool {
        let controller = &mut self.io.controllers[index];
        let Some(id) = controller.line.pop(&self.io.ios) else {
            return false;
        };
        controller.current = id;
        controller.waits.add(self.clock.now - self.io.ios[id as usize].since);
        controller.queue.set(self.clock.now, f64::from(controller.line.length));
        let (world, work_ns) = (controller.world, controller.work_ns);
        self.worlds[world].remaining_ns = work_ns + self.client_work_ns(id);
        true
    }

    /// A controller's world is done with its request, and takes the next; `false` if there is none.
    pub fn next_on_controller(&mut self, index: usize) -> bool {
        let id = std::mem::replace(&mut self.io.controllers[index].current, NONE);
        if id != NONE {
            if let Some(meter) = &mut self.io.meter {
                meter.handled(id, self.io.ios[id as usize].vdisk, self.clock.now);
            }
            self.advance(id);
        }
        self.start_on_controller(index)
    }

    /// An I/O is back: its places go to those in line, and the guest hears of it now or with a later one.
    pub fn complete(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        if self.put_off(self.vms[io.vm as usize].host, Event::Io(id)) {
            self.io.ios[id as usize].step = Step::Host;
            return;
        }
        let Vdisk {
            route,
            controller,
            target,
        } = self.io.vdisks[io.vdisk as usize];
        if let Some(meter) = &mut self.io.meter {
            meter.answer(id, io.vdisk, io.write, self.clock.now);
        }
        if let Target::Array { port, front, .. } = target {
            let direction = usize::from(!io.write);
            self.io.ports[port as usize].bytes[direction] += u64::from(io.bytes);
            self.io.fronts[front as usize].bytes[direction] += u64::from(io.bytes);
        }
        for depth in route.into_iter().rev().filter(|&depth| depth != NONE) {
            if let Some(next) = self.io.depths[depth as usize].leave(self.clock.now, &self.io.ios) {
                self.advance(next);
            }
        }
        let in_flight = self.io.depths[route[RING] as usize].used;
        let controller_state = &mut self.io.controllers[controller as usize];
        controller_state.held.push(&mut self.io.ios, id);
        if controller_state.coalescing.interrupts(self.clock.now, in_flight) {
            let mut interrupt = true;
            while let Some(id) = self.io.controllers[controller as usize].held.pop(&self.io.ios) {
                self.deliver_io(id, std::mem::take(&mut interrupt));
            }
        }
    }

    /// The guest hears of an I/O; with `interrupt`, as the first one of an interrupt.
    fn deliver_io(&mut self, id: IoId, interrupt: bool) {
        let io = self.io.ios[id as usize];
        if interrupt && let Source::Io = self.vms[io.vm as usize].source {
            let worker = self.worker_of(io.owner);
            self.io.workers[worker].interrupt_ns +=
                self.vms[io.vm as usize].io.as_ref().map_or(0.0, |io| io.interrupt_ns);
        }
        if io.parent == NONE {
            self.end_io(id);
            return;
        }
        self.io.free.push(id);
        if self.part_done(io.parent) {
            self.end_io(io.parent);
        }
    }

    /// One part less to wait for; whether it was the last.
    pub fn part_done(&mut self, parent: IoId) -> bool {
        let parent = &mut self.io.ios[parent as usize];
        parent.parts -= 1;
        parent.parts == 0
    }

    fn end_io(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let latency = self.clock.now - io.issued;
        if let Some(meter) = &mut self.io.meter {
            meter.end(io.vdisk, io.write, io.bytes, latency);
        }
        let vm_index = io.vm as usize;
        let vm = &mut self.vms[vm_index];
        vm.measured.ios += 1.0;
        if let Some(own) = &mut vm.io {
            own.bytes += f64::from(io.bytes);
            own.all.add(latency);
            match &mut own.latency {
                Some(distribution) => distribution.record(latency),
                None => self.recorder.io_distributions[vm.group].record(latency),
            }
        }
        if let Source::Io = vm.source {
            self.record_response(vm_index, latency);
            self.reissue(id);
            return;
        }
        self.io.free.push(id);
        let process = &mut self.processes[io.owner];
        process.ios_left -= 1;
        if process.ios_left == 0 {
            self.wait_out_delay(io.owner);
        }
    }
}

impl VmIo {
    /// Mean latency and bytes are counted from now.
    pub fn reset(&mut self) {
        if let Some(latency) = &mut self.latency {
            latency.reset();
        }
        self.all = Responses::default();
        self.bytes = 0.0;
    }
}
