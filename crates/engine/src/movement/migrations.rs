//! Migrations, from their request to their end.
//!
//! A migration waits until both hosts have a place for it, is set up, sends passes, stops the VM for the last one,
//! waits until its I/Os are back, and goes on elsewhere. In post-copy it goes on after the first pass, and fetches the
//! rest.

use super::history::{History, MoveKind, Outcome, Why, seconds};
use super::state::{Machines, Migration, Movement, Order, Slowing, Stage, nanos};
use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, VmId};
use hypertwin_cluster::Convergence;
use hypertwin_kernel::Nanos;
use hypertwin_models::migration::{AutoConverge, PreCopy, SlowDown, post_copy_speed};

/// How often a VM that stands still is looked at until its I/Os are back.
const QUIET_NS: Nanos = 1_000_000;

impl Migration {
    /// What was sent until now is sent.
    pub fn settle(&mut self, now: Nanos) {
        self.left = (self.left - self.rate * (now - self.since) as f64 / 1e9).max(0.0);
        self.since = now;
    }

    /// Bytes that have been sent until now.
    fn sent(&self, now: Nanos) -> f64 {
        let left = match self.stage {
            Stage::Passes | Stage::LastCopy | Stage::Fetching => {
                (self.left - self.rate * (now - self.since) as f64 / 1e9).max(0.0)
            }
            Stage::Queued | Stage::SetUp | Stage::Scan | Stage::Settling | Stage::Over => self.copy.volume,
        };
        self.copy.sent + self.copy.volume - left
    }

    /// Says how far it is.
    pub fn note_progress(&self, history: &mut History, now: Nanos) {
        let note = &mut history.moves[self.entry];
        (note.rounds, note.sent_bytes) = (self.copy.passes, self.sent(now));
    }
}

impl Movement {
    /// Whether a VM runs, and is not on its way already.
    pub(super) fn can_leave(&self, vm: VmId) -> bool {
        let machine = &self.site.vms[vm];
        let is_on_host = machine.place.is_some_and(|host| self.site.hosts[host].is_up);
        machine.is_up && machine.target.is_none() && is_on_host
    }

    /// A VM is to migrate. Where the host does not take it, that is noted.
    pub(super) fn migrate(&mut self, vm: VmId, to: HostId, why: Why, clock: &mut Clock) {
        let machine = &self.site.vms[vm];
        let Some(from) = machine.place.filter(|&from| from != to && self.can_leave(vm)) else {
            return;
        };
        let taken = self.site.takes(to, vm);
        self.note_move(vm, [from, to], MoveKind::Migration, why, clock);
        let entry = self.history.moves.len() - 1;
        if let Err(lack) = taken {
            let note = &mut self.history.moves[entry];
            (note.outcome, note.end_s) = (Outcome::GivenUp, Some(note.at_s));
            return self.note_lack(vm, self.site.say(&lack), clock);
        }
        self.site.vms[vm].target = Some(to);
        self.site.enter(vm, to);
        let settings = self.site.hosts[from].migration;
        let slowing = match settings.convergence {
            Convergence::Nothing => Slowing::Nothing,
            Convergence::SlowDown => Slowing::SlowDown(SlowDown::default()),
            Convergence::AutoConverge | Convergence::AutoConverge4 => {
                let [initial, step] = settings.throttle;
                let is_before_5 = settings.convergence == Convergence::AutoConverge4;
                Slowing::AutoConverge(AutoConverge::new(initial, step, is_before_5))
            }
            Convergence::PostCopy => Slowing::PostCopy,
        };
        self.under_way.push(self.migrations.len() as u32);
        self.migrations.push(Migration {
            vm,
            from,
            to,
            stage: Stage::Queued,
            copy: PreCopy::new(self.site.vms[vm].memory),
            left: 0.0,
            rate: 0.0,
            since: clock.now,
            event: None,
            slowing,
            speed: 1.0,
            run_ns: 0,
            began: clock.now,
            stopped: clock.now,
            entry,
        });
        self.begin_migrations(clock);
    }

