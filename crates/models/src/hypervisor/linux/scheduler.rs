//! The fair scheduler of Linux since 6.6: EEVDF, one run queue for each logical CPU, for hosts that run KVM.
//!
//! **Mechanism.** Each task has a weight and a virtual run time; a task is eligible while its virtual run time is at
//! most the weighted mean of its queue (it is owed service). Among the eligible, the one with the earliest virtual
//! deadline (virtual run time at the start of its slice plus slice over weight) runs, and runs to the end of its slice.
//! The kernel notices the end at a tick, or when a task wakes on that CPU. A task that wakes and would be the choice
//! takes the CPU of one that has had more than its share so far, before the end of the slice.
//! A task that is owed service keeps its lag when it sleeps; one that is ahead stays in its queue's time until the
//! queue has caught up with it. A VM's weight is divided among its threads by how much they were runnable lately, as a
//! CPU cgroup divides it over CPUs. Where a task that wakes goes, and how queues are evened out: `balance.rs`.
//!
//! **Sources.** Stoica and Abdel-Wahab, "Earliest Eligible Virtual Deadline First" (1995); Linux `kernel/sched/fair.c`
//! 6.12 and later (`pick_eevdf`, `update_deadline`, `check_preempt_wakeup_fair`, `place_entity`, `update_entity_lag`,
//! `calc_group_shares`, the features RUN_TO_PARITY, PLACE_LAG, PLACE_REL_DEADLINE, DELAY_DEQUEUE and DELAY_ZERO); base
//! slice 0.70 ms x (1 + ilog2(min(CPUs, 8))).
//!
//! **Assumptions.** Group scheduling is flattened to per-thread weights; a task is weighed anew when it joins a queue,
//! when it starts to run, and at the ticks that end its slices. All tasks have the same slice. Ticks of all CPUs come
//! at the same time.
//!
//! Under core scheduling ([`crate::core_scheduling`]) a task that waits for a core that others hold is considered when
//! a slice ends there: it takes the core if it is owed more than both.
//!
//! **Valid** for fair-class tasks on 6.6 and later; no real-time class.
//!
//! **Flattened group weights on Linux.** A VM's cgroup weight is divided among its threads, instead of a tree of queues
//! per CPU. The weight of a thread depends on the recent activity of the other threads. It is recalculated when a
//! thread is queued or picked, and at a tick. This division gives the same long-run shares for a fraction of the cost.
//! [linux-scheduler](models/linux-scheduler.md) lists the differences.

use super::domains::{Balancer, MIGRATION_COST_NS};
use super::load_average::LoadAverage;
use crate::cpu_set::CpuSet;
use crate::scheduler::{
    BalancePeriods, CoschedulingThresholds, CpuScheduler, GroupSpec, LimitEnforcement, Placement, SliceEnd, WorldSpec,
};
use crate::topology::{Domain, Occupancy, Topology, WorldId};
use hypertwin_cluster::HostGroup;

/// Tick of a 250 Hz kernel (`CONFIG_HZ`, the default of the kernel and of Debian).
const TICK_NS: u64 = 4_000_000;
/// Weight of a task of nice 0, here the weight that a VM with normal shares gives each vCPU.
const UNIT_SHARES: f64 = 1000.0;

/// Base slice of a host with `cpus` logical CPUs.
fn default_slice_ns(cpus: usize) -> u64 {
    700_000 * u64::from(1 + cpus.min(8).ilog2())
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    group: usize,
    pub(super) domain: Domain,
    /// Where it began.
    first_cpu: usize,
    pub(super) cpu: usize,
    queued: bool,
    /// Weight in its queue.
    pub(super) weight: f64,
    virtual_ns: f64,
    deadline_ns: f64,
    /// Service owed when it left its queue, in virtual nanoseconds.
    lag_ns: f64,
    /// Set when it goes to sleep ahead of its queue: how often the queue has been empty so far. It stays ahead until
    /// the queue's clock passes its virtual run time, or the queue is empty again.
    ahead_since: Option<u64>,
    /// Until when it ran; 0 since it was moved to another CPU's cache.
    pub(super) ran_until_ns: u64,
    /// How much of the time it was awake lately.
    pub(super) runnable: LoadAverage,
    /// How much of the time it ran lately.
    pub(super) running: LoadAverage,
    /// Its utilization as the kernel expects it of the next wake-up (`util_est`).
    pub(super) expected: f64,
}

impl Task {
    /// It goes to sleep: what is expected of it next time rises at once, and falls by a quarter of the difference
    /// (`util_est_update`) unless it had to wait for what it got.
    fn expect(&mut self, now_ns: u64) {
        const MARGIN: f64 = 0.01;
        let now = self.running.at(now_ns);
        if now >= self.expected {
            self.expected = now;
        } else if self.expected - now >= MARGIN && now + MARGIN >= self.runnable.at(now_ns) {
            self.expected -= (self.expected - now) / 4.0;
        }
    }
}

