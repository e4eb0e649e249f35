//! Which host each virtual machine is on: the initial placement that the scenario implies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::names::member_number;
use crate::spec::host::HostGroup;
use crate::spec::pool::StoragePool;
use crate::spec::scenario::Scenario;
use crate::spec::vm::VmGroup;

/// The hosts that a VM group may be on, by group: all hosts of a group, or (with a number from 1) one of them. `pool` is its
/// storage.
pub(crate) fn candidates<'h, H>(
    hosts: &'h BTreeMap<String, H>,
    count: impl Fn(&H) -> u32,
    vm: &VmGroup,
    pool: Option<&StoragePool>,
) -> Vec<(&'h str, Option<u32>)> {
    let Some(wanted) = vm.host.as_deref() else {
        let names = hosts.keys().map(String::as_str);
        return names
            .filter(|name| pool.is_none_or(|pool| pool.deployment.allows(*name == pool.nodes)))
            .map(|name| (name, None))
            .collect();
    };
    if let Some((name, _)) = hosts.get_key_value(wanted) {
        return vec![(name, None)];
    }
    let numbered = wanted.rsplit_once('-').and_then(|(group, _)| {
        let (name, group) = hosts.get_key_value(group)?;
        Some((name.as_str(), Some(member_number(wanted, name, count(group))?)))
    });
    numbered.into_iter().collect()
}

/// Whether a machine of `vm` can be on a host of `host`: width, memory, affinity.
pub(crate) fn fits(vm: &VmGroup, host: &HostGroup) -> bool {
    vm.vcpus <= host.logical_cpus()
        && vm.memory <= host.memory()
        && vm
            .affinity_cpus()
            .is_none_or(|cpus| cpus.last().is_none_or(|last| *last < host.logical_cpus()))
}

/// For each virtual machine, in the order of [`Scenario::vm_names`], the position of its host in
/// [`Scenario::host_names`].
///
/// Groups are placed in order of name. Each machine goes to that host, among those it may be on and fits, which has the
/// fewest vCPUs per logical CPU so far; of equals, the first. `None` where a machine fits nowhere.
pub(crate) fn place(
    hosts: &BTreeMap<String, HostGroup>,
    vms: &BTreeMap<String, VmGroup>,
    pools: &BTreeMap<String, StoragePool>,
) -> Option<Vec<usize>> {
    let mut first_of = BTreeMap::new();
    let mut logical_cpus = Vec::new();
    for (name, group) in hosts {
        first_of.insert(name.as_str(), logical_cpus.len());
        logical_cpus.extend(std::iter::repeat_n(
            u64::from(group.logical_cpus()),
            group.count as usize,
        ));
    }
    let mut vcpus = vec![0_u64; logical_cpus.len()];
    let mut placed = Vec::new();
    for vm in vms.values().filter(|vm| vm.count > 0) {
        // vCPUs per logical CPU in units of 2^-32, so that equal ratios compare equal on every machine.
        let ratio = |host: usize, vcpus: &[u64]| (vcpus[host] << 32) / logical_cpus[host];
        let mut open = BinaryHeap::new();
        let pool = vm.storage.as_ref().and_then(|name| pools.get(name));
        for (name, number) in candidates(hosts, |host| host.count, vm, pool) {
            let group = &hosts[name];
            if !fits(vm, group) {
                continue;
            }
            let first = first_of[name];
            let range = match number {
                Some(number) => first + number as usize - 1..first + number as usize,
                None => first..first + group.count as usize,
            };
            open.extend(range.map(|host| Reverse((ratio(host, &vcpus), host))));
        }
        for _ in 0..vm.count {
            let Reverse((_, host)) = open.pop()?;
            vcpus[host] += u64::from(vm.vcpus);
            open.push(Reverse((ratio(host, &vcpus), host)));
            placed.push(host);
        }
    }
    Some(placed)
}

impl Scenario {
    /// For each virtual machine, in the order of [`Scenario::vm_names`], the position of its host in
    /// [`Scenario::host_names`].
    ///
    /// Groups are placed in order of name. Each machine goes to that host, among those that `host` or the deployment of its
    /// storage names and that it fits (vCPUs, memory, affinity), which has the fewest vCPUs per logical CPU so far; of equals, the first. A
    /// scenario that passed validation always has a placement; one that was changed since may not, and gets `None`.
    pub fn placement(&self) -> Option<Vec<usize>> {
        place(&self.hosts, &self.vms, &self.storage)
    }
}
