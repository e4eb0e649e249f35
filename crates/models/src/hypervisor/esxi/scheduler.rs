//! The CPU scheduler of VMware ESXi: proportional share per NUMA node, with reservations, whole-core preference,
//! hyper-threading-aware charging, home nodes and relaxed co-scheduling.
//!
//! **Mechanism.** Every vCPU has a virtual time that advances by the time it is charged (Used) over its shares; the
//! ready world with the least virtual time runs first. A VM's shares are divided among those of its vCPUs that are not
//! idle. A reservation is a second clock (as in mClock): while a VM has received less than it reserved, its worlds come
//! before all others. CPU that no other wanted, and what its reservation brought, are held against it up to a bound.
//! A vCPU runs for at most one quantum while others wait, also in parts, if helper worlds interrupt it. A world that
//! becomes ready takes a whole idle core of its home node, then an idle thread, then the CPU of the vCPU that has had
//! most of its entitlement, if that is more than itself has had; a helper world of the VMkernel may displace what runs
//! on its last CPU. What a world is owed outlives short sleeps: `BoundLagQuanta` bounds it. A vCPU that shares its core
//! and has fallen behind its sibling by more than `HTWholeCoreThreshold` claims the core.
//!
//! **Sources.** VMware, "The CPU Scheduler in VMware vSphere 5.1" (2013); ESXi advanced options `Cpu.*` and `Numa.*` as
//! listed by `esxcli system settings advanced list` of the versions; Gulati et al., "mClock" (OSDI 2010) for the
//! two-clock reservation.
//!
//! **Assumptions.** Idle logical CPUs take ready worlds of their node at once, so the L2, L3 and package periods of
//! ESXi have nothing to do here; virtual time is kept per node. A quantum of `BoundLagQuanta` is that of a vCPU with
//! shares as they are on average on the host. Under core scheduling ([`crate::core_scheduling`]) a waiting world takes
//! the core of two others only if it would take the place of each. Home nodes and their moves are in [`crate::numa`];
//! while a node's clients want more than its cores and another node has room, their vCPUs run anywhere (VMware,
//! "Architecting a vSphere Compute Platform": under contention vCPUs may move to other nodes), and their home, with
//! their memory, stays.
//!
//! **Valid** for versions 5.0 to 9.0 and hosts with one or two threads per core.
//!
//! **Ready queues per NUMA node in ESXi, per logical CPU in Linux.** ESXi moves waiting worlds between the CPUs of a
//! node within milliseconds. In the model an idle CPU takes a world from its node at once, so the published L2, L3 and
//! package balancing periods have no effect. Worlds with an affinity have a queue per set of CPUs, and the virtual time
//! of the node that has them all, or of the fastest node. Helper worlds have one queue for the host. Linux itself has
//! one queue per CPU, and the unfairness between these queues is part of the model.

use super::vnuma::home_rules;
use crate::cpu_set::CpuSet;
use crate::numa;
use crate::rounding::round;
use crate::scheduler::{
    BalancePeriods, CoschedulingThresholds, CpuScheduler, GroupSpec, LimitEnforcement, Placement, SliceEnd, WorldSpec,
};
use crate::topology::{Domain, Occupancy, Topology, WorldId};
use hypertwin_cluster::{HostGroup, Hypervisor, SchedulerOptions};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The advanced options that the model uses. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EsxiParameters {
    /// `Cpu.Quantum`.
    pub quantum_ns: u64,
    /// `Cpu.CoschedCostopThreshold`.
    pub costop_ns: u64,
    /// `Cpu.CoschedCostartThreshold`.
    pub costart_ns: u64,
    /// `Cpu.CoschedPollUsec`.
    pub poll_ns: u64,
    /// `Cpu.HTWholeCoreThreshold`.
    pub whole_core_ns: u64,
    /// `Cpu.HTRebalancePeriod`.
    pub ht_rebalance_ns: u64,
    /// `Numa.RebalancePeriod`.
    pub numa_rebalance_ns: u64,
    /// When NUMA clients move.
    pub numa: numa::Rules,
}

/// Used time per run time while the sibling is busy: VMware, "The CPU Scheduler in VMware vSphere 5.1" (2013).
pub const SHARED_CORE_CHARGE: f64 = 0.625;

const MS: u64 = 1_000_000;

/// Defaults by the first version that has them: quantum, whole-core threshold. The others are the same in all versions.
const BY_VERSION: [(Hypervisor, u64, u64); 2] = [
    (Hypervisor::Esxi40, 50 * MS, 200 * MS),
    (Hypervisor::Esxi65, 200 * MS, 800 * MS),
];

/// `Cpu.BoundLagQuanta`: quanta that may be owed to who did not wait for them.
const BOUND_LAG_QUANTA: u64 = 8;
/// Rebalance periods for which a moved client stays where it is (the effect of `Numa.MigThrashThreshold`).
const NUMA_SETTLE_PERIODS: u64 = 5;

impl EsxiParameters {
    /// The defaults of a version.
    pub fn of(version: Hypervisor) -> Self {
        let (_, quantum_ns, whole_core_ns) = BY_VERSION
            .into_iter()
            .rev()
            .find(|(first, ..)| *first <= version)
            .unwrap_or(BY_VERSION[0]);
        let options = SchedulerOptions::default();
        Self {
            quantum_ns,
            whole_core_ns,
            costop_ns: options.costop_threshold().nanos(),
            costart_ns: options.costart_threshold().nanos(),
            poll_ns: MS,
            ht_rebalance_ns: 5 * MS,
            numa_rebalance_ns: 2_000 * MS,
            numa: home_rules(version, &options),
        }
    }

