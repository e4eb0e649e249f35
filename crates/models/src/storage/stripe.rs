//! Erasure-coded data: what a request reads and writes on the members of its placement group.
//!
//! **Mechanism.** A stripe is `data` fragments and `parity` fragments made of them. Members 0 to `data` - 1 of a group
//! hold the data fragments of each of its stripes, the others the parity. How much of them a request works on is the
//! [`Way`]:
//!
//! - [`Way::Client`]: read: the fragments touched; write of whole stripes: all, nothing read; a stream writes parity as
//!   its stripes fill; smaller write: the cheaper update
//! - [`Way::WholeStripes`]: read: all data of the stripes touched; write of whole stripes: all, nothing read; smaller
//!   write: reads all data of the stripes that it does not fill, and writes all of them
//! - [`Way::Fragments`]: read: the pages touched, of the fragments touched; write of whole stripes: all, nothing read;
//!   smaller write: the cheaper update, of the pages touched
//!
//! An update reads the data that change and the parity (parity delta), or the data that do not (reconstruction).
//! What cannot be read is decoded: then as many other members as there are data fragments are read for the same range.
//!
//! **Sources.** Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, for
//! small writes; Chan et al., "Parity Logging with Reserved Space", FAST 2014, for the choice of the update. Ceph
//! before Tentacle reads and writes whole stripes (its documentation of erasure-coded pools and of `stripe_unit`);
//! Tentacle's `allow_ec_optimizations` reads and writes fragments, with parity deltas (ceph.io, "Erasure coding
//! enhancements for Tentacle", 2025).
//!
//! **Assumptions.** Fragments are not cached between requests. The client's way takes a request to begin where a
//! fragment does. Of a write that fills some stripes and touches others, each stripe goes its own way.
//!
//! **Reads and writes of a code are a pure function of size, place and missing members** (`models/storage/stripe.rs`).
//! The engine only executes these reads and writes. For Ceph, a record of the primary is between a request and its
//! legs. This record is the client of the legs. Legs, journals and failures therefore do not depend on the primary.

/// Stripes of `stripe` bytes that a stream completes when it goes on from `offset` by `bytes`.
pub fn completed(offset: u64, bytes: u64, stripe: u64) -> u64 {
    (offset + bytes) / stripe - offset / stripe
}

/// How much of its stripes a request works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What it needs, in fragments: clients that code (chunk stores).
    Client,
    /// Whole stripes: Ceph without its optimisations of erasure codes.
    WholeStripes,
    /// What it needs, in pages: Ceph with them.
    Fragments,
}

/// Unit of what [`Way::Fragments`] reads and writes, in bytes.
const PAGE: u64 = 4_096;

/// An erasure code over the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Data fragments of a stripe.
    pub data: usize,
    /// Parity fragments of a stripe.
    pub parity: usize,
    /// Bytes of a fragment.
    pub fragment: u64,
    /// Bytes of an object: its stripes begin with it, and the last one may be short. Of no account for clients that
    /// code.
    pub object: u64,
    /// How much of its stripes a request works on.
    pub way: Way,
}

/// Where a request is in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its first byte, in the chunks of the group.
    pub place: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether it goes on where the one before it ended.
    pub is_stream: bool,
}

/// What one member reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The member, by its position in the group.
    pub position: usize,
    /// What it reads or writes.
    pub bytes: u64,
}

/// What is read, and what follows for coding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// What each member reads.
    pub parts: Vec<Part>,
    /// Bytes of fragments that are decoded, for members that cannot be read.
    pub decoded: u64,
    /// Of a write that its client does not code: bytes of data that parity is made of anew; what is left of it only
    /// updates parity.
    pub coded: u64,
}

/// Bytes that each member reads, and bytes that are decoded.
struct Wanted {
    read: Vec<u64>,
    decoded: u64,
}

/// Bytes of one stripe that a request touches: of each data fragment from one on, in order.
struct Stripe {
    first: usize,
    /// Begin and end in the fragment, of each fragment touched.
    ranges: Vec<(u64, u64)>,
    /// The range that holds all of them.
    hull: (u64, u64),
}

impl Stripe {
    /// Calls `with` for each data fragment touched, and the bytes of it that are.
    fn each(&self, mut with: impl FnMut(usize, u64)) {
        for (position, (from, to)) in (self.first..).zip(&self.ranges) {
            with(position, to - from);
        }
    }

