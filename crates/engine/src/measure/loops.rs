//! Closed loops: sessions that wait for an answer, think, and ask again. By Little's law their number is throughput
//! times the mean time round (Little, "A proof for the queuing formula L = λW", 1961). A run that does not show that
//! lost sight of some.

use super::Observed;
use bitcode::{Decode, Encode};
use std::collections::BTreeMap;

/// Times that every session goes round in a window, on average, at least.
const ROUNDS: f64 = 3.0;

/// A difference that does not matter, as a part of all sessions.
const IMMATERIAL: f64 = 0.05;

/// Standard errors beyond which a difference is not by chance.
const SURE: f64 = 4.0;

/// The sessions of a group, since measuring began.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub struct Loop {
    /// Name of the group.
    pub of: String,
    sessions: u64,
    /// Times that one of them went round.
    rounds: u64,
    /// Responses, and think times by their mean, in nanoseconds.
    busy_ns: u128,
    thought_ns: u128,
    /// Time of the window.
    window_ns: u64,
}

impl Loop {
    /// This with more sessions.
    fn and(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.rounds += other.rounds;
        self.busy_ns += other.busy_ns;
        self.thought_ns += other.thought_ns;
        self.window_ns = self.window_ns.max(other.window_ns);
    }

    /// Sessions by Little's law, over the actual sessions, and the standard error of that.
    fn closes(&self) -> (f64, f64) {
        let there = self.sessions as f64 * self.window_ns as f64;
        let seen = (self.busy_ns + self.thought_ns) as f64;
        let round_ns = seen / (self.rounds as f64).max(1.0);
        // each round is as variable as if it were exponential, and of each session up to one round is cut off at either
        // end
        let by_chance = (self.thought_ns as f64 / there.max(1.0)) / (self.rounds as f64).max(1.0).sqrt();
        let at_ends = round_ns / self.window_ns.max(1) as f64 / (self.sessions as f64).max(1.0).sqrt();
        (seen / there.max(1.0), by_chance + at_ends)
    }
}

/// Activity of closed loops in a window of this length, except for VMs that were down: they answer no session.
pub fn seen(observed: &Observed, groups: &[String], window_ns: u64) -> Vec<Loop> {
    let vms = observed.guests.vms();
    let all = vms.ids().filter_map(|id| {
        let (vm, host) = (&vms[id], observed.faults.host(observed.cpu.groups()[id].host));
        let ((sessions, think_ns), responses) = (vm.sessions()?, &vm.measured.responses);
        let was_down = observed.lives[id].down_ns(host.down_ns(observed.now), observed.now) > 0;
        (!was_down).then(|| Loop {
            of: groups[vm.group].clone(),
            sessions: u64::from(sessions),
            rounds: responses.count(),
            busy_ns: responses.sum_ns(),
            thought_ns: (think_ns * responses.count() as f64) as u128,
            window_ns,
        })
    });
    let all: Vec<Loop> = all.collect();
    together(all.iter())
}

/// The loops of all parts of a scenario, in order of name.
pub fn together<'l>(parts: impl Iterator<Item = &'l Loop>) -> Vec<Loop> {
    let mut all: BTreeMap<&str, Loop> = BTreeMap::new();
    for part in parts.filter(|part| part.sessions > 0) {
        let known = all.entry(&part.of).or_default();
        known.of.clone_from(&part.of);
        known.and(part);
    }
    all.into_values().collect()
}

/// A loop that does not go round often enough: its group, how often its sessions went round, and the time for
/// [`ROUNDS`].
pub fn slow(all: &[Loop]) -> Option<(&str, f64, f64)> {
    let rounds = |each: &Loop| each.rounds as f64 / each.sessions as f64;
    let slowest = all.iter().min_by(|a, b| rounds(a).total_cmp(&rounds(b)))?;
    let (found, window_s) = (rounds(slowest), slowest.window_ns as f64 / 1e9);
    let needs_s = ROUNDS / found.max(0.1) * window_s;
    (found < ROUNDS).then_some((slowest.of.as_str(), found, needs_s))
}

/// A loop whose sessions are not all accounted for: its group, and how many are by Little's law, over how many there
/// are.
pub fn open(all: &[Loop]) -> Option<(&str, f64)> {
    all.iter().find_map(|each| {
        let (part, error) = each.closes();
        ((part - 1.0).abs() > IMMATERIAL + SURE * error).then_some((each.of.as_str(), part))
    })
}