    /// The defaults of the host's version with the host's overrides.
    pub fn for_host(host: &HostGroup) -> Self {
        let mut p = Self::of(host.hypervisor);
        let options = &host.scheduler;
        for (target, option) in [
            (&mut p.quantum_ns, options.quantum),
            (&mut p.costop_ns, options.costop_threshold),
            (&mut p.costart_ns, options.costart_threshold),
            (&mut p.poll_ns, options.cosched_poll),
            (&mut p.whole_core_ns, options.ht_whole_core_threshold),
            (&mut p.ht_rebalance_ns, options.ht_rebalance_period),
            (&mut p.numa_rebalance_ns, options.numa_rebalance_period),
        ] {
            if let Some(value) = option {
                *target = value.nanos();
            }
        }
        p.numa = home_rules(host.hypervisor, options);
        p
    }
}

struct Group {
    spec: GroupSpec,
    awake: u32,
    /// Awake worlds, one at least, summed over time until `counted_until_ns`.
    awake_ns: u64,
    counted_until_ns: u64,
    /// Virtual time that each of its awake worlds takes for its used time.
    pace: f64,
    /// For each of its vCPUs that is still to come, the client that it belongs to.
    to_come: VecDeque<usize>,
}

impl Group {
    /// Sets the number of its awake worlds.
    fn set_awake(&mut self, awake: u32, now_ns: u64) {
        self.awake_ns = self.awake_ns_by(now_ns);
        self.counted_until_ns = now_ns;
        self.awake = awake;
        self.pace = UNIT_SHARES * f64::from(awake.max(1)) / self.spec.shares;
    }

    /// Awake worlds summed over time until now.
    fn awake_ns_by(&self, now_ns: u64) -> u64 {
        self.awake_ns + u64::from(self.awake.max(1)) * (now_ns - self.counted_until_ns)
    }

    /// Virtual time of one of its worlds for so much used time, at present.
    fn virtual_ns(&self, used_ns: f64) -> u64 {
        round(used_ns * self.pace)
    }

    /// Virtual time of one of its worlds for used time, of which so much was divided by the awake worlds then.
    fn virtual_ns_of(&self, used_awake_ns: f64) -> u64 {
        round(used_awake_ns * UNIT_SHARES / self.spec.shares)
    }
}

/// A NUMA client.
struct Client {
    group: usize,
    vcpus: usize,
    home: usize,
    /// Its vCPUs run anywhere, because its home node is short of cores.
    roams: bool,
    settled_after_ns: u64,
}

struct World {
    group: usize,
    client: Option<usize>,
    domain: Domain,
    queue: usize,
    last: usize,
    helper: bool,
    awake: bool,
    queued: bool,
    stamp: u32,
    /// Charged time over shares, in nanoseconds of a world with 1,000 shares.
    virtual_ns: u64,
    asleep_since_ns: u64,
    /// Its queue's clock at that time.
    clock_asleep_ns: u64,
    /// For how long it has run in its present quantum.
    ran_ns: u64,
    /// Until when what it runs has been charged, and its group's `awake_ns` then.
    charged_until_ns: u64,
    charged_awake_ns: u64,
    /// Real time from which the world is behind its reservation.
    reserved_from_ns: f64,
}

/// Waiting worlds by key and sequence, with the stamp that says whether the entry is still valid.
type ReadyHeap = BinaryHeap<Reverse<(u64, u64, WorldId, u32)>>;

/// A waiting world, the best least: `(not reserved, key, sequence, world)`.
type Candidate = (bool, u64, u64, WorldId);

/// Worlds that may run on the same CPUs and wait for one.
#[derive(Default)]
struct ReadyQueue {
    by_virtual_time: ReadyHeap,
    by_reservation: ReadyHeap,
    waiting: usize,
    /// Its virtual clock, by place.
    clock: usize,
}

/// Virtual time (start-time fair queueing) of queues whose worlds compete for the same CPUs.
#[derive(Clone, Copy, Default)]
struct VirtualClock {
    /// That of the world that was last served by its shares.
    ns: u64,
    waiting: usize,
}

/// See the module's description.
pub struct EsxiScheduler {
    parameters: EsxiParameters,
    topology: Topology,
    groups: Vec<Group>,
    clients: Vec<Client>,
    worlds: Vec<World>,
    queues: Vec<ReadyQueue>,
    clocks: Vec<VirtualClock>,
    masks: Vec<Domain>,
    /// CPUs whose world has used up its quantum and continues only because no other world waited.
    expired: CpuSet,
    sequence: u64,
    /// Worlds other than helpers, and the shares of their groups.
    vcpus: u32,
    vcpu_shares: f64,
    /// Maximum virtual time owed to a world that did not wait for it: a number of quanta of a vCPU with average shares.
    most_owed_ns: u64,
}

/// Shares per world for which virtual time equals charged time.
const UNIT_SHARES: f64 = 1000.0;

impl EsxiScheduler {
    /// A scheduler for `host`, with no world.
    pub fn new(host: &HostGroup) -> Self {
        Self::with(EsxiParameters::for_host(host), Topology::of(host))
    }

    fn with(parameters: EsxiParameters, topology: Topology) -> Self {
        Self {
            parameters,
            topology,
            groups: Vec::new(),
            clients: Vec::new(),
            worlds: Vec::new(),
            queues: (0..=topology.nodes)
                .map(|clock| ReadyQueue {
                    clock,
                    ..ReadyQueue::default()
                })
                .collect(),
            clocks: vec![VirtualClock::default(); topology.nodes + 1],
            masks: Vec::new(),
            expired: CpuSet::new(topology.cpus()),
            sequence: 0,
            vcpus: 0,
            vcpu_shares: 0.0,
            most_owed_ns: 0,
        }
    }

