//! The I/O path of a run: from a guest's process through vdisk, virtual controller, LUN and port to the array, and back.
//!
//! An I/O takes a place in one depth after another, waits in line where there is none, and gives all of them back
//! when it completes. In between, the controller's world works on it, links pass it and the array answers. Links need
//! no event of their own, so an I/O which hits the array's cache costs four: its worker, its controller's world, the array's
//! answer, the way back. A miss adds the disk.

use crate::RunError;
use crate::simulation::{Simulation, WORK};
use crate::state::{Event, Phase, Responses, Source};
use crate::stations::Station;
use hypertwin_kernel::{Histogram, Nanos, Stream, TimeAverage};
use hypertwin_models::accounting::State;
use hypertwin_models::guest_system::ProcessId;
use hypertwin_models::storage::array::write_operations;
use hypertwin_models::storage::disk::{Disk, Operation};
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::virtual_controller::Coalescing;
use std::collections::BTreeMap;

/// Index of an [`Io`].
pub type IoId = u32;
/// No I/O, and no depth on a route.
pub const NONE: u32 = u32::MAX;

/// Records of I/Os and their parts beyond which a run is given up.
const MOST_RECORDS: usize = 16_000_000;
/// Writes that an array keeps for its disks, whatever their size.
const MOST_PENDING: u32 = 65_536;

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An I/O of the guest, or a part of one that was split.
    Request,
    /// One operation of a disk, for a write.
    Operation,
    /// A write that is acknowledged and still has to reach the disks.
    Destage,
}

/// What happens to an I/O next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its worker may issue it: the rate allows it.
    Issue,
    /// The array has looked at it.
    Array,
    /// A disk is done with it.
    Disk,
    /// It is back at the host.
    Host,
}

/// One I/O.
#[derive(Clone, Copy, Debug)]
pub struct Io {
    vm: u32,
    owner: ProcessId,
    vdisk: u32,
    bytes: u32,
    role: Role,
    step: Step,
    write: bool,
    sequential: bool,
    /// The next stage of its way.
    stage: u8,
    /// Next in the line that it is in.
    next: IoId,
    disk: u32,
    /// The record that waits for this one, and how many this one waits for.
    parent: IoId,
    parts: u32,
    issued: Nanos,
    /// When it joined the line that it is in.
    since: Nanos,
}

/// I/Os in order of arrival, linked through [`Io::next`].
#[derive(Clone, Copy, Debug)]
pub struct Line {
    head: IoId,
    tail: IoId,
    pub length: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            length: 0,
        }
    }
}

impl Line {
    pub fn push(&mut self, ios: &mut [Io], id: IoId) {
        ios[id as usize].next = NONE;
        match self.tail {
            NONE => self.head = id,
            tail => ios[tail as usize].next = id,
        }
        self.tail = id;
        self.length += 1;
    }

    fn pop(&mut self, ios: &[Io]) -> Option<IoId> {
        let id = self.head;
        if id == NONE {
            return None;
        }
        self.head = ios[id as usize].next;
        if self.head == NONE {
            self.tail = NONE;
        }
        self.length -= 1;
        Some(id)
    }
}

/// Time spent in a line, and passages with or without a wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    pub passed: u64,
    pub waited: u64,
    pub wait_ns: u64,
}

impl Waits {
    fn add(&mut self, wait_ns: Nanos) {
        self.passed += 1;
        self.waited += u64::from(wait_ns > 0);
        self.wait_ns += wait_ns;
    }
}

/// A number of places that I/Os hold from here to their completion.
pub struct Depth {
    pub places: u32,
    used: u32,
    line: Line,
    /// Which station of the report it belongs to.
    pub station: usize,
    pub busy: TimeAverage,
    pub queue: TimeAverage,
    pub waits: Waits,
}

impl Depth {
    pub fn new(places: u32, station: usize) -> Self {
        Self {
            places,
            used: 0,
            line: Line::default(),
            station,
            busy: TimeAverage::new(),
            queue: TimeAverage::new(),
            waits: Waits::default(),
        }
    }

    /// Takes a place, or joins the line and says no.
    fn enter(&mut self, now: Nanos, ios: &mut [Io], id: IoId) -> bool {
        if self.used < self.places {
            self.used += 1;
            self.busy.set(now, f64::from(self.used));
            self.waits.add(0);
            return true;
        }
        ios[id as usize].since = now;
        self.line.push(ios, id);
        self.queue.set(now, f64::from(self.line.length));
        false
    }

