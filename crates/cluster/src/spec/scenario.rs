//! The scenario as a whole: its sections, and how long to simulate it.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::array::StorageArray;
use super::cluster::{Cluster, Datastore, PoweredOff};
use super::device::Device;
use super::failure::Failure;
use super::host::HostGroup;
use super::migration::Event;
use super::placement_rule::PlacementRule;
use super::pool::StoragePool;
use super::shape::name_keys;
use super::vm::VmGroup;
use super::workload::Workload;
use crate::names::members;
use crate::quantity::Duration;

/// One file that describes a cluster, what runs on it, and how long to simulate it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, as reports show it: letters, digits, `-`, `_` and `.`, at most 64.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), extend("examples" = ["small-esxi"]))]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit"))]
    pub name: String,
    /// What the scenario shows, and where its numbers come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 10_000))]
    pub description: Option<String>,
    /// What the parameters were calibrated on, as reports say it. Without it, reports say that nothing was calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 10_000))]
    pub calibrated_on: Option<String>,
    /// How long to simulate and how to measure.
    #[serde(default)]
    pub run: RunSettings,
    /// Clusters, by name: what is known of them besides their hosts. A cluster without anything to say needs no entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub clusters: BTreeMap<String, Cluster>,
    /// Groups of identical hosts, by name.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 10_000), transform = name_keys)]
    pub hosts: BTreeMap<String, HostGroup>,
    /// Groups of identical virtual machines, by name.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub vms: BTreeMap<String, VmGroup>,
    /// What runs inside virtual machines, by name; `vms.*.workload` refers to these.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub workloads: BTreeMap<String, Workload>,
    /// Drives, by name: `device` of disks refers to these, and to the table of drives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1_000), transform = name_keys)]
    pub devices: BTreeMap<String, Device>,
    /// Storage arrays, by name; `vms.*.array` refers to these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1_000), transform = name_keys)]
    pub arrays: BTreeMap<String, StorageArray>,
    /// Distributed storage, by name; `vms.*.storage` refers to these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100), transform = name_keys)]
    pub storage: BTreeMap<String, StoragePool>,
    /// Machines that are off and templates, by name. They take no part in a simulation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100_000), transform = name_keys)]
    pub powered_off: BTreeMap<String, PoweredOff>,
    /// Datastores, by name: how full storage is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub datastores: BTreeMap<String, Datastore>,
    /// What fails when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub failures: Vec<Failure>,
    /// What is done when: migrations, maintenance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub events: Vec<Event>,
    /// Placement rules: which machines belong together or apart, and on which hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub rules: Vec<PlacementRule>,
}

impl Scenario {
    /// Every host by name, with its group: groups in order of name, hosts in order of number.
    pub fn host_names(&self) -> Vec<(String, &HostGroup)> {
        members(&self.hosts, |group| group.count)
    }

    /// Every virtual machine by name, with its group: groups in order of name, machines in order of number.
    pub fn vm_names(&self) -> Vec<(String, &VmGroup)> {
        members(&self.vms, |group| group.count)
    }

    /// The scenario as JSON in its one canonical form, defaults included.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has no keys or numbers that JSON lacks")
    }
}

/// A time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunTime {
    /// It is found by simulating: as long as the run takes to settle.
    Auto(Auto),
    /// It is given.
    Given(Duration),
}

/// The word for a value that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auto {
    /// `auto`.
    Auto,
}

impl RunTime {
    /// To be found.
    pub const AUTO: Self = Self::Auto(Auto::Auto);

    /// The time, unless it is to be found.
    pub const fn given(self) -> Option<Duration> {
        match self {
            Self::Given(time) => Some(time),
            Self::Auto(_) => None,
        }
    }

    /// The time, or none at all if it is to be found.
    pub fn or_zero(self) -> Duration {
        self.given().unwrap_or_default()
    }
}

impl JsonSchema for RunTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunTime".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Duration::json_schema(generator);
        let given = schema
            .get("pattern")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        schema.insert("pattern".to_owned(), json!(format!("^auto$|{given}")));
        schema.insert("examples".to_owned(), json!(["auto", "300 s"]));
        schema.insert("x-word".to_owned(), json!("auto"));
        let text = "A length of time, as a number and one of ns, us, ms, s, min, h, d, or `auto`: as long as the run takes \
                    to settle. A bare 0 needs no unit.";
        schema.insert("description".to_owned(), json!(text));
        schema
    }
}

/// How long to simulate and how to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// Measured time, after the warm-up; `auto` doubles it until the run is steady or has taken its share of work. With
    /// failures, events or steps of the load, `auto` is 300 s.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub duration: RunTime,
    /// Time that is simulated first and not measured; `auto` leaves out what comes before the run is steady. With
    /// failures, events or steps of the load, `auto` is 30 s.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "30 d"))]
    pub warmup: RunTime,
    /// Resolution of the timeline; 20 s is what vCenter's real-time charts show. A longer one than `duration` counts as
    /// `duration`, and a longer one than a 20th of a duration that was found as that.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub sample_interval: Duration,
    /// Start of every random stream: the same scenario, seed and version give the same bytes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Independent repetitions; confidence intervals need at least 2.
    #[schemars(range(min = 1, max = 1_000))]
    pub replications: u32,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            duration: RunTime::AUTO,
            warmup: RunTime::AUTO,
            sample_interval: Duration::from_secs(20),
            seed: 1,
            replications: 3,
        }
    }
}
