//! Virtual NUMA: which nodes a guest sees, which groups of its vCPUs are placed on physical nodes, and where its memory is.
//!
//! **Mechanism.** A machine has virtual proximity domains (VPDs), the nodes that its guest sees, and physical proximity
//! domains (PPDs, NUMA clients), the groups of vCPUs that have a home node. By default they are the same. How vCPUs are
//! cut into VPDs depends on the version; [`RULES`] has one row for each. Then [`crate::numa`] gives each PPD its home.
//!
//! **Sources.** VMware vSphere Resource Management 5.0 to 8.0, "Virtual NUMA" and "Virtual NUMA Controls"; F. Denneman,
//! "NUMA Deep Dive Part 5", "Decoupling of Cores per Socket from Virtual NUMA Topology in vSphere 6.5" (2016), "vSphere 7
//! Cores per Socket and Virtual NUMA" (2021); VMware KB 2040375 (hot-add); vSphere API, `VirtualMachineVirtualNuma`; the
//! article of the esxi-vnuma study, from which the roundings are derived. That a virtual node larger than a node has
//! several clients is in vSphere 6.0 Resource Management (`numa.vcpu.maxPerClient`).
//!
//! **Assumptions.** Power-on on a host with only the scenario's machines, in order of name, all idle then: a machine is
//! placed where the fewest vCPUs per core are. A socket is a node. Linux moves threads freely: a wide machine without
//! bound cells spreads evenly, and its memory with it.

use std::collections::{BTreeMap, BTreeSet};

use hypertwin_cluster::{Family, HostGroup, Hypervisor, Scenario, SchedulerOptions, VmGroup};
use serde::Serialize;

use crate::{memory, numa};

