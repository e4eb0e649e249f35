//! What a series of results says about the steady state: where it starts, and how sure its mean is.

use crate::Tally;

const MSER_BATCH: usize = 5;
/// Fewer batches than this say nothing about a transient.
const FEWEST_BATCHES: usize = 4;

/// How many observations at the start of `series` belong to the initial transient, by the rule MSER-5.
///
/// The series is averaged in batches of 5; the cut is where the remaining batches' squared standard error, their sum of
/// squares about their mean over the square of their number, is least. Source: White, "An effective truncation
/// heuristic for bias reduction in simulation output", Simulation 69(6), 1997; White, Cobb and Spratt, Winter
/// Simulation Conference 2000.
///
/// `None` when the series does not settle: the least value lies beyond the first half, or there are under 20
/// observations, or one is not finite. The last five batches are no candidates, since so few can agree by chance.
#[must_use]
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches = series.len() / MSER_BATCH;
    if batches < FEWEST_BATCHES || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let means: Vec<f64> = series
        .chunks_exact(MSER_BATCH)
        .map(|batch| batch.iter().sum::<f64>() / MSER_BATCH as f64)
        .collect();
    let last_candidate = (batches / 2).max(batches.saturating_sub(MSER_BATCH));
    let mut rest = Tally::new();
    let mut best = (f64::INFINITY, 0);
    for cut in (0..batches).rev() {
        rest.record(means[cut]);
        let left = rest.count() as f64;
        let error = rest.m2() / (left * left);
        // Of equal cuts the one that keeps most data wins: it comes last here.
        if cut <= last_candidate && error <= best.0 {
            best = (error, cut);
        }
    }
    (best.1 <= batches / 2).then_some(best.1 * MSER_BATCH)
}

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom: the factor of a two-sided 95 % interval.
///
/// Up to 30 degrees from the table (values as printed by NIST/SEMATECH e-Handbook of Statistical Methods 1.3.6.7.2,
/// with more digits); above, the expansion of Abramowitz and Stegun 26.7.5, which is good to 1e-6 there. Infinite for 0
/// degrees.
#[must_use]
pub fn student_t_975(degrees: u64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_204_736,
        4.302_652_730,
        3.182_446_305,
        2.776_445_105,
        2.570_581_836,
        2.446_911_851,
        2.364_624_252,
        2.306_004_135,
        2.262_157_163,
        2.228_138_852,
        2.200_985_160,
        2.178_812_830,
        2.160_368_656,
        2.144_786_688,
        2.131_449_546,
        2.119_905_299,
        2.109_815_578,
        2.100_922_040,
        2.093_024_054,
        2.085_963_447,
        2.079_613_845,
        2.073_873_068,
        2.068_657_610,
        2.063_898_562,
        2.059_538_553,
        2.055_529_439,
        2.051_830_516,
        2.048_407_142,
        2.045_229_642,
        2.042_272_456,
    ];
    const NORMAL: f64 = 1.959_963_984_540_054;
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees as usize - 1],
        _ => expanded(NORMAL, degrees as f64),
    }
}

/// A quantile of Student's t by that of the normal distribution: Abramowitz and Stegun 26.7.5.
fn expanded(x: f64, v: f64) -> f64 {
    let x2 = x * x;
    let g1 = (x2 + 1.0) * x / 4.0;
    let g2 = ((5.0 * x2 + 16.0) * x2 + 3.0) * x / 96.0;
    let g3 = (((3.0 * x2 + 19.0) * x2 + 17.0) * x2 - 15.0) * x / 384.0;
    let g4 = ((((79.0 * x2 + 776.0) * x2 + 1482.0) * x2 - 1920.0) * x2 - 945.0) * x / 92_160.0;
    x + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v
}

/// What Student's t with `degrees` degrees of freedom exceeds with a probability of `tail` (at most a half).
///
/// The normal quantile is Abramowitz and Stegun 26.2.23, good to 4.5e-4; t is expanded about it (26.7.5), which is good
/// to a few per cent from 5 degrees on for a `tail` of 0.001. Infinite for fewer than 3 degrees.
#[must_use]
pub fn student_t_upper(tail: f64, degrees: u64) -> f64 {
    if degrees < 3 {
        return f64::INFINITY;
    }
    let t = (-2.0 * libm::log(tail.clamp(1e-12, 0.5))).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    expanded(t - above / below, degrees as f64)
}

