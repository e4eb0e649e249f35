//! A scenario, with every host and VM by name, and where each VM is.

use crate::error::RunError;
use crate::ordered::set_of;
use hypertwin_cluster::{About, EventAction, HostGroup, Scenario, VmGroup, Workload};
use std::collections::BTreeMap;

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
    /// Clusters in which VMs may move or restart, in order of name.
    pub moving: Vec<MovingCluster>,
}

/// A cluster in which VMs may move or restart.
pub struct MovingCluster {
    pub name: String,
    /// Positions of its hosts.
    pub hosts: Vec<usize>,
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
        if scenario.run.warmup.given().is_none() || scenario.run.duration.given().is_none() {
            return Err(RunError::NoTimes);
        }
        let placement = scenario.placement().ok_or(RunError::NoPlacement)?;
        let (hosts, host_groups) = numbered(scenario.host_names(), scenario.hosts.iter());
        let (vms, vm_groups) = numbered(scenario.vm_names(), scenario.vms.iter());
        let mut whole = Self {
            scenario,
            host_groups,
            vm_groups,
            hosts,
            vms,
            placement,
            moving: Vec::new(),
        };
        whole.moving = whole.find_moving();
        Ok(whole)
    }

    /// Clusters that are balanced, that restart the VMs of hosts that fail, or that events are about.
    fn find_moving(&self) -> Vec<MovingCluster> {
        let scenario = &self.scenario;
        let of_events = set_of(
            self.hosts_of_events()
                .zip(&scenario.events)
                .filter(|(_, event)| event.add.is_none())
                .filter_map(|(host, _)| Some(self.cluster_of(host?))),
        );
        let moves = |name: &str| {
            let known = scenario.clusters.get(name);
            let restarts = known
                .and_then(|cluster| cluster.ha.as_ref())
                .is_some_and(|ha| ha.restarts());
            known.is_some_and(|cluster| cluster.drs.is_some())
                || restarts && !scenario.failures.is_empty()
                || of_events.contains(name)
        };
        let mut clusters: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for host in 0..self.hosts.len() {
            clusters.entry(self.cluster_of(host)).or_default().push(host);
        }
        let moving = clusters.into_iter().filter(|(name, _)| moves(name));
        moving
            .map(|(name, hosts)| MovingCluster {
                name: name.to_owned(),
                hosts,
            })
            .collect()
    }

    fn cluster_of(&self, host: usize) -> &str {
        &self.host_group(self.hosts[host].group).cluster
    }

    /// Per event: position of a host that it is about; `None` if there is none any more.
    pub fn hosts_of_events(&self) -> impl Iterator<Item = Option<usize>> {
        self.scenario.events.iter().map(|event| {
            let EventAction { about, name, .. } = *event.actions().first()?;
            let host = match about {
                About::Vm => event.to.as_deref()?,
                About::Host | About::Part => name.split('/').next()?,
            };
            self.hosts.iter().position(|each| each.name == host)
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
