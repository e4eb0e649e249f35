//! Virtual NUMA, and all VM options that depend on the hypervisor: checks that they agree with each other and with a
//! possible host.

use serde_json::{Value, json};

use super::option::{changed, has_option, not_of};
use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::spec::controller::{AsyncIo, DiskCache};
use crate::spec::vm::VmGroup;

/// Checks that cells hold all vCPUs, and that each of `nodes` belongs to one cell.
pub(super) fn cells(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let (cells, nodes) = (&vm.numa.cells, &vm.numa.nodes);
        let clean = |key: &str| sections.clean(&["vms", name, "numa", key]);
        let in_all: u32 = cells.iter().sum();
        if !cells.is_empty() && in_all != vm.vcpus && clean("cells") && sections.clean(&["vms", name, "vcpus"]) {
            found.push(Issue::new(
                ["vms", name, "numa", "cells"],
                "cells-not-vcpus",
                format!("{cells:?}, {in_all} vCPUs in all"),
                format!("cells with {} vCPUs in all (vcpus)", vm.vcpus),
                "every vCPU is in one cell; change cells or vcpus".to_owned(),
            ));
        }
        if !nodes.is_empty() && nodes.len() != cells.len() && clean("nodes") && clean("cells") {
            found.push(Issue::new(
                ["vms", name, "numa", "nodes"],
                "nodes-not-cells",
                format!("{nodes:?}, a list of {}", nodes.len()),
                format!("one per cell: {}", cells.len()),
                "list one node of the host for each cell, or remove nodes".to_owned(),
            ));
        }
    }
}

/// Checks that the host has the nodes that cells are bound to.
pub(super) fn nodes(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms).filter(|(_, vm)| !vm.numa.nodes.is_empty()) {
        let path = ["vms", name, "numa"];
        let hosts = sections.hosts_of(vm).unwrap_or_default();
        let known = hosts.iter().all(|(name, _)| {
            sections.clean(&["hosts", name, "sockets"]) && sections.clean(&["hosts", name, "nodes_per_socket"])
        });
        let binding = hosts
            .iter()
            .filter(|(_, host)| has_option(host.hypervisor, &path, "nodes"));
        // The VM can be on any of them, so the smallest counts.
        let Some((host_name, host)) = binding
            .min_by_key(|(_, host)| host.nodes())
            .filter(|_| known && sections.clean(&["vms", name, "numa", "nodes"]))
        else {
            continue;
        };
        for (position, node) in vm.numa.nodes.iter().enumerate() {
            if *node >= host.nodes() {
                found.push(Issue::new(
                    ["vms", name, "numa", "nodes", &position.to_string()],
                    "node-outside-host",
                    node.to_string(),
                    format!("a NUMA node of host {host_name}, 0 to {}", host.nodes() - 1),
                    "a host has sockets x nodes_per_socket NUMA nodes, numbered from 0".to_owned(),
                ));
            }
        }
    }
}

/// Checks that a host has the options set. A VM that can be on several kinds of host can have the options of each.
pub(super) fn options(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let path = ["vms", name, "numa"];
        let options = changed(&vm.numa).into_iter().map(|option| (&path[..], option));
        let options: Vec<_> = options
            .chain(own(vm).into_iter().map(|option| (&path[..2], option)))
            .filter(|(path, (key, _))| sections.clean(&[*path, &[key]].concat()))
            .collect();
        if options.is_empty() {
            continue;
        }
        let hosts = sections.hosts_of(vm).unwrap_or_default();
        let known = |(name, _): &(&str, _)| sections.clean(&["hosts", name, "hypervisor"]);
        if hosts.is_empty() || !hosts.iter().all(known) {
            continue;
        }
        for (path, (key, value)) in options {
            let issues: Option<Vec<Issue>> = hosts
                .iter()
                .map(|(_, host)| not_of(host.hypervisor, path, &key, &value, "or move the VM to such a host"))
                .collect();
            found.extend(issues.into_iter().flatten().next());
        }
    }
}

/// Options of the VM itself that are set and that not every hypervisor has.
fn own(vm: &VmGroup) -> Vec<(String, Value)> {
    let set = [
        vm.cpu_hot_add.then(|| ("cpu_hot_add", json!(true))),
        vm.io_threads.map(|threads| ("io_threads", json!(threads))),
        (vm.disk_cache != DiskCache::default()).then(|| ("disk_cache", json!(vm.disk_cache))),
        (vm.aio != AsyncIo::default()).then(|| ("aio", json!(vm.aio))),
    ];
    let set = set.into_iter().flatten();
    set.map(|(key, value)| (key.to_owned(), value)).collect()
}