    /// Gives a place back, to the first in line if there is one.
    fn leave(&mut self, now: Nanos, ios: &[Io]) -> Option<IoId> {
        let next = self.line.pop(ios);
        match next {
            Some(id) => {
                self.queue.set(now, f64::from(self.line.length));
                self.waits.add(now - ios[id as usize].since);
            }
            None => {
                self.used -= 1;
                self.busy.set(now, f64::from(self.used));
            }
        }
        next
    }
}

/// A port, with a link in each direction.
pub struct Port {
    /// Towards the array, and back.
    pub up: Link,
    pub down: Link,
    pub waits: Waits,
    /// Bytes delivered in each direction.
    pub bytes: [u64; 2],
}

/// A virtual disk: the depths of its route, and what it goes through.
pub struct Vdisk {
    pub route: [u32; ROUTE],
    pub controller: u32,
    pub port: u32,
    pub front: u32,
    pub array: u32,
}

/// Depths of a route: vdisk, ring, then on the other side of the controller's world DSNRO, LUN, port.
pub const ROUTE: usize = 5;
const RING: usize = 1;
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

pub struct Array {
    pub name: String,
    pub hit_ratio: f64,
    pub latency_ns: Nanos,
    pub write_back: bool,
    pub most_pending_bytes: u64,
    pub pending: u32,
    pub pending_bytes: u64,
    /// Writes that wait for room.
    pub line: Line,
    pub raid: hypertwin_cluster::Raid,
    pub disk: Disk,
    pub disks: std::ops::Range<usize>,
    pub fronts: std::ops::Range<usize>,
    pub stream: Stream,
    pub reads: u64,
    pub hits: u64,
    pub queue: TimeAverage,
    pub waits: Waits,
}

pub struct DiskState {
    array: u32,
    used: u32,
    writing: u32,
    line: Line,
    /// Operations of acknowledged writes, which reads go before.
    later: Line,
    /// Transfers of flash, which has several channels.
    link: Link,
    pub busy: TimeAverage,
    pub queue: TimeAverage,
    pub waits: Waits,
}

