//! The scenario: hosts, virtual machines and workloads as validated data.
//!
//! These types are the single source of the schema: JSON Schema, documentation and error messages are derived from them,
//! from their doc comments and from their `schemars` attributes.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::hypervisor::{Family, Hypervisor};
use crate::names::members;
use crate::pool::{Failure, Network, StoragePool};
use crate::quantity::{Bandwidth, Bytes, Duration, Frequency, Rate};
use crate::rules::PlacementRule;
use crate::schema::{merge_variants, plain_enum};
use crate::storage::{Adapters, BlockShare, ControllerKind, DEFAULT_VDISKS_PER_CONTROLLER, StorageArray};

/// One file that describes a cluster, what runs on it, and how long to simulate it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, as reports show it: letters, digits, `-`, `_` and `.`, at most 64.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), extend("examples" = ["small-esxi"]))]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit"))]
    pub name: String,
    /// What the scenario shows, and where its numbers come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 10_000))]
    pub description: Option<String>,
    /// What the parameters were calibrated on, as reports say it. Without it, reports say that nothing was calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 10_000))]
    pub calibrated_on: Option<String>,
    /// How long to simulate and how to measure.
    #[serde(default)]
    pub run: RunSettings,
    /// Groups of identical hosts, by name.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 10_000), transform = name_keys)]
    pub hosts: BTreeMap<String, HostGroup>,
    /// Groups of identical virtual machines, by name.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub vms: BTreeMap<String, VmGroup>,
    /// What runs inside virtual machines, by name; `vms.*.workload` refers to these.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 10_000), transform = name_keys)]
    pub workloads: BTreeMap<String, Workload>,
    /// Storage arrays, by name; `vms.*.array` refers to these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1_000), transform = name_keys)]
    pub arrays: BTreeMap<String, StorageArray>,
    /// Distributed storage, by name; `vms.*.storage` refers to these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100), transform = name_keys)]
    pub storage: BTreeMap<String, StoragePool>,
    /// What fails when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub failures: Vec<Failure>,
    /// Placement rules: which machines belong together or apart, and on which hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub rules: Vec<PlacementRule>,
}

/// How long to simulate and how to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSettings {
    /// Measured time, after the warm-up.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub duration: Duration,
    /// Time that is simulated first and not measured.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "30 d"))]
    pub warmup: Duration,
    /// Resolution of the timeline; 20 s is what vCenter's real-time charts show. A longer one than `duration` counts as
    /// `duration`.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "30 d"))]
    pub sample_interval: Duration,
    /// Start of every random stream: the same scenario, seed and version give the same bytes.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Independent repetitions; confidence intervals need at least 2.
    #[schemars(range(min = 1, max = 1_000))]
    pub replications: u32,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(300),
            warmup: Duration::from_secs(30),
            sample_interval: Duration::from_secs(20),
            seed: 1,
            replications: 3,
        }
    }
}

/// `count` identical hosts. One host is named like its group, several are named `name-1`, `name-2` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Its name in its own system, where that differs: what telemetry calls it. Of several, each has its number behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["esx1.example.com"]))]
    pub label: Option<String>,
    /// How many such hosts.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u32,
    /// Processor sockets; each is one NUMA node.
    #[schemars(range(min = 1, max = 16), extend("examples" = [2]))]
    pub sockets: u32,
    /// Physical cores of one socket.
    #[schemars(range(min = 1, max = 256), extend("examples" = [12]))]
    pub cores_per_socket: u32,
    /// Hardware threads of one core: 2 with hyper-threading (SMT) on, 1 with it off.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 2))]
    pub threads_per_core: u32,
    /// Nominal clock.
    #[schemars(extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub clock: Frequency,
    /// Clock that all cores sustain when busy; at least `clock`, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub turbo: Option<Frequency>,
    /// Memory of one NUMA node.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory_per_node: Bytes,
    /// Hypervisor and version: sets the scheduler and its parameters.
    pub hypervisor: Hypervisor,
    /// Work that two busy threads of one core do, over the work of one thread alone.
    #[serde(default = "default_smt_yield")]
    #[schemars(range(min = 1.0, max = 2.0))]
    pub smt_yield: f64,
    /// Speed of memory: matters to workloads with `memory_traffic` or `memory_intensity`.
    #[serde(default)]
    pub memory_system: MemorySystem,
    /// Parameters of the CPU scheduler that differ from the version's defaults.
    #[serde(default)]
    pub scheduler: SchedulerOptions,
    /// CPU that the hypervisor itself uses on behalf of virtual machines.
    #[serde(default)]
    pub overhead: HypervisorOverhead,
    /// Ports to storage arrays; of use to machines with an `array`.
    #[serde(default)]
    pub adapters: Adapters,
    /// Ports for the traffic of distributed storage; of use to its nodes and to machines with a `storage`.
    #[serde(default)]
    pub network: Network,
}

