//! What falls due in a deep scrub, and what waits for its turn.
//!
//! Strides fall due one after another through the interval: the first of each member, then the second of each, so that
//! all OSDs have their part of it at any time, however short a run is.

use super::data_placement::DataPlacement;
use crate::storage::queue::Fifo;
use hypertwin_cluster::{Ceph, Duration};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::product::ceph::SCRUB_STRIDE;

/// Deep scrub of a pool.
pub struct Scrub {
    interval_ns: Nanos,
    /// Groups that one OSD reads for at a time.
    pub most: u32,
    /// Per layout.
    passes: Vec<Pass>,
    /// Per OSD.
    pub osds: Vec<Line>,
    /// What had fallen due, was read, and was given up when measuring began.
    before: [u64; 3],
}

/// Strides of the members of one layout, in the order that they fall due in.
struct Pass {
    first_member: usize,
    members: u64,
    member_bytes: u64,
    /// How many have fallen due.
    passed: u64,
}

/// What an OSD reads now, and what waits.
#[derive(Clone, Default)]
pub struct Line {
    pub now: u32,
    pub waiting: Fifo,
}

/// What a report says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scrubbed {
    /// Bytes read, and bytes that fell due and were not given up.
    pub read: u64,
    pub due: u64,
}

impl Scrubbed {
    /// Whether as much was read as fell due, but for a tenth, or two strides that fell due at the end.
    pub fn keeps_up(self) -> bool {
        self.due.saturating_sub(self.read) <= (self.due / 10).max(2 * SCRUB_STRIDE)
    }
}

impl Pass {
    fn strides(&self) -> u64 {
        self.member_bytes.div_ceil(SCRUB_STRIDE)
    }

    /// The next member to read a stride, the stride's bytes, and when it falls due.
    fn next(&mut self, interval_ns: Nanos) -> (usize, u64, Nanos) {
        let (number, all) = (self.passed, self.members * self.strides());
        self.passed += 1;
        let stride = number / self.members % self.strides();
        let bytes = SCRUB_STRIDE.min(self.member_bytes - stride * SCRUB_STRIDE);
        let due = u128::from(interval_ns) * u128::from(2 * number + 1) / u128::from(2 * all);
        (
            self.first_member + (number % self.members) as usize,
            bytes,
            due as Nanos,
        )
    }
}

impl Scrub {
    /// The queue of a pool, by its number of OSDs.
    pub fn new(ceph: &Ceph, interval: Duration, data: &DataPlacement, osds: usize) -> Self {
        let pass = |layout| {
            let members = data.members_in(layout);
            Pass {
                first_member: members.start,
                members: members.len() as u64,
                member_bytes: data.layouts[layout].member_bytes,
                passed: 0,
            }
        };
        Self {
            interval_ns: interval.nanos(),
            most: ceph.max_scrubs(),
            passes: (0..data.layouts.len()).map(pass).collect(),
            osds: vec![Line::default(); osds],
            before: [0; 3],
        }
    }

    /// The next stride of a layout: its member, its bytes, and when it falls due. None of those that hold nothing.
    pub fn next(&mut self, layout: usize) -> Option<(usize, u64, Nanos)> {
        let pass = &mut self.passes[layout];
        let is_empty = pass.members == 0 || pass.member_bytes == 0;
        (!is_empty).then(|| pass.next(self.interval_ns))
    }

    /// Measures from now, when so much has fallen due, was read, and was given up.
    pub fn reset(&mut self, passed: [u64; 3]) {
        self.before = passed;
    }

    /// What has passed since measuring began, of what has until now.
    pub fn measured(&self, [due, read, skipped]: [u64; 3]) -> Scrubbed {
        Scrubbed {
            read: read - self.before[1],
            due: (due - self.before[0]).saturating_sub(skipped - self.before[2]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pass, SCRUB_STRIDE, Scrub, Scrubbed};

    #[test]
    fn strides_of_all_members_fall_due_evenly_in_an_interval() {
        let mut pass = Pass {
            first_member: 10,
            members: 3,
            member_bytes: 2 * SCRUB_STRIDE + 5,
            passed: 0,
        };
        let strides: Vec<_> = (0..10).map(|_| pass.next(900)).collect();
        let all: u64 = strides[..9].iter().map(|(_, bytes, _)| bytes).sum();
        assert_eq!(all, 3 * (2 * SCRUB_STRIDE + 5));
        assert_eq!(strides[0], (10, SCRUB_STRIDE, 50));
        assert_eq!(strides[4], (11, SCRUB_STRIDE, 450));
        assert_eq!(strides[8], (12, 5, 850));
        assert_eq!(strides[9], (10, SCRUB_STRIDE, 950));
    }

    #[test]
    fn a_layout_without_data_has_no_strides() {
        let pass = |member_bytes| Pass {
            first_member: 0,
            members: 3,
            member_bytes,
            passed: 0,
        };
        let mut scrub = Scrub {
            interval_ns: 900,
            most: 1,
            passes: vec![pass(0), pass(1)],
            osds: Vec::new(),
            before: [0; 3],
        };
        assert_eq!((scrub.next(0), scrub.next(1)), (None, Some((0, 1, 150))));
    }

    #[test]
    fn a_tenth_or_two_strides_are_not_behind() {
        let keeps_up = |read, due| {
            Scrubbed {
                read: read * SCRUB_STRIDE,
                due: due * SCRUB_STRIDE,
            }
            .keeps_up()
        };
        assert!(keeps_up(0, 0) && keeps_up(0, 2) && keeps_up(90, 100) && keeps_up(5, 3));
        assert!(!keeps_up(0, 3) && !keeps_up(89, 100));
    }
}
