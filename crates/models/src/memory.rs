//! The memory system of a host: how much of each node's memory bandwidth the threads of a node get.
//!
//! **Mechanism.** The memory of a node delivers what is asked of it while demand is low, and saturates smoothly at the
//! node's bandwidth. Accesses to another node's memory take longer. To another socket they also cross a link of limited
//! bandwidth in each direction, which the nodes of a socket share. What is scarce is divided max-min fairly among
//! flows; a flow is what one VM's threads on one node draw, and within a flow all threads are slowed alike.
//!
//! **Sources.** Saturation: load bandwidth of a Xeon E5-2695 v3 socket by cores (Hofmann, "Memory Bandwidth on
//! Haswell-EP"), to which the exponent of the curve is fitted once for all hosts. Max-min fairness: Bertsekas and
//! Gallager, "Data Networks", section 6.5.2. Links: McCalpin, "How to saturate the QPI link" (Intel community), on how
//! little of the nominal link bandwidth remote accesses get.
//!
//! Within a socket: DRAM latency of an EPYC 7742 is 125 ns with four nodes per socket and 134 ns with one, where three
//! quarters of accesses go to other quadrants (AnandTech, "AMD Rome Second Generation EPYC Review", 2019): 137 ns
//! there.
//!
//! **Assumptions.** Every pair of sockets has its own link, and nothing within a socket limits bandwidth but memory
//! itself; reads and writes count alike; caches are part of a workload's traffic per work.

use hypertwin_sharing::{Flow, max_min_flows};

/// Exponent of the saturation curve: 5 keeps within 2 % of the published one at every number of cores.
const SHARPNESS: f64 = 5.0;

/// Bandwidths in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemorySystem {
    /// NUMA nodes.
    pub nodes: usize,
    /// Nodes of one socket.
    pub nodes_per_socket: usize,
    /// What one node's memory delivers at most.
    pub node_bandwidth: f64,
    /// What one socket draws at most from one other socket's memory.
    pub link_bandwidth: f64,
    /// Time of an access to another socket's memory over that of a local one.
    pub remote_latency_factor: f64,
    /// Time of an access to another node of the same socket over that of a local one.
    pub socket_latency_factor: f64,
}

/// What threads of one flow with the same memory ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Which flow: demands of one flow on one node share its part in proportion to what they ask for.
    pub flow: usize,
    /// The node whose cores the threads run on.
    pub node: usize,
    /// What they would draw if all memory were theirs, in bytes per second.
    pub bytes_per_s: f64,
    /// Where their memory is: the fraction on each node.
    pub memory: Vec<f64>,
}

impl MemorySystem {
    /// By what factor memory stalls grow for a thread on `node` whose memory is spread like `memory`.
    pub fn latency_factor(&self, node: usize, memory: &[f64]) -> f64 {
        let first = node - node % self.nodes_per_socket;
        let socket = first..first + self.nodes_per_socket;
        let near: f64 = socket.filter(|&other| other != node).map(|other| memory[other]).sum();
        let far = 1.0 - memory[node] - near;
        1.0 + near * (self.socket_latency_factor - 1.0) + far * (self.remote_latency_factor - 1.0)
    }

    /// What the memory of a node delivers of `offered` bytes per second.
    pub fn delivered(&self, offered: f64) -> f64 {
        let load = offered / self.node_bandwidth;
        offered * (1.0 + load.powf(SHARPNESS)).powf(-1.0 / SHARPNESS)
    }

    /// The fraction of each demand that is met.
    pub fn met(&self, demands: &[Demand]) -> Vec<f64> {
        let drawn_with = |demand: &Demand| -> f64 {
            let same = |other: &&Demand| (other.flow, other.node) == (demand.flow, demand.node);
            demands.iter().filter(same).map(|other| other.bytes_per_s).sum()
        };
        let flows: Vec<Flow> = demands
            .iter()
            .map(|demand| Flow {
                weight: demand.bytes_per_s / drawn_with(demand),
                demand: demand.bytes_per_s,
                uses: self.ways(demand),
            })
            .collect();
        max_min_flows(&self.capacities(&flows, demands), &flows)
            .into_iter()
            .zip(demands)
            .map(|(rate, demand)| if rate > 0.0 { rate / demand.bytes_per_s } else { 1.0 })
            .collect()
    }

