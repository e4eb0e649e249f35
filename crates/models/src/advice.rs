//! Warnings about the NUMA placement of a VM that costs performance, and the remedies. Each code is explained in
//! docs/models/vnuma.md.

use crate::vnuma::{Topology, usable_bytes};
use hypertwin_cluster::{HostGroup, VmGroup};
use serde::Serialize;
use std::collections::BTreeMap;

/// A warning about a layout that costs performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable code of the warning.
    pub code: &'static str,
    /// The problem and its effect, in words.
    pub text: String,
}

impl Warning {
    /// The warning, if it applies.
    fn when(applies: bool, code: &'static str, text: impl FnOnce() -> String) -> Option<Self> {
        applies.then(|| Self { code, text: text() })
    }
}

/// A VM with home nodes for its NUMA clients.
pub struct PlacedVm<'a> {
    /// Its host.
    pub host: &'a HostGroup,
    /// What it is.
    pub vm: &'a VmGroup,
    /// Its virtual NUMA.
    pub topology: &'a Topology,
    /// Home node of each client at power-on.
    pub homes: &'a [usize],
    /// Home node of each client once the rebalancer has settled.
    pub settled_homes: &'a [usize],
    /// Whether the hypervisor has such a rebalancer.
    pub homes_move: bool,
    /// Memory that is not on the home node of its client.
    pub remote_bytes: u64,
    /// Remedy of the hypervisor if a guest sees one node although its vCPUs need several.
    pub remedy_for_hidden_nodes: &'a str,
}

impl PlacedVm<'_> {
    /// True if all clients settle on one node although the VM is larger than a NUMA node.
    pub fn collapsed(&self) -> bool {
        let one_node = self.settled_homes.iter().all(|home| *home == self.settled_homes[0]);
        self.clients() > 1 && one_node && self.wide()
    }

    fn clients(&self) -> usize {
        self.topology.ppds.len()
    }

    /// True if it is larger than a NUMA node.
    fn wide(&self) -> bool {
        self.vm.vcpus > self.topology.nodes.room
    }

    /// Nodes that its vCPUs need.
    fn nodes_needed(&self) -> usize {
        let nodes = self.topology.nodes;
        self.vm.vcpus.div_ceil(nodes.room).min(nodes.count) as usize
    }

    /// True if its guest sees the nodes of another host than the current one.
    fn moved(&self) -> bool {
        let topology = self.topology;
        topology.from_first_power_on && topology.exposed && topology.vpds != topology.ppds
    }
}

/// Warnings about the placement of a VM, in order of reporting.
pub fn warnings(placed: &PlacedVm) -> Vec<Warning> {
    let checks: [fn(&PlacedVm) -> Option<Warning>; 10] = [
        more_vcpus_than_cores,
        odd_wide,
        hot_add_wide,
        stale_topology,
        hidden_numa,
        cores_per_socket_splits,
        imbalance,
        collapse,
        proximity_domains,
        memory_spill,
    ];
    checks.iter().filter_map(|check| check(placed)).collect()
}

fn more_vcpus_than_cores(placed: &PlacedVm) -> Option<Warning> {
    let (vcpus, cores) = (placed.vm.vcpus, placed.host.cores());
    Warning::when(vcpus > cores, "more-vcpus-than-cores", || {
        format!(
            "{vcpus} vCPUs on {cores} cores: vCPUs share cores, and a hyper-thread adds only about a quarter of a core"
        )
    })
}

fn odd_wide(placed: &PlacedVm) -> Option<Warning> {
    let (vcpus, room) = (placed.vm.vcpus, placed.topology.nodes.room);
    Warning::when(placed.wide() && vcpus % 2 == 1, "odd-wide", || {
        format!(
            "{vcpus} vCPUs exceed a NUMA node ({room}), and an odd number cannot be split evenly. Use an even number"
        )
    })
}

fn hot_add_wide(placed: &PlacedVm) -> Option<Warning> {
    let hidden = placed.topology.hidden_by_hot_add && placed.topology.interleaved();
    Warning::when(hidden, "hot-add-wide", || {
        format!(
            "CPU hot-add hides virtual NUMA. The guest sees one node, but its memory is interleaved over the nodes of \
             {} NUMA clients, so most of it is remote. Turn CPU hot-add off",
            placed.clients()
        )
    })
}

