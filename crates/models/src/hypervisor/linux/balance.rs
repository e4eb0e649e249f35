//! Where a task goes that wakes, and how run queues are evened out.
//!
//! **Mechanism.** A task that wakes goes to its last CPU if that idles, else to an idle one in the last-level cache:
//! the more the cache's CPUs were used lately, the fewer of them are looked at, and from 60 % (two CPUs) to 85 % (many)
//! on none (SIS_UTIL). Else it queues on its last CPU. A CPU that becomes idle pulls a waiting task, if it usually
//! idles for longer than a migration costs; a task that ran less than that ago stays (it is cache-hot). At the ticks
//! idle CPUs look again, and a busy one at intervals sixteen times as long, which grow with the CPUs of the domain: it
//! pulls so much weight that both come to the mean of the domain, if the other is more than 17 % above. Domains are the
//! threads of a core, the CPUs of a last-level cache, those of a NUMA node, and the host.
//!
//! **Sources.** Linux `kernel/sched/fair.c` 6.12 and later (`select_task_rq_fair`, `select_idle_sibling`,
//! `select_idle_cpu`, `update_idle_cpu_scan`, `sched_balance_newidle`, `sched_balance_rq`, `update_sd_pick_busiest`,
//! `calculate_imbalance`, `detach_tasks`, `can_migrate_task`, `task_hot`, `get_sd_balance_interval`) and
//! `kernel/sched/topology.c` (`sd_init`).
//!
//! **Assumptions.** A wake-up is handled by the CPU on which the task last ran, as that of a timer is. Looking for work
//! costs a CPU that becomes idle as much as a migration, the most that the kernel's own measurement of it can say.
//! Running tasks are not moved between queues (active balancing) but from a shared core to a whole idle one.

use super::domains::{BUSY_FACTOR, CACHE_NICE_TRIES, Carried, Level, MIGRATION_COST_NS};
use super::scheduler::LinuxScheduler;
use crate::topology::{Occupancy, WorldId};
use std::ops::Range;

/// How much is to be moved.
enum Excess {
    Tasks(usize),
    Load(f64),
}

impl LinuxScheduler {
    // ---- wake-ups

    /// Where a task runs at once (`select_idle_sibling`); one that is only put back (`woken` is false) has its CPU or
    /// none.
    pub(super) fn find_idle(&self, world: WorldId, woken: bool, cpus: &Occupancy) -> Option<usize> {
        let task = &self.tasks[world as usize];
        let last = task.cpu;
        let may = |cpu: &usize| {
            cpus.is_free(*cpu) && task.domain.allows(&self.topology, *cpu) && cpus.rival(world, *cpu).is_none()
        };
        if may(&last) {
            return Some(last);
        }
        let domain = self.balancer.cache.domain(last);
        let most = self.balancer.scan[last / domain.len()];
        if !woken || most == 0 || !cpus.may_be_free(domain.clone()) {
            return None;
        }
        if self.topology.threads_per_core > 1 {
            if cpus.any_idle_core(domain.clone()) {
                let is_whole = |cpu: &usize| !cpus.sibling_busy(*cpu);
                let found = round(&domain, last).filter(may).find(is_whole);
                return found.or_else(|| round(&domain, last).find(may));
            }
            if let Some(sibling) = self.topology.sibling(last).filter(may) {
                return Some(sibling);
            }
        }
        round(&domain, last)
            .filter(|&cpu| task.domain.allows(&self.topology, cpu))
            .take(most)
            .find(may)
    }

    /// How many CPUs wake-ups look at: fewer, the more was used lately (`update_idle_cpu_scan`).
    fn update_scan(&mut self, domain: Range<usize>) {
        let cpus = domain.len();
        let used = Carried::of(&self.balancer.carried[domain.clone()]).running / cpus as f64;
        let full = used * self.balancer.cache.imbalance;
        let part = 1.0 - full * full;
        self.balancer.scan[domain.start / cpus] = (part.max(0.0) * cpus as f64) as usize;
    }

    // ---- balancing

    /// Sums up what the CPUs of a domain have carried lately.
    fn measure(&mut self, domain: Range<usize>, now_ns: u64) {
        let carried = &mut self.balancer.carried;
        carried[domain.clone()].fill(Carried::default());
        for cpu in domain.clone() {
            let queue = &self.queues[cpu];
            let here = &mut carried[cpu];
            here.tasks = queue.waiting.len() + usize::from(queue.running.is_some());
            let on_queue = queue.waiting.iter().chain(&queue.running);
            here.expected = on_queue.map(|&world| self.tasks[world as usize].expected).sum();
        }
        for task in self.tasks.iter().filter(|task| domain.contains(&task.cpu)) {
            let here = &mut carried[task.cpu];
            let runnable = task.runnable.at(now_ns);
            here.runnable += runnable;
            here.load += task.weight * runnable;
            here.running += task.running.at(now_ns);
        }
    }

