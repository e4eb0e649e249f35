//! From a scenario to its pools.

use super::back_end::{BackEnd, Log, Vsan, with_turns};
use super::buffer::DiskGroups;
use super::coding::Coding;
use super::data_placement::{DataPlacement, Layout};
use super::device::Devices;
use super::history::History;
use super::journal::Flash;
use super::networks::OwnNetworks;
use super::osds::{Commit, Osd, Osds};
use super::qos::Waiting;
use super::rebuild_queue::RebuildQueue;
use super::scrub_queue::Scrub;
use super::service::{Costs, Services, Spread};
use super::{Counters, Node, Pool};
use crate::ids::{HostId, Id, PoolId, Table};
use crate::island::IslandPool;
use crate::ordered::set_of;
use crate::storage::disk::{DiskOwner, DiskSet};
use crate::storage::queue::{Fifo, Queue};
use crate::storage::request::PerIo;
use crate::storage::shared::Shared;
use crate::storage::site::{Site, SiteVm, service_queues};
use crate::storage::work::{Cost, DriverWork, Stage};
use hypertwin_cluster::{Bandwidth, Bytes, Component, Drive, Duration, FailureDomain, PoolFlash, StoragePool};
use hypertwin_kernel::{Draw, Histogram, Stream};
use hypertwin_models::storage::disk::Disk;
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::placement::{GROUPS_PER_SERVICE, deal};
use hypertwin_models::storage::product::ceph::OsdCost;
use hypertwin_models::storage::product::vsan::shares;
use hypertwin_models::storage::product::{CpuCost, Product, Stored, product};
use std::collections::BTreeMap;

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
    let product = product(spec.kind);
    let first = site.host(hosts[0]);
    let mut stream = Stream::named(site.seed, &format!("storage/{name}"));
    let disks = DiskSets {
        id,
        name,
        site,
        shared,
        adapts_resync: (product.adapts_resync)(spec, first.hypervisor),
    };
    let (mut devices, flash) = disks.add(spec, hosts.len());
    for device in join_later(spec, hosts, site) {
        let state = &mut devices.states[device];
        (state.is_in, state.is_available) = (false, false);
    }
    let data = data_placement(spec, &stored(name, spec, site), &devices, &mut stream);
    for member in 0..data.members.len() {
        devices.states[data.device(member) as usize].groups += 1;
    }
    let mut node_of = vec![None; site.island.hosts.len()];
    for (node, host) in hosts.iter().enumerate() {
        node_of[host.index()] = Some(node as u32);
    }
    let users = site.vms.iter().filter(|vm| vm.spec.ends_on_pool(vm.workload, name) > 0);
    let clients = set_of(users.map(|vm| vm.host).filter(|host| node_of[host.index()].is_none()));
    let ns_per_byte = 1e9 / spec.service.core_bandwidth.bytes_per_s();
    let cost = |io_ns: u64| Cost {
        io_ns: io_ns as f64,
        ns_per_byte,
    };
    let cpu = cpu(spec, product);
    let coding = |layout: &Layout| Coding::of(layout.redundancy, spec, first);
    let coding: Vec<Coding> = data.layouts.iter().map(coding).collect();
    let cycles = match spec.client.cpu_per_io {
        None => (product.client_cycles)(spec),
        Some(_) => 0.0,
    };
    let client = cost(if cycles > 0.0 { 0 } else { cpu.client_ns });
    let drivers = drivers(product, (product.appends_log)(spec), client, &data.layouts, &coding);
    let cycle_ns = 1e9 / first.clock.hz();
    let costs = Costs {
        operation: cost(cpu.component_ns),
        osd: product.has_osds.then(|| OsdCost::of(&spec.ceph()).times(cycle_ns)),
    };
    let mut services = Services::new(costs, Spread::new(spec.service.cv, name, site.seed));
    let is_flash = Drive::of(spec.devices.kind, spec.devices.device.as_deref(), site.island.devices)
        .kind()
        .is_flash();
    let nodes = nodes(id, spec, hosts, site, &mut services);
    let osds = product.has_osds.then(|| osds(spec, &nodes, site, &mut services));
    let scrub = match (&osds, (product.deep_scrub)(spec)) {
        (Some(osds), Some(interval)) => Some(Scrub::new(&spec.ceph(), interval, &data, osds.all.len())),
        _ => None,
    };
    Pool {
        name: name.to_owned(),
        id,
        product,
        write_path: spec.write_path(),
        flushes: spec.flushes,
        nodes,
        node_of,
        clients: clients.into_iter().collect(),
        devices,
        vsan: product
            .has_components
            .then(|| vsan(name, spec, &data, hosts.len(), site)),
        data,
        flash,
        services,
        osds,
        drivers,
        coding,
        client_cycles: cycles,
        client_cache_ns: spec.client.cache_cpu_per_io.nanos() as f64,
        layer_ns: spec.layer_latency.nanos() / 2,
        exchange: Draw::new(spec.exchange_latency.nanos() as f64 / 2.0, 1.0),
        exchange_stream: Stream::named(site.seed, &format!("storage/{name}/exchanges")),
        own_networks: OwnNetworks::of(spec, hosts.len()),
        timeout_ns: spec.timeout().nanos(),
        noticed_at: 0,
        metadata: vec![0; spec.metadata_servers(hosts.len() as u32) as usize],
        suspended: Fifo::default(),
        rebalances_again: false,
        rebuild: RebuildQueue::new(spec, hosts.len(), is_flash),
        scrub,
        stream,
        history: History::default(),
        raw_capacity: spec.raw_capacity(hosts.len() as u32).bytes(),
        count: Counters::default(),
        latencies: [Histogram::new(), Histogram::new()],
        requests: PerIo::new(),
        tasks: PerIo::new(),
        pieces: PerIo::new(),
    }
}

