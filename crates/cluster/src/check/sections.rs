//! The sections of a scenario for the checks: readable parts and unreliable values.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::mistake::{Issue, nearest, show_text};
use crate::placement::{Place, place, pools_of};
use crate::spec::array::StorageArray;
use crate::spec::cluster::{Cluster, Datastore, PoweredOff};
use crate::spec::device::Device;
use crate::spec::failure::Failure;
use crate::spec::host::HostGroup;
use crate::spec::migration::Event;
use crate::spec::placement_rule::PlacementRule;
use crate::spec::pool::StoragePool;
use crate::spec::scenario::RunSettings;
use crate::spec::vm::VmGroup;
use crate::spec::workload::Workload;

/// The groups of a section by name; `None` for a group that is faulty as a whole.
pub(super) type Groups<T> = BTreeMap<String, Option<T>>;

/// The sections of a scenario, without the values that the schema rejected.
pub(super) struct Sections {
    pub run: Option<RunSettings>,
    pub clusters: Groups<Cluster>,
    pub hosts: Groups<HostGroup>,
    pub vms: Groups<VmGroup>,
    pub workloads: Groups<Workload>,
    pub devices: Groups<Device>,
    pub arrays: Groups<StorageArray>,
    pub storage: Groups<StoragePool>,
    pub powered_off: Groups<PoweredOff>,
    pub datastores: Groups<Datastore>,
    /// The readable ones, with their positions.
    pub failures: Vec<(usize, Failure)>,
    pub events: Vec<(usize, Event)>,
    pub rules: Vec<(usize, PlacementRule)>,
    /// Paths with an error, so that a default that replaces a faulty value is not reported.
    faulty: BTreeSet<Vec<String>>,
}

impl Sections {
    /// The sections of `scenario`, without the values at the `faulty` paths.
    pub(super) fn new(scenario: &Value, faulty: BTreeSet<Vec<String>>) -> Self {
        let run = scenario.get("run").map_or_else(
            || Some(RunSettings::default()),
            |run| serde::Deserialize::deserialize(run).ok(),
        );
        Self {
            run,
            clusters: groups(scenario, "clusters", &faulty),
            hosts: groups(scenario, "hosts", &faulty),
            vms: groups(scenario, "vms", &faulty),
            workloads: groups(scenario, "workloads", &faulty),
            devices: groups(scenario, "devices", &faulty),
            arrays: groups(scenario, "arrays", &faulty),
            storage: groups(scenario, "storage", &faulty),
            powered_off: groups(scenario, "powered_off", &faulty),
            datastores: groups(scenario, "datastores", &faulty),
            failures: entries(scenario, "failures"),
            events: entries(scenario, "events"),
            rules: entries(scenario, "rules"),
            faulty,
        }
    }

    /// True if no error is at, under or above `path`.
    pub(super) fn clean(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        let over = (0..path.len()).any(|length| self.faulty.contains(&path[..length]));
        // In the set's order, entries under a path follow it directly.
        let under = self
            .faulty
            .range(path.clone()..)
            .next()
            .is_some_and(|fault| fault.starts_with(&path));
        !over && !under
    }

    /// True if a section lists all its names: a faulty one may hide some.
    pub(super) fn readable(&self, section: &str) -> bool {
        !self.faulty.contains([section.to_owned()].as_slice())
    }

    /// True if the schema found no errors.
    pub(super) fn whole(&self) -> bool {
        self.faulty.is_empty() && self.hosts.values().all(Option::is_some) && self.vms.values().all(Option::is_some)
    }

    /// The host of each VM, by position; `hosts` and `vms` are those without mistakes.
    pub(super) fn placed(
        &self,
        hosts: &BTreeMap<String, HostGroup>,
        vms: &BTreeMap<String, VmGroup>,
    ) -> Option<Vec<usize>> {
        let rules: Vec<PlacementRule> = self.rules.iter().map(|(_, rule)| rule.clone()).collect();
        place(hosts, vms, &owned(&self.workloads), &owned(&self.storage), &rules)
    }

    /// The workload of a VM, if it exists and is readable.
    pub(super) fn workload_of(&self, vm: &VmGroup) -> Option<&Workload> {
        self.workloads.get(&vm.workload)?.as_ref()
    }

    /// Number of nodes of a pool, if all of their groups exist and are readable.
    pub(super) fn node_count(&self, pool: &StoragePool) -> Option<u32> {
        let mut groups = pool.nodes.groups().into_iter();
        groups.try_fold(0, |sum: u32, group| {
            Some(sum.saturating_add(self.hosts.get(group)?.as_ref()?.count))
        })
    }

