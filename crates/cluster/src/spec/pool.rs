//! Pools of distributed storage: disks in hosts, and the software that keeps copies or parity on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::array::DiskKind;
use super::ceph::Ceph;
use super::defaults::{is_default, mebibyte, one};
use super::network::Network;
use super::shape::plain_enum;
use super::vsan::Vsan;
use crate::quantity::{Bandwidth, Bytes, Duration};
use crate::redundancy::Redundancy;

/// Disks of a group of hosts, pooled by software that keeps copies or parity of everything on several of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePool {
    /// Which software it is, or resembles: sets how it works, and the defaults of other keys.
    pub kind: PoolKind,
    /// The hosts that have its disks and run its services: a key of `hosts`.
    #[schemars(length(min = 1, max = 64), extend("examples" = ["node"]))]
    pub nodes: String,
    /// Where the machines that use it run, unless their `host` says it: on its nodes, on all other hosts, or on any.
    #[serde(default)]
    pub deployment: Deployment,
    /// What is kept of the data: `replicas-N`, or `replicas-N:M` (writes wait below M copies), or `ec-K+M` (K data and
    /// M parity fragments). `raid-1`, `raid-5` and `raid-6` are `replicas-2`, `ec-3+1` and `ec-4+2`. Default:
    /// `replicas-2` for a mirrored mesh and vSAN, `replicas-3:2` for a chunk store and Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Redundancy")]
    pub redundancy: Option<Redundancy>,
    /// What machines may ask for instead of `redundancy`, by name: see `policy` of machines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub policies: BTreeMap<String, StoragePolicy>,
    /// What only Ceph has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ceph")]
    pub ceph: Option<Ceph>,
    /// What only vSAN has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vsan")]
    pub vsan: Option<Vsan>,
    /// Networks beside the one of the hosts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub networks: PoolNetworks,
    /// What never has more than one copy or fragment of the same data.
    #[serde(default)]
    pub failure_domain: FailureDomain,
    /// Racks that its nodes are dealt to in turn.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub racks: u32,
    /// Unit of placement: what is together on one device. Default: 1 MiB for a mirrored mesh, 256 MiB for a chunk
    /// store, 4 MiB for Ceph, 255 GB for vSAN (a component).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "64 KiB", "x-maximum" = "1 TiB"))]
    pub chunk: Option<Bytes>,
    /// Erasure coding: what one device has of one stripe (Ceph: `stripe_unit`). Default: 1 MiB; for Ceph 4 KiB, with
    /// `ec_optimizations` 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "64 MiB"))]
    pub fragment: Option<Bytes>,
    /// Erasure coding: user's data that one core encodes at the clock of its host. Default: what ISA-L was measured to
    /// do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub coding: Option<Bandwidth>,
    /// How copies of a write reach their devices. Fragments of erasure coding come from the client, but for Ceph's.
    /// Default: `primary` for Ceph, `client` for vSAN, else `chain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WritePath")]
    pub write_path: Option<WritePath>,
    /// Disks of each node that hold the data.
    pub devices: PoolDevices,
    /// Disks of other kinds that each node has beside these. Data are spread over all by capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub more_devices: Vec<PoolDevices>,
    /// When disks are told to flush what is in their buffers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flushes: Flushes,
    /// Flash of each node beside `devices`: a journal and a read cache. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PoolFlash")]
    pub flash: Option<PoolFlash>,
    /// The processes that serve the devices, on their nodes.
    #[serde(default)]
    pub service: PoolService,
    /// The driver on the hosts of the machines.
    #[serde(default)]
    pub client: PoolClient,
    /// Added to the way between a node and a host that is none, there and back: what separate layers cost.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub layer_latency: Duration,
    /// Servers that know where everything is, on the first nodes; more than half of them must be up for repair, and for
    /// any I/O of a chunk store. Default: 3, or one on each node if there are fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 15))]
    pub metadata_servers: Option<u32>,
    /// Data that the pool holds, without copies and parity. Default: the working sets of its virtual disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 MiB", "x-maximum" = "1000 PiB"))]
    pub stored: Option<Bytes>,
    /// What happens after a failure.
    #[serde(default)]
    pub rebuild: Rebuild,
}

/// Kind of distributed storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PoolKind {
    /// Small chunks mirrored over all devices; metadata are never in the way of data (ScaleIO).
    MirroredMesh,
    /// Large chunks, one service for each disk, metadata servers that must agree (Virtuozzo Storage).
    ChunkStore,
    /// Ceph: placement groups with a primary, an OSD for each device.
    Ceph,
    /// VMware vSAN, in the hypervisor.
    Vsan,
}

