//! VMware ESXi: `scheduler.rs` its CPU scheduler, `vnuma.rs` its virtual NUMA.

pub mod scheduler;
pub mod vnuma;

use super::interface::HypervisorModel;
use crate::numa;
use crate::scheduler::CpuScheduler;
use crate::vnuma::Topology;
use crate::wake_up::WakeUp;
use hypertwin_cluster::{HostGroup, Hypervisor, PowerPolicy, VmGroup};

/// VMware ESXi, all versions.
pub struct Esxi;

impl HypervisorModel for Esxi {
    fn cpu_scheduler(&self, host: &HostGroup) -> Box<dyn CpuScheduler> {
        Box::new(scheduler::EsxiScheduler::new(host))
    }

    fn shared_core_charge(&self) -> f64 {
        scheduler::SHARED_CORE_CHARGE
    }

    /// Between "a few microseconds" of the host's scheduler (as for Linux) and the 14 us of a round trip that a VM
    /// saves which never halts: VMware, "Deploying Extremely Latency-Sensitive Applications in vSphere 5.5" (2013).
    /// Balanced is the default policy; it uses deep idle states from 5.5 on: VMware, "vSphere Resource Management" and
    /// "What's New in the vSphere 5.5 Platform".
    fn wake_up(&self, host: &HostGroup) -> WakeUp {
        let sleeps_deeply = match host.power_policy {
            None | Some(PowerPolicy::Balanced | PowerPolicy::Custom) => host.hypervisor >= Hypervisor::Esxi55,
            Some(PowerPolicy::LowPower) => true,
            Some(PowerPolicy::HighPerformance | PowerPolicy::NotManaged) => false,
        };
        WakeUp {
            path_ns: 5_000,
            sleeps_deeply,
        }
    }

    fn home_rules(&self, host: &HostGroup) -> Option<numa::Rules> {
        Some(vnuma::home_rules(host.hypervisor, &host.scheduler))
    }

    fn helpers_have_own_group(&self) -> bool {
        true
    }

    fn virtual_numa(&self, host: &HostGroup, vm: &VmGroup) -> Topology {
        vnuma::topology(host, vm)
    }

    fn remedy_for_hidden_nodes(&self, host: &HostGroup, exposed: bool) -> &'static str {
        if !vnuma::exposes_nodes(host.hypervisor) {
            "Use at most as many vCPUs as a node has cores, or ESXi 5.0 or later"
        } else if exposed {
            "Use virtual sockets or virtual nodes that fit a NUMA node"
        } else {
            "Lower numa.vcpu.min"
        }
    }
}
