//! From a scenario to the path of its VMs.

use super::Path;
use super::controller::Controller;
use super::io_thread::IoThread;
use super::luns::{Routes, pool_of};
use super::vdisk::{Route, Target, Vdisk, Way};
use super::vm::{IoMeasured, VmIo};
use super::worker::Worker;
use crate::ids::{ControllerId, DepthId, HostId, Id, PoolId, Span, Table, VmId, WorkerId};
use crate::storage::array::Array;
use crate::storage::fabric::Fabric;
use crate::storage::pool::Pool;
use crate::storage::site::{Place, Site, SiteVm};
use crate::storage::stations::Station;
use hypertwin_cluster::{Arrivals, Workload};
use hypertwin_kernel::Stream;
use hypertwin_models::hypervisor::virtual_controller;

/// Makes the path of all VMs.
pub struct PathBuilder<'s> {
    site: &'s Site<'s>,
    arrays: &'s [Array],
    pools: &'s Table<PoolId, Pool>,
    fabric: &'s mut Fabric,
    path: Path,
}

/// What the virtual disks of a VM have in common.
struct Common {
    first_controller: ControllerId,
    first_ring: DepthId,
    vdisk_depth: u32,
    /// True if no thread of the host works for its I/O.
    is_own: bool,
    /// Of the I/Os of each of its virtual disks.
    profiles: Vec<u32>,
}

impl<'s> PathBuilder<'s> {
    pub fn new(
        site: &'s Site<'s>,
        arrays: &'s [Array],
        pools: &'s Table<PoolId, Pool>,
        fabric: &'s mut Fabric,
    ) -> Self {
        let mut path = Path::empty();
        path.routes = Routes::of(site, arrays, pools);
        Self {
            site,
            arrays,
            pools,
            fabric,
            path,
        }
    }

    /// The path of all VMs of the scenario.
    pub fn build(mut self) -> Path {
        for (id, vm) in self.site.vms() {
            let io = vm.spec.has_disks(vm.workload).then(|| self.vm(id, vm));
            self.path.vms.push(io);
        }
        // a VM may come there after they have failed
        for name in self.site.island.with_failing_ports() {
            let mut hosts = self.site.island.hosts.iter();
            let host = hosts.position(|host| host.name == name).map(HostId::new);
            if let Some(host) = host.filter(|host| !self.path.adapters.contains_key(host)) {
                self.path.add_ports(host, self.site.host(host), self.fabric);
            }
        }
        self.path
    }

    /// A VM with its controllers, virtual disks and workers.
    fn vm(&mut self, id: VmId, vm: &SiteVm) -> VmIo {
        let (spec, place) = (vm.spec, self.site.place(id));
        self.path.add_adapters(&place, self.arrays, self.fabric);
        let kind = spec.controller_kind(place.host_spec.hypervisor.family());
        let costs = virtual_controller(place.host_spec, spec);
        let common = Common {
            first_controller: self.path.controllers.next_id(),
            first_ring: self.path.depths.next_id(),
            vdisk_depth: spec.vdisk_depth.unwrap_or(kind.vdisk_depth().0),
            is_own: costs.is_own,
            profiles: self.path.profiles(&place, &costs, self.arrays, self.pools),
        };
        let station = self.path.station(Station::Ring { group: vm.group });
        for _ in 0..spec.controllers {
            let ring = self.path.add_depth(kind.depth(spec.ring_pages), station);
            self.path.controllers.push(Controller::new(id, ring, costs.coalesces));
        }
        let first_thread = self.path.threads.next_id();
        for &world in &vm.io_threads {
            self.path.threads.push(IoThread::new(world));
        }
        let controllers = Span::new(common.first_controller, spec.controllers as usize);
        let threads = Span::new(first_thread, vm.io_threads.len());
        self.path.share_threads(&place, &costs, controllers, threads);
        let first_vdisk = self.path.vdisks.next_id();
        let mut keys = Stream::named(self.site.seed, &format!("vm/{}/places", vm.name));
        let vdisks = spec.all_vdisks(vm.workload) as usize;
        for number in 0..vdisks {
            self.add_vdisk(&place, controllers.len(), number, &common, &mut keys);
        }
        let (workers, outstanding) = self.add_workers(vm, vm.workload);
        let gap_ns = self.path.profiles[common.profiles[0] as usize].gap_ns;
        let mut pace = Stream::named(self.site.seed, &format!("vm/{}/pace", vm.name));
        VmIo {
            host: vm.host,
            profile: common.profiles[0],
            vdisks: Span::new(first_vdisk, vdisks),
            next_vdisk: 0,
            carry: 0.0,
            stream: Stream::named(self.site.seed, &format!("vm/{}/io", vm.name)),
            next_issue_ns: gap_ns * pace.uniform(),
            group: vm.group,
            copied_bytes: vm.workload.copies().then(|| place.working_set()),
            controllers,
            threads,
            workers,
            outstanding,
            measured: [(); 2].map(|()| IoMeasured::new()),
        }
    }

    fn add_vdisk(&mut self, place: &Place, controllers: usize, number: usize, common: &Common, keys: &mut Stream) {
        let position = number % controllers;
        let number_of_end = number / place.vdisks_of_end();
        let station = self.path.station(Station::VdiskDepth { group: place.group });
        let own = self.path.add_depth(common.vdisk_depth, station);
        let ring = DepthId::new(common.first_ring.index() + position);
        let (target, host_depths) = match self.path.lun_of(place.vm, number) {
            Some(lun) => self.path.lun_target(place, lun, self.arrays, self.fabric),
            None => {
                let end = place
                    .ends()
                    .nth(number_of_end)
                    .expect("a VM with virtual disks has an end");
                let pool = pool_of(end, self.pools).expect("a virtual disk without an array is on a pool");
                let target = Target::Pool {
                    pool: pool.id(),
                    layout: pool.layout_of(place.spec.policy_of(end, number % place.vdisks_of_end())),
                    offset: 0,
                    key: keys.bits(),
                };
                (target, Vec::new())
            }
        };
        let has_paths = matches!(
            target,
            Target::Array {
                way: Way::Several(_),
                ..
            }
        );
        self.path.vdisks.push(Vdisk {
            vm: place.vm,
            controller: ControllerId::new(common.first_controller.index() + position),
            profile: common.profiles[number],
            route: Route::new([own, ring], !common.is_own, host_depths).with_paths(has_paths),
            target,
        });
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
        (Span::new(first, count), each * vm.spec.vdisks_of_end(workload) as usize)
    }
}
