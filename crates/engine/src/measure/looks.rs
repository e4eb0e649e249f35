//! Looks at a run while it is measured: what it holds, and how much work it is offered, interval after interval.
//!
//! [`super::verdict`] says from them whether the run is steady.

use super::loops::{self, Loop};
use super::tails::{self, Tail, Watched};
use super::vm_metrics::busy_ns;
use super::{Observed, stations};
use crate::budget::PERIOD_NS;
use crate::ids::{HostId, Table, VmId};
use crate::island::Island;
use crate::ordered::sort_by;
use crate::reclaim::PAGE;
use crate::storage::StationResult;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Nanos;

/// Looks of a run at most: more would not show a trend better.
const MOST_LOOKS: u64 = 24;

/// Looks of one part of [`tails`].
const LOOKS_PER_PART: usize = (MOST_LOOKS / tails::PARTS) as usize;

/// Mean queue length below which growth does not matter.
const SHORT_QUEUE: f64 = 0.5;

/// Part of what a VM can do, below which the offered load is not checked.
const WELL_BELOW: f64 = 0.25;

/// What something that a run holds is counted in, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stock {
    /// Transactions that arrived at a VM and have not ended.
    Transactions,
    /// I/Os in the queues of a station.
    Queue,
    /// MB of acknowledged writes in an array's cache.
    Cache,
    /// Fill of a pool's write buffers, in per cent.
    Buffer,
    /// GiB that a pool has to rebuild.
    Rebuild,
    /// I/Os that a pool holds back until it can write.
    Suspended,
    /// MB of VMs that a host has reclaimed.
    Reclaimed,
}

/// Something that a run holds, at each look.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Held {
    /// What it is.
    pub stock: Stock,
    /// Name of the VM, station, array, pool or host.
    pub of: String,
    /// Its mean since the look before, or how much there was.
    pub levels: Vec<f64>,
    /// How much of it passed in all, in the same unit; for a cache or buffer, what it holds at most.
    pub turnover: f64,
}

/// Work that was offered to something that cannot refuse it, as a part of what it can do.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Offered {
    /// Name of the VM.
    pub of: String,
    /// Since the look before.
    pub parts: Vec<f64>,
}

/// All looks at a replication.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub struct Looks {
    /// Time between two, in seconds.
    pub interval_s: f64,
    /// What it holds.
    pub held: Vec<Held>,
    /// What it is offered.
    pub offered: Vec<Offered>,
    /// When the scenario first changes something while it is measured, in nanoseconds, and what.
    pub change: Option<(Nanos, String)>,
    /// How response times were distributed in each part of the run.
    pub tails: Vec<Tail>,
    /// What closed loops did.
    pub loops: Vec<Loop>,
    /// The longest period of a CPU quota, in seconds, and what has it.
    pub period: Option<(f64, String)>,
}

impl Looks {
    /// The looks at parts of a scenario as one, in an order that does not depend on the parts.
    pub fn together<'l>(parts: impl Iterator<Item = &'l Self> + Clone) -> Self {
        let mut held: Vec<Held> = parts.clone().flat_map(|part| &part.held).cloned().collect();
        let mut offered: Vec<Offered> = parts.clone().flat_map(|part| &part.offered).cloned().collect();
        sort_by(&mut held, |a, b| (a.stock, &a.of).cmp(&(b.stock, &b.of)));
        sort_by(&mut offered, |a, b| a.of.cmp(&b.of));
        Self {
            interval_s: parts.clone().map(|part| part.interval_s).fold(0.0, f64::max),
            held,
            offered,
            change: parts.clone().filter_map(|part| part.change.clone()).min(),
            tails: tails::together(parts.clone().flat_map(|part| &part.tails)),
            loops: loops::together(parts.clone().flat_map(|part| &part.loops)),
            period: parts
                .filter_map(|part| part.period.clone())
                .min_by(|a, b| a.1.cmp(&b.1)),
        }
    }
}

/// A VM to whom whoever comes is served, at a look.
#[derive(Clone, Copy, Debug, Default)]
struct OpenVm {
    busy_ns: u64,
    done: u64,
    in_progress: usize,
    runnable: usize,
}

/// Everything at a look.
#[derive(Default)]
struct Look {
    at: Nanos,
    vms: Table<VmId, OpenVm>,
    stations: Vec<StationResult>,
    levels: Vec<(Stock, String, f64, f64)>,
}

/// Looks from time to time.
pub struct Looking {
    /// When the scenario changes something, and what, in order of time.
    changes: Vec<(Nanos, String)>,
    /// Observations between two looks.
    every: u64,
    observations: u64,
    looks: Vec<Look>,
    tails: Watched,
    period: Option<(f64, String)>,
}

impl Looking {
    /// Looks of a run with `observations` observations.
    pub fn new(island: &Island, observations: u64) -> Self {
        Self {
            changes: changes(island),
            every: observations.div_ceil(MOST_LOOKS).max(1),
            observations: 0,
            looks: Vec::new(),
            tails: Watched::new(island.groups.iter().map(|group| group.name.to_owned()).collect()),
            period: quota(island).map(|of| (PERIOD_NS as f64 / 1e9, of)),
        }
    }

