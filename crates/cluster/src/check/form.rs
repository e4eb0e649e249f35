//! Schema errors of single values, as messages.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::keyword::VALIDATOR;
use super::product;
use super::unit;
use crate::mistake::{Issue, MAX_MISTAKES, nearest, shorten, show, show_text};
use crate::quantity::kind_and_value;
use crate::schema;
use crate::schema::places;

/// The schema errors, one per path; every path whose value is unreliable; and the number of errors not listed.
pub(super) fn schema_mistakes(value: &Value) -> (Vec<Issue>, BTreeSet<Vec<String>>, usize) {
    let mut found: Vec<Issue> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut unlisted = 0;
    for error in VALIDATOR.iter_errors(value) {
        if found.len() >= MAX_MISTAKES {
            unlisted += 1;
            continue;
        }
        let (listed, more) = explain(&error);
        unlisted += more;
        for one in listed {
            if seen.insert(one.path.clone()) {
                found.push(one);
            }
        }
    }
    // A misspelt required key is one error, not two.
    let spelled: BTreeSet<Vec<String>> = found
        .iter()
        .filter(|one| one.mistake.code == "unknown-key")
        .filter_map(|one| {
            let (key, parent) = one.path.split_last()?;
            let around = parent.iter().try_fold(value, |value, key| value.get(key.as_str()))?;
            let here = schema::at(parent)?;
            let near = meant(key, around, &here)?;
            // The correct key next to the wrong one stays as it is.
            around.get(near).is_none().then_some(())?;
            Some([parent, &[near.to_owned()]].concat())
        })
        .collect();
    found.retain(|one| one.mistake.code != "missing-key" || !spelled.contains(&one.path));
    let faulty = found.iter().map(|one| one.path.clone()).chain(spelled).collect();
    (found, faulty, unlisted)
}

/// The errors behind one finding of the schema validator, and the number of further ones.
fn explain(error: &ValidationError<'_>) -> (Vec<Issue>, usize) {
    let path: Vec<String> = keys_of(error.instance_path().as_str());
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let here = schema::at(&path).unwrap_or_default();
            let listed = unexpected.iter().take(MAX_MISTAKES);
            let found = listed
                .map(|key| unknown_key(&path, key, error.instance(), &here))
                .collect();
            (found, unexpected.len().saturating_sub(MAX_MISTAKES))
        }
        _ => (vec![explain_one(error, path)], 0),
    }
}

/// The error behind a finding about one value.
fn explain_one(error: &ValidationError<'_>, path: Vec<String>) -> Issue {
    let here = schema::at(&path).unwrap_or_default();
    let instance = error.instance().as_ref();
    let keys = path.iter().map(String::as_str);
    let plain = |code: &str, hint: String| Issue::new(keys.clone(), code, show(instance), schema::allowed(&here), hint);
    // Some places have their own code for any format error.
    let own = |code: &str, hint: String| {
        plain(
            schema::keyword(&here, "x-code").and_then(Value::as_str).unwrap_or(code),
            hint,
        )
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => missing_key(&path, property.as_str().unwrap_or_default()),
        ValidationErrorKind::PropertyNames { error } => {
            let name = error.instance().as_str().unwrap_or_default();
            Issue::new(
                keys.chain([name]),
                "bad-name",
                show_text(name),
                "a name of 1 to 64 letters, digits, '-' and '_', beginning with a letter or digit".to_owned(),
                "rename it".to_owned(),
            )
        }
        _ if schema::keyword(&here, "x-quantity").is_some() => unit::quantity(&path, instance, &here),
        ValidationErrorKind::Type { .. } => {
            plain("wrong-type", type_hint(instance, &here)).meaning(only_reading(instance, &here))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().filter_map(Value::as_str);
            let product = instance.as_str().and_then(|text| product::hint(&path, text));
            let hint = product.map(str::to_owned);
            own(
                "unknown-value",
                hint.unwrap_or_else(|| near_hint(instance, options, "choose one of these".to_owned())),
            )
            .meaning(instance.as_str().and_then(|text| product::meant(&path, text)))
        }
        ValidationErrorKind::Pattern { .. } => {
            let values = schema::keyword(&here, "x-values").and_then(Value::as_array);
            let values = values.into_iter().flatten().filter_map(Value::as_str);
            own("bad-text", near_hint(instance, values, example_hint(&here)))
        }
        ValidationErrorKind::Minimum { .. } | ValidationErrorKind::Maximum { .. } => {
            plain("out-of-range", "use a value in that range".to_owned())
        }
        ValidationErrorKind::MinProperties { .. } | ValidationErrorKind::MaxProperties { .. } => {
            own("out-of-range", "add or remove entries".to_owned())
        }
        ValidationErrorKind::MaxLength { .. } => plain("out-of-range", "shorten it".to_owned()),
        ValidationErrorKind::MinLength { .. } => plain("out-of-range", "add text, or remove the key".to_owned()),
        ValidationErrorKind::MinItems { .. } => own("out-of-range", "add an entry, or remove the key".to_owned()),
        ValidationErrorKind::MaxItems { .. } => own("out-of-range", "use fewer entries".to_owned()),
        other => own("invalid", format!("the schema refuses it ({})", other.keyword())),
    }
}