    fn queue_of(&mut self, domain: &Domain) -> usize {
        match domain {
            Domain::Node(node) => *node,
            Domain::Any | Domain::Roaming(_) => self.topology.nodes,
            Domain::Mask(cpus) => {
                let known = self.masks.iter().position(|mask| mask == domain).unwrap_or_else(|| {
                    let topology = &self.topology;
                    let holds = |node: &usize| cpus.iter().all(|cpu| topology.node_of(cpu) == *node);
                    let clock = (0..topology.nodes).find(holds).unwrap_or_else(|| {
                        self.clocks.push(VirtualClock::default());
                        self.clocks.len() - 1
                    });
                    self.masks.push(domain.clone());
                    self.queues.push(ReadyQueue {
                        clock,
                        ..ReadyQueue::default()
                    });
                    self.masks.len() - 1
                });
                self.topology.nodes + 1 + known
            }
        }
    }

    /// Virtual time of a queue of helper worlds or of vCPUs. For vCPUs, that of CPUs of several nodes is not behind any
    /// node's.
    fn clock_ns(&self, queue: usize, helper: bool) -> u64 {
        let clock = self.queues[queue].clock;
        let is_wide = !helper && clock >= self.topology.nodes;
        let others = if is_wide { self.topology.nodes } else { 0 };
        let others = self.clocks[..others].iter().map(|clock| clock.ns).max();
        self.clocks[clock].ns.max(others.unwrap_or_default())
    }

    /// Virtual time of the queue of a world.
    fn clock_of(&self, world: WorldId) -> u64 {
        let entry = &self.worlds[world as usize];
        self.clock_ns(entry.queue, entry.helper)
    }

    /// The virtual clocks by which a world runs on a CPU: its queue's, and that of the CPU's node.
    fn clocks_of(&self, world: WorldId, cpu: usize) -> [usize; 2] {
        let entry = &self.worlds[world as usize];
        let own = self.queues[entry.queue].clock;
        [own, if entry.helper { own } else { self.topology.node_of(cpu) }]
    }

    /// One world of a queue does not wait any more; the entries of such worlds stay until they are found or all are.
    fn leave(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        self.clocks[queue.clock].waiting -= 1;
        queue.waiting -= 1;
        if queue.waiting == 0 {
            queue.by_virtual_time.clear();
            queue.by_reservation.clear();
        }
    }

    /// Whether the virtual times of two worlds tell which has had more: they compete for the same CPUs.
    fn are_comparable(&self, a: &World, b: &World) -> bool {
        let is_bound = |world: &World| world.queue > self.topology.nodes;
        a.queue == b.queue || is_bound(a) || is_bound(b)
    }

    fn enqueue(&mut self, world: WorldId) {
        self.sequence += 1;
        let sequence = self.sequence;
        let entry = &mut self.worlds[world as usize];
        entry.queued = true;
        entry.stamp += 1;
        let (stamp, queue) = (entry.stamp, entry.queue);
        let queue = &mut self.queues[queue];
        queue
            .by_virtual_time
            .push(Reverse((entry.virtual_ns, sequence, world, stamp)));
        if self.groups[entry.group].spec.reservation_cores > 0.0 {
            queue
                .by_reservation
                .push(Reverse((entry.reserved_from_ns as u64, sequence, world, stamp)));
        }
        queue.waiting += 1;
        self.clocks[queue.clock].waiting += 1;
    }

    /// Best waiting world for `cpu`. `beside`: only one that may share the core with what runs on the sibling now.
    fn best(&mut self, cpu: usize, now_ns: u64, beside: Option<&Occupancy>) -> Option<Candidate> {
        if self.queues.iter().all(|queue| queue.waiting == 0) {
            return None;
        }
        let mut best = None;
        let mut queue = self.topology.node_of(cpu);
        let mut masks = 0;
        loop {
            let worlds = &self.worlds;
            let valid = |entry: &Reverse<(u64, u64, WorldId, u32)>| {
                let world = &worlds[entry.0.2 as usize];
                world.queued && world.stamp == entry.0.3
            };
            let ready = &mut self.queues[queue];
            while ready.by_virtual_time.peek().is_some_and(|entry| !valid(entry)) {
                ready.by_virtual_time.pop();
            }
            while ready.by_reservation.peek().is_some_and(|entry| !valid(entry)) {
                ready.by_reservation.pop();
            }
            let first = |ready: &ReadyHeap| match beside {
                Some(cpus) if !cpus.admits_all(cpu) => ready
                    .iter()
                    .filter(|entry| valid(entry) && cpus.rival(entry.0.2, cpu).is_none())
                    .max()
                    .copied(),
                _ => ready.peek().copied(),
            };
            let reserved = first(&ready.by_reservation)
                .filter(|entry| entry.0.0 <= now_ns)
                .map(|e| (false, e.0));
            let shared = first(&ready.by_virtual_time).map(|entry| (true, entry.0));
            for (by_shares, (key, sequence, world, _)) in [reserved, shared].into_iter().flatten() {
                let candidate = (by_shares, key, sequence, world);
                if best.is_none_or(|known| candidate < known) {
                    best = Some(candidate);
                }
            }
            if queue < self.topology.nodes {
                queue = self.topology.nodes;
                continue;
            }
            while masks < self.masks.len() && !self.masks[masks].allows(&self.topology, cpu) {
                masks += 1;
            }
            if masks == self.masks.len() {
                return best;
            }
            queue = self.topology.nodes + 1 + masks;
            masks += 1;
        }
    }

