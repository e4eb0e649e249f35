//! Relaxed co-scheduling: which vCPUs of a VM have run too far ahead of the slowest.
//!
//! **Mechanism.** A vCPU progresses while it executes or is idle; time in ready and co-stop is lag. The reference is
//! the slowest of the siblings that wait for a CPU: the lead of a vCPU is that sibling's lag less its own. A vCPU whose
//! lead passes the co-stop threshold is stopped individually. It can start again when its lead is below the co-start
//! threshold, and at once when no sibling waits: once the slowest makes progress, stopping others has no benefit. A
//! vCPU that wakes joins level with the slowest, so that idling earns neither lead nor lag.
//!
//! **Source.** VMware, "The CPU Scheduler in VMware vSphere 5.1" (2013), section on relaxed co-scheduling: "Once the
//! slowest sibling vCPU starts progressing, the co-stopped vCPUs are eligible to co-start"; thresholds from the
//! advanced options `Cpu.Cosched*`.

use crate::scheduler::CoschedulingThresholds;

/// Lag of one vCPU, as co-scheduling sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Waits (is idle): neither leads nor lags.
    Idle,
    /// Executes.
    Running {
        /// Time in ready and co-stop since it woke, plus the lag that it joined with.
        lag_ns: u64,
    },
    /// Waits for a CPU.
    Ready {
        /// As for `Running`.
        lag_ns: u64,
    },
    /// Is co-stopped.
    Stopped {
        /// As for `Running`.
        lag_ns: u64,
    },
}

impl Progress {
    /// Its lag; `None` while it is idle.
    #[inline]
    pub fn lag_ns(self) -> Option<u64> {
        match self {
            Self::Idle => None,
            Self::Running { lag_ns } | Self::Ready { lag_ns } | Self::Stopped { lag_ns } => Some(lag_ns),
        }
    }
}

/// What to do with the vCPUs of a VM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Lag and number of the vCPUs to co-stop, who is furthest ahead first.
    pub stop: Vec<(u64, usize)>,
    /// vCPUs to make ready again.
    pub start: Vec<usize>,
}

/// Judges the vCPUs of one VM; `decisions` is cleared and filled.
pub fn judge(vcpus: impl Iterator<Item = Progress> + Clone, limits: CoschedulingThresholds, decisions: &mut Decisions) {
    decisions.stop.clear();
    decisions.start.clear();
    let slowest = slowest_waiting(vcpus.clone());
    let lead = |lag_ns: u64| slowest.map(|slowest_ns| slowest_ns.saturating_sub(lag_ns));
    for (vcpu, progress) in vcpus.enumerate() {
        match progress {
            Progress::Running { lag_ns } | Progress::Ready { lag_ns } => {
                if lead(lag_ns).is_some_and(|lead_ns| lead_ns > limits.costop_ns) {
                    decisions.stop.push((lag_ns, vcpu));
                }
            }
            Progress::Stopped { lag_ns } => {
                if lead(lag_ns).is_none_or(|lead_ns| lead_ns < limits.costart_ns) {
                    decisions.start.push(vcpu);
                }
            }
            Progress::Idle => {}
        }
    }
    decisions.stop.sort_unstable();
}

/// Lag of the slowest of the vCPUs that wait for a CPU.
pub fn slowest_waiting(vcpus: impl Iterator<Item = Progress>) -> Option<u64> {
    let waiting = |progress| match progress {
        Progress::Ready { lag_ns } => Some(lag_ns),
        Progress::Idle | Progress::Running { .. } | Progress::Stopped { .. } => None,
    };
    vcpus.filter_map(waiting).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(vcpus: &[Progress], costop_ns: u64, costart_ns: u64) -> (Vec<(u64, usize)>, Vec<usize>) {
        let limits = CoschedulingThresholds {
            costop_ns,
            costart_ns,
            poll_ns: 1000,
        };
        let mut found = Decisions::default();
        judge(vcpus.iter().copied(), limits, &mut found);
        (found.stop, found.start)
    }

    #[test]
    fn leaders_stop_beyond_the_threshold_and_start_again_below_the_lower_one() {
        let vcpus = [
            Progress::Ready { lag_ns: 5000 },
            Progress::Running { lag_ns: 1999 },
            Progress::Ready { lag_ns: 2000 },
            Progress::Stopped { lag_ns: 3001 },
            Progress::Stopped { lag_ns: 3000 },
            Progress::Idle,
            Progress::Ready { lag_ns: 500 },
        ];
        assert_eq!(judged(&vcpus, 3000, 2000), (vec![(500, 6), (1999, 1)], vec![3]));
    }

    #[test]
    fn who_is_ahead_goes_on_as_soon_as_no_sibling_waits() {
        let vcpus = [
            Progress::Running { lag_ns: 9000 },
            Progress::Running { lag_ns: 0 },
            Progress::Stopped { lag_ns: 1000 },
            Progress::Idle,
        ];
        assert_eq!(judged(&vcpus, 3000, 2000), (vec![], vec![2]));
    }

    #[test]
    fn idle_vcpus_hold_nobody_back() {
        assert_eq!(judged(&[Progress::Idle, Progress::Idle], 0, 0), (vec![], vec![]));
    }
}
