//! The records of I/Os: one for each I/O of a guest, and one for each part that arrays and pools make of it.
//!
//! Records are kept in a slab and used again, so that a run allocates nothing for an I/O. A record holds what every I/O
//! has. What only one component needs of it lives in that component's own [`PerIo`] table, under the same number.
//!
//! **A copy is two I/Os of one record.** A VM that copies has virtual disks at both ends. When the read returns, the
//! worker handles the record again and sends it to the disk of the other end. One function (`VmGroup::ends`) locates
//! virtual disks for placement, checks, islands, pools and LUNs. For other I/Os, this design costs one comparison with
//! the purpose of the I/O profile (all, a read, a write).

use crate::clock::{Clock, Event};
use crate::ids::{DiskId, HostId, Id, IoId, IoThreadId, PoolId, ProcessId, VdiskId, WorkerId};
use hypertwin_kernel::Nanos;
use std::ops::{Index, IndexMut};

/// No I/O.
pub const NONE: IoId = IoId::MAX;

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An I/O of the guest, or a part of one that was split.
    Request,
    /// One disk operation of an array, for a write.
    Operation,
    /// A write that is acknowledged and still has to reach the disks.
    Destage,
    /// What a pool that buffers or logs writes brings to their places later.
    Sweep,
    /// What one device of a pool does for a request.
    Leg,
    /// What the primary of a group does for a request: legs are its parts.
    Primary,
    /// A piece of a device's data that is rebuilt on another.
    Rebuild,
    /// What one device reads for such a piece.
    RebuildRead,
    /// What one device reads for a deep scrub.
    Scrub,
    /// The write of a log for all transactions that it commits.
    Log,
    /// Pages of memory to or from a swap device.
    Page,
}

impl Role {
    /// Whether it is for data that are made anew.
    #[inline]
    pub fn is_rebuilding(self) -> bool {
        matches!(self, Self::Rebuild | Self::RebuildRead)
    }
}

/// What happens to an I/O next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its worker may issue it: the rate allows it.
    Issue,
    /// The thread of its controller is awake for it.
    Kick(IoThreadId),
    /// It goes along its route.
    Route,
    /// The array has looked at it.
    Array,
    /// A disk is done with it.
    Disk,
    /// The flush is over that it is the first write of.
    Flushed,
    /// It is back at the host.
    Host,
    /// The thread of its controller is awake for its completion.
    Woken,
    /// Its answer was lost on its path; it is sent again.
    Resend,
    /// It reaches a node of the pool.
    Arrive(PoolId),
    /// The reply of a node reaches the client.
    Back(PoolId),
    /// It is back from a swap device.
    Paged,
    /// It is back, and its worker hears of it when it issues it again: until then it waits for that.
    Heard,
    /// The pool tries it again, or starts a rebuild or a scrub whose turn has come.
    Retry(PoolId),
}

/// Who waits for an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// A process that goes on when all I/Os of its burst are back.
    Process(ProcessId),
    /// A worker of a generator, which issues the I/O again.
    Worker(WorkerId),
    /// A pool, which rebuilds data.
    Pool,
    /// None any more: its VM has been powered off, and the request is dropped when it returns.
    Nobody,
    /// A fault, by its number.
    Fault(u32),
    /// A host, which swaps out.
    Host(HostId),
}

/// One I/O.
// one line of the cache
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Io {
    pub issuer: Issuer,
    /// Its virtual disk; meaningless for the I/Os of a pool itself.
    pub vdisk: VdiskId,
    pub bytes: u32,
    pub write: bool,
    pub sequential: bool,
    /// A write that is done when it is on stable media, and is not yet.
    pub sync: bool,
    pub role: Role,
    pub step: Step,
    /// The next stage of its route; of a primary, whether it goes on with what it has read.
    pub stage: u8,
    /// Next in the queue that it is in.
    pub next: IoId,
    /// When it joined that queue.
    pub since: Nanos,
    /// When its latency began: when the guest's driver took it; of a generator, when its worker could issue it first,
    /// or issued it again.
    pub issued: Nanos,
    /// The disk that works on it, now or last.
    pub disk: DiskId,
    /// The record that waits for this one.
    pub parent: IoId,
    /// How many records this one waits for; of a log: writes that wait for it.
    pub parts: u32,
}

