//! A VM with virtual disks: what its I/Os are like, how fast they may come, and what is measured of them.

use crate::ids::{ControllerId, HostId, IoThreadId, Span, Table, VdiskId, VmId, WorkerId};
use crate::responses::Responses;
use crate::storage::request::Io;
use crate::storage::work::DriverWork;
use hypertwin_kernel::{Histogram, Nanos, Stream};
use std::mem::offset_of;
use std::ops::{Index, IndexMut};

/// What the I/Os of a virtual disk are to those who issue them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All there is.
    Whole,
    /// The read with which a copy begins, and the write with which it ends.
    CopyRead,
    CopyWrite,
}

/// A VM's part of the path.
// in this order: all that an I/O needs is in the first line of the cache
#[repr(C, align(64))]
pub struct VmIo {
    pub host: HostId,
    /// What its I/Os are like, by its number in the path.
    pub profile: u32,
    pub vdisks: Span<VdiskId>,
    /// The virtual disk whose turn is next.
    pub next_vdisk: u32,
    /// I/Os of a burst that are left over for the next, as a fraction.
    pub carry: f64,
    pub stream: Stream,
    /// When the rate allows the next I/O.
    pub next_issue_ns: f64,
    pub group: usize,
    /// Of one that copies: the bytes that it does, all of what its virtual disks have in use.
    pub copied_bytes: Option<u64>,
    pub controllers: Span<ControllerId>,
    pub threads: Span<IoThreadId>,
    pub workers: Span<WorkerId>,
    /// I/Os that a generator keeps outstanding.
    pub outstanding: usize,
    /// Of reads, and of writes.
    pub measured: [IoMeasured; 2],
}

const _: () = assert!(offset_of!(VmIo, next_issue_ns) <= 64);

/// What the I/Os of VMs are like and cost, which those of a group mostly have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct IoProfile {
    pub part: Part,
    /// Sizes with the cumulative probability of each; the last one's is 1.
    pub blocks: Vec<(f64, u32)>,
    /// The largest I/O that is not split.
    pub largest: u32,
    /// Fractions of the I/Os that are reads, and at random.
    pub read: f64,
    pub random: f64,
    /// Fraction of the writes that are synchronous.
    pub sync: f64,
    /// Bytes that the I/Os of one virtual disk are spread over.
    pub working_set: u64,
    /// Fraction of random reads that hit a pool's cache on the host.
    pub cached: f64,
    /// Work of the guest for an I/O and for an interrupt, in nanoseconds alone on a core at the reference clock.
    pub guest_ns: f64,
    pub interrupt_ns: f64,
    /// Work of the host's driver for an I/O, beside the controller's.
    pub driver: DriverWork,
    /// A thread of its controller handles completions.
    pub completes_by_thread: bool,
    /// Time between I/Os that the rate allows, 0 for any rate.
    pub gap_ns: f64,
    /// I/Os of a burst of a transaction.
    pub per_burst: f64,
}

/// What is measured of the reads or the writes of one VM.
pub struct IoMeasured {
    pub latencies: Histogram,
    pub bytes: f64,
}

impl IoProfile {
    /// The mean work of a driver for an I/O.
    pub fn mean_work(&self, driver: &DriverWork) -> f64 {
        let mut upto = 0.0;
        let mut mean_ns = 0.0;
        for &(next, bytes) in &self.blocks {
            for (is_write, of_ways) in [(false, self.read), (true, 1.0 - self.read)] {
                for (is_sequential, of_places) in [(false, self.random), (true, 1.0 - self.random)] {
                    mean_ns += (next - upto) * of_ways * of_places * driver.work_ns(bytes, is_write, is_sequential);
                }
            }
            upto = next;
        }
        mean_ns
    }

