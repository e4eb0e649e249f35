//! From text to a scenario, or to the list of everything that is wrong with it.
//!
//! The schema finds what is wrong with single values ([`form`]). What is left is then checked for what a schema cannot
//! say: references, sums, and values that must agree with each other ([`CHECKS`]). So one pass lists every mistake.
//!
//! Boundary: nothing below knows of this folder. Invariant: a check blames no value that the schema found fault with,
//! nor one that stands in for such a value; it asks [`Sections::clean`].
//!
//! | file | what it checks |
//! |---|---|
//! | `form`, `unit`, `keyword` | single values, by the schema; those with units; the schema keywords of these |
//! | `product` | nothing: what people call hypervisors and storage |
//! | [`sections`] | nothing: what the checks see of a scenario |
//! | [`host`], [`workload`], [`vm`], [`numa`], [`memory`], [`disks`], [`device`], [`pool`], [`failure`], [`movement`],
//! | [`rule`], [`cluster`] | the section or keys of that name |
//! | [`pool_kind`] | keys that only some kinds of pool have, and policies |
//! | [`copies`] | workloads that copy from one storage to another |
//! | [`option`] | options that not every hypervisor has |
//! | [`bare_metal`] | hosts without a hypervisor |
//! | [`fit`], [`reservation`] | that hosts exist that have room for the VMs |
//! | [`name`], [`size`] | the scenario as a whole |

mod bare_metal;
mod cluster;
mod copies;
mod device;
mod disks;
mod failure;
mod fit;
mod form;
mod host;
mod keyword;
mod memory;
mod movement;
mod name;
mod numa;
mod option;
mod pool;
mod pool_kind;
mod product;
mod reservation;
mod rule;
mod sections;
mod size;
mod unit;
mod vm;
mod workload;

use form::{MOST_MISTAKES, schema_mistakes};
use sections::Sections;
use serde_json::Value;

use crate::mistake::{Issue, Mistake, shorten};
use crate::schema;
use crate::spec::scenario::Scenario;

/// Adds what is wrong in one respect.
type Check = fn(&Sections, &mut Vec<Issue>);

/// Every check. Of mistakes at one path, those of the first check are listed first.
const CHECKS: [Check; 53] = [
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
    device::local,
    cluster::names,
    cluster::hosts,
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
    /// Every mistake, in order of path.
    pub fn from_json(text: &str) -> Result<Self, Vec<Mistake>> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            let found = Issue::new(
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
            found.extend(disagreements(&Sections::new(&sound, faulty)));
        }
        if found.is_empty() {
            let read = serde_json::from_value(value).map(|mut scenario: Self| {
                scenario.count_storage_memory();
                scenario
            });
            return read.map_err(|error| {
                // The schema and the types come from one source, so this is a fault of ours; say it plainly all the
                // same.
                let hint = "please report this scenario".to_owned();
                vec![Issue::new([], "unreadable", error.to_string(), "a scenario".to_owned(), hint).mistake]
            });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let more = unlisted + found.len().saturating_sub(MOST_MISTAKES);
        found.truncate(MOST_MISTAKES);
        let mut mistakes: Vec<Mistake> = found.into_iter().map(|issue| issue.mistake).collect();
        if more > 0 {
            let value = format!("{more} further mistakes");
            let allowed = format!("{MOST_MISTAKES} are listed");
            mistakes.push(Issue::new([], "more-mistakes", value, allowed, "correct these first".to_owned()).mistake);
        }
        Err(mistakes)
    }
}

/// Everything that the schema does not see.
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
/// checked. Checks look at [`Sections::clean`] before they blame a value.
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
