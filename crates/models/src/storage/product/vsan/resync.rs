//! Share of a device that vSAN resynchronisation gets beside VM I/O: Adaptive Resync of vSAN 6.7 and later.
//!
//! **Mechanism.** While a device serves VM I/O, resynchronisation gets a fifth of its time: one operation that takes
//! $t$ of the device is due $t / 0.2$ after the previous one. At most one late operation is made up for. While the
//! device has no VM I/O, nothing is counted.
//!
//! **Sources.** VMware, "Adaptive Resync in vSAN" (2018): four classes of I/O, each with a queue at every disk group;
//! about 80% of the bandwidth for VMs and 20% for resynchronisation when they contend, all for either when alone.
//!
//! **Assumptions.** The share is of time, not bytes: a fifth of the bytes that a hard disk moves at random would stop
//! resynchronisation. It applies per device, not per disk group. Any VM operation is contention, so flash channels that
//! are idle beside it stay unused.

/// Share of a device's time for resynchronisation beside VM I/O.
pub const SHARE: f64 = 0.2;

/// Progress of resynchronisation on one device.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResyncShare {
    /// When its next operation is due.
    due_ns: u64,
}

impl ResyncShare {
    /// True if an operation can begin beside VM I/O.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Begins an operation beside VM I/O, which takes `work_ns` of the device.
    pub fn begin(&mut self, now_ns: u64, work_ns: u64) {
        let gap_ns = (work_ns as f64 / SHARE) as u64;
        self.due_ns = self.due_ns.max(now_ns.saturating_sub(gap_ns)) + gap_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::ResyncShare;

    /// The part of its time that a device which does one operation after another, and always has some of both, gives to
    /// resynchronisation.
    fn part(machine_ns: impl Fn(u64) -> u64, resync_ns: impl Fn(u64) -> u64) -> f64 {
        let mut share = ResyncShare::default();
        let (mut now, mut of_resync) = (0, 0);
        for number in 0..200_000 {
            if share.is_due(now) {
                let work = resync_ns(number);
                share.begin(now, work);
                of_resync += work;
                now += work;
            } else {
                now += machine_ns(number);
            }
        }
        of_resync as f64 / now as f64
    }

    #[test]
    fn a_saturated_device_gives_a_fifth_of_its_time_whatever_operations_take() {
        for (vm, resync) in [(7_000_000, 10_000_000), (3_000, 400_000), (400_000, 3_000), (1, 1)] {
            let found = part(|_| vm, |_| resync);
            // Unless one VM operation takes so long that two of resynchronisation are due.
            let expected = (2.0 * resync as f64 / (vm + 2 * resync) as f64).min(0.2);
            assert!((found / expected - 1.0).abs() < 0.01, "{vm} {resync}: {found}");
        }
        let found = part(|n| 1_000 + n * 7_919 % 9_000, |n| 20_000 + n * 104_729 % 90_000);
        assert!((found / 0.2 - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn what_was_not_used_is_not_saved_up() {
        let mut share = ResyncShare::default();
        share.begin(1_000_000_000, 10);
        assert!(share.is_due(1_000_000_000));
        share.begin(1_000_000_000, 10);
        assert!(!share.is_due(1_000_000_049) && share.is_due(1_000_000_050));
    }
}
