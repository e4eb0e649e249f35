//! Virtual NUMA: which nodes a guest sees, which groups of its vCPUs are placed on physical nodes, and where its memory is.
//!
//! **Mechanism.** A machine has virtual proximity domains (VPDs), the nodes that its guest sees, and physical proximity
//! domains (PPDs, NUMA clients), the groups of vCPUs that have a home node. By default they are the same. How vCPUs are
//! cut into VPDs depends on the version; [`RULES`] has one row for each. Then [`crate::numa`] gives each PPD its home.
//!
//! **Sources.** VMware vSphere Resource Management 5.0 to 8.0, "Virtual NUMA" and "Virtual NUMA Controls"; F. Denneman,
//! "NUMA Deep Dive Part 5", "Decoupling of Cores per Socket from Virtual NUMA Topology in vSphere 6.5" (2016), "vSphere 7
//! Cores per Socket and Virtual NUMA" (2021); VMware KB 2040375 (hot-add); vSphere API, `VirtualMachineVirtualNuma`; the
//! article of the esxi-vnuma study, from which the roundings are derived.
//!
//! **Assumptions.** Power-on on a host with only the scenario's machines, in order of name, all idle then: a machine is
//! placed where the fewest vCPUs per core are. A socket is a node. Linux moves threads freely: a wide machine without
//! bound cells spreads evenly, and its memory with it.

use std::collections::{BTreeMap, BTreeSet};

use hypertwin_cluster::{Family, HostGroup, Hypervisor, Scenario, VmGroup};
use serde::Serialize;

use crate::numa;

/// Part of a node's memory that machines can have; the hypervisor keeps the rest.
///
/// Assumed: F. Denneman's example on vSphere 8.0 has 226 GB local and 155 GB remote of a machine with 384 GB, on nodes of
/// 256 GB; 0.89 is within 1 % of both.
pub const USABLE_MEMORY: f64 = 0.89;

/// `numa.vcpu.min`: vCPUs from which a guest may see several nodes (vSphere Resource Management, "Virtual NUMA Controls").
const VCPU_MIN: u32 = 9;

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

/// How one version family makes virtual nodes.
#[derive(Debug)]
struct Rules {
    /// The first version that goes by these rules.
    since: Hypervisor,
    /// Every virtual socket of more than one core is a virtual node.
    socket_is_node: bool,
    /// There are at most as many virtual nodes as physical ones.
    capped_at_nodes: bool,
    /// Whether virtual nodes hold whole virtual sockets.
    whole_sockets: WholeSockets,
    /// Virtual nodes are those of the first power-on, whatever the present host.
    fixed_at_first_power_on: bool,
    /// Nodes are compared only when the load of one exceeds its cores.
    rebalances_only_overcommitted: bool,
    /// `Numa.MaxProximityDomains`: virtual nodes beyond these have no memory of their own, and use the first one's.
    max_proximity_domains: Option<u32>,
}

/// The rules of ESXi, oldest first. Where two versions differ, the reason is at the later one.
const RULES: [Rules; 4] = [
    // vSphere 5.0 and 6.0 Resource Management: "the virtual NUMA node size matches the virtual socket size"; ESXi 6.0
    // advanced options: Numa.MaxProximityDomains 16
    Rules {
        since: Hypervisor::Esxi55,
        socket_is_node: true,
        capped_at_nodes: false,
        whole_sockets: WholeSockets::No,
        fixed_at_first_power_on: true,
        rebalances_only_overcommitted: false,
        max_proximity_domains: Some(16),
    },
    // Denneman (2016): cores per socket no longer set the node; that three sockets of eight still make three nodes is
    // measured by the article of the esxi-vnuma study. That the limit of 16 domains still holds is assumed.
    Rules {
        since: Hypervisor::Esxi65,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Down,
        fixed_at_first_power_on: true,
        rebalances_only_overcommitted: true,
        max_proximity_domains: Some(16),
    },
    // Denneman (2021): 30 vCPUs in sockets of two, on 20 cores per node, are 16 + 14
    Rules {
        since: Hypervisor::Esxi70,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Up,
        fixed_at_first_power_on: true,
        rebalances_only_overcommitted: true,
        max_proximity_domains: Some(16),
    },
    // vSphere 8.0 Resource Management and API: the topology is assigned at power-on
    Rules {
        since: Hypervisor::Esxi80,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Up,
        fixed_at_first_power_on: false,
        rebalances_only_overcommitted: true,
        max_proximity_domains: Some(16),
    },
];

/// Linux: the guest's nodes are its libvirt cells, and a machine without cells is cut only by where its threads are.
const LINUX: Rules = Rules {
    since: Hypervisor::Linux6_6,
    socket_is_node: false,
    capped_at_nodes: true,
    whole_sockets: WholeSockets::No,
    fixed_at_first_power_on: false,
    rebalances_only_overcommitted: true,
    max_proximity_domains: None,
};

