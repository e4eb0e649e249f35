//! Pools of distributed storage: disks in hosts, and software that keeps replicas or parity on them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::array::DiskKind;
use super::ceph::Ceph;
use super::defaults::{is_default, one};
use super::network::Network;
use super::pool_kind::{PoolKind, WritePath};
use super::shape::plain_enum;
use super::vsan::Vsan;
use crate::names::member_names;
use crate::quantity::{Bandwidth, Bytes, Duration};
use crate::redundancy::Redundancy;

/// Disks of a group of hosts, pooled by software that keeps replicas or parity of all data on several of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePool {
    /// Storage software, or the closest match: sets its behaviour and the defaults of other keys.
    pub kind: PoolKind,
    /// Hosts that hold the disks and run the services.
    pub nodes: PoolNodes,
    /// Placement of VMs that use the pool and have no `host`: on its nodes, on all other hosts, or on any host.
    #[serde(default)]
    pub deployment: Deployment,
    /// Redundancy: `replicas-N`, `replicas-N:M` (writes stop below M replicas), or `ec-K+M` (K data and M parity
    /// fragments). `raid-1`, `raid-5` and `raid-6` are `replicas-2`, `ec-3+1` (not on vSAN ESA) and `ec-4+2`. Default:
    /// `replicas-2` for a mirrored mesh and vSAN, `replicas-3:2` for a chunk store and Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Redundancy")]
    pub redundancy: Option<Redundancy>,
    /// Storage policies by name, which a VM can use instead of `redundancy`: see `policy` of VMs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub policies: BTreeMap<String, StoragePolicy>,
    /// Settings of Ceph only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ceph")]
    pub ceph: Option<Ceph>,
    /// Settings of vSAN only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vsan")]
    pub vsan: Option<Vsan>,
    /// Networks in addition to the hosts' network.
    #[serde(default, skip_serializing_if = "is_default")]
    pub networks: PoolNetworks,
    /// Failure domain: holds at most one replica or fragment of the same data.
    #[serde(default)]
    pub failure_domain: FailureDomain,
    /// Racks; the nodes are distributed over them in turn.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub racks: u32,
    /// Unit of placement: data kept together on one device. Default: 1 MiB for a mirrored mesh, 256 MiB for a chunk
    /// store, 4 MiB for Ceph, 255 GB for vSAN (a component).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "64 KiB", "x-maximum" = "1 TiB"))]
    pub chunk: Option<Bytes>,
    /// Erasure coding: size of one device's part of a stripe (Ceph: `stripe_unit`). Default: 1 MiB; for Ceph 4 KiB,
    /// with `ec_optimizations` 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "64 MiB"))]
    pub fragment: Option<Bytes>,
    /// Erasure coding: user data that one core encodes per second at the clock of its host. Default: measured values of
    /// ISA-L.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub coding: Option<Bandwidth>,
    /// Path of a write's replicas to their devices. The client sends erasure coding fragments, except in Ceph. Default:
    /// `primary` for Ceph, `client` for vSAN, otherwise `chain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WritePath")]
    pub write_path: Option<WritePath>,
    /// Data disks of each node.
    pub devices: PoolDevices,
    /// Data disks of other kinds in each node. Data is spread over all disks by capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub more_devices: Vec<PoolDevices>,
    /// When disks flush their buffers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flushes: Flushes,
    /// Flash of each node in addition to `devices`: a journal and a read cache. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PoolFlash")]
    pub flash: Option<PoolFlash>,
    /// Service processes of the devices, on their nodes.
    #[serde(default)]
    pub service: PoolService,
    /// Storage client on the hosts of the VMs.
    #[serde(default)]
    pub client: PoolClient,
    /// Extra round-trip latency between a node and a host outside the pool, for separate layers.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub layer_latency: Duration,
    /// Mean extra time of an exchange of messages (request and reply) in the software of both ends: soft interrupts,
    /// context switches, wake-ups. Each of the two is exponential. A read has one exchange, a write of replicas two.
    /// Calibrate it on latency at depth 1.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub exchange_latency: Duration,
    /// Metadata servers, on the first nodes; of Ceph the monitors. More than half must be up for repair, for any I/O of
    /// a chunk store, and to mark OSDs of Ceph down.
    /// Default: 3, or one per node if there are fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 15))]
    pub metadata_servers: Option<u32>,
    /// Data in the pool, without replicas and parity. Default: the working sets of its virtual disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 MiB", "x-maximum" = "1000 PiB"))]
    pub stored: Option<Bytes>,
    /// Rebuild after a failure.
    #[serde(default)]
    pub rebuild: Rebuild,
}

