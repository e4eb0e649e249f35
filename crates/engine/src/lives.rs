//! What each VM does at present, and for how long it has not run.
//!
//! **Invariant.** A VM is on one host or on none; one that is on none is powered off, or paused and about to be placed.

use crate::ids::{Table, VmId};
use hypertwin_kernel::{EventId, Nanos};

/// What a VM does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is powered on.
    Running,
    /// It stands still; its guest keeps what it had.
    Paused,
    /// It is powered off and has a place on its host.
    Placed,
    /// It is powered off and has no place.
    Off,
}

/// A VM.
pub struct Life {
    pub state: State,
    /// How often it has been placed after the first time.
    pub placements: u32,
    /// The part of the time that its vCPUs may run.
    pub throttle: Option<Throttle>,
    off: Spell,
    slow: Spell,
    /// For how long hosts that it was on were down: those before the present one; and what that had been down for when
    /// the VM came, `None` while it is off.
    earlier_hosts_down_ns: Nanos,
    host_down_ns: Option<Nanos>,
}

/// A VM that runs for a part of the time only.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    pub fraction: f64,
    /// Whether it rests at present.
    pub rests: bool,
    /// When that changes.
    pub next: EventId,
}

/// Time that something lasts or has lasted, since measuring began.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    since: Option<Nanos>,
    before_ns: Nanos,
}

impl Spell {
    fn set(&mut self, is_on: bool, now: Nanos) {
        match (self.since, is_on) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.before_ns += now - since;
                self.since = None;
            }
            _ => {}
        }
    }

    fn total(&self, now: Nanos) -> Nanos {
        self.before_ns + self.since.map_or(0, |since| now - since)
    }

    fn reset(&mut self, now: Nanos) {
        *self = Self {
            since: self.since.map(|_| now),
            before_ns: 0,
        };
    }
}

impl Life {
    /// What it does changes.
    pub fn set(&mut self, state: State, now: Nanos) {
        self.state = state;
        self.off.set(self.is_off(), now);
        self.note_slowness(now);
    }

    /// It is throttled from now on, or not any more.
    pub fn set_throttle(&mut self, throttle: Option<Throttle>, now: Nanos) {
        self.throttle = throttle;
        self.note_slowness(now);
    }

    fn note_slowness(&mut self, now: Nanos) {
        self.slow
            .set(self.state == State::Paused || self.throttle.is_some(), now);
    }

    /// Whether it is powered off.
    pub fn is_off(&self) -> bool {
        matches!(self.state, State::Off | State::Placed)
    }

    /// It leaves its host, which has been down for `down_ns`, or is powered off there.
    pub fn leave(&mut self, down_ns: Nanos) {
        if let Some(before) = self.host_down_ns.take() {
            self.earlier_hosts_down_ns += down_ns - before;
        }
    }

    /// It is powered on, or goes on, on a host that has been down for `down_ns`.
    pub fn come(&mut self, down_ns: Nanos) {
        self.host_down_ns = Some(down_ns);
    }

    /// Time that it was powered off.
    pub fn off_ns(&self, now: Nanos) -> Nanos {
        self.off.total(now)
    }

    /// Time that it was paused or throttled.
    pub fn slow_ns(&self, now: Nanos) -> Nanos {
        self.slow.total(now)
    }

    /// Time that it did not run because it was powered off, or its host was: that has been down for `host_down_ns`.
    pub fn down_ns(&self, host_down_ns: Nanos, now: Nanos) -> Nanos {
        let here = self.host_down_ns.map_or(0, |before| host_down_ns - before);
        self.off_ns(now) + self.earlier_hosts_down_ns + here
    }
}

/// All VMs.
pub struct Lives(Table<VmId, Life>);

impl Lives {
    /// VMs that run.
    pub fn new(vms: usize) -> Self {
        let life = |_| Life {
            state: State::Running,
            placements: 0,
            throttle: None,
            off: Spell::default(),
            slow: Spell::default(),
            earlier_hosts_down_ns: 0,
            host_down_ns: Some(0),
        };
        Self((0..vms).map(life).collect())
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        for life in self.0.iter_mut() {
            life.off.reset(now);
            life.slow.reset(now);
            life.earlier_hosts_down_ns = 0;
            life.host_down_ns = life.host_down_ns.map(|_| 0);
        }
    }
}

impl std::ops::Index<VmId> for Lives {
    type Output = Life;

    fn index(&self, vm: VmId) -> &Life {
        &self.0[vm]
    }
}

impl std::ops::IndexMut<VmId> for Lives {
    fn index_mut(&mut self, vm: VmId) -> &mut Life {
        &mut self.0[vm]
    }
}