/// The threads of a VM: a CPU cgroup.
#[derive(Clone, Debug)]
struct Group {
    shares: f64,
    /// How many of its threads were awake lately.
    runnable: LoadAverage,
}

/// One CPU's queue: the tasks that wait, and the one that runs. The sums include both.
#[derive(Clone, Debug)]
pub(super) struct RunQueue {
    pub(super) waiting: Vec<WorldId>,
    pub(super) running: Option<WorldId>,
    pub(super) weight: f64,
    weighted_virtual: f64,
    idle_clock_ns: f64,
    /// Times that it became empty.
    emptied: u64,
    /// Since when its CPU idles.
    pub(super) idle_since_ns: Option<u64>,
    /// How long its CPU idles from becoming idle to a wake-up, on average.
    pub(super) mean_idle_ns: u64,
}

impl RunQueue {
    fn new() -> Self {
        Self {
            waiting: Vec::new(),
            running: None,
            weight: 0.0,
            weighted_virtual: 0.0,
            idle_clock_ns: 0.0,
            emptied: 0,
            idle_since_ns: None,
            mean_idle_ns: 2 * MIGRATION_COST_NS,
        }
    }

    fn clock_ns(&self) -> f64 {
        if self.weight > 0.0 {
            self.weighted_virtual / self.weight
        } else {
            self.idle_clock_ns
        }
    }

    /// Up to which virtual run time a task is eligible: one nanosecond of tolerance for rounding in the mean.
    fn latest_eligible_ns(&self) -> f64 {
        self.clock_ns() + 1.0
    }

    /// A task woke on its CPU, which has idled until `now_ns`: `update_avg`, and at most twice the cost of a migration.
    fn end_idling(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.idle_since_ns.take() {
            let longer_ns = (now_ns - since_ns) as i64 - self.mean_idle_ns as i64;
            self.mean_idle_ns = self
                .mean_idle_ns
                .saturating_add_signed(longer_ns / 8)
                .min(2 * MIGRATION_COST_NS);
        }
    }
}

/// See the module's description.
pub struct LinuxScheduler {
    pub(super) topology: Topology,
    slice_ns: u64,
    pub(super) tick_ns: u64,
    groups: Vec<Group>,
    pub(super) tasks: Vec<Task>,
    pub(super) queues: Vec<RunQueue>,
    /// CPUs on whose queues tasks wait.
    pub(super) crowded: CpuSet,
    pub(super) balancer: Balancer,
    /// Tasks that began on each CPU and are there still, somewhere.
    begun: Vec<u32>,
    /// By core, under core scheduling: the virtual times of its two queues when one of its threads became forced idle
    /// while tasks waited there (`se_fi_update`).
    forced_idle: Vec<Option<[f64; 2]>>,
}

impl LinuxScheduler {
    /// A scheduler for `host`, with no task.
    pub fn new(host: &HostGroup) -> Self {
        let topology = Topology::of(host);
        let options = &host.scheduler;
        let slice_ns = options
            .base_slice
            .map_or_else(|| default_slice_ns(topology.cpus()), |slice| slice.nanos());
        let tick_ns = options.tick.map_or(TICK_NS, |tick| tick.nanos());
        let interval_ns = options.balance_interval.map(|interval| interval.nanos());
        Self::with(topology, slice_ns, tick_ns, interval_ns)
    }

    fn with(topology: Topology, slice_ns: u64, tick_ns: u64, interval_ns: Option<u64>) -> Self {
        Self {
            topology,
            slice_ns,
            tick_ns,
            groups: Vec::new(),
            tasks: Vec::new(),
            queues: vec![RunQueue::new(); topology.cpus()],
            crowded: CpuSet::new(topology.cpus()),
            forced_idle: vec![None; topology.cores()],
            begun: vec![0; topology.cpus()],
            balancer: Balancer::new(topology, tick_ns, interval_ns),
        }
    }

    /// The weight of an awake task at `now_ns`: its part of its group's, by the recent activity of the others
    /// (`calc_group_shares`: the current load of its own CPU, the average load of the others).
    fn weight(&self, world: WorldId, now_ns: u64) -> f64 {
        let task = &self.tasks[world as usize];
        let group = &self.groups[task.group];
        let others = group.runnable.at(now_ns) - task.runnable.at(now_ns);
        group.shares / UNIT_SHARES / (1.0 + others.max(0.0))
    }

    /// Whether a task waits or runs.
    fn is_on_queue(&self, world: WorldId) -> bool {
        let task = &self.tasks[world as usize];
        task.queued || self.queues[task.cpu].running == Some(world)
    }

