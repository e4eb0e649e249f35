//! Who gets what when demand exceeds capacity: pure solvers without state, time or randomness.
//!
//! - `division.rs`: [`max_min`] and [`proportional_share`], division of a capacity among claims by water-filling.
//! - `flows.rs`: [`max_min_flows`], max-min fair rates of flows that go through several resources at once.
//! - `closed.rs`: [`closed_network`], exact mean value analysis of a closed queueing network.
//! - `stations.rs`: [`erlang_b`], [`erlang_c`], [`mm1`], [`mmc`], [`mg1`], [`mg1_ps`], [`machine_repairman`], single
//!   stations.
//! - `scalability.rs`: [`UniversalScalability`], speed-up under contention and coherency delay.
//!
//! Quantities have no fixed unit: capacities and demands share one unit, times another, and rates are its inverse.

mod closed;
mod division;
mod flows;
mod scalability;
mod stations;

pub use closed::{ClosedNetwork, closed_network, throughput_bound};
pub use division::{Claim, max_min, proportional_share};
pub use flows::{Flow, max_min_flows};
pub use scalability::UniversalScalability;
pub use stations::{SteadyState, erlang_b, erlang_c, fork_join_mean, machine_repairman, mg1, mg1_ps, mm1, mmc};