/// Groups of hosts that are the nodes of a pool: one key of `hosts`, or several. They are nodes in order of name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PoolNodes {
    /// One group.
    Group(String),
    /// Several groups.
    Groups(Vec<String>),
}

impl PoolNodes {
    /// The groups as the scenario writes them.
    pub fn written(&self) -> &[String] {
        match self {
            Self::Group(group) => std::slice::from_ref(group),
            Self::Groups(groups) => groups,
        }
    }

    /// The groups, each once, in order of name.
    pub fn groups(&self) -> BTreeSet<&str> {
        self.written().iter().map(String::as_str).collect()
    }

    /// Names of the nodes in order; `count` is the number of hosts of a group.
    pub fn members(&self, count: impl Fn(&str) -> u32) -> impl Iterator<Item = String> {
        let groups = self.groups().into_iter();
        groups.flat_map(move |group| member_names(group, count(group)))
    }

    /// True if the hosts of this group are nodes.
    pub fn contains(&self, group: &str) -> bool {
        self.written().iter().any(|own| own == group)
    }
}

impl fmt::Display for PoolNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written().join(", "))
    }
}

impl JsonSchema for PoolNodes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PoolNodes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "array"],
            "description": "A group of hosts, or a list of groups: keys of `hosts`.",
            "minLength": 1,
            "maxLength": 64,
            "items": { "type": "string", "minLength": 1, "maxLength": 64 },
            "minItems": 1,
            "maxItems": 10_000,
            "examples": ["node", ["pve1", "pve2", "pve3"]],
            "x-allowed": "a key of hosts, or a list of keys of hosts",
        })
    }
}

/// Placement of VMs relative to their storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Deployment {
    /// Hyperconverged: on the pool's nodes.
    #[default]
    Hci,
    /// On hosts outside the pool.
    TwoLayer,
    /// On any host.
    Mixed,
}

impl Deployment {
    /// True if VMs can run on a node of the pool (`node`), or on a host outside it.
    pub fn allows(self, node: bool) -> bool {
        match self {
            Self::Hci => node,
            Self::TwoLayer => !node,
            Self::Mixed => true,
        }
    }
}

/// Unit that fails as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum FailureDomain {
    /// A disk.
    Disk,
    /// A host with its disks.
    #[default]
    Host,
    /// A rack with its hosts.
    Rack,
}

/// When disks flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Flushes {
    /// When a VM requests it: see `sync_pct` of workloads.
    #[default]
    AsAsked,
    /// At every write, before it is acknowledged.
    Always,
}

/// Disks of each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolDevices {
    /// Generic kind of disk; or use `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// Drive model: a key of `devices`, or from the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// Used capacity, in %. Unused capacity reduces write amplification of flash, and seeks of hard disks that were
    /// never full. Default: 100, as in data sheets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 100.0))]
    pub used_pct: Option<f64>,
    /// Disks per node.
    #[schemars(range(min = 1, max = 1_000), extend("examples" = [6]))]
    pub per_node: u32,
    /// Capacity per disk.
    #[schemars(extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Bytes,
    /// Flash: sustained small random writes per disk, including garbage collection. Default: from its data sheet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub random_write: Option<Bandwidth>,
    /// Outstanding operations per disk. Default: as many as the disk accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub depth: Option<u32>,
}

/// Storage policy of virtual disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePolicy {
    /// Redundancy of the policy.
    #[schemars(extend("examples" = ["raid-5"]))]
    pub redundancy: Redundancy,
    /// Erasure coding: size of one device's part of a stripe. Default: the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "64 MiB"))]
    pub fragment: Option<Bytes>,
}

/// Networks of a pool in addition to the hosts' network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolNetworks {
    /// Ports of each node for traffic between nodes: replicas, fragments, recovery. Default: shared with clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Network")]
    pub cluster: Option<Network>,
    /// Link between racks, or between the sites of a stretched cluster. Default: no extra latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RackLink")]
    pub between_racks: Option<RackLink>,
}

/// Link between two racks or sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RackLink {
    /// Round-trip latency of a message, in addition to the hosts' network.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"), extend("examples" = ["1 ms"]))]
    pub latency: Duration,
    /// Payload bandwidth between two racks in each direction. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Option<Bandwidth>,
}

