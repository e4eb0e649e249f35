//! Storage arrays: their cache, and what a write costs their disks.
//!
//! **Boundary.** An array takes an I/O that has crossed the fabric, and sends it back across it. It knows no VM and no
//! host. **Invariant.** A write that is acknowledged is counted as pending until its last disk operation is done.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | reads and writes at an array |
//! | `build.rs` | from a scenario to its arrays |

mod build;

pub use build::build_arrays;

use super::port::ArrayPath;
use super::queue::Queue;
use super::request::{NONE, Requests, Role, Step};
use super::shared::Shared;
use super::stations::{Station, StationResult, Sums};
use crate::clock::Clock;
use crate::ids::{DiskId, IoId, Span};
use hypertwin_cluster::{DiskKind, Hypervisor, Paths, Plugin, Protocol, Raid};
use hypertwin_kernel::Nanos;
use hypertwin_models::hypervisor;
use hypertwin_models::storage::array::{stripe_parity, write_operations};
use hypertwin_models::storage::protocol::ProtocolCost;
use std::ops::Range;

/// Writes that an array keeps for its disks, whatever their size.
const MOST_PENDING: u32 = 65_536;

/// An array.
pub struct Array {
    pub name: String,
    /// Its ports, by their numbers in the fabric.
    pub ports: Range<usize>,
    /// Of disks inside a host: the way there, and the commands that the host keeps outstanding on them.
    pub local: Option<(ArrayPath, u32)>,
    /// What reaching it costs.
    pub reach: Reach,
    /// The paths of its LUNs, where there are several or ports may fail.
    pub paths: Option<Paths>,
    hit_ratio: f64,
    latency_ns: Nanos,
    raid: Raid,
    disks: Span<DiskId>,
    /// Parity of stripes that sequential writes fill and that is not written yet, in bytes.
    parity_bytes: f64,
    write_back: bool,
    most_pending_bytes: u64,
    /// Writes that are acknowledged and not on disk.
    pending: u32,
    pending_bytes: u64,
    /// Writes that wait for room.
    queue: Queue,
    reads: u64,
    hits: u64,
}

/// How hosts reach an array.
pub struct Reach {
    protocol: Protocol,
    /// Multipathing of ESXi, if the scenario says it; and what kind of disks it is for.
    asked: Option<Plugin>,
    kind: DiskKind,
}

impl Reach {
    /// What a command costs a host.
    pub fn cost(&self, host: Hypervisor) -> ProtocolCost {
        let model = hypervisor::model(host);
        let plugin = model.plugin(host, self.asked, self.protocol, self.kind);
        model.protocol_cost(self.protocol).with_plugin(plugin)
    }

    /// True if a thread of a host handles completions.
    pub fn completes_by_thread(&self, host: Hypervisor) -> bool {
        hypervisor::model(host).completes_by_thread(self.protocol)
    }

    /// Time of the protocol's software, there and back.
    pub fn latency_ns(&self, host: Hypervisor) -> Nanos {
        hypervisor::model(host).protocol_cost(self.protocol).latency_ns
    }
}

impl Array {
    /// An I/O leaves its host for the array.
    #[inline]
    pub fn send(&self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        let mut leaves = clock.now;
        if io.write {
            leaves = shared.fabric.send_to_array(id, io.bytes, clock.now);
        }
        let time = leaves + shared.fabric.one_way_latency_ns(id) + self.latency_ns;
        shared.requests.at(id, Step::Array, time, clock);
    }

    /// The array has looked at an I/O.
    #[inline]
    pub fn receive(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        if !io.write {
            self.reads += 1;
            let stream = shared.disks.stream(self.disks.at(0));
            if self.hit_ratio >= 1.0 || stream.uniform() < self.hit_ratio {
                self.hits += 1;
                send_back(id, shared, clock);
            } else {
                self.queue_on_disk(id, shared, clock);
            }
        } else if !self.write_back {
            self.write_disks(id, shared, clock);
        } else if self.queue.is_empty() && self.has_room(io.bytes) {
            self.queue.pass();
            self.accept(id, shared, clock);
        } else {
            self.queue.push(clock.now, &mut shared.requests, id);
        }
    }

    /// The cache takes a write.
    fn accept(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let destage = shared.requests.part_of(id, Role::Destage);
        shared.requests[destage].sync = false;
        self.pending += 1;
        self.pending_bytes += u64::from(shared.requests[id].bytes);
        self.write_disks(destage, shared, clock);
        acknowledge(id, shared, clock);
    }

