//! Processors: which world runs on which logical CPU, at which speed, and what it is charged.
//!
//! A world is what a host's scheduler schedules: a vCPU, or a thread of the hypervisor or of storage. It carries its
//! own work; whoever gave the work hears when it is done, and gives the next. Each decision is the scheduler's, a
//! policy behind `CpuScheduler`; here is what follows from it.
//!
//! **Boundary.** [`Processors`] wakes worlds, gives them work, and handles the events that it has put in the calendar.
//! It knows no process and no I/O. When a vCPU begins to execute, it asks a [`Guest`](crate::vcpu::Guest) for the work.
//! **Invariant.** A world is in one place at a time: on one logical CPU, in a ready queue of its scheduler, held back
//! (co-stopped, limited, its host off) or asleep. Every nanosecond of it is in its account.
//!
//! | file | |
//! |---|---|
//! | `processors.rs` | hosts, worlds and groups of vCPUs: their state |
//! | `dispatch.rs` | worlds become ready, start, stop and are charged |
//! | `coscheduling.rs` | vCPUs that are too far ahead of their siblings |
//! | `limits.rs` | CPU limits: VMs are held back |
//! | `balance.rs` | between threads, cores and nodes |
//! | `memory.rs`, `bandwidth.rs` | where the memory of VMs is; how bandwidth is divided, and how pages move |
//! | `power.rs` | worlds that may not run: hosts that failed, VMs that are paused or throttled |
//! | `placement.rs` | VMs come to a host, and leave it |
//! | `build.rs` | from a scenario to hosts, worlds and groups of vCPUs |
//!
//! **A world carries its own work.** Guests, controllers and services set the work of a world and its speed. The
//! dispatcher knows no processes.
//!
//! **Each logical CPU has one event, which moves when the sibling wakes.** A thread's speed changes whenever its
//! sibling starts or stops. Each busy logical CPU has one pending event, not a list of completions per world. The event
//! is the end of the work, of the guest slice or of the quantum, whichever is first. When the sibling changes, the
//! thread's account is settled at the old speed, and its event moves. Each change costs two settlements and one move,
//! independent of the host's size.

mod balance;
mod bandwidth;
mod build;
mod coscheduling;
mod dispatch;
mod limits;
mod memory;
mod placement;
mod power;
mod processors;

pub use processors::{Due, Had, Host, Kind, NodeLoad, Off, Processors, World};
