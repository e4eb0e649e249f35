//! Positive random quantities given by mean and coefficient of variation.

use crate::{Nanos, stream::Stream};

/// A positive random duration, given by its mean and its coefficient of variation (standard deviation over mean, `cv`).
///
/// | cv | distribution |
/// |---|---|
/// | 0 | constant |
/// | below 1 | gamma of shape 1/cv² (Erlang when that is whole): Marsaglia and Tsang, ACM TOMS 26(3), 2000 |
/// | 1 | exponential |
/// | above 1 | hyperexponential of two phases with balanced means: Whitt, Operations Research 30(1), 1982 |
///
/// A sample is rounded to whole nanoseconds and is at least 1 ns unless the mean is 0. Sampling allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    mean_ns: f64,
    cv: f64,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Constant(Nanos),
    Exponential,
    /// Sum of `stages` exponentials, each of mean `stage_ns`.
    Erlang {
        stages: u32,
        stage_ns: f64,
    },
    /// d = shape - 1/3 and c = 1 / sqrt(9 d) of the method, and the scale in ns.
    Gamma {
        d: f64,
        c: f64,
        scale_ns: f64,
    },
    /// Mean `short_ns` with probability `probability`, else `long_ns`.
    Hyperexponential {
        probability: f64,
        short_ns: f64,
        long_ns: f64,
    },
}

/// Up to this many stages an Erlang sample is a plain sum, which is faster than the rejection method.
const MOST_STAGES: f64 = 8.0;

impl Draw {
    /// A duration with the given mean (nanoseconds) and coefficient of variation.
    ///
    /// # Panics
    /// When the mean or the coefficient is negative, infinite or not a number.
    #[must_use]
    pub fn new(mean_ns: f64, cv: f64) -> Self {
        assert!(
            mean_ns.is_finite() && mean_ns >= 0.0,
            "a mean duration of {mean_ns} ns is impossible"
        );
        assert!(
            cv.is_finite() && cv >= 0.0,
            "a coefficient of variation of {cv} is impossible"
        );
        let square = cv * cv;
        let stages = (1.0 / square).round();
        let shape = if cv == 0.0 || mean_ns == 0.0 || 1.0 / square > 1e15 {
            Shape::Constant(if mean_ns == 0.0 { 0 } else { whole(mean_ns) })
        } else if cv == 1.0 {
            Shape::Exponential
        } else if cv > 1.0 {
            let probability = 0.5 * (1.0 + ((square - 1.0) / (square + 1.0)).sqrt());
            Shape::Hyperexponential {
                probability,
                short_ns: mean_ns / (2.0 * probability),
                long_ns: mean_ns / (2.0 * (1.0 - probability)),
            }
        } else if stages <= MOST_STAGES && (1.0 / square - stages).abs() < 1e-9 {
            Shape::Erlang {
                stages: stages as u32,
                stage_ns: mean_ns / stages,
            }
        } else {
            let d = 1.0 / square - 1.0 / 3.0;
            Shape::Gamma {
                d,
                c: 1.0 / (9.0 * d).sqrt(),
                scale_ns: mean_ns * square,
            }
        };
        Self { mean_ns, cv, shape }
    }

