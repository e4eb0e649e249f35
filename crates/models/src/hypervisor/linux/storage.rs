//! Virtual controllers and protocols of QEMU and Linux.
//!
//! **Sources.** Cycles of controllers: `crates/models/src/storage/virtual_controller/table.rs`. A command of NVMe costs
//! 9,100 cycles in all, of which a RAM disk has 2,500 (assumed): the call, and a copy of a page.

use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, IoThreads, PVSCSI_OF_ESXI_5_0, queues};
use crate::wake_up::SWITCH_NS;
use hypertwin_cluster::{ControllerKind, Protocol, VmGroup};

/// Cycles of QEMU for a request of its NVMe device. Assumed.
const NVME: f64 = 30_000.0;

/// Cycles of Linux for a command to its own disk, beside what a RAM disk costs: the interrupt, and the completion
/// through block layer and event.
const LOCAL: f64 = 6_600.0;

/// For how long an I/O thread of QEMU polls before it sleeps: `poll-max-ns` of the object `iothread`. Its main loop and
/// threads of the kernel do not poll.
const IO_THREAD_POLLS_NS: u64 = 32_768;

/// What QEMU's main loop takes from its wake-up to the event, beside what a request costs: all its events are polled,
/// and dispatched in turn. Set so that virtio-blk without an I/O thread does 21,831 reads at depth 1 on a P4800X (S.
/// Hajnoczi, "The 10 Microsecond Challenge", KVM Forum 2020).
const MAIN_LOOP_NS: u64 = 6_000;

/// What a request through a controller costs.
pub fn controller_cycles(kind: ControllerKind) -> Cycles {
    Cycles::of(kind, PVSCSI_OF_ESXI_5_0, NVME)
}

/// The configured threads of QEMU (virtio) and of the kernel (vhost). Without threads, and for IDE and AHCI, it is the
/// main loop of QEMU.
pub fn io_threads(vm: &VmGroup, kind: ControllerKind) -> IoThreads {
    let queues = queues(vm, kind, vm.vcpus);
    let is_legacy = matches!(kind, ControllerKind::Ide | ControllerKind::Ahci);
    let each = match kind {
        ControllerKind::Passthrough => 0,
        _ if is_legacy => 1,
        _ => queues.min(vm.io_threads.unwrap_or(1).max(1) as usize),
    };
    let is_shared = (vm.io_threads == Some(0) || is_legacy) && each > 0;
    let controllers = if is_shared { 1 } else { vm.controllers as usize };
    let is_in_kernel = matches!(kind, ControllerKind::VhostBlk | ControllerKind::VhostScsi);
    let polls = !is_shared && !is_in_kernel;
    IoThreads {
        queues,
        each,
        is_shared,
        count: each * controllers,
        polls_ns: if polls { IO_THREAD_POLLS_NS } else { 0 },
        path_ns: SWITCH_NS + if is_shared { MAIN_LOOP_NS } else { 0 },
    }
}

/// What a command costs the host.
pub fn protocol_cost(protocol: Protocol) -> ProtocolCost {
    let general = ProtocolCost::of(protocol);
    match protocol {
        Protocol::Local => ProtocolCost {
            cycles: LOCAL,
            ..general
        },
        _ => general,
    }
}

#[cfg(test)]
mod tests {
    use super::controller_cycles;
    use hypertwin_cluster::ControllerKind;

    #[test]
    fn cycles_give_the_published_rates() {
        let own = controller_cycles(ControllerKind::Passthrough);
        assert_eq!((own.hypervisor_cycles, own.interrupt_cycles), (0.0, 0.0));
        let iops = |cycles: f64| 3e9 / cycles;
        let virtio = controller_cycles(ControllerKind::VirtioBlk);
        assert!((iops(virtio.hypervisor_cycles) / 304e3 - 1.0).abs() < 0.01);
        assert!((iops(virtio.guest_cycles + 6_000.0) / 133e3 - 1.0).abs() < 0.01);
    }
}
