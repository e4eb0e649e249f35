//! A run whose caller stops, starts and moves VMs: tests drive the verbs of `life.rs` with it.

use crate::build::build;
use crate::error::RunError;
use crate::ids::{HostId, Id, VmId};
use crate::islands::Islands;
use crate::lives::State;
use crate::measure::{Replication, View};
use crate::simulation::Simulation;
use hypertwin_cluster::Scenario;

/// A running simulation between two events. VMs and hosts go by their positions.
pub struct Driver<'s>(&'s mut Simulation);

/// Simulates `scenario` as one island, and lets `drive` act after every event.
///
/// # Errors
/// As [`crate::run`].
pub fn driven_run(
    scenario: &Scenario,
    seed: u64,
    mut drive: impl FnMut(&mut Driver<'_>),
) -> Result<Replication, RunError> {
    let whole = Islands::undivided(scenario.clone())?;
    let mut simulation = build(&whole.island(0), seed);
    while simulation.next_event()?.is_some() {
        drive(&mut Driver(&mut simulation));
    }
    Ok(whole.merge(&[&simulation.finish()]))
}

impl Driver<'_> {
    /// The simulation, for reading.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(self.0.observed())
    }

    /// Powers a VM off.
    pub fn stop(&mut self, vm: usize) {
        self.act(|run| run.stop_vm(VmId::new(vm)));
    }

    /// Gives a VM a place on a host.
    pub fn place(&mut self, vm: usize, host: usize) {
        self.act(|run| run.place_vm(VmId::new(vm), HostId::new(host)));
    }

    /// Powers a VM on that has a place.
    pub fn start(&mut self, vm: usize) {
        self.act(|run| run.start_vm(VmId::new(vm)));
    }

    /// Pauses a VM.
    pub fn pause(&mut self, vm: usize) {
        self.act(|run| run.pause_vm(VmId::new(vm)));
    }

    /// Lets a paused VM go on.
    pub fn resume(&mut self, vm: usize) {
        self.act(|run| run.resume_vm(VmId::new(vm)));
    }

    /// Lets the vCPUs of a VM run for a part of the time only.
    pub fn throttle(&mut self, vm: usize, fraction: f64) {
        self.act(|run| run.throttle_vm(VmId::new(vm), fraction));
    }

    /// Whether nothing outside the guest works for a VM.
    #[must_use]
    pub fn is_quiet(&self, vm: usize) -> bool {
        self.0.is_quiet(VmId::new(vm))
    }

    /// Whether a host works.
    #[must_use]
    pub fn is_up(&self, host: usize) -> bool {
        self.0.faults.host(HostId::new(host)).is_up()
    }

    /// Whether a VM runs; one that is off or paused does not.
    #[must_use]
    pub fn runs(&self, vm: usize) -> bool {
        self.0.lives[VmId::new(vm)].state == State::Running
    }

    /// Whether a VM is powered off.
    #[must_use]
    pub fn is_off(&self, vm: usize) -> bool {
        self.0.lives[VmId::new(vm)].is_off()
    }

    fn act(&mut self, verb: impl FnOnce(&mut Simulation)) {
        verb(self.0);
        self.0.deliver_signals();
        if self.0.cpu.bandwidth_matters {
            self.0.cpu.share_memory(None, &mut self.0.clock);
        }
    }
}