    /// The mean, in nanoseconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean_ns
    }

    /// The coefficient of variation.
    #[must_use]
    pub fn cv(&self) -> f64 {
        self.cv
    }

    /// One duration, in nanoseconds, taken from stream `s`.
    #[inline]
    pub fn sample(&self, s: &mut Stream) -> Nanos {
        match self.shape {
            Shape::Constant(ns) => ns,
            Shape::Exponential => whole(s.exponential(self.mean_ns)),
            Shape::Erlang { .. } | Shape::Gamma { .. } | Shape::Hyperexponential { .. } => self.sample_composed(s),
        }
    }

    /// What is left at a random instant of the duration that is under way then, in nanoseconds, taken from stream `s`:
    /// a uniform part of a duration that is drawn in proportion to its length.
    pub fn residual(&self, s: &mut Stream) -> Nanos {
        let under_way_ns = match self.shape {
            Shape::Exponential => return self.sample(s),
            // both phases last equally long in all
            Shape::Hyperexponential { short_ns, long_ns, .. } => {
                let mean = if s.uniform() < 0.5 { short_ns } else { long_ns };
                return whole(s.exponential(mean));
            }
            Shape::Constant(ns) => ns as f64,
            Shape::Erlang { stages, stage_ns } => (0..=stages).map(|_| s.exponential(stage_ns)).sum(),
            Shape::Gamma { d, scale_ns, .. } => {
                let longer = d + 1.0;
                scale_ns * standard_gamma(s, longer, 1.0 / (9.0 * longer).sqrt())
            }
        };
        (under_way_ns * s.uniform()) as Nanos
    }

    /// A sample that takes more than one random number; apart, so that the others are a few instructions at the caller.
    #[inline(never)]
    fn sample_composed(&self, s: &mut Stream) -> Nanos {
        match self.shape {
            Shape::Constant(_) | Shape::Exponential => unreachable!("these take at most one random number"),
            Shape::Erlang { stages, stage_ns } => whole((0..stages).map(|_| s.exponential(stage_ns)).sum()),
            Shape::Gamma { d, c, scale_ns } => whole(scale_ns * standard_gamma(s, d, c)),
            Shape::Hyperexponential {
                probability,
                short_ns,
                long_ns,
            } => {
                let mean = if s.uniform() < probability { short_ns } else { long_ns };
                whole(s.exponential(mean))
            }
        }
    }
}

/// To the nearest whole nanosecond, at least 1.
#[inline]
fn whole(ns: f64) -> Nanos {
    ((ns + 0.5) as Nanos).max(1)
}

fn standard_gamma(s: &mut Stream, d: f64, c: f64) -> f64 {
    loop {
        let x = s.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - s.uniform();
        let square = x * x;
        if u < 1.0 - 0.0331 * square * square || libm::log(u) < 0.5 * square + d * (1.0 - v + libm::log(v)) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tally;

    #[test]
    fn mean_and_variation_are_as_asked() {
        for (case, cv) in [0.0, 0.1, 0.25, 1.0 / 3.0f64.sqrt(), 0.5, 0.7, 0.95, 1.0, 1.3, 2.0, 4.0]
            .into_iter()
            .enumerate()
        {
            let draw = Draw::new(2e6, cv);
            let mut stream = Stream::named(case as u64, "draw");
            let n = 300_000;
            let mut tally = Tally::new();
            for _ in 0..n {
                tally.record(draw.sample(&mut stream) as f64);
            }
            let error = 4.0 * 2e6 * cv / (n as f64).sqrt();
            assert!(
                (tally.mean() - draw.mean()).abs() <= error,
                "cv {cv}: mean {}",
                tally.mean()
            );
            let found = tally.variance().sqrt() / tally.mean();
            assert!((found - cv).abs() <= 0.02 * cv.max(1.0) * cv, "cv {cv}: found {found}");
        }
    }

    #[test]
    fn what_is_left_of_a_duration_is_as_renewal_theory_says() {
        for (case, cv) in [0.0, 0.1, 0.5, 0.7, 1.0, 2.0].into_iter().enumerate() {
            let draw = Draw::new(2e6, cv);
            let mut stream = Stream::named(case as u64, "residual");
            let mut tally = Tally::new();
            (0..300_000).for_each(|_| tally.record(draw.residual(&mut stream) as f64));
            let expected = 1e6 * (1.0 + cv * cv);
            let error = 4.0 * (tally.variance() / 300_000.0).sqrt();
            assert!(
                (tally.mean() - expected).abs() <= error,
                "cv {cv}: {} for {expected}",
                tally.mean()
            );
        }
        assert_eq!(Draw::new(0.0, 0.0).residual(&mut Stream::named(1, "none")), 0);
    }

    #[test]
    fn edges() {
        let mut stream = Stream::named(1, "edges");
        assert_eq!(Draw::new(0.0, 1.0).sample(&mut stream), 0);
        assert_eq!(Draw::new(0.2, 0.0).sample(&mut stream), 1);
        assert_eq!(Draw::new(1234.4, 0.0).sample(&mut stream), 1234);
        assert!((0..1000).all(|_| Draw::new(0.1, 3.0).sample(&mut stream) >= 1));
        assert!((0..1000).all(|_| Draw::new(1e6, 1e-9).sample(&mut stream) == 1_000_000));
    }
}
