//! Linux with KVM: `scheduler.rs` its CPU scheduler, with `balance.rs` (where tasks go), `domains.rs` and
//! `load_average.rs`; `vnuma.rs` its virtual NUMA; `storage.rs` its controllers and protocols; `migration.rs` the
//! defaults of live migration; `memory.rs` its memory.

mod balance;
mod domains;
mod load_average;
mod memory;
pub(super) mod migration;
pub mod scheduler;
pub(super) mod storage;
pub mod vnuma;

use super::interface::HypervisorModel;
use crate::migration::Settings;
use crate::reclamation::Policy;
use crate::scheduler::CpuScheduler;
use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, IoThreads};
use crate::vnuma::Topology;
use crate::wake_up::WakeUp;
use hypertwin_cluster::{ControllerKind, HostGroup, Hypervisor, PowerPolicy, Protocol, VmGroup};

/// For how long KVM polls for work of a vCPU that halts: `halt_poll_ns` of x86
/// (`Documentation/virt/kvm/halt-polling.rst`). It adapts to waits within that limit and gives up on longer ones.
const HALT_POLL_NS: u64 = 200_000;

/// Linux with KVM, all kernels.
pub struct Linux;

impl HypervisorModel for Linux {
    fn cpu_scheduler(&self, host: &HostGroup) -> Box<dyn CpuScheduler> {
        Box::new(scheduler::LinuxScheduler::new(host))
    }

    /// Linux accounts the time on a CPU as it is.
    fn shared_core_charge(&self) -> f64 {
        1.0
    }

    /// Between the "few microseconds" of a trip through the scheduler (Linux, `virt/kvm/halt-polling.rst`) and 12 us,
    /// half of what a round trip of two wake-ups takes longer in a VM on processors without posted interrupts (D.
    /// Matlack, "Message Passing Workloads in KVM", 2015). Linux uses all idle states unless told otherwise.
    fn wake_up(&self, host: &HostGroup) -> WakeUp {
        let is_shallow = matches!(
            host.power_policy,
            Some(PowerPolicy::HighPerformance | PowerPolicy::NotManaged)
        );
        WakeUp {
            path_ns: 5_000,
            sleeps_deeply: !is_shallow,
            polls_ns: HALT_POLL_NS,
        }
    }

    /// The threads of QEMU and vhost are in their VM's cgroup.
    fn helpers_have_own_group(&self) -> bool {
        false
    }

    fn virtual_numa(&self, host: &HostGroup, vm: &VmGroup) -> Topology {
        vnuma::topology(host, vm)
    }

    fn remedy_for_hidden_nodes(&self, _host: &HostGroup, _exposed: bool) -> &'static str {
        "Define cells (libvirt <numa>) bound to nodes"
    }

    fn controller_cycles(&self, _version: Hypervisor, kind: ControllerKind) -> Cycles {
        storage::controller_cycles(kind)
    }

    fn io_threads(&self, vm: &VmGroup, kind: ControllerKind) -> IoThreads {
        storage::io_threads(vm, kind)
    }

    fn protocol_cost(&self, protocol: Protocol) -> ProtocolCost {
        storage::protocol_cost(protocol)
    }

    fn migration(&self, host: &HostGroup) -> Settings {
        migration::settings(host)
    }

    fn reclamation(&self, host: &HostGroup, has_balloons: bool) -> Option<Policy> {
        Some(memory::policy(host, has_balloons))
    }
}