    /// Bytes of a data fragment that are touched.
    fn bytes_of(&self, position: usize) -> u64 {
        let range = position
            .checked_sub(self.first)
            .and_then(|index| self.ranges.get(index));
        range.map_or(0, |(from, to)| to - from)
    }
}

impl Code {
    /// What a read reads, where the members that `is_readable` says can be.
    pub fn reads(&self, range: Range, is_readable: impl Fn(usize) -> bool) -> Reads {
        let mut wanted = vec![0; self.data + self.parity];
        match self.way {
            Way::Client => return self.client_reads(&self.touched(range), &is_readable),
            Way::WholeStripes => wanted[..self.data].fill(self.stripes_of(range) * self.fragment),
            Way::Fragments => {
                wanted[..self.data].fill(self.full_stripes(range) * self.fragment);
                for stripe in self.partial_stripes(range) {
                    stripe.each(|position, bytes| wanted[position] += bytes);
                }
            }
        }
        let Wanted { read, decoded } = self.readable(wanted, &is_readable);
        Reads {
            parts: parts(&read),
            decoded,
            coded: 0,
        }
    }

    /// What a write reads before it writes.
    pub fn reads_before_write(&self, range: Range, is_readable: impl Fn(usize) -> bool) -> Reads {
        if self.way == Way::Client {
            return self.client_reads_before_write(range, &is_readable);
        }
        let mut read = vec![0; self.data + self.parity];
        let (mut decoded, mut coded) = (0, self.full_stripes(range) * self.fragment * self.data as u64);
        for stripe in self.partial_stripes(range) {
            let (wanted, is_coded) = match self.way {
                Way::Fragments => self.update(&stripe, &is_readable),
                _ => {
                    let mut all = vec![0; self.data + self.parity];
                    all[..self.data].fill(self.fragment);
                    (self.readable(all, &is_readable), true)
                }
            };
            read.iter_mut().zip(wanted.read).for_each(|(sum, bytes)| *sum += bytes);
            decoded += wanted.decoded;
            let length = match self.way {
                Way::Fragments => stripe.hull.1 - stripe.hull.0,
                _ => self.fragment,
            };
            coded += if is_coded { length * self.data as u64 } else { 0 };
        }
        Reads {
            parts: parts(&read),
            decoded,
            coded,
        }
    }

    /// What a write writes.
    pub fn writes(&self, range: Range) -> Vec<Part> {
        let mut written = vec![0; self.data + self.parity];
        match self.way {
            Way::Client => return self.client_writes(range),
            Way::WholeStripes => written.fill(self.stripes_of(range) * self.fragment),
            Way::Fragments => {
                written.fill(self.full_stripes(range) * self.fragment);
                for stripe in self.partial_stripes(range) {
                    let length = stripe.hull.1 - stripe.hull.0;
                    written[self.data..].iter_mut().for_each(|bytes| *bytes += length);
                    stripe.each(|position, bytes| written[position] += bytes);
                }
            }
        }
        parts(&written)
    }

    // ---- in general

    /// The stripes that a request touches.
    fn stripes_of(&self, range: Range) -> u64 {
        let stripe = self.fragment * self.data as u64;
        (range.place + range.bytes).div_ceil(stripe) - range.place / stripe
    }

    /// Those that it fills, what is left of the object being one.
    fn full_stripes(&self, range: Range) -> u64 {
        let stripe = self.fragment * self.data as u64;
        let end = range.place + range.bytes;
        let filled = if end == self.object {
            end.div_ceil(stripe)
        } else {
            end / stripe
        };
        filled.saturating_sub(range.place.div_ceil(stripe))
    }

