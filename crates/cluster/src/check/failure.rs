//! Failures: checks that components exist and return after they fail.

use super::sections::{Sections, sound};
use crate::mistake::{Issue, show_text};
use crate::names::member_number;
use crate::spec::failure::{Component, Failure};
use crate::spec::host::HostGroup;
use crate::spec::pool::StoragePool;

/// Checks that components return after they fail.
pub(super) fn returns(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, failure) in readable(sections) {
        if failure.empty && failure.returns.is_none() {
            found.push(Issue::new(
                ["failures", &index, "empty"],
                "never-returns",
                "true".to_owned(),
                "true only with returns: the component returns without its data".to_owned(),
                "add returns, or remove empty".to_owned(),
            ));
        }
        if let Some(returns) = failure.returns.filter(|returns| *returns <= failure.at) {
            found.push(Issue::new(
                ["failures", &index, "returns"],
                "returns-before-failing",
                returns.to_string(),
                format!("later than at, {}", failure.at),
                "both count from the start of the run; if the component never returns, remove returns".to_owned(),
            ));
        }
    }
}

/// Checks that components exist.
pub(super) fn components(sections: &Sections, found: &mut Vec<Issue>) {
    for (index, failure) in readable(sections) {
        for (entry, text) in failure.fails.iter().enumerate() {
            let component = Component::parse(text);
            let known = match &component {
                Some(component) => has(sections, component),
                None => Err("HOST, HOST/disk-N, HOST/link, HOST/port-N, ARRAY/port-N, POOL/rack-N or POOL/metadata-N, with N from 1".to_owned()),
            };
            let known = known.map_err(|allowed| ("unknown-component", allowed));
            let known = match component {
                Some(Component::Port(name, _)) if is_local(sections, &name) => {
                    Err(("not-local", "ports of an array that is not inside a host".to_owned()))
                }
                _ => known,
            };
            found.extend(known.err().map(|(code, allowed)| {
                Issue::new(
                    ["failures", &index, "fails", &entry.to_string()],
                    code,
                    show_text(text),
                    allowed,
                    "hosts of a group with several are named name-1, name-2 and so on".to_owned(),
                )
            }));
        }
    }
}

fn readable(sections: &Sections) -> impl Iterator<Item = (String, &Failure)> {
    let all = sections.failures.iter();
    all.map(|(position, failure)| (position.to_string(), failure))
        .filter(|(index, _)| sections.clean(&["failures", index]))
}

/// Whether a component exists, or what exists instead. Anything that depends on a faulty part counts as correct.
fn has(sections: &Sections, component: &Component) -> Result<(), String> {
    match component {
        Component::Host(host) | Component::Link(host) => host_group(sections, host).map(|_| ()),
        Component::Disk(host, number) => match host_group(sections, host)? {
            Some((group, _)) => disk(sections, host, group, *number),
            None => Ok(()),
        },
        Component::Port(name, number) => port(sections, name, *number),
        Component::Rack(pool, number) => part_of_pool(sections, pool, *number, "rack", |pool| pool.racks),
        Component::Metadata(pool, number) => {
            let nodes = |pool: &StoragePool| sections.node_count(pool).unwrap_or(u32::MAX);
            let servers = |pool: &StoragePool| pool.metadata_servers(nodes(pool));
            part_of_pool(sections, pool, *number, "metadata", servers)
        }
    }
}

/// Whether a host of a group has this disk, for the pool with the most disks on it.
pub(super) fn disk(sections: &Sections, host: &str, group: &str, number: u32) -> Result<(), String> {
    let unsure = |pool: &Option<StoragePool>| pool.as_ref().is_none_or(|pool| !sections.has_nodes(pool));
    if !sections.readable("storage") || sections.storage.values().any(unsure) {
        return Ok(());
    }
    let here = sound(&sections.storage).filter(|(_, pool)| pool.nodes.contains(group));
    match here.map(|(_, pool)| pool.devices_per_node()).max() {
        Some(disks) if number < disks => Ok(()),
        Some(disks) => Err(format!("{host}/disk-1 to {host}/disk-{disks}")),
        None => Err(format!("a disk of a pool node; {host} is in no pool")),
    }
}

/// True for an array of disks inside a host, which has no ports.
fn is_local(sections: &Sections, name: &str) -> bool {
    let array = sections.arrays.get(name).and_then(Option::as_ref);
    array.is_some_and(|array| array.is_local() && sections.clean(&["arrays", name]))
}

/// Whether a host or an array has this port.
fn port(sections: &Sections, name: &str, number: u32) -> Result<(), String> {
    let ports = match sections.arrays.get(name) {
        Some(None) => return Ok(()),
        None if !sections.readable("arrays") => return Ok(()),
        Some(Some(array)) => array.front_end_ports,
        None => match host_group(sections, name).map_err(|hosts| format!("{hosts}; or an array"))? {
            Some((_, group)) => group.adapters.ports,
            None => return Ok(()),
        },
    };
    match number < ports {
        true => Ok(()),
        false => Err(format!("{name}/port-1 to {name}/port-{ports}")),
    }
}

fn part_of_pool(
    sections: &Sections,
    name: &str,
    number: u32,
    part: &str,
    count: impl Fn(&StoragePool) -> u32,
) -> Result<(), String> {
    match sections.storage.get(name) {
        None if !sections.readable("storage") => Ok(()),
        None => {
            let names: Vec<&str> = sections.storage.keys().map(String::as_str).take(12).collect();
            Err(format!("a key of storage: {}", names.join(", ")))
        }
        Some(Some(pool)) if number >= count(pool) => Err(format!("{name}/{part}-1 to {name}/{part}-{}", count(pool))),
        Some(_) => Ok(()),
    }
}

/// The group of a host, by host name; `None` if an error may hide it.
pub(super) fn host_group<'s>(sections: &'s Sections, host: &str) -> Result<Option<(&'s str, &'s HostGroup)>, String> {
    for (name, group) in &sections.hosts {
        let Some(group) = group else { return Ok(None) };
        let named = match group.count {
            1 => host == name,
            count => member_number(host, name, count).is_some(),
        };
        if named {
            return Ok(Some((name, group)));
        }
    }
    if !sections.readable("hosts") {
        return Ok(None);
    }
    let is_there = |(_, group): &(&String, &Option<HostGroup>)| group.as_ref().is_none_or(|group| group.count > 0);
    let names = sections
        .hosts
        .iter()
        .filter(is_there)
        .take(6)
        .map(|(name, group)| match group {
            Some(group) if group.count > 1 => format!("{name}-1 to {name}-{}", group.count),
            _ => name.clone(),
        });
    Err(format!("a host: {}", names.collect::<Vec<_>>().join(", ")))
}
