//! How late a thread wakes: from the moment its sleep was due to its first instruction, on an idle CPU.

use crate::LabError;
use crate::statistics::quantile;
use crate::system::{exact_timers, now_ns, pinned_threads, sleep_until};
use serde::Serialize;

/// How late sleeps end, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Overshoot {
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 95th percentile.
    pub p95_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Mean of what lies between the 5th and the 95th percentile: what an undisturbed machine takes.
    pub typical_ns: f64,
    /// Sleeps measured.
    pub samples: usize,
}

/// Sleeps `samples` times for `sleep_ns` on `cpu`, with the least timer slack.
///
/// # Errors
/// When the CPU may not be used.
pub fn overshoot(cpu: usize, sleep_ns: u64, samples: usize) -> Result<Overshoot, LabError> {
    let mut late = pinned_threads(&[cpu], |_, _| {
        exact_timers()?;
        Ok((0..samples.max(1))
            .map(|_| {
                let due = now_ns() + sleep_ns;
                sleep_until(due);
                now_ns().saturating_sub(due) as f64
            })
            .collect::<Vec<_>>())
    })?
    .remove(0);
    late.sort_by(f64::total_cmp);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let cut = late.len() / 20;
    Ok(Overshoot {
        mean_ns: mean(&late),
        p50_ns: quantile(&late, 0.5),
        p95_ns: quantile(&late, 0.95),
        p99_ns: quantile(&late, 0.99),
        typical_ns: mean(&late[cut..late.len() - cut]),
        samples: late.len(),
    })
}
