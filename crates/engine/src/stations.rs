//! The stations of the I/O path as a report shows them: what each was asked to do, and which one limits.

use crate::io::{DiskState, Port, Waits};
use crate::pool::Pool;
use crate::simulation::Simulation;
use hypertwin_kernel::{Nanos, TimeAverage};
use serde::Serialize;
use std::collections::BTreeMap;

/// A kind of station of one group of VMs, host or array; its members are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Station {
    VdiskDepth { group: usize },
    Ring { group: usize },
    Dsnro { group: usize },
    LunDepth { host: usize },
    PortDepth { host: usize },
}

/// What a replication measured of a station, over all of its members.
#[derive(Clone, Debug)]
pub struct StationResult {
    /// Its name: that of a VM group, host or array, and what it is of it.
    pub name: String,
    /// Whether it holds places rather than does work.
    pub is_depth: bool,
    /// Ports, controllers, disks and so on that it stands for.
    pub members: usize,
    /// Busy time, or places taken, of the mean member, in per cent.
    pub utilization_pct: f64,
    /// The same of the busiest member.
    pub utilization_max_pct: f64,
    /// I/Os in line, at all members together.
    pub queue: f64,
    /// Mean time in line of those that passed.
    pub wait_ms: f64,
    /// Of those that passed, how many had to wait.
    pub waited_pct: f64,
    /// How many passed.
    pub throughput_per_s: f64,
    /// Payload that passed; `None` where it is not counted.
    pub mb_per_s: Option<f64>,
    /// Reads that the cache answered; `None` for what is not a cache.
    pub hit_pct: Option<f64>,
}

/// Sums over the members of a station.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    members: usize,
    busy: f64,
    busiest: f64,
    queue: f64,
    waits: Waits,
    bytes: Option<u64>,
}

impl Sums {
    /// Adds a member that was busy for this fraction of the time, with so many in line on average.
    fn add(&mut self, busy: f64, queue: f64, waits: Waits) {
        self.members += 1;
        self.busy += busy;
        self.busiest = self.busiest.max(busy);
        self.queue += queue;
        self.waits.passed += waits.passed;
        self.waits.waited += waits.waited;
        self.waits.wait_ns += waits.wait_ns;
    }

    fn of(members: impl IntoIterator<Item = (f64, f64, Waits)>) -> Self {
        let mut sums = Self::default();
        members
            .into_iter()
            .for_each(|(busy, queue, waits)| sums.add(busy, queue, waits));
        sums
    }

    fn result(self, name: String, is_depth: bool, duration_ns: f64) -> StationResult {
        let passed = (self.waits.passed as f64).max(1.0);
        StationResult {
            name,
            is_depth,
            members: self.members,
            utilization_pct: 100.0 * self.busy / self.members.max(1) as f64,
            utilization_max_pct: 100.0 * self.busiest,
            queue: self.queue,
            wait_ms: self.waits.wait_ns as f64 / passed / 1e6,
            waited_pct: 100.0 * self.waits.waited as f64 / passed,
            throughput_per_s: self.waits.passed as f64 / duration_ns * 1e9,
            mb_per_s: self.bytes.map(|bytes| bytes as f64 / duration_ns * 1e3),
            hit_pct: None,
        }
    }
}

impl Simulation {
    /// Index of a station, which exists from then on.
    pub fn station(&mut self, station: Station) -> usize {
        let next = self.io.stations.len();
        *self.io.stations.entry(station).or_insert(next)
    }

    /// Counts from now.
    pub fn reset_stations(&mut self) {
        let now = self.clock.now;
        let again = |busy: &mut TimeAverage, queue: &mut TimeAverage, waits: &mut Waits| {
            busy.reset(now);
            queue.reset(now);
            *waits = Waits::default();
        };
        let path = &mut self.io;
        for depth in &mut path.depths {
            again(&mut depth.busy, &mut depth.queue, &mut depth.waits);
        }
        for disk in &mut path.disks {
            again(&mut disk.busy, &mut disk.queue, &mut disk.waits);
            disk.bytes = [0; 2];
            disk.channels.iter_mut().for_each(|channel| channel.reset(now));
        }
        for controller in &mut path.controllers {
            controller.queue.reset(now);
            controller.waits = Waits::default();
        }
        for array in &mut path.arrays {
            array.queue.reset(now);
            array.waits = Waits::default();
            (array.reads, array.hits) = (0, 0);
        }
        for desk in self.pools.iter_mut().flat_map(|pool| &mut pool.desks) {
            desk.queue.reset(now);
            desk.waits = Waits::default();
        }
        self.pools.iter_mut().for_each(Pool::reset);
        for port in path.ports.iter_mut().chain(&mut path.fronts).chain(&mut path.nics) {
            port.up.reset(now);
            port.down.reset(now);
            port.waits = Waits::default();
            port.bytes = [0; 2];
        }
    }

