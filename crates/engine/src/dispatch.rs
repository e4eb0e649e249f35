//! What happens on logical CPUs: worlds start, run at the speed that their sibling leaves them, and stop.

use crate::clock::Event;
use crate::ids::{HostId, Id, VmId};
use crate::power::Power;
use crate::simulation::Simulation;
use crate::simulation::process;
use crate::state::Kind;
use hypertwin_models::accounting::State;
use hypertwin_models::coscheduling::{Progress, judge};
use hypertwin_models::scheduler::{Placement, SliceEnd};
use hypertwin_models::topology::WorldId;

/// Interval at which CPU limits are checked, and checks in one period of the budget (100 ms).
pub(crate) const LIMIT_CHECK_NS: u64 = 1_000_000;
pub(crate) const LIMIT_CHECKS_PER_PERIOD: u32 = 100;

impl Simulation {
    // ---- accounting

    /// Ends the interval since the last change of what runs on `cpu` and its sibling: accounts time, charges the world
    /// and advances its work.
    pub fn settle(&mut self, host_index: usize, cpu: usize) {
        let host = &mut self.hosts[host_index];
        if host.occupancy.running(cpu).is_none() {
            return;
        }
        let slot = &mut host.cpus[cpu];
        let dt = self.clock.now - slot.since;
        if dt == 0 {
            return;
        }
        slot.since = self.clock.now;
        let overlap = dt.min(slot.interrupt_ns);
        slot.interrupt_ns -= overlap;
        let shared = host.occupancy.sibling_busy(cpu);
        slot.time.add(dt, shared);
        let world = &mut self.worlds[slot.world];
        world.account.add(State::Run, dt);
        world.since = self.clock.now;
        let used = world
            .account
            .charge(dt, overlap, shared, host.shared_charge, host.clock_ratio);
        host.scheduler.charge(world.local, cpu, dt, used);
        let progress = (dt - overlap) as f64;
        match world.kind {
            Kind::Vcpu { vm, index } => {
                let vm = &mut self.vms[vm];
                // Time in the hypervisor is no progress of the guest.
                world.lag_ns += overlap;
                if let Some(process) = vm.guest.current(index).map(process) {
                    let work_ns = progress * vm.speed[usize::from(shared)] * slot.memory_speed;
                    self.processes[process].remaining_ns -= work_ns;
                    if slot.draws {
                        let node = host.occupancy.topology.node_of(cpu);
                        let bytes = vm.memory.bytes(work_ns, shared);
                        host.memory
                            .account(bytes, vm.memory.seen_by(index), node, &mut vm.measured.traffic);
                    }
                }
                vm.slice_left[index] = vm.slice_left[index].saturating_sub(dt);
                if let Some(limit) = &mut vm.limit {
                    limit.left_ns -= if host.scheduler.charges_used() { used } else { dt as f64 };
                }
            }
            Kind::Helper { .. } | Kind::Controller { .. } | Kind::Service { .. } => {
                world.remaining_ns -= progress * host.helper_speed(shared);
            }
        }
    }

    /// Schedules the next thing that happens on the busy `cpu`: its work, its guest's slice or its own slice ends.
    pub fn arm(&mut self, host_index: usize, cpu: usize) {
        let host = &mut self.hosts[host_index];
        let slot = host.cpus[cpu];
        let shared = host.occupancy.sibling_busy(cpu);
        let world = &self.worlds[slot.world];
        let start = slot.since + slot.interrupt_ns;
        let mut next = slot.slice_end;
        match world.kind {
            Kind::Vcpu { vm, index } => {
                let vm = &self.vms[vm];
                if let Some(process) = vm.guest.current(index).map(process) {
                    let left = self.processes[process].remaining_ns.max(0.0)
                        / (vm.speed[usize::from(shared)] * slot.memory_speed);
                    next = next.min(start.saturating_add(left.ceil() as u64));
                }
                if vm.guest.has_waiting(index) {
                    next = next.min(slot.since + vm.slice_left[index]);
                }
            }
            Kind::Helper { .. } | Kind::Controller { .. } | Kind::Service { .. } => {
                let left = world.remaining_ns.max(0.0) / host.helper_speed(shared);
                next = next.min(start.saturating_add(left.ceil() as u64));
            }
        }
        let next = next.max(self.clock.now);
        let slot = &mut host.cpus[cpu];
        let due = Event::Cpu {
            host: HostId::new(host_index),
            cpu: cpu as u32,
        };
        slot.event = Some(self.clock.move_to(next, slot.event, due));
    }

