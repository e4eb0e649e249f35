//! Pools of distributed storage: checks their nodes, redundancy, capacity and VMs.

use super::sections::{Sections, sound, unknown};
use crate::mistake::Issue;
use crate::redundancy::Redundancy;
use crate::spec::host::HostGroup;
use crate::spec::pool::{Deployment, PoolNodes, StoragePool};
use crate::spec::vm::VmGroup;
use std::collections::BTreeMap;

/// Checks that the nodes of a pool exist, and that VMs have hosts.
pub(super) fn layers(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let clean = |key: &str| sections.clean(&["storage", name, key]);
        if sections.readable("hosts") && clean("nodes") && !sections.has_nodes(pool) {
            found.extend(unknown_nodes(sections, name, &pool.nodes));
            continue;
        }
        if sections.node_count(pool) == Some(0) && clean("nodes") {
            let first = &pool.nodes.written()[0];
            found.push(Issue::new(
                ["hosts", first, "count"],
                "no-nodes",
                "0".to_owned(),
                format!("at least 1: these hosts are the nodes of storage.{name}"),
                format!("remove storage.{name} and its VMs too, or use other hosts as nodes"),
            ));
            continue;
        }
        let is_there = |host: &Option<HostGroup>| host.as_ref().is_none_or(|host| host.count > 0);
        let compute = sections
            .hosts
            .iter()
            .any(|(host, group)| !pool.nodes.contains(host) && is_there(group));
        let uses = |vm: &VmGroup| match sections.workload_of(vm) {
            Some(workload) => vm.ends_on_pool(workload, name) > 0,
            None => vm.storage.as_deref() == Some(name),
        };
        let users = || sound(&sections.vms).any(|(_, vm)| uses(vm));
        if pool.deployment == Deployment::TwoLayer && clean("deployment") && !compute && users() {
            found.push(Issue::new(
                ["storage", name, "deployment"],
                "no-compute-layer",
                "two-layer".to_owned(),
                "hci, or mixed: every host is a node of the pool".to_owned(),
                "add a group of hosts for the VMs".to_owned(),
            ));
        }
    }
}

/// The groups of hosts that a pool names and that do not exist.
fn unknown_nodes(sections: &Sections, name: &str, nodes: &PoolNodes) -> Vec<Issue> {
    let refuse = |path: &[&str], group: &String| {
        let is_unknown = !sections.hosts.contains_key(group);
        is_unknown.then(|| unknown(path, group, "hosts", &sections.hosts))
    };
    match nodes {
        PoolNodes::Group(group) => refuse(&["storage", name, "nodes"], group).into_iter().collect(),
        PoolNodes::Groups(groups) => {
            let groups = groups.iter().enumerate();
            let refuse = |(index, group): (usize, _)| refuse(&["storage", name, "nodes", &index.to_string()], group);
            groups.filter_map(refuse).collect()
        }
    }
}

/// Checks that a service has threads per node or per device, not both.
pub(super) fn threads(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let (service, clean) = (&pool.service, |key: &str| {
            sections.clean(&["storage", name, "service", key])
        });
        if service.threads.is_some()
            && service.threads_per_device != 1
            && clean("threads")
            && clean("threads_per_device")
        {
            found.push(Issue::new(
                ["storage", name, "service", "threads_per_device"],
                "two-kinds-of-threads",
                service.threads_per_device.to_string(),
                "either threads or threads_per_device".to_owned(),
                "all devices of a node share threads; remove one of the two".to_owned(),
            ));
        }
    }
}

/// Checks that a chunk holds a fragment.
pub(super) fn fragment(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let clean = |key: &str| sections.clean(&["storage", name, key]);
        if let Redundancy::Erasure { .. } = pool.redundancy()
            && nodes_may_exist(sections, name, pool)
            && pool.fragment(None) > pool.chunk()
            && clean("fragment")
            && clean("chunk")
        {
            found.push(Issue::new(
                ["storage", name, "fragment"],
                "fragment-over-chunk",
                pool.fragment(None).to_string(),
                format!("at most the chunk, {}", pool.chunk()),
                "a chunk holds fragments of many stripes: lower fragment or raise chunk".to_owned(),
            ));
        }
    }
}

/// Checks that a pool has enough nodes for its redundancy and metadata servers.
pub(super) fn nodes(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let clean = |key: &str| sections.clean(&["storage", name, key]);
        let Some(nodes) = sections.node_count(pool).filter(|_| counted(sections, name, pool)) else {
            continue;
        };
        let redundancy = pool.redundancy();
        let (domains, width) = (pool.domains(nodes), redundancy.width());
        if domains < width && clean("redundancy") {
            found.push(Issue::new(
                ["storage", name, "redundancy"],
                "too-few-domains",
                redundancy.to_string(),
                format!("at most {domains} replicas or fragments, one per failure domain of the pool"),
                format!(
                    "{redundancy} needs {width}; add nodes (hosts.{}.count), or choose a smaller failure_domain",
                    pool.nodes.written()[0]
                ),
            ));
        }
        let servers = pool.metadata_servers(nodes);
        if servers > nodes && clean("metadata_servers") {
            found.push(Issue::new(
                ["storage", name, "metadata_servers"],
                "too-many-metadata-servers",
                servers.to_string(),
                format!("at most {nodes}, one per node"),
                "lower it, or add nodes".to_owned(),
            ));
        }
    }
}

