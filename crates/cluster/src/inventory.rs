//! Every cluster, host, VM and pool of a scenario by name, with derived values, so that front ends need not interpret
//! scenarios themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::names::{member_name, member_names};
use crate::placement::{self, Place};
use crate::quantity::{Bytes, Duration, Frequency};
use crate::redundancy::Redundancy;
use crate::source_facts::SourceFacts;
use crate::spec::cluster::{Cluster, Datastore, PowerPolicy, PoweredOff};
use crate::spec::host::HostGroup;
use crate::spec::measured::{MeasuredCluster, MeasuredHost, MeasuredVm};
use crate::spec::placement_rule::{PlacementRule, RuleKind};
use crate::spec::scenario::Scenario;
use crate::spec::source::SourceCluster;
use crate::spec::vm::{End, RestartPriority, VmGroup};
use crate::spec::workload::Workload;

/// Every cluster, host, VM and pool of a scenario. Sizes are in bytes, clocks in Hz, times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub measured: MeasuredClusterFacts,
    /// Facts of its source system.
    pub source: SourceCluster,
}

/// A powered-off VM or a template.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoweredOffMember {
    /// Its key.
    pub name: String,
    /// Name in vCenter or Proxmox.
    pub label: Option<String>,
    /// Cluster, if known.
    pub cluster: Option<String>,
    /// Host on which it is registered, if known.
    pub host: Option<String>,
    /// It is a template.
    pub template: bool,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Cores per virtual socket, if known.
    pub cores_per_socket: Option<u32>,
    /// Memory.
    pub memory_bytes: u64,
    /// Memory reservation.
    pub memory_reservation_bytes: u64,
    /// vCPUs can be added while it runs.
    pub cpu_hot_add: bool,
    /// CPU shares of the whole VM.
    pub shares: f64,
    /// CPU reservation.
    pub reservation_hz: u64,
    /// CPU limit; `None` without one.
    pub limit_hz: Option<u64>,
    /// Provisioned storage.
    pub storage_provisioned_bytes: Option<u64>,
    /// Used storage.
    pub storage_used_bytes: Option<u64>,
    /// Number of snapshots.
    pub snapshot_count: Option<u32>,
    /// Guest operating system, as the source names it.
    pub guest_os: Option<String>,
    /// Facts of its source system.
    pub source: SourceFacts,
}

/// A datastore.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatastoreMember {
    /// Its key.
    pub name: String,
    /// Name in vCenter or Proxmox.
    pub label: Option<String>,
    /// Clusters that use it.
    pub clusters: Vec<String>,
    /// Number of hosts that use it.
    pub hosts: Option<u32>,
    /// Type.
    pub kind: Option<String>,
    /// Capacity.
    pub capacity_bytes: u64,
    /// Free capacity.
    pub free_bytes: Option<u64>,
    /// Provisioned capacity of its virtual disks.
    pub provisioned_bytes: Option<u64>,
}

/// Measured values of a cluster's VMs together; `None` if not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredClusterFacts {
    /// Time of the measurement.
    pub at: Option<String>,
    /// Seconds that the CPU figures cover; `None` for a single sample.
    pub over_s: Option<f64>,
    /// Counter of the CPU figures.
    pub counter: Option<String>,
    /// CPU demand: the mean.
    pub cpu_mhz: Option<f64>,
    /// Its 95th percentile.
    pub cpu_p95_mhz: Option<f64>,
    /// Its peak.
    pub cpu_peak_mhz: Option<f64>,
    /// Host memory consumed by VMs: the mean.
    pub memory_consumed_bytes: Option<u64>,
    /// Its peak.
    pub memory_consumed_peak_bytes: Option<u64>,
}

/// Measured values of a host; `None` if not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredHostFacts {
    /// Time of the measurement.
    pub at: Option<String>,
    /// Seconds that the CPU figures cover; `None` for a single sample.
    pub over_s: Option<f64>,
    /// Counter of the CPU figures.
    pub counter: Option<String>,
    /// CPU used, in % of cores times nominal clock: the mean.
    pub cpu_usage_pct: Option<f64>,
    /// Its 95th percentile.
    pub cpu_p95_pct: Option<f64>,
    /// Its peak.
    pub cpu_peak_pct: Option<f64>,
    /// Memory used, in % of the host's memory.
    pub memory_usage_pct: Option<f64>,
    /// Memory reclaimed by ballooning.
    pub ballooned_bytes: Option<u64>,
    /// Memory swapped out.
    pub swapped_bytes: Option<u64>,
}

