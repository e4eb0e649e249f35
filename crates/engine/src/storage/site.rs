//! What storage is built from.

use crate::ids::{HostId, Id, ProcessId, VmId, WorldId};
use crate::island::Island;
use crate::plan::{VmPlan, reference_clock};
use crate::storage::work::Stage;
use hypertwin_cluster::{
    CephClient, Device, DiskKind, Drive, End, Frequency, HostGroup, StoragePool, VmGroup, Workload,
};
use hypertwin_models::storage::product::product;
use std::collections::BTreeMap;

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
    pub reference_clock: Frequency,
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
            reference_clock: plan.reference_clock,
            host: plan.host,
            host_spec: plan.host_spec,
        }
    }

    /// Where its virtual disks are.
    pub fn ends(&self) -> impl Iterator<Item = End<'s>> + use<'s> {
        self.spec.ends(self.workload)
    }

    /// Virtual disks at each end.
    pub fn vdisks_of_end(&self) -> usize {
        self.spec.vdisks_of_end(self.workload) as usize
    }

    /// Bytes that the VM reads and writes on all of the virtual disks of one end.
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
            reference_clock: reference_clock(vm.workload, self.host(vm.host)),
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

    /// Working sets of all virtual disks that are where `is_there` says.
    pub fn working_sets(&self, is_there: impl Fn(End) -> bool) -> u64 {
        let of = |vm: &SiteVm| {
            let ends = vm.spec.ends(vm.workload).filter(|&end| is_there(end)).count() as u64;
            vm.working_set().saturating_mul(ends)
        };
        self.vms.iter().map(of).fold(0, u64::saturating_add)
    }
}

impl SiteVm<'_> {
    /// Bytes that it reads and writes on all of the virtual disks of one end.
    pub fn working_set(&self) -> u64 {
        working_set(self.spec, self.workload)
    }
}

/// Bytes that the virtual disks of one end have in use.
fn working_set(spec: &VmGroup, workload: &Workload) -> u64 {
    let each = workload.working_set.bytes();
    each.saturating_mul(u64::from(spec.vdisks_of_end(workload)))
}

/// A queue of the service of a node.
#[derive(Clone, Copy)]
pub struct ServiceQueue {
    pub stage: Stage,
    pub threads: usize,
    /// Of a shard: its device, and how many shards its OSD has.
    pub shard_of: Option<(DiskKind, u32)>,
}

impl ServiceQueue {
    const fn new(stage: Stage, threads: usize) -> Self {
        Self {
            stage,
            threads,
            shard_of: None,
        }
    }
}

/// The queues that the service of a pool has on one of its nodes, by the node's number.
pub fn service_queues(spec: &StoragePool, own: &BTreeMap<String, Device>, node: usize) -> Vec<ServiceQueue> {
    let devices = spec.devices_per_node() as usize;
    let operations = |threads: u32| ServiceQueue::new(Stage::Operation, threads as usize);
    match spec.service.threads {
        _ if product(spec.kind).has_osds => osd_queues(spec, own, node),
        Some(threads) => vec![operations(threads)],
        None => vec![operations(spec.service.threads_per_device); devices],
    }
}

/// Those of Ceph: of each OSD its messengers, its shards and the thread that commits; then those of the node's gateway.
fn osd_queues(spec: &StoragePool, own: &BTreeMap<String, Device>, node: usize) -> Vec<ServiceQueue> {
    let ceph = spec.ceph();
    let mut queues = Vec::new();
    for devices in spec.all_devices() {
        let kind = Drive::of(devices.kind, devices.device.as_deref(), own).kind();
        let shards = ceph.shards_on(kind.is_flash());
        let shard = ServiceQueue {
            shard_of: Some((kind, shards)),
            ..ServiceQueue::new(Stage::Shard, ceph.threads_per_shard_on(kind.is_flash()) as usize)
        };
        for _ in 0..devices.per_node * ceph.osds_per_device {
            queues.extend((0..ceph.messengers).map(|_| ServiceQueue::new(Stage::Messages, 1)));
            queues.extend((0..shards).map(|_| shard));
            queues.push(ServiceQueue::new(Stage::Commit, 1));
        }
    }
    if ceph.client == CephClient::Gateway && node < ceph.gateways as usize {
        queues.push(ServiceQueue::new(Stage::Gateway, ceph.reactors as usize));
    }
    queues
}
