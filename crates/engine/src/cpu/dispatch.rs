//! What happens on logical CPUs: worlds start, run at the speed that their sibling leaves them, and stop.

use super::processors::{Due, Kind, Power, Processors};
use crate::clock::{Clock, Event};
use crate::ids::{HostId, WorldId};
use crate::vcpu::{Guest, Reaction, Vcpu};
use hypertwin_kernel::Nanos;
use hypertwin_models::accounting::State;
use hypertwin_models::rounding::round_up;
use hypertwin_models::scheduler::{Placement, SliceEnd};

impl Processors {
    /// Ends the interval since the last change of what runs on `cpu` and its sibling: accounts time, charges the world
    /// and advances its work.
    #[inline]
    pub(super) fn settle(&mut self, host_id: HostId, cpu: usize, now: Nanos) {
        let host = &self.hosts[host_id];
        if host.cpus[cpu].since != now && host.occupancy.running(cpu).is_some() {
            self.settle_running(host_id, cpu, now);
        }
    }

    fn settle_running(&mut self, host_id: HostId, cpu: usize, now: Nanos) {
        let host = &mut self.hosts[host_id];
        let slot = &mut host.cpus[cpu];
        let passed = now - slot.since;
        slot.since = now;
        let waking = passed.min(slot.wake_ns);
        slot.wake_ns -= waking;
        let dt = passed - waking;
        let overlap = dt.min(slot.interrupt_ns);
        slot.interrupt_ns -= overlap;
        let shared = host.occupancy.sibling_busy(cpu);
        slot.time.add(dt, shared);
        let world = &mut self.worlds[slot.world];
        world.account.add(State::Run, dt);
        if waking > 0 {
            // To its guest it is still idle, so it falls behind none of its siblings.
            world.account.add(State::Ready, waking);
            world.account.wakeup_ns += waking;
            world.account.starting_ns += waking;
        }
        world.since = now;
        let used = world
            .account
            .charge(dt, overlap, shared, host.shared_charge, host.clock_ratio);
        host.scheduler.charge(world.local, cpu, now, dt, used);
        // Time in the hypervisor is no progress of the guest.
        world.lag_ns += overlap;
        let work_ns = (dt - overlap) as f64 * world.speed[usize::from(shared)] * slot.memory_speed;
        world.work_ns -= work_ns;
        world.slice_ns = world.slice_ns.saturating_sub(dt);
        if !slot.metered {
            return;
        }
        let Some(Vcpu { vm, index }) = world.vcpu() else {
            return;
        };
        let group = &mut self.groups[vm];
        if group.memory.draws() {
            let node = host.occupancy.topology.node_of(cpu);
            let bytes = group.memory.bytes(work_ns, shared);
            let spread = group.memory.seen_by(index);
            host.memory.account(bytes, spread, node, &mut group.count.traffic);
        }
        if let Some(limit) = &mut group.limit {
            limit.charge(dt, used);
        }
    }

    /// Schedules the next thing that happens on the busy `cpu`: its work, its guest's slice or its own slice ends.
    pub(super) fn arm(&mut self, host_id: HostId, cpu: usize, clock: &mut Clock) {
        let host = &mut self.hosts[host_id];
        let shared = host.occupancy.sibling_busy(cpu);
        let slot = &mut host.cpus[cpu];
        let world = &self.worlds[slot.world];
        let left_ns = world.work_ns.max(0.0) / (world.speed[usize::from(shared)] * slot.memory_speed);
        let awake = slot.since + slot.wake_ns;
        let start = awake + slot.interrupt_ns;
        let mut next = slot.slice_end.min(start.saturating_add(round_up(left_ns)));
        if world.contended {
            next = next.min(awake + world.slice_ns);
        }
        let next = next.max(clock.now);
        let due = Event::Cpu {
            host: host_id,
            cpu: cpu as u32,
        };
        slot.event = Some(clock.move_to(next, slot.event, due));
    }

    /// Ends the time that a world which does not run has spent in its state.
    pub(super) fn close(&mut self, world_id: WorldId, now: Nanos) {
        let world = &mut self.worlds[world_id];
        if world.state == State::Run {
            let (host, cpu) = (world.host, world.cpu);
            self.settle(host, cpu, now);
            return;
        }
        let dt = now - world.since;
        world.since = now;
        world.account.add(world.state, dt);
        match world.state {
            State::Ready if world.limited => world.account.limited_ns += dt,
            State::Ready | State::CoStop => {
                world.lag_ns += dt;
                if world.waking {
                    world.account.wakeup_ns += dt;
                }
            }
            State::Wait if world.paging => world.account.swap_wait_ns += dt,
            State::Run | State::Wait => {}
        }
    }

