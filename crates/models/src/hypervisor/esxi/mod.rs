//! VMware ESXi: `scheduler.rs` its CPU scheduler, `vnuma.rs` its virtual NUMA, `storage.rs` its controllers and paths,
//! `migration.rs` its defaults of live migration, `memory.rs` its memory.

pub mod memory;
mod migration;
pub mod scheduler;
mod storage;
pub mod vnuma;

use super::interface::HypervisorModel;
use crate::migration::Settings;
use crate::numa;
use crate::reclamation::Policy;
use crate::scheduler::CpuScheduler;
use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, HeedsRate, IoThreads, queues};
use crate::vnuma::Topology;
use crate::wake_up::{SWITCH_NS, WakeUp};
use hypertwin_cluster::{
    ControllerKind, DiskKind, HostGroup, Hypervisor, Plugin, PowerPolicy, Protocol, SchedulerOptions, VmGroup,
};

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
            polls_ns: 0,
        }
    }

    fn home_rules(&self, version: Hypervisor, options: &SchedulerOptions) -> Option<numa::Rules> {
        Some(vnuma::home_rules(version, options))
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

    fn controller_cycles(&self, version: Hypervisor, kind: ControllerKind) -> Cycles {
        storage::controller_cycles(version, kind)
    }

    fn coalesces(&self, version: Hypervisor, kind: ControllerKind) -> Option<HeedsRate> {
        storage::coalesces(version, kind)
    }

    /// A world for each queue.
    fn io_threads(&self, vm: &VmGroup, kind: ControllerKind) -> IoThreads {
        let queues = queues(vm, kind, 1);
        let each = if kind == ControllerKind::Passthrough { 0 } else { queues };
        IoThreads {
            queues,
            each,
            is_shared: false,
            count: each * vm.controllers as usize,
            polls_ns: 0,
            path_ns: SWITCH_NS,
        }
    }

    fn protocol_cost(&self, protocol: Protocol) -> ProtocolCost {
        storage::protocol_cost(protocol)
    }

    /// Only where TCP is software. An adapter's interrupt brings the others to the VM.
    fn completes_by_thread(&self, protocol: Protocol) -> bool {
        matches!(protocol, Protocol::Iscsi | Protocol::NvmeTcp)
    }

    fn plugin(
        &self,
        version: Hypervisor,
        asked: Option<Plugin>,
        protocol: Protocol,
        disks: DiskKind,
    ) -> Option<Plugin> {
        Some(asked.unwrap_or_else(|| storage::default_plugin(version, protocol, disks)))
    }

    fn migration(&self, host: &HostGroup) -> Settings {
        migration::settings(host)
    }

    fn reclamation(&self, host: &HostGroup, _has_balloons: bool) -> Option<Policy> {
        Some(memory::policy(host))
    }
}