    /// Measuring begins.
    pub fn start(&mut self, observed: &Observed) {
        self.looks = vec![Look::at(observed, &[], observed.now)];
    }

    /// An observation is made; `groups` are the names of those of VMs.
    pub fn observe(&mut self, observed: &Observed, groups: &[String]) {
        self.observations += 1;
        if self.observations.is_multiple_of(self.every) {
            let since = self.looks[0].at;
            self.looks.push(Look::at(observed, groups, since));
            if (self.looks.len() - 1).is_multiple_of(LOOKS_PER_PART) {
                self.tails.look(observed);
            }
        }
    }

    /// What was seen.
    pub fn finish(self, observed: &Observed, groups: &[String]) -> Looks {
        let (Some(first), Some(last)) = (self.looks.first(), self.looks.last()) else {
            return Looks::default();
        };
        let intervals = (self.looks.len() - 1).max(1) as f64;
        let mut held = transactions(&self.looks, observed);
        held.extend(queues(&self.looks, first.at));
        held.extend(levels(&self.looks));
        let looks = Looks {
            interval_s: (last.at - first.at) as f64 / 1e9 / intervals,
            held,
            offered: offered(&self.looks, observed),
            change: self
                .changes
                .iter()
                .find(|(at, _)| (first.at..=last.at).contains(at))
                .cloned(),
            tails: self.tails.finish(),
            loops: loops::seen(observed, groups, observed.now - first.at),
            period: self.period,
        };
        Looks::together(std::iter::once(&looks))
    }
}

/// A VM or pool whose CPU is limited by a quota for each period: the first by name, whatever else is on the island.
fn quota(island: &Island) -> Option<String> {
    let has_quota = |host: HostId| island.hosts[host].spec.hypervisor.family().facts().limits_by_quota;
    let vms = island.vms.iter();
    let vms = vms.filter(|vm| island.groups[vm.group].spec.limit.is_some() && has_quota(vm.host));
    let pools = island
        .pools
        .iter()
        .filter(|pool| pool.spec.service.limit_cpus.is_some());
    let named = vms.map(|vm| vm.name).chain(pools.map(|pool| pool.name));
    named.min().map(str::to_owned)
}

/// What the scenario changes at which time, but for hosts that fail: a run tells what that did to VMs.
fn changes(island: &Island) -> Vec<(Nanos, String)> {
    let mut found: Vec<(Nanos, String)> = Vec::new();
    for group in &island.groups {
        let steps = group.spec.load_steps.iter().filter(|step| step.at.nanos() > 0);
        found.extend(steps.map(|step| (step.at.nanos(), format!("the load of {} changes", group.name))));
    }
    let is_node = |part: &str| {
        let mut nodes = island.pools.iter().flat_map(|pool| &pool.nodes);
        nodes.any(|&node| island.hosts[node].name == part)
    };
    for failure in &island.failures {
        for part in failure.fails.iter().filter(|part| part.contains('/') || is_node(part)) {
            found.push((failure.at.nanos(), format!("{part} fails")));
            found.extend(
                failure
                    .returns
                    .map(|returns| (returns.nanos(), format!("{part} returns"))),
            );
        }
    }
    for event in &island.events {
        let times = [Some(event.at), event.until];
        for action in event.actions() {
            for (time, words) in times.iter().zip(action.words) {
                found.extend(time.map(|time| (time.nanos(), words.replace("{}", action.name))));
            }
        }
    }
    sort_by(&mut found, Ord::cmp);
    found
}

impl Look {
    fn at(observed: &Observed, groups: &[String], since: Nanos) -> Self {
        let vms = observed.guests.vms().iter().map(|vm| match vm.is_open() {
            true => {
                let (in_progress, runnable) = vm.processes();
                OpenVm {
                    done: vm.measured.responses.count(),
                    in_progress,
                    runnable,
                    busy_ns: 0,
                }
            }
            false => OpenVm::default(),
        });
        let mut vms: Table<VmId, OpenVm> = vms.collect();
        for id in observed
            .guests
            .vms()
            .ids()
            .filter(|&id| observed.guests.vms()[id].is_open())
        {
            let vcpus = &observed.cpu.worlds()[observed.cpu.groups()[id].vcpus];
            vms[id].busy_ns = vcpus.iter().map(|world| busy_ns(&world.account)).sum();
        }
        let stations = match observed.now - since {
            0 => Vec::new(),
            duration_ns => stations::results(observed, groups, duration_ns as f64),
        };
        Self {
            at: observed.now,
            vms,
            stations,
            levels: stocks(observed),
        }
    }
}

