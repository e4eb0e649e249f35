//! What a point means: who suffers and by which signs, what limits each group, and the answer in a sentence.
//!
//! Every view of a result reads it here: the terminal, JSON, the page, `density`, `plan` and the classes of studies.
//! Bands are in one table, which the rules of `hypertwin diagnose` read, too.
//!
//! **Boundary.** Sees a finished report and what the scenario says of its groups ([`super::Task`]); simulates nothing.
//!
//! | file | |
//! |---|---|
//! | `signs.rs` | by which figures a VM suffers |
//! | `limits.rs` | what limits a group |
//! | `happened.rs` | failures, moves and losses, in sentences |
//! | `answer.rs` | the answer in a sentence |
//! | `words.rs` | figures, counts and lists in sentences |

mod answer;
mod happened;
mod limits;
mod signs;
mod words;

pub use answer::judge;
pub use words::number;
