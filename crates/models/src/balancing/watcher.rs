//! OpenStack Watcher, strategy `workload_stabilization`.
//!
//! **Mechanism.** While the standard deviation over hosts of CPU or of memory usage is above 0.2, the instance migrates
//! whose move lowers the weighted sum of both most; weights are 1 (openstack/watcher,
//! `doc/source/strategies/workload-stabilization.rst`). It has no levels of threshold. **Assumption**: every host is
//! tried, not one drawn at random.

use super::loads::{Move, State};

const THRESHOLD: f64 = 0.2;

pub(super) fn next(state: &State, allowed: &impl Fn(Move, &[Move]) -> bool) -> Option<Move> {
    let now = state.deviation(None);
    if now.iter().all(|&deviation| deviation <= THRESHOLD) {
        return None;
    }
    let weighted = |then| state.deviation(then).into_iter().sum::<f64>();
    let sum = weighted(None);
    state.best(allowed, 1e-9, |candidate| sum - weighted(Some(candidate)))
}
