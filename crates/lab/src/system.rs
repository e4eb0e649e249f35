//! What the measurements need from Linux: clocks, pinning, sleeping, and the kernel's accounts of threads.

use crate::LabError;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::Barrier;

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time, in nanoseconds.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time that the calling thread has had, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Sleeps until the monotonic time `until_ns`.
pub fn sleep_until(until_ns: u64) {
    let time = Timespec {
        tv_sec: (until_ns / 1_000_000_000) as i64,
        tv_nsec: (until_ns % 1_000_000_000) as _,
    };
    while rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &time).is_err() {}
}

/// The kernel may no longer delay the calling thread's timers to save wake-ups.
pub fn exact_timers() -> Result<(), LabError> {
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))
        .map_err(|error| LabError::system("setting the timer slack", error))
}

/// The calling thread runs on `cpus` only.
pub fn pin(cpus: &[usize]) -> Result<(), LabError> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(LabError::Parameter {
                name: "CPU",
                value: cpu.to_string(),
                allowed: "below 1024",
            });
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(|error| LabError::system(format!("running on CPU {cpus:?}"), error))
}

/// Number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// One thread on each of `cpus`; each gets its CPU and a barrier for all of them, once it is pinned. Results in order.
///
/// A thread that cannot be pinned still meets the barrier `work` waits at once.
pub fn pinned_threads<T: Send>(
    cpus: &[usize],
    work: impl Fn(usize, &Barrier) -> Result<T, LabError> + Sync,
) -> Result<Vec<T>, LabError> {
    if cpus.is_empty() {
        return Err(LabError::Parameter {
            name: "CPUs",
            value: "none".to_owned(),
            allowed: "at least one",
        });
    }
    let barrier = Barrier::new(cpus.len());
    let ready = Barrier::new(cpus.len());
    let failed = std::sync::Mutex::new(None);
    let results: Vec<Option<Result<T, LabError>>> = std::thread::scope(|scope| {
        let handles: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let (barrier, ready, failed, work) = (&barrier, &ready, &failed, &work);
                scope.spawn(move || {
                    if let Err(error) = pin(&[cpu]) {
                        *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                    }
                    ready.wait();
                    let stopped = failed
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .is_some();
                    (!stopped).then(|| work(cpu, barrier))
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().ok().flatten()).collect()
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(error);
    }
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|| Err(LabError::system("measuring", "a thread ended early"))))
        .collect()
}
