//! The life of a VM: it stops and starts, stands still and goes on, and comes to another host. Nothing else moves one.
//!
//! | verb | what it does |
//! |---|---|
//! | `stop_vm` | powers a VM off at once: it leaves its host, and what it had under way is lost |
//! | `place_vm` | gives a VM that is powered off, or paused and quiet, a place on a host |
//! | `start_vm` | powers a VM on that has a place: its guest begins from nothing |
//! | `pause_vm`, `resume_vm` | its vCPUs stand still, and go on where they were |
//! | `throttle_vm` | its vCPUs run for a part of the time only |
//! | `is_quiet` | whether nothing outside the guest works for it, so that a paused VM can be placed elsewhere |
//!
//! **Invariant.** Work in progress of a stopped VM has no effect: its processes are gone for good, and its next start
//! has new ones. Its I/Os release their slots at once, and are dropped when they return.
//!
//! **A VM moves by seven operations.** `engine/life.rs` stops, places, starts, pauses, resumes and throttles a VM, and
//! reports whether the VM is quiet. All decisions use these operations, and no other code moves a VM. Worlds, virtual
//! disks, rings and controllers keep their numbers for the whole run, so measurements of a VM continue. If a world
//! leaves a host, the host's list of worlds keeps a gap. Processes are new after each start, so earlier work in
//! progress has no recipient. *Enforced by* `crates/engine/tests/life.rs`, which runs random operations with the
//! checkers of the swarm. No VM is on two hosts, memory and slots are released, and started work is completed,
//! remaining, or lost with a stop.
//!
//! **Power-off aborts all work.** I/Os of the VM release their slots at once, because a hypervisor also aborts the
//! commands of a killed VM. An array or pool finishes its current work, and the engine drops the answer. Clients of an
//! open workload do not notice: arrivals and random streams continue without answers.

use crate::clock::Event;
use crate::cpu::Off;
use crate::ids::{HostId, VmId};
use crate::lives::{State, Throttle};
use crate::simulation::Simulation;
use hypertwin_kernel::Nanos;

/// How long a throttled VM runs between two rests, as QEMU has it (`CPU_THROTTLE_TIMESLICE_NS`).
const THROTTLED_RUN_NS: Nanos = 10_000_000;

impl Simulation {
    /// Powers a VM off at once. It leaves its host and is on none.
    pub fn stop_vm(&mut self, vm: VmId) {
        if self.lives[vm].state == State::Off {
            return;
        }
        let now = self.clock.now;
        self.throttle_vm(vm, 1.0);
        self.leave_host(vm);
        let Self {
            cpu, guests, storage, ..
        } = self;
        guests.stop(vm, |vcpu| cpu.left_ns(vcpu), now);
        cpu.clear(vm);
        storage.stop_vm(vm, &mut self.clock);
        let (is_gone, is_off) = (|process| guests.is_gone(process), |world| cpu.is_world_of(world, vm));
        self.clock.take_back(is_gone, is_off);
        let host = guests.vms()[vm].host;
        let is_void = |event| matches!(event, Event::Process(process) if guests.is_gone(process));
        self.faults.forget(host, is_void);
        self.lives[vm].set(State::Off, now);
        self.answer();
    }

    /// Gives a VM that is powered off, or paused and quiet, a place on a host that is up. It does not run yet.
    pub fn place_vm(&mut self, vm: VmId, host: HostId) {
        let now = self.clock.now;
        debug_assert!(self.faults.host(host).is_up(), "a VM comes to a host that is up");
        match self.lives[vm].state {
            State::Off => {}
            State::Paused => {
                debug_assert!(self.is_quiet(vm), "only a VM that is quiet moves");
                self.leave_host(vm);
            }
            State::Running | State::Placed => unreachable!("a VM that runs or has a place is not placed"),
        }
        self.lives[vm].placements += 1;
        let plan = self.blueprint.plan(vm, host, self.lives[vm].placements);
        let helpers = self.cpu.place_vm(&plan, &mut self.clock);
        self.guests.place(&plan, helpers);
        self.storage.place_vm(&plan);
        self.give_memory(vm, host);
        let life = &mut self.lives[vm];
        match life.state {
            State::Paused => life.come(self.faults.host(host).down_ns(now)),
            _ => life.set(State::Placed, now),
        }
    }

