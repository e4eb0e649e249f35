//! Sockets, cores and hardware threads of a host, and which of its logical CPUs are idle.
//!
//! Logical CPUs are numbered thread by thread: thread `t` of core `c` of socket `s` is `(s * cores + c) * threads + t`.
//! A NUMA node is a socket, or a part of one.

use crate::core_scheduling::{Cookie, CoreScheduler};
use crate::cpu_set::CpuSet;
use hypertwin_cluster::HostGroup;
use std::ops::Range;

/// A schedulable entity of one host: a vCPU, or a helper world (VMkernel world, vhost thread).
pub type WorldId = u32;

/// Where a world may run.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Any logical CPU of the host.
    Any,
    /// The logical CPUs of a NUMA node: its home node.
    Node(usize),
    /// Any logical CPU of the host, and rather one of this home node than one of another.
    Roaming(usize),
    /// These logical CPUs: an affinity.
    Mask(CpuSet),
}

impl Domain {
    /// Whether a world with this domain may run on logical CPU `cpu`.
    pub fn allows(&self, topology: &Topology, cpu: usize) -> bool {
        match self {
            Self::Any | Self::Roaming(_) => true,
            Self::Node(node) => topology.node_of(cpu) == *node,
            Self::Mask(mask) => mask.contains(cpu),
        }
    }
}

/// Shape of a host's processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// NUMA nodes.
    pub nodes: usize,
    /// Nodes in each socket.
    pub nodes_per_socket: usize,
    /// Cores in each node.
    pub cores_per_node: usize,
    /// Cores that share a last-level cache: those of a node, or a part of them.
    pub cores_per_l3: usize,
    /// Hardware threads in each core (1 or 2).
    pub threads_per_core: usize,
}

impl Topology {
    /// The processors of `host`.
    pub fn of(host: &HostGroup) -> Self {
        Self {
            nodes: host.nodes() as usize,
            nodes_per_socket: host.nodes_per_socket as usize,
            cores_per_node: host.cores_per_node() as usize,
            cores_per_l3: (host.cores_per_node() / host.l3_per_node) as usize,
            threads_per_core: host.threads_per_core as usize,
        }
    }

    /// Number of logical CPUs.
    #[inline]
    pub fn cpus(&self) -> usize {
        self.cores() * self.threads_per_core
    }

    /// Number of cores.
    #[inline]
    pub fn cores(&self) -> usize {
        self.nodes * self.cores_per_node
    }

    /// Core that logical CPU `cpu` is a thread of.
    #[inline]
    pub fn core_of(&self, cpu: usize) -> usize {
        // a shift, because this is asked several times in every event
        cpu >> (self.threads_per_core - 1)
    }

    /// NUMA node of logical CPU `cpu`.
    #[inline]
    pub fn node_of(&self, cpu: usize) -> usize {
        self.core_of(cpu) / self.cores_per_node
    }

    /// NUMA nodes of the socket of `node`.
    #[inline]
    pub fn socket_nodes(&self, node: usize) -> Range<usize> {
        let first = node - node % self.nodes_per_socket;
        first..first + self.nodes_per_socket
    }

    /// Last-level cache of logical CPU `cpu`.
    #[inline]
    pub fn l3_of(&self, cpu: usize) -> usize {
        self.core_of(cpu) / self.cores_per_l3
    }

    /// Logical CPUs that share last-level cache `l3`.
    #[inline]
    pub fn l3_cpus(&self, l3: usize) -> Range<usize> {
        let size = self.cores_per_l3 * self.threads_per_core;
        l3 * size..(l3 + 1) * size
    }

    /// The other hardware thread of the same core.
    #[inline]
    pub fn sibling(&self, cpu: usize) -> Option<usize> {
        (self.threads_per_core == 2).then_some(cpu ^ 1)
    }

    /// Logical CPUs of NUMA node `node`.
    #[inline]
    pub fn node_cpus(&self, node: usize) -> Range<usize> {
        let size = self.cores_per_node * self.threads_per_core;
        node * size..(node + 1) * size
    }

    #[inline]
    fn node_cores(&self, node: usize) -> Range<usize> {
        node * self.cores_per_node..(node + 1) * self.cores_per_node
    }
}

/// Which world runs on each logical CPU, with the idle ones kept searchable.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// The processors' shape.
    pub topology: Topology,
    running: Vec<Option<WorldId>>,
    idle_threads: CpuSet,
    idle_cores: CpuSet,
    withheld: CpuSet,
    shared_cores: CpuSet,
    /// Which worlds may share a core, where not all may.
    core_scheduler: Option<Box<CoreScheduler>>,
}

