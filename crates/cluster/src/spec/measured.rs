//! What was measured on the real system, beside what it is configured with: to be looked at, and compared with. A run
//! does not read it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, Duration};

/// A year, month or day, or a moment, in its own time zone if none is given.
const ISO_8601: &str = concat!(
    r"^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01])",
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?$"
);

/// Measured figures of one host. They do not change a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasuredHost {
    /// When it was measured, as ISO 8601 writes dates and times; of a series, its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = ISO_8601))]
    #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01T12:00:00Z"]))]
    pub at: Option<String>,
    /// Time that the CPU figures cover. Absent: one moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "3650 d"))]
    pub over: Option<Duration>,
    /// The counter or column that the CPU figures are from, as its source calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub counter: Option<String>,
    /// CPU used, in per cent of cores times nominal clock: the mean, or the figure of the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub cpu_usage_pct: Option<f64>,
    /// Its 95th percentile over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub cpu_p95_pct: Option<f64>,
    /// Its highest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub cpu_peak_pct: Option<f64>,
    /// Memory used, in per cent of what the host has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub memory_usage_pct: Option<f64>,
    /// Memory that its hypervisor has taken back from machines by ballooning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub ballooned: Option<Bytes>,
    /// Memory of machines that its hypervisor has swapped out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub swapped: Option<Bytes>,
}

/// Measured figures of one machine. They do not change a simulation: its demand is `workload` and `load`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasuredVm {
    /// When it was measured, as ISO 8601 writes dates and times; of a series, its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = ISO_8601))]
    #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01T12:00:00Z"]))]
    pub at: Option<String>,
    /// Time that the CPU figures cover. Absent: one moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "3650 d"))]
    pub over: Option<Duration>,
    /// The counter or column that the CPU figures are from, as its source calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub counter: Option<String>,
    /// CPU that it used or wanted, in MHz of a core: the mean, or the figure of the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_mhz: Option<f64>,
    /// Its 95th percentile over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_p95_mhz: Option<f64>,
    /// Its highest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_peak_mhz: Option<f64>,
    /// Time that its vCPUs were ready but not running, in per cent of each vCPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0))]
    pub ready_pct: Option<f64>,
    /// Memory of the host that it occupies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub memory_consumed: Option<Bytes>,
    /// Memory that it has touched lately, as its hypervisor estimates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub memory_active: Option<Bytes>,
    /// Memory that the hypervisor has taken back from it by ballooning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub ballooned: Option<Bytes>,
    /// Memory of it that the hypervisor has swapped out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub swapped: Option<Bytes>,
    /// Space that its virtual disks may grow to, with what belongs to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub storage_provisioned: Option<Bytes>,
    /// Space that it occupies on its datastores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub storage_used: Option<Bytes>,
    /// Space that its guest believes to use, summed over its file systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub storage_in_guest: Option<Bytes>,
    /// Space that its snapshots occupy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub snapshots: Option<Bytes>,
    /// How many snapshots it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 100_000))]
    pub snapshot_count: Option<u32>,
    /// When the oldest of its snapshots was made, as ISO 8601 writes dates and times.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = ISO_8601))]
    #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01"]))]
    pub oldest_snapshot: Option<String>,
}

/// Measured figures of a cluster's machines together, added up at the same moments: their peaks may or may not
/// coincide. They do not change a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasuredCluster {
    /// When it was measured, as ISO 8601 writes dates and times; of a series, its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = ISO_8601))]
    #[schemars(extend("x-code" = "bad-time", "x-allowed" = "a date, or a date and a time, as ISO 8601 writes them", "examples" = ["2026-03-01T12:00:00Z"]))]
    pub at: Option<String>,
    /// Time that the CPU figures cover. Absent: one moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "3650 d"))]
    pub over: Option<Duration>,
    /// The counter or column that the CPU figures are from, as its source calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub counter: Option<String>,
    /// CPU that its machines used or wanted together, in MHz of a core: the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_mhz: Option<f64>,
    /// Its 95th percentile over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_p95_mhz: Option<f64>,
    /// Its highest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1e12))]
    pub cpu_peak_mhz: Option<f64>,
    /// Memory of its hosts that the machines occupy together: the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub memory_consumed: Option<Bytes>,
    /// Its highest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub memory_consumed_peak: Option<Bytes>,
}