    /// Begins what waits and has a place at both hosts.
    pub(super) fn begin_migrations(&mut self, clock: &mut Clock) {
        for position in 0..self.under_way.len() {
            let number = self.under_way[position];
            let migration = &mut self.migrations[number as usize];
            let hosts = [migration.from, migration.to];
            let has_place = |&host: &HostId| {
                let there = &self.site.hosts[host];
                there.migrating < there.migration.concurrent
            };
            if migration.stage != Stage::Queued || !hosts.iter().all(has_place) {
                continue;
            }
            migration.stage = Stage::SetUp;
            migration.began = clock.now;
            let setup_ns = nanos(self.site.hosts[migration.from].migration.setup_s);
            let due = Event::Movement(Due::Begin(number));
            migration.event = Some(clock.at(clock.now + setup_ns, due));
            if let Some(timeout_s) = self.site.hosts[migration.from].migration.timeout_s {
                clock.at(clock.now + nanos(timeout_s), Event::Movement(Due::TimeOut(number)));
            }
            hosts.iter().for_each(|&host| self.site.hosts[host].migrating += 1);
        }
    }

    /// The first pass begins: it finds the pages that are zero, and then sends the others.
    pub(super) fn begin_copy(&mut self, number: u32, machines: &impl Machines, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        migration.run_ns = machines.run_ns(migration.vm) as i64;
        let zero_s_per_byte = self.site.hosts[migration.from].migration.zero_s_per_byte;
        let scan_ns = nanos(self.site.vms[migration.vm].zero * zero_s_per_byte);
        if scan_ns == 0 {
            return self.send(number, Stage::Passes, clock);
        }
        migration.stage = Stage::Scan;
        migration.event = Some(clock.at(clock.now + scan_ns, Event::Movement(Due::Scanned(number))));
    }

    /// The first pass has found all pages that are zero.
    pub(super) fn scanned(&mut self, number: u32, clock: &mut Clock) {
        self.send(number, Stage::Passes, clock);
    }

    /// Sends all of the volume at hand.
    fn send(&mut self, number: u32, stage: Stage, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        migration.stage = stage;
        migration.left = migration.copy.volume;
        migration.since = clock.now;
        migration.event = None;
        self.share_links(clock);
    }

    /// All of a pass, of the last copy or of what was missing has been sent.
    pub(super) fn sent(&mut self, number: u32, machines: &impl Machines, clock: &mut Clock) {
        self.migrations[number as usize].settle(clock.now);
        match self.migrations[number as usize].stage {
            Stage::Passes => self.end_pass(number, machines, clock),
            Stage::LastCopy => self.wait_to_resume(number, clock),
            Stage::Fetching => {
                let copy = &mut self.migrations[number as usize].copy;
                copy.sent += std::mem::take(&mut copy.volume);
                self.set_speed(number, 1.0);
                self.finish(number, Outcome::Done, clock);
            }
            stage => unreachable!("nothing is sent while {stage:?}"),
        }
    }

    fn end_pass(&mut self, number: u32, machines: &impl Machines, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        let (vm, settings) = (&self.site.vms[migration.vm], &self.site.hosts[migration.from].migration);
        let run_ns = machines.run_ns(migration.vm) as i64;
        let written = vm.dirty_rate * (run_ns - migration.run_ns) as f64 / 1e9;
        let sent = migration.copy.volume;
        migration.run_ns = run_ns;
        migration.copy.end_pass(written, vm.written_set);
        migration.left = migration.copy.volume;
        let id = migration.vm;
        if migration.copy.may_switch(migration.rate, settings.downtime_s) {
            migration.stopped = clock.now;
            self.orders.push_back(Order::Pause(id));
            return self.send(number, Stage::LastCopy, clock);
        }
        let speed = match &mut migration.slowing {
            Slowing::Nothing => None,
            Slowing::SlowDown(rule) => Some(rule.end_pass(sent, written)),
            Slowing::AutoConverge(rule) => Some(rule.end_period(sent, migration.copy.volume)),
            Slowing::PostCopy => {
                migration.stopped = clock.now;
                self.orders.push_back(Order::Pause(id));
                return self.wait_to_resume(number, clock);
            }
        };
        if let Some(speed) = speed {
            self.set_speed(number, speed);
        }
        self.send(number, Stage::Passes, clock);
    }

    /// A migration has taken as long as it may. It goes on if the VM stands still for its last copy, or has moved.
    pub(super) fn time_out(&mut self, number: u32, clock: &mut Clock) {
        if matches!(
            self.migrations[number as usize].stage,
            Stage::SetUp | Stage::Scan | Stage::Passes
        ) {
            self.give_up(number, clock);
        }
    }

    /// The VM gets this part of its time from now.
    fn set_speed(&mut self, number: u32, speed: f64) {
        let migration = &mut self.migrations[number as usize];
        if std::mem::replace(&mut migration.speed, speed) != speed {
            self.orders.push_back(Order::Throttle(migration.vm, speed));
        }
    }

