//! Which hosts share something.
//!
//! Hosts do if VMs of both use one array or pool (at either end of a copy), if both are nodes of one pool, if one entry
//! of the scenario's failures names both, or if they are in a cluster in which VMs move or restart. Anything without a
//! host (such as an unused array) goes with the first.

use super::whole::Whole;
use crate::ordered::map_of;
use hypertwin_cluster::{Component, End};
use std::collections::BTreeMap;

/// What is on an island: positions in the scenario, in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    pub hosts: Vec<usize>,
    pub vms: Vec<usize>,
    /// Those that have VMs here, by their positions among the groups that have VMs at all.
    pub groups: Vec<usize>,
    pub arrays: Vec<usize>,
    pub pools: Vec<usize>,
    pub failures: Vec<usize>,
    /// Clusters in which VMs may move or restart, by their positions in [`Whole::moving`].
    pub clusters: Vec<usize>,
    pub events: Vec<usize>,
}

impl Cut {
    /// Everything.
    pub fn all(whole: &Whole) -> Self {
        Self {
            hosts: (0..whole.hosts.len()).collect(),
            vms: (0..whole.vms.len()).collect(),
            groups: (0..whole.vm_groups.len()).collect(),
            arrays: (0..whole.scenario.arrays.len()).collect(),
            pools: (0..whole.scenario.storage.len()).collect(),
            failures: (0..whole.scenario.failures.len()).collect(),
            clusters: (0..whole.moving.len()).collect(),
            events: (0..whole.scenario.events.len()).collect(),
        }
    }
}

/// Sets of hosts that grow together. Each host points to another of its set, and in the end to the first one.
struct Sets(Vec<usize>);

impl Sets {
    fn first(&mut self, mut host: usize) -> usize {
        while self.0[host] != host {
            self.0[host] = self.0[self.0[host]];
            host = self.0[host];
        }
        host
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }

    /// One host of the set that `hosts` are all in from now on.
    fn join_all(&mut self, hosts: impl IntoIterator<Item = usize>) -> Option<usize> {
        hosts.into_iter().reduce(|first, host| {
            self.join(first, host);
            first
        })
    }
}

/// Cuts a scenario.
pub fn cut(whole: &Whole) -> Vec<Cut> {
    let scenario = &whole.scenario;
    let mut sets = Sets((0..whole.hosts.len()).collect());
    let mut array_users: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut pool_hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (vm, &host) in whole.vms.iter().zip(&whole.placement) {
        let spec = whole.vm_group(vm.group);
        for end in spec.ends(whole.workload(spec)) {
            if let End::Array(name) | End::Named(name) = end {
                array_users.entry(name).or_default().push(host);
            }
            if let End::Pool(name) | End::Named(name) = end {
                pool_hosts.entry(name).or_default().push(host);
            }
        }
    }
    for (name, pool) in &scenario.storage {
        let is_node = |host: &usize| pool.nodes.contains(&whole.host_groups[whole.hosts[*host].group]);
        let nodes = (0..whole.hosts.len()).filter(is_node);
        pool_hosts.entry(name).or_default().extend(nodes);
    }
    let mut host_of_any = |hosts: Option<Vec<usize>>| sets.join_all(hosts.unwrap_or_default()).unwrap_or(0);
    let arrays = scenario.arrays.keys().map(|name| array_users.remove(name.as_str()));
    let arrays: Vec<usize> = arrays.map(&mut host_of_any).collect();
    let pools = scenario.storage.keys().map(|name| pool_hosts.remove(name.as_str()));
    let pools: Vec<usize> = pools.map(&mut host_of_any).collect();
    let failures: Vec<usize> = failing_hosts(whole, &pools, &arrays)
        .map(Some)
        .map(&mut host_of_any)
        .collect();
    let clusters: Vec<usize> = whole
        .moving
        .iter()
        .map(|cluster| host_of_any(Some(cluster.hosts.clone())))
        .collect();
    let events: Vec<usize> = whole.hosts_of_events().map(|host| host.unwrap_or(0)).collect();

    let mut numbers = vec![usize::MAX; whole.hosts.len().max(1)];
    let mut cuts: Vec<Cut> = Vec::new();
    for host in 0..whole.hosts.len() {
        let first = sets.first(host);
        if first == host {
            numbers[host] = cuts.len();
            cuts.push(Cut::default());
        }
        numbers[host] = numbers[first];
        cuts[numbers[first]].hosts.push(host);
    }
    if cuts.is_empty() {
        numbers[0] = 0;
        cuts.push(Cut::default());
    }
    for (vm, &host) in whole.placement.iter().enumerate() {
        let (cut, group) = (&mut cuts[numbers[host]], whole.vms[vm].group);
        cut.vms.push(vm);
        if cut.groups.last() != Some(&group) {
            cut.groups.push(group);
        }
    }
    (0..)
        .zip(arrays)
        .for_each(|(array, host)| cuts[numbers[host]].arrays.push(array));
    (0..)
        .zip(pools)
        .for_each(|(pool, host)| cuts[numbers[host]].pools.push(pool));
    (0..)
        .zip(failures)
        .for_each(|(entry, host)| cuts[numbers[host]].failures.push(entry));
    (0..)
        .zip(clusters)
        .for_each(|(cluster, host)| cuts[numbers[host]].clusters.push(cluster));
    (0..)
        .zip(events)
        .for_each(|(event, host)| cuts[numbers[host]].events.push(event));
    cuts
}

/// The hosts that each entry of the scenario's failures is about; `pools` and `arrays` have a host of each pool and
/// array.
fn failing_hosts(whole: &Whole, pools: &[usize], arrays: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let scenario = &whole.scenario;
    let names = whole.hosts.iter().filter(|_| !scenario.failures.is_empty());
    let hosts: BTreeMap<&str, usize> = map_of(names.map(|host| host.name.as_str()).zip(0..));
    let names = scenario.storage.keys().map(String::as_str);
    let pools = map_of(names.zip(pools.iter().copied()));
    let names = scenario.arrays.keys().map(String::as_str);
    let arrays = map_of(names.zip(arrays.iter().copied()));
    scenario.failures.iter().map(move |failure| {
        let host = |text: &String| match Component::parse(text)? {
            Component::Host(name) | Component::Link(name) | Component::Disk(name, _) => {
                hosts.get(name.as_str()).copied()
            }
            Component::Port(name, _) => hosts.get(name.as_str()).or_else(|| arrays.get(name.as_str())).copied(),
            Component::Rack(name, _) | Component::Metadata(name, _) => pools.get(name.as_str()).copied(),
        };
        failure.fails.iter().filter_map(host).collect()
    })
}