impl Occupancy {
    /// All logical CPUs idle, and any two worlds may share a core.
    pub fn new(topology: Topology) -> Self {
        Self {
            topology,
            core_scheduler: None,
            running: vec![None; topology.cpus()],
            idle_threads: CpuSet::full(topology.cpus()),
            idle_cores: CpuSet::full(topology.cores()),
            withheld: CpuSet::new(topology.cpus()),
            shared_cores: CpuSet::new(topology.cores()),
        }
    }

    /// The world that runs on `cpu`.
    #[inline]
    pub fn running(&self, cpu: usize) -> Option<WorldId> {
        self.running[cpu]
    }

    /// Whether the other thread of this core runs something.
    #[inline]
    pub fn sibling_busy(&self, cpu: usize) -> bool {
        self.topology
            .sibling(cpu)
            .is_some_and(|other| self.running[other].is_some())
    }

    /// Whether `cpu` is idle and may be given a world: under core scheduling one that may share the core.
    #[inline]
    pub fn is_free(&self, cpu: usize) -> bool {
        self.running[cpu].is_none() && !self.withheld.contains(cpu)
    }

    /// From now on only worlds with the same cookie may share a core: `cookie` is that of the next world, in the order
    /// of their ids. Every world must be given one, or none.
    pub fn add_cookie(&mut self, cookie: Cookie) {
        let cpus = self.topology.cpus();
        let scheduler = self
            .core_scheduler
            .get_or_insert_with(|| Box::new(CoreScheduler::new(cpus)));
        scheduler.cookies.push(cookie);
    }

    /// Whether only some worlds may share a core.
    #[inline]
    pub fn has_core_scheduling(&self) -> bool {
        self.core_scheduler.is_some()
    }

    /// The sibling of `cpu`, if a world runs there with which `world` may not share the core.
    #[inline]
    pub fn rival(&self, world: WorldId, cpu: usize) -> Option<usize> {
        let scheduler = self.core_scheduler.as_ref()?;
        let sibling = self.topology.sibling(cpu)?;
        let other = self.running[sibling]?;
        (!scheduler.may_share(world, other)).then_some(sibling)
    }

    /// Whether the core of `cpu` has room for any world, as far as core scheduling goes.
    #[inline]
    pub fn admits_all(&self, cpu: usize) -> bool {
        self.core_scheduler.is_none() || !self.sibling_busy(cpu)
    }

    /// Whether one of these logical CPUs may be idle: a quick no.
    #[inline]
    pub fn may_be_free(&self, cpus: Range<usize>) -> bool {
        self.has_core_scheduling() || self.idle_threads.first_in(cpus.start, cpus.end).is_some()
    }

    /// Whether a core of these logical CPUs is idle.
    #[inline]
    pub fn any_idle_core(&self, cpus: Range<usize>) -> bool {
        let (first, last) = (self.topology.core_of(cpus.start), self.topology.core_of(cpus.end - 1));
        self.idle_cores.first_in(first, last + 1).is_some()
    }

    /// Puts `world` on the idle logical CPU `cpu`.
    pub fn occupy(&mut self, cpu: usize, world: WorldId) {
        debug_assert!(self.running[cpu].is_none(), "two worlds on one logical CPU");
        self.running[cpu] = Some(world);
        let core = self.topology.core_of(cpu);
        self.idle_threads.remove(cpu);
        self.idle_cores.remove(core);
        if self.sibling_busy(cpu) {
            self.shared_cores.insert(core);
        }
        if let Some(scheduler) = &mut self.core_scheduler {
            scheduler.half_idle.remove(cpu);
            let sibling = self.topology.sibling(cpu);
            if let Some(other) = sibling.filter(|&other| self.idle_threads.contains(other)) {
                self.idle_threads.remove(other);
                scheduler.half_idle.insert(other);
            }
        }
    }

