//! Settings of pools of `kind: vsan`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::is_default;
use super::hypervisor::Hypervisor;
use super::shape::plain_enum;

/// A vSAN cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vsan {
    /// vSAN architecture: sets where writes are acknowledged.
    pub architecture: VsanArchitecture,
    /// OSA: fill level of the write buffer, in %, at which destaging to the capacity disks begins.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub destage_from_pct: f64,
    /// Adaptive Resync: devices in use by VMs give resynchronisation 20% of their time. Default: on with esxi-6.7 or
    /// later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub adaptive_resync: Option<bool>,
    /// A witness host votes on data with two replicas.
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
    /// True if resynchronisation yields to VM I/O on hosts of this hypervisor.
    pub fn adapts_resync(&self, hypervisor: Hypervisor) -> bool {
        self.adaptive_resync
            .unwrap_or_else(|| hypervisor.is_since(Hypervisor::Esxi67))
    }
}

/// Architecture of vSAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum VsanArchitecture {
    /// Original: disk groups, each with a cache device (`flash`) whose write buffer absorbs overwrites. With hard disks
    /// as `devices`, most of it caches reads.
    Osa,
    /// Express: a mirrored log on all devices, destaged later to the replicas or stripes of the policy.
    Esa,
}