    /// A world keeps what it is owed while it sleeps, up to the bound, but earns nothing where siblings that were awake
    /// had its share, by which sleep takes no more from it than running would have. What is reserved for it goes on
    /// while it sleeps, up to a bound: it has that on average.
    fn wake(&mut self, world: WorldId, now_ns: u64) {
        let owed_ns = self.most_owed_ns;
        let clock_ns = self.clock_of(world);
        let entry = &mut self.worlds[world as usize];
        let group = &mut self.groups[entry.group];
        let missed_ns = if group.awake > 0 {
            clock_ns.saturating_sub(entry.clock_asleep_ns)
        } else {
            0
        };
        if !std::mem::replace(&mut entry.awake, true) {
            group.set_awake(group.awake + 1, now_ns);
        }
        if missed_ns > 0 {
            let slept_ns = (now_ns - entry.asleep_since_ns) as f64;
            entry.virtual_ns += missed_ns.min(group.virtual_ns(slept_ns));
        }
        entry.virtual_ns = entry.virtual_ns.max(clock_ns.saturating_sub(owed_ns));
        let most_late_ns = (BOUND_LAG_QUANTA * self.parameters.quantum_ns) as f64;
        entry.reserved_from_ns = entry.reserved_from_ns.max(now_ns as f64 - most_late_ns);
    }

    /// Gives a world another domain, and keeps it as far from its new companions' virtual time as it was from its old
    /// ones'.
    fn send(&mut self, world: WorldId, domain: Domain) {
        let queue = self.queue_of(&domain);
        self.withdraw(world);
        let clocks = [self.clock_of(world), self.clock_ns(queue, false)];
        let entry = &mut self.worlds[world as usize];
        let ahead = i128::from(entry.virtual_ns) - i128::from(clocks[0]);
        entry.clock_asleep_ns = clocks[1];
        entry.virtual_ns = (i128::from(entry.clock_asleep_ns) + ahead).max(0) as u64;
        entry.domain = domain;
        entry.queue = queue;
    }

    /// For how long a world has not had what is reserved for it.
    fn late_ns(&self, world: &World, now_ns: u64) -> f64 {
        match self.groups[world.group].spec.reservation_cores > 0.0 {
            true => (now_ns as f64 - world.reserved_from_ns).max(0.0),
            false => 0.0,
        }
    }

    fn is_behind_reservation(&self, world: &World, now_ns: u64) -> bool {
        self.groups[world.group].spec.reservation_cores > 0.0 && world.reserved_from_ns <= now_ns as f64
    }

    /// The logical CPU that `world`, for which none is idle, takes from what runs there, and from what runs on the
    /// sibling and may not share the core with it. A helper world takes its last one, or one whose vCPU has outlived
    /// its quantum; a vCPU that of the vCPU that is furthest ahead of it.
    fn victim(&self, world: WorldId, now_ns: u64, cpus: &Occupancy) -> Option<usize> {
        let mine = &self.worlds[world as usize];
        let is_behind = self.is_behind_reservation(mine, now_ns);
        let taken = |cpu: usize| {
            let theirs = |cpu: usize| self.taken_from(mine, is_behind, cpu, now_ns, cpus);
            match (cpus.running(cpu).is_some(), cpus.rival(world, cpu)) {
                (false, None) => None,
                (true, None) => theirs(cpu),
                (false, Some(sibling)) => theirs(sibling),
                (true, Some(sibling)) => theirs(cpu).min(theirs(sibling)),
            }
        };
        if mine.helper {
            let takes = |cpu: usize| mine.domain.allows(&self.topology, cpu) && taken(cpu).is_some();
            return Some(mine.last)
                .filter(|&cpu| takes(cpu))
                .or_else(|| self.expired.iter().find(|&cpu| takes(cpu)));
        }
        let mut most = (!is_behind).then_some(mine.virtual_ns);
        let (cpus_there, mask) = match &mine.domain {
            Domain::Node(node) => (self.topology.node_cpus(*node), None),
            Domain::Any | Domain::Roaming(_) => (0..self.topology.cpus(), None),
            Domain::Mask(mask) => (0..self.topology.cpus(), Some(mask)),
        };
        let mut victim = None;
        for cpu in cpus_there {
            if mask.is_none_or(|mask| mask.contains(cpu)) {
                let taken = taken(cpu);
                if taken > most {
                    most = taken;
                    victim = Some(cpu);
                }
            }
        }
        victim
    }

    /// Virtual time by now of what runs on `cpu`, if `mine` could take its place; `is_behind` its reservation or not.
    #[inline]
    fn taken_from(&self, mine: &World, is_behind: bool, cpu: usize, now_ns: u64, cpus: &Occupancy) -> Option<u64> {
        let theirs = &self.worlds[cpus.running(cpu)? as usize];
        let comparable = mine.helper
            || (is_behind || self.are_comparable(mine, theirs)) && !self.is_behind_reservation(theirs, now_ns);
        (comparable && !theirs.helper).then(|| {
            let rate = if cpus.sibling_busy(cpu) {
                SHARED_CORE_CHARGE
            } else {
                1.0
            };
            let group = &self.groups[theirs.group];
            let since_ns = group.awake_ns_by(now_ns) - theirs.charged_awake_ns;
            theirs.virtual_ns + group.virtual_ns_of(since_ns as f64 * rate)
        })
    }

    /// The waiting `world` is served on `cpu` by its shares: virtual time comes to where it is.
    fn serve(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) {
        let served_ns = self.served_ns(world, cpus);
        for clock in self.clocks_of(world, cpu) {
            self.clocks[clock].ns = self.clocks[clock].ns.max(served_ns);
        }
        if self.worlds[world as usize].virtual_ns > self.clock_of(world) {
            self.forgive(world, now_ns);
        }
    }

