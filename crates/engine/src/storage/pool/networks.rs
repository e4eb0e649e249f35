//! Networks of a pool beside that of its hosts: ports for what nodes send to one another, and what lies between racks
//! or sites.
//!
//! Nodes are dealt to racks in turn, and so are clients that are no nodes.
//!
//! **Only pools with separate networks check them** (`pool/networks.rs`): the sender marks its traffic as client or
//! node traffic.

use crate::storage::port::Port;
use hypertwin_cluster::{Bandwidth, StoragePool};
use hypertwin_kernel::Nanos;

/// Whose data pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Between a client and a node.
    Client,
    /// Between two nodes: copies, fragments, recovery.
    Nodes,
}

/// The networks that a pool has of its own.
pub struct OwnNetworks {
    /// Per node: its ports for the other nodes; none where these use those of clients.
    cluster: Vec<Vec<Port>>,
    /// Time of a message between two nodes.
    cluster_ns: Nanos,
    pub racks: usize,
    /// Of a message between two racks, one way; and the link of each two, without a limit none: of the first with those
    /// before it, which are none, of the second with the first, and so on.
    pub between_ns: Nanos,
    between: Vec<Port>,
}

impl OwnNetworks {
    /// Those of a pool, if it has any.
    pub fn of(spec: &StoragePool, nodes: usize) -> Option<Self> {
        let (cluster, racks) = (&spec.networks.cluster, &spec.networks.between_racks);
        if cluster.is_none() && racks.is_none() {
            return None;
        }
        let number = spec.racks as usize;
        let bandwidth = racks.as_ref().and_then(|racks| racks.bandwidth);
        let link = |rate: Bandwidth| {
            let pairs = 0..number * (number - 1) / 2;
            pairs.map(|_| Port::new(rate.bytes_per_s(), 0)).collect()
        };
        Some(Self {
            cluster: cluster.as_ref().map_or_else(Vec::new, |spec| {
                let port = || Port::new(spec.bandwidth.bytes_per_s(), 0);
                (0..nodes).map(|_| (0..spec.ports).map(|_| port()).collect()).collect()
            }),
            cluster_ns: cluster.as_ref().map_or(0, |cluster| cluster.latency.nanos()),
            racks: number,
            between_ns: racks.as_ref().map_or(0, |racks| racks.latency.nanos() / 2),
            between: bandwidth.map_or_else(Vec::new, link),
        })
    }

    /// Time of a message between two nodes; `None` if they have no ports of their own.
    pub fn cluster_ns(&self) -> Option<Nanos> {
        (!self.cluster.is_empty()).then_some(self.cluster_ns)
    }

    /// All ports between nodes.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        self.cluster.iter().flatten()
    }

    /// When data that leave a node now have passed its port for nodes and that of another; `None` if they have no such
    /// ports.
    pub fn transmit(&mut self, from: usize, to: usize, bytes: u32, now: Nanos) -> Option<Nanos> {
        let count = self.cluster.first()?.len();
        let out = &mut self.cluster[from][to % count];
        out.bytes[0] += u64::from(bytes);
        let left = out.send_up(now, bytes);
        let into = &mut self.cluster[to][from % count];
        into.bytes[1] += u64::from(bytes);
        Some(left.max(into.send_down(now, bytes)))
    }

    /// All links between racks.
    pub fn links(&self) -> impl Iterator<Item = &Port> {
        self.between.iter()
    }

    /// When they have passed what is between two racks.
    pub fn cross(&mut self, from: usize, to: usize, bytes: u32, now: Nanos) -> Nanos {
        let (low, high) = (from.min(to), from.max(to));
        if self.between.is_empty() || low == high {
            return now;
        }
        let link = &mut self.between[high * (high - 1) / 2 + low];
        link.bytes[usize::from(from > to)] += u64::from(bytes);
        match from < to {
            true => link.send_up(now, bytes),
            false => link.send_down(now, bytes),
        }
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        let ports = self.cluster.iter_mut().flatten().chain(&mut self.between);
        ports.for_each(|port| port.reset(now));
    }
}
