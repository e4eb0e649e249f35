//! Movement: VMs restart where a host failed, and migrate for events, maintenance and balance.
//!
//! [`Movement`] decides: it knows who is where, what hosts and rules allow, and how far each migration is. What is to
//! be done to a VM it says in [`Order`]s, which the wire carries out at once. The rules are models (`migration`,
//! `restart`, `balancing`); here is their time.
//!
//! **Boundary.** It sees hosts, rules and sizes, which never change, and asks of running VMs only what [`Machines`]
//! answers. **Invariant.** A VM has one place, or none while it is dead; what it reserves is reserved where it is and
//! where it is going.
//!
//! | file | |
//! |---|---|
//! | `site.rs` | hosts, VMs and rules: who is where, and who may go where |
//! | `state.rs` | what is known at present: dead VMs, migrations, what is going to be done |
//! | `restarts.rs` | VMs of failed hosts, until they serve again |
//! | `migrations.rs` | migrations, from their request to their end |
//! | `transfer.rs` | what is sent of a VM: passes, rates, the CPU of both hosts |
//! | `actions/` | what a scenario does: hosts are emptied, VMs migrate |
//! | `balance.rs` | clusters are balanced, and rules mended |
//! | `history.rs` | what happened: moves, outages, VMs without a place |
//! | `build.rs` | from an island to all of these |
//!
//! **Decision and action are separate.** `movement/` handles failures, restarts, migrations, maintenance and balancing,
//! and issues orders to the event loop. The policies are in `models/{restart,migration,balancing}` and have no clock,
//! so that published timelines can be tested by hand.
//!
//! **Movement decides, the event loop executes.** `movement` knows hosts, rules and sizes, and issues orders.
//! `movement` does not use guests or processors, and makes three queries to running VMs. One file, `site.rs`, decides
//! the allowed hosts of VMs for restarts, migrations, maintenance and balancing.

mod actions;
mod balance;
mod build;
mod history;
mod migrations;
mod restarts;
mod site;
mod state;
mod transfer;

pub use history::{History, Move, MoveKind, Outage, Outcome, Unplaced, Why};

use history::seconds;
pub use restarts::detection_s;
pub use state::{Machines, Movement, Order};

use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, Id, VmId, WorldId};
use hypertwin_kernel::Nanos;

impl Movement {
    /// Something is due.
    pub fn on(&mut self, due: Due, machines: &impl Machines, clock: &mut Clock) {
        match due {
            Due::Detect(host) => self.detect(host, clock),
            Due::PoweredOn(vm) => self.powered_on(vm, clock),
            Due::Booted(vm) => self.booted(vm, clock),
            Due::TryAgain(vm) => self.try_again(vm, clock),
            Due::Begin(number) => self.begin_copy(number, machines, clock),
            Due::Scanned(number) => self.scanned(number, clock),
            Due::TimeOut(number) => self.time_out(number, clock),
            Due::Sent(number) => self.sent(number, machines, clock),
            Due::Settle(number) => self.settle(number, machines, clock),
            Due::Work(host) => self.work(host, machines, clock),
            Due::Action(number) => self.act(number, machines, clock),
            Due::Balance(cluster) => self.balance(cluster, machines, clock),
        }
    }

    /// An action begins or goes on.
    fn act(&mut self, number: u32, machines: &impl Machines, clock: &mut Clock) {
        let Some(mut action) = self.actions[number as usize].take() else {
            return;
        };
        if let Some(after) = action.act(self, machines, clock) {
            clock.at(clock.now + after, Event::Movement(Due::Action(number)));
            self.actions[number as usize] = Some(action);
        }
    }

    /// The next thing to do.
    pub fn order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// A host went down.
    pub fn host_down(&mut self, host: HostId, clock: &mut Clock) {
        if self.is_idle() {
            return;
        }
        self.site.hosts[host].is_up = false;
        let lost = self.give_up_on(host, clock);
        self.lose(host, &lost, clock);
        self.empty_hosts(clock);
    }

    /// A host came up.
    pub fn host_up(&mut self, host: HostId, clock: &mut Clock) {
        if self.is_idle() {
            return;
        }
        self.site.hosts[host].is_up = true;
        self.room_was_made(clock);
    }

    /// Nothing ever moves.
    fn is_idle(&self) -> bool {
        self.site.hosts.is_empty()
    }

    /// A VM begins to go from one host to another.
    fn note_move(&mut self, vm: VmId, [from, to]: [HostId; 2], kind: MoveKind, why: Why, clock: &Clock) {
        let name = |host: HostId| self.site.hosts[host].name.clone();
        self.history.moves.push(Move {
            at_s: seconds(clock.now),
            end_s: None,
            vm: self.site.vms[vm].name.clone(),
            from: name(from),
            to: name(to),
            kind,
            why,
            outcome: Outcome::Running,
            rounds: 0,
            sent_bytes: 0.0,
            downtime_ms: None,
        });
    }

    /// A VM has no place, because something is lacking.
    fn note_lack(&mut self, vm: VmId, lacks: String, clock: &Clock) {
        self.history.unplaced.push(Unplaced {
            vm: self.site.vms[vm].name.clone(),
            lacks,
            at_s: seconds(clock.now),
        });
    }

    /// A host, or room on one, can be used again: whatever waits for it is looked at.
    fn room_was_made(&mut self, clock: &mut Clock) {
        self.try_all_again(clock);
        self.empty_hosts(clock);
        self.begin_migrations(clock);
    }

    /// Measures from now; accounts of VMs are about to begin anew.
    pub fn reset(&mut self, machines: &impl Machines) {
        self.keep_runs(machines);
        self.keep_wanted(machines);
    }

    /// Worlds of a host's hypervisor that send and receive VMs.
    pub fn senders(&self, host: HostId) -> &[WorldId] {
        self.site
            .hosts
            .get(host.index())
            .map_or(&[], |host| &host.sender.worlds)
    }

    /// All that happened; `None` where nothing ever moves.
    pub fn history(&self, now: Nanos) -> Option<History> {
        if self.is_idle() {
            return None;
        }
        let mut history = self.history.clone();
        for &number in &self.under_way {
            self.migrations[number as usize].note_progress(&mut history, now);
        }
        Some(history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Event;
    use crate::ids::VmId;
    use state::Action;

    struct Idle;

    impl Machines for Idle {
        fn run_ns(&self, _: VmId) -> u64 {
            0
        }
        fn wanted_ns(&self, _: VmId) -> u64 {
            0
        }
        fn is_quiet(&self, _: VmId) -> bool {
            true
        }
        fn is_idle(&self, _: WorldId) -> bool {
            true
        }
    }

    /// Goes on after 5 ns, so often.
    struct Steps(u32);

    impl Action for Steps {
        fn act(&mut self, movement: &mut Movement, _: &dyn Machines, _: &mut Clock) -> Option<Nanos> {
            movement.orders.push_back(Order::Start(VmId::new(0)));
            self.0 = self.0.checked_sub(1)?;
            Some(5)
        }
    }

    #[test]
    fn an_action_goes_on_until_it_is_over() {
        let (mut movement, mut clock) = (Movement::default(), Clock::new(1_000));
        movement.actions.push(Some(Box::new(Steps(2))));
        clock.at(10, Event::Movement(Due::Action(0)));
        let mut times = Vec::new();
        while let Some(Event::Movement(due)) = clock.next() {
            movement.on(due, &Idle, &mut clock);
            times.push(clock.now);
        }
        assert_eq!((times, movement.orders.len()), (vec![10, 15, 20], 3));
        assert!(movement.actions[0].is_none());
    }
}
