//! Factors of the real figure over the twin's, by area and kind.

use super::kinds::{Area, Kind};
use serde_json::{Map, Value};

/// The intervals of a scenario: `{"level_pct": 80.0, "bases": {"cpu usage": {"low_factor", "high_factor", ...}}}`. What
/// else is in a basis is passed on with the figures that it stands behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// The share of real figures that such an interval is to contain.
    pub(super) level_pct: f64,
    bases: Map<String, Value>,
}

/// A text that is no table of intervals.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no intervals by area and kind: {0}")]
pub struct IntervalsError(String);

/// The factors of a basis, and its name.
pub(super) struct Factors {
    pub name: String,
    pub low: f64,
    pub high: f64,
}

impl Intervals {
    /// Reads a table.
    ///
    /// # Errors
    /// [`IntervalsError`] if it lacks a level, bases, or factors of one.
    pub fn from_json(text: &str) -> Result<Self, IntervalsError> {
        let table: Value = serde_json::from_str(text).map_err(|error| IntervalsError(error.to_string()))?;
        let lacks = |key: &str| IntervalsError(format!("{key} is missing"));
        let level_pct = table["level_pct"].as_f64().ok_or_else(|| lacks("level_pct"))?;
        let Some(bases) = table["bases"].as_object() else {
            return Err(lacks("bases"));
        };
        for (name, basis) in bases {
            for key in ["low_factor", "high_factor"] {
                basis[key].as_f64().ok_or_else(|| lacks(&format!("{key} of {name}")))?;
            }
        }
        Ok(Self {
            level_pct,
            bases: bases.clone(),
        })
    }

    /// The factors of an area and a kind; `None` without evidence.
    pub(super) fn factors(&self, area: Area, kind: Kind) -> Option<Factors> {
        let name = format!("{} {}", area.name(), kind.name());
        let basis = self.bases.get(&name)?;
        let [low, high] = ["low_factor", "high_factor"].map(|key| basis[key].as_f64().unwrap_or(1.0));
        Some(Factors { name, low, high })
    }

    /// A basis as it was given.
    pub(super) fn basis(&self, name: &str) -> Value {
        self.bases.get(name).cloned().unwrap_or_default()
    }
}
