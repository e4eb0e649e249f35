//! The JSON Schema of a scenario, derived from the types of [`crate::spec`], and queries on it.
//!
//! Boundary: it knows no scenario, only what one may be. Invariant: whatever depends on a key's range, default or
//! hypervisor is asked here and written nowhere else.
//!
//! | file | answers |
//! |---|---|
//! | this one | the schema at a path, its keywords, and the allowed values in words |
//! | [`options`] | options of each hypervisor |
//! | `options.json` | the parts of the schema that options need, where the whole is not made (a test compares them) |
//! | [`places`] | places of a key in a scenario |
//!
//! **Rust types with schemars, checked by jsonschema.** The published schema is the validator. Messages add path,
//! value, allowed values and a hint.

pub(crate) mod options;
pub(crate) mod places;

use std::sync::LazyLock;

#[cfg(feature = "schema-check")]
use schemars::generate::SchemaSettings;
use serde_json::Value;
#[cfg(feature = "schema-check")]
use serde_json::json;

use crate::quantity::units_of;
#[cfg(feature = "schema-check")]
use crate::spec::scenario::Scenario;

/// What checks of options ask of the schema, for a core that is too small to make all of it.
#[cfg(not(feature = "schema-check"))]
pub(crate) static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("options.json")).expect("the file is JSON"));

/// The schema as a value.
#[cfg(feature = "schema-check")]
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    tidy(&mut schema);
    let root = schema.as_object_mut().expect("the schema of a struct is an object");
    root.insert("title".to_owned(), json!("hypertwin scenario"));
    schema
});

/// The JSON Schema (2020-12) of a scenario file. Without the feature `schema-check`, only its options of hypervisors.
///
/// Beside the standard keywords it carries `x-quantity` (the kind of a value with a unit), `x-minimum` and `x-maximum`
/// (bounds of such a value), `x-word` (what may stand in its place), and `x-family`, `x-since` and `x-until` (the
/// hypervisors that have an option).
pub fn schema_json() -> String {
    serde_json::to_string_pretty(&*SCHEMA).expect("a schema is plain JSON")
}

/// Removes what only concerns Rust: formats such as `uint32` and `double`, and line breaks in descriptions.
#[cfg(feature = "schema-check")]
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map
                .get("type")
                .is_some_and(|kind| kind == "integer" || kind == "number")
            {
                map.remove("format");
            }
            // Doc comments wrap at the line width; a description is running text.
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text
                    .split("\n\n")
                    .map(|part| part.replace('\n', " "))
                    .collect::<Vec<_>>()
                    .join("\n\n");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The schemas that apply to the value at `path` (keys, or positions in a list), outermost first: the field's own, then
/// the definitions it refers to. `None` if the schema has no such place.
pub(crate) fn at(path: &[String]) -> Option<Vec<&'static Value>> {
    let root: &'static Value = &SCHEMA;
    let mut here = follow(root);
    for key in path {
        let next = here.iter().find_map(|schema| {
            let property = schema.get("properties").and_then(|properties| properties.get(key));
            let other = schema.get("additionalProperties").filter(|other| other.is_object());
            let item = schema.get("items").filter(|_| key.parse::<usize>().is_ok());
            property.or(other).or(item)
        })?;
        here = follow(next);
    }
    Some(here)
}

/// A schema and the definitions it refers to.
fn follow(schema: &'static Value) -> Vec<&'static Value> {
    let mut chain = vec![schema];
    while let Some(reference) = chain[chain.len() - 1].get("$ref").and_then(Value::as_str) {
        match SCHEMA.pointer(reference.trim_start_matches('#')) {
            Some(next) => chain.push(next),
            None => break,
        }
    }
    chain
}

/// The first of `schemas` that has `keyword`, and its value.
pub(crate) fn keyword<'s>(schemas: &[&'s Value], keyword: &str) -> Option<&'s Value> {
    schemas.iter().find_map(|schema| schema.get(keyword))
}

/// The keys an object may have.
pub(crate) fn keys<'s>(schemas: &[&'s Value]) -> Vec<&'s str> {
    let properties = keyword(schemas, "properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// A kind of quantity in words.
pub(crate) fn kind_name(kind: &str) -> &str {
    if kind == "bytes" { "size" } else { kind }
}

/// Allowed values at a place, in words.
pub(crate) fn allowed(schemas: &[&Value]) -> String {
    if let Some(text) = keyword(schemas, "x-allowed").and_then(Value::as_str) {
        return text.to_owned();
    }
    if let Some(kind) = keyword(schemas, "x-quantity").and_then(Value::as_str) {
        let (units, _) = units_of(kind);
        let bound = |name: &str| keyword(schemas, name).and_then(Value::as_str).unwrap_or("0").to_owned();
        let range = match keyword(schemas, "x-maximum") {
            Some(_) => format!(" from {} to {}", bound("x-minimum"), bound("x-maximum")),
            None => String::new(),
        };
        let word = keyword(schemas, "x-word").and_then(Value::as_str);
        let word = word.map_or(String::new(), |word| format!("{word}, or "));
        return format!("{word}a {}{range}, with a unit ({units})", kind_name(kind));
    }
    if let Some(Value::Array(values)) = keyword(schemas, "enum") {
        let values: Vec<String> = values
            .iter()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
            .collect();
        return format!("one of {}", values.join(", "));
    }
    let number = |name: &str| keyword(schemas, name).and_then(Value::as_f64).map(|n| n.to_string());
    let range = match (number("minimum"), number("maximum")) {
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
        (Some(low), None) => format!(" of at least {low}"),
        (None, Some(high)) => format!(" of at most {high}"),
        (None, None) => String::new(),
    };
    match keyword(schemas, "type").and_then(Value::as_str) {
        Some("integer") => format!("an integer{range}"),
        Some("number") => format!("a number{range}"),
        Some("boolean") => "true or false".to_owned(),
        Some("string") => match (number("minLength"), number("maxLength")) {
            (Some(low), Some(high)) => format!("a text of {low} to {high} characters"),
            (None, Some(high)) => format!("a text of at most {high} characters"),
            _ => "a text".to_owned(),
        },
        Some("array") => match number("maxItems") {
            Some(high) => format!("a list of at most {high} entries"),
            None => "a list".to_owned(),
        },
        Some("object") => {
            let keys = keys(schemas);
            let (low, high) = (number("minProperties"), number("maxProperties"));
            match (keys.is_empty(), low, high) {
                (false, ..) => format!("a mapping with the keys {}", keys.join(", ")),
                (true, Some(low), Some(high)) => format!("a mapping of {low} to {high} names"),
                (true, None, Some(high)) => format!("a mapping of at most {high} names"),
                _ => "a mapping of names".to_owned(),
            }
        }
        _ => "another value".to_owned(),
    }
}
