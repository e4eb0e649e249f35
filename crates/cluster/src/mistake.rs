//! One mistake in a scenario, as every front end reports it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One mistake in a scenario.
///
/// `Display` gives one line: path, value, what is allowed, and the hint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {value} ({code}); allowed: {allowed}; hint: {hint}")]
pub struct Mistake {
    /// Stable name of the kind of mistake, such as `unknown-key` or `vm-wider-than-host`.
    pub code: String,
    /// Where it is: keys joined by dots (`vms.db.vcpus`); empty for the scenario as a whole.
    pub path: String,
    /// The value as written, shortened when long; `(missing)` where there is none.
    pub value: String,
    /// What would be accepted there.
    pub allowed: String,
    /// What to do about it.
    pub hint: String,
}

/// A mistake as it is found, with its path key by key.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) path: Vec<String>,
    pub(crate) mistake: Mistake,
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
        Self { path, mistake }
    }
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

/// A text as a message shows it.
pub(crate) fn show_text(text: &str) -> String {
    format!("\"{}\"", shorten(text, 60))
}

/// A value as a message shows it.
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

/// The candidate that `word` is most likely a misspelling of; of equals the first.
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
