//! From a scenario to the path of its VMs.

use super::controller::Controller;
use super::vdisk::{LunQueues, Route, Target, Vdisk};
use super::vm::{IoMeasured, IoProfile, VmIo};
use super::worker::Worker;
use super::{Adapters, Path};
use crate::ids::{ControllerId, DepthId, HostId, Id, PoolId, Span, Table, VmId, WorkerId};
use crate::storage::array::Array;
use crate::storage::fabric::{ArrayPath, Fabric};
use crate::storage::pool::Pool;
use crate::storage::port::Port;
use crate::storage::queue::QueueDepth;
use crate::storage::site::{Site, SiteVm};
use crate::storage::stations::Station;
use crate::storage::work::DriverWork;
use hypertwin_cluster::{Arrivals, VmGroup, Workload};
use hypertwin_kernel::Stream;
use hypertwin_models::storage::virtual_controller::{VirtualController, virtual_controller};
use std::collections::{BTreeMap, BTreeSet};

/// A LUN of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lun {
    array: usize,
    /// Whether several VMs may be on it: these have numbers of their own.
    is_shared: bool,
    number: u32,
}

/// Makes the path of all VMs.
pub struct PathBuilder<'s> {
    site: &'s Site<'s>,
    arrays: &'s [Array],
    pools: &'s Table<PoolId, Pool>,
    fabric: &'s mut Fabric,
    /// Per VM and virtual disk.
    luns: Vec<Vec<Lun>>,
    /// VMs that use a LUN from one host.
    users: BTreeMap<(HostId, Lun), BTreeSet<VmId>>,
    /// The queue of each LUN on each host, and the hypervisor's limit for each VM on a LUN that others use too.
    lun_queues: BTreeMap<(HostId, Lun), DepthId>,
    shared_limits: BTreeMap<(VmId, Lun), DepthId>,
    /// Per host and pool: the working sets of the VMs there.
    working_sets: BTreeMap<(HostId, &'s str), u64>,
    path: Path,
}

/// What the virtual disks of a VM have in common.
struct Common {
    first_controller: ControllerId,
    first_ring: DepthId,
    vdisk_depth: u32,
    profile: u32,
}

impl<'s> PathBuilder<'s> {
    pub fn new(
        site: &'s Site<'s>,
        arrays: &'s [Array],
        pools: &'s Table<PoolId, Pool>,
        fabric: &'s mut Fabric,
    ) -> Self {
        let luns = deal_luns(site, arrays);
        let mut users: BTreeMap<_, BTreeSet<VmId>> = BTreeMap::new();
        for ((vm, spec), luns) in site.vms().zip(&luns) {
            for lun in luns {
                users.entry((spec.host, *lun)).or_default().insert(vm);
            }
        }
        let mut working_sets: BTreeMap<_, u64> = BTreeMap::new();
        for vm in site.vms {
            if let Some(pool) = &vm.spec.storage {
                let sum = working_sets.entry((vm.host, pool.as_str())).or_default();
                *sum = sum.saturating_add(vm.working_set());
            }
        }
        Self {
            site,
            arrays,
            pools,
            fabric,
            luns,
            users,
            lun_queues: BTreeMap::new(),
            shared_limits: BTreeMap::new(),
            working_sets,
            path: Path::empty(),
        }
    }

    /// The path of all VMs of the scenario.
    pub fn build(mut self) -> Path {
        for (id, vm) in self.site.vms() {
            let io = vm.spec.has_disks().then(|| self.vm(id, vm));
            self.path.vms.push(io);
        }
        self.path
    }

