//! What happened to VMs, as reports show it. Times are since the start of the run.

use crate::metrics::reports;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Nanos;
use serde::Serialize;

/// A VM went, or was to go, from one host to another.
#[derive(Clone, Debug, PartialEq, Serialize, Encode, Decode)]
#[allow(
    missing_docs,
    reason = "defined once, in the catalogue that docs/metrics.md is made from"
)]
pub struct Move {
    pub at_s: f64,
    pub end_s: Option<f64>,
    pub vm: String,
    pub from: String,
    pub to: String,
    pub kind: MoveKind,
    pub why: Why,
    pub outcome: Outcome,
    pub rounds: u32,
    pub sent_bytes: f64,
    pub downtime_ms: Option<f64>,
}

/// How a VM goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// While it runs.
    Migration,
    /// It is powered on again.
    Restart,
}

/// Who wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The scenario.
    Event,
    /// Its host is emptied.
    Maintenance,
    /// Its cluster is balanced.
    Balance,
    /// A rule was broken.
    Rule,
    /// Its host failed.
    Failure,
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is there.
    Done,
    /// It was under way when the run ended.
    Running,
    /// It stayed, or died.
    GivenUp,
}

reports! {
    /// Outage of a VM that failed with its host in the first replication. Times are as in `Move`, or null without the
    /// event.
    #[derive(Clone, Debug, PartialEq, Serialize, Encode, Decode)]
    pub struct Outage {
        pub vm: String;
        pub host: String;
        pub from_s: f64;
        pub detected_s: Option<f64>;
        pub restart_s: Option<f64>;
        pub up_s: Option<f64>;
        pub up_on: Option<String>;
    }

    /// A VM that could not restart in the first replication, and the shortage of each host.
    #[derive(Clone, Debug, PartialEq, Serialize, Encode, Decode)]
    pub struct Unplaced {
        pub vm: String;
        pub lacks: String;
        pub at_s: f64;
    }
}

/// All of it, in the order in which it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Encode, Decode)]
pub struct History {
    /// What went.
    pub moves: Vec<Move>,
    /// What was down.
    pub outages: Vec<Outage>,
    /// What had no place.
    pub unplaced: Vec<Unplaced>,
}

/// A time as reports have it.
pub(super) fn seconds(time: Nanos) -> f64 {
    time as f64 / 1e9
}