    /// Makes `cpu` idle; a whole-core claim of its world ends with it. Returns the idle sibling that may now be given a
    /// world that it was barred to: the claim had withheld it, or core scheduling had.
    pub fn vacate(&mut self, cpu: usize) -> Option<usize> {
        debug_assert!(!self.withheld.contains(cpu), "what is withheld is empty");
        self.running[cpu] = None;
        let core = self.topology.core_of(cpu);
        self.make_idle(cpu);
        self.shared_cores.remove(core);
        let sibling = self.topology.sibling(cpu);
        let idle_sibling = sibling.filter(|&other| self.running[other].is_none());
        if sibling == idle_sibling {
            self.idle_cores.insert(core);
        }
        let freed = idle_sibling.filter(|&other| self.has_core_scheduling() || self.withheld.contains(other));
        if let Some(other) = freed {
            self.release(other);
        }
        freed
    }

    /// Notes that the idle thread `cpu` may be given a world.
    fn make_idle(&mut self, cpu: usize) {
        let is_half = self.core_scheduler.is_some() && self.sibling_busy(cpu);
        match &mut self.core_scheduler {
            Some(scheduler) if is_half => scheduler.half_idle.insert(cpu),
            Some(scheduler) => {
                scheduler.half_idle.remove(cpu);
                self.idle_threads.insert(cpu);
            }
            None => self.idle_threads.insert(cpu),
        }
    }

    /// Keeps the idle thread `cpu` empty, because its sibling has claimed the whole core.
    pub fn withhold(&mut self, cpu: usize) {
        debug_assert!(
            self.running[cpu].is_none() && self.sibling_busy(cpu),
            "a claim is of an idle thread"
        );
        self.withheld.insert(cpu);
        self.idle_threads.remove(cpu);
        if let Some(scheduler) = &mut self.core_scheduler {
            scheduler.half_idle.remove(cpu);
        }
    }

    /// Ends the withholding of `cpu`.
    pub fn release(&mut self, cpu: usize) {
        self.withheld.remove(cpu);
        self.make_idle(cpu);
    }

    /// Whether `cpu` is kept empty for its sibling.
    #[inline]
    pub fn is_withheld(&self, cpu: usize) -> bool {
        self.withheld.contains(cpu)
    }

    /// Whether two worlds share a core although a whole core of its node is idle.
    pub fn is_crowded(&self) -> bool {
        !self.shared_cores.is_empty()
            && (0..self.topology.nodes).any(|node| {
                let cores = self.topology.node_cores(node);
                let holds = |set: &CpuSet| set.first_in(cores.start, cores.end).is_some();
                holds(&self.shared_cores) && holds(&self.idle_cores)
            })
    }

    /// A logical CPU whose core is shared by two worlds although a whole core of its node is idle, with a thread of
    /// that core: what the hyper-threading balancer moves. `may` says whether a world may run on a logical CPU.
    pub fn crowded(&self, may: impl Fn(WorldId, usize) -> bool) -> Option<(usize, usize)> {
        let threads = self.topology.threads_per_core;
        let cpus = |core: usize| core * threads..(core + 1) * threads;
        let within = |set: &CpuSet, node: usize| {
            let cores = self.topology.node_cores(node);
            let cores: Vec<usize> = set.iter().filter(|core| cores.contains(core)).collect();
            cores
        };
        (0..self.topology.nodes).find_map(|node| {
            let shared = within(&self.shared_cores, node).into_iter();
            let mut from = shared.flat_map(|core| cpus(core).rev());
            let idle: Vec<usize> = within(&self.idle_cores, node).into_iter().flat_map(cpus).collect();
            from.find_map(|cpu| {
                let world = self.running[cpu]?;
                let to = idle.iter().find(|&&to| may(world, to))?;
                Some((cpu, *to))
            })
        })
    }

    /// An idle logical CPU of `domain` for `world`, which ran on `last`: a whole idle core before a thread whose
    /// sibling is busy; the last place before any other, then what shares its cache, its node, its socket.
    pub fn find_idle(&self, world: WorldId, domain: &Domain, last: usize) -> Option<usize> {
        let found = self.find_open(domain, last);
        if found.is_some() || self.core_scheduler.is_none() {
            return found;
        }
        self.find_companion(world, domain, last)
    }

