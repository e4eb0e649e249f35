//! Measuring: what a run counts becomes results, and the results of replications a report.
//!
//! Components count by themselves, each in structs that are replaced as a whole when measuring begins. [`Recorder`]
//! reads them: for the totals of the run, for the timeline, and for the series of output analysis.
//!
//! **Boundary.** Sees all components by [`Observed`], and changes none.
//! **Invariant.** A figure is the difference of two totals, or a total since measuring began.
//!
//! | file | |
//! |---|---|
//! | `recorder.rs` | totals, the timeline, series; the results of a run |
//! | `vm_metrics.rs` | the metrics of a VM, one line each |
//! | `results.rs` | the results of one replication, as plain data |
//! | `looks.rs` | what a run holds and is offered, from time to time |
//! | `tables.rs` | the tables of all metrics |
//! | `tails.rs` | response times in parts of a run: whether the slowest become slower |
//! | `loops.rs` | closed loops, and whether Little's law accounts for their sessions |
//! | `verdict.rs` | whether a point is steady, and if not, why |
//! | `stations.rs` | stations of the path to storage, and which of them limits |
//! | `allocation.rs` | what is allocated on hosts |
//! | `clusters.rs` | clusters of hosts, over replications |
//! | `memory.rs` | memory that is taken from VMs, over replications |
//! | `means.rs` | means, and how sure they are |
//! | `bytes.rs` | a replication as bytes |
//! | `report.rs` | from replications to what is reported |
//! | `point.rs` | what is reported of one point |
//! | `bands.rs` | from which value on a figure is worth a look, or hurts, and who says so |
//! | `judgement.rs` | what is said of a point, as data |
//! | `task.rs` | what the VMs of a group do, as far as it matters for what limits them |
//! | `judge/` | what a point means: who suffers, what limits, the answer |
//! | `samples.rs` | a run sample by sample, as its hosts' own instruments would show it |
//! | `view.rs` | what a checker of invariants may see |

mod allocation;
mod bands;
mod bytes;
mod clusters;
pub mod judge;
mod judgement;
mod looks;
mod loops;
mod means;
mod memory;
mod point;
mod recorder;
mod report;
mod results;
mod samples;
mod stations;
mod tables;
mod tails;
mod task;
mod verdict;
mod view;
mod vm_metrics;

pub use allocation::Allocation;
pub use bands::{BANDS, Band};
pub use bytes::{BUILD, BytesError};
pub use clusters::ClusterReport;

pub use judgement::{Judgement, Limit, LimitKind, Severity, Sign, Tone};
pub use looks::Looks;
pub use point::{HostReport, NodeReport, PointReport, TimelineReport};
pub use recorder::Recorder;
pub use report::aggregate;
pub use results::{
    FailureReport, HostResult, HostTimeline, NodeResult, Observation, Replication, Timeline, VmTimeline,
};
pub use samples::{DeviceSample, DiskSample, HostSample, Sample, Sampler, ServiceSample, VmSample, WorldSamples};
pub use stations::BottleneckReport;
pub use tables::metric_tables;
pub use task::Task;
pub use verdict::{Condition, Reason, Steady, Verdict};
pub use view::{View, WorldView};
pub use vm_metrics::{IoResult, IoSums, IosReport, ResponseReport, VmReport, VmResult};

use crate::cpu::Processors;
use crate::faults::Faults;
use crate::guest::Guests;
use crate::lives::Lives;
use crate::movement::Movement;
use crate::reclaim::Reclaim;
use crate::storage::Storage;
use hypertwin_kernel::Nanos;

/// All components at one time, for reading.
#[derive(Clone, Copy)]
pub struct Observed<'s> {
    pub now: Nanos,
    pub cpu: &'s Processors,
    pub guests: &'s Guests,
    pub storage: &'s Storage,
    pub faults: &'s Faults,
    pub lives: &'s Lives,
    pub movement: &'s Movement,
    pub reclaim: &'s Reclaim,
}