impl HostGroup {
    /// Physical cores of one host.
    pub fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket
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
        Bytes::new(u64::from(self.sockets).saturating_mul(self.memory_per_node.bytes()))
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
    /// What the memory of one NUMA node delivers at most to all cores together.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1000 TB/s"))]
    pub node_bandwidth: Bandwidth,
    /// What one NUMA node can draw at most from the memory of one other node.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1000 TB/s"))]
    pub interconnect_bandwidth: Bandwidth,
    /// Time of an access to another node's memory over that of an access to the own node's.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub remote_latency_factor: f64,
    /// How fast the pages of a NUMA client follow it to a new home node (ESXi).
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub page_migration: Bandwidth,
}

impl Default for MemorySystem {
    fn default() -> Self {
        Self {
            node_bandwidth: Bandwidth::from_bytes_per_s(61_800_000_000),
            interconnect_bandwidth: Bandwidth::from_bytes_per_s(30_600_000_000),
            remote_latency_factor: 1.7,
            page_migration: Bandwidth::from_bytes_per_s(1_000_000_000),
        }
    }
}

/// Parameters of the hypervisor's CPU scheduler. What is absent has the version's default; a key of the other family of
/// hypervisors is a mistake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerOptions {
    /// ESXi `Cpu.Quantum`: how long a vCPU runs while others of equal entitlement wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "100 us", "x-maximum" = "10 s"))]
    pub quantum: Option<Duration>,
    /// ESXi `Cpu.CoschedCostopThreshold`: lead over the slowest sibling at which a vCPU is co-stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "100 us", "x-maximum" = "10 s"))]
    pub costop_threshold: Option<Duration>,
    /// ESXi `Cpu.CoschedCostartThreshold`: lead under which a co-stopped vCPU starts again; at most `costop_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "0 us", "x-maximum" = "10 s"))]
    pub costart_threshold: Option<Duration>,
    /// ESXi `Cpu.CoschedPollUsec`: how often the lead is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "10 us", "x-maximum" = "10 s"))]
    pub cosched_poll: Option<Duration>,
    /// ESXi `Cpu.HTWholeCoreThreshold`: how far behind its entitlement a vCPU must be to claim a whole core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "0 ms", "x-maximum" = "1 h"))]
    pub ht_whole_core_threshold: Option<Duration>,
    /// ESXi `Cpu.HTRebalancePeriod`: load balancing between the threads of a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub ht_rebalance_period: Option<Duration>,
    /// ESXi `Numa.RebalancePeriod`: how often the NUMA scheduler looks at home nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "esxi", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub numa_rebalance_period: Option<Duration>,
    /// ESXi `Numa.MigImbalanceThreshold`: difference of load between nodes from which a NUMA client moves, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0), extend("x-family" = "esxi"))]
    pub numa_imbalance_threshold_pct: Option<f64>,
    /// ESXi `Numa.LocalityWeightActionAffinity`: attraction between NUMA clients that belong together. Over 100 it
    /// outweighs balance between nodes; 0 turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 0, max = 1_000), extend("x-family" = "esxi"))]
    pub numa_action_affinity_weight: Option<u32>,
    /// ESXi: how far a node's load at power-on, as the NUMA scheduler remembers it, differs at random from its true load:
    /// a standard deviation in per cent of the node's cores. Default: 0, every power-on places alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 100.0), extend("x-family" = "esxi"))]
    pub numa_load_error_pct: Option<f64>,
    /// Linux EEVDF `base_slice_ns`: how long a task runs before its virtual deadline moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "100 us", "x-maximum" = "1 s"))]
    pub base_slice: Option<Duration>,
    /// Linux: period of the tick (1 / `CONFIG_HZ`), at which a slice that is over ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "100 us", "x-maximum" = "1 s"))]
    pub tick: Option<Duration>,
    /// Linux: period of load balancing between run queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-family" = "linux", "x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub balance_interval: Option<Duration>,
}

