//! What movement knows and does at present: clusters and their dead VMs, migrations, what is going to be done.

use super::history::History;
use super::site::Site;
use crate::clock::Clock;
use crate::ids::{HostId, VmId, WorldId};
use hypertwin_cluster::BalancingPolicy;
use hypertwin_kernel::{EventId, Nanos};
use hypertwin_models::migration::{AutoConverge, PreCopy, SlowDown};
use hypertwin_models::restart::Policy;
use hypertwin_models::rounding::round;
use std::collections::VecDeque;

/// What the wire does to a VM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// It is powered off, at once.
    Stop(VmId),
    /// It gets a place on a host.
    Place(VmId, HostId),
    /// It begins to serve.
    Start(VmId),
    Pause(VmId),
    Resume(VmId),
    /// Its vCPUs get this part of their time.
    Throttle(VmId, f64),
}

/// What movement asks of running VMs and worlds.
pub trait Machines {
    /// Time that a VM's vCPUs have run since measuring began, or before that since the start.
    fn run_ns(&self, vm: VmId) -> u64;
    /// Likewise the time that they ran or were held back.
    fn wanted_ns(&self, vm: VmId) -> u64;
    /// Whether it has no I/O in flight.
    fn is_quiet(&self, vm: VmId) -> bool;
    /// Whether a world has nothing to do.
    fn is_idle(&self, world: WorldId) -> bool;
}

/// All that moves VMs.
#[derive(Default)]
pub struct Movement {
    pub(super) seed: u64,
    pub(super) site: Site,
    pub(super) clusters: Vec<Cluster>,
    pub(super) migrations: Vec<Migration>,
    /// Numbers of those that are not over, in the order of their requests.
    pub(super) under_way: Vec<u32>,
    /// Actions by number; `None` once it is over.
    pub(super) actions: Vec<Option<Box<dyn Action>>>,
    pub(super) history: History,
    pub(super) orders: VecDeque<Order>,
}

/// A cluster in which VMs move or restart.
pub(super) struct Cluster {
    /// HA, if a policy restarts VMs.
    pub ha: Option<Ha>,
    /// How it is balanced, if it is.
    pub drs: Option<Drs>,
    /// VMs that wait to be powered on, by class and then as they were lost.
    pub queue: Vec<VmId>,
    /// Power-ons at present.
    pub power_ons: Vec<VmId>,
    /// VMs that are dead.
    pub dead: Vec<Dead>,
}

/// How a cluster is balanced.
#[derive(Clone, Copy)]
pub(super) struct Drs {
    pub policy: BalancingPolicy,
    pub threshold: u32,
    pub period_ns: Nanos,
}

/// Who restarts the VMs of a cluster.
pub(super) struct Ha {
    pub policy: &'static Policy,
    /// From a failure until the first restart, where the scenario says it: the shortest and the longest time.
    pub detection_s: Option<[f64; 2]>,
    pub boot_ns: Nanos,
    pub primary: Option<HostId>,
    pub has_heartbeat_datastores: bool,
    pub has_quorum_device: bool,
}

/// A VM between its loss and its next life.
pub(super) struct Dead {
    pub vm: VmId,
    /// The host that it was lost with, and when that is noticed.
    pub host: HostId,
    pub detected: Nanos,
    pub stage: DeadStage,
    pub attempts: usize,
    /// What ends its power-on or boot, or tries again.
    pub events: [Option<EventId>; 2],
    /// Its numbers in the history.
    pub outage: usize,
    pub restart: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeadStage {
    Unnoticed,
    Queued,
    /// No host takes it; it is tried again.
    Unplaced,
    Booting,
}

impl Cluster {
    pub fn new(ha: Option<Ha>, drs: Option<Drs>) -> Self {
        Self {
            ha,
            drs,
            queue: Vec::new(),
            power_ons: Vec::new(),
            dead: Vec::new(),
        }
    }

    pub fn dead(&mut self, vm: VmId) -> &mut Dead {
        let found = self.dead.iter_mut().find(|dead| dead.vm == vm);
        found.expect("it is dead")
    }
}

/// Where a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waits for a place at both hosts.
    Queued,
    SetUp,
    /// The first pass looks for pages that are zero.
    Scan,
    /// Sends while the VM runs.
    Passes,
    /// Sends while it stands still.
    LastCopy,
    /// It stands still until it may go on.
    Settling,
    /// It has gone on, and misses pages.
    Fetching,
    Over,
}

/// Slowing down the VM, by the rules of its hypervisor.
pub(super) enum Slowing {
    Nothing,
    SlowDown(SlowDown),
    AutoConverge(AutoConverge),
    PostCopy,
}

/// A VM on its way.
pub(super) struct Migration {
    pub vm: VmId,
    pub from: HostId,
    pub to: HostId,
    pub stage: Stage,
    pub copy: PreCopy,
    /// Bytes of this pass that are left at `since`, and what is sent per second.
    pub left: f64,
    pub rate: f64,
    pub since: Nanos,
    pub event: Option<EventId>,
    pub slowing: Slowing,
    /// Part of its time that the VM gets.
    pub speed: f64,
    /// Time that the VM had run when this pass began; negative for what it ran before measuring began.
    pub run_ns: i64,
    pub began: Nanos,
    pub stopped: Nanos,
    /// Its number in the history.
    pub entry: usize,
}

/// Something that an event of the scenario does.
pub(super) trait Action: Send {
    /// Does it, or goes on with it; the time after which it goes on again, if it is not over.
    fn act(&mut self, movement: &mut Movement, machines: &dyn Machines, clock: &mut Clock) -> Option<Nanos>;
}

pub(super) fn nanos(seconds: f64) -> Nanos {
    round(seconds * 1e9)
}
