//! What the families of hypervisors decide differently, one folder each. [`model`] is the only place of this crate that
//! asks for the family; everything else asks the object that it returns. `interface.rs` says what a family decides;
//! `esxi/`, `linux/` and `bare_metal/` are the families.

pub mod bare_metal;
pub mod esxi;
pub mod interface;
pub mod linux;

use hypertwin_cluster::{Family, Hypervisor};
use interface::HypervisorModel;

/// The model of a hypervisor: that of its family, which knows its versions.
pub fn model(hypervisor: Hypervisor) -> &'static dyn HypervisorModel {
    match hypervisor.family() {
        Family::Esxi => &esxi::Esxi,
        Family::Linux => &linux::Linux,
        Family::BareMetal => &bare_metal::BareMetal,
    }
}
