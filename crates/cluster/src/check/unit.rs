//! Errors of values that need a unit, as messages.

use serde_json::Value;

use crate::mistake::{Issue, shorten, show};
use crate::quantity::{QuantityError, base_units, kind_of_unit, units_of};
use crate::schema;

/// The error of a value that needs a unit.
pub(super) fn quantity(path: &[String], value: &Value, here: &[&Value]) -> Issue {
    let kind = schema::keyword(here, "x-quantity")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (units, example) = units_of(kind);
    let default = schema::keyword(here, "default")
        .and_then(Value::as_str)
        .filter(|text| !text.starts_with("0 "));
    let examples = schema::keyword(here, "examples").and_then(Value::as_array);
    let written = examples.into_iter().flatten().filter_map(Value::as_str);
    let unit = default.into_iter().chain(written).find_map(|text| text.split_once(' '));
    let unit = unit.map_or("", |(_, unit)| unit);
    let in_range = "use a value in that range".to_owned();
    let (code, hint) = match value {
        Value::Number(number) if number.as_f64().is_some_and(|number| number > 0.0) => {
            ("bad-unit", add_unit(&number.to_string(), unit, kind, here))
        }
        Value::Number(_) => ("out-of-range", in_range),
        Value::Null => ("wrong-type", "add a value, or remove the key".to_owned()),
        Value::String(text) => match base_units(kind, text) {
            Some(Err(QuantityError::NoUnit)) => ("bad-unit", add_unit(&shorten(text.trim(), 30), unit, kind, here)),
            Some(Err(QuantityError::UnknownUnit(wrong))) => ("bad-unit", unit_hint(text, &wrong, kind, units, example)),
            Some(Err(QuantityError::NoNumber)) => (
                "bad-quantity",
                format!("write a number and a unit, for example {example}"),
            ),
            Some(Err(QuantityError::TooFine)) => (
                "out-of-range",
                "it is less than one ns, Hz or byte; use 0 or a larger value".to_owned(),
            ),
            Some(Err(QuantityError::Negative | QuantityError::TooLarge) | Ok(_)) | None => ("out-of-range", in_range),
        },
        _ => (
            "wrong-type",
            format!("write a number and a unit, for example {example}"),
        ),
    };
    let meant = value.as_str().and_then(|text| spelled(text, kind, units));
    let shown = show(value);
    Issue::new(
        path.iter().map(String::as_str),
        code,
        shown,
        schema::allowed(here),
        hint,
    )
    .meaning(meant.map(Value::from))
}

/// A quantity whose unit has another spelling, as `25 Gbit/s` is 25 Gb/s; nothing where that could be two units.
fn spelled(text: &str, kind: &str, units: &str) -> Option<String> {
    let Some(Err(QuantityError::UnknownUnit(wrong))) = base_units(kind, text) else {
        return None;
    };
    let number = text.trim().strip_suffix(wrong.as_str())?.trim();
    let lower = wrong.to_ascii_lowercase();
    let same = units.split(", ").filter(|unit| unit.eq_ignore_ascii_case(&wrong));
    let others = SPELLINGS
        .iter()
        .filter(|(_, others)| lower.len() > 1 && others.contains(&lower.as_str()))
        .map(|(unit, _)| *unit)
        .filter(|unit| units.split(", ").any(|known| known == *unit));
    let mut found: Vec<&str> = same.chain(others).collect();
    found.dedup();
    match found.as_slice() {
        [unit] if !number.is_empty() => Some(format!("{number} {unit}")),
        _ => None,
    }
}

/// Suggests the missing unit of a bare number: the usual one, or else the first that puts it in range.
fn add_unit(number: &str, usual: &str, kind: &str, here: &[&Value]) -> String {
    let bound = |keyword| {
        let text = schema::keyword(here, keyword).and_then(Value::as_str)?;
        base_units(kind, text)?.ok()
    };
    let (least, most) = (bound("x-minimum"), bound("x-maximum"));
    let fits = |unit: &&str| {
        let value = base_units(kind, &format!("{number} {unit}")).and_then(Result::ok);
        value.is_some_and(|value| least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most))
    };
    match [usual].into_iter().chain(units_of(kind).0.split(", ")).find(fits) {
        Some(unit) => format!("add the unit you mean, for example {number} {unit}"),
        None => format!("{number} is not in that range with any unit"),
    }
}

/// Units and common misspellings of them.
const SPELLINGS: [(&str, &[&str]); 14] = [
    ("us", &["usec", "micros", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millis", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["m", "mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("d", &["day", "days"]),
    ("KiB", &["k", "kb"]),
    ("MiB", &["m", "mb"]),
    ("GiB", &["g", "gb"]),
    ("TiB", &["t", "tb"]),
    ("GHz", &["g", "gigahertz"]),
    ("Gb/s", &["gbit/s", "gbits/s", "gbps", "gbit"]),
    ("Mb/s", &["mbit/s", "mbits/s", "mbps", "mbit"]),
    ("/s", &["per second", "/sec", "/second", "1/s", "ps", "tps"]),
];

fn unit_hint(text: &str, wrong: &str, kind: &str, units: &str, example: &str) -> String {
    let number = text.trim().strip_suffix(wrong).unwrap_or_default().trim();
    let number = if number.is_empty() || number.len() > 30 {
        example.split(' ').next().unwrap_or("1")
    } else {
        number
    };
    let same = units.split(", ").find(|unit| unit.eq_ignore_ascii_case(wrong));
    let known = |unit: &&str| units.split(", ").any(|known| known == *unit);
    let lower = wrong.to_ascii_lowercase();
    let spelled = SPELLINGS
        .iter()
        .filter(|(_, others)| others.contains(&lower.as_str()))
        .map(|(unit, _)| *unit)
        .find(known);
    match same.or(spelled) {
        Some(unit) => format!("write {number} {unit}"),
        None => match kind_of_unit(wrong) {
            Some(other) if other != kind => {
                let (other, kind) = (schema::kind_name(other), schema::kind_name(kind));
                format!(
                    "{} is a unit of a {other}; this key needs a {kind}, for example {example}",
                    shorten(wrong, 20)
                )
            }
            _ => format!("use one of {units}, for example {example}"),
        },
    }
}
