//! Models of the parts of a virtualised host: one file each, a pure state automaton that names its source, its
//! assumptions and its range of validity. Models know neither the clock nor the calendar; times are integer nanoseconds
//! that the caller passes in.
//!
//! - `hypervisor/`: one folder per family: scheduler, accounting, virtual-NUMA rules
//! - `scheduler.rs`: `CpuScheduler`, the interface of a scheduling policy
//! - `coscheduling.rs`, `core_scheduling.rs`, `numa.rs`: relaxed co-scheduling; who may share a core; home nodes and
//!   their moves
//! - `topology.rs`, `cpu_set.rs`: logical CPUs, which of them are idle, where a world may run
//! - `rounding.rs`: from real to whole nanoseconds
//! - `smt.rs`, `accounting.rs`: speed of a hardware thread; time of worlds and processors
//! - `vnuma.rs`, `layout.rs`, `advice.rs`: a VM's virtual nodes; all VMs on their nodes; what that costs
//! - `memory.rs`: bandwidth of nodes and links, divided
//! - `reclamation/`: what a host does when the memory of its VMs does not fit
//! - `balancing/`: which VMs of a cluster migrate by themselves
//! - `migration/`, `restart/`: live migration; restart of VMs when a host fails
//! - `wake_up.rs`: how long an idle vCPU takes to begin
//! - `guest_system.rs`: processes on vCPUs, as the guest's system places them
//! - `storage/`: what takes how long on the I/O path, and durability

pub mod accounting;
pub mod advice;
pub mod balancing;
pub mod core_scheduling;
pub mod coscheduling;
pub mod cpu_set;
pub mod guest_system;
pub mod hypervisor;
pub mod layout;
pub mod memory;
pub mod migration;
pub mod numa;
pub mod reclamation;
pub mod restart;
pub mod rounding;
pub mod scheduler;
pub mod smt;
pub mod storage;
pub mod topology;
pub mod vnuma;
pub mod wake_up;
