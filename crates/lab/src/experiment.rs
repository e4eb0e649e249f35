//! Real contention for CPUs: groups of threads, each a closed loop of think time and CPU burst, stand for VMs with one
//! thread per vCPU.
//!
//! A thread sleeps until its think time is over, works a burst of [`crate::spin`], notes the response and begins again.
//! In its loop it allocates nothing, takes no lock and does no input or output, so that threads meet on nothing but
//! the CPUs. Durations come from the named streams and the distributions of the simulation. What the kernel reports
//! about each thread is read from outside, when the measured window begins and ends.

use crate::LabError;
use crate::spin::spin;
use crate::statistics::quantile;
use crate::system::{exact_timers, now_ns, pin, sleep_until, thread_id};
use hypertwin_kernel::{Draw, Stream};
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: u64,
    /// Time before the measured window.
    pub warmup_s: f64,
    /// The measured window.
    pub measured_s: f64,
    /// Speed of the spin kernel, which turns the length of a burst into work.
    pub spin_units_per_s: f64,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Threads of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, part of the names of its streams.
    pub name: String,
    /// Threads.
    pub threads: usize,
    /// Logical CPUs on which they may run.
    pub cpus: Vec<usize>,
    /// Mean think time; 0 is none.
    pub think_mean_s: f64,
    /// Coefficient of variation of think times.
    pub think_cv: f64,
    /// Mean CPU burst, at the speed of the spin kernel.
    pub burst_mean_s: f64,
    /// Coefficient of variation of bursts.
    pub burst_cv: f64,
    /// The file of a control group to which each thread writes its number before it begins.
    #[serde(default)]
    pub tasks_file: Option<String>,
}

/// The measurements of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The measured window as it really was.
    pub measured_s: f64,
    /// One for each group, in order.
    pub groups: Vec<MeasuredGroup>,
    /// First line of `/proc/stat` when the window began and when it ended.
    pub cpu_ticks: [String; 2],
    /// `/proc/loadavg` when the window began and when it ended.
    pub load: [String; 2],
}

/// What one group did in the window.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredGroup {
    /// Its name.
    pub name: String,
    /// Transactions that ended in the window.
    pub transactions: usize,
    /// From the end of think time to the end of the burst.
    pub response_s: Distribution,
    /// One for each thread.
    pub threads: Vec<Account>,
}

/// Mean and percentiles, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// What the kernel accounts for one thread in the window (`/proc/PID/task/TID/schedstat`).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Account {
    /// Time on a CPU.
    pub run_s: f64,
    /// Time in a run queue.
    pub wait_s: f64,
    /// Times that it was put on a CPU.
    pub slices: u64,
}

/// A sample of one thread: when its transaction ended, and its response.
type Sample = (u64, u64);

const MOST_THREADS: usize = 4096;
const MOST_SAMPLES: f64 = 5e6;

impl Experiment {
    fn check(&self) -> Result<(), LabError> {
        let range = |name, value: f64, low: f64, high: f64, allowed| {
            if value >= low && value <= high {
                return Ok(());
            }
            Err(LabError::Parameter {
                name,
                value: value.to_string(),
                allowed,
            })
        };
        range("measured_s", self.measured_s, 0.01, 3600.0, "0.01 to 3600")?;
        range("warmup_s", self.warmup_s, 0.0, 3600.0, "0 to 3600")?;
        range("spin_units_per_s", self.spin_units_per_s, 1.0, 1e12, "1 to 1e12")?;
        let threads = self.groups.iter().map(|group| group.threads).sum::<usize>();
        range("threads in all", threads as f64, 1.0, MOST_THREADS as f64, "1 to 4096")?;
        for group in &self.groups {
            range("think_mean_s", group.think_mean_s, 0.0, 3600.0, "0 to 3600")?;
            range("think_cv", group.think_cv, 0.0, 10.0, "0 to 10")?;
            range("burst_mean_s", group.burst_mean_s, 1e-5, 3600.0, "1e-5 to 3600")?;
            range("burst_cv", group.burst_cv, 0.0, 10.0, "0 to 10")?;
        }
        Ok(())
    }
}

