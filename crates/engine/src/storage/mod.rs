//! Storage: the way of an I/O from a guest's driver to a disk and back.
//!
//! A VM's I/O follows the route of its virtual disk to the edge of the host, crosses a fabric to an array or a network
//! to the nodes of a pool, waits for disks, and comes back to the guest. Links need no event of their own, so an I/O
//! which hits the array's cache costs four: its worker, its I/O thread, the array's answer, the way back. A miss adds
//! the disk.
//!
//! **Boundary.** [`Storage`] receives I/Os to begin, events, work done by its worlds, and failures of hosts and
//! devices. It answers with work for its worlds and with [`Reply`]s; it sees no world, no process and no recorder. Its
//! parts know only what is below them: path, arrays and pools never meet, and [`Storage`] hands an I/O from one to
//! another. **Invariant.** An I/O is in one place at a time: in one queue, at work in one place, or in the calendar.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | [`Storage`]: its interface, and the wire between its parts |
//! | `path/` | the guest's side: virtual disks, queue depths, controllers, workers |
//! | `array/` | storage arrays |
//! | `pool/` | distributed storage |
//! | `swap.rs` | disks that hosts swap to |
//! | `disk.rs` | disks of arrays, pools and hosts that swap |
//! | `fabric.rs` | ports of hosts and arrays, and the path that an I/O takes between them |
//! | `multipath.rs` | LUNs with several paths, and ports that fail |
//! | `network.rs` | ports of hosts for pools, and which hosts can be reached |
//! | `shared.rs` | what path, arrays and pools all work with; replies |
//! | `request.rs` | records of I/Os |
//! | `queue.rs` | queues and queue depths |
//! | `port.rs`, `work.rs` | a port; CPU work for an I/O |
//! | `meter.rs` | what passes through each virtual disk, for samples |
//! | `stations.rs` | what each station of the report was asked to do |
//! | `site.rs` | what storage is built from |
//!
//! **The data of an I/O fit into few cache lines.** Queue depths, virtual disks, I/O records and VMs each take one
//! cache line. Data common to all VMs of a group are stored once. A pool finds the device of a replica in a table with
//! 4 bytes per entry. Sizes are asserted at compile time.

mod array;
mod disk;
mod fabric;
mod meter;
mod multipath;
mod network;
mod path;
mod pool;
mod port;
mod queue;
mod request;
mod shared;
mod site;
mod stations;
mod swap;
mod work;

pub use disk::DiskState;
pub use meter::Passages;
pub use network::HostState;
pub use path::{Path, Target, VmIo, Way};
pub use pool::{
    BackEndReport, ClientIos, Counters, IncidentReport, MemberView, PolicyReport, Pool, PoolReport, PoolResult,
    PoolTimeline, What, summarise,
};
pub use queue::Waits;
pub use shared::Reply;
pub use site::{Site, SiteVm, service_queues};
pub use stations::{Station, StationReport, StationResult, Sums};

use crate::clock::Clock;
use crate::ids::{
    ControllerId, DepthId, DiskId, HostId, IoId, IoThreadId, PoolId, ProcessId, Table, VdiskId, VmId, WorldId,
};
use crate::plan::VmPlan;
use array::{Array, build_arrays};
use disk::{DiskOwner, Disks};
use fabric::Fabric;
use hypertwin_cluster::{Device, SwapDevice};
use hypertwin_kernel::{Nanos, Stream};
use multipath::End;
use network::{Network, NetworkHost};
use path::PathBuilder;
use pool::{Outcome, build_pools};
use request::{Issuer, Requests, Role, Step};
use shared::Shared;
use site::Place;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use swap::Swaps;

/// Records of I/Os and their parts beyond which a run is given up.
const MOST_RECORDS: usize = 16_000_000;

/// The storage of a cluster.
pub struct Storage {
    path: Path,
    arrays: Vec<Array>,
    pools: Table<PoolId, Pool>,
    swaps: Swaps,
    shared: Shared,
}

