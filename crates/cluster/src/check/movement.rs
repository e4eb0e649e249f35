//! Events of a cluster: one action each, existing VMs and hosts, in order of time.

use super::failure::{disk, host_group};
use super::sections::{Sections, sound};
use crate::mistake::{Issue, show_text};
use crate::names::member_number;
use crate::redundancy::Redundancy;
use crate::spec::failure::Component;
use crate::spec::migration::{About, Event};
use crate::spec::pool::{FailureDomain, StoragePool};
use crate::spec::vm::VmGroup;
use std::collections::BTreeSet;

/// Checks that each event has exactly one action.
pub(super) fn actions(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        let said: Vec<&str> = event.actions().iter().map(|action| action.key).collect();
        if said.len() != 1 {
            let value = match said.is_empty() {
                true => "none of them".to_owned(),
                false => said.join(" and "),
            };
            found.push(Issue::new(
                ["events", &index],
                "one-of",
                value,
                Event::ONE_OF.to_owned(),
                "write one entry per action".to_owned(),
            ));
        }
    }
}

/// Checks that VMs and hosts of events exist, and that VMs stay in their cluster.
pub(super) fn parts(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        let actions = event.actions();
        let named = |about| {
            let action = actions.iter().find(|action| action.about == about)?;
            Some((action.key, action.name))
        };
        let to = event.to.as_deref().map(|host| ("to", host));
        for (key, host) in [to, named(About::Host)].into_iter().flatten() {
            if let Err(allowed) = host_group(sections, host) {
                found.push(unknown(&index, key, host, allowed, "hosts"));
            }
        }
        let vm = named(About::Vm);
        let Some((key, name)) = vm else { continue };
        let Some(vm) = vm_group(sections, name) else {
            let counts = sections.vms.keys().all(|vm| sections.clean(&["vms", vm, "count"]));
            if counts && sections.readable("vms") && sections.vms.values().all(Option::is_some) {
                let some = sound(&sections.vms).filter(|(_, vm)| vm.count > 0).take(6);
                let names = some.map(|(name, vm)| match vm.count {
                    1 => name.to_owned(),
                    count => format!("{name}-1 to {name}-{count}"),
                });
                let allowed = format!("a VM: {}", names.collect::<Vec<_>>().join(", "));
                found.push(unknown(&index, key, name, allowed, "vms"));
            }
            continue;
        };
        let hosts = sections.hosts_of(vm).unwrap_or_default();
        let mut families = hosts.iter().map(|(_, host)| host.hypervisor.family());
        let is_tied = families.any(|family| !vm.migrates_live(family));
        if event.migrate.is_some() && (is_tied || !vm.live_migration) {
            found.push(Issue::new(
                ["events", &index, "migrate"],
                "no-live-migration",
                show_text(name),
                "a VM that can migrate while it runs".to_owned(),
                match vm.live_migration {
                    true => "vMotion refuses VMs with affinity: remove the affinity or the event".to_owned(),
                    false => "its live_migration is false: remove the event".to_owned(),
                },
            ));
            continue;
        }
        let Some(Ok(Some((_, to)))) = event.to.as_ref().map(|host| host_group(sections, host)) else {
            continue;
        };
        if !hosts.is_empty() && hosts.iter().all(|(_, host)| host.cluster != to.cluster) {
            found.push(Issue::new(
                ["events", &index, "to"],
                "host-outside-cluster",
                show_text(event.to.as_deref().unwrap_or_default()),
                format!("a host of cluster {}, the cluster of {name}", hosts[0].1.cluster),
                "VMs cannot leave their cluster".to_owned(),
            ));
        }
    }
}

/// Checks that whatever joins a pool is a node or disk of it and joins once, and that the pool works without it.
pub(super) fn joining(sections: &Sections, found: &mut Vec<Issue>) {
    let mut joined: Vec<Component> = Vec::new();
    for (index, event) in readable(sections) {
        let Some(text) = &event.add else { continue };
        let known = match Component::parse(text) {
            Some(Component::Host(host)) => node(sections, &host).map(|()| Component::Host(host)),
            Some(Component::Disk(host, number)) => match host_group(sections, &host) {
                Ok(Some((group, _))) => disk(sections, &host, group, number).map(|()| Component::Disk(host, number)),
                Ok(None) => continue,
                Err(allowed) => Err(allowed),
            },
            _ => Err("a pool node (HOST) or one of its disks (HOST/disk-N, with N from 1)".to_owned()),
        };
        let part = match known {
            Ok(part) => part,
            Err(allowed) => {
                found.push(unknown(&index, "add", text, allowed, "hosts"));
                continue;
            }
        };
        let is_there = joined.iter().any(|other| match (other, &part) {
            (Component::Host(host), Component::Disk(of, _)) | (Component::Disk(of, _), Component::Host(host)) => {
                host == of
            }
            (one, other) => one == other,
        });
        if is_there {
            found.push(Issue::new(
                ["events", &index, "add"],
                "joins-twice",
                show_text(text),
                "a node or disk that no other event adds".to_owned(),
                "a node joins with all of its disks; remove one of the events".to_owned(),
            ));
            continue;
        }
        joined.push(part);
        let lacking = sound(&sections.storage).find(|(name, pool)| {
            let is_read = ["devices", "more_devices", "racks", "redundancy", "policies"]
                .iter()
                .all(|key| sections.clean(&["storage", name, key]));
            is_read && !has_enough(sections, pool, &joined)
        });
        if let Some((name, _)) = lacking {
            found.push(Issue::new(
                ["events", &index, "add"],
                "too-few-domains",
                show_text(text),
                format!("a node or disk that {name} can start without: each replica or fragment needs its own failure domain"),
                "add nodes or disks that exist from the start".to_owned(),
            ));
            joined.pop();
        }
    }
}

