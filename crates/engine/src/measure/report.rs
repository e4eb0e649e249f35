//! From the replications of one point to what is reported: means, confidence, distributions, steady state.

use super::clusters::clusters;
use super::judge::judge;
use super::judgement::Judgement;
use super::means::{self, confidence, mean};
use super::memory;
use super::point::{DowntimeReport, HostReport, NodeReport, PointReport, TimelineReport};
use super::results::{HostResult, NodeResult, Observation, Replication};
use super::stations;
use super::verdict::{Steady, verdict};
use super::vm_metrics::{IoResult, IoSums, IosReport, OutcomeReport, ResponseReport, VmReport, VmResult};
use crate::metrics::{Curve, LatencyReport, Together};
use crate::ordered::{map_of, set_of, sort_by};
use crate::storage::{self, PoolResult, StationResult};
use hypertwin_kernel::Histogram;
use std::collections::BTreeMap;

/// Relative difference between neighbouring throughputs of replications that makes them different outcomes.
const OUTCOME_GAP: f64 = 0.15;

/// Percentiles of a curve, in hundredths of a per cent.
const CURVE: [u32; 12] = [
    0, 1_000, 2_500, 5_000, 7_500, 9_000, 9_500, 9_900, 9_950, 9_990, 9_999, 10_000,
];

/// The throughputs of replications in groups that differ by more than [`OUTCOME_GAP`], the most likely first.
fn outcomes(mut throughputs: Vec<f64>) -> Vec<OutcomeReport> {
    sort_by(&mut throughputs, f64::total_cmp);
    let mut outcomes: Vec<OutcomeReport> = throughputs
        .chunk_by(|lower, upper| *upper <= lower * (1.0 + OUTCOME_GAP))
        .map(|group| OutcomeReport {
            throughput_units_per_s: mean(group.iter().copied()),
            likelihood_pct: 100.0 * group.len() as f64 / throughputs.len() as f64,
        })
        .collect();
    sort_by(&mut outcomes, |a, b| b.likelihood_pct.total_cmp(&a.likelihood_pct));
    outcomes
}

/// Summarises replications of the same scenario (at least one).
///
/// # Panics
/// If `replications` is empty.
pub fn aggregate(replications: &[&Replication]) -> PointReport {
    let first = replications[0];
    let stations: Vec<&[StationResult]> = replications.iter().map(|r| r.stations.as_slice()).collect();
    let (storage, bottleneck) = stations::summarise(&stations, &first.tasks);
    let pools: Vec<&[PoolResult]> = replications.iter().map(|r| r.pools.as_slice()).collect();
    let groups = groups(replications);
    let verdict = verdict(replications, &groups);
    let mut report = PointReport {
        set: BTreeMap::new(),
        replications: replications.len(),
        steady: verdict.steady == Steady::Steady,
        verdict,
        warmup_s: first.warmup_s,
        duration_s: first.duration_s,
        judgement: Judgement::default(),
        calibration: first.calibrated_on.clone(),
        clusters: clusters(replications),
        hosts: hosts(replications),
        vms: vms(replications),
        groups,
        storage,
        pools: storage::summarise(&pools),
        bottleneck,
        failures: first.failures.clone(),
        movement: first.movement.clone(),
        downtimes: downtimes(replications),
        timeline: timeline(first),
        events: replications.iter().map(|one| one.events).sum(),
        simulated_s: replications.iter().map(|one| one.warmup_s + one.duration_s).sum(),
    };
    if !report.verdict.has_intervals(replications.len()) {
        report.without_confidence();
    }
    report.judgement = judge(&report, first);
    report
}

fn downtimes(replications: &[&Replication]) -> BTreeMap<String, DowntimeReport> {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for outage in replications
        .iter()
        .flat_map(|one| &one.movement)
        .flat_map(|history| &history.outages)
    {
        if let Some(up_s) = outage.up_s {
            times.entry(outage.vm.clone()).or_default().push(up_s - outage.from_s);
        }
    }
    let report = |times: Vec<f64>| DowntimeReport {
        mean_s: mean(times.iter().copied()),
        min_s: times.iter().copied().fold(f64::INFINITY, f64::min),
        max_s: times.iter().copied().fold(0.0, f64::max),
    };
    map_of(times.into_iter().map(|(vm, times)| (vm, report(times))))
}

