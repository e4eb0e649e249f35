//! Every host, VM and pool of a scenario by name, with what follows from its keys: what front ends need to know without
//! reading the scenario's language a second time.

use serde::Serialize;

use crate::names::{member_name, member_names};
use crate::redundancy::Redundancy;
use crate::spec::host::HostGroup;
use crate::spec::scenario::Scenario;
use crate::spec::vm::VmGroup;

/// Every host, VM and pool of a scenario. Sizes are in bytes, clocks in Hz.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inventory {
    /// Hosts, in the order of [`Scenario::host_names`].
    pub hosts: Vec<HostMember>,
    /// VMs, in the order of [`Scenario::vm_names`].
    pub vms: Vec<VmMember>,
    /// Pools of distributed storage, in order of name.
    pub pools: Vec<PoolMember>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostMember {
    /// Its name in the scenario and in reports.
    pub name: String,
    /// The key of `hosts` that it is of.
    pub group: String,
    /// Its name in its own system, numbered where the group has several hosts.
    pub label: Option<String>,
    /// Hypervisor and version.
    pub hypervisor: &'static str,
    /// `esxi` or `linux`.
    pub family: &'static str,
    /// Sockets, each one NUMA node.
    pub sockets: u32,
    /// Physical cores of one socket.
    pub cores_per_socket: u32,
    /// Hardware threads of one core.
    pub threads_per_core: u32,
    /// Physical cores.
    pub cores: u32,
    /// Logical CPUs.
    pub threads: u32,
    /// Nominal clock.
    pub clock_hz: u64,
    /// Memory of all nodes.
    pub memory_bytes: u64,
    /// Memory of one node.
    pub memory_per_node_bytes: u64,
}

/// A VM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VmMember {
    /// Its name in the scenario and in reports.
    pub name: String,
    /// The key of `vms` that it is of.
    pub group: String,
    /// Its name in its own system, numbered where the group has several VMs.
    pub label: Option<String>,
    /// Name of the host that it is placed on; `None` where it fits nowhere.
    pub host: Option<String>,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Whether it serves storage to its host.
    pub storage_appliance: bool,
    /// The array that has its virtual disks.
    pub array: Option<String>,
    /// The pool that has its virtual disks.
    pub pool: Option<String>,
    /// Virtual disks, which count only with an array or a pool.
    pub vdisks: u32,
}

/// A pool of distributed storage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolMember {
    /// Its name.
    pub name: String,
    /// The key of `hosts` that its nodes are of.
    pub group: String,
    /// Names of its nodes.
    pub hosts: Vec<String>,
    /// Whether VMs that use it may be on its nodes.
    pub vms_on_nodes: bool,
    /// What is kept of the data.
    pub redundancy: RedundancyFacts,
}

/// What a redundancy asks for and survives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RedundancyFacts {
    /// As scenarios write it.
    pub scheme: String,
    /// Whether it is an erasure code: what it keeps are fragments, else copies.
    pub is_erasure_code: bool,
    /// Copies or fragments of one piece of data.
    pub width: u32,
    /// Copies or fragments from which the data can be read.
    pub needed: u32,
    /// Copies or fragments that may be lost without loss of data.
    pub survives: u32,
    /// Copies or fragments that must be there for a write.
    pub minimum: u32,
}

impl From<Redundancy> for RedundancyFacts {
    fn from(redundancy: Redundancy) -> Self {
        Self {
            scheme: redundancy.to_string(),
            is_erasure_code: matches!(redundancy, Redundancy::Erasure { .. }),
            width: redundancy.width(),
            needed: redundancy.needed(),
            survives: redundancy.survives(),
            minimum: redundancy.minimum_available(),
        }
    }
}

impl Scenario {
    /// Every host, VM and pool, with what follows from its keys.
    pub fn inventory(&self) -> Inventory {
        let hosts: Vec<HostMember> = self
            .hosts
            .iter()
            .flat_map(|(name, group)| hosts_of(name, group))
            .collect();
        let mut vms: Vec<VmMember> = self.vms.iter().flat_map(|(name, group)| vms_of(name, group)).collect();
        for (vm, host) in vms.iter_mut().zip(self.placement().into_iter().flatten()) {
            vm.host = Some(hosts[host].name.clone());
        }
        let pools = self.storage.iter().map(|(name, pool)| PoolMember {
            name: name.clone(),
            group: pool.nodes.clone(),
            hosts: member_names(&pool.nodes, self.hosts[&pool.nodes].count).collect(),
            vms_on_nodes: pool.deployment.allows(true),
            redundancy: pool.redundancy().into(),
        });
        Inventory {
            pools: pools.collect(),
            hosts,
            vms,
        }
    }
}

fn hosts_of(name: &str, group: &HostGroup) -> impl Iterator<Item = HostMember> {
    (1..=group.count).map(move |number| HostMember {
        name: member_name(name, group.count, number),
        group: name.to_owned(),
        label: group
            .label
            .as_ref()
            .map(|label| member_name(label, group.count, number)),
        hypervisor: group.hypervisor.as_str(),
        family: group.hypervisor.family().as_str(),
        sockets: group.sockets,
        cores_per_socket: group.cores_per_socket,
        threads_per_core: group.threads_per_core,
        cores: group.cores(),
        threads: group.logical_cpus(),
        clock_hz: group.clock.whole_hz(),
        memory_bytes: group.memory().bytes(),
        memory_per_node_bytes: group.memory_per_node.bytes(),
    })
}

fn vms_of(name: &str, group: &VmGroup) -> impl Iterator<Item = VmMember> {
    (1..=group.count).map(move |number| VmMember {
        name: member_name(name, group.count, number),
        group: name.to_owned(),
        label: group
            .label
            .as_ref()
            .map(|label| member_name(label, group.count, number)),
        host: None,
        vcpus: group.vcpus,
        memory_bytes: group.memory.bytes(),
        storage_appliance: group.storage_appliance,
        array: group.array.clone(),
        pool: group.storage.clone(),
        vdisks: group.all_vdisks(),
    })
}