    /// An idle logical CPU that any world may have.
    fn find_open(&self, domain: &Domain, last: usize) -> Option<usize> {
        if self.idle_threads.is_empty() {
            return None;
        }
        match domain {
            Domain::Node(node) => self
                .idle_core_in(*node, last)
                .or_else(|| self.idle_thread_in(*node, last)),
            Domain::Any | Domain::Roaming(_) => self
                .nodes_from(domain, last)
                .find_map(|node| self.idle_core_in(node, last))
                .or_else(|| {
                    self.nodes_from(domain, last)
                        .find_map(|node| self.idle_thread_in(node, last))
                }),
            Domain::Mask(mask) => {
                let free = |cpu: usize| self.idle_threads.contains(cpu);
                let whole = |cpu: usize| free(cpu) && !self.sibling_busy(cpu);
                let pick = |wanted: &dyn Fn(usize) -> bool| {
                    (mask.contains(last) && wanted(last))
                        .then_some(last)
                        .or_else(|| mask.iter().find(|&c| wanted(c)))
                };
                pick(&whole).or_else(|| pick(&free))
            }
        }
    }

    /// Under core scheduling, an idle thread beside a world that `world` may share a core with.
    fn find_companion(&self, world: WorldId, domain: &Domain, last: usize) -> Option<usize> {
        let half_idle = &self.core_scheduler.as_ref()?.half_idle;
        let fits = |cpu: usize| {
            half_idle.contains(cpu) && domain.allows(&self.topology, cpu) && self.rival(world, cpu).is_none()
        };
        let within = |node: usize| self.topology.node_cpus(node).find(|&cpu| fits(cpu));
        Some(last)
            .filter(|&cpu| fits(cpu))
            .or_else(|| self.nodes_from(domain, last).find_map(within))
    }

    /// The nodes in the order in which a world of `domain` that ran on `last` looks for an idle CPU.
    fn nodes_from(&self, domain: &Domain, last: usize) -> impl Iterator<Item = usize> + use<> {
        let first = match domain {
            Domain::Node(home) | Domain::Roaming(home) => *home,
            Domain::Any | Domain::Mask(_) => self.topology.node_of(last),
        };
        let near = self.topology.socket_nodes(first);
        let far = (0..near.start).chain(near.end..self.topology.nodes);
        let near = near.filter(move |&node| node != first);
        std::iter::once(first).chain(near).chain(far)
    }

    fn idle_core_in(&self, node: usize, last: usize) -> Option<usize> {
        let cores = self.topology.node_cores(node);
        let core = self.topology.core_of(last);
        if cores.contains(&core) && self.idle_cores.contains(core) {
            return Some(last);
        }
        let near = self.cache_of(&cores, core);
        near.and_then(|near| self.idle_cores.first_in(near.start, near.end))
            .or_else(|| self.idle_cores.first_in(cores.start, cores.end))
            .map(|core| core * self.topology.threads_per_core)
    }

    /// The cores that share a cache with `core`, if it is one of `cores`, a node with several caches.
    fn cache_of(&self, cores: &Range<usize>, core: usize) -> Option<Range<usize>> {
        let size = self.topology.cores_per_l3;
        (size < cores.len() && cores.contains(&core)).then(|| core / size * size..(core / size + 1) * size)
    }

