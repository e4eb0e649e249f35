//! What the kernel knows of CPUs for balancing: scheduling domains, when each CPU balances, and what CPUs have carried
//! lately.
//!
//! **Source.** Linux `kernel/sched/topology.c` (`sd_init`) and `kernel/sched/fair.c` (`update_sg_lb_stats`,
//! `group_classify`).

use crate::topology::Topology;
use std::ops::Range;

/// `sysctl_sched_migration_cost`.
pub(super) const MIGRATION_COST_NS: u64 = 500_000;
/// Least interval of balancing for each CPU of a domain (`sd_init`).
const INTERVAL_NS: u64 = 1_000_000;
/// By how much longer it is while the CPU is busy (`busy_factor`).
pub(super) const BUSY_FACTOR: u64 = 16;
/// Utilization of a whole domain that counts as overload, and the least excess of load that is moved: 1 / 1.17
/// (`imbalance_pct`), within a core 1 / 1.10.
const IMBALANCE: f64 = 1.17;
const IMBALANCE_OF_A_CORE: f64 = 1.10;
/// Attempts in vain after which cache-hot tasks are moved, too (`cache_nice_tries`).
pub(super) const CACHE_NICE_TRIES: u32 = 1;

/// A scheduling domain: each block of this many CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// CPUs of a domain.
    pub(super) cpus: usize,
    /// CPUs of one of its groups: of a domain of the level below.
    pub(super) group: usize,
    /// Least interval of balancing.
    pub(super) least_ns: u64,
    pub(super) imbalance: f64,
    /// It is the threads of a core, whose caches are the same.
    pub(super) is_core: bool,
}

impl Level {
    pub(super) fn domain(&self, cpu: usize) -> Range<usize> {
        let first = cpu / self.cpus * self.cpus;
        first..first + self.cpus
    }

    pub(super) fn group(&self, cpu: usize) -> Range<usize> {
        let first = cpu / self.group * self.group;
        first..first + self.group
    }
}

/// What a CPU knows of its balancing at one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Balancing {
    pub(super) next_ns: u64,
    /// Interval while idle; twice the least after nothing was to be moved.
    pub(super) interval_ns: u64,
    /// Attempts in vain since the last success.
    pub(super) failed: u32,
}

/// What CPUs have carried lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    pub(super) tasks: usize,
    pub(super) cpus: usize,
    pub(super) load: f64,
    pub(super) runnable: f64,
    pub(super) running: f64,
    /// Utilization that is expected of the tasks that are queued.
    pub(super) expected: f64,
}

impl Carried {
    pub(super) fn of(cpus: &[Self]) -> Self {
        cpus.iter().fold(Self::default(), |sum, cpu| Self {
            tasks: sum.tasks + cpu.tasks,
            cpus: sum.cpus + 1,
            load: sum.load + cpu.load,
            runnable: sum.runnable + cpu.runnable,
            running: sum.running + cpu.utilization(),
            expected: 0.0,
        })
    }

    /// `cpu_util`.
    pub(super) fn utilization(&self) -> f64 {
        self.running.max(self.expected).min(1.0)
    }

    pub(super) fn mean_load(&self) -> f64 {
        self.load / self.cpus as f64
    }

    /// `group_is_overloaded`.
    pub(super) fn is_overloaded(&self, imbalance: f64) -> bool {
        let cpus = self.cpus as f64;
        self.tasks > self.cpus && (self.running * imbalance > cpus || self.runnable > cpus * imbalance)
    }

    /// `group_has_capacity`.
    pub(super) fn has_room(&self, imbalance: f64) -> bool {
        let cpus = self.cpus as f64;
        self.tasks < self.cpus || self.running * imbalance < cpus && self.runnable <= cpus * imbalance
    }
}

/// State of balancing.
pub(super) struct Balancer {
    pub(super) levels: Vec<Level>,
    /// The level of the last-level cache.
    pub(super) cache: Level,
    /// Of each CPU at each level.
    pub(super) state: Vec<Balancing>,
    /// CPUs that a wake-up in each last-level cache looks at.
    pub(super) scan: Vec<usize>,
    pub(super) carried: Vec<Carried>,
}

impl Balancer {
    pub(super) fn new(topology: Topology, tick_ns: u64, interval_ns: Option<u64>) -> Self {
        let (cache_cpus, node_cpus) = (topology.l3_cpus(0).len(), topology.node_cpus(0).len());
        let level = |group: usize, cpus: usize, is_core: bool| Level {
            cpus,
            group,
            least_ns: interval_ns.unwrap_or(INTERVAL_NS * cpus as u64),
            imbalance: if is_core { IMBALANCE_OF_A_CORE } else { IMBALANCE },
            is_core,
        };
        let threads = topology.threads_per_core;
        let cache = level(threads, cache_cpus, cache_cpus == threads);
        let all = [
            level(1, threads, true),
            cache,
            level(cache_cpus, node_cpus, false),
            level(node_cpus, topology.cpus(), false),
        ];
        let levels: Vec<Level> = all.into_iter().filter(|level| level.cpus > level.group).collect();
        let state = (0..topology.cpus()).flat_map(|cpu| {
            levels.iter().map(move |level| Balancing {
                next_ns: tick_ns * cpu as u64,
                interval_ns: level.least_ns,
                failed: 0,
            })
        });
        Self {
            state: state.collect(),
            cache,
            levels,
            scan: vec![cache_cpus; topology.cpus() / cache_cpus],
            carried: vec![Carried::default(); topology.cpus()],
        }
    }
}
