//! From a scenario to the initial state of its I/O path.

use crate::ids::{Id, ProcessId};
use crate::io::array::Array;
use crate::io::guest::{Controller, ROUTE, Target, Vdisk, VmIo, Worker};
use crate::io::{Depth, DiskSet, NONE, Owner, Port, Waits};
use crate::simulation::Simulation;
use crate::state::{Kind, Responses};
use crate::stations::Station;
use hypertwin_cluster::{Arrivals, HostGroup, Scenario, VmGroup, Workload};
use hypertwin_kernel::{Histogram, Stream, TimeAverage};
use hypertwin_models::storage::array::hit_ratio;
use hypertwin_models::storage::disk::Disk;
use hypertwin_models::storage::link::Link;
use hypertwin_models::storage::virtual_controller::virtual_controller;
use std::collections::{BTreeMap, BTreeSet};

/// A LUN: its array, whether several machines may be on it, and its number.
type Lun = (usize, bool, u32);

impl Simulation {
    /// Makes the arrays of `scenario` and connects its VMs, whose worlds are there, with them.
    pub fn connect(&mut self, scenario: &Scenario, seed: u64, keep_distributions: bool) {
        let host_specs = scenario.host_names();
        let vm_specs = scenario.vm_names();
        for (name, spec) in &scenario.arrays {
            let disk = Disk::new(spec.disks.kind);
            let index = self.io.arrays.len();
            let first_front = self.io.fronts.len();
            let set = DiskSet {
                owner: Owner::Array(index),
                disk,
                depth: disk.depth,
                stream: Stream::named(seed, &format!("array/{name}")),
            };
            let disks = self.io.add_disks(set, spec.disks.count);
            let port = || port(spec.port_bandwidth.bytes_per_s(), spec.port_command.nanos());
            self.io.fronts.extend((0..spec.front_end_ports).map(|_| port()));
            let working_set: u64 = vm_specs
                .iter()
                .filter(|(_, vm)| vm.array.as_ref() == Some(name))
                .map(|(_, vm)| {
                    u64::from(vm.all_vdisks()).saturating_mul(scenario.workloads[&vm.workload].working_set.bytes())
                })
                .fold(0, u64::saturating_add);
            self.io.arrays.push(Array {
                name: name.clone(),
                hit_ratio: hit_ratio(spec.cache.size.bytes(), working_set),
                latency_ns: spec.cache.latency.nanos(),
                write_back: spec.cache.write_back && spec.cache.size.bytes() > 0,
                most_pending_bytes: spec.cache.write_pending.bytes(),
                pending: 0,
                pending_bytes: 0,
                line: Default::default(),
                raid: spec.raid,
                disks,
                set: self.io.disk_sets.len() - 1,
                fronts: first_front..self.io.fronts.len(),
                reads: 0,
                hits: 0,
                queue: TimeAverage::new(),
                waits: Waits::default(),
            });
        }
        let luns = self.deal_luns(scenario, &vm_specs);
        let mut users: BTreeMap<(usize, Lun), BTreeSet<usize>> = BTreeMap::new();
        for (vm, luns) in luns.iter().enumerate() {
            for lun in luns {
                users.entry((self.vms[vm].host, *lun)).or_default().insert(vm);
            }
        }
        let mut lun_depths: BTreeMap<(usize, Lun), u32> = BTreeMap::new();
        let mut first_ports: BTreeMap<usize, usize> = BTreeMap::new();
        let controllers = self.controllers_by_vm();
        for (vm, (name, spec)) in vm_specs.iter().enumerate() {
            if !spec.has_disks() {
                continue;
            }
            let host = self.vms[vm].host;
            let host_spec = host_specs[host].1;
            let adapters = &host_spec.adapters;
            let connect = || {
                let first = self.io.ports.len();
                let port = || port(adapters.bandwidth.bytes_per_s(), adapters.command.nanos());
                self.io.ports.extend((0..adapters.ports).map(|_| port()));
                self.hosts[host].ports = first..self.io.ports.len();
                let station = self.station(Station::PortDepth { host });
                self.io
                    .depths
                    .extend((0..adapters.ports).map(|_| Depth::new(adapters.depth, station)));
                self.hosts[host].port_depths = self.io.depths.len() - adapters.ports as usize;
                first
            };
            let first_port = match spec.array {
                Some(_) => *first_ports.entry(host).or_insert_with(connect),
                None => 0,
            };
            let kind = spec.controller_kind(host_spec.hypervisor.family());
            let first_controller = controllers[vm].start;
            let first_ring = self.io.depths.len() as u32;
            let group = self.vms[vm].group;
            let stations = [
                Station::Ring { group },
                Station::VdiskDepth { group },
                Station::Dsnro { group },
                Station::LunDepth { host },
            ]
            .map(|station| self.station(station));
            let ring = kind.depth(spec.ring_pages);
            self.io
                .depths
                .extend((0..spec.controllers).map(|_| Depth::new(ring, stations[0])));
            let vdisk_depth = spec.vdisk_depth.unwrap_or(kind.vdisk_depth().0);
            let mut own: BTreeMap<Lun, u32> = BTreeMap::new();
            let first_vdisk = self.io.vdisks.len();
            let mut places = Stream::named(seed, &format!("vm/{name}/places"));
            for number in 0..spec.all_vdisks() as usize {
                let mut add = |depth: Depth| {
                    self.io.depths.push(depth);
                    (self.io.depths.len() - 1) as u32
                };
                let controller = number as u32 % spec.controllers;
                let mut route = [NONE; ROUTE];
                route[0] = add(Depth::new(vdisk_depth, stations[1]));
                route[1] = first_ring + controller;
                let Some(lun) = luns[vm].get(number) else {
                    let name = spec.storage.as_deref();
                    let pool = self.pools.iter().position(|pool| Some(pool.name.as_str()) == name);
                    self.io.vdisks.push(Vdisk {
                        route,
                        controller: first_controller as u32 + controller,
                        target: Target::Pool {
                            pool: pool.unwrap_or(0) as u32,
                            offset: 0,
                            key: places.bits(),
                        },
                    });
                    continue;
                };
                let port = lun.2 as usize % adapters.ports as usize;
                let fronts = &self.io.arrays[lun.0].fronts;
                let front = fronts.start + lun.2 as usize % fronts.len();
                if users[&(host, *lun)].len() > 1 {
                    route[2] = *own
                        .entry(*lun)
                        .or_insert_with(|| add(Depth::new(adapters.dsnro, stations[2])));
                }
                route[3] = *lun_depths
                    .entry((host, *lun))
                    .or_insert_with(|| add(Depth::new(adapters.lun_depth, stations[3])));
                route[4] = (self.hosts[host].port_depths + port) as u32;
                self.io.vdisks.push(Vdisk {
                    route,
                    controller: first_controller as u32 + controller,
                    target: Target::Array {
                        array: lun.0 as u32,
                        port: (first_port + port) as u32,
                        front: front as u32,
                        lun: lun.2,
                    },
                });
            }
            let workload = &scenario.workloads[&spec.workload];
            let costs = virtual_controller(kind);
            let reference_hz = workload.reference_clock.unwrap_or(host_spec.clock).hz();
            let generator = matches!(workload.arrivals, Arrivals::Io { .. });
            let gap_ns = match &workload.arrivals {
                Arrivals::Io { rate: Some(rate), .. } if spec.load > 0.0 => 1e9 / (rate.per_second() * spec.load),
                _ => 0.0,
            };
            self.vms[vm].io = Some(VmIo {
                vdisks: first_vdisk..self.io.vdisks.len(),
                controllers: controllers[vm].clone(),
                first_worker: self.io.workers.len(),
                blocks: blocks(workload),
                largest: costs.largest_bytes.map_or(u32::MAX, |bytes| bytes as u32),
                read: workload.read_pct / 100.0,
                random: workload.random_pct / 100.0,
                working_set: workload.working_set.bytes(),
                cached: self.cached(scenario, vm, spec),
                guest_ns: costs.guest_cycles * 1e9 / reference_hz,
                interrupt_ns: costs.interrupt_cycles * 1e9 / reference_hz,
                way_ns: adapters.latency.nanos() / 2,
                gap_ns,
                next_issue_ns: 0.0,
                per_burst: workload.ios / f64::from(workload.bursts),
                carry: 0.0,
                next_vdisk: 0,
                stream: Stream::named(seed, &format!("vm/{name}/io")),
                latency: keep_distributions.then(Histogram::new),
                all: Responses::default(),
                bytes: 0.0,
            });
            if generator {
                self.fill_workers(vm, spec, workload);
            }
        }
    }