    /// Ends the time that a world which does not run has spent in its state.
    pub fn close(&mut self, world_index: usize) {
        let world = &mut self.worlds[world_index];
        if world.state == State::Run {
            let (host, cpu) = (world.host, world.cpu);
            self.settle(host, cpu);
            return;
        }
        let dt = self.clock.now - world.since;
        world.since = self.clock.now;
        world.account.add(world.state, dt);
        match world.state {
            State::Ready if world.limited => world.account.limited_ns += dt,
            State::Ready | State::CoStop => {
                world.lag_ns += dt;
                if world.waking {
                    world.account.wakeup_ns += dt;
                }
            }
            State::Run | State::Wait => {}
        }
    }

    fn enter(&mut self, world_index: usize, state: State) {
        self.close(world_index);
        self.worlds[world_index].state = state;
    }

    // ---- worlds become ready

    /// A waiting world has work again.
    pub fn wake_world(&mut self, world_index: usize) {
        if let Power::Off { wants_to_run } = &mut self.worlds[world_index].power {
            *wants_to_run = true;
            return;
        }
        self.enter(world_index, State::Ready);
        let mut throttled = false;
        if let Some((vm_index, _)) = self.vcpu_of(world_index) {
            if self.vms[vm_index].cosched.is_some() {
                self.worlds[world_index].lag_ns = self.slowest_lag(vm_index, world_index);
            }
            throttled = self.vms[vm_index].throttled;
        }
        let world = &mut self.worlds[world_index];
        world.asleep = true;
        world.waking = true;
        if throttled {
            world.limited = true;
        } else {
            self.place(world_index);
        }
    }

    /// Asks the scheduler where a ready world runs.
    pub fn place(&mut self, world_index: usize) {
        let world = &mut self.worlds[world_index];
        let (host_index, local) = (world.host, world.local);
        let woken = std::mem::take(&mut world.asleep);
        if let Some(cpu) = self.hosts[host_index].scheduler.consults(local) {
            self.settle(host_index, cpu);
        }
        let host = &mut self.hosts[host_index];
        match host.scheduler.place(local, woken, self.clock.now, &host.occupancy) {
            Placement::Run(cpu) => self.start(host_index, cpu, world_index, true),
            Placement::Preempt(cpu) => {
                let victim = self.stop(host_index, cpu, State::Ready);
                self.hosts[host_index].scheduler.withdraw(self.worlds[victim].local);
                let freed = self.hosts[host_index].vacate(cpu);
                self.start(host_index, cpu, world_index, false);
                self.place(victim);
                if let Some(other) = freed {
                    self.fill(host_index, other);
                }
            }
            queued @ (Placement::Queue | Placement::QueueAndReview(_)) => {
                self.hosts[host_index].queued += 1;
                self.watch_lag(world_index);
                self.arm_host_balance(host_index);
                if let Placement::QueueAndReview(cpu) = queued {
                    self.hosts[host_index].cpus[cpu].slice_end = self.clock.now;
                    self.arm(host_index, cpu);
                }
            }
        }
    }

    /// Takes a ready world out of its queue.
    fn unqueue(&mut self, world_index: usize) {
        let host = &mut self.hosts[self.worlds[world_index].host];
        host.scheduler.withdraw(self.worlds[world_index].local);
        host.queued -= 1;
    }

    // ---- worlds start and stop on a logical CPU