    /// What was measured of every station in `duration_ns`.
    pub fn station_results(&self, groups: &[String], duration_ns: f64) -> Vec<StationResult> {
        let now = self.clock.now;
        let mut results = Vec::new();
        let mut of_group: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, vm) in self.vms.iter().enumerate().filter(|(_, vm)| vm.io.is_some()) {
            of_group.entry(vm.group).or_default().push(index);
        }
        let run = |world: usize| self.worlds[world].account.run_ns as f64 / duration_ns;
        for (group, members) in of_group {
            let vms = || members.iter().map(|&index| &self.vms[index]);
            let ios: u64 = vms().map(|vm| vm.measured.ios as u64).sum();
            let vcpus = vms().flat_map(|vm| vm.first_world..vm.first_world + vm.vcpus);
            let mut sums = Sums::of(vcpus.map(|world| (run(world), 0.0, Waits::default())));
            sums.waits.passed = ios;
            results.push(sums.result(format!("{}-vcpus", groups[group]), false, duration_ns));
            let controllers = vms()
                .filter_map(|vm| vm.io.as_ref())
                .flat_map(|io| &self.io.controllers[io.controllers.clone()]);
            let sums = Sums::of(controllers.map(|one| (run(one.world), one.queue.mean(now), one.waits)));
            results.push(sums.result(format!("{}-controllers", groups[group]), false, duration_ns));
        }
        let mut depths = vec![Sums::default(); self.io.stations.len()];
        for depth in &self.io.depths {
            let busy = depth.busy.mean(now) / f64::from(depth.places);
            depths[depth.station].add(busy, depth.queue.mean(now), depth.waits);
        }
        for (station, &index) in &self.io.stations {
            let name = match *station {
                Station::VdiskDepth { group } => format!("{}-vdisk-depth", groups[group]),
                Station::Ring { group } => format!("{}-ring", groups[group]),
                Station::Dsnro { group } => format!("{}-dsnro", groups[group]),
                Station::LunDepth { host } => format!("{}-lun-depth", self.hosts[host].name),
                Station::PortDepth { host } => format!("{}-port-depth", self.hosts[host].name),
            };
            if depths[index].members > 0 {
                results.push(depths[index].result(name, true, duration_ns));
            }
        }
        let ports =
            |ports: &[Port], name: String| ports_result(&ports.iter().collect::<Vec<_>>(), name, now, duration_ns);
        for host in self.hosts.iter().filter(|host| !host.ports.is_empty()) {
            results.push(ports(
                &self.io.ports[host.ports.clone()],
                format!("{}-ports", host.name),
            ));
        }
        for array in &self.io.arrays {
            results.push(ports(
                &self.io.fronts[array.fronts.clone()],
                format!("{}-front-end", array.name),
            ));
            let mut cache = Sums::default();
            let filled = array.pending_bytes as f64 / array.most_pending_bytes.max(1) as f64;
            cache.add(filled, array.queue.mean(now), array.waits);
            let mut cache = cache.result(format!("{}-cache", array.name), true, duration_ns);
            cache.hit_pct = (array.reads > 0).then(|| 100.0 * array.hits as f64 / array.reads as f64);
            results.push(cache);
            results.push(self.disks_result(array.disks.clone(), format!("{}-disks", array.name), duration_ns));
        }
        for pool in &self.pools {
            let named = |what: &str| format!("{}-{what}", pool.name);
            let desks = pool.desks.iter().enumerate().map(|(index, desk)| {
                let threads: Vec<usize> = pool
                    .threads
                    .iter()
                    .filter(|thread| thread.desk == index)
                    .map(|t| t.world)
                    .collect();
                let busy = threads.iter().map(|&world| run(world)).sum::<f64>() / threads.len() as f64;
                (busy, desk.queue.mean(now), desk.waits)
            });
            results.push(Sums::of(desks).result(named("services"), false, duration_ns));
            results.push(self.disks_result(pool.devices.clone(), named("devices"), duration_ns));
            let flash = self.flash_disks(pool);
            if !flash.is_empty() {
                results.push(self.disks_result(flash, named("flash"), duration_ns));
            }
            for (nodes, what) in [(true, "network"), (false, "client-network")] {
                let nics = self.nics_of(pool, nodes);
                if !nics.is_empty() {
                    results.push(ports_result(&nics, named(what), now, duration_ns));
                }
            }
        }
        results
    }
}

