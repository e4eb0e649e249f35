//! Hosts: processors, memory and clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::PowerPolicy;
use super::defaults::{is_default, is_one_f64, one, one_f64, two};
use super::hypervisor::{Hypervisor, HypervisorOverhead, SchedulerOptions};
use super::measured::MeasuredHost;
use super::memory::{Reclamation, SwapDevice};
use super::migration::Migration;
use super::network::{Adapters, Network};
use crate::quantity::{Bandwidth, Bytes, Frequency};

/// `count` identical hosts. A single host has the name of its group; several are named `name-1`, `name-2` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Host name in vCenter or Proxmox and in its telemetry, if it differs. With `count` above 1, each host appends its
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["esx1.example.com"]))]
    pub label: Option<String>,
    /// Cluster of the hosts; VMs migrate only within it. Default: `default`.
    #[serde(default = "default_cluster", skip_serializing_if = "is_default_cluster")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"))]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 64 letters, digits, '-' and '_', beginning with a letter or digit", "examples" = ["production"]))]
    pub cluster: String,
    /// Number of hosts. 0 removes the group; its VMs go to hosts of the cluster with headroom.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10_000))]
    pub count: u32,
    /// Processor sockets; each has `nodes_per_socket` NUMA nodes.
    #[schemars(range(min = 1, max = 16), extend("examples" = [2]))]
    pub sockets: u32,
    /// Physical cores per socket.
    #[schemars(range(min = 1, max = 256), extend("examples" = [12]))]
    pub cores_per_socket: u32,
    /// NUMA nodes per socket: above 1 if the firmware divides it (AMD NPS, Intel sub-NUMA clustering). Must divide the
    /// cores evenly.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 16))]
    pub nodes_per_socket: u32,
    /// Last-level caches per NUMA node: several if groups of cores share one (AMD core complexes). Must divide the
    /// cores evenly. A waking vCPU or task looks for a core at its last cache first. Crossing caches has no cost.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 64))]
    pub l3_per_node: u32,
    /// Hardware threads per core: 2 with hyper-threading (SMT) on, 1 with it off.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 2))]
    pub threads_per_core: u32,
    /// Nominal clock.
    #[schemars(extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub clock: Frequency,
    /// Clock that all cores sustain when busy; at least `clock`. Default: `clock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub turbo: Option<Frequency>,
    /// Work of VMs per clock cycle, relative to the hosts where their workloads were measured. The hypervisor's own
    /// work takes the same cycles on any host.
    #[serde(default = "one_f64", skip_serializing_if = "is_one_f64")]
    #[schemars(range(min = 0.1, max = 10.0))]
    pub work_per_cycle: f64,
    /// Memory per NUMA node.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory_per_node: Bytes,
    /// Memory that the hypervisor and its services (such as storage) occupy and VMs cannot use. Default: published
    /// values of the host's pools: 4 GiB per OSD for Ceph, VMware's formula for vSAN OSA; otherwise 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub hypervisor_memory: Option<Bytes>,
    /// Memory that pools occupy if `hypervisor_memory` is absent; derived from the rest of the scenario.
    #[serde(skip)]
    pub storage_memory: Bytes,
    /// Swap device, used when memory runs out. Default: one `sata-ssd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SwapDevice")]
    pub swap: Option<SwapDevice>,
    /// Memory reclamation: what the host does when memory runs short.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reclamation: Reclamation,
    /// Live migration from and to this host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub migration: Migration,
    /// Hypervisor and version: sets the scheduler and its parameters.
    pub hypervisor: Hypervisor,
    /// Throughput of a core with two busy threads, relative to one thread alone.
    #[serde(default = "default_smt_yield")]
    #[schemars(range(min = 1.0, max = 2.0))]
    pub smt_yield: f64,
    /// Memory speed: matters to workloads with `memory_traffic` or `memory_intensity`.
    #[serde(default)]
    pub memory_system: MemorySystem,
    /// CPU scheduler parameters that differ from the version's defaults.
    #[serde(default)]
    pub scheduler: SchedulerOptions,
    /// CPU that the hypervisor itself uses for VMs.
    #[serde(default)]
    pub overhead: HypervisorOverhead,
    /// Ports to storage arrays; used by VMs with an `array`.
    #[serde(default)]
    pub adapters: Adapters,
    /// Ports for distributed storage traffic; used by pool nodes and by VMs with a `storage`.
    #[serde(default)]
    pub network: Network,
    /// Physical processors for licensing, if they differ from `sockets`. It does not change a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 16))]
    pub processors: Option<u32>,
    /// Processor model, as the source names it. It does not change a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200), extend("examples" = ["Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"]))]
    pub cpu_model: Option<String>,
    /// The processor supports hyper-threading, on or off. It does not change a simulation: `threads_per_core` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub hyper_threading_available: Option<bool>,
    /// Power policy. `high-performance` and `not-managed` keep idle CPUs out of deep sleep, so they wake sooner.
    /// Default: that of the hypervisor, `balanced`. It does not set the clock: `clock` and `turbo` do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PowerPolicy")]
    pub power_policy: Option<PowerPolicy>,
    /// CPU generation that the host presents to VMs now (EVC mode), as vCenter names it. It does not change a
    /// simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 100), extend("examples" = ["intel-broadwell"]))]
    pub evc: Option<String>,
    /// Newest CPU generation that the host supports (maximum EVC mode).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 100), extend("examples" = ["intel-cascadelake"]))]
    pub evc_most: Option<String>,
    /// Measured values of each host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MeasuredHost")]
    pub measured: Option<MeasuredHost>,
}