impl Storage {
    /// The storage of a scenario; [`Self::start`] sets it going.
    pub fn new(site: &Site) -> Self {
        let mut storage = Self::empty(site.island.hosts.len());
        let shared = &mut storage.shared;
        storage.pools = build_pools(site, shared);
        storage.arrays = build_arrays(site, shared);
        storage.path = PathBuilder::new(site, &storage.arrays, &storage.pools, &mut shared.fabric).build();
        for (pool, layout, key, profile) in storage.path.on_pools() {
            *key = storage.pools[pool].add_vdisk(layout, *key, profile.working_set, profile.read < 1.0);
        }
        storage.pools.iter_mut().for_each(Pool::fill_buffers);
        storage
    }

    /// The storage of hosts without VMs.
    fn empty(hosts: usize) -> Self {
        Self {
            path: Path::empty(),
            arrays: Vec::new(),
            pools: Table::new(),
            swaps: Swaps::none(hosts),
            shared: Shared {
                requests: Requests::default(),
                disks: Disks::new(),
                fabric: Fabric::new(),
                network: Network {
                    hosts: (0..hosts).map(|_| NetworkHost::new()).collect(),
                },
                replies: VecDeque::new(),
            },
        }
    }

    /// Deals the I/Os that generators keep outstanding to their workers, and begins what pools do by themselves.
    pub fn start(&mut self, clock: &mut Clock) {
        self.path.fill_workers(&mut self.shared, clock);
        for pool in self.pools.iter_mut() {
            pool.start_scrub(&mut self.shared, clock);
        }
    }

    // ---- from the guest

    /// The I/Os of a burst of `process` begin, `work` times as many as others have; `false` if there are none. When all
    /// are back: [`Reply::Completed`].
    pub fn begin_burst(&mut self, vm: VmId, process: ProcessId, work: f64, clock: &mut Clock) -> bool {
        let due = self.path.begin_burst(vm, process, work);
        for _ in 0..due {
            let id = self.path.next_of_burst(vm, process, &mut self.shared.requests);
            self.submit(id, clock);
        }
        due > 0
    }

    /// The process of a worker begins. If the worker has an I/O to handle: its work for it and for interrupts, in
    /// nanoseconds alone on a core at the reference clock, without that of the workload itself.
    pub fn start_worker(&mut self, vm: VmId, session: u32) -> Option<f64> {
        self.path.start_worker(vm, session, &self.shared.requests)
    }

    /// A worker has computed for its I/O, which begins. If the worker goes on with another: its work for that,
    /// likewise.
    #[inline]
    pub fn issue(&mut self, vm: VmId, session: u32, clock: &mut Clock) -> Option<f64> {
        let id = self.path.worker(vm, session).issue();
        self.submit(id, clock);
        self.path.next_io(vm, session, &self.shared.requests)
    }

    // ---- from hosts that swap

    /// Gives a host somewhere to swap to.
    pub fn add_swap(
        &mut self,
        host: HostId,
        name: &str,
        device: &SwapDevice,
        own: &BTreeMap<String, Device>,
        seed: u64,
    ) {
        let stream = Stream::named(seed, &format!("swap/{name}"));
        self.swaps.add(host, device, own, stream, &mut self.shared);
    }

    /// A page of 4 KiB is read for a fault. When it is there: [`Reply::PageRead`].
    pub fn read_page(&mut self, host: HostId, fault: u32, clock: &mut Clock) {
        self.swaps
            .begin(host, Issuer::Fault(fault), 4_096, &mut self.shared, clock);
    }

    /// Pages are written for a host. When they are: [`Reply::PagesWritten`].
    pub fn write_pages(&mut self, host: HostId, bytes: u32, clock: &mut Clock) {
        self.swaps
            .begin(host, Issuer::Host(host), bytes, &mut self.shared, clock);
    }

    // ---- VMs that stop, start and move

    /// A VM is powered off: its I/Os are dropped, and what they held goes to others.
    pub fn stop_vm(&mut self, vm: VmId, clock: &mut Clock) {
        for depth in self.path.stop(vm, clock.now, &mut self.shared) {
            self.free_slot(depth, clock);
        }
    }

    /// A VM that has no I/O in flight comes to another host.
    pub fn place_vm(&mut self, plan: &VmPlan) {
        debug_assert!(self.path.is_quiet(plan.vm), "only a VM that is quiet moves");
        let place = Place::of(plan);
        self.path
            .place(&place, &self.arrays, &self.pools, &mut self.shared.fabric);
        for pool in self.path.pools_of(plan.vm) {
            self.pools[pool].add_client(plan.host, &plan.host_spec.network, &mut self.shared.network);
        }
    }

