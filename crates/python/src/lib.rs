//! The bindings between Rust and Python, `hypertwin._core`: they convert values and errors, and never compute.
//!
//! | file | contents |
//! |---|---|
//! | `indent.rs` | JSON as Python writes it |
//! | `model_error.rs` | the twin's own error |

mod indent;
mod model_error;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hypertwin_cluster::{
    Bandwidth, Bytes, Duration, Frequency, Hypervisor, In, Limits, Mistake, QuantityError, Rate, Record, Redundancy,
    RedundancyError, RedundancyFacts, Scenario,
};
use hypertwin_engine::durability::{Assumptions, Repair, assess};
use hypertwin_lab as lab;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    hypertwin._core,
    ScenarioMistakes,
    PyValueError,
    "A scenario breaks its schema; `args[0]` is a JSON list of {code, path, value, allowed, hint}."
);
create_exception!(
    hypertwin._core,
    RunFailed,
    PyRuntimeError,
    "A valid scenario could not be simulated; `args[0]` gives the reason."
);

create_exception!(
    hypertwin._core,
    LabFailed,
    PyRuntimeError,
    "The computer could not be measured; `args[0]` gives the reason."
);

/// The measurements of one run, opaque: `aggregate` turns several into a report.
#[pyclass(frozen, module = "hypertwin._core")]
struct Replication(hypertwin_engine::Replication);

#[pymethods]
impl Replication {
    /// This replication as bytes, which the same build reads on any computer.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_bytes()))
    }

    /// The replication stored in `data`; ValueError gives the reason if there is none.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| hypertwin_engine::Replication::from_bytes(data));
        read.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Progress of the current simulation; several threads can add to it.
#[pyclass(frozen, module = "hypertwin._core")]
struct Meter(AtomicU64);

impl Meter {
    /// What it counts for an island.
    const WHOLE: f64 = 1e9;
}

#[pymethods]
impl Meter {
    #[new]
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Islands simulated so far, with parts of those in progress.
    fn islands(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64 / Self::WHOLE
    }
}

/// A scenario cut into islands: groups of hosts that share nothing in a run. Each is simulated separately.
#[pyclass(frozen, module = "hypertwin._core")]
struct Islands(hypertwin_engine::Islands);

#[pymethods]
impl Islands {
    #[new]
    fn new(scenario_json: &str) -> PyResult<Self> {
        hypertwin_engine::Islands::of(parse(scenario_json)?)
            .map(Self)
            .map_err(run_failed)
    }

    /// Per island: SHA-256 of everything its result depends on, except the seed.
    fn keys<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let keys = py.detach(|| self.0.keys());
        keys.iter().map(|key| PyBytes::new(py, key)).collect()
    }

    /// Per island: its vCPUs, a measure of the work to simulate.
    fn weights(&self) -> Vec<u64> {
        self.0.weights()
    }

    /// Simulate some islands, by number, one after another; other Python threads run meanwhile. `meter` gets their
    /// progress.
    #[pyo3(signature = (islands, seed, meter=None))]
    fn run(&self, py: Python<'_>, islands: Vec<usize>, seed: u64, meter: Option<&Meter>) -> PyResult<Vec<Replication>> {
        let tell = |part: f64| {
            if let Some(Meter(parts)) = meter {
                parts.fetch_add((part * Meter::WHOLE) as u64, Ordering::Relaxed);
            }
        };
        let run = |island| self.0.told_run(island, seed, tell).map(Replication);
        py.detach(|| islands.into_iter().map(run).collect::<Result<_, _>>())
            .map_err(run_failed)
    }

    /// The replication of the whole scenario, merged from those of all its islands in order.
    fn merge(&self, py: Python<'_>, islands: Vec<Py<Replication>>) -> Replication {
        let parts: Vec<_> = islands.iter().map(|island| &island.get().0).collect();
        Replication(py.detach(|| self.0.merge(&parts)))
    }
}