const _: () = assert!(size_of::<Io>() == 64);

/// All records.
#[derive(Default)]
pub struct Requests {
    ios: Vec<Io>,
    free: Vec<IoId>,
}

impl Requests {
    /// Number of records, free ones included.
    pub fn len(&self) -> usize {
        self.ios.len()
    }

    /// A new record, without a size yet.
    pub fn allocate(&mut self, issuer: Issuer, vdisk: VdiskId) -> IoId {
        self.add(Io {
            issuer,
            vdisk,
            bytes: 0,
            write: false,
            sequential: false,
            sync: false,
            role: Role::Request,
            step: Step::Issue,
            stage: 0,
            next: NONE,
            since: 0,
            issued: 0,
            disk: DiskId::new(NONE as usize),
            parent: NONE,
            parts: 0,
        })
    }

    /// A record for a part of `parent`.
    #[inline]
    pub fn part_of(&mut self, parent: IoId, role: Role) -> IoId {
        let whole = self[parent];
        self.add(Io {
            role,
            parent,
            parts: 0,
            stage: 0,
            ..whole
        })
    }

    #[inline]
    fn add(&mut self, io: Io) -> IoId {
        match self.free.pop() {
            Some(id) => {
                self[id] = io;
                id
            }
            None => {
                self.ios.push(io);
                (self.ios.len() - 1) as IoId
            }
        }
    }

    /// Gives a record back.
    #[inline]
    pub fn release(&mut self, id: IoId) {
        self.free.push(id);
    }

    /// Records of guests' I/Os, whole ones and parts of those that were split.
    pub fn of_guests(&self) -> impl Iterator<Item = IoId> {
        let mut is_free = vec![false; self.ios.len()];
        self.free.iter().for_each(|&id| is_free[id as usize] = true);
        let ids = (0..self.ios.len() as IoId).filter(move |&id| !is_free[id as usize]);
        ids.filter(|&id| self[id].role == Role::Request && self[id].issuer != Issuer::Nobody)
    }

    /// One part less to wait for; whether it was the last.
    #[inline]
    pub fn part_done(&mut self, parent: IoId) -> bool {
        let parent = &mut self[parent];
        debug_assert!(parent.parts > 0, "a record waits for each of its parts once");
        parent.parts -= 1;
        parent.parts == 0
    }

    /// `step` happens to an I/O at `time`.
    #[inline]
    pub fn at(&mut self, id: IoId, step: Step, time: Nanos, clock: &mut Clock) {
        self[id].step = step;
        clock.at(time, Event::Io(id));
    }
}

impl Index<IoId> for Requests {
    type Output = Io;

    #[inline]
    fn index(&self, id: IoId) -> &Io {
        &self.ios[id as usize]
    }
}

impl IndexMut<IoId> for Requests {
    #[inline]
    fn index_mut(&mut self, id: IoId) -> &mut Io {
        &mut self.ios[id as usize]
    }
}

/// What one component keeps of I/Os beside their records.
pub struct PerIo<T>(Vec<T>);

impl<T: Clone> PerIo<T> {
    /// A table without entries.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets the entry of an I/O, whatever it was before.
    #[inline]
    pub fn set(&mut self, id: IoId, entry: T) {
        let index = id as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, entry.clone());
        }
        self.0[index] = entry;
    }
}

impl<T> Index<IoId> for PerIo<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: IoId) -> &T {
        &self.0[id as usize]
    }
}

impl<T> IndexMut<IoId> for PerIo<T> {
    #[inline]
    fn index_mut(&mut self, id: IoId) -> &mut T {
        &mut self.0[id as usize]
    }
}
