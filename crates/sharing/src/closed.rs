//! Closed queueing networks.

/// What [`closed_network`] computes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedNetwork {
    /// Passages per unit of time.
    pub throughput: f64,
    /// Time of a passage without the think time.
    pub response: f64,
    /// Mean number present at each station.
    pub queue_lengths: Vec<f64>,
    /// Share of time each station is busy.
    pub utilizations: Vec<f64>,
}

/// Exact mean value analysis of a closed network of one class: `population` customers, a delay of `think` per passage,
/// and stations with one server each whose service demand (visits times service time) per passage is given.
///
/// Valid where the network has product form: exponential first-come-first-served stations, or processor sharing with
/// any distribution. Source: Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM
/// 27(2), 1980. Takes population times stations steps. With neither demand nor think time the throughput is infinite.
#[must_use]
pub fn closed_network(demands: &[f64], think: f64, population: u32) -> ClosedNetwork {
    let mut queue_lengths = vec![0.0; demands.len()];
    let (mut throughput, mut response) = (0.0, demands.iter().sum());
    for customers in 1..=population {
        response = demands
            .iter()
            .zip(&queue_lengths)
            .map(|(demand, queue)| demand * (1.0 + queue))
            .sum();
        throughput = f64::from(customers) / (think + response);
        for (queue, demand) in queue_lengths.iter_mut().zip(demands) {
            // An arriving customer sees the network as it is with one customer less.
            if *demand > 0.0 {
                *queue = throughput * demand * (1.0 + *queue);
            }
        }
    }
    let utilizations = demands
        .iter()
        .map(|demand| if *demand > 0.0 { throughput * demand } else { 0.0 })
        .collect();
    ClosedNetwork {
        throughput,
        response,
        queue_lengths,
        utilizations,
    }
}

/// The asymptotic bound on the throughput of a closed network: min(1 / largest demand, population / (sum of demands +
/// think)). Source: Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys
/// 10(3), 1978.
#[must_use]
pub fn throughput_bound(demands: &[f64], think: f64, population: u32) -> f64 {
    let largest = demands.iter().copied().fold(0.0, f64::max);
    (1.0 / largest).min(f64::from(population) / (demands.iter().sum::<f64>() + think))
}
