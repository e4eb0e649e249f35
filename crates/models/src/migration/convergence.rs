//! What happens to a VM that writes faster than it can be sent: it is slowed down, or moves before its memory does.
//!
//! **Auto-converge** (QEMU). When more than half of what was sent in a period was written meanwhile, twice in a row,
//! vCPUs lose 20 % of their time, then 10 % more each time, at most 99 % (QEMU, `migration/ram.c`,
//! `migration_trigger_throttle`; commit 070afca, in QEMU 5.0). Before 5.0, it acts at every third such period, in a row
//! or not (`dirty_rate_high_cnt++ >= 2`). A period is a pass here: QEMU looks when it reads the dirty bitmap, which is
//! after each pass, at most once a second.
//!
//! **Slow-down** (ESXi from 5.0, stun during page send). vCPUs are slowed until the VM writes less than is sent
//! (VMware, "vSphere vMotion architecture, performance and best practices in vSphere 5"). How much less, and from when,
//! is not published. Assumed: a VM that writes more than half of what is sent is slowed to that half, so that each pass
//! is at most half of the previous one.
//!
//! **Post-copy** (QEMU). After the first pass the VM resumes on the target, and each page that it misses takes a round
//! trip (QEMU, `docs/devel/migration/postcopy.rst`). Its pages are used evenly, so on average over the transfer half of
//! the initially missing pages are missing. The round trip of 0.2 ms, in addition to the page itself, is an assumption.

/// Written over sent above which QEMU counts a period against a VM.
const HIGH_WRITES: f64 = 0.5;
/// Such periods until it acts: in a row from QEMU 5.0, and otherwise before.
const HIGH_PERIODS: u32 = 2;
const HIGH_PERIODS_BEFORE_5: u32 = 3;
/// Most that QEMU takes of a VM's time.
const MOST_THROTTLE: f64 = 0.99;
/// Part of the send rate at which a slowed VM of ESXi writes.
const SLOWED_WRITES: f64 = 0.5;
/// Time of a fault on a page that is elsewhere, in seconds, beside sending it.
const ROUND_TRIP_S: f64 = 200e-6;
const PAGE: f64 = 4096.0;

/// QEMU's staircase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoConverge {
    initial: f64,
    step: f64,
    is_before_5: bool,
    high_periods: u32,
    throttle: f64,
}

impl AutoConverge {
    /// Not throttled yet; first by `initial`, then by `step` more each time, both as fractions of a VM's time.
    pub fn new(initial: f64, step: f64, is_before_5: bool) -> Self {
        Self {
            initial,
            step,
            is_before_5,
            high_periods: 0,
            throttle: 0.0,
        }
    }

    /// A period is over; returns the fraction of its time that is left to the VM.
    pub fn end_period(&mut self, sent: f64, written: f64) -> f64 {
        if written > sent * HIGH_WRITES {
            self.high_periods += 1;
        } else if !self.is_before_5 {
            self.high_periods = 0;
        }
        let acts_after = if self.is_before_5 {
            HIGH_PERIODS_BEFORE_5
        } else {
            HIGH_PERIODS
        };
        if self.high_periods == acts_after {
            self.high_periods = 0;
            let first = self.throttle == 0.0;
            let next = if first { self.initial } else { self.throttle + self.step };
            self.throttle = next.min(MOST_THROTTLE);
        }
        1.0 - self.throttle
    }
}

/// ESXi's slow-down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowDown {
    speed: f64,
}

impl Default for SlowDown {
    fn default() -> Self {
        Self { speed: 1.0 }
    }
}

impl SlowDown {
    /// A pass is over in which the VM wrote so much, again and again or not; returns the fraction of its time that is
    /// left to it.
    pub fn end_pass(&mut self, sent: f64, written: f64) -> f64 {
        self.speed *= (SLOWED_WRITES * sent / written).min(1.0);
        self.speed
    }
}

/// Fraction of its speed that a VM keeps which runs while `missing` bytes of its `active` ones come at `bytes_per_s`,
/// and which uses `page_rate` pages of them in a second of CPU time.
pub fn post_copy_speed(missing: f64, active: f64, page_rate: f64, bytes_per_s: f64) -> f64 {
    let misses_per_s = page_rate * (missing / active.max(PAGE)).min(1.0) / 2.0;
    1.0 / (1.0 + misses_per_s * (ROUND_TRIP_S + PAGE / bytes_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_converge_climbs_every_second_period_to_99_per_cent() {
        let mut throttle = AutoConverge::new(0.2, 0.1, false);
        let left: Vec<i32> = (0..20)
            .map(|_| (100.0 * throttle.end_period(1e9, 0.6e9)).round() as i32)
            .collect();
        assert_eq!(
            left,
            [
                100, 80, 80, 70, 70, 60, 60, 50, 50, 40, 40, 30, 30, 20, 20, 10, 10, 1, 1, 1
            ]
        );
    }

    #[test]
    fn auto_converge_counts_only_periods_in_a_row() {
        let mut throttle = AutoConverge::new(0.2, 0.1, false);
        for written in [0.6e9, 0.5e9, 0.6e9, 0.4e9] {
            assert_eq!(throttle.end_period(1e9, written), 1.0);
        }
        throttle.end_period(1e9, 0.6e9);
        assert_eq!(throttle.end_period(1e9, 0.6e9), 0.8);
    }

    #[test]
    fn before_qemu_5_each_third_high_period_counts_in_a_row_or_not() {
        let mut throttle = AutoConverge::new(0.2, 0.1, true);
        let written = [0.6e9, 0.6e9, 0.4e9, 0.6e9, 0.6e9, 0.6e9, 0.6e9];
        let left = written.map(|written| (100.0 * throttle.end_period(1e9, written)).round() as i32);
        assert_eq!(left, [100, 100, 100, 80, 80, 80, 70]);
    }

    #[test]
    fn slowed_down_a_vm_writes_half_of_what_is_sent() {
        let mut slow = SlowDown::default();
        assert_eq!(slow.end_pass(1e9, 0.0), 1.0, "it writes nothing");
        assert_eq!(slow.end_pass(1e9, 0.5e9), 1.0, "it converges by itself");
        assert_eq!(slow.end_pass(1e9, 2e9), 0.25);
        assert_eq!(slow.end_pass(1e9, 0.5e9), 0.25);
        assert_eq!(slow.end_pass(1e9, 1e9), 0.125);
    }

    #[test]
    fn a_vm_whose_pages_are_elsewhere_waits_for_them() {
        // 20,000 pages a second, half of them missing on average, each 0.2 ms and 4 us: 1 s of work takes 3.04 s
        let speed = post_copy_speed(2e9, 1e9, 20_000.0, 1.024e9);
        assert!((1.0 / speed - 3.04).abs() < 1e-9, "{speed}");
        assert_eq!(post_copy_speed(0.0, 1e9, 20_000.0, 1e9), 1.0);
    }
}
