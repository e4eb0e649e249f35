//! Placement rules: checks that their VMs and hosts exist and share a cluster, and that only VM-host rules name hosts.

use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::placement::Place;
use crate::spec::placement_rule::{PlacementRule, RuleKind};

/// Checks that the VMs and hosts of a rule exist.
pub(super) fn members(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, rule) in readable(sections) {
        for (entry, name) in rule.vms.iter().enumerate() {
            let path = ["rules", &index, "vms", &entry.to_string()];
            sections.reference(&path, name, "vms", &sections.vms, found);
        }
        for (entry, name) in rule.hosts.iter().enumerate() {
            let path = ["rules", &index, "hosts", &entry.to_string()];
            sections.reference(&path, name, "hosts", &sections.hosts, found);
        }
    }
}

/// Checks that a VM-host rule names hosts, and no other rule does.
pub(super) fn hosts(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, rule) in readable(sections) {
        if rule.kind.names_hosts() == rule.hosts.is_empty() {
            let (value, allowed, hint) = match rule.hosts.len() {
                0 => ("(missing)".to_owned(), "at least one key of hosts", "name the hosts"),
                count => (
                    format!("a list of {count}"),
                    "none: only run-on and not-on rules have hosts",
                    "remove hosts",
                ),
            };
            found.push(Issue::new(
                ["rules", &index, "hosts"],
                "hosts-of-rule",
                value,
                allowed.to_owned(),
                format!("{hint}, or change kind"),
            ));
        }
    }
}

/// Checks that an affinity rule has VMs of one cluster, and that a `run-on` rule has hosts of the VM's cluster.
///
/// VMs and hosts in different clusters are always apart, so a rule that requires only that is valid.
pub(super) fn clusters(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, rule) in readable(sections) {
        let of_vms: Vec<(&str, &str)> = rule
            .vms
            .iter()
            .filter_map(|name| Some((name.as_str(), cluster_of_vm(sections, name)?)))
            .collect();
        let of_hosts: Option<Vec<&str>> = rule.hosts.iter().map(|name| cluster_of_host(sections, name)).collect();
        let (key, allowed, odd) = match (rule.kind, of_hosts) {
            (RuleKind::KeepTogether, _) => {
                let first = of_vms.first().map(|(_, cluster)| *cluster);
                let odd = of_vms.iter().find(|(_, cluster)| Some(*cluster) != first);
                let allowed = first.map_or_else(String::new, |first| format!("VMs of one cluster, such as {first}"));
                ("vms", allowed, odd)
            }
            (RuleKind::RunOn, Some(of_hosts)) if !of_hosts.is_empty() => {
                let odd = of_vms.iter().find(|(_, cluster)| !of_hosts.contains(cluster));
                let allowed = odd.map_or_else(String::new, |(_, cluster)| {
                    format!("at least one host of cluster {cluster}")
                });
                ("hosts", allowed, odd)
            }
            _ => continue,
        };
        if let Some((vm, cluster)) = odd {
            found.push(Issue::new(
                ["rules", &index, key],
                "rule-crosses-clusters",
                format!("{vm} is in cluster {cluster}"),
                allowed,
                "VMs cannot leave their cluster, so no placement meets the rule; correct or remove it".to_owned(),
            ));
        }
    }
}

/// The cluster of a VM; `None` if unknown.
fn cluster_of_vm<'s>(sections: &'s Sections, name: &str) -> Option<&'s str> {
    let vm = sections.vms.get(name)?.as_ref()?;
    match sections.place_of(vm) {
        Place::Hosts(group, _) => cluster_of_host(sections, group),
        // A cluster without hosts has its own error.
        Place::Cluster(cluster) => sound(&sections.hosts)
            .any(|(_, host)| host.cluster == cluster)
            .then_some(cluster),
        Place::Anywhere | Place::Unknown => None,
    }
}

fn cluster_of_host<'s>(sections: &'s Sections, group: &str) -> Option<&'s str> {
    let host = sections.hosts.get(group)?.as_ref()?;
    sections.clean(&["hosts", group, "cluster"]).then_some(&host.cluster)
}

fn readable(sections: &Sections) -> impl Iterator<Item = (String, &PlacementRule)> {
    let all = sections.rules.iter();
    all.map(|(position, rule)| (position.to_string(), rule))
        .filter(|(index, _)| sections.clean(&["rules", index]))
}