fn rules(hypervisor: Hypervisor) -> &'static Rules {
    match hypervisor.family() {
        Family::Linux => &LINUX,
        Family::Esxi => RULES
            .iter()
            .rev()
            .find(|rules| rules.since <= hypervisor)
            .unwrap_or(&RULES[0]),
    }
}

/// Physical NUMA nodes as the rules see them.
#[derive(Clone, Copy, Debug)]
struct Nodes {
    count: u32,
    /// vCPUs that one node has room for: its cores, or its hardware threads with `numa.vcpu.preferHT`.
    room: u32,
}

impl Nodes {
    fn of(host: &HostGroup, vm: &VmGroup) -> Self {
        let threads = if vm.numa.prefer_ht { host.threads_per_core } else { 1 };
        Self {
            count: host.sockets,
            room: host.cores_per_socket * threads,
        }
    }

    /// How many vCPUs each part has when `vcpus` are spread over no more nodes than they need and there are.
    fn even_share(self, vcpus: u32) -> u32 {
        vcpus.div_ceil(vcpus.div_ceil(self.room).min(self.count))
    }
}

/// `vcpus` in parts of `size`, the last one smaller.
fn cut(vcpus: u32, size: u32) -> Vec<u32> {
    let mut parts = vec![size; (vcpus / size) as usize];
    parts.extend(Some(vcpus % size).filter(|rest| *rest > 0));
    parts
}

/// The virtual nodes of a machine that may see them.
fn split(rules: &Rules, vm: &VmGroup, nodes: Nodes) -> Vec<u32> {
    let socket = vm.cores_per_socket.unwrap_or(1);
    if let (Some(size), false) = (vm.numa.cores_per_node, rules.fixed_at_first_power_on) {
        return cut(vm.vcpus, size);
    }
    let socket_is_node = rules.socket_is_node || vm.numa.follow_cores_per_socket;
    if socket_is_node && socket > 1 && vm.vcpus >= vcpu_min(vm) {
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

fn vcpu_min(vm: &VmGroup) -> u32 {
    vm.numa.vcpu_min.unwrap_or(VCPU_MIN)
}

/// The virtual NUMA of one machine on one host, before anything is placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// vCPUs of each virtual node (VPD), which the guest sees; vCPU numbers run through them in order.
    pub vpds: Vec<u32>,
    /// vCPUs of each NUMA client (PPD), which has a home node; vCPU numbers run through them in order.
    pub ppds: Vec<u32>,
    /// Whether the guest may see more than one node.
    pub exposed: bool,
    /// Whether memory is spread over the homes of all clients, because the guest sees one node where there are several
    /// clients.
    pub interleaved: bool,
    /// Virtual nodes that have memory of their own; every later one uses the memory of the first.
    pub domains_with_memory: usize,
}

impl Topology {
    /// The virtual nodes and NUMA clients of `vm` when it is powered on, or moved to, a host of `host`.
    pub fn new(host: &HostGroup, vm: &VmGroup) -> Self {
        let rules = rules(host.hypervisor);
        let linux = host.hypervisor.family() == Family::Linux;
        let nodes = Nodes::of(host, vm);
        let exposed = match linux {
            true => !vm.numa.cells.is_empty(),
            false => vm.vcpus >= vcpu_min(vm) && !hidden_by_hot_add(rules, vm),
        };
        let bound = linux && exposed;
        let present = if bound {
            vm.numa.cells.clone()
        } else {
            split(rules, vm, nodes)
        };
        let first = vm.numa.sized_on.filter(|_| rules.fixed_at_first_power_on);
        let vpds = match (exposed, first) {
            (false, _) => vec![vm.vcpus],
            (true, None) => present.clone(),
            (true, Some(first)) => {
                // Hyper-threads do not count: preferHT is known to change the clients of a machine that has its topology.
                let room = first.cores_per_socket;
                let count = first.sockets;
                split(rules, vm, Nodes { count, room })
            }
        };
        // A client wider than a node, other than on a host too small for the machine, would have no home.
        let share = nodes.even_share(vm.vcpus);
        let too_wide = present.iter().any(|vcpus| *vcpus > nodes.room.max(share));
        let ppds = if too_wide && !bound {
            cut(vm.vcpus, share)
        } else {
            present
        };
        Self {
            interleaved: vpds.len() == 1 && ppds.len() > 1,
            domains_with_memory: rules
                .max_proximity_domains
                .map_or(vpds.len(), |most| vpds.len().min(most as usize)),
            vpds,
            ppds,
            exposed,
        }
    }

    /// Home node of each client at power-on, where the nodes have `load`, in cores, without this machine.
    pub fn homes(&self, host: &HostGroup, vm: &VmGroup, load: impl FnMut(usize) -> f64) -> Vec<usize> {
        if host.hypervisor.family() == Family::Linux && vm.numa.nodes.len() == self.ppds.len() {
            return vm.numa.nodes.iter().map(|node| *node as usize).collect();
        }
        let nodes = Nodes::of(host, vm);
        // Clients stay together only where their memory does too: F. Denneman, "vSphere 8 CPU Topology for Large Memory
        // Footprint VMs" (2022), has two clients of 6 vCPUs and 192 GB on two nodes of 20 cores and 256 GB.
        let fits = vm.memory.bytes() <= usable_bytes(host);
        let together = if fits { nodes.room } else { 0 };
        numa::home_nodes(&self.ppds, together as usize, nodes.count as usize, load)
    }

    /// The virtual node whose memory the guest takes for local on each vCPU.
    pub fn memory_domains(&self) -> Vec<usize> {
        let domain = |vpd: usize| if vpd < self.domains_with_memory { vpd } else { 0 };
        let ranges = self.vpds.iter().enumerate();
        ranges
            .flat_map(|(vpd, vcpus)| std::iter::repeat_n(domain(vpd), *vcpus as usize))
            .collect()
    }
}

fn hidden_by_hot_add(rules: &Rules, vm: &VmGroup) -> bool {
    vm.cpu_hot_add && (rules.fixed_at_first_power_on || !vm.numa.expose_on_cpu_hot_add)
}

/// What the rebalancer of a host goes by.
pub fn rebalancing(host: &HostGroup) -> numa::Rules {
    numa::Rules {
        imbalance: host.scheduler.numa_imbalance_threshold_pct.unwrap_or(10.0) / 100.0,
        // Numa.MigThreshold, 2 % (ESXi advanced options)
        least_gain: 0.02,
        action_affinity: true,
        only_overcommitted: rules(host.hypervisor).rebalances_only_overcommitted,
    }
}

/// Physical processors and memory of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostTopology {
    /// Sockets, each a NUMA node.
    pub sockets: u32,
    /// Physical cores of one socket.
    pub cores_per_socket: u32,
    /// Hardware threads of one core.
    pub threads_per_core: u32,
    /// Memory of one node.
    pub memory_per_node_bytes: u64,
}

