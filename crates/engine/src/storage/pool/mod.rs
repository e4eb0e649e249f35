//! Distributed storage: nodes with devices and services, and the placement groups that data are in.
//!
//! A request becomes one leg for each device that works on it. A leg crosses the network, waits for a thread of its
//! node's service, which the host's scheduler has to place like anything else, waits for its device, and replies.
//!
//! **Boundary.** A pool takes a request with the [`Address`] of its data, and says by its [`Outcome`] when it is
//! complete. It knows hosts, no VMs. **Invariant.** A write is acknowledged when every member that is up has it, and
//! those are at least the minimum. What a member lacks is counted in its `due` bytes; it is whole when it is up and
//! nothing is due.
//!
//! - `mod.rs`: a pool and its nodes; which device serves what
//! - `legs.rs`: the way of a request: legs to devices, and back
//! - `fragments.rs`: erasure coding: what a request reads and writes
//! - `coding.rs`: the work of erasure coding
//! - `primary.rs`: erasure codes of Ceph: a request's way by the primary
//! - `node.rs`: what nodes do for legs: services, devices, journals, replies
//! - `data_placement.rs`: placement groups: members, what they lack, which data are lost
//! - `device.rs`: devices: where each is, and whether it is available
//! - `vsan.rs`, `back_end.rs`, `buffer.rs`: vSAN: where writes are acknowledged from; its back ends; write buffers of
//!   its disk groups
//! - `journal.rs`: flash in front of the devices: journals and read caches
//! - `ceph.rs`: OSDs of Ceph: messengers and shards; gateways
//! - `osds.rs`: their queues, and what waits for their logs
//! - `object_locks.rs`: which operations of an object wait for others
//! - `commit.rs`: the log of an OSD: what is committed together
//! - `service.rs`: queues and threads of the nodes' services
//! - `qos.rs`: in which order a queue serves what waits
//! - `rebuild.rs`: reads what a member lacks from others, and writes it
//! - `rebuild_queue.rs`: which member's turn it is
//! - `scrub.rs`, `scrub_queue.rs`: deep scrub: everything is read once in an interval; what falls due, and what waits
//! - `rebalance.rs`: members that move to devices which join
//! - `failure.rs`: what a failure or return means for data
//! - `history.rs`: incidents, and how long not everything was whole
//! - `networks.rs`: networks that a pool has of its own: between nodes, and between racks
//! - `report.rs`: what the report says about a pool
//! - `build.rs`: from a scenario to its pools
//!
//! **A pool has layouts, and the numbers of groups continue over all layouts.** A policy's data are in groups with its
//! width and code. A request finds its layout by its virtual disk, and everything else by the group's number. With one
//! layout, the search for the layout costs one comparison. *Enforced by*
//! `a_policy_that_all_name_is_the_pools_own_redundancy`.

mod back_end;
mod buffer;
mod build;
mod ceph;
mod coding;
mod commit;
mod data_placement;
mod device;
mod failure;
mod fragments;
mod history;
mod journal;
mod legs;
mod networks;
mod node;
mod object_locks;
mod osds;
mod primary;
mod qos;
mod rebalance;
mod rebuild;
mod rebuild_queue;
mod report;
mod scrub;
mod scrub_queue;
mod service;
mod vsan;

pub use back_end::BackEndReport;
pub use build::build_pools;
pub use data_placement::MemberView;
pub use history::What;
pub use report::{ClientIos, IncidentReport, PolicyReport, PoolReport, PoolResult, PoolTimeline, summarise};

use super::network::Network;
use super::queue::Fifo;
use super::request::PerIo;
use super::shared::Shared;
use super::work::DriverWork;
use crate::ids::{DiskId, HostId, Id, IoId, PoolId, WorldId};
use back_end::Vsan;
use bitcode::{Decode, Encode};
use coding::Coding;
use data_placement::{DataPlacement, Job};
use device::Devices;
use history::History;
use hypertwin_cluster::{Flushes, WritePath};
use hypertwin_kernel::{Draw, Histogram, Nanos, Stream};
use hypertwin_models::storage::array::hit_ratio;
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::product::Product;
use hypertwin_models::storage::product::qos::Class;
use journal::Flash;
use networks::{OwnNetworks, Traffic};
use osds::Osds;
use rebuild_queue::RebuildQueue;
use scrub_queue::Scrub;
use service::Services;
use std::ops::Range;