/// Per layout: what its I/Os cost their clients' drivers.
fn drivers(product: &Product, appends_log: bool, cost: Cost, layouts: &[Layout], coding: &[Coding]) -> Vec<DriverWork> {
    let by_client = if product.clients_code { 1.0 } else { 0.0 };
    let driver = |(layout, coding): (&Layout, &Coding)| DriverWork {
        cost,
        stripe_ns_per_byte: by_client * coding.stripe_ns_per_byte,
        update_ns_per_byte: by_client * coding.update_ns_per_byte,
        // what a log has goes on as full stripes
        stripe_bytes: if appends_log {
            0
        } else {
            layout.code.map_or(0, |code| code.fragment * code.data as u64)
        },
    };
    layouts.iter().zip(coding).map(driver).collect()
}

/// Devices that join the pool after its start.
fn join_later(spec: &StoragePool, hosts: &[HostId], site: &Site) -> Vec<usize> {
    let per_node = spec.devices_per_node() as usize;
    let node_of = |name: &str| hosts.iter().position(|&host| site.island.hosts[host].name == name);
    let added = site.island.events.iter().filter_map(|event| event.add.as_ref());
    let devices = added.filter_map(|part| match Component::parse(part)? {
        Component::Host(host) => node_of(&host).map(|node| node * per_node..(node + 1) * per_node),
        Component::Disk(host, disk) => {
            let device = node_of(&host)? * per_node + disk as usize;
            ((disk as usize) < per_node).then_some(device..device + 1)
        }
        _ => None,
    });
    devices.flatten().collect()
}

/// Adds the disks of one pool.
struct DiskSets<'s> {
    id: PoolId,
    name: &'s str,
    site: &'s Site<'s>,
    shared: &'s mut Shared,
    /// True if devices, not the flash in front of them, throttle rebuilding in favour of VM I/O.
    adapts_resync: bool,
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
            let set = DiskSet {
                adapts_resync: self.adapts_resync,
                ..self.set(device, depth, &purpose)
            };
            (set, devices.per_node as usize)
        });
        let kinds = kinds.collect();
        let disks = self.shared.disks.add_in_turn(kinds, nodes);
        let flash = spec.flash.as_ref().map(|flash| {
            let drive = Drive::of(flash.kind, flash.device.as_deref(), own);
            let disk = disk(drive, None, flash.random_write);
            let per_node = flash.per_node as usize;
            let set = self.set(disk, disk.depth, "flash");
            let disks = self.shared.disks.add(set, nodes * per_node);
            // what a cache device is for, its disk groups say
            let (journal, read_cache) = match product(spec.kind).has_components {
                true => (0, 0),
                false => (flash.journal.bytes(), flash.read_cache.bytes()),
            };
            Flash::new(disks, per_node, journal, read_cache)
        });
        (Devices::new(disks, spec.devices_per_node() as usize), flash)
    }

    fn set(&self, disk: Disk, depth: u32, purpose: &str) -> DiskSet {
        DiskSet {
            owner: DiskOwner::Pool(self.id),
            disk,
            depth,
            adapts_resync: false,
            stream: Stream::named(self.site.seed, &format!("storage/{}/{purpose}", self.name)),
        }
    }
}

fn disk(drive: Drive<'_>, used_pct: Option<f64>, random_write: Option<Bandwidth>) -> Disk {
    let disk = Disk::of(drive, used_pct);
    random_write.map_or(disk, |rate| disk.with_random_write(rate.bytes_per_s()))
}