fn hosts(replications: &[&Replication]) -> BTreeMap<String, HostReport> {
    let report = |(index, host): (usize, &HostResult)| {
        let metric = |get: &dyn Fn(&HostResult) -> f64| mean(replications.iter().map(|one| get(&one.hosts[index])));
        let usage = replications.iter().map(|one| one.hosts[index].usage_pct).collect();
        let node = |node: usize| {
            let metric = |get: fn(&NodeResult) -> f64| metric(&|host| get(&host.nodes[node]));
            let report = NodeReport {
                memory_gb_per_s: metric(|node| node.memory_gb_per_s),
                usage_pct: metric(|node| node.usage_pct),
                vcpus: metric(|node| node.vcpus as f64),
                memory_mb: metric(|node| node.memory_mb),
                memory_pct: metric(|node| node.memory_pct),
            };
            (node.to_string(), report)
        };
        let migrates = replications
            .iter()
            .any(|one| one.hosts[index].migration_cpu_pct.is_some());
        let report = HostReport {
            cluster: host.allocation.cluster.clone(),
            usage_pct: metric(&|host| host.usage_pct),
            usage_pct_ci95: confidence(usage, None),
            utilization_pct: metric(&|host| host.utilization_pct),
            core_utilization_pct: metric(&|host| host.core_utilization_pct),
            overhead_pct: metric(&|host| host.overhead_pct),
            ready_pct: metric(&|host| host.ready_pct),
            costop_pct: metric(&|host| host.costop_pct),
            down_s: metric(&|host| host.down_s),
            migration_cpu_pct: migrates.then(|| metric(&|host| host.migration_cpu_pct.unwrap_or(0.0))),
            memory_pct: host.allocation.memory_pct(),
            memory_usage_pct: host.allocation.memory_usage_pct(),
            memory_gb_per_s: metric(&|host| host.nodes.iter().map(|node| node.memory_gb_per_s).sum()),
            memory: memory::of_host(replications, index),
            nodes: map_of((0..host.nodes.len()).map(node)),
        };
        (host.name.clone(), report)
    };
    map_of(replications[0].hosts.iter().enumerate().map(report))
}

fn vms(replications: &[&Replication]) -> BTreeMap<String, VmReport> {
    let first = replications[0];
    let mut count = vec![0; first.groups.len()];
    first.vms.iter().for_each(|vm| count[vm.group] += 1);
    let report = |(index, vm): (usize, &VmResult)| {
        let members = Members {
            replications,
            vms: &[index],
            series: (count[vm.group] == 1).then(|| first.batches(vm.group)),
            with_curves: false,
        };
        let mut report = members.report(&first.units[vm.group]);
        report.host = Some(vm.host.clone());
        report.cluster = Some(vm.cluster.clone());
        (vm.name.clone(), report)
    };
    map_of(first.vms.iter().enumerate().map(report))
}

fn groups(replications: &[&Replication]) -> BTreeMap<String, VmReport> {
    let first = replications[0];
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); first.groups.len()];
    for (index, vm) in first.vms.iter().enumerate() {
        members[vm.group].push(index);
    }
    let report = |(group, name): (usize, &String)| {
        let vms = &members[group];
        if vms.is_empty() {
            return None;
        }
        let members = Members {
            replications,
            vms,
            series: Some(first.batches(group)),
            with_curves: true,
        };
        let mut report = members.report(&first.units[group]);
        report.count = Some(vms.len());
        let used = set_of(vms.iter().map(|&vm| &first.vms[vm].host));
        let hosts = first.hosts.iter().map(|host| &host.name);
        report.hosts = Some(hosts.filter(|host| used.contains(host)).cloned().collect());
        let clusters = set_of(vms.iter().map(|&vm| &first.vms[vm].cluster));
        report.clusters = Some(clusters.into_iter().cloned().collect());
        Some((name.clone(), report))
    };
    map_of(first.groups.iter().enumerate().filter_map(report))
}

fn timeline(first: &Replication) -> TimelineReport {
    fn named<'n, L: Clone>(names: impl Iterator<Item = &'n String>, lines: &[L]) -> BTreeMap<String, L> {
        map_of(names.cloned().zip(lines.iter().cloned()))
    }
    let lines = &first.timeline;
    TimelineReport {
        interval_s: lines.interval_s,
        time_s: lines.time_s.clone(),
        hosts: named(first.hosts.iter().map(|host| &host.name), &lines.hosts),
        vms: named(first.vms.iter().map(|vm| &vm.name), &lines.vms),
        pools: named(first.pools.iter().map(|pool| &pool.name), &lines.pools),
    }
}

impl Replication {
    /// The same series as batches for confidence: each batch of responses has the mean of all of them, however many
    /// come in an interval.
    fn batches(&self, group: usize) -> [Vec<f64>; 3] {
        let all: Vec<&Observation> = self.observations[group].iter().filter(|one| one.total_ns > 0).collect();
        let mut series = self.series(group);
        let size = all.len() / means::BATCHES;
        if size > 0 {
            let batch = |part: &[&Observation]| {
                let sum = part.iter().fold(Observation::default(), |sum, one| sum.and(one));
                sum.responses.mean_ms_or_none()
            };
            let parts = all[all.len() - size * means::BATCHES..].chunks_exact(size);
            series[2] = parts.filter_map(batch).collect();
        }
        series
    }

