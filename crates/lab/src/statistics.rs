//! Repeated measurements as one figure with its spread.

use serde::Serialize;

/// Summary of several measurements of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Middle value.
    pub median: f64,
    /// Largest value.
    pub most: f64,
    /// Smallest value.
    pub least: f64,
    /// Distance between the quartiles over the median, in per cent.
    pub spread_pct: f64,
    /// Number of measurements.
    pub samples: usize,
}

/// Quantile `q` (0 to 1) of ascending `values`, interpolated between neighbours; 0 of nothing.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = values[(below + 1).min(last)];
    values[below] + (above - values[below]) * (place - below as f64)
}

impl Figure {
    /// The figure of `values`, in any order.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let median = quantile(&values, 0.5);
        let spread = quantile(&values, 0.75) - quantile(&values, 0.25);
        Self {
            median,
            most: values.last().copied().unwrap_or(0.0),
            least: values.first().copied().unwrap_or(0.0),
            spread_pct: if median > 0.0 { 100.0 * spread / median } else { 0.0 },
            samples: values.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (q, expected) in [(0.0, 1.0), (0.5, 3.0), (1.0, 8.0), (1.0 / 3.0, 2.0), (7.0, 8.0)] {
            assert!((quantile(&values, q) - expected).abs() < 1e-12, "{q}");
        }
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_figure_knows_its_spread() {
        let figure = Figure::of(vec![30.0, 10.0, 20.0, 40.0, 50.0]);
        assert_eq!((figure.median, figure.least, figure.most), (30.0, 10.0, 50.0));
        assert!((figure.spread_pct - 100.0 * 20.0 / 30.0).abs() < 1e-9);
        assert_eq!(figure.samples, 5);
    }
}
