//! What happened to VMs, as reports show it. Times are since the start of the run.

use crate::metrics::{MetricTable, Report, Typed, reports, typed};
use crate::ordered::sort_by;
use bitcode::{Decode, Encode};
use hypertwin_kernel::Nanos;
use serde::Serialize;

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

typed! {
    MoveKind: "Literal['migration', 'restart']";
    Why: "Literal['event', 'maintenance', 'balance', 'rule', 'failure']";
    Outcome: "Literal['done', 'running', 'given-up']";
}

reports! {
    /// Move of a VM between hosts in the first replication. Times are since the start of the run.
    #[derive(Clone, Debug, PartialEq, Serialize, Encode, Decode)]
    pub struct Move {
        pub at_s: f64;
        pub end_s: Option<f64>;
        pub vm: String;
        pub from: String;
        pub to: String;
        pub kind: MoveKind;
        pub why: Why;
        pub outcome: Outcome;
        pub rounds: u32;
        pub sent_bytes: f64;
        pub downtime_ms: Option<f64>;
    }

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

    /// What happened to VMs that can move, in the order in which it began.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Encode, Decode)]
    pub struct History {
        /// Finished and unfinished moves of VMs, in the first replication: `kind` (migration or restart), `why` (event,
        /// maintenance, balance, rule, failure), `at_s` and `end_s` since the start of the run, `outcome` (done,
        /// running, given-up), `rounds`, `sent_bytes`, and `downtime_ms`, the pause at the end. In JSON only, and only
        /// if VMs can move.
        pub moves: Vec<Move> = "Moves";
        /// VMs that went down with their host in a cluster with an `ha` policy, in the first replication. Each has
        /// `from_s`, the times when HA noticed the failure (`detected_s`), powered the VM on (`restart_s`) and it
        /// served again (`up_s`), and its new host (`up_on`). Null for events that did not happen. In JSON only.
        pub outages: Vec<Outage> = "Outages";
        /// VMs that do not fit on any host, in the first replication: the time (`at_s`), and the smallest shortage on
        /// any host (`lacks`). A migrating VM stays on its host. HA retries the restart of a VM that is down. In JSON
        /// only.
        pub unplaced: Vec<Unplaced> = "VMs without a place";
    }
}

impl History {
    /// Tables of its metrics.
    pub fn tables() -> [MetricTable; 4] {
        [Move::table(), Outage::table(), Unplaced::table(), Self::table()]
    }

    /// That of several islands, in order of time.
    pub fn together<'h>(mut parts: impl Iterator<Item = &'h Self>) -> Option<Self> {
        let mut all = parts.next()?.clone();
        for part in parts {
            all.moves.extend_from_slice(&part.moves);
            all.outages.extend_from_slice(&part.outages);
            all.unplaced.extend_from_slice(&part.unplaced);
        }
        sort_by(&mut all.moves, |a, b| a.at_s.total_cmp(&b.at_s));
        sort_by(&mut all.outages, |a, b| a.from_s.total_cmp(&b.from_s));
        sort_by(&mut all.unplaced, |a, b| a.at_s.total_cmp(&b.at_s));
        Some(all)
    }
}

/// A time as reports have it.
pub(super) fn seconds(time: Nanos) -> f64 {
    time as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::{History, Outage, Unplaced};

    fn island(at_s: f64) -> History {
        let text = || format!("at {at_s}");
        let outage = Outage {
            vm: text(),
            host: text(),
            from_s: at_s,
            detected_s: None,
            restart_s: None,
            up_s: None,
            up_on: None,
        };
        let (vm, lacks) = (text(), text());
        History {
            outages: vec![outage],
            unplaced: vec![Unplaced { vm, lacks, at_s }],
            ..History::default()
        }
    }

    #[test]
    fn islands_together_have_all_in_order_of_time() {
        let all = History::together([island(2.0), island(1.0)].iter()).expect("a history");
        assert_eq!(
            all.outages.iter().map(|each| each.from_s).collect::<Vec<_>>(),
            [1.0, 2.0]
        );
        assert_eq!(
            all.unplaced.iter().map(|each| each.at_s).collect::<Vec<_>>(),
            [1.0, 2.0]
        );
    }
}
