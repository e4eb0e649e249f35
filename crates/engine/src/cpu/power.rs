//! Hosts that fail and return: what runs on them stands still in between, and goes on where it was.

use super::processors::{Power, Processors};
use crate::clock::Clock;
use crate::ids::HostId;
use crate::vcpu::Guest;
use hypertwin_models::accounting::State;

impl Processors {
    /// Everything on a host stands still.
    pub fn halt(&mut self, host: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            let wants_to_run = self.worlds[world].state != State::Wait;
            // before it stops, so that nothing that stops with it is put in its place
            self.worlds[world].power = Power::Off { wants_to_run };
        }
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            self.hold_back(world, State::Wait, false, guest, clock);
            if self.worlds[world].state != State::Wait {
                self.enter(world, State::Wait, clock.now);
                self.worlds[world].limited = false;
            }
        }
    }

    /// Everything on a host goes on.
    pub fn resume(&mut self, host: HostId, guest: &mut impl Guest, clock: &mut Clock) {
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            let power = std::mem::replace(&mut self.worlds[world].power, Power::On);
            if power == (Power::Off { wants_to_run: true }) {
                self.wake(world, guest, clock);
            }
        }
    }
}
