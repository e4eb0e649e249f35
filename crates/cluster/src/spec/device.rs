//! Drives: what their data sheets say of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::array::DiskKind;
use crate::quantity::{Bandwidth, Bytes, Duration, Rate};

/// A model of drive, as its data sheet describes it. What is not said is as for its `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is.
    pub kind: DiskKind,
    /// User's capacity, as the data sheet's figures are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Option<Bytes>,
    /// Flash: random reads of 4 KiB per second, with many outstanding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate", extend("x-minimum" = "1 /s", "x-maximum" = "1000000000 /s"))]
    pub random_read: Option<Rate>,
    /// Flash: random writes of 4 KiB per second that it sustains, with all of its capacity written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate", extend("x-minimum" = "1 /s", "x-maximum" = "1000000000 /s"))]
    pub random_write: Option<Rate>,
    /// Reads in sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub sequential_read: Option<Bandwidth>,
    /// Writes in sequence that it sustains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub sequential_write: Option<Bandwidth>,
    /// Flash: one random read of 4 KiB with nothing else outstanding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 us", "x-maximum" = "1 s"))]
    pub read_latency: Option<Duration>,
    /// Flash: one write of 4 KiB with nothing else outstanding, acknowledged from its buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 us", "x-maximum" = "1 s"))]
    pub write_latency: Option<Duration>,
    /// Operations that it takes at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 65_536))]
    pub depth: Option<u32>,
    /// Flash: whether capacitors keep its buffer when power fails, so that a flush has nothing to do. Default: yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub power_loss_protection: Option<bool>,
    /// Time of one flush, whatever was written before it. Default: none with `power_loss_protection`; without, as for
    /// drives of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "10 s"))]
    pub flush: Option<Duration>,
    /// Flash: what it has beyond its capacity, in per cent of that, which decides how much more than it is given it
    /// writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 1_000.0))]
    pub over_provisioning_pct: Option<f64>,
    /// Flash that takes writes faster until it is full (SLC cache of consumer drives). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WriteCache")]
    pub write_cache: Option<WriteCache>,
    /// Times in which it does nothing for anybody: collections, wear levelling. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stalls")]
    pub stalls: Option<Stalls>,
    /// Hard disk: revolutions per minute. Default: of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1_000, max = 30_000))]
    pub rpm: Option<u32>,
    /// Hard disk: mean seek for a read. Default: of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub seek_read: Option<Duration>,
    /// Hard disk: mean seek for a write. Default: `seek_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub seek_write: Option<Duration>,
    /// Whole capacities that may be written each day while it has warranty. It does not change a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub dwpd: Option<f64>,
    /// Where its figures come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 1_000))]
    pub source: Option<String>,
}

/// Flash of a drive that takes writes faster than the rest of it, and is emptied while nobody writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteCache {
    /// What it holds.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub size: Bytes,
    /// What it takes until it is full.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub write: Bandwidth,
}

/// Times in which a drive does nothing for anybody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stalls {
    /// Bytes written between two, on average.
    #[schemars(extend("x-minimum" = "4 KiB", "x-maximum" = "1 PiB"))]
    pub written: Bytes,
    /// How long one is.
    #[schemars(extend("x-minimum" = "1 us", "x-maximum" = "10 s"))]
    pub length: Duration,
}