/// Runs `experiment` on this machine; takes its warm-up and its window, and a little more to start and stop.
///
/// # Errors
/// When a parameter is out of its range, a thread cannot be started, pinned or put into its control group, or `/proc`
/// lacks what is needed.
pub fn run(experiment: &Experiment) -> Result<Measured, LabError> {
    experiment.check()?;
    let threads: usize = experiment.groups.iter().map(|group| group.threads).sum();
    let ids: Vec<AtomicI32> = (0..threads).map(|_| AtomicI32::new(0)).collect();
    let (ready, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    // when the loops begin and end; none if they must not begin
    let span: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    // set after the accounts have been read for the last time: the threads live until then
    let read: OnceLock<()> = OnceLock::new();
    let seconds = |s: f64| (s * 1e9) as u64;
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for group in &experiment.groups {
            for number in 0..group.threads {
                let (id, ready, failed, span, read) = (&ids[handles.len()], &ready, &failed, &span, &read);
                let spawned = std::thread::Builder::new()
                    .name(format!("{}-{number}", group.name).chars().take(15).collect())
                    .spawn_scoped(scope, move || {
                        let prepared = prepare(group, id);
                        failed.fetch_or(prepared.is_err(), Ordering::AcqRel);
                        let room = room(experiment, group);
                        let mut samples: Vec<Sample> = Vec::with_capacity(room);
                        // touch the pages now, not in the loop
                        samples.resize(room, (0, 0));
                        samples.clear();
                        ready.fetch_add(1, Ordering::AcqRel);
                        if let &Some(span) = span.wait() {
                            work(experiment, group, number, span, &mut samples);
                            read.wait();
                        }
                        prepared.map(|()| samples)
                    });
                match spawned {
                    Ok(handle) => handles.push(handle),
                    Err(error) => {
                        span.get_or_init(|| None);
                        return Err(LabError::system("starting a thread", error));
                    }
                }
            }
        }
        while ready.load(Ordering::Acquire) < threads {
            std::thread::sleep(Duration::from_millis(1));
        }
        let window = if failed.load(Ordering::Acquire) {
            span.get_or_init(|| None);
            None
        } else {
            let start = now_ns() + 20_000_000;
            let begin = start + seconds(experiment.warmup_s);
            let end = begin + seconds(experiment.measured_s);
            span.get_or_init(|| Some((start, end)));
            sleep_until(begin);
            let first = (now_ns(), Snapshot::take(&ids));
            sleep_until(end);
            let last = (now_ns(), Snapshot::take(&ids));
            read.get_or_init(|| ());
            Some((first, last))
        };
        let mut samples = Vec::with_capacity(threads);
        for handle in handles {
            let ended = handle
                .join()
                .map_err(|_| LabError::system("an experiment", "a thread panicked"))?;
            samples.push(ended?);
        }
        let Some(((from, first), (to, last))) = window else {
            return Err(LabError::system("an experiment", "it could not begin"));
        };
        Ok(summary(experiment, (from, to), (&first?, &last?), &samples))
    })
}

/// Room for the samples of a thread that never waits for a CPU, with a margin for chance.
fn room(experiment: &Experiment, group: &Group) -> usize {
    let span = experiment.warmup_s + experiment.measured_s + 1.0;
    let expected = span / (group.think_mean_s + group.burst_mean_s);
    (expected * 1.5 + 6.0 * expected.sqrt() * (1.0 + group.burst_cv) + 1000.0).min(MOST_SAMPLES) as usize
}

fn prepare(group: &Group, id: &AtomicI32) -> Result<(), LabError> {
    let thread = thread_id();
    id.store(thread, Ordering::Release);
    pin(&group.cpus)?;
    exact_timers()?;
    if let Some(file) = &group.tasks_file {
        fs::write(file, format!("{thread}\n"))
            .map_err(|error| LabError::system(format!("putting a thread into {file}"), error))?;
    }
    Ok(())
}

/// The closed loop of one thread.
fn work(experiment: &Experiment, group: &Group, number: usize, (start, end): (u64, u64), samples: &mut Vec<Sample>) {
    let stream = |what: &str| Stream::named(experiment.seed, &format!("{}/{number}/{what}", group.name));
    let (mut thinking, mut bursting) = (stream("think"), stream("burst"));
    let think = Draw::new(group.think_mean_s * 1e9, group.think_cv);
    let burst = Draw::new(group.burst_mean_s * 1e9, group.burst_cv);
    let units_per_ns = experiment.spin_units_per_s / 1e9;
    let mut finished = start;
    while finished < end {
        let due = finished + think.sample(&mut thinking);
        if due > now_ns() {
            sleep_until(due.min(end));
        }
        if due >= end {
            return;
        }
        spin((burst.sample(&mut bursting) as f64 * units_per_ns) as u64);
        finished = now_ns();
        if samples.len() < samples.capacity() {
            samples.push((finished, finished - due));
        }
    }
}

/// What the kernel says at one moment.
struct Snapshot {
    accounts: Vec<Account>,
    cpu_ticks: String,
    load: String,
}

