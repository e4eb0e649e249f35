//! Balancing: worlds that share a core move to a whole one, and worlds and their memory to other nodes.

use super::processors::Processors;
use crate::clock::{Clock, Event};
use crate::ids::HostId;
use crate::vcpu::Guest;
use hypertwin_models::accounting::State;
use hypertwin_models::topology;

impl Processors {
    pub(super) fn arm_thread_balance(&mut self, host_id: HostId, clock: &mut Clock) {
        let host = &mut self.hosts[host_id];
        if host.balancing_threads || !host.occupancy.is_crowded() {
            return;
        }
        host.balancing_threads = true;
        let period = host.scheduler.periods().threads_ns;
        let next = (clock.now / period + 1) * period;
        clock.at(next, Event::BalanceThreads(host_id));
    }

    /// Moves a world that shares its core to a whole idle one.
    pub fn on_balance_threads(&mut self, host_id: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        self.hosts[host_id].balancing_threads = false;
        let host = &self.hosts[host_id];
        let may = |local: topology::WorldId, cpu: usize| {
            let domain = host.scheduler.domain(local);
            domain.allows(&host.occupancy.topology, cpu)
        };
        let Some((from, to)) = host.occupancy.crowded(may) else {
            return;
        };
        let world_id = host.cpus[from].world;
        let local = self.worlds[world_id].local;
        self.settle(host_id, from, clock.now);
        if let Some(other) = self.hosts[host_id].occupancy.topology.sibling(from) {
            self.settle(host_id, other, clock.now);
        }
        let host = &mut self.hosts[host_id];
        host.scheduler.migrate(local, to);
        host.vacate(from);
        host.occupy(to, local);
        let mut slot = host.cpus[from];
        if let Some(event) = host.cpus[from].event.take() {
            clock.cancel(event);
        }
        slot.event = None;
        host.cpus[from].wake_ns = 0;
        slot.time = host.cpus[to].time;
        host.cpus[to] = slot;
        self.worlds[world_id].cpu = to;
        self.arm(host_id, to, clock);
        if let Some(other) = self.hosts[host_id].occupancy.topology.sibling(from) {
            self.arm(host_id, other, clock);
        }
        self.fill(host_id, from, guest, clock);
        self.arm_thread_balance(host_id, clock);
    }

    /// Balancing that is of use only while worlds wait is armed when one starts to.
    pub(super) fn arm_host_balance(&mut self, host_id: HostId, clock: &mut Clock) {
        let host = &mut self.hosts[host_id];
        let periods = host.scheduler.periods();
        if periods.only_while_queued && !host.balancing_host {
            host.balancing_host = true;
            let next = (clock.now / periods.host_ns + 1) * periods.host_ns;
            clock.at(next, Event::BalanceHost(host_id));
        }
    }

    pub fn on_balance_host(&mut self, host_id: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        let periods = self.hosts[host_id].scheduler.periods();
        let mut busy_ns = Vec::new();
        if periods.only_while_queued {
            self.hosts[host_id].balancing_host = false;
        } else {
            for position in 0..self.hosts[host_id].worlds.len() {
                let Some(world_id) = self.occupant(host_id, position) else {
                    busy_ns.push(0);
                    continue;
                };
                self.close(world_id, clock.now);
                let world = &mut self.worlds[world_id];
                let total = world.account.run_ns + world.account.ready_ns + world.account.costop_ns;
                busy_ns.push(total - world.balanced_ns);
                world.balanced_ns = total;
            }
        }
        let mut moved = Vec::new();
        let host = &mut self.hosts[host_id];
        host.scheduler.balance(clock.now, &busy_ns, &host.occupancy, &mut moved);
        if !periods.only_while_queued {
            self.migrate_pages(host_id, periods.host_ns, clock.now);
        }
        for local in moved {
            self.replace(host_id, local, guest, clock);
        }
        if periods.only_while_queued {
            if self.hosts[host_id].queued > 0 {
                self.arm_host_balance(host_id, clock);
            }
        } else {
            let next = clock.now + periods.host_ns;
            clock.at(next, Event::BalanceHost(host_id));
        }
    }

    /// A world whose home has moved is placed again.
    fn replace(&mut self, host_id: HostId, local: topology::WorldId, guest: &mut impl Guest, clock: &mut Clock) {
        let world_id = self.hosts[host_id].worlds[local as usize];
        let world = &self.worlds[world_id];
        let cpu = world.cpu;
        match world.state {
            State::Run => {
                self.stop(host_id, cpu, State::Ready, clock.now);
                self.hosts[host_id].scheduler.withdraw(local);
                self.refill(host_id, cpu, guest, clock);
                self.place(world_id, guest, clock);
            }
            State::Ready if !world.limited => {
                self.unqueue(world_id);
                self.place(world_id, guest, clock);
            }
            State::Ready | State::CoStop | State::Wait => {}
        }
    }
}