    fn is_hot(&self, world: WorldId, now_ns: u64) -> bool {
        let ran_until_ns = self.tasks[world as usize].ran_until_ns;
        ran_until_ns > 0 && now_ns < ran_until_ns + MIGRATION_COST_NS
    }

    /// The task that the idle `cpu` takes over from the heaviest queue of its domain. A last-level cache in which
    /// another CPU idles that may run it keeps a task. With `is_new` the task must be able to run on `cpu` now.
    fn pull(
        &self,
        cpu: usize,
        level: Level,
        even_hot: bool,
        cpus: &Occupancy,
        is_new: bool,
        now_ns: u64,
    ) -> Option<WorldId> {
        let domain = level.domain(cpu);
        let own = self.balancer.cache.domain(cpu);
        let mut next = domain.start;
        let mut found: Option<(usize, WorldId)> = None;
        while let Some(queue) = self.crowded.first_in(next, domain.end) {
            next = queue + 1;
            if found.is_none_or(|(best, _)| self.queues[queue].weight > self.queues[best].weight) {
                // what has just been moved to an idle CPU stays
                let waits = |world: WorldId| self.queues[queue].running.is_some() || cpus.rival(world, queue).is_some();
                let may = |world: &WorldId| {
                    waits(*world)
                        && self.tasks[*world as usize].domain.allows(&self.topology, cpu)
                        && (even_hot || level.is_core || !self.is_hot(*world, now_ns))
                        && !(is_new && cpus.rival(*world, cpu).is_some())
                        && (own.contains(&queue) || !self.idles_for(*world, self.balancer.cache.domain(queue), cpus))
                };
                let movable = self.queues[queue].waiting.iter().copied().find(may);
                found = movable.map(|world| (queue, world)).or(found);
            }
        }
        found.map(|(_, world)| world)
    }

    /// Whether one of these logical CPUs has nothing to run and may run `world`.
    fn idles_for(&self, world: WorldId, mut among: Range<usize>, cpus: &Occupancy) -> bool {
        let domain = &self.tasks[world as usize].domain;
        among.any(|cpu| {
            self.queues[cpu].running.is_none()
                && self.queues[cpu].waiting.is_empty()
                && domain.allows(&self.topology, cpu)
                && cpus.rival(world, cpu).is_none()
        })
    }

    /// What a CPU that becomes idle pulls, nearest first (`sched_balance_newidle`).
    pub(super) fn pull_newly_idle(&mut self, cpu: usize, now_ns: u64, cpus: &Occupancy) -> Option<WorldId> {
        let queue = &mut self.queues[cpu];
        queue.idle_since_ns.get_or_insert(now_ns);
        if self.crowded.is_empty() || queue.mean_idle_ns < MIGRATION_COST_NS {
            return None;
        }
        let levels = &self.balancer.levels;
        let world = levels
            .iter()
            .find_map(|&level| self.pull(cpu, level, false, cpus, true, now_ns))?;
        self.queues[cpu].idle_since_ns = None;
        Some(world)
    }

    /// Whether `cpu` balances at this level at a tick; then it is busy with something else until the next time.
    fn is_due(&mut self, cpu: usize, level: usize, is_busy: bool, now_ns: u64) -> bool {
        let levels = self.balancer.levels.len();
        let state = &mut self.balancer.state[cpu * levels + level];
        if now_ns < state.next_ns {
            return false;
        }
        let factor = if is_busy { BUSY_FACTOR } else { 1 };
        let ticks = (state.interval_ns * factor).div_ceil(self.tick_ns) - u64::from(is_busy);
        state.next_ns = now_ns + ticks.max(1) * self.tick_ns;
        true
    }

    /// Notes what came of an attempt: whether there was something to move, and whether it was.
    fn note(&mut self, cpu: usize, level: usize, wanted: bool, moved: bool) {
        let least_ns = self.balancer.levels[level].least_ns;
        let levels = self.balancer.levels.len();
        let state = &mut self.balancer.state[cpu * levels + level];
        state.failed = if wanted && !moved { state.failed + 1 } else { 0 };
        state.interval_ns = if moved { least_ns } else { 2 * least_ns };
    }

    fn failed(&self, cpu: usize, level: usize) -> u32 {
        self.balancer.state[cpu * self.balancer.levels.len() + level].failed
    }

