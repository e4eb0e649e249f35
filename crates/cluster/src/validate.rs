//! From text to a scenario, or to the list of everything that is wrong with it.
//!
//! The JSON Schema finds what is wrong with single values; this module says it in words. Parts without fault are then
//! checked against each other ([`crate::semantics`]), so that one pass lists every mistake.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::Value;

use crate::mistake::{Found, Mistake, shorten, show, show_text};
use crate::quantity::{KINDS, QuantityError, base_units, kind_of_unit, units_of};
use crate::scenario::Scenario;
use crate::schema;
use crate::semantics::Parts;

/// More mistakes than this are counted and not listed.
const MOST_MISTAKES: usize = 500;

impl Scenario {
    /// Reads a scenario from JSON, with quantities as text (`"2.5 GHz"`).
    ///
    /// # Errors
    /// Every mistake, in order of path.
    pub fn from_json(text: &str) -> Result<Self, Vec<Mistake>> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            let found = Found::new(
                [],
                "not-json",
                shorten(&error.to_string(), 120),
                "one JSON object".to_owned(),
                "give the scenario as JSON, nested at most 128 deep, with finite numbers".to_owned(),
            );
            vec![found.mistake]
        })?;
        whole_numbers(&mut value);
        let (mut found, faulty, unlisted) = schema_mistakes(&value);
        if unlisted == 0 && !faulty.contains(&Vec::new()) {
            let mut sound = value.clone();
            faulty.iter().rev().for_each(|path| remove(&mut sound, path));
            faulty.iter().for_each(|path| stand_in(&mut sound, path));
            found.extend(Parts::new(&sound, faulty).mistakes());
        }
        if found.is_empty() {
            return serde_json::from_value(value).map_err(|error| {
                // The schema and the types come from one source, so this is a fault of ours; say it plainly all the same.
                let hint = "please report this scenario".to_owned();
                vec![Found::new([], "unreadable", error.to_string(), "a scenario".to_owned(), hint).mistake]
            });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let more = unlisted + found.len().saturating_sub(MOST_MISTAKES);
        found.truncate(MOST_MISTAKES);
        let mut mistakes: Vec<Mistake> = found.into_iter().map(|found| found.mistake).collect();
        if more > 0 {
            let value = format!("{more} further mistakes");
            let allowed = format!("{MOST_MISTAKES} are listed");
            mistakes.push(Found::new([], "more-mistakes", value, allowed, "correct these first".to_owned()).mistake);
        }
        Err(mistakes)
    }
}

/// Turns numbers such as `24.0` into integers, as JSON Schema sees them.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Removes the value at `path`, if there is one. A list that has a faulty entry loses it all.
fn remove(value: &mut Value, path: &[String]) {
    let Some((key, rest)) = path.split_first() else { return };
    match value {
        Value::Object(map) => {
            let goes = rest.is_empty() || map.get(key).is_some_and(Value::is_array);
            if goes {
                map.remove(key);
            } else if let Some(next) = map.get_mut(key) {
                remove(next, rest);
            }
        }
        Value::Array(items) => items.clear(),
        _ => {}
    }
}

/// Puts the schema's example where a required value was faulty or missing, so that what is beside it can still be
/// checked. Checks look at [`Parts`]' faulty paths before they blame a value.
fn stand_in(value: &mut Value, path: &[String]) {
    let Some((key, parent)) = path.split_last() else { return };
    let required = schema::at(parent)
        .and_then(|here| schema::keyword(&here, "required").and_then(Value::as_array))
        .is_some_and(|required| required.iter().any(|required| required == key));
    let example = schema::at(path).and_then(|here| {
        let of = |keyword| {
            schema::keyword(&here, keyword)
                .and_then(|values| values.get(0))
                .cloned()
        };
        of("examples").or_else(|| of("enum"))
    });
    let place = parent.iter().try_fold(value, |value, key| value.get_mut(key.as_str()));
    if let (true, Some(example), Some(Value::Object(map))) = (required, example, place) {
        map.entry(key.clone()).or_insert(example);
    }
}

/// The bound of a quantity, in base units, and the kind of quantity.
struct Bound {
    kind: &'static str,
    value: f64,
    lowest: bool,
}

/// Checks that text is a quantity of a kind.
struct Quantity {
    kind: String,
}

/// The one kind of quantity whose units `text` uses, and its value.
fn bound(text: &str) -> Option<(&'static str, f64)> {
    KINDS
        .into_iter()
        .find_map(|kind| Some((kind, base_units(kind, text)?.ok()?)))
}

impl<'i> Keyword<'i> for Quantity {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("not a quantity"))
        }
    }
    fn is_valid(&self, instance: &'i Value) -> bool {
        instance
            .as_str()
            .is_none_or(|text| base_units(&self.kind, text).is_none_or(|parsed| parsed.is_ok()))
    }
}

