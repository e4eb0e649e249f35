//! What limits a group: read off utilisations and waits, with one set of bands for all views and studies.
//!
//! - A CPU limit and memory show by what only they do: vCPUs look busy or wait then, and that is not the cause.
//! - Otherwise the most loaded resource limits, if it is full: stations of the I/O path, the processors of the nodes of
//!   a generator's pool, the host's cores, the VM's vCPUs. Full vCPUs count for the host if it has no headroom or they
//!   wait for it.
//! - Where nothing is saturated on average, a server one of whose members is limits if I/Os wait there for most of
//!   their latency. Else a depth that I/Os wait for does, and so do the workers of a generator that never rest, and a
//!   server that most of the latency of its I/Os is spent at.
//! - Else a closed loop is limited by its round trips, and paced load by nothing.

use super::words::{list, number};
use crate::measure::bands;
use crate::measure::judgement::{Limit, LimitKind};
use crate::measure::point::{HostReport, PointReport};
use crate::measure::results::{HostResult, Replication};
use crate::measure::stations::{has_full_member, is_kept_waiting};
use crate::measure::task::{Cycle, Task};
use crate::measure::vm_metrics::VmReport;
use crate::movement::Outcome;
use crate::ordered::map_of;
use crate::reclaim::HostMemoryResult;
use crate::storage::StationReport;
use std::collections::BTreeMap;

/// What a station of the I/O path stands for, by the end of its name: `SAN-disks`. Only that of vCPUs is absent: these
/// are judged by what the VM shows.
const STATIONS: [(&str, LimitKind); 22] = [
    ("controllers", LimitKind::Controller),
    ("ring", LimitKind::Controller),
    ("ports", LimitKind::Fabric),
    ("front-end", LimitKind::Fabric),
    ("lun-depth", LimitKind::Fabric),
    ("port-depth", LimitKind::Fabric),
    ("disks", LimitKind::Devices),
    ("devices", LimitKind::Devices),
    ("flash", LimitKind::Devices),
    ("cache", LimitKind::Devices),
    ("services", LimitKind::StorageCpu),
    ("messengers", LimitKind::StorageCpu),
    ("shards", LimitKind::StorageCpu),
    ("commit", LimitKind::StorageCpu),
    ("gateways", LimitKind::StorageCpu),
    ("cpu-limit", LimitKind::StorageCpu),
    ("network", LimitKind::Network),
    ("client-network", LimitKind::Network),
    ("cluster-network", LimitKind::Network),
    ("rack-network", LimitKind::Network),
    ("vdisk-depth", LimitKind::Client),
    ("dsnro", LimitKind::Client),
];

/// Ends of stations that are places to wait in, not servers: they limit by their waits.
const DEPTHS: [&str; 6] = ["ring", "lun-depth", "port-depth", "vdisk-depth", "dsnro", "cache"];

/// Part of the latency of I/Os, in per cent, of which a wait is most.
const MOST_OF_LATENCY_PCT: f64 = 50.0;

/// Part of what a node's memory or a link between nodes carries from which on more was asked than it delivered.
const MUCH_TRAFFIC: f64 = 0.5;

/// Part of its pace from which on a generator keeps it.
const KEPT_PACE: f64 = 0.98;

/// A station that I/Os pass.
struct Passed<'p> {
    name: &'p str,
    /// The end of its name, which says what it is.
    end: &'static str,
    kind: LimitKind,
    report: &'p StationReport,
}

/// Stations by whose they are: of a group, a host, an array or a pool.
fn stations_of(point: &PointReport) -> BTreeMap<&str, Vec<Passed<'_>>> {
    let mut found: BTreeMap<&str, Vec<Passed>> = BTreeMap::new();
    for (name, report) in &point.storage {
        if is_kept_waiting(name, &point.storage) {
            continue;
        }
        let is_end = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.ends_with('-'));
        let ends = STATIONS.iter().filter(|(end, _)| is_end(end));
        if let Some(&(end, kind)) = ends.max_by_key(|(end, _)| end.len()) {
            let of = &name[..name.len() - end.len() - 1];
            found.entry(of).or_default().push(Passed {
                name,
                end,
                kind,
                report,
            });
        }
    }
    found
}

