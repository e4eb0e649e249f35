//! VMs that are powered off and on, and come to another host.
//!
//! What a VM has in flight when it is powered off is aborted: it gives its slots back at once, so that others on the
//! host have them. What an array or a pool works on already it finishes; the answer is dropped when it comes.

use super::Path;
use super::vdisk::{Route, Target};
use crate::clock::Clock;
use crate::ids::{DepthId, Id, IoId, PoolId, ProcessId, Table, VmId};
use crate::ordered::set_of;
use crate::storage::array::Array;
use crate::storage::fabric::Fabric;
use crate::storage::pool::Pool;
use crate::storage::request::{Io, Issuer, NONE, Requests, Step};
use crate::storage::shared::Shared;
use crate::storage::site::Place;
use hypertwin_kernel::Nanos;
use hypertwin_models::hypervisor::virtual_controller;
use std::collections::BTreeSet;

impl Path {
    /// A VM is powered off: all its I/Os are dropped. Returns the depths of its host that have a slot too many taken
    /// for each of them, in order; see [`Self::free_slot`].
    pub fn stop(&mut self, vm: VmId, now: Nanos, shared: &mut Shared) -> Vec<DepthId> {
        let Some(io) = self.vms.get(vm) else {
            return Vec::new();
        };
        let (vdisks, controllers, threads, workers) = (io.vdisks, io.controllers, io.threads, io.workers);
        let mut dropped: Vec<IoId> = Vec::new();
        let mut slots = self.leave_paths(vm, now, shared, &mut dropped);
        let Shared { requests, fabric, .. } = shared;
        for worker in workers.iter() {
            self.workers[worker].clear(requests, &mut dropped);
        }
        for thread in threads.iter() {
            self.threads[thread].clear(now, requests, &mut dropped);
        }
        for controller in controllers.iter() {
            self.controllers[controller].clear(requests, &mut dropped);
        }
        slots.extend(self.leave_host_queues(vm, now, requests, &mut dropped));
        for vdisk in vdisks.iter() {
            for &depth in self.vdisks[vdisk].route.of_guest() {
                self.depths[depth].clear(now, requests, &mut dropped);
            }
        }
        let dropped = set_of(dropped);
        let all: Vec<IoId> = requests
            .of_guests()
            .filter(|&id| vdisks.position(requests[id].vdisk).is_some())
            .collect();
        let wholes = set_of(all.iter().map(|&id| requests[id].parent));
        for id in all {
            if dropped.contains(&id) || wholes.contains(&id) {
                requests.release(id);
                continue;
            }
            let request = &mut requests[id];
            (request.issuer, request.parent) = (Issuer::Nobody, NONE);
            // the thread of its controller has not taken it yet
            let is_before_host = matches!(request.step, Step::Issue | Step::Kick(_));
            if !is_before_host {
                let vdisk = &self.vdisks[request.vdisk];
                slots.extend(vdisk.route.of_host());
                // what is to be sent again has given its port back
                let on_path = vdisk.several().filter(|_| request.step != Step::Resend);
                slots.extend(on_path.map(|lun| fabric.leave(lun, id)));
            }
        }
        slots
    }

    /// Takes out the I/Os of a VM that wait for a path or for the port of one. Returns the depths in which they had
    /// slots.
    fn leave_paths(&mut self, vm: VmId, now: Nanos, shared: &mut Shared, dropped: &mut Vec<IoId>) -> Vec<DepthId> {
        let Shared { requests, fabric, .. } = shared;
        let vdisks = &self.vdisks;
        let is_of_vm = |io: &Io| vdisks[io.vdisk].vm == vm;
        let own = self.vms[vm].vdisks.iter();
        let luns = set_of(own.filter_map(|vdisk| vdisks[vdisk].several()));
        let first = dropped.len();
        let mut depths = BTreeSet::new();
        for &lun in &luns {
            fabric.luns[lun].take_waiting(requests, is_of_vm, dropped);
            depths.extend(fabric.luns[lun].depths());
        }
        let queued = dropped.len();
        for depth in depths {
            self.depths[depth].queue.take_out(now, requests, is_of_vm, dropped);
        }
        for &id in &dropped[queued..] {
            let lun = vdisks[requests[id].vdisk].several();
            fabric.leave(lun.expect("it waits for one of its paths"), id);
        }
        let all = dropped[first..]
            .iter()
            .flat_map(|&id| vdisks[requests[id].vdisk].route.of_host());
        all.copied().collect()
    }