    /// A VM is powered on; its processes are those from `first_process` on.
    pub fn start_vm(&mut self, vm: VmId, first_process: ProcessId, clock: &mut Clock) {
        self.path.start(vm, first_process, &mut self.shared, clock);
    }

    /// Whether no I/O of a VM is in flight.
    pub fn is_quiet(&self, vm: VmId) -> bool {
        self.path.is_quiet(vm)
    }

    // ---- from the processors

    /// An I/O thread is done with a request: its work for the next, or `None` if it is idle.
    #[inline]
    pub fn next_on_thread(&mut self, thread: IoThreadId, clock: &mut Clock) -> Option<f64> {
        let id = self.path.finish_on_thread(thread, clock.now, &self.shared.requests);
        self.advance(id, clock);
        self.path.start_on_thread(thread, clock.now, &self.shared.requests)
    }

    /// A thread of a pool's service is done with an operation: its work for the next, or `None` if it is idle.
    /// Its world has run for `run_ns` since measuring began.
    pub fn next_on_service(&mut self, pool: PoolId, thread: usize, run_ns: u64, clock: &mut Clock) -> Option<f64> {
        self.pools[pool].next_on_service(thread, run_ns, &mut self.shared, clock)
    }

    // ---- events

    /// Something happens to an I/O.
    #[inline]
    pub fn on_io(&mut self, id: IoId, clock: &mut Clock) {
        let shared = &mut self.shared;
        match shared.requests[id].step {
            Step::Issue => self.path.on_issue(id, shared, clock.now),
            Step::Kick(thread) => self.path.on_kick(id, thread, shared, clock),
            Step::Route | Step::Heard => {
                unreachable!("what goes along its route or waits for its worker is not in the calendar")
            }
            Step::Array => {
                let array = self.path.array_of(&shared.requests[id]);
                self.arrays[array].receive(id, shared, clock);
            }
            Step::Disk => {
                if self.shared.disks.is_stable(id, &mut self.shared.requests, clock) {
                    self.disk_done(id, clock);
                }
            }
            Step::Flushed => {
                let disk = shared.requests[id].disk;
                let mut stable = shared.disks.flushed(disk, &mut shared.requests, clock);
                while let Some(id) = stable.pop(&self.shared.requests) {
                    self.disk_done(id, clock);
                }
            }
            Step::Host => self.complete(id, clock),
            Step::Woken => self.complete_awake(id, clock),
            Step::Resend => self.resend(id, clock),
            Step::Paged => Swaps::back(id, shared),
            Step::Arrive(pool) => self.pools[pool].arrive(id, shared, clock),
            Step::Back(pool) => {
                let outcome = self.pools[pool].leg_back(id, shared, clock);
                self.follow(pool, outcome, clock);
            }
            Step::Retry(pool) => {
                let outcome = self.pools[pool].retry(id, shared, clock);
                self.follow(pool, outcome, clock);
            }
        }
    }

    /// Completions of a controller have waited for an interrupt for long.
    pub fn on_interrupt(&mut self, controller: ControllerId, clock: &mut Clock) {
        self.path.on_interrupt(controller, &mut self.shared, clock);
    }

    /// A queue of a pool's service gets the CPU quota of another period.
    pub fn renew_quota(&mut self, pool: PoolId, queue: usize, clock: &mut Clock) {
        self.pools[pool].renew_quota(queue, &mut self.shared, clock);
    }

    /// A pool replaces what has been away for long enough.
    pub fn on_detect(&mut self, pool: PoolId, clock: &mut Clock) {
        let outcome = self.pools[pool].detect(&mut self.shared, clock);
        self.follow(pool, outcome, clock);
    }

    /// The next reply of storage.
    #[inline]
    pub fn reply(&mut self) -> Option<Reply> {
        self.shared.replies.pop_front()
    }

    // ---- failures

    /// What works of a host has changed. Pools find out by [`Self::reassess`].
    pub fn set_host(&mut self, host: HostId, state: HostState) {
        self.shared.network.hosts[host].state = state;
    }

    /// A device of a pool, by its number there, fails or returns.
    pub fn change_device(&mut self, pool: PoolId, device: usize, fails: bool, is_forever: bool) {
        let (disk, has_failed) = self.pools[pool].change_device(device, fails, is_forever);
        self.shared.disks.set_failed(disk, has_failed);
    }

