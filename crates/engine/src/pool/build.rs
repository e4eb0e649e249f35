//! From a scenario to the initial state of its pools.

use super::failure::Action;
use super::rebuild::Queue;
use super::service::{Desk, Thread};
use super::{Coding, Cost, Counters, DeviceState, Flash, Member, Node, Pool};
use crate::clock::Event;
use crate::io::{DiskSet, Line, Owner, port};
use crate::simulation::Simulation;
use crate::state::Kind;
use hypertwin_cluster::{Bandwidth, Component, FailureDomain, HostGroup, Redundancy, Scenario, StoragePool};
use hypertwin_kernel::{Nanos, Stream};
use hypertwin_models::scheduler::GroupSpec;
use hypertwin_models::storage::coding;
use hypertwin_models::storage::disk::Disk;
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::placement::{GROUPS_PER_DEVICE, deal};
use hypertwin_models::topology::Domain;
use std::collections::BTreeMap;

/// CPU shares of one thread of a service: those of a vCPU with normal shares.
const SHARES_PER_THREAD: f64 = 1_000.0;
/// Groups of the largest pools.
const MOST_GROUPS: usize = 200_000;

impl Simulation {
    /// Makes the pools of `scenario` and the network of all hosts that take part.
    pub fn add_pools(&mut self, scenario: &Scenario, seed: u64) {
        let hosts = scenario.host_names();
        for (name, spec) in &scenario.storage {
            self.add_pool(name, spec, &hosts, scenario, seed);
        }
        let uses_pool: Vec<usize> = scenario
            .vm_names()
            .iter()
            .zip(scenario.placement().unwrap_or_default())
            .filter(|((_, vm), _)| vm.storage.is_some())
            .map(|(_, host)| host)
            .collect();
        let nodes = self
            .pools
            .iter()
            .flat_map(|pool| pool.nodes.iter().map(|node| node.host));
        let mut taking_part: Vec<usize> = nodes.chain(uses_pool).collect();
        taking_part.sort_unstable();
        taking_part.dedup();
        for host in taking_part {
            let network = &hosts[host].1.network;
            let first = self.io.nics.len();
            let nic = || port(network.bandwidth.bytes_per_s(), 0);
            self.io.nics.extend((0..network.ports).map(|_| nic()));
            self.hosts[host].nics = first..self.io.nics.len();
            self.hosts[host].message_ns = network.latency.nanos();
        }
        self.schedule_failures(scenario, &hosts);
    }

    fn add_pool(
        &mut self,
        name: &str,
        spec: &StoragePool,
        hosts: &[(String, &HostGroup)],
        scenario: &Scenario,
        seed: u64,
    ) {
        let group = &scenario.hosts[&spec.nodes];
        let node_hosts: Vec<usize> = (0..hosts.len())
            .filter(|&host| std::ptr::eq(hosts[host].1, group))
            .collect();
        let (per_node, index) = (spec.devices.per_node as usize, self.pools.len());
        let mut stream = Stream::named(seed, &format!("storage/{name}"));
        let device = |kind, random_write: Option<Bandwidth>| {
            let disk = Disk::new(kind);
            random_write.map_or(disk, |rate| disk.with_random_write(rate.bytes_per_s()))
        };
        let disk = device(spec.devices.kind, spec.devices.random_write);
        let disks = node_hosts.len() * per_node;
        let set = |disk: Disk, depth: Option<u32>, purpose: &str| DiskSet {
            owner: Owner::Pool(index),
            disk,
            depth: depth.map_or(disk.depth, |depth| depth.min(disk.depth)),
            stream: Stream::named(seed, &format!("storage/{name}/{purpose}")),
        };
        let devices = self
            .io
            .add_disks(set(disk, spec.devices.depth, "devices"), disks as u32);
        let flash = spec.flash.as_ref().map(|flash| Flash {
            disks: self.io.add_disks(
                set(device(flash.kind, flash.random_write), None, "flash"),
                node_hosts.len() as u32 * flash.per_node,
            ),
            per_node: flash.per_node as usize,
            journal: flash.journal.bytes(),
            read_cache: flash.read_cache.bytes(),
        });
        let domain_of: Vec<u32> = (0..disks)
            .map(|device| match spec.failure_domain {
                FailureDomain::Disk => device as u32,
                FailureDomain::Host => (device / per_node) as u32,
                FailureDomain::Rack => (device / per_node) as u32 % spec.racks,
            })
            .collect();
        let redundancy = spec.redundancy();
        let (width, needed) = (redundancy.width() as usize, redundancy.needed() as usize);
        let span = spec.chunk().bytes().saturating_mul(needed as u64);
        let stored = spec
            .stored
            .map_or_else(|| working_sets(scenario, name), |stored| stored.bytes());
        let chunks = stored.div_ceil(span).clamp(1, MOST_GROUPS as u64) as usize;
        let groups = chunks.min((disks * GROUPS_PER_DEVICE).div_ceil(width));
        let dealt = deal(&domain_of, groups, width, |n| stream.below(n));
        let mut states = vec![
            DeviceState {
                available: true,
                ..DeviceState::default()
            };
            disks
        ];
        dealt.iter().for_each(|&device| states[device as usize].groups += 1);
        let client_ns_per_byte = 1e9 / spec.service.core_bandwidth.bytes_per_s();
        let mut node_of = vec![None; hosts.len()];
        for (node, &host) in node_hosts.iter().enumerate() {
            node_of[host] = Some(node as u32);
        }
        let rebuild_link = || Link::new(spec.rebuild.node_bandwidth.bytes_per_s(), 0);
        let mut pool = Pool {
            name: name.to_owned(),
            kind: spec.kind,
            redundancy,
            write_path: spec.write_path,
            width,
            needed,
            minimum: redundancy.minimum_available() as usize,
            fragment: spec.fragment.bytes(),
            span,
            nodes: Vec::new(),
            node_of,
            devices,
            states,
            domain_of,
            flash,
            members: dealt
                .into_iter()
                .map(|device| Member {
                    device,
                    up: true,
                    due: 0,
                })
                .collect(),
            groups,
            member_bytes: stored.div_ceil((groups * needed) as u64),
            degraded: 0,
            lost: vec![false; groups],
            client: Cost {
                io_ns: spec.client.cpu_per_io.nanos() as f64,
                ns_per_byte: client_ns_per_byte,
            },
            service: Cost {
                io_ns: spec.service.cpu_per_io.nanos() as f64,
                ns_per_byte: client_ns_per_byte,
            },
            coding: Coding::of(spec, group),
            layer_ns: spec.layer_latency.nanos() / 2,
            timeout_ns: spec.client.timeout.nanos(),
            desks: Vec::new(),
            threads: Vec::new(),
            metadata: vec![0; spec.metadata_servers(group.count) as usize],
            suspended: Line::default(),
            rebuild: Queue::new(&spec.rebuild, node_hosts.len()),
            stream,
            incidents: Vec::new(),
            degraded_since: None,
            longest_degraded_ns: 0,
            raw_capacity: spec.raw_capacity(group.count).bytes(),
            count: Counters::default(),
        };
        for (node, &host) in node_hosts.iter().enumerate() {
            let (desks, threads) = match spec.service.threads {
                Some(threads) => (1, threads as usize),
                None => (per_node, 1),
            };
            let first_desk = pool.desks.len();
            self.hosts[host].add_group(GroupSpec {
                shares: SHARES_PER_THREAD * (desks * threads) as f64,
                reservation_cores: 0.0,
                clients: Vec::new(),
            });
            for _ in 0..desks {
                let desk = pool.desks.len();
                let first_thread = pool.threads.len();
                for _ in 0..threads {
                    let thread = pool.threads.len();
                    let world = self.worlds.len();
                    let kind = Kind::Service { pool: index, thread };
                    self.add_world(host, kind, Domain::Any, thread, spec.service.in_kernel);
                    pool.threads.push(Thread::new(world, desk));
                }
                pool.desks
                    .push(Desk::new((first_thread..pool.threads.len()).rev().collect()));
            }
            pool.nodes.push(Node {
                host,
                rack: node as u32 % spec.racks,
                desks: first_desk..pool.desks.len(),
                pending: 0,
                journal_line: Line::default(),
                rebuild_read: rebuild_link(),
                rebuild_write: rebuild_link(),
            });
        }
        self.pools.push(pool);
    }

