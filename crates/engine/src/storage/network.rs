//! The network that pools use: the ports of hosts, and which hosts can be reached.

use super::port::Port;
use crate::ids::{HostId, Table};
use hypertwin_kernel::Nanos;

/// What works of a host at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostState {
    pub is_up: bool,
    /// Whether its network works.
    pub is_linked: bool,
    /// It will never return.
    pub is_gone: bool,
}

impl HostState {
    /// Whether other hosts can reach it.
    #[inline]
    pub fn is_reachable(self) -> bool {
        self.is_up && self.is_linked
    }
}

/// A host as the network sees it.
pub struct NetworkHost {
    pub state: HostState,
    /// Its number among the nodes and clients of its first pool, which says by which of a peer's ports it is reached.
    pub number: usize,
    /// Its ports; none where no pool is used or carried.
    pub ports: Vec<Port>,
    /// Time of a message without its transfer.
    pub message_ns: Nanos,
}

impl NetworkHost {
    /// A host that takes no part.
    pub fn new() -> Self {
        Self {
            state: HostState {
                is_up: true,
                is_linked: true,
                is_gone: false,
            },
            number: 0,
            ports: Vec::new(),
            message_ns: 0,
        }
    }

    /// It takes part as number `number` of a pool, if it does not yet.
    pub fn connect(&mut self, spec: &hypertwin_cluster::Network, number: usize) {
        if self.ports.is_empty() {
            let port = || Port::new(spec.bandwidth.bytes_per_s(), 0);
            self.ports = (0..spec.ports).map(|_| port()).collect();
            self.message_ns = spec.latency.nanos();
            self.number = number;
        }
    }

    #[inline]
    fn port_for(&mut self, peer: usize) -> &mut Port {
        let number = peer % self.ports.len();
        &mut self.ports[number]
    }
}

/// All hosts.
pub struct Network {
    pub hosts: Table<HostId, NetworkHost>,
}

impl Network {
    /// What works of a host.
    #[inline]
    pub fn state(&self, host: HostId) -> HostState {
        self.hosts[host].state
    }

    /// Time of a message between two hosts, without its transfer.
    #[inline]
    pub fn message_ns(&self, from: HostId, to: HostId) -> Nanos {
        self.hosts[from].message_ns.max(self.hosts[to].message_ns)
    }

    /// When data that leave a host now have passed its port and that of another.
    #[inline]
    pub fn transmit(&mut self, from: HostId, to: HostId, bytes: u32, now: Nanos) -> Nanos {
        if from == to {
            return now;
        }
        let numbers = [from, to].map(|host| self.hosts[host].number);
        let out = self.hosts[from].port_for(numbers[1]);
        out.bytes[0] += u64::from(bytes);
        let left = out.send_up(now, bytes);
        let into = self.hosts[to].port_for(numbers[0]);
        into.bytes[1] += u64::from(bytes);
        left.max(into.send_down(now, bytes))
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        let ports = self.hosts.iter_mut().flat_map(|host| &mut host.ports);
        ports.for_each(|port| port.reset(now));
    }
}
