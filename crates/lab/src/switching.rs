//! What a context switch costs: two threads on one CPU that hand a byte to and fro through pipes, as lmbench's lat_ctx
//! does (McVoy and Staelin, USENIX 1996), each way one write, one read that blocks, and one switch.

use crate::LabError;
use crate::statistics::Figure;
use crate::system::{now_ns, pinned_threads};
use rustix::fd::OwnedFd;
use rustix::pipe::pipe;
use std::sync::Mutex;

/// Nanoseconds of one hand-over on `cpu`: one figure per repetition of `rounds` round trips.
///
/// # Errors
/// When the CPU may not be used, or no pipe can be had.
pub fn context_switch(cpu: usize, rounds: usize, repetitions: usize) -> Result<Figure, LabError> {
    let refused = |error| LabError::system("handing over through a pipe", error);
    let (there_out, there_in) = pipe().map_err(refused)?;
    let (back_out, back_in) = pipe().map_err(refused)?;
    let ends: Mutex<Vec<(OwnedFd, OwnedFd, bool)>> =
        Mutex::new(vec![(there_out, back_in, false), (back_out, there_in, true)]);
    let (rounds, repetitions) = (rounds.max(1), repetitions.max(1));
    let measured = pinned_threads(&[cpu, cpu], |_, barrier| {
        let taken = ends.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let Some((from, to, leads)) = taken else {
            return Ok(Vec::new());
        };
        barrier.wait();
        let mut byte = [0u8; 1];
        let mut times = Vec::with_capacity(repetitions);
        for _ in 0..repetitions {
            let begin = now_ns();
            for _ in 0..rounds {
                if leads {
                    rustix::io::write(&to, &byte).map_err(refused)?;
                }
                rustix::io::read(&from, &mut byte).map_err(refused)?;
                if !leads {
                    rustix::io::write(&to, &byte).map_err(refused)?;
                }
            }
            times.push((now_ns() - begin) as f64 / (2 * rounds) as f64);
        }
        Ok(if leads { times } else { Vec::new() })
    })?;
    Ok(Figure::of(measured.into_iter().flatten().collect()))
}