    /// Idle CPUs look for waiting tasks; `moved` are those that were found.
    pub(super) fn balance_idle(&mut self, now_ns: u64, cpus: &Occupancy, moved: &mut Vec<WorldId>) {
        for cpu in 0..self.queues.len() {
            if self.queues[cpu].running.is_some() || self.crowded.contains(cpu) {
                continue;
            }
            for index in 0..self.balancer.levels.len() {
                if !self.is_due(cpu, index, false, now_ns) {
                    continue;
                }
                let level = self.balancer.levels[index];
                if level.cpus == self.balancer.cache.cpus {
                    self.measure(level.domain(cpu), now_ns);
                    self.update_scan(level.domain(cpu));
                }
                let even_hot = self.failed(cpu, index) > CACHE_NICE_TRIES;
                let found = self.pull(cpu, level, even_hot, cpus, false, now_ns);
                self.note(cpu, index, !self.crowded.is_empty(), found.is_some());
                if let Some(world) = found {
                    self.stop_waiting(world);
                    self.transfer(world, cpu, now_ns);
                    self.start_waiting(world);
                    moved.push(world);
                    break;
                }
            }
        }
    }

    /// The busy `cpu` takes over waiting tasks when its time has come.
    pub(super) fn balance_busy(&mut self, cpu: usize, now_ns: u64) {
        for index in 0..self.balancer.levels.len() {
            let level = self.balancer.levels[index];
            if !cpu.is_multiple_of(level.group) || !self.is_due(cpu, index, true, now_ns) {
                continue;
            }
            self.measure(level.domain(cpu), now_ns);
            if level.cpus == self.balancer.cache.cpus {
                self.update_scan(level.domain(cpu));
            }
            let excess = self.excess(cpu, level);
            let even_hot = level.is_core || self.failed(cpu, index) > CACHE_NICE_TRIES;
            let wanted = excess.is_some();
            let moved = excess.is_some_and(|(from, excess)| {
                self.take_over(cpu, from, excess, (even_hot, self.failed(cpu, index)), now_ns)
            });
            self.note(cpu, index, wanted, moved);
        }
    }

    /// The group with the most load, and how much of it is too much beside that of `cpu` (`calculate_imbalance`).
    fn excess(&self, cpu: usize, level: Level) -> Option<(Range<usize>, Excess)> {
        let carried = &self.balancer.carried;
        let domain = level.domain(cpu);
        let own = level.group(cpu);
        let local = Carried::of(&carried[own.clone()]);
        let others = domain.clone().step_by(level.group).filter(|&first| first != own.start);
        let (busiest, group) = others
            .map(|first| (Carried::of(&carried[level.group(first)]), level.group(first)))
            .filter(|(group, _)| group.is_overloaded(level.imbalance))
            .max_by(|(a, _), (b, _)| a.load.total_cmp(&b.load))?;
        if local.has_room(level.imbalance) {
            let tasks = busiest.tasks.saturating_sub(local.tasks) / 2;
            return (tasks > 0 && level.group == 1).then_some((group, Excess::Tasks(tasks)));
        }
        let (here, there) = (local.mean_load(), busiest.mean_load());
        let mean = Carried::of(&carried[domain]).mean_load();
        let is_even = here >= mean || there <= mean;
        if is_even || local.is_overloaded(level.imbalance) && there <= level.imbalance * here {
            return None;
        }
        let excess = (there - mean).min(mean - here) * level.group as f64;
        Some((group, Excess::Load(excess)))
    }

    /// Moves waiting tasks from the heaviest queue of `group` to `cpu` until the excess is gone; whether any was moved.
    fn take_over(
        &mut self,
        cpu: usize,
        group: Range<usize>,
        mut excess: Excess,
        (even_hot, failed): (bool, u32),
        now_ns: u64,
    ) -> bool {
        let carried = &self.balancer.carried;
        let crowded = group.filter(|&queue| self.crowded.contains(queue));
        let Some(from) = crowded.max_by(|&a, &b| carried[a].load.total_cmp(&carried[b].load)) else {
            return false;
        };
        let mut moved = false;
        for world in self.queues[from].waiting.clone() {
            let task = &self.tasks[world as usize];
            let load = task.weight * task.runnable.at(now_ns);
            let fits = match excess {
                Excess::Tasks(tasks) => tasks > 0,
                // after attempts in vain a task may be that much too heavy (`shr_bound`)
                Excess::Load(left) => left > 0.0 && load / (1_u64 << failed.min(32)) as f64 <= left,
            };
            let may = task.domain.allows(&self.topology, cpu) && (even_hot || !self.is_hot(world, now_ns));
            if !fits || !may {
                continue;
            }
            match &mut excess {
                Excess::Tasks(tasks) => *tasks -= 1,
                Excess::Load(left) => *left -= load,
            }
            self.stop_waiting(world);
            self.transfer(world, cpu, now_ns);
            self.start_waiting(world);
            moved = true;
        }
        moved
    }
}

/// The CPUs of a domain after `cpu`, round to it.
fn round(domain: &Range<usize>, cpu: usize) -> impl Iterator<Item = usize> + use<> {
    (cpu + 1..domain.end).chain(domain.start..cpu)
}
