//! What planners ask without a run: how hosts migrate, and what of a VM is sent.

use std::collections::BTreeMap;

use hypertwin_cluster::{HostGroup, Scenario, VmGroup, Workload};
use hypertwin_models::hypervisor;
use hypertwin_models::migration::Settings;
use serde::Serialize;

/// How the hosts of a scenario migrate and what of its VMs is sent, by group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigrationFacts {
    /// Groups of hosts.
    pub hosts: BTreeMap<String, Settings>,
    /// Groups of VMs.
    pub vms: BTreeMap<String, VmFacts>,
}

/// What of a VM is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VmFacts {
    /// Bytes that are sent at least once: touched, and not zero.
    pub memory_bytes: f64,
    /// Bytes of its other pages, which the first pass reads.
    pub zero_bytes: f64,
    /// Bytes that it writes to again and again.
    pub written_set_bytes: f64,
    /// Bytes written in a second of CPU time.
    pub dirty_per_cpu_s: f64,
}

impl MigrationFacts {
    /// Those of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let host = |group: &HostGroup| hypervisor::model(group.hypervisor).migration(group);
        let vm = |group: &VmGroup| VmFacts::of(group, &scenario.workloads[&group.workload]);
        Self {
            hosts: scenario
                .hosts
                .iter()
                .map(|(name, group)| (name.clone(), host(group)))
                .collect(),
            vms: scenario
                .vms
                .iter()
                .map(|(name, group)| (name.clone(), vm(group)))
                .collect(),
        }
    }
}

impl VmFacts {
    /// Those of a VM with a workload; migrations of a run use them, too.
    pub(crate) fn of(vm: &VmGroup, workload: &Workload) -> Self {
        let (touched, active) = (vm.touched().bytes() as f64, vm.active().bytes() as f64);
        let memory_bytes = touched * (1.0 - vm.memory_zero_pct / 100.0);
        Self {
            memory_bytes,
            zero_bytes: vm.memory.bytes() as f64 - memory_bytes,
            written_set_bytes: workload
                .written_set
                .map_or(active, |set| (set.bytes() as f64).min(touched)),
            dirty_per_cpu_s: workload.dirty_rate.bytes_per_s(),
        }
    }
}
