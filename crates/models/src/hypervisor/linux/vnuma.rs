//! Virtual NUMA of Linux with KVM: the guest's nodes are its libvirt cells, and each is a client.
//!
//! **Source.** libvirt, "Domain XML format", `<numa>` and `<numatune>`.
//!
//! **Assumption.** Threads move freely: a wide VM without cells spreads evenly, and its memory with it.

use crate::vnuma::{Nodes, Topology, cut};
use hypertwin_cluster::{HostGroup, VmGroup};

/// The virtual NUMA of `vm` on `host`.
pub fn topology(host: &HostGroup, vm: &VmGroup) -> Topology {
    let nodes = Nodes {
        count: host.nodes(),
        room: host.cores_per_node(),
    };
    let cells = &vm.numa.cells;
    let (exposed, vpds, ppds) = if cells.is_empty() {
        (false, vec![vm.vcpus], cut(vm.vcpus, nodes.even_share(vm.vcpus)))
    } else {
        (true, cells.clone(), cells.clone())
    };
    let bound = vm.numa.nodes.len() == ppds.len();
    Topology {
        nodes,
        cores_per_socket: vm.cores_per_socket.unwrap_or(1),
        domains_with_memory: vpds.len(),
        bound_homes: bound.then(|| vm.numa.nodes.iter().map(|node| *node as usize).collect()),
        vpds,
        ppds,
        exposed,
        hidden_by_hot_add: false,
        from_first_power_on: false,
        shaped_by_sockets: false,
    }
}
