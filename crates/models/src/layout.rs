//! Where the VMs of a scenario are on the nodes of their hosts when all are powered on, for advice before anything
//! runs.
//!
//! **Mechanism.** [`crate::hypervisor`] cuts each VM into virtual nodes and clients, [`crate::numa`] gives the clients
//! their homes, and [`crate::advice`] says what that costs.
//!
//! **Assumption.** Power-on on a host with only the scenario's VMs, in order of name, all idle then: a VM is placed
//! where the fewest vCPUs per core are.

use crate::advice::{PlacedVm, Warning, warnings};
use crate::hypervisor;
use crate::numa;
use crate::vnuma::{Topology, usable_bytes};
use hypertwin_cluster::{HostGroup, Hypervisor, Scenario, VmGroup};
use serde::Serialize;
use std::collections::BTreeMap;

/// Physical processors and memory of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostTopology {
    /// Sockets.
    pub sockets: u32,
    /// Physical cores of one socket.
    pub cores_per_socket: u32,
    /// NUMA nodes, those of a socket in a row.
    pub nodes: u32,
    /// Physical cores of one node.
    pub cores_per_node: u32,
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
    /// Where its share of the VM's memory is, by node.
    pub memory: Vec<NodeMemory>,
    /// Memory on its home node.
    pub local_bytes: u64,
    /// Memory on other nodes.
    pub remote_bytes: u64,
}

/// The virtual NUMA of one VM in its place.
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
    /// Memory of the VM.
    pub memory_bytes: u64,
    /// Whether the guest may see more than one node.
    pub vnuma: bool,
    /// vCPUs of each virtual node, which the guest sees.
    pub vpds: Vec<u32>,
    /// vCPUs of each NUMA client, which is placed on a physical node.
    pub ppds: Vec<u32>,
    /// Home node of each client at power-on.
    pub homes: Vec<usize>,
    /// Home node of each client once the rebalancer has settled, every vCPU busy and the VM alone.
    pub settled_homes: Vec<usize>,
    /// Whether all clients settle on one node although the VM is wider than a node.
    pub collapsed: bool,
    /// The clients in their places.
    pub clients: Vec<ClientLayout>,
    /// What is wrong with the layout.
    pub warnings: Vec<Warning>,
}

/// What is left of a host while VMs are placed on it.
struct Room {
    /// vCPUs whose home a node is.
    vcpus: Vec<f64>,
    /// Memory that a node can still give.
    free_bytes: Vec<u64>,
}

impl Room {
    fn new(host: &HostGroup) -> Self {
        let nodes = host.nodes() as usize;
        Self {
            vcpus: vec![0.0; nodes],
            free_bytes: vec![usable_bytes(host); nodes],
        }
    }
}

/// The layout of every VM of a scenario by name; `None` where a VM fits nowhere, which validation rules out.
pub fn layouts(scenario: &Scenario) -> Option<BTreeMap<String, Layout>> {
    let hosts = scenario.host_names();
    let mut rooms: Vec<Room> = hosts.iter().map(|(_, host)| Room::new(host)).collect();
    let placed = scenario.placement()?;
    let vms = scenario.vm_names().into_iter().zip(placed);
    Some(
        vms.map(|((name, vm), host)| (name, layout(&hosts[host].0, hosts[host].1, vm, &mut rooms[host])))
            .collect(),
    )
}

fn layout(name: &str, host: &HostGroup, vm: &VmGroup, room: &mut Room) -> Layout {
    let hypervisor = hypervisor::model(host.hypervisor);
    let topology = hypervisor.virtual_numa(host, vm);
    let homes = topology.homes(host, vm, &room.free_bytes, |node| room.vcpus[node]);
    let home_rules = hypervisor.home_rules(host.hypervisor, &host.scheduler);
    let settled_homes = home_rules.as_ref().map_or_else(
        || homes.clone(),
        |rules| {
            let (cores, nodes) = (host.cores_per_node() as usize, host.nodes() as usize);
            numa::settled(&topology.ppds, &homes, cores, nodes, rules)
        },
    );
    let clients = place(&topology, &homes, vm, room);
    let placed = PlacedVm {
        host,
        vm,
        topology: &topology,
        homes: &homes,
        settled_homes: &settled_homes,
        homes_move: home_rules.is_some(),
        remote_bytes: clients.iter().map(|client| client.remote_bytes).sum(),
        remedy_for_hidden_nodes: hypervisor.remedy_for_hidden_nodes(host, topology.exposed),
    };
    let (collapsed, warnings) = (placed.collapsed(), warnings(&placed));
    Layout {
        host: name.to_owned(),
        hypervisor: host.hypervisor,
        host_topology: HostTopology {
            sockets: host.sockets,
            cores_per_socket: host.cores_per_socket,
            nodes: host.nodes(),
            cores_per_node: host.cores_per_node(),
            threads_per_core: host.threads_per_core,
            memory_per_node_bytes: host.memory_per_node.bytes(),
        },
        vcpus: vm.vcpus,
        cores_per_socket: topology.cores_per_socket,
        memory_bytes: vm.memory.bytes(),
        vnuma: topology.exposed,
        vpds: topology.vpds,
        ppds: topology.ppds,
        homes,
        settled_homes,
        collapsed,
        clients,
        warnings,
    }
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
