//! From the islands' replications to that of the scenario.

use super::Islands;
use super::cut::Cut;
use crate::measure::{FailureReport, Looks, Observation, Replication, Task, Timeline};
use crate::movement::History;
use crate::ordered::sort_by;
use crate::storage::{Station, StationResult};

/// What several islands have some of, in the scenario's order.
struct Parts<'p> {
    cuts: &'p [Cut],
    parts: &'p [&'p Replication],
}

impl<'p> Parts<'p> {
    /// Puts what islands have (`get`) where they have it (`positions`).
    fn placed<T: Clone + 'p>(
        &self,
        positions: impl Fn(&'p Cut) -> &'p [usize],
        get: impl Fn(&'p Replication) -> &'p [T],
    ) -> Vec<T> {
        let all = self.cuts.iter().zip(self.parts);
        let mut all: Vec<(usize, &T)> = all
            .flat_map(|(cut, part)| positions(cut).iter().copied().zip(get(part)))
            .collect();
        sort_by(&mut all, |a, b| a.0.cmp(&b.0));
        all.into_iter().map(|(_, entry)| entry.clone()).collect()
    }
}

impl Station {
    /// The same station by its position in the scenario.
    fn in_scenario(self, cut: &Cut) -> Self {
        match self {
            Self::Workers { group } => Self::Workers {
                group: cut.groups[group],
            },
            Self::VdiskDepth { group } => Self::VdiskDepth {
                group: cut.groups[group],
            },
            Self::Ring { group } => Self::Ring {
                group: cut.groups[group],
            },
            Self::Dsnro { group } => Self::Dsnro {
                group: cut.groups[group],
            },
            Self::LunDepth { host } => Self::LunDepth { host: cut.hosts[host] },
            Self::PortDepth { host } => Self::PortDepth { host: cut.hosts[host] },
            Self::Ports { host } => Self::Ports { host: cut.hosts[host] },
            Self::Swap { host } => Self::Swap { host: cut.hosts[host] },
            Self::Array { array } => Self::Array {
                array: cut.arrays[array],
            },
            Self::Pool { pool } => Self::Pool { pool: cut.pools[pool] },
        }
    }
}

impl Islands {
    /// The replication of the whole scenario, from those of all islands in order.
    ///
    /// # Panics
    /// If they are not the replications of these islands.
    #[must_use]
    pub fn merge(&self, parts: &[&Replication]) -> Replication {
        assert_eq!(parts.len(), self.len(), "there is a replication for each island");
        let all = Parts {
            cuts: &self.cuts,
            parts,
        };
        let first = parts[0];
        let mut vms = all.placed(|cut| &cut.vms, |part| &part.vms);
        for (result, vm) in vms.iter_mut().zip(&self.whole.vms) {
            result.group = vm.group;
        }
        let unit = |group: usize| self.whole.workload(self.whole.vm_group(group)).unit.clone();
        let task = |group: usize| {
            let group = self.whole.vm_group(group);
            Task::of(group, self.whole.workload(group))
        };
        let work = |part: &&Replication| part.events - part.measurements;
        Replication {
            hosts: all.placed(|cut| &cut.hosts, |part| &part.hosts),
            vms,
            groups: self.whole.vm_groups.clone(),
            units: (0..self.whole.vm_groups.len()).map(unit).collect(),
            tasks: (0..self.whole.vm_groups.len()).map(task).collect(),
            failures: self.failures(parts),
            movement: History::together(parts.iter().filter_map(|part| part.movement.as_ref())),
            stations: self.stations(parts),
            pools: all.placed(|cut| &cut.pools, |part| &part.pools),
            observations: self.observations(parts),
            observation_s: first.observation_s,
            looks: Looks::together(parts.iter().map(|part| &part.looks)),
            timeline: Timeline {
                interval_s: first.timeline.interval_s,
                time_s: first.timeline.time_s.clone(),
                hosts: all.placed(|cut| &cut.hosts, |part| &part.timeline.hosts),
                vms: all.placed(|cut| &cut.vms, |part| &part.timeline.vms),
                pools: all.placed(|cut| &cut.pools, |part| &part.timeline.pools),
            },
            warmup_s: first.warmup_s,
            duration_s: first.duration_s,
            calibrated_on: self.whole.scenario.calibrated_on.clone(),
            events: parts.iter().map(work).sum::<u64>() + first.measurements,
            measurements: first.measurements,
        }
    }

    fn observations(&self, parts: &[&Replication]) -> Vec<Vec<Observation>> {
        let intervals = parts.iter().flat_map(|part| &part.observations).map(Vec::len).max();
        let mut sums = vec![vec![Observation::default(); intervals.unwrap_or(0)]; self.whole.vm_groups.len()];
        for (cut, part) in self.cuts.iter().zip(parts) {
            for (&group, series) in cut.groups.iter().zip(&part.observations) {
                for (sum, more) in sums[group].iter_mut().zip(series) {
                    *sum = sum.and(more);
                }
            }
        }
        sums
    }

    /// What happened, in order of time, and at one time in the scenario's.
    fn failures(&self, parts: &[&Replication]) -> Vec<FailureReport> {
        let mut all: Vec<FailureReport> = Vec::new();
        for (cut, part) in self.cuts.iter().zip(parts) {
            all.extend(part.failures.iter().map(|failure| FailureReport {
                entry: cut.failures[failure.entry],
                ..failure.clone()
            }));
        }
        sort_by(&mut all, |a, b| {
            a.time_s.total_cmp(&b.time_s).then(a.entry.cmp(&b.entry))
        });
        all
    }

    fn stations(&self, parts: &[&Replication]) -> Vec<StationResult> {
        let mut all: Vec<StationResult> = Vec::new();
        for (cut, part) in self.cuts.iter().zip(parts) {
            all.extend(part.stations.iter().map(|station| StationResult {
                of: station.of.in_scenario(cut),
                ..station.clone()
            }));
        }
        sort_by(&mut all, |a, b| a.of.cmp(&b.of));
        all
    }
}