impl PoolKind {
    /// As scenarios write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MirroredMesh => "mirrored-mesh",
            Self::ChunkStore => "chunk-store",
            Self::Ceph => "ceph",
            Self::Vsan => "vsan",
        }
    }
}

/// Where machines run beside their storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Deployment {
    /// Hyperconverged: on the pool's nodes.
    #[default]
    Hci,
    /// On hosts that are not its nodes.
    TwoLayer,
    /// On any.
    Mixed,
}

impl Deployment {
    /// Whether machines may be on a node of the pool (`true`), or on a host that is none.
    pub fn allows(self, node: bool) -> bool {
        match self {
            Self::Hci => node,
            Self::TwoLayer => !node,
            Self::Mixed => true,
        }
    }
}

/// What fails together.
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

/// How the copies of a write reach their devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum WritePath {
    /// Each node passes them on to the next (ScaleIO, Virtuozzo Storage).
    Chain,
    /// The first node sends them to the others (Ceph).
    Primary,
    /// The client sends all (vSAN).
    Client,
}

/// When disks flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Flushes {
    /// When a machine asks for it: see `sync_pct` of workloads.
    #[default]
    AsAsked,
    /// At every write, before it is acknowledged.
    Always,
}

/// Disks of each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolDevices {
    /// What they are, in general; or say `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// What they are, by name: of `devices`, or of the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// Flash: how much of it is in use, in per cent: the rest helps it to collect. Default: all, as data sheets have
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 100.0))]
    pub used_pct: Option<f64>,
    /// How many in each node.
    #[schemars(range(min = 1, max = 1_000), extend("examples" = [6]))]
    pub per_node: u32,
    /// Of one.
    #[schemars(extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Bytes,
    /// Flash: what one takes of small random writes for long, its own housekeeping included. Default: its data sheet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub random_write: Option<Bandwidth>,
    /// Operations that the service keeps outstanding on one. Default: as many as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub depth: Option<u32>,
}

/// How data are kept that ask for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePolicy {
    /// What is kept of them.
    #[schemars(extend("examples" = ["raid-5"]))]
    pub redundancy: Redundancy,
    /// Erasure coding: what one device has of one stripe. Default: the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "64 MiB"))]
    pub fragment: Option<Bytes>,
}

/// Networks of a pool beside that of its hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolNetworks {
    /// Ports of each node for what nodes send to one another: copies, fragments, recovery. Default: those that clients
    /// use, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Network")]
    pub cluster: Option<Network>,
    /// What lies between two racks, or sites if they are: a stretched cluster. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RackLink")]
    pub between_racks: Option<RackLink>,
}

/// What lies between two racks or sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RackLink {
    /// Of a message, there and back, beside that of the hosts' network.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"), extend("examples" = ["1 ms"]))]
    pub latency: Duration,
    /// Payload between two racks in each direction. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Option<Bandwidth>,
}

/// Flash of each node that holds no data for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFlash {
    /// What it is, in general; or say `device`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskKind", extend("examples" = ["nvme"]))]
    pub kind: Option<DiskKind>,
    /// What it is, by name: of `devices`, or of the table of drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 64), extend("examples" = ["P4800X"]))]
    pub device: Option<String>,
    /// How many in each node.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    pub per_node: u32,
    /// Of one. vSAN: what its write buffer and read cache share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "1 GiB", "x-maximum" = "1 PiB"))]
    pub capacity: Option<Bytes>,
    /// What one takes of small random writes for long, its own housekeeping included. Default: its data sheet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub random_write: Option<Bandwidth>,
    /// Journal of one node: writes are acknowledged from it, and reach the devices later; 0 turns it off.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "100 TiB"))]
    pub journal: Bytes,
    /// Cache of one node for what machines on it read; 0 turns it off. A random read hits it with probability size /
    /// working sets of the machines on the node.
    #[serde(default)]
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "100 TiB"))]
    pub read_cache: Bytes,
}