    pub(super) fn enter(&mut self, world_id: WorldId, state: State, now: Nanos) {
        self.close(world_id, now);
        self.worlds[world_id].state = state;
    }

    /// A waiting world has work again.
    pub fn wake(&mut self, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        if let Power::Off { wants_to_run, .. } = &mut self.worlds[world_id].power {
            *wants_to_run = true;
            return;
        }
        debug_assert!(
            self.worlds[world_id].state == State::Wait,
            "only a world that waits wakes"
        );
        self.enter(world_id, State::Ready, clock.now);
        let mut throttled = false;
        if let Some(Vcpu { vm, .. }) = self.worlds[world_id].vcpu() {
            if self.groups[vm].cosched.is_some() {
                self.worlds[world_id].lag_ns = self.slowest_lag(vm, world_id, clock.now);
            }
            throttled = self.groups[vm].throttled;
            self.watch_limit(vm, clock);
        }
        let world = &mut self.worlds[world_id];
        world.asleep = true;
        world.waking = true;
        if throttled {
            world.limited = true;
        } else {
            self.place(world_id, guest, clock);
        }
    }

    /// Asks the scheduler where a ready world runs.
    pub(super) fn place(&mut self, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let world = &mut self.worlds[world_id];
        let (host_id, local) = (world.host, world.local);
        let woken = std::mem::take(&mut world.asleep);
        let wakes_up = woken && !std::mem::take(&mut world.is_awake);
        if let Some(cpu) = self.hosts[host_id].scheduler.consults(local) {
            self.settle(host_id, cpu, clock.now);
        }
        let host = &mut self.hosts[host_id];
        match host.scheduler.place(local, woken, clock.now, &host.occupancy) {
            Placement::Run(cpu) => {
                if wakes_up {
                    let world = &self.worlds[world_id];
                    let wake_up = match world.kind {
                        Kind::Service { .. } => host.wake_up.of_thread(),
                        _ => host.wake_up,
                    };
                    let is_polled = world.vcpu().is_some() && world.cpu == cpu;
                    let polled = is_polled
                        .then(|| wake_up.polled_ns(clock.now - world.halted_at))
                        .flatten();
                    let host_ns = || polled.unwrap_or_else(|| wake_up.ns(host.core_idle_ns(cpu, clock.now)));
                    host.cpus[cpu].wake_ns = world.wake_up_ns.unwrap_or_else(host_ns);
                }
                self.start(host_id, cpu, world_id, true, guest, clock);
            }
            Placement::Preempt(cpu) => self.preempt(host_id, cpu, world_id, guest, clock),
            queued @ (Placement::Queue | Placement::QueueAndReview(_)) => {
                self.hosts[host_id].queued += 1;
                self.watch_lag(world_id, clock);
                self.arm_host_balance(host_id, clock);
                if let Placement::QueueAndReview(cpu) = queued {
                    self.hosts[host_id].cpus[cpu].slice_end = clock.now;
                    self.arm(host_id, cpu, clock);
                }
            }
        }
    }

    /// Starts `world` on `cpu` instead of the world there, and of the sibling's world if it cannot share the core.
    fn preempt(&mut self, host_id: HostId, cpu: usize, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let occupancy = &self.hosts[host_id].occupancy;
        let rival = occupancy.rival(self.worlds[world_id].local, cpu);
        if let Some(sibling) = rival {
            // Until now it has shared the core with the victim.
            self.settle(host_id, sibling, clock.now);
        }
        let is_busy = self.hosts[host_id].occupancy.running(cpu).is_some();
        let victim = is_busy.then(|| self.displace(host_id, cpu, clock.now));
        let evicted = rival.map(|sibling| {
            let evicted = self.displace(host_id, sibling, clock.now);
            self.disarm(host_id, sibling, clock);
            evicted
        });
        self.start(host_id, cpu, world_id, false, guest, clock);
        for (world, _) in victim.into_iter().chain(evicted) {
            self.place(world, guest, clock);
        }
        if let Some(other) = rival.or(victim.and_then(|(_, freed)| freed)) {
            self.fill(host_id, other, guest, clock);
        }
    }

