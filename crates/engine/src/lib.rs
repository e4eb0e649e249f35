//! The engine: wires a scenario and the models to the kernel, and runs it.
//!
//! One run is one thread, reads no clock and does no input or output. The same scenario and seed give the same result on
//! any machine.

mod build;
mod clock;
mod dispatch;
mod faults;
mod ids;
mod memory;
mod parallel;
mod power;
mod recorder;
mod report;
mod results;
mod samples;
mod simulation;
mod state;
mod stations;
mod storage;
mod view;

pub use hypertwin_kernel::{half_width_95, replication_seed};
pub use hypertwin_models::accounting::{Account, State};
pub use hypertwin_models::layout::layouts;
pub use hypertwin_models::storage::durability;
pub use hypertwin_models::topology::{Domain, Topology};
pub use report::{HostReport, LatencyReport, PointReport, ResponseReport, TimelineReport, VmReport, aggregate};
pub use results::{HostResult, HostTimeline, IoResult, Replication, Timeline, VmResult, VmTimeline};
pub use samples::{DeviceSample, DiskSample, HostSample, Sample, SampledRun, ServiceSample, VmSample, WorldSamples};
pub use stations::{BottleneckReport, StationReport};
pub use storage::{Counters, IncidentReport, MemberView, PoolReport, PoolResult, PoolTimeline, StationResult};
pub use view::{View, WorldView};

use hypertwin_cluster::Scenario;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// {vm}: {in_progress} transactions in progress; the offered load exceeds what the VM can do
    #[error("{vm}: {in_progress} transactions in progress: the offered load exceeds what the machine can do")]
    Overloaded {
        /// Name of the VM.
        vm: String,
        /// Transactions that had arrived and not ended.
        in_progress: usize,
    },
    /// A VM fits on no host; a scenario that was validated has a placement.
    #[error("a virtual machine fits on no host that it may be on")]
    NoPlacement,
}

/// Simulates `scenario` once, with the random streams of `seed` (see [`replication_seed`]).
///
/// # Errors
/// [`RunError`] if an open workload overloads its VM beyond all measure, or the scenario was not validated.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Replication, RunError> {
    watched_run(scenario, seed, |_| ())
}

/// As [`run`], and calls `watch` after every event.
///
/// # Errors
/// As [`run`].
pub fn watched_run(scenario: &Scenario, seed: u64, mut watch: impl FnMut(&View<'_>)) -> Result<Replication, RunError> {
    build::build(scenario, seed)?.run(|simulation| watch(&View::new(simulation)))
}
