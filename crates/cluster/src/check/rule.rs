//! Placement rules: that what they are about exists, and that they name hosts if and only if they are about some.

use super::sections::Sections;
use crate::mistake::Issue;
use crate::spec::placement_rule::PlacementRule;

/// That the VMs and hosts of a rule exist.
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

/// That a rule about hosts names some, and no other does.
pub(super) fn hosts(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, rule) in readable(sections) {
        if rule.kind.names_hosts() == rule.hosts.is_empty() {
            let (value, allowed, hint) = match rule.hosts.len() {
                0 => ("(missing)".to_owned(), "at least one key of hosts", "name the hosts"),
                count => (
                    format!("a list of {count}"),
                    "none: only run-on and not-on are about hosts",
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

fn readable(sections: &Sections) -> impl Iterator<Item = (String, &PlacementRule)> {
    let all = sections.rules.iter();
    all.map(|(position, rule)| (position.to_string(), rule))
        .filter(|(index, _)| sections.clean(&["rules", index]))
}
