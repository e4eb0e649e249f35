//! Initial placement: the host of each VM that the scenario implies.
//!
//! **VMs with a host are placed first.** Other VMs are placed where their cluster has headroom: by memory, then by
//! vCPUs per logical CPU. `count: 0` removes a host but keeps the host's keys, so the cluster of its VMs is known.

use std::collections::BTreeMap;

use crate::names::member_number;
use crate::spec::host::HostGroup;
use crate::spec::placement_rule::{PlacementRule, RuleKind};
use crate::spec::pool::StoragePool;
use crate::spec::scenario::Scenario;
use crate::spec::vm::{End, VmGroup};
use crate::spec::workload::Workload;

/// Where the keys of a VM group allow its VMs, apart from storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'h> {
    /// On all hosts of a group, or (with a number from 1) on one of them.
    Hosts(&'h str, Option<u32>),
    /// On any host of this cluster.
    Cluster(&'h str),
    /// On any host.
    Anywhere,
    /// Its `host` does not exist.
    Unknown,
}

impl<'h> Place<'h> {
    /// The place of `vm`; `group_of` gives `None` for a group of hosts with only a name.
    ///
    /// If the group of its `host` has `count: 0`, the VM stays in its cluster.
    pub(crate) fn of<H>(
        hosts: &'h BTreeMap<String, H>,
        group_of: impl Fn(&'h H) -> Option<&'h HostGroup>,
        vm: &'h VmGroup,
    ) -> Self {
        Self::named(hosts, group_of, vm.cluster.as_deref(), vm.host.as_deref())
    }

    /// The place that a cluster and a host name.
    pub(crate) fn named<H>(
        hosts: &'h BTreeMap<String, H>,
        group_of: impl Fn(&'h H) -> Option<&'h HostGroup>,
        own: Option<&'h str>,
        host: Option<&'h str>,
    ) -> Self {
        let Some(wanted) = host else {
            return own.map_or(Self::Anywhere, Self::Cluster);
        };
        let entry = |name: &str| {
            let (name, group) = hosts.get_key_value(name)?;
            Some((name.as_str(), group_of(group)))
        };
        let gone = |group: &'h HostGroup| Self::Cluster(own.unwrap_or(&group.cluster));
        if let Some((name, group)) = entry(wanted) {
            return match group {
                Some(group) if group.count == 0 => gone(group),
                _ => Self::Hosts(name, None),
            };
        }
        let Some((name, group)) = wanted.rsplit_once('-').and_then(|(group, _)| entry(group)) else {
            return Self::Unknown;
        };
        let count = group.map_or(u32::MAX, |group| group.count);
        match group {
            Some(group) if count == 0 && member_number(wanted, name, u32::MAX).is_some() => gone(group),
            _ => member_number(wanted, name, count).map_or(Self::Unknown, |number| Self::Hosts(name, Some(number))),
        }
    }

    /// The groups of hosts of the place, each with a host number if only one host counts. `pools` hold the VMs' disks
    /// and can require their nodes, or other hosts.
    pub(crate) fn groups<H>(
        self,
        hosts: &'h BTreeMap<String, H>,
        group_of: impl Fn(&'h H) -> Option<&'h HostGroup>,
        pools: &[(&str, &StoragePool)],
    ) -> Vec<(&'h str, Option<u32>)> {
        let cluster = match self {
            Self::Hosts(name, number) => return vec![(name, number)],
            Self::Unknown => return Vec::new(),
            Self::Cluster(name) => Some(name),
            Self::Anywhere => None,
        };
        let is_open = |group: Option<&HostGroup>| {
            group.is_none_or(|group| group.count > 0 && cluster.is_none_or(|cluster| cluster == group.cluster))
        };
        let open = hosts
            .iter()
            .filter(|(name, group)| {
                is_open(group_of(group))
                    && pools
                        .iter()
                        .all(|(_, pool)| pool.deployment.allows(pool.nodes.contains(name)))
            })
            .map(|(name, _)| (name.as_str(), None));
        open.collect()
    }
}

/// True if a VM of `vm` fits a host of `host`: vCPUs (if the hypervisor requires it), memory, affinity.
pub fn fits(vm: &VmGroup, host: &HostGroup) -> bool {
    (vm.vcpus <= host.logical_cpus() || host.hypervisor.family().facts().wider_than_host)
        && host.hypervisor.most_vcpus().is_none_or(|most| vm.vcpus <= most)
        && vm.memory <= host.memory()
        && vm
            .affinity_cpus()
            .is_none_or(|cpus| cpus.last().is_none_or(|last| *last < host.logical_cpus()))
}

/// Groups of hosts that a VM of the group `name`, now on a host of `at`, fits: same cluster and hypervisor family,
/// large enough, and with access to its storage.
pub(crate) fn host_groups(scenario: &Scenario, name: &str, at: &str) -> Vec<String> {
    let (vm, now) = (&scenario.vms[name], &scenario.hosts[at]);
    let workload = scenario.workloads.get(&vm.workload);
    let pools = pools_of(vm, workload, |name| scenario.storage.get(name));
    let takes = |group: &str, host: &HostGroup| {
        host.count > 0
            && host.cluster == now.cluster
            && host.hypervisor.family() == now.hypervisor.family()
            && fits(vm, host)
            && pools
                .iter()
                .all(|(_, pool)| pool.deployment.allows(pool.nodes.contains(group)))
    };
    let groups = scenario.hosts.iter().filter(|(group, host)| takes(group, host));
    groups.map(|(group, _)| group.clone()).collect()
}

/// True if VMs of the group `name` have virtual disks inside their host and cannot leave it.
pub(crate) fn has_disks_inside(scenario: &Scenario, name: &str) -> bool {
    let vm = &scenario.vms[name];
    let workload = scenario.workloads.get(&vm.workload);
    let mut local = scenario.arrays.iter().filter(|(_, array)| array.is_local());
    local.any(|(array, _)| workload.is_some_and(|workload| vm.ends(workload).any(|end| end.is_array(array))))
}

/// The pools that hold the virtual disks of a VM, with their names.
pub(crate) fn pools_of<'s>(
    vm: &'s VmGroup,
    workload: Option<&'s Workload>,
    pool: impl Fn(&str) -> Option<&'s StoragePool>,
) -> Vec<(&'s str, &'s StoragePool)> {
    let names: Vec<&str> = match workload {
        Some(workload) => vm.ends(workload).filter_map(End::pool).collect(),
        None => vm.storage.as_deref().into_iter().collect(),
    };
    let named = |name| Some((name, pool(name)?));
    names.into_iter().filter_map(named).collect()
}

/// Capacity of a host, and what the VMs placed on it so far use.
struct Room {
    logical_cpus: u64,
    vcpus: u64,
    /// In bytes; more than 64 bits, because VMs can be configured with far more memory than exists.
    memory: u128,
    taken: u128,
    /// The part of it that cannot be reclaimed.
    kept: u128,
}

impl Room {
    fn of(host: &HostGroup) -> Self {
        Self {
            logical_cpus: host.logical_cpus().into(),
            vcpus: 0,
            memory: host.memory().bytes().into(),
            taken: host.hypervisor_memory().bytes().into(),
            kept: host.hypervisor_memory().bytes().into(),
        }
    }

    /// Rank of this host for a VM that breaks `must` and `should` rules here; the lowest is best. First come hosts
    /// where it breaks no must rule, then those with at least as many logical CPUs as the VM has vCPUs, then those with
    /// memory for what it reserves, then those with memory for all of it, then those where it breaks no should rule.
    /// They are in order of vCPUs per logical CPU, those without memory in order of memory. In units of 2^-32, so that
    /// equal ratios compare equal on every computer.
    fn rank(&self, vm: &VmGroup, [must, should]: [usize; 2]) -> (usize, bool, bool, bool, usize, u128) {
        let is_wider = u64::from(vm.vcpus) > self.logical_cpus;
        let taken = self.taken + u128::from(vm.memory.bytes());
        let is_full = taken > self.memory;
        let ratio = match is_full {
            false => u128::from((self.vcpus << 32) / self.logical_cpus),
            true => (taken << 32) / self.memory,
        };
        let kept = u128::from(vm.kept_memory().bytes());
        let is_reserved = kept > 0 && self.kept + kept > self.memory;
        (must, is_wider, is_reserved, is_full, should, ratio)
    }

    fn take(&mut self, vm: &VmGroup) {
        self.vcpus += u64::from(vm.vcpus);
        self.taken += u128::from(vm.memory.bytes());
        self.kept += u128::from(vm.kept_memory().bytes());
    }
}

/// A placement rule, and for each host whether any of its VMs is there.
struct Kept<'r> {
    rule: &'r PlacementRule,
    on: Vec<bool>,
}

impl Kept<'_> {
    /// Whether one more of its VMs keeps it on a host, which is of the group `of`.
    fn allows(&self, host: usize, of: &str) -> bool {
        let is_named = || self.rule.hosts.iter().any(|group| group == of);
        match self.rule.kind {
            RuleKind::RunOn => is_named(),
            RuleKind::NotOn => !is_named(),
            RuleKind::KeepApart => !self.on[host],
            RuleKind::KeepTogether => self.on[host] || !self.on.contains(&true),
        }
    }
}

/// Must and should rules that one more VM breaks on a host, of those that it is in.
fn broken(rules: &[Kept], own: &[usize], host: usize, of: &str) -> [usize; 2] {
    let mut broken = [0; 2];
    for kept in own.iter().map(|&rule| &rules[rule]) {
        broken[usize::from(!kept.rule.mandatory)] += usize::from(!kept.allows(host, of));
    }
    broken
}

/// See [`Scenario::placement`].
pub(crate) fn place(
    hosts: &BTreeMap<String, HostGroup>,
    vms: &BTreeMap<String, VmGroup>,
    workloads: &BTreeMap<String, Workload>,
    pools: &BTreeMap<String, StoragePool>,
    rules: &[PlacementRule],
) -> Option<Vec<usize>> {
    let mut first_of = BTreeMap::new();
    let (mut rooms, mut group_of) = (Vec::new(), Vec::new());
    for (name, group) in hosts {
        first_of.insert(name.as_str(), rooms.len());
        rooms.extend((0..group.count).map(|_| Room::of(group)));
        group_of.resize(rooms.len(), name.as_str());
    }
    let mut machines = 0;
    let mut groups = Vec::new();
    for (name, vm) in vms {
        groups.push((machines, name, vm, Place::of(hosts, Some, vm)));
        machines += vm.count as usize;
    }
    let is_bound = |(_, _, _, place): &&(usize, &String, &VmGroup, Place)| matches!(place, Place::Hosts(..));
    let bound = groups.iter().filter(is_bound);
    let free = groups.iter().filter(|group| !is_bound(group));
    let mut placed = vec![0; machines];
    let kept = |rule| Kept {
        rule,
        on: vec![false; rooms.len()],
    };
    let mut rules: Vec<Kept> = rules.iter().map(kept).collect();
    for &(first, name, vm, place) in bound.chain(free).filter(|(_, _, vm, _)| vm.count > 0) {
        let mut open = Vec::new();
        let is_own = |rule: &usize| rules[*rule].rule.vms.contains(name);
        let own: Vec<usize> = (0..rules.len()).filter(is_own).collect();
        let moves_on = own.iter().any(|&rule| !rules[rule].rule.kind.names_hosts());
        let on = pools_of(vm, workloads.get(&vm.workload), |name| pools.get(name));
        for (name, number) in place.groups(hosts, Some, &on) {
            let group = &hosts[name];
            if !fits(vm, group) {
                continue;
            }
            let first = first_of[name];
            let range = match number {
                Some(number) => first + number as usize - 1..first + number as usize,
                None => first..first + group.count as usize,
            };
            open.extend(range.map(|host| (rooms[host].rank(vm, broken(&rules, &own, host, name)), host)));
        }
        for machine in &mut placed[first..first + vm.count as usize] {
            let &(_, host) = open.iter().min()?;
            rooms[host].take(vm);
            own.iter().for_each(|&rule| rules[rule].on[host] = true);
            for (rank, other) in &mut open {
                if moves_on || *other == host {
                    let broken = broken(&rules, &own, *other, group_of[*other]);
                    *rank = rooms[*other].rank(vm, broken);
                }
            }
            *machine = host;
        }
    }
    Some(placed)
}

impl Scenario {
    /// For each VM, in the order of [`Scenario::vm_names`], the position of its host in [`Scenario::host_names`].
    ///
    /// Groups whose `host` exists are placed first, then the others, both in order of name. A VM can be on the hosts
    /// that its `host` names. Without one (or with `count: 0` there), it can be on hosts of its cluster that the
    /// deployment of its storage allows. It must fit the host (vCPUs, memory, affinity), and hosts with enough logical
    /// CPUs come first, then those that can keep its reserved memory. Of these it goes to a host with memory left
    /// beside configured VMs and the hypervisor: the one with the fewest vCPUs per logical CPU so far. If none has
    /// memory left, it goes where memory is least overcommitted. Of equals, the first. Where its keys allow several
    /// hosts, it keeps must rules before all else, and should rules among hosts that have memory left. A validated
    /// scenario always has a placement. A scenario changed since can get `None`.
    pub fn placement(&self) -> Option<Vec<usize>> {
        place(&self.hosts, &self.vms, &self.workloads, &self.storage, &self.rules)
    }
}
