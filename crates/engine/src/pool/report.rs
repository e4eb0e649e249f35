//! What is told of a pool: what it carried, what failed, and how it was made whole again.

use super::{Counters, Pool};
use crate::io::Port;
use crate::simulation::Simulation;
use hypertwin_kernel::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

const GIB: f64 = (1_u64 << 30) as f64;

/// What a replication measured of a pool.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "as in `VmResult`")]
pub struct PoolResult {
    pub name: String,
    pub redundancy: String,
    pub placement_groups: usize,
    pub raw_gib: f64,
    pub usable_gib: f64,
    pub stored_gib: f64,
    pub read_mb_per_s: f64,
    pub write_mb_per_s: f64,
    pub device_read_mb_per_s: f64,
    pub device_write_mb_per_s: f64,
    pub amplification: f64,
    pub cache_hit_pct: Option<f64>,
    pub degraded_pct: f64,
    pub due_gib: f64,
    pub rebuilt_gib: f64,
    pub rebuild_mb_per_s: f64,
    pub time_to_whole_s: Option<f64>,
    pub lost_gib: f64,
    pub suspended_ios: u64,
    pub retries: u64,
    pub errors: u64,
    pub incidents: Vec<IncidentReport>,
    /// What has passed, for those who check sums.
    pub count: Counters,
}

/// A failure or return.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct IncidentReport {
    pub time_s: f64,
    pub what: String,
    pub fails: bool,
    pub degraded_pct: f64,
    pub suspended_pct: f64,
    pub stands_still: bool,
    pub lost_gib: f64,
    pub whole_after_s: Option<f64>,
}

/// Timeline of a pool.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "as in `PoolReport`")]
pub struct PoolTimeline {
    pub degraded_pct: Vec<f64>,
    pub due_gib: Vec<f64>,
    pub rebuilt_gib: Vec<f64>,
    pub suspended_ios: Vec<u64>,
}

/// A pool in a report.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct PoolReport {
    pub redundancy: String,
    pub placement_groups: usize,
    pub raw_gib: f64,
    pub usable_gib: f64,
    pub stored_gib: f64,
    pub read_mb_per_s: f64,
    pub write_mb_per_s: f64,
    pub device_read_mb_per_s: f64,
    pub device_write_mb_per_s: f64,
    pub amplification: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hit_pct: Option<f64>,
    pub degraded_pct: f64,
    pub due_gib: f64,
    pub rebuilt_gib: f64,
    pub rebuild_mb_per_s: f64,
    pub time_to_whole_s: Option<f64>,
    pub lost_gib: f64,
    pub suspended_ios: f64,
    pub retries: f64,
    pub errors: f64,
    pub incidents: Vec<IncidentReport>,
}

impl Pool {
    fn degraded_pct(&self) -> f64 {
        100.0 * self.degraded as f64 / self.groups as f64
    }

    /// Adds the present state to the timeline.
    pub fn sample(&self, line: &mut PoolTimeline) {
        line.degraded_pct.push(self.degraded_pct());
        line.due_gib.push(self.due_here() as f64 / GIB);
        line.rebuilt_gib.push(self.count.rebuilt as f64 / GIB);
        line.suspended_ios.push(u64::from(self.suspended.length));
    }

    /// Counts from now; what concerns the state of the data goes on.
    pub fn reset(&mut self) {
        self.count = Counters {
            due: self.count.due,
            rebuilt: self.count.rebuilt,
            abandoned: self.count.abandoned,
            rebuild_read: self.count.rebuild_read,
            lost: self.count.lost,
            below_minimum: self.count.below_minimum,
            ..Counters::default()
        };
    }
}