impl Simulation {
    fn disks_result(&self, disks: std::ops::Range<usize>, name: String, duration_ns: f64) -> StationResult {
        let disks = self.io.disks[disks].iter();
        let mut sums = Sums::of(disks.clone().map(|disk: &DiskState| {
            let channels: u64 = disk
                .channels
                .iter()
                .map(|channel| channel.busy_ns(self.clock.now))
                .sum();
            let busy = match disk.channels.len() {
                0 => disk.busy.mean(self.clock.now),
                count => channels as f64 / count as f64 / duration_ns,
            };
            (busy, disk.queue.mean(self.clock.now), disk.waits)
        }));
        sums.bytes = Some(disks.flat_map(|disk| disk.bytes).sum());
        sums.result(name, false, duration_ns)
    }
}

/// Ports of a host or an array: the busier direction of each counts.
fn ports_result(ports: &[&Port], name: String, now: Nanos, duration_ns: f64) -> StationResult {
    let mut sums = Sums::of(ports.iter().map(|port| {
        let busy = port.up.busy_ns(now).max(port.down.busy_ns(now)) as f64 / duration_ns;
        (busy, port.waits.wait_ns as f64 / duration_ns, port.waits)
    }));
    sums.bytes = Some(ports.iter().flat_map(|port| port.bytes).sum());
    sums.result(name, false, duration_ns)
}

/// A station in a report.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct StationReport {
    pub members: usize,
    pub utilization_pct: f64,
    pub utilization_max_pct: f64,
    pub queue: f64,
    pub wait_ms: f64,
    pub waited_pct: f64,
    pub throughput_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mb_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_pct: Option<f64>,
}

/// Which station limits, in a report.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct BottleneckReport {
    pub station: String,
    pub utilization_pct: f64,
    pub saturated: bool,
    pub next_station: Option<String>,
    pub next_utilization_pct: Option<f64>,
    pub binding_depth: Option<String>,
}

/// Utilization from which a station is saturated, and waiting I/Os from which a depth binds, in per cent.
const SATURATED_PCT: f64 = 90.0;
const BINDING_PCT: f64 = 5.0;

/// The means of the stations of several replications, and which of them limits.
pub fn summarise(replications: &[&[StationResult]]) -> (BTreeMap<String, StationReport>, Option<BottleneckReport>) {
    let stations = replications[0].iter().enumerate().map(|(index, first)| {
        let count = replications.len() as f64;
        let mean =
            |get: fn(&StationResult) -> f64| replications.iter().map(|all| get(&all[index])).sum::<f64>() / count;
        let report = StationReport {
            members: first.members,
            utilization_pct: mean(|one| one.utilization_pct),
            utilization_max_pct: mean(|one| one.utilization_max_pct),
            queue: mean(|one| one.queue),
            wait_ms: mean(|one| one.wait_ms),
            waited_pct: mean(|one| one.waited_pct),
            throughput_per_s: mean(|one| one.throughput_per_s),
            mb_per_s: first.mb_per_s.map(|_| mean(|one| one.mb_per_s.unwrap_or(0.0))),
            hit_pct: first.hit_pct.map(|_| mean(|one| one.hit_pct.unwrap_or(0.0))),
        };
        (first, report)
    });
    let stations: Vec<(&StationResult, StationReport)> = stations.collect();
    let mut servers: Vec<&(&StationResult, StationReport)> = stations.iter().filter(|(one, _)| !one.is_depth).collect();
    servers.sort_by(|(_, a), (_, b)| b.utilization_pct.total_cmp(&a.utilization_pct));
    let binding = stations
        .iter()
        .filter(|(one, report)| one.is_depth && report.waited_pct >= BINDING_PCT)
        .max_by(|(_, a), (_, b)| a.wait_ms.total_cmp(&b.wait_ms));
    let bottleneck = servers.first().map(|(first, report)| BottleneckReport {
        station: first.name.clone(),
        utilization_pct: report.utilization_pct,
        saturated: report.utilization_pct >= SATURATED_PCT,
        next_station: servers.get(1).map(|(next, _)| next.name.clone()),
        next_utilization_pct: servers.get(1).map(|(_, next)| next.utilization_pct),
        binding_depth: binding.map(|(depth, _)| depth.name.clone()),
    });
    let reports = stations
        .iter()
        .map(|(one, report)| (one.name.clone(), report.clone()))
        .collect();
    (reports, bottleneck)
}
