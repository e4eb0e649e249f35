//! Hosts that fail and return: what runs on them stands still in between, and goes on where it was.

use crate::clock::Event;
use crate::simulation::Simulation;
use hypertwin_models::accounting::State;

/// Whether a world's host is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    On,
    /// Off; and whether it will have something to do.
    Off {
        wants_to_run: bool,
    },
}

impl Simulation {
    /// Everything on a host stands still.
    pub fn power_off(&mut self, host: usize) {
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            let wants_to_run = self.worlds[world].state != State::Wait;
            // before it stops, so that nothing that stops with it is put in its place
            self.worlds[world].power = Power::Off { wants_to_run };
        }
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            self.halt(world);
        }
    }

    /// Puts off what happens to a machine if its host is off; whether it is.
    pub fn put_off(&mut self, host: usize, event: Event) -> bool {
        let host = &mut self.hosts[host];
        let off = host.failures > 0;
        if off {
            host.put_off.push(event);
        }
        off
    }

    /// Everything on a host goes on.
    pub fn power_on_again(&mut self, host: usize) {
        for event in std::mem::take(&mut self.hosts[host].put_off) {
            self.clock.at(self.clock.now, event);
        }
        for position in 0..self.hosts[host].worlds.len() {
            let world = self.hosts[host].worlds[position];
            let power = std::mem::replace(&mut self.worlds[world].power, Power::On);
            if power == (Power::Off { wants_to_run: true }) {
                self.wake_world(world);
            }
        }
    }
}
