//! Places of a key in a scenario.

use std::sync::LazyLock;

use serde_json::Value;

use super::{SCHEMA, follow, keys, keyword};

/// Every mapping with keys, by path (`NAME` stands for a name, `N` for a position in a list), and its keys.
static PLACES: LazyLock<Vec<(String, Vec<&'static str>)>> = LazyLock::new(|| {
    let mut places = Vec::new();
    walk("", &SCHEMA, &mut places);
    places
});

/// The places that have a key of this name, in the order of the schema.
pub(crate) fn of(key: &str) -> Vec<&'static str> {
    let places = PLACES.iter().filter(|(_, keys)| keys.contains(&key));
    places
        .map(|(path, _)| if path.is_empty() { "the scenario itself" } else { path })
        .collect()
}

fn walk(path: &str, schema: &'static Value, places: &mut Vec<(String, Vec<&'static str>)>) {
    let here = follow(schema);
    let known = keys(&here);
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    if !known.is_empty() {
        places.push((path.to_owned(), known));
    }
    for (key, property) in keyword(&here, "properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        walk(&below(key), property, places);
    }
    for (name, inner) in [("NAME", "additionalProperties"), ("N", "items")] {
        if let Some(inner) = keyword(&here, inner).filter(|inner| inner.is_object()) {
            walk(&below(name), inner, places);
        }
    }
}