/// One pool.
pub struct Pool {
    pub name: String,
    id: PoolId,
    product: &'static Product,
    write_path: WritePath,
    flushes: Flushes,
    nodes: Vec<Node>,
    /// Per host: the node that it is.
    node_of: Vec<Option<u32>>,
    /// Other hosts with VMs on it.
    clients: Vec<HostId>,
    devices: Devices,
    data: DataPlacement,
    flash: Option<Flash>,
    vsan: Option<Vsan>,
    services: Services,
    /// Of Ceph.
    osds: Option<Osds>,
    /// Per layout: work of the clients' driver.
    drivers: Vec<DriverWork>,
    /// Per layout: work of a service for coding, beside that for the operation.
    coding: Vec<Coding>,
    /// Cycles of the driver for an I/O, where no time is given; and work of its cache for one, where it has one.
    client_cycles: f64,
    client_cache_ns: f64,
    /// One way between a client that is no node and a node, beside the network.
    layer_ns: Nanos,
    /// More of any message, on one host too: half of an exchange in software.
    exchange: Draw,
    exchange_stream: Stream,
    own_networks: Option<OwnNetworks>,
    timeout_ns: Nanos,
    /// The time when all devices now missing are marked down, if the product marks any.
    noticed_at: Nanos,
    /// Per metadata server: its failures at present.
    metadata: Vec<u32>,
    /// Requests that wait until enough members are rebuilt.
    suspended: Fifo,
    rebuild: RebuildQueue,
    scrub: Option<Scrub>,
    /// Devices joined while members moved to others: they get more when these are there.
    rebalances_again: bool,
    stream: Stream,
    history: History,
    raw_capacity: u64,
    count: Counters,
    /// Of reads, and of writes: times of requests, from where they leave their host until they are back.
    latencies: [Histogram; 2],
    requests: PerIo<Request>,
    tasks: PerIo<Task>,
    pieces: PerIo<Piece>,
}

/// A node: a host with devices.
struct Node {
    host: HostId,
    rack: u32,
    /// The queues of its service.
    queues: Range<usize>,
    /// What its devices may read and write for rebuilding.
    rebuild_read: Link,
    rebuild_write: Link,
}

/// Where the data of a request are.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Host of the VM.
    pub client: HostId,
    /// The layout that they are kept by: see [`Pool::layout_of`].
    pub layout: u16,
    /// A number of the virtual disk, and the request's first byte there.
    pub key: u64,
    pub place: u64,
    /// A node's cache on the same host has them.
    pub is_cached: bool,
}

/// What follows for others from what a pool has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// Nothing yet.
    Pending,
    /// A request is complete.
    Complete(IoId),
    /// Suspended requests may go on: see [`Pool::take_suspended`].
    Resume,
}

/// What a pool keeps of a client's request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The host that asks the nodes: of its VM, or a gateway that does it for that.
    client: HostId,
    origin: HostId,
    /// Whether that is a gateway, which it went to.
    is_by_gateway: bool,
    /// Its placement group, and the member whose turn it is to be read first.
    group: u32,
    first: u8,
    /// The name of its object in Ceph, and whether it holds that object's lock.
    object: u64,
    holds_object: bool,
    /// Some leg of it failed.
    has_failed: bool,
    /// Whose data its legs carry.
    traffic: Traffic,
    /// Its reads are done or not needed: the writes are under way.
    is_writing: bool,
    place: u64,
    /// Bytes that devices have written for it.
    written: u64,
    /// When it left its host.
    since: Nanos,
}

/// What a pool keeps of an operation of one device.
#[derive(Clone, Copy, Debug)]
struct Task {
    device: u32,
    /// The leg that its node passes on.
    chain: IoId,
    /// The device whose OSD sends it; none if a client does.
    sender: Option<u32>,
    /// How long its reply is on its way, without the transfer.
    back_ns: Nanos,
}

/// What a pool keeps of a piece that is rebuilt, or of a stride of a deep scrub.
#[derive(Clone, Copy, Debug)]
struct Piece {
    job: Job,
    class: Class,
    has_failed: bool,
}