    /// Starts `world` on the idle `cpu`. `sibling_changes`: the sibling saw an idle thread before and runs slower now.
    fn start(&mut self, host_index: usize, cpu: usize, world_index: usize, sibling_changes: bool) {
        let sibling = self.hosts[host_index].occupancy.topology.sibling(cpu);
        let busy_sibling =
            sibling.filter(|&other| sibling_changes && self.hosts[host_index].occupancy.running(other).is_some());
        if let Some(other) = busy_sibling {
            self.settle(host_index, other);
        }
        self.enter(world_index, State::Run);
        let world = &mut self.worlds[world_index];
        world.cpu = cpu;
        world.waking = false;
        let host = &mut self.hosts[host_index];
        host.occupy(cpu, world.local);
        let node = host.occupancy.topology.node_of(cpu);
        let slot = &mut host.cpus[cpu];
        (slot.memory_speed, slot.draws) = match world.kind {
            Kind::Vcpu { vm, index } => {
                let memory = &self.vms[vm].memory;
                (memory.speed(index, node), memory.draws())
            }
            Kind::Helper { .. } | Kind::Controller { .. } | Kind::Service { .. } => (1.0, false),
        };
        slot.world = world_index;
        slot.since = self.clock.now;
        slot.interrupt_ns = 0;
        slot.slice_end = self.clock.now + host.scheduler.slice_ns(world.local, self.clock.now);
        self.arm(host_index, cpu);
        if let Some(other) = busy_sibling {
            self.arm(host_index, other);
        }
        if let Some((vm, vcpu)) = self.vcpu_of(world_index)
            && !self.vms[vm].pending[vcpu].is_empty()
        {
            self.deliver_pending(vm, vcpu);
        }
    }

    /// The world on `cpu` stops and enters `state`; the occupancy still shows it. Returns the world.
    fn stop(&mut self, host_index: usize, cpu: usize, state: State) -> usize {
        self.settle(host_index, cpu);
        let world_index = self.hosts[host_index].cpus[cpu].world;
        self.enter(world_index, state);
        world_index
    }

    /// Gives `cpu`, whose world has stopped, to the next ready world, or leaves it idle.
    fn refill(&mut self, host_index: usize, cpu: usize) {
        let host = &mut self.hosts[host_index];
        if let Some(local) = host.scheduler.next(cpu, self.clock.now) {
            host.queued -= 1;
            let world = host.worlds[local as usize];
            let freed = host.vacate(cpu);
            self.start(host_index, cpu, world, false);
            if let Some(other) = freed {
                self.fill(host_index, other);
            }
            return;
        }
        let sibling = host
            .occupancy
            .topology
            .sibling(cpu)
            .filter(|&other| host.occupancy.running(other).is_some());
        if let Some(other) = sibling {
            self.settle(host_index, other);
        }
        let host = &mut self.hosts[host_index];
        let freed = host.vacate(cpu);
        if let Some(event) = host.cpus[cpu].event.take() {
            self.clock.cancel(event);
        }
        if let Some(other) = sibling {
            self.arm(host_index, other);
        } else {
            self.arm_thread_balance(host_index);
        }
        if let Some(other) = freed {
            self.fill(host_index, other);
        }
    }

    /// Gives the idle `cpu` a ready world, if there is one.
    fn fill(&mut self, host_index: usize, cpu: usize) {
        let host = &mut self.hosts[host_index];
        if host.occupancy.is_free(cpu)
            && let Some(local) = host.scheduler.next(cpu, self.clock.now)
        {
            host.queued -= 1;
            let world = host.worlds[local as usize];
            self.start(host_index, cpu, world, true);
        }
    }

    /// Something on `cpu` is due: its work, its guest's slice, or its own slice.
    pub fn on_cpu(&mut self, host_index: usize, cpu: usize) {
        self.hosts[host_index].cpus[cpu].event = None;
        self.settle(host_index, cpu);
        let slot = self.hosts[host_index].cpus[cpu];
        let world_index = slot.world;
        match self.worlds[world_index].kind {
            Kind::Vcpu { vm: vm_index, index } => {
                let vm = &mut self.vms[vm_index];
                let Some(process) = vm.guest.current(index).map(process) else {
                    return;
                };
                if self.processes[process].remaining_ns <= 0.5 && slot.interrupt_ns == 0 {
                    if !self.next_process(vm_index, index) {
                        self.sleep(world_index);
                        return;
                    }
                } else if vm.slice_left[index] == 0 && vm.guest.has_waiting(index) {
                    vm.guest.rotate(index);
                    vm.slice_left[index] = vm.time_slice;
                    if let Some(next) = vm.guest.current(index).map(crate::simulation::process) {
                        self.processes[next].vcpu = index as u32;
                    }
                }
            }
            Kind::Helper { .. } => {
                if self.worlds[world_index].remaining_ns <= 0.5 && slot.interrupt_ns == 0 {
                    if let Some(process) = self.worlds[world_index].request.take() {
                        self.begin_delay(process);
                    }
                    if !self.start_request(world_index) {
                        self.sleep(world_index);
                        return;
                    }
                }
            }
            Kind::Controller { index } => {
                let done = self.worlds[world_index].remaining_ns <= 0.5 && slot.interrupt_ns == 0;
                if done {
                    let work_ns = self.storage.next_on_controller(index, &mut self.clock);
                    self.act_on_replies();
                    let Some(work_ns) = work_ns else {
                        self.sleep(world_index);
                        return;
                    };
                    self.worlds[world_index].remaining_ns = work_ns;
                }
            }
            Kind::Service { pool, thread } => {
                let done = self.worlds[world_index].remaining_ns <= 0.5 && slot.interrupt_ns == 0;
                if done {
                    let work_ns = self.storage.next_on_service(pool, thread, &mut self.clock);
                    self.act_on_replies();
                    let Some(work_ns) = work_ns else {
                        self.sleep(world_index);
                        return;
                    };
                    self.worlds[world_index].remaining_ns = work_ns;
                }
            }
        }
        if self.clock.now >= slot.slice_end {
            self.end_slice(host_index, cpu, world_index);
        } else {
            self.arm(host_index, cpu);
        }
    }

