//! Kinds of distributed storage, and the facts of each that scenarios depend on: defaults, and keys of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ceph::Ceph;
use super::defaults::mebibyte;
use super::shape::plain_enum;
use crate::quantity::{Bandwidth, Bytes, Duration};
use crate::redundancy::Redundancy;

/// Kind of distributed storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PoolKind {
    /// Small chunks mirrored over all devices; metadata is not in the data path (ScaleIO).
    MirroredMesh,
    /// Large chunks, one service per disk, metadata servers that need a majority (Virtuozzo Storage).
    ChunkStore,
    /// Ceph: placement groups with a primary, one OSD per device.
    Ceph,
    /// VMware vSAN, in the hypervisor.
    Vsan,
}

/// Path of a write's replicas to their devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum WritePath {
    /// Each node forwards them to the next (ScaleIO, Virtuozzo Storage).
    Chain,
    /// The first node sends them to the others (Ceph).
    Primary,
    /// The client sends all (vSAN).
    Client,
}

/// Facts of a kind of pool.
#[derive(Debug)]
pub struct PoolFacts {
    /// As scenarios write it.
    pub key: &'static str,
    /// True if a pool can have the settings `ceph`. Its services are then OSDs, instead of threads per device or node.
    pub takes_ceph: bool,
    /// True if a pool can have the settings `vsan`.
    pub takes_vsan: bool,
    /// Memory that its software occupies on each node.
    pub memory: NodeMemory,
    /// Default of `redundancy`.
    pub redundancy: Redundancy,
    /// Default of `chunk`.
    pub chunk: Bytes,
    /// Default of `fragment`, with settings of Ceph.
    pub fragment: fn(&Ceph) -> Bytes,
    /// Default of `write_path`.
    pub write_path: WritePath,
    /// Default of `service.in_kernel`.
    pub in_kernel: bool,
    /// Default of `client.timeout`.
    pub timeout: Duration,
    /// Default of `rebuild.delay`.
    pub rebuild_delay: Duration,
    /// Default of `rebuild.node_bandwidth`.
    pub rebuild_bandwidth: Bandwidth,
    /// Default of `rebuild.unit`, with the size of a chunk.
    pub rebuild_unit: fn(Bytes) -> Bytes,
}

/// Memory that the software of a pool occupies on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeMemory {
    /// None is published.
    Unknown,
    /// The same for each OSD.
    Osds,
    /// vSAN OSA: by disk groups. None is published of ESA.
    DiskGroups,
}

/// No limit except that of the product's own scheduler.
const UNLIMITED: Bandwidth = Bandwidth::from_bytes_per_s(1_000_000_000_000);

const MIRRORED_MESH: PoolFacts = PoolFacts {
    key: "mirrored-mesh",
    takes_ceph: false,
    takes_vsan: false,
    memory: NodeMemory::Unknown,
    redundancy: Redundancy::Replicas { copies: 2, minimum: 1 },
    chunk: Bytes::new(1 << 20),
    fragment: |_| mebibyte(),
    write_path: WritePath::Chain,
    in_kernel: false,
    timeout: Duration::from_secs(1),
    rebuild_delay: Duration::from_secs(5),
    rebuild_bandwidth: Bandwidth::from_bytes_per_s(500_000_000),
    rebuild_unit: |_| mebibyte(),
};

const CHUNK_STORE: PoolFacts = PoolFacts {
    key: "chunk-store",
    redundancy: Redundancy::Replicas { copies: 3, minimum: 2 },
    chunk: Bytes::new(256 << 20),
    ..MIRRORED_MESH
};

const CEPH: PoolFacts = PoolFacts {
    key: "ceph",
    takes_ceph: true,
    takes_vsan: false,
    memory: NodeMemory::Osds,
    redundancy: Redundancy::Replicas { copies: 3, minimum: 2 },
    chunk: Bytes::new(4 << 20),
    fragment: |ceph| match ceph.ec_optimizations {
        true => Bytes::new(16 << 10),
        false => Bytes::new(4 << 10),
    },
    write_path: WritePath::Primary,
    in_kernel: false,
    timeout: Duration::from_secs(20),
    rebuild_delay: Duration::from_secs(620),
    rebuild_bandwidth: UNLIMITED,
    rebuild_unit: |chunk| Bytes::new(8 << 20).min(chunk),
};

const VSAN: PoolFacts = PoolFacts {
    key: "vsan",
    takes_ceph: false,
    takes_vsan: true,
    memory: NodeMemory::DiskGroups,
    redundancy: Redundancy::Replicas { copies: 2, minimum: 1 },
    chunk: Bytes::new(255_000_000_000),
    fragment: |_| mebibyte(),
    write_path: WritePath::Client,
    in_kernel: true,
    timeout: Duration::from_secs(5),
    rebuild_delay: Duration::from_secs(3_600),
    rebuild_bandwidth: UNLIMITED,
    rebuild_unit: |_| mebibyte(),
};

impl PoolKind {
    /// Facts of this kind.
    pub const fn facts(self) -> &'static PoolFacts {
        match self {
            Self::MirroredMesh => &MIRRORED_MESH,
            Self::ChunkStore => &CHUNK_STORE,
            Self::Ceph => &CEPH,
            Self::Vsan => &VSAN,
        }
    }

    /// As scenarios write it.
    pub const fn as_str(self) -> &'static str {
        self.facts().key
    }
}
