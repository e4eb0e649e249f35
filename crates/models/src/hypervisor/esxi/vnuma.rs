//! Virtual NUMA of ESXi: how the versions cut a VM's vCPUs into virtual nodes and NUMA clients.
//!
//! **Mechanism.** [`RULES`] has one row for each group of versions that behave alike. By default clients and virtual
//! nodes are the same. A virtual node that is larger than a physical one has several clients.
//!
//! **Sources.** VMware vSphere Resource Management 5.0 to 8.0, "Virtual NUMA" and "Virtual NUMA Controls"; F. Denneman,
//! "NUMA Deep Dive Part 5", "Decoupling of Cores per Socket from Virtual NUMA Topology in vSphere 6.5" (2016), "vSphere
//! 7 Cores per Socket and Virtual NUMA" (2021); VMware KB 2040375 (hot-add); vSphere API, `VirtualMachineVirtualNuma`;
//! the article of the esxi-vnuma study, from which the roundings are derived. That a virtual node larger than a node
//! has several clients is in vSphere 6.0 Resource Management (`numa.vcpu.maxPerClient`).

use crate::numa;
use crate::vnuma::{Nodes, Topology, cut};
use hypertwin_cluster::{HostGroup, Hypervisor, SchedulerOptions, VmGroup};

/// To what a virtual node is rounded so that it holds whole virtual sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholeSockets {
    /// Sockets do not matter.
    No,
    /// Down, to at least one socket.
    Down,
    /// Up where a node still holds it, else down.
    Up,
}

/// How the versions from one on make virtual nodes.
#[derive(Debug)]
struct Rules {
    /// The first version that goes by these rules.
    since: Hypervisor,
    /// Guests can see several nodes.
    exposes_nodes: bool,
    /// Every virtual socket of more than one core is a virtual node.
    socket_is_node: bool,
    /// There are at most as many virtual nodes as physical ones.
    capped_at_nodes: bool,
    /// Whether virtual nodes hold whole virtual sockets.
    whole_sockets: WholeSockets,
    /// Virtual nodes are those of the first power-on, whatever the present host.
    fixed_at_first_power_on: bool,
    /// Cores per socket that are not set become those of a virtual node.
    chooses_sockets: bool,
    /// Nodes are compared only when the load of one exceeds its cores.
    rebalances_only_overcommitted: bool,
    /// `Numa.MaxProximityDomains`: virtual nodes beyond these have no memory of their own, and use the first one's.
    max_proximity_domains: u32,
}

/// The rules of ESXi, oldest first. Where two versions differ, the reason is at the later one.
const RULES: [Rules; 5] = [
    // vSphere 4.1, "What's New": VMs wider than a node are cut into NUMA clients; virtual NUMA is new in 5.0. That 4.0
    // cuts them too is assumed.
    Rules {
        since: Hypervisor::Esxi40,
        exposes_nodes: false,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::No,
        fixed_at_first_power_on: true,
        chooses_sockets: false,
        rebalances_only_overcommitted: false,
        max_proximity_domains: 1,
    },
    // vSphere 5.0 and 6.0 Resource Management: "the virtual NUMA node size matches the virtual socket size"; ESXi 6.0
    // advanced options: Numa.MaxProximityDomains 16
    Rules {
        since: Hypervisor::Esxi50,
        exposes_nodes: true,
        socket_is_node: true,
        capped_at_nodes: false,
        whole_sockets: WholeSockets::No,
        fixed_at_first_power_on: true,
        chooses_sockets: false,
        rebalances_only_overcommitted: false,
        max_proximity_domains: 16,
    },
    // Denneman (2016): cores per socket no longer set the node; that three sockets of eight still make three nodes is
    // measured by the article of the esxi-vnuma study. That the limit of 16 domains still holds is assumed.
    Rules {
        since: Hypervisor::Esxi65,
        exposes_nodes: true,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Down,
        fixed_at_first_power_on: true,
        chooses_sockets: false,
        rebalances_only_overcommitted: true,
        max_proximity_domains: 16,
    },
    // Denneman (2021): 30 vCPUs in sockets of two, on 20 cores per node, are 16 + 14
    Rules {
        since: Hypervisor::Esxi70,
        exposes_nodes: true,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Up,
        fixed_at_first_power_on: true,
        chooses_sockets: false,
        rebalances_only_overcommitted: true,
        max_proximity_domains: 16,
    },
    // vSphere 8.0 Resource Management, "Virtual Topology", and API: all of it is assigned at power-on
    Rules {
        since: Hypervisor::Esxi80,
        exposes_nodes: true,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Up,
        fixed_at_first_power_on: false,
        chooses_sockets: true,
        rebalances_only_overcommitted: true,
        max_proximity_domains: 16,
    },
];

