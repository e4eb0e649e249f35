//! Sums of response times and latencies.

use bitcode::{Decode, Encode};
use hypertwin_kernel::Histogram;

/// Sum and number of response times.
#[derive(Clone, Copy, Debug, Default, Encode, Decode)]
pub struct Responses {
    pub sum_ns: u128,
    pub count: u64,
}

impl Responses {
    /// Those of a distribution.
    pub fn of(distribution: &Histogram) -> Self {
        Self {
            sum_ns: distribution.sum_ns(),
            count: distribution.count(),
        }
    }

    /// These and `other` together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            sum_ns: self.sum_ns + other.sum_ns,
            count: self.count + other.count,
        }
    }

    /// Those since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sum_ns: self.sum_ns - before.sum_ns,
            count: self.count - before.count,
        }
    }

    /// The mean; NaN without any.
    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum_ns as f64 / self.count as f64 / 1e6
        }
    }

    /// The mean, if there are any.
    pub fn mean_ms_or_none(&self) -> Option<f64> {
        (self.count > 0).then(|| self.mean_ms())
    }
}
