//! Means, and how sure they are.

use hypertwin_kernel::{batch_means, half_width_95};

/// Batches into which the series of a single replication is cut for its confidence interval.
pub const BATCHES: usize = 20;

/// Mean of some values; 0 without any.
pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Half-width of a metric over replications, or over batches of the series of a single one.
pub fn confidence(values: Vec<f64>, series: Option<&[f64]>) -> Option<f64> {
    if values.len() > 1 {
        half_width_95(&values)
    } else {
        batch_means(series?, BATCHES).map(|(_, half)| half)
    }
    .filter(|half| half.is_finite())
}