    /// The memories, and after them the links by (from, to), that a demand goes through, with the part that does.
    fn ways(&self, demand: &Demand) -> Vec<(usize, f64)> {
        let mut ways = Vec::new();
        for (memory, &part) in demand.memory.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            ways.push((memory, part));
            let [from, to] = [demand.node, memory].map(|node| self.socket_of(node));
            if from != to {
                match ways.iter_mut().find(|(way, _)| *way == self.link(from, to)) {
                    Some((_, crossing)) => *crossing += part,
                    None => ways.push((self.link(from, to), part)),
                }
            }
        }
        ways
    }

    fn socket_of(&self, node: usize) -> usize {
        node / self.nodes_per_socket
    }

    fn sockets(&self) -> usize {
        self.nodes / self.nodes_per_socket
    }

    /// The link from one socket to another.
    fn link(&self, from: usize, to: usize) -> usize {
        self.nodes + from * self.sockets() + to
    }

    /// What the memories and links carry of what the flows ask for.
    fn capacities(&self, flows: &[Flow], demands: &[Demand]) -> Vec<f64> {
        let sockets = self.sockets();
        let mut offered = vec![0.0; self.nodes + sockets * sockets];
        // what crosses to each memory, by (memory, socket)
        let mut crossing = vec![0.0; self.nodes * sockets];
        for (flow, demand) in flows.iter().zip(demands) {
            for &(way, part) in &flow.uses {
                offered[way] += flow.demand * part;
            }
            let from = self.socket_of(demand.node);
            for (memory, part) in demand.memory.iter().enumerate() {
                if self.socket_of(memory) != from {
                    crossing[memory * sockets + from] += flow.demand * part;
                }
            }
        }
        let mut capacities = vec![self.link_bandwidth; offered.len()];
        for memory in 0..self.nodes {
            let held_back = |from: usize| {
                let link = offered[self.link(from, self.socket_of(memory))];
                let excess = (link - self.link_bandwidth).max(0.0);
                // the memories behind a link that is full lose in proportion
                if excess > 0.0 {
                    excess * (crossing[memory * sockets + from] / link)
                } else {
                    0.0
                }
            };
            let held_back: f64 = (0..sockets).map(held_back).sum();
            capacities[memory] = self.delivered(offered[memory] - held_back);
        }
        capacities
    }
}

/// Puts `bytes` into the memory of `home` as far as there is room, and the rest where most is free. Returns the bytes
/// on each node and takes them from `free`. What fits nowhere is spread like the rest, or on `home` if nothing fits.
pub fn allocate(bytes: u64, home: usize, free: &mut [u64]) -> Vec<u64> {
    let mut placed = vec![0; free.len()];
    let mut left = bytes;
    let mut node = home;
    while left > 0 && free.iter().any(|&free| free > 0) {
        let here = left.min(free[node]);
        placed[node] += here;
        free[node] -= here;
        left -= here;
        node = (0..free.len())
            .max_by_key(|&node| (free[node], std::cmp::Reverse(node)))
            .unwrap_or(home);
    }
    let there = bytes - left;
    let rest = left;
    for here in &mut placed {
        let more = (u128::from(rest) * u128::from(*here))
            .checked_div(there.into())
            .unwrap_or(0) as u64;
        *here += more;
        left -= more;
    }
    placed[home] += left;
    placed
}

#[cfg(test)]
mod tests {
    use super::{Demand, MemorySystem, allocate};

    const HOST: MemorySystem = MemorySystem {
        nodes: 2,
        nodes_per_socket: 1,
        node_bandwidth: 60e9,
        link_bandwidth: 20e9,
        remote_latency_factor: 1.7,
        socket_latency_factor: 1.1,
    };

    /// Two sockets of two nodes.
    const DIVIDED: MemorySystem = MemorySystem {
        nodes: 4,
        nodes_per_socket: 2,
        ..HOST
    };

    fn demand(flow: usize, node: usize, bytes_per_s: f64, memory: [f64; 2]) -> Demand {
        Demand {
            flow,
            node,
            bytes_per_s,
            memory: memory.to_vec(),
        }
    }

    /// Load bandwidth in GB/s of a Xeon E5-2695 v3 socket by cores (Hofmann, "Memory Bandwidth on Haswell-EP").
    const PUBLISHED: [f64; 14] = [
        8.9, 17.9, 26.5, 34.6, 42.1, 48.8, 54.3, 58.0, 59.9, 60.8, 61.3, 61.5, 61.7, 61.8,
    ];