    /// Takes the world on `cpu` off it; it is ready, and to be placed again. Returns it and what `Occupancy::vacate`
    /// says.
    fn displace(&mut self, host_id: HostId, cpu: usize, now: Nanos) -> (WorldId, Option<usize>) {
        let world_id = self.stop(host_id, cpu, State::Ready, now);
        let host = &mut self.hosts[host_id];
        host.scheduler.withdraw(self.worlds[world_id].local);
        (world_id, host.vacate(cpu))
    }

    /// Nothing is due on the idle `cpu` any more.
    fn disarm(&mut self, host_id: HostId, cpu: usize, clock: &mut Clock) {
        if let Some(event) = self.hosts[host_id].cpus[cpu].event.take() {
            clock.cancel(event);
        }
    }

    /// Takes a ready world out of its queue.
    pub(super) fn unqueue(&mut self, world_id: WorldId) {
        let host = &mut self.hosts[self.worlds[world_id].host];
        host.scheduler.withdraw(self.worlds[world_id].local);
        host.queued -= 1;
    }

    /// Starts `world` on the idle `cpu`, where its wake-up, if it needs one, is noted already. `sibling_changes`: the
    /// sibling saw an idle thread before and runs slower now.
    fn start(
        &mut self,
        host_id: HostId,
        cpu: usize,
        world_id: WorldId,
        sibling_changes: bool,
        guest: &mut impl Guest,
        clock: &mut Clock,
    ) {
        let sibling = self.hosts[host_id].occupancy.topology.sibling(cpu);
        let busy_sibling =
            sibling.filter(|&other| sibling_changes && self.hosts[host_id].occupancy.running(other).is_some());
        if let Some(other) = busy_sibling {
            self.settle(host_id, other, clock.now);
        }
        self.enter(world_id, State::Run, clock.now);
        let world = &mut self.worlds[world_id];
        let last = std::mem::replace(&mut world.cpu, cpu);
        world.waking = false;
        let topology = self.hosts[host_id].occupancy.topology;
        if topology.nodes > 1 && topology.node_of(last) != topology.node_of(cpu) {
            self.change_node(host_id, world_id, last, clock.now);
        }
        let world = &self.worlds[world_id];
        let host = &mut self.hosts[host_id];
        host.occupy(cpu, world.local);
        let slot = &mut host.cpus[cpu];
        (slot.memory_speed, slot.metered) = world.vcpu().map_or((1.0, false), |Vcpu { vm, index }| {
            let group = &self.groups[vm];
            let speed = group.memory.speed(index, cpu, &host.occupancy.topology);
            (speed, group.memory.draws() || group.limit.is_some())
        });
        slot.world = world_id;
        slot.since = clock.now;
        slot.interrupt_ns = 0;
        slot.slice_end = clock.now + host.scheduler.slice_ns(world.local, clock.now);
        self.arm(host_id, cpu, clock);
        if let Some(other) = busy_sibling {
            self.arm(host_id, other, clock);
        }
        self.arm_thread_balance(host_id, clock);
        if let Some(vcpu) = self.worlds[world_id].vcpu() {
            while let Some(reaction) = guest.next_interrupt(vcpu) {
                self.react(reaction, guest, clock);
            }
        }
    }

    /// A world begins to run on another node than before: without home nodes, that is where its VM's memory is local.
    fn change_node(&mut self, host_id: HostId, world_id: WorldId, last_cpu: usize, now: Nanos) {
        let (host, world) = (&self.hosts[host_id], &self.worlds[world_id]);
        if let Some(Vcpu { vm, index }) = world.vcpu()
            && host.scheduler.home(world.local).is_none()
        {
            let group = &mut self.groups[vm];
            let seen = group.memory.seen_by(index);
            let [before, after] = [last_cpu, world.cpu].map(|cpu| seen[host.occupancy.topology.node_of(cpu)]);
            group.local.add(now, (after - before) / group.vcpus.len() as f64);
        }
    }

    /// Does what a guest asks for when a process becomes runnable.
    pub fn react(&mut self, reaction: Reaction, guest: &mut impl Guest, clock: &mut Clock) {
        match reaction {
            Reaction::Start(vcpu, work) => {
                self.switch(vcpu, work);
                self.wake(self.world_of(vcpu), guest, clock);
            }
            Reaction::Wait(vcpu, is_first) => {
                let world_id = self.world_of(vcpu);
                let world = &mut self.worlds[world_id];
                world.contended = true;
                if is_first && world.state == State::Run {
                    let (host, cpu) = (world.host, world.cpu);
                    self.arm(host, cpu, clock);
                }
            }
        }
    }