impl SchedulerOptions {
    /// `costop_threshold`; by default that of every ESXi version (ESXi advanced options).
    pub fn costop_threshold(&self) -> Duration {
        self.costop_threshold.unwrap_or(Duration::from_millis(3))
    }

    /// `costart_threshold`; by default that of every ESXi version (ESXi advanced options).
    pub fn costart_threshold(&self) -> Duration {
        self.costart_threshold.unwrap_or(Duration::from_millis(2))
    }
}

/// CPU that the hypervisor itself uses on behalf of virtual machines: VMkernel worlds (ESXi), or vhost and I/O threads
/// (KVM).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HypervisorOverhead {
    /// Helper worlds or threads beside each virtual machine.
    #[schemars(range(min = 1, max = 64))]
    pub worlds_per_vm: u32,
    /// Hypervisor work for one I/O, at the nominal clock.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub cpu_per_io: Duration,
    /// CPU of the helper worlds, in per cent of the CPU of the virtual machine's vCPUs.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub activity_pct: f64,
    /// Part of `cpu_per_io`, in per cent, that runs as an interrupt on the vCPU's logical CPU (System and Overlap).
    #[schemars(range(min = 0.0, max = 100.0))]
    pub interrupt_share_pct: f64,
}

impl Default for HypervisorOverhead {
    fn default() -> Self {
        Self {
            worlds_per_vm: 4,
            cpu_per_io: Duration::from_micros(25),
            activity_pct: 1.0,
            interrupt_share_pct: 30.0,
        }
    }
}

