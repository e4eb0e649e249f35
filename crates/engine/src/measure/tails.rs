//! Whether the slowest responses still become slower: a mean may have settled long before a percentile has.

use super::Observed;
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

    /// Those of each group, however few: another part of the scenario may have more.
    pub fn finish(self) -> Vec<Tail> {
        let tail = |group: usize| Tail {
            of: self.groups[group].clone(),
            parts: (0..self.seen.len()).map(|part| self.part(part, group)).collect(),
        };
        (0..self.groups.len()).map(tail).collect()
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

    /// Whether each part has some responses beyond its p99.
    fn is_enough(&self) -> bool {
        self.parts.iter().flat_map(Sizes::values).sum::<u64>() >= FEWEST
    }

    /// The p99 of each part, in ns.
    fn p99s(&self) -> Vec<f64> {
        self.parts
            .iter()
            .map(|part| Histogram::coarse_quantile(part, 0.99))
            .collect()
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

/// The first of some groups whose p99 rises through the run other than by chance: from about how many ms to how many.
pub fn rising(all: &[Tail]) -> Option<(String, f64, f64)> {
    let enough: Vec<&Tail> = all.iter().filter(|tail| tail.is_enough()).collect();
    let tests = enough.len().max(1) as f64;
    enough.into_iter().find_map(|tail| {
        let p99s = tail.p99s();
        let mean = p99s.iter().sum::<f64>() / p99s.len().max(1) as f64;
        let (rise, errors) = trend(&p99s)?;
        let is_sure = errors > student_t_upper(BY_CHANCE / tests, p99s.len() as u64 - 2);
        (is_sure && rise > IMMATERIAL * mean)
            .then(|| (tail.of.clone(), (mean - rise / 2.0) / 1e6, (mean + rise / 2.0) / 1e6))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hypertwin_kernel::{Draw, Stream};

    /// A group whose responses have this mean in each part.
    fn tail(means_ms: [f64; PARTS as usize]) -> Tail {
        let mut stream = Stream::named(1, "a test");
        let part = |mean: f64| {
            let mut all = Histogram::new();
            let draw = Draw::new(mean * 1e6, 1.0);
            (0..3_000).for_each(|_| all.record(draw.sample(&mut stream)));
            all.coarse().into_iter().collect()
        };
        Tail {
            of: "db".to_owned(),
            parts: means_ms.map(part).into(),
        }
    }

    #[test]
    fn a_tail_that_rises_is_told_and_one_that_is_level_is_not() {
        let (of, from, to) = rising(&[tail([10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0])]).expect("it rises");
        assert_eq!(of, "db");
        assert!(
            (40.0..55.0).contains(&from) && (70.0..85.0).contains(&to),
            "{from} to {to}"
        );
        assert!(rising(&[tail([10.0; PARTS as usize])]).is_none());
        assert!(
            rising(&[tail([10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7])]).is_none(),
            "it does not matter"
        );
    }

    #[test]
    fn parts_of_a_scenario_add_up() {
        let (one, other) = (tail([10.0; PARTS as usize]), tail([20.0; PARTS as usize]));
        let all = together([&one, &other].into_iter());
        let count = |tail: &Tail| tail.parts.iter().flat_map(Sizes::values).sum::<u64>();
        assert_eq!(all.len(), 1);
        assert_eq!(count(&all[0]), count(&one) + count(&other));
    }
}