/// Version of hypertwin, the same for the core and the Python package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Version and hash of the core's sources: the same build, scenario and seed give the same bytes.
#[pyfunction]
fn build() -> &'static str {
    hypertwin_engine::BUILD
}

/// JSON Schema of the scenario file.
#[pyfunction]
fn schema_json() -> String {
    hypertwin_cluster::schema_json()
}

/// Check a scenario. Returns its canonical form, with every default, and a JSON list of values that were corrected
/// because only one meaning is possible.
#[pyfunction]
fn validate(text: &str) -> PyResult<(String, String)> {
    let (scenario, readings) = Scenario::read(text).map_err(|found| mistakes(&found))?;
    Ok((scenario.to_json(), json(&readings)?))
}

/// Every host, VM and pool of a scenario by name, as the JSON of `Inventory` in `crates/cluster/src/inventory.rs`.
#[pyfunction]
fn inventory(scenario_json: &str) -> PyResult<String> {
    json(&In(&hypertwin_engine::inventory(&parse(scenario_json)?)))
}

/// The classes of Python for the members of scenarios, as a JSON list: `python/hypertwin/members.py` is made of it.
#[pyfunction]
fn classes() -> PyResult<String> {
    let of_engine = [
        hypertwin_engine::HypervisorFacts::class(),
        hypertwin_engine::PoolFacts::class(),
    ];
    json(&[&hypertwin_cluster::classes()[..], &of_engine].concat())
}

/// Names of the members of a group of `count` hosts or VMs, in order of number.
#[pyfunction]
fn member_names(group: &str, count: u32) -> Vec<String> {
    hypertwin_cluster::member_names(group, count).collect()
}

/// Every known hypervisor with its options and facts, as a JSON list.
#[pyfunction]
fn hypervisors() -> PyResult<String> {
    json(&In(&hypertwin_engine::HypervisorFacts::all()))
}

/// Rules of the product of each pool of a scenario, as a JSON object {POOL: facts}.
#[pyfunction]
fn pool_facts(scenario_json: &str) -> PyResult<String> {
    json(&In(&hypertwin_engine::PoolFacts::of(&parse(scenario_json)?)))
}

/// The table of drives that scenarios can name: a JSON object in the form of a scenario's `devices`.
#[pyfunction]
fn drives() -> PyResult<String> {
    json(hypertwin_cluster::drives())
}

/// The drive of the table that a name most likely misspells.
#[pyfunction]
fn misspelt_drive(name: &str) -> Option<&'static str> {
    hypertwin_cluster::misspelt_drive(name, hypertwin_cluster::drives().keys().map(String::as_str))
}

/// Maxima of a scenario, as a JSON object.
#[pyfunction]
fn limits() -> PyResult<String> {
    json(&In(&Limits::new()))
}

/// Facts about a redundancy such as `ec-3+2`, as a JSON object; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn redundancy(text: &str) -> PyResult<String> {
    let redundancy: Redundancy = text
        .parse()
        .map_err(|error: RedundancyError| PyValueError::new_err(error.to_string()))?;
    json(&In(&RedundancyFacts::from(redundancy)))
}

/// Memory in bytes that an ESXi host of this version needs for a VM beside the VM's own; ValueError if there is no such
/// version.
#[pyfunction]
fn memory_overhead(hypervisor: &str, memory_bytes: u64, vcpus: u32) -> PyResult<f64> {
    let version: Hypervisor =
        serde_json::from_value(hypervisor.into()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(hypertwin_engine::memory_overhead(
        version,
        Bytes::new(memory_bytes),
        vcpus,
    ))
}

/// Hertz of a frequency such as `2.5 GHz`; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn frequency_hz(text: &str) -> PyResult<u64> {
    quantity(text).map(Frequency::whole_hz)
}

/// Seconds of a duration such as `6.5 d`; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn duration_s(text: &str) -> PyResult<f64> {
    quantity(text).map(Duration::seconds)
}

