//! What is said of a point, as data.

use serde::Serialize;
use std::collections::BTreeMap;

/// How bad a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// More than nothing.
    Info,
    /// Worth a look.
    Warning,
    /// It hurts.
    Critical,
}

/// How an answer is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Nobody suffers.
    #[default]
    Good,
    /// Something is worth a look.
    Warn,
    /// Somebody suffers.
    Bad,
}

/// A figure of a VM, or of a group, that is beyond its band.
#[derive(Clone, Debug, Serialize)]
pub struct Sign {
    /// The metric.
    pub metric: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Its value.
    pub value: f64,
    /// The value over its worst limit.
    pub weight: f64,
    /// The figure in words.
    pub text: String,
}

/// What limits a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The cores of the host are busy and worlds wait for them.
    HostCpu,
    /// The VM's vCPUs are busy while the host has room.
    GuestCpu,
    /// A limit on the VM's CPU.
    CpuLimit,
    /// The bandwidth or the size of memory.
    Memory,
    /// A virtual storage controller, its world or its thread.
    Controller,
    /// Ports of adapters or arrays.
    Fabric,
    /// The disks of an array or pool.
    Devices,
    /// The processors of an array or of a pool's nodes.
    StorageCpu,
    /// The network of a pool.
    Network,
    /// The load generator, or how many requests it has under way.
    Client,
    /// Nothing is full: a closed loop of round trips.
    Latency,
    /// Load comes at a pace, and room is left.
    Nothing,
}

/// What limits a group, and by which figure.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// What kind of thing.
    pub kind: LimitKind,
    /// Its name: a host, a station, a group; empty where nothing limits.
    pub of: String,
    /// How full it is in per cent, where that is why it limits.
    pub value_pct: Option<f64>,
    /// In a sentence without its full stop.
    pub text: String,
}

/// What a point means.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judgement {
    /// How the answer is to be taken.
    pub tone: Tone,
    /// The answer in a sentence or two.
    pub text: String,
    /// What belongs to it, a sentence each.
    pub more: Vec<String>,
    /// Signs of VMs that have any, the worst first.
    pub vms: BTreeMap<String, Vec<Sign>>,
    /// Signs of groups that have any as the mean of their VMs, the worst first.
    pub groups: BTreeMap<String, Vec<Sign>>,
    /// What limits each group.
    pub limits: BTreeMap<String, Limit>,
    /// VMs that found no host, a sentence for each way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<String>,
}
