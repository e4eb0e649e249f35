//! Links between hosts that migrations share, and the CPU that sending and receiving take.
//!
//! **Mechanism.** A migration is a flow through the sending direction of one link and the receiving direction of
//! another, of at most streams x stream limit; rates are max-min fair. Each host spends CPU on all of its migrations
//! together.
//!
//! **Source** of the CPU: Frank Denneman, "vMotion and CPU reservation" (2012): 10% of a core for each Gb/s, at least
//! 30% of a core; so a whole core at 10 Gb/s. Assumed: the CPU is used and not only reserved, and other hypervisors use
//! as much.

use hypertwin_sharing::{Flow, max_min_flows};

/// A migration under way, between two links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Position of the sending and of the receiving host's link.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// The most that it sends, in bytes per second.
    pub most: f64,
}

/// Bytes per second of each transfer, over links of these capacities, in each direction.
pub fn rates(links: &[f64], transfers: &[Transfer]) -> Vec<f64> {
    let capacities: Vec<f64> = links.iter().flat_map(|&link| [link, link]).collect();
    let flow = |transfer: &Transfer| Flow {
        weight: 1.0,
        demand: transfer.most,
        uses: vec![(2 * transfer.from, 1.0), (2 * transfer.to + 1, 1.0)],
    };
    let flows: Vec<Flow> = transfers.iter().map(flow).collect();
    max_min_flows(&capacities, &flows)
}

/// Cores that a host uses for migrations at this total rate.
pub fn cpu_cores(bytes_per_s: f64) -> f64 {
    if bytes_per_s > 0.0 {
        (bytes_per_s * 8e-9 * 0.1).max(0.3)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_share_the_links_of_both_hosts() {
        let transfer = |from, to| Transfer { from, to, most: 0.8e9 };
        let links = [1e9, 1e9, 0.25e9];
        assert_eq!(
            rates(&links, &[transfer(0, 1)]),
            [0.8e9],
            "a stream is slower than the link"
        );
        assert_eq!(rates(&links, &[transfer(0, 1), transfer(0, 1)]), [0.5e9, 0.5e9]);
        assert_eq!(
            rates(&links, &[transfer(0, 1), transfer(1, 0)]),
            [0.8e9, 0.8e9],
            "directions are apart"
        );
        assert_eq!(rates(&links, &[transfer(0, 1), transfer(0, 2)]), [0.75e9, 0.25e9]);
    }

    #[test]
    fn sending_takes_a_tenth_of_a_core_for_each_gigabit_and_at_least_0_3() {
        let gigabit = 1e9 / 8.0;
        for (gbps, cores) in [(0.0, 0.0), (1.0, 0.3), (3.0, 0.3), (5.0, 0.5), (10.0, 1.0), (25.0, 2.5)] {
            assert!((cpu_cores(gbps * gigabit) - cores).abs() < 1e-12, "{gbps} Gb/s");
        }
    }
}
