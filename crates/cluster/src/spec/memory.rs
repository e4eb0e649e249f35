//! Memory of a host as VMs share it: their shares, what the host does when it has too little, where it swaps to.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::array::DiskKind;
use super::defaults::one;
use super::shape::plain_enum;
use crate::quantity::{Bytes, Duration};

/// The schema of memory shares: of the same words as CPU shares, and with larger numbers.
pub(super) struct MemoryShares;

impl JsonSchema for MemoryShares {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MemoryShares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "Memory shares of a virtual machine: what it keeps beside others when there is not enough. low, \
                normal and high are 5, 10 and 20 per MiB of its memory; a number is for the whole machine.",
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

/// What a host does when its memory runs short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reclamation {
    /// ESXi `Mem.IdleTax`: what an idle page costs more than an active one, in per cent; at 75 four times as much. The
    /// tax is flat, as VMware published it first; later versions tax by the ratio of idle to active memory, and how is
    /// not published.
    #[schemars(range(min = 0.0, max = 99.0))]
    pub idle_tax_pct: f64,
    /// How often active memory is estimated anew (ESXi `Mem.SamplePeriod`).
    #[schemars(extend("x-minimum" = "1 s", "x-maximum" = "1 h"))]
    pub sample_period: Duration,
    /// Between whose pages equal ones are shared. Default: on ESXi from 6.0 within one machine, before between all; on
    /// Linux none, since KSM is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PageSharing")]
    pub page_sharing: Option<PageSharing>,
    /// How much of a machine's memory a balloon takes at most, in per cent (ESXi `Mem.CtlMaxPercent`).
    #[schemars(range(min = 0.0, max = 95.0))]
    pub balloon_most_pct: f64,
    /// How much of a machine's memory its compressed pages may occupy, in per cent (ESXi `Mem.MemZipMaxPct`); 0 turns
    /// compression off.
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

/// Between whose pages equal ones are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PageSharing {
    /// None.
    Off,
    /// Of one machine.
    WithinVm,
    /// Of all machines of the host.
    BetweenVms,
}

/// Where a host swaps to: disks that belong to it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwapDevice {
    /// What they are, in general; or say `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// What they are, by name: of `devices`, or of the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// How many.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// Size of all together; a host whose swap is full can take no more. Default: enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub size: Option<Bytes>,
    /// Time on the way to them and back: fabric, array. Default: none.
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
