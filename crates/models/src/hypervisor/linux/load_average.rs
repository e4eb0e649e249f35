//! How much of the time something was so lately: the geometric average of Linux (per-entity load tracking).
//!
//! **Source.** `kernel/sched/pelt.c`: what was 32 periods of 1024 us ago counts half.

/// A period of the kernel: 2^20 ns.
const PERIOD_BITS: u32 = 20;
/// What is left of the past after a period: 2^(-1/32).
const LEFT_OF_A_PERIOD: f64 = 0.978_572_062_087_700_1;

/// What is left after 0 to 32 periods.
const LEFT: [f64; 33] = {
    let mut left = [1.0; 33];
    let mut periods = 1;
    while periods < 33 {
        left[periods] = left[periods - 1] * LEFT_OF_A_PERIOD;
        periods += 1;
    }
    left
};

/// The remaining share of the past after `ns`; linear within a period. Only products and sums, so that every computer
/// gets the same result.
fn left_after(ns: u64) -> f64 {
    let periods = ns >> PERIOD_BITS;
    let (halvings, position) = (periods / 32, (periods % 32) as usize);
    if halvings > 60 {
        return 0.0;
    }
    let part = (ns & ((1 << PERIOD_BITS) - 1)) as f64 / f64::from(1 << PERIOD_BITS);
    (LEFT[position] + (LEFT[position + 1] - LEFT[position]) * part) / (1_u64 << halvings) as f64
}

/// The average of a level that changes in steps: 1 while a task runs, or how many of a group are awake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadAverage {
    value: f64,
    level: f64,
    since_ns: u64,
}

impl LoadAverage {
    /// Of something that was there all the time, and is no more.
    pub(super) fn full() -> Self {
        Self {
            value: 1.0,
            ..Self::default()
        }
    }

    /// The average at `now_ns`.
    pub(super) fn at(&self, now_ns: u64) -> f64 {
        self.level + (self.value - self.level) * left_after(now_ns.saturating_sub(self.since_ns))
    }

    /// From `now_ns` on the level is higher by `by`, or lower.
    pub(super) fn change(&mut self, now_ns: u64, by: f64) {
        self.value = self.at(now_ns);
        self.since_ns = self.since_ns.max(now_ns);
        self.level += by;
    }

    /// When the level last changed.
    pub(super) fn changed_ns(&self) -> u64 {
        self.since_ns
    }

    /// This becomes the sum of itself and `part`.
    pub(super) fn put_in(&mut self, part: &Self) {
        self.value += part.at(self.since_ns);
        self.level += part.level;
    }

    /// `part` is no summand of this any more.
    pub(super) fn take_out(&mut self, part: &Self) {
        self.value -= part.at(self.since_ns);
        self.level -= part.level;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_halves_in_32_periods() {
        let mut average = LoadAverage::default();
        average.change(0, 2.0);
        let half_life = 32 << PERIOD_BITS;
        for (halvings, expected) in [(0, 0.0), (1, 1.0), (2, 1.5), (3, 1.75), (100, 2.0)] {
            assert!((average.at(halvings * half_life) - expected).abs() < 1e-9, "{halvings}");
        }
        average.change(half_life, -2.0);
        assert!((average.at(2 * half_life) - 0.5).abs() < 1e-9);
        assert_eq!(average.changed_ns(), half_life);
    }
}