    /// What it touches of the others, in whole pages.
    fn partial_stripes(&self, range: Range) -> impl Iterator<Item = Stripe> {
        let (fragment, stripe) = (self.fragment, self.fragment * self.data as u64);
        let (begin, end) = (range.place, range.place + range.bytes);
        let (first, last) = (begin / stripe, (end - 1) / stripe);
        let object = self.object;
        let is_partial = move |number: &u64| begin > number * stripe || end < (number + 1) * stripe && end != object;
        let ends = std::iter::once(first).chain((last > first).then_some(last));
        ends.filter(is_partial).map(move |number| {
            let (from, to) = (begin.max(number * stripe), end.min((number + 1) * stripe));
            let first = from / fragment;
            let of = |index: u64| {
                let begin = from.max(index * fragment) - index * fragment;
                let end = to.min((index + 1) * fragment) - index * fragment;
                let page = PAGE.min(fragment);
                (begin / page * page, (end.div_ceil(page) * page).min(fragment))
            };
            let ranges: Vec<(u64, u64)> = (first..to.div_ceil(fragment)).map(of).collect();
            let hull = ranges
                .iter()
                .fold((u64::MAX, 0), |(from, to), range| (from.min(range.0), to.max(range.1)));
            Stripe {
                first: (first - number * stripe / fragment) as usize,
                ranges,
                hull,
            }
        })
    }

    /// What is read of a stripe of which only what is touched is written, and whether its parity is made anew.
    fn update(&self, stripe: &Stripe, is_readable: &dyn Fn(usize) -> bool) -> (Wanted, bool) {
        let length = stripe.hull.1 - stripe.hull.0;
        let mut rest = vec![0; self.data + self.parity];
        for (position, bytes) in rest[..self.data].iter_mut().enumerate() {
            *bytes = length - stripe.bytes_of(position);
        }
        let mut changed = vec![0; self.data + self.parity];
        stripe.each(|position, bytes| changed[position] = bytes);
        // parity that is away is not written
        for (position, bytes) in changed.iter_mut().enumerate().skip(self.data) {
            *bytes = if is_readable(position) { length } else { 0 };
        }
        let [anew, delta] = [rest, changed].map(|wanted| self.readable(wanted, is_readable));
        let reads = |wanted: &Wanted| wanted.read.iter().filter(|bytes| **bytes > 0).count();
        if reads(&anew) == 0 || reads(&anew) < reads(&delta) {
            (anew, true)
        } else {
            (delta, false)
        }
    }

    /// The reads of `wanted` bytes of each member, or those of others that what cannot be read is decoded from.
    fn readable(&self, wanted: Vec<u64>, is_readable: &dyn Fn(usize) -> bool) -> Wanted {
        let lost = |position: &usize| wanted[*position] > 0 && !is_readable(*position);
        let lost: Vec<usize> = (0..wanted.len()).filter(lost).collect();
        let Some(most) = lost.iter().map(|&position| wanted[position]).max() else {
            return Wanted {
                read: wanted,
                decoded: 0,
            };
        };
        let decoded = lost.iter().map(|&position| wanted[position]).sum();
        let mut read = wanted;
        lost.iter().for_each(|&position| read[position] = 0);
        // what is read anyway serves to decode, too
        let readable = (0..read.len()).filter(|&position| is_readable(position));
        let (mut others, more): (Vec<usize>, Vec<usize>) = readable.partition(|&position| read[position] > 0);
        others.extend(more);
        for &position in others.iter().take(self.data) {
            read[position] = read[position].max(most);
        }
        Wanted { read, decoded }
    }

    // ---- coded by clients

    /// Data fragments of its stripe that a request touches, from one on in a circle, and the bytes in each.
    fn touched(&self, range: Range) -> Touched {
        let count = (range.bytes.div_ceil(self.fragment) as usize).min(self.data);
        Touched {
            first: (range.place / self.fragment) as usize % self.data,
            count,
            bytes: range.bytes.div_ceil(count as u64),
        }
    }

    /// Whether a write goes out as stripes fill.
    fn fills_stripes(&self, range: Range) -> bool {
        range.is_stream || range.bytes >= self.fragment * self.data as u64
    }

    /// Reads of fragments that a request touches, or of enough others where one of them cannot be read.
    fn client_reads(&self, touched: &Touched, is_readable: &dyn Fn(usize) -> bool) -> Reads {
        let wanted = (0..touched.count).map(|step| (touched.first + step) % self.data);
        self.client_readable(wanted.collect(), touched.bytes, is_readable)
    }

