//! Memory bandwidth by the four kernels of STREAM: J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current
//! High Performance Computers", IEEE TCCA Newsletter, 1995. Bytes are counted as there: a word read or written counts
//! once, what the cache fetches before a write does not.

use crate::LabError;
use crate::statistics::Figure;
use crate::system::{now_ns, pinned_threads};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Barrier;

/// Bandwidth of the kernels on some CPUs together, in bytes per second. `most` is what STREAM reports.
#[derive(Clone, Debug, Serialize)]
pub struct Bandwidth {
    /// The logical CPUs, one thread on each.
    pub cpus: Vec<usize>,
    /// Bytes of one of the three arrays, over all threads.
    pub array_bytes: usize,
    /// c = a
    pub copy_bytes_per_s: Figure,
    /// b = s c
    pub scale_bytes_per_s: Figure,
    /// c = a + b
    pub add_bytes_per_s: Figure,
    /// a = b + s c
    pub triad_bytes_per_s: Figure,
}

/// Words that each kernel moves for one element.
const WORDS: [usize; 4] = [2, 2, 3, 3];

/// Measures with one thread on each of `cpus`, which divide arrays of `array_bytes` and touch their parts first, so
/// that these lie on the node of their thread. The first repetition is not counted.
///
/// # Errors
/// When a CPU may not be used, or the arrays are too small to time.
pub fn bandwidth(cpus: &[usize], array_bytes: usize, repetitions: usize) -> Result<Bandwidth, LabError> {
    let elements = array_bytes / 8 / cpus.len().max(1);
    if elements < 1024 {
        return Err(LabError::Parameter {
            name: "the array",
            value: format!("{array_bytes} bytes"),
            allowed: "at least 8 KiB for each thread",
        });
    }
    let times = pinned_threads(cpus, |_, barrier| Ok(run(elements, repetitions.max(1) + 1, barrier)))?;
    let figure = |kernel: usize| {
        let rates = (1..=repetitions.max(1)).map(|repetition| {
            let spans = times.iter().map(|thread| thread[repetition][kernel]);
            let begin = spans.clone().map(|span| span.0).min().unwrap_or(0);
            let end = spans.map(|span| span.1).max().unwrap_or(0);
            let bytes = WORDS[kernel] * 8 * elements * cpus.len();
            bytes as f64 * 1e9 / (end - begin).max(1) as f64
        });
        Figure::of(rates.collect())
    };
    Ok(Bandwidth {
        cpus: cpus.to_vec(),
        array_bytes: elements * 8 * cpus.len(),
        copy_bytes_per_s: figure(0),
        scale_bytes_per_s: figure(1),
        add_bytes_per_s: figure(2),
        triad_bytes_per_s: figure(3),
    })
}

/// Begin and end of each kernel in each repetition, in nanoseconds.
fn run(elements: usize, repetitions: usize, barrier: &Barrier) -> Vec<[(u64, u64); 4]> {
    let (mut a, mut b, mut c) = (vec![1.0f64; elements], vec![2.0f64; elements], vec![0.5f64; elements]);
    let s = black_box(3.0);
    let timed = |work: &mut dyn FnMut()| {
        barrier.wait();
        let begin = now_ns();
        work();
        (begin, now_ns())
    };
    (0..repetitions)
        .map(|_| {
            let copy = timed(&mut || black_box(&mut c).copy_from_slice(black_box(&a)));
            let scale = timed(&mut || {
                for (b, c) in black_box(&mut b).iter_mut().zip(black_box(&c)) {
                    *b = s * c;
                }
            });
            let add = timed(&mut || {
                for ((c, a), b) in black_box(&mut c).iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                    *c = a + b;
                }
            });
            let triad = timed(&mut || {
                for ((a, b), c) in black_box(&mut a).iter_mut().zip(black_box(&b)).zip(black_box(&c)) {
                    // back to where it began, so that values stay bounded over any number of repetitions
                    *a = (b + s * c) * 0.0625;
                }
            });
            [copy, scale, add, triad]
        })
        .collect()
}
