//! Cycles of a request by kind of controller and version of the hypervisor, each figure with its source.
//!
//! No cycles are published of versions between those of this list and after them: each version has those of the last
//! one before it that is known, and ESX 4 has those of 5.0.
//!
//! - PVSCSI of ESXi 5.0, hypervisor: 32,000; 75,000 I/Os per second through one controller at 2.4 GHz ("Achieving a
//!   Million I/O Operations per Second from a Single VMware vSphere 5.0 Host", VMware, 2011)
//! - PVSCSI of ESXi 5.0, guest: 20,000; assumed: with Iometer it is what 24 vCPUs spend at a million
//! - PVSCSI from 5.1, hypervisor: 9,300; bound: a VM of 8 vCPUs at 2.9 GHz does over a million I/Os of 4 KiB through 4
//!   controllers (VMware, 2012), so each world has at most 11,600; four fifths of that, since the vCPUs limit
//! - PVSCSI from 5.1, guest: 11,600; bound: 8 vCPUs have at most 23,200 for an I/O in all; half of that, the rest is
//!   Iometer and interrupts
//! - LSI SAS: 5,000 and 5,000 more; a tenth more CPU per I/O than PVSCSI (the source of 2011); 10 to 30 % (VMware,
//!   2010)
//! - NVMe of Linux, guest: 9,100; published cost of an I/O through it
//! - NVMe of ESXi, hypervisor: as PVSCSI; assumed: the path below is the same
//! - virtio-blk, guest: 16,500; 133,000 I/Os per second of one vCPU at an assumed 3 GHz, of which 2 us are fio's
//! - virtio-blk, thread of QEMU: 9,900; 304,000 through one I/O thread at 3 GHz: both of "vhost-blk", RFC v2, kvm list,
//!   2022
//! - vhost-blk, guest: 18,500; assumed: 2,000 more than virtio-blk, an exit, since a kernel thread that does not poll
//!   is woken for each request
//! - vhost-scsi, thread of the kernel: 6,000; 500,000 I/Os per second through one, however many queues (Linux, commit
//!   c1ecd8e95007, "vhost: allow userspace to create workers", 2023), at an assumed 3 GHz
//! - vhost-blk, thread of the kernel: as vhost-scsi's; assumed
//! - virtio-scsi: 2,000 and 2,000 more, vhost-scsi 2,000 more in the guest; assumed: the SCSI layer
//! - virtio-scsi: waits 8.5 us more, beside its cycles; a request at depth 1 takes 9.6 us more than through virtio-blk
//!   (optane-dcpmm-proxmox-tests, 2025), while one I/O thread does 190,000 a second (qemu-devel, 2025)
//! - IDE, AHCI: 25,000 and 40,000; from ESXi 5.1 16,600 and 17,300; assumed: 5,000 and 8,000 more than PVSCSI, an exit
//!   for each register
//! - PVSCSI, LSI SAS, NVMe of QEMU: 20,000 and 32,000; 25,000 and 37,000; 9,100 and 30,000; assumed: PVSCSI's of ESXi
//!   5.0
//! - an interrupt: 8,000; assumed: exit, injection and handler. For a device that the guest drives itself: in its 9,100
//! - Windows: 2,500 more than Linux; assumed: half of the bound of 5.1 over NVMe of Linux. Waits 22 us more, beside its
//!   cycles: set so that Windows 10 does 25,700 reads at depth 1 (the source of virtio-scsi's wait)
//!
//! **The cost of a request is a table of versions and kinds**, `models/storage/virtual_controller/table.rs`. Each
//! figure has its source. A controller's queues are distributed over worlds, which are created like helpers. A VM keeps
//! one number of such worlds for the whole run. The host on which the VM needs the most worlds determines this number.

use hypertwin_cluster::{ControllerKind, GuestKind};

/// How much more Windows spends on a request than Linux.
pub const WINDOWS_CYCLES: f64 = 2_500.0;
/// How much longer a request of Windows takes than one of Linux, beside its cycles.
pub const WINDOWS_WAIT_NS: u64 = 22_000;
/// How much longer a request through virtio-scsi takes, beside its cycles.
const SCSI_WAIT_NS: u64 = 8_500;
/// Cycles of a round of QEMU's main loop in addition to the request: its lock, and a poll of all its events. Assumed.
pub const MAIN_LOOP_CYCLES: f64 = 3_000.0;
/// Cycles of the host's page cache per request: finding pages and copying them. Assumed.
pub const CACHE_CYCLES: f64 = 4_000.0;
/// Cycles to hand a request to another thread and get its completion. Assumed.
pub const HAND_OVER_CYCLES: f64 = 6_000.0;

/// Cycles of PVSCSI up to ESXi 5.0, and of QEMU: of the guest, and of the hypervisor.
pub const PVSCSI_OF_ESXI_5_0: [f64; 2] = [20_000.0, 32_000.0];

/// Cycles of a request through one kind of controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// Of the guest.
    pub guest_cycles: f64,
    /// The guest system that `guest_cycles` are of.
    pub system: GuestKind,
    /// Of the hypervisor.
    pub hypervisor_cycles: f64,
    /// Of the guest for an interrupt.
    pub interrupt_cycles: f64,
    /// Time of a request in which no CPU works for it, in nanoseconds.
    pub wait_ns: u64,
}

impl Cycles {
    /// Those of a kind on a hypervisor whose PVSCSI costs this of guest and hypervisor, and whose NVMe costs the
    /// hypervisor this.
    pub fn of(kind: ControllerKind, pvscsi: [f64; 2], nvme: f64) -> Self {
        use ControllerKind::{
            Ahci, Ide, LsiSas, Nvme, Passthrough, Pvscsi, VhostBlk, VhostScsi, VirtioBlk, VirtioScsi,
        };
        let [guest_cycles, hypervisor_cycles] = match kind {
            Pvscsi => pvscsi,
            LsiSas => [pvscsi[0] + 5_000.0, pvscsi[1] + 5_000.0],
            Ide | Ahci => [pvscsi[0] + 5_000.0, pvscsi[1] + 8_000.0],
            Nvme => [9_100.0, nvme],
            VirtioBlk => [16_500.0, 9_900.0],
            VirtioScsi => [18_500.0, 11_900.0],
            VhostBlk => [18_500.0, 6_000.0],
            VhostScsi => [20_500.0, 6_000.0],
            Passthrough => [9_100.0, 0.0],
        };
        Self {
            guest_cycles,
            system: match kind {
                Pvscsi | LsiSas | Ide | Ahci => GuestKind::Windows,
                Nvme | VirtioBlk | VirtioScsi | VhostBlk | VhostScsi | Passthrough => GuestKind::Linux,
            },
            hypervisor_cycles,
            interrupt_cycles: if kind == Passthrough { 0.0 } else { 8_000.0 },
            wait_ns: if kind == VirtioScsi { SCSI_WAIT_NS } else { 0 },
        }
    }
}