/// Checks that the devices of a pool can hold its data.
pub(super) fn capacity(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let clean = |key: &str| sections.clean(&["storage", name, key]);
        let Some(nodes) = sections.node_count(pool).filter(|_| counted(sections, name, pool)) else {
            continue;
        };
        let raw = pool.raw_capacity(nodes).bytes() as f64;
        let sets = working_sets(sections, name, pool);
        let sum: f64 = sets.values().sum();
        let data = pool.stored.map_or(sum, |stored| stored.bytes() as f64);
        let kept: f64 = sets.iter().map(|(kept, bytes)| bytes * kept.amplification()).sum();
        let needed = match sum > 0.0 {
            true => data * (kept / sum),
            false => data * pool.redundancy().amplification(),
        };
        let clean_data = clean("stored") && sections.clean(&["vms"]) && clean("redundancy") && clean("policies");
        if needed > raw && clean_data {
            let redundancies: Vec<String> = match sets.is_empty() {
                true => vec![pool.redundancy().to_string()],
                false => sets.keys().map(Redundancy::to_string).collect(),
            };
            let gib = |bytes: f64| format!("{:.1} GiB", bytes / f64::from(1 << 30));
            let key = if pool.stored.is_some() { "stored" } else { "devices" };
            found.push(Issue::new(
                ["storage", name, key],
                "pool-over-capacity",
                format!(
                    "{} of data, {} with {}",
                    gib(data),
                    gib(needed),
                    redundancies.join(" and ")
                ),
                format!("at most {} of devices, all nodes together", gib(raw)),
                "store less, or add nodes, devices or capacity".to_owned(),
            ));
        }
    }
}

/// True if the nodes exist, or an error may hide them.
fn nodes_may_exist(sections: &Sections, name: &str, pool: &StoragePool) -> bool {
    let sure = sections.readable("hosts") && sections.clean(&["storage", name, "nodes"]);
    !sure || sections.has_nodes(pool)
}

/// True if there are nodes, and the numbers of nodes, devices and racks are those of the scenario.
fn counted(sections: &Sections, name: &str, pool: &StoragePool) -> bool {
    sections.node_count(pool).is_some_and(|nodes| nodes > 0)
        && sections.counts_nodes(pool)
        && sections.clean(&["storage", name, "devices"])
        && sections.clean(&["storage", name, "racks"])
}

/// Working sets of all virtual disks on a pool, by policy.
fn working_sets(sections: &Sections, name: &str, pool: &StoragePool) -> BTreeMap<Redundancy, f64> {
    let mut sets = BTreeMap::new();
    for (_, vm) in sound(&sections.vms) {
        let Some(workload) = sections.workload_of(vm) else {
            continue;
        };
        for end in vm.ends(workload).filter(|end| end.is_pool(name)) {
            for (policy, vdisks) in vm.policies_of(end, workload) {
                let disks = u64::from(vm.count) * u64::from(vdisks);
                let bytes = workload.working_set.bytes().saturating_mul(disks);
                *sets.entry(pool.redundancy_of(policy)).or_default() += bytes as f64;
            }
        }
    }
    sets
}

/// Checks that the storage of a VM exists, is unique and is allowed on its host.
pub(super) fn vms(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        if let Some(wanted) = vm.storage.as_ref().filter(|_| clean("storage")) {
            if vm.array.is_some() && clean("array") {
                found.push(Issue::new(
                    ["vms", name, "storage"],
                    "two-storages",
                    wanted.clone(),
                    "either array or storage".to_owned(),
                    "remove one of the two".to_owned(),
                ));
            }
            sections.reference(&["vms", name, "storage"], wanted, "storage", &sections.storage, found);
        }
        if let Some(host) = vm.host.as_ref().filter(|_| clean("host") && clean("storage")) {
            found.extend(foreign_host(sections, name, vm, host));
        }
    }
}

/// A VM on a host that one of its pools does not allow.
fn foreign_host(sections: &Sections, name: &str, vm: &VmGroup, host: &str) -> Option<Issue> {
    let hosts = sections.hosts_of(vm).unwrap_or_default();
    let known = |(_, pool): &(&str, &StoragePool)| sections.has_nodes(pool);
    sections
        .pools_of(vm)
        .into_iter()
        .filter(known)
        .find_map(|(wanted, pool)| {
            let foreign = |(group, _): &&(&str, _)| !pool.deployment.allows(pool.nodes.contains(group));
            let (group, _) = hosts.iter().find(foreign)?;
            let (deployment, other) = match pool.deployment {
                Deployment::Hci => ("hci", format!("a host of {}", pool.nodes)),
                _ => ("two-layer", format!("a host outside {}", pool.nodes)),
            };
            Some(Issue::new(
                ["vms", name, "host"],
                "wrong-layer",
                host.to_owned(),
                format!("{other}: storage.{wanted}.deployment is {deployment}"),
                format!("remove host, or set storage.{wanted}.deployment to mixed ({group} is in the other layer)"),
            ))
        })
}