    fn wait_to_resume(&mut self, number: u32, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        if migration.stage == Stage::LastCopy {
            migration.copy.sent += std::mem::take(&mut migration.copy.volume);
        }
        migration.stage = Stage::Settling;
        let resume_ns = nanos(self.site.hosts[migration.from].migration.resume_s);
        let due = Event::Movement(Due::Settle(number));
        migration.event = Some(clock.at(clock.now + resume_ns, due));
        self.share_links(clock);
    }

    /// The VM goes on at its new place, if its I/Os are back.
    pub(super) fn settle(&mut self, number: u32, machines: &impl Machines, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        let (vm, from, to) = (migration.vm, migration.from, migration.to);
        if !machines.is_quiet(vm) {
            let due = Event::Movement(Due::Settle(number));
            migration.event = Some(clock.at(clock.now + QUIET_NS, due));
            return;
        }
        let note = &mut self.history.moves[migration.entry];
        note.downtime_ms = Some((clock.now - migration.stopped) as f64 / 1e6);
        self.site.leave(vm, from);
        let machine = &mut self.site.vms[vm];
        (machine.place, machine.target) = (Some(to), None);
        self.orders.extend([Order::Place(vm, to), Order::Resume(vm)]);
        let missing = migration.copy.volume;
        if missing > 0.0 {
            let rate = self.site.hosts[from].migration.most;
            let speed = post_copy_speed(missing, machine.active, machine.page_rate, rate);
            self.set_speed(number, speed);
            return self.send(number, Stage::Fetching, clock);
        }
        self.set_speed(number, 1.0);
        self.finish(number, Outcome::Done, clock);
    }

    /// A migration is over; what waited for its place begins.
    fn finish(&mut self, number: u32, outcome: Outcome, clock: &mut Clock) {
        let migration = &mut self.migrations[number as usize];
        let has_place = migration.stage != Stage::Queued;
        migration.note_progress(&mut self.history, clock.now);
        let note = &mut self.history.moves[migration.entry];
        note.end_s = Some(seconds(clock.now));
        note.outcome = outcome;
        migration.stage = Stage::Over;
        if let Some(event) = migration.event.take() {
            clock.cancel(event);
        }
        let (vm, hosts) = (migration.vm, [migration.from, migration.to]);
        self.under_way.retain(|&other| other != number);
        if has_place {
            hosts.iter().for_each(|&host| self.site.hosts[host].migrating -= 1);
            self.share_links(clock);
        }
        self.go_on_emptying(vm, clock);
        self.room_was_made(clock);
    }

    /// A VM stays where it is, as fast as before.
    fn give_up(&mut self, number: u32, clock: &mut Clock) {
        let migration = &self.migrations[number as usize];
        let (vm, to) = (migration.vm, migration.to);
        self.site.leave(vm, to);
        self.site.vms[vm].target = None;
        if matches!(migration.stage, Stage::LastCopy | Stage::Settling) {
            self.orders.push_back(Order::Resume(vm));
        }
        self.set_speed(number, 1.0);
        self.finish(number, Outcome::GivenUp, clock);
    }

    /// Gives up the migrations from and to a host that failed. Returns VMs that have lost memory with it.
    pub(super) fn give_up_on(&mut self, host: HostId, clock: &mut Clock) -> Vec<VmId> {
        let mut lost = Vec::new();
        let concerned = |number: &u32| {
            let migration = &self.migrations[*number as usize];
            migration.from == host || migration.to == host
        };
        for number in self.under_way.iter().copied().filter(concerned).collect::<Vec<u32>>() {
            let migration = &self.migrations[number as usize];
            if migration.stage == Stage::Over {
                continue;
            }
            if migration.stage == Stage::Fetching {
                if migration.from == host {
                    lost.push(migration.vm);
                }
                self.set_speed(number, 1.0);
                self.finish(number, Outcome::GivenUp, clock);
            } else {
                self.give_up(number, clock);
            }
        }
        lost
    }

    /// Accounts are about to begin anew: time that VMs have run in their passes is kept.
    pub(super) fn keep_runs(&mut self, machines: &impl Machines) {
        for &number in &self.under_way {
            let migration = &mut self.migrations[number as usize];
            migration.run_ns -= machines.run_ns(migration.vm) as i64;
        }
    }
}
