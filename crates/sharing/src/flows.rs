//! Max-min fair rates of flows that go through several resources at once.
//!
//! Progressive filling: all flows grow alike, in proportion to their weights, until one has what it wants or a resource
//! that it uses is full (Bertsekas and Gallager, "Data Networks", section 6.5.2).

/// A flow and what it goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Rate at which it grows while nothing holds it; above 0.
    pub weight: f64,
    /// The most that it wants.
    pub demand: f64,
    /// The resources that it uses, each with the part of its rate that goes through it.
    pub uses: Vec<(usize, f64)>,
}

/// Fraction of a capacity or demand below which what is left counts as nothing.
const ROUNDING: f64 = 1e-12;

/// The rates of `flows` over resources of these capacities: no flow gets more than it asks for, no resource carries
/// more than its capacity, and no flow can get more except from one that has no more per weight.
///
/// # Panics
/// When a flow uses a resource that does not exist.
#[must_use]
pub fn max_min_flows(capacities: &[f64], flows: &[Flow]) -> Vec<f64> {
    let mut left = capacities.to_vec();
    let mut rates = vec![0.0; flows.len()];
    let mut growing: Vec<usize> = (0..flows.len()).filter(|&flow| flows[flow].demand > 0.0).collect();
    let mut growth = vec![0.0; capacities.len()];
    while !growing.is_empty() {
        growth.fill(0.0);
        let mut step = f64::INFINITY;
        for &index in &growing {
            let flow = &flows[index];
            step = step.min((flow.demand - rates[index]) / flow.weight);
            for &(resource, part) in &flow.uses {
                growth[resource] += flow.weight * part;
            }
        }
        for (left, growth) in left.iter().zip(&growth).filter(|(_, growth)| **growth > 0.0) {
            step = step.min(left / growth);
        }
        let step = step.max(0.0);
        for (left, growth) in left.iter_mut().zip(&growth) {
            *left -= step * growth;
        }
        growing.retain(|&index| {
            let flow = &flows[index];
            rates[index] += step * flow.weight;
            let full =
                |&(resource, part): &(usize, f64)| part > 0.0 && left[resource] <= capacities[resource] * ROUNDING;
            rates[index] < flow.demand * (1.0 - ROUNDING) && !flow.uses.iter().any(full)
        });
    }
    rates
}
