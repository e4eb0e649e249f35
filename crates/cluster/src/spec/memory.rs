//! Host memory: shares, reclamation and swap.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::array::DiskKind;
use super::defaults::one;
use super::shape::plain_enum;
use crate::quantity::{Bytes, Duration};

/// Schema of memory shares: the same words as CPU shares, with larger numbers.
pub(super) struct MemoryShares;

impl JsonSchema for MemoryShares {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MemoryShares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "Memory shares of a VM: its priority for host memory under contention. low, \
                normal and high are 5, 10 and 20 per MiB of its memory; a number applies to the whole VM.",
            "pattern": "^(low|normal|high)$",
            "minimum": 1,
            "maximum": 1_000_000_000,
            "examples": ["high", 40_000],
            "x-code": "unknown-value",
            "x-allowed": "low, normal, high, or an integer from 1 to 1000000000",
            "x-values": ["low", "normal", "high"],
        })
    }
}

/// Memory reclamation of a host when memory runs short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reclamation {
    /// ESXi `Mem.IdleTax`, in %: at 75 an idle page costs four times as much as an active one. The tax is flat, as
    /// VMware first published it. Later versions tax by the ratio of idle to active memory, by an unpublished formula.
    #[schemars(range(min = 0.0, max = 99.0))]
    pub idle_tax_pct: f64,
    /// Interval of active memory estimates (ESXi `Mem.SamplePeriod`).
    #[schemars(extend("x-minimum" = "1 s", "x-maximum" = "1 h"))]
    pub sample_period: Duration,
    /// Scope of page sharing. Default: ESXi 6.0 and later within one VM, earlier between all VMs; Linux off, because
    /// KSM is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PageSharing")]
    pub page_sharing: Option<PageSharing>,
    /// Most memory of a VM that ballooning reclaims, in % (ESXi `Mem.CtlMaxPercent`).
    #[schemars(range(min = 0.0, max = 95.0))]
    pub balloon_most_pct: f64,
    /// Most memory of a VM that its compressed pages occupy, in % (ESXi `Mem.MemZipMaxPct`); 0 turns compression off.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub compressed_most_pct: f64,
}

impl Default for Reclamation {
    fn default() -> Self {
        Self {
            idle_tax_pct: 75.0,
            sample_period: Duration::from_secs(60),
            page_sharing: None,
            balloon_most_pct: 65.0,
            compressed_most_pct: 10.0,
        }
    }
}

/// Scope of page sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PageSharing {
    /// No page sharing.
    Off,
    /// Within one VM.
    WithinVm,
    /// Between all VMs of the host.
    BetweenVms,
}

/// Swap device of a host: disks that only this host uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwapDevice {
    /// Generic kind of disk; or use `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// Drive model: a key of `devices`, or from the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// Number of disks.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// Total size. A host whose swap is full cannot swap more. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub size: Option<Bytes>,
    /// Extra round-trip latency to the disks: fabric, array. Default: none.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 s"))]
    pub latency: Duration,
}

impl Default for SwapDevice {
    fn default() -> Self {
        Self {
            kind: Some(DiskKind::SataSsd),
            device: None,
            count: 1,
            size: None,
            latency: Duration::ZERO,
        }
    }
}
