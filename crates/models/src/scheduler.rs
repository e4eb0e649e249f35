//! The interface of a hypervisor's CPU scheduler. A scheduler is a policy: it decides which world runs where and for
//! how long; the engine owns time, state and accounting and carries the decisions out. One file implements it for each
//! family: `crates/models/src/hypervisor/*/scheduler.rs`.
//!
//! **A scheduler is a policy.** `CpuScheduler` decides where a world runs and for how long. The engine owns time, state
//! and accounting and carries out the decisions. The accounting identities and the laws of the swarm test therefore
//! hold for any policy.

use crate::topology::{Domain, Occupancy, WorldId};

/// A group of worlds that shares an entitlement: the vCPUs of a VM, or its helper worlds.
#[derive(Clone, Debug)]
pub struct GroupSpec {
    /// Shares of the whole group.
    pub shares: f64,
    /// Reserved CPU of the whole group, in cores at nominal clock.
    pub reservation_cores: f64,
    /// NUMA clients of the VM, in order of their vCPUs; empty where the scheduler knows no home nodes, and for helper
    /// worlds.
    pub clients: Vec<NumaClient>,
}

/// A part of a VM that has a home node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaClient {
    /// Its vCPUs.
    pub vcpus: usize,
    /// Its home node at power-on.
    pub home: usize,
}

/// A world as it is added to a scheduler.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// Index of the world's group, in the order in which groups were added.
    pub group: usize,
    /// Where it may run.
    pub domain: Domain,
    /// The logical CPU that counts as its last one before it has run.
    pub first_cpu: usize,
    /// A helper world of the hypervisor itself, which does not wait for a quantum to end.
    pub helper: bool,
}

/// What happens to a world that became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It runs at once on this idle logical CPU.
    Run(usize),
    /// It runs at once on this logical CPU and displaces what runs there; and, under core scheduling, what runs on the
    /// sibling and may not share the core with it.
    Preempt(usize),
    /// It waits in a ready queue.
    Queue,
    /// It waits in the ready queue of this logical CPU, and the slice of what runs there ends now.
    QueueAndReview(usize),
}

/// What happens to a world whose time slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// It goes on for another slice.
    Continue,
    /// It goes on, and the whole-core claim that it held ends.
    ReleaseCore,
    /// It gives way to a waiting world.
    Yield,
    /// It goes on, and its hyper-threading sibling is stopped to give it the whole core.
    ClaimCore,
    /// Under core scheduling: it gives way together with what runs on its sibling to a waiting world that may share the
    /// core with neither. This logical CPU is filled first.
    YieldCore(usize),
}

/// Thresholds of relaxed co-scheduling, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoschedulingThresholds {
    /// Lead over the slowest sibling above which a vCPU is co-stopped.
    pub costop_ns: u64,
    /// Lead under which a co-stopped vCPU may start again.
    pub costart_ns: u64,
    /// Interval of the check.
    pub poll_ns: u64,
}

/// How the CPU limit of a VM is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitEnforcement {
    /// At an even pace, of run time rescaled for hyper-threading and clock. A VM that has had less than it may, because
    /// it waited for CPUs, may have it later: so much time's worth at most.
    Paced {
        /// In nanoseconds.
        owed_ns: f64,
    },
    /// As a quota of run time in each period.
    Quota,
}

/// Periods of load balancing, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancePeriods {
    /// Between hardware threads and whole cores of a node.
    pub threads_ns: u64,
    /// Between the host's NUMA nodes or run queues.
    pub host_ns: u64,
    /// Balancing the host is of use only while some world waits in a queue.
    pub only_while_queued: bool,
}

/// A CPU-scheduling policy for one host.
///
/// The engine calls `charge` before any decision about a world that ran, so that the policy sees up-to-date accounts.
pub trait CpuScheduler: Send {
    /// Adds a group; its index is the number of groups before it.
    fn add_group(&mut self, spec: GroupSpec);
    /// Adds a world; its id is the number of worlds before it.
    fn add_world(&mut self, spec: WorldSpec);
    /// Takes `world` out for good, in whatever state it is: ready, withdrawn, asleep, or running. If it runs, the
    /// engine has charged it and frees its logical CPU. It leaves its ready queue; the other awake worlds of its group
    /// share the group's entitlement among them; its NUMA client has one vCPU less, and one without vCPUs neither moves
    /// nor attracts others. Ids stay what they are: its own is not given again, and must not be used, and an empty
    /// group keeps its index.
    fn remove_world(&mut self, world: WorldId);
    /// Where `world` may run at present.
    fn domain(&self, world: WorldId) -> &Domain;
    /// The home node of `world`, where it has one.
    fn home(&self, world: WorldId) -> Option<usize>;

    /// The logical CPU whose running world must be charged before `place` is asked about `world`, where its accounts
    /// matter to the answer.
    fn consults(&self, _world: WorldId) -> Option<usize> {
        None
    }
    /// `world` became ready from waiting (`woken`), or is ready again after it was withdrawn.
    fn place(&mut self, world: WorldId, woken: bool, now_ns: u64, cpus: &Occupancy) -> Placement;
    /// The next world for the free logical CPU `cpu`, taken out of the ready queue: one that may share the core with
    /// what runs on the sibling ([`Occupancy::rival`]).
    fn next(&mut self, cpu: usize, now_ns: u64, cpus: &Occupancy) -> Option<WorldId>;
    /// The world that runs on `cpu` gives way: it goes back to the ready queue.
    fn put_back(&mut self, world: WorldId, cpu: usize);
    /// A ready or running world is held back (displaced, co-stopped, limited, moved): it may not run until it is
    /// placed.
    fn withdraw(&mut self, world: WorldId);
    /// The running `world` goes on on the idle logical CPU `to_cpu`.
    fn migrate(&mut self, world: WorldId, to_cpu: usize);
    /// The running `world` has nothing to do any more.
    fn sleep(&mut self, world: WorldId, now_ns: u64);
    /// `world` ran on `cpu` for `run_ns` until now, and is charged `used_ns` for it (hyper-threading and clock
    /// considered).
    fn charge(&mut self, world: WorldId, cpu: usize, now_ns: u64, run_ns: u64, used_ns: f64);
    /// Length of the slice that `world` gets when it starts or goes on at `now_ns`, in nanoseconds.
    fn slice_ns(&self, world: WorldId, now_ns: u64) -> u64;
    /// The slice of `world` on `cpu` ended.
    fn slice_end(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) -> SliceEnd;

    /// Relaxed co-scheduling of a VM's vCPUs, if this scheduler does it.
    fn coscheduling(&self) -> Option<CoschedulingThresholds>;
    /// Periods of load balancing.
    fn periods(&self) -> BalancePeriods;
    /// Balances the whole host once a period. `busy_ns` is the time that each world ran or was ready in the period
    /// before. Fills `moved` with the worlds whose place has changed and that must be placed again.
    fn balance(&mut self, now_ns: u64, busy_ns: &[u64], cpus: &Occupancy, moved: &mut Vec<WorldId>);
    /// How the CPU limit of a VM is kept.
    fn limits(&self) -> LimitEnforcement;
    /// `world` was held back by its VM's CPU limit until now, and is placed next. That was no wait: nothing is owed for
    /// it.
    fn end_limit(&mut self, _world: WorldId) {}
}
