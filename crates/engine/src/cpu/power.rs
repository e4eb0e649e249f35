//! Worlds that may not run, because their host has failed or their VM is paused or throttled: they stand still, and go
//! on where they were.

use super::processors::{Off, Power, Processors};
use crate::clock::Clock;
use crate::ids::{HostId, VmId, WorldId};
use crate::vcpu::Guest;
use hypertwin_models::accounting::State;

impl Processors {
    /// Everything on a host stands still.
    pub fn halt(&mut self, host: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        let worlds = self.worlds_on(host);
        self.switch_off(&worlds, Off::Host, guest, clock);
    }

    /// Everything on a host goes on.
    pub fn resume(&mut self, host: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        let worlds = self.worlds_on(host);
        self.switch_on(&worlds, Off::Host, guest, clock);
    }

    /// The vCPUs of a VM stand still; what the hypervisor does for it goes on.
    pub fn hold(&mut self, vm: VmId, why: Off, guest: &mut impl Guest, clock: &mut Clock) {
        let vcpus: Vec<WorldId> = self.groups[vm].vcpus.iter().collect();
        self.switch_off(&vcpus, why, guest, clock);
    }

    /// The vCPUs of a VM go on, unless something else holds them.
    pub fn release(&mut self, vm: VmId, why: Off, guest: &mut impl Guest, clock: &mut Clock) {
        let vcpus: Vec<WorldId> = self.groups[vm].vcpus.iter().collect();
        self.switch_on(&vcpus, why, guest, clock);
    }

    pub(super) fn switch_off(&mut self, worlds: &[WorldId], why: Off, guest: &mut impl Guest, clock: &mut Clock) {
        for &world in worlds {
            // before it stops, so that nothing that stops with it is put in its place
            let wants_to_run = self.worlds[world].state != State::Wait;
            self.worlds[world].power.switch_off(why, wants_to_run);
        }
        for &world in worlds {
            self.hold_back(world, State::Wait, false, guest, clock);
            if self.worlds[world].state != State::Wait {
                self.enter(world, State::Wait, clock.now);
                self.worlds[world].limited = false;
            }
        }
    }

    fn switch_on(&mut self, worlds: &[WorldId], why: Off, guest: &mut impl Guest, clock: &mut Clock) {
        for &world in worlds {
            if self.worlds[world].power.switch_on(why) {
                self.wake(world, guest, clock);
            }
        }
    }

    /// Worlds that are on a host at present.
    fn worlds_on(&self, host: HostId) -> Vec<WorldId> {
        let positions = 0..self.hosts[host].worlds.len();
        positions.filter_map(|position| self.occupant(host, position)).collect()
    }

    /// The world at a position among those of a host; `None` where it has left.
    pub(super) fn occupant(&self, host: HostId, position: usize) -> Option<WorldId> {
        let id = self.hosts[host].worlds[position];
        let world = &self.worlds[id];
        let is_here = world.host == host && world.local as usize == position && world.is_placed();
        is_here.then_some(id)
    }
}

impl Power {
    /// One more reason not to run.
    fn switch_off(&mut self, why: Off, wants: bool) {
        match self {
            Self::On => {
                *self = Self::Off {
                    why: why as u8,
                    wants_to_run: wants,
                }
            }
            Self::Off { why: all, .. } => *all |= why as u8,
        }
    }

    /// A reason is gone; whether the world runs again, and has something to do.
    fn switch_on(&mut self, why: Off) -> bool {
        let Self::Off { why: all, wants_to_run } = self else {
            return false;
        };
        *all &= !(why as u8);
        let wakes = *all == 0 && *wants_to_run;
        if *all == 0 {
            *self = Self::On;
        }
        wakes
    }
}
