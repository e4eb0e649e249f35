//! Reads a scenario from text, or lists all its errors.
//!
//! The schema finds errors in single values ([`form`]). The other checks find what a schema cannot: references, sums
//! and values that must agree ([`CHECKS`]). One pass lists every error.
//!
//! Boundary: nothing below knows this folder. Invariant: no check reports a value that the schema rejected, or a
//! stand-in for one; it asks [`Sections::clean`].
//!
//! | file | checks |
//! |---|---|
//! | `form`, `unit`, `keyword` | single values, by the schema; those with units; the schema keywords of these |
//! | `product` | none: names of hypervisor and storage products |
//! | [`sections`] | none: the sections of a scenario for the checks |
//! | [`host`], [`workload`], [`vm`], [`numa`], [`memory`], [`disks`], [`device`], [`pool`], [`failure`], [`movement`],
//! | [`rule`], [`cluster`] | the section or keys of that name |
//! | [`pool_kind`] | keys that only some kinds of pool have, and policies |
//! | [`copies`] | workloads that copy from one storage to another |
//! | [`option`] | options that not every hypervisor has |
//! | [`bare_metal`] | hosts without a hypervisor |
//! | [`fit`], [`reservation`] | hosts that fit the VMs |
//! | [`name`], [`size`] | the scenario as a whole |

mod bare_metal;
mod cluster;
mod copies;
mod device;
mod disks;
mod failure;
mod fit;
#[cfg(feature = "schema-check")]
mod form;
mod host;
#[cfg(feature = "schema-check")]
mod keyword;
mod memory;
mod movement;
mod name;
mod numa;
mod option;
mod pool;
mod pool_kind;
#[cfg(feature = "schema-check")]
mod product;
mod reservation;
mod rule;
mod sections;
mod size;
#[cfg(feature = "schema-check")]
mod unit;
mod vm;
mod workload;

#[cfg(feature = "schema-check")]
use form::schema_mistakes;
use sections::Sections;
use serde::Deserialize;
use serde_json::Value;
#[cfg(not(feature = "schema-check"))]
use std::collections::BTreeSet;

use crate::mistake::{Issue, MAX_MISTAKES, Mistake, Reading, shorten};
use crate::schema;
use crate::spec::scenario::Scenario;

/// Without the schema validator, only the types and the checks below find errors: for scenarios whose values are known
/// to be in range.
#[cfg(not(feature = "schema-check"))]
fn schema_mistakes(_: &Value) -> (Vec<Issue>, BTreeSet<Vec<String>>, usize) {
    Default::default()
}

/// Appends the errors of one kind.
type Check = fn(&Sections, &mut Vec<Issue>);

/// Every check. Errors of the first check come first at the same path.
const CHECKS: [Check; 56] = [
    host::any,
    host::turbo,
    host::divisions,
    host::options,
    host::core_scheduling,
    host::costart,
    workload::arrivals,
    workload::block_mix,
    vm::topology,
    vm::load,
    vm::limit,
    vm::load_steps,
    memory::bounds,
    memory::huge_pages,
    vm::workload,
    numa::cells,
    numa::nodes,
    numa::options,
    disks::place,
    disks::controllers,
    disks::queues_and_threads,
    device::drives,
    device::figures,
    device::paths,
    device::raid,
    device::local,
    cluster::names,
    cluster::hosts,
    cluster::hosts_of_powered_off,
    cluster::parts,
    bare_metal::overhead,
    bare_metal::machines,
    fit::hosts,
    copies::ends,
    pool_kind::keys,
    pool_kind::policies,
    pool_kind::asked_for,
    pool::vms,
    pool::layers,
    pool::threads,
    pool::fragment,
    pool::nodes,
    pool::capacity,
    failure::returns,
    failure::components,
    movement::actions,
    movement::parts,
    movement::joining,
    movement::times,
    movement::primaries,
    movement::detections,
    rule::members,
    rule::hosts,
    rule::clusters,
    name::unique,
    size::in_all,
];

