//! Virtual storage controllers: cost per request for guest and hypervisor, their threads, and completion interrupts.
//!
//! **Mechanism.** The guest's driver and the hypervisor each spend a number of cycles on a request. A world of the
//! hypervisor (a VMkernel world, a thread of QEMU) works on one request after another, so it carries at most one CPU's
//! worth: clock / cycles. A controller has one of them or, with several queues, several in parallel. A device that the
//! guest drives itself (passthrough, or no hypervisor) has none. ESXi's PVSCSI and LSI SAS coalesce interrupts. All
//! others interrupt once the guest has handled the previous completions, as with virtio's event index and drivers that
//! empty a queue.
//!
//! **Assumptions.** The hypervisor's whole work for an I/O is done before it is sent; cycles do not depend on its size
//! up to where it is split. [`table`] marks assumed figures.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | what a controller of a VM is like on a host |
//! | `table.rs` | cycles by kind and version, each with its source |
//! | `coalescing.rs` | when a completion interrupts |

mod coalescing;
mod table;

pub use coalescing::{Coalescing, LONGEST_NS};

use hypertwin_cluster::{AsyncIo, ControllerKind, DiskCache, Family, GuestKind, HostGroup, SPLIT_BYTES, VmGroup};
use table::{CACHE_CYCLES, HAND_OVER_CYCLES, MAIN_LOOP_CYCLES, WINDOWS_CYCLES};

/// For how long an I/O thread of QEMU polls before it sleeps: `poll-max-ns` of the object `iothread`. Its main loop and
/// threads of the kernel do not poll.
const IO_THREAD_POLLS_NS: u64 = 32_768;

/// What a virtual controller of a VM costs on a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualController {
    /// Cycles of the guest's driver and block layer for a request.
    pub guest_cycles: f64,
    /// Cycles of the hypervisor for a request, on one of its worlds.
    pub hypervisor_cycles: f64,
    /// Cycles of the guest for an interrupt, however many completions it brings.
    pub interrupt_cycles: f64,
    /// Bytes beyond which a request is split; `None`: never.
    pub largest_bytes: Option<u64>,
    /// Whether interrupts are coalesced, and if so whether that begins at a rate.
    pub coalesces: Option<HeedsRate>,
    /// True if the guest itself has the driver of a pool: no thread of the host works for its I/O.
    pub is_own: bool,
    /// Whether the client of a pool caches.
    pub client_caches: bool,
    /// The fraction of writes that are flushed, where that is not up to the guest.
    pub flushed: Option<f64>,
}

/// Whether coalescing begins at a rate, or with commands in flight alone.
pub type HeedsRate = bool;

/// Worlds of the hypervisor that work for the controllers of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoThreads {
    /// Queues of one controller.
    pub queues: usize,
    /// Worlds of one controller, each for some of its queues.
    pub each: usize,
    /// Whether one world works for all controllers: QEMU's main loop.
    pub is_shared: bool,
    /// Worlds in all.
    pub count: usize,
    /// For how long one polls before it sleeps.
    pub polls_ns: u64,
}

/// What a controller of `vm` costs on `host`.
pub fn virtual_controller(host: &HostGroup, vm: &VmGroup) -> VirtualController {
    let kind = vm.controller_kind(host.hypervisor.family());
    let row = table::row(host.hypervisor, kind);
    let guest_cycles = match (vm.guest.kind, row.system) {
        (Some(GuestKind::Windows), GuestKind::Linux) => row.guest_cycles + WINDOWS_CYCLES,
        (Some(GuestKind::Linux), GuestKind::Windows) => row.guest_cycles - WINDOWS_CYCLES,
        _ => row.guest_cycles,
    };
    let is_cached = !matches!(vm.disk_cache, DiskCache::None | DiskCache::Directsync);
    let is_esxi = host.hypervisor.family() == Family::Esxi;
    let coalesces = is_esxi && matches!(kind, ControllerKind::Pvscsi | ControllerKind::LsiSas);
    VirtualController {
        guest_cycles,
        hypervisor_cycles: row.hypervisor_cycles + qemu_cycles(host, vm, is_cached),
        interrupt_cycles: row.interrupt_cycles,
        largest_bytes: (kind == ControllerKind::Pvscsi).then_some(SPLIT_BYTES),
        coalesces: coalesces.then_some(table::heeds_rate(host.hypervisor, kind)),
        is_own: kind == ControllerKind::Passthrough,
        client_caches: is_cached && vm.storage.is_some(),
        flushed: match vm.disk_cache {
            DiskCache::Writethrough | DiskCache::Directsync => Some(1.0),
            DiskCache::Unsafe => Some(0.0),
            DiskCache::None | DiskCache::Writeback => None,
        },
    }
}

/// What QEMU's main loop, cache and engine cost beside the controller. A pool's client has a cache of its own.
fn qemu_cycles(host: &HostGroup, vm: &VmGroup, is_cached: bool) -> f64 {
    let parts = [
        (io_threads(host, vm).is_shared, MAIN_LOOP_CYCLES),
        (is_cached && vm.storage.is_none(), CACHE_CYCLES),
        (vm.aio == AsyncIo::Threads, HAND_OVER_CYCLES),
    ];
    parts
        .iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, cycles)| cycles)
        .sum()
}

/// Worlds for the controllers of `vm` on `host`. ESXi has a world for each queue. QEMU (virtio) and the kernel of Linux
/// (vhost) have the configured threads, and QEMU otherwise its main loop.
pub fn io_threads(host: &HostGroup, vm: &VmGroup) -> IoThreads {
    let family = host.hypervisor.family();
    let kind = vm.controller_kind(family);
    let queues = match (kind, family) {
        (ControllerKind::Ide | ControllerKind::Ahci | ControllerKind::LsiSas, _) => 1,
        (_, Family::Linux) => vm.queues.unwrap_or(vm.vcpus),
        _ => vm.queues.unwrap_or(1),
    } as usize;
    let each = match (kind, family) {
        (ControllerKind::Passthrough, _) => 0,
        (ControllerKind::Ide | ControllerKind::Ahci, Family::Linux) => 1,
        (_, Family::Esxi) => queues,
        _ => queues.min(vm.io_threads.unwrap_or(1).max(1) as usize),
    };
    let in_main_loop = vm.io_threads == Some(0) || matches!(kind, ControllerKind::Ide | ControllerKind::Ahci);
    let is_shared = family == Family::Linux && in_main_loop && each > 0;
    let controllers = if is_shared { 1 } else { vm.controllers as usize };
    let is_in_kernel = matches!(kind, ControllerKind::VhostBlk | ControllerKind::VhostScsi);
    let polls = family == Family::Linux && !is_shared && !is_in_kernel;
    IoThreads {
        queues,
        each,
        is_shared,
        count: each * controllers,
        polls_ns: if polls { IO_THREAD_POLLS_NS } else { 0 },
    }
}