/// Bytes of a size such as `10 TB`; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn size_bytes(text: &str) -> PyResult<u64> {
    quantity(text).map(Bytes::bytes)
}

/// Bytes per second of a bandwidth such as `50 MB/s`; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn bandwidth_bytes_per_s(text: &str) -> PyResult<f64> {
    quantity(text).map(Bandwidth::bytes_per_s)
}

/// Operations per second of a rate such as `500 /s`; ValueError gives the reason if the text is invalid.
#[pyfunction]
fn rate_per_s(text: &str) -> PyResult<f64> {
    quantity(text).map(Rate::per_second)
}

/// Durability of a scheme such as `ec-3+2`, as a JSON object; ScenarioMistakes names the invalid argument.
#[pyfunction]
fn durability(
    scheme: &str,
    annual_failure_rate: f64,
    repair_s: f64,
    serial_repair: bool,
    groups: u64,
    usable_bytes: Option<u64>,
) -> PyResult<String> {
    let assumptions = Assumptions {
        annual_failure_rate,
        repair_s,
        repair: if serial_repair {
            Repair::Serial
        } else {
            Repair::Parallel
        },
        groups,
        usable_bytes,
    };
    let found = Redundancy::read(scheme, "scheme").and_then(|scheme| assess(scheme, &assumptions));
    json(&found.map_err(|mistake| mistakes(&[mistake]))?)
}

/// Virtual NUMA of every VM of a scenario, as a JSON object {"vms": {NAME: layout}}.
#[pyfunction]
fn vnuma(scenario_json: &str) -> PyResult<String> {
    let layouts = hypertwin_engine::layouts(&parse(scenario_json)?);
    let layouts = layouts.ok_or_else(|| RunFailed::new_err(hypertwin_engine::RunError::NoPlacement.to_string()))?;
    json(&BTreeMap::from([("vms", layouts)]))
}

/// True if the hosts that are up have a quorum of a cluster: more than half of the votes, with those of a quorum
/// device.
#[pyfunction]
fn has_quorum(up: usize, hosts: usize, has_device: bool) -> bool {
    hypertwin_engine::has_quorum(up, hosts, has_device)
}

/// Shortest and longest time in seconds from a failure to the first restart by an HA type, if the host that manages HA
/// fails or another one.
#[pyfunction]
fn detection_s(policy: &str, is_primary: bool) -> PyResult<[f64; 2]> {
    let of = serde_json::from_value(serde_json::Value::from(policy));
    let of = of.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(hypertwin_engine::detection_s(of, is_primary))
}

/// Migration settings of the hosts of a scenario, and memory sent for its VMs, by group, as a JSON object {"hosts":
/// ..., "vms": ...}.
#[pyfunction]
fn migration_facts(scenario_json: &str) -> PyResult<String> {
    json(&hypertwin_engine::MigrationFacts::of(&parse(scenario_json)?))
}

/// Seed of replication `replication` of a point whose seed is `seed`.
#[pyfunction]
fn replication_seed(seed: u64, replication: u64) -> u64 {
    hypertwin_engine::replication_seed(seed, replication)
}

/// Simulate a scenario once; other Python threads run meanwhile.
#[pyfunction]
fn run(py: Python<'_>, scenario_json: &str, seed: u64) -> PyResult<Replication> {
    let scenario = parse(scenario_json)?;
    py.detach(|| hypertwin_engine::Islands::of(scenario)?.run_all(seed))
        .map(Replication)
        .map_err(run_failed)
}

/// A run that advances one sample of the timeline at a time: an iterator of JSON texts, one per interval.
#[pyclass(frozen, module = "hypertwin._core")]
struct SampledRun(Mutex<hypertwin_engine::SampledRun>);

