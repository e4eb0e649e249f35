//! Virtual storage controllers: their kinds and queue depths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::plain_enum;

plain! {
    ControllerKind: "str";
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
    /// virtio-blk: every vdisk is a device with its own queue; a controller is the I/O thread that serves them.
    VirtioBlk,
    /// An emulated NVMe controller; a vdisk is a namespace.
    Nvme,
    /// An emulated IDE controller: one request at a time.
    Ide,
    /// An emulated SATA controller.
    Ahci,
    /// virtio-blk by the kernel of the host (vhost).
    VhostBlk,
    /// virtio-scsi by the kernel of the host (vhost).
    VhostScsi,
    /// A controller of the host, passed through to the VM (VFIO, DirectPath I/O); its I/O bypasses the hypervisor.
    Passthrough,
}

/// QEMU cache mode of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum DiskCache {
    /// Bypasses the host's cache (O_DIRECT); flushes go to the storage.
    #[default]
    None,
    /// Uses the host's cache, or that of the pool's client; flushes go to the storage.
    Writeback,
    /// Uses the host's cache; every write is flushed.
    Writethrough,
    /// Bypasses the host's cache; every write is flushed.
    Directsync,
    /// Uses the host's cache; flushes are ignored.
    Unsafe,
}

/// Asynchronous I/O interface of QEMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = plain_enum)]
pub enum AsyncIo {
    /// Linux AIO.
    #[default]
    #[serde(rename = "native")]
    Native,
    /// io_uring.
    #[serde(rename = "io_uring")]
    IoUring,
    /// A pool of threads.
    #[serde(rename = "threads")]
    Threads,
}

/// Bytes at which PVSCSI splits a request.
pub const SPLIT_BYTES: u64 = 512 << 10;
/// Maximum vdisks per controller.
pub const VDISKS_PER_CONTROLLER: u32 = 15;
/// Default vdisks per controller.
pub const DEFAULT_VDISKS_PER_CONTROLLER: u32 = 10;
/// Requests in one page of a PVSCSI ring, and pages by default.
const REQUESTS_PER_PAGE: u32 = 32;
const DEFAULT_RING_PAGES: u32 = 8;

impl ControllerKind {
    /// Requests that one controller keeps outstanding. PVSCSI: 32 a ring page, 8 pages by default and 32 at most
    /// (VMware KB 2053145). LSI SAS: 128. virtio: the default queue size of QEMU, 256. AHCI: its 32 slots. NVMe: 1,024,
    /// a default of this model.
    pub fn depth(self, ring_pages: Option<u32>) -> u32 {
        match self {
            Self::Pvscsi => REQUESTS_PER_PAGE * ring_pages.unwrap_or(DEFAULT_RING_PAGES),
            Self::LsiSas => 128,
            Self::VirtioScsi => 256,
            Self::VirtioBlk | Self::VhostBlk => 256 * VDISKS_PER_CONTROLLER,
            Self::VhostScsi => 256,
            Self::Nvme | Self::Passthrough => 1_024,
            Self::Ide => 1,
            Self::Ahci => 32,
        }
    }

    /// Requests outstanding on one vdisk: by default, and at most. PVSCSI 64 and 254, LSI SAS 32 (VMware KB 2053145).
    pub const fn vdisk_depth(self) -> (u32, u32) {
        match self {
            Self::Pvscsi => (64, 254),
            Self::LsiSas => (32, 32),
            Self::VirtioScsi => (128, 256),
            Self::VhostScsi => (128, 256),
            Self::VirtioBlk | Self::VhostBlk => (256, 256),
            Self::Nvme | Self::Passthrough => (256, 1_024),
            Self::Ide => (1, 1),
            Self::Ahci => (32, 32),
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
            Self::Ide => "ide",
            Self::Ahci => "ahci",
            Self::VhostBlk => "vhost-blk",
            Self::VhostScsi => "vhost-scsi",
            Self::Passthrough => "passthrough",
        }
    }
}
