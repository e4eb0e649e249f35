//! Events of a cluster: that each is one thing, about machines and hosts that exist, in order of time.

use super::failure::host_group;
use super::sections::{Sections, sound};
use crate::mistake::{Issue, show_text};
use crate::names::member_number;
use crate::spec::migration::Event;
use crate::spec::vm::VmGroup;

/// That each event is exactly one thing.
pub(super) fn actions(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        let actions = [
            ("migrate", event.migrate.is_some()),
            ("maintenance", event.maintenance.is_some()),
            ("add", event.add.is_some()),
        ];
        let said: Vec<&str> = actions
            .iter()
            .filter(|(_, is_said)| *is_said)
            .map(|(key, _)| *key)
            .collect();
        if said.len() != 1 {
            let value = match said.is_empty() {
                true => "none of them".to_owned(),
                false => said.join(" and "),
            };
            found.push(Issue::new(
                ["events", &index],
                "one-of",
                value,
                "exactly one of migrate (with to), maintenance and add".to_owned(),
                "write one entry for each thing that is done".to_owned(),
            ));
        }
    }
}

/// That the machines and hosts of events exist, and that machines stay in their cluster.
pub(super) fn parts(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        for (key, host) in [("to", &event.to), ("maintenance", &event.maintenance)] {
            let known = host.as_ref().map(|host| (host, host_group(sections, host)));
            if let Some((host, Err(allowed))) = known {
                found.push(unknown(&index, key, host, allowed, "hosts"));
            }
        }
        let Some(name) = &event.migrate else { continue };
        let Some(vm) = vm_group(sections, name) else {
            let counts = sections.vms.keys().all(|vm| sections.clean(&["vms", vm, "count"]));
            if counts && sections.readable("vms") && sections.vms.values().all(Option::is_some) {
                let some = sound(&sections.vms).filter(|(_, vm)| vm.count > 0).take(6);
                let names = some.map(|(name, vm)| match vm.count {
                    1 => name.to_owned(),
                    count => format!("{name}-1 to {name}-{count}"),
                });
                let allowed = format!("a machine: {}", names.collect::<Vec<_>>().join(", "));
                found.push(unknown(&index, "migrate", name, allowed, "vms"));
            }
            continue;
        };
        let Some(Ok(Some((_, to)))) = event.to.as_ref().map(|host| host_group(sections, host)) else {
            continue;
        };
        let hosts = sections.hosts_of(vm).unwrap_or_default();
        if !hosts.is_empty() && hosts.iter().all(|(_, host)| host.cluster != to.cluster) {
            found.push(Issue::new(
                ["events", &index, "to"],
                "host-outside-cluster",
                show_text(event.to.as_deref().unwrap_or_default()),
                format!("a host of cluster {}, where {name} is", hosts[0].1.cluster),
                "machines stay in their cluster".to_owned(),
            ));
        }
    }
}

/// That maintenance ends after it began.
pub(super) fn times(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, event) in readable(sections) {
        if let Some(until) = event.until.filter(|until| *until <= event.at) {
            found.push(Issue::new(
                ["events", &index, "until"],
                "ends-before-beginning",
                until.to_string(),
                format!("later than at, {}", event.at),
                "both count from the start of the run; remove until if it never ends".to_owned(),
            ));
        }
    }
}

/// That the host that watches over a cluster is one of its hosts.
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
        let hint = "hosts of a group of several are called name-1, name-2 and so on".to_owned();
        found.push(Issue::new(path, "unknown-component", show_text(primary), allowed, hint));
    }
}

fn unknown(index: &str, key: &str, value: &str, allowed: String, section: &str) -> Issue {
    Issue::new(
        ["events", index, key],
        "unknown-component",
        show_text(value),
        allowed,
        format!("members of a group of several in {section} are called name-1, name-2 and so on"),
    )
}

/// The group of a machine, by the machine's name.
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
