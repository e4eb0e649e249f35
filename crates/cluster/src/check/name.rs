//! Names: no single group has the name of a member of a numbered group.

use super::sections::{Groups, Sections, sound};
use crate::mistake::Issue;
use crate::names::member_number;

/// Checks that every host and every VM has a unique name.
pub(super) fn unique(sections: &Sections, found: &mut Vec<Issue>) {
    clashes("hosts", &sections.hosts, |host| host.count, found);
    clashes("vms", &sections.vms, |vm| vm.count, found);
}

fn clashes<T>(section: &str, groups: &Groups<T>, count: impl Fn(&T) -> u32, found: &mut Vec<Issue>) {
    for (name, _) in sound(groups).filter(|(_, group)| count(group) == 1) {
        let Some((group, _)) = name.rsplit_once('-') else {
            continue;
        };
        let Some(count) = groups.get(group).and_then(Option::as_ref).map(&count) else {
            continue;
        };
        if count > 1 && member_number(name, group, count).is_some() {
            found.push(Issue::new(
                [section, name],
                "duplicate-name",
                name.to_owned(),
                format!("a name that no member of {section}.{group} has ({group}-1 to {group}-{count})"),
                "rename one of the two groups".to_owned(),
            ));
        }
    }
}
