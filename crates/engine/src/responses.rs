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

    /// Those since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sum_ns: self.sum_ns - before.sum_ns,
            count: self.count - before.count,
        }
    }

    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.sum_ns as f64 / self.count as f64 / 1e6
        }
    }
}

/// Distributions of response times or latencies, handed out at the end of a run.
pub struct Distributions {
    /// Per group: that of the VMs that keep none of their own.
    pub groups: Vec<Histogram>,
    /// Per VM: its own.
    pub vms: Vec<Option<Histogram>>,
}
