//! Disks: operations wait in line, and take as long as the kind of disk says.

use super::{Io, IoId, IoPath, Line, Role, Step, Waits};
use crate::simulation::Simulation;
use hypertwin_kernel::{Stream, TimeAverage};
use hypertwin_models::storage::disk::{Disk, Operation};
use hypertwin_models::storage::link::Link;

/// Whose disks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Array(usize),
    Pool(usize),
}

/// Disks of one kind in one array or pool.
pub struct DiskSet {
    pub owner: Owner,
    pub disk: Disk,
    /// Operations that one of them works on at a time.
    pub depth: u32,
    pub stream: Stream,
}

pub struct DiskState {
    pub set: u32,
    used: u32,
    line: Line,
    /// Operations that nobody waits for, which the others go before.
    later: Line,
    /// Flash: its channels, and the transfers beside them.
    pub channels: Vec<Link>,
    link: Link,
    pub failed: bool,
    pub busy: TimeAverage,
    pub queue: TimeAverage,
    pub waits: Waits,
    /// Read and written so far.
    pub bytes: [u64; 2],
}

impl IoPath {
    /// `count` new disks of a set.
    pub fn add_disks(&mut self, set: DiskSet, count: u32) -> std::ops::Range<usize> {
        let (first, link) = (self.disks.len(), Link::new(set.disk.bytes_per_s, 0));
        let channels = set.disk.flash().map_or(0, |flash| flash.channels as usize);
        self.disk_sets.push(set);
        let set = (self.disk_sets.len() - 1) as u32;
        self.disks.extend((0..count).map(|_| DiskState {
            set,
            used: 0,
            line: Line::default(),
            later: Line::default(),
            channels: vec![Link::new(f64::INFINITY, 0); channels],
            link,
            failed: false,
            busy: TimeAverage::new(),
            queue: TimeAverage::new(),
            waits: Waits::default(),
            bytes: [0; 2],
        }));
        first..self.disks.len()
    }
}

impl DiskState {
    fn in_line(&self) -> u32 {
        self.line.length + self.later.length
    }

    /// Whether the first of what nobody waits for has waited for longest.
    fn later_is_older(&self, ios: &[Io]) -> bool {
        let since = |line: &Line| line.first().map(|id| ios[id as usize].since);
        match (since(&self.later), since(&self.line)) {
            (Some(later), Some(other)) => later < other,
            (later, _) => later.is_some(),
        }
    }

    /// The next in line of a disk that has failed.
    pub fn give_up(&mut self, ios: &[Io]) -> Option<IoId> {
        self.line.pop(ios).or_else(|| self.later.pop(ios))
    }
}

impl Simulation {
    /// An operation goes to a disk; `later`, if nobody waits for it.
    pub fn queue_on_disk(&mut self, disk: usize, id: IoId, later: bool) {
        let io = &mut self.io.ios[id as usize];
        io.disk = disk as u32;
        io.since = self.clock.now;
        let state = &mut self.io.disks[disk];
        if state.used < self.io.disk_sets[state.set as usize].depth {
            state.waits.add(0);
            self.start_on_disk(id);
            return;
        }
        let line = if later { &mut state.later } else { &mut state.line };
        line.push(&mut self.io.ios, id);
        state.queue.set(self.clock.now, f64::from(state.in_line()));
    }

    fn start_on_disk(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let state = &mut self.io.disks[io.disk as usize];
        let set = &mut self.io.disk_sets[state.set as usize];
        let operation = Operation {
            bytes: u64::from(io.bytes),
            write: io.write,
            sequential: io.sequential,
            waiting: state.in_line(),
        };
        let end = match set.disk.flash() {
            None => {
                let (seek, rotation) = (set.stream.uniform(), set.stream.uniform());
                self.clock.now + set.disk.service_ns(operation, seek, rotation)
            }
            Some(flash) => {
                let (count, busy_ns) = flash.work(operation);
                let first = set.stream.below(state.channels.len() as u64) as usize;
                let mut busy_until = 0;
                for number in 0..count as usize {
                    let channel = (first + number) % state.channels.len();
                    busy_until = busy_until.max(state.channels[channel].occupy(self.clock.now, busy_ns).1);
                }
                let transferred = state.link.pass(self.clock.now, operation.bytes).1;
                match io.write {
                    true => flash.acknowledged_ns(transferred, busy_until),
                    false => transferred.max(busy_until),
                }
            }
        };
        state.used += 1;
        state.busy.set(self.clock.now, f64::from(state.used));
        self.step(id, Step::Disk, end);
    }

    /// A disk is done with an operation, and takes the next.
    pub(super) fn disk_done(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let disk = io.disk as usize;
        let state = &mut self.io.disks[disk];
        let owner = self.io.disk_sets[state.set as usize].owner;
        state.used -= 1;
        state.busy.set(self.clock.now, f64::from(state.used));
        if !state.failed {
            state.bytes[usize::from(io.write)] += u64::from(io.bytes);
        }
        // What somebody waits for goes first, except while writes wait for the others to make room.
        let full = match owner {
            Owner::Array(array) => self.io.arrays[array].is_full(),
            // in turn, so that writes without end leave something for reads and for rebuilding
            Owner::Pool(pool) => {
                self.pools[pool].journal_is_full(disk) && self.io.disks[disk].later_is_older(&self.io.ios)
            }
        };
        let state = &mut self.io.disks[disk];
        let (first, second) = match full {
            true => (&mut state.later, &mut state.line),
            false => (&mut state.line, &mut state.later),
        };
        if let Some(next) = first.pop(&self.io.ios).or_else(|| second.pop(&self.io.ios)) {
            state.waits.add(self.clock.now - self.io.ios[next as usize].since);
            state.queue.set(self.clock.now, f64::from(state.in_line()));
            self.start_on_disk(next);
        }
        match (owner, io.role) {
            (Owner::Array(array), Role::Operation) => {
                self.io.free.push(id);
                if self.part_done(io.parent) {
                    self.written(array, io.parent);
                }
            }
            (Owner::Array(_), _) => self.send_back(id),
            (Owner::Pool(pool), _) => self.pool_disk_done(pool, id),
        }
    }
}
