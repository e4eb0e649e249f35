//! The tables of all metrics.

use super::clusters::ClusterReport;
use super::point::{DowntimeReport, HostReport, NodeReport, TimelineReport};
use super::results::{HostTimeline, VmTimeline};
use super::stations::BottleneckReport;
use super::vm_metrics::{IosReport, OutcomeReport, ResponseReport, VmReport};
use crate::metrics::{LatencyReport, MetricTable, Report};
use crate::movement::{Outage, Unplaced};
use crate::reclaim::{HostMemoryResult, VmMemoryResult};
use crate::storage::{BackEndReport, ClientIos, IncidentReport, PolicyReport, PoolReport, PoolTimeline, StationReport};
/// All structs of reports with metrics, each after those that it has.
#[must_use]
pub fn metric_tables() -> Vec<MetricTable> {
    vec![
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
        Outage::table(),
        DowntimeReport::table(),
        Unplaced::table(),
        HostTimeline::table(),
        VmTimeline::table(),
        PoolTimeline::table(),
        TimelineReport::table(),
    ]
}
