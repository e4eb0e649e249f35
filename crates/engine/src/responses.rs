//! Sums of response times and latencies.

use hypertwin_kernel::{Histogram, Nanos};

/// Sum and number of response times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    pub sum_ns: u128,
    pub count: u64,
}

impl Responses {
    pub fn add(&mut self, ns: Nanos) {
        self.sum_ns += u128::from(ns);
        self.count += 1;
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

/// Distributions, handed out at the end of a run: of response times, or of the latencies of reads and of writes.
pub struct Distributions<D> {
    /// Per group: that of the VMs that keep none of their own.
    pub groups: Vec<D>,
    /// Per VM: its own.
    pub vms: Vec<Option<D>>,
}

pub type ResponseDistributions = Distributions<Histogram>;
pub type LatencyDistributions = Distributions<[Histogram; 2]>;