    /// A VM with its controllers, virtual disks and workers.
    fn vm(&mut self, id: VmId, vm: &SiteVm) -> VmIo {
        let (spec, host) = (vm.spec, self.site.host(vm.host));
        if spec.array.is_some() && !self.path.adapters.contains_key(&vm.host) {
            self.add_adapters(vm.host);
        }
        let kind = spec.controller_kind(host.hypervisor.family());
        let costs = virtual_controller(kind);
        let common = Common {
            first_controller: self.path.controllers.next_id(),
            first_ring: self.path.depths.next_id(),
            vdisk_depth: spec.vdisk_depth.unwrap_or(kind.vdisk_depth().0),
            profile: self.profile(vm, &costs),
        };
        let station = self.station(Station::Ring { group: vm.group });
        for &world in &vm.controllers {
            let ring = self
                .path
                .depths
                .push(QueueDepth::new(kind.depth(spec.ring_pages), station));
            let work_ns = costs.hypervisor_cycles * 1e9 / host.clock.hz();
            self.path.controllers.push(Controller::new(world, ring, work_ns));
        }
        let first_vdisk = self.path.vdisks.next_id();
        let mut keys = Stream::named(self.site.seed, &format!("vm/{}/places", vm.name));
        for number in 0..spec.all_vdisks() as usize {
            self.add_vdisk(id, vm, number, &common, &mut keys);
        }
        let (workers, outstanding) = self.add_workers(vm, vm.workload);
        VmIo {
            host: vm.host,
            profile: common.profile,
            vdisks: Span::new(first_vdisk, spec.all_vdisks() as usize),
            next_vdisk: 0,
            carry: 0.0,
            stream: Stream::named(self.site.seed, &format!("vm/{}/io", vm.name)),
            next_issue_ns: 0.0,
            group: vm.group,
            controllers: Span::new(common.first_controller, vm.controllers.len()),
            workers,
            outstanding,
            measured: [(); 2].map(|()| IoMeasured::new()),
        }
    }

    /// The number of the profile of a VM. It shares that of the VM before it if theirs are the same.
    fn profile(&mut self, vm: &SiteVm, costs: &VirtualController) -> u32 {
        let (spec, pool) = (vm.spec, self.pool_of(vm.spec));
        let workload = vm.workload;
        let reference_hz = workload.reference_clock.unwrap_or(self.site.host(vm.host).clock).hz();
        let profile = IoProfile {
            blocks: blocks(workload),
            largest: costs.largest_bytes.map_or(u32::MAX, |bytes| bytes as u32),
            read: workload.read_pct / 100.0,
            random: workload.random_pct / 100.0,
            working_set: workload.working_set.bytes(),
            cached: pool.map_or(0.0, |pool| {
                pool.cached(vm.host, self.working_sets[&(vm.host, pool.name.as_str())])
            }),
            guest_ns: costs.guest_cycles * 1e9 / reference_hz,
            interrupt_ns: costs.interrupt_cycles * 1e9 / reference_hz,
            driver: pool.map_or_else(DriverWork::default, Pool::driver_work),
            gap_ns: match &workload.arrivals {
                Arrivals::Io { rate: Some(rate), .. } if spec.load > 0.0 => 1e9 / (rate.per_second() * spec.load),
                _ => 0.0,
            },
            per_burst: workload.ios / f64::from(workload.bursts),
        };
        let profiles = &mut self.path.profiles;
        if profiles.last() != Some(&profile) {
            profiles.push(profile);
        }
        profiles.len() as u32 - 1
    }

    fn add_vdisk(&mut self, id: VmId, vm: &SiteVm, number: usize, common: &Common, keys: &mut Stream) {
        let position = number % vm.controllers.len();
        let station = self.station(Station::VdiskDepth { group: vm.group });
        let own = self.path.depths.push(QueueDepth::new(common.vdisk_depth, station));
        let ring = DepthId::new(common.first_ring.index() + position);
        let mut host_depths = Vec::new();
        let target = match self.luns[id.index()].get(number) {
            Some(&lun) => self.lun_target(id, vm.host, lun, &mut host_depths),
            None => Target::Pool {
                pool: self
                    .pool_of(vm.spec)
                    .expect("a virtual disk without an array is on a pool")
                    .id(),
                offset: 0,
                key: keys.bits(),
            },
        };
        self.path.vdisks.push(Vdisk {
            vm: id,
            controller: ControllerId::new(common.first_controller.index() + position),
            profile: common.profile,
            route: Route::new([own, ring], host_depths),
            target,
        });
    }

