//! Statistics of observations and of quantities over time.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// Count, mean, variance and range of a series of observations, in one pass and mergeable.
///
/// Welford's method (Technometrics 4(3), 1962); merging by Chan, Golub and LeVeque (1979).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    count: u64,
    mean: f64,
    m2: f64,
    min: f64,
    max: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            count: 0,
            mean: 0.0,
            m2: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Tally {
    /// Without observations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one observation.
    #[inline]
    pub fn record(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.m2 += off * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds every observation of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let off = other.mean - self.mean;
        self.count += other.count;
        self.mean += off * theirs / (mine + theirs);
        self.m2 += other.m2 + off * off * mine * theirs / (mine + theirs);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, at the end of the warm-up.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; 0 without observations.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Sum of squared distances from the mean.
    #[must_use]
    pub fn m2(&self) -> f64 {
        self.m2
    }

    /// Sample variance (n - 1 in the denominator); 0 below two observations.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            0.0
        } else {
            self.m2 / (self.count - 1) as f64
        }
    }

    /// Smallest observation, `None` without any.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest observation, `None` without any.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

/// A quantity that is constant between changes: its integral and mean over time.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct TimeAverage {
    start: Nanos,
    last: Nanos,
    value: f64,
    area: f64,
}

impl TimeAverage {
    /// 0 from time 0 on.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `value` from `now` on, which is also where the average starts.
    #[must_use]
    pub fn starting(now: Nanos, value: f64) -> Self {
        Self {
            start: now,
            last: now,
            value,
            area: 0.0,
        }
    }

    /// The quantity becomes `value` at `now`. Times never decrease.
    #[inline]
    pub fn set(&mut self, now: Nanos, value: f64) {
        debug_assert!(now >= self.last, "time runs backwards");
        self.area += self.value * (now - self.last) as f64;
        self.last = now;
        self.value = value;
    }

    /// The quantity changes by `delta` at `now`.
    #[inline]
    pub fn add(&mut self, now: Nanos, delta: f64) {
        self.set(now, self.value + delta);
    }

    /// The quantity as last set.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Starts the average anew at `now`, at the end of the warm-up; the quantity keeps its value.
    pub fn reset(&mut self, now: Nanos) {
        *self = Self::starting(now, self.value);
    }

    /// Integral over time from the start to `now`, in the quantity's unit times nanoseconds.
    #[must_use]
    pub fn integral(&self, now: Nanos) -> f64 {
        debug_assert!(now >= self.last, "time runs backwards");
        self.area + self.value * (now - self.last) as f64
    }

    /// Mean over time from the start to `now`; the present value when no time has passed.
    #[must_use]
    pub fn mean(&self, now: Nanos) -> f64 {
        if now <= self.start {
            self.value
        } else {
            self.integral(now) / (now - self.start) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tally(values: &[f64]) -> Tally {
        let mut tally = Tally::new();
        values.iter().for_each(|&v| tally.record(v));
        tally
    }

    proptest! {
        #[test]
        fn tally_agrees_with_two_passes(values in prop::collection::vec(-1e6..1e6, 1..200), cut in 0usize..200) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let m2: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            let whole = tally(&values);
            prop_assert!((whole.mean() - mean).abs() < 1e-6);
            prop_assert!((whole.m2() - m2).abs() <= 1e-9 * m2.max(1.0));
            prop_assert_eq!(whole.max(), values.iter().copied().reduce(f64::max));
            let cut = cut.min(values.len());
            let mut merged = tally(&values[..cut]);
            merged.merge(&tally(&values[cut..]));
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert!((merged.mean() - mean).abs() < 1e-6);
            prop_assert!((merged.m2() - m2).abs() <= 1e-9 * m2.max(1.0));
            prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        }
    }

    #[test]
    fn variance_keeps_its_digits_far_from_zero() {
        let far = tally(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!(far.variance(), 30.0);
    }

    #[test]
    fn time_average_by_hand() {
        let mut queue = TimeAverage::new();
        queue.set(10, 2.0);
        queue.add(30, 1.0);
        assert_eq!(queue.integral(40), 70.0);
        assert_eq!(queue.mean(40), 1.75);
        queue.reset(40);
        assert_eq!(queue.mean(40), 3.0);
        queue.set(50, 0.0);
        assert_eq!(queue.mean(60), 1.5);
    }
}
