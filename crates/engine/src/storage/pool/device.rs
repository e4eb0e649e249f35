//! Devices of a pool: where each is, and whether it is available.

use crate::ids::{DiskId, Span};
use hypertwin_kernel::Nanos;

/// All devices, by their numbers in the pool: those of one node after those of another.
pub struct Devices {
    pub disks: Span<DiskId>,
    pub states: Vec<DeviceState>,
    per_node: usize,
}

/// One device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceState {
    /// Its own failures at present, and how many of them will never end.
    pub failures: u32,
    pub gone: u32,
    /// Whether it, its node and its network work.
    pub is_available: bool,
    /// Since when they do not, and when others take it for dead.
    pub away_since: Nanos,
    pub noticed_at: Nanos,
    /// Whether it has joined the pool; whether the pool does without it, since it was away for long; and whether it is
    /// to get groups when it is available.
    pub is_in: bool,
    pub is_out: bool,
    pub awaits_groups: bool,
    /// When the next piece may be read from it for others.
    pub rests_until: Nanos,
    /// Groups that it is a member of, or that go to it.
    pub groups: u32,
}

impl Devices {
    pub fn new(disks: Span<DiskId>, per_node: usize) -> Self {
        let state = DeviceState {
            failures: 0,
            gone: 0,
            is_available: true,
            away_since: 0,
            noticed_at: 0,
            is_in: true,
            is_out: false,
            awaits_groups: false,
            rests_until: 0,
            groups: 0,
        };
        Self {
            disks,
            states: vec![state; disks.len()],
            per_node,
        }
    }

    pub fn per_node(&self) -> usize {
        self.per_node
    }

    /// The node that a device is in.
    #[inline]
    pub fn node_of(&self, device: u32) -> usize {
        device as usize / self.per_node
    }

    #[inline]
    pub fn is_available(&self, device: u32) -> bool {
        self.states[device as usize].is_available
    }

    /// The disk that a device is.
    #[inline]
    pub fn disk(&self, device: u32) -> DiskId {
        self.disks.at(device as usize)
    }

    /// The device that a disk is.
    #[inline]
    pub fn at_disk(&self, disk: DiskId) -> Option<u32> {
        self.disks.position(disk).map(|device| device as u32)
    }

    /// Devices of a node, with their disks.
    pub fn of_node(&self, node: usize) -> impl Iterator<Item = (usize, DiskId)> {
        let first = node * self.per_node;
        (first..first + self.per_node).map(|device| (device, self.disks.at(device)))
    }

    /// Counts a failure or return of a device itself; whether it has failed now.
    pub fn change(&mut self, device: usize, fails: bool, is_forever: bool) -> bool {
        let state = &mut self.states[device];
        debug_assert!(fails || state.failures > 0, "what returns has failed before");
        state.failures = if fails { state.failures + 1 } else { state.failures - 1 };
        state.gone += u32::from(is_forever);
        state.failures > 0
    }
}
