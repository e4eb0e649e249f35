//! Hosts without a hypervisor: one system owns the whole host and has no hypervisor features.

use std::collections::{BTreeMap, BTreeSet};

use super::option::changed;
use super::sections::{Sections, owned, sound};
use crate::mistake::{Issue, show};
use crate::names::members;
use crate::spec::host::HostGroup;
use crate::spec::vm::{Shares, VmGroup};

fn is_bare(host: &HostGroup) -> bool {
    !host.hypervisor.family().facts().virtualises
}

/// Checks that no hypervisor CPU is set without a hypervisor.
pub(super) fn overhead(sections: &Sections, found: &mut Vec<Issue>) {
    let bare = sound(&sections.hosts).filter(|(_, host)| is_bare(host));
    for (name, host) in bare.filter(|(name, _)| sections.clean(&["hosts", name, "hypervisor"])) {
        for (key, value) in changed(&host.overhead) {
            found.push(Issue::new(
                ["hosts", name, "overhead", &key],
                "wrong-hypervisor",
                show(&value),
                "none: without a hypervisor there is no overhead".to_owned(),
                format!("remove it, or set hosts.{name}.hypervisor"),
            ));
        }
    }
}

/// Checks that a VM which can only be on such hosts uses no hypervisor features.
pub(super) fn machines(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let hosts = sections.hosts_of(vm).unwrap_or_default();
        let only_bare = hosts
            .iter()
            .all(|(host, group)| is_bare(group) && sections.clean(&["hosts", host, "hypervisor"]));
        if let Some((host, _)) = hosts.first().filter(|_| only_bare) {
            let own = virtual_keys(name, vm, host).into_iter();
            found.extend(
                own.filter(|(key, _)| sections.clean(&["vms", name, key]))
                    .map(|(_, issue)| issue),
            );
        }
    }
}

/// Checks that each such host has at most one VM, without hypervisor features. Everything else is valid.
pub(super) fn per_host(sections: &Sections, found: &mut Vec<Issue>) {
    if !sound(&sections.hosts).any(|(_, host)| is_bare(host)) {
        return;
    }
    let (hosts, vms) = (owned(&sections.hosts), owned(&sections.vms));
    let Some(placed) = sections.placed(&hosts, &vms) else {
        return;
    };
    let names = members(&hosts, |host| host.count);
    let machines = vms
        .iter()
        .flat_map(|(name, vm)| std::iter::repeat_n((name, vm), vm.count as usize));
    let mut systems: BTreeMap<usize, &String> = BTreeMap::new();
    let (mut crowded, mut needy) = (BTreeSet::new(), BTreeSet::new());
    for ((name, vm), host) in machines.zip(placed).filter(|(_, host)| is_bare(names[*host].1)) {
        let host_name = &names[host].0;
        if let Some(other) = systems.insert(host, name)
            && crowded.insert(name)
        {
            let beside = if other == name {
                "another VM of the group"
            } else {
                other
            };
            found.push(Issue::new(
                ["vms", name],
                "two-systems",
                format!("on host {host_name} together with {beside}"),
                "one VM on a host without hypervisor: its operating system".to_owned(),
                "move it, use more hosts or a smaller count, or give the host a hypervisor".to_owned(),
            ));
        }
        if needy.insert(name) {
            found.extend(virtual_keys(name, vm, host_name).into_iter().map(|(_, issue)| issue));
        }
    }
}

/// Keys of a VM on such a host that need a hypervisor.
fn virtual_keys(name: &str, vm: &VmGroup, host: &str) -> Vec<(&'static str, Issue)> {
    let shares = (vm.shares != Shares::default()).then(|| match vm.shares {
        Shares::Number(number) => number.to_string(),
        Shares::Low => "low".to_owned(),
        Shares::Normal => "normal".to_owned(),
        Shares::High => "high".to_owned(),
    });
    let whole = "the operating system uses the whole host; remove the key";
    let fewer = "remove the key; with fewer vcpus, the last logical CPUs stay unused";
    let keys = [
        ("shares", shares, whole),
        ("limit", vm.limit.map(|limit| limit.to_string()), fewer),
        (
            "reservation",
            (vm.reservation.whole_hz() > 0).then(|| vm.reservation.to_string()),
            whole,
        ),
        ("affinity", vm.affinity.clone(), fewer),
    ];
    let set = keys
        .into_iter()
        .filter_map(|(key, value, hint)| Some((key, value?, hint)));
    let issue = |(key, value, hint): (&'static str, String, &str)| {
        let allowed = format!("none on host {host}, which has no hypervisor");
        (
            key,
            Issue::new(["vms", name, key], "wrong-hypervisor", value, allowed, hint.to_owned()),
        )
    };
    set.map(issue).collect()
}
