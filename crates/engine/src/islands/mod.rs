//! Islands: hosts that share nothing in a run are simulated as runs of their own, whose results are put together again.
//!
//! **Invariant.** The replication of a scenario is the same, to the byte, whether its islands are simulated together or
//! each by itself, where, and in which order: random streams belong to named entities, what is summed over islands is
//! counted in whole numbers, and all else belongs to one host, VM, array or pool and keeps its place in the scenario's
//! order.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | [`Islands`]: a scenario cut up, and each part simulated |
//! | `whole.rs` | a scenario, with every host and VM by name |
//! | `cut.rs` | which hosts share something |
//! | `key.rs` | what the result of an island depends on, as a hash |
//! | `merge.rs` | from the islands' replications to that of the scenario |
//!
//! **Only points, replications and islands run in parallel.** An island is one thread. The threads of a parallel event
//! loop would have to agree on the order of events. Such a loop would gain less time than running the next island or
//! replication in parallel.
//!
//! **Islands.** A cluster without shared storage is a sum of hosts. If a thousand hosts are simulated together, the
//! data of each event are rarely in the cache. If hosts are simulated separately, the calendar and memory of each host
//! stay in the cache. An event therefore has about the same cost in any cluster, and islands use all threads. Two hosts
//! are in one island if their VMs use the same array or pool, or if both are nodes of one pool. Two hosts are also in
//! one island if one failure names both, or if VMs restart or migrate in their cluster (`islands/cut.rs`).
//!
//! **One island stays on one core.** Hosts of a pool could run independently for as long as a message takes (50 us by
//! default). For a pool of 100 nodes and 2,000 VMs, a trace has 15.8 events in such a window. Two cores would be at
//! most 1.54 times as fast. This bound includes a barrier of 0.13 us between two spinning threads, but not the cost of
//! messages. With a barrier of 1 us, two cores would be at most 1.2 times as fast. A pool of four nodes has 2.7 events
//! in a window. Two cores would simulate such a pool more slowly than one core. The engine also has no lookahead: a
//! sender reserves the receiver's port, and equal disks of a pool draw from one random stream. The second core runs
//! other islands, replications and points.

mod cut;
mod key;
mod merge;
mod whole;

use crate::build::build;
use crate::error::RunError;
use crate::ids::{HostId, Id};
use crate::island::{Island, IslandCluster, IslandGroup, IslandHost, IslandPool, IslandVm};
use crate::measure::{Observed, Replication};
use cut::{Cut, cut};
use hypertwin_cluster::{Scenario, StorageArray};
use whole::Whole;

/// A scenario cut into islands.
pub struct Islands {
    whole: Whole,
    cuts: Vec<Cut>,
}

impl Islands {
    /// Cuts a scenario into islands.
    ///
    /// # Errors
    /// [`RunError::NoTimes`] if it does not say how long to simulate, [`RunError::NoPlacement`] if a VM fits on no
    /// host.
    ///
    /// # Panics
    /// If a workload, array or pool that the scenario names is missing, so that it was not validated.
    pub fn of(scenario: Scenario) -> Result<Self, RunError> {
        let whole = Whole::of(scenario)?;
        let cuts = cut(&whole);
        Ok(Self { whole, cuts })
    }