    /// Takes the I/Os of a VM out of the queues of its host. Returns the depths in which they had slots.
    fn leave_host_queues(
        &mut self,
        vm: VmId,
        now: Nanos,
        requests: &mut Requests,
        dropped: &mut Vec<IoId>,
    ) -> Vec<DepthId> {
        let routes = self.vms[vm].vdisks.iter().map(|vdisk| self.vdisks[vdisk].route);
        let routes: Vec<Route> = routes.collect();
        let depths = set_of(routes.iter().flat_map(|route| route.of_host().iter().copied()));
        let mut slots = Vec::new();
        for depth in depths {
            let first = dropped.len();
            let is_of_vm = |io: &Io| self.vdisks[io.vdisk].vm == vm;
            self.depths[depth].queue.take_out(now, requests, is_of_vm, dropped);
            for &id in &dropped[first..] {
                let before = self.vdisks[requests[id].vdisk].route.of_host().iter();
                slots.extend(before.copied().take_while(|&other| other != depth));
            }
        }
        slots
    }

    /// A VM comes to another host. Its virtual disks and controllers stay what they are to its guest.
    pub fn place(&mut self, place: &Place, arrays: &[Array], pools: &Table<PoolId, Pool>, fabric: &mut Fabric) {
        let Some(io) = self.vms.get(place.vm) else {
            return;
        };
        let (vdisks, controllers, threads) = (io.vdisks, io.controllers, io.threads);
        self.routes.leave(
            &Place {
                host: io.host,
                ..*place
            },
            pools,
        );
        self.routes.come(place, pools);
        self.add_adapters(place, arrays, fabric);
        let costs = virtual_controller(place.host_spec, place.spec);
        let profiles = self.profiles(place, &costs, arrays, pools);
        self.share_threads(place, &costs, controllers, threads);
        for controller in controllers.iter() {
            self.controllers[controller].set_coalescing(costs.coalesces);
        }
        for (number, id) in vdisks.iter().enumerate() {
            let (target, host_depths) = match self.lun_of(place.vm, number) {
                Some(lun) => self.lun_target(place, lun, arrays, fabric),
                None => (self.vdisks[id].target, Vec::new()),
            };
            let vdisk = &mut self.vdisks[id];
            let &[own, ring] = vdisk.route.of_guest() else {
                unreachable!("a virtual disk has a depth of its own and a ring");
            };
            (vdisk.target, vdisk.profile) = (target, profiles[number]);
            vdisk.route = Route::new([own, ring], !costs.is_own, host_depths).with_paths(vdisk.several().is_some());
        }
        let io = &mut self.vms[place.vm];
        (io.host, io.profile) = (place.host, profiles[0]);
    }

    /// A VM is powered on: its workers are the processes from `first_process` on, and have all their I/Os before them.
    pub fn start(&mut self, vm: VmId, first_process: ProcessId, shared: &mut Shared, clock: &mut Clock) {
        let Some(io) = self.vms.get(vm) else {
            return;
        };
        for (number, worker) in io.workers.iter().enumerate() {
            let process = ProcessId::new(first_process.index() + number);
            self.workers[worker].set_process(process);
        }
        self.fill_workers_of(vm, shared, clock);
    }

    /// Whether no I/O of a VM is in flight.
    pub fn is_quiet(&self, vm: VmId) -> bool {
        let vdisks = self.vms.get(vm).into_iter().flat_map(|io| io.vdisks.iter());
        vdisks
            .map(|vdisk| self.vdisks[vdisk].route.of_guest())
            .all(|depths| depths.iter().all(|&depth| self.depths[depth].used() == 0))
    }

    /// The pools that the data of a VM are in.
    pub fn pools_of(&self, vm: VmId) -> BTreeSet<PoolId> {
        let vdisks = self.vms.get(vm).into_iter().flat_map(|io| io.vdisks.iter());
        set_of(vdisks.filter_map(|vdisk| match self.vdisks[vdisk].target {
            Target::Pool { pool, .. } => Some(pool),
            Target::Array { .. } => None,
        }))
    }
}
