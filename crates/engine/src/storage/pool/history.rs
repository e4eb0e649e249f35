//! What happened to a pool: its incidents, and how long not everything was whole.

use hypertwin_kernel::Nanos;

/// A failure or return, as the scenario names it.
#[derive(Clone, Copy, Debug)]
pub struct What<'s> {
    pub parts: &'s str,
    pub fails: bool,
}

/// A failure or return, and what it meant for the pool.
#[derive(Clone, Debug)]
pub struct Incident {
    pub at: Nanos,
    pub what: String,
    pub fails: bool,
    /// Groups that are not whole, and groups that take no writes, right after it.
    pub degraded: usize,
    pub suspended: usize,
    /// Whether no I/O goes on at all.
    pub stands_still: bool,
    /// User's bytes lost by it.
    pub lost_bytes: u64,
    /// Time when all groups were whole; if they were all along, when everything was where it goes.
    pub whole_at: Option<Nanos>,
}

/// All incidents of a pool.
#[derive(Default)]
pub struct History {
    pub incidents: Vec<Incident>,
    /// Since when not everything is whole, and the longest time that this took before.
    pub degraded_since: Option<Nanos>,
    pub longest_degraded_ns: Nanos,
}

impl History {
    /// Keeps when the pool ceased to be whole, and when it became so again.
    pub fn note(&mut self, degraded: usize, moving: usize, now: Nanos) {
        if degraded > 0 {
            self.degraded_since.get_or_insert(now);
            return;
        }
        if let Some(since) = self.degraded_since.take() {
            self.longest_degraded_ns = self.longest_degraded_ns.max(now - since);
        }
        let ends = |one: &&mut Incident| one.whole_at.is_none() && (one.degraded > 0 || moving == 0);
        for incident in self.incidents.iter_mut().filter(ends) {
            incident.whole_at = Some(now);
        }
    }
}
