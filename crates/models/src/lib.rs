//! Models of the parts of a virtualised host: one file each, a pure state machine that names its source, its assumptions
//! and its range of validity. Models know neither the clock nor the calendar; times are integer nanoseconds that the
//! caller passes in.

pub mod accounting;
pub mod advice;
pub mod coscheduling;
pub mod cpu_set;
pub mod guest_system;
pub mod hypervisor;
pub mod layout;
pub mod memory;
pub mod numa;
pub mod scheduler;
pub mod smt;
pub mod storage;
pub mod topology;
pub mod vnuma;