/// Flash of each node that does not store data permanently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFlash {
    /// Generic kind of disk; or use `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// Drive model: a key of `devices`, or from the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// Disks per node.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    pub per_node: u32,
    /// Capacity per disk. vSAN: shared by write buffer and read cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Option<Bytes>,
    /// Sustained small random writes per disk, including garbage collection. Default: from its data sheet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub random_write: Option<Bandwidth>,
    /// Journal per node: it acknowledges writes, which reach the devices later. 0 turns it off.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "100 TiB"))]
    pub journal: Bytes,
    /// Read cache per node, for VMs on the node; 0 turns it off. A random read hits it with probability size / working
    /// sets of the VMs on the node.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "100 TiB"))]
    pub read_cache: Bytes,
}

/// Service processes of a node's devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolService {
    /// CPU per device operation, at the host's nominal clock. Default: 20 us. Ceph has its own table: see
    /// `ceph.cpu_factor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cpu_per_io: Option<Duration>,
    /// Coefficient of variation of the CPU time of an operation, at the same mean: operations meet locks, missed caches
    /// and compaction. 0: all operations of a kind cost the same. The larger, the longer are tails.
    #[schemars(range(min = 0.0, max = 20.0))]
    pub cv: f64,
    /// Payload that one core moves per second at nominal clock, in a service or client: copies, checksums, packets.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub core_bandwidth: Bandwidth,
    /// Threads of a node that share all its operations. Default: each device has its own threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub threads: Option<u32>,
    /// Threads per device (an OSD of Ceph has several). Not with `threads`.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 64))]
    pub threads_per_device: u32,
    /// CPU limit of the threads of one queue, in CPUs, as for a container: they wait once they use it up in a 100 ms
    /// period. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.01, max = 1_024.0))]
    pub limit_cpus: Option<f64>,
    /// Wake-up latency of an idle thread on an idle logical CPU: idle-state exit, interrupt, switch. Default: 4 to 43
    /// us, by the host's `power_policy` and the idle time of the core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "1 s"))]
    pub wake_up: Option<Duration>,
    /// The service is part of the hypervisor (vSAN). It does not wait for the time slices of VMs, as a process or VM
    /// does (ScaleIO, Virtuozzo Storage, Ceph). Default: true for vSAN, otherwise false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub in_kernel: Option<bool>,
}

impl Default for PoolService {
    fn default() -> Self {
        Self {
            cpu_per_io: None,
            cv: 1.0,
            core_bandwidth: Bandwidth::from_bytes_per_s(4_000_000_000),
            threads: None,
            threads_per_device: 1,
            limit_cpus: None,
            wake_up: None,
            in_kernel: None,
        }
    }
}

/// Storage client on the hosts of the VMs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolClient {
    /// CPU per I/O, at the host's nominal clock. Default: 10 us; for Ceph by `client`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cpu_per_io: Option<Duration>,
    /// Extra CPU per I/O of the client's own cache (librbd), for VMs whose `disk_cache` uses it.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cache_cpu_per_io: Duration,
    /// Time that the client waits for a node before it tries another. Default: 1 s; for Ceph 20 s, until an OSD is
    /// marked down (`osd_heartbeat_grace`); for vSAN 5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 ms", "x-maximum" = "1 h"))]
    pub timeout: Option<Duration>,
}

impl Default for PoolClient {
    fn default() -> Self {
        Self {
            cpu_per_io: None,
            cache_cpu_per_io: Duration::from_micros(20),
            timeout: None,
        }
    }
}

/// Rebuild after a failure: data is rebuilt on other devices, many to many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rebuild {
    /// Delay from a failure to the rebuild, unless the failed part returns earlier. Default: 5 s; for Ceph 10 min after
    /// the OSD is marked down (`mon_osd_down_out_interval`); for vSAN 60 min.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "30 d"))]
    pub delay: Option<Duration>,
    /// Maximum rebuild reads per node, and maximum rebuild writes. Default: 500 MB/s; for Ceph and vSAN no limit except
    /// their schedulers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub node_bandwidth: Option<Bandwidth>,
    /// Concurrent placement groups per node, on average. Ceph has `ceph.max_backfills` instead.
    #[schemars(range(min = 1, max = 1_000))]
    pub streams: u32,
    /// Rebuild I/O size. Default: 1 MiB; for Ceph 8 MiB (`osd_recovery_max_chunk`), at most one object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "64 MiB"))]
    pub unit: Option<Bytes>,
}

impl Default for Rebuild {
    fn default() -> Self {
        Self {
            delay: None,
            node_bandwidth: None,
            streams: 4,
            unit: None,
        }
    }
}