    /// Turns the scenario's failures into events.
    fn schedule_failures(&mut self, scenario: &Scenario, hosts: &[(String, &HostGroup)]) {
        let position: BTreeMap<&str, usize> = hosts
            .iter()
            .enumerate()
            .map(|(position, (name, _))| (name.as_str(), position))
            .collect();
        let pool_of = |name: &str| scenario.storage.keys().position(|known| known == name);
        let mut actions: Vec<(Nanos, Action)> = Vec::new();
        for failure in &scenario.failures {
            let components: Vec<Component> = failure.fails.iter().filter_map(|text| Component::parse(text)).collect();
            let resolved: Vec<super::failure::Part> = components
                .iter()
                .filter_map(|component| {
                    use super::failure::Part;
                    Some(match component {
                        Component::Host(host) => Part::Host(*position.get(host.as_str())?),
                        Component::Link(host) => Part::Link(*position.get(host.as_str())?),
                        Component::Disk(host, number) => {
                            let host = *position.get(host.as_str())?;
                            let of = |pool: &Pool| {
                                Some((pool.node_of[host]? as usize, pool.states.len() / pool.nodes.len()))
                            };
                            let (pool, (node, per_node)) =
                                self.pools.iter().enumerate().find_map(|(index, pool)| {
                                    Some((index, of(pool)?)).filter(|(_, (_, n))| (*number as usize) < *n)
                                })?;
                            Part::Device(pool, node * per_node + *number as usize)
                        }
                        Component::Rack(pool, number) => Part::Rack(pool_of(pool)?, *number),
                        Component::Metadata(pool, number) => Part::Metadata(pool_of(pool)?, *number as usize),
                    })
                })
                .collect();
            let forever = failure.returns.is_none();
            let what = failure.fails.join(", ");
            actions.push((
                failure.at.nanos(),
                Action::new(resolved.clone(), true, forever, what.clone()),
            ));
            if let Some(returns) = failure.returns {
                actions.push((returns.nanos(), Action::new(resolved, false, false, what)));
            }
        }
        for (at, action) in actions {
            let index = self.schedule.len() as u32;
            self.schedule.push(action);
            self.clock.at(at, Event::Failure(index));
        }
    }
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

/// Working sets of all virtual disks on a pool.
pub fn working_sets(scenario: &Scenario, pool: &str) -> u64 {
    let users = scenario.vms.values().filter(|vm| vm.storage.as_deref() == Some(pool));
    users
        .map(|vm| {
            let each = scenario.workloads[&vm.workload].working_set.bytes();
            each.saturating_mul(u64::from(vm.count) * u64::from(vm.all_vdisks()))
        })
        .fold(0, u64::saturating_add)
}
