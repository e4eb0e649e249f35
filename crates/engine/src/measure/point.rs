//! What is reported of one point.

use super::clusters::ClusterReport;
use super::judgement::Judgement;
use super::results::{FailureReport, HostTimeline, VmTimeline};
use super::stations::BottleneckReport;
use super::verdict::Verdict;
use super::vm_metrics::VmReport;
use crate::metrics::reports;
use crate::movement::History;
use crate::reclaim::HostMemoryResult;
use crate::storage::{PoolReport, PoolTimeline, StationReport};
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

reports! {
    /// Times in seconds of a VM from the failure of its host until it serves again, in all replications.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct DowntimeReport {
        pub mean_s: f64;
        pub min_s: f64;
        pub max_s: f64;
    }

    /// A host. NUMA nodes are numbered.
    #[derive(Clone, Debug, Serialize)]
    pub struct HostReport {
        /// The cluster of the host, or of the VM's host. `default` if the scenario names none.
        pub cluster: String = "Cluster";
        /// CPU cycles used divided by cores × nominal clock, at most 100. Two busy threads of a core use 1.25 cores on
        /// ESXi, as VMs are charged. On Linux they use two cores, because its times of CPUs do not tell them apart. For
        /// a cluster it is the mean over its hosts, weighted by cores × nominal clock.
        pub usage_pct: f64 = "Host usage", "%";
        pub usage_pct_ci95: Option<f64>;
        /// Mean over hardware threads of the time that each was busy.
        pub utilization_pct: f64 = "Host utilization", "%";
        /// Mean over cores of the time that at least one thread was busy.
        pub core_utilization_pct: f64 = "Core utilization", "%";
        /// Part of the host's core capacity that the hypervisor's own worlds or threads used for VMs: I/O, network,
        /// device emulation.
        pub overhead_pct: f64 = "Hypervisor overhead", "%";
        pub ready_pct: f64;
        pub costop_pct: f64;
        pub down_s: f64;
        /// Part of the host's core capacity that sends and receives VMs. The host's usage includes it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub migration_cpu_pct: Option<f64> = "CPU of migrations", "%";
        /// Configured memory of VMs plus hypervisor memory (`hypervisor_memory`), in % of the memory of the host, or of
        /// all hosts of the cluster. It follows from the scenario: VMs of a failed host count there, and the memory
        /// overhead of VMs does not count. Above 100% the host reclaims memory only if the touched memory of VMs does
        /// not fit.
        pub memory_pct: f64 = "Memory configured", "%";
        /// As `memory_pct`, but with the touched memory of VMs (`memory_touched`). By default VMs touch all their
        /// memory.
        pub memory_usage_pct: f64 = "Memory in use", "%";
        pub memory_gb_per_s: f64;
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory: Option<HostMemoryResult>;
        pub nodes: BTreeMap<String, NodeReport>;
    }

    /// A NUMA node of a host.
    #[derive(Clone, Debug, Serialize)]
    pub struct NodeReport {
        /// Bytes that the memory of node N delivers per second, to all nodes. If one node is near its limit and another
        /// is idle, a VM might be on one node only.
        pub memory_gb_per_s: f64 = "Memory bandwidth of a NUMA node", "GB/s";
        /// As `usage_pct`, for the cores of node N. Interrupts of idle hardware threads count only for the host.
        pub usage_pct: f64 = "Usage of a NUMA node", "%";
        /// vCPUs whose home is node N at the end of the run. Without home nodes (Linux, VMs with an affinity) it counts
        /// vCPUs placed there at power-on.
        pub vcpus: f64 = "vCPUs of a NUMA node";
        /// Configured memory of VMs on node N at the end of the run, in mebibytes like esxtop.
        pub memory_mb: f64 = "Memory of VMs on a NUMA node", "MB";
        /// The same memory in % of the node's memory for VMs, without hypervisor memory.
        pub memory_pct: f64 = "Memory in use of a NUMA node", "%";
    }

    /// Samples of the first replication. Times since the end of the warm-up.
    #[derive(Clone, Debug, Default, Serialize)]
    pub struct TimelineReport {
        pub interval_s: f64;
        pub time_s: Vec<f64>;
        pub hosts: BTreeMap<String, HostTimeline>;
        pub vms: BTreeMap<String, VmTimeline>;
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub pools: BTreeMap<String, PoolTimeline>;
    }
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
