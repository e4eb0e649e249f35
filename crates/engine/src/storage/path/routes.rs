//! Which depths a route has on a host, and which path a LUN is reached by.
//!
//! **Assumptions.** Whether other VMs use a LUN from the same host is asked when a VM comes there: those that are there already
//! keep their routes. A VM that comes to a node of a pool finds as much of its data in the node's cache as one that has been
//! there for long.

use super::luns::Lun;
use super::vdisk::{LunQueues, Target};
use super::vm::IoProfile;
use super::{Adapters, Path};
use crate::ids::{DepthId, HostId, Id, Span, VmId};
use crate::storage::array::Array;
use crate::storage::fabric::{ArrayPath, Fabric};
use crate::storage::pool::Pool;
use crate::storage::port::Port;
use crate::storage::queue::QueueDepth;
use crate::storage::site::Place;
use crate::storage::stations::Station;
use crate::storage::work::DriverWork;
use hypertwin_cluster::{Arrivals, Workload};
use hypertwin_models::storage::virtual_controller::VirtualController;

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

    /// The number of the profile of a VM, which it shares with others that have the same.
    pub(super) fn profile(&mut self, place: &Place, costs: &VirtualController, pool: Option<&Pool>) -> u32 {
        let (spec, workload) = (place.spec, place.workload);
        let reference_hz = workload.reference_clock.unwrap_or(place.host_spec.clock).hz();
        let profile = IoProfile {
            blocks: blocks(workload),
            largest: costs.largest_bytes.map_or(u32::MAX, |bytes| bytes as u32),
            read: workload.read_pct / 100.0,
            random: workload.random_pct / 100.0,
            working_set: workload.working_set.bytes(),
            cached: pool.map_or(0.0, |pool| {
                pool.cached(place.host, self.routes.working_sets[&(place.host, pool.id())])
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
        // mostly that of the VM before it
        let known = self.profiles.iter().rposition(|known| *known == profile);
        let number = known.unwrap_or_else(|| {
            self.profiles.push(profile);
            self.profiles.len() - 1
        });
        number as u32
    }

    /// The LUN of a virtual disk, if it is on an array.
    pub(super) fn lun_of(&self, vm: VmId, number: usize) -> Option<Lun> {
        self.routes.luns[vm.index()].get(number).copied()
    }

    /// The way of a VM from its host to a LUN: the path to the array, and the depths on the host's side.
    pub(super) fn lun_target(&mut self, place: &Place, lun: Lun, arrays: &[Array]) -> (Target, Vec<DepthId>) {
        let spec = &place.host_spec.adapters;
        let is_used_by_others = self.routes.users[&(place.host, lun)].len() > 1;
        let shared_limit = is_used_by_others.then(|| self.shared_limit(place, lun));
        if let Some((path, commands)) = arrays[lun.array].local {
            let queue = self.lun_queue(place.host, lun, commands);
            let lun_queues = LunQueues {
                number: lun.number,
                queue,
                shared_limit,
            };
            let target = Target::Array {
                array: lun.array,
                path,
                lun: lun_queues,
            };
            return (target, shared_limit.into_iter().chain([queue]).collect());
        }
        let queue = self.lun_queue(place.host, lun, spec.lun_depth);
        let adapters = &self.adapters[&place.host];
        let port = lun.number as usize % adapters.ports.len();
        let array_ports = &arrays[lun.array].ports;
        let depths = shared_limit.into_iter().chain([queue, adapters.depths.at(port)]);
        let target = Target::Array {
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
        };
        (target, depths.collect())
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
        let lun = self.routes.luns[place.vm.index()].first();
        let is_outside = lun.is_some_and(|lun| arrays[lun.array].local.is_none());
        if !is_outside || self.adapters.contains_key(&place.host) {
            return;
        }
        let spec = &place.host_spec.adapters;
        let station = self.station(Station::PortDepth {
            host: place.host.index(),
        });
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
        self.adapters.insert(place.host, adapters);
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
