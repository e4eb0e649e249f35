//! The engine: wires a scenario and the models to the kernel, and runs it.
//!
//! One run is one thread, reads no clock and does no input or output. The same scenario and seed give the same result
//! on any computer. A run is a few components with private state, and a wire between them:
//!
//! - `cpu/`: processors: which world runs on which logical CPU, and what it is charged
//! - `guest/`: guests: what the processes of VMs do
//! - `storage/`: the way of an I/O from a guest's driver to a disk and back; pools
//! - `reclaim/`: memory of hosts: what VMs have of it, and what is taken away when it runs short
//! - `faults.rs`: what fails and what returns
//! - `simulation.rs`, `paging.rs`: the wire: it sees all of them; the second for memory that is away
//! - `life.rs`, `lives.rs`: the life of a VM: verbs by which one stops, starts and changes hosts; what each VM does at
//!   present
//! - `movement/`: VMs that restart where a host failed, and migrate
//! - `measure/`: from what they count to results and reports
//! - `build.rs`: from a scenario to the initial state
//! - `model_error/`: the twin's own error around the figures of a report
//! - `budget.rs`: what VMs and services may still use of a CPU limit
//! - `metrics.rs`: structs of reports, whose fields are metrics
//! - `ordered.rs`: sorting, and maps, in little code
//! - `clock.rs`, `ids.rs`, `vcpu.rs`, `island.rs`, `plan.rs`, `responses.rs`, `error.rs`: what they share: time, events
//!   and signals; numbers; the border between guests and processors; what an island and a VM are made from
//! - `islands/`: hosts that share nothing: cut apart, simulated, and put together again
//! - `migrating.rs`, `product_facts.rs`: how hosts migrate and what of VMs is sent, for planners as well; what planners
//!   ask of hypervisors and of products of pools
//! - `sampled_run.rs`: a run that is handed out sample by sample
//! - `driver.rs`: a run in which a test says what happens to VMs
//!
//! **Boundary.** A component sees what is shared, never another component; `scripts/check_architecture.py` keeps files
//! free of circles. **Invariant.** Events happen in the order of time, priority and scheduling, whatever component they
//! are for.
//!
//! **Components are fields, and calls are static.** The graph of components is fixed, so signals and disjoint borrows
//! replace mailboxes and virtual calls. Signals and borrows have no cost at run time.

mod budget;
mod build;
mod clock;
mod cpu;
mod driver;
mod error;
mod faults;
mod guest;
mod ids;
mod island;
mod islands;
mod life;
mod lives;
mod measure;
mod metrics;
mod migrating;
mod model_error;
mod movement;
mod ordered;
mod paging;
mod plan;
mod product_facts;
mod reclaim;
mod responses;
mod sampled_run;
mod simulation;
mod storage;
mod vcpu;

#[doc(hidden)]
pub use driver::{Driver, driven_run};
pub use error::RunError;
pub use hypertwin_kernel::{half_width_95, replication_seed};
pub use hypertwin_models::accounting::{Account, State};
pub use hypertwin_models::hypervisor::esxi::memory::overhead as memory_overhead;
pub use hypertwin_models::layout::layouts;
pub use hypertwin_models::restart::has_quorum;
pub use hypertwin_models::storage::durability;
pub use hypertwin_models::topology::{Domain, Topology};
pub use islands::Islands;
pub use measure::judge::judge;
pub use measure::{
    Allocation, BANDS, BUILD, Band, BottleneckReport, BytesError, ClusterReport, Condition, DeviceSample, DiskSample,
    FailureReport, HostReport, HostResult, HostSample, HostTimeline, IoResult, IoSums, IosReport, Judgement, Limit,
    LimitKind, NodeReport, NodeResult, PointReport, Reason, Replication, ResponseReport, Sample, ServiceSample,
    Severity, Sign, Steady, Task, Timeline, TimelineReport, Tone, Verdict, View, VmReport, VmResult, VmSample,
    VmTimeline, WorldSamples, WorldView, aggregate, metric_tables,
};
pub use metrics::{Curve, LatencyReport, MetricTable};
pub use migrating::MigrationFacts;
pub use model_error::{
    Area, Intervals, IntervalsError, Kind, ModelError, PointErrors, around, error_ratio, is_share, shifted, with_error,
};
pub use movement::detection_s;
pub use movement::{History, Move, MoveKind, Outage, Outcome, Unplaced, Why};
pub use product_facts::{HypervisorFacts, PoolFacts, inventory};
pub use reclaim::{HostMemoryResult, PageCounts, VmMemoryResult};
pub use sampled_run::SampledRun;
pub use storage::{
    Counters, IncidentReport, MemberView, PoolReport, PoolResult, PoolTimeline, StationReport, StationResult,
};

use hypertwin_cluster::Scenario;

/// Simulates `scenario` once, with the random streams of `seed` (see [`replication_seed`]).
///
/// # Errors
/// [`RunError`] if an open workload overloads its VM beyond all measure, or a VM fits on no host.
///
/// # Panics
/// If a workload, array or pool that the scenario names is missing, so that it was not validated.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Replication, RunError> {
    Islands::of(scenario.clone())?.run_all(seed)
}

/// As [`run`], with all hosts as one island, and calls `watch` after every event.
///
/// # Errors
/// As [`run`].
pub fn watched_run(scenario: &Scenario, seed: u64, mut watch: impl FnMut(&View<'_>)) -> Result<Replication, RunError> {
    let whole = Islands::undivided(scenario.clone())?;
    let part = whole.watched_run(0, seed, |observed| watch(&View::new(observed)))?;
    Ok(whole.merge(&[&part]))
}