/// What has passed: I/O since measuring began, the rest since the start of the run. In bytes, or I/Os.
#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
pub struct Counters {
    /// Bytes that clients read, and had written: acknowledged.
    pub client: [u64; 2],
    /// Bytes that devices or journals wrote for clients, failed attempts included.
    pub written: u64,
    /// The part of `written` that was for attempts that failed.
    pub wasted: u64,
    /// Bytes that members came to lack.
    pub due: u64,
    /// Bytes of those that were rebuilt.
    pub rebuilt: u64,
    /// Bytes of those that were given up because their device was replaced too.
    pub abandoned: u64,
    /// Bytes that devices read for rebuilding.
    pub rebuild_read: u64,
    /// Bytes that fell due in a deep scrub.
    pub scrub_due: u64,
    /// Bytes of those that were read.
    pub scrubbed: u64,
    /// Bytes of those that were given up because their group was not whole any more.
    pub scrub_skipped: u64,
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

impl Counters {
    /// Of a deep scrub: what has fallen due, was read, and was given up.
    fn scrub(&self) -> [u64; 3] {
        [self.scrub_due, self.scrubbed, self.scrub_skipped]
    }
}

impl Pool {
    pub fn id(&self) -> PoolId {
        self.id
    }

    /// The number of the layout that the data of a policy, or of those that name none, are kept by.
    pub fn layout_of(&self, policy: Option<&str>) -> u16 {
        let found = self
            .data
            .layouts
            .iter()
            .position(|layout| layout.policy.as_deref() == policy);
        found.expect("there is a layout for each policy that a VM names") as u16
    }

    /// Work of the driver that a host of this clock uses a layout of the pool with, and of its cache if it caches.
    pub fn driver_work(&self, layout: u16, caches: bool, hz: f64) -> DriverWork {
        let mut driver = self.drivers[usize::from(layout)];
        driver.cost.io_ns += self.client_cycles * 1e9 / hz;
        driver.cost.io_ns += if caches { self.client_cache_ns } else { 0.0 };
        driver
    }

    /// Probability that a random read of a VM on `host` hits the node's cache, by all working sets there.
    pub fn cached(&self, host: HostId, working_sets: u64) -> f64 {
        match (&self.flash, self.node_of[host.index()]) {
            (Some(flash), Some(_)) => hit_ratio(flash.read_cache(), working_sets),
            _ => 0.0,
        }
    }

    /// A VM on it comes to a host.
    pub fn add_client(&mut self, host: HostId, spec: &hypertwin_cluster::Network, network: &mut Network) {
        if self.has_node(host) || self.clients.contains(&host) {
            return;
        }
        self.clients.push(host);
        network.hosts[host].connect(spec, self.nodes.len() + self.clients.len() - 1);
    }

    /// Whether a host is one of its nodes.
    pub fn has_node(&self, host: HostId) -> bool {
        self.node_of[host.index()].is_some()
    }

    /// Hosts of its nodes.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.nodes.iter().map(|node| node.host)
    }

    /// Hosts of its nodes in a rack.
    pub fn hosts_in_rack(&self, rack: u32) -> impl Iterator<Item = HostId> {
        self.nodes
            .iter()
            .filter(move |node| node.rack == rack)
            .map(|node| node.host)
    }

    /// The number of a device that is in a host, by its number there.
    pub fn device_in(&self, host: HostId, number: usize) -> Option<usize> {
        let node = self.node_of[host.index()]? as usize;
        (number < self.devices.per_node()).then(|| node * self.devices.per_node() + number)
    }

    /// The devices that join when a host of its nodes does, or a disk there.
    pub fn devices_of(&self, host: HostId, disk: Option<usize>) -> Option<Range<usize>> {
        let first = self.device_in(host, 0)?;
        match disk {
            Some(number) => self.device_in(host, number).map(|device| device..device + 1),
            None => Some(first..first + self.devices.per_node()),
        }
    }

    /// Host of a device.
    #[inline]
    fn host_of(&self, device: u32) -> HostId {
        self.nodes[self.devices.node_of(device)].host
    }

    /// The queue of a device's service.
    #[inline]
    fn queue_of(&self, device: u32) -> usize {
        let queues = &self.nodes[self.devices.node_of(device)].queues;
        queues.start + device as usize % queues.len()
    }

    /// Whether a disk is one that holds no data for good.
    #[inline]
    fn is_flash(&self, disk: DiskId) -> bool {
        self.flash.as_ref().is_some_and(|flash| flash.contains(disk))
    }