impl HostGroup {
    /// Physical cores of one host.
    pub fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket
    }

    /// NUMA nodes of one host.
    pub fn nodes(&self) -> u32 {
        self.sockets * self.nodes_per_socket
    }

    /// Physical cores of one NUMA node.
    pub fn cores_per_node(&self) -> u32 {
        self.cores_per_socket / self.nodes_per_socket
    }

    /// Logical CPUs (hardware threads) of one host.
    pub fn logical_cpus(&self) -> u32 {
        self.cores() * self.threads_per_core
    }

    /// CPU capacity of one host as ESXi counts it: cores times nominal clock.
    pub fn capacity(&self) -> Frequency {
        Frequency::from_hz(u64::from(self.cores()) * self.clock.whole_hz())
    }

    /// Memory of one host.
    pub fn memory(&self) -> Bytes {
        Bytes::new(u64::from(self.nodes()).saturating_mul(self.memory_per_node.bytes()))
    }

    /// Memory of one host that VMs cannot have.
    pub fn hypervisor_memory(&self) -> Bytes {
        self.hypervisor_memory.unwrap_or(self.storage_memory)
    }

    /// Memory of one host that VMs can have.
    pub fn memory_for_vms(&self) -> Bytes {
        Bytes::new(self.memory().bytes().saturating_sub(self.hypervisor_memory().bytes()))
    }

    /// Its swap device.
    pub fn swap_device(&self) -> SwapDevice {
        self.swap.clone().unwrap_or_default()
    }

    /// Clock of a busy core: `turbo`, or else `clock`.
    pub fn busy_clock(&self) -> Frequency {
        self.turbo.unwrap_or(self.clock)
    }
}

/// Speed of a host's memory. The defaults are those of a two-socket Xeon E5-2600 v3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemorySystem {
    /// Memory bandwidth of one NUMA node, for all cores together.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1000 TB/s"))]
    pub node_bandwidth: Bandwidth,
    /// Bandwidth of the NUMA nodes of one socket to the memory of one other socket.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1000 TB/s"))]
    pub interconnect_bandwidth: Bandwidth,
    /// Latency of another socket's memory, relative to the local node's.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub remote_latency_factor: f64,
    /// Latency of another NUMA node of the same socket, relative to the local node's. Used if `nodes_per_socket` is
    /// above 1.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub socket_latency_factor: f64,
    /// Rate at which pages follow a NUMA client to a new home node (ESXi).
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub page_migration: Bandwidth,
}

impl Default for MemorySystem {
    fn default() -> Self {
        Self {
            node_bandwidth: Bandwidth::from_bytes_per_s(61_800_000_000),
            interconnect_bandwidth: Bandwidth::from_bytes_per_s(30_600_000_000),
            remote_latency_factor: 1.7,
            socket_latency_factor: 1.1,
            page_migration: Bandwidth::from_bytes_per_s(1_000_000_000),
        }
    }
}

fn default_smt_yield() -> f64 {
    1.25
}

/// Cluster of hosts that name none.
pub const DEFAULT_CLUSTER: &str = "default";

fn default_cluster() -> String {
    DEFAULT_CLUSTER.to_owned()
}

fn is_default_cluster(name: &str) -> bool {
    name == DEFAULT_CLUSTER
}

fn is_one(number: &u32) -> bool {
    *number == 1
}