    /// No waiting world has had less than `world`, which has a reservation. What it has had beyond its shares and its
    /// reservation is held against it up to bounds only: what is owed at most, and a quantum.
    fn forgive(&mut self, world: WorldId, now_ns: u64) {
        let group = &self.groups[self.worlds[world as usize].group];
        if group.spec.reservation_cores > 0.0 {
            let quantum_ns = self.parameters.quantum_ns as f64 * f64::from(group.awake.max(1));
            let latest_ns = now_ns as f64 + quantum_ns / group.spec.reservation_cores;
            let most_ns = self.clock_of(world) + self.most_owed_ns;
            let entry = &mut self.worlds[world as usize];
            entry.virtual_ns = entry.virtual_ns.min(most_ns);
            entry.reserved_from_ns = entry.reserved_from_ns.min(latest_ns);
        }
    }

    /// Virtual time at which the waiting `world` is served by its shares. One with a reservation runs so too while
    /// no other waits, however far ahead of those that run.
    fn served_ns(&self, world: WorldId, cpus: &Occupancy) -> u64 {
        let entry = &self.worlds[world as usize];
        let clock = self.queues[entry.queue].clock;
        if self.groups[entry.group].spec.reservation_cores == 0.0 || entry.virtual_ns <= self.clocks[clock].ns {
            return entry.virtual_ns;
        }
        let there = match clock < self.topology.nodes {
            true => self.topology.node_cpus(clock),
            false => 0..self.topology.cpus(),
        };
        there
            .filter_map(|cpu| cpus.running(cpu))
            .map(|other| &self.worlds[other as usize])
            .filter(|other| !other.helper && self.are_comparable(entry, other))
            .fold(entry.virtual_ns, |least, other| least.min(other.virtual_ns))
    }

    /// The world runs without contention: virtual time advances with it, and no world falls far behind.
    fn uncontended(&mut self, world: WorldId, cpu: usize, now_ns: u64) {
        let clocks = self.clocks_of(world, cpu);
        if clocks.iter().any(|&clock| self.clocks[clock].waiting > 0) {
            return;
        }
        let entry = &self.worlds[world as usize];
        if self.groups[entry.group].spec.reservation_cores > 0.0 {
            self.forgive(world, now_ns);
            return;
        }
        let virtual_ns = entry.virtual_ns;
        for clock in clocks {
            self.clocks[clock].ns = self.clocks[clock].ns.max(virtual_ns);
        }
        let least_ns = self.clock_of(world).saturating_sub(self.most_owed_ns);
        self.worlds[world as usize].virtual_ns = virtual_ns.max(least_ns);
    }
}

impl CpuScheduler for EsxiScheduler {
    fn add_group(&mut self, spec: GroupSpec) {
        let group = self.groups.len();
        let mut to_come = VecDeque::new();
        for client in &spec.clients {
            to_come.extend(std::iter::repeat_n(self.clients.len(), client.vcpus));
            self.clients.push(Client {
                group,
                vcpus: client.vcpus,
                home: client.home,
                roams: false,
                settled_after_ns: 0,
            });
        }
        self.groups.push(Group {
            awake: 0,
            awake_ns: 0,
            counted_until_ns: 0,
            pace: UNIT_SHARES / spec.shares,
            spec,
            to_come,
        });
    }

    fn add_world(&mut self, spec: WorldSpec) {
        if !spec.helper {
            self.vcpus += 1;
            let is_first = self.worlds.last().is_none_or(|last| last.group != spec.group);
            if is_first {
                self.vcpu_shares += self.groups[spec.group].spec.shares;
            }
            let quanta_ns = (BOUND_LAG_QUANTA * self.parameters.quantum_ns) as f64;
            self.most_owed_ns = round(quanta_ns * UNIT_SHARES * f64::from(self.vcpus) / self.vcpu_shares);
        }
        let client = self.groups[spec.group].to_come.pop_front();
        let domain = client.map_or(spec.domain, |client| Domain::Node(self.clients[client].home));
        let last = match &domain {
            Domain::Node(node) => {
                let cpus = self.topology.node_cpus(*node);
                cpus.start + spec.first_cpu % cpus.len()
            }
            Domain::Mask(mask) => mask.first_round(spec.first_cpu).unwrap_or(spec.first_cpu),
            Domain::Any | Domain::Roaming(_) => spec.first_cpu % self.topology.cpus(),
        };
        let queue = self.queue_of(&domain);
        let clock_ns = self.clock_ns(queue, spec.helper);
        self.worlds.push(World {
            group: spec.group,
            client,
            domain,
            queue,
            last,
            helper: spec.helper,
            awake: false,
            queued: false,
            stamp: 0,
            virtual_ns: clock_ns,
            asleep_since_ns: 0,
            clock_asleep_ns: clock_ns,
            ran_ns: 0,
            charged_until_ns: 0,
            charged_awake_ns: 0,
            reserved_from_ns: 0.0,
        });
    }

    fn remove_world(&mut self, world: WorldId) {
        self.withdraw(world);
        let entry = &mut self.worlds[world as usize];
        if std::mem::take(&mut entry.awake) {
            let group = &mut self.groups[entry.group];
            group.set_awake(group.awake - 1, group.counted_until_ns);
        }
        if let Some(client) = entry.client.take() {
            self.clients[client].vcpus -= 1;
        }
    }

    fn domain(&self, world: WorldId) -> &Domain {
        &self.worlds[world as usize].domain
    }

