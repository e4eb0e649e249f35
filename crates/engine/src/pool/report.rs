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
pub struct PoolResult {
    /// Its name.
    pub name: String,
    /// What is told of it.
    pub report: PoolReport,
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
            let rate = count.rebuilt as f64 / pool.rebuild.busy_ns(self.clock.now).max(1) as f64;
            let seconds = |ns: Nanos| ns as f64 / 1e9;
            let due = pool.due_here();
            let longest = pool.longest_degraded_ns;
            // what is done, or else how long it will take at the rate so far
            let time_to_whole_s = match pool.degraded_since {
                None => (longest > 0).then(|| seconds(longest)),
                Some(_) if count.lost > 0 || due == 0 || rate <= 0.0 => None,
                Some(since) => Some(seconds(longest).max(seconds(self.clock.now - since) + due as f64 / rate / 1e9)),
            };
            let share = |groups: usize| 100.0 * groups as f64 / pool.groups as f64;
            let report = PoolReport {
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
                suspended_ios: f64::from(pool.suspended.length),
                retries: count.retries as f64,
                errors: count.errors as f64,
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
            };
            PoolResult {
                name: pool.name.clone(),
                report,
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

impl PoolReport {
    /// The figures of which a mean makes sense.
    fn figures(&mut self) -> [&mut f64; 13] {
        [
            &mut self.read_mb_per_s,
            &mut self.write_mb_per_s,
            &mut self.device_read_mb_per_s,
            &mut self.device_write_mb_per_s,
            &mut self.amplification,
            &mut self.degraded_pct,
            &mut self.due_gib,
            &mut self.rebuilt_gib,
            &mut self.rebuild_mb_per_s,
            &mut self.lost_gib,
            &mut self.suspended_ios,
            &mut self.retries,
            &mut self.errors,
        ]
    }
}

/// The means of the pools of several replications; incidents are those of the first. A figure that one of them lacks has no
/// mean.
pub fn summarise(replications: &[&[PoolResult]]) -> BTreeMap<String, PoolReport> {
    let count = replications.len() as f64;
    let of = |(index, first): (usize, &PoolResult)| {
        let reports: Vec<&PoolReport> = replications.iter().map(|pools| &pools[index].report).collect();
        let mean = |get: fn(&PoolReport) -> Option<f64>| -> Option<f64> {
            let values: Option<Vec<f64>> = reports.iter().map(|report| get(report)).collect();
            values.map(|values| values.iter().sum::<f64>() / count)
        };
        let mut sum = first.report.clone();
        for other in &reports[1..] {
            let mut other = (*other).clone();
            for (figure, more) in sum.figures().into_iter().zip(other.figures()) {
                *figure += *more;
            }
        }
        sum.figures().into_iter().for_each(|figure| *figure /= count);
        sum.cache_hit_pct = mean(|report| report.cache_hit_pct);
        sum.time_to_whole_s = mean(|report| report.time_to_whole_s);
        (first.name.clone(), sum)
    };
    replications[0].iter().enumerate().map(of).collect()
}
