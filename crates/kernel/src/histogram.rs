//! A histogram of durations that merges exactly.
//!
//! Values fall into the buckets of an HDR histogram with three significant digits (Gil Tene, hdrhistogram.org): 1,024
//! per doubling. Only buckets that hold something are kept, in order, so that a distribution of few values takes few
//! bytes: a scenario has one for each of its VMs. New values are kept as they come and sorted in by and by, which costs
//! less than going to a place far away in memory for each. Where half of neighbouring buckets hold something they
//! become a page, which a value finds at once.
//!
//! **Memory.** At most 8 bytes for each bucket with a value, in a page or not, and 4 for each of the values (at most
//! 1,024) not sorted in yet, and as much again while the vectors grow: 12 bytes a value while they are few, 80 KiB
//! where very many fall anywhere between 1 ms and 1 s. The first page brings a directory of 5 KiB at most.
//!
//! **Every VM has a sparse distribution.** A histogram stores only non-empty buckets, and buffers new values until a
//! pass over the buckets is worthwhile. With few responses, a histogram takes 12 bytes per response. With many
//! responses between a millisecond and a second, a histogram takes at most 80 KiB. If half of 256 neighbouring buckets
//! are in use, the histogram converts these buckets to a page. Counting a value in a page needs one memory access. A VM
//! with disks has three histograms (responses, reads, writes). An island of 2,000 such VMs needs 470 MiB for the
//! histograms if all histograms fill three decades. While vectors grow, the island needs up to twice this memory. When
//! an island ends, only non-empty buckets remain. Groups are the sums of their VMs.

use crate::Nanos;
use bitcode::{Decode, Encode};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Buckets per doubling; below twice as many nanoseconds each value has a bucket of its own.
const BUCKETS: u64 = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 10;

/// Values that are kept before they are sorted in.
const FEWEST_NEW: usize = 32;
const MOST_NEW: usize = 1_024;

/// Buckets of a class of [`Histogram::coarse`].
const CLASS: u32 = 64;

/// Buckets of a page.
const PAGE: u32 = 256;

/// Values beyond this (ns) are counted here: 2^62 ns are 146 years.
const HIGHEST_NS: Nanos = 1 << 62;

/// A histogram with three significant digits that adds up exactly: merging the histograms of two halves gives the
/// histogram of the whole, whatever the order. Keeps the exact count, sum, least and largest value besides. A bucket
/// counts to 4.29 thousand million.
#[derive(Clone, Debug, Encode, Decode)]
pub struct Histogram {
    /// Buckets with values that are in no page, in order, and how many each holds.
    sorted: Vec<(u32, u32)>,
    /// How many each bucket holds, `PAGE` by `PAGE`; empty where there is no page.
    pages: Vec<Vec<u32>>,
    /// Buckets of values that are not sorted in yet.
    new: Vec<u32>,
    count: u64,
    sum_ns: u128,
    min_ns: Nanos,
    max_ns: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let exact = |of: &Self| (of.count, of.sum_ns, of.min_ns, of.max_ns);
        exact(self) == exact(other) && self.buckets() == other.buckets()
    }
}

/// The bucket of a value.
#[inline]
fn bucket(ns: Nanos) -> u32 {
    let doublings = (ns | (2 * BUCKETS - 1)).ilog2() - BUCKET_BITS;
    ((u64::from(doublings) << BUCKET_BITS) + (ns >> doublings)) as u32
}

/// The least and the largest value of a bucket.
fn range(bucket: u32) -> (Nanos, Nanos) {
    let doublings = (u64::from(bucket) >> BUCKET_BITS).saturating_sub(1);
    let least = (u64::from(bucket) - (doublings << BUCKET_BITS)) << doublings;
    (least, least + (1 << doublings) - 1)
}

/// `sorted` and one value in each bucket of `more`, which is in order, too.
fn sort_in(sorted: &[(u32, u32)], more: &[u32]) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::with_capacity(sorted.len() + more.len());
    let mut rest = sorted.iter().copied().peekable();
    for &bucket in more {
        while let Some(before) = rest.next_if(|&(next, _)| next <= bucket) {
            all.push(before);
        }
        match all.last_mut() {
            Some((last, count)) if *last == bucket => *count = count.saturating_add(1),
            _ => all.push((bucket, 1)),
        }
    }
    all.extend(rest);
    all
}