    fn home(&self, world: WorldId) -> Option<usize> {
        self.worlds[world as usize]
            .client
            .map(|client| self.clients[client].home)
    }

    fn place(&mut self, world: WorldId, woken: bool, now_ns: u64, cpus: &Occupancy) -> Placement {
        if woken {
            self.wake(world, now_ns);
        }
        let entry = &self.worlds[world as usize];
        if let Some(cpu) = cpus.find_idle(world, &entry.domain, entry.last) {
            self.run(world, cpu, now_ns);
            self.uncontended(world, cpu, now_ns);
            return Placement::Run(cpu);
        }
        if let Some(cpu) = self.victim(world, now_ns, cpus) {
            self.run(world, cpu, now_ns);
            return Placement::Preempt(cpu);
        }
        self.enqueue(world);
        Placement::Queue
    }

    fn next(&mut self, cpu: usize, now_ns: u64, cpus: &Occupancy) -> Option<WorldId> {
        let (by_shares, _, _, world) = self.best(cpu, now_ns, Some(cpus))?;
        self.withdraw(world);
        if by_shares {
            self.serve(world, cpu, now_ns, cpus);
        }
        self.run(world, cpu, now_ns);
        Some(world)
    }

    fn put_back(&mut self, world: WorldId, _cpu: usize) {
        self.enqueue(world);
    }

    fn withdraw(&mut self, world: WorldId) {
        let entry = &mut self.worlds[world as usize];
        if std::mem::take(&mut entry.queued) {
            let queue = entry.queue;
            self.leave(queue);
        }
    }

    fn migrate(&mut self, world: WorldId, to_cpu: usize) {
        self.worlds[world as usize].last = to_cpu;
    }

    fn sleep(&mut self, world: WorldId, now_ns: u64) {
        let clock_ns = self.clock_of(world);
        let entry = &mut self.worlds[world as usize];
        entry.awake = false;
        entry.ran_ns = 0;
        let group = &mut self.groups[entry.group];
        group.set_awake(group.awake - 1, now_ns);
        entry.asleep_since_ns = now_ns;
        entry.clock_asleep_ns = clock_ns;
    }

    fn end_limit(&mut self, world: WorldId) {
        let clock_ns = self.clock_of(world);
        let entry = &mut self.worlds[world as usize];
        entry.virtual_ns = entry.virtual_ns.max(clock_ns);
    }

    fn charge(&mut self, world: WorldId, _cpu: usize, now_ns: u64, run_ns: u64, used_ns: f64) {
        let entry = &mut self.worlds[world as usize];
        let group = &self.groups[entry.group];
        let awake_ns = group.awake_ns_by(now_ns);
        let passed_ns = now_ns - entry.charged_until_ns;
        // how many were awake, on average
        let awake = (awake_ns - entry.charged_awake_ns) as f64 / passed_ns as f64;
        (entry.charged_until_ns, entry.charged_awake_ns) = (now_ns, awake_ns);
        entry.ran_ns += run_ns;
        entry.virtual_ns += group.virtual_ns_of(used_ns * awake);
        if group.spec.reservation_cores > 0.0 {
            entry.reserved_from_ns += used_ns * awake / group.spec.reservation_cores;
        }
    }

    fn slice_ns(&self, world: WorldId, _now_ns: u64) -> u64 {
        self.parameters
            .quantum_ns
            .saturating_sub(self.worlds[world as usize].ran_ns)
    }

    fn slice_end(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) -> SliceEnd {
        self.worlds[world as usize].ran_ns = 0;
        if cpus.has_core_scheduling() && self.core_gives_way(world, cpu, now_ns, cpus) {
            return SliceEnd::YieldCore(cpu);
        }
        let claimed = self.topology.sibling(cpu).is_some_and(|other| cpus.is_withheld(other));
        let Some(best) = self.best(cpu, now_ns, Some(cpus)) else {
            self.uncontended(world, cpu, now_ns);
            self.expired.insert(cpu);
            return if claimed {
                SliceEnd::ReleaseCore
            } else {
                self.claim(world, cpu, now_ns, cpus)
            };
        };
        let gives_way = self.gives_way(world, best, now_ns);
        match (gives_way, claimed) {
            (true, true) => SliceEnd::ReleaseCore,
            (true, false) => SliceEnd::Yield,
            (false, true) => SliceEnd::Continue,
            (false, false) => self.claim(world, cpu, now_ns, cpus),
        }
    }

    fn coscheduling(&self) -> Option<CoschedulingThresholds> {
        let p = &self.parameters;
        Some(CoschedulingThresholds {
            costop_ns: p.costop_ns,
            costart_ns: p.costart_ns,
            poll_ns: p.poll_ns,
        })
    }

    fn periods(&self) -> BalancePeriods {
        BalancePeriods {
            threads_ns: self.parameters.ht_rebalance_ns,
            host_ns: self.parameters.numa_rebalance_ns,
            only_while_queued: false,
        }
    }

