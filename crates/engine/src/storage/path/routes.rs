//! Which depths a route has on a host, and which path a LUN is reached by.
//!
//! **Assumptions.** Whether other VMs use a LUN from the same host is asked when a VM comes there: those that are there
//! already keep their routes. A VM that comes to a node of a pool finds as much of its data in the node's cache as one
//! that has been there for long.

use super::luns::{Lun, pool_of};
use super::vdisk::{LunQueues, Target, Way};
use super::vm::{IoProfile, Part};
use super::{Adapters, Path};
use crate::ids::{ControllerId, DepthId, HostId, Id, IoThreadId, LunId, PoolId, Span, Table, VmId};
use crate::plan::cpu_per_work;
use crate::storage::array::Array;
use crate::storage::fabric::Fabric;
use crate::storage::multipath::LunPaths;
use crate::storage::pool::Pool;
use crate::storage::port::{ArrayPath, Port};
use crate::storage::queue::QueueDepth;
use crate::storage::site::Place;
use crate::storage::stations::Station;
use crate::storage::work::{Cost, DriverWork};
use hypertwin_cluster::{Arrivals, HostGroup, Paths, Workload};
use hypertwin_kernel::Nanos;
use hypertwin_models::hypervisor::{self, io_threads};
use hypertwin_models::storage::multipath::Multipath;
use hypertwin_models::storage::virtual_controller::VirtualController;
use hypertwin_models::wake_up::ThreadWakeUp;

impl Path {
    /// A queue depth, which is measured as long as all others are.
    pub(super) fn add_depth(&mut self, slots: u32, station: usize) -> DepthId {
        let mut depth = QueueDepth::new(slots, station);
        depth.reset(self.since);
        self.depths.push(depth)
    }

    /// Index of a station, which exists from then on.
    pub(super) fn station(&mut self, station: Station) -> usize {
        let next = self.stations.len();
        *self.stations.entry(station).or_insert(next)
    }

    /// The numbers of the profiles of a VM, which it shares with others that have the same: one for each of its virtual
    /// disks.
    pub(super) fn profiles(
        &mut self,
        place: &Place,
        costs: &VirtualController,
        arrays: &[Array],
        pools: &Table<PoolId, Pool>,
    ) -> Vec<u32> {
        let parts = match place.workload.copies() {
            true => [Part::CopyRead, Part::CopyWrite].as_slice(),
            false => &[Part::Whole],
        };
        let vdisks = place.vdisks_of_end();
        let mut all = Vec::new();
        for (number, (end, &part)) in place.ends().zip(parts).enumerate() {
            let array = self.lun_of(place.vm, number * vdisks).map(|lun| &arrays[lun.array]);
            let policies = 0..place.spec.policies_at(end).min(vdisks);
            let of_end: Vec<u32> = policies
                .map(|first| place.spec.policy_of(end, first))
                .map(|policy| self.profile(place, costs, part, policy, array, pool_of(end, pools)))
                .collect();
            all.extend(of_end.into_iter().cycle().take(vdisks));
        }
        all
    }

