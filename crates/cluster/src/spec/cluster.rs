//! Clusters of hosts, and what belongs to them without running: machines that are off, datastores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measured::MeasuredCluster;
use super::shape::plain_enum;
use crate::quantity::{Bytes, Duration};

/// A cluster: hosts between which machines may move. Its hosts name it in `cluster`; hosts that name none are the
/// cluster `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cluster {
    /// Its name in its own system, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["Production 1"]))]
    pub label: Option<String>,
    /// The datacenter that it is in, as its own system calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["Frankfurt"]))]
    pub datacenter: Option<String>,
    /// High availability: restart of machines elsewhere when their host fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HighAvailability")]
    pub ha: Option<HighAvailability>,
    /// Balancing: machines migrate between its hosts by themselves. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Balancing")]
    pub drs: Option<Balancing>,
    /// Generation of CPU that its hosts show to machines (EVC), as its own system calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 100), extend("examples" = ["intel-broadwell"]))]
    pub evc: Option<String>,
    /// What was measured of its machines together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredCluster")]
    pub measured: Option<MeasuredCluster>,
}

/// How a cluster restarts machines. What its own system does not say is absent. It changes a simulation only with a
/// `policy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HighAvailability {
    /// Whether machines of a failed host are restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub enabled: Option<bool>,
    /// Whether machines that would take what a failure needs are not powered on (admission control).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub admission: Option<bool>,
    /// Failures of hosts that admission control keeps room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 64))]
    pub failures: Option<u32>,
    /// Who restarts machines, and when. Without one, or with `enabled: false`, nothing is restarted, and the machines
    /// of a host that returns go on there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RestartPolicy")]
    pub policy: Option<RestartPolicy>,
    /// Time from a failure until the first restart begins. Default: that of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub detection: Option<Duration>,
    /// The host that watches over the others (FDM's primary), by name: it takes longer to notice that this one has
    /// failed. Default: none, every failure is that of another host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 160), extend("examples" = ["esx-1"]))]
    pub primary: Option<String>,
    /// Time from power-on until a machine serves again: firmware, operating system, application. Default: 60 s, a
    /// supposition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub boot: Option<Duration>,
    /// How admission control counts: by `slots`, or keeping a `percentage` of capacity. Default: `slots`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AdmissionPolicy")]
    pub admission_policy: Option<AdmissionPolicy>,
    /// What a `percentage` keeps of CPU and memory. Default: `failures` over the number of hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0))]
    pub admission_pct: Option<f64>,
}

impl HighAvailability {
    /// Whether machines of a failed host are restarted in a simulation.
    pub fn restarts(&self) -> bool {
        self.policy.is_some() && self.enabled != Some(false)
    }
}

/// Who restarts machines of a failed host.
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

/// How admission control counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum AdmissionPolicy {
    /// The largest reservations of CPU and of memory are a slot; hosts have whole slots.
    Slots,
    /// A part of the cluster's CPU and memory stays unreserved.
    Percentage,
}

/// How a cluster moves machines between its hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Balancing {
    /// By whose rules.
    pub policy: BalancingPolicy,
    /// How often. Default: that of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 s", "x-maximum" = "1 d"))]
    pub period: Option<Duration>,
    /// From 1, only what rules ask for, to 5, any gain.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 5))]
    pub threshold: u32,
}

fn three() -> u32 {
    3
}

/// Rules by which a cluster moves machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum BalancingPolicy {
    /// vSphere DRS to 6.7: every 5 minutes, until hosts are loaded alike.
    #[serde(rename = "drs-6")]
    Drs6,
    /// vSphere DRS from 7.0: every minute, where a machine is better off elsewhere.
    #[serde(rename = "drs-7")]
    Drs7,
    /// OpenStack Watcher, workload stabilization.
    Watcher,
}

/// How a host trades speed for energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PowerPolicy {
    /// No power management that costs speed.
    HighPerformance,
    /// The hypervisor slows CPUs down when it expects no loss.
    Balanced,
    /// Energy before speed.
    LowPower,
    /// Set by hand.
    Custom,
    /// Left to the firmware, or not supported.
    NotManaged,
}

/// A machine that is off, or a template: it uses storage, and could be started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoweredOff {
    /// Its name in its own system, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["old web server"]))]
    pub label: Option<String>,
    /// The cluster that it belongs to, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["production"]))]
    pub cluster: Option<String>,
    /// Whether it is a template, from which machines are made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub template: bool,
    /// Virtual CPUs.
    #[schemars(range(min = 0, max = 768), extend("examples" = [2]))]
    pub vcpus: u32,
    /// Memory that it is configured with.
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub memory: Bytes,
    /// Space that its virtual disks may grow to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub storage_provisioned: Option<Bytes>,
    /// Space that it occupies on its datastores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub storage_used: Option<Bytes>,
}

/// Storage that holds virtual disks, as its own system counts it. It does not change a simulation: `arrays` and
/// `storage` do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Datastore {
    /// Its name in its own system, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["vsanDatastore"]))]
    pub label: Option<String>,
    /// The clusters whose hosts use it; none where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["production"]]))]
    pub clusters: Vec<String>,
    /// Hosts that use it; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 10_000))]
    pub hosts: Option<u32>,
    /// What it is, as its own system calls it: VMFS, NFS, vsan, zfspool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["VMFS"]))]
    pub kind: Option<String>,
    /// Its size.
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub capacity: Bytes,
    /// How much of it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub free: Option<Bytes>,
    /// How much its virtual disks may grow to, thin ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1000 PiB"))]
    pub provisioned: Option<Bytes>,
}
