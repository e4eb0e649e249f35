//! A run that is handed out sample by sample.

use crate::build::build;
use crate::clock::Event;
use crate::error::RunError;
use crate::measure::{Sample, Sampler};
use crate::simulation::Simulation;
use hypertwin_cluster::Scenario;

/// A simulation that goes on from sample to sample.
pub struct SampledRun {
    simulation: Simulation,
    sampler: Sampler,
}

impl SampledRun {
    /// A run of `scenario` with the random streams of `seed`: the same that [`crate::run`] makes.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let mut simulation = build(scenario, seed)?;
        simulation.storage.start_meter();
        let sampler = Sampler::new(scenario, simulation.observed());
        Ok(Self { simulation, sampler })
    }

    /// Goes on to the end of the next interval; `None` at the end of the run.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn next_sample(&mut self) -> Result<Option<Sample>, RunError> {
        while let Some(event) = self.simulation.next_event()? {
            let observed = self.simulation.observed();
            match event {
                Event::StartMeasuring => self.sampler.start(observed),
                Event::Sample => {
                    let timeline = &self.simulation.recorder.timeline;
                    return Ok(Some(self.sampler.sample(observed, timeline)));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}