    fn client_readable(&self, wanted: Vec<usize>, bytes: u64, is_readable: &dyn Fn(usize) -> bool) -> Reads {
        let lost = wanted.iter().filter(|&&position| !is_readable(position)).count() as u64;
        let chosen = match lost {
            0 => wanted,
            _ => {
                let all = (0..self.data + self.parity).filter(|&position| is_readable(position));
                all.take(self.data).collect()
            }
        };
        let parts = chosen.into_iter().map(|position| Part { position, bytes });
        Reads {
            parts: parts.collect(),
            decoded: lost * bytes,
            coded: 0,
        }
    }

    fn client_reads_before_write(&self, range: Range, is_readable: &dyn Fn(usize) -> bool) -> Reads {
        let touched = self.touched(range);
        if self.fills_stripes(range) || touched.count == self.data {
            return Reads::default();
        }
        let of = |rule: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let all = 0..self.data + self.parity;
            all.filter(|&position| rule(position)).collect()
        };
        // a parity that is lost is not changed
        let changed = of(&|position| match position < self.data {
            true => self.is_touched(&touched, position),
            false => is_readable(position),
        });
        let rest = of(&|position| position < self.data && !self.is_touched(&touched, position));
        let lacks = |positions: &[usize]| positions.iter().any(|&position| !is_readable(position));
        let wanted = match (lacks(&changed), lacks(&rest)) {
            (true, false) => rest,
            (lacks, rest_lacks) if lacks == rest_lacks && changed.len() > rest.len() => rest,
            _ => changed,
        };
        self.client_readable(wanted, touched.bytes, is_readable)
    }

    fn is_touched(&self, touched: &Touched, position: usize) -> bool {
        position < self.data && (position + self.data - touched.first) % self.data < touched.count
    }

    fn client_writes(&self, range: Range) -> Vec<Part> {
        let (data, fragment) = (self.data, self.fragment);
        if !self.fills_stripes(range) {
            let touched = self.touched(range);
            let is_written = |position: &usize| *position >= data || self.is_touched(&touched, *position);
            let positions = (0..data + self.parity).filter(is_written);
            let bytes = touched.bytes;
            return positions.map(|position| Part { position, bytes }).collect();
        }
        let mut writes = Vec::new();
        let mut at = range.place;
        let end = range.place + range.bytes;
        while at < end {
            let next = ((at / fragment + 1) * fragment).min(end);
            writes.push(Part {
                position: (at / fragment) as usize % data,
                bytes: next - at,
            });
            at = next;
        }
        for _ in 0..completed(range.place, range.bytes, fragment * data as u64) {
            let parities = data..data + self.parity;
            writes.extend(parities.map(|position| Part {
                position,
                bytes: fragment,
            }));
        }
        writes
    }
}

struct Touched {
    first: usize,
    count: usize,
    bytes: u64,
}

