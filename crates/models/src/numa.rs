//! The NUMA scheduler of ESXi: the home node of each NUMA client at power-on, and its moves afterwards.
//!
//! **Mechanism.** A VM consists of NUMA clients (physical proximity domains), each with a home node. At power-on a VM
//! whose clients together fit the cores of one node is placed there whole; otherwise each client goes to the node with
//! the least load at that moment. Nodes whose free memory holds the client come before others. Once a period, nodes are
//! compared: while the most and the least loaded differ by more than `Numa.MigImbalanceThreshold`, a client may move
//! between them. Clients that belong together attract each other (action affinity,
//! `Numa.LocalityWeightActionAffinity`): by default this outweighs balance, so clients that cannot be spread evenly end
//! up on one node, and clients that can stay apart.
//!
//! **Sources.** VMware, "The CPU Scheduler in VMware vSphere 5.1" (2013), on home nodes and rebalancing; ESXi advanced
//! options `Numa.*`; VMware KB 2097369 on action affinity that fills one node while others idle. That ESXi 6.0 also
//! compares nodes whose cores suffice, and 6.5 does not, is derived from the article of the esxi-vnuma study.
//!
//! **Assumptions.** One client moves per period. Attraction counts siblings, and is either stronger than balance
//! (weight over 100) or absent.

/// A NUMA client as the rebalancer sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Client {
    /// The VM that it belongs to.
    pub vm: usize,
    /// Its home node.
    pub home: usize,
    /// Its vCPUs; none once they have been taken off the host.
    pub vcpus: usize,
    /// CPU that it wants, in cores.
    pub load: f64,
}

/// What the rebalancer goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// `Numa.MigImbalanceThreshold` as a fraction of a node's cores: a smaller difference of load is left alone.
    pub imbalance: f64,
    /// `Numa.MigThreshold` as a fraction of a node's cores: least gain in balance for which a client moves.
    pub least_gain: f64,
    /// Whether the attraction between the clients of a VM outweighs balance.
    pub action_affinity: bool,
    /// Whether nodes are compared only when the load of one exceeds its cores.
    pub only_overcommitted: bool,
}

/// The weight of balance between nodes, against which that of action affinity is compared (assumed).
pub const BALANCE_WEIGHT: u32 = 100;

/// Home nodes of a VM's clients, in order, when it is powered on.
///
/// `clients` are their vCPUs, between which the VM's `bytes` of memory are divided, and `free` are the bytes of each
/// node that are free. `load` gives the load of a node in cores, without this VM, each time it is asked; no client goes
/// where that is infinite.
pub fn home_nodes(
    clients: &[u32],
    bytes: u64,
    cores_per_node: usize,
    free: &[u64],
    mut load: impl FnMut(usize) -> f64,
) -> Vec<usize> {
    let vcpus: u32 = clients.iter().sum();
    let per_vcpu = bytes as f64 / f64::from(vcpus.max(1));
    let mut placed = vec![0; free.len()];
    let mut best = |vcpus: u32, placed: &[u32]| {
        let rank = |node: usize| {
            let load = load(node) + f64::from(placed[node]);
            let lacks_memory = per_vcpu * f64::from(placed[node] + vcpus) > free[node] as f64;
            (load.is_infinite(), lacks_memory, load)
        };
        let ranks: Vec<(bool, bool, f64)> = (0..free.len()).map(rank).collect();
        let order = |&a: &usize, &b: &usize| {
            let ((a, lacks_a, load_a), (b, lacks_b, load_b)) = (ranks[a], ranks[b]);
            (a, lacks_a).cmp(&(b, lacks_b)).then(load_a.total_cmp(&load_b))
        };
        (0..free.len()).min_by(order).unwrap_or(0)
    };
    if vcpus as usize <= cores_per_node {
        return vec![best(vcpus, &placed); clients.len()];
    }
    clients
        .iter()
        .map(|&vcpus| {
            let node = best(vcpus, &placed);
            placed[node] += vcpus;
            node
        })
        .collect()
}