/// `count` identical virtual machines. One is named like its group, several are named `name-1`, `name-2` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VmGroup {
    /// Its name in its own system, where that differs: what telemetry calls it. Of several, each has its number behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 256),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line", "examples" = ["DB 1 (production)"]))]
    pub label: Option<String>,
    /// How many such machines; 0 leaves the group out.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100_000))]
    pub count: u32,
    /// Virtual CPUs of one machine; at most the logical CPUs of its host.
    #[schemars(range(min = 1, max = 768), extend("examples" = [4]))]
    pub vcpus: u32,
    /// Cores of one virtual socket; divides `vcpus`. On ESXi it shapes the virtual NUMA nodes, before 6.5 as one node per
    /// socket of more than one core. Default: 1, or what ESXi 8.0 chooses at power-on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768))]
    pub cores_per_socket: Option<u32>,
    /// Memory of one machine; at most its host's.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub memory: Bytes,
    /// ESXi CPU hot-add: vCPUs can be added while the machine runs. It hides virtual NUMA, unless
    /// `numa.expose_on_cpu_hot_add` is set.
    #[serde(default)]
    #[schemars(extend("x-family" = "esxi"))]
    pub cpu_hot_add: bool,
    /// Virtual NUMA: which nodes the guest sees.
    #[serde(default)]
    pub numa: NumaOptions,
    /// CPU shares: what the machine gets beside others when there is not enough. `low`, `normal` and `high` are 500,
    /// 1000 and 2000 per vCPU; a number is for the whole machine.
    #[serde(default)]
    pub shares: Shares,
    /// CPU that one machine is sure to get when it wants it; a host's machines cannot reserve more than it has. For
    /// ESXi hosts: Linux cgroups have no CPU reservation.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MHz", "x-maximum" = "1000 THz"))]
    pub reservation: Frequency,
    /// CPU that one machine never exceeds; at least `reservation`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "1 MHz", "x-maximum" = "1000 THz"))]
    pub limit: Option<Frequency>,
    /// Name of a host, or of a group of hosts to spread over. Default: spread over all hosts, or over those that the
    /// `deployment` of its `storage` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 80), extend("examples" = ["esx"]))]
    pub host: Option<String>,
    /// Logical CPUs the machine may run on, such as `0-11,24`. Thread t of core c of socket s is number
    /// (s * cores_per_socket + c) * threads_per_core + t. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "String",
        length(min = 1, max = 10_000),
        regex(pattern = r"^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$")
    )]
    #[schemars(extend("x-code" = "bad-affinity", "x-allowed" = "numbers and ranges of logical CPUs, such as 0-11,24", "examples" = ["0-11,24"]))]
    pub affinity: Option<String>,
    /// Whether it serves storage to its host (a Nutanix CVM, a ScaleIO SVM), so that its CPU is what the storage layer
    /// costs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub storage_appliance: bool,
    /// The guest operating system.
    #[serde(default)]
    pub guest: GuestSystem,
    /// What runs in the machine: a key of `workloads`.
    #[schemars(length(min = 1, max = 64), extend("examples" = ["oltp"]))]
    pub workload: String,
    /// Multiplies the population or the arrival rate of the workload.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub load: f64,
    /// A further factor on `load` over time; before the first step it is 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub load_steps: Vec<LoadStep>,
    /// The array that has its virtual disks: a key of `arrays`. Default: none, I/O is a delay of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["san"]))]
    pub array: Option<String>,
    /// The distributed storage that has its virtual disks, instead of an `array`: a key of `storage`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["pool"]))]
    pub storage: Option<String>,
    /// Kind of virtual storage controller. Default: `pvscsi` on ESXi, `virtio-scsi` on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ControllerKind")]
    pub controller: Option<ControllerKind>,
    /// Virtual storage controllers.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub controllers: u32,
    /// Virtual disks in all, dealt to the controllers in turn; at most 15 on each. Default: 10 on each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 60))]
    pub vdisks: Option<u32>,
    /// Requests outstanding on one virtual disk. Default and maximum: 64 and 254 for `pvscsi`, 32 and 32 for `lsi-sas`,
    /// 128 and 256 for `virtio-scsi`, 256 and 256 for `virtio-blk`, 256 and 1024 for `nvme`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub vdisk_depth: Option<u32>,
    /// Pages of a `pvscsi` controller's ring, 32 requests each. Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 32))]
    pub ring_pages: Option<u32>,
    /// Whether its virtual disks are dealt in turn to the array's `luns`, where other machines may be too, instead of each
    /// having a LUN of its own.
    #[serde(default)]
    pub shared_luns: bool,
}

/// What is absent has the version's default; a key that the hypervisor does not have is a mistake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumaOptions {
    /// ESXi `numa.vcpu.preferHT`: hardware threads count as room for vCPUs, instead of cores.
    #[schemars(extend("x-family" = "esxi"))]
    pub prefer_ht: bool,
    /// ESXi `numa.vcpu.followcorespersocket` (6.5 and later): one virtual node per virtual socket of more than one core, as
    /// before 6.5.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-6.5"))]
    pub follow_cores_per_socket: bool,
    /// ESXi `numa.vcpu.min`: vCPUs from which the guest may see several nodes; 9 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi"))]
    pub vcpu_min: Option<u32>,
    /// ESXi `numa.vcpu.maxPerVirtualNode`: the vCPUs are split evenly over the fewest nodes of at most this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi"))]
    pub max_per_virtual_node: Option<u32>,
    /// ESXi 8.0 and later, `coresPerNumaNode`: vCPUs of one virtual node, set by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 768), extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub cores_per_node: Option<u32>,
    /// ESXi 8.0 and later, `exposeVnumaOnCpuHotadd`: the guest sees its nodes with CPU hot-add too.
    #[schemars(extend("x-family" = "esxi", "x-since" = "esxi-8.0"))]
    pub expose_on_cpu_hot_add: bool,
    /// ESXi before 8.0: the host on which the machine was first powered on, which fixed its virtual nodes
    /// (`numa.autosize.once`). Default: its present host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SizedOn", extend("x-family" = "esxi", "x-until" = "esxi-7.0u2"))]
    pub sized_on: Option<SizedOn>,
    /// Linux (libvirt `<numa><cell>`): vCPUs of each virtual node; in all as many as `vcpus`. Default: one node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 1, max = 768)), extend("x-family" = "linux"))]
    pub cells: Vec<u32>,
    /// Linux (libvirt `<memnode>` and `<vcpupin>`): the host's NUMA node, from 0, to which each of `cells` is bound.
    /// Default: not bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 0, max = 15)), extend("x-family" = "linux"))]
    pub nodes: Vec<u32>,
}

