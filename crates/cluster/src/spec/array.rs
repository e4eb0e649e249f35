//! Storage arrays, their caches and disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::{is_default, two};
use super::network::{port_bandwidth, port_command};
use super::shape::plain_enum;
use crate::quantity::{Bandwidth, Bytes, Duration};

/// A storage array: front-end ports, a cache, and disks in RAID groups that all LUNs are spread over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageArray {
    /// Front-end ports; LUN n uses port n modulo this number.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4_096))]
    pub front_end_ports: u32,
    /// Payload that one front-end port carries in each direction. Default: 800 MB/s, 8 Gb Fibre Channel.
    #[serde(default = "port_bandwidth")]
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub port_bandwidth: Bandwidth,
    /// Protocol between hosts and array.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
    /// Paths of each LUN, and the path policy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paths: Paths,
    /// Minimum time that a command occupies a front-end port.
    #[serde(default = "port_command")]
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub port_command: Duration,
    /// The cache.
    #[serde(default)]
    pub cache: ArrayCache,
    /// RAID level: sets the disk operations per write.
    #[serde(default)]
    pub raid: Raid,
    /// The disks.
    pub disks: Disks,
    /// LUNs for VMs with `shared_luns`. Default: one per front-end port.
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
    /// Latency of a cache hit, without ports and fabric. A miss adds the disk. Default: 300 us; 0 for disks inside a
    /// host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Option<Duration>,
    /// Write-back: the cache acknowledges a write, which reaches the disks later.
    pub write_back: bool,
    /// Maximum written data in the cache that waits for the disks; beyond it writes wait. At most 65,536 writes count,
    /// of any size.
    #[schemars(extend("x-minimum" = "1 MiB", "x-maximum" = "1 PiB"))]
    pub write_pending: Bytes,
}

impl Default for ArrayCache {
    fn default() -> Self {
        Self {
            size: Bytes::from_gib(16),
            latency: None,
            write_back: true,
            write_pending: Bytes::from_gib(1),
        }
    }
}

impl StorageArray {
    /// Time of its own work on a command.
    pub fn latency(&self) -> Duration {
        let micros = if self.is_local() { 0 } else { 300 };
        self.cache.latency.unwrap_or(Duration::from_micros(micros))
    }

    /// True for disks inside the host that uses them.
    pub fn is_local(&self) -> bool {
        self.protocol == Protocol::Local
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

/// Protocol between hosts and array: sets their cost per command, in addition to ports and fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Protocol {
    /// SCSI over Fibre Channel.
    #[default]
    Fc,
    /// SCSI over TCP, by the host's software.
    Iscsi,
    /// NVMe over Fibre Channel.
    NvmeFc,
    /// NVMe over TCP.
    NvmeTcp,
    /// NVMe over RDMA.
    NvmeRdma,
    /// Disks inside the one host that uses them: no ports, no fabric, no cache.
    Local,
}

/// Paths from a host to each LUN, and the path policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Paths {
    /// Paths per LUN. Path i of LUN n uses port n + i of the host and port n + i of the array, modulo their numbers.
    #[schemars(range(min = 1, max = 64))]
    pub per_lun: u32,
    /// Optimised paths: the first ones, which lead to the controller that owns the LUN (ALUA active/optimised). The
    /// others are used only if all of these fail. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 64))]
    pub optimised: Option<u32>,
    /// Extra latency of a non-optimised path.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub non_optimised_latency: Duration,
    /// Path selection among working paths.
    pub policy: PathPolicy,
    /// `round-robin`: I/Os per path before a switch.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iops_limit: u32,
    /// `round-robin`: bytes per path before a switch.
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "1 TiB"))]
    pub bytes_limit: Bytes,
    /// Time that an I/O on a failed path waits before it is sent on another path.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 h"))]
    pub timeout: Duration,
    /// Multipathing plug-in of ESXi. Default: by version and protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Plugin")]
    pub plugin: Option<Plugin>,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            per_lun: 1,
            optimised: None,
            non_optimised_latency: Duration::from_micros(200),
            policy: PathPolicy::Fixed,
            iops_limit: 1_000,
            bytes_limit: Bytes::new(10_485_760),
            timeout: Duration::from_secs(5),
            plugin: None,
        }
    }
}

/// Path selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum PathPolicy {
    /// The first working path.
    #[default]
    Fixed,
    /// The path used last, while it works.
    MostRecentlyUsed,
    /// The next path after `iops_limit` I/Os or `bytes_limit` bytes.
    RoundRobin,
    /// The path with the fewest outstanding I/Os (`queue-length` of Linux, load balancing of NVMe).
    QueueLength,
}

/// Multipathing plug-in of ESXi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum Plugin {
    /// Native Multipathing.
    Nmp,
    /// High-Performance Plug-in.
    Hpp,
}

/// The disks of an array: a `kind` or a `device`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disks {
    /// Generic kind of disk.
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
    /// Number of disks.
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

impl DiskKind {
    /// Whether it has no moving parts.
    pub const fn is_flash(self) -> bool {
        matches!(self, Self::SataSsd | Self::SasSsd | Self::Nvme)
    }
}