    /// The way of a VM from its host to a LUN: the depths on the host's side, and the path to the array.
    fn lun_target(&mut self, vm: VmId, host: HostId, lun: Lun, host_depths: &mut Vec<DepthId>) -> Target {
        let spec = &self.site.host(host).adapters;
        let is_used_by_others = self.users[&(host, lun)].len() > 1;
        let shared_limit = is_used_by_others.then(|| self.shared_limit(vm, lun, spec.dsnro));
        let queue = self.lun_queue(host, lun, spec.lun_depth);
        let adapters = &self.path.adapters[&host];
        let port = lun.number as usize % adapters.ports.len();
        let array_ports = &self.arrays[lun.array].ports;
        host_depths.extend(shared_limit.into_iter().chain([queue, adapters.depths.at(port)]));
        Target::Array {
            array: lun.array,
            path: ArrayPath {
                host_port: (adapters.ports.start + port) as u32,
                array_port: (array_ports.start + lun.number as usize % array_ports.len()) as u32,
                one_way_latency_ns: spec.latency.nanos() / 2,
            },
            lun: LunQueues {
                number: lun.number,
                queue,
                shared_limit,
            },
        }
    }

    fn shared_limit(&mut self, vm: VmId, lun: Lun, slots: u32) -> DepthId {
        let group = self.site.vms[vm.index()].group;
        let station = self.station(Station::Dsnro { group });
        let add = || self.path.depths.push(QueueDepth::new(slots, station));
        *self.shared_limits.entry((vm, lun)).or_insert_with(add)
    }

    fn lun_queue(&mut self, host: HostId, lun: Lun, slots: u32) -> DepthId {
        let station = self.station(Station::LunDepth { host: host.index() });
        let add = || self.path.depths.push(QueueDepth::new(slots, station));
        *self.lun_queues.entry((host, lun)).or_insert_with(add)
    }

    /// The ports of a host to arrays, each with its depth.
    fn add_adapters(&mut self, host: HostId) {
        let spec = &self.site.host(host).adapters;
        let station = self.station(Station::PortDepth { host: host.index() });
        let (first, first_depth) = (self.fabric.host_ports.len(), self.path.depths.next_id());
        for _ in 0..spec.ports {
            let port = Port::new(spec.bandwidth.bytes_per_s(), spec.command.nanos());
            self.fabric.host_ports.push(port);
            self.path.depths.push(QueueDepth::new(spec.depth, station));
        }
        let adapters = Adapters {
            ports: first..self.fabric.host_ports.len(),
            depths: Span::new(first_depth, spec.ports as usize),
        };
        self.path.adapters.insert(host, adapters);
    }

    /// The workers of a generator, and the I/Os that it keeps outstanding; none for another workload.
    fn add_workers(&mut self, vm: &SiteVm, workload: &Workload) -> (Span<WorkerId>, usize) {
        let first = self.path.workers.next_id();
        let Arrivals::Io {
            outstanding, workers, ..
        } = workload.arrivals
        else {
            return (Span::new(first, 0), 0);
        };
        let count = workers.unwrap_or(vm.spec.vcpus) as usize;
        for number in 0..count {
            let process = Id::new(vm.first_process.index() + number);
            self.path.workers.push(Worker::new(process));
        }
        let each = (f64::from(outstanding) * vm.spec.load).round() as usize;
        (Span::new(first, count), each * vm.spec.all_vdisks() as usize)
    }

    fn pool_of(&self, spec: &VmGroup) -> Option<&'s Pool> {
        let name = spec.storage.as_ref()?;
        self.pools.iter().find(|pool| pool.name == *name)
    }

    /// Index of a station, which exists from then on.
    fn station(&mut self, station: Station) -> usize {
        let next = self.path.stations.len();
        *self.path.stations.entry(station).or_insert(next)
    }
}

/// The LUN of every virtual disk of every VM.
fn deal_luns(site: &Site, arrays: &[Array]) -> Vec<Vec<Lun>> {
    let mut dealt: BTreeMap<(usize, bool), u32> = BTreeMap::new();
    let of = |vm: &SiteVm| {
        let spec = vm.spec;
        let Some(name) = &spec.array else {
            return Vec::new();
        };
        let array = arrays.iter().position(|array| array.name == *name);
        let array = array.expect("a validated scenario has the array of each of its VMs");
        let array_spec = site.island.arrays[array].1;
        let count = array_spec.luns.unwrap_or(array_spec.front_end_ports);
        let next = dealt.entry((array, spec.shared_luns)).or_default();
        let mut deal = || {
            let number = if spec.shared_luns { *next % count } else { *next };
            *next += 1;
            Lun {
                array,
                is_shared: spec.shared_luns,
                number,
            }
        };
        (0..spec.all_vdisks()).map(|_| deal()).collect()
    };
    site.vms.iter().map(of).collect()
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