    /// The completion of an I/O of a VM interrupts whatever runs on the logical CPU of `vcpu`, for `interrupt_ns` at
    /// the nominal clock.
    pub fn interrupt(&mut self, vcpu: Vcpu, interrupt_ns: f64, clock: &mut Clock) {
        let world = &self.worlds[self.world_of(vcpu)];
        if world.power != Power::On {
            return;
        }
        let (host_id, cpu) = (world.host, world.cpu);
        let host = &mut self.hosts[host_id];
        self.groups[vcpu.vm].count.system_ns += interrupt_ns;
        host.count.system_ns += interrupt_ns;
        let taken_ns = (interrupt_ns / host.clock_ratio) as u64;
        if host.occupancy.running(cpu).is_some() {
            host.cpus[cpu].interrupt_ns += taken_ns;
            self.arm(host_id, cpu, clock);
        } else {
            let shared = host.occupancy.sibling_busy(cpu);
            host.count.idle_interrupts.add(taken_ns, shared);
        }
    }

    /// The world on `cpu` stops and enters `state`; the occupancy still shows it. Returns the world.
    pub(super) fn stop(&mut self, host_id: HostId, cpu: usize, state: State, now: Nanos) -> WorldId {
        self.settle(host_id, cpu, now);
        let slot = &mut self.hosts[host_id].cpus[cpu];
        slot.wake_ns = 0;
        let world_id = slot.world;
        self.worlds[world_id].state = state;
        world_id
    }

    /// Gives `cpu`, whose world has stopped, to the next ready world, or leaves it idle.
    pub(super) fn refill(&mut self, host_id: HostId, cpu: usize, guest: &mut impl Guest, clock: &mut Clock) {
        let host = &mut self.hosts[host_id];
        if let Some(local) = host.scheduler.next(cpu, clock.now, &host.occupancy) {
            host.queued -= 1;
            let world = host.worlds[local as usize];
            let freed = host.vacate(cpu);
            self.start(host_id, cpu, world, false, guest, clock);
            if let Some(other) = freed {
                self.fill(host_id, other, guest, clock);
            }
            return;
        }
        let sibling = host
            .occupancy
            .topology
            .sibling(cpu)
            .filter(|&other| host.occupancy.running(other).is_some());
        if let Some(other) = sibling {
            self.settle(host_id, other, clock.now);
        }
        let freed = self.hosts[host_id].vacate(cpu);
        self.disarm(host_id, cpu, clock);
        if let Some(other) = sibling {
            self.arm(host_id, other, clock);
        } else {
            self.arm_thread_balance(host_id, clock);
        }
        if let Some(other) = freed {
            self.fill(host_id, other, guest, clock);
        }
    }

    /// Gives the idle `cpu` a ready world, if there is one.
    pub(super) fn fill(&mut self, host_id: HostId, cpu: usize, guest: &mut impl Guest, clock: &mut Clock) {
        let host = &mut self.hosts[host_id];
        if host.occupancy.is_free(cpu)
            && let Some(local) = host.scheduler.next(cpu, clock.now, &host.occupancy)
        {
            host.queued -= 1;
            let world = host.worlds[local as usize];
            self.start(host_id, cpu, world, true, guest, clock);
        }
    }

    /// Something is due on `cpu`: for which world, and what. [`Self::go_on`] or [`Self::sleep`] follow.
    pub fn due(&mut self, host_id: HostId, cpu: usize, clock: &Clock) -> (WorldId, Due) {
        self.hosts[host_id].cpus[cpu].event = None;
        self.settle(host_id, cpu, clock.now);
        let slot = &self.hosts[host_id].cpus[cpu];
        let world = &self.worlds[slot.world];
        let due = match world.vcpu() {
            _ if world.work_ns <= 0.5 && slot.wake_ns == 0 && slot.interrupt_ns == 0 => Due::Work,
            Some(vcpu) if world.contended && world.slice_ns == 0 => Due::GuestSlice(vcpu),
            _ => Due::Slice,
        };
        (slot.world, due)
    }

    /// The running world has something to do, and goes on unless its slice is over.
    pub fn go_on(&mut self, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let (host_id, cpu) = (self.worlds[world_id].host, self.worlds[world_id].cpu);
        if clock.now >= self.hosts[host_id].cpus[cpu].slice_end {
            self.end_slice(host_id, cpu, world_id, guest, clock);
        } else {
            self.arm(host_id, cpu, clock);
        }
    }

