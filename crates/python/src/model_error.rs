//! The twin's own error: areas, kinds and intervals of figures.

use std::sync::Arc;

use hypertwin_engine as engine;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

/// Intervals by area and kind, as factors of the twin's figures.
#[pyclass(frozen, module = "hypertwin._core")]
pub struct Intervals(Arc<engine::Intervals>);

#[pymethods]
impl Intervals {
    /// Read a table; ValueError gives the reason if the text has none.
    #[new]
    fn new(intervals_json: &str) -> PyResult<Self> {
        let read = engine::Intervals::from_json(intervals_json);
        read.map(|read| Self(Arc::new(read))).map_err(invalid)
    }
}

/// The twin's error for the points of a scenario, of which only the keys `vms`, `arrays` and `workloads` matter.
#[pyclass(frozen, eq, module = "hypertwin._core")]
#[derive(PartialEq)]
pub struct ModelError(engine::ModelError);

#[pymethods]
impl ModelError {
    #[new]
    fn new(scenario_json: &str, intervals: &Intervals) -> PyResult<Self> {
        engine::ModelError::new(scenario_json, Arc::clone(&intervals.0))
            .map(Self)
            .map_err(invalid)
    }

    /// The error of the point with this report.
    fn at(&self, report_json: &str) -> PyResult<PointErrors> {
        self.0.at(report_json).map(PointErrors).map_err(invalid)
    }
}

/// The twin's error for the figures of a point.
#[pyclass(frozen, module = "hypertwin._core")]
pub struct PointErrors(engine::PointErrors);

#[pymethods]
impl PointErrors {
    /// All intervals, as JSON.
    fn document(&self) -> String {
        self.0.document().to_string()
    }

    /// The interval of a value of a figure, by its flat key, or None without error.
    fn ends(&self, section: &str, name: &str, key: &str, value: f64) -> Option<(f64, f64)> {
        self.0.ends(section, name, key, value)
    }

    /// The area of a figure, by its flat key.
    fn area(&self, section: &str, name: &str, key: &str) -> &'static str {
        self.0.area(section, name, key).name()
    }
}

/// The kind of the figure at a path, in an area if there is one, or None for a figure without error.
#[pyfunction]
pub fn kind_of(path: &str, area: &str) -> Option<&'static str> {
    engine::Kind::of(path, engine::Area::of(area)).map(engine::Kind::name)
}

/// True if a figure is a percentage of CPU time.
#[pyfunction]
pub fn is_share(path: &str) -> bool {
    engine::is_share(path)
}

/// Real figure over the twin's, of percentages with points added to both, or None if one is zero or negative.
#[pyfunction]
pub fn error_ratio(real: f64, twin: f64, share: bool) -> Option<f64> {
    engine::error_ratio(real, twin, share)
}

/// The real figure if the twin's has an error of this factor.
#[pyfunction]
pub fn shifted(twin: f64, factor: f64, share: bool) -> f64 {
    engine::shifted(twin, factor, share)
}

/// The interval of the real figure, from the factors of its ends. It contains the twin's figure.
#[pyfunction]
pub fn around(twin: f64, low_factor: f64, high_factor: f64, share: bool) -> (f64, f64) {
    engine::around(twin, low_factor, high_factor, share)
}

/// The answer of a result as JSON, with what the twin's own error can break. `errors` has the intervals by group of
/// each point behind the answer, as JSON; `helps` has sentences that follow the answer directly.
#[pyfunction]
pub fn with_error(answer_json: &str, errors: Vec<String>, helps: Vec<String>) -> PyResult<String> {
    let read = |text: &str| serde_json::from_str::<Value>(text).map_err(invalid);
    let errors = errors.iter().map(|each| read(each)).collect::<PyResult<Vec<_>>>()?;
    let errors: Vec<&Value> = errors.iter().collect();
    Ok(engine::with_error(&read(answer_json)?, &errors, &helps).to_string())
}

fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}
