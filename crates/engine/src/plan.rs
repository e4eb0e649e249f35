//! What a VM is made from: each component takes what it needs of it.

use crate::ids::{ControllerId, HostId, VmId};
use hypertwin_cluster::{HostGroup, HypervisorOverhead, VmGroup, Workload};
use hypertwin_kernel::Stream;
use hypertwin_models::vnuma;

/// A VM of an island, and where it is.
pub struct VmPlan<'s> {
    pub vm: VmId,
    pub name: &'s str,
    /// Its group's number.
    pub group: usize,
    pub spec: &'s VmGroup,
    pub workload: &'s Workload,
    pub host: HostId,
    pub host_spec: &'s HostGroup,
    pub numa: vnuma::Topology,
    /// The number that its first virtual controller will have.
    pub first_controller: ControllerId,
    /// Of the random streams.
    pub seed: u64,
}

impl VmPlan<'_> {
    pub fn vcpus(&self) -> usize {
        self.spec.vcpus as usize
    }

    /// CPU of the host's hypervisor, if it has one.
    pub fn overhead(&self) -> Option<&HypervisorOverhead> {
        let has_one = self.host_spec.hypervisor.family().facts().virtualises;
        has_one.then_some(&self.host_spec.overhead)
    }

    /// Running clock of the host over the reference clock of the workload.
    pub fn clock_ratio(&self) -> f64 {
        let reference = self.workload.reference_clock.unwrap_or(self.host_spec.clock);
        self.host_spec.busy_clock().hz() / reference.hz()
    }

    /// A random stream of the VM.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("vm/{}/{purpose}", self.name))
    }
}
