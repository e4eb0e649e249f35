//! What a host does when the memory of its VMs does not fit: pure rules, one file for each family of hypervisors.
//!
//! | file | what it holds |
//! |---|---|
//! | `policy.rs` | states of a host's memory, what is done in each, and what a VM claims |
//! | `esxi.rs` | ESXi: minimum free memory, states, idle tax, overhead of VMs |
//! | `linux.rs` | Linux with KVM: watermarks, least recently used pages, the OOM killer |

pub mod esxi;
pub mod linux;
mod policy;

pub use policy::{Actions, Level, Policy, ShareRate, Tenant, Threshold, touched};

use hypertwin_cluster::VmGroup;

impl Policy {
    /// Memory that the host needs for a VM beside the VM's own, in bytes.
    pub fn overhead(&self, vm: &VmGroup) -> f64 {
        self.esxi
            .map_or(0.0, |version| esxi::overhead(version, vm.memory, vm.vcpus))
    }

    /// What each VM may keep of `available` bytes.
    pub fn targets(&self, available: f64, tenants: &[Tenant]) -> Vec<f64> {
        let available = available.max(0.0);
        match self.by_shares {
            true => esxi::targets(available, tenants, self.idle_cost),
            false => linux::targets(available, tenants),
        }
    }
}