/// What is somewhere at this moment, and the most that there can be or that comes to the same.
fn stocks(observed: &Observed) -> Vec<(Stock, String, f64, f64)> {
    let mut found = Vec::new();
    for (name, bytes, most) in observed.storage.caches() {
        found.push((Stock::Cache, name.to_owned(), bytes as f64 / 1e6, most as f64 / 1e6));
    }
    for pool in observed.storage.pools().iter() {
        let mut add = |stock, level, most| found.push((stock, pool.name.clone(), level, most));
        if let Some(pct) = pool.buffer_pct() {
            add(Stock::Buffer, pct, 100.0);
        }
        add(Stock::Rebuild, pool.due() as f64 / (1u64 << 30) as f64, 0.0);
        add(Stock::Suspended, f64::from(pool.suspended()), 0.0);
    }
    for id in observed.cpu.hosts().ids() {
        let (pages, ..) = observed.reclaim.host(id);
        let reclaimed = (pages.ballooned + pages.swapped + pages.compressed) as f64 * PAGE / 1e6;
        let host = &observed.cpu.hosts()[id];
        found.push((Stock::Reclaimed, host.name.clone(), reclaimed, 0.0));
    }
    found
}

/// Transactions in progress of the VMs that are open to whoever comes.
fn transactions(looks: &[Look], observed: &Observed) -> Vec<Held> {
    let vms = observed.guests.vms();
    let of = |id: VmId| Held {
        stock: Stock::Transactions,
        of: vms[id].name.clone(),
        levels: looks.iter().map(|look| look.vms[id].in_progress as f64).collect(),
        turnover: looks.last().map_or(0, |look| look.vms[id].done) as f64,
    };
    vms.ids().filter(|&id| vms[id].is_open()).map(of).collect()
}

/// Queues of stations that are not short.
fn queues(looks: &[Look], since: Nanos) -> Vec<Held> {
    let last = looks.last().map_or(&[][..], |look| look.stations.as_slice());
    let queue = |(index, station): (usize, &StationResult)| {
        let of = |look: &Look| {
            let found = look.stations.get(index).filter(|each| each.name == station.name);
            let found = found.or_else(|| look.stations.iter().find(|each| each.name == station.name));
            found.map_or(0.0, |each| each.figures.queue * (look.at - since) as f64)
        };
        let integrals: Vec<f64> = looks.iter().map(of).collect();
        let times = looks.windows(2).map(|pair| ((pair[1].at - pair[0].at) as f64).max(1.0));
        let means = integrals
            .windows(2)
            .zip(times)
            .map(|(pair, time)| (pair[1] - pair[0]).max(0.0) / time);
        let levels: Vec<f64> = means.collect();
        let tail = &levels[levels.len() - levels.len() / 3..];
        let is_short = tail.iter().sum::<f64>() <= SHORT_QUEUE * tail.len() as f64;
        let duration_s = (looks[looks.len() - 1].at - since) as f64 / 1e9;
        (!is_short).then(|| Held {
            stock: Stock::Queue,
            of: station.name.clone(),
            levels,
            turnover: station.figures.throughput_per_s * duration_s,
        })
    };
    last.iter().enumerate().filter_map(queue).collect()
}

/// Caches, buffers and backlogs that are not always empty; what they hold at most is that of what is in them at the
/// end.
fn levels(looks: &[Look]) -> Vec<Held> {
    let Some(last) = looks.last() else { return Vec::new() };
    let series = |(index, (stock, of, _, most)): (usize, &(Stock, String, f64, f64))| {
        let levels: Vec<f64> = looks.iter().map(|look| look.levels[index].2).collect();
        levels.iter().any(|&level| level > 0.0).then(|| Held {
            stock: *stock,
            of: of.clone(),
            levels,
            turnover: *most,
        })
    };
    last.levels.iter().enumerate().filter_map(series).collect()
}

/// CPU work that comes to VMs that are open to whoever comes, as a part of what their vCPUs can do: how busy they were,
/// and what is left to do more than before.
fn offered(looks: &[Look], observed: &Observed) -> Vec<Offered> {
    let of = |id: VmId| {
        let vm = &observed.guests.vms()[id];
        let last = looks.last()?.vms[id];
        let bursts = last.done as f64 * f64::from(vm.bursts_per_transaction());
        if !vm.is_open() || last.done == 0 {
            return None;
        }
        let part = |pair: &[Look]| {
            let (before, now) = (pair[0].vms[id], pair[1].vms[id]);
            let time = ((pair[1].at - pair[0].at) as f64).max(1.0) * vm.vcpus as f64;
            let left = now.runnable as f64 - before.runnable as f64;
            ((now.busy_ns - before.busy_ns) as f64 + left * last.busy_ns as f64 / bursts) / time
        };
        let parts = looks.windows(2).map(part).collect();
        Some(Offered {
            of: vm.name.clone(),
            parts,
        })
    };
    let all = observed.guests.vms().ids().filter_map(of);
    all.filter(|each| each.parts.iter().sum::<f64>() > WELL_BELOW * each.parts.len() as f64)
        .collect()
}