impl StoragePool {
    /// Redundancy of the data.
    pub fn redundancy(&self) -> Redundancy {
        self.redundancy.unwrap_or(self.kind.facts().redundancy)
    }

    /// Unit of placement.
    pub fn chunk(&self) -> Bytes {
        self.chunk.unwrap_or(self.kind.facts().chunk)
    }

    /// Erasure coding: size of one device's part of a stripe, for a policy or for data without one.
    pub fn fragment(&self, policy: Option<&str>) -> Bytes {
        let own = policy.and_then(|name| self.policies.get(name)?.fragment);
        own.or(self.fragment)
            .unwrap_or_else(|| (self.kind.facts().fragment)(&self.ceph()))
    }

    /// Path of a write's replicas to their devices.
    pub fn write_path(&self) -> WritePath {
        self.write_path.unwrap_or(self.kind.facts().write_path)
    }

    /// True if its services are part of the hypervisor.
    pub fn is_in_kernel(&self) -> bool {
        self.service.in_kernel.unwrap_or(self.kind.facts().in_kernel)
    }

    /// Time that a client waits for a node before it tries another.
    pub fn timeout(&self) -> Duration {
        self.client.timeout.unwrap_or(self.kind.facts().timeout)
    }

    /// Delay from a failure to the rebuild.
    pub fn rebuild_delay(&self) -> Duration {
        self.rebuild.delay.unwrap_or(self.kind.facts().rebuild_delay)
    }

    /// Maximum rebuild reads of one node, and maximum rebuild writes.
    pub fn rebuild_bandwidth(&self) -> Bandwidth {
        self.rebuild
            .node_bandwidth
            .unwrap_or(self.kind.facts().rebuild_bandwidth)
    }

    /// Rebuild I/O size.
    pub fn rebuild_unit(&self) -> Bytes {
        self.rebuild
            .unit
            .unwrap_or_else(|| (self.kind.facts().rebuild_unit)(self.chunk()))
    }

    /// Redundancy of a policy, or of data without one.
    pub fn redundancy_of(&self, policy: Option<&str>) -> Redundancy {
        let policy = policy.and_then(|name| self.policies.get(name));
        policy.map_or_else(|| self.redundancy(), |policy| policy.redundancy)
    }

    /// Its Ceph settings, or the defaults.
    pub fn ceph(&self) -> Ceph {
        self.ceph.clone().unwrap_or_default()
    }

    /// Its vSAN settings, or the defaults.
    pub fn vsan(&self) -> Vsan {
        self.vsan.clone().unwrap_or_default()
    }

    /// Metadata servers on `nodes` hosts.
    pub fn metadata_servers(&self, nodes: u32) -> u32 {
        self.metadata_servers.unwrap_or(METADATA_SERVERS.min(nodes))
    }

    /// Data disks of one node, of all kinds.
    pub fn devices_per_node(&self) -> u32 {
        self.all_devices().map(|devices| devices.per_node).sum()
    }

    /// Data disks of one node, by kind.
    pub fn all_devices(&self) -> impl Iterator<Item = &PoolDevices> {
        std::iter::once(&self.devices).chain(&self.more_devices)
    }

    /// Failure domains on `nodes` hosts.
    pub fn domains(&self, nodes: u32) -> u32 {
        match self.failure_domain {
            FailureDomain::Disk => nodes.saturating_mul(self.devices_per_node()),
            FailureDomain::Host => nodes,
            FailureDomain::Rack => self.racks.min(nodes),
        }
    }

    /// Witnesses of a policy's data on `nodes` hosts, each on one without a replica. vSAN has one fewer than replicas,
    /// but for a witness host.
    pub fn witnesses(&self, policy: Option<&str>, nodes: u32) -> u32 {
        match self.redundancy_of(policy) {
            Redundancy::Replicas { copies, .. }
                if self.kind.facts().takes_vsan && !self.vsan().witness && self.domains(nodes) >= 2 * copies - 1 =>
            {
                copies - 1
            }
            _ => 0,
        }
    }

    /// Capacity of all devices on `nodes` hosts.
    pub fn raw_capacity(&self, nodes: u32) -> Bytes {
        let of = |devices: &PoolDevices| devices.capacity.bytes().saturating_mul(devices.per_node.into());
        let node = self.all_devices().map(of).fold(0, u64::saturating_add);
        Bytes::new(node.saturating_mul(nodes.into()))
    }
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The smallest number that tolerates one failure.
const METADATA_SERVERS: u32 = 3;
