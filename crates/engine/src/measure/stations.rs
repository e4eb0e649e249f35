//! The stations of a report: the part of the VMs, and which station limits.

use super::Observed;
use super::bands;
use super::task::{Cycle, Task};
use crate::ids::{HostId, Id, WorldId};
use crate::metrics::reports;
use crate::ordered::{map_of, sort_by};
use crate::storage::{Station, StationReport, StationResult, Sums, Waits};
use serde::Serialize;
use std::collections::BTreeMap;

/// The end of the name of a station of vCPUs.
const VCPUS: &str = "-vcpus";

/// What was measured of every station in `duration_ns`.
pub fn results(observed: &Observed, groups: &[String], duration_ns: f64) -> Vec<StationResult> {
    let Observed { now, cpu, storage, .. } = *observed;
    let run = |world: WorldId| cpu.worlds()[world].account.run_ns as f64 / duration_ns;
    let path = storage.path();
    let mut results = Vec::new();
    for (group, members) in path.vms_by_group() {
        let ios = members.iter().filter_map(|&vm| path.vm(vm));
        let vcpus = members.iter().flat_map(|&vm| cpu.groups()[vm].vcpus.iter());
        let mut sums = Sums::of(vcpus.map(|world| (run(world), 0.0, Waits::default())));
        sums.waits.passed = ios.map(|io| io.latencies().count).sum();
        let of = Station::Workers { group };
        results.push(sums.result(of, format!("{}{VCPUS}", groups[group]), false, duration_ns));
        let sums = path.controllers_station(&members, &run, now);
        if sums.members > 0 {
            results.push(sums.result(of, format!("{}-controllers", groups[group]), false, duration_ns));
        }
    }
    let name = |station| match station {
        Station::VdiskDepth { group } => format!("{}-vdisk-depth", groups[group]),
        Station::Ring { group } => format!("{}-ring", groups[group]),
        Station::Dsnro { group } => format!("{}-dsnro", groups[group]),
        Station::LunDepth { host } => format!("{}-lun-depth", cpu.hosts()[HostId::new(host)].name),
        Station::PortDepth { host } => format!("{}-port-depth", cpu.hosts()[HostId::new(host)].name),
        _ => unreachable!("these have no depths"),
    };
    results.extend(path.depth_stations(name, now, duration_ns));
    for id in cpu.hosts().ids() {
        let ports = storage.ports_station(id, now, duration_ns);
        let (of, name) = (Station::Ports { host: id.index() }, || {
            format!("{}-ports", cpu.hosts()[id].name)
        });
        results.extend(ports.map(|sums| {
            let mut result = sums.result(of, name(), false, duration_ns);
            result.figures.path_failovers = storage.path_failovers(id);
            result
        }));
    }
    for id in cpu.hosts().ids() {
        let (of, name) = (Station::Swap { host: id.index() }, || {
            format!("{}-swap", cpu.hosts()[id].name)
        });
        let disks = storage
            .swap_station(id, now, duration_ns)
            .filter(|_| observed.reclaim.concerns(id));
        results.extend(disks.map(|sums| sums.result(of, name(), false, duration_ns)));
    }
    results.extend(storage.target_stations(&run, now, duration_ns));
    results
}

reports! {
    /// The station that limits I/O, or is nearest to its limit.
    #[derive(Clone, Debug, Serialize)]
    pub struct BottleneckReport {
        pub station: String;
        pub utilization_pct: f64;
        pub saturated: bool;
        pub next_station: Option<String>;
        pub next_utilization_pct: Option<f64>;
        pub binding_depth: Option<String>;
    }
}

/// The station of a name, which mostly is at `index`.
fn named<'r>(all: &'r [StationResult], index: usize, name: &str) -> Option<&'r StationResult> {
    let usual = all.get(index).filter(|station| station.name == name);
    usual.or_else(|| all.iter().find(|station| station.name == name))
}

/// The stations of all replications with their usual positions. Where VMs move, a host may use an array in some
/// replications only.
fn all_stations<'r>(replications: &[&'r [StationResult]]) -> Vec<(usize, &'r StationResult)> {
    let mut stations: Vec<(usize, &StationResult)> = replications[0].iter().enumerate().collect();
    for all in &replications[1..] {
        for (index, station) in all.iter().enumerate() {
            let is_known = stations.get(index).is_some_and(|(_, known)| known.name == station.name);
            if !is_known && !stations.iter().any(|(_, known)| known.name == station.name) {
                stations.push((index, station));
            }
        }
    }
    stations
}