/// Part of a node's memory that machines can have; the hypervisor keeps the rest.
///
/// Assumed, from one example: on nodes of 256 GB a machine of 384 GB had 226 GB local and 155 GB remote, with a little not
/// yet touched (F. Denneman, "vSphere 8 CPU Topology for Large Memory Footprint VMs", 2022), so between 226 and 229 of 256.
const USABLE_MEMORY: f64 = 0.89;

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
    /// Cores per socket that are not set become those of a virtual node.
    chooses_sockets: bool,
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
        since: Hypervisor::Esxi50,
        socket_is_node: true,
        capped_at_nodes: false,
        whole_sockets: WholeSockets::No,
        fixed_at_first_power_on: true,
        chooses_sockets: false,
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
        chooses_sockets: false,
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
        chooses_sockets: false,
        rebalances_only_overcommitted: true,
        max_proximity_domains: Some(16),
    },
    // vSphere 8.0 Resource Management, "Virtual Topology", and API: all of it is assigned at power-on
    Rules {
        since: Hypervisor::Esxi80,
        socket_is_node: false,
        capped_at_nodes: true,
        whole_sockets: WholeSockets::Up,
        fixed_at_first_power_on: false,
        chooses_sockets: true,
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
    chooses_sockets: false,
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
        let threads = match host.hypervisor.family() {
            Family::Esxi if vm.numa.prefer_ht => host.threads_per_core,
            _ => 1,
        };
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
        let nodes = Nodes::of(host, vm);
        let share = nodes.even_share(vm.vcpus);
        let (exposed, vpds, ppds) = match host.hypervisor.family() {
            Family::Linux if vm.numa.cells.is_empty() => (false, vec![vm.vcpus], cut(vm.vcpus, share)),
            Family::Linux => (true, vm.numa.cells.clone(), vm.numa.cells.clone()),
            Family::Esxi => {
                let exposed = vm.vcpus >= vm.numa.vcpu_min() && !hidden_by_hot_add(rules, vm);
                let present = split(rules, vm, nodes);
                let vpds = match vm.numa.sized_on.filter(|_| rules.fixed_at_first_power_on) {
                    _ if !exposed => vec![vm.vcpus],
                    None => present.clone(),
                    // Hyper-threads do not count: preferHT set later changes only the clients.
                    Some(first) => {
                        let (count, room) = (first.sockets, first.cores_per_socket);
                        split(rules, vm, Nodes { count, room })
                    }
                };
                // A virtual node larger than a node is backed by several clients, unless the host as a whole is too small.
                let too_wide = present.iter().any(|vcpus| *vcpus > nodes.room.max(share));
                let ppds = if too_wide { cut(vm.vcpus, share) } else { present };
                (exposed, vpds, ppds)
            }
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

    /// Where the machine's `bytes` of memory are at power-on: for each client those on each node, taken from `free`. Each
    /// client has a share by its vCPUs, on its home node as far as there is room.
    pub fn place_memory(&self, homes: &[usize], bytes: u64, free: &mut [u64]) -> Vec<Vec<u64>> {
        let all_homes: BTreeSet<usize> = homes.iter().copied().collect();
        let total: u32 = self.ppds.iter().sum();
        let up_to = |vcpu: u32| (u128::from(bytes) * u128::from(vcpu) / u128::from(total)) as u64;
        let mut first = 0;
        let mut placed = Vec::new();
        for (&vcpus, &home) in self.ppds.iter().zip(homes) {
            let share = up_to(first + vcpus) - up_to(first);
            first += vcpus;
            if !self.interleaved {
                placed.push(memory::allocate(share, home, free));
                continue;
            }
            let part = share / all_homes.len() as u64;
            let mut sum = memory::allocate(share % all_homes.len() as u64, home, free);
            for &node in &all_homes {
                let taken = memory::allocate(part, node, free);
                sum.iter_mut().zip(taken).for_each(|(sum, taken)| *sum += taken);
            }
            placed.push(sum);
        }
        placed
    }

    /// The NUMA client of each vCPU.
    pub fn client_of(&self) -> Vec<usize> {
        let clients = self.ppds.iter().enumerate();
        clients
            .flat_map(|(client, vcpus)| std::iter::repeat_n(client, *vcpus as usize))
            .collect()
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

/// What the rebalancer of a version goes by, with a host's overrides.
pub fn rebalancing(hypervisor: Hypervisor, options: &SchedulerOptions) -> numa::Rules {
    numa::Rules {
        imbalance: options.numa_imbalance_threshold_pct.unwrap_or(10.0) / 100.0,
        // Numa.MigThreshold, 2 % (ESXi advanced options)
        least_gain: 0.02,
        action_affinity: options.numa_action_affinity_weight.unwrap_or(130) > numa::BALANCE_WEIGHT,
        only_overcommitted: rules(hypervisor).rebalances_only_overcommitted,
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
pub fn usable_bytes(host: &HostGroup) -> u64 {
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
            &rebalancing(host.hypervisor, &host.scheduler),
        ),
    };
    let clients = place(&topology, &homes, vm, room);
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
        cores_per_socket: vm.cores_per_socket.unwrap_or(match topology.vpds[..] {
            [first, ..] if rules(host.hypervisor).chooses_sockets && vm.vcpus.is_multiple_of(first) => first,
            _ => 1,
        }),
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

/// The clients in their places; books their vCPUs and memory in `room`.
fn place(topology: &Topology, homes: &[usize], vm: &VmGroup, room: &mut Room) -> Vec<ClientLayout> {
    let memory = topology.place_memory(homes, vm.memory.bytes(), &mut room.free_bytes);
    let mut first_vcpu = 0;
    let mut clients = Vec::new();
    for ((&vcpus, &home), bytes) in topology.ppds.iter().zip(homes).zip(memory) {
        room.vcpus[home] += f64::from(vcpus);
        clients.push(ClientLayout {
            first_vcpu,
            vcpus,
            home,
            local_bytes: bytes[home],
            remote_bytes: bytes.iter().sum::<u64>() - bytes[home],
            memory: (0..)
                .zip(bytes)
                .filter(|(_, bytes)| *bytes > 0)
                .map(|(node, bytes)| NodeMemory { node, bytes })
                .collect(),
        });
        first_vcpu += vcpus;
    }
    clients
}

/// What is wrong with a layout; each code is explained in docs/models/vnuma.md.
fn warnings(layout: &Layout, topology: &Topology, host: &HostGroup, vm: &VmGroup) -> Vec<Warning> {
    let Nodes { count, room } = Nodes::of(host, vm);
    let vcpus = vm.vcpus;
    let rules = rules(host.hypervisor);
    let linux = host.hypervisor.family() == Family::Linux;
    let wide = vcpus > room;
    let needed = vcpus.div_ceil(room).min(count) as usize;
    let (vpds, ppds) = (&layout.vpds, &layout.ppds);
    let mut by_node: BTreeMap<usize, u32> = BTreeMap::new();
    for client in &layout.clients {
        *by_node.entry(client.home).or_default() += client.vcpus;
    }
    let on_nodes: Vec<u32> = by_node.into_values().collect();
    let uneven = |parts: &[u32]| {
        parts
            .iter()
            .max()
            .zip(parts.iter().min())
            .is_some_and(|(most, least)| most - least > 1)
    };
    let by_hot_add = !linux && hidden_by_hot_add(rules, vm) && vcpus >= vm.numa.vcpu_min();
    let moved = rules.fixed_at_first_power_on && vm.numa.sized_on.is_some() && layout.vnuma && vpds != ppds;
    let spilled: u64 = layout.clients.iter().map(|client| client.remote_bytes).sum();
    let parts = |parts: &[u32]| parts.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ");
    let clients = ppds.len();

    let mut found = Vec::new();
    let mut warn = |holds: bool, code: &'static str, text: &dyn Fn() -> String| {
        if holds {
            found.push(Warning { code, text: text() });
        }
    };
    warn(vcpus > host.cores(), "more-vcpus-than-cores", &|| {
        format!(
            "{vcpus} vCPUs on {} cores: vCPUs share cores, and a hyper-thread adds about a quarter of a core, not a core",
            host.cores()
        )
    });
    warn(wide && vcpus % 2 == 1, "odd-wide", &|| {
        format!("{vcpus} vCPUs are wider than a node ({room}) and odd: they cannot be split evenly; use an even number")
    });
    warn(by_hot_add && topology.interleaved, "hot-add-wide", &|| {
        format!(
            "CPU hot-add hides virtual NUMA: the guest sees one node while its memory is interleaved over those of \
             {clients} clients, so most of it is remote; turn CPU hot-add off"
        )
    });
    warn(moved, "stale-topology", &|| {
        format!(
            "the guest sees the nodes of the host of its first power-on ({}), while {} are placed here: some of its \
             local memory is remote; power it on anew with numa.autosize.once = FALSE, or change its vCPUs",
            parts(vpds),
            parts(ppds)
        )
    });
    warn(!by_hot_add && !moved && topology.interleaved, "hidden-numa", &|| {
        let remedy = match (linux, layout.vnuma) {
            (true, _) => "give it cells (libvirt <numa>) bound to nodes",
            (false, false) => "lower numa.vcpu.min",
            (false, true) => "use virtual sockets, or virtual nodes, that fit a node",
        };
        format!("the guest sees one node, while its {vcpus} vCPUs take {needed}; {remedy}")
    });
    let by_sockets = !linux && vm.cores_per_socket.is_some_and(|cores| cores > 1) && vm.numa.cores_per_node.is_none();
    // fewer nodes that hold vCPUs and memory, over which the vCPUs split evenly
    let for_memory = vm.memory.bytes().div_ceil(usable_bytes(host).max(1)) as usize;
    let fewer = (needed.max(for_memory)..vpds.len()).find(|nodes| (vcpus as usize).is_multiple_of(*nodes));
    warn(
        by_sockets && fewer.is_some() && !moved,
        "cores-per-socket-splits",
        &|| {
            format!(
                "sockets of {} cores split the machine into {} virtual nodes where {} would do; let a socket hold the vCPUs of \
             one node",
                layout.cores_per_socket,
                vpds.len(),
                fewer.unwrap_or(needed)
            )
        },
    );
    warn(uneven(vpds) || wide && uneven(&on_nodes), "imbalance", &|| {
        format!(
            "virtual nodes of {} vCPUs, {} on the physical nodes: the fullest limits the others",
            parts(vpds),
            parts(&on_nodes)
        )
    });
    warn(layout.collapsed, "collapse", &|| {
        let why = if linux {
            "its cells are bound to it".to_owned()
        } else {
            format!("{clients} clients cannot balance {count} nodes, so the rebalancer brings them together")
        };
        format!(
            "all {vcpus} vCPUs end up on node {}, which has room for {room}, with the memory bandwidth of one node: {why}",
            layout.settled_homes[0]
        )
    });
    warn(vpds.len() > topology.domains_with_memory, "proximity-domains", &|| {
        format!(
            "{} virtual nodes, of which only {} have memory of their own (Numa.MaxProximityDomains): the others use the \
             first one's",
            vpds.len(),
            topology.domains_with_memory
        )
    });
    warn(!topology.interleaved && spilled > 0, "memory-spill", &|| {
        format!(
            "{} of {} does not fit the home nodes, and is remote; give the machine less memory, or more nodes",
            gibibytes(spilled),
            gibibytes(layout.memory_bytes)
        )
    });
    found
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use hypertwin_cluster::{Bytes, Hypervisor, NumaOptions, Scenario, SizedOn};

    use super::{Layout, Topology, layouts};

    /// One machine on one host, of which each test changes what it is about.
    fn scenario(hypervisor: &str, sockets: u32, cores: u32, vcpus: u32, cores_per_socket: u32) -> Scenario {
        let text = format!(
            r#"{{"name": "one",
                "hosts": {{"esx": {{"sockets": 2, "cores_per_socket": 12, "clock": "2.5 GHz",
                                    "memory_per_node": "1 TiB", "hypervisor": "{hypervisor}"}}}},
                "vms": {{"vm": {{"vcpus": 1, "memory": "96 GiB", "workload": "w"}}}},
                "workloads": {{"w": {{"arrivals": {{"open": {{"rate": "1 /s"}}}}, "cpu": {{"mean": "1 ms"}}}}}}}}"#
        );
        let mut scenario = Scenario::from_json(&text).expect("a good scenario");
        let host = scenario.hosts.get_mut("esx").expect("the host");
        (host.sockets, host.cores_per_socket) = (sockets, cores);
        let vm = scenario.vms.get_mut("vm").expect("the machine");
        (vm.vcpus, vm.cores_per_socket) = (vcpus, Some(cores_per_socket));
        scenario
    }

    fn with(mut scenario: Scenario, numa: NumaOptions) -> Scenario {
        scenario.vms.get_mut("vm").expect("the machine").numa = numa;
        scenario
    }

    fn hot_add(mut scenario: Scenario) -> Scenario {
        scenario.vms.get_mut("vm").expect("the machine").cpu_hot_add = true;
        scenario
    }

    fn one(scenario: &Scenario) -> Layout {
        layouts(scenario).expect("it fits").remove("vm").expect("the machine")
    }

    fn codes(layout: &Layout) -> Vec<&'static str> {
        layout.warnings.iter().map(|warning| warning.code).collect()
    }

    fn prefer_ht() -> NumaOptions {
        NumaOptions {
            prefer_ht: true,
            ..NumaOptions::default()
        }
    }

    fn sized_on(sockets: u32, cores_per_socket: u32) -> NumaOptions {
        NumaOptions {
            sized_on: Some(SizedOn {
                sockets,
                cores_per_socket,
            }),
            ..NumaOptions::default()
        }
    }

    /// Version, vCPUs, cores per virtual socket and virtual nodes that were seen on 2 x 12 cores ("VMware ESXi 6.5.
    /// Улучшение NUMA").
    const SEEN: [(&str, u32, u32, usize); 33] = [
        ("esxi-6.5", 12, 1, 1),
        ("esxi-6.5", 12, 2, 1),
        ("esxi-6.5", 16, 1, 2),
        ("esxi-6.5", 16, 2, 2),
        ("esxi-6.5", 20, 1, 2),
        ("esxi-6.5", 20, 10, 2),
        ("esxi-6.5", 20, 5, 2),
        ("esxi-6.5", 24, 1, 2),
        ("esxi-6.5", 24, 4, 2),
        ("esxi-6.5", 24, 6, 2),
        ("esxi-6.5", 24, 8, 3),
        ("esxi-6.5", 25, 1, 2),
        ("esxi-6.5", 32, 1, 2),
        ("esxi-6.5", 32, 4, 2),
        ("esxi-6.5", 36, 6, 2),
        ("esxi-6.5", 48, 1, 2),
        ("esxi-6.5", 48, 4, 2),
        ("esxi-6.0", 12, 1, 1),
        ("esxi-6.0", 12, 2, 6),
        ("esxi-6.0", 16, 1, 2),
        ("esxi-6.0", 16, 8, 2),
        ("esxi-6.0", 20, 1, 2),
        ("esxi-6.0", 20, 10, 2),
        ("esxi-6.0", 20, 5, 4),
        ("esxi-6.0", 24, 1, 2),
        ("esxi-6.0", 24, 2, 2),
        ("esxi-6.0", 24, 4, 6),
        ("esxi-6.0", 24, 8, 3),
        ("esxi-6.0", 32, 8, 4),
        ("esxi-6.0", 36, 1, 3),
        ("esxi-6.0", 36, 6, 6),
        ("esxi-6.0", 48, 1, 4),
        ("esxi-6.0", 48, 2, 24),
    ];

    /// The one row that contradicts its neighbours: 12 and 48 vCPUs in sockets of two have a node per socket, 24 do not.
    const CONTRADICTION: (&str, u32, u32) = ("esxi-6.0", 24, 2);

    #[test]
    fn the_number_of_virtual_nodes_is_what_was_seen() {
        for (version, vcpus, cores, seen) in SEEN {
            let layout = one(&scenario(version, 2, 12, vcpus, cores));
            let expected = if (version, vcpus, cores) == CONTRADICTION {
                12
            } else {
                seen
            };
            assert_eq!(
                layout.vpds.len(),
                expected,
                "{version} {vcpus} vCPUs, {cores} per socket"
            );
            assert_eq!(layout.ppds, layout.vpds);
        }
    }

    /// F. Denneman, "NUMA Deep Dive" and the articles named above.
    #[test]
    fn worked_cases_hold() {
        #[rustfmt::skip]
        let cases: [(Scenario, &[u32], &[u32]); 14] = [
            (scenario("esxi-6.0", 2, 10, 10, 5), &[5, 5], &[5, 5]),
            (scenario("esxi-6.0", 2, 10, 16, 2), &[2; 8], &[2; 8]),
            (with(scenario("esxi-6.0", 2, 10, 12, 1), prefer_ht()), &[12], &[12]),
            (scenario("esxi-6.5", 2, 10, 16, 2), &[8, 8], &[8, 8]),
            (scenario("esxi-6.5", 2, 12, 24, 8), &[8, 8, 8], &[8, 8, 8]),
            (scenario("esxi-6.5", 2, 12, 25, 1), &[13, 12], &[13, 12]),
            (scenario("esxi-7.0", 2, 20, 30, 2), &[16, 14], &[16, 14]),
            (with(scenario("esxi-7.0", 4, 14, 36, 1), sized_on(2, 20)), &[18, 18], &[12, 12, 12]),
            (scenario("esxi-8.0", 2, 20, 12, 1), &[12], &[12]),
            // 6 cores per node, numa.vcpu.min 9: EPYC 7401, F. Denneman, "AMD EPYC and vSphere vNUMA" (2019)
            (scenario("esxi-6.7", 4, 6, 8, 1), &[8], &[4, 4]),
            (with(scenario("esxi-6.7", 4, 6, 8, 1), NumaOptions { vcpu_min: Some(6), ..NumaOptions::default() }),
             &[4, 4], &[4, 4]),
            // preferHT set after the first power-on changes the clients only
            (with(scenario("esxi-6.0", 2, 10, 12, 1), NumaOptions { prefer_ht: true, ..sized_on(2, 10) }),
             &[6, 6], &[12]),
            (with(scenario("esxi-6.5", 2, 10, 16, 2), NumaOptions {
                follow_cores_per_socket: true, ..NumaOptions::default() }), &[2; 8], &[2; 8]),
            (with(scenario("esxi-8.0", 2, 20, 24, 1), NumaOptions {
                cores_per_node: Some(6), ..NumaOptions::default() }), &[6; 4], &[6; 4]),
        ];
        for (scenario, vpds, ppds) in cases {
            let layout = one(&scenario);
            assert_eq!((&layout.vpds[..], &layout.ppds[..]), (vpds, ppds), "{scenario:?}");
        }
    }

    #[test]
    fn memory_beyond_the_home_node_is_remote() {
        let mut scenario = scenario("esxi-8.0", 2, 20, 12, 1);
        scenario.hosts.get_mut("esx").expect("the host").memory_per_node = Bytes::from_gib(256);
        scenario.vms.get_mut("vm").expect("the machine").memory = Bytes::from_gib(384);
        let layout = one(&scenario);
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        assert_eq!(layout.clients.len(), 1);
        assert!((gib(layout.clients[0].local_bytes) - 226.0).abs() < 3.0);
        assert!((gib(layout.clients[0].remote_bytes) - 155.0).abs() < 3.0);
        assert_eq!(codes(&layout), ["memory-spill"]);
    }

    #[test]
    fn hot_add_hides_the_nodes_and_spreads_memory() {
        let layout = one(&hot_add(scenario("esxi-6.5", 2, 12, 24, 1)));
        assert_eq!((&layout.vpds[..], &layout.ppds[..]), (&[24][..], &[12, 12][..]));
        assert!(!layout.vnuma);
        for client in &layout.clients {
            assert_eq!(client.local_bytes, client.remote_bytes);
        }
        assert_eq!(codes(&layout), ["hot-add-wide"]);
        let narrow = one(&hot_add(scenario("esxi-6.5", 2, 12, 12, 1)));
        assert_eq!(codes(&narrow), [""; 0], "a machine that fits a node loses nothing");
        let shown = NumaOptions {
            expose_on_cpu_hot_add: true,
            ..NumaOptions::default()
        };
        assert_eq!(
            one(&with(hot_add(scenario("esxi-8.0", 2, 12, 24, 1)), shown)).vpds,
            [12, 12]
        );
    }

    #[test]
    fn linux_guests_see_the_nodes_that_they_are_given() {
        let none = one(&scenario("linux-6.6", 2, 12, 24, 12));
        assert_eq!((&none.vpds[..], &none.homes[..]), (&[24][..], &[0, 1][..]));
        assert_eq!(codes(&none), ["hidden-numa"]);
        let cells = |cells: &[u32], nodes: &[u32]| {
            let (cells, nodes) = (cells.to_vec(), nodes.to_vec());
            let options = NumaOptions {
                cells,
                nodes,
                ..NumaOptions::default()
            };
            one(&with(scenario("linux-6.6", 2, 12, 24, 1), options))
        };
        let bound = cells(&[12, 12], &[1, 0]);
        assert_eq!(
            (&bound.vpds[..], &bound.settled_homes[..]),
            (&[12, 12][..], &[1, 0][..])
        );
        assert_eq!(codes(&bound), [""; 0]);
        assert_eq!(codes(&cells(&[12, 12], &[1, 1])), ["collapse"]);
        assert_eq!(codes(&cells(&[16, 8], &[])), ["imbalance"]);
    }

    #[test]
    fn a_warning_says_what_is_wrong() {
        #[rustfmt::skip]
        let cases: [(Scenario, &[&str]); 14] = [
            (scenario("esxi-6.5", 2, 12, 12, 1), &[]),
            (scenario("esxi-6.5", 2, 12, 24, 12), &[]),
            (scenario("esxi-6.5", 2, 12, 16, 2), &[]),
            (scenario("esxi-7.0", 4, 14, 28, 14), &[]),
            (scenario("esxi-6.5", 2, 12, 11, 1), &[]),
            (scenario("esxi-6.5", 2, 12, 23, 1), &["odd-wide"]),
            (scenario("esxi-6.5", 2, 12, 26, 1), &["more-vcpus-than-cores"]),
            (scenario("esxi-6.5", 2, 12, 24, 8), &["cores-per-socket-splits", "imbalance", "collapse"]),
            (scenario("esxi-6.5", 2, 12, 20, 4), &["cores-per-socket-splits", "imbalance"]),
            (scenario("esxi-6.0", 2, 12, 12, 2), &["cores-per-socket-splits"]),
            (scenario("esxi-6.0", 2, 24, 48, 2), &["cores-per-socket-splits", "proximity-domains"]),
            (scenario("esxi-6.5", 2, 12, 24, 24), &["hidden-numa"]),
            (with(scenario("esxi-7.0", 4, 14, 36, 1), sized_on(2, 20)), &["stale-topology"]),
            (with(scenario("esxi-6.5", 2, 12, 24, 1), prefer_ht()), &[]),
        ];
        for (scenario, expected) in cases {
            let layout = one(&scenario);
            assert_eq!(codes(&layout), expected, "{scenario:?}");
        }
    }

    #[test]
    fn later_machines_go_where_there_is_room() {
        let mut scenario = scenario("esxi-6.5", 2, 12, 8, 1);
        scenario.vms.get_mut("vm").expect("the machine").count = 3;
        let homes: Vec<usize> = layouts(&scenario)
            .expect("they fit")
            .into_values()
            .flat_map(|layout| layout.homes)
            .collect();
        assert_eq!(homes, [0, 1, 0]);
    }

    #[test]
    fn virtual_nodes_beyond_the_limit_use_the_memory_of_the_first() {
        let scenario = scenario("esxi-6.0", 2, 12, 48, 2);
        let domains = Topology::new(&scenario.hosts["esx"], &scenario.vms["vm"]).memory_domains();
        assert_eq!(domains[28..36], [14, 14, 15, 15, 0, 0, 0, 0]);
        assert_eq!(domains.len(), 48);
    }

    /// One of 256 combinations of settings.
    fn settings(bits: u32, vcpus: u32) -> NumaOptions {
        NumaOptions {
            prefer_ht: bits & 1 > 0,
            follow_cores_per_socket: bits & 2 > 0,
            expose_on_cpu_hot_add: bits & 4 > 0,
            vcpu_min: (bits & 16 > 0).then_some(1),
            max_per_virtual_node: (bits & 32 > 0).then_some(vcpus / 3 + 1),
            cores_per_node: (bits & 64 > 0).then_some(5),
            ..if bits & 128 > 0 {
                sized_on(3, 7)
            } else {
                NumaOptions::default()
            }
        }
    }

    /// Every vCPU count and the sockets it can have.
    fn shapes() -> impl Iterator<Item = (u32, u32)> {
        let sockets = |vcpus: u32| (1..=vcpus).filter(move |cores| vcpus.is_multiple_of(*cores));
        (1..=256).flat_map(move |vcpus| sockets(vcpus).map(move |cores| (vcpus, cores)))
    }

    /// The parts make the whole, every client has a home, and virtual nodes hold whole sockets where the version says so.
    #[test]
    fn any_machine_on_any_host() {
        let scenario = scenario("esxi-5.5", 1, 1, 1, 1);
        let (mut host, mut vm) = (scenario.hosts["esx"].clone(), scenario.vms["vm"].clone());
        for (vcpus, cores) in shapes() {
            for (sockets, room) in (1..=8).flat_map(|sockets| (1..=128).map(move |room| (sockets, room))) {
                for &hypervisor in Hypervisor::ALL {
                    // no settings at every other shape, and all their combinations over the rest
                    let mixed = vcpus * 37 + cores * 11 + sockets * 5 + room * 3 + hypervisor as u32;
                    let bits = if mixed.is_multiple_of(2) { 0 } else { mixed / 2 % 256 };
                    (host.hypervisor, host.sockets, host.cores_per_socket) = (hypervisor, sockets, room);
                    (vm.vcpus, vm.cores_per_socket, vm.numa) = (vcpus, Some(cores), settings(bits, vcpus));
                    vm.cpu_hot_add = bits & 8 > 0;
                    let topology = Topology::new(&host, &vm);
                    let homes = topology.homes(&host, &vm, |_| 0.0);
                    let whole = |parts: &[u32]| parts.iter().sum::<u32>() == vcpus && !parts.contains(&0);
                    let sound = whole(&topology.vpds)
                        && whole(&topology.ppds)
                        && homes.len() == topology.ppds.len()
                        && homes.iter().all(|home| *home < sockets as usize);
                    let whole_sockets = bits > 0
                        || !(Hypervisor::Esxi65..=Hypervisor::Esxi90).contains(&hypervisor)
                        || topology.vpds.iter().all(|vpd| vpd.is_multiple_of(cores));
                    assert!(
                        sound && whole_sockets,
                        "{hypervisor}, {vcpus} vCPUs, {cores} per socket, on {sockets} x {room}, settings {bits:b}: {topology:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn all_memory_has_a_place() {
        let mut scenario = scenario("esxi-5.5", 4, 32, 1, 1);
        for (vcpus, cores) in shapes() {
            let host = scenario.hosts.get_mut("esx").expect("the host");
            host.hypervisor = Hypervisor::ALL[(vcpus + cores) as usize % Hypervisor::ALL.len()];
            host.memory_per_node = Bytes::from_gib(32);
            let vm = scenario.vms.get_mut("vm").expect("the machine");
            (vm.vcpus, vm.cores_per_socket) = (vcpus, Some(cores));
            vm.memory = Bytes::new(120_000_000_007 + u64::from(vcpus));
            vm.cpu_hot_add = cores % 5 == 0;
            let layout = one(&scenario);
            let placed = layout.clients.iter().flat_map(|client| &client.memory);
            assert_eq!(
                placed.map(|part| part.bytes).sum::<u64>(),
                layout.memory_bytes,
                "{layout:?}"
            );
            for client in &layout.clients {
                let bytes: u64 = client.memory.iter().map(|part| part.bytes).sum();
                assert_eq!(client.local_bytes + client.remote_bytes, bytes, "{layout:?}");
            }
        }
    }
}
