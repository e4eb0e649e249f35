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
//! | `mod.rs` | what a controller of a VM costs; what it adds to its hypervisor's figures |
//! | `table.rs` | cycles by kind and version, each with its source |
//! | `coalescing.rs` | when a completion interrupts |

mod coalescing;
mod table;

pub use coalescing::{Coalescing, LONGEST_NS};
pub use table::{Cycles, PVSCSI_OF_ESXI_5_0};

use hypertwin_cluster::{AsyncIo, ControllerKind, DiskCache, GuestKind, SPLIT_BYTES, VmGroup};
use table::{CACHE_CYCLES, HAND_OVER_CYCLES, MAIN_LOOP_CYCLES, WINDOWS_CYCLES, WINDOWS_WAIT_NS};

/// What a virtual controller of a VM costs on a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualController {
    /// Cycles of the guest's driver and block layer for a request.
    pub guest_cycles: f64,
    /// Cycles of the hypervisor for a request, on one of its worlds.
    pub hypervisor_cycles: f64,
    /// Cycles of the guest for an interrupt, however many completions it brings.
    pub interrupt_cycles: f64,
    /// Time of a request in which no CPU works for it, in nanoseconds.
    pub wait_ns: u64,
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
    /// From the event that wakes it on a running logical CPU until it works.
    pub path_ns: u64,
}

impl VirtualController {
    /// A controller of `vm`, with the cycles and the coalescing of its hypervisor. `in_main_loop`: QEMU's main loop
    /// works for it.
    pub fn of(
        vm: &VmGroup,
        kind: ControllerKind,
        cycles: Cycles,
        coalesces: Option<HeedsRate>,
        in_main_loop: bool,
    ) -> Self {
        let (guest_cycles, wait_ns) = match (vm.guest.kind, cycles.system) {
            (Some(GuestKind::Windows), GuestKind::Linux) => (WINDOWS_CYCLES, WINDOWS_WAIT_NS),
            (Some(GuestKind::Linux), GuestKind::Windows) => (-WINDOWS_CYCLES, 0),
            _ => (0.0, 0),
        };
        let is_cached = !matches!(vm.disk_cache, DiskCache::None | DiskCache::Directsync);
        Self {
            guest_cycles: cycles.guest_cycles + guest_cycles,
            hypervisor_cycles: cycles.hypervisor_cycles + qemu_cycles(vm, is_cached, in_main_loop),
            interrupt_cycles: cycles.interrupt_cycles,
            wait_ns: cycles.wait_ns + wait_ns,
            largest_bytes: (kind == ControllerKind::Pvscsi).then_some(SPLIT_BYTES),
            coalesces,
            is_own: kind == ControllerKind::Passthrough,
            client_caches: is_cached && vm.storage.is_some(),
            flushed: match vm.disk_cache {
                DiskCache::Writethrough | DiskCache::Directsync => Some(1.0),
                DiskCache::Unsafe => Some(0.0),
                DiskCache::None | DiskCache::Writeback => None,
            },
        }
    }
}

/// What QEMU's main loop, cache and engine cost beside the controller. A pool's client has a cache of its own.
fn qemu_cycles(vm: &VmGroup, is_cached: bool, in_main_loop: bool) -> f64 {
    let parts = [
        (in_main_loop, MAIN_LOOP_CYCLES),
        (is_cached && vm.storage.is_none(), CACHE_CYCLES),
        (vm.aio == AsyncIo::Threads, HAND_OVER_CYCLES),
    ];
    parts
        .iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, cycles)| cycles)
        .sum()
}

/// Queues of one controller of `vm`; kinds that can have several have this number by default.
pub fn queues(vm: &VmGroup, kind: ControllerKind, default: u32) -> usize {
    match kind {
        ControllerKind::Ide | ControllerKind::Ahci | ControllerKind::LsiSas => 1,
        _ => vm.queues.unwrap_or(default) as usize,
    }
}