    /// How many of a VM's random reads hit the cache that its pool has on its host.
    fn cached(&self, scenario: &Scenario, vm: usize, spec: &VmGroup) -> f64 {
        let Some(pool) = self.pools.iter().find(|pool| Some(&pool.name) == spec.storage.as_ref()) else {
            return 0.0;
        };
        let host = self.vms[vm].host;
        let machines = scenario.vm_names();
        let neighbours = machines.iter().zip(&self.vms);
        let neighbours = neighbours.filter(|((_, other), state)| state.host == host && other.storage == spec.storage);
        let working_sets = neighbours
            .map(|((_, other), _)| {
                let each = scenario.workloads[&other.workload].working_set.bytes();
                each.saturating_mul(u64::from(other.all_vdisks()))
            })
            .fold(0, u64::saturating_add);
        pool.cached(host, working_sets)
    }

    /// Controllers of a VM with their worlds; called while its worlds are made, so that they follow its helpers'.
    pub fn add_controllers(&mut self, vm: usize, host_index: usize, host: &HostGroup, spec: &VmGroup) {
        let costs = virtual_controller(spec.controller_kind(host.hypervisor.family()));
        for position in 0..spec.controllers as usize {
            let (index, world) = (self.io.controllers.len(), self.worlds.len());
            self.add_world(
                host_index,
                Kind::Controller { index },
                hypertwin_models::topology::Domain::Any,
                position,
                true,
            );
            let work_ns = costs.hypervisor_cycles * 1e9 / host.clock.hz();
            self.io.controllers.push(Controller::new(world, vm, work_ns));
        }
    }

