//! How likely redundant storage loses data: copies or fragments on disks that fail and are rebuilt, in closed form.
//!
//! **Backblaze's model** ([`backblaze_annual_loss`]). Time is cut into periods of one repair; data are lost in a period
//! in which more fragments fail than the scheme survives. Source: Backblaze, "Cloud Storage Durability", 2018.
//!
//! **Birth and death** ([`Group`]). Fragments fail and are rebuilt at constant rates, one at a time; the chain is
//! absorbed when too many are missing. Sources: Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive
//! disks (RAID)", SIGMOD 1988; Trivedi, "Probability and Statistics with Reliability, Queuing, and Computer Science
//! Applications", chapter 8.
//!
//! Assumptions: failures are independent of each other, at a rate that does not change with age; no latent sector
//! errors, no loss by software or operators. Every sum is of positive terms, so that the smallest probabilities are as
//! exact as the largest. A year has 365 days.

use hypertwin_cluster::{Mistake, Redundancy};
use serde::Serialize;

/// Seconds of a year of 365 days.
pub const YEAR_S: f64 = 365.0 * 86_400.0;

/// How many lost fragments of one group are rebuilt at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// All of them, each in the time of one: i lost fragments are rebuilt at the rate i μ.
    #[default]
    Parallel,
    /// One after the other: at the rate μ.
    Serial,
}

/// A group of fragments, such as an array or a placement group, as a birth-death chain: state i has i fragments
/// missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Fragments, each on a disk of its own; at least 1.
    pub width: u32,
    /// Fragments that may be missing, less than `width`.
    pub survives: u32,
    /// Failures of one disk per year (λ), above 0.
    pub failures_per_year: f64,
    /// Repairs per year (μ) of one fragment; 0 for none.
    pub repairs_per_year: f64,
    /// How many fragments are rebuilt at a time.
    pub repair: Repair,
}

impl Group {
    /// Rate from `missing` fragments missing to one more.
    fn failure_rate(&self, missing: u32) -> f64 {
        f64::from(self.width - missing) * self.failures_per_year
    }

    /// Rate from `missing` fragments missing to one fewer.
    fn repair_rate(&self, missing: u32) -> f64 {
        match self.repair {
            _ if missing == 0 => 0.0,
            Repair::Parallel => f64::from(missing) * self.repairs_per_year,
            Repair::Serial => self.repairs_per_year,
        }
    }

    /// Mean time to data loss in years, from all fragments there. Exact: the time from i to i + 1 missing is
    /// h(i) = (1 + μ(i) h(i - 1)) / λ(i), and the MTTDL their sum.
    pub fn mttdl_years(&self) -> f64 {
        let mut step = 0.0;
        (0..=self.survives)
            .map(|missing| {
                step = (1.0 + self.repair_rate(missing) * step) / self.failure_rate(missing);
                step
            })
            .sum()
    }

    /// The usual approximation of the MTTDL, in years: MTTF^(m + 1) / (MTTR^m (S - 0) ... (S - m)), times m! where
    /// repairs are parallel. It is good where repairs are much faster than failures.
    pub fn approximate_mttdl_years(&self) -> f64 {
        (0..=self.survives)
            .map(|missing| {
                let repair = if missing == 0 { 1.0 } else { self.repair_rate(missing) };
                repair / self.failure_rate(missing)
            })
            .product()
    }

    /// Probability of a loss within a year, once the group has been in use for a while: 1 - exp(-1 / MTTDL).
    pub fn annual_loss(&self) -> f64 {
        -libm::expm1(-1.0 / self.mttdl_years())
    }

    /// Probability of a loss within the first `years`, all fragments being there at their beginning: exact, by
    /// uniformisation of a short step that is then squared up to the time.
    pub fn loss_within(&self, years: f64) -> f64 {
        let lost = self.survives as usize + 1;
        let fastest = (0..=self.survives)
            .map(|missing| self.failure_rate(missing) + self.repair_rate(missing))
            .fold(0.0, f64::max);
        let mut doublings = 0;
        let mut expected = fastest * years;
        while expected > 1.0 {
            expected /= 2.0;
            doublings += 1;
        }
        let jump = Matrix::new(lost + 1, |from, to| {
            if from == lost {
                return f64::from(to == lost);
            }
            let missing = from as u32;
            let (up, down) = (self.failure_rate(missing), self.repair_rate(missing));
            if to == from + 1 {
                up / fastest
            } else if to + 1 == from {
                down / fastest
            } else if to == from {
                (fastest - up - down).max(0.0) / fastest
            } else {
                0.0
            }
        });
        // The first of these terms that can reach the loss is that of lost jumps; 24 more are beyond rounding.
        let mut weight = libm::exp(-expected);
        let mut jumps = Matrix::new(lost + 1, |from, to| f64::from(from == to));
        let mut step = jumps.scaled(weight);
        for count in 1..=lost + 24 {
            jumps = jumps.times(&jump);
            weight *= expected / count as f64;
            step = step.plus(&jumps.scaled(weight));
        }
        for _ in 0..doublings {
            step = step.times(&step).stochastic();
        }
        step.at(0, lost).min(1.0)
    }
}