impl NumaOptions {
    /// `numa.vcpu.min`: vCPUs from which a guest may see several nodes (vSphere Resource Management, "Virtual NUMA
    /// Controls").
    pub fn vcpu_min(&self) -> u32 {
        self.vcpu_min.unwrap_or(9)
    }
}

/// Processors of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedOn {
    /// Its sockets, each one NUMA node.
    #[schemars(range(min = 1, max = 16), extend("examples" = [2]))]
    pub sockets: u32,
    /// Physical cores of one socket.
    #[schemars(range(min = 1, max = 256), extend("examples" = [20]))]
    pub cores_per_socket: u32,
}

impl VmGroup {
    /// The logical CPUs of `affinity`, ascending and without repeats; `None` where there is no affinity.
    pub fn affinity_cpus(&self) -> Option<Vec<u32>> {
        self.affinity.as_deref().and_then(parse_cpus)
    }

    /// Whether its virtual disks are somewhere, so that its I/Os go there.
    pub fn has_disks(&self) -> bool {
        self.array.is_some() || self.storage.is_some()
    }

    /// Virtual disks in all.
    pub fn all_vdisks(&self) -> u32 {
        self.vdisks.unwrap_or(DEFAULT_VDISKS_PER_CONTROLLER * self.controllers)
    }

    /// Kind of its controllers on a host of this family.
    pub fn controller_kind(&self, family: Family) -> ControllerKind {
        self.controller.unwrap_or(family.default_controller())
    }

    /// The highest factor that `load` and `load_steps` reach.
    pub fn peak_load(&self) -> f64 {
        self.load * self.load_steps.iter().map(|step| step.factor).fold(1.0, f64::max)
    }
}

/// The numbers of a list such as `0-11,24`, ascending and without repeats; `None` where it is malformed.
pub(crate) fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    // Numbers of at most five digits keep the list small whatever the text says.
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 99_999);
    let mut cpus = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus.into_iter().collect())
}

/// From a moment on, the load is `factor` times `load`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    /// When, counted from the start of the run, warm-up included. Steps are in order of time.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// The factor from then on.
    #[schemars(range(min = 0.0, max = 1_000_000.0), extend("examples" = [2]))]
    pub factor: f64,
}

/// The guest operating system: it multiplexes processes over the virtual CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuestSystem {
    /// How long a process runs while others wait for its vCPU.
    #[schemars(extend("x-minimum" = "10 us", "x-maximum" = "10 s"))]
    pub time_slice: Duration,
}

impl Default for GuestSystem {
    fn default() -> Self {
        Self {
            time_slice: Duration::from_millis(6),
        }
    }
}

/// CPU shares of a virtual machine: what it gets beside others when there is not enough. `low`, `normal` and `high` are
/// 500, 1000 and 2000 per vCPU (VMware, vSphere Resource Management); a number is for the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// 500 per vCPU.
    Low,
    /// 1000 per vCPU.
    #[default]
    Normal,
    /// 2000 per vCPU.
    High,
    /// For the whole virtual machine, whatever its vCPUs.
    Number(u32),
}