    fn balance(&mut self, now_ns: u64, busy_ns: &[u64], _cpus: &Occupancy, moved: &mut Vec<WorldId>) {
        let (nodes, cores) = (self.topology.nodes, self.topology.cores_per_node);
        let mut clients: Vec<numa::Client> = self
            .clients
            .iter()
            .map(|client| numa::Client {
                vm: client.group,
                home: client.home,
                vcpus: client.vcpus,
                load: 0.0,
            })
            .collect();
        for (world, busy) in self.worlds.iter().zip(busy_ns) {
            if let Some(client) = world.client {
                clients[client].load += *busy as f64 / self.parameters.numa_rebalance_ns as f64;
            }
        }
        let settled = |client: usize| now_ns >= self.clients[client].settled_after_ns;
        let mut changed = vec![false; clients.len()];
        if let Some((client, to)) = numa::next_move(&clients, cores, nodes, &self.parameters.numa, settled) {
            clients[client].home = to;
            self.clients[client].home = to;
            self.clients[client].settled_after_ns = now_ns + NUMA_SETTLE_PERIODS * self.parameters.numa_rebalance_ns;
            changed[client] = true;
        }
        let short = numa::short_of_cores(&clients, cores, nodes);
        for (client, changed) in self.clients.iter_mut().zip(&mut changed) {
            *changed |= client.roams != short[client.home];
            client.roams = short[client.home];
        }
        for world in 0..self.worlds.len() as WorldId {
            let entry = &self.worlds[world as usize];
            let Some(client) = entry.client.filter(|client| changed[*client]) else {
                continue;
            };
            if entry.awake {
                moved.push(world);
            }
            let client = &self.clients[client];
            let domain = if client.roams {
                Domain::Roaming(client.home)
            } else {
                Domain::Node(client.home)
            };
            self.send(world, domain);
        }
    }

    fn limits(&self) -> LimitEnforcement {
        LimitEnforcement::Paced {
            owed_ns: (BOUND_LAG_QUANTA * self.parameters.quantum_ns) as f64,
        }
    }
}

impl EsxiScheduler {
    /// `world` starts on `cpu`. One that is behind its reservation has had nothing beyond it for a while, and is not
    /// far ahead of its queue's clock.
    fn run(&mut self, world: WorldId, cpu: usize, now_ns: u64) {
        if self.is_behind_reservation(&self.worlds[world as usize], now_ns) {
            let most_ns = self.clock_of(world) + self.most_owed_ns;
            let entry = &mut self.worlds[world as usize];
            entry.virtual_ns = entry.virtual_ns.min(most_ns);
        }
        let entry = &mut self.worlds[world as usize];
        entry.last = cpu;
        entry.charged_until_ns = now_ns;
        entry.charged_awake_ns = self.groups[entry.group].awake_ns_by(now_ns);
        self.expired.remove(cpu);
    }

    /// Whether the running `world` gives way to a waiting one when its quantum is over.
    fn gives_way(&self, world: WorldId, (by_shares, key, ..): Candidate, now_ns: u64) -> bool {
        let entry = &self.worlds[world as usize];
        match (by_shares, self.is_behind_reservation(entry, now_ns)) {
            (true, true) => false,
            (true, false) => key < entry.virtual_ns,
            (false, true) => (key as f64) < entry.reserved_from_ns,
            (false, false) => true,
        }
    }

    /// Whether both worlds of a core give way to a waiting one that may not share it with the other of them.
    fn core_gives_way(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) -> bool {
        let Some(best) = self.best(cpu, now_ns, None) else {
            return false;
        };
        let rival = cpus.rival(best.3, cpu).and_then(|sibling| cpus.running(sibling));
        rival.is_some_and(|rival| self.gives_way(world, best, now_ns) && self.gives_way(rival, best, now_ns))
    }