/// The line through a series against its index: how much it rises from the first to the last value, and how many
/// standard errors of that this is.
///
/// Neighbours that are alike count as fewer values: the variance of what is left is raised by (1 + r) / (1 - r), r
/// being its correlation at a lag of one, as for a first-order autoregression (Law, "Simulation Modeling and Analysis",
/// 4.4). `None` below five values.
#[must_use]
pub fn trend(series: &[f64]) -> Option<(f64, f64)> {
    let n = series.len() as f64;
    if series.len() < 5 {
        return None;
    }
    let (middle, mean) = ((n - 1.0) / 2.0, series.iter().sum::<f64>() / n);
    let spread = n * (n * n - 1.0) / 12.0;
    let slope = series
        .iter()
        .enumerate()
        .map(|(i, y)| (i as f64 - middle) * (y - mean))
        .sum::<f64>()
        / spread;
    let rest: Vec<f64> = series
        .iter()
        .enumerate()
        .map(|(i, y)| y - mean - slope * (i as f64 - middle))
        .collect();
    let squares: f64 = rest.iter().map(|each| each * each).sum();
    let neighbours: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = if squares > 0.0 {
        (neighbours / squares).clamp(0.0, 0.95)
    } else {
        0.0
    };
    let error = (squares / (n - 2.0) / spread * (1.0 + alike) / (1.0 - alike)).sqrt();
    let rise = slope * (n - 1.0);
    let errors = if error > 0.0 {
        slope / error
    } else if slope == 0.0 {
        0.0
    } else {
        f64::INFINITY.copysign(slope)
    };
    Some((rise, errors))
}

/// Half the width of the 95 % confidence interval of the mean of independent `values` (one per replication), by
/// Student's t. `None` below two values, or when one is not finite.
#[must_use]
pub fn half_width_95(values: &[f64]) -> Option<f64> {
    if values.len() < 2 || values.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut tally = Tally::new();
    values.iter().for_each(|&x| tally.record(x));
    let n = tally.count();
    Some(student_t_975(n - 1) * (tally.variance() / n as f64).sqrt())
}