    /// The running world has nothing to do any more.
    fn sleep(&mut self, world_index: usize) {
        let (host_index, cpu) = (self.worlds[world_index].host, self.worlds[world_index].cpu);
        self.stop(host_index, cpu, State::Wait);
        let world = &self.worlds[world_index];
        if let Kind::Vcpu { vm, .. } = world.kind
            && self.vms[vm].slowest_ns == Some(world.lag_ns)
        {
            self.vms[vm].slowest_ns = None;
        }
        self.hosts[host_index].scheduler.sleep(world.local, self.clock.now);
        self.refill(host_index, cpu);
    }

    fn end_slice(&mut self, host_index: usize, cpu: usize, world_index: usize) {
        let local = self.worlds[world_index].local;
        let sibling = self.hosts[host_index].occupancy.topology.sibling(cpu);
        if let Some(other) = sibling {
            self.settle(host_index, other);
        }
        let host = &mut self.hosts[host_index];
        let verdict = host.scheduler.slice_end(local, cpu, self.clock.now, &host.occupancy);
        if verdict == SliceEnd::Yield {
            self.stop(host_index, cpu, State::Ready);
            let host = &mut self.hosts[host_index];
            if host.occupancy.find_idle(host.scheduler.domain(local), cpu).is_some() {
                host.scheduler.withdraw(local);
                self.refill(host_index, cpu);
                self.place(world_index);
            } else {
                host.scheduler.put_back(local, cpu);
                host.queued += 1;
                self.refill(host_index, cpu);
                self.watch_lag(world_index);
            }
            return;
        }
        host.cpus[cpu].slice_end = self.clock.now + host.scheduler.slice_ns(local, self.clock.now);
        if let (SliceEnd::ClaimCore, Some(other)) = (verdict, sibling) {
            let rival = self.stop(host_index, other, State::Ready);
            let host = &mut self.hosts[host_index];
            host.scheduler.withdraw(self.worlds[rival].local);
            host.vacate(other);
            host.occupancy.withhold(other);
            if let Some(event) = host.cpus[other].event.take() {
                self.clock.cancel(event);
            }
            self.place(rival);
        }
        self.arm(host_index, cpu);
        if let (SliceEnd::ReleaseCore, Some(other)) = (verdict, sibling) {
            self.hosts[host_index].occupancy.release(other);
            self.fill(host_index, other);
        }
    }

    /// Withdraws a vCPU from its CPU or its queue into `state`.
    fn hold_back(&mut self, world_index: usize, state: State, limited: bool) {
        let world = &self.worlds[world_index];
        let (host_index, cpu, local) = (world.host, world.cpu, world.local);
        match world.state {
            State::Run => {
                self.stop(host_index, cpu, state);
                self.hosts[host_index].scheduler.withdraw(local);
                self.worlds[world_index].limited = limited;
                self.refill(host_index, cpu);
            }
            State::Ready if !world.limited => {
                self.unqueue(world_index);
                self.enter(world_index, state);
                self.worlds[world_index].limited = limited;
            }
            State::CoStop if limited => {
                self.enter(world_index, state);
                self.worlds[world_index].limited = true;
            }
            State::Ready | State::CoStop | State::Wait => {}
        }
    }