    #[test]
    fn bandwidth_saturates_with_cores_as_published() {
        let socket = MemorySystem {
            node_bandwidth: 61.8e9,
            ..HOST
        };
        for (cores, published) in (1..).zip(PUBLISHED) {
            let twin = socket.delivered(8.9e9 * f64::from(cores)) / 1e9;
            assert!(
                (twin / published - 1.0).abs() < 0.025,
                "{cores} cores: {twin} against {published}"
            );
        }
    }

    #[test]
    fn a_link_limits_remote_accesses_and_leaves_the_rest_to_local_ones() {
        let met = HOST.met(&[demand(0, 0, 80e9, [1.0, 0.0]), demand(0, 1, 80e9, [1.0, 0.0])]);
        assert!((met[1] * 80e9 - 20e9).abs() < 1.0, "remote: {}", met[1] * 80e9);
        let total = (met[0] + met[1]) * 80e9;
        assert!(total < 60e9 && total > 57e9, "{total}");
    }

    #[test]
    fn within_a_socket_memory_is_near_and_no_link_is_crossed() {
        for (memory, factor) in [
            ([1.0, 0.0, 0.0, 0.0], 1.0),
            ([0.0, 1.0, 0.0, 0.0], 1.1),
            ([0.0, 0.0, 1.0, 0.0], 1.7),
            ([0.25; 4], 1.375),
        ] {
            let found = DIVIDED.latency_factor(0, &memory);
            assert!((found - factor).abs() < 1e-12, "{memory:?}: {found}");
        }
        let near = Demand {
            memory: vec![0.0, 1.0, 0.0, 0.0],
            ..demand(0, 0, 40e9, [0.0; 2])
        };
        let delivered = DIVIDED.delivered(40e9);
        assert!((DIVIDED.met(&[near])[0] * 40e9 - delivered).abs() < 1.0);
    }

    #[test]
    fn the_nodes_of_a_socket_share_its_links() {
        // both nodes of socket 0 draw from both of socket 1
        let far = |node| Demand {
            memory: vec![0.0, 0.0, 0.5, 0.5],
            ..demand(node, node, 30e9, [0.0; 2])
        };
        let met = DIVIDED.met(&[far(0), far(1)]);
        let crossed: f64 = met.iter().map(|met| met * 30e9).sum();
        assert!(
            (crossed / 20e9 - 1.0).abs() < 1e-3,
            "{crossed} through one link of 20e9"
        );
        // what the link holds back is left to those who sit at the memory
        let local = Demand {
            memory: vec![0.0, 0.0, 1.0, 0.0],
            ..demand(2, 2, 80e9, [0.0; 2])
        };
        let met = DIVIDED.met(&[far(0), far(1), local]);
        let at_memory = met[2] * 80e9 + (met[0] + met[1]) * 15e9;
        assert!(at_memory > 55e9 && at_memory <= 60e9, "{at_memory}");
    }

    #[test]
    fn scarce_bandwidth_is_divided_max_min() {
        let met = HOST.met(&[demand(0, 0, 10e9, [1.0, 0.0]), demand(1, 0, 90e9, [1.0, 0.0])]);
        assert!((met[0] - 1.0).abs() < 1e-9, "the modest one gets what it asks for");
        let hungry = HOST.met(&[demand(0, 0, 50e9, [1.0, 0.0]), demand(1, 0, 90e9, [1.0, 0.0])]);
        assert!(
            (hungry[0] * 50e9 - hungry[1] * 90e9).abs() < 1.0,
            "two hungry ones get the same"
        );
    }

    #[test]
    fn interleaved_memory_is_as_fast_as_its_slowest_way() {
        let demands = [demand(0, 0, 90e9, [0.5, 0.5]), demand(0, 1, 90e9, [0.5, 0.5])];
        let met = HOST.met(&demands);
        assert!(
            (met[0] * 90e9 * 0.5 - 20e9).abs() < 1.0,
            "the link carries {}",
            met[0] * 45e9
        );
    }

    #[test]
    fn memory_that_does_not_fit_spills() {
        let mut free = [100, 300, 200];
        assert_eq!(allocate(150, 0, &mut free), [100, 50, 0]);
        assert_eq!(free, [0, 250, 200]);
        // what is too much is nowhere more local than the rest
        assert_eq!(allocate(900, 0, &mut free), [0, 500, 400]);
        assert_eq!(allocate(60, 0, &mut free), [60, 0, 0]);
    }
}
