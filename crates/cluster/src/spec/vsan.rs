//! What only pools of `kind: vsan` have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::is_default;
use super::shape::plain_enum;

/// A vSAN cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vsan {
    /// Where writes are acknowledged from.
    pub architecture: VsanArchitecture,
    /// OSA: how full the write buffer is when it begins to go to the capacity disks, in per cent.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub destage_from_pct: f64,
    /// Whether a witness has a vote on data of which there are two copies, on a host that has none of them.
    #[serde(skip_serializing_if = "is_default")]
    pub witness: bool,
}

impl Default for Vsan {
    fn default() -> Self {
        Self {
            architecture: VsanArchitecture::Esa,
            destage_from_pct: 30.0,
            witness: false,
        }
    }
}

/// Architecture of vSAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum VsanArchitecture {
    /// Original: disk groups with a cache device (`flash`) each, whose write buffer is overwritten in place. With hard disks
    /// as `devices` the larger part of it caches reads.
    Osa,
    /// Express: a mirrored log on all devices, which goes to the copies or stripes of the policy later.
    Esa,
}
