//! What must hold after every event of any run, by what [`View`] shows.
#![allow(clippy::disallowed_types, reason = "checkers look things up and never iterate")]

use hypertwin_cluster::{CoreScheduling, Family, Scenario};
use hypertwin_engine::{State, View};
use std::collections::HashMap;

/// What must hold after every event.
pub struct Checker {
    seed: u64,
    core_scheduling: CoreScheduling,
    /// No logical CPU idles while a world waits that it may run: not on Linux, where idle CPUs look at ticks.
    conserves_work: bool,
    events: u64,
    on_cpu: HashMap<(usize, usize), usize>,
}

impl Checker {
    pub fn new(seed: u64, scenario: &Scenario) -> Self {
        Self {
            seed,
            core_scheduling: scenario.hosts["h"].scheduler.core_scheduling,
            conserves_work: scenario.hosts["h"].hypervisor.family() == Family::Esxi,
            events: 0,
            on_cpu: HashMap::new(),
        }
    }

    pub fn check(&mut self, view: &View<'_>) {
        let seed = self.seed;
        self.events += 1;
        let now = view.now();
        self.on_cpu.clear();
        let mut awake: HashMap<usize, usize> = HashMap::new();
        for (index, world) in view.worlds().enumerate() {
            let topology = view.topology(world.host);
            if world.state == State::Run {
                let double = self.on_cpu.insert((world.host, world.cpu), index);
                assert!(
                    double.is_none(),
                    "seed {seed} at {now}: two worlds on logical CPU {}",
                    world.cpu
                );
                assert!(
                    world.domain.allows(&topology, world.cpu),
                    "seed {seed} at {now}: world {index} runs where it may not"
                );
            }
            if let Some(vm) = world.vm.filter(|_| world.state != State::Wait) {
                *awake.entry(vm).or_default() += 1;
            }
            let total = world.account.total_ns() + (now - world.since);
            assert_eq!(
                total, now,
                "seed {seed} at {now}: the time of world {index} does not add up"
            );
            assert!(
                world.account.limited_ns <= world.account.ready_ns,
                "seed {seed}: limited time is ready time"
            );
        }
        for (index, world) in view
            .worlds()
            .enumerate()
            .filter(|(_, world)| self.conserves_work && world.state == State::Ready && !world.limited)
        {
            let topology = view.topology(world.host);
            for cpu in (0..topology.cpus()).filter(|&cpu| world.domain.allows(&topology, cpu)) {
                let busy = self.on_cpu.contains_key(&(world.host, cpu)) || view.is_withheld(world.host, cpu);
                let other = self.beside(view, world.host, cpu);
                let barred = other.is_some_and(|other| !self.may_share(view, index, other));
                assert!(
                    busy || barred,
                    "seed {seed} at {now}: logical CPU {cpu} idles while a world that may use it is ready"
                );
            }
        }
        if self.core_scheduling != CoreScheduling::Off {
            self.check_cores(view);
        }
        for (&vm, &vcpus) in &awake {
            assert_eq!(
                view.guest_busy(vm),
                vcpus,
                "seed {seed} at {now}: guest and host disagree on idle vCPUs of VM {vm}"
            );
            let (in_progress, runnable) = view.processes(vm);
            assert!(
                runnable <= in_progress,
                "seed {seed} at {now}: more runnable processes than transactions"
            );
        }
    }

    /// Whether two worlds may run on one core.
    fn may_share(&self, view: &View<'_>, one: usize, other: usize) -> bool {
        let vcpu_of = |world| view.worlds().nth(world).and_then(|world| world.vm);
        match self.core_scheduling {
            CoreScheduling::Off => true,
            CoreScheduling::ScaV1 => false,
            CoreScheduling::ScaV2 => vcpu_of(one).is_some() && vcpu_of(one) == vcpu_of(other),
            CoreScheduling::Linux => view.owner(one) == view.owner(other),
        }
    }

    /// The world that runs on the other thread of the core.
    fn beside(&self, view: &View<'_>, host: usize, cpu: usize) -> Option<usize> {
        let sibling = view.topology(host).sibling(cpu)?;
        self.on_cpu.get(&(host, sibling)).copied()
    }

    /// That only worlds that may do so share a core.
    fn check_cores(&self, view: &View<'_>) {
        for (&(host, cpu), &one) in &self.on_cpu {
            if let Some(other) = self.beside(view, host, cpu) {
                assert!(
                    self.may_share(view, one, other),
                    "seed {} at {}: worlds {one} and {other} share a core under {:?}",
                    self.seed,
                    view.now(),
                    self.core_scheduling
                );
            }
        }
    }

    /// Work begun is work done or work left, where a vCPU's speed is always the same: one thread per core, no
    /// interrupts.
    pub fn check_work(&self, view: &View<'_>, speed: f64, vms: usize) {
        let (now, seed) = (view.now(), self.seed);
        for vm in 0..vms {
            let run_ns: u64 = view
                .worlds()
                .filter(|world| world.vm == Some(vm))
                .map(|world| world.account.run_ns)
                .sum();
            let (begun, left) = view.work(vm);
            let done = run_ns as f64 * speed;
            let slack = 1.0 + 2.0 * self.events as f64;
            assert!(
                (begun - left - done).abs() <= slack,
                "seed {seed} at {now}: VM {vm} began {begun} ns of work, did {done}, has {left} left"
            );
        }
    }
}