/// Mean of a steady series and half the width of its 95% interval by the method of batch means: the series is cut into
/// `batches` parts of equal length, whose means are assumed independent. Observations that do not fill a batch are
/// dropped from the start. `None` below two batches or with fewer observations than batches.
///
/// Source: Law, "Simulation Modeling and Analysis", section 9.5.3; 10 to 30 batches are usual (Schmeiser 1982).
#[must_use]
pub fn batch_means(series: &[f64], batches: usize) -> Option<(f64, f64)> {
    if batches < 2 || series.len() < batches {
        return None;
    }
    let size = series.len() / batches;
    let means: Vec<f64> = series[series.len() - size * batches..]
        .chunks_exact(size)
        .map(|batch| batch.iter().sum::<f64>() / size as f64)
        .collect();
    let half_width = half_width_95(&means)?;
    Some((means.iter().sum::<f64>() / batches as f64, half_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn t_quantiles_against_the_printed_table() {
        // NIST/SEMATECH e-Handbook 1.3.6.7.2, column 0.975.
        for (degrees, printed) in [
            (1, 12.706),
            (2, 4.303),
            (5, 2.571),
            (9, 2.262),
            (19, 2.093),
            (29, 2.045),
            (30, 2.042),
            (31, 2.040),
            (40, 2.021),
            (50, 2.009),
            (60, 2.000),
            (80, 1.990),
            (100, 1.984),
            (1_000_000_000, 1.960),
        ] {
            assert!((student_t_975(degrees) - printed).abs() < 5.1e-4, "{degrees}");
        }
        // every term of the expansion counts in the eighth digit
        for (degrees, exact) in [(31, 2.039_513_446), (40, 2.021_075_390), (60, 2.000_297_822)] {
            assert!((student_t_975(degrees) - exact).abs() < 5e-8, "{degrees}");
        }
        // The expansion joins the table without a step.
        let step = student_t_975(31) - student_t_975(30);
        let before = student_t_975(30) - student_t_975(29);
        assert!(step < 0.0 && step > before, "{before} {step}");
    }

    #[test]
    fn upper_quantiles_against_the_printed_table() {
        // NIST/SEMATECH e-Handbook 1.3.6.7.2, columns 0.995 and 0.999
        for (tail, degrees, printed) in [
            (0.005, 10, 3.169),
            (0.005, 30, 2.750),
            (0.001, 7, 4.785),
            (0.001, 20, 3.552),
            (0.001, 100, 3.174),
        ] {
            let found = student_t_upper(tail, degrees);
            assert!((found / printed - 1.0).abs() < 0.03, "{tail} {degrees}: {found}");
        }
        assert_eq!(student_t_upper(0.001, 2), f64::INFINITY);
    }

    #[test]
    fn a_trend_by_hand() {
        assert_eq!(trend(&[1.0; 4]), None);
        assert_eq!(trend(&[7.0; 9]), Some((0.0, 0.0)));
        assert_eq!(trend(&[0.0, 1.0, 2.0, 3.0, 4.0]), Some((4.0, f64::INFINITY)));
        // slope 0.5, what is left 0.5, -0.5, 0, -0.5, 0.5: squares 1, no likeness of neighbours
        let (rise, errors) = trend(&[1.5, 1.0, 2.0, 2.0, 3.5]).unwrap();
        assert!((rise - 2.0).abs() < 1e-12);
        assert!((errors - 0.5 / (1.0_f64 / 3.0 / 10.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn noise_has_no_trend_and_a_walk_is_not_taken_for_one() {
        let mut stream = Stream::named(5, "trend");
        let mut significant = [0, 0];
        for _ in 0..2_000 {
            let noise: Vec<f64> = (0..24).map(|_| stream.uniform()).collect();
            let near: Vec<f64> = noise.windows(3).map(|three| three.iter().sum()).collect();
            for (count, series) in significant.iter_mut().zip([noise, near]) {
                let (_, errors) = trend(&series).unwrap();
                *count += usize::from(errors > student_t_upper(0.01, series.len() as u64 - 2));
            }
        }
        assert!(significant[0] <= 40, "{significant:?}");
        assert!(significant[1] <= 120, "{significant:?}");
    }

    #[test]
    fn half_width_by_hand() {
        // Mean 3, variance 2.5, t = 2.776: 2.776 sqrt(2.5 / 5).
        let half = half_width_95(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((half - 2.776_445_105 * 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!(half_width_95(&[1.0]), None);
        assert_eq!(half_width_95(&[1.0, f64::NAN]), None);
        assert_eq!(half_width_95(&[2.0, 2.0]), Some(0.0));
    }

    #[test]
    fn mser5_finds_the_end_of_a_transient() {
        let mut stream = Stream::named(3, "mser");
        let mut noise = || stream.uniform() - 0.5;
        let step: Vec<f64> = (0..400)
            .map(|i| if i < 60 { 10.0 + noise() } else { noise() })
            .collect();
        assert_eq!(mser5(&step), Some(60));
        let decay: Vec<f64> = (0..1000)
            .map(|i| 20.0 * libm::exp(-f64::from(i) / 40.0) + noise())
            .collect();
        let cut = mser5(&decay).unwrap();
        assert!((80..300).contains(&cut), "{cut}");
        let level: Vec<f64> = (0..400).map(|_| noise()).collect();
        assert!(mser5(&level).unwrap() <= 100);
    }

    #[test]
    fn mser5_by_hand_and_at_the_edges() {
        assert_eq!(mser5(&[5.0; 40]), Some(0));
        // Batch means 9, 1, 1, 1: cutting one batch leaves no error.
        let series: Vec<f64> = [9.0, 1.0, 1.0, 1.0].iter().flat_map(|&m| [m; 5]).collect();
        assert_eq!(mser5(&series), Some(5));
        // Rising without end, or a step late in the series: it never settles.
        assert_eq!(mser5(&(0..400).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(
            mser5(&(0..400).map(|i| f64::from(u8::from(i >= 300))).collect::<Vec<_>>()),
            None
        );
        assert_eq!(mser5(&[1.0; 19]), None);
        assert_eq!(mser5(&[f64::NAN; 40]), None);
    }

    #[test]
    fn batch_means_by_hand() {
        // Two batches of two after dropping the first: means 2 and 4.
        let (mean, half) = batch_means(&[100.0, 1.0, 3.0, 3.0, 5.0], 2).unwrap();
        assert_eq!(mean, 3.0);
        assert!((half - 12.706_204_736).abs() < 1e-8);
        assert_eq!(batch_means(&[1.0], 2), None);
        assert_eq!(batch_means(&[1.0, 2.0], 1), None);
    }
}
