//! Every cluster, host, VM and pool of a scenario by name, with derived values, so that front ends need not interpret
//! scenarios themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::Limits;
use crate::names::{member_name, member_names};
use crate::placement::{self, Place};
use crate::quantity::{Bytes, Frequency};
use crate::record::{Class, Flat, Record};
use crate::redundancy::Redundancy;
use crate::spec::cluster::{Cluster, Datastore, PowerPolicy, PoweredOff};
use crate::spec::host::HostGroup;
use crate::spec::measured::{MeasuredCluster, MeasuredHost, MeasuredVm};
use crate::spec::placement_rule::{PlacementRule, RuleKind};
use crate::spec::scenario::Scenario;
use crate::spec::source::{SourceCluster, SourceDisk, SourceNetwork, SourcePartition, SourceVm};
use crate::spec::vm::{End, RestartPriority, VmGroup};
use crate::spec::workload::Workload;

records! {
    /// Every cluster, host, VM and pool of a scenario. Sizes are in bytes, clocks in Hz, times in seconds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Inventory {
        /// Clusters that have a host, in order of name.
        pub clusters: Vec<ClusterMember>,
        /// Hosts, in the order of [`Scenario::host_names`].
        pub hosts: Vec<HostMember>,
        /// VMs, in the order of [`Scenario::vm_names`].
        pub vms: Vec<VmMember>,
        /// Pools of distributed storage, in order of name.
        pub pools: Vec<PoolMember>,
        /// Powered-off VMs and templates, in order of name.
        pub powered_off: Vec<PoweredOffMember>,
        /// Datastores, in order of name.
        pub datastores: Vec<DatastoreMember>,
        /// Placement rules, in the scenario's order.
        pub rules: Vec<RuleMember>,
    }

    /// A placement rule.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RuleMember {
        /// Name in vCenter or Proxmox.
        pub name: String,
        /// Kind of rule.
        pub kind: RuleKind,
        /// VMs of the rule.
        pub vms: Vec<String>,
        /// Hosts of the rule, for `run-on` and `not-on`.
        pub hosts: Vec<String>,
        /// Must rule: a VM stays powered off if no host keeps the rule.
        pub mandatory: bool,
    }

    /// A cluster.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClusterMember {
        /// Its name in the scenario and in reports.
        pub name: String,
        /// Name in vCenter or Proxmox.
        pub label: Option<String>,
        /// Datacenter.
        pub datacenter: Option<String>,
        /// HA restarts VMs of a failed host; `None` if unknown, like all that follows.
        pub ha: Option<bool>,
        /// Admission control is enabled.
        pub admission_control: Option<bool>,
        /// Host failures that admission control reserves capacity for.
        pub failures: Option<u32>,
        /// CPU generation that its hosts present to VMs (EVC mode).
        pub evc: Option<String>,
        /// Measured values of its VMs together.
        pub measured: MeasuredCluster,
        /// Facts of its source system.
        pub source: SourceCluster,
    }

    /// A powered-off VM or a template.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PoweredOffMember {
        /// Key in the scenario.
        pub name: String,
        /// The VM as the scenario has it.
        pub vm: Flat<PoweredOff>,
        /// CPU shares of the whole VM.
        pub shares: f64,
    }

    /// A datastore with virtual disks.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DatastoreMember {
        /// Key in the scenario.
        pub name: String,
        /// The datastore as the scenario has it.
        pub store: Flat<Datastore>,
    }

    /// A host.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HostMember {
        /// Its name in the scenario and in reports.
        pub name: String,
        /// Its group: a key of `hosts`.
        pub group: String,
        /// Name in vCenter or Proxmox, numbered if the group has several hosts.
        pub label: Option<String>,
        /// Name of its cluster.
        pub cluster: String,
        /// Hypervisor and version.
        pub hypervisor: &'static str,
        /// `esxi` or `linux`.
        pub family: &'static str,
        /// Sockets.
        pub sockets: u32,
        /// Physical cores per socket.
        pub cores_per_socket: u32,
        /// NUMA nodes.
        pub nodes: u32,
        /// Physical cores per NUMA node.
        pub cores_per_node: u32,
        /// Hardware threads per core.
        pub threads_per_core: u32,
        /// Physical cores.
        pub cores: u32,
        /// Logical CPUs.
        pub threads: u32,
        /// Nominal clock.
        pub clock: Frequency,
        /// Clock that all cores sustain when busy.
        pub busy_clock: Frequency,
        /// Work of VMs per cycle, relative to the hosts where it was measured.
        pub work_per_cycle: f64,
        /// Memory of all nodes.
        pub memory: Bytes,
        /// Memory of one node.
        pub memory_per_node: Bytes,
        /// Memory that the hypervisor and its services occupy and VMs cannot use.
        pub hypervisor_memory: Bytes,
        /// Part of it that comes from published figures of its pools' software, if the scenario does not set it.
        pub storage_memory: Bytes,
        /// Physical processors for licensing.
        pub processors: u32,
        /// Processor model; `None` if unknown, like all that follows.
        pub cpu_model: Option<String>,
        /// The processor supports hyper-threading, on or off.
        pub hyper_threading_available: Option<bool>,
        /// Power policy.
        pub power_policy: Option<PowerPolicy>,
        /// CPU generation that it presents to VMs (EVC mode).
        pub evc: Option<String>,
        /// Newest CPU generation that it supports.
        pub evc_most: Option<String>,
        /// Its measured values.
        pub measured: MeasuredHost,
    }

    /// A VM.
    #[derive(Clone, Debug, PartialEq)]
    pub struct VmMember {
        /// Its name in the scenario and in reports.
        pub name: String,
        /// Its group: a key of `vms`.
        pub group: String,
        /// Name in vCenter or Proxmox, numbered if the group has several VMs.
        pub label: Option<String>,
        /// Name of its host.
        pub host: String,
        /// Name of the cluster of that host.
        pub cluster: String,
        /// The scenario names its host, which still exists.
        pub host_is_given: bool,
        /// That name is a guess.
        pub host_is_guess: bool,
        /// vCPUs.
        pub vcpus: u32,
        /// Memory.
        pub memory: Bytes,
        /// Memory that it has touched and consumes.
        pub memory_touched: Bytes,
        /// Memory reservation, without memory overhead.
        pub memory_reservation: Bytes,
        /// CPU reservation.
        pub reservation: Frequency,
        /// CPU limit; `None` without one.
        pub limit: Option<Frequency>,
        /// CPU shares of the whole VM.
        pub shares: f64,
        /// Cores per virtual socket; `None` for the default of the hypervisor.
        pub cores_per_socket: Option<u32>,
        /// vCPUs can be added while it runs.
        pub cpu_hot_add: bool,
        /// It has CPU affinity.
        pub has_affinity: bool,
        /// Restart order after a host failure.
        pub restart_priority: RestartPriority,
        /// It cannot leave its host: it has CPU affinity or disks inside the host, or serves storage to it.
        pub stays_on_host: bool,
        /// It can migrate while it runs.
        pub live_migration: bool,
        /// Groups of hosts of its cluster that it fits (vCPUs, memory, hypervisor, storage), in order of name.
        pub host_groups: Vec<String>,
        /// It serves storage to its host.
        pub storage_appliance: bool,
        /// Guest operating system, as the source names it; `None` if unknown.
        pub guest_os: Option<String>,
        /// Software in the guest that needs a licence.
        pub products: Vec<String>,
        /// Array that holds its virtual disks.
        pub array: Option<String>,
        /// Pool that holds its virtual disks.
        pub pool: Option<String>,
        /// Number of virtual disks; counts only with an array or a pool.
        pub vdisks: u32,
        /// Number of virtual disks on its pool per policy; without a policy, the pool's own redundancy applies.
        pub policies: BTreeMap<String, u32>,
        /// Its measured values.
        pub measured: MeasuredVm,
        /// Facts of its source system.
        pub source: SourceVm,
    }

    /// A pool of distributed storage.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PoolMember {
        /// Its name.
        pub name: String,
        /// Groups of its nodes: keys of `hosts`.
        pub groups: Vec<String>,
        /// Names of its nodes.
        pub hosts: Vec<String>,
        /// VMs that use it can be on its nodes.
        pub vms_on_nodes: bool,
        /// Redundancy of the data.
        pub redundancy: RedundancyFacts,
        /// Redundancy of each storage policy.
        pub policies: BTreeMap<String, RedundancyFacts>,
        /// Metadata servers, on its first nodes, of which more than half must be up for any I/O; 0 if none is needed.
        pub metadata_servers: u32,
    }

    /// Facts about a redundancy.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RedundancyFacts {
        /// As scenarios write it.
        pub scheme: String,
        /// It is an erasure code: it keeps fragments, otherwise replicas.
        pub is_erasure_code: bool,
        /// Replicas or fragments of one piece of data.
        pub width: u32,
        /// Replicas or fragments needed to read the data.
        pub needed: u32,
        /// Failures tolerated: replicas or fragments that can be lost without data loss.
        pub failures_tolerated: u32,
        /// Replicas or fragments needed for a write: of a pool, as its product needs them.
        pub minimum: u32,
        /// Failure domains needed to recover lost replicas or fragments. Of a pool: with witnesses.
        pub domains: u32,
    }
}