fn rules(version: Hypervisor) -> &'static Rules {
    let known = RULES.iter().rev().find(|rules| rules.since <= version);
    known.unwrap_or(&RULES[0])
}

/// Whether guests can see several nodes in `version`.
pub fn exposes_nodes(version: Hypervisor) -> bool {
    rules(version).exposes_nodes
}

/// When NUMA clients move in `version`, with a host's overrides.
pub fn home_rules(version: Hypervisor, options: &SchedulerOptions) -> numa::Rules {
    numa::Rules {
        imbalance: options.numa_imbalance_threshold_pct.unwrap_or(10.0) / 100.0,
        // Numa.MigThreshold, 2 % (ESXi advanced options)
        least_gain: 0.02,
        action_affinity: options.numa_action_affinity_weight.unwrap_or(130) > numa::BALANCE_WEIGHT,
        only_overcommitted: rules(version).rebalances_only_overcommitted,
    }
}

/// The virtual NUMA of `vm` on `host`.
pub fn topology(host: &HostGroup, vm: &VmGroup) -> Topology {
    let rules = rules(host.hypervisor);
    let threads = if vm.numa.prefer_ht { host.threads_per_core } else { 1 };
    let nodes = Nodes {
        count: host.nodes(),
        room: host.cores_per_node() * threads,
    };
    let wide_enough = rules.exposes_nodes && vm.vcpus >= vm.numa.vcpu_min();
    let hot_add_hides = vm.cpu_hot_add && (rules.fixed_at_first_power_on || !vm.numa.expose_on_cpu_hot_add);
    let exposed = wide_enough && !hot_add_hides;
    let present = split(rules, vm, nodes);
    let first_host = vm.numa.sized_on.filter(|_| rules.fixed_at_first_power_on);
    let vpds = match first_host {
        _ if !exposed => vec![vm.vcpus],
        None => present.clone(),
        // Hyper-threads do not count: preferHT set later changes only the clients.
        Some(first) => {
            let (count, room) = (first.sockets, first.cores_per_socket);
            split(rules, vm, Nodes { count, room })
        }
    };
    // A virtual node larger than a node is backed by several clients, unless the host as a whole is too small.
    let share = nodes.even_share(vm.vcpus);
    let too_wide = present.iter().any(|vcpus| *vcpus > nodes.room.max(share));
    let ppds = if too_wide { cut(vm.vcpus, share) } else { present };
    let most_domains = rules.max_proximity_domains as usize;
    Topology {
        nodes,
        cores_per_socket: vm.cores_per_socket.unwrap_or(match vpds[..] {
            [first, ..] if rules.chooses_sockets && vm.vcpus.is_multiple_of(first) => first,
            _ => 1,
        }),
        domains_with_memory: vpds.len().min(most_domains),
        bound_homes: None,
        vpds,
        ppds,
        exposed,
        hidden_by_hot_add: wide_enough && hot_add_hides,
        from_first_power_on: first_host.is_some(),
        shaped_by_sockets: vm.cores_per_socket.is_some_and(|cores| cores > 1) && vm.numa.cores_per_node.is_none(),
    }
}

/// The virtual nodes of a VM that may see them.
fn split(rules: &Rules, vm: &VmGroup, nodes: Nodes) -> Vec<u32> {
    let socket = vm.cores_per_socket.unwrap_or(1);
    if let (Some(size), false) = (vm.numa.cores_per_node, rules.fixed_at_first_power_on) {
        return cut(vm.vcpus, size);
    }
    let socket_is_node = rules.socket_is_node || vm.numa.follow_cores_per_socket;
    if socket_is_node && socket > 1 && vm.vcpus >= vm.numa.vcpu_min() {
        return cut(vm.vcpus, socket);
    }
    let most = vm.numa.max_per_virtual_node;
    let least_nodes = vm.vcpus.div_ceil(most.unwrap_or(nodes.room));
    let count = match rules.capped_at_nodes && most.is_none() {
        true => least_nodes.min(nodes.count),
        false => least_nodes,
    };
    let even = vm.vcpus.div_ceil(count);
    let down = (even / socket * socket).max(socket);
    let up = even.next_multiple_of(socket);
    let size = match rules.whole_sockets {
        WholeSockets::Up if up <= most.unwrap_or(nodes.room) => up,
        WholeSockets::Up | WholeSockets::Down if most.is_none_or(|most| down <= most) => down,
        _ => even,
    };
    cut(vm.vcpus, size)
}
