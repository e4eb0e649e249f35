//! Live migration: how VMs move while they run, and when a scenario says that they do.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::quantity::{Bandwidth, Duration};

/// How machines migrate live from a host and to it. Of two hosts the slower link counts; all else is the source's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Migration {
    /// Link for migrations, in each direction; all migrations of the host share it.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub link: Bandwidth,
    /// What one stream of one migration sends at most: what a core copies.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub stream: Bandwidth,
    /// Streams of one migration. Default: on ESXi from 7.0 U2 as many as fill the link, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 256))]
    pub streams: Option<u32>,
    /// Migrations from and to the host at a time. Default: ESXi 4 on links below 10 Gb/s, else 8; Linux 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_000))]
    pub concurrent: Option<u32>,
    /// Longest time that a machine may stand still for its last pages. Default: ESXi 500 ms, Linux 300 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub downtime: Option<Duration>,
    /// Time before the first page is sent: connection, checks, devices.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "10 min"))]
    pub setup: Duration,
    /// Time between the last page and the first instruction on the new host.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 min"))]
    pub resume: Duration,
    /// What happens to a machine that writes faster than it can be sent. Default: ESXi `slow-down` (SDPS), Linux
    /// `nothing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Convergence")]
    pub convergence: Option<Convergence>,
    /// First slow-down of `auto-converge`, in per cent.
    #[schemars(range(min = 1.0, max = 99.0))]
    pub throttle_initial_pct: f64,
    /// By how much it slows down further each time.
    #[schemars(range(min = 1.0, max = 99.0))]
    pub throttle_step_pct: f64,
    /// When a migration that does not end is given up. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 s", "x-maximum" = "30 d"))]
    pub timeout: Option<Duration>,
}

impl Default for Migration {
    fn default() -> Self {
        Self {
            link: Bandwidth::from_bytes_per_s(1_250_000_000),
            stream: Bandwidth::from_bytes_per_s(1_875_000_000),
            streams: None,
            concurrent: None,
            downtime: None,
            setup: Duration::from_millis(2_500),
            resume: Duration::from_millis(20),
            convergence: None,
            throttle_initial_pct: 20.0,
            throttle_step_pct: 10.0,
            timeout: None,
        }
    }
}

/// What happens to a machine that writes faster than it can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = super::shape::plain_enum)]
pub enum Convergence {
    /// It is sent again and again, until `timeout`.
    Nothing,
    /// ESXi: its vCPUs are slowed down until it writes less than is sent (stun during page send).
    SlowDown,
    /// QEMU: its vCPUs are throttled in steps.
    AutoConverge,
    /// QEMU: it goes on on the new host after the first pass, and fetches what is missing page by page.
    PostCopy,
}

/// Something that is done to the cluster at a moment: one of `migrate`, `maintenance` and `add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_action)]
pub struct Event {
    /// When, counted from the start of the run, warm-up included.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// A machine migrates live: its name, with its number where its group has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["db-1"]))]
    pub migrate: Option<String>,
    /// The host that it migrates to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-2"]))]
    pub to: Option<String>,
    /// A host is emptied: its machines migrate to others of its cluster, and none comes to it until `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-1"]))]
    pub maintenance: Option<String>,
    /// A node of a pool (`node-4`) or a disk of it (`node-1/disk-3`) joins its pool: until then it has no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["node-4"]))]
    pub add: Option<String>,
    /// When it takes machines again. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub until: Option<Duration>,
}

/// Exactly one thing is done, and its keys go together.
fn one_action(schema: &mut Schema) {
    schema.insert(
        "dependentRequired".to_owned(),
        json!({"migrate": ["to"], "to": ["migrate"], "until": ["maintenance"]}),
    );
}