    /// The number of the profile of the I/Os of virtual disks of one end of a VM.
    fn profile(
        &mut self,
        place: &Place,
        costs: &VirtualController,
        part: Part,
        policy: Option<&str>,
        array: Option<&Array>,
        pool: Option<&Pool>,
    ) -> u32 {
        let (spec, workload) = (place.spec, place.workload);
        let work_hz = place.host_spec.clock.hz() * cpu_per_work(workload, place.reference_clock, place.host_spec);
        let mut profile = IoProfile {
            part,
            blocks: blocks(workload),
            largest: costs.largest_bytes.map_or(u32::MAX, |bytes| bytes as u32),
            read: match part {
                Part::CopyWrite => 0.0,
                Part::Whole | Part::CopyRead => workload.read_pct / 100.0,
            },
            random: workload.random_pct / 100.0,
            sync: costs.flushed.unwrap_or(workload.sync_pct / 100.0),
            working_set: workload.working_set.bytes(),
            cached: pool.map_or(0.0, |pool| {
                pool.cached(place.host, self.routes.working_sets[&(place.host, pool.id())])
            }),
            guest_ns: costs.guest_cycles * 1e9 / work_hz,
            interrupt_ns: costs.interrupt_cycles * 1e9 / work_hz,
            completes_by_thread: array.is_none_or(|array| array.reach.completes_by_thread(place.host_spec.hypervisor)),
            driver: pool.map_or_else(
                || array.map_or_else(DriverWork::default, |array| protocol_work(place, costs, array)),
                |pool| {
                    let layout = pool.layout_of(policy);
                    pool.driver_work(layout, costs.client_caches, place.host_spec.clock.hz())
                },
            ),
            gap_ns: match &workload.arrivals {
                Arrivals::Io { rate: Some(rate), .. } if spec.load > 0.0 => 1e9 / (rate.per_second() * spec.load),
                _ => 0.0,
            },
            per_burst: workload.ios / f64::from(workload.bursts),
        };
        if costs.is_own {
            let driver = std::mem::take(&mut profile.driver);
            profile.guest_ns += profile.mean_work(&driver) * place.host_spec.clock.hz() / work_hz;
        }
        // mostly that of the VM before it
        let known = self.profiles.iter().rposition(|known| *known == profile);
        let number = known.unwrap_or_else(|| {
            self.profiles.push(profile);
            self.profiles.len() - 1
        });
        number as u32
    }

    /// Shares the I/O threads of a VM among its controllers, as its host has it.
    pub(super) fn share_threads(
        &mut self,
        place: &Place,
        costs: &VirtualController,
        controllers: Span<ControllerId>,
        threads: Span<IoThreadId>,
    ) {
        let shares = io_threads(place.host_spec, place.spec);
        let work_ns = costs.hypervisor_cycles * 1e9 / place.host_spec.clock.hz();
        let wake_up = ThreadWakeUp {
            sleeps_deeply: hypervisor::model(place.host_spec.hypervisor)
                .wake_up(place.host_spec)
                .sleeps_deeply,
            polls_ns: shares.polls_ns,
            path_ns: shares.path_ns,
            given_ns: place.workload.wake_up.map(|time| time.nanos()),
        };
        for thread in threads.iter() {
            self.threads[thread].work_ns = work_ns;
            self.threads[thread].wait_ns = costs.wait_ns;
            self.threads[thread].wake_up = wake_up;
        }
        for (position, controller) in controllers.iter().enumerate() {
            let first = if shares.is_shared { 0 } else { position * shares.each };
            let own = Span::new(IoThreadId::new(threads.start().index() + first), shares.each);
            self.controllers[controller].set_threads(own, shares.queues);
        }
    }

    /// The LUN of a virtual disk, if it is on an array.
    pub(super) fn lun_of(&self, vm: VmId, number: usize) -> Option<Lun> {
        self.routes.luns[vm.index()].get(number).copied().flatten()
    }

    /// The way of a VM from its host to a LUN: the path to the array, and the depths on the host's side.
    pub(super) fn lun_target(
        &mut self,
        place: &Place,
        lun: Lun,
        arrays: &[Array],
        fabric: &mut Fabric,
    ) -> (Target, Vec<DepthId>) {
        let (spec, array) = (&place.host_spec.adapters, &arrays[lun.array]);
        let is_used_by_others = self.routes.users[&(place.host, lun)].len() > 1;
        let shared_limit = is_used_by_others.then(|| self.shared_limit(place, lun));
        let commands = array.local.map_or(spec.lun_depth, |(_, commands)| commands);
        let queue = self.lun_queue(place.host, lun, commands);
        let mut depths: Vec<DepthId> = shared_limit.into_iter().chain([queue]).collect();
        let way = match (array.local, &array.paths) {
            (Some((path, _)), _) => Way::One(path),
            (None, Some(paths)) => Way::Several(self.several_from(place, lun, array, paths, fabric)),
            (None, None) => {
                let (path, depth) = self.path_of(place, lun, 0, array, 0);
                depths.push(depth);
                Way::One(path)
            }
        };
        let lun_queues = LunQueues {
            number: lun.number,
            queue,
            shared_limit,
        };
        let target = Target::Array {
            array: lun.array,
            way,
            lun: lun_queues,
        };
        (target, depths)
    }