/// Whether a host is a node of a pool, or which hosts are.
fn node(sections: &Sections, host: &str) -> Result<(), String> {
    let Some((group, _)) = host_group(sections, host)? else {
        return Ok(());
    };
    let is_sure = sections.readable("storage") && sections.storage.values().all(Option::is_some);
    let nodes = |pool: &StoragePool| pool.nodes.contains(group);
    match is_sure && !sound(&sections.storage).any(|(_, pool)| nodes(pool)) {
        true => Err(format!("a pool node; {host} is in no pool")),
        false => Ok(()),
    }
}

/// True if a pool has enough failure domains before nodes or disks join.
fn has_enough(sections: &Sections, pool: &StoragePool, joined: &[Component]) -> bool {
    let Some(nodes) = sections.node_count(pool) else {
        return true;
    };
    let count = |group: &str| sections.hosts[group].as_ref().map_or(0, |host| host.count);
    let names: Vec<String> = pool.nodes.members(count).collect();
    let per_node = pool.devices_per_node() as usize;
    // Disks of each node at the start.
    let mut left = vec![per_node; names.len()];
    for part in joined {
        let (Component::Host(host) | Component::Disk(host, _)) = part else {
            continue;
        };
        let number = names.iter().position(|name| name == host);
        if let Some(disks) = number.map(|number| &mut left[number]) {
            *disks = match part {
                Component::Host(_) => 0,
                _ => disks.saturating_sub(1),
            };
        }
    }
    let has_some = |node: &usize| left[*node] > 0;
    let domains = match pool.failure_domain {
        FailureDomain::Disk => left.iter().sum(),
        FailureDomain::Host => (0..left.len()).filter(has_some).count(),
        FailureDomain::Rack => {
            let racks = (0..left.len()).filter(has_some).map(|node| node % pool.racks as usize);
            racks.collect::<BTreeSet<usize>>().len()
        }
    };
    let policies = pool.policies.values().map(|policy| policy.redundancy);
    let widest = policies.chain([pool.redundancy()]).map(Redundancy::width).max();
    // Another check reports a redundancy too wide for all of them.
    widest.is_none_or(|width| domains >= width as usize || pool.domains(nodes) < width)
}

/// Checks that maintenance ends after it begins.
pub(super) fn times(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        if let Some(until) = event.until.filter(|until| *until <= event.at) {
            found.push(Issue::new(
                ["events", &index, "until"],
                "ends-before-beginning",
                until.to_string(),
                format!("later than at, {}", event.at),
                "both count from the start of the run; if maintenance never ends, remove until".to_owned(),
            ));
        }
    }
}

/// Checks that the primary host of a cluster is one of its hosts.
pub(super) fn primaries(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, cluster) in sound(&sections.clusters) {
        let Some(primary) = cluster.ha.as_ref().and_then(|ha| ha.primary.as_ref()) else {
            continue;
        };
        let path = ["clusters", name, "ha", "primary"];
        if !sections.clean(&path) {
            continue;
        }
        let allowed = match host_group(sections, primary) {
            Err(allowed) => allowed,
            Ok(Some((_, host))) if host.cluster != name => format!("a host of cluster {name}"),
            Ok(_) => continue,
        };
        let hint = "hosts of a group with several are named name-1, name-2 and so on".to_owned();
        found.push(Issue::new(path, "unknown-component", show_text(primary), allowed, hint));
    }
}

/// Checks that the longest detection of a cluster has a shortest one, which is not longer.
pub(super) fn detections(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, cluster) in sound(&sections.clusters) {
        let path = |key| ["clusters", name, "ha", key];
        let Some(ha) = &cluster.ha else { continue };
        let Some(longest) = ha
            .detection_longest
            .filter(|_| sections.clean(&path("detection_longest")))
        else {
            continue;
        };
        let (allowed, hint) = match ha.detection {
            _ if !sections.clean(&path("detection")) => continue,
            Some(shortest) if shortest <= longest => continue,
            Some(shortest) => (
                format!("at least detection, {shortest}"),
                "detection is the shortest time; raise detection_longest, or lower detection",
            ),
            None => (
                "only with detection".to_owned(),
                "set detection, the shortest time from a failure to the first restart",
            ),
        };
        found.push(Issue::new(
            path("detection_longest"),
            "longest-below-shortest",
            longest.to_string(),
            allowed,
            hint.to_owned(),
        ));
    }
}

fn unknown(index: &str, key: &str, value: &str, allowed: String, section: &str) -> Issue {
    Issue::new(
        ["events", index, key],
        "unknown-component",
        show_text(value),
        allowed,
        format!("members of a group with several in {section} are named name-1, name-2 and so on"),
    )
}

/// The group of a VM, by VM name.
fn vm_group<'s>(sections: &'s Sections, machine: &str) -> Option<&'s VmGroup> {
    let is_member = |(name, vm): &(&str, &VmGroup)| match vm.count {
        1 => machine == *name,
        count => member_number(machine, name, count).is_some(),
    };
    sound(&sections.vms).find(is_member).map(|(_, vm)| vm)
}

fn readable(sections: &Sections) -> impl Iterator<Item = (String, &Event)> {
    let all = sections.events.iter();
    all.map(|(position, event)| (position.to_string(), event))
        .filter(|(index, _)| sections.clean(&["events", index]))
}
