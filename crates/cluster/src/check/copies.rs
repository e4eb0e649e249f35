//! Workloads that copy from one storage to another: checks that both exist.

use super::sections::{Sections, sound, unknown_among};
use crate::mistake::Issue;
use crate::spec::workload::{Arrivals, Workload};

/// Checks that both ends of a copy are arrays or pools, and that the workload does nothing else.
pub(super) fn ends(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, workload) in sound(&sections.workloads).filter(|(_, workload)| workload.copies()) {
        let clean = |key: &str| sections.clean(&["workloads", name, key]);
        for (key, end) in [("read_from", &workload.read_from), ("write_to", &workload.write_to)] {
            let known = |end: &String| sections.arrays.contains_key(end) || sections.storage.contains_key(end);
            let readable = sections.readable("arrays") && sections.readable("storage");
            if let Some(end) = end.as_ref().filter(|end| readable && clean(key) && !known(end)) {
                let names = sections.arrays.keys().chain(sections.storage.keys());
                found.push(unknown_among(
                    &["workloads", name, key],
                    end,
                    "arrays or storage",
                    names,
                ));
            }
            let is_both = |end: &&String| sections.arrays.contains_key(*end) && sections.storage.contains_key(*end);
            if let Some(end) = end.as_ref().filter(is_both).filter(|_| clean(key)) {
                found.push(Issue::new(
                    ["workloads", name, key],
                    "two-storages",
                    end.clone(),
                    "the name of either an array or a storage".to_owned(),
                    format!("{end} is both: rename one of the two"),
                ));
            }
        }
        if !matches!(workload.arrivals, Arrivals::Io { .. }) && clean("arrivals") {
            found.push(Issue::new(
                ["workloads", name, "arrivals"],
                "not-copying",
                "not io".to_owned(),
                "io: a copy keeps I/Os outstanding, each read and then written".to_owned(),
                "use arrivals: { io: { outstanding: 16 } }, or remove read_from and write_to".to_owned(),
            ));
        }
        if workload.read_pct < 100.0 && clean("read_pct") {
            found.push(Issue::new(
                ["workloads", name, "read_pct"],
                "not-copying",
                workload.read_pct.to_string(),
                "100: a copy writes everything that it reads".to_owned(),
                "remove it".to_owned(),
            ));
        }
    }
    own_end(sections, found);
    layers(sections, found);
}

/// Checks that a copying VM without a host has hosts that both pools allow.
fn layers(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms).filter(|(_, vm)| vm.host.is_none() && vm.count > 0) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        let pools = sections.pools_of(vm);
        let alone = |pool| {
            !sections
                .place_of(vm)
                .groups(&sections.hosts, Option::as_ref, &[pool])
                .is_empty()
        };
        let is_torn = sections.hosts_of(vm).is_some_and(|hosts| hosts.is_empty());
        if pools.len() == 2 && is_torn && pools.iter().copied().all(alone) && clean("workload") && clean("cluster") {
            let names: Vec<&str> = pools.iter().map(|(name, _)| *name).collect();
            found.push(Issue::new(
                ["vms", name, "workload"],
                "wrong-layer",
                vm.workload.clone(),
                format!(
                    "source and target with a host in common; storage.*.deployment of {} leaves none",
                    names.join(" and ")
                ),
                format!("set storage.{}.deployment to mixed", names[0]),
            ));
        }
    }
}

/// Checks that a VM whose copy has only one end has its own storage for the other.
fn own_end(sections: &Sections, found: &mut Vec<Issue>) {
    let is_half = |workload: &&Workload| workload.read_from.is_some() != workload.write_to.is_some();
    for (name, vm) in sound(&sections.vms) {
        let lacks = !vm.has_own_disks() && sections.workload_of(vm).as_ref().is_some_and(is_half);
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        if lacks && clean("array") && clean("storage") && clean("workload") {
            found.push(Issue::new(
                ["vms", name, "workload"],
                "one-end",
                vm.workload.clone(),
                "read_from and write_to, or a VM with an array or a storage".to_owned(),
                format!(
                    "set read_from and write_to of workloads.{}, or array or storage of vms.{name}",
                    vm.workload
                ),
            ));
        }
    }
}