impl Shares {
    /// Shares of a whole virtual machine with `vcpus` vCPUs.
    pub fn total(self, vcpus: u32) -> f64 {
        match self {
            Self::Low => 500.0 * f64::from(vcpus),
            Self::Normal => 1000.0 * f64::from(vcpus),
            Self::High => 2000.0 * f64::from(vcpus),
            Self::Number(shares) => f64::from(shares),
        }
    }
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Low => serializer.serialize_str("low"),
            Self::Normal => serializer.serialize_str("normal"),
            Self::High => serializer.serialize_str("high"),
            Self::Number(shares) => serializer.serialize_u32(*shares),
        }
    }
}

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u32),
            Name(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(shares) => Ok(Self::Number(shares)),
            Written::Name(name) => match name.as_str() {
                "low" => Ok(Self::Low),
                "normal" => Ok(Self::Normal),
                "high" => Ok(Self::High),
                _ => Err(de::Error::unknown_variant(&name, &["low", "normal", "high"])),
            },
        }
    }
}

impl JsonSchema for Shares {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Shares".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "CPU shares of a virtual machine: what it gets beside others when there is not enough. low, \
                normal and high are 500, 1000 and 2000 per vCPU; a number is for the whole machine.",
            "pattern": "^(low|normal|high)$",
            "minimum": 1,
            "maximum": 1_000_000,
            "examples": ["high", 4000],
            "x-code": "unknown-value",
            "x-allowed": "low, normal, high, or an integer from 1 to 1000000",
            "x-values": ["low", "normal", "high"],
        })
    }
}

/// What the processes in a virtual machine do. A transaction is `bursts` rounds of one CPU burst followed by one delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Where transactions come from.
    pub arrivals: Arrivals,
    /// Rounds of CPU burst and delay in one transaction.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000))]
    pub bursts: u32,
    /// CPU work of one transaction, split evenly over its bursts.
    pub cpu: Service,
    /// Clock at which `cpu` was measured. Default: the host's nominal clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Frequency", extend("x-minimum" = "100 MHz", "x-maximum" = "20 GHz"))]
    pub reference_clock: Option<Frequency>,
    /// Delay of one transaction, split evenly over its bursts: locks, device and network time, which contention for CPU
    /// does not stretch. Default: none.
    #[serde(default = "no_service")]
    pub delay: Service,
    /// I/Os of one transaction. Without an `array` or `storage` each costs the hypervisor `overhead.cpu_per_io`, and its time is part of
    /// `delay`. With one, those of a burst go down the path to it together, and `delay` follows when the last is back.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub ios: f64,
    /// Size of an I/O.
    #[serde(default = "default_block")]
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"))]
    pub block: Bytes,
    /// Other sizes, and how many of the I/Os have them; the rest have `block`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub block_mix: Vec<BlockShare>,
    /// Reads among the I/Os, in per cent; the others write.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub read_pct: f64,
    /// I/Os to random places, in per cent; the others are sequential and cost a disk no positioning.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub random_pct: f64,
    /// What one virtual disk's I/Os are spread over: decides how many hit the array's cache.
    #[serde(default = "default_working_set")]
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub working_set: Bytes,
    /// Part of CPU time that waits for memory, which a faster clock does not shorten.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub memory_intensity: f64,
    /// What one process moves to and from memory while it computes, alone on its core, with all memory local and to
    /// itself. Default: too little to matter.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 MB/s", "x-maximum" = "1 TB/s"))]
    pub memory_traffic: Bandwidth,
    /// By what factor `memory_traffic` for the same work grows while two threads share a core and its caches.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 1.0, max = 10.0))]
    pub shared_core_traffic: f64,
    /// Name of one unit of the application's own work.
    #[serde(default = "default_unit")]
    #[schemars(length(min = 1, max = 64))]
    pub unit: String,
    /// Units of the application's own work in one transaction.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1e12))]
    pub units_per_transaction: f64,
}

