//! What a VM or a service may still use of its CPU limit. ESXi paces a VM: every use moves a limit tag into the future,
//! as in mClock, and while the tag is too far ahead of the time the VM is held back. Linux gives a cgroup a quota in
//! every period. Periods of different cgroups begin at random times since Linux 6.4 (commit 41abdba93747, 2023).
//!
//! **One file has both kinds of CPU limit.** `engine/budget.rs` paces a VM by a tag, like ESXi, or gives it a quota for
//! each period, like Linux. The budget schedules its own next check, so an idle or unlimited VM has no event in the
//! calendar.

use hypertwin_kernel::Nanos;
use hypertwin_models::scheduler::LimitEnforcement;

const MS: Nanos = 1_000_000;
/// How far the tag may be ahead before the VM is held back.
const BURST_NS: f64 = 10e6;
/// Default of `cpu.max`.
pub const PERIOD_NS: Nanos = 100 * MS;

/// The CPU limit of a VM.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Core-nanoseconds per nanosecond.
    cores: f64,
    /// Since when no vCPU has had anything to do; no check is in the calendar then.
    pub idle_since: Option<Nanos>,
    kept: Kept,
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    /// Until when what the VM has used is within its limit.
    Pace { tag_ns: f64, owed_ns: f64 },
    /// What is left of the period's quota, in core-nanoseconds; negative after overrun, which the next period pays.
    Quota { left_ns: f64, renewed_at: Nanos },
}

impl Limit {
    /// A limit to `cores` cores at nominal clock, from now on. `phase` is uniform in [0, 1).
    pub fn new(enforcement: LimitEnforcement, cores: f64, phase: f64, now: Nanos) -> Self {
        let kept = match enforcement {
            LimitEnforcement::Paced { owed_ns } => Kept::Pace {
                tag_ns: now as f64,
                owed_ns,
            },
            LimitEnforcement::Quota => Kept::Quota {
                left_ns: cores * PERIOD_NS as f64,
                renewed_at: now + PERIOD_NS - (phase * PERIOD_NS as f64) as Nanos,
            },
        };
        Self {
            cores,
            idle_since: Some(now),
            kept,
        }
    }

    /// Like a new one, but replaces one whose next check may be in the calendar.
    pub fn in_place_of(mut self, old: Option<&Self>) -> Self {
        if old.is_some_and(|old| old.idle_since.is_none()) {
            self.idle_since = None;
        }
        self
    }

    /// A vCPU has run, and was charged.
    pub fn charge(&mut self, run_ns: Nanos, used_ns: f64) {
        match &mut self.kept {
            Kept::Pace { tag_ns, .. } => *tag_ns += used_ns / self.cores,
            Kept::Quota { left_ns, .. } => *left_ns -= run_ns as f64,
        }
    }

    /// A vCPU has something to do. Time in which none had earns nothing. Whether the checks begin again with this.
    pub fn wake(&mut self, now: Nanos) -> bool {
        let Some(since) = self.idle_since.take() else {
            return false;
        };
        if let Kept::Pace { tag_ns, .. } = &mut self.kept {
            *tag_ns = tag_ns.max((*tag_ns + (now - since) as f64).min(now as f64));
        }
        true
    }

    /// Whether the VM is held back from now on, and when to look again if it can use up to `most` cores.
    pub fn check(&mut self, was_held: bool, most: f64, now: Nanos) -> (bool, Nanos) {
        let cores = self.cores;
        match &mut self.kept {
            Kept::Pace { tag_ns, owed_ns } => {
                *tag_ns = tag_ns.max(now as f64 - *owed_ns);
                let ahead_ns = *tag_ns - now as f64;
                if ahead_ns + 1.0 > BURST_NS || was_held && ahead_ns > 0.0 {
                    return (true, now + ahead_ns.ceil() as Nanos);
                }
                let gain = (most / cores - 1.0).max(1e-3);
                (
                    false,
                    now + ((BURST_NS - ahead_ns) / gain).min(BURST_NS).ceil() as Nanos,
                )
            }
            Kept::Quota { left_ns, renewed_at } => {
                while *renewed_at <= now {
                    *left_ns = (*left_ns + cores * PERIOD_NS as f64).min(cores * PERIOD_NS as f64);
                    *renewed_at += PERIOD_NS;
                }
                let gone = *left_ns <= 0.0;
                let next = if gone {
                    *renewed_at
                } else {
                    (now + (*left_ns / most) as Nanos).min(*renewed_at)
                };
                (gone, next)
            }
        }
    }
}
