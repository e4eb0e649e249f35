//! A run that is handed out sample by sample.
//!
//! **Samples are returned, not kept.** All samples of a run would take a thousand times a report's size. `SampledRun`
//! stops at the end of each interval, returns the changes, and continues. In a run without samples, each step of an I/O
//! costs one additional comparison.

use crate::build::build;
use crate::clock::Event;
use crate::error::RunError;
use crate::islands::Islands;
use crate::measure::{HostSample, Sample, Sampler};
use crate::ordered::sort_by;
use crate::simulation::Simulation;
use hypertwin_cluster::Scenario;

/// A simulation that goes on from sample to sample.
pub struct SampledRun {
    /// One for each island, with the positions of its hosts.
    parts: Vec<(Part, Vec<usize>)>,
}

struct Part {
    simulation: Simulation,
    sampler: Sampler,
}

impl SampledRun {
    /// A run of `scenario` with the random streams of `seed`: the same that [`crate::run`] makes.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        let islands = Islands::of(scenario.clone())?;
        let part = |number: usize| {
            let island = islands.island(number);
            let mut simulation = build(&island, seed);
            simulation.storage.start_meter();
            let sampler = Sampler::new(&island);
            (Part { simulation, sampler }, islands.hosts_of(number).to_vec())
        };
        Ok(Self {
            parts: (0..islands.len()).map(part).collect(),
        })
    }

    /// Goes on to the end of the next interval; `None` at the end of the run.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn next_sample(&mut self) -> Result<Option<Sample>, RunError> {
        let mut hosts: Vec<(usize, HostSample)> = Vec::new();
        let mut ends = None;
        for (part, positions) in &mut self.parts {
            // islands measure at the same times, so that all have a next sample or none has
            let Some(sample) = part.next_sample()? else {
                return Ok(None);
            };
            ends = Some((sample.time_s, sample.interval_s));
            hosts.extend(positions.iter().copied().zip(sample.hosts));
        }
        sort_by(&mut hosts, |a, b| a.0.cmp(&b.0));
        Ok(ends.map(|(time_s, interval_s)| Sample {
            time_s,
            interval_s,
            hosts: hosts.into_iter().map(|(_, host)| host).collect(),
        }))
    }
}

impl Part {
    fn next_sample(&mut self) -> Result<Option<Sample>, RunError> {
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
