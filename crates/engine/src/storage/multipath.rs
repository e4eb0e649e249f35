//! LUNs with several paths from a host: which one each I/O takes, and what becomes of it when a port fails.
//!
//! **Mechanism.** An I/O keeps its path until it is back. If a port of the path has failed meanwhile, its answer is
//! lost, and it is sent again, by the path that the policy then chooses, `timeout` after the failure. While no path
//! works, I/Os wait. **Invariant.** An I/O holds a slot of the port that it has chosen, and of no other.
//!
//! **A path is a stage of the route only if there is a choice.** With one path, a route ends in its port.
//! With several paths, or ports that fail, it ends in a stage that chooses a path and takes a slot of its port. After a
//! lost answer, the I/O returns to that stage. *Enforced by* `crates/engine/tests/array_paths.rs` and `life.rs`.

use super::port::ArrayPath;
use super::queue::Fifo;
use super::request::{Io, Requests};
use crate::ids::{DepthId, IoId};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::multipath::Multipath;

/// A port of a host or an array, by its number in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Host(usize),
    Array(usize),
}

/// Which ports work. Ports that never failed need no entry.
#[derive(Default)]
pub struct Health {
    hosts: Vec<PortHealth>,
    arrays: Vec<PortHealth>,
}

#[derive(Clone, Copy, Default)]
struct PortHealth {
    /// Failures that last, and all that there have been.
    failures: u32,
    all: u32,
    failed_at: Nanos,
}

impl Health {
    /// Whether no port has ever failed.
    pub fn is_whole(&self) -> bool {
        self.hosts.is_empty() && self.arrays.is_empty()
    }

    fn of(&self, path: ArrayPath) -> [PortHealth; 2] {
        let of = |ports: &Vec<PortHealth>, number: u32| ports.get(number as usize).copied().unwrap_or_default();
        [of(&self.hosts, path.host_port), of(&self.arrays, path.array_port)]
    }

    fn works(&self, path: ArrayPath) -> bool {
        self.of(path).iter().all(|port| port.failures == 0)
    }

    /// Failures of the ports of a path so far.
    fn failures(&self, path: ArrayPath) -> u32 {
        self.of(path).iter().map(|port| port.all).sum()
    }

    /// When a port of a path failed last.
    fn failed_at(&self, path: ArrayPath) -> Nanos {
        self.of(path).iter().map(|port| port.failed_at).max().unwrap_or(0)
    }

    /// A port fails or returns; its failures may overlap. Whether it changes.
    pub fn change(&mut self, end: End, fails: bool, now: Nanos) -> bool {
        let (ports, number) = match end {
            End::Host(number) => (&mut self.hosts, number),
            End::Array(number) => (&mut self.arrays, number),
        };
        if ports.len() <= number {
            ports.resize(number + 1, PortHealth::default());
        }
        let port = &mut ports[number];
        if !fails {
            debug_assert!(port.failures > 0, "what returns has failed before");
            port.failures -= 1;
            return port.failures == 0;
        }
        port.failures += 1;
        if port.failures == 1 {
            port.all += 1;
            port.failed_at = now;
        }
        port.failures == 1
    }
}

/// The path that an I/O took, of those of its LUN, and how often it had failed by then.
#[derive(Clone, Copy)]
pub struct Taken {
    path: u32,
    failures: u32,
}

/// The paths of a LUN from one host.
pub struct LunPaths {
    policy: Multipath,
    timeout_ns: Nanos,
    /// Each path, with the depth of its port on the host.
    paths: Vec<(ArrayPath, DepthId)>,
    under_way: Vec<u32>,
    /// I/Os that no path was there for.
    waiting: Fifo,
    /// I/Os that were sent again.
    pub failovers: u64,
}

impl LunPaths {
    pub fn new(policy: Multipath, timeout_ns: Nanos, paths: Vec<(ArrayPath, DepthId)>) -> Self {
        Self {
            policy,
            timeout_ns,
            under_way: vec![0; paths.len()],
            paths,
            waiting: Fifo::default(),
            failovers: 0,
        }
    }

    /// The path of an I/O. `None` if none works: the I/O waits.
    pub fn choose(&mut self, id: IoId, health: &Health, requests: &mut Requests) -> Option<Taken> {
        let (paths, under_way) = (&self.paths, &self.under_way);
        let bytes = u64::from(requests[id].bytes);
        let works = |path: usize| health.works(paths[path].0);
        let Some(chosen) = self.policy.choose(bytes, works, |path| under_way[path]) else {
            self.waiting.push(requests, id);
            return None;
        };
        self.under_way[chosen] += 1;
        Some(Taken {
            path: chosen as u32,
            failures: health.failures(self.paths[chosen].0),
        })
    }

    /// A path that an I/O took, with the depth of its port.
    pub fn path(&self, taken: Taken) -> (ArrayPath, DepthId) {
        self.paths[taken.path as usize]
    }

    /// An I/O leaves its path: the depth in which it has a slot or waits for one.
    pub fn leave(&mut self, taken: Taken) -> DepthId {
        let chosen = taken.path as usize;
        debug_assert!(self.under_way[chosen] > 0, "what leaves a path has taken it");
        self.under_way[chosen] -= 1;
        self.paths[chosen].1
    }

    /// When an I/O is sent again whose answer was lost; `None` if it was not.
    pub fn resend_at(&mut self, taken: Taken, health: &Health, now: Nanos) -> Option<Nanos> {
        let (path, _) = self.path(taken);
        if health.failures(path) == taken.failures {
            return None;
        }
        self.failovers += 1;
        Some(now.max(health.failed_at(path) + self.timeout_ns))
    }

    /// Whether one of its paths has this port.
    pub fn has(&self, end: End) -> bool {
        self.paths.iter().any(|(path, _)| match end {
            End::Host(number) => path.host_port as usize == number,
            End::Array(number) => path.array_port as usize == number,
        })
    }

    /// The path that an I/O took last.
    pub fn current(&self) -> ArrayPath {
        self.paths[self.policy.current()].0
    }

    /// Depths of its paths' ports.
    pub fn depths(&self) -> impl Iterator<Item = DepthId> {
        self.paths.iter().map(|&(_, depth)| depth)
    }

    /// Takes out the I/Os that wait for a path and of which `leaves` says so.
    pub fn take_waiting(&mut self, requests: &mut Requests, leaves: impl Fn(&Io) -> bool, taken: &mut Vec<IoId>) {
        for _ in 0..self.waiting.len() {
            let Some(id) = self.waiting.pop(requests) else { break };
            match leaves(&requests[id]) {
                true => taken.push(id),
                false => self.waiting.push(requests, id),
            }
        }
    }
}
