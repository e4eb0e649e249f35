//! The standard exponential distribution by the ziggurat method (Marsaglia and Tsang, "The ziggurat method for
//! generating random variables", Journal of Statistical Software 5(8), 2000).
//!
//! The density exp(-x) is covered by 255 horizontal layers of equal area plus a base layer with the tail. In 98.9% of
//! the draws one table look-up and one multiplication suffice. The tables are computed by the compiler with IEEE 754
//! arithmetic, and the rest uses `libm`, so the result is the same on every computer. The tail needs no logarithm: an
//! exponential beyond R is R plus a fresh exponential.

use crate::stream::Stream;

const LAYERS: usize = 256;
/// Where the tail starts, for 256 layers.
const R: f64 = 7.697_117_470_131_05;
/// Area of each layer, for 256 layers.
const V: f64 = 0.003_949_659_822_581_557;

/// exp(-x) for 0 <= x <= 8 at compile time: the Taylor series of exp(-x/64), squared six times.
const fn exp_minus(x: f64) -> f64 {
    let y = -x / 64.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut n = 1;
    while n < 14 {
        term *= y / n as f64;
        sum += term;
        n += 1;
    }
    let mut squarings = 0;
    while squarings < 6 {
        sum *= sum;
        squarings += 1;
    }
    sum
}

/// Right edges of the layers: EDGE[0] is the width of the base layer as if it were a rectangle, EDGE[1] = R, EDGE[256]
/// = 0.
const EDGE: [f64; LAYERS + 1] = {
    let mut edge = [0.0; LAYERS + 1];
    edge[0] = V / exp_minus(R);
    edge[1] = R;
    let mut i = 2;
    while i < LAYERS {
        // The next edge z solves exp(-z) = exp(-edge) + V / edge, by Newton's method from the last edge.
        let target = exp_minus(edge[i - 1]) + V / edge[i - 1];
        let mut z: f64 = edge[i - 1];
        let mut round = 0;
        while round < 8 {
            z += 1.0 - target / exp_minus(z);
            round += 1;
        }
        edge[i] = z;
        i += 1;
    }
    edge
};

/// The density at each edge.
const DENSITY: [f64; LAYERS + 1] = {
    let mut density = [0.0; LAYERS + 1];
    let mut i = 0;
    while i <= LAYERS {
        density[i] = exp_minus(EDGE[i]);
        i += 1;
    }
    density
};

static EDGES: [f64; LAYERS + 1] = EDGE;
static DENSITIES: [f64; LAYERS + 1] = DENSITY;

impl Stream {
    /// An exponential number with the given mean, in the mean's unit.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        mean * standard_exponential(self)
    }
}

/// An exponential number with mean 1.
#[inline]
fn standard_exponential(stream: &mut Stream) -> f64 {
    // The layer comes from the low 8 bits, the place within it from the high 53: they share none.
    let bits = stream.bits();
    let layer = (bits & 0xff) as usize;
    let x = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * EDGES[layer];
    if x < EDGES[layer + 1] {
        return x;
    }
    outside_core(stream, layer, x)
}

#[cold]
#[inline(never)]
fn outside_core(stream: &mut Stream, layer: usize, x: f64) -> f64 {
    if layer == 0 {
        return R + standard_exponential(stream);
    }
    let height = DENSITIES[layer] + (DENSITIES[layer + 1] - DENSITIES[layer]) * stream.uniform();
    if height < libm::exp(-x) {
        return x;
    }
    standard_exponential(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_cover_the_density_with_equal_areas() {
        for i in 1..LAYERS {
            let area = EDGES[i] * (DENSITIES[i + 1] - DENSITIES[i]);
            assert!((area / V - 1.0).abs() < 1e-9, "layer {i} has area {area}");
            assert!((DENSITIES[i] / libm::exp(-EDGES[i]) - 1.0).abs() < 1e-12);
        }
        assert!((EDGES[0] * DENSITIES[1] / V - 1.0).abs() < 1e-12);
    }

    #[test]
    fn distribution_is_exponential() {
        // Kolmogorov-Smirnov at the 0.1 % level, and the tail beyond R, P = exp(-R) = 4.54e-4.
        let mut stream = Stream::named(7, "ziggurat");
        let n = 400_000;
        let mut sample: Vec<f64> = (0..n).map(|_| standard_exponential(&mut stream)).collect();
        sample.sort_by(f64::total_cmp);
        let distance = sample
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let cdf = 1.0 - libm::exp(-x);
                (cdf - i as f64 / n as f64)
                    .abs()
                    .max((cdf - (i + 1) as f64 / n as f64).abs())
            })
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / (n as f64).sqrt(), "distance {distance}");
        let tail = sample.iter().filter(|&&x| x > R).count() as f64;
        let expected = n as f64 * libm::exp(-R);
        assert!(
            (tail - expected).abs() < 4.0 * expected.sqrt(),
            "{tail} in the tail, {expected} expected"
        );
    }
}
