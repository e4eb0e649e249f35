//! The core as a WebAssembly module, for pages that simulate: convert, never compute.
//!
//! A caller writes text or bytes at [`input`], calls a function, and reads its answer at [`output`]. The functions hold
//! one scenario and the replications that were given to them, so that islands can be simulated by several instances of
//! this module. An answer that begins with `{"error":` or `{"mistakes":` is no result.
//!
//! With the twin's own error ([`intervals`]), a report has what a result of the package adds to the core's. [`digest`]
//! is that of the core's report without it.
//!
//! **Pages that simulate carry the core of the same build.** `crates/browser` is the core as a WebAssembly module,
//! which converts and never computes. The module lacks the JSON Schema validator and the code that makes the schema
//! (the feature `schema-check` of `crates/cluster`). `engine/ordered.rs` sorts and builds maps in little code, because
//! such code was a seventh of the module.
#![allow(unsafe_code, reason = "exported functions keep their names")]

use hypertwin_cluster::Scenario;
use hypertwin_engine::{
    BUILD, Intervals, Islands, ModelError, PointErrors, PointReport, Replication, TimelineReport, with_error,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::sync::Arc;

/// What a report begins with: the core knows no settings, and the twin's own error follows them.
const NOTHING_SET: &str = r#"{"set":{}"#;

#[derive(Default)]
struct Core {
    input: Vec<u8>,
    output: Vec<u8>,
    intervals: Option<Arc<Intervals>>,
    scenario: Option<Opened>,
    given: Vec<Replication>,
    reported: Option<Reported>,
}

struct Opened {
    text: String,
    islands: Islands,
}

/// The last report, without and with the twin's own error.
struct Reported {
    text: String,
    errors: Option<(PointErrors, Value)>,
}

thread_local! {
    static CORE: RefCell<Core> = RefCell::default();
}

/// Makes room for `length` bytes of input, and returns where they start.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    CORE.with_borrow_mut(|core| {
        core.input.clear();
        core.input.resize(length, 0);
        core.input.as_mut_ptr()
    })
}

/// Start of the answer of the last call, which returned its length.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    CORE.with_borrow(|core| core.output.as_ptr())
}

/// Version and hash of the core's sources.
#[unsafe(no_mangle)]
pub extern "C" fn build() -> usize {
    CORE.with_borrow_mut(|core| core.answer(BUILD.into()))
}

/// Takes the intervals by area and kind in the input, for all reports that follow.
#[unsafe(no_mangle)]
pub extern "C" fn intervals() -> usize {
    CORE.with_borrow_mut(|core| match Intervals::from_json(core.text()) {
        Ok(read) => {
            core.intervals = Some(Arc::new(read));
            core.answer(Vec::new())
        }
        Err(why) => core.refuse(&why),
    })
}

/// Takes the scenario in the input. Answer: `{"islands": [{"key", "vcpus"}]}`; equal keys and seeds give equal
/// replications.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> usize {
    CORE.with_borrow_mut(|core| {
        core.given.clear();
        core.scenario = None;
        core.reported = None;
        let text = core.text().to_owned();
        let scenario = match Scenario::from_json(&text) {
            Ok(scenario) => scenario,
            Err(mistakes) => return core.answer(json!({ "mistakes": mistakes }).to_string().into()),
        };
        let islands = match Islands::of(scenario) {
            Ok(islands) => islands,
            Err(why) => return core.refuse(&why),
        };
        let of_each = islands.keys().into_iter().zip(islands.weights());
        let listed: Vec<_> = of_each
            .map(|(key, vcpus)| json!({"key": hex(&key), "vcpus": vcpus}))
            .collect();
        core.scenario = Some(Opened { text, islands });
        core.answer(json!({ "islands": listed }).to_string().into())
    })
}

/// Simulates an island of the scenario, by number, in replication `replication` of `seed`. Answer: its replication as
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn run(island: usize, seed: u64, replication: u64) -> usize {
    CORE.with_borrow_mut(|core| {
        let Some(opened) = core.scenario.as_ref().filter(|opened| island < opened.islands.len()) else {
            return core.refuse(&"no such island: open the scenario first");
        };
        match opened
            .islands
            .run(island, hypertwin_engine::replication_seed(seed, replication))
        {
            Ok(replication) => {
                let bytes = replication.to_bytes();
                core.answer(bytes)
            }
            Err(why) => core.refuse(&why),
        }
    })
}

