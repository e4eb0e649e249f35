//! No hypervisor: one system on the processors themselves.
//!
//! **Mechanism.** The system is a guest whose vCPUs are the host's logical CPUs, scheduled as Linux schedules threads:
//! a busy one is on an idle core before it shares one. It sees the host's NUMA nodes, stays on them, and has its memory
//! there. Nothing works for it beside its own work, and nothing divides the host.
//!
//! **Assumptions.** Any system places its threads as Linux does. One that was given fewer CPUs has the first ones: the
//! first threads of all cores, node after node, then the second threads.
//!
//! **A host without hypervisor is a separate family.** `hypervisor: none` has one system and no helper worlds. The cost
//! of virtualisation is the difference between a host with a hypervisor and a host without a hypervisor.

use super::interface::HypervisorModel;
use super::linux::{self, scheduler::LinuxScheduler};
use crate::migration::Settings;
use crate::reclamation::Policy;
use crate::scheduler::CpuScheduler;
use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, IoThreads};
use crate::vnuma::{Nodes, Topology};
use crate::wake_up::{SWITCH_NS, WakeUp};
use hypertwin_cluster::{ControllerKind, HostGroup, Hypervisor, PowerPolicy, Protocol, VmGroup};

/// A host without hypervisor.
pub struct BareMetal;

impl HypervisorModel for BareMetal {
    fn cpu_scheduler(&self, host: &HostGroup) -> Box<dyn CpuScheduler> {
        Box::new(LinuxScheduler::new(host))
    }

    /// Systems account the time on a CPU as it is.
    fn shared_core_charge(&self) -> f64 {
        1.0
    }

    /// An interrupt between processors takes less than a microsecond (QNX, "Guest IPIs"), the rest is the switch to the
    /// process. Systems use all idle states unless told otherwise, as Linux does.
    fn wake_up(&self, host: &HostGroup) -> WakeUp {
        WakeUp {
            path_ns: SWITCH_NS,
            sleeps_deeply: !matches!(
                host.power_policy,
                Some(PowerPolicy::HighPerformance | PowerPolicy::NotManaged)
            ),
            polls_ns: 0,
        }
    }

    fn helpers_have_own_group(&self) -> bool {
        true
    }

    fn virtual_numa(&self, host: &HostGroup, vm: &VmGroup) -> Topology {
        let (nodes, cores) = (host.nodes(), host.cores_per_node());
        let mut cpus = vec![0; nodes as usize];
        let mut left = vm.vcpus;
        while left > 0 {
            for node in &mut cpus {
                let more = left.min(cores);
                *node += more;
                left -= more;
            }
        }
        cpus.retain(|cpus| *cpus > 0);
        Topology {
            nodes: Nodes {
                count: nodes,
                room: cores * host.threads_per_core,
            },
            cores_per_socket: vm.cores_per_socket.unwrap_or(1),
            domains_with_memory: cpus.len(),
            bound_homes: Some((0..cpus.len()).collect()),
            vpds: cpus.clone(),
            ppds: cpus,
            exposed: true,
            hidden_by_hot_add: false,
            from_first_power_on: false,
            shaped_by_sockets: false,
        }
    }

    fn remedy_for_hidden_nodes(&self, _host: &HostGroup, _exposed: bool) -> &'static str {
        "Set the firmware to show the NUMA nodes"
    }

    fn controller_cycles(&self, _version: Hypervisor, kind: ControllerKind) -> Cycles {
        linux::storage::controller_cycles(kind)
    }

    /// The system drives the devices itself.
    fn io_threads(&self, vm: &VmGroup, _kind: ControllerKind) -> IoThreads {
        IoThreads {
            queues: vm.queues.unwrap_or(1) as usize,
            each: 0,
            is_shared: false,
            count: 0,
            polls_ns: 0,
            path_ns: SWITCH_NS,
        }
    }

    /// The interrupt and the completion of a local command are in the cycles of the controller.
    fn protocol_cost(&self, protocol: Protocol) -> ProtocolCost {
        ProtocolCost::of(protocol)
    }

    /// Nothing migrates: the settings only complete the description of a host.
    fn migration(&self, host: &HostGroup) -> Settings {
        linux::migration::settings(host)
    }

    fn reclamation(&self, _host: &HostGroup, _has_balloons: bool) -> Option<Policy> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hypertwin_cluster::Scenario;

    #[test]
    fn cores_come_before_their_second_threads_node_after_node() {
        let scenario = Scenario::from_json(
            r#"{"name": "t", "run": {"duration": "1 s"},
            "hosts": {"h": {"sockets": 2, "cores_per_socket": 4, "clock": "2 GHz", "memory_per_node": "8 GiB", "hypervisor": "none"}},
            "vms": {"v": {"vcpus": 1, "memory": "1 GiB", "workload": "w"}},
            "workloads": {"w": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms"}}}}"#,
        );
        let scenario = scenario.expect("a scenario");
        let (host, mut vm) = (&scenario.hosts["h"], scenario.vms["v"].clone());
        for (cpus, by_node) in [
            (1, vec![1]),
            (4, vec![4]),
            (6, vec![4, 2]),
            (8, vec![4, 4]),
            (10, vec![6, 4]),
            (16, vec![8, 8]),
        ] {
            vm.vcpus = cpus;
            let topology = BareMetal.virtual_numa(host, &vm);
            assert_eq!((&topology.vpds, &topology.ppds), (&by_node, &by_node));
            assert_eq!(topology.bound_homes, Some((0..by_node.len()).collect()));
        }
    }
}