/// Measured values of a VM; `None` if not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredVmFacts {
    /// Time of the measurement.
    pub at: Option<String>,
    /// Seconds that the CPU figures cover; `None` for a single sample.
    pub over_s: Option<f64>,
    /// Counter of the CPU figures.
    pub counter: Option<String>,
    /// CPU demand: the mean.
    pub cpu_mhz: Option<f64>,
    /// Its 95th percentile.
    pub cpu_p95_mhz: Option<f64>,
    /// Its peak.
    pub cpu_peak_mhz: Option<f64>,
    /// CPU ready time, in % of each vCPU.
    pub ready_pct: Option<f64>,
    /// Consumed host memory.
    pub memory_consumed_bytes: Option<u64>,
    /// Active memory.
    pub memory_active_bytes: Option<u64>,
    /// Memory reclaimed by ballooning.
    pub ballooned_bytes: Option<u64>,
    /// Memory swapped out.
    pub swapped_bytes: Option<u64>,
    /// Provisioned storage.
    pub storage_provisioned_bytes: Option<u64>,
    /// Used storage on datastores.
    pub storage_used_bytes: Option<u64>,
    /// Guest used storage of its file systems.
    pub storage_in_guest_bytes: Option<u64>,
    /// Storage used by snapshots.
    pub snapshots_bytes: Option<u64>,
    /// Number of snapshots.
    pub snapshot_count: Option<u32>,
    /// Time of the oldest snapshot.
    pub oldest_snapshot: Option<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub clock_hz: u64,
    /// Clock that all cores sustain when busy.
    pub busy_clock_hz: u64,
    /// Work of VMs per cycle, relative to the hosts where it was measured.
    pub work_per_cycle: f64,
    /// Memory of all nodes.
    pub memory_bytes: u64,
    /// Memory of one node.
    pub memory_per_node_bytes: u64,
    /// Memory that the hypervisor and its services occupy and VMs cannot use.
    pub hypervisor_memory_bytes: u64,
    /// Part of it that comes from published figures of its pools' software, if the scenario does not set it.
    pub storage_memory_bytes: u64,
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
    pub measured: MeasuredHostFacts,
}

/// A VM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VmMember {
    /// Its name in the scenario and in reports.
    pub name: String,
    /// Its group: a key of `vms`.
    pub group: String,
    /// Name in vCenter or Proxmox, numbered if the group has several VMs.
    pub label: Option<String>,
    /// Name of its host; `None` if it fits no host.
    pub host: Option<String>,
    /// Name of the cluster of that host.
    pub cluster: Option<String>,
    /// The scenario names its host, which still exists.
    pub host_is_given: bool,
    /// That name is a guess.
    pub host_is_guess: bool,
    /// vCPUs.
    pub vcpus: u32,
    /// Memory.
    pub memory_bytes: u64,
    /// Memory that it has touched and consumes.
    pub memory_touched_bytes: u64,
    /// Memory reservation, without memory overhead.
    pub memory_reservation_bytes: u64,
    /// CPU reservation.
    pub reservation_hz: u64,
    /// CPU limit; `None` without one.
    pub limit_hz: Option<u64>,
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
    pub measured: MeasuredVmFacts,
    /// Facts of its source system.
    pub source: SourceFacts,
}

/// A pool of distributed storage.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

/// Facts about a redundancy.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Replicas or fragments needed for a write.
    pub minimum: u32,
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
            vm.host = Some(there.name.clone());
            vm.cluster = Some(there.cluster.clone());
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
        });
        let clusters: BTreeSet<&str> = hosts.iter().map(|host| host.cluster.as_str()).collect();
        Inventory {
            clusters: clusters
                .into_iter()
                .map(|name| cluster(name, self.clusters.get(name)))
                .collect(),
            pools: pools.collect(),
            powered_off: self
                .powered_off
                .iter()
                .map(|(name, vm)| powered_off(name, vm))
                .collect(),
            datastores: self
                .datastores
                .iter()
                .map(|(name, store)| datastore(name, store))
                .collect(),
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
    let measured: MeasuredCluster = known.measured.unwrap_or_default();
    ClusterMember {
        name: name.to_owned(),
        label: known.label,
        datacenter: known.datacenter,
        ha: ha.enabled,
        admission_control: ha.admission,
        failures: ha.failures,
        evc: known.evc,
        measured: MeasuredClusterFacts {
            at: measured.at,
            over_s: measured.over.map(Duration::seconds),
            counter: measured.counter,
            cpu_mhz: measured.cpu_mhz,
            cpu_p95_mhz: measured.cpu_p95_mhz,
            cpu_peak_mhz: measured.cpu_peak_mhz,
            memory_consumed_bytes: measured.memory_consumed.map(Bytes::bytes),
            memory_consumed_peak_bytes: measured.memory_consumed_peak.map(Bytes::bytes),
        },
        source: known.source.unwrap_or_default(),
    }
}