/// A square matrix of probabilities: products and sums of numbers that are not negative lose no digits.
struct Matrix {
    size: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(size: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..size * size)
            .map(|index| value(index / size, index % size))
            .collect();
        Self { size, values }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    fn times(&self, other: &Self) -> Self {
        Self::new(self.size, |row, column| {
            (0..self.size)
                .map(|middle| self.at(row, middle) * other.at(middle, column))
                .sum()
        })
    }

    fn plus(&self, other: &Self) -> Self {
        Self::new(self.size, |row, column| self.at(row, column) + other.at(row, column))
    }

    fn scaled(&self, factor: f64) -> Self {
        Self::new(self.size, |row, column| self.at(row, column) * factor)
    }

    /// With rows that sum to 1, so that rounding does not grow when the matrix is squared again and again.
    fn stochastic(&self) -> Self {
        let sums: Vec<f64> = (0..self.size)
            .map(|row| (0..self.size).map(|column| self.at(row, column)).sum())
            .collect();
        Self::new(self.size, |row, column| self.at(row, column) / sums[row])
    }
}

/// Probability that more than `survives` of `width` fail, each with the probability 1 - exp(-`failures`).
///
/// The tail of the binomial distribution, from its positive terms: neither 1 - p nor 1 - tail is ever formed.
pub fn more_than(survives: u32, width: u32, failures: f64) -> f64 {
    let failed = -libm::expm1(-failures);
    let tail: f64 = (survives + 1..=width)
        .map(|count| {
            let ways = (0..count).fold(1.0, |ways, i| ways * f64::from(width - i) / f64::from(i + 1));
            ways * libm::pow(failed, f64::from(count)) * libm::exp(-failures * f64::from(width - count))
        })
        .sum();
    tail.min(1.0)
}

/// Annual probability of data loss of one group by Backblaze's model. With F = A R / 365 failures of a disk in a period
/// of R days, p = 1 - exp(-F), a period loses data with the probability L = Σ_(j > m) C(S, j) p^j (1 - p)^(S - j), and
/// a year of 365 / R periods with 1 - (1 - L)^(365 / R).
pub fn backblaze_annual_loss(width: u32, survives: u32, failures_per_year: f64, repair_s: f64) -> f64 {
    let periods = YEAR_S / repair_s;
    at_least_one(more_than(survives, width, failures_per_year / periods), periods)
}

/// Probability of at least one of `count` independent events of `probability` each: 1 - (1 - p)^count.
pub fn at_least_one(probability: f64, count: f64) -> f64 {
    -libm::expm1(count * libm::log1p(-probability))
}

/// What a redundancy costs and what it survives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// Raw bytes for one byte of the user's; also what a write of whole stripes sends to disks.
    pub raw_per_usable: f64,
    /// The user's bytes in one raw byte.
    pub capacity_efficiency: f64,
    /// Copies or fragments that may be lost.
    pub failures_tolerated: u32,
    /// Disk reads of a small overwrite: none with copies; with an erasure code the old data and the old parities.
    pub overwrite_reads: u32,
    /// Disk writes of a small overwrite: every copy, or the new data and the new parities.
    pub overwrite_writes: u32,
    /// Disk reads for one read of a fragment that is missing.
    pub degraded_reads: u32,
    /// Bytes read to rebuild one byte.
    pub rebuild_reads_per_byte: u32,
}

impl Overhead {
    /// The overhead of `scheme`, with small overwrites by parity delta.
    pub fn of(scheme: Redundancy) -> Self {
        let (overwrite_reads, overwrite_writes) = match scheme {
            Redundancy::Replicas { copies, .. } => (0, copies),
            Redundancy::Erasure { parity, .. } => (1 + parity, 1 + parity),
        };
        Self {
            raw_per_usable: scheme.amplification(),
            capacity_efficiency: f64::from(scheme.needed()) / f64::from(scheme.width()),
            failures_tolerated: scheme.survives(),
            overwrite_reads,
            overwrite_writes,
            degraded_reads: scheme.needed(),
            rebuild_reads_per_byte: scheme.needed(),
        }
    }
}

/// What durability depends on besides the scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// Failures of one disk per year, as a fraction: 0.00405 is 0.405 %.
    pub annual_failure_rate: f64,
    /// Time from a failure until the fragment is there again, in seconds: detection and rebuild.
    pub repair_s: f64,
    /// How many fragments of a group are rebuilt at a time. Backblaze's model has no such parameter.
    pub repair: Repair,
    /// Groups in the pool, each of which can lose its data; assumed independent.
    pub groups: u64,
    /// The user's bytes in the pool, if known.
    pub usable_bytes: Option<u64>,
}