    /// Where the controllers of each VM are.
    fn controllers_by_vm(&self) -> Vec<std::ops::Range<usize>> {
        let first = |vm: usize| self.io.controllers.partition_point(|controller| controller.vm < vm);
        (0..self.vms.len()).map(|vm| first(vm)..first(vm + 1)).collect()
    }

    /// The LUN of every virtual disk of every VM.
    fn deal_luns(&self, scenario: &Scenario, vms: &[(String, &VmGroup)]) -> Vec<Vec<Lun>> {
        let mut dealt: BTreeMap<(usize, bool), u32> = BTreeMap::new();
        let of = |vm: &VmGroup| {
            let Some(array) = vm
                .array
                .as_ref()
                .and_then(|name| self.io.arrays.iter().position(|array| array.name == *name))
            else {
                return Vec::new();
            };
            let spec = &scenario.arrays[&self.io.arrays[array].name];
            let shared = spec.luns.unwrap_or(spec.front_end_ports);
            let next = dealt.entry((array, vm.shared_luns)).or_default();
            (0..vm.all_vdisks())
                .map(|_| {
                    let number = if vm.shared_luns { *next % shared } else { *next };
                    *next += 1;
                    (array, vm.shared_luns, number)
                })
                .collect()
        };
        vms.iter().map(|(_, vm)| *vm).map(of).collect()
    }

    /// The I/Os that a generator keeps outstanding, dealt to its workers.
    fn fill_workers(&mut self, vm: usize, spec: &VmGroup, workload: &Workload) {
        let Arrivals::Io { outstanding, .. } = workload.arrivals else {
            return;
        };
        let Some(io) = &self.vms[vm].io else { return };
        let (vdisks, first_worker) = (io.vdisks.clone(), io.first_worker);
        let workers = self.vms[vm].sessions as usize;
        let first_process = self.processes.partition_point(|process| (process.vm as usize) < vm);
        self.io
            .workers
            .resize(self.io.workers.len() + workers, Worker::default());
        let each = (f64::from(outstanding) * spec.load).round() as usize;
        for slot in 0..each * vdisks.len() {
            let owner = ProcessId::new(first_process + slot % workers);
            let id = self.io.allocate(vm, owner, vdisks.start + slot % vdisks.len());
            if !self.is_throttled(id) {
                self.io.workers[first_worker + slot % workers]
                    .line
                    .push(&mut self.io.ios, id);
            }
        }
    }
}

pub fn port(bytes_per_s: f64, command_ns: u64) -> Port {
    Port {
        up: Link::new(bytes_per_s, command_ns),
        down: Link::new(bytes_per_s, command_ns),
        waits: Waits::default(),
        bytes: [0; 2],
    }
}

/// Sizes of a workload's I/Os with their cumulative probabilities.
fn blocks(workload: &Workload) -> Vec<(f64, u32)> {
    let mut upto = 0.0;
    let mut blocks: Vec<(f64, u32)> = Vec::new();
    for part in workload.block_mix.iter().filter(|part| part.share_pct > 0.0) {
        upto += part.share_pct / 100.0;
        blocks.push((upto, part.block.bytes() as u32));
    }
    if upto < 1.0 - 1e-9 {
        blocks.push((1.0, workload.block.bytes() as u32));
    }
    blocks
}
