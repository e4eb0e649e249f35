//! Cache and RAID groups of a storage array.
//!
//! **Mechanism.** A read hits the cache with probability cache size / working set, 1 at most. A write is acknowledged
//! from a write-back cache, and becomes disk operations: the write penalty of the RAID level.
//!
//! **Sources.** The penalties 1, 2, 4 and 6 are those of Patterson, Gibson and Katz, "A case for redundant arrays of
//! inexpensive disks (RAID)", SIGMOD 1988, for a small write of RAID 0, 1 and 5, and of 6 likewise.
//!
//! **Assumptions.** Access is uniform over the working sets, which share the cache by size whatever their rates. Every
//! write reaches the disks: nothing is overwritten in the cache. Sequential writes fill whole stripes, whose parity is
//! written without reading anything. All disks work for all LUNs, and a stripe is as wide as they are many.

use hypertwin_cluster::Raid;

/// Probability that a random read is in the cache.
pub fn hit_ratio(cache_bytes: u64, working_set_bytes: u64) -> f64 {
    if cache_bytes == 0 {
        return 0.0;
    }
    (cache_bytes as f64 / working_set_bytes.max(1) as f64).min(1.0)
}

/// Disk operations of one write, without the parity of stripes that sequential writes fill: reads and writes.
pub fn write_operations(raid: Raid, sequential: bool) -> (u32, u32) {
    match raid {
        Raid::Raid0 => (0, 1),
        Raid::Raid1 => (0, 2),
        Raid::Raid5 | Raid::Raid6 if sequential => (0, 1),
        Raid::Raid5 => (2, 2),
        Raid::Raid6 => (3, 3),
    }
}

/// Parity that is written for each byte of stripes that sequential writes fill.
pub fn stripe_parity(raid: Raid, disks: u32) -> f64 {
    let parity = match raid {
        Raid::Raid0 | Raid::Raid1 => 0,
        Raid::Raid5 => 1,
        Raid::Raid6 => 2,
    };
    f64::from(parity) / f64::from(disks.saturating_sub(parity).max(1))
}

#[cfg(test)]
mod tests {
    use super::{hit_ratio, stripe_parity, write_operations};
    use hypertwin_cluster::Raid;

    #[test]
    fn what_does_not_fit_misses() {
        assert_eq!(hit_ratio(0, 1), 0.0);
        assert_eq!(hit_ratio(10, 40), 0.25);
        assert_eq!(hit_ratio(50, 40), 1.0);
    }

    #[test]
    fn write_penalties_are_one_two_four_and_six() {
        let penalty = |raid| {
            let (reads, writes) = write_operations(raid, false);
            reads + writes
        };
        assert_eq!(
            [Raid::Raid0, Raid::Raid1, Raid::Raid5, Raid::Raid6].map(penalty),
            [1, 2, 4, 6]
        );
    }

    #[test]
    fn a_sequential_write_fills_stripes_whose_parity_needs_no_reading() {
        let parity = [Raid::Raid0, Raid::Raid1, Raid::Raid5, Raid::Raid6].map(|raid| stripe_parity(raid, 6));
        assert_eq!(parity, [0.0, 0.0, 0.2, 0.5]);
        let operations = |raid| write_operations(raid, true);
        assert_eq!(
            [Raid::Raid0, Raid::Raid1, Raid::Raid5, Raid::Raid6].map(operations),
            [(0, 1), (0, 2), (0, 1), (0, 1)]
        );
    }
}