impl<'i> Keyword<'i> for Bound {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("outside the bounds"))
        }
    }
    fn is_valid(&self, instance: &'i Value) -> bool {
        let value = match instance {
            Value::String(text) => base_units(self.kind, text).and_then(Result::ok),
            Value::Number(number) => number.as_f64(),
            _ => None,
        };
        value.is_none_or(|value| {
            if self.lowest {
                value >= self.value
            } else {
                value <= self.value
            }
        })
    }
}

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    fn keyword<'a>(lowest: bool, value: &'a Value) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
        let (kind, value) = value
            .as_str()
            .and_then(bound)
            .ok_or_else(|| ValidationError::schema("not a quantity"))?;
        Ok(Box::new(Bound { kind, value, lowest }))
    }
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_keyword("x-quantity", |_, value, _| {
            Ok(Box::new(Quantity {
                kind: value.as_str().unwrap_or_default().to_owned(),
            }))
        })
        .with_keyword("x-minimum", |_, value, _| keyword(true, value))
        .with_keyword("x-maximum", |_, value, _| keyword(false, value))
        .build(&schema::SCHEMA)
        .expect("the schema made from the types is a schema")
});

/// What the schema finds wrong, one mistake for each path; every path whose value cannot be relied on; and how many
/// mistakes are not listed because there are too many.
fn schema_mistakes(value: &Value) -> (Vec<Found>, BTreeSet<Vec<String>>, usize) {
    let mut found: Vec<Found> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut unlisted = 0;
    for error in VALIDATOR.iter_errors(value) {
        if found.len() >= MOST_MISTAKES {
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
    // A misspelt required key is one mistake, not two.
    let spelled: BTreeSet<Vec<String>> = found
        .iter()
        .filter(|one| one.mistake.code == "unknown-key")
        .filter_map(|one| {
            let (key, parent) = one.path.split_last()?;
            let near = nearest(key, schema::keys(&schema::at(parent)?).into_iter())?;
            let around = parent.iter().try_fold(value, |value, key| value.get(key.as_str()))?;
            // The right key beside the wrong one stands as it is.
            around.get(near).is_none().then_some(())?;
            Some([parent, &[near.to_owned()]].concat())
        })
        .collect();
    found.retain(|one| one.mistake.code != "missing-key" || !spelled.contains(&one.path));
    let faulty = found.iter().map(|one| one.path.clone()).chain(spelled).collect();
    (found, faulty, unlisted)
}

/// The mistakes that one finding of the schema validator stands for, and how many more it would be if all were listed.
fn explain(error: &ValidationError<'_>) -> (Vec<Found>, usize) {
    let path: Vec<String> = keys_of(error.instance_path().as_str());
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let here = schema::at(&path).unwrap_or_default();
            let listed = unexpected.iter().take(MOST_MISTAKES);
            let found = listed
                .map(|key| unknown_key(&path, key, error.instance(), &here))
                .collect();
            (found, unexpected.len().saturating_sub(MOST_MISTAKES))
        }
        _ => (vec![explain_one(error, path)], 0),
    }
}

/// The mistake that a finding about one value stands for.
fn explain_one(error: &ValidationError<'_>, path: Vec<String>) -> Found {
    let here = schema::at(&path).unwrap_or_default();
    let instance = error.instance().as_ref();
    let keys = path.iter().map(String::as_str);
    let plain = |code: &str, hint: String| Found::new(keys.clone(), code, show(instance), schema::allowed(&here), hint);
    // Some places have a code of their own for whatever is wrong with the form of their value.
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
            Found::new(
                keys.chain([name]),
                "bad-name",
                show_text(name),
                "a name of 1 to 64 letters, digits, '-' and '_', beginning with a letter or digit".to_owned(),
                "rename it".to_owned(),
            )
        }
        _ if schema::keyword(&here, "x-quantity").is_some() => quantity(&path, instance, &here),
        ValidationErrorKind::Type { .. } => plain("wrong-type", type_hint(instance, &here)),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().filter_map(Value::as_str);
            own(
                "unknown-value",
                near_hint(instance, options, "choose one of these".to_owned()),
            )
        }
        ValidationErrorKind::Pattern { .. } => {
            let values = schema::keyword(&here, "x-values").and_then(Value::as_array);
            let values = values.into_iter().flatten().filter_map(Value::as_str);
            own("bad-text", near_hint(instance, values, example_hint(&here)))
        }
        ValidationErrorKind::Minimum { .. } | ValidationErrorKind::Maximum { .. } => {
            plain("out-of-range", "choose a value in that range".to_owned())
        }
        ValidationErrorKind::MinProperties { .. } | ValidationErrorKind::MaxProperties { .. } => {
            own("out-of-range", "add or remove entries".to_owned())
        }
        ValidationErrorKind::MaxLength { .. } => plain("out-of-range", "shorten it".to_owned()),
        ValidationErrorKind::MinLength { .. } => plain("out-of-range", "give a text, or remove the key".to_owned()),
        ValidationErrorKind::MinItems { .. } => own("out-of-range", "list something, or remove the entry".to_owned()),
        ValidationErrorKind::MaxItems { .. } => own("out-of-range", "use fewer entries".to_owned()),
        other => own("invalid", format!("the schema refuses it ({})", other.keyword())),
    }
}

/// Offers the candidate that a text is nearest to, or else says something.
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

