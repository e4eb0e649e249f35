//! The answer of a result, with what the twin's own error can break.

use crate::measure::{BANDS, judge::number};
use serde_json::{Value, json};

/// An answer (`tone`, `text` and `more`) with the twin's own error: nothing is good that can be critical at the worse
/// end of an interval. `errors` are the intervals by group of the points behind the answer, and `helps` sentences that
/// follow the answer directly.
pub fn with_error(found: &Value, errors: &[&Value], helps: &[String]) -> Value {
    let is_good = found["tone"] == "good";
    let near = is_good.then(|| nearest(errors)).flatten();
    let tone = if near.is_some() {
        "warn".into()
    } else {
        found["tone"].clone()
    };
    let near = near.into_iter().chain(helps.iter().cloned()).map(Value::from);
    let more: Vec<Value> = near
        .chain(found["more"].as_array().into_iter().flatten().cloned())
        .collect();
    json!({"tone": tone, "text": found["text"], "more": more})
}

/// The figure of a group that is furthest beyond its critical limit at the worse end, in a sentence.
fn nearest(errors: &[&Value]) -> Option<String> {
    let mut worst: Option<(f64, String)> = None;
    for (group, figures) in errors.iter().filter_map(|groups| groups.as_object()).flatten() {
        for band in &BANDS {
            let (Some(limit), Some(high)) = (band.critical, figures[band.figure()]["high"].as_f64()) else {
                continue;
            };
            if high <= limit || worst.as_ref().is_some_and(|(so_far, _)| high / limit <= *so_far) {
                continue;
            }
            let unit = if band.unit == "%" {
                "%".to_owned()
            } else {
                format!(" {}", band.unit)
            };
            let text = format!(
                "Not surely: with the twin's own error, {} of {group} can reach {}{} (critical above {}).",
                band.what,
                number(high),
                unit.trim_end(),
                number(limit)
            );
            worst = Some((high / limit, text));
        }
    }
    worst.map(|(_, text)| text)
}
