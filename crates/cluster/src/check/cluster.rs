//! Clusters: references, hosts and VMs that agree, and measured memory and space within capacity.

use std::collections::BTreeSet;

use super::sections::{Sections, sound, unknown_among};
use crate::mistake::{Issue, nearest, show_text};
use crate::placement::Place;
use crate::quantity::Bytes;

/// Checks that every named cluster has a host (possibly with `count: 0`).
pub(super) fn names(sections: &Sections, found: &mut Vec<Issue>) {
    let Some(known) = known(sections) else { return };
    let mut check = |path: &[&str], name: &str| {
        if !known.contains(name) && sections.clean(path) {
            found.push(unknown(path, name, &known));
        }
    };
    for name in sections.clusters.keys() {
        check(&["clusters", name], name);
    }
    for (name, vm) in sound(&sections.vms) {
        if let Some(cluster) = &vm.cluster {
            check(&["vms", name, "cluster"], cluster);
        }
    }
    for (name, vm) in sound(&sections.powered_off) {
        if let Some(cluster) = &vm.cluster {
            check(&["powered_off", name, "cluster"], cluster);
        }
    }
    for (name, store) in sound(&sections.datastores) {
        for (position, cluster) in store.clusters.iter().enumerate() {
            check(&["datastores", name, "clusters", &position.to_string()], cluster);
        }
    }
}

/// The clusters of all hosts; `None` if an error may hide one.
fn known(sections: &Sections) -> Option<BTreeSet<&str>> {
    let names = sections.hosts.iter().map(|(name, host)| {
        let cluster = host.as_ref()?.cluster.as_str();
        sections.clean(&["hosts", name, "cluster"]).then_some(cluster)
    });
    names.collect::<Option<_>>().filter(|_| sections.readable("hosts"))
}

fn unknown(path: &[&str], name: &str, known: &BTreeSet<&str>) -> Issue {
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "give a host this cluster, or name one that has hosts".to_owned(),
    };
    let listed: Vec<&str> = known.iter().copied().take(12).collect();
    let more = known.len().saturating_sub(listed.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let allowed = format!("a cluster with hosts: {}{more}", listed.join(", "));
    Issue::new(
        path.iter().copied(),
        "cluster-without-hosts",
        show_text(name),
        allowed,
        hint,
    )
}

/// Checks that the hosts of powered-off VMs exist.
pub(super) fn hosts_of_powered_off(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.powered_off) {
        let path = ["powered_off", name, "host"];
        if let Some(host) = &vm.host
            && sections.clean(&path)
            && sections.readable("hosts")
            && Place::named(&sections.hosts, Option::as_ref, None, Some(host)) == Place::Unknown
        {
            found.push(unknown_among(&path, host, "hosts", sections.hosts.keys()));
        }
    }
}

/// Checks that the host of a VM is in its cluster.
pub(super) fn hosts(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let (Some(cluster), Some(host)) = (&vm.cluster, &vm.host) else {
            continue;
        };
        let Place::Hosts(group, _) = sections.place_of(vm) else {
            continue;
        };
        let Some(own) = sections.hosts[group].as_ref().map(|group| &group.cluster) else {
            continue;
        };
        let clean = sections.clean(&["hosts", group, "cluster"]) && sections.clean(&["vms", name, "cluster"]);
        // A cluster without hosts has its own error.
        if own != cluster && clean && sound(&sections.hosts).any(|(_, host)| host.cluster == *cluster) {
            found.push(Issue::new(
                ["vms", name, "host"],
                "host-outside-cluster",
                show_text(host),
                format!("a host of cluster {cluster}, or none"),
                format!("{host} is in cluster {own}: remove host, or set vms.{name}.cluster to {own}"),
            ));
        }
    }
}

/// Checks that no part of memory or space exceeds the whole.
pub(super) fn parts(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let parts = [
            ("memory_touched", "touched-over-memory", vm.memory_touched),
            ("memory_active", "active-over-memory", vm.memory_active),
        ];
        for (key, code, part) in parts {
            if let Some(part) = part
                && sections.clean(&["vms", name, "memory"])
            {
                let whole = ("the VM's memory", vm.memory);
                let hint = "if you lowered memory, lower this too";
                found.extend(more(["vms", name, key], code, part, whole, hint));
            }
        }
    }
    for (name, host) in sound(&sections.hosts) {
        let sized = ["sockets", "memory_per_node"];
        if sized.iter().all(|key| sections.clean(&["hosts", name, key])) {
            let path = ["hosts", name, "hypervisor_memory"];
            let whole = ("the host's memory", host.memory());
            found.extend(more(
                path,
                "own-over-memory",
                host.hypervisor_memory(),
                whole,
                "lower it, or raise memory_per_node",
            ));
        }
    }
    for (name, store) in sound(&sections.datastores) {
        if let Some(free) = store.free
            && sections.clean(&["datastores", name, "capacity"])
        {
            let path = ["datastores", name, "free"];
            let whole = ("the datastore's capacity", store.capacity);
            found.extend(more(
                path,
                "free-over-capacity",
                free,
                whole,
                "lower it, or raise capacity",
            ));
        }
    }
}

fn more(path: [&str; 3], code: &str, part: Bytes, (what, whole): (&str, Bytes), hint: &str) -> Option<Issue> {
    (part > whole).then(|| {
        Issue::new(
            path,
            code,
            part.to_string(),
            format!("at most {what}, {whole}"),
            hint.to_owned(),
        )
    })
}