    /// The running world has nothing to do any more.
    pub fn sleep(&mut self, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let (host_id, cpu) = (self.worlds[world_id].host, self.worlds[world_id].cpu);
        self.stop(host_id, cpu, State::Wait, clock.now);
        self.worlds[world_id].halted_at = clock.now;
        let world = &self.worlds[world_id];
        if let Some(Vcpu { vm, .. }) = world.vcpu()
            && self.groups[vm].slowest_ns == Some(world.lag_ns)
        {
            self.groups[vm].slowest_ns = None;
        }
        self.hosts[host_id].scheduler.sleep(world.local, clock.now);
        self.refill(host_id, cpu, guest, clock);
    }

    fn end_slice(&mut self, host_id: HostId, cpu: usize, world_id: WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let local = self.worlds[world_id].local;
        let sibling = self.hosts[host_id].occupancy.topology.sibling(cpu);
        if let Some(other) = sibling {
            self.settle(host_id, other, clock.now);
        }
        let host = &mut self.hosts[host_id];
        let verdict = host.scheduler.slice_end(local, cpu, clock.now, &host.occupancy);
        if let (SliceEnd::YieldCore(first), Some(other)) = (verdict, sibling) {
            let order = if first == cpu { [cpu, other] } else { [other, cpu] };
            self.yield_core(host_id, order, guest, clock);
            return;
        }
        if verdict == SliceEnd::Yield {
            self.stop(host_id, cpu, State::Ready, clock.now);
            let host = &mut self.hosts[host_id];
            if host
                .occupancy
                .find_idle(local, host.scheduler.domain(local), cpu)
                .is_some()
            {
                host.scheduler.withdraw(local);
                self.refill(host_id, cpu, guest, clock);
                self.place(world_id, guest, clock);
            } else {
                host.scheduler.put_back(local, cpu);
                host.queued += 1;
                self.refill(host_id, cpu, guest, clock);
                self.watch_lag(world_id, clock);
            }
            return;
        }
        host.cpus[cpu].slice_end = clock.now + host.scheduler.slice_ns(local, clock.now);
        if let (SliceEnd::ClaimCore, Some(other)) = (verdict, sibling) {
            let (rival, _) = self.displace(host_id, other, clock.now);
            self.disarm(host_id, other, clock);
            self.hosts[host_id].occupancy.withhold(other);
            self.place(rival, guest, clock);
        }
        self.arm(host_id, cpu, clock);
        if let (SliceEnd::ReleaseCore, Some(other)) = (verdict, sibling) {
            self.hosts[host_id].occupancy.release(other);
            self.fill(host_id, other, guest, clock);
        }
    }

    /// What runs on the threads of a core gives way to waiting worlds; the threads are filled in this order.
    fn yield_core(&mut self, host_id: HostId, threads: [usize; 2], guest: &mut impl Guest, clock: &mut Clock) {
        let displaced = threads.map(|cpu| {
            let is_busy = self.hosts[host_id].occupancy.running(cpu).is_some();
            let displaced = is_busy.then(|| self.displace(host_id, cpu, clock.now).0);
            self.disarm(host_id, cpu, clock);
            displaced
        });
        for cpu in threads {
            self.fill(host_id, cpu, guest, clock);
        }
        for world_id in displaced.into_iter().flatten() {
            self.place(world_id, guest, clock);
            self.watch_lag(world_id, clock);
        }
    }

    /// Withdraws a vCPU from its CPU or its queue into `state`.
    pub(super) fn hold_back(
        &mut self,
        world_id: WorldId,
        state: State,
        limited: bool,
        guest: &mut impl Guest,
        clock: &mut Clock,
    ) {
        let world = &self.worlds[world_id];
        let (host_id, cpu, local) = (world.host, world.cpu, world.local);
        match world.state {
            State::Run => {
                self.stop(host_id, cpu, state, clock.now);
                self.hosts[host_id].scheduler.withdraw(local);
                self.worlds[world_id].limited = limited;
                self.refill(host_id, cpu, guest, clock);
            }
            State::Ready if !world.limited => {
                self.unqueue(world_id);
                self.enter(world_id, state, clock.now);
                self.worlds[world_id].limited = limited;
            }
            State::CoStop if limited => {
                self.enter(world_id, state, clock.now);
                self.worlds[world_id].limited = true;
            }
            State::Ready | State::CoStop | State::Wait => {}
        }
    }
}