    /// A device of a pool comes back without its data.
    pub fn empty_device(&mut self, pool: PoolId, device: usize) {
        self.pools[pool].empty(device);
    }

    /// All devices of pools in a host come back without their data.
    pub fn empty_host(&mut self, host: HostId) {
        for pool in self.pools.iter_mut() {
            pool.devices_of(host, None)
                .into_iter()
                .flatten()
                .for_each(|device| pool.empty(device));
        }
    }

    /// Devices join a pool.
    pub fn join(&mut self, pool: PoolId, devices: Range<usize>) {
        self.pools[pool].join(devices);
    }

    /// A metadata server of a pool fails or returns.
    pub fn change_metadata_server(&mut self, pool: PoolId, server: usize, fails: bool) {
        self.pools[pool].change_metadata_server(server, fails);
    }

    /// A port of a host to arrays fails or returns, by its number there.
    pub fn change_host_port(&mut self, host: HostId, port: usize, fails: bool, clock: &mut Clock) {
        if let Some(adapters) = self.path.adapters(host) {
            let end = End::Host(adapters.ports.start + port);
            self.change_port(end, fails, clock);
        }
    }

    /// A port of an array fails or returns, by its number there.
    pub fn change_array_port(&mut self, array: usize, port: usize, fails: bool, clock: &mut Clock) {
        let end = End::Array(self.arrays[array].ports.start + port);
        self.change_port(end, fails, clock);
    }

    fn change_port(&mut self, end: End, fails: bool, clock: &mut Clock) {
        for id in self.path.change_port(end, fails, &mut self.shared, clock.now) {
            self.advance(id, clock);
        }
    }

    /// Something that a pool depends on has changed: what that means for its data.
    pub fn reassess(&mut self, pool: PoolId, what: What, clock: &mut Clock) {
        let lost_before = self.pools[pool].lost_bytes();
        let outcome = self.pools[pool].reassess(&mut self.shared, clock);
        self.follow(pool, outcome, clock);
        self.pools[pool].record(what, lost_before, &self.shared.network, clock.now);
    }

    // ---- between the parts

    /// The guest's driver takes an I/O.
    #[inline]
    fn submit(&mut self, id: IoId, clock: &mut Clock) {
        let shared = &mut self.shared;
        let Shared { requests, replies, .. } = shared;
        if requests.len() > MOST_RECORDS {
            replies.push_back(Reply::Overloaded {
                vm: self.path.vm_of(&requests[id]),
                in_progress: requests.len(),
            });
        }
        let parts = self.path.begin(id, shared, clock.now);
        if parts == 1 {
            self.advance(id, clock);
            return;
        }
        for part in 0..parts {
            let child = self.path.split(id, part, &mut self.shared.requests);
            self.advance(child, clock);
        }
    }

    /// Takes an I/O along its route until it has to wait or leaves the host.
    #[inline]
    fn advance(&mut self, id: IoId, clock: &mut Clock) {
        let shared = &mut self.shared;
        if !self.path.advance(id, shared, clock) {
            return;
        }
        match *self.path.leave(id, clock.now, &shared.requests) {
            Target::Array { array, way, .. } => {
                if let Way::One(path) = way {
                    shared.fabric.choose(id, path);
                }
                self.arrays[array].send(id, shared, clock);
            }
            Target::Pool { pool, .. } => {
                let address = self.path.address(&shared.requests[id]);
                let outcome = self.pools[pool].begin(id, address, shared, clock);
                self.follow(pool, outcome, clock);
            }
        }
    }

    /// A disk completes an operation and takes the next. Operations that requests wait for go first, except while
    /// writes wait for background operations to free space.
    #[inline]
    fn disk_done(&mut self, id: IoId, clock: &mut Clock) {
        let shared = &mut self.shared;
        let disk = shared.requests[id].disk;
        match shared.disks.owner(disk) {
            DiskOwner::Array(array) => {
                let array = &mut self.arrays[array];
                shared.disks.finish(id, array.is_full(), &mut shared.requests, clock);
                array.disk_done(id, shared, clock);
            }
            DiskOwner::Swap(host) => self.swaps.disk_done(id, host, shared, clock),
            DiskOwner::Pool(index) => {
                let pool = &mut self.pools[index];
                let background_first = pool.background_first(disk, shared);
                shared.disks.finish(id, background_first, &mut shared.requests, clock);
                let outcome = pool.disk_done(id, shared, clock);
                self.follow(index, outcome, clock);
            }
        }
    }