/// Bytes of memory on one physical node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeMemory {
    /// The node.
    pub node: usize,
    /// How much.
    pub bytes: u64,
}

/// A NUMA client (PPD) in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientLayout {
    /// Its first vCPU; the others follow in order.
    pub first_vcpu: u32,
    /// How many vCPUs it has.
    pub vcpus: u32,
    /// Its home node at power-on.
    pub home: usize,
    /// Where its share of the machine's memory is, by node.
    pub memory: Vec<NodeMemory>,
    /// Memory on its home node.
    pub local_bytes: u64,
    /// Memory on other nodes.
    pub remote_bytes: u64,
}

/// Something about a layout that costs performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable name of the kind of warning.
    pub code: &'static str,
    /// What it is and why it matters, in words.
    pub text: String,
}

/// The virtual NUMA of one machine in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// Name of the host.
    pub host: String,
    /// Its hypervisor and version.
    pub hypervisor: Hypervisor,
    /// Its processors and memory.
    pub host_topology: HostTopology,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Cores of one virtual socket.
    pub cores_per_socket: u32,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Whether the guest may see more than one node.
    pub vnuma: bool,
    /// vCPUs of each virtual node, which the guest sees.
    pub vpds: Vec<u32>,
    /// vCPUs of each NUMA client, which is placed on a physical node.
    pub ppds: Vec<u32>,
    /// Home node of each client at power-on.
    pub homes: Vec<usize>,
    /// Home node of each client once the rebalancer has settled, every vCPU busy and the machine alone.
    pub settled_homes: Vec<usize>,
    /// Whether all clients settle on one node although the machine is wider than a node.
    pub collapsed: bool,
    /// The clients in their places.
    pub clients: Vec<ClientLayout>,
    /// What is wrong with the layout.
    pub warnings: Vec<Warning>,
}

/// Memory of one node that machines can have.
fn usable_bytes(host: &HostGroup) -> u64 {
    (host.memory_per_node.bytes() as f64 * USABLE_MEMORY) as u64
}

/// What is left of a host while machines are placed on it.
struct Room {
    /// vCPUs whose home a node is.
    vcpus: Vec<f64>,
    /// Memory that a node can still give.
    free_bytes: Vec<u64>,
}

impl Room {
    fn new(host: &HostGroup) -> Self {
        let nodes = host.sockets as usize;
        Self {
            vcpus: vec![0.0; nodes],
            free_bytes: vec![usable_bytes(host); nodes],
        }
    }