/// The client that moves next, and where to; `None` while the nodes are balanced or no move is worth it.
///
/// `movable` says whether a client may move at present.
pub fn next_move(
    clients: &[Client],
    cores_per_node: usize,
    nodes: usize,
    rules: &Rules,
    movable: impl Fn(usize) -> bool,
) -> Option<(usize, usize)> {
    let capacity = cores_per_node as f64;
    let load = loads(clients, cores_per_node, nodes);
    let heaviest = (0..nodes).rev().max_by(|&a, &b| load[a].total_cmp(&load[b]))?;
    let lightest = (0..nodes).min_by(|&a, &b| load[a].total_cmp(&load[b]))?;
    let gap = load[heaviest] - load[lightest];
    if gap <= rules.imbalance || rules.only_overcommitted && load[heaviest] <= 1.0 {
        return None;
    }
    let mut best: Option<((usize, f64), usize, usize)> = None;
    let present = |client: &Client| client.vcpus > 0;
    for (index, client) in clients.iter().enumerate() {
        if !present(client) || !movable(index) {
            continue;
        }
        let (to, towards_balance) = match client.home {
            home if home == heaviest => (lightest, 1.0),
            home if home == lightest => (heaviest, -1.0),
            _ => continue,
        };
        let gain = gap - (gap - towards_balance * 2.0 * client.load / capacity).abs();
        let count = |node: usize| {
            let same = clients
                .iter()
                .filter(|other| present(other) && other.vm == client.vm && other.home == node);
            same.count()
        };
        let (here, there) = (count(client.home), count(to));
        // To where most of its siblings are; otherwise, for balance, only where siblings have no say.
        let attraction = if rules.action_affinity {
            there.saturating_sub(here)
        } else {
            0
        };
        let free = !rules.action_affinity || here + there == 1;
        let worth = attraction > 0 || free && gain > rules.least_gain;
        let score = (attraction, gain);
        if worth && best.is_none_or(|(known, ..)| score > known) {
            best = Some((score, index, to));
        }
    }
    best.map(|(_, index, to)| (index, to))
}

/// Per node, whether its clients want more than its cores while another node has more cores than its clients have
/// vCPUs.
pub fn short_of_cores(clients: &[Client], cores_per_node: usize, nodes: usize) -> Vec<bool> {
    let vcpus = |node| {
        clients
            .iter()
            .filter(|client| client.home == node)
            .map(|client| client.vcpus)
            .sum::<usize>()
    };
    let room = (0..nodes).any(|node| vcpus(node) < cores_per_node);
    let load = loads(clients, cores_per_node, nodes);
    load.into_iter().map(|load| room && load > 1.0).collect()
}

/// Load of each node, as a fraction of its cores.
fn loads(clients: &[Client], cores_per_node: usize, nodes: usize) -> Vec<f64> {
    let mut load = vec![0.0; nodes];
    for client in clients {
        load[client.home] += client.load / cores_per_node as f64;
    }
    load
}

/// Home nodes of one VM alone on its host after the rebalancer has settled, with every vCPU busy.
pub fn settled(clients: &[u32], homes: &[usize], cores_per_node: usize, nodes: usize, rules: &Rules) -> Vec<usize> {
    let mut state: Vec<Client> = clients
        .iter()
        .zip(homes)
        .map(|(&vcpus, &home)| Client {
            vm: 0,
            home,
            vcpus: vcpus as usize,
            load: f64::from(vcpus),
        })
        .collect();
    // Attraction and balance each move a client at most once, so this ends long before.
    for _ in 0..4 * clients.len() {
        match next_move(&state, cores_per_node, nodes, rules, |_| true) {
            Some((client, to)) => state[client].home = to,
            None => break,
        }
    }
    state.into_iter().map(|client| client.home).collect()
}

#[cfg(test)]
mod tests {
    use super::{Client, Rules, home_nodes, next_move, settled, short_of_cores};

    const ALWAYS: Rules = Rules {
        imbalance: 0.10,
        least_gain: 0.02,
        action_affinity: true,
        only_overcommitted: false,
    };
    const OVERCOMMITTED: Rules = Rules {
        only_overcommitted: true,
        ..ALWAYS
    };

    fn outcome(clients: &[u32], rules: &Rules) -> Vec<usize> {
        let homes = home_nodes(clients, 0, 12, &[0; 2], |_| 0.0);
        settled(clients, &homes, 12, 2, rules)
    }