    /// Acts on what a pool has done.
    #[inline]
    fn follow(&mut self, pool: PoolId, outcome: Outcome, clock: &mut Clock) {
        match outcome {
            Outcome::Pending => {}
            Outcome::Complete(id) => self.complete(id, clock),
            Outcome::Resume => {
                let mut suspended = self.pools[pool].take_suspended();
                while let Some(id) = suspended.pop(&self.shared.requests) {
                    let outcome = self.pools[pool].attempt(id, &mut self.shared, clock);
                    self.follow(pool, outcome, clock);
                }
            }
        }
    }

    /// An I/O is back at its host: its slots go to those that wait, and the guest hears of it now or with a later one,
    /// once the thread of its controller is awake.
    #[inline]
    fn complete(&mut self, id: IoId, clock: &mut Clock) {
        if self.shared.requests[id].issuer == Issuer::Nobody {
            self.shared.requests.release(id);
            return;
        }
        if !self.path.reaches_host(id, Step::Host, &mut self.shared) {
            return;
        }
        match self.path.sleeps_until(id, &self.shared.requests, clock.now) {
            Some(awake_at) => self.shared.requests.at(id, Step::Woken, awake_at, clock),
            None => self.end_route(id, clock),
        }
    }

    /// The thread of a controller is awake for a completion.
    fn complete_awake(&mut self, id: IoId, clock: &mut Clock) {
        if self.shared.requests[id].issuer == Issuer::Nobody {
            self.shared.requests.release(id);
        } else if self.path.reaches_host(id, Step::Woken, &mut self.shared) {
            self.end_route(id, clock);
        }
    }

    /// An I/O gives its slots to those that wait, and the guest hears of it.
    #[inline]
    fn end_route(&mut self, id: IoId, clock: &mut Clock) {
        if let Some(lun) = self.path.several(&self.shared.requests[id]) {
            let (depth, is_answered) = self.path.leave_path(id, lun, &mut self.shared, clock);
            self.free_slot(depth, clock);
            if !is_answered {
                return;
            }
        }
        self.path.reach_vm(id, &mut self.shared, clock.now);
        let route = self.path.vdisk(self.shared.requests[id].vdisk).route;
        for &depth in route.depths().iter().rev() {
            self.free_slot(depth, clock);
        }
        self.path.interrupt(id, &mut self.shared, clock);
    }

    /// A slot of a depth goes to the first that waits for it.
    #[inline]
    fn free_slot(&mut self, depth: DepthId, clock: &mut Clock) {
        if let Some(next) = self.path.free_slot(depth, clock.now, &self.shared.requests) {
            self.advance(next, clock);
        }
    }

    /// An I/O whose answer was lost goes by another path.
    fn resend(&mut self, id: IoId, clock: &mut Clock) {
        if self.shared.requests[id].issuer == Issuer::Nobody {
            self.shared.requests.release(id);
        } else if self.path.reaches_host(id, Step::Resend, &mut self.shared) {
            self.path.choose_again(&mut self.shared.requests[id]);
            self.advance(id, clock);
        }
    }

    // ---- for reading

    /// Host of the VM that an I/O is of; `None` where an I/O may concern several hosts.
    pub fn host_of(&self, id: IoId) -> Option<HostId> {
        let io = &self.shared.requests[id];
        if let Role::Page = io.role {
            return match self.shared.disks.owner(io.disk) {
                DiskOwner::Swap(host) => Some(host),
                DiskOwner::Array(_) | DiskOwner::Pool(_) => None,
            };
        }
        self.pools.is_empty().then(|| self.path.host_of(io))
    }

    /// The port of its host that the I/Os of a virtual disk go by, now that of the last one where they have several.
    pub fn host_port(&self, vdisk: VdiskId) -> Option<usize> {
        let fabric = &self.shared.fabric;
        match self.path.vdisk(vdisk).target {
            Target::Array {
                way: Way::One(path), ..
            } => Some(path.host_port as usize),
            Target::Array {
                way: Way::Several(lun), ..
            } => Some(fabric.luns[lun].current().host_port as usize),
            Target::Pool { .. } => None,
        }
    }