impl Histogram {
    /// Without values.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            sorted: Vec::new(),
            pages: Vec::new(),
            new: Vec::new(),
            count: 0,
            sum_ns: 0,
            min_ns: Nanos::MAX,
            max_ns: 0,
        }
    }

    /// Adds one value, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: Nanos) {
        let ns = ns.min(HIGHEST_NS);
        let bucket = bucket(ns);
        let page = self.pages.get_mut((bucket / PAGE) as usize);
        match page.and_then(|page| page.get_mut((bucket % PAGE) as usize)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.record_new(bucket),
        }
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    fn record_new(&mut self, bucket: u32) {
        self.new.push(bucket);
        if self.new.len() == self.new.capacity() {
            self.make_room();
        }
    }

    /// Sorts in what is new, and makes room for as much as then is worth a pass over all buckets.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.new.sort_unstable();
        self.sorted = sort_in(&self.sorted, &self.new);
        self.new.clear();
        self.make_pages();
        self.new.reserve_exact(self.sorted.len().clamp(FEWEST_NEW, MOST_NEW));
    }

    /// Makes pages of the parts of `sorted` that take no less memory there.
    fn make_pages(&mut self) {
        let is_full = |part: &[(u32, u32)]| 2 * part.len() >= PAGE as usize;
        let of_one_page = |a: &(u32, u32), b: &(u32, u32)| a.0 / PAGE == b.0 / PAGE;
        if !self.sorted.chunk_by(of_one_page).any(is_full) {
            return;
        }
        let mut rest = Vec::new();
        for part in self.sorted.chunk_by(of_one_page) {
            if !is_full(part) {
                rest.extend_from_slice(part);
                continue;
            }
            let number = (part[0].0 / PAGE) as usize;
            let pages = self.pages.len().max(number + 1);
            self.pages.resize(pages, Vec::new());
            self.pages[number].resize(PAGE as usize, 0);
            for &(bucket, count) in part {
                self.pages[number][(bucket % PAGE) as usize] = count;
            }
        }
        self.sorted = rest;
    }

    /// All buckets with values, in order, and how many each holds.
    fn buckets(&self) -> Cow<'_, [(u32, u32)]> {
        if self.new.is_empty() && self.pages.is_empty() {
            return Cow::Borrowed(&self.sorted);
        }
        let mut new = self.new.clone();
        new.sort_unstable();
        let mut all = sort_in(&self.sorted, &new);
        for (number, page) in (0..).zip(&self.pages) {
            let of_page = (number * PAGE..).zip(page.iter().copied());
            all.extend(of_page.filter(|&(_, count)| count > 0));
        }
        all.sort(); // stable: finds that both parts are in order, and merges them
        Cow::Owned(all)
    }

    /// The same in the least memory.
    #[must_use]
    pub fn compact(&self) -> Self {
        Self {
            sorted: self.buckets().into_owned(),
            pages: Vec::new(),
            new: Vec::new(),
            ..*self
        }
    }

    /// The histogram of all values of all `parts`.
    #[must_use]
    pub fn merged<'h>(parts: impl Iterator<Item = &'h Self>) -> Self {
        let mut merged = Self::new();
        for part in parts {
            merged.sorted.extend_from_slice(&part.buckets());
            merged.count += part.count;
            merged.sum_ns += part.sum_ns;
            merged.min_ns = merged.min_ns.min(part.min_ns);
            merged.max_ns = merged.max_ns.max(part.max_ns);
        }
        merged.sorted.sort(); // stable: finds that the parts are in order, and merges them
        merged.sorted.dedup_by(|(next, more), (bucket, count)| {
            let is_same = next == bucket;
            if is_same {
                *count = count.saturating_add(*more);
            }
            is_same
        });
        merged
    }

    /// Forgets every value, at the end of the warm-up.
    pub fn reset(&mut self) {
        self.sorted.clear();
        self.pages.clear();
        self.new.clear();
        (self.count, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, Nanos::MAX, 0);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Exact sum, ns.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact mean, ns; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            self.sum_ns as f64 / self.count as f64
        }
    }

    /// The least value, ns; 0 without values.
    #[must_use]
    pub fn min(&self) -> Nanos {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// The largest value, ns; 0 without values.
    #[must_use]
    pub fn max(&self) -> Nanos {
        self.max_ns
    }

    /// The value below or at which the share `q` (0 to 1) of all values lies, ns, to three significant digits; 0
    /// without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Nanos {
        let rank = ((q.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let holds_rank = |&&(_, count): &&(u32, u32)| {
            below += u64::from(count);
            below >= rank
        };
        let buckets = self.buckets();
        let found = buckets.iter().find(holds_rank).or(buckets.last());
        let value = found.map_or(0, |&(bucket, _)| range(bucket).1);
        value.clamp(self.min(), self.max())
    }

    /// How many values there are of each size, in order, in classes of [`CLASS`] buckets: 16 per doubling.
    pub fn coarse(&self) -> Vec<(u32, u64)> {
        let mut classes = vec![0_u64; (bucket(HIGHEST_NS) / CLASS) as usize + 1];
        let mut add = |bucket: u32, count: u32| classes[(bucket / CLASS) as usize] += u64::from(count);
        self.sorted.iter().for_each(|&(bucket, count)| add(bucket, count));
        self.new.iter().for_each(|&bucket| add(bucket, 1));
        for (number, page) in (0..).zip(&self.pages) {
            (number * PAGE..)
                .zip(page)
                .for_each(|(bucket, &count)| add(bucket, count));
        }
        let all = (0..).zip(classes);
        all.filter(|&(_, count)| count > 0).collect()
    }

    /// The value below which about the share `q` (0 to 1) of all values lies, ns, from the counts of each class of
    /// [`Self::coarse`]; assumes values spread evenly within a class. 0 without values.
    #[must_use]
    pub fn coarse_quantile(classes: &BTreeMap<u32, u64>, q: f64) -> f64 {
        let mut rank = q * classes.values().sum::<u64>() as f64;
        for (&class, &count) in classes {
            let (least, most) = (
                range(class * CLASS).0 as f64,
                range(class * CLASS + CLASS - 1).1 as f64 + 1.0,
            );
            if rank <= count as f64 {
                return least + (most - least) * rank / count as f64;
            }
            rank -= count as f64;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[Nanos]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&v| histogram.record(v));
        histogram
    }

    /// Any number of digits is as likely.
    fn duration() -> impl Strategy<Value = Nanos> {
        (0u32..62, any::<u64>()).prop_map(|(bits, value)| value & ((2 << bits) - 1))
    }

    #[test]
    fn a_coarse_quantile_is_that_of_all_values() {
        let values: Vec<Nanos> = (1..=100_000).map(|each| each * each / 7).collect();
        let all = histogram(&values);
        let classes: BTreeMap<u32, u64> = all.coarse().into_iter().collect();
        assert_eq!(classes.values().sum::<u64>(), all.count());
        for q in [0.1, 0.5, 0.9, 0.99] {
            let (coarse, exact) = (Histogram::coarse_quantile(&classes, q), all.quantile(q) as f64);
            assert!((coarse / exact - 1.0).abs() < 0.01, "{q}: {coarse} for {exact}");
        }
        assert_eq!(Histogram::coarse_quantile(&BTreeMap::new(), 0.5), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn merged_parts_are_the_whole(values in prop::collection::vec(duration(), 1..3_000), cut in 0usize..3_000) {
            let cut = cut.min(values.len());
            let whole = histogram(&values);
            let parts = [histogram(&values[..cut]), histogram(&values[cut..])];
            let merged = Histogram::merged(parts.iter().rev());
            prop_assert_eq!(&merged, &whole);
            prop_assert_eq!(&whole.compact(), &whole);
            prop_assert_eq!(whole.mean(), values.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / values.len() as f64);
        }

        /// The buckets and percentiles of the library that this is a sparse form of.
        #[test]
        fn quantiles_are_those_of_hdrhistogram(values in prop::collection::vec(duration(), 1..3_000)) {
            let ours = histogram(&values);
            let mut theirs = hdrhistogram::Histogram::<u32>::new(3).unwrap();
            theirs.auto(true);
            values.iter().for_each(|&v| theirs.record(v.min(HIGHEST_NS)).unwrap());
            for q in [0.0001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
                prop_assert_eq!(ours.quantile(q), theirs.value_at_quantile(q).clamp(ours.min(), ours.max()), "q {}", q);
            }
            let recorded: Vec<(Nanos, u32)> = theirs
                .iter_recorded()
                .map(|one| (theirs.lowest_equivalent(one.value_iterated_to()), one.count_at_value()))
                .collect();
            let kept: Vec<(Nanos, u32)> = ours.buckets().iter().map(|&(b, count)| (range(b).0, count)).collect();
            prop_assert_eq!(kept, recorded);
        }

        #[test]
        fn a_value_is_in_its_bucket(ns in duration()) {
            let (least, largest) = range(bucket(ns));
            prop_assert!(least <= ns && ns <= largest, "{} {} {}", least, ns, largest);
            prop_assert!(largest - least <= ns >> BUCKET_BITS);
        }
    }

    #[test]
    fn edges() {
        let mut histogram = Histogram::new();
        let all = |of: &Histogram| (of.mean(), of.quantile(0.5), of.min(), of.max());
        assert_eq!(all(&histogram), (0.0, 0, 0, 0));
        histogram.record(Nanos::MAX);
        histogram.record(0);
        assert_eq!((histogram.count(), histogram.max()), (2, HIGHEST_NS));
        assert_eq!((histogram.quantile(0.5), histogram.quantile(1.0)), (0, HIGHEST_NS));
        histogram.reset();
        assert!(histogram.is_empty() && histogram == Histogram::default());
    }

    /// The bound that the head of this file states.
    #[test]
    fn memory_is_bounded() {
        let bytes = |of: &Histogram| {
            let pages: usize = of.pages.iter().map(Vec::capacity).sum();
            8 * of.sorted.capacity() + 4 * of.new.capacity() + 24 * of.pages.capacity() + 4 * pages
        };
        let few = histogram(&(0..100).map(|i| 1_000_000 + i * 7_919_000).collect::<Vec<_>>());
        assert!(bytes(&few) <= 2 * 12 * 100, "{}", bytes(&few));
        let many = histogram(&(0..1_000_000).map(|i| 1_000_000 + i * 999).collect::<Vec<_>>());
        assert!(bytes(&many) <= (2 * 80) << 10, "{}", bytes(&many));
    }
}
