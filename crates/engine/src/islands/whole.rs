//! A scenario, with every host and VM by name, and where each VM is.

use crate::error::RunError;
use hypertwin_cluster::{HostGroup, Scenario, VmGroup, Workload};

/// A scenario. Positions are those in its order.
pub struct Whole {
    pub scenario: Scenario,
    /// Names of groups of hosts, and of groups that have VMs.
    pub host_groups: Vec<String>,
    pub vm_groups: Vec<String>,
    pub hosts: Vec<Member>,
    pub vms: Vec<Member>,
    /// Per VM: position of its host.
    pub placement: Vec<usize>,
}

/// A host or VM, with the position of its group.
pub struct Member {
    pub name: String,
    pub group: usize,
}

/// Every member, and the names of the groups that have any; `members` are in the scenario's order.
fn numbered<'g, G: 'g>(
    members: Vec<(String, &'g G)>,
    groups: impl Iterator<Item = (&'g String, &'g G)>,
) -> (Vec<Member>, Vec<String>) {
    let (mut all, mut names) = (Vec::with_capacity(members.len()), Vec::new());
    let mut members = members.into_iter().peekable();
    for (name, group) in groups {
        let mut is_empty = true;
        while let Some((member, _)) = members.next_if(|(_, of)| std::ptr::eq(*of, group)) {
            is_empty = false;
            let group = names.len();
            all.push(Member { name: member, group });
        }
        if !is_empty {
            names.push(name.clone());
        }
    }
    (all, names)
}

impl Whole {
    /// Finds a host for every VM of a scenario.
    pub fn of(scenario: Scenario) -> Result<Self, RunError> {
        let placement = scenario.placement().ok_or(RunError::NoPlacement)?;
        let (hosts, host_groups) = numbered(scenario.host_names(), scenario.hosts.iter());
        let (vms, vm_groups) = numbered(scenario.vm_names(), scenario.vms.iter());
        Ok(Self {
            scenario,
            host_groups,
            vm_groups,
            hosts,
            vms,
            placement,
        })
    }

    pub fn host_group(&self, group: usize) -> &HostGroup {
        &self.scenario.hosts[&self.host_groups[group]]
    }

    pub fn vm_group(&self, group: usize) -> &VmGroup {
        &self.scenario.vms[&self.vm_groups[group]]
    }

    pub fn workload(&self, vm: &VmGroup) -> &Workload {
        &self.scenario.workloads[&vm.workload]
    }
}
