//! Speed-up against size.

/// The Universal Scalability Law: with n workers the capacity is C(n) = n / (1 + α (n - 1) + β n (n - 1)) times that of
/// one. Source: Gunther, "Guerrilla Capacity Planning", 2007. With β = 0 it is Amdahl's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniversalScalability {
    /// α: the share of the work that only one worker can do at a time.
    pub contention: f64,
    /// β: the cost of agreement between each pair of workers.
    pub coherency: f64,
}

impl UniversalScalability {
    /// The capacity of `workers` relative to one worker.
    #[must_use]
    pub fn capacity(&self, workers: f64) -> f64 {
        let others = workers - 1.0;
        workers / (1.0 + self.contention * others + self.coherency * workers * others)
    }

    /// The number of workers with the largest capacity, sqrt((1 - α) / β); infinite without coherency delay.
    #[must_use]
    pub fn peak(&self) -> f64 {
        if self.coherency > 0.0 {
            ((1.0 - self.contention).max(0.0) / self.coherency).sqrt()
        } else {
            f64::INFINITY
        }
    }
}