    /// Puts a task on the queue of `cpu`, as far from the queue's mean as its lag says.
    fn join(&mut self, world: WorldId, cpu: usize, now_ns: u64) {
        let weight = self.weight(world, now_ns);
        let task = &mut self.tasks[world as usize];
        let queue = &mut self.queues[cpu];
        task.weight = weight;
        let clock = queue.clock_ns();
        let still_ahead = task
            .ahead_since
            .take()
            .filter(|&emptied| task.cpu == cpu && emptied == queue.emptied && task.virtual_ns > clock);
        if still_ahead.is_none() {
            // The newcomer shifts the mean towards itself: its lag is enlarged first, so that afterwards it is as
            // intended.
            let lag = if queue.weight > 0.0 {
                task.lag_ns * (queue.weight + weight) / queue.weight
            } else {
                0.0
            };
            task.virtual_ns = clock - lag;
        }
        task.deadline_ns = task.virtual_ns + self.slice_ns as f64 / weight;
        task.cpu = cpu;
        queue.weight += weight;
        queue.weighted_virtual += weight * task.virtual_ns;
    }

    fn leave(&mut self, world: WorldId) {
        let task = &mut self.tasks[world as usize];
        let queue = &mut self.queues[task.cpu];
        // update_entity_lag: at most two slices or a tick
        let limit = (2 * self.slice_ns).max(self.tick_ns) as f64 / task.weight;
        task.lag_ns = (queue.clock_ns() - task.virtual_ns).clamp(-limit, limit);
        queue.idle_clock_ns = queue.clock_ns();
        queue.weight -= task.weight;
        queue.weighted_virtual -= task.weight * task.virtual_ns;
        if queue.waiting.is_empty() && queue.running.is_none() {
            queue.weight = 0.0;
            queue.weighted_virtual = 0.0;
            queue.emptied += 1;
        }
    }

    /// Gives a task on a queue its present part of its group's weight (`reweight_entity`): the service that it is owed
    /// and what is left of its slice stay the same, and so does the queue's mean.
    fn reweigh(&mut self, world: WorldId, now_ns: u64) {
        let weight = self.weight(world, now_ns);
        let task = &mut self.tasks[world as usize];
        let queue = &mut self.queues[task.cpu];
        let ratio = task.weight / weight;
        let clock = queue.clock_ns();
        let left = task.deadline_ns - task.virtual_ns;
        queue.weight += weight - task.weight;
        queue.weighted_virtual -= task.weight * task.virtual_ns;
        task.weight = weight;
        task.virtual_ns = clock + (task.virtual_ns - clock) * ratio;
        task.deadline_ns = task.virtual_ns + left * ratio;
        queue.weighted_virtual += weight * task.virtual_ns;
    }

    pub(super) fn start_waiting(&mut self, world: WorldId) {
        let task = &mut self.tasks[world as usize];
        task.queued = true;
        let cpu = task.cpu;
        self.queues[cpu].waiting.push(world);
        self.crowded.insert(cpu);
    }

    pub(super) fn stop_waiting(&mut self, world: WorldId) {
        let task = &mut self.tasks[world as usize];
        task.queued = false;
        let cpu = task.cpu;
        let waiting = &mut self.queues[cpu].waiting;
        waiting.retain(|&other| other != world);
        if waiting.is_empty() {
            self.crowded.remove(cpu);
        }
    }

    fn eligible(&self, world: WorldId) -> bool {
        let task = &self.tasks[world as usize];
        task.virtual_ns <= self.queues[task.cpu].latest_eligible_ns()
    }

    /// Moves a waiting task to another queue, as far from its deadline as it was.
    pub(super) fn transfer(&mut self, world: WorldId, cpu: usize, now_ns: u64) {
        let task = &self.tasks[world as usize];
        let left = task.deadline_ns - task.virtual_ns;
        self.leave(world);
        self.join(world, cpu, now_ns);
        let task = &mut self.tasks[world as usize];
        task.deadline_ns = task.virtual_ns + left;
        task.ran_until_ns = 0;
    }