/// The members that read or write something.
fn parts(bytes: &[u64]) -> Vec<Part> {
    let all = bytes.iter().copied().enumerate();
    all.filter(|(_, bytes)| *bytes > 0)
        .map(|(position, bytes)| Part { position, bytes })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Code, Part, Range, Reads, Way, completed};

    const KIB: u64 = 1_024;

    fn code(data: usize, parity: usize, fragment_kib: u64, way: Way) -> Code {
        Code {
            data,
            parity,
            fragment: fragment_kib * KIB,
            object: 4_096 * KIB,
            way,
        }
    }

    fn range(place_kib: u64, kib: u64) -> Range {
        Range {
            place: place_kib * KIB,
            bytes: kib * KIB,
            is_stream: false,
        }
    }

    /// Positions with their KiB.
    fn kib(parts: &[Part]) -> Vec<(usize, u64)> {
        parts.iter().map(|part| (part.position, part.bytes / KIB)).collect()
    }

    /// Members that read, and KiB in all.
    fn sum(parts: &[Part]) -> (usize, u64) {
        (parts.len(), parts.iter().map(|part| part.bytes).sum::<u64>() / KIB)
    }

    #[test]
    fn a_client_reads_as_few_fragments_as_a_small_write_needs() {
        // code, fragments written, lost ones: fragments read
        for (data, parity, changed, lost, reads) in [
            (3, 2, 3, &[][..], 0),
            (3, 2, 1, &[], 2),
            (3, 1, 1, &[], 2),
            (17, 3, 1, &[], 4),
            (17, 3, 12, &[], 5),
            (4, 2, 1, &[], 3),
            (4, 2, 1, &[0], 3),
            (4, 2, 1, &[5], 2),
            (4, 2, 1, &[4, 5], 1),
            (4, 2, 1, &[2], 3),
            (4, 2, 1, &[0, 2], 4),
        ] {
            let code = code(data, parity, 64, Way::Client);
            let read = code.reads_before_write(range(0, changed * 64), |position| !lost.contains(&position));
            assert_eq!(
                read.parts.len(),
                reads,
                "{data}+{parity}, {changed} changed, without {lost:?}"
            );
            assert!(read.parts.iter().all(|part| !lost.contains(&part.position)));
        }
    }

    #[test]
    fn a_stream_completes_each_stripe_once() {
        let stripes: u64 = (0..100).map(|n| completed(n * 7, 7, 30)).sum();
        assert_eq!(stripes, 700 / 30);
        assert_eq!(completed(0, 90, 30), 3);
    }

    /// Of a request on healthy members: what is read, and for a write what is written. (data, parity, KiB of a
    /// fragment, KiB from, KiB; members and KiB read for a read; read before a write; written.)
    type Row = (usize, usize, u64, u64, u64, (usize, u64), (usize, u64), (usize, u64));

    #[track_caller]
    fn check(way: Way, rows: &[Row]) {
        for &(data, parity, fragment, place, size, read, before, written) in rows {
            let (code, range) = (code(data, parity, fragment, way), range(place, size));
            let what = format!("{way:?}, {data}+{parity}, {fragment} KiB: {size} KiB at {place}");
            assert_eq!(sum(&code.reads(range, |_| true).parts), read, "read of {what}");
            let reads = code.reads_before_write(range, |_| true);
            assert_eq!(sum(&reads.parts), before, "reads before a write of {what}");
            assert_eq!(sum(&code.writes(range)), written, "write of {what}");
            assert_eq!(reads.decoded, 0, "{what}");
        }
    }

    #[test]
    fn whole_stripes_are_read_and_written_for_anything_of_them() {
        check(
            Way::WholeStripes,
            &[
                // 4 KiB in a stripe of 8, 16, 24 and 32 KiB: all data read, all members written
                (2, 2, 4, 0, 4, (2, 8), (2, 8), (4, 16)),
                (4, 2, 4, 4, 4, (4, 16), (4, 16), (6, 24)),
                (6, 2, 4, 92, 4, (6, 24), (6, 24), (8, 32)),
                (8, 2, 4, 0, 4, (8, 32), (8, 32), (10, 40)),
                // a whole stripe reads nothing before it is written
                (4, 2, 4, 16, 16, (4, 16), (0, 0), (6, 24)),
                // a stripe and a half: of the half the whole stripe is read
                (4, 2, 4, 0, 24, (4, 32), (4, 16), (6, 48)),
                // 16 KiB from the middle of one stripe to that of the next: both are read
                (4, 2, 4, 8, 16, (4, 32), (4, 32), (6, 48)),
                // 32 KiB at the beginning of a stripe of 24: the second of two is read
                (6, 2, 4, 0, 32, (6, 48), (6, 24), (8, 64)),
                // 4 MiB, a whole object: 171 stripes of 24 KiB, the last of them short
                (6, 2, 4, 0, 4_096, (6, 171 * 24), (0, 0), (8, 171 * 32)),
                // 2 MiB of it: 85.3 stripes, the last of them partial
                (6, 2, 4, 0, 2_048, (6, 86 * 24), (6, 24), (8, 86 * 32)),
            ],
        );
    }

    #[test]
    fn fragments_are_read_alone_and_written_with_parity() {
        check(
            Way::Fragments,
            &[
                // 4 KiB: the rest of the stripe's pages is read (2+2), or page and parity (4+2, 6+2, 8+2)
                (2, 2, 16, 0, 4, (1, 4), (1, 4), (3, 12)),
                (4, 2, 16, 20, 4, (1, 4), (3, 12), (3, 12)),
                (6, 2, 16, 92, 4, (1, 4), (3, 12), (3, 12)),
                (8, 2, 16, 0, 4, (1, 4), (3, 12), (3, 12)),
                // half a KiB is a page
                (4, 2, 16, 0, 1, (1, 4), (3, 12), (3, 12)),
                // 32 KiB are two fragments: four reads and four writes of 16 KiB
                (6, 2, 16, 0, 32, (2, 32), (4, 64), (4, 64)),
                // over the border of two fragments: 8 KiB of each, and all 16 KiB of parity
                (6, 2, 16, 8, 16, (2, 16), (4, 48), (4, 48)),
                // a whole stripe
                (4, 2, 16, 64, 64, (4, 64), (0, 0), (6, 96)),
                // a stripe and a page: the page reads itself and parity
                (4, 2, 16, 0, 68, (4, 68), (3, 12), (6, 108)),
                // three of four fragments: the fourth is read
                (4, 2, 16, 0, 48, (3, 48), (1, 16), (5, 80)),
            ],
        );
    }

    #[test]
    fn clients_read_and_write_fragments() {
        check(
            Way::Client,
            &[
                (3, 2, 64, 0, 64, (1, 64), (2, 128), (3, 192)),
                (3, 1, 64, 64, 16, (1, 16), (2, 32), (2, 32)),
                (3, 2, 64, 0, 128, (2, 128), (1, 64), (4, 256)),
                (3, 2, 64, 0, 192, (3, 192), (0, 0), (5, 320)),
            ],
        );
        // a stream writes parity with what fills a stripe
        let (code, stream) = (code(3, 2, 64, Way::Client), |place| Range {
            is_stream: true,
            ..range(place, 64)
        });
        assert!(
            [0, 64, 128]
                .iter()
                .all(|&place| code.reads_before_write(stream(place), |_| true) == Reads::default())
        );
        let written = [0, 64, 128].map(|place| kib(&code.writes(stream(place))));
        assert_eq!(written, [vec![(0, 64)], vec![(1, 64)], vec![(2, 64), (3, 64), (4, 64)]]);
    }

    #[test]
    fn what_is_away_is_decoded_from_as_many_others_as_there_are_data_fragments() {
        let without = |lost: usize| move |position: usize| position != lost;
        for (way, fragment, bytes) in [(Way::WholeStripes, 4, 4), (Way::Fragments, 16, 4), (Way::Client, 16, 4)] {
            let (code, first) = (code(4, 2, fragment, way), range(0, 4));
            let reads = code.reads(first, without(0));
            assert_eq!(
                kib(&reads.parts),
                [(1, bytes), (2, bytes), (3, bytes), (4, bytes)],
                "{way:?}"
            );
            assert_eq!(reads.decoded, bytes * KIB);
            // without parity it is read as ever
            assert_eq!(code.reads(first, without(5)), code.reads(first, |_| true), "{way:?}");
        }
        let before = |way, fragment, lost| {
            let reads = code(4, 2, fragment, way).reads_before_write(range(0, 4), without(lost));
            (kib(&reads.parts), reads.decoded / KIB, reads.coded / KIB)
        };
        // the old stripe is decoded, and parity made anew
        assert_eq!(
            before(Way::WholeStripes, 4, 0),
            (vec![(1, 4), (2, 4), (3, 4), (4, 4)], 4, 16)
        );
        assert_eq!(
            before(Way::WholeStripes, 4, 4),
            (vec![(0, 4), (1, 4), (2, 4), (3, 4)], 0, 16)
        );
        // what is overwritten is away: parity is made of the other three
        assert_eq!(before(Way::Fragments, 16, 0), (vec![(1, 4), (2, 4), (3, 4)], 0, 16));
        // another data fragment is away: page and parity, as ever
        assert_eq!(before(Way::Fragments, 16, 3), (vec![(0, 4), (4, 4), (5, 4)], 0, 0));
        // a parity is away: page and the parity that is left
        assert_eq!(before(Way::Fragments, 16, 5), (vec![(0, 4), (4, 4)], 0, 0));
    }

    #[test]
    fn parity_is_coded_of_all_that_is_written_or_updated() {
        let coded = |way, fragment, size| {
            code(4, 2, fragment, way)
                .reads_before_write(range(0, size), |_| true)
                .coded
                / KIB
        };
        assert_eq!([4, 16, 20].map(|size| coded(Way::WholeStripes, 4, size)), [16, 16, 32]);
        assert_eq!(
            [4, 48, 64, 68].map(|size| coded(Way::Fragments, 16, size)),
            [0, 64, 64, 64]
        );
    }
}
