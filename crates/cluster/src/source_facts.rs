//! Facts of the source system about a VM as the inventory has them: sizes in bytes, unknown facts left out.

use serde::Serialize;

use crate::quantity::Bytes;
use crate::spec::source::{SourceDisk, SourcePartition, SourceVm};

/// Facts of the source system about a VM; `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SourceFacts {
    /// All facts without sizes; its `disks` and `partitions` are `None`.
    #[serde(flatten)]
    pub known: SourceVm,
    /// Virtual disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<Vec<SourceDiskFacts>>,
    /// File systems of the guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Vec<SourcePartitionFacts>>,
}

/// A virtual disk in the source system; `None` if unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceDiskFacts {
    /// All facts without sizes.
    #[serde(flatten)]
    pub known: SourceDisk,
    /// Capacity that the guest sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
}

/// A file system of a guest; `None` if unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourcePartitionFacts {
    /// Mount point or drive letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Free capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
}

impl From<SourceVm> for SourceFacts {
    fn from(mut known: SourceVm) -> Self {
        let disks = known.disks.take();
        let partitions = known.partitions.take();
        Self {
            known,
            disks: disks.map(|disks| disks.into_iter().map(SourceDiskFacts::from).collect()),
            partitions: partitions.map(|listed| listed.into_iter().map(SourcePartitionFacts::from).collect()),
        }
    }
}

impl From<SourceDisk> for SourceDiskFacts {
    fn from(mut known: SourceDisk) -> Self {
        let capacity_bytes = known.capacity.take().map(Bytes::bytes);
        Self { known, capacity_bytes }
    }
}

impl From<SourcePartition> for SourcePartitionFacts {
    fn from(partition: SourcePartition) -> Self {
        Self {
            path: partition.path,
            capacity_bytes: partition.capacity.map(Bytes::bytes),
            free_bytes: partition.free.map(Bytes::bytes),
        }
    }
}