/// The processes that serve the devices of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolService {
    /// CPU of one device operation, at the host's nominal clock. Default: 20 us. Ceph has a table of its own: see
    /// `ceph.cpu_factor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cpu_per_io: Option<Duration>,
    /// Payload that one core moves at nominal clock, on a service or a client: copies, checksums, packets.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub core_bandwidth: Bandwidth,
    /// Threads of a node that share all of its operations. Default: each device has threads of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_024))]
    pub threads: Option<u32>,
    /// Threads of each device that share its operations (an OSD of Ceph has several); without `threads`.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 64))]
    pub threads_per_device: u32,
    /// CPUs that the threads of one queue may use at most, as a container's limit says it: in every 100 ms so much, and
    /// then they wait. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.01, max = 1_024.0))]
    pub limit_cpus: Option<f64>,
    /// Whether it is part of the hypervisor (vSAN) and does not wait for the time slices of machines, as a process or a
    /// virtual machine does (ScaleIO, Virtuozzo Storage, Ceph). Default: that of vSAN is, others are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub in_kernel: Option<bool>,
}

impl Default for PoolService {
    fn default() -> Self {
        Self {
            cpu_per_io: None,
            core_bandwidth: Bandwidth::from_bytes_per_s(4_000_000_000),
            threads: None,
            threads_per_device: 1,
            limit_cpus: None,
            in_kernel: None,
        }
    }
}

/// The driver on the hosts of the machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolClient {
    /// CPU of one I/O, at the host's nominal clock. Default: 10 us, and for Ceph what its `client` costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cpu_per_io: Option<Duration>,
    /// CPU that its own cache adds to that (librbd), for machines whose `disk_cache` is one that uses it.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "100 ms"))]
    pub cache_cpu_per_io: Duration,
    /// How long it waits for a node before it asks another. Default: 1 s; for Ceph 20 s, until an OSD is taken for dead
    /// (`osd_heartbeat_grace`); for vSAN 5 s.
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

