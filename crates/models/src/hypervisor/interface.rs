//! The interface of a family of hypervisors.

use crate::numa;
use crate::scheduler::CpuScheduler;
use crate::vnuma;
use crate::wake_up::WakeUp;
use hypertwin_cluster::{HostGroup, VmGroup};

/// What a family of hypervisors decides. Where its versions differ it looks at `host.hypervisor`.
pub trait HypervisorModel: Sync {
    /// The CPU scheduler of `host`, without any world: the defaults of its version, with the host's overrides.
    fn cpu_scheduler(&self, host: &HostGroup) -> Box<dyn CpuScheduler>;

    /// The part of its run time (0 to 1) that a world is charged while the sibling thread of its core is busy.
    fn shared_core_charge(&self) -> f64;

    /// How long an idle vCPU of `host` takes to begin when it is woken.
    fn wake_up(&self, host: &HostGroup) -> WakeUp;

    /// When NUMA clients move to another home node; `None` where the hypervisor manages no home nodes.
    fn home_rules(&self, host: &HostGroup) -> Option<numa::Rules>;

    /// Whether helper worlds have shares of their own, as many as their VM's vCPUs, or are in one group with these.
    fn helpers_have_own_group(&self) -> bool;

    /// The virtual NUMA of `vm` when it is powered on, or moved to, a host of `host`.
    fn virtual_numa(&self, host: &HostGroup, vm: &VmGroup) -> vnuma::Topology;

    /// The user's remedy for a guest that sees one node although its vCPUs take several. `exposed`: it may see several.
    fn remedy_for_hidden_nodes(&self, host: &HostGroup, exposed: bool) -> &'static str;
}
