//! Drives, by their data sheets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::array::DiskKind;
use crate::quantity::{Bandwidth, Bytes, Duration, Rate};

/// A drive model, by its data sheet. Absent keys have the defaults of its `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Kind of drive.
    pub kind: DiskKind,
    /// User capacity to which the data sheet figures apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Option<Bytes>,
    /// Flash: random 4 KiB reads per second, at high queue depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate", extend("x-minimum" = "1 /s", "x-maximum" = "1000000000 /s"))]
    pub random_read: Option<Rate>,
    /// Flash: sustained random 4 KiB writes per second, with all capacity written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate", extend("x-minimum" = "1 /s", "x-maximum" = "1000000000 /s"))]
    pub random_write: Option<Rate>,
    /// Sequential reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub sequential_read: Option<Bandwidth>,
    /// Sustained sequential writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub sequential_write: Option<Bandwidth>,
    /// Flash: latency of one random 4 KiB read at queue depth 1, as fio measures it on a host: 3 us of it are the
    /// host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 us", "x-maximum" = "1 s"))]
    pub read_latency: Option<Duration>,
    /// Flash: latency of one 4 KiB write at queue depth 1, acknowledged from its buffer, measured likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 us", "x-maximum" = "1 s"))]
    pub write_latency: Option<Duration>,
    /// Concurrent operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 65_536))]
    pub depth: Option<u32>,
    /// Flash: power loss protection, so a flush has nothing to do. Default: yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub power_loss_protection: Option<bool>,
    /// Time of one flush, whatever was written before. Default: none with `power_loss_protection`; otherwise by `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "10 s"))]
    pub flush: Option<Duration>,
    /// Flash: over-provisioning, in % of capacity. It sets the write amplification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 1_000.0))]
    pub over_provisioning_pct: Option<f64>,
    /// Flash write cache (SLC cache of consumer drives): faster writes until it is full. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WriteCache")]
    pub write_cache: Option<WriteCache>,
    /// Stalls of the drive: garbage collection, wear levelling. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stalls")]
    pub stalls: Option<Stalls>,
    /// Hard disk: revolutions per minute. Default: by `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1_000, max = 30_000))]
    pub rpm: Option<u32>,
    /// Hard disk: mean read seek time. Default: by `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub seek_read: Option<Duration>,
    /// Hard disk: mean write seek time. Default: `seek_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub seek_write: Option<Duration>,
    /// Drive writes per day under warranty. It does not change a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000.0))]
    pub dwpd: Option<f64>,
    /// Source of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 1_000))]
    pub source: Option<String>,
}

/// Write cache of a drive: faster flash that empties while the drive is not writing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteCache {
    /// Capacity of the cache.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub size: Bytes,
    /// Write bandwidth until it is full.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub write: Bandwidth,
}

/// Stalls: times in which a drive serves no I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stalls {
    /// Mean bytes written between two stalls.
    #[schemars(extend("x-minimum" = "4 KiB", "x-maximum" = "1 PiB"))]
    pub written: Bytes,
    /// Duration of a stall.
    #[schemars(extend("x-minimum" = "1 us", "x-maximum" = "10 s"))]
    pub length: Duration,
}
