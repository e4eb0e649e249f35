//! What of a scenario decides the area of a group's figures: its storage, and the pace of its load.

use serde_json::Value;
use std::collections::BTreeMap;

/// What a group has its data on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StorageKind {
    Pool,
    Array,
    Local,
}

/// The simulated storage of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Storage {
    pub group: String,
    pub name: String,
    pub kind: StorageKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    /// Its place among the storages.
    storage: Option<usize>,
    /// Whether its load has a rate of its own: it does no more than that.
    is_paced: bool,
}

/// Storage and pace of the groups of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    groups: BTreeMap<String, Group>,
    /// In the order of the scenario.
    pub storages: Vec<Storage>,
}

impl Topology {
    /// Of a scenario, or of its parts `vms`, `arrays` and `workloads`.
    pub fn of(scenario: &Value) -> Self {
        let mut found = Self::default();
        for (group, vm) in scenario["vms"].as_object().into_iter().flatten() {
            let storage = match (name_of(&vm["storage"]), name_of(&vm["array"])) {
                (Some(pool), _) => Some((pool, StorageKind::Pool)),
                (None, Some(array)) if scenario["arrays"][array]["protocol"] == "local" => {
                    Some((array, StorageKind::Local))
                }
                (None, Some(array)) => Some((array, StorageKind::Array)),
                (None, None) => None,
            };
            let arrivals = name_of(&vm["workload"]).map(|name| &scenario["workloads"][name]["arrivals"]);
            let own = Group {
                storage: storage.is_some().then_some(found.storages.len()),
                is_paced: arrivals.is_some_and(|of| !of["open"].is_null() || !of["io"]["rate"].is_null()),
            };
            found.storages.extend(storage.map(|(name, kind)| Storage {
                group: group.clone(),
                name: name.to_owned(),
                kind,
            }));
            found.groups.insert(group.clone(), own);
        }
        found
    }

    /// The group of a VM: `db` for `db-3`, unless `db-3` is a group itself.
    pub fn group<'n>(&self, vm: &'n str) -> &'n str {
        match vm.rsplit_once('-') {
            Some((group, number))
                if !number.is_empty()
                    && number.bytes().all(|letter| letter.is_ascii_digit())
                    && self.groups.contains_key(group)
                    && !self.groups.contains_key(vm) =>
            {
                group
            }
            _ => vm,
        }
    }

    /// The storage of a group, or of the group of a VM.
    pub fn storage(&self, vm: &str) -> Option<&Storage> {
        let place = self.groups.get(self.group(vm))?.storage?;
        self.storages.get(place)
    }

    /// Whether the load of a group, or of the group of a VM, has a rate of its own.
    pub fn is_paced(&self, vm: &str) -> bool {
        self.groups.get(self.group(vm)).is_some_and(|group| group.is_paced)
    }
}

fn name_of(value: &Value) -> Option<&str> {
    value.as_str().filter(|name| !name.is_empty())
}
