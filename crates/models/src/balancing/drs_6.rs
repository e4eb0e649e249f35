//! vSphere DRS to 6.7.
//!
//! **Mechanism.** A host's load is what its VMs are entitled to over its capacity; imbalance is the standard deviation
//! over hosts. A recommendation has priority 6 - ceil(imbalance / 0.1 x sqrt(hosts)), and those up to the threshold are
//! carried out (VMware KB 1007485): DRS moves VMs while imbalance is above (5 - threshold) x 0.1 / sqrt(hosts), always
//! the one that lowers it most.
//!
//! **Assumptions.** Of CPU and memory the worse counts. Entitlement is what a VM wants. What a migration costs is not
//! weighed, but one that lowers imbalance by less than a hundredth of it is not worth it.

use super::loads::{Move, State};

/// Part of the imbalance that a move must take away.
const LEAST_GAIN: f64 = 0.01;

pub(super) fn next(state: &State, threshold: u32, allowed: &impl Fn(Move, &[Move]) -> bool) -> Option<Move> {
    let imbalance = |then| state.deviation(then).into_iter().fold(0.0, f64::max);
    let now = imbalance(None);
    let target = f64::from(5 - threshold.min(5)) * 0.1 / (state.hosts.len() as f64).sqrt();
    if now <= target {
        return None;
    }
    state.best(allowed, LEAST_GAIN * now, |candidate| now - imbalance(Some(candidate)))
}