/// What is stored by each policy that some VM names, by name, after what is stored by none; and how much of that VMs
/// write to.
fn stored<'s>(name: &str, spec: &StoragePool, site: &Site<'s>) -> Vec<(Option<&'s str>, u64, u64)> {
    let mut stored: BTreeMap<Option<&str>, [u64; 2]> = BTreeMap::new();
    for vm in site.vms {
        let writes = vm.workload.read_pct < 100.0 || vm.workload.copies();
        for end in vm.spec.ends(vm.workload).filter(|end| end.is_pool(name)) {
            for (policy, vdisks) in vm.spec.policies_of(end, vm.workload) {
                let bytes = vm.workload.working_set.bytes().saturating_mul(vdisks.into());
                let [sum, written] = stored.entry(policy).or_default();
                *sum = sum.saturating_add(bytes);
                *written = written.saturating_add(if writes { bytes } else { 0 });
            }
        }
    }
    if stored.is_empty() {
        stored.insert(None, [0, 0]);
    }
    let sum: u128 = stored.values().map(|&[bytes, _]| u128::from(bytes)).sum();
    let equal = spec.stored.map_or(0, |all| all.bytes() / stored.len() as u64);
    let share = |(policy, [bytes, written]): (Option<&'s str>, [u64; 2])| {
        let of_all = |all: Bytes| (u128::from(all.bytes()) * u128::from(bytes)).checked_div(sum);
        let of_all = |all: Bytes| of_all(all).map_or(equal, |share| share as u64);
        let kept = spec.stored.map_or(bytes, of_all);
        (policy, kept, written.min(kept))
    };
    stored.into_iter().map(share).collect()
}

/// Deals the groups of what is stored by each policy to `devices`, which are numbered node after node. Policies share
/// the devices' groups as they share their bytes.
fn data_placement(
    spec: &StoragePool,
    stored: &[(Option<&str>, u64, u64)],
    devices: &Devices,
    stream: &mut Stream,
) -> DataPlacement {
    let present: Vec<u32> = (0..devices.states.len() as u32)
        .filter(|&device| devices.states[device as usize].is_in)
        .collect();
    let devices = devices.states.len();
    let node_of = |device: usize| device as u32 / spec.devices_per_node();
    let domain_of: Vec<u32> = (0..devices)
        .map(|device| match spec.failure_domain {
            FailureDomain::Disk => device as u32,
            FailureDomain::Host => node_of(device),
            FailureDomain::Rack => node_of(device) % spec.racks,
        })
        .collect();
    let node = spec.all_devices().flat_map(|devices| {
        let capacity = devices.capacity.bytes() as f64;
        std::iter::repeat_n(capacity, devices.per_node as usize)
    });
    let node: Vec<f64> = node.collect();
    let capacities: Vec<f64> = node.into_iter().cycle().take(devices).collect();
    let nodes = devices as u32 / spec.devices_per_node();
    let layouts: Vec<(Layout, u64, u64)> = stored
        .iter()
        .map(|&(policy, bytes, written)| (Layout::new(policy, spec, nodes), bytes, written))
        .collect();
    let raw =
        |(layout, bytes, _): &(Layout, u64, u64)| u128::from(*bytes) * layout.width as u128 / layout.needed as u128;
    let all = layouts.iter().map(raw).sum::<u128>().max(1);
    let mut data = DataPlacement::new(domain_of, capacities);
    let product = product(spec.kind);
    // a device has a service, or for each of its OSDs one
    let services = spec.ceph().osds_per_device as usize;
    for layout in layouts {
        let raw = raw(&layout).max(1);
        let (layout, bytes, written) = layout;
        let members = (present.len() * services * GROUPS_PER_SERVICE) as u128 * raw;
        let stored = Stored {
            chunks: bytes.div_ceil(layout.span).clamp(1, MOST_GROUPS as u64) as usize,
            usual: members.div_ceil(layout.width as u128 * all) as usize,
            raw,
            all,
        };
        let has_turns = product.takes_turns && layout.needed > 1;
        let groups = (product.groups)(spec, &stored).div_ceil(if has_turns { layout.width } else { 1 });
        let domain_of: Vec<u32> = present.iter().map(|&device| data.domain_of[device as usize]).collect();
        let capacities: Vec<f64> = present.iter().map(|&device| data.capacities[device as usize]).collect();
        let dealt = deal(&domain_of, &capacities, groups, layout.width, services, |n| {
            stream.below(n)
        });
        let dealt: Vec<u32> = dealt.into_iter().map(|number| present[number as usize]).collect();
        let dealt = if has_turns {
            with_turns(&dealt, layout.width)
        } else {
            dealt
        };
        data.add(layout, dealt, bytes, written);
    }
    data
}