    /// Takes `bytes`, from `node` as far as it has them, then from the node with the most left.
    fn take(&mut self, node: usize, bytes: u64, taken: &mut BTreeMap<usize, u64>) {
        let mut from = node;
        let mut left = bytes;
        while left > 0 && self.free_bytes[from] > 0 {
            let part = left.min(self.free_bytes[from]);
            self.free_bytes[from] -= part;
            *taken.entry(from).or_default() += part;
            left -= part;
            from = (0..self.free_bytes.len())
                .rev()
                .max_by_key(|node| self.free_bytes[*node])
                .unwrap_or(node);
        }
        // what no node can give is reclaimed from the home node sooner or later
        if left > 0 {
            *taken.entry(node).or_default() += left;
        }
    }
}

/// The layout of every machine of a scenario by name; `None` where a machine fits nowhere, which validation rules out.
pub fn layouts(scenario: &Scenario) -> Option<BTreeMap<String, Layout>> {
    let hosts = scenario.host_names();
    let mut rooms: Vec<Room> = hosts.iter().map(|(_, host)| Room::new(host)).collect();
    let placed = scenario.placement()?;
    let machines = scenario.vm_names().into_iter().zip(placed);
    Some(
        machines
            .map(|((name, vm), host)| (name, layout(&hosts[host].0, hosts[host].1, vm, &mut rooms[host])))
            .collect(),
    )
}

fn layout(name: &str, host: &HostGroup, vm: &VmGroup, room: &mut Room) -> Layout {
    let topology = Topology::new(host, vm);
    let homes = topology.homes(host, vm, |node| room.vcpus[node]);
    let nodes = Nodes::of(host, vm);
    let settled_homes = match host.hypervisor.family() {
        Family::Linux => homes.clone(),
        Family::Esxi => numa::settled(
            &topology.ppds,
            &homes,
            host.cores_per_socket as usize,
            nodes.count as usize,
            &rebalancing(host),
        ),
    };
    let clients = place_memory(&topology, &homes, vm, room);
    let one_node = topology.ppds.len() > 1 && settled_homes.iter().all(|home| *home == settled_homes[0]);
    let mut layout = Layout {
        host: name.to_owned(),
        hypervisor: host.hypervisor,
        host_topology: HostTopology {
            sockets: host.sockets,
            cores_per_socket: host.cores_per_socket,
            threads_per_core: host.threads_per_core,
            memory_per_node_bytes: host.memory_per_node.bytes(),
        },
        vcpus: vm.vcpus,
        cores_per_socket: vm.cores_per_socket.unwrap_or(1),
        memory_bytes: vm.memory.bytes(),
        vnuma: topology.exposed,
        collapsed: one_node && vm.vcpus > nodes.room,
        clients,
        homes,
        settled_homes,
        warnings: Vec::new(),
        vpds: topology.vpds.clone(),
        ppds: topology.ppds.clone(),
    };
    layout.warnings = warnings(&layout, &topology, host, vm);
    layout
}

/// Gives every client its share of the machine's memory, and books vCPUs and memory in `room`.
fn place_memory(topology: &Topology, homes: &[usize], vm: &VmGroup, room: &mut Room) -> Vec<ClientLayout> {
    let all_homes: Vec<usize> = homes.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let bytes_of = |first: u32, vcpus: u32| {
        let up_to = |vcpu: u32| (u128::from(vm.memory.bytes()) * u128::from(vcpu) / u128::from(vm.vcpus)) as u64;
        up_to(first + vcpus) - up_to(first)
    };
    let mut first_vcpu = 0;
    let mut clients = Vec::new();
    for (&vcpus, &home) in topology.ppds.iter().zip(homes) {
        let bytes = bytes_of(first_vcpu, vcpus);
        let mut taken = BTreeMap::new();
        if topology.interleaved {
            let part = bytes / all_homes.len() as u64;
            for &node in &all_homes {
                let odd = if node == home {
                    bytes % all_homes.len() as u64
                } else {
                    0
                };
                room.take(node, part + odd, &mut taken);
            }
        } else {
            room.take(home, bytes, &mut taken);
        }
        room.vcpus[home] += f64::from(vcpus);
        let local_bytes = taken.get(&home).copied().unwrap_or(0);
        clients.push(ClientLayout {
            first_vcpu,
            vcpus,
            home,
            memory: taken
                .into_iter()
                .map(|(node, bytes)| NodeMemory { node, bytes })
                .collect(),
            local_bytes,
            remote_bytes: bytes - local_bytes,
        });
        first_vcpu += vcpus;
    }
    clients
}

fn warnings(_layout: &Layout, _topology: &Topology, _host: &HostGroup, _vm: &VmGroup) -> Vec<Warning> {
    Vec::new()
}