/// What limits each group of a point.
pub fn limits(point: &PointReport, first: &Replication) -> BTreeMap<String, Limit> {
    let results = map_of(first.hosts.iter().map(|host| (host.name.as_str(), host)));
    let mut members: Vec<Vec<&VmReport>> = vec![Vec::new(); first.groups.len()];
    for vm in &first.vms {
        members[vm.group].extend(point.vms.get(&vm.name));
    }
    let stations_of = &stations_of(point);
    let groups = first.groups.iter().zip(&first.tasks).zip(&members);
    let group_of = map_of(
        first
            .vms
            .iter()
            .map(|vm| (vm.name.as_str(), first.groups[vm.group].as_str())),
    );
    let limit = |((name, task), members): ((&String, &Task), &Vec<&VmReport>)| {
        let vm = point.groups.get(name)?;
        // those that its VMs have left, too
        let moves = point.movement.iter().flat_map(|history| &history.moves);
        let left = moves
            .filter(|each| each.outcome == Outcome::Done && each.end_s.is_some_and(|end_s| end_s > point.warmup_s))
            .filter(|each| group_of.get(each.vm.as_str()) == Some(&name.as_str()))
            .map(|each| &each.from);
        let hosts = vm.hosts.iter().flatten().chain(left);
        let hosts = map_of(
            hosts.filter_map(|host| Some((host.as_str(), (point.hosts.get(host)?, *results.get(host.as_str())?)))),
        );
        let case = Case {
            point,
            first,
            name,
            task,
            vm,
            members,
            hosts,
            stations_of,
        };
        Some((name.clone(), case.limit()))
    };
    map_of(groups.filter_map(limit))
}

/// Time per vCPU that a VM ran or wanted to, in per cent.
fn asked_pct(vm: &VmReport) -> f64 {
    vm.run_pct + vm.ready_pct + vm.costop_pct
}

/// A group in a point.
struct Case<'p> {
    point: &'p PointReport,
    first: &'p Replication,
    name: &'p str,
    task: &'p Task,
    vm: &'p VmReport,
    members: &'p [&'p VmReport],
    /// Its hosts by name.
    hosts: BTreeMap<&'p str, (&'p HostReport, &'p HostResult)>,
    stations_of: &'p BTreeMap<&'p str, Vec<Passed<'p>>>,
}

