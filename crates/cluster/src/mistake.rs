//! One error of a scenario, for all front ends.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of errors that are listed. Further errors are only counted.
pub(crate) const MAX_MISTAKES: usize = 500;

/// One error of a scenario.
///
/// `Display` prints one line: path, value, allowed values and hint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {value} ({code}); allowed: {allowed}; hint: {hint}")]
pub struct Mistake {
    /// Stable code of the error, such as `unknown-key` or `vm-wider-than-host`.
    pub code: String,
    /// Location: keys joined by dots (`vms.db.vcpus`); empty for the scenario as a whole.
    pub path: String,
    /// The value as written, shortened if long; `(missing)` if there is none.
    pub value: String,
    /// Allowed values.
    pub allowed: String,
    /// Suggested fix.
    pub hint: String,
}

/// An error with its path as single keys.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) path: Vec<String>,
    pub(crate) mistake: Mistake,
    /// The only value that can have been meant, if there is one: it is taken.
    pub(crate) meant: Option<Value>,
}

impl Issue {
    pub(crate) fn new<'p>(
        path: impl IntoIterator<Item = &'p str>,
        code: &str,
        value: String,
        allowed: String,
        hint: String,
    ) -> Self {
        let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
        let shown: Vec<String> = path.iter().map(|key| shorten(key, 80)).collect();
        let mistake = Mistake {
            code: code.to_owned(),
            path: shown.join("."),
            value,
            allowed,
            hint,
        };
        Self {
            path,
            mistake,
            meant: None,
        }
    }

    pub(crate) fn meaning(self, meant: Option<Value>) -> Self {
        Self { meant, ..self }
    }
}

/// A value that has one reading, and was taken as that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Location: keys joined by dots.
    pub path: String,
    /// The value as written.
    pub written: Value,
    /// The value that it stands for.
    pub meant: Value,
}

/// At most `most` characters of `text`, on one line.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let mut short: String = text
        .chars()
        .take(most)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(most).is_some() {
        short.push_str("...");
    }
    short
}

/// A text for messages.
pub(crate) fn show_text(text: &str) -> String {
    format!("\"{}\"", shorten(text, 60))
}

/// A value for messages.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".to_owned(),
        Value::String(text) => show_text(text),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) => match map.keys().next() {
            Some(first) => format!("a mapping with the key {}", shorten(first, 40)),
            None => "an empty mapping".to_owned(),
        },
        other => shorten(&other.to_string(), 60),
    }
}

/// The candidate that `word` most likely misspells; of equals the first.
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
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}
