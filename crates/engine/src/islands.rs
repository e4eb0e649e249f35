//! Islands: hosts that share nothing in a run, each simulated as a run of its own.

use crate::build;
use crate::error::RunError;
use crate::measure::{BUILD, Replication};
use hypertwin_cluster::Scenario;
use sha2::{Digest, Sha256};

/// A scenario cut into islands.
pub struct Islands {
    scenario: Scenario,
}

impl Islands {
    /// Cuts a scenario.
    ///
    /// # Errors
    /// [`RunError::NoPlacement`] if a VM fits on no host.
    pub fn of(scenario: Scenario) -> Result<Self, RunError> {
        scenario.placement().ok_or(RunError::NoPlacement)?;
        Ok(Self { scenario })
    }

    /// What each island's result depends on, its seed apart, as a hash: build and specification.
    #[must_use]
    pub fn keys(&self) -> Vec<[u8; 32]> {
        let mut hash = Sha256::new();
        hash.update(BUILD);
        hash.update(self.scenario.to_json());
        vec![hash.finalize().into()]
    }

    /// How much there is to simulate in each island, by its vCPUs.
    #[must_use]
    pub fn weights(&self) -> Vec<u64> {
        let vms = self.scenario.vms.values();
        vec![vms.map(|vm| u64::from(vm.vcpus) * u64::from(vm.count)).sum()]
    }

    /// Simulates an island with the random streams of `seed`.
    ///
    /// # Errors
    /// [`RunError`] if an open workload overloads its VM beyond all measure.
    pub fn run(&self, _island: usize, seed: u64) -> Result<Replication, RunError> {
        build::build(&self.scenario, seed)?.run(|_| ())
    }

    /// The replication of the whole scenario, from those of all islands in order.
    #[must_use]
    pub fn merge(&self, parts: &[&Replication]) -> Replication {
        parts[0].clone()
    }
}