/// Classes of Python for the members of scenarios, each after those that it has parts of.
pub fn classes() -> Vec<Class> {
    vec![
        MeasuredHost::class(),
        MeasuredVm::class(),
        MeasuredCluster::class(),
        SourceDisk::class(),
        SourceNetwork::class(),
        SourcePartition::class(),
        SourceVm::class(),
        SourceCluster::class(),
        RedundancyFacts::class(),
        ClusterMember::class(),
        HostMember::class(),
        VmMember::class(),
        PoolMember::class(),
        PoweredOffMember::class(),
        DatastoreMember::class(),
        RuleMember::class(),
        Limits::class(),
    ]
}

impl From<Redundancy> for RedundancyFacts {
    fn from(redundancy: Redundancy) -> Self {
        Self {
            scheme: redundancy.to_string(),
            is_erasure_code: matches!(redundancy, Redundancy::Erasure { .. }),
            width: redundancy.width(),
            needed: redundancy.needed(),
            failures_tolerated: redundancy.survives(),
            minimum: redundancy.minimum_available(),
            domains: redundancy.width(),
        }
    }
}

impl Scenario {
    /// Every cluster, host, VM and pool, with derived values.
    pub fn inventory(&self) -> Inventory {
        let hosts: Vec<HostMember> = self
            .hosts
            .iter()
            .flat_map(|(name, group)| hosts_of(name, group))
            .collect();
        let mut vms: Vec<VmMember> = self
            .vms
            .iter()
            .flat_map(|(name, group)| vms_of(name, group, self.workloads.get(&group.workload), &self.hosts))
            .collect();
        for (vm, host) in vms.iter_mut().zip(self.placement().into_iter().flatten()) {
            let there = &hosts[host];
            vm.host_groups = placement::host_groups(self, &vm.group, &there.group);
            vm.stays_on_host |= placement::has_disks_inside(self, &vm.group);
            vm.host = there.name.clone();
            vm.cluster = there.cluster.clone();
        }
        let pools = self.storage.iter().map(|(name, pool)| PoolMember {
            name: name.clone(),
            groups: pool.nodes.groups().into_iter().map(str::to_owned).collect(),
            hosts: pool.nodes.members(|group| self.hosts[group].count).collect(),
            vms_on_nodes: pool.deployment.allows(true),
            redundancy: pool.redundancy().into(),
            policies: pool
                .policies
                .iter()
                .map(|(name, policy)| (name.clone(), policy.redundancy.into()))
                .collect(),
            metadata_servers: 0,
        });
        let powered_off = self.powered_off.iter().map(|(name, vm)| PoweredOffMember {
            name: name.clone(),
            shares: vm.shares.total(vm.vcpus),
            vm: Flat(vm.clone()),
        });
        let datastores = self.datastores.iter().map(|(name, store)| DatastoreMember {
            name: name.clone(),
            store: Flat(store.clone()),
        });
        let clusters: BTreeSet<&str> = hosts.iter().map(|host| host.cluster.as_str()).collect();
        Inventory {
            clusters: clusters
                .into_iter()
                .map(|name| cluster(name, self.clusters.get(name)))
                .collect(),
            pools: pools.collect(),
            powered_off: powered_off.collect(),
            datastores: datastores.collect(),
            rules: self.rules.iter().map(|rule| self.rule(rule)).collect(),
            hosts,
            vms,
        }
    }
}