#[pymethods]
impl SampledRun {
    /// Start a run of a scenario with the random streams of `seed`.
    #[new]
    fn new(scenario_json: &str, seed: u64) -> PyResult<Self> {
        hypertwin_engine::SampledRun::new(&parse(scenario_json)?, seed)
            .map(|run| Self(Mutex::new(run)))
            .map_err(run_failed)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Advance to the end of the next interval; other Python threads run meanwhile.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let next = || {
            let mut run = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            run.next_sample()
        };
        let sample = py.detach(next).map_err(run_failed)?;
        sample.map(|sample| json(&sample)).transpose()
    }
}

/// Seconds of measured time until the initial transient of a run ends, by MSER-5; None if it does not settle.
#[pyfunction]
fn transient_s(replication: &Replication) -> Option<f64> {
    replication.0.transient_s()
}

/// Half-width of the 95% confidence interval of the mean of independent values (Student's t); None below two values.
#[pyfunction]
fn half_width_95(values: Vec<f64>) -> Option<f64> {
    hypertwin_engine::half_width_95(&values)
}

/// Report of one point as JSON, from its replications in order; a brief one has no groups and no timeline.
#[pyfunction]
#[pyo3(signature = (replications, *, brief = false))]
fn aggregate(replications: Vec<Py<Replication>>, brief: bool) -> PyResult<String> {
    if replications.is_empty() {
        return Err(PyValueError::new_err("a report needs at least one replication"));
    }
    let all: Vec<_> = replications.iter().map(|replication| &replication.get().0).collect();
    let mut report = hypertwin_engine::aggregate(&all);
    if brief {
        report.shorten();
    }
    json(&report)
}

/// The structs of reports with the definitions of their metrics, as a JSON list.
#[pyfunction]
fn metrics() -> PyResult<String> {
    json(&hypertwin_engine::metric_tables())
}

/// The bands of all metrics used to judge a point, as a JSON list.
#[pyfunction]
fn bands() -> PyResult<String> {
    json(&hypertwin_engine::BANDS)
}

/// Compact JSON, indented by 2 like Python's `json.dumps`, at some depth of a document.
#[pyfunction]
fn indented(json: &str, depth: usize) -> String {
    indent::indented(json, depth)
}

/// Speed of the spin kernel on each of `cpus`, all busy at once, as JSON.
#[pyfunction]
fn lab_spin(py: Python<'_>, cpus: Vec<usize>, samples: usize) -> PyResult<String> {
    json(&py.detach(|| lab::spin(&cpus, samples)).map_err(lab_failed)?)
}

/// Memory bandwidth of one thread on each of `cpus` together, as JSON.
#[pyfunction]
fn lab_bandwidth(py: Python<'_>, cpus: Vec<usize>, array_bytes: usize, repetitions: usize) -> PyResult<String> {
    json(
        &py.detach(|| lab::bandwidth(&cpus, array_bytes, repetitions))
            .map_err(lab_failed)?,
    )
}

/// Wake-up delays of sleeps of `sleep_ns` on `cpu`, as JSON.
#[pyfunction]
fn lab_timers(py: Python<'_>, cpu: usize, sleep_ns: u64, samples: usize) -> PyResult<String> {
    json(&py.detach(|| lab::timers(cpu, sleep_ns, samples)).map_err(lab_failed)?)
}

/// Nanoseconds of a hand-over between two threads on `cpu`, as JSON.
#[pyfunction]
fn lab_context_switch(py: Python<'_>, cpu: usize, rounds: usize, repetitions: usize) -> PyResult<String> {
    json(
        &py.detach(|| lab::context_switch(cpu, rounds, repetitions))
            .map_err(lab_failed)?,
    )
}

