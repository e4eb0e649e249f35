//! Live migration: what of a VM is sent, how often, how fast, and what that costs.
//!
//! Pure state automata and sums: the caller has the clock and knows what the VM wrote. Times are in seconds, memory in
//! bytes. See docs/models/migration.md.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | how a host migrates: what the scenario says, or else its hypervisor |
//! | `pre_copy.rs` | passes over what was written since the last one, and when the VM may switch |
//! | `convergence.rs` | slowing down a VM that writes too fast; running it without all of its memory |
//! | `link.rs` | shares of the links, and the CPU that sending takes |
//!
//! **A migration is a flow, not a time.** The passes of a migration share links with other migrations. They also depend
//! on the CPU time that the VM really got. The duration is therefore known only at the end. The calendar has one event
//! per pass.

pub mod convergence;
pub mod link;
pub mod pre_copy;
pub mod settings;

pub use convergence::{AutoConverge, SlowDown, post_copy_speed};
pub use link::{Transfer, cpu_cores, rates};
pub use pre_copy::PreCopy;
pub use settings::{Defaults, Settings};
