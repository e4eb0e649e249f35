//! From which value on a figure is worth a look, or hurts: the one table.

use super::judgement::Severity;
use serde::Serialize;

/// The limits of a figure. A value at a limit is within it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Band {
    /// The metric that shows it.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What is compared, in words.
    pub what: &'static str,
    /// From where on it is more than nothing.
    pub info: Option<f64>,
    /// From where on it is worth a look.
    pub warning: Option<f64>,
    /// From where on it hurts.
    pub critical: Option<f64>,
    /// Limits that are hypertwin's own choice; the others are published.
    pub own: &'static [Severity],
    /// Who says so, or why.
    pub source: &'static str,
}

impl Band {
    /// How bad a value is; `None` for one that is neither worth a look nor hurts.
    pub fn severity(&self, value: f64) -> Option<Severity> {
        let beyond = |limit: Option<f64>| limit.is_some_and(|limit| value > limit);
        match (beyond(self.critical), beyond(self.warning)) {
            (true, _) => Some(Severity::Critical),
            (_, true) => Some(Severity::Warning),
            _ => None,
        }
    }

    /// Whether a value is beyond the first limit from which it counts: full, or felt.
    pub fn is_beyond(&self, value: f64) -> bool {
        self.severity(value).is_some()
    }

    /// The figure of a report that is compared: of ready time, the part in which no logical CPU was free.
    pub fn figure(&self) -> &'static str {
        match self.metric == READY.metric {
            true => "waiting_pct",
            false => self.metric,
        }
    }

    /// A value over the worst limit: what is further beyond is worse.
    pub fn weight(&self, value: f64) -> f64 {
        value / self.critical.or(self.warning).unwrap_or(1.0).max(f64::MIN_POSITIVE)
    }
}

/// A band in per cent.
const fn pct(metric: &'static str, what: &'static str, limits: [Option<f64>; 3]) -> Band {
    let [info, warning, critical] = limits;
    Band {
        metric,
        unit: "%",
        what,
        info,
        warning,
        critical,
        own: &[Severity::Info, Severity::Warning, Severity::Critical],
        source: "",
    }
}

/// Ready time of a vCPU (%RDY), without time held by its own limit or spent in wake-ups.
pub const READY: Band = Band {
    own: &[Severity::Info],
    source: "Duncan Epping, esxtop thresholds: 10%; Leaseweb, performance metrics in VMware vSphere: 5%",
    ..pct(
        "ready_pct",
        "ready (%RDY) per vCPU, without limited time and wake-ups",
        [Some(2.5), Some(5.0), Some(10.0)],
    )
};

/// Time that a vCPU is held back for its siblings.
pub const COSTOP: Band = Band {
    own: &[Severity::Info],
    source: "Duncan Epping, esxtop thresholds: 3%",
    ..pct("costop_pct", "co-stop per vCPU", [Some(1.0), None, Some(3.0)])
};

/// Time that the VM's own limit takes.
pub const LIMITED: Band = Band {
    source: "should be 0; 1% allows for chance, and the critical value is that of ready",
    ..pct(
        "limited_pct",
        "limited time (%MLMTD) per vCPU",
        [None, Some(1.0), Some(10.0)],
    )
};

/// Time that a vCPU waits for memory that its host has swapped out.
pub const SWAP_WAIT: Band = Band {
    own: &[],
    source: "Duncan Epping, esxtop thresholds: %SWPWT 5%",
    ..pct("swap_wait_pct", "swap wait (%SWPWT) per vCPU", [None, None, Some(5.0)])
};

/// CPU usage as guests measure it.
pub const GUEST_CPU: Band = Band {
    own: &[],
    source: "VMware VROOM! blog on rightsizing: 90%",
    ..pct("guest_cpu_pct", "guest CPU usage", [None, Some(90.0), None])
};

/// Runnable processes per vCPU, at which full vCPUs are critical.
pub const RUN_QUEUE: Band = Band {
    unit: "",
    source: "half of the processes wait; if the vCPUs are not full on average, they wait for a time at five times that",
    ..pct("run_queue", "runnable processes per vCPU", [None, None, Some(2.0)])
};

