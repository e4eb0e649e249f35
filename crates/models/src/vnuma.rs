//! Virtual NUMA of one VM: which nodes its guest sees, which groups of its vCPUs are placed on physical nodes, and
//! where its memory is.
//!
//! **Mechanism.** A VM has virtual proximity domains (VPDs), the nodes that its guest sees, and physical proximity
//! domains (PPDs, NUMA clients), the groups of vCPUs that have a home node. How vCPUs are cut into them is the
//! hypervisor's ([`crate::hypervisor`]). Then [`crate::numa`] gives each PPD its home, and its memory follows.
//!
//! A node is a socket, or one of the parts into which the firmware divides it: the hypervisors take each for a node.
//!
//! **One set of virtual NUMA rules.** `hypertwin vnuma`, `hypertwin size`, the drawing and the twin's NUMA clients
//! share these rules, so advice and simulation cannot disagree.

use crate::{memory, numa};
use hypertwin_cluster::{HostGroup, VmGroup};
use std::collections::BTreeSet;

/// Memory of one node that VMs can have, or the host's own system: what the hypervisor and the services of pools keep
/// is spread evenly over nodes.
pub fn usable_bytes(host: &HostGroup) -> u64 {
    let bytes = host.memory_for_vms().bytes() / u64::from(host.nodes());
    match host.hypervisor_memory {
        Some(_) => bytes,
        None => bytes.min(host.memory_per_node.bytes() * host.hypervisor.family().facts().node_memory_pct / 100),
    }
}

/// Physical NUMA nodes as a VM finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// How many there are.
    pub count: u32,
    /// vCPUs that one node has room for: its cores, or its hardware threads where those count.
    pub room: u32,
}

impl Nodes {
    /// How many vCPUs each part has when `vcpus` are spread over no more nodes than they need and there are.
    pub fn even_share(self, vcpus: u32) -> u32 {
        vcpus.div_ceil(vcpus.div_ceil(self.room).min(self.count))
    }
}

/// `vcpus` in parts of `size`, the last one smaller.
pub fn cut(vcpus: u32, size: u32) -> Vec<u32> {
    let mut parts = vec![size; (vcpus / size) as usize];
    parts.extend(Some(vcpus % size).filter(|rest| *rest > 0));
    parts
}

/// The virtual NUMA of one VM on one host, before anything is placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The nodes of the host.
    pub nodes: Nodes,
    /// Cores of one virtual socket.
    pub cores_per_socket: u32,
    /// vCPUs of each virtual node (VPD), which the guest sees; vCPU numbers run through them in order.
    pub vpds: Vec<u32>,
    /// vCPUs of each NUMA client (PPD), which has a home node; vCPU numbers run through them in order.
    pub ppds: Vec<u32>,
    /// Home node of each client, where the administrator has bound them.
    pub bound_homes: Option<Vec<usize>>,
    /// Virtual nodes that have memory of their own; every later one uses the memory of the first.
    pub domains_with_memory: usize,
    /// Whether the guest may see more than one node.
    pub exposed: bool,
    /// Whether it would, but for CPU hot-add.
    pub hidden_by_hot_add: bool,
    /// Whether its virtual nodes are those of the host of its first power-on.
    pub from_first_power_on: bool,
    /// Whether virtual sockets that the scenario sets had a say in the virtual nodes.
    pub shaped_by_sockets: bool,
}

impl Topology {
    /// Whether memory is spread over the homes of all clients, because the guest sees one node where there are several
    /// clients.
    pub fn interleaved(&self) -> bool {
        self.vpds.len() == 1 && self.ppds.len() > 1
    }

    /// Home node of each client at power-on, where the nodes have `load`, in cores, without this VM, and `free` bytes
    /// of memory. The vCPUs of a VM with affinity touch its memory on the nodes of its CPUs.
    pub fn homes(
        &self,
        host: &HostGroup,
        vm: &VmGroup,
        free: &[u64],
        mut load: impl FnMut(usize) -> f64,
    ) -> Vec<usize> {
        if let Some(bound) = &self.bound_homes {
            return bound.clone();
        }
        // Clients stay together only where their memory does too: F. Denneman, "vSphere 8 CPU Topology for Large Memory
        // Footprint VMs" (2022), has two clients of 6 vCPUs and 192 GB on two nodes of 20 cores and 256 GB.
        let fits = vm.memory.bytes() <= usable_bytes(host);
        let together = if fits { self.nodes.room } else { 0 };
        let cpus_per_node = host.cores_per_node() * host.threads_per_core;
        let bound: Option<Vec<u32>> =
            (vm.affinity_cpus()).map(|cpus| cpus.iter().map(|cpu| cpu / cpus_per_node).collect());
        let load = |node: usize| {
            let load = load(node);
            match bound.as_ref().is_some_and(|nodes| !nodes.contains(&(node as u32))) {
                true => f64::INFINITY,
                false => load,
            }
        };
        numa::home_nodes(&self.ppds, vm.memory.bytes(), together as usize, free, load)
    }

    /// Where the VM's `bytes` of memory are at power-on: for each client those on each node, taken from `free`. Each
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
            if !self.interleaved() {
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