/// CPU of an I/O: the scenario's, or that of the product.
fn cpu(spec: &StoragePool, product: &Product) -> CpuCost {
    let own = (product.cpu)(spec);
    CpuCost {
        client_ns: spec.client.cpu_per_io.map_or(own.client_ns, Duration::nanos),
        component_ns: spec.service.cpu_per_io.map_or(own.component_ns, Duration::nanos),
    }
}

/// What only vSAN has. Virtual disks of each layout are counted where VMs deal theirs to several: every second
/// component would miss half of the groups, and so perhaps half of the devices.
fn vsan(name: &str, spec: &StoragePool, data: &DataPlacement, nodes: usize, site: &Site) -> Vsan {
    let devices = data.capacities.len();
    let original = |flash: &PoolFlash| {
        let per_node = flash.per_node as usize;
        let in_node = devices / nodes;
        let is_hybrid = spec.all_devices().any(|devices| {
            let drive = Drive::of(devices.kind, devices.device.as_deref(), site.island.devices);
            Disk::of(drive, None).flash().is_none()
        });
        let capacity = flash.capacity.map_or(0, Bytes::bytes);
        let (buffer, read_cache) = shares(capacity, is_hybrid);
        let own = |of_node: Bytes, share: u64| match of_node.bytes() {
            0 => share,
            bytes => bytes / per_node as u64,
        };
        DiskGroups::new(
            |device| device / in_node * per_node + device % in_node % per_node,
            per_node,
            &data.capacities,
            (own(flash.journal, buffer), own(flash.read_cache, read_cache)),
            spec.vsan().destage_from_pct,
            Stream::named(site.seed, &format!("storage/{name}/buffers")),
        )
    };
    let deals = |vm: &SiteVm| vm.spec.vdisk_policies.windows(2).any(|pair| pair[0] != pair[1]);
    let counts = if site.vms.iter().any(deals) {
        data.layouts.len()
    } else {
        1
    };
    Vsan {
        back_end: match &spec.flash {
            Some(flash) => BackEnd::Original(original(flash)),
            None => BackEnd::Express(Log::new(devices)),
        },
        objects: vec![0; counts],
        is_stretched: spec.failure_domain == FailureDomain::Rack,
    }
}

/// The nodes of a pool, with the queues of their services.
fn nodes(id: PoolId, spec: &StoragePool, hosts: &[HostId], site: &Site, services: &mut Services) -> Vec<Node> {
    let mut worlds = site.services[id.index()].as_slice();
    let rebuild_link = || Link::new(spec.rebuild_bandwidth().bytes_per_s(), 0);
    let mut first = 0;
    let reference_hz = site.host(hosts[0]).clock.hz();
    let node = |(number, &host): (usize, &HostId)| {
        let slowdown = reference_hz / site.host(host).clock.hz();
        let queues = service_queues(spec, site.island.devices, number);
        let own = first..first + queues.len();
        first = own.end;
        for (number, queue) in own.clone().zip(queues) {
            let (of_queue, others) = worlds.split_at(queue.threads);
            worlds = others;
            let waiting = match queue.shard_of {
                Some((kind, shards)) => Waiting::new((product(spec.kind).order)(spec, kind, shards)),
                None => Waiting::InTurn(Queue::new()),
            };
            services.add_queue(of_queue, queue.stage, waiting, slowdown);
            if let (Stage::Operation, Some(cpus)) = (queue.stage, spec.service.limit_cpus) {
                services.limit(number..number + 1, cpus);
            }
        }
        Node {
            host,
            rack: number as u32 % spec.racks,
            queues: own,
            rebuild_read: rebuild_link(),
            rebuild_write: rebuild_link(),
        }
    };
    hosts.iter().enumerate().map(node).collect()
}

/// The OSDs of a Ceph cluster, whose queues its nodes have, and its gateways.
fn osds(spec: &StoragePool, nodes: &[Node], site: &Site, services: &mut Services) -> Osds {
    let ceph = spec.ceph();
    let (mut all, mut gateways) = (Vec::new(), Vec::new());
    for node in nodes {
        let mut first = node.queues.start;
        for devices in spec.all_devices() {
            let drive = Drive::of(devices.kind, devices.device.as_deref(), site.island.devices);
            let is_flash = drive.kind().is_flash();
            let shards = ceph.shards_on(is_flash) as usize;
            for _ in 0..devices.per_node * ceph.osds_per_device {
                let end = first + ceph.messengers as usize + shards + 1;
                if let Some(cpus) = spec.service.limit_cpus {
                    services.limit(first..end, cpus);
                }
                all.push(Osd {
                    first_queue: first,
                    shards,
                    commit: Commit::new(ceph.deferred_on(is_flash).bytes() as u32),
                });
                first = end;
            }
        }
        gateways.extend((first < node.queues.end).then_some((first, node.host)));
    }
    Osds::new(all, &ceph, gateways)
}
