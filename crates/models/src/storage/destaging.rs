//! A write buffer that is overwritten in place and goes to its disks in order of address.
//!
//! **Mechanism.** The places that are written are `region` bytes of a disk, in lines. Those in the buffer are *dirty*;
//! a write to a dirty place costs no second way to the disk. A sweep visits the lines in order of address, over and
//! over, and cleans those that it passes. So the places ahead of it have been written to for longest: with writes at
//! the same rate everywhere, x of them for each place during a sweep, it meets a share 1 - e^-x of dirty ones, while
//! 1 - (1 - e^-x) / x of the region is dirty on average. A visit takes what is dirty in the next line that is not
//! clean; places between are passed as the disk turns, or skipped by a seek where that is quicker.
//!
//! **Sources.** Circular sweeps: C-SCAN (Seaman, Lind and Wilson, "On teleprocessing system design, part IV", IBM
//! Systems Journal 5(3), 1966). A buffer that overwrites and is emptied in this order: Gill and Modha, "WOW: wise
//! ordering for writes", FAST 2005. Distinct places among random ones: the occupancy of urns. Seeks: Ruemmler and
//! Wilkes, IEEE Computer 27(3), 1994.
//!
//! **Assumptions.** Writes are uniform over the region, which is in one piece on the disk. What is written while the
//! disk passes a line waits for the next sweep.
//!
//! **A write buffer of vSAN is an amount, not a map.** Dirty data are a share of the written data, so a buffer of
//! terabytes needs only a few numbers. Closed formulas give the rates of overwriting and sweeping
//! (`models/storage/destaging.rs`).

/// Distinct places among `writes` to `places`, on average: those of them that a buffer keeps which is overwritten in
/// place.
pub fn distinct(places: f64, writes: f64) -> f64 {
    if places <= 1.0 {
        return places.min(writes);
    }
    -places * libm::expm1(writes * libm::log1p(-1.0 / places))
}

/// The share of dirty places that a sweep meets where `mean` of all are dirty.
pub fn at_head(mean: f64) -> f64 {
    // below that, the first term of the series is exact to a thousandth
    if mean < 1e-3 {
        return 2.0 * mean.max(0.0);
    }
    let clean = 1.0 - mean.min(1.0);
    if clean < 1e-6 {
        return 1.0;
    }
    // writes for each place during a sweep: 1 - e^-x = clean x. The left side is concave and 1 / clean is beyond, so
    // that Newton's steps never pass the solution
    let mut writes = 1.0 / clean;
    for _ in 0..64 {
        let rest = libm::exp(-writes);
        let step = (1.0 - rest - clean * writes) / (rest - clean);
        writes -= step;
        if step.abs() < 1e-9 * writes {
            break;
        }
    }
    (clean * writes).min(1.0)
}

/// The next line with something dirty in it, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Visit {
    /// Dirty bytes in it.
    pub dirty: f64,
    /// Bytes from the first of them to the end of the last.
    pub span: f64,
    /// Bytes from the end of the last of the visit before to the first.
    pub gap: f64,
}