impl Simulation {
    /// What was measured of every pool.
    pub fn pool_results(&self, duration_ns: f64) -> Vec<PoolResult> {
        let result = |pool: &Pool| {
            let count = pool.count;
            let mb_per_s = |bytes: u64| bytes as f64 / duration_ns * 1e3;
            let device = |direction: usize| -> u64 {
                let disks = &self.io.disks[pool.devices.clone()];
                disks.iter().map(|disk| disk.bytes[direction]).sum()
            };
            let rate = count.rebuilt as f64 / pool.rebuild.busy_ns(self.now).max(1) as f64;
            let seconds = |ns: Nanos| ns as f64 / 1e9;
            let due = pool.due_here();
            let longest = pool.longest_degraded_ns;
            // what is done, or else how long it will take at the rate so far
            let time_to_whole_s = match pool.degraded_since {
                None => (longest > 0).then(|| seconds(longest)),
                Some(_) if count.lost > 0 || due == 0 || rate <= 0.0 => None,
                Some(since) => Some(seconds(longest).max(seconds(self.now - since) + due as f64 / rate / 1e9)),
            };
            let share = |groups: usize| 100.0 * groups as f64 / pool.groups as f64;
            PoolResult {
                name: pool.name.clone(),
                redundancy: pool.redundancy.to_string(),
                placement_groups: pool.groups,
                raw_gib: pool.raw_capacity as f64 / GIB,
                usable_gib: pool.raw_capacity as f64 / pool.redundancy.amplification() / GIB,
                stored_gib: (pool.member_bytes * pool.members.len() as u64) as f64
                    / pool.redundancy.amplification()
                    / GIB,
                read_mb_per_s: mb_per_s(count.client[0]),
                write_mb_per_s: mb_per_s(count.client[1]),
                device_read_mb_per_s: mb_per_s(device(0)),
                device_write_mb_per_s: mb_per_s(device(1)),
                amplification: (count.written - count.wasted) as f64 / (count.client[1].max(1)) as f64,
                cache_hit_pct: (pool.flash.as_ref().is_some_and(|flash| flash.read_cache > 0) && count.reads > 0)
                    .then(|| 100.0 * count.cache_hits as f64 / count.reads as f64),
                degraded_pct: pool.degraded_pct(),
                due_gib: due as f64 / GIB,
                rebuilt_gib: count.rebuilt as f64 / GIB,
                rebuild_mb_per_s: rate * 1e3,
                time_to_whole_s,
                lost_gib: count.lost as f64 / GIB,
                suspended_ios: u64::from(pool.suspended.length),
                retries: count.retries,
                errors: count.errors,
                incidents: pool
                    .incidents
                    .iter()
                    .map(|incident| IncidentReport {
                        time_s: seconds(incident.at),
                        what: incident.what.clone(),
                        fails: incident.fails,
                        degraded_pct: share(incident.degraded),
                        suspended_pct: share(incident.suspended),
                        stands_still: incident.stands_still,
                        lost_gib: incident.lost_bytes as f64 / GIB,
                        whole_after_s: incident.whole_at.map(|whole| seconds(whole - incident.at)),
                    })
                    .collect(),
                count,
            }
        };
        self.pools.iter().map(result).collect()
    }

    /// Ports of a pool's nodes, and of the other hosts whose machines use it.
    pub fn nics_of(&self, pool: &Pool, nodes: bool) -> Vec<&Port> {
        let hosts = (0..self.hosts.len()).filter(|&host| pool.node_of[host].is_some() == nodes);
        hosts
            .flat_map(|host| &self.io.nics[self.hosts[host].nics.clone()])
            .collect()
    }

    /// Disks of a pool that hold no data for good.
    pub fn flash_disks(&self, pool: &Pool) -> std::ops::Range<usize> {
        pool.flash.as_ref().map_or(0..0, |flash| flash.disks.clone())
    }
}

/// The means of the pools of several replications; incidents are those of the first.
pub fn summarise(replications: &[&[PoolResult]]) -> BTreeMap<String, PoolReport> {
    let count = replications.len() as f64;
    let of = |(index, first): (usize, &PoolResult)| {
        let mean =
            |get: fn(&PoolResult) -> f64| replications.iter().map(|pools| get(&pools[index])).sum::<f64>() / count;
        let times: Option<Vec<f64>> = replications.iter().map(|pools| pools[index].time_to_whole_s).collect();
        let report = PoolReport {
            redundancy: first.redundancy.clone(),
            placement_groups: first.placement_groups,
            raw_gib: first.raw_gib,
            usable_gib: first.usable_gib,
            stored_gib: first.stored_gib,
            read_mb_per_s: mean(|pool| pool.read_mb_per_s),
            write_mb_per_s: mean(|pool| pool.write_mb_per_s),
            device_read_mb_per_s: mean(|pool| pool.device_read_mb_per_s),
            device_write_mb_per_s: mean(|pool| pool.device_write_mb_per_s),
            amplification: mean(|pool| pool.amplification),
            cache_hit_pct: first
                .cache_hit_pct
                .map(|_| mean(|pool| pool.cache_hit_pct.unwrap_or(0.0))),
            degraded_pct: mean(|pool| pool.degraded_pct),
            due_gib: mean(|pool| pool.due_gib),
            rebuilt_gib: mean(|pool| pool.rebuilt_gib),
            rebuild_mb_per_s: mean(|pool| pool.rebuild_mb_per_s),
            time_to_whole_s: times.map(|times| times.iter().sum::<f64>() / count),
            lost_gib: mean(|pool| pool.lost_gib),
            suspended_ios: mean(|pool| pool.suspended_ios as f64),
            retries: mean(|pool| pool.retries as f64),
            errors: mean(|pool| pool.errors as f64),
            incidents: first.incidents.clone(),
        };
        (first.name.clone(), report)
    };
    replications[0].iter().enumerate().map(of).collect()
}
