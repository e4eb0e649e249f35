//! The interface of a family of hypervisors.

use crate::migration::Settings;
use crate::numa;
use crate::reclamation::Policy;
use crate::scheduler::CpuScheduler;
use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, HeedsRate, IoThreads};
use crate::vnuma;
use crate::wake_up::WakeUp;
use hypertwin_cluster::{ControllerKind, DiskKind, HostGroup, Hypervisor, Plugin, Protocol, SchedulerOptions, VmGroup};

/// What a family of hypervisors decides. Where its versions differ it looks at `host.hypervisor`. No method has a
/// default: a new family has to answer each.
pub trait HypervisorModel: Sync {
    /// The CPU scheduler of `host`, without any world: the defaults of its version, with the host's overrides.
    fn cpu_scheduler(&self, host: &HostGroup) -> Box<dyn CpuScheduler>;

    /// The part of its run time (0 to 1) that a world is charged while the sibling thread of its core is busy.
    fn shared_core_charge(&self) -> f64;

    /// How long an idle vCPU of `host` takes to begin when it is woken.
    fn wake_up(&self, host: &HostGroup) -> WakeUp;

    /// When NUMA clients move to another home node; `None` where the hypervisor manages no home nodes.
    fn home_rules(&self, _version: Hypervisor, _options: &SchedulerOptions) -> Option<numa::Rules> {
        None
    }

    /// Whether helper worlds have shares of their own, as many as their VM's vCPUs, or are in one group with these.
    fn helpers_have_own_group(&self) -> bool;

    /// The virtual NUMA of `vm` when it is powered on, or moved to, a host of `host`.
    fn virtual_numa(&self, host: &HostGroup, vm: &VmGroup) -> vnuma::Topology;

    /// The user's remedy for a guest that sees one node although its vCPUs take several. `exposed`: it may see several.
    fn remedy_for_hidden_nodes(&self, host: &HostGroup, exposed: bool) -> &'static str;

    /// What a request through a controller of this kind costs.
    fn controller_cycles(&self, version: Hypervisor, kind: ControllerKind) -> Cycles;

    /// Whether completions of a controller are coalesced, and if so whether that begins at a rate. On Linux an
    /// interrupt follows once the guest has handled the previous completions.
    fn coalesces(&self, _version: Hypervisor, _kind: ControllerKind) -> Option<HeedsRate> {
        None
    }

    /// Worlds that work for the controllers of `vm`, which are of this kind.
    fn io_threads(&self, vm: &VmGroup, kind: ControllerKind) -> IoThreads;

    /// What a command costs the host, by the protocol of its array.
    fn protocol_cost(&self, protocol: Protocol) -> ProtocolCost;

    /// Whether a thread of the host handles a completion before the VM hears of it. Threads of QEMU and of vhost always
    /// do.
    fn completes_by_thread(&self, _protocol: Protocol) -> bool {
        true
    }

    /// The multipathing for disks of this kind that are reached so, as the scenario asks for it or by default; `None`
    /// where there is no choice.
    fn plugin(&self, _: Hypervisor, _asked: Option<Plugin>, _: Protocol, _: DiskKind) -> Option<Plugin> {
        None
    }

    /// How `host` migrates VMs.
    fn migration(&self, host: &HostGroup) -> Settings;

    /// How `host` deals with its memory; `None` without a hypervisor. `has_balloons`: whether any VM on it has one.
    fn reclamation(&self, host: &HostGroup, has_balloons: bool) -> Option<Policy>;
}
