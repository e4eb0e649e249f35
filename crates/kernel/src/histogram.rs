//! Latency histograms.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// A histogram of durations in nanoseconds with three significant digits (High Dynamic Range histogram, by the
/// `hdrhistogram` crate), next to the exact count, sum, least and largest value. Grows with the largest value seen:
/// about 84 KiB for values up to a second. A bucket counts to 4.29 thousand million.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u32>,
    sum_ns: u128,
    min_ns: Nanos,
    max_ns: Nanos,
}

/// A [`Histogram`] as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramSnapshot {
    /// Number of values.
    pub count: u64,
    /// Exact sum of the values, ns.
    pub sum_ns: u128,
    /// Least value, ns; 0 when there is none.
    pub min_ns: Nanos,
    /// Largest value, ns; 0 when there is none.
    pub max_ns: Nanos,
    /// Each bucket that is not empty: the least value it stands for (ns), and how many values it holds.
    pub buckets: Vec<(Nanos, u64)>,
}

/// Values beyond this (ns) are counted here: 2^62 ns are 146 years.
const HIGHEST_NS: Nanos = 1 << 62;

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Without values.
    #[must_use]
    pub fn new() -> Self {
        let mut counts = hdrhistogram::Histogram::new(3).expect("three significant digits are allowed");
        counts.auto(true);
        Self {
            counts,
            sum_ns: 0,
            min_ns: Nanos::MAX,
            max_ns: 0,
        }
    }

    /// Adds one value, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: Nanos) {
        let ns = ns.min(HIGHEST_NS);
        self.counts
            .record(ns)
            .expect("the histogram grows to any value below its highest");
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds every value of `other`. The result is exactly the histogram of all values together.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("both grow");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets every value, at the end of the warm-up.
    pub fn reset(&mut self) {
        self.counts.reset();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, Nanos::MAX, 0);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Exact mean, ns; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            self.sum_ns as f64 / self.count() as f64
        }
    }

    /// The least value, ns; 0 without values.
    #[must_use]
    pub fn min(&self) -> Nanos {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// The largest value, ns; 0 without values.
    #[must_use]
    pub fn max(&self) -> Nanos {
        self.max_ns
    }

    /// The value below or at which the share `q` (0 to 1) of all values lies, ns, to three significant digits; 0
    /// without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Nanos {
        self.counts.value_at_quantile(q).clamp(self.min(), self.max())
    }

    /// This histogram as plain data, to write or send.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        HistogramSnapshot {
            count: self.count(),
            sum_ns: self.sum_ns,
            min_ns: self.min(),
            max_ns: self.max(),
            buckets: self
                .counts
                .iter_recorded()
                .map(|bucket| {
                    (
                        self.counts.lowest_equivalent(bucket.value_iterated_to()),
                        u64::from(bucket.count_at_value()),
                    )
                })
                .collect(),
        }
    }

    /// The histogram a snapshot was taken of.
    #[must_use]
    pub fn from_snapshot(snapshot: &HistogramSnapshot) -> Self {
        let mut histogram = Self::new();
        for &(ns, count) in &snapshot.buckets {
            histogram
                .counts
                .record_n(ns.min(HIGHEST_NS), u32::try_from(count).unwrap_or(u32::MAX))
                .expect("the histogram grows");
        }
        if snapshot.count > 0 {
            histogram.sum_ns = snapshot.sum_ns;
            (histogram.min_ns, histogram.max_ns) = (snapshot.min_ns, snapshot.max_ns);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[Nanos]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&v| histogram.record(v));
        histogram
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn merged_parts_are_the_whole(
            values in prop::collection::vec(0u64..10_000_000_000, 1..300), cut in 0usize..300
        ) {
            let cut = cut.min(values.len());
            let whole = histogram(&values);
            let mut merged = histogram(&values[..cut]);
            merged.merge(&histogram(&values[cut..]));
            prop_assert_eq!(merged.snapshot(), whole.snapshot());
            let json = serde_json::to_string(&whole.snapshot()).unwrap();
            let back = Histogram::from_snapshot(&serde_json::from_str(&json).unwrap());
            prop_assert_eq!(back.snapshot(), whole.snapshot());

            let mut sorted = values.clone();
            sorted.sort_unstable();
            for q in [0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
                let exact = sorted[rank - 1] as f64;
                prop_assert!((back.quantile(q) as f64 - exact).abs() <= 1e-3 * exact, "q {}", q);
            }
            prop_assert_eq!(whole.mean(), values.iter().sum::<u64>() as f64 / values.len() as f64);
        }
    }

    #[test]
    fn edges() {
        let mut histogram = Histogram::new();
        assert_eq!(
            (
                histogram.mean(),
                histogram.quantile(0.5),
                histogram.min(),
                histogram.max()
            ),
            (0.0, 0, 0, 0)
        );
        assert_eq!(
            Histogram::from_snapshot(&histogram.snapshot()).snapshot(),
            histogram.snapshot()
        );
        histogram.record(Nanos::MAX);
        histogram.record(0);
        assert_eq!((histogram.count(), histogram.max()), (2, HIGHEST_NS));
        histogram.reset();
        assert!(histogram.is_empty());
    }
}
