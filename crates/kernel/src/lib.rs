//! The simulation kernel: a calendar of future events, named random streams and the statistics of a run.
//!
//! The kernel knows nothing about VMs. It does no input or output, reads no clock and starts no thread.
//!
//! Everything in it is deterministic: the same calls give the same bits on any computer. Time is counted in integer
//! nanoseconds, events leave the calendar in the order (time, priority, sequence), each random stream is seeded from
//! its name, and every transcendental function comes from the `libm` crate (written in Rust) and never from the
//! platform's mathematics library.
//!
//! - `calendar.rs`: pending events: schedule, cancel, move, pop
//! - `stream.rs`, `draw.rs`, `exponential.rs`: named random streams; quantities given by mean and coefficient of
//!   variation
//! - `statistics.rs`, `histogram.rs`: tallies, time averages, mergeable latency histograms
//! - `output_analysis.rs`: MSER-5, batch means, half-widths, trends
//!
//! ```
//! use hypertwin_kernel::{Calendar, Draw, Stream, Tally};
//!
//! let mut calendar = Calendar::new();
//! let mut arrivals = Stream::named(1, "arrivals");
//! let gap = Draw::new(1e6, 1.0); // exponential, 1 ms on average
//! let mut gaps = Tally::new();
//! calendar.schedule(gap.sample(&mut arrivals), 0, "arrival");
//! while let Some((now, event)) = calendar.pop() {
//!     assert_eq!(event, "arrival");
//!     let next = gap.sample(&mut arrivals);
//!     gaps.record(next as f64);
//!     if gaps.count() < 1000 {
//!         calendar.schedule(now + next, 0, "arrival");
//!     }
//! }
//! assert!((gaps.mean() - 1e6).abs() < 2e5);
//! ```

mod calendar;
mod draw;
mod exponential;
mod histogram;
mod output_analysis;
mod statistics;
mod stream;

pub use calendar::{Calendar, EventId};
pub use draw::Draw;
pub use histogram::Histogram;
pub use output_analysis::{batch_means, half_width_95, mser5, student_t_975, student_t_upper, trend};
pub use statistics::{Tally, TimeAverage};
pub use stream::{Stream, replication_seed};

/// Simulated time in whole nanoseconds since the start of the run. 64 bits last 584 years.
pub type Nanos = u64;
