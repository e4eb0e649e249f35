//! vSphere DRS to 6.7.
//!
//! **Mechanism.** A host's load is what its VMs are entitled to over its capacity; imbalance is the standard deviation over hosts. A
//! recommendation has priority 6 - ceil(imbalance / 0.1 x sqrt(hosts)), and those up to the threshold are carried out (VMware KB
//! 1007485): DRS moves VMs while imbalance is above (5 - threshold) x 0.1 / sqrt(hosts), always the one that lowers it most.
//!
//! **Assumptions.** Of CPU and memory the worse counts. Entitlement is what a VM wants. What a migration costs is not weighed, but one
//! that lowers imbalance by less than a hundredth of it is not worth it.

use super::{Move, State};

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

#[cfg(test)]
mod tests {
    use super::super::tests::moves_of;
    use hypertwin_cluster::BalancingPolicy::Drs6;

    #[test]
    fn vms_move_until_the_deviation_is_below_the_level() {
        // loads 0.8 and 0.4: deviation 0.2; targets at two hosts 0.212, 0.141, 0.071, 0
        let wanted: [&[f64]; 2] = [&[10.0; 8], &[10.0; 4]];
        let counts = [2, 3, 4, 5].map(|threshold| moves_of(Drs6, threshold, &wanted).len());
        assert_eq!(counts, [0, 1, 2, 2], "a move takes 0.1 away");
    }

    #[test]
    fn the_move_that_balances_most_is_first_and_none_that_makes_it_worse() {
        assert_eq!(moves_of(Drs6, 5, &[&[50.0, 10.0, 20.0], &[]]), [(0, 1)]);
        assert_eq!(moves_of(Drs6, 5, &[&[50.0], &[]]), []);
    }
}
