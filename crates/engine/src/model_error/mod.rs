//! The twin's own error around the figures of a point: which error a figure has, and what it does to the answer.
//!
//! The errors themselves come from outside, as factors by area and kind ([`Intervals`]), so that new evidence changes
//! no figure of a run. Everything here reads a report as JSON, because results that were kept have intervals, too.
//!
//! **Boundary.** Sees scenarios and reports as JSON, and the bands; simulates nothing.
//! **Invariant.** No function of a figure but the four operations of arithmetic: the ends are the same on any computer.
//!
//! | file | |
//! |---|---|
//! | `kinds.rs` | the kind of a figure, and what an error of that kind does to it |
//! | `intervals.rs` | the factors by area and kind |
//! | `topology.rs` | what of a scenario decides the area of a group's figures |
//! | `point.rs` | the areas and intervals of the figures of a point |
//! | `answer.rs` | the answer, with what the error can break |

mod answer;
mod intervals;
mod kinds;
mod point;
mod topology;

pub use answer::with_error;
pub use intervals::{Intervals, IntervalsError};
pub use kinds::{Area, Kind, around, error_ratio, is_share, shifted};
pub use point::{ModelError, PointErrors};
