//! Pre-copy: memory is sent while the VM runs, then what it wrote meanwhile, and so on, until the rest is small.
//!
//! **Mechanism.** The first pass sends M, all pages that are not zero, after it has found the others. A pass that took
//! T leaves V = min(W, D T) to be sent again, for a dirty rate D and a written set W. As soon as what is left can be
//! sent within the allowed downtime, the VM stops, the rest is sent, and it goes on elsewhere. With r = D / R and a
//! large W the passes are M r^i; with r >= 1 and W > R x downtime that never ends.
//!
//! **Sources.** Round sums: SpringerPlus 5 (2016), 10.1186/s40064-016-2642-2, table 1; the switch-over rule: QEMU,
//! `migration/migration.c`. **Assumptions.** Writes are spread evenly over the written set; pages are sent once a pass.

/// A migration's passes so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreCopy {
    /// Passes that are over.
    pub passes: u32,
    /// Bytes of the pass at hand.
    pub volume: f64,
    /// Bytes that passes before it have sent.
    pub sent: f64,
}

impl PreCopy {
    /// Before the first pass over so much memory.
    pub fn new(memory: f64) -> Self {
        Self {
            passes: 0,
            volume: memory,
            sent: 0.0,
        }
    }

    /// The pass at hand is over, and `written` bytes were written meanwhile, in a set of at most `written_set`.
    pub fn end_pass(&mut self, written: f64, written_set: f64) {
        self.passes += 1;
        self.sent += self.volume;
        self.volume = written.min(written_set);
    }

    /// Whether the VM may stop now: what is left is sent in the allowed downtime. The first pass is never the last.
    pub fn may_switch(&self, bytes_per_s: f64, downtime_s: f64) -> bool {
        self.passes > 0 && self.volume <= bytes_per_s * downtime_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    /// What a migration at a steady rate takes, without fixed costs.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Forecast {
        /// Passes while the VM runs.
        passes: u32,
        /// How long they take.
        pre_copy_s: f64,
        /// The last copy, while it stands still.
        last_copy_s: f64,
        /// Bytes in all, the last copy's included.
        sent: f64,
    }

    /// What migrating `memory` bytes at `bytes_per_s` takes while the VM writes `dirty_per_s` in a set of
    /// `written_set`; `None` if it never ends. To find the other pages takes `scan_s`.
    fn forecast(
        memory: f64,
        scan_s: f64,
        bytes_per_s: f64,
        dirty_per_s: f64,
        written_set: f64,
        downtime_s: f64,
    ) -> Option<Forecast> {
        if dirty_per_s >= bytes_per_s && written_set > bytes_per_s * downtime_s {
            return None;
        }
        let (mut copy, mut pre_copy_s) = (PreCopy::new(memory), 0.0);
        while !copy.may_switch(bytes_per_s, downtime_s) {
            let scan_s = if copy.passes == 0 { scan_s } else { 0.0 };
            let pass_s = scan_s + copy.volume / bytes_per_s;
            pre_copy_s += pass_s;
            copy.end_pass(dirty_per_s * pass_s, written_set);
        }
        Some(Forecast {
            passes: copy.passes,
            pre_copy_s,
            last_copy_s: copy.volume / bytes_per_s,
            sent: copy.sent + copy.volume,
        })
    }

    #[test]
    fn passes_add_up_as_by_hand() {
        // memory, passes, pre-copy s, last copy ms, total s, sent GiB; 1.1 GiB/s, 0.3 GiB/s written, 300 ms
        for (memory, passes, pre_copy, last_ms, total, sent) in [
            (8.0, 3, 9.797, 147.5, 9.945, 10.939),
            (64.0, 5, 79.879, 87.8, 79.967, 87.964),
        ] {
            let found = forecast(memory * GIB, 0.0, 1.1 * GIB, 0.3 * GIB, f64::INFINITY, 0.3).unwrap();
            let near = |found: f64, by_hand: f64| assert!((found / by_hand - 1.0).abs() < 1e-3, "{found} {by_hand}");
            assert_eq!(found.passes, passes);
            near(found.pre_copy_s, pre_copy);
            near(found.last_copy_s * 1e3, last_ms);
            near(found.pre_copy_s + found.last_copy_s, total);
            near(found.sent / GIB, sent);
        }
    }

    #[test]
    fn a_vm_that_would_fit_the_downtime_is_sent_once_all_the_same() {
        // 100 MB at 1 GB/s are 100 ms of the 300 allowed; 10 MB are written meanwhile
        let found = forecast(1e8, 0.0, 1e9, 1e8, f64::INFINITY, 0.3).unwrap();
        assert_eq!((found.passes, found.pre_copy_s), (1, 0.1));
        assert!((found.last_copy_s - 0.01).abs() < 1e-12 && (found.sent - 1.1e8).abs() < 1.0);
    }

    #[test]
    fn passes_are_a_geometric_series_while_the_written_set_is_large() {
        let (memory, rate, dirty) = (40e9, 1e9, 0.5e9);
        let found = forecast(memory, 0.0, rate, dirty, f64::INFINITY, 0.1).unwrap();
        let r: f64 = dirty / rate;
        assert_eq!(found.passes, 9, "40 s x 0.5^9 = 78 ms is the first below 100 ms");
        let sum = memory / rate * (1.0 - r.powi(10)) / (1.0 - r);
        assert!((found.pre_copy_s + found.last_copy_s - sum).abs() < 1e-9);
    }

    #[test]
    fn what_is_written_during_the_scan_is_sent_again() {
        // 8 s of sending and 2 of scanning leave 1 GB, which fits no downtime of 300 ms; 1 s leaves 0.1 GB
        let found = forecast(8e9, 2.0, 1e9, 0.1e9, f64::INFINITY, 0.3).unwrap();
        assert_eq!((found.passes, found.pre_copy_s), (2, 11.0));
        assert!((found.last_copy_s - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_small_written_set_ends_what_a_high_rate_would_not() {
        let at = |written_set| forecast(8e9, 0.0, 1e9, 4e9, written_set, 0.3);
        let small = at(0.2e9).unwrap();
        assert_eq!((small.passes, small.pre_copy_s, small.last_copy_s), (1, 8.0, 0.2));
        assert_eq!(at(0.4e9), None);
        assert_eq!(forecast(8e9, 0.0, 1e9, 1e9, 1e9, 0.3), None, "as fast as it is sent");
        let half = forecast(8e9, 0.0, 1e9, 0.5e9, 1e9, 0.3).unwrap();
        assert_eq!(
            (half.passes, half.pre_copy_s, half.last_copy_s),
            (3, 9.5, 0.25),
            "8, 1, 0.5, 0.25 s"
        );
    }

    #[test]
    fn an_idle_vm_is_sent_once() {
        let idle = forecast(8e9, 0.0, 1e9, 0.0, 1e9, 0.3).unwrap();
        assert_eq!(
            (idle.passes, idle.pre_copy_s, idle.last_copy_s, idle.sent),
            (1, 8.0, 0.0, 8e9)
        );
    }
}
