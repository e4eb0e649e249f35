//! Storage in the scenario: arrays, the adapters that hosts reach them by, and virtual controllers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bandwidth, Bytes, Duration};
use crate::schema::plain_enum;

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

/// Ports by which a host reaches arrays, and how many commands it keeps outstanding. The defaults are two ports of 8 Gb
/// Fibre Channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapters {
    /// Ports in all; LUN n uses port n modulo this number.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    /// Payload that one port carries in each direction.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Bandwidth,
    /// Shortest time that one command occupies a port, however small.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub command: Duration,
    /// Commands outstanding on one port.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Fabric between host and array: the way there and back, without transfer times.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Duration,
    /// Commands that the host keeps outstanding on one LUN.
    #[schemars(range(min = 1, max = 4_096))]
    pub lun_depth: u32,
    /// `DSNRO` (ESXi Disk.SchedNumReqOutstanding): commands of one machine outstanding on a LUN that several machines share.
    #[schemars(range(min = 1, max = 256))]
    pub dsnro: u32,
}

impl Default for Adapters {
    fn default() -> Self {
        Self {
            ports: 2,
            bandwidth: port_bandwidth(),
            command: port_command(),
            depth: 2_048,
            latency: Duration::from_micros(20),
            lun_depth: 64,
            dsnro: 32,
        }
    }
}

/// Kind of virtual storage controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum ControllerKind {
    /// VMware Paravirtual SCSI.
    Pvscsi,
    /// An emulated LSI Logic SAS adapter.
    LsiSas,
    /// virtio-scsi with an I/O thread.
    VirtioScsi,
    /// virtio-blk: every vdisk is a device with a queue of its own; a controller is the I/O thread that serves them.
    VirtioBlk,
    /// An emulated NVMe controller; a vdisk is a namespace.
    Nvme,
}

/// Bytes at which PVSCSI splits a request.
pub const SPLIT_BYTES: u64 = 512 << 10;
/// Vdisks of one controller, and controllers of one machine.
pub const VDISKS_PER_CONTROLLER: u32 = 15;
/// Vdisks on each controller where the scenario does not say.
pub const DEFAULT_VDISKS_PER_CONTROLLER: u32 = 10;
/// Requests in one page of a PVSCSI ring, and pages by default.
const REQUESTS_PER_PAGE: u32 = 32;
const DEFAULT_RING_PAGES: u32 = 8;

impl ControllerKind {
    /// Requests that one controller keeps outstanding. PVSCSI: 32 a ring page, 8 pages by default and 32 at most (VMware
    /// KB 2053145). LSI SAS: 128. virtio: the default queue size of QEMU, 256. NVMe: 1,024, a default of this model.
    pub fn depth(self, ring_pages: Option<u32>) -> u32 {
        match self {
            Self::Pvscsi => REQUESTS_PER_PAGE * ring_pages.unwrap_or(DEFAULT_RING_PAGES),
            Self::LsiSas => 128,
            Self::VirtioScsi => 256,
            Self::VirtioBlk => 256 * VDISKS_PER_CONTROLLER,
            Self::Nvme => 1_024,
        }
    }

    /// Requests outstanding on one vdisk: by default, and at most. PVSCSI 64 and 254, LSI SAS 32 (VMware KB 2053145).
    pub const fn vdisk_depth(self) -> (u32, u32) {
        match self {
            Self::Pvscsi => (64, 254),
            Self::LsiSas => (32, 32),
            Self::VirtioScsi => (128, 256),
            Self::VirtioBlk => (256, 256),
            Self::Nvme => (256, 1_024),
        }
    }

    /// As scenarios write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pvscsi => "pvscsi",
            Self::LsiSas => "lsi-sas",
            Self::VirtioScsi => "virtio-scsi",
            Self::VirtioBlk => "virtio-blk",
            Self::Nvme => "nvme",
        }
    }
}

/// A part of a workload's I/Os that has a size of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// Size of these I/Os.
    #[schemars(extend("x-minimum" = "512 B", "x-maximum" = "64 MiB"), extend("examples" = ["64 KiB"]))]
    pub block: Bytes,
    /// How many of all I/Os they are.
    #[schemars(range(min = 0.0, max = 100.0), extend("examples" = [10]))]
    pub share_pct: f64,
}

fn two() -> u32 {
    2
}

fn port_bandwidth() -> Bandwidth {
    Bandwidth::from_bytes_per_s(800_000_000)
}

fn port_command() -> Duration {
    Duration::from_micros(5)
}
