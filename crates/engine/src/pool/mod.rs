//! Distributed storage in a run: nodes with devices and services, and the placement groups that data are in.
//!
//! An I/O becomes one leg for each device that works on it. A leg crosses the network, waits for a thread of its node's
//! service, which the host's scheduler has to place like anything else, waits for its device, and answers. `path.rs` has the
//! legs, `service.rs` the threads, `failure.rs` what fails and what that leaves, `rebuild.rs` how it is made whole again,
//! `build.rs` the initial state, `report.rs` what is told of it.

mod build;
mod failure;
mod path;
mod rebuild;
mod report;
mod service;

pub use report::{IncidentReport, PoolReport, PoolResult, PoolTimeline, summarise};

use crate::io::Line;
use failure::{Action, Incident};
use hypertwin_cluster::{PoolKind, Redundancy, WritePath};
use hypertwin_kernel::{Nanos, Stream};
use hypertwin_models::storage::link::Link;
use rebuild::Queue;
use service::{Desk, Thread};
use std::ops::Range;

/// One pool.
pub struct Pool {
    pub name: String,
    kind: PoolKind,
    redundancy: Redundancy,
    write_path: WritePath,
    /// Members of a group, and how many of them must be whole for reads and for writes.
    width: usize,
    needed: usize,
    minimum: usize,
    /// Bytes of one fragment, and of all that one chunk of each data member holds.
    fragment: u64,
    span: u64,
    pub nodes: Vec<Node>,
    /// The node that each host is; `None` for one that is none.
    node_of: Vec<Option<u32>>,
    pub devices: Range<usize>,
    states: Vec<DeviceState>,
    domain_of: Vec<u32>,
    flash: Option<Flash>,
    /// The members of all groups, one group after another.
    members: Vec<Member>,
    groups: usize,
    /// What a device has of one group.
    member_bytes: u64,
    /// Groups some of whose members are not whole, and groups that are lost.
    degraded: usize,
    lost: Vec<bool>,
    client: Cost,
    service: Cost,
    coding: Coding,
    layer_ns: Nanos,
    timeout_ns: Nanos,
    pub desks: Vec<Desk>,
    pub threads: Vec<Thread>,
    /// Per metadata server: how many failures it has at present.
    metadata: Vec<u32>,
    /// I/Os that wait until enough is there again.
    suspended: Line,
    rebuild: Queue,
    stream: Stream,
    incidents: Vec<Incident>,
    /// Since when not everything is whole, and the longest time that this took before.
    degraded_since: Option<Nanos>,
    longest_degraded_ns: Nanos,
    raw_capacity: u64,
    pub count: Counters,
}

/// A node: a host with devices.
pub struct Node {
    pub host: usize,
    rack: u32,
    /// Its service.
    desks: Range<usize>,
    /// Bytes in its journal that still have to reach the devices, and writes that wait for room there.
    pending: u64,
    journal_line: Line,
    /// What its devices may read and write for rebuilding.
    rebuild_read: Link,
    rebuild_write: Link,
}

/// Failures of one device.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceState {
    /// Its own, at present; and how many of those, and of its host's, will never end.
    failures: u32,
    gone: u32,
    /// Whether it, its node and its network are there.
    available: bool,
    /// Since when it is not.
    away_since: Nanos,
    /// Groups that it is a member of.
    groups: u32,
}

struct Flash {
    disks: Range<usize>,
    per_node: usize,
    journal: u64,
    read_cache: u64,
}

/// A copy or fragment of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    device: u32,
    /// Its device is there. It is whole if it is and nothing is due.
    up: bool,
    /// Bytes that it lacks.
    due: u64,
}

impl Member {
    fn is_whole(&self) -> bool {
        self.up && self.due == 0
    }
}

/// Work for an I/O, in nanoseconds alone on a core at nominal clock.
#[derive(Clone, Copy, Debug)]
struct Cost {
    io_ns: f64,
    ns_per_byte: f64,
}

/// Work of erasure coding, in nanoseconds alone on a core at nominal clock.
#[derive(Clone, Copy, Debug)]
struct Coding {
    /// For a byte of a client's write: of whole stripes, and of less.
    stripe_ns_per_byte: f64,
    update_ns_per_byte: f64,
    /// For a byte that is made anew.
    rebuild_ns_per_byte: f64,
}

impl Cost {
    fn of(&self, bytes: u32) -> f64 {
        self.io_ns + self.ns_per_byte * f64::from(bytes)
    }
}

/// What has passed: I/O since measuring began, the rest since the start of the run. In bytes, or I/Os.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Bytes that clients read, and had written: acknowledged.
    pub client: [u64; 2],
    /// Bytes that devices or journals wrote for clients, failed attempts included.
    pub written: u64,
    /// The part of `written` that was for attempts that failed.
    pub wasted: u64,
    /// Bytes that members came to lack.
    pub due: u64,
    /// Bytes of those that were made anew.
    pub rebuilt: u64,
    /// Bytes of those that were given up because their device was replaced too.
    pub abandoned: u64,
    /// Bytes that devices read for rebuilding.
    pub rebuild_read: u64,
    /// Reads from the cache.
    pub cache_hits: u64,
    /// All reads.
    pub reads: u64,
    /// I/Os that were tried again.
    pub retries: u64,
    /// I/Os that asked for lost data.
    pub errors: u64,
    /// User's bytes lost.
    pub lost: u64,
    /// Writes that were acknowledged by fewer members than the minimum: always 0.
    pub below_minimum: u64,
}

impl Pool {
    fn group_of(&self, member: usize) -> usize {
        member / self.width
    }

    fn members(&self, group: usize) -> &[Member] {
        &self.members[group * self.width..(group + 1) * self.width]
    }

    fn whole(&self, group: usize) -> usize {
        self.members(group).iter().filter(|member| member.is_whole()).count()
    }

    /// The node of a device of this pool, by its number in the pool.
    fn node_of_device(&self, device: usize) -> usize {
        device / (self.states.len() / self.nodes.len())
    }

    /// The desk of a device's service.
    fn desk_of(&self, device: usize) -> usize {
        let desks = &self.nodes[self.node_of_device(device)].desks;
        desks.start + device % desks.len()
    }

    /// Whether `disk` is one that holds no data for good.
    fn is_flash(&self, disk: u32) -> bool {
        self.flash
            .as_ref()
            .is_some_and(|flash| flash.disks.contains(&(disk as usize)))
    }

    /// Whether writes wait for the journal of the node that `disk` is in.
    pub fn journal_is_full(&self, disk: usize) -> bool {
        self.devices.contains(&disk) && {
            let node = self.node_of_device(disk - self.devices.start);
            self.nodes[node].journal_line.length > 0
        }
    }
}

/// A schedule of what fails and returns.
pub type Schedule = Vec<Action>;
