//! The fabric between hosts and arrays: the ports at both of its ends, and the path that each I/O takes between them.
//!
//! A path is chosen when an I/O leaves its host and kept until it is back. Most LUNs have one path, which is known
//! beforehand; for the others see `multipath.rs`.
//!
//! **Links and flash channels need no event.** For a first-come-first-served link or channel, the engine can calculate
//! the completion time of an operation on arrival. Frames of one command cross both ports of the command at the same
//! time. An I/O that hits the array's cache therefore costs four events: the worker's CPU, the I/O thread, the array's
//! answer and the return path.

use super::multipath::{Health, LunPaths, Taken};
use super::port::{ArrayPath, Port};
use super::request::{PerIo, Requests};
use crate::ids::{DepthId, IoId, LunId, Table};
use hypertwin_kernel::Nanos;

/// Ports of all hosts and arrays.
pub struct Fabric {
    pub host_ports: Vec<Port>,
    pub array_ports: Vec<Port>,
    /// LUNs with several paths, or whose ports may fail; and how these ports are.
    pub luns: Table<LunId, LunPaths>,
    pub health: Health,
    paths: PerIo<ArrayPath>,
    /// Of I/Os to LUNs with several paths.
    taken: PerIo<Taken>,
}

impl Fabric {
    pub fn new() -> Self {
        Self {
            host_ports: Vec::new(),
            array_ports: Vec::new(),
            luns: Table::new(),
            health: Health::default(),
            paths: PerIo::new(),
            taken: PerIo::new(),
        }
    }

    /// A path to disks inside a host: what passes takes no time.
    pub fn add_bus(&mut self) -> ArrayPath {
        self.host_ports.push(Port::new(f64::INFINITY, 0));
        self.array_ports.push(Port::new(f64::INFINITY, 0));
        ArrayPath {
            host_port: self.host_ports.len() as u32 - 1,
            array_port: self.array_ports.len() as u32 - 1,
            one_way_latency_ns: 0,
        }
    }

    /// An I/O goes to its array by this path, and comes back by it.
    #[inline]
    pub fn choose(&mut self, id: IoId, path: ArrayPath) {
        self.paths.set(id, path);
    }

    /// Chooses the path of an I/O to a LUN with several: the depth of its port on the host. `None` if none works: it
    /// waits.
    pub fn choose_of(&mut self, lun: LunId, id: IoId, requests: &mut Requests) -> Option<DepthId> {
        let taken = self.luns[lun].choose(id, &self.health, requests)?;
        let (path, depth) = self.luns[lun].path(taken);
        self.paths.set(id, path);
        self.taken.set(id, taken);
        Some(depth)
    }

    /// An I/O leaves the path that it took to such a LUN: the depth in which it has a slot or waits for one.
    pub fn leave(&mut self, lun: LunId, id: IoId) -> DepthId {
        self.luns[lun].leave(self.taken[id])
    }

    /// When such an I/O is sent again, if its answer was lost.
    pub fn resend_at(&mut self, lun: LunId, id: IoId, now: Nanos) -> Option<Nanos> {
        self.luns[lun].resend_at(self.taken[id], &self.health, now)
    }

    /// One way of an I/O, without its data.
    #[inline]
    pub fn one_way_latency_ns(&self, id: IoId) -> Nanos {
        self.paths[id].one_way_latency_ns
    }

    /// Data pass both ports on the way to the array; frames follow each other, so it takes as long as the slower one.
    #[inline]
    pub fn send_to_array(&mut self, id: IoId, bytes: u32, now: Nanos) -> Nanos {
        let [host, array] = self.ends(id);
        host.send_up(now, bytes).max(array.send_up(now, bytes))
    }

    /// Data pass both ports on the way to the host.
    #[inline]
    pub fn send_to_host(&mut self, id: IoId, bytes: u32, now: Nanos) -> Nanos {
        let [host, array] = self.ends(id);
        host.send_down(now, bytes).max(array.send_down(now, bytes))
    }

    /// The payload of a complete I/O is counted at both ports.
    #[inline]
    pub fn count(&mut self, id: IoId, bytes: u32, write: bool) {
        for port in self.ends(id) {
            port.bytes[usize::from(!write)] += u64::from(bytes);
        }
    }

    #[inline]
    fn ends(&mut self, id: IoId) -> [&mut Port; 2] {
        let path = self.paths[id];
        [
            &mut self.host_ports[path.host_port as usize],
            &mut self.array_ports[path.array_port as usize],
        ]
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        let ports = self.host_ports.iter_mut().chain(&mut self.array_ports);
        ports.for_each(|port| port.reset(now));
        self.luns.iter_mut().for_each(|lun| lun.failovers = 0);
    }
}
