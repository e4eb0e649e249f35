//! What only pools of `kind: vsan` have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::is_default;
use super::hypervisor::{Family, Hypervisor};
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
    /// Whether devices that machines use give resynchronisation a fifth of their time (Adaptive Resync). Default: on
    /// hosts with esxi-6.7 or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub adaptive_resync: Option<bool>,
    /// Whether a witness has a vote on data of which there are two copies, on a host that has none of them.
    #[serde(skip_serializing_if = "is_default")]
    pub witness: bool,
}

impl Default for Vsan {
    fn default() -> Self {
        Self {
            architecture: VsanArchitecture::Esa,
            destage_from_pct: 30.0,
            adaptive_resync: None,
            witness: false,
        }
    }
}

impl Vsan {
    /// Whether resynchronisation gives way to machines, on hosts of this hypervisor.
    pub fn adapts_resync(&self, hypervisor: Hypervisor) -> bool {
        let is_new = hypervisor.family() == Family::Esxi && hypervisor >= Hypervisor::Esxi67;
        self.adaptive_resync.unwrap_or(is_new)
    }
}

/// Architecture of vSAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum VsanArchitecture {
    /// Original: disk groups with a cache device (`flash`) each, whose write buffer is overwritten in place. With hard
    /// disks as `devices` the larger part of it caches reads.
    Osa,
    /// Express: a mirrored log on all devices, which goes to the copies or stripes of the policy later.
    Esa,
}