    /// Series of guest CPU (%), throughput (1/s) and mean response time (ms) of a group, empty without VMs; intervals
    /// without responses are left out of the last.
    pub(super) fn series(&self, group: usize) -> [Vec<f64>; 3] {
        let all: Vec<&Observation> = self.observations[group].iter().filter(|one| one.total_ns > 0).collect();
        let throughput = |one: &&Observation| one.responses.count as f64 / self.observation_s;
        [
            all.iter().map(|one| one.busy_pct()).collect(),
            all.iter().map(throughput).collect(),
            all.iter().filter_map(|one| one.responses.mean_ms_or_none()).collect(),
        ]
    }
}

/// Some VMs in all replications.
struct Members<'r> {
    replications: &'r [&'r Replication],
    /// Indices of the VMs.
    vms: &'r [usize],
    /// The series of their group, where they are all of it: see [`Replication::series`].
    series: Option<[Vec<f64>; 3]>,
    /// Whether distributions are reported as curves, too.
    with_curves: bool,
}

impl Members<'_> {
    /// Their results in one replication.
    fn of<'r>(&self, replication: &'r Replication) -> impl Iterator<Item = &'r VmResult> {
        self.vms.iter().map(|&vm| &replication.vms[vm])
    }

    /// Per replication: their sum.
    fn sums(&self, get: fn(&VmResult) -> f64) -> Vec<f64> {
        let sum = |replication: &&Replication| self.of(replication).map(get).sum();
        self.replications.iter().map(sum).collect()
    }

    /// A metric, averaged over replications.
    fn mean(&self, together: Together, get: fn(&VmResult) -> f64) -> f64 {
        let total = mean(self.sums(get).into_iter());
        match together {
            Together::Mean => total / self.vms.len() as f64,
            Together::Total => total,
        }
    }

    /// Half-width of its confidence interval; with the number of a series, over its batches where there is only one
    /// replication.
    fn ci95(&self, together: Together, get: fn(&VmResult) -> f64, series: Option<usize>) -> Option<f64> {
        let mut values = self.sums(get);
        if let Together::Mean = together {
            values.iter_mut().for_each(|value| *value /= self.vms.len() as f64);
        }
        confidence(values, series.and_then(|number| self.series(number)))
    }

    fn series(&self, number: usize) -> Option<&[f64]> {
        self.series.as_ref().map(|series| series[number].as_slice())
    }

    fn responses(&self) -> ResponseReport {
        // of each replication, over all responses
        let mean_of = |replication: &&Replication| {
            let count: u64 = self.of(replication).map(|vm| vm.response_count).sum();
            let weighted = |vm: &VmResult| match vm.response_count {
                0 => 0.0,
                count => vm.response_mean_ms * count as f64,
            };
            (count > 0).then(|| self.of(replication).map(weighted).sum::<f64>() / count as f64)
        };
        let means: Vec<f64> = self.replications.iter().filter_map(mean_of).collect();
        let all = self.replications.iter().flat_map(|one| self.of(one));
        let distribution = Histogram::merged(all.map(|vm| &vm.response));
        let quantile = |q: f64| (!distribution.is_empty()).then(|| distribution.quantile(q) as f64 / 1e6);
        ResponseReport {
            mean: (!means.is_empty()).then(|| mean(means.iter().copied())),
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: (!distribution.is_empty()).then(|| distribution.max() as f64 / 1e6),
            ci95: confidence(means, self.series(2)),
            curve: self.curve(&distribution),
        }
    }

    /// Mean time that one of them was paused or slowed, where VMs may move.
    fn slow_s(&self) -> Option<f64> {
        let all = self.replications.iter().flat_map(|one| self.of(one));
        let times: Vec<f64> = all.map(|vm| vm.slow_s).collect::<Option<_>>()?;
        Some(mean(times.into_iter()))
    }

    /// Adds what is reported of their I/Os, if they have virtual disks.
    fn report_io(&self, report: &mut VmReport) {
        if self.of(self.replications[0]).all(|vm| vm.io.is_none()) {
            return;
        }
        let latencies = [0, 1].map(|way: usize| {
            let all = self.replications.iter().flat_map(|one| self.of(one));
            Histogram::merged(all.filter_map(|vm| Some(&vm.io.as_ref()?.latencies[way])))
        });
        let both = Histogram::merged(latencies.iter());
        let every = self.replications.iter().flat_map(|one| self.of(one));
        let pending_ns = every.filter_map(|vm| Some(vm.io.as_ref()?.pending_ns)).max();
        let longest_ns = both.max().max(pending_ns.unwrap_or_default());
        report.io_longest_s = (!both.is_empty() || longest_ns > 0).then(|| longest_ns as f64 / 1e9);
        let all = self.io(|io| &io.all, &both);
        let ios = self.io_total(|io| &io.all, |_, sums| sums.count as f64);
        report.io_latency_ms = Some(all.latency_ms);
        report.io_mb_per_s = Some(all.mb_per_s);
        report.io_cpu_cycles_per_io = (ios > 0.0).then(|| self.io_total(|io| &io.all, |io, _| io.cpu_cycles) / ios);
        report.read = Some(self.io(|io| &io.ways[0], &latencies[0]));
        let writes = self.io(|io| &io.ways[1], &latencies[1]);
        if let Some(bytes) = self.copied_bytes() {
            report.copied_mb_per_s = Some(writes.mb_per_s);
            report.copy_s = (writes.mb_per_s > 0.0).then(|| bytes / 1e6 / writes.mb_per_s);
        }
        report.write = Some(writes);
    }

    /// Bytes of what they copy, if they do.
    fn copied_bytes(&self) -> Option<f64> {
        let of = |vm: &VmResult| Some(vm.io.as_ref()?.copied_bytes? as f64);
        self.of(self.replications[0]).map(of).sum()
    }

    /// Sum over all replications of a figure of some of their I/Os.
    fn io_total(&self, some: fn(&IoResult) -> &IoSums, get: fn(&IoResult, &IoSums) -> f64) -> f64 {
        let of = |replication: &&Replication| -> f64 {
            let ios = self.of(replication).filter_map(|vm| vm.io.as_ref());
            let sums = ios.map(|io| (io, some(io))).filter(|(_, sums)| sums.count > 0);
            sums.map(|(io, sums)| get(io, sums)).sum()
        };
        self.replications.iter().map(of).sum()
    }

    /// What is reported of some of their I/Os.
    fn io(&self, some: fn(&IoResult) -> &IoSums, latency: &Histogram) -> IosReport {
        let ios = self.io_total(some, |_, sums| sums.count as f64);
        let replications = self.replications.len() as f64;
        let quantile = |q: f64| (!latency.is_empty()).then(|| latency.quantile(q) as f64 / 1e6);
        IosReport {
            iops: ios / replications / self.replications[0].duration_s,
            mb_per_s: self.io_total(some, |_, sums| sums.mb_per_s) / replications,
            latency_ms: LatencyReport {
                mean: (ios > 0.0)
                    .then(|| self.io_total(some, |_, sums| sums.latency_mean_ms * sums.count as f64) / ios),
                p50: quantile(0.50),
                p95: quantile(0.95),
                p99: quantile(0.99),
                curve: self.curve(latency),
            },
        }
    }

    /// The curve of a distribution that is not empty. Between the least and the largest of its n values it has those
    /// percentiles that they resolve: at most 1 - 1/n.
    fn curve(&self, distribution: &Histogram) -> Option<Curve> {
        if !self.with_curves || distribution.is_empty() {
            return None;
        }
        let is_resolved =
            |&percentile: &u32| percentile == 10_000 || u64::from(10_000 - percentile) * distribution.count() >= 10_000;
        let value = |percentile: u32| match percentile {
            0 => distribution.min(),
            _ => distribution.quantile(f64::from(percentile) / 1e4),
        };
        let point = |percentile: u32| (f64::from(percentile) / 100.0, value(percentile) as f64 / 1e6);
        Some(CURVE.into_iter().filter(is_resolved).map(point).collect())
    }

    /// The report; `unit` is that of their work.
    fn report(&self, unit: &str) -> VmReport {
        let first = || self.of(self.replications[0]);
        let all = self.replications.iter().flat_map(|replication| self.of(replication));
        let mut report = VmReport {
            vcpus: first().map(|vm| vm.vcpus).sum(),
            unit: unit.to_owned(),
            response_ms: self.responses(),
            response_count: all.map(|vm| vm.response_count).sum(),
            virtual_nodes: first().map(|vm| vm.virtual_nodes).sum(),
            outcomes: outcomes(self.sums(|vm| vm.throughput_units_per_s)),
            slow_s: self.slow_s(),
            ..VmReport::of_metrics(
                |together, get| self.mean(together, get),
                |together, get, series| self.ci95(together, get, series),
            )
        };
        self.report_io(&mut report);
        report.memory = memory::of_vms(self.replications, self.vms);
        report
    }
}
