//! From real to whole nanoseconds. `f64::ceil` and `f64::round` are calls on processors of the x86-64 baseline; a
//! conversion to an integer, which cuts off the fraction, is one instruction.
//!
//! **Rounding uses conversions.** On x86-64 without SSE 4, `ceil` and `round` are library calls. `models/rounding.rs`
//! calculates the same values in a few instructions. Tests compare it with the library calls.

/// The least whole number of nanoseconds that is not less than `ns`; 0 if `ns` is negative or not a number.
#[inline]
#[must_use]
pub fn round_up(ns: f64) -> u64 {
    let whole = ns as u64;
    whole.saturating_add(u64::from((whole as f64) < ns))
}

/// The whole number of nanoseconds next to `ns`, the larger one in the middle of two; 0 if `ns` is negative or not a
/// number.
#[inline]
#[must_use]
pub fn round(ns: f64) -> u64 {
    let whole = ns as u64;
    whole.saturating_add(u64::from(ns - whole as f64 >= 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_round_as_the_standard_library_does(bits in any::<u64>(), ns in -2.0..1e7, halves in 0u64..1 << 54) {
            for ns in [f64::from_bits(bits), ns, halves as f64 / 2.0] {
                prop_assert_eq!(round_up(ns), ns.ceil() as u64, "{}", ns);
                prop_assert_eq!(round(ns), ns.round() as u64, "{}", ns);
            }
        }
    }

    #[test]
    fn edges() {
        for ns in [
            0.0,
            -0.0,
            0.49999999999999994,
            0.5,
            4503599627370495.5,
            1.8446744073709552e19,
            f64::INFINITY,
        ] {
            assert_eq!((round_up(ns), round(ns)), (ns.ceil() as u64, ns.round() as u64), "{ns}");
        }
    }
}