fn unknown_key(parent: &[String], key: &str, instance: &Value, here: &[&Value]) -> Found {
    let known = schema::keys(here);
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => match homes_of(key).as_slice() {
            [] => "remove it; `hypertwin schema` describes every key".to_owned(),
            homes => format!("{key} is a key of {}", homes.join(" and of ")),
        },
    };
    Found::new(
        parent.iter().map(String::as_str).chain([key]),
        "unknown-key",
        instance.get(key).map_or_else(String::new, show),
        format!("the keys {}", known.join(", ")),
        hint,
    )
}

/// Where in a scenario a key of this name belongs.
fn homes_of(key: &str) -> Vec<&'static str> {
    const PLACES: [(&str, &str); 12] = [
        ("the scenario itself", ""),
        ("run", "run"),
        ("hosts.NAME", "hosts.NAME"),
        ("hosts.NAME.scheduler", "hosts.NAME.scheduler"),
        ("hosts.NAME.overhead", "hosts.NAME.overhead"),
        ("vms.NAME", "vms.NAME"),
        ("vms.NAME.guest", "vms.NAME.guest"),
        ("workloads.NAME", "workloads.NAME"),
        ("workloads.NAME.arrivals", "workloads.NAME.arrivals"),
        ("workloads.NAME.arrivals.closed", "workloads.NAME.arrivals.closed"),
        ("workloads.NAME.arrivals.open", "workloads.NAME.arrivals.open"),
        ("workloads.NAME.cpu", "workloads.NAME.cpu"),
    ];
    let place_has = |place: &str| {
        let path: Vec<String> = place
            .split('.')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        schema::at(&path).is_some_and(|here| schema::keys(&here).contains(&key))
    };
    PLACES
        .iter()
        .filter(|(_, place)| place_has(place))
        .map(|(name, _)| *name)
        .collect()
}

fn missing_key(parent: &[String], key: &str) -> Found {
    let path = [parent, &[key.to_owned()]].concat();
    let here = schema::at(&path).unwrap_or_default();
    Found::new(
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
        Some(Value::String(text)) => format!("write for example {text}"),
        _ => "write it as allowed".to_owned(),
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
        Value::String(text) if numeric && bound(text).is_some() => "write the number without a unit".to_owned(),
        Value::Number(_) if takes("integer") => "write a whole number".to_owned(),
        Value::Number(_) | Value::Bool(_) if takes("string") => format!("write it in quotes: \"{value}\""),
        Value::Array(items) if items.len() == 1 => "write the one entry without the list".to_owned(),
        _ if takes("object") => "write its keys on lines below it, indented".to_owned(),
        _ if takes("array") => "write a list, each entry on a line that begins with '-'".to_owned(),
        _ if numeric => "write a plain number".to_owned(),
        _ => example_hint(here),
    }
}

/// What is wrong with a value that should have a unit.
fn quantity(path: &[String], value: &Value, here: &[&Value]) -> Found {
    let kind = schema::keyword(here, "x-quantity")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (units, example) = units_of(kind);
    let default = schema::keyword(here, "default")
        .and_then(Value::as_str)
        .filter(|text| !text.starts_with("0 "));
    let unit = default.unwrap_or(example).split_once(' ').map_or("", |(_, unit)| unit);
    let in_range = "choose a value in that range".to_owned();
    let (code, hint) = match value {
        Value::Number(number) if number.as_f64().is_some_and(|number| number > 0.0) => (
            "bad-unit",
            format!("add the unit you mean, for example {number} {unit}"),
        ),
        Value::Number(_) => ("out-of-range", in_range),
        Value::Null => ("wrong-type", "give a value, or remove the key".to_owned()),
        Value::String(text) => match base_units(kind, text) {
            Some(Err(QuantityError::NoUnit)) => (
                "bad-unit",
                format!("add the unit you mean, for example {} {unit}", shorten(text.trim(), 30)),
            ),
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
    Found::new(
        path.iter().map(String::as_str),
        code,
        show(value),
        schema::allowed(here),
        hint,
    )
}

/// Units, and what people write for them.
const SPELLINGS: [(&str, &[&str]); 12] = [
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
                    "{} is a unit of a {other}; here a {kind} is wanted, for example {example}",
                    shorten(wrong, 20)
                )
            }
            _ => format!("use one of {units}, for example {example}"),
        },
    }
}

/// The candidate that `word` is most likely a misspelling of.
pub(crate) fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |text: &str| {
        text.chars()
            .take(80)
            .collect::<String>()
            .to_ascii_lowercase()
            .replace(['-', ' ', '.'], "_")
    };
    let word = plain(word);
    let score = |candidate: &str| {
        let candidate = plain(candidate);
        let part = word.len() >= 3 && (candidate.contains(&word) || word.contains(&candidate) && candidate.len() >= 3);
        let distance = strsim::normalized_damerau_levenshtein(&word, &candidate);
        if part { distance.max(0.6) } else { distance }
    };
    candidates
        .map(|candidate| (score(candidate), candidate))
        .filter(|(score, _)| *score >= 0.55)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
}