impl Scenario {
    fn rule(&self, rule: &PlacementRule) -> RuleMember {
        let vms = rule
            .vms
            .iter()
            .filter_map(|name| Some((name, self.vms.get(name)?.count)));
        let hosts = rule
            .hosts
            .iter()
            .filter_map(|name| Some((name, self.hosts.get(name)?.count)));
        RuleMember {
            name: rule.name.clone(),
            kind: rule.kind,
            vms: vms.flat_map(|(name, count)| member_names(name, count)).collect(),
            hosts: hosts.flat_map(|(name, count)| member_names(name, count)).collect(),
            mandatory: rule.mandatory,
        }
    }
}

fn cluster(name: &str, cluster: Option<&Cluster>) -> ClusterMember {
    let known = cluster.cloned().unwrap_or_default();
    let ha = known.ha.unwrap_or_default();
    ClusterMember {
        name: name.to_owned(),
        label: known.label,
        datacenter: known.datacenter,
        ha: ha.is_on(),
        admission_control: ha.admission,
        failures: ha.failures,
        evc: known.evc,
        measured: known.measured.unwrap_or_default(),
        source: known.source.unwrap_or_default(),
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
        cluster: group.cluster.clone(),
        hypervisor: group.hypervisor.as_str(),
        family: group.hypervisor.family().as_str(),
        sockets: group.sockets,
        cores_per_socket: group.cores_per_socket,
        nodes: group.nodes(),
        cores_per_node: group.cores_per_node(),
        threads_per_core: group.threads_per_core,
        cores: group.cores(),
        threads: group.logical_cpus(),
        clock: group.clock,
        busy_clock: group.busy_clock(),
        work_per_cycle: group.work_per_cycle,
        memory: group.memory(),
        memory_per_node: group.memory_per_node,
        hypervisor_memory: group.hypervisor_memory(),
        storage_memory: group.storage_memory,
        processors: group.processors.unwrap_or(group.sockets),
        cpu_model: group.cpu_model.clone(),
        hyper_threading_available: group.hyper_threading_available,
        power_policy: group.power_policy,
        evc: group.evc.clone(),
        evc_most: group.evc_most.clone(),
        measured: group.measured.clone().unwrap_or_default(),
    })
}

