//! All integration tests of the engine in one program, which links it once.
//!
//! What is forbidden to the core (clocks, threads, unordered maps, long functions), tests may have.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::too_many_lines)]

mod accounting;
mod array_paths;
mod ceph;
mod clusters;
mod codes;
mod copies;
mod core_scheduling;
mod crooked;
mod determinism;
mod devices;
mod failures;
mod io;
mod islands;
mod judgement;
mod life;
mod memory;
mod movement;
mod path;
mod pool;
mod pool_recovery;
mod pool_swarm;
mod reclaim;
mod samples;
mod steady;
mod support;
mod swarm;
mod tails;
mod theory;
mod vsan;
mod wake_up;
