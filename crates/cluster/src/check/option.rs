//! Options that not every hypervisor has.

use serde_json::Value;

use crate::mistake::{Issue, show};
use crate::schema::options;
use crate::spec::hypervisor::Hypervisor;

/// The options that differ from their defaults, and their values.
pub(super) fn changed<T: serde::Serialize + Default>(options: &T) -> Vec<(String, Value)> {
    let map = |options: &T| match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    let defaults = map(&T::default());
    let options = map(options).into_iter();
    options
        .filter(|(key, value)| defaults.get(key) != Some(value))
        .collect()
}

/// True if a hypervisor has the option `key` under `path`.
pub(super) fn has_option(hypervisor: Hypervisor, path: &[&str], key: &str) -> bool {
    options::at(path)
        .and_then(|options| options.get(key))
        .is_some_and(|option| options::has(hypervisor, option))
}

/// The error of an option under `path` that `hypervisor` does not have. `remedy` is the alternative to removing it.
pub(super) fn not_of(hypervisor: Hypervisor, path: &[&str], key: &str, value: &Value, remedy: &str) -> Option<Issue> {
    let all = options::at(path)?;
    let option = all.get(key)?;
    if options::has(hypervisor, option) {
        return None;
    }
    let own = options::own(hypervisor, all);
    let own = if own.is_empty() {
        "none".to_owned()
    } else {
        own.join(", ")
    };
    let family = option["x-family"].as_str().unwrap_or_default();
    let owner = match (options::version(option, "x-since"), options::version(option, "x-until")) {
        (Some(since), _) => format!("{since} and later"),
        (None, Some(until)) => format!("{family} up to {until}"),
        (None, None) => format!("{family} hosts"),
    };
    Some(Issue::new(
        path.iter().copied().chain([key]),
        "wrong-hypervisor",
        show(value),
        format!("for {hypervisor}: {own}"),
        format!("{key} is an option of {owner}; remove it, {remedy}"),
    ))
}