    /// Disk operations for a write.
    fn write_disks(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &mut shared.requests[id];
        let (reads, mut writes) = write_operations(self.raid, io.sequential);
        if io.sequential {
            let bytes = f64::from(io.bytes);
            self.parity_bytes += bytes * stripe_parity(self.raid, self.disks.len() as u32);
            let whole = (self.parity_bytes / bytes).floor();
            self.parity_bytes -= whole * bytes;
            writes += whole as u32;
        }
        io.parts = reads + writes;
        for number in 0..reads + writes {
            let operation = shared.requests.part_of(id, Role::Operation);
            let io = &mut shared.requests[operation];
            io.write = number >= reads;
            io.sync &= io.write;
            self.queue_on_disk(operation, shared, clock);
        }
    }

    fn queue_on_disk(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let stream = shared.disks.stream(self.disks.at(0));
        let disk = self.disks.at(stream.below(self.disks.len() as u64) as usize);
        let parent = shared.requests[id].parent;
        let background = parent != NONE && shared.requests[parent].role == Role::Destage;
        shared.disks.queue(disk, id, background, &mut shared.requests, clock);
    }

    /// A disk is done with an operation.
    pub fn disk_done(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        if io.role != Role::Operation {
            send_back(id, shared, clock);
            return;
        }
        let write = io.parent;
        shared.requests.release(id);
        if shared.requests.part_done(write) {
            self.written(write, shared, clock);
        }
    }

    /// Every disk operation of a write is done.
    fn written(&mut self, id: IoId, shared: &mut Shared, clock: &mut Clock) {
        let io = &shared.requests[id];
        if io.role != Role::Destage {
            acknowledge(id, shared, clock);
            return;
        }
        self.pending -= 1;
        self.pending_bytes -= u64::from(io.bytes);
        shared.requests.release(id);
        while let Some(first) = self.first_that_fits(&shared.requests) {
            self.queue.pop(clock.now, &shared.requests);
            self.accept(first, shared, clock);
        }
    }

    /// Whether writes wait for room.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.queue.is_empty()
    }

    fn has_room(&self, bytes: u32) -> bool {
        let fits = self.pending_bytes + u64::from(bytes) <= self.most_pending_bytes;
        self.pending == 0 || fits && self.pending < MOST_PENDING
    }

    fn first_that_fits(&self, requests: &Requests) -> Option<IoId> {
        self.queue.first().filter(|&first| self.has_room(requests[first].bytes))
    }

    // ---- what was measured

    /// Bytes of acknowledged writes, and the most that there can be of writes of their size; `None` without such a
    /// cache.
    pub fn cached(&self) -> Option<(u64, u64)> {
        let by_number = match self.pending {
            0 => u64::MAX,
            pending => (self.pending_bytes / u64::from(pending)).saturating_mul(u64::from(MOST_PENDING)),
        };
        let most = self.most_pending_bytes.min(by_number);
        (self.write_back).then_some((self.pending_bytes, most))
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.queue.reset(now);
        (self.reads, self.hits) = (0, 0);
    }

    /// Its ports, its cache and its disks; of disks inside a host only these.
    pub fn stations(&self, of: Station, shared: &Shared, now: Nanos, duration_ns: f64) -> Vec<StationResult> {
        let named = |what: &str| format!("{}-{what}", self.name);
        let disks = Sums::of_disks(shared.disks.span(self.disks), now, duration_ns);
        let disks = disks.result(of, named("disks"), false, duration_ns);
        if self.local.is_some() {
            return vec![disks];
        }
        let ports = shared.fabric.array_ports[self.ports.clone()].iter();
        let ports = Sums::of_ports(ports, now, duration_ns).result(of, named("front-end"), false, duration_ns);
        let filled = self.pending_bytes as f64 / self.most_pending_bytes.max(1) as f64;
        let cache = Sums::of([(filled, self.queue.length.mean(now), self.queue.waits)]);
        let mut cache = cache.result(of, named("cache"), true, duration_ns);
        cache.figures.hit_pct = (self.reads > 0).then(|| 100.0 * self.hits as f64 / self.reads as f64);
        vec![ports, cache, disks]
    }
}

/// Data go back to the host.
#[inline]
fn send_back(id: IoId, shared: &mut Shared, clock: &mut Clock) {
    let end = shared.fabric.send_to_host(id, shared.requests[id].bytes, clock.now);
    let time = end + shared.fabric.one_way_latency_ns(id);
    shared.requests.at(id, Step::Host, time, clock);
}

/// The reply to a write goes back.
#[inline]
fn acknowledge(id: IoId, shared: &mut Shared, clock: &mut Clock) {
    let time = clock.now + shared.fabric.one_way_latency_ns(id);
    shared.requests.at(id, Step::Host, time, clock);
}
