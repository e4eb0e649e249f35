//! What storage is built from.

use crate::ids::{HostId, Id, ProcessId, VmId, WorldId};
use crate::island::Island;
use crate::plan::VmPlan;
use hypertwin_cluster::{HostGroup, StoragePool, VmGroup, Workload};

/// An island with the worlds and processes that others have made for storage.
pub struct Site<'s> {
    pub island: &'s Island<'s>,
    /// Of the random streams.
    pub seed: u64,
    /// All VMs.
    pub vms: &'s [SiteVm<'s>],
    /// Per pool: the worlds of its services' threads, node after node.
    pub services: &'s [Vec<WorldId>],
}

/// A VM.
pub struct SiteVm<'s> {
    pub name: &'s str,
    pub spec: &'s VmGroup,
    pub workload: &'s Workload,
    pub group: usize,
    pub host: HostId,
    /// Worlds of its I/O threads, as many as it has on the host where it has most.
    pub io_threads: Vec<WorldId>,
    /// Its first process: a generator's workers are the processes from there on.
    pub first_process: ProcessId,
}

/// A VM on a host.
#[derive(Clone, Copy)]
pub struct Place<'s> {
    pub vm: VmId,
    pub group: usize,
    pub spec: &'s VmGroup,
    pub workload: &'s Workload,
    pub host: HostId,
    pub host_spec: &'s HostGroup,
}

impl<'s> Place<'s> {
    pub fn of(plan: &VmPlan<'s>) -> Self {
        Self {
            vm: plan.vm,
            group: plan.group,
            spec: plan.spec,
            workload: plan.workload,
            host: plan.host,
            host_spec: plan.host_spec,
        }
    }

    /// Bytes that the VM reads and writes on all of its virtual disks.
    pub fn working_set(&self) -> u64 {
        working_set(self.spec, self.workload)
    }
}

impl<'s> Site<'s> {
    /// Where a VM is.
    pub fn place(&self, id: VmId) -> Place<'s> {
        let vm = &self.vms[id.index()];
        Place {
            vm: id,
            group: vm.group,
            spec: vm.spec,
            workload: vm.workload,
            host: vm.host,
            host_spec: self.host(vm.host),
        }
    }

    /// Host that a VM is on.
    pub fn host(&self, host: HostId) -> &'s HostGroup {
        self.island.hosts[host].spec
    }

    /// All VMs with their numbers.
    pub fn vms(&self) -> impl Iterator<Item = (VmId, &SiteVm<'s>)> {
        self.vms.iter().enumerate().map(|(index, vm)| (VmId::new(index), vm))
    }

    /// Working sets of all virtual disks of the VMs that `uses` chooses.
    pub fn working_sets(&self, uses: impl Fn(&SiteVm) -> bool) -> u64 {
        let users = self.vms.iter().filter(|vm| uses(vm));
        users.map(SiteVm::working_set).fold(0, u64::saturating_add)
    }
}

impl SiteVm<'_> {
    /// Bytes that it reads and writes on all of its virtual disks.
    pub fn working_set(&self) -> u64 {
        working_set(self.spec, self.workload)
    }
}

fn working_set(spec: &VmGroup, workload: &Workload) -> u64 {
    let each = workload.working_set.bytes();
    each.saturating_mul(u64::from(spec.all_vdisks()))
}

/// Queues that the service of a pool has on each node, and threads of each queue.
pub fn service_threads(spec: &StoragePool) -> (usize, usize) {
    match spec.service.threads {
        Some(threads) => (1, threads as usize),
        None => (
            spec.devices_per_node() as usize,
            spec.service.threads_per_device as usize,
        ),
    }
}
