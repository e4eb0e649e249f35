//! The I/O path of a run: from a guest's process through vdisk, virtual controller, LUN and port to the array, and back.
//!
//! An I/O takes a place in one depth after another, waits in line where there is none, and gives all of them back
//! when it completes. In between, the controller's world works on it, links pass it and the array answers. Links need
//! no event of their own, so an I/O which hits the array's cache costs four: its worker, its controller's world, the array's
//! answer, the way back. A miss adds the disk.

mod array;
mod build;
mod disks;
mod guest;
mod meter;

use crate::clock::Event;
pub use crate::ids::IoId;
use crate::ids::ProcessId;
use crate::simulation::Simulation;
use crate::stations::Station;
use array::Array;
pub use build::port;
pub use disks::{DiskSet, DiskState, Owner};
use guest::{Controller, Vdisk, Worker};
pub use guest::{Target, VmIo};
use hypertwin_kernel::{Nanos, TimeAverage};
use hypertwin_models::storage::link::Link;
pub use meter::{Meter, Passages};
use std::collections::BTreeMap;

/// No I/O, and no depth on a route.
pub const NONE: u32 = u32::MAX;

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An I/O of the guest, or a part of one that was split.
    Request,
    /// One operation of a disk, for a write.
    Operation,
    /// A write that is acknowledged and still has to reach the disks.
    Destage,
    /// What one device of a pool does for an I/O.
    Leg,
    /// A piece of a device's data that is made anew on another, and what one device reads for it.
    Rebuild,
    RebuildRead,
}

/// What happens to an I/O next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its worker may issue it: the rate allows it.
    Issue,
    /// The array has looked at it.
    Array,
    /// A disk is done with it.
    Disk,
    /// It is back at the host.
    Host,
    /// It reaches a node of a pool, or the answer of that node reaches who asked.
    Arrive,
    Back,
    /// It is tried again, or begins after its turn has come.
    Retry,
}

/// One I/O.
#[derive(Clone, Copy, Debug)]
pub struct Io {
    /// Its VM; [`NONE`] for what a pool does of itself.
    pub vm: u32,
    pub owner: ProcessId,
    pub vdisk: u32,
    pub bytes: u32,
    pub role: Role,
    step: Step,
    pub write: bool,
    pub sequential: bool,
    /// The next stage of its way.
    stage: u8,
    /// Next in the line that it is in.
    next: IoId,
    pub disk: u32,
    /// The record that waits for this one, and how many this one waits for.
    pub parent: IoId,
    pub parts: u32,
    issued: Nanos,
    /// When it joined the line that it is in.
    pub since: Nanos,
    /// In a pool: the placement group, and which of its members.
    pub group: u32,
    pub member: u8,
    /// The device that it is for, by its number in the pool; and where in its virtual disk an I/O begins.
    pub device: u32,
    pub place: u64,
    /// Bytes that devices have written for it.
    pub sent: u64,
    /// The leg that its node passes it on to, and how long its answer is on its way, without the transfer.
    pub chain: IoId,
    pub back_ns: Nanos,
    /// Some leg of it failed.
    pub failed: bool,
    /// Its reads are done or not needed: the writes are under way.
    pub writing: bool,
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

    pub fn first(&self) -> Option<IoId> {
        (self.head != NONE).then_some(self.head)
    }

    pub fn pop(&mut self, ios: &[Io]) -> Option<IoId> {
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
    pub fn add(&mut self, wait_ns: Nanos) {
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

/// The I/O path of all VMs.
#[derive(Default)]
pub struct IoPath {
    pub ios: Vec<Io>,
    pub free: Vec<IoId>,
    pub vdisks: Vec<Vdisk>,
    /// Where somebody looks at a run sample by sample.
    pub meter: Option<Meter>,
    pub depths: Vec<Depth>,
    pub controllers: Vec<Controller>,
    pub workers: Vec<Worker>,
    pub ports: Vec<Port>,
    pub fronts: Vec<Port>,
    pub arrays: Vec<Array>,
    pub disks: Vec<DiskState>,
    pub disk_sets: Vec<DiskSet>,
    /// Network ports of hosts that use or carry pools.
    pub nics: Vec<Port>,
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
            group: NONE,
            member: 0,
            device: NONE,
            place: 0,
            sent: 0,
            chain: NONE,
            back_ns: 0,
            failed: false,
            writing: false,
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
    pub fn part_of(&mut self, parent: IoId, role: Role) -> IoId {
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
            Step::Arrive => self.arrive(id),
            Step::Back => self.leg_back(id),
            Step::Retry => self.retry(id),
        }
    }

    pub fn step(&mut self, id: IoId, step: Step, time: Nanos) {
        self.io.ios[id as usize].step = step;
        self.clock.at(time, Event::Io(id));
    }
}