    /// True if the number of nodes of a pool is that of the scenario.
    pub(super) fn counts_nodes(&self, pool: &StoragePool) -> bool {
        let mut groups = pool.nodes.groups().into_iter();
        groups.all(|group| self.clean(&["hosts", group, "count"]))
    }

    /// True if all groups of a pool's nodes exist.
    pub(super) fn has_nodes(&self, pool: &StoragePool) -> bool {
        pool.nodes.written().iter().all(|group| self.hosts.contains_key(group))
    }

    /// Where the keys of a VM allow it.
    pub(super) fn place_of<'s>(&'s self, vm: &'s VmGroup) -> Place<'s> {
        Place::of(&self.hosts, Option::as_ref, vm)
    }

    /// The readable pools that hold the virtual disks of a VM, with their names.
    pub(super) fn pools_of<'s>(&'s self, vm: &'s VmGroup) -> Vec<(&'s str, &'s StoragePool)> {
        pools_of(vm, self.workload_of(vm), |name| self.storage.get(name)?.as_ref())
    }

    /// The groups of hosts that a VM can be on, by name; `None` for a faulty group, whose fit is unknown.
    pub(super) fn hosts_of<'s>(&'s self, vm: &'s VmGroup) -> Option<Vec<(&'s str, &'s HostGroup)>> {
        self.place_of(vm)
            .groups(&self.hosts, Option::as_ref, &self.pools_of(vm))
            .into_iter()
            .map(|(name, _)| Some((name, self.hosts[name].as_ref()?)))
            .collect()
    }

    /// Checks that the group to which the key at `path` refers exists.
    pub(super) fn reference<T>(
        &self,
        path: &[&str],
        value: &str,
        section: &str,
        groups: &Groups<T>,
        found: &mut Vec<Issue>,
    ) {
        if self.readable(section) && !groups.contains_key(value) {
            found.push(unknown(path, value, section, groups));
        }
    }
}

/// The readable groups, by name.
pub(super) fn sound<T>(groups: &Groups<T>) -> impl Iterator<Item = (&str, &T)> {
    groups
        .iter()
        .filter_map(|(name, group)| Some((name.as_str(), group.as_ref()?)))
}

/// The same, without the section.
pub(super) fn owned<T: Clone>(groups: &Groups<T>) -> BTreeMap<String, T> {
    let mut found = BTreeMap::new(); // collecting would sort, by code of its own for each type
    found.extend(sound(groups).map(|(name, group)| (name.to_owned(), group.clone())));
    found
}

/// A reference to a missing group.
pub(super) fn unknown<T>(path: &[&str], value: &str, section: &str, known: &Groups<T>) -> Issue {
    unknown_among(path, value, section, known.keys())
}

/// A reference to something that `section` does not have.
pub(super) fn unknown_among<'n>(
    path: &[&str],
    value: &str,
    section: &str,
    known: impl Iterator<Item = &'n String>,
) -> Issue {
    let mut names: Vec<&str> = known.map(String::as_str).collect();
    let hint = match nearest(value, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("add it under {section}, or use an existing one"),
    };
    let more = names.len().saturating_sub(12);
    names.truncate(12);
    let mut allowed = match names.is_empty() {
        true => format!("a key of {section}, which is empty"),
        false => format!("a key of {section}: {}", names.join(", ")),
    };
    if more > 0 {
        allowed += &format!(" and {more} more");
    }
    if section == "hosts" && matches!(path[0], "vms" | "powered_off") {
        allowed += "; or one host of a group, by number (such as esx-2)";
    }
    Issue::new(
        path.iter().copied(),
        "unknown-reference",
        show_text(value),
        allowed,
        hint,
    )
}

/// The groups of one section. A group that is faulty as a whole keeps its name.
fn groups<T: DeserializeOwned>(scenario: &Value, section: &str, faulty: &BTreeSet<Vec<String>>) -> Groups<T> {
    let sound = scenario.get(section).and_then(Value::as_object).into_iter().flatten();
    let named = faulty
        .iter()
        .filter(|path| path.len() == 2 && path[0] == section)
        .map(|path| (path[1].clone(), None));
    let read = sound.map(|(name, group)| (name.clone(), T::deserialize(group).ok()));
    let mut found = Groups::new();
    found.extend(named.chain(read));
    found
}

/// The readable entries of a list, with their positions.
fn entries<T: DeserializeOwned>(scenario: &Value, section: &str) -> Vec<(usize, T)> {
    let all = scenario.get(section).and_then(Value::as_array).into_iter().flatten();
    all.enumerate()
        .filter_map(|(position, entry)| Some((position, T::deserialize(entry).ok()?)))
        .collect()
}
