//! Guests: what the processes of VMs do. They compute in bursts, have I/Os or delays after each, and think.
//!
//! **Boundary.** [`Guests`] decides which process each vCPU executes, and what a process does next. It knows no logical
//! CPU and no device: vCPUs get [`Work`](crate::vcpu::Work) and [`Reaction`](crate::vcpu::Reaction)s, and what a
//! process wants of others is returned to the caller.
//! **Invariant.** A process is in one place at a time: thinking, with a timer in the calendar; runnable, in the run
//! queues of its guest's system or waiting for an interrupt; in the hands of a helper world or of storage; or parked,
//! free or at a barrier. All work that was begun is done or left (see `Guests::work`).
//!
//! | file | |
//! |---|---|
//! | `guests.rs` | VMs and processes: their state; what is measured of them |
//! | `process.rs` | what a process does: bursts, requests to helper worlds, delays |
//! | `interrupts.rs` | processes become runnable, and vCPUs switch between them |
//! | `paging.rs` | bursts that miss pages of their VM's memory |
//! | `load.rs` | where transactions come from: closed and open arrivals, load steps |
//! | `parallel.rs` | transactions on which all vCPUs of a VM work |
//! | `power.rs` | VMs are powered on and off, and come to another host |
//! | `build.rs` | from a scenario to all of these |

mod build;
mod guests;
mod interrupts;
mod load;
mod paging;
mod parallel;
mod power;
mod process;

pub use guests::{Ended, Guests, Timer};
pub use paging::PagedBy;
