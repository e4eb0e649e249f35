//! The OSDs of a pool of Ceph: their queues, and what waits for their logs.

use super::object_locks::ObjectLocks;
use crate::ids::{HostId, IoId};
use crate::storage::queue::{Fifo, Waits};
use crate::storage::request::NONE;
use hypertwin_cluster::{Ceph, CephClient};
use hypertwin_kernel::{Nanos, TimeAverage};
use hypertwin_models::storage::product::ceph::DEFERRED_BYTES;
use std::ops::Range;

/// No thread.
const NO_THREAD: u32 = u32::MAX;

/// The OSDs of a pool: those of one device after those of another.
pub struct Osds {
    pub all: Vec<Osd>,
    /// Per device.
    pub deferred: Vec<Deferred>,
    per_device: usize,
    messengers: usize,
    pub client: CephClient,
    /// Queues of the gateways, and their hosts.
    pub gateways: Vec<(usize, HostId)>,
    pub locks: ObjectLocks,
    /// Per operation: the thread that waits until its device has answered.
    waiting: Vec<u32>,
}

/// One OSD. Its queues are those of its messengers, of its shards, and of the thread that commits.
pub struct Osd {
    pub first_queue: usize,
    pub shards: usize,
    pub commit: Commit,
}

impl Osds {
    pub fn new(all: Vec<Osd>, ceph: &Ceph, gateways: Vec<(usize, HostId)>) -> Self {
        let devices = all.len() / ceph.osds_per_device as usize;
        Self {
            all,
            deferred: (0..devices).map(|_| Deferred::new(ceph.osds_per_device)).collect(),
            per_device: ceph.osds_per_device as usize,
            messengers: ceph.messengers as usize,
            client: ceph.client,
            gateways,
            locks: ObjectLocks::default(),
            waiting: Vec::new(),
        }
    }

    /// The OSD of a device that has a placement group.
    #[inline]
    pub fn number(&self, device: u32, group: u32) -> usize {
        device as usize * self.per_device + group as usize % self.per_device
    }

    /// OSDs of a device.
    pub fn of_device(&self, device: u32) -> Range<usize> {
        let first = device as usize * self.per_device;
        first..first + self.per_device
    }

    /// The queue of the messenger of an OSD that has a connection.
    #[inline]
    pub fn messenger(&self, osd: usize, connection: usize) -> usize {
        self.all[osd].first_queue + (connection + osd) % self.messengers
    }

    /// The queue of the shard of an OSD that has a placement group.
    #[inline]
    pub fn shard(&self, osd: usize, group: u32) -> usize {
        let Osd {
            first_queue, shards, ..
        } = self.all[osd];
        // apart from what chooses among the OSDs of a device
        first_queue + self.messengers + group as usize / self.per_device % shards
    }

    /// The queue of the thread of an OSD that commits.
    pub fn committer(&self, osd: usize) -> usize {
        self.all[osd].first_queue + self.messengers + self.all[osd].shards
    }

    /// A thread waits until a device has answered an operation.
    pub fn wait(&mut self, id: IoId, thread: usize) {
        let index = id as usize;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, NO_THREAD);
        }
        self.waiting[index] = thread as u32;
    }

    /// The thread that waits for an operation, if one does; it waits no longer.
    pub fn answered(&mut self, id: IoId) -> Option<usize> {
        let waiting = self.waiting.get_mut(id as usize)?;
        let thread = std::mem::replace(waiting, NO_THREAD);
        (thread != NO_THREAD).then_some(thread as usize)
    }
}

/// The log of one OSD.
pub struct Commit {
    /// Bytes below which a write rides in the log.
    deferred_below: u32,
    /// Writes that wait for the thread, and those that it commits.
    pub waiting: Fifo,
    pub batch: Fifo,
    /// The log's own write, while there is a batch.
    pub log: IoId,
    /// Whether the log is written to; writes that wait, and their waits.
    pub busy: TimeAverage,
    pub length: TimeAverage,
    pub waits: Waits,
}

/// What rides in the logs of a device's OSDs and still has to reach its place.
pub struct Deferred {
    pub bytes: u64,
    most: u64,
    /// Writes that wait until it is less.
    pub queue: Fifo,
}

impl Deferred {
    pub fn new(osds: u32) -> Self {
        Self {
            bytes: 0,
            most: u64::from(osds) * DEFERRED_BYTES,
            queue: Fifo::default(),
        }
    }

    /// Whether writes wait for room.
    pub fn is_full(&self) -> bool {
        !self.queue.is_empty()
    }

    pub fn has_room(&self, bytes: u32) -> bool {
        self.bytes == 0 || self.bytes + u64::from(bytes) <= self.most
    }
}

impl Commit {
    pub fn new(deferred_below: u32) -> Self {
        Self {
            deferred_below,
            waiting: Fifo::default(),
            batch: Fifo::default(),
            log: NONE,
            busy: TimeAverage::new(),
            length: TimeAverage::new(),
            waits: Waits::default(),
        }
    }

    /// True if a write of this size is deferred through the log.
    #[inline]
    pub fn defers(&self, bytes: u32) -> bool {
        bytes < self.deferred_below
    }

    /// The fraction of time that the log was written to, the mean number of writes that waited, and their waits.
    pub fn measured(&self, now: Nanos) -> (f64, f64, Waits) {
        (self.busy.mean(now), self.length.mean(now), self.waits)
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.busy.reset(now);
        self.length.reset(now);
        self.waits = Waits::default();
    }
}
