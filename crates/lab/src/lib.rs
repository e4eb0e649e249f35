//! Measurements of the real machine: how fast it computes, how its memory, timers and context switches behave, and
//! what happens when groups of threads contend for its CPUs.
//!
//! This crate reads clocks and starts threads, which the simulation core never does; nothing in the core uses it. It
//! works on Linux; elsewhere every measurement answers [`LabError::NotLinux`].
//!
//! - `experiment.rs`: groups of threads that contend for CPUs
//! - `spin.rs`, `bandwidth.rs`, `timers.rs`, `switching.rs`: one measurement each: computing, memory, late wake-ups,
//!   context switches
//! - `statistics.rs`: repeated measurements as one figure with its spread
//! - `system.rs`, `error.rs`: what the measurements need of Linux; why one could not be made

// The core's rules (no clock, no threads) are what this crate exists to break.
#![allow(clippy::disallowed_methods)]

#[cfg(target_os = "linux")]
pub mod bandwidth;
mod error;
#[cfg(target_os = "linux")]
pub mod experiment;
pub mod spin;
pub mod statistics;
#[cfg(target_os = "linux")]
pub mod switching;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
pub mod timers;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::*;
pub use error::LabError;
#[cfg(target_os = "linux")]
pub use {
    bandwidth::bandwidth, experiment::run as experiment, spin::speed as spin, switching::context_switch,
    timers::overshoot as timers,
};

/// The same functions where nothing can be measured.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::LabError;

    /// Speed of the spin kernel.
    pub fn spin(_cpus: &[usize], _samples: usize) -> Result<(), LabError> {
        Err(LabError::NotLinux)
    }

    /// Memory bandwidth.
    pub fn bandwidth(_cpus: &[usize], _array_bytes: usize, _repetitions: usize) -> Result<(), LabError> {
        Err(LabError::NotLinux)
    }

    /// How late sleeps end.
    pub fn timers(_cpu: usize, _sleep_ns: u64, _samples: usize) -> Result<(), LabError> {
        Err(LabError::NotLinux)
    }

    /// Cost of a context switch.
    pub fn context_switch(_cpu: usize, _rounds: usize, _repetitions: usize) -> Result<(), LabError> {
        Err(LabError::NotLinux)
    }

    /// Contention between threads.
    pub fn experiment(_experiment: &()) -> Result<(), LabError> {
        Err(LabError::NotLinux)
    }
}
