//! OpenStack Watcher, strategy `workload_stabilization`.
//!
//! **Mechanism.** While the standard deviation over hosts of CPU or of memory usage is above 0.2, the instance migrates whose move lowers
//! the weighted sum of both most; weights are 1 (openstack/watcher, `doc/source/strategies/workload-stabilization.rst`). It has no
//! levels of threshold. **Assumption**: every host is tried, not one drawn at random.

use super::{Move, State};

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

#[cfg(test)]
mod tests {
    use super::super::tests::moves_of;
    use hypertwin_cluster::BalancingPolicy::Watcher;

    #[test]
    fn instances_migrate_while_a_deviation_is_above_a_fifth() {
        assert_eq!(moves_of(Watcher, 3, &[&[10.0; 8], &[10.0; 5]]), [], "0.15");
        assert_eq!(
            moves_of(Watcher, 3, &[&[10.0; 8], &[10.0; 2]]).len(),
            1,
            "0.3, then 0.2"
        );
    }
}