/// What happens after a failure: data are made anew on other devices, many to many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rebuild {
    /// How long after a failure it begins, unless what failed returns before. Default: 5 s; for Ceph 10 min after it is
    /// taken for dead (`mon_osd_down_out_interval`); for vSAN 60 min.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "30 d"))]
    pub delay: Option<Duration>,
    /// What one node reads, and what it writes, for it at most. Default: 500 MB/s; for Ceph and vSAN no limit but their
    /// schedulers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bandwidth", extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub node_bandwidth: Option<Bandwidth>,
    /// Placement groups that each node on average has in work at a time. Ceph has `ceph.max_backfills` instead.
    #[schemars(range(min = 1, max = 1_000))]
    pub streams: u32,
    /// What is read and written at a time. Default: 1 MiB; for Ceph 8 MiB (`osd_recovery_max_chunk`), and at most an
    /// object.
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
    /// What is kept of the data.
    pub fn redundancy(&self) -> Redundancy {
        self.redundancy.unwrap_or(match self.kind {
            PoolKind::MirroredMesh | PoolKind::Vsan => Redundancy::Replicas { copies: 2, minimum: 1 },
            PoolKind::ChunkStore | PoolKind::Ceph => Redundancy::Replicas { copies: 3, minimum: 2 },
        })
    }

    /// Unit of placement.
    pub fn chunk(&self) -> Bytes {
        self.chunk.unwrap_or(match self.kind {
            PoolKind::MirroredMesh => mebibyte(),
            PoolKind::Vsan => Bytes::new(255_000_000_000),
            PoolKind::ChunkStore => Bytes::new(256 << 20),
            PoolKind::Ceph => Bytes::new(4 << 20),
        })
    }

    /// Erasure coding: what one device has of one stripe of the data of a policy, or of those that name none.
    pub fn fragment(&self, policy: Option<&str>) -> Bytes {
        let own = policy.and_then(|name| self.policies.get(name)?.fragment);
        let default = match self.kind {
            PoolKind::MirroredMesh | PoolKind::ChunkStore | PoolKind::Vsan => mebibyte(),
            PoolKind::Ceph if self.ceph().ec_optimizations => Bytes::new(16 << 10),
            PoolKind::Ceph => Bytes::new(4 << 10),
        };
        own.or(self.fragment).unwrap_or(default)
    }

    /// How copies of a write reach their devices.
    pub fn write_path(&self) -> WritePath {
        self.write_path.unwrap_or(match self.kind {
            PoolKind::MirroredMesh | PoolKind::ChunkStore => WritePath::Chain,
            PoolKind::Ceph => WritePath::Primary,
            PoolKind::Vsan => WritePath::Client,
        })
    }

    /// CPU of one device operation, where no table has it.
    pub fn service_cpu_per_io(&self) -> Duration {
        self.service.cpu_per_io.unwrap_or(Duration::from_micros(20))
    }

    /// Whether its services are part of the hypervisor.
    pub fn is_in_kernel(&self) -> bool {
        self.service.in_kernel.unwrap_or(self.kind == PoolKind::Vsan)
    }

    /// CPU of one I/O on its client, where no table has it.
    pub fn client_cpu_per_io(&self) -> Duration {
        self.client.cpu_per_io.unwrap_or(Duration::from_micros(10))
    }

    /// How long a client waits for a node before it asks another.
    pub fn timeout(&self) -> Duration {
        self.client.timeout.unwrap_or(Duration::from_secs(match self.kind {
            PoolKind::MirroredMesh | PoolKind::ChunkStore => 1,
            PoolKind::Ceph => 20,
            PoolKind::Vsan => 5,
        }))
    }

    /// How long after a failure it begins to rebuild.
    pub fn rebuild_delay(&self) -> Duration {
        self.rebuild.delay.unwrap_or(Duration::from_secs(match self.kind {
            PoolKind::MirroredMesh | PoolKind::ChunkStore => 5,
            PoolKind::Ceph => 620,
            PoolKind::Vsan => 3_600,
        }))
    }

    /// What one node reads, and what it writes, for rebuilding at most.
    pub fn rebuild_bandwidth(&self) -> Bandwidth {
        self.rebuild.node_bandwidth.unwrap_or(match self.kind {
            PoolKind::MirroredMesh | PoolKind::ChunkStore => Bandwidth::from_bytes_per_s(500_000_000),
            PoolKind::Ceph | PoolKind::Vsan => Bandwidth::from_bytes_per_s(1_000_000_000_000),
        })
    }

    /// What is read and written for rebuilding at a time.
    pub fn rebuild_unit(&self) -> Bytes {
        self.rebuild.unit.unwrap_or(match self.kind {
            PoolKind::Ceph => Bytes::new(8 << 20).min(self.chunk()),
            PoolKind::MirroredMesh | PoolKind::ChunkStore | PoolKind::Vsan => mebibyte(),
        })
    }

    /// What is kept of the data of a policy, or of those that name none.
    pub fn redundancy_of(&self, policy: Option<&str>) -> Redundancy {
        let policy = policy.and_then(|name| self.policies.get(name));
        policy.map_or_else(|| self.redundancy(), |policy| policy.redundancy)
    }

    /// Copies of a policy's data that vSAN needs to serve them, on `nodes` hosts: more than half of all votes. Where
    /// there are failure domains enough, witnesses on those without a copy have as many votes as all copies but one;
    /// where there are not, a witness host does if there is one.
    pub fn votes_needed(&self, policy: Option<&str>, nodes: u32) -> u32 {
        match self.redundancy_of(policy) {
            Redundancy::Replicas { copies, .. } => {
                let has_witnesses = self.vsan().witness || self.domains(nodes) >= 2 * copies - 1;
                if has_witnesses { 1 } else { copies / 2 + 1 }
            }
            Redundancy::Erasure { data, .. } => data,
        }
    }

    /// Its settings as a Ceph cluster: the defaults if it says none.
    pub fn ceph(&self) -> Ceph {
        self.ceph.clone().unwrap_or_default()
    }

    /// Its settings as a vSAN cluster: the defaults if it says none.
    pub fn vsan(&self) -> Vsan {
        self.vsan.clone().unwrap_or_default()
    }

    /// Metadata servers that it has on `nodes` hosts.
    pub fn metadata_servers(&self, nodes: u32) -> u32 {
        self.metadata_servers.unwrap_or(METADATA_SERVERS.min(nodes))
    }

    /// Disks of one node that hold data, of all kinds.
    pub fn devices_per_node(&self) -> u32 {
        self.all_devices().map(|devices| devices.per_node).sum()
    }

    /// Disks of one node that hold data, by kind.
    pub fn all_devices(&self) -> impl Iterator<Item = &PoolDevices> {
        std::iter::once(&self.devices).chain(&self.more_devices)
    }

    /// Failure domains that it has on `nodes` hosts.
    pub fn domains(&self, nodes: u32) -> u32 {
        match self.failure_domain {
            FailureDomain::Disk => nodes.saturating_mul(self.devices_per_node()),
            FailureDomain::Host => nodes,
            FailureDomain::Rack => self.racks.min(nodes),
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

/// The fewest of which one may fail.
const METADATA_SERVERS: u32 = 3;
