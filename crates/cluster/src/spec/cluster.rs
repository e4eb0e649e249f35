//! Clusters of hosts, with their powered-off VMs and datastores.
//!
//! **A cluster is a name in its hosts.** An entry under `clusters` only adds settings. A scenario without `clusters`
//! therefore has one cluster, and every answer per cluster is also valid for such a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measured::MeasuredCluster;
use super::shape::plain_enum;
use super::source::{SourceCluster, SourceVm};
use super::vm::{Shares, is_normal, is_nothing};
use crate::quantity::{Bytes, Duration, Frequency};

plain! {
    PowerPolicy: "str";
}

/// A cluster: hosts between which VMs can migrate. Hosts name it in `cluster`; hosts without one belong to the cluster
/// `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cluster {
    /// Cluster name in vCenter or Proxmox, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["Production 1"]))]
    pub label: Option<String>,
    /// Datacenter, as vCenter or Proxmox names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["Frankfurt"]))]
    pub datacenter: Option<String>,
    /// High availability: restart of VMs on other hosts after a host failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HighAvailability")]
    pub ha: Option<HighAvailability>,
    /// DRS: automatic migration of VMs between hosts. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Balancing")]
    pub drs: Option<Balancing>,
    /// CPU generation that the hosts present to VMs (EVC mode), as vCenter names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 100), extend("examples" = ["intel-broadwell"]))]
    pub evc: Option<String>,
    /// Measured values of all its VMs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredCluster")]
    pub measured: Option<MeasuredCluster>,
    /// Facts of the source system about the cluster, for a move to another hypervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceCluster")]
    pub source: Option<SourceCluster>,
}

/// HA settings of a cluster. Settings that the source does not show are absent. HA changes a simulation only with a
/// `policy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HighAvailability {
    /// HA is enabled: it restarts VMs of a failed host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub enabled: Option<bool>,
    /// Admission control: HA refuses to power on VMs that would use failover capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub admission: Option<bool>,
    /// Host failures that admission control reserves capacity for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 64))]
    pub failures: Option<u32>,
    /// HA type; sets restart times. Without one, or with `enabled: false`, HA restarts nothing, and VMs resume only
    /// when their host returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RestartPolicy")]
    pub policy: Option<RestartPolicy>,
    /// Time from a failure to the first restart, or the shortest such time. Default: by `policy`, with the longest
    /// time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub detection: Option<Duration>,
    /// Longest time from a failure to the first restart. Each failure takes a time between both. Default: `detection`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub detection_longest: Option<Duration>,
    /// Host that manages HA (FDM primary, Proxmox master), by name. HA detects its failure later than that of other
    /// hosts. Default: none; every failed host counts as another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-1"]))]
    pub primary: Option<String>,
    /// A quorum device (QDevice) votes with the hosts. Only for `proxmox`, which restarts VMs only with a majority of
    /// votes. Default: unknown; a simulation assumes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub quorum_device: Option<bool>,
    /// Time from power-on until a VM serves again: firmware, operating system, application. Default: 60 s (assumed).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub boot: Option<Duration>,
    /// Admission control policy: `slots`, or a `percentage` of capacity. Default: `percentage`, but `slots` with a host
    /// older than vSphere 6.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AdmissionPolicy")]
    pub admission_policy: Option<AdmissionPolicy>,
    /// Failover capacity of `percentage`, in % of CPU and of memory. Default: `failures` / number of hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0))]
    pub admission_pct: Option<f64>,
}

impl HighAvailability {
    /// True if HA restarts VMs of a failed host, as set, or because an HA type is named. `None` if unknown.
    pub fn is_on(&self) -> Option<bool> {
        self.enabled.or(self.policy.map(|_| true))
    }

    /// True if HA restarts VMs of a failed host in a simulation.
    pub fn restarts(&self) -> bool {
        self.policy.is_some() && self.enabled != Some(false)
    }
}

/// HA type: the software that restarts VMs of a failed host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum RestartPolicy {
    /// vSphere HA, 5.0 and later.
    Fdm,
    /// Proxmox HA.
    Proxmox,
    /// OpenStack Masakari.
    Masakari,
}

/// Admission control policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum AdmissionPolicy {
    /// Slot policy: the largest CPU and memory reservations define a slot, and each host holds whole slots.
    Slots,
    /// Cluster resource percentage: part of the cluster's CPU and memory stays unreserved.
    Percentage,
}