    /// Path `number` of a LUN, which takes `more_ns` there and back than an optimised one; and the depth of its port.
    fn path_of(&self, place: &Place, lun: Lun, number: usize, array: &Array, more_ns: Nanos) -> (ArrayPath, DepthId) {
        let adapters = &self.adapters[&place.host];
        let number = lun.number as usize + number;
        let port = number % adapters.ports.len();
        let path = ArrayPath {
            host_port: (adapters.ports.start + port) as u32,
            array_port: (array.ports.start + number % array.ports.len()) as u32,
            one_way_latency_ns: (place.host_spec.adapters.latency.nanos()
                + array.reach.latency_ns(place.host_spec.hypervisor)
                + more_ns)
                / 2,
        };
        (path, adapters.depths.at(port))
    }

    /// The paths of a LUN from the host of a VM.
    fn several_from(&mut self, place: &Place, lun: Lun, array: &Array, paths: &Paths, fabric: &mut Fabric) -> LunId {
        if let Some(&known) = self.routes.several.get(&(place.host, lun)) {
            return known;
        }
        let optimised = paths.optimised.unwrap_or(paths.per_lun);
        let path = |number: u32| {
            let is_optimised = number < optimised;
            let more_ns = if is_optimised {
                0
            } else {
                paths.non_optimised_latency.nanos()
            };
            self.path_of(place, lun, number as usize, array, more_ns)
        };
        let all = (0..paths.per_lun).map(path).collect();
        let several = LunPaths::new(Multipath::new(paths), paths.timeout.nanos(), all);
        let id = fabric.luns.push(several);
        self.routes.several.insert((place.host, lun), id);
        id
    }

    fn shared_limit(&mut self, place: &Place, lun: Lun) -> DepthId {
        let key = (place.host, place.vm, lun);
        if let Some(&known) = self.routes.shared_limits.get(&key) {
            return known;
        }
        let station = self.station(Station::Dsnro { group: place.group });
        let depth = self.add_depth(place.host_spec.adapters.dsnro, station);
        self.routes.shared_limits.insert(key, depth);
        depth
    }

    fn lun_queue(&mut self, host: HostId, lun: Lun, slots: u32) -> DepthId {
        if let Some(&known) = self.routes.lun_queues.get(&(host, lun)) {
            return known;
        }
        let station = self.station(Station::LunDepth { host: host.index() });
        let depth = self.add_depth(slots, station);
        self.routes.lun_queues.insert((host, lun), depth);
        depth
    }

    /// Makes the ports of the host of a VM to arrays, each with its depth, if the VM needs them and they are not there.
    pub(super) fn add_adapters(&mut self, place: &Place, arrays: &[Array], fabric: &mut Fabric) {
        let mut luns = self.routes.luns[place.vm.index()].iter().flatten();
        let is_outside = luns.any(|lun| arrays[lun.array].local.is_none());
        if !is_outside || self.adapters.contains_key(&place.host) {
            return;
        }
        self.add_ports(place.host, place.host_spec, fabric);
    }

    /// The ports of a host to arrays.
    pub(super) fn add_ports(&mut self, host: HostId, spec: &HostGroup, fabric: &mut Fabric) {
        let spec = &spec.adapters;
        let station = self.station(Station::PortDepth { host: host.index() });
        let (first, first_depth) = (fabric.host_ports.len(), self.depths.next_id());
        for _ in 0..spec.ports {
            let port = Port::new(spec.bandwidth.bytes_per_s(), spec.command.nanos());
            fabric.host_ports.push(port);
            self.add_depth(spec.depth, station);
        }
        let adapters = Adapters {
            ports: first..fabric.host_ports.len(),
            depths: Span::new(first_depth, spec.ports as usize),
        };
        self.adapters.insert(host, adapters);
    }
}

/// Work of a controller's world for the protocol by which a VM reaches an array.
fn protocol_work(place: &Place, costs: &VirtualController, array: &Array) -> DriverWork {
    let cost = array.reach.cost(place.host_spec.hypervisor);
    let cycle_ns = 1e9 / place.host_spec.clock.hz();
    let cost = Cost {
        // no plug-in saves more than there is
        io_ns: cost.cycles.max(-costs.hypervisor_cycles) * cycle_ns,
        ns_per_byte: cost.cycles_per_byte * cycle_ns,
    };
    DriverWork {
        cost,
        ..DriverWork::default()
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