/// Suggests the nearest candidate, or else the given text.
fn near_hint<'c>(value: &Value, candidates: impl Iterator<Item = &'c str>, otherwise: String) -> String {
    let near = value.as_str().and_then(|text| nearest(text, candidates));
    near.map_or(otherwise, |near| format!("did you mean {near}?"))
}

/// The keys of a JSON pointer.
fn keys_of(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn unknown_key(parent: &[String], key: &str, instance: &Value, here: &[&Value]) -> Issue {
    let known = schema::keys(here);
    let hint = match meant(key, instance, here) {
        Some(near) => format!("did you mean {near}?"),
        None => match places::of(key).as_slice() {
            [] => "remove it; `hypertwin schema` describes every key".to_owned(),
            places => format!("{key} is a key of {}", places.join(" and of ")),
        },
    };
    Issue::new(
        parent.iter().map(String::as_str).chain([key]),
        "unknown-key",
        instance.get(key).map_or_else(String::new, show),
        format!("the keys {}", known.join(", ")),
        hint,
    )
}

/// Keys that users write instead of others.
const SYNONYMS: [(&str, &str); 3] = [("count", "per_node"), ("until", "returns"), ("speed", "bandwidth")];

/// The most likely intended key of `instance`: a synonym, or else the nearest spelling; a missing required key first.
fn meant<'s>(key: &str, instance: &Value, here: &[&'s Value]) -> Option<&'s str> {
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == key);
    if let Some(known) = synonym.and_then(|(_, known)| schema::keys(here).into_iter().find(|other| other == known)) {
        return Some(known);
    }
    let required = schema::keyword(here, "required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|required| instance.get(required).is_none());
    nearest(key, missing).or_else(|| nearest(key, schema::keys(here).into_iter()))
}

fn missing_key(parent: &[String], key: &str) -> Issue {
    let path = [parent, &[key.to_owned()]].concat();
    let here = schema::at(&path).unwrap_or_default();
    Issue::new(
        path.iter().map(String::as_str),
        "missing-key",
        "(missing)".to_owned(),
        schema::allowed(&here),
        format!("add {}", example(key, &here)),
    )
}

/// `key: value` with a plausible value.
fn example(key: &str, here: &[&Value]) -> String {
    let examples = schema::keyword(here, "examples").and_then(|examples| examples.get(0));
    let value = examples.or_else(|| schema::keyword(here, "enum").and_then(|values| values.get(0)));
    match value {
        Some(Value::String(text)) => format!("for example {key}: {text}"),
        Some(value) => format!("for example {key}: {value}"),
        None => format!("the key {key}"),
    }
}

fn example_hint(here: &[&Value]) -> String {
    match schema::keyword(here, "examples").and_then(|examples| examples.get(0)) {
        Some(Value::String(text)) => format!("for example {text}"),
        _ => "write it as allowed".to_owned(),
    }
}

/// The only required key of a mapping: the likely target of a value written instead of the mapping.
fn only_required<'s>(here: &[&'s Value]) -> Option<&'s str> {
    match schema::keyword(here, "required")?.as_array()?.as_slice() {
        [key] => key.as_str(),
        _ => None,
    }
}

/// What a value of another type stands for, if it can stand for one thing only.
fn only_reading(value: &Value, here: &[&Value]) -> Option<Value> {
    let takes = |kind: &str| schema::keyword(here, "type").is_some_and(|kinds| kinds == kind);
    match value {
        Value::String(text) if takes("integer") => text.trim().parse::<i64>().ok().map(Value::from),
        Value::String(text) if takes("object") => {
            let key = only_required(here)?;
            kind_and_value(text)?;
            Some(Value::Object([(key.to_owned(), value.clone())].into_iter().collect()))
        }
        _ => None,
    }
}

fn type_hint(value: &Value, here: &[&Value]) -> String {
    let kinds = schema::keyword(here, "type");
    let takes = |kind: &str| {
        kinds
            .is_some_and(|kinds| kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind)))
    };
    let numeric = takes("integer") || takes("number");
    match value {
        Value::Null => "give a value, or remove the key".to_owned(),
        Value::String(text) if numeric && text.trim().parse::<f64>().is_ok() => match text.trim().parse::<i64>() {
            Ok(number) => format!("write {number} without quotes"),
            Err(_) => "write it as a plain number, such as 1000 or 1.5".to_owned(),
        },
        Value::String(text) if numeric && kind_and_value(text).is_some() => {
            "write the number without a unit".to_owned()
        }
        Value::Number(_) if takes("integer") => "write a whole number".to_owned(),
        Value::Number(_) | Value::Bool(_) if takes("string") => format!("write it in quotes: \"{value}\""),
        Value::Array(items) if items.len() == 1 => "write the one entry without the list".to_owned(),
        Value::Number(_) | Value::String(_) if only_required(here).is_some() => {
            let key = only_required(here).unwrap_or_default();
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("write {{ {key}: {} }}", shorten(&value, 40))
        }
        _ if takes("object") => "write a mapping: its keys on lines below it, indented, or { key: value }".to_owned(),
        _ if takes("array") => "write a list: each entry on a line that begins with '-', or [a, b]".to_owned(),
        _ if numeric => "write a plain number".to_owned(),
        _ => example_hint(here),
    }
}