/// DRS settings: how a cluster balances VMs between its hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Balancing {
    /// Balancing algorithm.
    pub policy: BalancingPolicy,
    /// Interval between runs. Default: by `policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 s", "x-maximum" = "1 d"))]
    pub period: Option<Duration>,
    /// Migration threshold, from 1 (only moves that rules require) to 5 (any gain).
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 5))]
    pub threshold: u32,
}

fn three() -> u32 {
    3
}

/// Balancing algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum BalancingPolicy {
    /// vSphere DRS up to 6.7: every 5 minutes, until hosts are equally loaded.
    #[serde(rename = "drs-6")]
    Drs6,
    /// vSphere DRS 7.0 and later: every minute, moves a VM that does better on another host.
    #[serde(rename = "drs-7")]
    Drs7,
    /// OpenStack Watcher, workload stabilization.
    Watcher,
}

/// Power management of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PowerPolicy {
    /// No power saving that costs performance.
    HighPerformance,
    /// The hypervisor lowers the clock if it expects no loss.
    Balanced,
    /// Saves energy at the cost of performance.
    LowPower,
    /// Custom settings.
    Custom,
    /// Controlled by firmware, or not supported.
    NotManaged,
}

records! {
    /// A powered-off VM or a template. It uses storage and can be powered on.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct PoweredOff {
        /// VM name in vCenter or Proxmox, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(
            with = "String",
            length(min = 1, max = 256),
            regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
        )]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["old web server"]))]
        pub label: Option<String>,
        /// Cluster of the VM, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["production"]))]
        pub cluster: Option<String>,
        /// Host on which it is registered, if known: a key of `hosts`, or one host of a group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-2"]))]
        pub host: Option<String>,
        /// It is a template.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub template: bool,
        /// vCPUs.
        #[schemars(range(min = 0, max = 768), extend("examples" = [2]))]
        pub vcpus: u32,
        /// Virtual cores per virtual socket, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 1, max = 768))]
        pub cores_per_socket: Option<u32>,
        /// Configured memory.
        #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
        pub memory: Bytes,
        /// Memory reservation, as `vms.NAME.memory_reservation`.
        #[serde(default, skip_serializing_if = "is_nothing")]
        #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
        pub memory_reservation: Bytes,
        /// CPU hot-add, as `vms.NAME.cpu_hot_add`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub cpu_hot_add: bool,
        /// CPU shares, as `vms.NAME.shares`.
        #[serde(default, skip_serializing_if = "is_normal")]
        #[schemars(with = "Shares", default = "Shares::default")]
        pub shares: Shares,
        /// CPU reservation, as `vms.NAME.reservation`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Frequency", extend("x-minimum" = "0 MHz", "x-maximum" = "1000 THz"))]
        pub reservation: Option<Frequency>,
        /// CPU limit, as `vms.NAME.limit`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Frequency", extend("x-minimum" = "1 MHz", "x-maximum" = "1000 THz"))]
        pub limit: Option<Frequency>,
        /// Provisioned storage: the size that its virtual disks can grow to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub storage_provisioned: Option<Bytes>,
        /// Used storage on its datastores.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub storage_used: Option<Bytes>,
        /// Number of snapshots.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 0, max = 100_000))]
        pub snapshot_count: Option<u32>,
        /// Guest operating system, as `vms.NAME.guest_os`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(
            with = "String",
            length(min = 1, max = 200),
            regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
        )]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 200 characters on one line", "examples" = ["Debian GNU/Linux 12 (64-bit)"]))]
        pub guest_os: Option<String>,
        /// Facts of the source system, as `vms.NAME.source`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "SourceVm")]
        pub source: Option<SourceVm>,
    }
}

records! {
    /// A datastore, as vCenter or Proxmox reports it. It does not change a simulation: `arrays` and `storage` do.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Datastore {
        /// Datastore name in vCenter or Proxmox, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(
            with = "String",
            length(min = 1, max = 256),
            regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
        )]
        #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["vsanDatastore"]))]
        pub label: Option<String>,
        /// Clusters whose hosts use it; empty if unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["production"]]))]
        pub clusters: Vec<String>,
        /// Number of hosts that use it; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 0, max = 10_000))]
        pub hosts: Option<u32>,
        /// Type, as the source names it: VMFS, NFS, vsan, zfspool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["VMFS"]))]
        pub kind: Option<String>,
        /// Capacity.
        #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub capacity: Bytes,
        /// Free capacity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub free: Option<Bytes>,
        /// Provisioned capacity: the size that all its virtual disks can grow to, thin disks included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
        pub provisioned: Option<Bytes>,
    }
}
