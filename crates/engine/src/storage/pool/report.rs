//! The report of a pool: its load, its failures and their repair.

use super::back_end::BackEndReport;
use super::data_placement::Layout;
use super::history::Incident;
use super::networks::OwnNetworks;
use super::scrub_queue::Scrubbed;
use super::{Counters, Pool};
use crate::ids::{HostId, Id, WorldId};
use crate::metrics::{LatencyReport, reports};
use crate::ordered::map_of;
use crate::storage::port::Port;
use crate::storage::shared::Shared;
use crate::storage::stations::{Station, StationResult, Sums};
use crate::storage::work::Stage;
use bitcode::{Decode, Encode};
use hypertwin_kernel::{Histogram, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;

const GIB: f64 = (1_u64 << 30) as f64;

/// What a replication measured of a pool.
#[derive(Clone, Debug, Encode, Decode)]
pub struct PoolResult {
    /// Its name.
    pub name: String,
    /// What the report says about it.
    pub report: PoolReport,
    /// What has passed, for those who check sums.
    pub count: Counters,
    /// Times of reads, and of writes, from where they leave their host until they are back; and the time that they were
    /// counted in.
    pub latencies: [Histogram; 2],
    /// Seconds that were measured.
    pub duration_s: f64,
}

reports! {
    /// Completed reads or writes of a pool.
    #[derive(Clone, Debug, Default, Serialize, Encode, Decode)]
    pub struct ClientIos {
        pub iops: f64 = "I/Os", "1/s";
        /// Time from where an I/O leaves its host for the pool until it is back there; guest and virtual controller are
        /// not in it.
        pub latency_ms: LatencyReport = "latency";
    }
}

impl ClientIos {
    /// Those of several replications.
    fn of(pools: &[&PoolResult], direction: usize) -> Self {
        let all = Histogram::merged(pools.iter().map(|pool| &pool.latencies[direction]));
        let seconds: f64 = pools.iter().map(|pool| pool.duration_s).sum();
        let ms = |ns: f64| (!all.is_empty()).then_some(ns / 1e6);
        let quantile = |q: f64| ms(all.quantile(q) as f64);
        Self {
            iops: all.count() as f64 / seconds,
            latency_ms: LatencyReport {
                mean: ms(all.mean()),
                p50: quantile(0.50),
                p95: quantile(0.95),
                p99: quantile(0.99),
                curve: None,
            },
        }
    }
}

reports! {
    /// Failure or return in the first replication. Times are since the start of the run, warm-up included.
    #[derive(Clone, Debug, Serialize, Encode, Decode)]
    pub struct IncidentReport {
        pub time_s: f64;
        pub what: String;
        pub fails: bool;
        pub degraded_pct: f64;
        pub suspended_pct: f64;
        pub stands_still: bool;
        pub lost_gib: f64;
        pub whole_after_s: Option<f64>;
    }

    /// State of a pool at each sample time.
    #[derive(Clone, Debug, Default, Serialize, Encode, Decode)]
    pub struct PoolTimeline {
        pub degraded_pct: Vec<f64>;
        pub due_gib: Vec<f64>;
        pub rebuilt_gib: Vec<f64>;
        pub suspended_ios: Vec<u64>;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub buffer_pct: Vec<f64>;
    }

    /// Data of a policy in a pool. `(pool)` is the data of VMs without a policy, with the pool's own redundancy.
    #[derive(Clone, Debug, Serialize, Encode, Decode)]
    pub struct PolicyReport {
        /// Python reads null as `(pool)`.
        pub policy: Option<String> as "str";
        pub redundancy: String;
        pub placement_groups: usize;
        pub stored_gib: f64;
        pub raw_gib: f64;
    }

    /// A pool of distributed storage.
    #[derive(Clone, Debug, Serialize, Encode, Decode)]
    pub struct PoolReport {
        /// Replicas (`replicas-3:2`: three, and writes wait if fewer than two are up), or data and parity fragments
        /// (`ec-3+2`), of everything in the pool.
        pub redundancy: String = "Redundancy";
        /// Number of sets of devices over which data are distributed. Everything in a group has its replicas or
        /// fragments on the same devices.
        pub placement_groups: usize = "Placement groups";
        /// Capacity of all devices of the pool.
        pub raw_gib: f64 = "Raw capacity", "GiB";
        /// Raw capacity divided by the raw bytes per byte of the user: the capacity of an empty pool. Space for
        /// rebuilding is not subtracted.
        pub usable_gib: f64 = "Usable capacity", "GiB";
        /// User's data in the pool, without replicas and parity.
        pub stored_gib: f64 = "Stored", "GiB";
        /// If VMs name policies: the data of each policy, and under `(pool)` the data without a policy. Each
        /// has `redundancy`, `placement_groups`, the user's data `stored_gib`, and with replicas and parity `raw_gib`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub policies: Vec<PolicyReport> = "Policies";
        /// Payload that virtual disks read, including cache hits.
        pub read_mb_per_s: f64 = "Client reads", "MB/s";
        /// Payload of acknowledged writes of virtual disks.
        pub write_mb_per_s: f64 = "Client writes", "MB/s";
        /// Completed reads of virtual disks per second, including cache hits.
        pub read: ClientIos = "Client reads";
        /// Completed writes of virtual disks per second, including cache hits.
        pub write: ClientIos = "Client writes";
        /// Bytes that the pool's devices read: for clients, for parity, and for rebuilding.
        pub device_read_mb_per_s: f64 = "Device reads", "MB/s";
        /// Bytes that the pool's devices wrote: replicas, parity, data from the journal, and rebuilt data, but not
        /// writes to the journal.
        pub device_write_mb_per_s: f64 = "Device writes", "MB/s";
        /// Bytes written for clients, to devices or first to journals, per byte that clients wrote. It is 3 for three
        /// replicas, (k+m)/k for full stripes of an erasure code, and more for overwrites of parts of a stripe.
        /// Rebuilding and failed attempts do not count.
        pub amplification: f64 = "Write amplification", "×";
        /// Mean number of logical CPUs that all OSDs and gateways of a Ceph cluster kept busy, on all nodes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub service_cpus: Option<f64> = "CPUs of services";
        /// Reads that the flash of the client's host answered. Only for pools with a read cache. For vSAN: reads of
        /// devices that the cache device of their disk group answered, from its read cache or its write buffer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cache_hit_pct: Option<f64> = "Read cache hits", "%";
        /// Placement groups with a missing or outdated replica or fragment, at the end of the run or at a sample.
        pub degraded_pct: f64 = "Degraded", "%";
        /// Bytes of replicas and fragments that have a place but must still be rebuilt, brought up to date or moved
        /// there, at the end of the run or at a sample.
        pub due_gib: f64 = "To rebuild", "GiB";
        /// Bytes of replicas and fragments rebuilt or brought up to date since the start of the run.
        pub rebuilt_gib: f64 = "Rebuilt", "GiB";
        /// Rebuilt bytes divided by the time in which a rebuild was running.
        pub rebuild_mb_per_s: f64 = "Rebuild rate", "MB/s";
        /// Longest time from a failure until every group was recovered, including the wait before the rebuild. If the
        /// run ends first, the remaining time is calculated from the rate so far. Empty without failures, if nothing is
        /// being rebuilt, or if data are lost.
        pub time_to_whole_s: Option<f64> = "Time to full redundancy", "s";
        /// Ceph: bytes that OSDs read to check their own data, with `ceph.deep_scrub`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scrub_mb_per_s: Option<f64> = "Deep scrub", "MB/s";
        /// Rate at which the deep scrub must read to finish in its interval: all replicas and fragments of clean
        /// groups.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scrub_due_mb_per_s: Option<f64> = "Deep scrub due", "MB/s";
        /// True if in all replications the scrub read as much as was due, within a tenth or two strides of 4 MiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scrub_keeps_up: Option<bool> = "Deep scrub keeps up";
        /// User's data that cannot be read, because too few replicas or fragments remain or will return.
        pub lost_gib: f64 = "Lost", "GiB";
        /// I/Os that wait until enough replicas, fragments or metadata servers are up, at the end of the run or at a
        /// sample.
        pub suspended_ios: f64 = "Suspended I/Os", "I/Os";
        /// I/Os repeated because a node or device failed, or did not answer in time. Mean over replications.
        pub retries: f64 = "Retries";
        /// I/Os to lost data. Mean over replications.
        pub errors: f64 = "I/O errors";
        /// Failures and returns of the first replication. Each has `time_s` since the start of the run, including the
        /// warm-up; `what`, and whether it `fails` or returns; right after it `degraded_pct`, `suspended_pct` (groups
        /// that accept no writes) and `stands_still` (no I/O at all, because most metadata servers are down);
        /// `lost_gib`; and `whole_after_s`, the time until no group was degraded, or if none was, until all moves
        /// ended; empty if that was not by the end.
        pub incidents: Vec<IncidentReport> = "Incidents";
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub back_end: Option<BackEndReport>;
    }
}

impl Pool {
    /// Adds the present state to the timeline.
    pub fn sample(&self, line: &mut PoolTimeline) {
        line.degraded_pct.push(self.data.degraded_pct());
        line.due_gib.push(self.due() as f64 / GIB);
        line.rebuilt_gib.push(self.count.rebuilt as f64 / GIB);
        line.suspended_ios.push(u64::from(self.suspended.len()));
        line.buffer_pct.extend(self.buffer_pct());
    }

    /// Counts from now; what concerns the state of the data goes on.
    pub fn reset(&mut self, now: Nanos) {
        self.services.reset(now);
        for osd in self.osds.iter_mut().flat_map(|osds| &mut osds.all) {
            osd.commit.reset(now);
        }
        self.reset_back_end();
        if let Some(own) = &mut self.own_networks {
            own.reset(now);
        }
        self.latencies.iter_mut().for_each(Histogram::reset);
        self.count = Counters {
            due: self.count.due,
            rebuilt: self.count.rebuilt,
            abandoned: self.count.abandoned,
            rebuild_read: self.count.rebuild_read,
            lost: self.count.lost,
            below_minimum: self.count.below_minimum,
            scrub_due: self.count.scrub_due,
            scrubbed: self.count.scrubbed,
            scrub_skipped: self.count.scrub_skipped,
            ..Counters::default()
        };
        if let Some(scrub) = &mut self.scrub {
            scrub.reset(self.count.scrub());
        }
    }

    /// What was measured in the `duration_ns` until now; `run` is the fraction of time that a world ran.
    pub fn result(&self, shared: &Shared, run: &impl Fn(WorldId) -> f64, now: Nanos, duration_ns: f64) -> PoolResult {
        let count = self.count;
        let mb_per_s = |bytes: u64| bytes as f64 / duration_ns * 1e3;
        let disks = shared.disks.span(self.devices.disks);
        let device = |direction: usize| -> u64 { disks.iter().map(|disk| disk.bytes[direction]).sum() };
        let layouts = &self.data.layouts;
        let stored: f64 = layouts.iter().map(Layout::stored_bytes).sum();
        let amplification = match layouts.as_slice() {
            [only] => only.redundancy.amplification(),
            several => several.iter().map(Layout::raw_bytes).sum::<u64>() as f64 / stored,
        };
        let has_policies = layouts.iter().any(|layout| layout.policy.is_some());
        let has_cache = self.flash.as_ref().is_some_and(|flash| flash.read_cache() > 0);
        let scrub = self.scrub.as_ref().map(|scrub| scrub.measured(count.scrub()));
        let rebuild_rate = count.rebuilt as f64 / self.rebuild.busy_ns(now).max(1) as f64;
        let report = PoolReport {
            redundancy: layouts[0].redundancy.to_string(),
            placement_groups: self.data.groups(),
            raw_gib: self.raw_capacity as f64 / GIB,
            usable_gib: self.raw_capacity as f64 / amplification / GIB,
            stored_gib: stored / GIB,
            policies: layouts.iter().filter(|_| has_policies).map(policy).collect(),
            read_mb_per_s: mb_per_s(count.client[0]),
            write_mb_per_s: mb_per_s(count.client[1]),
            // of all replications together
            read: ClientIos::default(),
            write: ClientIos::default(),
            device_read_mb_per_s: mb_per_s(device(0)),
            device_write_mb_per_s: mb_per_s(device(1)),
            amplification: (count.written - count.wasted) as f64 / (count.client[1].max(1)) as f64,
            service_cpus: self.osds.is_some().then(|| self.worlds().map(run).sum()),
            cache_hit_pct: match (has_cache, count.reads) {
                (true, 1..) => Some(100.0 * count.cache_hits as f64 / count.reads as f64),
                _ => self.hit_pct(),
            },
            degraded_pct: self.data.degraded_pct(),
            due_gib: self.due() as f64 / GIB,
            rebuilt_gib: count.rebuilt as f64 / GIB,
            rebuild_mb_per_s: rebuild_rate * 1e3,
            time_to_whole_s: self.time_to_whole_s(rebuild_rate, now),
            scrub_mb_per_s: scrub.map(|scrub| mb_per_s(scrub.read)),
            scrub_due_mb_per_s: scrub.map(|scrub| mb_per_s(scrub.due)),
            scrub_keeps_up: scrub.map(Scrubbed::keeps_up),
            lost_gib: count.lost as f64 / GIB,
            suspended_ios: f64::from(self.suspended.len()),
            retries: count.retries as f64,
            errors: count.errors as f64,
            incidents: self.history.incidents.iter().map(|one| self.incident(one)).collect(),
            back_end: self.back_end_report(duration_ns),
        };
        PoolResult {
            name: self.name.clone(),
            report,
            count,
            latencies: self.latencies.each_ref().map(Histogram::compact),
            duration_s: duration_ns / 1e9,
        }
    }

    /// The longest time that not everything was whole; while it is not, how long it will take at the rate so far, in
    /// bytes per nanosecond, or until the device with most to do has done it. `None` while there are members that
    /// nothing can be rebuilt of: their device is away, and no other has taken their place.
    fn time_to_whole_s(&self, rebuild_rate: f64, now: Nanos) -> Option<f64> {
        let (longest, due) = (self.history.longest_degraded_ns, self.data.due_here());
        match self.history.degraded_since {
            None => (longest > 0).then(|| seconds(longest)),
            Some(_) if self.count.lost > 0 || due == 0 || rebuild_rate <= 0.0 || self.data.has_away() => None,
            Some(since) => {
                let rest_ns = self.rebuild.rest_ns(&self.data, self.count.rebuilt, now);
                let rest_ns = rest_ns.max(due as f64 / rebuild_rate);
                Some(seconds(longest).max(seconds(now - since) + rest_ns / 1e9))
            }
        }
    }

    fn incident(&self, incident: &Incident) -> IncidentReport {
        let share = |groups: usize| 100.0 * groups as f64 / self.data.groups() as f64;
        IncidentReport {
            time_s: seconds(incident.at),
            what: incident.what.clone(),
            fails: incident.fails,
            degraded_pct: share(incident.degraded),
            suspended_pct: share(incident.suspended),
            stands_still: incident.stands_still,
            lost_gib: incident.lost_bytes as f64 / GIB,
            whole_after_s: incident.whole_at.map(|whole| seconds(whole - incident.at)),
        }
    }

    /// Its services, devices and network; `run` is the fraction of time that a world ran.
    pub fn stations(
        &self,
        shared: &Shared,
        run: &impl Fn(WorldId) -> f64,
        now: Nanos,
        duration_ns: f64,
    ) -> Vec<StationResult> {
        let of = Station::Pool { pool: self.id.index() };
        let result = |sums: Sums, what: &str| sums.result(of, format!("{}-{what}", self.name), false, duration_ns);
        let disks = |disks| Sums::of_disks(shared.disks.span(disks), now, duration_ns);
        let threads = |stage| Sums::of(self.services.measured(stage, run, now));
        let mut stations = match &self.osds {
            None => vec![result(threads(Stage::Operation), "services")],
            Some(osds) => {
                // its thread computes, or waits for its log
                let ran = self.services.ran_of(Stage::Commit, run);
                let commits = osds.all.iter().zip(ran).map(|(osd, ran)| {
                    let (busy, queue, waits) = osd.commit.measured(now);
                    (ran + busy, queue, waits)
                });
                let commits = Sums::of(commits);
                vec![
                    (threads(Stage::Gateway), "gateways"),
                    (threads(Stage::Messages), "messengers"),
                    (threads(Stage::Shard), "shards"),
                    (commits, "commit"),
                    (Sums::of(self.services.quotas(run)), "cpu-limit"),
                ]
                .into_iter()
                .filter(|(sums, _)| sums.members > 0)
                .map(|(sums, what)| result(sums, what))
                .collect()
            }
        };
        stations.push(result(disks(self.devices.disks), "devices"));
        stations.extend(self.flash.as_ref().map(|flash| result(disks(flash.disks), "flash")));
        let own = &self.own_networks;
        let of_hosts = |hosts: &[HostId]| -> Vec<&Port> {
            let ports = hosts.iter().flat_map(|&host| &shared.network.hosts[host].ports);
            ports.collect()
        };
        let nodes: Vec<HostId> = self.hosts().collect();
        for (ports, what) in [
            (own.iter().flat_map(OwnNetworks::ports).collect(), "cluster-network"),
            (own.iter().flat_map(OwnNetworks::links).collect(), "rack-network"),
            (of_hosts(&nodes), "network"),
            (of_hosts(&self.clients), "client-network"),
        ] {
            if !ports.is_empty() {
                stations.push(result(Sums::of_ports(ports.into_iter(), now, duration_ns), what));
            }
        }
        stations
    }
}

/// What a layout keeps.
fn policy(layout: &Layout) -> PolicyReport {
    PolicyReport {
        policy: layout.policy.clone(),
        redundancy: layout.redundancy.to_string(),
        placement_groups: layout.groups.len(),
        stored_gib: layout.stored_bytes() / GIB,
        raw_gib: layout.raw_bytes() as f64 / GIB,
    }
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / 1e9
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

/// The means of the pools of several replications; incidents are those of the first. A figure that one of them lacks
/// has no mean.
pub fn summarise(replications: &[&[PoolResult]]) -> BTreeMap<String, PoolReport> {
    let count = replications.len() as f64;
    let of = |(index, first): (usize, &PoolResult)| {
        let pools: Vec<&PoolResult> = replications.iter().map(|pools| &pools[index]).collect();
        let reports: Vec<&PoolReport> = pools.iter().map(|pool| &pool.report).collect();
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
        (sum.read, sum.write) = (ClientIos::of(&pools, 0), ClientIos::of(&pools, 1));
        sum.service_cpus = mean(|report| report.service_cpus);
        sum.cache_hit_pct = mean(|report| report.cache_hit_pct);
        sum.scrub_mb_per_s = mean(|report| report.scrub_mb_per_s);
        sum.scrub_due_mb_per_s = mean(|report| report.scrub_due_mb_per_s);
        let keeps_up = reports.iter().all(|report| report.scrub_keeps_up == Some(true));
        sum.scrub_keeps_up = sum.scrub_keeps_up.map(|_| keeps_up);
        sum.time_to_whole_s = mean(|report| report.time_to_whole_s);
        if let Some(back_end) = &mut sum.back_end {
            back_end.buffer_pct = mean(|report| report.back_end.as_ref()?.buffer_pct);
            back_end.overwritten_pct = mean(|report| report.back_end.as_ref()?.overwritten_pct);
            let destaged = mean(|report| Some(report.back_end.as_ref()?.destage_mb_per_s));
            back_end.destage_mb_per_s = destaged.unwrap_or(0.0);
        }
        (first.name.clone(), sum)
    };
    map_of(replications[0].iter().enumerate().map(of))
}
