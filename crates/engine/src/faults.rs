//! Faults: what fails and what returns, when, and what has to wait meanwhile.
//!
//! **Boundary.** [`Faults`] counts failures of hosts and of their network, which may overlap. What a failure means for
//! worlds and data is the business of those who have them.
//! **Invariant.** A host is down as long as one of its failures lasts, and what would have happened to its VMs waits
//! until then.

use crate::clock::{Clock, Event};
use crate::ids::{HostId, PoolId, Table, VmId};
use hypertwin_kernel::Nanos;

/// Something that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Host(HostId),
    Link(HostId),
    /// A device of a pool, by its number there.
    Device(PoolId, usize),
    /// Devices of a pool that join it, by the first of them and how many there are.
    Joining(PoolId, usize, usize),
    Rack(PoolId, u32),
    Metadata(PoolId, usize),
    /// A port of a host to arrays, and one of an array, by their numbers there.
    HostPort(HostId, usize),
    ArrayPort(usize, usize),
}

/// Parts that fail or return together.
#[derive(Clone, Debug)]
pub struct Action {
    /// Position of its failure in the island.
    pub entry: usize,
    pub parts: Vec<Part>,
    pub fails: bool,
    /// They never return.
    pub is_forever: bool,
    /// Disks return without their data.
    pub empties: bool,
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
    /// Since when it is down, and how long it was down before that since measuring began.
    down_since: Option<Nanos>,
    down_ns: Nanos,
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

    /// Time that it was down since measuring began.
    pub fn down_ns(&self, now: Nanos) -> Nanos {
        self.down_ns + self.down_since.map_or(0, |since| now - since)
    }

    /// What changes when one of its failures begins or ends.
    fn change(&mut self, action: &Action, now: Nanos) -> HostChange {
        let was_up = self.is_up();
        count(&mut self.failures, action.fails);
        self.gone += u32::from(action.fails && action.is_forever);
        match (was_up, self.is_up()) {
            (true, false) => {
                self.down_since = Some(now);
                HostChange::WentDown
            }
            (false, true) => {
                self.down_ns = self.down_ns(now);
                self.down_since = None;
                HostChange::CameUp
            }
            _ => HostChange::Nothing,
        }
    }
}

/// Hosts that went down or came up together.
pub struct HostIncident {
    pub at: Nanos,
    /// Position of the failure in the island.
    pub entry: usize,
    /// As the scenario names what failed or returned.
    pub what: String,
    pub fails: bool,
    pub hosts: Vec<HostId>,
    /// VMs that were there.
    pub vms: Vec<VmId>,
}

/// All failures.
pub struct Faults {
    schedule: Vec<Action>,
    hosts: Table<HostId, HostFaults>,
    history: Vec<HostIncident>,
}

impl Faults {
    /// No failures of `hosts` hosts.
    pub fn new(hosts: usize) -> Self {
        Self {
            schedule: Vec::new(),
            hosts: (0..hosts).map(|_| HostFaults::default()).collect(),
            history: Vec::new(),
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
    pub fn change_host(&mut self, host: HostId, action: &Action, now: Nanos) -> HostChange {
        let change = self.hosts[host].change(action, now);
        if change != HostChange::Nothing {
            self.note(host, action, now);
        }
        change
    }

    fn note(&mut self, host: HostId, action: &Action, now: Nanos) {
        let same = |last: &&mut HostIncident| last.at == now && last.fails == action.fails && last.what == action.what;
        match self.history.last_mut().filter(same) {
            Some(last) => last.hosts.push(host),
            None => self.history.push(HostIncident {
                at: now,
                entry: action.entry,
                what: action.what.clone(),
                fails: action.fails,
                hosts: vec![host],
                vms: Vec::new(),
            }),
        }
    }

    /// VMs that were on the host which has just changed.
    pub fn note_vms(&mut self, vms: impl Iterator<Item = VmId>) {
        if let Some(last) = self.history.last_mut() {
            last.vms.extend(vms);
        }
    }

    /// What happened to hosts since the start of the run.
    pub fn history(&self) -> &[HostIncident] {
        &self.history
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        for host in self.hosts.iter_mut() {
            host.down_ns = 0;
            host.down_since = host.down_since.map(|_| now);
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

    /// What was deferred for a host and `is_void` will not happen.
    pub fn forget(&mut self, host: HostId, is_void: impl Fn(Event) -> bool) {
        self.hosts[host].deferred.retain(|&event| !is_void(event));
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