fn vms_of(
    name: &str,
    group: &VmGroup,
    workload: Option<&Workload>,
    hosts: &BTreeMap<String, HostGroup>,
) -> impl Iterator<Item = VmMember> {
    let is_given = matches!(Place::of(hosts, Some, group), Place::Hosts(..));
    let pool = group.storage.as_deref().map(End::Pool);
    let mut policies = BTreeMap::new();
    for (pool, workload) in pool.into_iter().zip(workload) {
        for (policy, vdisks) in group.policies_of(pool, workload) {
            *policies.entry(policy.unwrap_or_default().to_owned()).or_default() += vdisks;
        }
    }
    policies.remove("");
    (1..=group.count).map(move |number| VmMember {
        name: member_name(name, group.count, number),
        group: name.to_owned(),
        label: group
            .label
            .as_ref()
            .map(|label| member_name(label, group.count, number)),
        host: String::new(),
        cluster: String::new(),
        host_is_given: is_given,
        host_is_guess: is_given && group.host_is_guess,
        vcpus: group.vcpus,
        memory: group.memory,
        memory_touched: group.memory_touched.unwrap_or(group.memory),
        memory_reservation: group.memory_reservation,
        reservation: group.reservation,
        limit: group.limit,
        shares: group.shares.total(group.vcpus),
        cores_per_socket: group.cores_per_socket,
        cpu_hot_add: group.cpu_hot_add,
        has_affinity: group.affinity.is_some(),
        restart_priority: group.restart_priority,
        stays_on_host: group.affinity.is_some() || group.storage_appliance,
        live_migration: group.live_migration && !group.storage_appliance,
        host_groups: Vec::new(),
        storage_appliance: group.storage_appliance,
        guest_os: group.guest_os.clone(),
        products: group.products.clone(),
        array: group.array.clone(),
        pool: group.storage.clone(),
        vdisks: workload.map_or(0, |workload| group.vdisks_of_end(workload)),
        policies: policies.clone(),
        measured: group.measured.clone().unwrap_or_default(),
        source: group.source.clone().unwrap_or_default(),
    })
}