impl Workload {
    /// The largest size that an I/O can have.
    pub fn largest_block(&self) -> Bytes {
        self.block_mix
            .iter()
            .map(|part| part.block)
            .fold(self.block, Bytes::max)
    }
}

/// Where transactions come from: exactly one of `closed`, `open`, `parallel` and `io`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = merge_variants)]
pub enum Arrivals {
    /// A fixed population of sessions, each of which thinks between transactions.
    Closed {
        /// Sessions of one virtual machine at load 1.
        #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [240]))]
        population: u32,
        /// Time between the answer and the next transaction. Default: none.
        #[serde(default = "no_service")]
        think: Service,
    },
    /// Transactions that arrive whatever happens to earlier ones.
    Open {
        /// Arrivals at one virtual machine at load 1; above 0.
        #[schemars(extend("x-minimum" = "0 /s", "x-maximum" = "1000000000 /s"))]
        rate: Rate,
        /// Coefficient of variation of the time between arrivals: 1 is Poisson, 0 is a metronome.
        #[serde(default = "one_f64")]
        #[schemars(range(min = 0.0, max = 20.0))]
        cv: f64,
    },
    /// One process on each vCPU, all of which work on one transaction after another. A transaction's `cpu` is divided
    /// evenly among the vCPUs, each vCPU's part into `bursts`, and a process that is done helps within its part; the next
    /// transaction begins when every part is done.
    Parallel {
        /// What is divided evenly and not helped out between.
        parts: Parts,
    },
    /// An I/O generator such as Iometer or fio: workers that keep I/Os outstanding and do nothing else. A transaction is one
    /// I/O; `cpu` is what the generator computes for it, beside the guest's driver. Needs an `array` or a `storage`.
    Io {
        /// I/Os outstanding on each virtual disk at load 1, all workers together.
        #[serde(default = "default_outstanding")]
        #[schemars(range(min = 1, max = 4_096))]
        outstanding: u32,
        /// Threads that issue them, each an equal part on every disk. Default: one for each vCPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32", range(min = 1, max = 1_024))]
        workers: Option<u32>,
        /// I/Os that one machine issues per second at most, evenly spaced, at load 1. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Rate", extend("x-minimum" = "0.001 /s", "x-maximum" = "1000000000 /s"))]
        rate: Option<Rate>,
    },
}

/// Parts into which a parallel transaction is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Parts {
    /// Each virtual NUMA node has its part.
    Node,
    /// Each vCPU has its part.
    Vcpu,
}

/// A random length of time, by mean and coefficient of variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Mean.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "1 d"))]
    pub mean: Duration,
    /// Standard deviation over mean: 0 is constant, 1 exponential.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub cv: f64,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn one_f64() -> f64 {
    1.0
}

fn hundred() -> f64 {
    100.0
}

fn default_outstanding() -> u32 {
    16
}

fn default_block() -> Bytes {
    Bytes::new(8 << 10)
}

fn default_working_set() -> Bytes {
    Bytes::from_gib(10)
}

fn default_smt_yield() -> f64 {
    1.25
}

fn default_unit() -> String {
    "transactions".to_owned()
}

fn no_service() -> Service {
    Service {
        mean: Duration::ZERO,
        cv: 1.0,
    }
}

/// Restricts the keys of a map to names.
fn name_keys(schema: &mut Schema) {
    schema.insert(
        "propertyNames".to_owned(),
        serde_json::json!({
            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        }),
    );
}

impl Scenario {
    /// Every host by name, with its group: groups in order of name, hosts in order of number.
    pub fn host_names(&self) -> Vec<(String, &HostGroup)> {
        members(&self.hosts, |group| group.count)
    }

    /// Every virtual machine by name, with its group: groups in order of name, machines in order of number.
    pub fn vm_names(&self) -> Vec<(String, &VmGroup)> {
        members(&self.vms, |group| group.count)
    }

    /// The scenario as JSON in its one canonical form, defaults included.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has no keys or numbers that JSON lacks")
    }
}
