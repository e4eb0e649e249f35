//! The kind of a figure, by its path in a report, and what an error of that kind does to it.
//!
//! An error is the real figure over the twin's. Percentages of CPU time get points first, so that an error of a small
//! one is a number of points, and that of a large one a factor.

/// Points added to percentages of CPU time before their ratio is taken.
const OFFSET_POINTS: f64 = 5.0;

/// Percentile from which a latency is a tail.
const TAIL_FROM: u32 = 75;

/// Work, I/Os or bytes over time.
const WORK: [&str; 4] = ["iops", "mb_per_s", "throughput_per_s", "units_per_s"];

/// Starts of keys in such units that are settings, or that stop work.
const SETTINGS: [&str; 2] = ["scrub_due", "suspended"];

/// Percentages of CPU time, without their unit.
const SHARES: [&str; 14] = [
    "costop",
    "demand",
    "guest_cpu",
    "guest_cpu_peak",
    "limited",
    "overlap",
    "ready",
    "run",
    "swap_wait",
    "system",
    "usage",
    "used",
    "utilization",
    "waiting",
];

/// The part of the twin on which a figure depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Schedulers and hyper-threads.
    Cpu,
    /// Disks.
    Drives,
    /// Swapping and NUMA.
    Memory,
    /// Migrations.
    Movement,
    /// What an I/O passes before the disks of an array.
    Path,
    /// Distributed storage.
    Pools,
}

impl Area {
    const ALL: [Self; 6] = [
        Self::Cpu,
        Self::Drives,
        Self::Memory,
        Self::Movement,
        Self::Path,
        Self::Pools,
    ];

    /// The area of this name, if there is one.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    /// The name in the evidence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Drives => "drives",
            Self::Memory => "memory",
            Self::Movement => "movement",
            Self::Path => "path",
            Self::Pools => "pools",
        }
    }
}

/// What is measured by a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work, I/Os or bytes per second.
    Throughput,
    /// A mean or a median.
    Latency,
    /// A higher percentile.
    Tail,
    /// The time of a move.
    Duration,
    /// CPU time.
    Usage,
}

impl Kind {
    /// The kind of the figure at `path`, flat or nested (`response_ms_p99`, `response_ms.p99`), in an area if it is
    /// known; `None` for counts, sizes and settings, which have no error.
    pub fn of(path: &str, area: Option<Area>) -> Option<Self> {
        let (path, percentile) = without_percentile(path);
        if percentile.is_some_and(|percentile| percentile >= TAIL_FROM) {
            return Some(Self::Tail);
        }
        let path = ["mean", "median"]
            .iter()
            .find_map(|mean| path.strip_suffix(mean)?.strip_suffix(['.', '_']))
            .unwrap_or(path);
        let last = last_key(path);
        let is_time = last.ends_with("_ms");
        if ["seconds", "time_to_whole_s"].contains(&last) || (is_time && area == Some(Area::Movement)) {
            Some(Self::Duration)
        } else if is_time {
            Some(Self::Latency)
        } else if WORK.iter().any(|unit| last.ends_with(unit)) && !SETTINGS.iter().any(|start| last.starts_with(start))
        {
            Some(Self::Throughput)
        } else if is_share(last) || last == "service_cpus" || last.ends_with("_mhz") {
            Some(Self::Usage)
        } else {
            None
        }
    }

    /// The name in the evidence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Tail => "tail",
            Self::Duration => "duration",
            Self::Usage => "usage",
        }
    }
}

/// A path without `_p99` or `_p99_9` at its end, and the whole part of that percentile.
fn without_percentile(path: &str) -> (&str, Option<u32>) {
    let of = |text: &'_ str| {
        let start = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let stem = start.strip_suffix('p')?.strip_suffix(['.', '_'])?;
        // more digits than any percentile has are a tail
        (start.len() < text.len()).then(|| (stem.len(), text[start.len()..].parse().unwrap_or(u32::MAX)))
    };
    let whole = path.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let decimal = whole.strip_suffix('_').filter(|_| whole.len() < path.len());
    match decimal.and_then(of).or_else(|| of(path)) {
        Some((end, percentile)) => (&path[..end], Some(percentile)),
        None => (path, None),
    }
}

/// Whether the figure at a path is a percentage of CPU time.
pub fn is_share(path: &str) -> bool {
    last_key(path)
        .strip_suffix("_pct")
        .is_some_and(|name| SHARES.contains(&name))
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn offset(is_share: bool) -> f64 {
    if is_share { OFFSET_POINTS } else { 0.0 }
}

/// The factor between the real figure and the twin's; `None` if there is none, as one of them is zero or negative.
pub fn error_ratio(real: f64, twin: f64, is_share: bool) -> Option<f64> {
    let (real, twin) = (real + offset(is_share), twin + offset(is_share));
    (real > 0.0 && twin > 0.0).then_some(real / twin)
}

/// The real figure if the twin's has an error of this factor, never negative: the inverse of [`error_ratio`].
pub fn shifted(twin: f64, factor: f64, is_share: bool) -> f64 {
    ((twin + offset(is_share)) * factor - offset(is_share)).max(0.0)
}

/// The interval of the real figure, with the twin's figure in it. A percentage of time is at most 100.
pub fn around(twin: f64, low_factor: f64, high_factor: f64, is_share: bool) -> (f64, f64) {
    let [low, mut high] = [low_factor, high_factor].map(|factor| shifted(twin, factor, is_share));
    if is_share {
        high = high.min(100.0);
    }
    (low.min(twin), high.max(twin))
}