    /// Powers a VM on that has been given a place, on a host that is up.
    pub fn start_vm(&mut self, vm: VmId) {
        let (now, host) = (self.clock.now, self.guests.vms()[vm].host);
        debug_assert!(
            self.lives[vm].state == State::Placed && self.faults.host(host).is_up(),
            "a VM starts where it has a place, on a host that is up"
        );
        let first_process = self.guests.start(vm, &mut self.clock);
        self.storage.start_vm(vm, first_process, &mut self.clock);
        let life = &mut self.lives[vm];
        life.come(self.faults.host(host).down_ns(now));
        life.set(State::Running, now);
    }

    /// The vCPUs of a running VM stand still; the I/Os that it has in flight come back.
    pub fn pause_vm(&mut self, vm: VmId) {
        debug_assert!(self.lives[vm].state == State::Running, "only a VM that runs is paused");
        self.cpu.hold(vm, Off::Paused, &mut self.guests, &mut self.clock);
        self.lives[vm].set(State::Paused, self.clock.now);
    }

    /// A paused VM goes on.
    pub fn resume_vm(&mut self, vm: VmId) {
        debug_assert!(
            self.lives[vm].state == State::Paused,
            "only a VM that is paused goes on"
        );
        self.lives[vm].set(State::Running, self.clock.now);
        self.cpu.release(vm, Off::Paused, &mut self.guests, &mut self.clock);
    }

    /// The vCPUs of a VM run for this part of the time from now on, above 0 and at most 1: they run for 10 ms, and then
    /// rest for as long as it takes.
    pub fn throttle_vm(&mut self, vm: VmId, fraction: f64) {
        debug_assert!(fraction > 0.0 && fraction <= 1.0, "a part of the time");
        if let Some(Throttle { next, .. }) = self.lives[vm].throttle {
            self.clock.cancel(next);
        }
        self.cpu.release(vm, Off::Throttled, &mut self.guests, &mut self.clock);
        let now = self.clock.now;
        let throttle = (fraction < 1.0).then(|| Throttle {
            fraction,
            rests: false,
            next: self.clock.at(now + THROTTLED_RUN_NS, Event::Throttle(vm)),
        });
        self.lives[vm].set_throttle(throttle, now);
    }

    /// A throttled VM begins to rest, or goes on.
    pub fn on_throttle(&mut self, vm: VmId) {
        let throttle = self.lives[vm].throttle.as_mut();
        let throttle = throttle.expect("what throttles a VM ends with it");
        throttle.rests = !throttle.rests;
        let lasts_ns = match throttle.rests {
            true => (THROTTLED_RUN_NS as f64 * (1.0 / throttle.fraction - 1.0)).ceil() as Nanos,
            false => THROTTLED_RUN_NS,
        };
        throttle.next = self.clock.at(self.clock.now + lasts_ns, Event::Throttle(vm));
        match throttle.rests {
            true => self.cpu.hold(vm, Off::Throttled, &mut self.guests, &mut self.clock),
            false => self.cpu.release(vm, Off::Throttled, &mut self.guests, &mut self.clock),
        }
    }

    /// Whether nothing outside the guest works for a VM: no world of the hypervisor, and no I/O of its virtual disks is
    /// in flight. Timers of its processes may run.
    pub fn is_quiet(&self, vm: VmId) -> bool {
        self.guests.is_quiet(vm) && self.storage.is_quiet(vm) && self.reclaim.is_quiet(vm)
    }

    fn leave_host(&mut self, vm: VmId) {
        let host = self.guests.vms()[vm].host;
        self.lives[vm].leave(self.faults.host(host).down_ns(self.clock.now));
        if self.cpu.is_placed(vm) {
            self.reclaim.remove(vm, self.clock.now);
            self.cpu.remove_vm(vm, &mut self.guests, &mut self.clock);
        }
    }
}
