//! Whether the slowest responses still become slower: a mean may have settled long before a percentile has.

use super::Observed;
use super::results::Replication;
use bitcode::{Decode, Encode};
use hypertwin_kernel::{Histogram, student_t_upper, trend};
use std::collections::BTreeMap;

/// Parts of a run of which each has its own percentile.
pub const PARTS: u64 = 8;

/// Responses of a run below which a part has too few beyond its p99.
const FEWEST: u64 = 4_000;

/// A rise from the first part to the last that does not matter, as a part of the mean.
const IMMATERIAL: f64 = 0.2;

/// Probability with which one of all rises passes for one that is none.
const BY_CHANCE: f64 = 0.005;

/// How many values there were of each size: classes of [`Histogram::coarse`], and how many values each has.
type Sizes = BTreeMap<u32, u64>;

/// Response times of a group, in each part of a run.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Tail {
    /// Name of the group.
    pub of: String,
    parts: Vec<Sizes>,
}

/// Response times of all groups since measuring began.
pub struct Watched {
    groups: Vec<String>,
    /// Per part and group.
    seen: Vec<Vec<Sizes>>,
}

impl Watched {
    pub fn new(groups: Vec<String>) -> Self {
        let seen = Vec::new();
        Self { groups, seen }
    }

    /// A part ends.
    pub fn look(&mut self, observed: &Observed) {
        let mut all = vec![Sizes::new(); self.groups.len()];
        for id in observed.guests.vms().ids() {
            let vm = &observed.guests.vms()[id];
            for (class, count) in vm.measured.responses.coarse() {
                *all[vm.group].entry(class).or_default() += count;
            }
        }
        self.seen.push(all);
    }

    /// Those of groups with enough of them.
    pub fn finish(self) -> Vec<Tail> {
        let ended = |group: usize| self.seen.last().map_or(0, |last| last[group].values().sum());
        let enough = (0..self.groups.len()).filter(|&group| ended(group) >= FEWEST);
        let tail = |group: usize| Tail {
            of: self.groups[group].clone(),
            parts: (0..self.seen.len()).map(|part| self.part(part, group)).collect(),
        };
        enough.map(tail).collect()
    }

    /// What a group had in one part.
    fn part(&self, part: usize, group: usize) -> Sizes {
        let mut sizes = self.seen[part][group].clone();
        if let Some(before) = part.checked_sub(1).map(|before| &self.seen[before][group]) {
            for (class, count) in before {
                sizes.entry(*class).and_modify(|more| *more -= count);
            }
        }
        sizes.retain(|_, count| *count > 0);
        sizes
    }
}

impl Tail {
    /// This with that of the same group in another part of the scenario, or in another replication.
    fn and(&mut self, other: &Self) {
        for (part, more) in self.parts.iter_mut().zip(&other.parts) {
            for (class, count) in more {
                *part.entry(*class).or_default() += count;
            }
        }
    }

    /// The p99 of each part, in ns.
    fn p99s(&self) -> Vec<f64> {
        self.parts.iter().map(|part| Histogram::coarse_quantile(part, 0.99)).collect()
    }
}

/// Those of all parts of a scenario, in order of name.
pub fn together<'t>(parts: impl Iterator<Item = &'t Tail>) -> Vec<Tail> {
    let mut all: BTreeMap<&str, Tail> = BTreeMap::new();
    for tail in parts {
        match all.get_mut(tail.of.as_str()) {
            Some(known) => known.and(tail),
            None => {
                all.insert(&tail.of, tail.clone());
            }
        }
    }
    all.into_values().collect()
}

/// A group whose p99 rises through the run other than by chance: from about how many ms to how many.
pub fn rises(replications: &[&Replication]) -> Option<(String, f64, f64)> {
    let all = together(replications.iter().flat_map(|one| &one.looks.tails));
    let tests = all.len().max(1) as f64;
    all.into_iter().find_map(|tail| {
        let p99s = tail.p99s();
        let mean = p99s.iter().sum::<f64>() / p99s.len().max(1) as f64;
        let (rise, errors) = trend(&p99s)?;
        let is_sure = errors > student_t_upper(BY_CHANCE / tests, p99s.len() as u64 - 2);
        (is_sure && rise > IMMATERIAL * mean).then(|| (tail.of, (mean - rise / 2.0) / 1e6, (mean + rise / 2.0) / 1e6))
    })
}
