//! Storage arrays: their front-end ports, their cache, and what a write costs their disks.

use super::{Io, IoId, Line, NONE, Port, Role, Step, Waits};
use crate::io::guest::Target;
use crate::simulation::Simulation;
use hypertwin_kernel::{Nanos, TimeAverage};
use hypertwin_models::storage::array::write_operations;
use hypertwin_models::storage::link::Link;

/// Writes that an array keeps for its disks, whatever their size.
const MOST_PENDING: u32 = 65_536;

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
    /// Its disks and their set.
    pub disks: std::ops::Range<usize>,
    pub set: usize,
    pub fronts: std::ops::Range<usize>,
    pub reads: u64,
    pub hits: u64,
    pub queue: TimeAverage,
    pub waits: Waits,
}
impl Simulation {
    // ---- ports and arrays

    /// An I/O leaves the host for its array.
    pub(super) fn send_to_array(&mut self, id: IoId, array: usize) {
        let io = self.io.ios[id as usize];
        let way_ns = self.vms[io.vm as usize].io.as_ref().map_or(0, |io| io.way_ns);
        let latency_ns = self.io.arrays[array].latency_ns;
        let mut leaves = self.clock.now;
        if io.write {
            leaves = self.transfer(id, |port| &mut port.up);
        }
        self.step(id, Step::Array, leaves + way_ns + latency_ns);
    }

    /// The data of an I/O pass both of its ports; frames follow each other, so it takes as long as the slower one.
    fn transfer(&mut self, id: IoId, link: fn(&mut Port) -> &mut Link) -> Nanos {
        let io = self.io.ios[id as usize];
        let Target::Array { port, front, .. } = self.io.vdisks[io.vdisk as usize].target else {
            return self.clock.now;
        };
        let ends = [&mut self.io.ports[port as usize], &mut self.io.fronts[front as usize]].map(|port| {
            let (wait, end) = link(port).pass(self.clock.now, u64::from(io.bytes));
            port.waits.add(wait);
            end
        });
        ends[0].max(ends[1])
    }

    /// An array has looked at an I/O.
    pub(super) fn in_array(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let Target::Array { array: index, .. } = self.io.vdisks[io.vdisk as usize].target else {
            return;
        };
        let index = index as usize;
        let array = &mut self.io.arrays[index];
        if !io.write {
            array.reads += 1;
            let stream = &mut self.io.disk_sets[array.set].stream;
            if array.hit_ratio >= 1.0 || stream.uniform() < array.hit_ratio {
                array.hits += 1;
                self.send_back(id);
            } else {
                self.queue_in_array(index, id);
            }
        } else if !array.write_back {
            self.write_disks(index, id);
        } else if array.line.length == 0 && array.has_room(io.bytes) {
            array.waits.add(0);
            self.accept(index, id);
        } else {
            self.io.ios[id as usize].since = self.clock.now;
            array.line.push(&mut self.io.ios, id);
            array.queue.set(self.clock.now, f64::from(array.line.length));
        }
    }

    /// Data go back to the host.
    pub(super) fn send_back(&mut self, id: IoId) {
        let way_ns = self.vms[self.io.vm_of(id)].io.as_ref().map_or(0, |io| io.way_ns);
        let end = self.transfer(id, |port| &mut port.down);
        self.step(id, Step::Host, end + way_ns);
    }

    /// The answer to a write goes back.
    fn acknowledge(&mut self, id: IoId) {
        let way_ns = self.vms[self.io.vm_of(id)].io.as_ref().map_or(0, |io| io.way_ns);
        self.step(id, Step::Host, self.clock.now + way_ns);
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
            self.queue_in_array(index, operation);
        }
    }

    fn queue_in_array(&mut self, index: usize, id: IoId) {
        let array = &self.io.arrays[index];
        let stream = &mut self.io.disk_sets[array.set].stream;
        let disk = array.disks.start + stream.below(array.disks.len() as u64) as usize;
        let parent = self.io.ios[id as usize].parent;
        let later = parent != NONE && self.io.ios[parent as usize].role == Role::Destage;
        self.queue_on_disk(disk, id, later);
    }

    /// Every disk operation of a write is done.
    pub(super) fn written(&mut self, index: usize, id: IoId) {
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
            array.queue.set(self.clock.now, f64::from(array.line.length));
            array.waits.add(self.clock.now - self.io.ios[first as usize].since);
            self.accept(index, first);
        }
    }
}

impl Array {
    /// Whether writes wait for room.
    pub fn is_full(&self) -> bool {
        self.line.length > 0
    }

    fn has_room(&self, bytes: u32) -> bool {
        let fits = self.pending_bytes + u64::from(bytes) <= self.most_pending_bytes;
        self.pending == 0 || fits && self.pending < MOST_PENDING
    }

    fn first_that_fits(&self, ios: &[Io]) -> Option<IoId> {
        self.line
            .first()
            .filter(|&first| self.has_room(ios[first as usize].bytes))
    }
}
