//! Options of each hypervisor, from `x-family`, `x-since` and `x-until` of the schema.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::keyword;
use crate::record::Flat;
use crate::spec::hypervisor::{FamilyFacts, Hypervisor};

records! {
    /// A known hypervisor and its options.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HypervisorOptions {
        /// Its name in scenarios, such as `esxi-7.0u2`.
        pub name: Hypervisor,
        /// Major and minor version and update.
        pub version: (u32, u32, u32),
        /// Features of its hosts.
        pub facts: Flat<FamilyFacts>,
        /// Keys of `hosts.NAME.scheduler` that it has.
        pub scheduler: BTreeSet<&'static str>,
        /// Keys of `vms.NAME.numa` that it has.
        pub numa: BTreeSet<&'static str>,
        /// Keys of `vms.NAME` that it has and others do not.
        pub vm: BTreeSet<&'static str>,
    }
}

impl HypervisorOptions {
    /// Every known hypervisor, in the order of [`Hypervisor::ALL`].
    pub fn all() -> Vec<Self> {
        let of = |&hypervisor: &Hypervisor| Self {
            name: hypervisor,
            version: hypervisor.version().into(),
            facts: Flat(hypervisor.family().facts().clone()),
            scheduler: Self::under(hypervisor, &["hosts", "NAME", "scheduler"]),
            numa: Self::under(hypervisor, &["vms", "NAME", "numa"]),
            vm: Self::under(hypervisor, &["vms", "NAME"]),
        };
        Hypervisor::ALL.iter().map(of).collect()
    }

    fn under(hypervisor: Hypervisor, path: &[&str]) -> BTreeSet<&'static str> {
        let options = at(path).map_or_else(Vec::new, |options| own(hypervisor, options));
        options.into_iter().collect()
    }
}

/// The keys of the mapping at `path`, and the schema of each.
pub(crate) fn at(path: &[&str]) -> Option<&'static Map<String, Value>> {
    let keys: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    keyword(&super::at(&keys)?, "properties")?.as_object()
}

/// The `options` that depend on the hypervisor and that this one has.
pub(crate) fn own(hypervisor: Hypervisor, options: &Map<String, Value>) -> Vec<&str> {
    options
        .iter()
        .filter(|(_, option)| option.get("x-family").is_some() && has(hypervisor, option))
        .map(|(key, _)| key.as_str())
        .collect()
}

/// True if a hypervisor has the option with this schema.
pub(crate) fn has(hypervisor: Hypervisor, option: &Value) -> bool {
    let family = option.get("x-family").and_then(Value::as_str);
    family.is_none_or(|family| family == hypervisor.family().as_str())
        && version(option, "x-since").is_none_or(|since| hypervisor >= since)
        && version(option, "x-until").is_none_or(|until| hypervisor <= until)
}

/// The hypervisor that `x-since` or `x-until` of an option names.
pub(crate) fn version(option: &Value, keyword: &str) -> Option<Hypervisor> {
    Hypervisor::deserialize(option.get(keyword)?).ok()
}