impl DiskState {
    pub fn new(array: u32, disk: &Disk) -> Self {
        Self {
            array,
            used: 0,
            writing: 0,
            line: Line::default(),
            later: Line::default(),
            link: Link::new(disk.bytes_per_s, 0),
            busy: TimeAverage::new(),
            queue: TimeAverage::new(),
            waits: Waits::default(),
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

/// The I/O path of all VMs.
#[derive(Default)]
pub struct IoPath {
    pub ios: Vec<Io>,
    free: Vec<IoId>,
    pub vdisks: Vec<Vdisk>,
    pub depths: Vec<Depth>,
    pub controllers: Vec<Controller>,
    pub workers: Vec<Worker>,
    pub ports: Vec<Port>,
    pub fronts: Vec<Port>,
    pub arrays: Vec<Array>,
    pub disks: Vec<DiskState>,
    /// Stations of the report, with their positions in [`Depth::station`].
    pub stations: BTreeMap<Station, usize>,
}

impl IoPath {
    /// A new record for `vm`.
    pub fn allocate(&mut self, vm: usize, owner: ProcessId, vdisk: usize) -> IoId {
        let io = Io {
            vm: vm as u32,
            owner,
            vdisk: vdisk as u32,
            bytes: 0,
            role: Role::Request,
            step: Step::Issue,
            write: false,
            sequential: false,
            stage: 0,
            next: NONE,
            disk: NONE,
            parent: NONE,
            parts: 0,
            issued: 0,
            since: 0,
        };
        match self.free.pop() {
            Some(id) => {
                self.ios[id as usize] = io;
                id
            }
            None => {
                self.ios.push(io);
                (self.ios.len() - 1) as IoId
            }
        }
    }

    /// A record for a part of `parent`.
    fn part_of(&mut self, parent: IoId, role: Role) -> IoId {
        let whole = self.ios[parent as usize];
        let id = self.allocate(whole.vm as usize, whole.owner, whole.vdisk as usize);
        let part = &mut self.ios[id as usize];
        *part = Io {
            role,
            parent,
            parts: 0,
            stage: 0,
            ..whole
        };
        id
    }

    /// VM of a record.
    pub fn vm_of(&self, id: IoId) -> usize {
        self.ios[id as usize].vm as usize
    }
}

impl Simulation {
    /// Something happens to an I/O.
    pub fn on_io(&mut self, id: IoId) {
        match self.io.ios[id as usize].step {
            Step::Issue => self.hand_to_worker(id),
            Step::Array => self.in_array(id),
            Step::Disk => self.disk_done(id),
            Step::Host => self.complete(id),
        }
    }

    fn step(&mut self, id: IoId, step: Step, time: Nanos) {
        self.io.ios[id as usize].step = step;
        self.at(time, WORK, Event::Io(id));
    }

    // ---- the guest

    /// An I/O of a generator may be issued again as soon as its rate allows it.
    fn reissue(&mut self, id: IoId) {
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
            let time = io.next_issue_ns.max(self.now as f64);
            io.next_issue_ns = time + io.gap_ns;
            if time as Nanos > self.now {
                self.step(id, Step::Issue, time as Nanos);
                return true;
            }
        }
        false
    }

    fn hand_to_worker(&mut self, id: IoId) {
        let owner = self.io.ios[id as usize].owner;
        let worker = self.worker_of(owner);
        self.io.workers[worker].line.push(&mut self.io.ios, id);
        self.start_worker(owner);
    }

    fn worker_of(&self, process: ProcessId) -> usize {
        let process = &self.processes[process as usize];
        let first = self.vms[process.vm as usize]
            .io
            .as_ref()
            .map_or(0, |io| io.first_worker);
        first + process.session as usize
    }

    /// Wakes the worker `process` if it is idle and has something to do.
    pub fn start_worker(&mut self, process: ProcessId) {
        let worker = self.worker_of(process);
        let idle = self.processes[process as usize].phase == Phase::Think;
        if idle && self.io.workers[worker].line.length > 0 {
            let vm = self.processes[process as usize].vm as usize;
            self.vms[vm].in_progress += 1;
            self.begin_burst(process);
        }
    }

    /// The worker `process` takes the next I/O: its work for it.
    pub fn take_io(&mut self, process: ProcessId) -> f64 {
        let worker_index = self.worker_of(process);
        let worker = &mut self.io.workers[worker_index];
        let vm = &mut self.vms[self.processes[process as usize].vm as usize];
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
        let vm_index = self.processes[process as usize].vm as usize;
        let Some(io) = &mut self.vms[vm_index].io else {
            return false;
        };
        let due = io.per_burst + io.carry;
        io.carry = due.fract();
        let count = due as u32;
        self.processes[process as usize].ios_left = count;
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
        io.issued = self.now;
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
                PORTS => return self.send_to_array(id),
                _ => self.io.vdisks[vdisk].route[stage - usize::from(stage > CONTROLLER)],
            };
            if depth != NONE && !self.io.depths[depth as usize].enter(self.now, &mut self.io.ios, id) {
                return;
            }
        }
    }

    fn queue_on_controller(&mut self, id: IoId) {
        let index = self.io.vdisks[self.io.ios[id as usize].vdisk as usize].controller as usize;
        self.io.ios[id as usize].since = self.now;
        let controller = &mut self.io.controllers[index];
        controller.line.push(&mut self.io.ios, id);
        controller.queue.set(self.now, f64::from(controller.line.length));
        let world = controller.world;
        // A world that is about to wake has a request already.
        if controller.current == NONE && self.worlds[world].state == State::Wait && self.start_on_controller(index) {
            self.ready_helpers.push_back(world);
        }
    }

    /// Gives a controller's world its next request; `false` if there is none.
    fn start_on_controller(&mut self, index: usize) -> bool {
        let controller = &mut self.io.controllers[index];
        let Some(id) = controller.line.pop(&self.io.ios) else {
            return false;
        };
        controller.current = id;
        controller.waits.add(self.now - self.io.ios[id as usize].since);
        controller.queue.set(self.now, f64::from(controller.line.length));
        self.worlds[controller.world].remaining_ns = controller.work_ns;
        true
    }

