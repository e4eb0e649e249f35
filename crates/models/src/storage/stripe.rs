//! Writes to erasure-coded stripes: what must be read first, and what is written.
//!
//! **Mechanism.** A stripe is `data` fragments and `parity` fragments made of them. A write that fills stripes writes all
//! fragments and reads none. A smaller one changes some data fragments and all of the parity, which needs either the old
//! content of both (parity delta), or that of the other data fragments (reconstruction): the one with fewer reads is taken.
//!
//! **Sources.** Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988, for
//! small writes; Chan et al., "Parity Logging with Reserved Space", FAST 2014, for the choice between the two.
//!
//! **Assumptions.** Fragments are not cached between writes; a stream of writes fills stripes, its parity being written with
//! the write that completes a stripe.

/// How parity is made for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Of the whole stripe, without reads.
    FullStripe,
    /// Of the old data fragments that change and the old parity.
    ParityDelta,
    /// Of the data fragments that do not change.
    Reconstruction,
}

/// The cheaper way to change `touched` of `data` fragments, and the fragments that it reads.
pub fn update(touched: u32, data: u32, parity: u32) -> (Update, u32) {
    if touched >= data {
        return (Update::FullStripe, 0);
    }
    let (delta, rest) = (touched + parity, data - touched);
    if delta <= rest {
        (Update::ParityDelta, delta)
    } else {
        (Update::Reconstruction, rest)
    }
}

/// Stripes of `stripe` bytes that a stream completes when it goes on from `offset` by `bytes`.
pub fn completed(offset: u64, bytes: u64, stripe: u64) -> u64 {
    (offset + bytes) / stripe - offset / stripe
}

#[cfg(test)]
mod tests {
    use super::{Update, completed, update};

    #[test]
    fn the_way_with_fewer_reads_is_taken() {
        assert_eq!(update(3, 3, 2), (Update::FullStripe, 0));
        assert_eq!(update(1, 3, 2), (Update::Reconstruction, 2));
        assert_eq!(update(1, 3, 1), (Update::ParityDelta, 2));
        assert_eq!(update(1, 17, 3), (Update::ParityDelta, 4));
        assert_eq!(update(12, 17, 3), (Update::Reconstruction, 5));
    }

    #[test]
    fn a_stream_completes_each_stripe_once() {
        let stripes: u64 = (0..100).map(|n| completed(n * 7, 7, 30)).sum();
        assert_eq!(stripes, 700 / 30);
        assert_eq!(completed(0, 90, 30), 3);
    }
}