fn powered_off(name: &str, vm: &PoweredOff) -> PoweredOffMember {
    PoweredOffMember {
        name: name.to_owned(),
        label: vm.label.clone(),
        cluster: vm.cluster.clone(),
        host: vm.host.clone(),
        template: vm.template,
        vcpus: vm.vcpus,
        cores_per_socket: vm.cores_per_socket,
        memory_bytes: vm.memory.bytes(),
        memory_reservation_bytes: vm.memory_reservation.bytes(),
        cpu_hot_add: vm.cpu_hot_add,
        shares: vm.shares.total(vm.vcpus),
        reservation_hz: vm.reservation.map_or(0, Frequency::whole_hz),
        limit_hz: vm.limit.map(Frequency::whole_hz),
        storage_provisioned_bytes: vm.storage_provisioned.map(Bytes::bytes),
        storage_used_bytes: vm.storage_used.map(Bytes::bytes),
        snapshot_count: vm.snapshot_count,
        guest_os: vm.guest_os.clone(),
        source: vm.source.clone().unwrap_or_default().into(),
    }
}

fn datastore(name: &str, store: &Datastore) -> DatastoreMember {
    DatastoreMember {
        name: name.to_owned(),
        label: store.label.clone(),
        clusters: store.clusters.clone(),
        hosts: store.hosts,
        kind: store.kind.clone(),
        capacity_bytes: store.capacity.bytes(),
        free_bytes: store.free.map(Bytes::bytes),
        provisioned_bytes: store.provisioned.map(Bytes::bytes),
    }
}

impl From<MeasuredHost> for MeasuredHostFacts {
    fn from(measured: MeasuredHost) -> Self {
        Self {
            at: measured.at,
            over_s: measured.over.map(Duration::seconds),
            counter: measured.counter,
            cpu_usage_pct: measured.cpu_usage_pct,
            cpu_p95_pct: measured.cpu_p95_pct,
            cpu_peak_pct: measured.cpu_peak_pct,
            memory_usage_pct: measured.memory_usage_pct,
            ballooned_bytes: measured.ballooned.map(Bytes::bytes),
            swapped_bytes: measured.swapped.map(Bytes::bytes),
        }
    }
}

impl From<MeasuredVm> for MeasuredVmFacts {
    fn from(measured: MeasuredVm) -> Self {
        Self {
            at: measured.at,
            over_s: measured.over.map(Duration::seconds),
            counter: measured.counter,
            cpu_mhz: measured.cpu_mhz,
            cpu_p95_mhz: measured.cpu_p95_mhz,
            cpu_peak_mhz: measured.cpu_peak_mhz,
            ready_pct: measured.ready_pct,
            memory_consumed_bytes: measured.memory_consumed.map(Bytes::bytes),
            memory_active_bytes: measured.memory_active.map(Bytes::bytes),
            ballooned_bytes: measured.ballooned.map(Bytes::bytes),
            swapped_bytes: measured.swapped.map(Bytes::bytes),
            storage_provisioned_bytes: measured.storage_provisioned.map(Bytes::bytes),
            storage_used_bytes: measured.storage_used.map(Bytes::bytes),
            storage_in_guest_bytes: measured.storage_in_guest.map(Bytes::bytes),
            snapshots_bytes: measured.snapshots.map(Bytes::bytes),
            snapshot_count: measured.snapshot_count,
            oldest_snapshot: measured.oldest_snapshot,
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
        clock_hz: group.clock.whole_hz(),
        busy_clock_hz: group.busy_clock().whole_hz(),
        work_per_cycle: group.work_per_cycle,
        memory_bytes: group.memory().bytes(),
        memory_per_node_bytes: group.memory_per_node.bytes(),
        hypervisor_memory_bytes: group.hypervisor_memory().bytes(),
        storage_memory_bytes: group.storage_memory.bytes(),
        processors: group.processors.unwrap_or(group.sockets),
        cpu_model: group.cpu_model.clone(),
        hyper_threading_available: group.hyper_threading_available,
        power_policy: group.power_policy,
        evc: group.evc.clone(),
        evc_most: group.evc_most.clone(),
        measured: group.measured.clone().unwrap_or_default().into(),
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
        host: None,
        cluster: None,
        host_is_given: is_given,
        host_is_guess: is_given && group.host_is_guess,
        vcpus: group.vcpus,
        memory_bytes: group.memory.bytes(),
        memory_touched_bytes: group.memory_touched.unwrap_or(group.memory).bytes(),
        memory_reservation_bytes: group.memory_reservation.bytes(),
        reservation_hz: group.reservation.whole_hz(),
        limit_hz: group.limit.map(Frequency::whole_hz),
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
        measured: group.measured.clone().unwrap_or_default().into(),
        source: group.source.clone().unwrap_or_default().into(),
    })
}