/// Whether a member of a station is saturated while the station is not.
pub fn has_full_member(station: &StationReport) -> bool {
    bands::STATION.is_beyond(station.utilization_max_pct) && !bands::STATION.is_beyond(station.utilization_pct)
}

/// Whether a station is busy because its threads wait for another, which is full: those of OSDs that write logs wait
/// for the disks that the logs are on.
pub fn is_kept_waiting(name: &str, all: &BTreeMap<String, StationReport>) -> bool {
    name.strip_suffix("-commit").is_some_and(|pool| {
        let disks = ["devices", "flash"].map(|what| all.get(&format!("{pool}-{what}")));
        let mut disks = disks.into_iter().flatten();
        disks.any(|disk| bands::STATION.is_beyond(disk.utilization_pct))
    })
}

/// The means of the stations of several replications, and which of them limits the I/Os of groups with these tasks.
/// vCPUs do only if all that they do is I/O.
pub fn summarise(
    replications: &[&[StationResult]],
    tasks: &[Task],
) -> (BTreeMap<String, StationReport>, Option<BottleneckReport>) {
    let stations = all_stations(replications).into_iter().map(|(index, first)| {
        let count = replications.len() as f64;
        let of = |all: &&[StationResult], get: fn(&StationReport) -> f64| {
            named(all, index, &first.name).map_or(0.0, |one| get(&one.figures))
        };
        let mean = |get: fn(&StationReport) -> f64| replications.iter().map(|all| of(all, get)).sum::<f64>() / count;
        let report = StationReport {
            members: first.figures.members,
            utilization_pct: mean(|one| one.utilization_pct),
            utilization_max_pct: mean(|one| one.utilization_max_pct),
            queue: mean(|one| one.queue),
            wait_ms: mean(|one| one.wait_ms),
            waited_pct: mean(|one| one.waited_pct),
            throughput_per_s: mean(|one| one.throughput_per_s),
            mb_per_s: first.figures.mb_per_s.map(|_| mean(|one| one.mb_per_s.unwrap_or(0.0))),
            hit_pct: first.figures.hit_pct.map(|_| mean(|one| one.hit_pct.unwrap_or(0.0))),
            path_failovers: first
                .figures
                .path_failovers
                .map(|_| mean(|one| one.path_failovers.unwrap_or(0.0))),
        };
        (first, report)
    });
    let stations: Vec<(&StationResult, StationReport)> = stations.collect();
    let reports = map_of(stations.iter().map(|(one, report)| (one.name.clone(), report.clone())));
    let works_for_more = |one: &StationResult| match one.of {
        Station::Workers { group } if one.name.ends_with(VCPUS) => {
            !matches!(tasks[group].cycle, Cycle::Generator { .. })
        }
        _ => false,
    };
    let is_server =
        |one: &StationResult| !one.is_depth && !works_for_more(one) && !is_kept_waiting(&one.name, &reports);
    let mut servers: Vec<&(&StationResult, StationReport)> =
        stations.iter().filter(|(one, _)| is_server(one)).collect();
    sort_by(&mut servers, |(_, a), (_, b)| {
        b.utilization_pct.total_cmp(&a.utilization_pct)
    });
    let binding = stations
        .iter()
        .filter(|(one, report)| one.is_depth && bands::DEPTH.is_beyond(report.waited_pct))
        .max_by(|(_, a), (_, b)| a.wait_ms.total_cmp(&b.wait_ms));
    let bottleneck = servers.first().map(|(first, report)| BottleneckReport {
        station: first.name.clone(),
        utilization_pct: report.utilization_pct,
        saturated: bands::STATION.is_beyond(report.utilization_pct),
        next_station: servers.get(1).map(|(next, _)| next.name.clone()),
        next_utilization_pct: servers.get(1).map(|(_, next)| next.utilization_pct),
        binding_depth: binding.map(|(depth, _)| depth.name.clone()),
    });
    (reports, bottleneck)
}