impl Assumptions {
    /// Lowest and highest annual failure rate.
    pub const FAILURE_RATES: (f64, f64) = (1e-6, 10.0);
    /// Shortest and longest repair, in seconds.
    pub const REPAIRS_S: (f64, f64) = (1.0, YEAR_S);
    /// Most groups.
    pub const MAX_GROUPS: u64 = 1_000_000_000_000;

    /// Checks the ranges.
    ///
    /// # Errors
    /// The first value out of its range, with the name of its field as path.
    pub fn check(&self) -> Result<(), Mistake> {
        let within = |value: f64, (low, high): (f64, f64)| value >= low && value <= high;
        if !within(self.annual_failure_rate, Self::FAILURE_RATES) {
            return Err(out_of_range(
                "annual_failure_rate",
                format!("{}%", 100.0 * self.annual_failure_rate),
                "0.0001% to 1000%",
                "use the failures per 100 disks and year, for example 1.5%",
            ));
        }
        if !within(self.repair_s, Self::REPAIRS_S) {
            return Err(out_of_range(
                "repair",
                format!("{} s", self.repair_s),
                "1 s to 365 d",
                "use the time from a failure until all replicas or fragments are rebuilt, for example 6.5 d",
            ));
        }
        if !(1..=Self::MAX_GROUPS).contains(&self.groups) {
            return Err(out_of_range(
                "groups",
                self.groups.to_string(),
                "1 to 1000000000000",
                "use the number of arrays or placement groups in the pool",
            ));
        }
        Ok(())
    }
}

fn out_of_range(path: &str, value: String, allowed: &str, hint: &str) -> Mistake {
    Mistake {
        code: "out-of-range".to_owned(),
        path: path.to_owned(),
        value,
        allowed: allowed.to_owned(),
        hint: hint.to_owned(),
    }
}

/// Loss of data within a year, of one group and of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Probability that one group loses its data within a year.
    pub annual_loss: f64,
    /// Leading nines of `1 - annual_loss`.
    pub nines: u32,
    /// Probability that any group of the pool does.
    pub pool_annual_loss: f64,
    /// The user's bytes that are lost in a year on average, where those of the pool are known. A group loses all of its
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_bytes_lost_per_year: Option<f64>,
}

impl Loss {
    fn of(annual_loss: f64, assumptions: &Assumptions) -> Self {
        Self {
            annual_loss,
            nines: nines(annual_loss),
            pool_annual_loss: at_least_one(annual_loss, assumptions.groups as f64),
            expected_bytes_lost_per_year: assumptions.usable_bytes.map(|bytes| bytes as f64 * annual_loss),
        }
    }
}

/// Leading nines of `1 - loss`: 0.001 has 3, and so has 0.0002.
fn nines(loss: f64) -> u32 {
    // 1e-3 has a logarithm that may round to either side of -3
    (-libm::log10(loss) + 1e-12).max(0.0) as u32
}

/// One scheme: what it costs, and how durable it is by both models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Durability {
    /// The scheme.
    pub scheme: Redundancy,
    /// Copies or fragments of a group.
    pub width: u32,
    /// What it costs.
    pub overhead: Overhead,
    /// Loss by Backblaze's model.
    pub backblaze: Loss,
    /// Loss by the birth-death chain, from its mean time to data loss.
    pub markov: Loss,
    /// Mean time to data loss of one group by the birth-death chain, in years.
    pub mttdl_years: f64,
    /// Its usual approximation, in years.
    pub approximate_mttdl_years: f64,
    /// Probability that a group which begins complete loses its data in its first year, by the birth-death chain.
    pub first_year_loss: f64,
}

/// How durable `scheme` is.
///
/// # Errors
/// An assumption out of its range ([`Assumptions::check`]).
pub fn assess(scheme: Redundancy, assumptions: &Assumptions) -> Result<Durability, Mistake> {
    assumptions.check()?;
    let (width, survives) = (scheme.width(), scheme.survives());
    let group = Group {
        width,
        survives,
        failures_per_year: assumptions.annual_failure_rate,
        repairs_per_year: YEAR_S / assumptions.repair_s,
        repair: assumptions.repair,
    };
    let backblaze = backblaze_annual_loss(width, survives, group.failures_per_year, assumptions.repair_s);
    Ok(Durability {
        scheme,
        width,
        overhead: Overhead::of(scheme),
        backblaze: Loss::of(backblaze, assumptions),
        markov: Loss::of(group.annual_loss(), assumptions),
        mttdl_years: group.mttdl_years(),
        approximate_mttdl_years: group.approximate_mttdl_years(),
        first_year_loss: group.loss_within(1.0),
    })
}
