//! Reservations of CPU and memory: checks that hosts can cover those of their VMs.

use std::collections::{BTreeMap, BTreeSet};

use super::sections::{Sections, owned};
use crate::mistake::Issue;
use crate::names::members;
use crate::quantity::{Bytes, Frequency};
use crate::spec::host::HostGroup;
use crate::spec::vm::VmGroup;

/// Checks that reservations fit each host, and that hosts without CPU reservations have none. Everything else is valid.
pub(super) fn per_host(sections: &Sections, found: &mut Vec<Issue>) {
    let (hosts, vms) = (owned(&sections.hosts), owned(&sections.vms));
    let Some(placed) = sections.placed(&hosts, &vms) else {
        return;
    };
    let machines = vms
        .iter()
        .flat_map(|(name, vm)| std::iter::repeat_n((name, vm), vm.count as usize));
    let mut reserved: BTreeMap<usize, Vec<(&String, u64)>> = BTreeMap::new();
    let mut kept: BTreeMap<usize, Vec<(&String, &VmGroup)>> = BTreeMap::new();
    for ((name, vm), host) in machines.zip(placed) {
        kept.entry(host).or_default().push((name, vm));
        let hz = vm.reservation.whole_hz();
        if hz > 0 {
            reserved.entry(host).or_default().push((name, hz));
        }
    }
    let names = members(&hosts, |host| host.count);
    let mut blamed = BTreeSet::new();
    for (position, vms) in kept {
        let (host_name, host) = &names[position];
        let facts = host.hypervisor.family().facts();
        // Linux protects `memory.min` as far as it can, and refuses only huge pages
        let is_kept = |(_, vm): &&(&String, &VmGroup)| facts.virtualises && (facts.reservations || vm.huge_pages);
        let vms = vms.iter().filter(is_kept);
        let sum: u128 = vms.clone().map(|(_, vm)| u128::from(vm.kept_memory().bytes())).sum();
        let Some((name, vm)) = vms.max_by_key(|(_, vm)| vm.kept_memory()) else {
            continue;
        };
        if sum > u128::from(host.memory().bytes()) && blamed.insert(*name) {
            let key = if vm.huge_pages {
                "huge_pages"
            } else {
                "memory_reservation"
            };
            found.push(Issue::new(
                ["vms", name, key],
                "memory-over-reserved",
                format!(
                    "{} (in all {} on host {host_name})",
                    vm.kept_memory(),
                    Bytes::new(u64::try_from(sum).unwrap_or(u64::MAX))
                ),
                format!(
                    "at most {} reserved or in huge pages on host {host_name}",
                    host.memory()
                ),
                "reserve less memory, or spread the VMs over more hosts".to_owned(),
            ));
        }
    }
    let mut blamed = BTreeSet::new();
    for (position, reservations) in reserved {
        let (host_name, host) = &names[position];
        if !host.hypervisor.family().facts().virtualises {
            continue;
        }
        if !host.hypervisor.family().facts().reservations {
            for (name, _) in reservations {
                if blamed.insert(name) {
                    found.push(no_reservations(name, &vms[name], host_name, host));
                }
            }
            continue;
        }
        let sum: u128 = reservations.iter().map(|(_, hz)| u128::from(*hz)).sum();
        // Report the largest reservation; one message per group of VMs is enough.
        let (name, hz) = reservations.iter().max_by_key(|(_, hz)| *hz).expect("not empty");
        if sum > u128::from(host.capacity().whole_hz()) && blamed.insert(*name) {
            found.push(Issue::new(
                ["vms", name, "reservation"],
                "over-reserved",
                format!(
                    "{} (in all {} GHz on host {host_name})",
                    Frequency::from_hz(*hz),
                    sum as f64 / 1e9
                ),
                format!(
                    "at most {} reserved on host {host_name} (cores x clock)",
                    host.capacity()
                ),
                "lower the reservations, or spread the VMs over more hosts".to_owned(),
            ));
        }
    }
}

/// A reservation of a VM that is, or can only be, on a host without CPU reservations.
pub(super) fn no_reservations(name: &str, vm: &VmGroup, host_name: &str, host: &HostGroup) -> Issue {
    Issue::new(
        ["vms", name, "reservation"],
        "wrong-hypervisor",
        vm.reservation.to_string(),
        format!(
            "no reservation on host {host_name}, {}: Linux cgroups have none for CPU",
            host.hypervisor
        ),
        format!("use shares (cpu.weight of the cgroup) instead, or set vms.{name}.host to an ESXi host"),
    )
}