/// Run an experiment of contending threads; input and result are JSON.
#[pyfunction]
fn lab_experiment(py: Python<'_>, experiment_json: &str) -> PyResult<String> {
    let experiment = serde_json::from_str(experiment_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    json(&py.detach(|| lab::experiment(&experiment)).map_err(lab_failed)?)
}

fn run_failed(error: hypertwin_engine::RunError) -> PyErr {
    RunFailed::new_err(error.to_string())
}

fn lab_failed(error: lab::LabError) -> PyErr {
    LabFailed::new_err(error.to_string())
}

fn parse(text: &str) -> PyResult<Scenario> {
    Scenario::from_json(text).map_err(|found| mistakes(&found))
}

fn mistakes(found: &[Mistake]) -> PyErr {
    json(&found).map_or_else(|error| error, ScenarioMistakes::new_err)
}

fn quantity<Q: FromStr<Err = QuantityError>>(text: &str) -> PyResult<Q> {
    text.parse()
        .map_err(|error: QuantityError| PyValueError::new_err(error.to_string()))
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| RunFailed::new_err(error.to_string()))
}

/// The compiled core of hypertwin.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioMistakes", module.py().get_type::<ScenarioMistakes>())?;
    module.add("RunFailed", module.py().get_type::<RunFailed>())?;
    module.add("LabFailed", module.py().get_type::<LabFailed>())?;
    module.add_class::<Replication>()?;
    module.add_class::<Islands>()?;
    module.add_class::<Meter>()?;
    module.add_class::<SampledRun>()?;
    module.add_class::<model_error::Intervals>()?;
    module.add_class::<model_error::ModelError>()?;
    module.add_class::<model_error::PointErrors>()?;
    module.add_function(wrap_pyfunction!(model_error::kind_of, module)?)?;
    module.add_function(wrap_pyfunction!(model_error::is_share, module)?)?;
    module.add_function(wrap_pyfunction!(model_error::error_ratio, module)?)?;
    module.add_function(wrap_pyfunction!(model_error::shifted, module)?)?;
    module.add_function(wrap_pyfunction!(model_error::around, module)?)?;
    module.add_function(wrap_pyfunction!(model_error::with_error, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(inventory, module)?)?;
    module.add_function(wrap_pyfunction!(classes, module)?)?;
    module.add_function(wrap_pyfunction!(member_names, module)?)?;
    module.add_function(wrap_pyfunction!(hypervisors, module)?)?;
    module.add_function(wrap_pyfunction!(pool_facts, module)?)?;
    module.add_function(wrap_pyfunction!(drives, module)?)?;
    module.add_function(wrap_pyfunction!(misspelt_drive, module)?)?;
    module.add_function(wrap_pyfunction!(limits, module)?)?;
    module.add_function(wrap_pyfunction!(redundancy, module)?)?;
    module.add_function(wrap_pyfunction!(memory_overhead, module)?)?;
    module.add_function(wrap_pyfunction!(frequency_hz, module)?)?;
    module.add_function(wrap_pyfunction!(duration_s, module)?)?;
    module.add_function(wrap_pyfunction!(size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(bandwidth_bytes_per_s, module)?)?;
    module.add_function(wrap_pyfunction!(rate_per_s, module)?)?;
    module.add_function(wrap_pyfunction!(durability, module)?)?;
    module.add_function(wrap_pyfunction!(vnuma, module)?)?;
    module.add_function(wrap_pyfunction!(detection_s, module)?)?;
    module.add_function(wrap_pyfunction!(has_quorum, module)?)?;
    module.add_function(wrap_pyfunction!(migration_facts, module)?)?;
    module.add_function(wrap_pyfunction!(replication_seed, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(transient_s, module)?)?;
    module.add_function(wrap_pyfunction!(half_width_95, module)?)?;
    module.add_function(wrap_pyfunction!(indented, module)?)?;
    module.add_function(wrap_pyfunction!(lab_spin, module)?)?;
    module.add_function(wrap_pyfunction!(lab_bandwidth, module)?)?;
    module.add_function(wrap_pyfunction!(lab_timers, module)?)?;
    module.add_function(wrap_pyfunction!(lab_context_switch, module)?)?;
    module.add_function(wrap_pyfunction!(lab_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(aggregate, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(bands, module)?)
}