    /// Draws what an I/O is: its size, its direction, and whether it follows the one before.
    #[inline]
    pub fn draw(&self, stream: &mut Stream, io: &mut Io) {
        if self.part == Part::CopyWrite {
            // of as many bytes as were read, in the same order
            io.write = true;
            io.sync = self.sync > 0.0 && stream.uniform() < self.sync;
            return;
        }
        io.bytes = match self.blocks.as_slice() {
            [(_, bytes)] => *bytes,
            blocks => {
                let drawn = stream.uniform();
                blocks
                    .iter()
                    .find(|(upto, _)| drawn < *upto)
                    .unwrap_or(&blocks[blocks.len() - 1])
                    .1
            }
        };
        io.write = self.read < 1.0 && stream.uniform() >= self.read;
        io.sequential = self.random < 1.0 && stream.uniform() >= self.random;
        io.sync = io.write && self.sync > 0.0 && stream.uniform() < self.sync;
    }
}

impl VmIo {
    /// Latencies of reads and writes together.
    pub fn latencies(&self) -> Responses {
        let [reads, writes] = &self.measured;
        Responses::of(&reads.latencies).and(&Responses::of(&writes.latencies))
    }

    /// When the next I/O may go, at the earliest `now`; the one after it `gap_ns` later.
    #[inline]
    pub fn next_issue(&mut self, gap_ns: f64, now: Nanos) -> Nanos {
        if gap_ns <= 0.0 {
            return now;
        }
        let time = self.next_issue_ns.max(now as f64);
        self.next_issue_ns = time + gap_ns;
        time as Nanos
    }

    /// I/Os that the next burst of a transaction begins with.
    pub fn due(&mut self, per_burst: f64) -> u32 {
        let due = per_burst + self.carry;
        self.carry = due.fract();
        due as u32
    }

    /// The virtual disks at which I/Os begin: of one that copies those that it reads.
    pub fn first_vdisks(&self) -> Span<VdiskId> {
        let ends = if self.copied_bytes.is_some() { 2 } else { 1 };
        Span::new(self.vdisks.start(), self.vdisks.len() / ends)
    }

    /// The virtual disk of the next I/O: they take turns.
    pub fn next_vdisk(&mut self) -> VdiskId {
        let vdisk = self.vdisks.at(self.next_vdisk as usize);
        self.next_vdisk = (self.next_vdisk + 1) % self.vdisks.len() as u32;
        vdisk
    }
}

impl IoMeasured {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            latencies: Histogram::new(),
            bytes: 0.0,
        }
    }

    /// Measures from now.
    pub fn reset(&mut self) {
        self.latencies.reset();
        self.bytes = 0.0;
    }
}

/// All VMs of the cluster, those without virtual disks as gaps.
pub struct Vms(Table<VmId, Option<VmIo>>);

impl Vms {
    pub fn new() -> Self {
        Self(Table::new())
    }

    pub fn push(&mut self, vm: Option<VmIo>) {
        self.0.push(vm);
    }

    /// A VM, if it has virtual disks.
    pub fn get(&self, vm: VmId) -> Option<&VmIo> {
        self.0[vm].as_ref()
    }

    /// Likewise, to change it.
    pub fn get_mut(&mut self, vm: VmId) -> Option<&mut VmIo> {
        self.0[vm].as_mut()
    }

    /// All with virtual disks.
    pub fn iter(&self) -> impl Iterator<Item = (VmId, &VmIo)> {
        self.0
            .ids()
            .zip(self.0.iter())
            .filter_map(|(id, vm)| Some((id, vm.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut VmIo> {
        self.0.iter_mut().flatten()
    }
}

impl Index<VmId> for Vms {
    type Output = VmIo;

    #[inline]
    fn index(&self, vm: VmId) -> &VmIo {
        self.0[vm].as_ref().expect("only a VM with virtual disks does I/O")
    }
}

impl IndexMut<VmId> for Vms {
    #[inline]
    fn index_mut(&mut self, vm: VmId) -> &mut VmIo {
        self.0[vm].as_mut().expect("only a VM with virtual disks does I/O")
    }
}