/// Used time of a host over its cores at nominal clock.
pub const HOST_CPU: Band = Band {
    own: &[Severity::Critical],
    source: "Performance Best Practices for VMware vSphere 4.0: 90% is a warning",
    ..pct("usage_pct", "CPU used on a host", [None, Some(90.0), Some(95.0)])
};

/// Time from a guest's driver to the end of an I/O (GAVG).
pub const IO_LATENCY: Band = Band {
    unit: "ms",
    own: &[],
    source: "Duncan Epping, esxtop thresholds: DAVG 25 ms",
    ..pct(
        "io_latency_ms_mean",
        "mean I/O latency, except of generators without a rate",
        [None, Some(25.0), None],
    )
};

/// The longest I/O of a VM, also one that did not come back.
pub const IO_LONGEST: Band = Band {
    unit: "s",
    source: "Linux gives a command up after 30 s",
    ..pct(
        "io_longest_s",
        "the longest I/O, also one that had not come back",
        [None, Some(5.0), Some(10.0)],
    )
};

/// Utilization of a station of the I/O path, or of the CPUs of a pool's nodes.
pub const STATION: Band = Band {
    source: "at 85% a queue is six times the requests in service, and some of several members lag behind",
    ..pct("utilization_pct", "utilization of a station", [None, Some(85.0), None])
};

/// I/Os that wait for a queue slot.
pub const DEPTH: Band = Band {
    source: "below 5%, waits hardly change the mean",
    ..pct("waited_pct", "I/Os that wait for a queue slot", [None, Some(5.0), None])
};

/// Memory bandwidth used of a NUMA node.
pub const MEMORY_BANDWIDTH: Band = Band {
    source: "memory latency rises steeply above that",
    ..pct(
        "memory_bandwidth_pct",
        "bandwidth of a node's memory",
        [None, Some(90.0), None],
    )
};

/// Memory bandwidth missing for the CPU that a VM used.
pub const STALLED: Band = Band {
    source: "a fifth of its CPU time waits for memory",
    ..pct(
        "stalled_pct",
        "memory bandwidth missing for the CPU time",
        [None, Some(20.0), None],
    )
};

/// Touched memory of a host's VMs, of what it has.
pub const TOUCHED: Band = Band {
    own: &[],
    source: "the host has no more memory",
    ..pct(
        "memory_usage_pct",
        "touched memory of a host",
        [None, Some(100.0), None],
    )
};

/// p99 of transactions over their median.
pub const TAIL: Band = Band {
    unit: "",
    source: "an exponential distribution has 6.6",
    ..pct("response_ms_p99", "p99 over median", [None, Some(20.0), None])
};

/// The p99 of a group in a sweep, over its smallest along the line.
pub const DEPARTED: Band = Band {
    unit: "",
    source: "users notice twice the response time",
    ..pct(
        "departed_p99",
        "p99 over the lowest along a sweep",
        [None, None, Some(2.0)],
    )
};

/// Throughput per VM and unit of load of a group in a sweep, below the best so far.
pub const LOST: Band = Band {
    source: "a fifth of the work is not done",
    ..pct(
        "lost_throughput_pct",
        "throughput per VM and unit of load, below the best so far",
        [None, None, Some(20.0)],
    )
};

/// All of them.
pub const BANDS: [Band; 17] = [
    READY,
    COSTOP,
    LIMITED,
    SWAP_WAIT,
    GUEST_CPU,
    RUN_QUEUE,
    HOST_CPU,
    IO_LATENCY,
    IO_LONGEST,
    STATION,
    DEPTH,
    MEMORY_BANDWIDTH,
    STALLED,
    TOUCHED,
    TAIL,
    DEPARTED,
    LOST,
];

/// Ready and co-stop in per cent that the model tells from none: timers of idle guests and the hypervisor's own work,
/// which are not modelled, cause as much.
pub const RESOLVED_PCT: f64 = 0.5;