impl Scenario {
    /// Reads a scenario from JSON, with quantities as text (`"2.5 GHz"`).
    ///
    /// # Errors
    /// Every error, in order of path.
    pub fn from_json(text: &str) -> Result<Self, Vec<Mistake>> {
        Self::read(text).map(|(scenario, _)| scenario)
    }

    /// Reads a scenario from JSON, and lists the values that were not written as they should be but have one reading:
    /// `25 Gbit/s`, `cpu: 6 ms`.
    ///
    /// # Errors
    /// As [`Scenario::from_json`].
    pub fn read(text: &str) -> Result<(Self, Vec<Reading>), Vec<Mistake>> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            let found = Issue::new(
                [],
                "not-json",
                shorten(&error.to_string(), 120),
                "a JSON object".to_owned(),
                "write the scenario as JSON, nested at most 128 deep, with finite numbers".to_owned(),
            );
            vec![found.mistake]
        })?;
        whole_numbers(&mut value);
        let (mut found, mut faulty, mut unlisted) = schema_mistakes(&value);
        let readings = read_as_meant(&mut value, &found);
        if !readings.is_empty() {
            (found, faulty, unlisted) = schema_mistakes(&value);
        }
        if unlisted == 0 && !faulty.contains(&Vec::new()) {
            let mut sound = value.clone();
            faulty.iter().rev().for_each(|path| remove(&mut sound, path));
            faulty.iter().for_each(|path| stand_in(&mut sound, path));
            found.extend(disagreements(&Sections::new(&sound, faulty)));
        }
        if found.is_empty() {
            let read = Self::deserialize(&value).map(|mut scenario: Self| {
                scenario.count_storage_memory();
                (scenario, readings)
            });
            return read.map_err(|error| {
                // The schema and the types have one source, so this is a bug in hypertwin; report it anyway.
                let hint = "please report this scenario".to_owned();
                vec![Issue::new([], "unreadable", error.to_string(), "a scenario".to_owned(), hint).mistake]
            });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let more = unlisted + found.len().saturating_sub(MAX_MISTAKES);
        found.truncate(MAX_MISTAKES);
        let mut mistakes: Vec<Mistake> = found.into_iter().map(|issue| issue.mistake).collect();
        if more > 0 {
            let value = format!("{more} further errors");
            let allowed = format!("{MAX_MISTAKES} are listed");
            mistakes.push(
                Issue::new(
                    [],
                    "more-mistakes",
                    value,
                    allowed,
                    "fix the listed errors first".to_owned(),
                )
                .mistake,
            );
        }
        Err(mistakes)
    }
}

/// Replaces every value that has one reading by that.
fn read_as_meant(value: &mut Value, found: &[Issue]) -> Vec<Reading> {
    let taken = found.iter().filter_map(|issue| {
        let meant = issue.meant.clone()?;
        let place = issue.path.iter().try_fold(&mut *value, |at, key| match at {
            Value::Object(map) => map.get_mut(key),
            Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
            _ => None,
        })?;
        Some(Reading {
            path: issue.mistake.path.clone(),
            written: std::mem::replace(place, meant.clone()),
            meant,
        })
    });
    taken.collect()
}

/// All errors that the schema does not find.
fn disagreements(sections: &Sections) -> Vec<Issue> {
    let mut found = Vec::new();
    for check in CHECKS {
        check(sections, &mut found);
    }
    if found.is_empty() && sections.whole() {
        reservation::per_host(sections, &mut found);
        bare_metal::per_host(sections, &mut found);
    }
    found
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

/// Removes the value at `path`, if any. A list with a faulty entry is removed entirely.
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

/// Inserts the schema's example for a faulty or missing required value, so that its neighbours can be checked. Checks
/// ask [`Sections::clean`] before they report a value.
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
