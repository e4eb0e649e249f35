//! From a scenario to its pools.

use super::data_placement::DataPlacement;
use super::device::Devices;
use super::history::History;
use super::journal::Flash;
use super::qos::Waiting;
use super::rebuild_queue::RebuildQueue;
use super::service::Services;
use super::{Counters, Node, Pool};
use crate::ids::{HostId, Id, PoolId, Table};
use crate::island::IslandPool;
use crate::storage::disk::{DiskOwner, DiskSet};
use crate::storage::queue::Fifo;
use crate::storage::request::PerIo;
use crate::storage::shared::Shared;
use crate::storage::site::{Site, service_threads};
use crate::storage::work::{Cost, DriverWork};
use hypertwin_cluster::{Bandwidth, DiskKind, Drive, FailureDomain, HostGroup, Redundancy, StoragePool};
use hypertwin_kernel::Stream;
use hypertwin_models::storage::coding;
use hypertwin_models::storage::disk::Disk;
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::placement::{GROUPS_PER_DEVICE, deal};
use std::collections::BTreeSet;

/// Groups of the largest pools.
const MOST_GROUPS: usize = 200_000;

/// The pools of a scenario, with their disks, and the network of all hosts that take part.
pub fn build_pools(site: &Site, shared: &mut Shared) -> Table<PoolId, Pool> {
    let mut pools = Table::new();
    for spec in &site.island.pools {
        let id = pools.next_id();
        pools.push(pool(id, spec, site, shared));
    }
    for pool in pools.iter() {
        for (number, host) in pool.hosts().chain(pool.clients.iter().copied()).enumerate() {
            shared.network.hosts[host].connect(&site.host(host).network, number);
        }
    }
    pools
}

fn pool(id: PoolId, pool: &IslandPool, site: &Site, shared: &mut Shared) -> Pool {
    let (name, spec, hosts) = (pool.name, pool.spec, &pool.nodes);
    let group = pool.nodes_spec;
    let mut stream = Stream::named(site.seed, &format!("storage/{name}"));
    let disks = DiskSets { id, name, site, shared };
    let (mut devices, flash) = disks.add(spec, hosts.len());
    let redundancy = spec.redundancy();
    let span = spec.chunk().bytes().saturating_mul(u64::from(redundancy.needed()));
    let stored = spec.stored.map_or_else(
        || site.working_sets(|vm| vm.spec.storage.as_deref() == Some(name)),
        |stored| stored.bytes(),
    );
    let data = data_placement(spec, span, stored, devices.states.len(), &mut stream);
    for member in 0..data.members.len() {
        devices.states[data.device(member) as usize].groups += 1;
    }
    let mut node_of = vec![None; site.island.hosts.len()];
    for (node, host) in hosts.iter().enumerate() {
        node_of[host.index()] = Some(node as u32);
    }
    let users = site.vms.iter().filter(|vm| vm.spec.storage.as_deref() == Some(name));
    let clients: BTreeSet<HostId> = users
        .map(|vm| vm.host)
        .filter(|host| node_of[host.index()].is_none())
        .collect();
    let ns_per_byte = 1e9 / spec.service.core_bandwidth.bytes_per_s();
    let cost = |io_ns: u64| Cost {
        io_ns: io_ns as f64,
        ns_per_byte,
    };
    let coding = Coding::of(spec, group);
    let mut services = Services::new(cost(spec.service_cpu_per_io().nanos()), coding.rebuild_ns_per_byte);
    let nodes = nodes(id, spec, hosts, site, &mut services);
    Pool {
        name: name.to_owned(),
        id,
        kind: spec.kind,
        redundancy,
        write_path: spec.write_path(),
        flushes: spec.flushes,
        fragment: spec.fragment.bytes(),
        span,
        nodes,
        node_of,
        clients: clients.into_iter().collect(),
        devices,
        data,
        flash,
        services,
        driver: DriverWork {
            cost: cost(spec.client_cpu_per_io().nanos()),
            stripe_ns_per_byte: coding.stripe_ns_per_byte,
            update_ns_per_byte: coding.update_ns_per_byte,
            stripe_bytes: spec.fragment.bytes() * u64::from(redundancy.needed()),
        },
        client_cache_ns: spec.client.cache_cpu_per_io.nanos() as f64,
        layer_ns: spec.layer_latency.nanos() / 2,
        timeout_ns: spec.timeout().nanos(),
        metadata: vec![0; spec.metadata_servers(group.count) as usize],
        suspended: Fifo::default(),
        rebuild: RebuildQueue::new(spec, hosts.len()),
        stream,
        history: History::default(),
        raw_capacity: spec.raw_capacity(group.count).bytes(),
        count: Counters::default(),
        requests: PerIo::new(),
        tasks: PerIo::new(),
        pieces: PerIo::new(),
    }
}

/// Adds the disks of one pool.
struct DiskSets<'s> {
    id: PoolId,
    name: &'s str,
    site: &'s Site<'s>,
    shared: &'s mut Shared,
}

