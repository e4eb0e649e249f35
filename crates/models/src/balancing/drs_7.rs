//! vSphere DRS from 7.0.
//!
//! **Mechanism.** Each VM has a score on each host: how much of what it wants it gets there. A move is worth what all
//! VMs of both hosts get more, and must be worth more than it costs (VMware, "A closer look at VM DRS score";
//! thresholds: vSphere 7.0, "Edit cluster settings").
//!
//! **Assumptions**, because the score is not published. Every VM on a host gets the same part of its demand: capacity
//! over load if that is below 1, the lesser of CPU and memory. The gain counts for 5 minutes, as CPU; a migration costs
//! its CPU on both hosts. From level 2 to 5 a move must be worth 4, 2, 1 and 0 times its cost. If all demand is met,
//! nothing moves.

use super::loads::{Amounts, HostLoad, Move, State};

/// Seconds for which a gain counts.
const HORIZON_S: f64 = 300.0;
/// Worth over cost that a move must have, by level from 1.
const WORTH: [f64; 5] = [f64::INFINITY, 4.0, 2.0, 1.0, 0.0];

/// CPU that VMs which want `load` get of a host.
fn delivered(host: &HostLoad, load: Amounts) -> f64 {
    let part = |resource: usize| {
        if load[resource] > host.capacity[resource] {
            host.capacity[resource] / load[resource]
        } else {
            1.0
        }
    };
    load[0] * part(0).min(part(1))
}

pub(super) fn next(state: &State, threshold: u32, allowed: &impl Fn(Move, &[Move]) -> bool) -> Option<Move> {
    let factor = WORTH[threshold.clamp(1, 5) as usize - 1];
    let worth = |candidate: Move| {
        let vm = &state.vms[candidate.vm];
        let (from, to) = (&state.hosts[vm.host], &state.hosts[candidate.to]);
        let without = [0, 1].map(|resource| from.load[resource] - vm.load[resource]);
        let with = [0, 1].map(|resource| to.load[resource] + vm.load[resource]);
        let gain = delivered(from, without) + delivered(to, with) - delivered(from, from.load) - delivered(to, to.load);
        gain * HORIZON_S - factor * vm.cost
    };
    // rounding is no gain
    state.best(allowed, 1e-6, worth)
}