    /// EEVDF's choice among the waiting tasks of a CPU that `cpu` may run. `beside`: only among those that may share
    /// the core with what runs on the sibling of `cpu` now.
    fn pick(&self, queue: usize, cpu: usize, beside: Option<&Occupancy>) -> Option<WorldId> {
        let latest = self.queues[queue].latest_eligible_ns();
        let key = |world: WorldId| {
            let task = &self.tasks[world as usize];
            (task.virtual_ns > latest, task.deadline_ns, world)
        };
        let allowed = |world: &WorldId| {
            self.tasks[*world as usize].domain.allows(&self.topology, cpu)
                && beside.is_none_or(|cpus| cpus.rival(*world, cpu).is_none())
        };
        self.queues[queue]
            .waiting
            .iter()
            .copied()
            .filter(allowed)
            .min_by(|&a, &b| {
                let (a, b) = (key(a), key(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            })
    }

    fn run(&mut self, world: WorldId, cpu: usize, now_ns: u64) {
        self.queues[cpu].running = Some(world);
        let slice = self.slice_ns as f64;
        let task = &mut self.tasks[world as usize];
        task.ran_until_ns = now_ns;
        task.running.change(now_ns, 1.0);
        if task.virtual_ns >= task.deadline_ns {
            task.deadline_ns = task.virtual_ns + slice / task.weight;
        }
    }

    /// The task that runs on `cpu` does so no more.
    fn stop(&mut self, cpu: usize) {
        if let Some(world) = self.queues[cpu].running.take() {
            let task = &mut self.tasks[world as usize];
            task.running.change(task.ran_until_ns, -1.0);
        }
    }
}

impl LinuxScheduler {
    /// Whether a waiting task goes before the one that runs on its CPU.
    fn precedes(&self, waiting: WorldId, running: WorldId) -> bool {
        let deadline = |world: WorldId| self.tasks[world as usize].deadline_ns;
        self.eligible(waiting) && (!self.eligible(running) || deadline(waiting) < deadline(running))
    }

    /// The logical CPU of this core whose waiting task takes the core from `world` on `cpu` and from what runs on the
    /// sibling, as it may share it with neither: `pick_next_task` chooses for the core as a whole.
    fn turn_of_core(&mut self, world: WorldId, cpu: usize, cpus: &Occupancy) -> Option<usize> {
        let sibling = self.topology.sibling(cpu)?;
        let Some(other) = cpus.running(sibling) else {
            // The sibling is forced idle: its queue and this one take turns by how far each has come since.
            let waiting = self.pick(sibling, sibling, None)?;
            let (mine, theirs) = (self.virtual_ns(world), self.virtual_ns(waiting));
            let core = self.topology.core_of(cpu);
            let levels = self.forced_idle[core].get_or_insert_with(|| {
                let ran_ns = self.slice_ns as f64 / self.tasks[world as usize].weight;
                let mut levels = [mine - ran_ns; 2];
                levels[usize::from(sibling > cpu)] = theirs;
                levels
            });
            let come = |virtual_ns: f64, thread: usize| virtual_ns - levels[thread % 2];
            return (come(theirs, sibling) < come(mine, cpu)).then_some(sibling);
        };
        let waiting = self.pick(cpu, cpu, None)?;
        let lag = |task: WorldId, cpu: usize| self.queues[cpu].clock_ns() - self.virtual_ns(task);
        let is_first = cpus.rival(waiting, cpu).is_some()
            && self.precedes(waiting, world)
            && lag(waiting, cpu) > lag(other, sibling);
        is_first.then_some(cpu)
    }

    fn virtual_ns(&self, world: WorldId) -> f64 {
        self.tasks[world as usize].virtual_ns
    }
}

impl CpuScheduler for LinuxScheduler {
    fn add_group(&mut self, spec: GroupSpec) {
        self.groups.push(Group {
            shares: spec.shares,
            runnable: LoadAverage::default(),
        });
    }

    fn add_world(&mut self, spec: WorldSpec) {
        let cpu = match &spec.domain {
            // a new thread begins where fewest are (`sched_balance_find_dst_cpu`)
            Domain::Mask(mask) => {
                let cpus = self.topology.cpus();
                let after = |cpu: usize| (cpu + cpus - spec.first_cpu % cpus) % cpus;
                let found = mask.iter().min_by_key(|&cpu| (self.begun[cpu], after(cpu)));
                found.unwrap_or(spec.first_cpu)
            }
            _ => spec.first_cpu % self.topology.cpus(),
        };
        self.begun[cpu] += 1;
        // a new task counts as one that was always awake (`init_entity_runnable_average`)
        let runnable = LoadAverage::full();
        self.groups[spec.group].runnable.put_in(&runnable);
        self.tasks.push(Task {
            group: spec.group,
            domain: spec.domain,
            first_cpu: cpu,
            cpu,
            queued: false,
            weight: 1.0,
            virtual_ns: 0.0,
            deadline_ns: 0.0,
            lag_ns: 0.0,
            ahead_since: None,
            ran_until_ns: 0,
            runnable,
            running: LoadAverage::default(),
            expected: 0.0,
        });
    }

    fn remove_world(&mut self, world: WorldId) {
        if self.is_on_queue(world) {
            self.withdraw(world);
        }
        let task = &mut self.tasks[world as usize];
        self.begun[task.first_cpu] -= 1;
        let index = task.group;
        let group = &mut self.groups[index];
        group.runnable.take_out(&std::mem::take(&mut task.runnable));
        let now_ns = group.runnable.changed_ns();
        for other in 0..self.tasks.len() as WorldId {
            if self.tasks[other as usize].group == index && self.is_on_queue(other) {
                self.reweigh(other, now_ns);
            }
        }
    }

    fn domain(&self, world: WorldId) -> &Domain {
        &self.tasks[world as usize].domain
    }

    fn home(&self, _world: WorldId) -> Option<usize> {
        None
    }

    fn consults(&self, world: WorldId) -> Option<usize> {
        Some(self.tasks[world as usize].cpu)
    }

    fn place(&mut self, world: WorldId, woken: bool, now_ns: u64, cpus: &Occupancy) -> Placement {
        if woken {
            let task = &mut self.tasks[world as usize];
            task.runnable.change(now_ns, 1.0);
            self.groups[task.group].runnable.change(now_ns, 1.0);
        }
        if let Some(cpu) = self.find_idle(world, woken, cpus) {
            self.queues[cpu].end_idling(now_ns);
            self.join(world, cpu, now_ns);
            self.run(world, cpu, now_ns);
            self.forced_idle[self.topology.core_of(cpu)] = None;
            return Placement::Run(cpu);
        }
        let cpu = self.tasks[world as usize].cpu;
        self.join(world, cpu, now_ns);
        self.start_waiting(world);
        let Some(running) = self.queues[cpu].running else {
            return Placement::Queue;
        };
        let task = &self.tasks[running as usize];
        let over = task.virtual_ns >= task.deadline_ns;
        if over || !self.eligible(running) && self.pick(cpu, cpu, None) == Some(world) {
            return Placement::QueueAndReview(cpu);
        }
        Placement::Queue
    }

    fn next(&mut self, cpu: usize, now_ns: u64, cpus: &Occupancy) -> Option<WorldId> {
        let own = self.pick(cpu, cpu, Some(cpus));
        let world = own.or_else(|| self.pull_newly_idle(cpu, now_ns, cpus))?;
        self.stop_waiting(world);
        if own.is_some() {
            self.reweigh(world, now_ns);
        } else {
            self.transfer(world, cpu, now_ns);
        }
        self.run(world, cpu, now_ns);
        if cpus.has_core_scheduling() && cpus.sibling_busy(cpu) {
            self.forced_idle[self.topology.core_of(cpu)] = None;
        }
        Some(world)
    }

    fn put_back(&mut self, world: WorldId, cpu: usize) {
        self.stop(cpu);
        self.start_waiting(world);
    }

    fn withdraw(&mut self, world: WorldId) {
        let cpu = self.tasks[world as usize].cpu;
        if self.queues[cpu].running == Some(world) {
            self.stop(cpu);
        } else {
            self.stop_waiting(world);
        }
        self.leave(world);
    }

    fn migrate(&mut self, world: WorldId, to_cpu: usize) {
        let now_ns = self.tasks[world as usize].ran_until_ns;
        self.withdraw(world);
        self.join(world, to_cpu, now_ns);
        self.run(world, to_cpu, now_ns);
    }

    fn sleep(&mut self, world: WorldId, now_ns: u64) {
        self.withdraw(world);
        let task = &mut self.tasks[world as usize];
        if task.lag_ns < 0.0 {
            task.ahead_since = Some(self.queues[task.cpu].emptied);
            // DELAY_ZERO: on another queue it begins even
            task.lag_ns = 0.0;
        }
        task.expect(now_ns);
        task.runnable.change(now_ns, -1.0);
        self.groups[task.group].runnable.change(now_ns, -1.0);
    }

    fn charge(&mut self, world: WorldId, cpu: usize, _now_ns: u64, run_ns: u64, _used_ns: f64) {
        let task = &mut self.tasks[world as usize];
        task.virtual_ns += run_ns as f64 / task.weight;
        task.ran_until_ns += run_ns;
        self.queues[cpu].weighted_virtual += run_ns as f64;
    }

    /// To the first tick at which the slice is over.
    fn slice_ns(&self, world: WorldId, now_ns: u64) -> u64 {
        let task = &self.tasks[world as usize];
        let left_ns = ((task.deadline_ns - task.virtual_ns) * task.weight).max(1.0) as u64;
        (now_ns + left_ns).max(now_ns + 1).div_ceil(self.tick_ns) * self.tick_ns - now_ns
    }

    fn slice_end(&mut self, world: WorldId, cpu: usize, now_ns: u64, cpus: &Occupancy) -> SliceEnd {
        self.reweigh(world, now_ns);
        let slice = self.slice_ns as f64;
        let task = &mut self.tasks[world as usize];
        if task.virtual_ns >= task.deadline_ns {
            task.deadline_ns = task.virtual_ns + slice / task.weight;
        }
        if cpus.has_core_scheduling()
            && let Some(first) = self.turn_of_core(world, cpu, cpus)
        {
            return SliceEnd::YieldCore(first);
        }
        let rival = self.pick(cpu, cpu, Some(cpus));
        let gives_way = rival.is_some_and(|rival| self.precedes(rival, world));
        self.balance_busy(cpu, now_ns);
        if gives_way { SliceEnd::Yield } else { SliceEnd::Continue }
    }

    fn coscheduling(&self) -> Option<CoschedulingThresholds> {
        None
    }

    fn periods(&self) -> BalancePeriods {
        BalancePeriods {
            threads_ns: self.tick_ns,
            host_ns: self.tick_ns,
            only_while_queued: true,
        }
    }

    /// A tick while tasks wait somewhere: CPUs that idle look for them.
    fn balance(&mut self, now_ns: u64, _busy_ns: &[u64], cpus: &Occupancy, moved: &mut Vec<WorldId>) {
        self.balance_idle(now_ns, cpus, moved);
    }

    fn limits(&self) -> LimitEnforcement {
        LimitEnforcement::Quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE_NS: u64 = 2_800_000;

    fn scheduler(cpus: usize) -> (LinuxScheduler, Occupancy) {
        of(Topology {
            nodes: 1,
            nodes_per_socket: 1,
            cores_per_node: cpus,
            cores_per_l3: cpus,
            threads_per_core: 1,
        })
    }

    fn of(topology: Topology) -> (LinuxScheduler, Occupancy) {
        (
            LinuxScheduler::with(topology, SLICE_NS, TICK_NS, None),
            Occupancy::new(topology),
        )
    }

    fn add_vm(scheduler: &mut LinuxScheduler, shares: f64, domain: Domain) {
        add_wide_vm(scheduler, shares, &[(domain, 0)]);
    }

    /// Each vCPU has a domain and a CPU where it begins.
    fn add_wide_vm(scheduler: &mut LinuxScheduler, shares: f64, vcpus: &[(Domain, usize)]) {
        let group = scheduler.groups.len();
        scheduler.add_group(GroupSpec {
            shares,
            reservation_cores: 0.0,
            clients: Vec::new(),
        });
        for (domain, first_cpu) in vcpus.iter().cloned() {
            scheduler.add_world(WorldSpec {
                group,
                domain,
                first_cpu,
                helper: false,
            });
        }
    }

    /// Wakes a world, and lets it run if it does so at once.
    fn wake(scheduler: &mut LinuxScheduler, cpus: &mut Occupancy, world: WorldId, now_ns: u64) -> Placement {
        let placement = scheduler.place(world, true, now_ns, cpus);
        if let Placement::Run(cpu) = placement {
            cpus.occupy(cpu, world);
        }
        placement
    }

    #[test]
    fn the_default_slice_grows_with_the_cpus() {
        for (cpus, slice_us) in [(1, 700), (2, 1400), (4, 2100), (8, 2800), (128, 2800)] {
            assert_eq!(default_slice_ns(cpus), slice_us * 1000, "{cpus} CPUs");
        }
    }

    #[test]
    fn turns_follow_weights() {
        let (mut scheduler, mut cpus) = scheduler(1);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        add_vm(&mut scheduler, 3000.0, Domain::Any);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        assert_eq!(scheduler.place(1, true, 0, &cpus), Placement::Queue);
        let (mut running, mut turns) = (0, [0u32; 2]);
        for _ in 0..400 {
            turns[running as usize] += 1;
            scheduler.charge(running, 0, 0, SLICE_NS, SLICE_NS as f64);
            if scheduler.slice_end(running, 0, 0, &cpus) == SliceEnd::Yield {
                scheduler.put_back(running, 0);
                running = scheduler.next(0, 0, &cpus).expect("the other waits");
            }
        }
        assert_eq!(turns, [100, 300]);
    }

    #[test]
    fn slices_end_at_ticks() {
        let (mut scheduler, cpus) = scheduler(1);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        // 2.8 ms from 1 ms on are over at the tick at 4 ms, from 2 ms on at that at 8 ms
        assert_eq!(scheduler.slice_ns(0, 1_000_000), 3_000_000);
        assert_eq!(scheduler.slice_ns(0, 2_000_000), 6_000_000);
        // it goes on with what is left of its slice
        scheduler.charge(0, 0, 0, 2_000_000, 2e6);
        assert_eq!(scheduler.slice_ns(0, 2_000_000), 2_000_000);
    }

    /// Task 0 has run for 1 ms beside task 1, which waits: 0 is half a millisecond ahead, 1 is owed as much.
    fn one_ahead() -> (LinuxScheduler, Occupancy) {
        let (mut scheduler, mut cpus) = scheduler(1);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        assert_eq!(scheduler.place(1, true, 0, &cpus), Placement::Queue);
        scheduler.charge(0, 0, 0, 1_000_000, 1e6);
        (scheduler, cpus)
    }

    #[test]
    fn a_waking_task_that_is_owed_service_ends_the_slice_of_one_that_is_ahead() {
        let (mut scheduler, cpus) = one_ahead();
        scheduler.sleep(1, 1_000_000);
        scheduler.charge(0, 0, 0, 100_000, 1e5);
        assert_eq!(scheduler.place(1, true, 1_100_000, &cpus), Placement::QueueAndReview(0));
        assert_eq!(scheduler.slice_end(0, 0, 1_100_000, &cpus), SliceEnd::Yield);
    }

    #[test]
    fn a_waking_task_waits_for_the_slice_of_one_that_is_not_ahead() {
        let (mut scheduler, mut cpus) = scheduler(1);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        scheduler.charge(0, 0, 0, 1_000_000, 1e6);
        assert_eq!(scheduler.place(1, true, 1_000_000, &cpus), Placement::Queue);
        // the slice was over before the next tick, which this wake-up finds
        scheduler.charge(0, 0, 0, 2_000_000, 2e6);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        assert_eq!(scheduler.place(2, true, 3_000_000, &cpus), Placement::QueueAndReview(0));
    }

    #[test]
    fn a_sleeper_stays_ahead_until_its_queue_has_caught_up() {
        for (other_ran_ns, virtual_ns) in [(400_000, 1e6), (1_400_000, 1.4e6)] {
            let (mut scheduler, mut cpus) = one_ahead();
            scheduler.sleep(0, 1_000_000);
            cpus.vacate(0);
            assert_eq!(scheduler.next(0, 1_000_000, &cpus), Some(1));
            cpus.occupy(0, 1);
            scheduler.charge(1, 0, 0, other_ran_ns, other_ran_ns as f64);
            scheduler.place(0, true, 1_000_000 + other_ran_ns, &cpus);
            assert_eq!(scheduler.tasks[0].virtual_ns, virtual_ns);
        }
        // an empty queue forgets
        let (mut scheduler, mut cpus) = one_ahead();
        scheduler.sleep(0, 1_000_000);
        cpus.vacate(0);
        assert_eq!(scheduler.next(0, 1_000_000, &cpus), Some(1));
        scheduler.sleep(1, 1_000_000);
        assert_eq!(scheduler.place(0, true, 2_000_000, &cpus), Placement::Run(0));
        assert_eq!(scheduler.tasks[0].virtual_ns, scheduler.queues[0].clock_ns());
    }

    #[test]
    fn an_idle_cpu_pulls_only_what_may_run_there() {
        let (mut scheduler, mut cpus) = scheduler(2);
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        add_vm(&mut scheduler, 1000.0, Domain::Mask([0].into_iter().collect()));
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        assert_eq!(scheduler.place(0, true, 0, &cpus), Placement::Run(0));
        cpus.occupy(0, 0);
        assert_eq!(scheduler.place(1, true, 0, &cpus), Placement::Queue);
        assert_eq!(scheduler.next(1, 0, &cpus), None, "the waiting task is bound to CPU 0");
        cpus.occupy(1, 99);
        assert_eq!(scheduler.place(2, true, 0, &cpus), Placement::Queue);
        assert_eq!(scheduler.next(1, 0, &cpus), Some(2));
    }

    #[test]
    fn an_idle_cpu_keeps_from_other_caches_only_what_it_may_run() {
        for (mask, pulled) in [([0, 2].as_slice(), Some(1)), ([0, 1, 2].as_slice(), None)] {
            let (mut scheduler, mut cpus) = of(Topology {
                nodes: 1,
                nodes_per_socket: 1,
                cores_per_node: 4,
                cores_per_l3: 2,
                threads_per_core: 1,
            });
            add_vm(&mut scheduler, 1000.0, Domain::Mask([0].into_iter().collect()));
            add_vm(&mut scheduler, 1000.0, Domain::Mask(mask.iter().copied().collect()));
            assert_eq!(wake(&mut scheduler, &mut cpus, 0, 0), Placement::Run(0));
            // it waits where it ran last; CPU 1, of the same cache, and CPU 2 are idle
            scheduler.join(1, 0, 0);
            scheduler.start_waiting(1);
            assert_eq!(scheduler.pull_newly_idle(2, 0, &cpus), pulled, "{mask:?}");
        }
    }

    const MS: u64 = 1_000_000;
    const HALF_LIFE_NS: u64 = 32 << 20;

    #[test]
    fn a_thread_weighs_more_the_less_its_siblings_were_awake() {
        let (mut scheduler, mut cpus) = scheduler(2);
        add_wide_vm(&mut scheduler, 2000.0, &[(Domain::Any, 0), (Domain::Any, 1)]);
        wake(&mut scheduler, &mut cpus, 0, 0);
        wake(&mut scheduler, &mut cpus, 1, 0);
        assert_eq!(scheduler.tasks[1].weight, 1.0);
        scheduler.sleep(1, 0);
        cpus.vacate(1);
        for (halvings, weight) in [(0, 1.0), (1, 2.0 / 1.5), (2, 2.0 / 1.25)] {
            scheduler.slice_end(0, 0, halvings * HALF_LIFE_NS, &cpus);
            assert!((scheduler.tasks[0].weight - weight).abs() < 1e-9, "{halvings}");
        }
        // one that is picked is weighed anew, too
        add_vm(&mut scheduler, 1000.0, Domain::Any);
        scheduler.put_back(0, 0);
        assert_eq!(scheduler.next(0, 100 * HALF_LIFE_NS, &cpus), Some(0));
        assert!((scheduler.tasks[0].weight - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_wake_up_looks_in_its_cache_only_and_not_at_all_where_much_was_used() {
        // two nodes with a cache each, and one node with two
        for (nodes, cores_per_node) in [(2, 2), (1, 4)] {
            let (mut scheduler, mut cpus) = of(Topology {
                nodes,
                nodes_per_socket: 1,
                cores_per_node,
                cores_per_l3: 2,
                threads_per_core: 1,
            });
            for _ in 0..4 {
                add_vm(&mut scheduler, 1000.0, Domain::Any);
            }
            assert_eq!(wake(&mut scheduler, &mut cpus, 0, 0), Placement::Run(0));
            assert_eq!(wake(&mut scheduler, &mut cpus, 1, 0), Placement::Run(1));
            assert_eq!(
                wake(&mut scheduler, &mut cpus, 2, 0),
                Placement::Queue,
                "CPUs 2 and 3 have another cache"
            );
        }
        // CPU 0 was busy for long: the two were used to 50 %, of which each may look at one CPU; more, and at none
        let (mut scheduler, mut cpus) = self::scheduler(2);
        for _ in 0..2 {
            add_vm(&mut scheduler, 1000.0, Domain::Any);
        }
        assert_eq!(wake(&mut scheduler, &mut cpus, 0, 0), Placement::Run(0));
        for _ in 0..100 {
            scheduler.charge(0, 0, 0, 4 * MS, 4e6);
        }
        scheduler.slice_end(0, 0, 400 * MS, &cpus);
        assert_eq!(wake(&mut scheduler, &mut cpus, 1, 400 * MS), Placement::Run(1));
        scheduler.charge(0, 0, 0, 400 * MS, 4e8);
        scheduler.charge(1, 1, 0, 400 * MS, 4e8);
        scheduler.slice_end(0, 0, 800 * MS, &cpus);
        scheduler.sleep(1, 800 * MS);
        cpus.vacate(1);
        assert_eq!(scheduler.next(1, 800 * MS, &cpus), None);
        scheduler.tasks[1].cpu = 0;
        assert_eq!(
            wake(&mut scheduler, &mut cpus, 1, 801 * MS),
            Placement::Queue,
            "no balancing reads idle CPU 1"
        );
        // the idle CPU looks at the next tick
        let mut moved = Vec::new();
        scheduler.balance(804 * MS, &[], &cpus, &mut moved);
        assert_eq!((moved, scheduler.tasks[1].cpu), (vec![1], 1));
    }

    #[test]
    fn a_cpu_that_becomes_idle_leaves_what_is_hot_and_looks_only_if_that_pays() {
        let (mut scheduler, mut cpus) = scheduler(2);
        for _ in 0..3 {
            add_vm(&mut scheduler, 1000.0, Domain::Any);
        }
        assert_eq!(wake(&mut scheduler, &mut cpus, 0, 0), Placement::Run(0));
        assert_eq!(wake(&mut scheduler, &mut cpus, 1, 0), Placement::Run(1));
        assert_eq!(wake(&mut scheduler, &mut cpus, 2, 0), Placement::Queue);
        scheduler.charge(0, 0, 0, 4 * MS, 4e6);
        scheduler.put_back(0, 0);
        assert_eq!(scheduler.next(0, 4 * MS, &cpus), Some(2));
        assert_eq!(
            scheduler.pull_newly_idle(1, 4 * MS + MIGRATION_COST_NS - 1, &cpus),
            None,
            "0 is hot"
        );
        assert_eq!(scheduler.pull_newly_idle(1, 4 * MS + MIGRATION_COST_NS, &cpus), Some(0));
        for idle_ns in [0; 8] {
            scheduler.queues[1].idle_since_ns = Some(5 * MS);
            scheduler.queues[1].end_idling(5 * MS + idle_ns);
        }
        assert_eq!(
            scheduler.pull_newly_idle(1, 6 * MS, &cpus),
            None,
            "it never idles for long"
        );
    }

    #[test]
    fn busy_cpus_even_out_weights_rather_than_numbers() {
        let (mut scheduler, mut cpus) = scheduler(2);
        // two of weight 4 on CPU 0, two of weight 1 on CPU 1
        for (shares, cpu) in [(4000.0, 0), (4000.0, 0), (1000.0, 1), (1000.0, 1)] {
            add_wide_vm(&mut scheduler, shares, &[(Domain::Any, cpu)]);
        }
        for world in 0..4 {
            wake(&mut scheduler, &mut cpus, world, 0);
        }
        for tick in 1..100 {
            for cpu in 0..2 {
                let running = scheduler.queues[cpu].running.expect("always busy");
                scheduler.charge(running, cpu, 0, 4 * MS, 4e6);
                if scheduler.slice_end(running, cpu, tick * 4 * MS, &cpus) == SliceEnd::Yield {
                    cpus.vacate(cpu);
                    scheduler.put_back(running, cpu);
                    let next = scheduler.next(cpu, tick * 4 * MS, &cpus).expect("another waits");
                    cpus.occupy(cpu, next);
                }
            }
        }
        let cpu = |world: usize| scheduler.tasks[world].cpu;
        assert_ne!(cpu(0), cpu(1), "the heavy ones are apart");
        assert_ne!(cpu(2), cpu(3), "and so are the light ones");
    }
}