impl Case<'_> {
    fn limit(&self) -> Limit {
        if let Some(forced) = self.forced() {
            return forced;
        }
        let mut full: Option<Limit> = None;
        for each in self.cpu().into_iter().chain(self.stations()) {
            if full.as_ref().is_none_or(|most| each.value_pct > most.value_pct) {
                full = Some(each);
            }
        }
        let longest = self.waited_longest();
        let at_full = longest.clone().filter(|limit| limit.holds_io);
        full.or(at_full)
            .or_else(|| self.waited_for())
            .or(longest)
            .unwrap_or_else(|| self.cycle())
    }

    /// A limit on CPU, or memory that is full.
    fn forced(&self) -> Option<Limit> {
        let (limited, waits) = (self.vm.limited_pct, self.vm.ready_pct + self.vm.costop_pct);
        if bands::READY.is_beyond(limited) && limited >= waits / 2.0 {
            let text = format!("the CPU limit stops {} {}% of the time", self.name, number(limited));
            return Some(self.found(LimitKind::CpuLimit, self.name, limited, text));
        }
        for (name, (host, _)) in &self.hosts {
            let is_short = host.memory.as_ref().is_none_or(HostMemoryResult::is_short);
            if is_short && bands::TOUCHED.is_beyond(host.memory_usage_pct) {
                let text = format!(
                    "VMs on {name} have touched {}% of its memory",
                    number(host.memory_usage_pct)
                );
                return Some(self.found(LimitKind::Memory, name, host.memory_usage_pct, text));
            }
        }
        self.memory()
    }

    /// Memory that delivers all it can, or comes too late.
    fn memory(&self) -> Option<Limit> {
        for (name, (host, result)) in &self.hosts {
            let delivers = host.nodes.values().map(|node| node.memory_gb_per_s).fold(0.0, f64::max);
            let part = 100.0 * delivers / result.node_gb_per_s;
            if bands::MEMORY_BANDWIDTH.is_beyond(part) {
                let text = format!("a NUMA node of {name} uses {}% of its memory bandwidth", number(part));
                return Some(self.found(LimitKind::Memory, name, part, text));
            }
        }
        // Unlike the traffic of a node, this does not depend on where the VM was in each replication. Without much
        // traffic it is latency, or a busy sibling.
        let much = |&(host, result): &(&HostReport, &HostResult)| {
            let all: f64 = host.nodes.values().map(|node| node.memory_gb_per_s).sum();
            all >= MUCH_TRAFFIC * result.node_gb_per_s.min(result.link_gb_per_s)
        };
        if !self.hosts.values().any(much) {
            return self.swapping();
        }
        let vm = self.vm;
        let asked = vm.used_pct / 100.0 * f64::from(vm.vcpus) * self.task.traffic_gb_per_s;
        let stalled = 100.0 * (1.0 - vm.memory_gb_per_s / asked);
        if asked > 0.0 && bands::STALLED.is_beyond(stalled) {
            let text = format!(
                "memory bandwidth is {}% below the demand of {}",
                number(stalled),
                self.name
            );
            return Some(self.found(LimitKind::Memory, self.name, stalled, text));
        }
        self.swapping()
    }

    /// Memory that comes from a swap device.
    fn swapping(&self) -> Option<Limit> {
        let waits = self.members.iter().filter_map(|vm| vm.memory.as_ref());
        let waits = waits.map(|memory| memory.swap_wait_pct).fold(0.0, f64::max);
        bands::SWAP_WAIT.is_beyond(waits).then(|| {
            let text = format!("{} waits {}% of the time for swapped memory", self.name, number(waits));
            self.found(LimitKind::Memory, self.name, waits, text)
        })
    }

    /// CPUs that are full: those of the host, of the VM, or of the nodes of its pool.
    fn cpu(&self) -> Vec<Limit> {
        let mut found = Vec::new();
        let usages = self.hosts.iter().map(|(name, (host, _))| (*name, host.usage_pct));
        let (host, usage) = usages.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", 0.0));
        let (waits, costop) = (self.vm.waiting_pct, self.vm.costop_pct);
        let busy = self.vm.guest_cpu_pct.max(asked_pct(self.vm));
        let is_busy = bands::GUEST_CPU.is_beyond(busy);
        let nodes = self.nodes();
        let is_client = matches!(self.task.cycle, Cycle::Generator { .. })
            && !nodes.is_empty()
            && nodes.iter().all(|node| !self.hosts.contains_key(node.name.as_str()));
        let kind = |kind| if is_client { LimitKind::Client } else { kind };
        if bands::HOST_CPU.is_beyond(usage) || bands::READY.weight(waits + costop) > 1.0 {
            let mut held = Vec::new();
            if bands::READY.is_beyond(waits) {
                held.push(format!("wait {}% of the time for a logical CPU", number(waits)));
            }
            if bands::COSTOP.is_beyond(costop) {
                held.push(format!("are co-stopped {}% of the time", number(costop)));
            }
            let who = if held.is_empty() {
                String::new()
            } else {
                format!(", and the vCPUs of {} {}", self.name, list(&held))
            };
            let text = format!("{host} is at {}% CPU{who}", number(usage));
            found.push(self.found(kind(LimitKind::HostCpu), host, usage.max(busy), text));
        } else if is_busy {
            let text = format!(
                "the vCPUs of {} are {}% busy, while {host} has headroom",
                self.name,
                number(busy)
            );
            found.push(self.found(kind(LimitKind::GuestCpu), self.name, busy, text));
        }
        if is_client {
            let busy = nodes.iter().filter_map(|node| self.point.hosts.get(&node.name));
            let mean = busy.map(|host| host.utilization_pct).sum::<f64>() / nodes.len() as f64;
            if bands::STATION.is_beyond(mean) {
                let pool = self.task.stores.as_deref().unwrap_or_default();
                let text = format!("the CPUs of the nodes of {pool} are {}% busy", number(mean));
                found.push(self.found(LimitKind::StorageCpu, pool, mean, text));
            }
        }
        found
    }

    /// The hosts that have the disks of its pool; none without one.
    fn nodes(&self) -> Vec<&HostResult> {
        let pool = self.task.stores.as_ref();
        let serves = |host: &&HostResult| pool.is_some_and(|pool| host.serves.contains(pool));
        self.first.hosts.iter().filter(serves).collect()
    }

    /// The servers of the I/O path that are full.
    fn stations(&self) -> impl Iterator<Item = Limit> {
        self.own_stations().filter_map(|passed| {
            let utilization_pct = passed.report.utilization_pct;
            let is_full = !DEPTHS.contains(&passed.end) && bands::STATION.is_beyond(utilization_pct);
            is_full.then(|| {
                let text = format!("{} at {}% limits I/O", passed.name, number(utilization_pct));
                self.found(passed.kind, passed.name, utilization_pct, text)
            })
        })
    }

    /// The limit if nothing is saturated: workers that never rest, or a queue depth that I/Os wait for.
    fn waited_for(&self) -> Option<Limit> {
        if let Cycle::Generator { workers, .. } = self.task.cycle {
            let vcpus = f64::from(self.vm.vcpus) / self.vm.count.unwrap_or(1) as f64;
            let workers = workers.map_or(vcpus, f64::from).min(vcpus);
            let busy = asked_pct(self.vm) * vcpus / workers;
            if bands::GUEST_CPU.is_beyond(busy) {
                let text = format!("the workers of {} are {}% busy", self.name, number(busy));
                return Some(self.found(LimitKind::Client, self.name, busy, text));
            }
        }
        let (wait_ms, passed) = self.longest_wait(true)?;
        let kind = match self.task.one_at_a_time && passed.end == "vdisk-depth" {
            true => LimitKind::Controller,
            false => passed.kind,
        };
        let text = format!(
            "{}% of I/Os wait for a slot in {}",
            number(passed.report.waited_pct),
            passed.name
        );
        // a generator asks for as many as it likes
        let is_own = kind == LimitKind::Client && matches!(self.task.cycle, Cycle::Generator { .. });
        Some(Limit {
            kind,
            of: passed.name.to_owned(),
            value_pct: None,
            text,
            holds_io: !is_own && self.is_most_of_latency(wait_ms),
        })
    }

    /// The server at which I/Os wait for most of their latency, if nothing is saturated on average. The value is the
    /// load of its busiest member if that is saturated. Without one, only I/Os of a generator without a pace count.
    fn waited_longest(&self) -> Option<Limit> {
        let (sum_ms, longest) = self.longest_wait(false)?;
        let is_full = has_full_member(longest.report);
        if !self.is_most_of_latency(sum_ms) || !is_full && !self.task.cycle.chooses_latency() {
            return None;
        }
        let (kind, name, most) = (longest.kind, longest.name, longest.report.utilization_max_pct);
        let place = match is_full {
            true => format!("one of the {} of {name}, at {}%", longest.report.members, number(most)),
            false => name.to_owned(),
        };
        Some(Limit {
            kind,
            of: name.to_owned(),
            value_pct: is_full.then_some(most),
            text: format!("I/Os of {} wait mostly for {place}", self.name),
            holds_io: is_full,
        })
    }

    /// Where an I/O waits longest, and how long at that station and those alike: at all servers of a kind, or for a
    /// slot of a depth that more than a few wait for.
    fn longest_wait(&self, at_depths: bool) -> Option<(f64, &Passed<'_>)> {
        let mut waits: BTreeMap<(LimitKind, &str), (f64, &Passed)> = BTreeMap::new();
        for passed in self.own_stations() {
            let is_depth = DEPTHS.contains(&passed.end);
            let is_free = is_depth && !bands::DEPTH.is_beyond(passed.report.waited_pct);
            if is_depth != at_depths || is_free {
                continue;
            }
            let wait_ms = self.wait_ms(passed);
            let alike = (passed.kind, if is_depth { passed.end } else { "" });
            let (sum_ms, longest) = waits.entry(alike).or_insert((0.0, passed));
            *sum_ms += wait_ms;
            if wait_ms > self.wait_ms(longest) {
                *longest = passed;
            }
        }
        waits.into_values().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// Whether a wait is most of the mean latency of its I/Os.
    fn is_most_of_latency(&self, wait_ms: f64) -> bool {
        let latency_ms = self.vm.io_latency_ms.as_ref().and_then(|latency| latency.mean);
        latency_ms.is_some_and(|latency_ms| 100.0 * wait_ms / latency_ms >= MOST_OF_LATENCY_PCT)
    }

    /// How long an I/O waits at a station on average: in one visit, or in all of them where a member is full. Of the
    /// stations of several hosts it passes one.
    fn wait_ms(&self, passed: &Passed) -> f64 {
        let report = passed.report;
        if !has_full_member(report) {
            let alike = self.own_stations().filter(|other| other.end == passed.end);
            let all: f64 = alike.map(|other| other.report.throughput_per_s).sum();
            return report.wait_ms * report.throughput_per_s / all.max(f64::MIN_POSITIVE);
        }
        let groups = self.first.groups.iter().zip(&self.first.tasks);
        let beside = groups.filter(|(_, task)| task.stores == self.task.stores);
        let all = beside
            .filter_map(|(name, _)| Some(self.point.groups.get(name)?.iops))
            .sum();
        let iops: f64 = match passed.name.strip_prefix(self.name) == Some(&format!("-{}", passed.end)) {
            true => self.vm.iops,
            false => all,
        };
        1e3 * report.queue / iops
    }

    /// Round trips of a closed loop, or the pace of the load.
    fn cycle(&self) -> Limit {
        let does_nothing = self.vm.throughput_per_s + self.vm.iops == 0.0;
        let has_room = match self.task.cycle {
            Cycle::Paced => true,
            Cycle::Generator {
                pace_per_s: Some(pace), ..
            } => self.members.iter().all(|vm| self.keeps_pace(vm, pace)),
            Cycle::Closed { think_ms } => think_ms > 0.0 && think_ms > self.vm.response_ms.mean.unwrap_or(0.0),
            Cycle::Generator { .. } => false,
        };
        let (kind, of, text) = if does_nothing || has_room {
            (LimitKind::Nothing, "", "nothing is saturated".to_owned())
        } else {
            let text = format!("nothing is saturated: {} waits for round trips", self.name);
            (LimitKind::Latency, self.name, text)
        };
        Limit {
            kind,
            of: of.to_owned(),
            value_pct: None,
            text,
            holds_io: false,
        }
    }

    /// Whether a VM does the I/Os of its pace, but for one that may come after the end. VMs that were down do not
    /// count.
    fn keeps_pace(&self, vm: &VmReport, pace_per_s: f64) -> bool {
        let all = pace_per_s * self.point.duration_s;
        vm.down_s > 0.0 || vm.iops * self.point.duration_s >= KEPT_PACE * all - 1.0
    }

    /// Stations that its I/Os pass: its own, of its array or pool, and of its hosts.
    fn own_stations(&self) -> impl Iterator<Item = &Passed<'_>> {
        let owners = [Some(self.name), self.task.stores.as_deref()].into_iter().flatten();
        let owners = owners.chain(self.hosts.keys().copied());
        owners.filter_map(|owner| self.stations_of.get(owner)).flatten()
    }

    fn found(&self, kind: LimitKind, of: &str, value_pct: f64, text: String) -> Limit {
        Limit {
            kind,
            of: of.to_owned(),
            value_pct: Some(value_pct),
            text,
            holds_io: false,
        }
    }
}
