//! Speed of a hardware thread: hyper-threading yield, clock, and memory stalls.
//!
//! **Mechanism.** A thread alone on its core works at full speed; two busy siblings together do `yield` times the work
//! of one, so each runs at `yield / 2`. A faster clock shortens the part of the work that is not stalled on memory.
//!
//! **Sources.** Yield 1.25 is what ESXi's charge of 62.5 % per sibling implies; published yields by kind of load are
//! listed in `docs/models/smt.md`; the split into clock-bound and memory-bound time is the leading-loads model of
//! Rountree et al. (2011).
//!
//! **Assumption.** A thread is as fast beside any sibling: its own workload's yield counts, not the other's.

/// Work per time of one thread, relative to a thread alone at the clock at which the work was measured.
///
/// `smt_yield` is that of its workload (1 to 2), `clock_ratio` the running clock over the reference clock, and
/// `memory_intensity` the part of the work's time (0 to 1) that is stalled on memory at the reference clock.
pub fn speed(sibling_busy: bool, smt_yield: f64, clock_ratio: f64, memory_intensity: f64) -> f64 {
    let shared = if sibling_busy { smt_yield / 2.0 } else { 1.0 };
    shared / ((1.0 - memory_intensity) / clock_ratio + memory_intensity)
}

#[cfg(test)]
mod tests {
    use super::speed;

    #[test]
    fn two_siblings_do_the_yield_and_stalls_ignore_the_clock() {
        assert_eq!(2.0 * speed(true, 1.25, 1.0, 0.0), 1.25);
        assert_eq!(speed(false, 1.25, 1.2, 0.0), 1.2);
        assert_eq!(speed(false, 1.25, 1.2, 1.0), 1.0);
        assert!((speed(false, 1.0, 2.0, 0.5) - 4.0 / 3.0).abs() < 1e-12);
    }
}
