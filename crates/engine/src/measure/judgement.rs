//! The judgement of a point, as data.

use serde::Serialize;
use std::collections::BTreeMap;

/// Severity of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Noticeable.
    Info,
    /// Worth a look.
    Warning,
    /// Critical: performance suffers.
    Critical,
}

/// Tone of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// No VM suffers.
    #[default]
    Good,
    /// Something is worth a look.
    Warn,
    /// A VM suffers.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The cores of the host are busy and worlds wait for them.
    HostCpu,
    /// The VM's vCPUs are busy while the host has headroom.
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
    /// The load generator, or its number of outstanding requests.
    Client,
    /// Nothing is full: a closed loop of round trips.
    Latency,
    /// Load arrives at a fixed pace, and headroom is left.
    Nothing,
}

/// The limit of a group, and its figure.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Kind of limit.
    pub kind: LimitKind,
    /// Its name: a host, a station, a group; empty if nothing limits.
    pub of: String,
    /// Its load in %, if that is why it limits.
    pub value_pct: Option<f64>,
    /// A sentence without its full stop.
    pub text: String,
    /// I/Os wait there for most of their latency: for a station, a member of which is saturated, or for a queue slot.
    #[serde(skip)]
    pub holds_io: bool,
}

/// The judgement of a point.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judgement {
    /// Tone of the answer.
    pub tone: Tone,
    /// The answer in a sentence or two.
    pub text: String,
    /// Further sentences.
    pub more: Vec<String>,
    /// Signs of VMs that have any, the worst first.
    pub vms: BTreeMap<String, Vec<Sign>>,
    /// Signs of groups that have any as the mean of their VMs, the worst first.
    pub groups: BTreeMap<String, Vec<Sign>>,
    /// What limits each group.
    pub limits: BTreeMap<String, Limit>,
    /// The station that limits I/O. It is saturated, or the I/Os of a group mostly wait there, for a member that is or
    /// for a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_station: Option<String>,
    /// VMs that could not restart or migrate, one sentence per kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<String>,
}