    #[test]
    fn an_even_number_of_clients_stays_spread() {
        for clients in [&[12, 12][..], &[5; 4], &[4; 6], &[2; 12], &[8; 4], &[13, 12]] {
            let homes = outcome(clients, &ALWAYS);
            assert_eq!(
                homes.iter().filter(|&&home| home == 0).count() * 2,
                clients.len(),
                "{clients:?}"
            );
        }
    }

    #[test]
    fn an_odd_number_of_clients_ends_up_on_one_node() {
        for clients in [&[8; 3][..], &[12; 3], &[4; 5], &[4; 9]] {
            assert_eq!(outcome(clients, &ALWAYS), vec![0; clients.len()], "{clients:?}");
        }
        assert_eq!(outcome(&[8; 3], &OVERCOMMITTED), vec![0; 3]);
        assert_eq!(
            outcome(&[8, 8, 4], &OVERCOMMITTED),
            vec![0, 1, 0],
            "the cores of each node suffice"
        );
        let balance = Rules {
            action_affinity: false,
            ..ALWAYS
        };
        assert_eq!(
            outcome(&[8; 3], &balance),
            vec![0, 1, 0],
            "without attraction they stay as placed"
        );
    }

    #[test]
    fn clients_apart_stay_apart_when_their_loads_differ() {
        let client = |home, load| Client {
            vm: 0,
            home,
            vcpus: 12,
            load,
        };
        let apart = [client(0, 12.0), client(1, 8.0)];
        assert_eq!(next_move(&apart, 12, 2, &ALWAYS, |_| true), None);
        assert_eq!(short_of_cores(&apart, 12, 2), [false, false]);
        assert_eq!(short_of_cores(&[client(0, 12.0), client(0, 8.0)], 12, 2), [true, false]);
    }

    #[test]
    fn a_small_imbalance_moves_nobody() {
        let client = |vm, home, load| Client {
            vm,
            home,
            vcpus: 4,
            load,
        };
        // 6.3 and 5.7 of 12 cores differ by 5 %, which moving the small one would even out
        let nearly = [client(0, 0, 6.0), client(1, 0, 0.3), client(2, 1, 5.7)];
        assert_eq!(next_move(&nearly, 12, 2, &ALWAYS, |_| true), None);
        let eager = Rules {
            imbalance: 0.04,
            ..ALWAYS
        };
        assert_eq!(next_move(&nearly, 12, 2, &eager, |_| true), Some((1, 1)));
    }

    #[test]
    fn clients_without_vcpus_neither_move_nor_attract() {
        let client = |vm, home, vcpus| Client {
            vm,
            home,
            vcpus,
            load: vcpus as f64,
        };
        // VM 0 has left: its clients would otherwise come together on node 1, and VM 1 would not be judged by itself.
        let left = [client(0, 0, 0), client(0, 1, 0), client(0, 1, 0)];
        let stays = [client(1, 0, 8), client(1, 0, 8)];
        let all = [left, [stays[0], stays[1], client(1, 1, 0)]].concat();
        assert_eq!(next_move(&all, 12, 2, &ALWAYS, |_| true), None);
    }

    #[test]
    fn a_vm_that_fits_a_node_is_placed_whole() {
        assert_eq!(home_nodes(&[2; 6], 0, 12, &[0; 2], |node| [3.0, 1.0][node]), vec![1; 6]);
    }

    #[test]
    fn a_node_that_holds_the_memory_comes_before_one_with_less_load() {
        let homes = |clients: &[u32], bytes, free: &[u64]| home_nodes(clients, bytes, 6, free, |node| node as f64);
        assert_eq!(homes(&[2], 40, &[3, 53]), [1]);
        assert_eq!(homes(&[2], 40, &[40, 53]), [0], "it fits");
        assert_eq!(homes(&[2], 40, &[3, 39]), [0], "it fits nowhere");
        assert_eq!(homes(&[4, 4], 80, &[80, 53]), [0, 1]);
        assert_eq!(
            homes(&[4, 4, 4], 120, &[80, 39]),
            [0, 0, 1],
            "each by its share, beside the others"
        );
        let only_first = |node: usize| [0.0, f64::INFINITY][node];
        assert_eq!(home_nodes(&[2], 40, 6, &[3, 53], only_first), [0]);
    }
}