    /// A controller's world is done with its request, and takes the next; `false` if there is none.
    pub fn next_on_controller(&mut self, index: usize) -> bool {
        let id = std::mem::replace(&mut self.io.controllers[index].current, NONE);
        if id != NONE {
            self.advance(id);
        }
        self.start_on_controller(index)
    }

    /// An I/O is back: its places go to those in line, and the guest hears of it now or with a later one.
    fn complete(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let Vdisk {
            route,
            controller,
            port,
            front,
            ..
        } = self.io.vdisks[io.vdisk as usize];
        let direction = usize::from(!io.write);
        self.io.ports[port as usize].bytes[direction] += u64::from(io.bytes);
        self.io.fronts[front as usize].bytes[direction] += u64::from(io.bytes);
        for depth in route.into_iter().rev().filter(|&depth| depth != NONE) {
            if let Some(next) = self.io.depths[depth as usize].leave(self.now, &self.io.ios) {
                self.advance(next);
            }
        }
        let in_flight = self.io.depths[route[RING] as usize].used;
        let controller_state = &mut self.io.controllers[controller as usize];
        controller_state.held.push(&mut self.io.ios, id);
        if controller_state.coalescing.interrupts(self.now, in_flight) {
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
    fn part_done(&mut self, parent: IoId) -> bool {
        let parent = &mut self.io.ios[parent as usize];
        parent.parts -= 1;
        parent.parts == 0
    }

    fn end_io(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let latency = self.now - io.issued;
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
        let process = &mut self.processes[io.owner as usize];
        process.ios_left -= 1;
        if process.ios_left == 0 {
            self.wait_out_delay(io.owner);
        }
    }

    // ---- ports and arrays

    fn send_to_array(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let vdisk = &self.io.vdisks[io.vdisk as usize];
        let way_ns = self.vms[io.vm as usize].io.as_ref().map_or(0, |io| io.way_ns);
        let latency_ns = self.io.arrays[vdisk.array as usize].latency_ns;
        let mut leaves = self.now;
        if io.write {
            leaves = self.transfer(id, |port| &mut port.up);
        }
        self.step(id, Step::Array, leaves + way_ns + latency_ns);
    }

    /// The data of an I/O pass both of its ports; frames follow each other, so it takes as long as the slower one.
    fn transfer(&mut self, id: IoId, link: fn(&mut Port) -> &mut Link) -> Nanos {
        let io = self.io.ios[id as usize];
        let Vdisk { port, front, .. } = self.io.vdisks[io.vdisk as usize];
        let ends = [&mut self.io.ports[port as usize], &mut self.io.fronts[front as usize]].map(|port| {
            let (wait, end) = link(port).pass(self.now, u64::from(io.bytes));
            port.waits.add(wait);
            end
        });
        ends[0].max(ends[1])
    }

    fn in_array(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let index = self.io.vdisks[io.vdisk as usize].array as usize;
        let array = &mut self.io.arrays[index];
        if !io.write {
            array.reads += 1;
            if array.hit_ratio >= 1.0 || array.stream.uniform() < array.hit_ratio {
                array.hits += 1;
                self.send_back(id);
            } else {
                self.queue_on_disk(index, id);
            }
        } else if !array.write_back {
            self.write_disks(index, id);
        } else if array.line.length == 0 && array.has_room(io.bytes) {
            array.waits.add(0);
            self.accept(index, id);
        } else {
            self.io.ios[id as usize].since = self.now;
            array.line.push(&mut self.io.ios, id);
            array.queue.set(self.now, f64::from(array.line.length));
        }
    }

    /// Data go back to the host.
    fn send_back(&mut self, id: IoId) {
        let way_ns = self.vms[self.io.vm_of(id)].io.as_ref().map_or(0, |io| io.way_ns);
        let end = self.transfer(id, |port| &mut port.down);
        self.step(id, Step::Host, end + way_ns);
    }

    /// The answer to a write goes back.
    fn acknowledge(&mut self, id: IoId) {
        let way_ns = self.vms[self.io.vm_of(id)].io.as_ref().map_or(0, |io| io.way_ns);
        self.step(id, Step::Host, self.now + way_ns);
    }

    /// The cache takes a write.
    fn accept(&mut self, index: usize, id: IoId) {
        let destage = self.io.part_of(id, Role::Destage);
        let array = &mut self.io.arrays[index];
        array.pending += 1;
        array.pending_bytes += u64::from(self.io.ios[id as usize].bytes);
        self.write_disks(index, destage);
        self.acknowledge(id);
    }

    /// Disk operations for the write `id`.
    fn write_disks(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let (reads, writes) = write_operations(self.io.arrays[index].raid, io.sequential);
        self.io.ios[id as usize].parts = reads + writes;
        for number in 0..reads + writes {
            let operation = self.io.part_of(id, Role::Operation);
            self.io.ios[operation as usize].write = number >= reads;
            self.queue_on_disk(index, operation);
        }
    }

    // ---- disks

    fn queue_on_disk(&mut self, index: usize, id: IoId) {
        let array = &mut self.io.arrays[index];
        let disk = array.disks.start + array.stream.below(array.disks.len() as u64) as usize;
        let io = &mut self.io.ios[id as usize];
        io.disk = disk as u32;
        io.since = self.now;
        let state = &mut self.io.disks[disk];
        if state.used < array.disk.channels {
            state.waits.add(0);
            self.start_on_disk(id);
            return;
        }
        let later = io.parent != NONE && self.io.ios[self.io.ios[id as usize].parent as usize].role == Role::Destage;
        let line = if later { &mut state.later } else { &mut state.line };
        line.push(&mut self.io.ios, id);
        state
            .queue
            .set(self.now, f64::from(state.line.length + state.later.length));
    }

    fn start_on_disk(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let state = &mut self.io.disks[io.disk as usize];
        let array = &mut self.io.arrays[state.array as usize];
        let operation = Operation {
            bytes: u64::from(io.bytes),
            write: io.write,
            sequential: io.sequential,
            waiting: state.line.length + state.later.length,
            writing: state.writing,
        };
        let service_ns = array
            .disk
            .service_ns(operation, array.stream.uniform(), array.stream.uniform());
        let mut end = self.now + service_ns;
        if array.disk.channels > 1 {
            end = end.max(state.link.pass(self.now, u64::from(io.bytes)).1);
        }
        state.used += 1;
        state.writing += u32::from(io.write);
        state.busy.set(self.now, f64::from(state.used));
        self.step(id, Step::Disk, end);
    }

    fn disk_done(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let state = &mut self.io.disks[io.disk as usize];
        let index = state.array as usize;
        state.used -= 1;
        state.writing -= u32::from(io.write);
        state.busy.set(self.now, f64::from(state.used));
        // Reads go first, except while writes wait for the cache to empty.
        let full = self.io.arrays[index].line.length > 0;
        let next = if full {
            state.later.pop(&self.io.ios).or_else(|| state.line.pop(&self.io.ios))
        } else {
            state.line.pop(&self.io.ios).or_else(|| state.later.pop(&self.io.ios))
        };
        if let Some(next) = next {
            state.waits.add(self.now - self.io.ios[next as usize].since);
            state
                .queue
                .set(self.now, f64::from(state.line.length + state.later.length));
            self.start_on_disk(next);
        }
        if io.role != Role::Operation {
            self.send_back(id);
            return;
        }
        self.io.free.push(id);
        if self.part_done(io.parent) {
            self.written(index, io.parent);
        }
    }

    /// Every disk operation of a write is done.
    fn written(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        if io.role != Role::Destage {
            self.acknowledge(id);
            return;
        }
        self.io.free.push(id);
        let array = &mut self.io.arrays[index];
        array.pending -= 1;
        array.pending_bytes -= u64::from(io.bytes);
        while let Some(first) = self.io.arrays[index].first_that_fits(&self.io.ios) {
            let array = &mut self.io.arrays[index];
            array.line.pop(&self.io.ios);
            array.queue.set(self.now, f64::from(array.line.length));
            array.waits.add(self.now - self.io.ios[first as usize].since);
            self.accept(index, first);
        }
    }
}

impl Array {
    fn has_room(&self, bytes: u32) -> bool {
        let fits = self.pending_bytes + u64::from(bytes) <= self.most_pending_bytes;
        self.pending == 0 || fits && self.pending < MOST_PENDING
    }

    fn first_that_fits(&self, ios: &[Io]) -> Option<IoId> {
        let first = self.line.head;
        (first != NONE && self.has_room(ios[first as usize].bytes)).then_some(first)
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
