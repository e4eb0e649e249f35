//! The core as a WebAssembly module, for pages that simulate: convert, never compute.
//!
//! A caller writes text or bytes at [`input`], calls a function, and reads its answer at [`output`]. The functions hold
//! one scenario and the replications that were given to them, so that islands can be simulated by several instances of
//! this module. An answer that begins with `{"error":` or `{"mistakes":` is no result.
#![allow(unsafe_code, reason = "exported functions keep their names")]

use hypertwin_cluster::Scenario;
use hypertwin_engine::{BUILD, Islands, Replication, RunError};
use serde_json::json;
use std::cell::RefCell;

#[derive(Default)]
struct Core {
    input: Vec<u8>,
    output: Vec<u8>,
    scenario: Option<Islands>,
    given: Vec<Replication>,
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

/// Takes the scenario in the input. Answer: `{"islands": [{"key", "vcpus"}]}`; equal keys and seeds give equal
/// replications.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> usize {
    CORE.with_borrow_mut(|core| {
        core.given.clear();
        core.scenario = None;
        let text = std::str::from_utf8(&core.input).unwrap_or_default();
        let scenario = match Scenario::from_json(text) {
            Ok(scenario) => scenario,
            Err(mistakes) => return core.answer(json!({ "mistakes": mistakes }).to_string().into()),
        };
        let found = match Islands::of(scenario) {
            Ok(islands) => islands,
            Err(why) => return core.fail(&why),
        };
        let of_each = found.keys().into_iter().zip(found.weights());
        let islands: Vec<_> = of_each
            .map(|(key, vcpus)| json!({"key": hex(&key), "vcpus": vcpus}))
            .collect();
        core.scenario = Some(found);
        core.answer(json!({ "islands": islands }).to_string().into())
    })
}

/// Simulates an island of the scenario, by number, in replication `replication` of `seed`. Answer: its replication as
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn run(island: usize, seed: u64, replication: u64) -> usize {
    CORE.with_borrow_mut(|core| {
        let Some(islands) = core.scenario.as_ref().filter(|islands| island < islands.len()) else {
            return core.refuse("no such island: open the scenario first");
        };
        match islands.run(island, hypertwin_engine::replication_seed(seed, replication)) {
            Ok(replication) => {
                let bytes = replication.to_bytes();
                core.answer(bytes)
            }
            Err(why) => core.fail(&why),
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
        Err(why) => core.refuse(&why.to_string()),
    })
}

/// Makes the report of all replications that were given. Answer: the report as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn report() -> usize {
    CORE.with_borrow_mut(|core| {
        let given = std::mem::take(&mut core.given);
        let Some(islands) = core.scenario.as_ref() else {
            return core.refuse("open the scenario first");
        };
        if given.is_empty() || given.len() % islands.len() != 0 {
            return core.refuse("replications of islands are missing");
        }
        let whole: Vec<Replication> = given
            .chunks(islands.len())
            .map(|parts| islands.merge(&parts.iter().collect::<Vec<_>>()))
            .collect();
        let report = hypertwin_engine::aggregate(&whole.iter().collect::<Vec<_>>());
        match serde_json::to_vec(&report) {
            Ok(text) => core.answer(text),
            Err(why) => core.refuse(&why.to_string()),
        }
    })
}

impl Core {
    fn answer(&mut self, answer: Vec<u8>) -> usize {
        self.output = answer;
        self.output.len()
    }

    fn fail(&mut self, why: &RunError) -> usize {
        self.refuse(&why.to_string())
    }

    fn refuse(&mut self, why: &str) -> usize {
        self.answer(json!({ "error": why }).to_string().into())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
