//! The tables of all metrics.

use super::clusters::ClusterReport;
use super::point::{DowntimeReport, HostReport, NodeReport, TimelineReport};
use super::results::{HostTimeline, VmTimeline};
use super::stations::BottleneckReport;
use super::vm_metrics::{IosReport, OutcomeReport, ResponseReport, VmReport};
use crate::metrics::{LatencyReport, MetricTable, Report};
use crate::movement::History;
use crate::reclaim::{HostMemoryResult, VmMemoryResult};
use crate::storage::{BackEndReport, ClientIos, IncidentReport, PolicyReport, PoolReport, PoolTimeline, StationReport};
/// All structs of reports with metrics, each after those that it has.
#[must_use]
pub fn metric_tables() -> Vec<MetricTable> {
    let mut all = vec![
        NodeReport::table(),
        HostMemoryResult::table(),
        HostReport::table(),
        ClusterReport::table(),
        VmMemoryResult::table(),
        ResponseReport::table(),
        LatencyReport::table(),
        IosReport::table(),
        OutcomeReport::table(),
        VmReport::table(),
        StationReport::table(),
        BottleneckReport::table(),
        ClientIos::table(),
        PolicyReport::table(),
        IncidentReport::table(),
        BackEndReport::table(),
        PoolReport::table(),
        DowntimeReport::table(),
        HostTimeline::table(),
        VmTimeline::table(),
        PoolTimeline::table(),
        TimelineReport::table(),
    ];
    all.extend(History::tables());
    all
}
