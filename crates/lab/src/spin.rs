//! The spin kernel: work whose speed depends on the clock of the core alone.
//!
//! One unit is one round of a chain of integer operations, each of which needs the result of the one before. It touches
//! no memory, so neither caches nor other cores' traffic change its speed, and being bound by latency it hardly slows
//! down beside a busy hyper-threading sibling whose work is of the same kind.

use crate::LabError;
use crate::statistics::Figure;
use std::hint::black_box;

/// An odd constant of SplitMix64, so that the chain does not degenerate.
const FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;

/// Works `units` units. The result depends on every one of them.
#[inline(never)]
pub fn spin(units: u64) -> u64 {
    let mut x = black_box(units | 1);
    for _ in 0..units {
        x ^= x >> 31;
        x = x.wrapping_mul(FACTOR);
    }
    black_box(x)
}

/// Speed of `work` in units per second by `clock` (nanoseconds), one sample per repetition of about `sample_ns`.
///
/// The size of a repetition is found first, by doubling until it is long enough to time; the repetitions that found it
/// are no samples, so a cold start does not count.
///
/// # Errors
/// When the clock stands still.
pub fn calibrate(
    mut work: impl FnMut(u64),
    mut clock: impl FnMut() -> u64,
    sample_ns: u64,
    samples: usize,
) -> Result<Figure, LabError> {
    let mut timed = |units: u64| {
        let begin = clock();
        work(units);
        clock().saturating_sub(begin)
    };
    let mut units = 1024;
    let mut took = timed(units);
    while took < sample_ns / 4 {
        if units >= 1 << 50 {
            return Err(LabError::system(
                "calibrating the spin kernel",
                "the clock stands still",
            ));
        }
        units *= 2;
        took = timed(units);
    }
    let units = ((units as f64 * sample_ns as f64 / took as f64) as u64).max(1);
    let rates = (0..samples.max(1)).map(|_| units as f64 * 1e9 / timed(units).max(1) as f64);
    Ok(Figure::of(rates.collect()))
}

#[cfg(target_os = "linux")]
pub use linux::{SpinSpeed, speed};

#[cfg(target_os = "linux")]
mod linux {
    use super::{calibrate, spin};
    use crate::LabError;
    use crate::statistics::Figure;
    use crate::system::{now_ns, pinned_threads, thread_cpu_ns};
    use serde::Serialize;

    /// Speed of the spin kernel on one logical CPU.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct SpinSpeed {
        /// The logical CPU.
        pub cpu: usize,
        /// Units per second of CPU time.
        pub units_per_s: Figure,
        /// Units per second of wall time: less where others took the CPU.
        pub units_per_wall_s: f64,
    }

    /// Speed on each of `cpus`, all of them busy at the same time, in samples of 20 ms of CPU time.
    ///
    /// # Errors
    /// When a CPU does not exist or may not be used.
    pub fn speed(cpus: &[usize], samples: usize) -> Result<Vec<SpinSpeed>, LabError> {
        pinned_threads(cpus, |cpu, barrier| {
            barrier.wait();
            let begin = now_ns();
            let mut done = 0;
            let work = |units| {
                done += units;
                spin(units);
            };
            let figure = calibrate(work, thread_cpu_ns, 20_000_000, samples)?;
            Ok(SpinSpeed {
                cpu,
                units_per_s: figure,
                units_per_wall_s: done as f64 * 1e9 / (now_ns() - begin).max(1) as f64,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_unit_counts() {
        let results: Vec<u64> = (0..8).map(|extra| spin(1000 * 2 + 2 * extra)).collect();
        for (position, result) in results.iter().enumerate() {
            assert!(!results[..position].contains(result), "units were skipped");
        }
    }

    #[test]
    fn calibration_finds_the_speed_of_a_known_machine() {
        // a machine that works 3 units a nanosecond, and half as fast while it is cold
        let now = Cell::new(0u64);
        let total = Cell::new(0u64);
        let work = |units: u64| {
            let speed = if total.get() < 1_000_000 { 1.5 } else { 3.0 };
            total.set(total.get() + units);
            now.set(now.get() + (units as f64 / speed).round() as u64);
        };
        let figure = calibrate(work, || now.get(), 20_000_000, 9).expect("the clock runs");
        assert!((figure.median / 3e9 - 1.0).abs() < 1e-6, "{figure:?}");
        assert_eq!(figure.samples, 9);
        assert!(figure.spread_pct < 1e-3, "{figure:?}");
    }

    #[test]
    fn calibration_notices_a_clock_that_stands_still() {
        let error = calibrate(|_| (), || 7, 1_000_000, 3).expect_err("nothing can be timed");
        assert!(error.to_string().contains("stands still"), "{error}");
    }
}
