//! Storage arrays, their caches and disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::two;
use super::network::{port_bandwidth, port_command};
use super::shape::plain_enum;
use crate::quantity::{Bandwidth, Bytes, Duration};

/// A storage array: front-end ports, a cache, and disks in RAID groups that all LUNs are spread over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageArray {
    /// Ports that hosts reach it by; LUN n uses port n modulo this number.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4_096))]
    pub front_end_ports: u32,
    /// Payload that one front-end port carries in each direction. Default: 800 MB/s, 8 Gb Fibre Channel.
    #[serde(default = "port_bandwidth")]
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub port_bandwidth: Bandwidth,
    /// Shortest time that one command occupies a front-end port, however small.
    #[serde(default = "port_command")]
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub port_command: Duration,
    /// The cache.
    #[serde(default)]
    pub cache: ArrayCache,
    /// How disks protect each other: writes cost more disk operations.
    #[serde(default)]
    pub raid: Raid,
    /// The disks.
    pub disks: Disks,
    /// LUNs for machines with `shared_luns`. Default: as many as front-end ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 65_536))]
    pub luns: Option<u32>,
}

/// The cache of an array. A random read hits it with probability cache size / sum of the working sets on the array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrayCache {
    /// Memory for user data; 0 turns the cache off, for writes too.
    #[schemars(extend("x-minimum" = "0 B", "x-maximum" = "1 PiB"))]
    pub size: Bytes,
    /// Time of the array's own work on a command: what a hit takes, without ports and fabric. A miss adds the disk.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Duration,
    /// Whether a write is acknowledged from the cache and reaches the disks later.
    pub write_back: bool,
    /// Written data that may wait for the disks; beyond it writes wait. At most 262,144 writes count, whatever their size.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub write_pending: Bytes,
}

impl Default for ArrayCache {
    fn default() -> Self {
        Self {
            size: Bytes::from_gib(16),
            latency: Duration::from_micros(300),
            write_back: true,
            write_pending: Bytes::from_gib(1),
        }
    }
}

/// RAID level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = plain_enum)]
pub enum Raid {
    /// Striping only: one disk operation for a write.
    #[serde(rename = "raid-0")]
    Raid0,
    /// Mirrored, striped or not (RAID 10): two writes.
    #[default]
    #[serde(rename = "raid-1")]
    Raid1,
    /// One parity: two reads and two writes.
    #[serde(rename = "raid-5")]
    Raid5,
    /// Two parities: three reads and three writes.
    #[serde(rename = "raid-6")]
    Raid6,
}

/// The disks of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disks {
    /// What they are.
    pub kind: DiskKind,
    /// How many.
    #[schemars(range(min = 1, max = 20_000), extend("examples" = [24]))]
    pub count: u32,
}

/// Kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = plain_enum)]
pub enum DiskKind {
    /// 15,000 revolutions a minute.
    #[serde(rename = "hdd-15k")]
    Hdd15k,
    /// 10,000 revolutions a minute.
    #[serde(rename = "hdd-10k")]
    Hdd10k,
    /// 7,200 revolutions a minute.
    #[serde(rename = "hdd-7.2k")]
    Hdd7k,
    /// Flash behind SATA.
    #[serde(rename = "sata-ssd")]
    SataSsd,
    /// Flash behind SAS.
    #[serde(rename = "sas-ssd")]
    SasSsd,
    /// Flash behind PCI Express.
    #[serde(rename = "nvme")]
    Nvme,
}