    /// A world whose host is off stands still.
    pub fn halt(&mut self, world_index: usize) {
        self.hold_back(world_index, State::Wait, false);
        if self.worlds[world_index].state != State::Wait {
            self.enter(world_index, State::Wait);
            self.worlds[world_index].limited = false;
        }
    }

    // ---- co-scheduling

    /// Largest lag of the vCPUs of a VM that are not idle, other than `except`.
    fn slowest_lag(&mut self, vm_index: usize, except: usize) -> u64 {
        let vm = &mut self.vms[vm_index];
        if let Some(known) = vm.slowest_ns {
            return known;
        }
        let worlds = vm.first_world..vm.first_world + vm.vcpus;
        let slowest = worlds
            .filter(|&world| world != except && self.worlds[world].state != State::Wait)
            .map(|world| self.worlds[world].lag_ns)
            .max()
            .unwrap_or(0);
        vm.slowest_ns = Some(slowest);
        slowest
    }

    /// A vCPU waits for a CPU: from now on the leads of its siblings are checked.
    fn watch_lag(&mut self, world_index: usize) {
        let Some((vm_index, _)) = self.vcpu_of(world_index) else {
            return;
        };
        let vm = &mut self.vms[vm_index];
        if let Some(limits) = vm.cosched
            && vm.vcpus > 1
            && !vm.cosched_armed
        {
            vm.cosched_armed = true;
            self.clock
                .at(self.clock.now + limits.poll_ns, Event::Cosched(VmId::new(vm_index)));
        }
    }

    pub fn on_cosched(&mut self, vm_index: usize) {
        let vm = &mut self.vms[vm_index];
        let Some(limits) = vm.cosched else { return };
        let worlds = vm.first_world..vm.first_world + vm.vcpus;
        let now = self.clock.now;
        let states = self.worlds[worlds.clone()].iter().map(|world| {
            let held = matches!(world.state, State::Ready | State::CoStop) && !world.limited;
            let lag_ns = world.lag_ns + if held { now - world.since } else { 0 };
            match world.state {
                State::Wait => Progress::Idle,
                State::CoStop => Progress::Stopped { lag_ns },
                State::Run | State::Ready => Progress::Eligible { lag_ns },
            }
        });
        let mut decisions = std::mem::take(&mut self.decisions);
        judge(states, limits, &mut decisions);
        vm.slowest_ns = None;
        let first = vm.first_world;
        for &vcpu in &decisions.start {
            self.enter(first + vcpu, State::Ready);
            self.place(first + vcpu);
        }
        for &vcpu in &decisions.stop {
            self.hold_back(first + vcpu, State::CoStop, false);
        }
        self.decisions = decisions;
        let held = |world: usize| {
            let world = &self.worlds[world];
            world.state == State::CoStop || world.state == State::Ready && !world.limited
        };
        if worlds.into_iter().any(held) {
            self.clock.at(now + limits.poll_ns, Event::Cosched(VmId::new(vm_index)));
        } else {
            self.vms[vm_index].cosched_armed = false;
        }
    }

    // ---- limits

    pub fn on_limit(&mut self, vm_index: usize) {
        let vm = &self.vms[vm_index];
        let worlds = vm.first_world..vm.first_world + vm.vcpus;
        for world in worlds.clone() {
            if self.worlds[world].state == State::Run {
                self.close(world);
            }
        }
        let vm = &mut self.vms[vm_index];
        let Some(limit) = &mut vm.limit else { return };
        limit.checks += 1;
        if limit.checks == LIMIT_CHECKS_PER_PERIOD {
            limit.checks = 0;
            limit.left_ns = (limit.left_ns + limit.quota_ns).min(limit.quota_ns);
        }
        let exhausted = limit.left_ns <= 0.0;
        let was = std::mem::replace(&mut vm.throttled, exhausted);
        if exhausted && !was {
            for world in worlds {
                self.hold_back(world, State::Ready, true);
            }
        } else if was && !exhausted {
            for world in worlds {
                if self.worlds[world].limited {
                    self.close(world);
                    self.worlds[world].limited = false;
                    self.place(world);
                }
            }
        }
        self.clock
            .at(self.clock.now + LIMIT_CHECK_NS, Event::Limit(VmId::new(vm_index)));
    }