impl DiskSets<'_> {
    /// The devices of all nodes, and the flash in front of them.
    fn add(self, spec: &StoragePool, nodes: usize) -> (Devices, Option<Flash>) {
        let own = self.site.island.devices;
        let kinds = spec.all_devices().enumerate().map(|(number, devices)| {
            let drive = Drive::of(devices.kind, devices.device.as_deref(), own);
            let device = disk(drive, devices.used_pct, devices.random_write);
            let depth = devices.depth.map_or(device.depth, |depth| depth.min(device.depth));
            let purpose = match number {
                0 => "devices".to_owned(),
                _ => format!("devices-{}", number + 1),
            };
            (self.set(device, depth, &purpose), devices.per_node as usize)
        });
        let kinds = kinds.collect();
        let disks = self.shared.disks.add_in_turn(kinds, nodes);
        let flash = spec.flash.as_ref().map(|flash| {
            let drive = Drive::of(flash.kind, flash.device.as_deref(), own);
            let disk = disk(drive, None, flash.random_write);
            let per_node = flash.per_node as usize;
            let set = self.set(disk, disk.depth, "flash");
            let disks = self.shared.disks.add(set, nodes * per_node);
            Flash::new(disks, per_node, flash.journal.bytes(), flash.read_cache.bytes())
        });
        (Devices::new(disks, spec.devices_per_node() as usize), flash)
    }

    fn set(&self, disk: Disk, depth: u32, purpose: &str) -> DiskSet {
        DiskSet {
            owner: DiskOwner::Pool(self.id),
            disk,
            depth,
            stream: Stream::named(self.site.seed, &format!("storage/{}/{purpose}", self.name)),
        }
    }
}

fn disk(drive: Drive<'_>, used_pct: Option<f64>, random_write: Option<Bandwidth>) -> Disk {
    let disk = Disk::of(drive, used_pct);
    random_write.map_or(disk, |rate| disk.with_random_write(rate.bytes_per_s()))
}

/// Deals the groups of `stored` bytes to `devices`, which are numbered node after node.
fn data_placement(spec: &StoragePool, span: u64, stored: u64, devices: usize, stream: &mut Stream) -> DataPlacement {
    let redundancy = spec.redundancy();
    let node_of = |device: usize| device as u32 / spec.devices_per_node();
    let domain_of: Vec<u32> = (0..devices)
        .map(|device| match spec.failure_domain {
            FailureDomain::Disk => device as u32,
            FailureDomain::Host => node_of(device),
            FailureDomain::Rack => node_of(device) % spec.racks,
        })
        .collect();
    let width = redundancy.width() as usize;
    let chunks = stored.div_ceil(span).clamp(1, MOST_GROUPS as u64) as usize;
    let groups = chunks.min((devices * GROUPS_PER_DEVICE).div_ceil(width));
    let node = spec.all_devices().flat_map(|devices| {
        let capacity = devices.capacity.bytes() as f64;
        std::iter::repeat_n(capacity, devices.per_node as usize)
    });
    let node: Vec<f64> = node.collect();
    let capacities: Vec<f64> = node.into_iter().cycle().take(devices).collect();
    let dealt = deal(&domain_of, &capacities, groups, width, |n| stream.below(n));
    DataPlacement::new(redundancy, dealt, stored, domain_of, capacities)
}

/// The nodes of a pool, with the queues of their services.
fn nodes(id: PoolId, spec: &StoragePool, hosts: &[HostId], site: &Site, services: &mut Services) -> Vec<Node> {
    let (queues, threads) = service_threads(spec);
    let mut worlds = site.services[id.index()].chunks(threads);
    let kinds: Vec<DiskKind> = spec
        .all_devices()
        .flat_map(|devices| {
            let drive = Drive::of(devices.kind, devices.device.as_deref(), site.island.devices);
            std::iter::repeat_n(drive.kind(), devices.per_node as usize)
        })
        .collect();
    let rebuild_link = || Link::new(spec.rebuild_bandwidth().bytes_per_s(), 0);
    let node = |(number, &host): (usize, &HostId)| {
        let first = number * queues;
        for kind in kinds.iter().copied().cycle().take(queues) {
            let worlds = worlds.next().expect("there is a world for each thread of each node");
            services.add_queue(worlds, spec.service.limit_cpus, Waiting::new(spec, kind, 1));
        }
        Node {
            host,
            rack: number as u32 % spec.racks,
            queues: first..first + queues,
            rebuild_read: rebuild_link(),
            rebuild_write: rebuild_link(),
        }
    };
    hosts.iter().enumerate().map(node).collect()
}

/// Work of erasure coding, in nanoseconds alone on a core at nominal clock.
struct Coding {
    /// For a byte of a client's write: of whole stripes, and of less.
    stripe_ns_per_byte: f64,
    update_ns_per_byte: f64,
    /// For a byte that is rebuilt.
    rebuild_ns_per_byte: f64,
}

impl Coding {
    /// As ISA-L was measured to do on one core, or in proportion to the scenario's own rate.
    fn of(spec: &StoragePool, nodes: &HostGroup) -> Self {
        let Redundancy::Erasure { data, parity } = spec.redundancy() else {
            return Self {
                stripe_ns_per_byte: 0.0,
                update_ns_per_byte: 0.0,
                rebuild_ns_per_byte: 0.0,
            };
        };
        let hz = nodes.clock.hz();
        let measured = coding::encode_ns(1.0, data, parity, hz);
        let factor = spec.coding.map_or(1.0, |rate| 1e9 / rate.bytes_per_s() / measured);
        Self {
            stripe_ns_per_byte: factor * measured,
            update_ns_per_byte: factor * coding::update_ns(1.0, parity, hz),
            rebuild_ns_per_byte: factor * coding::decode_ns(f64::from(data), data, 1, hz),
        }
    }
}
