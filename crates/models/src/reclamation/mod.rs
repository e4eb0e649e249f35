//! What a host does when the memory of its VMs does not fit: pure rules. The figures are those of the families of
//! hypervisors (`hypervisor/*/memory.rs`).
//!
//! | file | what it holds |
//! |---|---|
//! | `policy.rs` | states of a host's memory, what is done in each, and what a VM claims |
//! | `division.rs` | what each VM may keep: by shares, or by its last use |

mod division;
pub(crate) mod policy;

pub(crate) use policy::part;
pub use policy::{Actions, Level, Policy, ShareRate, Tenant, Threshold, touched};

impl Policy {
    /// What each VM may keep of `available` bytes.
    pub fn targets(&self, available: f64, tenants: &[Tenant]) -> Vec<f64> {
        let available = available.max(0.0);
        match self.by_shares {
            true => division::by_shares(available, tenants, self.idle_cost),
            false => division::least_recent(available, tenants),
        }
    }
}
