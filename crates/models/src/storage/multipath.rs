//! Multipathing: which of the paths to a LUN an I/O takes.
//!
//! **Mechanism.** Of the paths that work, those that lead to the controller which owns the LUN are open (ALUA: active,
//! optimised); the others are where none of those works. *Fixed* takes the first open path. *Most recently used* stays
//! on its path while that is open, and does not return by itself. *Round robin* stays for a number of I/Os or of bytes,
//! and then takes the next. *Queue length* takes the path with the fewest I/Os under way; of equals, the next after the
//! one that it took last.
//!
//! **Sources.** VMware KB 323117 (round robin: 1,000 I/Os or 10,485,760 bytes); Linux,
//! Documentation/admin-guide/device-mapper/ dm-queue-length.rst. **Assumptions.** A path works or does not; no policy
//! looks at latencies.

use hypertwin_cluster::{PathPolicy, Paths};

/// The state of the policy of one LUN on one host.
#[derive(Clone, Debug)]
pub struct Multipath {
    policy: PathPolicy,
    paths: usize,
    optimised: usize,
    ios_limit: u32,
    bytes_limit: u64,
    /// The path that was taken last, and what has gone by it without a break.
    current: usize,
    ios: u32,
    bytes: u64,
}

impl Multipath {
    /// Nothing has been sent yet.
    pub fn new(paths: &Paths) -> Self {
        Self {
            policy: paths.policy,
            paths: paths.per_lun as usize,
            optimised: paths.optimised.unwrap_or(paths.per_lun) as usize,
            ios_limit: paths.iops_limit,
            bytes_limit: paths.bytes_limit.bytes(),
            current: 0,
            ios: 0,
            bytes: 0,
        }
    }

    /// The path that was taken last.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The path of an I/O of `bytes` bytes; `None` if none works. `under_way` is the number of I/Os on a path.
    pub fn choose(
        &mut self,
        bytes: u64,
        works: impl Fn(usize) -> bool,
        under_way: impl Fn(usize) -> u32,
    ) -> Option<usize> {
        let open = match (0..self.optimised).any(&works) {
            true => 0..self.optimised,
            false => self.optimised..self.paths,
        };
        let paths = self.paths;
        let from = |first: usize| {
            let ring = (0..paths).map(move |step| (first + step) % paths);
            ring.filter(|path| open.contains(path) && works(*path))
        };
        let is_spent = self.ios >= self.ios_limit || self.bytes >= self.bytes_limit;
        let chosen = match self.policy {
            PathPolicy::Fixed => from(0).next(),
            PathPolicy::MostRecentlyUsed => from(self.current).next(),
            PathPolicy::RoundRobin => from(self.current + usize::from(is_spent)).next(),
            PathPolicy::QueueLength => from(self.current + 1).min_by_key(|&path| under_way(path)),
        }?;
        if is_spent || chosen != self.current {
            (self.ios, self.bytes) = (0, 0);
        }
        self.current = chosen;
        self.ios = self.ios.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::Multipath;
    use hypertwin_cluster::{Bytes, PathPolicy, Paths};

    fn three(policy: PathPolicy) -> Paths {
        Paths {
            per_lun: 3,
            policy,
            ..Paths::default()
        }
    }

    /// The paths of I/Os of 4 KiB, each with the set of paths that work at that time.
    fn taken(paths: &Paths, working: &[[bool; 3]]) -> Vec<Option<usize>> {
        let mut multipath = Multipath::new(paths);
        let choose = |works: &[bool; 3]| multipath.choose(4_096, |path| works[path], |_| 0);
        working.iter().map(choose).collect()
    }

    const ALL: [bool; 3] = [true; 3];

    #[test]
    fn fixed_returns_to_the_first_path_and_most_recently_used_does_not() {
        let working = [ALL, [false, true, true], ALL, [true, false, true], [false; 3], ALL];
        let (first, second, third) = (Some(0), Some(1), Some(2));
        assert_eq!(
            taken(&three(PathPolicy::Fixed), &working),
            [first, second, first, first, None, first]
        );
        assert_eq!(
            taken(&three(PathPolicy::MostRecentlyUsed), &working),
            [first, second, second, third, None, third]
        );
    }

    #[test]
    fn round_robin_takes_turns_by_ios_or_by_bytes() {
        let by_ios = Paths {
            iops_limit: 2,
            ..three(PathPolicy::RoundRobin)
        };
        let numbers = |paths: &Paths, working: &[[bool; 3]]| -> Vec<usize> {
            taken(paths, working).into_iter().map(Option::unwrap).collect()
        };
        assert_eq!(numbers(&by_ios, &[ALL; 7]), [0, 0, 1, 1, 2, 2, 0]);
        let by_bytes = Paths {
            bytes_limit: Bytes::new(12_288),
            ..three(PathPolicy::RoundRobin)
        };
        assert_eq!(numbers(&by_bytes, &[ALL; 7]), [0, 0, 0, 1, 1, 1, 2]);
        let second_fails = [ALL, ALL, ALL, [true, false, true], [true, false, true], ALL];
        assert_eq!(numbers(&by_ios, &second_fails), [0, 0, 1, 2, 2, 0]);
    }

    #[test]
    fn the_fewest_under_way_are_taken_and_equals_take_turns() {
        let mut multipath = Multipath::new(&three(PathPolicy::QueueLength));
        let mut choose = |under_way: [u32; 3]| multipath.choose(4_096, |_| true, |path| under_way[path]);
        assert_eq!(choose([2, 2, 1]), Some(2));
        assert_eq!(choose([1, 1, 1]), Some(0));
        assert_eq!(choose([1, 1, 1]), Some(1));
        assert_eq!(choose([5, 4, 4]), Some(2));
    }

    #[test]
    fn a_path_that_is_not_optimised_is_the_last_resort() {
        let paths = Paths {
            optimised: Some(2),
            iops_limit: 1,
            ..three(PathPolicy::RoundRobin)
        };
        let working = [ALL, ALL, ALL, [false, true, true], [false, false, true], ALL];
        let expected = [0, 1, 0, 1, 2, 0].map(Some);
        assert_eq!(taken(&paths, &working), expected);
    }
}
