//! Relaxed co-scheduling: which vCPUs of a VM have run too far ahead of the slowest.
//!
//! **Mechanism.** A vCPU progresses while it executes or is idle; time in ready and co-stop is lag. Among the vCPUs that
//! are not idle, the lead of one is the largest lag less its own. A vCPU whose lead passes the co-stop threshold is
//! stopped by itself, and may start again when its lead is below the co-start threshold. A vCPU that wakes joins level
//! with the slowest, so that idling earns neither lead nor lag.
//!
//! **Source.** VMware, "The CPU Scheduler in VMware vSphere 5.1" (2013), section on relaxed co-scheduling; thresholds
//! from the advanced options `Cpu.Cosched*`.

use crate::scheduler::CoschedulingThresholds;

/// Lag of one vCPU, as co-scheduling sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Waits (is idle): neither leads nor lags.
    Idle,
    /// Executes, or is ready.
    Eligible {
        /// Time in ready and co-stop since it woke, plus the lag that it joined with.
        lag_ns: u64,
    },
    /// Is co-stopped.
    Stopped {
        /// As for `Eligible`.
        lag_ns: u64,
    },
}

/// What to do with the vCPUs of a VM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// vCPUs to co-stop.
    pub stop: Vec<usize>,
    /// vCPUs to make ready again.
    pub start: Vec<usize>,
}

/// Judges the vCPUs of one VM; `decisions` is cleared and filled.
pub fn judge(vcpus: impl Iterator<Item = Progress> + Clone, limits: CoschedulingThresholds, decisions: &mut Decisions) {
    decisions.stop.clear();
    decisions.start.clear();
    let lag = |progress: Progress| match progress {
        Progress::Idle => None,
        Progress::Eligible { lag_ns } | Progress::Stopped { lag_ns } => Some(lag_ns),
    };
    let Some(slowest) = vcpus.clone().filter_map(lag).max() else {
        return;
    };
    for (vcpu, progress) in vcpus.enumerate() {
        match progress {
            Progress::Eligible { lag_ns } if slowest - lag_ns > limits.costop_ns => decisions.stop.push(vcpu),
            Progress::Stopped { lag_ns } if slowest - lag_ns < limits.costart_ns => decisions.start.push(vcpu),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_stop_beyond_the_threshold_and_start_again_below_the_lower_one() {
        let limits = CoschedulingThresholds {
            costop_ns: 3000,
            costart_ns: 2000,
            poll_ns: 1000,
        };
        let mut found = Decisions::default();
        let vcpus = [
            Progress::Eligible { lag_ns: 5000 },
            Progress::Eligible { lag_ns: 1999 },
            Progress::Eligible { lag_ns: 2000 },
            Progress::Stopped { lag_ns: 3001 },
            Progress::Stopped { lag_ns: 3000 },
            Progress::Idle,
        ];
        judge(vcpus.into_iter(), limits, &mut found);
        assert_eq!(
            found,
            Decisions {
                stop: vec![1],
                start: vec![3]
            }
        );
    }

    #[test]
    fn idle_vcpus_hold_nobody_back() {
        let limits = CoschedulingThresholds {
            costop_ns: 0,
            costart_ns: 0,
            poll_ns: 1,
        };
        let mut found = Decisions::default();
        judge([Progress::Idle, Progress::Idle].into_iter(), limits, &mut found);
        assert_eq!(found, Decisions::default());
    }
}
