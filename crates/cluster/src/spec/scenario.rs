//! The scenario as a whole: its sections and run settings.

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

/// A file that describes a cluster, its workloads and how long to simulate it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Scenario name in reports: letters, digits, `-`, `_` and `.`, at most 64.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), extend("examples" = ["small-esxi"]))]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit"))]
    pub name: String,
    /// Purpose of the scenario and sources of its numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 10_000))]
    pub description: Option<String>,
    /// Calibration data, for reports. Without it, reports state that nothing was calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 10_000))]
    pub calibrated_on: Option<String>,
    /// Duration of the simulation and measurement settings.
    #[serde(default)]
    pub run: RunSettings,
    /// Clusters, by name: their settings. A cluster without settings needs no entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub clusters: BTreeMap<String, Cluster>,
    /// Groups of identical hosts, by name.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 10_000), transform = name_keys)]
    pub hosts: BTreeMap<String, HostGroup>,
    /// Groups of identical VMs, by name.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub vms: BTreeMap<String, VmGroup>,
    /// Workloads of VMs, by name; `vms.*.workload` refers to them.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub workloads: BTreeMap<String, Workload>,
    /// Drives, by name. `device` of a disk names one of them, or one from the table of drives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1_000), transform = name_keys)]
    pub devices: BTreeMap<String, Device>,
    /// Storage arrays, by name; `vms.*.array` refers to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1_000), transform = name_keys)]
    pub arrays: BTreeMap<String, StorageArray>,
    /// Distributed storage, by name; `vms.*.storage` refers to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100), transform = name_keys)]
    pub storage: BTreeMap<String, StoragePool>,
    /// Powered-off VMs and templates, by name. They take no part in a simulation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100_000), transform = name_keys)]
    pub powered_off: BTreeMap<String, PoweredOff>,
    /// Datastores, by name, with used and free capacity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub datastores: BTreeMap<String, Datastore>,
    /// Failures over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub failures: Vec<Failure>,
    /// Scheduled events: migrations, maintenance mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub events: Vec<Event>,
    /// Placement rules: affinity and anti-affinity between VMs, and VM-host rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub rules: Vec<PlacementRule>,
}

impl Scenario {
    /// Every host by name, with its group: groups in order of name, hosts in order of number.
    pub fn host_names(&self) -> Vec<(String, &HostGroup)> {
        members(&self.hosts, |group| group.count)
    }

    /// Every VM by name, with its group: groups in order of name, VMs in order of number.
    pub fn vm_names(&self) -> Vec<(String, &VmGroup)> {
        members(&self.vms, |group| group.count)
    }

    /// The scenario as canonical JSON, defaults included.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has no keys or numbers that JSON lacks")
    }
}

/// A duration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunTime {
    /// Automatic: simulated until the run settles.
    Auto(Auto),
    /// Given.
    Given(Duration),
}

/// The word for an automatic value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auto {
    /// `auto`.
    Auto,
}

impl RunTime {
    /// An automatic duration.
    pub const AUTO: Self = Self::Auto(Auto::Auto);

    /// The duration, unless automatic.
    pub const fn given(self) -> Option<Duration> {
        match self {
            Self::Given(time) => Some(time),
            Self::Auto(_) => None,
        }
    }

    /// The duration, or 0 if automatic.
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
        let text = "A duration, as a number and one of ns, us, ms, s, min, h, d, or `auto`: until the run settles. \
                    A bare 0 needs no unit.";
        schema.insert("description".to_owned(), json!(text));
        schema
    }
}

/// Duration of the simulation and measurement settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// Measured time after the warm-up. `auto` doubles it until the run is steady or has used its work budget. With
    /// failures, events or load steps, `auto` is 300 s.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub duration: RunTime,
    /// Time simulated first and not measured. `auto` drops everything before the run is steady. With failures, events
    /// or load steps, `auto` is 30 s.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "30 d"))]
    pub warmup: RunTime,
    /// Resolution of the timeline; vCenter's real-time charts use 20 s. At most `duration`; with `duration: auto`, at
    /// most a 20th of it.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub sample_interval: Duration,
    /// Seed of all random numbers. The same scenario, seed and version give identical results.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Independent repetitions. Confidence intervals need at least 2.
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