    fn idle_thread_in(&self, node: usize, last: usize) -> Option<usize> {
        let cpus = self.topology.node_cpus(node);
        if cpus.contains(&last) && self.idle_threads.contains(last) {
            return Some(last);
        }
        let threads = self.topology.threads_per_core;
        let cores = self.topology.node_cores(node);
        let near = self.cache_of(&cores, self.topology.core_of(last));
        near.and_then(|near| self.idle_threads.first_in(near.start * threads, near.end * threads))
            .or_else(|| self.idle_threads.first_in(cpus.start, cpus.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Topology = Topology {
        nodes: 2,
        nodes_per_socket: 1,
        cores_per_node: 2,
        cores_per_l3: 2,
        threads_per_core: 2,
    };

    #[test]
    fn a_whole_idle_core_comes_before_an_idle_thread() {
        let mut cpus = Occupancy::new(HOST);
        cpus.occupy(0, 7);
        assert_eq!(
            cpus.find_idle(9, &Domain::Node(0), 1),
            Some(2),
            "core 1 is whole, thread 1 shares core 0"
        );
        cpus.occupy(2, 8);
        assert_eq!(
            cpus.find_idle(9, &Domain::Node(0), 1),
            Some(1),
            "only threads are left in the node"
        );
        assert_eq!(
            cpus.find_idle(9, &Domain::Any, 1),
            Some(4),
            "the other node still has a whole core"
        );
        let mask = Domain::Mask([1, 3].into_iter().collect());
        assert_eq!(cpus.find_idle(9, &mask, 3), Some(3));
    }

    #[test]
    fn a_withheld_thread_is_not_idle_until_its_claim_ends() {
        let mut cpus = Occupancy::new(Topology {
            nodes: 1,
            cores_per_node: 1,
            cores_per_l3: 1,
            ..HOST
        });
        cpus.occupy(0, 1);
        cpus.withhold(1);
        assert_eq!(cpus.find_idle(9, &Domain::Any, 1), None);
        assert_eq!(cpus.vacate(0), Some(1));
        assert_eq!(cpus.find_idle(9, &Domain::Any, 1), Some(1));
    }

    /// VM 1 has worlds 0 and 1, VM 2 world 2; world 3 is alone.
    fn core_scheduled() -> Occupancy {
        let mut cpus = Occupancy::new(Topology { nodes: 1, ..HOST });
        for cookie in [Some(1), Some(1), Some(2), None] {
            cpus.add_cookie(cookie);
        }
        cpus
    }

    #[test]
    fn under_core_scheduling_only_companions_share_a_core() {
        let mut cpus = core_scheduled();
        cpus.occupy(0, 0);
        assert_eq!(cpus.find_idle(1, &Domain::Any, 1), Some(2), "a whole core comes first");
        cpus.occupy(2, 3);
        assert_eq!(cpus.find_idle(1, &Domain::Any, 3), Some(1), "beside its companion");
        assert_eq!(cpus.find_idle(2, &Domain::Any, 3), None, "every core is another's");
        assert_eq!(
            (cpus.rival(2, 1), cpus.rival(1, 1), cpus.rival(2, 3)),
            (Some(0), None, Some(2))
        );
        assert_eq!(cpus.rival(3, 3), Some(2), "a world without a cookie shares with none");
        let bound = Domain::Mask([3].into_iter().collect());
        assert_eq!(cpus.find_idle(1, &bound, 3), None);
        assert_eq!(cpus.vacate(2), Some(3), "an idle thread that was barred is offered");
        assert_eq!(cpus.find_idle(2, &bound, 3), Some(3));
        cpus.occupy(1, 1);
        assert_eq!(cpus.vacate(0), None);
        assert_eq!(cpus.find_idle(0, &Domain::Mask([0].into_iter().collect()), 0), Some(0));
    }

    #[test]
    fn a_claim_withholds_a_thread_from_companions_too() {
        let mut cpus = core_scheduled();
        cpus.occupy(0, 0);
        cpus.occupy(2, 3);
        cpus.withhold(1);
        assert_eq!(cpus.find_idle(1, &Domain::Any, 1), None);
        cpus.release(1);
        assert_eq!(cpus.find_idle(1, &Domain::Any, 1), Some(1));
        cpus.withhold(1);
        assert_eq!(cpus.vacate(0), Some(1));
        assert_eq!(cpus.find_idle(2, &Domain::Any, 1), Some(1));
    }

    #[test]
    fn an_idle_core_is_looked_for_in_the_cache_then_the_node_then_the_socket() {
        let topology = Topology {
            nodes: 4,
            nodes_per_socket: 2,
            cores_per_node: 4,
            cores_per_l3: 2,
            threads_per_core: 1,
        };
        let mut cpus = Occupancy::new(topology);
        let last = 15;
        let order: Vec<usize> = (0..16)
            .map(|world| {
                let cpu = cpus.find_idle(world, &Domain::Any, last).expect("one is idle");
                cpus.occupy(cpu, world);
                cpu
            })
            .collect();
        assert_eq!(order, [15, 14, 12, 13, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((topology.l3_of(13), topology.l3_cpus(6)), (6, 12..14));
        assert_eq!(topology.socket_nodes(3), 2..4);
    }

    #[test]
    fn with_threads_too_the_cache_comes_before_the_node() {
        let mut cpus = Occupancy::new(Topology {
            nodes: 1,
            cores_per_l3: 1,
            ..HOST
        });
        for world in 0..2 {
            cpus.occupy(2 * world, world as WorldId);
        }
        cpus.occupy(3, 2);
        cpus.vacate(2);
        assert_eq!(
            cpus.find_idle(9, &Domain::Any, 3),
            Some(2),
            "beside the last CPU, not thread 1"
        );
    }

    #[test]
    fn numbering_follows_sockets_cores_threads() {
        assert_eq!((HOST.cpus(), HOST.cores()), (8, 4));
        assert_eq!((HOST.node_of(5), HOST.core_of(5), HOST.sibling(5)), (1, 2, Some(4)));
        assert_eq!(HOST.node_cpus(1), 4..8);
    }
}