    /// True if a disk with both kinds of work continues with background work, to free space for writes. In turn, so
    /// that endless writes leave time for reads and rebuilding.
    #[inline]
    pub fn background_first(&mut self, disk: DiskId, shared: &Shared) -> bool {
        if self.vsan.is_some() {
            let Some(device) = self.devices.at_disk(disk) else {
                return false;
            };
            return self.disk_groups().is_some_and(|groups| groups.is_urgent(device));
        }
        self.journal_is_full(disk) && shared.disks.background_is_older(disk, &shared.requests)
    }

    /// Whether writes wait for the journal of the node that a disk is in.
    #[inline]
    fn journal_is_full(&self, disk: DiskId) -> bool {
        match (&self.flash, self.devices.at_disk(disk)) {
            (Some(flash), Some(device)) if flash.has_journal() => flash.is_full(self.devices.node_of(device)),
            (_, Some(device)) => self
                .osds
                .as_ref()
                .is_some_and(|osds| osds.deferred[device as usize].is_full()),
            _ => false,
        }
    }

    /// When data that leave a host now have passed all on the way to another.
    #[inline]
    fn transmit(
        &mut self,
        traffic: Traffic,
        (from, to): (HostId, HostId),
        bytes: u32,
        network: &mut Network,
        now: Nanos,
    ) -> Nanos {
        if self.own_networks.is_none() || from == to {
            return network.transmit(from, to, bytes, now);
        }
        let racks = [from, to].map(|host| self.rack_of(network, host));
        let nodes = self.nodes_of(traffic, from, to);
        let own = self.own_networks.as_mut().expect("there are some");
        let passed = nodes.and_then(|(from, to)| own.transmit(from, to, bytes, now));
        let passed = passed.unwrap_or_else(|| network.transmit(from, to, bytes, now));
        passed.max(own.cross(racks[0], racks[1], bytes, now))
    }

    /// Time of a message between two hosts, without its transfer.
    #[inline]
    fn message_ns(&mut self, traffic: Traffic, network: &Network, from: HostId, to: HostId) -> Nanos {
        let software_ns = self.exchange.sample(&mut self.exchange_stream);
        if from == to {
            return software_ns;
        }
        let crosses = self.has_node(from) != self.has_node(to);
        let layer_ns = software_ns + if crosses { self.layer_ns } else { 0 };
        let Some(own) = &self.own_networks else {
            return network.message_ns(from, to) + layer_ns;
        };
        let is_far = self.rack_of(network, from) != self.rack_of(network, to);
        let between_nodes = self.nodes_of(traffic, from, to).and_then(|_| own.cluster_ns());
        let way_ns = between_nodes.unwrap_or_else(|| network.message_ns(from, to));
        way_ns + layer_ns + if is_far { own.between_ns } else { 0 }
    }

    /// The nodes that two hosts are, where what nodes send to one another passes between them.
    fn nodes_of(&self, traffic: Traffic, from: HostId, to: HostId) -> Option<(usize, usize)> {
        let node = |host: HostId| self.node_of[host.index()].map(|node| node as usize);
        match traffic {
            Traffic::Client => None,
            Traffic::Nodes => Some((node(from)?, node(to)?)),
        }
    }

    /// The rack of a host.
    fn rack_of(&self, network: &Network, host: HostId) -> usize {
        let racks = self.own_networks.as_ref().map_or(1, |own| own.racks);
        match self.node_of[host.index()] {
            Some(node) => self.nodes[node as usize].rack as usize,
            None => network.hosts[host].number % racks,
        }
    }

    /// What has passed.
    pub fn counters(&self) -> Counters {
        self.count
    }

    /// Placement groups and members.
    pub fn data(&self) -> &DataPlacement {
        &self.data
    }

    /// Bytes that can be rebuilt now, or that move.
    pub fn due(&self) -> u64 {
        self.data.due_here() + self.data.due_moves()
    }

    /// Requests that wait until enough members are whole.
    pub fn suspended(&self) -> u32 {
        self.suspended.len()
    }

    /// Disks of its devices on a host, with their numbers in the pool.
    pub fn devices_on(&self, host: HostId) -> impl Iterator<Item = (usize, DiskId)> {
        let nodes = self.nodes.iter().enumerate().filter(move |(_, node)| node.host == host);
        nodes.flat_map(|(node, _)| self.devices.of_node(node))
    }

    /// Worlds of its services' threads.
    pub fn worlds(&self) -> impl Iterator<Item = WorldId> {
        self.services.worlds()
    }
}
