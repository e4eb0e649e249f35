//! Live migration: its settings, and scheduled migrations.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::quantity::{Bandwidth, Duration};

/// Live migration from and to a host. Between two hosts the slower link counts; all other settings are the source's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Migration {
    /// Bandwidth of the migration link in each direction, shared by all migrations of the host.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub link: Bandwidth,
    /// Maximum rate of one stream of one migration: the copy speed of a core.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub stream: Bandwidth,
    /// Streams per migration. Default: as many as fill the link on ESXi 7.0 U2 and later, otherwise 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 256))]
    pub streams: Option<u32>,
    /// Concurrent migrations from and to the host. Default: ESXi 4 on links below 10 Gb/s, otherwise 8; Linux 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_000))]
    pub concurrent: Option<u32>,
    /// Longest pause of the VM for its last pages. Default: ESXi 500 ms, Linux 300 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub downtime: Option<Duration>,
    /// Time before the first page is sent: connection, checks, devices. Default: ESXi 2.5 s, Linux 7.5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "10 min"))]
    pub setup: Option<Duration>,
    /// Time between the last page and the first instruction on the new host.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 min"))]
    pub resume: Duration,
    /// Method for a VM that dirties memory faster than the link sends it. Default: ESXi `slow-down` (SDPS), Linux
    /// `nothing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Convergence")]
    pub convergence: Option<Convergence>,
    /// First throttling step of `auto-converge`, in %.
    #[schemars(range(min = 1.0, max = 99.0))]
    pub throttle_initial_pct: f64,
    /// Further throttling per step, in percentage points.
    #[schemars(range(min = 1.0, max = 99.0))]
    pub throttle_step_pct: f64,
    /// Time after which an unfinished migration is cancelled. Default: never.
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
            setup: None,
            resume: Duration::from_millis(20),
            convergence: None,
            throttle_initial_pct: 20.0,
            throttle_step_pct: 10.0,
            timeout: None,
        }
    }
}

/// Method for a VM that dirties memory faster than the link sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = super::shape::plain_enum)]
pub enum Convergence {
    /// Pages are sent again and again, until `timeout`.
    Nothing,
    /// ESXi: slows its vCPUs until it dirties less memory than is sent (stun during page send).
    SlowDown,
    /// QEMU from 5.0: throttles its vCPUs in steps.
    AutoConverge,
    /// QEMU before 5.0: the same, with half as much time again between steps.
    #[serde(rename = "auto-converge-4")]
    AutoConverge4,
    /// QEMU: the VM resumes on the new host after the first pass and fetches missing pages one by one.
    PostCopy,
}

/// A scheduled event: one of `migrate`, `maintenance` and `add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_action)]
pub struct Event {
    /// Time from the start of the run, warm-up included.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// VM to migrate live, by name; with its number if its group has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["db-1"]))]
    pub migrate: Option<String>,
    /// Target host of the migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-2"]))]
    pub to: Option<String>,
    /// Host that enters maintenance mode: its VMs migrate to other hosts of the cluster, and it accepts none before
    /// `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-1"]))]
    pub maintenance: Option<String>,
    /// Node (`node-4`) or disk (`node-1/disk-3`) that joins its pool. Before that it has no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["node-4"]))]
    pub add: Option<String>,
    /// End of maintenance mode. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub until: Option<Duration>,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A VM.
    Vm,
    /// A host.
    Host,
    /// A host, or a part of one.
    Part,
}

/// The action of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventAction<'e> {
    /// Its key.
    pub key: &'static str,
    /// The value of its key.
    pub name: &'e str,
    /// What the value names.
    pub about: About,
    /// What begins at `at` and what ends at `until`, with `{}` for the value.
    pub words: [&'static str; 2],
}

impl Event {
    /// Its action, in messages.
    pub const ONE_OF: &str = "exactly one of migrate (with to), maintenance and add";

    /// Its actions, of which a checked event has exactly one.
    pub fn actions(&self) -> Vec<EventAction<'_>> {
        let maintenance = ["maintenance of {} begins", "maintenance of {} ends"];
        let all = [
            ("migrate", &self.migrate, About::Vm, ["the migration of {} begins", ""]),
            ("maintenance", &self.maintenance, About::Host, maintenance),
            ("add", &self.add, About::Part, ["{} joins its pool", ""]),
        ];
        let said = all.into_iter().filter_map(|(key, value, about, words)| {
            let name = value.as_deref()?;
            Some(EventAction {
                key,
                name,
                about,
                words,
            })
        });
        said.collect()
    }
}

/// Exactly one action, with only its own keys.
fn one_action(schema: &mut Schema) {
    schema.insert(
        "dependentRequired".to_owned(),
        json!({"migrate": ["to"], "to": ["migrate"], "until": ["maintenance"]}),
    );
}