impl Visit {
    /// Of lines of `line` bytes, of whose blocks of `block` bytes a share is dirty.
    pub fn next(line: f64, block: f64, share: f64) -> Self {
        let blocks = (line / block).max(1.0);
        let share = share.clamp(1e-9, 1.0);
        let some = if share < 1.0 {
            -libm::expm1(blocks * libm::log1p(-share))
        } else {
            1.0
        };
        // clean blocks before the first dirty one, and as many after the last
        let before = (1.0 - share) / share - blocks * (1.0 - some) / some;
        let span = (blocks - 2.0 * before).max(1.0) * block;
        Self {
            dirty: blocks * share / some * block,
            span,
            gap: (blocks * block / some - span).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Visit, at_head, distinct};
    use std::collections::BTreeSet;

    fn random() -> impl FnMut(usize) -> usize {
        let mut state = 7_u64;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as usize * below) >> 31
        }
    }

    #[test]
    fn a_buffer_keeps_as_many_places_as_random_writes_differ() {
        let mut below = random();
        for (places, writes) in [(1, 3), (50, 10), (1_000, 1_000), (1_000, 5_000)] {
            let runs = 400;
            let kept: usize = (0..runs)
                .map(|_| (0..writes).map(|_| below(places)).collect::<BTreeSet<usize>>().len())
                .sum();
            let expected = distinct(places as f64, f64::from(writes));
            let by_formula = places as f64 * (1.0 - (1.0 - 1.0 / places as f64).powi(writes));
            assert!((expected - by_formula).abs() < 1e-6 * by_formula.max(1.0));
            let mean = kept as f64 / f64::from(runs);
            assert!(
                (mean / expected - 1.0).abs() < 0.01,
                "{writes} to {places}: {mean}, {expected}"
            );
        }
    }

    /// A sweep over a region to which `writes` go while it visits one line: the share that is dirty, the share of the
    /// writes that overwrite, and the mean visit.
    fn swept(lines: usize, blocks: usize, writes: usize) -> (f64, f64, Visit) {
        let mut below = random();
        let places = lines * blocks;
        let (mut is_dirty, mut head, mut last) = (vec![false; places], 0, 0);
        let (mut dirty, mut overwritten, mut visits) = (0_usize, 0_usize, 0_u32);
        let (mut dirty_sum, mut taken, mut span, mut gap) = (0_usize, 0_usize, 0_usize, 0_usize);
        let steps = 60 * lines;
        for step in 0..steps {
            let is_steady = step >= 10 * lines;
            for _ in 0..writes {
                let place = below(places);
                overwritten += usize::from(is_dirty[place] && is_steady);
                dirty += usize::from(!is_dirty[place]);
                is_dirty[place] = true;
            }
            let line: Vec<usize> = (head..head + blocks).filter(|&place| is_dirty[place]).collect();
            if let (Some(&first), Some(&end)) = (line.first(), line.last()) {
                if is_steady {
                    visits += 1;
                    taken += line.len();
                    span += end + 1 - first;
                    gap += (first + places - last) % places;
                }
                last = end + 1;
                dirty -= line.len();
                line.iter().for_each(|&place| is_dirty[place] = false);
            }
            dirty_sum += if is_steady { dirty } else { 0 };
            head = (head + blocks) % places;
        }
        let steady = (steps - 10 * lines) as f64;
        let mean = |sum: usize| sum as f64 / f64::from(visits);
        let visit = Visit {
            dirty: mean(taken),
            span: mean(span),
            gap: mean(gap),
        };
        let share = dirty_sum as f64 / steady / places as f64;
        (share, overwritten as f64 / steady / writes as f64, visit)
    }

    #[test]
    fn a_sweep_meets_what_the_formula_says() {
        for (lines, blocks, writes) in [
            (2_000, 32, 1),
            (1_000, 32, 8),
            (500, 32, 60),
            (300, 8, 40),
            (4_000, 1, 1),
        ] {
            let (share, overwritten, visit) = swept(lines, blocks, writes);
            assert!(
                (overwritten - share).abs() < 0.02,
                "writes are as likely to hit as places are dirty"
            );
            let expected = Visit::next(blocks as f64, 1.0, at_head(share));
            let close = |found: f64, expected: f64| (found - expected).abs() <= 0.05 * expected + 0.05;
            assert!(
                close(visit.dirty, expected.dirty)
                    && close(visit.span, expected.span)
                    && close(visit.gap, expected.gap),
                "{writes} writes a line of {blocks}: {visit:?}, {expected:?}"
            );
        }
    }

    #[test]
    fn what_is_met_lies_between_twice_the_mean_and_all() {
        assert!((at_head(1e-3) / 2e-3 - 1.0).abs() < 2e-3);
        let mut last = 0.0;
        for step in 0..=1_000 {
            let head = at_head(f64::from(step) / 1e3);
            assert!(head >= last && head <= 1.0, "{step}: {head} after {last}");
            last = head;
        }
        // one write for each place during a sweep
        let mean = 1.0 - (1.0 - (-1.0_f64).exp());
        assert!((at_head(mean) - (1.0 - (-1.0_f64).exp())).abs() < 1e-9);
    }

    #[test]
    fn few_requests_in_a_region_lie_as_far_apart_as_there_is_room() {
        // 1,000 of a million blocks in lines of 256: nearly each in a line of its own
        let visit = Visit::next(256.0, 1.0, 1e-3);
        let lines = 1.0 - (1.0_f64 - 1e-3).powi(256);
        assert!((visit.span + visit.gap - 256.0 / lines).abs() < 1e-6);
        let sparse = Visit::next(256.0, 1.0, 1e-6);
        assert!((sparse.dirty - 1.0).abs() < 1e-3 && (sparse.span + sparse.gap) > 0.99e6);
    }
}