    // ---- balancing

    fn arm_thread_balance(&mut self, host_index: usize) {
        let host = &mut self.hosts[host_index];
        if host.balancing_threads || host.occupancy.crowded().is_none() {
            return;
        }
        host.balancing_threads = true;
        let period = host.scheduler.periods().threads_ns;
        let next = (self.clock.now / period + 1) * period;
        self.clock.at(next, Event::BalanceThreads(HostId::new(host_index)));
    }

    /// Moves a world that shares its core to a whole idle one.
    pub fn on_balance_threads(&mut self, host_index: usize) {
        self.hosts[host_index].balancing_threads = false;
        let Some((from, to)) = self.hosts[host_index].occupancy.crowded() else {
            return;
        };
        let world_index = self.hosts[host_index].cpus[from].world;
        let local = self.worlds[world_index].local;
        let host = &mut self.hosts[host_index];
        if !host.scheduler.domain(local).allows(&host.occupancy.topology, to) {
            return;
        }
        self.settle(host_index, from);
        if let Some(other) = self.hosts[host_index].occupancy.topology.sibling(from) {
            self.settle(host_index, other);
        }
        let host = &mut self.hosts[host_index];
        host.scheduler.migrate(local, to);
        host.vacate(from);
        host.occupy(to, local);
        let mut slot = host.cpus[from];
        if let Some(event) = host.cpus[from].event.take() {
            self.clock.cancel(event);
        }
        slot.event = None;
        slot.time = host.cpus[to].time;
        host.cpus[to] = slot;
        self.worlds[world_index].cpu = to;
        self.arm(host_index, to);
        if let Some(other) = self.hosts[host_index].occupancy.topology.sibling(from) {
            self.arm(host_index, other);
        }
        self.fill(host_index, from);
        self.arm_thread_balance(host_index);
    }

    /// Balancing that is of use only while worlds wait is armed when one starts to.
    fn arm_host_balance(&mut self, host_index: usize) {
        let host = &mut self.hosts[host_index];
        let periods = host.scheduler.periods();
        if periods.only_while_queued && !host.balancing_host {
            host.balancing_host = true;
            let next = self.clock.now + periods.host_ns;
            self.clock.at(next, Event::BalanceHost(HostId::new(host_index)));
        }
    }

    pub fn on_balance_host(&mut self, host_index: usize) {
        let periods = self.hosts[host_index].scheduler.periods();
        let mut busy_ns = Vec::new();
        if periods.only_while_queued {
            self.hosts[host_index].balancing_host = false;
        } else {
            for position in 0..self.hosts[host_index].worlds.len() {
                let world_index = self.hosts[host_index].worlds[position];
                self.close(world_index);
                let world = &mut self.worlds[world_index];
                let total = world.account.run_ns + world.account.ready_ns + world.account.costop_ns;
                busy_ns.push(total - world.balanced_ns);
                world.balanced_ns = total;
            }
        }
        let mut moved = Vec::new();
        self.hosts[host_index]
            .scheduler
            .balance(self.clock.now, &busy_ns, &mut moved);
        if !periods.only_while_queued {
            self.migrate_pages(host_index, periods.host_ns);
        }
        for local in moved {
            self.replace(host_index, local);
        }
        if periods.only_while_queued {
            if self.hosts[host_index].queued > 0 {
                self.arm_host_balance(host_index);
            }
        } else {
            let next = self.clock.now + periods.host_ns;
            self.clock.at(next, Event::BalanceHost(HostId::new(host_index)));
        }
    }

    /// A world whose home has moved is placed again.
    fn replace(&mut self, host_index: usize, local: WorldId) {
        let world_index = self.hosts[host_index].worlds[local as usize];
        let world = &self.worlds[world_index];
        let cpu = world.cpu;
        match world.state {
            State::Run => {
                self.stop(host_index, cpu, State::Ready);
                self.hosts[host_index].scheduler.withdraw(local);
                self.refill(host_index, cpu);
                self.place(world_index);
            }
            State::Ready if !world.limited => {
                self.unqueue(world_index);
                self.place(world_index);
            }
            State::Ready | State::CoStop | State::Wait => {}
        }
    }
}