    /// A scenario as one island.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(crate) fn undivided(scenario: Scenario) -> Result<Self, RunError> {
        let whole = Whole::of(scenario)?;
        let cuts = vec![Cut::all(&whole)];
        Ok(Self { whole, cuts })
    }

    /// How many there are; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.cuts.len()
    }

    /// How much there is to simulate in each: its vCPUs.
    #[must_use]
    pub fn weights(&self) -> Vec<u64> {
        let vcpus = |&vm: &usize| u64::from(self.whole.vm_group(self.whole.vms[vm].group).vcpus);
        let weight = |cut: &Cut| cut.vms.iter().map(vcpus).sum();
        self.cuts.iter().map(weight).collect()
    }

    /// Simulates one, by its number, with the random streams of `seed`.
    ///
    /// # Errors
    /// [`RunError::Overloaded`] if an open workload overloads its VM beyond all measure.
    pub fn run(&self, number: usize, seed: u64) -> Result<Replication, RunError> {
        self.told_run(number, seed, |_| ())
    }

    /// As [`Self::run`], and tells from time to time how much more of the run has been simulated, as a part of it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn told_run(&self, number: usize, seed: u64, mut tell: impl FnMut(f64)) -> Result<Replication, RunError> {
        let run = &self.whole.scenario.run;
        let end = run.warmup.or_zero().nanos() + run.duration.or_zero().nanos();
        let mut told = 0;
        build(&self.island(number), seed).told_run(&mut |now| {
            tell((now - told) as f64 / end as f64);
            told = now;
        })
    }

    /// As [`Self::run`], and calls `watch` after every event.
    pub(crate) fn watched_run(
        &self,
        number: usize,
        seed: u64,
        watch: impl FnMut(Observed<'_>),
    ) -> Result<Replication, RunError> {
        build(&self.island(number), seed).run(watch)
    }

    /// Simulates all, one after another.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_all(&self, seed: u64) -> Result<Replication, RunError> {
        let parts: Vec<Replication> = (0..self.len())
            .map(|number| self.run(number, seed))
            .collect::<Result<_, _>>()?;
        Ok(self.merge(&parts.iter().collect::<Vec<_>>()))
    }

    /// Positions of the hosts of an island.
    pub(crate) fn hosts_of(&self, number: usize) -> &[usize] {
        &self.cuts[number].hosts
    }

    /// What an island is made from.
    pub(crate) fn island(&self, number: usize) -> Island<'_> {
        let cut = &self.cuts[number];
        let host = |&host: &usize| IslandHost {
            name: &self.whole.hosts[host].name,
            spec: self.whole.host_group(self.whole.hosts[host].group),
        };
        let group = |&group: &usize| {
            let spec = self.whole.vm_group(group);
            let workload = self.whole.workload(spec);
            let name = &self.whole.vm_groups[group];
            IslandGroup { name, spec, workload }
        };
        let vm = |&vm: &usize| IslandVm {
            name: &self.whole.vms[vm].name,
            group: here(&cut.groups, self.whole.vms[vm].group),
            host: HostId::new(here(&cut.hosts, self.whole.placement[vm])),
        };
        Island {
            run: &self.whole.scenario.run,
            hosts: cut.hosts.iter().map(host).collect(),
            groups: cut.groups.iter().map(group).collect(),
            vms: cut.vms.iter().map(vm).collect(),
            devices: &self.whole.scenario.devices,
            arrays: self.arrays(cut).collect(),
            pools: self.pools(cut).collect(),
            failures: cut
                .failures
                .iter()
                .map(|&entry| &self.whole.scenario.failures[entry])
                .collect(),
            clusters: cut.clusters.iter().map(|&cluster| self.cluster(cut, cluster)).collect(),
            events: cut
                .events
                .iter()
                .map(|&event| &self.whole.scenario.events[event])
                .collect(),
            rules: match cut.clusters.is_empty() {
                true => Vec::new(),
                false => self.whole.scenario.rules.iter().collect(),
            },
        }
    }

    fn cluster<'s>(&'s self, cut: &Cut, cluster: usize) -> IslandCluster<'s> {
        let cluster = &self.whole.moving[cluster];
        IslandCluster {
            name: &cluster.name,
            spec: self.whole.scenario.clusters.get(&cluster.name),
            hosts: cluster
                .hosts
                .iter()
                .map(|&host| HostId::new(here(&cut.hosts, host)))
                .collect(),
        }
    }

    fn arrays<'s>(&'s self, cut: &'s Cut) -> impl Iterator<Item = (&'s str, &'s StorageArray)> {
        let arrays = self.whole.scenario.arrays.iter().enumerate();
        let here = arrays.filter(|(position, _)| cut.arrays.binary_search(position).is_ok());
        here.map(|(_, (name, spec))| (name.as_str(), spec))
    }

    fn pools<'s>(&'s self, cut: &'s Cut) -> impl Iterator<Item = IslandPool<'s>> {
        let pools = self.whole.scenario.storage.iter().enumerate();
        let here = pools.filter(|(position, _)| cut.pools.binary_search(position).is_ok());
        here.map(|(_, (name, spec))| {
            let is_node = |host: usize| {
                spec.nodes
                    .contains(&self.whole.host_groups[self.whole.hosts[host].group])
            };
            let nodes = (0..cut.hosts.len()).filter(|&position| is_node(cut.hosts[position]));
            IslandPool {
                name,
                spec,
                nodes: nodes.map(HostId::new).collect(),
            }
        })
    }
}

/// Where `position` is among those of an island.
fn here(positions: &[usize], position: usize) -> usize {
    positions
        .binary_search(&position)
        .expect("an island has everything that its VMs need")
}
