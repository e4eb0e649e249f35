//! Models of the parts of a virtualised host: one file each, a pure state machine that names its source, its assumptions
//! and its range of validity. Models know neither the clock nor the calendar; times are integer nanoseconds that the
//! caller passes in.

pub mod accounting;
pub mod coscheduling;
pub mod cpu_set;
pub mod esxi_scheduler;
pub mod guest_system;
pub mod linux_scheduler;
pub mod memory;
pub mod numa;
pub mod scheduler;
pub mod smt;
pub mod storage;
pub mod topology;
pub mod vnuma;

use hypertwin_cluster::{Family, HostGroup};

/// The CPU scheduler of a host, by its hypervisor and version, with the host's overrides applied.
pub fn cpu_scheduler(host: &HostGroup) -> Box<dyn scheduler::CpuScheduler> {
    match host.hypervisor.family() {
        Family::Esxi => Box::new(esxi_scheduler::EsxiScheduler::new(host)),
        Family::Linux => Box::new(linux_scheduler::LinuxScheduler::new(host)),
    }
}