fn stale_topology(placed: &PlacedVm) -> Option<Warning> {
    Warning::when(placed.moved(), "stale-topology", || {
        format!(
            "the guest sees the nodes of its first host ({}), but the current host places {}. Some memory \
             that looks local is remote. Power-cycle the VM with numa.autosize.once = FALSE, or change its vCPUs",
            sum_of(&placed.topology.vpds),
            sum_of(&placed.topology.ppds)
        )
    })
}

fn hidden_numa(placed: &PlacedVm) -> Option<Warning> {
    let topology = placed.topology;
    let hidden = topology.interleaved() && !topology.hidden_by_hot_add && !placed.moved();
    Warning::when(hidden, "hidden-numa", || {
        format!(
            "the guest sees one node, but its {} vCPUs need {}. {}",
            placed.vm.vcpus,
            placed.nodes_needed(),
            placed.remedy_for_hidden_nodes
        )
    })
}

fn cores_per_socket_splits(placed: &PlacedVm) -> Option<Warning> {
    let (vm, topology) = (placed.vm, placed.topology);
    if !topology.shaped_by_sockets || placed.moved() {
        return None;
    }
    // Fewer nodes that hold vCPUs and memory, over which the vCPUs split evenly.
    let for_memory = vm.memory.bytes().div_ceil(usable_bytes(placed.host).max(1)) as usize;
    let least = placed.nodes_needed().max(for_memory);
    let fewer = (least..topology.vpds.len()).find(|nodes| (vm.vcpus as usize).is_multiple_of(*nodes))?;
    Some(Warning {
        code: "cores-per-socket-splits",
        text: format!(
            "sockets of {} cores split the VM into {} virtual nodes, but {fewer} are enough. Use one socket for the vCPUs of \
             one node",
            topology.cores_per_socket,
            topology.vpds.len()
        ),
    })
}

fn imbalance(placed: &PlacedVm) -> Option<Warning> {
    let topology = placed.topology;
    let mut by_node: BTreeMap<usize, u32> = BTreeMap::new();
    for (home, vcpus) in placed.homes.iter().zip(&topology.ppds) {
        *by_node.entry(*home).or_default() += vcpus;
    }
    let on_nodes: Vec<u32> = by_node.into_values().collect();
    let uneven = is_uneven(&topology.vpds) || placed.wide() && is_uneven(&on_nodes);
    Warning::when(uneven, "imbalance", || {
        format!(
            "virtual nodes of {} vCPUs, {} on the physical nodes: the most loaded node limits the others",
            sum_of(&topology.vpds),
            sum_of(&on_nodes)
        )
    })
}

fn collapse(placed: &PlacedVm) -> Option<Warning> {
    let nodes = placed.topology.nodes;
    Warning::when(placed.collapsed(), "collapse", || {
        let why = if placed.homes_move {
            format!(
                "{} clients cannot balance {} nodes, so the rebalancer moves them to one node",
                placed.clients(),
                nodes.count
            )
        } else {
            "the cells of the VM are bound to that node".to_owned()
        };
        format!(
            "all {} vCPUs end up on node {}, which fits {}, and share its memory bandwidth: {why}",
            placed.vm.vcpus, placed.settled_homes[0], nodes.room
        )
    })
}

fn proximity_domains(placed: &PlacedVm) -> Option<Warning> {
    let (nodes, with_memory) = (placed.topology.vpds.len(), placed.topology.domains_with_memory);
    Warning::when(nodes > with_memory, "proximity-domains", || {
        format!(
            "{nodes} virtual nodes, but only {with_memory} have their own memory (Numa.MaxProximityDomains): the \
             others use the memory of the first"
        )
    })
}

fn memory_spill(placed: &PlacedVm) -> Option<Warning> {
    let spilled = placed.remote_bytes > 0 && !placed.topology.interleaved();
    Warning::when(spilled, "memory-spill", || {
        format!(
            "{} of {} does not fit the home nodes and is remote. Reduce the VM's memory, or use more nodes",
            gibibytes(placed.remote_bytes),
            gibibytes(placed.vm.memory.bytes())
        )
    })
}

/// Whether the largest part exceeds the smallest by more than one.
fn is_uneven(parts: &[u32]) -> bool {
    let extremes = parts.iter().max().zip(parts.iter().min());
    extremes.is_some_and(|(most, least)| most - least > 1)
}

/// Such as `8 + 8 + 8`.
fn sum_of(parts: &[u32]) -> String {
    parts.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ")
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
