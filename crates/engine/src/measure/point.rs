//! What is reported of one point.

use super::clusters::ClusterReport;
use super::judgement::Judgement;
use super::memory::HostMemoryReport;
use super::results::{FailureReport, HostTimeline, VmTimeline};
use super::stations::{BottleneckReport, StationReport};
use super::verdict::Verdict;
use super::vm_metrics::VmReport;
use crate::movement::History;
use crate::storage::{PoolReport, PoolTimeline};
use serde::Serialize;
use std::collections::BTreeMap;

/// One point of a scenario: the means over its replications, with confidence.
///
/// The metrics are defined in docs/metrics.md; every name ends in its unit, percentages of a VM are per vCPU, and
/// `..._ci95` is the half-width of the 95 % confidence interval of the mean (null where it cannot be had).
#[derive(Clone, Debug, Serialize)]
#[allow(
    missing_docs,
    reason = "the metrics are defined once, in the catalogue that docs/metrics.md is made from"
)]
pub struct PointReport {
    pub set: BTreeMap<String, String>,
    pub replications: usize,
    pub steady: bool,
    pub verdict: Verdict,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub judgement: Judgement,
    pub calibration: Option<String>,
    pub clusters: BTreeMap<String, ClusterReport>,
    pub hosts: BTreeMap<String, HostReport>,
    pub vms: BTreeMap<String, VmReport>,
    pub groups: BTreeMap<String, VmReport>,
    pub storage: BTreeMap<String, StationReport>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, PoolReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<BottleneckReport>,
    pub failures: Vec<FailureReport>,
    #[serde(flatten)]
    pub movement: Option<History>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub downtimes: BTreeMap<String, DowntimeReport>,
    pub timeline: TimelineReport,
    pub events: u64,
    pub simulated_s: f64,
}

/// Times of a VM from the failure of its host until it serves again, of all replications.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct DowntimeReport {
    pub mean_s: f64,
    pub min_s: f64,
    pub max_s: f64,
}

/// A host in a [`PointReport`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct HostReport {
    pub cluster: String,
    pub usage_pct: f64,
    pub usage_pct_ci95: Option<f64>,
    pub utilization_pct: f64,
    pub core_utilization_pct: f64,
    pub overhead_pct: f64,
    pub ready_pct: f64,
    pub costop_pct: f64,
    pub down_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_cpu_pct: Option<f64>,
    pub memory_pct: f64,
    pub memory_usage_pct: f64,
    pub memory_gb_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<HostMemoryReport>,
    pub nodes: BTreeMap<String, NodeReport>,
}

/// A NUMA node in a [`HostReport`], by its number.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct NodeReport {
    pub memory_gb_per_s: f64,
    pub usage_pct: f64,
    pub vcpus: f64,
    pub memory_mb: f64,
    pub memory_pct: f64,
}

/// Samples over time of the first replication.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "as in `PointReport`")]
pub struct TimelineReport {
    pub interval_s: f64,
    pub time_s: Vec<f64>,
    pub hosts: BTreeMap<String, HostTimeline>,
    pub vms: BTreeMap<String, VmTimeline>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, PoolTimeline>,
}

impl PointReport {
    /// Drops the groups and the timeline, which can be most of a report.
    pub fn shorten(&mut self) {
        self.groups.clear();
        self.timeline = TimelineReport::default();
    }

    /// Takes back how sure means are: those of a run that has not settled are of no state at all.
    pub(super) fn without_confidence(&mut self) {
        let vms = self.vms.values_mut().chain(self.groups.values_mut());
        vms.for_each(VmReport::without_confidence);
        self.hosts.values_mut().for_each(|host| host.usage_pct_ci95 = None);
        self.clusters
            .values_mut()
            .for_each(|cluster| cluster.usage_pct_ci95 = None);
    }
}
