//! Memory of hosts as their VMs share it: what each has of it, what is taken away when it runs short, and who waits for
//! what.
//!
//! **Boundary.** [`Reclaim`] gets the VMs that come to and leave a host, and the ends of bursts. It knows no world, no
//! process and no disk: it returns how many pages a burst misses, and the wire fetches them. **Invariant.** Every page
//! that a VM has touched is in one place. What VMs hold of a host, the host's own memory and free memory add up to all
//! its memory (see `pages.rs`, `host.rs`). A host on which all fits has no events.
//!
//! | file | |
//! |---|---|
//! | `state.rs` | [`Reclaim`]: VMs come and leave; what is measured |
//! | `tick.rs` | a host looks after its memory |
//! | `fault.rs`, `waiting.rs` | bursts that miss pages, and who waits for them |
//! | `host.rs`, `tenant.rs`, `pages.rs` | a host; a VM on it; where its pages are |
//! | `measured.rs` | sums over time, and results |
//!
//! **Reclaimed memory is found at the end of a burst.** The number of missed pages follows from the work of the burst
//! and the reclaimed part of active pages. Fractions are carried over, so no random numbers are needed. VMs without
//! missed pages cost one branch, and a host with enough memory has no event.

mod fault;
mod host;
mod measured;
mod pages;
mod state;
mod tenant;
mod tick;
mod waiting;

pub use measured::{HostMemoryResult, VmMemoryResult};
pub use pages::{Away, PAGE, PageCounts};
pub use state::Reclaim;
pub use tenant::DECOMPRESS_NS;
pub use waiting::{Paging, Waiter};
