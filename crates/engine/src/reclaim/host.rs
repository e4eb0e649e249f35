//! The memory of a host: what is free of it, and what waits for its swap device.

use super::measured::HostSums;
use super::pages::{PAGE, PageCounts};
use crate::ids::VmId;
use hypertwin_cluster::HostGroup;
use hypertwin_kernel::{EventId, Nanos};
use hypertwin_models::hypervisor;
use hypertwin_models::reclamation::{Level, Policy};

/// Pages that are written to the swap device together.
pub const CLUSTER: u64 = 32;
/// Clusters that are on their way to the swap device at a time.
const MOST_WRITING: u32 = 8;
/// Pages that wait to be written, beyond which none are taken: 64 MiB.
const MOST_BACKLOG: u64 = 16_384;

/// A host.
pub struct Host {
    /// The number of its group.
    pub spec: usize,
    pub policy: Option<Policy>,
    /// What it has for VMs, in half pages.
    capacity: u64,
    pub vms: Vec<VmId>,
    /// Pages of all its VMs, and half pages that it needs beside them.
    pub counts: PageCounts,
    pub overhead: u64,
    pub level: Level,
    /// The worst level that it came to; where its VMs have what they would have in the end, before the run began.
    pub worst: Level,
    /// Whether its memory ever could run short.
    pub is_on: bool,
    pub event: Option<EventId>,
    /// When it was looked after last, and when activity is estimated next.
    pub last: Nanos,
    pub next_sample: Nanos,
    /// Faults that wait until there is memory, by their numbers; and those that go on.
    pub blocked: Vec<u32>,
    /// Pages that wait to be written, and clusters on their way.
    pub backlog: u64,
    pub writing: u32,
    /// Pages that fit the swap device.
    most_swapped: u64,
    pub sums: HostSums,
}

impl Host {
    pub fn new(spec: usize, host: &HostGroup) -> Self {
        let bytes = host.memory_for_vms().bytes();
        let size = host.swap_device().size;
        Self {
            spec,
            policy: hypervisor::model(host.hypervisor).reclamation(host, false),
            capacity: bytes / (PAGE as u64 / 2),
            vms: Vec::new(),
            counts: PageCounts::default(),
            overhead: 0,
            level: Level::High,
            worst: Level::High,
            is_on: false,
            event: None,
            last: 0,
            next_sample: host.reclamation.sample_period.nanos(),
            blocked: Vec::new(),
            backlog: 0,
            writing: 0,
            most_swapped: size.map_or(u64::MAX, |size| size.bytes() / PAGE as u64),
            sums: HostSums::default(),
        }
    }

    /// Free memory, in half pages.
    pub fn free_halves(&self) -> i64 {
        self.capacity as i64 - (self.overhead + 2 * self.counts.granted + self.counts.compressed) as i64
    }

    /// Free memory, in bytes.
    pub fn free(&self) -> f64 {
        self.free_halves() as f64 * PAGE / 2.0
    }

    /// What its VMs share, in bytes.
    pub fn divisible(&self) -> f64 {
        (self.capacity as f64 - self.overhead as f64) * PAGE / 2.0
    }

    /// What its VMs would like to have beyond what it has for them, over the latter.
    pub fn overcommit(&self) -> f64 {
        (2 * self.counts.total() + self.overhead) as f64 / (self.capacity as f64).max(1.0) - 1.0
    }

    /// Pages that can still be swapped out: for now, and at all.
    pub fn swap_space(&self) -> (u64, u64) {
        let left = self.most_swapped.saturating_sub(self.counts.swapped);
        (left.min(MOST_BACKLOG.saturating_sub(self.backlog)), left)
    }

    /// Ends the time for which its pages were where they are.
    pub fn settle(&mut self, now: Nanos) {
        let (counts, free, overcommit) = (self.counts, self.free_halves(), self.overcommit());
        self.sums.settle(now, &counts, free, overcommit);
    }

    /// Some pages of a VM have moved.
    pub fn replace(&mut self, before: &PageCounts, now: &PageCounts) {
        let all = &mut self.counts;
        for (sum, old, new) in [
            (&mut all.granted, before.granted, now.granted),
            (&mut all.shared, before.shared, now.shared),
            (&mut all.ballooned, before.ballooned, now.ballooned),
            (&mut all.compressed, before.compressed, now.compressed),
            (&mut all.swapped, before.swapped, now.swapped),
        ] {
            *sum = *sum + new - old;
        }
    }

    /// Looks at what is free; at which level it is now.
    pub fn assess(&mut self) -> Level {
        if let Some(policy) = &self.policy {
            self.level = policy.level(self.level, self.free());
            self.worst = self.worst.max(self.level);
        }
        self.level
    }

    /// The next pages to be written, if any may be: how many bytes.
    pub fn next_write(&mut self) -> Option<u32> {
        if self.backlog == 0 || self.writing >= MOST_WRITING {
            return None;
        }
        let pages = self.backlog.min(CLUSTER);
        self.backlog -= pages;
        self.writing += 1;
        Some(pages as u32 * PAGE as u32)
    }
}
