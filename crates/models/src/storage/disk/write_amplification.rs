//! Write amplification: how much more flash writes than it is given.
//!
//! **Mechanism.** Flash is erased by the block. What is still valid in the block with the least of it is written again,
//! so with all capacity in use at uniformly random places each byte given costs WA bytes. With α physical bytes for
//! each byte in use
//!
//! WA = α / (α + W(−α e^−α)),
//!
//! and for blocks that hold n units of what is written at a time, so that large writes leave whole blocks without valid
//! data,
//!
//! WA = n / (n − X + 1), X = 1/2 − (n / α) W(−β e^−β), β = (1 + 1 / 2n) α.
//!
//! **Sources.** Xiang and Kurkoski, "An improved analytical expression for write amplification in NAND flash",
//! arXiv:1110.4245, 2011; Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, for n units a block.
//!
//! **Assumptions.** Greedy collection, one stream of writes, uniform places. Hot and cold data apart, as drives keep
//! them, are less.

/// WA of small random writes, with `physical` bytes for each byte in use: more than 1.
#[must_use]
pub fn amplification(physical: f64) -> f64 {
    1.0 / (1.0 + lambert(physical) / physical)
}

/// WA of random writes of which `units` fill a block.
#[must_use]
pub fn amplification_of(physical: f64, units: f64) -> f64 {
    let units = units.max(1.0);
    let least_valid = 0.5 - units / physical * lambert((1.0 + 0.5 / units) * physical);
    (units / (units - least_valid + 1.0)).max(1.0)
}

/// Physical bytes for each byte in use with which small random writes have this WA: more than 1.
#[must_use]
pub fn physical_for(amplification: f64) -> f64 {
    // what is valid in the block that is erased
    let valid = 1.0 - 1.0 / amplification;
    -libm::log(valid) / (1.0 - valid)
}

/// The upper branch of Lambert's function at −x e^−x, for x > 1.
fn lambert(x: f64) -> f64 {
    let at = -x * libm::exp(-x);
    let near = (2.0 * (1.0 + std::f64::consts::E * at)).max(0.0).sqrt();
    let mut w = near - 1.0 - near * near / 3.0;
    for _ in 0..6 {
        let power = libm::exp(w);
        let slope = power * (w + 1.0);
        if slope > 0.0 {
            w -= (w * power - at) / slope;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::{amplification, amplification_of, physical_for};

    #[test]
    fn it_is_what_is_published_for_spare_capacity() {
        for (physical, published) in [(1.07, 7.8), (1.15, 4.0), (1.28, 2.5), (1.5, 1.7), (2.0, 1.26)] {
            let found = amplification(physical);
            assert!((found / published - 1.0).abs() < 0.03, "{physical}: {found}");
            let back = physical_for(found);
            assert!((back / physical - 1.0).abs() < 1e-9, "{physical}: {back}");
        }
        assert!(amplification(200.0) - 1.0 < 1e-9, "a drive that is nearly empty");
        assert!(amplification(1.001) > 400.0, "one that has nothing to spare");
    }

    #[test]
    fn it_solves_its_own_equation() {
        // valid = e^(−α (1 − valid)), where a block is collected with that much of it still valid
        for step in 1..400 {
            let physical = 1.0 + f64::from(step) / 100.0;
            let valid = 1.0 - 1.0 / amplification(physical);
            let again = libm::exp(-physical * (1.0 - valid));
            assert!((valid - again).abs() < 1e-9, "{physical}: {valid} and {again}");
        }
    }

    #[test]
    fn large_writes_cost_less_down_to_nothing_for_whole_blocks() {
        for physical in [1.07, 1.15, 1.28, 2.0] {
            assert!((amplification_of(physical, 1e6) / amplification(physical) - 1.0).abs() < 1e-2);
            let sizes: Vec<f64> = (0..10)
                .map(|power| amplification_of(physical, f64::from(1 << power)))
                .collect();
            assert!(sizes.is_sorted(), "{physical}: {sizes:?}");
            assert!(sizes[0] < 1.06, "{physical}: {sizes:?}");
        }
    }
}
