//! Flash in front of a pool's devices: the journals that writes reach first, and the read caches.

use crate::ids::{DiskId, IoId, Span};
use crate::storage::queue::Fifo;
use crate::storage::request::Requests;

/// The flash disks of all nodes, those of one node after those of another.
pub struct Flash {
    pub disks: Span<DiskId>,
    per_node: usize,
    journal_bytes: u64,
    read_cache: u64,
    /// Per node.
    journals: Vec<Journal>,
}

/// The journal of one node.
#[derive(Clone, Copy, Default)]
struct Journal {
    /// Bytes that still have to reach the devices.
    pending: u64,
    /// Writes that wait for room.
    queue: Fifo,
}

impl Flash {
    pub fn new(disks: Span<DiskId>, per_node: usize, journal_bytes: u64, read_cache: u64) -> Self {
        Self {
            disks,
            per_node,
            journal_bytes,
            read_cache,
            journals: vec![Journal::default(); disks.len() / per_node],
        }
    }

    #[inline]
    pub fn contains(&self, disk: DiskId) -> bool {
        self.disks.position(disk).is_some()
    }

    /// Bytes of a node's read cache.
    pub fn read_cache(&self) -> u64 {
        self.read_cache
    }

    /// Whether writes go to a journal first.
    pub fn has_journal(&self) -> bool {
        self.journal_bytes > 0
    }

    /// The disk that is the journal of a device.
    pub fn journal_of(&self, node: usize, device: u32) -> DiskId {
        self.disks.at(node * self.per_node + device as usize % self.per_node)
    }

    /// The disk of a node that caches reads of a virtual disk.
    pub fn cache_of(&self, node: usize, key: u64) -> DiskId {
        self.disks.at(node * self.per_node + key as usize % self.per_node)
    }

    /// Whether writes wait for a node's journal.
    #[inline]
    pub fn is_full(&self, node: usize) -> bool {
        !self.journals[node].queue.is_empty()
    }

    /// Takes room for a write, or lets it wait and returns `false`.
    pub fn enter(&mut self, node: usize, id: IoId, requests: &mut Requests) -> bool {
        let bytes = requests[id].bytes;
        if self.is_full(node) || !self.has_room(node, bytes) {
            self.journals[node].queue.push(requests, id);
            return false;
        }
        self.journals[node].pending += u64::from(bytes);
        true
    }

    /// A write has left the journal.
    pub fn leave(&mut self, node: usize, bytes: u32) {
        self.journals[node].pending -= u64::from(bytes);
    }

    /// The first write that waits, if there is room for it now.
    pub fn next(&mut self, node: usize, requests: &Requests) -> Option<IoId> {
        let first = self.journals[node].queue.first()?;
        let bytes = requests[first].bytes;
        if !self.has_room(node, bytes) {
            return None;
        }
        let journal = &mut self.journals[node];
        journal.pending += u64::from(bytes);
        journal.queue.pop(requests)
    }

    fn has_room(&self, node: usize, bytes: u32) -> bool {
        let pending = self.journals[node].pending;
        pending == 0 || pending + u64::from(bytes) <= self.journal_bytes
    }

    /// Takes out all writes that wait for a node's journal: they fail.
    pub fn drain(&mut self, node: usize, requests: &Requests, dropped: &mut Vec<IoId>) {
        let queue = &mut self.journals[node].queue;
        dropped.extend(std::iter::from_fn(|| queue.pop(requests)));
    }
}