impl Snapshot {
    fn take(ids: &[AtomicI32]) -> Result<Self, LabError> {
        let read =
            |file: &str| fs::read_to_string(file).map_err(|error| LabError::system(format!("reading {file}"), error));
        let accounts = ids
            .iter()
            .map(|id| {
                let file = format!("/proc/self/task/{}/schedstat", id.load(Ordering::Acquire));
                read(&file).map(|text| account(&text))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            accounts,
            cpu_ticks: read("/proc/stat")?.lines().next().unwrap_or_default().to_owned(),
            load: read("/proc/loadavg")?.trim().to_owned(),
        })
    }
}

/// The three numbers of a `schedstat` file: nanoseconds run, nanoseconds waited, slices.
fn account(text: &str) -> Account {
    let mut numbers = text
        .split_ascii_whitespace()
        .map(|number| number.parse().unwrap_or(0u64));
    let mut next = || numbers.next().unwrap_or(0);
    Account {
        run_s: next() as f64 / 1e9,
        wait_s: next() as f64 / 1e9,
        slices: next(),
    }
}

fn summary(
    experiment: &Experiment,
    (from, to): (u64, u64),
    (first, last): (&Snapshot, &Snapshot),
    samples: &[Vec<Sample>],
) -> Measured {
    let mut thread = 0;
    let groups = experiment.groups.iter().map(|group| {
        let own = thread..thread + group.threads;
        thread = own.end;
        let mut responses: Vec<f64> = samples[own.clone()]
            .iter()
            .flatten()
            .filter(|sample| (from..=to).contains(&sample.0))
            .map(|sample| sample.1 as f64 / 1e9)
            .collect();
        responses.sort_by(f64::total_cmp);
        let accounts = own.map(|thread| {
            let (first, last) = (first.accounts[thread], last.accounts[thread]);
            Account {
                run_s: last.run_s - first.run_s,
                wait_s: last.wait_s - first.wait_s,
                slices: last.slices.saturating_sub(first.slices),
            }
        });
        MeasuredGroup {
            name: group.name.clone(),
            transactions: responses.len(),
            response_s: Distribution {
                mean: responses.iter().sum::<f64>() / responses.len().max(1) as f64,
                p50: quantile(&responses, 0.5),
                p95: quantile(&responses, 0.95),
                p99: quantile(&responses, 0.99),
            },
            threads: accounts.collect(),
        }
    });
    Measured {
        measured_s: (to - from) as f64 / 1e9,
        groups: groups.collect(),
        cpu_ticks: [first.cpu_ticks.clone(), last.cpu_ticks.clone()],
        load: [first.load.clone(), last.load.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, threads: usize) -> Group {
        Group {
            name: name.to_owned(),
            threads,
            cpus: vec![0],
            think_mean_s: 0.002,
            think_cv: 1.0,
            burst_mean_s: 0.001,
            burst_cv: 0.0,
            tasks_file: None,
        }
    }

    fn experiment(groups: Vec<Group>) -> Experiment {
        Experiment {
            seed: 1,
            warmup_s: 0.05,
            measured_s: 0.2,
            spin_units_per_s: 1e8,
            groups,
        }
    }

    #[test]
    fn a_run_tells_of_every_thread() {
        let measured = run(&experiment(vec![group("a", 2), group("b", 1)])).expect("CPU 0 may be used");
        assert_eq!(
            measured
                .groups
                .iter()
                .map(|group| group.threads.len())
                .collect::<Vec<_>>(),
            [2, 1]
        );
        for group in &measured.groups {
            assert!(group.transactions > 0, "{group:?}");
            assert!(group.response_s.p50 <= group.response_s.p95 && group.response_s.p95 <= group.response_s.p99);
            assert!(group.threads.iter().all(|thread| thread.slices > 0), "{group:?}");
        }
        assert!(measured.measured_s > 0.0);
        assert!(measured.cpu_ticks.iter().all(|line| line.starts_with("cpu ")));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let cases = [
            (
                Group {
                    threads: 0,
                    ..group("a", 1)
                },
                "threads in all is 0",
            ),
            (
                Group {
                    think_mean_s: -1.0,
                    ..group("a", 1)
                },
                "think_mean_s is -1",
            ),
            (
                Group {
                    burst_mean_s: f64::NAN,
                    ..group("a", 1)
                },
                "burst_mean_s is NaN",
            ),
            (
                Group {
                    cpus: vec![9999],
                    ..group("a", 1)
                },
                "CPU is 9999",
            ),
            (
                Group {
                    tasks_file: Some("/nowhere/tasks".to_owned()),
                    ..group("a", 1)
                },
                "/nowhere/tasks",
            ),
        ];
        for (group, expected) in cases {
            let error = run(&experiment(vec![group])).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn schedstat_is_read_by_position() {
        let read = account("2500000000 500000000 42\n");
        assert_eq!((read.run_s, read.wait_s, read.slices), (2.5, 0.5, 42));
    }
}
