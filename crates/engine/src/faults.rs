//! Faults: what fails and what returns, when, and what has to wait meanwhile.
//!
//! **Boundary.** [`Faults`] counts failures of hosts and of their network, which may overlap. What a failure means for
//! worlds and data is the business of those who have them.
//! **Invariant.** A host is down as long as one of its failures lasts, and what would have happened to its VMs waits
//! until then.

use crate::clock::{Clock, Event};
use crate::ids::{HostId, PoolId, Table};
use hypertwin_kernel::Nanos;

/// Something that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Host(HostId),
    Link(HostId),
    /// A device of a pool, by its number there.
    Device(PoolId, usize),
    Rack(PoolId, u32),
    Metadata(PoolId, usize),
}

/// Parts that fail or return together.
#[derive(Clone, Debug)]
pub struct Action {
    pub parts: Vec<Part>,
    pub fails: bool,
    /// They never return.
    pub is_forever: bool,
    /// As the scenario names them.
    pub what: String,
}

/// What a change made of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostChange {
    WentDown,
    CameUp,
    /// Another of its failures began or ended.
    Nothing,
}

/// Failures of one host at present.
#[derive(Default)]
pub struct HostFaults {
    failures: u32,
    link_failures: u32,
    /// Failures that will never end.
    gone: u32,
    /// What would have happened to its VMs, and happens when it is up again.
    deferred: Vec<Event>,
}

impl HostFaults {
    pub fn is_up(&self) -> bool {
        self.failures == 0
    }

    /// Whether its network works.
    pub fn is_linked(&self) -> bool {
        self.link_failures == 0
    }

    /// Whether it will never return.
    pub fn is_gone(&self) -> bool {
        self.gone > 0
    }
}

/// All failures.
pub struct Faults {
    schedule: Vec<Action>,
    hosts: Table<HostId, HostFaults>,
}

impl Faults {
    /// No failures of so many hosts.
    pub fn new(hosts: usize) -> Self {
        Self {
            schedule: Vec::new(),
            hosts: (0..hosts).map(|_| HostFaults::default()).collect(),
        }
    }

    /// `action` will happen at `time`.
    pub fn schedule(&mut self, time: Nanos, action: Action, clock: &mut Clock) {
        clock.at(time, Event::Failure(self.schedule.len() as u32));
        self.schedule.push(action);
    }

    /// An entry of the schedule.
    pub fn action(&self, index: u32) -> &Action {
        &self.schedule[index as usize]
    }

    /// Failures of a host.
    pub fn host(&self, host: HostId) -> &HostFaults {
        &self.hosts[host]
    }

    /// The network of a host fails or returns.
    pub fn change_link(&mut self, host: HostId, fails: bool) {
        count(&mut self.hosts[host].link_failures, fails);
    }

    /// A host fails or returns.
    pub fn change_host(&mut self, host: HostId, fails: bool, is_forever: bool) -> HostChange {
        let host = &mut self.hosts[host];
        let was_up = host.is_up();
        count(&mut host.failures, fails);
        host.gone += u32::from(is_forever);
        match (was_up, host.is_up()) {
            (true, false) => HostChange::WentDown,
            (false, true) => HostChange::CameUp,
            _ => HostChange::Nothing,
        }
    }

    /// Defers what happens to a VM while its host is down; whether it is.
    pub fn defer(&mut self, host: HostId, event: Event) -> bool {
        let host = &mut self.hosts[host];
        let is_down = !host.is_up();
        if is_down {
            host.deferred.push(event);
        }
        is_down
    }

    /// What was deferred for a host happens now.
    pub fn release(&mut self, host: HostId, clock: &mut Clock) {
        for event in self.hosts[host].deferred.drain(..) {
            clock.at(clock.now, event);
        }
    }
}

fn count(failures: &mut u32, fails: bool) {
    match fails {
        true => *failures += 1,
        false => {
            debug_assert!(*failures > 0, "what returns has failed before");
            *failures -= 1;
        }
    }
}