    /// Host of the VM that a controller is of.
    pub fn host_of_controller(&self, controller: ControllerId) -> HostId {
        self.path.host_of_controller(controller)
    }

    /// For how long the oldest I/O of each VM has been outstanding.
    pub fn pending_ns(&self, vms: usize, now: Nanos) -> Table<VmId, Nanos> {
        let requests = &self.shared.requests;
        let mut oldest: Table<VmId, Nanos> = (0..vms).map(|_| 0).collect();
        for id in requests.of_guests() {
            let io = &requests[id];
            // what its worker has not issued yet, or that came back
            if !matches!(io.step, Step::Issue | Step::Heard) {
                let age = &mut oldest[self.path.vdisk(io.vdisk).vm];
                *age = (*age).max(now.saturating_sub(io.issued));
            }
        }
        oldest
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn pools(&self) -> &Table<PoolId, Pool> {
        &self.pools
    }

    /// Caches of arrays that take writes before their disks do: name, bytes, and the most that it holds.
    pub fn caches(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let caches = self.arrays.iter().map(|array| (array, array.cached()));
        caches.filter_map(|(array, cached)| cached.map(|(bytes, most)| (array.name.as_str(), bytes, most)))
    }

    /// Name of an array.
    pub fn array_name(&self, array: usize) -> &str {
        &self.arrays[array].name
    }

    /// All disks, and how many operations one works on at a time.
    pub fn disks(&self) -> &[DiskState] {
        self.shared.disks.all()
    }

    /// Operations that a disk works on at a time.
    pub fn disk_depth(&self, disk: DiskId) -> u32 {
        self.shared.disks.depth(disk)
    }

    // ---- measuring

    /// Counts from now what passes through each virtual disk: see [`Path::passages`].
    pub fn start_meter(&mut self) {
        self.path.start_meter();
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.path.reset(now);
        self.arrays.iter_mut().for_each(|array| array.reset(now));
        self.pools.iter_mut().for_each(|pool| pool.reset(now));
        self.shared.disks.reset(now);
        self.shared.fabric.reset(now);
        self.shared.network.reset(now);
    }

    /// What was measured of every pool in `duration_ns`; `run` is the fraction of time that a world ran.
    pub fn pool_results(&self, run: &impl Fn(WorldId) -> f64, now: Nanos, duration_ns: f64) -> Vec<PoolResult> {
        let pools = self.pools.iter();
        pools
            .map(|pool| pool.result(&self.shared, run, now, duration_ns))
            .collect()
    }

    /// What was measured in `duration_ns` of the disks that a host swaps to.
    pub fn swap_station(&self, host: HostId, now: Nanos, duration_ns: f64) -> Option<Sums> {
        self.swaps.station(host, &self.shared, now, duration_ns)
    }

    /// What was measured in `duration_ns` of the ports of a host to arrays.
    pub fn ports_station(&self, host: HostId, now: Nanos, duration_ns: f64) -> Option<Sums> {
        let ports = self.path.adapters(host)?.ports.clone();
        let ports = self.shared.fabric.host_ports[ports].iter();
        Some(Sums::of_ports(ports, now, duration_ns))
    }

    /// I/Os of a host that were sent again since measuring began, as their path had failed; `None` if no port has ever
    /// failed.
    pub fn path_failovers(&self, host: HostId) -> Option<f64> {
        let fabric = &self.shared.fabric;
        let luns = self.path.luns_with_paths(host);
        (!fabric.health.is_whole()).then(|| luns.map(|lun| fabric.luns[lun].failovers as f64).sum())
    }

    /// What was measured of arrays and pools in `duration_ns`; `run` is the fraction of time that a world ran.
    pub fn target_stations(
        &self,
        run: &impl Fn(WorldId) -> f64,
        now: Nanos,
        duration_ns: f64,
    ) -> impl Iterator<Item = StationResult> {
        let arrays = self.arrays.iter().enumerate();
        let arrays = arrays.flat_map(move |(index, array)| {
            let of = Station::Array { array: index };
            array.stations(of, &self.shared, now, duration_ns)
        });
        let pools = self.pools.iter();
        arrays.chain(pools.flat_map(move |pool| pool.stations(&self.shared, run, now, duration_ns)))
    }
}