    /// Whether `world` has fallen so far behind the world on the sibling thread that it takes the whole core: by
    /// virtual time, or because half a core is less than what is reserved for it.
    fn claim(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) -> SliceEnd {
        let Some(rival) = self.topology.sibling(cpu).and_then(|other| cpus.running(other)) else {
            return SliceEnd::Continue;
        };
        let (mine, theirs) = (&self.worlds[world as usize], &self.worlds[rival as usize]);
        if mine.helper || theirs.helper || !self.are_comparable(mine, theirs) {
            return SliceEnd::Continue;
        }
        let lead_ns = theirs.virtual_ns.saturating_sub(mine.virtual_ns) as f64 / self.groups[mine.group].pace;
        let lead_ns = lead_ns.max(self.late_ns(mine, now_ns) - self.late_ns(theirs, now_ns));
        if lead_ns <= self.parameters.whole_core_ns as f64 {
            return SliceEnd::Continue;
        }
        SliceEnd::ClaimCore
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::NumaClient;

    #[test]
    fn parameters_follow_the_version() {
        let quantum = |version| EsxiParameters::of(version).quantum_ns / MS;
        let whole_core = |version| EsxiParameters::of(version).whole_core_ns / MS;
        for (version, expected) in [
            (Hypervisor::Esxi40, (50, 200)),
            (Hypervisor::Esxi55, (50, 200)),
            (Hypervisor::Esxi60, (50, 200)),
            (Hypervisor::Esxi65, (200, 800)),
            (Hypervisor::Esxi70u2, (200, 800)),
            (Hypervisor::Esxi90, (200, 800)),
        ] {
            assert_eq!((quantum(version), whole_core(version)), expected, "{version}");
        }
        let p = EsxiParameters::of(Hypervisor::Esxi60);
        assert_eq!((p.costop_ns, p.costart_ns, p.poll_ns), (3 * MS, 2 * MS, MS));
        assert_eq!(
            (p.ht_rebalance_ns, p.numa_rebalance_ns, p.numa.imbalance),
            (5 * MS, 2000 * MS, 0.10)
        );
    }

    fn scheduler(nodes: usize, cores_per_node: usize) -> (EsxiScheduler, Occupancy) {
        let topology = Topology {
            nodes,
            nodes_per_socket: 1,
            cores_per_node,
            cores_per_l3: cores_per_node,
            threads_per_core: 1,
        };
        (
            EsxiScheduler::with(EsxiParameters::of(Hypervisor::Esxi60), topology),
            Occupancy::new(topology),
        )
    }

    /// A VM with NUMA clients of these vCPUs and homes.
    fn add_vm(scheduler: &mut EsxiScheduler, clients: &[(usize, usize)], shares: f64) {
        let group = scheduler.groups.len();
        let clients: Vec<NumaClient> = clients
            .iter()
            .map(|&(vcpus, home)| NumaClient { vcpus, home })
            .collect();
        let vcpus = clients.iter().map(|client| client.vcpus).sum();
        scheduler.add_group(GroupSpec {
            shares,
            reservation_cores: 0.0,
            clients,
        });
        for first_cpu in 0..vcpus {
            scheduler.add_world(WorldSpec {
                group,
                domain: Domain::Any,
                first_cpu,
                helper: false,
            });
        }
    }

    #[test]
    fn the_vcpus_of_a_client_run_on_its_home_node() {
        let (mut scheduler, _) = scheduler(2, 4);
        add_vm(&mut scheduler, &[(3, 1), (2, 0)], 5000.0);
        let homes: Vec<_> = (0..5).map(|world| scheduler.home(world)).collect();
        assert_eq!(homes, [1, 1, 1, 0, 0].map(Some));
        assert!((0..3).all(|world| *scheduler.domain(world) == Domain::Node(1)));
    }

    #[test]
    fn vcpus_run_anywhere_while_their_home_is_short_of_cores() {
        let (mut scheduler, cpus) = scheduler(2, 2);
        add_vm(&mut scheduler, &[(2, 0), (2, 0)], 4000.0);
        for world in 0..4 {
            scheduler.place(world, true, 0, &cpus);
        }
        let period = 2000 * MS;
        let mut moved = Vec::new();
        scheduler.balance(period, &[period; 4], &cpus, &mut moved);
        assert_eq!(
            moved,
            [0, 1, 2, 3],
            "siblings stay together, and both nodes' cores are used"
        );
        assert!((0..4).all(|world| *scheduler.domain(world) == Domain::Roaming(0)));
        assert!((0..4).all(|world| scheduler.home(world) == Some(0)));
        moved.clear();
        scheduler.balance(2 * period, &[period / 4; 4], &cpus, &mut moved);
        assert_eq!(moved, [0, 1, 2, 3], "and return when the node suffices");
        assert!((0..4).all(|world| *scheduler.domain(world) == Domain::Node(0)));
    }

    #[test]
    fn the_world_with_the_least_use_per_share_runs_first() {
        let (mut scheduler, mut cpus) = scheduler(1, 1);
        for shares in [1000.0, 1000.0, 2000.0] {
            add_vm(&mut scheduler, &[(1, 0)], shares);
        }
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        assert_eq!(scheduler.place(1, true, 0, &cpus), Placement::Queue);
        assert_eq!(scheduler.place(2, true, 0, &cpus), Placement::Queue);
        scheduler.charge(0, 0, 50 * MS, 50 * MS, 50e6);
        assert_eq!(scheduler.slice_end(0, 0, 50 * MS, &cpus), SliceEnd::Yield);
        scheduler.put_back(0, 0);
        let order: Vec<_> = (1..5)
            .map(|turn| {
                let next = scheduler.next(0, 50 * turn * MS, &cpus).expect("worlds wait");
                scheduler.charge(next, 0, 50 * (turn + 1) * MS, 50 * MS, 50e6);
                scheduler.put_back(next, 0);
                next
            })
            .collect();
        assert_eq!(order, [1, 2, 2, 0], "twice the shares, twice the turns");
    }

    /// The shares of a VM of two vCPUs are one's alone for half of its run.
    #[test]
    fn who_wakes_meanwhile_shares_from_then_on() {
        let (mut scheduler, mut cpus) = scheduler(1, 2);
        add_vm(&mut scheduler, &[(2, 0)], 2000.0);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        let taken = |scheduler: &EsxiScheduler, now_ns| {
            let mine = &scheduler.worlds[1];
            scheduler.taken_from(mine, false, 0, now_ns, &cpus)
        };
        assert_eq!(taken(&scheduler, 40 * MS), Some(20 * MS));
        assert_eq!(scheduler.place(1, true, 40 * MS, &cpus), Placement::Run(1));
        for now_ms in [40, 60, 80] {
            assert_eq!(taken(&scheduler, now_ms * MS), Some((now_ms - 20) * MS), "{now_ms} ms");
        }
        scheduler.charge(0, 0, 80 * MS, 80 * MS, 80e6);
        assert_eq!(scheduler.worlds[0].virtual_ns, 60 * MS);
    }

    #[test]
    fn a_client_moves_to_the_idle_node_once_the_imbalance_is_worth_it() {
        let (mut scheduler, cpus) = scheduler(2, 2);
        for home in [0, 1, 0] {
            add_vm(&mut scheduler, &[(2, home)], 2000.0);
        }
        // VMs 0 and 2 are at home on node 0, VM 1 on node 1, and VM 1 is idle.
        assert_eq!(
            (scheduler.domain(0), scheduler.domain(4)),
            (&Domain::Node(0), &Domain::Node(0))
        );
        for world in [0, 1, 4, 5] {
            scheduler.place(world, true, 0, &cpus);
        }
        let period = 2000 * MS;
        let mut moved = Vec::new();
        scheduler.balance(period, &[period, period, 0, 0, period, period], &cpus, &mut moved);
        assert_eq!(moved, [0, 1]);
        assert_eq!(scheduler.domain(0), &Domain::Node(1));
        moved.clear();
        scheduler.balance(2 * period, &[period; 6].map(|busy| busy / 50), &cpus, &mut moved);
        assert!(moved.is_empty(), "a small imbalance moves no world");
    }
}
