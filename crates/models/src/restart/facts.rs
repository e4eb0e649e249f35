//! What a policy is made of.

/// What a policy makes of a failure.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// From a failure until the first restart, in seconds: the shortest and the longest time. Each time between them is
    /// as likely, because a failure comes at any phase of periodic work.
    pub detection_s: fn(Failed) -> [f64; 2],
    /// It restarts nothing without a majority of votes ([`has_quorum`]).
    pub needs_quorum: bool,
    /// How many power-ons there are at a time.
    pub at_once: AtOnce,
    /// A class of restart priority waits until the power-ons of those before it have ended; without, there are no
    /// classes.
    pub has_classes: bool,
    /// Retries of VMs that could not restart.
    pub retries: Retries,
    /// Which host takes a VM.
    pub place: Place,
}

/// What matters of a failed host.
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    /// It watched over the others (FDM's primary, Proxmox' master).
    pub is_primary: bool,
    /// Its cluster has datastores through which hosts can be seen alive.
    pub has_heartbeat_datastores: bool,
}

/// Votes of `hosts`, and of their quorum device: one more for an even number of hosts, else one for each host but one.
pub fn votes(hosts: usize, has_device: bool) -> usize {
    match has_device {
        false => hosts,
        true if hosts.is_multiple_of(2) => hosts + 1,
        true => 2 * hosts - 1,
    }
}

/// Whether `up` of `hosts`, with the votes of a quorum device that is up, have more than half of all votes.
pub fn has_quorum(up: usize, hosts: usize, has_device: bool) -> bool {
    let all = votes(hosts, has_device);
    2 * (up + all - hosts) > all
}

/// How many power-ons there are at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// On each host.
    OnEachHost(usize),
    /// On all hosts of the cluster together.
    InCluster(usize),
}

/// Retries of a VM that could not restart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retries {
    /// At these seconds after its first attempt.
    After(&'static [f64]),
    /// At this interval in seconds.
    Every(f64),
}

impl Retries {
    /// Seconds between a VM's `attempt` (from 1), which failed, and the next; `None`: there is none.
    pub fn pause_s(self, attempt: usize) -> Option<f64> {
        match self {
            Self::After(times) => {
                let before = if attempt == 1 { 0.0 } else { *times.get(attempt - 2)? };
                Some(times.get(attempt - 1)? - before)
            }
            Self::Every(pause) => Some(pause),
        }
    }
}

/// Which of the hosts that can take a VM does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one with the fewest VMs restarted on it so far.
    SpreadEvenly,
    /// The one with the fewest VMs.
    FewestVms,
}