/// Takes the replication of an island in the input: those of all islands in order, once for each replication.
#[unsafe(no_mangle)]
pub extern "C" fn give() -> usize {
    CORE.with_borrow_mut(|core| match Replication::from_bytes(&core.input) {
        Ok(replication) => {
            core.given.push(replication);
            core.answer(Vec::new())
        }
        Err(why) => core.refuse(&why),
    })
}

/// Makes the report of all replications that were given. Answer: the report as JSON, with `model_error` if there are
/// intervals.
#[unsafe(no_mangle)]
pub extern "C" fn report() -> usize {
    CORE.with_borrow_mut(|core| {
        let given = std::mem::take(&mut core.given);
        match core.reported(&given) {
            Ok(reported) => {
                let text = match &reported.errors {
                    Some((_, error)) => {
                        let added = format!(r#"{NOTHING_SET},"model_error":{error}"#);
                        reported.text.replacen(NOTHING_SET, &added, 1)
                    }
                    None => reported.text.clone(),
                };
                core.reported = Some(reported);
                core.answer(text.into())
            }
            Err(why) => core.refuse(&why),
        }
    })
}

/// As [`report`], for a preview of many VMs: without single VMs, the timeline and the twin's own error. No [`digest`]
/// and no [`answer`] are of it.
#[unsafe(no_mangle)]
pub extern "C" fn preview() -> usize {
    CORE.with_borrow_mut(|core| {
        let given = std::mem::take(&mut core.given);
        core.reported = None;
        let text = core.merged(&given).and_then(|mut report| {
            report.vms.clear();
            report.timeline = TimelineReport::default();
            serde_json::to_string(&report).map_err(|why| why.to_string())
        });
        match text {
            Ok(text) => core.answer(text.into()),
            Err(why) => core.refuse(&why),
        }
    })
}

/// Answer: the SHA-256 of the last report without the twin's own error, in hexadecimal digits. That of the same
/// scenario, seed and replications is the same anywhere.
#[unsafe(no_mangle)]
pub extern "C" fn digest() -> usize {
    CORE.with_borrow_mut(|core| match &core.reported {
        Some(reported) => {
            let digest = hex(&Sha256::digest(&reported.text));
            core.answer(digest.into())
        }
        None => core.refuse(&"there is no report"),
    })
}

/// Answer: what the last report means, with the twin's own error: `{"tone", "text", "more"}`.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    CORE.with_borrow_mut(|core| match core.reported.as_ref().map(|reported| &reported.errors) {
        Some(Some((point, error))) => {
            let found = with_error(&point.report()["judgement"], &[&error["groups"]], &[]);
            core.answer(found.to_string().into())
        }
        Some(None) => core.refuse(&"give the intervals before the report"),
        None => core.refuse(&"there is no report"),
    })
}

impl Core {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.input).unwrap_or_default()
    }

    fn merged(&self, given: &[Replication]) -> Result<PointReport, String> {
        let opened = self.scenario.as_ref().ok_or("open the scenario first")?;
        let islands = &opened.islands;
        if given.is_empty() || !given.len().is_multiple_of(islands.len()) {
            return Err("replications of islands are missing".to_owned());
        }
        let whole: Vec<Replication> = given
            .chunks(islands.len())
            .map(|parts| islands.merge(&parts.iter().collect::<Vec<_>>()))
            .collect();
        Ok(hypertwin_engine::aggregate(&whole.iter().collect::<Vec<_>>()))
    }

    fn reported(&self, given: &[Replication]) -> Result<Reported, String> {
        let report = self.merged(given)?;
        let opened = self.scenario.as_ref().ok_or("open the scenario first")?;
        let text = serde_json::to_string(&report).map_err(|why| why.to_string())?;
        let errors = self.intervals.as_ref().map(|intervals| {
            let error = ModelError::new(&opened.text, Arc::clone(intervals))?;
            let point = error.at(&text)?;
            let document = point.document();
            Ok((point, document))
        });
        let errors = errors.transpose().map_err(|why: serde_json::Error| why.to_string())?;
        Ok(Reported { text, errors })
    }

    fn answer(&mut self, answer: Vec<u8>) -> usize {
        self.output = answer;
        self.output.len()
    }

    fn refuse(&mut self, why: &impl ToString) -> usize {
        self.answer(json!({ "error": why.to_string() }).to_string().into())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
